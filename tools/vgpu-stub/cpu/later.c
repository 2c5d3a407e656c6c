/* SPDX-License-Identifier: MIT */
/*
 * Leaders come last. Called by cfg.c when blocks have their order, before they are copied.
 *
 *      bar.sync 0;
 *      ld.global.u32 %r1, [%rd1];              // all threads
 *      ...
 *      setp.ne.u32 %p1, %tid.x, 0;
 *      @%p1 bra END;
 *      atom.global.inc.u32 %r2, [%rd1], ...;   // one thread, and no barrier in between
 *
 * A race by the letter of the memory model, and not one on hardware: warps that have left a barrier, or begun, come to their first
 * instructions at about the same time, long before one of them is through. Here a warp runs to its next barrier before another one
 * does anything (jit_run.c), so what thread 0 writes at the end would be there before the others have read. Eigen's reductions do this, and many a
 * kernel that forgot a barrier and never learned of it. So a block of code in which threads chosen by their number alone write to a place that all
 * may have read since the last barrier begins with K_LATER: the other warps have their turns first.
 *
 * A place is an address that is one for all of a block of threads. Code that each thread comes to, or comes to by what it has read, is left alone.
 *
 *      ld.shared.f32 %f1, [buf + 4 * lane];    // lanes below the number of warps: what each warp has found
 *      ...
 *      @%p1 bra END;                           // not the first lane
 *      st.shared.f32 [buf + 4 * warp], %f2;    // the next thing that each warp has found
 *
 * The same with a place for each warp, as where one buffer serves two reductions (ggml's softmax): who writes where, and who has read there, is
 * computed for a few warps, and if a warp writes what another one has read, that block of code begins with K_LATER, too.
 *
 *      ld.shared.u32 %r1, [buf];               // all threads: the winner of this round
 *      ...
 *      st.shared.u32 [buf + 4 * tid], %r2;     // all threads: what each of them has for the next one
 *
 * There all warps write, and the one whose place the others have read is among them: furthest points by PointNet++. Or all write that one place, as at the
 * beginning of a round that is the last one if nobody says otherwise: do { more = false; __syncthreads(); ... __syncthreads(); } while (more);
 * Where a loop is unrolled, both are in one block of code, and the K_LATER is right before the store.
 *
 *      st.global.f32 [%rd1], %f1;              // all lanes
 *      @%p1 bra END;                           // not the first lane
 *      membar.gl;                              // or in front of the branch
 *      atom.global.add.u32 %r1, [%rd2], 1;     // the row is there
 *
 * The first lane speaks for its warp, of which it is a strip that comes here (warp-rnnt's locks): with K_LATER the other strips have stored by then.
 *
 * Within a warp it is strips that run ahead of one another (strip/order.c). Of two accesses to shared memory in one stretch of code of which one
 * writes what lanes of another strip read by the other, the second is done by all of the warp at once (INF_ONCE): CUB's exchanges, where
 * their memory serves the next one without a __syncwarp() (ggml's Mamba).
 *
 * A warp leaves code at a K_LATER. Where all threads of the block meet right behind the write, another barrier before its branch does as well, and does not.
 */
#include <string.h>

#include "jit.h"
#include "later.h"

#define MOST_BLOCKS 4096u
#define MOST_WRITES 64u
#define MOST_PAIRS 64u
#define MOST_LOOKED 128u
#define MOST_STEPS 128u         /* pairs of accesses within a warp */
#define MOST_OPEN 16u
#define STRIP_LANES 8u

static u32 depends_by(const struct later *l, const struct insn *in, u32 depth)
{
	u32 on = 0, k;

	switch ((enum kind)in->kind) {
	case K_SREG:
		if (in->sub <= SR_TID_Z || in->sub == SR_LANEID || in->sub == SR_WARPID)
			return TID;
		return in->sub <= SR_NTID_Z ? 0 : in->sub <= SR_CTAID_Z ? CTAID : OTHER;
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_LDPARAM:
		if (in->guard != OPND_NONE)
			return OTHER;
		for (k = 0; k < 6; k++)
			if (in->use >> k & 1)
				on |= later_depends(l, in->o[k], depth + 1);
		return on;
	default:
		return OTHER;
	}
}

