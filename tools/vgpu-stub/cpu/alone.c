/* SPDX-License-Identifier: MIT */
/*
 * Who else writes the memory that kernels have atomics on. A locked instruction takes some twenty cycles, ten times as long as one
 * without, and with one worker there is mostly nobody against whom it has to be locked: device memory is private to the context's
 * process, and in that process one thread runs grids. Then code does without (jit_atom.c, strip/atom.c). What else could write:
 *
 *   another worker            there is none: able is set for an engine of one core only
 *   grids on the dispatcher   small ones that are run in place while the worker has others: rt.c enters
 *   copies, fills, stream memory operations      the dispatcher's: engine.c enters, and ctx_mem.c by engine_ops.beside
 *   the client                has pinned and managed memory, which lies below the arena: code looks at addresses
 *   other contexts            reach what is exported or mapped from a shared file; the first such mapping: alone_never()
 *
 * A thread that is about to reduce without a lock says so (tstate.bare = 1) and then looks at `others`; whoever enters raises
 * `others` and then looks at bare. The first is done once a warp's instruction, so its fence is the other side's membarrier. Who
 * enters waits for one instruction of a warp, no longer: code that finds others has locks.
 */
#include <sched.h>

#include "../../../fw-protocol/vgpu_fence.h"
#include "cpu.h"

/* On the dispatcher, before there is a worker. */
void alone_open(struct engine *e)
{
	struct alone *x = &e->alone;

	x->home = cpu_ts;
	x->able = e->env.cores == 1 && e->mode == ENGINE_MODE_JIT && !e->vf && !vgpu_private_register();
	x->others = !x->able;
}

static void wait_for(const struct tstate *ts)
{
	/* Acquire: what it has written. Partner: the store of 0 behind the last lane, or of fault.c. */
	while (ts && ts != cpu_ts && __atomic_load_n(&ts->bare, __ATOMIC_ACQUIRE))
		sched_yield();
}

bool alone_enter(struct engine *e)
{
	struct alone *x = &e->alone;

	if (!__atomic_load_n(&x->used, __ATOMIC_RELAXED))
		return false;
	__atomic_fetch_add(&x->others, 1, __ATOMIC_SEQ_CST);
	/* Acquire: what its grids wrote. Partner: alone.listed goes down. Only this thread gives the worker any. */
	if (cpu_ts == x->home && !__atomic_load_n(&x->listed, __ATOMIC_ACQUIRE))
		return true;
	vgpu_private_fence();
	wait_for(x->home);
	wait_for(__atomic_load_n(&x->worker, __ATOMIC_ACQUIRE));
	return true;
}

void alone_leave(struct engine *e, bool entered)
{
	/* Release: what was written meanwhile. A thread that sees 0 comes behind it. */
	if (entered)
		__atomic_fetch_sub(&e->alone.others, 1, __ATOMIC_RELEASE);
}

void alone_never(struct engine *e)
{
	if (!e->alone.able)
		return;
	e->alone.able = false;
	__atomic_store_n(&e->alone.used, true, __ATOMIC_RELAXED);
	alone_enter(e);
}
