/* SPDX-License-Identifier: MIT */
/* Lane operations of a strip on 64-bit integers, in two halves, and on floats. */
#include "mem.h"
#include "vex.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/* d = four 32-bit lanes of o as 64 bits */
static void widen(struct scomp *c, u32 o, u32 part, int d, bool sg)
{
	struct as *a = &c->a;
	int x = sv_obs(c, o, 0, 0, d);

	if (part) {
		vyi(a, X_EXTRACT, x, 0, rm_reg(d), 1);
		x = d;
	}
	vr(a, sg ? X_PMOVSXDQ : X_PMOVZXDQ, d, 0, x);
}

static void add3(struct scomp *c, const struct insn *in, u32 p, u32 op, int r, u32 i)
{
	struct rm m = sv_rm(c, in->o[i], 1, p, 1);
	int d = sdst(c, in->o[0], p, 0);

	vy(&c->a, op, d, r, m);
	sput(c, in->o[0], p, d);
}

/* ymm0 = x * y, the low halves */
static void multiply(struct scomp *c, int x, int y)
{
	struct as *a = &c->a;

	vyi(a, X_SHIQ, SH_RIGHT, 2, rm_reg(x), 32);
	vr(a, X_PMULUDQ, 2, 2, y);
	vyi(a, X_SHIQ, SH_RIGHT, 3, rm_reg(y), 32);
	vr(a, X_PMULUDQ, 3, 3, x);
	vr(a, X_PADDQ, 2, 2, 3);
	vyi(a, X_SHIQ, SH_LEFT, 2, rm_reg(2), 32);
	vr(a, X_PMULUDQ, 0, x, y);
	vr(a, X_PADDQ, 0, 0, 2);
}

/* The upper half of a product, by four products of halves; of signed ones, less the other factor where one is negative. */
static void multiply_high(struct scomp *c, const struct insn *in, u32 p)
{
	struct as *a = &c->a;
	const struct rm x = rm_mem(R15, (s32)offsetof(struct sprivate, lanes)), y = rm_mem(R15, (s32)offsetof(struct sprivate, lanes) + 32);
	u32 i;

	vy(a, X_MOVU_ST, sv(c, in->o[1], 1, p, 0), 0, x);
	vy(a, X_MOVU_ST, sv(c, in->o[2], 1, p, 1), 0, y);
	vy(a, X_MOVU, 0, 0, x);
	vy(a, X_MOVU, 1, 0, y);
	vr(a, X_PMULUDQ, 2, 0, 1);
	vyi(a, X_SHIQ, SH_RIGHT, 2, rm_reg(2), 32);
	vyi(a, X_SHIQ, SH_RIGHT, 0, rm_reg(0), 32);
	vr(a, X_PMULUDQ, 3, 0, 1);
	vr(a, X_PADDQ, 2, 2, 3);        /* less than 2^64 */
	vyi(a, X_SHIQ, SH_RIGHT, 1, rm_reg(1), 32);
	vr(a, X_PMULUDQ, 0, 0, 1);
	vy(a, X_PMULUDQ, 1, 1, x);
	vy(a, X_PAND, 3, 2, s_splat64(c, 0xffffffff));
	vr(a, X_PADDQ, 1, 1, 3);
	vyi(a, X_SHIQ, SH_RIGHT, 1, rm_reg(1), 32);
	vyi(a, X_SHIQ, SH_RIGHT, 2, rm_reg(2), 32);
	vr(a, X_PADDQ, 0, 0, 1);
	vr(a, X_PADDQ, 0, 0, 2);
	for (i = 0; i < 2 && type_is_signed(in->type); i++) {
		vr(a, X_PXOR, 1, 1, 1);
		vy(a, X_MOVU, 2, 0, i ? y : x);
		vr(a, X_PCMPGTQ, 1, 1, 2);
		vy(a, X_PAND, 1, 1, i ? x : y);
		vr(a, X_PSUBQ, 0, 0, 1);
	}
	if (in->lop == LOP_MADHI)
		add3(c, in, p, X_PADDQ, 0, 3);
	else
		sput(c, in->o[0], p, 0);
}

