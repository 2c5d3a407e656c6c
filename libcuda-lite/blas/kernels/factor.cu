/* SPDX-License-Identifier: MIT */
/*
 * Small matrices, a block for each of a batch: LU with and without pivots, what is solved by it, inverses, QR and least squares. Matrices are
 * reached by arrays of pointers. Pivots are rows counted from 1, as LAPACK's.
 */
#include "numbers.h"

/* lu: its info; a of order n, in place */
template <class T> E2E_DEV int lu(T *a, i64 lda, i64 n, int *pivots)
{
	__shared__ struct { double v; i64 i; } best[FACTOR_THREADS];
	u32 t = threadIdx.x;
	int info = 0;

	for (i64 k = 0; k < n; k++) {
		i64 p = k;
		T pivot;

		if (pivots) {
			double v = -1;

			for (i64 i = k + t; i < n; i += FACTOR_THREADS)
				if ((double)taxi(a[i + k * lda]) > v) {
					v = (double)taxi(a[i + k * lda]);
					p = i;
				}
			__syncthreads();
			best[t].v = v;
			best[t].i = p;
			__syncthreads();
			for (u32 h = FACTOR_THREADS / 2; h; h /= 2) {
				if (t < h && (best[t + h].v > best[t].v || (best[t + h].v == best[t].v && best[t + h].i < best[t].i)))
					best[t] = best[t + h];
				__syncthreads();
			}
			p = best[0].i;
			if (t == 0)
				pivots[k] = (int)p + 1;
			for (i64 j = t; j < n && p != k; j += FACTOR_THREADS) {
				T v2 = a[k + j * lda];

				a[k + j * lda] = a[p + j * lda];
				a[p + j * lda] = v2;
			}
			__syncthreads();
		}
		pivot = a[k + k * lda];
		if (none(pivot)) {
			info = info ? info : (int)k + 1;
			continue;
		}
		__syncthreads();
		for (i64 i = k + 1 + t; i < n; i += FACTOR_THREADS)
			a[i + k * lda] = over(a[i + k * lda], pivot);
		__syncthreads();
		for (i64 e = t; e < (n - k - 1) * (n - k - 1); e += FACTOR_THREADS) {
			i64 i = k + 1 + e % (n - k - 1), j = k + 1 + e / (n - k - 1);

			a[i + j * lda] = a[i + j * lda] - a[i + k * lda] * a[k + j * lda];
		}
		__syncthreads();
	}
	return info;
}

/* x = op(L U) \ x, of one column, whose rows are changed by pivots */
template <class T> E2E_DEV void solve(const T *a, i64 lda, i64 n, const int *pivots, T *x, bool turned, bool conjugate)
{
	if (!turned) {
		for (i64 i = 0; i < n && pivots; i++) {
			T v = x[i];

			x[i] = x[pivots[i] - 1];
			x[pivots[i] - 1] = v;
		}
		for (i64 j = 0; j < n; j++)
			for (i64 i = j + 1; i < n; i++)
				x[i] = x[i] - a[i + j * lda] * x[j];
		for (i64 j = n; j-- > 0; ) {
			x[j] = over(x[j], a[j + j * lda]);
			for (i64 i = 0; i < j; i++)
				x[i] = x[i] - a[i + j * lda] * x[j];
		}
		return;
	}
	for (i64 i = 0; i < n; i++) {
		T v = x[i], d = a[i + i * lda];

		for (i64 j = 0; j < i; j++)
			v = v - (conjugate ? conj(a[j + i * lda]) : a[j + i * lda]) * x[j];
		x[i] = over(v, conjugate ? conj(d) : d);
	}
	for (i64 i = n; i-- > 0; )
		for (i64 j = i + 1; j < n; j++)
			x[i] = x[i] - (conjugate ? conj(a[j + i * lda]) : a[j + i * lda]) * x[j];
	for (i64 i = n; i-- > 0 && pivots; ) {
		T v = x[i];

		x[i] = x[pivots[i] - 1];
		x[pivots[i] - 1] = v;
	}
}

