/* SPDX-License-Identifier: MIT */
/*
 * Nodes by hand: adding them to a graph, and asking and changing what they do, in the graph and in an exec that was
 * made of it. Called by programs.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* A node that does w, which is taken, behind the nodes in deps. */
static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, struct vg_work *w)
{
	struct vg_graph *g = vg_graph_of(graph);
	struct vg_node **before = NULL, *x;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!node || !g || (n && !deps) || n > 1u << 24)
		goto fail;
	if (g->owner && (w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || w->type == CU_GRAPH_NODE_TYPE_MEM_FREE)) {
		r = CUDA_ERROR_NOT_SUPPORTED;
		goto fail;
	}
	if (w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && (r = vg_conditional_belongs(w, g)) != CUDA_SUCCESS)
		goto fail;
	r = CUDA_ERROR_INVALID_VALUE;
	before = malloc((n + 1) * sizeof *before);
	if (!before) {
		r = CUDA_ERROR_OUT_OF_MEMORY;
		goto fail;
	}
	/* Of this graph, and none twice: the mark says which were seen. */
	for (size_t i = 0; i < n; i++) {
		before[i] = vg_node_of(deps[i]);
		if (!before[i] || before[i]->graph != g)
			goto fail;
		before[i]->mark = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (before[i]->mark++)
			goto fail;
	x = vg_node_new(g, before, n, w);
	free(before);
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (w->type == CU_GRAPH_NODE_TYPE_GRAPH)
		w->u.borrowed = false;
	*node = VG_HANDLE(CUgraphNode, x);
	return CUDA_SUCCESS;
fail:
	free(before);
	vg_work_free(w);
	return r;
}

/* make: an expression that fills w. Made under the lock too: a child graph is copied. */
#define ADD(make) \
	do { \
		struct vg_work *w = NULL; \
		CUresult ret_; \
		VG_READY(); \
		vg_lock(&vg_graphs); \
		ret_ = (make); \
		if (ret_ == CUDA_SUCCESS) \
			ret_ = add(node, graph, deps, n, w); \
		vg_unlock(&vg_graphs); \
		return ret_; \
	} while (0)

#define GIVEN(p) \
	do { \
		if (!(p)) \
			return CUDA_ERROR_INVALID_VALUE; \
	} while (0)

static CUresult set(CUgraphNode h, struct vg_work *w)
{
	struct vg_node *x = vg_node_of(h);
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (x)
		r = vg_work_may(x->work, w, false);
	if (r == CUDA_SUCCESS) {
		struct vg_work *old = x->work;

		/* What was set on a kernel's node stays with it. */
		if (w->type == CU_GRAPH_NODE_TYPE_KERNEL && old->u.kernel.attrs) {
			w->u.kernel.attrs = old->u.kernel.attrs;
			w->u.kernel.attrs_set = old->u.kernel.attrs_set;
			w->u.kernel.shape.attrs |= old->u.kernel.shape.attrs;
			old->u.kernel.attrs = NULL;
		}
		x->work = w;
		for (uint32_t i = 0; vg_inside(w, i); i++)
			vg_inside(w, i)->owner = x;
		w = old;
	}
	vg_work_free(w);
	return r;
}

#define SET(make) \
	do { \
		struct vg_work *w = NULL; \
		CUresult ret_; \
		VG_READY(); \
		vg_lock(&vg_graphs); \
		ret_ = (make); \
		if (ret_ == CUDA_SUCCESS) \
			ret_ = set(node, w); \
		vg_unlock(&vg_graphs); \
		return ret_; \
	} while (0)

/* The node of an exec's graph that was made of a node of the program's; in child graphs too. */
static struct vg_node *counterpart(struct vg_graph *g, const struct vg_node *of)
{
	struct vg_node *x = NULL;

	/* Where nothing was destroyed meanwhile it has the same place. */
	if (of->at < g->n && g->nodes[of->at]->origin == of->handle)
		return g->nodes[of->at];
	for (uint32_t i = 0; i < g->n && !x; i++) {
		if (g->nodes[i]->origin == of->handle)
			x = g->nodes[i];
		for (uint32_t k = 0; !x && vg_inside(g->nodes[i]->work, k); k++)
			x = counterpart(vg_inside(g->nodes[i]->work, k), of);
	}
	return x;
}

