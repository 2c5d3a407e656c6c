/* SPDX-License-Identifier: MIT */
/*
 * The floating point, comparison and conversion half of the scalar reference (see reference.h,
 * which it continues), and evaluate(), the entry to both halves. Included by optest.c only.
 */
#ifndef TESTS_PTX_REFERENCE_FLOAT_H
#define TESTS_PTX_REFERENCE_FLOAT_H

#include "reference.h"

static int is_float(struct rtype t)
{
	return t.kind == 'f' || t.kind == 'h' || t.kind == 'o' || t.kind == 'O';
}

/* The format of one element: packed types are taken apart by evaluate(). */
static struct sf_format format_of(struct rtype t)
{
	if (t.kind == 'o' || t.kind == 'O')
		return SF_BF16;
	if (t.kind == 'h' || t.bits == 16)
		return SF_F16;
	return t.bits == 32 ? SF_F32 : SF_F64;
}

static enum sf_round rounding_of(const struct insn *in)
{
	if (has(in, "rna"))
		return SF_RNA;
	if (has(in, "rz") || has(in, "rzi"))
		return SF_RZ;
	if (has(in, "rm") || has(in, "rmi"))
		return SF_RM;
	return has(in, "rp") || has(in, "rpi") ? SF_RP : SF_RN;
}

/* Exact: every number of up to 53 bits with an exponent in range, which all operands are. */
static double sf_double(struct sf a)
{
	double v = a.cls == SF_NAN ? (double)NAN : a.cls == SF_INF ? (double)INFINITY :
		   a.cls == SF_ZERO ? 0 : ldexp((double)(uint64_t)(a.m >> 62), a.exp - 63);

	return a.sign ? -v : v;
}

/* Rounds, flushes, saturates (.sat and .relu turn NaN into 0 and canonical NaN: 9.7.3). */
static void finish(const struct insn *in, struct sf v, struct sf_format f, int ftz,
		   struct result *r)
{
	if (has(in, "sat")) {
		struct sf one = { SF_FINITE, 0, 0, (u128)1 << 125 };

		if (v.cls == SF_NAN || v.sign || v.cls == SF_ZERO)
			v = (struct sf){ SF_ZERO, 0, 0, 0 };
		else if (v.cls == SF_INF || v.exp >= 0)
			v = one;
	}
	if (has(in, "relu") && v.cls != SF_NAN && v.sign)
		v = (struct sf){ SF_ZERO, 0, 0, 0 };
	r->mode = v.cls == SF_NAN ? R_NAN : R_EXACT;
	r->bits = sf_pack(f, v, rounding_of(in), ftz, &r->alt);
	/* "if negative" leaves open whether -0 is; so does the clamp to [0, 1] */
	if ((has(in, "relu") || has(in, "sat")) && v.cls == SF_ZERO)
		r->alt = 1ull << (f.mbits + f.ebits);
}

/* min and max (9.7.3.11, 9.7.4.x): a number wins against NaN unless .NaN; -0 < +0 */
static void ref_minmax(const struct insn *in, struct sf a, struct sf b, struct sf_format f,
		       int ftz, struct result *r)
{
	int sign = a.sign ^ b.sign, max = is(in, "max"), pick_a;
	double x, y;

	if (has(in, "xorsign"))
		a.sign = b.sign = 0;
	x = sf_double(a);
	y = sf_double(b);
	if ((a.cls == SF_NAN && b.cls == SF_NAN) ||
	    (has(in, "NaN") && (a.cls == SF_NAN || b.cls == SF_NAN))) {
		r->mode = R_NAN;
		return;
	}
	if (a.cls == SF_NAN)
		pick_a = 0;
	else if (b.cls == SF_NAN)
		pick_a = 1;
	else if (x == y)
		pick_a = a.sign != b.sign ? a.sign != max : 1;
	else
		pick_a = (x < y) != max;
	if (!pick_a)
		a = b;
	if (has(in, "xorsign"))
		a.sign = sign;
	finish(in, a, f, ftz, r);
}

/*
 * Approximate functions: the bounds of 9.7.3 and 9.7.4 (with a hair more, for the rounding of
 * the bound itself). Values come from the C library in double, which is far below all of them.
 */
