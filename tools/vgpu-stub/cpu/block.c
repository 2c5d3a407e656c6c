/* SPDX-License-Identifier: MIT */
/*
 * Blocks: their memory, their turns, what becomes of a fault in one.
 *
 * A turn is what a thread does between two looks at the list of grids (rt.c): it goes on with a suspended block,
 * or starts the blocks of a range one after the other on one struct cta. Most blocks end in their first turn, so that
 * path takes no lock, writes no line that other threads write and gives nothing back in between.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"
#include "disasm.h"
#include "jit.h"
#include "memcheck.h"
#include "snap.h"
#include "srcline.h"
#include "optrace.h"
#include "rt.h"
#include "verify.h"

#define WARP_TURN (1 << 14)     /* budget of a warp's turn within a block's */
#define FIRST_LOOK (1 << 12)    /* a block that needs more does not hold back those behind it ... */
#define FIRST_LOOK_CODE (1 << 16)       /* ... and of code, which takes some ten microseconds for as much */
#define LOOK_BLOCKS 8           /* from one look at the clock to the next */
#define SHARED_GUARD 65536
/*
 * A page before shared memory and one behind it. Rows are read whole, under the mask of the lanes that have looked where they are: a tile's left neighbour, where there is
 * one. Nothing is read for the others, but where their page is not there processors take a microcode's way: some 100 ns a load.
 */
#define SHARED_RIM 4096u

/* ---- memory ------------------------------------------------------------------------------ */

struct cta *cta_new(void)
{
	struct cta *c = aligned_alloc(64, (sizeof(*c) + 63) & ~(size_t)63);

	if (c)
		memset(c, 0, sizeof(*c));
	return c;
}

/* Activations that an exit or a fault left behind can be used again. */
static void drop_calls(struct warp *w)
{
	while (w->top && (w->top != &w->main || w->aside)) {
		struct frame *f = w->top;

		if (f == &w->main || f->napart) {       /* others that are apart first */
			w->top = w->aside;
			w->aside = w->top->next;
			continue;
		}
		w->top = f->up;
		if (f->apart)
			f->up->napart--;
		f->up = w->spare;
		w->spare = f;
	}
}

void cta_free(struct engine *e, struct cta *c)
{
	u32 i;

	cluster_free(e, c);
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
	free(c->shadow);
	free(c->errs);
	free(c->mem);
	free(c);
}

#define LAZY_LEAST (4ull << 20)         /* bytes of local memory; below, all of it is committed at once */
#define LAZY_STEP 65536ull
#define LAZY_PIECES 32768               /* of all workers' windows: each may be a mapping of its own, of which the kernel has 65,530 */

/* What is behind the first bytes of a window, and large, is the context's memory (RLIMIT_DATA) where it is touched alone: most of a thread's stack never is. */
static void be_lazy(const struct engine *e, struct cta *c, u64 first, u64 end)
{
	c->lazy = c->win + first;
	c->lazy_bytes = end - first;
	for (c->lazy_step = LAZY_STEP; c->lazy_bytes / c->lazy_step * (e->nthreads + 1) > LAZY_PIECES; c->lazy_step *= 2)
		;
}

/* Makes the block's memory fit its grid. Called without the lock: mapping memory takes time. */
int block_fit(struct engine *e, struct cta *c, struct grid *g)
{
	u64 shared = ((u64)g->shared_total + 4095) & ~4095ull;
	u64 local = (u64)g->local_stride * g->nwarps * LANES;
	u64 rim = shared ? SHARED_RIM : 0, need = rim + shared + (local ? SHARED_GUARD + local : rim), eager;
	u32 i;

	c->gridid = 0;
	c->g = g;
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
	eager = local < LAZY_LEAST || g->team > 1 || e->dbg ? need : need - local;
	if (eager > c->win_commit) {
		u64 up = (eager + 65535) & ~65535ull;

		if (up > c->win_bytes - 4096)
			up = c->win_bytes - 4096;
		if (arena_commit(c->win, up))
			return -1;
		c->win_commit = up;
	}
	c->lazy_bytes = 0;
	if (need > c->win_commit)
		be_lazy(e, c, c->win_commit, (need + 4095) & ~4095ull);
	c->shared = c->win + rim;
	c->local = c->shared + shared + (local ? SHARED_GUARD : 0);
	if (rim) {
		(void)*(const volatile u8 *)(c->shared - 1);
		(void)*(const volatile u8 *)(c->shared + shared);
	}
	c->regs_bytes = (g->fn->frame_bytes + 63) & ~63u;
	c->jit = __atomic_load_n(&g->jit, __ATOMIC_ACQUIRE);
	c->frame_bytes = c->regs_bytes + (c->jit ? c->jit->p_bytes : 0);
	/* never NULL, though a kernel without registers needs none */
	if (!c->mem || (size_t)c->frame_bytes * g->nwarps > c->mem_bytes) {
		free(c->mem);
		c->mem_bytes = c->frame_bytes ? (size_t)c->frame_bytes * g->nwarps : 64;
		c->mem = aligned_alloc(64, c->mem_bytes);
		if (!c->mem) {
			c->mem_bytes = 0;
			return -1;
		}
	}
	if (e->mc && mc_fit(c) < 0)
		return -1;
	c->nwarps = g->nwarps;
	c->part = g->part;
	c->pristine = false;
	for (i = 0; i < g->nwarps; i++) {
		c->warps[i].cta = c;
		c->warps[i].index = i;
		c->warps[i].jp = c->mem + (size_t)i * c->frame_bytes + c->regs_bytes;
		if (c->jit)
			jit_fit(e, &c->warps[i]);
	}
	c->gridid = g->gridid;
	return 0;
}

