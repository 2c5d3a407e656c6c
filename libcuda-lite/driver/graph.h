/* SPDX-License-Identifier: MIT */
/*
 * Graphs: what the files graph_*.c and capture.c share. Objects stand in core/core.h.
 *
 *   vg_graph   nodes in the order in which they came, edges between them
 *   vg_node    a vg_work, and what comes before and after it
 *   vg_work    what a node does: a kernel with its parameters, a copy, a fill, ...; a value that can be copied
 *   vg_exec    a copy of a graph of its own, and the program made of it: commands ready for the queue, in an order in
 *              which every dependency holds, and steps that no command can be
 *
 * One lock, vg_graphs, guards graphs, nodes and captures; an exec has its own, taken before the other one.
 */
#ifndef VG_GRAPH_H
#define VG_GRAPH_H

#include "driver.h"

struct vg_graph_mem;    /* graph_mem.c */

struct vg_work {
	CUgraphNodeType type;
	struct vg_ctx *ctx;             /* of a kernel, copy, fill, command, allocation; else NULL */
	uint64_t ctx_handle;
	union {
		struct {
			struct vg_func *f;      /* NULL: a command with no function (cuBLAS) */
			uint64_t fn;            /* its handle */
			uint64_t kern;          /* the CUkernel that was given in its place, or 0 */
			struct vg_shape shape;
			uint8_t *packed;        /* parameters as a command has them, behind the array below */
			uint32_t bytes;         /* of them */
			void **params;          /* what GetParams answers */
			CUlaunchAttributeValue *attrs; /* what was set, CU_LAUNCH_ATTRIBUTE_MAX of them; or NULL */
			uint32_t attrs_set;
		} kernel;
		struct {
			struct vg_copy k;
			CUDA_MEMCPY3D *given;   /* NULL: it was captured */
		} copy;
		CUDA_MEMSET_NODE_PARAMS fill;
		struct { CUhostFn fn; void *user; } host;
		struct {
			struct vg_graph *child;
			bool borrowed;          /* the program's own, until there is a node that it is moved to */
		};
		uint64_t event;
		struct {
			struct vg_graph_mem *m;
			CUDA_MEM_ALLOC_NODE_PARAMS given;
		} alloc;
		uint64_t freed;                 /* address */
		struct {
			CUcontext ctx;
			CUstreamBatchMemOpParams *ops;
			uint32_t n, flags;
		} batch;
		struct {
			struct vg_conditional *c;       /* graph_cond.c */
			CUgraphConditionalNodeType type;
			uint32_t n;
			struct vg_graph **bodies;
			CUgraph *out;           /* what the program was given; NULL in an exec */
		} cond;
	} u;
	/* a command that stands for itself: a matrix product, a wait for memory */
	struct vg_raw { uint8_t op, bytes; uint64_t body[4]; uint8_t payload[2 * VGPU_SLOT_PAYLOAD]; } *raw;
};

extern struct vg_lock vg_graphs;

/* graph.c; the lock held where a graph is given */
struct vg_graph *vg_graph_new(void);
void vg_graph_free(struct vg_graph *g);
struct vg_graph *vg_graph_of(CUgraph h);
struct vg_node *vg_node_of(CUgraphNode h);
/* A node that does w behind n others (of this graph); takes w, also where it fails (NULL: memory is out). */
struct vg_node *vg_node_new(struct vg_graph *g, struct vg_node *const *before, size_t n, struct vg_work *w);
/* A copy with its child graphs. private: of an exec. NULL: memory is out. */
struct vg_graph *vg_graph_copy(const struct vg_graph *g, bool private);
/* Nodes in an order in which all dependencies hold, g->n of them; NULL when there is none (*at: in the circle) or no memory. */
struct vg_node **vg_graph_order(struct vg_graph *g, struct vg_node **at);
/* Edges without weight: no port, no type is anything else here. */
CUresult vg_plain_edges(const CUgraphEdgeData *edges, size_t n);

/* graph_work.c: from what programs say to what a node does, and back. What is made belongs to the caller. */
struct vg_work *vg_work_new(CUgraphNodeType type, struct vg_ctx *c);
struct vg_work *vg_work_copy(const struct vg_work *w, bool private); /* of a child graph: as vg_graph_copy() */
void vg_work_free(struct vg_work *w);
struct vg_work *vg_kernel_work(struct vg_func *f, const struct vg_shape *k, void *const *params, const uint8_t *packed);
CUresult vg_make_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct vg_work **w);
CUresult vg_make_copy(const CUDA_MEMCPY3D *m, CUcontext ctx, struct vg_work **w);
CUresult vg_make_fill(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx, struct vg_work **w);
CUresult vg_make_host(const CUDA_HOST_NODE_PARAMS *p, struct vg_work **w);
CUresult vg_make_event(CUgraphNodeType type, CUevent event, struct vg_work **w);
CUresult vg_make_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct vg_work **w);
/* A copy of the graph, as a node does it; or the graph itself. */
CUresult vg_make_child(CUgraph graph, bool move, struct vg_work **w);
/* Any of them. */
CUresult vg_make_work(CUgraphNodeParams *p, struct vg_work **w);
/* May `now` stand where `was` stood: in a node, or (exec) in what was made of it? */
CUresult vg_work_may(const struct vg_work *was, const struct vg_work *now, bool exec);

