/* SPDX-License-Identifier: MIT */
/*
 * Branches that are taken by all lanes of a strip or by none, as far as one can guess: those whose predicate is made of thread
 * numbers, parameters and constants alone, and not of what was loaded, nor by comparing a thread's number for equality; nor of floats, but for those that are made of what
 * is the same for all lanes (a loop up to the logarithm of a block's height).
 * Such a loop ends for all lanes at once but for the rows at an edge. Code does not let lanes part there, so nobody waits, and values stay scalars.
 *
 * A wrong guess leaves code before the branch. Branches that were wrong are noted in jit_src.parted; a grid that finds eight
 * wrong ones has the function compiled anew (run.c), and the code that follows lets lanes part at those.
 *
 * In: classes. Out: scomp.b[].split of blocks that end with a branch.
 */
#include "strip.h"

static bool tame(const struct scomp *c, u32 o) { return o == OPND_NONE || (o & OPND_CONST) || !c->r[o].wild; }

static bool one_each(const struct scomp *c, u32 o, u8 type)
{
	struct sval v = s_val(c, o, type_bytes(type) == 8);

	return v.cls == SC_SCALAR && v.pat;
}

/* ---- the same in all lanes, as long as they are together ------------------------------------------- */

static bool even(const struct scomp *c, u32 o)
{
	struct sval v;

	if (o == OPND_NONE)
		return true;
	v = s_val(c, o, 0);
	return v.cls == SC_SCALAR ? !v.pat : !(o & OPND_CONST) && !c->r[o].uneven;
}

static bool all_even(const struct scomp *c, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && !even(c, in->o[k]))
			return false;
	return even(c, in->guard);
}

static bool makes_uneven(const struct scomp *c, const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_CVT: case K_PRED: case K_LOP3: case K_LD:
		return !all_even(c, in);
	case K_LDPARAM:
		return false;
	default:
		return true;
	}
}

/* ---- what says nothing of its neighbours' ----------------------------------------------------------- */

static bool makes_wild(const struct scomp *c, const struct insn *in)
{
	u32 k;

	if (!tame(c, in->guard))
		return true;
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_CVT:
		if ((type_is_float(in->type) || (in->kind == K_CVT && type_is_float(in->stype))) && !all_even(c, in))
			return true;
		/* one thread of many */
		if (in->kind == K_SETP && (in->lop == CMP_EQ || in->lop == CMP_NE) &&
		    (one_each(c, in->o[2], in->type) || one_each(c, in->o[3], in->type)))
			return true;
		break;
	case K_LD:
		/* what all lanes load from one place is the same for all */
		return s_val(c, in->o[4], in->aw).cls != SC_SCALAR || s_val(c, in->o[4], in->aw).pat;
	case K_PRED: case K_LOP3: case K_SREG: case K_LDPARAM: case K_LADDR: case K_CVTA:
		break;
	default:
		return true;
	}
	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && !tame(c, in->o[k]))
			return true;
	return false;
}

/* ---- both: what is made by such instructions, until nothing changes ---------------------------------- */

static bool mark(struct sregister *r, bool wild)
{
	bool was = wild ? r->wild : r->uneven;

	if (wild)
		r->wild = true;
	else
		r->uneven = true;
	return !was;
}

static void spread(struct scomp *c, bool (*makes)(const struct scomp *, const struct insn *), bool wild)
{
	bool more = true;
	u32 i, k, o;

	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			if (!makes(c, in))
				continue;
			for (k = 0; (o = s_next_def(in, &k)) != OPND_NONE;)
				if (c->r[o].v.cls != SC_SCALAR)
					more |= mark(&c->r[o], wild);
		}
	}
}

void s_splits(struct scomp *c)
{
	const u8 *parted = c->s->parted;
	u32 b;

	for (b = 0; b < c->s->nregs; b++)
		c->r[b].wild = c->r[b].uneven = false;
	spread(c, makes_uneven, false);
	spread(c, makes_wild, true);
	for (b = 0; b < c->nb; b++) {
		struct sblock *sb = &c->b[b];
		const struct insn *last = &c->code[sb->end - 1];

		sb->split = !sb->sync && last->kind == K_CBRA && s_val(c, last->guard, 2).cls != SC_SCALAR &&
			    ((parted[sb->end - 1] & PARTED_LANES) || c->strict[sb->end - 1] || !tame(c, last->guard));
	}
}
