/* SPDX-License-Identifier: MIT */
/*
 * Which threads lie side by side in memory. Most programs have neighbours in x read and write what lies next to each other; some have x for their rows,
 *
 *      o[x * n + y] = ...
 *
 * and those in y do. Where threads know nothing of each other (join.c) lanes may as well lie along y, and what was a gather is a row.
 *
 * In: statements as they were lowered. For each register, how far apart its numbers are in neighbours in x, and in y, as far as that is a constant; then
 * accesses that are close in one direction and not in the other are counted, in loops as eight.
 */
#include <string.h>

#include "front.h"
#include "lanes.h"

#define CLOSE 16                /* bytes: neighbours use one line */
#define IN_LOOP 8u

enum { UNSET, KNOWN, OTHER };

struct far { u8 is[2]; s64 by[2]; };

static const struct far none = { { KNOWN, KNOWN }, { 0, 0 } };

struct across {
	struct comp *c;
	struct far *of;         /* by register */
	bool more;
};

static struct far holds(const struct across *v, u32 o) { return o == OPND_NONE || (o & OPND_CONST) ? none : v->of[o]; }

static bool same(const struct far *f) { return f->is[0] == KNOWN && f->is[1] == KNOWN && !f->by[0] && !f->by[1]; }

/* a + k * b */
static struct far sum(struct far a, struct far b, s64 k)
{
	struct far r = none;
	u32 d;

	for (d = 0; d < 2; d++) {
		r.is[d] = a.is[d] == UNSET || b.is[d] == UNSET ? UNSET : a.is[d] == OTHER || b.is[d] == OTHER ? OTHER : KNOWN;
		r.by[d] = r.is[d] == KNOWN ? a.by[d] + k * b.by[d] : 0;
		if (r.by[d] > INT32_MAX || r.by[d] < INT32_MIN)
			r.is[d] = OTHER;
	}
	return r;
}

/* Of something that is made of a in another way: unknown where a differs */
static struct far lost(struct far a)
{
	u32 d;

	for (d = 0; d < 2; d++)
		if (a.is[d] == KNOWN && a.by[d])
			a.is[d] = OTHER;
	return a;
}

static struct far product(const struct across *v, u32 x, u32 y)
{
	const struct konst *k = y != OPND_NONE && (y & OPND_CONST) ? konst_at(v->c, y) : NULL;
	struct far a = holds(v, x), b = holds(v, y);

	if (k && !k->sym)
		return k->bits <= UINT32_MAX ? sum(none, a, (s32)k->bits) : lost(a);
	if (x != OPND_NONE && (x & OPND_CONST))
		return product(v, y, x);
	return same(&a) && same(&b) ? none : sum(lost(a), lost(b), 1);
}

static struct far made(const struct across *v, const struct insn *in)
{
	const struct konst *k = in->o[2] != OPND_NONE && (in->o[2] & OPND_CONST) ? konst_at(v->c, in->o[2]) : NULL;
	struct far a = holds(v, in->o[1]), r = none;
	u32 i;

	if (in->kind == K_SREG) {
		if (in->sub == SR_TID_X || in->sub == SR_TID_Y)
			r.by[in->sub == SR_TID_Y] = 1;
		return r;
	}
	if (in->kind == K_CVTA)
		return a;
	if (in->kind == K_LANE && !type_is_float(in->type))
		switch (in->lop) {
		case LOP_MOV: case LOP_CVT_TRUNC: case LOP_CVT_SEXT:
			return a;
		case LOP_ADD: return sum(a, holds(v, in->o[2]), 1);
		case LOP_SUB: return sum(a, holds(v, in->o[2]), -1);
		case LOP_MUL: case LOP_MULWIDE: return product(v, in->o[1], in->o[2]);
		case LOP_MAD: case LOP_MADWIDE: return sum(product(v, in->o[1], in->o[2]), holds(v, in->o[3]), 1);
		case LOP_SHL:
			if (k && !k->sym && k->bits < 31)
				return sum(none, a, 1ll << k->bits);
			break;
		case LOP_MIN: case LOP_MAX:     /* a clamp */
			r = holds(v, in->o[2]);
			if (same(&r) || same(&a))
				return sum(a, r, 1);
			break;
		}
	for (i = 0; i < 6; i++)
		if (in->use >> i & 1)
			r = sum(r, lost(holds(v, in->o[i])), 1);
	return r;
}

static void merge(struct across *v, u32 o, struct far f)
{
	struct far *r;
	u32 d;

	if (o == OPND_NONE || (o & OPND_CONST))
		return;
	r = &v->of[o];
	for (d = 0; d < 2; d++) {
		u8 is = r->is[d] == UNSET ? f.is[d] : f.is[d] == UNSET || (r->is[d] == f.is[d] && r->by[d] == f.by[d]) ? r->is[d] : OTHER;
		s64 by = is != KNOWN ? 0 : r->is[d] == UNSET ? f.by[d] : r->by[d];

		v->more |= is != r->is[d] || by != r->by[d];
		r->is[d] = is;
		r->by[d] = by;
	}
}

static bool close(const struct far *f, u32 d) { return f->is[d] == KNOWN && f->by[d] && f->by[d] >= -CLOSE && f->by[d] <= CLOSE; }
static bool apart(const struct far *f, u32 d) { return f->is[d] == OTHER || f->by[d] > 4 * CLOSE || f->by[d] < -4 * CLOSE; }

enum way across(struct comp *c)
{
	struct across v = { .c = c, .more = true };
	u32 i, k, x = 0, y = 0;
	s32 *deep = cneed(c, pool_alloc(&c->pool, (c->ncode + 1) * sizeof(*deep)));    /* loops that begin there, less those that end */

	v.of = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(*v.of)));
	memset(v.of, 0, (c->nregs + 1) * sizeof(*v.of));
	memset(deep, 0, (c->ncode + 1) * sizeof(*deep));
	while (v.more) {
		v.more = false;
		c->fn->work += c->ncode;
		if (compile_too_much(c->fn))
			return WAY_BOTH;
		for (i = 0; i < c->ncode; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++)
				if (in->def >> k & 1)
					merge(&v, in->o[k], made(&v, in));
		}
	}
	/* what lies between a label and a jump back to it is a loop */
	for (i = 0; i < c->ncode; i++)
		if (c->code[i].kind == K_JMP || c->code[i].kind == K_CBRA) {
			const struct label *to = c->labels[c->code[i].taken];

			while (to->alias)
				to = to->alias;
			if (to->at <= i) {
				deep[to->at]++;
				deep[i + 1]--;
			}
		}
	for (i = 0; i < c->ncode; i++) {
		const struct insn *in = &c->code[i];
		struct far f;

		deep[i] += i ? deep[i - 1] : 0;
		if ((in->kind != K_LD && in->kind != K_ST && in->kind != K_ATOM) || (in->space != SPACE_GLOBAL && in->space != SPACE_GENERIC))
			continue;
		f = holds(&v, in->o[4]);
		if (close(&f, 0) && apart(&f, 1))
			x += deep[i] ? IN_LOOP : 1;
		if (close(&f, 1) && apart(&f, 0))
			y += deep[i] ? IN_LOOP : 1;
	}
	return y > x ? WAY_Y : y && y == x ? WAY_BOTH : WAY_X;
}
