/* SPDX-License-Identifier: MIT */
/*
 * Short branches in loops at which lanes part become guards. Called by cfg.c between edges and order, where code is compiled.
 *
 *            b: ... @p bra B                        b: ...
 *              /        \                              @p  those of B that others read of
 *             B          |            ==>              B's other instructions, as they are
 *              \        /                              J's, if nobody else comes there
 *                  J
 *
 * and before that, `if (p || q) B`: of two branches that lead to one place, with nothing but arithmetic in between, the second one's
 * arithmetic is done by all, and one branch is left. A branch that lanes leave by both ways costs some 25 instructions, in which masks go
 * through memory, and what the processor guesses of it is often wrong; a guard costs two or three an instruction.
 *
 * What runs unguarded for lanes that would not have come by is arithmetic that cannot fault, into registers that only B's own instructions
 * read, each after it was written there.
 */
#include <string.h>

#include "guards.h"
#include "lanes.h"

#define BODY_LONGEST 8u
#define LOOP_BLOCKS 64u         /* looked at for a way back */
#define SINK_MOST 16u           /* instructions that a comparison passes on its way to the branch */

struct insn *guards_last(const struct guards *u, u32 b)
{
	return &u->c->code[u->g->b[b].end - 1];
}

/* ---- who varies ------------------------------------------------------------------------------ */

struct look { struct guards *u; bool vary, changed, count; };

static void reads(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (l->count && is_def)
		l->u->defs[*o]++;
	else if (l->count)
		l->u->uses[*o]++;
	else if (!is_def)
		l->vary |= l->u->vary[*o];
}

static void writes(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (is_def && !l->u->vary[*o])
		l->u->vary[*o] = l->changed = true;
}

/* Whatever its operands are, lanes may get different results. */
bool guards_makes_varying(const struct insn *in)
{
	switch (in->kind) {
	case K_SREG:
		return in->sub <= SR_TID_Z || (in->sub >= SR_LANEID && in->sub < SR_WARPID) || (in->sub >= SR_LANEMASK_EQ && in->sub <= SR_LANEMASK_GT);
	case K_ATOM: case K_MATCH: case K_TENSOR: case K_GEN: case K_CALL:
		return true;
	}
	return false;
}

/* A guess: what a branch makes of a register by being taken or not is not looked at. */
static void who_varies(struct guards *u)
{
	struct look l = { .u = u, .changed = true };
	u32 i, round;

	u->nregs = u->c->nregs;
	u->uses = cfg_zeroes(u->g, u->nregs * sizeof(u32));
	u->defs = cfg_zeroes(u->g, u->nregs * sizeof(u32));
	u->vary = cfg_zeroes(u->g, u->nregs);
	l.count = true;
	for (i = 0; i < u->c->ncode; i++)
		each_opnd(&u->c->code[i], reads, &l);
	l.count = false;
	for (round = 0; l.changed && round < ROUNDS; round++) {
		l.changed = false;
		u->c->fn->work += u->c->ncode;
		for (i = 0; i < u->c->ncode; i++) {
			struct insn *in = &u->c->code[i];

			l.vary = guards_makes_varying(in);
			each_opnd(in, reads, &l);
			if (l.vary && in->kind != K_VOTE && in->kind != K_ACTIVEMASK)
				each_opnd(in, writes, &l);
		}
	}
}

bool guards_varies(struct guards *u, u32 p)
{
	if (!u->vary)
		who_varies(u);
	return p >= u->nregs || u->vary[p];
}

/* ---- what may be done by all, or under a guard -------------------------------------------------- */

bool guards_arithmetic(const struct insn *in)
{
	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_CVT: case K_LOP3: case K_NOP:
		return in->guard == OPND_NONE;
	}
	return false;
}

/* Where the instructions of b end, but for the jump behind them. */
u32 guards_end(const struct guards *u, u32 b)
{
	return u->g->b[b].end - (guards_last(u, b)->kind == K_JMP || guards_last(u, b)->kind == K_CBRA);
}

struct within { u32 reg, uses, defs; bool early; };

static void touch(void *arg, u32 *o, bool is_def)
{
	struct within *w = arg;

	if (*o != w->reg)
		return;
	if (is_def) {
		w->defs++;
	} else {
		w->early |= !w->defs;
		w->uses++;
	}
}

/* Nobody but b's own instructions sees what they write into v. */
static bool private_to(const struct guards *u, u32 b, u32 v)
{
	struct within w = { .reg = v };
	u32 i;

	if (v >= u->nregs)
		return false;
	for (i = u->g->b[b].start; i < u->g->b[b].end; i++)
		each_opnd(&u->c->code[i], touch, &w);
	return !w.early && w.uses == u->uses[v] && w.defs == u->defs[v];
}

bool guards_private(const struct guards *u, u32 b, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !private_to(u, b, in->o[k]))
			return false;
	return true;
}

