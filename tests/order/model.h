/* SPDX-License-Identifier: MIT */
/*
 * The rules of order that CUDA documents, as a program that only counts: which operation happens before which. It knows nothing
 * of queues, tickets or phases; model.c generates a random program and computes the relation, run.c runs it.
 */
#ifndef ORDER_MODEL_H
#define ORDER_MODEL_H

#include <stdint.h>

#define CONTEXTS 2
#define STREAMS 12              /* both contexts' together; see stream_kinds[] */
#define EVENTS 6
#define STEPS 90
#define VERTICES 192
#define NODES 7                 /* of a graph */
#define CHECKS 8

struct set {
	uint64_t w[VERTICES / 64];
};

enum stream_kind { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING };

/* What a vertex is: it leaves two stamps of the common counter, one, or only sets its cell to 1. */
enum op {
	KERNEL, HOST_FN,                        /* begin and end */
	COPY, DOWNLOAD,                         /* the moment in which they read the counter */
	LOOK,                                   /* the host, after something that waits */
	FILL, UPLOAD, UPLOAD_PIECE, WRITE_VALUE, HOST_TO_HOST, FOREIGN_COPY, FOREIGN_UPLOAD, FOREIGN_FILL, /* a cell */
	OPS
};
static inline int op_sets(enum op o) { return o >= FILL; }

struct vertex {
	enum op op;
	struct set before;              /* all that happens before it */
	int context;
	int graph;                      /* 1 + step of its graph; 0: none */
	int again;                      /* the graph runs more than once: stamps are of the first begin and the last end */
	unsigned delay;
	uint32_t blocks;
	int sees[CHECKS], nsees;        /* cells that are 1 when it begins */
	int unset[CHECKS], nunset;      /* cells that are 0 when it ends */
};

enum step_kind { RUN, RECORD, WAIT_EVENT, WAIT_CELL, SYNC_STREAM, SYNC_EVENT, SYNC_CONTEXT, QUERY_STREAM, QUERY_EVENT, GRAPH,
		 RENEW, STEP_KINDS };

struct step {
	enum step_kind kind;
	int stream, event;
	int vertex;                     /* RUN: itself; syncs: the LOOK; WAIT_CELL: whose cell */
	unsigned pause;                 /* of the host before it, in us */
	/* GRAPH */
	int nnodes, node[NODES];
	uint32_t needs[NODES];          /* bit per earlier node */
	int launches, in[3];            /* streams */
	int captured;                   /* made by capture of forked streams instead of by hand */
};

struct program {
	struct step step[STEPS];
	struct vertex v[VERTICES];
	int nsteps, nv;
};

extern const struct stream_kind_of { enum stream_kind kind; int context; } stream_kinds[STREAMS];

void model_make(struct program *p, uint64_t seed);
int set_has(const struct set *s, int v);

#endif
