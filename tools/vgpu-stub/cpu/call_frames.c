/* SPDX-License-Identifier: MIT */
/*
 * Functions that a kernel has once: calls of them are jumps, and who called stands in a register. A thread's stack is a part
 * of the kernel's .local memory; sp says where the frame of the function that runs lies in it:
 *
 *        sp ──► parameters, results, .local variables  │ saved registers │ ◄── sp of what it calls
 *
 * A call that may come back to its caller saves the caller's registers that are alive behind it, and the caller's caller.
 * When the stack has no room the call is the interpreter's, which has a stack of its own and faults when that is full.
 *
 * Called by calls.c; in: code in which those calls still stand, by g->site. Out: jumps, and a tree of compares for each return.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

struct save { u32 reg, off; };

struct frames {
	struct cgraph *g;
	struct comp *c;
	struct save **save;     /* by site */
	u32 *nsave;
	struct slow { u32 site, label, back; struct insn in; } *slow;
	u32 nslow, room, limit; /* bytes of the stack; its end */
};

static const struct stmt none;

static void *take(struct comp *c, size_t bytes)
{
	return cneed(c, pool_alloc(&c->pool, bytes + 8));
}

/* ---- what is alive behind a call ------------------------------------------------------------ */

struct regs { u32 *num, *reg, n, sp; };
struct sets { const struct regs *r; u64 *use, *def; bool guarded; };

static void number(void *arg, u32 *o, bool is_def)
{
	struct regs *r = arg;

	(void)is_def;
	if (r->num[*o] || *o == r->sp)
		return;
	r->reg[r->n++] = *o;
	r->num[*o] = r->n;
}

static void one_set(void *arg, u32 *o, bool is_def)
{
	struct sets *s = arg;
	u32 k = s->r->num[*o];
	u64 bit;

	if (!k--)
		return;
	bit = 1ull << (k & 63);
	if (!is_def || s->guarded)
		s->use[k >> 6] |= bit;
	else
		s->def[k >> 6] |= bit;
}

static void with(const struct comp *c, u64 *set, const u64 *sets, u32 words, const struct cnode *n, u32 label)
{
	u32 at = c->labels[label]->at, w;

	for (w = 0; w < words && at >= n->first && at <= n->last; w++)
		set[w] |= sets[(size_t)(at - n->first) * words + w];
}

/* What is alive before an instruction, given all that may follow. */
static void before(const struct comp *c, const struct regs *r, const struct cnode *n, u32 i, u64 *set, const u64 *sets, u64 *tmp, u32 words)
{
	struct insn *in = &c->code[i];
	struct sets s = { r, tmp, tmp + words, in->guard != OPND_NONE };
	bool next = in->kind != K_JMP && (in->guard != OPND_NONE || (in->kind != K_BRX && in->kind != K_EXIT && in->kind != K_TRAP));
	u32 w, k;

	memset(set, 0, words * 8);
	if (in->kind == K_JMP || in->kind == K_CBRA)
		with(c, set, sets, words, n, in->taken);
	for (k = 1; in->kind == K_BRX && k <= in->u.targets[0]; k++)
		with(c, set, sets, words, n, in->u.targets[k]);
	for (w = 0; w < words && next && i < n->last; w++)
		set[w] |= sets[(size_t)(i + 1 - n->first) * words + w];
	memset(tmp, 0, 2 * words * 8);
	each_opnd(in, one_set, &s);
	for (w = 0; w < words; w++)
		set[w] = (set[w] & ~s.def[w]) | s.use[w];
}

static void add(const struct regs *r, u64 *set, u32 reg)
{
	u32 k = r->num[reg];

	if (k--)
		set[k >> 6] |= 1ull << (k & 63);
}

static u32 save_at(struct save *s, const struct regs *r, const struct comp *c, const u64 *live, u8 wide, u32 n, u32 *off)
{
	u32 k;

	for (k = 0; k < r->n; k++)
		if (live[k >> 6] >> (k & 63) & 1 && (c->regs[r->reg[k]].w == 1) == wide) {
			s[n++] = (struct save){ r->reg[k], *off };
			*off += wide ? 8 : 4;
		}
	return n;
}