/* What decides, by the branches right before block b, whether it is come to */
static u32 come_to_by(const struct later *l, u32 b, u32 depth)
{
	u32 on = 0, i;

	for (i = 0; i < DEPTH && l->pred[b] != NO_PC; i++) {
		const struct insn *last;

		b = l->pred[b];
		last = &l->code[l->g->b[b].end - 1];
		if (last->kind == K_CBRA)
			on |= later_depends(l, last->guard, depth);
	}
	return on;
}

u32 later_depends(const struct later *l, u32 o, u32 depth)
{
	u32 on = 0, at, k;

	if (o == OPND_NONE || (o & OPND_CONST) || l->busy[o])
		return 0;
	if (!l->def[o] || depth > DEPTH || ++*l->asked > MOST_ASKED)
		return OTHER;
	l->busy[o] = 1;
	for (at = l->def[o]; at && !(on & OTHER); at = l->more[6 * (at - 1) + k]) {
		const struct insn *in = &l->code[at - 1];

		for (k = 0; !(in->def >> k & 1) || in->o[k] != o; k++)
			;
		on |= depends_by(l, in, depth);
		/* one of several is who has come there */
		if (l->more[6 * (at - 1) + k] || l->def[o] != at)
			on |= come_to_by(l, l->block[at - 1], depth + 1);
	}
	l->busy[o] = 0;
	return on;
}

/* Do only threads chosen by their number come to block b, by the branches right before it? */
static bool chosen(const struct later *l, u32 b)
{
	u32 i;

	for (i = 0; i < DEPTH && l->pred[b] != NO_PC; i++) {
		const struct insn *last;

		b = l->pred[b];
		last = &l->code[l->g->b[b].end - 1];
		*l->asked = 0;
		if (last->kind == K_CBRA && later_depends(l, last->guard, 0) == TID)
			return true;
	}
	return false;
}

/* Do all threads of a block, or of a warp, wait for each other here? */
static bool waits(const struct insn *in, bool warp)
{
	switch ((enum kind)in->kind) {
	case K_BAR: return true;
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_WARPSYNC: return warp;
	default: return false;
	}
}

static bool waits_in(const struct later *l, u32 from, u32 to, bool warp)
{
	for (; from < to; from++)
		if (waits(&l->code[from], warp))
			return true;
	return false;
}

static bool one_place(const struct later *l, const struct insn *in)
{
	*l->asked = 0;
	return (in->space == SPACE_GLOBAL || in->space == SPACE_SHARED || in->space == SPACE_GENERIC) && !(later_depends(l, in->o[4], 0) & (TID | OTHER));
}

/* Of a block in x: what programs ask of it is whether it is one warp, and what they do is the same then at each such place. */
static const u16 widths[] = { 16, LANES, 2 * LANES, 1024 };
#define ALL_WIDTHS ((1u << sizeof(widths) / sizeof(*widths)) - 1)

/* Which branches go by that alone */
static void ask_widths(struct later *l)
{
	struct cfg *g = l->g;
	u32 i, w, p;

	for (i = 0; i < g->nb; i++) {
		const struct insn *last = &l->code[g->b[i].end - 1];
		_Alignas(64) u64 v[LANES];

		l->not[0][i] = l->not[1][i] = 0;
		if (g->b[i].order == NO_PC || last->kind != K_CBRA || last->taken == last->fall)
			continue;
		for (w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
			struct numbers n = { .l = l, .width = widths[w] };

			later_number(&n, last->guard, v, 0);
			memcpy(&p, v, sizeof(p));
			if (n.unknown || n.own || n.lanes || n.nothers || (p && p != ~0u))
				break;
			l->not[last->gneg ? p != 0 : !p][i] |= (u8)(1u << w);
		}
		if (w < sizeof(widths) / sizeof(*widths))
			l->not[0][i] = l->not[1][i] = 0;
	}
}

/* Widths in which block v's way number k may be gone */
static u32 open_to(const struct later *l, u32 v, u32 k)
{
	const struct insn *last = &l->code[l->g->b[v].end - 1];
	u32 to = l->g->b[v].succ[k];

	return last->kind != K_CBRA || last->taken == last->fall ? ALL_WIDTHS : ALL_WIDTHS & ~(u32)l->not[last->taken == to ? 0 : 1][v];
}

