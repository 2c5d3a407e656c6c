/* SPDX-License-Identifier: MIT */
/*
 * Which registers lanes have their own numbers in: what is made of their numbers, of loads from their own places, of where others write; and what comes another way for some of them, as
 * a count of what each has found, made of constants alone:
 *
 *     n = 0; if (own) { n = 1; if (own too) n = 2; }    ... n
 *
 * A register with several definitions, one of them on a way from a branch at which lanes part to where they meet again, is a lane's own if it is read there. Called by neighbours.c.
 */
#include "spot.h"

/* The number of the warp in the block, or a multiple of it: tid >> 5, tid & -32, tid * 4 & -128 where lanes are along x */
static bool of_warp(struct look *l, const struct insn *in)
{
	u32 shape = l->c->spec & 255;
	struct spot a;
	struct sval v;
	s64 all;

	if ((shape != SPEC_LINEAR && shape != SPEC_LINE) || in->kind != K_LANE || (in->lop != LOP_SHR && in->lop != LOP_AND) || in->o[2] == OPND_NONE || !(in->o[2] & OPND_CONST))
		return false;
	v = s_val(l->c, in->o[2], 0);
	l->user = (u32)(in - l->c->code);
	if (!v.known || !s_spot_of(l, in->o[1], STEPS, &a) || a.step <= 0 || a.rows[0] || a.rows[1] || a.named || a.vague || a.fixed || a.first)
		return false;
	/* what a warp's lanes differ by is gone */
	all = LANES * a.step;
	return !(a.k & (all - 1)) && !(all & (all - 1)) && (in->lop == LOP_SHR ? 1ll << (v.k & 31) >= all : !(v.k & (u64)(all - 1)));
}

/* Lanes have their own of what comes of their numbers, of loads from their own places, and from where others write. */
static bool makes_own(struct look *l, const struct insn *in)
{
	u32 k;

	switch ((enum kind)in->kind) {
	case K_SREG:
		switch (spec_sreg(l->c->spec, in->sub)) {
		case SR_TID_X: case SR_LANEID: case SR_LANEMASK_EQ: case SR_LANEMASK_LE: case SR_LANEMASK_LT: case SR_LANEMASK_GE: case SR_LANEMASK_GT:
			return true;
		case SR_TID_Y: case SR_TID_Z:
			return (l->c->spec & 255) != SPEC_LINEAR && (l->c->spec & 255) != SPEC_LINE;
		default:
			return false;
		}
	case K_ATOM:
		return true;
	case K_VOTE: case K_ACTIVEMASK: case K_LDPARAM:
		return false;
	default:
		/* and of what some alone do, who had something else there before */
		if (in->guard != OPND_NONE && s_is_own(l, in->guard) && l->def[in->o[0]] == NO_PC - 1)
			return true;
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && s_is_own(l, in->o[k]))
				return !of_warp(l, in);
		return false;
	}
}

/* Of arithmetic with lanes' numbers; not of what is looked up or voted by them. */
static bool makes_numbered(struct look *l, const struct insn *in)
{
	u32 k, sr;

	switch ((enum kind)in->kind) {
	case K_SREG:
		sr = spec_sreg(l->c->spec, in->sub);
		return sr <= SR_TID_Z || sr == SR_LANEID;
	case K_LANE: case K_CVT: case K_LOP3:
		for (k = 1; k < 6; k++)
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && ((in->o[k] & OPND_CONST) ? s_is_own(l, in->o[k]) : l->numbered[in->o[k]]))
				return !of_warp(l, in);
		return false;
	default:
		return false;
	}
}

