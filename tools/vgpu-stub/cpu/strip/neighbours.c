/* SPDX-License-Identifier: MIT */
/*
 * Loads of shared memory that are done by all lanes of a warp at once, for what other lanes of it have stored, with nothing between that would have them look at
 * each other. A warp of the hardware goes in step, and comes together again behind a branch; strips run ahead of one another. So it is with
 *
 * - sums by halves of before __syncwarp() (s[t] += s[t + 16]; s[t] += s[t + 8]; ... s[t & -32]), with or without volatile (ViennaCL's sparse products);
 * - what some lanes alone store, if others come to the load as well: a leader's word; columns' sums by some lanes, which the first one adds up (Romberg's);
 * - a word of the warp, which all of its lanes read and write: the end of a stack, moved by each function in and out (gcc's code for OpenMP). A strip that went on from
 *   such a load to the store behind it, and was stopped there, would have others read what it has stored.
 *
 * Where a thread has a row, or a column, of its own no other looks: an address that is step * tid and something that is the same for all. Nor does it where a
 * lane has just stored.
 */
#include "order.h"

#define MOST_STEPS (1u << 22)  /* instructions that are walked over for all stores; beyond that no load is looked for */

enum { YES = 1, NO = 2 };

/* An address as far as lanes' numbers make it: a variable's, + step * tid + k, or, first, that of the first of some neighbours; vague: and something that all have. */
struct spot {
	u64 var;
	s64 step, k;
	bool named, first, vague;
};

struct access {
	u32 pc, block;
	bool known;             /* spot is what it says; else a lane's own, no more is known */
	bool some;              /* a store that not all lanes come to */
	struct spot at;
};

/* own: a byte for each register, whether lanes have numbers of their own there, by what makes it */
struct look {
	struct scomp *c;
	const u32 *def;
	u8 *own, *seen, *past, *other;
	u8 *some, *stops;       /* blocks that some lanes alone come to; in which lanes look at each other */
	u32 *stack, left, past_of;      /* past_of: the block that past is of; NO_PC: of none */
	bool any;               /* load that is marked */
};

static bool spot_of(const struct look *l, u32 o, u32 steps, struct spot *a);

static bool is_own(const struct look *l, u32 o)
{
	struct sval v;

	if (o == OPND_NONE || !(o & OPND_CONST))
		return o != OPND_NONE && l->own[o];
	/* the prologue's */
	v = s_val(l->c, o, 0);
	return v.cls != SC_SCALAR || v.pat;
}

/* What is not made of the variable's address, lanes' numbers and constants is something that all have, or nothing is known. */
static bool spot_vague(const struct look *l, u32 o, struct spot *a)
{
	memset(a, 0, sizeof(*a));
	return a->vague = !is_own(l, o);
}

static bool spot_times(const struct look *l, u32 by, bool shift, struct spot *a)
{
	struct sval v = s_val(l->c, by, 0);
	s64 f = shift ? 1ll << (v.k & 31) : (s64)(s32)(u32)v.k;

	if (by == OPND_NONE || !(by & OPND_CONST) || !v.known || a->named)
		return false;
	a->step *= f;
	a->k *= f;
	return true;
}

static bool spot_plus(const struct look *l, u32 o, u32 steps, struct spot *a)
{
	struct spot b;

	if (!spot_of(l, o, steps, &b) || (a->named && b.named))
		return false;
	a->var += b.var;
	a->step += b.step;
	a->k += b.k;
	a->named |= b.named;
	a->first |= b.first;
	a->vague |= b.vague;
	return true;
}

/* tid & -32 is the first of the warp; a mask that a warp's numbers fit in may have them begin anew, which is no nearer */
static bool spot_masked(const struct look *l, u32 by, struct spot *a)
{
	struct sval v = s_val(l->c, by, 0);
	u32 m = (u32)v.k;

	if (by == OPND_NONE || !(by & OPND_CONST) || !v.known || a->named || a->first || a->vague)
		return false;
	if (!(m & (m + 1)) && m >= 31)
		return true;
	if ((~m & (~m + 1)) || ~m > 31 || a->step != 1 || a->k)
		return false;
	a->step = 0;
	return a->first = true;
}

