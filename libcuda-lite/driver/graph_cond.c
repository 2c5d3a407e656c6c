/* SPDX-License-Identifier: MIT */
/*
 * Conditional nodes: IF, WHILE and SWITCH. Called by programs, graph_work.c, graph_exec.c and graph_launch.c.
 *
 *   handle       the address of a word in the window, which is the value: device code (cudaGraphSetConditional) stores there
 *   node         a vg_work with its bodies, graphs that the program fills
 *   condition    what an exec makes of it: a program for each body, by itself, as a launch on the way outlives the exec
 *   launch       the stream stops at the node (core/hostfn.c, vg_between()); a thread of ours reads the value, puts the chosen
 *                body's commands into an internal stream, waits for them, and lets the stream go on
 */
#include "graph.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

struct vg_conditional {
	struct vg_conditional *next;    /* of all */
	struct vg_conditional *next_of_graph;
	struct vg_ctx *ctx;
	uint64_t ctx_handle, graph;     /* graph: for whose nodes it is */
	uint32_t *word;
	uint32_t value;                 /* at the beginning of a launch, if assigned */
	bool assigned, used;
	uint32_t refs;                  /* of its graph, of works and of conditions; under vg_graphs */
	/* behind this the word is not used any more */
	uint64_t ticket;
	uint16_t stream;
};

#define WORD_BYTES 64u

static struct vg_conditional *all;      /* under vg_graphs */

struct vg_conditional *vg_conditional_ref(struct vg_conditional *c)
{
	c->refs++;
	return c;
}

