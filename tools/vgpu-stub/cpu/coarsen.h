/* SPDX-License-Identifier: MIT */
/* Between coarsen.c, which makes several blocks one, and coarsen_guard.c. */
#ifndef VGPU_CPU_COARSEN_H
#define VGPU_CPU_COARSEN_H

#include "cfg.h"
#include "lanes.h"

#define MOST 7u                 /* further blocks */
#define FORK_MOST 32u           /* blocks of code of a fork */

/* An own branch, the last instruction of block from, and the blocks between it and join, in order. One whose branch lies in another is a part of that. */
struct fork { struct fork *next; u32 from, join, n, block[FORK_MOST], head; bool loops; int meets; };
/* loops: a guard; head: the first block of its copies; meets: lanes of a warp do, in it */

struct coarse {
	struct cfg *g;
	struct comp *c;
	u8 *own;                /* by register */
	struct fork *forks, **last;
	u8 *forked;             /* by block: in a fork */
	u8 *guarded;            /* by block: behind a guard */
	u32 *back, *forth;      /* by block: ways that lead back to it; on to it */
	u8 *mark;               /* by register: what it is to copies of a guarded way */
	u32 *named;             /* by register: what it is called in a guarded way's copy; NULL: none is made now */
	u32 *ways;              /* by block: ways into it from a fork that is looked at */
	u8 *heavy;              /* by register: made of what was loaded */
	u32 *other, n;          /* by register, n for each block: the further blocks' */
	u32 *read, piece;       /* by register: the piece in which something own reads it */
	u32 *once, nonce, *each, neach;        /* the piece's instructions */
	u32 end;                /* of the order: copies have none */
	u32 *seen, *stack, stamp;       /* blocks, while they are gone through */
	bool stored, touched;   /* something own in this piece stores; it loads or stores */
	u32 apart, frames;      /* bytes from one window of shared memory to the next; of a thread's local memory */
};

/* coarsen.c */
u32 coarse_others(struct coarse *v, u32 o, u32 k);      /* what block k of the row has in the place of register o */
void coarse_append(struct coarse *v, u32 at, u32 k);    /* the instruction, for block k */
void coarse_copy(struct coarse *v, u32 b, u32 like, u32 k);       /* block b is the code of block like, for block k of the row */
void coarse_lead(struct coarse *v, u32 b, u32 like, const struct fork *f, const u32 *to, u32 behind);

/* coarsen_guard.c */
bool coarse_within(const struct fork *f, u32 b);
bool coarse_guard(struct coarse *v, const struct fork *f);      /* may it be one? Registers are own then */
void coarse_guard_out(struct coarse *v, struct fork *f);        /* copies, before anything is rewritten */
void coarse_guard_all(struct coarse *v, const struct fork *f, u32 at);  /* the branch, at the code's end */

#endif
