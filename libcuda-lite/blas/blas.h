/* SPDX-License-Identifier: MIT */
/*
 * libcublas's own declarations. The library is a thin layer over the public driver API and one private entry of
 * our libcuda (vgpu_gemm.h): it checks arguments and queues one command; the device computes.
 *
 * Compiled once, but for what tells the version: that per ABI (-DCUBLAS_MAJOR=12 or 13; build.mk). Only functions that old C libraries have.
 */
#ifndef BLAS_H
#define BLAS_H

#include <stdatomic.h>
#include <stdbool.h>

#pragma GCC visibility push(default)
#include "cuda.h"
#include "cublas_api.h"
#pragma GCC visibility pop
#include "vgpu_gemm.h"

#ifdef CUBLAS_MAJOR
#if CUBLAS_MAJOR == 12
#define BLAS_VERSION 120800
#elif CUBLAS_MAJOR == 13
#define BLAS_VERSION 130000
#else
#error "compile with -DCUBLAS_MAJOR=12 or -DCUBLAS_MAJOR=13"
#endif
#endif

struct cublasContext {
	atomic_uint used;               /* 0 free, 1 in use, 2 coming or going */
	unsigned int generation;        /* in the handle, so that a destroyed one stays invalid */
	CUcontext ctx;                  /* current when it was created; for threads that have none */
	CUstream stream;
	cublasPointerMode_t pointer_mode;
	cublasMath_t math_mode;
	cublasAtomicsMode_t atomics_mode;
	int sm_count;
	void *slot;                     /* levels.c: what host and device see, for one user at a time */
	atomic_uint slot_used;
};

#pragma GCC visibility push(hidden)
/* handle.c. NULL: not a live handle. */
struct cublasContext *blas_handle(cublasHandle_t h);
/* Makes a context current for a thread that has none. */
cublasStatus_t blas_enter(const struct cublasContext *b);

/* status.c: the one place where a CUresult becomes a cublasStatus_t */
cublasStatus_t blas_status(CUresult r);
cublasStatus_t blas_unsupported(atomic_uint *said, const char *name);
#pragma GCC visibility pop

#define BLAS_UNSUPPORTED(name) \
	do { \
		static atomic_uint said_; \
		return blas_unsupported(&said_, name); \
	} while (0)

#endif
