/* SPDX-License-Identifier: MIT */
/*
 * Reductions of which the strip's places turn out to lie side by side, as ../jit_reduce.c has them: one vector operation for all lanes where no
 * lock is needed. In: addresses and values in sprivate.lanes, all lanes looked at. Called by atom.c; others' code follows.
 */
#include "strip.h"
#include "mem.h"
#include "vex.h"

static u32 operation(const struct insn *in)
{
	bool w = in->size == 8;

	switch (in->sub) {
	case ATOM_ADD: return type_is_float(in->type) ? (w ? X_ADDPD : X_ADDPS) : w ? X_PADDQ : X_PADDD;
	case ATOM_AND: return X_PAND;
	case ATOM_OR: return X_POR;
	case ATOM_XOR: return X_PXOR;
	}
	return 0;
}

/* Subnormal numbers of 32 bits become 0 with their sign. ymm 1 is lost. */
static void flush(struct scomp *c, int x)
{
	struct as *a = &c->a;

	vy(a, X_PAND, 1, x, s_splat32(c, 0x7f800000));
	vy(a, X_PCMPEQD, 1, 1, s_splat32(c, 0));
	vy(a, X_PAND, 1, 1, s_splat32(c, 0x7fffffff));
	vr(a, X_PANDN, x, 1, x);
}

/* values: where they stand, behind the addresses. The jump to behind the other ways' code, which follows; 0: nothing emitted. */
u32 s_reduce_row(struct scomp *c, const struct insn *in, u32 values)
{
	bool w = in->size == 8, f32 = type_is_float(in->type) && !w, far = in->space != SPACE_SHARED;
	u32 op = operation(in), some, no, done, p, i;
	struct as *a = &c->a;
	u64 off[8];

	/* a generic sum would have to ask each lane which memory it means */
	if (in->o[0] != OPND_NONE || !op || (f32 && in->space == SPACE_GENERIC))
		return 0;
	for (i = 0; i < 8; i++)
		off[i] = (u64)i * in->size;
	some = s_unless_all(c);
	vy(a, X_PBCASTQ, 0, 0, s_mem_lanes_at(0));
	vy(a, X_PADDQ, 1, 0, rm_lit(s_lit(c, off, 32), 0));
	vy(a, X_PCMPEQQ, 1, 1, s_mem_lanes_at(0));
	vy(a, X_PADDQ, 0, 0, rm_lit(s_lit(c, off + 4, 32), 0));
	vy(a, X_PCMPEQQ, 0, 0, s_mem_lanes_at(32));
	vr(a, X_PAND, 0, 0, 1);
	vr(a, X_MOVMSKPD, RAX, 0, 0);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 15);
	no = g_jcc(a, CC_NE);
	g_load(a, 1, RAX, s_mem_lanes_at(0));
	for (p = 0; p < (w ? 2u : 1u); p++) {
		vy(a, X_MOVU, 2, 0, s_mem_lanes_at(values + 32 * p));
		s_site(c);
		vy(a, X_MOVU, 0, 0, rm_mem(RAX, (s32)(32 * p)));
		if (f32 && far) {
			flush(c, 0);
			flush(c, 2);
		}
		vr(a, op, 0, 0, 2);
		if (f32 && far)
			flush(c, 0);
		if (f32)
			s_canon(c, 0, 0, 1);
		s_site(c);
		vy(a, X_MOVU_ST, 0, 0, rm_mem(RAX, (s32)(32 * p)));
	}
	done = g_jmp(a);
	g_here(a, no);
	if (some)
		g_here(a, some);
	return done;
}
