/* SPDX-License-Identifier: MIT */
/*
 * Graphs that can be launched: a copy of the graph, and the program made of it. Called by programs; graph_launch.c
 * runs what is built here.
 *
 *   nodes in order       k0    fill   k1    host   k2    copy from malloc'd memory
 *   image                [k0][fill][k1]            [k2]                [copy from the staging place]
 *   steps                3 commands, host | 1 command, pack | 1 command
 *
 * A command in the image lacks only what is known when it is launched (queue.h), so that a launch copies. The program
 * is made again at the next launch when a node was changed.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* Places in the window for copies of ordinary memory, and for large parameters; they live as long as a launch may use them. */
struct vg_staged {
	struct vg_staged *next;
	void *p;
	uint64_t bytes;
};

/* ---- the program ---- */

static bool room_for(struct vg_program *p, unsigned slots)
{
	uint32_t want = p->image_room ? p->image_room : 64;
	void *q;

	while (want < p->nslots + slots)
		want *= 2;
	if (want != p->image_room) {
		q = realloc(p->image, want * sizeof *p->image);
		if (!q)
			return false;
		p->image = q;
		p->image_room = want;
	}
	if (p->nsteps + 2 > p->steps_room) {
		want = p->steps_room ? p->steps_room * 2 : 8;
		q = realloc(p->steps, want * sizeof *p->steps);
		if (!q)
			return false;
		p->steps = q;
		p->steps_room = want;
	}
	return true;
}

/* What is in it; its room stays. */
static void empty(struct vg_program *p)
{
	for (uint32_t i = 0; i < p->nsteps; i++) {
		free(p->steps[i].copy);
		vg_condition_unref(p->steps[i].condition);
	}
	p->nsteps = p->nslots = 0;
}

void vg_program_free(struct vg_program *p)
{
	empty(p);
	free(p->image);
	free(p->steps);
	*p = (struct vg_program){ 0 };
}

/* The step that commands are added to: the last one, while no call ends it. */
static struct vg_step *open_step(struct vg_program *p)
{
	if (!p->nsteps || p->steps[p->nsteps - 1].call != VG_CALL_NONE)
		p->steps[p->nsteps++] = (struct vg_step){ .call = VG_CALL_NONE };
	return &p->steps[p->nsteps - 1];
}

static CUresult add_command(struct vg_exec *e, uint8_t op, const void *body, const void *payload, unsigned bytes)
{
	unsigned slots = 1 + vgpu_payload_slots(bytes);
	union vgpu_slot *h;

	if (!room_for(e->to, slots))
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = e->to->image + e->to->nslots;
	memset(h, 0, slots * sizeof *h);
	h->cmd.op = op;
	h->cmd.slots = (uint8_t)slots;
	memcpy(h->cmd.u.body, body, sizeof h->cmd.u.body);
	for (unsigned k = 1; k < slots; k++) {
		unsigned part = bytes < VGPU_SLOT_PAYLOAD ? bytes : VGPU_SLOT_PAYLOAD;

		memcpy(h[k].payload.bytes, payload, part);
		payload = (const uint8_t *)payload + part;
		bytes -= part;
	}
	e->to->nslots += slots;
	open_step(e->to)->commands++;
	return CUDA_SUCCESS;
}

static struct vg_step *add_step(struct vg_exec *e, enum vg_call call)
{
	struct vg_step *s;

	if (!room_for(e->to, 0))
		return NULL;
	s = open_step(e->to);
	s->call = call;
	return s;
}

static CUresult add_call(struct vg_exec *e, enum vg_call call, const struct vg_work *w)
{
	struct vg_step *s = add_step(e, call);

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->w = w;
	return CUDA_SUCCESS;
}

