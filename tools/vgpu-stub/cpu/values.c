/* SPDX-License-Identifier: MIT */
/*
 * What NVIDIA's assembler does with PTX before it is machine code, and compilers leave to it: copies, values that are made twice, results
 * that nobody reads. nvcc writes a float as `mov.b32 %r1, %f1; shfl %r2|%p1, %r1, ...; mov.b32 %f2, %r2`, converts the same half again for
 * each of a matrix's rows, and gives every shuffle a predicate.
 *
 *   mov r1, f1; shfl r2|p1, r1, 16; mov f2, r2; add f3, f1, f2     ==>     shfl r2, f1, 16; add f3, f1, r2
 *   cvt f1, h1; ...; mov h2, h1; cvt f2, h2; mul f4, f3, f2        ==>     cvt f1, h1; ...; mul f4, f3, f1
 *
 * In: blocks and their edges, in the text's order; registers not yet slots. Out: the same blocks, shorter. By block: each lane runs a block from its
 * beginning to its end, so what a lane's register held there it still holds, whoever ran beside it. A register with several definitions takes
 * no other's place that has one: what is known of it later is less.
 *
 * Called by cfg.c for kernels, first of what works on blocks.
 */
#include <string.h>

#include "cfg.h"
#include "gen.h"
#include "lanes.h"

#define MADE 256u               /* a power of two: of the table of what has been made in a block */
#define PROBES 8u
#define ROUNDS 4u               /* of looking for what nobody reads */

struct made { u32 stamp, number, at, n[6]; };   /* at: the instruction; n: the numbers that it read */

struct values {
	struct comp *c;
	u32 *uses, *defs;       /* by register: instructions of the kernel */
	u32 *number, *stamp;    /* by register: what it holds, in the block whose stamp it is */
	u32 *holder;            /* by number: the register that is to be read */
	u32 next, now;          /* number; this block's stamp */
	u32 total;              /* definitions */
	struct made made[MADE];
};

static void counted(void *arg, u32 *o, bool is_def)
{
	struct values *v = arg;

	if (is_def)
		v->total++, v->defs[*o]++;
	else
		v->uses[*o]++;
}

static void uncounted(void *arg, u32 *o, bool is_def)
{
	struct values *v = arg;

	if (!is_def)
		v->uses[*o]--;
}

/* ---- what holds what ---------------------------------------------------------------------------- */

static u32 new_number(struct values *v, u32 o)
{
	v->stamp[o] = v->now;
	v->number[o] = v->next;
	v->holder[v->next] = o;
	return v->next++;
}

static u32 number_of(struct values *v, u32 o)
{
	return v->stamp[o] == v->now ? v->number[o] : new_number(v, o);
}

static bool holds(const struct values *v, u32 o, u32 n) { return v->stamp[o] == v->now && v->number[o] == n; }

/* The register to read number n from, OPND_NONE if none holds it any more. */
static u32 holder_of(const struct values *v, u32 n)
{
	return holds(v, v->holder[n], n) ? v->holder[n] : OPND_NONE;
}

static void gets(struct values *v, u32 o, u32 n)
{
	u32 h = holder_of(v, n);

	v->stamp[o] = v->now;
	v->number[o] = n;
	if (h == OPND_NONE || (v->defs[h] > 1 && v->defs[o] == 1))
		v->holder[n] = o;
}

static void read_there(void *arg, u32 *o, bool is_def)
{
	struct values *v = arg;
	u32 h;

	if (is_def)
		return;
	h = holder_of(v, number_of(v, *o));
	if (h == OPND_NONE || h == *o || v->c->regs[h].w != v->c->regs[*o].w || (v->defs[h] > 1 && v->defs[*o] == 1))
		return;
	v->uses[*o]--;
	v->uses[h]++;
	*o = h;
}

static void written(void *arg, u32 *o, bool is_def)
{
	if (is_def)
		new_number(arg, *o);
}

/* ---- what is made --------------------------------------------------------------------------------- */

/* Of its operands alone, the same at any time. */
static bool pure(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_LOP3: case K_CVT: case K_CVTA: case K_LADDR:
		return true;
	case K_SREG:
		return in->sub < SR_SMID;
	default:
		return false;
	}
}

/* Its operands may be other registers: none is one of a row. */
static bool open(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_SHFL: case K_VOTE: case K_LD: case K_ST: case K_ATOM: case K_CBRA:
		return true;
	default:
		return pure(in);
	}
}

