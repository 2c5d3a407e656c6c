/* SPDX-License-Identifier: MIT */
/*
 * The video instructions (PTX ISA 9.7.15, 9.7.16): arithmetic on bytes and halves that selectors pick out of registers,
 * in one lane. Lowering, which packs everything that the text fixes into imm, and the executor.
 */
#include <string.h>

#include "front.h"
#include "gen.h"

/*
 * imm, from the lowest bit on: 8 bits number of elements (1: a scalar instruction), 16 bits each what a and b select,
 * four bits an element; 4 bits the elements that are written, or of a scalar one what d selects; then what is negated.
 * A scalar selector is 0: all, 1 to 4: byte 0 to 3, 5 and 6: half 0 and 1; others name a byte or half of {b, a}.
 */
#define ASEL 8
#define BSEL 24
#define DSEL 40
#define NEG_AB (1ull << 44)
#define NEG_C (1ull << 45)
#define PLUS_ONE (1ull << 46)

/* .b0, .h1; false: none of these */
static bool scalar_selector(const struct operand *o, u32 *sel)
{
	*sel = 0;
	if (!o->nsel)
		return true;
	if (o->nsel != 2 || o->sel[1] < '0' || o->sel[1] > (o->sel[0] == 'b' ? '3' : '1') || !strchr("bh", o->sel[0]))
		return false;
	*sel = (o->sel[0] == 'b' ? 1u : 5u) + (u32)(o->sel[1] - '0');
	return true;
}

/* .h10, .b7540: elements of {b, a}, the highest first. */
static bool simd_selector(const struct operand *o, u32 n, u32 usual, u32 *sel)
{
	u32 i;

	*sel = usual;
	if (!o->nsel)
		return true;
	if (o->nsel != n + 1 || o->sel[0] != (n == 2 ? 'h' : 'b'))
		return false;
	for (*sel = i = 0; i < n; i++) {
		u32 k = (u32)(o->sel[i + 1] - '0');

		if (k >= 2 * n)
			return false;
		*sel = *sel << 4 | k;
	}
	return true;
}

/* .h10, .b31: each element once, the highest first. */
static bool simd_mask(const struct operand *o, u32 n, u32 *mask)
{
	u32 i, last = n;

	*mask = (1u << n) - 1;
	if (!o->nsel)
		return true;
	if (o->nsel < 2 || o->nsel > n + 1 || o->sel[0] != (n == 2 ? 'h' : 'b'))
		return false;
	for (*mask = 0, i = 1; i < o->nsel; i++) {
		u32 k = (u32)(o->sel[i] - '0');

		if (k >= last)
			return false;
		*mask |= 1u << k;
		last = k;
	}
	return true;
}

static u32 video_source(struct comp *c, struct stmt *st, struct operand *o, enum type t)
{
	if (o->kind == O_REG ? o->type == T_PRED || type_bytes(o->type) != 4 || type_is_float(o->type) : o->kind != O_INT)
		FAIL_AT(c, st, "%s: a 32-bit integer register or a number expected", st->od->name);
	return src(c, st, o, t);
}

