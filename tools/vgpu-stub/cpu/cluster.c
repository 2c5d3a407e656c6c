/* SPDX-License-Identifier: MIT */
/*
 * Clusters of several blocks (PTX ISA 3.2, 5.1.6.2, 9.7.13.4). Called by block.c for grids that have them, by barrier.c and mem.c for what blocks do
 * to each other, and by interp.c for the instructions that name another block.
 *
 * All blocks of a cluster are one worker's, which gives them turns: so they are all there, as the ISA promises, what code does in its block's
 * shared memory needs no lock although others of the cluster reach it, and a grid is given out by clusters. A turn of all ends when its budget
 * is spent; what is put away then is the first block, which owns the others.
 */
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "jit.h"
#include "memcheck.h"
#include "verify.h"

#define SHARE (1 << 14)         /* of a block, in one round: they wait for each other ... */
#define FIRST_SHARE (1 << 16)   /* ... but not before code has come to where they do */

void cluster_free(struct engine *e, struct cta *c)
{
	u32 i;

	if (!c->team || c->team[0] != c)
		return;
	for (i = 1; i < c->nteam; i++) {
		c->team[i]->team = NULL;
		cta_free(e, c->team[i]);
	}
	free(c->team);
	c->team = NULL;
	c->nteam = 0;
}

int cluster_fit(struct engine *e, struct cta *c, struct grid *g)
{
	u32 i;

	if (!c->team) {
		c->team = calloc(MAX_CLUSTER, sizeof(struct cta *));
		if (!c->team)
			return -1;
		c->team[0] = c;
		c->nteam = 1;
	}
	for (; c->nteam < g->team; c->nteam++) {
		struct cta *other = cta_new();

		if (!other)
			return -1;
		other->team = c->team;
		c->team[c->nteam] = other;
	}
	/* the first one last: that its memory fits says so of all */
	for (i = g->team; i-- > 0;)
		if (block_fit(e, c->team[i], g))
			return -1;
	return 0;
}

/* The nth cluster of the grid: its blocks at their first instruction. */
void cluster_start(struct cta *c, u64 nth)
{
	struct grid *g = c->g;
	u32 n[3], first[3], i, k;

	for (k = 0; k < 3; k++)
		n[k] = g->dim[k] / g->cluster[k];
	first[0] = (u32)(nth % n[0]) * g->cluster[0];
	first[1] = (u32)(nth / n[0] % n[1]) * g->cluster[1];
	first[2] = (u32)(nth / n[0] / n[1]) * g->cluster[2];
	for (i = 0; i < g->team; i++) {
		struct cta *b = c->team[i];

		b->rank = i;
		b->at[0] = i % g->cluster[0];
		b->at[1] = i / g->cluster[0] % g->cluster[1];
		b->at[2] = i / g->cluster[0] / g->cluster[1];
		for (k = 0; k < 3; k++)
			b->id[k] = first[k] + b->at[k];
		b->linear = ((u64)b->id[2] * g->dim[1] + b->id[1]) * g->dim[0] + b->id[0];
		block_start(b);
	}
}

/* All threads of all blocks that have not ended wait at barriers. */
_Noreturn static void deadlock(struct tstate *ts, struct cta *c)
{
	u32 i, k;

	for (i = 0; c->team[i]->over; i++)
		;
	c = c->team[i];
	for (k = 0; k < c->nwarps && !c->warps[k].live; k++)
		;
	ts->w = &c->warps[k];
	ts->in = NULL;
	fault_raise(VGPU_ST_TIMEOUT, __builtin_ctz(ts->w->live), 0, "deadlock: all threads of the cluster wait at barriers");
}

/* A turn of one block. What is left of its share is in *left. */
static enum run turn_of(struct tstate *ts, struct cta *b, s64 *left)
{
	u32 more = 0;
	enum run r;

	if (b->fresh && b->jit) {
		b->fresh = false;
		r = jit_block(ts, b, left, &more);
		if (r == RUN_DONE || *left <= 0)
			return r;
	}
	b->fresh = false;
	return block_turns(ts, b, left);
}

enum run cluster_run(struct tstate *ts, struct cta *c, s64 left)
{
	u32 i, ended = 0, n = c->g->team;
	bool moved;