static bool spot_sum(const struct look *l, const struct insn *in, u32 steps, struct spot *a)
{
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT: case LOP_CVT_TRUNC:
		return spot_of(l, in->o[1], steps, a);
	case LOP_ADD:
		return spot_of(l, in->o[1], steps, a) && spot_plus(l, in->o[2], steps, a);
	case LOP_SHL: case LOP_MUL: case LOP_MULWIDE:
		return spot_of(l, in->o[1], steps, a) && spot_times(l, in->o[2], in->lop == LOP_SHL, a);
	case LOP_MAD: case LOP_MADWIDE:
		return spot_of(l, in->o[1], steps, a) && spot_times(l, in->o[2], false, a) && spot_plus(l, in->o[3], steps, a);
	case LOP_AND:
		return spot_of(l, in->o[1], steps, a) && spot_masked(l, in->o[2], a);
	default:
		return false;
	}
}

static bool spot_of(const struct look *l, u32 o, u32 steps, struct spot *a)
{
	const struct insn *in;
	struct sval v;

	memset(a, 0, sizeof(*a));
	if (o == OPND_NONE)
		return false;
	if (o & OPND_CONST) {
		v = s_val(l->c, o, 0);
		a->k = (s32)(u32)v.k;
		return v.known || spot_vague(l, o, a);
	}
	in = steps ? definition(l->c, l->def, o) : NULL;
	if (!in)
		return spot_vague(l, o, a);
	if (in->kind == K_SREG && (spec_sreg(l->c->spec, in->sub) == SR_TID_X || in->sub == SR_LANEID)) {
		a->step = 1;
		return true;
	}
	if (in->kind == K_LADDR || (in->kind == K_SREG && in->sub == SR_DYNAMIC_SMEM)) {
		a->var = in->kind == K_LADDR ? (u64)in->imm : NOWHERE;
		return a->named = true;
	}
	return (in->kind == K_LANE && spot_sum(l, in, steps - 1, a)) || spot_vague(l, o, a);
}

/* The number of the warp in the block, or 32 times it: tid >> 5, tid & -32 where lanes are along x */
static bool of_warp(const struct look *l, const struct insn *in)
{
	u32 shape = l->c->spec & 255;
	struct spot a;
	struct sval v;

	if ((shape != SPEC_LINEAR && shape != SPEC_LINE) || in->kind != K_LANE || (in->lop != LOP_SHR && in->lop != LOP_AND) || in->o[2] == OPND_NONE || !(in->o[2] & OPND_CONST))
		return false;
	v = s_val(l->c, in->o[2], 0);
	return v.known && (in->lop == LOP_SHR ? (v.k & 31) >= 5 : !(v.k & 31)) && spot_of(l, in->o[1], STEPS, &a) && a.step == 1 && !(a.k & 31) && !a.named && !a.vague && !a.first;
}

/* Lanes have their own of what comes of their numbers, of loads from their own places, and from where others write. */
static bool makes_own(const struct look *l, const struct insn *in)
{
	u32 k;

	switch ((enum kind)in->kind) {
	case K_SREG:
		switch (spec_sreg(l->c->spec, in->sub)) {
		case SR_TID_X: case SR_LANEID: case SR_LANEMASK_EQ: case SR_LANEMASK_LE: case SR_LANEMASK_LT: case SR_LANEMASK_GE: case SR_LANEMASK_GT:
			return true;
		case SR_TID_Y: case SR_TID_Z:
			return (l->c->spec & 255) != SPEC_LINEAR && (l->c->spec & 255) != SPEC_LINE;
		default:
			return false;
		}
	case K_ATOM:
		return true;
	case K_VOTE: case K_ACTIVEMASK: case K_LDPARAM:
		return false;
	default:
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && is_own(l, in->o[k]))
				return !of_warp(l, in);
		return false;
	}
}

static void find_own(struct look *l)
{
	const struct scomp *c = l->c;
	bool more = true;
	u32 i, k;

	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			if (!in->def || !makes_own(l, in))
				continue;
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && !l->own[in->o[k]]) {
					l->own[in->o[k]] = 1;
					more = true;
				}
		}
	}
}

