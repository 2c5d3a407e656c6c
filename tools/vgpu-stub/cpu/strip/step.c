/* SPDX-License-Identifier: MIT */
/*
 * Loops in which the strips of a block take turns. A strip by itself goes through all of a loop before the next one begins it;
 * where the loop steps far in memory (by the size of a grid or of a row), each of its loads then touches a page and half a line that
 * the next strip touches again much later. Taken in turns, an iteration's loads lie side by side.
 *
 * Of the loops without loops, barriers or calls in them, those that load from memory at addresses that differ from lane to lane, and
 * carry a number from iteration to iteration to which they add something unknown that is not the size of a block, or JIT_FAR and more.
 *
 * A loop that some strips leave before others is no gain: who comes to a barrier with others still in it leaves code. That is noted as a branch that parts lanes
 * is (guess.c), and the function compiled anew.
 *
 * In: classes, blocks. Out: sblock.turn of such a loop's first block, sblock.within of all of its. What comes of it: s_turn() in meet.c.
 */
#include "mem.h"

#define FEW_ROUNDS 12
#define AHEAD_MIN 48u           /* in loops, where it costs more */
#define AHEAD_LEAST 32u
#define AHEAD_MAX 512u

static bool known(const void *c, u32 o) { return s_val(c, o, 0).known; }

static bool by_block(const struct scomp *c, u32 o)
{
	return jit_by_block(&(struct jit_steps){ c->fn, c->code, c->n, known, c }, o, 0);
}

static bool far_step(const struct scomp *c, const struct insn *in)
{
	struct sval v;
	u32 other;

	if (in->kind != K_LANE || (in->lop != LOP_ADD && in->lop != LOP_SUB) || type_is_float(in->type) || in->guard != OPND_NONE)
		return false;
	other = in->o[1] == in->o[0] ? in->o[2] : in->o[2] == in->o[0] ? in->o[1] : OPND_NONE;
	if (other == OPND_NONE)
		return false;
	v = s_val(c, other, type_bytes(in->type) == 8);
	if (v.cls != SC_SCALAR || v.pat)
		return false;
	return v.known ? (s32)v.k >= JIT_FAR || (s32)v.k <= -JIT_FAR : !by_block(c, other);
}

static bool spread_load(const struct scomp *c, const struct insn *in)
{
	struct sval v;

	if (in->kind != K_LD || in->space == SPACE_SHARED || in->space == SPACE_LOCAL || in->space == SPACE_PARAM)
		return false;
	v = s_val(c, in->o[4], in->aw);
	return v.cls != SC_SCALAR || v.pat;
}

/* Is r the register that in adds to, by way of a copy? x = r + step, later r = x */
static bool copied_step(const struct scomp *c, u32 t, u32 self, const struct insn *in)
{
	u32 pc, x = in->o[0], k;

	if (in->kind != K_LANE || in->lop != LOP_ADD || type_is_float(in->type) || in->guard != OPND_NONE)
		return false;
	for (pc = c->b[t].start; pc < c->b[self].end; pc++) {
		const struct insn *m = &c->code[pc];
		struct insn as = *in;

		if (m->kind != K_LANE || m->lop != LOP_MOV || m->o[1] != x)
			continue;
		for (k = 1; k < 3; k++)
			if (in->o[k] == m->o[0]) {
				as.o[0] = m->o[0];
				return far_step(c, &as);
			}
	}
	return false;
}

/* How many write o from pc `from` to `to`, one that may not counting twice; *def: the last of them */
static u32 defs(const struct scomp *c, u32 o, u32 from, u32 to, const struct insn **def)
{
	u32 pc, k, n = 0;

	for (pc = from; pc < to; pc++)
		for (k = 0; k < 6; k++)
			if ((c->code[pc].def >> k & 1) && c->code[pc].o[k] == o) {
				*def = &c->code[pc];
				n += 1 + ((*def)->guard != OPND_NONE);
			}
	return n;
}

/*
 * Does the loop go round a few times, as is known now? What one strip has brought is still there then when the next one comes, and to go round by turns
 * takes longer: of five rounds two are strips' own.
 */
