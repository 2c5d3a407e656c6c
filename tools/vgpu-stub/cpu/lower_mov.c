/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: mov, also of vectors of parts; what div.approx divides by. Called by lower.c.
 */
#include "front.h"

static void unpack(struct comp *c, struct stmt *st)
{
	const struct operand *v = &st->op[0];
	u32 i, s = src(c, st, &st->op[1], st->type[0]), bits = type_bytes(st->type[0]) * 8 / v->n;

	for (i = 0; i < v->n && v->elem[i].kind == O_SINK; i++)
		;
	if (i == v->n)
		FAIL_AT(c, st, "mov: no part goes anywhere");
	for (i = 0; i < v->n; i++) {
		if (v->elem[i].kind == O_SINK)
			continue;
		if (v->elem[i].kind != O_REG || type_bytes(v->elem[i].type) * 8 != bits ||
		    v->elem[i].type == T_PRED || bits == 64)
			FAIL_AT(c, st, "mov: the parts do not add up");
		emit_lane(c, st, LOP_XTR, type_bytes(st->type[0]) == 8 ? T_U64 : T_U32, 0, v->elem[i].reg, s,
			  konst(c, i * bits, 0), konst(c, bits == 32 ? ~0u : (1u << bits) - 1, 0));
	}
}

static u32 pack(struct comp *c, struct stmt *st, const struct operand *e, u32 n, enum type t, u32 d)
{
	enum type part = type_bytes(t) / n == 4 ? T_B32 : type_bytes(t) / n == 2 ? T_B16 : T_B8;
	u32 a, b;

	if (part == T_B8) {
		u32 i, sum = OPND_NONE, r;

		for (i = 0; i < n; i++) {
			if (e[i].kind == O_REG && (type_bytes(e[i].type) != 1 || e[i].type == T_PRED))
				FAIL_AT(c, st, "mov: the parts do not add up");
			r = new_reg(c, T_B32);
			emit_lane(c, st, LOP_AND, T_U32, 0, r, src(c, st, &e[i], T_B8), konst(c, 0xff, 0), OPND_NONE);
			if (i)
				emit_lane(c, st, LOP_SHL, T_U32, 0, r, r, konst(c, 8 * i, 0), OPND_NONE);
			if (i)
				emit_lane(c, st, LOP_OR, T_U32, 0, i == n - 1 ? d : r, r, sum, OPND_NONE);
			sum = r;
		}
		return d;
	}
	if (n == 4 && type_bytes(t) == 8) {
		a = pack(c, st, e, 2, T_B32, new_reg(c, T_B32));
		b = pack(c, st, e + 2, 2, T_B32, new_reg(c, T_B32));
	} else {
		u32 i;

		for (i = 0; i < n; i++)
			if (e[i].kind == O_REG && (type_bytes(e[i].type) != type_bytes(part) ||
						   e[i].type == T_PRED))
				FAIL_AT(c, st, "mov: the parts do not add up");
		a = src(c, st, &e[0], part);
		b = src(c, st, &e[1], part);
	}
	emit_lane(c, st, LOP_PACK, type_bytes(t) == 8 ? T_U64 : T_U32, type_w(t), d, a, b, OPND_NONE);
	return d;
}

/* mov.b128 and four words: each half by itself, all of them read before the first is written */
static void move_quarters(struct comp *c, struct stmt *st)
{
	struct operand *d = &st->op[0], *s = &st->op[1];
	u32 i, half[2];

	for (i = 0; i < 2; i++) {
		half[i] = new_reg(c, T_B64);
		if (s->n == 4)
			pack(c, st, &s->elem[2 * i], 2, T_B64, half[i]);
		else
			emit_lane(c, st, LOP_MOV, T_U64, 1, half[i], s->elem[i].reg, OPND_NONE, OPND_NONE);
	}
	for (i = 0; i < d->n; i++) {
		const struct operand *e = &d->elem[i];

		if (e->kind == O_SINK)
			continue;
		if (e->kind != O_REG || e->type == T_PRED || type_bytes(e->type) != 16 / d->n)
			FAIL_AT(c, st, "mov: the parts do not add up");
		if (d->n == 2)
			emit_lane(c, st, LOP_MOV, T_U64, 1, e->reg, half[i], OPND_NONE, OPND_NONE);
		else
			emit_lane(c, st, LOP_XTR, T_U64, 0, e->reg, half[i / 2], konst(c, i % 2 * 32, 0), konst(c, ~0u, 0));
	}
}

/* mov.v2, mov.v4: element by element, all of them read before the first is written */
static void move_vector(struct comp *c, struct stmt *st, enum type t)
{
	struct operand *d = &st->op[0], *s = &st->op[1];
	u32 n = st->mod[MC_VEC], i, from[8];
	u8 w = type_w(t);

	if ((d->kind == O_VEC && d->type == T_B128 && s->kind == O_VEC && s->n == 4) ||
	    (s->kind == O_VEC && s->type == T_B128 && d->kind == O_VEC && d->n == 4)) {
		move_quarters(c, st);
		return;
	}
	if (n > 4 || n * type_bytes(t) > 16 || d->kind != O_VEC || s->kind != O_VEC || d->n != n || s->n != n || t == T_PRED)
		FAIL_AT(c, st, "mov.v%u: two vectors of %u are expected", n, n);
	for (i = 0; i < n; i++) {
		struct operand *e = &s->elem[i], *r = &d->elem[i];

		if ((r->kind != O_REG && r->kind != O_SINK) ||
		    (r->kind == O_REG && (r->type == T_PRED || type_bytes(r->type) != type_bytes(t))) ||
		    (e->kind == O_REG && (e->type == T_PRED || type_bytes(e->type) != type_bytes(t))))
			FAIL_AT(c, st, "mov.v%u: elements of .%s are expected", n, type_name(t));
		from[i] = new_reg(c, t);
		emit_lane(c, st, LOP_MOV, w ? T_U64 : T_U32, w, from[i], src(c, st, e, t), OPND_NONE, OPND_NONE);
	}
	for (i = 0; i < n; i++)
		if (d->elem[i].kind == O_REG)
			emit_lane(c, st, LOP_MOV, w ? T_U64 : T_U32, w, d->elem[i].reg, from[i], OPND_NONE, OPND_NONE);
}

