/* SPDX-License-Identifier: MIT */
/*
 * Branches at which lanes part, kept in code. Called by jit.c between jit_merge and jit_alloc.
 *
 *            at: @p bra                 All lanes that part at `at` come to `join` (its immediate postdominator). The
 *           /          \                region is what lies between. One side runs first under its lanes' mask, the
 *       first          second           other lanes wait: at second, or, when that side is empty, at join. In a loop
 *           \          /                whose own branch it is, the side that comes back runs first, and more of them
 *            \        /                 come to wait each time.
 *              join                     An edge that leaves the region takes up those that wait.
 *
 * The sides may share code, as those of `if (a || b)` do: there the first side's lanes may still have the others to wait for,
 * which stand at second, and take them along where they come by. Not where that code asks who is here.
 *
 * Where both sides come back to the branch, in a loop with several ways out and on, join is where the sides meet within one round: the ways
 * out are looked away from. A lane that takes one has its own branch there, at which it waits; where all that run do, those that wait
 * in regions of the round, which it leaves, go on first (jit_part.c's hold_back).
 *
 * Who waits stands in P (jprivate.wait and .other, one word a region, 0 outside of it), so a region's code is the same
 * however it was entered, and the interpreter may enter it with any group of lanes.
 *
 * Invariant: what waiting lanes will read is only written under the mask of those that run (jcomp.keep), which takes
 * a varying register, or a scalar that both sides make alike. Where lanes leave a loop after different rounds, its counters and addresses are scalars which those behind it read, each
 * group its own; compilers write such loops for what is left over when a loop has been unrolled. There the join is a later postdominator, at
 * which no such scalar is alive: one side goes there by all that lies between, and the other one finds the scalars as they were when they
 * parted (jregion.saved). A branch for which there is no such place is left to the interpreter.
 */
#include <stdlib.h>
#include <string.h>

#include "jit.h"
#include "strip/strip.h"

struct graph {
	u32 n;                  /* blocks; n itself is the end */
	u32 *first, *pred;      /* pred[first[b] .. first[b + 1]) */
	u32 *order, *rank;      /* postorder of the reversed graph */
	u32 *ipdom;             /* NO_PC: no way to the end */
	u32 *last;              /* of a loop's first block: the last one that leads back to it; else NO_PC */
};

#define ROUND_BLOCKS 4096u      /* of a loop, for what is looked for in its rounds */
#define ROUND_MEETS 8u
#define SAVED 16u               /* scalars of a region */
#define LATER_JOINS 8u
#define ON_BOTH_DEEP 4u

static bool make_graph(struct jcomp *c, struct graph *g)
{
	u32 n = c->s->nb, b, k, edges = n, *fill;

	for (b = 0; b < n; b++)
		edges += c->s->b[b].nsucc;
	g->n = n;
	g->first = pool_alloc(&c->mem, (n + 3) * sizeof(u32));
	g->pred = pool_alloc(&c->mem, (edges + 1) * sizeof(u32));
	g->order = pool_alloc(&c->mem, (n + 1) * sizeof(u32));
	g->rank = pool_alloc(&c->mem, (n + 1) * sizeof(u32));
	g->ipdom = pool_alloc(&c->mem, (n + 1) * sizeof(u32));
	g->last = pool_alloc(&c->mem, (n + 1) * sizeof(u32));
	if (!g->first || !g->pred || !g->order || !g->rank || !g->ipdom || !g->last)
		return false;
	for (b = 0; b <= n; b++)
		g->last[b] = NO_PC;
	for (b = 0; b < n; b++)
		for (k = 0; k < c->s->b[b].nsucc; k++)
			if (c->s->b[b].succ[k] <= b)
				g->last[c->s->b[b].succ[k]] = b;
	/* counted two places on, summed to where each list begins, filled up to where the next one does */
	fill = g->first + 1;
	for (b = 0; b < n; b++) {
		const struct jblock *jb = &c->s->b[b];

		if (!jb->nsucc)
			fill[n + 1]++;
		for (k = 0; k < jb->nsucc; k++)
			fill[jb->succ[k] + 1]++;
	}
	for (b = 1; b <= n + 1; b++)
		fill[b] += fill[b - 1];
	for (b = 0; b < n; b++) {
		const struct jblock *jb = &c->s->b[b];

		if (!jb->nsucc)
			g->pred[fill[n]++] = b;
		for (k = 0; k < jb->nsucc; k++)
			g->pred[fill[jb->succ[k]]++] = b;
	}
	return true;
}

/* Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm; on the reversed graph. */
static bool postdominators(struct jcomp *c, struct graph *g)
{
	u32 *stack = pool_alloc(&c->mem, (g->n + 2) * sizeof(u32)), *next = pool_alloc(&c->mem, (g->n + 2) * sizeof(u32));
	u32 top = 0, count = 0, i, k;
	bool more = true;

	if (!stack || !next)
		return false;
	for (i = 0; i <= g->n; i++) {
		g->rank[i] = g->ipdom[i] = NO_PC;
		next[i] = g->first[i];
	}
	stack[top++] = g->n;
	g->rank[g->n] = 0;      /* seen */
	while (top) {
		u32 b = stack[top - 1];

		if (next[b] < g->first[b + 1]) {
			u32 p = g->pred[next[b]++];

			if (g->rank[p] == NO_PC) {
				g->rank[p] = 0;
				stack[top++] = p;
			}
			continue;
		}
		g->rank[b] = count;
		g->order[count++] = b;
		top--;
	}
	g->ipdom[g->n] = g->n;
	while (more) {
		more = false;
		for (i = count; i-- > 0;) {
			u32 b = g->order[i], d = NO_PC;
			const struct jblock *jb = &c->s->b[b];

			if (b == g->n)
				continue;
			if (!jb->nsucc)
				d = g->n;
			for (k = 0; k < jb->nsucc; k++) {
				u32 s = jb->succ[k];

				if (g->ipdom[s] == NO_PC)
					continue;
				if (d == NO_PC) {
					d = s;
					continue;
				}
				while (d != s) {
					while (g->rank[d] < g->rank[s])
						d = g->ipdom[d];
					while (g->rank[s] < g->rank[d])
						s = g->ipdom[s];
				}
			}
			if (d != g->ipdom[b]) {
				g->ipdom[b] = d;
				more = true;
			}
		}
	}
	return true;
}

/* Where a block that only goes on leads to. */
static u32 leads_to(const struct jcomp *c, u32 pc)
{
	return c->code[pc].kind == K_JMP ? c->code[pc].taken : pc;
}

/* A search for what lies between a branch and its join, both sides: blocks that are marked, and how much there is of them. */
struct search {
	u8 *mark;
	u32 *stack, *list;
	u32 nlist;
	u64 left;               /* instructions that may still be looked at; ~0: all */
	bool cut;               /* there are more */
	/* a round of a loop: its first block, NO_PC for none; which blocks are in it, and the list of those */
	u32 head, *loop, nloop;
	u8 *in;
	bool round;             /* the search has come to its end */
};

/*
 * Regions lie in one another, so that what all branches together look at would grow with the square of their number: each
 * gets its share of JIT_REGION_STEPS, and one whose region is larger stays with the interpreter.
 */

static void forget(struct search *s, u64 left)
{
	while (s->nlist)
		s->mark[s->list[--s->nlist]] = 0;
	s->left = left;
	s->cut = false;
}

/* False: an edge to b is not followed. */
static bool follow(struct search *s, u32 b, u32 join)
{
	if (b == join || (s->head != NO_PC && !s->in[b]))
		return false;
	s->round |= b == s->head;
	return b != s->head;
}

