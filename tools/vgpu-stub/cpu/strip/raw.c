/* SPDX-License-Identifier: MIT */
/*
 * Registers that hold only what float operations made: their NaNs are made canonical when their bits are looked at, not every time they
 * are written. And registers that hold no NaN at all: constants, what is made of an integer, the greater or lesser of anything and such a number.
 *
 * In: classes. Out: sregister.rawf, sregister.number.
 */
#include "strip.h"

static bool makes_raw(const struct insn *in)
{
	if (in->kind != K_LANE || in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD: case LOP_DIV: case LOP_RCP: case LOP_SQRT: case LOP_RSQRT:
	case LOP_CVT_F_H: case LOP_MIN: case LOP_MAX:
		return true;
	}
	return false;
}

bool s_is_number(const struct scomp *c, u32 o)
{
	struct sval v;

	if (o == OPND_NONE)
		return false;
	if (!(o & OPND_CONST) && c->r[o].v.cls != SC_SCALAR)
		return c->r[o].number;
	v = s_val(c, o, 0);
	return v.known && ((u32)v.k & 0x7fffffffu) <= 0x7f800000u;
}

static bool makes_number(const struct scomp *c, const struct insn *in)
{
	if (in->kind == K_SHFL && in->sub2)
		return s_is_number(c, in->o[3]);
	if (in->kind != K_LANE || in->dw)
		return false;
	switch (in->lop) {
	case LOP_MIN: case LOP_MAX:
		return in->type == T_F32 && (s_is_number(c, in->o[1]) || s_is_number(c, in->o[2]));
	case LOP_MOV:
		return s_is_number(c, in->o[1]);
	case LOP_SELP:
		return s_is_number(c, in->o[1]) && s_is_number(c, in->o[2]);
	case LOP_ABS: case LOP_NEG: case LOP_FLUSH:
		return in->type == T_F32 && s_is_number(c, in->o[1]);
	}
	return false;
}

/* Optimistic, as rawf: of a register that nobody writes nothing is said. */
static void numbers(struct scomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].number = c->r[i].v.cls == SC_VARY && c->r[i].w == 0;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];
			bool number = makes_number(c, in);

			for (k = 0; k < 6 && !number; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].number) {
					c->r[in->o[k]].number = false;
					more = true;
				}
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						c->r[in->u.call->rets[k].opnd].number = false;
		}
	}
}

/* Somebody who reads operand k: is it arithmetic, and if it is to be so, of the kind that flushes what it reads? */
static bool sums(const struct scomp *c, const struct insn *in, u32 k, bool flushes)
{
	const struct sregister *d;

	if (in->kind != K_LANE || in->dw || in->o[0] == OPND_NONE)
		return false;
	d = &c->r[in->o[0]];
	if (in->lop == LOP_MOV || (in->lop == LOP_SELP && k != 3 && in->type == T_F32))
		return flushes ? d->unflushed : d->summed;
	if (in->type != T_F32)
		return false;
	switch (in->lop) {
	case LOP_ADD: case LOP_SUB: case LOP_MUL: case LOP_MAD:
		return !flushes || (in->mxcsr & 0x40);
	case LOP_FLUSH: case LOP_NEG:
		return flushes ? d->unflushed : d->summed;
	}
	return false;
}

/*
 * neg.ftz is a flush and a sign (lower2.c), and what compilers negate so goes into a sum: there NaNs need not be canonical, nor
 * denormals gone, for the sum sees to that.
 */
static void summed(struct scomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].summed = c->r[i].unflushed = c->r[i].v.cls == SC_VARY && c->r[i].w == 0;
	for (i = 0; i < c->n; i++)
		for (k = 0; c->code[i].kind == K_CALL && k < c->code[i].u.call->nargs; k++) {
			const struct arg *a = &c->code[i].u.call->args[k];

			if (a->is_reg && !(a->opnd & OPND_CONST))
				c->r[a->opnd].summed = c->r[a->opnd].unflushed = false;
		}
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++) {
				struct sregister *r;

				if (!(in->use >> k & 1) || in->o[k] == OPND_NONE || (in->o[k] & OPND_CONST))
					continue;
				r = &c->r[in->o[k]];
				if ((r->summed && !sums(c, in, k, false)) || (r->unflushed && !sums(c, in, k, true))) {
					r->summed = r->summed && sums(c, in, k, false);
					r->unflushed = r->unflushed && sums(c, in, k, true);
					more = true;
				}
			}
		}
	}
}

void s_raw_floats(struct scomp *c)
{
	bool more = true;
	u32 i, k;

	for (i = 0; i < c->s->nregs; i++)
		c->r[i].rawf = c->r[i].v.cls == SC_VARY && c->r[i].w == 0;
	while (more) {
		more = false;
		for (i = 0; i < c->n; i++) {
			const struct insn *in = &c->code[i];
			bool raw = makes_raw(in);

			if (in->kind == K_LANE && !in->dw && (in->lop == LOP_MOV || (in->lop == LOP_SELP && in->type == T_F32)))
				raw = s_is_raw(c, in->o[1]) && (in->lop == LOP_MOV || s_is_raw(c, in->o[2]));
			if (in->kind == K_SHFL && in->sub2)
				raw = s_is_raw(c, in->o[3]);
			for (k = 0; k < 6 && !raw; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].rawf) {
					c->r[in->o[k]].rawf = false;
					more = true;
				}
			if (in->kind == K_CALL)
				for (k = 0; k < in->u.call->nrets; k++)
					if (in->u.call->rets[k].is_reg)
						c->r[in->u.call->rets[k].opnd].rawf = false;
		}
	}
	numbers(c);
	summed(c);
}
