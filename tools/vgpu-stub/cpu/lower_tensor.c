/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14). Called by lower.c.
 *
 * Each is taken apart. A matrix of ldmatrix is an ordinary load behind an address that lanes hand each other, of
 * stmatrix a store. Products are in lower_mma.c.
 */
#include <string.h>

#include "front.h"
#include "gen.h"

u32 tensor_part(struct comp *c, struct stmt *st, const struct operand *o, u32 i, u32 n, enum type t, bool dest)
{
	const struct operand *e = o;

	if (o->kind == O_VEC ? o->n != n : n != 1)
		FAIL_AT(c, st, "%s: %u registers expected", st->od->name, n);
	if (o->kind == O_VEC)
		e = &o->elem[i];
	if (dest && e->kind == O_SINK)
		return new_reg(c, t);
	if (e->kind == O_REG && (e->type == T_PRED || type_bytes(e->type) != type_bytes(t)))
		FAIL_AT(c, st, "%s: a .%s register where one of %u bits is expected", st->od->name, type_name(e->type),
			8 * type_bytes(t));
	if (e->kind != O_REG && (dest || e->kind != (type_is_float(t) ? O_FLT : O_INT)))
		FAIL_AT(c, st, "%s: bad operand", st->od->name);
	return src(c, st, e, t);
}

struct insn *tensor_insn(struct comp *c, u8 sub, u32 d, u32 a, u8 aw)
{
	struct insn *in = emit(c, K_TENSOR);

	in->sub = sub;
	in->o[0] = d;
	in->o[1] = a;
	in->dw = in->aw = aw;
	in->def = 1;
	in->use = 2;
	return in;
}

/* .sync: all lanes of the warp are there before the first part. */
void tensor_together(struct comp *c, struct stmt *st)
{
	struct insn *in;
	u32 all;

	if (!st->mod[MC_SYNC] || st->mod[MC_ALIGNED] != 1)
		FAIL_AT(c, st, "%s: .sync.aligned is missing", st->od->name);
	all = konst(c, ~0u, 0);
	in = emit(c, K_WARPSYNC);
	in->o[2] = all;
	in->use = 4;
}

/* ---- ldmatrix: lane l gets two neighbours of row l / 4; transposed, of column l / 4 ------------- */

static void lower_ldmatrix(struct comp *c, struct stmt *st)
{
	u32 n = st->mod[MC_MNUM], d[4], at[4], v[4], i;
	bool trans = st->mod[MC_TRANS];
	struct insn tmpl, *in;

	if (st->nops != 2 || st->mod[MC_MSHAPE] != MSHAPE_M8N8 || !n)
		UNSUPPORTED(c, st, "ldmatrix: only .m8n8.x1, .x2 and .x4 of .b16 are supported");
	if (st->op[1].kind != O_ADDR || (st->mod[MC_SPACE] && st->mod[MC_SPACE] != SPACE_SHARED))
		FAIL_AT(c, st, "ldmatrix: an address in shared memory is expected");
	/* without a state space the address is a generic one; what lies elsewhere than in shared memory is not told apart */
	tensor_together(c, st);
	memset(&tmpl, 0, sizeof(tmpl));
	lower_address(c, st, &st->op[1], &tmpl);
	for (i = 0; i < n; i++)
		d[i] = tensor_part(c, st, &st->op[0], i, n, T_B32, true);
	/* all addresses first: a result may be the register that they came in */
	for (i = 0; i < n; i++) {
		at[i] = new_reg(c, tmpl.aw ? T_B64 : T_B32);
		tensor_insn(c, TENSOR_ROW, at[i], tmpl.o[4], tmpl.aw)->sub2 = (u8)i;
	}
	for (i = 0; i < n; i++) {
		v[i] = trans ? new_reg(c, T_B32) : d[i];
		in = emit(c, K_LD);
		in->o[0] = v[i];
		in->o[4] = at[i];
		in->space = tmpl.space;
		in->imm = tmpl.imm;
		in->aw = tmpl.aw;
		in->vec = 1;
		in->size = 4;
		in->type = T_B32;
		in->def = 1;
		in->use = 16;
	}
	for (i = 0; trans && i < n; i++)
		tensor_insn(c, TENSOR_TRANS, d[i], v[i], 0);
}

