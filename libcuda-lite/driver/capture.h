/* SPDX-License-Identifier: MIT */
/*
 * Captures under way: what capture.c, which begins, fills and ends them, shares with capture_info.c, which answers
 * questions about them. All of it is under vg_graphs.
 */
#ifndef VG_CAPTURE_H
#define VG_CAPTURE_H

#include "graph.h"

struct vg_capture {
	struct vg_capture *next;
	uint64_t id;
	struct vg_graph *g;
	bool own;                       /* the graph was made for it */
	bool spoiled;
	int mode;
	uint32_t tid;                   /* of the thread that began it */
	struct vg_stream *origin;
	struct vg_capturing *streams;
	struct vg_node **left;          /* what streams ended with that were destroyed: must have come back as well */
	uint32_t nleft;
};

struct vg_capturing {
	struct vg_capturing *next;
	struct vg_capture *c;
	struct vg_stream *s;
	struct vg_node **deps;
	uint32_t n, room;
	CUgraphNode *told;              /* what GetCaptureInfo has answered last */
	CUgraphEdgeData *told_edges;
};

extern struct vg_capturing vg_capture_implicit; /* the legacy stream's mark */

/* The stream's next node depends on x too. False: memory is out. */
bool vg_capture_depend(struct vg_capturing *m, struct vg_node *x);

#endif