static void saves_of(struct frames *f, u32 node)
{
	struct comp *c = f->c;
	struct cnode *n = &f->g->n[node];
	struct regs r = { take(c, c->nregs * sizeof(u32)), take(c, c->nregs * sizeof(u32)), 0, f->g->sp };
	u32 len = n->last - n->first + 1, i, k, words, local = (n->local + 15) & ~15u;
	u64 *sets, *tmp, *set;
	bool again = true;

	for (i = n->first; i <= n->last; i++)
		each_opnd(&c->code[i], number, &r);
	number(&r, &n->ra, false);
	for (k = 0; k < n->fn->nrets; k++)
		if (n->fn->rets[k].is_reg)
			number(&r, &n->s.reg[n->fn->inlined->ret[k]], false);
	words = r.n / 64 + 1;
	sets = take(c, (size_t)len * words * 8);
	tmp = take(c, 3 * (size_t)words * 8);
	set = tmp + 2 * words;
	add(&r, sets + (size_t)(len - 1) * words, n->ra);
	for (k = 0; k < n->fn->nrets; k++)
		if (n->fn->rets[k].is_reg)
			add(&r, sets + (size_t)(len - 1) * words, n->s.reg[n->fn->inlined->ret[k]]);
	while (again) {
		again = false;
		c->fn->work += (u64)len * words;
		if (compile_too_much(c->fn))
			lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "the function is too large: what lives across its calls takes too many steps");
		for (i = n->last; i-- > n->first;) {
			u64 *to = sets + (size_t)(i - n->first) * words;

			before(c, &r, n, i, set, sets, tmp, words);
			if (!memcmp(to, set, words * 8))
				continue;
			memcpy(to, set, words * 8);
			again = true;
		}
	}
	for (i = 0; i < f->g->nsites; i++) {
		const struct csite *s = &f->g->site[i];
		const struct callinfo *ci = c->code[s->at].u.call;
		u64 *live = sets + (size_t)(s->at + 1 - n->first) * words;
		u32 off = local;

		if (s->in != node || !s->to || !reaches(f->g, s->to, node))
			continue;
		memcpy(set, live, words * 8);
		for (k = 0; k < ci->nrets; k++)
			if (ci->rets[k].is_reg && r.num[ci->rets[k].opnd])
				set[(r.num[ci->rets[k].opnd] - 1) >> 6] &= ~(1ull << ((r.num[ci->rets[k].opnd] - 1) & 63));
		f->save[i] = take(c, r.n * sizeof(struct save));
		f->nsave[i] = save_at(f->save[i], &r, c, set, true, 0, &off);
		f->nsave[i] = save_at(f->save[i], &r, c, set, false, f->nsave[i], &off);
		if (off - local > n->saves)
			n->saves = off - local;
	}
}

static u32 frame_bytes(const struct cnode *n)
{
	return ((((n->local + 15) & ~15u) + n->saves) + 15) & ~15u;
}

/* ---- code ---------------------------------------------------------------------------------- */

/* A place in .local memory: behind a register, OPND_NONE: in the kernel's frame. */
struct where { u32 base; u32 off; };

static void move(struct comp *c, bool load, u32 reg, struct where at, u32 bytes)
{
	struct insn *in;
	u32 a = at.base == OPND_NONE ? konst(c, at.off, 1) : at.base;

	in = emit(c, load ? K_LD : K_ST);
	in->o[0] = reg;
	in->o[4] = a;
	in->imm = at.base == OPND_NONE ? 0 : at.off;
	in->space = SPACE_LOCAL;
	in->aw = 1;
	in->vec = 1;
	in->size = (u8)bytes;
	in->type = bytes == 8 ? T_B64 : bytes == 4 ? T_B32 : bytes == 2 ? T_B16 : T_B8;
	in->dw = bytes == 8;
	in->def = load;
	in->use = load ? 16 : 17;
}

static void bytes_copy(struct comp *c, struct where to, struct where from, u32 bytes, u32 align)
{
	u32 k, n = align < 8 ? align : 8;

	for (k = 0; k < bytes; k += n) {
		u32 r;

		while (n > bytes - k)
			n /= 2;
		r = new_reg(c, n == 8 ? T_B64 : T_B32);
		move(c, true, r, (struct where){ from.base, from.off + k }, n);
		move(c, false, r, (struct where){ to.base, to.off + k }, n);
	}
}

static void add_to(struct comp *c, u32 d, u32 a, s64 by)
{
	emit_lane(c, &none, LOP_ADD, T_U64, 1, d, a, konst(c, (u64)by, 1), OPND_NONE);
}

static void branch(struct comp *c, u32 p, u32 label)
{
	struct insn *in = emit(c, K_CBRA);

	in->guard = p;
	in->taken = label;
}

static void save(struct comp *c, const struct save *s, u32 sp, bool load)
{
	u8 w = c->regs[s->reg].w;
	u32 r = w == 2 ? new_reg(c, T_B32) : s->reg;

	if (w == 2 && !load)
		emit_lane(c, &none, LOP_SELP, T_U32, 0, r, konst(c, 1, 0), konst(c, 0, 0), s->reg);
	move(c, load, r, (struct where){ sp, s->off }, w == 1 ? 8 : 4);
	if (w == 2 && load)
		emit_cmp(c, &none, CMP_NE, T_U32, s->reg, r, konst(c, 0, 0), 0, OPND_NONE, false);
}