void lower_video(struct comp *c, struct stmt *st)
{
	u32 id = st->od->id, n = st->od->lop, i, asel, bsel, dsel, s[3] = { OPND_NONE, OPND_NONE, OPND_NONE };
	bool set = st->mod[MC_CMP], mad = id == OPID_VMAD, shift = id == OPID_VSHL || id == OPID_VSHR;
	enum type a = st->type[!set], b = st->type[1 + !set], d = set ? T_U32 : st->type[0];
	struct operand *o = st->op;
	struct insn *in;
	bool ok;

	ok = st->ntype == (set ? 2u : 3u) && (st->nops == 4 || (st->nops == 3 && n == 1 && !mad)) &&
	     (id == OPID_VSET || id == OPID_VSET2 || id == OPID_VSET4) == set && (!shift || (b == T_U32 && st->mod[MC_CLAMP]));
	for (i = 0; i < st->ntype; i++)
		ok = ok && (st->type[i] == T_U32 || st->type[i] == T_S32);
	if (!ok)
		FAIL_AT(c, st, "%s: wrong types, modifiers or number of operands", st->od->name);
	if (set && st->mod[MC_CMP] > CMP_GE)
		FAIL_AT(c, st, "%s: this comparison is one of floats", st->od->name);
	if (n == 1)
		ok = scalar_selector(&o[0], &dsel) && scalar_selector(&o[1], &asel) && scalar_selector(&o[2], &bsel);
	else
		ok = simd_mask(&o[0], n, &dsel) && simd_selector(&o[1], n, n == 2 ? 0x10 : 0x3210, &asel) &&
		     simd_selector(&o[2], n, n == 2 ? 0x32 : 0x7654, &bsel);
	if (!ok || (st->nops == 4 && o[3].nsel) || (mad && dsel))
		FAIL_AT(c, st, "%s: bad selector", st->od->name);
	if (n == 1 && !mad && (st->nops == 4) != (dsel || st->mod[MC_ATOM]))
		FAIL_AT(c, st, "%s: a third source goes with a second operation or a selector of the result", st->od->name);
	if (n == 1 && dsel && st->mod[MC_ATOM])
		FAIL_AT(c, st, "%s: either a second operation or a selector of the result", st->od->name);
	if (st->mod[MC_ATOM] > ATOM_MAX || (n > 1 && st->mod[MC_ATOM] > ATOM_ADD))
		FAIL_AT(c, st, "%s: bad second operation", st->od->name);
	if (!mad && (o[1].minus || o[2].minus || (st->nops == 4 && o[3].minus)))
		FAIL_AT(c, st, "%s: '-' is not permitted here", st->od->name);
	if (o[0].kind != O_SINK && (o[0].kind != O_REG || o[0].type == T_PRED || type_bytes(o[0].type) != 4))
		FAIL_AT(c, st, "%s: the destination must be a 32-bit register", st->od->name);
	s[0] = video_source(c, st, &o[1], a);
	s[1] = video_source(c, st, &o[2], b);
	if (st->nops == 4)
		s[2] = video_source(c, st, &o[3], d);
	in = emit(c, K_GEN);
	in->u.gen = gen_video;
	in->lop = (u8)id;
	in->o[0] = dst(&o[0]);
	for (i = 0; i < 3; i++)
		in->o[i + 1] = s[i];
	in->def = in->o[0] != OPND_NONE;
	in->use = s[2] == OPND_NONE ? 6 : 14;
	in->type = (u8)d;
	in->stype = (u8)a;
	in->size = type_is_signed(b);
	in->sub = st->mod[MC_ATOM];
	in->sub2 = shift ? st->mod[MC_CLAMP] : set ? st->mod[MC_CMP] : st->mod[MC_SCALE];
	in->flags = st->mod[MC_SAT] ? INF_SAT : 0;
	in->imm = (s64)(n | (u64)asel << ASEL | (u64)bsel << BSEL | (u64)dsel << DSEL | (o[1].minus != o[2].minus ? NEG_AB : 0) |
			(st->nops == 4 && o[3].minus ? NEG_C : 0) | (st->mod[MC_PO] ? PLUS_ONE : 0));
	if (in->o[0] == OPND_NONE)
		in->kind = K_NOP;
}

/* ---- executor ----------------------------------------------------------------------------------- */

static s64 extend(u32 v, u32 bits, bool sg)
{
	return sg ? (s64)((u64)v << (64 - bits)) >> (64 - bits) : (s64)(v & (u32)((1ull << bits) - 1));
}

static s64 pick_scalar(u32 v, u32 sel, bool sg)
{
	return sel == 0 ? extend(v, 32, sg) : sel < 5 ? extend(v >> 8 * (sel - 1), 8, sg) : extend(v >> 16 * (sel - 5), 16, sg);
}

static s64 pick_simd(u32 a, u32 b, u32 sel, u32 n, bool sg)
{
	u32 bits = 32 / n;

	return extend((u32)(((u64)b << 32 | a) >> bits * sel), bits, sg);
}

static __int128 clamp(__int128 v, u32 bits, bool sg)
{
	__int128 min = sg ? -((__int128)1 << (bits - 1)) : 0, max = ((__int128)1 << (bits - sg)) - 1;

	return v < min ? min : v > max ? max : v;
}

static bool holds(u32 cmp, s64 a, s64 b)
{
	switch (cmp) {
	case CMP_EQ: return a == b;
	case CMP_NE: return a != b;
	case CMP_LT: return a < b;
	case CMP_LE: return a <= b;
	case CMP_GT: return a > b;
	}
	return a >= b;
}

