/* SPDX-License-Identifier: MIT */
/*
 * What several ranks gave, made one, element by element and in the order of the sources, so that every rank that computes it gets the same
 * bits. Small floats are added as floats and rounded once. dst may be one of the sources.
 */
#include "../../blas/kernels/values.h"
#include "reduce.h"

typedef unsigned char u8;
struct f16 { u16 bits; };
struct b16 { u16 bits; };
struct e4m3 { u8 bits; };
struct e5m2 { u8 bits; };

template <class T> struct work { typedef T t; };
template <> struct work<f16> { typedef float t; };
template <> struct work<b16> { typedef float t; };
template <> struct work<e4m3> { typedef float t; };
template <> struct work<e5m2> { typedef float t; };
#define W(T) typename work<T>::t

template <class T> E2E_DEV T get(T v) { return v; }
template <class T> E2E_DEV void put(T *p, T v) { *p = v; }
E2E_DEV float get(f16 v) { return half_float(v.bits); }
E2E_DEV float get(b16 v) { return bits_float((u32)v.bits << 16); }
E2E_DEV void put(f16 *p, float v) { p->bits = float_half(v); }
E2E_DEV void put(b16 *p, float v) { p->bits = float_bf16(v); }

/* OCP 8-bit floats: of E bits of exponent with that bias, M of mantissa; what is too large becomes the largest. Nearest, ties to even. */
template <u32 M, u32 bias, u32 largest> E2E_DEV u8 eight(float f)
{
	u32 b = float_bits(f), sign = b >> 24 & 0x80, a = b & 0x7fffffffu, v;

	if (a > 0x7f800000u)
		return (u8)(sign | 0x7f);
	if (a < (128 - bias) << 23)             /* below the least normal one: in units of the least */
		v = float_bits(bits_float(a) * bits_float((126 + bias + M) << 23) + 8388608.0f) & 0x7fffffu;
	else
		v = ((a + (1u << (22 - M)) - 1 + (a >> (23 - M) & 1)) >> (23 - M)) - ((127 - bias) << M);
	return (u8)(sign | (v < largest ? v : largest));
}
E2E_DEV float get(e4m3 v)
{
	u32 a = v.bits & 0x7f, sign = (u32)(v.bits & 0x80) << 24;

	if (a == 0x7f)
		return bits_float(sign | 0x7fc00000u);
	return bits_float(sign | float_bits(a < 8 ? (float)a * bits_float((127 - 9) << 23) : bits_float((a + (120 << 3)) << 20)));
}
E2E_DEV float get(e5m2 v) { return half_float((u16)((u32)v.bits << 8)); }
E2E_DEV void put(e4m3 *p, float v) { p->bits = eight<3, 7, 0x7e>(v); }
E2E_DEV void put(e5m2 *p, float v) { p->bits = eight<2, 15, 0x7b>(v); }

template <int op, class F> E2E_DEV F join(F a, F b)
{
	if (op == REDUCE_SUM)
		return a + b;
	if (op == REDUCE_PROD)
		return a * b;
	if (op == REDUCE_MAX)
		return a < b || a != a ? b : a;
	return a > b || a != a ? b : a;
}

template <class T, int op> E2E_DEV void run(const reduce_call &q)
{
	const T *scale = q.scale_at ? (const T *)q.scale_at : (const T *)&q.scale;

	for (u64 i = (u64)blockIdx.x * REDUCE_THREADS + threadIdx.x; i < q.count; i += (u64)gridDim.x * REDUCE_THREADS) {
		W(T) v = get(((const T *)q.src[0])[i]);

		if (!q.own)
			v = (W(T))(v * get(*scale));
		for (u32 s = 1; s < q.sources; s++) {
			W(T) w = get(((const T *)q.src[s])[i]);

			if (q.own == s)
				w = (W(T))(w * get(*scale));
			v = join<op, W(T)>(v, w);
		}
		if (q.divide)
			v = (W(T))(v / (W(T))q.divide);
		put((T *)q.dst + i, v);
	}
}

template <class T> E2E_DEV void all(const reduce_call &q)
{
	switch (q.op) {
	case REDUCE_SUM: run<T, REDUCE_SUM>(q); break;
	case REDUCE_PROD: run<T, REDUCE_PROD>(q); break;
	case REDUCE_MAX: run<T, REDUCE_MAX>(q); break;
	case REDUCE_MIN: run<T, REDUCE_MIN>(q); break;
	}
}

#define KERNEL(name, T) extern "C" __global__ void __launch_bounds__(REDUCE_THREADS) reduce_##name(reduce_call q) { all<T>(q); }
KERNEL(s8, signed char)
KERNEL(u8, u8)
KERNEL(s32, int)
KERNEL(u32, u32)
KERNEL(s64, i64)
KERNEL(u64, u64)
KERNEL(f16, f16)
KERNEL(f32, float)
KERNEL(f64, double)
KERNEL(b16, b16)
KERNEL(e4m3, e4m3)
KERNEL(e5m2, e5m2)