static int ref_approx(const struct insn *in, struct sf a, struct sf b, struct sf_format f, int ftz,
		      struct result *r)
{
	double x = sf_double(a), y = sf_double(b), v, rel = 0, abs_bound = 0;
	double ulp = ldexp(1, -f.mbits), tiny = ldexp(1, 2 - (1 << (f.ebits - 1)));

	if (is(in, "rcp"))
		v = 1 / x, rel = f.mbits == 52 ? ldexp(1, -19) : ulp;
	else if (is(in, "sqrt"))
		v = sqrt(x), rel = ulp;
	else if (is(in, "rsqrt"))
		v = 1 / sqrt(x), rel = f.mbits == 52 ? ldexp(1, -19) : exp2(-22.4);
	else if (is(in, "div")) {
		v = x / y, rel = 2 * ulp;
		/* .approx for huge divisors: 0, or NaN for an infinite dividend */
		if (has(in, "approx") && isfinite(y) && fabs(y) > ldexp(1, 126))
			v = isfinite(x) ? copysign(0, x) * copysign(1, y) : NAN;
		/* below the range of .full and .approx the bound does not hold */
		if (y != 0 && fabs(y) < ldexp(1, -126)) {
			r->mode = R_ANY;
			return 0;
		}
	} else if (is(in, "sin") || is(in, "cos")) {
		v = is(in, "sin") ? sin(x) : cos(x);
		abs_bound = fabs(x) <= 6.2832 ? exp2(-20.5) : exp2(-14.7);
		if (fabs(x) > 314 && isfinite(x)) {
			r->mode = R_BOUND;
			r->value = 0, r->rel = 0, r->abs = 1.001, r->ftz = 1;
			return 0;
		}
	} else if (is(in, "lg2")) {
		v = log2(x);
		abs_bound = x > 0.5 && x < 2 ? ldexp(1, -22) : 0;
		rel = ldexp(1, -22);
	} else if (is(in, "ex2")) {
		v = exp2(x), rel = f.mbits == 23 ? 2 * ulp : f.mbits == 10 ? exp2(-9.9) : ldexp(1, -7);
	} else if (is(in, "tanh")) {
		v = tanh(x);
		rel = f.mbits == 23 ? exp2(-10.9) : 0;
		abs_bound = f.mbits == 10 ? exp2(-10.9) : f.mbits == 7 ? ldexp(1, -8) : 0;
	} else {
		return -1;
	}
	if (isnan(v)) {
		r->mode = R_NAN;
		return 0;
	}
	r->mode = R_BOUND;
	r->value = v;
	r->rel = rel * 1.02;
	/* below the normal range one unit of the subnormals is the finest there is */
	r->abs = abs_bound * 1.02 + (fabs(v) < tiny && !ftz ? tiny * ulp * 2 : 0);
	r->ftz = ftz;
	return 0;
}

static int ref_float(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct rtype t = in->t[0];
	struct sf_format f = format_of(t);
	int ftz = has(in, "ftz"), sign_bit = f.mbits + f.ebits;
	struct sf a = sf_unpack(f, s[0], ftz), b = sf_unpack(f, s[1], ftz),
		  c = sf_unpack(f, s[2], ftz);
	enum sf_round rnd = rounding_of(in);

	if (has(in, "approx") || has(in, "full"))
		return ref_approx(in, a, b, f, ftz, r);
	if (is(in, "add"))
		finish(in, sf_add(a, b, rnd), f, ftz, r);
	else if (is(in, "sub"))
		finish(in, sf_add(a, sf_neg(b), rnd), f, ftz, r);
	else if (is(in, "mul"))
		finish(in, sf_mul(a, b), f, ftz, r);
	else if (is(in, "fma") || is(in, "mad"))
		finish(in, sf_add(sf_mul(a, b), c, rnd), f, ftz, r);
	else if (is(in, "div"))
		finish(in, sf_div(a, b), f, ftz, r);
	else if (is(in, "rcp"))
		finish(in, sf_div((struct sf){ SF_FINITE, 0, 0, (u128)1 << 125 }, a), f, ftz, r);
	else if (is(in, "sqrt"))
		finish(in, sf_sqrt(a), f, ftz, r);
	else if (is(in, "min") || is(in, "max"))
		ref_minmax(in, a, b, f, ftz, r);
	else if (is(in, "abs") || is(in, "neg")) {
		a.sign = is(in, "abs") ? 0 : !a.sign;
		finish(in, a, f, ftz, r);
	} else if (is(in, "copysign")) {
		/* bits, also of a NaN: the sign of a, the rest of b */
		r->bits = (s[1] & ~(1ull << sign_bit)) | (s[0] & 1ull << sign_bit);
		r->alt = r->bits;
	} else if (is(in, "mov")) {
		r->bits = r->alt = s[0];
	} else {
		return -1;
	}
	return 0;
}

