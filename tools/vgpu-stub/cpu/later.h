/* SPDX-License-Identifier: MIT */
/* What later.c knows of a function, and what numbers.c computes of it. */
#ifndef VGPU_CPU_LATER_H
#define VGPU_CPU_LATER_H

#include "cfg.h"

#define DEPTH 8u
#define MOST_ASKED 512u
#define WARPS 4u                /* of a block are looked at */
#define MOST_ONES 32u
#define MOST_OTHERS 6u

enum { TID = 1, CTAID = 2, OTHER = 4 };         /* what a value depends on */

struct later {
	struct cfg *g;
	const struct insn *code;
	u32 *def, *more;        /* by register: its last definition's index + 1, 0: none; by operand of an instruction, 6 each: the one before it */
	u32 *block;             /* by instruction */
	u32 *asked;             /* how many registers, for one place or branch */
	u8 *busy;               /* by register: it is being asked about; a pointer that a loop steps on depends on itself */
	u32 *pred;              /* by block: the only block before it, NO_PC: several or none */
	u8 *to;                 /* by block: a way leads from its end to the write, past no barrier; a bit for each width of the block (widths[]) */
	u8 *not[2];             /* by block: widths in which its branch is not taken; is taken */
	u32 to_block;           /* ... to this block's start; NO_PC: none yet */
	bool to_warp;
	bool asks;              /* the function looks at what others write while it runs */
	u32 ones[MOST_ONES], nones;     /* loads of shared memory from a place that is one for all */
};

/* What registers are in one warp, as far as the thread's number makes them. All else counts as 0, and is kept as what has come to it. */
struct numbers {
	const struct later *l;
	u32 warp, asked;
	bool rows;              /* the block is 32 wide, and a warp a row of it */
	bool place;             /* of an address, for which the block is as large as what is looked at: cooperative groups count threads by its sides */
	u32 width;              /* the block's, 0: not known */
	bool lanes;             /* what is asked for is not one for all lanes */
	bool y;                 /* %tid.y has been asked for */
	bool own;               /* it is made of what each thread has by itself, and from round to round of a loop: whose place is whose is not known */
	bool unknown;           /* not only variables' addresses are among the others: who knows whether they are alike for all warps */
	u32 nothers;
	u64 others[MOST_OTHERS];
};

/* An access by its places: of each warp which lanes come to it, and where. */
struct places {
	u32 lanes[WARPS];
	u64 at[WARPS][LANES];
	u32 bytes;
	struct numbers n;
};

u32 later_depends(const struct later *l, u32 o, u32 depth);
/* What makes o, and by which operand; NULL: nothing, or more than one. What is made once a launch is in the pool, too (uniform.c). */
const struct insn *later_maker(const struct later *l, u32 o, u32 *k);
/* o, laid out as slots are: what makes a register says how wide it is */
void later_number(struct numbers *n, u32 o, u64 *to, u32 depth);
/* of the first warps of a block */
void later_places(const struct later *l, const struct insn *in, u32 b, bool rows, u32 warps, struct places *p);

#endif
