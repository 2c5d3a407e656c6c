/* SPDX-License-Identifier: MIT */
/*
 * Blocks of code by whole warps: where all lanes of a warp have met, what is a scalar is computed once for the four strips, rows are checked and branches decided once, and
 * the strips follow one another with their vectors, block by block, until they meet again. whole.c does so for kernels that go straight on, round.c for turns of a
 * loop; this is for what lies between barriers, where strips have little to do and most of it is scalars.
 *
 *     next way into a block behind a meeting, strip 0 ── scalars apart ─────────────► ordinary code
 *     block: scalars of strip 0; rows within? which way? ── not as wanted ── as before it ─► ordinary code
 *            vectors of strip 0, 1, 2, 3: from their slots, and back
 *              └─ what is not there ── strips before this one as behind the block, the others as before it ─► ordinary code
 *     the next block ── another has no such code ── put back ───────────────────────► ordinary code, all strips at its beginning
 *     a meeting: put back, on as the last strip
 *
 * Between blocks vectors lie in slots and kept homes, the first strip's scalars in its homes; those of the others are a known distance away, and are written
 * where ordinary code goes on ("put back"): of those that such blocks may have changed.
 *
 * A short branch at which lanes part, and behind which they meet at once, is part of its block: each strip does what is skipped by others under a mask (c->some).
 *
 * A strip that finds something amiss has its block done again by ordinary code. So nothing that may be amiss follows a store whose block has loaded what may be the same place.
 *
 * In: blocks, classes, places, behind all blocks' code. Out: code (warp_code.c); sblock.warp_in, warp_exit.
 */
#include <stdlib.h>

#include "mem.h"
#include "warp.h"

#define MOST_BODY 40u
#define MANY_ROWS 2u
#define FAR 8u                  /* blocks from the beginning of a kernel to a loop */

/* ---- how the strips' scalars differ -------------------------------------------------------------------- */

/* What in makes of scalars is a known distance away, as far as that of what it reads is known: false: not yet. */
static bool known(const struct scomp *c, const struct warps *ws, const struct insn *in, bool *odd)
{
	u32 k;

	*odd = in->guard != OPND_NONE;
	for (k = 0; k < 6; k++) {
		u32 o = in->o[k];

		if (!(in->use >> k & 1) || !is_scalar(c, o) || c->r[o].v.known)
			continue;
		if (bit_of(ws->odd, o))
			*odd = true;
		else if (!c->r[o].v.far)
			return *odd;
	}
	return true;
}

static void is_odd(struct scomp *c, struct warps *ws, u32 o, bool *more)
{
	if (bit_of(ws->odd, o))
		return;
	add(ws->odd, o);
	c->r[o].v.far = 0;
	*more = true;
}

static void distances(struct scomp *c, struct warps *ws)
{
	s64 d[STRIPS];
	bool more = true, odd;
	u32 i, k, v;

	ws->all->low = pool_alloc(&c->mem, c->s->nregs + 1);
	if (ws->all->low)
		memset(ws->all->low, 31, c->s->nregs);
	for (v = 0; v < c->s->nregs; v++)
		c->r[v].v.far = 0;
	c->whole_way = ws->all;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			if (!known(c, ws, in, &odd))
				continue;
			for (k = 0; k < 6; k++) {
				u32 o = in->o[k], far, low;

				if (!defines(in, k) || !is_scalar(c, o) || !c->r[o].live || bit_of(ws->odd, o))
					continue;
				low = ws->all->low ? whole_low(c, in) : 0;
				if (ws->all->low && low < ws->all->low[o]) {
					ws->all->low[o] = (u8)low;
					more = true;
				}
				if (odd || !whole_result_delta(c, in, d)) {
					is_odd(c, ws, o, &more);
					continue;
				}
				far = whole_far(c, d);
				if (far && !c->r[o].v.far)
					more = true;
				if (!far || (c->r[o].v.far && c->r[o].v.far != far))
					is_odd(c, ws, o, &more);
				else
					c->r[o].v.far = (u8)far;
			}
			for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
				if (in->u.call->rets[k].is_reg)
					is_odd(c, ws, in->u.call->rets[k].opnd, &more);
		}
	}
}

/* ---- which blocks -------------------------------------------------------------------------------------- */

static bool is_mem(const struct insn *in) { return in->kind == K_LD || in->kind == K_ST; }

