/* SPDX-License-Identifier: MIT */
/*
 * prmt: each byte of a word is one of the eight of two others, or the sign of that one eight times (PTX ISA, Data Movement: prmt). Where the
 * places are a constant, two shuffles by it; else tables of sixteen bytes are read by such places (ggml's IQ4_NL, IQ4_XS and MXFP4), which
 * are four bits each and become bytes first: by two instructions for eight bytes each, and a third one for one or the other. Called by jit_lane.c.
 */
#include "jit.h"
#include "lanes.h"

/* The places are known. */
static void by_known(struct jcomp *c, const struct insn *in, struct jval s)
{
	struct as *a = &c->a;
	u32 p, i, l, ua = 0, ub = 0;
	u8 m[2][64], sign[64];

	for (i = 0; i < 64; i++) {
		u32 q = (u32)(s.k >> (i & 3) * 4) & 7, at = (i & 12) + (q & 3);

		l = q >> 2;
		m[l][i] = (u8)at;
		m[!l][i] = 0x80;
		sign[i] = s.k >> ((i & 3) * 4 + 3) & 1 ? 0xff : 0;
		*(l ? &ub : &ua) = 1;
	}
	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), d = jv_dst(c, in->o[0], p, 2);

		if (ua)
			ev(a, V_PSHUFB, ub ? 2 : d, x, rm_lit(j_lit(c, m[0], 64), 0));
		if (ub)
			ev(a, V_PSHUFB, ua ? 3 : d, y, rm_lit(j_lit(c, m[1], 64), 0));
		if (ua && ub)
			ev(a, V_PORD, d, 2, rm_reg(3));
		if (s.k & 0x8888) {     /* the sign of the byte, in all its bits */
			ev(a, V_PMOVB2M, 7, 0, rm_reg(d));
			ev(a, V_PMOVM2B, 4, 0, rm_reg(7));
			ev(a, V_MOVA32, 5, 0, rm_lit(j_lit(c, sign, 64), 0));
			ev_i(a, V_PTERNLOGD, 5, 4, rm_reg(d), 0, 0, 0xca);
			d = 5;
		}
		jv_put(c, in->o[0], p, d);
	}
}

/* A literal of these four bytes in each word, and where in its sixteen bytes a word begins */
static struct rm words(struct jcomp *c, u32 b, bool at)
{
	u8 v[64];
	u32 i;

	for (i = 0; i < 64; i++)
		v[i] = (u8)((b >> (i & 3) * 8) + (at ? i & 12 : 0));
	return rm_lit(j_lit(c, v, 64), 0);
}

/* zmm4: four times four bits, a byte each */
static void bytes_of(struct jcomp *c, int z)
{
	struct as *a = &c->a;

	ev(a, V_PSHUFB, 4, z, words(c, 0x01010000, true));
	jl_shift(c, LOP_SHR, false, 0, 5, 4, 4);
	ev(a, V_PANDD, 4, 4, words(c, 0x000f000f, false));
	ev_i(a, V_PTERNLOGD, 4, 5, words(c, 0x0f000f00, false), 0, 0, 0xf8);   /* 4 | 5 & it */
}

/* Both words are known: eight bytes and their signs are a table of sixteen. */
static void of_table(struct jcomp *c, const struct insn *in, u64 bytes)
{
	struct as *a = &c->a;
	u8 t[64];
	u32 p, i;

	for (i = 0; i < 64; i++)
		t[i] = i & 8 ? (bytes >> (i & 7) * 8 & 128 ? 0xff : 0) : (u8)(bytes >> (i & 7) * 8);
	for (p = 0; p < 2; p++) {
		int d = jv_dst(c, in->o[0], p, 2);

		bytes_of(c, jv_obs(c, in->o[3], 0, p, 4));
		j_lit_to(c, 3, j_lit(c, t, 64));
		ev(a, V_PSHUFB, d, 3, rm_reg(4));
		jv_put(c, in->o[0], p, d);
	}
}

/* Each byte is that of x or y at its place: a place's third bit says which. */
static void one_or_other(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 2; p++) {
		int z = jv_obs(c, in->o[3], 0, p, 4), x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1);
		int d = jv_dst(c, in->o[0], p, 2);

		ev(a, V_PSHUFB, 4, z, words(c, 0x01010000, true));
		ev(a, V_PTESTMB, 7, 4, words(c, 0x40044004, false));
		ev_k(a, V_BLENDMB, d, x, rm_reg(y), 7, 0);
		jv_put(c, in->o[0], p, d);
	}
}

static void by_vector(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 2; p++) {
		int z = jv_obs(c, in->o[3], 0, p, 4), x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1);
		int d = jv_dst(c, in->o[0], p, 2);

		bytes_of(c, z);
		/* zmm5: their lower two bits, in the word's place */
		ev(a, V_PANDD, 5, 4, words(c, 0x03030303, false));
		ev(a, V_PORD, 5, 5, words(c, 0, true));
		ev(a, V_PSHUFB, 2, x, rm_reg(5));
		ev(a, V_PSHUFB, 3, y, rm_reg(5));
		ev(a, V_PTESTMB, 7, 4, words(c, 0x04040404, false));
		if (in->flags & INF_PLAIN) {
			ev_k(a, V_BLENDMB, d, 2, rm_reg(3), 7, 0);
		} else {
			ev_k(a, V_BLENDMB, 2, 2, rm_reg(3), 7, 0);
			ev(a, V_PMOVB2M, 7, 0, rm_reg(2));
			ev(a, V_PMOVM2B, 3, 0, rm_reg(7));
			ev(a, V_PTESTMB, 7, 4, words(c, 0x08080808, false));
			ev_k(a, V_BLENDMB, d, 2, rm_reg(3), 7, 0);
		}
		jv_put(c, in->o[0], p, d);
	}
}

bool jit_prmt(struct jcomp *c, const struct insn *in)
{
	struct jval x = jit_val(c, in->o[1], 0), y = jit_val(c, in->o[2], 0), s = jit_val(c, in->o[3], 0);

	if (s.known)
		by_known(c, in, s);
	else if (x.known && y.known)
		of_table(c, in, y.k << 32 | (u32)x.k);
	else if (in->flags & INF_STAYS)
		one_or_other(c, in);
	else
		by_vector(c, in);
	return true;
}
