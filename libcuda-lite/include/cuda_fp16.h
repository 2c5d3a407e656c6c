/* SPDX-License-Identifier: MIT */
/*
 * Halves (IEEE 754 binary16) for clang's -x cuda, on both sides: conversions, arithmetic, comparisons, pairs. On the device each is the
 * instruction that PTX has for it (PTX ISA 9.7.4, 9.7.9.21; fma and pairs from compute capability 5.3 on), functions of the math
 * library are computed in float. On the host sums, products and quotients are computed in float and rounded once more, which is the
 * same for halves: float has more than twice their bits.
 *
 * Not here: the forms without contraction.
 */
#ifndef CUDA_LITE_CUDA_FP16_H
#define CUDA_LITE_CUDA_FP16_H

#ifndef __CUDACC_RTC__
#include "cuda_runtime.h"
#endif

#if defined(__cplusplus) && !defined(__CUDACC_RTC__)
#include <math.h>
#include <string.h>
#endif

#include "cuda_lite_sides.h"

typedef struct { unsigned short x; } __half_raw;
typedef struct { unsigned short x, y; } __half2_raw;

#ifdef __cplusplus
#define __CUDA_FP16_H__         /* what other people's headers test for */

/* ---- conversions by bits, for the host -------------------------------------------------------- */

namespace cuda_lite {

enum rounding { RN, RZ, RD, RU };

/* 64 bits of magnitude and sign; a double holds every float and every product of halves */
CUDA_LITE_HD unsigned short half_of(double v, rounding how)
{
	unsigned long long b;
	memcpy(&b, &v, 8);
	unsigned short sign = (unsigned short)(b >> 48 & 0x8000);
	int e = (int)(b >> 52 & 0x7ff) - 1023;
	unsigned long long m = b & 0xfffffffffffffull;

	if (e == 1024)
		return m ? 0x7fff : (unsigned short)(sign | 0x7c00);
	bool up = how == RU ? !sign : how == RD && sign;
	if (e > 15)
		return (unsigned short)(sign | (how == RN || up ? 0x7c00 : 0x7bff));
	if (e == -1023 && !m)
		return sign;
	if (e < -26)
		return (unsigned short)(sign | up);
	m |= 1ull << 52;
	int drop = e < -14 ? 42 - 14 - e : 42;
	unsigned long long r = m >> drop, rest = m & ((1ull << drop) - 1), half = 1ull << (drop - 1);
	r += how == RN ? rest > half || (rest == half && (r & 1)) : up && rest;
	/* 1.m with its leading one: adding lets a carry go into the exponent */
	unsigned long long bits = e < -14 ? r : ((unsigned long long)(e + 15) << 10) + r - 1024;
	if (bits >= 0x7c00 && how != RN && !up)
		bits = 0x7bff;
	return (unsigned short)(sign | bits);
}

CUDA_LITE_HD float float_of(unsigned short h)
{
	unsigned int sign = (unsigned int)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023, b;
	float f;

	if (e == 31)
		b = sign | 0x7f800000 | m << 13;
	else if (e)
		b = sign | (e + 112) << 23 | m << 13;
	else {
		f = (float)m * 5.9604644775390625e-8f;
		return sign ? -f : f;
	}
	memcpy(&f, &b, 4);
	return f;
}

} // namespace cuda_lite

/* ---- the types -------------------------------------------------------------------------------- */

struct __half;
CUDA_LITE_HD __half __float2half_rn(float v);
CUDA_LITE_HD __half __double2half(double v);
CUDA_LITE_HD float __half2float(__half h);

struct alignas(2) __half {
	unsigned short __x;

