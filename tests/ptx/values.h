/* SPDX-License-Identifier: MIT */
/*
 * The value language of PTX test comments: lists of typed literals and generators, and their
 * comparison with memory. Included by ptxrun.c only; the grammar stands in README.md.
 */
#ifndef TESTS_PTX_VALUES_H
#define TESTS_PTX_VALUES_H

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vtype {
	char kind;              /* 'u', 's', 'f', 'b' (bits, printed in hex) */
	unsigned bytes;
};

struct value {
	uint64_t bits;
	enum { V_EXACT, V_ANY, V_NAN } mode;
};

/* Where &name and addr(name) are looked up; -1 if there is no such buffer. */
typedef int (*value_symbol)(void *owner, const char *name, size_t n, uint64_t *address);

static double half_to_double(uint16_t h)
{
	int e = (h >> 10) & 31, m = h & 1023;
	double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) :
		   e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return h & 0x8000 ? -v : v;
}

/* Nearest even, from the exact double. */
static uint16_t double_to_half(double v)
{
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	double a = fabs(v), q;
	int e;

	if (isnan(v))
		return 0x7fff;
	if (a >= 65520)
		return sign | 0x7c00;
	if (a == 0)
		return sign;
	frexp(a, &e);                   /* a = f * 2^e, f in [0.5, 1) */
	if (e < -13)
		e = -13;
	q = nearbyint(ldexp(a, 11 - e));        /* in units of the last place; may be 2048 */
	return sign | (uint16_t)((e + 13) * 1024 + (int)q);
}

static double value_double(struct vtype t, uint64_t bits)
{
	float f;
	double d;
	uint32_t lo = (uint32_t)bits;

	if (t.bytes == 2)
		return half_to_double((uint16_t)bits);
	if (t.bytes == 4) {
		memcpy(&f, &lo, 4);
		return (double)f;
	}
	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t value_mask(struct vtype t)
{
	return t.bytes == 8 ? ~0ull : (1ull << (8 * t.bytes)) - 1;
}

static int64_t value_signed(struct vtype t, uint64_t bits)
{
	unsigned shift = 64 - 8 * t.bytes;

	return (int64_t)(bits << shift) >> shift;
}

static uint64_t value_from_double(struct vtype t, double d)
{
	uint64_t bits = 0;
	float f = (float)d;

	if (t.kind != 'f')
		return (uint64_t)(int64_t)d & value_mask(t);
	if (t.bytes == 2)
		return double_to_half(d);
	if (t.bytes == 4)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &d, 8);
	return bits;
}

/* "u32" etc.; returns the end of the name or NULL. */
static const char *parse_type(const char *s, struct vtype *t)
{
	static const char *const bits[] = { "8", "16", "32", "64" };

	if (!strchr("usfb", *s) || !*s)
		return NULL;
	t->kind = *s++;
	for (unsigned i = 4; i-- > 0;) {
		size_t n = strlen(bits[i]);

		if (!strncmp(s, bits[i], n) && !isdigit((unsigned char)s[n])) {
			t->bytes = 1u << i;
			return t->kind == 'f' && i == 0 ? NULL : s + n;
		}
	}
	return NULL;
}

static const char *skip_blank(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == ',')
		s++;
	return s;
}

/* One literal. Hex is raw bits for every type. */
static const char *parse_literal(const char *s, struct vtype t, struct value *v,
				 value_symbol lookup, void *owner)
{
	const char *p = s + (*s == '-');
	char *end = NULL;

	v->mode = V_EXACT;
	if (*s == '_' && !isalnum((unsigned char)s[1])) {
		v->mode = V_ANY;
		v->bits = 0;
		return s + 1;
	}
	if (!strncmp(s, "nan", 3) && t.kind == 'f') {
		v->mode = V_NAN;
		v->bits = value_from_double(t, (double)NAN);
		return s + 3;
	}
	if (*s == '&') {
		size_t n = 1;

		while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$')
			n++;
		if (lookup(owner, s + 1, n - 1, &v->bits))
			return NULL;
		s += n;
		if (*s == '+' || *s == '-') {
			v->bits += (uint64_t)strtoll(s, &end, 0);
			s = end;
		}
		v->bits &= value_mask(t);
		return s;
	}
	errno = 0;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		v->bits = strtoull(p, &end, 16);
		if (*s == '-')
			v->bits = 0 - v->bits;
		else if (v->bits & ~value_mask(t))
			return NULL;
	} else if (t.kind == 'f') {
		v->bits = value_from_double(t, strtod(s, &end));
		errno = 0;
	} else {
		v->bits = strtoull(p, &end, 10);
		if (*s == '-')
			v->bits = 0 - v->bits;
	}
	v->bits &= value_mask(t);
	return end == p || errno ? NULL : end;
}