/* By a host function of ours. The step has a copy: that of a body may run when the node is another's. */
static CUresult add_packing(struct vg_exec *e, enum vg_call call, const struct vg_copy *k, uint8_t *staging)
{
	struct vg_copy *own = malloc(sizeof *own);
	struct vg_step *s = own ? add_step(e, call) : NULL;

	if (!s) {
		free(own);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*own = *k;
	s->copy = own;
	s->staging = staging;
	return CUDA_SUCCESS;
}

static struct vg_staged *stage(struct vg_exec *e, uint64_t bytes)
{
	struct vg_staged *s = malloc(sizeof *s);

	if (!s)
		return NULL;
	*s = (struct vg_staged){ e->staged, vg_window_alloc(bytes, 64), bytes };
	if (!s->p) {
		free(s);
		return NULL;
	}
	return e->staged = s;
}

static CUresult add_kernel(struct vg_exec *e, const struct vg_work *w)
{
	const struct vg_func *f = w->u.kernel.f;
	struct vgpu_params_at at = { 0 };
	struct vg_staged *staged;
	uint64_t body[4];

	if (vg_get(VG_FUNCTION, w->u.kernel.fn) != f)
		return CUDA_ERROR_INVALID_HANDLE;
	if (vg_func_large(f)) {
		staged = stage(e, f->param_bytes);
		if (!staged)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(staged->p, w->u.kernel.packed, f->param_bytes);
		at.at = (uint64_t)(uintptr_t)staged->p;
		vg_launch_body(f, &w->u.kernel.shape, body);
		return add_command(e, VGPU_OP_LAUNCH_LARGE, body, &at, sizeof at);
	}
	if (!room_for(e->to, f->nslots))
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->to->nslots += vg_launch_image(f, &w->u.kernel.shape, w->u.kernel.packed, e->to->image + e->to->nslots);
	open_step(e->to)->commands++;
	return CUDA_SUCCESS;
}

static CUresult add_copy(struct vg_exec *e, const struct vg_work *w)
{
	const struct vg_copy *k = &w->u.copy.k;
	struct vg_copy part = *k;
	struct vgpu_copy3d payload;
	struct vg_staged *staged;
	uint64_t body[4], bytes;
	unsigned extra;
	uint8_t op;

	if (k->dst_pageable && k->src_pageable)
		return add_packing(e, VG_CALL_COPY, k, NULL);
	if (!k->dst_pageable && !k->src_pageable) {
		op = vg_copy_command(k, body, &payload, &extra);
		return add_command(e, op, body, &payload, extra);
	}
	/* Through a place of its own: a host function packs what stands there when the stream has come so far, or unpacks. */
	if (__builtin_mul_overflow(k->width, k->height, &bytes) || __builtin_mul_overflow(bytes, k->depth, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	staged = stage(e, bytes);
	if (!staged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (k->src_pageable) {
		part.src = (uint64_t)(uintptr_t)staged->p;
		part.src_pitch = k->width;
		part.src_slice = k->width * k->height;
		VG_TRY(add_packing(e, VG_CALL_PACK, k, staged->p));
	} else {
		part.dst = (uint64_t)(uintptr_t)staged->p;
		part.dst_pitch = k->width;
		part.dst_slice = k->width * k->height;
	}
	op = vg_copy_command(&part, body, &payload, &extra);
	VG_TRY(add_command(e, op, body, &payload, extra));
	return k->dst_pageable ? add_packing(e, VG_CALL_UNPACK, k, staged->p) : CUDA_SUCCESS;
}

static CUresult add_fill(struct vg_exec *e, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct vgpu_body_fill b = { .dst = p->dst, .width = p->width, .height = (uint32_t)p->height, .value = p->value,
				    .elem_bytes = p->elementSize };

	if (p->height > 1 && p->pitch > 0xffffffffu) {  /* the wire's pitch has 32 bits: row by row */
		b.height = 1;
		for (uint64_t y = 0; y < p->height; y++, b.dst += p->pitch)
			VG_TRY(add_command(e, VGPU_OP_FILL, &b, NULL, 0));
		return CUDA_SUCCESS;
	}
	b.pitch = p->height > 1 ? (uint32_t)p->pitch : 0;
	if (p->elementSize < 4)
		b.value &= (1u << 8 * p->elementSize) - 1;
	return add_command(e, VGPU_OP_FILL, &b, NULL, 0);
}

static CUresult add_batch(struct vg_exec *e, const struct vg_work *w)
{
	for (uint32_t i = 0; i < w->u.batch.n; i++) {
		struct vgpu_body_value b;
		uint8_t op;

		VG_TRY(vg_value_of(&w->u.batch.ops[i], &b, &op));
		if (op)
			VG_TRY(add_command(e, op, &b, NULL, 0));
	}
	return CUDA_SUCCESS;
}

static CUresult add_graph(struct vg_exec *e, struct vg_graph *g, struct vg_node **bad);

static CUresult add_condition(struct vg_exec *e, const struct vg_work *w, struct vg_node **bad)
{
	struct vg_condition *k = vg_condition_new(w);
	struct vg_step *s = k ? add_step(e, VG_CALL_CONDITION) : NULL;
	struct vg_program *to = e->to;
	CUresult r = CUDA_SUCCESS;

	if (!s) {
		vg_condition_unref(k);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	s->condition = k;
	for (uint32_t i = 0; i < w->u.cond.n && !r; i++) {
		e->to = vg_condition_body(k, i);
		r = add_graph(e, w->u.cond.bodies[i], bad);
	}
	e->to = to;
	return r;
}

static CUresult add_work(struct vg_exec *e, const struct vg_work *w, struct vg_node **bad)
{
	if (w->ctx) {
		if (e->ctx && (e->ctx != w->ctx || e->ctx_handle != w->ctx_handle))
			return vg_unsupported("a graph of more than one context");
		e->ctx = w->ctx;
		e->ctx_handle = w->ctx_handle;
	}
	if (w->raw)
		return add_command(e, w->raw->op, w->raw->body, w->raw->payload, w->raw->bytes);
	switch ((int)w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return add_kernel(e, w);
	case CU_GRAPH_NODE_TYPE_MEMCPY: return add_copy(e, w);
	case CU_GRAPH_NODE_TYPE_MEMSET: return add_fill(e, &w->u.fill);
	case CU_GRAPH_NODE_TYPE_GRAPH: return add_graph(e, w->u.child, bad);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: return add_condition(e, w, bad);
	case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
	}
	/* Documented: the body of a conditional node has none of the others. */
	if (e->to != &e->program)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)w->type) {
	case CU_GRAPH_NODE_TYPE_HOST: return add_call(e, VG_CALL_HOST, w);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return add_call(e, VG_CALL_RECORD, w);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return add_call(e, VG_CALL_WAIT, w);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return add_call(e, VG_CALL_ALLOC, w);
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return add_call(e, VG_CALL_FREE, w);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return add_batch(e, w);
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult add_graph(struct vg_exec *e, struct vg_graph *g, struct vg_node **bad)
{
	struct vg_node **order = vg_graph_order(g, bad);
	CUresult r = CUDA_SUCCESS;

	if (!order)
		return *bad ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < g->n && !r; i++) {
		if (order[i]->disabled)
			continue;
		r = add_work(e, order[i]->work, bad);
		if (r && !*bad)
			*bad = order[i];
	}
	free(order);
	return r;
}

/* What a launch on the way may still use goes when that is done. */
static void drop_staged(struct vg_exec *e)
{
	bool flying = e->last && e->last_ctx->handle == e->last_ctx_handle;
	struct vg_staged *s;

	while ((s = e->staged) != NULL) {
		e->staged = s->next;
		if (flying)
			vg_defer(VG_DEFER_WINDOW, e->last_ctx, e->last_stream, e->last, s->p, s->bytes);
		else
			vg_window_free(s->p, s->bytes);
		free(s);
	}
}

/*
 * To a device that is quicker when it knows: what is launched together, and comes again. A run is launches with nothing between
 * them; what else the program does is told as it is.
 */
static void mark_runs(const struct vg_exec *e)
{
	union vgpu_slot *h = e->program.image;

	if (!(vg.features & VGPU_FEATURE_RUNS) || !e->ctx || !(vg.info[e->ctx->ordinal].features & VGPU_DEV_FEATURE_RUNS))
		return;
	for (uint32_t i = 0; i < e->program.nsteps; i++) {
		struct vgpu_cmd *last = NULL;

		for (uint32_t k = 0; k < e->program.steps[i].commands; k++, h += h->cmd.slots) {
			if (h->cmd.op != VGPU_OP_LAUNCH)
				continue;
			h->cmd.flags |= VGPU_CMD_RUN;
			last = &h->cmd;
		}
		if (last)
			last->flags |= VGPU_CMD_RUN_END;
	}
}

static CUresult build(struct vg_exec *e, struct vg_node **bad)
{
	CUresult r;

	*bad = NULL;
	drop_staged(e);
	empty(&e->program);
	e->to = &e->program;
	e->dirty = true;
	e->seen = __atomic_load_n(&vg_func_deaths, __ATOMIC_ACQUIRE);
	r = add_graph(e, e->graph, bad);
	e->dirty = r != CUDA_SUCCESS;
	if (!r)
		mark_runs(e);
	return r;
}

CUresult vg_exec_build(struct vg_exec *e)
{
	struct vg_node *bad;
	CUresult r;

	vg_lock(&vg_graphs);
	r = build(e, &bad);
	vg_unlock(&vg_graphs);
	return r;
}

static bool functions_alive(const struct vg_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct vg_work *w = g->nodes[i]->work;

		struct vg_graph *in;

		if (w->type == CU_GRAPH_NODE_TYPE_KERNEL && w->u.kernel.f && vg_get(VG_FUNCTION, w->u.kernel.fn) != w->u.kernel.f)
			return false;
		for (uint32_t k = 0; (in = vg_inside(w, k)) != NULL; k++)
			if (!functions_alive(in))
				return false;
	}
	return true;
}

bool vg_exec_alive(const struct vg_exec *e) { return functions_alive(e->graph); }

/* ---- instantiation ---- */

static void exec_free(struct vg_exec *e)
{
	struct vg_graph *source = vg_get(VG_GRAPH, e->source);

	vg_unpublish(e);
	drop_staged(e);
	if (e->graph) {
		if (source && vg_graph_single(e->graph))
			source->execs--;
		vg_graph_leave(e, e->graph);
		vg_graph_free(e->graph);
	}
	vg_program_free(&e->program);
	vg_delete(VG_EXEC, e);
}

static uint32_t last_id;        /* of execs */

/* *bad: the node of the program's graph that is to blame; *unused: it is a handle that no conditional node has. */
static CUresult instantiate(CUgraphExec *out, CUgraph h, uint64_t flags, CUgraphNode *bad, bool *unused)
{
	const uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
			       CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
	struct vg_node *at = NULL;
	struct vg_graph *g;
	struct vg_exec *e;
	CUresult r;

	*bad = NULL;
	*unused = false;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH && flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
		return CUDA_ERROR_INVALID_VALUE;        /* "cannot be used in conjunction" */
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return vg_unsupported("a graph that the device launches");
	if (flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&vg_graphs);
	g = vg_graph_of(h);
	r = CUDA_ERROR_INVALID_VALUE;
	/* Documented: memory nodes belong to one exec at a time, and conditional nodes, each of whose handles has one. */
	if (!g || g->capturing || (vg_graph_single(g) && g->execs))
		goto out;
	*unused = !vg_conditionals_used(g);
	if (*unused)
		goto out;
	r = CUDA_ERROR_OUT_OF_MEMORY;
	e = vg_new(VG_EXEC);
	if (!e)
		goto out;
	e->id = ++last_id;
	e->flags = flags;
	e->graph = vg_graph_copy(g, true);
	if (e->graph) {
		e->source = g->handle;
		g->execs += vg_graph_single(g);
		r = build(e, &at);
	}
	if (r) {
		if (at && at->origin && vg_get(VG_NODE, at->origin))
			*bad = (CUgraphNode)(uintptr_t)at->origin;
		exec_free(e);
		goto out;
	}
	vg_publish(e);
	*out = VG_HANDLE(CUgraphExec, e);
out:
	vg_unlock(&vg_graphs);
	return r;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	CUgraphNode bad;
	bool unused;

	VG_READY();
	return instantiate(exec, graph, flags, &bad, &unused);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t log_bytes)
{
	CUgraphNode bad;
	bool unused;
	CUresult r;

	VG_READY();
	r = instantiate(exec, graph, 0, &bad, &unused);
	if (error_node)
		*error_node = bad;
	if (r && log && log_bytes)
		*log = 0;
	return r;
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t log_bytes)
{
	return cuGraphInstantiate_v2(exec, graph, error_node, log, log_bytes);
}

static CUresult impl_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p, bool pt)
{
	struct vg_stream *s;
	bool unused;
	CUresult r;

	VG_READY();
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	/* There is nothing to upload, but the stream must be one. */
	if (p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		VG_TRY(vg_stream(p->hUploadStream, pt, &s));
	r = instantiate(exec, graph, p->flags, &p->hErrNode_out, &unused);
	p->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS :
			unused ? CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED :
			p->hErrNode_out && r == CUDA_ERROR_INVALID_VALUE ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE :
			p->hErrNode_out && r == CUDA_ERROR_NOT_SUPPORTED ? CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED :
			CUDA_GRAPH_INSTANTIATE_ERROR;
	return r;
}
VG_TWIN(cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
	(exec, graph, params, pt))

CUresult cuGraphExecDestroy(CUgraphExec h)
{
	struct vg_exec *e;
	bool alive;

	VG_READY();
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	/* Arenas stay, so the lock of an exec that somebody destroys meanwhile may be taken. */
	vg_lock(&e->lock);
	vg_lock(&vg_graphs);
	alive = e->handle == (uint64_t)(uintptr_t)h;
	if (alive)
		vg_unpublish(e);
	vg_unlock(&vg_graphs);
	vg_unlock(&e->lock);
	if (!alive)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&vg_graphs);
	exec_free(e);
	vg_unlock(&vg_graphs);
	vg_deferred_reap();
	vg_retained_reap();
	return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec h, cuuint64_t *flags)
{
	struct vg_exec *e;

	VG_READY();
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = e->flags;
	return CUDA_SUCCESS;
}

/* ---- updates ---- */

static int by_place(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Do two nodes depend on the nodes in the same places? What was captured twice has them in the same order too. */
static bool same_before(const struct vg_edges *a, const struct vg_edges *b)
{
	uint32_t *x, *y;
	bool same = true;

	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n && same; i++)
		same = a->to[i]->at == b->to[i]->at;
	if (same)
		return true;
	x = malloc(2 * a->n * sizeof *x);
	if (!x)
		return false;
	y = x + a->n;
	for (uint32_t i = 0; i < a->n; i++) {
		x[i] = a->to[i]->at;
		y[i] = b->to[i]->at;
	}
	qsort(x, a->n, sizeof *x, by_place);
	qsort(y, a->n, sizeof *y, by_place);
	same = !memcmp(x, y, a->n * sizeof *x);
	free(x);
	return same;
}

/*
 * Node by node in the order in which they came. *bad: the node of the new graph, *was: that of the exec. Nothing is
 * changed yet.
 */
static CUgraphExecUpdateResult compare(const struct vg_graph *old, const struct vg_graph *new, const struct vg_node **bad,
				       const struct vg_node **was)
{
	*bad = *was = NULL;
	/* Documented: with a different number of nodes there is none to blame. */
	if (old->n != new->n)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (uint32_t i = 0; i < old->n; i++) {
		const struct vg_work *a = old->nodes[i]->work, *b = new->nodes[i]->work;
		CUgraphExecUpdateResult r;

		*bad = new->nodes[i];
		*was = old->nodes[i];
		if (a->type != b->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (!same_before(&old->nodes[i]->before, &new->nodes[i]->before))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (a->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || a->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
		if (vg_work_may(a, b, true))
			return a->type == CU_GRAPH_NODE_TYPE_KERNEL ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE :
								      CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		for (uint32_t k = 0; vg_inside(a, k); k++) {
			r = compare(vg_inside(a, k), vg_inside(b, k), bad, was);
			if (r)
				return r;
		}
	}
	*bad = *was = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* A new work for each node, or none at all. */
static bool copy_works(const struct vg_graph *new, struct vg_work **w)
{
	for (uint32_t i = 0; i < new->n; i++) {
		w[i] = vg_work_copy(new->nodes[i]->work, true);
		if (!w[i]) {
			while (i)
				vg_work_free(w[--i]);
			return false;
		}
	}
	return true;
}

/* In a child: what the program's nodes are called there. */
static void take_origins(struct vg_graph *to, const struct vg_graph *from)
{
	for (uint32_t i = 0; i < to->n; i++) {
		to->nodes[i]->origin = from->nodes[i]->origin;
		to->nodes[i]->disabled = from->nodes[i]->disabled;
		for (uint32_t k = 0; vg_inside(to->nodes[i]->work, k); k++)
			take_origins(vg_inside(to->nodes[i]->work, k), vg_inside(from->nodes[i]->work, k));
	}
}

static CUresult replace(struct vg_exec *e, const struct vg_graph *new)
{
	struct vg_work **w = malloc((new->n + 1) * sizeof *w);
	struct vg_retained *was = e->graph->retained;

	if (!w || !copy_works(new, w)) {
		free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->graph->retained = NULL;
	if (!vg_retained_copy(e->graph, new)) {
		vg_retained_drop(e->graph->retained);
		e->graph->retained = was;
		for (uint32_t i = 0; i < new->n; i++)
			vg_work_free(w[i]);
		free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	vg_retained_leave(e, was);
	for (uint32_t i = 0; i < new->n; i++) {
		struct vg_node *x = e->graph->nodes[i];

		for (uint32_t k = 0; vg_inside(w[i], k); k++) {
			take_origins(vg_inside(w[i], k), vg_inside(x->work, k));
			vg_inside(w[i], k)->owner = x;
		}
		vg_work_leave(e, x->work);
		vg_work_free(x->work);
		x->work = w[i];
	}
	free(w);
	e->dirty = true;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec h, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	const struct vg_node *bad = NULL, *was = NULL;
	CUgraphExecUpdateResult what = CU_GRAPH_EXEC_UPDATE_ERROR;
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct vg_graph *g;
	struct vg_exec *e;

	VG_READY();
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e || !info)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&e->lock);
	vg_lock(&vg_graphs);
	g = vg_graph_of(graph);
	if (g && !g->capturing && e->handle == (uint64_t)(uintptr_t)h) {
		what = compare(e->graph, g, &bad, &was);
		r = what ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : replace(e, g);
		if (r && !what)
			what = CU_GRAPH_EXEC_UPDATE_ERROR;
	}
	info->result = what;
	info->errorNode = bad ? VG_HANDLE(CUgraphNode, bad) : NULL;
	info->errorFromNode = was && vg_get(VG_NODE, was->origin) ? (CUgraphNode)(uintptr_t)was->origin : NULL;
	vg_unlock(&vg_graphs);
	vg_unlock(&e->lock);
	return r;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info = { CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL };
	CUresult r;

	if (!result)
		return CUDA_ERROR_INVALID_VALUE;
	r = cuGraphExecUpdate_v2(exec, graph, &info);
	*result = info.result;
	if (error_node)
		*error_node = info.errorNode;
	return r;
}