	while (left > 0 && !__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED)) {
		moved = false;
		for (i = ended = 0; i < n; i++) {
			struct cta *b = c->team[i];
			s64 share = b->fresh && b->jit ? FIRST_SHARE : SHARE, given = share;
			enum run r;

			if (b->over) {
				ended++;
				continue;
			}
			r = turn_of(ts, b, &share);
			moved |= r != RUN_BLOCKED || share != given;
			left -= given - share + 16;
			if (r != RUN_DONE)
				continue;
			b->over = true;
			ended++;
			bar_exited(b);
		}
		if (ended == n)
			return RUN_DONE;
		for (i = 0; !moved && i < n; i++)
			moved = !c->team[i]->over && apart_wake(c->team[i]);
		if (!moved)
			deadlock(ts, c);
	}
	return RUN_BUDGET;
}

/* ---- addresses ------------------------------------------------------------------------------------- */

u64 cluster_place(const struct cta *c, u64 a, u64 bytes)
{
	u64 rank = a >> FAR_RANK, off = a & ((1u << FAR_RANK) - 1);
	u32 total = c->g->shared_total;

	if (rank > c->g->team || bytes > total || off > total - bytes)
		return 0;
	return (rank && c->g->team > 1 ? c->team[rank - 1]->shared : c->shared) + off;
}

/* Whose shared memory address a, a generic one, is in: its rank, or MAX_CLUSTER. */
static u32 owner(const struct cta *c, u64 a)
{
	u32 i;

	if (c->g->team == 1)
		return a - c->shared < c->g->shared_total ? 0 : MAX_CLUSTER;
	for (i = 0; i < c->g->team; i++)
		if (a - c->team[i]->shared < c->g->shared_total)
			return i;
	return MAX_CLUSTER;
}

struct cta *cluster_block(const struct cta *c, bool generic, u64 a, u64 bytes, u64 *off)
{
	u32 r = generic ? owner(c, a) : a >> FAR_RANK ? (u32)(a >> FAR_RANK) - 1 : c->rank;

	if (r >= c->g->team)
		return NULL;
	*off = generic ? a - c->team[r]->shared : a & ((1u << FAR_RANK) - 1);
	return bytes <= c->g->shared_total && *off <= c->g->shared_total - bytes ? c->team[r] : NULL;
}

static u64 base_of(const struct cta *c, u32 rank)
{
	return c->g->team == 1 ? c->shared : c->team[rank]->shared;
}

/* The generic address as one in .shared::cluster; one that is in no block's memory names none. */
static u64 as_far(const struct cta *c, u64 a)
{
	u32 r = owner(c, a);

	if (r == MAX_CLUSTER)
		return (u64)0xff << FAR_RANK;
	a -= base_of(c, r);
	return c->g->team == 1 || r == c->rank ? a : a | (u64)(r + 1) << FAR_RANK;
}

/*
 * o[0] = the address o[1], a generic one if sub, in block o[2] of the cluster. A rank that the cluster does not have gives what no access takes; the own
 * one is named too where there are others, which may be handed the address.
 */
void gen_mapa(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const struct cta *c = ts->w->cta;
	const u32 *rank = opnd(f, in->o[2]);
	u32 l;

	for (; m; m &= m - 1) {
		u64 a;

		l = (u32)__builtin_ctz(m);
		a = in->aw ? ((const u64 *)opnd(f, in->o[1]))[l] : ((const u32 *)opnd(f, in->o[1]))[l];
		if (in->sub) {
			u32 own = owner(c, a);

			a = own == MAX_CLUSTER || rank[l] >= c->g->team ? 0 : a - base_of(c, own) + base_of(c, rank[l]);
		} else if (c->g->team > 1 || rank[l]) {
			a = (a & ((1u << FAR_RANK) - 1)) | (u64)(rank[l] < MAX_CLUSTER ? rank[l] + 1 : 0xff) << FAR_RANK;
		}
		if (in->aw)
			((u64 *)opnd(f, in->o[0]))[l] = a;
		else
			((u32 *)opnd(f, in->o[0]))[l] = (u32)a;
	}
}

/* o[0] = rank of the block that has address o[1], a generic one if sub */
void gen_ctarank(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const struct cta *c = ts->w->cta;
	u32 *d = opnd(f, in->o[0]), l;

	for (; m; m &= m - 1) {
		u64 a;

		l = (u32)__builtin_ctz(m);
		a = in->aw ? ((const u64 *)opnd(f, in->o[1]))[l] : ((const u32 *)opnd(f, in->o[1]))[l];
		if (in->sub)
			a = as_far(c, a);
		d[l] = a >> FAR_RANK ? (u32)(a >> FAR_RANK) - 1 : c->rank;
	}
}

