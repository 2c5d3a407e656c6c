/* SPDX-License-Identifier: MIT */
/* Where accesses to memory are, as far as lanes' numbers and constants say (spot.c), for neighbours.c. */
#ifndef VGPU_STRIP_SPOT_H
#define VGPU_STRIP_SPOT_H

#include "order.h"

/*
 * An address as far as lanes' numbers make it: a variable's, + step * tid.x + rows[] * tid.y, tid.z + k, or, first, that of the first of some neighbours; lane: of
 * the number in the warp alone; vague: and something that all have; fixed: and something that the warp has once and for all, as its own row.
 */
struct spot {
	u64 var;
	s64 step, rows[2], k;
	bool named, first, lane, vague, fixed;
};

/* An address of each lane: places.c */
struct places { u64 at[LANES], first, last; };

struct access {
	u32 pc, block;
	bool known;             /* spot is what it says; else a lane's own, no more is known */
	bool some;              /* a store that not all lanes come to */
	bool scattered;         /* by what lanes have read, and not by their numbers */
	bool numbered;          /* by arithmetic with these */
	u64 base;               /* the variable, or the pointer, that it is known to be by; NOWHERE */
	struct spot at;
	struct places *places;  /* of two warps, where they are numbers; NULL */
};

/* own: a byte for each register, whether lanes have numbers of their own there, by what makes it; numbered: by arithmetic with lanes' numbers; stored: a place that is stored to */
struct look {
	struct scomp *c;
	const u32 *def;
	u8 *own, *numbered, *stored, *seen, *past, *other;
	u8 *some, *stops;       /* blocks that some lanes alone come to; in which lanes look at each other */
	u8 *joined, *each;      /* blocks whose loop, the innermost, has such a place; that lanes come to in each of its rounds */
	u32 *stack, left, several, past_of;     /* left, several: instructions that may yet be walked over, and for registers of several definitions; past_of: the block that past is of; NO_PC: of none */
	u32 compared;           /* pairs of accesses whose lanes were */
	u8 space;               /* which is looked at */
	u32 user;               /* the instruction whose operands are looked at */
	struct access *of;      /* every access to that memory */
	u32 *at;                /* by instruction: 1 + its place there */
	bool any;               /* load that is marked */
	bool loops;             /* what is in them is looked at, too */
	bool fenced, fences;    /* there are fences; a walk asks of them as well */
};

u32 s_block_of(const struct look *l, u32 pc);
bool s_is_own(const struct look *l, u32 o);             /* have lanes their own there? After s_find_own() */
void s_find_own(struct look *l);
bool s_spot_of(struct look *l, u32 o, u32 steps, struct spot *a);      /* of what l->user has as o. false: it is a lane's own, no more is known */
const struct insn *s_maker_of(const struct look *l, u32 o, u32 *user);  /* what makes o where l->user reads it; user: where its own operands are asked for. NULL: not known */
/* places.c: of o + imm, which l->user has, for two warps; false: not numbers. Does a lane load what one of another strip stores; later: of an earlier strip? */
bool s_places_of(struct look *l, u32 o, bool wide, s64 imm, struct places p[2]);
bool s_places_meet(struct look *l, const struct access *st, const struct access *ld, bool later);
u64 s_variable_of(struct look *l, u32 o, s64 imm);      /* the kernel's variable in shared memory that o + imm is in; NOWHERE: not known */
u64 s_pointer_of(struct look *l, u32 o, u32 steps);     /* what is added to in global memory; NOWHERE */

#endif