/* x: pivots, n for each, or 0; out: infos */
template <class T> E2E_DEV void getrf(levels_call &q)
{
	i64 b = blockIdx.x;
	int info = lu(((T *const *)q.a)[b], q.lda, q.n, q.x ? (int *)q.x + b * q.n : 0);

	if (threadIdx.x == 0)
		((int *)q.out)[b] = info;
}

/* c: k right sides */
template <class T> E2E_DEV void getrs(levels_call &q)
{
	i64 b = blockIdx.x;

	for (i64 j = threadIdx.x; j < q.k; j += FACTOR_THREADS)
		solve(((const T *const *)q.a)[b], q.lda, q.n, q.x ? (const int *)q.x + b * q.n : 0, ((T *const *)q.c)[b] + j * q.ldc,
		      (q.flags & LV_TRANS) != 0, (q.flags & LV_CONJ) != 0);
}

template <class T> E2E_DEV void unit_columns(const T *a, i64 lda, i64 n, const int *pivots, T *c, i64 ldc)
{
	for (i64 j = threadIdx.x; j < n; j += FACTOR_THREADS) {
		for (i64 i = 0; i < n; i++)
			c[i + j * ldc] = number<T>::of(i == j, 0);
		solve(a, lda, n, pivots, c + j * ldc, false, false);
	}
}

/* c: the inverse, where there is one */
template <class T> E2E_DEV void getri(levels_call &q)
{
	i64 b = blockIdx.x;
	const T *a = ((const T *const *)q.a)[b];
	int info = 0;

	for (i64 i = q.n; i-- > 0; )
		if (none(a[i + i * q.lda]))
			info = (int)i + 1;
	if (threadIdx.x == 0)
		((int *)q.out)[b] = info;
	if (!info)
		unit_columns(a, q.lda, q.n, q.x ? (const int *)q.x + b * q.n : 0, ((T *const *)q.c)[b], q.ldc);
}

/* part: room for a copy of each, and behind all of them for the pivots */
template <class T> E2E_DEV void matinv(levels_call &q)
{
	i64 b = blockIdx.x;
	const T *a = ((const T *const *)q.a)[b];
	T *copy = (T *)q.part + b * q.n * q.n;
	int *pivots = (int *)((T *)q.part + gridDim.x * q.n * q.n) + b * q.n, info;

	for (i64 e = threadIdx.x; e < q.n * q.n; e += FACTOR_THREADS)
		copy[e] = a[e % q.n + e / q.n * q.lda];
	__syncthreads();
	info = lu(copy, q.n, q.n, pivots);
	__syncthreads();
	if (threadIdx.x == 0)
		((int *)q.out)[b] = info;
	if (!info)
		unit_columns(copy, q.n, q.n, pivots, ((T *const *)q.c)[b], q.ldc);
}

