/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are narrower than a warp, of which as many neighbours as make its width are run as one. A warp of a block of 16 x 16 has two rows in it: what
 * hangs on y differs between its halves, addresses are vectors, and rows of memory are half as long as they might be. But most kernels know their place in a
 * row by
 *
 *      x = ctaid.x * ntid.x + tid.x
 *
 * alone, and who has it in which block is nothing that they could tell. Where that is so, the threads of two blocks are those of one that is 32 wide: ntid.x
 * and ctaid.x, of the first of them, read as ever, and tid.x goes on beyond ntid.x. Nothing is compiled for it but code for blocks of that shape.
 *
 *      blocks of 16 x 16              one of 32 x 16              of a column, turned (across.c)
 *      0 1 2 .. 15 | 0 1 2 .. 15      0 1 2 ..       31           0 32 64 ..
 *      16 ..       | 16 ..            32 ..                       1 33 65 ..
 *
 * Where threads that are neighbours in y lie side by side in memory, it is blocks of a column, and lanes go down it. Blocks of one thread may make of their number
 * what they like: 32 of them are lanes who have ctaid.x of the first one and their own number, and 0 for tid.x (SPEC_SINGLE). None of that is for kernels that have shared
 * memory or barriers, that do something lanes do together, ask who they are in another way, or might wait for others.
 *
 * In: statements as they were lowered, calls taken in. Out: join_find(): func.joins, joins_width, turns, singles. join_grid(), at a launch: how many blocks are one.
 */
#include <string.h>

#include "front.h"
#include "jit.h"
#include "lanes.h"
#include "rt.h"

/*
 * What a register holds, as far as x goes, or y. FREE: nothing of it, or all of x; NTID: ntid.x; TID: tid.x; TID_AND: a sum of that and something free; CTAID:
 * ctaid.x; ROW: ctaid.x * ntid.x; ROW_AND: a sum of that; LOST: something else, which nobody may read.
 */
enum { UNSET, FREE, NTID, TID, TID_AND, CTAID, ROW, ROW_AND, LOST };

struct joining {
	struct comp *c;
	u8 dim;         /* 0: x, as above; 1: y */
	u8 *is;         /* by register */
	bool more;
	u64 width;      /* what ctaid.x is multiplied with where that is a constant; 0: nowhere */
	bool mixed;     /* with several */
};

static u8 holds(const struct joining *j, u32 o) { return o == OPND_NONE || (o & OPND_CONST) ? FREE : j->is[o]; }
static bool is_free(u8 k) { return k <= NTID; }

/* What is a product of ctaid.x and o, or with 1 << o? */
static u8 row_by(struct joining *j, u32 o, bool shifted)
{
	const struct konst *k = o != OPND_NONE && (o & OPND_CONST) ? konst_at(j->c, o) : NULL;
	u64 width;

	if (!shifted && holds(j, o) == NTID)
		return ROW;
	if (!k || k->sym || (shifted ? k->bits > 10 : !k->bits))
		return LOST;
	width = shifted ? 1ull << k->bits : k->bits;
	j->mixed |= j->width && j->width != width;
	j->width = width;
	return ROW;
}

static u8 product(struct joining *j, u32 a, u32 b)
{
	u8 x = holds(j, a), y = holds(j, b);

	if (x == UNSET || y == UNSET)
		return UNSET;
	if (x == CTAID)
		return row_by(j, b, false);
	if (y == CTAID)
		return row_by(j, a, false);
	return is_free(x) && is_free(y) ? FREE : LOST;
}

static u8 sum(u8 x, u8 y)
{
	bool tid = x == TID || x == TID_AND || y == TID || y == TID_AND, row = x == ROW || x == ROW_AND || y == ROW || y == ROW_AND;

	if (x == UNSET || y == UNSET)
		return UNSET;
	if (x == LOST || y == LOST || x == CTAID || y == CTAID)
		return LOST;
	if (is_free(x) || is_free(y))
		return tid ? TID_AND : row ? ROW_AND : FREE;
	return tid && row ? FREE : LOST;
}

