/* SPDX-License-Identifier: MIT */
/* Between warp.c, which says what is done by whole warps, and warp_code.c. */
#ifndef VGPU_STRIP_WARP_H
#define VGPU_STRIP_WARP_H

#include "whole.h"

enum { GO, WAYS, MEET, END };           /* how a plan's chain ends */

struct plan {
	struct swhole *h;                       /* NULL: none */
	u32 some;                               /* of the chain: the branch at which lanes part, and behind which some of them do the block that it skips; 0: none */
	struct sblock *skipped;                 /* that block */
	u8 ends;
	u32 to[2];                              /* GO: the next block; WAYS: the one that is branched to, and the other */
	u64 *dirty, *made;                      /* scalars that may have been changed before it; that it changes */
	const u64 *out;                         /* what is alive where it ends, the meeting's operands among it */
	u32 at, top;                            /* top: where it goes round to itself */
	struct stay *stay;                      /* such a loop's, NULL: its vectors go through memory */
	/* bare: strips have nothing to do; turns: such a loop may come before a meeting;
	   wanted: it is come to; sure: nothing is amiss where it is done */
	bool loops, bare, turns, wanted, sure;
};

struct warps {
	struct plan *p;
	u64 *odd;                               /* scalars of which nobody knows how strips differ */
	u64 *wanted;                            /* scalars that such code reads or changes */
	struct swhole *all;                     /* the table of distances */
	struct { u32 at, from, to; } *jump;
	u32 njumps, jumps_cap;
};

static inline u32 number(const struct scomp *c, const struct sblock *b) { return (u32)(b - c->b); }

static inline u32 plan_ways(const struct plan *p) { return !p->h ? 0 : p->ends == GO ? 1 : p->ends == WAYS ? 2 : 0; }
static inline void add(u64 *set, u32 o) { set[o >> 6] |= 1ull << (o & 63); }
static inline bool is_scalar(const struct scomp *c, u32 o) { return o != OPND_NONE && !(o & OPND_CONST) && c->r[o].v.cls == SC_SCALAR; }
static inline bool defines(const struct insn *in, u32 k) { return (in->def >> k & 1) && in->o[k] != OPND_NONE; }

/* warp_code.c: at is 0 if there is none after all */
void warp_emit(struct scomp *c, struct warps *ws, u32 b);
void warp_way_in(struct scomp *c, const struct warps *ws, u32 b);
void warp_leave(struct scomp *c, const struct warps *ws, u32 from, u32 to);
void warp_meet(struct scomp *c, const struct warps *ws, u32 bi);
/* Where a block's chain that ends at a barrier goes on, if it does so by such code: scalars of the first strip's are enough there. */
static inline bool warp_lags(const struct scomp *c, const struct warps *ws, u32 b)
{
	return ws->p[b].ends == MEET && b + 1 < c->nb && ws->p[b + 1].h && c->code[c->b[b].end - 1].kind == K_BAR && s_meets_block(c, c->b[b].end - 1);
}
#define TO_MEET (~0u)

#endif
