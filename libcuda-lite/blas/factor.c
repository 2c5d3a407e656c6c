/* SPDX-License-Identifier: MIT */
/* Small matrices by arrays of pointers: LU, inverses, QR, least squares, each a block of a kernel; and triangles packed and unpacked. */
#include <limits.h>

#include "levels.h"

enum { GETRF, GETRS, GETRI, MATINV, GEQRF, GELS };
static const char *const names[] = {
	BY_TYPE4(getrf), BY_TYPE4(getrs), BY_TYPE4(getri), BY_TYPE4(matinv), BY_TYPE4(geqrf), BY_TYPE4(gels),
};
MODULE(vgpu_blas_factor, "factor.ptx", names);

static bool ld_ok(long long ld, long long rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static cublasStatus_t launch(const struct cublasContext *h, int fn, int type, struct levels_call *q)
{
	return levels_launch(h, &module, (unsigned int)(fn * TYPES + type), (unsigned int)q->count, 1, FACTOR_THREADS, q);
}

static cublasStatus_t getrf(cublasHandle_t handle, int type, int n, const void *a, int lda, int *pivots, int *info, int count)
{
	struct levels_call q = { .n = n, .count = count, .a = (uintptr_t)a, .lda = lda, .x = (uintptr_t)pivots, .out = (uintptr_t)info };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (n < 0 || count < 0 || !ld_ok(lda, n))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n || !count)
		return CUBLAS_STATUS_SUCCESS;
	return a && info ? launch(h, GETRF, type, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

/* Which argument is wrong goes to host memory, as LAPACK's info. */
static cublasStatus_t getrs(cublasHandle_t handle, int type, unsigned int trans, int n, int nrhs, const void *a, int lda, const int *pivots,
			    const void *b, int ldb, int *info, int count)
{
	struct levels_call q = { .n = n, .k = nrhs, .count = count, .a = (uintptr_t)a, .lda = lda, .x = (uintptr_t)pivots, .c = (uintptr_t)b, .ldc = ldb,
				 .flags = (trans ? LV_TRANS : 0) | (trans == CUBLAS_OP_C ? LV_CONJ : 0) };
	struct cublasContext *h;
	int wrong;

	TRY(levels_enter(handle, &h));
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	wrong = trans > CUBLAS_OP_C ? 1 : n < 0 ? 2 : nrhs < 0 ? 3 : !ld_ok(lda, n) ? 5 : !ld_ok(ldb, n) ? 8 : count < 0 ? 10 : 0;
	*info = -wrong;
	if (wrong)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n || !nrhs || !count)
		return CUBLAS_STATUS_SUCCESS;
	return a && b ? launch(h, GETRS, type, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t getri(cublasHandle_t handle, int type, int n, const void *a, int lda, const int *pivots, const void *c, int ldc, int *info, int count)
{
	struct levels_call q = { .n = n, .count = count, .a = (uintptr_t)a, .lda = lda, .x = (uintptr_t)pivots, .c = (uintptr_t)c, .ldc = ldc,
				 .out = (uintptr_t)info };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (n < 0 || count < 0 || !ld_ok(lda, n) || !ld_ok(ldc, n))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n || !count)
		return CUBLAS_STATUS_SUCCESS;
	return a && c && info ? launch(h, GETRI, type, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

/* documented for an order of 32 at most */
static cublasStatus_t matinv(cublasHandle_t handle, int type, int n, const void *a, int lda, const void *c, int ldc, int *info, int count)
{
	struct levels_call q = { .n = n, .count = count, .a = (uintptr_t)a, .lda = lda, .c = (uintptr_t)c, .ldc = ldc, .out = (uintptr_t)info };
	struct cublasContext *h;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (n < 0 || n > 32 || count < 0 || !ld_ok(lda, n) || !ld_ok(ldc, n))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n || !count)
		return CUBLAS_STATUS_SUCCESS;
	if (!a || !c || !info)
		return CUBLAS_STATUS_INVALID_VALUE;
	TRY(levels_room(h, count, n, 1, (size_t)n * levels_bytes(type) + sizeof(int), &q.part));
	st = launch(h, MATINV, type, &q);
	return levels_leave(h, q.part, st);
}

static cublasStatus_t geqrf(cublasHandle_t handle, int type, int m, int n, const void *a, int lda, const void *tau, int *info, int count)
{
	struct levels_call q = { .m = m, .n = n, .count = count, .a = (uintptr_t)a, .lda = lda, .y = (uintptr_t)tau };
	struct cublasContext *h;
	int wrong;

	TRY(levels_enter(handle, &h));
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	wrong = m < 0 ? 1 : n < 0 ? 2 : !ld_ok(lda, m) ? 4 : count < 0 ? 7 : 0;
	*info = -wrong;
	if (wrong)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n || !count)
		return CUBLAS_STATUS_SUCCESS;
	return a && tau ? launch(h, GEQRF, type, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

/* documented for op N and at least as many rows as columns */
static cublasStatus_t gels(cublasHandle_t handle, int type, unsigned int trans, int m, int n, int nrhs, const void *a, int lda, const void *c, int ldc,
			   int *info, int *infos, int count)
{
	struct levels_call q = { .m = m, .n = n, .k = nrhs, .count = count, .a = (uintptr_t)a, .lda = lda, .c = (uintptr_t)c, .ldc = ldc,
				 .out = (uintptr_t)infos };
	struct cublasContext *h;
	int wrong;

	TRY(levels_enter(handle, &h));
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	wrong = trans > CUBLAS_OP_C ? 1 : m < 0 ? 2 : n < 0 ? 3 : nrhs < 0 ? 4 : !ld_ok(lda, m) ? 6 : !ld_ok(ldc, m) ? 8 : count < 0 ? 11 : 0;
	*info = -wrong;
	if (wrong)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (trans != CUBLAS_OP_N || m < n)
		BLAS_UNSUPPORTED("cublas<t>gelsBatched of a transpose, or of fewer rows than columns");
	if (!n || !count)
		return CUBLAS_STATUS_SUCCESS;
	return a && (c || !nrhs) ? launch(h, GELS, type, &q) : CUBLAS_STATUS_INVALID_VALUE;
}

#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##getrfBatched(CUBLAS_ARGS_getrf(T)) { return getrf(handle, t, n, A, lda, P, info, count); } \
	cublasStatus_t cublas##X##getrsBatched(CUBLAS_ARGS_getrs(T)) \
	{ return getrs(handle, t, trans, n, nrhs, A, lda, P, B, ldb, info, count); } \
	cublasStatus_t cublas##X##getriBatched(CUBLAS_ARGS_getri(T)) { return getri(handle, t, n, A, lda, P, C, ldc, info, count); } \
	cublasStatus_t cublas##X##matinvBatched(CUBLAS_ARGS_matinv(T)) { return matinv(handle, t, n, A, lda, Ainv, lda_inv, info, count); } \
	cublasStatus_t cublas##X##geqrfBatched(CUBLAS_ARGS_geqrf(T)) { return geqrf(handle, t, m, n, A, lda, Tau, info, count); } \
	cublasStatus_t cublas##X##gelsBatched(CUBLAS_ARGS_gels(T)) \
	{ return gels(handle, t, trans, m, n, nrhs, A, lda, C, ldc, info, devInfoArray, count); }
CUBLAS_ONE_SDCZ(F)
#undef F
