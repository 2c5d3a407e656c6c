/* SPDX-License-Identifier: MIT */
/*
 * Brain floats (a float's upper half) for clang's -x cuda, on both sides: conversions, arithmetic, comparisons, pairs. A sum, product or quotient is
 * a float's, rounded once more to nearest even; from compute capability 8.0 on products and sums are PTX's fma.rn.bf16 (PTX ISA 9.7.4), which
 * rounds once. A NaN that is made has the bits 0x7fff.
 *
 * Not here: htanh_approx, which is of compute capability 9.0.
 */
#ifndef CUDA_LITE_CUDA_BF16_H
#define CUDA_LITE_CUDA_BF16_H

#ifndef __CUDACC_RTC__
#include "cuda_runtime.h"
#endif

#if defined(__cplusplus) && !defined(__CUDACC_RTC__)
#include <math.h>
#include <string.h>
#endif

typedef struct { unsigned short x; } __nv_bfloat16_raw;
typedef struct { unsigned short x, y; } __nv_bfloat162_raw;

#ifdef __cplusplus
#define __CUDA_BF16_H__         /* what other people's headers test for */

#include "cuda_lite_sides.h"

/* ---- by bits ---------------------------------------------------------------------------------- */

namespace cuda_lite {
namespace brain {

enum rounding { RN, RZ, RD, RU };

CUDA_LITE_HD float float_of(unsigned short b)
{
	unsigned int u = (unsigned int)b << 16;
	float f;
	memcpy(&f, &u, 4);
	return f;
}
CUDA_LITE_HD unsigned short of(float v, rounding how)
{
	unsigned int u;
	memcpy(&u, &v, 4);
	bool negative = u >> 31, rest = (u & 0xffff) != 0;

	if ((u & 0x7fffffff) > 0x7f800000)
		return 0x7fff;
	if (how == RN)          /* a carry goes into the exponent, and on to infinity */
		return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
	return (unsigned short)((u >> 16) + (rest && how != RZ && negative == (how == RD)));
}
/* To the odd one of the two floats beside it, where it is none: what is rounded next sees that there was more */
CUDA_LITE_HD float odd(double v)
{
	float f = (float)v;
	unsigned int u;
	memcpy(&u, &f, 4);

	if (v == v && (double)f != v) {
		if ((f < 0 ? -(double)f : (double)f) > (v < 0 ? -v : v))
			u--;
		u |= 1;
		memcpy(&f, &u, 4);
	}
	return f;
}
CUDA_LITE_HD float odd(bool negative, unsigned long long m)
{
	float f, by = 1;
	int n = m >> 24 ? 64 - 24 - __builtin_clzll(m) : 0;

	if (n) {
		m = m >> n | ((m & ((1ull << n) - 1)) != 0);
		by = (float)(1ull << n);
	}
	f = (float)(unsigned int)m * by;
	return negative ? -f : f;
}
template <class T> CUDA_LITE_HD float odd_whole(T v) { return odd(v < T(1) && v != T(0), v < T(1) ? 0 - (unsigned long long)v : (unsigned long long)v); }
template <class T> CUDA_LITE_HD T clamped(float v, T lo, T hi)
{
	return v != v ? sizeof(T) == 8 ? (T)(1ull << 63) : T(0) : v <= (float)lo ? lo : v >= (float)hi ? hi : (T)v;
}
CUDA_LITE_HD float saturated(float v) { return v > 0 ? v < 1 ? v : 1 : 0; }

} // namespace brain
} // namespace cuda_lite

/* ---- the types -------------------------------------------------------------------------------- */

#define CUDA_LITE_FROM(F) F(float) F(double) F(int) F(unsigned int) F(short) F(unsigned short) F(long) F(unsigned long) F(long long) F(unsigned long long)

struct alignas(2) __nv_bfloat16 {
	unsigned short __x;

