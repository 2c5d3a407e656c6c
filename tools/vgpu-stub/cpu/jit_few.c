/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters of the lanes in k7. The processor takes as long for one lane as for sixteen, and as long for none: where a leader alone stores what its
 * warp has found, or the upper half of a warp is not there, the one access is made, or none. Called for whatever has addresses that are neither a row nor one place.
 */
#include "jit_mem.h"

/* edx: the lanes of k7, the lowest n. To where there are several; *none: where there are none. */
static u32 several(struct jcomp *c, u32 n, u32 *none)
{
	struct as *a = &c->a;
	u32 more;

	k_op(a, 0, 0, n == 8 ? 1 : 0, 1, 0x93, RDX, 0, rm_reg(7), 0);   /* kmovb, kmovw */
	g_lea(a, 0, RCX, rm_mem(RDX, -1));
	g_op(a, 0, 0x85, RCX, rm_reg(RDX), 0);          /* test */
	more = g_jcc(a, CC_NE);
	g_op(a, 0, 0x85, RDX, rm_reg(RDX), 0);
	*none = g_jcc(a, CC_E);
	return more;
}

/* Of one lane: rcx = its index, by zmm t. */
static struct rm place(struct jcomp *c, struct rm m, bool wide, int t)
{
	struct as *a = &c->a;

	ev_k(a, wide ? V_PCOMPRESSQ : V_PCOMPRESSD, m.index - 32, 0, rm_reg(t), 7, 1);
	ev_n(a, V_LL(wide ? V_MOVQ_ST : V_MOVD_ST, 0), t, 0, rm_reg(RCX), 0, 0, 0, 8, 0);
	if (!wide)
		g_movsxd(a, RCX, rm_reg(RCX));
	return rm_idx(m.base, RCX, m.scale, m.disp);
}

static bool wide_index(u32 op) { return op == V_GATHERQD || op == V_GATHERQQ || op == V_SCATTERQD || op == V_SCATTERQQ; }
static bool wide_value(u32 op) { return op == V_GATHERDQ || op == V_GATHERQQ || op == V_SCATTERDQ || op == V_SCATTERQQ; }

/* t = what lies at m, a base and a vector of indices; lanes that do not run get anything. Wants rcx, rdx. */
void jf_gather(struct jcomp *c, u32 op, int t, struct rm m, u32 step)
{
	bool wide = wide_index(op), w = wide_value(op);
	u32 none = 0, more = 0, done = 0;
	struct as *a = &c->a;
	struct rm at;

	c->walks |= c->s->b[c->block].depth != 0;
	ev(a, V_PXORD, t, t, rm_reg(t));
	if (!c->full || c->gk) {
		more = several(c, wide || w ? 8 : 16, &none);
		at = place(c, m, wide, t);
		j_site(c, step);
		g_load(a, w, RCX, at);
		ev(a, w ? V_PBCASTQ_R : V_PBCASTD_R, t, 0, rm_reg(RCX));
		done = g_jmp(a);
		g_here(a, more);
	}
	j_site(c, step);
	ev_n(a, op, t, 0, m, 7, 0, 0, w ? 8 : 4, 0);
	if (done) {
		g_here(a, none);
		g_here(a, done);
	}
}

/* The lanes of zmm s to m. Wants rcx, rdx and zmm 1. */
void jf_scatter(struct jcomp *c, u32 op, int s, struct rm m, u32 step)
{
	bool wide = wide_index(op), w = wide_value(op);
	u32 none = 0, more = 0, done = 0;
	struct as *a = &c->a;
	struct rm at;

	c->walks |= c->s->b[c->block].depth != 0;
	if (!c->full || c->gk) {
		more = several(c, wide || w ? 8 : 16, &none);
		at = place(c, m, wide, 1);
		ev_k(a, w ? V_PCOMPRESSQ : V_PCOMPRESSD, s, 0, rm_reg(1), 7, 1);
		j_site(c, step);
		ev_n(a, V_LL(w ? V_MOVQ_ST : V_MOVD_ST, 0), 1, 0, at, 0, 0, 0, w ? 8 : 4, 0);
		done = g_jmp(a);
		g_here(a, more);
	}
	j_site(c, step);
	ev_n(a, op, s, 0, m, 7, 0, 0, w ? 8 : 4, 0);
	if (done) {
		g_here(a, none);
		g_here(a, done);
	}
}
