/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of f16 and bf16, one in a register or two, as lanes.def has it: in f32, which holds every operand, rounded
 * once more to the narrow format. Sums and products lose nothing by that (24 bits are more than twice 11 and two); a
 * product with a sum is rounded to odd first. Called by jit.c. Temporaries: zmm 0 to 6, k7.
 */
#include "jit.h"
#include "lanes.h"

/* One of these? */
bool jit_halves(const struct insn *in)
{
	if (in->type != T_F16 && in->type != T_BF16 && in->type != T_F16X2 && in->type != T_BF16X2)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_ADDSAT: case LOP_SUBSAT: case LOP_MULSAT: case LOP_MADSAT:
	case LOP_MADRELU: case LOP_RELU: case LOP_MIN: case LOP_MAX: case LOP_MINNAN: case LOP_MAXNAN: case LOP_NEG: case LOP_ABS:
		return true;
	}
	return false;
}

static bool is_bf(const struct insn *in) { return in->type == T_BF16 || in->type == T_BF16X2; }

/* zmm d = the f16 in the low halves of zmm x as f32 */
static void half_float(struct jcomp *c, int d, int x)
{
	ev_n(&c->a, V_PMOVDW, x, 0, rm_reg(d), 0, 0, 0, 32, 0);
	ev(&c->a, V_CVTPH2PS, d, 0, rm_reg(d));
}

/* zmm d = 16 lanes of operand o as f32, its NaNs as they come. k7 is lost if they are of the processor's making. */
void jit_half_wide(struct jcomp *c, bool bf, u32 o, u32 p, int d)
{
	int x = jv_obs(c, o, 0, p, d);

	if (bf)
		jl_shift(c, LOP_SHL, false, 0, d, x, 16);
	else
		half_float(c, d, x);
}

/* zmm d = 16 lanes of operand o as f32: of the lower halves or of the upper ones */
static void widen(struct jcomp *c, const struct insn *in, u32 o, u32 p, bool up, int d)
{
	struct as *a = &c->a;

	if (!up) {
		jit_half_wide(c, is_bf(in), o, p, d);
	} else if (is_bf(in)) {
		ev(a, V_PANDD, d, jv_obs(c, o, 0, p, d), rm_lit(j_lit32(c, 0xffff0000u), 0));
	} else {
		jl_shift(c, LOP_SHR, false, 0, d, jv_obs(c, o, 0, p, d), 16);
		half_float(c, d, d);
	}
	if (is_bf(in)) {                /* vrangeps takes a signalling NaN before a number; vcvtph2ps leaves none */
		ev_i(a, V_CMPPS, 7, d, rm_reg(d), 0, 0, 3);
		ev_k(a, V_PORD, d, d, rm_lit(j_lit32(c, 0x00400000), 0), 7, 0);
	}
}

/* zmm 0 = 0 * 1 + 2, the last bit set where that is not exact: cut off, and rounded down it is not what it is rounded up */
static void fma_odd(struct jcomp *c)
{
	static const u32 down = 1, up = 2, cut = 3;
	struct as *a = &c->a;

	ev(a, V_MOVA32, 3, 0, rm_reg(0));
	ev_n(a, V_LL(V_FMADD213PS, down), 3, 1, rm_reg(2), 0, 0, 1, 64, 0);
	ev(a, V_MOVA32, 4, 0, rm_reg(0));
	ev_n(a, V_LL(V_FMADD213PS, up), 4, 1, rm_reg(2), 0, 0, 1, 64, 0);
	ev_i(a, V_CMPPS, 7, 3, rm_reg(4), 0, 0, 4);
	ev_n(a, V_LL(V_FMADD213PS, cut), 0, 1, rm_reg(2), 0, 0, 1, 64, 0);
	ev_k(a, V_PORD, 0, 0, rm_lit(j_lit32(c, 1), 0), 7, 0);
}

