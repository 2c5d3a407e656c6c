/* SPDX-License-Identifier: MIT */
/* What order.c and neighbours.c ask of shared memory: which instruction makes an address, which places lie where. */
#ifndef VGPU_STRIP_ORDER_H
#define VGPU_STRIP_ORDER_H

#include "strip.h"

#define STEPS 4u
#define MOST 64u       /* stores, or loads, that are looked at */
#define NOWHERE ~0ull
#define MOST_IN_LOOP 256u      /* blocks; of a kernel, too, whose branches are looked at one by one */

static inline bool candidate(const struct insn *in)
{
	return in->kind == K_ST && in->space == SPACE_SHARED && !s_sync(in);
}

/* The one instruction that defines o; NULL: there are more, or none. */
static inline const struct insn *definition(const struct scomp *c, const u32 *def, u32 o)
{
	return o == OPND_NONE || (o & OPND_CONST) || def[o] >= c->n ? NULL : &c->code[def[o]];
}

/* neighbours.c; def: where each register is made, NO_PC - 1: in several places; seen and stack are for two walks. false: no memory, or not by strips */
bool s_neighbours(struct scomp *c, const u32 *def, u8 *seen, u32 *stack);

#endif
