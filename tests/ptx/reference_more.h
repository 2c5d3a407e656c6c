/* SPDX-License-Identifier: MIT */
/*
 * The reference's forms with operands written out, as forms.txt has them behind the mnemonic:
 *
 *     cvt.rn.f16.f32 %d:b32, %a:f32
 *
 * %d and %e are results, %a to %e sources with their types; the rest, further statements behind ';' too, stands as it is.
 * Here are conversions between short formats and registers that are wider than the types, by the tables of PTX ISA
 * 9.7.9.21 and 6.4. Included by optest.c only.
 */
#ifndef TESTS_PTX_REFERENCE_MORE_H
#define TESTS_PTX_REFERENCE_MORE_H

#include <stdio.h>

#include "reference_video.h"

/* Fills in from a form with operands; 0, or -1. */
static int describe_text(struct insn *in, const char *form)
{
	static char body[1024];
	size_t n = strcspn(form, " "), out = 0;
	char word[96];

	if (n >= sizeof(word) || strlen(form) >= sizeof(body) - 2)
		return -1;
	memcpy(word, form, n);
	word[n] = 0;
	if (split(in, word))
		return -1;
	for (const char *p = form; *p;) {
		struct rtype t;
		char type[12];
		size_t k;

		if (*p == ';') {
			body[out++] = *p++;
			body[out++] = '\n';
			p += strspn(p, " ");
			continue;
		}
		body[out++] = *p++;
		if (p[-1] != '%' || !strchr("abcdef", *p) || p[1] != ':')
			continue;
		body[out++] = *p;
		k = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz0123456789");
		if (k >= sizeof(type))
			return -1;
		memcpy(type, p + 2, k);
		type[k] = 0;
		if (parse_rtype(type, &t))
			return -1;
		if (*p == 'd') {
			in->d[0] = t;
			in->nd = in->nd ? in->nd : 1;
		} else if (*p == 'e') {
			in->d[1] = t;
			in->nd = 2;
		} else {
			k = *p == 'f' ? 3 : (size_t)(*p - 'a');
			in->s[k] = t;
			in->ns = (int)k + 1 > in->ns ? (int)k + 1 : in->ns;
		}
		p += 2 + strspn(p + 2, "abcdefghijklmnopqrstuvwxyz0123456789");
	}
	body[out++] = ';';
	body[out] = 0;
	in->body = body;
	in->written = 1;
	return in->nd ? 0 : -1;
}

/* ---- numbers of eight bits and fewer (OCP's formats as PTX ISA 5.2.3 has them) ------------------ */

struct tiny { const char *name; int ebits, mbits, bias, nans, infs; };
static const struct tiny tinies[] = {
	{ "e4m3x2", 4, 3, 7, 1, 0 }, { "e5m2x2", 5, 2, 15, 3, 1 }, { "e2m1x2", 2, 1, 1, 0, 0 }, { "e2m3x2", 2, 3, 1, 0, 0 },
	{ "e3m2x2", 3, 2, 3, 0, 0 },
};

static const struct tiny *tiny_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(tinies) / sizeof(tinies[0]); i++)
		if (!strcmp(tinies[i].name, name))
			return &tinies[i];
	return NULL;
}

/* Codes from this one on, without sign, are no numbers: infinity first, if there is one, then NaNs. */
static unsigned tiny_end(const struct tiny *t)
{
	return (1u << (t->ebits + t->mbits)) - (unsigned)(t->nans + t->infs);
}

static double tiny_value(const struct tiny *t, unsigned code)
{
	unsigned a = code & ((1u << (t->ebits + t->mbits)) - 1), e = a >> t->mbits, m = a & ((1u << t->mbits) - 1);
	double v;

	if (a >= tiny_end(t))
		v = t->infs && a == tiny_end(t) ? (double)INFINITY : (double)NAN;
	else
		v = e ? ldexp(1 + ldexp(m, -t->mbits), (int)e - t->bias) : ldexp(m, 1 - t->bias - t->mbits);
	return code >> (t->ebits + t->mbits) & 1 ? -v : v;
}

