/* SPDX-License-Identifier: MIT */
/* Level 2: products of a matrix with a vector, triangular solves, rank updates. */
#include "levels.h"

enum { GEMV, GEMVT, MIXED, MV, TRSV, RANK };
static const char *const names[] = {
	BY_TYPE6(gemv), BY_TYPE6(gemvt), "gemv_hs", "gemv_bs", "gemvt_hs", "gemvt_bs", NULL, NULL, BY_TYPE4(mv), BY_TYPE4(trsv), BY_TYPE4(rank),
};
MODULE(vgpu_blas_level2, "level2.ptx", names);

#define KERNEL(fn, type) ((unsigned int)((fn) * TYPES + (type)))

static bool ops_ok(unsigned int op)
{
	return op <= CUBLAS_OP_C;
}

static unsigned int op_flags(unsigned int op)
{
	return (op != CUBLAS_OP_N ? LV_TRANS : 0) | (op == CUBLAS_OP_C ? LV_CONJ : 0);
}

static bool ld_ok(long long ld, long long rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

/* What can be said without the device: wrong (ok: the call's own arguments are right, given: its factors are there), or empty. */
static bool settled(bool ok, bool empty, bool given, const struct levels_call *q, cublasStatus_t *st)
{
	if (!ok || q->m < 0 || q->n < 0 || !q->incx || !q->incy)
		*st = CUBLAS_STATUS_INVALID_VALUE;
	else if (!q->m || !q->n || empty)
		*st = CUBLAS_STATUS_SUCCESS;
	else if (!given || !q->a || !q->x || !q->y)
		*st = CUBLAS_STATUS_INVALID_VALUE;
	else
		return false;
	return true;
}

/* alpha, beta: of type_factor. mixed: 6 or 7 for halves whose result is of floats, else the type */
static cublasStatus_t gemv(cublasHandle_t handle, int type, int type_factor, int mixed, unsigned int trans, const void *alpha, const void *beta,
			   struct levels_call *q)
{
	bool turned = trans != CUBLAS_OP_N;
	unsigned int kernel = mixed > TYPE_B ? KERNEL(MIXED, mixed - 6 + (turned ? 2 : 0)) : KERNEL(turned ? GEMVT : GEMV, type);
	struct cublasContext *h;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (settled(ops_ok(trans) && ld_ok(q->lda, q->m) && q->count >= 0, !q->count, alpha && beta, q, &st))
		return st;
	levels_factors(h, type_factor, alpha, beta, q);
	q->flags |= op_flags(trans);
	return levels_launch(h, &module, kernel, levels_blocks(turned ? q->n * 32 : q->m), levels_side(q->count), 0, q);
}

/* Any kind of matrix that flags and bands describe; op(a) is m by n. */
static cublasStatus_t mv(cublasHandle_t handle, int type, bool ok, const void *alpha, const void *beta, struct levels_call *q)
{
	struct cublasContext *h;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (settled(ok, false, alpha && beta, q, &st))
		return st;
	levels_factors(h, type, alpha, beta, q);
	return levels_launch(h, &module, KERNEL(MV, type), levels_blocks(q->m), 1, 0, q);
}

static unsigned int triangle(unsigned int uplo, unsigned int kind)
{
	return kind | (uplo == CUBLAS_FILL_MODE_UPPER ? LV_UPPER : 0);
}

/* Band k of a triangle: above the diagonal or below it. */
static void band(struct levels_call *q, unsigned int uplo, long long k)
{
	q->flags |= LV_BAND;
	q->kl = uplo == CUBLAS_FILL_MODE_UPPER ? 0 : (int)k;
	q->ku = uplo == CUBLAS_FILL_MODE_UPPER ? (int)k : 0;
}

static bool band_ok(long long k, long long lda)
{
	return k >= 0 && k <= INT32_MAX && lda >= k + 1;
}

/* Triangles: x = op(a) x, or x = op(a)^-1 x. k: its band, or -1; lda 0: packed */
static cublasStatus_t triangular(cublasHandle_t handle, bool solve, int type, unsigned int uplo, unsigned int trans, unsigned int diag, long long n,
				 long long k, const void *a, long long lda, bool packed, void *x, long long incx)
{
	static const double one[2] = { 1, 0 }, none[2] = { 0, 0 };
	struct levels_call q = { .m = n, .n = n, .count = 1, .a = (uintptr_t)a, .lda = lda, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)x,
				 .incy = incx, .flags = triangle(uplo, LV_TRI) | op_flags(trans) | (diag ? LV_UNIT : 0) | (packed ? LV_PACKED : 0) };
	struct cublasContext *h;
	unsigned long long copy = 0;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (uplo > CUBLAS_FILL_MODE_UPPER || !ops_ok(trans) || diag > CUBLAS_DIAG_UNIT || n < 0 || !incx ||
	    (!packed && (k >= 0 ? !band_ok(k, lda) : !ld_ok(lda, n))) || k < -1)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	if (!a || !x)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (k >= 0)
		band(&q, uplo, k);
	if (solve)
		return levels_launch(h, &module, KERNEL(TRSV, type), 1, 1, 0, &q);
	TRY(levels_room(h, n, 1, 1, levels_bytes(type), &copy));
	st = levels_copy(h, type, n, x, incx, (void *)(uintptr_t)copy, 1);
	q.x = copy;
	q.incx = 1;
	q.alpha[0] = one[0];
	q.beta[0] = none[0];
	if (st == CUBLAS_STATUS_SUCCESS)
		st = levels_launch(h, &module, KERNEL(MV, type), levels_blocks(n), 1, 0, &q);
	return levels_leave(h, copy, st);
}