/* Both alive and belonging together. The exec's lock is taken before vg_graphs, and held when this succeeds. */
static CUresult lock_both(CUgraphExec exec, CUgraphNode node, struct vg_exec **out, struct vg_node **x)
{
	struct vg_exec *e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)exec);
	struct vg_node *of;

	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&e->lock);
	vg_lock(&vg_graphs);
	of = vg_node_of(node);
	*x = e->handle == (uint64_t)(uintptr_t)exec && of ? counterpart(e->graph, of) : NULL;
	*out = e;
	if (*x)
		return CUDA_SUCCESS;
	vg_unlock(&vg_graphs);
	vg_unlock(&e->lock);
	return CUDA_ERROR_INVALID_VALUE;
}

/* Same edges between nodes of the same types: then what is in a may be put into b. */
static bool same_form(const struct vg_graph *a, const struct vg_graph *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct vg_edges *p = &a->nodes[i]->before, *q = &b->nodes[i]->before;

		if (p->n != q->n || vg_work_may(a->nodes[i]->work, b->nodes[i]->work, true))
			return false;
		for (uint32_t k = 0; k < p->n; k++)
			if (p->to[k]->at != q->to[k]->at)
				return false;
		for (uint32_t k = 0; vg_inside(a->nodes[i]->work, k); k++)
			if (!same_form(vg_inside(a->nodes[i]->work, k), vg_inside(b->nodes[i]->work, k)))
				return false;
	}
	return true;
}

static void keep_origins(struct vg_graph *to, const struct vg_graph *from)
{
	for (uint32_t i = 0; i < to->n; i++) {
		to->nodes[i]->origin = from->nodes[i]->origin;
		to->nodes[i]->disabled = from->nodes[i]->disabled;
		for (uint32_t k = 0; vg_inside(to->nodes[i]->work, k); k++)
			keep_origins(vg_inside(to->nodes[i]->work, k), vg_inside(from->nodes[i]->work, k));
	}
}

static CUresult exec_set(struct vg_exec *e, struct vg_node *x, struct vg_work *w)
{
	CUresult r = vg_work_may(x->work, w, true);

	if (r == CUDA_SUCCESS && w->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		/* It was made as a program's; an exec's has no handles. */
		struct vg_graph *child = vg_graph_copy(w->u.child, true);

		vg_graph_free(w->u.child);
		w->u.child = child;
		if (!child)
			r = CUDA_ERROR_OUT_OF_MEMORY;
		else if (!same_form(x->work->u.child, child))
			r = CUDA_ERROR_INVALID_VALUE;
		else
			keep_origins(child, x->work->u.child);
		if (child)
			child->owner = x;
	}
	if (r == CUDA_SUCCESS) {
		struct vg_work *old = x->work;

		if (w->type == CU_GRAPH_NODE_TYPE_KERNEL)
			w->u.kernel.shape.attrs |= old->u.kernel.shape.attrs;
		x->work = w;
		w = old;
		vg_work_leave(e, old);
		e->dirty = true;
	}
	vg_work_free(w);
	return r;
}

#define EXEC_SET(make) \
	do { \
		struct vg_work *w = NULL; \
		struct vg_exec *e; \
		struct vg_node *x; \
		CUresult ret_; \
		VG_READY(); \
		VG_TRY(lock_both(exec, node, &e, &x)); \
		ret_ = (make); \
		if (ret_ == CUDA_SUCCESS) \
			ret_ = exec_set(e, x, w); \
		vg_unlock(&vg_graphs); \
		vg_unlock(&e->lock); \
		return ret_; \
	} while (0)

/* Asks: `type` is what the node must be, `take` an expression over x->work. */
#define GET(want, take) \
	do { \
		struct vg_node *x; \
		CUresult ret_ = CUDA_ERROR_INVALID_VALUE; \
		VG_READY(); \
		vg_lock(&vg_graphs); \
		x = vg_node_of(node); \
		if (x && x->work->type == (want)) \
			ret_ = (take); \
		vg_unlock(&vg_graphs); \
		return ret_; \
	} while (0)

/* ---- any ---- */

