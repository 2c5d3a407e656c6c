/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: wgmma (PTX ISA 9.7.15). Called by lower_tensor.c.
 *
 * Four warps multiply: each makes its own sixteen rows, at once, which nobody may tell from later; what is waited for has been done. What a
 * descriptor names is loaded as ldmatrix loads it, and the products are those of mma: lower_mma.c.
 *
 * Matrices lie in shared memory in rows of 16 bytes. Along k an operand always has 32 bytes, j = 0 and 1 of 16 each (b of a product with a
 * sparse a, 9.7.15.6, has 64: half of a's elements are stored, and metadata in the lanes as in mma.sp's larger shapes); across, rows
 * of a (columns of b) come by eights, block i. Where block (i, j) begins, by whether k runs along the bytes of a row:
 *
 *     k along:  start + i stride + j lead           rows `pitch` apart     (swizzled: j 16)
 *     across:   start + i % s 16 + i / s lead + j stride, rows of k `pitch` apart, s = pitch / 16   (not swizzled: lead and stride change places)
 *
 * Swizzled, bits 4 on of such an address are changed by those three higher, as many as s needs; the pattern repeats every eight rows.
 */
#include "front.h"
#include "gen.h"

/* What a descriptor says, in registers; at: where a lane's word of block (0, 0) is, before swizzling */
struct desc {
	bool across;
	u32 at, lead, stride, shift, mask, wrap;       /* shift, wrap: of 16 i, to i / s 16 and i % s 16 */
	u32 phase;              /* is taken off before the bits that swizzle are looked at */
	u32 next;               /* from j = 0 to 1 */
};

static u32 lane2(struct comp *c, struct stmt *st, u32 lop, u32 a, u32 b)
{
	u32 r = new_reg(c, T_B32);

	emit_lane(c, st, lop, T_U32, 0, r, a, b, OPND_NONE);
	return r;
}

static u32 field(struct comp *c, struct stmt *st, u32 desc, u32 at, u32 mask)
{
	u32 r = new_reg(c, T_B32);

	emit_lane(c, st, LOP_XTR, T_U64, 0, r, desc, konst(c, at, 0), konst(c, mask, 0));
	return r;
}

static u32 select_zero(struct comp *c, struct stmt *st, u32 mode, u32 if_zero, u32 other)
{
	u32 p = new_reg(c, T_PRED), r = new_reg(c, T_B32);

	emit_cmp(c, st, CMP_EQ, T_U32, p, mode, konst(c, 0, 0), 0, OPND_NONE, false);
	emit_lane(c, st, LOP_SELP, T_U32, 0, r, if_zero, other, p);
	return r;
}

static u32 special(struct comp *c, u32 sr)
{
	struct insn *in = emit(c, K_SREG);

	in->o[0] = new_reg(c, T_B32);
	in->def = 1;
	in->sub = (u8)sr;
	return in->o[0];
}

static void open_desc(struct comp *c, struct stmt *st, const struct operand *o, bool across, struct desc *d)
{
	u32 desc, mode, lead, stride, pitch, four = konst(c, 4, 0), lane = special(c, SR_LANEID), rows;

	if ((o->kind != O_REG || o->type == T_PRED || type_bytes(o->type) != 8) && o->kind != O_INT)
		FAIL_AT(c, st, "wgmma: a matrix descriptor is a 64-bit register");
	desc = src(c, st, o, T_U64);
	mode = field(c, st, desc, 62, 3);
	lead = lane2(c, st, LOP_SHL, field(c, st, desc, 16, 0x3fff), four);
	stride = lane2(c, st, LOP_SHL, field(c, st, desc, 32, 0x3fff), four);
	/* 1, 2, 3: 128, 64, 32 bytes */
	d->shift = lane2(c, st, LOP_ADD, lane2(c, st, LOP_AND, lane2(c, st, LOP_SUB, konst(c, 0, 0), mode), konst(c, 3, 0)), four);
	pitch = lane2(c, st, LOP_SHL, konst(c, 1, 0), d->shift);
	d->wrap = d->mask = lane2(c, st, LOP_SUB, pitch, konst(c, 16, 0));
	d->phase = lane2(c, st, LOP_SHL, field(c, st, desc, 49, 7), konst(c, 7, 0));
	d->across = across;
	d->lead = across ? select_zero(c, st, mode, stride, lead) : OPND_NONE;
	d->stride = across ? select_zero(c, st, mode, lead, stride) : stride;
	d->next = across ? d->stride : select_zero(c, st, mode, lead, konst(c, 16, 0));
	rows = lane2(c, st, LOP_SHL, lane2(c, st, LOP_SHR, lane, konst(c, 2, 0)), d->shift);
	lane = lane2(c, st, LOP_SHL, lane2(c, st, LOP_AND, lane, konst(c, 3, 0)), konst(c, 2, 0));
	d->at = lane2(c, st, LOP_ADD, lane2(c, st, LOP_ADD, lane2(c, st, LOP_SHL, field(c, st, desc, 0, 0x3fff), four), lane), rows);
}

