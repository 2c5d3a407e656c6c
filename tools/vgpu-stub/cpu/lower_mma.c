/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: mma (PTX ISA 9.7.14.5), and products for wmma. Called by lower_tensor.c.
 *
 * A product becomes one instruction for each register of its result, so that none has more operands than any other
 * instruction. A word of a or b holds neighbours along k, and four lanes hold a row of a, a column of b: word i of a is
 * rows 8 (i % rows) on, k from i / rows; of b columns 8 (i / words) on, k from i % words. So is that of the result in
 * blocks of 8 by 8, but its columns are 2 t and 2 t + 1 of lane t: one register each, or both halves of one.
 */
#include "front.h"
#include "gen.h"

static u32 per_block(const struct product *p)
{
	return p->d == T_F16 ? 1 : 2;
}

u32 product_results(const struct product *p)
{
	return p->rows * p->cols * per_block(p);
}

static bool fast(const struct product *p)
{
	return !p->sat && (p->a == T_F16 || p->a == T_BF16 || p->a == T_TF32 || p->a == T_E4M3 || p->a == T_E5M2 || p->a == T_S8 || p->a == T_U8);
}

/* Columns i of a block from words k on, at most two. */
static void emit_part(struct comp *c, const struct product *p, const u32 *a, const u32 *b, u32 k, u32 rb, u32 nb, u32 i,
		      u32 acc, u32 d)
{
	bool two = k + 1 < p->words && p->a != T_F64;
	struct insn *in = tensor_insn(c, TENSOR_MMA, d, a[k * p->rows + rb], 0);

	in->o[2] = two ? a[(k + 1) * p->rows + rb] : OPND_NONE;
	in->o[3] = b[nb * p->words + k];
	in->o[4] = two ? b[nb * p->words + k + 1] : OPND_NONE;
	in->o[5] = acc;
	in->sub2 = p->d == T_F16 ? TENSOR_BOTH : i ? TENSOR_ODD : 0;
	in->type = (u8)p->a;
	in->stype = (u8)p->b;
	in->mxcsr = 0x1f80;
	in->use = two ? 62 : 42;
	if (fast(p))
		return;
	in->kind = K_GEN;
	in->u.gen = gen_product;
	in->lop = OPID_MMA;
	in->dw = p->a == T_F64;
	in->sub = p->op;
	in->flags = p->sat ? INF_SATFINITE : 0;
}

void emit_product(struct comp *c, struct stmt *st, const struct product *p, const u32 *a, const u32 *b, const u32 *acc, const u32 *d)
{
	u32 n = product_results(p), per = per_block(p), i, k, out[16];
	enum type t = p->a == T_F64 ? T_F64 : T_B32;
	bool apart = false;

	/* a result that a later part still reads, as it may when registers are used again */
	for (i = 0; i < n; i++) {
		for (k = 0; k < p->rows * p->words; k++)
			apart |= d[i] == a[k];
		for (k = 0; k < p->cols * p->words; k++)
			apart |= d[i] == b[k];
		for (k = i + 1; k < n; k++)
			apart |= d[i] == acc[k];
	}
	for (i = 0; i < n; i++) {
		u32 sum = acc[i], step = p->a == T_F64 ? 1 : 2;

		out[i] = apart ? new_reg(c, t) : d[i];
		for (k = 0; k < p->words; k += step) {
			u32 to = k + step < p->words ? new_reg(c, t) : out[i];

			emit_part(c, p, a, b, k, i / per % p->rows, i / per / p->rows, i % per, sum, to);
			sum = to;
		}
	}
	for (i = 0; apart && i < n; i++)
		emit_lane(c, st, LOP_MOV, t == T_F64 ? T_U64 : T_U32, t == T_F64, d[i], out[i], OPND_NONE, OPND_NONE);
}