static u32 reg_like(struct comp *c, u8 w)
{
	return new_reg(c, w == 2 ? T_PRED : w ? T_B64 : T_B32);
}

static void site_label(struct comp *c, struct cnode *n, u32 label)
{
	n->sites = cneed(c, n->sites ? n->sites : pool_alloc(&c->pool, n->sites_cap * sizeof(u32)));
	n->sites[n->nsites++] = label;
}

static void call(struct frames *f, u32 i, const struct insn *in)
{
	struct cgraph *g = f->g;
	struct comp *c = f->c;
	const struct csite *s = &g->site[i];
	const struct callinfo *ci = in->u.call;
	struct cnode *x = &g->n[s->in], *n = &g->n[s->to];
	const struct fbody *b = n->fn->inlined;
	u32 k, p, mine = s->in ? frame_bytes(x) : 0, back = splice_label(c), base = s->in ? g->sp : OPND_NONE;
	u32 *t = take(c, (ci->nargs + ci->nrets) * sizeof(u32));
	struct where to = { g->sp, 0 }, his = { OPND_NONE, g->stack };

	if (s->in) {
		to = (struct where){ new_reg(c, T_B64), 0 };
		add_to(c, to.base, g->sp, mine);
		p = new_reg(c, T_PRED);
		emit_cmp(c, &none, CMP_GT, T_U64, p, to.base, konst(c, f->limit - frame_bytes(n), 1), 0, OPND_NONE, false);
		f->slow[f->nslow] = (struct slow){ i, splice_label(c), splice_label(c), *in };
		branch(c, p, f->slow[f->nslow].label);
		his = to;
	}
	for (k = 0; k < f->nsave[i]; k++)
		save(c, &f->save[i][k], g->sp, false);
	for (k = 0; k < ci->nargs; k++)
		if (ci->args[k].is_reg) {
			t[k] = reg_like(c, ci->args[k].w);
			splice_copy(c, t[k], ci->args[k].opnd, ci->args[k].w, in->line);
		} else {
			bytes_copy(c, (struct where){ his.base, his.off + n->fn->params[k].off }, (struct where){ base, ci->args[k].off },
				   ci->args[k].bytes, n->fn->params[k].align);
		}
	for (k = 0; k < ci->nargs; k++)
		if (ci->args[k].is_reg)
			splice_copy(c, n->s.reg[b->arg[k]], t[k], ci->args[k].w, in->line);
	splice_copy(c, g->sp, s->in ? to.base : konst(c, g->stack, 1), 1, in->line);
	splice_copy(c, n->ra, konst(c, n->nsites, 0), 0, in->line);
	site_label(c, n, back);
	splice_jump(c, n->begin, in->line);

	c->labels[back]->at = c->ncode;
	if (s->in)
		add_to(c, g->sp, g->sp, -(s64)mine);
	for (k = 0; k < ci->nrets; k++)
		if (ci->rets[k].is_reg) {
			t[k] = reg_like(c, ci->rets[k].w);
			splice_copy(c, t[k], n->s.reg[b->ret[k]], ci->rets[k].w, in->line);
		}
	for (k = 0; k < f->nsave[i]; k++)
		save(c, &f->save[i][k], g->sp, true);
	for (k = 0; k < ci->nrets; k++)
		if (ci->rets[k].is_reg)
			splice_copy(c, ci->rets[k].opnd, t[k], ci->rets[k].w, in->line);
		else
			bytes_copy(c, (struct where){ base, ci->rets[k].off },
				   (struct where){ s->in ? g->sp : OPND_NONE, (s->in ? mine : g->stack) + n->fn->rets[k].off },
				   ci->rets[k].bytes, n->fn->rets[k].align);
	if (s->in)
		c->labels[f->slow[f->nslow++].back]->at = c->ncode;
}

static u32 scratch_bytes(const struct callinfo *ci)
{
	u32 k, n = 0;

	for (k = 0; k < ci->nargs; k++)
		n += ci->args[k].is_reg ? 0 : (ci->args[k].bytes + 15) & ~15u;
	for (k = 0; k < ci->nrets; k++)
		n += ci->rets[k].is_reg ? 0 : (ci->rets[k].bytes + 15) & ~15u;
	return n;
}

static u32 align_of(const struct arg *a)
{
	u32 n = 8;

	while (a->off & (n - 1))
		n /= 2;
	return n;
}

