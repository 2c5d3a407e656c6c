/* SPDX-License-Identifier: MIT */
/* What libcublas and libcublasLt share: types by number, factors, kernels of their own. Each library has its copy. */
#ifndef BLAS_TYPES_H
#define BLAS_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>

#pragma GCC visibility push(default)
#include "cuda.h"
#include "cublas_api.h"
#pragma GCC visibility pop
#include "../../fw-protocol/vgpu_cmd.h"

/* A text of PTX, loaded once in a process: kernels by their place in names, of which some may be NULL. */
struct blas_module {
	const char *ptx;
	const char *const *names;
	CUkernel *kernels;
	unsigned int count;
	atomic_uint ready;              /* 0 not yet, 1 one thread loads, 2 loaded */
};

#pragma GCC visibility push(hidden)
/* types.c. enum vgpu_gemm_type, or 0 */
unsigned int blas_type(cudaDataType t);
/* A combination of cuBLAS's table that we compute: types of inputs, output and factors. False: none of them. */
bool blas_types(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute, unsigned int *in, unsigned int *out,
		unsigned int *scalar);
double blas_host_scalar(const void *p, unsigned int type);

/* module.c. gx blocks of `threads`, gy of them above one another; args: the kernel's one argument */
CUresult blas_launch(struct blas_module *m, unsigned int kernel, unsigned int gx, unsigned int gy, unsigned int threads, CUstream stream,
		     void *args);
/* Blocks for n threads' work, which go through it in steps. */
unsigned int blas_blocks(unsigned long long n, unsigned int threads);
#pragma GCC visibility pop

#endif
