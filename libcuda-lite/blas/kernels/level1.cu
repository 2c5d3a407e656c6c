/* SPDX-License-Identifier: MIT */
/*
 * Level 1: vectors x and y of n elements. Sums and greatest elements go to out; where a grid has several blocks, each leaves a
 * partial result in part, and the same kernel of one block with LV_FINISH makes the result of these.
 */
#include "numbers.h"

template <class T> E2E_DEV void axpy(levels_call &q)
{
	const T *x = first<T>(q.x, q.n, q.incx);
	T *y = first<T>(q.y, q.n, q.incy);
	W(T) a = alpha_of<W(T)>(q);

	if (none(a))
		return;
	EACH_THREAD(i, q.n)
		put(y + i * q.incy, mad(a, get(x[i * q.incx]), get(y[i * q.incy])));
}

template <class T> E2E_DEV void scal(levels_call &q)
{
	T *x = (T *)q.x;
	W(T) a = alpha_of<W(T)>(q);

	EACH_THREAD(i, q.n)
		put(x + i * q.incx, a * get(x[i * q.incx]));
}

template <class T> E2E_DEV void copy(levels_call &q)
{
	const T *x = first<T>(q.x, q.n, q.incx);
	T *y = first<T>(q.y, q.n, q.incy);

	EACH_THREAD(i, q.n)
		y[i * q.incy] = x[i * q.incx];
}

template <class T> E2E_DEV void swap(levels_call &q)
{
	T *x = first<T>(q.x, q.n, q.incx), *y = first<T>(q.y, q.n, q.incy);

	EACH_THREAD(i, q.n) {
		T t = x[i * q.incx];

		x[i * q.incx] = y[i * q.incy];
		y[i * q.incy] = t;
	}
}

/* c is alpha, real; s is beta */
template <class T> E2E_DEV void rot(levels_call &q)
{
	T *x = first<T>(q.x, q.n, q.incx), *y = first<T>(q.y, q.n, q.incy);
	W(T) s = beta_of<W(T)>(q);
	R(T) c = re(q.alpha_at ? factor_at<W(T)>(q.alpha_at, q.k) : alpha_of<W(T)>(q));

	EACH_THREAD(i, q.n) {
		W(T) u = get(x[i * q.incx]), v = get(y[i * q.incy]);

		put(x + i * q.incx, c * u + s * v);
		put(y + i * q.incy, c * v - conj(s) * u);
	}
}

/* a: param, five numbers of type scalar, of which the first says what the others mean */
template <class T> E2E_DEV void rotm(levels_call &q)
{
	T *x = first<T>(q.x, q.n, q.incx), *y = first<T>(q.y, q.n, q.incy);
	u32 wide = q.scalar == TYPE_D ? 8 : q.scalar == TYPE_S ? 4 : 2;
	W(T) p[5];

	for (u32 i = 0; i < 5; i++)
		p[i] = factor_at<W(T)>(q.a + i * wide, q.scalar);
	if (p[0] == -2)
		return;
	if (p[0] == 0)
		p[1] = p[4] = 1;
	if (p[0] == 1) {
		p[2] = -1;
		p[3] = 1;
	}
	EACH_THREAD(i, q.n) {
		W(T) u = get(x[i * q.incx]), v = get(y[i * q.incy]);

		put(x + i * q.incx, p[1] * u + p[3] * v);
		put(y + i * q.incy, p[2] * u + p[4] * v);
	}
}

/* a, b, c, x: a and b, which become r and z; c and s */
template <class T> E2E_DEV void rotg(levels_call &q)
{
	T *pa = (T *)q.a, *pb = (T *)q.b, *ps = (T *)q.x;
	T a = *pa, b = *pb;
	T big = size(a) > size(b) ? a : b, scale = size(a) + size(b), r, c = 1, s = 0, z = 0;

	if (scale != 0) {
		r = scale * root(a / scale * (a / scale) + b / scale * (b / scale));
		r = big < 0 ? -r : r;
		c = a / r;
		s = b / r;
		z = size(a) > size(b) ? s : c != 0 ? 1 / c : 1;
		a = r;
	} else {
		a = 0;
	}
	*pa = a;
	*pb = z;
	*(T *)q.c = c;
	*ps = s;
}