/*
 * A row that all lanes have and that has been looked at: a page of it that is not there ends the grid, whatever has been done twice by then. It is the same row when all is done
 * again: an address that all lanes have read is not written by one of them without a race.
 */
static bool ends_grid(const struct scomp *c, const struct plan *p, u32 i)
{
	struct sval v;

	return c->code[p->h->pc[i]].guard == OPND_NONE && !(p->some && i > p->some) && whole_is_row(c, p->h, i, &v);
}

/* May it be amiss when a strip does it, and all be well? */
static bool may_fail(struct scomp *c, const struct plan *p, u32 i)
{
	const struct insn *in = &c->code[p->h->pc[i]];
	struct sval v;

	return is_mem(in) && (in->space != SPACE_SHARED || !s_mem_row(c, in, &v)) && !ends_grid(c, p, i);
}

static bool may_meet(const struct insn *x, const struct insn *y)
{
	return x->space == y->space || x->space == SPACE_GENERIC || y->space == SPACE_GENERIC;
}

/* What is done again after a strip has found the i-th amiss is as it was. */
static bool again(struct scomp *c, const struct plan *p, const struct sblock *b, u32 i)
{
	const struct swhole *h = p->h;
	u32 j, l, k;

	for (j = 0; j < i; j++) {
		const struct insn *in = &c->code[h->pc[j]];

		for (l = 0; in->kind == K_ST && l < j; l++)
			if (c->code[h->pc[l]].kind == K_LD && may_meet(&c->code[h->pc[l]], in))
				return false;
		for (k = 0; k < 6; k++)
			if (defines(in, k) && c->r[in->o[k]].live && c->r[in->o[k]].kept && bit_of(b->live_in, in->o[k]))
				return false;
	}
	return true;
}

/* Lanes part at its end, and meet behind the block that comes next. */
static bool skips(const struct scomp *c, struct plan *p, const struct sblock *b, u32 *to)
{
	const struct insn *in = &c->code[b->end - 1];
	u32 t, i, j, k, from = 0;

	if (in->kind != K_CBRA || in->guard == OPND_NONE || (in->guard & OPND_CONST) || is_scalar(c, in->guard))
		return false;
	for (i = 0; i < 2; i++) {
		t = s_block_at(c, i ? in->fall : in->taken);
		*to = s_block_at(c, i ? in->taken : in->fall);
		if (t != *to && t > number(c, b) && *to > t && !c->b[t].turn && c->b[t].nsucc == 1 && c->b[t].succ[0] == *to && !c->b[t].sync)
			break;
	}
	if (i == 2)
		return false;
	for (j = 0; j < c->nb; j++)
		for (k = 0; k < c->b[j].nsucc; k++)
			from += c->b[j].succ[k] == t;
	p->skipped = &c->b[t];
	return from == 1;
}

static bool root(struct scomp *c, struct swhole *h, u32 o, u32 pc)
{
	return !is_scalar(c, o) || c->r[o].v.known || (c->r[o].v.far && whole_root(c, h, o, pc));
}

/* Is predicate o of the i-th made for branches alone? */
static bool aside(const struct scomp *c, const struct plan *p, u32 i, u32 o)
{
	const struct insn *in = &c->code[p->h->pc[i]];

	return (in->kind == K_SETP || in->kind == K_PRED) && in->guard == OPND_NONE && (in->kind == K_PRED || (!in->sub && in->o[1] == OPND_NONE)) &&
	       p->ends == WAYS && whole_is_aside(c, p->h, i, o) && !bit_of(p->out, o);
}

