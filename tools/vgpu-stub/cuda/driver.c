/* SPDX-License-Identifier: MIT */
/*
 * The host's libcuda: opened by name at run time, never linked, so that the device builds and runs where there is none.
 *
 * Everything that needs a file happens here, before the context's walls stand and its sandbox closes: the library and its
 * device nodes, the CUDA context, and the compiler of PTX, which the driver loads when it first meets some.
 */
#define _GNU_SOURCE
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct cuda_driver cu;
static CUcontext the_context;
static CUdevice the_device;

CUcontext cuda_context(void) { return the_context; }
CUdevice cuda_device(void) { return the_device; }

const char *cuda_error_name(CUresult r)
{
	const char *s = NULL;

	return cu.cuGetErrorName && cu.cuGetErrorName(r, &s) == CUDA_SUCCESS && s ? s : "an unknown error";
}

/* CUresult to what the wire knows, or as it is. Errors of the context are sticky there as here. */
uint32_t cuda_status(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS: return VGPU_ST_OK;
	case CUDA_ERROR_OUT_OF_MEMORY: return VGPU_ST_OUT_OF_MEMORY;
	case CUDA_ERROR_INVALID_VALUE: return VGPU_ST_INVALID;
	case CUDA_ERROR_NOT_FOUND: return VGPU_ST_NOT_FOUND;
	case CUDA_ERROR_NOT_SUPPORTED: return VGPU_ST_NOT_SUPPORTED;
	case CUDA_ERROR_INVALID_IMAGE: return VGPU_ST_INVALID_IMAGE;
	case CUDA_ERROR_INVALID_PTX: return VGPU_ST_INVALID_PTX;
	case CUDA_ERROR_NO_BINARY_FOR_GPU: return VGPU_ST_NO_BINARY;
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return VGPU_ST_PTX_VERSION;
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return VGPU_ST_LAUNCH_RESOURCES;
	case CUDA_ERROR_ILLEGAL_ADDRESS: return VGPU_ST_ILLEGAL_ADDRESS;
	case CUDA_ERROR_MISALIGNED_ADDRESS: return VGPU_ST_MISALIGNED;
	case CUDA_ERROR_ILLEGAL_INSTRUCTION: return VGPU_ST_ILLEGAL_INSTRUCTION;
	case CUDA_ERROR_LAUNCH_FAILED: return VGPU_ST_TRAP;
	case CUDA_ERROR_ASSERT: return VGPU_ST_ASSERT;
	case CUDA_ERROR_LAUNCH_TIMEOUT: return VGPU_ST_TIMEOUT;
	case CUDA_ERROR_DEVICE_UNAVAILABLE: return VGPU_ST_DEVICE_LOST;
	default: return (unsigned)r < 1000 ? VGPU_ST_CUDA + (uint32_t)r : VGPU_ST_INTERNAL;
	}
}

const char *cuda_resolve(void *library, const struct cuda_call *calls, size_t n, void *to)
{
	for (size_t i = 0; i < n; i++) {
		void *p = dlsym(library, calls[i].name);

		if (!p)
			return calls[i].name;
		memcpy((char *)to + calls[i].at, &p, sizeof(p));
	}
	return NULL;
}

uint32_t cuda_open_library(const char *path, int ordinal, char *why, size_t room)
{
	static const struct cuda_call calls[] = {
#define CUDA_NAME(name) { #name, offsetof(struct cuda_driver, name) },
		CUDA_CALLS(CUDA_NAME)
#undef CUDA_NAME
	};
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *missing;
	CUresult r;
	int n = 0;

	if (!lib) {
		snprintf(why, room, "the CUDA driver cannot be opened: %s", dlerror());
		return VGPU_ST_NOT_FOUND;
	}
	missing = cuda_resolve(lib, calls, sizeof(calls) / sizeof(calls[0]), &cu);
	if (missing) {
		snprintf(why, room, "%s has no %s: a driver of CUDA 12.4 or later is needed", path, missing);
		return VGPU_ST_NOT_SUPPORTED;
	}
	r = cu.cuInit(0);
	if (!r)
		r = cu.cuDeviceGetCount(&n);
	if (!r && ordinal >= n) {
		snprintf(why, room, "%s has %d device%s, there is no number %d", path, n, n == 1 ? "" : "s", ordinal);
		return VGPU_ST_CUDA + CUDA_ERROR_INVALID_DEVICE;
	}
	if (!r)
		r = cu.cuDeviceGet(&the_device, ordinal);
	if (r)
		snprintf(why, room, "%s: %s", path, cuda_error_name(r));
	return cuda_status(r);
}