	__nv_bfloat16() = default;
	CUDA_LITE_HD_MEMBER __nv_bfloat16(const __nv_bfloat16_raw &r) : __x(r.x) {}
#define CUDA_LITE_MADE(type) CUDA_LITE_HD_MEMBER __nv_bfloat16(type v);
	CUDA_LITE_FROM(CUDA_LITE_MADE)
#undef CUDA_LITE_MADE
	CUDA_LITE_HD_MEMBER operator float() const { return cuda_lite::brain::float_of(__x); }
	CUDA_LITE_HD_MEMBER operator __nv_bfloat16_raw() const { __nv_bfloat16_raw r; r.x = __x; return r; }
	CUDA_LITE_HD_MEMBER explicit operator bool() const { return (__x & 0x7fff) != 0; }
};
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
	__nv_bfloat16 x, y;

	__nv_bfloat162() = default;
	CUDA_LITE_HD_MEMBER __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b) {}
	CUDA_LITE_HD_MEMBER __nv_bfloat162(const __nv_bfloat162_raw &r) { x.__x = r.x; y.__x = r.y; }
	CUDA_LITE_HD_MEMBER operator __nv_bfloat162_raw() const { __nv_bfloat162_raw r; r.x = x.__x; r.y = y.__x; return r; }
};
typedef __nv_bfloat162 nv_bfloat162;

CUDA_LITE_HD __nv_bfloat16 __ushort_as_bfloat16(unsigned short b) { __nv_bfloat16 h; h.__x = b; return h; }
CUDA_LITE_HD __nv_bfloat16 __short_as_bfloat16(short b) { return __ushort_as_bfloat16((unsigned short)b); }
CUDA_LITE_HD unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.__x; }
CUDA_LITE_HD short __bfloat16_as_short(__nv_bfloat16 h) { return (short)h.__x; }
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)1)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)

/* ---- conversions ------------------------------------------------------------------------------ */

#define CUDA_LITE_ROUNDED(name, type, float_of_v) \
	CUDA_LITE_HD __nv_bfloat16 __##name##2bfloat16_rn(type v) { return __ushort_as_bfloat16(cuda_lite::brain::of(float_of_v, cuda_lite::brain::RN)); } \
	CUDA_LITE_HD __nv_bfloat16 __##name##2bfloat16_rz(type v) { return __ushort_as_bfloat16(cuda_lite::brain::of(float_of_v, cuda_lite::brain::RZ)); } \
	CUDA_LITE_HD __nv_bfloat16 __##name##2bfloat16_rd(type v) { return __ushort_as_bfloat16(cuda_lite::brain::of(float_of_v, cuda_lite::brain::RD)); } \
	CUDA_LITE_HD __nv_bfloat16 __##name##2bfloat16_ru(type v) { return __ushort_as_bfloat16(cuda_lite::brain::of(float_of_v, cuda_lite::brain::RU)); }
CUDA_LITE_ROUNDED(float, float, v)
CUDA_LITE_HD __nv_bfloat16 __float2bfloat16(float v) { return __float2bfloat16_rn(v); }
CUDA_LITE_HD __nv_bfloat16 __double2bfloat16(double v) { return __float2bfloat16_rn(cuda_lite::brain::odd(v)); }
CUDA_LITE_HD float __bfloat162float(__nv_bfloat16 h) { return cuda_lite::brain::float_of(h.__x); }

CUDA_LITE_HD signed char __bfloat162char_rz(__nv_bfloat16 h) { float v = __bfloat162float(h); return (signed char)(v != v ? 0 : v <= -128 ? -128 : v >= 127 ? 127 : (int)v); }
CUDA_LITE_HD unsigned char __bfloat162uchar_rz(__nv_bfloat16 h) { float v = __bfloat162float(h); return (unsigned char)(v > 0 ? v >= 255 ? 255 : (int)v : 0); }
/* to integers: out of range the nearest; a NaN becomes 0, in 64 bits the sign alone */
#if CUDA_LITE_ON_DEVICE
#define CUDA_LITE_TO_INT(type, name, round, ptx, con, f, lo, hi) \
	CUDA_LITE_HD type __bfloat162##name##_##round(__nv_bfloat16 h) \
	{ type r; asm("cvt." ptx ".f32 %0, %1;" : con(r) : "f"(__bfloat162float(h))); return r; }