/* ---- stmatrix: the way back, to the rows whose addresses lanes have ------------------------------ */

/* The guard of a store of matrix i: the statement's own, and that the lane whose row it is is there. */
static void guard_row(struct comp *c, u32 i, u8 way)
{
	u32 own = c->guard, here = new_reg(c, T_PRED), both;
	struct insn *in = emit(c, K_GEN);

	in->u.gen = gen_rows;
	in->lop = OPID_STMATRIX;
	in->o[0] = here;
	in->def = 1;
	in->dw = 2;
	in->sub = (u8)i;
	in->sub2 = way;
	if (own != OPND_NONE) {
		both = new_reg(c, T_PRED);
		c->guard = OPND_NONE;
		emit_pred(c, PRED_AND, both, own, c->gneg, here, false);
		here = both;
	}
	c->guard = here;
	c->gneg = false;
}

static void lower_stmatrix(struct comp *c, struct stmt *st)
{
	u32 n = st->mod[MC_MNUM], v, at, i, k, ways = st->mod[MC_TRANS] ? 2 : 1, own = c->guard;
	bool own_neg = c->gneg;
	struct insn tmpl, *in;

	if (st->nops != 2 || st->mod[MC_MSHAPE] != MSHAPE_M8N8 || !n)
		UNSUPPORTED(c, st, "stmatrix: only .m8n8.x1, .x2 and .x4 of .b16 are supported");
	if (st->op[0].kind != O_ADDR || (st->mod[MC_SPACE] && st->mod[MC_SPACE] != SPACE_SHARED))
		FAIL_AT(c, st, "stmatrix: an address in shared memory is expected");
	tensor_together(c, st);
	memset(&tmpl, 0, sizeof(tmpl));
	lower_address(c, st, &st->op[0], &tmpl);
	for (i = 0; i < n; i++) {
		v = tensor_part(c, st, &st->op[1], i, n, T_B32, false);
		for (k = 0; k < ways; k++) {
			at = new_reg(c, tmpl.aw ? T_B64 : T_B32);
			tensor_insn(c, (u8)(ways == 1 ? TENSOR_ROW : k ? TENSOR_ROW_HI : TENSOR_ROW_LO), at, tmpl.o[4],
				    tmpl.aw)->sub2 = (u8)i;
			if (k) {
				u32 high = new_reg(c, T_B32);

				emit_lane(c, st, LOP_SHR, T_U32, 0, high, v, konst(c, 16, 0), OPND_NONE);
				v = high;
			}
			guard_row(c, i, (u8)(ways == 1 ? TENSOR_ROW : k ? TENSOR_ROW_HI : TENSOR_ROW_LO));
			in = emit(c, K_ST);
			in->o[0] = v;
			in->o[4] = at;
			in->space = tmpl.space;
			in->imm = tmpl.imm;
			in->aw = tmpl.aw;
			in->vec = 1;
			in->size = ways == 1 ? 4 : 2;
			in->type = ways == 1 ? T_B32 : T_B16;
			in->use = 17;
			c->guard = own;
			c->gneg = own_neg;
		}
	}
}

void lower_tensor(struct comp *c, struct stmt *st)
{
	u32 d, s;

	switch (st->od->x) {
	case X_LDMATRIX:
		lower_ldmatrix(c, st);
		return;
	case X_STMATRIX:
		lower_stmatrix(c, st);
		return;
	case X_MMA:
		lower_mma(c, st);
		return;
	case X_WGMMA:
		lower_wgmma(c, st);
		return;
	case X_WMMA:
		lower_wmma(c, st);
		return;
	}
	if (st->nops != 2 || st->mod[MC_MSHAPE] != MSHAPE_M8N8 || !st->mod[MC_TRANS])
		UNSUPPORTED(c, st, "movmatrix: only .m8n8.trans is supported");
	tensor_together(c, st);
	s = tensor_part(c, st, &st->op[1], 0, 1, T_B32, false);
	d = tensor_part(c, st, &st->op[0], 0, 1, T_B32, true);
	tensor_insn(c, TENSOR_TRANS, d, s, 0);
}
