/* SPDX-License-Identifier: MIT */
/* Runtime-API helpers of the <<<>>> programs; the counterpart of drv.h. */
#ifndef E2E_RT_H
#define E2E_RT_H

#include <cuda_runtime.h>

#include "common.h"

__attribute__((noreturn, unused))
static void rt_die(const char *file, int line, const char *what, cudaError_t r)
{
	printf("%s: FAIL %s:%d: %s: %s (%d)\n", e2e_name, file, line, what, cudaGetErrorName(r), (int)r);
	fflush(NULL);
	_exit(1);
}

#define RK(call) \
	do { \
		cudaError_t r_ = (call); \
		if (r_ != cudaSuccess) \
			rt_die(__FILE__, __LINE__, #call, r_); \
	} while (0)

/* A call that must give this very error. */
#define RWANT(code, call) \
	do { \
		cudaError_t r_ = (call); \
		if (r_ != (code)) \
			e2e_fail("%s:%d: %s gave %s, want %s", __FILE__, __LINE__, #call, \
				cudaGetErrorName(r_), cudaGetErrorName(code)); \
	} while (0)

/* After a <<<>>>, which returns nothing itself. */
#define LAUNCHED() RK(cudaGetLastError())

static inline void rt_start(const char *name)
{
	int n = 0;

	e2e_begin(name);
	RK(cudaGetDeviceCount(&n));
	if (n < 1)
		rt_die(__FILE__, __LINE__, "no device", cudaErrorNoDevice);
}

template <class T> static T *rt_alloc(size_t n)
{
	T *p;

	RK(cudaMalloc((void **)&p, n * sizeof(T)));
	return p;
}

template <class T> static T *rt_upload(const T *host, size_t n)
{
	T *p = rt_alloc<T>(n);

	RK(cudaMemcpy(p, host, n * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

template <class T> static void rt_download(T *host, const T *dev, size_t n)
{
	RK(cudaMemcpy(host, dev, n * sizeof(T), cudaMemcpyDeviceToHost));
}

template <class T> static T *rt_host(size_t n)
{
	return (T *)e2e_malloc(n * sizeof(T));
}

#endif
