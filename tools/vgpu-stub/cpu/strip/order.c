/* SPDX-License-Identifier: MIT */
/*
 * Stores to shared memory that are done by all lanes of a warp at once. Strips run ahead of one another, a warp of the hardware does not:
 * where a thread's second store overwrites what another thread's first one left (ggml's quantization of Q for flash attention:
 * lanes that have nothing to store store it where others put the scales next), the first has to be everybody's before the second
 * is anybody's. So a store is such a place itself, if another one to the same variable that not all lanes come to may follow before
 * lanes look at each other; but not in code that some lanes alone come to, or where columns of their own are stored. Loops are left alone: what fills a tile there
 * would pay for it, and hardware orders no more than this either.
 *
 * So is a load of one word by all lanes, in loops too, if some of them may write it next: a leader that hands out work says so by a word of shared memory, all look at
 * it behind the barrier, and the leader writes the next one there while others have not come to a barrier (transposition in place by cycles, queues of tasks).
 *
 * And so are loads of what other lanes of the warp have stored: neighbours.c.
 *
 * Loads of global memory are such places in kernels of one warp a block that have nothing else to keep it in step (SPEC_STEP).
 *
 * Out: scomp.whole and scomp.strict, a byte for each instruction. Before blocks are made.
 */
#include "order.h"

enum { IN_LOOP = 1, FREE = 2 };

/* Where an address begins: the constant in the sum that it is. */
static u64 root(const struct scomp *c, const u32 *def, u32 o, u32 steps)
{
	const struct insn *in;
	struct sval v;
	u64 a;
	u32 k;

	if (o != OPND_NONE && (o & OPND_CONST)) {
		v = s_val(c, o, 0);
		return v.known ? (u32)v.k : NOWHERE;
	}
	in = definition(c, def, o);
	if (!in || !steps)
		return NOWHERE;
	if (in->kind == K_LADDR)
		return (u64)in->imm;
	if (in->kind != K_LANE || (in->lop != LOP_ADD && in->lop != LOP_MOV && in->lop != LOP_MAD && in->lop != LOP_CVT_SEXT))
		return NOWHERE;
	for (k = in->lop == LOP_MAD ? 3 : 1; k <= (in->lop == LOP_MAD ? 3u : in->lop == LOP_ADD ? 2u : 1u); k++) {
		a = root(c, def, in->o[k], steps - 1);
		if (a != NOWHERE)
			return a;
	}
	return NOWHERE;
}

/* Where in shared memory an access of all threads is; NOWHERE: not known, or not the same for all. */
static u64 place(const struct scomp *c, const u32 *def, const struct insn *in)
{
	const struct insn *from = definition(c, def, in->o[4]);
	u32 o = from && from->kind == K_LANE && from->lop == LOP_MOV ? from->o[1] : in->o[4];
	struct sval v;

	if (o == OPND_NONE || !(o & OPND_CONST))
		return NOWHERE;
	v = s_val(c, o, 0);
	return v.known ? (u32)((u32)v.k + (u64)in->imm) : NOWHERE;
}

/* Is there a way from block b to where lanes look at each other, or to an end, that does not lead through `past`? */
static bool avoids(const struct scomp *c, u32 b, u32 past, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u32 n = 0, i;

	memset(seen, 0, s->nb);
	for (stack[n++] = b; n;) {
		const struct jblock *x = &s->b[stack[--n]];

		for (i = x->start; i < x->end && (x == &s->b[b] || !s_sync(&c->code[i])); i++)
			;
		if (i < x->end || !x->nsucc)
			return true;
		for (i = 0; i < x->nsucc; i++)
			if (x->succ[i] != past && !seen[x->succ[i]]) {
				seen[x->succ[i]] = 1;
				stack[n++] = x->succ[i];
			}
	}
	return false;
}

/* May in write there, where mine is the root of a store, or, at, the one place of a load? */
static bool meets(const struct scomp *c, const u32 *def, const struct insn *in, u64 mine, u64 at)
{
	u64 a = root(c, def, in->o[4], STEPS), p;

	if (at == NOWHERE)
		return a == NOWHERE || mine == NOWHERE || a == mine;
	p = place(c, def, in);
	return (p == NOWHERE ? a : p) == at;
}

