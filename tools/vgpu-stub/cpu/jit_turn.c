/* SPDX-License-Identifier: MIT */
/*
 * Loops in which the warps of a block take turns. A warp by itself goes through all of a loop before the next one begins it; where the loop
 * steps far in memory (by the size of a grid or of a plane), each of its loads then touches a page and lines of which the next warp wants
 * the rest much later. Taken in turns, a round of the whole block lies side by side. strip/step.c does the same for strips.
 *
 * Of the loops without loops, barriers or calls in them, those that load from memory at addresses that differ from lane to lane, and
 * carry a number from round to round to which they add something unknown that is not the size of a block, or JIT_FAR and more.
 *
 * In code such a back edge is a barrier that nobody has to come to: where the warps of a block are in step (jit_run.c), one that comes there
 * with all its lanes leaves its values in P, and the next one has its round. Who comes there otherwise goes on. A loop that some warps leave
 * before others parts them; a kernel to which that happens often takes no more turns (jit.uneven).
 *
 * In: classes, blocks. Out: jcomp.turn of such a loop's first block, jcomp.within of all of its.
 */
#include "jit.h"
#include "lanes.h"

#define TURN_LOG2 2             /* rounds */

static const struct insn *made_by(const struct jit_steps *s, u32 o)
{
	const struct insn *p = o & OPND_CONST ? s->fn->pro : s->code;
	u32 i, n = o & OPND_CONST ? s->fn->npro : s->n;

	for (i = 0; i < n; i++)
		if ((p[i].def & 1) && p[i].o[0] == o)
			return &p[i];
	return NULL;
}

bool jit_by_block(const struct jit_steps *s, u32 o, u32 depth)
{
	const struct insn *in = made_by(s, o);

	if (!in || depth > 4)
		return false;
	if (in->kind == K_SREG)
		return in->sub >= SR_NTID_X && in->sub <= SR_NTID_Z;
	if (in->kind != K_LANE)
		return false;
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_TRUNC: case LOP_CVT_SEXT:
		return jit_by_block(s, in->o[1], depth + 1);
	case LOP_SHL: case LOP_MUL: case LOP_MULWIDE:
		return s->known(s->of, in->o[2]) && jit_by_block(s, in->o[1], depth + 1);
	default:
		return false;
	}
}

static bool known(const void *c, u32 o) { return jit_val(c, o, 0).known; }

static bool by_block(const struct jcomp *c, u32 o)
{
	return jit_by_block(&(struct jit_steps){ c->fn, c->code, c->n, known, c }, o, 0);
}

/* in adds to register r, which is also what comes out (or is copied there later). */
static bool far_step(const struct jcomp *c, const struct insn *in, u32 r)
{
	struct jval v;
	u32 other;
	s64 k;

	if (in->kind != K_LANE || (in->lop != LOP_ADD && in->lop != LOP_SUB) || type_is_float(in->type) || in->guard != OPND_NONE)
		return false;
	other = in->o[1] == r ? in->o[2] : in->o[2] == r && in->lop == LOP_ADD ? in->o[1] : OPND_NONE;
	if (other == OPND_NONE)
		return false;
	v = jit_val(c, other, type_bytes(in->type) == 8);
	if (v.cls != JC_UNI)
		return false;
	k = type_bytes(in->type) == 8 ? (s64)v.k : (s32)v.k;
	return v.known ? k >= JIT_FAR || k <= -JIT_FAR : !by_block(c, other);
}

/* x = r + step, and later r = x */
static bool copied_step(const struct jcomp *c, u32 t, u32 self, const struct insn *in)
{
	u32 pc;

	if (in->kind != K_LANE || in->lop != LOP_ADD)
		return false;
	for (pc = c->s->b[t].start; pc < c->s->b[self].end; pc++) {
		const struct insn *m = &c->code[pc];

		if (m->kind == K_LANE && m->lop == LOP_MOV && m->o[1] == in->o[0] && (in->o[1] == m->o[0] || in->o[2] == m->o[0]))
			return far_step(c, in, m->o[0]);
	}
	return false;
}

