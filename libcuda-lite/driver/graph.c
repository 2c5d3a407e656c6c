/* SPDX-License-Identifier: MIT */
/*
 * Graphs as such: nodes, edges, copies, and the order in which a graph runs. Called by programs, by captures (which
 * make nodes) and by execs (which are made of a copy).
 *
 * Every call takes vg_graphs, so programs may use different graphs in different threads, as CUDA allows, and the same
 * one without harm.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct vg_lock vg_graphs;

struct vg_graph *vg_graph_of(CUgraph h) { return vg_get(VG_GRAPH, (uint64_t)(uintptr_t)h); }
struct vg_node *vg_node_of(CUgraphNode h) { return vg_get(VG_NODE, (uint64_t)(uintptr_t)h); }

/* Room for one more in an array of pointers. */
static bool grow(void *array, uint32_t n, uint32_t *room)
{
	void **a = array, *p;
	uint32_t want = *room ? *room * 2 : 2;

	if (n < *room)
		return true;
	p = realloc(*a, want * sizeof(void *));
	if (!p)
		return false;
	*a = p;
	*room = want;
	return true;
}

static bool edge_add(struct vg_edges *e, struct vg_node *to)
{
	if (!grow(&e->to, e->n, &e->room))
		return false;
	e->to[e->n++] = to;
	return true;
}

static bool edge_has(const struct vg_edges *e, const struct vg_node *to)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (e->to[i] == to)
			return true;
	return false;
}

static void edge_remove(struct vg_edges *e, const struct vg_node *to)
{
	for (uint32_t i = 0; i < e->n; i++)
		if (e->to[i] == to) {
			memmove(&e->to[i], &e->to[i + 1], (e->n - i - 1) * sizeof *e->to);
			e->n--;
			return;
		}
}

static bool connect(struct vg_node *from, struct vg_node *to)
{
	if (!edge_add(&to->before, from))
		return false;
	if (edge_add(&from->after, to))
		return true;
	to->before.n--;
	return false;
}

struct vg_graph *vg_graph_new(void)
{
	static uint32_t last;
	struct vg_graph *g = vg_new(VG_GRAPH);

	if (g)
		g->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return g;
}

static void node_free(struct vg_node *x)
{
	vg_work_free(x->work);
	free(x->before.to);
	free(x->after.to);
	vg_delete(VG_NODE, x);
}

void vg_graph_free(struct vg_graph *g)
{
	vg_unpublish(g);
	for (uint32_t i = 0; i < g->n; i++)
		node_free(g->nodes[i]);
	free(g->nodes);
	vg_retained_drop(g->retained);
	vg_conditionals_drop(g);
	vg_delete(VG_GRAPH, g);
}

struct vg_node *vg_node_new(struct vg_graph *g, struct vg_node *const *before, size_t n, struct vg_work *w)
{
	struct vg_node *x = vg_new(VG_NODE);

	if (!x || !grow(&g->nodes, g->n, &g->room))
		goto fail;
	x->graph = g;
	x->at = g->n;
	for (size_t i = 0; i < n; i++)
		if (!edge_has(&x->before, before[i]) && !connect(before[i], x))
			goto fail;
	x->work = w;
	x->local = g->last_local++;
	for (uint32_t i = 0; vg_inside(w, i); i++)
		vg_inside(w, i)->owner = x;
	if (w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || w->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		g->mems++;
	if (w->type == CU_GRAPH_NODE_TYPE_GRAPH)
		g->mems += w->u.child->mems;    /* moved with it */
	g->conditions += w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
	g->nodes[g->n++] = x;
	if (!g->private)
		vg_publish(x);
	return x;
fail:
	if (x) {
		for (uint32_t i = 0; i < x->before.n; i++)
			edge_remove(&x->before.to[i]->after, x);
		x->work = NULL;
		node_free(x);
	}
	vg_work_free(w);
	return NULL;
}

struct vg_graph *vg_graph_copy(const struct vg_graph *g, bool private)
{
	struct vg_graph *c = vg_graph_new();

