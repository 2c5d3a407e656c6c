/* SPDX-License-Identifier: MIT */
/*
 * Vector code for lane operations: what lanes.def says, in AVX-512 (conversions: jit_cvt.c). An
 * operation that is not here goes through the interpreter's function for it (JX_STEP). Called by jit.c.
 *
 * Every sequence reads all its sources of a part before it writes the part of the destination, which
 * may be the same register; temporaries are zmm0 to zmm7.
 */
#include "jit.h"
#include "lanes.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool is16(u8 t) { return t == T_U16 || t == T_S16 || t == T_B16; }

/* d = op(a, o) with a broadcast where that saves a load */
static void op2(struct jcomp *c, u32 op, int d, int x, u32 o, u8 w, u32 part, int tmp, bool obs)
{
	int bc;
	struct rm m = obs ? jv_rm_obs(c, o, w, part, tmp, &bc) : jv_rm(c, o, w, part, tmp, &bc);

	ev_n(&c->a, op, d, x, m, 0, 0, bc, bc ? (w ? 8 : 4) : 64, 0);
}

void jl_shift(struct jcomp *c, u32 lop, bool sg, u8 w, int d, int x, u32 n)
{
	struct as *a = &c->a;

	if (lop == LOP_SHL)
		ev_i(a, w ? V_PSHIQ : V_PSHID, 6, d, rm_reg(x), 0, 0, n);
	else if (!sg)
		ev_i(a, w ? V_PSHIQ : V_PSHID, 2, d, rm_reg(x), 0, 0, n);
	else
		ev_i(a, w ? V_PSRAIQ : V_PSHID, 4, d, rm_reg(x), 0, 0, n);
}

/* Eight 32-bit lanes of o, extended to 64 bits, in zmm d. */
void jl_widen(struct jcomp *c, u32 o, u32 part, int d, bool sg, bool obs)
{
	struct as *a = &c->a;
	u32 op = sg ? V_PMOVSXDQ : V_PMOVZXDQ;
	struct rm m = obs ? jv_rm_obs(c, o, 0, part / 2, d, NULL) : jv_rm(c, o, 0, part / 2, d, NULL);

	if (m.kind) {
		m.disp += 32 * (part & 1);
		ev_n(a, op, d, 0, m, 0, 0, 0, 32, 0);
	} else if (part & 1) {
		ev_i(a, V_EXTRACT64X4, m.reg, 0, rm_reg(d), 0, 0, 1);
		ev(a, op, d, 0, rm_reg(d));
	} else {
		ev(a, op, d, 0, m);
	}
}

/* Part p of in's destination = op(x, second operand), where it is and under its mask. False: it is in memory, or nothing is masked. */
static bool in_place(struct jcomp *c, const struct insn *in, u32 op, u8 w, u32 p, int x, bool obs)
{
	const struct jreg *r = &c->r[in->o[0]];
	struct rm m;
	int bc;

	if (!c->gk || r->loc != LOC_ZMM)
		return false;
	m = obs ? jv_rm_obs(c, in->o[2], w, p, 1, &bc) : jv_rm(c, in->o[2], w, p, 1, &bc);
	ev_n(&c->a, op, r->reg + (int)p, x, m, jv_mask(c, w, p), 0, bc, bc ? (w ? 8 : 4) : 64, 0);
	return true;
}

/* ---- integers --------------------------------------------------------------------------- */