/* Marks what is reached from b without passing join; counts it. */
static u32 reach(struct jcomp *c, struct search *s, u32 b, u32 join, u8 bit)
{
	u32 top = 0, n = 0, k;

	if (!follow(s, b, join))
		return 0;
	s->stack[top++] = b;
	if (!s->mark[b])
		s->list[s->nlist++] = b;
	s->mark[b] |= bit;
	while (top) {
		const struct jblock *jb = &c->s->b[b = s->stack[--top]];
		u64 work = jb->end - jb->start + 1;

		n++;
		c->fn->work += work;
		if (s->left < work) {
			s->cut = true;
			return n;
		}
		s->left -= work;
		for (k = 0; k < jb->nsucc; k++) {
			u32 to = jb->succ[k];

			if (!follow(s, to, join) || (s->mark[to] & bit))
				continue;
			if (!s->mark[to])
				s->list[s->nlist++] = to;
			s->mark[to] |= bit;
			s->stack[top++] = to;
		}
	}
	return n;
}

static const u64 *live_before(const struct jcomp *c, u32 pc) { return c->live_at + (size_t)pc * c->s->words; }

static bool has(const u64 *set, u32 v) { return set[v >> 6] >> (v & 63) & 1; }

/* A value that is made of its operands alone. */
static bool made_of_operands(const struct insn *in)
{
	if (in->guard != OPND_NONE || in->def != 1)
		return false;
	switch ((enum kind)in->kind) {
	case K_SREG:
		return in->sub <= SR_CTAID_Z;
	case K_LANE: case K_SETP: case K_PRED: case K_LADDR: case K_LOP3: case K_CVT: case K_CVTA: case K_LDPARAM:
		return true;
	default:
		return false;
	}
}

/* The same of the same? */
static bool same_made(const struct insn *a, const struct insn *b)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((a->use >> k & 1) && a->o[k] != b->o[k])
			return false;
	return insn_same_op(a, b);
}

/*
 * A scalar that both sides make by themselves of what neither changes is the same on both, and who waits has it, whoever goes on. Compilers put what is wanted
 * behind the join into both sides, where it is a part of something that one of them wants.
 */
static bool on_both_sides(struct jcomp *c, const struct search *s, const struct insn *branch, u32 v, u32 deep)
{
	const struct insn *first = NULL;
	u32 i, k, at;

	if (deep == ON_BOTH_DEEP || has(live_before(c, branch->taken), v) || has(live_before(c, branch->fall), v))
		return false;
	for (i = 0; i < s->nlist; i++) {
		const struct jblock *b = &c->s->b[s->list[i]];

		c->fn->work += b->end - b->start;
		for (at = b->start; at < b->end; at++) {
			const struct insn *in = &c->code[at];

			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] == v) {
					if (!made_of_operands(in) || (first && !same_made(first, in)))
						return false;
					first = in;
				}
		}
	}
	for (k = 0; first && k < 6; k++) {
		u32 o = first->o[k];

		if (!(first->use >> k & 1) || o == OPND_NONE || (o & OPND_CONST))
			continue;
		for (i = 0; i < s->nlist; i++) {
			const struct jblock *b = &c->s->b[s->list[i]];

			for (at = b->start; at < b->end; at++)
				if (insn_writes(&c->code[at], o) && (c->r[o].cls == JC_VARY || !on_both_sides(c, s, branch, o, deep + 1)))
					return false;
		}
	}
	return first;
}

/* A scalar that block b writes is read by lanes that wait. When its branch is one at which lanes part much, it shall be none. */
static bool scalar_outlives(struct jcomp *c, const struct search *s, const struct insn *branch, u32 b, const u64 *waiting, bool much)
{
	u32 i, k;
	bool does = false;

	for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].cls != JC_VARY && has(waiting, in->o[k]) && !on_both_sides(c, s, branch, in->o[k], 0)) {
				does = true;
				if (!much)
					return true;
				c->s->varies[in->o[k] >> 6] |= 1ull << (in->o[k] & 63);
				c->again = true;
			}
	}
	return does;
}

