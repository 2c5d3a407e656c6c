/* SPDX-License-Identifier: MIT */
/*
 * Checks a statement against its row of ops.def: types, number of operands, and that every
 * register fits the place where it stands. lower.c may rely on all of it.
 */
#include <string.h>

#include "front.h"

static bool same_class(enum type have, enum type want)
{
	/* untyped goes with everything of its size; integers with integers, floats with floats */
	if (have == want)
		return true;
	if (have >= T_B8 && have <= T_B64)
		return true;
	if (want >= T_B8 && want <= T_B64)
		return true;
	if (type_is_float(have) != type_is_float(want))
		return false;
	/* .f32 is no pair of halves */
	return !type_is_float(have) || type_bytes(have) != 4;
}

static void reg_fits(struct comp *c, const struct stmt *st, const struct operand *o, enum type t,
		     u32 bytes, bool wider)
{
	enum type have = o->type;

	if (have == T_PRED || t == T_PRED) {
		if (have != t)
			FAIL_AT(c, st, "%s: predicate and data registers cannot be mixed", st->od->name);
		return;
	}
	/* narrow data widen in registers of integers and bits (9.4.1) */
	if (type_bytes(have) != bytes && !(wider && type_bytes(have) > bytes && !type_is_float(have)))
		FAIL_AT(c, st, "%s: a .%s register where .%s is expected", st->od->name, type_name(have),
			type_name(t));
	if (type_bytes(have) == bytes && type_bytes(t) == bytes && !same_class(have, t))
		FAIL_AT(c, st, "%s: a .%s register where .%s is expected", st->od->name, type_name(have),
			type_name(t));
}

static void source(struct comp *c, const struct stmt *st, const struct operand *o, enum type t, u32 bytes)
{
	switch (o->kind) {
	case O_REG:
		reg_fits(c, st, o, t, bytes, false);
		if (o->neg && t != T_PRED)
			FAIL_AT(c, st, "%s: '!' needs a predicate", st->od->name);
		return;
	case O_INT:
		if (type_is_float(t))
			FAIL_AT(c, st, "%s: integer constant where .%s is expected", st->od->name,
				type_name(t));
		return;
	case O_FLT:
		if ((!type_is_float(t) && !(t >= T_B8 && t <= T_B64)) || bytes < 4 ||
		    (o->type == T_F64 && bytes == 4 && t != T_F32) || (o->type == T_F32 && t == T_B64) || t == T_F16X2 || t == T_BF16X2)
			FAIL_AT(c, st, "%s: floating point constant where .%s is expected", st->od->name,
				type_name(t));
		return;
	case O_SREG:            /* mov reads them, cvt may */
		FAIL_AT(c, st, "%s: a special register is no operand here", st->od->name);
	case O_SYM:             /* mov takes addresses, and cvta */
		FAIL_AT(c, st, "%s: the address of '%s' is no operand here", st->od->name, o->sym->name);
	default:
		FAIL_AT(c, st, "%s: bad source operand", st->od->name);
	}
}

void check_source(struct comp *c, const struct stmt *st, const struct operand *o, enum type t)
{
	source(c, st, o, t, type_bytes(t));
}

static void dest(struct comp *c, const struct stmt *st, const struct operand *o, enum type t, u32 bytes)
{
	/* '_' stands where an instruction has something else to do than to compute it */
	if (o->kind == O_SINK && (st->od->x == X_ATOM || st->od->x >= X_VOTE || st->od->x == X_SETP || st->od->x == X_TESTP ||
	    (st->od->id == OPID_LOP3 && st->mod[MC_BOOL])))
		return;
	if (o->kind != O_REG || o->neg)
		FAIL_AT(c, st, "%s: the destination must be a register", st->od->name);
	reg_fits(c, st, o, t, bytes, false);
}

/* Of an atomic each element is exactly of the type. */
static void atom_vector(struct comp *c, const struct stmt *st, const struct operand *o, bool is_dest)
{
	u32 i;

	if (is_dest && o->kind == O_SINK)
		return;
	if (o->kind != O_VEC || o->n != st->mod[MC_VEC])
		FAIL_AT(c, st, "%s: %u registers expected", st->od->name, st->mod[MC_VEC]);
	for (i = 0; i < o->n; i++)
		if (is_dest)
			dest(c, st, &o->elem[i], st->type[0], type_bytes(st->type[0]));
		else
			source(c, st, &o->elem[i], st->type[0], type_bytes(st->type[0]));
}

