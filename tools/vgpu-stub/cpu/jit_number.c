/* SPDX-License-Identifier: MIT */
/*
 * Which addresses are a known distance from each other: a register is a number and an offset. Called by jit_addr.c, and by jit.c behind every
 * instruction.
 *
 * Numbers of registers with several definitions hold in a straight piece of code (jcomp.stamp). A register with one definition that every way
 * to here has passed is what that made it, in all lanes, whoever ran it: its source plus a constant, or the sum of two such. For if a's
 * definition dominates that of b = a + 8, and both of them this place, no way leads from the last a to here without b.
 */
#include "jit_mem.h"
#include "lanes.h"

#define ROOT 0x20000000u        /* | register: that of its one definition */
#define SUM 0x30000000u         /* | place in jcomp.sums */
#define FAR (1 << 28)
#define DEEP 8u
#define ROUNDS 64u

/*
 * May in's results be others in the next block? What is loaded or exchanged may; the thread's number and parameters are not. Blocks come in rows: where
 * x is asked for, y and z (wide: counted too) are those of the last one.
 */
static bool of_block(const struct jcomp *c, const struct insn *in, bool wide)
{
	u32 k;

	switch (in->kind) {
	case K_SREG:
		return in->sub == SR_CTAID_X || (wide && (in->sub == SR_CTAID_Y || in->sub == SR_CTAID_Z)) || in->sub > SR_NWARPID;
	case K_LDPARAM:
		return false;
	case K_LANE: case K_SETP: case K_PRED: case K_CVT: case K_LOP3: case K_CVTA:
		break;
	default:
		return true;
	}
	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && c->of_block[in->o[k]])
			return true;
	return in->guard != OPND_NONE && !(in->guard & OPND_CONST) && c->of_block[in->guard];
}

static bool is_of_block(struct jcomp *c, u32 v)
{
	bool news = !c->of_block[v];

	c->of_block[v] = 1;
	return news;
}

static bool find_of_block(struct jcomp *c)
{
	bool more = true, wide = true;
	u32 i, k;

	for (i = 0; i < c->n; i++)
		wide &= c->code[i].kind != K_SREG || c->code[i].sub != SR_CTAID_X;
	c->of_block = pool_alloc(&c->mem, c->s->nregs + 1);
	if (!c->of_block)
		return false;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			if (!of_block(c, in, wide))
				continue;
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
					more |= is_of_block(c, in->o[k]);
			for (k = 0; in->kind == K_CALL && k < in->u.call->nrets; k++)
				if (in->u.call->rets[k].is_reg)
					more |= is_of_block(c, in->u.call->rets[k].opnd);
		}
	}
	return true;
}

/* Immediate dominators; the entry's own where nothing better is known, which is always true. */
static bool dominators(struct jcomp *c)
{
	u32 nb = c->s->nb, b, i, round, *n = pool_alloc(&c->mem, (nb + 1) * sizeof(u32)), *at, *pred, total = 0;
	bool more = true;

	c->idom = pool_alloc(&c->mem, (nb + 1) * sizeof(u32));
	at = pool_alloc(&c->mem, (nb + 2) * sizeof(u32));
	if (!c->idom || !n || !at || !find_of_block(c))
		return false;
	for (b = 0; b < nb; b++)
		for (i = 0; i < c->s->b[b].nsucc; i++) {
			at[c->s->b[b].succ[i] + 1]++;
			total++;
		}
	pred = pool_alloc(&c->mem, (total + 1) * sizeof(u32));
	if (!pred)
		return false;
	for (b = 0; b < nb; b++)
		at[b + 1] += at[b];
	for (b = 0; b < nb; b++)
		for (i = 0; i < c->s->b[b].nsucc; i++) {
			u32 s = c->s->b[b].succ[i];

			pred[at[s] + n[s]++] = b;
		}
	for (b = 1; b < nb; b++)
		c->idom[b] = NO_PC;
	for (round = 0; more && round < ROUNDS; round++) {
		more = false;
		for (b = 1; b < nb; b++) {
			u32 d = NO_PC;

			for (i = at[b]; i < at[b + 1]; i++) {
				u32 p = pred[i];

				if (c->idom[p] == NO_PC)
					continue;
				while (d != NO_PC && d != p) {
					if (d > p)
						d = c->idom[d];
					else
						p = c->idom[p];
				}
				d = p;
			}
			if (d == NO_PC)
				continue;
			d = d < b ? d : 0;
			more |= c->idom[b] != d;
			c->idom[b] = d;
		}
	}
	for (b = 1; b < nb; b++)
		if (more || c->idom[b] == NO_PC)
			c->idom[b] = 0;
	return true;
}

/* Has every way to pc been by the instruction at d? */
static bool passed(const struct jcomp *c, u32 d, u32 pc)
{
	u32 a = block_no(c, d), b = block_no(c, pc);

	if (a == b)
		return d < pc;
	while (b > a)
		b = c->idom[b];
	return a == b;
}

/* Is v, read at pc, what its only definition made of numbers of which the same is true? Then what is known of it without a guess is so in every lane. */
static bool well_made(const struct jcomp *c, const u8 *made, u32 v, u32 pc)
{
	return (v & OPND_CONST) || v == OPND_NONE || (made[v] && passed(c, c->def_of[v] - 1, pc));
}

