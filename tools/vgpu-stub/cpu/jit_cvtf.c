/* SPDX-License-Identifier: MIT */
/*
 * Conversions with a float on a side, and those that clamp, as cvt.c says (PTX ISA 9.7.9.21, cvt): the rarer half of
 * jit_cvt.c. Rounding stands in the instructions, so MXCSR's does not count; its flushing does, and is off where a
 * denormal could be lost. Temporaries: zmm 0 to 4, k7.
 */
#include "jit.h"
#include "lanes.h"

static bool is_half(enum type t) { return t == T_F16 || t == T_BF16; }
static bool is_float(enum type t) { return t == T_F32 || t == T_F64 || is_half(t); }
static bool is_int(enum type t) { return t >= T_U8 && t <= T_S64; }

/* Rounding as EVEX has it in its length bits, for what rounds (RN, none) and for what becomes an integer (RNI). */
static u32 mode(u8 rnd)
{
	switch (rnd) {
	case RND_RM: case RND_RMI: return 1;
	case RND_RP: case RND_RPI: return 2;
	case RND_RZ: case RND_RZI: return 3;
	}
	return 0;
}

static void rounded(struct as *a, u32 op, int d, int x, u32 m) { ev_n(a, V_LL(op, m), d, 0, rm_reg(x), 0, 0, 1, 64, 0); }

static void copy(struct as *a, int d, int x)
{
	if (d != x)
		ev(a, V_MOVA32, d, 0, rm_reg(x));
}

/* The upper eight lanes of 16. */
static void upper(struct as *a, int d, int x) { ev_i(a, V_EXTRACT64X4, x, 0, rm_reg(d), 0, 0, 1); }

/* Denormal f32 become zeros with their signs. */
static void flush(struct jcomp *c, int d, int x)
{
	struct as *a = &c->a;

	ev(a, V_PTESTMD, 7, x, rm_lit(j_lit32(c, 0x7f800000), 0));
	ev(a, V_PANDD, 4, x, rm_lit(j_lit32(c, 1u << 31), 0));
	ev_k(a, V_MOVA32, 4, 0, rm_reg(x), 7, 0);
	copy(a, d, 4);
}

/* 16 lanes of operand o, a float of up to 32 bits, as f32 in zmm tmp or where it is. */
static int f32_of(struct jcomp *c, const struct insn *in, u32 o, u32 p, int tmp)
{
	int x;

	if (is_half(in->stype)) {
		jit_half_wide(c, in->stype == T_BF16, o, p, tmp);
		return tmp;
	}
	x = jv_obs(c, o, 0, p, tmp);
	if (!(in->flags & INF_FTZ))
		return x;
	flush(c, tmp, x);
	return tmp;
}

/* Eight lanes of the source as f64. */
static int f64_of(struct jcomp *c, const struct insn *in, u32 q, int tmp)
{
	struct as *a = &c->a;
	int x;

	if (in->stype == T_F64)
		return jv_reg(c, in->o[1], 1, q, tmp);
	x = f32_of(c, in, in->o[1], q / 2, tmp);
	if (q & 1) {
		upper(a, tmp, x);
		x = tmp;
	}
	ev(a, V_CVTPS2PD, tmp, 0, rm_reg(x));
	return tmp;
}

static bool to_f64(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->stype);
	u32 q;
	int x;

	for (q = 0; q < 4; q++) {
		if (type_bytes(in->stype) == 8 && is_int(in->stype)) {
			rounded(a, sg ? V_CVTQQ2PD : V_CVTUQQ2PD, 0, jv_reg(c, in->o[1], 1, q, 0), mode(in->sub));
		} else if (is_int(in->stype)) {
			jl_extend(c, 0, jv_obs(c, in->o[1], 0, q / 2, 0), in->stype);
			if (q & 1)
				upper(a, 0, 0);
			ev(a, sg ? V_CVTDQ2PD : V_CVTUDQ2PD, 0, 0, rm_reg(0));
		} else {
			x = f64_of(c, in, q, 0);
			if (in->sub >= RND_RNI)
				ev_i(a, V_RNDSCALEPD, 0, 0, rm_reg(x), 0, 0, 8 | mode(in->sub));
			else
				copy(a, 0, x);
		}
		jv_put(c, in->o[0], q, 0);
	}
	return true;
}