static u32 simple_op(const struct insn *in)
{
	bool sg = type_is_signed(in->type);

	if (is64(in->type))
		switch (in->lop) {
		case LOP_ADD: return V_PADDQ;
		case LOP_SUB: return V_PSUBQ;
		case LOP_MUL: return V_PMULLQ;
		case LOP_AND: return V_PANDQ;
		case LOP_OR: return V_PORQ;
		case LOP_XOR: return V_PXORQ;
		case LOP_MIN: return sg ? V_PMINSQ : V_PMINUQ;
		case LOP_MAX: return sg ? V_PMAXSQ : V_PMAXUQ;
		}
	else if (is32(in->type) || is16(in->type))
		switch (in->lop) {
		case LOP_ADD: return V_PADDD;
		case LOP_SUB: return V_PSUBD;
		case LOP_MUL: return V_PMULLD;
		case LOP_AND: return V_PANDD;
		case LOP_OR: return V_PORD;
		case LOP_XOR: return V_PXORD;
		case LOP_MIN: return is16(in->type) ? 0 : sg ? V_PMINSD : V_PMINUD;
		case LOP_MAX: return is16(in->type) ? 0 : sg ? V_PMAXSD : V_PMAXUD;
		}
	return 0;
}

static void mul_mad(struct jcomp *c, const struct insn *in, u32 p)
{
	u8 w = is64(in->type);
	struct jval k = jit_val(c, in->o[2], w);
	int x = jv_obs(c, in->o[1], w, p, 0), d = jv_dst(c, in->o[0], p, 0), m = in->lop == LOP_MAD ? 0 : d;

	if (k.known && k.k && !(k.k & (k.k - 1)))
		jl_shift(c, LOP_SHL, false, w, m, x, (u32)__builtin_ctzll(k.k));
	else
		op2(c, w ? V_PMULLQ : V_PMULLD, m, x, in->o[2], w, p, 1, true);
	if (in->lop == LOP_MAD)
		op2(c, w ? V_PADDQ : V_PADDD, d, 0, in->o[3], w, p, 1, true);
	jv_put(c, in->o[0], p, d);
}

static bool shifts(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	bool sg = type_is_signed(in->type) && in->lop == LOP_SHR;
	struct jval k = jit_val(c, in->o[2], 0);
	u32 p, bits = w ? 64 : is16(in->type) ? 16 : 32;

	for (p = 0; p < (w ? 4u : 2u); p++) {
		int x = jv_obs(c, in->o[1], w, p, 0), d = jv_dst(c, in->o[0], p, 0);

		if (bits == 16 && in->lop == LOP_SHR) {
			jl_shift(c, LOP_SHL, false, 0, 0, x, 16);
			jl_shift(c, LOP_SHR, sg, 0, 0, 0, 16);
			x = 0;
		}
		if (k.known) {
			u32 n = (u32)k.k;

			if (n >= bits && sg)
				n = bits - 1;
			if (n >= bits)
				ev(a, V_PXORD, d, d, rm_reg(d));
			else
				jl_shift(c, in->lop, sg, w, d, x, n);
		} else if (w) {
			jl_widen(c, in->o[2], p, 1, false, true);
			ev(a, in->lop == LOP_SHL ? V_PSLLVQ : sg ? V_PSRAVQ : V_PSRLVQ, d, x, rm_reg(1));
		} else {
			op2(c, in->lop == LOP_SHL ? V_PSLLVD : sg ? V_PSRAVD : V_PSRLVD, d, x, in->o[2], 0, p, 1, true);
		}
		jv_put(c, in->o[0], p, d);
	}
	return true;
}

