/* SPDX-License-Identifier: MIT */
/*
 * Narrow loads next to each other become one: compilers read a 34-byte block of quants as pairs of 16-bit
 * loads. The first of a group loads for all of it; jit.c emits nothing for the others. Called by jit.c
 * between jit_scan and jit_alloc.
 *
 * What is loaded early is alive from there (live sets and ranges say so), and the interpreter may not
 * enter between: it would not have it.
 */
#include "jit.h"
#include "lanes.h"

#define REACH 40

static bool alike(const struct insn *a, const struct insn *b)
{
	return b->kind == K_LD && b->vec == 1 && b->guard == OPND_NONE && !b->dw && b->o[4] == a->o[4] && b->space == a->space &&
	       b->size == a->size && b->aw == a->aw && !((a->flags ^ b->flags) & INF_SIGNED) && b->o[0] != OPND_NONE;
}

static bool touches(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if (((in->use | in->def) >> k & 1) && in->o[k] == v)
			return true;
	return in->guard == v;
}

static bool writes(const struct insn *in, u32 v)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] == v)
			return true;
	return false;
}

static bool stops(const struct insn *in)
{
	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_BFI: case K_LOP3: case K_CVT: case K_CVTA:
	case K_LD: case K_LDPARAM: case K_NOP:
		return false;
	}
	return true;
}

/* May the load at k be done at i? Its register must be free all the way. */
static bool early(const struct jcomp *c, u32 i, u32 k)
{
	u32 d = c->code[k].o[0], p;

	if (c->r[d].cls != JC_VARY || d == c->code[i].o[0] || d == c->code[i].o[4])
		return false;
	if (c->live_at[(size_t)(i + 1) * c->s->words + (d >> 6)] >> (d & 63) & 1)
		return false;
	for (p = i + 1; p < k; p++)
		if (touches(&c->code[p], d))
			return false;
	return true;
}

/* Code of in may leave for good, and the interpreter would miss halves that were not loaded. */
static bool may_leave(const struct jcomp *c, const struct insn *in)
{
	if (in->kind != K_LANE)
		return in->kind != K_LD && in->kind != K_NOP;
	return c->r[in->o[0]].cls != JC_VARY && in->lop != LOP_ADD && in->lop != LOP_SUB && in->lop != LOP_MOV && in->lop != LOP_SHL &&
	       in->lop != LOP_OR;
}

/* Where halves lo and hi, loaded at i, are put together and not used for anything else; 0: nowhere. */
static u32 pack_of(const struct jcomp *c, u32 i, u32 end, u32 lo, u32 hi, u32 addr)
{
	u32 first = c->code[i].o[0], seen = first == lo ? 1 : first == hi ? 2 : 0, k;

	for (k = i + 1; k < end && k < i + REACH; k++) {
		const struct insn *in = &c->code[k];
		const u64 *after = c->live_at + (size_t)(k + 1) * c->s->words;

		if (in->kind == K_LANE && in->lop == LOP_PACK && in->guard == OPND_NONE && !in->dw && in->o[1] == lo && in->o[2] == hi) {
			if (seen != 3 || in->o[0] == lo || in->o[0] == hi || in->o[0] == addr || k + 1 >= end || !early(c, i, k) ||
			    after[lo >> 6] >> (lo & 63) & 1 || after[hi >> 6] >> (hi & 63) & 1)
				return 0;
			return k;
		}
		if (may_leave(c, in))
			return 0;
		if (c->merged[k].kind == K_LD && !c->merged[k].vec && c->merged[k].imm == i) {
			seen |= in->o[0] == lo ? 1 : in->o[0] == hi ? 2 : 0;
			continue;       /* done at i */
		}
		if (touches(in, lo) || touches(in, hi))
			return 0;
	}
	return 0;
}

