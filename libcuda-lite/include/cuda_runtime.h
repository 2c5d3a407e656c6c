/* SPDX-License-Identifier: MIT */
/*
 * The runtime API for C++ and for CUDA sources: cuda_runtime_api.h plus typed overloads, and, under
 * clang's -x cuda, the language (cuda_lite_device.h).
 *
 * Without NVIDIA's toolkit a .cu file compiles in two steps (libcuda-lite/include/README.md): the
 * device side to PTX, then the host side with that PTX embedded.
 */
#ifndef CUDA_LITE_CUDA_RUNTIME_H
#define CUDA_LITE_CUDA_RUNTIME_H

#define __CUDA_RUNTIME_H__	/* what other people's headers test for */

#include "cuda_runtime_api.h"
#include "channel_descriptor.h"
#ifndef __CUDACC_RTC__
#include "library_types.h"
#endif
#include "vector_functions.h"

#ifdef __CUDA__
#include "cuda_lite_device.h"
#ifndef __CUDACC_RTC__
/* What nvcc's own headers bring: programs call exit(), memset() and sqrt() without asking for them. Behind the device's mathematics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of the host too, as with nvcc, and of a pair of types on both sides */
#define CUDA_LITE_LESSER(t) \
	static inline __host__ t min(t x, t y) { return x < y ? x : y; } \
	static inline __host__ t max(t x, t y) { return x < y ? y : x; }
#define CUDA_LITE_LESSER_OF(r, a, b) \
	static inline __host__ __device__ r min(a x, b y) { return min((r)x, (r)y); } \
	static inline __host__ __device__ r max(a x, b y) { return max((r)x, (r)y); }
#define CUDA_LITE_LESSERS(s, u) \
	CUDA_LITE_LESSER(s) CUDA_LITE_LESSER(u) CUDA_LITE_LESSER_OF(u, s, u) CUDA_LITE_LESSER_OF(u, u, s)
CUDA_LITE_LESSERS(int, unsigned int)
CUDA_LITE_LESSERS(long, unsigned long)
CUDA_LITE_LESSERS(long long, unsigned long long)
static inline __host__ float min(float x, float y) { return fminf(x, y); }
static inline __host__ float max(float x, float y) { return fmaxf(x, y); }
static inline __host__ double min(double x, double y) { return fmin(x, y); }
static inline __host__ double max(double x, double y) { return fmax(x, y); }
CUDA_LITE_LESSER_OF(double, float, double)
CUDA_LITE_LESSER_OF(double, double, float)
#undef CUDA_LITE_LESSERS
#undef CUDA_LITE_LESSER_OF
#undef CUDA_LITE_LESSER
#endif
#endif

#ifdef __cplusplus

/* Allocation into a typed pointer */
template <class T> static inline cudaError_t cudaMalloc(T **ptr, size_t bytes)
{
	return ::cudaMalloc((void **)(void *)ptr, bytes);
}

template <class T> static inline cudaError_t cudaMallocPitch(T **ptr, size_t *pitch, size_t w, size_t h)
{
	return ::cudaMallocPitch((void **)(void *)ptr, pitch, w, h);
}

template <class T> static inline cudaError_t cudaMallocHost(T **ptr, size_t bytes, unsigned int flags = 0)
{
	return ::cudaHostAlloc((void **)(void *)ptr, bytes, flags);
}

template <class T> static inline cudaError_t cudaHostAlloc(T **ptr, size_t bytes, unsigned int flags)
{
	return ::cudaHostAlloc((void **)(void *)ptr, bytes, flags);
}

template <class T> static inline cudaError_t cudaHostGetDevicePointer(T **dptr, void *ptr, unsigned int flags)
{
	return ::cudaHostGetDevicePointer((void **)(void *)dptr, ptr, flags);
}

template <class T>
static inline cudaError_t cudaMallocManaged(T **ptr, size_t bytes, unsigned int flags = cudaMemAttachGlobal)
{
	return ::cudaMallocManaged((void **)(void *)ptr, bytes, flags);
}

template <class T> static inline cudaError_t cudaMallocAsync(T **ptr, size_t bytes, cudaStream_t stream)
{
	return ::cudaMallocAsync((void **)(void *)ptr, bytes, stream);
}

/* Symbols by reference */
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **ptr, const T &symbol)
{
	return ::cudaGetSymbolAddress(ptr, (const void *)&symbol);
}

template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
	return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes, size_t offset = 0,
					     enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return ::cudaMemcpyToSymbol((const void *)&symbol, src, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
					       enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return ::cudaMemcpyFromSymbol(dst, (const void *)&symbol, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t bytes,
						  size_t offset = 0,
						  enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
						  cudaStream_t stream = 0)
{
	return ::cudaMemcpyToSymbolAsync((const void *)&symbol, src, bytes, offset, kind, stream);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t bytes,
						    size_t offset = 0,
						    enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
						    cudaStream_t stream = 0)
{
	return ::cudaMemcpyFromSymbolAsync(dst, (const void *)&symbol, bytes, offset, kind, stream);
}

/* Kernels by name */
template <class T>
static inline cudaError_t cudaLaunchKernel(T *func, dim3 grid, dim3 block, void **args, size_t shared = 0,
					   cudaStream_t stream = 0)
{
	return ::cudaLaunchKernel((const void *)func, grid, block, args, shared, stream);
}

template <class T>
static inline cudaError_t cudaLaunchCooperativeKernel(T *func, dim3 grid, dim3 block, void **args,
						      size_t shared = 0, cudaStream_t stream = 0)
{
	return ::cudaLaunchCooperativeKernel((const void *)func, grid, block, args, shared, stream);
}

/* The parameter types come from the kernel, so that each argument is converted before its address is taken. */
template <class... P, class... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*func)(P...), A &&...args)
{
	return [&](P... converted) {
		void *addresses[sizeof...(P) + 1] = { (void *)&converted..., nullptr };

		return ::cudaLaunchKernelExC(config, (const void *)func, addresses);
	}(static_cast<A &&>(args)...);
}

template <class T> static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, T *func)
{
	return ::cudaFuncGetAttributes(attr, (const void *)func);
}

template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *func, enum cudaFuncAttribute attr, int value)
{
	return ::cudaFuncSetAttribute((const void *)func, attr, value);
}

template <class T> static inline cudaError_t cudaFuncSetCacheConfig(T *func, enum cudaFuncCache config)
{
	return ::cudaFuncSetCacheConfig((const void *)func, config);
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
	return ::cudaEventCreateWithFlags(event, flags);
}

#include "cuda_lite_templates.h"

#endif

#endif
