/* SPDX-License-Identifier: MIT */
/* Integer operations that take several vector instructions: the rarer ones of jit_lane.c. Temporaries: zmm 0 to 6. */
#include "jit.h"
#include "lanes.h"

/* Least, greatest and absolute values of 16 bits, whose upper halves do not count. */
bool jit_short(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	u32 op = in->lop == LOP_MIN ? (sg ? V_PMINSD : V_PMINUD) : sg ? V_PMAXSD : V_PMAXUD, p, i;

	for (p = 0; p < 2; p++) {
		for (i = 0; i < (in->lop == LOP_ABS ? 1u : 2u); i++) {
			jl_shift(c, LOP_SHL, false, 0, (int)i, jv_obs(c, in->o[1 + i], 0, p, (int)i), 16);
			jl_shift(c, LOP_SHR, sg, 0, (int)i, (int)i, 16);
		}
		if (in->lop == LOP_ABS)
			ev(a, V_PABSD, 0, 0, rm_reg(0));
		else
			ev(a, op, 0, 0, rm_reg(1));
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

/* (b:a) shifted by as many bits as each lane says: counts of 32 leave nothing of a word. */
bool jit_funnel(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool left = in->lop == LOP_SHFLW || in->lop == LOP_SHFLC, wrap = in->lop == LOP_SHFLW || in->lop == LOP_SHFRW;
	u32 p;

	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), n = jv_obs(c, in->o[3], 0, p, 2);

		ev(a, wrap ? V_PANDD : V_PMINUD, 3, n, rm_lit(j_lit32(c, wrap ? 31 : 32), 0));
		ev(a, V_MOVA32, 4, 0, rm_lit(j_lit32(c, 32), 0));
		ev(a, V_PSUBD, 4, 4, rm_reg(3));
		ev(a, V_PSLLVD, 5, y, rm_reg(left ? 3 : 4));
		ev(a, V_PSRLVD, 6, x, rm_reg(left ? 4 : 3));
		ev(a, V_PORD, 5, 5, rm_reg(6));
		jv_put(c, in->o[0], p, 5);
	}
	return true;
}

/*
 * By one number for all lanes, d, as indices are taken apart: where x lies less than d above its first lane u everywhere, as in a row of threads, that is the
 * quotient q of u, or q + 1. Quotients go to zmm 6 and 7, or remainders. Where it is not so, or d is 0, or something is negative, one jumps to slow[].
 */
static u32 divide_near(struct jcomp *c, const struct insn *in, u32 *slow)
{
	bool sg = type_is_signed(in->type), rem = in->lop == LOP_REM;
	struct as *a = &c->a;
	u32 n = 0, p;
	int x[2];

	for (p = 0; p < 2; p++)
		x[p] = jv_obs(c, in->o[1], 0, p, (int)p);
	ju_load(c, RCX, in->o[2], 0);
	ev_n(a, V_LL(V_MOVD_ST, 0), x[0], 0, rm_reg(RAX), 0, 0, 0, 4, 0);
	g_alui(a, 0, G_CMP, rm_reg(RCX), 0);
	slow[n++] = g_jcc(a, CC_LE);
	ev(a, V_PBCASTD_R, 4, 0, rm_reg(RAX));
	ev(a, V_PBCASTD_R, 5, 0, rm_reg(RCX));
	for (p = 0; p < 2; p++) {
		ev(a, V_PSUBD, 6 + (int)p, x[p], rm_reg(4));
		ev_i(a, V_PCMPUD, 6 + (int)p, 6 + (int)p, rm_reg(5), 0, 0, 5);
	}
	k_ortest(a, 6, 7);
	slow[n++] = g_jcc(a, CC_NE);
	if (!sg) {                      /* lanes that wrap */
		g_load(a, 0, RDX, rm_reg(RAX));
		g_alu(a, 0, G_ADD, RDX, rm_reg(RCX));
		slow[n++] = g_jcc(a, CC_B);
	} else {
		ev(a, V_PORD, 4, x[0], rm_reg(x[1]));
		ev(a, V_PTESTMD, 7, 4, rm_lit(j_lit32(c, 1u << 31), 0));
		k_ortest(a, 7, 7);
		slow[n++] = g_jcc(a, CC_NE);
	}
	g_movi(a, RDX, 0);
	g_op(a, 0, 0xf7, 6, rm_reg(RCX), 0);
	ev(a, V_PBCASTD_R, 4, 0, rm_reg(RDX));
	for (p = 0; p < 2; p++) {
		ev(a, V_PADDD, 6 + (int)p, 6 + (int)p, rm_reg(4));
		ev_i(a, V_PCMPUD, 6 + (int)p, 6 + (int)p, rm_reg(5), 0, 0, 5);
	}
	if (!rem)
		ev(a, V_PBCASTD_R, 4, 0, rm_reg(RAX));
	for (p = 0; p < 2; p++) {
		if (!rem)
			ev(a, V_MOVA32, 6 + (int)p, 0, rm_reg(4));
		ev_k(a, V_PSUBD, 6 + (int)p, 6 + (int)p, rem ? rm_reg(5) : rm_lit(j_lit32(c, ~0u), 0), 6 + (int)p, 0);
	}
	return n;
}

