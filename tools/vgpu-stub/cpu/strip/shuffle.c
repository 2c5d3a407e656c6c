/* SPDX-License-Identifier: MIT */
/*
 * Shuffles, where the four strips of a warp have met: their vectors are in their slots, or held. Lanes at distances that are known take each other's values
 * by permutations that are known; at others from whom each lane gets it is computed, and each strip is put together from all four.
 *
 * Called by meet.c. Out: the result, in its slots, and held where there is room.
 */
#include "../lanes.h"
#include "strip.h"
#include "vex.h"

/* Operand o of strip s, in memory. */
struct rm s_of_strip(const struct scomp *c, u32 o, u32 s)
{
	struct sval v = s_val(c, o, 0);

	if (!(o & OPND_CONST))
		return rm_mem(RBX, (s32)(c->r[o].slot + 32 * s));
	return rm_mem(R13, (s32)(o & ~OPND_CONST) + (v.cls == SC_SCALAR && !v.pat && v.all && v.known ? 0 : (s32)(32 * s)));
}

bool s_constant(const struct scomp *c, u32 o, u32 *k)
{
	struct sval v = s_val(c, o, 0);

	*k = (u32)v.k;
	return v.known;
}

/* What strip q's lanes have to lend: nothing, if a guard does not let them through. */
static void own_row(struct scomp *c, const struct insn *in, u32 q, int d)
{
	if (!s_guarded(c, in))
		vy(&c->a, X_MOVU, d, 0, s_of_strip(c, in->o[3], q));
	else
		vy(&c->a, X_PAND, d, S_GUARDED + (int)q, s_of_strip(c, in->o[3], q));
}

/* Lanes at known distances: from whom each lane gets it is known now. */
static bool by_table(struct scomp *c, u32 pc, u32 b, u32 clamp)
{
	struct as *a = &c->a;
	const struct insn *in = &c->code[pc];
	struct rm src[STRIPS];
	const u64 *live;
	bool all = true;
	_Alignas(64) u32 from[LANES], self[LANES], bs[LANES], cs[LANES];
	u32 l, s, q, p, have = ~0u, used = 0;

	for (l = 0; l < LANES; l++) {
		self[l] = l;
		bs[l] = b;
		cs[l] = clamp;
	}
	p = lanes_get()->shfl(from, self, bs, cs, in->sub);
	for (l = 0; l < LANES; l++)
		used |= 1u << from[l] / STRIP;
	live = s_live_before(c, pc);
	all = !s_guarded(c, in);
	for (q = 0; !s_guarded(c, in) && q < STRIPS; q++) {
		bool was = s_held(c, in->o[3], q) >= 0;
		int r = used >> q & 1 ? s_hold(c, in->o[3], q, live, OPND_NONE) : -1;

		if (r >= 0 && !was)
			vy(a, X_MOVU, r, 0, s_of_strip(c, in->o[3], q));
		src[q] = r < 0 ? s_of_strip(c, in->o[3], q) : rm_reg(r);
		all &= r >= 0 || !(used >> q & 1);
	}
	/* its slot may be the result's */
	if (!all && !(in->o[3] & OPND_CONST)) {
		s_hold_none(c);
		for (q = 0; q < STRIPS; q++) {
			own_row(c, in, q, (int)(4 + q));
			src[q] = rm_reg((int)(4 + q));
		}
	}
	live = s_live_before(c, pc + 1);
	for (s = 0; s < STRIPS; s++) {
		int r = -1, d;

		for (q = 0; q < STRIPS; q++) {
			u32 lanes = 0, idx[STRIP], lit;
			bool own = true;
			struct rm x = src[q];

			for (l = 0; l < STRIP; l++) {
				u32 f = from[STRIP * s + l];

				idx[l] = f % STRIP;
				lanes |= (u32)(f / STRIP == q) << l;
				own &= f % STRIP == l;
			}
			if (!lanes)
				continue;
			if (!own) {
				lit = s_lit(c, idx, 32);
				if (lit != have)
					vy(a, X_MOVU, 0, 0, rm_lit(lit, 0));
				have = lit;
				vy(a, X_PERMD, r < 0 ? 1 : 2, 0, x);
				x = rm_reg(r < 0 ? 1 : 2);
			}
			if (r >= 0) {
				vyi(a, X_PBLENDD, 3, r, x, lanes);
				r = 3;
			} else if (!x.kind) {
				r = x.reg;
			} else {
				vy(a, X_MOVU, 1, 0, x);
				r = 1;
			}
		}
		s_guarded_put(c, in, s, r);
		/* strips that follow read it as it was */
		d = !all || in->o[0] == in->o[3] ? -1 : s_hold(c, in->o[0], s, live, in->o[3]);
		if (d >= 0)
			vr(a, X_MOVU, d, 0, r);
	}
	for (s = 0; s < STRIPS && (!all || in->o[0] == in->o[3]); s++)
		s_unhold(c, in->o[0], s);
	if (in->o[1] != OPND_NONE) {
		g_load(a, 0, RDX, rm_mem(RBX, (s32)c->r[in->o[1]].slot));
		g_movi(a, RAX, p);
		s_guarded_bits(c, in, in->o[1], RDX);
	}
	return true;
}

