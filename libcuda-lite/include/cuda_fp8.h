/* SPDX-License-Identifier: MIT */
/*
 * Floats of eight bits for clang's -x cuda, on both sides: E4M3 (no infinity, greatest 448) and E5M2 (a half's upper byte), their pairs and fours; to
 * and from what is wider, rounded once to nearest even. They have no arithmetic. By bits everywhere: the instructions of compute capability 8.9 have the
 * same ones.
 */
#ifndef CUDA_LITE_CUDA_FP8_H
#define CUDA_LITE_CUDA_FP8_H

#include "cuda_fp16.h"
#include "cuda_bf16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#ifdef __cplusplus
#define __CUDA_FP8_H__          /* what other people's headers test for */

#include "cuda_lite_sides.h"

CUDA_LITE_HD __nv_fp8_storage_t __nv_cvt_double_to_fp8(const double v, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)
{
	const int digits = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15, least = 1 - bias;
	const unsigned int greatest = kind == __NV_E4M3 ? 0x7e : 0x7b;
	unsigned long long b, m, r, rest, middle, bits;
	memcpy(&b, &v, 8);
	unsigned int sign = (unsigned int)(b >> 56) & 0x80;
	int e = (int)(b >> 52 & 0x7ff) - 1023, drop;

	m = b & 0xfffffffffffffull;
	if (e == 1024 && m)
		return (__nv_fp8_storage_t)(sign | (kind == __NV_E4M3 ? 0x7f : 0x7e | (m >> 50 & 1)));     /* a double's NaN keeps its sign; others' do not */
	if (e < least - digits - 1)
		return (__nv_fp8_storage_t)sign;
	bits = greatest + 1;
	if (e <= (kind == __NV_E4M3 ? 8 : 15)) {
		drop = 52 - digits + (e < least ? least - e : 0);
		m |= 1ull << 52;
		r = m >> drop;
		rest = m & ((1ull << drop) - 1);
		middle = 1ull << (drop - 1);
		r += rest > middle || (rest == middle && (r & 1));
		bits = e < least ? r : ((unsigned long long)(e + bias) << digits) + r - (1ull << digits);
	}
	if (bits > greatest)
		return (__nv_fp8_storage_t)(sign | (saturate == __NV_SATFINITE ? greatest : kind == __NV_E4M3 ? 0x7f : 0x7c));
	return (__nv_fp8_storage_t)(sign | bits);
}
CUDA_LITE_HD __nv_fp8_storage_t __nv_cvt_float_to_fp8(const float v, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)
{
	return v != v ? (__nv_fp8_storage_t)0x7f : __nv_cvt_double_to_fp8((double)v, saturate, kind);
}
CUDA_LITE_HD __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(const __half_raw v, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)
{
	return __nv_cvt_float_to_fp8(__half2float(__half(v)), saturate, kind);
}
CUDA_LITE_HD __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(const __nv_bfloat16_raw v, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind)
{
	return __nv_cvt_float_to_fp8(__bfloat162float(__nv_bfloat16(v)), saturate, kind);
}
/* the first in the lower byte */
#define CUDA_LITE_FP8_PAIR(name, type, one) \
	CUDA_LITE_HD __nv_fp8x2_storage_t name(const type v, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind) \
	{ return (__nv_fp8x2_storage_t)((one(v, x)) | (one(v, y)) << 8); }
#define CUDA_LITE_FP8_D(v, m) __nv_cvt_double_to_fp8(v.m, saturate, kind)
#define CUDA_LITE_FP8_F(v, m) __nv_cvt_float_to_fp8(v.m, saturate, kind)
#define CUDA_LITE_FP8_H(v, m) __nv_cvt_halfraw_to_fp8(__half_raw{ v.m }, saturate, kind)
#define CUDA_LITE_FP8_B(v, m) __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{ v.m }, saturate, kind)
CUDA_LITE_FP8_PAIR(__nv_cvt_double2_to_fp8x2, double2, CUDA_LITE_FP8_D)
CUDA_LITE_FP8_PAIR(__nv_cvt_float2_to_fp8x2, float2, CUDA_LITE_FP8_F)
CUDA_LITE_FP8_PAIR(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, CUDA_LITE_FP8_H)
CUDA_LITE_FP8_PAIR(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, CUDA_LITE_FP8_B)
#undef CUDA_LITE_FP8_PAIR
#undef CUDA_LITE_FP8_D
#undef CUDA_LITE_FP8_F
#undef CUDA_LITE_FP8_H
#undef CUDA_LITE_FP8_B

/* A half holds each of both kinds */
CUDA_LITE_HD __half_raw __nv_cvt_fp8_to_halfraw(const __nv_fp8_storage_t v, const __nv_fp8_interpretation_t kind)
{
	unsigned int sign = (v & 0x80u) << 8, rest = v & 0x7f;
	__half_raw r;

	if (kind == __NV_E5M2) {
		r.x = (unsigned short)(rest > 0x7c ? 0x7fff : sign | rest << 8);
	} else if (rest < 8) {          /* below 2^-6: so many times 2^-9 */
		r.x = (unsigned short)(sign | __float2half_rn((float)rest * 0.001953125f).__x);
	} else {
		r.x = (unsigned short)(rest == 0x7f ? 0x7fff : sign | ((rest << 7) + (8 << 10)));
	}
	return r;
}
CUDA_LITE_HD __half2_raw __nv_cvt_fp8x2_to_halfraw2(const __nv_fp8x2_storage_t v, const __nv_fp8_interpretation_t kind)
{
	__half2_raw r;

	r.x = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)v, kind).x;
	r.y = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(v >> 8), kind).x;
	return r;
}

