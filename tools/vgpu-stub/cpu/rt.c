/* SPDX-License-Identifier: MIT */
/*
 * Run time: grids, blocks, worker threads. A block runs for a slice, then goes to the end of its
 * grid's list and the worker takes the next grid: an endless kernel starves nobody, and blocks
 * that wait for each other (grid sync, decoupled look-back) all get their turn.
 *
 * Locking: engine.lock guards the list of grids, every grid's counters and the pools. A block
 * that runs belongs to its worker alone.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu.h"

#define SLICE (1 << 18)         /* budget of a block's turn, about a millisecond or two */
#define COOP_SLICE (1 << 14)     /* blocks of these wait for each other: short turns */
#define WARP_TURN (1 << 14)     /* of a warp's turn within it */
#define INLINE_BUDGET (1 << 15) /* what launch() spends in place */
#define INLINE_THREADS 2048
#define INLINE_WORK (1 << 17)   /* multiply-adds of a native grid that runs in place */
#define MAX_RESIDENT 64         /* started blocks of an ordinary grid */
#define COOP_RESIDENT 4096
#define SHARED_GUARD 65536
#define CTA_POOL 256            /* idle blocks that keep their memory */

static void grid_unlink(struct grid *g)
{
	g->prev->next = g->next;
	g->next->prev = g->prev;
}

static void grid_append(struct engine *e, struct grid *g)
{
	g->prev = e->grids.prev;
	g->next = &e->grids;
	g->prev->next = g;
	e->grids.prev = g;
}

/* ---- blocks ---------------------------------------------------------------------------- */

/* Activations that an exit or a fault left behind can be used again. */
static void drop_calls(struct warp *w)
{
	while (w->top && w->top != &w->main) {
		struct frame *f = w->top;

		w->top = f->up;
		f->up = w->spare;
		w->spare = f;
	}
}

static void cta_free(struct engine *e, struct cta *c)
{
	u32 i;

	for (i = 0; i < 32; i++) {
		drop_calls(&c->warps[i]);
		while (c->warps[i].spare) {
			struct frame *f = c->warps[i].spare;

			c->warps[i].spare = f->up;
			free(f);
		}
	}
	if (c->win)
		arena_release(e, c->win, c->win_bytes);
	free(c->mem);
	free(c);
}

/* Makes the block's memory fit its grid. Called without the lock: mapping memory takes time. */
static int cta_prepare(struct engine *e, struct cta *c, struct grid *g)
{
	u64 shared = ((u64)g->shared_total + 4095) & ~4095ull;
	u64 local = (u64)g->local_stride * g->nwarps * LANES;
	u64 need = local ? shared + SHARED_GUARD + local : shared;
	size_t regs = ((size_t)g->fn->frame_bytes + 63) & ~(size_t)63;
	u32 i;

	if (!need)
		need = 1;
	if (need + 4096 > c->win_bytes) {
		if (c->win)
			arena_release(e, c->win, c->win_bytes);
		c->win_commit = 0;
		c->win = arena_alloc(e, need, &c->win_bytes);
		if (!c->win) {
			c->win_bytes = 0;
			return -1;
		}
	}
	if (need > c->win_commit) {
		u64 up = (need + 65535) & ~65535ull;

		if (up > c->win_bytes - 4096)
			up = c->win_bytes - 4096;
		if (arena_commit(c->win, up))
			return -1;
		c->win_commit = up;
	}
	c->shared = c->win;
	c->local = c->win + shared + (local ? SHARED_GUARD : 0);
	if (regs * g->nwarps > c->mem_bytes) {
		free(c->mem);
		c->mem_bytes = regs * g->nwarps;
		c->mem = aligned_alloc(64, c->mem_bytes);
		if (!c->mem) {
			c->mem_bytes = 0;
			return -1;
		}
	}
	c->g = g;
	c->nwarps = g->nwarps;
	c->done_warps = c->next_warp = c->slices = 0;
	c->id[0] = (u32)(c->linear % g->dim[0]);
	c->id[1] = (u32)(c->linear / g->dim[0] % g->dim[1]);
	c->id[2] = (u32)(c->linear / g->dim[0] / g->dim[1]);
	if (c->bar_used)
		memset(c->bar, 0, sizeof(c->bar));
	c->bar_used = false;
	for (i = 0; i < g->nwarps; i++) {
		struct warp *w = &c->warps[i];
		u32 n = g->threads - i * LANES;

		w->cta = c;
		w->index = i;
		drop_calls(w);
		w->top = &w->main;
		w->depth = 0;
		w->live = n >= LANES ? ~0u : (1u << n) - 1;
		frame_start(&w->main, g->fn, c->mem + i * regs, w->live);
		w->main.up = NULL;
		if (g->fn->npro)
			w->main.base[1] = g->pool;
	}
	return 0;
}