/*
 * 32-bit division: quotients of doubles, truncated, are exact (the nearest double to a / b is no integer above it
 * for a < 2^53). By 0 quotient and remainder are all ones, as on hardware.
 */
void jit_divide(struct jcomp *c, const struct insn *in)
{
	bool sg = type_is_signed(in->type), one = jit_val(c, in->o[2], 0).cls == JC_UNI;
	u32 widen = sg ? V_CVTDQ2PD : V_CVTUDQ2PD, back = sg ? V_CVTTPD2DQ : V_CVTTPD2UDQ, p, slow[3], nslow = 0, done = 0;
	struct as *a = &c->a;

	if (one) {
		nslow = divide_near(c, in, slow);
		done = g_jmp(a);
		while (nslow)
			g_here(a, slow[--nslow]);
	}
	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), d = 6 + (int)p;

		ev_n(a, widen, 2, 0, rm_reg(x), 0, 0, 0, 32, 0);
		ev_n(a, widen, 3, 0, rm_reg(y), 0, 0, 0, 32, 0);
		ev(a, V_DIVPD, 2, 2, rm_reg(3));
		ev_n(a, back, 2, 0, rm_reg(2), 0, 0, 0, 64, 0);
		ev_n(a, V_EXTRACT64X4, x, 0, rm_reg(3), 0, 0, 0, 32, 1);
		b1(a, 1);
		ev_n(a, V_EXTRACT64X4, y, 0, rm_reg(4), 0, 0, 0, 32, 1);
		b1(a, 1);
		ev_n(a, widen, 3, 0, rm_reg(3), 0, 0, 0, 32, 0);
		ev_n(a, widen, 4, 0, rm_reg(4), 0, 0, 0, 32, 0);
		ev(a, V_DIVPD, 3, 3, rm_reg(4));
		ev_n(a, back, 3, 0, rm_reg(3), 0, 0, 0, 64, 0);
		ev_n(a, V_INSERT64X4, d, 2, rm_reg(3), 0, 0, 0, 32, 1);
		b1(a, 1);
		if (in->lop == LOP_REM || sg) {
			ev(a, V_PXORD, 3, 3, rm_reg(3));
			ev_i(a, V_PCMPD, 7, y, rm_reg(3), 0, 0, 0);
		}
		if (in->lop == LOP_DIV && sg)
			ev_k(a, V_MOVA32, d, 0, rm_lit(j_lit32(c, ~0u), 0), 7, 0);
		if (in->lop == LOP_REM) {
			ev(a, V_PMULLD, d, d, rm_reg(y));
			ev(a, V_PSUBD, d, x, rm_reg(d));
			ev_k(a, V_MOVA32, d, 0, rm_lit(j_lit32(c, ~0u), 0), 7, 0);
		}
	}
	if (one)
		g_here(a, done);
	for (p = 0; p < 2; p++)
		jv_put(c, in->o[0], p, 6 + (int)p);
}

/* The upper half of a product of 64 bits, by four products of halves; of signed ones, less the other factor where one is negative. */
bool jit_high(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 4; p++) {
		int x = jv_reg(c, in->o[1], 1, p, 0), y = jv_reg(c, in->o[2], 1, p, 1);

		jl_shift(c, LOP_SHR, false, 1, 2, x, 32);
		jl_shift(c, LOP_SHR, false, 1, 3, y, 32);
		ev(a, V_PMULUDQ, 4, x, rm_reg(y));
		ev(a, V_PMULUDQ, 5, 2, rm_reg(y));
		ev(a, V_PMULUDQ, 6, 3, rm_reg(x));
		ev(a, V_PMULUDQ, 2, 2, rm_reg(3));
		jl_shift(c, LOP_SHR, false, 1, 4, 4, 32);
		ev(a, V_PADDQ, 4, 4, rm_reg(5));                /* less than 2^64 */
		ev(a, V_PANDQ, 3, 4, rm_lit(j_lit64(c, 0xffffffff), 0));
		ev(a, V_PADDQ, 3, 3, rm_reg(6));
		jl_shift(c, LOP_SHR, false, 1, 3, 3, 32);
		jl_shift(c, LOP_SHR, false, 1, 4, 4, 32);
		ev(a, V_PADDQ, 2, 2, rm_reg(3));
		ev(a, V_PADDQ, 2, 2, rm_reg(4));
		if (type_is_signed(in->type)) {
			jl_shift(c, LOP_SHR, true, 1, 3, x, 63);
			ev(a, V_PANDQ, 3, 3, rm_reg(y));
			ev(a, V_PSUBQ, 2, 2, rm_reg(3));
			jl_shift(c, LOP_SHR, true, 1, 3, y, 63);
			ev(a, V_PANDQ, 3, 3, rm_reg(x));
			ev(a, V_PSUBQ, 2, 2, rm_reg(3));
		}
		if (in->lop == LOP_MADHI)
			ev(a, V_PADDQ, 2, 2, rm_reg(jv_reg(c, in->o[3], 1, p, 3)));
		jv_put(c, in->o[0], p, 2);
	}
	return true;
}
