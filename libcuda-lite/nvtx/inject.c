/* SPDX-License-Identifier: MIT */
/*
 * NVTX's other way in: nvtx3 is headers alone, and NVIDIA's own libnvToolsExt does the same. At a program's first call they load the library
 * that NVTX_INJECTION64_PATH names (vgpu trace names this one) and hand it a function that finds their tables: places of pointers to
 * functions, by module and number (nvtxTypes.h of nvtx3). Each gets our entry point of the same name, which is traced.
 *
 * Not among the traced objects: what is taken here are the entry points, not the bodies.
 */
#define _GNU_SOURCE
#include "nvtx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { MODULE_CORE = 1, MODULE_CUDA, MODULE_OPENCL, MODULE_CUDART, MODULE_CORE2, MODULE_SYNC };
enum { TABLE_CALLBACKS = 1 };

typedef void (*any_function)(void);
struct callbacks {
	size_t struct_size;
	int (*module_table)(int module, any_function ***table, unsigned int *size);
};

#define F(name) (any_function)nvtx##name
#define AW(name) F(name##A), F(name##W)
/* NULL: number 0 is no call */
static const any_function core[] = { NULL, F(MarkEx), AW(Mark), F(RangeStartEx), AW(RangeStart), F(RangeEnd), F(RangePushEx), AW(RangePush),
				     F(RangePop), AW(NameCategory), AW(NameOsThread) };
static const any_function cuda[] = { NULL, AW(NameCuDevice), AW(NameCuContext), AW(NameCuStream), AW(NameCuEvent) };
static const any_function opencl[] = { NULL, AW(NameClDevice), AW(NameClContext), AW(NameClCommandQueue), AW(NameClMemObject), AW(NameClSampler),
				       AW(NameClProgram), AW(NameClEvent) };
static const any_function cudart[] = { NULL, AW(NameCudaDevice), AW(NameCudaStream), AW(NameCudaEvent) };
static const any_function core2[] = { NULL, F(DomainMarkEx), F(DomainRangeStartEx), F(DomainRangeEnd), F(DomainRangePushEx), F(DomainRangePop),
				      F(DomainResourceCreate), F(DomainResourceDestroy), AW(DomainNameCategory), AW(DomainRegisterString),
				      AW(DomainCreate), F(DomainDestroy), F(Initialize) };
static const any_function sync_user[] = { NULL, F(DomainSyncUserCreate), F(DomainSyncUserDestroy), F(DomainSyncUserAcquireStart),
					  F(DomainSyncUserAcquireFailed), F(DomainSyncUserAcquireSuccess), F(DomainSyncUserReleasing) };

static const struct { const any_function *function; unsigned n; } modules[] = {
#define MODULE(a) { a, sizeof(a) / sizeof(a[0]) }
	[MODULE_CORE] = MODULE(core), [MODULE_CUDA] = MODULE(cuda), [MODULE_OPENCL] = MODULE(opencl),
	[MODULE_CUDART] = MODULE(cudart), [MODULE_CORE2] = MODULE(core2), [MODULE_SYNC] = MODULE(sync_user),
};

/* 1: the calls come here from now on. 0: nobody traces, or is to later (VGPU_NVTX=1), and the program's calls do nothing. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t));
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
	const char *to = getenv("VGPU_TRACE"), *later = getenv("VGPU_NVTX");
	const struct callbacks *c;
	any_function **table;
	unsigned int size;

	if (((!to || !*to) && (!later || strcmp(later, "1"))) || getauxval(AT_SECURE) || !export_table)
		return 0;
	c = export_table(TABLE_CALLBACKS);
	if (!c || c->struct_size < sizeof(*c) || !c->module_table)
		return 0;
	for (int m = MODULE_CORE; m <= MODULE_SYNC; m++) {
		size = 0;
		if (!c->module_table(m, &table, &size) || !table)
			continue;               /* an older one that has no such module */
		for (unsigned i = 1; i < size && i < modules[m].n; i++)
			if (table[i])
				*table[i] = modules[m].function[i];
	}
	return 1;
}
