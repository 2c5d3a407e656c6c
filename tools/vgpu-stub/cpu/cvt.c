/* SPDX-License-Identifier: MIT */
/*
 * cvt in its general form: every lane goes through a 64-bit integer or a double, so that each
 * conversion rounds once. MXCSR is at its default here; rounding is done on bits.
 */
#include <math.h>
#include <string.h>

#include "cpu.h"

static u64 dbits(double d) { u64 u; memcpy(&u, &d, 8); return u; }
static float bitsf(u32 u) { float f; memcpy(&f, &u, 4); return f; }

/*
 * Rounds a magnitude sig * 2^exp (sig below 2^63, plus a sticky flag) to a format with p bits of
 * significand and minimum exponent emin (of the lowest bit); gives the integer and its exponent.
 */
static u64 round_sig(u64 sig, bool sticky, int *exp, int p, int emin, u8 rnd, bool neg)
{
	int top = sig ? 64 - __builtin_clzll(sig) : 0, drop = top - p;
	u64 rest, half, q;
	bool up = false;

	if (*exp + drop < emin)
		drop = emin - *exp;
	if (drop <= 0)
		return sig;
	if (drop > 63) {
		rest = sig ? 1 : 0;
		half = 2;
		q = 0;
	} else {
		rest = sig & ((1ull << drop) - 1);
		half = 1ull << (drop - 1);
		q = sig >> drop;
	}
	switch (rnd) {
	case RND_RZ: break;
	case RND_RM: up = neg && (rest || sticky); break;
	case RND_RP: up = !neg && (rest || sticky); break;
	case RND_RNA: up = rest >= half; break;
	default: up = rest > half || (rest == half && (sticky || (q & 1))); break;
	}
	*exp += drop;
	return q + up;
}

/* (-1)^neg * sig * 2^exp to a float format: p bits with the hidden one, ebits of exponent. */
static u64 pack_float(bool neg, u64 sig, bool sticky, int exp, int p, int ebits, u8 rnd)
{
	int bias = (1 << (ebits - 1)) - 1, emin = 1 - bias - (p - 1), e;
	u64 sign = (u64)neg << (p - 1 + ebits), inf = ((1ull << ebits) - 1) << (p - 1);

	if (!sig && !sticky)
		return sign;
	sig = round_sig(sig, sticky, &exp, p, emin, rnd, neg);
	if (!sig)
		return sign;
	while (sig >> p) {              /* a carry out of the top */
		sig >>= 1;
		exp++;
	}
	while (!(sig >> (p - 1)) && exp > emin) {
		sig <<= 1;
		exp--;
	}
	e = sig >> (p - 1) ? exp - emin + 1 : 0;
	if (e >= (1 << ebits) - 1) {
		bool to_inf = rnd == RND_RZ ? false : rnd == RND_RM ? neg : rnd == RND_RP ? !neg : true;

		return sign | (to_inf ? inf : inf - 1);
	}
	return sign | (u64)e << (p - 1) | (sig & ((1ull << (p - 1)) - 1));
}

static u64 double_to(double v, int p, int ebits, u8 rnd, u64 nan)
{
	u64 u = dbits(v), sig = u & ((1ull << 52) - 1);
	int e = (int)(u >> 52 & 0x7ff);

	if (v != v)
		return nan;
	if (e == 0x7ff)
		return (u >> 63) << (p - 1 + ebits) | ((1ull << ebits) - 1) << (p - 1);
	if (e)
		sig |= 1ull << 52;
	else
		e = 1;
	return pack_float(u >> 63, sig, false, e - 1075, p, ebits, rnd);
}

static u64 int_to(u64 mag, bool neg, int p, int ebits, u8 rnd)
{
	bool sticky = false;

	if (mag >> 63)                  /* keep below 2^63: the lowest bit becomes the sticky one */
		return pack_float(neg, mag >> 1, mag & 1, 1, p, ebits, rnd);
	return pack_float(neg, mag, sticky, 0, p, ebits, rnd);
}

static double half_value(u32 h)
{
	u32 e = h >> 10 & 31, m = h & 1023;
	double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) :
		   ldexp((double)(e ? m | 1024 : m), (int)(e ? e : 1) - 25);

	return h & 0x8000 ? -v : v;
}

static double load_float(const struct insn *in, const void *a, u32 l)
{
	u32 u;

	switch (in->stype) {
	case T_F64: return ((const double *)a)[l];
	case T_F16: return half_value(((const u32 *)a)[l] & 0xffff);
	case T_BF16: u = ((const u32 *)a)[l] << 16; break;
	default: u = ((const u32 *)a)[l]; break;
	}
	if ((in->flags & INF_FTZ) && in->stype == T_F32 && !(u & 0x7f800000u))
		u &= 0x80000000u;
	return (double)bitsf(u);
}

static u64 load_int(const struct insn *in, const void *a, u32 l)
{
	u64 v = in->aw ? ((const u64 *)a)[l] : ((const u32 *)a)[l];

	switch (in->stype) {
	case T_U8: return (u8)v;
	case T_S8: return (u64)(s64)(s8)v;
	case T_U16: return (u16)v;
	case T_S16: return (u64)(s64)(s16)v;
	case T_U32: return (u32)v;
	case T_S32: return (u64)(s64)(s32)v;
	}
	return v;
}

