/* SPDX-License-Identifier: MIT */
/*
 * References in plain C: arithmetic with a rounding mode, conversions, integers, video instructions, 16-bit floats.
 * maths.c is compiled with -frounding-math; what must not be moved across a change of the mode is volatile.
 */
#ifndef TESTS_MATHS_REFERENCE_H
#define TESTS_MATHS_REFERENCE_H

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "reference_quad.h"

typedef float f32;
typedef double f64;
typedef int16_t s16;
typedef uint16_t u16;
typedef int32_t s32;
typedef uint32_t u32;
typedef int64_t s64;
typedef uint64_t u64;
typedef uint16_t h16;
typedef uint32_t h32;

#define ROUND_rn FE_TONEAREST
#define ROUND_rd FE_DOWNWARD
#define ROUND_ru FE_UPWARD
#define ROUND_rz FE_TOWARDZERO

/* ---- floats ------------------------------------------------------------------------------------- */

#define WITH_MODE(T, mode, expression) \
	volatile T result; \
	fesetround(mode); \
	result = (expression); \
	fesetround(FE_TONEAREST); \
	return result

#define ARITHMETIC(T, n, root, fused) \
REFERENCE T add##n(int mode, volatile T x, volatile T y) { WITH_MODE(T, mode, x + y); } \
REFERENCE T mul##n(int mode, volatile T x, volatile T y) { WITH_MODE(T, mode, x * y); } \
REFERENCE T div##n(int mode, volatile T x, volatile T y) { WITH_MODE(T, mode, x / y); } \
REFERENCE T sqrt##n(int mode, volatile T x) { WITH_MODE(T, mode, root(x)); } \
REFERENCE T fma##n(int mode, volatile T x, volatile T y, volatile T z) { WITH_MODE(T, mode, fused(x, y, z)); } \
REFERENCE T to##n(int mode, volatile long double x) { WITH_MODE(T, mode, (T)x); }
ARITHMETIC(f32, 32, sqrtf, fmaf)
ARITHMETIC(f64, 64, sqrt, fma)

static u32 bits32(f32 x) { u32 u; memcpy(&u, &x, 4); return u; }
static u64 bits64(f64 x) { u64 u; memcpy(&u, &x, 8); return u; }
static f32 from32(u32 u) { f32 x; memcpy(&x, &u, 4); return x; }
static f64 from64(u64 u) { f64 x; memcpy(&x, &u, 8); return x; }

/* PTX ISA, cvt: out of range is the nearest there is; NaN is 0, but the highest bit alone if source or result are 64 bits wide */
REFERENCE u64 to_integer(int mode, long double x, int sign, int bits, int wide)
{
	long double high = ldexpl(1, bits - sign), low = sign ? -high : 0;

	if (x != x)
		return wide ? 1ull << (bits - 1) : 0;
	x = mode == FE_DOWNWARD ? floorl(x) : mode == FE_UPWARD ? ceill(x) : mode == FE_TOWARDZERO ? truncl(x) : rintl(x);
	if (x >= high)
		return ~0ull >> (64 - bits + sign);
	if (x < low)
		return (u64)(s64)low;
	return x < 0 ? (u64)(s64)x : (u64)x;
}

/* ---- integers ----------------------------------------------------------------------------------- */

REFERENCE u64 reverse64(u64 x)
{
	u64 r = 0;

	for (int i = 0; i < 64; i++)
		r |= (x >> i & 1) << (63 - i);
	return r;
}

