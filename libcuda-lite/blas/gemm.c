/* SPDX-License-Identifier: MIT */
/*
 * Products and triangular solves: every entry point becomes one struct call, which check() turns into one command, or, of complex matrices,
 * into several (level3.c).
 */
#include <limits.h>

#include "levels.h"

struct call {
	cublasHandle_t handle;
	unsigned int op;                /* VGPU_OP_GEMM or VGPU_OP_TRSM */
	long long m, n, k, count;
	long long lda, ldb, ldc;
	long long stride_a, stride_b, stride_c;
	bool pointers;                  /* a, b and c are device arrays of pointers */
	unsigned int ta, tb;            /* cublasOperation_t */
	unsigned int side, uplo, diag;
	const void *a, *b, *alpha, *beta;
	void *c;
	unsigned int type_a, type_b, type_c, type_scalar; /* enum vgpu_gemm_type */
	int complex, complex_in;        /* else TYPE_C or TYPE_Z, and what a and b are */
};

static bool ld_ok(long long ld, long long rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static cublasStatus_t check(const struct call *q)
{
	long long order = q->side == CUBLAS_SIDE_LEFT ? q->m : q->n;

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
	if (q->m > INT32_MAX || q->n > INT32_MAX || q->k > INT32_MAX || q->count > INT32_MAX || q->lda > INT32_MAX || q->ldb > INT32_MAX ||
	    q->ldc > INT32_MAX)
		BLAS_UNSUPPORTED("a product of matrices with 2^31 rows, columns or members, or more,");
	if (q->complex) {
		struct levels_product c = { .type = q->complex, .type_in = q->complex_in, .ta = q->ta, .tb = q->tb, .m = q->m, .n = q->n, .k = q->k,
					    .count = q->count, .lda = q->lda, .ldb = q->ldb, .ldc = q->ldc, .sa = q->stride_a, .sb = q->stride_b,
					    .sc = q->stride_c, .pointers = q->pointers, .a = q->a, .b = q->b, .alpha = q->alpha, .beta = q->beta, .c = q->c };

		st = blas_enter(h);
		return st == CUBLAS_STATUS_SUCCESS ? levels_product(h, &c) : st;
	}
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

#define CALL(...) \
	submit(&(struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .ta = transa, \
		.tb = transb, .a = A, .b = B, .c = (void *)C, .alpha = alpha, .beta = beta, __VA_ARGS__ })
#define REAL(code) .type_a = code, .type_b = code, .type_c = code, .type_scalar = code
#define PAIRS(t) .complex = t, .complex_in = t
#define STRIDES .stride_a = strideA, .stride_b = strideB, .stride_c = strideC

/* name: the letter and "gemm"; v2: _v2 or nothing */
#define ONE(name, v2, suffix, I, T, types) \
	cublasStatus_t cublas##name##v2##suffix(CUBLAS_ARGS_gemm(I, T, T)) { return CALL(.count = 1, types); }
#define MANY(name, suffix, I, T, types) \
	cublasStatus_t cublas##name##Batched##suffix(CUBLAS_ARGS_gemmBatched(I, T, T)) { return CALL(.count = count, .pointers = true, types); } \
	cublasStatus_t cublas##name##StridedBatched##suffix(CUBLAS_ARGS_gemmStrided(I, T, T)) { return CALL(.count = count, STRIDES, types); }
#define SOLVE(X, suffix, I, T, code) \
	cublasStatus_t cublas##X##trsm_v2##suffix(CUBLAS_ARGS_trsm(I, T, T)) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_TRSM, .m = m, .n = n, .count = 1, .lda = lda, .ldc = ldb, .ta = trans, \
			.side = side, .uplo = uplo, .diag = diag, .a = A, .c = B, .alpha = alpha, REAL(code) }); \
	} \
	cublasStatus_t cublas##X##trsmBatched##suffix(CUBLAS_ARGS_trsmBatched(I, T, T)) \
	{ \
		return submit(&(struct call){ .handle = handle, .op = VGPU_OP_TRSM, .m = m, .n = n, .count = count, .lda = lda, .ldc = ldb, \
			.ta = trans, .side = side, .uplo = uplo, .diag = diag, .a = A, .c = (void *)B, .pointers = true, .alpha = alpha, REAL(code) }); \
	}