/* The words of block (i, j); sixteen: 16 i */
static u32 load_block(struct comp *c, struct stmt *st, const struct desc *d, u32 sixteen, u32 j)
{
	u32 at = d->at, off, bits, r = new_reg(c, T_B32), turned;
	struct insn *in;

	if (d->across) {
		off = lane2(c, st, LOP_MUL, lane2(c, st, LOP_SHR, sixteen, d->shift), d->lead);
		off = lane2(c, st, LOP_ADD, off, lane2(c, st, LOP_AND, sixteen, d->wrap));
	} else {
		off = lane2(c, st, LOP_MUL, lane2(c, st, LOP_SHR, sixteen, konst(c, 4, 0)), d->stride);
	}
	if (j)
		off = lane2(c, st, LOP_ADD, off, j > 1 ? lane2(c, st, LOP_MUL, d->next, konst(c, j, 0)) : d->next);
	at = lane2(c, st, LOP_ADD, at, off);
	bits = lane2(c, st, LOP_SHR, lane2(c, st, LOP_SUB, at, d->phase), konst(c, 3, 0));
	at = lane2(c, st, LOP_XOR, at, lane2(c, st, LOP_AND, bits, d->mask));
	in = emit(c, K_LD);
	in->o[0] = r;
	in->o[4] = at;
	in->space = SPACE_SHARED;
	in->vec = 1;
	in->size = 4;
	in->type = T_B32;
	in->def = 1;
	in->use = 16;
	in->flags = INF_FOURS;
	if (!d->across)
		return r;
	turned = new_reg(c, T_B32);
	tensor_insn(c, TENSOR_TRANS, turned, r, 0);
	return turned;
}

/* Operand i, a number that is one of two. */
static bool immediate(struct comp *c, struct stmt *st, u32 i, s64 no, s64 yes)
{
	if (st->op[i].kind != O_INT || (st->op[i].imm != no && st->op[i].imm != yes))
		FAIL_AT(c, st, "wgmma: operand %u is %d or %d", i + 1, (int)no, (int)yes);
	return st->op[i].imm == yes;
}

/* Shapes and types: 9.7.15.2. Of integers and bits there is not every n. */
static bool legal(const struct stmt *st, u32 n, u32 k)
{
	enum type d = st->type[0], a = st->type[1], b = st->type[2];
	bool ints = a == T_S8 || a == T_U8 || a == T_B1;

	if (st->mod[MC_SPARSE]) {
		if (st->mod[MC_SPARSE] != SPARSE_ANY || a == T_B1)
			return false;
		k /= 2;
	}
	if (!n || n > 256 || n % 8 || (ints && n > 32 && n % 16))
		return false;
	switch (a) {
	case T_F16: return k == 16 && b == a && (d == T_F16 || d == T_F32);
	case T_BF16: return k == 16 && b == a && d == T_F32;
	case T_TF32: return k == 8 && b == a && d == T_F32;
	case T_E4M3:
	case T_E5M2: return k == 32 && (b == T_E4M3 || b == T_E5M2) && (d == T_F16 || d == T_F32);
	case T_S8:
	case T_U8: return k == 32 && (b == T_S8 || b == T_U8) && d == T_S32;
	case T_B1: return k == 256 && b == a && d == T_S32;
	default: return false;
	}
}

/* One register of a product with a sparse a: sparse.c */
static void sparse_part(struct comp *c, struct stmt *st, u32 d, u32 a, u32 b0, u32 b1, u32 meta, u32 acc, bool upper, u8 which)
{
	struct insn *in = emit(c, K_GEN);

	in->u.gen = gen_sparse;
	in->lop = OPID_MMA;
	in->o[0] = d;
	in->o[1] = a;
	in->o[2] = b0;
	in->o[3] = b1;
	in->o[4] = meta;
	in->o[5] = acc;
	in->def = 1;
	in->use = 62;
	in->type = st->type[1];
	in->stype = st->type[2];
	in->sub2 = which;
	in->flags = st->mod[MC_SATF] ? INF_SATFINITE : 0;
	in->imm = SPARSE_LARGE | (upper ? SPARSE_UPPER : 0) | SPARSE_SELECTOR * st->op[4].imm;
	in->mxcsr = 0x1f80;
}