/* An address as far as threads' numbers make it: a variable's, + by[] times tid.x, .y and .z, + k. */
struct affine {
	u64 var;
	s64 by[3], k;
	bool named;
};

static bool affine_of(const struct scomp *c, const u32 *def, u32 o, u32 steps, struct affine *a);

static bool affine_plus(const struct scomp *c, const u32 *def, u32 o, s64 times, u32 steps, struct affine *a)
{
	struct affine b;
	u32 i;

	if (!affine_of(c, def, o, steps, &b) || (b.named && (a->named || times != 1)))
		return false;
	for (i = 0; i < 3; i++)
		a->by[i] += times * b.by[i];
	a->k += times * b.k;
	a->var += b.var;
	a->named |= b.named;
	return true;
}

static bool known_factor(const struct scomp *c, u32 o, bool shift, s64 *f)
{
	struct sval v = s_val(c, o, 0);

	*f = shift ? 1ll << (v.k & 31) : (s64)(s32)(u32)v.k;
	return o != OPND_NONE && (o & OPND_CONST) && v.known && (s32)*f == *f;
}

static bool affine_of(const struct scomp *c, const u32 *def, u32 o, u32 steps, struct affine *a)
{
	const struct insn *in;
	struct sval v;
	s64 f = 1;
	u8 sr;

	memset(a, 0, sizeof(*a));
	if (o == OPND_NONE || !steps)
		return false;
	if (o & OPND_CONST) {
		v = s_val(c, o, 0);
		a->k = (s32)(u32)v.k;
		return v.known;
	}
	in = definition(c, def, o);
	if (!in)
		return false;
	if (in->kind == K_SREG && (sr = spec_sreg(c->spec, in->sub)) <= SR_TID_Z) {
		a->by[sr - SR_TID_X] = 1;
		return true;
	}
	if (in->kind == K_LADDR || (in->kind == K_SREG && in->sub == SR_DYNAMIC_SMEM)) {
		a->var = in->kind == K_LADDR ? (u64)in->imm : NOWHERE;
		return a->named = true;
	}
	if (in->kind != K_LANE || type_is_float(in->type))
		return false;
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT: case LOP_CVT_TRUNC:
		return affine_plus(c, def, in->o[1], 1, steps - 1, a);
	case LOP_ADD: case LOP_SUB:
		return affine_plus(c, def, in->o[1], 1, steps - 1, a) && affine_plus(c, def, in->o[2], in->lop == LOP_ADD ? 1 : -1, steps - 1, a);
	case LOP_SHL: case LOP_MUL: case LOP_MULWIDE:
		return known_factor(c, in->o[2], in->lop == LOP_SHL, &f) && affine_plus(c, def, in->o[1], f, steps - 1, a);
	case LOP_MAD: case LOP_MADWIDE:
		return known_factor(c, in->o[2], false, &f) && affine_plus(c, def, in->o[1], f, steps - 1, a) && affine_plus(c, def, in->o[3], 1, steps - 1, a);
	default:
		return false;
	}
}

/*
 * Is no lane's place by one store any other strip's by the other, in the same warp? A tile's border is stored behind its middle, by the threads at its sides, into columns of
 * its own. In what shapes lanes have which numbers, beside what a warp has for all of them: jit_spec().
 */
