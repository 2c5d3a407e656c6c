/* SPDX-License-Identifier: MIT */
/*
 * Reductions of a warp by shuffles. After the step that adds the other half's lanes both halves of a warp have the same numbers; what follows
 * is computed for one half, and the other gets a copy where somebody reads it. So
 *
 *   shfl.bfly a, v, 16;  add b, v, a;  shfl.bfly c, b, 8;  add d, b, c;  ...
 *
 * has code twice: for a warp whose 32 lanes all run, here, and for any other, behind it, as jit.c has it. What is known of halves is known within such
 * a run of instructions alone, in which nobody enters this code. A run may also begin with what all lanes have just loaded by a pattern that is
 * the same for both halves; it is looked at, for others may have written there in between.
 *
 * In: classes, places. Called by jit.c at a shuffle, and where a run has ended.
 */
#include "jit.h"
#include "lanes.h"

enum { TWO, TWIN };

static bool commutes(const struct insn *in)
{
	switch (in->lop) {
	case LOP_ADD: case LOP_MUL: case LOP_MIN: case LOP_MAX: case LOP_AND: case LOP_OR: case LOP_XOR:
		return true;
	}
	return false;
}

static bool lane_op(const struct insn *in)
{
	if (in->kind != K_LANE || in->def != 1 || in->dw || jit_halves(in))
		return false;
	if (in->type == T_F32)
		return commutes(in) || in->lop == LOP_SUB || in->lop == LOP_MAD;
	return (in->type == T_U32 || in->type == T_S32 || in->type == T_B32) && in->lop != LOP_MUL && (commutes(in) || in->lop == LOP_SUB);
}

static bool vector(const struct jcomp *c, u32 o)
{
	return o != OPND_NONE && !(o & OPND_CONST) && c->r[o].cls == JC_VARY && !c->r[o].w && !c->sym[o].ghost;
}

static bool shuffle(const struct jcomp *c, const struct insn *in)
{
	struct jval b, m, cc;

	if (in->kind != K_SHFL || in->sub != SHFL_BFLY || in->o[1] != OPND_NONE || in->o[2] == OPND_NONE || !vector(c, in->o[3]))
		return false;
	m = jit_val(c, in->o[2], 0);
	b = jit_val(c, in->o[4], 0);
	cc = jit_val(c, in->o[5], 0);
	return m.known && (u32)m.k == ~0u && cc.known && ((u32)cc.k & 0x1f1f) == 0x1f && b.known && !(b.k & (b.k - 1)) && b.k && b.k <= 16;
}

static u32 distance(const struct jcomp *c, const struct insn *in) { return (u32)jit_val(c, in->o[4], 0).k; }

/* Behind the run that begins at pc. */
static u32 reach(const struct jcomp *c, u32 pc)
{
	u32 end = c->s->b[c->block].end;

	for (; pc < end; pc++) {
		const struct insn *in = &c->code[pc];

		if (in->kind == K_NOP)
			continue;
		if ((!shuffle(c, in) && !lane_op(in)) || in->guard != OPND_NONE || !vector(c, in->o[0]) || c->inside[pc] ||
		    c->merged[pc].kind == K_LD || j_keeps(c, in))
			break;
	}
	return pc;
}

static bool same_halves(const struct jcomp *c, u32 pat)
{
	u32 l;

	for (l = 0; l < LANES / 2; l++)
		if (c->pats[pat][l] != c->pats[pat][l + LANES / 2])
			return false;
	return true;
}

/* What register v has before pc has just been loaded, and is likely the same for both halves. */
static bool loaded(const struct jcomp *c, u32 v, u32 pc)
{
	u32 first = c->s->b[c->block].start;

	while (pc-- > first) {
		const struct insn *in = &c->code[pc];
		u32 k;

		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] == v) {
				struct jval at = jit_val(c, in->o[4], in->aw);

				return in->kind == K_LD && in->guard == OPND_NONE && at.cls == JC_PAT && same_halves(c, at.pat);
			}
	}
	return false;
}

/* Operand o has the same numbers in both halves. */
static bool is_twin(const struct jcomp *c, u32 o, u8 w)
{
	struct jval v;

	if (vector(c, o))
		return c->twin[o] == TWIN;
	v = jit_val(c, o, w);
	return v.cls == JC_UNI || (v.cls == JC_PAT && same_halves(c, v.pat));
}

static void both(struct jcomp *c, u32 o)
{
	if (!vector(c, o) || c->twin[o] != TWIN)
		return;
	jv_put(c, o, 1, jv_reg(c, o, 0, 0, 0));
	c->twin[o] = TWO;
}

/* The instruction behind shuffle pc combines what that makes with what was shuffled. alone: and nobody else reads it. */
static bool for_sum(const struct jcomp *c, u32 pc, u32 to, bool alone)
{
	const struct insn *in = &c->code[pc], *sum = in + 1;
	u32 d = in->o[0], v = in->o[3];

	if (pc + 1 >= to || !lane_op(sum) || !commutes(sum) || d == v)
		return false;
	if (!((sum->o[1] == d && sum->o[2] == v) || (sum->o[1] == v && sum->o[2] == d)))
		return false;
	return !alone || sum->o[0] == d || !(c->live_at[(size_t)(pc + 2) * c->s->words + (d >> 6)] >> (d & 63) & 1);
}

