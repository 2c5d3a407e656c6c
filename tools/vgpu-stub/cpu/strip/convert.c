/* SPDX-License-Identifier: MIT */
/* Conversions of a strip on vectors, as cvt.c says (PTX ISA 9.7.9.21, cvt); what is left goes to call8.c. Temporaries: ymm 0 to 3. */
#include "mem.h"
#include "vex.h"

const u8 s_round_imm[] = { [RND_RNI] = 8, [RND_RMI] = 9, [RND_RPI] = 10, [RND_RZI] = 11 };       /* of X_ROUNDPS and X_ROUNDPD */

/* MXCSR as the conversion of an f32 wants it; false: the kernel has another */
static bool single(struct scomp *c, const struct insn *in)
{
	u32 want = in->flags & INF_FTZ ? 0x9fc0 : 0x1f80;

	if (c->s->mxcsr != ~0u)
		return c->s->mxcsr == want;
	s_mxcsr(c, want);
	return true;
}

/* d = x, a subnormal as 0 with its sign; ymm1, ymm2 are lost */
static void flush(struct scomp *c, int d, int x)
{
	struct as *a = &c->a;

	vy(a, X_PAND, 1, x, s_splat32(c, 0x7fffffff));
	vy(a, X_MOVU, 2, 0, s_splat32(c, 0x007fffff));
	vr(a, X_PCMPGTD, 1, 1, 2);
	vy(a, X_POR, 1, 1, s_splat32(c, 1u << 31));
	vr(a, X_PAND, d, x, 1);
}

/*
 * x as an instruction that rounds to whole numbers wants it; -1: as it is not to be had in this kernel's mode. To the nearest or to zero a subnormal is 0, flushed or
 * not, and has its sign; up or down it is 1 or -1, if it is not flushed: by the mode, or by its bits.
 */
static int to_round(struct scomp *c, const struct insn *in, int x)
{
	if (in->sub == RND_RZI || in->sub == RND_RNI)
		return x;
	if (c->s->mxcsr == ~0u || !(in->flags & INF_FTZ) || c->s->mxcsr & MXCSR_FLUSH)
		return single(c, in) || (in->flags & INF_FTZ) ? x : -1;
	flush(c, 0, x);
	return 0;
}

/* The same for an f64. */
static bool wide(struct scomp *c)
{
	if (c->s->mxcsr != 0x1f80 && c->s->mxcsr != ~0u)
		return false;
	s_mxcsr(c, 0x1f80);
	return true;
}

/* To 32 bits or fewer, saturated; a NaN is 0. */
static bool single_to_int(struct scomp *c, const struct insn *in)
{
	u32 bits = type_bytes(in->type) * 8, top = type_is_signed(in->type) ? (1u << (bits - 1)) - 1 : (u32)((1ull << bits) - 1);
	struct as *a = &c->a;
	int x;

	if (in->sub < RND_RNI || in->sub > RND_RPI)
		return false;
	x = in->stype == T_F32 ? sv(c, in->o[1], 0, 0, 0) : 0;
	if (in->stype != T_F32)
		s_half_wide(c, in->stype, in->o[1], 0);
	if (in->stype != T_F16)
		x = to_round(c, in, x);
	if (x < 0)
		return false;
	if (in->sub == RND_RZI)
		vr(a, X_MOVU, 1, 0, x);
	else
		vyi(a, X_ROUNDPS, 1, 0, rm_reg(x), s_round_imm[in->sub]);
	if (in->type == T_S32 || bits < 32) {
		vr(a, X_CVTTPS2DQ, 2, 0, 1);
		vyi(a, X_CMPPS, 3, 1, s_splat32(c, 0x4f000000), 0x1d);
		vyi(a, X_BLENDVPS, 2, 2, s_splat32(c, 0x7fffffff), 3u << 4);
		vyi(a, X_CMPPS, 3, 1, rm_reg(1), 7);
		vr(a, X_PAND, 2, 2, 3);
		if (bits < 32) {
			vy(a, X_PMINSD, 2, 2, s_splat32(c, top));
			vy(a, X_PMAXSD, 2, 2, s_splat32(c, type_is_signed(in->type) ? ~top : 0));
		}
		sput(c, in->o[0], 0, 2);
		return true;
	}
	vr(a, X_PXOR, 2, 2, 2);
	vr(a, X_MAXPS, 1, 1, 2);                /* a NaN: 0 */
	vyi(a, X_CMPPS, 3, 1, s_splat32(c, 0x4f000000), 0x1d);
	vy(a, X_SUBPS, 2, 1, s_splat32(c, 0x4f000000));
	vr(a, X_CVTTPS2DQ, 2, 0, 2);
	vy(a, X_PXOR, 2, 2, s_splat32(c, 1u << 31));
	vr(a, X_CVTTPS2DQ, 0, 0, 1);
	vyi(a, X_BLENDVPS, 0, 0, rm_reg(2), 3u << 4);
	vyi(a, X_CMPPS, 3, 1, s_splat32(c, 0x4f800000), 0x1d);
	vr(a, X_POR, 0, 0, 3);
	sput(c, in->o[0], 0, 0);
	return true;
}