/* Of scalars that jit_scan() has found without a guess those stay sure whose operands have all been written before. */
static bool make_sure(struct jcomp *c)
{
	u8 *made = pool_alloc(&c->mem, c->s->nregs + 1);
	u32 i, k, v;

	if (!made)
		return false;
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];
		bool all = in->guard == OPND_NONE && (in->kind == K_LANE || in->kind == K_SREG || in->kind == K_LDPARAM);

		for (k = 0; k < 6 && all; k++)
			all = !(in->use >> k & 1) || well_made(c, made, in->o[k], i);
		for (k = 0; k < 6 && all; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->def_of[in->o[k]] == i + 1)
				made[in->o[k]] = 1;
	}
	for (v = 0; v < c->s->nregs; v++)
		c->r[v].sure &= made[v];
	return true;
}

bool jn_begin(struct jcomp *c) { return dominators(c) && make_sure(c); }

/* Register v's scalar is known and no guess: so whoever reads it at pc has that, the interpreter too. */
bool jn_sure(const struct jcomp *c, u32 v, u32 pc)
{
	return (v & OPND_CONST) || (c->r[v].sure && passed(c, c->def_of[v] - 1, pc));
}

static bool sum_of_64(const struct insn *in)
{
	return in->kind == K_LANE && in->guard == OPND_NONE && (in->type == T_U64 || in->type == T_S64 || in->type == T_B64) &&
	       (in->lop == LOP_MOV || in->lop == LOP_ADD || in->lop == LOP_SUB);
}

/* Two numbers, added. */
static bool together(struct jcomp *c, struct jvn p, struct jvn q, struct jvn *n)
{
	u32 x = p.id < q.id ? p.id : q.id, y = p.id < q.id ? q.id : p.id, i, known = c->nsums < JSUMS ? c->nsums : JSUMS;

	for (i = 0; i < known && !(c->sums[i].x == x && c->sums[i].y == y); i++)
		;
	if (i == known) {
		if (c->nsums == SUM)    /* there are no more names */
			return false;
		i = c->nsums % JSUMS;
		c->sums[i].x = x;
		c->sums[i].y = y;
		c->sums[i].id = SUM + c->nsums++;
	}
	n->id = c->sums[i].id;
	n->off = p.off + q.off;
	return true;
}

static bool near(s64 off) { return off > -FAR && off < FAR; }

static bool root(struct jcomp *c, u32 o, u32 pc, u32 deep, struct jvn *n);

/* in's sum, of what of() says of its operands at pc. */
static bool add_up(struct jcomp *c, const struct insn *in, u32 pc, u32 deep, bool (*of)(struct jcomp *, u32, u32, u32, struct jvn *), struct jvn *n)
{
	struct jval p = jit_val(c, in->o[1], 1), q = jit_val(c, in->o[2], 1);
	struct jvn m;

	/* what code takes a register's scalar for may be a guess, which the interpreter, if it came this way, has not made */
	if (of == root) {
		p.sk = p.sk && jn_sure(c, in->o[1], pc);
		q.sk = q.sk && jn_sure(c, in->o[2], pc);
	}

	if (in->lop == LOP_MOV) {
		if (!of(c, in->o[1], pc, deep, n))
			return false;
	} else if (q.sk) {
		if (!of(c, in->o[1], pc, deep, n))
			return false;
		n->off += in->lop == LOP_ADD ? (s64)q.s : -(s64)q.s;
	} else if (in->lop == LOP_SUB) {
		return false;
	} else if (p.sk) {
		if (!of(c, in->o[2], pc, deep, n))
			return false;
		n->off += (s64)p.s;
	} else if (!of(c, in->o[1], pc, deep, n) || !of(c, in->o[2], pc, deep, &m) || !together(c, *n, m, n)) {
		return false;
	}
	return near(n->off);
}

/* What o's only definition says of it at pc. */
static bool root(struct jcomp *c, u32 o, u32 pc, u32 deep, struct jvn *n)
{
	u32 d;

	*n = (struct jvn){ .id = o };
	if (o & OPND_CONST)
		return true;
	d = c->def_of[o];
	if (!d || d == ~0u || c->r[o].cls == JC_VARY || c->code[d - 1].guard != OPND_NONE || !passed(c, d - 1, pc))
		return false;
	if (deep < DEEP && sum_of_64(&c->code[d - 1]) && add_up(c, &c->code[d - 1], d - 1, deep + 1, root, n))
		return true;
	*n = (struct jvn){ .id = ROOT | o };
	return true;
}

struct jvn jn_of(struct jcomp *c, u32 o)
{
	struct jvn *n, first;

	if (o & OPND_CONST)
		return (struct jvn){ .id = o };
	n = &c->vn[o];
	if (n->stamp != c->stamp) {
		if (!root(c, o, c->pc, 0, &first))
			first = (struct jvn){ .id = c->next_vn++ };
		first.stamp = c->stamp;
		*n = first;
	}
	return *n;
}

static bool here(struct jcomp *c, u32 o, u32 pc, u32 deep, struct jvn *n)
{
	(void)pc;
	(void)deep;
	*n = jn_of(c, o);
	return true;
}

/* in has been emitted: what its results are now. */
void jm_defines(struct jcomp *c, const struct insn *in)
{
	struct jvn n;
	u32 k;

	if (sum_of_64(in) && c->r[in->o[0]].cls != JC_VARY && add_up(c, in, c->pc, 0, here, &n)) {
		n.stamp = c->stamp;
		c->vn[in->o[0]] = n;
		return;
	}
	for (k = 0; k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
			c->vn[in->o[k]].stamp = 0;
}
