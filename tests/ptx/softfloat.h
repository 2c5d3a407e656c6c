/* SPDX-License-Identifier: MIT */
/*
 * IEEE 754 arithmetic in integers, for the scalar reference of optest.c: any binary format up to
 * 64 bits, every rounding mode, one rounding per operation. Shares nothing with the engine and
 * uses no floating point hardware, so an error of a host instruction or of MXCSR shows.
 *
 * A finite number is m * 2^(exp - 125) with bit 125 of m set. The lowest bit of m is sticky:
 * what is shifted out below it sets it ("jam"), which keeps every later rounding right because
 * at least 19 zero bits lie between it and the significant bits of an operand.
 */
#ifndef TESTS_PTX_SOFTFLOAT_H
#define TESTS_PTX_SOFTFLOAT_H

#include <stdint.h>

typedef unsigned __int128 u128;

struct sf_format {
	int ebits, mbits;
};

static const struct sf_format SF_F16 = { 5, 10 }, SF_BF16 = { 8, 7 }, SF_F32 = { 8, 23 },
			      SF_F64 = { 11, 52 };

enum sf_round { SF_RN, SF_RZ, SF_RM, SF_RP, SF_RNA };

struct sf {
	enum { SF_ZERO, SF_FINITE, SF_INF, SF_NAN } cls;
	int sign, exp;
	u128 m;
};

static const struct sf sf_nan = { SF_NAN, 0, 0, 0 };

static u128 sf_jam(u128 m, int shift)
{
	if (shift <= 0)
		return m;
	if (shift > 127)
		return m != 0;
	return m >> shift | ((m & (((u128)1 << shift) - 1)) != 0);
}

/* Brings the top bit of a non-zero m to bit 125. */
static struct sf sf_normal(struct sf a)
{
	if (a.m == 0) {
		a.cls = SF_ZERO;
		return a;
	}
	while (a.m >> 126) {
		a.m = sf_jam(a.m, 1);
		a.exp++;
	}
	while (!(a.m >> 125)) {
		a.m <<= 1;
		a.exp--;
	}
	return a;
}

static struct sf sf_unpack(struct sf_format f, uint64_t bits, int ftz)
{
	uint64_t frac = bits & ((1ull << f.mbits) - 1);
	int e = (int)(bits >> f.mbits) & ((1 << f.ebits) - 1), bias = (1 << (f.ebits - 1)) - 1;
	struct sf a = { SF_FINITE, (int)(bits >> (f.mbits + f.ebits)) & 1, 0, 0 };

	if (e == (1 << f.ebits) - 1) {
		a.cls = frac ? SF_NAN : SF_INF;
		return a;
	}
	if (e == 0 && (frac == 0 || ftz)) {
		a.cls = SF_ZERO;
		return a;
	}
	if (e)
		frac |= 1ull << f.mbits;
	a.m = (u128)frac << (125 - f.mbits);
	a.exp = (e ? e : 1) - bias;
	return sf_normal(a);
}

/* Drops `drop` bits of m by the rounding mode. */
static u128 sf_round_bits(u128 m, int drop, int sign, enum sf_round rnd)
{
	u128 q, rem, half;

	if (drop <= 0)
		return m << -drop;
	if (drop > 127) {
		m = 1;                  /* far below half of a unit, and not zero */
		drop = 127;
	}
	q = m >> drop;
	rem = m & (((u128)1 << drop) - 1);
	half = (u128)1 << (drop - 1);
	switch (rnd) {
	case SF_RN: return q + (rem > half || (rem == half && (q & 1)));
	case SF_RNA: return q + (rem >= half);
	case SF_RM: return q + (sign && rem);
	case SF_RP: return q + (!sign && rem);
	default: return q;
	}
}

/*
 * With ftz a subnormal result becomes zero; *alt gets a second permitted result where the ISA
 * leaves open whether a value that rounds up to the smallest normal number counts as subnormal.
 */
static uint64_t sf_pack(struct sf_format f, struct sf a, enum sf_round rnd, int ftz, uint64_t *alt)
{
	int bias = (1 << (f.ebits - 1)) - 1, emax = (1 << f.ebits) - 1, shift, e = a.exp;
	uint64_t sign = (uint64_t)a.sign << (f.mbits + f.ebits), q, bits;

	if (a.cls == SF_NAN)
		bits = ((uint64_t)emax << f.mbits) | 1ull << (f.mbits - 1);
	else if (a.cls == SF_INF)
		bits = sign | (uint64_t)emax << f.mbits;
	else
		bits = sign;
	if (alt)
		*alt = bits;
	if (a.cls != SF_FINITE)
		return bits;
	shift = e < 1 - bias ? 1 - bias - e : 0;
	q = (uint64_t)sf_round_bits(a.m, 125 - f.mbits + shift, a.sign, rnd);
	if (shift) {
		bits = sign | (ftz && q < 1ull << f.mbits ? 0 : q);
		if (alt)
			*alt = ftz ? sign : bits;
		return bits;
	}
	if (q >> (f.mbits + 1)) {
		q >>= 1;
		e++;
	}
	if (e + bias >= emax) {
		int to_inf = rnd == SF_RN || rnd == SF_RNA || (rnd == SF_RP && !a.sign) ||
			     (rnd == SF_RM && a.sign);

		bits = sign | (((uint64_t)emax << f.mbits) - !to_inf);
	} else {
		bits = sign | (uint64_t)(e + bias) << f.mbits | (q & ((1ull << f.mbits) - 1));
	}
	if (alt)
		*alt = bits;
	return bits;
}