/* Marks in `in` what lanes come to from block b, itself too, without looking at each other and not through block x. */
static void spread(struct look *l, u32 b, u32 x, u8 *in)
{
	const struct jit_src *s = l->c->s;
	u32 n = 0, i;

	memset(in, 0, s->nb);
	if (b == x)
		return;
	in[b] = 1;
	for (l->stack[n++] = b; n;) {
		const struct jblock *at = &s->b[l->stack[--n]];

		for (i = 0; !l->stops[at - s->b] && i < at->nsucc; i++)
			if (at->succ[i] != x && !in[at->succ[i]]) {
				in[at->succ[i]] = 1;
				l->stack[n++] = at->succ[i];
			}
	}
}

/* past: the blocks that lanes come to that take the other way, where one way of a branch at which lanes part leads to block b. Are there any? */
static bool passed(struct look *l, u32 b)
{
	const struct jit_src *s = l->c->s;
	u8 *side = l->seen, *other = l->other;
	bool any = false;
	u32 p, i, k;

	if (l->past_of == b)
		return l->some[b] == YES;
	memset(l->past, 0, s->nb);
	for (p = 0; p < s->nb; p++) {
		const struct insn *in = s->b[p].end > s->b[p].start ? &s->code[s->b[p].end - 1] : NULL;

		if (!in || in->kind != K_CBRA || in->guard == OPND_NONE || !is_own(l, in->guard) || s->b[p].nsucc != 2)
			continue;
		for (k = 0; k < 2; k++) {
			spread(l, s->b[p].succ[k], p, side);
			spread(l, s->b[p].succ[!k], p, other);
			if (!side[b] || other[b])
				continue;
			spread(l, s->b[p].succ[!k], b, other);
			any = true;
			for (i = 0; i < s->nb; i++)
				l->past[i] |= other[i];
		}
	}
	l->past_of = b;
	l->some[b] = any ? YES : NO;
	return any;
}

static bool same_place(const struct insn *x, const struct insn *y) { return x->o[4] == y->o[4] && x->imm == y->imm && x->size * x->vec == y->size * y->vec; }

/* Does the load, by x, look at what another lane stores by st? past: that does not come to the store. */
static bool sees(const struct look *l, const struct access *st, const struct access *x, bool past)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[x->pc];
	const struct spot *s = &st->at, *t = &x->at;
	s64 far = t->k - s->k;

	if (!st->known)
		return st->some && past;
	if (same_place(store, load) && is_own(l, load->o[4]))
		return false;
	if (x->known && s->named && t->named && s->var != t->var)
		return false;
	if (!s->step || s->first)
		return st->some && past;
	/* a row or column of its own, as far as one can see */
	if (s->vague && (!x->known || !t->step))
		return st->some && past;
	if (!x->known)
		return true;
	if (t->first)
		return !t->step && far >= 0 && far < s->step;
	if (!t->step)
		return true;
	if (t->step != s->step)
		return !s->vague && !t->vague;
	if (s->vague || t->vague)
		return !s->vague && s->step == (s64)store->size;
	return far && s->step > 0 && far < 32 * s->step && far > -32 * s->step;
}

/* A walk from behind pc, in block b, to where lanes look at each other: what() is asked of each access to shared memory on the way. */
static bool walk(struct look *l, u32 b, u32 pc, bool (*what)(struct look *, u32 pc, u32 block, void *), void *with)
{
	const struct jit_src *s = l->c->s;
	u32 n = 0, i, k;

	memset(l->seen, 0, s->nb);
	for (i = pc + 1;; i = s->b[b].start) {
		for (; i < s->b[b].end && !s_sync(&l->c->code[i]); i++) {
			const struct insn *in = &l->c->code[i];

			if (!l->left)
				return false;
			l->left--;
			if ((in->kind == K_LD || in->kind == K_ST) && in->space == SPACE_SHARED && what(l, i, b, with))
				return true;
		}
		if (i == s->b[b].end)
			for (k = 0; k < s->b[b].nsucc; k++)
				if (!l->seen[s->b[b].succ[k]]) {
					l->seen[s->b[b].succ[k]] = 1;
					l->stack[n++] = s->b[b].succ[k];
				}
		if (!n)
			return false;
		b = l->stack[--n];
	}
}

static void access_of(const struct look *l, u32 pc, u32 block, struct access *x)
{
	const struct insn *in = &l->c->code[pc];

	*x = (struct access){ .pc = pc, .block = block, .some = in->guard != OPND_NONE };
	x->known = spot_of(l, in->o[4], 2 * STEPS, &x->at);
	x->at.k += in->imm;
}

struct stores { struct access *st; u32 n, at; };

