/* SPDX-License-Identifier: MIT */
/*
 * A scalar reference of the PTX ISA: reads an instruction's mnemonic ("mad.hi.sat.s32") and
 * computes one lane of it from raw operand bits. Written from the ISA document (section numbers
 * below are those of PTX ISA 8), in the plainest way; included by optest.c only.
 *
 * describe() says what operands a mnemonic has, evaluate() computes. Both return 0, or -1 for a
 * mnemonic that they do not know: nothing is guessed.
 */
#ifndef TESTS_PTX_REFERENCE_H
#define TESTS_PTX_REFERENCE_H

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "softfloat.h"

#define MAX_TOKENS 14

/* kind: u s b integers, f floats, h two f16, o bf16, O two bf16, p predicate; bits of all of it */
struct rtype {
	char kind;
	unsigned bits;
};

struct insn {
	char text[96];                  /* the mnemonic */
	char tok[MAX_TOKENS][12];
	int ntok;
	struct rtype t[2];              /* the types in it, in order */
	int nt;
	struct rtype vt;                /* the third type */
	unsigned imm;                   /* table of lop3 */
	/* operands */
	struct rtype d[2], s[5];
	int nd, ns;
	const char *body;               /* statements, with %d %e results, %a %b %c sources; or NULL */
	int written;                    /* the body is that of the form, reference_more.h */
};

enum { R_EXACT, R_ANY, R_NAN, R_BOUND };

/* What one result must be: exact bits (either of two), anything, a NaN, or near a real number. */
struct result {
	int mode;
	uint64_t bits, alt;
	double value, rel, abs;         /* R_BOUND: |got - value| <= max(rel * |value|, abs) */
	int ftz;                        /* R_BOUND: results below the normal range may be 0 */
};

static int has(const struct insn *in, const char *word)
{
	for (int i = 1; i < in->ntok; i++)
		if (in->tok[i][0] == *word && !strcmp(in->tok[i], word))
			return 1;
	return 0;
}

static int is(const struct insn *in, const char *op)
{
	return in->tok[0][0] == *op && !strcmp(in->tok[0], op);
}

static int parse_rtype(const char *s, struct rtype *t)
{
	static const struct { const char *name; struct rtype t; } odd[] = {
		{ "pred", { 'p', 1 } }, { "f16x2", { 'h', 32 } }, { "bf16", { 'o', 16 } },
		{ "bf16x2", { 'O', 32 } }, { "tf32", { 't', 32 } },
	};

	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (!strcmp(s, odd[i].name)) {
			*t = odd[i].t;
			return 0;
		}
	if (!strchr("usbf", s[0]) || !isdigit((unsigned char)s[1]))
		return -1;
	t->kind = s[0];
	t->bits = (unsigned)atoi(s + 1);
	return t->bits == 8 || t->bits == 16 || t->bits == 32 || t->bits == 64 ? 0 : -1;
}

static int split(struct insn *in, const char *text)
{
	const char *p = text;

	memset(in, 0, sizeof(*in));
	if (strlen(text) >= sizeof(in->text))
		return -1;
	strcpy(in->text, text);
	while (*p && in->ntok < MAX_TOKENS) {
		size_t n = strcspn(p, ".");
		struct rtype t;

		if (n >= sizeof(in->tok[0]))
			return -1;
		memcpy(in->tok[in->ntok], p, n);
		if (!in->ntok++)
			;
		else if (in->nt < 2 && !parse_rtype(in->tok[in->ntok - 1], &t))
			in->t[in->nt++] = t;
		else if (in->nt == 2 && !parse_rtype(in->tok[in->ntok - 1], &t))
			in->vt = t;
		p += n + (p[n] == '.');
	}
	return 0;
}

static const struct rtype U32 = { 'u', 32 }, PRED = { 'p', 1 };

static int one_of(const char *word, const char *list)
{
	for (const char *p = list, *w; ; p++) {
		for (w = word; *w && *p == *w; w++)
			p++;
		if (!*w && (*p == ' ' || !*p))
			return 1;
		while (*p && *p != ' ')
			p++;
		if (!*p)
			return 0;
	}
}