static struct cta *cta_get(struct engine *e)
{
	struct cta *c = e->cta_pool;

	if (c) {
		e->cta_pool = c->next;
		e->ncta_pool--;
		return c;
	}
	return calloc(1, sizeof(*c));
}

static void cta_put(struct engine *e, struct cta *c)
{
	if (e->ncta_pool >= CTA_POOL) {
		cta_free(e, c);
		return;
	}
	c->next = e->cta_pool;
	e->cta_pool = c;
	e->ncta_pool++;
}

/* One report per grid, and none for grids that die with it. */
static void tell(struct engine *e, struct grid *g, const struct engine_fault *r)
{
	if (!__atomic_exchange_n(&g->status, r->status, __ATOMIC_SEQ_CST)) {
		u32 zero = 0;

		__atomic_compare_exchange_n(&e->sticky, &zero, r->status, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		e->env.fault(e->env.owner, r);
	}
}

static void report(struct tstate *ts, struct grid *g)
{
	struct warp *w = ts->w;
	struct engine_fault *r = &ts->rep;
	u32 t;

	if (!r->what)
		mem_describe(ts);
	if (!r->what)
		r->what = "fault";
	t = w->index * LANES + (u32)(ts->rep_lane < 0 ? 0 : ts->rep_lane);
	r->fn = g->fn->id;
	r->kernel = g->fn->name;
	memcpy(r->block, w->cta->id, sizeof(r->block));
	r->thread[0] = g->tid[0][t];
	r->thread[1] = g->tid[1][t];
	r->thread[2] = g->tid[2][t];
	r->ptx_line = ts->in ? ts->in->line : 0;
	tell(ts->e, g, r);
}

/* Turns of the block's warps until the budget is spent or none can run. */
static enum run cta_turns(struct engine *e, struct tstate *ts, struct cta *c, s64 left)
{
	u32 idle = 0, i;
	struct warp *w;

	while (left > 0 && !__atomic_load_n(&e->sticky, __ATOMIC_RELAXED)) {
		w = &c->warps[c->next_warp];
		if (++c->next_warp == c->nwarps)
			c->next_warp = 0;
		if (!w->live || !(w->top->mask | w->top->waiting | w->top->parked)) {
			if (++idle < c->nwarps)
				continue;
			for (i = 0; i < c->nwarps && !c->warps[i].live; i++)
				;
			if (i == c->nwarps)
				return RUN_DONE;
			/* every thread waits at a barrier that cannot complete */
			ts->w = &c->warps[i];
			ts->in = NULL;
			fault_raise(VGPU_ST_TIMEOUT, __builtin_ctz(ts->w->live), 0,
				    "deadlock: all threads of the block wait at barriers");
		}
		idle = 0;
		ts->budget = left < WARP_TURN ? left : WARP_TURN;
		left -= ts->budget + 16;
		warp_run(ts, w);
		left += ts->budget > 0 ? ts->budget : 0;
	}
	return RUN_BUDGET;
}

/* One slice of a block, with faults caught. */
static enum run cta_run(struct engine *e, struct tstate *ts, struct cta *c, s64 budget)
{
	enum run r;
	int why = sigsetjmp(ts->jmp, 0);

	if (why) {
		ts->armed = 0;
		_mm_setcsr(0x1f80);
		if (why == 1) {
			ts->rep.status = VGPU_ST_ILLEGAL_ADDRESS;
			ts->rep.address = ts->fault_addr;
			ts->rep.what = NULL;
			ts->rep_lane = -1;
		}
		report(ts, c->g);
		return RUN_FAULT;
	}
	ts->in = NULL;
	ts->mxcsr = 0;          /* unknown: the first operation that cares sets it */
	ts->armed = 1;
	r = cta_turns(e, ts, c, budget);
	ts->armed = 0;
	_mm_setcsr(0x1f80);
	return r;
}

/* A tile of a native grid, whole: what it costs is bounded by the tile's size and the depth k. */
static enum run native_run(struct tstate *ts, struct cta *c)
{
	int why = sigsetjmp(ts->jmp, 0);
	struct engine_fault *r = &ts->rep;

	if (why) {
		ts->armed = 0;
		if (why == 1) {
			r->status = VGPU_ST_ILLEGAL_ADDRESS;
			r->address = ts->fault_addr;
			r->what = "access to an operand of a matrix product";
		}
		r->fn = r->ptx_line = 0;
		r->kernel = c->g->job.op == VGPU_OP_GEMM ? "matrix product" : "triangular solve";
		memset(r->thread, 0, sizeof(r->thread));
		r->block[0] = (u32)c->linear;
		r->block[1] = r->block[2] = 0;
		tell(ts->e, c->g, r);
		return RUN_FAULT;
	}
	ts->armed = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	gemm_tile(ts, &c->g->job, c->linear);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ts->armed = 0;
	return RUN_DONE;
}

/* ---- grids ----------------------------------------------------------------------------- */

static void grid_free(struct engine *e, struct grid *g)
{
	u64 n = 65536;

	if (g->pwin)
		arena_release(e, g->pwin, n);
	free(g->pool);
	free(g);
}

static bool grid_ended(struct engine *e, const struct grid *g)
{
	return !g->running && (g->done_blocks == g->nblocks || g->status || e->sticky);
}

/* With the lock held: takes the grid out and hands it back; returns its status. */
static u32 grid_end(struct engine *e, struct grid *g, u64 *cookie)
{
	u32 st = g->status;
	struct cta *c;

	if (!st && g->done_blocks != g->nblocks)
		st = e->sticky ? e->sticky : VGPU_ST_INTERNAL;
	while ((c = g->suspended)) {
		g->suspended = c->next;
		cta_put(e, c);
	}
	*cookie = g->cookie;
	g->next = e->grid_pool;
	e->grid_pool = g;
	return st;
}

/* The next block of g to run, or NULL. Sets fresh when it still has to be prepared. */
static struct cta *grid_pick(struct engine *e, struct grid *g, bool *fresh)
{
	struct cta *c = g->suspended;
	bool more = g->next_block < g->nblocks && g->resident < g->max_resident;

	*fresh = false;
	if (g->status || e->sticky)
		return NULL;
	/* a block that has run long may be waiting for one that has not started */
	if (c && !(more && (c->slices >= 16 || g->cooperative))) {
		g->suspended = c->next;
		if (!g->suspended)
			g->tail = &g->suspended;
		g->running++;
		return c;
	}
	if (!more)
		return NULL;
	c = cta_get(e);
	if (!c) {
		g->status = VGPU_ST_OUT_OF_MEMORY;
		return NULL;
	}
	c->linear = g->next_block++;
	g->resident++;
	g->running++;
	*fresh = true;
	return c;
}

/* With the lock held: files what became of a block. */
static void grid_put(struct engine *e, struct grid *g, struct cta *c, enum run r)
{
	g->running--;
	if (r == RUN_BUDGET) {
		c->slices++;
		c->next = NULL;
		if (!g->suspended)
			g->tail = &g->suspended;
		*g->tail = c;
		g->tail = &c->next;
		return;
	}
	if (r == RUN_DONE)
		g->done_blocks++;
	g->resident--;
	cta_put(e, c);
}

static enum run run_one(struct engine *e, struct tstate *ts, struct grid *g, struct cta *c, bool fresh,
			s64 budget)
{
	if (g->native) {
		c->g = g;
		return native_run(ts, c);
	}
	if (fresh && cta_prepare(e, c, g) < 0) {
		u32 zero = 0;

		c->g = g;
		__atomic_compare_exchange_n(&g->status, &zero, VGPU_ST_OUT_OF_MEMORY, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return RUN_FAULT;
	}
	return cta_run(e, ts, c, budget);
}

static void *worker(void *arg)
{
	struct engine *e = arg;
	struct tstate *ts = tstate_get(e);
	struct grid *g;
	struct cta *c;
	bool fresh;
	enum run r;
	u64 cookie;
	u32 st;

	if (!ts)
		return NULL;
	pthread_mutex_lock(&e->lock);
	while (!e->stop) {
		c = NULL;
		for (g = e->grids.next; g != &e->grids; g = g->next) {
			if (grid_ended(e, g))
				break;
			c = grid_pick(e, g, &fresh);
			if (c)
				break;
		}
		if (g == &e->grids) {
			e->sleepers++;
			pthread_cond_wait(&e->work, &e->lock);
			e->sleepers--;
			continue;
		}
		if (c) {
			/* the grid goes to the end: grids share the workers evenly */
			if (g->next != &e->grids) {
				grid_unlink(g);
				grid_append(e, g);
			}
			pthread_mutex_unlock(&e->lock);
			r = run_one(e, ts, g, c, fresh, g->cooperative ? COOP_SLICE : SLICE);
			pthread_mutex_lock(&e->lock);
			grid_put(e, g, c, r);
		}
		if (grid_ended(e, g)) {
			grid_unlink(g);
			st = grid_end(e, g, &cookie);
			pthread_mutex_unlock(&e->lock);
			e->env.done(e->env.owner, cookie, st);
			pthread_mutex_lock(&e->lock);
		}
	}
	pthread_mutex_unlock(&e->lock);
	tstate_thread_exit();
	return NULL;
}

int rt_start(struct engine *e)
{
	sigset_t all, old;
	u32 i;

	e->threads = calloc(e->env.cores, sizeof(*e->threads));
	if (!e->threads)
		return -1;
	/* workers leave every signal but faults to the process's own threads */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < e->env.cores; i++)
		if (pthread_create(&e->threads[e->nthreads], NULL, worker, e) == 0)
			e->nthreads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e->nthreads ? 0 : -1;
}

void rt_stop(struct engine *e)
{
	struct grid *g;
	struct cta *c;
	u32 i;

	pthread_mutex_lock(&e->lock);
	e->stop = true;
	if (!e->sticky)
		e->sticky = VGPU_ST_CONTEXT_DEAD;       /* running blocks stop at their next turn */
	pthread_cond_broadcast(&e->work);
	pthread_mutex_unlock(&e->lock);
	for (i = 0; i < e->nthreads; i++)
		pthread_join(e->threads[i], NULL);
	free(e->threads);
	while ((g = e->grids.next) != &e->grids) {
		grid_unlink(g);
		while ((c = g->suspended)) {
			g->suspended = c->next;
			cta_free(e, c);
		}
		grid_free(e, g);
	}
	while ((g = e->grid_pool)) {
		e->grid_pool = g->next;
		grid_free(e, g);
	}
	while ((c = e->cta_pool)) {
		e->cta_pool = c->next;
		cta_free(e, c);
	}
}

/* ---- launch ---------------------------------------------------------------------------- */

static u32 check_launch(struct engine *e, const struct engine_launch *l, struct func *fn, u64 *threads)
{
	u64 shared, dyn;
	u32 i;

	*threads = 1;
	for (i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > (i == 2 ? 64u : 1024u) ||
		    l->grid[i] > (i ? 65535u : 0x7fffffffu))
			return VGPU_ST_INVALID_CONFIG;
		*threads *= l->block[i];
	}
	if (*threads > 1024)
		return VGPU_ST_INVALID_CONFIG;
	if (*threads > fn->max_threads)
		return VGPU_ST_LAUNCH_RESOURCES;
	if (fn->reqntid[0])
		for (i = 0; i < 3; i++)
			if (l->block[i] != fn->reqntid[i])
				return VGPU_ST_INVALID_CONFIG;
	dyn = (fn->shared_bytes + fn->dyn_align - 1) & ~(u64)(fn->dyn_align - 1);
	shared = l->shared_bytes ? dyn + l->shared_bytes : fn->shared_bytes;
	if (shared > e->env.shared_per_block_optin)
		return VGPU_ST_LAUNCH_RESOURCES;
	if (l->param_bytes < fn->param_bytes || (fn->param_bytes && !l->params) || l->param_bytes > 32768)
		return VGPU_ST_INVALID;
	if (l->flags & ~ENGINE_LAUNCH_COOPERATIVE)
		return VGPU_ST_NOT_SUPPORTED;
	if (l->flags & ENGINE_LAUNCH_COOPERATIVE) {
		u64 per_sm = 2048 / *threads, blocks = (u64)l->grid[0] * l->grid[1] * l->grid[2];

		per_sm = per_sm > 16 ? 16 : per_sm;
		if (blocks > per_sm * e->env.sm_count || blocks > COOP_RESIDENT)
			return VGPU_ST_LAUNCH_RESOURCES;
	}
	return VGPU_ST_OK;
}

