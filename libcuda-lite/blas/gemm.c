/* SPDX-License-Identifier: MIT */
/*
 * Products and triangular solves: every entry point becomes one struct call, which check() turns into one command.
 */
#include "blas.h"
#include "types.h"

struct call {
	cublasHandle_t handle;
	unsigned int op;                /* VGPU_OP_GEMM or VGPU_OP_TRSM */
	int m, n, k, count;
	int lda, ldb, ldc;
	long long stride_a, stride_b, stride_c;
	bool pointers;                  /* a, b and c are device arrays of pointers */
	unsigned int ta, tb;            /* cublasOperation_t */
	unsigned int side, uplo, diag;
	const void *a, *b, *alpha, *beta;
	void *c;
	unsigned int type_a, type_b, type_c, type_scalar; /* enum vgpu_gemm_type */
};

static bool ld_ok(int ld, int rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static cublasStatus_t check(const struct call *q)
{
	int order = q->side == CUBLAS_SIDE_LEFT ? q->m : q->n;

	if (q->ta > CUBLAS_OP_C || q->tb > CUBLAS_OP_C || q->m < 0 || q->n < 0 || q->k < 0 || q->count < 0 ||
	    !ld_ok(q->ldc, q->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (q->op == VGPU_OP_TRSM)
		return q->side <= CUBLAS_SIDE_RIGHT && q->uplo <= CUBLAS_FILL_MODE_UPPER && q->diag <= CUBLAS_DIAG_UNIT &&
		       ld_ok(q->lda, order) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
	return ld_ok(q->lda, q->ta ? q->k : q->m) && ld_ok(q->ldb, q->tb ? q->n : q->k) ? CUBLAS_STATUS_SUCCESS :
											   CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t submit(const struct call *q)
{
	struct cublasContext *h = blas_handle(q->handle);
	struct vgpu_body_gemm b = { .c = (uintptr_t)q->c, .batch = (uint32_t)q->count,
				    .flags = q->pointers ? VGPU_GEMM_POINTERS : 0 };
	struct vgpu_gemm p = {
		.stride_a = (uint64_t)q->stride_a, .stride_b = (uint64_t)q->stride_b, .stride_c = (uint64_t)q->stride_c,
		.m = (uint32_t)q->m, .n = (uint32_t)q->n, .k = (uint32_t)q->k,
		.lda = (uint32_t)q->lda, .ldb = (uint32_t)q->ldb, .ldc = (uint32_t)q->ldc,
		.type_a = (uint8_t)q->type_a, .type_b = (uint8_t)q->type_b, .type_c = (uint8_t)q->type_c,
		.type_scalar = (uint8_t)q->type_scalar, .trans_a = q->ta != 0, .trans_b = q->tb != 0,
	};
	cublasStatus_t st;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	st = check(q);
	if (st != CUBLAS_STATUS_SUCCESS)
		return st;
	if (!q->m || !q->n || !q->count)
		return CUBLAS_STATUS_SUCCESS;
	if (!q->alpha || (q->op == VGPU_OP_GEMM && !q->beta) || !q->c)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
		p.alpha_at = (uintptr_t)q->alpha;
		p.beta_at = (uintptr_t)q->beta;
	} else {
		p.alpha = blas_host_scalar(q->alpha, q->type_scalar);
		p.beta = q->beta ? blas_host_scalar(q->beta, q->type_scalar) : 0;
	}
	if (q->op == VGPU_OP_TRSM) {
		p.right = q->side == CUBLAS_SIDE_RIGHT;
		p.upper = q->uplo == CUBLAS_FILL_MODE_UPPER;
		p.unit = q->diag == CUBLAS_DIAG_UNIT;
		b.a = (uintptr_t)q->a;
	} else if (!p.alpha_at && p.alpha == 0) {
		p.k = 0;                /* documented: a and b are not read then */
	}
	if (p.k) {
		b.a = (uintptr_t)q->a;
		b.b = (uintptr_t)q->b;
	}
	st = blas_enter(h);
	return st == CUBLAS_STATUS_SUCCESS ? blas_status(vgpuGemm(q->op, &b, &p, h->stream)) : st;
}

/* ---- one type throughout ---- */

#define GEMM(X, S, type, code) \
	cublasStatus_t cublas##X##gemm##S(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, \
		int n, int k, const type *alpha, const type *A, int lda, const type *B, int ldb, const type *beta, type *C, \
		int ldc) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = 1, \
			.lda = lda, .ldb = ldb, .ldc = ldc, .ta = transa, .tb = transb, .a = A, .b = B, .c = C, \
			.alpha = alpha, .beta = beta, .type_a = code, .type_b = code, .type_c = code, .type_scalar = code }); \
	} \
	cublasStatus_t cublas##X##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
		int m, int n, int k, const type *alpha, const type *const A[], int lda, const type *const B[], int ldb, \
		const type *beta, type *const C[], int ldc, int count) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = count, \
			.lda = lda, .ldb = ldb, .ldc = ldc, .ta = transa, .tb = transb, .a = A, .b = B, .c = (void *)C, \
			.pointers = true, .alpha = alpha, .beta = beta, .type_a = code, .type_b = code, .type_c = code, \
			.type_scalar = code }); \
	} \
	cublasStatus_t cublas##X##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, \
		cublasOperation_t transb, int m, int n, int k, const type *alpha, const type *A, int lda, long long strideA, \
		const type *B, int ldb, long long strideB, const type *beta, type *C, int ldc, long long strideC, int count) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = count, \
			.lda = lda, .ldb = ldb, .ldc = ldc, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC, \
			.ta = transa, .tb = transb, .a = A, .b = B, .c = C, .alpha = alpha, .beta = beta, \
			.type_a = code, .type_b = code, .type_c = code, .type_scalar = code }); \
	}

