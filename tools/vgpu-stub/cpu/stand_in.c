/* SPDX-License-Identifier: MIT */
/*
 * A load through a pointer that a branch chose, the address of a variable of the thread's own or another one, goes to where each is made.
 *
 *      a: mov p, &zero                       a: @q bra n
 *         @q bra j                           b: add p1, base, i; ld r, [p1]
 *      b: add p, base, i         ==>            bra j
 *      j: ld r, [p]                          n: ld r, [&zero]
 *                                            j:
 *
 * ggml's kernels read so what may lie beyond a matrix: a zero stands in for it. Joined, the pointer is another one in each lane, of which nothing is
 * known; apart, one is a row of memory and the other a local variable.
 *
 * In: blocks and their edges. Out: the same, with a block for each such load. Called by cfg.c for kernels that are compiled, before values.c.
 */
#include <string.h>

#include "cfg.h"
#include "lanes.h"

#define MOST 256u               /* loads a kernel */
#define LATE 16u                /* instructions of a block before its load */
#define DEEP 8u                 /* instructions between a variable's address and the pointer */

struct stand {
	struct cfg *g;
	struct comp *c;
	u32 *def;               /* by register: the first instruction that writes it and one more; 0: none */
	u32 nregs, at;          /* at: the instruction that is counted */
	u32 *stack;             /* blocks on a way through them, */
	u8 *seen;               /* and those that have been there */
};

static void count(void *arg, u32 *o, bool is_def)
{
	struct stand *s = arg;

	if (is_def && !s->def[*o])
		s->def[*o] = s->at + 1;
}

static bool is_mov(const struct insn *in) { return in->kind == K_LANE && in->lop == LOP_MOV && in->type == T_U64; }

/* The instruction of b that o has its value from at b's end, if it writes nothing else; NO_PC: there is none. */
static u32 maker(const struct stand *s, u32 b, u32 o)
{
	const struct block *bb = &s->g->b[b];
	u32 i;

	for (i = bb->end; i-- > bb->start;)
		if (insn_writes(&s->c->code[i], o) || s->c->code[i].kind == K_CALL) {
			const struct insn *in = &s->c->code[i];

			return in->kind == K_LANE && in->guard == OPND_NONE && in->def == 1 ? i : NO_PC;
		}
	return NO_PC;
}

/* A guess that nothing depends on: is it the address of a local variable and perhaps a number? */
static bool is_local(const struct stand *s, u32 o)
{
	u32 deep;

	for (deep = 0; deep < DEEP; deep++) {
		const struct insn *in;

		if ((o & OPND_CONST) || o == OPND_NONE || o >= s->nregs || !s->def[o])
			return false;
		in = &s->c->code[s->def[o] - 1];
		if (in->kind == K_CVTA)
			return in->space == SPACE_LOCAL;
		if (in->kind != K_LANE || !(is_mov(in) || in->lop == LOP_ADD))
			return false;
		o = in->o[1];
	}
	return false;
}

/* The register that holds at a's end what o does, since o was copied from it there; o: none. */
static u32 copied_from(const struct stand *s, u32 a, u32 o)
{
	u32 i = maker(s, a, o), k, from;

	if (i == NO_PC || !is_mov(&s->c->code[i]))
		return o;
	from = s->c->code[i].o[1];
	if ((from & OPND_CONST) || from >= s->nregs || s->c->regs[from].w != s->c->regs[o].w)
		return o;
	for (k = i + 1; k < s->g->b[a].end; k++)
		if (insn_writes(&s->c->code[k], from) || s->c->code[k].kind == K_CALL)
			return o;
	return from;
}

/* Of its operands alone, the same at any time. */
static bool pure(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_NOP: case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_LOP3: case K_CVT: case K_CVTA: case K_LDPARAM:
		return true;
	default:
		return false;
	}
}

/* The load that j begins with, or that could as well be the first: nothing before it has to do with it. NO_PC: none. */
static u32 first_load(const struct cfg *g, u32 j)
{
	const struct block *b = &g->b[j];
	u32 at, i, k;

	for (at = b->start; at < b->end && at - b->start < LATE && pure(&g->c->code[at]); at++)
		;
	if (at == b->end || g->c->code[at].kind != K_LD)
		return NO_PC;
	for (i = b->start; i < at; i++)
		for (k = 0; k < 6; k++) {
			const struct insn *in = &g->c->code[at];
			u32 o = in->o[k];

			if (((in->def >> k & 1) && o != OPND_NONE && (insn_reads(&g->c->code[i], o) || insn_writes(&g->c->code[i], o))) ||
			    ((in->use >> k & 1) && insn_writes(&g->c->code[i], o)))
				return NO_PC;
		}
	return at;
}

/* May anybody but the load itself read what o holds where j begins? Who comes to j once more might. */
static bool read_behind(struct stand *s, u32 j, u32 load, u32 o)
{
	u32 sp = 0, i, k;

	memset(s->seen, 0, s->g->nb);
	for (s->stack[sp++] = j; sp;) {
		u32 at = s->stack[--sp];
		const struct block *b = &s->g->b[at];

		s->c->fn->work += b->end - b->start;
		for (i = b->start; i < b->end; i++) {
			const struct insn *in = &s->c->code[i];

			if ((i != load && insn_reads(in, o)) || in->kind == K_CALL)
				return true;
			if (insn_writes(in, o) && in->guard == OPND_NONE)
				break;
		}
		for (k = 0; i == b->end && k < b->nsucc; k++) {
			if (b->succ[k] == j)
				return true;
			if (!s->seen[b->succ[k]])
				s->stack[sp++] = b->succ[k];
			s->seen[b->succ[k]] = 1;
		}
	}
	return false;
}

