/* SPDX-License-Identifier: MIT */
/*
 * Statuses: the one place where a CUresult becomes a cublasStatus_t, names and texts, and the entry points that exist
 * only so that programs load (unsupported.def).
 */
#include <stdio.h>
#include <unistd.h>

#include "blas.h"

#define STATUSES(X) \
	X(CUBLAS_STATUS_SUCCESS, "success") \
	X(CUBLAS_STATUS_NOT_INITIALIZED, "no live cuBLAS handle, or no context") \
	X(CUBLAS_STATUS_ALLOC_FAILED, "out of memory") \
	X(CUBLAS_STATUS_INVALID_VALUE, "invalid argument") \
	X(CUBLAS_STATUS_ARCH_MISMATCH, "the device lacks a feature") \
	X(CUBLAS_STATUS_MAPPING_ERROR, "device memory could not be mapped") \
	X(CUBLAS_STATUS_EXECUTION_FAILED, "the device failed") \
	X(CUBLAS_STATUS_INTERNAL_ERROR, "internal error") \
	X(CUBLAS_STATUS_NOT_SUPPORTED, "not supported") \
	X(CUBLAS_STATUS_LICENSE_ERROR, "license error")

cublasStatus_t blas_status(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_INVALID_VALUE:
		return CUBLAS_STATUS_INVALID_VALUE;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUBLAS_STATUS_NOT_INITIALIZED;
	case CUDA_ERROR_NOT_SUPPORTED:
		return CUBLAS_STATUS_NOT_SUPPORTED;
	default:        /* the context's own failure, or a stream that is none */
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

const char *cublasGetStatusName(cublasStatus_t status)
{
	switch ((int)status) {
#define NAME(code, text) case code: return #code;
	STATUSES(NAME)
#undef NAME
	}
	return "unknown status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	switch ((int)status) {
#define TEXT(code, text) case code: return text;
	STATUSES(TEXT)
#undef TEXT
	}
	return "unknown status";
}

cublasStatus_t blas_unsupported(atomic_uint *said, const char *name)
{
	char line[160];
	int n;

	if (!atomic_exchange_explicit(said, 1, memory_order_relaxed)) {
		n = snprintf(line, sizeof(line), "vgpu libcublas: %s is not supported\n", name);
		/* one write, so that lines of several threads do not mix; a closed stderr is not our problem */
		if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
			return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return CUBLAS_STATUS_NOT_SUPPORTED;
}
