/* SPDX-License-Identifier: MIT */
/*
 * One thread alone: atomics without a lock (alone.c).
 */
#ifndef VGPU_ALONE_H
#define VGPU_ALONE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct tstate;
struct func;
struct grid;
struct turn;

struct alone {
	uint32_t others;        /* who may write device memory beside the thread that runs a grid; 0: nobody. With several workers only in a solo */
	uint32_t listed;        /* grids that are the workers' */
	bool able, used;        /* it can be 0; a kernel looks at it */
	struct tstate *home, *worker;   /* of the dispatcher; of the only worker, or of who had the last solo */
	bool solo;              /* there is one. Written with the lock */
};

#define SOLO_TRIAL 8u           /* turns of either kind in a trial */

/* Of a kernel, with the lock held: what its turns took together and alone. */
struct solo {
	bool reduces;           /* its code has atomics that may go without a lock */
	bool better;            /* by the last trial */
	uint32_t turns;         /* since a trial began */
	uint64_t ticks[2][SOLO_TRIAL];  /* of a block, in the trial's turns together and alone */
};

void alone_open(struct engine *e);
/* Around what the caller writes to memory that kernels reach, while some may be running. */
void alone_enter(struct engine *e);
void alone_leave(struct engine *e);
/* A kernel has atomics without a lock, where nobody else is. */
void alone_used(struct func *fn);
/* With several workers, with the lock held: may g have no turn, since another has one and it goes faster by one at a time? */
bool alone_waits(const struct engine *e, const struct grid *g);
/* A turn begins, or is over. Between the two, and without the lock: alone_beside(), before the first block. */
void alone_turn(struct engine *e, struct turn *t);
void alone_turned(struct engine *e, struct turn *t);
void alone_beside(struct engine *e, const struct turn *t);
/* Another process has come to reach device memory: from now on nobody is alone. */
void alone_never(struct engine *e);

#endif