	if (!c)
		return NULL;
	c->private = private;
	c->origin = g->handle;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct vg_node *from = g->nodes[i];
		struct vg_work *w = vg_work_copy(from->work, private);
		struct vg_node *x = w ? vg_node_new(c, NULL, 0, w) : NULL;

		if (!x) {
			vg_graph_free(c);
			return NULL;
		}
		x->origin = from->handle ? from->handle : from->origin;
		x->disabled = from->disabled;
	}
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->nodes[i]->before.n; k++)
			if (!connect(c->nodes[g->nodes[i]->before.to[k]->at], c->nodes[i])) {
				vg_graph_free(c);
				return NULL;
			}
	if (!vg_retained_copy(c, g)) {
		vg_graph_free(c);
		return NULL;
	}
	if (!private)
		vg_publish(c);
	return c;
}

/*
 * Depth first, dependencies before who depends on them, in the order in which the nodes came: what was captured keeps
 * the order of the calls.
 */
struct vg_node **vg_graph_order(struct vg_graph *g, struct vg_node **at)
{
	enum { NEW, OPEN, DONE };
	struct vg_node **order = malloc((g->n ? g->n : 1) * sizeof *order), **stack = malloc((g->n + 1) * sizeof *stack);
	uint32_t *next = malloc((g->n + 1) * sizeof *next), n = 0;

	*at = NULL;
	if (!order || !stack || !next)
		goto fail;
	for (uint32_t i = 0; i < g->n; i++)
		g->nodes[i]->mark = NEW;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t depth = 0;

		if (g->nodes[i]->mark != NEW)
			continue;
		g->nodes[i]->mark = OPEN;
		stack[0] = g->nodes[i];
		next[0] = 0;
		for (;;) {
			struct vg_node *x = stack[depth];

			if (next[depth] < x->before.n) {
				struct vg_node *y = x->before.to[next[depth]++];

				if (y->mark == OPEN) {
					*at = y;
					goto fail;
				}
				if (y->mark == NEW) {
					y->mark = OPEN;
					stack[++depth] = y;
					next[depth] = 0;
				}
				continue;
			}
			x->mark = DONE;
			order[n++] = x;
			if (!depth--)
				break;
		}
	}
	free(stack);
	free(next);
	return order;
fail:
	free(order);
	free(stack);
	free(next);
	return NULL;
}

/*
 * A programmatic edge lets a kernel begin before the one in front of it ends: leave, not duty. It becomes a full edge, which orders
 * all that it would, and is told as one by the calls that list edges.
 */
CUresult vg_plain_edges(const CUgraphEdgeData *edges, size_t n)
{
	static const CUgraphEdgeData plain;

	for (size_t i = 0; edges && i < n; i++) {
		CUgraphEdgeData e = edges[i];

		if (e.type == 1 && (e.from_port == 1 || e.from_port == 2))      /* programmatic; ports PROGRAMMATIC, LAUNCH_ORDER */
			e.type = e.from_port = 0;
		if (memcmp(&e, &plain, sizeof plain))
			return vg_unsupported("an edge of a graph with a port or a type");
	}
	return CUDA_SUCCESS;
}

/* ---- names ---- */

#define LOCKED(...) \
	do { \
		CUresult ret_; \
		VG_READY(); \
		vg_lock(&vg_graphs); \
		ret_ = (__VA_ARGS__); \
		vg_unlock(&vg_graphs); \
		return ret_; \
	} while (0)