static bool is_def_of(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] == v)
			return true;
	return false;
}

/* b, which only one block leads to, may be done under p. */
static bool body(const struct guards *u, u32 b, u32 p)
{
	u32 i, end = guards_end(u, b), start = u->g->b[b].start;

	if (!b || u->g->b[b].npred != 1 || u->g->b[b].nsucc != 1 || end - start > BODY_LONGEST || (end < u->g->b[b].end && guards_last(u, b)->kind != K_JMP))
		return false;
	for (i = start; i < end; i++) {
		const struct insn *in = &u->c->code[i];

		if (!guards_arithmetic(in) || is_def_of(in, p))
			return false;
	}
	return true;
}

/* b, which only one block leads to, may be done by all that come there, up to its branch. */
static bool free_body(const struct guards *u, u32 b)
{
	u32 i, end = u->g->b[b].end - 1;

	if (!b || u->g->b[b].npred != 1 || guards_last(u, b)->kind != K_CBRA || end - u->g->b[b].start > BODY_LONGEST)
		return false;
	for (i = u->g->b[b].start; i < end; i++)
		if (!guards_arithmetic(&u->c->code[i]) || !guards_private(u, b, &u->c->code[i]))
			return false;
	return true;
}

bool guards_in_loop(const struct guards *u, u32 b)
{
	u32 seen[LOOP_BLOCKS], n = 0, i, k, j;

	seen[n++] = b;
	for (i = 0; i < n; i++)
		for (k = 0; k < u->g->b[seen[i]].nsucc; k++) {
			u32 to = u->g->b[seen[i]].succ[k];

			if (to == b)
				return true;
			for (j = 0; j < n && seen[j] != to; j++)
				;
			if (j < n)
				continue;
			if (n == LOOP_BLOCKS)
				return false;
			seen[n++] = to;
		}
	return false;
}

/* ---- the changes -------------------------------------------------------------------------------- */

/* A copy of an instruction at the end of the code. */
struct insn *guards_copy(struct guards *u, u32 from)
{
	struct insn *in = emit(u->c, K_NOP);

	*in = u->c->code[from];
	return in;
}

static void copies(struct guards *u, u32 from, u32 end)
{
	for (; from < end; from++)
		guards_copy(u, from);
}

/* b's instructions but for the last one begin anew at the end of the code. */
u32 guards_begin(struct guards *u, u32 b)
{
	u32 at = u->c->ncode;

	copies(u, u->g->b[b].start, u->g->b[b].end - 1);
	u->c->line = guards_last(u, b)->line;
	return at;
}

void guards_done(struct guards *u, u32 b, u32 start)
{
	u->left -= u->c->ncode - start < u->left ? u->c->ncode - start : u->left;
	u->g->b[b].start = start;
	u->g->b[b].end = u->c->ncode;
}

/* An edge of b's branch to a block that only jumps on leads to where that one does. Not one that others come to as well and that jumps back: lanes meet there. */
static void thread_edges(struct guards *u, u32 b)
{
	struct insn *br = guards_last(u, b);
	u32 k, n;

	for (k = 0; k < 2; k++)
		for (n = 0; n < 4; n++) {
			u32 *to = k ? &br->fall : &br->taken;
			const struct block *t = &u->g->b[*to];

			if (t->end - t->start != 1 || u->c->code[t->start].kind != K_JMP || t->succ[0] == *to || (t->npred > 1 && t->succ[0] <= b))
				break;
			u->g->b[t->succ[0]].npred++;
			if (!--u->g->b[*to].npred && *to)
				u->g->b[t->succ[0]].npred--;
			*to = t->succ[0];
			u->g->b[b].succ[k] = *to;
		}
}

/* Of b's branch and that of y, to which it leads, both to x, one is left. */
static bool either(struct guards *u, u32 b, u32 x, u32 y)
{
	struct block *bb = &u->g->b[b], *yb = &u->g->b[y];
	struct insn first = *guards_last(u, b), second, *in;
	bool neg, neg2;
	u32 z, start, r;

	if (y == b || !free_body(u, y))
		return false;
	thread_edges(u, y);
	second = *guards_last(u, y);
	if (second.guard & OPND_CONST || (second.taken != x && second.fall != x) || second.taken == second.fall)
		return false;
	z = second.taken == x ? second.fall : second.taken;
	neg = (first.taken == x) == !!first.gneg;
	neg2 = (second.taken == x) == !!second.gneg;
	start = guards_begin(u, b);
	copies(u, yb->start, yb->end - 1);
	r = new_reg(u->c, T_PRED);
	emit_pred(u->c, PRED_OR, r, first.guard, neg, second.guard, neg2);
	in = emit(u->c, K_NOP);
	*in = first;
	in->guard = r;
	in->gneg = false;
	in->taken = x;
	in->fall = z;
	guards_done(u, b, start);
	bb->succ[0] = x;
	bb->succ[1] = z;
	u->g->b[x].npred--;
	yb->npred = 0;
	return true;
}

