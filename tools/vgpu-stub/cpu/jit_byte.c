/* SPDX-License-Identifier: MIT */
/*
 * Stores of one or two bytes a lane at places that are not known to be a row: there is no scatter for these. Lanes whose places are known are
 * stored straight out of the register, others one after the other from P, unless they turn out to be a row. Called by jit_st.c.
 */
#include "jit_mem.h"
#include "lanes.h"

static u32 lane_bytes(const struct insn *in) { return (u32)in->size * in->vec; }

/* What the part's lanes store, in the low bits of their dwords; two bytes of a lane side by side. */
static int value(struct jcomp *c, const struct insn *in, u32 part, int tmp)
{
	struct as *a = &c->a;
	int x = jv_obs(c, in->o[0], 0, part, tmp);

	if (in->vec == 1)
		return x;
	ev_i(a, V_PSHID, 6, tmp, rm_reg(x), 0, 0, 24);
	ev_i(a, V_PSHID, 2, tmp, rm_reg(tmp), 0, 0, 24);
	x = jv_obs(c, in->o[1], 0, part, 5);
	ev_i(a, V_PSHID, 6, 5, rm_reg(x), 0, 0, 8);
	ev(a, V_PORD, tmp, tmp, rm_reg(5));
	return tmp;
}

/* Where vector instructions store: at base + disp, the part's lanes side by side. */
static void row(struct jcomp *c, const struct insn *in, u32 step, int base, s32 disp)
{
	u32 bytes = lane_bytes(in), p;

	for (p = 0; p < 2; p++) {
		int s = value(c, in, p, 0), k = jv_mask(c, 0, p);

		j_site(c, step);
		ev_n(&c->a, bytes == 2 ? V_PMOVDW : V_PMOVDB, s, 0, rm_mem(base, disp + (s32)(16 * bytes * p)), k, 0, 0, 16 * bytes, 0);
	}
}

/* All lanes run, in order: where two of them store to one place, the last one wins. */
static void known(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 bytes = lane_bytes(in), p, l;

	for (p = 0; p < 2; p++) {
		int s = value(c, in, p, 0);

		for (l = 0; l < 16; l++) {
			if (l && l % 4 == 0)
				ev_i(a, V_SHUF32X4, 1, s, rm_reg(s), 0, 0, l / 4);
			j_site(c, x->step);
			ev_n(a, V_LL(bytes == 2 ? V_PEXTRW : V_PEXTRB, 0), l < 4 ? s : 1, 0, rm_mem(x->base, x->disp + x->pat[16 * p + l]), 0, 0, 0,
			     bytes, 1);
			b1(a, l % 4 * (4 / bytes));
		}
	}
}

/* Lanes that run, in order, their places in P. */
static void each(struct jcomp *c, const struct insn *in, u32 step)
{
	struct as *a = &c->a;
	u32 p, top;

	for (p = 0; p < 2; p++)
		ev(a, V_MOVA32_ST, value(c, in, p, 0), 0, rm_mem(RBX, (s32)(JP_WIDE + 64 * p)));
	top = jw_lanes(c);
	g_load(a, 0, RCX, rm_idx(RBX, RCX, 2, JP_WIDE));
	as_room(a, 16);
	j_site(c, step);
	if (lane_bytes(in) == 2) {
		b1(a, 0x66);
		g_op(a, 0, 0x89, RCX, rm_mem(RAX, 0), 0);
	} else {
		g_op(a, 0, 0x88, RCX, rm_mem(RAX, 0), 0);
	}
	jw_next_lane(c, top);
}

/* Do varying addresses of 64 bits turn out to be a row? Then it is stored; the jumps no[] are for those that do not. */
static u32 perhaps_row(struct jcomp *c, const struct insn *in, u32 step, u32 *no)
{
	struct as *a = &c->a;
	u32 bytes = lane_bytes(in), n = 0, q, i;
	u64 off[8];
	int k;

	for (q = 0; q < 4; q++) {
		int x = jv_reg(c, in->o[4], 1, q, 0);

		if (!q)
			ev_n(a, V_PBCASTQ, 1, 0, rm_reg(x), 0, 0, 0, 8, 0);
		for (i = 0; i < 8; i++)
			off[i] = (u64)(8 * q + i) * bytes;
		ev(a, V_PADDQ, 2, 1, rm_lit(j_lit(c, off, 64), 0));
		k = jv_mask(c, 1, q);
		ev_i(a, V_PCMPUQ, 7, x, rm_reg(2), k, 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
	}
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RAX), 0, 0, 0, 4, 0);
	g_lea(a, 1, RCX, rm_mem(RAX, (s32)in->imm));
	g_alu(a, 1, G_SUB, RCX, PM(span_lo));
	g_alu(a, 1, G_CMP, RCX, PM(span_lim));
	no[n++] = g_jcc(a, CC_AE);
	if (bytes > 1) {
		g_testi(a, RCX, bytes - 1u);
		no[n++] = g_jcc(a, CC_NE);
	}
	row(c, in, step, RAX, (s32)in->imm);
	return n;
}

bool jb_st(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 no[6], n = 0, some = 0, done = 0, step = x ? x->step : j_exit(c, JX_STEP, c->pc, 0);

	if (lane_bytes(in) > 2 || in->dw)
		return false;
	if (!x && (jit_val(c, in->o[4], in->aw).cls != JC_VARY || (!in->aw && !jm_window(in))))
		return false;
	if (x && x->v.cls != JC_UNI && jm_is_row(x)) {
		row(c, in, step, x->base, x->disp);
		return true;
	}
	if (x && !c->gk) {
		some = jm_unless_all(c);
		known(c, in, x);
		done = g_jmp(a);
		g_here(a, some);
	}
	if (!x && !jm_window(in) && in->imm >= -(1 << 28) && in->imm <= 1 << 28) {
		n = perhaps_row(c, in, step, no);
		done = g_jmp(a);
		while (n)
			g_here(a, no[--n]);
	}
	if (!jm_addresses(c, in, x, step))
		return false;
	each(c, in, step);
	if (done)
		g_here(a, done);
	return true;
}