/* The blocks of the loop that begins at head: from where an edge leads back to it, against the edges. */
static bool loop_of(struct jcomp *c, const struct graph *g, struct search *s, u32 head)
{
	u32 top = 0, i, k;

	while (s->nloop)
		s->in[s->loop[--s->nloop]] = 0;
	s->head = head;
	if (head == NO_PC)
		return true;
	s->in[head] = 1;
	s->loop[s->nloop++] = head;
	for (top = 0, i = g->first[head]; i < g->first[head + 1]; i++) {
		k = g->pred[i];
		if (k >= head && !s->in[k]) {
			s->in[k] = 1;
			s->loop[s->nloop++] = s->stack[top++] = k;
		}
	}
	while (top) {
		u32 b = s->stack[--top];

		c->fn->work++;
		for (i = g->first[b]; i < g->first[b + 1]; i++) {
			k = g->pred[i];
			if (s->in[k])
				continue;
			/* one that lies before it: there is another way in */
			if (k < head || s->nloop > ROUND_BLOCKS)
				return false;
			s->in[k] = 1;
			s->loop[s->nloop++] = s->stack[top++] = k;
		}
	}
	return true;
}

/* Both sides of a branch up to join; t and f: how much there is of each. */
static bool sides(struct jcomp *c, struct search *s, const struct insn *in, u32 join, u64 share, u32 *t, u32 *f)
{
	u32 pc = join == NO_PC ? NO_PC : c->s->b[join].start;

	forget(s, share);
	s->round = false;
	*t = leads_to(c, in->taken) == pc ? 0 : reach(c, s, block_no(c, in->taken), join, 1);
	*f = leads_to(c, in->fall) == pc ? 0 : reach(c, s, block_no(c, in->fall), join, 2);
	return (*t || *f) && !s->cut;
}

/*
 * Where the sides of b's branch meet in a round of the loop at head, whichever way: the first block that both come to and that no way
 * to the round's end avoids. NO_PC: nowhere, or a side leaves the loop at once.
 */
static u32 meet_in_round(struct jcomp *c, const struct graph *g, struct search *s, u32 b, u64 share)
{
	const struct insn *in = &c->code[c->s->b[b].end - 1];
	u32 both[ROUND_MEETS], n = 0, i, k, t, f, end = NO_PC;

	if (!s->in[b] || !s->in[block_no(c, in->taken)] || !s->in[block_no(c, in->fall)] || !sides(c, s, in, NO_PC, share, &t, &f) ||
	    s->mark[b] == 3)
		return NO_PC;
	for (i = 0; i < s->nlist; i++) {
		u32 at = s->list[i];

		if (s->mark[at] != 3)
			continue;
		/* the first of them in the order of code */
		if (n == ROUND_MEETS && both[n - 1] < at)
			continue;
		for (k = n < ROUND_MEETS ? n++ : n - 1; k && both[k - 1] > at; k--)
			both[k] = both[k - 1];
		both[k] = at;
	}
	for (i = 0; i < n; i++)
		if (sides(c, s, in, both[i], share, &t, &f) && !s->round)
			return both[i];
	/* where rounds end: who waits at the loop's beginning is a round ahead of those that leave code before that */
	for (i = g->first[s->head]; i < g->first[s->head + 1]; i++)
		if (g->pred[i] >= s->head) {
			if (end != NO_PC && end != g->pred[i])
				return s->head;
			end = g->pred[i];
		}
	return end != NO_PC && end > b && sides(c, s, in, end, share, &t, &f) && !s->round ? end : s->head;
}