void lower_mov(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	struct operand *d = &st->op[0], *s = &st->op[1];

	if (st->nops != 2)
		FAIL_AT(c, st, "mov takes two operands");
	if (st->mod[MC_VEC]) {
		move_vector(c, st, t);
		return;
	}
	if (d->kind == O_VEC || s->kind == O_VEC) {
		struct operand *v = d->kind == O_VEC ? d : s, *r = d->kind == O_VEC ? s : d;

		if ((v->n != 2 && v->n != 4) || type_bytes(t) % v->n || t < T_B8 || t > T_B64 || d->kind == s->kind ||
		    (r->kind != O_REG && r->kind != O_SINK && v == s))
			FAIL_AT(c, st, "mov: no vector of %u parts makes a .%s", v->n, type_name(t));
		if (r->kind == O_REG && (type_bytes(r->type) != type_bytes(t) || r->type == T_PRED))
			FAIL_AT(c, st, "mov: a .%s register where .%s is expected", type_name(r->type),
				type_name(t));
		if (v == d)
			unpack(c, st);
		else if (d->kind == O_REG)
			pack(c, st, s->elem, s->n, t, d->reg);
		return;
	}
	if (d->kind != O_REG || (d->type == T_PRED) != (t == T_PRED) || type_bytes(d->type) != type_bytes(t))
		FAIL_AT(c, st, "mov: the destination is not a .%s register", type_name(t));
	if (s->kind == O_LABEL)
		FAIL_AT(c, st, "mov: unknown name '%.*s'", (int)(s->n < 60 ? s->n : 60), (char *)s->sym);
	if (s->kind == O_REG && ((s->type == T_PRED) != (t == T_PRED) || type_bytes(s->type) != type_bytes(t)))
		FAIL_AT(c, st, "mov: the source is not a .%s register", type_name(t));
	if (t == T_PRED && s->kind == O_SREG) {
		if (s->reg != SR_CLUSTER_EXPLICIT)
			FAIL_AT(c, st, "mov: '%s' is no predicate", sreg_name(s->reg));
		emit_cmp(c, st, CMP_NE, T_U32, d->reg, src(c, st, s, T_U32), konst(c, 0, 0), 0, OPND_NONE, false);
		return;
	}
	if (t == T_PRED) {
		emit_pred(c, PRED_MOV, d->reg, src(c, st, s, t), s->neg, OPND_NONE, false);
		return;
	}
	if (s->kind == O_SYM && type_bytes(t) == 4 && s->sym->what == V_VAR && s->sym->space == SPACE_CONST && !s->sym->ext) {
		if (!const_high(c))
			UNSUPPORTED(c, st, "mov: there is no address of 32 bits for '%s'", s->sym->name);
		emit_lane(c, st, LOP_MOV, T_U32, 0, d->reg, konst(c, (u32)(s->sym->addr + (u64)s->imm), 0), OPND_NONE, OPND_NONE);
		return;
	}
	if (s->kind == O_SYM && type_bytes(t) < 8 && (s->sym->what == V_FUNC || s->sym->space == SPACE_GLOBAL || s->sym->space == SPACE_CONST))
		FAIL_AT(c, st, "mov: the address of '%s' has 64 bits", s->sym->name);
	if (s->kind == O_INT || s->kind == O_FLT)
		check_source(c, st, s, t);
	/* those of 32 bits had 16 once */
	if (s->kind == O_SREG && sreg_bytes(s->reg) && type_bytes(t) != sreg_bytes(s->reg) &&
	    (type_bytes(t) != 2 || sreg_bytes(s->reg) != 4))
		FAIL_AT(c, st, "mov: '%s' has %u bytes", sreg_name(s->reg), sreg_bytes(s->reg));
	emit_lane(c, st, LOP_MOV, type_w(t) ? T_U64 : T_U32, type_w(t), d->reg, src(c, st, s, t), OPND_NONE,
		  OPND_NONE);
}

/*
 * Beyond 2^126 a divisor of div.approx.f32 is as good as infinite: the quotient is 0, that of an infinite dividend NaN (9.7.3.8; an H100 agrees).
 * The product overflows just there; of one that does not, what is added is less than half of a last place.
 */
u32 divisor_of_approx(struct comp *c, const struct stmt *st, u32 b)
{
	u32 r = new_reg(c, T_F32), d = new_reg(c, T_F32);

	emit_lane(c, st, LOP_MUL, T_F32, 0, r, b, konst(c, 0x407fffff, 0), OPND_NONE);
	emit_lane(c, st, LOP_MAD, T_F32, 0, d, r, konst(c, 0x0d800000, 0), b);
	return d;
}
