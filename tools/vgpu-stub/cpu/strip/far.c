/* SPDX-License-Identifier: MIT */
/*
 * How far the scalars of a warp's strips are from the first one's: known now for numbers of threads and lanes and what is made of them, and none for what is the same for all.
 * Numbered in swhole.delta; whole.c, round.c and warp.c compute the first strip's alone.
 */
#include "whole.h"

#define MAX_DELTA (1 << 24)

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

static bool flat(const s64 *d) { return !d[1] && !d[2] && !d[3]; }

/* Not a constant that is another one for each strip, as lanes' numbers are: nobody knows here how it differs. */
bool whole_same(const struct scomp *c, u32 o, u8 w)
{
	struct sval v = s_val(c, o, w);

	return o == OPND_NONE || !(o & OPND_CONST) || v.cls != SC_SCALAR || v.known || v.all;
}

static bool carried(const struct swhole *h, u32 v)
{
	u32 i;

	for (i = 0; i < h->ncarried && h->carried[i].o != v; i++)
		;
	return i < h->ncarried;
}

static bool delta_of(const struct scomp *c, u32 o, u8 w, s64 *d)
{
	const struct swhole *h = c->whole_way;
	struct sval v = s_val(c, o, w);
	u32 s;

	memset(d, 0, STRIPS * sizeof(*d));
	if (o == OPND_NONE || v.known)
		return true;
	if (o & OPND_CONST)
		return v.cls == SC_SCALAR && v.all;
	if (v.cls != SC_SCALAR || !c->r[o].v.far)
		return false;
	for (s = 0; s < STRIPS; s++)
		d[s] = h->delta[c->r[o].v.far][s];
	return true;
}

u32 whole_far(struct scomp *c, const s64 *d)
{
	struct swhole *h = c->whole_way;
	u32 i, s;

	for (s = 0; s < STRIPS; s++)
		if (d[s] > MAX_DELTA || d[s] < -MAX_DELTA)
			return 0;
	for (i = 1; i < h->ndelta; i++) {
		for (s = 0; s < STRIPS && h->delta[i][s] == d[s]; s++)
			;
		if (s == STRIPS)
			break;
	}
	if (i == sizeof(h->delta) / sizeof(h->delta[0]))
		return 0;
	for (s = 0; s < STRIPS; s++)
		h->delta[i][s] = (s32)d[s];
	if (i == h->ndelta)
		h->ndelta++;
	return i;
}

bool whole_set_delta(struct scomp *c, u32 v, const s64 *d)
{
	struct swhole *h = c->whole_way;
	u32 i = whole_far(c, d);

	if (!i)
		return false;
	/* a second definition of it would be another value; that of the next round is as far away */
	if (c->r[v].v.far)
		return carried(h, v) && c->r[v].v.far == i;
	c->r[v].v.far = (u8)i;
	return true;
}

static bool sreg_delta(const struct scomp *c, u8 sr, s64 *d)
{
	/* short rows: those of a warp are of one plane (jit_spec()) */
	u32 shape = c->spec & 255, x = 1u << spec_log2(c->spec), s;
	bool rows = shape == SPEC_POW2 && x < LANES;

	if (shape != SPEC_LINEAR && shape != SPEC_LINE && shape != SPEC_POW2)
		return false;
	memset(d, 0, STRIPS * sizeof(*d));
	for (s = 0; s < STRIPS; s++)
		switch (spec_sreg(c->spec, sr)) {
		case SR_TID_X: d[s] = rows ? STRIP * s % x : STRIP * s; break;
		case SR_TID_Y: d[s] = rows ? STRIP * s / x : 0; break;
		case SR_LANEID: d[s] = STRIP * s; break;
		}
	return true;
}

/* A part of a number whose first strip's is a multiple of a power of two, which the lanes' of the warp do not reach: tid & 31. by: how far the strip's is from the first one's. */
static bool in_low_bits(const struct scomp *c, const struct insn *in, s64 by, s64 *d)
{
	const struct swhole *h = c->whole_way;
	struct sval a = s_val(c, in->o[1], jit_src_w(in, 1)), b = s_val(c, in->o[2], jit_src_w(in, 2));
	u64 k = in->lop == LOP_SHR ? (u32)b.k : b.k, most = 1;
	s32 hi = 0;
	u32 l, low;

	if (!h->low || (in->o[1] & OPND_CONST) || !b.known || is64(in->type) || (in->lop == LOP_DIV && type_is_signed(in->type)) || (in->lop == LOP_REM && type_is_signed(in->type)))
		return false;
	low = h->low[in->o[1]];
	for (l = 0; l < STRIP; l++) {
		if (c->pats[a.pat][l] < 0)
			return false;
		hi = c->pats[a.pat][l] > hi ? c->pats[a.pat][l] : hi;
	}
	while (most <= (u64)hi)
		most *= 2;
	/* the strip's distance above the lanes', all of it below what the first one's is a multiple of */
	if (by < 0 || (by & (s64)(most - 1)) || low > 31 || by + hi >= 1ll << low)
		return false;
	switch (in->lop) {
	case LOP_AND: *d = (s64)((u64)by & (u32)k); return true;
	case LOP_SHR: *d = k < 32 ? by >> k : 0; return k <= low;
	default:
		if (!(u32)k || ((u32)k & ((u32)k - 1)))
			return false;
		*d = in->lop == LOP_DIV ? by >> __builtin_ctz((u32)k) : (s64)((u64)by & ((u32)k - 1));
		return (u32)__builtin_ctz((u32)k) <= low;
	}
}

