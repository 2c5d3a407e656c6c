/* SPDX-License-Identifier: MIT */
/*
 * What nodes do: made from the parameters that programs give, or from a call that is captured. Called by graph_node.c,
 * graph_exec.c and capture.c.
 *
 * Everything is checked when the node is made, as it would be in a stream, and everything that is pointed to is copied:
 * a launch has nothing left to find out.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct vg_work *vg_work_new(CUgraphNodeType type, struct vg_ctx *c)
{
	struct vg_work *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->type = type;
	w->ctx = c;
	w->ctx_handle = c ? c->handle : 0;
	return w;
}

void vg_work_free(struct vg_work *w)
{
	if (!w)
		return;
	switch ((int)w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		free(w->u.kernel.params);
		free(w->u.kernel.attrs);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		free(w->u.copy.given);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (w->u.child && !w->u.borrowed)
			vg_graph_free(w->u.child);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		vg_graph_mem_unref(w->u.alloc.m);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		free(w->u.batch.ops);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		vg_condition_drop(w);
		break;
	}
	free(w->raw);
	free(w);
}

/* Parameters and the array that points at them, in one block; the values are the caller's to fill in. */
static bool kernel_block(struct vg_work *w, const struct vg_func *f)
{
	const struct vgpu_fn_info *i = f->info;
	void **p = malloc(i->nparams * sizeof *p + f->param_bytes + 1);

	if (!p)
		return false;
	w->u.kernel.params = p;
	w->u.kernel.packed = (uint8_t *)(p + i->nparams);
	for (uint32_t k = 0; k < i->nparams; k++)
		p[k] = w->u.kernel.packed + i->params[k].offset;
	memset(w->u.kernel.packed, 0, f->param_bytes);
	return true;
}

static void *copied(const void *from, size_t bytes)
{
	void *to = malloc(bytes);

	return to ? memcpy(to, from, bytes) : NULL;
}

struct vg_work *vg_work_copy(const struct vg_work *from, bool private)
{
	struct vg_work *w = copied(from, sizeof *w);
	bool ok = true;

	if (!w)
		return NULL;
	/* Before anything can fail: nothing here belongs to two. */
	if (from->raw) {
		w->raw = copied(from->raw, sizeof *w->raw);
		ok = w->raw != NULL;
	}
	switch ((int)w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		w->u.kernel.params = NULL;
		w->u.kernel.attrs = NULL;
		if (from->u.kernel.params) {
			/* The function may be gone, and what describes it: the block's form does not depend on it. */
			size_t head = (size_t)(from->u.kernel.packed - (uint8_t *)from->u.kernel.params), n = head / sizeof(void *);
			size_t bytes = head + from->u.kernel.bytes;
			void **p = copied(from->u.kernel.params, bytes + 1);

			ok = ok && p;
			for (size_t i = 0; p && i < n; i++)
				p[i] = (uint8_t *)p + ((uint8_t *)from->u.kernel.params[i] - (uint8_t *)from->u.kernel.params);
			w->u.kernel.params = p;
			w->u.kernel.packed = p ? (uint8_t *)p + head : NULL;
		}
		if (from->u.kernel.attrs) {
			w->u.kernel.attrs = copied(from->u.kernel.attrs, CU_LAUNCH_ATTRIBUTE_MAX * sizeof *w->u.kernel.attrs);
			ok = ok && w->u.kernel.attrs;
		}
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (from->u.copy.given) {
			w->u.copy.given = copied(from->u.copy.given, sizeof *w->u.copy.given);
			ok = ok && w->u.copy.given;
		}
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		w->u.borrowed = false;
		w->u.child = vg_graph_copy(from->u.child, private);
		ok = ok && w->u.child;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		vg_graph_mem_ref(w->u.alloc.m);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		w->u.batch.ops = copied(from->u.batch.ops, (from->u.batch.n + 1) * sizeof *w->u.batch.ops);
		ok = ok && w->u.batch.ops;
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		ok = vg_condition_copy(w, from) && ok;
		break;
	}
	if (!ok) {
		vg_work_free(w);
		return NULL;
	}
	return w;
}

struct vg_work *vg_kernel_work(struct vg_func *f, const struct vg_shape *k, void *const *params, const uint8_t *packed)
{
	struct vg_work *w = vg_work_new(CU_GRAPH_NODE_TYPE_KERNEL, f->ctx);

