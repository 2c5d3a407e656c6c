/* SPDX-License-Identifier: MIT */
/*
 * A few vector instructions between two places where the strips of a warp look at each other, as the addition between the shuffles of a
 * reduction: the strips have just met, and would each go on for these alone, to meet again. They are done where they are, for one strip after
 * the other, from slots and back, and the strips go on behind the last such place.
 *
 *     shfl ── meet ── add of strips 0, 1, 2, 3 ── shfl ── add of strips 0, 1, 2, 3 ── shfl ── strip 0 goes on
 *
 * In: what was put away at the place before (meet.c); its results in slots, and in homes (park.c). Out: the next place's operands in slots, and all that is
 * alive there put away, as if each strip had come to it. Nothing here leaves code: what might is not done here.
 */
#include "strip.h"
#include "vex.h"

#define MAX_BETWEEN 6u

static bool of_kind(const struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	u32 k, n = 0;

	if (in->guard != OPND_NONE || c->pair[pc] || s_comes(c, pc) || c->quad[pc].n)
		return false;
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3:
		break;
	default:
		return false;
	}
	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE) {
			if (!c->r[in->o[k]].live || c->r[in->o[k]].v.cls != SC_VARY)
				return false;
			n++;
		}
	return n == 1;
}

static void add(u64 *set, u32 o)
{
	if (o != OPND_NONE && !(o & OPND_CONST))
		set[o >> 6] |= 1ull << (o & 63);
}

/* Of instructions from..to: what they read of before, and what they make; of the n behind them, what is to lie in slots as well. False: there is a scalar among those. */
static bool sort(struct scomp *c, u32 from, u32 to, u32 n, u64 *reads, u64 *out)
{
	const u64 *live = s_live_before(c, to);
	u32 pc, k, w;
	u64 x;

	for (pc = from; pc < to; pc++) {
		const struct insn *in = &c->code[pc];

		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && !bit_of(out, in->o[k]))
				add(reads, in->o[k]);
		for (k = 0; k < 6; k++)
			if (in->def >> k & 1)
				add(out, in->o[k]);
	}
	for (w = 0; w < c->words; w++)
		for (out[w] &= live[w], x = out[w]; x; x &= x - 1)
			if (c->r[w * 64 + (u32)__builtin_ctzll(x)].kept)
				out[w] &= ~(x & -x);
	for (pc = to; pc < to + n; pc++)
		for (k = 0; k < 7; k++) {
			const struct insn *in = &c->code[pc];
			u32 o = k == 6 ? in->guard : in->o[k];

			/* under a guard it leaves others' results as they are */
			if ((k < 6 && !((in->use | (in->guard != OPND_NONE ? in->def : 0)) >> k & 1)) || o == OPND_NONE || (o & OPND_CONST))
				continue;
			if (c->r[o].v.cls == SC_SCALAR)
				return false;
			if (c->r[o].kept)
				add(out, o);
		}
	return true;
}

/* What a strip has of those before its instructions. */
static void bring(struct scomp *c, const u64 *reads, u32 s)
{
	u32 w;
	u64 x;

	for (w = 0; w < c->words; w++)
		for (x = reads[w]; x; x &= x - 1) {
			u32 v = w * 64 + (u32)__builtin_ctzll(x);

			if (c->r[v].v.cls == SC_SCALAR)
				s_unpark(c, v);
			else if (!c->r[v].kept && s_held(c, v, s) < 0)
				s_fill(c, v);
		}
}

static bool emit(struct scomp *c, u32 from, u32 to, const u64 *reads, const u64 *out)
{
	u32 s, pc, nslow = c->nslow, nexits = c->nexits;

	for (s = 0; s < STRIPS; s++) {
		struct srename old;

		g_movi(&c->a, RBP, 32 * s);
		s_hold_rename(c, from, to, reads, s, &old);
		bring(c, reads, s);
		for (pc = from; pc < to; pc++) {
			c->pc = pc;
			if (!s_native(c, &c->code[pc]) || c->nslow != nslow || c->nexits != nexits || c->fused || c->later || c->bad) {
				s_hold_back(c, &old);
				return false;
			}
		}
		s_mode_home(c);
		if (old.n)
			s_hold_made(c, from, to, out, s_live_before(c, to), s);
		s_spill_set(c, out, 15, true);
		s_hold_back(c, &old);
	}
	return true;
}

/*
 * Strips have met before instruction `from`, and stand there; `to` is where they look at each other next, n instructions in a row. True: they stand there.
 */
bool s_between(struct scomp *c, u32 from, u32 to, u32 n)
{
	struct as *a = &c->a;
	u32 at = a->n, nfix = a->nfix, nslow = c->nslow, nsites = c->nsites, nexits = c->nexits, nxjumps = c->nxjumps, old_pc = c->pc, mx = c->mx, pc;
	struct sblock *cur = c->cur;
	u64 *reads = pool_alloc(&c->mem, (c->words + 1) * 8), *out = pool_alloc(&c->mem, (c->words + 1) * 8);
	bool done;

	if (to <= from || to - from > MAX_BETWEEN || !reads || !out)
		return false;
	for (pc = from; pc < to; pc++)
		if (!of_kind(c, pc))
			return false;
	if (!sort(c, from, to, n, reads, out))
		return false;
	c->cur = &c->b[s_block_at(c, from)];
	c->nnear = 0;
	c->before = NO_PC;
	c->fold.pc = c->base.at = 0;
	done = emit(c, from, to, reads, out);
	c->cur = cur;
	c->pc = old_pc;
	if (done)
		return true;
	s_hold_none(c);
	a->n = at;
	a->nfix = nfix;
	c->nslow = nslow;
	c->nsites = nsites;
	c->nexits = nexits;
	c->nxjumps = nxjumps;
	c->mx = mx;
	c->fused = 0;
	c->later = c->bad = false;
	return false;
}