/* Loads that a store comes to: marked. */
static bool behind_store(struct look *l, u32 pc, u32 block, void *with)
{
	const struct stores *all = with;
	const struct access *st = &all->st[all->at];
	struct access x;
	u32 k;

	if (l->c->code[pc].kind != K_LD || l->c->whole[pc])
		return false;
	access_of(l, pc, block, &x);
	if (!sees(l, st, &x, l->past[block]))
		return false;
	/* a thread's own numbers lie there, too: it stores them itself */
	for (k = 0; k < all->n && x.known && x.at.step; k++)
		if (all->st[k].known && all->st[k].at.var == x.at.var && all->st[k].at.step == x.at.step && all->st[k].at.k == x.at.k && !all->st[k].at.vague && !x.at.vague)
			return false;
	l->c->whole[pc] = l->any = true;
	return false;
}

/* Is block b one that some lanes alone come to? In large kernels: by the branch before it. */
static bool by_some(struct look *l, u32 b)
{
	const struct jit_src *s = l->c->s;
	u32 p, k, from = s->nb, n = 0;

	if (l->some[b])
		return l->some[b] == YES;
	if (s->nb <= MOST_IN_LOOP)
		return passed(l, b);
	for (p = 0; p < s->nb; p++)
		for (k = 0; k < s->b[p].nsucc; k++)
			if (s->b[p].succ[k] == b) {
				from = p;
				n++;
			}
	l->some[b] = n == 1 && s->b[from].end > s->b[from].start && s->code[s->b[from].end - 1].kind == K_CBRA && is_own(l, s->code[s->b[from].end - 1].guard) ? YES : NO;
	return l->some[b] == YES;
}

/* A store by all lanes to the warp's word that they have read? */
static bool behind_load(struct look *l, u32 pc, u32 block, void *with)
{
	const struct access *x = with;
	struct access st;

	if (!candidate(&l->c->code[pc]) || l->c->code[pc].guard != OPND_NONE || l->some[block] != NO)
		return false;
	access_of(l, pc, block, &st);
	return st.known && !st.at.step && !st.at.first && (!st.at.named || !x->at.named || st.at.var == x->at.var) &&
		(st.at.vague || x->at.vague || st.at.k == x->at.k);
}

bool s_neighbours(struct scomp *c, const u32 *def, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	struct look l = { .c = c, .def = def, .own = pool_alloc(&c->mem, s->nregs + 1), .seen = seen, .past = seen + s->nb, .other = pool_alloc(&c->mem, s->nb + 1),
			  .some = pool_alloc(&c->mem, s->nb + 1), .stops = pool_alloc(&c->mem, s->nb + 1), .stack = stack, .left = MOST_STEPS, .past_of = NO_PC };
	struct stores all = { 0 };
	struct access x;
	u32 b, i;

	for (i = 0; i < c->n; i++)
		all.n += candidate(&c->code[i]);
	all.st = pool_alloc(&c->mem, (all.n + 1) * sizeof(*all.st));
	if (!l.own || !l.other || !l.some || !l.stops || !all.st)
		return false;
	find_own(&l);
	for (b = 0, all.n = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			l.stops[b] |= s_sync(&c->code[i]);
			if (candidate(&c->code[i]))
				access_of(&l, i, b, &all.st[all.n++]);
		}
	for (all.at = 0; all.at < all.n; all.at++) {
		struct access *st = &all.st[all.at];

		if (s->nb <= MOST_IN_LOOP && !st->some) {
			st->some = passed(&l, st->block);
		} else {
			by_some(&l, st->block);
			l.past_of = NO_PC;
			memset(l.past, st->some, s->nb);
		}
		walk(&l, st->block, st->pc, behind_store, &all);
	}
	for (b = 0; all.n && b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if (in->kind != K_LD || in->space != SPACE_SHARED || in->guard != OPND_NONE || s_sync(in) || c->whole[i])
				continue;
			access_of(&l, i, b, &x);
			if (x.known && !x.at.step && !x.at.first && !by_some(&l, b))
				l.any |= c->whole[i] = walk(&l, b, i, behind_load, &x);
		}
	/* AVX-512's other code keeps a warp in step, in loops too, whose rounds it would have to end in one place for strips (latch.c) */
	return !l.any || c->fn->m->e->lanes != &lanes_avx512;
}