/* Ones in each 64 bits: those of its bytes, added up. */
bool s_count64(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 2; p++) {
		s_byte_ones(c, sv(c, in->o[1], 1, p, 0));
		vr(a, X_PXOR, 1, 1, 1);
		vr(a, X_PSADBW, p ? 0 : 3, 0, 1);
	}
	vyi(a, X_SHUFPS, 0, 3, rm_reg(0), 0x88);
	vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
	sput(c, in->o[0], 0, 0);
	return true;
}

static bool shift64(struct scomp *c, const struct insn *in, u32 p)
{
	struct as *a = &c->a;
	bool left = in->lop == LOP_SHL, sg = !left && type_is_signed(in->type);
	struct sval k = s_val(c, in->o[2], 0);
	u32 n = (u32)k.k;
	int x;

	if (sg) {       /* the sign everywhere; what is not negative is shifted, or else its complement */
		x = sv(c, in->o[1], 1, p, 0);
		vr(a, X_PXOR, 1, 1, 1);
		vr(a, X_PCMPGTQ, 2, 1, x);
		if (k.known && n >= 63) {
			sput(c, in->o[0], p, 2);
			return true;
		}
		vr(a, X_PXOR, 0, x, 2);
		if (k.known) {
			vyi(a, X_SHIQ, SH_RIGHT, 0, rm_reg(0), n);
		} else {
			widen(c, in->o[2], p, 1, false);
			vr(a, X_PSRLVQ, 0, 0, 1);
		}
		vr(a, X_PXOR, 0, 0, 2);
		sput(c, in->o[0], p, 0);
		return true;
	}
	if (k.known) {
		x = sv(c, in->o[1], 1, p, 0);
		if (n > 63)
			vr(a, X_PXOR, 0, 0, 0);
		else
			vyi(a, X_SHIQ, left ? SH_LEFT : SH_RIGHT, 0, rm_reg(x), n);
		sput(c, in->o[0], p, 0);
		return true;
	}
	widen(c, in->o[2], p, 1, false);
	x = sv(c, in->o[1], 1, p, 0);
	vr(a, left ? X_PSLLVQ : X_PSRLVQ, 0, x, 1);
	sput(c, in->o[0], p, 0);
	return true;
}

/* ymm0, widened, times o: by a shift where it is known to be a power of 2 */
static void times_wide(struct scomp *c, u32 o, u32 part, bool sg)
{
	struct as *a = &c->a;
	struct sval v = s_val(c, o, 0);
	u32 k = (u32)v.k, op = sg ? X_PMULDQ : X_PMULUDQ;

	if (!v.known) {
		widen(c, o, part, 1, sg);
		vr(a, op, 0, 0, 1);
	} else if (k && !(k & (k - 1)) && !(sg && k >> 31)) {
		if (k > 1)
			vyi(a, X_SHIQ, SH_LEFT, 0, rm_reg(0), (u32)__builtin_ctz(k));
	} else {
		vy(a, op, 0, 0, s_splat64(c, k));
	}
}

