/* SPDX-License-Identifier: MIT */
/*
 * Places for a strip's values: one for a register's whole life, so that no edge needs moves. Those that are used most for
 * their length get machine registers (ten ymm, five general ones), the others a home, vectors on the stack and scalars in the private
 * area (park.c), from where instructions take them as memory operands.
 *
 * In: classes (facts.c). Out: sreg.loc, reg, reg2, home, kept; the stack's layout.
 */
#include "strip.h"

#define FIRST_YMM 4
#define LAST_YMM 13
static const u8 gprs[] = { RSI, RDI, R8, R9, R10 };
#define NGPRS (sizeof(gprs))

struct life { u32 first, last; };

static void live_at(struct scomp *c, u32 v, u32 pos)
{
	struct sregister *r = &c->r[v];

	if (r->first > pos)
		r->first = pos;
	if (r->last < pos + 1)
		r->last = pos + 1;
}

static void live_set(struct scomp *c, const u64 *set, u32 pos)
{
	u32 w;
	u64 x;

	for (w = 0; w < c->words; w++)
		for (x = set[w]; x; x &= x - 1)
			live_at(c, w * 64 + (u32)__builtin_ctzll(x), pos);
}

static void touch(struct scomp *c, u32 o, u32 pos, u64 weight)
{
	if (o == OPND_NONE || (o & OPND_CONST))
		return;
	live_at(c, o, pos);
	c->r[o].weight += weight;
}

/* What is stored with a later one is there until then. */
static void last_of(struct scomp *c, const struct sblock *sb, u32 pc)
{
	u32 i, o = c->code[pc].o[0];

	for (i = pc; i < sb->end && !(c->quad[i].last && c->quad[i].first == c->quad[pc].first); i++)
		;
	if (o != OPND_NONE && !(o & OPND_CONST))
		live_at(c, o, i);
}

static void lives(struct scomp *c)
{
	u32 b, i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].first = NO_PC;
	for (b = 0; b < c->nb; b++) {
		struct sblock *sb = &c->b[b];
		u64 w = 1ull << 3 * (sb->depth > 8 ? 8 : sb->depth);

		for (i = sb->start; i < sb->end; i++) {
			struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++)
				if ((in->def | in->use) >> k & 1)
					touch(c, in->o[k], i, w);
			touch(c, in->guard, i, w);
			if (in->o[4] != OPND_NONE && ((in->use | in->def) >> 4 & 1) && s_index_of(c, in->o[4])) {
				touch(c, s_index_of(c, in->o[4])->index, i, w);
				touch(c, s_index_of(c, in->o[4])->base, i, w);
			}
			if (c->quad[i].n)
				last_of(c, sb, i);
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nargs + in->u.call->nrets; k++) {
					struct arg *a = k < in->u.call->nargs ? &in->u.call->args[k] : &in->u.call->rets[k - in->u.call->nargs];

					if (a->is_reg)
						touch(c, a->opnd, i, 1);
				}
		}
		live_set(c, sb->live_in, sb->start);
		live_set(c, sb->live_out, sb->end - 1);
		if (sb->keep) {
			live_set(c, sb->keep, sb->start);
			live_set(c, sb->keep, sb->end - 1);
		}
	}
}

struct rank { u64 density; u32 v; };

static int by_density(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	return x->density != y->density ? (x->density < y->density ? 1 : -1) : x->v < y->v ? -1 : x->v > y->v;
}

/* A machine register's lives: a sorted list in an array. */
struct held { struct life *l; u32 n, cap; };

