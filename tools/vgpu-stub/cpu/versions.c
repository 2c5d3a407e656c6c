/* SPDX-License-Identifier: MIT */
/*
 * A loop that asks in every round what is the same for a whole grid has a copy for each answer, and is asked before it begins.
 *
 *      LOOP: A                                 @p bra LOOP2
 *            @p bra NEXT             LOOP:  A                    LOOP2: A
 *            B              ==>             B                           C
 *      NEXT: C                              C                           @q bra LOOP2
 *            @q bra LOOP                    @q bra LOOP
 *
 * Compilers for GPUs leave such questions where they are (is there a bias? a mask? a second matrix?): there they cost nothing. Here what they
 * part is compiled by block: loads that become one, addresses that are checked once, what is made twice, rounds that are looked at before they begin.
 *
 * In: blocks and their edges, comparisons of what is the same for a grid in its prologue (uniform.c). Out: the same, with copies; a register that
 * only the loop knows is another one in each, so that it still has one definition. Blocks without another way in are part of the one before.
 *
 * Called by cfg.c for kernels, before values.c, with blocks in order.
 */
#include <string.h>

#include "cfg.h"

#define LOOP_LONGEST 1024u      /* instructions */
#define VERSIONS_MOST 8u        /* copies a kernel */
#define BLOCKS_MOST 8192u

struct versions {
	struct cfg *g;
	struct comp *c;
	u32 *pred, *first;      /* pred[first[b]..first[b + 1]]: blocks before b */
	u32 *list, n;           /* the loop's blocks, its beginning first */
	u32 *copy;              /* by block: its copy, 0: it is not in the loop */
	u32 *next;              /* by block: what becomes part of it, NO_PC: nothing */
	u8 *chosen;             /* by block: its branch chooses a version */
	u32 cap;                /* of cfg.b, and of what is by block */
};

static struct insn *last_of(const struct versions *v, u32 b) { return &v->c->code[v->g->b[b].end - 1]; }

static bool asks(const struct insn *in) { return in->kind == K_CBRA && in->guard != OPND_NONE && (in->guard & OPND_CONST); }