REFERENCE u32 byte_perm(u32 x, u32 y, u32 s)
{
	u64 both = (u64)y << 32 | x;
	u32 r = 0;

	for (int i = 0; i < 4; i++)
		r |= (u32)(both >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
	return r;
}

/* PTX ISA, fns */
REFERENCE u32 fns(u32 mask, u32 base, s32 offset)
{
	int step = offset > 0 ? 1 : -1, count = abs(offset) - 1;

	if (offset == 0)
		return mask >> base & 1 ? base : ~0u;
	for (int at = (int)base; at >= 0 && at < 32; at += step)
		if ((mask >> at & 1) && count-- == 0)
			return (u32)at;
	return ~0u;
}

/* lane i of a word cut in n, widened */
static s64 lane(u32 x, int n, int i, int sign)
{
	int bits = 32 / n;
	u32 v = x << (32 - bits * (i + 1)) >> (32 - bits);

	return sign ? (s64)((s32)(v << (32 - bits)) >> (32 - bits)) : (s64)v;
}

/* dp4a, dp2a: n products of lanes of x, `bits` wide, with bytes of y from `first` on */
REFERENCE u32 dot(int n, int bits, int first, int sign, u32 x, u32 y, u32 sum)
{
	for (int i = 0; i < n; i++)
		sum += (u32)(lane(x, 32 / bits, i, sign) * lane(y, 4, first + i, sign));
	return sum;
}

enum { V_ABS, V_NEG, V_ABSDIFF, V_ADD, V_SUB, V_AVERAGE, V_HALF_ADD, V_MAX, V_MIN, V_SAD, V_EQ, V_NE, V_GE, V_GT, V_LE, V_LT,
       V_OP = 0xff, SATURATE = 0x100, ALL_BITS = 0x200 };

static s64 simd_op(int op, s64 a, s64 b)
{
	switch (op & V_OP) {
	case V_ABS: return a < 0 ? -a : a;
	case V_NEG: return -a;
	case V_ABSDIFF: case V_SAD: return a > b ? a - b : b - a;
	case V_ADD: return a + b;
	case V_SUB: return a - b;
	case V_AVERAGE: return (a + b + (a + b >= 0)) >> 1;     /* PTX ISA, vavrg */
	case V_HALF_ADD: return (a + b) >> 1;
	case V_MAX: return a > b ? a : b;
	case V_MIN: return a < b ? a : b;
	case V_EQ: return a == b;
	case V_NE: return a != b;
	case V_GE: return a >= b;
	case V_GT: return a > b;
	case V_LE: return a <= b;
	default: return a < b;
	}
}

REFERENCE u32 simd(int n, int sign, int op, u32 x, u32 y)
{
	int bits = 32 / n;
	s64 high = (1 << (bits - sign)) - 1, low = sign ? -high - 1 : 0;
	u32 r = 0;

	for (int i = 0; i < n; i++) {
		s64 v = simd_op(op, lane(x, n, i, sign), lane(y, n, i, sign));

		if ((op & V_OP) == V_SAD) {
			r += (u32)v;
			continue;
		}
		if (op & SATURATE)
			v = v > high ? high : v < low ? low : v;
		if (op & ALL_BITS)
			v = -v;
		r |= ((u32)v & (~0u >> (32 - bits))) << bits * i;
	}
	return r;
}

enum { DPX_S32, DPX_U32, DPX_S16, DPX_U16 };
enum { ADD_MAX, ADD_MIN, MAX3, MIN3, MAX2, MIN2, RELU = 0x100 };

static s64 dpx_op(int op, s64 a, s64 b, s64 c, s64 sum)
{
	s64 v;

	switch (op & 0xff) {
	case ADD_MAX: v = sum > c ? sum : c; break;
	case ADD_MIN: v = sum < c ? sum : c; break;
	case MAX3: v = a > b ? a : b; v = v > c ? v : c; break;
	case MIN3: v = a < b ? a : b; v = v < c ? v : c; break;
	case MAX2: v = a > b ? a : b; break;
	default: v = a < b ? a : b; break;
	}
	return (op & RELU) && v < 0 ? 0 : v;
}

REFERENCE u32 dpx(int kind, int op, u32 x, u32 y, u32 z)
{
	int n = kind == DPX_S16 || kind == DPX_U16 ? 2 : 1, sign = kind == DPX_S32 || kind == DPX_S16;
	u32 r = 0;

	for (int i = 0; i < n; i++) {
		s64 a = lane(x, n, i, sign), b = lane(y, n, i, sign);
		u32 sum = (u32)(a + b) << (n == 2 ? 16 : 0);
		s64 v = dpx_op(op, a, b, lane(z, n, i, sign), lane(sum, n, n - 1, sign));

		r |= n == 2 ? ((u32)v & 0xffff) << 16 * i : (u32)v;
	}
	return r;
}

/* vibmax, vibmin on halfwords, a lane turned over where the first operand was taken */
enum { max_is, min_is };
REFERENCE u32 vib(int sign, int op, u32 x, u32 y)
{
	u32 r = 0;

	for (int i = 0; i < 2; i++) {
		s64 a = lane(x, 2, i, sign), b = lane(y, 2, i, sign);
		int first = op == max_is ? a >= b : a <= b;

		r |= ((u32)(first ? ~a : b) & 0xffff) << 16 * i;
	}
	return r;
}

/* ---- 16-bit floats ------------------------------------------------------------------------------- */

struct format { int fraction, lowest, highest; };       /* bits of the fraction, exponents of normal numbers */
static const struct format half_format = { 10, -14, 15 }, bf16_format = { 7, -126, 127 };

REFERENCE f64 format_value(const struct format *f, h16 x)
{
	int e = (x & 0x7fff) >> f->fraction, m = x & ((1 << f->fraction) - 1);
	f64 v = e == 0 ? ldexp(m, f->lowest - f->fraction)
		: e == f->highest * 2 + 1 ? m ? NAN : INFINITY : ldexp(m + (1 << f->fraction), e - f->highest - f->fraction);

	return x & 0x8000 ? -v : v;
}

/* x rounded to the format: to a multiple of the unit of its binade, or of the least there is */
REFERENCE h16 format_round(const struct format *f, int mode, quad x)
{
	h16 sign = signbitq(x) ? 0x8000 : 0, infinite = (h16)((f->highest * 2 + 1) << f->fraction);
	quad v = fabsq(x), n;
	int e, down = mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && !sign) || (mode == FE_UPWARD && sign);

	if (v != v)
		return 0x7fff;
	if (v == 0 || isinfq(v))
		return v == 0 ? sign : sign | infinite;
	e = ilogbq(v);
	e = e < f->lowest ? f->lowest : e;
	if (e > f->highest)
		return sign | (h16)(infinite - (down ? 1 : 0));
	n = scalbnq(v, f->fraction - e);
	n = mode == FE_TONEAREST ? rintq(n) : down ? floorq(n) : ceilq(n);
	e = ((e - f->lowest) << f->fraction) + (int)n;          /* a carry goes into the exponent by itself */
	return sign | (h16)(e >= infinite && down ? infinite - 1 : e);
}