static bool sort(struct scomp *c, struct plan *p, const struct sblock *b)
{
	struct swhole *h = p->h;
	u32 i, k, j, body = 0;

	for (i = 0; i < h->n; i++) {
		const struct insn *in = &c->code[h->pc[i]];
		bool scalar = true, any = false;

		c->cur = &c->b[s_block_at(c, h->pc[i])];
		c->pc = h->pc[i];
		h->what[i] = W_BODY;
		switch ((enum kind)in->kind) {
		case K_JMP: case K_NOP:
			h->what[i] = W_NOTHING;
			continue;
		case K_CBRA:
			h->what[i] = p->some && i == p->some ? W_BODY : W_BRANCH;
			continue;
		case K_LD: case K_ST:
			if (in->space == SPACE_LOCAL || in->space == SPACE_PARAM || !whole_same(c, in->o[4], in->aw) || (in->flags & (INF_SYNC | INF_ONCE)) || (may_fail(c, p, i) && !again(c, p, b, i)))
				return false;
			break;
		case K_SHFL:
			if (!in->sub2)
				return false;
			break;
		case K_LANE: case K_SREG: case K_LDPARAM: case K_LADDR: case K_CVTA: case K_SETP: case K_PRED: case K_CVT: case K_LOP3:
			if (in->kind == K_LANE && in->dw == 2)
				return false;
			break;
		default:
			return false;
		}
		for (k = 0; k < 6; k++)
			if (defines(in, k)) {
				any = true;
				scalar &= is_scalar(c, in->o[k]);
			}
		if (!any || !scalar) {
			for (k = 0; k < 6; k++)
				if (defines(in, k) && is_scalar(c, in->o[k]))
					return false;
			h->stored |= in->kind == K_ST;
			continue;
		}
		h->what[i] = W_SCALAR;
		if (in->guard != OPND_NONE || (in->kind == K_LD && (h->stored || (p->some && i > p->some))) || in->kind == K_CVT || in->kind == K_LOP3 || in->kind == K_SHFL)
			return false;
		for (k = 0; k < 6; k++) {
			u32 o = in->o[k], at = h->pc[i];

			if (!defines(in, k) || !c->r[o].live || c->r[o].v.known)
				continue;
			/* one definition; what is skipped leaves others' alone */
			for (j = 0; j < i; j++)
				if (insn_writes(&c->code[h->pc[j]], o))
					return false;
			if (!c->r[o].v.far || (p->some && i > p->some && bit_of(p->out, o)))
				return false;
			add(p->made, o);
			if (!bit_of(b->live_in, o))
				continue;
			if (h->ncarried == S_CARRIED)
				return false;
			h->carried[h->ncarried].o = o;
			h->carried[h->ncarried++].pc = at;
		}
	}
	for (i = h->n; i-- > 0;) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] == W_BRANCH) {
			if (!root(c, h, in->guard, h->pc[i]))
				return false;
			continue;
		}
		if (h->what[i] != W_BODY)
			continue;
		if (defines(in, 0) && aside(c, p, i, in->o[0])) {
			h->what[i] = W_ASIDE;
			/* it is compared where the branch is */
			for (j = i + 1; j < h->n; j++)
				for (k = 0; k < 6; k++)
					if ((in->use >> k & 1) && is_scalar(c, in->o[k]) && insn_writes(&c->code[h->pc[j]], in->o[k]))
						return false;
		}
		body += h->what[i] == W_BODY;
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && !root(c, h, in->o[k], h->pc[i]))
				return false;
		if (!root(c, h, in->guard, h->pc[i]))
			return false;
	}
	p->bare = !body;
	return body <= MOST_BODY;
}

/* The code of block b as a chain, if it is of a kind that is done here. */
static void plan(struct scomp *c, struct warps *ws, u32 bi)
{
	struct sblock *b = &c->b[bi];
	struct plan *p = &ws->p[bi];
	const struct insn *in = &c->code[b->end - 1];
	u32 pc, to = 0, i;

	if (b->turn || !s_enters(c, bi) || b->end - b->start > MAX_CHAIN / 2)
		return;
	p->h = pool_alloc(&c->mem, sizeof(*p->h));
	p->made = pool_alloc(&c->mem, (c->words + 1) * 8);
	p->dirty = pool_alloc(&c->mem, (c->words + 1) * 8);
	if (!p->h || !p->made || !p->dirty) {
		p->h = NULL;
		return;
	}
	memcpy(p->h->delta, ws->all->delta, sizeof(p->h->delta));
	p->h->ndelta = ws->all->ndelta;
	p->out = b->sync ? s_live_before(c, b->end - 1) : b->live_out;
	for (pc = b->start; pc < b->end; pc++) {
		if (c->pair[pc])
			goto none;
		if (b->sync && pc + 1 == b->end)
			break;
		p->h->pc[p->h->n++] = pc;
	}
	if (b->sync) {
		p->ends = MEET;
		if (!s_meets_as_one(c, b->end - 1))
			goto none;
	} else if (in->kind == K_EXIT || in->kind == K_RET) {
		p->ends = END;
		p->h->n--;
		if (in->guard != OPND_NONE || !c->end_last)
			goto none;
	} else if (skips(c, p, b, &to)) {
		p->ends = GO;
		p->to[0] = to;
		p->out = p->skipped->live_out;
		p->some = p->h->n - 1;
		for (pc = p->skipped->start; pc < p->skipped->end; pc++) {
			if (p->h->n == MAX_CHAIN || c->pair[pc])
				goto none;
			p->h->pc[p->h->n++] = pc;
		}
		if (!p->some)           /* 0 is none */
			goto none;
	} else if (in->kind == K_CBRA && in->guard != OPND_NONE) {
		p->ends = WAYS;
		p->to[0] = s_block_at(c, in->taken);
		p->to[1] = s_block_at(c, in->fall);
	} else if (b->nsucc == 1) {
		p->ends = GO;
		p->to[0] = b->succ[0];
	} else {
		goto none;
	}
	for (i = 0; i < plan_ways(p); i++)
		if (!s_enters(c, p->to[i]))
			goto none;
	c->whole_way = p->h;
	c->stage = WHOLE_CHECKS;
	if (!sort(c, p, b)) {
			p->h = NULL;
	}
	c->stage = 0;
	return;
none:
	p->h = NULL;
}