void block_start(struct cta *c)
{
	struct grid *g = c->g;
	u32 i;

	c->fresh = true;
	c->over = false;
	c->done_warps = c->next_warp = c->slices = 0;
	c->met = false;
	c->astray = 0;
	c->parted = 0;
	c->err_used = false;
	if (__builtin_expect(g->e->vf != NULL, 0))
		vf_start(c);
	if (c->pristine)
		return;
	if (c->bar_used)
		memset(c->bar, 0, sizeof(c->bar));
	c->bar_used = false;
	if (g->e->mc)
		mc_start(c);
	for (i = 0; i < c->nwarps; i++) {
		struct warp *w = &c->warps[i];
		u32 n = g->threads - i * LANES;

		drop_calls(w);
		w->top = &w->main;
		w->depth = w->slices = 0;
		w->turns = 0;
		w->live = n >= LANES ? ~0u : (1u << n) - 1;
		frame_start(&w->main, g->fn, c->mem + (size_t)i * c->frame_bytes, w->live);
		if (__builtin_expect(g->e->dbg != NULL, 0))     /* registers that nobody has written are not what the block before left */
			memset(c->mem + (size_t)i * c->frame_bytes, 0, c->regs_bytes);
		w->main.up = NULL;
		w->main.jit = c->jit;
		w->jheld = 0;
		w->jresume = 0;
		if (g->fn->npro)
			w->main.base[1] = g->pool;
	}
}

/* A block of the grid, or a cluster of them. The one before it was its left neighbour, if next. */
static void cta_start(struct cta *c, u64 linear, bool next)
{
	struct grid *g = c->g;
	u32 step;

	if (g->team > 1) {
		cluster_start(c, linear);
		return;
	}
	step = g->step;
	/* divisions take as long as a short block */
	if (linear < g->wide) {
		c->id[0] = g->first + (u32)linear * step;
		c->id[1] = c->id[2] = 0;
	} else if (!next || (c->id[0] += step) >= g->first + g->wide * step) {
		u64 row = linear / g->wide;
		u32 rows = g->dim[1] / g->rows;

		c->id[0] = g->first + (u32)(linear % g->wide) * step;
		c->id[1] = (u32)(row % rows) * g->rows;
		c->id[2] = (u32)(row / rows);
	}
	c->linear = ((u64)c->id[2] * g->dim[1] + c->id[1]) * g->dim[0] + c->id[0];
	block_start(c);
}

/* ---- faults ------------------------------------------------------------------------------ */

/* One report per grid, and none for grids that die with it. */
static void tell(struct engine *e, struct grid *g, const struct engine_fault *r)
{
	if (e->vf && vf_trial_fault(e, g, r))
		return;
	if (!__atomic_exchange_n(&g->status, r->status, __ATOMIC_SEQ_CST)) {
		fail_with(&e->sticky, r->status);
		e->env.fault(e->env.owner, r);
	}
}

