/* SPDX-License-Identifier: MIT */
/*
 * What a loop makes anew in each round, and always the same, is made before it. Compilers for GPUs leave it in the loop, next to where it is
 * wanted, for registers are dear there and NVIDIA's assembler moves it: an index that is widened and scaled for an address, a row's number
 * times a pitch.
 *
 *      LOOP: mul.wide d, i, 4                     mul.wide d, i, 4
 *            add a, p, d              ==>   LOOP: add a, p, d
 *            ...                                  ...
 *            @q bra LOOP                          @q bra LOOP
 *
 * Whole numbers alone, and those that are one scalar for a warp or a scalar and a pattern (what threads' numbers, parameters and constants make): these cost a
 * general register or a word, where a vector that is alive all through a loop would push another out of its register. What is made of what was loaded
 * stays beside it, where it is known to be an index, bounded or a half of something.
 *
 * In: blocks and their edges; registers not yet slots. Out: the same; what is made before a loop stands at the end of the block that leads to it, or in a
 * new one. A register that has one definition has it early; a lane that comes to the loop and never to the definition has
 * what it would have had there, where PTX promises nothing.
 *
 * Called by cfg.c for kernels, behind values.c, with blocks in order.
 */
#include <string.h>

#include "cfg.h"
#include "lanes.h"

#define LOOP_LONGEST 2048u      /* instructions */
#define LOOPS_MOST 64u          /* a kernel */
#define BLOCKS_MOST 256u        /* a loop */
#define MOVED_MOST 24u          /* out of one loop */
#define ROUNDS_MOST 16u         /* over the code, until it is known what registers hold */

enum { FRESH, SAME, PATTERN, VARIES };  /* what a register holds, as far as is known: nothing; one number for a warp; a scalar and a pattern; anything */

struct invariants {
	struct cfg *g;
	struct comp *c;
	u32 *pred, *first;      /* pred[first[b]..first[b + 1]]: blocks before b */
	u32 *list, n;           /* the loop's blocks, its beginning first */
	u8 *in;                 /* by block: it is in the loop */
	u8 *kind;               /* by register */
	u8 *defs;               /* by register: definitions, 2 and more are 2 */
	u8 *made;               /* by register: in the loop */
	u32 moved[MOVED_MOST], nmoved;
	u32 spare;              /* blocks that there is room for */
};

/* ---- what registers hold ------------------------------------------------------------------------------- */

static u8 of_operand(const struct invariants *v, u32 o) { return o == OPND_NONE || (o & OPND_CONST) ? SAME : v->kind[o]; }

static bool number(const struct invariants *v, u32 o) { return o != OPND_NONE && (o & OPND_CONST) && konst_at(v->c, o); }

static bool whole(const struct insn *in) { return in->type >= T_B8 && in->type <= T_S64 && !in->mxcsr; }

static u8 of_lane(const struct invariants *v, const struct insn *in)
{
	u32 k, most = SAME;

	for (k = 0; k < 6; k++)
		if (in->use >> k & 1) {
			u8 x = of_operand(v, in->o[k]);

			if (x == FRESH)
				return FRESH;
			most = x > most ? x : most;
		}
	if (most != PATTERN)
		return (u8)most;
	switch (in->lop) {
	case LOP_MOV: case LOP_ADD: case LOP_SUB: case LOP_NOT: case LOP_NEG: case LOP_CVT_SEXT:
		return PATTERN;
	case LOP_MUL: case LOP_MULWIDE: case LOP_AND: case LOP_OR: case LOP_SHL: case LOP_SHR:
		return number(v, in->o[1]) || number(v, in->o[2]) ? PATTERN : VARIES;
	case LOP_MAD: case LOP_MADWIDE:
		return (of_operand(v, in->o[1]) == SAME && of_operand(v, in->o[2]) == SAME) || number(v, in->o[1]) || number(v, in->o[2]) ? PATTERN : VARIES;
	default:
		return VARIES;
	}
}

static u8 of_result(const struct invariants *v, const struct insn *in)
{
	if (in->guard != OPND_NONE)
		return VARIES;
	switch ((enum kind)in->kind) {
	case K_LDPARAM:
		return SAME;
	case K_SREG:
		/* warps are rows of most blocks */
		return in->sub == SR_TID_X || in->sub == SR_LANEID ? PATTERN : in->sub < SR_LANEMASK_EQ ? SAME : VARIES;
	case K_LANE:
		return whole(in) && in->dw != 2 ? of_lane(v, in) : VARIES;
	default:
		return VARIES;
	}
}

static void varies(void *arg, u32 *o, bool is_def)
{
	struct invariants *v = arg;

	if (is_def)
		v->kind[*o] = VARIES;
}