/* A grid of the pool, with nothing started. */
static struct grid *grid_get(struct engine *e, u64 nblocks, u64 cookie)
{
	struct grid *g;
	u64 got;

	pthread_mutex_lock(&e->lock);
	g = e->grid_pool;
	if (g)
		e->grid_pool = g->next;
	pthread_mutex_unlock(&e->lock);
	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return NULL;
		g->e = e;
		/* the parameters, and behind them the workspace of cooperative launches */
		g->pwin = arena_alloc(e, 32768 + 4096, &got);
		if (!g->pwin || arena_commit(g->pwin, 32768 + 4096)) {
			free(g);
			return NULL;
		}
	}
	g->nblocks = nblocks;
	g->next_block = g->done_blocks = 0;
	g->resident = g->running = g->status = 0;
	g->suspended = NULL;
	g->tail = &g->suspended;
	g->cookie = cookie;
	g->gridid = ++e->next_gridid;
	g->native = g->cooperative = false;
	g->max_resident = MAX_RESIDENT;
	return g;
}

static struct grid *grid_make(struct engine *e, const struct engine_launch *l, struct func *fn, u32 threads)
{
	struct grid *g = grid_get(e, (u64)l->grid[0] * l->grid[1] * l->grid[2], l->cookie);
	u32 i;