/* Is it asked who is here, or volatile shared memory looked at, in code that both sides share? The first side's lanes may come there by themselves. */
static bool asked_apart(const struct jcomp *c, const struct search *s)
{
	u32 i, k;

	for (i = 0; i < s->nlist; i++) {
		const struct jblock *jb = &c->s->b[s->list[i]];

		for (k = jb->start; s->mark[s->list[i]] == 3 && k < jb->end; k++)
			if (jit_asks(&c->code[k]) || s_looks(&c->code[k]))
				return true;
	}
	return false;
}

/* What all come to together, a barrier or a shuffle, is none of a region that goes on behind it: lanes would come to it one side after the other. */
static bool waits_within(const struct jcomp *c, const struct search *s)
{
	u32 i, k;

	for (i = 0; i < s->nlist; i++)
		for (k = c->s->b[s->list[i]].start; k < c->s->b[s->list[i]].end; k++)
			if (s->mark[s->list[i]] == 3 && (c->code[k].kind == K_BAR || jit_named(&c->code[k])))
				return true;
	return false;
}

/*
 * Is shared memory written and read behind where both sides have met? Lanes of one would read what the other's have not stored yet, since each goes on
 * there by itself; hardware has them go together from there.
 */
static bool looks_within(const struct jcomp *c, const struct search *s)
{
	bool reads = false, writes = false;
	u32 i, k;

	for (i = 0; i < s->nlist; i++)
		for (k = c->s->b[s->list[i]].start; s->mark[s->list[i]] == 3 && k < c->s->b[s->list[i]].end; k++) {
			const struct insn *in = &c->code[k];

			reads |= (in->kind == K_LD || in->kind == K_ATOM) && in->space == SPACE_SHARED;
			writes |= (in->kind == K_ST || in->kind == K_ATOM) && in->space == SPACE_SHARED;
		}
	return reads && writes;
}

/* Marks the two sides of a region: 1 and 2. */
static void mark_region(struct jcomp *c, const struct graph *g, struct search *s, const struct jregion *r)
{
	loop_of(c, g, s, r->head);
	forget(s, ~0ull);
	reach(c, s, block_no(c, r->first), block_no(c, r->join), 1);
	if (r->second != NO_PC)
		reach(c, s, block_no(c, r->second), block_no(c, r->join), 2);
}

/* Does what a region writes outlive it, in lanes that wait? */
static bool outlives(struct jcomp *c, const struct search *s, const struct jregion *r, bool much)
{
	bool does = false;
	u32 i;

	for (i = 0; i < s->nlist && (much || !does); i++) {
		u32 k = s->list[i];

		does |= scalar_outlives(c, s, &c->code[r->at], k, live_before(c, r->join), much) ||
			((s->mark[k] & 1) && r->second != NO_PC && scalar_outlives(c, s, &c->code[r->at], k, live_before(c, r->second), much));
	}
	return does;
}

/* A scalar's value, not what it is made of, and not one bit for all lanes. */
static bool can_save(const struct jcomp *c, u32 v)
{
	return c->r[v].w != 2 && !c->sym[v].ghost && !c->sym[v].to && !c->stay[v].to && !c->stay[v].on;
}

/* The scalars that the side with this bit writes and lanes at pc read: at most SAVED of them. */
static bool to_save(struct jcomp *c, const struct search *s, u8 bit, u32 pc, struct jregion *r)
{
	const u64 *waiting = live_before(c, pc);
	u32 list[SAVED], n = 0, i, k, at, q;

	for (i = 0; i < s->nlist; i++) {
		const struct jblock *jb = &c->s->b[s->list[i]];

		for (at = jb->start; (s->mark[s->list[i]] & bit) && at < jb->end; at++)
			for (k = 0; k < 6; k++) {
				u32 o = c->code[at].o[k];

				if (!(c->code[at].def >> k & 1) || o == OPND_NONE || c->r[o].cls == JC_VARY || !has(waiting, o))
					continue;
				for (q = 0; q < n && list[q] != o; q++)
					;
				if (q < n)
					continue;
				if (n == SAVED || !can_save(c, o))
					return false;
				list[n++] = o;
			}
	}
	r->saved = jit_lives(c, list, n);
	r->nsaved = n;
	return !c->bad;
}

