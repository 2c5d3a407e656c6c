/* SPDX-License-Identifier: MIT */
/*
 * Functions of device code that are one instruction of PTX or a few: arithmetic with a rounding said, conversions, integers, bytes and halves
 * of a word, atomics of 64 bits and of a scope, loads and stores by cache, kinds of addresses. Names and meanings are those of the CUDA Math API
 * and of the programming guide; instructions: PTX ISA 9.7. Included by cuda_lite_device.h.
 *
 * __match_*_sync wants compute capability 7.0 (vgpu cc -arch=sm_70), __reduce_*_sync 8.0, as on hardware.
 */
#ifndef CUDA_LITE_INTRINSICS_H
#define CUDA_LITE_INTRINSICS_H

/* ---- rounding: nearest even, to zero, down, up ------------------------------------------------- */

#define CUDA_LITE_2(type, con, name, ptx) \
	CUDA_LITE_DEV type name(type a, type b) { type r; asm(ptx " %0, %1, %2;" : "=" con(r) : con(a), con(b)); return r; }
#define CUDA_LITE_1(to, tocon, type, con, name, ptx) \
	CUDA_LITE_DEV to name(type a) { to r; asm(ptx " %0, %1;" : "=" tocon(r) : con(a)); return r; }
#define CUDA_LITE_ROUNDED(suffix, how) \
	CUDA_LITE_2(float, "f", __fadd_##suffix, "add." how ".f32") \
	CUDA_LITE_2(float, "f", __fsub_##suffix, "sub." how ".f32") \
	CUDA_LITE_2(float, "f", __fmul_##suffix, "mul." how ".f32") \
	CUDA_LITE_2(float, "f", __fdiv_##suffix, "div." how ".f32") \
	CUDA_LITE_1(float, "f", float, "f", __frcp_##suffix, "rcp." how ".f32") \
	CUDA_LITE_1(float, "f", float, "f", __fsqrt_##suffix, "sqrt." how ".f32") \
	CUDA_LITE_DEV float __fmaf_##suffix(float a, float b, float c) \
	{ float r; asm("fma." how ".f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); return r; } \
	CUDA_LITE_2(double, "d", __dadd_##suffix, "add." how ".f64") \
	CUDA_LITE_2(double, "d", __dsub_##suffix, "sub." how ".f64") \
	CUDA_LITE_2(double, "d", __dmul_##suffix, "mul." how ".f64") \
	CUDA_LITE_2(double, "d", __ddiv_##suffix, "div." how ".f64") \
	CUDA_LITE_1(double, "d", double, "d", __drcp_##suffix, "rcp." how ".f64") \
	CUDA_LITE_1(double, "d", double, "d", __dsqrt_##suffix, "sqrt." how ".f64") \
	CUDA_LITE_DEV double __fma_##suffix(double a, double b, double c) \
	{ double r; asm("fma." how ".f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(c)); return r; } \
	CUDA_LITE_1(float, "f", double, "d", __double2float_##suffix, "cvt." how ".f32.f64") \
	CUDA_LITE_1(float, "f", int, "r", __int2float_##suffix, "cvt." how ".f32.s32") \
	CUDA_LITE_1(float, "f", unsigned int, "r", __uint2float_##suffix, "cvt." how ".f32.u32") \
	CUDA_LITE_1(float, "f", long long, "l", __ll2float_##suffix, "cvt." how ".f32.s64") \
	CUDA_LITE_1(float, "f", unsigned long long, "l", __ull2float_##suffix, "cvt." how ".f32.u64") \
	CUDA_LITE_1(double, "d", long long, "l", __ll2double_##suffix, "cvt." how ".f64.s64") \
	CUDA_LITE_1(double, "d", unsigned long long, "l", __ull2double_##suffix, "cvt." how ".f64.u64")
CUDA_LITE_ROUNDED(rn, "rn")
CUDA_LITE_ROUNDED(rz, "rz")
CUDA_LITE_ROUNDED(rd, "rm")
CUDA_LITE_ROUNDED(ru, "rp")
#define CUDA_LITE_TO_INTEGER(suffix, how) \
	CUDA_LITE_1(int, "r", float, "f", __float2int_##suffix, "cvt." how ".s32.f32") \
	CUDA_LITE_1(unsigned int, "r", float, "f", __float2uint_##suffix, "cvt." how ".u32.f32") \
	CUDA_LITE_1(long long, "l", float, "f", __float2ll_##suffix, "cvt." how ".s64.f32") \
	CUDA_LITE_1(unsigned long long, "l", float, "f", __float2ull_##suffix, "cvt." how ".u64.f32") \
	CUDA_LITE_1(int, "r", double, "d", __double2int_##suffix, "cvt." how ".s32.f64") \
	CUDA_LITE_1(unsigned int, "r", double, "d", __double2uint_##suffix, "cvt." how ".u32.f64") \
	CUDA_LITE_1(long long, "l", double, "d", __double2ll_##suffix, "cvt." how ".s64.f64") \
	CUDA_LITE_1(unsigned long long, "l", double, "d", __double2ull_##suffix, "cvt." how ".u64.f64")
CUDA_LITE_TO_INTEGER(rn, "rni")
CUDA_LITE_TO_INTEGER(rz, "rzi")
CUDA_LITE_TO_INTEGER(rd, "rmi")
CUDA_LITE_TO_INTEGER(ru, "rpi")
CUDA_LITE_DEV double __int2double_rn(int a) { return a; }
CUDA_LITE_DEV double __uint2double_rn(unsigned int a) { return a; }
/* in double, rounded again: the quotient of one and a root is never so near to the middle of two floats */
CUDA_LITE_DEV float __frsqrt_rn(float a) { return (float)(1.0 / __dsqrt_rn(a)); }
CUDA_LITE_1(float, "f", float, "f", __saturatef, "cvt.sat.f32.f32")
CUDA_LITE_DEV float __tanf(float a) { return __fdividef(__sinf(a), __cosf(a)); }
CUDA_LITE_DEV void __sincosf(float a, float *s, float *c) { *s = __sinf(a); *c = __cosf(a); }
CUDA_LITE_DEV float __powf(float a, float b) { return __nvvm_ex2_approx_f(b * __nvvm_lg2_approx_f(a)); }
CUDA_LITE_DEV float __exp10f(float a) { return __nvvm_ex2_approx_f(a * 3.32192809f); }
CUDA_LITE_DEV float __log10f(float a) { return __nvvm_lg2_approx_f(a) * 0.301029996f; }
CUDA_LITE_DEV float fdividef(float a, float b) { return a / b; }
CUDA_LITE_DEV int __double2hiint(double a) { return (int)(__double_as_longlong(a) >> 32); }
CUDA_LITE_DEV int __double2loint(double a) { return (int)__double_as_longlong(a); }
CUDA_LITE_DEV double __hiloint2double(int hi, int lo) { return __longlong_as_double((long long)((unsigned long long)(unsigned int)hi << 32 | (unsigned int)lo)); }

/* ---- integers ---------------------------------------------------------------------------------- */

CUDA_LITE_DEV int __ffsll(long long v) { return __builtin_ffsll(v); }
CUDA_LITE_DEV unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
CUDA_LITE_DEV unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s)
{
	unsigned int r;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s & 0x7777));
	return r;
}
#define CUDA_LITE_FUNNEL(name, ptx) \
	CUDA_LITE_DEV unsigned int name(unsigned int lo, unsigned int hi, unsigned int n) \
	{ unsigned int r; asm(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n)); return r; }
CUDA_LITE_FUNNEL(__funnelshift_l, "shf.l.wrap.b32")
CUDA_LITE_FUNNEL(__funnelshift_lc, "shf.l.clamp.b32")
CUDA_LITE_FUNNEL(__funnelshift_r, "shf.r.wrap.b32")
CUDA_LITE_FUNNEL(__funnelshift_rc, "shf.r.clamp.b32")
CUDA_LITE_2(int, "r", __mul24, "mul24.lo.s32")
CUDA_LITE_2(unsigned int, "r", __umul24, "mul24.lo.u32")
CUDA_LITE_2(long long, "l", __mul64hi, "mul.hi.s64")
CUDA_LITE_2(unsigned long long, "l", __umul64hi, "mul.hi.u64")
CUDA_LITE_DEV unsigned int __sad(int a, int b, unsigned int c) { return c + (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a); }
CUDA_LITE_DEV unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return c + (a > b ? a - b : b - a); }
CUDA_LITE_DEV int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
CUDA_LITE_DEV int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
CUDA_LITE_DEV unsigned int __uhadd(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a + b) >> 1); }
CUDA_LITE_DEV unsigned int __urhadd(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a + b + 1) >> 1); }
CUDA_LITE_DEV unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
CUDA_LITE_DEV unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
CUDA_LITE_DEV long long llmin(long long a, long long b) { return a < b ? a : b; }
CUDA_LITE_DEV long long llmax(long long a, long long b) { return a > b ? a : b; }
CUDA_LITE_DEV unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
CUDA_LITE_DEV unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
CUDA_LITE_DEV long min(long a, long b) { return a < b ? a : b; }
CUDA_LITE_DEV long max(long a, long b) { return a > b ? a : b; }
CUDA_LITE_DEV unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
CUDA_LITE_DEV unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
/* products of bytes, of halves with bytes, and a sum: compute capability 6.1 */
#define CUDA_LITE_DP(name, type, ptx) \
	CUDA_LITE_DEV type name(type a, type b, type c) \
	{ type r; asm(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
CUDA_LITE_DP(__dp4a, int, "dp4a.s32.s32")
CUDA_LITE_DP(__dp4a, unsigned int, "dp4a.u32.u32")
CUDA_LITE_DP(__dp2a_lo, int, "dp2a.lo.s32.s32")
CUDA_LITE_DP(__dp2a_lo, unsigned int, "dp2a.lo.u32.u32")
CUDA_LITE_DP(__dp2a_hi, int, "dp2a.hi.s32.s32")
CUDA_LITE_DP(__dp2a_hi, unsigned int, "dp2a.hi.u32.u32")
CUDA_LITE_DEV int __dp4a(char4 a, char4 b, int c) { return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c); }
CUDA_LITE_DEV unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) { return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), c); }
#define CUDA_LITE_DP2(name, shorts, bytes, type) \
	CUDA_LITE_DEV type name(shorts a, bytes b, type c) { return name(__builtin_bit_cast(type, a), __builtin_bit_cast(type, b), c); }
CUDA_LITE_DP2(__dp2a_lo, short2, char4, int)
CUDA_LITE_DP2(__dp2a_lo, ushort2, uchar4, unsigned int)
CUDA_LITE_DP2(__dp2a_hi, short2, char4, int)
CUDA_LITE_DP2(__dp2a_hi, ushort2, uchar4, unsigned int)
/* the nth set bit from base on, upwards or, n being negative, downwards; 0xffffffff where there is none (PTX ISA, fns) */
CUDA_LITE_DEV unsigned int __fns(unsigned int mask, unsigned int base, int n)
{
	unsigned int r;

	asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(mask), "r"(base), "r"(n));
	return r;
}

/* ---- bytes and halves of a word ---------------------------------------------------------------- */

namespace cuda_lite {
template <class T, class F> CUDA_LITE_DEV unsigned int lanes(unsigned int a, unsigned int b, F f)
{
	constexpr int bits = sizeof(T) * 8;
	unsigned int r = 0;
#pragma unroll
	for (int i = 0; i < 32; i += bits)
		r |= ((unsigned int)f((int)(T)(a >> i), (int)(T)(b >> i)) & ((1u << bits) - 1)) << i;
	return r;
}
template <class T> CUDA_LITE_DEV int within(int v)
{
	constexpr int bits = sizeof(T) * 8, lo = T(-1) < T(0) ? -(1 << (bits - 1)) : 0, hi = lo + (1 << bits) - 1;
	return v < lo ? lo : v > hi ? hi : v;
}
template <class T> CUDA_LITE_DEV unsigned int sad(unsigned int a, unsigned int b)
{
	constexpr int bits = sizeof(T) * 8;
	unsigned int r = 0;
#pragma unroll
	for (int i = 0; i < 32; i += bits) {
		int d = (int)(T)(a >> i) - (int)(T)(b >> i);
		r += (unsigned int)(d < 0 ? -d : d);
	}
	return r;
}
} // namespace cuda_lite
#define CUDA_LITE_V(name, T, expr) \
	CUDA_LITE_DEV unsigned int name(unsigned int a, unsigned int b) { return cuda_lite::lanes<T>(a, b, [](int x, int y) { (void)y; return expr; }); }
#define CUDA_LITE_V1(name, T, expr) \
	CUDA_LITE_DEV unsigned int name(unsigned int a) { return cuda_lite::lanes<T>(a, 0, [](int x, int) { return expr; }); }
#define CUDA_LITE_VCMP(n, sign, T, c, op) \
	CUDA_LITE_V(__vcmp##c##sign##n, T, x op y ? -1 : 0) \
	CUDA_LITE_V(__vset##c##sign##n, T, x op y ? 1 : 0)
#define CUDA_LITE_VIDEO(n, S, U) \
	CUDA_LITE_V(__vadd##n, U, x + y) \
	CUDA_LITE_V(__vsub##n, U, x - y) \
	CUDA_LITE_V(__vaddss##n, S, cuda_lite::within<S>(x + y)) \
	CUDA_LITE_V(__vaddus##n, U, cuda_lite::within<U>(x + y)) \
	CUDA_LITE_V(__vsubss##n, S, cuda_lite::within<S>(x - y)) \
	CUDA_LITE_V(__vsubus##n, U, cuda_lite::within<U>(x - y)) \
	CUDA_LITE_V(__vabsdiffs##n, S, x > y ? x - y : y - x) \
	CUDA_LITE_V(__vabsdiffu##n, U, x > y ? x - y : y - x) \
	CUDA_LITE_V(__vavgs##n, S, (x + y + (x + y >= 0)) >> 1) \
	CUDA_LITE_V(__vavgu##n, U, (x + y + 1) >> 1) \
	CUDA_LITE_V(__vhaddu##n, U, (x + y) >> 1) \
	CUDA_LITE_V(__vmaxs##n, S, x > y ? x : y) \
	CUDA_LITE_V(__vmaxu##n, U, x > y ? x : y) \
	CUDA_LITE_V(__vmins##n, S, x < y ? x : y) \
	CUDA_LITE_V(__vminu##n, U, x < y ? x : y) \
	CUDA_LITE_V1(__vabs##n, S, x < 0 ? -x : x) \
	CUDA_LITE_V1(__vabsss##n, S, cuda_lite::within<S>(x < 0 ? -x : x)) \
	CUDA_LITE_V1(__vneg##n, S, -x) \
	CUDA_LITE_V1(__vnegss##n, S, cuda_lite::within<S>(-x)) \
	CUDA_LITE_DEV unsigned int __vsads##n(unsigned int a, unsigned int b) { return cuda_lite::sad<S>(a, b); } \
	CUDA_LITE_DEV unsigned int __vsadu##n(unsigned int a, unsigned int b) { return cuda_lite::sad<U>(a, b); } \
	CUDA_LITE_VCMP(n, , U, eq, ==) CUDA_LITE_VCMP(n, , U, ne, !=) \
	CUDA_LITE_VCMP(n, s, S, gt, >) CUDA_LITE_VCMP(n, s, S, ge, >=) CUDA_LITE_VCMP(n, s, S, lt, <) CUDA_LITE_VCMP(n, s, S, le, <=) \
	CUDA_LITE_VCMP(n, u, U, gt, >) CUDA_LITE_VCMP(n, u, U, ge, >=) CUDA_LITE_VCMP(n, u, U, lt, <) CUDA_LITE_VCMP(n, u, U, le, <=)
CUDA_LITE_VIDEO(4, signed char, unsigned char)
CUDA_LITE_VIDEO(2, short, unsigned short)

/* ---- warps ------------------------------------------------------------------------------------- */

CUDA_LITE_DEV unsigned int __match_any_sync(unsigned int mask, unsigned int v)
{
	unsigned int r;
	asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask));
	return r;
}
CUDA_LITE_DEV unsigned int __match_any_sync(unsigned int mask, unsigned long long v)
{
	unsigned int r;
	asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(r) : "l"(v), "r"(mask));
	return r;
}
CUDA_LITE_DEV unsigned int __match_all_sync(unsigned int mask, unsigned int v, int *all)
{
	unsigned int r, p;
	asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(p) : "r"(v), "r"(mask));
	*all = (int)p;
	return r;
}
CUDA_LITE_DEV unsigned int __match_all_sync(unsigned int mask, unsigned long long v, int *all)
{
	unsigned int r, p;
	asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(p) : "l"(v), "r"(mask));
	*all = (int)p;
	return r;
}
#define CUDA_LITE_MATCH(type, as, cast) \
	CUDA_LITE_DEV unsigned int __match_any_sync(unsigned int mask, type v) { return __match_any_sync(mask, (as)(cast)); } \
	CUDA_LITE_DEV unsigned int __match_all_sync(unsigned int mask, type v, int *all) { return __match_all_sync(mask, (as)(cast), all); }
CUDA_LITE_MATCH(int, unsigned int, v)
CUDA_LITE_MATCH(long long, unsigned long long, v)
CUDA_LITE_MATCH(long, unsigned long long, v)
CUDA_LITE_MATCH(unsigned long, unsigned long long, v)
CUDA_LITE_MATCH(float, unsigned int, __builtin_bit_cast(unsigned int, v))
CUDA_LITE_MATCH(double, unsigned long long, __builtin_bit_cast(unsigned long long, v))
#define CUDA_LITE_REDUX(name, type, ptx) \
	CUDA_LITE_DEV type __reduce_##name##_sync(unsigned int mask, type v) \
	{ type r; asm volatile("redux.sync." ptx " %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask)); return r; }
CUDA_LITE_REDUX(add, unsigned int, "add.u32")
CUDA_LITE_REDUX(add, int, "add.s32")
CUDA_LITE_REDUX(min, unsigned int, "min.u32")
CUDA_LITE_REDUX(min, int, "min.s32")
CUDA_LITE_REDUX(max, unsigned int, "max.u32")
CUDA_LITE_REDUX(max, int, "max.s32")
CUDA_LITE_REDUX(and, unsigned int, "and.b32")
CUDA_LITE_REDUX(or, unsigned int, "or.b32")
CUDA_LITE_REDUX(xor, unsigned int, "xor.b32")

/* ---- atomics ----------------------------------------------------------------------------------- */

#define CUDA_LITE_ATOM(name, type, con, ptx) \
	CUDA_LITE_DEV type name(type *p, type v) \
	{ type r; asm volatile("atom." ptx " %0, [%1], %2;" : "=" con(r) : "l"(p), con(v) : "memory"); return r; }
CUDA_LITE_ATOM(atomicMin, long long, "l", "min.s64")
CUDA_LITE_ATOM(atomicMin, unsigned long long, "l", "min.u64")
CUDA_LITE_ATOM(atomicMax, long long, "l", "max.s64")
CUDA_LITE_ATOM(atomicMax, unsigned long long, "l", "max.u64")
CUDA_LITE_ATOM(atomicAnd, unsigned long long, "l", "and.b64")
CUDA_LITE_ATOM(atomicOr, unsigned long long, "l", "or.b64")
CUDA_LITE_ATOM(atomicXor, unsigned long long, "l", "xor.b64")
#define CUDA_LITE_SCOPED(suffix, scope) \
	CUDA_LITE_ATOM(atomicAdd##suffix, int, "r", scope ".add.u32") \
	CUDA_LITE_ATOM(atomicAdd##suffix, unsigned int, "r", scope ".add.u32") \
	CUDA_LITE_ATOM(atomicAdd##suffix, unsigned long long, "l", scope ".add.u64") \
	CUDA_LITE_ATOM(atomicAdd##suffix, float, "f", scope ".add.f32") \
	CUDA_LITE_ATOM(atomicAdd##suffix, double, "d", scope ".add.f64") \
	CUDA_LITE_ATOM(atomicExch##suffix, int, "r", scope ".exch.b32") \
	CUDA_LITE_ATOM(atomicExch##suffix, unsigned int, "r", scope ".exch.b32") \
	CUDA_LITE_ATOM(atomicExch##suffix, unsigned long long, "l", scope ".exch.b64") \
	CUDA_LITE_ATOM(atomicExch##suffix, float, "f", scope ".exch.b32") \
	CUDA_LITE_ATOM(atomicMin##suffix, int, "r", scope ".min.s32") \
	CUDA_LITE_ATOM(atomicMin##suffix, unsigned int, "r", scope ".min.u32") \
	CUDA_LITE_ATOM(atomicMin##suffix, long long, "l", scope ".min.s64") \
	CUDA_LITE_ATOM(atomicMin##suffix, unsigned long long, "l", scope ".min.u64") \
	CUDA_LITE_ATOM(atomicMax##suffix, int, "r", scope ".max.s32") \
	CUDA_LITE_ATOM(atomicMax##suffix, unsigned int, "r", scope ".max.u32") \
	CUDA_LITE_ATOM(atomicMax##suffix, long long, "l", scope ".max.s64") \
	CUDA_LITE_ATOM(atomicMax##suffix, unsigned long long, "l", scope ".max.u64") \
	CUDA_LITE_ATOM(atomicInc##suffix, unsigned int, "r", scope ".inc.u32") \
	CUDA_LITE_ATOM(atomicDec##suffix, unsigned int, "r", scope ".dec.u32") \
	CUDA_LITE_ATOM(atomicAnd##suffix, int, "r", scope ".and.b32") \
	CUDA_LITE_ATOM(atomicAnd##suffix, unsigned int, "r", scope ".and.b32") \
	CUDA_LITE_ATOM(atomicAnd##suffix, unsigned long long, "l", scope ".and.b64") \
	CUDA_LITE_ATOM(atomicOr##suffix, int, "r", scope ".or.b32") \
	CUDA_LITE_ATOM(atomicOr##suffix, unsigned int, "r", scope ".or.b32") \
	CUDA_LITE_ATOM(atomicOr##suffix, unsigned long long, "l", scope ".or.b64") \
	CUDA_LITE_ATOM(atomicXor##suffix, int, "r", scope ".xor.b32") \
	CUDA_LITE_ATOM(atomicXor##suffix, unsigned int, "r", scope ".xor.b32") \
	CUDA_LITE_ATOM(atomicXor##suffix, unsigned long long, "l", scope ".xor.b64") \
	CUDA_LITE_DEV int atomicSub##suffix(int *p, int v) { return atomicAdd##suffix(p, -v); } \
	CUDA_LITE_DEV unsigned int atomicSub##suffix(unsigned int *p, unsigned int v) { return atomicAdd##suffix(p, 0u - v); } \
	CUDA_LITE_CAS(atomicCAS##suffix, int, "r", scope ".cas.b32") \
	CUDA_LITE_CAS(atomicCAS##suffix, unsigned int, "r", scope ".cas.b32") \
	CUDA_LITE_CAS(atomicCAS##suffix, unsigned long long, "l", scope ".cas.b64")
#define CUDA_LITE_CAS(name, type, con, ptx) \
	CUDA_LITE_DEV type name(type *p, type was, type v) \
	{ type r; asm volatile("atom." ptx " %0, [%1], %2, %3;" : "=" con(r) : "l"(p), con(was), con(v) : "memory"); return r; }
CUDA_LITE_SCOPED(_block, "cta")
CUDA_LITE_SCOPED(_system, "sys")
/* compute capability 7.0 */
CUDA_LITE_CAS(atomicCAS, unsigned short, "h", "cas.b16")

/* ---- memory ------------------------------------------------------------------------------------ */

/* Caches are hints; __ldcv and __stwt go to memory each time. */
#define CUDA_LITE_LOAD(name) template <class T> CUDA_LITE_DEV T name(const T *p) { return *p; }
CUDA_LITE_LOAD(__ldca)
CUDA_LITE_LOAD(__ldcg)
CUDA_LITE_LOAD(__ldcs)
CUDA_LITE_LOAD(__ldlu)
#define CUDA_LITE_STORE(name) template <class T> CUDA_LITE_DEV void name(T *p, T v) { *p = v; }
CUDA_LITE_STORE(__stwb)
CUDA_LITE_STORE(__stcg)
CUDA_LITE_STORE(__stcs)
template <class T> CUDA_LITE_DEV T __ldcv(const T *p)
{
	T v;
	asm volatile("" : : : "memory");
	__builtin_memcpy(&v, p, sizeof(v));
	asm volatile("" : : : "memory");
	return v;
}
template <class T> CUDA_LITE_DEV void __stwt(T *p, T v)
{
	asm volatile("" : : : "memory");
	__builtin_memcpy(p, &v, sizeof(v));
	asm volatile("" : : : "memory");
}
#define CUDA_LITE_IS(name, space) \
	CUDA_LITE_DEV unsigned int name(const void *p) \
	{ unsigned int r; asm("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p)); return r; }
CUDA_LITE_IS(__isGlobal, "global")
CUDA_LITE_IS(__isShared, "shared")
CUDA_LITE_IS(__isLocal, "local")
CUDA_LITE_IS(__isConstant, "const")
#define CUDA_LITE_CVTA(name, from, ptx) \
	CUDA_LITE_DEV __SIZE_TYPE__ __cvta_generic_to_##name(const void *p) \
	{ __SIZE_TYPE__ r; asm("cvta.to." ptx ".u64 %0, %1;" : "=l"(r) : "l"(p)); return r; } \
	CUDA_LITE_DEV void *__cvta_##name##_to_generic(__SIZE_TYPE__ a) \
	{ void *r; asm("cvta." ptx ".u64 %0, %1;" : "=l"(r) : "l"(a)); return r; }
CUDA_LITE_CVTA(global, global, "global")
CUDA_LITE_CVTA(shared, shared, "shared")
CUDA_LITE_CVTA(local, local, "local")
CUDA_LITE_CVTA(constant, constant, "const")
CUDA_LITE_DEV void __brkpt(void) { asm volatile("brkpt;"); }
#define __prof_trigger(n) asm volatile("pmevent %0;" : : "n"(n))

#undef CUDA_LITE_2
#undef CUDA_LITE_1
#undef CUDA_LITE_ROUNDED
#undef CUDA_LITE_TO_INTEGER
#undef CUDA_LITE_FUNNEL
#undef CUDA_LITE_DP
#undef CUDA_LITE_DP2
#undef CUDA_LITE_V
#undef CUDA_LITE_V1
#undef CUDA_LITE_VCMP
#undef CUDA_LITE_VIDEO
#undef CUDA_LITE_MATCH
#undef CUDA_LITE_REDUX
#undef CUDA_LITE_ATOM
#undef CUDA_LITE_SCOPED
#undef CUDA_LITE_CAS
#undef CUDA_LITE_LOAD
#undef CUDA_LITE_STORE
#undef CUDA_LITE_IS
#undef CUDA_LITE_CVTA

#endif
