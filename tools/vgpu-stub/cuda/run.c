/* SPDX-License-Identifier: MIT */
/*
 * Runs: launches that the client gives together and will give again, a CUDA graph of its own (VGPU_CMD_RUN). One launch costs the driver some
 * microseconds of this thread, a graph of hundreds hardly more; so a run is kept back until it is whole, and one that has been seen before
 * is a graph of the driver.
 *
 * What is the same is seen by its content: functions, shapes, parameters. A run that differs from a known one by few parameters changes them
 * there. Runs that come once are launched one by one, as everything is that is no run. Nothing depends on the client's word but time.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 128u               /* launches of a graph: fewer than a stream's credits, so that a client fills the next meanwhile */
#define LEAST 4u                /* fewer are given one by one */
#define ROOM (64u << 10)        /* of the parameters of a run */
#define GRAPHS 128u
#define ALIKE 8u                /* graphs that differ by parameters alone */
#define STALE_NS 5000000u       /* so long nothing was added: whoever gives it may have died, and what is there shall run */

struct node {
	CUfunction fn;
	struct cuda_module *m;
	uint32_t grid[3], block[3];
	uint32_t shared, bytes, at, rsvd;
};
_Static_assert(sizeof(struct node) == 56, "compared as bytes");

struct cuda_run {
	uint32_t n, bytes;
	uint64_t added_ns;
	struct node node[MOST];
	uint8_t params[ROOM];
};

struct cuda_graph {
	uint32_t n, bytes;
	uint64_t shape, used;
	CUgraph g;
	CUgraphExec x;                  /* NULL: seen, not made yet */
	int refused;                    /* the driver does not make it: one by one for ever */
	CUgraphNode *handle;
	struct node *node;
	uint8_t *params;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* FNV-1a over words; the nodes' sizes are multiples of eight. */
static uint64_t hash(const struct node *n, uint32_t count)
{
	const uint64_t *w = (const void *)n;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < count * sizeof(*n) / 8; i++)
		h = (h ^ w[i]) * 0x100000001b3ull;
	return h;
}

static int same_params(const struct node *n, const uint8_t *a, const uint8_t *b) { return !memcmp(a + n->at, b + n->at, n->bytes); }

static CUresult start(const struct node *n, const uint8_t *params, CUstream stream)
{
	size_t bytes = n->bytes;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)(params + n->at), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };

	return cu.cuLaunchKernel(n->fn, n->grid[0], n->grid[1], n->grid[2], n->block[0], n->block[1], n->block[2], n->shared, stream, NULL,
				 bytes ? extra : NULL);
}

/* Each is counted as given already: what the driver refuses is told when its turn comes. */
static void one_by_one(struct engine *e, struct cuda_stream *s, const struct cuda_run *run)
{
	for (uint32_t i = 0; i < run->n && !e->died; i++) {
		CUresult r = start(&run->node[i], run->params, s->stream);

		if (r)
			cuda_refused(s, s->given - run->n + i + 1, cuda_launch_status(e, r));
	}
}

static void drop(struct cuda_graph *g)
{
	if (g->x)
		cu.cuGraphExecDestroy(g->x);
	if (g->g)
		cu.cuGraphDestroy(g->g);
	free(g->handle);
	free(g->node);
	free(g->params);
	memset(g, 0, sizeof(*g));
}

/* The node's parameters as the driver wants them; they are copied by the call that takes them. */
struct kernel {
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	size_t bytes;
	void *extra[5];
};

static void kernel(struct kernel *k, const struct node *n, const uint8_t *params)
{
	*k = (struct kernel){
		.p = { .func = n->fn, .gridDimX = n->grid[0], .gridDimY = n->grid[1], .gridDimZ = n->grid[2], .blockDimX = n->block[0],
		       .blockDimY = n->block[1], .blockDimZ = n->block[2], .sharedMemBytes = n->shared },
		.bytes = n->bytes,
		.extra = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)(params + n->at), CU_LAUNCH_PARAM_BUFFER_SIZE, NULL, CU_LAUNCH_PARAM_END },
	};
	k->extra[3] = &k->bytes;
	k->p.extra = n->bytes ? k->extra : NULL;
}

static CUresult make(struct cuda_graph *g)
{
	CUresult r = cu.cuGraphCreate(&g->g, 0);
	struct kernel k;

	for (uint32_t i = 0; i < g->n && !r; i++) {
		kernel(&k, &g->node[i], g->params);
		r = cu.cuGraphAddKernelNode_v2(&g->handle[i], g->g, i ? &g->handle[i - 1] : NULL, i ? 1 : 0, &k.p);
	}
	if (!r)
		r = cu.cuGraphInstantiateWithFlags(&g->x, g->g, 0);
	return r;
}

/* Into g, made already, the parameters of the run. */
static CUresult change(struct cuda_graph *g, const struct cuda_run *run)
{
	CUresult r = CUDA_SUCCESS;
	struct kernel k;

	for (uint32_t i = 0; i < g->n && !r; i++) {
		if (same_params(&g->node[i], g->params, run->params))
			continue;
		kernel(&k, &run->node[i], run->params);
		r = cu.cuGraphExecKernelNodeSetParams_v2(g->x, g->handle[i], &k.p);
		if (!r)
			memcpy(g->params + g->node[i].at, run->params + g->node[i].at, g->node[i].bytes);
	}
	return r;
}

