/* SPDX-License-Identifier: MIT */
/*
 * Reductions, atomics whose result nobody reads, of which all lanes' places turn out to be one, as those of a sum are, or to lie side
 * by side, as the row of a table does whose gradient is summed up. Lanes of a row have different places, so one vector operation serves sixteen
 * of 32 bits or eight of 64 where no lock is needed; where one is, a compare-and-exchange of 64 bits serves two lanes, and each is atomic.
 * To one place values come together in a register: integers in any order, floats in the lanes' order, so that the sum is what the
 * interpreter makes of it.
 *
 * In: addresses, all of which have been looked at, and values in P; MXCSR as the sum wants it. Called by jit_atom.c; whatever
 * is neither goes to the code that follows, and nothing has been written then.
 */
#include "jit_mem.h"

#define MAX_NO 12

static bool sums_floats(const struct insn *in) { return type_is_float(in->type); }

static u32 operation(const struct insn *in)
{
	return !sums_floats(in) ? ja_vector_op(in) : in->dw ? V_ADDPD : V_ADDPS;
}

/* zmm 0 has sums: NaNs are the one that apply() in jit_atom.c makes. Overwrites k7. */
static void canonical(struct jcomp *c, const struct insn *in)
{
	if (in->type != T_F32)
		return;
	ev_i(&c->a, V_CMPPS, 7, 0, rm_reg(0), 0, 0, 3);
	ev_k(&c->a, V_MOVA32, 0, 0, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
}

/* In shared memory subnormals count: a generic sum there is not made at once. rdx: where. Returned: jumps, in no[]. */
static u32 unless_shared(struct jcomp *c, const struct insn *in, u32 *no)
{
	struct as *a = &c->a;

	if (!sums_floats(in) || in->space != SPACE_GENERIC || ja_sum_csr(in) == MXCSR_BASE)
		return 0;
	g_load(a, 1, RCX, rm_reg(RDX));
	g_alu(a, 1, G_SUB, RCX, PM(shared));
	g_alu(a, 1, G_CMP, RCX, PM(shared_total));
	no[0] = g_jcc(a, CC_B);
	return 1;
}

/* ---- one place ----------------------------------------------------------------------------------------------------------- */

/* The sum of all 32 lanes onto what is at rdx, one after the other. */
static void chain(struct jcomp *c, const struct insn *in, u32 step, bool held)
{
	u32 load = V_LL(in->dw ? V_MOVQ : V_MOVD, 0), store = V_LL(in->dw ? V_MOVQ_ST : V_MOVD_ST, 0), again, l;
	struct as *a = &c->a;
	u8 w = in->dw;

	ja_touch(c, step, false);
	g_load(a, w, RAX, rm_mem(RDX, 0));
	again = a->n;
	ev_n(a, load, 0, 0, rm_reg(RAX), 0, 0, 0, in->size, 0);
	for (l = 0; l < LANES; l++)
		ev_n(a, V_LL(w ? V_ADDSD : V_ADDSS, 0), 0, 0, rm_mem(RBX, (s32)(JA_VALUE + in->size * l)), 0, 0, 0, in->size, 0);
	canonical(c, in);
	ev_n(a, store, 0, 0, rm_reg(RCX), 0, 0, 0, in->size, 0);
	ja_touch(c, step, held);
	if (!held) {
		g_store(a, w, rm_mem(RDX, 0), RCX);
		return;
	}
	g_op(a, w, 0x1b1, RCX, rm_mem(RDX, 0), 0);      /* cmpxchg */
	g_land(a, g_jcc(a, CC_NE), again);
}

/* edx: the lanes that run, at least one. Of floats all have to. */
static u32 one_place(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step, bool held, u32 *no)
{
	struct as *a = &c->a;
	u32 n = 0, q;

	if (sums_floats(in)) {
		g_alui(a, 0, G_CMP, rm_reg(RDX), -1);
		no[n++] = g_jcc(a, CC_NE);
	}
	g_tzcnt(a, RCX, rm_reg(RDX));
	ev_n(a, V_PBCASTQ, 1, 0, rm_idx(RBX, RCX, 3, JP_LANES), 0, 0, 0, 8, 0);
	for (q = 0; q < 4 && !(x && x->v.cls == JC_UNI); q++) {
		ev_i(a, V_PCMPUQ, 7, 1, rm_mem(RBX, (s32)(JP_LANES + 64 * q)), jv_mask(c, 1, q), 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
	}
	if (!sums_floats(in)) {
		ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_mem(RBX, JP_LANES), 0, 0, 0, 8, 0);        /* lane 0 need not run */
		ja_together(c, in);
		ja_one(c, in, (struct ja_place){ 0, in->dw, held, false }, step);
		return n;
	}
	g_load(a, 1, RDX, rm_mem(RBX, JP_LANES));
	n += unless_shared(c, in, no + n);
	chain(c, in, step, held);
	return n;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------------- */

/* Jumps to no[] if the part's lanes that run do not lie side by side. */
static u32 is_row(struct jcomp *c, const struct insn *in, u32 part, u32 *no)
{
	u32 quads = in->dw ? 1 : 2, q, i;
	struct as *a = &c->a;
	u64 off[8];

	ev_n(a, V_PBCASTQ, 1, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * quads * part)), 0, 0, 0, 8, 0);
	for (q = 0; q < quads; q++) {
		for (i = 0; i < 8; i++)
			off[i] = (u64)(8 * q + i) * in->size;
		ev(a, V_PADDQ, 3, 1, rm_lit(j_lit(c, off, 64), 0));
		ev_i(a, V_PCMPUQ, 7, 3, rm_mem(RBX, (s32)(JP_LANES + 64 * (quads * part + q))), jv_mask(c, 1, quads * part + q), 0, 4);
		k_ortest(a, 7, 7);
		no[q] = g_jcc(a, CC_NE);
	}
	return quads;
}

