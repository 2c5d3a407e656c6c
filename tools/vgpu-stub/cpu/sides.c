/* SPDX-License-Identifier: MIT */
/*
 * Branches at which lanes part, and behind which those who took one look at each other, become guards: if-conversion of a short piece of code without loops, for AVX2.
 *
 *            b: ... @p bra A                        b: ...  r = p
 *              /        \                              @r   A, a vote among them
 *             A          |            ==>              s = r & q
 *           q / \        |                             @s   B
 *            B  |        |                             J
 *             \ |        |
 *                J <-----+
 *
 * Strips (strip/meet.c) meet quickly at places that all lanes come to, not where some do: there each leaves code, with all that it has. So all do it, under guards, and what
 * no one else reads without. Where it is likely that whole warps take one way (by the thread's number, or what is the same for a row), it stays a branch.
 *
 * Who is whose partner (t ^ j, t & 1) goes by a bit of the number, and one of the two does all: exchanges of bitonic and odd-even sorts, in a loop. What they
 * store others look for in the next round, so that is a place where strips meet (strip/neighbours.c).
 *
 * What __syncwarp() waits for may be on the other side, or come by later: only such stay in that name their members by a register, and not on both sides.
 *
 * In: blocks with their edges, before they have an order. Called by guards.c, before short branches in loops.
 */
#define _GNU_SOURCE
#include <string.h>

#include "guards.h"
#include "lanes.h"

struct look { struct guards *u; bool changed; u8 rank; };

/* How values differ: not in a warp; from warp to warp or row to row; by the thread's number; by a bit of it, as who is whose partner; in each lane as it comes. */
enum { RANK_SAME, RANK_WARP, RANK_THREAD, RANK_PAIR, RANK_LANE };

static void ranks(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (!is_def && l->u->rank[*o] > l->rank)
		l->rank = l->u->rank[*o];
}

static void ranked(void *arg, u32 *o, bool is_def)
{
	struct look *l = arg;

	if (is_def && l->u->rank[*o] < l->rank) {
		l->u->rank[*o] = l->rank;
		l->changed = true;
	}
}

static bool is_within(const struct guards *u, u32 o, u64 least, u64 most)
{
	const struct konst *k = konst_at(u->c, o);

	return k && !k->sym && k->bits >= least && k->bits <= most;
}

/* One bit of those that differ in a warp? */
static bool is_bit(const struct guards *u, u32 o)
{
	const struct konst *k = konst_at(u->c, o);

	return is_within(u, o, 1, LANES / 2) && !(k->bits & (k->bits - 1));
}

/* What an instruction makes of operands of that rank. */
static u8 rank_of(const struct guards *u, const struct insn *in, u8 rank)
{
	switch ((enum kind)in->kind) {
	case K_SREG:
		if (in->sub == SR_TID_X)
			return RANK_THREAD;
		if (in->sub == SR_TID_Y || in->sub == SR_TID_Z)
			return RANK_WARP;
		return guards_makes_varying(in) ? RANK_LANE : RANK_SAME;
	case K_LD:
		return rank >= RANK_THREAD ? RANK_LANE : rank;
	case K_VOTE: case K_ACTIVEMASK: case K_REDUX: case K_LDPARAM:
		return RANK_SAME;
	case K_ATOM: case K_MATCH: case K_TENSOR: case K_GEN: case K_CALL: case K_SHFL:
		return RANK_LANE;
	case K_SETP:
		return rank == RANK_THREAD && (type_is_float(in->type) || in->lop == CMP_EQ || in->lop == CMP_NE) ? RANK_LANE : rank;
	case K_LANE:
		if (rank == RANK_THREAD && in->lop == LOP_SHR && is_within(u, in->o[2], 5, 63))
			return RANK_WARP;
		if (rank == RANK_THREAD && in->lop == LOP_AND && (is_bit(u, in->o[1]) || is_bit(u, in->o[2])))
			return RANK_PAIR;
		if (rank == RANK_THREAD && in->lop == LOP_AND && (is_within(u, in->o[1], 1, LANES - 1) || is_within(u, in->o[2], 1, LANES - 1)))
			return RANK_LANE;
		if (rank == RANK_THREAD && in->lop == LOP_XOR)
			return RANK_PAIR;
		return rank == RANK_THREAD && type_is_float(in->type) ? RANK_LANE : rank;
	default:
		return rank;
	}
}

static void how_they_vary(struct guards *u)
{
	struct look l = { .u = u, .changed = true };
	u32 i, round;

	u->rank = cfg_zeroes(u->g, u->nregs);
	for (round = 0; l.changed && round < ROUNDS; round++) {
		l.changed = false;
		u->c->fn->work += u->c->ncode;
		for (i = 0; i < u->c->ncode; i++) {
			struct insn *in = &u->c->code[i];

			l.rank = RANK_SAME;
			each_opnd(in, ranks, &l);
			l.rank = rank_of(u, in, l.rank);
			if (l.rank)
				each_opnd(in, ranked, &l);
		}
	}
}

