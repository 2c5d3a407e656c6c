/* SPDX-License-Identifier: MIT */
/*
 * Several blocks of a row as one. The blocks of a matrix's product with a vector differ by %ctaid.x and nothing else, one or a few rows of the matrix each: all
 * of them read the vector, make its addresses, count the same rounds and meet at the same barriers. In a kernel whose branches do not hang on
 * %ctaid.x, neighbours go the same way; one block that does the work of several makes once what is the same for them ("block coarsening"). Of two:
 *
 *      ld   y, [yp]                       ld   y, [yp]
 *      mad  a, %ctaid.x, n, p             mad  a, %ctaid.x, n, p
 *      ld   x, [a]                 ==>    ld   x, [a]
 *      fma  s, x, y, s                    fma  s, x, y, s
 *                                         mad  a', %ctaid.x + 1, n, p
 *                                         ld   x', [a']
 *                                         fma  s', x', y, s'
 *
 * A block's *own* is what hangs on %ctaid.x, what was read from shared or local memory (a window for each, one behind the other) or by a strong or atomic
 * access, and what was made of it; a register is own if anything own is ever written to it. What is not own is made once. Both blocks'
 * instructions are of one thread then, so:
 *  - no loop's branch is own, nor the guard of an end: a loop that waits for others reads what is own, so nobody is kept from going on by its neighbour;
 *  - what lies between an own branch and where its ways meet, straight on from there, is gone through for one block after the other (a *fork*); with a loop in it it is a
 *    guard (coarsen_guard.c): together by lanes of which each block's holds;
 *  - a load that is not own reads for both at once, which blocks that know nothing of each other have to put up with;
 *  - what is not own goes before what is in a *piece* of a block of code; where it would overtake what it must not (a register that is read
 *    before, a store, a barrier), another piece begins.
 *
 * The kernel's ordinary code stays what is run for other grids, by the interpreter and under tools; the other one is a function of its own
 * (func.coarse), compiled from the same text. An instruction of it says whose it is (insn.twin): a fault names the block.
 *
 * In: blocks in order, registers not yet slots. Out: the same blocks. Called by cfg.c: coarsen_pays() for kernels, coarsen() for the other function.
 */
#include <string.h>

#include "coarsen.h"
#include "gen.h"
#include "jit.h"
#include "lanes.h"

#define SHARED_MOST (64u << 10) /* bytes of all windows */
#define LOCAL_MOST (16u << 10)  /* of all frames of a thread */
#define LOOPS_MOST 256u         /* looked at */
#define FORK_LONGEST 256u       /* instructions of a fork */

u32 jit_coarse;

/* ---- what is own --------------------------------------------------------------------------------- */

/* In memory of which each block, or each of its threads, has its own. */
static bool window(const struct insn *in)
{
	return (in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM || in->kind == K_CVTA) && (in->space == SPACE_SHARED || in->space == SPACE_LOCAL);
}

static bool strong(const struct insn *in) { return in->kind == K_ATOM || ((in->kind == K_LD || in->kind == K_ST) && (in->flags & INF_SYNC)); }

static bool is_own(const struct coarse *v, u32 o) { return o != OPND_NONE && !(o & OPND_CONST) && v->own[o]; }

static bool reads_own(const struct coarse *v, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && is_own(v, in->o[k]))
			return true;
	return is_own(v, in->guard);
}

static bool makes_own(const struct coarse *v, const struct insn *in, u32 b)
{
	return v->forked[b] || (in->kind == K_SREG && in->sub == SR_CTAID_X) || window(in) || strong(in) || reads_own(v, in);
}

/* Is it done for each block? */
static bool for_each(const struct coarse *v, const struct insn *in, u32 b)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && is_own(v, in->o[k]))
			return true;
	return makes_own(v, in, b);
}