template <class F> E2E_DEV void rotg_complex(levels_call &q)
{
	cx<F> *pa = (cx<F> *)q.a, *ps = (cx<F> *)q.x;
	cx<F> a = *pa, b = *(cx<F> *)q.b;
	F na = size(a), nb = size(b), scale = na + nb, norm;

	if (na == 0) {
		cx<F> one = { 1, 0 };

		*(F *)q.c = 0;
		*ps = one;
		*pa = b;
		return;
	}
	norm = scale * root(na / scale * (na / scale) + nb / scale * (nb / scale));
	a = (1 / na) * a;
	*(F *)q.c = na / norm;
	*ps = (1 / norm) * (a * conj(b));
	*pa = norm * a;
}

/* a, b, c, x: d1, d2, x1, y1; out: param; or with kl param at x, and y1 behind it */
template <class T> E2E_DEV void rotmg(levels_call &q)
{
	const T gam = 4096, up = gam * gam, down = 1 / up;
	T d1 = *(T *)q.a, d2 = *(T *)q.b, x1 = *(T *)q.c, *p = (T *)(q.kl ? q.x : q.out), y1 = q.kl ? p[5] : *(T *)q.x;
	T flag = 0, h11 = 0, h21 = 0, h12 = 0, h22 = 0, p1, p2, q1, q2, u, t;

	if (d1 < 0) {
		flag = -1;
		d1 = d2 = x1 = 0;
	} else if ((p2 = d2 * y1) == 0) {
		p[0] = -2;
		return;
	} else {
		p1 = d1 * x1;
		q2 = p2 * y1;
		q1 = p1 * x1;
		if (size(q1) > size(q2)) {
			h21 = -y1 / x1;
			h12 = p2 / p1;
			u = 1 - h12 * h21;
			if (u > 0) {
				flag = 0;
				d1 /= u;
				d2 /= u;
				x1 *= u;
			} else {
				flag = -1;
				h21 = h12 = d1 = d2 = x1 = 0;
			}
		} else if (q2 < 0) {
			flag = -1;
			d1 = d2 = x1 = 0;
		} else {
			flag = 1;
			h11 = p1 / p2;
			h22 = x1 / y1;
			u = 1 + h11 * h22;
			t = d2 / u;
			d2 = d1 / u;
			d1 = t;
			x1 = y1 * u;
		}
		while (d1 != 0 && (d1 <= down || d1 >= up)) {
			if (flag == 0)
				h11 = h22 = 1;
			else if (flag == 1)
				h21 = -1, h12 = 1;
			flag = -1;
			t = d1 <= down ? gam : 1 / gam;
			d1 *= t * t;
			x1 /= t;
			h11 /= t;
			h12 /= t;
		}
		while (d2 != 0 && (size(d2) <= down || size(d2) >= up)) {
			if (flag == 0)
				h11 = h22 = 1;
			else if (flag == 1)
				h21 = -1, h12 = 1;
			flag = -1;
			t = size(d2) <= down ? gam : 1 / gam;
			d2 *= t * t;
			h21 /= t;
			h22 /= t;
		}
	}
	if (flag <= 0) {
		p[2] = h21;
		p[3] = h12;
	}
	if (flag < 0 || flag > 0) {
		p[1] = h11;
		p[4] = h22;
	}
	p[0] = flag;
	*(T *)q.a = d1;
	*(T *)q.b = d2;
	*(T *)q.c = x1;
}

/* Partial results by blocks, or the last one. */
#define RESULT(type, v, last) \
	do { \
		type v_ = (v); \
		if (threadIdx.x == 0) { \
			if (gridDim.x > 1) \
				((type *)q.part)[blockIdx.x] = v_; \
			else \
				last; \
		} \
	} while (0)

template <class T> E2E_DEV void dot(levels_call &q)
{
	const T *x = first<T>(q.x, q.n, q.incx), *y = first<T>(q.y, q.n, q.incy);
	bool turned = q.flags & LV_CONJ;
	W(T) s = number<W(T)>::of(0, 0);

	if (q.flags & LV_FINISH)
		EACH_THREAD(i, q.n)
			s = s + ((const W(T) *)q.part)[i];
	else
		EACH_THREAD(i, q.n) {
			W(T) u = get(x[i * q.incx]);

			s = mad(turned ? conj(u) : u, get(y[i * q.incy]), s);
		}
	RESULT(W(T), block_sum(s), put((T *)q.out, v_));
}

template <class T> struct same_real { typedef typename real<T>::t t; };
template <> struct same_real<f16> { typedef f16 t; };
template <> struct same_real<b16> { typedef b16 t; };