static void vec_elems(struct comp *c, const struct stmt *st, const struct operand *o, bool is_dest)
{
	u32 n = st->mod[MC_VEC] ? st->mod[MC_VEC] : 1, i;
	const struct operand *e = o;
	enum type t = st->type[0];

	if ((o->kind == O_VEC ? o->n : 1) != n)
		FAIL_AT(c, st, "%s: %u registers expected", st->od->name, n);
	for (i = 0; i < n; i++) {
		e = o->kind == O_VEC ? &o->elem[i] : o;
		if (is_dest && e->kind == O_SINK)
			continue;
		if (e->kind == O_REG)
			reg_fits(c, st, e, t, type_bytes(t), true);
		else if (is_dest)
			FAIL_AT(c, st, "%s: the destination must be a register", st->od->name);
		else
			source(c, st, e, t, type_bytes(t));
	}
}

/* add, sub and fma of .f32 with factors or a first term of 16 bits */
static bool mixed(const struct stmt *st)
{
	return st->ntype == 2 && st->type[0] == T_F32 && (st->type[1] == T_F16 || st->type[1] == T_BF16) &&
	       (st->od->id == OPID_ADD || st->od->id == OPID_SUB || st->od->id == OPID_FMA);
}

static void check_one(struct comp *c, struct stmt *st, char letter, struct operand *o)
{
	enum type t = st->type[0];
	u32 bytes = type_bytes(t), wide = st->mod[MC_HLW] == HLW_WIDE ? 2 * bytes : bytes;

	if (o->second != OPND_NONE && o->kind != O_ADDR && !strchr("DmPb", letter))
		FAIL_AT(c, st, "%s: '|' is not permitted here", st->od->name);
	if (st->od->x == X_ATOM && st->mod[MC_VEC] && letter != 'A') {
		atom_vector(c, st, o, letter == 'd');
		return;
	}
	switch (letter) {
	case 'd':
	case 'D':
		dest(c, st, o, wide == bytes ? t : T_NONE, wide);
		break;
	case 'n':
	case 'm':
		dest(c, st, o, T_B32, 4);
		break;
	case 's':
		source(c, st, o, t, bytes);
		break;
	case 'x':
		source(c, st, o, st->type[1], type_bytes(st->type[1]));
		break;
	case 'w':
		source(c, st, o, wide == bytes ? t : T_B64, wide);
		break;
	case 'u':
		source(c, st, o, T_B32, 4);
		break;
	case 'P':
		dest(c, st, o, T_PRED, 1);
		break;
	case 'b':
		dest(c, st, o, t, bytes);
		break;
	case 'p':
		if (o->kind == O_INT)           /* vote.ballot with a constant, true or false */
			break;
		source(c, st, o, T_PRED, 1);
		break;
	case 'a':
		if (o->kind == O_REG)
			reg_fits(c, st, o, t, bytes, false);
		else if (o->kind != O_SYM && o->kind != O_INT)
			FAIL_AT(c, st, "%s: bad address", st->od->name);
		break;
	case 'g':
		if (o->kind != O_REG || o->type == T_PRED || type_bytes(o->type) < 4)
			FAIL_AT(c, st, "%s: an address register expected", st->od->name);
		break;
	case 'A':
		/* name[…] of loads and stores needs no brackets of its own */
		if (o->kind == O_SYM && o->element && (st->od->x == X_LD || st->od->x == X_ST)) {
			o->second = O_SYM;
			o->kind = O_ADDR;
		}
		if (o->kind != O_ADDR)
			FAIL_AT(c, st, "%s: '[address]' expected", st->od->name);
		if (o->second == O_REG && type_bytes(o->type) == 2 && !type_is_float(o->type) && st->mod[MC_SPACE] > SPACE_GLOBAL)
			UNSUPPORTED(c, st, "'%s' through a register of 16 bits is not supported", st->od->name);
		if (o->second == O_REG && (o->type == T_PRED || type_is_float(o->type) ||
					   type_bytes(o->type) < (st->mod[MC_SPACE] <= SPACE_GLOBAL ? 8 : 4)))
			FAIL_AT(c, st, "%s: a .%s register cannot hold an address", st->od->name,
				type_name(o->type));
		break;
	case 'V':
	case 'v':
		vec_elems(c, st, o, letter == 'V');
		break;
	}
}

