/* SPDX-License-Identifier: MIT */
/*
 * Level 2: y = alpha op(a) x + beta y for every kind of matrix, triangular solves, rank updates. a has m rows and n columns; of one of a
 * batch each blockIdx.y.
 */
#include "numbers.h"

#define WARPS (LEVELS_THREADS / 32)

template <class T> E2E_DEV T shuffle_down(T v, u32 d)
{
	union { T v; int w[sizeof(T) / 4]; } u;

	u.v = v;
	for (u32 i = 0; i < sizeof(T) / 4; i++)
		u.w[i] = __shfl_down_sync(~0u, u.w[i], d);
	return u.v;
}

template <class T, class U> E2E_DEV void keep(U *y, W(T) sum, W(T) alpha, W(T) beta)
{
	put(y, none(beta) ? alpha * sum : mad(alpha, sum, beta * get(*y)));
}

/* A dense matrix as it stands: a thread has a row. */
template <class T, class U = T> E2E_DEV void gemv(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q), beta = beta_of<W(T)>(q);

	for (i64 b = blockIdx.y; b < q.count; b += gridDim.y) {
		const T *a = batch<T>(q.a, b, q.sa, q.flags & LV_A_AT);
		const T *x = first<T>((u64)batch<T>(q.x, b, q.sx, q.flags & LV_X_AT), q.n, q.incx);
		U *y = first<U>((u64)batch<U>(q.y, b, q.sy, q.flags & LV_Y_AT), q.m, q.incy);

		EACH_THREAD(i, q.m) {
			W(T) s = number<W(T)>::of(0, 0);

			if (!none(alpha))
				for (i64 j = 0; j < q.n; j++)
					s = mad(get(a[i + j * q.lda]), get(x[j * q.incx]), s);
			keep<T>(y + i * q.incy, s, alpha, beta);
		}
	}
}

/* The same transposed: a warp has a column. */
template <class T, class U = T> E2E_DEV void gemvt(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q), beta = beta_of<W(T)>(q);
	bool turned = q.flags & LV_CONJ;
	u32 lane = threadIdx.x % 32;

	for (i64 b = blockIdx.y; b < q.count; b += gridDim.y) {
		const T *a = batch<T>(q.a, b, q.sa, q.flags & LV_A_AT);
		const T *x = first<T>((u64)batch<T>(q.x, b, q.sx, q.flags & LV_X_AT), q.m, q.incx);
		U *y = first<U>((u64)batch<U>(q.y, b, q.sy, q.flags & LV_Y_AT), q.n, q.incy);

		for (i64 j = (i64)blockIdx.x * WARPS + threadIdx.x / 32; j < q.n; j += (i64)gridDim.x * WARPS) {
			W(T) s = number<W(T)>::of(0, 0);

			if (!none(alpha))
				for (i64 i = lane; i < q.m; i += 32) {
					W(T) v = get(a[i + j * q.lda]);

					s = mad(turned ? conj(v) : v, get(x[i * q.incx]), s);
				}
			for (u32 d = 16; d; d /= 2)
				s = s + shuffle_down(s, d);
			if (lane == 0)
				keep<T>(y + j * q.incy, s, alpha, beta);
		}
	}
}

/* Any matrix: a thread has a row of op(a), which has m of them and n columns. */
template <class T> E2E_DEV void mv(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q), beta = beta_of<W(T)>(q);
	const T *a = (const T *)q.a, *x = first<T>(q.x, q.n, q.incx);
	T *y = first<T>(q.y, q.m, q.incy);
	bool turned = q.flags & LV_TRANS, both = q.flags & (LV_SYM | LV_HERM);
	i64 left = both ? q.kl + q.ku : turned ? q.ku : q.kl, right = both ? left : turned ? q.kl : q.ku;

	EACH_THREAD(i, q.m) {
		i64 lo = 0, hi = q.n;
		W(T) s = number<W(T)>::of(0, 0);

		if (q.flags & LV_BAND) {
			lo = i - left > 0 ? i - left : 0;
			hi = i + right + 1 < hi ? i + right + 1 : hi;
		}
		if (q.flags & LV_TRI) {
			if (!(q.flags & LV_UPPER) == !turned)
				hi = i + 1 < hi ? i + 1 : hi;
			else
				lo = lo > i ? lo : i;
		}
		if (!none(alpha))
			for (i64 j = lo; j < hi; j++)
				s = mad(element(q, a, i, j, q.n), get(x[j * q.incx]), s);
		keep<T>(y + i * q.incy, s, alpha, beta);
	}
}

/* op(a) x = what is in x, of n elements: one block, an element after the other */
template <class T> E2E_DEV void trsv(levels_call &q)
{
	const T *a = (const T *)q.a;
	T *x = first<T>(q.x, q.n, q.incx);
	bool down = !(q.flags & LV_UPPER) == !(q.flags & LV_TRANS);

	for (i64 s = 0; s < q.n; s++) {
		i64 j = down ? s : q.n - 1 - s, left = q.n - 1 - s;
		W(T) v;

		if (q.flags & LV_BAND)
			left = left < q.kl + q.ku ? left : q.kl + q.ku;
		if (threadIdx.x == 0 && !(q.flags & LV_UNIT))
			put(x + j * q.incx, over(get(x[j * q.incx]), element(q, a, j, j, q.n)));
		__syncthreads();
		v = get(x[j * q.incx]);
		for (i64 t = threadIdx.x; t < left; t += blockDim.x) {
			i64 i = down ? j + 1 + t : j - 1 - t;

			put(x + i * q.incx, get(x[i * q.incx]) - element(q, a, i, j, q.n) * v);
		}
		__syncthreads();
	}
}

/* a += alpha x y' (or y*), and with LV_TWO also alpha y x' (conjugate(alpha) y x*); of a triangle where flags say so: then x is y's like */
template <class T> E2E_DEV void rank(levels_call &q)
{
	W(T) alpha = alpha_of<W(T)>(q);
	T *a = (T *)q.a;
	const T *x = first<T>(q.x, q.m, q.incx), *y = first<T>(q.y, q.n, q.incy);
	bool triangle = q.flags & (LV_SYM | LV_HERM), upper = q.flags & LV_UPPER, turned = q.flags & LV_CONJ_Y;

	if (none(alpha))
		return;
	for (i64 j = blockIdx.y; j < q.n; j += gridDim.y) {
		W(T) yj = get(y[j * q.incy]), xj = number<W(T)>::of(0, 0);

		yj = alpha * (turned ? conj(yj) : yj);
		if (q.flags & LV_TWO) {
			xj = get(x[j * q.incx]);
			xj = turned ? conj(alpha * xj) : alpha * xj;
		}
		EACH_THREAD(i, q.m) {
			T *at = a + place(q, i, j, q.n);
			W(T) v;

			if (triangle && (upper ? i > j : i < j))
				continue;
			v = mad(get(x[i * q.incx]), yj, get(*at));
			if (q.flags & LV_TWO)
				v = mad(get(y[i * q.incy]), xj, v);
			if ((q.flags & LV_HERM) && i == j)
				v = number<W(T)>::of((double)re(v), 0);
			put(at, v);
		}
	}
}

KERNELS6(gemv)
KERNELS6(gemvt)
KERNEL(gemv, hs, f16, float)
KERNEL(gemv, bs, b16, float)
KERNEL(gemvt, hs, f16, float)
KERNEL(gemvt, bs, b16, float)
KERNELS4(mv)
KERNELS4(trsv)
KERNELS4(rank)