static bool goes_round(const struct plan *p, u32 b)
{
	u32 i;

	for (i = 0; i < plan_ways(p); i++)
		if (p->to[i] == b)
			return true;
	return false;
}

/* A loop of one block that hands vectors from round to round. */
static bool carries(const struct scomp *c, const struct plan *p, u32 b)
{
	u32 i, k;

	for (i = 0; goes_round(p, b) && i < p->h->n; i++)
		for (k = 0; k < 6; k++) {
			const struct insn *in = &c->code[p->h->pc[i]];

			if (p->h->what[i] == W_BODY && defines(in, k) && bit_of(c->b[b].live_in, in->o[k]))
				return true;
		}
	return false;
}

/*
 * Without registers enough for them they go through memory, and each round waits for the one before it: that is made up for by what several rows
 * have in common.
 */
static bool stays(struct scomp *c, struct plan *p, u32 b)
{
	struct stay *y = pool_alloc(&c->mem, sizeof(*y));
	struct sval v;
	u32 i, n = 0;

	if (!y || !(y->out = pool_alloc(&c->mem, (c->words + 1) * 8)) || p->some)
		return false;
	y->on = s_stay_find(c, &c->b[b], y);
	if (y->on) {
		p->stay = y;
		return true;
	}
	c->whole_way = p->h;
	for (i = 0; i < p->h->n; i++) {
		c->cur = &c->b[b];
		c->pc = p->h->pc[i];
		n += whole_is_row(c, p->h, i, &v) && v.pat;
	}
	return n >= MANY_ROWS;
}

/* Strips that come to a loop where they take turns do so from where the block's phase began, all of them (s_turn()). */
static void not_before_turns(struct scomp *c, struct warps *ws)
{
	bool more = true;
	u32 b, i;

	for (b = 0; b < c->nb; b++)
		ws->p[b].turns = ws->p[b].h && carries(c, &ws->p[b], b) && !stays(c, &ws->p[b], b);
	while (more) {
		more = false;
		for (b = 0; b < c->nb; b++)
			for (i = 0; i < plan_ways(&ws->p[b]) && !ws->p[b].turns; i++)
				if (c->b[ws->p[b].to[i]].turn || ws->p[ws->p[b].to[i]].turns)
					more = ws->p[b].turns = true;
	}
	for (b = 0; b < c->nb; b++)
		if (ws->p[b].turns)
			ws->p[b].h = NULL;
}

/* Behind shuffles, which strips come to with what they need at hand, nothing is gained. */
static bool begins(const struct scomp *c, u32 b) { return !b || (s_behind_meeting(c, b) && c->code[c->b[b].start - 1].kind == K_BAR); }

/* Is there a loop on the ways on from block b? Where a kernel begins only that is worth it. */
static bool to_loop(const struct warps *ws, u32 b, u32 far)
{
	u32 i;

	for (i = 0; far && ws->p[b].h && i < plan_ways(&ws->p[b]); i++)
		if (ws->p[b].to[i] <= b || to_loop(ws, ws->p[b].to[i], far - 1))
			return true;
	return false;
}