/* The nearest of all numbers that there are, the even code of two; the largest for what is larger. */
static unsigned to_tiny(const struct tiny *t, double v, int relu)
{
	unsigned best = 0, end = tiny_end(t), sign = signbit(v) ? 1u << (t->ebits + t->mbits) : 0;
	double a = fabs(v);

	if (isnan(v))           /* canonical, or where the format has none the largest number */
		return t->nans ? (1u << (t->ebits + t->mbits)) - 1 : end - 1;
	if (relu && (v < 0 || sign))
		return 0;
	if (a >= tiny_value(t, end - 1))
		return sign | (end - 1);
	for (unsigned k = 1; k < end; k++) {
		double was = fabs(a - tiny_value(t, best)), is = fabs(a - tiny_value(t, k));

		if (is < was || (is == was && !(k & 1)))
			best = k;
	}
	return sign | best;
}

/* .ue8m0: powers of two, 0xff is a NaN; by magnitude. */
static unsigned to_ue8m0(double v, int up, int satfinite)
{
	double a = fabs(v);
	unsigned k;

	if (isnan(v))
		return 0xff;
	for (k = 0; k < 0xff && ldexp(1, (int)k - 127) < a; k++)
		;
	if (!up && k && k < 0xff && ldexp(1, (int)k - 127) > a)
		k--;
	if (k == 0xff)          /* beyond 2^127 */
		return up || isinf(a) ? (satfinite ? 0xfe : 0xff) : 0xfe;
	return k;
}

static double half_of(struct rtype t, uint64_t v)
{
	return sf_double(sf_unpack(t.kind == 'O' ? SF_BF16 : SF_F16, v & 0xffff, 0));
}

static int ref_cvt_tiny(const struct insn *in, const uint64_t *s, struct result *r)
{
	int down = in->t[0].kind == 0 || in->nt == 1, scale = has(in, "ue8m0x2"), relu = has(in, "relu");
	const char *first = NULL;
	const struct tiny *t = NULL;
	unsigned n;

	for (int i = 1; i < in->ntok; i++)
		if (!strcmp(in->tok[i], "ue8m0x2") || tiny_of(in->tok[i])) {
			t = tiny_of(in->tok[i]);
			first = i == in->ntok - 1 ? NULL : in->tok[i];
		}
	down = first != NULL;
	n = has(in, "e2m1x2") ? 4 : 8;
	r->bits = 0;
	for (int i = 0; i < 2; i++) {
		double v;

		if (!down) {
			unsigned code = (unsigned)(s[0] >> n * (unsigned)i) & ((1u << n) - 1);
			struct sf_format f = scale ? SF_BF16 : SF_F16;
			uint64_t b, alt, d;

			v = scale ? (code == 0xff ? (double)NAN : ldexp(1, (int)code - 127)) : tiny_value(t, code);
			v = relu && signbit(v) && !isnan(v) ? 0 : v;
			memcpy(&d, &v, 8);
			b = isnan(v) ? 0x7fff : sf_pack(f, sf_unpack(SF_F64, d, 0), SF_RN, 0, &alt);
			r->bits |= b << 16 * i;
			continue;
		}
		v = in->ns == 2 ? sf_double(sf_unpack(SF_F32, s[1 - i], 0)) : half_of(in->s[0], s[0] >> 16 * i);
		r->bits |= (uint64_t)(scale ? to_ue8m0(v, has(in, "rp"), has(in, "satfinite")) : to_tiny(t, v, relu)) << n * (unsigned)i;
	}
	r->alt = r->bits;
	return 0;
}

/* cvt.pack.sat: 9.7.9.22 */
static uint64_t ref_cvt_pack(const struct insn *in, const uint64_t *s)
{
	struct rtype t = { in->tok[3][0], (unsigned)atoi(in->tok[3] + 1) }, s32 = { 's', 32 };
	uint64_t d = (clamp128(number(s[0], s32), t) & mask_of(t.bits)) << t.bits | (clamp128(number(s[1], s32), t) & mask_of(t.bits));

	return t.bits == 16 ? d : d | s[2] << 2 * t.bits;
}