static u32 low_of(const struct scomp *c, u32 o, u8 w)
{
	struct sval v = s_val(c, o, w);
	u32 l = v.known ? (v.k ? (u32)__builtin_ctzll(v.k) : 31) : (o & OPND_CONST) ? v.ual : c->whole_way->low[o];

	return l > 31 ? 31 : l;
}

/* Of which power of two the first strip's result is a multiple, for all warps. */
u32 whole_low(const struct scomp *c, const struct insn *in)
{
	u32 shape = c->spec & 255, x = spec_log2(c->spec), a, b, n = 0, o = in->o[0];
	bool rows = shape == SPEC_POW2 && x < 5;

	if (in->kind == K_SREG && in->sub == SR_LANEID)
		return 31;
	if (in->kind == K_SREG && spec_sreg(c->spec, in->sub) == SR_TID_X)
		return rows ? 31 : 5;
	if (in->kind == K_SREG && spec_sreg(c->spec, in->sub) == SR_TID_Y && rows)
		return 5 - x;
	if (in->kind == K_LANE)
		n = s_lane_ops(in->lop);
	if (!n || n > 2 || type_is_float(in->type))
		return c->r[o].v.ual < 31 ? c->r[o].v.ual : 31;
	a = low_of(c, in->o[1], jit_src_w(in, 1));
	b = n > 1 ? low_of(c, in->o[2], jit_src_w(in, 2)) : 31;
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT: case LOP_CVT_TRUNC: return a;
	case LOP_ADD: case LOP_SUB: return a < b ? a : b;
	case LOP_MUL: case LOP_MULWIDE: return a + b < 31 ? a + b : 31;
	case LOP_AND: return a > b ? a : b;
	default: return c->r[o].v.ual < 31 ? c->r[o].v.ual : 31;
	}
}

/* The distances of the strips' results from the first one's. */
bool whole_result_delta(const struct scomp *c, const struct insn *in, s64 *d)
{
	bool w = is64(in->type);
	s64 x[STRIPS], y[STRIPS], z[STRIPS];
	struct sval a, b;
	u32 s, n;

	memset(d, 0, STRIPS * sizeof(*d));
	switch ((enum kind)in->kind) {
	case K_SREG:
		return sreg_delta(c, in->sub, d);
	case K_LDPARAM: case K_LADDR:
		return true;
	case K_CVTA:
		return in->space != SPACE_LOCAL && delta_of(c, in->o[1], 1, d);
	case K_LD:
		return !c->whole_way->stored && in->vec == 1 && delta_of(c, in->o[4], in->aw, d) && flat(d);
	case K_SETP:
		return delta_of(c, in->o[2], w, x) && delta_of(c, in->o[3], w, y) && delta_of(c, in->o[4], 2, z) && flat(x) && flat(y) && flat(z);
	case K_PRED:
		return delta_of(c, in->o[1], 2, x) && delta_of(c, in->o[2], 2, y) && flat(x) && flat(y);
	case K_LANE:
		break;
	default:
		return false;
	}
	n = s_lane_ops(in->lop);
	memset(y, 0, sizeof(y));
	memset(z, 0, sizeof(z));
	if (!n || !delta_of(c, in->o[1], jit_src_w(in, 1), x) || (n > 1 && !delta_of(c, in->o[2], jit_src_w(in, 2), y)) ||
	    (n > 2 && !delta_of(c, in->o[3], jit_src_w(in, 3), z)))
		return false;
	if (flat(x) && flat(y) && flat(z))
		return true;
	a = s_val(c, in->o[1], jit_src_w(in, 1));
	b = s_val(c, in->o[2], jit_src_w(in, 2));
	if ((!is32(in->type) && !w) || s_guess_sign(c, in))
		return false;
	for (s = 0; s < STRIPS; s++)
		switch (in->lop) {
		case LOP_MOV: case LOP_CVT_TRUNC: case LOP_CVT_SEXT: d[s] = x[s]; break;
		case LOP_ADD: d[s] = x[s] + y[s]; break;
		case LOP_SUB: d[s] = x[s] - y[s]; break;
		case LOP_NEG: case LOP_NOT: d[s] = -x[s]; break;
		case LOP_MUL: case LOP_MULWIDE: case LOP_MAD: case LOP_MADWIDE:
			if (flat(x) && flat(y))
				d[s] = 0;
			else if (b.known && (s32)b.k >= 0 && (s32)b.k < MAX_DELTA)
				d[s] = x[s] * (s32)b.k;
			else if (a.known && (s32)a.k >= 0 && (s32)a.k < MAX_DELTA)
				d[s] = y[s] * (s32)a.k;
			else
				return false;
			if (in->lop == LOP_MAD || in->lop == LOP_MADWIDE)
				d[s] += z[s];
			break;
		case LOP_SHL:
			if (!b.known || (u32)b.k > 20)
				return false;
			d[s] = x[s] * (1 << (u32)b.k);
			break;
		case LOP_AND: case LOP_SHR: case LOP_DIV: case LOP_REM:
			if (!in_low_bits(c, in, x[s], &d[s]))
				return false;
			break;
		default:
			return false;
		}
	return true;
}