static bool spread(struct coarse *v)
{
	bool more = true;
	u32 at, b, i, k;

	while (more) {
		more = false;
		v->c->fn->work += v->c->ncode;
		if (compile_too_much(v->c->fn))
			return false;
		for (at = v->g->left; at < v->g->nb; at++) {
			b = v->g->order[at];
			for (i = v->g->b[b].start; i < v->g->b[b].end; i++) {
				const struct insn *in = &v->c->code[i];

				if (!makes_own(v, in, b))
					continue;
				for (k = 0; k < 6; k++)
					if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !v->own[in->o[k]])
						v->own[in->o[k]] = 1, more = true;
			}
		}
	}
	return true;
}

/* ---- forks ---------------------------------------------------------------------------------------- */

static const struct insn *last_of(const struct coarse *v, u32 b) { return &v->c->code[v->g->b[b].end - 1]; }

/* Lanes of a warp wait for each other at in: 1; warps do, or lanes end: 2. */
static int meets(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_WARPSYNC: case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX:
		return 1;
	case K_BAR: case K_MEMBAR: case K_ACTIVEMASK: case K_TENSOR: case K_RET: case K_EXIT:
		return 2;
	default:
		return 0;
	}
}

/* Ways out of block b are open: *n blocks that somebody comes to, *back lead back within f. False: one leads back beyond it. */
static bool opens(struct coarse *v, u32 b, const struct fork *f, u32 *n, u32 *back)
{
	const struct block *from = &v->g->b[b];
	u32 k;

	for (k = 0; k < from->nsucc; k++) {
		if (v->g->b[from->succ[k]].order > from->order)
			*n += !v->ways[from->succ[k]]++;
		else if (coarse_within(f, from->succ[k]))
			++*back;
		else
			return false;
	}
	return from->nsucc;
}

/* The fork behind block b. Blocks are looked at in their order, so none is before all that lead to it. */
static bool walk(struct coarse *v, u32 b, struct fork *f)
{
	struct cfg *g = v->g;
	u32 at, x, i, n = 0, size = 0, back = 0, had = 0;

	f->from = b;
	f->n = 0;
	f->meets = 0;
	if (!opens(v, b, f, &n, &back))
		return false;
	for (at = g->b[b].order + 1;; at++) {
		x = g->order[g->left + at];
		if (!v->ways[x])
			continue;
		if (n == 1) {
			f->join = x;
			f->loops = back;
			return back == had && f->meets <= 1;
		}
		size += g->b[x].end - g->b[x].start;
		if (f->n == FORK_MOST || size > FORK_LONGEST || v->ways[x] != v->forth[x])
			return false;
		for (i = g->b[x].start; i < g->b[x].end; i++)
			f->meets |= meets(&v->c->code[i]);
		f->block[f->n++] = x;
		had += v->back[x];
		n--;
		/* where nothing is open any more, loops have no end, and ways never meet */
		if (!opens(v, x, f, &n, &back) || !n)
			return false;
	}
}

/* Own branches become forks. False: one cannot. */
static bool forks(struct coarse *v, bool *more)
{
	struct cfg *g = v->g;
	u32 at, b, i;

	*more = false;
	for (at = g->left; at < g->nb; at++) {
		struct fork *f;

		b = g->order[at];
		if (v->forked[b] || (last_of(v, b)->kind != K_JMP && last_of(v, b)->kind != K_CBRA) || !is_own(v, last_of(v, b)->guard))
			continue;
		for (f = v->forks; f && f->from != b; f = f->next)
			;
		if (f)
			continue;
		f = cfg_zeroes(g, sizeof(*f));
		v->ways = cfg_zeroes(g, g->nb * sizeof(u32));
		v->c->fn->work += g->nb;
		if (compile_too_much(v->c->fn) || !walk(v, b, f))
			return false;
		if (f->loops && !coarse_guard(v, f))
			return false;
		for (i = 0; i < f->n && !f->loops; i++)
			v->forked[f->block[i]] = 1;
		*v->last = f;
		v->last = &f->next;
		*more = true;
	}
	return true;
}

/* ---- may it be ------------------------------------------------------------------------------------ */

