/* SPDX-License-Identifier: MIT */
/* Level 1: vectors. Results go to host memory, for which the call waits, or to the device, as the handle's pointer mode says. */
#include <string.h>

#include "levels.h"

enum { AXPY, SCAL, COPY, SWAP, ROT, ROTM, ROTG, ROTMG, DOT, ASUM, NRM2, IAMAX };
static const char *const names[] = {
	BY_TYPE6(axpy), BY_TYPE6(scal), BY_TYPE6(copy), BY_TYPE6(swap), BY_TYPE6(rot),
	"rotm_s", "rotm_d", NULL, NULL, "rotm_h", "rotm_b", "rotg_s", "rotg_d", "rotg_complex_c", "rotg_complex_z", NULL, NULL,
	"rotmg_s", "rotmg_d", NULL, NULL, NULL, NULL, BY_TYPE6(dot), BY_TYPE6(asum), BY_TYPE6(nrm2), BY_TYPE6(iamax),
};
MODULE(vgpu_blas_level1, "level1.ptx", names);

#define KERNEL(fn, type) ((unsigned int)((fn) * TYPES + (type)))
#define PART_BYTES 32u                  /* of the largest partial result */
/* from here on a sum is made by several blocks */
#define ALONE 16384
#define MOST_PARTS 256

/* An element each: one thread where y is always the same one, so that they come in order. */
static cublasStatus_t each(const struct cublasContext *h, int fn, int type, struct levels_call *q)
{
	bool one = q->incy == 0 && q->y;

	if (q->n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	return levels_launch(h, &module, KERNEL(fn, type), one ? 1 : levels_blocks(q->n), 1, one ? 1 : 0, q);
}

cublasStatus_t levels_copy(const struct cublasContext *h, int type, long long n, const void *x, long long incx, void *y, long long incy)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy };

	return each(h, COPY, type, &q);
}

static cublasStatus_t with_alpha(cublasHandle_t handle, int fn, int type, int type_alpha, long long n, const void *alpha, const void *x,
				 long long incx, void *y, long long incy)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (!alpha || !x || (fn == AXPY && !y))
		return n > 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
	if (fn == SCAL && incx <= 0)
		return CUBLAS_STATUS_SUCCESS;
	levels_factors(h, type_alpha, alpha, NULL, &q);
	return each(h, fn, type, &q);
}

static cublasStatus_t two(cublasHandle_t handle, int fn, int type, long long n, const void *x, long long incx, void *y, long long incy)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	return each(h, fn, type, &q);
}

/* c of type_c, s of type_s */
static cublasStatus_t rot(cublasHandle_t handle, int type, int type_c, int type_s, long long n, void *x, long long incx, void *y, long long incy,
			  const void *c, const void *s)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy, .k = type_c }, t = { 0 };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	if (!c || !s)
		return CUBLAS_STATUS_INVALID_VALUE;
	levels_factors(h, type_c, c, NULL, &q);
	levels_factors(h, type_s, s, NULL, &t);
	q.scalar = t.scalar;
	q.beta_at = t.alpha_at;
	memcpy(q.beta, t.alpha, sizeof q.beta);
	return each(h, ROT, type, &q);
}

/* A kernel of one thread on a few numbers, which are in device memory or come there and back. at: where each goes. */
struct few {
	void *from;
	unsigned long long *at;
	size_t bytes;
};

static cublasStatus_t few(struct cublasContext *h, unsigned int kernel, struct levels_call *q, const struct few *f, unsigned int n, bool back)
{
	char *slot = NULL;
	size_t at = 0;
	cublasStatus_t st;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!f[i].from)
			return CUBLAS_STATUS_INVALID_VALUE;
	if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
		for (i = 0; i < n; i++)
			*f[i].at = (uintptr_t)f[i].from;
		return levels_launch(h, &module, kernel, q->n > 1 ? levels_blocks(q->n) : 1, 1, q->n > 1 ? 0 : 1, q);
	}
	TRY(levels_slot(h, (void **)&slot));
	for (i = 0; i < n; i++, at += 64) {
		memcpy(slot + at, f[i].from, f[i].bytes);
		*f[i].at = (uintptr_t)slot + at;
	}
	st = levels_launch(h, &module, kernel, q->n > 1 ? levels_blocks(q->n) : 1, 1, q->n > 1 ? 0 : 1, q);
	if (back) {
		char copy[BLAS_SLOT_BYTES];

		st = levels_slot_done(h, st, copy, at < sizeof copy ? at : sizeof copy);
		for (i = 0; i < n && st == CUBLAS_STATUS_SUCCESS; i++)
			memcpy(f[i].from, copy + 64 * i, f[i].bytes);
		return st;
	}
	return levels_slot_done(h, st, NULL, 0);
}

