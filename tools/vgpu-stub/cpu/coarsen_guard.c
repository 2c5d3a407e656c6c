/* SPDX-License-Identifier: MIT */
/*
 * Guards in blocks that are one (coarsen.c). "if (x < w) for ...": all blocks of a row have x < w but the last, and so it is a fork with a loop in it. Lanes of which
 * each block's holds go on together, by the code as it is, in which what is the same is made once; the others go through copies of it, one block after the other.
 *
 *      @p   bra OUT                       @p|p'  bra COPY
 *      LOOP:                              LOOP:                    <- as any other code of a coarse function
 *      ...                                ...
 *      @q   bra LOOP               ==>    @q     bra LOOP
 *                                         bra OUT
 *                                  COPY:  @p     bra COPY'         <- the first block's alone
 *                                  LOOP1: ...
 *                                  COPY': @p'    bra OUT           <- the next one's
 *                                  LOOP2: ...
 *      OUT:                               OUT:
 *
 * What is written behind a guard and alive where its ways meet is own: each block's says whether. All else that is written there has a name of its own in each copy, which
 * begins with what was there before: copies would count on where the one before has ended, and registers would be taken for all of the function.
 *
 * Where lanes of a warp meet behind a guard (a sum by shuffles), they go the one way or the other together: their votes say which. Apart they would meet from two places, which is C's work
 * each time.
 *
 * In: a fork that has loops; blocks in order. Out: the copies' blocks, at the end; the branch.
 */
#include "coarsen.h"
#include "gen.h"

bool coarse_within(const struct fork *f, u32 b)
{
	u32 i;

	for (i = 0; i < f->n && f->block[i] != b; i++)
		;
	return i < f->n;
}

/* What block b does with register o first: reads it (1), writes it whatever happens (0), or neither (-1). */
static int does(const struct coarse *v, u32 b, u32 o)
{
	u32 i;

	for (i = v->g->b[b].start; i < v->g->b[b].end; i++) {
		const struct insn *in = &v->c->code[i];

		if (insn_reads(in, o))
			return 1;
		if (insn_writes(in, o) && in->guard == OPND_NONE)
			return 0;
	}
	return -1;
}

/* Is register o alive where the fork's ways meet? */
static bool alive_behind(struct coarse *v, const struct fork *f, u32 o)
{
	u32 n = 0, k, b;
	int d;

	v->stamp++;
	v->stack[n++] = f->join;
	v->seen[f->join] = v->stamp;
	while (n) {
		b = v->stack[--n];
		d = does(v, b, o);
		if (d > 0)
			return true;
		for (k = 0; d && k < v->g->b[b].nsucc; k++)
			if (v->seen[v->g->b[b].succ[k]] != v->stamp) {
				v->seen[v->g->b[b].succ[k]] = v->stamp;
				v->stack[n++] = v->g->b[b].succ[k];
			}
	}
	return false;
}

/* each(v, f, o) for registers that the fork writes, once for each. */
static void written(struct coarse *v, const struct fork *f, u8 *seen, void (*each)(struct coarse *, const struct fork *, u32))
{
	u32 i, at, k;

	for (i = 0; i < f->n; i++)
		for (at = v->g->b[f->block[i]].start; at < v->g->b[f->block[i]].end; at++)
			for (k = 0; k < 6; k++) {
				u32 o = v->c->code[at].o[k];

				if (!(v->c->code[at].def >> k & 1) || o == OPND_NONE || seen[o])
					continue;
				seen[o] = 1;
				each(v, f, o);
			}
}

static void own_behind(struct coarse *v, const struct fork *f, u32 o)
{
	v->c->fn->work += v->c->ncode;
	if (!v->own[o] && !compile_too_much(v->c->fn) && alive_behind(v, f, o))
		v->own[o] = 1;
}

bool coarse_guard(struct coarse *v, const struct fork *f)
{
	const struct insn *last = &v->c->code[v->g->b[f->from].end - 1];
	u32 i;

	if (v->guarded[f->from] || last->kind != K_CBRA || (last->taken != f->join && last->fall != f->join) ||
	    (last->taken != f->block[0] && last->fall != f->block[0]))
		return false;
	for (i = 0; i < f->n; i++)
		if (v->guarded[f->block[i]]++ || v->forked[f->block[i]])
			return false;
	written(v, f, cfg_zeroes(v->g, v->c->nregs + 1), own_behind);
	return !compile_too_much(v->c->fn);
}