/* ... in which block b may be come to, by the branches right before it */
static u32 come_to_in(const struct later *l, u32 b)
{
	u32 in = ALL_WIDTHS, i, k, from;

	for (i = 0; i < DEPTH && (from = l->pred[b]) != NO_PC; i++, b = from)
		for (k = 0; k < l->g->b[from].nsucc; k++)
			if (l->g->b[from].succ[k] == b)
				in &= open_to(l, from, k);
	return in;
}

/* The blocks from whose ends a way leads to the start of b, past no place where a block waits for all its threads, or a warp for its lanes. */
static void ways_to(struct later *l, u32 b, bool warp)
{
	struct cfg *g = l->g;
	u32 i, k, round, there, to;
	bool more = true;

	if (l->to_block == b && l->to_warp == warp)
		return;
	l->to_block = b;
	l->to_warp = warp;
	memset(l->to, 0, g->nb);
	there = come_to_in(l, b);
	for (round = 0; more && round < 16; round++) {
		more = false;
		for (i = g->nb; i-- > g->left;) {
			u32 v = g->order[i];

			for (k = 0; k < g->b[v].nsucc; k++) {
				u32 s = g->b[v].succ[k];

				to = s == b ? there : 0;
				if (l->to[s] && !waits_in(l, g->b[s].start, g->b[s].end, warp))
					to |= l->to[s];
				to &= open_to(l, v, k);
				more |= (to & ~(u32)l->to[v]) != 0;
				l->to[v] |= (u8)to;
			}
		}
	}
}

/* Does a warp write what another one has read, or, within: do lanes touch what those of another strip do? */
static bool others_read(const struct places *w, const struct places *r, bool within)
{
	u32 a, b, i, k;

	/* what each thread has for itself from round to round says nothing of who has which place */
	if (w->n.nothers != r->n.nothers || w->n.nothers > MOST_OTHERS || w->n.own || r->n.own)
		return false;
	for (i = 0; i < w->n.nothers; i++) {
		for (k = 0; k < r->n.nothers && w->n.others[i] != r->n.others[k]; k++)
			;
		if (k == r->n.nothers)
			return false;
	}
	for (a = 0; a < (within ? 1 : WARPS); a++)
		for (u32 m = w->lanes[a]; m; m &= m - 1) {
			u32 lane = (u32)__builtin_ctz(m);
			u64 at = w->at[a][lane];

			for (b = 0; b < (within ? 1 : WARPS); b++)
				for (u32 q = (a == b) == within ? r->lanes[b] : 0; q; q &= q - 1) {
					u32 of = (u32)__builtin_ctz(q);

					if (at < r->at[b][of] + r->bytes && r->at[b][of] < at + w->bytes && !(within && of / STRIP_LANES == lane / STRIP_LANES))
						return true;
				}
		}
	return false;
}

static bool in_step(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_CVT: case K_CVTA: case K_LOP3: case K_LDPARAM: case K_SREG: case K_NOP: case K_LD: case K_ST:
	case K_LADDR:
		return false;
	default:
		return true;
	}
}

/* Accesses in block b that come behind others' of their own warp */
static void strips_in_step(struct later *l, struct insn *code, u32 b, u32 *pairs)
{
	u32 open[MOST_OPEN], n = 0, i, k;
	struct places p, q;
	bool known, whole;

	/* Where only some lanes of a warp may be, an exchange between them is none that a program without __syncwarp() could count on. */
	*l->asked = 0;
	whole = !(come_to_by(l, b, 0) & (TID | OTHER));
	for (k = l->g->b[b].start; k < l->g->b[b].end; k++) {
		struct insn *in = &code[k];

		if (in_step(in))
			n = 0;
		if ((in->kind != K_LD && in->kind != K_ST) || in->space != SPACE_SHARED)
			continue;
		for (i = 0, known = false; whole && i < n && !(in->flags & (INF_ONCE | INF_SYNC)) && in->guard == OPND_NONE && *pairs < MOST_STEPS; i++) {
			const struct insn *before = &code[open[i]];

			if (in->kind == before->kind || (in->o[4] == before->o[4] && in->imm == before->imm))
				continue;
			++*pairs;
			if (!known)
				later_places(l, in, b, false, 1, &p);
			known = true;
			later_places(l, before, b, false, 1, &q);
			if (others_read(&p, &q, true)) {
				in->flags |= INF_ONCE;
				n = 0;
			}
		}
		if (n < MOST_OPEN)
			open[n++] = k;
	}
}