/* What there is; integers are listed as the signed type. Rows: those of a in units of 8. */
static const struct { u8 shape, a, rows, words; } products[] = {
	{ MSHAPE_M16N8K8, T_F16, 2, 1 }, { MSHAPE_M16N8K16, T_F16, 2, 2 },
	{ MSHAPE_M16N8K8, T_BF16, 2, 1 }, { MSHAPE_M16N8K16, T_BF16, 2, 2 },
	{ MSHAPE_M16N8K4, T_TF32, 2, 1 }, { MSHAPE_M16N8K8, T_TF32, 2, 2 },
	{ MSHAPE_M8N8K16, T_S8, 1, 1 }, { MSHAPE_M16N8K16, T_S8, 2, 1 }, { MSHAPE_M16N8K32, T_S8, 2, 2 },
	{ MSHAPE_M8N8K32, T_S4, 1, 1 }, { MSHAPE_M16N8K32, T_S4, 2, 1 }, { MSHAPE_M16N8K64, T_S4, 2, 2 },
	{ MSHAPE_M8N8K128, T_B1, 1, 1 }, { MSHAPE_M16N8K128, T_B1, 2, 1 }, { MSHAPE_M16N8K256, T_B1, 2, 2 },
	{ MSHAPE_M8N8K4, T_F64, 1, 1 }, { MSHAPE_M16N8K4, T_F64, 2, 1 }, { MSHAPE_M16N8K8, T_F64, 2, 2 },
	{ MSHAPE_M16N8K16, T_F64, 2, 4 }, { MSHAPE_M16N8K16, T_E4M3, 2, 1 }, { MSHAPE_M16N8K32, T_E4M3, 2, 2 },
};

static enum type kin(enum type t)
{
	return t == T_U8 ? T_S8 : t == T_U4 ? T_S4 : t == T_E5M2 ? T_E4M3 : t;
}

static struct insn *quarter(struct comp *c, gen_fn *gen, u32 d, u32 i)
{
	struct insn *in = emit(c, K_GEN);

	in->u.gen = gen;
	in->lop = OPID_MMA;
	in->type = in->stype = T_F16;
	in->mxcsr = 0x1f80;
	in->o[0] = d;
	in->def = 1;
	in->sub = (u8)i;
	return in;
}

/* .m8n8k4 of .f16: each register of the result is one instruction (tensor.c) */
static void lower_quarters(struct comp *c, struct stmt *st)
{
	bool pairs = st->type[0] == T_F16;
	u32 n = pairs ? 4 : 8, i, k, a[2], b[2], acc[8], d[8], out[8];
	struct insn *in;

	if (st->type[1] != T_F16 || st->type[2] != T_F16 || (st->type[3] != T_F16 && (st->type[3] != T_F32 || pairs)) || st->mod[MC_SATF] ||
	    st->mod[MC_RND] || (st->type[0] != T_F16 && st->type[0] != T_F32))
		UNSUPPORTED(c, st, "mma.m8n8k4 with .%s, .%s and .%s is not supported", type_name(st->type[0]), type_name(st->type[1]),
			    type_name(st->type[3]));
	tensor_together(c, st);
	for (i = 0; i < 2; i++) {
		a[i] = tensor_part(c, st, &st->op[1], i, 2, T_B32, false);
		b[i] = tensor_part(c, st, &st->op[2], i, 2, T_B32, false);
	}
	for (i = 0; i < n; i++) {
		d[i] = tensor_part(c, st, &st->op[0], i, n, T_B32, true);
		out[i] = new_reg(c, T_B32);
	}
	for (i = 0; i < (st->type[3] == T_F16 ? 4u : 8u); i++)
		acc[i] = tensor_part(c, st, &st->op[3], i, st->type[3] == T_F16 ? 4 : 8, T_B32, false);
	for (i = 0; i < n; i++) {
		u32 sum = acc[i & 3];

		if (!pairs && st->type[3] == T_F16) {
			sum = new_reg(c, T_B32);
			in = quarter(c, gen_quarter_acc, sum, i);
			for (k = 0; k < 4; k++)
				in->o[1 + k] = acc[k];
			in->use = 30;
		} else {
			sum = acc[i];
		}
		in = quarter(c, gen_quarter, out[i], i);
		in->o[1] = a[0];
		in->o[2] = a[1];
		in->o[3] = b[0];
		in->o[4] = b[1];
		in->o[5] = sum;
		in->use = 62;
		in->sub2 = (u8)((pairs ? QUARTER_PAIRS : 0) | (st->mod[MC_ROW] & LAYOUT_A ? 0 : QUARTER_A_COL) |
				(st->mod[MC_ROW] & LAYOUT_B ? QUARTER_B_ROW : 0));
	}
	for (i = 0; i < n; i++)
		emit_lane(c, st, LOP_MOV, T_U32, 0, d[i], out[i], OPND_NONE, OPND_NONE);
}

