/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: copies that hardware makes behind the program's back, and what it is told about caches
 * (PTX ISA 9.7.9). Called by lower.c.
 *
 * cp.async is a load and a store, done at once, which nobody may tell from one that is done later. There is no cache to
 * tell anything: a policy is a number that is carried to where it is ignored.
 */
#include <string.h>

#include "front.h"

static struct insn *words(struct comp *c, const struct insn *t, u8 kind, const u32 *r, u32 n, s64 off)
{
	struct insn *in = emit(c, kind);
	u32 i;

	for (i = 0; i < n; i++)
		in->o[i] = r[i];
	in->o[4] = t->o[4];
	in->space = t->space;
	in->imm = t->imm + off;
	in->aw = t->aw;
	in->vec = (u8)n;
	in->size = 4;
	in->type = T_B32;
	in->def = kind == K_LD ? (u8)((1u << n) - 1) : 0;
	in->use = kind == K_LD ? 16 : (u8)(16 | ((1u << n) - 1));
	return in;
}

/*
 * The source is shorter than the copy: what is behind its end becomes zero, and nothing at all is read where it has no
 * bytes (its address may be anything then). have: bytes, or OPND_NONE and a predicate that says that there are none.
 */
static void short_source(struct comp *c, struct stmt *st, const struct insn *from, const u32 *r, u32 n, u32 have,
			 u32 none, bool none_neg)
{
	u32 guard = c->guard, i, p = new_reg(c, T_PRED), zero = konst(c, 0, 0);
	bool gneg = c->gneg, each = have != OPND_NONE && c->m->e->mc;

	/* one load of all words reads past the end of the source, though never past the 16 bytes that it begins: the checker minds */
	for (i = 0; i < (each ? n : 1); i++) {
		u32 k;

		c->guard = OPND_NONE;
		for (k = 0; k < n; k++)
			if (!i)
				emit_lane(c, st, LOP_MOV, T_U32, 0, r[k], zero, OPND_NONE, OPND_NONE);
		if (have != OPND_NONE)
			emit_cmp(c, st, CMP_GT, T_U32, p, have, konst(c, 4 * i, 0), BOOL_AND, guard, gneg);
		else
			emit_pred(c, guard == OPND_NONE ? PRED_MOV : PRED_AND, p, none, !none_neg, guard, gneg);
		c->guard = p;
		c->gneg = false;
		words(c, from, K_LD, r + i, each ? 1 : n, 4 * i);
	}
	c->guard = OPND_NONE;
	for (i = 0; i < n && have != OPND_NONE; i++) {
		u32 bits = new_reg(c, T_B32), rest = new_reg(c, T_B32);

		/* min(max(have - 4 i, 0), 4) bytes, as bits */
		emit_lane(c, st, LOP_MAX, T_U32, 0, rest, have, konst(c, 4 * i, 0), OPND_NONE);
		emit_lane(c, st, LOP_SUB, T_U32, 0, rest, rest, konst(c, 4 * i, 0), OPND_NONE);
		emit_lane(c, st, LOP_MIN, T_U32, 0, rest, rest, konst(c, 4, 0), OPND_NONE);
		emit_lane(c, st, LOP_SHL, T_U32, 0, rest, rest, konst(c, 3, 0), OPND_NONE);
		emit_lane(c, st, LOP_SHL, T_U32, 0, bits, konst(c, ~0u, 0), rest, OPND_NONE);
		emit_lane(c, st, LOP_NOT, T_U32, 0, bits, bits, OPND_NONE, OPND_NONE);
		emit_lane(c, st, LOP_AND, T_U32, 0, r[i], r[i], bits, OPND_NONE);
	}
	c->guard = guard;
	c->gneg = gneg;
}

static void lower_cp_async(struct comp *c, struct stmt *st)
{
	const struct operand *size = st->nops > 3 ? &st->op[3] : NULL;
	struct insn from, to;
	struct stmt half = *st;
	u32 n, i, r[4];

	if (st->mod[MC_SPACE] != SPACE_GLOBAL || st->mod[MC_FROM] != SPACE_SHARED)
		FAIL_AT(c, st, "cp.async copies from .global to .shared");
	if (st->nops < 3 || st->nops > 4 || st->op[2].kind != O_INT)
		FAIL_AT(c, st, "cp.async: two addresses, the number of bytes, and how many of them the source has");
	if (st->op[0].kind != O_ADDR || st->op[1].kind != O_ADDR)
		FAIL_AT(c, st, "cp.async: two addresses expected");
	if (st->op[2].imm != 4 && st->op[2].imm != 8 && st->op[2].imm != 16)
		FAIL_AT(c, st, "cp.async copies 4, 8 or 16 bytes");
	if (size && !(size->kind == O_REG && (size->type == T_PRED || (type_bytes(size->type) == 4 && !type_is_float(size->type)))) &&
	    !(size->kind == O_INT && size->imm >= 0 && size->imm <= st->op[2].imm))
		FAIL_AT(c, st, "cp.async: the size of the source must be a 32-bit register or a number up to that of the copy");
	n = (u32)st->op[2].imm / 4;
	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	half.mod[MC_SPACE] = SPACE_GLOBAL;
	lower_address(c, &half, &st->op[1], &from);
	half.mod[MC_SPACE] = SPACE_SHARED;
	lower_address(c, &half, &st->op[0], &to);
	for (i = 0; i < n; i++)
		r[i] = new_reg(c, T_B32);
	if (!size || (size->kind == O_INT && size->imm == st->op[2].imm))
		words(c, &from, K_LD, r, n, 0);
	else if (size->kind == O_REG && size->type == T_PRED)
		short_source(c, st, &from, r, n, OPND_NONE, size->reg, size->neg);
	else
		short_source(c, st, &from, r, n, src(c, st, size, T_U32), OPND_NONE, false);
	words(c, &to, K_ST, r, n, 0);
}

static void lower_policy(struct comp *c, struct stmt *st)
{
	const struct operand *d = &st->op[0];

	if (!st->nops || (d->kind != O_SINK && (d->kind != O_REG || d->type == T_PRED || type_bytes(d->type) != 8)))
		FAIL_AT(c, st, "createpolicy: the destination must be a 64-bit register");
	if (!st->mod[MC_POLICY])
		FAIL_AT(c, st, "createpolicy needs .range, .fractional or .cvt");
	if (d->kind == O_REG)
		emit_lane(c, st, LOP_MOV, T_U64, 1, d->reg, konst(c, 1ull << 60, 1), OPND_NONE, OPND_NONE);
}

void lower_async(struct comp *c, struct stmt *st)
{
	if (st->od->x == X_POLICY) {
		lower_policy(c, st);
		return;
	}
	switch (st->mod[MC_CP]) {
	case CP_COMMIT:
	case CP_WAIT_ALL:
		if (st->nops)
			FAIL_AT(c, st, "cp.async: no operands expected");
		return;
	case CP_WAIT:
		if (st->nops != 1 || st->op[0].kind != O_INT)
			FAIL_AT(c, st, "cp.async.wait_group takes a number");
		return;
	case CP_ASYNC:
		lower_cp_async(c, st);
		return;
	default:
		UNSUPPORTED(c, st, "cp without .async is not supported");
	}
}