/* zmm 0 = what the operation makes of zmm 0, 1, 2; false: not this one */
static bool compute(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sat = false, relu = false;

	switch (in->lop) {
	case LOP_ADDSAT: case LOP_SUBSAT: case LOP_MULSAT: case LOP_MADSAT: sat = true;
	}
	switch (in->lop) {
	case LOP_ADD: case LOP_ADDSAT: ev(a, V_ADDPS, 0, 0, rm_reg(1)); break;
	case LOP_SUB: case LOP_SUBSAT: ev(a, V_SUBPS, 0, 0, rm_reg(1)); break;
	case LOP_MUL: case LOP_MULSAT: ev(a, V_MULPS, 0, 0, rm_reg(1)); break;
	case LOP_MADRELU: relu = true;
		/* fall through */
	case LOP_MAD: case LOP_MADSAT: fma_odd(c); break;
	case LOP_RELU: relu = true; break;
	case LOP_MINNAN: case LOP_MAXNAN:
		ev_i(a, V_CMPPS, 7, 0, rm_reg(1), 0, 0, 3);
		ev_i(a, V_RANGEPS, 0, 0, rm_reg(1), 0, 0, in->lop == LOP_MINNAN ? 4 : 5);
		ev_k(a, V_MOVA32, 0, 0, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
		break;
	case LOP_MIN: case LOP_MAX:
		ev_i(a, V_RANGEPS, 0, 0, rm_reg(1), 0, 0, in->lop == LOP_MIN ? 4 : 5);
		break;
	default:
		return false;
	}
	if (sat) {                      /* a NaN and -0 give +0 */
		ev(a, V_PXORD, 3, 3, rm_reg(3));
		ev(a, V_MAXPS, 0, 0, rm_reg(3));
		ev(a, V_MINPS, 0, 0, rm_lit(j_lit32(c, 0x3f800000), 0));
	}
	if (relu) {                     /* a NaN stays */
		ev(a, V_PXORD, 3, 3, rm_reg(3));
		ev_i(a, V_CMPPS, 7, 0, rm_reg(3), 0, 0, 6);
		ev_k(a, V_MOVA32, 0, 0, rm_reg(0), 7, 1);
	}
	return true;
}

static u32 operands(const struct insn *in)
{
	switch (in->lop) {
	case LOP_MAD: case LOP_MADSAT: case LOP_MADRELU: return 3;
	case LOP_RELU: return 1;
	}
	return 2;
}

/* NEG and ABS are of bits. */
static bool sign(struct jcomp *c, const struct insn *in, bool pair)
{
	struct as *a = &c->a;
	u32 p, keep = in->lop == LOP_ABS ? 0x7fff7fffu : ~0u;

	for (p = 0; p < 2; p++) {
		ev(a, V_PANDD, 0, jv_obs(c, in->o[1], 0, p, 0), rm_lit(j_lit32(c, pair ? keep : keep & 0xffff), 0));
		if (in->lop == LOP_NEG)
			ev(a, V_PXORD, 0, 0, rm_lit(j_lit32(c, pair ? 0x80008000u : 0x8000), 0));
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

bool jit_half_op(struct jcomp *c, const struct insn *in)
{
	bool pair = in->type == T_F16X2 || in->type == T_BF16X2;
	u32 p, k, up;

	if (c->r[in->o[0]].cls != JC_VARY || in->dw)
		return false;
	if (in->lop == LOP_NEG || in->lop == LOP_ABS)
		return sign(c, in, pair);
	jit_mxcsr(c, in->mxcsr);
	for (p = 0; p < 2; p++) {
		/* the upper halves first: what they become waits in zmm 6 */
		for (up = pair ? 1 : 0; up < 2; up--) {
			for (k = 0; k < operands(in); k++)
				widen(c, in, in->o[k + 1], p, up, (int)k);
			if (!compute(c, in))
				return false;
			jit_to_half(c, is_bf(in), 0, 0, false);
			if (up)
				jl_shift(c, LOP_SHL, false, 0, 6, 0, 16);
		}
		if (pair)
			ev(&c->a, V_PORD, 0, 0, rm_reg(6));
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}
