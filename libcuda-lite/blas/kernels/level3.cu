/* SPDX-License-Identifier: MIT */
/*
 * Level 3 beside the device's own products (command GEMM), which are of dense real matrices: op(a) of any kind made dense, complex ones as
 * two planes; a product brought to where it belongs; sums of matrices; complex triangular solves. One of a batch for each blockIdx.y.
 */
#include "numbers.h"

#define EACH_OF_BATCH(b) for (i64 b = blockIdx.y; b < q.count; b += gridDim.y)

E2E_DEV void plane(float *out, i64, float v) { *out = v; }
E2E_DEV void plane(double *out, i64, double v) { *out = v; }
template <class F> E2E_DEV void plane(F *out, i64 apart, cx<F> v)
{
	out[0] = v.x;
	out[apart] = v.y;
}

/* out: m by n, dense; of complex numbers the real parts of a whole batch, and sout elements after them the imaginary ones */
template <class T> E2E_DEV void dense(levels_call &q)
{
	EACH_OF_BATCH(b) {
		const T *a = batch<T>(q.a, b, q.sa, q.flags & LV_A_AT);
		R(T) *out = (R(T) *)q.out + b * q.m * q.n;

		EACH_THREAD(e, q.m * q.n)
			plane(out + e, q.sout, element(q, a, e % q.m, e / q.m, q.m));
	}
}

E2E_DEV float from_planes(const float *p, i64, float) { return *p; }
E2E_DEV double from_planes(const double *p, i64, double) { return *p; }
template <class F> E2E_DEV cx<F> from_planes(const F *p, i64 apart, cx<F>)
{
	cx<F> r = { p[0], p[apart] };

	return r;
}

/*
 * c = alpha p + beta c, where p is a product as dense() would have left it, at part; of a triangle of c where flags name SYM or HERM. With LV_TWO also the
 * product's transpose, by alpha, or with LV_CONJ_Y its conjugate's by alpha's conjugate.
 */
template <class T> E2E_DEV void merge(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q), beta = beta_of<W(T)>(q), some = number<W(T)>::of(0, 0);
	bool triangle = q.flags & (LV_SYM | LV_HERM), upper = q.flags & LV_UPPER;

	EACH_OF_BATCH(b) {
		T *c = batch<T>(q.c, b, q.sc, q.flags & LV_C_AT);
		const R(T) *p = (const R(T) *)q.part + b * q.m * q.n;

		EACH_THREAD(e, q.m * q.n) {
			i64 i = e % q.m, j = e / q.m;
			T *at = c + i + j * q.ldc;
			W(T) v = some;

			if (triangle && (upper ? i > j : i < j))
				continue;
			if (!none(alpha)) {
				v = alpha * from_planes(p + e, q.sout, some);
				if (q.flags & LV_TWO) {
					W(T) w = alpha * from_planes(p + j + i * q.m, q.sout, some);

					v = v + (q.flags & LV_CONJ_Y ? conj(w) : w);
				}
			}
			if (!none(beta))
				v = mad(beta, get(*at), v);
			if ((q.flags & LV_HERM) && i == j)
				v = number<W(T)>::of((double)re(v), 0);
			put(at, v);
		}
	}
}

/* c = alpha op(a) + beta op(b) */
template <class T> E2E_DEV void geam(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q), beta = beta_of<W(T)>(q);
	const T *a = (const T *)q.a, *b = (const T *)q.b;
	T *c = (T *)q.c;

	EACH_THREAD(e, q.m * q.n) {
		i64 i = e % q.m, j = e / q.m;
		W(T) v = number<W(T)>::of(0, 0), w = v;

		if (!none(alpha)) {
			v = get(a[q.flags & LV_TRANS ? j + i * q.lda : i + j * q.lda]);
			v = alpha * (q.flags & LV_CONJ ? conj(v) : v);
		}
		if (!none(beta)) {
			w = get(b[q.flags & LV_TRANS_B ? j + i * q.ldb : i + j * q.ldb]);
			w = beta * (q.flags & LV_CONJ_B ? conj(w) : w);
		}
		put(c + i + j * q.ldc, v + w);
	}
}

/* c = a with its rows multiplied by x's elements, or its columns (LV_RIGHT) */
template <class T> E2E_DEV void dgmm(levels_call &q)
{
	const T *a = (const T *)q.a, *x = first<T>(q.x, q.flags & LV_RIGHT ? q.n : q.m, q.incx);
	T *c = (T *)q.c;

	EACH_THREAD(e, q.m * q.n) {
		i64 i = e % q.m, j = e / q.m;

		put(c + i + j * q.ldc, get(a[i + j * q.lda]) * get(x[(q.flags & LV_RIGHT ? j : i) * q.incx]));
	}
}

/* A triangle from full storage (a, lda) to packed (out), or back where flags say LV_PACKED of a. */
template <class T> E2E_DEV void pack(levels_call &q)
{
	levels_call to = q;

	to.flags ^= LV_PACKED;
	to.lda = q.ldc;
	EACH_THREAD(e, q.n * q.n) {
		i64 i = e % q.n, j = e / q.n;

		if (q.flags & LV_UPPER ? i <= j : i >= j)
			((T *)q.out)[place(to, i, j, q.n)] = ((const T *)q.a)[place(q, i, j, q.n)];
	}
}

/*
 * op(a) x = alpha c, or x op(a) = alpha c with LV_RIGHT; x takes c's place, m by n. A thread has a column of c, or a row: what
 * is solved for goes along it.
 */
template <class T> E2E_DEV void trsm(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q);
	bool right = q.flags & LV_RIGHT, down = (!(q.flags & LV_UPPER) == !(q.flags & LV_TRANS)) != right;
	i64 order = right ? q.n : q.m, lines = right ? q.m : q.n, step = right ? q.ldc : 1, line = right ? 1 : q.ldc;

	EACH_OF_BATCH(b) {
		const T *a = batch<T>(q.a, b, q.sa, q.flags & LV_A_AT);
		T *c = batch<T>(q.c, b, q.sc, q.flags & LV_C_AT);

		EACH_THREAD(t, lines) {
			T *x = c + t * line;

			for (i64 s = 0; s < order; s++) {
				i64 i = down ? s : order - 1 - s;
				W(T) v = number<W(T)>::of(0, 0);

				if (!none(alpha))
					v = alpha * get(x[i * step]);
				for (i64 r = 0; r < s; r++) {
					i64 j = down ? r : order - 1 - r;

					v = v - (right ? element(q, a, j, i, order) : element(q, a, i, j, order)) * get(x[j * step]);
				}
				if (!(q.flags & LV_UNIT))
					v = over(v, element(q, a, i, i, order));
				put(x + i * step, v);
			}
		}
	}
}

KERNELS4(dense)
KERNEL(dense, c8, c8)
KERNELS4(merge)
KERNELS4(geam)
KERNELS4(dgmm)
KERNELS4(pack)
KERNELS4(trsm)