#else
#define CUDA_LITE_TO_INT(type, name, round, ptx, con, f, lo, hi) \
	CUDA_LITE_HD type __bfloat162##name##_##round(__nv_bfloat16 h) { return cuda_lite::brain::clamped<type>(f(__bfloat162float(h)), lo, hi); }
#endif
#define CUDA_LITE_INT(type, name, ptx, con, lo, hi) \
	CUDA_LITE_ROUNDED(name, type, cuda_lite::brain::odd_whole<type>(v)) \
	CUDA_LITE_TO_INT(type, name, rn, "rni." ptx, "=" con, rintf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, rz, "rzi." ptx, "=" con, truncf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, rd, "rmi." ptx, "=" con, floorf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, ru, "rpi." ptx, "=" con, ceilf, lo, hi)
CUDA_LITE_INT(int, int, "s32", "r", -2147483647 - 1, 2147483647)
CUDA_LITE_INT(unsigned int, uint, "u32", "r", 0u, 4294967295u)
CUDA_LITE_INT(short, short, "s16", "h", (short)-32768, (short)32767)
CUDA_LITE_INT(unsigned short, ushort, "u16", "h", (unsigned short)0, (unsigned short)65535)
CUDA_LITE_INT(long long, ll, "s64", "l", -9223372036854775807ll - 1, 9223372036854775807ll)
CUDA_LITE_INT(unsigned long long, ull, "u64", "l", 0ull, 18446744073709551615ull)

inline CUDA_LITE_HD_MEMBER __nv_bfloat16::__nv_bfloat16(float v) : __x(__float2bfloat16_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __nv_bfloat16::__nv_bfloat16(double v) : __x(__double2bfloat16(v).__x) {}
#define CUDA_LITE_MADE(type) \
	inline CUDA_LITE_HD_MEMBER __nv_bfloat16::__nv_bfloat16(type v) : __x(cuda_lite::brain::of(cuda_lite::brain::odd_whole<type>(v), cuda_lite::brain::RN)) {}
CUDA_LITE_MADE(int) CUDA_LITE_MADE(unsigned int) CUDA_LITE_MADE(short) CUDA_LITE_MADE(unsigned short) CUDA_LITE_MADE(long) CUDA_LITE_MADE(unsigned long)
CUDA_LITE_MADE(long long) CUDA_LITE_MADE(unsigned long long)

CUDA_LITE_HD __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
CUDA_LITE_HD __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
CUDA_LITE_HD __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
CUDA_LITE_HD __nv_bfloat162 __float2bfloat162_rn(float a) { return __bfloat162bfloat162(__float2bfloat16_rn(a)); }
CUDA_LITE_HD __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(__float2bfloat16_rn(a), __float2bfloat16_rn(b)); }
CUDA_LITE_HD __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
CUDA_LITE_HD float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2(__bfloat162float(a.x), __bfloat162float(a.y)); }
CUDA_LITE_HD __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
CUDA_LITE_HD __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
CUDA_LITE_HD float __low2float(__nv_bfloat162 a) { return __bfloat162float(a.x); }
CUDA_LITE_HD float __high2float(__nv_bfloat162 a) { return __bfloat162float(a.y); }
CUDA_LITE_HD __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
CUDA_LITE_HD __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
CUDA_LITE_HD __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
CUDA_LITE_HD __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
CUDA_LITE_HD __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.x); }

/* ---- arithmetic ------------------------------------------------------------------------------- */

CUDA_LITE_HD __nv_bfloat16 __hneg(__nv_bfloat16 a) { return __ushort_as_bfloat16((unsigned short)(a.__x ^ 0x8000)); }
CUDA_LITE_HD __nv_bfloat16 __habs(__nv_bfloat16 a) { return __ushort_as_bfloat16((unsigned short)(a.__x & 0x7fff)); }
CUDA_LITE_HD __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
#if CUDA_LITE_ON_DEVICE && __CUDA_ARCH__ >= 800
	unsigned short r;
	asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
	return __ushort_as_bfloat16(r);