static bool fits(const struct held *h, u32 first, u32 last)
{
	u32 lo = 0, hi = h->n;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (h->l[mid].last <= first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == h->n || h->l[lo].first >= last;
}

static bool hold(struct held *h, u32 first, u32 last)
{
	struct life *l = xgrow(h->l, &h->cap, h->n + 1, sizeof(*l));
	u32 i;

	if (!l)
		return false;
	h->l = l;
	for (i = h->n++; i && l[i - 1].first > first; i--)
		l[i] = l[i - 1];
	l[i] = (struct life){ first, last };
	return true;
}

/*
 * A sum that an instruction adds to, which nobody wants behind it: the result has its place, if it is free from there on, and no copy is made. Neither is
 * among what waiting lanes keep, or ends with the block.
 */
static void sums(struct scomp *c)
{
	u32 b, i;

	for (b = 0; b < c->nb; b++)
		for (i = c->b[b].start; i + 1 < c->b[b].end && !c->b[b].keep; i++) {
			const struct insn *in = &c->code[i];
			struct sregister *d, *z;

			if (in->kind != K_LANE || in->lop != LOP_MAD || (in->type != T_F32 && in->type != T_F64) || in->guard != OPND_NONE || (in->o[3] & OPND_CONST))
				continue;
			d = &c->r[in->o[0]];
			z = &c->r[in->o[3]];
			if (d->first != i || z->last != i + 1 || d == z || d->v.cls != SC_VARY || z->v.cls != SC_VARY || (in->type == T_F32 && !d->rawf))
				continue;
			d->from = in->o[3] + 1;
			z->into = in->o[0] + 1;
		}
}

/* r's neighbour in such a sum, NULL: none. Where r's life begins and ends then. */
static const struct sregister *neighbour(const struct scomp *c, const struct sregister *r, u32 *first, u32 *last)
{
	const struct sregister *p;

	if (r->from && (p = &c->r[r->from - 1])->loc == LOC_ZMM) {
		*first = r->first + 1;
		return p;
	}
	if (r->into && (p = &c->r[r->into - 1])->loc == LOC_ZMM) {
		*last = r->last - 1;
		return p;
	}
	return NULL;
}

bool s_place(struct scomp *c)
{
	struct held ymm[16] = { { 0 } }, gpr[NGPRS] = { { 0 } };
	struct rank *rank = calloc(c->s->nregs + 1, sizeof(*rank));
	u32 i, k, n = 0, b;
	u64 *meeting;
	s32 at = 0;
	bool ok = rank != NULL;

	if (!ok)
		return false;
	lives(c);
	sums(c);
	for (i = 0; i < c->s->nregs; i++) {
		struct sregister *r = &c->r[i];

		if (r->first == NO_PC)
			continue;
		r->live = true;
		r->loc = LOC_MEM;
		if (s_index_of(c, i))
			continue;
		rank[n++] = (struct rank){ (r->weight << 16) / (r->last - r->first + 2), i };
	}
	qsort(rank, n, sizeof(*rank), by_density);
	for (i = 0; i < n && ok; i++) {
		struct sregister *r = &c->r[rank[i].v];
		u32 want = r->v.cls == SC_VARY && r->w == 1 ? 2 : 1, got = 0, at2[2] = { 0 }, first, last;
		const struct sregister *p;

		if (r->v.cls == SC_SCALAR) {
			for (k = 0; k < NGPRS && !fits(&gpr[k], r->first, r->last); k++)
				;
			if (k < NGPRS) {
				ok = hold(&gpr[k], r->first, r->last);
				r->loc = LOC_GPR;
				r->reg = gprs[k];
			}
			continue;
		}
		first = r->first;
		last = r->last;
		p = neighbour(c, r, &first, &last);
		if (p && first < last && fits(&ymm[p->reg], first, last) && (want == 1 || fits(&ymm[p->reg2], first, last))) {
			at2[got++] = p->reg;
			if (want == 2)
				at2[got++] = p->reg2;
		} else {
			first = r->first;
			last = r->last;
		}
		for (k = FIRST_YMM; k <= LAST_YMM && got < want; k++)
			if (fits(&ymm[k], first, last))
				at2[got++] = k;
		if (got < want)
			continue;
		for (k = 0; k < want; k++)
			ok = ok && hold(&ymm[at2[k]], first, last);
		r->loc = LOC_ZMM;
		r->reg = (u8)at2[0];
		r->reg2 = (u8)at2[1];
	}
	/* the stack: words of lanes that wait, homes, room to save registers in */
	for (b = 0; b < c->nb; b++)
		for (i = 0; i < c->bwords; i++) {
			u64 x;

			for (x = c->b[b].wait[i]; x; x &= x - 1) {
				struct sblock *w = &c->b[i * 64 + (u32)__builtin_ctzll(x)];

				if (w->word < 0) {
					w->word = at;
					at += 4;
				}
			}
		}
	c->gbits = at;
	at = (at + 4 + 7) & ~7;
	c->old_rsp = at;
	meeting = pool_alloc(&c->mem, (c->words + 1) * 8);
	for (b = 0; meeting && b < c->nb; b++)
		for (i = 0; i < c->words && (c->b[b].turn || s_behind_meeting(c, b)); i++)
			meeting[i] |= c->b[b].live_in[i];
	ok = ok && meeting && s_keep_vectors(c, meeting);
	at = (at + 8 + 31) & ~31;
	for (i = 0; i < c->s->nregs; i++) {
		struct sregister *r = &c->r[i];

		if (!r->live || r->loc != LOC_MEM || r->v.cls == SC_SCALAR || r->kept || s_index_of(c, i))
			continue;
		r->home = at;
		at += r->w == 1 ? 64 : 32;
	}
	s_parks(c);
	c->save_ymm = at;
	at += 16 * 32;
	c->save_gpr = at;
	at += 8 * (s32)NGPRS;
	c->roots_at = at;
	at += 8 * (s32)S_ROOTS;
	c->rounds_at = at;
	at += ROUND_BYTES;
	c->stack = (at + 31) & ~31;
	for (k = 0; k < 16; k++)
		free(ymm[k].l);
	for (k = 0; k < NGPRS; k++)
		free(gpr[k].l);
	free(rank);
	return ok && c->stack < 1 << 18;
}