static int remember(struct cuda_graph *g, const struct cuda_run *run, uint64_t shape)
{
	drop(g);
	g->handle = calloc(run->n, sizeof(*g->handle));
	g->node = malloc(run->n * sizeof(*g->node));
	g->params = malloc(run->bytes + 1);
	if (!g->handle || !g->node || !g->params) {
		drop(g);
		return -1;
	}
	memcpy(g->node, run->node, run->n * sizeof(*g->node));
	memcpy(g->params, run->params, run->bytes);
	g->n = run->n;
	g->bytes = run->bytes;
	g->shape = shape;
	return 0;
}

/*
 * The graph of this run: one with its content, else one that few parameters tell from it, else, where there are many alike, the one that was
 * used longest ago. NULL: none, and *place is where it is to be remembered.
 */
static struct cuda_graph *find(struct engine *e, const struct cuda_run *run, uint64_t shape, struct cuda_graph **place)
{
	struct cuda_graph *near = NULL, *oldest = NULL;
	uint32_t least = run->n / 4 + 1, alike = 0;

	*place = &e->graphs[0];
	for (struct cuda_graph *g = e->graphs; g < e->graphs + GRAPHS; g++) {
		uint32_t differ = 0;

		if ((*place)->n && (!g->n || g->used < (*place)->used))
			*place = g;
		if (!g->n || g->shape != shape || g->n != run->n || g->bytes != run->bytes || memcmp(g->node, run->node, g->n * sizeof(*g->node)))
			continue;
		for (uint32_t i = 0; i < g->n && differ <= run->n / 4; i++)
			differ += !same_params(&g->node[i], g->params, run->params);
		if (!differ)
			return g;
		if (!g->x)
			continue;       /* seen once */
		alike++;
		if (differ < least) {
			least = differ;
			near = g;
		}
		if (!oldest || g->used < oldest->used)
			oldest = g;
	}
	return near ? near : alike >= ALIKE ? oldest : NULL;
}

static void play(struct engine *e, struct cuda_stream *s, const struct cuda_run *run)
{
	uint64_t shape = hash(run->node, run->n);
	struct cuda_graph *g, *place;
	CUresult r = CUDA_SUCCESS;

	if (run->n < LEAST || e->died || (!e->graphs && !(e->graphs = calloc(GRAPHS, sizeof(*e->graphs))))) {
		one_by_one(e, s, run);
		return;
	}
	g = find(e, run, shape, &place);
	if (!g) {
		if (!remember(place, run, shape))
			place->used = ++e->graph_turn;
		one_by_one(e, s, run);
		return;
	}
	g->used = ++e->graph_turn;
	if (!g->refused)
		r = g->x ? change(g, run) : make(g);
	if (!r && !g->refused)
		r = cu.cuGraphLaunch(g->x, s->stream);
	if (!r && !g->refused)
		return;
	/* What is wrong with it one of the launches will say, to whom it belongs. */
	cuda_failed(e, r);
	g->refused = 1;
	one_by_one(e, s, run);
}

void cuda_run_flush(struct engine *e, struct cuda_stream *s)
{
	if (!s->run || !s->run->n)
		return;
	play(e, s, s->run);
	s->run->n = s->run->bytes = 0;
}

int cuda_run_open(const struct cuda_stream *s) { return s->run && s->run->n; }

int cuda_run_stale(const struct cuda_stream *s) { return cuda_run_open(s) && now_ns() - s->run->added_ns > STALE_NS; }

/* 0: it is part of the run now, and counted as given. -1: not for a run. */
int cuda_run_add(struct engine *e, struct cuda_stream *s, struct cuda_func *f, const struct engine_launch *l, const void *params)
{
	struct cuda_run *run = s->run;
	struct node *n;

	if (!(l->flags & ENGINE_LAUNCH_RUN) || l->flags & ENGINE_LAUNCH_COOPERATIVE || l->cluster[0] || l->param_bytes > VGPU_MAX_PARAM_BYTES)
		return -1;
	if (!run && !(run = s->run = calloc(1, sizeof(*run))))
		return -1;
	if (run->bytes + l->param_bytes > ROOM)
		cuda_run_flush(e, s);
	n = &run->node[run->n++];
	*n = (struct node){ .fn = f->fn, .m = f->m, .grid = { l->grid[0], l->grid[1], l->grid[2] }, .block = { l->block[0], l->block[1], l->block[2] },
			    .shared = l->shared_bytes, .bytes = l->param_bytes, .at = run->bytes };
	memcpy(run->params + n->at, params, n->bytes);
	run->bytes += (n->bytes + 15u) & ~15u;
	run->added_ns = now_ns();
	cuda_given(e, s);
	if (run->n == MOST || l->flags & ENGINE_LAUNCH_RUN_END)
		cuda_run_flush(e, s);
	return 0;
}

/* Its functions end: so do the graphs of them. */
void cuda_run_forget(struct engine *e, const struct cuda_module *m)
{
	for (struct cuda_graph *g = e->graphs; g && g < e->graphs + GRAPHS; g++)
		for (uint32_t i = 0; i < g->n; i++)
			if (g->node[i].m == m) {
				drop(g);
				break;
			}
}
