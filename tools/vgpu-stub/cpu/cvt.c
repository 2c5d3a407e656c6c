/* SPDX-License-Identifier: MIT */
/*
 * cvt in its general form: every lane goes through a 64-bit integer or a double, so that each
 * conversion rounds once. MXCSR is at its default here; rounding is done on bits.
 */
#include <math.h>
#include <string.h>

#include "cpu.h"
#include "gen.h"
#include "lanes.h"

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
	u32 u = in->aw ? (u32)((const u64 *)a)[l] : ((const u32 *)a)[l];

	switch (in->stype) {
	case T_F64: return ((const double *)a)[l];
	case T_F16: return half_value(u & 0xffff);
	case T_BF16: u <<= 16; break;
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

/*
 * Out of range saturates. A NaN is zero between types of up to 32 bits; where .f64 or 64-bit integers are in play it is the
 * highest bit alone, for any width of the result (PTX ISA 9.7.9, cvt).
 */
static u64 float_to_int(const struct insn *in, double v)
{
	u32 bits = type_bytes(in->type) * 8;
	double lim;

	if (v != v)
		return in->stype == T_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
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

/* .satfinite: the largest number for an infinity, whose code is one above it; sign: the bit behind that of the exponent */
static u64 short_finite(const struct insn *in, u64 r, u64 inf)
{
	u64 sign = 1ull << (64 - __builtin_clzll(inf));

	return (in->flags & INF_SATFINITE) && (r & ~sign) == inf ? r - 1 : r;
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
		return short_finite(in, double_to(v, 11, 5, rnd, 0x7fff), 0x7c00);
	case T_BF16:
		return short_finite(in, double_to(v, 8, 8, rnd, 0x7fff), 0x7f80);
	case T_TF32:                    /* f32 with a short significand */
		return short_finite(in, double_to(v, 11, 8, rnd, 0x3ffff), 0x3fc00) << 13;
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

/*
 * 64-bit integers and floats, as compilers convert them: the processor does it, at its default MXCSR, with the rounding that is asked for. False: another form.
 */
static bool long_to_float(const struct insn *in, void *d, const u64 *a, u32 n)
{
	bool sg = in->stype == T_S64, wide = in->type == T_F64;
	u32 l;

	if ((!sg && in->stype != T_U64) || !in->aw || in->sub > RND_RN || (in->flags & INF_SAT) || (!wide && in->type != T_F32) || in->dw != wide)
		return false;
	if (wide && sg)
		for (l = 0; l < n; l++)
			((double *)d)[l] = (double)(s64)a[l];
	else if (wide)
		for (l = 0; l < n; l++)
			((double *)d)[l] = (double)a[l];
	else if (sg)
		for (l = 0; l < n; l++)
			((float *)d)[l] = (float)(s64)a[l];
	else
		for (l = 0; l < n; l++)
			((float *)d)[l] = (float)a[l];
	return true;
}

static bool float_to_long(const struct insn *in, u64 *d, const void *a, u32 n)
{
	bool sg = in->type == T_S64, wide = in->stype == T_F64;
	u8 rnd = in->sub;
	u32 l;

	if ((!sg && in->type != T_U64) || !in->dw || (!wide && in->stype != T_F32 && in->stype != T_F16 && in->stype != T_BF16) || in->aw != wide || rnd < RND_RNI || rnd > RND_RPI)
		return false;
	for (l = 0; l < n; l++) {
		/* a subnormal is 0 in any case, but upwards or downwards */
		double v = wide ? ((const double *)a)[l] : in->stype == T_F32 && (rnd == RND_RZI || rnd == RND_RNI) ? (double)((const float *)a)[l] : load_float(in, a, l);

		if (rnd != RND_RZI && fabs(v) < 0x1p52)
			v = round_int(v, rnd);
		if (sg)
			d[l] = v >= -0x1p63 && v < 0x1p63 ? (u64)(s64)v : v != v || v < 0 ? 1ull << 63 : ~0ull >> 1;
		else
			d[l] = v >= 0x1p63 ? (v < 0x1p64 ? (u64)(s64)(v - 0x1p63) | 1ull << 63 : ~0ull) : v > 0 ? (u64)(s64)v : v != v ? 1ull << 63 : 0;
	}
	return true;
}

/* To the nearest half: by way of a float that is odd where it is not exact, which rounds no number twice. At the default MXCSR, too. */
static bool to_halves(const struct insn *in, u32 *d, const void *a, u32 n)
{
	_Alignas(64) u32 odd[LANES] = { 0 }, half[LANES];
	bool fs = in->stype == T_F16, from = in->stype == T_F64 || in->stype == T_S64 || in->stype == T_U64;
	u32 l;

	if (in->type != T_F16 || in->dw || (in->flags & (INF_SAT | INF_RELU | INF_SATFINITE)) || (fs ? in->sub < RND_RNI || in->sub > RND_RPI : !from || in->sub > RND_RN))
		return false;
	for (l = 0; l < n; l++) {
		/* what has more than 53 bits is an infinity as a half */
		double v = in->stype == T_S64 ? (double)((const s64 *)a)[l] : in->stype == T_U64 ? (double)((const u64 *)a)[l] : load_float(in, a, l);
		float f;

		if (fs)
			v = round_int(v, in->sub);
		f = (float)v;
		memcpy(&odd[l], &f, sizeof(f));
		if ((double)f != v && v == v)
			odd[l] = (odd[l] - (fabs((double)f) > fabs(v))) | 1;
	}
	lanes_get()->fn[LOP_CVT_H_F][T_F16](half, odd, odd, odd);
	memcpy(d, half, n * sizeof(*d));
	return true;
}

void lane_cvt(const struct insn *in, void *d, const void *a, const void *b)
{
	lane_cvt_n(in, d, a, b, LANES);
}

void lane_cvt_n(const struct insn *in, void *d, const void *a, const void *b, u32 n)
{
	bool fs = type_is_float(in->stype), fd = type_is_float(in->type) || in->type == T_TF32;
	u32 l;

	if (fs != fd && (fd ? long_to_float(in, d, a, n) : float_to_long(in, d, a, n)))
		return;
	if (to_halves(in, d, a, n))
		return;
	for (l = 0; l < n; l++) {
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

/* ---- forms that only K_GEN has -------------------------------------------------------------------- */

static void put(struct frame *f, const struct insn *in, const void *v, u32 m)
{
	if (in->dw)
		lanes_get()->blend64(opnd(f, in->o[0]), v, m);
	else
		lanes_get()->blend32(opnd(f, in->o[0]), v, m);
}

void gen_cvt(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	_Alignas(64) u64 tmp[LANES];

	(void)ts;
	lane_cvt(in, tmp, opnd(f, in->o[1]), opnd(f, in->o[2]));
	put(f, in, tmp, m);
}

void gen_cvt_pack(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	static const u8 widths[T_COUNT] = { [T_U16] = 16, [T_S16] = 16, [T_U8] = 8, [T_S8] = 8, [T_U4] = 4, [T_S4] = 4,
					    [T_U2] = 2, [T_S2] = 2 };
	u32 n = widths[in->type], l, mask = (1u << n) - 1;
	bool sg = in->type == T_S16 || in->type == T_S8 || in->type == T_S4 || in->type == T_S2;
	s32 max = (s32)(sg ? mask >> 1 : mask), min = sg ? -max - 1 : 0;
	const s32 *a = opnd(f, in->o[1]), *b = opnd(f, in->o[2]);
	const u32 *c = in->o[3] == OPND_NONE ? NULL : opnd(f, in->o[3]);
	_Alignas(64) u32 tmp[LANES];

	(void)ts;
	for (l = 0; l < LANES; l++) {
		s32 x = a[l] < min ? min : a[l] > max ? max : a[l], y = b[l] < min ? min : b[l] > max ? max : b[l];

		tmp[l] = ((u32)x & mask) << n | ((u32)y & mask);
		if (c)
			tmp[l] |= c[l] << 2 * n;
	}
	put(f, in, tmp, m);
}

/*
 * Formats of 8 bits and fewer: bits of fraction, exponent of the least normal number, the code of the largest one, and
 * that of a NaN: those without one take the largest. There is a sign above the code, see sign.
 */
static const struct small { u8 frac, max, nan, sign; s8 emin; } smalls[] = {
	[T_E4M3X2 - T_E4M3X2] = { 3, 0x7e, 0x7f, 0x80, -6 }, [T_E5M2X2 - T_E4M3X2] = { 2, 0x7b, 0x7f, 0x80, -14 },
	[T_E2M1X2 - T_E4M3X2] = { 1, 0x07, 0x07, 0x08, 0 }, [T_E2M3X2 - T_E4M3X2] = { 3, 0x1f, 0x1f, 0x20, 0 },
	[T_E3M2X2 - T_E4M3X2] = { 2, 0x1f, 0x1f, 0x20, -2 },
};

static u32 to_small(const struct insn *in, double v)
{
	const struct small *s = &smalls[in->type - T_E4M3X2];
	double a = fabs(v);
	int q;

	if (v != v)
		return s->nan;
	if ((in->flags & INF_RELU) && v <= 0)
		return 0;
	if (a > 1e9) {
		a = s->max;
	} else if (a > 0) {
		/* in units of the last place: to nearest even by the host; the code counts them from zero on */
		q = ilogb(a) < s->emin ? s->emin : ilogb(a);
		a = nearbyint(ldexp(a, s->frac - q)) + ldexp(q - s->emin, s->frac);
	}
	return (u32)(a < s->max ? a : s->max) | (signbit(v) ? s->sign : 0);
}

static double small_value(enum type t, u32 code)
{
	const struct small *s = &smalls[t - T_E4M3X2];
	u32 a = code & (s->sign - 1u), e = a >> s->frac, m = a & ((1u << s->frac) - 1);
	double v;

	if (a > s->max)
		return a == 0x7c && t == T_E5M2X2 ? (code & s->sign ? -INFINITY : INFINITY) : NAN;
	v = ldexp(e ? m | 1u << s->frac : m, (int)(e ? e - 1 : 0) + s->emin - s->frac);
	return code & s->sign ? -v : v;
}

/* .ue8m0: a power of two without sign, 2^(code - 127), and a NaN. */
static u32 to_scale(const struct insn *in, double v)
{
	int e;
	double a = frexp(fabs(v), &e);  /* in [0.5, 1): the power below is e - 1 */

	if (v != v)
		return 0xff;
	if (isinf(v))
		return in->flags & INF_SATFINITE ? 0xfe : 0xff;
	if (a == 0)
		return 0;
	e += 126 + (in->sub == RND_RP && a > 0.5);
	return e < 0 ? 0 : e < 0xff ? (u32)e : in->flags & INF_SATFINITE ? 0xfe : 0xff;
}

void gen_cvt_small(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u32 *a = opnd(f, in->o[1]), *b = opnd(f, in->o[2]);
	u32 l, i, bits = in->type == T_E2M1X2 ? 4 : 8;
	_Alignas(64) u64 tmp[LANES];
	struct insn one = *in;

	(void)ts;
	if (in->stype == T_F16X2 || in->stype == T_BF16X2)
		one.stype = in->stype == T_F16X2 ? T_F16 : T_BF16;
	for (l = 0; l < LANES; l++) {
		u32 r = 0;

		for (i = 0; i < 2; i++) {       /* the first operand, or the upper half, is the upper one */
			if (in->stype >= T_E4M3X2 && in->stype <= T_UE8M0X2) {
				u32 n = in->stype == T_E2M1X2 ? 4 : 8, code = a[l] >> n * i & ((1u << n) - 1);
				enum type t = in->type == T_F16X2 ? T_F16 : T_BF16;
				double v = in->stype != T_UE8M0X2 ? small_value(in->stype, code) : code == 0xff ? NAN :
					   ldexp(1, (int)code - 127);

				r |= (u32)to_float(in, t, v) << 16 * i;
				continue;
			}
			u32 w = in->stype == T_F32 ? (i ? a[l] : b[l]) : a[l] >> 16 * i;
			double v = load_float(&(struct insn){ .stype = one.stype }, &w, 0);

			r |= (in->type == T_UE8M0X2 ? to_scale(in, v) : to_small(in, v)) << bits * i;
		}
		((u32 *)tmp)[l] = r;
	}
	put(f, in, tmp, m);
}

/*
 * Stochastic rounding: away from zero where the fraction that is cut off and the random bits, of which the highest is a half, carry.
 * f16 takes 13 bits (of r's lower half), the others 16.
 */
static u32 to_random(const struct insn *in, double v, u32 r)
{
	static const struct { u8 frac, bits; s8 emin; u16 max, top, nan, sign; } forms[] = {
		{ 10, 13, -14, 0x7bff, 0x7c00, 0x7fff, 0x8000 }, { 7, 16, -126, 0x7f7f, 0x7f80, 0x7fff, 0x8000 },
	};
	const struct small *s = in->type >= T_E4M3X4 ? &smalls[in->type - T_E4M3X4] : NULL;
	u32 h = in->type == T_BF16X2, frac = s ? s->frac : forms[h].frac, bits = s ? 16 : forms[h].bits;
	u32 most = s ? s->max : in->flags & INF_SATFINITE ? forms[h].max : forms[h].top, sign = s ? s->sign : forms[h].sign;
	int emin = s ? s->emin : forms[h].emin, q;
	double a = fabs(v);

	if (v != v)
		return s ? s->nan : forms[h].nan;
	if ((in->flags & INF_RELU) && v <= 0)
		return 0;
	if (a > 0 && !isinf(a)) {
		q = ilogb(a) < emin ? emin : ilogb(a);
		a = floor(ldexp(a, (int)frac - q) + ldexp(r & ((1u << bits) - 1), -(int)bits)) + ldexp(q - emin, (int)frac);
	}
	return (a < most ? (u32)a : most) | (signbit(v) ? sign : 0);
}

static u32 reversed(u32 r)
{
	u32 v = 0;

	for (u32 i = 0; i < 16; i++)
		v |= (r >> i & 1) << (15 - i);
	return v;
}

/*
 * Of four, each pair has a half of the random bits: the second of it as they are, the first in reverse, which is what hardware was
 * measured to do; the ISA says whose half is whose. Of two, each has its own half.
 */
void gen_cvt_random(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	bool four = in->type >= T_E4M3X4;
	u32 n = four ? 4 : 2, bits = in->type == T_E2M1X4 ? 4 : four ? 8 : 16;
	const u32 *random = opnd(f, in->o[5]);
	_Alignas(64) u64 tmp[LANES];

	(void)ts;
	for (u32 l = 0; l < LANES; l++) {
		u32 r = 0;

		for (u32 i = 0; i < n; i++) {
			const u32 *from = opnd(f, in->o[1 + i]);
			u32 place = n - 1 - i, half = random[l] >> (four ? place / 2 : place) * 16 & 0xffff;

			r |= to_random(in, load_float(in, from, l), four && place % 2 ? reversed(half) : half) << place * bits;
		}
		((u32 *)tmp)[l] = r;
	}
	put(f, in, tmp, m);
}
