/* SPDX-License-Identifier: MIT */
/*
 * Graphs of kernel nodes, one behind the other. An exec has copies of what its graph had when it was made; a change of its node changes it
 * alone.
 */
#include "mock.h"

#include <stdlib.h>
#include <string.h>

#define MOST 256u

struct node {
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	size_t bytes;
	uint8_t params[4096];
};

struct graph {
	uint32_t n;
	struct node *node[MOST];
};

static CUresult take(struct node *n, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	n->p = *p;
	n->p.extra = NULL;
	n->bytes = 0;
	if (p->extra) {
		if (p->kernelParams || p->extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || p->extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
		    p->extra[4] != CU_LAUNCH_PARAM_END)
			return CUDA_ERROR_INVALID_VALUE;
		n->bytes = *(size_t *)p->extra[3];
		if (n->bytes > sizeof(n->params))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(n->params, p->extra[1], n->bytes);
	}
	return p->func ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static struct graph *copy(const struct graph *of)
{
	struct graph *g = calloc(1, sizeof(*g));

	for (uint32_t i = 0; of && g && i < of->n; i++) {
		g->node[i] = malloc(sizeof(*g->node[i]));
		if (!g->node[i])
			abort();
		*g->node[i] = *of->node[i];
		g->n++;
	}
	if (!g)
		abort();
	COUNT(MOCK_GRAPH, 1);
	return g;
}

static void gone(struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		free(g->node[i]);
	free(g);
	COUNT(MOCK_GRAPH, -1);
}

EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	ENTER(cuGraphCreate);
	*graph = flags ? NULL : (CUgraph)copy(NULL);
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
	ENTER(cuGraphDestroy);
	gone((struct graph *)graph);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t n, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct graph *g = (struct graph *)graph;
	struct node *own;
	CUresult r;

	ENTER(cuGraphAddKernelNode_v2);
	/* a chain: what runs here one after the other */
	if (g->n == MOST || n != (g->n != 0) || (n && before[0] != (CUgraphNode)g->node[g->n - 1]))
		return CUDA_ERROR_INVALID_VALUE;
	own = calloc(1, sizeof(*own));
	if (!own)
		abort();
	r = take(own, p);
	if (r) {
		free(own);
		return r;
	}
	g->node[g->n++] = own;
	*node = (CUgraphNode)own;
	return CUDA_SUCCESS;
}

/* The nodes' handles are of the graph: an exec remembers which they were. */
struct exec {
	struct graph *g;
	struct node *of[MOST];
};

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct graph *g = (struct graph *)graph;
	struct exec *x;

	ENTER(cuGraphInstantiateWithFlags);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	x = calloc(1, sizeof(*x));
	if (!x)
		abort();
	x->g = copy(g);
	memcpy(x->of, g->node, sizeof(x->of));
	*exec = (CUgraphExec)x;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct exec *x = (struct exec *)exec;

	ENTER(cuGraphExecDestroy);
	gone(x->g);
	free(x);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct exec *x = (struct exec *)exec;

	ENTER(cuGraphExecKernelNodeSetParams_v2);
	for (uint32_t i = 0; i < x->g->n; i++)
		if (x->of[i] == (struct node *)node)
			return take(x->g->node[i], p);
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	const struct graph *g = ((struct exec *)exec)->g;

	ENTER(cuGraphLaunch);
	for (uint32_t i = 0; i < g->n; i++) {
		struct node *n = g->node[i];
		void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, n->params, CU_LAUNCH_PARAM_BUFFER_SIZE, &n->bytes, CU_LAUNCH_PARAM_END };
		CUresult r = mock_launch(n->p.func, &n->p.gridDimX, &n->p.blockDimX, n->p.sharedMemBytes, stream, n->bytes ? extra : NULL);

		if (r)
			return r;
	}
	return CUDA_SUCCESS;
}
