/* SPDX-License-Identifier: MIT */
/*
 * The approximate functions on a strip, as math.inc computes them: the same operations in the same order, so that results are
 * the interpreter's bit for bit. Where no lane that runs has an operand that wants care (a NaN, an infinite or subnormal one, or a result of
 * that kind), ex2 and lg2 take a short way, which leaves out what does nothing then; what it computes does not depend on flushing.
 */
#include "strip.h"
#include "vex.h"

static struct rm at(u32 off) { return rm_mem(R15, (s32)(offsetof(struct sprivate, lanes) + off)); }

static struct rm lit32(struct scomp *c, float f)
{
	u32 u;

	memcpy(&u, &f, 4);
	return s_splat32(c, u);
}

static struct rm lit64(struct scomp *c, double d)
{
	u64 u;

	memcpy(&u, &d, 8);
	return s_splat64(c, u);
}

/* d = (...(k[0] * x + k[1]) * x + ...) + k[n - 1], floats or doubles */
static void poly(struct scomp *c, bool w, int d, int x, const double *k, u32 n)
{
	u32 mul = w ? X_MULPD : X_MULPS, add = w ? X_ADDPD : X_ADDPS, i;

	vy(&c->a, X_MOVU, d, 0, w ? lit64(c, k[0]) : lit32(c, (float)k[0]));
	for (i = 1; i < n; i++) {
		vr(&c->a, mul, d, d, x);
		vy(&c->a, add, d, d, w ? lit64(c, k[i]) : lit32(c, (float)k[i]));
	}
}

/* A jump for when a lane that runs has a sign in ymm0. */
static u32 unless_none(struct scomp *c)
{
	vr(&c->a, X_TESTPS, 0, 0, s_mask(c));
	return g_jcc(&c->a, CC_NE);
}

/* ymm3 = 2^f for f in ymm1; ymm0 and ymm2 are lost */
static void ex2_fraction(struct scomp *c)
{
	struct as *a = &c->a;

	vr(a, X_MULPS, 2, 1, 1);
	vy(a, X_MULPS, 0, 1, lit32(c, 1.5353362e-4f));
	vy(a, X_ADDPS, 0, 0, lit32(c, 1.3398874e-3f));
	vr(a, X_MULPS, 0, 0, 2);
	vy(a, X_MULPS, 3, 1, lit32(c, 9.6184369e-3f));
	vy(a, X_ADDPS, 3, 3, lit32(c, 5.5503327e-2f));
	vr(a, X_ADDPS, 3, 3, 0);
	vr(a, X_MULPS, 3, 3, 2);
	vy(a, X_MULPS, 0, 1, lit32(c, 2.4022643e-1f));
	vy(a, X_ADDPS, 0, 0, lit32(c, 6.9314718e-1f));
	vr(a, X_ADDPS, 0, 0, 3);
	vr(a, X_MULPS, 3, 0, 1);
	vy(a, X_ADDPS, 3, 3, lit32(c, 1.0f));
}

/* ymm3 = 2^x for x in ymm1, which is lost with ymm2 and ymm0; what x is when it is no number comes out as something */
static void ex2_core(struct scomp *c, bool keep)
{
	struct as *a = &c->a;

	vy(a, X_MOVU, 2, 0, lit32(c, 200.0f));
	vr(a, X_MINPS, 1, 2, 1);
	vy(a, X_MOVU, 2, 0, lit32(c, -200.0f));
	vr(a, X_MAXPS, 1, 2, 1);
	vyi(a, X_ROUNDPS, 2, 0, rm_reg(1), 0x0c);
	vr(a, X_SUBPS, 1, 1, 2);
	vr(a, X_CVTTPS2DQ, 2, 0, 2);
	vy(a, X_MOVU_ST, 2, 0, at(64));
	ex2_fraction(c);
	vy(a, X_MOVU, 2, 0, at(64));
	if (keep) {                     /* the same times 2^149, for who wants what is subnormal of it */
		vy(a, X_PADDD, 0, 2, s_splat32(c, 276));
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 23);
		vr(a, X_MULPS, 0, 0, 3);
		vy(a, X_MOVU_ST, 0, 0, at(64));
	}
	vyi(a, X_SHID, SH_SAR, 0, rm_reg(2), 1);
	vr(a, X_PSUBD, 2, 2, 0);
	vy(a, X_PADDD, 0, 0, s_splat32(c, 127));
	vy(a, X_PADDD, 2, 2, s_splat32(c, 127));
	vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 23);
	vyi(a, X_SHID, SH_LEFT, 2, rm_reg(2), 23);
	vr(a, X_MULPS, 3, 3, 0);
	vr(a, X_MULPS, 3, 3, 2);
}

