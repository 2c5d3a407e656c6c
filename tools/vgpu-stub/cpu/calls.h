/* SPDX-License-Identifier: MIT */
/* Between calls.c, which decides what becomes of a kernel's calls, and call_frames.c, which writes those of functions it has once. */
#ifndef VGPU_CALLS_H
#define VGPU_CALLS_H

#include "inline.h"

#define FUNCS_MOST 256u         /* that a kernel may reach */
#define TARGETS_MOST 24u        /* of a call through a pointer */
#define FRAME_MOST 4096u

/* A function as a kernel reaches it; main, the kernel's own code, is number 0. */
struct cnode {
	const struct func *fn;
	u64 reach[FUNCS_MOST / 64];     /* by calls; itself, if it is recursive */
	bool once;              /* its code is in the kernel once, and returns by a register's value */
	struct splice s;        /* that code: registers */
	u32 begin, back;        /* labels: its first instruction, the one that goes back to who called */
	u32 first, last;        /* the code: instructions */
	u32 ra;                 /* who called */
	u32 local, saves;       /* bytes of a frame: variables, and registers behind them */
	u32 *sites, nsites, sites_cap;  /* labels behind its calls */
};

/* A call that is taken apart when all code is there. */
struct csite {
	u32 at, in;             /* the instruction; whose code it stands in */
	u32 to;                 /* 0: the interpreter's call, from a frame that is not the kernel's */
};

struct cgraph {
	struct comp *c;
	struct cnode n[FUNCS_MOST];
	u32 nn;
	struct csite *site;
	u32 nsites, sites_cap;
	u32 sp;
	u32 stack, scratch;     /* places in the kernel's frame */
	u32 scratch_bytes;
	u32 added;
};

static inline bool reaches(const struct cgraph *g, u32 a, u32 b)
{
	return g->n[a].reach[b / 64] >> (b & 63) & 1;
}

/* In: code in which the calls of g->site still stand. Out: none of them does. */
void call_frames(struct cgraph *g);

#endif