static bool spread_load(const struct jcomp *c, const struct insn *in)
{
	return in->kind == K_LD && in->space != SPACE_SHARED && in->space != SPACE_LOCAL && in->space != SPACE_PARAM &&
	       jit_val(c, in->o[4], in->aw).cls != JC_UNI;
}

/* Lanes of a warp, or warps, wait for each other at in. */
static bool meets(const struct insn *in)
{
	switch (in->kind) {
	case K_CALL: case K_LATER: case K_BAR: case K_WARPSYNC: case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_BRX:
		return true;
	default:
		return false;
	}
}

static void loop(struct jcomp *c, u32 t, u32 self)
{
	bool far = jit_stress && ((jit_stress ^ t) & 1), loads = far;
	u32 b, i, pc;

	for (b = t; b <= self; b++) {
		for (i = 0; i < c->s->b[b].nsucc; i++)
			if (c->s->b[b].succ[i] <= b && (b != self || c->s->b[b].succ[i] != t))
				return;
		for (pc = c->s->b[b].start; pc < c->s->b[b].end; pc++) {
			const struct insn *in = &c->code[pc];

			if (meets(in))
				return;
			far |= far_step(c, in, in->o[0]) || copied_step(c, t, self, in);
			loads |= spread_load(c, in);
		}
	}
	c->turn[t] = far && loads;
	for (b = t; b <= self; b++)
		c->within[b] |= c->turn[t];
}

bool jit_turns(struct jcomp *c)
{
	u32 b, i;

	c->turn = pool_alloc(&c->mem, c->s->nb + 1);
	c->within = pool_alloc(&c->mem, c->s->nb + 1);
	c->rounds = pool_alloc(&c->mem, (c->s->nb + 1) * sizeof(u32));
	c->around = pool_alloc(&c->mem, (c->s->nb + 1) * sizeof(u32));
	if (!c->turn || !c->within || !c->rounds || !c->around)
		return false;
	for (b = 0; b < c->s->nb; b++)
		for (i = 0; i < c->s->b[b].nsucc; i++)
			if (c->s->b[b].succ[i] <= b)
				loop(c, c->s->b[b].succ[i], b);
	return true;
}

/*
 * Block b begins. What comes to a loop from elsewhere counts its rounds anew, so that all warps of a block have their turns after the same
 * ones; who comes around does not.
 */
void jit_turn_begin(struct jcomp *c, u32 b)
{
	if (!c->turn[b])
		return;
	c->rounds[b] = c->home_next++;
	g_op(&c->a, 0, 0xc6, 0, rm_mem(RBX, (s32)c->rounds[b]), 1);     /* mov byte, 0 */
	b1(&c->a, 0);
	c->around[b] = c->a.n;
}

/* The edge at pc is loop b's own back edge, and nobody waits: on, after so many rounds by exit x. */
void jit_turn_around(struct jcomp *c, u32 b, u32 x)
{
	struct as *a = &c->a;

	g_op(a, 0, 0x80, G_ADD, rm_mem(RBX, (s32)c->rounds[b]), 1);
	b1(a, 256 >> TURN_LOG2);
	g_land(a, g_jcc(a, CC_AE), c->around[b]);
	j_exit_at(c, g_jmp(a), x);
}

/*
 * In such a loop: what this warp reads or writes here in its next turn. Lines that are only stored to are waited for, too: a stencil of three dimensions stood
 * still at its stores until these were asked for, and took twice as long.
 */
void jit_ask_next_turn(struct jcomp *c, int base, s32 disp, u32 bytes)
{
	struct as *a = &c->a;
	struct rm last;
	u32 i;

	c->home_next = (c->home_next + 7) & ~7u;
	last = rm_mem(RBX, (s32)c->home_next);
	c->home_next += 8;
	g_load(a, 1, RCX, rm_reg(base));
	g_alu(a, 1, G_SUB, RCX, last);
	g_store(a, 1, last, base);
	for (i = 0; i < bytes; i += 64)         /* prefetcht0 */
		g_op(a, 0, 0x118, 1, rm_idx(base, RCX, TURN_LOG2, disp + (s32)i), 0);
}