/* One element of cvt to 16 bits or .tf32 with .satfinite, or into a register that is wider. */
static int ref_cvt_one(const struct insn *in, uint64_t s, struct rtype d, uint64_t *out, uint64_t *alt)
{
	struct insn one = *in;
	struct result r = { 0 };
	struct sf_format f = has(in, "tf32") ? (struct sf_format){ 8, 10 } : format_of(d);
	uint64_t inf = mask_of(f.ebits) << f.mbits, sign = 1ull << (f.ebits + f.mbits);

	one.t[0] = d;
	one.t[1] = in->t[in->nt - 1];
	if (ref_cvt(&one, s, &r))
		return -1;
	if (has(in, "tf32") && has(in, "relu")) {
		one.t[0] = (struct rtype){ 'f', 32 };
		if (sext(s, 32) < 0 && (s & 0x7fffffff) <= 0x7f800000)
			r.bits = 0;
	}
	if (!is_float(d) && !has(in, "tf32")) {
		*out = d.kind == 's' ? (uint64_t)sext(r.bits, d.bits) : r.bits & mask_of(d.bits);
		*alt = *out;
		return r.mode == R_ANY;
	}
	if (is_float(one.t[1]) && sf_unpack(format_of(one.t[1]), s, 0).cls == SF_NAN) {
		if (has(in, "tf32") || d.bits == 64)
			return 1;
		r.bits = r.alt = has(in, "sat") ? 0 : (sign | inf | mask_of(f.mbits)) & ~sign;
	}
	if (has(in, "satfinite")) {
		unsigned low = has(in, "tf32") ? 13 : 0;

		if ((r.bits >> low & ~sign) == inf)
			r.bits -= 1ull << low, r.alt = r.bits;
	}
	*out = r.bits;
	*alt = r.alt;
	return 0;
}

static int ref_cvt_more(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct rtype d = in->t[0];
	uint64_t a, b = 0, alt, alt2 = 0;
	int any;

	if (has(in, "pack")) {
		r->bits = r->alt = ref_cvt_pack(in, s);
		return 0;
	}
	for (int i = 1; i < in->ntok; i++)
		if (!strcmp(in->tok[i], "ue8m0x2") || tiny_of(in->tok[i]))
			return ref_cvt_tiny(in, s, r);
	if (d.kind == 'h' || d.kind == 'O') {
		d = (struct rtype){ d.kind == 'h' ? 'f' : 'o', 16 };
		any = ref_cvt_one(in, s[0], d, &a, &alt) | ref_cvt_one(in, s[1], d, &b, &alt2);
		if (any < 0)
			return -1;
		r->bits = a << 16 | b;
		r->alt = alt << 16 | alt2;
		r->mode = any || (a != alt || b != alt2) ? R_ANY : R_EXACT;
		return 0;
	}
	any = ref_cvt_one(in, s[0], d, &r->bits, &r->alt);
	if (any < 0)
		return -1;
	r->mode = any ? R_ANY : R_EXACT;
	return 0;
}

/* ---- arithmetic on parts, and with a third input ---------------------------------------------------- */

/* Pairs of 16-bit integers: add, min and max (9.7.1), .relu clamps at 0. */
static uint64_t ref_pair16(const struct insn *in, const uint64_t *s)
{
	struct rtype t = { has(in, "s16x2") ? 's' : 'u', 16 };
	uint64_t d = 0;

	for (int i = 0; i < 2; i++) {
		__int128 x = number(s[0] >> 16 * i, t), y = number(s[1] >> 16 * i, t), z;

		z = is(in, "add") ? x + y : is(in, "min") == (x < y) ? x : y;
		if (has(in, "relu") && z < 0)
			z = 0;
		d |= ((uint64_t)z & 0xffff) << 16 * i;
	}
	return d;
}

