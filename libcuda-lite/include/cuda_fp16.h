/* SPDX-License-Identifier: MIT */
/*
 * Halves (IEEE 754 binary16) for clang's -x cuda, on both sides: conversions, arithmetic, comparisons, pairs. On the device each is the
 * instruction that PTX has for it (PTX ISA 9.7.4, 9.7.9.21; fma and pairs from compute capability 5.3 on), functions of the math
 * library are computed in float. On the host sums, products and quotients are computed in float and rounded once more, which is the
 * same for halves: float has more than twice their bits.
 *
 * Not here: min and max that pass NaNs, the forms without contraction, loads with cache hints, shuffles of halves.
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

#ifdef __CUDA__
#define CUDA_LITE_HD_MEMBER __attribute__((host)) __attribute__((device))
#else
#define CUDA_LITE_HD_MEMBER
#endif
#define CUDA_LITE_HD static inline CUDA_LITE_HD_MEMBER
#if defined(__CUDA__) && defined(__CUDA_ARCH__)
#define CUDA_LITE_ON_DEVICE 1
#else
#define CUDA_LITE_ON_DEVICE 0
#endif

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
CUDA_LITE_HD __half __hadd_rn(__half a, __half b) { return __hadd(a, b); }
CUDA_LITE_HD __half __hsub_rn(__half a, __half b) { return __hsub(a, b); }
CUDA_LITE_HD __half __hmul_rn(__half a, __half b) { return __hmul(a, b); }
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

/* ---- comparisons ------------------------------------------------------------------------------ */

