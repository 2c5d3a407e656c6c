/* SPDX-License-Identifier: MIT */
/* Whole numbers, one and several in a word; conversions of floats; arithmetic of all roundings; shifts, divisions, what C leaves open and the machine does not. */
#include "show.h"

__device__ static unsigned odd(unsigned i)
{
	static const unsigned edges[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x01010101, 0x80008000 };

	return mixed(i) & 3 ? mixed(i + 1) >> (mixed(i + 2) & (mixed(i) & 4 ? 31 : 0)) : edges[mixed(i + 3) & 15];
}
__device__ static unsigned long long wide(unsigned i) { return (unsigned long long)odd(i) << 32 | odd(i + 501); }
__device__ static float real(unsigned i)
{
	unsigned m = mixed(i + 3);

	if (mixed(i) % 7 == 0) return __uint_as_float(m);
	if (mixed(i) % 7 == 1) return (int)m >> 8;
	if (mixed(i) % 7 == 2) return ((int)m >> 20) / 4.0f;
	return __uint_as_float(m & 0x807fffff | (110 + mixed(i + 4) % 50) << 23);
}
__device__ static double real2(unsigned i)
{
	unsigned long long m = (unsigned long long)mixed(i + 3) << 32 | mixed(i + 4);

	if (mixed(i) % 7 == 0) return __longlong_as_double(m);
	if (mixed(i) % 7 == 1) return (double)((long long)m >> 11);
	if (mixed(i) % 7 == 2) return ((int)m >> 12) / 4.0;
	return __longlong_as_double(m & 0x800fffffffffffffull | (1023ull - 50 + mixed(i + 5) % 120) << 52);
}
__device__ static void put(unsigned *o, unsigned v) { o[0] = v; o[1] = 0; }
__device__ static void put(unsigned *o, int v) { o[0] = v; o[1] = 0; }
__device__ static void put(unsigned *o, unsigned long long v) { o[0] = (unsigned)v; o[1] = v >> 32; }
__device__ static void put(unsigned *o, long v) { put(o, (unsigned long long)v); }
__device__ static void put(unsigned *o, long long v) { put(o, (unsigned long long)v); }
__device__ static void put(unsigned *o, float v) { o[0] = v == v ? __float_as_uint(v) : 0x7fffffff; o[1] = 0; }
__device__ static void put(unsigned *o, double v) { put(o, v == v ? (unsigned long long)__double_as_longlong(v) : 0x7fffffffffffffffull); }

enum { N = 16384 };
#define A odd(i)
#define B odd(i * 7 + 70001)
#define C odd(i * 3 + 90001)
#define WA wide(i)
#define WB wide(i * 5 + 70001)
#define F real(i)
#define G real(i + 70001)
#define D real2(i)
#define E real2(i + 70001)
#define T(value) run<2>(#value, N, [] __device__ (int i, unsigned *o) { put(o, value); });
#define ROUNDINGS(f, ...) T(f##_rn(__VA_ARGS__)) T(f##_rz(__VA_ARGS__)) T(f##_ru(__VA_ARGS__)) T(f##_rd(__VA_ARGS__))
#define SIMD1(f) T(f(A))
#define SIMD2(f) T(f(A, B))
#define BOTH(f) T(f##2(A, B)) T(f##4(A, B))

