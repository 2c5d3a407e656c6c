/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments that only libcuda can name: functions, launch parameters, structures of the driver API. Called
 * by format.c. Bodies are called by their inner names: these calls are not the program's.
 */
#include "trace.h"

#include <stdbool.h>

#define __CUDA_API_VERSION_INTERNAL
#include "cuda.h"

#pragma GCC visibility push(hidden)
extern __typeof__(cuFuncGetName) vgpu_impl_cuFuncGetName;
extern __typeof__(cuKernelGetName) vgpu_impl_cuKernelGetName;
extern __typeof__(cuFuncGetParamInfo) vgpu_impl_cuFuncGetParamInfo;
extern __typeof__(cuKernelGetParamInfo) vgpu_impl_cuKernelGetParamInfo;
#pragma GCC visibility pop

#define NAME_BYTES 160u
#define MAX_PARAMS 32u

static void name(struct text *t, uint64_t handle)
{
	const char *s = NULL;

	if (vgpu_impl_cuFuncGetName(&s, (CUfunction)(uintptr_t)handle) != CUDA_SUCCESS &&
	    vgpu_impl_cuKernelGetName(&s, (CUkernel)(uintptr_t)handle) != CUDA_SUCCESS)
		s = NULL;
	if (s)
		text_string(t, s, strnlen(s, NAME_BYTES));
	else
		text_add(t, handle ? "%#llx" : "0", (unsigned long long)handle);
}

/* The values that a launch was given, by the sizes that the kernel declares. */
static void parameters(struct text *t, uint64_t fn, uint64_t params)
{
	size_t offset, bytes;

	if (!params) {
		text_add(t, "NULL");
		return;
	}
	text_add(t, "{");
	for (size_t i = 0; i < MAX_PARAMS; i++) {
		uint64_t p, v = 0;

		if (vgpu_impl_cuFuncGetParamInfo((CUfunction)(uintptr_t)fn, i, &offset, &bytes) != CUDA_SUCCESS &&
		    vgpu_impl_cuKernelGetParamInfo((CUkernel)(uintptr_t)fn, i, &offset, &bytes) != CUDA_SUCCESS)
			break;
		text_add(t, i ? ", " : "");
		if (trace_read(&p, params + 8 * i, 8))
			text_add(t, "?");
		else if (bytes > 8)
			text_add(t, "(%zu bytes)", bytes);
		else if (!bytes || trace_read(&v, p, bytes))
			text_add(t, "%#llx", (unsigned long long)p);
		else if (bytes == 8)
			text_add(t, "%#llx", (unsigned long long)v);
		else
			text_add(t, "%lld", bytes == 4 ? (long long)(int32_t)v : (long long)v);
	}
	text_add(t, "}");
}

static void config(struct text *t, uint64_t p)
{
	CUlaunchConfig k;

	if (trace_read(&k, p, sizeof(k))) {
		text_add(t, "%#llx", (unsigned long long)p);
		return;
	}
	text_add(t, "{grid {%u,%u,%u}, block {%u,%u,%u}, shared %u, stream %#llx, %u attributes}", k.gridDimX, k.gridDimY, k.gridDimZ,
		 k.blockDimX, k.blockDimY, k.blockDimZ, k.sharedMemBytes, (unsigned long long)(uintptr_t)k.hStream, k.numAttrs);
}

static void side(struct text *t, CUmemorytype type, const void *host, CUdeviceptr dev, size_t x, size_t y, size_t pitch)
{
	text_add(t, "%s %#llx+(%zu,%zu) pitch %zu", type == CU_MEMORYTYPE_HOST ? "host" : type == CU_MEMORYTYPE_DEVICE ? "device" :
		 type == CU_MEMORYTYPE_UNIFIED ? "unified" : "array",
		 type == CU_MEMORYTYPE_HOST ? (unsigned long long)(uintptr_t)host : dev, x, y, pitch);
}

static void copy(struct text *t, uint64_t p, bool volume)
{
	CUDA_MEMCPY2D a;
	CUDA_MEMCPY3D b;

	if (volume ? trace_read(&b, p, sizeof(b)) : trace_read(&a, p, sizeof(a))) {
		text_add(t, "%#llx", (unsigned long long)p);
		return;
	}
	text_add(t, "{from ");
	if (volume) {
		side(t, b.srcMemoryType, b.srcHost, b.srcDevice, b.srcXInBytes, b.srcY, b.srcPitch);
		text_add(t, ", to ");
		side(t, b.dstMemoryType, b.dstHost, b.dstDevice, b.dstXInBytes, b.dstY, b.dstPitch);
		text_add(t, ", %zu x %zu x %zu}", b.WidthInBytes, b.Height, b.Depth);
	} else {
		side(t, a.srcMemoryType, a.srcHost, a.srcDevice, a.srcXInBytes, a.srcY, a.srcPitch);
		text_add(t, ", to ");
		side(t, a.dstMemoryType, a.dstHost, a.dstDevice, a.dstXInBytes, a.dstY, a.dstPitch);
		text_add(t, ", %zu x %zu}", a.WidthInBytes, a.Height);
	}
}

void vgpu_trace_special(struct text *t, char kind, const uint64_t *args, unsigned i)
{
	switch (kind) {
	case 'K':
	case 'M': name(t, args[i]); break;
	/* cuLaunchKernelEx(config, fn, params) and cuLaunchKernel(fn, ..., params) */
	case 'P': parameters(t, i == 2 ? args[1] : args[0], args[i]); break;
	case 'A': config(t, args[i]); break;
	case 'G':
	case 'H': copy(t, args[i], kind == 'H'); break;
	default: text_add(t, "%#llx", (unsigned long long)args[i]);
	}
}

const char *vgpu_trace_error(int error)
{
	switch (error) {
#define TEXT(name, value, text) case value: return text;
	CUDA_LITE_RESULT_LIST(TEXT)
#undef TEXT
	}
	return "";
}
