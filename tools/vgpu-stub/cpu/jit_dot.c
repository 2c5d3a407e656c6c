/* SPDX-License-Identifier: MIT */
/*
 * Dot products of four bytes (dp4a). VNNI multiplies unsigned bytes by signed ones. Where both are signed, (a + 128) times b is 128 times the sum
 * of b too much, which is taken off what is added to: c - s = ~(~c + s), and s is a dot product, too. Sums of several, one after the other, are
 * made as one: all of that first, in one go, then the products.
 *
 * Several rows of a matrix times one vector have s in common: the first sum leaves it in P for those that follow in the same straight code.
 */
#include "jit.h"
#include "lanes.h"

#define CHAIN 8u

static bool is_dot(const struct insn *in)
{
	return in->kind == K_LANE && (in->lop == LOP_DP4ASS || in->lop == LOP_DP4ASU || in->lop == LOP_DP4AUS || in->lop == LOP_DP4AUU);
}

static bool wanted(const struct jcomp *c, u32 pc, u32 v)
{
	return c->live_at[(size_t)pc * c->s->words + (v >> 6)] >> (v & 63) & 1;
}

static bool waits(const struct jcomp *c, u32 v)
{
	const u64 *set = c->keep[c->block];

	return set && (set[v >> 6] >> (v & 63) & 1);
}

static bool in_zmm(const struct jcomp *c, u32 o)
{
	return !(o & OPND_CONST) && c->r[o].cls == JC_VARY && c->r[o].loc == LOC_ZMM && !c->r[o].rawf;
}

/* How many, from the one that is emitted on, are one sum of which nobody sees a part. */
static u32 chain(const struct jcomp *c, const struct insn *in)
{
	u32 end = c->s->b[c->block].end, n;

	if (in->lop != LOP_DP4ASS || c->gk || !in_zmm(c, in->o[2]))
		return 1;
	for (n = 1; n < CHAIN && c->pc + n < end; n++) {
		const struct insn *was = in + n - 1, *x = in + n;
		u32 pc = c->pc + n, i;

		if (x->kind != K_LANE || x->lop != in->lop || x->guard != OPND_NONE || x->o[3] != was->o[0] || x->o[1] == was->o[0] ||
		    x->o[2] == was->o[0] || !in_zmm(c, x->o[2]) || waits(c, x->o[0]) || c->merged[pc].kind == K_LD)
			break;
		if ((was->o[0] != x->o[0] && wanted(c, pc + 1, was->o[0])) || !wanted(c, pc + 1, x->o[0]))
			break;
		/* what a part is kept in is nobody's operand behind it */
		for (i = 0; i + 1 < n && in[i].o[0] != x->o[1] && in[i].o[0] != x->o[2]; i++)
			;
		if (i + 1 < n || jit_stressed(c, pc, JS_STEP) || jit_stressed(c, pc, JS_ENTRY) || jit_stressed(c, pc, JS_LEAVE))
			break;
	}
	return n;
}

static void flip(struct as *a, int d, int x) { ev_i(a, V_PTERNLOGD, d, d, rm_reg(x), 0, 0, 0x55); }

/* Does anything from pc on, before end, write what this chain's second factors are? */
static bool factors_change(const struct jcomp *c, const struct insn *in, u32 n, u32 pc, u32 end)
{
	u32 i;

	for (; pc < end; pc++)
		for (i = 0; i < n; i++)
			if (insn_writes(&c->code[pc], in[i].o[2]))
				return true;
	return false;
}

static bool same_factors(const struct insn *a, const struct insn *b, u32 n)
{
	u32 i;

	for (i = 0; i < n && b[i].kind == K_LANE && b[i].lop == LOP_DP4ASS && a[i].o[2] == b[i].o[2]; i++)
		;
	return i == n;
}

/* The place in P where -s of this chain is; 0: nowhere. */
static u32 taken_off(const struct jcomp *c, const struct insn *in, u32 n)
{
	u32 i;

	for (i = 0; i < JDOTS; i++) {
		const struct jdots *d = &c->dots[i];

		if (d->n == n && d->stamp == c->stamp && d->pc >= c->s->b[c->block].start && d->pc < c->pc && same_factors(&c->code[d->pc], in, n) &&
		    !factors_change(c, in, n, d->pc, c->pc))
			return d->home;
	}
	return 0;
}

/* The same, to be filled now: another sum of these factors follows. */
static u32 to_be_taken_off(struct jcomp *c, const struct insn *in, u32 n)
{
	u32 end = c->s->b[c->block].end, pc;

	for (pc = c->pc + n; pc + n <= end; pc++)
		if (same_factors(in, &c->code[pc], n))
			break;
	if (pc + n > end || factors_change(c, in, n, c->pc, pc) || c->home_next + 192 > MAX_PRIVATE)
		return 0;
	c->home_next = (c->home_next + 63) & ~63u;
	c->dots[c->ndots++ % JDOTS] = (struct jdots){ c->stamp, c->pc, n, c->home_next };
	c->home_next += 128;
	return c->home_next - 128;
}

