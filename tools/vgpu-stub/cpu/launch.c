/* SPDX-License-Identifier: MIT */
/*
 * What a launch may ask for: a grid's and a block's shape, shared memory, parameters; and the grid that it becomes. Called by rt.c on
 * the dispatcher, and by devrt_run.c on workers for what kernels launch. A matrix product is a grid, too.
 */
#include <stdlib.h>
#include <string.h>

#include "jit.h"
#include "rt.h"

#define MAX_RESIDENT 64         /* started blocks of an ordinary grid */
#define COARSE_LEAST 32         /* blocks for each worker: below, it is better to have many to give out */
#define INLINE_WORK (1 << 17)   /* multiply-adds of a matrix product that runs in place */
#define CHILD_IDS (1ull << 40)  /* the dispatcher numbers its grids without a lock, from 1 */

/* The shape of the clusters, 1 x 1 x 1 without; false: that is not one, or not the kernel's. Asked of the launch, else of the kernel. */
static bool clusters_of(const struct engine_launch *l, const struct func *fn, u32 *c)
{
	bool asked = l->cluster[0] && l->cluster[1] && l->cluster[2], own = fn->reqcluster[0];
	u32 i;

	if (!asked && (l->cluster[0] | l->cluster[1] | l->cluster[2]))
		return false;
	for (i = 0; i < 3; i++) {
		c[i] = asked ? l->cluster[i] : own ? fn->reqcluster[i] : 1;
		if (c[i] > MAX_CLUSTER || l->grid[i] % c[i] || (own && c[i] != fn->reqcluster[i]))
			return false;
	}
	i = c[0] * c[1] * c[2];
	return i <= MAX_CLUSTER && (!fn->max_cluster || i <= fn->max_cluster) && (asked || own || !fn->explicit_cluster);
}

/* Where shared memory begins that a launch asks for. */
static u32 dynamic_at(const struct func *fn) { return (fn->shared_bytes + fn->dyn_align - 1) & ~(fn->dyn_align - 1); }

u32 launch_allowed(struct engine *e, const struct engine_launch *l, struct func *fn, u64 *threads)
{
	u64 shared;
	u32 i, cluster[3];

	*threads = 1;
	for (i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > (i == 2 ? 64u : 1024u) ||
		    l->grid[i] > (i ? 65535u : 0x7fffffffu))
			return VGPU_ST_INVALID_CONFIG;
		*threads *= l->block[i];
	}
	if (*threads > 1024)
		return VGPU_ST_INVALID_CONFIG;
	if (*threads > fn->max_threads)         /* .maxntid: NVIDIA's driver answers INVALID_VALUE */
		return VGPU_ST_INVALID_CONFIG;
	if (fn->reqntid[0])
		for (i = 0; i < 3; i++)
			if (l->block[i] != fn->reqntid[i])
				return VGPU_ST_INVALID_CONFIG;
	shared = l->shared_bytes ? (u64)dynamic_at(fn) + l->shared_bytes : fn->shared_bytes;
	if (shared > e->env.shared_per_block_optin)
		return VGPU_ST_LAUNCH_RESOURCES;
	if (l->param_bytes < fn->param_bytes || (fn->param_bytes && !l->params) || l->param_bytes > PARAM_WINDOW)
		return VGPU_ST_INVALID;
	if (!clusters_of(l, fn, cluster))
		return VGPU_ST_INVALID_CONFIG;
	if (l->flags & ~ENGINE_LAUNCH_COOPERATIVE)
		return VGPU_ST_NOT_SUPPORTED;
	if (l->flags & ENGINE_LAUNCH_COOPERATIVE) {
		u64 per_sm = 2048 / *threads, blocks = (u64)l->grid[0] * l->grid[1] * l->grid[2];

		/* the most that any compute capability has; the client asks the occupancy of its own before */
		per_sm = per_sm > 32 ? 32 : per_sm;
		if (blocks > per_sm * e->env.sm_count || blocks > COOP_RESIDENT)
			return VGPU_ST_LAUNCH_RESOURCES;
	}
	return VGPU_ST_OK;
}

void grid_free(struct engine *e, struct grid *g)
{
	if (g->pwin)
		arena_release(e, g->pwin, 65536);
	free(g->own_tid);
	free(g->pool);
	free(g);
}

/*
 * The thread numbers of a block by its shape: x, y and z of each thread of it. NULL: no memory. Workers ask too; a shape that
 * is counted stays as it is. Acquire: what it is. Partner: the store of nshapes.
 */
