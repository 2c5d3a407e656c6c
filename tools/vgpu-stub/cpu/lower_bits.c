/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: fields of bits (PTX ISA 9.7.1, bfe, bfi; 9.7.8, lop3), copysign. Where a field's place is a constant, as
 * compilers have it, and for signs, it is shifts and logic, which all that compiles has code for. Called by lower.c.
 */
#include "front.h"

/* Place and length of the field, operands k and k + 1, are constants. */
static bool field(const struct stmt *st, u32 k, u32 *at, u32 *n)
{
	if (st->op[k].kind != O_INT || st->op[k + 1].kind != O_INT)
		return false;
	*at = (u32)st->op[k].imm & 255;
	*n = (u32)st->op[k + 1].imm & 255;
	return true;
}

static u32 lane(struct comp *c, struct stmt *st, u32 lop, enum type t, u32 d, u32 a, u32 b)
{
	if (d == OPND_NONE)
		d = new_reg(c, t);
	emit_lane(c, st, lop, t, type_w(t), d, a, b, OPND_NONE);
	return d;
}

/* d = x where the mask has ones, y elsewhere. lop: OR or ADD, which are one here; what is known of addresses goes through sums (`2 * i + odd` is a bfi) */
static void choose(struct comp *c, struct stmt *st, enum type t, u32 lop, u64 mask, u32 x, u32 y)
{
	u64 all = type_w(t) ? ~0ull : 0xffffffffull;

	x = lane(c, st, LOP_AND, t, OPND_NONE, x, konst(c, mask, type_w(t)));
	y = lane(c, st, LOP_AND, t, OPND_NONE, y, konst(c, ~mask & all, type_w(t)));
	lane(c, st, lop, t, dst(&st->op[0]), x, y);
}

/* False: an instruction like others, as one of 32 bits is, which code has as it is. */
bool lower_bfe(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	bool sg = type_is_signed(t);
	u32 at, n, x;

	if (type_bytes(t) != 8 || !field(st, 2, &at, &n) || !n)
		return false;
	if (at > 63 && !sg)
		return false;
	x = src(c, st, &st->op[1], t);
	if (at > 63) {                  /* beyond its sign are more of it */
		at = 63;
		n = 1;
	}
	n = n > 64 - at ? 64 - at : n;
	if (at + n < 64)
		x = lane(c, st, LOP_SHL, t, OPND_NONE, x, konst(c, 64 - at - n, 0));
	lane(c, st, LOP_SHR, t, dst(&st->op[0]), x, konst(c, 64 - n, 0));
	return true;
}

void lower_copysign(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 x = src(c, st, &st->op[1], t), y = src(c, st, &st->op[2], t);

	if (t == T_F32)
		choose(c, st, T_U32, LOP_OR, 1u << 31, x, y);
	else
		choose(c, st, T_U64, LOP_OR, 1ull << 63, x, y);
}

void lower_bfi(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 s[4], i, at, n, bits = type_bytes(t) * 8;
	struct insn *in;

	for (i = 0; i < 4; i++)
		s[i] = src(c, st, &st->op[i + 1], i < 2 ? t : T_U32);
	if (field(st, 3, &at, &n) && at < bits && n) {
		enum type u = bits == 64 ? T_U64 : T_U32;
		u64 mask = (n < 64 ? (1ull << n) - 1 : ~0ull) << at;

		if (at)
			s[0] = lane(c, st, LOP_SHL, u, OPND_NONE, s[0], konst(c, at, 0));
		choose(c, st, u, LOP_ADD, bits == 64 ? mask : (u32)mask, s[0], s[1]);
		return;
	}
	in = emit(c, K_BFI);
	in->o[0] = dst(&st->op[0]);
	if (in->o[0] == OPND_NONE)
		in->o[0] = new_reg(c, t);
	for (i = 0; i < 4; i++)
		in->o[i + 1] = s[i];
	in->dw = type_w(t);
	in->type = (u8)t;
	in->def = 1;
	in->use = 30;
}

void lower_lop3(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	struct insn *in;
	u32 s[3], r, i;

	for (i = 0; i < 3; i++)
		s[i] = src(c, st, &st->op[i + 1], t);
	if (st->op[4].kind != O_INT || st->op[4].imm < 0 || st->op[4].imm > 255)
		FAIL_AT(c, st, "lop3: the table must be a constant below 256");
	in = emit(c, K_LOP3);
	r = in->o[0] = dst(&st->op[0]);
	if (r == OPND_NONE)
		r = in->o[0] = new_reg(c, t);
	for (i = 0; i < 3; i++)
		in->o[i + 1] = s[i];
	in->imm = st->op[4].imm;
	in->dw = type_w(t);
	in->type = (u8)t;
	in->def = 1;
	in->use = 14;
	if (!st->mod[MC_BOOL] && st->nops <= 5 && st->op[0].second == OPND_NONE)
		return;
	/* p = (d != 0) .and or .or q */
	if (st->nops != 6 || st->mod[MC_BOOL] < BOOL_AND || st->mod[MC_BOOL] > BOOL_OR)
		FAIL_AT(c, st, "lop3 with a predicate is lop3.and or lop3.or d|p, a, b, c, table, q");
	s[0] = src(c, st, &st->op[5], T_PRED);
	if (st->op[0].second != OPND_NONE)
		emit_cmp(c, st, CMP_NE, T_U32, st->op[0].second, r, konst(c, 0, 0), st->mod[MC_BOOL], s[0], st->op[5].neg);
}