static void report(struct tstate *ts, struct grid *g)
{
	struct warp *w = ts->w;
	struct engine_fault *r = &ts->rep;
	struct dtext d = { ts->code, sizeof(ts->code), 0 };
	u32 t;

	if (!r->what)
		mem_describe(ts);
	if (!r->what)
		r->what = "fault";
	t = w->index * LANES + (u32)(ts->rep_lane < 0 ? 0 : ts->rep_lane);
	r->fn = g->fn->id;
	r->kernel = g->fn->name;
	memcpy(r->block, w->cta->id, sizeof(r->block));
	r->block[0] += ts->in ? ts->in->twin : 0;
	r->thread[0] = g->tid[0][t];
	r->thread[1] = g->tid[1][t];
	r->thread[2] = g->tid[2][t];
	if (g->join.n > 1) {            /* that of the launch, in which it is */
		u32 along = g->join.turned;

		r->block[along] += r->thread[along] / g->block[along];
		r->thread[along] %= g->block[along];
	}
	r->ptx_line = ts->in ? ts->in->line : 0;
	r->code = r->source = NULL;
	if (r->ptx_line && src_line(ts->f->fn, r->ptx_line, ts->source, sizeof(ts->source)))
		r->source = ts->source;
	if (ts->in && disasm_known(ts->f->fn, ts->in)) {
		disasm(ts->f->fn, ts->in, &d);
		r->code = ts->code;
	}
	if (ts->e->dbg)
		dbg_fault(ts);
	if (!ts->e->vf)
		snap_keep(ts, g);
	ts->held = NULL;
	tell(ts->e, g, r);
}

void turn_lost(struct tstate *ts, struct grid *g)
{
	struct engine_fault *r = &ts->rep;

	memset(r, 0, sizeof(*r));
	r->status = VGPU_ST_ILLEGAL_ADDRESS;
	r->address = ts->fault_addr;
	r->what = "sums of reductions: memory that was freed while the kernel ran";
	r->fn = g->fn->id;
	r->kernel = g->fn->name;
	tell(ts->e, g, r);
}

static void report_native(struct tstate *ts, struct cta *c)
{
	struct engine_fault *r = &ts->rep;
	struct grid *g = c->g;

	r->fn = r->ptx_line = 0;
	r->code = r->source = NULL;
	r->kernel = g->job.op == VGPU_OP_GEMM ? "matrix product" : "triangular solve";
	memset(r->thread, 0, sizeof(r->thread));
	r->block[0] = (u32)c->linear;
	r->block[1] = r->block[2] = 0;
	if (!r->what)
		r->what = "access to an operand of a matrix product";
	tell(ts->e, g, r);
}

/* ---- turns ------------------------------------------------------------------------------- */

static bool can_run(const struct warp *w)
{
	const struct frame *f = w->top;

	return w->live && (f->mask | f->waiting || (f->parked && !f->away) || apart_can(w));
}

/* Turns of the block's warps until the budget is spent or none can run. */
enum run block_turns(struct tstate *ts, struct cta *c, s64 *budget)
{
	struct engine *e = ts->e;
	s64 left = *budget;
	u32 idle = 0, i;
	struct warp *w;
	enum run r;

	while (left > 0 && !__atomic_load_n(&e->sticky, __ATOMIC_RELAXED)) {
		if (c->met) {
			c->met = false;
			if (jit_again(ts, c, &left, &r)) {
				*budget = left;
				if (r == RUN_DONE)
					return r;
				continue;
			}
		}
		w = &c->warps[c->next_warp];
		if (++c->next_warp == c->nwarps)
			c->next_warp = 0;
		if (!can_run(w)) {
			if (++idle < c->nwarps)
				continue;
			if (c->g->team > 1)
				return RUN_BLOCKED;
			if (apart_wake(c)) {
				idle = 0;
				continue;
			}
			for (i = 0; i < c->nwarps && !c->warps[i].live; i++)
				;
			/* every thread waits at a barrier that cannot complete */
			ts->w = &c->warps[i];
			ts->in = NULL;
			fault_raise(VGPU_ST_TIMEOUT, __builtin_ctz(ts->w->live), 0,
				    "deadlock: all threads of the block wait at barriers");
		}
		idle = 0;
		ts->budget = left < WARP_TURN ? left : WARP_TURN;
		left -= ts->budget + 16;
		if (warp_run(ts, w) == RUN_DONE && ++c->done_warps == c->nwarps)
			return RUN_DONE;
		left += ts->budget > 0 ? ts->budget : 0;
		*budget = left;
	}
	return RUN_BUDGET;
}

static enum run cta_turns(struct tstate *ts, struct cta *c, s64 left)
{
	return c->g->team > 1 ? cluster_run(ts, c, left) : block_turns(ts, c, &left);
}