/* Has each warp its place, which `in`, in block b, writes and other warps may have read? */
static bool read_by_others(struct later *l, const struct insn *in, u32 b, u32 *pairs)
{
	struct cfg *g = l->g;
	struct places w, r;
	u32 i, k;

	ways_to(l, b, false);
	for (u32 rows = 0; rows < 2; rows++) {
		later_places(l, in, b, rows, WARPS, &w);
		for (i = g->left; i < g->nb; i++) {
			const struct block *v = &g->b[g->order[i]];

			if (!l->to[g->order[i]] || g->order[i] == b)
				continue;
			for (k = v->end; k-- > v->start && l->code[k].kind != K_BAR;) {
				if (l->code[k].kind != K_LD || l->code[k].space != SPACE_SHARED)
					continue;
				if (++*pairs > MOST_PAIRS)
					return false;
				later_places(l, &l->code[k], g->order[i], rows, WARPS, &r);
				if (others_read(&w, &r, false))
					return true;
			}
		}
		if (!w.n.y)
			break;
	}
	return false;
}

/* Writes `in`, in block b, for each thread a place among which is one that the others have read, all of them the same? */
static bool one_of_all(struct later *l, const struct insn *in, u32 b, u32 ld, u32 *pairs)
{
	struct places w, r;

	if (++*pairs > MOST_PAIRS)
		return false;
	later_places(l, in, b, false, WARPS, &w);
	if (w.n.unknown)
		return false;
	later_places(l, &l->code[ld], l->block[ld], false, WARPS, &r);
	return !r.n.unknown && others_read(&w, &r, false);
}

/* As read_before(), where each thread has a place of its own */
static bool one_read_before(struct later *l, const struct insn *in, u32 b, u32 *pairs)
{
	u32 i;

	ways_to(l, b, false);
	for (i = 0; i < l->nones; i++) {
		u32 k = l->ones[i], v = l->block[k];

		if (v != b && l->to[v] && !waits_in(l, k, l->g->b[v].end, false) && one_of_all(l, in, b, k, pairs))
			return true;
	}
	return false;
}

/* May all threads have read what `in`, in block b, writes? */
static bool read_before(struct later *l, const struct insn *in, u32 b)
{
	struct cfg *g = l->g;
	u32 i, k;

	ways_to(l, b, false);
	for (i = g->left; i < g->nb; i++) {
		const struct block *v = &g->b[g->order[i]];

		if (!l->to[g->order[i]] || g->order[i] == b)
			continue;
		for (k = v->end; k-- > v->start && l->code[k].kind != K_BAR;)
			if (l->code[k].kind == K_LD && l->code[k].o[4] == in->o[4] && l->code[k].imm == in->imm && l->code[k].space == in->space &&
			    l->code[k].guard == OPND_NONE && !chosen(l, g->order[i]))
				return true;
	}
	return false;
}

/* Have all threads read, since the last barrier in block b itself, a place that code[k], of all of them, writes? */
static bool read_here(struct later *l, u32 k, u32 b, bool one, u32 *pairs)
{
	const struct insn *in = &l->code[k];
	u32 i, at;

	for (i = l->nones; i-- > 0;) {
		at = l->ones[i];
		if (l->block[at] != b || at >= k || waits_in(l, at, k, false) || memchr(l->g->late + at + 1, 1, k - at))
			continue;
		if (one ? l->code[at].o[4] == in->o[4] && l->code[at].imm == in->imm : one_of_all(l, in, b, at, pairs))
			return true;
	}
	return false;
}

static void late(struct cfg *g, u32 b, u32 k)
{
	g->b[b].later += !g->late[k];
	g->late[k] = 1;
}