/*
 * Fills out[0..count) from a list; "..." not needed: ramp, mod and fill take what is left.
 * Returns NULL or the place that does not parse. A list that is too short or long is an error.
 */
static const char *parse_values(const char *s, const char *stop, struct vtype t,
				struct value *out, size_t count, value_symbol lookup, void *owner)
{
	size_t n = 0;

	while ((s = skip_blank(s)) < stop) {
		struct value v, w = { 0, V_EXACT };
		const char *start = s;
		int gen = !strncmp(s, "ramp(", 5) ? 1 : !strncmp(s, "mod(", 4) ? 2 :
			  !strncmp(s, "fill(", 5) ? 3 : 0;

		if (gen) {
			s = strchr(s, '(') + 1;
			s = parse_literal(s, t, &v, lookup, owner);
			if (s && gen != 3)
				s = parse_literal(skip_blank(s), t, &w, lookup, owner);
			if (!s || *s != ')' || (gen == 2 && value_signed(t, w.bits) == 0))
				return start;
			s++;
			for (size_t i = 0; n < count; i++, n++) {
				out[n] = v;
				if (gen == 1 && t.kind == 'f')
					out[n].bits = value_from_double(t, value_double(t, v.bits) +
							(double)i * value_double(t, w.bits));
				else if (gen == 1)
					out[n].bits = (v.bits + i * w.bits) & value_mask(t);
				else if (gen == 2)
					out[n].bits = (v.bits + i % w.bits) & value_mask(t);
			}
			continue;
		}
		s = parse_literal(s, t, &v, lookup, owner);
		if (!s)
			return start;
		if (s[0] == '.' && s[1] == '.') {
			int64_t a = value_signed(t, v.bits), b;

			s = parse_literal(s + 2, t, &w, lookup, owner);
			if (!s || t.kind == 'f')
				return start;
			b = value_signed(t, w.bits);
			for (int64_t x = a;; x += a < b ? 1 : -1) {
				if (n == count)
					return start;
				out[n++] = (struct value){ (uint64_t)x & value_mask(t), V_EXACT };
				if (x == b)
					break;
			}
		} else {
			unsigned long times = 1;

			if (*s == '*') {
				char *end;

				times = strtoul(s + 1, &end, 10);
				s = end;
			}
			while (times--) {
				if (n == count)
					return start;
				out[n++] = v;
			}
		}
		if (s < stop && !strchr(" \t,", *s))
			return s;
	}
	return n == count ? NULL : stop;
}

static int64_t float_order(struct vtype t, uint64_t bits)
{
	int64_t v = value_signed(t, bits);

	return v < 0 ? -(int64_t)(bits & value_mask(t) >> 1) : v;
}

/* tolerance < 0: units in the last place; 0: bits; > 0: relative, absolute below 1. */
static int value_matches(struct vtype t, uint64_t got, struct value want, double tolerance)
{
	double g, w;

	if (want.mode == V_ANY)
		return 1;
	if (want.mode == V_NAN)
		return isnan(value_double(t, got));
	if (got == want.bits)
		return 1;
	if (t.kind != 'f' || tolerance == 0)
		return 0;
	g = value_double(t, got);
	w = value_double(t, want.bits);
	if (isnan(g) || isnan(w) || isinf(g) || isinf(w))
		return 0;
	if (tolerance < 0)
		return fabs((double)(float_order(t, got) - float_order(t, want.bits))) <= -tolerance;
	return fabs(g - w) <= tolerance * fmax(1, fabs(w));
}

static void value_print(struct vtype t, uint64_t bits, char *out, size_t n)
{
	if (t.kind == 'f')
		snprintf(out, n, "%.9g (0x%0*llx)", value_double(t, bits), (int)t.bytes * 2,
			 (unsigned long long)bits);
	else if (t.kind == 's')
		snprintf(out, n, "%lld", (long long)value_signed(t, bits));
	else
		snprintf(out, n, "%llu (0x%llx)", (unsigned long long)bits,
			 (unsigned long long)bits);
}

#endif
