/* SPDX-License-Identifier: MIT */
/*
 * cuInit, versions, error names: what works before there is a session, and the small helpers that
 * every other file of driver/ uses.
 */
#include "driver.h"

#include <string.h>

CUresult vg_fail(struct vg_ctx *c, uint32_t status)
{
	if (c && vgpu_status_sticky(status) && status == vg_ctx_error(c))
		vg_report(c);
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
	*version = VG_DRIVER_VERSION;
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

/*
 * Export tables are NVIDIA's private interfaces between its own libraries. None exists here; a
 * success with an empty table would crash the caller.
 */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const unsigned char handshake[16] = { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b,
						     0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 };
	static uint32_t said;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	if (!memcmp(id->bytes, handshake, sizeof handshake) && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		vg_say("this program carries NVIDIA's own cudart, which talks to NVIDIA's driver only; build it with "
		       "`-cudart shared` and run it with `vgpu run`");
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
