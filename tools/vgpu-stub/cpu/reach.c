/* SPDX-License-Identifier: MIT */
/*
 * Where shared memory of functions lies. It lives as long as the block does, so what two functions have must lie apart where
 * one kernel may come to both, and there only: a kernel is to have room for the functions that it may call, not for all of its
 * module's. The same is true of the module's variables that functions name.
 *
 * Called by compile.c for functions with shared memory. The bodies are read by tokens, once, when the first such function is
 * compiled: who names a function may come to it, and who calls by a pointer to any. Where that does not help (one holder of
 * shared memory alone, a text that is no PTX, too many) each holder has a place behind all others.
 */
#include <stdlib.h>
#include <string.h>

#include "front.h"

#define MAX_HOLDERS 4096
#define MAX_WORK (1ull << 28)           /* words looked at in a module, some tenths of a second: a text made to be slow is treated as one too large */

struct holder {
	const void *who;                /* struct func or struct sym */
	u64 *with;                      /* holders that some kernel may come to beside it */
	u32 lo, hi;                     /* its place; hi 0: none yet */
};

struct reach { u32 n; struct holder *h; };

struct edges { u32 (*e)[2], n, cap; };

struct scan {
	struct module *m;
	struct holder *h;
	u32 n, cap, *own_of;            /* holder number + 1 of m->funcs[] */
	struct edges calls, has;        /* function to function, function to holder */
	bool *any;                      /* calls by a pointer */
	bool failed;
};

static void add(struct scan *s, struct edges *l, u32 from, u32 to)
{
	u32 (*e)[2] = xgrow(l->e, &l->cap, l->n + 1, sizeof(*l->e));

	s->failed |= !e;
	if (!e)
		return;
	l->e = e;
	e[l->n][0] = from;
	e[l->n++][1] = to;
}

static u32 holder_of(struct scan *s, const void *who)
{
	struct holder *h;
	u32 i;

	for (i = 0; i < s->n; i++)
		if (s->h[i].who == who)
			return i;
	h = s->n < MAX_HOLDERS ? xgrow(s->h, &s->cap, s->n + 1, sizeof(*s->h)) : NULL;
	s->failed |= !h;
	if (!h)
		return 0;
	s->h = h;
	s->h[s->n] = (struct holder){ .who = who };
	return s->n++;
}

/* One name in function i: a function that it may come to, or a variable of the module's. */
static bool name(struct scan *s, u32 i, const struct lex *lx)
{
	struct map_ent *ent = map_find(&s->m->syms, lx->s, lx->n);
	struct sym *v = ent ? ent->val : NULL;

	if (v && v->what == V_FUNC && !v->fn->entry)
		add(s, &s->calls, i, v->fn->at);
	else if (v && v->what == V_VAR && v->space == SPACE_SHARED && !v->dyn)
		add(s, &s->has, i, holder_of(s, v));
	return v && v->what == V_FUNC;
}

static void scan_body(struct scan *s, u32 i)
{
	struct func *fn = s->m->funcs[i];
	struct bail bail;
	u32 depth = 1;
	struct lex lx;

	if (setjmp(bail.at)) {
		s->failed = true;
		return;
	}
	lex_init(&lx, fn->body, fn->end ? fn->end : s->m->end, 1, &bail, NULL, 0);
	while (depth && !s->failed && lex_next(&lx) != TK_EOF) {
		bool call = lx.tok == TK_ID && lex_is(&lx, "call"), named = false;

		depth += lx.tok == '{';
		depth -= lx.tok == '}';
		/* a declaration, or any load: who only loads has nothing, which does no harm */
		if (lx.tok == TK_DIR && lex_is(&lx, "shared") && !fn->entry)
			s->own_of[i] = holder_of(s, fn) + 1;
		if (!call) {
			if (lx.tok == TK_ID)
				name(s, i, &lx);
			continue;
		}
		while (lex_next(&lx) != TK_EOF && lx.tok != ';')
			if (lx.tok == TK_ID)
				named |= name(s, i, &lx);
		s->any[i] |= !named;
	}
}