static bool counts(u8 sr)
{
	switch (sr) {
	case SR_TID_X: case SR_TID_Y: case SR_TID_Z: case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z:
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z: case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
	case SR_LANEID: case SR_LANEMASK_EQ: case SR_LANEMASK_LE: case SR_LANEMASK_LT: case SR_LANEMASK_GE: case SR_LANEMASK_GT:
		return true;
	}
	return false;
}

static bool may(const struct coarse *v, const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_LDPARAM: case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX:
	case K_TENSOR: case K_ISSPACEP: case K_NOP:
		return true;
	case K_GEN:
		return in->u.gen == gen_cvt || in->u.gen == gen_cvt_pack || in->u.gen == gen_cvt_small || in->u.gen == gen_video || in->u.gen == gen_product ||
		       in->u.gen == gen_sparse;
	case K_SREG:
		return counts(in->sub);
	case K_CVTA:
		return in->guard == OPND_NONE;
	case K_LD: case K_ST: case K_ATOM:
		return !window(in) || (in->imm > -(1 << 24) && in->imm < 1 << 24);
	case K_BAR:
		return in->sub == BAR_SYNC && in->guard == OPND_NONE && !(in->flags & INF_CLUSTER) && !reads_own(v, in);
	case K_WARPSYNC: case K_MEMBAR: case K_ACTIVEMASK:
		return !reads_own(v, in);
	case K_JMP: case K_CBRA:
		return true;            /* forks() has looked */
	case K_RET: case K_EXIT:
		return !is_own(v, in->guard);
	default:
		return false;
	}
}

static void count_here(struct coarse *v)
{
	const struct cfg *g = v->g;
	u32 at, k;

	v->back = cfg_zeroes(v->g, g->nb * sizeof(u32));
	v->forth = cfg_zeroes(v->g, g->nb * sizeof(u32));
	for (at = g->left; at < g->nb; at++) {
		const struct block *b = &g->b[g->order[at]];

		for (k = 0; k < b->nsucc; k++)
			++*(g->b[b->succ[k]].order <= b->order ? &v->back[b->succ[k]] : &v->forth[b->succ[k]]);
	}
}

/* Which registers are own? False: it may not be. */
static bool look(struct coarse *v)
{
	struct comp *c = v->c;
	bool more = true;
	u32 b, i;

	if (!c->fn->entry || c->fn->reserved || c->fn->launches || c->late || c->fn->reqcluster[0] || c->fn->explicit_cluster || c->fn->max_cluster)
		return false;
	/* that of a grid with its windows in it */
	for (i = 0; i < c->fn->npro; i++)
		if (c->fn->pro[i].kind == K_SREG && c->fn->pro[i].sub == SR_TOTAL_SMEM)
			return false;
	v->apart = c->fn->fixed_shared ? (c->fn->shared_bytes + 127) & ~127u : COARSE_DYNAMIC;
	if (v->apart < c->fn->shared_bytes)
		return false;
	v->frames = (c->fn->local_bytes + 15) & ~15u;
	if (c->fn->further > MOST || COARSE * v->apart > SHARED_MOST || COARSE * v->frames > LOCAL_MOST)
		return false;
	v->own = cfg_zeroes(v->g, c->nregs + 1);
	v->end = v->g->nb;
	v->seen = cfg_zeroes(v->g, v->g->nb * sizeof(u32));
	v->stack = cfg_zeroes(v->g, v->g->nb * sizeof(u32));
	v->forked = cfg_zeroes(v->g, v->g->nb);
	v->guarded = cfg_zeroes(v->g, v->g->nb);
	count_here(v);
	v->last = &v->forks;
	while (more)
		if (!spread(v) || !forks(v, &more))
			return false;
	for (b = v->g->left; b < v->g->nb; b++)
		for (i = v->g->b[v->g->order[b]].start; i < v->g->b[v->g->order[b]].end; i++)
			if (!may(v, &c->code[i]))
				return false;
	return true;
}

/* ---- does it pay ---------------------------------------------------------------------------------- */

