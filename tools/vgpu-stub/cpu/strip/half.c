/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of f16 and bf16, one in a register or two, and conversions to and from them, as lanes.def and cvt.c have it: in f32, which
 * holds every operand, rounded once more to the narrow format. Sums and products lose nothing by that (24 bits are more than twice 11 and
 * two); a product with a sum is rounded to odd first. jit_half.c does the same for AVX-512.
 * Temporaries: ymm 0 to 3, sprivate.lanes.
 */
#include "mem.h"
#include "vex.h"

static bool is_bf(u8 t) { return t == T_BF16 || t == T_BF16X2; }
static bool is_pair(u8 t) { return t == T_F16X2 || t == T_BF16X2; }

static struct rm spill(u32 i) { return rm_mem(R15, (s32)(offsetof(struct sprivate, lanes) + 32 * i)); }

/* Of each 16 bytes the even words, and the odd ones. */
static const u8 words[2][32] = {
	{ 0, 1, 4, 5, 8, 9, 12, 13, 128, 128, 128, 128, 128, 128, 128, 128, 0, 1, 4, 5, 8, 9, 12, 13, 128, 128, 128, 128, 128, 128, 128, 128 },
	{ 2, 3, 6, 7, 10, 11, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128, 2, 3, 6, 7, 10, 11, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128 },
};

void s_halves(struct scomp *c, bool up, int d, int x)
{
	vy(&c->a, X_PSHUFB, d, x, rm_lit(s_lit(c, words[up], 32), 0));
	vyi(&c->a, X_PERMQ, d, 0, rm_reg(d), 0x08);
}

/* ymm d = those as f32 */
static void widen(struct scomp *c, u8 t, bool up, int d, int x)
{
	if (!is_bf(t)) {
		s_halves(c, up, d, x);
		vr(&c->a, X_CVTPH2PS, d, 0, d);
	} else if (up) {
		vy(&c->a, X_PAND, d, x, s_splat32(c, 0xffff0000u));
	} else {
		vyi(&c->a, X_SHID, SH_LEFT, d, rm_reg(x), 16);
	}
}

/* ymm d = operand o of a comparison as f32; it has no denormals but those of bf16 */
void s_half_wide(struct scomp *c, u8 t, u32 o, int d) { widen(c, t, false, d, sv_obs(c, o, 0, 0, d)); }

/* ymm 0, of f32, as halves in 32 bits each: to nearest, or cut off. ymm 1 and 2 are lost. */
static void narrow(struct scomp *c, u8 t, bool cut)
{
	struct as *a = &c->a;

	if (!is_bf(t)) {
		s_canon(c, 0, 0, 1);
		vyi(a, X_CVTPS2PH, 0, 0, rm_reg(0), cut ? 3 : 0);
		vr(a, X_PMOVZXWD, 0, 0, 0);
		return;
	}
	vyi(a, X_CMPPS, 1, 0, rm_reg(0), 3);
	if (!cut) {                     /* 0x7fff more, and the last bit that stays */
		vyi(a, X_SHID, SH_RIGHT, 2, rm_reg(0), 16);
		vy(a, X_PAND, 2, 2, s_splat32(c, 1));
		vy(a, X_PADDD, 0, 0, s_splat32(c, 0x7fff));
		vr(a, X_PADDD, 0, 0, 2);
	}
	vyi(a, X_SHID, SH_RIGHT, 0, rm_reg(0), 16);
	vyi(a, X_BLENDVPS, 0, 0, s_splat32(c, 0x7fff), 1u << 4);
}

/*
 * ymm 0 = 0 * 1 + 2 of f16, rounded to odd: the product is exact, what the sum loses is a float of its own (Knuth's two-sum), and where that is
 * not 0 an even last bit goes to the neighbour on its side. A sum that is infinite or NaN has a NaN there, which is not unequal to anything.
 */
static void fma_odd(struct scomp *c)
{
	struct as *a = &c->a;

	vr(a, X_MULPS, 0, 0, 1);
	vr(a, X_ADDPS, 1, 0, 2);        /* the sum */
	vr(a, X_SUBPS, 3, 1, 0);
	vr(a, X_SUBPS, 2, 2, 3);
	vr(a, X_SUBPS, 3, 1, 3);
	vr(a, X_SUBPS, 0, 0, 3);
	vr(a, X_ADDPS, 0, 0, 2);        /* what it lost */
	vr(a, X_PXOR, 2, 2, 2);
	vyi(a, X_CMPPS, 3, 0, rm_reg(2), 12);
	vr(a, X_PXOR, 0, 0, 1);
	vyi(a, X_SHID, SH_SAR, 0, rm_reg(0), 31);
	vy(a, X_POR, 0, 0, s_splat32(c, 1));
	vr(a, X_PAND, 0, 0, 3);
	vyi(a, X_SHID, SH_LEFT, 2, rm_reg(1), 31);
	vyi(a, X_SHID, SH_SAR, 2, rm_reg(2), 31);
	vr(a, X_PANDN, 0, 2, 0);
	vr(a, X_PADDD, 0, 1, 0);
}

