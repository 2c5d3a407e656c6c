/* SPDX-License-Identifier: MIT */
/*
 * cuInit, versions, error names: what works before there is a session, and the small helpers that
 * every other file of driver/ uses.
 */
#include "driver.h"

#include <stdio.h>
#include <string.h>

CUresult vg_fail(struct vg_ctx *c, uint32_t status)
{
	if (c && vgpu_status_sticky(status) && status == vg_ctx_error(c)) {
		vg_report(c);
		vg_coredump(c);
	}
	return (CUresult)vg_result(status);
}

CUresult cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return (CUresult)vg_connect();
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = (int)vg_driver_version();
	return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)error) {
#define RESULT(id, value, text) case value: *name = #id; return CUDA_SUCCESS;
	CUDA_LITE_RESULT_LIST(RESULT)
#undef RESULT
	}
	*name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **string)
{
	if (!string)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)error) {
#define RESULT(id, value, text) case value: *string = text; return CUDA_SUCCESS;
	CUDA_LITE_RESULT_LIST(RESULT)
#undef RESULT
	}
	*string = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* The file that the code at pc belongs to, as the kernel's list of mappings names it; "" where that cannot be told. */
static void file_of(const void *pc, char *to, size_t bytes)
{
	unsigned long at = (unsigned long)pc, own = (unsigned long)file_of, first, end;
	char line[4096 + 128], *path;
	FILE *f = fopen("/proc/self/maps", "re");

	*to = 0;
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx", &first, &end) != 2 || at < first || at >= end)
			continue;
		path = strchr(line, '/');
		/* a traced call comes from our own entry point */
		if (!path || (own >= first && own < end))
			break;
		path[strcspn(path, "\n")] = 0;
		snprintf(to, bytes, "%s", path);
		break;
	}
	if (f)
		fclose(f);
}

/*
 * Export tables are NVIDIA's private interfaces between its own libraries, and none exists here: a success with an empty
 * table would crash the caller. Whoever asks for one, under whatever key, was made for NVIDIA's driver only; mostly it
 * is the stock cudart, linked in statically as nvcc does by default, and its user sees no more than error 500.
 */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	/* What NVRTC asks for, a shared library or linked into a program (Warp's): it compiles as well without an answer. */
	static const unsigned char compiler[16] = { 0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28 };
	static uint32_t said, said_cupti;
	char who[512];

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	if (__atomic_load_n(&said, __ATOMIC_RELAXED) || !memcmp(id, compiler, sizeof compiler))
		return CUDA_ERROR_NOT_FOUND;
	file_of(__builtin_return_address(0), who, sizeof who);
	/* torch.profiler and its like go on without it. */
	if (strstr(who, "/libcupti")) {
		if (!__atomic_exchange_n(&said_cupti, 1, __ATOMIC_RELAXED))
			vg_say("%s: NVIDIA's profiling library (CUPTI) records nothing here, for it asks for private tables of NVIDIA's driver; "
			       "`vgpu trace` records what the device does", who);
		return CUDA_ERROR_NOT_FOUND;
	}
	/* These ask too, and compile as well without an answer. */
	if (!strstr(who, "/libnvrtc") && !strstr(who, "/libnvJitLink") && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		vg_say("%s%sNVIDIA's own CUDA runtime (cudart) asks for private tables of NVIDIA's driver, which this libcuda has not: it "
		       "cannot work here. What does: `vgpu run`, which puts our libcudart in its place, shared or inside a program that kept "
		       "its symbols; `nvcc -cudart shared`; or libcuda-lite.a linked instead of libcudart_static.a",
		       who, who[0] ? ": " : "");
	return CUDA_ERROR_NOT_FOUND;
}

/* Documented: they tell an attached profiler, and without one they have no effect. */
static CUresult profiler(void)
{
	struct vg_ctx *c;

	VG_READY();
	return vg_current(&c);
}

CUresult cuProfilerStart(void) { return profiler(); }
CUresult cuProfilerStop(void) { return profiler(); }
