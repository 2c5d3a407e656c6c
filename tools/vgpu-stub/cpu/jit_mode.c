/* SPDX-License-Identifier: MIT */
/*
 * MXCSR. To load it waits, among other instructions, for all before it, some fifty cycles. So a kernel that wants two values, as those do
 * whose sums flush subnormals and whose square roots do not, has the one of most of its code at home: blocks begin and end with it, entries
 * find it set. Of operations that it makes a difference to for few operands only, the other value is loaded when there are such.
 */
#include <string.h>

#include "jit.h"
#include "lanes.h"

#define FLUSHES (MXCSR_BASE | MXCSR_FLUSH)

void jit_ldmxcsr(struct jcomp *c, u32 v) { g_op(&c->a, 0, 0x1ae, 2, rm_lit(j_lit32(c, v), 0), 0); }

void jit_mxcsr(struct jcomp *c, u32 want)
{
	/* conversions only care for the rounding, which is the same with and without flushing */
	if (!want || c->s->mxcsr != ~0u || c->mx == want)
		return;
	c->mx = want;
	jit_ldmxcsr(c, want);
}

void jit_mxcsr_home(struct jcomp *c)
{
	if (c->s->mxcsr == ~0u)
		jit_mxcsr(c, c->s->mxcsr_home);
}

bool jit_mxcsr_for(struct jcomp *c, u32 want)
{
	if (c->s->mxcsr == ~0u)
		jit_mxcsr(c, want);
	if (c->s->mxcsr == ~0u || c->s->mxcsr == want)
		return false;
	jit_ldmxcsr(c, want);
	return true;
}

void jit_mxcsr_back(struct jcomp *c) { jit_ldmxcsr(c, c->s->mxcsr); }

/* The same with and without flushing unless an operand is subnormal, or (rcp) so large that the result is: of one, tried by all floats. */
bool jit_mode_seldom(const struct insn *in)
{
	if (in->kind != K_LANE || in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_SQRT: case LOP_RSQRT: case LOP_RCP: case LOP_LG2: case LOP_SIN: case LOP_COS: case LOP_TANH:
	case LOP_MIN: case LOP_MAX:
		return true;
	}
	return false;
}

bool jit_mode_free(const struct insn *in) { return jit_mode_seldom(in) || (in->kind == K_LANE && in->type == T_F32 && in->lop == LOP_EX2); }

bool jit_mode_other(u32 now, const struct insn *in)
{
	return now && in->mxcsr && now != in->mxcsr && (now == MXCSR_BASE || now == FLUSHES) && (in->mxcsr == MXCSR_BASE || in->mxcsr == FLUSHES);
}

int jit_ex2_mode(u32 now, const struct insn *in)
{
	return in->lop != LOP_EX2 || in->type != T_F32 || !jit_mode_other(now, in) ? EX2_PLAIN : now == MXCSR_BASE ? EX2_FLUSH : EX2_KEEP;
}

/*
 * zmm0 = 2^x, to the bit what math.inc has: the last step is one rounding there, too, and what has no fraction or is infinite leaves f 0.
 * What is subnormal is the one thing that depends on flushing, for f is added to larger numbers only: how says whether to see to it here.
 */
