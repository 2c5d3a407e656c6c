/* SPDX-License-Identifier: MIT */
/*
 * User objects: something of the program's with a destructor, which graphs keep alive; and graphs as pictures. Called by
 * programs.
 *
 * Destructors run where the last reference goes, without any lock of ours but the graphs': as with CUDA, they may call
 * nothing of CUDA. An exec has references of its own, those of the graph that it was made of (CUDA Programming Guide, "CUDA User
 * Objects"); what it lets go of, destroyed or updated, while a launch of it is on the way goes when that is done: at the next launch
 * of a graph, synchronization or end of an exec.
 */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>

struct vg_retained {
	struct vg_retained *next;
	struct vg_user_object *o;
	uint32_t n;
};

static struct vg_user_object *object_of(CUuserObject h) { return vg_get(VG_USER_OBJECT, (uint64_t)(uintptr_t)h); }

static void object_drop(struct vg_user_object *o, uint32_t n)
{
	o->refs -= n;
	if (o->refs)
		return;
	vg_unpublish(o);
	o->destroy(o->user);
	vg_delete(VG_USER_OBJECT, o);
}

void vg_retained_drop(struct vg_retained *r)
{
	while (r) {
		struct vg_retained *next = r->next;

		object_drop(r->o, r->n);
		free(r);
		r = next;
	}
}

bool vg_retained_copy(struct vg_graph *to, const struct vg_graph *from)
{
	for (const struct vg_retained *r = from->retained; r; r = r->next) {
		struct vg_retained *c = malloc(sizeof *c);

		if (!c)
			return false;
		*c = (struct vg_retained){ to->retained, r->o, r->n };
		to->retained = c;
		r->o->refs += r->n;
	}
	return true;
}

/* What launches on the way keep; W vg_graphs, but `leaving` is looked at without. */
static struct leave {
	struct leave *next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle, ticket;
	uint16_t stream;
	struct vg_retained *list;
} *leaves;
static uint32_t leaving;

static bool through(const struct vg_ctx *c, uint64_t handle, uint16_t stream, uint64_t ticket)
{
	return c->handle != handle || vg_ctx_error(c) || vgpu_timeline_reached(&c->timelines[stream], ticket);
}

void vg_retained_leave(struct vg_exec *e, struct vg_retained *list)
{
	struct leave *l;

	if (!list)
		return;
	if (e->last && !through(e->last_ctx, e->last_ctx_handle, e->last_stream, e->last)) {
		l = malloc(sizeof *l);
		if (l) {
			*l = (struct leave){ leaves, e->last_ctx, e->last_ctx_handle, e->last, e->last_stream, list };
			leaves = l;
			__atomic_store_n(&leaving, leaving + 1, __ATOMIC_RELAXED);
			return;
		}
		(void)vg_wait_timeline(e->last_ctx, &e->last_ctx->timelines[e->last_stream], e->last);
	}
	vg_retained_drop(list);
}

void vg_graph_leave(struct vg_exec *e, struct vg_graph *g)
{
	vg_retained_leave(e, g->retained);
	g->retained = NULL;
	for (uint32_t i = 0; i < g->n; i++)
		vg_work_leave(e, g->nodes[i]->work);
}

void vg_work_leave(struct vg_exec *e, const struct vg_work *w)
{
	for (uint32_t k = 0; w && vg_inside(w, k); k++)
		vg_graph_leave(e, vg_inside(w, k));
}

void vg_retained_reap(void)
{
	struct leave **p, *l;

	if (!__atomic_load_n(&leaving, __ATOMIC_RELAXED))
		return;
	vg_lock(&vg_graphs);
	for (p = &leaves; (l = *p);) {
		if (!through(l->ctx, l->ctx_handle, l->stream, l->ticket)) {
			p = &l->next;
			continue;
		}
		*p = l->next;
		__atomic_store_n(&leaving, leaving - 1, __ATOMIC_RELAXED);
		vg_retained_drop(l->list);
		free(l);
	}
	vg_unlock(&vg_graphs);
}