static bool ints(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type);
	u32 p, op = 0;
	int x, y, d;

	switch (in->lop) {
	case LOP_ADD: op = X_PADDQ; break;
	case LOP_SUB: op = X_PSUBQ; break;
	case LOP_AND: op = X_PAND; break;
	case LOP_OR: op = X_POR; break;
	case LOP_XOR: op = X_PXOR; break;
	}
	if (!is64(in->type) && in->lop != LOP_MULWIDE && in->lop != LOP_MADWIDE && in->lop != LOP_PACK && in->lop != LOP_CVT_SEXT &&
	    in->lop != LOP_MOV)
		return false;
	for (p = 0; p < 2; p++) {
		if (op) {
			x = sv(c, in->o[1], 1, p, 0);
			add3(c, in, p, op, x, 2);
			continue;
		}
		switch (in->lop) {
		case LOP_MOV:
			sput(c, in->o[0], p, sv(c, in->o[1], 1, p, 0));
			break;
		case LOP_NOT:
			x = sv(c, in->o[1], 1, p, 0);
			vr(a, X_PCMPEQD, 1, 1, 1);
			vr(a, X_PXOR, 0, x, 1);
			sput(c, in->o[0], p, 0);
			break;
		case LOP_NEG:
			x = sv(c, in->o[1], 1, p, 0);
			vr(a, X_PXOR, 1, 1, 1);
			vr(a, X_PSUBQ, 0, 1, x);
			sput(c, in->o[0], p, 0);
			break;
		case LOP_SHL:
		case LOP_SHR:
			if (!shift64(c, in, p))
				return false;
			break;
		case LOP_MULHI: case LOP_MADHI:
			multiply_high(c, in, p);
			break;
		case LOP_MUL:
		case LOP_MAD:
			x = sv(c, in->o[1], 1, p, 0);
			y = sv(c, in->o[2], 1, p, 1);
			multiply(c, x, y);
			if (in->lop == LOP_MAD)
				add3(c, in, p, X_PADDQ, 0, 3);
			else
				sput(c, in->o[0], p, 0);
			break;
		case LOP_MULWIDE:
		case LOP_MADWIDE:
			if (!is32(in->type))
				return false;
			widen(c, in->o[1], p, 0, sg);
			times_wide(c, in->o[2], p, sg);
			if (in->lop == LOP_MADWIDE)
				add3(c, in, p, X_PADDQ, 0, 3);
			else
				sput(c, in->o[0], p, 0);
			break;
		case LOP_CVT_SEXT:
			widen(c, in->o[1], p, 0, in->type == T_S64);
			sput(c, in->o[0], p, 0);
			break;
		case LOP_PACK:
			widen(c, in->o[2], p, 1, false);
			vyi(a, X_SHIQ, SH_LEFT, 2, rm_reg(1), 32);
			widen(c, in->o[1], p, 0, false);
			vr(a, X_POR, 0, 0, 2);
			sput(c, in->o[0], p, 0);
			break;
		case LOP_SELP: {
			int m = sv(c, in->o[3], 2, 0, 2);

			s_wide_mask(c, m, p ? -1 : 3, p ? 3 : -1);
			y = sv(c, in->o[2], 1, p, 0);
			x = sv(c, in->o[1], 1, p, 1);
			d = sdst(c, in->o[0], p, 0);
			vyi(a, X_BLENDVPS, d, y, rm_reg(x), 3u << 4);
			sput(c, in->o[0], p, d);
			break;
		}
		case LOP_MIN:
		case LOP_MAX:
			x = sv(c, in->o[1], 1, p, 0);
			y = sv(c, in->o[2], 1, p, 1);
			if (sg) {
				vr(a, X_PCMPGTQ, 2, x, y);
			} else {
				struct rm top = s_splat64(c, 1ull << 63);

				vy(a, X_PXOR, 2, x, top);
				vy(a, X_PXOR, 3, y, top);
				vr(a, X_PCMPGTQ, 2, 2, 3);
			}
			vyi(a, X_BLENDVPS, 0, in->lop == LOP_MIN ? x : y, rm_reg(in->lop == LOP_MIN ? y : x), 2u << 4);
			sput(c, in->o[0], p, 0);
			break;
		default:
			return false;
		}
	}
	return true;
}

/* ---- floats --------------------------------------------------------------------------------------- */

/* A constant, which is no NaN: its bits */
static bool constant(const struct scomp *c, u32 o, u32 *k)
{
	*k = (u32)s_val(c, o, 0).k;
	return s_val(c, o, 0).known && s_is_number(c, o);
}

/*
 * min and max in whatever mode is set, where the one that they want sees subnormal numbers and another is: the greater of two floats is that of
 * their bits as signed numbers, and where both are negative the other one. ymm2 is the result.
 */
