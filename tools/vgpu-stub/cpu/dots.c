/* SPDX-License-Identifier: MIT */
/*
 * Sums of dot products (dp4a) are put together. Compilers write each as early as its factors are there, a load between two of them; one after
 * the other they are one sum for who makes code of them: what signed bytes cost is paid once (jit_dot.c).
 *
 *   ld a; dp4a s, a, b, 0; ld c; dp4a t, c, d, s     ==>     ld a; ld c; dp4a s, a, b, 0; dp4a t, c, d, s
 *
 * In: blocks after values.c, whose instructions are dense. Out: the same instructions, in an order in which every register holds for who reads
 * it what it held. A part of a sum goes behind what neither writes its operands nor looks at its result, as far as where the whole is made, and never
 * behind a barrier, a call or an atomic.
 *
 * Called by cfg.c behind values.c.
 */
#include "cfg.h"
#include "gen.h"
#include "lanes.h"

#define FAR 512u                /* instructions between a sum's first part and its last one */
#define PARTS 32u

static bool is_part(const struct insn *in)
{
	return in->kind == K_LANE && in->guard == OPND_NONE && lop_is_dp4a(in->lop);
}

/* What a part may go behind: it is of one lane, and lets nobody else run. */
static bool passes(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_LADDR: case K_LD: case K_LDPARAM: case K_ST:
	case K_NOP:
		return true;
	case K_SREG:
		return in->sub < SR_SMID;
	default:
		return false;
	}
}

struct sum { u32 at[PARTS], n; };       /* places of the parts, the last one first */

/* May the part at `at` stand where the sum's last one does? */
static bool may_wait(const struct insn *code, const struct sum *s, u32 at)
{
	const struct insn *p = &code[at];
	u32 i, next = s->n;

	for (i = at + 1; i < s->at[0]; i++) {
		const struct insn *q = &code[i];

		if (s->at[next - 1] == i)
			next--;
		else if (insn_reads(q, p->o[0]) || insn_writes(q, p->o[0]) || insn_writes(q, p->o[1]) || insn_writes(q, p->o[2]) || insn_writes(q, p->o[3]))
			return false;
	}
	return true;
}

/* Those that end in the one at `last`. */
static void find(const struct insn *code, u32 start, u32 last, struct sum *s)
{
	u32 i, want = code[last].o[3];

	s->at[0] = last;
	s->n = 1;
	for (i = last; i-- > start && last - i <= FAR && s->n < PARTS && !(want & OPND_CONST) && passes(&code[i]);) {
		const struct insn *in = &code[i];

		if (!insn_writes(in, want))
			continue;
		if (!is_part(in) || in->lop != code[last].lop || !may_wait(code, s, i))
			return;
		s->at[s->n++] = i;
		want = in->o[3];
	}
}

static void put(struct insn *code, const struct sum *s)
{
	u32 first = s->at[s->n - 1], last = s->at[0], to = first, next = s->n, i;
	struct insn part[PARTS];

	for (i = 0; i < s->n; i++)
		part[i] = code[s->at[i]];
	for (i = first; i < last; i++)
		if (s->at[next - 1] == i)
			next--;
		else
			code[to++] = code[i];
	for (i = 0; i < s->n; i++)
		code[last - i] = part[i];
}

void dots_together(struct cfg *g)
{
	struct insn *code = g->c->code;
	struct sum s;
	u32 i, b;

	for (b = 0; b < g->nb; b++)
		for (i = g->b[b].end; i-- > g->b[b].start;) {
			if (!is_part(&code[i]))
				continue;
			find(code, g->b[b].start, i, &s);
			if (s.n > 1)
				put(code, &s);
			i -= s.n - 1;
		}
}
