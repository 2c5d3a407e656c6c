/* SPDX-License-Identifier: MIT */
/* What whole.c (kernels that go straight on) and round.c (rounds of loops) have in common: a way of instructions that is done for all strips of a warp. */
#ifndef VGPU_STRIP_WHOLE_H
#define VGPU_STRIP_WHOLE_H

#include "mem.h"
#include "vex.h"

#define MAX_CHAIN 256u

struct swhole {
	u32 pc[MAX_CHAIN], n;           /* the instructions on the way, the last one is the end */
	u8 what[MAX_CHAIN];             /* of each */
	u32 root[S_ROOTS], nroots;
	s32 home[S_ROOTS];              /* where the first strip's lies, 0: on the stack */
	s32 delta[64][STRIPS];          /* by sval.far */
	u32 ndelta;
	u32 jump[64], njumps;           /* to the ordinary code */
	bool bad, stored;
	bool flags;                     /* nothing but moves lies between its last comparison and the branch that asks for it */
	u8 *low;                        /* by register: the first strip's is a multiple of that power of two; NULL: not known */
	/* of a round */
	struct sblock *round;           /* NULL: it is none */
	struct { u32 o, pc; } carried[S_CARRIED];       /* scalars that a round hands to the next one; where it makes them */
	u32 ncarried;
};
enum { W_SCALAR, W_BODY, W_BRANCH, W_ASIDE, W_NOTHING };        /* aside: a predicate that only branches want */

#define S_LATER 0x40000000u             /* in root[]: what a carried scalar is behind the place where it is made */

bool whole_same(const struct scomp *c, u32 o, u8 w);
bool whole_result_delta(const struct scomp *c, const struct insn *in, s64 *d);
u32 whole_low(const struct scomp *c, const struct insn *in);
u32 whole_far(struct scomp *c, const s64 *d);            /* the number of such distances; 0: there are too many, or too large ones */
bool whole_root(struct scomp *c, struct swhole *h, u32 o, u32 pc);
bool whole_is_aside(const struct scomp *c, const struct swhole *h, u32 i, u32 o);
bool whole_is_row(const struct scomp *c, const struct swhole *h, u32 i, struct sval *v);
bool whole_seen(const struct scomp *c, const struct swhole *h, u32 i);
void whole_own_words(struct scomp *c);
bool whole_set_delta(struct scomp *c, u32 v, const s64 *d);
bool whole_sort(struct scomp *c, struct swhole *h, u32 min_scalars);
void whole_at_insn(struct scomp *c, u32 pc);
void whole_scalars(struct scomp *c);
void whole_roots(struct scomp *c);       /* into their registers */
void whole_checks(struct scomp *c);
void whole_require(struct scomp *c, u32 i, u32 o, bool want);
void whole_bodies(struct scomp *c);      /* of the strip at hand */
struct rm whole_slot(const struct scomp *c, u32 i);
u32 whole_root_of(const struct scomp *c, u32 o);

/* stay.c */
#define STAYING 10u             /* ymm4 to ymm13 */
/* own: what the allocator gave them; at: each strip's */
struct stay {
	bool on;
	u32 n;
	struct { u32 v; u8 own[2], at[STRIPS][2]; } of[STAYING];
	u64 *out;               /* those that a round makes anew */
};
u32 s_definitions(const struct scomp *c, const struct sblock *b, u32 o, u32 *at);       /* of o in the block; where the last one is */
bool s_stay_wanted(const struct scomp *c, const struct sblock *b, u32 v, bool *made);
bool s_stay_find(const struct scomp *c, const struct sblock *b, struct stay *y);        /* false: there are not registers enough */
void s_stay_as(struct scomp *c, const struct stay *y, u32 s);
void s_stay_move(struct scomp *c, const struct stay *y, bool back);

/* What emission adds, to be taken back. */
struct swhole_mark { u32 n, nfix, nslow, nsites, nexits, nxjumps, nsjumps, nahead, mx; struct sblock *cur; };
struct swhole_mark whole_mark(const struct scomp *c);
void whole_back(struct scomp *c, const struct swhole_mark *m);

#endif
