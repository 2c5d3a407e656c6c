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
}