/* a * b + c rounded to odd, so that rounding once more is rounding once */
REFERENCE f64 fused_odd(volatile f64 a, volatile f64 b, volatile f64 c)
{
	volatile f64 r;
	int inexact;

	feclearexcept(FE_INEXACT);
	fesetround(FE_TOWARDZERO);
	r = fma(a, b, c);
	inexact = fetestexcept(FE_INEXACT);
	fesetround(FE_TONEAREST);
	if (r == 0 && a * b == 0 && c == 0)
		r = a * b + c;
	return inexact && !(bits64(r) & 1) ? from64(bits64(r) | 1) : r;
}

REFERENCE h16 format_max(const struct format *f, h16 x, h16 y, int nan)
{
	f64 a = format_value(f, x), b = format_value(f, y);

	if (a != a || b != b)
		return nan || (a != a && b != b) ? 0x7fff : a != a ? y : x;
	return a == b ? x & 0x8000 ? y : x : a > b ? x : y;
}

REFERENCE h16 format_clamp(const struct format *f, h16 x, int relu)
{
	f64 v = format_value(f, x);

	if (relu)
		return v != v ? 0x7fff : v > 0 ? x : 0;
	return v > 0 ? v < 1 ? x : (h16)(f->highest << f->fraction) : 0;
}

/* ---- 8-bit floats: 3 bits of fraction, codes up to 0x7e and one NaN; or 2, with infinities from 0x7c on ------------ */

REFERENCE f64 fp8_value(int fraction, u32 x)
{
	int e = (int)(x & 0x7f) >> fraction, m = (int)x & ((1 << fraction) - 1), lowest = fraction == 3 ? -6 : -14;
	f64 v = e ? ldexp(m + (1 << fraction), e - 1 + lowest - fraction) : ldexp(m, lowest - fraction);

	if ((x & 0x7f) > (fraction == 3 ? 0x7e : 0x7c))
		v = NAN;
	else if (fraction == 2 && (x & 0x7f) == 0x7c)
		v = INFINITY;
	return x & 0x80 ? -v : v;
}

REFERENCE u32 to_fp8(int fraction, int saturate, quad x)
{
	int e, lowest = fraction == 3 ? -6 : -14;
	u32 sign = signbitq(x) ? 0x80 : 0, most = fraction == 3 ? 0x7e : 0x7b, code;
	quad v = fabsq(x);

	if (v != v)
		return 0x7f;
	if (v == 0)
		return sign;
	if (v > 1e6Q)
		v = 1e6Q;
	e = ilogbq(v);
	e = e < lowest ? lowest : e;
	code = (u32)((e - lowest) << fraction) + (u32)rintq(scalbnq(v, fraction - e));
	if (code > most)
		return saturate ? sign | most : fraction == 3 ? 0x7f : sign | 0x7c;
	return sign | code;
}
#endif