/* post: for each block a set of those that every way from it to an end leads through; w words each. NULL: no memory, or too many blocks */
static u64 *always(const struct look *l, u32 w)
{
	const struct jit_src *s = l->c->s;
	u64 *post = s->nb <= MOST_IN_LOOP ? pool_alloc(&l->c->mem, (u64)s->nb * w * sizeof(u64)) : NULL, all;
	bool more = true;
	u32 b, i, k;

	for (b = 0; post && b < s->nb; b++)
		memset(&post[b * w], s->b[b].nsucc ? 0xff : 0, w * sizeof(u64));
	while (post && more) {
		more = false;
		for (b = s->nb; b--;)
			for (i = 0; i < w; i++) {
				all = s->b[b].nsucc ? ~0ull : 0;
				for (k = 0; k < s->b[b].nsucc; k++)
					all &= post[s->b[b].succ[k] * w + i];
				all |= i == b / 64 ? 1ull << (b & 63) : 0;
				more |= all != post[b * w + i];
				post[b * w + i] = all;
			}
	}
	return post;
}

enum { FIRST = 1, SECOND = 2, MET = 4 };

/* Marks in l->seen what lanes come to by one way of the branch of block p, up to where all ways meet, which is marked too. */
static void side(struct look *l, const u64 *all, u32 p, u32 way)
{
	const struct jit_src *s = l->c->s;
	u8 mark = (u8)(FIRST << way);
	u32 n = 0, i, b, to = s->b[p].succ[way];

	l->seen[to] |= mark;
	for (l->stack[n++] = to; n;) {
		b = l->stack[--n];
		if (b != p && (all[b / 64] >> (b & 63) & 1)) {
			l->seen[b] |= MET;
			continue;
		}
		for (i = 0; b != p && i < s->b[b].nsucc; i++) {
			to = s->b[b].succ[i];
			if (!(l->seen[to] & mark))
				l->stack[n++] = to;
			l->seen[to] |= mark;
		}
	}
}

/* Is o read behind where ways from that branch have met? */
static bool read_behind(const struct look *l, u32 p, u32 o)
{
	const struct jit_src *s = l->c->s;
	u32 b;

	for (b = 0; b < s->nb; b++)
		if (b != p && ((l->seen[b] & MET) || (l->seen[b] & 3) == (FIRST | SECOND)) && jit_live_before(s, b, o))
			return true;
	return false;
}

/* Lanes part at the end of block p. Is there something new that is their own? */
static bool parts(struct look *l, const u64 *all, u32 p)
{
	const struct jit_src *s = l->c->s;
	bool more = false;
	u32 b, i, k, o;

	memset(l->seen, 0, s->nb);
	side(l, all, p, 0);
	side(l, all, p, 1);
	for (b = 0; b < s->nb; b++)
		for (i = s->b[b].start; l->seen[b] && !(l->seen[b] & MET) && i < s->b[b].end; i++)
			for (k = 0; (o = s_next_def(&l->c->code[i], &k)) != OPND_NONE;)
				if (!l->own[o] && l->def[o] == NO_PC - 1 && read_behind(l, p, o))
					l->own[o] = more = true;
	return more;
}

/* By what makes it alone */
static void by_makers(struct look *l)
{
	const struct scomp *c = l->c;
	bool more = true;
	u32 i, k, o;

	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];
			bool own = in->kind == K_CALL || (in->def && makes_own(l, in)), numbered = in->def && makes_numbered(l, in);

			for (k = 0; (own || numbered) && (o = s_next_def(in, &k)) != OPND_NONE;) {
				more |= own > l->own[o] || numbered > l->numbered[o];
				l->own[o] |= own;
				l->numbered[o] |= numbered;
			}
		}
	}
}

void s_find_own(struct look *l)
{
	const struct jit_src *s = l->c->s;
	u32 w = (s->nb + 63) / 64, p;
	u64 *post = always(l, w);
	bool more = true;

	memset(l->other, 0, s->nb);
	while (more) {
		by_makers(l);
		more = false;
		for (p = 0; post && p < s->nb; p++) {
			const struct insn *in = s->b[p].end > s->b[p].start ? &s->code[s->b[p].end - 1] : NULL;

			if (!in || l->other[p] || in->kind != K_CBRA || in->guard == OPND_NONE || s->b[p].nsucc != 2 || !s_is_own(l, in->guard))
				continue;
			l->other[p] = 1;
			more |= parts(l, &post[p * w], p);
		}
	}
}