	if (!g)
		return NULL;
	g->fn = fn;
	memcpy(g->dim, l->grid, sizeof(g->dim));
	memcpy(g->block, l->block, sizeof(g->block));
	g->threads = threads;
	g->nwarps = (threads + LANES - 1) / LANES;
	g->shared_bytes = l->shared_bytes;
	g->dyn_off = (fn->shared_bytes + fn->dyn_align - 1) & ~(fn->dyn_align - 1);
	g->shared_total = l->shared_bytes ? g->dyn_off + l->shared_bytes : fn->shared_bytes;
	g->local_stride = (fn->local_total + 15) & ~15u;
	g->cooperative = l->flags & ENGINE_LAUNCH_COOPERATIVE;
	if (g->cooperative)
		g->max_resident = COOP_RESIDENT;
	g->param_bytes = fn->param_bytes;
	if (fn->param_bytes)
		memcpy((void *)g->pwin, l->params, fn->param_bytes);
	g->coop_win = 0;
	if (g->cooperative) {
		g->coop_win = g->pwin + 32768;
		memset((void *)g->coop_win, 0, 4096);
		*(u32 *)g->coop_win = 4096;     /* its size; the barrier word follows */
	}
	if (memcmp(g->tid_block, g->block, sizeof(g->block))) {
		u32 x = 0, y = 0, z = 0;

		for (i = 0; i < 1024; i++) {
			g->tid[0][i] = x;
			g->tid[1][i] = y;
			g->tid[2][i] = z;
			if (++x == g->block[0]) {
				x = 0;
				if (++y == g->block[1]) {
					y = 0;
					z++;
				}
			}
		}
		memcpy(g->tid_block, g->block, sizeof(g->block));
	}
	if (!uniform_run(e, g)) {
		pthread_mutex_lock(&e->lock);
		g->next = e->grid_pool;
		e->grid_pool = g;
		pthread_mutex_unlock(&e->lock);
		return NULL;
	}
	return g;
}

