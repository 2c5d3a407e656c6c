/* SPDX-License-Identifier: MIT */
/*
 * Where lanes meet that part within a round of a loop. Called by cfg.c when blocks have their order, which is made anew then.
 *
 *      LOOP: ...                               LOOP: ...
 *            @p bra LOOP                             @p bra meet
 *            atom.shared.add [left], -1  ==>         atom.shared.add [left], -1
 *            bra LOOP                          meet: bra LOOP
 *
 * "Lowest pc first" has lanes meet behind what they part at, but a loop's beginning lies before it: those that jump back would go round
 * again, by themselves, before the others have done their part of this round. Hardware's lanes meet at a branch's immediate postdominator
 * wherever it lies. So the jumps back from behind such a branch come together in a block of their own, the last one of the loop.
 *
 * Where it is asked in a loop who is here, or lanes in step look at volatile shared memory or at what they have just stored there, its one jump back leads to such a block, too: a strip (strip/order.c)
 * that had to stop somewhere in a round is waited for there.
 *
 * A branch whose lanes meet within the loop is none of those: `do { do X while (p); Y } while (q)` may have one beginning for both loops, and
 * X is done until all are through.
 *
 * Compilers join conditions across a jump back:
 *
 *      LOOP: @p bra MEET               if (!p) i = atomicAdd(next, 1); every lane: X(i); if (!p) Y(i);
 *            fetch
 *      MEET: X
 *            @p bra MEET               who has p has nothing to do at LOOP
 *            Y
 *            bra LOOP
 *
 * Lanes meet at MEET, which lies behind the loop's beginning, so that it is no loop's latch that they could meet in. What lies between the two is
 * copied for those who come from without (rounds_turn()): MEET is then the loop's beginning, and LOOP and fetch are its last blocks.
 */
#include <string.h>

#include "cfg.h"
#include "jit.h"
#include "strip/strip.h"

#define MOST_BLOCKS 8192u
#define MOST_WORK (1u << 24)    /* blocks looked at */
#define MOST_PASSES 64u
#define MOST_TURNS 16u          /* of a function's loops */
#define MOST_COPIED 256u        /* instructions between a loop's beginning and where its lanes meet */

enum { IN_LOOP = 1, BEHIND = 2, SEEN = 4 };

struct latch {
	struct cfg *g;
	u32 *pred, *first;      /* pred[first[b]..first[b + 1]]: blocks before b */
	u32 nb;                 /* blocks that there were */
	u32 *ipdom;             /* by block; nb: the end, NO_PC: no way leads there */
	u32 *list;
	u8 *mark;
	u32 cap, work;          /* cap: of cfg.b */
};

static bool back(const struct latch *l, u32 from, u32 to) { return l->g->b[to].order <= l->g->b[from].order; }

/* By iteration (Cooper, Harvey, Kennedy). */
static bool postdominators(struct latch *l)
{
	struct cfg *g = l->g;
	u32 *rpo = cfg_zeroes(l->g, (g->nb + 1) * sizeof(u32)), *num = cfg_zeroes(l->g, (g->nb + 1) * sizeof(u32)), *at = cfg_zeroes(l->g, (g->nb + 1) * sizeof(u32));
	u32 n = 0, sp = 0, i, k, pass;
	bool more = true;

	l->ipdom = cfg_zeroes(l->g, (g->nb + 1) * sizeof(u32));
	memset(l->ipdom, 0xff, g->nb * sizeof(u32));
	/* post-order of the reversed graph, from the end */
	for (i = g->left; i < g->nb; i++) {
		u32 end = g->order[i];

		if (g->b[end].nsucc || num[end])
			continue;
		for (num[end] = 1, l->list[sp++] = end; sp;) {
			u32 b = l->list[sp - 1];

			if (l->first[b] + at[b] < l->first[b + 1]) {
				u32 p = l->pred[l->first[b] + at[b]++];

				if (!num[p]) {
					num[p] = 1;
					l->list[sp++] = p;
				}
				continue;
			}
			rpo[n++] = b;
			sp--;
		}
	}
	for (i = 0; i < n; i++)
		num[rpo[i]] = i;
	num[g->nb] = n;
	l->ipdom[g->nb] = g->nb;
	for (pass = 0; more; pass++) {
		if (pass == MOST_PASSES)
			return false;
		more = false;
		for (i = n; i--;) {
			u32 b = rpo[i], d = g->b[b].nsucc ? NO_PC : g->nb;

			for (k = 0; k < g->b[b].nsucc; k++) {
				u32 s = g->b[b].succ[k];

				if (l->ipdom[s] == NO_PC)
					continue;
				while (d != NO_PC && s != d) {
					while (num[s] < num[d])
						s = l->ipdom[s];
					while (num[d] < num[s])
						d = l->ipdom[d];
				}
				d = s;
			}
			if (d != l->ipdom[b]) {
				l->ipdom[b] = d;
				more = true;
			}
		}
	}
	return true;
}