static u64 bits_of(double v)
{
	u64 u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

/*
 * The least of the type's largest number and x goes through the other instructions as it is; of less than any, and of a NaN, those leave 2^31.
 * 32 bits without a sign are 2^31 less on their way; of fewer, a NaN is the highest one.
 */
static bool double_to_int(struct scomp *c, const struct insn *in)
{
	u32 bits = type_bytes(in->type) * 8, p;
	bool sg = type_is_signed(in->type);
	struct as *a = &c->a;

	if (bits > 32 || in->sub < RND_RNI || in->sub > RND_RPI || !wide(c))
		return false;
	for (p = 0; p < 2; p++) {
		int x = sv(c, in->o[1], 1, p, 0), d = p ? 1 : 2;

		if (sg) {
			vy(a, X_MOVU, 1, 0, s_splat64(c, bits_of((double)((1ull << (bits - 1)) - 1))));
			vr(a, X_MINPD, 1, 1, x);
			vyi(a, X_ROUNDPD, 1, 0, rm_reg(1), s_round_imm[in->sub]);
			vr(a, X_CVTTPD2DQ, d, 0, 1);
		} else if (bits < 32) {
			vyi(a, X_CMPPD, 3, x, rm_reg(x), 3);
			vr(a, X_PXOR, 1, 1, 1);
			vr(a, X_MAXPD, 1, x, 1);
			vy(a, X_MINPD, 1, 1, s_splat64(c, bits_of((double)((1ull << bits) - 1))));
			vyi(a, X_ROUNDPD, 1, 0, rm_reg(1), s_round_imm[in->sub]);
			vyi(a, X_BLENDVPD, 1, 1, s_splat64(c, bits_of((double)(1ull << (bits - 1)))), 3u << 4);
			vr(a, X_CVTTPD2DQ, d, 0, 1);
		} else {
			vyi(a, X_CMPPD, 3, x, rm_reg(x), 3);
			vr(a, X_PXOR, 1, 1, 1);
			vr(a, X_MAXPD, 1, x, 1);        /* a NaN: 0 */
			vy(a, X_MINPD, 1, 1, s_splat64(c, 0x41efffffffe00000ull));
			vyi(a, X_ROUNDPD, 1, 0, rm_reg(1), s_round_imm[in->sub]);
			vyi(a, X_BLENDVPD, 1, 1, s_splat64(c, 0x41e0000000000000ull), 3u << 4);
			vy(a, X_SUBPD, 1, 1, s_splat64(c, 0x41e0000000000000ull));
			vr(a, X_CVTTPD2DQ, d, 0, 1);
		}
	}
	vyi(a, X_INSERT, 0, 2, rm_reg(1), 1);
	if (sg && bits < 32)
		vy(a, X_PMAXSD, 0, 0, s_splat32(c, 0u - (1u << (bits - 1))));
	if (!sg && bits == 32)
		vy(a, X_PXOR, 0, 0, s_splat32(c, 1u << 31));
	sput(c, in->o[0], 0, 0);
	return true;
}

static bool round_double(struct scomp *c, const struct insn *in)
{
	u32 p;

	if (in->sub < RND_RNI || in->sub > RND_RPI || !wide(c))
		return false;
	for (p = 0; p < 2; p++) {
		int x = sv(c, in->o[1], 1, p, 0);

		vyi(&c->a, X_ROUNDPD, 0, 0, rm_reg(x), s_round_imm[in->sub]);
		sput(c, in->o[0], p, 0);
	}
	return true;
}

/*
 * A number below 2^32 in the low bits of 2^52 as a double has that value added; the upper half of 64 bits likewise in 2^84. The one sum of
 * both is what rounds.
 */
static bool unsigned_or_long_to_double(struct scomp *c, const struct insn *in)
{
	const u64 low = 0x4330000000000000ull, high = in->stype == T_S64 ? 0x4530000080000000ull : 0x4530000000000000ull;
	struct as *a = &c->a;
	u32 p;
	int x;

	s_mxcsr(c, 0x1f80);     /* elsewhere 0 may become -0 */
	for (p = 0; p < 2; p++) {
		if (in->stype == T_U32) {
			x = sv_obs(c, in->o[1], 0, 0, 0);
			if (p) {
				vyi(a, X_EXTRACT, x, 0, rm_reg(0), 1);
				x = 0;
			}
			vr(a, X_PMOVZXDQ, 0, 0, x);
			vy(a, X_POR, 0, 0, s_splat64(c, low));
			vy(a, X_SUBPD, 0, 0, s_splat64(c, low));
		} else {
			x = sv(c, in->o[1], 1, p, 0);
			vyi(a, X_SHIQ, 2, 1, rm_reg(x), 32);
			vy(a, X_PXOR, 1, 1, s_splat64(c, high));
			vy(a, X_SUBPD, 1, 1, s_splat64(c, high + 0x100000));
			vyi(a, X_PBLENDD, 0, x, s_splat64(c, low), 0xaa);
			vr(a, X_ADDPD, 0, 0, 1);
		}
		sput(c, in->o[0], p, 0);
	}
	return true;
}

/* Four lanes of 32 bits at a time, by op. */
static void to_double(struct scomp *c, const struct insn *in, u32 op)
{
	u32 p;

	for (p = 0; p < 2; p++) {
		int x = sv_obs(c, in->o[1], 0, 0, 0);

		if (type_bytes(in->stype) < 4) {
			s_extend(c, 0, x, in->stype);
			x = 0;
		}
		if (p)
			vyi(&c->a, X_EXTRACT, x, 0, rm_reg(0), 1);
		vr(&c->a, op, 0, 0, p ? 0 : x);
		sput(c, in->o[0], p, 0);
	}
}

/* Between 0 and 1; a NaN and -0 give 0. By the bits, in whatever mode is set. */
static void saturate(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x = sv(c, in->o[1], 0, 0, 0);

	vyi(a, X_CMPPS, 1, x, rm_reg(x), 7);
	vr(a, X_PAND, 0, x, 1);
	vr(a, X_PXOR, 1, 1, 1);
	vr(a, X_PMAXSD, 0, 0, 1);
	vy(a, X_PMINSD, 0, 0, s_splat32(c, 0x3f800000));
	if (in->flags & INF_FTZ) {
		vy(a, X_MOVU, 1, 0, s_splat32(c, 0x007fffff));
		vr(a, X_PCMPGTD, 1, 0, 1);
		vr(a, X_PAND, 0, 0, 1);
	}
	sput(c, in->o[0], 0, 0);
}

/* Whole numbers of 32 bits or fewer */
static void narrow_saturated(struct scomp *c, const struct insn *in)
{
	u32 bits = type_bytes(in->type) * 8, most = (u32)(~0ull >> (64 - bits));
	bool sg = type_is_signed(in->type);
	struct as *a = &c->a;

	if (sg)
		most >>= 1;
	s_extend(c, 0, sv_obs(c, in->o[1], 0, 0, 0), (enum type)in->stype);
	if (in->stype == T_U32) {
		vy(a, X_PMINUD, 0, 0, s_splat32(c, most));
	} else {
		if (most <= 0x7fffffff)
			vy(a, X_PMINSD, 0, 0, s_splat32(c, most));
		vy(a, X_PMAXSD, 0, 0, s_splat32(c, sg ? ~most : 0));
	}
	sput(c, in->o[0], 0, 0);
}

bool s_cvt(struct scomp *c, const struct insn *in)
{
	enum type dt = in->type, at = in->stype;
	bool di = !type_is_float(dt) && dt != T_TF32, ai = !type_is_float(at) && at != T_TF32;
	struct as *a = &c->a;
	int x;

	if (dt == T_F64 && at == T_F32 && in->dw == 1 && !in->aw && !in->flags && (c->s->mxcsr == 0x1f80 || c->s->mxcsr == ~0u) &&
	    c->r[in->o[0]].v.cls == SC_VARY) {
		s_mxcsr(c, 0x1f80);     /* subnormals count */
		to_double(c, in, X_CVTPS2PD);
		return true;
	}
	if (dt == T_F32 && at == T_F64 && !in->dw && !(in->flags & ~INF_FTZ) && in->sub <= RND_RN && c->r[in->o[0]].v.cls == SC_VARY &&
	    (c->s->mxcsr == 0x1f80 || c->s->mxcsr == ~0u)) {
		s_mxcsr(c, 0x1f80);
		x = sv(c, in->o[1], 1, 0, 0);
		vr(a, X_CVTPD2PS, 0, 0, x);
		x = sv(c, in->o[1], 1, 1, 1);
		vr(a, X_CVTPD2PS, 1, 0, x);
		vyi(a, X_INSERT, 0, 0, rm_reg(1), 1);
		if (in->flags & INF_FTZ)
			flush(c, 0, 0);
		s_canon(c, 0, 0, 1);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (dt == T_F64 && (at == T_S32 || (ai && type_bytes(at) < 4)) && in->dw == 1 && !in->aw && !in->flags && c->r[in->o[0]].v.cls == SC_VARY) {
		to_double(c, in, X_CVTDQ2PD);   /* exact */
		return true;
	}
	if (dt == T_F64 && (at == T_U32 || at == T_U64 || at == T_S64) && in->dw == 1 && !in->flags && in->sub <= RND_RN &&
	    c->r[in->o[0]].v.cls == SC_VARY && (c->s->mxcsr == 0x1f80 || c->s->mxcsr == ~0u))
		return unsigned_or_long_to_double(c, in);
	if (dt == T_F64 && at == T_F64 && in->dw == 1 && !in->flags && c->r[in->o[0]].v.cls == SC_VARY)
		return round_double(c, in);
	if (di && at == T_F64 && !in->dw && !(in->flags & ~INF_SAT) && c->r[in->o[0]].v.cls == SC_VARY)
		return double_to_int(c, in);
	if (dt == T_F32 && at == T_F32 && (in->flags & ~INF_FTZ) == INF_SAT && in->sub < RND_RNI && !in->aw && !in->dw && c->r[in->o[0]].v.cls == SC_VARY) {
		saturate(c, in);
		return true;
	}
	if (dt == T_F16 || dt == T_BF16 || dt == T_F16X2 || dt == T_BF16X2 || (dt == T_F32 && (at == T_F16 || at == T_BF16)))
		return s_half_cvt(c, in);
	/* of a number with a fraction a whole one is saturated in any case */
	if ((in->flags & INF_RELU) || ((in->flags & INF_SAT) && !di) || in->aw || in->dw || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	if (type_bytes(at) > 4 || type_bytes(dt) > 4 || dt > T_F64 || at > T_F64)
		return false;
	if (di && ai && (in->flags & INF_SAT)) {
		narrow_saturated(c, in);
		return true;
	}
	if (di && ai) {
		x = sv_obs(c, in->o[1], 0, 0, 0);
		s_extend(c, 0, x, at);
		if (type_bytes(dt) < type_bytes(at) || type_is_signed(dt) != type_is_signed(at))
			s_extend(c, 0, 0, dt);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (dt == T_F32 && ai && in->sub <= RND_RN && type_bytes(at) < 4) {
		x = sv_obs(c, in->o[1], 0, 0, 0);
		s_extend(c, 0, x, at);
		vr(a, X_CVTDQ2PS, 0, 0, 0);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (di && (at == T_F32 || at == T_F16 || at == T_BF16))
		return single_to_int(c, in);
	if (dt == T_F32 && at == T_F32 && in->sub >= RND_RNI && in->sub <= RND_RPI) {
		x = to_round(c, in, sv(c, in->o[1], 0, 0, 0));
		if (x < 0)
			return false;
		vyi(a, X_ROUNDPS, 0, 0, rm_reg(x), s_round_imm[in->sub]);
		s_canon(c, 0, 0, 1);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	return false;
}
