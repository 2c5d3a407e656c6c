/* SPDX-License-Identifier: MIT */
/*
 * Numbers that are the same in the sixteen lanes of each half of a warp. In a block of 16 x 16 a half is a row: tid.y * n is such a number, a[tid.y * n + k]
 * is loaded from two places, and nothing of it is known when compiling, for n is a parameter.
 *
 * That is a hint: whether a half's lanes that run are at one place is looked at where it is used (jr_level(), jx_ld()), so it is of no account that lanes which
 * were elsewhere may have another number.
 *
 * In: classes and patterns (jit_scan.c). Out: jcomp.level.
 */
#include "jit_mem.h"

#define MAX_PASSES 8

static bool level(const struct jcomp *c, u32 o)
{
	struct jval v;
	u32 l;

	if (o == OPND_NONE)
		return true;
	v = jit_val(c, o, o & OPND_CONST ? 0 : c->r[o].w);
	if (v.cls == JC_VARY)
		return !(o & OPND_CONST) && c->level[o];
	for (l = 0; v.pat && l < LANES; l++)
		if (c->pats[v.pat][l] != c->pats[v.pat][l & 16])
			return false;
	return true;
}

static bool makes_level(const struct jcomp *c, const struct insn *in)
{
	u32 k;

	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_CARRY: case K_BFI: case K_LOP3: case K_CVT: case K_CVTA: case K_LDPARAM: case K_LADDR:
		break;
	case K_LD:
		if (in->space == SPACE_LOCAL)
			return false;
		break;
	default:
		return false;
	}
	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && !level(c, in->o[k]))
			return false;
	return level(c, in->guard);
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
				c->level[c->code[pc].o[k]] = 1;
	for (pass = 0; more && pass < MAX_PASSES; pass++) {
		more = false;
		for (pc = 0; pc < c->n; pc++) {
			const struct insn *in = &c->code[pc];

			if (makes_level(c, in))
				continue;
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->level[in->o[k]]) {
					c->level[in->o[k]] = 0;
					more = true;
				}
		}
	}
	if (more)
		memset(c->level, 0, c->s->nregs);
	return true;
}

bool j_level(const struct jcomp *c, u32 o) { return o != OPND_NONE && !(o & OPND_CONST) && c->level[o]; }