static void count(void *arg, u32 *o, bool is_def)
{
	struct invariants *v = arg;

	if (is_def && v->defs[*o] < 2)
		v->defs[*o]++;
}

/* A register is what the worst of its definitions makes of it. False: that takes long to find out. */
static bool kinds(struct invariants *v)
{
	struct comp *c = v->c;
	bool more = true;
	u32 b, i, k, round;

	for (round = 0; more && round < ROUNDS_MOST; round++) {
		more = false;
		for (b = v->g->left; b < v->g->nb; b++)
			for (i = v->g->b[v->g->order[b]].start; i < v->g->b[v->g->order[b]].end; i++) {
				struct insn *in = &c->code[i];
				u8 x = of_result(v, in);

				c->fn->work++;
				if (in->kind == K_CALL || x == VARIES) {
					u8 was = VARIES;

					for (k = 0; k < 6; k++)
						if ((in->def >> k & 1) && in->o[k] != OPND_NONE && v->kind[in->o[k]] < was)
							was = v->kind[in->o[k]];
					more |= was != VARIES;
					each_opnd(in, varies, v);
					continue;
				}
				for (k = 0; k < 6; k++)
					if ((in->def >> k & 1) && in->o[k] != OPND_NONE && v->kind[in->o[k]] < x) {
						v->kind[in->o[k]] = x;
						more = true;
					}
			}
	}
	return !more;
}

/* ---- loops --------------------------------------------------------------------------------------------- */

/* The loop that begins at h, into list. Has it that one way in, and is it short enough? */
static bool loop(struct invariants *v, u32 h)
{
	struct cfg *g = v->g;
	u32 i, k, size = 0;

	memset(v->in, 0, g->nb);
	v->in[h] = 1;
	v->list[0] = h;
	v->n = 1;
	for (i = 0; i < v->n; i++) {
		u32 b = v->list[i];

		size += g->b[b].end - g->b[b].start;
		if (size > LOOP_LONGEST || v->n > BLOCKS_MOST)
			return false;
		for (k = v->first[b]; k < v->first[b + 1]; k++) {
			u32 p = v->pred[k];

			if (v->in[p] || (b == h && g->b[p].order < g->b[h].order))
				continue;
			if (g->b[p].order < g->b[h].order)
				return false;
			v->in[p] = 1;
			v->list[v->n++] = p;
		}
	}
	v->c->fn->work += size;
	return h != 0;
}

static bool is_loop(const struct invariants *v, u32 h)
{
	u32 k;

	for (k = v->first[h]; k < v->first[h + 1]; k++)
		if (v->g->b[v->pred[k]].order >= v->g->b[h].order)
			return true;
	return false;
}

static void is_made(void *arg, u32 *o, bool is_def)
{
	struct invariants *v = arg;

	if (is_def)
		v->made[*o] = 1;
}

/* Does it make the same in every round, of what is no vector? */
static bool may_move(const struct invariants *v, const struct insn *in)
{
	u32 k, ndef = 0;

	if ((in->kind != K_LANE && in->kind != K_SREG) || in->guard != OPND_NONE || in->dw == 2 || !in->def)
		return false;
	for (k = 0; k < 6; k++) {
		u32 o = in->o[k];

		if (o == OPND_NONE)
			continue;
		if ((in->use >> k & 1) && !(o & OPND_CONST) && v->made[o])
			return false;
		if (!(in->def >> k & 1))
			continue;
		if (v->defs[o] != 1 || (v->kind[o] != SAME && v->kind[o] != PATTERN))
			return false;
		ndef++;
	}
	return ndef == 1;
}

/* What moves, in the order in which it is made. */
static void choose(struct invariants *v)
{
	struct comp *c = v->c;
	u32 i, j, k;

	v->nmoved = 0;
	/* by the layout's order, in which what is read comes behind what makes it */
	for (i = 1; i < v->n; i++)
		for (j = i; j > 1 && v->g->b[v->list[j - 1]].order > v->g->b[v->list[j]].order; j--) {
			u32 t = v->list[j];

			v->list[j] = v->list[j - 1];
			v->list[j - 1] = t;
		}
	memset(v->made, 0, c->nregs);
	for (i = 0; i < v->n; i++)
		for (k = v->g->b[v->list[i]].start; k < v->g->b[v->list[i]].end; k++)
			each_opnd(&c->code[k], is_made, v);
	for (i = 0; i < v->n; i++)
		for (k = v->g->b[v->list[i]].start; k < v->g->b[v->list[i]].end && v->nmoved < MOVED_MOST; k++) {
			const struct insn *in = &c->code[k];

			if (!may_move(v, in))
				continue;
			v->made[in->o[__builtin_ctz(in->def)]] = 0;
			v->moved[v->nmoved++] = k;
		}
}