static int ref_testp(const struct insn *in, uint64_t v)
{
	struct sf_format f = format_of(in->t[0]);
	struct sf a = sf_unpack(f, v, 0);
	uint64_t e = v >> f.mbits & ((1u << f.ebits) - 1);

	if (has(in, "finite"))
		return a.cls == SF_FINITE || a.cls == SF_ZERO;
	if (has(in, "infinite"))
		return a.cls == SF_INF;
	if (has(in, "number"))
		return a.cls != SF_NAN;
	if (has(in, "notanumber"))
		return a.cls == SF_NAN;
	if (has(in, "normal"))          /* zeros are normal numbers */
		return a.cls == SF_ZERO || (a.cls == SF_FINITE && e != 0);
	return a.cls == SF_FINITE && e == 0;
}

/* cvt (9.7.9.21), one element */
static int ref_cvt(const struct insn *in, uint64_t s, struct result *r)
{
	struct rtype d = in->t[0], t = in->t[1];
	int ftz = has(in, "ftz"), integral = has(in, "rni") || has(in, "rzi") || has(in, "rmi") ||
					     has(in, "rpi");

	r->mode = R_EXACT;
	if (is_float(t)) {
		struct sf v = sf_unpack(format_of(t), s, ftz && t.bits == 32);

		if (has(in, "tf32")) {
			struct sf_format tf = { 8, 10 };

			r->bits = sf_pack(tf, v, rounding_of(in), 0, NULL) << 13;
			r->alt = r->bits;
			r->mode = v.cls == SF_NAN ? R_ANY : R_EXACT;
			return 0;
		}
		if (is_float(d)) {
			if (integral)
				v = sf_integral(v, rounding_of(in));
			finish(in, v, format_of(d), ftz && d.bits == 32 && d.kind == 'f', r);
			return 0;
		}
		r->bits = d.kind == 's' ?
			sf_to_int(v, rounding_of(in), sext(1ull << (d.bits - 1), d.bits),
				  mask_of(d.bits - 1)) :
			sf_to_int(v, rounding_of(in), 0, mask_of(d.bits));
		r->alt = r->bits;
		/* NaN: zero, but where .f64, .s64 or .u64 is in play the highest bit of the result's width */
		if (v.cls == SF_NAN && (t.bits == 64 || d.bits == 64))
			r->bits = r->alt = (uint64_t)sext(1ull << (d.bits - 1), d.kind == 's' ? d.bits : 64);
		return 0;
	}
	if (is_float(d)) {
		__int128 v = number(s, t);

		finish(in, sf_from_int(v < 0, (uint64_t)(v < 0 ? -v : v)), format_of(d), ftz, r);
		return 0;
	}
	r->bits = has(in, "sat") ? clamp128(number(s, t), d) : (uint64_t)number(s, t);
	r->alt = r->bits;
	return 0;
}

static int compared(const struct insn *in, struct rtype t, uint64_t a, uint64_t b)
{
	const char *c = in->tok[1];

	if (is_float(t)) {
		struct sf_format f = format_of(t);
		int ftz = has(in, "ftz");
		double x = sf_double(sf_unpack(f, a, ftz)), y = sf_double(sf_unpack(f, b, ftz));

		return compare(c, x < y, x == y, isnan(x) || isnan(y));
	}
	return compare(c, number(a, t) < number(b, t), number(a, t) == number(b, t), 0);
}

static int combined(const struct insn *in, int t, uint64_t p)
{
	switch (boolop(in)) {
	case 1: return t && (p & 1);
	case 2: return t || (p & 1);
	case 3: return t ^ (int)(p & 1);
	default: return t;
	}
}