/* The one block that a block of one successor leads to, by a jump or by its end. */
static bool leads_to(const struct stand *s, u32 b, u32 j)
{
	const struct insn *last = &s->c->code[s->g->b[b].end - 1];

	return s->g->b[b].nsucc == 1 && s->g->b[b].succ[0] == j && (last->kind == K_JMP || !cfg_ends_block(last));
}

/* Block j has such a load, at `at`, behind a's branch and b. */
static bool apart(struct stand *s, u32 j, u32 at, u32 a, u32 b)
{
	struct cfg *g = s->g;
	struct insn load = s->c->code[at], jump, *br;
	u32 p = load.o[4], from = copied_from(s, a, p), y = maker(s, b, p), n, i, start;
	bool other;

	if (y == NO_PC || !is_local(s, from) || insn_reads(&s->c->code[y], p))
		return false;
	other = read_behind(s, j, at, p);
	for (i = y + 1; i < g->b[b].end; i++)
		other |= insn_reads(&s->c->code[i], p);
	/* b, with the load at its end, by a pointer of its own */
	n = new_reg_like(s->c, p);
	start = s->c->ncode;
	for (i = g->b[b].start; i < g->b[b].end; i++) {
		if (s->c->code[i].kind == K_JMP)
			continue;
		cfg_append(g, &s->c->code[i]);
		if (i != y)
			continue;
		s->c->code[s->c->ncode - 1].o[0] = n;
		/* once more, for whoever else reads it */
		if (other)
			cfg_append(g, &s->c->code[i]);
	}
	cfg_append(g, &load);
	s->c->code[s->c->ncode - 1].o[4] = n;
	s->c->code[s->c->ncode - 1].fall = j;
	for (i = g->b[b].start; i < g->b[b].end; i++)
		cfg_nop(&s->c->code[i]);
	g->b[b].start = start;
	g->b[b].end = s->c->ncode;
	/* the other one's block, on a's way to j */
	start = s->c->ncode;
	cfg_append(g, &load);
	s->c->code[start].o[4] = from;
	jump = s->c->code[start];
	cfg_nop(&jump);
	jump.kind = K_JMP;
	jump.taken = j;
	cfg_append(g, &jump);
	n = g->nb++;
	g->b[n] = (struct block){ .start = start, .end = s->c->ncode, .nsucc = 1, .npred = 1 };
	g->b[n].succ = cfg_zeroes(g, sizeof(u32));
	g->b[n].succ[0] = j;
	br = &s->c->code[g->b[a].end - 1];
	for (i = 0; i < 2; i++)
		if (g->b[a].succ[i] == j)
			g->b[a].succ[i] = n;
	if (br->taken == j)
		br->taken = n;
	else
		br->fall = n;
	cfg_nop(&s->c->code[at]);
	return true;
}

/* Of j's two ways in, one is a's branch and the other a block that only a leads to. */
static bool half_diamond(const struct stand *s, u32 a, u32 b, u32 j)
{
	const struct block *aa = &s->g->b[a];
	const struct insn *br = &s->c->code[aa->end - 1];

	return br->kind == K_CBRA && aa->nsucc == 2 && br->taken != br->fall && s->g->b[b].npred == 1 && leads_to(s, b, j) &&
	       ((br->taken == j && br->fall == b) || (br->taken == b && br->fall == j));
}

void loads_apart(struct cfg *g)
{
	struct stand s = { .g = g, .c = g->c, .nregs = g->c->nregs };
	u32 nb = g->nb, *two = cfg_zeroes(g, 2 * (nb + 1) * sizeof(u32)), i, k, n = 0;
	struct block *more;

	for (i = 0; i < nb; i++) {
		u32 at = g->b[i].npred == 2 ? first_load(g, i) : NO_PC;

		n += at != NO_PC && g->c->code[at].space == SPACE_GENERIC;
	}
	if (!n)
		return;
	n = n < MOST ? n : MOST;
	s.def = cfg_zeroes(g, s.nregs * sizeof(u32));
	for (s.at = 0; s.at < g->c->ncode; s.at++)
		each_opnd(&g->c->code[s.at], count, &s);
	s.stack = cfg_zeroes(g, (nb + n) * sizeof(u32));
	s.seen = cfg_zeroes(g, nb + n);
	/* who comes before, of those that have two; 0: nobody yet */
	for (i = 0; i < nb; i++)
		for (k = 0; k < g->b[i].nsucc; k++) {
			u32 *t = &two[2 * g->b[i].succ[k]];

			t[t[0] != 0] = i + 1;
		}
	more = cfg_zeroes(g, (nb + n) * sizeof(*more));
	memcpy(more, g->b, nb * sizeof(*more));
	g->b = more;
	for (i = 0; i < nb && n; i++) {
		u32 at = g->b[i].npred == 2 ? first_load(g, i) : NO_PC, p, a, b;
		const struct insn *in;

		if (at == NO_PC)
			continue;
		in = &g->c->code[at];
		p = in->o[4];
		if (in->space != SPACE_GENERIC || in->guard != OPND_NONE || !in->aw || (in->flags & INF_SYNC) ||
		    !two[2 * i] || !two[2 * i + 1] || (p & OPND_CONST) || p >= s.nregs)
			continue;
		a = two[2 * i] - 1;
		b = two[2 * i + 1] - 1;
		if (half_diamond(&s, a, b, i))
			n -= apart(&s, i, at, a, b);
		else if (half_diamond(&s, b, a, i))
			n -= apart(&s, i, at, b, a);
	}
}