static int boolop(const struct insn *in)
{
	return has(in, "and") ? 1 : has(in, "or") ? 2 : has(in, "xor") ? 3 : 0;
}

/* Operands of in, which split() has read. */
static int describe(struct insn *in)
{
	const char *op = in->tok[0];
	struct rtype t = in->t[0], last = in->t[in->nt ? in->nt - 1 : 0], wide = t;

	if (in->nt == 0)
		return -1;
	wide.bits *= 2;
	in->nd = 1;
	in->d[0] = t;
	in->s[0] = in->s[1] = in->s[2] = t;
	if (has(in, "cc") || one_of(op, "addc subc madc")) {
		/* the carry is seen through a second instruction */
		static char body[256];
		int mad = strstr(op, "mad") != NULL, sub = op[0] == 's';
		const char *ty = in->tok[in->ntok - 1], *a = sub ? "sub" : "add";

		in->ns = 3;
		if (strchr(op, 'c') == NULL)
			snprintf(body, sizeof(body), "%s %%t, %%a, %%b%s;\n%sc.%s %%d, %s;", in->text,
				 mad ? ", %c" : "", a, ty, mad ? "%t, 0" : "%c, 0");
		else if (has(in, "cc"))
			snprintf(body, sizeof(body),
				 "%s.cc.%s %%t, %%a, %%b;\n%s %%t, %s;\n%sc.%s %%d, 0, 0;", a, ty,
				 in->text, mad ? "%a, %b, %c" : "%c, %a", a, ty);
		else
			snprintf(body, sizeof(body), "%s.cc.%s %%t, %%a, %%b;\n%s %%d, %s;", a, ty,
				 in->text, mad ? "%a, %b, %c" : "%c, %a");
		in->body = body;
		return 0;
	}
	if (one_of(op, "add sub mul24 div rem min max copysign and or xor"))
		in->ns = 2;
	else if (one_of(op, "abs neg brev not cnot rcp sqrt rsqrt sin cos lg2 ex2 tanh mov"))
		in->ns = 1;
	else if (one_of(op, "fma mad24 sad"))
		in->ns = 3;
	else if (is(in, "mul")) {
		in->ns = 2;
		if (has(in, "wide"))
			in->d[0] = wide;
	} else if (is(in, "mad")) {
		in->ns = 3;
		if (has(in, "wide"))
			in->d[0] = in->s[2] = wide;
	} else if (one_of(op, "popc clz bfind")) {
		in->ns = 1;
		in->d[0] = U32;
	} else if (is(in, "bfe")) {
		in->ns = 3;
		in->s[1] = in->s[2] = U32;
	} else if (is(in, "bfi")) {
		in->ns = 4;
		in->s[2] = in->s[3] = U32;
	} else if (one_of(op, "fns lop3 shf prmt dp4a dp2a")) {
		in->ns = 3;
		in->d[0] = in->s[0] = in->s[1] = in->s[2] = U32;
	} else if (one_of(op, "szext bmsk")) {
		in->ns = 2;
		in->s[1] = U32;
	} else if (one_of(op, "shl shr")) {
		in->ns = 2;
		in->s[1] = U32;
	} else if (is(in, "testp")) {
		in->ns = 1;
		in->d[0] = PRED;
	} else if (is(in, "setp")) {
		in->ns = boolop(in) ? 3 : 2;
		in->s[2] = PRED;
		in->d[0] = in->d[1] = PRED;
		in->nd = t.kind == 'h' || t.kind == 'O' || boolop(in) ? 2 : 1;
	} else if (is(in, "set")) {
		in->ns = boolop(in) ? 3 : 2;
		in->s[0] = in->s[1] = last;
		in->s[2] = PRED;
	} else if (is(in, "selp")) {
		in->ns = 3;
		in->s[2] = PRED;
	} else if (is(in, "slct")) {
		in->ns = 3;
		in->s[2] = last;
	} else if (is(in, "cvt")) {
		in->ns = t.kind == 'h' || t.kind == 'O' ? 2 : 1;
		if (in->nt != 2)
			return -1;
		in->s[0] = in->s[1] = last;
		if (has(in, "tf32"))
			in->d[0] = (struct rtype){ 'b', 32 };
	} else {
		return -1;
	}
	return 0;
}