/* The loop that begins at h: its blocks, marked, h first in list. */
static u32 loop(struct latch *l, u32 h)
{
	struct cfg *g = l->g;
	u32 n = 0, i, k;

	memset(l->mark, 0, 2 * l->nb);
	l->mark[h] = IN_LOOP;
	l->list[n++] = h;
	for (i = 0; i < n; i++) {
		u32 b = l->list[i];

		for (k = l->first[b]; k < l->first[b + 1]; k++) {
			u32 p = l->pred[k];

			if (l->mark[p] || g->b[p].order < g->b[h].order || (b == h && !back(l, p, h)))
				continue;
			l->mark[p] = IN_LOOP;
			l->list[n++] = p;
		}
	}
	/* new ones are their loops' */
	for (i = l->nb; i < g->nb; i++)
		l->mark[i] = l->mark[g->b[i].succ[0]];
	l->work += n + g->nb / 8;
	return n;
}

/* Do lanes part at the end of b, and meet at h or behind the loop, with more than one way of theirs in it? */
static bool parts(const struct latch *l, u32 b, u32 h)
{
	const struct cfg *g = l->g;
	const struct insn *last = &g->c->code[g->b[b].end - 1];
	u32 k, way = NO_PC, meet = l->ipdom[b];
	bool two = false;

	if ((last->kind != K_CBRA && last->kind != K_BRX) || (last->kind == K_CBRA && (last->guard & OPND_CONST)))
		return false;
	if (meet != NO_PC && meet != l->nb && meet != h && l->mark[meet])
		return false;
	for (k = 0; k < g->b[b].nsucc; k++)
		if (l->mark[g->b[b].succ[k]]) {
			two |= way != NO_PC && way != g->b[b].succ[k];
			way = g->b[b].succ[k];
		}
	return two;
}

/* What of the loop b leads to within a round. */
static void behind(struct latch *l, u32 b, u32 h, u32 n)
{
	struct cfg *g = l->g;
	u32 *stack = l->list + n, sp = 0, k;

	if (l->mark[b] & BEHIND)
		return;
	l->mark[b] |= BEHIND;
	for (stack[sp++] = b; sp;) {
		const struct block *x = &g->b[stack[--sp]];

		l->work++;
		for (k = 0; k < x->nsucc; k++)
			if (x->succ[k] != h && l->mark[x->succ[k]] == IN_LOOP) {
				l->mark[x->succ[k]] |= BEHIND;
				stack[sp++] = x->succ[k];
			}
	}
}

/* Of what has been emitted since start. */
static u32 new_block(struct latch *l, u32 start, const u32 *succ, u32 nsucc)
{
	struct cfg *g = l->g;
	struct block *n;
	u32 k;

	if (g->nb == l->cap) {
		struct block *more = cfg_zeroes(l->g, (size_t)(l->cap * 2) * sizeof(*more));

		memcpy(more, g->b, g->nb * sizeof(*more));
		g->b = more;
		l->cap *= 2;
	}
	n = &g->b[g->nb];
	*n = (struct block){ .start = start, .end = g->c->ncode, .nsucc = nsucc };
	n->succ = cfg_zeroes(l->g, nsucc * sizeof(u32));
	for (k = 0; k < nsucc; k++) {
		n->succ[k] = succ[k];
		g->b[succ[k]].npred++;
	}
	return g->nb++;
}

/* Is shared memory looked at behind a store to it, with nothing between that lanes wait at? Neighbours' numbers, perhaps (strip/order.c). */
static bool looks_back(const struct cfg *g, u32 b)
{
	bool stored = false;
	u32 k;

	for (k = g->b[b].start; k < g->b[b].end; k++) {
		const struct insn *in = &g->c->code[k];

		if (in->kind == K_LD && in->space == SPACE_SHARED && stored)
			return true;
		stored = (stored || (in->kind == K_ST && in->space == SPACE_SHARED)) && !s_sync(in);
	}
	return false;
}

/* Is it asked in the loop who is here, or shared memory looked at that lanes in step write? */
static bool asked(const struct latch *l, u32 n)
{
	const struct cfg *g = l->g;
	u32 i, k;

	for (i = 0; i < n; i++) {
		for (k = g->b[l->list[i]].start; k < g->b[l->list[i]].end; k++)
			if (jit_asks(&g->c->code[k]) || s_looks(&g->c->code[k]))
				return true;
		if (looks_back(g, l->list[i]))
			return true;
	}
	return false;
}