/* A graph that is put into itself would be copied with what it is to get. */
static CUresult not_itself(CUgraph graph, CUgraph child)
{
	const struct vg_graph *g = vg_graph_of(graph);

	for (; g; g = g->owner ? g->owner->graph : NULL)
		if (g == vg_graph_of(child))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult make_any_of(CUgraph graph, CUgraphNodeParams *p, struct vg_work **w)
{
	if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		VG_TRY(not_itself(graph, p->graph.graph));
	return vg_make_work(p, w);
}


CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n,
			   CUgraphNodeParams *params)
{
	GIVEN(params);
	VG_TRY(vg_plain_edges(edges, n));
	ADD(make_any_of(graph, params, &w));
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraphNodeParams *params)
{
	GIVEN(params);
	ADD(make_any_of(graph, params, &w));
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	GIVEN(params);
	SET(vg_make_work(params, &w));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	GIVEN(params);
	EXEC_SET(vg_make_work(params, &w));
}

/* ---- kernels ---- */

/* As the second form has it. */
static CUDA_KERNEL_NODE_PARAMS later(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS k;

	memset(&k, 0, sizeof k);
	memcpy(&k, p, sizeof *p);
	return k;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
				 const CUDA_KERNEL_NODE_PARAMS *params)
{
	GIVEN(params);
	ADD(vg_make_kernel(params, &w));
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS k;

	GIVEN(params);
	k = later(params);
	ADD(vg_make_kernel(&k, &w));
}

static CUresult take_kernel(const struct vg_work *w, CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct vg_shape *k = &w->u.kernel.shape;

	if (!w->u.kernel.f)     /* a product of cuBLAS: it has no function that anybody could name */
		return CUDA_ERROR_NOT_SUPPORTED;
	*p = (CUDA_KERNEL_NODE_PARAMS){ .func = (CUfunction)(uintptr_t)w->u.kernel.fn, .gridDimX = k->grid[0],
					.gridDimY = k->grid[1], .gridDimZ = k->grid[2], .blockDimX = k->block[0],
					.blockDimY = k->block[1], .blockDimZ = k->block[2], .sharedMemBytes = k->shared,
					.kernelParams = w->u.kernel.params, .kern = (CUkernel)(uintptr_t)w->u.kernel.kern,
					.ctx = (CUcontext)(uintptr_t)w->ctx_handle };
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_KERNEL, take_kernel(x->work, params));
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS k;

	GIVEN(params);
	VG_TRY(cuGraphKernelNodeGetParams_v2(node, &k));
	memcpy(params, &k, sizeof *params);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	GIVEN(params);
	SET(vg_make_kernel(params, &w));
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS k;

	GIVEN(params);
	k = later(params);
	SET(vg_make_kernel(&k, &w));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	GIVEN(params);
	EXEC_SET(vg_make_kernel(params, &w));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS k;

	GIVEN(params);
	k = later(params);
	EXEC_SET(vg_make_kernel(&k, &w));
}

/*
 * What may be set on a kernel's node: cooperative launches are obeyed; hints are remembered and answered back, as those
 * of a stream; what would need work is refused.
 */
static CUresult kernel_clusters(struct vg_work *w, const CUkernelNodeAttrValue *value)
{
	struct vg_shape k = w->u.kernel.shape;
	struct vg_func *f;

	VG_TRY(vg_function((CUfunction)(uintptr_t)w->u.kernel.fn, &f));
	VG_TRY(vg_cluster_attrs(f->ctx->ordinal, value->clusterDim.x, value->clusterDim.y, value->clusterDim.z, &k.attrs));
	VG_TRY(vg_cluster_check(f, &k));
	w->u.kernel.shape.attrs = k.attrs;
	return CUDA_SUCCESS;
}

static CUresult set_attribute(struct vg_work *w, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		VG_TRY(kernel_clusters(w, value));
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!w->u.kernel.attrs) {
		w->u.kernel.attrs = calloc(CU_LAUNCH_ATTRIBUTE_MAX, sizeof *w->u.kernel.attrs);
		if (!w->u.kernel.attrs)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	w->u.kernel.attrs[attr] = *value;
	w->u.kernel.attrs_set |= 1u << attr;
	if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		w->u.kernel.shape.attrs = (w->u.kernel.shape.attrs & ~VGPU_LAUNCH_COOPERATIVE) | (value->cooperative ? VGPU_LAUNCH_COOPERATIVE : 0);
	return CUDA_SUCCESS;
}