static bool loads(const struct insn *in) { return in->kind == K_LD && in->space != SPACE_SHARED && in->space != SPACE_PARAM; }

/* A load from memory, or made of one. Registers are noted in the code's order: a round of a loop is enough. */
static bool weighs(struct coarse *v, const struct insn *in)
{
	bool heavy = loads(in) || (in->kind == K_LD && in->space == SPACE_SHARED);
	u32 k;

	for (k = 0; k < 6 && !heavy; k++)
		heavy = (in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && v->heavy[in->o[k]];
	for (k = 0; k < 6 && heavy; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
			v->heavy[in->o[k]] = 1;
	return heavy;
}

/*
 * The loop of the blocks at places from to last of the order. Both load, and what is the same is a thirtieth of what is made of that, at least: addresses, rounds
 * and meetings are the same besides. Who has several rows in a block of its own already reads four times as much as it shares, and gains nothing.
 */
static bool loop_pays(struct coarse *v, u32 from, u32 last)
{
	u32 at, i, n[2] = { 0, 0 }, load[2] = { 0, 0 };

	for (at = from; at <= last; at++) {
		u32 no = v->g->order[v->g->left + at];
		const struct block *b = &v->g->b[no];

		for (i = b->start; i < b->end; i++) {
			const struct insn *in = &v->c->code[i];
			bool own = for_each(v, in, no);

			n[own] += weighs(v, in);
			load[own] += loads(in);
		}
	}
	return load[0] && load[1] && load[1] <= 4 * load[0] && n[0] * 30 >= n[1];
}

enum pays coarsen_pays(struct cfg *g)
{
	struct coarse v = { .g = g, .c = g->c };
	const struct fork *f;
	u32 b, i, n = 0;

	if (!look(&v))
		return COARSE_NOT;
	if (jit_coarse)
		return COARSE_PAYS;
	/* copies take room, and votes time: a trial says whether it is worth them */
	for (f = v.forks; f; f = f->next)
		if (f->loops)
			return COARSE_MAY;
	v.heavy = cfg_zeroes(g, g->c->nregs + 1);
	for (b = g->left; b < g->nb; b++) {
		const struct block *at = &g->b[g->order[b]];

		for (i = 0; i < at->nsucc; i++)
			if (g->b[at->succ[i]].order <= at->order && n++ < LOOPS_MOST && loop_pays(&v, g->b[at->succ[i]].order, at->order))
				return COARSE_PAYS;
	}
	return COARSE_MAY;
}

/* ---- the others' ---------------------------------------------------------------------------------- */

/* What block k of the row has in the place of register o. */
u32 coarse_others(struct coarse *v, u32 o, u32 k)
{
	u32 *to;

	if (v->named && o != OPND_NONE && !(o & OPND_CONST) && v->named[o])
		return v->named[o];
	if (!k || !is_own(v, o))
		return o;
	to = &v->other[(k - 1) * v->n + o];
	if (!*to)
		*to = new_reg_like(v->c, o);
	return *to;
}

/* What the instruction makes, and n. */
static void append_sum(struct coarse *v, struct insn in, u64 n)
{
	struct insn add = in;
	enum type t = in.dw ? T_U64 : T_U32;

	in.o[0] = new_reg(v->c, t);
	cfg_append(v->g, &in);
	add.kind = K_LANE;
	add.lop = LOP_ADD;
	add.type = t;
	add.u.lane = lane_find(LOP_ADD, t);
	add.use = 14;
	add.space = add.sub = 0;
	add.o[1] = add.o[3] = in.o[0];
	add.o[2] = konst(v->c, n, in.dw);
	cfg_append(v->g, &add);
}

void coarse_append(struct coarse *v, u32 at, u32 k)
{
	struct insn in = v->c->code[at];
	u64 far;
	u32 i;

	for (i = 0; i < 6; i++)
		if ((in.def | in.use) >> i & 1)
			in.o[i] = coarse_others(v, in.o[i], k);
	in.guard = coarse_others(v, in.guard, k);
	in.twin = (u8)k;
	far = (u64)k * (in.space == SPACE_SHARED ? v->apart : v->frames);
	if (k && in.kind == K_SREG && in.sub == SR_CTAID_X) {
		append_sum(v, in, k);
	} else if (far && in.kind == K_CVTA && window(&in)) {
		append_sum(v, in, in.sub ? 0 - far : far);
	} else {
		if (window(&in) && in.kind != K_CVTA)
			in.imm += (s64)far;
		cfg_append(v->g, &in);
	}
}

static void piece_ends(struct coarse *v)
{
	u32 i, k;

	for (i = 0; i < v->nonce; i++)
		coarse_append(v, v->once[i], 0);
	for (k = 0; k <= v->c->fn->further; k++)
		for (i = 0; i < v->neach; i++)
			coarse_append(v, v->each[i], k);
	v->nonce = v->neach = 0;
	v->stored = v->touched = false;
	v->piece++;
}

/* Would it, done before what is own in this piece, overtake what it must not? */
static bool overtakes(const struct coarse *v, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE && v->read[in->o[k]] == v->piece)
			return true;
	return (in->kind == K_LD && v->stored) || (in->kind == K_ST && v->touched);
}

static void note_read(struct coarse *v, const struct insn *in)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
			v->read[in->o[k]] = v->piece;
	if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
		v->read[in->guard] = v->piece;
	v->stored |= in->kind == K_ST || in->kind == K_ATOM;
	v->touched |= in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM;
}