	if (!w)
		return NULL;
	w->u.kernel.f = f;
	w->u.kernel.fn = f->handle;
	w->u.kernel.shape = *k;
	w->u.kernel.bytes = f->param_bytes;
	if (!kernel_block(w, f)) {
		vg_work_free(w);
		return NULL;
	}
	if (packed)
		memcpy(w->u.kernel.packed, packed, f->param_bytes);
	else
		for (uint32_t i = 0; i < f->info->nparams; i++)
			memcpy(w->u.kernel.params[i], params[i], f->info->params[i].bytes);
	return w;
}

CUresult vg_make_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct vg_work **w)
{
	const struct vg_shape k = { { p->gridDimX, p->gridDimY, p->gridDimZ }, { p->blockDimX, p->blockDimY, p->blockDimZ },
				    p->sharedMemBytes, 0 };
	const uint8_t *packed;
	struct vg_kernel *kern = NULL;
	struct vg_func *f;
	struct vg_ctx *c;
	uint32_t e;

	if (p->func) {
		VG_TRY(vg_function(p->func, &f));
	} else {
		kern = vg_get(VG_KERNEL, (uint64_t)(uintptr_t)p->kern);
		if (!kern)
			return CUDA_ERROR_INVALID_VALUE;
		VG_TRY(p->ctx ? vg_context(p->ctx, &c) : vg_current(&c));
		VG_TRY(vg_kernel_function(kern, c, &f));
	}
	e = vg_ctx_error(f->ctx);
	if (e)
		return vg_fail(f->ctx, e);
	VG_TRY(vg_launch_check(f, &k, p->kernelParams, p->extra, &packed));
	*w = vg_kernel_work(f, &k, p->kernelParams, packed);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.kernel.kern = kern ? kern->handle : 0;
	return CUDA_SUCCESS;
}

/* The context that a node's call names, or the current one. */
static CUresult node_ctx(CUcontext h, struct vg_ctx **c)
{
	uint32_t e;

	if (!h)
		return vg_current(c);
	VG_TRY(vg_context(h, c));
	e = vg_ctx_error(*c);
	return e ? vg_fail(*c, e) : CUDA_SUCCESS;
}

CUresult vg_make_copy(const CUDA_MEMCPY3D *m, CUcontext ctx, struct vg_work **w)
{
	struct vg_copy k;
	struct vg_ctx *c;

	VG_TRY(node_ctx(ctx, &c));
	VG_TRY(vg_copy_of_box(m, c, &k));
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_MEMCPY, c);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.copy.k = k;
	(*w)->u.copy.given = copied(m, sizeof *m);
	if ((*w)->u.copy.given)
		return CUDA_SUCCESS;
	vg_work_free(*w);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vg_make_fill(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx, struct vg_work **w)
{
	struct vg_ctx *c;

	VG_TRY(node_ctx(ctx, &c));
	VG_TRY(vg_check_fill(p, c));
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_MEMSET, c);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.fill = *p;
	return CUDA_SUCCESS;
}

CUresult vg_make_host(const CUDA_HOST_NODE_PARAMS *p, struct vg_work **w)
{
	if (!p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_HOST, NULL);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.host.fn = p->fn;
	(*w)->u.host.user = p->userData;
	return CUDA_SUCCESS;
}

CUresult vg_make_event(CUgraphNodeType type, CUevent event, struct vg_work **w)
{
	struct vg_event *e;

	VG_TRY(vg_event(event, &e));
	*w = vg_work_new(type, e->ctx);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.event = e->handle;
	return CUDA_SUCCESS;
}