static bool to_f32(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->stype), wide = type_bytes(in->stype) == 8;
	u32 op = in->stype == T_F64 ? V_CVTPD2PS : sg ? V_CVTQQ2PS : V_CVTUQQ2PS, p, h;

	if (wide && in->sub >= RND_RNI)
		return false;
	for (p = 0; p < 2; p++) {
		if (wide) {
			for (h = 0; h < 2; h++)
				rounded(a, op, (int)h, jv_reg(c, in->o[1], 1, 2 * p + h, (int)h), mode(in->sub));
			ev_i(a, V_INSERT64X4, 0, 0, rm_reg(1), 0, 0, 1);
		} else if (is_int(in->stype)) {
			jl_extend(c, 0, jv_obs(c, in->o[1], 0, p, 0), in->stype);
			rounded(a, sg ? V_CVTDQ2PS : V_CVTUDQ2PS, 0, 0, mode(in->sub));
		} else {
			copy(a, 0, f32_of(c, in, in->o[1], p, 0));
			if (in->sub >= RND_RNI)
				ev_i(a, V_RNDSCALEPS, 0, 0, rm_reg(0), 0, 0, 8 | mode(in->sub));
		}
		if (in->flags & INF_SAT) {              /* a NaN and -0 give +0 */
			ev(a, V_PXORD, 1, 1, rm_reg(1));
			ev(a, V_MAXPS, 0, 0, rm_reg(1));
			ev(a, V_MINPS, 0, 0, rm_lit(j_lit32(c, 0x3f800000), 0));
		}
		if (is_float(in->stype)) {
			jv_canon(c, 0, 0);
			if (in->flags & INF_FTZ)
				flush(c, 0, 0);
		}
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

/* zmm 0 = the integers of up to 32 bits that fit x, eight or 16 lanes of floats: saturated, a NaN as the ISA has it */
static void int_lanes(struct jcomp *c, const struct insn *in, int x, bool f64)
{
	struct as *a = &c->a;
	u32 bits = type_bytes(in->type) * 8, m = mode(in->sub ? in->sub : RND_RZI);
	bool sg = type_is_signed(in->type);
	u32 top = sg ? (1u << (bits - 1)) - 1 : bits == 32 ? ~0u : (1u << bits) - 1;

	if (f64 && sg) {
		u64 most = 0x41dfffffffc00000ull;       /* 2^31 - 1; of a NaN and less than any is left 2^31 */

		ev(a, V_MOVA64, 1, 0, rm_lit(j_lit64(c, most), 0));
		ev(a, V_MINPD, 1, 1, rm_reg(x));
		rounded(a, V_CVTPD2DQ, 0, 1, m);
	} else if (f64) {
		ev(a, V_PXORD, 1, 1, rm_reg(1));
		ev(a, V_MAXPD, 1, x, rm_reg(1));
		ev_i(a, V_CMPPD, 7, x, rm_reg(x), 0, 0, 3);
		rounded(a, V_CVTPD2UDQ, 0, 1, m);
	} else if (sg) {
		ev_i(a, V_CMPPS, 7, x, rm_lit(j_lit32(c, 0x4f000000), 0), 0, 0, 0x0d);
		rounded(a, V_CVTPS2DQ, 1, x, m);
		ev_k(a, V_MOVA32, 1, 0, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
		ev_i(a, V_CMPPS, 7, x, rm_reg(x), 0, 0, 7);
		ev_k(a, V_MOVA32, 0, 0, rm_reg(1), 7, 1);
	} else {
		ev(a, V_PXORD, 1, 1, rm_reg(1));
		ev(a, V_MAXPS, 1, x, rm_reg(1));                /* a NaN: 0 */
		rounded(a, V_CVTPS2UDQ, 0, 1, m);
	}
	if (bits < 32) {
		ev(a, sg ? V_PMINSD : V_PMINUD, 0, 0, rm_lit(j_lit32(c, top), 0));
		if (sg)
			ev(a, V_PMAXSD, 0, 0, rm_lit(j_lit32(c, ~top), 0));
	}
	if (f64 && !sg)
		ev_k(a, V_MOVA32, 0, 0, rm_lit(j_lit32(c, 1u << (bits - 1)), 0), 7, 0);
}

static bool to_int32(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p, h;

	for (p = 0; p < 2; p++) {
		if (in->stype != T_F64) {
			int_lanes(c, in, f32_of(c, in, in->o[1], p, 3), false);
			jv_put(c, in->o[0], p, 0);
			continue;
		}
		for (h = 0; h < 2; h++) {
			int_lanes(c, in, jv_reg(c, in->o[1], 1, 2 * p + h, 3), true);
			if (!h)
				copy(a, 2, 0);
		}
		ev_i(a, V_INSERT64X4, 2, 2, rm_reg(0), 0, 0, 1);
		jv_put(c, in->o[0], p, 2);
	}
	return true;
}

static bool to_int64(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 q, m = mode(in->sub ? in->sub : RND_RZI);
	int x;

	for (q = 0; q < 4; q++) {
		x = f64_of(c, in, q, 3);
		if (type_is_signed(in->type)) {
			ev_i(a, V_CMPPD, 7, x, rm_lit(j_lit64(c, 0x43e0000000000000ull), 0), 0, 0, 0x0d);
			rounded(a, V_CVTPD2QQ, 0, x, m);        /* of a NaN and less than any is left 2^63 */
			ev_k(a, V_MOVA64, 0, 0, rm_lit(j_lit64(c, ~0ull >> 1), 0), 7, 0);
		} else {
			ev(a, V_PXORD, 1, 1, rm_reg(1));
			ev(a, V_MAXPD, 1, x, rm_reg(1));
			ev_i(a, V_CMPPD, 7, x, rm_reg(x), 0, 0, 3);
			rounded(a, V_CVTPD2UQQ, 0, 1, m);
			ev_k(a, V_MOVA64, 0, 0, rm_lit(j_lit64(c, 1ull << 63), 0), 7, 0);
		}
		jv_put(c, in->o[0], q, 0);
	}
	return true;
}

/* zmm d = 16 lanes of f32 as halves in 32 bits each: to nearest, or cut off */
void jit_to_half(struct jcomp *c, bool bf, int d, int x, bool cut)
{
	struct as *a = &c->a;

	ev_i(a, V_CMPPS, 7, x, rm_reg(x), 0, 0, 3);
	if (!bf) {
		ev_n(a, V_CVTPS2PH, x, 0, rm_reg(d), 0, 0, 0, 32, 1);
		b1(a, cut ? 3 : 0);
		ev(a, V_PMOVZXWD, d, 0, rm_reg(d));
	} else if (cut) {
		jl_shift(c, LOP_SHR, false, 0, d, x, 16);
	} else {                /* + 0x7fff and the last bit that stays */
		jl_shift(c, LOP_SHR, false, 0, 4, x, 16);
		ev(a, V_PANDD, 4, 4, rm_lit(j_lit32(c, 1), 0));
		ev(a, V_PADDD, 4, 4, rm_reg(x));
		ev(a, V_PADDD, 4, 4, rm_lit(j_lit32(c, 0x7fff), 0));
		jl_shift(c, LOP_SHR, false, 0, d, 4, 16);
	}
	ev_k(a, V_MOVA32, d, 0, rm_lit(j_lit32(c, 0x7fff), 0), 7, 0);
}

static bool to_half(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool pair = in->type == T_F16X2 || in->type == T_BF16X2, bf = in->type == T_BF16 || in->type == T_BF16X2;
	bool cut = in->sub == RND_RZ;
	u32 p;

	if (in->sub > RND_RZ || type_bytes(in->stype) == 8 || (pair && in->stype != T_F32))
		return false;
	/* an integer that f32 rounds is beyond all halves, but not beyond a bf16 */
	if (is_int(in->stype) && (cut || (bf && type_bytes(in->stype) == 4)))
		return false;
	for (p = 0; p < 2; p++) {
		if (is_int(in->stype)) {
			jl_extend(c, 0, jv_obs(c, in->o[1], 0, p, 0), in->stype);
			ev(a, type_is_signed(in->stype) ? V_CVTDQ2PS : V_CVTUDQ2PS, 0, 0, rm_reg(0));
			jit_to_half(c, bf, 0, 0, false);
		} else {
			jit_to_half(c, bf, 0, f32_of(c, in, in->o[1], p, 0), cut);
		}
		if (pair) {             /* the first source is the upper half */
			jit_to_half(c, bf, 1, f32_of(c, in, in->o[2], p, 1), cut);
			jl_shift(c, LOP_SHL, false, 0, 0, 0, 16);
			ev(a, V_PORD, 0, 0, rm_reg(1));
		}
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

/* Integers of up to 32 bits that are clamped to what the result holds. */
static bool clamp(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 bits = type_bytes(in->type) * 8, p;
	bool sd = type_is_signed(in->type), ss = type_is_signed(in->stype);
	u32 top = sd ? (1u << (bits - 1)) - 1 : bits == 32 ? ~0u : (1u << bits) - 1;

	for (p = 0; p < 2; p++) {
		jl_extend(c, 0, jv_obs(c, in->o[1], 0, p, 0), in->stype);
		if (ss)
			ev(a, V_PMAXSD, 0, 0, rm_lit(j_lit32(c, sd ? ~top : 0), 0));
		ev(a, ss && sd ? V_PMINSD : V_PMINUD, 0, 0, rm_lit(j_lit32(c, top), 0));
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

bool jit_cvt_float(struct jcomp *c, const struct insn *in)
{
	enum type dt = in->type, at = in->stype;
	bool pair = dt == T_F16X2 || dt == T_BF16X2, ok, back;

	if (in->dw != (type_bytes(dt) == 8) || in->aw != (type_bytes(at) == 8) || (in->flags & INF_RELU) ||
	    (!is_float(at) && !is_int(at)) || (!is_float(dt) && !is_int(dt) && !pair))
		return false;
	if (is_int(dt) && is_int(at))
		return (in->flags & INF_SAT) && !in->dw && !in->aw && clamp(c, in);
	if ((in->flags & INF_SAT) && !(is_int(dt) || (dt == T_F32 && (at == T_F32 || at == T_F64))))
		return false;
	/* a denormal that is to be rounded, or to stay */
	back = is_float(at) && !(is_int(dt) && (!in->sub || in->sub == RND_RZI || in->sub == RND_RNI)) && jit_mxcsr_for(c, MXCSR_BASE);
	if (is_int(dt))
		ok = in->dw ? to_int64(c, in) : to_int32(c, in);
	else
		ok = dt == T_F64 ? to_f64(c, in) : dt == T_F32 ? to_f32(c, in) : to_half(c, in);
	if (ok && back)
		jit_mxcsr_back(c);
	return ok;
}
