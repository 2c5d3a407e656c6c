/* SPDX-License-Identifier: MIT */
/*
 * The video instructions as PTX ISA 9.7.15 and 9.7.16 describe them: operands are taken apart into numbers, the result is
 * put together from its definition. Selectors are read from the statement of the form. Included by reference_more.h.
 */
#ifndef TESTS_PTX_REFERENCE_VIDEO_H
#define TESTS_PTX_REFERENCE_VIDEO_H

#include "reference_float.h"

/* What stands behind operand %x in the form: "b3210", "h1" or nothing. */
static void video_selector(const struct insn *in, char x, char *out, int *minus)
{
	const char *p = in->body;
	size_t n = 0;

	while ((p = strchr(p, '%')) && p[1] != x)
		p++;
	*minus = p && p > in->body && p[-1] == '-';
	if (p && p[2] == '.')
		n = strspn(p + 3, "bh01234567");
	memcpy(out, p ? p + 3 : "", n);
	out[n] = 0;
}

static __int128 video_part(uint64_t v, const char *sel, struct rtype t)
{
	unsigned k = sel[0] ? (unsigned)(sel[1] - '0') : 0;

	if (sel[0] == 'b')
		return number(v >> 8 * k & 0xff, (struct rtype){ t.kind, 8 });
	if (sel[0] == 'h')
		return number(v >> 16 * k & 0xffff, (struct rtype){ t.kind, 16 });
	return number(v & 0xffffffff, t);
}

static __int128 video_op(const struct insn *in, const char *op, __int128 a, __int128 b)
{
	if (!strcmp(op, "vadd"))
		return a + b;
	if (!strcmp(op, "vsub"))
		return a - b;
	if (!strcmp(op, "vavrg"))       /* halves go up where the sum is not negative */
		return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
	if (!strcmp(op, "vabsdiff"))
		return a > b ? a - b : b - a;
	if (!strcmp(op, "vmin"))
		return a < b ? a : b;
	if (!strcmp(op, "vmax"))
		return a > b ? a : b;
	if (!strcmp(op, "vset")) {
		for (int i = 1; i < in->ntok; i++)
			if (one_of(in->tok[i], "eq ne lt le gt ge"))
				return compare(in->tok[i], a < b, a == b, 0);
	}
	if (has(in, "clamp"))
		b = b > 32 ? 32 : b;
	else
		b &= 31;
	return !strcmp(op, "vshl") ? a * ((__int128)1 << b) : a >> b;
}

static uint64_t ref_vmad(const struct insn *in, const uint64_t *s, __int128 a, __int128 b, int na, int nb, int nc)
{
	int is_signed = in->t[1].kind == 's' || in->vt.kind == 's' || (na ^ nb) || nc, shift = has(in, "shr7") ? 7 : has(in, "shr15") ? 15 : 0;
	__int128 product = a * b, c = number(s[2], (struct rtype){ is_signed ? 's' : 'u', 32 }), r;

	/* -x is ~x + 1: the product or c is negated, or .po adds the one to a - x that is not negated */
	if (has(in, "po"))
		r = product + c + 1;
	else if (na ^ nb)
		r = c - product;
	else if (nc)    /* ~c is taken as it stands in 32 bits, then extended */
		r = product + number(~s[2] & 0xffffffff, (struct rtype){ 's', 32 }) + 1;
	else
		r = product + c;
	r = r >> shift;
	r = is_signed ? (__int128)(int64_t)r : (__int128)(uint64_t)r;
	if (has(in, "sat"))
		return clamp128(r, (struct rtype){ is_signed ? 's' : 'u', 32 });
	return (uint64_t)r;
}

static int ref_video(const struct insn *in, const uint64_t *s, struct result *r)
{
	char op[12], dsel[8], asel[8], bsel[8];
	int na, nb, nc, nd, set, sat = has(in, "sat");
	struct rtype dt = in->t[0], at = in->t[1], bt = in->vt;
	size_t n = strlen(in->tok[0]);
	unsigned count = in->tok[0][n - 1] == '2' ? 2 : in->tok[0][n - 1] == '4' ? 4 : 1, bits = 32 / count;
	uint64_t d;
	__int128 t;

	strcpy(op, in->tok[0]);
	if (count > 1)
		op[n - 1] = 0;
	set = !strcmp(op, "vset");
	if (set) {
		bt = at;
		at = dt;
		dt = (struct rtype){ 'u', 32 };
	}
	video_selector(in, 'd', dsel, &nd);
	video_selector(in, 'a', asel, &na);
	video_selector(in, 'b', bsel, &nb);
	if (count == 1) {
		__int128 a = video_part(s[0], asel, at), b = video_part(s[1], bsel, bt), c = number(s[2] & 0xffffffff, dt);
		struct rtype part = { dt.kind, dsel[0] == 'b' ? 8 : dsel[0] == 'h' ? 16 : 32 };

		if (!strcmp(op, "vmad")) {
			char none[8];

			video_selector(in, 'c', none, &nc);
			r->bits = r->alt = ref_vmad(in, s, a, b, na, nb, nc);
			return 0;
		}
		t = video_op(in, op, a, b);
		if (sat)
			t = dt.kind == 's' ? sext(clamp128(t, part), 64) : (__int128)clamp128(t, part);
		d = (uint64_t)t & 0xffffffff;
		if (dsel[0]) {
			unsigned at_bit = part.bits * (unsigned)(dsel[1] - '0');

			d = (s[2] & ~(mask_of(part.bits) << at_bit)) | (d & mask_of(part.bits)) << at_bit;
		} else if (in->ns == 3) {
			t = number(d, dt);
			d = (uint64_t)(has(in, "add") ? t + c : has(in, "min") ? (t < c ? t : c) : (t > c ? t : c));
		}
		r->bits = r->alt = d & 0xffffffff;
		return 0;
	}
	d = s[2] & 0xffffffff;
	for (unsigned i = 0; i < count; i++) {
		uint64_t both = (s[1] & 0xffffffff) << 32 | (s[0] & 0xffffffff);
		unsigned ka = asel[0] ? (unsigned)(asel[count - i] - '0') : i, kb = bsel[0] ? (unsigned)(bsel[count - i] - '0') : i + count;

		if (dsel[0] && !strchr(dsel + 1, (char)('0' + i)))
			continue;
		t = video_op(in, op, number(both >> bits * ka, (struct rtype){ at.kind, bits }),
			     number(both >> bits * kb, (struct rtype){ bt.kind, bits }));
		if (sat)
			t = (__int128)(int64_t)clamp128(t, (struct rtype){ dt.kind, bits });
		if (has(in, "add"))
			d += (uint64_t)t;
		else
			d = (d & ~(mask_of(bits) << bits * i)) | ((uint64_t)t & mask_of(bits)) << bits * i;
	}
	r->bits = r->alt = d & 0xffffffff;
	return 0;
}

#endif