static u32 pack2(struct comp *c, struct stmt *st, u32 lo, u32 hi)
{
	u32 r = new_reg(c, T_B64);

	emit_lane(c, st, LOP_PACK, T_U64, 1, r, lo, hi, OPND_NONE);
	return r;
}

/* What does not fit the selector is refused; the metadata. */
static u32 sparse_meta(struct comp *c, struct stmt *st)
{
	bool bytes = type_bytes(st->type[1]) == 1;

	if (st->op[4].kind != O_INT || st->op[4].imm < 0 || st->op[4].imm > !bytes)
		FAIL_AT(c, st, "wgmma.sp: the sparsity selector is 0%s here", bytes ? "" : " or 1");
	/* it may lie in a register of the result */
	return lane2(c, st, LOP_OR, tensor_part(c, st, &st->op[3], 0, 1, T_B32, false), konst(c, 0, 0));
}

#define AT_ONCE 8u      /* blocks of b that are loaded before they are multiplied */

static void multiply(struct comp *c, struct stmt *st)
{
	u32 n = 8u * st->mod[MC_MNUM], k = 8u * st->mod[MC_MSHAPE], a[4], b[AT_ONCE][4], acc[4], d[4], per, total, i, j, m, rows, meta = 0, pa[2] = { 0 }, sp = st->mod[MC_SPARSE] ? 2 : 0, zero = konst(c, 0, 0);
	enum type dt = st->type[0], at = st->type[1], word = dt == T_F16 ? T_B32 : dt;
	bool ints = at == T_S8 || at == T_U8 || at == T_B1, halves = at == T_F16 || at == T_BF16, regs = st->op[1].kind == O_VEC;
	bool minus = false, across_a = false, across_b = false;
	struct product p = { .d = dt, .a = at, .b = st->type[2], .rows = 2, .cols = 1, .words = 2, .sat = st->mod[MC_SATF], .op = st->mod[MC_BOOL] };
	const struct operand *scale = &st->op[3 + sp];
	struct desc da, db;

	if (st->ntype != 3 || !legal(st, n, k) || (p.sat && (!ints || at == T_B1)) || (at == T_B1) != (st->mod[MC_BOOL] == BOOL_AND && st->mod[MC_RED] == RED_POPC) ||
	    (at != T_B1 && (st->mod[MC_BOOL] || st->mod[MC_RED])))
		UNSUPPORTED(c, st, "wgmma: this shape with .%s, .%s and .%s is not supported", type_name(dt), type_name(at), type_name(st->type[2]));
	i = (ints ? 4 : !halves ? 6 : regs ? 7 : 8) + sp;
	if (st->nops != i)
		FAIL_AT(c, st, "wgmma: %u operands are too %s", st->nops, st->nops < i ? "few" : "many");
	if (scale->kind != O_INT && (scale->kind != O_REG || scale->type != T_PRED))
		FAIL_AT(c, st, "wgmma: scale-d must be a predicate");
	if (!ints) {
		minus = immediate(c, st, 4 + sp, 1, -1);
		minus ^= immediate(c, st, 5 + sp, 1, -1);
	}
	if (halves) {
		across_a = !regs && immediate(c, st, 6 + sp, 0, 1);
		across_b = immediate(c, st, (regs ? 6 : 7) + sp, 0, 1);
	}
	if (sp)
		meta = sparse_meta(c, st);
	tensor_together(c, st);
	per = product_results(&p);
	total = n / 8 * per;
	if (regs) {
		for (i = 0; i < 4; i++)
			a[i] = tensor_part(c, st, &st->op[1], i, 4, T_B32, false);
	} else {
		/* this warp's two blocks of rows */
		rows = lane2(c, st, LOP_SHL, lane2(c, st, LOP_AND, special(c, SR_WARPID), konst(c, 3, 0)), konst(c, 5, 0));
		open_desc(c, st, &st->op[1], across_a, &da);
		for (i = 0; i < 4; i++)
			a[i] = load_block(c, st, &da, i & 1 ? lane2(c, st, LOP_ADD, rows, konst(c, 16, 0)) : rows, i >> 1);
	}
	/* results may lie in the registers of a; signs are turned in all elements of a word */
	for (i = 0; i < 4 && (regs || minus); i++) {
		u32 sign = type_bytes(at) == 4 ? 0x80000000u : type_bytes(at) == 2 ? 0x80008000u : 0x80808080u;

		a[i] = lane2(c, st, LOP_XOR, a[i], konst(c, minus ? sign : 0, 0));
	}
	for (i = 0; i < sp; i++)
		pa[i] = pack2(c, st, a[i], a[2 + i]);
	open_desc(c, st, &st->op[2], across_b, &db);
	for (i = 0; i < n / 8; i += AT_ONCE) {
		u32 some = n / 8 - i < AT_ONCE ? n / 8 - i : AT_ONCE;

		for (j = 0; j < some; j++)
			for (m = 0; m < 2 + sp; m++)
				b[j][m] = load_block(c, st, &db, konst(c, 16 * (i + j), 0), m);
		for (j = 0; j < some; j++) {
			for (m = 0; m < per; m++) {
				d[m] = tensor_part(c, st, &st->op[0], (i + j) * per + m, total, word, true);
				acc[m] = st->op[0].kind == O_VEC && st->op[0].elem[(i + j) * per + m].kind == O_SINK ? zero : d[m];
				if (scale->kind == O_INT) {
					acc[m] = scale->imm ? acc[m] : zero;
				} else {
					u32 sum = new_reg(c, T_B32);

					emit_lane(c, st, LOP_SELP, T_U32, 0, sum, scale->neg ? zero : acc[m], scale->neg ? acc[m] : zero, scale->reg);
					acc[m] = sum;
				}
			}
			if (!sp) {
				emit_product(c, st, &p, a, b[j], acc, d);
				continue;
			}
			for (m = 0; m < 2; m++)
				b[j][m] = pack2(c, st, b[j][2 * m], b[j][2 * m + 1]);
			for (m = 0; m < per; m++)
				sparse_part(c, st, d[m], pa[m / (per / 2)], b[j][0], b[j][1], meta, acc[m], m / (per / 2),
					    dt == T_F16 ? TENSOR_BOTH : m % 2 ? TENSOR_ODD : 0);
		}
	}
}

