/* SPDX-License-Identifier: MIT */
/*
 * Vector accesses of global memory that no vector instruction serves for all lanes: one access of 8 or 16 bytes a thread, as
 * the hardware does them (mem.c says who relies on it). A gather or scatter of their elements would tear: another worker's
 * store may come between two of its loads. Lanes' addresses and values stand in P, and a loop over the lanes that run
 * moves each with one instruction. Called by jit_mem.c and jit_st.c.
 *
 * A block has one worker, so its shared and local memory need none of this; merged loads promise no more than their elements. Elements of
 * 64 bits there, of which a gather takes eight at once and not the vector, go this way because it is the faster one.
 */
#include "jit_mem.h"
#include "lanes.h"

bool jw_wide(const struct insn *in)
{
	return in->vec > 1 && !jm_window(in) && !jm_merged(in);
}

/* Of a uniform or a pattern, which has been checked. */
void jw_addresses(struct jcomp *c, const struct acc *x)
{
	struct as *a = &c->a;
	u32 q, i;

	ev(a, V_PBCASTQ_R, 1, 0, rm_reg(x->base));
	for (q = 0; q < 4; q++) {
		u64 off[8];

		for (i = 0; i < 8; i++)
			off[i] = (u64)(s64)(x->disp + x->pat[8 * q + i]);
		ev(a, V_PADDQ, 0, 1, rm_lit(j_lit(c, off, 64), 0));
		ev(a, V_MOVA64_ST, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
	}
}

/* Addresses into P: of a pattern, or (x NULL) varying ones, which are checked. False: not this way. */
static bool addresses(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 q, step;

	if (!x && jm_window(in))
		return jm_addresses(c, in, NULL, j_exit(c, JX_STEP, c->pc, 0));
	if (!x) {
		step = j_exit(c, JX_STEP, c->pc, 0);
		if (!jm_vary_base(c, in, step))
			return false;
		for (q = 0; q < 4; q++) {
			jm_vary64(c, in, q, step, JM_CHECK | JM_ADDRESS);
			ev(a, V_MOVA64_ST, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
		}
		return true;
	}
	jw_addresses(c, x);
	return true;
}

u32 jw_lanes(struct jcomp *c)
{
	struct as *a = &c->a;
	u32 top;

	if (c->gk == 1)
		k_to(a, RDX, 5);
	else
		g_load(a, 0, RDX, PM(m));
	top = a->n;
	g_tzcnt(a, RCX, rm_reg(RDX));
	g_load(a, 1, RAX, rm_idx(RBX, RCX, 3, JP_LANES));
	return top;
}

void jw_next_lane(struct jcomp *c, u32 top)
{
	struct as *a = &c->a;

	g_lea(a, 1, RAX, rm_mem(RDX, -1));
	g_alu(a, 0, G_AND, RDX, rm_reg(RAX));
	g_land(a, g_jcc(a, CC_NE), top);
}

/* For each lane that runs, in order: so the last one wins where several store to one place. */
static void each_lane(struct jcomp *c, bool store, u32 bytes, u32 step)
{
	struct as *a = &c->a;
	struct rm value = bytes == 16 ? rm_idx(RBX, RCX, 0, JP_WIDE) : rm_idx(RBX, RCX, 3, JP_WIDE);
	u32 top = jw_lanes(c), op;

	if (bytes == 16)
		g_shi(a, 0, G_SHL, RCX, 4);
	op = bytes == 16 ? V_LL(V_MOVU32, 0) : V_LL(V_MOVQ, 0);
	if (!store)
		j_site(c, step);
	ev_n(a, op, 5, 0, store ? value : rm_mem(RAX, 0), 0, 0, 0, bytes, 0);
	op = bytes == 16 ? V_LL(V_MOVU32_ST, 0) : V_LL(V_MOVQ_ST, 0);
	if (store)
		j_site(c, step);
	ev_n(a, op, 5, 0, store ? rm_mem(RAX, 0) : value, 0, 0, 0, bytes, 0);
	jw_next_lane(c, top);
}

static struct rm value(u32 off) { return rm_mem(RBX, (s32)(JP_WIDE + off)); }

/* Results are in place, or are not loaded this way: false. */
bool jw_ld(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, p, e, i;
	u64 idx[8];

	if (bytes < 8 || (in->dw && in->size != 8))
		return false;
	if (!addresses(c, in, x))
		return false;
	each_lane(c, false, bytes, x ? x->step : j_exit(c, JX_STEP, c->pc, 0));
	if (bytes == 8 && in->dw) {
		for (p = 0; p < 4; p++) {
			ev(a, V_MOVA64, 0, 0, value(64 * p));
			jv_put(c, in->o[0], p, 0);
		}
		return true;
	}
	if (bytes == 8) {
		for (p = 0; p < 4; p++)
			ev(a, V_MOVA64, (int)p, 0, value(64 * p));
		jm_split64(c, in);
		return true;
	}
	if (!in->dw) {
		for (p = 0; p < 2; p++) {
			for (i = 0; i < 4; i++)
				ev(a, V_MOVA32, (int)i, 0, value(256 * p + 64 * i));
			jm_split128(c, in, p, false);
		}
		return true;
	}
	for (p = 0; p < 4; p++)
		for (e = 0; e < 2; e++) {
			int t;

			if (in->o[e] == OPND_NONE)
				continue;
			t = jv_dst(c, in->o[e], p, 4);
			for (i = 0; i < 8; i++)
				idx[i] = 2 * i + e;
			ev(a, V_MOVA64, 0, 0, value(128 * p));
			ev(a, V_MOVA64, t, 0, rm_lit(j_lit(c, idx, 64), 0));
			ev(a, V_PERMI2Q, t, 0, value(128 * p + 64));
			jv_put(c, in->o[e], p, t);
		}
	return true;
}

/* A uniform address: one load into zmm 3 or rcx, then its elements (jm_put_uniform() needs zmm 0). */
void jw_ld_one(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, e;
	bool sg = in->flags & INF_SIGNED;

	j_site(c, x->step);
	if (bytes == 16)
		ev_n(a, V_LL(V_MOVU32, 0), 5, 0, rm_mem(x->base, x->disp), 0, 0, 0, 16, 0);
	else if (bytes == 2)
		g_movx(a, 0, 0, 2, RCX, rm_mem(x->base, x->disp));
	else
		g_load(a, bytes == 8, RCX, rm_mem(x->base, x->disp));
	for (e = 0; e < in->vec; e++) {
		if (in->o[e] == OPND_NONE)
			continue;
		if (bytes == 16) {
			ev_n(a, V_LL(in->size == 8 ? V_PEXTRQ : V_PEXTRD, 0), 5, 0, rm_reg(RDX), 0, 0, 0, in->size, 1);
			b1(a, e);
		} else {
			g_load(a, 1, RDX, rm_reg(RCX));
			if (e)
				g_shi(a, 1, G_SHR, RDX, 8 * in->size * e);
		}
		if (in->size < 4)
			g_movx(a, in->dw && sg, sg, in->size, RDX, rm_reg(RDX));
		else if (in->size == 4 && in->dw && sg)
			g_movsxd(a, RDX, rm_reg(RDX));
		else if (in->size == 4)
			g_load(a, 0, RDX, rm_reg(RDX));
		jm_put_uniform(c, in->o[e], RDX);
	}
}

/* Values into P, side by side for each lane. */
static void values(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p, g, i, idx[16];
	u64 qi[8];

	if (in->dw && in->vec == 1) {
		for (p = 0; p < 4; p++)
			ev(a, V_MOVA64_ST, jm_st_value(c, in, 0, p, 0), 0, value(64 * p));
		return;
	}
	if (in->dw || in->vec == 2 || in->size < 4) {
		/* two units a lane */
		for (p = 0; p < 4; p++) {
			u32 part = in->dw ? p : p / 2;
			int s = jm_st_value(c, in, 0, part, 0), t = jm_st_value(c, in, 1, part, 1);

			for (g = 0; in->dw && g < 2; g++) {
				for (i = 0; i < 8; i++)
					qi[i] = (i & 1) * 8 + g * 4 + i / 2;
				ev(a, V_MOVA64, 2, 0, rm_lit(j_lit(c, qi, 64), 0));
				ev(a, V_PERMI2Q, 2, s, rm_reg(t));
				ev(a, V_MOVA64_ST, 2, 0, value(128 * p + 64 * g));
			}
			if (in->dw)
				continue;
			for (i = 0; i < 16; i++)
				idx[i] = (i & 1) * 16 + (p & 1) * 8 + i / 2;
			ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, idx, 64), 0));
			ev(a, V_PERMI2D, 2, s, rm_reg(t));
			ev(a, V_MOVA32_ST, 2, 0, value(64 * p));
		}
		return;
	}
	for (p = 0; p < 2; p++) {
		int r[4];

		for (i = 0; i < 4; i++)
			r[i] = jv_obs(c, in->o[i], 0, p, (int)i);
		for (g = 0; g < 4; g++)
			ev(a, V_MOVA32_ST, jm_quad(c, r, g), 0, value(256 * p + 64 * g));
	}
}

bool jw_st(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	u32 bytes = (u32)in->size * in->vec;

	if (bytes < 8 || (in->dw && in->size != 8))
		return false;
	if (!addresses(c, in, x))
		return false;
	values(c, in);
	each_lane(c, true, bytes, x ? x->step : j_exit(c, JX_STEP, c->pc, 0));
	return true;
}

/* All lanes store to one place: its elements stand in P. */
void jw_st_one(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec;

	if (bytes == 16)
		ev_n(a, V_LL(V_MOVU32, 0), 0, 0, value(0), 0, 0, 0, 16, 0);
	else
		g_load(a, bytes == 8, RCX, value(0));
	j_site(c, x->step);
	if (bytes == 16)
		ev_n(a, V_LL(V_MOVU32_ST, 0), 0, 0, rm_mem(x->base, x->disp), 0, 0, 0, 16, 0);
	else
		g_store(a, bytes == 8, rm_mem(x->base, x->disp), RCX);
}
