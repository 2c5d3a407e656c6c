/* SPDX-License-Identifier: MIT */
/*
 * Who else writes the memory that kernels have atomics on. A locked instruction takes some twenty cycles, ten times as long as one
 * without, and with one worker there is mostly nobody against whom it has to be locked: device memory is private to the context's
 * process, and in that process one thread runs grids. Then code does without (jit_atom.c, strip/atom.c). What else could write:
 *
 *   another worker            there is none, or it has no turn: see below
 *   grids on the dispatcher   small ones that are run in place while the worker has others: rt.c enters
 *   copies, fills, stream memory operations      the dispatcher's: engine.c enters, and ctx_mem.c by engine_ops.beside
 *   the client                has pinned and managed memory, which lies below the arena: code looks at addresses
 *   other contexts            reach what is exported or mapped from a shared file; the first such mapping: alone_never()
 *
 * A thread that is about to reduce without a lock says so (tstate.bare = 1) and then looks at `others`; whoever enters raises
 * `others` and then looks at bare. The first is done once a warp's instruction, so its fence is the other side's membarrier. Who
 * enters waits for one instruction of a warp, no longer: code that finds others has locks.
 *
 * Several workers that add to the same few lines of memory, as for a histogram, take them from each other at each addition: two need six
 * times as long as one without locks. So what a kernel's blocks take is tried, on all workers and on one at a time, and what is done sooner
 * stays for a while. One at a time is a solo, of the only grid that there is: it begins while nobody else has a turn, and whoever gets one
 * before its end, of a grid that has come, enters.
 */
#include <sched.h>

#include "../../../fw-protocol/vgpu_fence.h"
#include "cpu.h"
#include "rt.h"

/* On the dispatcher, before there is a worker. */
void alone_open(struct engine *e)
{
	struct alone *x = &e->alone;

	x->home = cpu_ts;
	x->able = e->mode == ENGINE_MODE_JIT && !e->vf && !vgpu_private_register();
	x->others = !x->able || e->env.cores > 1;
}

static void wait_for(const struct tstate *ts)
{
	/* Acquire: what it has written. Partner: the store of 0 behind the last lane, or of fault.c. */
	while (ts && ts != cpu_ts && __atomic_load_n(&ts->bare, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void wait_for_both(const struct alone *x)
{
	vgpu_private_fence();
	wait_for(x->home);
	wait_for(__atomic_load_n(&x->worker, __ATOMIC_ACQUIRE));
}

void alone_enter(struct engine *e)
{
	struct alone *x = &e->alone;

	/* Before what follows. Partner: whoever is about to do without locks says so before he looks at others. */
	__atomic_fetch_add(&x->others, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&x->used, __ATOMIC_SEQ_CST) || (e->env.cores > 1 && !__atomic_load_n(&x->solo, __ATOMIC_SEQ_CST)))
		return;
	/* Acquire: what its grids wrote. Partner: alone.listed goes down. Only this thread gives the worker any. */
	if (cpu_ts != x->home || __atomic_load_n(&x->listed, __ATOMIC_ACQUIRE))
		wait_for_both(x);
}

void alone_leave(struct engine *e)
{
	/* Release: what was written meanwhile. A thread that sees 0 comes behind it. */
	__atomic_fetch_sub(&e->alone.others, 1, __ATOMIC_RELEASE);
}

/* Before the code is there for anybody. */
void alone_used(struct func *fn)
{
	__atomic_store_n(&fn->solo.reduces, true, __ATOMIC_RELAXED);
	__atomic_store_n(&fn->m->e->alone.used, true, __ATOMIC_SEQ_CST);
}

void alone_never(struct engine *e)
{
	if (!e->alone.able)
		return;
	e->alone.able = false;
	__atomic_store_n(&e->alone.used, true, __ATOMIC_RELAXED);
	alone_enter(e);
}

/* ---- one at a time ---------------------------------------------------------------------------------- */

#define STAYS 512u              /* turns, for each worker, that its outcome holds for */
#define GAIN 2u                 /* so many times as soon: workers that share a core, or a busy machine, take longer together without any atomics */

/* NULL: no solos. Grids that share the workers have them by turns, and an urgent one has all. */
static struct solo *solo_of(const struct engine *e, const struct grid *g)
{
	bool able = e->env.cores > 1 && e->alone.able && !e->urgent, only = e->grids.next == g && g->next == &e->grids;

	return able && only && g->fn && !g->native && !g->cooperative && g->team <= 1 && !g->tally_bytes &&
	       __atomic_load_n(&g->fn->solo.reduces, __ATOMIC_RELAXED) ? &g->fn->solo : NULL;
}

/* Together first: where workers never meet in a kernel there is nothing to gain. */
static bool goes_solo(const struct solo *s)
{
	return s->turns < 2 * SOLO_TRIAL ? s->turns >= SOLO_TRIAL : s->better;
}

bool alone_waits(const struct engine *e, const struct grid *g)
{
	const struct solo *s = g->running ? solo_of(e, g) : NULL;

	return s && goes_solo(s);
}

void alone_turn(struct engine *e, struct turn *t)
{
	struct alone *x = &e->alone;
	const struct solo *s = solo_of(e, t->g);

	t->solo = t->beside = false;
	if (x->solo) {
		__atomic_fetch_add(&x->others, 1, __ATOMIC_SEQ_CST);
		t->beside = true;
	} else if (s && goes_solo(s)) {         /* alone_waits(): and no other turn is in progress */
		/* Release: what it is. Partner: wait_for_both(). Then, in this order, as alone_enter() says. */
		__atomic_store_n(&x->worker, cpu_ts, __ATOMIC_RELEASE);
		__atomic_store_n(&x->solo, true, __ATOMIC_SEQ_CST);
		__atomic_fetch_sub(&x->others, 1, __ATOMIC_SEQ_CST);
		t->solo = true;
	}
}

void alone_beside(struct engine *e, const struct turn *t)
{
	if (t->beside)
		wait_for_both(&e->alone);
}

/* Of a trial's turns: one that another process took the processor from counts no more than others. */
static u64 median(const u64 *ticks)
{
	u64 v[SOLO_TRIAL];
	u32 i, k;

	for (i = 0; i < SOLO_TRIAL; i++) {
		for (k = i; k && v[k - 1] > ticks[i]; k--)
			v[k] = v[k - 1];
		v[k] = ticks[i];
	}
	return v[SOLO_TRIAL / 2];
}

/* A turn together counts where another had one as well. */
static void learn(struct engine *e, const struct turn *t)
{
	struct solo *s = t->done ? solo_of(e, t->g) : NULL;
	bool solo = s && goes_solo(s);

	if (!s || solo != t->solo || (!solo && s->turns < SOLO_TRIAL && !t->g->running))
		return;
	if (s->turns < 2 * SOLO_TRIAL)
		s->ticks[solo][s->turns % SOLO_TRIAL] = (t->ticks + (t->c ? t->c->spent : 0)) / t->done + 1;
	s->turns++;
	if (s->turns == 2 * SOLO_TRIAL)
		s->better = GAIN * median(s->ticks[true]) * e->nthreads < median(s->ticks[false]);
	else if (s->turns > 2 * SOLO_TRIAL + STAYS * e->nthreads)
		s->turns = 0;
	if (solo && !goes_solo(s))
		rt_wake(e, e->nthreads);
}

void alone_turned(struct engine *e, struct turn *t)
{
	struct alone *x = &e->alone;

	if (t->beside)
		alone_leave(e);
	if (t->solo) {
		__atomic_fetch_add(&x->others, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&x->solo, false, __ATOMIC_SEQ_CST);
	}
	learn(e, t);
}
