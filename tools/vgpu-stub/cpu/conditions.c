/* SPDX-License-Identifier: MIT */
/*
 * Conditions of several parts become a branch each. Called by cfg.c between guards.c and order, where code is compiled.
 *
 *      b: r = p | q                     b: @p bra T
 *         @r bra T           ==>        n: @q bra T
 *         F                                F
 *
 * where p is likely to be the same for all lanes of a warp and q is not: the way is then mostly decided by a comparison of scalars, and q is not
 * even computed. What makes q, and nothing else wants, goes to its branch, so that code for both together needs no predicate.
 *
 * How likely is a guess (rank_of): what depends on tid.x or on loaded data differs from lane to lane; on tid.y or tid.z alone, seldom; else not.
 * Of two of one rank the branch stays one.
 */
#include <string.h>

#include "cfg.h"

#define BLOCK_LONGEST 256u
#define NEW_MOST 256u           /* blocks */
#define ROUNDS 16u

enum { RANK_SAME, RANK_SELDOM, RANK_LANES };

struct conditions {
	struct cfg *g;
	struct comp *c;
	u32 *uses, *defs;       /* by register: instructions that do */
	u8 *rank;
	u32 nregs, cap;         /* cap: of cfg.b */
};

struct look { struct conditions *u; u8 rank; bool changed; };

static void count(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (is_def)
		l->u->defs[*o]++;
	else
		l->u->uses[*o]++;
}

static void reads(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (!is_def && l->u->rank[*o] > l->rank)
		l->rank = l->u->rank[*o];
}

static void writes(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (is_def && l->u->rank[*o] < l->rank) {
		l->u->rank[*o] = l->rank;
		l->changed = true;
	}
}

/* What it makes is at least that. */
static u8 rank_of(const struct insn *in)
{
	switch (in->kind) {
	case K_SREG:
		if (in->sub == SR_TID_Y || in->sub == SR_TID_Z)
			return RANK_SELDOM;
		return in->sub == SR_TID_X || (in->sub >= SR_LANEID && in->sub < SR_WARPID) || (in->sub >= SR_LANEMASK_EQ && in->sub <= SR_LANEMASK_GT) ? RANK_LANES : RANK_SAME;
	case K_ATOM: case K_MATCH: case K_TENSOR: case K_GEN: case K_CALL: case K_SHFL:
		return RANK_LANES;
	default:
		return RANK_SAME;
	}
}

static void ranks(struct conditions *u)
{
	struct look l = { .u = u, .changed = true };
	u32 i, round;

	u->nregs = u->c->nregs;
	u->uses = cfg_zeroes(u->g, u->nregs * sizeof(u32));
	u->defs = cfg_zeroes(u->g, u->nregs * sizeof(u32));
	u->rank = cfg_zeroes(u->g, u->nregs);
	for (i = 0; i < u->g->nb; i++)
		for (u32 k = u->g->b[i].start; (!i || u->g->b[i].npred) && k < u->g->b[i].end; k++)
			each_opnd(&u->c->code[k], count, &l);
	for (round = 0; l.changed && round < ROUNDS; round++) {
		l.changed = false;
		u->c->fn->work += u->c->ncode;
		for (i = 0; i < u->c->ncode; i++) {
			struct insn *in = &u->c->code[i];

			l.rank = rank_of(in);
			each_opnd(in, reads, &l);
			if (l.rank && in->kind != K_VOTE && in->kind != K_ACTIVEMASK)
				each_opnd(in, writes, &l);
		}
	}
}

static u8 rank(const struct conditions *u, u32 o)
{
	return o & OPND_CONST ? (u8)RANK_SAME : o < u->nregs ? u->rank[o] : (u8)RANK_LANES;
}

struct meets { const struct insn *in; u32 reg; bool does; };

/* Does anything write o, or, of an instruction, its operands? */
static void written(void *arg, u32 *o, bool is_def)
{
	struct meets *m = arg;
	u32 k;

	m->does |= is_def && *o == m->reg;
	for (k = 0; m->in && is_def && k < 6; k++)
		m->does |= (m->in->use >> k & 1) && m->in->o[k] == *o;
}

static bool stays(const struct conditions *u, u32 from, u32 end, u32 reg, const struct insn *in)
{
	struct meets m = { .in = in, .reg = reg };

	for (; from < end && !m.does; from++)
		each_opnd(&u->c->code[from], written, &m);
	return !m.does;
}

