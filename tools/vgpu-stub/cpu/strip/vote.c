/* SPDX-License-Identifier: MIT */
/*
 * Votes, where the four strips of a warp have met: predicates are in their slots, 32 bits each; of all lanes, or of those that a guard lets through (guards.c of
 * the engine makes such of branches). Members that the program computes are mostly those that are here; else the interpreter is called (meet.c).
 *
 * What a guard lets through changes, in slots: s_guarded_masks(), s_guarded_put(); shuffle.c has them, too.
 */
#include "strip.h"
#include "vex.h"

#define TMP 2                   /* s_guarded_put()'s */

static struct rm slot_of(const struct scomp *c, u32 o, u32 s) { return rm_mem(RBX, (s32)(c->r[o].slot + 32 * s)); }

/* The guard's bits; without one, of all lanes that there are */
static void guard_bits(struct scomp *c, const struct insn *in, int gpr)
{
	if (in->guard == OPND_NONE) {
		if (s_part(c))
			g_load(&c->a, 0, gpr, SPM(born));
		else
			g_movi(&c->a, gpr, ~0u);
		return;
	}
	g_load(&c->a, 0, gpr, rm_mem(RBX, (s32)c->r[in->guard].slot));
	if (in->gneg)
		g_not(&c->a, 0, gpr);
	if (s_part(c))
		g_alu(&c->a, 0, G_AND, gpr, SPM(born));
}

void s_guarded_masks(struct scomp *c, const struct insn *in)
{
	u32 s;

	for (s = 0; s < STRIPS && s_guarded(c, in); s++) {
		struct rm own = rm_mem(R15, (s32)(offsetof(struct sprivate, own) + 32 * s));

		if (in->guard == OPND_NONE) {
			g_load(&c->a, 0, RAX, own);
		} else {
			g_movx(&c->a, 0, 0, 1, RAX, rm_mem(RBX, (s32)(c->r[in->guard].slot + s)));
			if (in->gneg)
				g_alui(&c->a, 0, G_XOR, rm_reg(RAX), 255);
			if (s_part(c))
				g_alu(&c->a, 0, G_AND, RAX, own);
		}
		s_mask_vector(c, S_GUARDED + (int)s, RAX);
	}
}

void s_guarded_put(struct scomp *c, const struct insn *in, u32 s, int r)
{
	struct as *a = &c->a;

	if (s_guarded(c, in)) {
		vy(a, X_MOVU, TMP, 0, slot_of(c, in->o[0], s));
		vyi(a, X_BLENDVPS, TMP, TMP, rm_reg(r), (u32)(S_GUARDED + (int)s) << 4);
		r = TMP;
	}
	vy(a, X_MOVU_ST, r, 0, slot_of(c, in->o[0], s));
}

void s_guarded_bits(struct scomp *c, const struct insn *in, u32 o, int old)
{
	struct as *a = &c->a;

	if (s_guarded(c, in)) {
		/* old ^ ((old ^ new) & guard) */
		guard_bits(c, in, RCX);
		g_alu(a, 0, G_XOR, RAX, rm_reg(old));
		g_alu(a, 0, G_AND, RAX, rm_reg(RCX));
		g_alu(a, 0, G_XOR, RAX, rm_reg(old));
	}
	g_store(a, 0, rm_mem(RBX, (s32)c->r[o].slot), RAX);
}

/* All lanes that vote get what is in eax. */
static void put_lanes(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 s;

	vx_x(a, X_MOVD, 0, 0, rm_reg(RAX));
	vy(a, X_PBCASTD, 0, 0, rm_reg(0));
	s_guarded_masks(c, in);
	for (s = 0; s < STRIPS; s++) {
		s_guarded_put(c, in, s, 0);
		s_unhold(c, in->o[0], s);
	}
}

/*
 * edx = those of the members that vote. Are the members the same for all of them? *others: a jump if they are not, *none: if nobody votes; 0: there is none.
 */
static void members(struct scomp *c, const struct insn *in, u32 *others, u32 *none)
{
	struct as *a = &c->a;
	u32 m, s;

	*others = *none = 0;
	guard_bits(c, in, RDX);
	if (in->guard != OPND_NONE) {
		g_alui(a, 0, G_CMP, rm_reg(RDX), 0);
		*none = g_jcc(a, CC_E);
	}
	if (in->o[2] == OPND_NONE)
		return;
	if (s_constant(c, in->o[2], &m)) {
		if (m != ~0u)
			g_alui(a, 0, G_AND, rm_reg(RDX), (s32)m);
		return;
	}
	g_tzcnt(a, RAX, rm_reg(RDX));
	vy(a, X_PBCASTD, 0, 0, rm_idx(RBX, RAX, 2, (s32)c->r[in->o[2]].slot));
	g_alu(a, 0, G_AND, RDX, rm_idx(RBX, RAX, 2, (s32)c->r[in->o[2]].slot));
	s_guarded_masks(c, in);
	for (s = 0; s < STRIPS; s++) {
		vy(a, X_PXOR, s ? 3 : 1, 0, slot_of(c, in->o[2], s));
		if (s_guarded(c, in))
			vr(a, X_PAND, s ? 3 : 1, s ? 3 : 1, S_GUARDED + (int)s);
		if (s)
			vr(a, X_POR, 1, 1, 3);
	}
	vx(a, X_PTEST, 1, 1, 0, rm_reg(1), 0);
	*others = g_jcc(a, CC_NE);
}

static bool result(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	g_load(a, 0, RAX, rm_mem(RBX, (s32)c->r[in->o[1]].slot));
	if (in->flags & INF_CNEG)
		g_not(a, 0, RAX);
	g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
	switch (in->sub) {
	case VOTE_BALLOT:
		put_lanes(c, in);
		return true;
	case VOTE_ANY:          /* carry: not 0 */
		g_neg(a, 0, RAX);
		break;
	case VOTE_ALL:          /* carry: not all of them */
		g_alu(a, 0, G_XOR, RAX, rm_reg(RDX));
		g_neg(a, 0, RAX);
		break;
	default:
		return false;
	}
	g_alu(a, 0, G_SBB, RAX, rm_reg(RAX));
	if (in->sub == VOTE_ALL)
		g_not(a, 0, RAX);
	if (s_guarded(c, in))
		g_load(a, 0, RDX, rm_mem(RBX, (s32)c->r[in->o[0]].slot));
	s_guarded_bits(c, in, in->o[0], RDX);
	return true;
}

bool s_vote_all(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	struct as *a = &c->a;
	u32 others, none, over, m;

	/* members that are the same for a launch lie in the pool */
	if (in->kind == K_VOTE && in->o[2] != OPND_NONE && (in->o[2] & OPND_CONST) && !s_constant(c, in->o[2], &m))
		return false;
	if ((in->guard != OPND_NONE && (in->guard & OPND_CONST)) || (in->kind == K_VOTE && (in->o[1] & OPND_CONST)))
		return false;
	s_hold_none(c);
	if (in->kind == K_ACTIVEMASK) {
		guard_bits(c, in, RAX);
		put_lanes(c, in);
		return true;
	}
	members(c, in, &others, &none);
	if (!result(c, in))
		return false;
	if (others) {
		over = g_jmp(a);
		g_here(a, others);
		s_by_interpreter(c, pc, 1);
		g_here(a, over);
	}
	if (none)
		g_here(a, none);
	return true;
}