static bool is_copy(const struct values *v, const struct insn *in)
{
	u32 s = in->o[1];

	return in->kind == K_LANE && in->lop == LOP_MOV && in->guard == OPND_NONE && in->def == 1 && !(s & OPND_CONST) &&
	       s != OPND_NONE && (in->type == T_U32 || in->type == T_U64) && v->c->regs[s].w == v->c->regs[in->o[0]].w;
}

/* The number of what instruction `at` makes, if some register still holds that; else it is noted, and has a new one. */
static u32 make(struct values *v, u32 at, bool *again)
{
	const struct insn *in = &v->c->code[at];
	u32 n[6], key = in->kind * 31u + in->lop, k, number;
	struct made *m = NULL;

	for (k = 0; k < 6; k++) {
		n[k] = !(in->use >> k & 1) ? 0 : in->o[k] & OPND_CONST || in->o[k] == OPND_NONE ? in->o[k] : number_of(v, in->o[k]);
		key = (key ^ n[k]) * 0x9e3779b1u;
	}
	for (k = 0; k < PROBES; k++) {
		m = &v->made[((key >> 16) + k) & (MADE - 1)];
		if (m->stamp != v->now)
			break;
		if (!memcmp(m->n, n, sizeof(n)) && insn_same_op(in, &v->c->code[m->at]) && holder_of(v, m->number) != OPND_NONE) {
			*again = true;
			return m->number;
		}
	}
	*again = false;
	number = v->next;
	if (m && m->stamp != v->now) {
		*m = (struct made){ .stamp = v->now, .number = number, .at = at };
		memcpy(m->n, n, sizeof(n));
	}
	return number;
}

static void to_nothing(struct values *v, struct insn *in)
{
	each_opnd(in, uncounted, v);
	cfg_nop(in);
}

static void block(struct values *v, const struct block *b)
{
	u32 i, n;
	bool again;

	v->now++;
	v->next = 0;
	for (i = b->start; i < b->end; i++) {
		struct insn *in = &v->c->code[i];

		if (open(in))
			each_opnd(in, read_there, v);
		if (is_copy(v, in)) {
			n = number_of(v, in->o[1]);
			if (holds(v, in->o[0], n))
				to_nothing(v, in);
			else
				gets(v, in->o[0], n);
		} else if (pure(in) && in->guard == OPND_NONE && in->def == 1 && in->o[0] != OPND_NONE) {
			n = make(v, i, &again);
			if (!again)
				new_number(v, in->o[0]);
			else if (holds(v, in->o[0], n))
				to_nothing(v, in);
			else
				gets(v, in->o[0], n);
		} else {
			each_opnd(in, written, v);
		}
	}
}

/* ---- what nobody reads ----------------------------------------------------------------------------- */

static bool unread(const struct values *v, const struct insn *in)
{
	u32 k;

	if (!pure(in) || !in->def)
		return false;
	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE && v->uses[in->o[k]])
			return false;
	return true;
}

static bool sweep(struct values *v, const struct block *b)
{
	bool some = false;
	u32 i;

	for (i = b->end; i-- > b->start;) {
		struct insn *in = &v->c->code[i];

		if (in->kind == K_SHFL && (in->def & 2) && in->o[1] != OPND_NONE && !v->uses[in->o[1]]) {
			in->o[1] = OPND_NONE;
			in->def &= ~2;
		}
		if (unread(v, in)) {
			to_nothing(v, in);
			some = true;
		}
	}
	return some;
}

void values_once(struct cfg *g)
{
	struct comp *c = g->c;
	struct values *v = cneed(c, pool_alloc(&c->pool, sizeof(*v)));
	size_t bytes = (c->nregs + 1) * sizeof(u32);
	bool more = true;
	u32 i, round;

	v->c = c;
	v->uses = cneed(c, pool_alloc(&c->pool, bytes));
	v->defs = cneed(c, pool_alloc(&c->pool, bytes));
	v->number = cneed(c, pool_alloc(&c->pool, bytes));
	v->stamp = cneed(c, pool_alloc(&c->pool, bytes));
	for (i = 0; i < c->ncode; i++)
		each_opnd(&c->code[i], counted, v);
	/* a number for each definition, and for what a block reads before it is defined there */
	v->holder = cneed(c, pool_alloc(&c->pool, bytes + v->total * sizeof(u32)));
	for (i = 0; i < g->nb; i++)
		block(v, &g->b[i]);
	for (round = 0; more && round < ROUNDS; round++) {
		more = false;
		for (i = g->nb; i--;)
			more |= sweep(v, &g->b[i]);
	}
	for (i = 0; i < g->nb; i++)
		cfg_shorten(g, &g->b[i]);
}