static bool stores_apart(const struct scomp *c, const u32 *def, const struct insn *x, const struct insn *y)
{
	u32 shape = c->spec & 255, wide = shape == SPEC_POW2 ? 1u << spec_log2(c->spec) : LANES, l, m, w, warps;
	struct affine a, b;

	if ((shape != SPEC_LINEAR && shape != SPEC_LINE && shape != SPEC_POW2) || !affine_of(c, def, x->o[4], 2 * STEPS, &a) || !affine_of(c, def, y->o[4], 2 * STEPS, &b) ||
	    a.var != b.var || a.named != b.named)
		return false;
	/* of a warp's lanes: which warp it is says where x, or y of short rows, begins; the others are to count as much for both */
	if (a.by[2] != b.by[2] || (shape == SPEC_LINEAR && a.by[1] != b.by[1]))
		return false;
	warps = a.by[0] == b.by[0] && a.by[1] == b.by[1] ? 1 : 1024 / LANES;
	for (w = 0; w < warps; w++)
		for (l = 0; l < LANES; l++)
			for (m = 0; m < LANES; m++) {
				u32 x0 = shape == SPEC_POW2 ? 0 : LANES * w, y0 = shape == SPEC_POW2 ? LANES / wide * w : 0;
				s64 p = a.by[0] * (s64)(x0 + l % wide) + a.by[1] * (s64)(y0 + l / wide) + a.k + x->imm;
				s64 q = b.by[0] * (s64)(x0 + m % wide) + b.by[1] * (s64)(y0 + m / wide) + b.k + y->imm;

				if (l / STRIP != m / STRIP && p < q + y->size * y->vec && q < p + x->size * x->vec)
					return false;
			}
	return true;
}

/* Marks what is reached from block b, but for what lies behind `past`. */
static void reached(const struct jit_src *s, u32 b, u32 past, u8 *seen, u32 *stack)
{
	u32 n = 0, i;

	memset(seen, 0, s->nb);
	for (stack[n++] = b; n;) {
		const struct jblock *x = &s->b[stack[--n]];

		for (i = 0; i < x->nsucc; i++)
			if (x->succ[i] != past && !seen[x->succ[i]]) {
				seen[x->succ[i]] = 1;
				stack[n++] = x->succ[i];
			}
	}
}

/* Is o, by what makes it, a lane's own: of its number in the block's rows, and nothing that is not known? */
static bool of_lanes(const struct scomp *c, const u32 *def, u32 o, u32 steps, bool *any)
{
	const struct insn *in;
	u32 k, shape = c->spec & 255;

	if (o == OPND_NONE || (o & OPND_CONST))
		return true;
	in = definition(c, def, o);
	if (!in || !steps || in->guard != OPND_NONE)
		return false;
	switch ((enum kind)in->kind) {
	case K_SREG:
		k = spec_sreg(c->spec, in->sub);
		*any |= k == SR_TID_X || k == SR_LANEID || (k == SR_TID_Y && shape == SPEC_POW2);
		return k <= SR_CTAID_Z || k == SR_LANEID;
	case K_LANE: case K_SETP: case K_PRED: case K_CVT: case K_LOP3:
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && !of_lanes(c, def, in->o[k], steps - 1, any))
				return false;
		return true;
	default:
		return in->kind == K_LDPARAM;
	}
}

/* Is there a way past block b, from a branch at which a warp's lanes part by their numbers, to what lies behind it? An early end is none. */
static bool conditional(const struct scomp *c, const u32 *def, u32 b, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u8 *behind = seen + s->nb;
	u32 p, i;

	if (s->nb > MOST_IN_LOOP)
		return false;
	reached(s, b, b, behind, stack);
	for (p = 0; p < s->nb; p++) {
		const struct insn *in = s->b[p].end > s->b[p].start ? &s->code[s->b[p].end - 1] : NULL;

		bool own = false;

		if (!in || p == b || in->kind != K_CBRA || in->guard == OPND_NONE || !of_lanes(c, def, in->guard, 2 * STEPS, &own) || !own)
			continue;
		reached(s, p, s->nb, seen, stack);
		if (!seen[b])
			continue;
		reached(s, p, b, seen, stack);
		for (i = 0; i < s->nb; i++)
			if (seen[i] && behind[i] && s->b[i].end > s->b[i].start && s->code[s->b[i].start].kind != K_RET && s->code[s->b[i].start].kind != K_EXIT)
				return true;
	}
	return false;
}

/* The same, found out once: some is below 0 before. */
static bool parts(const struct scomp *c, const u32 *def, u32 b, u8 *seen, u32 *stack, int *some)
{
	if (*some < 0)
		*some = conditional(c, def, b, seen, stack);
	return *some;
}