/* of partners; half as much of others */
#define SIDE_BLOCKS 16u
#define SIDE_LONGEST 128u       /* instructions, and guards' */
#define SIDE_WAYS (2 * (SIDE_BLOCKS + 1))

/* A way from one of them to block `to`, for those of whom p is true; not in reg's: when it is false; OPND_NONE: for all. */
struct path { u32 to, p; bool neg; };

struct side {
	u32 b[SIDE_BLOCKS], n, join;    /* in an order in which each comes behind those before it */
	struct path ways[SIDE_WAYS];
	u32 nways, gone;                /* gone: ways to join */
	u32 size, looking, stores;      /* looking: instructions by which lanes look at each other; stores: to shared memory */
};

static bool looks(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_ACTIVEMASK: case K_WARPSYNC:
		return true;
	case K_LD: case K_ST:
		return (in->flags & INF_VOLATILE) && (in->space == SPACE_SHARED || in->space == SPACE_GENERIC);
	default:
		return false;
	}
}

/* Is it the same whether lanes pass it by, or do it under a guard? */
static bool may_be_guarded(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_CVT: case K_LOP3: case K_NOP: case K_LADDR: case K_CVTA: case K_LDPARAM: case K_LD: case K_ST: case K_ATOM:
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_ACTIVEMASK: case K_MEMBAR: case K_SREG:
		return true;
	case K_WARPSYNC:
		/* members that the program names may be on the other side, or come by later */
		return in->o[2] != OPND_NONE && !(in->o[2] & OPND_CONST);
	default:
		return false;
	}
}

static bool is_sideways(const struct guards *u, u32 b, struct side *s, u32 *syncs)
{
	const struct block *bb = &u->g->b[b];
	const struct insn *last = guards_last(u, b);
	u32 i, end = guards_end(u, b);

	if (!b || !bb->nsucc || bb->nsucc > 2 || (bb->nsucc == 2 && (last->kind != K_CBRA || (last->guard & OPND_CONST) || last->taken == last->fall)))
		return false;
	if (end < bb->end && last->kind == K_CBRA && bb->nsucc != 2)
		return false;
	s->size += end - bb->start + 2;
	for (i = bb->start; i < end; i++) {
		if (!may_be_guarded(&u->c->code[i]))
			return false;
		s->looking += looks(&u->c->code[i]);
		s->stores += u->c->code[i].kind == K_ST && u->c->code[i].space == SPACE_SHARED;
		*syncs += u->c->code[i].kind == K_WARPSYNC;
	}
	return s->size <= SIDE_LONGEST;
}

/* What lies between b's branch and where all come together again, if it is short and without loops; its blocks are in order then. */
static bool find_side(const struct guards *u, u32 b, struct side *s)
{
	u32 to[SIDE_BLOCKS + 2], ways[SIDE_BLOCKS + 2], n = 0, i, k, syncs = 0, elses = 0;
	const struct block *bb = &u->g->b[b];

	s->n = s->size = s->looking = s->stores = 0;
	for (k = 2; k--;) {
		to[n] = bb->succ[k];
		ways[n++] = 1;
	}
	/* those who do not jump go first, all their way, as in other code and the interpreter */
	while (n > 1) {
		u32 x, at;

		for (i = 0; i < n && (to[i] == b || u->g->b[to[i]].npred != ways[i]); i++)
			;
		if (i == n || s->n == SIDE_BLOCKS)
			return false;
		x = to[i];
		if (!is_sideways(u, x, s, &syncs))
			return false;
		s->b[s->n++] = x;
		at = i;
		n--;
		memmove(&to[at], &to[at + 1], (n - at) * sizeof(*to));
		memmove(&ways[at], &ways[at + 1], (n - at) * sizeof(*ways));
		for (k = u->g->b[x].nsucc; k--;) {
			for (i = 0; i < n && to[i] != u->g->b[x].succ[k]; i++)
				;
			if (i == n && n == SIDE_BLOCKS + 2)
				return false;
			if (i == n) {
				i = at++;
				memmove(&to[i + 1], &to[i], (n - i) * sizeof(*to));
				memmove(&ways[i + 1], &ways[i], (n - i) * sizeof(*ways));
				to[i] = u->g->b[x].succ[k];
				ways[i] = 0;
				n++;
			}
			ways[i]++;
		}
	}
	s->join = to[0];
	s->gone = ways[0] - 1;
	for (i = 0; i <= s->n; i++) {
		const struct block *x = &u->g->b[i == s->n ? b : s->b[i]];

		elses += x->nsucc == 2 && x->succ[0] != s->join && x->succ[1] != s->join;
	}
	/* __syncwarp() of both sides is one */
	return n == 1 && s->join != b && (syncs <= 1 || !elses);
}