CUresult vg_make_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct vg_work **w)
{
	struct vgpu_body_value b;
	struct vg_ctx *c;
	uint8_t op;

	if (p->flags || p->count > VG_VALUES_MAX || (p->count && !p->paramArray))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(node_ctx(p->ctx, &c));
	for (unsigned i = 0; i < p->count; i++)
		VG_TRY(vg_value_of(&p->paramArray[i], &b, &op));
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, c);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.batch.ctx = p->ctx;
	(*w)->u.batch.n = p->count;
	(*w)->u.batch.ops = calloc(p->count + 1, sizeof *p->paramArray);
	if (!(*w)->u.batch.ops) {
		vg_work_free(*w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (p->count)
		memcpy((*w)->u.batch.ops, p->paramArray, p->count * sizeof *p->paramArray);
	return CUDA_SUCCESS;
}

CUresult vg_make_child(CUgraph graph, bool move, struct vg_work **w)
{
	struct vg_graph *g = vg_graph_of(graph);

	if (!g || (move && (g->owner || g->capturing || g->execs)))
		return CUDA_ERROR_INVALID_VALUE;
	/* Documented: such graphs can be no children; those with memory, if they are moved. */
	if (move ? g->conditions || g->handles : vg_graph_single(g))
		return CUDA_ERROR_NOT_SUPPORTED;
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_GRAPH, NULL);
	if (!*w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*w)->u.borrowed = move;
	(*w)->u.child = move ? g : vg_graph_copy(g, false);
	if ((*w)->u.child)
		return CUDA_SUCCESS;
	vg_work_free(*w);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* The general form's memset has its context inside. */
static CUresult make_fill_v2(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct vg_work **w)
{
	const CUDA_MEMSET_NODE_PARAMS f = { .dst = p->dst, .pitch = p->pitch, .value = p->value, .elementSize = p->elementSize,
					    .width = p->width, .height = p->height };

	return vg_make_fill(&f, p->ctx, w);
}

CUresult vg_make_work(CUgraphNodeParams *p, struct vg_work **w)
{
	for (unsigned i = 0; i < 3; i++)
		if (p->reserved0[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (p->reserved2)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return vg_make_kernel(&p->kernel, w);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return p->memcpy.flags || p->memcpy.reserved ? CUDA_ERROR_INVALID_VALUE :
							       vg_make_copy(&p->memcpy.copyParams, p->memcpy.copyCtx, w);
	case CU_GRAPH_NODE_TYPE_MEMSET: return make_fill_v2(&p->memset, w);
	case CU_GRAPH_NODE_TYPE_HOST: return vg_make_host(&p->host, w);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return (unsigned)p->graph.ownership > CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? CUDA_ERROR_INVALID_VALUE :
		       vg_make_child(p->graph.graph, p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, w);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return vg_make_event(p->type, p->eventWait.event, w);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return vg_make_event(p->type, p->eventRecord.event, w);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return vg_make_alloc(&p->alloc, NULL, w);
	case CU_GRAPH_NODE_TYPE_MEM_FREE: return vg_make_free(p->free.dptr, w);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		*w = vg_work_new(CU_GRAPH_NODE_TYPE_EMPTY, NULL);
		return *w ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL: return vg_make_condition(&p->conditional, w);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return vg_make_batch(&p->memOp, w);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return vg_unsupported("a node of external semaphores");
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static bool one_row(const struct vg_copy *k) { return k->height == 1 && k->depth == 1; }

static bool same_box(const struct vg_copy *a, const struct vg_copy *b)
{
	return a->width == b->width && a->height == b->height && a->depth == b->depth && a->dst_pitch == b->dst_pitch &&
	       a->dst_slice == b->dst_slice && a->src_pitch == b->src_pitch && a->src_slice == b->src_slice;
}

static bool same_operations(const struct vg_work *a, const struct vg_work *b)
{
	for (uint32_t i = 0; i < a->u.batch.n && i < b->u.batch.n; i++)
		if (a->u.batch.ops[i].operation != b->u.batch.ops[i].operation)
			return false;
	return a->u.batch.n == b->u.batch.n;
}

/*
 * Documented: the type stays; in an exec also the context, where copies and fills go from and to, and the shape of
 * those that have more than one row.
 */
CUresult vg_work_may(const struct vg_work *was, const struct vg_work *now, bool exec)
{
	const struct vg_copy *a = &was->u.copy.k, *b = &now->u.copy.k;

	if (was->type != now->type || was->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || was->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	if (now->type == CU_GRAPH_NODE_TYPE_GRAPH && now->u.borrowed)
		return CUDA_ERROR_INVALID_VALUE;
	/* Of the whole graph only, which may have handles of its own. */
	if (was->type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
	    (!exec || was->u.cond.type != now->u.cond.type || was->u.cond.n != now->u.cond.n))
		return CUDA_ERROR_INVALID_VALUE;
	if (!exec)
		return CUDA_SUCCESS;
	if (was->ctx != now->ctx || was->ctx_handle != now->ctx_handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (was->type == CU_GRAPH_NODE_TYPE_MEMCPY &&
	    (vg_in_device(a->dst) != vg_in_device(b->dst) || vg_in_device(a->src) != vg_in_device(b->src) ||
	     (!(one_row(a) && one_row(b)) && !same_box(a, b))))
		return CUDA_ERROR_INVALID_VALUE;
	if (was->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !same_operations(was, now))
		return CUDA_ERROR_INVALID_VALUE;
	if (was->type == CU_GRAPH_NODE_TYPE_MEMSET && (was->u.fill.height != 1 || now->u.fill.height != 1) &&
	    (was->u.fill.height != now->u.fill.height || was->u.fill.width != now->u.fill.width ||
	     was->u.fill.pitch != now->u.fill.pitch || was->u.fill.elementSize != now->u.fill.elementSize))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
