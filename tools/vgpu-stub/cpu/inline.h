/* SPDX-License-Identifier: MIT */
/* Between inline.c, which puts a function's body into a caller's code, and calls.c, which says what becomes of a kernel's calls. */
#ifndef VGPU_INLINE_H
#define VGPU_INLINE_H

#include "front.h"
#include "jit.h"

#define BODY_MOST 1024u         /* instructions of a function that is put where it is called */
#define KEPT_MOST 8192u         /* of one that a kernel has once */
#define ADDED_MOST 6144u        /* to one caller */
#define MODULE_MOST (1u << 18)  /* to all of a module */

struct fbody {
	struct jit_src *s;
	u32 *arg, *ret;         /* registers of formals */
	struct konst *k;
	u32 nk;
};

struct splice {
	struct comp *c;
	const struct func *g;
	const struct callinfo *ci;      /* whose variables are the parameters; NULL: they lie in the body's own frame */
	u32 *reg;               /* the body's register -> ours, or a constant */
	u32 *label;             /* the body's pc -> label + 1 */
	u32 end;                /* the label behind it */
	u32 local;              /* where its .local variables begin ... */
	u32 sp;                 /* ... behind this register, OPND_NONE: in the caller's frame */
	u32 line;               /* of the call */
	/* of calls.c */
	void (*call)(struct splice *s, const struct insn *in);  /* a call in the body, its operands ours; NULL: it stays */
	void *graph;
	u32 in;                 /* whose code this is */
};

void splice_body(struct splice *s);
/* Its name for what the body calls so. */
u32 splice_operand(struct splice *s, u32 o);
bool formals_fit(const struct arg *a, const struct fparam *p, u32 n);
bool results_apart(const struct callinfo *ci);
void splice_copy(struct comp *c, u32 d, u32 a, u8 w, u32 line);
void splice_jump(struct comp *c, u32 label, u32 line);
u32 splice_label(struct comp *c);
struct callinfo *splice_callinfo(struct comp *c, const struct callinfo *o);
/* Labels stand before other instructions than before: at[] has the new places. */
void splice_labels(struct comp *c, const u32 *at, u32 n);

#endif