/* ---- integers ------------------------------------------------------------------------------- */

static uint64_t mask_of(unsigned bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

static int64_t sext(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* An operand as a number, of 128 bits so that no product of two overflows. */
static __int128 number(uint64_t v, struct rtype t)
{
	return t.kind == 's' ? (__int128)sext(v, t.bits) : (__int128)(v & mask_of(t.bits));
}

static uint64_t clamp128(__int128 v, struct rtype t)
{
	__int128 lo = t.kind == 's' ? -((__int128)1 << (t.bits - 1)) : 0;
	__int128 hi = ((__int128)1 << (t.bits - (t.kind == 's'))) - 1;

	return (uint64_t)(v < lo ? lo : v > hi ? hi : v);
}

static int compare(const char *c, int less, int equal, int nan)
{
	if (!strcmp(c, "num"))
		return !nan;
	if (!strcmp(c, "nan"))
		return nan;
	if (nan)
		return strlen(c) == 3 && c[2] == 'u';
	if (!strncmp(c, "eq", 2))
		return equal;
	if (!strncmp(c, "ne", 2))
		return !equal;
	if (!strncmp(c, "lt", 2) || !strcmp(c, "lo"))
		return less;
	if (!strncmp(c, "le", 2) || !strcmp(c, "ls"))
		return less || equal;
	if (!strncmp(c, "gt", 2) || !strcmp(c, "hi"))
		return !less && !equal;
	return !less;
}

/* bfe and bfi: only the low byte of position and length counts (9.7.1.18, 9.7.1.19) */
static uint64_t ref_bfe(uint64_t a, uint64_t b, uint64_t c, struct rtype t)
{
	unsigned pos = b & 255, len = c & 255, msb = t.bits - 1, top = pos + len - 1;
	uint64_t r = 0, sign = 0;

	if (t.kind == 's' && len != 0)
		sign = a >> (top < msb ? top : msb) & 1;
	for (unsigned i = 0; i <= msb; i++)
		r |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
	return r;
}

static uint64_t ref_bfi(uint64_t a, uint64_t b, uint64_t c, uint64_t d, unsigned bits)
{
	unsigned pos = c & 255, len = d & 255;

	for (unsigned i = 0; i < len && pos + i < bits; i++)
		b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static uint64_t ref_prmt(const struct insn *in, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t all = (a & 0xffffffff) | b << 32, r = 0;
	unsigned s = c & 3;

	for (unsigned i = 0; i < 4; i++) {
		unsigned k, sign = 0;
		uint64_t byte;

		if (has(in, "f4e"))
			k = s + i;
		else if (has(in, "b4e"))
			k = (s - i) & 7;
		else if (has(in, "rc8"))
			k = s;
		else if (has(in, "ecl"))
			k = i > s ? i : s;
		else if (has(in, "ecr"))
			k = i < s ? i : s;
		else if (has(in, "rc16"))
			k = (s & 1) * 2 + (i & 1);
		else
			k = c >> 4 * i & 7, sign = c >> 4 * i & 8;
		byte = all >> 8 * k & 255;
		if (sign)
			byte = byte & 128 ? 255 : 0;
		r |= byte << 8 * i;
	}
	return r;
}

static uint64_t ref_fns(uint32_t mask, uint32_t base, int32_t offset)
{
	int64_t step = offset < 0 ? -1 : 1, need = offset < 0 ? -(int64_t)offset : offset;

	if (need == 0)
		return base < 32 && mask >> base & 1 ? base : 0xffffffff;
	for (int64_t i = base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && --need == 0)
			return (uint64_t)i;
	return 0xffffffff;
}

static uint64_t ref_dot(const struct insn *in, uint64_t a, uint64_t b, uint64_t c)
{
	int two = is(in, "dp2a"), n = two ? 2 : 4;
	uint64_t r = c;

	for (int i = 0; i < n; i++) {
		uint64_t x = two ? a >> 16 * i : a >> 8 * i;
		uint64_t y = b >> (8 * i + (two && has(in, "hi") ? 16 : 0));
		int64_t xi = two ? (in->t[0].kind == 's' ? sext(x, 16) : (int64_t)(x & 0xffff)) :
				   (in->t[0].kind == 's' ? sext(x, 8) : (int64_t)(x & 0xff));
		int64_t yi = in->t[1].kind == 's' ? sext(y, 8) : (int64_t)(y & 0xff);

		r += (uint64_t)(xi * yi);
	}
	return r;
}

/* Carry chains: the body in describe() says which sums are formed. */
static uint64_t ref_carry(const struct insn *in, uint64_t a, uint64_t b, uint64_t c)
{
	struct rtype t = in->t[0];
	unsigned n = t.bits;
	uint64_t m = mask_of(n), first, sum;
	int sub = in->tok[0][0] == 's', mad = in->tok[0][0] == 'm', in_c;
	u128 wide, add;
	/* modulo 2^128, which is all that is looked at */
	__int128 product = (__int128)((u128)number(a, t) * (u128)number(b, t));

	a &= m, b &= m, c &= m;
	wide = has(in, "hi") ? (u128)(product >> n) & m : (u128)product & m;
	in_c = sub ? a < b : (u128)a + b > m;
	if (strchr(in->tok[0], 'c') == NULL) {
		if (mad) {
			add = wide + c;
			return ((uint64_t)add & m) + (add > m);
		}
		return sub ? c - (uint64_t)in_c : c + (uint64_t)in_c;
	}
	if (mad) {
		add = wide + c + (unsigned)in_c;
		return has(in, "cc") ? add > m : (uint64_t)add;
	}
	if (sub) {
		first = c - a - (uint64_t)in_c;
		return has(in, "cc") ? ((u128)a + (unsigned)in_c > c ? m : 0) : first;
	}
	sum = c + a + (uint64_t)in_c;
	return has(in, "cc") ? (u128)c + a + (unsigned)in_c > m : sum;
}

static uint64_t ref_integer(const struct insn *in, const uint64_t *s, struct result *r)
{
	struct rtype t = in->t[0];
	unsigned n = t.bits;
	uint64_t a = s[0] & mask_of(n), b = s[1] & mask_of(n), m = mask_of(n);
	__int128 x = number(a, t), y = number(b, t), z;
	int isat = has(in, "sat"), hi = has(in, "hi");

	if (has(in, "cc") || one_of(in->tok[0], "addc subc madc"))
		return ref_carry(in, s[0], s[1], s[2]);
	if (t.bits == 32 && has(in, "u16x2")) {
		r->mode = R_ANY;
		return 0;
	}
	if (is(in, "add"))
		return isat ? clamp128(x + y, t) : (uint64_t)(x + y);
	if (is(in, "sub"))
		return isat ? clamp128(x - y, t) : (uint64_t)(x - y);
	if (is(in, "mul") || is(in, "mad")) {
		z = is(in, "mad") ? number(s[2], in->s[2]) : 0;
		if (hi) {
			/* unsigned 64 x 64 fills 128 bits: shift as unsigned */
			__int128 h = t.kind == 's' ? (x * y) >> n :
				     (__int128)(((u128)x * (u128)y) >> n);

			return isat ? clamp128(h + z, t) : (uint64_t)(h + z);
		}
		return (uint64_t)((u128)x * (u128)y + (u128)z);
	}
	if (is(in, "mul24") || is(in, "mad24")) {
		struct rtype q = { t.kind, 24 };

		z = number(a, q) * number(b, q);
		z = hi ? z >> 16 : z;
		z = (__int128)(t.kind == 's' ? sext((uint64_t)z, 32) : (int64_t)((uint64_t)z & m));
		if (is(in, "mad24"))
			z += number(s[2], t);
		return isat ? clamp128(z, t) : (uint64_t)z;
	}
	if (is(in, "sad"))
		return s[2] + (uint64_t)(x > y ? x - y : y - x);
	if (is(in, "div") || is(in, "rem")) {
		/* by zero: an unspecified value (9.7.1.9); so is the quotient that overflows */
		if (y == 0 || (y == -1 && x == -((__int128)1 << (n - 1)))) {
			r->mode = R_ANY;
			return 0;
		}
		return (uint64_t)(is(in, "div") ? x / y : x % y);
	}
	if (is(in, "abs"))
		return (uint64_t)(x < 0 ? -x : x);
	if (is(in, "neg"))
		return (uint64_t)-x;
	if (is(in, "min") || is(in, "max")) {
		z = is(in, "min") == (x < y) ? x : y;
		return has(in, "relu") && z < 0 ? 0 : (uint64_t)z;
	}
	if (is(in, "popc"))
		return (uint64_t)__builtin_popcountll(a);
	if (is(in, "clz"))
		return a ? (uint64_t)__builtin_clzll(a) - (64 - n) : n;
	if (is(in, "bfind")) {
		uint64_t v = t.kind == 's' && x < 0 ? ~a & m : a;

		if (!v)
			return 0xffffffff;
		v = 63 - (uint64_t)__builtin_clzll(v);
		return has(in, "shiftamt") ? n - 1 - v : v;
	}
	if (is(in, "fns") && (s[1] & 0xffffffff) > 31) {
		r->mode = R_ANY;        /* the base is a bit number */
		return 0;
	}
	if (is(in, "fns"))
		return ref_fns((uint32_t)s[0], (uint32_t)s[1], (int32_t)s[2]);
	if (is(in, "brev")) {
		uint64_t v = 0;

		for (unsigned i = 0; i < n; i++)
			v |= (a >> i & 1) << (n - 1 - i);
		return v;
	}
	if (is(in, "bfe"))
		return ref_bfe(a, s[1], s[2], t);
	if (is(in, "bfi"))
		return ref_bfi(a, b, s[2], s[3], n);
	if (is(in, "bmsk") || is(in, "szext")) {
		uint64_t pos = s[is(in, "szext")] & 0xffffffff, len = s[1] & 0xffffffff, v;

		if (is(in, "szext")) {
			len = has(in, "wrap") ? pos & 31 : pos > 32 ? 32 : pos;
			if (len == 0)
				return 0;
			return t.kind == 's' ? (uint64_t)sext(a, (unsigned)len) :
			       a & mask_of((unsigned)len);
		}
		pos = has(in, "wrap") ? pos & 31 : pos > 32 ? 32 : pos;
		len = has(in, "wrap") ? len & 31 : len > 32 ? 32 : len;
		v = mask_of((unsigned)len);
		return pos > 31 ? 0 : v << pos;
	}
	if (is(in, "dp4a") || is(in, "dp2a"))
		return ref_dot(in, s[0], s[1], s[2]);
	if (is(in, "and"))
		return a & b;
	if (is(in, "or"))
		return a | b;
	if (is(in, "xor"))
		return a ^ b;
	if (is(in, "not"))
		return ~a;
	if (is(in, "cnot"))
		return a == 0;
	if (is(in, "lop3")) {
		uint64_t v = 0;

		for (int i = 0; i < 32; i++) {
			unsigned k = (unsigned)((s[0] >> i & 1) * 4 + (s[1] >> i & 1) * 2 + (s[2] >> i & 1));

			v |= (uint64_t)(in->imm >> k & 1) << i;
		}
		return v;
	}
	if (is(in, "shf")) {
		uint64_t v = (s[1] << 32) | (s[0] & 0xffffffff), k = s[2] & 0xffffffff;

		k = has(in, "wrap") ? k & 31 : k > 32 ? 32 : k;
		return has(in, "l") ? (uint64_t)(((u128)v << k) >> 32) : v >> k;
	}
	if (is(in, "shl") || is(in, "shr")) {
		uint64_t k = s[1] & 0xffffffff;

		if (is(in, "shl"))
			return k >= n ? 0 : a << k;
		if (k >= n)
			return t.kind == 's' && x < 0 ? m : 0;
		return (uint64_t)(x >> k);
	}
	if (is(in, "prmt"))
		return ref_prmt(in, s[0], s[1], s[2]);
	if (is(in, "mov"))
		return a;
	r->mode = -1;
	return 0;
}

#endif