static void min_max_bits(struct scomp *c, const struct insn *in, int x, int y)
{
	struct as *a = &c->a;
	bool max = in->lop == LOP_MAX;
	u32 k;

	/* the second one where its sign bit is set */
	vr(a, X_PCMPGTD, 2, max ? y : x, max ? x : y);
	if (constant(c, in->o[2], &k)) {
		if (k >> 31)
			vr(a, X_PXOR, 2, 2, x);
	} else if (constant(c, in->o[1], &k)) {
		if (k >> 31)
			vr(a, X_PXOR, 2, 2, y);
	} else {
		vr(a, X_PAND, 3, x, y);
		vr(a, X_PXOR, 2, 2, 3);
	}
	if (!s_is_number(c, in->o[1])) {
		vyi(a, X_CMPPS, 3, x, rm_reg(x), 3);
		vr(a, X_POR, 2, 2, 3);
	}
	if (!s_is_number(c, in->o[2])) {
		vyi(a, X_CMPPS, 3, y, rm_reg(y), 3);
		vr(a, X_PANDN, 2, 3, 2);
	}
	vyi(a, X_BLENDVPS, 2, x, rm_reg(y), 2u << 4);
}

/* Is the processor's own result right where the second operand is o? That is what comes out of a NaN and a number, and of two zeros. */
static bool plain_second(const struct scomp *c, const struct insn *in, u32 o)
{
	u32 k;

	if (!constant(c, o, &k))
		return false;
	return k == (in->lop == LOP_MAX ? 0 : 1u << 31) || (k >> 23 & 255);
}

/* A number wins over a NaN, and -0 is less than 0: the lesser, or greater, of both orders together. */
static void min_max(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op = in->lop == LOP_MIN ? X_MINPS : X_MAXPS;
	bool xn = s_is_number(c, in->o[1]), yn = s_is_number(c, in->o[2]);
	int x = sv(c, in->o[1], 0, 0, 0), y = sv(c, in->o[2], 0, 0, 1);

	if (c->s->mxcsr == ~0u && in->mxcsr == MXCSR_BASE && c->mx != MXCSR_BASE) {
		min_max_bits(c, in, x, y);
	} else {
		s_mxcsr(c, in->mxcsr);
		if (plain_second(c, in, in->o[2])) {
			vr(a, op, 2, x, y);
		} else if (plain_second(c, in, in->o[1])) {
			vr(a, op, 2, y, x);
		} else {
			vr(a, op, 2, x, y);
			vr(a, op, 3, y, x);
			vr(a, in->lop == LOP_MIN ? X_POR : X_PAND, 2, 2, 3);
			if (!xn) {
				vyi(a, X_CMPPS, 3, x, rm_reg(x), 3);
				vyi(a, X_BLENDVPS, 2, 2, rm_reg(y), 3u << 4);
			}
			if (!yn) {
				vyi(a, X_CMPPS, 3, y, rm_reg(y), 3);
				vyi(a, X_BLENDVPS, 2, 2, rm_reg(x), 3u << 4);
			}
		}
	}
	if (!c->r[in->o[0]].rawf && !xn && !yn)
		s_canon(c, 2, 2, 3);
	sput(c, in->o[0], 0, 2);
}

/* The same of doubles, whose NaNs stay as they are: the first one of two. */
static void min_max_wide(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op = in->lop == LOP_MIN ? X_MINPD : X_MAXPD, p;

	s_mxcsr(c, in->mxcsr);
	for (p = 0; p < 2; p++) {
		int x = sv(c, in->o[1], 1, p, 0), y = sv(c, in->o[2], 1, p, 1);

		vr(a, op, 2, x, y);
		vr(a, op, 3, y, x);
		vr(a, in->lop == LOP_MIN ? X_POR : X_PAND, 2, 2, 3);
		vyi(a, X_CMPPD, 3, x, rm_reg(x), 3);
		vyi(a, X_BLENDVPD, 2, 2, rm_reg(y), 3u << 4);
		vyi(a, X_CMPPD, 3, y, rm_reg(y), 3);
		vyi(a, X_BLENDVPD, 2, 2, rm_reg(x), 3u << 4);
		sput(c, in->o[0], p, 2);
	}
}

static void fused(struct scomp *c, const struct insn *in, bool w, u32 p)
{
	struct as *a = &c->a;
	bool canon = !w && !c->r[in->o[0]].rawf;
	u32 row = s_folded(c, in);
	int y = sv(c, in->o[row == 2 ? 1 : 2], w, p, 1), d = canon ? 2 : sdst(c, in->o[0], p, 2), z;
	struct rm x = row ? rm_reg(y) : sv_rm(c, in->o[1], w, p, 0);

	if (d == y || (!x.kind && d == x.reg))
		d = 2;
	z = sv(c, in->o[3], w, p, d);
	if (z != d)
		vr(a, X_MOVU, d, 0, z);
	if (row)
		x = s_fold_row(c, p);
	vy(a, w ? X_FMA231PD : X_FMA231PS, d, y, x);
	if (canon)
		s_canon(c, d, d, 0);
	sput(c, in->o[0], p, d);
}

