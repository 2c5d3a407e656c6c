/* SPDX-License-Identifier: MIT */
/*
 * Addresses that are nothing but numbers are compared lane by lane (places.c), whatever makes them; others as follows.
 *
 * Loads of shared memory that are done by all lanes of a warp at once, for what other lanes of it have stored, with nothing between that would have them look at
 * each other. A warp of the hardware goes in step, and comes together again behind a branch; strips run ahead of one another. So it is with
 *
 * - sums by halves of before __syncwarp() (s[t] += s[t + 16]; s[t] += s[t + 8]; ... s[t & -32]), with or without volatile (ViennaCL's sparse products);
 * - what some lanes alone store, if others come to the load as well: a leader's word; columns' sums by some lanes, which the first one adds up (Romberg's);
 * - a word of the warp, which all of its lanes read and write: the end of a stack, moved by each function in and out (gcc's code for OpenMP). A strip that went on from
 *   such a load to the store behind it, and was stopped there, would have others read what it has stored.
 *
 * - what lanes store to places that they have read somewhere, or by ballots (a warp that puts its keys into order);
 * - what lanes look at before others store there: an element that a row is divided by, and is of that row (Gauss and Jordan's); neighbours' that are added;
 * - a word that all look at, or a place of each one's own, where lanes store by their numbers in ways that say nothing here (argon2's blocks, permuted by a parameter).
 *
 * Where a thread has a row, or a column, of its own no other looks: an address that is step * tid and something that is the same for all. Nor does it where a
 * lane has just stored, or stores next: pairs that change places.
 *
 * The same in global memory, where both are by one pointer; for AVX2 outside of loops, and in those in which lanes look at each other anyway: searches of graphs
 * and sweeps over a grid read what others write in each round. In other loops what is known lane by lane counts, and volatile accesses by lanes' numbers.
 *
 * A fence that all lanes come to says that others are to see what has been stored. Where some of it may be looked at next, strips meet at the fence; what is
 * stored behind that over places that others may have looked at is another such place.
 */
#include "spot.h"

#define MOST_GLOBAL 64u        /* blocks of a kernel whose global memory is looked at for AVX-512; for AVX2 MOST_IN_LOOP */
#define MOST_SEVERAL (1u << 20) /* the same, for what registers of several definitions come of; beyond that it is not known */
#define MOST_STEPS (1u << 22)  /* instructions that are walked over for all stores; beyond that no load is looked for */

enum { YES = 1, NO = 2 };

/* Marks in `in` what lanes come to from block b, itself too, among blocks h to e and not through block x; wait: nor past where they look at each other. */
static void flow(struct look *l, u32 b, u32 x, u32 h, u32 e, bool wait, u8 *in)
{
	const struct jit_src *s = l->c->s;
	u32 n = 0, i;

	memset(in, 0, s->nb);
	if (b == x)
		return;
	in[b] = 1;
	for (l->stack[n++] = b; n;) {
		const struct jblock *at = &s->b[l->stack[--n]];

		for (i = 0; !(wait && l->stops[at - s->b]) && i < at->nsucc; i++)
			if (at->succ[i] != x && at->succ[i] >= h && at->succ[i] <= e && !in[at->succ[i]]) {
				in[at->succ[i]] = 1;
				l->stack[n++] = at->succ[i];
			}
	}
}

static void spread(struct look *l, u32 b, u32 x, u8 *in) { flow(l, b, x, 0, l->c->s->nb, true, in); }

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

		if (!in || in->kind != K_CBRA || in->guard == OPND_NONE || !s_is_own(l, in->guard) || s->b[p].nsucc != 2)
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

/*
 * Do lanes that go round the innermost loop of block b come to it in each round, all of them? Those that have left it are not asked, nor those that have not come to
 * it. Outside of loops nobody waits for another in a round.
 */
