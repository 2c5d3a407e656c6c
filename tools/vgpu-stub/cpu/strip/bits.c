/* SPDX-License-Identifier: MIT */
/* Leading zeros and the highest bit (PTX ISA 9.7.1, clz, bfind), bits in reverse order (brev). Temporaries: ymm 0 to 3. */
#include "strip.h"
#include "vex.h"

static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/*
 * ymm d = leading zeros of 32 bits in ymm d, tmp being lost: from the exponent of the number as a float. Bits that lie eight below one that is
 * set are cleared first, so that nothing rounds up to the next power of two. Of a negative number the float's sign makes that less than 0, of 0 more than 32.
 */
static void leading(struct scomp *c, int d, int tmp)
{
	struct as *a = &c->a;

	vyi(a, X_SHID, SH_RIGHT, tmp, rm_reg(d), 8);
	vr(a, X_PANDN, d, tmp, d);
	vr(a, X_CVTDQ2PS, d, 0, d);
	vyi(a, X_SHID, SH_RIGHT, d, rm_reg(d), 23);
	vy(a, X_MOVU, tmp, 0, s_splat32(c, 158));
	vr(a, X_PSUBD, d, tmp, d);
	vr(a, X_PXOR, tmp, tmp, tmp);
	vr(a, X_PMAXSD, d, d, tmp);
	vy(a, X_PMINSD, d, d, s_splat32(c, 32));
}

/* ymm d = the upper or the lower words of 64 bits in ymm x and y */
static void words_of(struct scomp *c, bool up, int d, int x, int y)
{
	vyi(&c->a, X_SHUFPS, d, x, rm_reg(y), up ? 0xdd : 0x88);
	vyi(&c->a, X_PERMQ, d, 0, rm_reg(d), 0xd8);
}

static bool highest(struct scomp *c, const struct insn *in)
{
	bool sg = in->lop != LOP_CLZ && type_is_signed(in->type), w = is64(in->type);
	struct as *a = &c->a;
	int x, y;

	if (w) {
		x = sv(c, in->o[1], 1, 0, 0);
		y = sv(c, in->o[1], 1, 1, 1);
		words_of(c, true, 2, x, y);
		words_of(c, false, 0, x, y);
		if (sg) {                       /* what differs from the sign */
			vyi(a, X_SHID, SH_SAR, 1, rm_reg(2), 31);
			vr(a, X_PXOR, 0, 0, 1);
			vr(a, X_PXOR, 2, 2, 1);
		}
		vr(a, X_PXOR, 1, 1, 1);
		vr(a, X_PCMPEQD, 1, 2, 1);      /* none in the upper word: those of the lower one, and 32 */
		vyi(a, X_BLENDVPS, 0, 2, rm_reg(0), 1u << 4);
		leading(c, 0, 2);
		vy(a, X_PAND, 1, 1, s_splat32(c, 32));
		vr(a, X_PADDD, 0, 0, 1);
	} else {
		x = sv_obs(c, in->o[1], 0, 0, 0);
		if (sg) {
			vyi(a, X_SHID, SH_SAR, 1, rm_reg(x), 31);
			vr(a, X_PXOR, 0, x, 1);
		} else if (x) {
			vr(a, X_MOVU, 0, 0, x);
		}
		leading(c, 0, 1);
	}
	if (in->lop == LOP_BFIND) {             /* of no bit: -1 */
		vy(a, X_MOVU, 1, 0, s_splat32(c, w ? 63 : 31));
		vr(a, X_PSUBD, 0, 1, 0);
	} else if (in->lop == LOP_BFINDSH) {    /* the shift that brings it to the top; of no bit: -1 */
		vy(a, X_MOVU, 1, 0, s_splat32(c, w ? 64 : 32));
		vr(a, X_PCMPEQD, 1, 1, 0);
		vr(a, X_POR, 0, 0, 1);
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

/* Bytes in reverse order in each number, and the bits of each half byte by a table. */
static bool reverse(struct scomp *c, const struct insn *in)
{
	static const u8 half[32] = { 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15, 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15 };
	bool w = is64(in->type);
	struct as *a = &c->a;
	u8 bytes[32];
	u32 i, p;

	for (i = 0; i < 32; i++)
		bytes[i] = (u8)((i & 15) ^ (w ? 7 : 3));
	for (p = 0; p < (w ? 2u : 1u); p++) {
		int x = w ? sv(c, in->o[1], 1, p, 0) : sv_obs(c, in->o[1], 0, 0, 0);

		vy(a, X_PSHUFB, 0, x, rm_lit(s_lit(c, bytes, 32), 0));
		vyi(a, X_SHID, SH_RIGHT, 1, rm_reg(0), 4);
		vy(a, X_PAND, 0, 0, s_splat32(c, 0x0f0f0f0f));
		vy(a, X_PAND, 1, 1, s_splat32(c, 0x0f0f0f0f));
		vy(a, X_MOVU, 2, 0, rm_lit(s_lit(c, half, 32), 0));
		vr(a, X_PSHUFB, 0, 2, 0);
		vr(a, X_PSHUFB, 1, 2, 1);
		vyi(a, X_SHID, SH_LEFT, 0, rm_reg(0), 4);
		vr(a, X_POR, 0, 0, 1);
		sput(c, in->o[0], p, 0);
	}
	return true;
}

bool s_bits_lane(struct scomp *c, const struct insn *in) { return in->lop == LOP_BREV ? reverse(c, in) : highest(c, in); }
