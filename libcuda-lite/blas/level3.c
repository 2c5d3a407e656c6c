/* SPDX-License-Identifier: MIT */
/*
 * Level 3 beside plain products: those of symmetric, Hermitian and triangular matrices, and those of which a triangle is wanted. All become products
 * of dense matrices (product.c): one of another kind is made dense first, so the zeros of a triangle are multiplied like other numbers.
 */
#include <limits.h>

#include "product.h"

#define UPLO_OK (uplo <= CUBLAS_FILL_MODE_UPPER)

static bool fits(long long a, long long b)
{
	return a <= INT32_MAX && b <= INT32_MAX && (!b || a <= LLONG_MAX / 64 / b);
}

/* A triangle of c = alpha op(a) op(b)' + beta c, or with LV_TWO also the other way round. kind: LV_SYM or LV_HERM: then by conjugates */
static cublasStatus_t rank_k(cublasHandle_t handle, int type, int type_in, int type_alpha, int type_beta, unsigned int kind, unsigned int uplo,
			     unsigned int trans, long long n, long long k, const void *alpha, const void *a, long long lda, const void *b, long long ldb,
			     const void *beta, void *c, long long ldc)
{
	bool herm = kind & LV_HERM, turned = trans != CUBLAS_OP_N;
	unsigned int second = herm ? CUBLAS_OP_C : CUBLAS_OP_T;
	struct levels_call q = { .m = n, .n = n, .count = 1, .c = (uintptr_t)c, .ldc = ldc,
				 .flags = kind | (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0) | (herm ? LV_CONJ_Y : 0) }, t = { 0 };
	struct cublasContext *h;
	struct dense x, y;
	unsigned long long wide = 0;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (!UPLO_OK || (turned && trans != second && (COMPLEX(type) || trans > CUBLAS_OP_C)) || n < 0 || k < 0 || !ld_ok(lda, turned ? k : n) ||
	    !ld_ok(ldb, turned ? k : n) || !ld_ok(ldc, n) || !fits(n, n) || !fits(n, k))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta || !c)
		return CUBLAS_STATUS_INVALID_VALUE;
	levels_factors(h, type_alpha, alpha, NULL, &q);
	levels_factors(h, type_beta, beta, NULL, &t);
	/* factors in device memory have one type between them: a real beta beside a complex alpha gets an imaginary part there */
	if (t.alpha_at && type_beta != type_alpha) {
		TRY(levels_room(h, 16, 1, 1, 1, &wide));
		st = blas_status(cuMemsetD8Async((CUdeviceptr)wide, 0, 16, h->stream));
		if (st == CUBLAS_STATUS_SUCCESS)
			st = levels_copy(h, type_beta, 1, beta, 1, (void *)(uintptr_t)wide, 1);
		if (st != CUBLAS_STATUS_SUCCESS)
			return levels_leave(h, wide, st);
		t.alpha_at = wide;
	}
	q.beta_at = t.alpha_at;
	q.beta[0] = t.alpha[0];
	q.beta[1] = t.alpha[1];
	if (!k || levels_none(&q, false)) {
		st = product_merge(h, type, NULL, &q);
	} else if (!a || !b) {
		st = CUBLAS_STATUS_INVALID_VALUE;
	} else {
		/* a b', or turned round a' b */
		st = product_operand(h, type, type_in, turned ? second : CUBLAS_OP_N, turned ? k : n, turned ? n : k, a, lda, 0, false, 1, &x);
		if (st == CUBLAS_STATUS_SUCCESS) {
			st = product_operand(h, type, type_in, turned ? CUBLAS_OP_N : second, turned ? k : n, turned ? n : k, b, ldb, 0, false, 1, &y);
			st = st == CUBLAS_STATUS_SUCCESS ? product_into(h, type, &x, &y, k, &q) : product_leave(h, &x, st);
		}
	}
	return levels_leave(h, wide, st);
}

/* c = alpha a b + beta c, or b a; a as q's flags say, square, of order m or n */
static cublasStatus_t square_times(cublasHandle_t handle, int type, unsigned int side, bool ok, long long m, long long n, const void *alpha,
				   struct levels_call *qa, const void *b, long long ldb, const void *beta, void *c, long long ldc)
{
	static const double nothing[2];
	bool right = side == CUBLAS_SIDE_RIGHT;
	long long order = right ? n : m;
	struct levels_call q = { .m = m, .n = n, .count = 1, .c = (uintptr_t)c, .ldc = ldc };
	struct cublasContext *h;
	struct dense x, y;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (!ok || side > CUBLAS_SIDE_RIGHT || m < 0 || n < 0 || !ld_ok(qa->lda, order) || !ld_ok(ldb, m) || !ld_ok(ldc, m) || !fits(m, n) ||
	    !fits(order, order))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !c)
		return CUBLAS_STATUS_INVALID_VALUE;
	levels_factors(h, type, alpha, beta ? beta : h->pointer_mode == CUBLAS_POINTER_MODE_HOST ? (const void *)nothing : NULL, &q);
	if (levels_none(&q, false))
		return product_merge(h, type, NULL, &q);
	if (!qa->a || !b)
		return CUBLAS_STATUS_INVALID_VALUE;
	qa->m = qa->n = order;
	qa->count = 1;
	TRY(product_dense(h, type, type, qa, &x));
	st = product_operand(h, type, type, CUBLAS_OP_N, m, n, b, ldb, 0, false, 1, &y);
	if (st != CUBLAS_STATUS_SUCCESS)
		return product_leave(h, &x, st);
	return right ? product_into(h, type, &y, &x, order, &q) : product_into(h, type, &x, &y, order, &q);
}

