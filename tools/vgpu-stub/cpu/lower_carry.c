/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: add.cc, addc, sub.cc, subc, mad.cc, madc (PTX ISA 9.7.2), which big integers are made of. The carry is a predicate, and
 * each statement is sums and comparisons, which all that compiles has code for. Called by lower.c.
 */
#include "front.h"

static u32 lane(struct comp *c, struct stmt *st, u32 lop, enum type t, u32 a, u32 b, u32 k)
{
	u32 d = new_reg(c, t);

	emit_lane(c, st, lop, t, type_w(t), d, a, b, k);
	return d;
}

/*
 * A difference is a sum with the complement, so that CC.CF after it means "no borrow", as on the hardware: programs chain sub.cc with addc, and
 * ptxas takes one flag for both. Of a + b + carry the two sums cannot both wrap.
 */
void lower_cc(struct comp *c, struct stmt *st)
{
	bool mad = st->od->id == OPID_MAD || st->od->id == OPID_MADC, minus = st->od->id == OPID_SUB || st->od->id == OPID_SUBC;
	bool in = st->od->x == X_CARRY, half = type_bytes(st->type[0]) == 2;
	enum type t = half ? T_U32 : st->type[0], u = type_bytes(t) == 8 ? T_U64 : T_U32;
	u32 a = src(c, st, &st->op[1], st->type[0]), b = src(c, st, &st->op[2], st->type[0]), d, sum, one, first;

	if (c->cc == OPND_NONE)
		c->cc = new_reg(c, T_PRED);
	if (mad) {
		a = lane(c, st, st->mod[MC_HLW] == HLW_HI ? LOP_MULHI : LOP_MUL, t, a, b, OPND_NONE);
		b = src(c, st, &st->op[3], st->type[0]);
	}
	if (minus && in)
		b = lane(c, st, LOP_NOT, u, b, OPND_NONE, OPND_NONE);
	sum = d = lane(c, st, minus && !in ? LOP_SUB : LOP_ADD, u, a, b, OPND_NONE);
	if (in) {
		one = lane(c, st, LOP_SELP, u, konst(c, 1, type_w(u)), konst(c, 0, type_w(u)), c->cc);
		d = lane(c, st, LOP_ADD, u, sum, one, OPND_NONE);
	}
	if (st->mod[MC_CC]) {
		first = in ? new_reg(c, T_PRED) : c->cc;
		if (minus && !in)
			emit_cmp(c, st, CMP_GE, u, first, a, b, 0, OPND_NONE, false);
		else
			emit_cmp(c, st, CMP_LT, u, first, sum, a, 0, OPND_NONE, false);
		if (in)
			emit_cmp(c, st, CMP_LT, u, c->cc, d, sum, BOOL_OR, first, false);
	}
	/* of 16 bits (which the ISA does not list, and NVIDIA's assembler takes): the low half of that */
	if (half)
		emit_lane(c, st, LOP_AND, T_U32, 0, dst(&st->op[0]), d, konst(c, 0xffff, 0), OPND_NONE);
	else
		emit_lane(c, st, LOP_MOV, u, type_w(u), dst(&st->op[0]), d, OPND_NONE, OPND_NONE);
}