/* zmm2 = what is added to - s. */
static void less(struct jcomp *c, const struct insn *in, u32 n, u32 p, int top, u32 known, u32 keep)
{
	struct as *a = &c->a;
	struct jval z = jit_val(c, in->o[3], 0);
	bool zero = z.known && !(u32)z.k;
	u32 i;

	if (known) {
		if (zero)
			ev(a, V_MOVA32, 2, 0, rm_mem(RBX, (s32)(known + 64 * p)));
		else
			ev(a, V_PADDD, 2, jv_obs(c, in->o[3], 0, p, 2), rm_mem(RBX, (s32)(known + 64 * p)));
		return;
	}
	if (keep || zero)
		ev_i(a, V_PTERNLOGD, 2, 2, rm_reg(2), 0, 0, 0xff);
	else
		flip(a, 2, jv_obs(c, in->o[3], 0, p, 2));
	for (i = 0; i < n; i++)
		ev(a, V_PDPBUSD, 2, top, rm_reg(jv_obs(c, in[i].o[2], 0, p, 1)));
	flip(a, 2, 2);
	if (keep) {
		ev(a, V_MOVA32_ST, 2, 0, rm_mem(RBX, (s32)(keep + 64 * p)));
		if (!zero)
			ev(a, V_PADDD, 2, 2, rm_reg(jv_obs(c, in->o[3], 0, p, 3)));
	}
}

/* top: 128 in each byte */
static void signed_sum(struct jcomp *c, const struct insn *in, u32 n, u32 p, int top, u32 known, u32 keep)
{
	const struct insn *last = in + n - 1;
	struct as *a = &c->a;
	int x, y = 1, d;
	u32 i;

	less(c, in, n, p, top, known, keep);
	for (i = 0; i < n; i++) {
		x = jv_obs(c, in[i].o[1], 0, p, 0);
		y = jv_obs(c, in[i].o[2], 0, p, 1);
		ev(a, V_PXORD, 3, x, rm_reg(top));
		ev(a, V_PDPBUSD, 2, 3, rm_reg(y));
	}
	d = jv_dst(c, last->o[0], p, 2);
	if (d != 2)
		ev(a, V_MOVA32, d, 0, rm_reg(2));
	jv_put(c, last->o[0], p, d);
}

/* One sign, or none, for which VNNI has the instruction as it is. */
static void mixed(struct jcomp *c, const struct insn *in, u32 p)
{
	struct as *a = &c->a;
	int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), z = jv_obs(c, in->o[3], 0, p, 2), d;
	bool sb = in->lop == LOP_DP4AUS;

	if (z != 2)
		ev(a, V_MOVA32, 2, 0, rm_reg(z));
	ev(a, V_PDPBUSD, 2, sb ? x : y, rm_reg(sb ? y : x));
	d = jv_dst(c, in->o[0], p, 2);
	if (d != 2)
		ev(a, V_MOVA32, d, 0, rm_reg(2));
	jv_put(c, in->o[0], p, d);
}

bool jit_dot(struct jcomp *c, const struct insn *in)
{
	static int vnni = -1;
	struct as *a = &c->a;
	bool sa = in->lop == LOP_DP4ASU || in->lop == LOP_DP4ASS, sb = in->lop == LOP_DP4AUS || in->lop == LOP_DP4ASS;
	u32 p, n;

	if (c->ndot && c->pc > c->dot && c->pc < c->dot + c->ndot && is_dot(in))
		return true;            /* it is part of one before */
	if (vnni < 0)
		vnni = __builtin_cpu_supports("avx512vnni") != 0;
	if (vnni && sa && sb) {
		u32 known, keep = 0;
		int top;

		n = chain(c, in);
		known = taken_off(c, in, n);
		if (!known && !c->gk)
			keep = to_be_taken_off(c, in, n);
		top = j_lit_reg(c, j_lit32(c, 0x80808080u), 5);
		for (p = 0; p < 2; p++)
			signed_sum(c, in, n, p, top, known, keep);
		c->dot = c->pc;
		c->ndot = n;
		return true;
	}
	for (p = 0; p < 2; p++) {
		int x, y, z, d;

		if (vnni && (sa || sb)) {
			mixed(c, in, p);
			continue;
		}
		x = jv_obs(c, in->o[1], 0, p, 0);
		y = jv_obs(c, in->o[2], 0, p, 1);
		z = jv_obs(c, in->o[3], 0, p, 2);
		/* even and odd bytes as 16-bit numbers */
		ev_i(a, VOP(1, 1, 0, 0x71), 6, 3, rm_reg(x), 0, 0, 8);
		ev_i(a, VOP(1, 1, 0, 0x71), sa ? 4 : 2, 3, rm_reg(3), 0, 0, 8);
		ev_i(a, VOP(1, 1, 0, 0x71), sa ? 4 : 2, 4, rm_reg(x), 0, 0, 8);
		ev_i(a, VOP(1, 1, 0, 0x71), 6, 5, rm_reg(y), 0, 0, 8);
		ev_i(a, VOP(1, 1, 0, 0x71), sb ? 4 : 2, 5, rm_reg(5), 0, 0, 8);
		ev_i(a, VOP(1, 1, 0, 0x71), sb ? 4 : 2, 6, rm_reg(y), 0, 0, 8);
		ev(a, V_PMADDWD, 3, 3, rm_reg(5));
		ev(a, V_PMADDWD, 4, 4, rm_reg(6));
		ev(a, V_PADDD, 3, 3, rm_reg(4));
		d = jv_dst(c, in->o[0], p, 2);
		ev(a, V_PADDD, d, 3, rm_reg(z));
		jv_put(c, in->o[0], p, d);
	}
	return true;
}