/* graph_exec.c */
CUresult vg_exec_build(struct vg_exec *e);
bool vg_exec_alive(const struct vg_exec *e);    /* every function is still there */

/* Steps of a program: so many commands, and then what is no command. */
enum vg_call { VG_CALL_NONE, VG_CALL_HOST, VG_CALL_RECORD, VG_CALL_WAIT, VG_CALL_PACK, VG_CALL_UNPACK, VG_CALL_COPY,
	       VG_CALL_ALLOC, VG_CALL_FREE, VG_CALL_CONDITION };
struct vg_step {
	uint32_t commands;
	enum vg_call call;
	const struct vg_work *w;        /* HOST, RECORD, WAIT, ALLOC, FREE: none of a conditional node's body */
	struct vg_copy *copy;           /* PACK, UNPACK, COPY; its own */
	uint8_t *staging;               /* PACK, UNPACK */
	struct vg_condition *condition; /* its own */
};
void vg_program_free(struct vg_program *p);
CUresult vg_step_call(struct vg_stream *s, const struct vg_step *step);         /* graph_launch.c */

/* graph_cond.c: conditional nodes; vg_graphs held where no exec is given */
struct vg_conditional *vg_conditional_ref(struct vg_conditional *c);
void vg_conditional_unref(struct vg_conditional *c);
void vg_conditionals_drop(struct vg_graph *g);
bool vg_conditionals_used(const struct vg_graph *g);    /* every handle of it has a node */
CUresult vg_conditional_belongs(const struct vg_work *w, const struct vg_graph *g);    /* the handle was made for g, or for what g is in */
CUresult vg_make_condition(CUDA_CONDITIONAL_NODE_PARAMS *p, struct vg_work **w);
bool vg_condition_copy(struct vg_work *w, const struct vg_work *from);
void vg_condition_drop(struct vg_work *w);
struct vg_condition *vg_condition_new(const struct vg_work *w);
struct vg_program *vg_condition_body(struct vg_condition *k, uint32_t i);
void vg_condition_unref(struct vg_condition *k);
CUresult vg_condition_call(struct vg_stream *s, struct vg_condition *k);        /* in the stream's turn */
void vg_conditions_begin(const struct vg_program *p, struct vg_stream *s);      /* values at the beginning of a launch */
void vg_conditions_launched(struct vg_exec *e);

/* The graphs inside a node: its child, its bodies; NULL behind the last. */
static inline struct vg_graph *vg_inside(const struct vg_work *w, uint32_t i)
{
	if (w->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return i ? NULL : w->u.child;
	return w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < w->u.cond.n ? w->u.cond.bodies[i] : NULL;
}
/* Nobody else may have what is in it: memory, or values of conditions. */
static inline bool vg_graph_single(const struct vg_graph *g) { return g->mems || g->conditions; }

/* graph_mem.c: memory that a graph allocates when it runs */
struct vg_graph_mem *vg_graph_mem_ref(struct vg_graph_mem *m);
void vg_graph_mem_unref(struct vg_graph_mem *m);
CUresult vg_make_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct vg_ctx *c, struct vg_work **w);
CUresult vg_make_free(CUdeviceptr ptr, struct vg_work **w);
CUresult vg_graph_mem_launch(const struct vg_exec *e);  /* may it be launched? */
void vg_graph_mem_allocate(const struct vg_work *w);    /* as a launch comes to it */
void vg_graph_mem_free(uint64_t va);
void vg_graph_mem_launched(const struct vg_exec *e);

/* graph_object.c */
void vg_retained_drop(struct vg_retained *r);
bool vg_retained_copy(struct vg_graph *to, const struct vg_graph *from);
/* What an exec has no more: gone, or when its last launch is done. vg_graphs is held */
void vg_retained_leave(struct vg_exec *e, struct vg_retained *list);
void vg_graph_leave(struct vg_exec *e, struct vg_graph *g);
void vg_work_leave(struct vg_exec *e, const struct vg_work *w);

/* capture.c: a node in a stream that captures; takes w */
CUresult vg_capture_add(struct vg_stream *s, struct vg_work *w, CUgraphNode *node);

#endif