static CUresult graph_id(CUgraph h, unsigned int *id)
{
	const struct vg_graph *g = vg_graph_of(h);

	if (!g || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = g->id;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetId(CUgraph graph, unsigned int *id) { LOCKED(graph_id(graph, id)); }

static CUresult node_id(CUgraphNode h, unsigned int *local, unsigned long long *tools, CUgraph *graph)
{
	const struct vg_node *x = vg_node_of(h);

	if (!x || (!local && !tools && !graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (local)
		*local = x->local;
	if (tools)
		*tools = (unsigned long long)x->graph->id << 32 | x->local;
	if (graph)
		*graph = VG_HANDLE(CUgraph, x->graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetLocalId(CUgraphNode node, unsigned int *id) { LOCKED(node_id(node, id, NULL, NULL)); }
CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long *id) { LOCKED(node_id(node, NULL, id, NULL)); }
CUresult cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph *graph) { LOCKED(node_id(node, NULL, NULL, graph)); }

CUresult cuGraphExecGetId(CUgraphExec h, unsigned int *id)
{
	const struct vg_exec *e;

	VG_READY();
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = e->id;
	return CUDA_SUCCESS;
}

/* ---- calls ---- */

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	struct vg_graph *g;

	VG_READY();
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	g = vg_graph_new();
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_publish(g);
	*graph = VG_HANDLE(CUgraph, g);
	return CUDA_SUCCESS;
}

/* It, or a graph in it. */
static bool captures(const struct vg_graph *g)
{
	bool yes = g->capturing;

	for (uint32_t i = 0; i < g->n && !yes; i++)
		for (uint32_t k = 0; vg_inside(g->nodes[i]->work, k) && !yes; k++)
			yes = captures(vg_inside(g->nodes[i]->work, k));
	return yes;
}

static CUresult destroy(CUgraph h)
{
	struct vg_graph *g = vg_graph_of(h);

	/* A child belongs to its node, and what a capture fills to the capture. */
	if (!g || g->owner || captures(g))
		return CUDA_ERROR_INVALID_VALUE;
	vg_graph_free(g);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) { LOCKED(destroy(graph)); }

static bool single(const struct vg_graph *g)
{
	bool has = vg_graph_single(g);

	for (uint32_t i = 0; i < g->n && !has; i++)
		for (uint32_t k = 0; vg_inside(g->nodes[i]->work, k) && !has; k++)
			has = single(vg_inside(g->nodes[i]->work, k));
	return has;
}

static CUresult clone(CUgraph *out, CUgraph h)
{
	struct vg_graph *g = vg_graph_of(h), *c;

	if (!g || !out)
		return CUDA_ERROR_INVALID_VALUE;
	if (single(g))          /* documented: graphs that own memory, or have conditions, cannot be cloned */
		return CUDA_ERROR_NOT_SUPPORTED;
	c = vg_graph_copy(g, false);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = VG_HANDLE(CUgraph, c);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *out, CUgraph graph) { LOCKED(clone(out, graph)); }

static CUresult find_in_clone(CUgraphNode *node, CUgraphNode original, CUgraph h)
{
	struct vg_graph *g = vg_graph_of(h);

	if (!g || !node)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->nodes[i]->origin && g->nodes[i]->origin == (uint64_t)(uintptr_t)original) {
			*node = VG_HANDLE(CUgraphNode, g->nodes[i]);
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph h)
{
	LOCKED(find_in_clone(node, original, h));
}

static CUresult type_of(CUgraphNode h, CUgraphNodeType *type)
{
	struct vg_node *x = vg_node_of(h);

	if (!x || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = x->work->type;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) { LOCKED(type_of(node, type)); }

/*
 * How all lists are answered: without an array *n is their number; with one, as many as it has room for, the rest of
 * it NULL, and *n how many there were.
 */
struct list {
	CUgraphNode *out, *other;
	size_t room, n;
};

static void list_add(struct list *l, const struct vg_node *x, const struct vg_node *other)
{
	if (l->out && l->n < l->room) {
		l->out[l->n] = VG_HANDLE(CUgraphNode, x);
		if (l->other)
			l->other[l->n] = VG_HANDLE(CUgraphNode, other);
	}
	l->n++;
}

static CUresult list_end(struct list *l, CUgraphEdgeData *edges, size_t *n)
{
	if (!l->out) {
		*n = l->n;
		return CUDA_SUCCESS;
	}
	for (size_t i = l->n; i < l->room; i++) {
		l->out[i] = NULL;
		if (l->other)
			l->other[i] = NULL;
	}
	if (edges)
		memset(edges, 0, l->room * sizeof *edges);
	*n = l->n < l->room ? l->n : l->room;
	return CUDA_SUCCESS;
}

static CUresult nodes_of(CUgraph h, CUgraphNode *nodes, size_t *n, bool roots)
{
	struct vg_graph *g = vg_graph_of(h);
	struct list l = { .out = nodes };

	if (!g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *n;
	for (uint32_t i = 0; i < g->n; i++)
		if (!roots || !g->nodes[i]->before.n)
			list_add(&l, g->nodes[i], NULL);
	return list_end(&l, NULL, n);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n) { LOCKED(nodes_of(graph, nodes, n, false)); }
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n) { LOCKED(nodes_of(graph, nodes, n, true)); }

static CUresult edges_of(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n)
{
	struct vg_graph *g = vg_graph_of(h);
	struct list l = { .out = from, .other = to };

	if (!g || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *n;
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->nodes[i]->after.n; k++)
			list_add(&l, g->nodes[i], g->nodes[i]->after.to[k]);
	return list_end(&l, edges, n);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n)
{
	LOCKED(edges_of(graph, from, to, edges, n));
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	LOCKED(edges_of(graph, from, to, NULL, n));
}

static CUresult neighbours(CUgraphNode h, CUgraphNode *out, CUgraphEdgeData *edges, size_t *n, bool after)
{
	struct vg_node *x = vg_node_of(h);
	struct list l = { .out = out };
	const struct vg_edges *e;

	if (!x || !n)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *n;
	e = after ? &x->after : &x->before;
	for (uint32_t i = 0; i < e->n; i++)
		list_add(&l, e->to[i], NULL);
	return list_end(&l, edges, n);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps, CUgraphEdgeData *edges, size_t *n)
{
	LOCKED(neighbours(node, deps, edges, n, false));
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *n)
{
	LOCKED(neighbours(node, deps, NULL, n, false));
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n)
{
	LOCKED(neighbours(node, nodes, edges, n, true));
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
	LOCKED(neighbours(node, nodes, NULL, n, true));
}

/* All are checked before the first is changed. */
static CUresult change_edges(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges,
			     size_t n, bool add)
{
	struct vg_graph *g = vg_graph_of(h);

	if (!g || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_plain_edges(edges, n));
	for (size_t i = 0; i < n; i++) {
		struct vg_node *a = vg_node_of(from[i]), *b = vg_node_of(to[i]);

		if (!a || !b || a == b || a->graph != g || b->graph != g || edge_has(&b->before, a) == add)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < n; i++) {
		struct vg_node *a = vg_node_of(from[i]), *b = vg_node_of(to[i]);

		if (!add) {
			edge_remove(&b->before, a);
			edge_remove(&a->after, b);
		} else if (!edge_has(&b->before, a) && !connect(a, b)) {
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t n)
{
	LOCKED(change_edges(graph, from, to, edges, n, true));
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	LOCKED(change_edges(graph, from, to, NULL, n, true));
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				      const CUgraphEdgeData *edges, size_t n)
{
	LOCKED(change_edges(graph, from, to, edges, n, false));
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	LOCKED(change_edges(graph, from, to, NULL, n, false));
}

static CUresult destroy_node(CUgraphNode h)
{
	struct vg_node *x = vg_node_of(h);
	struct vg_graph *g;

	if (!x)
		return CUDA_ERROR_INVALID_VALUE;
	g = x->graph;
	/* Documented: memory nodes stay; a stream that captures knows its nodes. */
	if (captures(g) || x->work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || x->work->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
	    (x->work->type == CU_GRAPH_NODE_TYPE_GRAPH && x->work->u.child->mems))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (uint32_t i = 0; i < x->before.n; i++)
		edge_remove(&x->before.to[i]->after, x);
	for (uint32_t i = 0; i < x->after.n; i++)
		edge_remove(&x->after.to[i]->before, x);
	g->conditions -= x->work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
	memmove(&g->nodes[x->at], &g->nodes[x->at + 1], (g->n - x->at - 1) * sizeof *g->nodes);
	g->n--;
	for (uint32_t i = x->at; i < g->n; i++)
		g->nodes[i]->at = i;
	node_free(x);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode node) { LOCKED(destroy_node(node)); }