static cublasStatus_t rotm(cublasHandle_t handle, int type, int type_param, long long n, void *x, long long incx, void *y, long long incy,
			   const void *param)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy, .scalar = (unsigned int)type_param };
	const struct few f[] = { { (void *)(uintptr_t)param, &q.a, 5 * levels_bytes(type_param) } };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	return n <= 0 ? CUBLAS_STATUS_SUCCESS : few(h, KERNEL(ROTM, type), &q, f, 1, false);
}

static cublasStatus_t rotg(cublasHandle_t handle, int type, void *a, void *b, void *c, void *s)
{
	struct levels_call q = { .n = 1 };
	size_t whole = levels_bytes(type), part = type >= TYPE_C ? whole / 2 : whole;
	const struct few f[] = { { a, &q.a, whole }, { b, &q.b, whole }, { c, &q.c, part }, { s, &q.x, whole } };
	struct cublasContext *h;

	TRY(levels_enter(handle, &h));
	return few(h, KERNEL(ROTG, type), &q, f, 4, true);
}

/* y1 and param share a place: 64 bytes hold them. */
static cublasStatus_t rotmg(cublasHandle_t handle, int type, void *d1, void *d2, void *x1, const void *y1, void *param)
{
	struct levels_call q = { .n = 1 };
	size_t one = levels_bytes(type);
	char both[64];
	struct few f[] = { { d1, &q.a, one }, { d2, &q.b, one }, { x1, &q.c, one }, { both, &q.x, 6 * one } };
	struct cublasContext *h;
	cublasStatus_t st;

	TRY(levels_enter(handle, &h));
	if (!y1 || !param)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
		f[3].from = (void *)(uintptr_t)y1;
		q.out = (uintptr_t)param;
		return few(h, KERNEL(ROTMG, type), &q, f, 4, true);
	}
	memcpy(both, param, 5 * one);
	memcpy(both + 5 * one, y1, one);
	/* the slot's address is known behind few() only: the kernel finds y1 five numbers after param */
	q.kl = 1;
	st = few(h, KERNEL(ROTMG, type), &q, f, 4, true);
	if (st == CUBLAS_STATUS_SUCCESS)
		memcpy(param, both, 5 * one);
	return st;
}

/* A sum, a norm, a place: `bytes` of it go to result. */
static cublasStatus_t reduce(cublasHandle_t handle, int fn, int type, struct levels_call *q, void *result, size_t bytes)
{
	struct cublasContext *h;
	unsigned long long part = 0;
	long long blocks = q->n <= ALONE ? 1 : q->n / (ALONE / 4) > MOST_PARTS ? MOST_PARTS : q->n / (ALONE / 4);
	bool host, nothing = q->n <= 0 || (fn != DOT && q->incx <= 0);
	void *slot = result;
	cublasStatus_t st = CUBLAS_STATUS_SUCCESS;

	TRY(levels_enter(handle, &h));
	if (!result)
		return CUBLAS_STATUS_INVALID_VALUE;
	host = h->pointer_mode == CUBLAS_POINTER_MODE_HOST;
	if (nothing && host) {
		memset(result, 0, bytes);
		return CUBLAS_STATUS_SUCCESS;
	}
	if (nothing)
		return blas_status(cuMemsetD8Async((CUdeviceptr)result, 0, bytes, h->stream));
	if (host)
		TRY(levels_slot(h, &slot));
	q->out = (uintptr_t)slot;
	if (blocks > 1)
		st = levels_room(h, blocks, 1, 1, PART_BYTES, &part);
	q->part = part;
	if (st == CUBLAS_STATUS_SUCCESS)
		st = levels_launch(h, &module, KERNEL(fn, type), (unsigned int)blocks, 1, 0, q);
	if (st == CUBLAS_STATUS_SUCCESS && blocks > 1) {
		q->n = blocks;
		q->flags |= LV_FINISH;
		st = levels_launch(h, &module, KERNEL(fn, type), 1, 1, 0, q);
	}
	st = levels_leave(h, part, st);
	return host ? levels_slot_done(h, st, result, bytes) : st;
}

static cublasStatus_t dot(cublasHandle_t handle, int type, bool turned, long long n, const void *x, long long incx, const void *y, long long incy,
			  void *result)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .y = (uintptr_t)y, .incy = incy, .flags = turned ? LV_CONJ : 0 };

	return reduce(handle, DOT, type, &q, result, levels_bytes(type));
}

static cublasStatus_t norm(cublasHandle_t handle, int fn, int type, long long n, const void *x, long long incx, void *result)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx };

	return reduce(handle, fn, type, &q, result, levels_bytes(type) / (type == TYPE_C || type == TYPE_Z ? 2 : 1));
}