static CUresult get_attribute(const struct vg_work *w, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value)
{
	if ((unsigned)attr >= CU_LAUNCH_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof *value);
	if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value->cooperative = (w->u.kernel.shape.attrs & VGPU_LAUNCH_COOPERATIVE) != 0;
	else if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && w->u.kernel.shape.attrs >> 8) {
		value->clusterDim.x = VGPU_LAUNCH_CLUSTER_OF(w->u.kernel.shape.attrs, 0);
		value->clusterDim.y = VGPU_LAUNCH_CLUSTER_OF(w->u.kernel.shape.attrs, 1);
		value->clusterDim.z = VGPU_LAUNCH_CLUSTER_OF(w->u.kernel.shape.attrs, 2);
	} else if (w->u.kernel.attrs_set >> attr & 1)
		*value = w->u.kernel.attrs[attr];
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
	GIVEN(value);
	GET(CU_GRAPH_NODE_TYPE_KERNEL, set_attribute(x->work, attr, value));
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value)
{
	GIVEN(value);
	GET(CU_GRAPH_NODE_TYPE_KERNEL, get_attribute(x->work, attr, value));
}

static CUresult copy_attributes(struct vg_work *to, CUgraphNode src)
{
	struct vg_node *from = vg_node_of(src);

	if (!from || from->work->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	to->u.kernel.shape.attrs = from->work->u.kernel.shape.attrs;
	for (unsigned a = 0; a < CU_LAUNCH_ATTRIBUTE_MAX; a++)
		if (from->work->u.kernel.attrs_set >> a & 1)
			VG_TRY(set_attribute(to, (CUkernelNodeAttrID)a, &from->work->u.kernel.attrs[a]));
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode node, CUgraphNode src)
{
	GET(CU_GRAPH_NODE_TYPE_KERNEL, copy_attributes(x->work, src));
}

/* ---- copies ---- */

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, const CUDA_MEMCPY3D *copy,
			      CUcontext ctx)
{
	GIVEN(copy);
	ADD(vg_make_copy(copy, ctx, &w));
}

/* A captured one as it could have been given. */
static CUresult take_copy(const struct vg_work *w, CUDA_MEMCPY3D *m)
{
	const struct vg_copy *k = &w->u.copy.k;

	if (w->u.copy.given) {
		*m = *w->u.copy.given;
		return CUDA_SUCCESS;
	}
	memset(m, 0, sizeof *m);
	m->WidthInBytes = k->width;
	m->Height = k->height;
	m->Depth = k->depth;
	m->srcPitch = k->src_pitch;
	m->srcHeight = k->src_pitch ? k->src_slice / k->src_pitch : 0;
	m->dstPitch = k->dst_pitch;
	m->dstHeight = k->dst_pitch ? k->dst_slice / k->dst_pitch : 0;
	m->srcMemoryType = vg_in_device(k->src) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	m->dstMemoryType = vg_in_device(k->dst) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	if (vg_in_device(k->src))
		m->srcDevice = k->src;
	else
		m->srcHost = (const void *)(uintptr_t)k->src;
	if (vg_in_device(k->dst))
		m->dstDevice = k->dst;
	else
		m->dstHost = (void *)(uintptr_t)k->dst;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_MEMCPY, take_copy(x->work, params));
}

/* In the context of the node as it was. */
static CUcontext ctx_of(CUgraphNode node)
{
	const struct vg_node *x = vg_node_of(node);

	return x ? (CUcontext)(uintptr_t)x->work->ctx_handle : NULL;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	GIVEN(params);
	SET(vg_make_copy(params, ctx_of(node), &w));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *copy, CUcontext ctx)
{
	GIVEN(copy);
	EXEC_SET(vg_make_copy(copy, ctx, &w));
}

/* ---- fills ---- */

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			      const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	GIVEN(params);
	ADD(vg_make_fill(params, ctx, &w));
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_MEMSET, (*params = x->work->u.fill, CUDA_SUCCESS));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
	GIVEN(params);
	SET(vg_make_fill(params, ctx_of(node), &w));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,
					CUcontext ctx)
{
	GIVEN(params);
	EXEC_SET(vg_make_fill(params, ctx, &w));
}

