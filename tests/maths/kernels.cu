/* SPDX-License-Identifier: MIT */
/*
 * One kernel for each line of a table: out[i] = DEVICE with x, y, z = the i-th inputs. nvcc compiles this once for each of
 *   -DGROUP_real -DREAL=float|double       real.def
 *   -DGROUP_float|_int|_simd            intrin.def
 *   -DGROUP_half|_bf16                  half.def
 *   -DGROUP_fp8                         fp8.def
 */
#if defined GROUP_half || defined GROUP_bf16 || defined GROUP_fp8
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#ifdef GROUP_fp8
#include <cuda_fp8.h>
#endif

typedef float f32;
typedef double f64;
typedef int s32;
typedef unsigned u32;
typedef long long s64;
typedef unsigned long long u64;
typedef short s16;
typedef unsigned short u16;

#define KERNEL(name, R, A, B, C, ...) \
extern "C" __global__ void k_##name(const A *a, const B *b, const C *c, R *out, unsigned n) \
{ \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
	if (i < n) { \
		A x = a[i]; B y = b[i]; C z = c[i]; \
		out[i] = (__VA_ARGS__); \
	} \
}

#ifdef GROUP_real
typedef REAL T;
/* functions of two results: y says which is wanted, or each has a kernel of its own */
static __device__ T sincos_of(T x, T y) { T s, c; sincos(x, &s, &c); return y > 0 ? s : c; }
static __device__ T sincospi_of(T x, T y) { T s, c; sincospi(x, &s, &c); return y > 0 ? s : c; }
static __device__ T remquo_of(T x, T y) { int q; return remquo(x, y, &q); }
static __device__ T remquo_bits(T x, T y) { int q; T r = remquo(x, y, &q); return r != r ? r : T(q < 0 ? -(-q & 7) : q & 7); }
static __device__ T modf_whole(T x) { T w; modf(x, &w); return w; }
static __device__ T modf_part(T x) { T w; return modf(x, &w); }
static __device__ T frexp_part(T x) { int e; return frexp(x, &e); }
static __device__ int frexp_power(T x) { int e; frexp(x, &e); return x - x == 0 ? e : 0; }
static __device__ T below(T x) { return fabs(x) < T(1ll << 60) ? x : T(0); }
static __device__ float norm_of(float x, float y, float z) { float v[6] = { x, y, z, x, y, z }; return normf(6, v); }
static __device__ float rnorm_of(float x, float y, float z) { float v[6] = { x, y, z, x, y, z }; return rnormf(6, v); }
static __device__ double norm_of(double x, double y, double z) { double v[6] = { x, y, z, x, y, z }; return norm(6, v); }
static __device__ double rnorm_of(double x, double y, double z) { double v[6] = { x, y, z, x, y, z }; return rnorm(6, v); }
static __device__ float bits_select(float x)
{
	unsigned u = __float_as_uint(x * 2 + 1);
	return u == 0x3f800000 ? 1 : u == 0x40400000 ? 2 : u > 0x7f800000u ? 4 : 3;
}
static __device__ double bits_select(double x)
{
	unsigned long long u = __double_as_longlong(x * 2 + 1);
	return u == 0x3ff0000000000000 ? 1 : u == 0x4008000000000000 ? 2 : u > 0x7ff0000000000000u ? 4 : 3;
}
#define R(name, device, reference, bound) KERNEL(name, T, T, T, T, device)
#define RI(name, device, reference, bound) KERNEL(name, T, T, int, T, device)
#include "real.def"
#endif

#if defined GROUP_float || defined GROUP_int || defined GROUP_simd
static __device__ float clamp100(float x) { return x != x ? 0 : fminf(fmaxf(x, -100), 100); }
static __device__ float fast_sincos_of(float x, float y) { float s, c; __sincosf(x, &s, &c); return y > 0 ? s : c; }
#define X(name, R, A, B, C, device, reference) KERNEL(name, R, A, B, C, device)
#define Q(name, R, A, B, C, device, reference, bound) KERNEL(name, R, A, B, C, device)
#include "intrin.def"
#endif

#if defined GROUP_half || defined GROUP_bf16
#ifdef GROUP_half
#define h16 __half
#define h32 __half2
#define HNAME half
#define TO_FLOAT __half2float
#define FROM_FLOAT __float2half
#define FROM_DOUBLE __double2half
#define LOWS __lows2half2
#define HIGHS __highs2half2
#define FLOATS2 __floats2half2_rn
#else
#define h16 __nv_bfloat16
#define h32 __nv_bfloat162
#define HNAME bfloat16
#define TO_FLOAT __bfloat162float
#define FROM_FLOAT __float2bfloat16
#define FROM_DOUBLE __double2bfloat16
#define LOWS __lows2bfloat162
#define HIGHS __highs2bfloat162
#define FLOATS2 __floats2bfloat162_rn
#endif
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#define CAT4(a, b, c, d) CAT(CAT3(a, b, c), d)
#define HX(name, R, A, B, C, device, reference) KERNEL(name, R, A, B, C, device)
#define H1(name, one, two, reference) KERNEL(name, h16, h16, h16, h16, one) KERNEL(name##_x2, h32, h32, h32, h32, two)
#define F1 H1
#include "half.def"
#endif

#ifdef GROUP_fp8
typedef unsigned short h16;
typedef unsigned h32;
static __device__ __half_raw half_raw(h16 x) { __half_raw r; r.x = x; return r; }
static __device__ __nv_bfloat16_raw bf16_raw(h16 x) { __nv_bfloat16_raw r; r.x = x; return r; }
static __device__ h32 half_word(__half2_raw v) { return v.x | (h32)v.y << 16; }
static __device__ u32 one_nan(u32 v, int k) { return (v & 0x7f) > (k == 3 ? 0x7e : 0x7c) ? 0x7f : v; }
static __device__ u32 one_nan2(u32 v, int k) { return one_nan(v & 0xff, k) | one_nan(v >> 8, k) << 8; }
#define X(name, R, A, B, C, device, reference) KERNEL(name, R, A, B, C, device)
#include "fp8.def"
#endif