/*
 * Small grids run here until the budget is spent: a launch of a tiny kernel then costs no hand-over.
 * True: the grid has ended.
 */
static bool run_inline(struct engine *e, struct grid *g)
{
	struct tstate *ts = tstate_get(e);
	s64 budget = INLINE_BUDGET;
	bool fresh, ended;
	struct cta *c;
	enum run r;

	if (!ts || g->nblocks * g->threads > INLINE_THREADS)
		return false;
	do {
		pthread_mutex_lock(&e->lock);
		c = grid_pick(e, g, &fresh);
		pthread_mutex_unlock(&e->lock);
		if (!c)
			return g->status || e->sticky;
		r = run_one(e, ts, g, c, fresh, budget);
		pthread_mutex_lock(&e->lock);
		grid_put(e, g, c, r);
		ended = grid_ended(e, g);
		pthread_mutex_unlock(&e->lock);
		budget -= INLINE_BUDGET / 8;
	} while (!ended && r == RUN_DONE && budget > 0);
	return ended;
}

/* Runs it here or hands it to the workers. */
static u32 grid_start(struct engine *e, struct grid *g)
{
	u64 cookie;
	u32 st;

	if (run_inline(e, g)) {
		pthread_mutex_lock(&e->lock);
		st = grid_end(e, g, &cookie);
		pthread_mutex_unlock(&e->lock);
		if (!st)
			return VGPU_ST_OK;
		/* it did start, so its end is told the same way as of any other */
		e->env.done(e->env.owner, cookie, st);
		return ENGINE_PENDING;
	}
	pthread_mutex_lock(&e->lock);
	grid_append(e, g);
	if (e->sleepers) {
		if (g->nblocks > 1)
			pthread_cond_broadcast(&e->work);
		else
			pthread_cond_signal(&e->work);
	}
	pthread_mutex_unlock(&e->lock);
	return ENGINE_PENDING;
}