void vg_conditional_unref(struct vg_conditional *c)
{
	struct vg_conditional **p;

	if (!c || --c->refs)
		return;
	for (p = &all; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	if (c->ticket && c->ctx->handle == c->ctx_handle)
		vg_defer(VG_DEFER_WINDOW, c->ctx, c->stream, c->ticket, c->word, WORD_BYTES);
	else
		vg_window_free(c->word, WORD_BYTES);
	free(c);
}

void vg_conditionals_drop(struct vg_graph *g)
{
	struct vg_conditional *c;

	while ((c = g->handles) != NULL) {
		g->handles = c->next_of_graph;
		c->graph = 0;
		vg_conditional_unref(c);
	}
}

bool vg_conditionals_used(const struct vg_graph *g)
{
	for (const struct vg_conditional *c = g->handles; c; c = c->next_of_graph)
		if (!c->used)
			return false;
	return true;
}

static CUresult handle_new(CUgraphConditionalHandle *out, CUgraph graph, struct vg_ctx *ctx, uint32_t value, unsigned int flags)
{
	struct vg_graph *g = vg_graph_of(graph);
	struct vg_conditional *c;

	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->word = vg_window_alloc(WORD_BYTES, 64);
	if (!c->word) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_store_n(c->word, value, __ATOMIC_RELEASE);
	c->ctx = ctx;
	c->ctx_handle = ctx->handle;
	c->graph = g->handle;
	c->value = value;
	c->assigned = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
	c->refs = 1;
	c->next = all;
	all = c;
	c->next_of_graph = g->handles;
	g->handles = c;
	*out = (CUgraphConditionalHandle)(uintptr_t)c->word;
	return CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext ctx, unsigned int value, unsigned int flags)
{
	struct vg_ctx *c;
	CUresult r;

	VG_READY();
	if (!handle || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(ctx ? vg_context(ctx, &c) : vg_current(&c));
	/* The device code of NVIDIA's driver knows its own handles only. */
	if (strncmp(vg.info[c->ordinal].engine, "cpu", 3))
		return vg_unsupported("a conditional node on this device's engine");
	vg_lock(&vg_graphs);
	r = handle_new(handle, graph, c, value, flags);
	vg_unlock(&vg_graphs);
	return r;
}

/* Is the graph of that handle, or in it? */
static bool within(const struct vg_graph *g, uint64_t handle)
{
	while (g && g->handle != handle)
		g = g->owner ? g->owner->graph : NULL;
	return g != NULL;
}

CUresult vg_conditional_belongs(const struct vg_work *w, const struct vg_graph *g)
{
	/* Documented: what has conditional nodes is no child. */
	for (const struct vg_graph *in = g; in->owner; in = in->owner->graph)
		if (in->owner->work->type == CU_GRAPH_NODE_TYPE_GRAPH)
			return CUDA_ERROR_NOT_SUPPORTED;
	return within(g, w->u.cond.c->graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult vg_make_condition(CUDA_CONDITIONAL_NODE_PARAMS *p, struct vg_work **out)
{
	struct vg_conditional *c = all;
	struct vg_work *w;
	struct vg_ctx *ctx;

	while (c && (CUgraphConditionalHandle)(uintptr_t)c->word != p->handle)
		c = c->next;
	if (!c || c->used || !c->graph || !p->size || (p->type == CU_GRAPH_COND_TYPE_WHILE && p->size != 1) ||
	    (p->type == CU_GRAPH_COND_TYPE_IF && p->size > 2) || (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH || p->size > 1u << 16)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->ctx) {
		VG_TRY(vg_context(p->ctx, &ctx));
		if (ctx != c->ctx)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (c->ctx->handle != c->ctx_handle)
		return CUDA_ERROR_INVALID_CONTEXT;
	w = vg_work_new(CU_GRAPH_NODE_TYPE_CONDITIONAL, c->ctx);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->u.cond.c = vg_conditional_ref(c);
	w->u.cond.type = p->type;
	w->u.cond.bodies = calloc(p->size, sizeof *w->u.cond.bodies);
	w->u.cond.out = calloc(p->size, sizeof *w->u.cond.out);
	for (; w->u.cond.bodies && w->u.cond.out && w->u.cond.n < p->size; w->u.cond.n++) {
		struct vg_graph *g = vg_graph_new();

		if (!g)
			break;
		vg_publish(g);
		w->u.cond.bodies[w->u.cond.n] = g;
		w->u.cond.out[w->u.cond.n] = VG_HANDLE(CUgraph, g);
	}
	if (w->u.cond.n < p->size) {
		vg_work_free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->used = true;
	p->phGraph_out = w->u.cond.out;
	*out = w;
	return CUDA_SUCCESS;
}

/* The copy for an exec: works of programs do not come here, as their graphs are never cloned. */
bool vg_condition_copy(struct vg_work *w, const struct vg_work *from)
{
	w->u.cond.out = NULL;
	w->u.cond.n = 0;
	vg_conditional_ref(w->u.cond.c);
	w->u.cond.bodies = calloc(from->u.cond.n, sizeof *w->u.cond.bodies);
	for (; w->u.cond.bodies && w->u.cond.n < from->u.cond.n; w->u.cond.n++) {
		struct vg_graph *g = vg_graph_copy(from->u.cond.bodies[w->u.cond.n], true);

		if (!g)
			break;
		w->u.cond.bodies[w->u.cond.n] = g;
	}
	return w->u.cond.n == from->u.cond.n;
}

void vg_condition_drop(struct vg_work *w)
{
	for (uint32_t i = 0; i < w->u.cond.n; i++)
		vg_graph_free(w->u.cond.bodies[i]);
	if (w->u.cond.out)              /* the program's node: the handle may have another one now */
		w->u.cond.c->used = false;
	vg_conditional_unref(w->u.cond.c);
	free(w->u.cond.bodies);
	free(w->u.cond.out);
}

/* ---- in an exec ---- */

struct vg_condition {
	uint32_t refs;                  /* of the step, and of launches; atomic */
	struct vg_conditional *c;
	CUgraphConditionalNodeType type;
	uint32_t n;
	struct vg_program body[];
};

struct vg_condition *vg_condition_new(const struct vg_work *w)
{
	struct vg_condition *k = calloc(1, sizeof *k + w->u.cond.n * sizeof k->body[0]);

	if (!k)
		return NULL;
	k->refs = 1;
	k->c = vg_conditional_ref(w->u.cond.c);
	k->type = w->u.cond.type;
	k->n = w->u.cond.n;
	return k;
}

struct vg_program *vg_condition_body(struct vg_condition *k, uint32_t i) { return &k->body[i]; }

void vg_condition_unref(struct vg_condition *k)
{
	if (!k || __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < k->n; i++)
		vg_program_free(&k->body[i]);
	vg_conditional_unref(k->c);
	free(k);
}

/* ---- launches ---- */

/* What stands in the word now says which body: k->n or more says none. */
static uint32_t chosen(const struct vg_condition *k)
{
	uint32_t value = __atomic_load_n(k->c->word, __ATOMIC_ACQUIRE);

	switch ((int)k->type) {
	case CU_GRAPH_COND_TYPE_IF: return value ? 0 : 1;
	case CU_GRAPH_COND_TYPE_WHILE: return value ? 0 : 1;
	}
	return value;
}

static CUresult run(struct vg_condition *k, struct vg_stream *s)
{
	uint32_t which;

	while ((which = chosen(k)) < k->n) {
		const struct vg_program *p = &k->body[which];
		const union vgpu_slot *image = p->image;

		for (uint32_t i = 0; i < p->nsteps; i++) {
			image = vg_submit_run(s, image, p->steps[i].commands);
			if (p->steps[i].call == VG_CALL_CONDITION) {
				VG_TRY(vg_done(s->ctx, vg_stream_sync(s)));
				VG_TRY(run(p->steps[i].condition, s));
			} else if (p->steps[i].call != VG_CALL_NONE) {
				VG_TRY(vg_step_call(s, &p->steps[i]));
			}
		}
		VG_TRY(vg_done(s->ctx, vg_stream_sync(s)));
		if (k->type != CU_GRAPH_COND_TYPE_WHILE)
			break;
		/* An empty body waits for nothing: a context that is destroyed meanwhile ends the loop all the same. */
		VG_TRY(vg_done(s->ctx, vg_ctx_error(s->ctx)));
	}
	return CUDA_SUCCESS;
}

/* Where the stream has come so far, or never will (status). On a thread of ours, of which there is one. */
static void between(uint64_t handle, uint32_t status, void *user)
{
	struct vg_condition *k = user;
	struct vg_ctx *c = k->c->ctx;

	(void)handle;
	if (!status && !c->body_stream)
		status = vg_stream_create(c, 0, &c->body_stream);
	if (!status)
		(void)run(k, c->body_stream);   /* an error is the context's by now */
	vg_lock(&vg_graphs);
	vg_condition_unref(k);
	vg_unlock(&vg_graphs);
}

CUresult vg_condition_call(struct vg_stream *s, struct vg_condition *k)
{
	uint32_t status;

	__atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
	status = vg_between(s, between, k);
	if (status)
		__atomic_sub_fetch(&k->refs, 1, __ATOMIC_RELAXED);      /* the step's is left */
	return vg_done(s->ctx, status);
}

/* Every handle of the program and of what is in it. */
static void each(const struct vg_program *p, void (*what)(struct vg_conditional *c, void *arg), void *arg)
{
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct vg_condition *k = p->steps[i].condition;

		if (p->steps[i].call != VG_CALL_CONDITION)
			continue;
		what(k->c, arg);
		for (uint32_t b = 0; b < k->n; b++)
			each(&k->body[b], what, arg);
	}
}

static void assign(struct vg_conditional *c, void *arg)
{
	struct vgpu_body_value b = { .addr = (uint64_t)(uintptr_t)c->word, .value = c->value, .bytes = 4 };

	if (c->assigned)
		vg_submit(arg, VGPU_OP_WRITE_VALUE, &b, NULL, 0);
}

void vg_conditions_begin(const struct vg_program *p, struct vg_stream *s) { each(p, assign, s); }

static void note(struct vg_conditional *c, void *arg)
{
	const struct vg_exec *e = arg;

	c->stream = e->last_stream;
	c->ticket = e->last;
}

void vg_conditions_launched(struct vg_exec *e)
{
	vg_lock(&vg_graphs);
	each(&e->program, note, e);
	vg_unlock(&vg_graphs);
}