static struct sf sf_neg(struct sf a)
{
	a.sign ^= 1;
	return a;
}

/* rnd only decides the sign of an exact zero. */
static struct sf sf_add(struct sf a, struct sf b, enum sf_round rnd)
{
	struct sf r = { SF_ZERO, rnd == SF_RM, 0, 0 };

	if (a.cls == SF_NAN || b.cls == SF_NAN)
		return sf_nan;
	if (a.cls == SF_INF)
		return b.cls == SF_INF && a.sign != b.sign ? sf_nan : a;
	if (b.cls == SF_INF)
		return b;
	if (a.cls == SF_ZERO && b.cls == SF_ZERO) {
		if (a.sign == b.sign)
			r.sign = a.sign;
		return r;
	}
	if (a.cls == SF_ZERO)
		return b;
	if (b.cls == SF_ZERO)
		return a;
	if (a.exp < b.exp || (a.exp == b.exp && a.m < b.m)) {
		r = a;
		a = b;
		b = r;
	}
	b.m = sf_jam(b.m, a.exp - b.exp);
	if (a.sign != b.sign && a.m == b.m)
		return (struct sf){ SF_ZERO, rnd == SF_RM, 0, 0 };
	a.m = a.sign == b.sign ? a.m + b.m : a.m - b.m;
	return sf_normal(a);
}

static struct sf sf_mul(struct sf a, struct sf b)
{
	struct sf r = { SF_FINITE, a.sign ^ b.sign, a.exp + b.exp, 0 };

	if (a.cls == SF_NAN || b.cls == SF_NAN)
		return sf_nan;
	if (a.cls == SF_INF || b.cls == SF_INF) {
		r.cls = SF_INF;
		return a.cls == SF_ZERO || b.cls == SF_ZERO ? sf_nan : r;
	}
	if (a.cls == SF_ZERO || b.cls == SF_ZERO) {
		r.cls = SF_ZERO;
		return r;
	}
	/* the product of two 64-bit parts is in units of 2^-126 */
	r.m = sf_jam((u128)(uint64_t)(a.m >> 62) * (uint64_t)(b.m >> 62), 1);
	return sf_normal(r);
}

static struct sf sf_div(struct sf a, struct sf b)
{
	struct sf r = { SF_FINITE, a.sign ^ b.sign, a.exp - b.exp, 0 };
	u128 n, d;

	if (a.cls == SF_NAN || b.cls == SF_NAN || (a.cls == SF_INF && b.cls == SF_INF) ||
	    (a.cls == SF_ZERO && b.cls == SF_ZERO))
		return sf_nan;
	if (a.cls == SF_INF || b.cls == SF_ZERO) {
		r.cls = SF_INF;
		return r;
	}
	if (a.cls == SF_ZERO || b.cls == SF_INF) {
		r.cls = SF_ZERO;
		return r;
	}
	n = (a.m >> 73) << 74;
	d = b.m >> 73;
	r.m = (n / d) << 51 | (n % d != 0);
	return sf_normal(r);
}

static struct sf sf_sqrt(struct sf a)
{
	u128 n, root = 0;

	if (a.cls == SF_NAN || (a.sign && a.cls != SF_ZERO))
		return sf_nan;
	if (a.cls != SF_FINITE)
		return a;
	n = (a.m >> 73) << (a.exp & 1);
	a.exp -= a.exp & 1;
	n <<= 68;
	for (int bit = 62; bit >= 0; bit--) {
		u128 t = root | (u128)1 << bit;

		if (t * t <= n)
			root = t;
	}
	a.m = root << 65 | (root * root != n);
	a.exp /= 2;
	return sf_normal(a);
}

static struct sf sf_from_int(int sign, uint64_t magnitude)
{
	struct sf r = { SF_FINITE, sign, 125, magnitude };

	if (magnitude == 0)
		r.sign = 0;
	return sf_normal(r);
}

/* Rounds to an integral value; the sign of a zero result stays. */
static struct sf sf_integral(struct sf a, enum sf_round rnd)
{
	if (a.cls != SF_FINITE || a.exp >= 125)
		return a;
	a.m = sf_round_bits(a.m, 125 - a.exp, a.sign, rnd);
	a.exp = 125;
	return sf_normal(a);
}

/* Rounded and clamped to [lo, hi] (lo <= 0); NaN gives 0. */
static uint64_t sf_to_int(struct sf a, enum sf_round rnd, int64_t lo, uint64_t hi)
{
	uint64_t low = 0 - (uint64_t)lo;
	u128 v;

	if (a.cls == SF_NAN || a.cls == SF_ZERO)
		return 0;
	if (a.cls == SF_INF || a.exp > 70)
		return a.sign ? (uint64_t)lo : hi;
	a = sf_integral(a, rnd);
	if (a.cls == SF_ZERO)
		return 0;
	v = a.m >> (125 - a.exp);
	if (a.sign)
		return v > low ? (uint64_t)lo : 0 - (uint64_t)v;
	return v > hi ? hi : (uint64_t)v;
}

#endif