static bool wide(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type), mad = in->lop == LOP_MADWIDE;
	u32 p;
	int d;

	if (is16(in->type)) {
		for (p = 0; p < 2; p++) {
			u32 i;

			for (i = 0; i < 2; i++) {
				int x = jv_reg(c, in->o[1 + i], 0, p, (int)i);

				jl_shift(c, LOP_SHL, false, 0, (int)i, x, 16);
				jl_shift(c, LOP_SHR, sg, 0, (int)i, (int)i, 16);
			}
			ev(a, V_PMULLD, 0, 0, rm_reg(1));
			d = jv_dst(c, in->o[0], p, 0);
			if (mad)
				op2(c, V_PADDD, d, 0, in->o[3], 0, p, 1, true);
			else if (d)
				ev(a, V_MOVA32, d, 0, rm_reg(0));
			jv_put(c, in->o[0], p, d);
		}
		return true;
	}
	for (p = 0; p < 4; p++) {
		struct jval k = jit_val(c, in->o[2], 0);

		jl_widen(c, in->o[1], p, 0, sg, true);
		if (k.known && k.k && !(k.k & (k.k - 1)) && k.k < 1u << 31) {
			jl_shift(c, LOP_SHL, false, 1, 0, 0, (u32)__builtin_ctzll(k.k));
		} else if (k.known) {
			/* only the low half of every 64 bits counts */
			ev(a, sg ? V_PMULDQ : V_PMULUDQ, 0, 0, rm_lit(j_lit64(c, (u32)k.k), 0));
		} else {
			jl_widen(c, in->o[2], p, 1, sg, true);
			ev(a, sg ? V_PMULDQ : V_PMULUDQ, 0, 0, rm_reg(1));
		}
		d = jv_dst(c, in->o[0], p, 0);
		if (mad)
			op2(c, V_PADDQ, d, 0, in->o[3], 1, p, 1, false);
		else if (d)
			ev(a, V_MOVA64, d, 0, rm_reg(0));
		jv_put(c, in->o[0], p, d);
	}
	return true;
}

/* (b:a) shifted by c, one half of it */
static bool funnel(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct jval k = jit_val(c, in->o[3], 0);
	bool left = in->lop == LOP_SHFLW || in->lop == LOP_SHFLC, wrap = in->lop == LOP_SHFLW || in->lop == LOP_SHFRW;
	u32 p, n = (u32)k.k;

	if (!k.known)
		return jit_funnel(c, in);
	if (wrap)
		n &= 31;
	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), d;

		d = jv_dst(c, in->o[0], p, 2);
		if (n == 0 || n > 31) {
			/* none: left gives b, right a; all of it: the other one */
			ev(a, V_MOVA32, d, 0, rm_reg((n == 0) == left ? y : x));
		} else {
			jl_shift(c, LOP_SHL, false, 0, 2, y, left ? n : 32 - n);
			jl_shift(c, LOP_SHR, false, 0, 3, x, left ? 32 - n : n);
			ev(a, V_PORD, d, 2, rm_reg(3));
		}
		jv_put(c, in->o[0], p, d);
	}
	return true;
}

static bool bfe(struct jcomp *c, const struct insn *in)
{
	struct jval pos = jit_val(c, in->o[2], 0), len = jit_val(c, in->o[3], 0);
	u32 p, ps = (u32)pos.k & 255, n = (u32)len.k & 255;
	bool sg = in->type == T_S32;

	if (!pos.known || !len.known || (in->type != T_U32 && in->type != T_S32) || n == 0 || ps > 31)
		return false;
	if (n > 32 - ps)
		n = 32 - ps;
	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), d = jv_dst(c, in->o[0], p, 0);

		jl_shift(c, LOP_SHL, false, 0, 0, x, 32 - ps - n);
		jl_shift(c, LOP_SHR, sg, 0, d, 0, 32 - n);
		jv_put(c, in->o[0], p, d);
	}
	return true;
}