/* reg (not): p and q, p OPND_NONE: q alone */
static u32 both(struct guards *u, u32 p, bool pneg, u32 q, bool qneg)
{
	u32 r = new_reg(u->c, T_PRED);

	if (p == OPND_NONE)
		emit_pred(u->c, PRED_MOV, r, q, qneg, OPND_NONE, false);
	else
		emit_pred(u->c, PRED_AND, r, p, pneg, q, qneg);
	return r;
}

/* Ways that a branch by guard leads, of those of whom p is true; registers of their own, for guards may be written again. */
static void ways_of(struct guards *u, struct side *s, const struct insn *br, u32 p, bool neg)
{
	u32 k;

	for (k = 0; k < 2; k++) {
		u32 to = k ? br->fall : br->taken;

		if (to == s->join)
			continue;
		s->ways[s->nways++] = (struct path){ to, both(u, p, neg, br->guard, (k != 0) != !!br->gneg), false };
	}
}

/* Who comes to block x. */
static struct path comes(struct guards *u, const struct side *s, u32 x)
{
	struct path w = { NO_PC, OPND_NONE, false };
	u32 i, r;

	for (i = 0; i < s->nways; i++) {
		if (s->ways[i].to != x)
			continue;
		if (w.to == NO_PC) {
			w = s->ways[i];
			continue;
		}
		r = new_reg(u->c, T_PRED);
		emit_pred(u->c, PRED_OR, r, w.p, w.neg, s->ways[i].p, s->ways[i].neg);
		w = (struct path){ x, r, false };
	}
	return w;
}

/* Block x for those of whom w.p is true. */
static void guarded(struct guards *u, struct side *s, u32 x, struct path w)
{
	u32 i, end = guards_end(u, x);
	struct insn last = *guards_last(u, x), *in;

	for (i = u->g->b[x].start; i < end; i++) {
		struct insn was = u->c->code[i];
		bool pure = guards_arithmetic(&was) || ((was.kind == K_SREG || was.kind == K_LADDR || was.kind == K_CVTA || was.kind == K_LDPARAM) && was.guard == OPND_NONE);
		u32 p = w.p;
		bool neg = w.neg;

		if (was.kind == K_NOP || (pure && guards_private(u, x, &was))) {
			guards_copy(u, i);
			continue;
		}
		if (was.guard != OPND_NONE) {
			p = both(u, w.p, w.neg, was.guard, was.gneg);
			neg = false;
		}
		in = guards_copy(u, i);
		in->guard = p;
		in->gneg = neg;
	}
	if (u->g->b[x].nsucc == 2)
		ways_of(u, s, &last, w.p, w.neg);
	else if (u->g->b[x].succ[0] != s->join)
		s->ways[s->nways++] = (struct path){ u->g->b[x].succ[0], w.p, w.neg };
	u->g->b[x].npred = 0;
}

static bool sides(struct guards *u, u32 b)
{
	struct block *bb = &u->g->b[b];
	struct insn br = *guards_last(u, b);
	struct side s = { .nways = 0 };
	bool pairs, few;
	u32 start, i;

	if (br.kind != K_CBRA || (br.guard & OPND_CONST) || br.taken == br.fall || bb->end - bb->start > BLOCK_LONGEST || bb->nsucc != 2 ||
	    u->left < BLOCK_LONGEST * 3 || (b && !bb->npred) || !find_side(u, b, &s) || !guards_varies(u, br.guard))
		return false;
	/* what partners store others look for in the next round */
	pairs = (s.looking || s.stores) && guards_in_loop(u, b);
	few = s.looking && s.n <= SIDE_BLOCKS / 2 && s.size <= SIDE_LONGEST / 2;
	if (!pairs && !few)
		return false;
	if (!u->rank)
		how_they_vary(u);
	if (br.guard >= u->nregs || u->rank[br.guard] < RANK_PAIR || (!few && u->rank[br.guard] == RANK_LANE))
		return false;
	start = guards_begin(u, b);
	ways_of(u, &s, &br, OPND_NONE, false);
	for (i = 0; i < s.n; i++)
		guarded(u, &s, s.b[i], comes(u, &s, s.b[i]));
	guards_join(u, b, s.join, s.gone);
	guards_done(u, b, start);
	return true;
}

void sides_for_branches(struct guards *u)
{
	u32 b;

	for (b = 0; b < u->g->nb; b++)
		while (sides(u, b))
			;
}