CUDA_LITE_HD bool __hisnan(__half a) { return (a.__x & 0x7fff) > 0x7c00; }
CUDA_LITE_HD int __hisinf(__half a) { return a.__x == 0x7c00 ? 1 : a.__x == 0xfc00 ? -1 : 0; }
/* ordered, and unordered: true of a NaN as well */
#define CUDA_LITE_CMP(name, op) \
	CUDA_LITE_HD bool __h##name(__half a, __half b) { return __half2float(a) op __half2float(b); } \
	CUDA_LITE_HD bool __h##name##u(__half a, __half b) { return __hisnan(a) || __hisnan(b) || __half2float(a) op __half2float(b); } \
	CUDA_LITE_HD __half2 __h##name##2(__half2 a, __half2 b) \
	{ return __half2(__ushort_as_half(__h##name(a.x, b.x) ? 0x3c00 : 0), __ushort_as_half(__h##name(a.y, b.y) ? 0x3c00 : 0)); } \
	CUDA_LITE_HD bool __hb##name##2(__half2 a, __half2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
CUDA_LITE_CMP(eq, ==)
CUDA_LITE_CMP(lt, <)
CUDA_LITE_CMP(le, <=)
CUDA_LITE_CMP(gt, >)
CUDA_LITE_CMP(ge, >=)
/* not equal is false of a NaN, where C's is true */
CUDA_LITE_HD bool __hne(__half a, __half b) { return !__hisnan(a) && !__hisnan(b) && __half2float(a) != __half2float(b); }
CUDA_LITE_HD bool __hneu(__half a, __half b) { return __half2float(a) != __half2float(b); }
CUDA_LITE_HD __half2 __hne2(__half2 a, __half2 b)
{
	return __half2(__ushort_as_half(__hne(a.x, b.x) ? 0x3c00 : 0), __ushort_as_half(__hne(a.y, b.y) ? 0x3c00 : 0));
}
CUDA_LITE_HD bool __hbne2(__half2 a, __half2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
CUDA_LITE_HD __half2 __hisnan2(__half2 a)
{
	return __half2(__ushort_as_half(__hisnan(a.x) ? 0x3c00 : 0), __ushort_as_half(__hisnan(a.y) ? 0x3c00 : 0));
}
/* of a NaN and a number the number; two NaNs give one; -0 is below +0 */
CUDA_LITE_HD __half __hmax(__half a, __half b)
{
	if (__hisnan(a) || __hisnan(b))
		return __hisnan(a) && __hisnan(b) ? __ushort_as_half(0x7fff) : __hisnan(a) ? b : a;
	return __half2float(a) > __half2float(b) || (__half2float(a) == __half2float(b) && !(a.__x & 0x8000)) ? a : b;
}
CUDA_LITE_HD __half __hmin(__half a, __half b)
{
	if (__hisnan(a) || __hisnan(b))
		return __hisnan(a) && __hisnan(b) ? __ushort_as_half(0x7fff) : __hisnan(a) ? b : a;
	return __half2float(a) < __half2float(b) || (__half2float(a) == __half2float(b) && (a.__x & 0x8000)) ? a : b;
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
CUDA_LITE_HD __half2 __h2div(__half2 a, __half2 b) { return __half2(__hdiv(a.x, b.x), __hdiv(a.y, b.y)); }
CUDA_LITE_HD __half2 __hneg2(__half2 a) { return __half2(__hneg(a.x), __hneg(a.y)); }
CUDA_LITE_HD __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
CUDA_LITE_HD __half2 __hmax2(__half2 a, __half2 b) { return __half2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }
CUDA_LITE_HD __half2 __hmin2(__half2 a, __half2 b) { return __half2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }

/* ---- operators -------------------------------------------------------------------------------- */

#define CUDA_LITE_OPERATOR(op, f, f2) \
	CUDA_LITE_HD __half operator op(const __half &a, const __half &b) { return f(a, b); } \
	CUDA_LITE_HD __half &operator op##=(__half &a, const __half &b) { return a = f(a, b); } \
	CUDA_LITE_HD __half2 operator op(const __half2 &a, const __half2 &b) { return f2(a, b); } \
	CUDA_LITE_HD __half2 &operator op##=(__half2 &a, const __half2 &b) { return a = f2(a, b); }
CUDA_LITE_OPERATOR(+, __hadd, __hadd2)
CUDA_LITE_OPERATOR(-, __hsub, __hsub2)
CUDA_LITE_OPERATOR(*, __hmul, __hmul2)
CUDA_LITE_OPERATOR(/, __hdiv, __h2div)
CUDA_LITE_HD __half operator-(const __half &a) { return __hneg(a); }
CUDA_LITE_HD __half operator+(const __half &a) { return a; }
CUDA_LITE_HD __half2 operator-(const __half2 &a) { return __hneg2(a); }
CUDA_LITE_HD __half &operator++(__half &a) { return a = __hadd(a, __ushort_as_half(0x3c00)); }
CUDA_LITE_HD __half &operator--(__half &a) { return a = __hsub(a, __ushort_as_half(0x3c00)); }
CUDA_LITE_HD __half operator++(__half &a, int) { __half was = a; ++a; return was; }
CUDA_LITE_HD __half operator--(__half &a, int) { __half was = a; --a; return was; }
CUDA_LITE_HD bool operator==(const __half &a, const __half &b) { return __heq(a, b); }
CUDA_LITE_HD bool operator!=(const __half &a, const __half &b) { return __hneu(a, b); }
CUDA_LITE_HD bool operator<(const __half &a, const __half &b) { return __hlt(a, b); }
CUDA_LITE_HD bool operator<=(const __half &a, const __half &b) { return __hle(a, b); }
CUDA_LITE_HD bool operator>(const __half &a, const __half &b) { return __hgt(a, b); }
CUDA_LITE_HD bool operator>=(const __half &a, const __half &b) { return __hge(a, b); }
CUDA_LITE_HD bool operator==(const __half2 &a, const __half2 &b) { return __hbeq2(a, b); }
CUDA_LITE_HD bool operator!=(const __half2 &a, const __half2 &b) { return !__hbeq2(a, b); }

/* ---- on the device only: the math library, atomics -------------------------------------------- */

#ifdef __CUDA__
#define CUDA_LITE_DEV_FN static __attribute__((device)) inline
#define CUDA_LITE_MATH1(name, expr) \
	CUDA_LITE_DEV_FN __half h##name(__half a) { float x = __half2float(a); return __float2half_rn(expr); } \
	CUDA_LITE_DEV_FN __half2 h2##name(__half2 a) { return __half2(h##name(a.x), h##name(a.y)); }
CUDA_LITE_MATH1(sqrt, sqrtf(x))
CUDA_LITE_MATH1(rsqrt, 1 / sqrtf(x))
CUDA_LITE_MATH1(rcp, 1 / x)
CUDA_LITE_MATH1(exp, expf(x))
CUDA_LITE_MATH1(exp2, exp2f(x))
CUDA_LITE_MATH1(exp10, exp2f(x * 3.32192809488736234787f))
CUDA_LITE_MATH1(log, logf(x))
CUDA_LITE_MATH1(log2, log2f(x))
CUDA_LITE_MATH1(log10, log10f(x))
CUDA_LITE_MATH1(sin, sinf(x))
CUDA_LITE_MATH1(cos, cosf(x))
CUDA_LITE_MATH1(tanh, tanhf(x))
CUDA_LITE_MATH1(floor, floorf(x))
CUDA_LITE_MATH1(ceil, ceilf(x))
CUDA_LITE_MATH1(trunc, truncf(x))
CUDA_LITE_MATH1(rint, rintf(x))

/* compute capability 7.0 has the instruction; before, the word that the half lies in is compared and exchanged */
CUDA_LITE_DEV_FN __half atomicAdd(__half *p, __half v)
{
	unsigned int *w = (unsigned int *)((unsigned long long)p & ~3ull), high = ((unsigned long long)p & 2) * 8, was = *w, seen;

	for (;; was = seen) {
		__half sum = __hadd(__ushort_as_half((unsigned short)(was >> high)), v);
		seen = atomicCAS(w, was, (was & ~(0xffffu << high)) | (unsigned int)sum.__x << high);
		if (seen == was)
			return __ushort_as_half((unsigned short)(was >> high));
	}
}
CUDA_LITE_DEV_FN __half2 atomicAdd(__half2 *p, __half2 v)
{
	return __half2(atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y));
}
#undef CUDA_LITE_MATH1
#undef CUDA_LITE_DEV_FN
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
#undef CUDA_LITE_CMP
#undef CUDA_LITE_OPERATOR
#endif
#undef CUDA_LITE_HD_MEMBER
#undef CUDA_LITE_HD
#undef CUDA_LITE_ON_DEVICE

#endif