template <class T> E2E_DEV void asum(levels_call &q)
{
	const T *x = (const T *)q.x;
	R(T) s = 0;

	if (q.flags & LV_FINISH)
		EACH_THREAD(i, q.n)
			s += ((const R(T) *)q.part)[i];
	else
		EACH_THREAD(i, q.n)
			s += taxi(get(x[i * q.incx]));
	RESULT(R(T), block_sum(s), put((typename same_real<T>::t *)q.out, v_));
}

/* Squares of great, middling and small numbers, each with a scale that none overflows or vanishes by (J. Blue's way). */
struct squares { double big, mid, small; };
E2E_DEV squares operator+(squares a, squares b) { squares r = { a.big + b.big, a.mid + b.mid, a.small + b.small }; return r; }
#define GREAT 0x1p+486
#define LITTLE 0x1p-511
#define TO_GREAT 0x1p-538
#define TO_LITTLE 0x1p+537

E2E_DEV void add_square(squares &s, double v)
{
	v = size(v);
	if (v > GREAT)
		s.big = mad(v * TO_GREAT, v * TO_GREAT, s.big);
	else if (v < LITTLE)
		s.small = mad(v * TO_LITTLE, v * TO_LITTLE, s.small);
	else
		s.mid = mad(v, v, s.mid);
}

E2E_DEV double root_of(squares s)
{
	if (s.big > 0) {
		if (s.mid > 0 || s.mid != s.mid)
			s.big += s.mid * TO_GREAT * TO_GREAT;
		return root(s.big) / TO_GREAT;
	}
	if (s.small > 0) {
		if (s.mid > 0 || s.mid != s.mid) {
			double m = root(s.mid), l = root(s.small) / TO_LITTLE, h = m > l || m != m ? m : l, k = h == m ? l : m;

			return m != m ? m : h * root(1 + k / h * (k / h));
		}
		return root(s.small) / TO_LITTLE;
	}
	return root(s.mid + s.big + s.small);
}

template <class T> E2E_DEV void nrm2(levels_call &q)
{
	const T *x = (const T *)q.x;
	squares s = { 0, 0, 0 };

	if (q.flags & LV_FINISH)
		EACH_THREAD(i, q.n)
			s = s + ((const squares *)q.part)[i];
	else
		EACH_THREAD(i, q.n) {
			W(T) v = get(x[i * q.incx]);

			add_square(s, (double)re(v));
			if (sizeof(W(T)) != sizeof(R(T)))
				add_square(s, (double)im(v));
		}
	RESULT(squares, block_sum(s), put((typename same_real<T>::t *)q.out, (R(T))root_of(v_)));
}

/* The greater, of equal ones the first; 0 is nobody. */
struct best { double v; i64 i; };
E2E_DEV bool better(const best &a, const best &b, bool least)
{
	if (!a.i || !b.i)
		return a.i != 0;
	return a.v == b.v ? a.i < b.i : least ? a.v < b.v : a.v > b.v;
}

template <class T> E2E_DEV void iamax(levels_call &q)
{
	__shared__ best s[LEVELS_THREADS];
	const T *x = (const T *)q.x;
	bool least = q.flags & LV_MIN;
	best b = { 0, 0 };
	u32 t = threadIdx.x;

	EACH_THREAD(i, q.n) {
		best a = { 0, i + 1 };

		if (q.flags & LV_FINISH)
			a = ((const best *)q.part)[i];
		else
			a.v = (double)taxi(get(x[i * q.incx]));
		if (better(a, b, least))
			b = a;
	}
	s[t] = b;
	__syncthreads();
	for (u32 h = LEVELS_THREADS / 2; h; h /= 2) {
		if (t < h && t + h < blockDim.x && better(s[t + h], s[t], least))
			s[t] = s[t + h];
		__syncthreads();
	}
	RESULT(best, s[0], q.flags & LV_LONG ? (void)(*(i64 *)q.out = v_.i) : (void)(*(int *)q.out = (int)v_.i));
}

KERNELS6(axpy)
KERNELS6(scal)
KERNELS6(copy)
KERNELS6(swap)
KERNELS6(rot)
KERNEL(rotm, s, float)
KERNEL(rotm, d, double)
KERNEL(rotm, h, f16)
KERNEL(rotm, b, b16)
KERNEL(rotg, s, float)
KERNEL(rotg, d, double)
KERNEL(rotg_complex, c, float)
KERNEL(rotg_complex, z, double)
KERNEL(rotmg, s, float)
KERNEL(rotmg, d, double)
KERNELS6(dot)
KERNELS6(asum)
KERNELS6(nrm2)
KERNELS6(iamax)
