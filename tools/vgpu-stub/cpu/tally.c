/* SPDX-License-Identifier: MIT */
/*
 * Sums that a worker keeps to itself. Workers that add to the same few lines of memory, as for a histogram, take them from each other at each addition, and
 * locks cost as much as ten additions without. Where nothing but additions comes to an allocation while a grid runs (roots.c), nobody can tell when they do: so
 * each worker has words of its own, all 0 at first, that stand for those there, adds to them without a lock, and brings what has become of them to where it
 * belongs when it leaves the grid, before the grid's end is told.
 *
 *      red [a], v              a - lo < bytes in all lanes that run:  [a + delta] += v         (jit_atom.c, strip/atom.c)
 *
 * A grid does not end before all its keepers have brought theirs. Sums are kept of the only grid there is, of some length, and of allocations that a core has
 * room for twice; what goes elsewhere has locks. The interpreter adds where it belongs at any time: sums commute.
 *
 * Sums of floats are rounded in another order by that, which no two runs of such a grid have in common anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "rt.h"
#include "tally.h"

#define LINE 64u
#define THREAD_TICKS 8u         /* of a thread, at least, where nothing is known yet */

/* So many clock ticks of the grid for a byte of each worker: eight times what it takes to bring it home. */
u64 tally_worth = 24;
u64 tally_brought;

/* That of the ordinary function is the coarse one's, too. */
static const struct tally_plan *plan_of(const struct grid *g) { return g->fn->of ? &g->fn->of->tally : &g->fn->tally; }

static u64 param(const struct grid *g, u32 off) { return *(const u64 *)(g->pwin + off); }

/* Do all other pointers of the kernel lead elsewhere? */
static bool apart(const struct engine *e, const struct grid *g, const struct tally_plan *p, u64 lo, u64 bytes)
{
	u64 base;
	int plain;
	u32 i;

	for (i = 0; i < p->nothers; i++) {
		u64 v = param(g, p->other[i]);

		/* of a pointer to nowhere the kernel makes no use */
		if (v && (v - lo < bytes || !e->env.allocation(e->env.owner, v, &base, &plain)))
			return false;
	}
	return true;
}

void tally_grid(struct engine *e, struct grid *g)
{
	const struct tally_plan *p = plan_of(g);
	u64 ticks = g->est * g->nblocks, least = (u64)THREAD_TICKS * g->threads * g->nblocks, lo, bytes;
	int plain;
	u32 i;

	g->tally_bytes = 0;
	if (!p->nreds || e->nthreads < 2 || e->mode != ENGINE_MODE_JIT || !e->alone.able || !e->env.allocation || g->cooperative || g->team > 1)
		return;
	ticks = ticks > least ? ticks : least;
	for (i = 0; i < p->nreds; i++) {
		bytes = e->env.allocation(e->env.owner, param(g, p->red[i]), &lo, &plain) & ~7ull;
		if (!bytes || !plain || bytes > TALLY_BYTES || (lo & 7) || ticks < tally_worth * e->nthreads * bytes || !apart(e, g, p, lo, bytes))
			continue;
		g->tally_lo = lo;
		g->tally_bytes = (u32)bytes;
		return;
	}
}

void tally_turn(const struct turn *t)
{
	struct tally *k = &cpu_ts->tally;

	if (!t->g->tally_bytes || k->g)
		return;
	k->plan = plan_of(t->g);
	k->g = t->g;
	t->g->keepers++;
}

void tally_open(struct tstate *ts)
{
	struct tally *k = &ts->tally;

	if (!k->g || k->bytes)
		return;
	if (!k->mem) {
		k->mem = aligned_alloc(LINE, TALLY_BYTES + LINE);
		if (!k->mem)
			return;
		memset(k->mem, 0, TALLY_BYTES + LINE);
	}
	k->lo = k->g->tally_lo;
	k->delta = (u64)k->mem + k->lo % LINE - k->lo;
	k->bytes = k->g->tally_bytes;
}

/* Words are taken as they are brought: a fault leaves none behind that would be brought twice, or to another grid. */
static void bring(struct tstate *ts)
{
	const struct tally_plan *p = ts->tally.plan;
	const struct insn in = { .kind = K_ATOM, .sub = p->op, .type = p->type, .size = p->size, .space = SPACE_GLOBAL };
	u32 at, end = (u32)(ts->tally.lo % LINE + ts->tally.bytes), i;
	u64 line[LINE / 8], a, any, n = 0;

	for (at = 0; at < end; at += LINE) {
		memcpy(line, ts->tally.mem + at, LINE);
		for (i = 0, any = 0; i < LINE / 8; i++)
			any |= line[i];
		if (!any)
			continue;
		memset(ts->tally.mem + at, 0, LINE);
		a = (u64)ts->tally.mem + at - ts->tally.delta;
		for (i = 0; i < LINE / p->size; i++) {
			u64 v = 0;

			memcpy(&v, (char *)line + i * p->size, p->size);
			if (!v)
				continue;
			mem_reduce(&in, a + i * p->size, v);
			n++;
		}
	}
	__atomic_fetch_add(&tally_brought, n, __ATOMIC_RELAXED);
}

struct grid *tally_close(struct engine *e, struct tstate *ts)
{
	struct tally *k = &ts->tally;
	struct grid *g = k->g;

	if (k->bytes) {
		pthread_mutex_unlock(&e->lock);
		if (!sigsetjmp(ts->jmp, 0)) {
			ts->armed = 1;
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			bring(ts);
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			ts->armed = 0;
		} else {
			ts->armed = 0;
			memset(k->mem, 0, TALLY_BYTES + LINE);
			turn_lost(ts, g);
		}
		pthread_mutex_lock(&e->lock);
	}
	k->bytes = 0;
	k->g = NULL;
	g->keepers--;
	return g;
}

void tally_drop(struct tstate *ts)
{
	free(ts->tally.mem);
	ts->tally = (struct tally){ .g = NULL };
}
