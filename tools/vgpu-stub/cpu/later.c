/* SPDX-License-Identifier: MIT */
/*
 * Leaders come last. Called by cfg.c when blocks have their order, before they are copied.
 *
 *      bar.sync 0;
 *      ld.global.u32 %r1, [%rd1];              // all threads
 *      ...
 *      setp.ne.u32 %p1, %tid.x, 0;
 *      @%p1 bra END;
 *      atom.global.inc.u32 %r2, [%rd1], ...;   // one thread, and no barrier in between
 *
 * A race by the letter of the memory model, and not one on hardware: warps that have left a barrier, or begun, come to their first
 * instructions at about the same time, long before one of them is through. Here a warp runs to its next barrier before another one
 * does anything (jit_run.c), so what thread 0 writes at the end would be there before the others have read. Eigen's reductions do this, and many a
 * kernel that forgot a barrier and never learned of it. So a block of code in which threads chosen by their number alone write to a place that all
 * may have read since the last barrier begins with K_LATER: the other warps have their turns first.
 *
 * A place is an address that is one for all of a block of threads. Code that each thread comes to, or comes to by what it has read, is left alone.
 */
#include <string.h>

#include "cfg.h"

#define DEPTH 8u
#define MOST_BLOCKS 4096u
#define MOST_WRITES 64u
#define MOST_ASKED 512u

enum { TID = 1, CTAID = 2, OTHER = 4 };         /* what a value depends on */

struct later {
	struct cfg *g;
	const struct insn *code;
	u32 *def, *more;        /* by register: its last definition's index + 1, 0: none; by operand of an instruction, 6 each: the one before it */
	u32 *block;             /* by instruction */
	u32 *asked;             /* how many registers, for one place or branch */
	u8 *busy;               /* by register: it is being asked about; a pointer that a loop steps on depends on itself */
	u32 *pred;              /* by block: the only block before it, NO_PC: several or none */
	u8 *to;                 /* by block: a way leads from its end to the write, past no barrier */
};

static u32 depends(const struct later *l, u32 o, u32 depth);

static u32 depends_by(const struct later *l, const struct insn *in, u32 depth)
{
	u32 on = 0, k;

	switch ((enum kind)in->kind) {
	case K_SREG:
		if (in->sub <= SR_TID_Z || in->sub == SR_LANEID || in->sub == SR_WARPID)
			return TID;
		return in->sub <= SR_NTID_Z ? 0 : in->sub <= SR_CTAID_Z ? CTAID : OTHER;
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_BFI: case K_LDPARAM:
		if (in->guard != OPND_NONE)
			return OTHER;
		for (k = 0; k < 6; k++)
			if (in->use >> k & 1)
				on |= depends(l, in->o[k], depth + 1);
		return on;
	default:
		return OTHER;
	}
}

/* What decides, by the branches right before block b, whether it is come to */
static u32 come_to_by(const struct later *l, u32 b, u32 depth)
{
	u32 on = 0, i;

	for (i = 0; i < DEPTH && l->pred[b] != NO_PC; i++) {
		const struct insn *last;

		b = l->pred[b];
		last = &l->code[l->g->b[b].end - 1];
		if (last->kind == K_CBRA)
			on |= depends(l, last->guard, depth);
	}
	return on;
}

static u32 depends(const struct later *l, u32 o, u32 depth)
{
	u32 on = 0, at, k;

	if (o == OPND_NONE || (o & OPND_CONST) || l->busy[o])
		return 0;
	if (!l->def[o] || depth > DEPTH || ++*l->asked > MOST_ASKED)
		return OTHER;
	l->busy[o] = 1;
	for (at = l->def[o]; at && !(on & OTHER); at = l->more[6 * (at - 1) + k]) {
		const struct insn *in = &l->code[at - 1];

		for (k = 0; !(in->def >> k & 1) || in->o[k] != o; k++)
			;
		on |= depends_by(l, in, depth);
		/* one of several is who has come there */
		if (l->more[6 * (at - 1) + k] || l->def[o] != at)
			on |= come_to_by(l, l->block[at - 1], depth + 1);
	}
	l->busy[o] = 0;
	return on;
}

/* Do only threads chosen by their number come to block b, by the branches right before it? */
static bool chosen(const struct later *l, u32 b)
{
	u32 i;

	for (i = 0; i < DEPTH && l->pred[b] != NO_PC; i++) {
		const struct insn *last;

		b = l->pred[b];
		last = &l->code[l->g->b[b].end - 1];
		*l->asked = 0;
		if (last->kind == K_CBRA && depends(l, last->guard, 0) == TID)
			return true;
	}
	return false;
}