static void find_each(struct look *l, u32 b)
{
	const struct jit_src *s = l->c->s;
	u32 p, k, h = NO_PC, e = 0;

	for (p = b; s->b[b].depth && p < s->nb; p++)
		for (k = 0; k < s->b[p].nsucc; k++) {
			u32 to = s->b[p].succ[k];

			/* jumps back to one beginning are one loop's */
			if (to <= b && (h == NO_PC || to >= h) && s->b[to].depth == s->b[b].depth) {
				h = to;
				e = p;
			}
		}
	l->each[b] = 1;
	for (p = h; h != NO_PC && p <= e && l->each[b]; p++) {
		const struct insn *in = s->b[p].end > s->b[p].start ? &s->code[s->b[p].end - 1] : NULL;

		if (!in || in->kind != K_CBRA || in->guard == OPND_NONE || !s_is_own(l, in->guard) || s->b[p].nsucc != 2)
			continue;
		for (k = 0; k < 2; k++) {
			u32 other = s->b[p].succ[!k];

			if (other < h || other > e)
				continue;
			flow(l, s->b[p].succ[k], h, h, e, false, l->seen);
			flow(l, other, h, h, e, false, l->other);
			if (l->seen[b] && !l->other[b])
				l->each[b] = 0;
		}
	}
}

static bool here(const struct look *l, const struct insn *in) { return in->space == l->space || (in->space == SPACE_GENERIC && l->space == SPACE_GLOBAL && !l->loops); }
static bool reads(const struct insn *in) { return in->kind == K_LD || in->kind == K_ATOM; }
/* Who compares and swaps counts on nobody's being in step: that is what it is for. */
static bool writes(const struct look *l, const struct insn *in)
{
	return (in->kind == K_ST || (in->kind == K_ATOM && in->sub != ATOM_CAS)) && here(l, in) && !s_sync(in);
}
/* Is what lies in block b looked at by pointers and variables, too? */
static bool in_view(const struct look *l, u32 b) { return l->loops || !l->c->s->b[b].depth || l->joined[b]; }
/* Is an access seen by others as it is written? */
static bool told(const struct insn *in) { return in->flags & INF_SYNC; }
static bool meets_at_fence(const struct look *l, u32 pc) { return l->c->code[pc].kind == K_MEMBAR && l->c->whole[pc]; }

/* Has each lane a place of its own? */
static bool by_number(const struct spot *a) { return a->step || a->rows[0] || a->rows[1]; }
static bool same_steps(const struct spot *a, const struct spot *b) { return a->step == b->step && a->rows[0] == b->rows[0] && a->rows[1] == b->rows[1]; }

/* Global memory counts as one place where the pointer is known to be one. */
static bool elsewhere(const struct look *l, const struct access *x, const struct access *y)
{
	return x->base == NOWHERE || y->base == NOWHERE ? l->space != SPACE_SHARED : x->base != y->base;
}

/* How far y is behind x; a constant is the address itself */
static s64 far_of(const struct spot *x, const struct spot *y)
{
	return y->k - x->k + (x->named && !y->named && !y->vague && !y->fixed ? -(s64)x->var : 0);
}

static bool same_place(const struct insn *x, const struct insn *y) { return x->o[4] == y->o[4] && x->imm == y->imm && x->size * x->vec == y->size * y->vec; }

/* Are both of each lane's own, the same? */
static bool own_place(struct look *l, const struct access *st, const struct access *x)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[x->pc];

	if (same_place(store, load) && s_is_own(l, load->o[4]))
		return !s_places_meet(l, st, x, false) && !s_places_meet(l, st, x, true);
	return st->known && x->known && by_number(&st->at) && same_steps(&st->at, &x->at) && st->at.fixed == x->at.fixed && !st->at.first && !x->at.first &&
	       st->at.vague == x->at.vague && !far_of(&st->at, &x->at) && store->size * store->vec == load->size * load->vec;
}

/* Does the load, by x, go round a loop within that of the store, in which nobody looks at others? */
static bool goes_round(const struct look *l, const struct access *st, const struct access *x)
{
	return l->space == SPACE_GLOBAL && !l->joined[x->block] && l->c->s->b[x->block].depth > l->c->s->b[st->block].depth;
}

/*
 * Global memory by one pointer. In step are volatile accesses and such, by lanes' numbers, where no lane can wait for another; and where lanes look at each other in
 * each round of a loop, what a leader does to what all have read, or read next.
 */