/*
 * May a store to the same variable, that not all lanes come to, follow pc, in block b, before lanes look at each other? at: pc is a load of this place. seen and
 * stack are for two.
 */
static bool another(const struct scomp *c, const u32 *def, u32 b, u32 pc, u64 mine, u64 at, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u32 n = 0, first = b, i, k;

	memset(seen, 0, s->nb);
	for (i = pc + 1;; i = s->b[b].start) {
		for (; i < s->b[b].end && !s_sync(&c->code[i]); i++) {
			const struct insn *in = &c->code[i];

			if (i == pc || !(candidate(in) || (at != NOWHERE && in->kind == K_ATOM && in->space == SPACE_SHARED)) || !meets(c, def, in, mine, at))
				continue;
			if (at != NOWHERE && in->guard != OPND_NONE)
				return true;
			if (b != first && avoids(c, first, b, seen + s->nb, stack + s->nb) && !(at == NOWHERE && stores_apart(c, def, &c->code[pc], in)))
				return true;
		}
		if (i == s->b[b].end)
			for (k = 0; k < s->b[b].nsucc; k++)
				if (!seen[s->b[b].succ[k]]) {
					seen[s->b[b].succ[k]] = 1;
					stack[n++] = s->b[b].succ[k];
				}
		if (!n)
			return false;
		b = stack[--n];
	}
}

/* Is there a way from the loop's beginning h to its last block that is not through `past`? */
static bool passes_by(const struct jit_src *s, u32 h, u32 last, u32 past, const u8 *in, u8 *seen, u32 *stack)
{
	u32 n = 0, i;

	memset(seen, 0, s->nb);
	if (h == past)
		return false;
	for (stack[n++] = h; n;) {
		const struct jblock *x = &s->b[stack[--n]];

		for (i = 0; i < x->nsucc; i++) {
			u32 to = x->succ[i];

			if (to == last)
				return true;
			if (to != h && to != past && (in[to] & IN_LOOP) && !seen[to]) {
				seen[to] = 1;
				stack[n++] = to;
			}
		}
	}
	return false;
}

static u32 last_sync(const struct scomp *c, u32 b)
{
	const struct jblock *x = &c->s->b[b];
	u32 i;

	for (i = x->end; i-- > x->start;)
		if (s_sync_at(c, i))
			return i;
	return NO_PC;
}

/*
 * A round of a loop ends in block `last`. Where some lanes stop in it, for something that a warp does together or for what others do first, a strip that
 * does not come there would stop next in its next round, before them in code: the lowest run first, and that would be those that are a round ahead.
 * So would a strip that goes round a loop within it less often than others.
 */
static bool rounds_part(const struct scomp *c, u32 h, u32 last, u8 *in, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u32 n = 0, b, i;

	memset(in, 0, s->nb);
	/* the loop, by its blocks' numbers: it lies in one piece */
	for (b = h; b <= last; b++)
		in[b] = IN_LOOP;
	/* where nobody stops any more before the end */
	if (last_sync(c, last) != NO_PC)
		return false;
	in[last] |= FREE;
	for (stack[n++] = last; n;) {
		u32 to = stack[--n];

		for (b = h; b < last; b++) {
			const struct jblock *x = &s->b[b];

			for (i = 0; i < x->nsucc && x->succ[i] != to; i++)
				;
			if (i == x->nsucc || (in[b] & FREE))
				continue;
			in[b] |= FREE;
			if (last_sync(c, b) == NO_PC)
				stack[n++] = b;
		}
	}
	for (b = h; b < last; b++)
		if ((in[b] & FREE) && last_sync(c, b) != NO_PC &&
		    (s->b[b].depth > s->b[h].depth || (b > h && passes_by(s, h, last, b, in, seen, stack))))
			return true;
	return false;
}

