/* SPDX-License-Identifier: MIT */
/*
 * Dot products of four bytes (dp4a). AVX2 multiplies unsigned bytes by signed ones, and adds two products in 16 bits, where they must have room.
 * Where both are signed, |a| times b with a's sign is the same, and has room: at most 2 * 128 * 127. But -b is no byte where b is -128, which a
 * quantised model has nowhere: the least b of all is looked at once for a sum of several products one after the other (../dots.c puts them together), and
 * if it is -128 the sum is made by 16-bit numbers instead. Where ../known.c has found one of seven bits a byte, nothing is in the way.
 *
 * In: places, code as it is emitted. Out: code of a whole sum where its first part is; scomp.dot_at, dot_end.
 */
#include "strip.h"
#include "vex.h"

#define CHAIN 16u

/* How many, from the one that is emitted on, are one sum of which nobody sees a part: a part is the next one's addend, and nothing else. */
static u32 chain(const struct scomp *c, const struct insn *in)
{
	u32 n;

	for (n = 1; n < CHAIN && !c->stage && !c->guarded && c->pc + n < c->cur->end; n++) {
		const struct insn *x = in + n;
		u32 part = in[n - 1].o[0], pc = c->pc + n;
		const struct sregister *r = &c->r[part];

		if (x->kind != K_LANE || x->lop != in->lop || x->flags != in->flags || x->guard != OPND_NONE || c->pair[pc] || x->o[3] != part || x->o[1] == part || x->o[2] == part || x->o[0] == part)
			break;
		if (r->first != pc - 1 || r->last != pc + 1 || bit_of(c->cur->live_out, part) || s_blends(c, part) || c->r[x->o[0]].v.cls != SC_VARY)
			break;
	}
	return n;
}

/* ymm2 = a product by bytes as 16-bit numbers, the even and the odd ones apart */
static void by_words(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 sa = in->lop == LOP_DP4ASU || in->lop == LOP_DP4ASS ? SH_SAR : SH_RIGHT;
	u32 sb = in->lop == LOP_DP4AUS || in->lop == LOP_DP4ASS ? SH_SAR : SH_RIGHT;
	int x = sv_obs(c, in->o[1], 0, 0, 0), y = sv_obs(c, in->o[2], 0, 0, 1);

	vyi(a, X_SHIW, SH_LEFT, 2, rm_reg(x), 8);
	vyi(a, X_SHIW, (int)sa, 2, rm_reg(2), 8);
	vyi(a, X_SHIW, SH_LEFT, 3, rm_reg(y), 8);
	vyi(a, X_SHIW, (int)sb, 3, rm_reg(3), 8);
	vr(a, X_PMADDWD, 2, 2, 3);
	vyi(a, X_SHIW, (int)sa, 0, rm_reg(x), 8);
	vyi(a, X_SHIW, (int)sb, 3, rm_reg(y), 8);
	vr(a, X_PMADDWD, 0, 0, 3);
	vr(a, X_PADDD, 2, 2, 0);
}

/* ymm2 = the sum of n; flags: not equal if it is not right */
static void by_bytes(struct scomp *c, const struct insn *in, u32 n)
{
	struct as *a = &c->a;
	u32 i;

	for (i = 0; i < n; i++) {
		int d = i ? 0 : 2, y = sv(c, in[i].o[2], 0, 0, 1);
		struct rm x;

		if (i)
			vr(a, X_PMINSB, 3, 3, y);
		else
			vr(a, X_MOVU, 3, 0, y);
		x = sv_rm(c, in[i].o[1], 0, 0, 0);
		vy(a, X_PSIGNB, 1, y, x);
		vy(a, X_PABSB, 0, 0, x);
		vr(a, X_PMADDUBSW, 0, 0, 1);
		vy(a, X_PMADDWD, d, 0, s_splat32(c, 0x00010001));
		if (i)
			vr(a, X_PADDD, 2, 2, 0);
	}
	vy(a, X_PCMPEQB, 3, 3, s_splat32(c, 0x80808080));
	vr(a, X_PTEST, 3, 0, 3);
}

/* ymm2 = the sum of n whose first factors have seven bits a byte: two products have room */
static void by_small_bytes(struct scomp *c, const struct insn *in, u32 n)
{
	struct as *a = &c->a;
	u32 i;

	for (i = 0; i < n; i++) {
		int d = i ? 0 : 2, x = sv_obs(c, in[i].o[1], 0, 0, 0);

		vy(a, X_PMADDUBSW, d, x, sv_rm_obs(c, in[i].o[2], 0, 0, 1));
		vy(a, X_PMADDWD, d, d, s_splat32(c, 0x00010001));
		if (i)
			vr(a, X_PADDD, 2, 2, 0);
	}
}

/* The result, the sum in ymm2 and what it is added to */
static void put(struct scomp *c, const struct insn *first, const struct insn *last)
{
	struct rm z = sv_rm_obs(c, first->o[3], 0, 0, 0);
	int d = sdst(c, last->o[0], 0, 2);

	vy(&c->a, X_PADDD, d, 2, z);
	sput(c, last->o[0], 0, d);
}

bool s_dot(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	const struct rm sum = rm_mem(R15, (s32)offsetof(struct sprivate, lanes));
	u32 n, i, wide, over;

	/* the first part has made it */
	if (c->pc > c->dot_at && c->pc < c->dot_end)
		return true;
	c->dot_end = 0;
	if (in->flags & INF_SMALL) {
		n = chain(c, in);
		by_small_bytes(c, in, n);
		put(c, in, in + n - 1);
		c->dot_at = c->pc;
		c->dot_end = c->pc + n;
		return true;
	}
	if (in->lop != LOP_DP4ASS) {
		by_words(c, in);
		put(c, in, in);
		return true;
	}
	n = chain(c, in);
	for (i = 0; i < n && !s_is_raw(c, in[i].o[1]) && !s_is_raw(c, in[i].o[2]); i++)
		;
	/* what may be a NaN has its bits made first, in the registers that this wants */
	if (!i) {
		by_words(c, in);
		put(c, in, in);
		return true;
	}
	n = i;
	by_bytes(c, in, n);
	wide = g_jcc(a, CC_NE);
	put(c, in, in + n - 1);
	over = g_jmp(a);
	g_here(a, wide);
	for (i = 0; i < n; i++) {
		by_words(c, in + i);
		if (i)
			vy(a, X_PADDD, 2, 2, sum);
		if (i + 1 < n)
			vy(a, X_MOVU_ST, 2, 0, sum);
	}
	put(c, in, in + n - 1);
	g_here(a, over);
	c->dot_at = c->pc;
	c->dot_end = c->pc + n;
	return true;
}