/* Block b, now at the end of the code, goes on to join, and is that, if nobody else comes there; gone: how many ways there are no more. */
void guards_join(struct guards *u, u32 b, u32 join, u32 gone)
{
	struct block *bb = &u->g->b[b], *j = &u->g->b[join];
	struct insn *in;

	j->npred -= gone;
	if (j->npred == 1 && join && join != b && j->end - j->start <= BLOCK_LONGEST) {
		copies(u, j->start, j->end);
		bb->succ = j->succ;
		bb->nsucc = j->nsucc;
		j->npred = 0;
		return;
	}
	in = emit(u->c, K_JMP);
	in->taken = join;
	bb->succ[0] = join;
	bb->nsucc = 1;
}

/* b's branch is no more: what it led to, body, is done under its guard, and then comes join. */
static bool under(struct guards *u, u32 b, u32 to, u32 join)
{
	struct block *t = &u->g->b[to];
	struct insn branch = *guards_last(u, b), *in;
	u32 start, i, end;

	if (to == b || t->nsucc != 1 || t->succ[0] != join || !body(u, to, branch.guard))
		return false;
	start = guards_begin(u, b);
	for (i = t->start, end = guards_end(u, to); i < end; i++) {
		bool all = guards_arithmetic(&u->c->code[i]) && guards_private(u, to, &u->c->code[i]);

		in = guards_copy(u, i);
		if (all || in->kind == K_NOP)
			continue;
		in->guard = branch.guard;
		in->gneg = (branch.taken == to) == !!branch.gneg;
	}
	t->npred = 0;
	guards_join(u, b, join, 1);
	guards_done(u, b, start);
	return true;
}

static bool better(struct guards *u, u32 b)
{
	const struct block *bb = &u->g->b[b];
	struct insn br = *guards_last(u, b);

	if (br.kind != K_CBRA || (br.guard & OPND_CONST) || br.taken == br.fall || bb->end - bb->start > BLOCK_LONGEST || bb->nsucc != 2 ||
	    u->left < BLOCK_LONGEST * 3 || (b && !bb->npred) || !guards_in_loop(u, b) || !guards_varies(u, br.guard))
		return false;
	thread_edges(u, b);
	br = *guards_last(u, b);
	if (br.taken == br.fall)
		return false;
	return either(u, b, br.taken, br.fall) || either(u, b, br.fall, br.taken) || under(u, b, br.taken, br.fall) || under(u, b, br.fall, br.taken);
}

void guards_for_branches(struct cfg *g)
{
	struct guards u = { .g = g, .c = g->c };
	const struct engine *e = g->c->m->e;
	u32 b;

	if (!g->c->fn->entry || !e->code_rw || e->mc || e->ops || e->dbg)
		return;
	u.left = g->c->ncode + 1024;
	if (e->lanes != &lanes_avx512)
		sides_for_branches(&u);
	for (b = 0; b < g->nb; b++)
		while (better(&u, b))
			;
}

/* ---- comparisons where their branches are --------------------------------------------------------- */

struct meets { const struct insn *setp; bool does; };

static void meet(void *arg, u32 *o, bool is_def)
{
	struct meets *m = arg;
	u32 k;

	m->does |= *o == m->setp->o[0];
	for (k = 0; is_def && k < 6; k++)
		m->does |= (m->setp->use >> k & 1) && m->setp->o[k] == *o;
}

/*
 * clang has a loop's moves between a comparison and the branch that goes by it. Code for both together needs no predicate, so the comparison
 * goes down to the branch where nothing in between reads its predicate, or writes that or what it compares.
 */
void compare_at_branch(struct cfg *g)
{
	struct comp *c = g->c;
	u32 b;

	if (c->m->e->dbg || c->m->e->ops)
		return;
	for (b = 0; b < g->nb; b++) {
		u32 end = g->b[b].end - 1, start = g->b[b].start, i, k;
		struct insn setp;

		if (c->code[end].kind != K_CBRA || end - start < 2)
			continue;
		for (i = end; i-- > start && i + SINK_MOST > end && !is_def_of(&c->code[i], c->code[end].guard);)
			;
		if (i + 1 <= start || i + SINK_MOST <= end || i + 1 == end)
			continue;
		setp = c->code[i];
		if (setp.kind != K_SETP || setp.guard != OPND_NONE || setp.o[0] != c->code[end].guard || setp.o[1] != OPND_NONE)
			continue;
		for (k = i + 1; k < end; k++) {
			struct meets m = { .setp = &setp };

			each_opnd(&c->code[k], meet, &m);
			if (m.does)
				break;
		}
		if (k < end)
			continue;
		memmove(&c->code[i], &c->code[i + 1], (end - 1 - i) * sizeof(setp));
		c->code[end - 1] = setp;
	}
}