static bool one_place(struct latch *l, u32 h)
{
	struct cfg *g = l->g;
	u32 n, i, ways = 0, meet;
	bool all;

	for (i = l->first[h]; i < l->first[h + 1]; i++)
		ways += back(l, l->pred[i], h) && (i == l->first[h] || l->pred[i] != l->pred[i - 1]);
	if (!ways)
		return false;
	n = loop(l, h);
	all = ways == 1 && asked(l, n);
	for (i = 0; i < n; i++)
		if (parts(l, l->list[i], h))
			behind(l, l->list[i], h, n);
	/* one that itself is such a branch is that of an inner loop, in which others stay */
	for (i = l->first[h], ways = 0; i < l->first[h + 1]; i++)
		if (l->mark[l->pred[i]] == (IN_LOOP | BEHIND) && (i == l->first[h] || l->pred[i] != l->pred[i - 1]))
			ways += parts(l, l->pred[i], h) ? 2 : 1;
	if (ways < 2 && !all)
		return false;
	g->c->line = g->c->code[g->b[l->pred[l->first[h + 1] - 1]].end - 1].line;
	i = g->c->ncode;
	emit(g->c, K_JMP)->taken = h;
	meet = new_block(l, i, &h, 1);
	for (i = 0; i < n; i++)
		if (all || l->mark[l->list[i]] == (IN_LOOP | BEHIND))
			cfg_redirect(l->g, l->list[i], h, meet);
	return true;
}

/* A loop of several blocks that has one last block: that is where its rounds end. */
void rounds_end(struct cfg *g)
{
	u32 *ends = cneed(g->c, pool_alloc(&g->c->pool, (g->nb + 1) * sizeof(u32))), i, k;

	memset(ends, 0, g->nb * sizeof(u32));
	for (i = g->left; i < g->nb; i++) {
		const struct block *b = &g->b[g->order[i]];

		for (k = 0; k < b->nsucc; k++) {
			u32 h = b->succ[k];

			if (g->b[h].order > b->order)
				continue;
			ends[h] = ends[h] && ends[h] != g->order[i] + 1 ? NO_PC : g->order[i] + 1;
		}
	}
	for (i = 0; i < g->nb; i++)
		if (ends[i] && ends[i] != NO_PC && ends[i] != i + 1)
			g->b[ends[i] - 1].meet = true;
}

/* What lies between a loop's beginning h and block m of it, h first: how many blocks, from list[n] on; 0: other ways lead into it, or it is too much. */
static u32 between(struct latch *l, u32 h, u32 m, u32 n)
{
	const struct cfg *g = l->g;
	u32 *list = l->list + n, count = 1, size = 0, i, k;

	for (i = 0; i < g->nb; i++)
		l->mark[i] &= (u8)~BEHIND;
	l->mark[h] |= BEHIND;
	list[0] = h;
	for (i = 0; i < count; i++) {
		const struct block *b = &g->b[list[i]];

		size += b->end - b->start;
		if (size > MOST_COPIED)
			return 0;
		/* lists that are each instruction's own, and who waits for whom by its place */
		for (k = b->start; k < b->end; k++)
			if (g->c->code[k].kind == K_CALL || g->c->code[k].kind == K_BRX || s_sync(&g->c->code[k]))
				return 0;
		for (k = 0; k < b->nsucc; k++) {
			u32 s = b->succ[k];

			if (s == m || (l->mark[s] & BEHIND))
				continue;
			if (!(l->mark[s] & IN_LOOP))
				return 0;
			l->mark[s] |= BEHIND;
			list[count++] = s;
		}
	}
	for (i = 1; i < count; i++)
		for (k = l->first[list[i]]; k < l->first[list[i] + 1]; k++)
			if (!(l->mark[l->pred[k]] & BEHIND))
				return 0;
	return count;
}

/* Who comes to the loop at h from without has a copy of what lies before m in it. */
static void turn(struct latch *l, u32 h, u32 n, u32 count)
{
	struct cfg *g = l->g;
	u32 *list = l->list + n, *copy = cfg_zeroes(g, g->nb * sizeof(u32)), i, k;

	for (i = 0; i < count; i++) {
		const struct block b = g->b[list[i]];
		u32 start = g->c->ncode;

		for (k = b.start; k < b.end; k++)
			cfg_append(g, &g->c->code[k]);
		copy[list[i]] = new_block(l, start, b.succ, b.nsucc);
	}
	for (i = 0; i < count; i++)
		for (k = 0; k < count; k++)
			cfg_redirect(g, copy[list[i]], list[k], copy[list[k]]);
	for (i = l->first[h]; i < l->first[h + 1]; i++)
		if (!(l->mark[l->pred[i]] & IN_LOOP))
			cfg_redirect(g, l->pred[i], h, copy[h]);
}