static cublasStatus_t trmm(cublasHandle_t handle, int type, unsigned int side, unsigned int uplo, unsigned int trans, unsigned int diag, long long m,
			   long long n, const void *alpha, const void *a, long long lda, const void *b, long long ldb, void *c, long long ldc)
{
	struct levels_call q = { .a = (uintptr_t)a, .lda = lda,
				 .flags = LV_TRI | (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0) | (diag ? LV_UNIT : 0) | (trans ? LV_TRANS : 0) |
					  (trans == CUBLAS_OP_C ? LV_CONJ : 0) };

	return square_times(handle, type, side, UPLO_OK && trans <= CUBLAS_OP_C && diag <= CUBLAS_DIAG_UNIT, m, n, alpha, &q, b, ldb, NULL, c, ldc);
}

static cublasStatus_t symm(cublasHandle_t handle, int type, unsigned int kind, unsigned int side, unsigned int uplo, long long m, long long n,
			   const void *alpha, const void *a, long long lda, const void *b, long long ldb, const void *beta, void *c, long long ldc)
{
	struct levels_call q = { .a = (uintptr_t)a, .lda = lda, .flags = kind | (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0) };

	return square_times(handle, type, side, UPLO_OK && beta, m, n, alpha, &q, b, ldb, beta, c, ldc);
}

/* Complex solves; the real ones are the device's (gemm.c). */
static cublasStatus_t trsm(cublasHandle_t handle, int type, unsigned int side, unsigned int uplo, unsigned int trans, unsigned int diag, long long m,
			   long long n, const void *alpha, const void *a, long long lda, const void *b, long long ldb, bool pointers, long long count)
{
	struct levels_call q = { .m = m, .n = n, .count = count, .a = (uintptr_t)a, .lda = lda, .c = (uintptr_t)b, .ldc = ldb,
				 .flags = LV_TRI | (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0) | (diag ? LV_UNIT : 0) | (trans ? LV_TRANS : 0) |
					  (trans == CUBLAS_OP_C ? LV_CONJ : 0) | (side ? LV_RIGHT : 0) | (pointers ? LV_A_AT | LV_C_AT : 0) };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (side > CUBLAS_SIDE_RIGHT || !UPLO_OK || trans > CUBLAS_OP_C || diag > CUBLAS_DIAG_UNIT || m < 0 || n < 0 || count < 0 || !ld_ok(ldb, m) ||
	    !ld_ok(lda, side ? n : m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n || !count)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !a || !b)
		return CUBLAS_STATUS_INVALID_VALUE;
	levels_factors(h, type, alpha, NULL, &q);
	return product_launch(h, TRSM, type, levels_blocks(side ? m : n), levels_side(count), 0, &q);
}