	__half() = default;
	CUDA_LITE_HD_MEMBER __half(const __half_raw &r) : __x(r.x) {}
	CUDA_LITE_HD_MEMBER __half(float v);
	CUDA_LITE_HD_MEMBER __half(double v);
	CUDA_LITE_HD_MEMBER __half(int v);
	CUDA_LITE_HD_MEMBER __half(unsigned int v);
	CUDA_LITE_HD_MEMBER __half(short v);
	CUDA_LITE_HD_MEMBER __half(unsigned short v);
	CUDA_LITE_HD_MEMBER __half(long long v);
	CUDA_LITE_HD_MEMBER __half(unsigned long long v);
	CUDA_LITE_HD_MEMBER operator float() const;
	CUDA_LITE_HD_MEMBER operator __half_raw() const { __half_raw r; r.x = __x; return r; }
	CUDA_LITE_HD_MEMBER explicit operator bool() const { return (__x & 0x7fff) != 0; }
};
typedef __half half;

struct alignas(4) __half2 {
	__half x, y;

	__half2() = default;
	CUDA_LITE_HD_MEMBER __half2(const __half &a, const __half &b) : x(a), y(b) {}
	CUDA_LITE_HD_MEMBER __half2(const __half2_raw &r) { x.__x = r.x; y.__x = r.y; }
	CUDA_LITE_HD_MEMBER operator __half2_raw() const { __half2_raw r; r.x = x.__x; r.y = y.__x; return r; }
};
typedef __half2 half2;

CUDA_LITE_HD __half __ushort_as_half(unsigned short b) { __half h; h.__x = b; return h; }
CUDA_LITE_HD __half __short_as_half(short b) { return __ushort_as_half((unsigned short)b); }
CUDA_LITE_HD unsigned short __half_as_ushort(__half h) { return h.__x; }
CUDA_LITE_HD short __half_as_short(__half h) { return (short)h.__x; }

#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)1)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)

/* ---- conversions ------------------------------------------------------------------------------ */

#if CUDA_LITE_ON_DEVICE
#define CUDA_LITE_TO_HALF(ptx, con, round, v) \
	unsigned short r; \
	asm("cvt." ptx ";" : "=h"(r) : con(v)); \
	return __ushort_as_half(r)
#define CUDA_LITE_FROM_HALF(type, ptx, con, expr) \
	type r; \
	asm("cvt." ptx ";" : con(r) : "h"(h.__x)); \
	return r
#else
#define CUDA_LITE_TO_HALF(ptx, con, round, v) return __ushort_as_half(cuda_lite::half_of((double)(v), cuda_lite::round))
#define CUDA_LITE_FROM_HALF(type, ptx, con, expr) return expr
#endif

CUDA_LITE_HD __half __float2half_rn(float v) { CUDA_LITE_TO_HALF("rn.f16.f32 %0, %1", "f", RN, v); }
CUDA_LITE_HD __half __float2half_rz(float v) { CUDA_LITE_TO_HALF("rz.f16.f32 %0, %1", "f", RZ, v); }
CUDA_LITE_HD __half __float2half_rd(float v) { CUDA_LITE_TO_HALF("rm.f16.f32 %0, %1", "f", RD, v); }
CUDA_LITE_HD __half __float2half_ru(float v) { CUDA_LITE_TO_HALF("rp.f16.f32 %0, %1", "f", RU, v); }
CUDA_LITE_HD __half __float2half(float v) { return __float2half_rn(v); }
CUDA_LITE_HD __half __double2half(double v) { CUDA_LITE_TO_HALF("rn.f16.f64 %0, %1", "d", RN, v); }
CUDA_LITE_HD float __half2float(__half h) { CUDA_LITE_FROM_HALF(float, "f32.f16 %0, %1", "=f", cuda_lite::float_of(h.__x)); }