/* ---- host functions ---- */

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *params)
{
	GIVEN(params);
	ADD(vg_make_host(params, &w));
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_HOST,
	    (params->fn = x->work->u.host.fn, params->userData = x->work->u.host.user, CUDA_SUCCESS));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	GIVEN(params);
	SET(vg_make_host(params, &w));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	GIVEN(params);
	EXEC_SET(vg_make_host(params, &w));
}

/* ---- child graphs, and nothing ---- */

static CUresult make_child_of(CUgraph graph, CUgraph child, struct vg_work **w)
{
	VG_TRY(not_itself(graph, child));
	return vg_make_child(child, false, w);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraph child)
{
	ADD(make_child_of(graph, child, &w));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	GIVEN(graph);
	GET(CU_GRAPH_NODE_TYPE_GRAPH, (*graph = VG_HANDLE(CUgraph, x->work->u.child), CUDA_SUCCESS));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	EXEC_SET(vg_make_child(child, false, &w));
}

static CUresult make_empty(struct vg_work **w)
{
	*w = vg_work_new(CU_GRAPH_NODE_TYPE_EMPTY, NULL);
	return *w ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n)
{
	ADD(make_empty(&w));
}

/* ---- events ---- */

#define EVENT_NODE(name, kind) \
	CUresult cuGraphAdd##name##Node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUevent event) \
	{ \
		ADD(vg_make_event(kind, event, &w)); \
	} \
	CUresult cuGraph##name##NodeGetEvent(CUgraphNode node, CUevent *event) \
	{ \
		GIVEN(event); \
		GET(kind, (*event = (CUevent)(uintptr_t)x->work->u.event, CUDA_SUCCESS)); \
	} \
	CUresult cuGraph##name##NodeSetEvent(CUgraphNode node, CUevent event) { SET(vg_make_event(kind, event, &w)); } \
	CUresult cuGraphExec##name##NodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) \
	{ \
		EXEC_SET(vg_make_event(kind, event, &w)); \
	}

EVENT_NODE(EventRecord, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
EVENT_NODE(EventWait, CU_GRAPH_NODE_TYPE_WAIT_EVENT)

/* ---- memory that the graph allocates ---- */

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
				CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	GIVEN(params);
	ADD(vg_make_alloc(params, NULL, &w));
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_MEM_ALLOC, (*params = x->work->u.alloc.given, CUDA_SUCCESS));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUdeviceptr ptr)
{
	ADD(vg_make_free(ptr, &w));
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ptr)
{
	GIVEN(ptr);
	GET(CU_GRAPH_NODE_TYPE_MEM_FREE, (*ptr = x->work->u.freed, CUDA_SUCCESS));
}

/* ---- waits and writes of words ---- */

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
				  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	GIVEN(params);
	ADD(vg_make_batch(params, &w));
}

/* The array is the node's, and stays as long as the node is not changed. */
static CUresult take_batch(const struct vg_work *w, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)(uintptr_t)w->ctx_handle, .count = w->u.batch.n, .paramArray = w->u.batch.ops };
	return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	GIVEN(params);
	GET(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, take_batch(x->work, params));
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	GIVEN(params);
	SET(vg_make_batch(params, &w));
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	GIVEN(params);
	EXEC_SET(vg_make_batch(params, &w));
}

/* ---- switched off ---- */

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct vg_exec *e;
	struct vg_node *x;

	VG_READY();
	VG_TRY(lock_both(exec, node, &e, &x));
	/* Documented: kernels, fills and copies. */
	if (enabled <= 1 && x->work->type <= CU_GRAPH_NODE_TYPE_MEMSET) {
		e->dirty |= x->disabled == (enabled != 0);
		x->disabled = !enabled;
		r = CUDA_SUCCESS;
	}
	vg_unlock(&vg_graphs);
	vg_unlock(&e->lock);
	return r;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct vg_exec *e;
	struct vg_node *x;

	VG_READY();
	GIVEN(enabled);
	VG_TRY(lock_both(exec, node, &e, &x));
	if (x->work->type <= CU_GRAPH_NODE_TYPE_MEMSET) {
		*enabled = !x->disabled;
		r = CUDA_SUCCESS;
	}
	vg_unlock(&vg_graphs);
	vg_unlock(&e->lock);
	return r;
}