static bool few_rounds(const struct scomp *c, u32 t, u32 self)
{
	u32 from = c->b[t].start, to = c->b[self].end, x;
	const struct insn *end = &c->code[to - 1], *test = NULL, *step = NULL, *begin = NULL;
	s64 n, by;

	if (end->kind != K_CBRA || end->guard == OPND_NONE || defs(c, end->guard, from, to, &test) != 1)
		return false;
	if (test->kind != K_SETP || type_is_float(test->type) || !s_val(c, test->o[3], type_bytes(test->type) == 8).known || (test->o[2] & OPND_CONST))
		return false;
	x = test->o[2];
	if (defs(c, x, from, to, &step) != 1)
		return false;
	if (step->kind == K_LANE && step->lop == LOP_CVT_TRUNC && !(step->o[1] & OPND_CONST)) {
		x = step->o[1];
		if (defs(c, x, from, to, &step) != 1)
			return false;
	}
	if (step->kind != K_LANE || step->lop != LOP_ADD || type_is_float(step->type) || step->o[1] != x || !s_val(c, step->o[2], step->dw).known)
		return false;
	if (defs(c, x, 0, from, &begin) + defs(c, x, to, c->n, &begin) != 1 || begin->kind != K_LANE || begin->lop != LOP_MOV || !s_val(c, begin->o[1], begin->dw).known)
		return false;
	by = step->dw ? (s64)s_val(c, step->o[2], 1).k : (s32)s_val(c, step->o[2], 0).k;
	n = (s64)s_val(c, test->o[3], type_bytes(test->type) == 8).k - (s64)s_val(c, begin->o[1], begin->dw).k;
	if (type_bytes(test->type) == 4)
		n = (s32)n;
	return by && n / by > 0 && n / by <= FEW_ROUNDS;
}

static void loop(struct scomp *c, u32 t, u32 self)
{
	bool far = false, loads = false;
	u32 b, i, pc;

	if (c->s->parted[c->b[t].start] & PARTED_TURNS)
		return;
	for (b = t; b <= self; b++) {
		if (c->b[b].sync)
			return;
		for (i = 0; i < c->b[b].nsucc; i++)
			if (c->b[b].succ[i] <= b && (b != self || c->b[b].succ[i] != t))
				return;
		for (pc = c->b[b].start; pc < c->b[b].end; pc++) {
			const struct insn *in = &c->code[pc];

			if (in->kind == K_CALL || s_sync_at(c, pc))
				return;
			far |= far_step(c, in) || copied_step(c, t, self, in);
			loads |= spread_load(c, in);
		}
	}
	c->b[t].turn = far && loads && !few_rounds(c, t, self);
	if (c->b[t].turn)
		c->b[t].rounds = s_new_home(c);
	for (b = t; b <= self; b++)
		c->b[b].within |= c->b[t].turn;
}

void s_steps(struct scomp *c)
{
	u32 b, i;

	for (b = 0; b < c->nb; b++)
		for (i = 0; i < c->b[b].nsucc; i++)
			if (c->b[b].succ[i] <= b)
				loop(c, c->b[b].succ[i], b);
}

/* In a loop that steps far: what the next turn's round loads and stores is asked for (warp: by all strips of one), as many steps ahead as a turn has rounds. */
void s_ask_for_next(struct scomp *c, struct rm m, bool warp)
{
	struct as *a = &c->a;
	struct rm home;
	bool far = warp;
	s32 i;
	u32 w;

	if (!c->cur->within || c->guarded)
		return;
	/* strips whose lanes may have parted go round by themselves: turns are whole warps' there (round.c), and nobody else's rounds come in between */
	for (w = 0; w < c->bwords; w++)
		far |= c->cur->wait[w] != 0;
	home = rm_idx(R15, RBP, 0, s_new_home(c));
	g_lea(a, 1, RCX, m);
	g_load(a, 1, RDX, rm_reg(RCX));
	g_alu(a, 1, G_SUB, RDX, home);
	g_store(a, 1, home, RCX);
	for (i = 0; i < (warp ? 128 : 64); i += 64)
		g_op(a, 0, 0x118, 1, rm_idx(RCX, RDX, (u8)(far ? S_WARP_ROUNDS_LOG2 : S_ROUNDS_LOG2), i), 0);       /* prefetcht0 */
}

/* What the next block reads or writes here is asked for: ../ahead.h. Loses rcx and rdx. */
void s_ask_ahead(struct scomp *c, int base, s32 disp, u32 ext)
{
	struct as *a = &c->a;
	struct ahead_code *late;
	struct rm first;
	u32 i;

	if (c->cur->within || c->guarded || ext < (c->cur->depth ? AHEAD_MIN : AHEAD_LEAST) || ext > AHEAD_MAX)
		return;
	if (!c->cur->depth) {
		first = rm_idx(R15, RBP, 0, s_new_home(c));
		g_load(a, 1, RCX, rm_reg(base));
		g_alu(a, 1, G_SUB, RCX, first);
		g_store(a, 1, first, base);
		/* two blocks on: these are short */
		for (i = 0; i < ext; i += 64)
			g_op(a, 0, 0x118, 1, rm_idx(base, RCX, 1, disp + (s32)i), 0);
		return;
	}
	if (c->nahead == AHEAD_SITES)
		return;
	late = &c->ahead[c->nahead];
	*late = (struct ahead_code){ .site = AHEAD_STRIPS + c->nahead++, .base = base, .disp = disp, .bytes = ext, .first = true };
	ahead_often(a, late);
}
