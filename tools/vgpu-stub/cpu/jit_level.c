/* SPDX-License-Identifier: MIT */
/*
 * Numbers that are the same in so many neighbouring lanes of a warp: 16, 8 or 4. In a block of 16 x 16 half a warp is a row: tid.y * n is such a number,
 * a[tid.y * n + k] is loaded from two places, and nothing of it is known when compiling, for n is a parameter. In a block of 8 x 8 it has four places.
 *
 * That is a hint: whether those of the lanes that run are at one place is looked at where it is used (jr_level(), jx_ld()), so it is of no account that lanes
 * which were elsewhere may have another number.
 *
 * In: classes and patterns (jit_scan.c). Out: jcomp.level, 0: in fewer than 4.
 */
#include "jit_mem.h"

#define MAX_PASSES 8
#define MOST 16u         /* lanes: half a warp */

static u32 level(const struct jcomp *c, u32 o)
{
	struct jval v;
	u32 n, l;

	if (o == OPND_NONE)
		return MOST;
	v = jit_val(c, o, o & OPND_CONST ? 0 : c->r[o].w);
	if (v.cls == JC_VARY)
		return o & OPND_CONST ? 0 : c->level[o];
	for (n = MOST; n >= 4; n /= 2) {
		for (l = 0; v.pat && l < LANES && c->pats[v.pat][l] == c->pats[v.pat][l & (LANES - n)]; l++)
			;
		if (!v.pat || l == LANES)
			return n;
	}
	return 0;
}

/* The level of what in makes. */
static u32 makes_level(const struct jcomp *c, const struct insn *in)
{
	u32 n = level(c, in->guard), k;

	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_LDPARAM: case K_LADDR:
		break;
	case K_LD:
		if (in->space == SPACE_LOCAL)
			return 0;
		break;
	default:
		return 0;
	}
	for (k = 0; n && k < 6; k++)
		if ((in->use >> k & 1) && level(c, in->o[k]) < n)
			n = level(c, in->o[k]);
	return n;
}

bool jit_levels(struct jcomp *c)
{
	u32 pass, pc, k;
	bool more = true;

	c->level = pool_alloc(&c->mem, c->s->nregs + 1);
	if (!c->level)
		return false;
	/* what others hand over is nothing of the kind */
	for (pc = 0; pc < c->n; pc++)
		for (k = 0; k < 6; k++)
			if ((c->code[pc].def >> k & 1) && c->code[pc].o[k] != OPND_NONE)
				c->level[c->code[pc].o[k]] = MOST;
	for (pass = 0; more && pass < MAX_PASSES; pass++) {
		more = false;
		for (pc = 0; pc < c->n; pc++) {
			const struct insn *in = &c->code[pc];
			u32 n = makes_level(c, in);

			for (k = 0; n < MOST && k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->level[in->o[k]] > n) {
					c->level[in->o[k]] = (u8)n;
					more = true;
				}
		}
	}
	if (more)
		memset(c->level, 0, c->s->nregs);
	return true;
}

u32 j_level(const struct jcomp *c, u32 o) { return o == OPND_NONE || (o & OPND_CONST) ? 0 : c->level[o]; }

u32 j_tile(const struct jcomp *c)
{
	u32 n = (c->spec & 0xff) == SPEC_POW2 ? 1u << spec_log2(c->spec) : 0;

	return n == 4 || n == 8 ? n : 0;
}
