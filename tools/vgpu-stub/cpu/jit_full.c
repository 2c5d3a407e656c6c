/* SPDX-License-Identifier: MIT */
/*
 * Straight code for warps of 32 lanes that all run. The first load by a pattern of a block of code, or the first shuffle, looks whether they do; from there to the
 * block's end nothing asks again, nobody waits who would read what is written, and literals that several instructions want stay in registers that no
 * value has from there to the block's end. A warp that has fewer lanes there goes elsewhere: the rest of the block has code a second time, behind everything else.
 *
 * Whatever comes in from outside comes in where nothing of this is known (jit.c's entry()); a single instruction that the
 * interpreter does is done for all lanes, and comes back with every register as it was.
 */
#include <string.h>

#include "jit.h"

#define LEAST 2u                /* loads or shuffles in the rest of a block that make it worth code of its own */

bool j_steps_by(const s32 *p, u32 n, s32 step)
{
	u32 l;

	for (l = 0; l < n && p[l] == p[0] + (s32)l * step; l++)
		;
	return l == n;
}

/* A load by a pattern that is no row, nor made of such: it has one way for 32 lanes that all run, and one for fewer. */
static bool by_pattern(const struct jcomp *c, u32 pc)
{
	const struct insn *in = c->merged[pc].kind == K_LD ? &c->merged[pc] : &c->code[pc];
	u32 per = in->dw ? 8 : 16, at;
	struct jval v;
	s32 bytes;

	if (in->kind != K_LD || !in->vec || in->guard != OPND_NONE || in->space == SPACE_PARAM)
		return false;
	v = jit_val(c, in->o[4], in->aw);
	bytes = in->size * in->vec;
	if (v.cls != JC_PAT || j_steps_by(c->pats[v.pat], LANES, bytes))
		return false;
	for (at = 0; at < LANES && (j_steps_by(c->pats[v.pat] + at, per, bytes) || j_steps_by(c->pats[v.pat] + at, per, 0)); at += per)
		;
	return at < LANES;
}

/* The same of a shuffle: lanes that are not there would lend 0. */
static bool gains(const struct jcomp *c, u32 pc)
{
	return by_pattern(c, pc) || (c->code[pc].kind == K_SHFL && c->code[pc].guard == OPND_NONE);
}

static bool worth_it(const struct jcomp *c, u32 pc)
{
	const struct jblock *b = &c->s->b[c->block];
	u32 n = 0, last = c->code[b->end - 1].kind;

	/* a run of jit_twin.c has code of its own for whole warps, which comes in behind it */
	if (c->full || c->some || c->gk || pc < c->run_to || !gains(c, pc) || (last != K_JMP && last != K_CBRA && last != K_RET && last != K_EXIT))
		return false;
	for (; pc < b->end && n < LEAST; pc++)
		n += gains(c, pc);
	return n == LEAST;
}

/* The instruction at pc begins. */
void jit_all_lanes(struct jcomp *c, u32 pc)
{
	struct jsome *s;

	if (!worth_it(c, pc))
		return;
	s = xgrow(c->somes, &c->somes_cap, c->nsomes + 1, sizeof(*s));
	if (!s) {
		c->bad = true;
		return;
	}
	c->somes = s;
	g_alui(&c->a, 0, G_CMP, PM(m), -1);
	s[c->nsomes++] = (struct jsome){ g_jcc(&c->a, CC_NE), pc, c->mx };
	c->full = true;
}

static bool lives_here(const struct jcomp *c, const struct jreg *r)
{
	return r->loc == LOC_ZMM && r->first < c->s->b[c->block].end && r->last > c->pc;
}

/* A register that has literal lit, not to be written: of the block's own, or tmp. Not to be called for code that anything jumps over. */
int j_lit_reg(struct jcomp *c, u32 lit, int tmp)
{
	u32 used = 0, v, k;

	if (c->keeps_lits) {
		for (k = JZ_FIRST; k < 32; k++)
			if ((c->lits >> k & 1) && c->lit_of[k] == lit)
				return (int)k;
		for (v = 0; v < c->s->nregs; v++)
			if (lives_here(c, &c->r[v]))
				used |= (c->r[v].w ? 15u : 3u) << c->r[v].reg;
		used = ~used & ~c->lits & ~((1u << JZ_FIRST) - 1);
		if (used) {
			tmp = __builtin_ctz(used);
			c->lits |= 1u << tmp;
			c->lit_regs |= 1u << tmp;
			c->lit_of[tmp] = lit;
		}
	}
	if (!c->a.oom && !memcmp(c->a.lit + lit * 64, c->a.lit + lit * 64 + 4, 60))
		ev_n(&c->a, V_PBCASTD, tmp, 0, rm_lit(lit, 0), 0, 0, 0, 4, 0);  /* half as long as all 64 bytes */
	else
		ev(&c->a, V_MOVA32, tmp, 0, rm_lit(lit, 0));
	return tmp;
}

/* Literal lit in t, to be written. */
void j_lit_to(struct jcomp *c, int t, u32 lit)
{
	int r = j_lit_reg(c, lit, t);

	if (r != t)
		ev(&c->a, V_MOVA32, t, 0, rm_reg(r));
}

/* The rest of blocks for warps that have fewer lanes. */
void jit_somes(struct jcomp *c)
{
	u32 i;

	c->some = true;
	for (i = 0; i < c->nsomes && !c->bad && !c->a.oom; i++) {
		const struct jsome *s = &c->somes[i];

		g_here(&c->a, s->at);
		c->first_exit = c->nexits;
		c->ndot = c->nproduct = 0;
		c->mx = s->mx;
		j_rest(c, block_no(c, s->pc), s->pc);
	}
	c->some = false;
}