void jit_ex2(struct jcomp *c, int x, int how)
{
	struct as *a = &c->a;
	static const float co[6] = { 6.9314718e-1f, 2.4022643e-1f, 5.5503327e-2f, 9.6184369e-3f, 1.3398874e-3f, 1.5353362e-4f };
	static const int to[3] = { 6, 5, 4 };
	u32 i, u[6];

	memcpy(u, co, sizeof(u));
	if (how)                        /* below -126, or not: then a NaN stays */
		ev_i(a, V_CMPPS, 7, x, rm_lit(j_lit32(c, 0xc2fc0000u), 0), 0, 0, how == EX2_KEEP ? 0x11 : 0x15);
	ev_i(a, V_REDUCEPS, 1, 0, rm_reg(x), 0, 0, 8);          /* f */
	ev_i(a, V_RNDSCALEPS, 2, 0, rm_reg(x), 0, 0, 8);        /* n */
	ev(a, V_MULPS, 3, 1, rm_reg(1));
	for (i = 3; i-- > 0;) {
		ev(a, V_MULPS, to[i], 1, rm_lit(j_lit32(c, u[2 * i + 1]), 0));
		ev(a, V_ADDPS, to[i], to[i], rm_lit(j_lit32(c, u[2 * i]), 0));
	}
	ev(a, V_MULPS, 4, 4, rm_reg(3));
	ev(a, V_ADDPS, 5, 5, rm_reg(4));
	ev(a, V_MULPS, 5, 5, rm_reg(3));
	ev(a, V_ADDPS, 6, 6, rm_reg(5));
	ev(a, V_MULPS, 0, 6, rm_reg(1));
	ev(a, V_ADDPS, 0, 0, rm_lit(j_lit32(c, 0x3f800000u), 0));
	if (how == EX2_KEEP) {          /* as an integer, its bits are those of so many times 2^-149 */
		ev(a, V_ADDPS, 3, 2, rm_lit(j_lit32(c, 0x43150000u), 0));
		ev(a, V_SCALEFPS, 3, 0, rm_reg(3));
	}
	ev_k(a, V_SCALEFPS, 0, 0, rm_reg(2), how == EX2_FLUSH ? 7 : 0, how == EX2_FLUSH);
	if (how == EX2_KEEP)
		ev_k(a, V_CVTPS2DQ, 0, 0, rm_reg(3), 7, 0);
}

/* Is the next of its kind near, as the steps of a reduction by shuffles are? Then one change for all of them is cheaper than to look each time. */
static bool others_follow(const struct jcomp *c, const struct insn *in)
{
	u32 end = c->s->b[c->block].end, i;

	for (i = c->pc + 1; i < end && i < c->pc + 8; i++)
		if (c->code[i].kind == K_LANE && c->code[i].type == T_F32 && c->code[i].lop == in->lop && c->code[i].mxcsr == in->mxcsr)
			return true;
	return false;
}

/* The mode that in wants, if one of the lanes' operands is such that it makes a difference. True: jit_mode_end() has to follow. */
bool jit_mode_begin(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p, none;

	if (!jit_mode_seldom(in) || !jit_mode_other(c->mx, in) || in->o[0] == OPND_NONE || c->r[in->o[0]].cls != JC_VARY)
		return false;
	if ((in->lop == LOP_MIN || in->lop == LOP_MAX) && others_follow(c, in))
		return false;
	for (p = 0; p < 2; p++) {
		int x = jv_reg(c, in->o[1], 0, p, 0);

		/* by their bits: what asks for subnormal floats sees none where they count as 0 */
		ev(a, V_PANDD, 1, x, rm_lit(j_lit32(c, 0x7fffffff), 0));
		if (in->lop == LOP_RCP) {       /* 0 and what is not finite, too */
			ev(a, V_PSUBD, 1, 1, rm_lit(j_lit32(c, 0x00800000), 0));
			ev_i(a, V_PCMPUD, 7, 1, rm_lit(j_lit32(c, 0x7e000000), 0), 0, 0, 6);
		} else {
			ev(a, V_PSUBD, 1, 1, rm_lit(j_lit32(c, 1), 0));
			if (in->lop == LOP_MIN || in->lop == LOP_MAX) {
				ev(a, V_PANDD, 0, jv_reg(c, in->o[2], 0, p, 0), rm_lit(j_lit32(c, 0x7fffffff), 0));
				ev(a, V_PSUBD, 0, 0, rm_lit(j_lit32(c, 1), 0));
				ev(a, V_PMINUD, 1, 1, rm_reg(0));
			}
			ev_i(a, V_PCMPUD, 7, 1, rm_lit(j_lit32(c, 0x007fffff), 0), 0, 0, 1);
		}
		k_to(a, p ? RAX : RCX, 7);
		if (!p)
			g_store(a, 0, PM(apart), RCX);
	}
	g_alu(a, 0, G_OR, RAX, PM(apart));
	g_store(a, 0, PM(apart), RAX);
	none = g_jcc(a, CC_E);
	jit_ldmxcsr(c, in->mxcsr);
	g_here(a, none);
	return true;
}

void jit_mode_end(struct jcomp *c)
{
	struct as *a = &c->a;
	u32 none;

	g_alui(a, 0, G_CMP, PM(apart), 0);
	none = g_jcc(a, CC_E);
	jit_ldmxcsr(c, c->mx);
	g_here(a, none);
}
