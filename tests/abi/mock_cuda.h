/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libcuda.so.1 that only records what libcudart asks of it; for runtime_behaviour.c.
 *
 * What it does not define is filled in by test_runtime.sh with bodies that answer NOT_SUPPORTED.
 */
#ifndef MOCK_CUDA_H
#define MOCK_CUDA_H

#include <stdatomic.h>

#define __CUDA_API_VERSION_INTERNAL
#include "cuda.h"

#define MOCK_DEVICES 2
#define MOCK_VAR_BYTES 64

struct mock {
	atomic_int calls;		/* of any function below, except cuCtxGetCurrent */
	atomic_int inits, retains, resets, loads, unloads, kernels, functions, launches;
	CUresult next;			/* answer of the next launch, then CUDA_SUCCESS again */
	CUresult result_of_callback;
	/* the last launch */
	CUfunction fn;
	unsigned int dims[6], shared;
	CUstream stream;
	void **params;
	/* the last copy or fill */
	int per_thread;
	CUdeviceptr dst, src;
	size_t bytes;
	CUDA_MEMCPY2D copy2d;
	CUDA_MEMCPY3D copy3d;
};

/* A kernel or function of the mock names itself. */
struct mock_kernel {
	char name[64];
	CUcontext ctx;			/* functions only */
};

extern struct mock mock;
extern char mock_managed[MOCK_VAR_BYTES], mock_global[MOCK_VAR_BYTES];
CUcontext mock_primary(int device);
CUcontext mock_foreign(int device);

#endif