/* Does a way lead from b to h that does not come by m? */
static bool leads(struct latch *l, u32 b, u32 h, u32 m, u32 n)
{
	const struct cfg *g = l->g;
	u32 *list = l->list + n, count = 1, i, k;

	for (i = 0; i < g->nb; i++)
		l->mark[i] &= (u8)~SEEN;
	l->mark[m] |= SEEN;
	list[0] = b;
	for (i = 0; i < count; i++)
		for (k = 0; k < g->b[list[i]].nsucc; k++) {
			u32 s = g->b[list[i]].succ[k];

			if (s == h)
				return true;
			if (l->mark[s] & SEEN)
				continue;
			l->mark[s] |= SEEN;
			list[count++] = s;
		}
	l->work += count;
	return false;
}

/* Do lanes part at the end of b that meet within the loop, before it, where some of them come to by the loop's beginning h, and others at once? */
static bool meets_before(struct latch *l, u32 b, u32 h, u32 n)
{
	const struct cfg *g = l->g;
	const struct insn *last = &g->c->code[g->b[b].end - 1];
	u32 m = l->ipdom[b];

	return last->kind == K_CBRA && !(last->guard & OPND_CONST) && m != NO_PC && m != l->nb && m != h && l->mark[m] && back(l, b, m) && g->b[b].nsucc == 2 &&
	       (g->b[b].succ[0] == m) != (g->b[b].succ[1] == m) && leads(l, b, h, m, n);
}

static bool latch_begin(struct latch *l)
{
	struct cfg *g = l->g;

	/* a loop's blocks, and behind them those that behind() is yet to look at, new ones too */
	l->list = cfg_zeroes(g, 3 * (g->nb + 1) * sizeof(u32));
	l->mark = cfg_zeroes(g, 2 * g->nb);
	cfg_predecessors(g, &l->first, &l->pred);
	return postdominators(l);
}

bool rounds_turn(struct cfg *g, u32 turns)
{
	struct latch l = { .g = g, .cap = g->nb, .nb = g->nb };
	u32 i, k, n, count, outer = 0;
	bool any = false;

	/* from where the last jump back to an earlier beginning comes: is there one from before it to a later beginning? */
	for (i = g->nb; i-- > g->left && !any;) {
		const struct block *b = &g->b[g->order[i]];
		u32 least = NO_PC;

		for (k = 0; k < b->nsucc; k++)
			if (back(&l, g->order[i], b->succ[k]) && g->b[b->succ[k]].order < least)
				least = g->b[b->succ[k]].order;
		if (least == NO_PC)
			continue;
		any = b->nsucc == 2 && outer && least > outer - 1;
		outer = outer && outer - 1 < least ? outer : least + 1;
	}
	if (!any || turns == MOST_TURNS || g->nb > MOST_BLOCKS || !latch_begin(&l))
		return false;
	for (i = g->left + 1; i < g->nb && l.work < MOST_WORK; i++) {
		u32 h = g->order[i];
		bool head = false;

		for (k = l.first[h]; k < l.first[h + 1]; k++)
			head |= back(&l, l.pred[k], h);
		n = head ? loop(&l, h) : 0;
		for (k = 0; k < n; k++)
			if (meets_before(&l, l.list[k], h, n) && (count = between(&l, h, l.ipdom[l.list[k]], n)) && !(l.mark[l.list[k]] & BEHIND)) {
				turn(&l, h, n, count);
				return true;
			}
	}
	return false;
}

bool rounds_meet(struct cfg *g)
{
	struct latch l = { .g = g, .cap = g->nb, .nb = g->nb };
	u32 nb = g->nb, left = g->left, i;
	bool any = false;

	for (i = g->left; i < nb && !any; i++) {
		const struct block *b = &g->b[g->order[i]];
		u32 k;

		for (k = 0; k < b->nsucc; k++)
			any |= back(&l, g->order[i], b->succ[k]);
	}
	if (!any || nb > MOST_BLOCKS || !latch_begin(&l))
		return false;
	any = false;
	/* inner loops have later beginnings */
	for (i = nb; i-- > left && l.work < MOST_WORK;)
		any |= one_place(&l, g->order[i]);
	return any;
}