/*
 * Some lanes of each warp write, and right behind that all threads of the block meet at a barrier: those who come to that are those who come to the branch before the
 * write, and code passes another barrier there from warp to warp. It keeps nobody waiting for ever, unless others wait for the write before they come: where a kernel
 * looks at what others write, there is none. Nor is there for the checker of races, which would see none.
 */
static bool barrier_before(struct later *l, u32 b)
{
	struct cfg *g = l->g;
	u32 d = l->pred[b], m, i, at;

	if (d == NO_PC || l->asks || g->c->m->e->mc || g->b[b].nsucc != 1 || g->b[d].nsucc != 2)
		return false;
	m = g->b[b].succ[0];
	at = g->b[d].end - 1;
	if (l->code[at].kind != K_CBRA || g->b[m].npred != 2 || m == b || m == d || (g->b[d].succ[0] != m && g->b[d].succ[1] != m))
		return false;
	for (i = g->b[m].start; i < g->b[m].end && !jit_barrier(&l->code[i]); i++)
		if (l->code[i].kind == K_CALL || l->code[i].kind == K_EXIT || l->code[i].kind == K_RET)
			return false;
	if (i == g->b[m].end || l->code[i].o[2] != OPND_NONE || (l->code[i].flags & INF_CLUSTER))
		return false;
	late(g, d, at);
	g->bar[at] = i + 1;
	return true;
}

static u32 strips_of(u32 lanes)
{
	u32 s = 0, i;

	for (i = 0; i < LANES / STRIP_LANES; i++)
		s |= (u32)(lanes >> i * STRIP_LANES << (LANES - STRIP_LANES) != 0) << i;
	return s;
}

/* Does code[k], in block b, tell of what lanes of other strips have stored, behind a fence, and no place since where the warp waits for its lanes? */
static bool speaks_for_warp(struct later *l, u32 k, u32 b, u32 *pairs)
{
	const struct insn *code = l->code;
	struct cfg *g = l->g;
	bool fence = false, others = false;
	struct places p, q;
	u32 i, n, who;

	if (code[k].space == SPACE_SHARED || waits_in(l, g->b[b].start, k, true))
		return false;
	later_places(l, &code[k], b, false, 1, &p);
	who = strips_of(p.lanes[0]);
	for (i = g->b[b].start; i < k; i++)
		fence |= code[i].kind == K_MEMBAR;
	ways_to(l, b, true);
	for (i = g->left; i < g->nb && !(fence && others); i++) {
		const struct block *v = &g->b[g->order[i]];

		if (!l->to[g->order[i]] || g->order[i] == b)
			continue;
		for (n = v->end; n-- > v->start && !waits(&code[n], true);) {
			fence |= code[n].kind == K_MEMBAR;
			if (others || code[n].kind != K_ST || (code[n].space != SPACE_GLOBAL && code[n].space != SPACE_GENERIC) || ++*pairs > MOST_PAIRS)
				continue;
			later_places(l, &code[n], g->order[i], false, 1, &q);
			others = strips_of(q.lanes[0]) & ~who;
		}
	}
	return fence && others;
}