static bool moves(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = c->r[in->o[0]].w, sw = jit_src_w(in, 1);
	struct jval s = jit_val(c, in->o[2], 0), k = jit_val(c, in->o[3], 0);
	u32 p, i, idx[16];
	bool keep = c->r[in->o[0]].rawf;
	int d, x, y;

	for (p = 0; p < (w ? 4u : 2u); p++) {
		switch (in->lop) {
		case LOP_MOV:
			if (c->r[in->o[0]].loc == LOC_ZMM) {
				struct rm m = keep ? jv_rm(c, in->o[1], w, p, 0, NULL) : jv_rm_obs(c, in->o[1], w, p, 0, NULL);

				d = c->r[in->o[0]].reg + (int)p;
				if (m.kind || m.reg != d)
					ev_k(a, w ? V_MOVA64 : V_MOVA32, d, 0, m, c->gk ? jv_mask(c, w, p) : 0, 0);
				continue;
			}
			x = keep ? jv_reg(c, in->o[1], w, p, 0) : jv_obs(c, in->o[1], w, p, 0);
			jv_put(c, in->o[0], p, x);
			continue;
		case LOP_SELP:
			x = keep ? jv_reg(c, in->o[1], w, p, 0) : jv_obs(c, in->o[1], w, p, 0);
			y = keep ? jv_reg(c, in->o[2], w, p, 1) : jv_obs(c, in->o[2], w, p, 1);
			k_load(a, 7, ju_rm(c, in->o[3]));
			if (p)
				k_shr(a, 7, 7, p * (w ? 8 : 16));
			d = jv_dst(c, in->o[0], p, 2);
			ev_k(a, w ? V_BLENDMQ : V_BLENDMD, d, y, rm_reg(x), 7, 0);
			break;
		case LOP_CVT_SEXT:
			d = jv_dst(c, in->o[0], p, 0);
			if (w) {
				jl_widen(c, in->o[1], p, 0, in->type == T_S64, true);
				if (d)
					ev(a, V_MOVA64, d, 0, rm_reg(0));
			} else {
				x = jv_obs(c, in->o[1], 0, p, 0);
				if (in->type == T_U16) {
					ev(a, V_PANDD, d, x, rm_lit(j_lit32(c, 0xffff), 0));
					break;
				}
				jl_shift(c, LOP_SHL, false, 0, 0, x, 16);
				jl_shift(c, LOP_SHR, in->type == T_S16, 0, d, 0, 16);
			}
			break;
		case LOP_XTR:
			if (!s.known || !k.known)
				return false;
			if (!sw) {
				x = jv_obs(c, in->o[1], 0, p, 0);
				d = jv_dst(c, in->o[0], p, 0);
				if (s.k & 31)
					jl_shift(c, LOP_SHR, false, 0, 0, x, (u32)s.k & 31);
				if ((s.k & 31) + (u32)__builtin_popcount((u32)k.k) < 32 || !(s.k & 31))
					ev(a, V_PANDD, d, s.k & 31 ? 0 : x, rm_lit(j_lit32(c, (u32)k.k), 0));
				else if (d)
					ev(a, V_MOVA32, d, 0, rm_reg(0));
				break;
			}
			/* fall through */
		case LOP_CVT_TRUNC:
			/* dwords of two vectors of 64-bit lanes */
			i = in->lop == LOP_XTR ? (u32)s.k & 63 : 0;
			if (i & 15)
				return false;
			x = jv_reg(c, in->o[1], 1, 2 * p, 0);
			y = jv_reg(c, in->o[1], 1, 2 * p + 1, 1);
			{
				u32 q, sh = i & 16;

				for (q = 0; q < 16; q++)
					idx[q] = q * 2 + (i >= 32);
				ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, idx, 64), 0));
				ev(a, V_PERMI2D, 2, x, rm_reg(y));
				if (sh)
					jl_shift(c, LOP_SHR, false, 0, 2, 2, 16);
				else if (in->lop == LOP_XTR && (u32)k.k != ~0u)
					ev(a, V_PANDD, 2, 2, rm_lit(j_lit32(c, (u32)k.k), 0));
			}
			jv_put(c, in->o[0], p, 2);
			continue;
		case LOP_PACK:
			if (w) {
				x = jv_obs(c, in->o[1], 0, p / 2, 0);
				y = jv_obs(c, in->o[2], 0, p / 2, 1);
				for (i = 0; i < 16; i++)
					idx[i] = (i & 1) * 16 + (p & 1) * 8 + i / 2;
				ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, idx, 64), 0));
				ev(a, V_PERMI2D, 2, x, rm_reg(y));
				jv_put(c, in->o[0], p, 2);
				continue;
			}
			x = jv_obs(c, in->o[1], 0, p, 0);
			y = jv_obs(c, in->o[2], 0, p, 1);
			jl_shift(c, LOP_SHL, false, 0, 2, y, 16);
			/* 2 | (x & 0xffff) */
			ev_i(a, V_PTERNLOGD, 2, x, rm_lit(j_lit32(c, 0xffff), 0), 0, 0, 0xf8);
			jv_put(c, in->o[0], p, 2);
			continue;
		default:
			return false;
		}
		jv_put(c, in->o[0], p, d);
	}
	return true;
}

