/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions whose bodies are known become those bodies: code is made of kernels only, and an activation is the
 * interpreter's. nvcc leaves double's pow() as a call, and whatever is marked __noinline__.
 *
 * A function's code is kept as it was before its registers got slots (keep_body); a caller takes it over with registers,
 * labels and constants of its own. Parameters and results in memory are the caller's own variables; .local variables
 * come behind the caller's, at one place for all calls, none of which is active during another.
 *
 * Shared variables of functions have one place for all kernels (compile.c), so their addresses stay what they are.
 *
 * In: emitted code with label numbers, before hoisting and cfg.c. Out: the same. A function that is reached through itself or a pointer, or is large
 * stays a call; so do all where the program is watched by line (memory checker, traces).
 */
#include <stdlib.h>
#include <string.h>

#include "inline.h"

void body_free(struct func *fn)
{
	if (fn->inlined)
		jit_src_free(fn->inlined->s);
	fn->inlined = NULL;
}

/* cfg.c has laid out fn's code; registers are still virtual. Without memory it stays a call. */
void keep_body(struct comp *c, const struct insn *code, u32 n)
{
	struct func *fn = c->fn;
	struct pool *p = &c->m->pool;
	struct fbody *b;
	u32 i;

	if (fn->entry || !c->m->e->code_rw || n > KEPT_MOST)
		return;
	for (i = 0; i < n; i++)
		if (code[i].kind == K_STEP)
			return;
	b = pool_alloc(p, sizeof(*b));
	if (!b)
		return;
	b->nk = c->nk;
	b->k = pool_alloc(p, (c->nk + 1) * sizeof(*b->k));
	b->arg = pool_alloc(p, (fn->nparams + 1) * sizeof(u32));
	b->ret = pool_alloc(p, (fn->nrets + 1) * sizeof(u32));
	if (!b->k || !b->arg || !b->ret)
		return;
	/* with the addresses that they have got (compile.c): names of the body's own variables go with this compilation */
	for (i = 0; i < c->nk; i++) {
		const struct konst *k = &c->k[i];
		u64 bits = k->bits + (k->sym ? k->sym->addr : 0);

		b->k[i] = (struct konst){ k->w == 1 ? bits : (u32)bits, NULL, k->off, k->w };
	}
	memcpy(b->arg, fn->parg, fn->nparams * sizeof(u32));
	memcpy(b->ret, fn->pret, fn->nrets * sizeof(u32));
	b->s = jit_src_new(code, n, c->regs, c->nregs);
	if (b->s)
		fn->inlined = b;
}

static bool beside(const struct arg *a, const struct arg *b)
{
	return a->off + a->bytes <= b->off || b->off + b->bytes <= a->off;
}

bool formals_fit(const struct arg *a, const struct fparam *p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (a[i].is_reg != p[i].is_reg || (a[i].is_reg && p[i].vec) || (!a[i].is_reg && (a[i].bytes != p[i].bytes || (a[i].off & (p[i].align - 1)))))
			return false;
	return true;
}

/* Arguments and results share memory only where a call copies them. */
bool results_apart(const struct callinfo *ci)
{
	u32 i, k;

	for (i = 0; i < ci->nrets; i++)
		for (k = 0; k < ci->nargs; k++)
			if (!ci->rets[i].is_reg && !ci->args[k].is_reg && !beside(&ci->rets[i], &ci->args[k]))
				return false;
	return true;
}

static bool fits(const struct insn *in)
{
	const struct callinfo *ci = in->u.call;
	const struct func *g = ci->fn;

	if (in->guard != OPND_NONE || !g || ci->builtin || g->state != FN_READY || !g->inlined || g->cyclic || g->calls_ptr ||
	    g->inlined->s->n > BODY_MOST)
		return false;
	return ci->nargs == g->nparams && ci->nrets == g->nrets && formals_fit(ci->args, g->params, ci->nargs) &&
	       formals_fit(ci->rets, g->rets, ci->nrets) && results_apart(ci);
}

u32 splice_label(struct comp *c)
{
	struct label *l = cneed(c, pool_alloc(&c->pool, sizeof(*l)));

	c->labels = cneed(c, xgrow(c->labels, &c->labels_cap, c->nlabels + 1, sizeof(*c->labels)));
	l->id = c->nlabels;
	l->name = "";
	l->defined = true;
	c->labels[c->nlabels++] = l;
	return l->id;
}

static u32 label_of(struct splice *s, u32 pc)
{
	if (!s->label[pc])
		s->label[pc] = splice_label(s->c) + 1;
	return s->label[pc] - 1;
}