CUresult cuUserObjectCreate(CUuserObject *object, void *ptr, CUhostFn destroy, unsigned int refs, unsigned int flags)
{
	struct vg_user_object *o;

	VG_READY();
	/* Documented: NO_DESTRUCTOR_SYNC must be given. */
	if (!object || !destroy || !refs || refs > 0x7fffffffu || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	o = vg_new(VG_USER_OBJECT);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->destroy = destroy;
	o->user = ptr;
	o->refs = refs;
	vg_publish(o);
	*object = VG_HANDLE(CUuserObject, o);
	return CUDA_SUCCESS;
}

static CUresult count(CUuserObject h, unsigned int n, bool retain)
{
	struct vg_user_object *o;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	VG_READY();
	vg_lock(&vg_graphs);
	o = object_of(h);
	if (o && n && n <= 0x7fffffffu && (retain ? o->refs <= 0x7fffffffu - n : o->refs >= n)) {
		if (retain)
			o->refs += n;
		else
			object_drop(o, n);
		r = CUDA_SUCCESS;
	}
	vg_unlock(&vg_graphs);
	return r;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int n) { return count(object, n, true); }
CUresult cuUserObjectRelease(CUuserObject object, unsigned int n) { return count(object, n, false); }

static CUresult retain(CUgraph graph, CUuserObject object, unsigned int n, unsigned int flags)
{
	struct vg_user_object *o = object_of(object);
	struct vg_graph *g = vg_graph_of(graph);
	struct vg_retained *r;

	if (!o || !g || !n || n > 0x7fffffffu || flags > CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	/* MOVE: the caller's references become the graph's. */
	if (flags ? o->refs < n : o->refs > 0x7fffffffu - n)
		return CUDA_ERROR_INVALID_VALUE;
	for (r = g->retained; r && r->o != o; r = r->next)
		;
	if (!r) {
		r = calloc(1, sizeof *r);
		if (!r)
			return CUDA_ERROR_OUT_OF_MEMORY;
		r->o = o;
		r->next = g->retained;
		g->retained = r;
	}
	r->n += n;
	if (!flags)
		o->refs += n;
	return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int n, unsigned int flags)
{
	CUresult r;

	VG_READY();
	vg_lock(&vg_graphs);
	r = retain(graph, object, n, flags);
	vg_unlock(&vg_graphs);
	return r;
}

static CUresult release(CUgraph graph, CUuserObject object, unsigned int n)
{
	struct vg_user_object *o = object_of(object);
	struct vg_graph *g = vg_graph_of(graph);
	struct vg_retained **p, *r;

	if (!o || !g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (p = &g->retained; (r = *p) && r->o != o; p = &r->next)
		;
	if (!r || r->n < n)
		return CUDA_ERROR_INVALID_VALUE;
	r->n -= n;
	if (!r->n) {
		*p = r->next;
		free(r);
	}
	object_drop(o, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int n)
{
	CUresult r;

	VG_READY();
	vg_lock(&vg_graphs);
	r = release(graph, object, n);
	vg_unlock(&vg_graphs);
	return r;
}

/* ---- as a picture, in the language of Graphviz ---- */

static void print_work(FILE *f, const struct vg_work *w)
{
	const struct vg_shape *k = &w->u.kernel.shape;

	switch ((int)w->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (!w->u.kernel.f || vg_get(VG_FUNCTION, w->u.kernel.fn) != w->u.kernel.f)
			fprintf(f, "%s", w->raw ? "matrix product" : "kernel");
		else
			fprintf(f, "%s\\n<<<(%u,%u,%u), (%u,%u,%u), %u>>>", w->u.kernel.f->name, k->grid[0], k->grid[1], k->grid[2],
				k->block[0], k->block[1], k->block[2], k->shared);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		fprintf(f, "memcpy\\n%#llx <- %#llx\\n%llu x %llu x %llu", (unsigned long long)w->u.copy.k.dst,
			(unsigned long long)w->u.copy.k.src, (unsigned long long)w->u.copy.k.width,
			(unsigned long long)w->u.copy.k.height, (unsigned long long)w->u.copy.k.depth);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		fprintf(f, "memset\\n%#llx = %#x\\n%zu x %zu of %u", w->u.fill.dst, w->u.fill.value, w->u.fill.width,
			w->u.fill.height, w->u.fill.elementSize);
		break;
	case CU_GRAPH_NODE_TYPE_HOST: fprintf(f, "host"); break;
	case CU_GRAPH_NODE_TYPE_GRAPH: fprintf(f, "graph of %u", w->u.child->n); break;
	case CU_GRAPH_NODE_TYPE_EMPTY: fprintf(f, "empty"); break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT: fprintf(f, "wait for event"); break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD: fprintf(f, "record event"); break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: fprintf(f, "allocate %zu\\n%#llx", w->u.alloc.given.bytesize, w->u.alloc.given.dptr); break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE: fprintf(f, "free\\n%#llx", (unsigned long long)w->u.freed); break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: fprintf(f, "%u memory operations", w->u.batch.n); break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		fprintf(f, "%s of %u", w->u.cond.type == CU_GRAPH_COND_TYPE_IF ? "if" : w->u.cond.type == CU_GRAPH_COND_TYPE_WHILE ? "while" : "switch",
			w->u.cond.n);
		break;
	default: fprintf(f, "memory operation"); break;
	}
}

/* Names are those of cuGraphGetId and cuGraphNodeGetLocalId. */
static void print_graph(FILE *f, const struct vg_graph *g, unsigned depth)
{
	fprintf(f, "subgraph cluster_%u {\nlabel=\"graph_%u\";\n", g->id, g->id);
	for (uint32_t i = 0; i < g->n; i++) {
		const struct vg_node *x = g->nodes[i];
		const struct vg_graph *in;

		fprintf(f, "\"graph_%u_node_%u\" [shape=box label=\"%u\\n", g->id, x->local, x->local);
		print_work(f, x->work);
		fprintf(f, "\"];\n");
		for (uint32_t k = 0; k < x->before.n; k++)
			fprintf(f, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\";\n", g->id, x->before.to[k]->local, g->id, x->local);
		for (uint32_t k = 0; depth < 8 && (in = vg_inside(x->work, k)) != NULL; k++)
			print_graph(f, in, depth + 1);
	}
	fprintf(f, "}\n");
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct vg_graph *g;
	FILE *f;

	VG_READY();
	(void)flags;            /* how much is printed: always the same */
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&vg_graphs);
	g = vg_graph_of(graph);
	if (g) {
		f = fopen(path, "we");
		r = f ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
		if (f) {
			fprintf(f, "digraph dot {\n");
			print_graph(f, g, 0);
			fprintf(f, "}\n");
			if (ferror(f) | fclose(f))
				r = CUDA_ERROR_OPERATING_SYSTEM;
		}
	}
	vg_unlock(&vg_graphs);
	return r;
}