/* cvta.shared::cluster: o[0] = o[1]; sub: to it, else from it */
void gen_far(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const struct cta *c = ts->w->cta;
	const u64 *a = opnd(f, in->o[1]);
	u64 *d = opnd(f, in->o[0]);
	u32 l, rank;

	for (; m; m &= m - 1) {
		l = (u32)__builtin_ctz(m);
		if (in->sub) {
			d[l] = as_far(c, a[l]);
			continue;
		}
		rank = (u32)(a[l] >> FAR_RANK);
		d[l] = rank > c->g->team ? 0 : (rank ? base_of(c, rank - 1) : c->shared) + (a[l] & ((1u << FAR_RANK) - 1));
	}
}

/* isspacep.shared::cluster: o[0], a predicate: is o[1] in any block's? */
void gen_isfar(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const struct cta *c = ts->w->cta;
	const u64 *a = opnd(f, in->o[1]);
	u32 *d = opnd(f, in->o[0]), r = 0, l;

	for (l = 0; l < LANES; l++)
		r |= (u32)(owner(c, a[l]) != MAX_CLUSTER) << l;
	*d = (*d & ~m) | (r & m);
}

/* ---- one copy to several blocks -------------------------------------------------------------------- */

u32 cluster_mask(struct tstate *ts, u32 lane, u64 mask)
{
	const struct cta *c = ts->w->cta;

	mask &= 0xffff;
	if (mask >> c->g->team)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)lane, mask, "a copy to a block that the cluster does not have");
	return (u32)mask;
}

u64 cluster_other(struct tstate *ts, u32 lane, u32 rank, u64 a, u64 bytes)
{
	const struct cta *c = ts->w->cta;
	u64 off = a & ((1u << FAR_RANK) - 1), at = cluster_place(c, c->g->team > 1 ? off | (u64)(rank + 1) << FAR_RANK : off, bytes);

	if (!at)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)lane, off, "shared memory of a block of the cluster");
	return at;
}

/* o[1]: a global address; o[2]: the place in shared memory, and in the upper half the number of bytes; o[3]: which blocks */
void gen_multicast(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const struct engine_env *e = &ts->e->env;

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m), r, to, bytes, i;
		u64 from = ((const u64 *)opnd(f, in->o[1]))[l], w = ((const u64 *)opnd(f, in->o[2]))[l];

		to = (u32)w;
		bytes = (u32)(w >> 32) & ~15u;
		if ((from | to) & 15)
			fault_raise(VGPU_ST_MISALIGNED, (int)l, from & 15 ? from : to, "a copy to several blocks");
		if (from < e->span_base || from - e->span_base > e->span_bytes || bytes > e->span_bytes - (from - e->span_base))
			fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)l, from, "a copy to several blocks");
		if (ts->e->mc && bytes)
			mc_bytes(ts, in, l, SPACE_GLOBAL, from, bytes, K_MC_LD);
		for (r = cluster_mask(ts, l, ((const u32 *)opnd(f, in->o[3]))[l]); r; r &= r - 1) {
			u64 at = cluster_other(ts, l, (u32)__builtin_ctz(r), to, bytes);

			for (i = 0; ts->e->mc && i < bytes; i += 16)
				mc_bytes(ts, in, l, SPACE_GENERIC, at + i, 16, K_MC_ST);
			memcpy((void *)(uintptr_t)at, (const void *)(uintptr_t)from, bytes);
		}
	}
}

/* The mbarriers at o[1] of the blocks o[3] learn that o[2] bytes have come. */
void gen_multitell(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m), at = ((const u32 *)opnd(f, in->o[1]))[l], bytes = ((const u32 *)opnd(f, in->o[2]))[l], r;

		if (at & 7)
			fault_raise(VGPU_ST_MISALIGNED, (int)l, at, "an mbarrier");
		for (r = cluster_mask(ts, l, ((const u32 *)opnd(f, in->o[3]))[l]); r; r &= r - 1)
			mbar_arrived((u64 *)(uintptr_t)cluster_other(ts, l, (u32)__builtin_ctz(r), at, 8), bytes);
	}
}