void splice_jump(struct comp *c, u32 label, u32 line)
{
	c->guard = OPND_NONE;
	c->gneg = false;
	c->line = line;
	emit(c, K_JMP)->taken = label;
}

/* An address in the local frame, which is a kernel's only one: a number. Its register has no other definition. */
static bool known_place(const struct splice *s, const struct insn *in)
{
	return s->c->fn->entry && s->sp == OPND_NONE && in->kind == K_LADDR && in->guard == OPND_NONE;
}

static u32 constant(struct splice *s, u32 o)
{
	const struct fbody *b = s->g->inlined;
	u32 i;

	for (i = 0; i < b->nk; i++)
		if (b->k[i].off == (o & ~OPND_CONST))
			return konst(s->c, b->k[i].bits, b->k[i].w);
	FAIL(s->c, "a constant of '%s' is missing", s->g->name);
}

u32 splice_operand(struct splice *s, u32 o)
{
	return o == OPND_NONE ? o : o & OPND_CONST ? constant(s, o) : s->reg[o];
}

/* Where a byte of the function's local frame is in ours. */
static u32 place(const struct splice *s, s64 at)
{
	const struct func *g = s->g;
	u32 i, k;

	for (k = 0; s->ci && k < 2; k++)
		for (i = 0; i < (k ? g->nrets : g->nparams); i++) {
			const struct fparam *p = (k ? g->rets : g->params) + i;
			const struct arg *a = (k ? s->ci->rets : s->ci->args) + i;

			if (!p->is_reg && at >= p->off && at < (s64)p->off + p->bytes)
				return a->off + (u32)(at - p->off);
		}
	return s->local + (u32)at;
}

void splice_copy(struct comp *c, u32 d, u32 a, u8 w, u32 line)
{
	static const struct stmt none;

	c->guard = OPND_NONE;
	c->gneg = false;
	c->line = line;
	if (w == 2)
		emit_pred(c, PRED_MOV, d, a, false, OPND_NONE, false);
	else
		emit_lane(c, &none, LOP_MOV, w ? T_U64 : T_U32, w, d, a, OPND_NONE, OPND_NONE);
}

struct callinfo *splice_callinfo(struct comp *c, const struct callinfo *o)
{
	struct pool *p = &c->m->pool;
	struct callinfo *ci = cneed(c, pool_alloc(p, sizeof(*ci)));

	*ci = *o;
	ci->args = cneed(c, pool_alloc(p, (o->nargs + 1) * sizeof(*ci->args)));
	ci->rets = cneed(c, pool_alloc(p, (o->nrets + 1) * sizeof(*ci->rets)));
	memcpy(ci->args, o->args, o->nargs * sizeof(*ci->args));
	memcpy(ci->rets, o->rets, o->nrets * sizeof(*ci->rets));
	return ci;
}

static struct callinfo *inner_call(struct splice *s, const struct callinfo *o)
{
	struct callinfo *ci = splice_callinfo(s->c, o);
	u32 i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < (k ? o->nrets : o->nargs); i++) {
			struct arg *a = (k ? ci->rets : ci->args) + i;

			if (a->is_reg)
				a->opnd = splice_operand(s, a->opnd);
			else
				a->off = place(s, a->off);
		}
	return ci;
}

static u32 *inner_targets(struct splice *s, const u32 *o)
{
	u32 *t = cneed(s->c, pool_alloc(&s->c->m->pool, (o[0] + 1) * sizeof(u32))), i;

	if (o[0] > MAX_EDGES - s->c->edges)
		lex_fail(&s->c->lx, VGPU_ST_NOT_SUPPORTED, "brx.idx: the function is too large: more than %u ways", MAX_EDGES);
	s->c->edges += o[0];
	t[0] = o[0];
	for (i = 1; i <= o[0]; i++)
		t[i] = label_of(s, o[i]);
	return t;
}

