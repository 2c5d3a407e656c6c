/* SPDX-License-Identifier: MIT */
/* Floats of 16, 8, 6 and 4 bits: every function of one argument for all bits, those of two for pairs, conversions from all magnitudes. */
#include "show.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

__device__ static unsigned bits(__half h) { return __half_as_ushort(h); }
__device__ static unsigned bits(__nv_bfloat16 h) { return __bfloat16_as_ushort(h); }
__device__ static unsigned bits(__half2 h) { return __half_as_ushort(h.x) | (unsigned)__half_as_ushort(h.y) << 16; }
__device__ static unsigned bits(__nv_bfloat162 h) { return __bfloat16_as_ushort(h.x) | (unsigned)__bfloat16_as_ushort(h.y) << 16; }
__device__ static unsigned bits(float f) { return __float_as_uint(f); }
__device__ static unsigned bits(int f) { return f; }
__device__ static unsigned bits(unsigned f) { return f; }
__device__ static unsigned bits(long long f) { return (unsigned)f ^ (unsigned)(f >> 32) * 31; }
__device__ static unsigned bits(unsigned long long f) { return bits((long long)f); }
__device__ static unsigned bits(bool f) { return f; }
__device__ static __half half_of(unsigned b) { return __ushort_as_half((unsigned short)b); }
__device__ static __nv_bfloat16 brain_of(unsigned b) { return __ushort_as_bfloat16((unsigned short)b); }
/* a float of any magnitude, often one that lies between two of the small ones */
__device__ static float some(unsigned i)
{
	unsigned m = mixed(i), e = mixed(i + 77777) % 5;

	if (e == 0) return __uint_as_float(m);
	if (e == 1) return __uint_as_float(m & 0x80ffffff | (96 + mixed(i + 5) % 60) << 23);
	if (e == 2) return __uint_as_float((m & 0xfff00000) + (int)(mixed(i + 9) % 3) - 1);
	if (e == 3) return (int)(m % 1025 - 512) / 64.0f;
	return __uint_as_float((m & 0x807fe000 | (100 + mixed(i + 5) % 48) << 23) + (mixed(i + 9) % 3 - 1));
}
__device__ static double many(unsigned i)
{
	unsigned long long m = (unsigned long long)mixed(i) << 32 | mixed(i + 31337);

	return i & 1 ? __longlong_as_double(m & 0x800fffffffffffffull | (1023ull - 30 + mixed(i + 5) % 60) << 52) : (double)some(i) + (i & 2 ? 1e-30 : 0);
}

#define ONE(f) run<1>("half." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(half_of(i))); }); \
	run<1>("bf16." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(brain_of(i))); });
#define TWO(f) run<1>("half." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(half_of(mixed(i)), half_of(i % 3 ? mixed(i + 9) : mixed(i) + i % 7))); }); \
	run<1>("bf16." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(brain_of(mixed(i)), brain_of(i % 3 ? mixed(i + 9) : mixed(i) + i % 7))); });
#define PAIR(f) run<1>("half2." #f, 65536, [] __device__ (int i, unsigned *o) { \
		*o = bits(f(__halves2half2(half_of(mixed(i)), half_of(mixed(i + 1))), __halves2half2(half_of(mixed(i + i % 2)), half_of(mixed(i + 1 + i % 3))))); }); \
	run<1>("bf162." #f, 65536, [] __device__ (int i, unsigned *o) { \
		*o = bits(f(__halves2bfloat162(brain_of(mixed(i)), brain_of(mixed(i + 1))), __halves2bfloat162(brain_of(mixed(i + i % 2)), brain_of(mixed(i + 1 + i % 3))))); });
#define THREE(f) run<1>("half." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(half_of(mixed(i)), half_of(mixed(i + 9)), half_of(mixed(i + 99)))); }); \
	run<1>("bf16." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(brain_of(mixed(i)), brain_of(mixed(i + 9)), brain_of(mixed(i + 99)))); });
#define FROM(h, f, value) run<1>(#h "." #f, 65536, [] __device__ (int i, unsigned *o) { *o = bits(f(value)); });
#define BYTES(name, f, ...) run<1>(name, 65536, [] __device__ (int i, unsigned *o) { *o = (unsigned)f(some(i), __VA_ARGS__); });