static cublasStatus_t geam(cublasHandle_t handle, int type, unsigned int ta, unsigned int tb, long long m, long long n, const void *alpha, const void *a,
			   long long lda, const void *beta, const void *b, long long ldb, void *c, long long ldc)
{
	struct levels_call q = { .m = m, .n = n, .a = (uintptr_t)a, .lda = lda, .b = (uintptr_t)b, .ldb = ldb, .c = (uintptr_t)c, .ldc = ldc,
				 .flags = (ta ? LV_TRANS : 0) | (ta == CUBLAS_OP_C ? LV_CONJ : 0) | (tb ? LV_TRANS_B : 0) |
					  (tb == CUBLAS_OP_C ? LV_CONJ_B : 0) };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	/* in place: as it stands, with the same leading dimension */
	if (ta > CUBLAS_OP_C || tb > CUBLAS_OP_C || m < 0 || n < 0 || !ld_ok(lda, ta ? n : m) || !ld_ok(ldb, tb ? n : m) || !ld_ok(ldc, m) ||
	    (a && a == c && (ta || lda != ldc)) || (b && b == c && (tb || ldb != ldc)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta || !c)
		return CUBLAS_STATUS_INVALID_VALUE;
	levels_factors(h, type, alpha, beta, &q);
	if ((!a && !levels_none(&q, false)) || (!b && !levels_none(&q, true)))
		return CUBLAS_STATUS_INVALID_VALUE;
	return product_launch(h, GEAM, type, levels_blocks(m * n), 1, 0, &q);
}

static cublasStatus_t dgmm(cublasHandle_t handle, int type, unsigned int side, long long m, long long n, const void *a, long long lda, const void *x,
			   long long incx, void *c, long long ldc)
{
	struct levels_call q = { .m = m, .n = n, .a = (uintptr_t)a, .lda = lda, .x = (uintptr_t)x, .incx = incx, .c = (uintptr_t)c, .ldc = ldc,
				 .flags = side ? LV_RIGHT : 0 };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (side > CUBLAS_SIDE_RIGHT || m < 0 || n < 0 || !ld_ok(lda, m) || !ld_ok(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	return a && x && c ? product_launch(h, DGMM, type, levels_blocks(m * n), 1, 0, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t pack(cublasHandle_t handle, int type, unsigned int uplo, long long n, const void *from, void *to, long long ld, bool unpack)
{
	struct levels_call q = { .n = n, .a = (uintptr_t)from, .lda = ld, .out = (uintptr_t)to, .ldc = ld,
				 .flags = (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0) | (unpack ? LV_PACKED : 0) };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (!UPLO_OK || n < 0 || !ld_ok(ld, n))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	return from && to ? product_launch(h, PACK, type, levels_blocks(n * n), 1, 0, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##trmm_v2##S(CUBLAS_ARGS_trmm(I, T, R)) { return trmm(handle, t, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, C, ldc); } \
	cublasStatus_t cublas##X##symm_v2##S(CUBLAS_ARGS_symm(I, T, R)) \
	{ return symm(handle, t, LV_SYM, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc); } \
	cublasStatus_t cublas##X##syrk_v2##S(CUBLAS_ARGS_syrk(I, T, T)) \
	{ return rank_k(handle, t, t, t, t, LV_SYM, uplo, trans, n, k, alpha, A, lda, A, lda, beta, C, ldc); } \
	cublasStatus_t cublas##X##syr2k_v2##S(CUBLAS_ARGS_syr2k(I, T, T)) \
	{ return rank_k(handle, t, t, t, t, LV_SYM | LV_TWO, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc); } \
	cublasStatus_t cublas##X##syrkx##S(CUBLAS_ARGS_syr2k(I, T, T)) \
	{ return rank_k(handle, t, t, t, t, LV_SYM, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc); } \
	cublasStatus_t cublas##X##geam##S(CUBLAS_ARGS_geam(I, T, R)) { return geam(handle, t, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc); } \
	cublasStatus_t cublas##X##dgmm##S(CUBLAS_ARGS_dgmm(I, T, R)) { return dgmm(handle, t, mode, m, n, A, lda, x, incx, C, ldc); }
CUBLAS_FOR_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##trsm_v2##S(CUBLAS_ARGS_trsm(I, T, R)) \
	{ return trsm(handle, t, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, false, 1); } \
	cublasStatus_t cublas##X##trsmBatched##S(CUBLAS_ARGS_trsmBatched(I, T, R)) \
	{ return trsm(handle, t, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, true, count); } \
	cublasStatus_t cublas##X##hemm_v2##S(CUBLAS_ARGS_symm(I, T, R)) \
	{ return symm(handle, t, LV_HERM, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc); } \
	cublasStatus_t cublas##X##herk_v2##S(CUBLAS_ARGS_syrk(I, T, R)) \
	{ return rank_k(handle, t, t, t - 2, t - 2, LV_HERM, uplo, trans, n, k, alpha, A, lda, A, lda, beta, C, ldc); } \
	cublasStatus_t cublas##X##her2k_v2##S(CUBLAS_ARGS_syr2k(I, T, R)) \
	{ return rank_k(handle, t, t, t, t - 2, LV_HERM | LV_TWO, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc); } \
	cublasStatus_t cublas##X##herkx##S(CUBLAS_ARGS_syr2k(I, T, R)) \
	{ return rank_k(handle, t, t, t, t - 2, LV_HERM, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc); }
CUBLAS_FOR_CZ(F)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##tpttr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T *AP, T *A, int lda) \
	{ return pack(handle, t, uplo, n, AP, A, lda, true); } \
	cublasStatus_t cublas##X##trttp(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T *A, int lda, T *AP) \
	{ return pack(handle, t, uplo, n, A, AP, lda, false); }
CUBLAS_ONE_SDCZ(F)
#undef F

/* complex matrices, of floats or of signed bytes, into one of floats */
#define EX(name, S, I, R, ta, kind) \
	cublasStatus_t cublas##name##S(CUBLAS_ARGS_syrkEx(I, R)) \
	{ \
		if (!blas_handle(handle)) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (Ctype != CUDA_C_32F || (Atype != CUDA_C_32F && Atype != CUDA_C_8I)) \
			BLAS_UNSUPPORTED("cublas" #name " with these types"); \
		return rank_k(handle, TYPE_C, Atype == CUDA_C_8I ? TYPES : TYPE_C, ta, ta, kind, uplo, trans, n, k, alpha, A, lda, A, lda, beta, C, ldc); \
	}
#define F(S, I, ...) \
	EX(CsyrkEx, S, I, cuComplex, TYPE_C, LV_SYM) EX(Csyrk3mEx, S, I, cuComplex, TYPE_C, LV_SYM) \
	EX(CherkEx, S, I, float, TYPE_S, LV_HERM) EX(Cherk3mEx, S, I, float, TYPE_S, LV_HERM)
CUBLAS_BOTH(F, 0)
#undef F