/* ---- mma.sp: half of a's elements are stored, and where they belong (9.7.14.6) ------------------------------ */

static const struct { u8 shape, a, large, selectors; } sparse[] = {
	{ MSHAPE_M16N8K16, T_F16, 0, 4 }, { MSHAPE_M16N8K32, T_F16, 1, 2 }, { MSHAPE_M16N8K16, T_BF16, 0, 4 }, { MSHAPE_M16N8K32, T_BF16, 1, 2 },
	{ MSHAPE_M16N8K8, T_TF32, 0, 4 }, { MSHAPE_M16N8K16, T_TF32, 1, 2 }, { MSHAPE_M16N8K32, T_S8, 0, 2 }, { MSHAPE_M16N8K64, T_S8, 1, 1 },
	{ MSHAPE_M16N8K64, T_S4, 0, 2 }, { MSHAPE_M16N8K128, T_S4, 1, 1 }, { MSHAPE_M16N8K64, T_E4M3, 1, 1 },
};

/* Words i and j in one register of 64 bits. */
static u32 two_words(struct comp *c, struct stmt *st, u32 i, u32 j)
{
	u32 r = new_reg(c, T_B64);

	emit_lane(c, st, LOP_PACK, T_U64, 1, r, i, j, OPND_NONE);
	return r;
}

static void lower_sparse(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->type[1], bt = st->type[2], like = kin(at);
	u32 i, n = dt == T_F16 ? 2 : 4, per = n / 2, words, a[4], b[4], pb[2], pa, acc[4], d[4], out[4], meta;
	bool ints = like == T_S8 || like == T_S4, ok;

	if (st->nops != 6 || st->ntype != 4 || st->type[3] != dt)
		FAIL_AT(c, st, "mma.sp takes six operands, and four types, the first and the last the same");
	for (i = 0; i < sizeof(sparse) / sizeof(sparse[0]); i++)
		if (sparse[i].shape == st->mod[MC_MSHAPE] && sparse[i].a == like)
			break;
	ok = i < sizeof(sparse) / sizeof(sparse[0]) && st->mod[MC_ROW] == LAYOUT_A && st->mod[MC_COL] == LAYOUT_B && kin(bt) == like;
	ok = ok && (ints ? dt == T_S32 : dt == T_F32 || (dt == T_F16 && at == T_F16)) && (!st->mod[MC_SATF] || ints) && !st->mod[MC_BOOL] &&
	     !st->mod[MC_RND] && !st->mod[MC_RED];
	if (!ok)
		UNSUPPORTED(c, st, "mma.sp: this shape with .%s, .%s and .%s is not supported", type_name(dt), type_name(at), type_name(bt));
	if (st->op[5].kind != O_INT || st->op[5].imm < 0 || st->op[5].imm >= sparse[i].selectors)
		FAIL_AT(c, st, "mma.sp: the sparsity selector is a number below %u here", sparse[i].selectors);
	words = sparse[i].large ? 2 : 1;
	tensor_together(c, st);
	for (u32 k = 0; k < 2 * words; k++) {
		a[k] = tensor_part(c, st, &st->op[1], k, 2 * words, T_B32, false);
		b[k] = tensor_part(c, st, &st->op[2], k, 2 * words, T_B32, false);
	}
	meta = tensor_part(c, st, &st->op[4], 0, 1, T_B32, false);
	for (u32 k = 0; k < words; k++)
		pb[k] = two_words(c, st, b[2 * k], b[2 * k + 1]);
	for (u32 k = 0; k < n; k++) {
		struct insn *in;

		acc[k] = tensor_part(c, st, &st->op[3], k, n, dt == T_F16 ? T_B32 : dt, false);
		d[k] = tensor_part(c, st, &st->op[0], k, n, dt == T_F16 ? T_B32 : dt, true);
		out[k] = new_reg(c, T_B32);
		pa = two_words(c, st, a[k / per], words == 2 ? a[2 + k / per] : a[k / per]);
		in = emit(c, K_GEN);
		in->u.gen = gen_sparse;
		in->lop = OPID_MMA;
		in->o[0] = out[k];
		in->o[1] = pa;
		in->o[2] = pb[0];
		in->o[3] = words == 2 ? pb[1] : pb[0];
		in->o[4] = meta;
		in->o[5] = acc[k];
		in->def = 1;
		in->use = 62;
		in->type = (u8)at;
		in->stype = (u8)bt;
		in->sub2 = dt == T_F16 ? TENSOR_BOTH : k % per ? TENSOR_ODD : 0;
		in->flags = st->mod[MC_SATF] ? INF_SATFINITE : 0;
		in->imm = (words == 2 ? SPARSE_LARGE : 0) | (k / per ? SPARSE_UPPER : 0) | SPARSE_SELECTOR * st->op[5].imm;
		in->mxcsr = 0x1f80;
	}
	for (u32 k = 0; k < n; k++)
		emit_lane(c, st, LOP_MOV, T_U32, 0, d[k], out[k], OPND_NONE, OPND_NONE);
}