/* Nothing goes past it. */
static bool stays(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_BAR: case K_WARPSYNC: case K_MEMBAR: case K_ACTIVEMASK: case K_JMP: case K_CBRA: case K_RET: case K_EXIT:
		return true;
	default:
		return false;
	}
}

static void rewrite(struct coarse *v, u32 no)
{
	struct block *b = &v->g->b[no];
	u32 start = v->c->ncode, fall = v->c->code[b->end - 1].fall, i;
	const struct fork *f;

	/* its branch, if that is a guard's */
	for (f = v->forks; f && !(f->loops && f->from == no); f = f->next)
		;
	v->piece++;
	for (i = b->start; i < b->end; i++) {
		const struct insn *in = &v->c->code[i];

		if (f && i + 1 == b->end) {
			piece_ends(v);
			fall = f->head;
			coarse_guard_all(v, f, i);
		} else if (stays(in)) {
			piece_ends(v);
			coarse_append(v, i, 0);
		} else if (for_each(v, in, no)) {
			note_read(v, in);
			v->each[v->neach++] = i;
		} else {
			if (overtakes(v, in))
				piece_ends(v);
			v->once[v->nonce++] = i;
		}
	}
	piece_ends(v);
	v->c->code[v->c->ncode - 1].fall = fall;
	for (i = b->start; i < b->end; i++)
		cfg_nop(&v->c->code[i]);
	b->start = start;
	b->end = v->c->ncode;
}

void coarse_copy(struct coarse *v, u32 b, u32 like, u32 k)
{
	const struct block *was = &v->g->b[like];
	u32 at;

	v->g->b[b].start = v->c->ncode;
	for (at = was->start; at < was->end; at++)
		coarse_append(v, at, k);
	v->g->b[b].end = v->c->ncode;
}

/* What copy k has of the way to block b: a block of the fork's own, or where all of its ways lead. */
static u32 leads(const struct fork *f, const u32 *to, u32 b, u32 behind)
{
	u32 i;

	for (i = 0; i < f->n; i++)
		if (f->block[i] == b)
			return to[i];
	return behind;
}

/* Block b is as block like was, of copy k: its ways lead to the copy's blocks, or behind it. */
void coarse_lead(struct coarse *v, u32 b, u32 like, const struct fork *f, const u32 *to, u32 behind)
{
	struct block *n = &v->g->b[b];
	const struct block *was = &v->g->b[like];
	struct insn *in = &v->c->code[n->end - 1];
	u32 *succ = cfg_zeroes(v->g, (was->nsucc + 1) * sizeof(u32)), k;

	for (k = 0; k < was->nsucc; k++)
		succ[k] = leads(f, to, was->succ[k], behind);
	n->nsucc = was->nsucc;
	n->succ = succ;
	if (in->kind == K_JMP || in->kind == K_CBRA)
		in->taken = leads(f, to, in->taken, behind);
	if (in->kind != K_JMP)
		in->fall = leads(f, to, in->fall, behind);
}