static cublasStatus_t rank(cublasHandle_t handle, int type, int type_alpha, bool ok, const void *alpha, struct levels_call *q)
{
	struct cublasContext *h;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (settled(ok, false, alpha, q, &st))
		return st;
	levels_factors(h, type_alpha, alpha, NULL, q);
	return levels_launch(h, &module, KERNEL(RANK, type), levels_blocks(q->m), levels_side(q->n), 0, q);
}

#define A(p) .a = (uintptr_t)(p)
#define XY(px, py) .x = (uintptr_t)(px), .incx = incx, .y = (uintptr_t)(py), .incy = incy
#define UPLO_OK (uplo <= CUBLAS_FILL_MODE_UPPER)

/* a: symmetric or Hermitian, of any storage */
#define SYMMETRIC(t, kind, storage_ok, how, ...) \
	{ \
		struct levels_call q = { .m = n, .n = n, .count = 1, XY(x, y), .flags = triangle(uplo, kind), __VA_ARGS__ }; \
		bool ok = UPLO_OK && (storage_ok); \
		how; \
		return mv(handle, t, ok, alpha, beta, &q); \
	}
#define UPDATE(t, ta, kind, storage_ok, second, ...) \
	{ \
		struct levels_call q = { .m = n, .n = n, XY(x, second), .flags = triangle(uplo, kind), __VA_ARGS__ }; \
		return rank(handle, t, ta, UPLO_OK && (storage_ok), alpha, &q); \
	}

#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##gemv_v2##S(CUBLAS_ARGS_gemv(I, T, R)) \
	{ \
		struct levels_call q = { .m = m, .n = n, .count = 1, A(A), .lda = lda, XY(x, y) }; \
		return gemv(handle, t, t, t, trans, alpha, beta, &q); \
	} \
	cublasStatus_t cublas##X##gbmv_v2##S(CUBLAS_ARGS_gbmv(I, T, R)) \
	{ \
		struct levels_call q = { .m = trans == CUBLAS_OP_N ? m : n, .n = trans == CUBLAS_OP_N ? n : m, .count = 1, A(A), .lda = lda, XY(x, y), \
					 .kl = (int)kl, .ku = (int)ku, .flags = LV_BAND | op_flags(trans) }; \
		bool ok = ops_ok(trans) && kl >= 0 && ku >= 0 && kl <= INT32_MAX / 2 && ku <= INT32_MAX / 2 && lda >= kl + ku + 1; \
		return mv(handle, t, ok, alpha, beta, &q); \
	} \
	cublasStatus_t cublas##X##trmv_v2##S(CUBLAS_ARGS_trmv(I, T, R)) \
	{ return triangular(handle, false, t, uplo, trans, diag, n, -1, A, lda, false, x, incx); } \
	cublasStatus_t cublas##X##trsv_v2##S(CUBLAS_ARGS_trmv(I, T, R)) \
	{ return triangular(handle, true, t, uplo, trans, diag, n, -1, A, lda, false, x, incx); } \
	cublasStatus_t cublas##X##tbmv_v2##S(CUBLAS_ARGS_tbmv(I, T, R)) \
	{ return triangular(handle, false, t, uplo, trans, diag, n, k < 0 ? -2 : k, A, lda, false, x, incx); } \
	cublasStatus_t cublas##X##tbsv_v2##S(CUBLAS_ARGS_tbmv(I, T, R)) \
	{ return triangular(handle, true, t, uplo, trans, diag, n, k < 0 ? -2 : k, A, lda, false, x, incx); } \
	cublasStatus_t cublas##X##tpmv_v2##S(CUBLAS_ARGS_tpmv(I, T, R)) \
	{ return triangular(handle, false, t, uplo, trans, diag, n, -1, AP, 0, true, x, incx); } \
	cublasStatus_t cublas##X##tpsv_v2##S(CUBLAS_ARGS_tpmv(I, T, R)) \
	{ return triangular(handle, true, t, uplo, trans, diag, n, -1, AP, 0, true, x, incx); } \
	cublasStatus_t cublas##X##symv_v2##S(CUBLAS_ARGS_symv(I, T, R)) SYMMETRIC(t, LV_SYM, ld_ok(lda, n), , A(A), .lda = lda) \
	cublasStatus_t cublas##X##syr_v2##S(CUBLAS_ARGS_syr(I, T, R)) \
	{ \
		I incy = incx; \
		UPDATE(t, t, LV_SYM, ld_ok(lda, n), x, A(A), .lda = lda) \
	} \
	cublasStatus_t cublas##X##syr2_v2##S(CUBLAS_ARGS_syr2(I, T, R)) UPDATE(t, t, LV_SYM | LV_TWO, ld_ok(lda, n), y, A(A), .lda = lda)