/*
 * The same of bf16, whose products may be beyond f32 on both sides: the last bit is set where what is rounded down is not what is rounded up.
 * Place 1 of the lanes is lost; the mode is in's again.
 */
static void fma_odd_wide(struct scomp *c, const struct insn *in)
{
	u32 mode = c->s->mxcsr == ~0u ? in->mxcsr : c->s->mxcsr;
	struct as *a = &c->a;

	vy(a, X_MOVU_ST, 0, 0, spill(1));
	s_ldmxcsr(c, mode | 0x2000);    /* down */
	vr(a, X_MOVU, 3, 0, 2);
	vy(a, X_FMA231PS, 3, 1, spill(1));
	s_ldmxcsr(c, mode | 0x4000);    /* up */
	vr(a, X_MOVU, 0, 0, 2);
	vy(a, X_FMA231PS, 0, 1, spill(1));
	vyi(a, X_CMPPS, 0, 0, rm_reg(3), 4);
	vy(a, X_PAND, 0, 0, s_splat32(c, 1));
	s_ldmxcsr(c, mode | 0x6000);    /* cut off */
	vy(a, X_FMA231PS, 2, 1, spill(1));
	vr(a, X_POR, 0, 0, 2);
	s_ldmxcsr(c, mode);
}

/* ymm 0 = the lesser or greater of 0 and 1: a number wins over a NaN, and -0 is less than 0 */
static void least(struct scomp *c, bool min, bool nan)
{
	struct as *a = &c->a;

	vr(a, min ? X_MINPS : X_MAXPS, 2, 0, 1);
	vr(a, min ? X_MINPS : X_MAXPS, 3, 1, 0);
	vr(a, min ? X_POR : X_PAND, 2, 2, 3);
	if (nan) {
		vyi(a, X_CMPPS, 3, 0, rm_reg(1), 3);
		vr(a, X_POR, 0, 2, 3);
		return;
	}
	vyi(a, X_CMPPS, 3, 0, rm_reg(0), 3);
	vyi(a, X_BLENDVPS, 2, 2, rm_reg(1), 3u << 4);
	vyi(a, X_CMPPS, 3, 1, rm_reg(1), 3);
	vyi(a, X_BLENDVPS, 0, 2, rm_reg(0), 3u << 4);
}

static u32 operands(u32 lop)
{
	switch (lop) {
	case LOP_MAD: case LOP_MADSAT: case LOP_MADRELU: return 3;
	case LOP_RELU: return 1;
	}
	return 2;
}

/* ymm 0 = what the operation makes of ymm 0, 1, 2 */
static void compute(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sat = false, relu = false;

	switch (in->lop) {
	case LOP_ADDSAT: sat = true;
		/* fall through */
	case LOP_ADD: vr(a, X_ADDPS, 0, 0, 1); break;
	case LOP_SUBSAT: sat = true;
		/* fall through */
	case LOP_SUB: vr(a, X_SUBPS, 0, 0, 1); break;
	case LOP_MULSAT: sat = true;
		/* fall through */
	case LOP_MUL: vr(a, X_MULPS, 0, 0, 1); break;
	case LOP_MAD: case LOP_MADSAT: case LOP_MADRELU:
		sat = in->lop == LOP_MADSAT;
		relu = in->lop == LOP_MADRELU;
		if (is_bf(in->type))
			fma_odd_wide(c, in);
		else
			fma_odd(c);
		break;
	case LOP_RELU: relu = true; break;
	case LOP_MIN: case LOP_MINNAN: case LOP_MAX: case LOP_MAXNAN:
		least(c, in->lop == LOP_MIN || in->lop == LOP_MINNAN, in->lop == LOP_MINNAN || in->lop == LOP_MAXNAN);
		break;
	}
	if (sat) {                      /* a NaN and -0 give +0 */
		vr(a, X_PXOR, 3, 3, 3);
		vr(a, X_MAXPS, 0, 0, 3);
		vy(a, X_MINPS, 0, 0, s_splat32(c, 0x3f800000));
	}
	if (relu) {                     /* a NaN stays */
		vr(a, X_PXOR, 3, 3, 3);
		vyi(a, X_CMPPS, 3, 0, rm_reg(3), 6);
		vr(a, X_PAND, 0, 0, 3);
	}
}

