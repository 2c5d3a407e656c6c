/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: mma, ldmatrix and movmatrix (PTX ISA 9.7.14). Called by lower.c.
 *
 * Each is taken apart. A matrix of ldmatrix is an ordinary load behind an address that lanes hand each other; a product
 * becomes one instruction for each register of its result, so that none has more operands than any other instruction.
 */
#include <string.h>

#include "front.h"

static u32 part(struct comp *c, struct stmt *st, const struct operand *o, u32 i, u32 n, enum type t, bool dest)
{
	const struct operand *e = o;

	if (o->kind == O_VEC ? o->n != n : n != 1)
		FAIL_AT(c, st, "%s: %u registers expected", st->od->name, n);
	if (o->kind == O_VEC)
		e = &o->elem[i];
	if (dest && e->kind == O_SINK)
		return new_reg(c, t);
	if (e->kind == O_REG && (e->type == T_PRED || type_bytes(e->type) != 4))
		FAIL_AT(c, st, "%s: a .%s register where one of 32 bits is expected", st->od->name, type_name(e->type));
	if (e->kind != O_REG && (dest || e->kind != (t == T_F32 ? O_FLT : O_INT)))
		FAIL_AT(c, st, "%s: bad operand", st->od->name);
	return src(c, st, e, t);
}

static struct insn *tensor(struct comp *c, u8 sub, u32 d, u32 a, u8 aw)
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
static void together(struct comp *c, struct stmt *st)
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
	u32 n = st->mod[MC_MNUM], d[4], at[4][2], i, k, ways = st->mod[MC_TRANS] ? 2 : 1;
	struct insn tmpl, *in;

	if (st->nops != 2 || st->mod[MC_MSHAPE] != MSHAPE_M8N8 || !n)
		UNSUPPORTED(c, st, "ldmatrix: only .m8n8.x1, .x2 and .x4 of .b16 are supported");
	if (st->op[1].kind != O_ADDR || (st->mod[MC_SPACE] && st->mod[MC_SPACE] != SPACE_SHARED))
		FAIL_AT(c, st, "ldmatrix: an address in shared memory is expected");
	/* without a state space the address is a generic one; what lies elsewhere than in shared memory is not told apart */
	together(c, st);
	memset(&tmpl, 0, sizeof(tmpl));
	lower_address(c, st, &st->op[1], &tmpl);
	for (i = 0; i < n; i++)
		d[i] = part(c, st, &st->op[0], i, n, T_B32, true);
	/* all addresses first: a result may be the register that they came in */
	for (i = 0; i < n; i++)
		for (k = 0; k < ways; k++) {
			at[i][k] = new_reg(c, tmpl.aw ? T_B64 : T_B32);
			tensor(c, (u8)(ways == 1 ? TENSOR_ROW : k ? TENSOR_ROW_HI : TENSOR_ROW_LO), at[i][k], tmpl.o[4],
			       tmpl.aw)->sub2 = (u8)i;
		}
	for (i = 0; i < n; i++) {
		u32 v[2];

		for (k = 0; k < ways; k++) {
			v[k] = ways == 1 ? d[i] : new_reg(c, T_B16);
			in = emit(c, K_LD);
			in->o[0] = v[k];
			in->o[4] = at[i][k];
			in->space = tmpl.space;
			in->imm = tmpl.imm;
			in->aw = tmpl.aw;
			in->vec = 1;
			in->size = ways == 1 ? 4 : 2;
			in->type = ways == 1 ? T_B32 : T_B16;
			in->def = 1;
			in->use = 16;
		}
		if (ways == 2)
			emit_lane(c, st, LOP_PACK, T_U32, 0, d[i], v[0], v[1], OPND_NONE);
	}
}

/* ---- mma --------------------------------------------------------------------------------------- */

/*
 * What there is. A word of a or b holds 32 / bits neighbours along k, and four lanes hold a row; rows: those of a in units of 8.
 * Word i of a is rows i % rows, k from i / rows; so is that of the result, but its columns are 2 t and 2 t + 1 of lane t.
 */
