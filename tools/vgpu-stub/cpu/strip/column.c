/* SPDX-License-Identifier: MIT */
/* What lanes load at known distances from one address: rows that are turned into columns, elements that are put together. Called by mem.c and pair.c. */
#include "mem.h"
#include "vex.h"

/* Four rows of 8 bytes in ymm r, ymm tmp is lost. */
void s_mem_rows(struct scomp *c, struct rm m, const s32 *at, int r, int tmp, bool sites)
{
	struct as *a = &c->a;
	s32 base = m.disp;
	u32 i;

	if (at[1] - at[0] == 8 && at[2] - at[0] == 16 && at[3] - at[0] == 24) {
		m.disp = base + at[0];
		if (sites)
			s_site(c);
		vy(a, X_MOVU, r, 0, m);
		return;
	}
	for (i = 0; i < 4; i++) {
		int d = i < 2 ? r : tmp;

		m.disp = base + at[i];
		if (sites)
			s_site(c);
		if (i & 1)
			vx(a, X_MOVHPS, 0, d, d, m, 0);
		else
			vx_x(a, X_MOVQ_LD, d, 0, m);
	}
	vyi(a, X_INSERT, r, r, rm_reg(tmp), 1);
}

/* Columns of 32 bits out of rows of 8 or 16 bytes, lane l's at[l] behind m. */
void s_columns(struct scomp *c, const struct insn *in, struct rm m, const s32 *at, bool sites)
{
	struct as *a = &c->a;
	u32 i, v;
	s32 base = m.disp;

#define AT(l) (m.disp = base + at[l], m)
	if (in->vec == 2) {
		s_mem_rows(c, m, at, 0, 2, sites);
		s_mem_rows(c, m, at + 4, 1, 2, sites);
		vyi(a, X_SHUFPS, 2, 0, rm_reg(1), 0x88);
		vyi(a, X_PERMQ, 2, 0, rm_reg(2), 0xd8);
		vyi(a, X_SHUFPS, 3, 0, rm_reg(1), 0xdd);
		vyi(a, X_PERMQ, 3, 0, rm_reg(3), 0xd8);
		vy(a, X_MOVU_ST, 2, 0, s_mem_lanes_at(L_COLS));
		vy(a, X_MOVU_ST, 3, 0, s_mem_lanes_at(L_COLS + 32));
	} else {
		/* lanes i and i + 4 side by side */
		for (i = 0; i < 4; i++) {
			if (sites)
				s_site(c);
			vx_x(a, X_MOVU, (int)i, 0, AT(i));
			if (sites)
				s_site(c);
			vyi(a, X_INSERT, (int)i, (int)i, AT(i + 4), 1);
		}
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_COLS));
		vr(a, X_PUNPCKLDQ, 0, 0, 1);            /* x and y of lanes 0, 1; of 2, 3 */
		vy(a, X_MOVU_ST, 2, 0, s_mem_lanes_at(L_COLS + 64));
		vr(a, X_PUNPCKLDQ, 2, 2, 3);
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(L_COLS + 32));
		vr(a, X_PUNPCKLQDQ, 1, 0, 2);           /* all x */
		vr(a, X_PUNPCKHQDQ, 0, 0, 2);           /* all y */
		vy(a, X_MOVU, 2, 0, s_mem_lanes_at(L_COLS));
		vy(a, X_PUNPCKHDQ, 2, 2, s_mem_lanes_at(L_COLS + 32));
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(L_COLS));
		vy(a, X_MOVU, 1, 0, s_mem_lanes_at(L_COLS + 64));
		vr(a, X_PUNPCKHDQ, 1, 1, 3);
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_COLS + 32));
		vr(a, X_PUNPCKLQDQ, 3, 2, 1);
		vr(a, X_PUNPCKHQDQ, 2, 2, 1);
		vy(a, X_MOVU_ST, 3, 0, s_mem_lanes_at(L_COLS + 64));
		vy(a, X_MOVU_ST, 2, 0, s_mem_lanes_at(L_COLS + 96));
	}
#undef AT
	for (v = 0; v < in->vec; v++)
		if (in->o[v] != OPND_NONE) {
			vy(a, X_MOVU, 0, 0, s_mem_lanes_at(L_COLS + 32 * v));
			sput(c, in->o[v], 0, 0);
		}
}

/* Two columns of 64 bits out of rows of 16 bytes. */
void s_wide_columns(struct scomp *c, const struct insn *in, struct rm m, const s32 *at, bool sites)
{
	struct as *a = &c->a;
	s32 base = m.disp;
	u32 i, v;

	/* by two: a load of what two stores have left would wait for them */
	for (i = 0; i < 8; i++) {
		m.disp = base + at[i];
		if (sites)
			s_site(c);
		if (!(i & 1)) {
			vx_x(a, X_MOVU, 0, 0, m);
			continue;
		}
		vyi(a, X_INSERT, 0, 0, m, 1);
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_COLS + 16 * (i - 1)));
	}
	for (v = 0; v < 2; v++) {
		if (in->o[v] == OPND_NONE)
			continue;
		for (i = 0; i < 2; i++) {
			vy(a, X_MOVU, 0, 0, s_mem_lanes_at(L_COLS + 64 * i));
			vy(a, X_MOVU, 1, 0, s_mem_lanes_at(L_COLS + 64 * i + 32));
			vr(a, v ? X_PUNPCKHQDQ : X_PUNPCKLQDQ, 0, 0, 1);
			vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
			sput(c, in->o[v], i, 0);
		}
	}
}

static bool same4(const s32 *p, s32 step) { return p[1] - p[0] == step && p[2] - p[0] == 2 * step && p[3] - p[0] == 3 * step; }

/* xmm d = four 32-bit elements */
void s_mem_four(struct scomp *c, int d, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	u32 i;

	if (same4(p, 4)) {
		s_site(c);
		vx_x(a, X_MOVU, d, 0, s_off(m, p[0]));
		return;
	}
	if (same4(p, 0)) {
		s_site(c);
		vx_x(a, X_PBCASTD, d, 0, s_off(m, p[0]));
		return;
	}
	s_site(c);
	vx_x(a, X_MOVD, d, 0, s_off(m, p[0]));
	for (i = 1; i < 4; i++) {
		s_site(c);
		vx(a, X_PINSRD, 0, d, d, s_off(m, p[i]), 1);
		b1(a, i);
	}
}

/* xmm0 = eight elements of 8 or 16 bits; xmm1 is lost */
void s_mem_eight(struct scomp *c, u32 size, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	u32 i;

	if (same4(p, 0) && same4(p + 4, 0)) {
		for (i = 0; i < 2; i++) {
			s_site(c);
			vx_x(a, size == 2 ? X_PBCASTW : X_PBCASTB, (int)i, 0, s_off(m, p[4 * i]));
		}
		vx(a, size == 2 ? X_PUNPCKLQDQ : X_PUNPCKLDQ, 0, 0, 0, rm_reg(1), 0);
		return;
	}
	vx_x(a, X_PXOR, 0, 0, rm_reg(0));
	for (i = 0; i < STRIP; i++) {
		s_site(c);
		vx(a, size == 2 ? X_PINSRW : X_PINSRB, 0, 0, 0, s_off(m, p[i]), 1);
		b1(a, i);
	}
}