/*
 * Four warps make a product together, and it is complete for all of them or for none: whoever goes on behind the wait may tell a producer that memory is
 * free which the slowest of them has read. Here each warp makes its own rows, so they meet: a barrier of the warpgroup.
 */
static void wait_for_all(struct comp *c, struct stmt *st)
{
	const struct operand warp = { .kind = O_SREG, .reg = SR_WARPID };
	u32 w = src(c, st, &warp, T_U32), group = new_reg(c, T_B32), id = new_reg(c, T_B32);
	struct insn *in;

	emit_lane(c, st, LOP_SHR, T_U32, 0, group, w, konst(c, 2, 0), OPND_NONE);
	emit_lane(c, st, LOP_ADD, T_U32, 0, id, group, konst(c, GROUP_BARRIERS, 0), OPND_NONE);
	in = emit(c, K_BAR);
	in->o[1] = id;
	in->sub = BAR_SYNC;
	in->flags = INF_CLUSTER | INF_ALIGNED;
	in->use = 2;
}

void lower_wgmma(struct comp *c, struct stmt *st)
{
	u8 what = st->mod[MC_WGMMA];

	if (!st->mod[MC_SYNC])
		FAIL_AT(c, st, "wgmma: .sync.aligned is missing");
	st->mod[MC_ALIGNED] = 1;        /* the assembler does without the word */
	if (what == WGMMA_MMA) {
		multiply(c, st);
		return;
	}
	if (st->ntype || st->mod[MC_MSHAPE] || !what)
		FAIL_AT(c, st, "wgmma: .mma_async, .fence, .commit_group or .wait_group is missing");
	if (what == WGMMA_WAIT ? st->nops != 1 || st->op[0].kind != O_INT || st->op[0].imm < 0 : st->nops != 0)
		FAIL_AT(c, st, "wgmma.%s", what == WGMMA_WAIT ? "wait_group takes a number" : "fence and wgmma.commit_group take no operands");
	if (what != WGMMA_COMMIT)
		emit(c, K_MEMBAR);
	if (what == WGMMA_WAIT)
		wait_for_all(c, st);
}

/* "m64nNkK" into the modifiers: MNUM is n / 8, MSHAPE k / 8. False: it is none. */
bool wgmma_shape(struct stmt *st, const char *s, u32 len)
{
	u32 i = 4, n = 0, k = 0;

	if (len < 7 || s[0] != 'm' || s[1] != '6' || s[2] != '4' || s[3] != 'n')
		return false;
	for (; i < len && s[i] >= '0' && s[i] <= '9' && n < 1000; i++)
		n = n * 10 + (u32)(s[i] - '0');
	if (i == len || s[i++] != 'k')
		return false;
	for (; i < len && s[i] >= '0' && s[i] <= '9' && k < 1000; i++)
		k = k * 10 + (u32)(s[i] - '0');
	if (i != len || !n || n % 8 || n > 256 || !k || k % 8 || k > 256)
		return false;
	st->mod[MC_MNUM] = (u8)(n / 8);
	st->mod[MC_MSHAPE] = (u8)(k / 8);
	return true;
}