static bool any_unset(const struct joining *j, const struct insn *in)
{
	u32 i;

	for (i = 0; i < 6; i++)
		if ((in->use >> i & 1) && holds(j, in->o[i]) == UNSET)
			return true;
	return false;
}

static bool all_free(const struct joining *j, const struct insn *in)
{
	u32 i;

	for (i = 0; i < 6; i++)
		if ((in->use >> i & 1) && !is_free(holds(j, in->o[i])))
			return false;
	return is_free(holds(j, in->guard));
}

/* What in makes of its operands; a number of 32 bits that is widened wraps no more (join_grid()), but for sums with anything. */
static u8 made(struct joining *j, const struct insn *in)
{
	u8 x = holds(j, in->o[1]);

	if (in->kind == K_SREG)
		return in->sub == SR_TID_X + j->dim ? TID : in->sub == SR_CTAID_X + j->dim ? CTAID : in->sub == SR_NTID_X + j->dim ? NTID : FREE;
	if (in->kind == K_LANE && !type_is_float(in->type) && type_bytes(in->type) >= 4)
		switch (in->lop) {
		case LOP_MOV: case LOP_CVT_TRUNC:
			return x;
		case LOP_CVT_SEXT:
			return x == TID_AND || x == ROW_AND ? LOST : x;
		case LOP_MUL: case LOP_MULWIDE:
			return product(j, in->o[1], in->o[2]);
		case LOP_SHL:
			if (x == CTAID)
				return row_by(j, in->o[2], true);
			break;
		case LOP_MAD: case LOP_MADWIDE:
			return sum(product(j, in->o[1], in->o[2]), holds(j, in->o[3]));
		case LOP_ADD:
			return sum(x, holds(j, in->o[2]));
		case LOP_SUB:
			if (is_free(holds(j, in->o[2])))
				return sum(x, FREE);
			break;
		}
	return any_unset(j, in) ? UNSET : all_free(j, in) ? FREE : LOST;
}

/* Is it something of which blocks, warps and their order are no part? */
static bool plain(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_SREG:
		return in->sub <= SR_CTAID_Z || (in->sub >= SR_NCTAID_X && in->sub <= SR_NCTAID_Z);
	case K_LD: case K_ST: case K_ATOM:
		return in->space != SPACE_SHARED && !(in->flags & (INF_SYNC | INF_ORDER)) && (in->kind != K_ATOM || in->o[0] == OPND_NONE);
	case K_CVTA:
		return in->space != SPACE_SHARED;
	case K_LANE: case K_SETP: case K_PRED: case K_LADDR: case K_LOP3: case K_CVT: case K_LDPARAM:
	case K_JMP: case K_CBRA: case K_RET: case K_EXIT: case K_NOP:
		return true;
	default:
		return false;
	}
}

static void merge(struct joining *j, u32 o, u8 k)
{
	u8 now, was;

	if (o == OPND_NONE || (o & OPND_CONST) || k == UNSET)
		return;
	was = j->is[o];
	now = was == UNSET || was == k ? k : is_free(was) && is_free(k) ? FREE : LOST;
	j->more |= now != was;
	j->is[o] = now;
}

/* Do threads know their place in that dimension so? */
static bool joins(struct comp *c, u8 dim, u8 *is, u16 *width)
{
	struct joining j = { .c = c, .dim = dim, .is = is, .more = true };
	u32 i, k;

	memset(is, 0, c->nregs + 1);
	while (j.more) {
		j.more = false;
		c->fn->work += c->ncode;
		if (compile_too_much(c->fn))
			return false;
		for (i = 0; i < c->ncode; i++) {
			const struct insn *in = &c->code[i];
			u8 of = in->def ? made(&j, in) : UNSET;

			for (k = 0; k < 6; k++)
				if (in->def >> k & 1)
					merge(&j, in->o[k], of);
		}
	}
	for (i = 0; i < c->ncode; i++) {
		const struct insn *in = &c->code[i];
		u8 of = in->def ? made(&j, in) : FREE;

		/* what is not free has come to nobody but sums and copies of it */
		if (of == LOST || !is_free(holds(&j, in->guard)) || (!in->def && !all_free(&j, in)))
			return false;
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && holds(&j, in->o[k]) == LOST)
				return false;
	}
	*width = (u16)j.width;
	return !j.mixed && j.width <= 1024;
}