/* ---- before the loop ------------------------------------------------------------------------------------ */

static struct insn *last_of(const struct invariants *v, u32 b) { return &v->c->code[v->g->b[b].end - 1]; }

/* To the end of the code, where it is done before the loop; nothing is left where it was. */
static void take(struct invariants *v)
{
	u32 i;

	for (i = 0; i < v->nmoved; i++) {
		u32 fall = v->c->code[v->moved[i]].fall;

		cfg_append(v->g, &v->c->code[v->moved[i]]);
		cfg_nop(&v->c->code[v->moved[i]]);
		/* the last one of a block knows where it goes on */
		v->c->code[v->moved[i]].fall = fall;
	}
	v->c->fn->work += v->nmoved;
}

/* Behind what block p, which leads nowhere else, does. */
static void at_end_of(struct invariants *v, u32 p)
{
	struct comp *c = v->c;
	struct block *b = &v->g->b[p];
	u32 start = c->ncode, i, fall = last_of(v, p)->fall;
	bool jump = last_of(v, p)->kind == K_JMP;

	for (i = b->start; i < b->end - jump; i++)
		cfg_append(v->g, &c->code[i]);
	take(v);
	if (jump)
		cfg_append(v->g, last_of(v, p));
	else
		c->code[c->ncode - 1].fall = fall;
	for (i = b->start; i < b->end; i++)
		cfg_nop(&c->code[i]);
	b->start = start;
	b->end = c->ncode;
}

/* In a block of its own, which all ways into the loop lead to. */
static void in_new_block(struct invariants *v, u32 h)
{
	struct cfg *g = v->g;
	u32 b = g->nb++, start = v->c->ncode, i;

	take(v);
	v->c->code[v->c->ncode - 1].fall = h;
	g->b[b] = (struct block){ .start = start, .end = v->c->ncode, .nsucc = 1, .succ = cfg_zeroes(g, sizeof(u32)) };
	g->b[b].succ[0] = h;
	v->spare--;
	for (i = v->first[h]; i < v->first[h + 1]; i++)
		if (!v->in[v->pred[i]])
			cfg_redirect(g, v->pred[i], h, b);
	g->b[h].npred++;
}

static bool move(struct invariants *v, u32 h)
{
	u32 i, from = 0, ways = 0;

	for (i = v->first[h]; i < v->first[h + 1]; i++)
		if (!v->in[v->pred[i]]) {
			from = v->pred[i];
			ways++;
		}
	if (ways == 1 && (last_of(v, from)->kind == K_JMP || !cfg_ends_block(last_of(v, from))))
		at_end_of(v, from);
	else if (ways && v->spare)
		in_new_block(v, h);
	else
		return false;
	return true;
}

void loop_invariants(struct cfg *g)
{
	struct invariants *v = cfg_zeroes(g, sizeof(*v));
	struct comp *c = g->c;
	u32 i, heads = 0, line = c->line, n = g->nb;
	struct block *more;
	bool some = false, sure;

	v->g = g;
	v->c = c;
	cfg_predecessors(g, &v->first, &v->pred);
	for (i = g->left; i < g->nb; i++)
		heads += is_loop(v, g->order[i]);
	if (!heads)
		return;
	v->spare = heads < LOOPS_MOST ? heads : LOOPS_MOST;
	v->list = cfg_zeroes(g, (g->nb + v->spare) * sizeof(u32));
	v->in = cfg_zeroes(g, g->nb + v->spare);
	v->kind = cfg_zeroes(g, c->nregs);
	v->defs = cfg_zeroes(g, c->nregs);
	v->made = cfg_zeroes(g, c->nregs);
	more = cfg_zeroes(g, (g->nb + v->spare) * sizeof(*more));
	memcpy(more, g->b, g->nb * sizeof(*more));
	g->b = more;
	for (i = 0; i < c->ncode; i++)
		each_opnd(&c->code[i], count, v);
	sure = kinds(v);
	/* outer loops begin earlier: what is the same in these leaves them at once, and nothing that has left an inner one need go further */
	for (i = sure ? g->left : n, heads = 0; i < n && heads < LOOPS_MOST; i++) {
		u32 h = g->order[i];

		if (!is_loop(v, h))
			continue;
		heads++;
		if (!loop(v, h))
			continue;
		choose(v);
		if (v->nmoved)
			some |= move(v, h);
	}
	for (i = 0; some && i < g->nb; i++)
		cfg_shorten(g, &g->b[i]);
	c->line = line;
}