GEMM(S, _v2, float, VGPU_GEMM_F32)
GEMM(D, _v2, double, VGPU_GEMM_F64)
GEMM(H, , __half, VGPU_GEMM_F16)

#define TRSM(X, type, code) \
	cublasStatus_t cublas##X##trsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, \
		cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const type *alpha, const type *A, int lda, \
		type *B, int ldb) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_TRSM, .m = m, .n = n, .count = 1, .lda = lda, \
			.ldc = ldb, .ta = trans, .side = side, .uplo = uplo, .diag = diag, .a = A, .c = B, .alpha = alpha, \
			.type_a = code, .type_b = code, .type_c = code, .type_scalar = code }); \
	} \
	cublasStatus_t cublas##X##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, \
		cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const type *alpha, const type *const A[], \
		int lda, type *const B[], int ldb, int count) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_TRSM, .m = m, .n = n, .count = count, \
			.lda = lda, .ldc = ldb, .ta = trans, .side = side, .uplo = uplo, .diag = diag, .a = A, \
			.c = (void *)B, .pointers = true, .alpha = alpha, .type_a = code, .type_b = code, .type_c = code, \
			.type_scalar = code }); \
	}

TRSM(S, float, VGPU_GEMM_F32)
TRSM(D, double, VGPU_GEMM_F64)

/* ---- types by number ---- */

static cublasStatus_t submit_ex(struct call q, cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	if (!blas_handle(q.handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!blas_types(a, b, c, compute, &q.type_a, &q.type_c, &q.type_scalar))
		BLAS_UNSUPPORTED("cublasGemmEx and its batched forms with these data and compute types");
	q.type_b = q.type_a;
	return submit(&q);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
	const float *alpha, const void *A, cudaDataType Atype, int lda, const void *B, cudaDataType Btype, int ldb,
	const float *beta, void *C, cudaDataType Ctype, int ldc)
{
	return cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc,
			    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
	const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B, cudaDataType Btype, int ldb,
	const void *beta, void *C, cudaDataType Ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	(void)algo;
	return submit_ex((struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = 1, .lda = lda,
		.ldb = ldb, .ldc = ldc, .ta = transa, .tb = transb, .a = A, .b = B, .c = C, .alpha = alpha, .beta = beta },
		Atype, Btype, Ctype, compute);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
	int k, const void *alpha, const void *const A[], cudaDataType Atype, int lda, const void *const B[],
	cudaDataType Btype, int ldb, const void *beta, void *const C[], cudaDataType Ctype, int ldc, int count,
	cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	(void)algo;
	return submit_ex((struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = count,
		.lda = lda, .ldb = ldb, .ldc = ldc, .ta = transa, .tb = transb, .a = A, .b = B, .c = (void *)C,
		.pointers = true, .alpha = alpha, .beta = beta }, Atype, Btype, Ctype, compute);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA, const void *B,
	cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
	long long strideC, int count, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	(void)algo;
	return submit_ex((struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .count = count,
		.lda = lda, .ldb = ldb, .ldc = ldc, .stride_a = strideA, .stride_b = strideB, .stride_c = strideC,
		.ta = transa, .tb = transb, .a = A, .b = B, .c = C, .alpha = alpha, .beta = beta },
		Atype, Btype, Ctype, compute);
}