#define F(suffix, I, ...) \
	ONE(Sgemm, _v2, suffix, I, float, REAL(VGPU_GEMM_F32)) MANY(Sgemm, suffix, I, float, REAL(VGPU_GEMM_F32)) \
	ONE(Dgemm, _v2, suffix, I, double, REAL(VGPU_GEMM_F64)) MANY(Dgemm, suffix, I, double, REAL(VGPU_GEMM_F64)) \
	ONE(Hgemm, , suffix, I, __half, REAL(VGPU_GEMM_F16)) MANY(Hgemm, suffix, I, __half, REAL(VGPU_GEMM_F16)) \
	ONE(Cgemm, _v2, suffix, I, cuComplex, PAIRS(TYPE_C)) MANY(Cgemm, suffix, I, cuComplex, PAIRS(TYPE_C)) \
	ONE(Zgemm, _v2, suffix, I, cuDoubleComplex, PAIRS(TYPE_Z)) MANY(Zgemm, suffix, I, cuDoubleComplex, PAIRS(TYPE_Z)) \
	ONE(Cgemm3m, , suffix, I, cuComplex, PAIRS(TYPE_C)) MANY(Cgemm3m, suffix, I, cuComplex, PAIRS(TYPE_C)) \
	ONE(Zgemm3m, , suffix, I, cuDoubleComplex, PAIRS(TYPE_Z)) \
	SOLVE(S, suffix, I, float, VGPU_GEMM_F32) SOLVE(D, suffix, I, double, VGPU_GEMM_F64)
CUBLAS_BOTH(F, 0)
#undef F

/* ---- types by number ---- */

/* Complex combinations of cuBLAS's table. */
static bool complex_types(struct call *q, cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	bool narrow = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC || compute == CUBLAS_COMPUTE_32F_FAST_16F ||
		      compute == CUBLAS_COMPUTE_32F_FAST_16BF || compute == CUBLAS_COMPUTE_32F_FAST_TF32;

	if (a != b)
		return false;
	if (c == CUDA_C_32F && narrow && (a == CUDA_C_32F || a == CUDA_C_8I)) {
		q->complex = TYPE_C;
		q->complex_in = a == CUDA_C_8I ? TYPES : TYPE_C;
	} else if (c == CUDA_C_64F && a == c && (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC)) {
		q->complex = q->complex_in = TYPE_Z;
	}
	return q->complex != 0;
}

