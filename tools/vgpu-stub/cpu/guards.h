/* SPDX-License-Identifier: MIT */
/* What guards.c and sides.c know of a function while they make guards of its branches. */
#ifndef VGPU_CPU_GUARDS_H
#define VGPU_CPU_GUARDS_H

#include "cfg.h"

#define BLOCK_LONGEST 256u      /* that takes a body in */
#define ROUNDS 16u

struct guards {
	struct cfg *g;
	struct comp *c;
	u32 *uses, *defs;       /* by register: instructions that do; NULL: not counted yet */
	u8 *vary;               /* lanes may have different values */
	u8 *rank;               /* RANK_; NULL: not asked for yet */
	u32 nregs;              /* of those arrays */
	u32 left;               /* instructions that may still be copied */
};

struct insn *guards_last(const struct guards *u, u32 b);
u32 guards_end(const struct guards *u, u32 b);          /* where b's instructions end, but for the jump behind them */
bool guards_makes_varying(const struct insn *in);       /* whatever its operands are, lanes may get different results */
bool guards_varies(struct guards *u, u32 p);            /* may lanes have different values in p? A guess */
bool guards_arithmetic(const struct insn *in);
bool guards_private(const struct guards *u, u32 b, const struct insn *in);      /* nobody but b's own instructions sees what it writes; behind guards_varies() */
bool guards_in_loop(const struct guards *u, u32 b);
/* b begins anew at the end of the code, without its last instruction, and is what is appended until it is done */
u32 guards_begin(struct guards *u, u32 b);
struct insn *guards_copy(struct guards *u, u32 from);   /* appended */
void guards_join(struct guards *u, u32 b, u32 join, u32 gone);  /* it goes on to join, or is that, if nobody else comes there; gone: how many ways there are no more */
void guards_done(struct guards *u, u32 b, u32 start);

/* sides.c */
void sides_for_branches(struct guards *u);

#endif