static bool global_told(struct look *l, const struct access *st, const struct access *x)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[x->pc];
	bool straight = !l->c->s->b[st->block].depth && !l->c->s->b[x->block].depth;
	bool all = l->each[st->block] && l->each[x->block] && store->guard == OPND_NONE && load->guard == OPND_NONE;

	if (l->loops)
		return false;
	/* the address is one register, but is it another number in each lane? */
	if (l->joined[st->block] && (l->joined[x->block] || goes_round(l, st, x)) && (store->guard != OPND_NONE || !l->each[st->block]) && !x->some && l->each[x->block])
		return !own_place(l, st, x) || !((st->places && x->places) || (x->known && by_number(&x->at) && !x->at.first));
	if (own_place(l, st, x))
		return false;
	return told(store) && told(load) && (straight || all) && (st->numbered || st->scattered || !l->c->s->b[st->block].depth) && store->kind == K_ST && load->kind != K_ATOM;
}

/* Does a lane store to where it loads from, as well? */
static bool changes(const struct look *l, const struct insn *load) { return !(load->o[4] & OPND_CONST) && l->stored[load->o[4]]; }

/* So far behind a lane's place by s another lane's begins that the load reads of it: fields of a structure are its own. */
static bool lands(const struct spot *s, const struct insn *store, const struct insn *load, s64 far)
{
	s64 u = s->step ? s->step : s->rows[0] ? s->rows[0] : s->rows[1], n;

	for (n = far / u - 1; n <= far / u + 1; n++)
		if (n && far - n * u > -(s64)(load->size * load->vec) && far - n * u < (s64)(store->size * store->vec))
			return true;
	return false;
}

/*
 * Strips run in their order: what a later one is to have from an earlier one's places is not there any more, the other way round it still is. Where both go by lanes'
 * numbers, in the same steps.
 */
static bool of_earlier(const struct look *l, const struct access *st, const struct access *x)
{
	const struct spot *s = &st->at, *t = &x->at;
	s64 far = far_of(s, t);

	return same_steps(s, t) && !s->vague && !t->vague && s->fixed == t->fixed && far < 0 && lands(s, &l->c->code[st->pc], &l->c->code[x->pc], far) && (s->rows[0] || s->rows[1] || far > -LANES * s->step);
}

/* Global memory, all lanes, at each one's own place by st: which one is the block's, too. Is it looked at by other lanes of the warp? before: by x before st */
static bool own_and_others(const struct look *l, const struct access *st, const struct access *x, bool before)
{
	const struct spot *s = &st->at, *t = &x->at;
	s64 far = far_of(s, t);

	if (l->c->code[st->pc].kind == K_ATOM)
		return !(x->known && st->known && by_number(s) && same_steps(s, t));
	if (!st->known || !by_number(s) || s->first)
		return false;
	if (!x->known)
		return !changes(l, &l->c->code[x->pc]);
	if (!by_number(t))
		return true;
	return before ? of_earlier(l, st, x) : same_steps(s, t) && !s->vague && !t->vague && lands(s, &l->c->code[st->pc], &l->c->code[x->pc], far) && s->step > 0 && far < LANES * s->step && far > -LANES * s->step;
}

/* Do lanes store by their numbers in ways that say nothing here, and does the load look at one place for all of them, or at one of each that is known? */
static bool somewhere(const struct access *st, const struct access *x) { return st->numbered && x->known && !x->at.first && (!by_number(&x->at) || !x->at.vague); }

/* Outside of loops, by AVX2's strips, to be in step costs little. */
static bool once(const struct look *l, const struct access *st, const struct access *x)
{
	return !l->c->s->b[st->block].depth && !l->c->s->b[x->block].depth && l->c->fn->m->e->lanes != &lanes_avx512;
}