static cublasStatus_t place(cublasHandle_t handle, int type, bool least, long long n, const void *x, long long incx, void *result, size_t bytes)
{
	struct levels_call q = { .n = n, .x = (uintptr_t)x, .incx = incx, .flags = (least ? LV_MIN : 0) | (bytes == 8 ? LV_LONG : 0) };

	return reduce(handle, IAMAX, type, &q, result, bytes);
}

/* ---- one type throughout ---- */

#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##axpy_v2##S(CUBLAS_ARGS_axpy(I, T, R)) { return with_alpha(handle, AXPY, t, t, n, alpha, x, incx, y, incy); } \
	cublasStatus_t cublas##X##scal_v2##S(CUBLAS_ARGS_scal(I, T, R)) { return with_alpha(handle, SCAL, t, t, n, alpha, x, incx, NULL, 1); } \
	cublasStatus_t cublas##X##copy_v2##S(CUBLAS_ARGS_copy(I, T, R)) { return two(handle, COPY, t, n, x, incx, y, incy); } \
	cublasStatus_t cublas##X##swap_v2##S(CUBLAS_ARGS_swap(I, T, R)) { return two(handle, SWAP, t, n, x, incx, y, incy); } \
	cublasStatus_t cublas##X##rot_v2##S(CUBLAS_ARGS_rot(I, T, R)) { return rot(handle, t, t % 2, t, n, x, incx, y, incy, c, s); }
CUBLAS_FOR_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##rotg_v2(CUBLAS_ARGS_rotg(I, T, R)) { return rotg(handle, t, a, b, c, s); }
CUBLAS_ONE_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##dot_v2##S(CUBLAS_ARGS_dot(I, T, R)) { return dot(handle, t, false, n, x, incx, y, incy, result); } \
	cublasStatus_t cublas##X##rotm_v2##S(CUBLAS_ARGS_rotm(I, T, R)) { return rotm(handle, t, t, n, x, incx, y, incy, param); }
CUBLAS_FOR_SD(F)
#undef F
cublasStatus_t cublasSrotmg_v2(CUBLAS_ARGS_rotmg(int, float, float)) { return rotmg(handle, TYPE_S, d1, d2, x1, y1, param); }
cublasStatus_t cublasDrotmg_v2(CUBLAS_ARGS_rotmg(int, double, double)) { return rotmg(handle, TYPE_D, d1, d2, x1, y1, param); }
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##dotu_v2##S(CUBLAS_ARGS_dot(I, T, R)) { return dot(handle, t, false, n, x, incx, y, incy, result); } \
	cublasStatus_t cublas##X##dotc_v2##S(CUBLAS_ARGS_dot(I, T, R)) { return dot(handle, t, true, n, x, incx, y, incy, result); }
CUBLAS_FOR_CZ(F)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##scal_v2##S(CUBLAS_ARGS_realscal(I, T, R)) { return with_alpha(handle, SCAL, t, t - 2, n, alpha, x, incx, NULL, 1); } \
	cublasStatus_t cublas##X##rot_v2##S(CUBLAS_ARGS_realrot(I, T, R)) { return rot(handle, t, t - 2, t - 2, n, x, incx, y, incy, c, s); }
CUBLAS_BOTH(F, Cs, cuComplex, float, 2)
CUBLAS_BOTH(F, Zd, cuDoubleComplex, double, 3)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##asum_v2##S(CUBLAS_ARGS_norm(I, T, R)) { return norm(handle, ASUM, t, n, x, incx, result); } \
	cublasStatus_t cublas##X##nrm2_v2##S(CUBLAS_ARGS_norm(I, T, R)) { return norm(handle, NRM2, t, n, x, incx, result); }
CUBLAS_FOR_NORMS(F)
#undef F
#define F(S, I, X, T, R, t) \
	cublasStatus_t cublas##X##amax_v2##S(CUBLAS_ARGS_index(I, T, R)) { return place(handle, t, false, n, x, incx, result, sizeof(I)); } \
	cublasStatus_t cublas##X##amin_v2##S(CUBLAS_ARGS_index(I, T, R)) { return place(handle, t, true, n, x, incx, result, sizeof(I)); }
CUBLAS_FOR_INDEX(F)
#undef F

/* ---- types by number ---- */

/* What is computed with: F32 for halves, else the type itself, or its real one. */
static bool computed_with(int type, cudaDataType execution)
{
	int e = levels_type(execution);

	return type >= TYPE_H ? e == TYPE_S : e == type || (type >= TYPE_C && e == type - 2);
}

#define TYPED(ok, name) \
	do { \
		if (!blas_handle(handle)) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (t < 0 || !(ok)) \
			BLAS_UNSUPPORTED(name " with these types"); \
	} while (0)

/* A factor may have the type of what is computed with. */
static bool factor(int t, cudaDataType f)
{
	int a = levels_type(f);

	return a == t || (t >= TYPE_H && a == TYPE_S);
}