/* Are there places in the loop where what lanes wait for is the others' memory, and behind them no barrier in each round, which keeps them together? */
static bool ordered(const struct scomp *c, u32 h, u32 last, u8 *in, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u32 b, i, any = 0;

	memset(in, 0, s->nb);
	for (b = h; b <= last; b++) {
		in[b] = IN_LOOP;
		for (i = s->b[b].start; i < s->b[b].end; i++) {
			u8 kind = c->code[i].kind;

			if (kind == K_LATER || ((kind == K_LD || kind == K_ST) && s_sync_at(c, i)))
				any = i + 1;
		}
	}
	for (b = h; any && b <= last; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++)
			if (i >= any && c->code[i].kind == K_BAR && c->code[i].guard == OPND_NONE && (b == last || !passes_by(s, h, last, b, in, seen, stack)))
				return false;
	return any;
}

static bool shared_atomic(const struct insn *in)
{
	return in->kind == K_ATOM && (in->space == SPACE_SHARED || in->space == SPACE_GENERIC);
}

/* Is it asked in blocks h to b who is here, with nobody named, or, in_turn, is shared memory looked at as lanes in step do? */
static bool asks(const struct scomp *c, u32 h, u32 b, bool in_turn)
{
	u32 k;

	for (k = c->s->b[h].start; k < c->s->b[b].end; k++)
		if (jit_asks(&c->code[k]) || (in_turn && s_looks(&c->code[k])))
			return true;
	return false;
}

#define MOST_SCANS 64u          /* over a loop's code, for what names come from */
#define MOST_CHAIN 8u

/* Is register o another one in each round of the loop [from, to), by arithmetic? What votes make of lanes is told to all that vote. */
static bool by_round(const struct scomp *c, u32 from, u32 to, u32 o, u32 depth, u32 *scans)
{
	bool inside = false, outside = false;
	u32 i, k;

	if (o == OPND_NONE || (o & OPND_CONST) || depth > MOST_CHAIN || ++*scans > MOST_SCANS)
		return false;
	for (i = 0; i < c->n; i++)
		for (k = 0; k < 6; k++)
			if ((c->code[i].def >> k & 1) && c->code[i].o[k] == o) {
				inside |= i >= from && i < to;
				outside |= i < from || i >= to;
			}
	if (!inside || outside)
		return inside;
	for (i = from; i < to; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6 && !((in->def >> k & 1) && in->o[k] == o); k++)
			;
		if (k == 6)
			continue;
		if (in->kind == K_LD)
			return true;
		if (in->kind == K_LANE || in->kind == K_LOP3 || in->kind == K_CVT)
			for (k = 0; k < 6; k++)
				if ((in->use >> k & 1) && by_round(c, from, to, in->o[k], depth + 1, scans))
					return true;
	}
	return false;
}

/* Do lanes name others, in blocks h to b, who are not the same in each round? Who is not named passes by, and would be a round ahead when it is. */
static bool names(const struct scomp *c, u32 h, u32 b)
{
	u32 from = c->s->b[h].start, to = c->s->b[b].end, scans = 0, k;

	for (k = from; k < to; k++)
		if (jit_named(&c->code[k]) && s_sync(&c->code[k]) && !jit_names_stay(c->s, c->code[k].o[2]) && by_round(c, from, to, c->code[k].o[2], 0, &scans))
			return true;
	return false;
}

/*
 * Loops that lanes go round in step: strips meet at the ends of rounds that they part in, and no branch is guessed to be all lanes' (guess.c), since a
 * strip for which that is wrong stops there, and others a round later. Atomics come in their order, too. So it is in a loop in which lanes
 * ask who is here: hardware has all of them there that have come back. There they meet after each round: a strip for which something else was not as
 * guessed stops where that is, and others would ask next in their next round. Nor do those that a round's names pass over get ahead.
 */