/* ---- floats ----------------------------------------------------------------------------- */

static bool quiet(const struct jcomp *c, u32 o)
{
	struct jval v = jit_val(c, o, 0);

	return o & OPND_CONST ? v.known && ((u32)v.k & 0x7fffffff) < 0x7f800000 : c->r[o].quiet;
}

static bool floats(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = in->type == T_F64;
	u32 op = 0, p, n = w ? 4 : c->one_half ? 1 : 2;
	bool sat = false, raw = c->r[in->o[0]].rawf || !jit_makes_raw(in);
	bool apart = false;
	int how = jit_ex2_mode(c->mx, in);
	int x, y, z, d;

	/* these are exact or bit operations, or round to nearest in either mode */
	if (!((in->lop == LOP_CVT_F_S32 || in->lop == LOP_CVT_F_U32) && !(in->mxcsr & 0x6000) &&
	      (c->s->mxcsr != ~0u || (c->mx && !(c->mx & 0x6000)))) &&
	    in->lop != LOP_CVT_F_H && in->lop != LOP_CVT_H_F && in->lop != LOP_ABS && in->lop != LOP_NEG && in->lop != LOP_FLUSH && !how && !jit_any_mode(c, in)) {
		apart = jit_mode_begin(c, in);
		if (!apart)
			jit_mxcsr(c, in->mxcsr);
	}
	for (p = 0; p < n; p++) {
		switch (in->lop) {
		case LOP_ADDSAT: case LOP_SUBSAT: case LOP_MULSAT:
			sat = true;
			/* fall through */
		case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_DIV:
			switch (in->lop) {
			case LOP_ADD: case LOP_ADDSAT: op = w ? V_ADDPD : V_ADDPS; break;
			case LOP_SUB: case LOP_SUBSAT: op = w ? V_SUBPD : V_SUBPS; break;
			case LOP_DIV: op = w ? V_DIVPD : V_DIVPS; break;
			default: op = w ? V_MULPD : V_MULPS;
			}
			if (w && sat)
				return false;
			x = jv_reg(c, in->o[1], w, p, 0);
			if (!sat && raw && in_place(c, in, op, w, p, x, false))
				continue;
			d = sat ? 0 : jv_dst(c, in->o[0], p, 0);
			op2(c, op, d, x, in->o[2], w, p, 1, false);
			break;
		case LOP_MADSAT:
			sat = true;
			if (w)
				return false;
			/* fall through */
		case LOP_MAD: {
			const struct jreg *r = &c->r[in->o[0]];
			/* the factor that is not in a vector register may stay in memory; f64 keeps the order, by which a NaN is chosen */
			u32 fa = in->o[1], fb = in->o[2];

			if (!w && ((fb & OPND_CONST) || c->r[fb].cls != JC_VARY || c->r[fb].loc != LOC_ZMM)) {
				fa = in->o[2];
				fb = in->o[1];
			}
			y = jv_reg(c, fb, w, p, 1);
			/* accumulators stay where they are */
			if (!sat && raw && c->gk != 1 && in->o[3] == in->o[0] && r->loc == LOC_ZMM) {
				int bc;
				struct rm m = jv_rm(c, fa, w, p, 0, &bc);

				ev_n(a, w ? V_FMADD231PD : V_FMADD231PS, r->reg + (int)p, y, m, c->gk ? jv_mask(c, w, p) : 0, 0, bc,
				     bc ? (w ? 8 : 4) : 64, 0);
				continue;
			}
			d = sat ? 0 : jv_dst(c, in->o[0], p, 0);
			z = !(fa & OPND_CONST) && c->r[fa].cls == JC_VARY && c->r[fa].loc == LOC_ZMM ?
			    c->r[fa].reg + (int)p : 0;
			if (d == y || (d && d == z)) {          /* the destination is a factor: it is overwritten last */
				if (d == y && z) {
					op2(c, w ? V_FMADD213PD : V_FMADD213PS, d, z, in->o[3], w, p, 2, false);
					break;
				}
				if (d == z) {
					op2(c, w ? V_FMADD213PD : V_FMADD213PS, d, y, in->o[3], w, p, 2, false);
					break;
				}
				if (!w) {
					x = jv_reg(c, in->o[3], 0, p, 2);
					op2(c, V_FMADD132PS, d, x, fa, 0, p, 0, false);
					break;
				}
				d = 0;
			}
			/* d = the addend, then plus the product, of which one factor may be in memory */
			x = jv_reg(c, in->o[3], w, p, d);
			if (x != d)
				ev(a, V_MOVA32, d, 0, rm_reg(x));
			op2(c, w ? V_FMADD231PD : V_FMADD231PS, d, y, fa, w, p, 2, false);
			break;
		}
		case LOP_RCP:
			x = jv_reg(c, in->o[1], w, p, 0);
			d = jv_dst(c, in->o[0], p, 1);
			ev(a, V_MOVA32, 1, 0, rm_lit(w ? j_lit64(c, 0x3ff0000000000000ull) : j_lit32(c, 0x3f800000), 0));
			ev(a, w ? V_DIVPD : V_DIVPS, d, 1, rm_reg(x));
			break;
		case LOP_SQRT:
		case LOP_RSQRT:
			x = jv_reg(c, in->o[1], w, p, 0);
			d = jv_dst(c, in->o[0], p, 0);
			ev(a, w ? V_SQRTPD : V_SQRTPS, d, 0, rm_reg(x));
			if (in->lop == LOP_RSQRT) {
				ev(a, V_MOVA32, 1, 0, rm_lit(w ? j_lit64(c, 0x3ff0000000000000ull) : j_lit32(c, 0x3f800000), 0));
				ev(a, w ? V_DIVPD : V_DIVPS, d, 1, rm_reg(d));
			}
			break;
		case LOP_MIN:
		case LOP_MAX:
			x = jv_reg(c, in->o[1], w, p, 0);
			y = jv_reg(c, in->o[2], w, p, 1);
			if (w) {                        /* a NaN stays as it is: the first one of two */
				d = 2;
				ev_i(a, V_RANGEPD, d, x, rm_reg(y), 0, 0, in->lop == LOP_MIN ? 4 : 5);
				ev_i(a, V_CMPPD, 7, x, rm_reg(x), 0, 0, 3);
				ev_k(a, V_MOVA64, d, 0, rm_reg(y), 7, 0);
				ev_i(a, V_CMPPD, 7, y, rm_reg(y), 0, 0, 3);
				ev_k(a, V_MOVA64, d, 0, rm_reg(x), 7, 0);
				break;
			}
			/* a number wins over a NaN and -0 is less than 0, as here, but a signalling NaN wins: adding -0 quiets it */
			if (!quiet(c, in->o[1])) {
				ev(a, V_ADDPS, 2, x, rm_lit(j_lit32(c, 1u << 31), 0));
				x = 2;
			}
			if (!quiet(c, in->o[2])) {
				ev(a, V_ADDPS, 3, y, rm_lit(j_lit32(c, 1u << 31), 0));
				y = 3;
			}
			d = jv_dst(c, in->o[0], p, 2);
			ev_i(a, V_RANGEPS, d, x, rm_reg(y), 0, 0, in->lop == LOP_MIN ? 4 : 5);
			break;
		case LOP_ABS:
		case LOP_NEG:
			x = !w && ((in->lop == LOP_ABS && c->r[in->o[0]].rawf) || c->r[in->o[0]].summed) ? jv_reg(c, in->o[1], w, p, 0) :
			    jv_obs(c, in->o[1], w, p, 0);
			d = jv_dst(c, in->o[0], p, 0);
			if (in->lop == LOP_ABS)
				ev(a, w ? V_PANDQ : V_PANDD, d, x, rm_lit(w ? j_lit64(c, ~0ull >> 1) : j_lit32(c, 0x7fffffff), 0));
			else
				ev(a, w ? V_PXORQ : V_PXORD, d, x, rm_lit(w ? j_lit64(c, 1ull << 63) : j_lit32(c, 1u << 31), 0));
			break;
		case LOP_FLUSH:
			if (w)
				return false;
			x = c->r[in->o[0]].rawf || c->r[in->o[0]].summed ? jv_reg(c, in->o[1], 0, p, 0) : jv_obs(c, in->o[1], 0, p, 0);
			if (c->r[in->o[0]].unflushed || (!(in->o[1] & OPND_CONST) && c->r[in->o[1]].flushed)) {
				d = x;
				break;
			}
			ev(a, V_PTESTMD, 7, x, rm_lit(j_lit32(c, 0x7f800000), 0));
			ev(a, V_PANDD, 1, x, rm_lit(j_lit32(c, 1u << 31), 0));
			ev_k(a, V_MOVA32, 1, 0, rm_reg(x), 7, 0);
			d = 1;
			break;
		case LOP_EX2:
			if (w)
				return false;
			x = jv_reg(c, in->o[1], 0, p, 5);
			jit_ex2(c, x, how);
			d = 0;
			break;
		case LOP_CVT_F_S32:
		case LOP_CVT_F_U32:
			d = jv_dst(c, in->o[0], p, 0);
			x = jv_obs(c, in->o[1], 0, p, 0);
			ev(a, in->lop == LOP_CVT_F_S32 ? V_CVTDQ2PS : V_CVTUDQ2PS, d, 0, rm_reg(x));
			break;
		case LOP_CVT_F_H:
			x = jv_obs(c, in->o[1], 0, p, 0);
			d = jv_dst(c, in->o[0], p, 0);
			ev_n(a, V_PMOVDW, x, 0, rm_reg(1), 0, 0, 0, 32, 0);
			ev(a, V_CVTPH2PS, d, 0, rm_reg(1));
			break;
		case LOP_CVT_H_F:
			x = jv_reg(c, in->o[1], 0, p, 0);
			ev_i(a, V_CMPPS, 7, x, rm_reg(x), 0, 0, 3);
			ev_k(a, V_BLENDMD, 1, x, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
			ev_n(a, V_CVTPS2PH, 1, 0, rm_reg(1), 0, 0, 0, 32, 1);
			b1(a, 0);
			d = jv_dst(c, in->o[0], p, 0);
			ev(a, V_PMOVZXWD, d, 0, rm_reg(1));
			break;
		default:
			return false;
		}
		if (sat) {                      /* a NaN and -0 give +0 */
			z = jv_dst(c, in->o[0], p, 1);
			ev(a, V_PXORD, 1, 1, rm_reg(1));
			ev(a, V_MAXPS, 1, d, rm_reg(1));
			ev(a, V_MINPS, z, 1, rm_lit(j_lit32(c, 0x3f800000), 0));
			d = z;
		}
		if (!raw)
			d = jv_canon(c, d, d);
		jv_put(c, in->o[0], p, d);
	}
	if (apart)
		jit_mode_end(c);
	return true;
}

bool jit_lane(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	u32 op = simple_op(in), p, n = w ? 4 : c->one_half ? 1 : 2;
	int x, d;

	if (op && in->lop != LOP_MUL) {
		for (p = 0; p < n; p++) {
			x = jv_obs(c, in->o[1], w, p, 0);
			if (in_place(c, in, op, w, p, x, true))
				continue;
			d = jv_dst(c, in->o[0], p, 0);
			op2(c, op, d, x, in->o[2], w, p, 1, true);
			jv_put(c, in->o[0], p, d);
		}
		return true;
	}
	switch (in->lop) {
	case LOP_MUL:
	case LOP_MAD:
		if (!is32(in->type) && !is64(in->type) && !is16(in->type))
			break;
		for (p = 0; p < n; p++)
			mul_mad(c, in, p);
		return true;
	case LOP_SHL:
	case LOP_SHR:
		return (is32(in->type) || is64(in->type) || is16(in->type)) && shifts(c, in);
	case LOP_MULWIDE:
	case LOP_MADWIDE:
		return wide(c, in);
	case LOP_SHFLW: case LOP_SHFLC: case LOP_SHFRW: case LOP_SHFRC:
		return funnel(c, in);
	case LOP_BFE:
		return bfe(c, in);
	case LOP_PRMT:
		return jit_prmt(c, in);
	case LOP_DP4AUU: case LOP_DP4AUS: case LOP_DP4ASU: case LOP_DP4ASS:
		return jit_dot(c, in);
	case LOP_MOV: case LOP_SELP: case LOP_XTR: case LOP_CVT_TRUNC: case LOP_PACK:
		return moves(c, in);
	case LOP_CVT_SEXT:
		return moves(c, in);
	case LOP_NOT:
	case LOP_NEG:
	case LOP_ABS:
		if (is16(in->type) && in->lop == LOP_ABS)
			return jit_short(c, in);
		if (!is32(in->type) && !is64(in->type) && !is16(in->type))
			break;
		for (p = 0; p < n; p++) {
			x = jv_obs(c, in->o[1], w, p, 0);
			d = jv_dst(c, in->o[0], p, 1);
			if (in->lop == LOP_NOT) {
				ev(a, V_PXORD, d, x, rm_lit(j_lit32(c, ~0u), 0));
			} else if (in->lop == LOP_ABS) {
				ev(a, w ? V_PABSQ : V_PABSD, d, 0, rm_reg(x));
			} else {
				ev(a, V_PXORD, 1, 1, rm_reg(1));
				ev(a, w ? V_PSUBQ : V_PSUBD, d, 1, rm_reg(x));
			}
			jv_put(c, in->o[0], p, d);
		}
		return true;
	case LOP_MIN: case LOP_MAX:
		if (is16(in->type))
			return jit_short(c, in);
		break;
	case LOP_MULHI: case LOP_MADHI:
		if (is64(in->type))
			return jit_high(c, in);
		if (!is32(in->type))
			return false;
		for (p = 0; p < 2; p++) {       /* even and odd lanes */
			u32 pm = type_is_signed(in->type) ? V_PMULDQ : V_PMULUDQ;
			int y;

			x = jv_obs(c, in->o[1], 0, p, 0);
			y = jv_obs(c, in->o[2], 0, p, 1);
			ev(a, pm, 2, x, rm_reg(y));
			ev_i(a, V_PSHIQ, 2, 3, rm_reg(x), 0, 0, 32);
			ev_i(a, V_PSHIQ, 2, 4, rm_reg(y), 0, 0, 32);
			ev(a, pm, 3, 3, rm_reg(4));
			ev_i(a, V_PSHIQ, 2, 2, rm_reg(2), 0, 0, 32);
			g_movi(a, RAX, 0xaaaa);
			k_from(a, 7, RAX);
			ev_k(a, V_MOVA32, 2, 0, rm_reg(3), 7, 0);
			if (in->lop == LOP_MADHI)
				op2(c, V_PADDD, 2, 2, in->o[3], 0, p, 3, true);
			jv_put(c, in->o[0], p, 2);
		}
		return true;
	case LOP_DIV:
	case LOP_REM:
		if (!is32(in->type))
			break;
		jit_divide(c, in);
		return true;
	case LOP_POPC: case LOP_CLZ: case LOP_BFIND: case LOP_BFINDSH: case LOP_BREV:
		return jit_bits(c, in);
	}
	if (in->type == T_F32 || in->type == T_F64 || in->lop == LOP_CVT_H_F)
		return floats(c, in);
	return false;
}