CUDA_LITE_HD signed char __half2char_rz(__half h) { float v = __half2float(h); return (signed char)(v != v ? 0 : v <= -128 ? -128 : v >= 127 ? 127 : (int)v); }
CUDA_LITE_HD unsigned char __half2uchar_rz(__half h) { float v = __half2float(h); return (unsigned char)(v > 0 ? v >= 255 ? 255 : (int)v : 0); }
/* from integers, and to them: out of range the nearest; a NaN becomes 0, in 64 bits the sign alone (CUDA Math API, half precision conversion) */
#define CUDA_LITE_INT(type, name, ptx, con, lo, hi) \
	CUDA_LITE_HD __half __##name##2half_rn(type v) { CUDA_LITE_TO_HALF("rn.f16." ptx " %0, %1", con, RN, v); } \
	CUDA_LITE_HD __half __##name##2half_rz(type v) { CUDA_LITE_TO_HALF("rz.f16." ptx " %0, %1", con, RZ, v); } \
	CUDA_LITE_HD __half __##name##2half_rd(type v) { CUDA_LITE_TO_HALF("rm.f16." ptx " %0, %1", con, RD, v); } \
	CUDA_LITE_HD __half __##name##2half_ru(type v) { CUDA_LITE_TO_HALF("rp.f16." ptx " %0, %1", con, RU, v); } \
	CUDA_LITE_TO_INT(type, name, rn, "rni", ptx, "=" con, rintf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, rz, "rzi", ptx, "=" con, truncf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, rd, "rmi", ptx, "=" con, floorf, lo, hi) \
	CUDA_LITE_TO_INT(type, name, ru, "rpi", ptx, "=" con, ceilf, lo, hi)
#define CUDA_LITE_TO_INT(type, name, round, how, ptx, con, f, lo, hi) \
	CUDA_LITE_HD type __half2##name##_##round(__half h) \
	{ CUDA_LITE_FROM_HALF(type, how "." ptx ".f16 %0, %1", con, (cuda_lite::clamped<type>(f(cuda_lite::float_of(h.__x)), lo, hi))); }
namespace cuda_lite {
template <class T> CUDA_LITE_HD T clamped(float v, T lo, T hi)
{
	return v != v ? sizeof(T) == 8 ? (T)(1ull << 63) : T(0) : v <= (float)lo ? lo : v >= (float)hi ? hi : (T)v;
}
} // namespace cuda_lite
CUDA_LITE_INT(int, int, "s32", "r", -2147483647 - 1, 2147483647)
CUDA_LITE_INT(unsigned int, uint, "u32", "r", 0u, 4294967295u)
CUDA_LITE_INT(short, short, "s16", "h", (short)-32768, (short)32767)
CUDA_LITE_INT(unsigned short, ushort, "u16", "h", (unsigned short)0, (unsigned short)65535)
CUDA_LITE_INT(long long, ll, "s64", "l", -9223372036854775807ll - 1, 9223372036854775807ll)
CUDA_LITE_INT(unsigned long long, ull, "u64", "l", 0ull, 18446744073709551615ull)