static void one(struct splice *s, const struct insn *o, u32 pc, u32 n)
{
	struct comp *c = s->c;
	struct insn in = *o;
	bool jumps = o->kind == K_CBRA || (o->kind == K_BRX && o->guard != OPND_NONE);
	u32 k;

	if (known_place(s, o))
		return;
	if (o->kind == K_LADDR)
		in.imm = place(s, o->imm);
	if (o->kind == K_RET && o->guard == OPND_NONE) {
		if (pc + 1 < n)
			splice_jump(c, s->end, o->line);
		return;
	}
	if (o->kind == K_RET) {
		in.kind = K_CBRA;
		in.taken = s->end;
	}
	for (k = 0; k < 6; k++)
		if ((o->use | o->def) >> k & 1)
			in.o[k] = splice_operand(s, o->o[k]);
	in.guard = splice_operand(s, o->guard);
	if (o->kind == K_JMP || o->kind == K_CBRA)
		in.taken = label_of(s, o->taken);
	if (o->kind == K_BRX)
		in.u.targets = inner_targets(s, o->u.targets);
	if (o->kind == K_CALL)
		in.u.call = inner_call(s, o->u.call);
	if (o->kind == K_CALL && s->call) {
		s->call(s, &in);
		return;
	}
	if (o->kind == K_LADDR && s->sp != OPND_NONE) {
		static const struct stmt none;

		c->guard = OPND_NONE;
		c->gneg = false;
		c->line = o->line;
		emit_lane(c, &none, LOP_ADD, T_U64, 1, in.o[0], s->sp, konst(c, (u64)in.imm, 1), OPND_NONE);
		return;
	}
	*emit(c, o->kind) = in;
	if (jumps && o->fall != pc + 1)
		splice_jump(c, label_of(s, o->fall), o->line);
}

void splice_body(struct splice *s)
{
	struct comp *c = s->c;
	const struct fbody *b = s->g->inlined;
	u32 i, n = b->s->n, *at = cneed(c, pool_alloc(&c->pool, (n + 1) * sizeof(u32)));

	s->reg = cneed(c, pool_alloc(&c->pool, (b->s->nregs + 1) * sizeof(u32)));
	s->label = cneed(c, pool_alloc(&c->pool, (n + 1) * sizeof(u32)));
	for (i = 0; i < b->s->nregs; i++)
		s->reg[i] = new_reg(c, b->s->regs[i].type);
	for (i = 0; i < n; i++) {
		const struct insn *in = &b->s->code[i];

		if (known_place(s, in))
			s->reg[in->o[0]] = konst(c, place(s, in->imm), in->dw);
	}
	for (i = 0; s->ci && i < s->ci->nargs; i++)
		if (s->ci->args[i].is_reg)
			splice_copy(c, s->reg[b->arg[i]], s->ci->args[i].opnd, s->ci->args[i].w, s->line);
	s->end = splice_label(c);
	for (i = 0; i < n; i++) {
		at[i] = c->ncode;
		one(s, &b->s->code[i], i, n);
	}
	for (i = 0; i < n; i++)
		if (s->label[i])
			c->labels[s->label[i] - 1]->at = at[i];
	c->labels[s->end]->at = c->ncode;
	for (i = 0; s->ci && i < s->ci->nrets; i++)
		if (s->ci->rets[i].is_reg)
			splice_copy(c, s->ci->rets[i].opnd, s->reg[b->ret[i]], s->ci->rets[i].w, s->line);
}

void splice_labels(struct comp *c, const u32 *at, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!c->labels[i]->alias)
			c->labels[i]->at = at[c->labels[i]->at];
}

static void body(struct comp *c, const struct insn *call, u32 local)
{
	struct splice s = { .c = c, .g = call->u.call->fn, .ci = call->u.call, .local = local, .sp = OPND_NONE, .line = call->line };

	splice_body(&s);
}

void inline_calls(struct comp *c)
{
	struct engine *e = c->m->e;
	struct insn *old = c->code;
	u32 n = c->ncode, labels = c->nlabels, local = (u32)((c->local_bytes + 15) & ~15ull), most = 0, added = 0, i, *at;
	u8 *take;

	if (!e->code_rw || e->mc || e->ops || !c->fn->ncallees)
		return;
	take = cneed(c, pool_alloc(&c->pool, n + 1));
	for (i = 0; i < n; i++) {
		const struct func *g = old[i].kind == K_CALL ? old[i].u.call->fn : NULL;

		if (!g || !fits(&old[i]) || added + g->inlined->s->n > ADDED_MOST ||
		    c->m->inlined + g->inlined->s->n > MODULE_MOST)
			continue;
		take[i] = 1;
		added += g->inlined->s->n;
		c->m->inlined += g->inlined->s->n;
		most = g->local_bytes > most ? g->local_bytes : most;
	}
	if (!added)
		return;
	at = cneed(c, pool_alloc(&c->pool, (n + 1) * sizeof(u32)));
	old = cneed(c, pool_alloc(&c->pool, n * sizeof(*old)));
	memcpy(old, c->code, n * sizeof(*old));
	c->ncode = 0;
	for (i = 0; i < n; i++) {
		at[i] = c->ncode;
		if (take[i])
			body(c, &old[i], local);
		else
			*emit(c, K_NOP) = old[i];
	}
	splice_labels(c, at, labels);
	c->guard = OPND_NONE;
	c->gneg = false;
	c->local_bytes = local + most;
	c->fn->local_bytes = (u32)((c->local_bytes + 15) & ~15ull);
}