bool loops_may_ask(const struct cfg *g)
{
	bool back = false, ask = false;
	u32 i, k;

	for (i = 0; i < g->nb && g->nb <= BLOCKS_MOST; i++) {
		ask |= asks(&g->c->code[g->b[i].end - 1]);
		for (k = 0; k < g->b[i].nsucc; k++)
			back |= g->b[i].succ[k] <= i;
	}
	return back && ask;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

/* The loop that begins at h, into list and copy. Is it one that can be copied? */
static bool loop(struct versions *v, u32 h)
{
	struct cfg *g = v->g;
	u32 i, k, size = 0;

	memset(v->copy, 0, v->cap * sizeof(u32));
	v->copy[h] = 1;
	v->list[0] = h;
	v->n = 1;
	for (i = 0; i < v->n; i++) {
		u32 b = v->list[i];

		size += g->b[b].end - g->b[b].start;
		if (size > LOOP_LONGEST)
			return false;
		/* lists that are each instruction's own */
		for (k = g->b[b].start; k < g->b[b].end; k++)
			if (v->c->code[k].kind == K_CALL || v->c->code[k].kind == K_BRX)
				return false;
		for (k = v->first[b]; k < v->first[b + 1]; k++) {
			u32 p = v->pred[k];

			if (v->copy[p] || (b == h && g->b[p].order < g->b[h].order))
				continue;
			/* a way in that does not come by the beginning */
			if (g->b[p].order < g->b[h].order)
				return false;
			v->copy[p] = 1;
			v->list[v->n++] = p;
		}
	}
	/* from the entry itself there is no edge that could lead to the question */
	return v->n && h && (v->n > 1 || v->first[h + 1] - v->first[h] > 1);
}

static bool is_loop(const struct versions *v, u32 h)
{
	u32 k;

	for (k = v->first[h]; k < v->first[h + 1]; k++)
		if (v->g->b[v->pred[k]].order >= v->g->b[h].order)
			return true;
	return false;
}

/* ---- copies --------------------------------------------------------------------------------------- */

static u32 new_block(struct versions *v, struct block n)
{
	struct cfg *g = v->g;

	if (g->nb == v->cap) {
		u32 cap = v->cap * 2;
		struct block *more = cfg_zeroes(v->g, cap * sizeof(*more));
		u32 *copy = cfg_zeroes(v->g, cap * sizeof(u32)), *next = cfg_zeroes(v->g, cap * sizeof(u32)), *list = cfg_zeroes(v->g, cap * sizeof(u32));
		u8 *chosen = cfg_zeroes(v->g, cap);

		memcpy(more, g->b, g->nb * sizeof(*more));
		memcpy(copy, v->copy, g->nb * sizeof(u32));
		memcpy(list, v->list, v->n * sizeof(u32));
		memcpy(chosen, v->chosen, g->nb);
		g->b = more;
		v->copy = copy;
		v->next = next;
		v->list = list;
		v->chosen = chosen;
		v->cap = cap;
	}
	g->b[g->nb] = n;
	return g->nb++;
}

static void append(struct versions *v, u32 at)
{
	cfg_append(v->g, &v->c->code[at]);
	v->c->fn->work++;
}

struct seen { u32 *all, *here, *to; };

static void count_all(void *arg, u32 *o, bool is_def) { (void)is_def; ((struct seen *)arg)->all[*o]++; }
static void count_here(void *arg, u32 *o, bool is_def) { (void)is_def; ((struct seen *)arg)->here[*o]++; }

static void rename_to(void *arg, u32 *o, bool is_def)
{
	const struct seen *s = arg;

	(void)is_def;
	if (s->to[*o])
		*o = s->to[*o];
}

/* Every operand field once: one that is read and written is seen twice by each_opnd. */
static void rename_all(struct insn *in, struct seen *s)
{
	u32 k;

	for (k = 0; k < 6; k++)
		if (((in->use | in->def) >> k & 1) && !(in->o[k] & OPND_CONST) && in->o[k] != OPND_NONE)
			rename_to(s, &in->o[k], false);
	if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
		rename_to(s, &in->guard, false);
}

/* Who is named in the loop alone has another name in its copy. */
static struct seen own_names(struct versions *v)
{
	struct comp *c = v->c;
	u32 nregs = c->nregs, i, k;
	struct seen s = { cfg_zeroes(v->g, nregs * sizeof(u32)), cfg_zeroes(v->g, nregs * sizeof(u32)), cfg_zeroes(v->g, nregs * sizeof(u32)) };

	for (i = 0; i < c->ncode; i++)
		each_opnd(&c->code[i], count_all, &s);
	for (i = 0; i < v->n; i++)
		for (k = v->g->b[v->list[i]].start; k < v->g->b[v->list[i]].end; k++)
			each_opnd(&c->code[k], count_here, &s);
	for (i = 0; i < nregs; i++)
		if (s.here[i] && s.here[i] == s.all[i])
			s.to[i] = new_reg_like(c, i);
	return s;
}

static u32 inside(const struct versions *v, u32 b) { return v->copy[b] ? v->copy[b] : b; }

static void copies(struct versions *v)
{
	struct seen s = own_names(v);
	struct cfg *g = v->g;
	u32 i, k, at;

	for (i = 0; i < v->n; i++) {
		u32 b = v->list[i], start = v->c->ncode;

		for (at = g->b[b].start; at < g->b[b].end; at++) {
			append(v, at);
			rename_all(&v->c->code[v->c->ncode - 1], &s);
		}
		at = new_block(v, (struct block){ .start = start, .end = v->c->ncode, .nsucc = g->b[b].nsucc });
		v->copy[b] = at;
		v->chosen[at] = v->chosen[b];
	}
	for (i = 0; i < v->n; i++) {
		const struct block *from = &g->b[v->list[i]];
		struct block *to = &g->b[v->copy[v->list[i]]];
		struct insn *in = &v->c->code[to->end - 1];

		to->succ = cfg_zeroes(v->g, to->nsucc * sizeof(u32));
		for (k = 0; k < to->nsucc; k++) {
			to->succ[k] = inside(v, from->succ[k]);
			g->b[to->succ[k]].npred++;
		}
		if (in->kind == K_JMP || in->kind == K_CBRA)
			in->taken = inside(v, in->taken);
		if (in->kind == K_CBRA || !cfg_ends_block(in))
			in->fall = inside(v, in->fall);
	}
}

/* ---- one answer ------------------------------------------------------------------------------------ */

static void decide(struct versions *v, u32 b, u32 p, bool yes)
{
	struct block *bb = &v->g->b[b];
	struct insn *in = last_of(v, b);
	u32 to, lost;

	if (!asks(in) || in->guard != p)
		return;
	to = yes != (in->gneg != 0) ? in->taken : in->fall;
	lost = yes != (in->gneg != 0) ? in->fall : in->taken;
	in->kind = K_JMP;
	in->guard = OPND_NONE;
	in->gneg = 0;
	in->taken = to;
	bb->succ[0] = to;
	bb->nsucc = 1;
	v->g->b[lost].npred--;
}

static void clear(struct versions *v, u32 b)
{
	u32 i;

	for (i = v->g->b[b].start; i < v->g->b[b].end; i++)
		cfg_nop(&v->c->code[i]);
}

/* Nobody comes here any more: nothing is left of it but an end. */
static void drop(struct versions *v, u32 b)
{
	u32 k;

	clear(v, b);
	last_of(v, b)->kind = K_RET;
	for (k = 0; k < v->g->b[b].nsucc; k++)
		v->g->b[v->g->b[b].succ[k]].npred--;
	v->g->b[b].nsucc = 0;
}

static u32 only_next(const struct versions *v, u32 b)
{
	const struct insn *in = last_of(v, b);

	if (v->g->b[b].nsucc != 1)
		return NO_PC;
	return in->kind == K_JMP ? in->taken : !cfg_ends_block(in) ? in->fall : NO_PC;
}

/* What has one way in is part of where that comes from. */
static void join(struct versions *v, u32 b)
{
	struct cfg *g = v->g;
	u32 start = v->c->ncode, x, i, last = b;

	for (x = b; x != NO_PC; last = x, x = v->next[x]) {
		bool jump = v->next[x] != NO_PC && last_of(v, x)->kind == K_JMP;

		for (i = g->b[x].start; i < g->b[x].end - jump; i++)
			append(v, i);
	}
	for (x = b; x != NO_PC; x = v->next[x]) {
		clear(v, x);
		if (x == b)
			continue;
		last_of(v, x)->kind = K_RET;
		g->b[x].npred = 0;
	}
	g->b[b].start = start;
	g->b[b].end = v->c->ncode;
	if (last != b) {
		g->b[b].succ = g->b[last].succ;
		g->b[b].nsucc = g->b[last].nsucc;
		g->b[last].nsucc = 0;
	}
	for (x = v->next[b]; x != NO_PC; x = v->next[x])
		g->b[x].nsucc = 0;
}

/* Version 0 or 1 of the loop, of one answer. */
static void answer(struct versions *v, u32 version, u32 p, bool yes)
{
	struct cfg *g = v->g;
	u32 i, b, h = version ? v->copy[v->list[0]] : v->list[0];
	bool more = true;
	u8 *part = cfg_zeroes(v->g, v->cap);

#define BLOCK(i) (version ? v->copy[v->list[i]] : v->list[i])
	for (i = 0; i < v->n; i++)
		decide(v, BLOCK(i), p, yes);
	while (more) {
		more = false;
		for (i = 1; i < v->n; i++) {
			b = BLOCK(i);
			if (!g->b[b].npred && g->b[b].nsucc) {
				drop(v, b);
				more = true;
			}
		}
	}
	for (i = 0; i < v->n; i++)
		v->next[BLOCK(i)] = NO_PC;
	for (i = 0; i < v->n; i++) {
		u32 to, k;

		b = BLOCK(i);
		to = only_next(v, b);
		if (to == NO_PC || to == h || to == b || g->b[to].npred != 1)
			continue;
		for (k = 1; k < v->n && BLOCK(k) != to; k++)
			;
		if (k < v->n) {
			v->next[b] = to;
			part[to] = 1;
		}
	}
	for (i = 0; i < v->n; i++)
		if (!part[BLOCK(i)] && v->next[BLOCK(i)] != NO_PC)
			join(v, BLOCK(i));
#undef BLOCK
}

/* Ways into the loop lead to the question. */
static void ask_before(struct versions *v, u32 from)
{
	struct cfg *g = v->g;
	u32 h = v->list[0], two = v->copy[h], start = v->c->ncode, i, b;
	struct insn *in;

	append(v, from);
	in = &v->c->code[start];
	in->gneg = 0;
	in->taken = two;
	in->fall = h;
	b = new_block(v, (struct block){ .start = start, .end = v->c->ncode, .nsucc = 2 });
	g->b[b].succ = cfg_zeroes(v->g, 2 * sizeof(u32));
	g->b[b].succ[0] = two;
	g->b[b].succ[1] = h;
	v->chosen[b] = 1;
	for (i = v->first[h]; i < v->first[h + 1]; i++)
		if (!v->copy[v->pred[i]])
			cfg_redirect(g, v->pred[i], h, b);
	g->b[h].npred++;
	g->b[two].npred++;
}

/* A branch of the loop in list that asks what the grid knows; NO_PC: there is none. */
static u32 question(const struct versions *v)
{
	u32 i, b;

	for (i = 0; i < v->n; i++) {
		b = v->list[i];
		if (!v->chosen[b] && asks(last_of(v, b)) && last_of(v, b)->taken != last_of(v, b)->fall)
			return v->g->b[b].end - 1;
	}
	return NO_PC;
}

bool loop_versions(struct cfg *g)
{
	struct versions v = { .g = g, .c = g->c, .cap = g->nb };
	u32 i, at = NO_PC, p, line = g->c->line;

	v.list = cfg_zeroes(g, v.cap * sizeof(u32));
	v.copy = cfg_zeroes(g, v.cap * sizeof(u32));
	v.next = cfg_zeroes(g, v.cap * sizeof(u32));
	if (!g->versions)
		g->chosen = cfg_zeroes(g, v.cap);
	v.chosen = g->chosen;
	cfg_predecessors(g, &v.first, &v.pred);
	/* inner loops have later beginnings */
	for (i = g->nb; i-- > g->left && at == NO_PC;)
		if (is_loop(&v, g->order[i]) && loop(&v, g->order[i]))
			at = question(&v);
	if (at == NO_PC || g->versions == VERSIONS_MOST)
		return false;
	p = g->c->code[at].guard;
	copies(&v);
	ask_before(&v, at);
	answer(&v, 0, p, false);
	answer(&v, 1, p, true);
	g->chosen = v.chosen;
	g->versions++;
	g->c->line = line;
	return true;
}