u32 rt_launch(struct engine *e, const struct engine_launch *l)
{
	struct func *fn;
	struct grid *g;
	u64 threads;
	u32 st;
	char log[256];

	if (!l->fn || l->fn > e->nfuncs || !e->funcs[l->fn - 1] || !e->funcs[l->fn - 1]->entry)
		return VGPU_ST_BAD_HANDLE;
	fn = e->funcs[l->fn - 1];
	if (e->sticky)
		return e->sticky;
	st = func_compile(fn, log, sizeof(log));
	if (!st)
		st = check_launch(e, l, fn, &threads);
	if (st)
		return st;
	g = grid_make(e, l, fn, (u32)threads);
	if (!g)
		return VGPU_ST_OUT_OF_MEMORY;
	return grid_start(e, g);
}

u32 rt_gemm(struct engine *e, u32 op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, u64 cookie)
{
	struct gemm_job j = { .op = op, .b = *b, .p = *p };
	struct grid *g;
	u64 tiles;

	if (e->sticky)
		return e->sticky;
	tiles = gemm_plan(&j, e->nthreads);
	if (!tiles || tiles >> 48)      /* no memory holds so much; products of counts stay far from their limits */
		return VGPU_ST_INVALID;
	g = grid_get(e, tiles, cookie);
	if (!g)
		return VGPU_ST_OUT_OF_MEMORY;
	g->fn = NULL;
	g->native = true;
	g->job = j;
	g->threads = gemm_work(&j) <= INLINE_WORK ? 1 : INLINE_THREADS + 1;
	return grid_start(e, g);
}