/* 16-bit elements that are only wanted in pairs are loaded as 32 bits. last: up to where the interpreter stays out. */
static u32 pairs(struct jcomp *c, u32 i, u32 end, struct insn *m, u32 last)
{
	u32 at[2] = { 0 }, n = m->vec / 2, e, k;

	if (m->size != 2)
		return last;
	for (e = 0; e < n; e++) {
		at[e] = pack_of(c, i, end, m->o[2 * e], m->o[2 * e + 1], m->o[4]);
		if (!at[e] || c->merged[at[e]].kind == K_LD)
			return last;
	}
	if (n == 2 && c->code[at[0]].o[0] == c->code[at[1]].o[0])
		return last;
	m->size = 4;
	m->vec = (u8)n;
	m->type = T_U32;
	m->flags &= (u8)~INF_SIGNED;
	m->def = (u8)((1u << n) - 1);
	for (e = 0; e < n; e++) {
		m->o[e] = c->code[at[e]].o[0];
		c->merged[at[e]].kind = K_LD;
		c->merged[at[e]].vec = 0;
		c->merged[at[e]].imm = i;
		for (k = at[e]; k > i; k--)
			c->live_at[(size_t)k * c->s->words + (m->o[e] >> 6)] |= 1ull << (m->o[e] & 63);
		last = at[e] > last ? at[e] : last;
	}
	for (; e < 4; e++)
		m->o[e] = OPND_NONE;
	return last;
}

static void merge_at(struct jcomp *c, u32 i, u32 end)
{
	const struct insn *in = &c->code[i];
	u32 at[7] = { 0 }, k, n, e, lo, last = i;       /* at[3 + d]: the load d elements away, + 1 */
	struct insn *m;

	at[3] = i + 1;
	for (k = i + 1; k < end && k < i + REACH && !stops(&c->code[k]); k++) {
		const struct insn *b = &c->code[k];
		s64 d = alike(in, b) ? (b->imm - in->imm) / in->size : 9;

		if (d >= -3 && d <= 3 && (b->imm - in->imm) % in->size == 0 && !at[3 + d] && c->merged[k].kind != K_LD && early(c, i, k))
			at[3 + d] = k + 1;
		if (writes(b, in->o[4]))
			break;
	}
	for (n = 8 / in->size > 4 ? 4 : 8 / in->size; n >= 2; n /= 2) {
		for (lo = 4 - n; lo <= 3; lo++) {
			for (e = 0; e < n && at[lo + e]; e++)
				;
			if (e == n)
				goto found;
		}
	}
	return;
found:
	m = &c->merged[i];
	*m = *in;
	m->vec = (u8)n;
	m->imm = in->imm + ((s64)lo - 3) * in->size;
	m->sub2 = in->size;             /* aligned as its elements */
	m->def = (u8)((1u << n) - 1);
	for (e = 0; e < n; e++) {
		k = at[lo + e] - 1;
		m->o[e] = c->code[k].o[0];
		if (k == i)
			continue;
		c->merged[k].kind = K_LD;
		c->merged[k].vec = 0;
		c->merged[k].imm = i;
		last = k > last ? k : last;
		for (; k > i; k--)
			c->live_at[(size_t)k * c->s->words + (m->o[e] >> 6)] |= 1ull << (m->o[e] & 63);
	}
	last = pairs(c, i, end, m, last);
	for (k = i + 1; k <= last; k++)
		c->inside[k] = 1;
}

bool jit_merge(struct jcomp *c)
{
	u32 b, i, l;

	for (b = 0; b < c->s->nb; b++)
		for (i = c->s->b[b].start; i < c->s->b[b].end; i++) {
			const struct insn *in = &c->code[i];
			struct jval v;

			if (!alike(in, in) || in->size > 4 || c->merged[i].kind == K_LD || c->r[in->o[0]].cls != JC_VARY ||
			    in->space == SPACE_LOCAL || in->space == SPACE_PARAM || in->o[0] == in->o[4])
				continue;
			v = jit_val(c, in->o[4], in->aw);
			if (v.cls == JC_UNI)
				continue;
			/* a row is one load already */
			for (l = 0; v.cls == JC_PAT && l < LANES && c->pats[v.pat][l] == (s32)(l * in->size); l++)
				;
			if (v.cls == JC_PAT && l == LANES)
				continue;
			merge_at(c, i, c->s->b[b].end);
		}
	return true;
}