/* The instruction of b that alone makes o, for one other that uses it; NO_PC: there is none that could stand elsewhere. */
static u32 maker(const struct conditions *u, u32 b, u32 o)
{
	const struct block *bb = &u->g->b[b];
	u32 i;

	if ((o & OPND_CONST) || o >= u->nregs || u->uses[o] != 1 || u->defs[o] != 1)
		return NO_PC;
	for (i = bb->end - 1; i-- > bb->start;) {
		const struct insn *in = &u->c->code[i];

		if ((in->kind != K_SETP && in->kind != K_PRED) || in->o[0] != o)
			continue;
		return in->guard == OPND_NONE && (in->kind == K_PRED || in->o[1] == OPND_NONE) ? i : NO_PC;
	}
	return NO_PC;
}

static void take_out(struct conditions *u, u32 b, u32 i)
{
	struct block *bb = &u->g->b[b];

	memmove(&u->c->code[i], &u->c->code[i + 1], (bb->end - 1 - i) * sizeof(struct insn));
	bb->end--;
}

static struct insn *append(struct conditions *u, const struct insn *from)
{
	struct insn was = *from, *in = emit(u->c, K_NOP);

	*in = was;
	return in;
}

/* A block that has only a branch to these. */
static u32 new_block(struct conditions *u, u32 start, u32 taken, u32 fall)
{
	struct cfg *g = u->g;
	struct block *n;

	if (g->nb == u->cap) {
		struct block *more = cfg_zeroes(u->g, (size_t)(u->cap + NEW_MOST) * sizeof(*more));

		memcpy(more, g->b, g->nb * sizeof(*more));
		g->b = more;
		u->cap += NEW_MOST;
	}
	n = &g->b[g->nb];
	*n = (struct block){ .start = start, .end = u->c->ncode, .nsucc = 2, .npred = 1 };
	n->succ = cfg_zeroes(u->g, 2 * sizeof(u32));
	n->succ[0] = taken;
	n->succ[1] = fall;
	return g->nb++;
}

/* b's branch by two conditions becomes two. Returns the block of the second one, 0: it stays. */
static u32 split(struct conditions *u, u32 b)
{
	struct block *bb = &u->g->b[b];
	struct insn br = u->c->code[bb->end - 1], pred, *in;
	u32 i, k, p, q, n, start, yes, no, *succ;
	bool pneg, qneg, either;

	if (br.kind != K_CBRA || br.taken == br.fall || bb->nsucc != 2 || bb->end - bb->start > BLOCK_LONGEST || (b && !bb->npred))
		return 0;
	i = maker(u, b, br.guard);
	if (i == NO_PC)
		return 0;
	pred = u->c->code[i];
	if (pred.kind != K_PRED || (pred.sub != PRED_AND && pred.sub != PRED_OR))
		return 0;
	p = pred.o[1];
	q = pred.o[2];
	pneg = pred.flags & INF_CNEG;
	qneg = pred.flags & INF_BNEG;
	if (rank(u, q) < rank(u, p)) {
		p = pred.o[2];
		q = pred.o[1];
		pneg = pred.flags & INF_BNEG;
		qneg = pred.flags & INF_CNEG;
	}
	if (rank(u, p) == rank(u, q) || !stays(u, i, bb->end - 1, OPND_NONE, &pred))
		return 0;
	either = pred.sub == PRED_OR;
	yes = br.gneg ? br.fall : br.taken;
	no = br.gneg ? br.taken : br.fall;
	take_out(u, b, i);
	/* the second branch, with what makes its condition */
	start = u->c->ncode;
	k = maker(u, b, q);
	if (k != NO_PC && stays(u, k + 1, bb->end - 1, q, &u->c->code[k])) {
		append(u, &u->c->code[k]);
		take_out(u, b, k);
	}
	in = append(u, &br);
	in->guard = q;
	in->gneg = qneg;
	in->taken = yes;
	in->fall = no;
	n = new_block(u, start, yes, no);
	bb = &u->g->b[b];
	u->g->b[either ? yes : no].npred++;
	succ = cfg_zeroes(u->g, 2 * sizeof(u32));
	in = &u->c->code[bb->end - 1];
	in->guard = p;
	in->gneg = either ? pneg : !pneg;
	in->taken = succ[0] = either ? yes : no;
	in->fall = succ[1] = n;
	bb->succ = succ;
	return n;
}

void split_conditions(struct cfg *g)
{
	struct conditions u = { .g = g, .c = g->c, .cap = g->nb };
	const struct engine *e = g->c->m->e;
	u32 b, most = g->nb + NEW_MOST;

	if (!g->c->fn->entry || !e->code_rw || e->mc || e->ops || e->dbg)
		return;
	ranks(&u);
	/* the new ones' conditions may have parts, too, and are looked at in their turn */
	for (b = 0; b < g->nb; b++)
		while (g->nb < most && split(&u, b))
			;
}