static u64 clamp_int(const struct insn *in, u64 v, bool src_signed)
{
	u32 bits = type_bytes(in->type) * 8;
	bool neg = src_signed && (s64)v < 0;

	if (type_is_signed(in->type)) {
		s64 max = (s64)((1ull << (bits - 1)) - 1), min = -max - 1;

		if (!src_signed && v > (u64)max)
			return (u64)max;
		return (s64)v > max ? (u64)max : (s64)v < min ? (u64)min : v;
	}
	if (neg)
		return 0;
	return bits < 64 && v >> bits ? (1ull << bits) - 1 : v;
}

static u64 narrow(const struct insn *in, u64 v)
{
	switch (in->type) {
	case T_U8: return (u8)v;
	case T_S8: return (u64)(s64)(s8)v;
	case T_U16: return (u16)v;
	case T_S16: return (u64)(s64)(s16)v;
	case T_U32: return (u32)v;
	case T_S32: return (u64)(s64)(s32)v;
	}
	return v;
}

static double round_int(double v, u8 rnd)
{
	switch (rnd) {
	case RND_RNI: return nearbyint(v);
	case RND_RZI: return trunc(v);
	case RND_RMI: return floor(v);
	case RND_RPI: return ceil(v);
	}
	return v;
}

/* Out of range saturates, a NaN is zero: what PTX asks of every float to integer conversion. */
static u64 float_to_int(const struct insn *in, double v)
{
	u32 bits = type_bytes(in->type) * 8;
	double lim;

	if (v != v)
		return 0;
	v = round_int(v, in->sub ? in->sub : RND_RZI);
	if (type_is_signed(in->type)) {
		lim = ldexp(1.0, (int)bits - 1);
		if (v >= lim)
			return (1ull << (bits - 1)) - 1;
		if (v < -lim)
			return 0 - (1ull << (bits - 1));
		return (u64)(s64)v;
	}
	lim = ldexp(1.0, (int)bits);
	if (v <= 0)
		return 0;
	if (v >= lim)
		return bits == 64 ? ~0ull : (1ull << bits) - 1;
	return v >= 9223372036854775808.0 ? (u64)(s64)(v - 9223372036854775808.0) | 1ull << 63 : (u64)(s64)v;
}

static u64 to_float(const struct insn *in, enum type t, double v)
{
	u8 rnd = in->sub >= RND_RNI ? RND_RN : in->sub;
	u64 r;

	if (in->sub >= RND_RNI)
		v = round_int(v, in->sub);
	if (in->flags & INF_SAT)
		v = v != v ? 0 : v > 1 ? 1 : v > 0 ? v : 0;
	if ((in->flags & INF_RELU) && v <= 0)
		v = 0;
	switch (t) {
	case T_F64:
		return dbits(v);
	case T_F16:
		return double_to(v, 11, 5, rnd, 0x7fff);
	case T_BF16:
		return double_to(v, 8, 8, rnd, 0x7fff);
	case T_TF32:                    /* f32 with a short significand */
		return double_to(v, 11, 8, rnd, 0x3ffff) << 13;
	default:
		r = double_to(v, 24, 8, rnd, 0x7fffffff);
		if ((in->flags & INF_FTZ) && !(r & 0x7f800000u))
			r &= 0x80000000u;
		return r;
	}
}

static u64 int_to_float(const struct insn *in, u64 v)
{
	bool neg = type_is_signed(in->stype) && (s64)v < 0;
	u64 mag = neg ? 0 - v : v;

	if (in->flags & INF_SAT)
		return to_float(in, in->type, neg ? 0.0 : mag ? 1.0 : 0.0);
	switch (in->type) {
	case T_F64: return int_to(mag, neg, 53, 11, in->sub);
	case T_F16: return int_to(mag, neg, 11, 5, in->sub);
	case T_BF16: return int_to(mag, neg, 8, 8, in->sub);
	default: return int_to(mag, neg, 24, 8, in->sub);
	}
}

void lane_cvt(const struct insn *in, void *d, const void *a, const void *b)
{
	bool fs = type_is_float(in->stype), fd = type_is_float(in->type) || in->type == T_TF32;
	u32 l;

	for (l = 0; l < LANES; l++) {
		u64 r;

		if (in->type == T_F16X2 || in->type == T_BF16X2) {
			enum type half = in->type == T_F16X2 ? T_F16 : T_BF16;

			/* the first source is the upper half */
			r = to_float(in, half, load_float(in, a, l)) << 16 |
			    to_float(in, half, load_float(in, b, l));
		} else if (fs && fd) {
			r = to_float(in, in->type, load_float(in, a, l));
		} else if (fs) {
			r = narrow(in, float_to_int(in, load_float(in, a, l)));
		} else if (fd) {
			r = int_to_float(in, load_int(in, a, l));
		} else {
			u64 v = load_int(in, a, l);

			if (in->flags & INF_SAT)
				v = clamp_int(in, v, type_is_signed(in->stype));
			r = narrow(in, v);
		}
		if (in->dw)
			((u64 *)d)[l] = r;
		else
			((u32 *)d)[l] = (u32)r;
	}
}
