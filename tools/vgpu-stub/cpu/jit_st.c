/* SPDX-License-Identifier: MIT */
/*
 * Stores. jit_mem.c says how addresses are checked and what happens when they fail. Called by jit.c, one instruction at a time.
 */
#include "jit_mem.h"
#include "lanes.h"

static bool st_row(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, i, idx[16], op, n;
	int s, t;

	if (in->vec == 1) {
		if (in->dw != (in->size == 8))
			return false;
		op = in->size == 8 ? V_MOVU64_ST : in->size == 4 ? V_MOVU32_ST : in->size == 2 ? V_PMOVDW : V_PMOVDB;
		n = in->size == 8 ? 64 : 16 * in->size;
		for (p = 0; p < (in->dw ? 4u : 2u); p++) {
			int k;

			s = jv_obs(c, in->o[0], in->dw, p, 0);
			k = jv_mask(c, in->dw, p);
			j_site(c, x->step);
			ev_n(a, op, s, 0, rm_mem(RAX, x->disp + (s32)(n * p)), k, 0, 0, n, 0);
		}
		return true;
	}
	if (in->size != 4 || in->dw || in->vec != 2)
		return false;
	for (p = 0; p < 4; p++) {
		s = jv_obs(c, in->o[0], 0, p / 2, 0);
		t = jv_obs(c, in->o[1], 0, p / 2, 1);
		for (i = 0; i < 16; i++)
			idx[i] = (i & 1) * 16 + (p & 1) * 8 + i / 2;
		ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, idx, 64), 0));
		ev(a, V_PERMI2D, 2, s, rm_reg(t));
		t = jv_mask(c, 1, p);
		j_site(c, x->step);
		ev_n(a, V_MOVU64_ST, 2, 0, rm_mem(RAX, x->disp + (s32)(64 * p)), t, 0, 0, 64, 0);
	}
	return true;
}

/* 16 bytes a lane in a row, all lanes running */
static void st_quads(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, i, g, idx[16];
	u64 qi[8];

	for (p = 0; p < 2; p++) {
		int r[4];

		for (i = 0; i < 4; i++)
			r[i] = jv_obs(c, in->o[i], 0, p, (int)i);
		for (g = 0; g < 4; g++) {
			/* lanes 4g .. 4g+3: a b a b ... and c d c d ..., then as pairs */
			for (i = 0; i < 16; i++)
				idx[i] = (i & 1) * 16 + g * 4 + (i / 2 & 3);
			ev(a, V_MOVA32, 4, 0, rm_lit(j_lit(c, idx, 64), 0));
			ev(a, V_MOVA32, 5, 0, rm_reg(4));
			ev(a, V_PERMI2D, 4, r[0], rm_reg(r[1]));
			ev(a, V_PERMI2D, 5, r[2], rm_reg(r[3]));
			for (i = 0; i < 8; i++)
				qi[i] = (i & 1) * 8 + i / 2;
			ev(a, V_MOVA64, 6, 0, rm_lit(j_lit(c, qi, 64), 0));
			ev(a, V_PERMI2Q, 6, 4, rm_reg(5));
			j_site(c, x->step);
			ev_n(a, V_MOVU32_ST, 6, 0, rm_mem(RAX, x->disp + (s32)(256 * p + 64 * g)), 0, 0, 0, 64, 0);
		}
	}
}

bool jit_st(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct acc x;
	u32 p, e, step;
	int s;

	if (in->space == SPACE_LOCAL || in->space == SPACE_PARAM || (in->dw ? in->size != 8 : in->size > 4))
		return false;
	if (jm_addr(c, in, &x)) {
		if (jm_is_row(&x) && st_row(c, in, &x))
			return true;
		if (jm_is_row(&x) && in->vec == 4 && in->size == 4 && !c->gk) {
			g_alui(a, 0, G_CMP, PM(m), -1);
			j_leave_if(c, CC_NE, x.step);
			st_quads(c, in, &x);
			return true;
		}
		if (in->size < 4)
			return false;
		/* lanes in order: where several write one address, the last one wins; elements one by one */
		if (in->vec > 1 && x.v.cls == JC_UNI)
			return false;
		for (e = 0; e < in->vec; e++)
			for (p = 0; p < (in->dw ? 4u : 2u); p++) {
				s32 off[16] = { 0 };

				memcpy(off, x.pat + (in->dw ? 8 : 16) * p, in->dw ? 32 : 64);
				ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, off, 64), 0));
				s = jv_obs(c, in->o[e], in->dw, p, 0);
				k_mov(a, 7, jv_mask(c, in->dw, p));
				j_site(c, x.step);
				ev_n(a, in->dw ? V_SCATTERDQ : V_SCATTERDD, s, 0, rm_vidx(RAX, 2, 0, x.disp + (s32)(e * in->size)), 7, 0, 0,
				     in->dw ? 8 : 4, 0);
			}
		return true;
	}
	if (jit_val(c, in->o[4], in->aw).cls != JC_VARY || in->vec > 1 || in->size < 4)
		return false;
	if (in->space != SPACE_SHARED && !in->aw)
		return false;
	if (!in->aw && in->dw)
		return false;
	step = j_exit(c, JX_STEP, c->pc, 0);
	if (in->space == SPACE_SHARED)
		jm_shared_limit(c, in, step);
	else
		g_movi(a, RAX, 0);
	for (p = 0; p < (in->aw ? 4u : 2u); p++) {
		if (in->aw)
			jm_vary64(c, in, p, step);
		else
			jm_vary32(c, in, p, step);
		if (in->aw && !in->dw) {
			s = jv_obs(c, in->o[0], 0, p / 2, 3);
			if (p & 1) {
				ev_i(a, V_EXTRACT64X4, s, 0, rm_reg(4), 0, 0, 1);
				s = 4;
			}
			/* jv_canon may have used k7 */
			k_mov(a, 7, jv_mask(c, 1, p));
			j_site(c, step);
			ev_n(a, V_SCATTERQD, s, 0, rm_vidx(RAX, 0, 0, 0), 7, 0, 0, 4, 0);
		} else {
			s = jv_obs(c, in->o[0], in->dw, p, 3);
			k_mov(a, 7, jv_mask(c, in->aw, p));
			j_site(c, step);
			ev_n(a, in->dw ? V_SCATTERQQ : V_SCATTERDD, s, 0, rm_vidx(RAX, 0, 0, 0), 7, 0, 0, in->dw ? 8 : 4, 0);
		}
	}
	return true;
}