/* Does the load, by x, look at what another lane stores by st? past: that does not come to the store. */
static bool sees(struct look *l, const struct access *st, const struct access *x, bool past)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[x->pc];
	const struct spot *s = &st->at, *t = &x->at;
	s64 far = far_of(s, t);

	if (store->kind == K_ST && load->kind == K_LD && s_places_meet(l, st, x, false))
		return true;
	if (elsewhere(l, st, x))
		return false;
	if (l->space == SPACE_GLOBAL && global_told(l, st, x))
		return true;
	if (l->space == SPACE_GLOBAL)
		return !st->some && l->some[x->block] == NO && in_view(l, st->block) && in_view(l, x->block) && own_and_others(l, st, x, false);
	/* what all count in */
	if (store->kind == K_ATOM && st->base != NOWHERE && st->base == x->base)
		return !(st->known && x->known && by_number(s) && same_steps(s, t) && !far) && (load->kind != K_ATOM || (load->o[0] != OPND_NONE && load->sub != store->sub));
	if (!st->known)
		return (st->some && past) || (!st->some && (somewhere(st, x) || (st->scattered && x->numbered && (!changes(l, load) || once(l, st, x))) ||
							    (once(l, st, x) && st->numbered && x->numbered && !own_place(l, st, x))));
	if (same_place(store, load) && s_is_own(l, load->o[4]))
		return false;
	if (x->known && s->named && t->named && s->var != t->var)
		return false;
	if (!by_number(s) || s->first)
		return st->some && past;
	/* a row or column of its own, as far as one can see */
	if (s->vague && (!x->known || !by_number(t)))
		return st->some && past;
	if (!x->known)
		return true;
	if (t->first)
		return !t->step && far >= 0 && far < s->step;
	if (!by_number(t))
		return true;
	/* what a thread has by itself it goes through in one way */
	if (!same_steps(s, t))
		return true;
	if (s->vague || t->vague)
		return !s->vague && s->step == (s64)store->size;
	if (s->rows[0] || s->rows[1])
		return lands(s, store, load, far);
	return lands(s, store, load, far) && s->step > 0 && far < 32 * s->step && far > -32 * s->step;
}

static bool by_some(struct look *l, u32 b);

/* Does a lane store, by x, over what another one has stored by st? Rows that are moved down, say, and then cleared behind their end. */
static bool covers(struct look *l, const struct access *st, const struct access *x)
{
	const struct spot *s = &st->at, *t = &x->at;

	if (l->space == SPACE_GLOBAL && !elsewhere(l, st, x) && l->c->code[st->pc].kind == K_ST && global_told(l, st, x))
		return true;
	/* all of them, both times: what some fill beside the others' part, a tile's rim, is beside it */
	if (l->c->code[st->pc].kind != K_ST || st->some || x->some || by_some(l, x->block))
		return false;
	if (l->space == SPACE_SHARED && once(l, st, x) && !(st->known && x->known) && st->numbered && x->numbered && !elsewhere(l, st, x) && !own_place(l, st, x))
		return true;
	return s_places_meet(l, st, x, false) || (l->space == SPACE_SHARED && !elsewhere(l, st, x) && st->known && x->known && by_number(s) && by_number(t) && !s->first && !t->first && !same_steps(s, t));
}

