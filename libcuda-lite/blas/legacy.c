/* SPDX-License-Identifier: MIT */
/*
 * The calls without a handle (include/cublas.h). Each context has a handle of its own, made by cublasInit, since threads with a device each are
 * what programs of that time have; a thread without a context takes the first. A status stays until it is asked for, whoever asks.
 */
#include <stdio.h>

#include "blas.h"
#pragma GCC visibility push(default)
#include "cublas.h"
#pragma GCC visibility pop

#define CONTEXTS 64u

/* Where used is set, ctx and handle are. */
static struct { atomic_uint used; CUcontext ctx; cublasHandle_t handle; } table[CONTEXTS];
static atomic_uint last;

static cublasStatus_t keep(cublasStatus_t st)
{
	if (st != CUBLAS_STATUS_SUCCESS)
		atomic_store(&last, (unsigned int)st);
	return st;
}

/* The place of the current context's handle, or CONTEXTS. What was made in a context that was reset since is nobody's. */
static unsigned int place(void)
{
	CUcontext ctx = NULL;
	unsigned int version;

	(void)cuCtxGetCurrent(&ctx);
	for (unsigned int i = 0; i < CONTEXTS; i++) {
		if (atomic_load_explicit(&table[i].used, memory_order_acquire) != 1 || (ctx && table[i].ctx != ctx) ||
		    cuCtxGetApiVersion(table[i].ctx, &version) != CUDA_SUCCESS)
			continue;
		if (!ctx)
			(void)cuCtxSetCurrent(table[i].ctx);
		return i;
	}
	return CONTEXTS;
}

/* Takes a place back, if it is in use still. */
static cublasStatus_t leave(unsigned int i)
{
	unsigned int used = 1;
	cublasStatus_t st;

	if (!atomic_compare_exchange_strong(&table[i].used, &used, 2))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	st = cublasDestroy_v2(table[i].handle);
	atomic_store_explicit(&table[i].used, 0, memory_order_release);
	return st;
}

/* NULL is no handle: what is called with it answers NOT_INITIALIZED. */
static cublasHandle_t handle(void)
{
	unsigned int i = place();

	return i < CONTEXTS ? table[i].handle : NULL;
}

cublasStatus_t cublasInit(void)
{
	cublasStatus_t st;

	if (cuInit(0) == CUDA_SUCCESS && handle())
		return CUBLAS_STATUS_SUCCESS;
	for (unsigned int i = 0; i < CONTEXTS; i++) {
		unsigned int unused = 0, version;

		if (atomic_load_explicit(&table[i].used, memory_order_acquire) == 1 &&
		    cuCtxGetApiVersion(table[i].ctx, &version) != CUDA_SUCCESS)
			(void)leave(i);
		if (!atomic_compare_exchange_strong(&table[i].used, &unused, 2))
			continue;
		st = cublasCreate_v2(&table[i].handle);
		if (st == CUBLAS_STATUS_SUCCESS)
			st = blas_status(cuCtxGetCurrent(&table[i].ctx));
		atomic_store_explicit(&table[i].used, st == CUBLAS_STATUS_SUCCESS, memory_order_release);
		return keep(st);
	}
	return keep(CUBLAS_STATUS_ALLOC_FAILED);
}

cublasStatus_t cublasShutdown(void)
{
	unsigned int i = place();

	return keep(i < CONTEXTS ? leave(i) : CUBLAS_STATUS_NOT_INITIALIZED);
}

cublasStatus_t cublasGetError(void)
{
	return (cublasStatus_t)atomic_exchange(&last, CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasGetVersion(int *version)
{
	return keep(cublasGetVersion_v2(handle(), version));
}

cublasStatus_t cublasAlloc(int n, int size, void **device)
{
	CUdeviceptr at = 0;
	cublasStatus_t st;

	if (!handle())
		return keep(CUBLAS_STATUS_NOT_INITIALIZED);
	if (n <= 0 || size <= 0 || !device)
		return keep(CUBLAS_STATUS_INVALID_VALUE);
	st = blas_status(cuMemAlloc(&at, (size_t)n * (size_t)size));
	*device = (void *)(uintptr_t)at;
	return keep(st);
}

cublasStatus_t cublasFree(void *device)
{
	if (!handle())
		return keep(CUBLAS_STATUS_NOT_INITIALIZED);
	return keep(device ? blas_status(cuMemFree((CUdeviceptr)(uintptr_t)device)) : CUBLAS_STATUS_SUCCESS);
}

cublasStatus_t cublasSetKernelStream(cudaStream_t stream)
{
	return keep(cublasSetStream_v2(handle(), stream));
}

/* What BLAS's own is: the caller's fault, told to whom runs the program. */
void cublasXerbla(const char *name, int parameter);
void cublasXerbla(const char *name, int parameter)
{
	fprintf(stderr, " ** On entry to %.32s parameter number %d had an illegal value\n", name ? name : "?", parameter);
}

/* A letter in either case; what is none of them is a value that no call takes. */
static int letter(char c, const char *letters)
{
	for (int i = 0; letters[i]; i++)
		if (c == letters[i] || c == letters[i] + 'a' - 'A')
			return i;
	return 99;
}

static cublasOperation_t op(char c) { return (cublasOperation_t)letter(c, "NTC"); }
static cublasFillMode_t fill(char c) { return (cublasFillMode_t)letter(c, "LU"); }
static cublasDiagType_t unit(char c) { return (cublasDiagType_t)letter(c, "NU"); }
static cublasSideMode_t of_side(char c) { return (cublasSideMode_t)letter(c, "LR"); }

#define BARE(...) __VA_ARGS__
#define CALL(name, parameters, arguments) \
	void cublas##name parameters { (void)keep(cublas##name##_v2(handle(), BARE arguments)); }
#define VALUE(type, name, parameters, arguments) \
	type cublas##name parameters \
	{ \
		type result = { 0 }; \
		(void)keep(cublas##name##_v2(handle(), BARE arguments, &result)); \
		return result; \
	}
#include "cublas_legacy.h"
