/* SPDX-License-Identifier: MIT */
/*
 * Products and triangular solves: every entry point becomes one struct call, which check() turns into one command.
 */
#include "blas.h"

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

static double host_scalar(const void *p, unsigned int type)
{
	uint16_t h;
	int e;
	double v;

	if (type == VGPU_GEMM_F32)
		return (double)*(const float *)p;
	if (type == VGPU_GEMM_F64)
		return *(const double *)p;
	if (type == VGPU_GEMM_I32)
		return (double)*(const int32_t *)p;
	h = *(const uint16_t *)p;
	e = h >> 10 & 31;
	v = (h & 0x3ff) + (e ? 1024.0 : 0.0);
	if (e == 31)
		v = h & 0x3ff ? __builtin_nan("") : __builtin_inf();
	for (e = e ? e - 25 : -24; e > 0 && e < 6; e--)
		v *= 2;
	for (; e < 0; e++)
		v /= 2;
	return h & 0x8000 ? -v : v;
}

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
		p.alpha = host_scalar(q->alpha, q->type_scalar);
		p.beta = q->beta ? host_scalar(q->beta, q->type_scalar) : 0;
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

static unsigned int type_of(cudaDataType t)
{
	switch ((int)t) {
	case CUDA_R_32F: return VGPU_GEMM_F32;
	case CUDA_R_16F: return VGPU_GEMM_F16;
	case CUDA_R_16BF: return VGPU_GEMM_BF16;
	case CUDA_R_64F: return VGPU_GEMM_F64;
	case CUDA_R_8I: return VGPU_GEMM_I8;
	case CUDA_R_32I: return VGPU_GEMM_I32;
	}
	return 0;
}

/* The combinations of cuBLAS's table that we compute. False: none of them. */
static bool types(struct call *q, cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	unsigned int t = q->type_a = type_of(a), o = q->type_c = type_of(c);

	q->type_b = t;
	if (!t || a != b || t == VGPU_GEMM_I32)
		return false;
	switch ((int)compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		q->type_scalar = VGPU_GEMM_F16;
		return t == VGPU_GEMM_F16 && o == t;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		q->type_scalar = VGPU_GEMM_F64;
		return t == VGPU_GEMM_F64 && o == t;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
		q->type_scalar = VGPU_GEMM_F32;
		return t != VGPU_GEMM_F64 && ((o == t && t != VGPU_GEMM_I8) || o == VGPU_GEMM_F32);
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		q->type_scalar = VGPU_GEMM_I32;
		return t == VGPU_GEMM_I8 && o == VGPU_GEMM_I32;
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		q->type_scalar = VGPU_GEMM_F32;
		return t == VGPU_GEMM_F32 && o == t;
	}
	return false;
}

static cublasStatus_t submit_ex(struct call q, cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	if (!blas_handle(q.handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!types(&q, a, b, c, compute))
		BLAS_UNSUPPORTED("cublasGemmEx and its batched forms with these data and compute types");
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
