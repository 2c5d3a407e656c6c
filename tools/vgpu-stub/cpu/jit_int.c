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