static void only_behind_barriers(const struct scomp *c, struct warps *ws)
{
	bool more = true;
	u32 b, i;

	for (b = 0; b < c->nb; b++)
		ws->p[b].wanted = ws->p[b].h && begins(c, b) && (b || to_loop(ws, b, FAR));
	while (more) {
		more = false;
		for (b = 0; b < c->nb; b++)
			for (i = 0; ws->p[b].wanted && i < plan_ways(&ws->p[b]); i++) {
				struct plan *to = &ws->p[ws->p[b].to[i]];

				more |= to->h && !to->wanted;
				to->wanted |= to->h != NULL;
			}
	}
	for (b = 0; b < c->nb; b++)
		if (!ws->p[b].wanted)
			ws->p[b].h = NULL;
}

/* What may have been changed by such code where block b begins. */
static void dirty(struct scomp *c, struct warps *ws)
{
	bool more = true;
	u32 b, i, w;

	while (more) {
		more = false;
		for (b = 0; b < c->nb; b++) {
			struct plan *p = &ws->p[b];

			for (i = 0; i < plan_ways(p) + (p->h && warp_lags(c, ws, b)); i++) {
				struct plan *to = &ws->p[i < plan_ways(p) ? p->to[i] : b + 1];

				to->loops |= i < plan_ways(p) && p->to[i] <= b;
				for (w = 0; to->h && w < c->words; w++) {
					u64 x = p->dirty[w] | p->made[w];

					more |= (x & ~to->dirty[w]) != 0;
					to->dirty[w] |= x;
				}
			}
		}
	}
	for (b = 0; b < c->nb; b++) {
		const struct plan *p = &ws->p[b];

		for (i = 0; p->h && i < p->h->nroots; i++)
			add(ws->wanted, p->h->root[i] & ~S_LATER);
		for (w = 0; p->h && w < c->words; w++)
			ws->wanted[w] |= p->made[w];
		for (i = 0; p->h && i < p->h->n; i++)
			for (w = 0; p->h->what[i] == W_SCALAR && w < 6; w++)
				if ((c->code[p->h->pc[i]].use >> w & 1) && is_scalar(c, c->code[p->h->pc[i]].o[w]))
					add(ws->wanted, c->code[p->h->pc[i]].o[w]);
	}
}

void s_warps(struct scomp *c)
{
	struct swhole *old = c->whole_way;
	struct warps ws = { 0 };
	u32 b, i, syncs = 0;

	for (b = 0; b < c->nb; b++)
		syncs += c->b[b].sync;
	if (!syncs || c->whole_end)
		return;
	ws.p = pool_alloc(&c->mem, (c->nb + 1) * sizeof(*ws.p));
	ws.odd = pool_alloc(&c->mem, (c->words + 1) * 8);
	ws.wanted = pool_alloc(&c->mem, (c->words + 1) * 8);
	ws.all = pool_alloc(&c->mem, sizeof(*ws.all));
	if (!ws.p || !ws.odd || !ws.wanted || !ws.all)
		return;
	ws.all->ndelta = 1;
	distances(c, &ws);
	for (b = 0; b < c->nb; b++)
		plan(c, &ws, b);
	not_before_turns(c, &ws);
	only_behind_barriers(c, &ws);
	dirty(c, &ws);
	for (b = 0; b < c->nb && !c->bad; b++) {
		struct swhole_mark mark = whole_mark(c);
		u32 nj = ws.njumps;

		if (!ws.p[b].h)
			continue;
		warp_emit(c, &ws, b);
		c->stage = 0;
		c->whole_strip = 0;
		c->some = NULL;
		c->guarded = false;
		c->fused = 0;
		if (ws.p[b].h->bad || c->bad) {
			whole_back(c, &mark);
			ws.njumps = nj;
			c->b[b].warp_exit = NULL;
			if (ws.p[b].skipped)
				ws.p[b].skipped->warp_exit = NULL;
			ws.p[b].at = 0;
		}
	}
	for (b = 0; b < c->nb && !c->bad; b++)
		if (ws.p[b].at && begins(c, b))
			warp_way_in(c, &ws, b);
	for (i = 0; i < ws.njumps && !c->bad; i++) {
		if (ws.jump[i].to == TO_MEET) {
			g_here(&c->a, ws.jump[i].at);
			warp_meet(c, &ws, ws.jump[i].from);
			continue;
		}
		if (ws.p[ws.jump[i].to].at) {
			g_land(&c->a, ws.jump[i].at, ws.p[ws.jump[i].to].at);
			continue;
		}
		g_here(&c->a, ws.jump[i].at);
		warp_leave(c, &ws, ws.jump[i].from, ws.jump[i].to);
	}
	free(ws.jump);
	c->whole_way = old;
}
