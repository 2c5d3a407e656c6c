/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a kernel's calls that inline.c has left, so that all of it is control flow and code for it can be made.
 *
 *   through a pointer   a chain of compares with the functions of the module that have the prototype; behind it the call
 *                       as it was, for a pointer to anything else
 *   of a function       that does not reach itself: its body, as in inline.c
 *   recursive, large    its code stands in the kernel once (call_frames.c)
 *
 * In: a kernel's emitted code. Out: the same. What does not fit (shared variables of its own, too much code) stays a call.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static bool usable(const struct func *f)
{
	const struct jit_src *s;
	u32 i;

	if (!f->has_body || f->state != FN_READY || !f->inlined || f->local_bytes > FRAME_MOST / 2)
		return false;
	s = f->inlined->s;
	for (i = 0; i < s->n; i++)
		if (s->code[i].kind == K_LADDR && s->code[i].dw != 1)
			return false;
	return true;
}

static bool fit(const struct callinfo *ci, const struct func *f)
{
	return ci->nargs == f->nparams && ci->nrets == f->nrets && formals_fit(ci->args, f->params, ci->nargs) &&
	       formals_fit(ci->rets, f->rets, ci->nrets);
}

static u32 node_of(struct cgraph *g, const struct func *f)
{
	u32 i;

	for (i = 1; i < g->nn; i++)
		if (g->n[i].fn == f)
			return i;
	if (!usable(f) || g->nn == FUNCS_MOST)
		return 0;
	g->n[g->nn] = (struct cnode){ .fn = f, .ra = OPND_NONE };
	return g->nn++;
}

/* Where a call may go: numbers of functions. None: nobody knows. */
static u32 targets(struct cgraph *g, const struct callinfo *ci, u32 *to)
{
	const struct module *m = g->c->m;
	u32 i, n = 0;

	if (ci->builtin)
		return 0;
	if (ci->fn) {
		to[0] = fit(ci, ci->fn) ? node_of(g, ci->fn) : 0;
		return to[0] != 0;
	}
	for (i = 0; i < m->nfuncs; i++) {
		const struct func *f = m->funcs[i];

		if (f->entry || !fit(ci, f) || !usable(f))
			continue;
		if (n == TARGETS_MOST)
			return n;
		to[n] = node_of(g, f);
		n += to[n] != 0;
	}
	return n;
}

static void edges(struct cgraph *g, u32 from, const struct insn *code, u32 n)
{
	u32 to[TARGETS_MOST], i, k;

	for (i = 0; i < n; i++) {
		if (code[i].kind != K_CALL)
			continue;
		for (k = targets(g, code[i].u.call, to); k--;)
			g->n[from].reach[to[k] / 64] |= 1ull << (to[k] & 63);
	}
}

/* All that can be reached, and from where. */
static void reach(struct cgraph *g, const struct insn *code, u32 n)
{
	u32 i, j, w;

	edges(g, 0, code, n);
	for (i = 1; i < g->nn; i++)
		edges(g, i, g->n[i].fn->inlined->s->code, g->n[i].fn->inlined->s->n);
	for (j = 0; j < g->nn; j++)
		for (i = 0; i < g->nn; i++)
			if (reaches(g, i, j))
				for (w = 0; w < FUNCS_MOST / 64; w++)
					g->n[i].reach[w] |= g->n[j].reach[w];
}

/* ---- calls -------------------------------------------------------------------------------- */

static void note(struct cgraph *g, u32 in, u32 to)
{
	struct csite *more;

	if (g->nsites == g->sites_cap) {
		more = cneed(g->c, pool_alloc(&g->c->pool, (2 * g->sites_cap + 16) * sizeof(*more)));
		if (g->nsites)
			memcpy(more, g->site, g->nsites * sizeof(*more));
		g->site = more;
		g->sites_cap = 2 * g->sites_cap + 16;
	}
	g->site[g->nsites++] = (struct csite){ g->c->ncode - 1, in, to };
}

/* As it was: the interpreter's. */
static void stays(struct splice *s, const struct insn *in)
{
	*emit(s->c, K_CALL) = *in;
	if (s->in)
		note(s->graph, s->in, 0);
}

static bool room(struct cgraph *g, u32 n, u32 most)
{
	struct module *m = g->c->m;

	if (g->added + n > most || m->inlined + n > MODULE_MOST)
		return false;
	g->added += n;
	m->inlined += n;
	return true;
}

static void direct(struct splice *s, const struct insn *in, u32 to);