/* |x| is 126 at most: 2^x has the fraction's bits and another exponent */
static void ex2_short(struct scomp *c, const struct insn *in, int d)
{
	struct as *a = &c->a;
	int x = sv(c, in->o[1], 0, 0, 1);

	vyi(a, X_ROUNDPS, 2, 0, rm_reg(x), 0x0c);
	vr(a, X_SUBPS, 1, x, 2);
	ex2_fraction(c);
	x = sv(c, in->o[1], 0, 0, 2);
	vr(a, X_CVTPS2DQ, 2, 0, x);
	vyi(a, X_SHID, SH_LEFT, 2, rm_reg(2), 23);
	vr(a, X_PADDD, d, 3, 2);
}

/* how: as in jit_mode.c; what is subnormal by hand */
static void ex2(struct scomp *c, const struct insn *in, int how)
{
	struct as *a = &c->a;
	int x = sv(c, in->o[1], 0, 0, 1), d = sdst(c, in->o[0], 0, 3);
	u32 other, done;

	vy(a, X_PAND, 0, x, s_splat32(c, 0x7fffffffu));
	vy(a, X_PCMPGTD, 0, 0, lit32(c, 126.0f));
	other = unless_none(c);
	ex2_short(c, in, d);
	done = g_jmp(a);
	g_here(a, other);
	x = sv(c, in->o[1], 0, 0, 1);
	if (x != 1)
		vr(a, X_MOVU, 1, 0, x);
	ex2_core(c, how == EX2_KEEP);
	x = sv(c, in->o[1], 0, 0, 0);
	if (how == EX2_FLUSH) {         /* not less than -126 */
		vyi(a, X_CMPPS, 1, x, lit32(c, -126.0f), 0x15);
		vr(a, X_PAND, 3, 3, 1);
	} else if (how == EX2_KEEP) {   /* so many times 2^-149 */
		vy(a, X_CVTPS2DQ, 2, 0, at(64));
		vyi(a, X_CMPPS, 1, x, lit32(c, -126.0f), 0x11);
		vyi(a, X_BLENDVPS, 3, 3, rm_reg(2), 1u << 4);
	}
	vyi(a, X_CMPPS, 1, x, rm_reg(x), 3);
	vyi(a, X_BLENDVPS, 3, 3, rm_reg(x), 1u << 4);
	s_canon(c, d, 3, 0);
	g_here(a, done);
	sput(c, in->o[0], 0, d);
}

/* ymm2 = log2 of what is in ymm0, with what lies at at(64) added to the exponent, if there is; ymm1 and ymm3 are lost */
static void lg2_core(struct scomp *c, bool adds)
{
	struct as *a = &c->a;
	static const double co[6] = { 0.26230819f, 0.32059890f, 0.41219859f, 0.57707802f, 0.96179669f, 2.8853901f };

	vy(a, X_PSUBD, 0, 0, s_splat32(c, 0x3f3504f3u));        /* u */
	vyi(a, X_SHID, SH_SAR, 1, rm_reg(0), 23);               /* e */
	vr(a, X_CVTDQ2PS, 3, 0, 1);
	if (adds)
		vy(a, X_ADDPS, 3, 3, at(64));
	vy(a, X_PAND, 0, 0, s_splat32(c, 0x7fffffu));
	vy(a, X_PADDD, 0, 0, s_splat32(c, 0x3f3504f3u));        /* m */
	vy(a, X_ADDPS, 1, 0, lit32(c, 1.0f));
	vy(a, X_SUBPS, 0, 0, lit32(c, 1.0f));
	vr(a, X_DIVPS, 0, 0, 1);                                /* s */
	vr(a, X_MULPS, 1, 0, 0);
	poly(c, false, 2, 1, co, 6);
	vr(a, X_MULPS, 2, 2, 0);
	vr(a, X_ADDPS, 2, 2, 3);
}