void join_find(struct comp *c)
{
	bool x = false, y = false;
	enum way way;
	u8 *is;
	u32 i;

	if (!c->fn->entry || c->fn->calls || c->fn->launches || c->fn->shared_bytes || c->nshared || c->fn->further || !c->m->e->code_rw)
		return;
	for (i = 0; i < c->ncode; i++) {
		if (!plain(&c->code[i]))
			return;
		x |= c->code[i].kind == K_SREG && c->code[i].sub == SR_TID_X;
		y |= c->code[i].kind == K_SREG && c->code[i].sub == SR_TID_Y;
	}
	/* who a thread is among those of its block is nothing that one alone could ask */
	c->fn->singles = true;
	if (!x)
		return;
	is = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
	way = y ? across(c) : WAY_X;
	c->fn->turns = way == WAY_Y;
	if (way == WAY_Y)
		c->fn->joins[1] = joins(c, 1, is, &c->fn->joins_width[1]);
	else if (way == WAY_X)
		c->fn->joins[0] = joins(c, 0, is, &c->fn->joins_width[0]);
}

/* ---- at a launch ------------------------------------------------------------------------------------ */

#define PARTS_MOST 4u

u64 launch_joined;
/* Blocks for each worker, below which there are no fewer for it. */
u64 join_least = 4;

/* So many blocks that are x wide make up warps' width. */
static u32 neighbours(u32 x)
{
	u32 n = LANES;

	while (n > 1 && !(x & 1)) {
		x >>= 1;
		n >>= 1;
	}
	return n;
}

/* n blocks that are neighbours in dimension d may be one */
static bool may_be_one(const struct func *fn, const struct grid *g, u32 d, u32 n)
{
	u32 x = g->block[d];

	return fn->joins[d] && (!fn->joins_width[d] || fn->joins_width[d] == x) && g->dim[d] >= n && (u64)g->dim[d] * x <= INT32_MAX;
}

/* Lanes lie along y. What would be left of a column has no code, so that there is to be nothing. */
static bool turned(const struct engine *e, const struct func *fn, const struct grid *g, u64 blocks, struct join *to)
{
	u32 n = neighbours(g->block[1]);

	if (g->block[0] == 1 || blocks / n < join_least * e->nthreads || g->threads * n > 1024 || (n > 1 && (!may_be_one(fn, g, 1, n) || g->dim[1] % n)))
		return false;
	to->turned = true;
	to->n = n;
	to->size[1] *= n;
	return true;
}

bool join_grid(const struct engine *e, const struct func *fn, const struct grid *g, struct join *to)
{
	u32 n = neighbours(g->block[0]), d = g->block[2] > 1 ? 2 : 1, parts = 1;
	bool single = g->threads == 1 && fn->singles;
	u64 blocks = (u64)g->dim[0] * g->dim[1] * g->dim[2];

	/* a warp's steps may be told by memory where a block has no other (jit_spec()) */
	if (g->threads <= LANES && fn->jsrc && fn->jsrc->steps && !single)
		return false;
	if ((!fn->joins[0] && !fn->turns && !single) || e->mode != ENGINE_MODE_JIT || e->vf || g->cooperative || g->clusters || g->shared_bytes)
		return false;
	if (fn->turns && !single)
		return turned(e, fn, g, blocks, to);
	if (n == 1 || !(single ? g->dim[0] >= n : may_be_one(fn, g, 0, n)) || blocks / g->dim[0] * (g->dim[0] / n) < join_least * e->nthreads)
		return false;
	/* a block that is larger than may be has parts, one after the other: its threads know nothing of each other */
	while (g->threads * n / parts > 1024)
		parts *= 2;
	if (parts > PARTS_MOST || g->block[d] % parts)
		return false;
	to->n = n;
	to->single = single;
	to->parts = parts;
	to->size[0] *= n;
	to->size[d] /= parts;
	to->split = d;
	return true;
}
