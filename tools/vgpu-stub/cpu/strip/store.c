/* SPDX-License-Identifier: MIT */
/* Stores of a strip; addresses as in mem.c. */
#include "mem.h"
#include "vex.h"

static void store_gpr(struct scomp *c, u32 size, struct rm m, int gpr)
{
	struct as *a = &c->a;

	if (size == 2) {
		as_room(a, 16);
		b1(a, 0x66);
	}
	g_op(a, size == 8, size == 1 ? 0x88 : 0x89, gpr, m, 0);
}

/* Lanes next to each other; false: not of a kind that is done so */
static bool store_row(struct scomp *c, const struct insn *in, struct sval v)
{
	struct as *a = &c->a;
	u32 part, over;
	struct rm m;
	int x, y;

	if (in->vec > 1 || (in->size == 8) != in->dw)
		return false;
	if (in->size == 8) {
		x = sv(c, in->o[0], 1, 0, 0);
		y = sv(c, in->o[0], 1, 1, 1);
		m = s_row_address(c, in, v);
		s_mask_bits(c, RDX);
		g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
		part = g_jcc(a, CC_NE);
		s_site(c);
		vy(a, X_MOVU_ST, x, 0, m);
		s_site(c);
		vy(a, X_MOVU_ST, y, 0, s_off(m, 32));
		over = g_jmp(a);
		g_here(a, part);
		s_wide_mask(c, s_mask(c), 2, 3);
		s_site(c);
		vy(a, X_MASKMOVQ_ST, x, 2, m);
		s_site(c);
		vy(a, X_MASKMOVQ_ST, y, 3, s_off(m, 32));
		g_here(a, over);
		return true;
	}
	x = sv_obs(c, in->o[0], 0, 0, 0);
	if (in->size == 4) {
		m = s_row_address(c, in, v);
		s_mask_bits(c, RDX);
		g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
		part = g_jcc(a, CC_NE);
		s_site(c);
		vy(a, X_MOVU_ST, x, 0, m);
		over = g_jmp(a);
		g_here(a, part);
		s_site(c);
		vy(a, X_MASKMOVD_ST, x, s_mask(c), m);
		g_here(a, over);
		return true;
	}
	vy(a, X_PAND, 0, x, s_splat32(c, in->size == 2 ? 0xffff : 0xff));
	vr(a, X_PACKUSDW, 0, 0, 0);
	vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0x08);
	m = s_row_address(c, in, v);
	s_mask_bits(c, RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
	s_slow_if(c, CC_NE);
	if (in->size == 1) {
		vx_x(a, X_PACKUSWB, 0, 0, rm_reg(0));
		s_site(c);
		vx_x(a, VOP(1, 1, 0, 0xd6), 0, 0, m);      /* vmovq */
	} else {
		s_site(c);
		vx_x(a, X_MOVU_ST, 0, 0, m);
	}
	return true;
}

/* Word k of a vector of elements below 32 bits: a thread's vector is one access. */
static int word_of(struct scomp *c, const struct insn *in, u32 k)
{
	struct as *a = &c->a;
	u32 bits = 8u * in->size, per = 32 / bits, e;

	for (e = 0; e < per && k * per + e < in->vec; e++) {
		int d = e ? 1 : 0, x = sv_obs(c, in->o[k * per + e], 0, 0, d);

		if (e + 1 < per) {
			vy(a, X_PAND, d, x, s_splat32(c, (1u << bits) - 1));
			x = d;
		}
		if (e) {
			vy(a, X_PSLLVD, 1, x, s_splat32(c, bits * e));
			vr(a, X_POR, 0, 0, 1);
		}
	}
	return 0;
}

static bool store_lanes(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool narrow = in->vec > 1 && in->size < 4;
	u32 bytes = (u32)in->size * in->vec, n = narrow ? (bytes + 3) / 4 : in->vec, no[S_NO_ROW], nno, done = 0, top, v, p;

	if (in->vec > 1 && (in->dw ? in->size != 8 || in->vec != 2 : in->size > 4))
		return false;
	if (in->vec == 1 && in->size == 8 && !in->dw)
		return false;
	if (s_may_be_row(c, in)) {
		int x = sv_obs(c, in->o[0], 0, 0, 0);
		struct rm m = s_run_row(c, in, no, &nno);

		s_site(c);
		vy(a, X_MASKMOVD_ST, x, s_mask(c), m);
		done = g_jmp(a);
		while (nno)
			g_here(a, no[--nno]);
	}
	s_lane_addresses(c, in);
	s_store_addresses(c);
	for (v = 0; v < n; v++)
		for (p = 0; p < (in->dw ? 2u : 1u); p++) {
			int x = narrow ? word_of(c, in, v) : in->dw ? sv(c, in->o[v], 1, p, 0) : sv_obs(c, in->o[v], 0, 0, 0);

			vy(a, X_MOVU_ST, x, 0, s_mem_lanes_at(L_ROWS + (in->dw ? 64 : 32) * v + 32 * p));
		}
	top = s_each_lane(c);
	if (n == 1) {
		g_load(a, in->dw, R11, s_mem_lanes_of(L_ROWS, RCX, in->dw ? 3 : 2));
		s_site(c);
		store_gpr(c, bytes, rm_mem(RAX, 0), R11);
	} else if (in->size == 8) {
		vx_x(a, VOP(2, 1, 0, 0x7e), 0, 0, s_mem_lanes_of(L_ROWS, RCX, 3));     /* vmovq */
		vx(a, X_PINSRQ, 0, 0, 0, s_mem_lanes_of(L_ROWS + 64, RCX, 3), 1);
		b1(a, 1);
		s_site(c);
		vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
	} else {
		vx_x(a, X_MOVD, 0, 0, s_mem_lanes_of(L_ROWS, RCX, 2));
		for (v = 1; v < n; v++) {
			vx(a, X_PINSRD, 0, 0, 0, s_mem_lanes_of(L_ROWS + 32 * v, RCX, 2), 1);
			b1(a, v);
		}
		s_site(c);
		if (bytes == 16)
			vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
		else
			vx_x(a, VOP(1, 1, 0, 0xd6), 0, 0, rm_mem(RAX, 0));
	}
	s_next_lane(c, top);
	if (done)
		g_here(a, done);
	return true;
}

bool s_st(struct scomp *c, const struct insn *in)
{
	struct sval v, x;

	if (!s_can_be(c, in))
		return false;
	if (in->space == SPACE_LOCAL)
		return store_lanes(c, in);
	if (s_mem_row(c, in, &v) && v.pat && s_linear(c, v, (s32)in->size) && in->vec == 1 && (in->size == 8) == in->dw)
		return store_row(c, in, v);
	x = s_val(c, in->o[0], in->dw);
	if (s_mem_row(c, in, &v) && !v.pat && in->vec == 1 && x.cls == SC_SCALAR && !x.pat) {
		struct rm m = s_row_address(c, in, v);

		s_to_gpr(c, in->o[0], in->dw, R11);
		s_site(c);
		store_gpr(c, in->size, m, R11);
		return true;
	}
	return store_lanes(c, in);
}