/* A walk from behind pc, in block b, to where lanes look at each other: what() is asked of each access to that memory on the way. */
static bool walk(struct look *l, u32 b, u32 pc, bool (*what)(struct look *, u32 pc, u32 block, void *), void *with)
{
	const struct jit_src *s = l->c->s;
	u32 n = 0, i, k;

	memset(l->seen, 0, s->nb);
	for (i = pc + 1;; i = s->b[b].start) {
		for (; i < s->b[b].end && !s_sync(&l->c->code[i]) && !meets_at_fence(l, i); i++) {
			const struct insn *in = &l->c->code[i];

			if (!l->left)
				return false;
			l->left--;
			if ((((reads(in) || in->kind == K_ST) && here(l, in)) || (l->fences && in->kind == K_MEMBAR)) && what(l, i, b, with))
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

static const struct access *access_at(const struct look *l, u32 pc) { return &l->of[l->at[pc] - 1]; }

static void access_of(struct look *l, u32 pc, u32 block, struct access *x)
{
	const struct insn *in = &l->c->code[pc];
	struct places places[2];

	*x = (struct access){ .pc = pc, .block = block, .some = in->guard != OPND_NONE };
	l->user = pc;
	x->known = in->imm == (s32)in->imm && s_spot_of(l, in->o[4], 2 * STEPS, &x->at);
	x->at.k += in->imm;
	/* the warp's first, and lanes' numbers: a place of each one's own, from somewhere of the warp's on */
	x->at.fixed |= x->at.first && x->at.step;
	x->at.first &= !x->at.step;
	x->numbered = in->o[4] != OPND_NONE && (in->o[4] & OPND_CONST ? s_is_own(l, in->o[4]) : l->numbered[in->o[4]]);
	x->scattered = !x->known && !x->numbered && in->o[4] != OPND_NONE && s_is_own(l, in->o[4]);
	if (!s_sync(in) && (in->kind != K_ATOM || (l->space == SPACE_GLOBAL && !l->loops)) && in->imm == (s32)in->imm && s_places_of(l, in->o[4], in->aw, in->imm, places)) {
		x->places = pool_alloc(&l->c->mem, sizeof(places));
		if (x->places)
			memcpy(x->places, places, sizeof(places));
	}
	x->base = l->space == SPACE_SHARED ? s_variable_of(l, in->o[4], in->imm) : s_pointer_of(l, in->o[4], 2 * STEPS);
}

struct stores { struct access *st; u32 n, at; };

/* In the order of the code, from a to c, which may lie before it in a loop */
static bool between(u32 a, u32 b, u32 c) { return a < c ? a < b && b < c : b > a || b < c; }

/* Loads that a store comes to: marked. */
static bool behind_store(struct look *l, u32 pc, u32 block, void *with)
{
	const struct stores *all = with;
	const struct access *st = &all->st[all->at], *x = access_at(l, pc);
	u32 k;

	if (l->c->code[pc].kind == K_ST && !l->c->whole[pc] && pc != st->pc && in_view(l, st->block) && in_view(l, block) && covers(l, st, x))
		l->c->whole[pc] = l->any = true;
	if (!reads(&l->c->code[pc]) || l->c->whole[pc] || pc == st->pc || (l->space != SPACE_SHARED && l->c->code[pc].kind == K_ATOM))
		return false;
	if (!sees(l, st, x, l->past[block]))
		return false;
	/* a thread's own numbers lie there: it stores them itself, behind that */
	for (k = 0; k < all->n && x->known && x->at.step && (st->known || !st->numbered); k++)
		if (all->st[k].known && all->st[k].at.var == x->at.var && all->st[k].at.step == x->at.step && all->st[k].at.k == x->at.k && !all->st[k].at.vague && !x->at.vague &&
		    between(st->pc, all->st[k].pc, pc))
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
	l->some[b] = n == 1 && s->b[from].end > s->b[from].start && s->code[s->b[from].end - 1].kind == K_CBRA && s_is_own(l, s->code[s->b[from].end - 1].guard) ? YES : NO;
	return l->some[b] == YES;
}

/* Does a lane store where another one has looked, or may have? */
static bool overwrites(struct look *l, const struct access *x, const struct access *st)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[x->pc];
	const struct spot *s = &st->at, *t = &x->at;
	bool all = store->guard == OPND_NONE && !by_some(l, st->block) && !by_some(l, x->block);
	s64 far = far_of(s, t);

	if (all && store->kind == K_ST && s_places_meet(l, st, x, true))
		return true;
	if (elsewhere(l, x, st))
		return false;
	if (l->space == SPACE_GLOBAL && global_told(l, st, x))
		return true;
	if (l->space == SPACE_GLOBAL)
		return all && in_view(l, st->block) && in_view(l, x->block) && own_and_others(l, st, x, true);
	if (store->kind == K_ATOM && st->base != NOWHERE && st->base == x->base)
		return !(st->known && x->known && by_number(s) && same_steps(s, t) && !far);
	if (!st->known)
		return all && (somewhere(st, x) || (st->scattered && x->numbered && (!changes(l, load) || once(l, st, x))) ||
			       (once(l, st, x) && st->numbered && x->numbered && !own_place(l, st, x)));
	/* a leader's word, looked at by all before */
	if (!by_number(s) || s->first)
		return !all && x->known && !by_number(t) && !s->vague && !t->vague && s->fixed == t->fixed && s->var == t->var && !far;
	if (s->vague || (x->known && s->named && t->named && s->var != t->var))
		return false;
	/* a pair: the lane stores to that place as well */
	if (!x->known)
		return !changes(l, load);
	if (!by_number(t))
		return t->first || t->vague || t->fixed || far >= 0;
	if (!all)
		return of_earlier(l, st, x) || (!same_steps(s, t) && !s->rows[0] != !t->rows[0]);
	return !same_steps(s, t) || t->vague || lands(s, store, load, far);
}

/* A store by all lanes to the warp's word that they have read? */
static bool warps_word(const struct look *l, const struct access *x, const struct access *st)
{
	const struct insn *in = &l->c->code[st->pc];

	return l->space == SPACE_SHARED && in->kind == K_ST && in->guard == OPND_NONE && x->known && !by_number(&x->at) && !x->at.first && l->some[st->block] == NO &&
		l->some[x->block] == NO && st->known && !by_number(&st->at) && !st->at.first && (!st->at.named || !x->at.named || st->at.var == x->at.var) &&
		(st->at.vague || st->at.fixed || x->at.vague || x->at.fixed || st->at.k == x->at.k);
}

#define MOST_NEXT 32u

/* What is stored behind a load, as far as it may be to the same memory */
struct next { const struct access *x, *st[MOST_NEXT]; u32 n; };

static bool behind_load(struct look *l, u32 pc, u32 block, void *with)
{
	struct next *next = with;
	const struct access *st = next->st[next->n] = access_at(l, pc);

	(void)block;
	if (!writes(l, &l->c->code[pc]) || pc == next->x->pc)
		return false;
	if ((elsewhere(l, next->x, st) && !(st->places && next->x->places)) || (same_place(&l->c->code[pc], &l->c->code[next->x->pc]) && l->c->code[pc].kind != K_ATOM && s_is_own(l, l->c->code[pc].o[4])))
		return false;
	return ++next->n == MOST_NEXT;
}

/*
 * Stores to where the load, by x, has looked: done by all lanes at once, so that all have been at the load that come to it, and so is the load where that cannot be
 * said of a store.
 */
static void stored_next(struct look *l, const struct access *x)
{
	struct scomp *c = l->c;
	struct next next = { .x = x };
	u32 i;

	walk(l, x->block, x->pc, behind_load, &next);
	by_some(l, x->block);
	for (i = 0; i < next.n; i++) {
		const struct access *st = next.st[i];

		by_some(l, st->block);
		if (warps_word(l, x, st))
			l->any |= c->whole[x->pc] = true;
		else if (overwrites(l, x, st))
			l->any |= c->whole[c->code[st->pc].guard == OPND_NONE && (c->code[st->pc].kind == K_ST || l->space == SPACE_SHARED) ? st->pc : x->pc] = true;
	}
}

/* ---- fences ------------------------------------------------------------------------------------- */

struct behind { u32 pc[MOST], n; };

/* May a lane look by one of them where another one stores by the other? */
static bool exchange(struct look *l, const struct access *x, const struct access *y)
{
	bool first = writes(l, &l->c->code[x->pc]) && l->c->code[x->pc].kind == K_ST;
	const struct access *st = first ? x : y, *ld = first ? y : x;

	if (l->c->code[st->pc].kind != K_ST || l->c->code[ld->pc].kind != K_LD || elsewhere(l, st, ld) || own_place(l, st, ld))
		return false;
	if (l->space == SPACE_SHARED && st->known && ld->known && st->at.named && ld->at.named && st->at.var != ld->at.var)
		return false;
	/* that places of lanes do not meet with one number of those that are not known says nothing */
	return true;
}

static bool gather(struct look *l, u32 pc, u32 block, void *with)
{
	struct behind *to = with;

	(void)block;
	if (l->c->code[pc].kind != K_MEMBAR && l->c->code[pc].kind != K_ATOM)
		to->pc[to->n++] = pc;
	return to->n == MOST;
}

struct fence { const struct access *x; struct behind *behind; };

/* A fence that x comes to: what is behind it? */
static bool to_fence(struct look *l, u32 pc, u32 block, void *with)
{
	const struct fence *f = with;
	u32 i;

	if (l->c->code[pc].kind != K_MEMBAR || l->c->code[pc].guard != OPND_NONE || !l->each[block])
		return false;
	for (i = 0; i < f->behind[l->at[pc]].n; i++)
		if (exchange(l, f->x, access_at(l, f->behind[l->at[pc]].pc[i]))) {
			l->any |= l->c->whole[pc] = true;
			return true;
		}
	return false;
}

/* What is stored behind a load that is behind a fence: by all, when all have looked. */
static bool over_load(struct look *l, u32 pc, u32 block, void *with)
{
	const struct access *x = with, *st = access_at(l, pc);

	if (l->c->code[pc].kind != K_ST || s_sync(&l->c->code[pc]) || !exchange(l, x, st))
		return false;
	l->c->whole[l->c->code[pc].guard == OPND_NONE && l->each[block] ? pc : x->pc] = true;
	return false;
}

/* Fences at which strips meet, and what is stored behind them. false: no memory */
static bool fences(struct look *l, u32 n)
{
	const struct jit_src *s = l->c->s;
	struct behind *behind;
	u32 b, i, k, many = 0;

	for (i = 0; i < l->c->n; i++)
		many += l->c->code[i].kind == K_MEMBAR && l->c->code[i].guard == OPND_NONE;
	if (!many || many > MOST || n > MOST * 2)
		return true;
	behind = pool_alloc(&l->c->mem, (many + 1) * sizeof(*behind));
	if (!behind)
		return false;
	l->fences = false;
	for (b = 0, many = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++)
			if (l->c->code[i].kind == K_MEMBAR && l->c->code[i].guard == OPND_NONE) {
				l->at[i] = ++many;
				if (l->each[b])
					walk(l, b, i, gather, &behind[many]);
			}
	l->fences = true;
	for (k = 0; k < n; k++) {
		struct fence f = { &l->of[k], behind };

		if (!s_sync(&l->c->code[l->of[k].pc]))
			while (walk(l, l->of[k].block, l->of[k].pc, to_fence, &f))
				;
	}
	l->fences = false;
	for (b = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++)
			for (k = 0; meets_at_fence(l, i) && k < behind[l->at[i]].n; k++) {
				struct access *x = (struct access *)access_at(l, behind[l->at[i]].pc[k]);

				if (l->c->code[x->pc].kind == K_LD && !s_sync(&l->c->code[x->pc]))
					walk(l, x->block, x->pc, over_load, x);
			}
	return true;
}

/* Is anything stored and looked at by one pointer, or by numbers? */
static bool any_pair(const struct look *l, u32 n)
{
	u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; writes(l, &l->c->code[l->of[i].pc]) && k < n; k++)
			if (k != i && (!elsewhere(l, &l->of[i], &l->of[k]) || (l->of[i].places && l->of[k].places)))
				return true;
	return false;
}

/* Looks at one kind of memory. false: no memory */
static bool look(struct look *l)
{
	const struct jit_src *s = l->c->s;
	struct scomp *c = l->c;
	struct stores all = { 0 };
	u32 b, i, n = 0;

	for (i = 0; i < c->n; i++) {
		all.n += writes(l, &c->code[i]);
		n += (reads(&c->code[i]) || c->code[i].kind == K_ST) && here(l, &c->code[i]);
	}
	if (!all.n || (l->space != SPACE_SHARED && s->nb > (l->loops ? MOST_GLOBAL : MOST_IN_LOOP)))
		return true;
	all.st = pool_alloc(&c->mem, all.n * sizeof(*all.st));
	l->of = pool_alloc(&c->mem, n * sizeof(*l->of));
	if (!all.st || !l->of)
		return false;
	memset(l->stored, 0, s->nregs + 1);
	for (b = 0, n = 0, all.n = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if ((!reads(in) && in->kind != K_ST) || !here(l, in))
				continue;
			access_of(l, i, b, &l->of[n]);
			l->at[i] = ++n;
			if (!writes(l, in))
				continue;
			if (!(in->o[4] & OPND_CONST))
				l->stored[in->o[4]] = 1;
			if (in_view(l, b) || l->of[n - 1].places || told(in))
				all.st[all.n++] = l->of[n - 1];
		}
	if (l->space != SPACE_SHARED && !any_pair(l, n))
		return true;
	for (b = 0; b < s->nb && (l->space != SPACE_SHARED || l->fenced); b++)
		by_some(l, b);
	if (l->fenced && !fences(l, n))
		return false;
	for (all.at = 0; all.at < all.n; all.at++) {
		struct access *st = &all.st[all.at];

		if (s->nb <= MOST_IN_LOOP && !st->some) {
			st->some = passed(l, st->block);
		} else {
			by_some(l, st->block);
			l->past_of = NO_PC;
			memset(l->past, st->some, s->nb);
		}
		if (l->space == SPACE_SHARED || st->base != NOWHERE || st->places)
			walk(l, st->block, st->pc, behind_store, &all);
	}
	for (b = 0; all.n && b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if (in->kind != K_LD || !here(l, in) || s_sync(in) || !(in_view(l, b) || access_at(l, i)->places || told(in)))
				continue;
			/* all have been there where all come to it */
			if (c->whole[i] && in->guard == OPND_NONE && !by_some(l, b))
				continue;
			if (l->space == SPACE_SHARED || access_at(l, i)->base != NOWHERE || access_at(l, i)->places)
				stored_next(l, access_at(l, i));
		}
	return true;
}

/* Blocks of loops, the innermost ones, in which lanes look at each other. A loop's blocks lie in one piece. */
static void find_joined(struct look *l)
{
	const struct jit_src *s = l->c->s;
	u32 b, h, i, k;
	bool any;

	for (b = 0; b < s->nb; b++)
		for (i = 0; i < s->b[b].nsucc; i++) {
			h = s->b[b].succ[i];
			if (h > b)
				continue;
			for (k = h, any = false; k <= b; k++)
				any |= l->stops[k];
			for (k = h; any && k <= b; k++)
				l->joined[k] |= s->b[k].depth == s->b[h].depth;
		}
}

/*
 * Numbers that all lanes of a warp take from one counter in global memory are numbers in a row, in the order of lanes (Capellini's and others' tasks for a warp): one
 * strip's would have other warps' between them. For AVX2: the other code does all lanes of a warp one behind the other.
 */
static void tickets(struct look *l)
{
	const struct jit_src *s = l->c->s;
	struct scomp *c = l->c;
	u32 b, i;

	for (b = 0; b < s->nb && s->nb <= MOST_IN_LOOP; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			const struct insn *in = &c->code[i];

			if (in->kind == K_ATOM && in->space == SPACE_GLOBAL && in->guard == OPND_NONE && in->o[0] != OPND_NONE && in->size >= 4 && in->sub != ATOM_CAS &&
			    in->sub != ATOM_EXCH && !type_is_float(in->type) && in->o[4] != OPND_NONE && !s_is_own(l, in->o[4]) && l->each[b] && !by_some(l, b))
				c->whole[i] = true;
		}
}

bool s_neighbours(struct scomp *c, const u32 *def, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	struct look l = { .c = c, .def = def, .own = pool_alloc(&c->mem, s->nregs + 1), .numbered = pool_alloc(&c->mem, s->nregs + 1), .stored = pool_alloc(&c->mem, s->nregs + 1),
			  .seen = seen, .past = seen + s->nb, .other = pool_alloc(&c->mem, s->nb + 1), .some = pool_alloc(&c->mem, s->nb + 1),
			  .stops = pool_alloc(&c->mem, s->nb + 1), .joined = pool_alloc(&c->mem, s->nb + 1), .each = pool_alloc(&c->mem, s->nb + 1), .at = pool_alloc(&c->mem, (c->n + 1) * sizeof(u32)), .stack = stack, .left = MOST_STEPS, .several = MOST_SEVERAL, .past_of = NO_PC };
	u32 b, i;

	if (!l.own || !l.numbered || !l.stored || !l.other || !l.some || !l.stops || !l.joined || !l.each || !l.at)
		return false;
	s_find_own(&l);
	for (b = 0; b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			l.stops[b] |= s_sync(&c->code[i]);
			l.fenced |= c->code[i].kind == K_MEMBAR && c->fn->m->e->lanes != &lanes_avx512;
		}
	find_joined(&l);
	for (b = 0; b < s->nb && s->nb <= MOST_IN_LOOP; b++)
		find_each(&l, b);
	if (c->fn->m->e->lanes != &lanes_avx512)
		tickets(&l);
	l.space = SPACE_SHARED;
	l.loops = true;
	if (!look(&l))
		return false;
	l.space = SPACE_GLOBAL;
	l.loops = c->fn->m->e->lanes == &lanes_avx512;
	if (!look(&l))
		return false;
	/* AVX-512's other code keeps a warp in step, in loops too, whose rounds it would have to end in one place for strips (latch.c) */
	return !l.any || c->fn->m->e->lanes != &lanes_avx512;
}
