/* SPDX-License-Identifier: MIT */
/*
 * Rows that only show when code runs: lanes whose addresses nobody knows beforehand, as tid.y times a parameter makes them, but
 * which lie side by side. One vector access serves sixteen of them (eight of 64 bits), where a gather or a scatter takes them one
 * by one. Called by jit_mem.c and jit_st.c, for global memory, before the code for lanes that are no row.
 */
#include "jit_mem.h"
#include "lanes.h"

#define MAX_NO 4

/* Are the part's lanes that run a row? Then rcx is where its first lane would be; if not, jumps no[] are taken. */
static u32 row(struct jcomp *c, const struct insn *in, u32 part, u32 *no)
{
	struct as *a = &c->a;
	u32 quads = in->dw ? 1 : 2, q, i, n = 0;
	u64 off[8];

	for (q = 0; q < quads; q++) {
		u32 at = part * quads + q;
		int x = jv_reg(c, in->o[4], 1, at, 0), k;

		if (!q)
			ev_n(a, V_PBCASTQ, 1, 0, rm_reg(x), 0, 0, 0, 8, 0);
		for (i = 0; i < 8; i++)
			off[i] = (u64)(8 * q + i) * in->size;
		ev(a, V_PADDQ, 2, 1, rm_lit(j_lit(c, off, 64), 0));
		k = jv_mask(c, 1, at);
		ev_i(a, V_PCMPUQ, 7, x, rm_reg(2), k, 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
	}
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	return n;
}

static bool may(const struct insn *in)
{
	return in->aw && !jm_window(in) && in->vec == 1 && in->o[0] != OPND_NONE && in->imm >= -(1 << 28) && in->imm <= 1 << 28;
}

/*
 * A part of a load into zmm t, extended. Returned: the jump behind the other way's code, which follows; 0: nothing emitted.
 * Only the first lane's address is checked; if it fails, each lane's is, over there.
 */
u32 jr_ld(struct jcomp *c, const struct insn *in, u32 part, u32 step, int t)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;
	u32 no[MAX_NO], n, done, bytes = in->dw ? 64 : 16 * in->size, op;
	int k;

	if (!may(in))
		return 0;
	op = in->dw ? V_MOVU64 : in->size == 4 ? V_MOVU32 : in->size == 2 ? (sg ? V_PMOVSXWD : V_PMOVZXWD) :
	     sg ? V_PMOVSXBD : V_PMOVZXBD;
	n = row(c, in, part, no);
	g_lea(a, 1, RDX, rm_mem(RCX, (s32)in->imm));
	g_alu(a, 1, G_SUB, RDX, PM(span_lo));
	g_alu(a, 1, G_CMP, RDX, PM(span_lim));
	no[n++] = g_jcc(a, CC_AE);
	if (in->size > 1) {
		g_testi(a, RDX, in->size - 1u);
		no[n++] = g_jcc(a, CC_NE);
	}
	k = jv_mask(c, in->dw, part);
	j_site(c, step);
	ev_n(a, op, t, 0, rm_mem(RCX, (s32)in->imm), k, 1, 0, bytes, 0);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* A part of a store, all of whose lanes have been checked. Returned: as of jr_ld. */
u32 jr_st(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct as *a = &c->a;
	u32 no[MAX_NO], n, done;
	int s, k;

	if (!may(in) || in->size < 4)
		return 0;
	n = row(c, in, part, no);
	s = jm_st_value(c, in, 0, part, 3);
	k = jv_mask(c, in->dw, part);
	j_site(c, step);
	ev_n(a, in->dw ? V_MOVU64_ST : V_MOVU32_ST, s, 0, rm_mem(RCX, (s32)in->imm), k, 0, 0, 64, 0);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}