static const struct { u8 shape, a, rows, words; } products[] = {
	{ MSHAPE_M16N8K8, T_F16, 2, 1 }, { MSHAPE_M16N8K16, T_F16, 2, 2 },
	{ MSHAPE_M16N8K8, T_BF16, 2, 1 }, { MSHAPE_M16N8K16, T_BF16, 2, 2 },
	{ MSHAPE_M16N8K4, T_TF32, 2, 1 }, { MSHAPE_M16N8K8, T_TF32, 2, 2 },
	{ MSHAPE_M8N8K16, T_S8, 1, 1 }, { MSHAPE_M16N8K16, T_S8, 2, 1 }, { MSHAPE_M16N8K32, T_S8, 2, 2 },
};

static void lower_mma(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->type[1], bt = st->type[2], word = dt == T_F16 ? T_B32 : dt;
	u32 i, k, h, rows, words, n, a[4], b[2], acc[4], d[4], out[4];
	struct insn *in;
	bool ints = at == T_S8 || at == T_U8, apart = false;

	if (st->nops != 4 || st->ntype != 4 || st->type[3] != dt)
		FAIL_AT(c, st, "mma takes four operands and their types, the first and the last the same");
	for (i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (products[i].shape == st->mod[MC_MSHAPE] && products[i].a == (ints ? T_S8 : at))
			break;
	if (i == sizeof(products) / sizeof(products[0]) || !st->mod[MC_ROW] || !st->mod[MC_COL] ||
	    (ints ? dt != T_S32 || (bt != T_S8 && bt != T_U8) : bt != at || (dt != T_F32 && (dt != T_F16 || at != T_F16))))
		UNSUPPORTED(c, st, "mma: this shape with .%s, .%s and .%s is not supported", type_name(dt), type_name(at),
			    type_name(bt));
	rows = products[i].rows;
	words = products[i].words;
	n = dt == T_F16 ? rows : 2 * rows;
	together(c, st);
	for (i = 0; i < rows * words; i++)
		a[i] = part(c, st, &st->op[1], i, rows * words, T_B32, false);
	for (i = 0; i < words; i++)
		b[i] = part(c, st, &st->op[2], i, words, T_B32, false);
	for (i = 0; i < n; i++) {
		acc[i] = part(c, st, &st->op[3], i, n, word, false);
		d[i] = part(c, st, &st->op[0], i, n, word, true);
	}
	/* a result that a later part still reads, as it may when registers are used again */
	for (i = 0; i < n; i++) {
		for (k = 0; k < rows * words; k++)
			apart |= d[i] == a[k];
		for (k = 0; k < words; k++)
			apart |= d[i] == b[k];
		for (k = i + 1; k < n; k++)
			apart |= d[i] == acc[k];
	}
	for (i = 0; i < n; i++) {
		out[i] = apart ? new_reg(c, T_B32) : d[i];
		h = dt == T_F16 ? i : i / 2;
		in = tensor(c, TENSOR_MMA, out[i], a[h], 0);
		in->o[2] = words == 2 ? a[rows + h] : OPND_NONE;
		in->o[3] = b[0];
		in->o[4] = words == 2 ? b[1] : OPND_NONE;
		in->o[5] = acc[i];
		in->sub2 = dt == T_F16 ? TENSOR_BOTH : i % 2 ? TENSOR_ODD : 0;
		in->type = (u8)at;
		in->stype = (u8)bt;
		in->mxcsr = 0x1f80;
		in->use = words == 2 ? 62 : 42;
	}
	for (i = 0; apart && i < n; i++)
		emit_lane(c, st, LOP_MOV, T_U32, 0, d[i], out[i], OPND_NONE, OPND_NONE);
}

void lower_tensor(struct comp *c, struct stmt *st)
{
	u32 d, s;

	switch (st->od->x) {
	case X_LDMATRIX:
		lower_ldmatrix(c, st);
		return;
	case X_MMA:
		lower_mma(c, st);
		return;
	}
	if (st->nops != 2 || st->mod[MC_MSHAPE] != MSHAPE_M8N8 || !st->mod[MC_TRANS])
		UNSUPPORTED(c, st, "movmatrix: only .m8n8.trans is supported");
	together(c, st);
	s = part(c, st, &st->op[1], 0, 1, T_B32, false);
	d = part(c, st, &st->op[0], 0, 1, T_B32, true);
	tensor(c, TENSOR_TRANS, d, s, 0);
}
