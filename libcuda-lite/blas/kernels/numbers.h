/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the levels' kernels: real, complex, and halves that are computed with as floats. Where T is how a number is stored, W<T> is what
 * is computed with, and R<T> the type of its absolute value.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "values.h"
#include "levels.h"

template <class F> struct cx { F x, y; };
typedef cx<float> c32;
typedef cx<double> c64;
struct f16 { u16 bits; };
struct b16 { u16 bits; };
struct c8 { signed char x, y; };

template <class T> struct work { typedef T t; };
template <> struct work<f16> { typedef float t; };
template <> struct work<b16> { typedef float t; };
template <> struct work<c8> { typedef c32 t; };
template <class T> struct real { typedef T t; };
template <> struct real<c32> { typedef float t; };
template <> struct real<c64> { typedef double t; };
template <> struct real<f16> { typedef float t; };
template <> struct real<b16> { typedef float t; };
template <> struct real<c8> { typedef float t; };
#define W(T) typename work<T>::t
#define R(T) typename real<T>::t

E2E_DEV float get(float v) { return v; }
E2E_DEV double get(double v) { return v; }
E2E_DEV c32 get(c32 v) { return v; }
E2E_DEV c64 get(c64 v) { return v; }
E2E_DEV float get(f16 v) { return half_float(v.bits); }
E2E_DEV float get(b16 v) { return bits_float((u32)v.bits << 16); }
E2E_DEV c32 get(c8 v) { c32 r = { (float)v.x, (float)v.y }; return r; }
E2E_DEV void put(float *p, float v) { *p = v; }
E2E_DEV void put(double *p, double v) { *p = v; }
E2E_DEV void put(c32 *p, c32 v) { *p = v; }
E2E_DEV void put(c64 *p, c64 v) { *p = v; }
E2E_DEV void put(f16 *p, float v) { p->bits = float_half(v); }
E2E_DEV void put(b16 *p, float v) { p->bits = float_bf16(v); }

template <class T> struct number;       /* from a real and an imaginary part */
template <> struct number<float> { E2E_DEV float of(double x, double) { return (float)x; } };
template <> struct number<double> { E2E_DEV double of(double x, double) { return x; } };
template <> struct number<c32> { E2E_DEV c32 of(double x, double y) { c32 r = { (float)x, (float)y }; return r; } };
template <> struct number<c64> { E2E_DEV c64 of(double x, double y) { c64 r = { x, y }; return r; } };

E2E_DEV float re(float v) { return v; }
E2E_DEV double re(double v) { return v; }
template <class F> E2E_DEV F re(cx<F> v) { return v.x; }
E2E_DEV float im(float) { return 0; }
E2E_DEV double im(double) { return 0; }
template <class F> E2E_DEV F im(cx<F> v) { return v.y; }
E2E_DEV float conj(float v) { return v; }
E2E_DEV double conj(double v) { return v; }
template <class F> E2E_DEV cx<F> conj(cx<F> v) { cx<F> r = { v.x, -v.y }; return r; }
template <class F> E2E_DEV cx<F> operator+(cx<F> a, cx<F> b) { cx<F> r = { a.x + b.x, a.y + b.y }; return r; }
template <class F> E2E_DEV cx<F> operator-(cx<F> a, cx<F> b) { cx<F> r = { a.x - b.x, a.y - b.y }; return r; }
template <class F> E2E_DEV cx<F> operator-(cx<F> a) { cx<F> r = { -a.x, -a.y }; return r; }
template <class F> E2E_DEV cx<F> operator*(cx<F> a, cx<F> b) { cx<F> r = { a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x }; return r; }
template <class F> E2E_DEV cx<F> operator*(F a, cx<F> b) { cx<F> r = { a * b.x, a * b.y }; return r; }
template <class F> E2E_DEV bool operator==(cx<F> a, cx<F> b) { return a.x == b.x && a.y == b.y; }

E2E_DEV float root(float v) { float r; __asm__("sqrt.rn.f32 \t%0, %1;" : "=f"(r) : "f"(v)); return r; }
E2E_DEV double root(double v) { double r; __asm__("sqrt.rn.f64 \t%0, %1;" : "=d"(r) : "d"(v)); return r; }
E2E_DEV float size(float v) { return __builtin_fabsf(v); }
E2E_DEV double size(double v) { return __builtin_fabs(v); }
/* the sum of both parts' sizes, which BLAS looks for a pivot with */
E2E_DEV float taxi(float v) { return size(v); }
E2E_DEV double taxi(double v) { return size(v); }
template <class F> E2E_DEV F taxi(cx<F> v) { return size(v.x) + size(v.y); }
template <class F> E2E_DEV F size(cx<F> v)
{
	F a = size(v.x), b = size(v.y), h = a > b ? a : b, q;

	if (h == 0 || h != h)
		return a + b;
	q = (a > b ? b : a) / h;
	return h * root(1 + q * q);
}

