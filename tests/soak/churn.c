/* SPDX-License-Identifier: MIT */
/*
 * churn WHAT N: N of one kind (kinds[]) come and go in one context; says "so far N", and goes on with as many more at a line on stdin, for
 * who looks at its memory and at its context's meanwhile (leaks.sh).
 *
 * Exit status: 0, 1 with a line that says what was wrong, 2.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add.h"

#define DO(call) do { \
	CUresult r_ = (call); \
	const char *name_ = "?"; \
\
	if (r_) { \
		cuGetErrorName(r_, &name_); \
		printf("%s: %s\n", #call, name_); \
		return 1; \
	} \
} while (0)

static int one_pool(void)
{
	static int late;
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemoryPool pool;
	CUdeviceptr p;

	DO(cuMemPoolCreate(&pool, &props));
	DO(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
	/* every other time its memory outlives it */
	if (late ^= 1)
		DO(cuMemFreeAsync(p, NULL));
	DO(cuStreamSynchronize(NULL));
	DO(cuMemPoolDestroy(pool));
	if (!late)
		DO(cuMemFreeAsync(p, NULL));
	return 0;
}

static int one_stream(void)
{
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamSynchronize(s));
	DO(cuStreamDestroy(s));
	return 0;
}

static int one_event(void)
{
	CUevent e;

	DO(cuEventCreate(&e, 0));
	DO(cuEventRecord(e, NULL));
	DO(cuEventSynchronize(e));
	DO(cuEventDestroy(e));
	return 0;
}

static int one_graph(void)
{
	CUgraph g;
	CUgraphExec x;
	CUgraphNode n;

	DO(cuGraphCreate(&g, 0));
	DO(cuGraphAddEmptyNode(&n, g, NULL, 0));
	DO(cuGraphInstantiate(&x, g, 0));
	DO(cuGraphLaunch(x, NULL));
	DO(cuStreamSynchronize(NULL));
	DO(cuGraphExecDestroy(x));
	DO(cuGraphDestroy(g));
	return 0;
}

static int one_module(void)
{
	CUmodule m;
	CUfunction f;

	DO(cuModuleLoadData(&m, add_ptx));
	DO(cuModuleGetFunction(&f, m, "add"));
	DO(cuModuleUnload(m));
	return 0;
}

static int one_alloc(void)
{
	CUdeviceptr p;

	DO(cuMemAlloc(&p, 4096));
	DO(cuMemFree(p));
	return 0;
}

static int one_library(void)
{
	CUlibrary l;
	CUkernel k;
	CUfunction f;

	DO(cuLibraryLoadData(&l, add_ptx, NULL, NULL, 0, NULL, NULL, 0));
	DO(cuLibraryGetKernel(&k, l, "add"));
	DO(cuKernelGetFunction(&f, k));
	DO(cuLibraryUnload(l));
	return 0;
}

static int one_mapping(void)
{
	CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemAccessDesc access = { .location = props.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle h;
	CUdeviceptr va;
	size_t bytes = 2 << 20;

	DO(cuMemCreate(&h, bytes, &props, 0));
	DO(cuMemAddressReserve(&va, bytes, 0, 0, 0));
	DO(cuMemMap(va, bytes, 0, h, 0));
	DO(cuMemSetAccess(va, bytes, &access, 1));
	DO(cuMemUnmap(va, bytes));
	DO(cuMemAddressFree(va, bytes));
	DO(cuMemRelease(h));
	return 0;
}

static int one_array(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC t = { .filterMode = CU_TR_FILTER_MODE_POINT };
	CUtexObject x;
	CUarray a;

	DO(cuArrayCreate(&a, &d));
	r.res.array.hArray = a;
	DO(cuTexObjectCreate(&x, &r, &t, NULL));
	DO(cuTexObjectDestroy(x));
	DO(cuArrayDestroy(a));
	return 0;
}

static int one_host(void)
{
	static _Alignas(4096) char mine[8192];
	CUdeviceptr m;
	void *p;

	DO(cuMemAllocHost(&p, 5000));
	DO(cuMemFreeHost(p));
	DO(cuMemAllocManaged(&m, 5000, CU_MEM_ATTACH_GLOBAL));
	DO(cuMemFree(m));
	DO(cuMemHostRegister(mine, sizeof mine, 0));
	DO(cuMemHostUnregister(mine));
	return 0;
}

static int one_capture(void)
{
	static CUmodule m;
	static CUfunction f;
	static CUdeviceptr p;
	unsigned n = 100, k = 1;
	void *args[] = { &p, &k, &n };
	CUgraphExec x;
	CUdeviceptr q;
	CUstream s;
	CUgraph g;

	if (!m) {
		DO(cuModuleLoadData(&m, add_ptx));
		DO(cuModuleGetFunction(&f, m, "add"));
		DO(cuMemAlloc(&p, 4096));
	}
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	DO(cuMemAllocAsync(&q, 4096, s));
	DO(cuMemsetD32Async(q, 7, 100, s));
	DO(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, s, args, NULL));
	DO(cuMemFreeAsync(q, s));
	DO(cuStreamEndCapture(s, &g));
	DO(cuGraphInstantiate(&x, g, 0));
	DO(cuGraphLaunch(x, s));
	DO(cuStreamSynchronize(s));
	DO(cuGraphExecDestroy(x));
	DO(cuGraphDestroy(g));
	DO(cuStreamDestroy(s));
	return 0;
}

