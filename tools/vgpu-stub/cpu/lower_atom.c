/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: atom and red (PTX ISA 9.7.13.5, 9.7.13.6). Called by lower2.c.
 */
#include <string.h>

#include "front.h"
#include "gen.h"

/* What is permitted; of vectors: .v2 and .v4 of .f32, up to 16 bytes of halves, in global memory (9.7.13.5, 9.7.13.6) */
static bool atom_known(const struct stmt *st)
{
	enum type t = st->type[0];
	bool bits = t >= T_B8 && t <= T_B64, fl = type_is_float(t), half = fl && t != T_F32 && t != T_F64;
	u8 op = st->mod[MC_ATOM], n = st->mod[MC_VEC];

	if (n && !(n == 2 && t == T_B64))
		return (half ? op == ATOM_ADD || op == ATOM_MIN || op == ATOM_MAX : t == T_F32 && op == ATOM_ADD) && n * type_bytes(t) <= 16 &&
		       st->mod[MC_SPACE] <= SPACE_GLOBAL;
	if (n)
		return (op == ATOM_EXCH || op == ATOM_CAS) && st->od->id == OPID_ATOM;
	switch (op) {
	case ATOM_ADD: return !bits;
	case ATOM_MIN:
	case ATOM_MAX: return !bits && !fl;
	case ATOM_INC:
	case ATOM_DEC: return t == T_U32;
	case ATOM_AND:
	case ATOM_OR:
	case ATOM_XOR: return t == T_B32 || t == T_B64;
	case ATOM_EXCH:
	case ATOM_CAS: return !fl && st->od->id == OPID_ATOM;
	}
	return false;
}

static struct insn *emit_atom(struct comp *c, const struct stmt *st, const struct insn *at, u32 d, u32 b, u32 cc)
{
	struct insn *in = emit(c, K_ATOM);
	enum type t = st->type[0];

	in->o[0] = d;
	in->o[1] = b;
	in->o[2] = cc;
	in->o[4] = at->o[4];
	in->space = at->space;
	in->imm = at->imm;
	in->aw = at->aw;
	in->vec = 1;
	in->size = (u8)type_bytes(t);
	in->type = (u8)t;
	in->dw = type_w(t);
	in->sub = st->mod[MC_ATOM];
	in->flags = sem_orders(st->mod[MC_SEM]);
	in->sub2 = !in->flags && st->mod[MC_SCOPE] != SCOPE_SYS ? ATOM_KEPT : 0;
	in->def = d != OPND_NONE;
	in->use = cc == OPND_NONE ? 18 : 22;
	return in;
}

/* Of 16 bytes: o[0], o[1] = what was there, o[2], o[3]: what comes there. What a .cas compares with is handed over before. */
static void atom_quad(struct comp *c, struct stmt *st, const struct insn *at)
{
	const struct operand *v = &st->op[st->nops - 1], *d = &st->op[0];
	u32 lo = src(c, st, &v->elem[0], T_B64), hi = src(c, st, &v->elem[1], T_B64);
	struct insn *in;

	if (st->mod[MC_ATOM] == ATOM_CAS) {
		in = emit(c, K_GEN);
		in->u.gen = gen_quad;
		in->lop = OPID_ATOM;
		in->type = in->stype = T_B64;
		in->dw = 1;
		in->o[0] = new_reg(c, T_B64);
		in->o[1] = st->op[2].elem[0].reg;
		in->o[2] = st->op[2].elem[1].reg;
		in->def = 1;
		in->use = 6;
	}
	in = emit_atom(c, st, at, new_reg(c, T_B64), new_reg(c, T_B64), lo);
	in->o[3] = hi;
	if (d->kind == O_VEC) {
		in->o[0] = d->elem[0].reg;
		in->o[1] = d->elem[1].reg;
	}
	in->size = 16;
	in->def = 3;
	in->use = 4 | 8 | 16;
}

/* A vector of atomics is one after the other: each element is atomic by itself. */
static void atom_elements(struct comp *c, struct stmt *st, struct insn *at, const struct operand *d, const struct operand *v)
{
	u32 n = st->mod[MC_VEC], i, from[8], to[8];
	enum type t = st->type[0];

	for (i = 0; i < n; i++) {
		from[i] = src(c, st, &v->elem[i], t);
		to[i] = d && d->kind == O_VEC && d->elem[i].kind == O_REG ? new_reg(c, t) : OPND_NONE;
	}
	for (i = 0; i < n; i++) {
		emit_atom(c, st, at, to[i], from[i], OPND_NONE);
		at->imm += type_bytes(t);
	}
	/* what comes out may be where the address or a later element was */
	for (i = 0; i < n; i++)
		if (to[i] != OPND_NONE)
			emit_lane(c, st, LOP_MOV, T_U32, 0, d->elem[i].reg, to[i], OPND_NONE, OPND_NONE);
}

void lower_atom(struct comp *c, struct stmt *st)
{
	bool red = st->od->id == OPID_RED;
	u32 k = red ? 0 : 1, b, cc = OPND_NONE, i;
	u8 op = st->mod[MC_ATOM];
	enum type t = st->type[0];
	struct insn tmpl;

	if (red && lower_behind(c, st, lower_atom))
		return;
	if (!atom_known(st))
		UNSUPPORTED(c, st, "%s: this operation on .%s is not supported", st->od->name, type_name(t));
	if (st->nops != k + 2u + (op == ATOM_CAS))
		FAIL_AT(c, st, "%s: wrong number of operands", st->od->name);
	memset(&tmpl, 0, sizeof(tmpl));
	for (i = 0; i < 6; i++)
		tmpl.o[i] = OPND_NONE;
	lower_address(c, st, &st->op[k], &tmpl);
	if (tmpl.space == SPACE_PARAM || tmpl.space == SPACE_CONST)
		FAIL_AT(c, st, "%s: this state space is read-only", st->od->name);
	if (st->mod[MC_VEC]) {
		if (t == T_B64 && st->op[st->nops - 1].type != T_B128)
			FAIL_AT(c, st, "%s does not take vectors of .b64", st->od->name);
		else if (t == T_B64)
			atom_quad(c, st, &tmpl);
		else
			atom_elements(c, st, &tmpl, red ? NULL : &st->op[0], &st->op[k + 1]);
		return;
	}
	b = src(c, st, &st->op[k + 1], t);
	if (op == ATOM_CAS)
		cc = src(c, st, &st->op[k + 2], t);
	emit_atom(c, st, &tmpl, red ? OPND_NONE : dst(&st->op[0]), b, cc);
}
