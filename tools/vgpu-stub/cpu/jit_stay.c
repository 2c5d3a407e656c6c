/* SPDX-License-Identifier: MIT */
/*
 * Scalars that stay in shared memory: what all lanes read from one place, as a filter's weights or a column of a tile, and vector instructions
 * alone want. It is not loaded and kept in P, but an operand of those instructions, which spread it as they would from there. A block has one
 * worker, so nobody else writes meanwhile; from the load to the last use there is nothing of its own that could, and only our own code may be
 * entered (jcomp.sealed). The pass is called by jit.c between jit_scan and jit_alloc; whether there is a register for the address is only known
 * when the load is emitted (jit_mem.c).
 */
#include "jit_mem.h"

/* No barrier, no jump, nothing that stores into shared memory. */
static bool passes(const struct insn *in)
{
	if ((in->kind == K_ST || in->kind == K_ATOM) && in->space != SPACE_GLOBAL)
		return false;
	return jit_goes_on(in);
}

/* Element e of the load at pc of block b. */
static void find(struct jcomp *c, const struct jblock *b, u32 pc, u32 e, const u32 *uses)
{
	const struct insn *in = &c->code[pc];
	u32 v = in->o[e], i, k, n = 0, last = 0;

	if (v == OPND_NONE || c->r[v].cls != JC_UNI || c->r[v].w || c->def_of[v] != pc + 1 || v == in->o[4] ||
	    jit_live_behind(c->s, (u32)(b - c->s->b), v))
		return;
	for (i = pc + 1; i < b->end && passes(&c->code[i]); i++)
		for (k = 0; k < 6; k++)
			if ((c->code[i].use >> k & 1) && c->code[i].o[k] == v) {
				last = i;
				n++;
			}
	if (!n || n != uses[v] || !jit_stays(c, in->o[4], pc, last, b->end))
		return;
	c->stay[v] = (struct jstay){ .addr = in->o[4], .to = last };
	for (i = pc + 1; i <= last; i++)
		c->sealed[i] = 1;
}

/* uses: how many of each register there are */
void jit_stay(struct jcomp *c, const u32 *uses)
{
	u32 b, i, e;

	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if (in->kind != K_LD || in->space != SPACE_SHARED || in->guard != OPND_NONE || in->size != 4 || in->dw ||
			    in->flags & (INF_SYNC | INF_VOLATILE) || jit_val(c, in->o[4], in->aw).cls != JC_UNI)
				continue;
			for (e = 0; e < in->vec; e++)
				find(c, &c->s->b[b], i, e, uses);
		}
}

/* Element e of the load that is emitted, whose address has been checked: is it one? */
bool js_stays(struct jcomp *c, const struct insn *in, u32 e)
{
	struct jval a = jit_val(c, in->o[4], in->aw);
	u32 v = in->o[e];
	struct jstay *s;

	if (v == OPND_NONE || !c->stay[v].to || c->r[v].loc != LOC_MEM || !c->pin)
		return false;
	s = &c->stay[v];
	s->disp = (s32)(in->imm + e * in->size);
	if (a.sk) {
		s64 at = (s64)(in->aw ? a.s : (u64)(s32)a.s) + s->disp;

		if (at < 0 || at > 1 << 28)
			return false;
		s->disp = (s32)at;
		s->addr = OPND_NONE;
	} else if (in->o[4] & OPND_CONST || c->r[in->o[4]].loc != LOC_GPR) {
		return false;
	}
	return s->on = true;
}

/*
 * Behind a load of which something stays. An address of 32 bits is part of the operand as it lies in its register: without its sign, which it
 * has none of, or code is left. So it is if a check of the address fails: the uses behind the load count on it.
 */
void js_stayed(struct jcomp *c, const struct insn *in)
{
	u32 own, i, r;

	if (in->aw || jit_val(c, in->o[4], 0).sk)
		return;
	r = c->r[in->o[4]].reg;
	own = j_exit(c, JX_STEP, c->pc, 2);
	for (i = c->first_exit; i < c->nexits; i++)
		if (c->exits[i].pc == c->pc)
			jm_rely_on(c, i);
	g_load(&c->a, 0, (int)r, rm_reg((int)r));
	g_op(&c->a, 0, 0x85, (int)r, rm_reg((int)r), 0);         /* test */
	j_leave_if(c, CC_S, own);
}

struct rm js_rm(const struct jcomp *c, u32 v)
{
	const struct jstay *s = &c->stay[v];

	return s->addr == OPND_NONE ? rm_mem(RBP, s->disp) : rm_idx(RBP, c->r[s->addr].reg, 0, s->disp);
}