static bool barrier_in(const struct later *l, u32 from, u32 to)
{
	for (; from < to; from++)
		if (l->code[from].kind == K_BAR)
			return true;
	return false;
}

/* The blocks from whose ends a way leads to the start of b. */
static void ways_to(struct later *l, u32 b)
{
	struct cfg *g = l->g;
	bool more = true;
	u32 i, k, round;

	memset(l->to, 0, g->nb);
	for (round = 0; more && round < 16; round++) {
		more = false;
		for (i = g->nb; i-- > g->left;) {
			u32 v = g->order[i];

			for (k = 0; k < g->b[v].nsucc && !l->to[v]; k++) {
				u32 s = g->b[v].succ[k];

				if (s == b || (l->to[s] && !barrier_in(l, g->b[s].start, g->b[s].end)))
					l->to[v] = more = true;
			}
		}
	}
}

static bool one_place(const struct later *l, const struct insn *in)
{
	*l->asked = 0;
	return (in->space == SPACE_GLOBAL || in->space == SPACE_SHARED || in->space == SPACE_GENERIC) && !(depends(l, in->o[4], 0) & (TID | OTHER));
}

/* May all threads have read what `in`, in block b, writes? */
static bool read_before(struct later *l, const struct insn *in, u32 b)
{
	struct cfg *g = l->g;
	u32 i, k;

	ways_to(l, b);
	for (i = g->left; i < g->nb; i++) {
		const struct block *v = &g->b[g->order[i]];

		if (!l->to[g->order[i]] || g->order[i] == b)
			continue;
		for (k = v->end; k-- > v->start && l->code[k].kind != K_BAR;)
			if (l->code[k].kind == K_LD && l->code[k].o[4] == in->o[4] && l->code[k].imm == in->imm && l->code[k].space == in->space &&
			    l->code[k].guard == OPND_NONE && !chosen(l, g->order[i]))
				return true;
	}
	return false;
}

void leaders_later(struct cfg *g)
{
	struct comp *c = g->c;
	u32 i, k, writes = 0, asked = 0;
	struct later l = { .g = g, .code = c->code, .asked = &asked };

	if (!c->fn->entry || g->nb > MOST_BLOCKS)
		return;
	l.def = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
	l.pred = cneed(c, pool_alloc(&c->pool, g->nb * sizeof(u32)));
	l.to = cneed(c, pool_alloc(&c->pool, g->nb));
	l.more = cneed(c, pool_alloc(&c->pool, (6 * c->ncode + 1) * sizeof(u32)));
	l.block = cneed(c, pool_alloc(&c->pool, (c->ncode + 1) * sizeof(u32)));
	l.busy = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
	memset(l.def, 0, c->nregs * sizeof(u32));
	memset(l.busy, 0, c->nregs);
	memset(l.block, 0, c->ncode * sizeof(u32));
	memset(l.more, 0, 6 * c->ncode * sizeof(u32));
	for (i = 0; i < g->nb; i++)
		for (k = g->b[i].start; k < g->b[i].end; k++)
			l.block[k] = i;
	for (i = 0; i < c->ncode; i++)
		for (k = 0; k < 6; k++) {
			u32 o = c->code[i].o[k];

			if (!(c->code[i].def >> k & 1) || o == OPND_NONE || (o & OPND_CONST) || l.def[o] == i + 1)
				continue;
			l.more[6 * i + k] = l.def[o];
			l.def[o] = i + 1;
		}
	memset(l.pred, 0xff, g->nb * sizeof(u32));
	for (i = 0; i < g->nb; i++)
		for (k = 0; k < g->b[i].nsucc; k++)
			if (g->b[g->b[i].succ[k]].npred == 1)
				l.pred[g->b[i].succ[k]] = i;
	for (i = g->left; i < g->nb; i++) {
		u32 b = g->order[i];

		for (k = g->b[b].start; k < g->b[b].end && !g->b[b].later && c->code[k].kind != K_BAR; k++) {
			const struct insn *in = &c->code[k];

			if ((in->kind != K_ST && in->kind != K_ATOM) || !one_place(&l, in) || !chosen(&l, b))
				continue;
			if (++writes > MOST_WRITES)
				return;
			g->b[b].later = read_before(&l, in, b);
		}
	}
}
