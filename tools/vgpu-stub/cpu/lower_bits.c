/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: fields of bits (PTX ISA 9.7.1, bfe, bfi; 9.7.8, lop3), copysign, products of 24 bits, sums of distances. But for
 * lop3, and a bfe of 32 bits whose place is a constant, they are shifts, logic and sums, which all that compiles has code for, and which
 * what is known of values goes through. Called by lower.c.
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

static enum type unsigned_of(enum type t) { return type_bytes(t) == 8 ? T_U64 : type_bytes(t) == 4 ? T_U32 : T_U16; }

/* The low eight bits of a place or length, which are what counts. */
static u32 low_byte(struct comp *c, struct stmt *st, u32 x) { return lane(c, st, LOP_AND, T_U32, OPND_NONE, x, konst(c, 255, 0)); }

/* n ones, of as many bits as t has at most */
static u32 ones(struct comp *c, struct stmt *st, enum type t, u32 n)
{
	u32 x = lane(c, st, LOP_SHL, t, OPND_NONE, konst(c, 1, type_w(t)), n);

	return lane(c, st, LOP_SUB, t, OPND_NONE, x, konst(c, 1, type_w(t)));
}

/* A field whose place is in registers: shifts of as many bits as there are, or more, give 0, or the sign everywhere. */
static void field_of(struct comp *c, struct stmt *st, enum type t)
{
	u32 x = src(c, st, &st->op[1], t), at = low_byte(c, st, src(c, st, &st->op[2], T_U32));
	u32 n = low_byte(c, st, src(c, st, &st->op[3], T_U32)), bits = type_bytes(t) * 8, left, some;
	enum type u = unsigned_of(t);

	if (!type_is_signed(t)) {
		x = lane(c, st, LOP_SHR, u, OPND_NONE, x, at);
		lane(c, st, LOP_AND, u, dst(&st->op[0]), x, ones(c, st, u, n));
		return;
	}
	some = lane(c, st, LOP_MIN, T_U32, OPND_NONE, n, konst(c, 1, 0));
	at = lane(c, st, LOP_MIN, T_U32, OPND_NONE, at, konst(c, bits - 1, 0));         /* beyond its sign are more of it */
	left = lane(c, st, LOP_SUB, T_U32, OPND_NONE, konst(c, bits, 0), at);
	n = lane(c, st, LOP_MIN, T_U32, OPND_NONE, n, left);
	x = lane(c, st, LOP_SHL, u, OPND_NONE, x, lane(c, st, LOP_SUB, T_U32, OPND_NONE, left, n));
	x = lane(c, st, LOP_SHR, t, OPND_NONE, x, lane(c, st, LOP_SUB, T_U32, OPND_NONE, konst(c, bits, 0), n));
	/* nothing of no bits: as many shifts to the left as there are, once more */
	n = lane(c, st, LOP_SHL, T_U32, OPND_NONE, lane(c, st, LOP_XOR, T_U32, OPND_NONE, some, konst(c, 1, 0)), konst(c, 6, 0));
	lane(c, st, LOP_SHL, u, dst(&st->op[0]), x, n);
}

/* False: an instruction like others, as one of 32 bits at a constant place is, which code has as it is. */
bool lower_bfe(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	bool sg = type_is_signed(t);
	u32 at, n, x;

	if (!field(st, 2, &at, &n) || !n || (at > 63 && !sg)) {
		field_of(c, st, t);
		return true;
	}
	if (type_bytes(t) != 8)
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

/* The low 24 bits, extended. */
static u32 low24(struct comp *c, struct stmt *st, enum type t, u32 x)
{
	if (!type_is_signed(t))
		return lane(c, st, LOP_AND, t, OPND_NONE, x, konst(c, 0xffffff, 0));
	x = lane(c, st, LOP_SHL, T_U32, OPND_NONE, x, konst(c, 8, 0));
	return lane(c, st, LOP_SHR, T_S32, OPND_NONE, x, konst(c, 8, 0));
}

/* d = lop of s; false: it is an instruction */
bool lower_simple(struct comp *c, struct stmt *st, u32 lop, enum type t, u32 d, const u32 *s)
{
	enum type u = unsigned_of(t);
	u32 x, y;

	switch (lop) {
	case LOP_CNOT:
		x = lane(c, st, LOP_MIN, u, OPND_NONE, s[0], konst(c, 1, type_w(u)));
		lane(c, st, LOP_XOR, u, d, x, konst(c, 1, type_w(u)));
		return true;
	case LOP_SAD:
		x = lane(c, st, LOP_MAX, t, OPND_NONE, s[0], s[1]);
		y = lane(c, st, LOP_MIN, t, OPND_NONE, s[0], s[1]);
		x = lane(c, st, LOP_SUB, u, OPND_NONE, x, y);
		lane(c, st, LOP_ADD, u, d, x, s[2]);
		return true;
	case LOP_MUL24LO: case LOP_MAD24LO:
		x = low24(c, st, t, s[0]);
		y = low24(c, st, t, s[1]);
		emit_lane(c, st, lop == LOP_MUL24LO ? LOP_MUL : LOP_MAD, u, 0, d, x, y, lop == LOP_MUL24LO ? OPND_NONE : s[2]);
		return true;
	}
	return false;
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
	enum type t = st->type[0], u = unsigned_of(t);
	u32 s[4], i, at, n, bits = type_bytes(t) * 8, mask, rest;

	for (i = 0; i < 4; i++)
		s[i] = src(c, st, &st->op[i + 1], i < 2 ? t : T_U32);
	if (field(st, 3, &at, &n) && at < bits && n) {
		u64 m = (n < 64 ? (1ull << n) - 1 : ~0ull) << at;

		if (at)
			s[0] = lane(c, st, LOP_SHL, u, OPND_NONE, s[0], konst(c, at, 0));
		choose(c, st, u, LOP_ADD, bits == 64 ? m : (u32)m, s[0], s[1]);
		return;
	}
	at = low_byte(c, st, s[2]);
	mask = lane(c, st, LOP_SHL, u, OPND_NONE, ones(c, st, u, low_byte(c, st, s[3])), at);
	s[0] = lane(c, st, LOP_AND, u, OPND_NONE, lane(c, st, LOP_SHL, u, OPND_NONE, s[0], at), mask);
	rest = lane(c, st, LOP_AND, u, OPND_NONE, s[1], lane(c, st, LOP_NOT, u, OPND_NONE, mask, OPND_NONE));
	lane(c, st, LOP_OR, u, dst(&st->op[0]), s[0], rest);
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