/* min and max of three .f32 (9.7.3.11): as if one after the other. */
static int ref_min3(const struct insn *in, const uint64_t *s, struct result *r)
{
	int ftz = has(in, "ftz");
	struct insn two = *in;
	struct sf v[3], m;
	struct result first = { 0 };

	for (int i = 0; i < 3; i++) {
		v[i] = sf_unpack(SF_F32, s[i], ftz);
		if (has(in, "abs"))
			v[i].sign = 0;
	}
	ref_minmax(&two, v[0], v[1], SF_F32, ftz, &first);
	m = first.mode == R_NAN ? (struct sf){ SF_NAN, 0, 0, 0 } : sf_unpack(SF_F32, first.bits, ftz);
	ref_minmax(&two, m, v[2], SF_F32, ftz, r);
	return 0;
}

/* Two .f32 in one register (9.7.3), each like the instruction on one; a NaN is the canonical one. */
static int ref_pair32(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct insn one = *in;
	uint64_t d = 0, low = 0;

	one.t[0] = (struct rtype){ 'f', 32 };
	for (int i = 0; i < 2; i++) {
		uint64_t half[3] = { s[0] >> 32 * i & 0xffffffff, s[1] >> 32 * i & 0xffffffff, s[2] >> 32 * i & 0xffffffff };
		struct result q = { 0 };

		if (ref_float(&one, half, &q))
			return -1;
		if (q.mode == R_NAN)
			q.bits = q.alt = 0x7fffffff;
		d |= q.bits << 32 * i;
		low |= q.alt << 32 * i;
	}
	r->bits = d;
	r->alt = low;
	/* of two halves that may be either of two, three choices are not in bits and alt */
	r->mode = (uint32_t)d != (uint32_t)low && d >> 32 != low >> 32 ? R_ANY : R_EXACT;
	return 0;
}

/* add, sub, fma of .f32 with sources of 16 bits: 9.7.5 */
static int ref_mixed(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct sf_format h = format_of(in->t[1]);
	struct sf a = sf_unpack(h, s[0], 0), b = sf_unpack(is(in, "fma") ? h : SF_F32, s[1], 0), c = sf_unpack(SF_F32, s[2], 0), v;
	enum sf_round rnd = rounding_of(in);

	v = is(in, "add") ? sf_add(a, b, rnd) : is(in, "sub") ? sf_add(a, sf_neg(b), rnd) : sf_add(sf_mul(a, b), c, rnd);
	finish(in, v, SF_F32, 0, r);
	return 0;
}

/* lop3.BoolOp: 9.7.8.6; the predicate of the body may stand inverted */
static void ref_lop3_bool(const struct insn *in, const uint64_t *s, struct result *r)
{
	const char *table = strstr(in->body, "0x");
	uint64_t v = 0;
	int q = (s[3] & 1) ^ (strstr(in->body, "!%f") != NULL), p;

	for (int i = 0; i < 32; i++)
		v |= (strtoul(table, NULL, 16) >> ((s[0] >> i & 1) * 4 + (s[1] >> i & 1) * 2 + (s[2] >> i & 1)) & 1) << i;
	p = has(in, "and") ? v && q : v || q;
	r[0].bits = r[0].alt = strstr(in->body, "_|") ? 0 : v;
	r[1].bits = r[1].alt = (uint64_t)p;
}

/* Results of a form with operands written out; 0, or -1: unknown. */
static int evaluate_written(const struct insn *in, const uint64_t *s, struct result *r)
{
	memset(r, 0, 2 * sizeof(*r));
	if (is(in, "cvt"))
		return ref_cvt_more(in, s, r);
	if (is(in, "lop3")) {
		ref_lop3_bool(in, s, r);
		return 0;
	}
	if (in->tok[0][0] == 'v')
		return ref_video(in, s, r);
	if (has(in, "f32x2"))
		return ref_pair32(in, s, r);
	if (one_of(in->tok[0], "add sub fma") && in->nt == 2 && has(in, "f32"))
		return ref_mixed(in, s, r);
	if (one_of(in->tok[0], "min max") && in->ns == 3)
		return ref_min3(in, s, r);
	if (has(in, "s16x2") || has(in, "u16x2")) {
		r->bits = r->alt = ref_pair16(in, s);
		return 0;
	}
	return -1;
}

#endif