inline CUDA_LITE_HD_MEMBER __half::__half(float v) : __x(__float2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(double v) : __x(__double2half(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(int v) : __x(__int2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(unsigned int v) : __x(__uint2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(short v) : __x(__short2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(unsigned short v) : __x(__ushort2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(long long v) : __x(__ll2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::__half(unsigned long long v) : __x(__ull2half_rn(v).__x) {}
inline CUDA_LITE_HD_MEMBER __half::operator float() const { return __half2float(*this); }

CUDA_LITE_HD __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
CUDA_LITE_HD __half2 make_half2(__half a, __half b) { return __half2(a, b); }
CUDA_LITE_HD __half2 __half2half2(__half a) { return __half2(a, a); }
CUDA_LITE_HD __half2 __float2half2_rn(float a) { return __half2half2(__float2half_rn(a)); }
CUDA_LITE_HD __half2 __floats2half2_rn(float a, float b) { return __half2(__float2half_rn(a), __float2half_rn(b)); }
CUDA_LITE_HD __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
CUDA_LITE_HD float2 __half22float2(__half2 a) { return make_float2(__half2float(a.x), __half2float(a.y)); }
CUDA_LITE_HD __half __low2half(__half2 a) { return a.x; }
CUDA_LITE_HD __half __high2half(__half2 a) { return a.y; }
CUDA_LITE_HD float __low2float(__half2 a) { return __half2float(a.x); }
CUDA_LITE_HD float __high2float(__half2 a) { return __half2float(a.y); }
CUDA_LITE_HD __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
CUDA_LITE_HD __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
CUDA_LITE_HD __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
CUDA_LITE_HD __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
CUDA_LITE_HD __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

/* ---- arithmetic ------------------------------------------------------------------------------- */

#if CUDA_LITE_ON_DEVICE
#define CUDA_LITE_PTX2(ptx, a, b) unsigned short r; asm(ptx " %0, %1, %2;" : "=h"(r) : "h"((a).__x), "h"((b).__x)); return __ushort_as_half(r)
#define CUDA_LITE_PTX3(ptx, a, b, c) \
	unsigned short r; asm(ptx " %0, %1, %2, %3;" : "=h"(r) : "h"((a).__x), "h"((b).__x), "h"((c).__x)); return __ushort_as_half(r)
#endif
/* NAME, on the device, on the host by floats x and y */
#if CUDA_LITE_ON_DEVICE
#define CUDA_LITE_OP2(name, ptx, expr) CUDA_LITE_HD __half name(__half a, __half b) { CUDA_LITE_PTX2(ptx, a, b); }
#else
#define CUDA_LITE_OP2(name, ptx, expr) \
	CUDA_LITE_HD __half name(__half a, __half b) { float x = __half2float(a), y = __half2float(b); return __float2half_rn(expr); }
#endif
namespace cuda_lite {
CUDA_LITE_HD float saturated(float v) { return v > 0 ? v < 1 ? v : 1 : 0; }
} // namespace cuda_lite
CUDA_LITE_OP2(__hadd, "add.rn.f16", x + y)
CUDA_LITE_OP2(__hsub, "sub.rn.f16", x - y)
CUDA_LITE_OP2(__hmul, "mul.rn.f16", x * y)
CUDA_LITE_OP2(__hadd_sat, "add.rn.sat.f16", cuda_lite::saturated(x + y))
CUDA_LITE_OP2(__hsub_sat, "sub.rn.sat.f16", cuda_lite::saturated(x - y))
CUDA_LITE_OP2(__hmul_sat, "mul.rn.sat.f16", cuda_lite::saturated(x * y))
CUDA_LITE_HD __half __hdiv(__half a, __half b) { return __float2half_rn(__half2float(a) / __half2float(b)); }
CUDA_LITE_HD __half __hneg(__half a) { return __ushort_as_half((unsigned short)(a.__x ^ 0x8000)); }
CUDA_LITE_HD __half __habs(__half a) { return __ushort_as_half((unsigned short)(a.__x & 0x7fff)); }
CUDA_LITE_HD __half __hfma(__half a, __half b, __half c)
{
#if CUDA_LITE_ON_DEVICE
	CUDA_LITE_PTX3("fma.rn.f16", a, b, c);
#else
	/* the product is exact; a sum that is not is made odd, so that its second rounding sees what the first one dropped */
	double p = (double)__half2float(a) * __half2float(b), q = __half2float(c), s = p + q, t = s - p, e = (p - (s - t)) + (q - t);
	unsigned long long u;
	memcpy(&u, &s, 8);
	if (e != 0 && s - s == 0 && !(u & 1))
		u += (e > 0) == (s > 0) ? 1 : -1ull;
	memcpy(&s, &u, 8);
	return __ushort_as_half(cuda_lite::half_of(s, cuda_lite::RN));
#endif
}
CUDA_LITE_HD __half __hfma_sat(__half a, __half b, __half c)
{
#if CUDA_LITE_ON_DEVICE
	CUDA_LITE_PTX3("fma.rn.sat.f16", a, b, c);
#else
	return __float2half_rn(cuda_lite::saturated(__half2float(__hfma(a, b, c))));
#endif
}

/* ---- pairs ------------------------------------------------------------------------------------ */

#if CUDA_LITE_ON_DEVICE
namespace cuda_lite {
CUDA_LITE_HD unsigned int word(__half2 a) { return a.x.__x | (unsigned int)a.y.__x << 16; }
CUDA_LITE_HD __half2 pair(unsigned int w) { return __half2(__ushort_as_half((unsigned short)w), __ushort_as_half((unsigned short)(w >> 16))); }
} // namespace cuda_lite
#define CUDA_LITE_PAIR2(name, ptx, one) \
	CUDA_LITE_HD __half2 name(__half2 a, __half2 b) \
	{ unsigned int r; asm(ptx " %0, %1, %2;" : "=r"(r) : "r"(cuda_lite::word(a)), "r"(cuda_lite::word(b))); return cuda_lite::pair(r); }
#define CUDA_LITE_PAIR3(name, ptx, one) \
	CUDA_LITE_HD __half2 name(__half2 a, __half2 b, __half2 c) \
	{ \
		unsigned int r; \
		asm(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(cuda_lite::word(a)), "r"(cuda_lite::word(b)), "r"(cuda_lite::word(c))); \
		return cuda_lite::pair(r); \
	}
#else
#define CUDA_LITE_PAIR2(name, ptx, one) \
	CUDA_LITE_HD __half2 name(__half2 a, __half2 b) { return __half2(one(a.x, b.x), one(a.y, b.y)); }
#define CUDA_LITE_PAIR3(name, ptx, one) \
	CUDA_LITE_HD __half2 name(__half2 a, __half2 b, __half2 c) { return __half2(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); }
#endif
CUDA_LITE_PAIR2(__hadd2, "add.rn.f16x2", __hadd)
CUDA_LITE_PAIR2(__hsub2, "sub.rn.f16x2", __hsub)
CUDA_LITE_PAIR2(__hmul2, "mul.rn.f16x2", __hmul)
CUDA_LITE_PAIR2(__hadd2_sat, "add.rn.sat.f16x2", __hadd_sat)
CUDA_LITE_PAIR2(__hsub2_sat, "sub.rn.sat.f16x2", __hsub_sat)
CUDA_LITE_PAIR2(__hmul2_sat, "mul.rn.sat.f16x2", __hmul_sat)
CUDA_LITE_PAIR3(__hfma2, "fma.rn.f16x2", __hfma)
CUDA_LITE_PAIR3(__hfma2_sat, "fma.rn.sat.f16x2", __hfma_sat)

#define CUDA_LITE_T __half
#define CUDA_LITE_T2 __half2
#define CUDA_LITE_AS(bits) __ushort_as_half((unsigned short)(bits))
#define CUDA_LITE_FLOAT(h) __half2float(h)
#define CUDA_LITE_NEAREST(f) __float2half_rn(f)
#define CUDA_LITE_INFINITE 0x7c00
#define CUDA_LITE_UNIT 0x3c00
#include "cuda_lite_halves.h"

#if defined(__CUDA__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750)
static __attribute__((device)) inline __half htanh_approx(__half a)
{
	unsigned short r;
	asm("tanh.approx.f16 %0, %1;" : "=h"(r) : "h"(a.__x));
	return __ushort_as_half(r);
}
static __attribute__((device)) inline __half2 h2tanh_approx(__half2 a) { return __half2(htanh_approx(a.x), htanh_approx(a.y)); }
#endif

#undef CUDA_LITE_TO_HALF
#undef CUDA_LITE_FROM_HALF
#undef CUDA_LITE_INT
#undef CUDA_LITE_TO_INT
#undef CUDA_LITE_PTX2
#undef CUDA_LITE_PTX3
#undef CUDA_LITE_OP2
#undef CUDA_LITE_PAIR2
#undef CUDA_LITE_PAIR3
#endif
#undef CUDA_LITE_HD_MEMBER
#undef CUDA_LITE_HD
#undef CUDA_LITE_ON_DEVICE

#endif
