/* SPDX-License-Identifier: MIT */
/*
 * Vectors of 8 or 16 bytes a lane at places that neither rows nor windows serve: padded tiles, columns of a matrix, structures far apart.
 * Each lane's is one load or store, and rows become columns, or columns rows, by shuffles within the 16 bytes that four lanes' elements
 * then fill. All lanes run. Called by jit_mem.c and jit_st.c.
 *
 *     zmm j, 16 bytes s: lane 4s + j        a b c d        a a a a   lanes 4s .. 4s + 3, in their order
 *                                           a b c d  ───►  b b b b
 *                                           a b c d        c c c c
 *                                           a b c d        d d d d
 */
#include "jit_mem.h"

static struct rm place(const struct acc *x, u32 l) { return rm_mem(x->base, x->disp + x->pat[l]); }

/* Sixteen lanes' rows of four dwords are in zmm 0..3: the columns into the destinations. */
static void columns(struct jcomp *c, const struct insn *in, u32 p, bool both)
{
	static const u8 from[4][3] = { { 4, 6, 0 }, { 4, 6, 1 }, { 5, 3, 0 }, { 5, 3, 1 } };
	struct as *a = &c->a;
	u32 e;

	ev(a, V_UNPCKLPS, 4, 0, rm_reg(1));
	ev(a, V_UNPCKHPS, 5, 0, rm_reg(1));
	ev(a, V_UNPCKLPS, 6, 2, rm_reg(3));
	ev(a, V_UNPCKHPS, 3, 2, rm_reg(3));
	for (e = 0; e < 4; e++) {
		int t;

		if (in->o[e] == OPND_NONE)
			continue;
		t = jv_dst(c, in->o[e], p, 0);
		ev(a, from[e][2] ? V_UNPCKHPD : V_UNPCKLPD, t, from[e][0], rm_reg(from[e][1]));
		jv_put(c, in->o[e], p, t);
		if (both)
			jv_put(c, in->o[e], 1, t);
	}
}

static void ld_quad(struct jcomp *c, const struct insn *in, const struct acc *x, u32 p, bool both)
{
	struct as *a = &c->a;
	u32 j, s;

	for (j = 0; j < 4; j++)
		for (s = 0; s < 4; s++) {
			j_site(c, x->step);
			if (!s) {
				ev_n(a, V_LL(V_MOVU32, 0), (int)j, 0, place(x, 16 * p + j), 0, 0, 0, 16, 0);
				continue;
			}
			ev_n(a, V_INSERT32X4, (int)j, (int)j, place(x, 16 * p + 4 * s + j), 0, 0, 0, 16, 1);
			b1(a, s);
		}
	columns(c, in, p, both);
}

/* zmm h, 16 bytes s: lanes 4s + 2h and the next one */
static void ld_pair(struct jcomp *c, const struct insn *in, const struct acc *x, u32 p, bool both)
{
	struct as *a = &c->a;
	u32 h, s, e;

	for (h = 0; h < 2; h++)
		for (s = 0; s < 4; s++) {
			u32 l = 16 * p + 4 * s + 2 * h;
			int t = s ? 2 : (int)h;

			j_site(c, x->step);
			ev_n(a, V_LL(V_MOVQ, 0), t, 0, place(x, l), 0, 0, 0, 8, 0);
			j_site(c, x->step);
			ev_n(a, V_LL(V_MOVHPS, 0), t, t, place(x, l + 1), 0, 0, 0, 8, 0);
			if (s)
				ev_i(a, V_INSERT32X4, (int)h, (int)h, rm_reg(2), 0, 0, s);
		}
	for (e = 0; e < 2; e++) {
		int t;

		if (in->o[e] == OPND_NONE)
			continue;
		t = jv_dst(c, in->o[e], p, 3);
		ev_i(a, V_SHUFPS, t, 0, rm_reg(1), 0, 0, e ? 0xdd : 0x88);
		jv_put(c, in->o[e], p, t);
		if (both)
			jv_put(c, in->o[e], 1, t);
	}
}

/* Two or four dwords a lane. False: nothing emitted. */
bool jp_ld(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	bool same = jm_same_parts(x);
	u32 p;

	if (in->dw || in->size != 4 || (in->vec != 2 && in->vec != 4))
		return false;
	for (p = 0; p < (same ? 1u : 2u); p++)
		(in->vec == 4 ? ld_quad : ld_pair)(c, in, x, p, same);
	return true;
}

/* Lanes in order: where two of them store to one place, the last one wins. */
bool jp_st(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, i, j, s;
	int r[4];

	if (in->dw || in->size != 4 || (in->vec != 2 && in->vec != 4))
		return false;
	for (p = 0; p < 2; p++) {
		for (i = 0; i < in->vec; i++)
			r[i] = jv_obs(c, in->o[i], 0, p, (int)i);
		ev(a, V_UNPCKLPS, 4, r[0], rm_reg(r[1]));
		ev(a, V_UNPCKHPS, 5, r[0], rm_reg(r[1]));
		if (in->vec == 2) {
			for (s = 0; s < 4; s++)
				for (j = 0; j < 4; j++) {
					int t = 4 + (int)(j / 2);

					if (s && !(j & 1))
						ev_i(a, V_SHUF32X4, t == 4 ? 0 : 1, t, rm_reg(t), 0, 0, s);
					j_site(c, x->step);
					ev_n(a, V_LL(j & 1 ? V_MOVHPS_ST : V_MOVLPS_ST, 0), s ? t - 4 : t, 0, place(x, 16 * p + 4 * s + j), 0, 0, 0, 8, 0);
				}
			continue;
		}
		ev(a, V_UNPCKLPS, 6, r[2], rm_reg(r[3]));
		ev(a, V_UNPCKHPS, 3, r[2], rm_reg(r[3]));
		ev(a, V_UNPCKLPD, 0, 4, rm_reg(6));
		ev(a, V_UNPCKHPD, 1, 4, rm_reg(6));
		ev(a, V_UNPCKLPD, 2, 5, rm_reg(3));
		ev(a, V_UNPCKHPD, 3, 5, rm_reg(3));
		for (s = 0; s < 4; s++)
			for (j = 0; j < 4; j++) {
				j_site(c, x->step);
				ev_n(a, V_EXTRACT32X4, (int)j, 0, place(x, 16 * p + 4 * s + j), 0, 0, 0, 16, 1);
				b1(a, s);
			}
	}
	return true;
}
