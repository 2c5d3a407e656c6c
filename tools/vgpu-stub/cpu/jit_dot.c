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
	return in->kind == K_LANE && lop_is_dp4a(in->lop);
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

/* One value for all lanes? */
static bool one(const struct jcomp *c, u32 o) { return !(o & OPND_CONST) && c->r[o].cls == JC_UNI; }

/* How many, from the one that is emitted on, are one sum of which nobody sees a part. */
static u32 chain(const struct jcomp *c, const struct insn *in)
{
	u32 end = c->s->b[c->block].end, n;

	if (c->gk)
		return 1;
	for (n = 1; n < CHAIN && c->pc + n < end; n++) {
		const struct insn *was = in + n - 1, *x = in + n;
		u32 pc = c->pc + n, i;

		if (x->kind != K_LANE || x->lop != in->lop || x->guard != OPND_NONE || x->o[3] != was->o[0] || x->o[1] == was->o[0] ||
		    x->o[2] == was->o[0] || waits(c, x->o[0]) || c->merged[pc].kind == K_LD)
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

/* Is factor f of all of them one value for all lanes, and the other of none? */
static bool by_one_value(const struct jcomp *c, const struct insn *in, u32 n, u32 f)
{
	u32 i;

	for (i = 0; i < n && one(c, in[i].o[f]) && !one(c, in[i].o[3 - f]); i++)
		;
	return i == n;
}

/* Does anything from pc on, before end, write what is summed in this chain? */
static bool factors_change(const struct jcomp *c, const struct insn *in, u32 n, u32 f, u32 pc, u32 end)
{
	u32 i;

	for (; pc < end; pc++)
		for (i = 0; i < n; i++)
			if (insn_writes(&c->code[pc], in[i].o[f]))
				return true;
	return false;
}

static bool same_factors(const struct insn *a, const struct insn *b, u32 n, u32 f)
{
	u32 i;

	for (i = 0; i < n && b[i].kind == K_LANE && b[i].lop == LOP_DP4ASS && a[i].o[f] == b[i].o[f]; i++)
		;
	return i == n;
}

/* The place in P where -s of this chain is; 0: nowhere. */
static u32 taken_off(const struct jcomp *c, const struct insn *in, u32 n, u32 f)
{
	u32 i;

	for (i = 0; i < JDOTS; i++) {
		const struct jdots *d = &c->dots[i];

		if (d->n == n && d->f == f && d->stamp == c->stamp && d->pc >= c->s->b[c->block].start && d->pc < c->pc &&
		    same_factors(&c->code[d->pc], in, n, f) && !factors_change(c, in, n, f, d->pc, c->pc))
			return d->home;
	}
	return 0;
}

/* The same, to be filled now: another sum of these factors follows. */
static u32 to_be_taken_off(struct jcomp *c, const struct insn *in, u32 n, u32 f)
{
	u32 end = c->s->b[c->block].end, pc;

	for (pc = c->pc + n; pc + n <= end; pc++)
		if (same_factors(in, &c->code[pc], n, f))
			break;
	if (pc + n > end || factors_change(c, in, n, f, c->pc, pc) || c->home_next + 192 > MAX_PRIVATE)
		return 0;
	c->home_next = (c->home_next + 63) & ~63u;
	c->dots[c->ndots++ % JDOTS] = (struct jdots){ c->stamp, c->pc, n, f, c->home_next };
	c->home_next += 128;
	return c->home_next - 128;
}

struct dots {
	const struct insn *in;
	u32 n, f;               /* how many; the factor that is summed */
	int top;                /* 128 in each byte */
	u32 known, keep;        /* where -s is, where it shall be */
};

/* zmm t = what is added to - s; 0 and 1 are written. */
static void less(struct jcomp *c, const struct dots *x, u32 p, int t)
{
	struct as *a = &c->a;
	u32 z = x->in->o[3], i;
	struct jval v = jit_val(c, z, 0);
	bool zero = v.known && !(u32)v.k;

	if (x->known) {
		if (zero)
			ev(a, V_MOVA32, t, 0, rm_mem(RBX, (s32)(x->known + 64 * p)));
		else
			ev(a, V_PADDD, t, jv_obs(c, z, 0, p, t), rm_mem(RBX, (s32)(x->known + 64 * p)));
		return;
	}
	if (x->keep || zero)
		ev_i(a, V_PTERNLOGD, t, t, rm_reg(t), 0, 0, 0xff);
	else
		flip(a, t, jv_obs(c, z, 0, p, t));
	for (i = 0; i < x->n; i++)
		ev(a, V_PDPBUSD, t, x->top, jv_rm_obs(c, x->in[i].o[x->f], 0, p, 1, NULL));
	flip(a, t, t);
	if (x->keep) {
		ev(a, V_MOVA32_ST, t, 0, rm_mem(RBX, (s32)(x->keep + 64 * p)));
		if (!zero)
			ev(a, V_PADDD, t, t, rm_reg(jv_obs(c, z, 0, p, 0)));
	}
}

static void sum_to(struct jcomp *c, const struct dots *x, u32 p, int t)
{
	u32 o = x->in[x->n - 1].o[0];
	int d = jv_dst(c, o, p, t);

	if (d != t)
		ev(&c->a, V_MOVA32, d, 0, rm_reg(t));
	jv_put(c, o, p, d);
}

static void signed_sum(struct jcomp *c, const struct dots *x, u32 p)
{
	struct as *a = &c->a;
	u32 i;

	less(c, x, p, 2);
	for (i = 0; i < x->n; i++) {
		int u = jv_obs(c, x->in[i].o[3 - x->f], 0, p, 0);
		struct rm y = jv_rm_obs(c, x->in[i].o[x->f], 0, p, 1, NULL);

		ev(a, V_PXORD, 3, u, rm_reg(x->top));
		ev(a, V_PDPBUSD, 2, 3, y);
	}
	sum_to(c, x, p, 2);
}

/*
 * Where the other factor is one value, 128 is added to that one, for both halves of a warp, and what is summed lies where the instruction
 * reads it.
 */
static void by_one(struct jcomp *c, const struct dots *x)
{
	struct as *a = &c->a;
	u32 i, p;

	for (p = 0; p < 2; p++)
		less(c, x, p, 2 + (int)p);
	for (i = 0; i < x->n; i++) {
		ev(a, V_PXORD, 0, jv_obs(c, x->in[i].o[3 - x->f], 0, 0, 0), rm_reg(x->top));
		for (p = 0; p < 2; p++)
			ev(a, V_PDPBUSD, 2 + (int)p, 0, jv_rm_obs(c, x->in[i].o[x->f], 0, p, 1, NULL));
	}
	for (p = 0; p < 2; p++)
		sum_to(c, x, p, 2 + (int)p);
}

/* One of the signs, for which VNNI has the instruction as it is. */
static void mixed_sum(struct jcomp *c, const struct dots *x, u32 p)
{
	struct as *a = &c->a;
	struct jval v = jit_val(c, x->in->o[3], 0);
	u32 u = x->in->lop == LOP_DP4AUS ? 1 : 2, i;
	int z;

	if (v.known && !(u32)v.k) {
		ev(a, V_PXORD, 2, 2, rm_reg(2));
	} else {
		z = jv_obs(c, x->in->o[3], 0, p, 2);
		if (z != 2)
			ev(a, V_MOVA32, 2, 0, rm_reg(z));
	}
	for (i = 0; i < x->n; i++)
		ev(a, V_PDPBUSD, 2, jv_obs(c, x->in[i].o[u], 0, p, 0), jv_rm_obs(c, x->in[i].o[3 - u], 0, p, 1, NULL));
	sum_to(c, x, p, 2);
}

bool jit_dot(struct jcomp *c, const struct insn *in)
{
	static int vnni = -1;
	struct as *a = &c->a;
	bool sa = in->lop == LOP_DP4ASU || in->lop == LOP_DP4ASS, sb = in->lop == LOP_DP4AUS || in->lop == LOP_DP4ASS;
	u32 p;

	if (c->ndot && c->pc > c->dot && c->pc < c->dot + c->ndot && is_dot(in))
		return true;            /* it is part of one before */
	if (vnni < 0)
		vnni = __builtin_cpu_supports("avx512vnni") != 0;
	if (vnni && (sa || sb)) {
		struct dots x = { .in = in, .n = chain(c, in) };

		if (!sa || !sb) {
			for (p = 0; p < 2; p++)
				mixed_sum(c, &x, p);
			c->dot = c->pc;
			c->ndot = x.n;
			return true;
		}
		x.f = by_one_value(c, in, x.n, 2) ? 1 : 2;
		x.known = taken_off(c, in, x.n, x.f);
		if (!x.known && !c->gk)
			x.keep = to_be_taken_off(c, in, x.n, x.f);
		x.top = j_lit_reg(c, j_lit32(c, 0x80808080u), 5);
		if (by_one_value(c, in, x.n, 3 - x.f))
			by_one(c, &x);
		else
			for (p = 0; p < 2; p++)
				signed_sum(c, &x, p);
		c->dot = c->pc;
		c->ndot = x.n;
		return true;
	}
	for (p = 0; p < 2; p++) {
		int x = jv_obs(c, in->o[1], 0, p, 0), y = jv_obs(c, in->o[2], 0, p, 1), z = jv_obs(c, in->o[3], 0, p, 2), d;

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