#else
	/* the product is exact; what a sum lost makes it odd, as odd() does */
	double p = (double)__bfloat162float(a) * __bfloat162float(b), q = __bfloat162float(c), s = p + q, t = s - p, e = (p - (s - t)) + (q - t);
	unsigned long long u;
	memcpy(&u, &s, 8);
	if (e != 0 && s - s == 0 && !(u & 1))
		u += (e > 0) == (s > 0) ? 1 : -1ull;
	memcpy(&s, &u, 8);
	return __double2bfloat16(s);
#endif
}
#if CUDA_LITE_ON_DEVICE && __CUDA_ARCH__ >= 800
CUDA_LITE_HD __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma(a, CUDART_ONE_BF16, b); }
CUDA_LITE_HD __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma(b, __ushort_as_bfloat16(0xbf80), a); }
CUDA_LITE_HD __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return __hfma(a, b, CUDART_NEG_ZERO_BF16); }
#else
CUDA_LITE_HD __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b)); }
CUDA_LITE_HD __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16_rn(__bfloat162float(a) - __bfloat162float(b)); }
CUDA_LITE_HD __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16_rn(__bfloat162float(a) * __bfloat162float(b)); }
#endif
CUDA_LITE_HD __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16_rn(__bfloat162float(a) / __bfloat162float(b)); }
CUDA_LITE_HD __nv_bfloat16 __cuda_lite_saturated(__nv_bfloat16 a) { return __float2bfloat16_rn(cuda_lite::brain::saturated(__bfloat162float(a))); }
CUDA_LITE_HD __nv_bfloat16 __hadd_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __cuda_lite_saturated(__hadd(a, b)); }
CUDA_LITE_HD __nv_bfloat16 __hsub_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __cuda_lite_saturated(__hsub(a, b)); }
CUDA_LITE_HD __nv_bfloat16 __hmul_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __cuda_lite_saturated(__hmul(a, b)); }
CUDA_LITE_HD __nv_bfloat16 __hfma_sat(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return __cuda_lite_saturated(__hfma(a, b, c)); }
#define CUDA_LITE_PAIR(name) \
	CUDA_LITE_HD __nv_bfloat162 __h##name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(__h##name(a.x, b.x), __h##name(a.y, b.y)); } \
	CUDA_LITE_HD __nv_bfloat162 __h##name##2_sat(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)); }
CUDA_LITE_PAIR(add)
CUDA_LITE_PAIR(sub)
CUDA_LITE_PAIR(mul)
#undef CUDA_LITE_PAIR
CUDA_LITE_HD __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c)
{
#if CUDA_LITE_ON_DEVICE && __CUDA_ARCH__ >= 800
	unsigned int r;
	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r)
	    : "r"(__builtin_bit_cast(unsigned int, a)), "r"(__builtin_bit_cast(unsigned int, b)), "r"(__builtin_bit_cast(unsigned int, c)));
	return __builtin_bit_cast(__nv_bfloat162, r);
#else
	return __nv_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
#endif
}
CUDA_LITE_HD __nv_bfloat162 __hfma2_sat(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return __nv_bfloat162(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)); }

#define CUDA_LITE_T __nv_bfloat16
#define CUDA_LITE_T2 __nv_bfloat162
#define CUDA_LITE_AS(bits) __ushort_as_bfloat16((unsigned short)(bits))
#define CUDA_LITE_FLOAT(h) __bfloat162float(h)
#define CUDA_LITE_NEAREST(f) __float2bfloat16_rn(f)
#define CUDA_LITE_INFINITE 0x7f80
#define CUDA_LITE_UNIT 0x3f80
#include "cuda_lite_halves.h"

#undef CUDA_LITE_FROM
#undef CUDA_LITE_MADE
#undef CUDA_LITE_ROUNDED
#undef CUDA_LITE_TO_INT
#undef CUDA_LITE_INT
#undef CUDA_LITE_HD_MEMBER
#undef CUDA_LITE_HD
#undef CUDA_LITE_ON_DEVICE
#endif

#endif
