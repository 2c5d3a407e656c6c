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
	m->sub2 = 1;                    /* aligned as its elements */
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