void leaders_later(struct cfg *g)
{
	struct comp *c = g->c;
	u32 i, k, writes = 0, asked = 0, pairs = 0, steps = 0, told = 0, stores = 0, some = 0, looked = 0;
	bool fences = false;
	struct later l = { .g = g, .code = c->code, .asked = &asked, .to_block = NO_PC };

	if (!c->fn->entry || g->nb > MOST_BLOCKS)
		return;
	l.def = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
	l.pred = cneed(c, pool_alloc(&c->pool, g->nb * sizeof(u32)));
	l.to = cneed(c, pool_alloc(&c->pool, g->nb));
	for (i = 0; i < 2; i++)
		l.not[i] = cneed(c, pool_alloc(&c->pool, g->nb));
	l.more = cneed(c, pool_alloc(&c->pool, (6 * c->ncode + 1) * sizeof(u32)));
	l.block = cneed(c, pool_alloc(&c->pool, (c->ncode + 1) * sizeof(u32)));
	l.busy = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
	g->late = cneed(c, pool_alloc(&c->pool, c->ncode + 1));
	memset(g->late, 0, c->ncode + 1);
	g->bar = cneed(c, pool_alloc(&c->pool, (c->ncode + 1) * sizeof(u32)));
	memset(g->bar, 0, (c->ncode + 1) * sizeof(u32));
	memset(l.def, 0, c->nregs * sizeof(u32));
	memset(l.busy, 0, c->nregs);
	memset(l.block, 0xff, c->ncode * sizeof(u32));
	memset(l.more, 0, 6 * c->ncode * sizeof(u32));
	/* what no block has any more is nobody's: guards.c leaves what it has copied where it was */
	for (i = 0; i < g->nb; i++)
		for (k = g->b[i].start; g->b[i].order != NO_PC && k < g->b[i].end; k++) {
			l.block[k] = i;
			fences |= c->code[k].kind == K_MEMBAR;
			l.asks |= c->code[k].kind == K_CALL || c->code[k].kind == K_NANOSLEEP || (c->code[k].kind == K_ATOM && c->code[k].o[0] != OPND_NONE) ||
				  (c->code[k].kind == K_LD && (c->code[k].flags & (INF_SYNC | INF_ORDER)));
		}
	for (i = 0; i < c->ncode; i++)
		for (k = 0; l.block[i] != NO_PC && k < 6; k++) {
			u32 o = c->code[i].o[k];

			if (!(c->code[i].def >> k & 1) || o == OPND_NONE || (o & OPND_CONST) || l.def[o] == i + 1)
				continue;
			l.more[6 * i + k] = l.def[o];
			l.def[o] = i + 1;
		}
	memset(l.pred, 0xff, g->nb * sizeof(u32));
	for (i = 0; i < g->nb; i++)
		for (k = 0; g->b[i].order != NO_PC && k < g->b[i].nsucc; k++)   /* a jump that nobody comes to any more leads on as ever */
			if (g->b[g->b[i].succ[k]].npred == 1)
				l.pred[g->b[i].succ[k]] = i;
	ask_widths(&l);
	for (i = g->left; i < g->nb; i++)
		strips_in_step(&l, c->code, g->order[i], &steps);
	for (i = 0, k = OPND_NONE; i < c->ncode && l.nones < MOST_ONES && looked < MOST_LOOKED; i++) {
		const struct insn *in = &c->code[i];

		if (l.block[i] == NO_PC || in->kind != K_LD || in->space != SPACE_SHARED || in->guard != OPND_NONE || in->o[4] == k)
			continue;
		looked++;
		if (one_place(&l, in))
			l.ones[l.nones++] = i;
		else
			k = in->o[4];   /* the next ones' too, with another offset */
	}
	for (i = g->left; i < g->nb; i++) {
		u32 b = g->order[i], start = g->b[b].start;
		bool behind = false;    /* a barrier */
		int leader = -1;        /* not asked yet */

		for (k = start; k < g->b[b].end; k++) {
			const struct insn *in = &c->code[k];
			bool one, shared = in->space == SPACE_SHARED;

			behind |= in->kind == K_BAR;
			if (in->kind != K_ST && in->kind != K_ATOM)
				continue;
			if (!shared && (behind || g->b[b].later))
				continue;
			one = one_place(&l, in);
			if (!one && !shared && !fences)
				continue;
			if (leader < 0)
				leader = chosen(&l, b);
			if (leader ? behind || g->b[b].later : !l.nones || in->kind != K_ST || !shared || stores == MOST_WRITES)
				continue;
			if (leader) {
				if (++writes > MOST_WRITES)
					return;
				if ((one ? read_before(&l, in, b) : in->kind == K_ST && shared && read_by_others(&l, in, b, &pairs)) ||
				    (fences && speaks_for_warp(&l, k, b, &told))) {
					if (!barrier_before(&l, b))
						late(g, b, start);
				}
			} else {
				/* who comes here by what it has read, and writes what all of them do, is none of many */
				asked = 0;
				if (one && (come_to_by(&l, b, 0) & OTHER))
					continue;
				stores++;
				if (!behind && !g->late[start] && (one ? read_before(&l, in, b) : one_read_before(&l, in, b, &some)))
					late(g, b, start);
				if (read_here(&l, k, b, one, &some))
					late(g, b, k);
			}
		}
	}
}