static bool written_outside(const struct coarse *v, const struct fork *f, u32 o)
{
	u32 at, i;

	for (at = v->g->left; at < v->end; at++)
		for (i = v->g->b[v->g->order[at]].start; !coarse_within(f, v->g->order[at]) && i < v->g->b[v->g->order[at]].end; i++)
			if (insn_writes(&v->c->code[i], o))
				return true;
	return false;
}

enum { ALIVE, NEW, BEGUN };     /* to a copy: everybody's; its own; its own, and it had a value before */

static void mark(struct coarse *v, const struct fork *f, u32 o)
{
	v->mark[o] = alive_behind(v, f, o) ? ALIVE : written_outside(v, f, o) ? BEGUN : NEW;
}

/* Names for copy k, of n registers; what had a value begins with that. */
static void append_names(struct coarse *v, const struct fork *f, u32 n, u32 k)
{
	u32 o, was, to, *named = cfg_zeroes(v->g, (n + 1) * sizeof(u32));

	v->named = NULL;
	for (o = 0; o < n; o++) {
		u8 w = v->c->regs[o].w;

		if (v->mark[o] == ALIVE)
			continue;
		to = named[o] = new_reg_like(v->c, o);
		if (v->mark[o] == NEW)
			continue;
		was = coarse_others(v, o, k);
		if (w == 2)
			emit_pred(v->c, PRED_MOV, to, was, false, OPND_NONE, false);
		else
			emit_lane(v->c, NULL, LOP_MOV, w ? T_U64 : T_U32, w, to, was, OPND_NONE, OPND_NONE);
		v->c->code[v->c->ncode - 1].line = v->c->code[v->g->b[f->from].end - 1].line;
	}
	v->named = named;
}

/* Copies of what is behind a guard, one for each block, each behind a copy of the branch. The code itself is as it was. */
void coarse_guard_out(struct coarse *v, struct fork *f)
{
	struct cfg *g = v->g;
	u32 head[MOST + 1], to[MOST + 1][FORK_MOST], k, i, n = v->c->nregs, more = v->c->fn->further;

	for (k = 0; k <= more; k++) {
		head[k] = g->nb++;
		for (i = 0; i < f->n; i++)
			to[k][i] = g->nb++;
	}
	v->mark = cfg_zeroes(g, n + 1);
	written(v, f, cfg_zeroes(g, n + 1), mark);
	for (k = 0; k <= more; k++) {
		g->b[head[k]].start = v->c->ncode;
		append_names(v, f, n, k);
		coarse_append(v, g->b[f->from].end - 1, k);
		g->b[head[k]].end = v->c->ncode;
		for (i = 0; i < f->n; i++)
			coarse_copy(v, to[k][i], f->block[i], k);
	}
	for (k = 0; k <= more; k++) {
		u32 behind = k < more ? head[k + 1] : f->join;

		for (i = 0; i < f->n; i++)
			coarse_lead(v, to[k][i], f->block[i], f, to[k], behind);
		coarse_lead(v, head[k], f->from, f, to[k], behind);
	}
	f->head = head[0];
	v->named = NULL;
}

/* The branch of a guard: into it with lanes of which all blocks' holds, to the copies with the others. */
void coarse_guard_all(struct coarse *v, const struct fork *f, u32 at)
{
	struct insn br = v->c->code[at];
	u32 in = f->block[0], p = br.guard, k, *succ = cfg_zeroes(v->g, 2 * sizeof(u32));
	/* it holds where the predicate does not */
	bool neg = br.gneg != (br.fall == in);

	br.guard = new_reg(v->c, T_PRED);
	for (k = 1; k <= v->c->fn->further; k++)
		emit_pred(v->c, neg ? PRED_OR : PRED_AND, br.guard, k == 1 ? p : br.guard, false, coarse_others(v, p, k), false)->line = br.line;
	if (f->meets) {
		struct insn *vote;

		p = br.guard;
		br.guard = new_reg(v->c, T_PRED);
		vote = emit_pred(v->c, neg ? VOTE_ANY : VOTE_ALL, br.guard, p, false, konst(v->c, ~0u, 0), false);
		vote->kind = K_VOTE;
		vote->line = br.line;
	}
	br.gneg = neg;
	br.taken = succ[0] = in;
	br.fall = succ[1] = f->head;
	cfg_append(v->g, &br);
	v->g->b[f->from].nsucc = 2;
	v->g->b[f->from].succ = succ;
}