/* Results of one lane; r[1] is the second destination of setp, or the high half of a packed result. 0, or -1: unknown mnemonic. */
static int evaluate(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct rtype t = in->t[0], last = in->t[in->nt - 1];
	int x, packed = strchr("hO", last.kind) && last.bits == 32;
	uint64_t two = 0xffff;

	memset(r, 0, 2 * sizeof(*r));
	if (is(in, "setp") && packed) {
		for (int i = 0; i < 2; i++)
			r[i].bits = r[i].alt = (uint64_t)combined(in, compared(in, last,
					s[0] >> 16 * i & two, s[1] >> 16 * i & two), s[2]);
		return 0;
	}
	if (is(in, "setp")) {
		x = compared(in, t, s[0], s[1]);
		r[0].bits = r[0].alt = (uint64_t)combined(in, x, s[2]);
		r[1].bits = r[1].alt = (uint64_t)combined(in, !x, s[2]);
		return 0;
	}
	if (is(in, "set")) {
		int halves = packed ? 2 : 1;

		for (int i = 0; i < halves; i++) {
			x = combined(in, compared(in, last, packed ? s[0] >> 16 * i & two : s[0],
						  packed ? s[1] >> 16 * i & two : s[1]), s[2]);
			if (packed)
				r->bits |= (x ? (t.kind == 'O' ? 0x3f80ull : is_float(t) ? 0x3c00ull :
						0xffffull) : 0) << 16 * i;
			else if (t.kind == 'o')
				r->bits = x ? 0x3f80 : 0;
			else if (t.kind == 'f')
				r->bits = x ? (t.bits == 16 ? 0x3c00 : 0x3f800000) : 0;
			else
				r->bits = x ? mask_of(t.bits) : 0;
		}
		r->alt = r->bits;
		return 0;
	}
	if (is(in, "testp")) {
		r->bits = r->alt = (uint64_t)ref_testp(in, s[0]);
		return 0;
	}
	if (is(in, "selp")) {
		r->bits = r->alt = s[2] & 1 ? s[0] : s[1];
		return 0;
	}
	if (is(in, "slct")) {
		/* NaN is not >= 0; -0 is */
		struct sf c = sf_unpack(SF_F32, s[2], has(in, "ftz"));

		x = last.kind == 'f' ? c.cls != SF_NAN && sf_double(c) >= 0 : sext(s[2], 32) >= 0;
		r->bits = r->alt = x ? s[0] : s[1];
		return 0;
	}
	if (is(in, "cvt") && (t.kind == 'h' || t.kind == 'O')) {
		struct insn one = *in;
		struct result hi = { 0 }, lo = { 0 };

		one.t[0] = (struct rtype){ t.kind == 'h' ? 'f' : 'o', 16 };
		if (ref_cvt(&one, s[0], &hi) || ref_cvt(&one, s[1], &lo))
			return -1;
		/* the first operand is the upper half; NaNs are compared by the case files */
		r->mode = hi.mode == R_NAN || lo.mode == R_NAN ||
			  hi.bits != hi.alt || lo.bits != lo.alt ? R_ANY : R_EXACT;
		r->bits = r->alt = hi.bits << 16 | lo.bits;
		return 0;
	}
	if (is(in, "cvt"))
		return ref_cvt(in, s[0], r);
	if (t.kind == 'p') {
		uint64_t p = s[0] & 1, q = s[1] & 1;

		r->bits = is(in, "and") ? p & q : is(in, "or") ? p | q : is(in, "xor") ? p ^ q :
			  is(in, "not") ? !p : p;
		r->alt = r->bits;
		return one_of(in->tok[0], "and or xor not mov") ? 0 : -1;
	}
	if (is_float(t) && packed) {
		/* the halves are results of their own: low in r[0], high in r[1] */
		struct insn one = *in;
		uint64_t half[3];

		one.t[0] = (struct rtype){ t.kind == 'h' ? 'f' : 'o', 16 };
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < 3; k++)
				half[k] = s[k] >> 16 * i & two;
			if (ref_float(&one, half, &r[i]))
				return -1;
		}
		return 0;
	}
	if (is_float(t))
		return ref_float(in, s, r);
	r->bits = r->alt = ref_integer(in, s, r);
	return r->mode < 0 ? -1 : 0;
}

#endif