/* What each function comes to, then who meets whom in a kernel. */
static bool meet(struct scan *s, struct reach *r)
{
	u32 words = (s->n + 63) / 64, i, k, w;
	u64 *to, work = (u64)s->m->nfuncs * s->n * words;
	bool more = true;

	if (work > MAX_WORK)
		return false;
	to = calloc(s->m->nfuncs, words * sizeof(*to));
	if (!to)
		return false;
	for (i = 0; i < s->m->nfuncs; i++) {
		if (s->own_of[i])
			to[i * words + (s->own_of[i] - 1) / 64] |= 1ull << ((s->own_of[i] - 1) & 63);
		for (k = 0; s->any[i] && k < s->n; k++)
			to[i * words + k / 64] |= 1ull << (k & 63);
	}
	for (i = 0; i < s->has.n; i++)
		to[s->has.e[i][0] * words + s->has.e[i][1] / 64] |= 1ull << (s->has.e[i][1] & 63);
	while (more) {
		work += (u64)s->calls.n * words;
		if (work > MAX_WORK)
			goto out;
		for (more = false, i = s->calls.n; i-- > 0;)
			for (w = 0; w < words; w++) {
				u64 *t = &to[s->calls.e[i][0] * words + w], was = *t;

				*t |= to[s->calls.e[i][1] * words + w];
				more |= *t != was;
			}
	}
	for (i = 0; i < s->n; i++)
		if (!(s->h[i].with = pool_alloc(&s->m->pool, words * sizeof(u64))))
			goto out;
	for (i = 0; i < s->m->nfuncs; i++)
		for (k = 0; s->m->funcs[i]->entry && k < s->n; k++)
			for (w = 0; to[i * words + k / 64] >> (k & 63) & 1 && w < words; w++)
				s->h[k].with[w] |= to[i * words + w];
	r->h = pool_alloc(&s->m->pool, s->n * sizeof(*r->h));
	if (r->h) {
		memcpy(r->h, s->h, s->n * sizeof(*r->h));
		r->n = s->n;
	}
out:
	free(to);
	return r->n;
}

static struct reach *look(struct module *m)
{
	struct scan s = { .m = m };
	u32 i, k;

	if (m->reach || !(m->reach = pool_alloc(&m->pool, sizeof(*m->reach))))
		return m->reach;
	s.own_of = calloc(m->nfuncs, sizeof(*s.own_of));
	s.any = calloc(m->nfuncs, sizeof(*s.any));
	for (i = 0; i < m->nfuncs; i++)
		m->funcs[i]->at = i;
	/* functions first: with one holder among them there is nothing to find out */
	for (k = 0; s.own_of && s.any && !s.failed && k < 2 && (!k || s.n > 1); k++)
		for (i = 0; i < m->nfuncs && !s.failed; i++)
			if (m->funcs[i]->has_body && m->funcs[i]->entry == (k == 1))
				scan_body(&s, i);
	if (k == 2 && !s.failed)
		meet(&s, m->reach);
	free(s.own_of);
	free(s.any);
	free(s.h);
	free(s.calls.e);
	free(s.has.e);
	return m->reach;
}

/* Does [lo, hi) meet a place of those that h may be beside? Then where that one ends. */
static u32 taken(const struct reach *r, const struct holder *h, u32 lo, u32 hi)
{
	u32 i;

	for (i = 0; i < r->n; i++)
		if (&r->h[i] != h && r->h[i].hi > lo && r->h[i].lo < hi && h->with[i / 64] >> (i & 63) & 1)
			return r->h[i].hi;
	return 0;
}

u32 reach_place(struct module *m, const void *who, u32 bytes, u32 align)
{
	struct reach *r = look(m);
	struct holder *h = NULL;
	u32 i, at = 0, end;

	for (i = 0; r && i < r->n && !h; i++)
		if (r->h[i].who == who)
			h = &r->h[i];
	if (!h) {
		at = (m->func_shared + align - 1) & ~(align - 1);
	} else if (h->hi && h->hi - h->lo >= bytes && !(h->lo & (align - 1))) {
		return h->lo;           /* it is compiled once more */
	} else {
		while ((end = taken(r, h, at, at + bytes)) != 0)
			at = (end + align - 1) & ~(align - 1);
		h->lo = at;
		h->hi = at + bytes;
	}
	if (at + bytes > m->func_shared)
		m->func_shared = at + bytes;
	return at;
}