static cublasStatus_t submit_ex(struct call q, cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	if (!blas_handle(q.handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (complex_types(&q, a, b, c, compute))
		return submit(&q);
	if (!blas_types(a, b, c, compute, &q.type_a, &q.type_c, &q.type_scalar))
		BLAS_UNSUPPORTED("cublasGemmEx and its batched forms with these data and compute types");
	q.type_b = q.type_a;
	return submit(&q);
}

#define EX(...) \
	submit_ex((struct call){ .handle = handle, .op = VGPU_OP_GEMM, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .ta = transa, \
		.tb = transb, .a = A, .b = B, .c = (void *)C, .alpha = alpha, .beta = beta, __VA_ARGS__ }, Atype, Btype, Ctype, compute)
#define F(suffix, I, ...) \
	cublasStatus_t cublasGemmEx##suffix(CUBLAS_ARGS_gemmEx(I)) \
	{ \
		(void)algo; \
		return EX(.count = 1); \
	} \
	cublasStatus_t cublasGemmBatchedEx##suffix(CUBLAS_ARGS_gemmBatchedEx(I)) \
	{ \
		(void)algo; \
		return EX(.count = count, .pointers = true); \
	} \
	cublasStatus_t cublasGemmStridedBatchedEx##suffix(CUBLAS_ARGS_gemmStridedEx(I)) \
	{ \
		(void)algo; \
		return EX(.count = count, STRIDES); \
	} \
	cublasStatus_t cublasSgemmEx##suffix(CUBLAS_ARGS_gemmTyped(I, float)) \
	{ \
		const cublasComputeType_t compute = CUBLAS_COMPUTE_32F; \
		return EX(.count = 1); \
	} \
	cublasStatus_t cublasCgemmEx##suffix(CUBLAS_ARGS_gemmTyped(I, cuComplex)) \
	{ \
		const cublasComputeType_t compute = CUBLAS_COMPUTE_32F; \
		return EX(.count = 1); \
	} \
	cublasStatus_t cublasCgemm3mEx##suffix(CUBLAS_ARGS_gemmTyped(I, cuComplex)) \
	{ \
		const cublasComputeType_t compute = CUBLAS_COMPUTE_32F; \
		return EX(.count = 1); \
	}
CUBLAS_BOTH(F, 0)
#undef F

/* ---- groups: each has its shape and its factors, and a part of the arrays of pointers ---- */

/* at: the i-th of numbers with I's width */
static long long number(const void *list, size_t bytes, long long i)
{
	return bytes == 8 ? ((const long long *)list)[i] : (long long)((const int *)list)[i];
}

struct groups {
	cublasHandle_t handle;
	size_t width;                   /* of integers, bytes */
	const cublasOperation_t *ta, *tb;
	const void *m, *n, *k, *lda, *ldb, *ldc, *sizes;
	const char *alpha, *beta;
	const void *const *a, *const *b;
	void *const *c;
	cudaDataType type_a, type_b, type_c;
	cublasComputeType_t compute;
	long long count;
};

static cublasStatus_t grouped(const struct groups *g)
{
	struct cublasContext *h = blas_handle(g->handle);
	unsigned int in, out, scalar;
	size_t bytes;
	long long at = 0;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (g->count < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!blas_types(g->type_a, g->type_b, g->type_c, g->compute, &in, &out, &scalar))
		BLAS_UNSUPPORTED("cublasGemmGroupedBatchedEx with these data and compute types");
	bytes = vgpu_gemm_bytes(scalar);
	for (long long i = 0; i < g->count; i++) {
		long long size = number(g->sizes, g->width, i);

		if (size < 0)
			return CUBLAS_STATUS_INVALID_VALUE;
		TRY(submit(&(struct call){ .handle = g->handle, .op = VGPU_OP_GEMM, .m = number(g->m, g->width, i), .n = number(g->n, g->width, i),
			.k = number(g->k, g->width, i), .count = size, .lda = number(g->lda, g->width, i), .ldb = number(g->ldb, g->width, i),
			.ldc = number(g->ldc, g->width, i), .pointers = true, .ta = g->ta[i], .tb = g->tb[i], .a = g->a + at, .b = g->b + at,
			.c = (void *)(uintptr_t)(g->c + at), .alpha = g->alpha + (size_t)i * bytes, .beta = g->beta + (size_t)i * bytes, .type_a = in,
			.type_b = in, .type_c = out, .type_scalar = scalar }));
		at += size;
	}
	return CUBLAS_STATUS_SUCCESS;
}

#define GROUPS(I, ...) \
	grouped(&(struct groups){ .handle = handle, .width = sizeof(I), .ta = transa, .tb = transb, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, \
		.ldc = ldc, .sizes = sizes, .alpha = (const char *)alpha, .beta = (const char *)beta, .a = (const void *const *)A, \
		.b = (const void *const *)B, .c = (void *const *)C, .count = groups, __VA_ARGS__ })
#define SAME(t, with) .type_a = t, .type_b = t, .type_c = t, .compute = with
#define F(suffix, I, ...) \
	cublasStatus_t cublasSgemmGroupedBatched##suffix(CUBLAS_ARGS_gemmGrouped(I, float, float)) \
	{ return GROUPS(I, SAME(CUDA_R_32F, CUBLAS_COMPUTE_32F)); } \
	cublasStatus_t cublasDgemmGroupedBatched##suffix(CUBLAS_ARGS_gemmGrouped(I, double, double)) \
	{ return GROUPS(I, SAME(CUDA_R_64F, CUBLAS_COMPUTE_64F)); } \
	cublasStatus_t cublasGemmGroupedBatchedEx##suffix(CUBLAS_ARGS_gemmGroupedEx(I)) \
	{ return GROUPS(I, .type_a = Atype, .type_b = Btype, .type_c = Ctype, .compute = compute); }
CUBLAS_BOTH(F, 0)
#undef F
