/* SPDX-License-Identifier: MIT */
/*
 * Shuffles and votes that do not wait for one another come together. Strips (strip/) meet at each of them; those that follow each other
 * at once are one meeting: a radix sort asks for eight bits of a digit by eight votes, with arithmetic in between that could as well come later.
 *
 * In: code in its last order, registers not yet slots. Out: the same instructions in each block, an order that keeps what each of them reads.
 * Only arithmetic moves, and those two: nothing crosses memory, a barrier, a clock or an instruction for whoever else may be.
 *
 * Called by cfg.c, last but liveness, where strips will run it.
 */
#include <stdlib.h>
#include <string.h>

#include "front.h"

/* Of a register: the earliest round in which its reader, its next writer may stand. stamp: of the stretch that they are true of */
struct place { u32 stamp, read, write; };

struct sorter {
	struct place *r;
	u32 stamp;
	u32 *round;
	struct insn *out;
};

static bool meets(const struct insn *in) { return (in->kind == K_SHFL || in->kind == K_VOTE) && in->guard == OPND_NONE; }

static bool moves(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_LADDR:
		return true;
	default:
		return meets(in);
	}
}

static struct place *place(struct sorter *s, u32 o)
{
	struct place *p = &s->r[o];

	if (p->stamp != s->stamp)
		*p = (struct place){ .stamp = s->stamp };
	return p;
}

static u32 most(u32 a, u32 b) { return a > b ? a : b; }

struct visit { struct sorter *s; u32 round, behind; };

static void earliest(void *arg, u32 *o, bool is_def)
{
	struct visit *v = arg;
	struct place *p = place(v->s, *o);

	v->round = most(v->round, p->read);
	if (is_def)
		v->round = most(v->round, p->write);
}

static void note(void *arg, u32 *o, bool is_def)
{
	struct visit *v = arg;
	struct place *p = place(v->s, *o);

	if (is_def)
		p->read = v->behind;
	p->write = most(p->write, v->behind);
}

/* A round is arithmetic, then all that meet in it. */
static void stretch(struct sorter *s, struct insn *code, u32 n)
{
	u32 i, k = 0, r, met = 0, rounds = 0;

	s->stamp++;
	for (i = 0; i < n; i++) {
		struct visit v = { .s = s };

		each_opnd(&code[i], earliest, &v);
		s->round[i] = v.round;
		/* what a round's meeting reads and writes is another's behind it */
		v.behind = v.round + meets(&code[i]);
		each_opnd(&code[i], note, &v);
		met += meets(&code[i]);
		rounds = meets(&code[i]) ? most(rounds, v.round + 1) : rounds;
	}
	if (met == rounds)
		return;         /* each waits for the one before it */
	for (r = 0; r < rounds; r++) {
		u32 last = 0;

		for (i = 0; i < n; i++)
			if (meets(&code[i]) && s->round[i] == r)
				last = i;
		for (i = 0; i < last; i++)
			if (!meets(&code[i]) && s->round[i] <= r) {
				s->out[k++] = code[i];
				s->round[i] = NO_PC;
			}
		for (i = 0; i <= last; i++)
			if (meets(&code[i]) && s->round[i] == r)
				s->out[k++] = code[i];
	}
	for (i = 0; i < n; i++)
		if (!meets(&code[i]) && s->round[i] != NO_PC)
			s->out[k++] = code[i];
	memcpy(code, s->out, n * sizeof(*code));
}

#define STRETCH 256u

void together(struct insn *code, u32 n, u32 nregs)
{
	struct sorter s = { 0 };
	u32 i, k, met = 0;

	for (i = 0; i < n; i++)
		met += meets(&code[i]);
	if (met < 2)
		return;
	s.r = calloc(nregs + 1, sizeof(*s.r));
	s.round = malloc(STRETCH * sizeof(*s.round));
	s.out = malloc(STRETCH * sizeof(*s.out));
	for (i = 0; s.r && s.round && s.out && i < n; i = k + (k == i)) {
		for (k = i; k < n && k - i < STRETCH && moves(&code[k]); k++)
			;
		if (k > i)
			stretch(&s, code + i, k - i);
	}
	free(s.r);
	free(s.round);
	free(s.out);
}
