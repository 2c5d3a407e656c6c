/* SPDX-License-Identifier: MIT */
/*
 * A pattern whose scalar is known is 32 known numbers: thread numbers within a row, and what is made of them. What bits or a shift make of each is known, too, and
 * is again a scalar and a pattern, which need not be so where the scalar might be anything. Called by jit_scan.c.
 */
#include "jit.h"
#include "lanes.h"

/* What lop makes of x and k, in so many bits */
static u64 made(u32 lop, u64 x, u64 k, bool sg, u32 bits)
{
	u64 all = bits == 64 ? ~0ull : 0xffffffff;

	switch (lop) {
	case LOP_AND: return x & k & all;
	case LOP_OR: return (x | k) & all;
	case LOP_XOR: return (x ^ k) & all;
	case LOP_SHR:
		return (sg ? (u64)((bits == 64 ? (s64)x : (s64)(s32)(u32)x) >> k) : (x & all) >> k) & all;
	}
	return 0;
}

bool jit_exact(struct jcomp *c, u32 lop, struct jval a, u64 k, bool sg, u32 bits, struct jval *v)
{
	u64 all = bits == 64 ? ~0ull : 0xffffffff, first, max = 0, x;
	s64 out[LANES];
	u32 l, p;

	if (a.cls != JC_PAT || !a.sk || (lop != LOP_AND && lop != LOP_OR && lop != LOP_XOR && lop != LOP_SHR) || (lop == LOP_SHR && k >= bits))
		return false;
	first = made(lop, a.s & all, k, sg, bits);
	for (l = 0; l < LANES; l++) {
		x = made(lop, (a.s + (u64)(s64)c->pats[a.pat][l]) & all, k, sg, bits);
		out[l] = bits == 64 ? (s64)(x - first) : (s64)(s32)(u32)(x - first);
		max = x > max ? x : max;
	}
	p = jit_pat(c, out);
	if (p == ~0u)
		return false;
	*v = (struct jval){ .cls = p ? JC_PAT : JC_UNI, .pat = (u16)p, .max = max, .sk = true, .s = first };
	for (; v->ual < 63 && !(first >> v->ual & 1); v->ual++)
		;
	return true;
}