/*
 * The place of the client's device memory, which this process keeps free for it. Addresses of a process are its driver's as well, so what is
 * reserved here the driver gives to nobody: it is let go for that moment, and kept again where the driver does not do so itself.
 */
static CUresult reserve(CUdeviceptr want, uint64_t bytes, CUdeviceptr *at)
{
	void *place = (void *)(uintptr_t)want;
	CUresult r;

	munmap(place, bytes);
	r = cu.cuMemAddressReserve(at, bytes, CUDA_PAGE, want, 0);
	if (mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
	    errno != EEXIST)
		return CUDA_ERROR_OPERATING_SYSTEM;
	return r;
}

static int host_function_ran;
static void CUDA_CB ran(void *user) { (void)user; __atomic_store_n(&host_function_ran, 1, __ATOMIC_RELEASE); }

uint32_t cuda_open_context(uint64_t device_base, uint64_t bytes, char *why, size_t room)
{
	/* Any PTX: the driver's compiler is a library of its own, and there are no files later. */
	static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry vgpu_first()\n{\n\tret;\n}\n";
	CUdeviceptr at = 0, want = device_base + VGPU_ARENA_BYTES;
	const char *call = "cuCtxCreate";
	CUfunction f;
	CUmodule m;
	CUresult r;

	if (cuda_print_open()) {
		snprintf(why, room, "no pipe for what kernels print: %s", strerror(errno));
		return VGPU_ST_LIMIT;
	}
	r = cu.cuCtxCreate_v2(&the_context, CU_CTX_SCHED_BLOCKING_SYNC, the_device);

	if (!r && (call = "cuMemAddressReserve", r = reserve(want, bytes ? bytes : CUDA_VA_BYTES, &at)) == CUDA_SUCCESS &&
	    at != want) {
		snprintf(why, room, "the driver places memory at 0x%llx, not at 0x%llx, where the client has its own", (unsigned long long)at,
			 (unsigned long long)want);
		return VGPU_ST_NOT_SUPPORTED;
	}
	if (!r && (call = "cuModuleLoadDataEx", r = cu.cuModuleLoadDataEx(&m, ptx, 0, NULL, NULL)) == CUDA_SUCCESS &&
	    (call = "cuModuleEnumerateFunctions", r = cu.cuModuleEnumerateFunctions(&f, 1, m)) == CUDA_SUCCESS &&
	    (call = "cuLaunchKernel", r = cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)) == CUDA_SUCCESS &&
	    /* the thread of host functions starts with the first one */
	    (call = "cuLaunchHostFunc", r = cu.cuLaunchHostFunc(NULL, ran, NULL)) == CUDA_SUCCESS &&
	    (call = "cuStreamSynchronize", r = cu.cuStreamSynchronize(NULL)) == CUDA_SUCCESS)
		r = cu.cuModuleUnload(m);
	if (!r && !__atomic_load_n(&host_function_ran, __ATOMIC_ACQUIRE)) {
		snprintf(why, room, "cuLaunchHostFunc: the stream ended before its host function ran");
		return VGPU_ST_INTERNAL;
	}
	if (r)
		snprintf(why, room, "%s: %s", call, cuda_error_name(r));
	return cuda_status(r);
}