/* ---- by what shows when it runs ---------------------------------------------------------------- */

enum { LESS = 0, BY = 1, CLAMP = 2, FROM = 3, SOURCES = 4, MAX = 8, SEG = 9, SELF = 10 };

static void and_seg(struct as *a, int d, int seg, int yes, int no, int tmp)
{
	vr(a, X_PANDN, tmp, seg, no);
	vr(a, X_PAND, d, seg, yes);
	vr(a, X_POR, d, d, tmp);
}

/* FROM = the lane that each lane of strip s asks for; LESS: those that get nothing. False: there are none. PTX ISA 9.7.9.6 (shfl.sync) */
static bool asked(struct scomp *c, const struct insn *in, u32 s, bool known, u32 clamp)
{
	u32 low[STRIP], most[STRIP], lanes[STRIP], l, seg = clamp >> 8 & 31;
	struct as *a = &c->a;

	clamp &= 31;
	for (l = 0; l < STRIP; l++) {
		lanes[l] = STRIP * s + l;
		most[l] = (lanes[l] & seg) | (clamp & ~seg);
		low[l] = 31;
	}
	vy(a, X_MOVU, BY, 0, rm_lit(s_lit(c, low, 32), 0));
	vy(a, X_MOVU, SELF, 0, rm_lit(s_lit(c, lanes, 32), 0));
	if (known) {
		vy(a, X_MOVU, MAX, 0, rm_lit(s_lit(c, most, 32), 0));
		for (l = 0; l < STRIP; l++)
			most[l] = seg;
		if (in->sub == SHFL_IDX)
			vy(a, X_MOVU, SEG, 0, rm_lit(s_lit(c, most, 32), 0));
	} else {
		vy(a, X_PAND, CLAMP, BY, s_of_strip(c, in->o[5], s));
		vy(a, X_MOVU, SEG, 0, s_of_strip(c, in->o[5], s));
		vyi(a, X_SHID, SH_RIGHT, SEG, rm_reg(SEG), 8);
		vr(a, X_PAND, SEG, SEG, BY);
		and_seg(a, MAX, SEG, SELF, CLAMP, FROM);
	}
	vy(a, X_PAND, BY, BY, s_of_strip(c, in->o[4], s));
	switch (in->sub) {
	case SHFL_UP:
		vr(a, X_PSUBD, FROM, SELF, BY);
		vr(a, X_PCMPGTD, LESS, MAX, FROM);
		return true;
	case SHFL_DOWN:
		vr(a, X_PADDD, FROM, SELF, BY);
		break;
	case SHFL_BFLY:
		vr(a, X_PXOR, FROM, SELF, BY);
		break;
	default:
		and_seg(a, FROM, SEG, SELF, BY, LESS);
	}
	if (known && in->sub != SHFL_DOWN && (clamp | seg) == 31 && (in->sub == SHFL_IDX || !seg))
		return false;
	vr(a, X_PCMPGTD, LESS, FROM, MAX);
	return true;
}