/*
 * A region whose sides have scalars of their own: up to where nobody reads what either has written. The first side is the one that does not
 * come by where the second one begins: those who wait there have other scalars.
 */
static bool find_apart(struct jcomp *c, const struct graph *g, u32 b, struct jregion *r, struct search *s, u64 share)
{
	const struct insn *in = &c->code[c->s->b[b].end - 1];
	u32 join = g->ipdom[b], t, f, i, k, tries;

	for (tries = 0; tries < LATER_JOINS; tries++, join = g->ipdom[join]) {
		bool bad = false;

		if (join >= g->n)
			return false;
		memset(r, 0, sizeof(*r));
		r->head = NO_PC;
		loop_of(c, g, s, NO_PC);
		if (!sides(c, s, in, join, share, &t, &f) || asked_apart(c, s) || waits_within(c, s) || looks_within(c, s))
			return false;
		for (i = 0; t && f && !bad && i < s->nlist; i++)
			bad = scalar_outlives(c, s, in, s->list[i], live_before(c, c->s->b[join].start), false);
		if (!t || !f || bad)
			continue;
		for (k = 0; k < 2; k++) {
			u32 first = k ? in->fall : in->taken, second = k ? in->taken : in->fall;
			u8 bit = k ? 2 : 1;

			if ((s->mark[block_no(c, second)] & bit) || !to_save(c, s, bit, second, r))
				continue;
			r->apart = true;
			r->at = c->s->b[b].end - 1;
			r->join = c->s->b[join].start;
			r->first = first;
			r->second = second;
			r->size = s->nlist;
			r->depth = c->s->b[b].depth;
			return true;
		}
	}
	return false;
}

/* The region of the branch that ends block b, if it is one that code can do. */
static bool find(struct jcomp *c, const struct graph *g, u32 b, struct jregion *r, struct search *s, u64 share)
{
	const struct insn *in = &c->code[c->s->b[b].end - 1];
	u32 join = g->ipdom[b], t, f, i, h;
	bool much;

	memset(r, 0, sizeof(*r));
	r->head = NO_PC;
	loop_of(c, g, s, NO_PC);
	if (leads_to(c, in->taken) == leads_to(c, in->fall))
		return false;
	if (join >= g->n || !sides(c, s, in, join, share, &t, &f) || (t && f && s->mark[b] == 3)) {
		/* in a round of a loop around it, the outermost that will do */
		for (h = 0, join = NO_PC; h <= b && join == NO_PC; h++)
			if (g->last[h] != NO_PC && g->last[h] >= b && loop_of(c, g, s, h))
				join = meet_in_round(c, g, s, b, share);
		if (join == NO_PC || !sides(c, s, in, join, share, &t, &f) || (t && f && s->mark[b] == 3))
			return false;
		r->head = s->head;
	}
	if (asked_apart(c, s))
		return false;
	r->at = c->s->b[b].end - 1;
	r->join = c->s->b[join].start;
	r->first = in->taken;
	r->second = NO_PC;
	if (t && f) {
		r->second = in->fall;
		r->loops = s->mark[b];
	}
	if (!t || (f && (r->loops ? s->mark[b] == 2 : in->fall < in->taken))) {
		r->first = in->fall;
		r->second = t ? in->taken : NO_PC;
		for (i = 0; i < s->nlist; i++) {        /* 1: the side that runs first */
			u8 *m = &s->mark[s->list[i]];

			*m = (u8)((*m >> 1 | *m << 1) & 3);
		}
	}
	r->size = s->nlist;     /* shared blocks once: what lies in another region is smaller */
	r->depth = c->s->b[b].depth;
	much = c->much && !c->last && c->s->parted[r->at];
	if (!outlives(c, s, r, much))
		return true;
	return !much && r->head == NO_PC && find_apart(c, g, b, r, s, share);
}