static int one_link(void)
{
	CUlinkState s;
	void *cubin;
	size_t n;
	CUmodule m;

	DO(cuLinkCreate(0, NULL, NULL, &s));
	DO(cuLinkAddData(s, CU_JIT_INPUT_PTX, (void *)(uintptr_t)add_ptx, sizeof add_ptx, "add", 0, NULL, NULL));
	DO(cuLinkComplete(s, &cubin, &n));
	DO(cuModuleLoadData(&m, cubin));
	DO(cuModuleUnload(m));
	DO(cuLinkDestroy(s));
	return 0;
}

/* What is its own goes with it, though nobody gives it back; texture objects and links are the program's. */
static int one_context(void)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_ARRAY3D_DESCRIPTOR levels = { .Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUmipmappedArray m;
	CUdeviceptr p;
	CUcontext c;
	CUmodule mod;
	CUstream s;
	CUarray a;
	CUevent e;

	DO(cuCtxCreate_v2(&c, 0, 0));
	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuModuleLoadData(&mod, add_ptx));
	DO(cuMemAlloc(&p, 100000));
	DO(cuMipmappedArrayCreate(&m, &levels, 4));
	for (unsigned i = 0; i < 64; i++) {
		DO(cuEventCreate(&e, i % 2 ? CU_EVENT_DISABLE_TIMING : 0));
		DO(cuEventRecord(e, s));
	}
	for (unsigned i = 0; i < 64; i++)
		DO(cuArrayCreate(&a, &d));
	DO(cuCtxDestroy(c));
	/* a stranger's by now, or nobody's */
	if (cuEventQuery(e) != CUDA_ERROR_INVALID_HANDLE || cuEventDestroy(e) != CUDA_ERROR_INVALID_HANDLE ||
	    cuArrayDestroy(a) != CUDA_ERROR_INVALID_HANDLE || cuMipmappedArrayDestroy(m) != CUDA_ERROR_INVALID_HANDLE) {
		printf("an event or array of a context that is gone is still one\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*once)(void); } kinds[] = {
		{ "modules", one_module }, { "pools", one_pool }, { "streams", one_stream },
		{ "events", one_event }, { "graphs", one_graph }, { "allocs", one_alloc },
		{ "libraries", one_library }, { "mappings", one_mapping }, { "arrays", one_array },
		{ "host", one_host }, { "captures", one_capture }, { "links", one_link },
		{ "contexts", one_context },
	};
	unsigned k = 0, done = 0, n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	char line[16];
	CUcontext c;
	int rc = 0;

	while (k < sizeof kinds / sizeof kinds[0] && (argc < 2 || strcmp(kinds[k].name, argv[1])))
		k++;
	if (k == sizeof kinds / sizeof kinds[0] || !n) {
		fprintf(stderr, "usage: churn");
		for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
			fprintf(stderr, "%c%s", k ? '|' : ' ', kinds[k].name);
		fprintf(stderr, " N\n");
		return 2;
	}
	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&c, 0));
	DO(cuCtxSetCurrent(c));
	while (!rc) {
		for (unsigned i = 0; i < n && !rc; i++)
			rc = kinds[k].once();
		printf("so far %u\n", done += n);
		fflush(stdout);
		if (rc || !fgets(line, sizeof line, stdin))
			break;
	}
	return rc;
}