static enum run block_run(struct tstate *ts, struct turn *t)
{
	enum run r;

	if (t->g->native) {
		/* whole: what it costs is bounded by the tile's size and the depth k */
		gemm_tile(ts, &t->g->job, t->c->linear);
		return RUN_DONE;
	}
	if (t->c->jit && !t->started && t->g->team == 1) {
		s64 budget = t->at < t->end && t->listed ? FIRST_LOOK_CODE : t->budget;
		u32 more = t->row, step = t->g->step;
		u64 left = t->end - t->at, row = t->g->first + (t->g->wide - 1) * step - t->c->id[0];

		if (step > 1)           /* a division takes as long as a short block */
			row /= step;
		more = left < more ? (u32)left : more;
		more = row < more ? (u32)row : more;
		r = jit_block(ts, t->c, &budget, &more);
		t->at += more;
		t->done += more;
		if (r == RUN_DONE)
			return RUN_DONE;
	}
	if (t->at < t->end && t->listed) {
		r = cta_turns(ts, t->c, FIRST_LOOK);
		if (r == RUN_DONE)
			return r;
		rt_give_back(t);
	}
	return cta_turns(ts, t->c, t->budget);
}

static bool next_block(struct turn *t, bool next)
{
	struct cta *c = t->c;
	struct grid *g = t->g;

	if (g->native) {
		c->g = g;
		c->gridid = 0;
		c->linear = t->at++;
		return true;
	}
	if ((c->gridid != g->gridid || c->part != g->part || c->jit != __atomic_load_n(&g->jit, __ATOMIC_RELAXED)) && (g->team > 1 ? cluster_fit : block_fit)(t->e, c, g) < 0) {
		fail_with(&g->status, VGPU_ST_OUT_OF_MEMORY);
		return false;
	}
	cta_start(c, t->at++, next);
	return true;
}

/* Runs the turn's block or blocks, with faults caught. All that a fault must not forget is in t. */
void turn_run(struct tstate *ts, struct turn *t)
{
	struct engine *e = t->e;
	u64 start = __builtin_ia32_rdtsc(), look = LOOK_BLOCKS;
	int why;

	t->r = RUN_FAULT;
	t->done = 0;
	ts->cta = t->c;
	ts->starved = false;
	if (ts->ahead.grid != t->g->gridid)
		ahead_begin(ts, t->g->gridid);
	if (!t->started && !next_block(t, false)) {
		ts->cta = NULL;
		return;
	}
	if (t->c->jit && __builtin_expect(__atomic_load_n(&t->c->jit->due, __ATOMIC_RELAXED), 0))
		jit_walked(t->c);
	if (t->g->tunes && __builtin_expect(__atomic_load_n(&t->g->fn->tune.due, __ATOMIC_RELAXED), 0))
		tune_due(t->g);
	why = sigsetjmp(ts->jmp, 0);
	if (why) {
		ts->armed = 0;
		ts->jit = NULL;
		_mm_setcsr(0x1f80);
		if (why == 1) {
			ts->rep.status = ts->starved ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_ILLEGAL_ADDRESS;
			ts->rep.address = ts->fault_addr;
			ts->rep.what = NULL;
			ts->rep_lane = -1;
		}
		if (t->g->native)
			report_native(ts, t->c);
		else
			report(ts, t->g);
		if (__builtin_expect(e->ops != NULL, 0) && !t->g->native)
			optrace_turn(ts, t->c, true);
		t->r = RUN_FAULT;
		ts->cta = NULL;
		return;
	}
	ts->armed = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (;;) {
		ts->in = NULL;
		ts->mxcsr = 0;          /* unknown: the first operation that cares sets it */
		t->r = block_run(ts, t);
		if (t->r != RUN_DONE)
			break;
		t->done++;
		if (t->at >= t->end || __atomic_load_n(&e->sticky, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&t->g->status, __ATOMIC_RELAXED))
			break;
		/* the shortest blocks take little longer than to read the clock */
		if (t->done >= look) {
			if (__builtin_ia32_rdtsc() - start > t->limit)
				break;
			look = t->done + LOOK_BLOCKS;
		}
		next_block(t, true);
	}
	t->ticks = __builtin_ia32_rdtsc() - start;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ts->armed = 0;
	ts->cta = NULL;
	_mm_setcsr(0x1f80);
	if (__builtin_expect(e->ops != NULL, 0) && !t->g->native)
		optrace_turn(ts, t->c, false);
}
