/* SPDX-License-Identifier: MIT */
/* Basic blocks while cfg.c makes them. */
#ifndef VGPU_CPU_CFG_H
#define VGPU_CPU_CFG_H

#include "front.h"

struct block {
	u32 start, end;         /* in the emitted code */
	u32 nsucc, *succ;
	u32 order;              /* position in the layout */
	u32 pc, npred;
	u32 later;              /* how many K_LATER it gets: later.c */
	bool meet;              /* begins with a K_NOP where a warp's strips may have to meet: latch.c */
};

struct cfg {
	struct comp *c;
	struct block *b;
	u32 nb;
	u32 *at;                /* code index -> block */
	u32 *dfn, num, *stack, sp;
	u32 *order, left;       /* filled from the back */
	u64 *live_in, *live_out, *use, *def;    /* words a block: a bit for each of border[] */
	u32 words;
	u32 *border, nborder;   /* registers that may live where blocks meet */
	u32 *no;                /* by register: where in border[], from 1 on; 0: nowhere */
	u8 *chosen;             /* by block, versions.c's: its branch chooses a loop's version */
	u32 versions;           /* that there are */
	u8 *late;               /* by instruction: a K_LATER comes before it; NULL: none does */
	u32 *bar;               /* ... and is a barrier instead, as instruction bar - 1 is one; 0: it is none */
};

bool cfg_ends_block(const struct insn *in);
void *cfg_zeroes(struct cfg *g, size_t bytes);          /* of the kernel's pool; at least one more */
/* pred[first[b]..first[b + 1]]: blocks before b. Behind order. */
void cfg_predecessors(struct cfg *g, u32 **first, u32 **pred);
void cfg_append(struct cfg *g, const struct insn *in);  /* a copy of it at the code's end, which may move */
void cfg_nop(struct insn *in);
void cfg_redirect(struct cfg *g, u32 b, u32 from, u32 to);      /* ways of block b to the one lead to the other */
void cfg_shorten(struct cfg *g, struct block *b);       /* takes what is nothing out of it */

/* stand_in.c: behind edges */
void loads_apart(struct cfg *g);
/* versions.c: behind that and order, which is made anew as long as it says so */
bool loops_may_ask(const struct cfg *g);
bool loop_versions(struct cfg *g);
/* known.c: behind these */
void known_bits(struct cfg *g);
/* values.c: behind it */
void values_once(struct cfg *g);
/* invariants.c: behind it and order, which is to be made anew */
void loop_invariants(struct cfg *g);
/* dots.c: behind it */
void dots_together(struct cfg *g);
/* coarsen.c: before it: would a function that does the work of several blocks be faster? And of that function: what all have */
enum pays coarsen_pays(struct cfg *g);
void coarsen(struct cfg *g);
/* guards.c: between these and order */
void compare_at_branch(struct cfg *g);
void guards_for_branches(struct cfg *g);
/* conditions.c: behind them */
void split_conditions(struct cfg *g);
/* latch.c: behind order, which is made anew if they say so; the first as often as it does, and has done `turns` times */
bool rounds_turn(struct cfg *g, u32 turns);
bool rounds_meet(struct cfg *g);
void rounds_end(struct cfg *g);
/* later.c: behind that */
void leaders_later(struct cfg *g);

/* spin.c: may lanes wait in the loop from to to pc, a jump back? weakly: loads by which nothing is ordered are made such as order, where one does nothing else */
u8 cfg_spins(struct insn *code, u32 to, u32 pc, bool weakly);

#endif