/* Whoever leaves the round of a loop from within r does so at a branch of its own region, and waits there. */
static bool ways_out(struct jcomp *c, struct search *s, const struct jregion *all, u32 n)
{
	u32 i, k, q;

	for (i = 0; i < s->nlist; i++) {
		const struct jblock *jb = &c->s->b[s->list[i]];

		if (!jb->nsucc)
			return false;
		for (k = 0; k < jb->nsucc; k++) {
			u32 to = c->s->b[jb->succ[k]].start;

			if (s->in[jb->succ[k]])
				continue;
			to = leads_to(c, to);
			for (q = 0; q < n && all[q].at != jb->end - 1; q++)
				;
			if (q == n || leads_to(c, all[q].second == NO_PC ? all[q].join : all[q].second) != to)
				return false;
		}
	}
	return true;
}

/*
 * Regions that the one with bit i lies across: each has blocks that the other has not. Lanes of the other would run where nobody keeps what
 * those that wait in this one will read. in: per block, the regions that have it.
 */
static u64 crossing(const struct jcomp *c, const u64 *in, u32 i)
{
	u64 both = 0, own = 0, theirs = 0;
	u32 b;

	for (b = 0; b < c->s->nb; b++) {
		if (in[b] >> i & 1) {
			both |= in[b];
			own |= ~in[b];
		} else {
			theirs |= in[b];
		}
	}
	return both & own & theirs;
}

/* Is there a region of a round (jregion.head) with which the one with bit i has blocks in common? */
static bool in_rounds(const struct jcomp *c, const struct jregion *all, u32 i)
{
	u64 with = 0, rounds = 0;
	u32 b, k;

	for (b = 0; b < c->s->nb; b++)
		if (c->rin[b] >> i & 1)
			with |= c->rin[b];
	for (k = 0; k < c->nregions; k++)
		rounds |= (u64)(all[k].at != NO_PC && all[k].head != NO_PC) << k;
	return with & rounds;
}

static int by_worth(const void *a, const void *b)
{
	const struct jregion *x = a, *y = b;

	return x->depth != y->depth ? (x->depth > y->depth ? -1 : 1) : x->size != y->size ? (x->size < y->size ? -1 : 1) :
	       x->at < y->at ? -1 : 1;
}

/* Inner ones come before those around them. */
static int by_size(const void *a, const void *b)
{
	const struct jregion *x = a, *y = b;

	return x->size != y->size ? (x->size < y->size ? -1 : 1) : x->at < y->at ? -1 : 1;
}

/* Those who wait at pc will read what block b must leave alone; their own scalars stand elsewhere. */
static bool keep(struct jcomp *c, u32 b, u32 pc, const struct jregion *own)
{
	const u64 *set = live_before(c, pc);
	u64 *to;
	u32 w, i;

	if (!c->keep[b] && !(c->keep[b] = pool_alloc(&c->mem, c->s->words * sizeof(u64) + 8)))
		return false;
	to = c->keep[b];
	for (w = 0; w < c->s->words; w++) {
		u64 add = set[w];

		for (i = 0; i < own->nsaved; i++)
			if (c->lives[own->saved + i] >> 6 == w)
				add &= ~(1ull << (c->lives[own->saved + i] & 63));
		to[w] |= add;
	}
	return true;
}