/*
 * A register of .b128 is two of .b64, so what moves, loads, stores or exchanges one is that of a vector of two (5.2.3, 9.7.9). It
 * stands nowhere else.
 */
static void quads(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 i, n = 0, data = 0;

	for (i = 0; i < st->nops; i++) {
		if (st->op[i].kind == O_VEC && st->op[i].type == T_B128)
			n++;
		if (st->op[i].kind != O_ADDR && st->op[i].kind != O_SYM)
			data++;
	}
	if (t != T_B128) {
		if (n)
			FAIL_AT(c, st, "%s: a .b128 register where .%s is expected", st->od->name, type_name(t));
		return;
	}
	if (st->mod[MC_VEC])
		FAIL_AT(c, st, "%s: there are no vectors of .b128", st->od->name);
	if (!n || (n < data && st->od->x != X_MOV && !(n == data - 1 && st->mod[MC_HINT])))
		FAIL_AT(c, st, "%s: .b128 registers are expected", st->od->name);
	st->type[0] = T_B64;
	st->mod[MC_VEC] = 2;
}

void check_stmt(struct comp *c, struct stmt *st)
{
	const struct opdesc *od = st->od;
	const char *s = od->shape;
	bool optional = false;
	u32 i = 0;

	/* where a cache is told what to keep: there is none here, the policy is read by nobody */
	if (st->mod[MC_HINT]) {
		const struct operand *o = st->nops ? &st->op[st->nops - 1] : NULL;

		if (!o || o->kind != O_REG || o->type == T_PRED || type_bytes(o->type) != 8)
			FAIL_AT(c, st, "%s.L2::cache_hint: the policy must be a 64-bit register", od->name);
		st->nops--;
	}
	if (od->id == OPID_ST && st->mod[MC_BULK] && !st->mod[MC_CP]) {
		if (st->mod[MC_BULK] != BULK_COPY || st->ntype || st->mod[MC_VEC] || st->mod[MC_CACHE] || (st->mod[MC_SEM] && st->mod[MC_SEM] != SEM_WEAK) ||
		    st->mod[MC_SCOPE] || (st->mod[MC_SPACE] && st->mod[MC_SPACE] != SPACE_SHARED))
			FAIL_AT(c, st, "st.bulk takes .weak and .shared::cta alone");
		return;
	}
	/* no letter of its own in the table for "the type is missing": bit 0 */
	if (!(od->types >> st->type[0] & 1)) {
		if (!st->ntype)
			FAIL_AT(c, st, "%s: a type is missing", od->name);
		FAIL_AT(c, st, "%s does not take .%s", od->name, type_name(st->type[0]));
	}
	quads(c, st);
	if (strchr(s, 'x') && st->ntype < 2)
		FAIL_AT(c, st, "%s: a second type is missing", od->name);
	if ((st->ntype > 2 && od->x != X_MMA && od->x != X_CVT && od->x != X_VIDEO && od->x != X_WMMA && od->x != X_WGMMA) || (st->ntype == 2 && !strchr(s, 'x') && *s != '*' && od->x != X_DP &&
			      od->x != X_ATOM && !mixed(st)))
		FAIL_AT(c, st, "%s: too many types", od->name);
	check_rules(c, st);
	if (*s == '*')
		return;
	if (st->mod[MC_HLW] == HLW_WIDE && type_bytes(st->type[0]) > 4)
		FAIL_AT(c, st, "%s.wide does not take .%s", od->name, type_name(st->type[0]));
	for (; *s; s++) {
		if (*s == '?') {
			optional = true;
			continue;
		}
		if (i == st->nops) {
			if (optional)
				return;
			FAIL_AT(c, st, "%s: %u operands are too few", od->name, st->nops);
		}
		if (mixed(st) && (i == 1 || (i == 2 && od->id == OPID_FMA)))
			source(c, st, &st->op[i], st->type[1], 2);
		else
			check_one(c, st, *s, &st->op[i]);
		i++;
	}
	if (i != st->nops)
		FAIL_AT(c, st, "%s: %u operands are too many", od->name, st->nops);
}
