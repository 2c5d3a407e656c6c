/* SPDX-License-Identifier: MIT */
/*
 * Barriers of a block. Arrival is counted per thread: lanes that arrive wait with their pc at the
 * barrier while the rest of their warp runs on. A barrier without a count completes when every
 * thread that has not exited is there; with a count, a warp whose threads are all there counts
 * as a whole one, as the hardware counts.
 */
#include <string.h>

#include "memcheck.h"
#include "race.h"

static bool complete(const struct cta *c, struct barrier *b)
{
	u32 i, n = 0;

	if (c->over)
		return true;
	if (b >= &c->bar[GROUP_BARRIERS]) {
		for (i = 4 * (u32)(b - &c->bar[GROUP_BARRIERS]); i < c->nwarps && n < 4; i++, n++)
			if (c->warps[i].live & ~b->arrived[i])
				return false;
		return true;
	}
	if (!b->count) {
		/* a warp that is there stays there: threads only arrive and exit until the release */
		while (b->first < c->nwarps && !(c->warps[b->first].live & ~b->arrived[b->first]))
			b->first++;
		return b->first == c->nwarps;
	}
	for (n = b->again, i = 0; i < c->nwarps; i++)
		if (b->arrived[i])
			n += c->warps[i].live & ~b->arrived[i] ? (u32)__builtin_popcount(b->arrived[i]) : LANES;
	return n >= b->count;
}

/* The same of that of the cluster: when it is so in each of its blocks. */
static bool all_complete(struct cta *c, u32 id)
{
	u32 i;

	if (id != CLUSTER_BARRIER || c->g->team == 1)
		return complete(c, &c->bar[id]);
	for (i = 0; i < c->g->team; i++)
		if (!complete(c->team[i], &c->team[i]->bar[id]))
			return false;
	return true;
}

static void write_result(struct frame *f, const struct insn *in, const struct barrier *b, u32 m)
{
	u32 *d, l, v;

	if (in->sub != BAR_RED || in->o[0] == OPND_NONE)
		return;
	d = opnd(f, in->o[0]);
	if (in->sub2 == RED_POPC) {
		for (l = 0; l < LANES; l++)
			if (m >> l & 1)
				d[l] = b->popc;
		return;
	}
	v = in->sub2 == RED_AND ? !b->all_bad : b->any;
	*d = v ? *d | m : *d & ~m;
}

/* The lanes of one activation that wait at barrier id go on behind their instruction. */
static void release_frame(struct warp *w, struct frame *f, u32 id)
{
	u32 m = 0, k, l;

	if (f->bar_all && f == w->top && f->barred == f->lanes) {
		l = (u32)__builtin_ctz(f->barred);
		if (w->bar_id[l] != id)
			return;
		/* the whole warp came at once: it goes on at once */
		f->mask = f->barred;
		f->pc = f->lane_pc[l] + 1;
		f->barred = 0;
		f->next_wait = NO_PC;
		write_result(f, &f->fn->code[f->pc - 1], &w->cta->bar[id], f->mask);
		return;
	}
	for (k = f->barred; k; k &= k - 1)
		if (w->bar_id[l = (u32)__builtin_ctz(k)] == id)
			m |= 1u << l;
	if (!m)
		return;
	f->barred &= ~m;
	while (m) {                     /* they may have arrived at different instructions */
		u32 pc = f->lane_pc[__builtin_ctz(m)], same = 0;

		for (k = m; k; k &= k - 1)
			if (f->lane_pc[l = (u32)__builtin_ctz(k)] == pc)
				same |= 1u << l;
		for (k = same; k; k &= k - 1)
			f->lane_pc[__builtin_ctz(k)] = pc + 1;
		write_result(f, &f->fn->code[pc], &w->cta->bar[id], same);
		f->waiting |= same;
		m &= ~same;
	}
	f->next_wait = 0;               /* running lanes notice them at their next jump */
}

static void release_block(struct cta *c, u32 id)
{
	struct frame *t, *f;
	u32 i;

	race_phase(c);
	c->met = c->jit != NULL;
	for (i = 0; i < c->nwarps; i++)
		for (t = c->warps[i].top; t; t = apart_next(&c->warps[i], t))
			for (f = t; f; f = f->up)
				if (f->barred)
					release_frame(&c->warps[i], f, id);
	memset(&c->bar[id], 0, sizeof(c->bar[id]));
}

static void release(struct cta *c, u32 id)
{
	u32 i;

	if (id != CLUSTER_BARRIER || c->g->team == 1) {
		release_block(c, id);
		return;
	}
	for (i = 0; i < c->g->team; i++)
		if (!c->team[i]->over)
			release_block(c->team[i], id);
}

void bar_arrive(struct tstate *ts, struct warp *w, const struct insn *in, u32 m, u32 pc)
{
	struct cta *c = w->cta;
	struct frame *f = w->top;
	u32 first = (u32)__builtin_ctz(m), id = ((const u32 *)opnd(f, in->o[1]))[first], k, l, p;
	struct barrier *b;

	ts->mask = m;
	if (id >= CTA_BARRIERS && !(in->flags & INF_CLUSTER))
		fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, (int)first, id, "barrier number beyond 15");
	c->bar_used = true;
	b = &c->bar[id];
	if (in->o[2] != OPND_NONE)
		b->count = ((const u32 *)opnd(f, in->o[2]))[first];
	/* with a count, who arrives again before it completes counts again: bar.arrive, then bar.sync, of one warp */
	k = b->arrived[w->index] & m;
	b->again += k && !(w->live & ~k) ? LANES : (u32)__builtin_popcount(k);
	b->arrived[w->index] |= m;
	if (in->sub == BAR_RED) {
		p = *(u32 *)opnd(f, in->o[3]);
		if (in->flags & INF_CNEG)
			p = ~p;
		p &= m;
		b->popc += (u32)__builtin_popcount(p);
		b->any |= p;
		b->all_bad |= p ^ m;
	}
	if (in->sub != BAR_ARRIVE) {
		f->barred |= m;
		f->bar_all = m == f->lanes;
		for (k = m; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			f->lane_pc[l] = pc;
			w->bar_id[l] = (u8)id;
		}
	}
	if (all_complete(c, id))
		release(c, id);
}

/*
 * barrier.cluster.wait (PTX ISA 9.7.13.4): the lanes of m whose arrival the barrier still counts
 * wait for its completion; where it does not, the phase that they arrived in is over. Returned: those that wait.
 */
u32 bar_wait(struct warp *w, u32 m, u32 pc)
{
	struct frame *f = w->top;
	u32 k, l;

	m &= w->cta->bar[CLUSTER_BARRIER].arrived[w->index];
	f->barred |= m;
	f->bar_all = m == f->lanes;
	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		f->lane_pc[l] = pc;
		w->bar_id[l] = CLUSTER_BARRIER;
	}
	return m;
}

/* Threads have exited: barriers may not need to wait for them any more. */
void bar_exited(struct cta *c)
{
	u32 id, i, used;

	for (id = 0; id < ALL_BARRIERS; id++) {
		for (i = used = 0; i < c->nwarps; i++)
			used |= c->bar[id].arrived[i];
		for (i = 0; id == CLUSTER_BARRIER && i < c->g->team && c->g->team > 1; i++)
			used |= c->team[i]->bar_used;
		if (used && all_complete(c, id)) {
			mc_bar_exited(c, id);
			release(c, id);
		}
	}
}