/* The operation proper, on numbers of at most 33 bits. */
static __int128 operate(const struct insn *in, s64 a, s64 b)
{
	s64 sum = a + b;

	switch (in->lop) {
	case OPID_VADD: case OPID_VADD2: case OPID_VADD4: return sum;
	case OPID_VSUB: case OPID_VSUB2: case OPID_VSUB4: return a - b;
	case OPID_VAVRG2: case OPID_VAVRG4: return (sum + (sum >= 0)) >> 1;
	case OPID_VABSDIFF: case OPID_VABSDIFF2: case OPID_VABSDIFF4: return a < b ? b - a : a - b;
	case OPID_VMIN: case OPID_VMIN2: case OPID_VMIN4: return a < b ? a : b;
	case OPID_VMAX: case OPID_VMAX2: case OPID_VMAX4: return a > b ? a : b;
	case OPID_VSHL:
	case OPID_VSHR:
		b = in->sub2 == 2 ? b & 31 : b > 32 ? 32 : b;
		return in->lop == OPID_VSHL ? (__int128)a * ((__int128)1 << b) : (__int128)(a >> b);
	}
	return holds(in->sub2, a, b);
}

/* vmad: what is negated is the product or c, as a complement and one more. */
static u32 multiply(const struct insn *in, s64 a, s64 b, u32 c)
{
	bool neg = in->imm & (s64)NEG_AB, neg_c = in->imm & (s64)NEG_C, po = in->imm & (s64)PLUS_ONE;
	bool sg = type_is_signed(in->stype) || in->size || neg || neg_c;
	unsigned __int128 t = (unsigned __int128)((__int128)a * b);
	__int128 r;

	if (!po && neg)
		t = ~t;
	else if (!po && neg_c)
		c = ~c;
	t += (unsigned __int128)(__int128)extend(c, 32, sg) + (po || neg || neg_c);
	t >>= in->sub2;
	r = sg ? (__int128)(s64)(u64)t : (__int128)(u64)t;
	return (u32)(in->flags & INF_SAT ? clamp(r, 32, sg) : r);
}

static u32 scalar(const struct insn *in, u32 va, u32 vb, u32 vc)
{
	s64 a = pick_scalar(va, in->imm >> ASEL & 15, type_is_signed(in->stype)), b = pick_scalar(vb, in->imm >> BSEL & 15, in->size);
	u32 dsel = in->imm >> DSEL & 15, bits = dsel == 0 ? 32 : dsel < 5 ? 8 : 16, at = dsel == 0 ? 0 : dsel < 5 ? 8 * (dsel - 1) : 16 * (dsel - 5);
	bool sg = type_is_signed(in->type);
	u32 mask = (u32)((1ull << bits) - 1);
	__int128 t;
	s64 r, c;

	if (in->lop == OPID_VMAD)
		return multiply(in, a, b, vc);
	t = operate(in, a, b);
	if (in->flags & INF_SAT)
		t = clamp(t, bits, sg);
	if (dsel)
		return (vc & ~(mask << at)) | ((u32)t & mask) << at;
	r = extend((u32)t, 32, sg);
	c = extend(vc, 32, sg);
	switch (in->sub) {
	case ATOM_ADD: return (u32)(r + c);
	case ATOM_MIN: return (u32)(r < c ? r : c);
	case ATOM_MAX: return (u32)(r > c ? r : c);
	}
	return (u32)r;
}

static u32 simd(const struct insn *in, u32 va, u32 vb, u32 vc)
{
	u32 n = in->imm & 255, bits = 32 / n, mask = (u32)((1ull << bits) - 1), i, d = vc;

	for (i = 0; i < n; i++) {
		s64 a = pick_simd(va, vb, in->imm >> (ASEL + 4 * i) & 7, n, type_is_signed(in->stype));
		s64 b = pick_simd(va, vb, in->imm >> (BSEL + 4 * i) & 7, n, in->size);
		__int128 t = operate(in, a, b);

		if (!(in->imm >> (DSEL + i) & 1))
			continue;
		if (in->flags & INF_SAT)
			t = clamp(t, bits, type_is_signed(in->type));
		if (in->sub == ATOM_ADD)
			d += (u32)t;
		else
			d = (d & ~(mask << bits * i)) | ((u32)t & mask) << bits * i;
	}
	return d;
}

void gen_video(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u32 *a = opnd(f, in->o[1]), *b = opnd(f, in->o[2]), *c = in->o[3] == OPND_NONE ? a : opnd(f, in->o[3]);
	u32 *d = opnd(f, in->o[0]), l;

	(void)ts;
	for (; m; m &= m - 1) {
		l = (u32)__builtin_ctz(m);
		d[l] = ((in->imm & 255) == 1 ? scalar : simd)(in, a[l], b[l], c[l]);
	}
}