/* The types; what is out of range becomes the greatest there is. */
#define CUDA_LITE_FP8_FROM(name, kind, type, f, arg) CUDA_LITE_HD_MEMBER explicit name(const type v) : __x(f(arg, __NV_SATFINITE, kind)) {}
#define CUDA_LITE_FP8_TO(type, expr) CUDA_LITE_HD_MEMBER explicit operator type() const { return expr; }
#define CUDA_LITE_FP8(suffix, kind) \
	struct __nv_fp8_##suffix { \
		__nv_fp8_storage_t __x; \
		__nv_fp8_##suffix() = default; \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, __half, __nv_cvt_halfraw_to_fp8, static_cast<__half_raw>(v)) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, __nv_bfloat16, __nv_cvt_bfloat16raw_to_fp8, static_cast<__nv_bfloat16_raw>(v)) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, float, __nv_cvt_float_to_fp8, v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, double, __nv_cvt_double_to_fp8, v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, int, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, unsigned int, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, long, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, unsigned long, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, long long, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, unsigned long long, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, short, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_FROM(__nv_fp8_##suffix, kind, unsigned short, __nv_cvt_float_to_fp8, (float)v) \
		CUDA_LITE_FP8_TO(__half, __half(__nv_cvt_fp8_to_halfraw(__x, kind))) \
		CUDA_LITE_FP8_TO(float, __half2float(__half(__nv_cvt_fp8_to_halfraw(__x, kind)))) \
		CUDA_LITE_FP8_TO(double, (double)(float)*this) \
		CUDA_LITE_FP8_TO(__nv_bfloat16, __float2bfloat16((float)*this)) \
		CUDA_LITE_FP8_TO(bool, (__x & 0x7f) != 0) \
	}; \
	struct alignas(2) __nv_fp8x2_##suffix { \
		__nv_fp8x2_storage_t __x; \
		__nv_fp8x2_##suffix() = default; \
		CUDA_LITE_FP8_FROM(__nv_fp8x2_##suffix, kind, __half2, __nv_cvt_halfraw2_to_fp8x2, static_cast<__half2_raw>(v)) \
		CUDA_LITE_FP8_FROM(__nv_fp8x2_##suffix, kind, __nv_bfloat162, __nv_cvt_bfloat16raw2_to_fp8x2, static_cast<__nv_bfloat162_raw>(v)) \
		CUDA_LITE_FP8_FROM(__nv_fp8x2_##suffix, kind, float2, __nv_cvt_float2_to_fp8x2, v) \
		CUDA_LITE_FP8_FROM(__nv_fp8x2_##suffix, kind, double2, __nv_cvt_double2_to_fp8x2, v) \
		CUDA_LITE_FP8_TO(__half2, __half2(__nv_cvt_fp8x2_to_halfraw2(__x, kind))) \
		CUDA_LITE_FP8_TO(float2, __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(__x, kind)))) \
	}; \
	struct alignas(4) __nv_fp8x4_##suffix { \
		__nv_fp8x4_storage_t __x; \
		__nv_fp8x4_##suffix() = default; \
		CUDA_LITE_HD_MEMBER explicit __nv_fp8x4_##suffix(const __half2 low, const __half2 high) : \
			__x(__nv_fp8x2_##suffix(low).__x | (__nv_fp8x4_storage_t)__nv_fp8x2_##suffix(high).__x << 16) {} \
		CUDA_LITE_HD_MEMBER explicit __nv_fp8x4_##suffix(const __nv_bfloat162 low, const __nv_bfloat162 high) : \
			__x(__nv_fp8x2_##suffix(low).__x | (__nv_fp8x4_storage_t)__nv_fp8x2_##suffix(high).__x << 16) {} \
		CUDA_LITE_HD_MEMBER explicit __nv_fp8x4_##suffix(const float4 v) : \
			__x(__nv_fp8x2_##suffix(make_float2(v.x, v.y)).__x | (__nv_fp8x4_storage_t)__nv_fp8x2_##suffix(make_float2(v.z, v.w)).__x << 16) {} \
		CUDA_LITE_HD_MEMBER explicit operator float4() const \
		{ \
			float2 low = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)__x, kind))); \
			float2 high = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(__x >> 16), kind))); \
			return make_float4(low.x, low.y, high.x, high.y); \
		} \
	};
CUDA_LITE_FP8(e4m3, __NV_E4M3)
CUDA_LITE_FP8(e5m2, __NV_E5M2)
#undef CUDA_LITE_FP8
#undef CUDA_LITE_FP8_FROM
#undef CUDA_LITE_FP8_TO
#undef CUDA_LITE_HD_MEMBER
#undef CUDA_LITE_HD
#undef CUDA_LITE_ON_DEVICE
#endif

#endif