/* One column's reflector, as LAPACK's larfg has it: v in the column below the diagonal, its first element 1; tau returned. */
template <class T> E2E_DEV T reflector(T *a, i64 lda, i64 m, i64 k)
{
	__shared__ double sums[FACTOR_THREADS];
	u32 t = threadIdx.x;
	T alpha = a[k + k * lda], tau = number<T>::of(0, 0);
	double top = 0, s = 0, norm, beta;

	/* the greatest first, so that squares neither overflow nor vanish */
	for (i64 i = k + t; i < m; i += FACTOR_THREADS)
		top = (double)taxi(a[i + k * lda]) > top ? (double)taxi(a[i + k * lda]) : top;
	__syncthreads();
	sums[t] = top;
	__syncthreads();
	for (u32 i = 0; i < FACTOR_THREADS; i++)
		top = sums[i] > top ? sums[i] : top;
	__syncthreads();
	for (i64 i = k + 1 + t; i < m && top > 0; i += FACTOR_THREADS) {
		double x = (double)re(a[i + k * lda]) / top, y = (double)im(a[i + k * lda]) / top;

		s += x * x + y * y;
	}
	sums[t] = s;
	__syncthreads();
	s = 0;
	for (u32 i = 0; i < FACTOR_THREADS; i++)
		s += sums[i];
	__syncthreads();
	if (s == 0 && im(alpha) == 0)
		return tau;
	norm = (double)re(alpha) / top * ((double)re(alpha) / top) + (double)im(alpha) / top * ((double)im(alpha) / top) + s;
	beta = (double)re(alpha) >= 0 ? -root(norm) * top : root(norm) * top;
	tau = number<T>::of((beta - (double)re(alpha)) / beta, -(double)im(alpha) / beta);
	for (i64 i = k + 1 + t; i < m; i += FACTOR_THREADS)
		a[i + k * lda] = over(a[i + k * lda], alpha - number<T>::of(beta, 0));
	__syncthreads();
	if (t == 0)
		a[k + k * lda] = number<T>::of(beta, 0);
	__syncthreads();
	return tau;
}

/* c -= tau v (v* c) for n columns of c, each thread's own; v is column k of a below the diagonal, where it is 1 */
template <class T> E2E_DEV void reflect(const T *a, i64 lda, i64 m, i64 k, T tau, T *c, i64 ldc, i64 from, i64 n)
{
	for (i64 j = from + threadIdx.x; j < n; j += FACTOR_THREADS) {
		T s = c[k + j * ldc];

		for (i64 i = k + 1; i < m; i++)
			s = s + conj(a[i + k * lda]) * c[i + j * ldc];
		s = tau * s;
		c[k + j * ldc] = c[k + j * ldc] - s;
		for (i64 i = k + 1; i < m; i++)
			c[i + j * ldc] = c[i + j * ldc] - a[i + k * lda] * s;
	}
	__syncthreads();
}

/* y: taus */
template <class T> E2E_DEV void geqrf(levels_call &q)
{
	i64 b = blockIdx.x, least = q.m < q.n ? q.m : q.n;
	T *a = ((T *const *)q.a)[b], *taus = ((T *const *)q.y)[b];

	for (i64 k = 0; k < least; k++) {
		T tau = reflector(a, q.lda, q.m, k);

		if (threadIdx.x == 0)
			taus[k] = tau;
		reflect(a, q.lda, q.m, k, conj(tau), a, q.lda, k + 1, q.n);
	}
}

/* c: k right sides of m rows, whose first n become the solutions; out: infos */
template <class T> E2E_DEV void gels(levels_call &q)
{
	i64 b = blockIdx.x;
	T *a = ((T *const *)q.a)[b], *c = ((T *const *)q.c)[b];
	int info = 0;

	for (i64 k = 0; k < q.n; k++) {
		T tau = reflector(a, q.lda, q.m, k);

		reflect(a, q.lda, q.m, k, conj(tau), c, q.ldc, 0, q.k);
		reflect(a, q.lda, q.m, k, conj(tau), a, q.lda, k + 1, q.n);
	}
	for (i64 i = q.n; i-- > 0; )
		if (none(a[i + i * q.lda]))
			info = (int)i + 1;
	if (threadIdx.x == 0 && q.out)
		((int *)q.out)[b] = info;
	for (i64 j = threadIdx.x; j < q.k && !info; j += FACTOR_THREADS)
		for (i64 i = q.n; i-- > 0; ) {
			T v = c[i + j * q.ldc];

			for (i64 l = i + 1; l < q.n; l++)
				v = v - a[i + l * q.lda] * c[l + j * q.ldc];
			c[i + j * q.ldc] = over(v, a[i + i * q.lda]);
		}
}

KERNELS4(getrf)
KERNELS4(getrs)
KERNELS4(getri)
KERNELS4(matinv)
KERNELS4(geqrf)
KERNELS4(gels)