/* Of bits: signs, and denormal f16 to zeros with theirs. */
static bool bits(struct scomp *c, const struct insn *in)
{
	bool pair = is_pair(in->type);
	struct as *a = &c->a;
	int x = sv_obs(c, in->o[1], 0, 0, 0);

	switch (in->lop) {
	case LOP_ABS:
		vy(a, X_PAND, 0, x, s_splat32(c, pair ? 0x7fff7fffu : 0x7fff));
		break;
	case LOP_NEG:
		if (!pair) {
			vy(a, X_PAND, 0, x, s_splat32(c, 0xffff));
			x = 0;
		}
		vy(a, X_PXOR, 0, x, s_splat32(c, pair ? 0x80008000u : 0x8000));
		break;
	case LOP_FLUSH:
		vy(a, X_PAND, 1, x, s_splat32(c, 0x7c007c00u));
		vr(a, X_PXOR, 2, 2, 2);
		vr(a, X_PCMPEQW, 1, 1, 2);
		vy(a, X_PAND, 1, 1, s_splat32(c, 0x7fff7fffu));
		vr(a, X_PANDN, 0, 1, x);
		if (!pair)
			vy(a, X_PAND, 0, 0, s_splat32(c, 0xffff));
		break;
	default:
		return false;
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

bool s_half(struct scomp *c, const struct insn *in)
{
	bool pair = is_pair(in->type);
	u32 up, k;

	if (in->dw || (is_bf(in->type) && in->lop == LOP_FLUSH) || !(jit_halves(in) || in->lop == LOP_FLUSH))
		return false;
	if (in->lop == LOP_NEG || in->lop == LOP_ABS || in->lop == LOP_FLUSH)
		return bits(c, in);
	/* of f16 neither operands nor results are denormal in f32 */
	if (is_bf(in->type))
		s_mxcsr(c, in->mxcsr);
	else
		s_mxcsr_rounds(c, in->mxcsr);
	for (up = pair; up < 2; up--) {
		for (k = 0; k < operands(in->lop); k++)
			widen(c, in->type, up, (int)k, sv_obs(c, in->o[k + 1], 0, 0, (int)k));
		compute(c, in);
		narrow(c, in->type, false);
		if (up) {
			vyi(&c->a, X_SHID, SH_LEFT, 0, rm_reg(0), 16);
			vy(&c->a, X_MOVU_ST, 0, 0, spill(0));
		}
	}
	if (pair)
		vy(&c->a, X_POR, 0, 0, spill(0));
	sput(c, in->o[0], 0, 0);
	return true;
}

/* ---- conversions ------------------------------------------------------------------------------------ */

/* ymm 0 = operand o, of 32 bits or fewer, as f32; of an integer beyond 24 bits what is nearest, which is beyond all f16. ymm 1 is lost. */
static void source(struct scomp *c, const struct insn *in, u32 o)
{
	struct as *a = &c->a;
	int x = sv_obs(c, o, 0, 0, 0);

	switch (in->stype) {
	case T_F16: case T_BF16:
		widen(c, in->stype, false, 0, x);
		return;
	case T_F32:
		if (x)
			vr(a, X_MOVU, 0, 0, x);
		if (in->flags & INF_FTZ) {      /* its sign alone, where it is denormal */
			vy(a, X_PAND, 1, 0, s_splat32(c, 0x7f800000));
			vr(a, X_PXOR, 2, 2, 2);
			vr(a, X_PCMPEQD, 1, 1, 2);
			vy(a, X_PAND, 1, 1, s_splat32(c, 0x7fffffff));
			vr(a, X_PANDN, 0, 1, 0);
		}
		return;
	case T_U32:
		s_unsigned_float(c, x);
		return;
	default:
		s_extend(c, 0, x, in->stype);
		vr(a, X_CVTDQ2PS, 0, 0, 0);
	}
}

static bool is_half(u8 t) { return t == T_F16 || t == T_BF16; }
static bool is_int(u8 t) { return t >= T_U8 && t <= T_S64; }

/* A conversion to halves, or of one to f32. */
bool s_half_cvt(struct scomp *c, const struct insn *in)
{
	bool pair = is_pair(in->type), cut = in->sub == RND_RZ, whole = in->sub >= RND_RNI && in->sub <= RND_RPI;
	struct as *a = &c->a;

	if (in->dw || in->aw || type_bytes(in->stype) > 4 || (in->flags & ~INF_FTZ) || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	if (in->type == T_F32 && is_half(in->stype) && in->sub < RND_RN && !in->flags) {
		source(c, in, in->o[1]);
		s_canon(c, 0, 0, 1);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (!pair && !is_half(in->type))
		return false;
	if (is_int(in->stype)) {
		/* what f32 rounds is beyond all f16, but not beyond a bf16, nor where it is cut off */
		if (pair || in->sub > RND_RN || (is_bf(in->type) && type_bytes(in->stype) == 4) || (c->s->mxcsr != ~0u && c->s->mxcsr & 0x6000))
			return false;
		s_mxcsr_rounds(c, MXCSR_BASE);
	} else if (in->stype == T_F32 ? in->sub > RND_RZ : pair || in->stype != in->type || !whole) {
		return false;
	}
	if (pair) {                     /* the first source is the upper half */
		source(c, in, in->o[1]);
		narrow(c, in->type, cut);
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 16);
		vy(a, X_MOVU_ST, 0, 0, spill(0));
		source(c, in, in->o[2]);
		narrow(c, in->type, cut);
		vy(a, X_POR, 0, 0, spill(0));
	} else {
		source(c, in, in->o[1]);
		if (whole)
			vyi(a, X_ROUNDPS, 0, 0, rm_reg(0), s_round_imm[in->sub]);
		narrow(c, in->type, cut);
	}
	sput(c, in->o[0], 0, 0);
	return true;
}