/* A half of v, as d is to have it. */
static int half(struct jcomp *c, u32 d, u32 v, u32 part)
{
	return c->r[d].rawf ? jv_reg(c, v, 0, part, 0) : jv_obs(c, v, 0, part, 0);
}

static bool shuffled(struct jcomp *c, const struct insn *in, u32 to)
{
	u32 n = distance(c, in), d = in->o[0], v = in->o[3];
	struct as *a = &c->a;
	int x, t;

	if (c->twin[v] == TWIN && n < 16) {
		x = half(c, d, v, 0);
		t = jv_dst(c, d, 0, 1);
		if (n < 4)
			ev_i(a, V_PSHUFD, t, 0, rm_reg(x), 0, 0, n == 1 ? 0xb1 : 0x4e);
		else
			ev_i(a, V_SHUF32X4, t, x, rm_reg(x), 0, 0, n == 4 ? 0xb1 : 0x4e);
		jv_put(c, d, 0, t);
		c->twin[d] = TWIN;
	} else if (c->twin[v] == TWIN) {
		jv_put(c, d, 0, half(c, d, v, 0));
		c->twin[d] = TWIN;
	} else {
		c->twin[d] = TWO;
		if (n == 16 && for_sum(c, c->pc, to, false))
			c->sum = c->pc + 1;
		if (n != 16 || !for_sum(c, c->pc, to, true))
			return jit_shfl(c, in);
		jv_put(c, d, 0, half(c, d, v, 1));
	}
	return true;
}

static bool combined(struct jcomp *c, const struct insn *in)
{
	bool twin = true, ok;
	u32 k;

	for (k = 1; k < 4; k++)
		if ((in->use >> k & 1) && in->o[k] != OPND_NONE)
			twin &= is_twin(c, in->o[k], 0);
	twin |= c->sum == c->pc;
	for (k = 1; k < 4 && !twin; k++)
		if ((in->use >> k & 1) && in->o[k] != OPND_NONE)
			both(c, in->o[k]);
	c->one_half = twin;
	ok = jit_lane(c, in);
	c->one_half = false;
	c->twin[in->o[0]] = twin ? TWIN : TWO;
	return ok;
}

/* The run's code for whole warps. False: there is none. */
static bool whole(struct jcomp *c, u32 from, u32 to)
{
	u32 pc, d;

	for (pc = from; pc < to; pc++) {
		const struct insn *in = &c->code[pc];

		d = in->o[0];
		c->pc = pc;
		if (in->kind == K_NOP || (in->kind == K_LANE && !(c->live_at[(size_t)(pc + 1) * c->s->words + (d >> 6)] >> (d & 63) & 1)))
			continue;
		if (!(in->kind == K_SHFL ? shuffled(c, in, to) : combined(c, in)))
			return false;
	}
	for (pc = from; pc < to; pc++) {
		d = c->code[pc].o[0];
		if (c->code[pc].kind != K_NOP && (c->live_at[(size_t)to * c->s->words + (d >> 6)] >> (d & 63) & 1))
			both(c, d);
	}
	return true;
}

void jit_twins(struct jcomp *c, u32 pc)
{
	struct as *a = &c->a;
	const struct insn *in = &c->code[pc];
	struct jmark mark = j_mark(c);
	u32 to, i, k, n = 0, mx = c->mx, out[2], nout = 0;
	bool known, ok;

	if (pc < c->run_to || c->decided || c->after_half || !shuffle(c, in))
		return;
	to = reach(c, pc);
	for (i = pc; i < to; i++)
		n += c->code[i].kind == K_SHFL;
	known = distance(c, in) != 16;
	if (n < 2 || (known && !loaded(c, in->o[3], pc)))
		return;
	for (i = pc; i < to; i++)
		for (k = 0; k < 6; k++)
			if (c->code[i].kind != K_NOP && vector(c, c->code[i].o[k]))
				c->twin[c->code[i].o[k]] = TWO;
	g_alui(a, 0, G_CMP, PM(m), -1);
	out[nout++] = g_jcc(a, CC_NE);
	if (known) {
		ev_i(a, V_PCMPUD, 7, jv_reg(c, in->o[3], 0, 0, 0), rm_reg(jv_reg(c, in->o[3], 0, 1, 1)), 0, 0, 4);
		k_ortest(a, 7, 7);
		out[nout++] = g_jcc(a, CC_NE);
		c->twin[in->o[3]] = TWIN;
	}
	c->sum = ~0u;
	ok = whole(c, pc, to);
	c->pc = pc;
	c->run_to = to;
	c->run_mx = c->mx;
	c->mx = mx;
	if (!ok) {
		j_undo(c, mark);
		return;
	}
	c->run_out = g_jmp(a);
	for (i = 0; i < nout; i++)
		g_here(a, out[i]);
}

void jit_twins_end(struct jcomp *c, u32 pc)
{
	if (!c->run_out || pc != c->run_to)
		return;
	g_here(&c->a, c->run_out);
	c->run_out = 0;
	if (c->mx != c->run_mx)
		c->mx = 0;
}