static void in_body(struct splice *s, const struct insn *in)
{
	struct cgraph *g = s->graph;
	struct comp *c = g->c;
	u32 list[TARGETS_MOST], label[TARGETS_MOST], n = targets(g, in->u.call, list), i, end, skip, p;
	struct insn one = *in, *b;
	static const struct stmt none;

	if (!n) {
		stays(s, in);
		return;
	}
	c->line = in->line;
	end = splice_label(c);
	skip = splice_label(c);
	c->guard = OPND_NONE;
	c->gneg = false;
	if (in->guard != OPND_NONE) {
		b = emit(c, K_CBRA);
		b->guard = in->guard;
		b->gneg = !in->gneg;
		b->taken = skip;
		one.guard = OPND_NONE;
		one.gneg = false;
	}
	if (in->u.call->fn) {
		direct(s, &one, list[0]);
	} else {
		for (i = 0; i < n; i++) {
			label[i] = splice_label(c);
			p = new_reg(c, T_PRED);
			emit_cmp(c, &none, CMP_EQ, T_U64, p, in->o[0], konst(c, g->n[list[i]].fn->unique_ptr, 1), 0, OPND_NONE, false);
			b = emit(c, K_CBRA);
			b->guard = p;
			b->taken = label[i];
		}
		stays(s, &one);
		splice_jump(c, end, in->line);
		for (i = 0; i < n; i++) {
			struct insn d = one;

			d.u.call = splice_callinfo(c, one.u.call);
			d.u.call->fn = (struct func *)(uintptr_t)g->n[list[i]].fn;
			d.u.call->name = d.u.call->fn->name;
			d.o[0] = OPND_NONE;
			d.use = 0;
			c->labels[label[i]]->at = c->ncode;
			direct(s, &d, list[i]);
			splice_jump(c, end, in->line);
		}
	}
	c->labels[end]->at = c->labels[skip]->at = c->ncode;
}

static void direct(struct splice *s, const struct insn *in, u32 to)
{
	struct cgraph *g = s->graph;
	struct cnode *n = &g->n[to];
	u32 size = n->fn->inlined->s->n, local = (s->local + (s->g ? s->g->local_bytes : 0) + 15) & ~15u;

	if (!reaches(g, to, to) && !n->once && size <= BODY_MOST && results_apart(in->u.call) && local < FRAME_MOST && room(g, size, ADDED_MOST)) {
		struct splice b = { .c = g->c, .g = n->fn, .ci = in->u.call, .local = local, .sp = s->sp, .line = in->line,
				    .call = in_body, .graph = g, .in = s->in };

		if (local + n->fn->local_bytes > g->n[s->in].local)
			g->n[s->in].local = local + n->fn->local_bytes;
		splice_body(&b);
		g->c->guard = OPND_NONE;
		g->c->gneg = false;
	} else if (n->once || room(g, size, 2 * ADDED_MOST)) {
		n->once = true;
		*emit(g->c, K_CALL) = *in;
		note(g, s->in, to);
	} else {
		stays(s, in);
	}
}

/* The code that is there once. What it calls may become such code too. */
static void bodies(struct cgraph *g)
{
	struct comp *c = g->c;
	bool again;
	u32 i;

	do {
		again = false;
		for (i = 1; i < g->nn; i++) {
			struct cnode *n = &g->n[i];

			if (!n->once || n->s.c)
				continue;
			again = true;
			n->s = (struct splice){ .c = c, .g = n->fn, .sp = g->sp, .call = in_body, .graph = g, .in = i };
			n->local = n->fn->local_bytes;
			n->ra = new_reg(c, T_B32);
			n->begin = splice_label(c);
			n->back = splice_label(c);
			c->labels[n->begin]->at = n->first = c->ncode;
			splice_body(&n->s);
			splice_jump(c, n->back, c->line);
			n->last = c->ncode - 1;
		}
	} while (again);
}

void resolve_calls(struct comp *c)
{
	struct engine *e = c->m->e;
	struct insn *old = c->code;
	u32 n = c->ncode, labels = c->nlabels, i, *at;
	struct cgraph *g;
	struct splice s = { .c = c, .sp = OPND_NONE };

	for (i = 0; i < n && (old[i].kind != K_CALL || old[i].u.call->builtin); i++)
		;
	if (!c->fn->entry || !e->code_rw || e->mc || e->ops || i == n)
		return;
	g = s.graph = cneed(c, pool_alloc(&c->pool, sizeof(*g)));
	g->c = c;
	g->nn = 1;
	g->n[0].fn = c->fn;
	g->sp = OPND_NONE;
	reach(g, old, n);
	if (g->nn == 1)
		return;
	g->sp = new_reg(c, T_B64);
	s.local = (u32)((c->local_bytes + 15) & ~15ull);
	g->n[0].local = s.local;
	at = cneed(c, pool_alloc(&c->pool, (n + 1) * sizeof(u32)));
	old = cneed(c, pool_alloc(&c->pool, n * sizeof(*old)));
	memcpy(old, c->code, n * sizeof(*old));
	c->ncode = 0;
	for (i = 0; i < n; i++) {
		at[i] = c->ncode;
		if (old[i].kind == K_CALL)
			in_body(&s, &old[i]);
		else
			*emit(c, K_NOP) = old[i];
	}
	splice_labels(c, at, labels);
	c->guard = OPND_NONE;
	c->gneg = false;
	bodies(g);
	call_frames(g);
	c->fn->local_bytes = (u32)((c->local_bytes + 15) & ~15ull);
}
