/* SPDX-License-Identifier: MIT */
/*
 * Vectors that stay in registers while a loop of one block goes round, those of all four strips: what else would be loaded and stored in each round, and each round
 * wait for the one before it. For round.c and warp.c.
 */
#include "whole.h"

u32 s_definitions(const struct scomp *c, const struct sblock *b, u32 o, u32 *at)
{
	u32 pc, k, n = 0;

	for (pc = b->start; pc < b->end; pc++)
		for (k = 0; k < 6; k++)
			if ((c->code[pc].def >> k & 1) && c->code[pc].o[k] == o) {
				*at = pc;
				n++;
			}
	return n;
}

/* Is v one of the vectors that a strip's round reads or hands on, and that do not lie in homes of their own (park.c)? */
bool s_stay_wanted(const struct scomp *c, const struct sblock *b, u32 v, bool *made)
{
	const struct sregister *r = &c->r[v];
	bool used = false;
	u32 pc, at;

	if (!r->live || r->v.cls == SC_SCALAR || r->kept || !bit_of(b->live_in, v))
		return false;
	for (pc = b->start; pc < b->end && !used; pc++)
		used = insn_reads(&c->code[pc], v);
	*made = s_definitions(c, b, v, &at) > 0;
	return used || *made;
}

/* What a round makes anew of v comes behind everything that may fault: a strip that leaves then still has what it had before the round. */
static bool made_last(const struct scomp *c, const struct sblock *b, u32 v)
{
	u32 pc, at = 0;

	if (s_definitions(c, b, v, &at) != 1 || c->code[at].guard != OPND_NONE)
		return false;
	for (pc = at; pc < b->end; pc++)
		if (c->code[pc].kind == K_LD || c->code[pc].kind == K_ST || c->code[pc].kind == K_ATOM)
			return false;
	return true;
}

bool s_stay_find(const struct scomp *c, const struct sblock *b, struct stay *y)
{
	u32 busy = 0, v, s, p, pc, k, free = 4;
	bool made;

	for (pc = b->start; pc < b->end; pc++)
		for (k = 0; k < 6; k++) {
			const struct sregister *r;

			if (!(c->code[pc].def >> k & 1) || c->code[pc].o[k] == OPND_NONE)
				continue;
			r = &c->r[c->code[pc].o[k]];
			if (r->live && r->v.cls == SC_VARY && r->loc == LOC_ZMM)
				busy |= 1u << r->reg | (r->w == 1 ? 1u << r->reg2 : 0);
		}
	for (v = 0; v < c->s->nregs; v++) {
		const struct sregister *r = &c->r[v];

		if (!s_stay_wanted(c, b, v, &made))
			continue;
		if (r->loc != LOC_ZMM || y->n == STAYING || (made && !made_last(c, b, v)))
			return false;
		y->of[y->n].v = v;
		y->of[y->n].own[0] = y->of[y->n].at[0][0] = r->reg;
		y->of[y->n].own[1] = y->of[y->n].at[0][1] = r->reg2;
		y->n++;
		if (made)
			y->out[v >> 6] |= 1ull << (v & 63);
		busy |= 1u << r->reg | (r->w == 1 ? 1u << r->reg2 : 0);
	}
	for (k = 0; k < y->n; k++)
		for (s = 1; s < STRIPS; s++)
			for (p = 0; p < (c->r[y->of[k].v].w == 1 ? 2u : 1u); p++) {
				while (free < 4 + STAYING && busy >> free & 1)
					free++;
				if (free == 4 + STAYING)
					return false;
				y->of[k].at[s][p] = (u8)free++;
			}
	return y->n > 0;
}

/* Code that follows is for strip s; STRIPS: as it was. */
void s_stay_as(struct scomp *c, const struct stay *y, u32 s)
{
	u32 k;

	for (k = 0; k < y->n && y->on; k++) {
		c->r[y->of[k].v].reg = s < STRIPS ? y->of[k].at[s][0] : y->of[k].own[0];
		c->r[y->of[k].v].reg2 = s < STRIPS ? y->of[k].at[s][1] : y->of[k].own[1];
	}
}

/* All strips' vectors, from slots or back. */
void s_stay_move(struct scomp *c, const struct stay *y, bool back)
{
	u32 s, k;

	for (s = 0; s < STRIPS && y->on; s++) {
		g_movi(&c->a, RBP, 32 * s);
		s_stay_as(c, y, s);
		if (back)
			s_spill_set(c, y->out, 15, true);
		for (k = 0; k < y->n && !back; k++)
			s_fill(c, y->of[k].v);
	}
	s_stay_as(c, y, STRIPS);
	if (y->on)
		g_movi(&c->a, RBP, 0);
}