/* One block of the row after the other goes through a fork: the first one by its own blocks, each further one by copies, behind a copy of the branch. */
static void fork_out(struct coarse *v, const struct fork *f)
{
	struct cfg *g = v->g;
	u32 head[MOST + 1], to[MOST + 1][FORK_MOST], k, i, more = v->c->fn->further;

	for (k = 0; k <= more; k++) {
		head[k] = k ? g->nb++ : f->from;
		for (i = 0; i < f->n; i++)
			to[k][i] = k ? g->nb++ : f->block[i];
	}
	for (k = 1; k <= more; k++) {
		g->b[head[k]].start = v->c->ncode;
		coarse_append(v, g->b[f->from].end - 1, k);
		g->b[head[k]].end = v->c->ncode;
		for (i = 0; i < f->n; i++)
			coarse_copy(v, to[k][i], f->block[i], k);
	}
	/* the originals last: the copies' edges are made of theirs */
	for (k = more + 1; k-- > 0;) {
		u32 behind = k < more ? head[k + 1] : f->join;

		for (i = 0; i < f->n; i++)
			coarse_lead(v, to[k][i], f->block[i], f, to[k], behind);
		coarse_lead(v, head[k], f->from, f, to[k], behind);
	}
}

static void count_ways(struct cfg *g)
{
	u32 b, k;

	for (b = 0; b < g->nb; b++)
		g->b[b].npred = 0;
	for (b = 0; b < g->nb; b++)
		for (k = 0; k < g->b[b].nsucc; k++)
			g->b[g->b[b].succ[k]].npred++;
}

void coarsen(struct cfg *g)
{
	struct coarse v = { .g = g, .c = g->c };
	u32 b, most = 0, n = g->c->nregs + 1, more = 0;
	struct block *blocks;
	struct fork *f;

	if (!look(&v)) {
		lex_fail(&g->c->lx, VGPU_ST_NOT_SUPPORTED, "blocks of a row do not go the same way");
		return;
	}
	v.n = n;
	v.other = cfg_zeroes(g, (size_t)n * v.c->fn->further * sizeof(u32));
	v.read = cfg_zeroes(g, n * sizeof(u32));
	for (b = 0; b < g->nb; b++)
		most = g->b[b].end - g->b[b].start > most ? g->b[b].end - g->b[b].start : most;
	v.once = cfg_zeroes(g, most * sizeof(u32));
	v.each = cfg_zeroes(g, most * sizeof(u32));
	for (f = v.forks; f; f = f->next)
		more += v.forked[f->from] ? 0 : (v.c->fn->further + f->loops) * (1 + f->n);
	blocks = cfg_zeroes(g, (g->nb + more) * sizeof(*blocks));
	memcpy(blocks, g->b, g->nb * sizeof(*blocks));
	g->b = blocks;
	for (f = v.forks; f; f = f->next)
		if (f->loops)
			coarse_guard_out(&v, f);
	for (b = g->left; b < v.end; b++)
		if (!v.forked[g->order[b]])
			rewrite(&v, g->order[b]);
	for (f = v.forks; f; f = f->next)
		if (!v.forked[f->from] && !f->loops)
			fork_out(&v, f);
	count_ways(g);
	g->c->others = v.other;
	g->c->nothers = n;
	g->c->fn->next_shared = v.apart;
	g->c->fn->next_local = v.frames;
	if (g->c->fn->fixed_shared)     /* else a launch says how much a window has: launch.c */
		g->c->fn->shared_bytes += g->c->fn->further * v.apart;
	g->c->fn->local_bytes = (1 + g->c->fn->further) * v.frames;
}