/* A row from rdx on, by nobody else meanwhile. */
static void row(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct as *a = &c->a;
	int k = jv_mask(c, in->dw, part);

	j_site(c, step);
	ev_n(a, in->dw ? V_MOVU64 : V_MOVU32, 0, 0, rm_mem(RDX, 0), k, 1, 0, 64, 0);
	ev(a, operation(in), 0, 0, rm_mem(RBX, (s32)(JA_VALUE + 64 * part)));
	canonical(c, in);
	k = jv_mask(c, in->dw, part);
	j_site(c, step);
	ev_n(a, in->dw ? V_MOVU64_ST : V_MOVU32_ST, 0, 0, rm_mem(RDX, 0), k, 0, 0, 64, 0);
}

/* The same with others at it: two lanes at a time. All lanes run. */
static void pairs(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct as *a = &c->a;
	u32 i, again;

	for (i = 0; i < 64; i += 8) {
		ja_touch(c, step, false);
		g_load(a, 1, RAX, rm_mem(RDX, (s32)i));
		again = a->n;
		ev_n(a, V_LL(V_MOVQ, 0), 0, 0, rm_reg(RAX), 0, 0, 0, 8, 0);
		ev_n(a, V_LL(operation(in), 0), 0, 0, rm_mem(RBX, (s32)(JA_VALUE + 64 * part + i)), 0, 0, 0, 16, 0);
		canonical(c, in);
		ev_n(a, V_LL(V_MOVQ_ST, 0), 0, 0, rm_reg(RCX), 0, 0, 0, 8, 0);
		ja_touch(c, step, true);
		g_op(a, 1, 0x1b1, RCX, rm_mem(RDX, (s32)i), 0); /* cmpxchg */
		g_land(a, g_jcc(a, CC_NE), again);
	}
}

static u32 rows(struct jcomp *c, const struct insn *in, bool held, u32 *no)
{
	u32 parts = in->dw ? 4 : 2, lanes = LANES / parts, n = 0, p;
	struct as *a = &c->a;

	if (held) {
		g_alui(a, 0, G_CMP, rm_reg(RDX), -1);
		no[n++] = g_jcc(a, CC_NE);
	}
	for (p = 0; p < parts; p++)
		n += is_row(c, in, p, no + n);
	for (p = 0; p < parts; p++) {
		g_load(a, 1, RDX, rm_mem(RBX, (s32)(JP_LANES + 8 * lanes * p)));
		if (held) {
			g_testi(a, RDX, 7);
			no[n++] = g_jcc(a, CC_NE);
		}
		n += unless_shared(c, in, no + n);
	}
	return n;
}

u32 ja_at_once(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step, bool held, u32 *done)
{
	u32 no[MAX_NO], few, n, ways = 0, parts = in->dw ? 4 : 2, p;
	struct as *a = &c->a;

	if (in->o[0] != OPND_NONE || !operation(in))
		return 0;
	if (c->gk == 1)
		k_to(a, RDX, 5);
	else
		g_load(a, 0, RDX, PM(m));
	/* for one lane alone nothing is gained */
	g_lea(a, 0, RCX, rm_mem(RDX, -1));
	g_alu(a, 0, G_AND, RCX, rm_reg(RDX));
	few = g_jcc(a, CC_E);
	if (!x || x->v.cls == JC_UNI) {
		n = one_place(c, in, x, step, held, no);
		done[ways++] = g_jmp(a);
		while (n)
			g_here(a, no[--n]);
	}
	/* locks of 64 bits are what lanes of 64 bits have anyway */
	if ((!x || x->v.cls != JC_UNI) && !(held && in->dw)) {
		if (ways) {
			if (c->gk == 1)
				k_to(a, RDX, 5);
			else
				g_load(a, 0, RDX, PM(m));
		}
		n = rows(c, in, held, no);
		for (p = 0; p < parts; p++) {
			g_load(a, 1, RDX, rm_mem(RBX, (s32)(JP_LANES + 8 * (LANES / parts) * p)));
			if (held)
				pairs(c, in, p, step);
			else
				row(c, in, p, step);
		}
		done[ways++] = g_jmp(a);
		while (n)
			g_here(a, no[--n]);
	}
	g_here(a, few);
	return ways;
}
