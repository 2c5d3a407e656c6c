/* SPDX-License-Identifier: MIT */
/*
 * Driver-API helpers of the end-to-end programs: CK() for calls that must succeed, and the few lines
 * of set-up that every one of them needs.
 */
#ifndef E2E_DRV_H
#define E2E_DRV_H

#include <cuda.h>

#include "common.h"

/* cuda.h of CUDA 13 declares only the newest form; the exported symbol of this one stays. */
extern CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);

static inline const char *drv_err(CUresult r)
{
	const char *s = NULL;

	if (cuGetErrorName(r, &s) != CUDA_SUCCESS || !s)
		return "(no name)";
	return s;
}

__attribute__((noreturn, unused))
static void drv_die(const char *file, int line, const char *what, CUresult r)
{
	printf("%s: FAIL %s:%d: %s: %s (%d)\n", e2e_name, file, line, what, drv_err(r), (int)r);
	/* _exit: after a lost device or in a thread, exit handlers may wait for what will not come. */
	fflush(NULL);
	_exit(1);
}

#define CK(call) \
	do { \
		CUresult r_ = (call); \
		if (r_ != CUDA_SUCCESS) \
			drv_die(__FILE__, __LINE__, #call, r_); \
	} while (0)

/* A call that must give this very error. */
#define WANT(code, call) \
	do { \
		CUresult r_ = (call); \
		if (r_ != (code)) \
			e2e_fail("%s:%d: %s gave %s, want %s", __FILE__, __LINE__, #call, drv_err(r_), drv_err(code)); \
	} while (0)

/* Device 0, a context of its own made current. */
static inline CUcontext drv_start(const char *name)
{
	CUcontext ctx;
	CUdevice dev;
	int n = 0;

	e2e_begin(name);
	CK(cuInit(0));
	CK(cuDeviceGetCount(&n));
	if (n < 1)
		drv_die(__FILE__, __LINE__, "no device", CUDA_ERROR_NO_DEVICE);
	CK(cuDeviceGet(&dev, 0));
	CK(cuCtxCreate_v2(&ctx, 0, dev));
	return ctx;
}

static inline CUfunction drv_kernel(CUmodule mod, const char *name)
{
	CUfunction f;
	CUresult r = cuModuleGetFunction(&f, mod, name);

	if (r != CUDA_SUCCESS)
		drv_die(__FILE__, __LINE__, name, r);
	return f;
}

static inline CUmodule drv_module(const char *ptx)
{
	CUmodule mod;

	CK(cuModuleLoadData(&mod, ptx));
	return mod;
}

/* LAUNCH(f, grid, block, shared bytes, stream, &arg, ...): one-dimensional. */
#define LAUNCH(f, grid, block, shared, stream, ...) \
	do { \
		void *args_[] = { __VA_ARGS__ }; \
		CK(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, stream, args_, NULL)); \
	} while (0)

static inline CUdeviceptr drv_alloc(size_t bytes)
{
	CUdeviceptr p;

	CK(cuMemAlloc(&p, bytes));
	return p;
}

/*
 * Free memory is a number of the whole device, and neighbours come and go between two looks: what was
 * given back must be seen within half a minute, when no large neighbour holds memory, give or take a small one. A leak stays.
 */
static inline int drv_free_again(size_t want)
{
	double end = e2e_now_s() + 30;
	size_t now, total;

	for (;;) {
		CK(cuMemGetInfo(&now, &total));
		if (now + ((size_t)4 << 20) >= want)
			return 1;
		if (e2e_now_s() > end)
			return 0;
		e2e_sleep_ms(20);
	}
}

/* Device copy of a host array. */
static inline CUdeviceptr drv_upload(const void *host, size_t bytes)
{
	CUdeviceptr p = drv_alloc(bytes);

	CK(cuMemcpyHtoD(p, host, bytes));
	return p;
}

#endif