int main()
{
	ONE(__habs) ONE(__hneg) ONE(hsqrt) ONE(hrsqrt) ONE(hrcp) ONE(hfloor) ONE(hceil) ONE(htrunc) ONE(hrint) ONE(hlog) ONE(hlog2) ONE(hlog10) ONE(hexp) ONE(hexp2)
	ONE(hexp10) ONE(hsin) ONE(hcos) ONE(htanh) ONE(htanh_approx) ONE(__hisnan) ONE(__hisinf)
	TWO(__hadd) TWO(__hsub) TWO(__hmul) TWO(__hdiv) TWO(__hadd_sat) TWO(__hmul_sat) TWO(__hmax) TWO(__hmin) TWO(__hmax_nan) TWO(__hmin_nan) TWO(__heq) TWO(__hltu) TWO(__hgeu)
	THREE(__hfma) THREE(__hfma_sat) THREE(__hfma_relu)
	PAIR(__hadd2) PAIR(__hmul2) PAIR(__h2div) PAIR(__hmax2_nan) PAIR(__heq2_mask) PAIR(__hneu2_mask) PAIR(__hgtu2)
	FROM(half, __half2float, half_of(i)) FROM(half, __half2int_rn, half_of(i)) FROM(half, __half2int_rz, half_of(i)) FROM(half, __half2int_ru, half_of(i))
	FROM(half, __half2short_rn, half_of(i)) FROM(half, __half2ushort_rz, half_of(i)) FROM(half, __half2uint_rd, half_of(i)) FROM(half, __half2ll_rn, half_of(i))
	FROM(half, __half2ull_rz, half_of(i)) FROM(half, __float2half_rn, some(i)) FROM(half, __float2half_rz, some(i)) FROM(half, __float2half_ru, some(i))
	FROM(half, __float2half_rd, some(i)) FROM(half, __double2half, many(i)) FROM(half, __int2half_rn, (int)mixed(i) >> (i & 31)) FROM(half, __uint2half_rz, mixed(i) >> (i & 31))
	FROM(half, __ll2half_ru, (long long)(int)mixed(i) << (i & 31)) FROM(half, __ushort2half_rd, (unsigned short)mixed(i))
	FROM(bf16, __bfloat162float, brain_of(i)) FROM(bf16, __bfloat162int_rn, brain_of(i)) FROM(bf16, __bfloat162uint_rz, brain_of(i)) FROM(bf16, __bfloat162ll_rd, brain_of(i))
	FROM(bf16, __float2bfloat16_rn, some(i)) FROM(bf16, __float2bfloat16_rz, some(i)) FROM(bf16, __float2bfloat16_ru, some(i)) FROM(bf16, __float2bfloat16_rd, some(i))
	FROM(bf16, __double2bfloat16, many(i)) FROM(bf16, __int2bfloat16_rn, (int)mixed(i) >> (i & 31)) FROM(bf16, __ull2bfloat16_rz, (unsigned long long)mixed(i) << (i & 31))
	BYTES("e4m3.float", __nv_cvt_float_to_fp8, __NV_SATFINITE, __NV_E4M3) BYTES("e4m3.float.nosat", __nv_cvt_float_to_fp8, __NV_NOSAT, __NV_E4M3)
	BYTES("e5m2.float", __nv_cvt_float_to_fp8, __NV_SATFINITE, __NV_E5M2) BYTES("e5m2.float.nosat", __nv_cvt_float_to_fp8, __NV_NOSAT, __NV_E5M2)
	BYTES("e2m3.float", __nv_cvt_float_to_fp6, __NV_E2M3, cudaRoundNearest) BYTES("e3m2.float", __nv_cvt_float_to_fp6, __NV_E3M2, cudaRoundNearest)
	BYTES("e2m1.float", __nv_cvt_float_to_fp4, __NV_E2M1, cudaRoundNearest)
	BYTES("e8m0.float.zero", __nv_cvt_float_to_e8m0, __NV_SATFINITE, cudaRoundZero) BYTES("e8m0.float.up", __nv_cvt_float_to_e8m0, __NV_NOSAT, cudaRoundPosInf)
	run<1>("e4m3.double", 65536, [] __device__ (int i, unsigned *o) { *o = __nv_cvt_double_to_fp8(many(i), __NV_SATFINITE, __NV_E4M3); });
	run<1>("e5m2.half", 65536, [] __device__ (int i, unsigned *o) { *o = __nv_cvt_halfraw_to_fp8(half_of(i), __NV_SATFINITE, __NV_E5M2); });
	run<1>("e4m3.bf16", 65536, [] __device__ (int i, unsigned *o) { *o = __nv_cvt_bfloat16raw_to_fp8(brain_of(i), __NV_SATFINITE, __NV_E4M3); });
	run<1>("e4m3x2.float2", 65536, [] __device__ (int i, unsigned *o) { *o = __nv_cvt_float2_to_fp8x2(make_float2(some(i), some(i + 1)), __NV_SATFINITE, __NV_E4M3); });
	run<1>("half.e4m3", 256, [] __device__ (int i, unsigned *o) { *o = __half_raw(__nv_cvt_fp8_to_halfraw(i, __NV_E4M3)).x; });
	run<1>("half.e5m2", 256, [] __device__ (int i, unsigned *o) { *o = __half_raw(__nv_cvt_fp8_to_halfraw(i, __NV_E5M2)).x; });
	run<1>("half.e2m3", 64, [] __device__ (int i, unsigned *o) { *o = __half_raw(__nv_cvt_fp6_to_halfraw(i, __NV_E2M3)).x; });
	run<1>("half.e3m2", 64, [] __device__ (int i, unsigned *o) { *o = __half_raw(__nv_cvt_fp6_to_halfraw(i, __NV_E3M2)).x; });
	run<1>("half.e2m1", 16, [] __device__ (int i, unsigned *o) { *o = __half_raw(__nv_cvt_fp4_to_halfraw(i, __NV_E2M1)).x; });
	return 0;
}
