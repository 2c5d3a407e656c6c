/* SPDX-License-Identifier: MIT */
/*
 * cuBLAS on the mock driver, in the same library. It multiplies and solves in F32, plainly, as kernels of the engine's own (stream.c); other types
 * it answers NOT_SUPPORTED, as cuBLAS may. Its statuses are failures of the plan, as other calls' errors are; of a lost context it says
 * EXECUTION_FAILED, no more than that.
 */
#include "mock.h"

#include <stddef.h>

#include "../../../tools/vgpu-stub/cuda/kernels/product.h"

#define ENTER_BLAS(name) \
	do { \
		CUresult r_ = mock_enter(MOCK_##name); \
		if (r_) \
			return mock_lost() ? CUBLAS_STATUS_EXECUTION_FAILED : (cublasStatus_t)r_; \
	} while (0)

/* One handle; who takes another's stream or workspace is told. */
static int created, device_scalars;
static CUstream stream;

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *h)
{
	ENTER_BLAS(cublasCreate_v2);
	if (!mock_have_context())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	created = 1;
	*h = (cublasHandle_t)&created;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t known(cublasHandle_t h)
{
	return created && h == (cublasHandle_t)&created ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

EXPORT cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	ENTER_BLAS(cublasSetMathMode);
	return mode == CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION ? known(h) : CUBLAS_STATUS_INVALID_VALUE;
}

EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s)
{
	ENTER_BLAS(cublasSetStream_v2);
	stream = s;
	return known(h);
}

EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *at, size_t bytes)
{
	size_t piece;

	ENTER_BLAS(cublasSetWorkspace_v2);
	/* aligned, and device memory, all of it */
	if ((uintptr_t)at % 256 || !mock_memory((uintptr_t)at, bytes, &piece) || piece < bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	return known(h);
}

EXPORT cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t mode)
{
	ENTER_BLAS(cublasSetPointerMode_v2);
	device_scalars = mode == CUBLAS_POINTER_MODE_DEVICE;
	return known(h);
}

static cublasStatus_t give(const char *kernel, cublasHandle_t h, struct product_call *q, const void *alpha, const void *beta)
{
	cublasStatus_t st = known(h);

	if (st)
		return st;
	q->batch = 1;
	q->type_a = q->type_b = q->type_c = q->type_scalar = 1;
	if (device_scalars) {
		q->alpha_at = (uintptr_t)alpha;
		q->beta_at = (uintptr_t)beta;
	} else {
		q->alpha = (double)*(const float *)alpha;
		q->beta = beta ? (double)*(const float *)beta : 0;
	}
	mock_product(kernel, q, sizeof(*q), stream);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGemmEx(CUBLAS_ARGS_gemmEx(int))
{
	struct product_call q = { .a = (uintptr_t)A, .b = (uintptr_t)B, .c = (uintptr_t)C, .m = (unsigned)m, .n = (unsigned)n, .k = (unsigned)k,
				  .lda = (unsigned)lda, .ldb = (unsigned)ldb, .ldc = (unsigned)ldc,
				  .flags = (transa ? PRODUCT_TRANS_A : 0) | (transb ? PRODUCT_TRANS_B : 0) };

	(void)algo;
	ENTER_BLAS(cublasGemmEx);
	if (Atype != CUDA_R_32F || Btype != Atype || Ctype != Atype || compute != CUBLAS_COMPUTE_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return give("product_f32_4", handle, &q, alpha, beta);
}

EXPORT cublasStatus_t cublasStrsm_v2(CUBLAS_ARGS_trsm(int, float, float))
{
	struct product_call q = { .a = (uintptr_t)A, .c = (uintptr_t)B, .m = (unsigned)m, .n = (unsigned)n, .lda = (unsigned)lda, .ldc = (unsigned)ldb,
				  .flags = (trans ? PRODUCT_TRANS_A : 0) | (side ? PRODUCT_RIGHT : 0) | (uplo ? PRODUCT_UPPER : 0) | (diag ? PRODUCT_UNIT : 0) };

	ENTER_BLAS(cublasStrsm_v2);
	return give("solve_any", handle, &q, alpha, NULL);
}

#define NOT_THIS(name, ...) EXPORT cublasStatus_t name(__VA_ARGS__) { ENTER_BLAS(name); return CUBLAS_STATUS_NOT_SUPPORTED; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOT_THIS(cublasGemmStridedBatchedEx, CUBLAS_ARGS_gemmStridedEx(int))
NOT_THIS(cublasGemmBatchedEx, CUBLAS_ARGS_gemmBatchedEx(int))
NOT_THIS(cublasDtrsm_v2, CUBLAS_ARGS_trsm(int, double, double))
NOT_THIS(cublasStrsmBatched, CUBLAS_ARGS_trsmBatched(int, float, float))
NOT_THIS(cublasDtrsmBatched, CUBLAS_ARGS_trsmBatched(int, double, double))
