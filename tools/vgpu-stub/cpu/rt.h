/* SPDX-License-Identifier: MIT */
/* Grids and workers, for those who run or make grids themselves: rt.c and launch.c; block.c, verify.c and devrt*.c call them. */
#ifndef VGPU_CPU_RT_H
#define VGPU_CPU_RT_H

#include "cpu.h"

/* Both are written by threads that fault, without the lock, and never become 0 again while anybody looks. */
static inline u32 sticky(const struct engine *e)
{
	return __atomic_load_n(&e->sticky, __ATOMIC_RELAXED);
}

static inline u32 status_of(const struct grid *g)
{
	return __atomic_load_n(&g->status, __ATOMIC_RELAXED);
}

/* The first one stays. */
static inline void fail_with(u32 *word, u32 status)
{
	u32 zero = 0;

	__atomic_compare_exchange_n(word, &zero, status, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* launch.c: VGPU_ST_OK, or why not; how many threads a block has */
#define COOP_RESIDENT 4096      /* blocks of a cooperative grid, all of them started */
u32 launch_allowed(struct engine *e, const struct engine_launch *l, struct func *fn, u64 *threads);
/* The grid of the next launch, with nothing started: the dispatcher's until it is appended to the list. */
struct grid *grid_home(struct engine *e, u64 nblocks, u64 cookie);
struct grid *grid_make(struct engine *e, const struct engine_launch *l, struct func *fn, u32 threads);
/* At its start: from here on each of its blocks does the work of several (coarsen.c). False: it stays as it was, but for its constants where there is no memory. */
bool grid_coarsen(struct engine *e, struct grid *g);
/*
 * A turn of it is over, the lock held where others know the grid. True: all blocks that do the work of several have run, and what is left at the right of each row,
 * not enough for one of those, is next, by the ordinary function.
 */
bool grid_rest(struct engine *e, struct grid *g);
/* join.c: of how many of its blocks each may do the work, as one that is wider. *to is the launch's own block; false: it stays that */
bool join_grid(const struct engine *e, const struct func *fn, const struct grid *g, struct join *to);
/* grid_make() for a kernel that a kernel has launched, on a worker. */
struct grid *grid_make_child(struct engine *e, const struct engine_launch *l, struct func *fn, u32 threads, u64 nth);
void grid_free(struct engine *e, struct grid *g);

/* tune.c: is this launch the coarse function's? Its blocks have run. It is time to make that function: called by a thread that is about to run blocks of g */
bool tune_takes(const struct func *fn);
void tune_took(struct grid *g, const struct jit *ran, u64 ticks, u64 done);
void tune_due(struct grid *g);

/* rt.c */
void rt_give_back(struct turn *t);      /* the blocks that t has not started; any thread */
/* For who runs a grid by itself (verify.c): the first four with the lock held. */
bool grid_ended(struct engine *e, const struct grid *g);
bool grid_pick(struct engine *e, struct grid *g, struct turn *t);
bool grid_put(struct engine *e, struct turn *t);
void cta_put(struct engine *e, struct cta *c);
u32 grid_start(struct engine *e, struct grid *g);       /* here or by the workers */
u32 grid_hand_over(struct engine *e, struct grid *g);   /* the workers go on with it */
u32 grid_finish(struct engine *e, struct grid *g);      /* it has ended here: tells that */
u32 rt_launch(struct engine *e, const struct engine_launch *l);
u32 rt_gemm(struct engine *e, u32 op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, u64 cookie);
int rt_start(struct engine *e);
void rt_stop(struct engine *e);
/* With the lock held: so many more things to do. */
void rt_wake(struct engine *e, u64 n);

#endif