int main()
{
	T(__brev(A)) T(__brevll(WA)) T(__clz(A)) T(__clzll(WA)) T(__ffs(A)) T(__ffsll(WA)) T(__popc(A)) T(__popcll(WA)) T(__byte_perm(A, B, C)) T(__fns(A, B & 31, (int)(C % 9) - 4))
	T(__funnelshift_l(A, B, C)) T(__funnelshift_r(A, B, C)) T(__funnelshift_lc(A, B, C)) T(__funnelshift_rc(A, B, C)) T(__hadd(A, B)) T(__rhadd(A, B)) T(__uhadd(A, B)) T(__urhadd(A, B))
	T(__mul24(A, B)) T(__umul24(A, B)) T(__mulhi(A, B)) T(__umulhi(A, B)) T(__mul64hi(WA, WB)) T(__umul64hi(WA, WB)) T(__sad(A, B, C)) T(__usad(A, B, C))
	T(__dp4a((int)A, (int)B, (int)C)) T(__dp4a(A, B, C)) T(__dp2a_lo((int)A, (int)B, (int)C)) T(__dp2a_hi(A, B, C)) T(__vimax_s32_relu((int)A, (int)B))
	T(__viaddmax_s32((int)A, (int)B, (int)C)) T(__viaddmin_u16x2(A, B, C)) T(__vimax3_s16x2_relu(A, B, C)) T(__vimin3_u32(A, B, C)) T(__viaddmax_s16x2_relu(A, B, C))
	BOTH(__vadd) BOTH(__vaddss) BOTH(__vaddus) BOTH(__vsub) BOTH(__vsubss) BOTH(__vsubus) BOTH(__vavgs) BOTH(__vavgu) BOTH(__vhaddu) BOTH(__vabsdiffs) BOTH(__vabsdiffu)
	BOTH(__vcmpeq) BOTH(__vcmpges) BOTH(__vcmpgtu) BOTH(__vseteq) BOTH(__vsetlts) BOTH(__vsetne) BOTH(__vmaxs) BOTH(__vmaxu) BOTH(__vmins) BOTH(__vminu) BOTH(__vsads) BOTH(__vsadu)
	SIMD1(__vabs2) SIMD1(__vabs4) SIMD1(__vabsss2) SIMD1(__vneg2) SIMD1(__vneg4) SIMD1(__vnegss4)
	/* C leaves these open: what does the machine do? */
	T(A / (B >> (A & 31))) T((int)A / (int)B) T((int)A % (int)B) T(WA / WB) T((long long)WA % (long long)WB) T(A % B)
	ROUNDINGS(__float2int, F) ROUNDINGS(__float2uint, F) ROUNDINGS(__float2ll, F) ROUNDINGS(__float2ull, F) ROUNDINGS(__double2int, D) ROUNDINGS(__double2uint, D)
	ROUNDINGS(__double2ll, D) ROUNDINGS(__double2ull, D) ROUNDINGS(__int2float, (int)A) ROUNDINGS(__uint2float, A) ROUNDINGS(__ll2float, (long long)WA) ROUNDINGS(__ull2float, WA)
	ROUNDINGS(__ll2double, (long long)WA) ROUNDINGS(__ull2double, WA) ROUNDINGS(__double2float, D)
	T((int)(signed char)(int)F) T((unsigned)(unsigned char)(unsigned)F) T((int)(short)D) T((unsigned)(unsigned short)F)
	ROUNDINGS(__fadd, F, G) ROUNDINGS(__fmul, F, G) ROUNDINGS(__fmaf, F, G, real(i + 5)) ROUNDINGS(__fdiv, F, G) ROUNDINGS(__fsqrt, fabsf(F)) ROUNDINGS(__frcp, F)
	ROUNDINGS(__dadd, D, E) ROUNDINGS(__dmul, D, E) ROUNDINGS(__fma, D, E, real2(i + 5)) ROUNDINGS(__ddiv, D, E) ROUNDINGS(__dsqrt, fabs(D)) ROUNDINGS(__drcp, D)
	T(fmodf(F, G)) T(fmod(D, E)) T(remainderf(F, G)) T(remainder(D, E)) T(fminf(F, G)) T(fmax(D, E)) T(nextafterf(F, G)) T(nextafter(D, E)) T(ldexpf(F, (int)(B % 400) - 200)) T(scalbn(D, (int)(B % 3000) - 1500))
	T(rintf(F)) T(roundf(F)) T(round(D)) T(truncf(F)) T(lrintf(F)) T(llround(D)) T(ilogbf(F)) T(ilogb(D)) T(logbf(F)) T(copysignf(F, G)) T(fdimf(F, G)) T(__saturatef(F))
	T(F / G) T(1 / F) T(D / E) T(sqrtf(fabsf(F))) T(sqrt(fabs(D))) T(rsqrtf(fabsf(F))) T(rsqrt(fabs(D))) T(cbrtf(F)) T(hypotf(F, G)) T(rcbrt(D))
	/* approximate instructions: bits that only a GPU knows */
	T(__fdividef(F, G)) T(__expf(F)) T(__exp10f(F)) T(__logf(fabsf(F))) T(__log2f(fabsf(F))) T(__log10f(fabsf(F))) T(__sinf(F)) T(__cosf(F)) T(__tanf(F)) T(__powf(fabsf(F), G)) T(__frsqrt_rn(fabsf(F)))
	T(__tanhf(F))
	return 0;
}