/* The interpreter's call, whose arguments lie in the kernel's own frame. */
static void interpreted(struct frames *f, const struct insn *in)
{
	struct comp *c = f->c;
	struct insn one = *in;
	struct callinfo *ci = one.u.call = splice_callinfo(c, in->u.call);
	u32 k, off = f->g->scratch;

	for (k = 0; k < ci->nargs + ci->nrets; k++) {
		struct arg *a = k < ci->nargs ? &ci->args[k] : &ci->rets[k - ci->nargs];

		if (a->is_reg)
			continue;
		if (k < ci->nargs)
			bytes_copy(c, (struct where){ OPND_NONE, off }, (struct where){ f->g->sp, a->off }, a->bytes, align_of(a));
		a->off = off;
		off += (a->bytes + 15) & ~15u;
	}
	*emit(c, K_CALL) = one;
	for (k = 0; k < ci->nrets; k++)
		if (!ci->rets[k].is_reg)
			bytes_copy(c, (struct where){ f->g->sp, in->u.call->rets[k].off }, (struct where){ OPND_NONE, ci->rets[k].off },
				   ci->rets[k].bytes, align_of(&in->u.call->rets[k]));
}

/* To the one of sites lo to hi - 1 that ra names. */
static void go_back(struct comp *c, const struct cnode *n, u32 lo, u32 hi)
{
	u32 mid = (lo + hi) / 2, p, low;

	if (hi - lo == 1) {
		splice_jump(c, n->sites[lo], c->line);
		return;
	}
	p = new_reg(c, T_PRED);
	low = splice_label(c);
	emit_cmp(c, &none, CMP_LT, T_U32, p, n->ra, konst(c, mid, 0), 0, OPND_NONE, false);
	branch(c, p, low);
	go_back(c, n, mid, hi);
	c->labels[low]->at = c->ncode;
	go_back(c, n, lo, mid);
}

static void layout(struct frames *f)
{
	struct cgraph *g = f->g;
	u32 i, need = 0, bytes;
	bool deep = false;

	for (i = 1; i < g->nn; i++)
		if (g->n[i].once) {
			saves_of(f, i);
			need += frame_bytes(&g->n[i]);
			deep |= reaches(g, i, i);
		}
	for (i = 0; i < g->nsites; i++) {
		bytes = g->site[i].in ? scratch_bytes(f->c->code[g->site[i].at].u.call) : 0;
		g->scratch_bytes = bytes > g->scratch_bytes ? bytes : g->scratch_bytes;
		g->n[g->site[i].to].sites_cap++;
	}
	g->scratch = (g->n[0].local + 15) & ~15u;
	g->stack = g->scratch + g->scratch_bytes;
	f->room = deep ? stack_bytes(f->c) : need;
	if (deep)
		f->c->fn->stack = f->room;
	f->limit = g->stack + f->room;
	f->c->local_bytes = need || deep ? f->limit : g->n[0].local;
}

void call_frames(struct cgraph *g)
{
	struct comp *c = g->c;
	struct frames f = { .g = g, .c = c };
	u32 n = c->ncode, labels = c->nlabels, i, next = 0, *at;
	struct insn *old;

	f.save = take(c, g->nsites * sizeof(*f.save));
	f.nsave = take(c, g->nsites * sizeof(u32));
	f.slow = take(c, g->nsites * sizeof(*f.slow));
	layout(&f);
	if (!g->nsites)
		return;
	at = take(c, (n + 1) * sizeof(u32));
	old = take(c, n * sizeof(*old));
	memcpy(old, c->code, n * sizeof(*old));
	c->ncode = 0;
	c->guard = OPND_NONE;
	c->gneg = false;
	for (i = 0; i < n; i++) {
		const struct csite *s = next < g->nsites && g->site[next].at == i ? &g->site[next] : NULL;

		at[i] = c->ncode;
		c->line = old[i].line;
		if (!s)
			*emit(c, K_NOP) = old[i];
		else if (!s->to)
			interpreted(&f, &old[i]);
		else if (frame_bytes(&g->n[s->to]) > f.room && s->in)
			interpreted(&f, &old[i]);
		else if (frame_bytes(&g->n[s->to]) > f.room)
			*emit(c, K_CALL) = old[i];
		else
			call(&f, next, &old[i]);
		next += s != NULL;
	}
	at[n] = c->ncode;
	for (i = 0; i < f.nslow; i++) {
		c->labels[f.slow[i].label]->at = c->ncode;
		c->line = f.slow[i].in.line;
		interpreted(&f, &f.slow[i].in);
		splice_jump(c, f.slow[i].back, c->line);
	}
	splice_labels(c, at, labels);
	for (i = 1; i < g->nn; i++)
		if (g->n[i].once) {
			c->labels[g->n[i].back]->at = c->ncode;
			if (g->n[i].nsites)
				go_back(c, &g->n[i], 0, g->n[i].nsites);
			else
				emit(c, K_EXIT);        /* nobody calls it */
		}
}