static const u32 (*shape_tids(struct engine *e, struct grid *g, const struct join *to, u32 part))[1024]
{
	u64 key = to->size[0] | (u64)to->size[1] << 11 | (u64)to->size[2] << 22 | (u64)part << 29 | (u64)(part && to->split == 2) << 32 | (u64)to->turned << 33;
	u32 a = to->turned, b = !a, i, n = __atomic_load_n(&e->nshapes, __ATOMIC_ACQUIRE), v[3] = { 0, 0, 0 }, (*t)[1024];

	for (i = 0; i < n; i++)
		if (e->shape[i] == key)
			return (const u32 (*)[1024])e->shape_tid[i];
	t = n == SHAPES ? g->own_tid : NULL;
	if (!t)
		t = malloc(3 * sizeof(*t));
	if (!t)
		return NULL;
	for (i = 0; i < 1024; i++) {
		t[0][i] = v[0];
		t[1][i] = v[1];
		t[2][i] = v[2];
		if (++v[a] == to->size[a]) {
			v[a] = 0;
			if (++v[b] == to->size[b]) {
				v[b] = 0;
				v[2]++;
			}
		}
	}
	for (i = 0; part && i < 1024; i++)
		t[to->split][i] += part * to->size[to->split];
	pthread_mutex_lock(&e->arena_lock);
	n = e->nshapes;
	if (n < SHAPES) {       /* twice, perhaps: no harm */
		e->shape[n] = key;
		e->shape_tid[n] = t;
		__atomic_store_n(&e->nshapes, n + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&e->arena_lock);
	if (n == SHAPES) {
		if (g->own_tid != t)
			free(g->own_tid);
		g->own_tid = t;
	}
	return (const u32 (*)[1024])t;
}

/* Threads are numbered as part of such a block. False: no memory, and nothing has changed */
static bool lay_out(struct engine *e, struct grid *g, const struct join *to, u32 part)
{
	const u32 (*tid)[1024] = g->tid;

	if (!tid || part != g->part || memcmp(&g->join, to, sizeof(*to))) {
		tid = shape_tids(e, g, to, part);
		if (!tid)
			return false;
	}
	g->tid = tid;
	g->join = *to;
	g->part = part;
	g->threads = to->size[0] * to->size[1] * to->size[2];
	g->nwarps = (g->threads + LANES - 1) / LANES;
	return true;
}

static struct grid *grid_get(struct engine *e)
{
	struct grid *g;
	u64 got;

	pthread_mutex_lock(&e->lock);
	g = e->grid_pool;
	if (g)
		e->grid_pool = g->next;
	pthread_mutex_unlock(&e->lock);
	if (g)
		return g;
	g = aligned_alloc(64, (sizeof(*g) + 63) & ~(size_t)63);
	if (!g)
		return NULL;
	memset(g, 0, sizeof(*g));
	g->e = e;
	/* the parameters, and behind them the workspace of cooperative launches */
	g->pwin = arena_alloc(e, PARAM_WINDOW + 4096, &got);
	if (!g->pwin || arena_commit(g->pwin, PARAM_WINDOW + 4096)) {
		free(g);
		return NULL;
	}
	return g;
}

static void grid_reset(struct grid *g, u64 nblocks, u64 cookie, u64 id)
{
	g->nblocks = nblocks;
	g->next_block = g->done_blocks = 0;
	g->resident = g->running = g->keepers = g->status = g->nrest = 0;
	g->suspended = NULL;
	g->tail = &g->suspended;
	g->cookie = cookie;
	g->gridid = id;
	g->kin = NULL;
	g->native = g->cooperative = g->over = g->waits = g->tunes = false;
	g->tally_bytes = 0;
	g->took = g->took_blocks = 0;
	g->first = g->left = 0;
	g->priority = 0;
	g->jit = NULL;
	g->errors = g->races = 0;
	g->max_resident = MAX_RESIDENT;
	g->team = 1;
}

struct grid *grid_home(struct engine *e, u64 nblocks, u64 cookie)
{
	struct grid *g = e->home ? e->home : grid_get(e);

	e->home = g;
	if (g)
		grid_reset(g, nblocks, cookie, ++e->next_gridid);
	return g;
}

u64 launch_coarse;

static struct jit *code_of(const struct engine *e, const struct grid *g, struct func *fn)
{
	u32 spec = g->join.n == 1 && !g->join.turned ? jit_spec(fn, g->block) :
		   SPEC_LINEAR | SPEC_JOINED | (u32)__builtin_ctz(g->block[0]) << 8 | (g->join.turned ? SPEC_TURNED : (u32)__builtin_ctz(g->join.n) << 24) | (g->join.single ? SPEC_SINGLE : 0);

	return e->mode == ENGINE_MODE_JIT ? jit_get(fn, spec | strides_of(fn, g->args)) : NULL;
}

/* May the work of several neighbours be done by each block? */
static bool neighbours(const struct grid *g, const struct func *fn)
{
	return fn->coarse && !g->cooperative && !g->clusters && g->dim[0] > fn->coarse->further && (fn->fixed_shared || dynamic_at(fn) + g->shared_bytes <= COARSE_DYNAMIC);
}

/* The code of that, for which there may be no room. */
static struct jit *coarse_code(const struct engine *e, const struct grid *g, const struct func *fn)
{
	return func_is_ready(fn->coarse) ? code_of(e, g, fn->coarse) : NULL;
}

/* What hangs on the function that runs it, by that code. */
static void fit(struct engine *e, struct grid *g, struct func *fn, struct jit *jit)
{
	g->fn = fn;
	g->jit = jit;
	g->parted = 0;
	g->ragged = 0;
	g->est = __atomic_load_n(&fn->est, __ATOMIC_RELAXED);
	g->rows = g->join.turned ? g->join.n : 1;
	g->step = (1 + fn->further) * (g->join.turned ? 1 : g->join.n);
	g->wide = (g->dim[0] - g->first) / g->step;
	g->left = g->dim[0] - g->first - g->wide * g->step;
	g->nblocks = (u64)g->wide * (g->dim[1] / g->rows) * g->dim[2] / g->team;
	g->dyn_off = dynamic_at(fn);
	g->shared_total = g->shared_bytes ? g->dyn_off + g->shared_bytes : fn->shared_bytes;
	if (!fn->fixed_shared)
		g->shared_total += fn->further * fn->next_shared;
	if (!e->mc)             /* which keeps to what was asked for */
		g->shared_total = shared_rounded(&e->env, g->shared_total);
	g->reserved = 0;
	if (fn->reserved) {
		g->reserved = (g->shared_total + 127) & ~127u;
		g->shared_total = g->reserved + SHARED_RESERVED;
	}
	g->local_stride = jit_local_stride(fn);
	if (fn->further)        /* tests ask whether there were any: what two threads lose of one another does not matter */
		__atomic_store_n(&launch_coarse, __atomic_load_n(&launch_coarse, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

bool grid_coarsen(struct engine *e, struct grid *g)
{
	struct func *fn = g->fn;
	struct jit *was = g->jit, *jit = neighbours(g, fn) ? coarse_code(e, g, fn) : NULL;

	if (!jit)
		return false;
	fit(e, g, fn->coarse, jit);
	if (uniform_run(e, g))
		return true;
	fit(e, g, fn, was);
	return false;
}

/* Those of the launch, one by one. */
static struct join apart(const struct grid *g)
{
	return (struct join){ .n = 1, .parts = 1, .size = { g->block[0], g->block[1], g->block[2] } };
}

bool grid_rest(struct engine *e, struct grid *g)
{
	struct func *fn;
	struct join one;

	if (g->done_blocks != g->nblocks || (!g->left && g->part + 1 >= g->join.parts) || status_of(g) || sticky(e))
		return false;
	g->next_block = g->done_blocks = 0;
	g->tunes = false;
	if (g->part + 1 < g->join.parts) {
		if (lay_out(e, g, &g->join, g->part + 1))
			return true;
	} else {
		bool same = !g->fn->of;

		fn = same ? g->fn : g->fn->of;
		one = apart(g);
		g->first = g->dim[0] - g->left;
		if (lay_out(e, g, &one, 0)) {
			fit(e, g, fn, code_of(e, g, fn));
			if (same || uniform_run(e, g))
				return true;
		}
	}
	fail_with(&g->status, VGPU_ST_OUT_OF_MEMORY);
	return true;
}

/* As many of its blocks as may be become one, if there is code for that. False: no memory */
static bool join(struct engine *e, struct grid *g, struct func *fn, const struct join *one, struct jit **jit)
{
	struct join to = *one;

	if (join_grid(e, fn, g, &to) && lay_out(e, g, &to, 0)) {
		*jit = code_of(e, g, fn);
		if (*jit) {
			__atomic_store_n(&launch_joined, __atomic_load_n(&launch_joined, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
			return true;
		}
	}
	return lay_out(e, g, one, 0);
}

static struct grid *fill(struct engine *e, struct grid *g, const struct engine_launch *l, struct func *fn, u32 threads)
{
	u32 cluster[3] = { 1, 1, 1 };
	struct join one;
	struct jit *jit = NULL;
	bool again;

	clusters_of(l, fn, cluster);    /* launch_allowed() has asked */
	again = !memcmp(g->dim, l->grid, sizeof(g->dim)) && !memcmp(g->block, l->block, sizeof(g->block)) && !memcmp(g->cluster, cluster, sizeof(cluster)) &&
		g->clusters == (l->cluster[0] || fn->reqcluster[0]) && g->shared_bytes == l->shared_bytes;
	g->team = cluster[0] * cluster[1] * cluster[2];
	memcpy(g->dim, l->grid, sizeof(g->dim));
	memcpy(g->block, l->block, sizeof(g->block));
	memcpy(g->cluster, cluster, sizeof(cluster));
	g->clusters = l->cluster[0] || fn->reqcluster[0];
	g->threads = threads;
	g->shared_bytes = l->shared_bytes;
	g->cooperative = l->flags & ENGINE_LAUNCH_COOPERATIVE;
	g->priority = l->priority;
	if (g->cooperative)
		g->max_resident = COOP_RESIDENT;
	one = apart(g);
	g->args = l->params;
	/* verify.c has the ordinary function first */
	g->tunes = !e->vf && e->mode == ENGINE_MODE_JIT && (g->nblocks >= COARSE_LEAST * (u64)e->nthreads || jit_coarse) && neighbours(g, fn) && !(fn->singles && threads == 1);
	if (g->tunes && tune_takes(fn) && lay_out(e, g, &one, 0))
		jit = coarse_code(e, g, fn);
	if (jit) {
		fn = fn->coarse;
	} else if (!join(e, g, fn, &one, &jit)) {
		g->fn = NULL;
		return NULL;
	}
	/* the same launch as this grid's last one: its uniform values are there */
	again = again && g->fn == fn && g->pool_fn == pool_id(fn) && (!fn->param_bytes || !memcmp((void *)g->pwin, l->params, fn->param_bytes));
	fit(e, g, fn, jit ? jit : code_of(e, g, fn));
	g->param_bytes = fn->param_bytes;
	if (fn->param_bytes)
		memcpy((void *)g->pwin, l->params, fn->param_bytes);
	g->args = (const void *)g->pwin;
	g->coop_win = 0;
	if (g->cooperative) {
		g->coop_win = g->pwin + PARAM_WINDOW;
		memset((void *)g->coop_win, 0, 4096);
		*(u32 *)g->coop_win = 4096;     /* its size; the barrier word follows */
	}
	return again || uniform_run(e, g) ? g : NULL;
}

struct grid *grid_make(struct engine *e, const struct engine_launch *l, struct func *fn, u32 threads)
{
	struct grid *g = grid_home(e, (u64)l->grid[0] * l->grid[1] * l->grid[2], l->cookie);

	g = g ? fill(e, g, l, fn, threads) : NULL;
	if (g)
		tally_grid(e, g);
	return g;
}

struct grid *grid_make_child(struct engine *e, const struct engine_launch *l, struct func *fn, u32 threads, u64 nth)
{
	struct grid *g = grid_get(e);

	if (!g)
		return NULL;
	grid_reset(g, (u64)l->grid[0] * l->grid[1] * l->grid[2], 0, CHILD_IDS + nth);
	if (fill(e, g, l, fn, threads))
		return g;
	pthread_mutex_lock(&e->lock);
	g->next = e->grid_pool;
	e->grid_pool = g;
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

u32 rt_gemm(struct engine *e, u32 op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, u64 cookie)
{
	struct gemm_job j = { .op = op, .b = *b, .p = *p };
	struct grid *g;
	u64 tiles;

	if (sticky(e))
		return sticky(e);
	tiles = gemm_plan(&j, e->nthreads);
	if (!tiles || tiles >> 48)      /* no memory holds so much; products of counts stay far from their limits */
		return VGPU_ST_INVALID;
	g = grid_home(e, tiles, cookie);
	if (!g)
		return VGPU_ST_OUT_OF_MEMORY;
	g->fn = NULL;
	g->native = true;
	g->join.parts = 1;
	g->part = 0;
	g->small = gemm_work(&j) <= INLINE_WORK;
	g->est = 0;
	g->job = j;
	return grid_start(e, g);
}