bool jit_regions(struct jcomp *c)
{
	u32 n = c->s->nb, b, i, k, most = 0;
	struct jregion *all;
	struct search s = { .nlist = 0 };
	struct graph g;
	bool more;
	u64 share;

	c->rin = pool_alloc(&c->mem, (n + 1) * sizeof(u64));
	c->rfirst = pool_alloc(&c->mem, (n + 1) * sizeof(u64));
	c->rsecond = pool_alloc(&c->mem, (n + 1) * sizeof(u64));
	c->keep = pool_alloc(&c->mem, (n + 1) * sizeof(*c->keep));
	if (!c->rin || !c->rfirst || !c->rsecond || !c->keep)
		return false;
	for (b = 0; b < n; b++) {
		const struct insn *in = &c->code[c->s->b[b].end - 1];

		most += c->s->b[b].end > c->s->b[b].start && in->kind == K_CBRA && jit_val(c, in->guard, 2).cls == JC_VARY;
	}
	if (!most)
		return true;
	all = pool_alloc(&c->mem, (most + 1) * sizeof(*all));
	s.mark = pool_alloc(&c->mem, n + 1);
	s.stack = pool_alloc(&c->mem, (n + 2) * sizeof(u32));
	s.list = pool_alloc(&c->mem, (n + 2) * sizeof(u32));
	s.loop = pool_alloc(&c->mem, (n + 2) * sizeof(u32));
	s.in = pool_alloc(&c->mem, n + 1);
	share = JIT_REGION_STEPS / most > JIT_REGION_LEAST ? JIT_REGION_STEPS / most : JIT_REGION_LEAST;
	if (!all || !s.mark || !s.stack || !s.list || !s.loop || !s.in || !make_graph(c, &g) || !postdominators(c, &g))
		return false;
	for (b = 0; b < n; b++) {
		const struct insn *in = &c->code[c->s->b[b].end - 1];

		if (c->s->b[b].end > c->s->b[b].start && in->kind == K_CBRA && jit_val(c, in->guard, 2).cls == JC_VARY &&
		    find(c, &g, b, &all[c->nregions], &s, share))
			c->nregions++;
	}
	qsort(all, c->nregions, sizeof(*all), by_worth);
	if (c->nregions > JIT_REGIONS)
		c->nregions = JIT_REGIONS;
	for (i = 0, more = false; i < c->nregions; i++)
		more |= all[i].head != NO_PC || all[i].apart;
	for (i = 0; more && i < c->nregions; i++) {
		mark_region(c, &g, &s, &all[i]);
		for (k = 0; k < s.nlist; k++)
			c->rin[s.list[k]] |= 1ull << i;
	}
	while (more) {
		more = false;
		for (i = 0; i < c->nregions; i++) {
			if ((all[i].head == NO_PC && !all[i].apart) || all[i].at == NO_PC)
				continue;
			mark_region(c, &g, &s, &all[i]);
			if (!crossing(c, c->rin, i) && (all[i].apart ? !in_rounds(c, all, i) : ways_out(c, &s, all, c->nregions)))
				continue;
			all[i].at = NO_PC;
			more = true;
			for (b = 0; b < n; b++)
				c->rin[b] &= ~(1ull << i);
		}
	}
	memset(c->rin, 0, n * sizeof(*c->rin));
	for (i = k = 0; i < c->nregions; i++)
		if (all[i].at != NO_PC)
			all[k++] = all[i];
	c->nregions = k;
	qsort(all, c->nregions, sizeof(*all), by_size);
	c->regions = all;
	for (i = 0; i < c->nregions; i++) {
		struct jregion *r = &all[i];

		mark_region(c, &g, &s, r);
		r->lo = NO_PC;
		for (k = 0; k < s.nlist; k++) {
			b = s.list[k];
			c->rin[b] |= 1ull << i;
			if (r->second != NO_PC && (s.mark[b] & 1))
				c->rfirst[b] |= 1ull << i;
			if (s.mark[b] & 2)
				c->rsecond[b] |= 1ull << i;
			if (!keep(c, b, r->join, r) || (r->second != NO_PC && (s.mark[b] & 1) && !keep(c, b, r->second, r)))
				return false;
			r->lo = c->s->b[b].start < r->lo ? c->s->b[b].start : r->lo;
			r->hi = c->s->b[b].end > r->hi ? c->s->b[b].end : r->hi;
		}
	}
	return true;
}