/* c + a b */
E2E_DEV float mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
E2E_DEV double mad(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class F> E2E_DEV cx<F> mad(cx<F> a, cx<F> b, cx<F> c)
{
	cx<F> r = { mad(-a.y, b.y, mad(a.x, b.x, c.x)), mad(a.y, b.x, mad(a.x, b.y, c.y)) };

	return r;
}

E2E_DEV float over(float a, float b) { return a / b; }
E2E_DEV double over(double a, double b) { return a / b; }
/* by Smith's way: the divisor's greater part is divided by */
template <class F> E2E_DEV cx<F> over(cx<F> a, cx<F> b)
{
	bool flat = size(b.x) >= size(b.y);
	F p = flat ? b.x : b.y, q = flat ? b.y : b.x, r = q / p, d = p + q * r;
	cx<F> z = { (flat ? a.x + a.y * r : a.x * r + a.y) / d, (flat ? a.y - a.x * r : a.y * r - a.x) / d };

	return z;
}

template <class T> E2E_DEV T factor_at(u64 at, u32 type)
{
	switch (type) {
	case TYPE_S: return number<T>::of((double)*(const float *)at, 0);
	case TYPE_D: return number<T>::of(*(const double *)at, 0);
	case TYPE_C: return number<T>::of((double)((const float *)at)[0], (double)((const float *)at)[1]);
	case TYPE_Z: return number<T>::of(((const double *)at)[0], ((const double *)at)[1]);
	case TYPE_H: return number<T>::of((double)get(*(const f16 *)at), 0);
	}
	return number<T>::of((double)get(*(const b16 *)at), 0);
}
template <class T> E2E_DEV T alpha_of(const levels_call &q)
{
	return q.alpha_at ? factor_at<T>(q.alpha_at, q.scalar) : number<T>::of(q.alpha[0], q.alpha[1]);
}
template <class T> E2E_DEV T beta_of(const levels_call &q)
{
	return q.beta_at ? factor_at<T>(q.beta_at, q.scalar) : number<T>::of(q.beta[0], q.beta[1]);
}
template <class T> E2E_DEV bool none(T v) { return re(v) == 0 && im(v) == 0; }

/* A vector's first element: BLAS counts a negative step from the end. */
template <class T> E2E_DEV T *first(u64 x, i64 n, i64 inc) { return (T *)x + (inc < 0 ? (1 - n) * inc : 0); }
/* One of a batch: from an array of pointers, or stride elements apart. */
template <class T> E2E_DEV T *batch(u64 p, i64 b, i64 stride, bool pointers) { return pointers ? ((T *const *)p)[b] : (T *)p + b * stride; }

/* Where element (i, j) of what is stored lies. n: the order of a packed one. */
E2E_DEV i64 place(const levels_call &q, i64 i, i64 j, i64 n)
{
	if (q.flags & LV_BAND)
		return q.ku + i - j + j * q.lda;
	if (q.flags & LV_PACKED)
		return q.flags & LV_UPPER ? i + j * (j + 1) / 2 : i + j * (2 * n - j - 1) / 2;
	return i + j * q.lda;
}

/* Element (i, j) of op(a), by all that flags say. n: a's order, where it is square. */
template <class T> E2E_DEV W(T) element(const levels_call &q, const T *a, i64 i, i64 j, i64 n)
{
	bool upper = q.flags & LV_UPPER, turned = q.flags & LV_CONJ, other;
	W(T) v;

	if (q.flags & LV_TRANS) {
		i64 t = i;

		i = j;
		j = t;
	}
	other = upper ? i > j : i < j;
	if (q.flags & LV_TRI) {
		if (other)
			return number<W(T)>::of(0, 0);
		if (i == j && (q.flags & LV_UNIT))
			return number<W(T)>::of(1, 0);
	} else if (other && (q.flags & (LV_SYM | LV_HERM))) {
		i64 t = i;

		i = j;
		j = t;
		turned ^= (q.flags & LV_HERM) != 0;
	}
	if ((q.flags & LV_BAND) && (i - j > q.kl || j - i > q.ku))
		return number<W(T)>::of(0, 0);
	v = get(a[place(q, i, j, n)]);
	if ((q.flags & LV_HERM) && i == j)
		v = number<W(T)>::of((double)re(v), 0);
	return turned ? conj(v) : v;
}

/* The sum of all threads' v, in thread 0; every thread of the block comes here. */
template <class T> E2E_DEV T block_sum(T v)
{
	static __shared__ __attribute__((aligned(16))) char room[LEVELS_THREADS * sizeof(T)];
	T *s = (T *)room;
	u32 t = threadIdx.x;

	__syncthreads();
	s[t] = v;
	__syncthreads();
	for (u32 h = LEVELS_THREADS / 2; h; h /= 2) {
		if (t < h && t + h < blockDim.x)
			s[t] = s[t] + s[t + h];
		__syncthreads();
	}
	return s[0];
}

#define EACH_THREAD(i, n) for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (i64)gridDim.x * blockDim.x)
#define KERNEL(name, letter, ...) \
	extern "C" __global__ void __launch_bounds__(LEVELS_THREADS) name##_##letter(levels_call q) { name<__VA_ARGS__>(q); }
#define KERNELS4(name) KERNEL(name, s, float) KERNEL(name, d, double) KERNEL(name, c, c32) KERNEL(name, z, c64)
#define KERNELS6(name) KERNELS4(name) KERNEL(name, h, f16) KERNEL(name, b, b16)
#endif