static void lg2_long(struct scomp *c, const struct insn *in, int d)
{
	struct as *a = &c->a;
	int x = sv(c, in->o[1], 0, 0, 0);

	/* subnormals times 2^23: y; the places: x, y, e0 */
	vy(a, X_MOVU_ST, x, 0, at(0));
	vyi(a, X_CMPPS, 1, x, lit32(c, 1.17549435e-38f), 0x11);
	vy(a, X_MULPS, 2, x, lit32(c, 8388608.0f));
	vyi(a, X_BLENDVPS, 0, x, rm_reg(2), 1u << 4);
	vy(a, X_PAND, 1, 1, lit32(c, -23.0f));
	vy(a, X_MOVU_ST, 0, 0, at(32));
	vy(a, X_MOVU_ST, 1, 0, at(64));
	lg2_core(c, true);
	vy(a, X_MOVU, 0, 0, at(0));
	vyi(a, X_CMPPS, 1, 0, s_splat32(c, 0x7f800000u), 0);
	vyi(a, X_BLENDVPS, 2, 2, rm_reg(0), 1u << 4);
	vr(a, X_PXOR, 3, 3, 3);
	vyi(a, X_CMPPS, 1, 0, rm_reg(3), 0x11);
	vyi(a, X_BLENDVPS, 2, 2, s_splat32(c, 0x7fffffffu), 1u << 4);
	vy(a, X_MOVU, 1, 0, at(32));
	vyi(a, X_CMPPS, 1, 1, rm_reg(3), 0);
	vyi(a, X_BLENDVPS, 2, 2, s_splat32(c, 0xff800000u), 1u << 4);
	vyi(a, X_CMPPS, 1, 0, rm_reg(0), 3);
	vyi(a, X_BLENDVPS, 2, 2, rm_reg(0), 1u << 4);
	s_canon(c, d, 2, 1);
}

static void lg2(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x, d = sdst(c, in->o[0], 0, 2);
	u32 other, done;
	bool apart;

	if (!jit_mode_other(c->mx, in))
		s_mxcsr(c, in->mxcsr);
	x = sv(c, in->o[1], 0, 0, 0);
	/* from 2^-126 to below infinity, as numbers without a sign */
	vy(a, X_PADDD, 0, x, s_splat32(c, 0x7f800000u));
	vy(a, X_PCMPGTD, 0, 0, s_splat32(c, 0xfeffffffu));
	other = unless_none(c);
	x = sv(c, in->o[1], 0, 0, 0);
	if (x != 0)
		vr(a, X_MOVU, 0, 0, x);
	lg2_core(c, false);
	if (d != 2)
		vr(a, X_MOVU, d, 0, 2);
	done = g_jmp(a);
	g_here(a, other);
	apart = s_mode_begin(c, in);
	lg2_long(c, in, d);
	if (apart)
		s_mode_end(c);
	g_here(a, done);
	sput(c, in->o[0], 0, d);
}

static void sine(struct scomp *c, const struct insn *in, bool cosine)
{
	struct as *a = &c->a;
	static const double si[4] = { 2.5997518590793793e-6, -1.9806478993310625e-4, 8.333015418111836e-3, -1.6666657020589645e-1 };
	u32 p;
	int x = sv(c, in->o[1], 0, 0, 0);

	vy(a, X_MOVU_ST, x, 0, at(0));
	for (p = 0; p < 2; p++) {
		vy(a, X_CVTPS2PD, 0, 0, at(16 * p));
		vy(a, X_MULPD, 1, 0, lit64(c, 0.31830988618379067154));
		if (cosine)
			vy(a, X_ADDPD, 1, 1, lit64(c, 0.5));
		vy(a, X_ADDPD, 1, 1, lit64(c, 6755399441055744.0));     /* u */
		vyi(a, X_SHIQ, SH_LEFT, 3, rm_reg(1), 63);
		vy(a, X_SUBPD, 2, 1, lit64(c, 6755399441055744.0));
		if (cosine)
			vy(a, X_SUBPD, 2, 2, lit64(c, 0.5));
		vy(a, X_MULPD, 2, 2, lit64(c, 3.14159265358979323846));
		vr(a, X_SUBPD, 0, 0, 2);                                /* r */
		vy(a, X_PAND, 2, 0, s_splat64(c, ~0ull >> 1));
		vyi(a, X_CMPPD, 2, 2, lit64(c, 2.0), 0x1e);
		vr(a, X_PANDN, 0, 2, 0);
		vr(a, X_MULPD, 1, 0, 0);                                /* z */
		poly(c, true, 2, 1, si, 4);
		vr(a, X_MULPD, 2, 1, 2);
		vy(a, X_ADDPD, 2, 2, lit64(c, 1.0));
		vr(a, X_MULPD, 2, 0, 2);
		vr(a, X_PXOR, 2, 2, 3);                                 /* s */
		vr(a, X_CVTPD2PS, 2, 0, 2);
		if (!p)
			vx_x(a, X_MOVU_ST, 2, 0, at(32));
	}
	/* a load of both halves from where each was stored would wait for the stores */
	vx_x(a, X_MOVU, 1, 0, at(32));
	vyi(a, X_INSERT, 3, 1, rm_reg(2), 1);
	/* where x is a number and not infinite */
	vy(a, X_MOVU, 0, 0, at(0));
	vr(a, X_SUBPS, 0, 0, 0);
	vr(a, X_PXOR, 1, 1, 1);
	vyi(a, X_CMPPS, 0, 0, rm_reg(1), 0);
	vy(a, X_MOVU, 1, 0, s_splat32(c, 0x7fffffffu));
	vyi(a, X_BLENDVPS, 1, 1, rm_reg(3), 0u << 4);
	sput(c, in->o[0], 0, 1);
}