/* All take the same lane's, without segments: code for that, and the jump that is taken if they do not. */
static u32 by_one(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 s, others;

	vy(a, X_PBCASTD, 0, 0, s_of_strip(c, in->o[4], 0));
	for (s = 0; s < STRIPS; s++) {
		vy(a, X_PCMPEQD, s ? 2 : 1, 0, s_of_strip(c, in->o[4], s));
		if (s)
			vr(a, X_PAND, 1, 1, 2);
	}
	vx(a, X_MOVMSKPS, 1, RAX, 0, rm_reg(1), 0);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 255);
	others = g_jcc(a, CC_NE);
	g_load(a, 0, RAX, s_of_strip(c, in->o[4], 0));
	g_alui(a, 0, G_AND, rm_reg(RAX), 31);
	vy(a, X_PBCASTD, 0, 0, rm_idx(RBX, RAX, 2, (s32)c->r[in->o[3]].slot));
	for (s = 0; s < STRIPS; s++)
		vy(a, X_MOVU_ST, 0, 0, rm_mem(RBX, (s32)(c->r[in->o[0]].slot + 32 * s)));
	if (in->o[1] != OPND_NONE) {
		g_movi(a, RAX, ~0u);
		g_store(a, 0, rm_mem(RBX, (s32)c->r[in->o[1]].slot), RAX);
	}
	return others;
}

static void by_lanes(struct scomp *c, const struct insn *in, bool known, u32 clamp)
{
	struct as *a = &c->a;
	u32 s, q;
	bool less;

	for (q = 0; q < STRIPS; q++)
		own_row(c, in, q, (int)(SOURCES + q));
	if (in->o[1] != OPND_NONE) {
		g_load(a, 0, RDX, rm_mem(RBX, (s32)c->r[in->o[1]].slot));
		g_movi(a, RSI, 0);
	}
	for (s = 0; s < STRIPS; s++) {
		less = asked(c, in, s, known, clamp);
		if (less)
			vyi(a, X_BLENDVPS, FROM, FROM, rm_reg(SELF), LESS << 4);
		if (in->o[1] != OPND_NONE) {
			if (less) {
				vx(a, X_MOVMSKPS, 1, RAX, 0, rm_reg(LESS), 0);
				g_alui(a, 0, G_XOR, rm_reg(RAX), 255);
			} else {
				g_movi(a, RAX, 255);
			}
			/* a byte of its mask; whose slot may be the guard's */
			if (!s_guarded(c, in)) {
				g_op(a, 0, 0x88, RAX, rm_mem(RBX, (s32)(c->r[in->o[1]].slot + s)), 0);
			} else {
				g_shi(a, 0, G_SHL, RAX, 8 * s);
				g_alu(a, 0, G_OR, RSI, rm_reg(RAX));
			}
		}
		/* bits 3 and 4 of the lane are its strip */
		vyi(a, X_SHID, SH_LEFT, LESS, rm_reg(FROM), 28);
		for (q = 0; q < 2; q++) {
			vr(a, X_PERMD, MAX + (int)q, FROM, (int)(SOURCES + 2 * q));
			vr(a, X_PERMD, SELF, FROM, (int)(SOURCES + 2 * q + 1));
			vyi(a, X_BLENDVPS, MAX + (int)q, MAX + (int)q, rm_reg(SELF), LESS << 4);
		}
		vyi(a, X_SHID, SH_LEFT, LESS, rm_reg(FROM), 27);
		vyi(a, X_BLENDVPS, MAX, MAX, rm_reg(MAX + 1), LESS << 4);
		s_guarded_put(c, in, s, MAX);
	}
	if (in->o[1] != OPND_NONE && s_guarded(c, in)) {
		g_load(a, 0, RAX, rm_reg(RSI));
		s_guarded_bits(c, in, in->o[1], RDX);
	}
}

bool s_shuffle_all(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	struct as *a = &c->a;
	u32 b, clamp = 0, others, done = 0;
	bool known = s_constant(c, in->o[5], &clamp), one;

	if (s_guarded(c, in)) {
		if ((in->guard != OPND_NONE && (in->guard & OPND_CONST)) || (in->o[3] & OPND_CONST))
			return false;
		s_hold_none(c);
		s_guarded_masks(c, in);
	}
	if (known && s_constant(c, in->o[4], &b))
		return by_table(c, pc, b, clamp);
	s_hold_none(c);
	one = known && !s_guarded(c, in) && in->sub == SHFL_IDX && !(clamp >> 8 & 31) && (clamp & 31) == 31 && !((in->o[3] | in->o[4]) & OPND_CONST) && s_val(c, in->o[4], 0).cls == SC_SCALAR;
	if (one) {
		others = by_one(c, in);
		done = g_jmp(a);
		g_here(a, others);
	}
	by_lanes(c, in, known, clamp);
	if (one)
		g_here(a, done);
	return true;
}