static bool in_rounds(struct scomp *c, u8 *seen, u32 *stack)
{
	const struct jit_src *s = c->s;
	u32 b, i, k, h;
	bool in_turn, asked;

	for (b = 0; b < s->nb && s->nb <= S_MAX_BLOCKS; b++)
		for (i = 0; i < s->b[b].nsucc; i++) {
			h = s->b[b].succ[i];
			if (h > b || (i && s->b[b].succ[0] == h))
				continue;
			in_turn = b - h <= MOST_IN_LOOP && ordered(c, h, b, seen, seen + s->nb, stack);
			asked = asks(c, h, b, in_turn) || names(c, h, b);
			if (!in_turn && !asked)
				continue;
			memset(c->strict + s->b[h].start, 1, s->b[b].end - s->b[h].start);
			for (k = s->b[h].start; in_turn && k < s->b[b].end; k++)
				c->whole[k] |= shared_atomic(&c->code[k]);
			if (h == b || !(asked || rounds_part(c, h, b, seen, seen + s->nb, stack)))
				continue;
			k = s->b[b].start;
			if (c->code[k].kind == K_NOP && (c->code[k].flags & INF_MEET))
				c->whole[k] = true;
			else if (asked && c->fn->m->e->lanes == &lanes_avx512)
				return false;           /* has no such place, and better code */
		}
	return true;
}

bool s_order(struct scomp *c)
{
	const struct jit_src *s = c->s;
	u32 *def = pool_alloc(&c->mem, (s->nregs + 1) * sizeof(*def)), *stack = pool_alloc(&c->mem, 2 * (s->nb + 1) * sizeof(*stack));
	u8 *seen = pool_alloc(&c->mem, 2 * (s->nb + 1));
	u32 b, i, k, stores = 0, loads = 0;
	u64 at;

	c->whole = pool_alloc(&c->mem, c->n + 1);
	c->strict = pool_alloc(&c->mem, c->n + 1);
	if (!def || !stack || !seen || !c->whole || !c->strict)
		return false;
	for (i = 0; i < s->nregs; i++)
		def[i] = NO_PC;
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];

		stores += candidate(in);
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				def[in->o[k]] = def[in->o[k]] == NO_PC && in->guard == OPND_NONE ? i : NO_PC - 1;
	}
	for (b = 0; (c->spec & SPEC_STEP) && b < s->nb; b++)
		for (i = s->b[b].start; i < s->b[b].end; i++)
			c->whole[i] = s->b[b].depth && c->code[i].kind == K_LD && (c->code[i].space == SPACE_GLOBAL || c->code[i].space == SPACE_GENERIC);
	for (b = 0; b < s->nb; b++) {
		int some = -1;          /* do not all lanes come to it? Not asked yet */

		for (i = s->b[b].start; i < s->b[b].end; i++) {
			struct insn *in = &c->code[i];
			struct sval named;

			if (in->kind == K_WARPSYNC && in->guard == OPND_NONE && in->o[2] != OPND_NONE && (in->o[2] & OPND_CONST) && !in->sub2) {
				named = s_val(c, in->o[2], 0);
				in->sub2 = named.cls == SC_SCALAR && !named.pat && !named.known && parts(c, def, b, seen, stack, &some) ? SHFL_WITHIN : 0;
			}
			if (in->guard != OPND_NONE || s_sync(in))
				continue;
			if (candidate(in) && !s->b[b].depth && stores >= 2 && stores <= MOST && !parts(c, def, b, seen, stack, &some))
				c->whole[i] = another(c, def, b, i, root(c, def, in->o[4], STEPS), NOWHERE, seen, stack);
			if (in->kind != K_LD || in->space != SPACE_SHARED || in->vec != 1 || loads >= MOST || (at = place(c, def, in)) == NOWHERE ||
			    parts(c, def, b, seen, stack, &some))
				continue;
			loads++;
			c->whole[i] = another(c, def, b, i, NOWHERE, at, seen, stack);
		}
	}
	if (!s_neighbours(c, def, seen, stack))
		return false;
	/* once each, among volatile stores: in their order */
	for (i = 0, k = 0; i < c->n; i++)
		k |= c->code[i].kind == K_ST && s_sync(&c->code[i]);
	for (b = 0; k && b < s->nb; b++)
		for (i = s->b[b].start; !s->b[b].depth && i < s->b[b].end; i++)
			c->whole[i] |= shared_atomic(&c->code[i]);
	return in_rounds(c, seen, stack);
}