void lower_mma(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->type[1], bt = st->type[2], like = kin(at), word = dt == T_F16 ? T_B32 : dt;
	u32 i, n, a[8], b[4], acc[4], d[4];
	struct product p = { .d = dt, .a = at, .b = bt, .cols = 1, .sat = st->mod[MC_SATF], .op = st->mod[MC_BOOL] };
	bool ints = like == T_S8 || like == T_S4 || like == T_B1, ok;

	if (st->mod[MC_SPARSE]) {
		lower_sparse(c, st);
		return;
	}
	if (st->mod[MC_MSHAPE] == MSHAPE_M8N8K4 && at == T_F16 && st->nops == 4 && st->ntype == 4 &&
	    (st->mod[MC_ROW] | st->mod[MC_COL]) == (LAYOUT_A | LAYOUT_B)) {
		lower_quarters(c, st);
		return;
	}
	if (st->mod[MC_COL] & LAYOUT_A || st->mod[MC_ROW] & LAYOUT_B)
		UNSUPPORTED(c, st, "'mma%s%s' is not supported", st->mod[MC_COL] & LAYOUT_A ? ".col" : ".row",
			    st->mod[MC_ROW] & LAYOUT_B ? ".row" : ".col");
	if (st->nops != 4 || st->ntype != 4 || st->type[3] != dt)
		FAIL_AT(c, st, "mma takes four operands and their types, the first and the last the same");
	for (i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (products[i].shape == st->mod[MC_MSHAPE] && products[i].a == like)
			break;
	ok = i < sizeof(products) / sizeof(products[0]) && st->mod[MC_ROW] == LAYOUT_A && st->mod[MC_COL] == LAYOUT_B && kin(bt) == like;
	ok = ok && (ints ? dt == T_S32 : like == T_F64 ? dt == T_F64 : dt == T_F32 || (dt == T_F16 && (at == T_F16 || like == T_E4M3)));
	ok = ok && (!p.sat || like == T_S8 || like == T_S4) && (like == T_B1) == (st->mod[MC_RED] && p.op) && (like != T_B1 || p.op != BOOL_OR) &&
	     (like == T_F64 ? st->mod[MC_RND] <= RND_RN : !st->mod[MC_RND]);
	if (!ok)
		UNSUPPORTED(c, st, "mma: this shape with .%s, .%s and .%s is not supported", type_name(dt), type_name(at),
			    type_name(bt));
	p.rows = products[i].rows;
	p.words = products[i].words;
	n = product_results(&p);
	tensor_together(c, st);
	for (i = 0; i < p.rows * p.words; i++)
		a[i] = tensor_part(c, st, &st->op[1], i, p.rows * p.words, like == T_F64 ? T_F64 : T_B32, false);
	for (i = 0; i < p.words; i++)
		b[i] = tensor_part(c, st, &st->op[2], i, p.words, like == T_F64 ? T_F64 : T_B32, false);
	for (i = 0; i < n; i++) {
		acc[i] = tensor_part(c, st, &st->op[3], i, n, word, false);
		d[i] = tensor_part(c, st, &st->op[0], i, n, word, true);
	}
	emit_product(c, st, &p, a, b, acc, d);
}