/* ymm0 = the numbers in ymm x, of 32 bits without a sign, as f32; ymm1 is lost. Both halves are exact; one rounding */
void s_unsigned_float(struct scomp *c, int x)
{
	struct as *a = &c->a;

	vyi(a, X_SHID, SH_RIGHT, 1, rm_reg(x), 16);
	vy(a, X_PAND, 0, x, s_splat32(c, 0xffff));
	vr(a, X_CVTDQ2PS, 1, 0, 1);
	vr(a, X_CVTDQ2PS, 0, 0, 0);
	vy(a, X_FMA231PS, 0, 1, s_splat32(c, 0x47800000));
}

/* in's result, of the eight halves in xmm0 */
void s_half_float(struct scomp *c, const struct insn *in)
{
	bool raw = c->r[in->o[0]].rawf;
	int d = raw ? sdst(c, in->o[0], 0, 0) : 0;

	vr(&c->a, X_CVTPH2PS, d, 0, 0);
	if (!raw)
		s_canon(c, 0, 0, 1);
	sput(c, in->o[0], 0, d);
}

static bool floats(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool w = in->type == T_F64, raw = w || c->r[in->o[0]].rawf;
	struct rm one = w ? s_splat64(c, 0x3ff0000000000000ull) : s_splat32(c, 0x3f800000);
	bool apart = false;
	u32 p, op, row;
	int x, y, d;

	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_DIV: case LOP_MAD:
		s_mxcsr(c, in->mxcsr);
		break;
	case LOP_RCP: case LOP_SQRT: case LOP_RSQRT:
		apart = s_mode_begin(c, in);
		if (!apart)
			s_mxcsr(c, in->mxcsr);
		break;
	case LOP_MIN: case LOP_MAX:
		if (w)
			min_max_wide(c, in);
		else
			min_max(c, in);
		return true;
	case LOP_EX2: case LOP_LG2: case LOP_SIN: case LOP_COS: case LOP_TANH:
		return s_approx(c, in);
	}
	for (p = 0; p < (w ? 2u : 1u); p++) {
		switch (in->lop) {
		case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_DIV:
			op = in->lop == LOP_ADD ? (w ? X_ADDPD : X_ADDPS) : in->lop == LOP_SUB ? (w ? X_SUBPD : X_SUBPS) :
			     in->lop == LOP_MUL ? (w ? X_MULPD : X_MULPS) : w ? X_DIVPD : X_DIVPS;
			row = s_folded(c, in);
			x = sv(c, in->o[row == 1 ? 2 : 1], w, p, 0);
			{
				struct rm m = row ? s_fold_row(c, p) : sv_rm(c, in->o[2], w, p, 1);

				d = raw ? sdst(c, in->o[0], p, 0) : 0;
				vy(a, op, d, x, m);
			}
			break;
		case LOP_MAD:
			fused(c, in, w, p);
			continue;
		case LOP_RCP:
			x = sv(c, in->o[1], w, p, 0);
			vy(a, X_MOVU, 1, 0, one);
			d = raw ? sdst(c, in->o[0], p, 0) : 0;
			vr(a, w ? X_DIVPD : X_DIVPS, d, 1, x);
			break;
		case LOP_SQRT:
		case LOP_RSQRT:
			x = sv(c, in->o[1], w, p, 0);
			d = 0;
			vr(a, w ? X_SQRTPD : X_SQRTPS, 0, 0, x);
			if (in->lop == LOP_RSQRT) {
				vy(a, X_MOVU, 1, 0, one);
				vr(a, w ? X_DIVPD : X_DIVPS, 0, 1, 0);
			}
			break;
		case LOP_ABS:
		case LOP_NEG:
			x = !w && c->r[in->o[0]].summed ? sv(c, in->o[1], w, p, 0) : sv_obs(c, in->o[1], w, p, 0);
			d = sdst(c, in->o[0], p, 0);
			if (in->lop == LOP_ABS)
				vy(a, X_PAND, d, x, w ? s_splat64(c, ~0ull >> 1) : s_splat32(c, 0x7fffffff));
			else
				vy(a, X_PXOR, d, x, w ? s_splat64(c, 1ull << 63) : s_splat32(c, 1u << 31));
			sput(c, in->o[0], p, d);
			continue;
		case LOP_FLUSH:
			if (w)
				return false;
			if (c->r[in->o[0]].unflushed) {
				sput(c, in->o[0], 0, sv(c, in->o[1], 0, 0, 0));
				return true;
			}
			x = sv_obs(c, in->o[1], 0, 0, 0);
			if (s_is_raw(c, in->o[1]) && ((c->s->mxcsr == ~0u ? c->mx : c->s->mxcsr) & 0x40)) {
				/* the processor does it, whose NaNs are the canonical one here */
				d = sdst(c, in->o[0], 0, 0);
				vy(a, X_MULPS, d, x, one);
				sput(c, in->o[0], 0, d);
				return true;
			}
			vy(a, X_PAND, 1, x, s_splat32(c, 0x7f800000));
			vr(a, X_PXOR, 2, 2, 2);
			vr(a, X_PCMPEQD, 1, 1, 2);
			vy(a, X_PAND, 2, x, s_splat32(c, 1u << 31));
			vyi(a, X_BLENDVPS, 0, x, rm_reg(2), 1u << 4);
			sput(c, in->o[0], 0, 0);
			return true;
		case LOP_CVT_F_S32:
			s_mxcsr_rounds(c, in->mxcsr);
			x = sv_obs(c, in->o[1], 0, 0, 0);
			vr(a, X_CVTDQ2PS, 0, 0, x);
			sput(c, in->o[0], 0, 0);
			return true;
		case LOP_CVT_F_U32:
			s_mxcsr_rounds(c, in->mxcsr);
			x = sv_obs(c, in->o[1], 0, 0, 0);
			s_unsigned_float(c, x);
			sput(c, in->o[0], 0, 0);
			return true;
		case LOP_CVT_F_H:
			x = sv_obs(c, in->o[1], 0, 0, 0);
			s_halves(c, false, 0, x);
			s_half_float(c, in);
			return true;
		case LOP_MOV:
			y = w ? sv(c, in->o[1], 1, p, 0) : raw ? sv(c, in->o[1], 0, 0, 0) : sv_obs(c, in->o[1], 0, 0, 0);
			sput(c, in->o[0], p, y);
			continue;
		case LOP_SELP:
			x = sv(c, in->o[3], 2, 0, 2);
			if (w) {
				s_wide_mask(c, x, p ? -1 : 2, p ? 2 : -1);
				x = 2;
			}
			{
				int t = raw ? sv(c, in->o[2], w, p, 0) : sv_obs(c, in->o[2], 0, 0, 0);

				y = raw ? sv(c, in->o[1], w, p, 1) : sv_obs(c, in->o[1], 0, 0, 1);
				vyi(a, X_BLENDVPS, 0, t, rm_reg(y), (u32)x << 4);
			}
			sput(c, in->o[0], p, 0);
			continue;
		default:
			return false;
		}
		if (!raw) {
			s_canon(c, 0, d, 1);
			d = 0;
		}
		sput(c, in->o[0], p, d);
	}
	if (apart)
		s_mode_end(c);
	return true;
}

bool s_wide(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	int x;

	if (in->lop == LOP_CVT_H_F) {
		x = sv(c, in->o[1], 0, 0, 0);
		s_canon(c, 0, x, 1);
		vyi(a, X_CVTPS2PH, 0, 0, rm_reg(0), 0);
		vr(a, X_PMOVZXWD, 0, 0, 0);
		sput(c, in->o[0], 0, 0);
		return true;
	}
	if (in->type == T_F32 || in->type == T_F64)
		return floats(c, in);
	if (type_is_float(in->type))
		return s_half(c, in);
	return in->dw == 1 && ints(c, in);
}