CUBLAS_FOR_SDCZ(F)
#undef F

#define GER(t, turned) \
	{ \
		struct levels_call q = { .m = m, .n = n, A(A), .lda = lda, XY(x, y), .flags = (turned) ? LV_CONJ_Y : 0 }; \
		return rank(handle, t, t, ld_ok(lda, m), alpha, &q); \
	}
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##ger_v2##S(CUBLAS_ARGS_ger(I, T, R)) GER(t, false) \
	cublasStatus_t cublas##X##sbmv_v2##S(CUBLAS_ARGS_sbmv(I, T, R)) SYMMETRIC(t, LV_SYM, band_ok(k, lda), band(&q, uplo, k), A(A), .lda = lda) \
	cublasStatus_t cublas##X##spmv_v2##S(CUBLAS_ARGS_spmv(I, T, R)) SYMMETRIC(t, LV_SYM | LV_PACKED, true, , A(AP)) \
	cublasStatus_t cublas##X##spr_v2##S(CUBLAS_ARGS_hpr(I, T, T)) \
	{ \
		I incy = incx; \
		UPDATE(t, t, LV_SYM | LV_PACKED, true, x, A(AP)) \
	} \
	cublasStatus_t cublas##X##spr2_v2##S(CUBLAS_ARGS_spr2(I, T, R)) UPDATE(t, t, LV_SYM | LV_PACKED | LV_TWO, true, y, A(AP))
CUBLAS_FOR_SD(F)
#undef F

#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##geru_v2##S(CUBLAS_ARGS_ger(I, T, R)) GER(t, false) \
	cublasStatus_t cublas##X##gerc_v2##S(CUBLAS_ARGS_ger(I, T, R)) GER(t, true) \
	cublasStatus_t cublas##X##hemv_v2##S(CUBLAS_ARGS_symv(I, T, R)) SYMMETRIC(t, LV_HERM, ld_ok(lda, n), , A(A), .lda = lda) \
	cublasStatus_t cublas##X##hbmv_v2##S(CUBLAS_ARGS_sbmv(I, T, R)) SYMMETRIC(t, LV_HERM, band_ok(k, lda), band(&q, uplo, k), A(A), .lda = lda) \
	cublasStatus_t cublas##X##hpmv_v2##S(CUBLAS_ARGS_spmv(I, T, R)) SYMMETRIC(t, LV_HERM | LV_PACKED, true, , A(AP)) \
	cublasStatus_t cublas##X##her_v2##S(CUBLAS_ARGS_her(I, T, R)) \
	{ \
		I incy = incx; \
		UPDATE(t, t - 2, LV_HERM | LV_CONJ_Y, ld_ok(lda, n), x, A(A), .lda = lda) \
	} \
	cublasStatus_t cublas##X##hpr_v2##S(CUBLAS_ARGS_hpr(I, T, R)) \
	{ \
		I incy = incx; \
		UPDATE(t, t - 2, LV_HERM | LV_PACKED | LV_CONJ_Y, true, x, A(AP)) \
	} \
	cublasStatus_t cublas##X##her2_v2##S(CUBLAS_ARGS_syr2(I, T, R)) \
		UPDATE(t, t, LV_HERM | LV_CONJ_Y | LV_TWO, ld_ok(lda, n), y, A(A), .lda = lda) \
	cublasStatus_t cublas##X##hpr2_v2##S(CUBLAS_ARGS_spr2(I, T, R)) UPDATE(t, t, LV_HERM | LV_PACKED | LV_CONJ_Y | LV_TWO, true, y, A(AP))
CUBLAS_FOR_CZ(F)
#undef F

#define F(S, I, X, T, U, R, t, k) \
	cublasStatus_t cublas##X##gemvBatched##S(CUBLAS_ARGS_gemvBatched(I, T, U, R)) \
	{ \
		struct levels_call q = { .m = m, .n = n, .count = count, A(Aarray), .lda = lda, XY(xarray, yarray), .flags = LV_A_AT | LV_X_AT | LV_Y_AT }; \
		return gemv(handle, t, sizeof(R) == 4 ? TYPE_S : t, k, trans, alpha, beta, &q); \
	} \
	cublasStatus_t cublas##X##gemvStridedBatched##S(CUBLAS_ARGS_gemvStrided(I, T, U, R)) \
	{ \
		struct levels_call q = { .m = m, .n = n, .count = count, A(A), .lda = lda, XY(x, y), .sa = strideA, .sx = stridex, .sy = stridey }; \
		return gemv(handle, t, sizeof(R) == 4 ? TYPE_S : t, k, trans, alpha, beta, &q); \
	}
CUBLAS_FOR_GEMV(F)
#undef F