static void tanh_(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x = sv(c, in->o[1], 0, 0, 0);

	/* places: x, |x|, t */
	vy(a, X_MOVU_ST, x, 0, at(0));
	vy(a, X_PAND, 1, x, s_splat32(c, 0x7fffffffu));
	vy(a, X_MOVU_ST, 1, 0, at(32));
	vy(a, X_MOVU, 2, 0, lit32(c, 16.0f));
	vr(a, X_MINPS, 1, 2, 1);                /* a NaN stays */
	vy(a, X_MULPS, 1, 1, lit32(c, 2.8853901f));
	ex2_core(c, false);
	vy(a, X_ADDPS, 3, 3, lit32(c, 1.0f));
	vy(a, X_MOVU, 2, 0, lit32(c, 2.0f));
	vr(a, X_DIVPS, 2, 2, 3);
	vy(a, X_MOVU, 3, 0, lit32(c, 1.0f));
	vr(a, X_SUBPS, 3, 3, 2);                /* t */
	vy(a, X_MOVU, 0, 0, at(0));
	vr(a, X_MULPS, 1, 0, 0);                /* s */
	vy(a, X_MULPS, 2, 1, lit32(c, 0.13333333f));
	vy(a, X_MOVU, 0, 0, lit32(c, 0.33333333f));
	vr(a, X_SUBPS, 2, 0, 2);
	vy(a, X_MOVU, 0, 0, at(32));
	vr(a, X_MULPS, 1, 0, 1);                /* a * s */
	vr(a, X_MULPS, 1, 1, 2);
	vr(a, X_SUBPS, 1, 0, 1);
	vyi(a, X_CMPPS, 2, 0, lit32(c, 0.125f), 0x11);
	vyi(a, X_BLENDVPS, 3, 3, rm_reg(1), 2u << 4);
	vy(a, X_MOVU, 0, 0, at(0));
	vy(a, X_PAND, 1, 0, s_splat32(c, 1u << 31));
	vr(a, X_POR, 3, 3, 1);
	vyi(a, X_CMPPS, 1, 0, rm_reg(0), 3);
	vyi(a, X_BLENDVPS, 3, 3, rm_reg(0), 1u << 4);
	s_canon(c, 3, 3, 1);
	sput(c, in->o[0], 0, 3);
}

bool s_approx(struct scomp *c, const struct insn *in)
{
	int how = jit_ex2_mode(c->mx, in);
	bool apart;

	if (in->type != T_F32)
		return false;
	if (in->lop == LOP_EX2) {
		if (how == EX2_PLAIN)
			s_mxcsr(c, in->mxcsr);
		ex2(c, in, how);
		return true;
	}
	if (in->lop == LOP_LG2) {
		lg2(c, in);
		return true;
	}
	apart = s_mode_begin(c, in);
	if (!apart)
		s_mxcsr(c, in->mxcsr);
	switch (in->lop) {
	case LOP_SIN: sine(c, in, false); break;
	case LOP_COS: sine(c, in, true); break;
	case LOP_TANH: tanh_(c, in); break;
	default: return false;
	}
	if (apart)
		s_mode_end(c);
	return true;
}