#define F(S, I, ...) \
	cublasStatus_t cublasDotEx##S(CUBLAS_ARGS_dotEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType && resultType == xType && computed_with(t, executionType), "cublasDotEx"); \
		return dot(handle, t, false, n, x, incx, y, incy, result); \
	} \
	cublasStatus_t cublasDotcEx##S(CUBLAS_ARGS_dotEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType && resultType == xType && computed_with(t, executionType), "cublasDotcEx"); \
		return dot(handle, t, true, n, x, incx, y, incy, result); \
	} \
	cublasStatus_t cublasNrm2Ex##S(CUBLAS_ARGS_normEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(levels_type(resultType) == (t == TYPE_C || t == TYPE_Z ? t - 2 : t) && computed_with(t, executionType), "cublasNrm2Ex"); \
		return norm(handle, NRM2, t, n, x, incx, result); \
	} \
	cublasStatus_t cublasAsumEx##S(CUBLAS_ARGS_normEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(levels_type(resultType) == (t == TYPE_C || t == TYPE_Z ? t - 2 : t) && computed_with(t, executionType), "cublasAsumEx"); \
		return norm(handle, ASUM, t, n, x, incx, result); \
	} \
	cublasStatus_t cublasIamaxEx##S(CUBLAS_ARGS_indexEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(true, "cublasIamaxEx"); \
		return place(handle, t, false, n, x, incx, result, sizeof(I)); \
	} \
	cublasStatus_t cublasIaminEx##S(CUBLAS_ARGS_indexEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(true, "cublasIaminEx"); \
		return place(handle, t, true, n, x, incx, result, sizeof(I)); \
	} \
	cublasStatus_t cublasScalEx##S(CUBLAS_ARGS_scalEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED((factor(t, alphaType) || ((t == TYPE_C || t == TYPE_Z) && levels_type(alphaType) == t - 2)) && computed_with(t, executionType), "cublasScalEx"); \
		return with_alpha(handle, SCAL, t, levels_type(alphaType), n, alpha, x, incx, NULL, 1); \
	} \
	cublasStatus_t cublasAxpyEx##S(CUBLAS_ARGS_axpyEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType && factor(t, alphaType) && computed_with(t, executionType), "cublasAxpyEx"); \
		return with_alpha(handle, AXPY, t, levels_type(alphaType), n, alpha, x, incx, y, incy); \
	} \
	cublasStatus_t cublasCopyEx##S(CUBLAS_ARGS_copyEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType, "cublasCopyEx"); \
		return two(handle, COPY, t, n, x, incx, y, incy); \
	} \
	cublasStatus_t cublasSwapEx##S(CUBLAS_ARGS_swapEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType, "cublasSwapEx"); \
		return two(handle, SWAP, t, n, x, incx, y, incy); \
	} \
	cublasStatus_t cublasRotEx##S(CUBLAS_ARGS_rotEx(I)) \
	{ \
		int t = levels_type(xType), cs = levels_type(csType), complex = t == TYPE_C || t == TYPE_Z; \
		TYPED(yType == xType && (factor(t, csType) || (complex && cs == t - 2)) && computed_with(t, executionType), "cublasRotEx"); \
		return rot(handle, t, complex ? t - 2 : cs, cs, n, x, incx, y, incy, c, s); \
	} \
	cublasStatus_t cublasRotmEx##S(CUBLAS_ARGS_rotmEx(I)) \
	{ \
		int t = levels_type(xType); \
		TYPED(yType == xType && t != TYPE_C && t != TYPE_Z && factor(t, paramType) && computed_with(t, executionType), "cublasRotmEx"); \
		return rotm(handle, t, levels_type(paramType), n, x, incx, y, incy, param); \
	}
CUBLAS_BOTH(F, 0)
#undef F

cublasStatus_t cublasRotgEx(cublasHandle_t handle, void *a, void *b, cudaDataType abType, void *c, void *s, cudaDataType csType, cudaDataType executionType)
{
	int t = levels_type(abType);

	TYPED(t < TYPE_H && csType == abType && computed_with(t, executionType), "cublasRotgEx");
	return rotg(handle, t, a, b, c, s);
}

cublasStatus_t cublasRotmgEx(cublasHandle_t handle, void *d1, cudaDataType d1Type, void *d2, cudaDataType d2Type, void *x1, cudaDataType x1Type,
	const void *y1, cudaDataType y1Type, void *param, cudaDataType paramType, cudaDataType executionType)
{
	int t = levels_type(d1Type);

	TYPED(t < TYPE_C && d2Type == d1Type && x1Type == d1Type && y1Type == d1Type && paramType == d1Type && computed_with(t, executionType),
	      "cublasRotmgEx");
	return rotmg(handle, t, d1, d2, x1, y1, param);
}
