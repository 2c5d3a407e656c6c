/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: wmma (PTX ISA 9.7.14.4). Called by lower_tensor.c.
 *
 * How a fragment lies in the registers of a warp is for the device to choose; ours lie as those of mma do, see
 * lower_mma.c, so that products are the same instructions. Fragments of .f16 have twice the registers that they need:
 * the second half repeats the first.
 */
#include <string.h>

#include "front.h"

static const struct { u8 shape, m, n, k; } shapes[] = {
	{ MSHAPE_M16N16K16, 16, 16, 16 }, { MSHAPE_M8N32K16, 8, 32, 16 }, { MSHAPE_M32N8K16, 32, 8, 16 }, { MSHAPE_M16N16K8, 16, 16, 8 },
	{ MSHAPE_M8N8K32, 8, 8, 32 }, { MSHAPE_M8N8K128, 8, 8, 128 }, { MSHAPE_M8N8K4, 8, 8, 4 },
};

struct frag {
	u32 major, minor;       /* blocks of 8 along the rows of a and c, the columns of b; of four lanes along the other side */
	u32 bits, per;          /* of an element; elements a lane has side by side */
	u32 regs, dup;          /* registers, and how often the fragment has each */
	enum type reg;
	u32 lead;               /* the default stride, in elements */
	bool along;             /* memory runs along the lanes' elements */
};

/* The fragment that mod says, of elements of type t; false: there is none. */
static bool fragment(const struct stmt *st, u32 which, enum type t, struct frag *f)
{
	u32 i, m, n, k, shape = st->mod[MC_MSHAPE];
	bool ab = which <= 2, ok;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]) && shapes[i].shape != shape; i++)
		;
	if (i == sizeof(shapes) / sizeof(shapes[0]))
		return false;
	m = shapes[i].m;
	n = shapes[i].n;
	k = shapes[i].k;
	memset(f, 0, sizeof(*f));
	f->dup = 1;
	f->reg = T_B32;
	f->bits = 8 * type_bytes(t);
	switch (shape) {
	case MSHAPE_M8N8K4: ok = t == T_F64; break;
	case MSHAPE_M16N16K8: ok = t == (ab ? T_TF32 : T_F32); break;
	case MSHAPE_M8N8K32: ok = ab ? t == T_S4 || t == T_U4 : t == T_S32; break;
	case MSHAPE_M8N8K128: ok = t == (ab ? T_B1 : T_S32); break;
	default: ok = ab ? t == T_F16 || t == T_BF16 || t == T_S8 || t == T_U8 : t == T_F16 || t == T_F32 || t == T_S32;
	}
	if (t == T_S4 || t == T_U4 || t == T_B1)
		f->bits = t == T_B1 ? 1 : 4;
	if (t == T_F64)
		f->reg = T_F64;
	f->major = (which == 2 ? n : m) / 8;
	f->per = ab ? (t == T_F64 ? 1 : 32 / f->bits) : 2;
	f->minor = (ab ? k : n) / (4 * f->per);
	f->regs = f->major * f->minor * (ab || t == T_F16 ? 1 : 2);
	f->dup = ab && t == T_F16 ? 8 / f->regs : 1;
	/* rows of a and c, columns of b are what a lane's elements lie along */
	f->along = which == 2 ? st->mod[MC_COL] : st->mod[MC_ROW];
	f->lead = which == 2 ? (st->mod[MC_COL] ? k : n) : st->mod[MC_ROW] ? (ab ? k : n) : m;
	return ok;
}

static u32 binary(struct comp *c, struct stmt *st, u32 lop, u8 w, u32 a, u32 b)
{
	u32 r = new_reg(c, w ? T_B64 : T_B32);

	emit_lane(c, st, lop, w ? T_U64 : T_U32, w, r, a, b, OPND_NONE);
	return r;
}

static struct insn *access_word(struct comp *c, const struct insn *tmpl, bool load, u32 at, s64 off, u32 r, u32 bytes)
{
	struct insn *in = emit(c, load ? K_LD : K_ST);

	in->o[0] = r;
	in->o[4] = at;
	in->space = tmpl->space;
	in->imm = tmpl->imm + off;
	in->aw = tmpl->aw;
	in->vec = 1;
	in->size = (u8)bytes;
	in->type = bytes == 8 ? T_B64 : bytes == 4 ? T_B32 : bytes == 2 ? T_B16 : T_B8;
	in->dw = bytes == 8;
	in->def = load;
	in->use = load ? 16 : 17;
	return in;
}

/*
 * The address of a lane's first element of block b of 8 and minor block e is p + (8 b + g) G + (4 e + t) per T bytes, lane being
 * 4 g + t, and G and T the size of an element and the stride, or the other way round.
 */
static void move_fragment(struct comp *c, struct stmt *st, const struct frag *f, const struct insn *tmpl, const struct operand *stride,
			  const u32 *r, bool load)
{
	u8 w = tmpl->aw;
	u32 lane = new_reg(c, T_B32), g, t, lead, base, b, e, j, word = f->per * f->bits, bytes = f->bits / 8;
	struct insn *in = emit(c, K_SREG);
	bool whole = f->along && word <= 32;    /* all elements of a lane in one access */

	in->o[0] = lane;
	in->sub = SR_LANEID;
	in->def = 1;
	g = binary(c, st, LOP_SHR, 0, lane, konst(c, 2, 0));
	t = binary(c, st, LOP_AND, 0, lane, konst(c, 3, 0));
	if (w) {
		u32 g64 = new_reg(c, T_B64), t64 = new_reg(c, T_B64);

		emit_lane(c, st, LOP_CVT_SEXT, T_U64, 1, g64, g, OPND_NONE, OPND_NONE);
		emit_lane(c, st, LOP_CVT_SEXT, T_U64, 1, t64, t, OPND_NONE, OPND_NONE);
		g = g64;
		t = t64;
	}
	if (!stride || stride->kind == O_INT) {
		lead = konst(c, (u64)(stride ? (u64)stride->imm : f->lead) * f->bits / 8, w);
	} else {
		lead = src(c, st, stride, T_U32);
		if (w) {
			u32 wide = new_reg(c, T_B64);

			emit_lane(c, st, LOP_CVT_SEXT, T_U64, 1, wide, lead, OPND_NONE, OPND_NONE);
			lead = wide;
		}
		lead = binary(c, st, LOP_MUL, w, lead, konst(c, f->bits, w));
		lead = binary(c, st, LOP_SHR, w, lead, konst(c, 3, 0));
	}
	g = binary(c, st, LOP_MUL, w, g, f->along ? lead : konst(c, bytes, w));
	t = binary(c, st, LOP_MUL, w, t, f->along ? konst(c, word / 8, w) :
		   binary(c, st, LOP_MUL, w, lead, konst(c, f->per, w)));
	base = binary(c, st, LOP_ADD, w, binary(c, st, LOP_ADD, w, tmpl->o[4], g), t);
	for (b = 0; b < f->major; b++)
		for (e = 0; e < f->minor; e++) {
			u32 el[4] = { 0 }, n = whole ? 1 : f->per, i = f->regs == f->major * f->minor ? e * f->major + b : 2 * (e * f->major + b);
			bool packed = !whole && word <= 32 && f->per > 1;

			/* b lies block by block of columns, in each along k */
			if (f->reg == T_B32 && st->mod[MC_FRAG] == 2)
				i = b * f->minor + e;
			for (j = 0; j < n; j++) {
				u32 at = base;
				s64 off;

				if (f->along) {
					if (b)
						at = binary(c, st, LOP_ADD, w, base, binary(c, st, LOP_MUL, w, lead, konst(c, 8 * b, w)));
					off = (s64)(4 * e * word / 8 + j * bytes);
				} else {
					if (4 * e * f->per + j)
						at = binary(c, st, LOP_ADD, w, base, binary(c, st, LOP_MUL, w, lead, konst(c, 4 * e * f->per + j, w)));
					off = (s64)(8 * b * bytes);
				}
				if (!packed) {
					access_word(c, tmpl, load, at, off, r[i + j], whole ? word / 8 : bytes);
				} else if (load) {
					el[j] = new_reg(c, T_B32);
					access_word(c, tmpl, true, at, off, el[j], bytes);
				} else {
					el[j] = j ? binary(c, st, LOP_SHR, 0, r[i], konst(c, f->bits * j, 0)) : r[i];
					access_word(c, tmpl, false, at, off, el[j], bytes);
				}
			}
			if (!packed || !load)
				continue;
			for (j = 1; j < n; j++)
				el[0] = binary(c, st, LOP_OR, 0, el[0], binary(c, st, LOP_SHL, 0, el[j], konst(c, f->bits * j, 0)));
			emit_lane(c, st, LOP_MOV, T_U32, 0, r[i], el[0], OPND_NONE, OPND_NONE);
		}
}

static void lower_move(struct comp *c, struct stmt *st)
{
	bool load = st->mod[MC_WMMA] == 1;
	const struct operand *p = &st->op[load], *v = &st->op[!load];
	u32 which = st->mod[MC_FRAG], i, k, r[16];
	struct insn tmpl;
	struct frag f;

	if (st->ntype != 1 || (load ? !which || which > 3 : which != 4) || !st->mod[MC_ROW] == !st->mod[MC_COL] ||
	    !fragment(st, which == 4 ? 3 : which, st->type[0], &f) || (f.bits < 8 && !f.along))
		UNSUPPORTED(c, st, "wmma.%s: this fragment of .%s is not supported", load ? "load" : "store", type_name(st->type[0]));
	if (st->nops < 2 || st->nops > 3 || p->kind != O_ADDR)
		FAIL_AT(c, st, "wmma.%s takes a fragment, an address and a stride", load ? "load" : "store");
	if (st->nops == 3 && st->op[2].kind != O_INT &&
	    (st->op[2].kind != O_REG || st->op[2].type == T_PRED || type_bytes(st->op[2].type) != 4))
		FAIL_AT(c, st, "wmma: the stride must be a 32-bit register or a number");
	if (st->mod[MC_SPACE] != SPACE_GENERIC && st->mod[MC_SPACE] != SPACE_GLOBAL && st->mod[MC_SPACE] != SPACE_SHARED)
		FAIL_AT(c, st, "wmma: fragments lie in global or shared memory");
	tensor_together(c, st);
	memset(&tmpl, 0, sizeof(tmpl));
	lower_address(c, st, p, &tmpl);
	for (i = 0; i < f.regs; i++)
		r[i] = tensor_part(c, st, v, i, f.regs * f.dup, f.reg, load);
	move_fragment(c, st, &f, &tmpl, st->nops == 3 ? &st->op[2] : NULL, r, load);
	for (k = f.regs; load && k < f.regs * f.dup; k++)
		emit_lane(c, st, LOP_MOV, T_U32, 0, tensor_part(c, st, v, k, f.regs * f.dup, f.reg, true), r[k % f.regs], OPND_NONE,
			  OPND_NONE);
}

static void fragment_regs(struct comp *c, struct stmt *st, const struct operand *o, const struct frag *f, u32 *r, enum type t, bool dest)
{
	u32 i;

	for (i = 0; i < f->regs; i++)
		r[i] = tensor_part(c, st, o, i, f->regs * f->dup, t, dest);
}

static void lower_product(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->ntype == 4 ? st->type[1] : T_F16, bt = st->ntype == 4 ? st->type[2] : T_F16;
	enum type ct = st->type[st->ntype == 4 ? 3 : 1], like = at == T_U8 ? T_S8 : at == T_U4 ? T_S4 : at;
	struct product p = { .d = ct, .a = at, .b = bt, .sat = st->mod[MC_SATF], .op = st->mod[MC_BOOL] };
	u32 a[16], b[16], acc[16], d[16], i;
	struct frag fa, fb, fc, fd;
	bool ints = like == T_S8 || like == T_S4 || like == T_B1, ok;

	ok = (st->ntype == 2 || st->ntype == 4) && st->nops == 4 && fragment(st, 1, at, &fa) && fragment(st, 2, bt, &fb) &&
	     fragment(st, 3, ct, &fc) && fragment(st, 3, dt, &fd);
	ok = ok && (ints ? dt == T_S32 && ct == T_S32 : like == T_F64 ? dt == T_F64 && ct == T_F64 :
		    like == T_F16 ? (dt == T_F16 || dt == T_F32) && (ct == T_F16 || ct == T_F32) : dt == T_F32 && ct == T_F32);
	ok = ok && (bt == at || (like == T_S8 && (bt == T_S8 || bt == T_U8)) || (like == T_S4 && (bt == T_S4 || bt == T_U4))) &&
	     (!p.sat || like == T_S8 || like == T_S4) && (like == T_B1) == (st->mod[MC_RED] && (p.op == BOOL_AND || p.op == BOOL_XOR)) && (st->mod[MC_ROW] || st->mod[MC_COL]);
	if (!ok)
		UNSUPPORTED(c, st, "wmma.mma: this shape with .%s, .%s and .%s is not supported", type_name(dt), type_name(at),
			    type_name(ct));
	p.rows = fa.major;
	p.cols = fb.major;
	p.words = fa.minor;
	tensor_together(c, st);
	fragment_regs(c, st, &st->op[1], &fa, a, fa.reg, false);
	fragment_regs(c, st, &st->op[2], &fb, b, fb.reg, false);
	fragment_regs(c, st, &st->op[3], &fc, acc, ct == T_F16 ? T_B32 : ct, false);
	fragment_regs(c, st, &st->op[0], &fd, d, dt == T_F16 ? T_B32 : dt, true);
	if (dt != ct) {
		/* one of them is of halves: sums are of .f32, and a result is rounded to .f16 once */
		u32 wide[16], n = 2 * (ct == T_F16 ? fc.regs : fd.regs);

		p.d = T_F32;
		for (i = 0; i < n; i++)
			wide[i] = new_reg(c, T_F32);
		for (i = 0; ct == T_F16 && i < n; i++) {
			u32 half = binary(c, st, LOP_SHR, 0, acc[i / 2], konst(c, 16 * (i % 2), 0));

			emit_lane(c, st, LOP_CVT_F_H, T_F32, 0, wide[i], half, OPND_NONE, OPND_NONE);
		}
		emit_product(c, st, &p, a, b, ct == T_F16 ? wide : acc, ct == T_F16 ? d : wide);
		for (i = 0; ct != T_F16 && i < n; i += 2) {
			u32 lo = new_reg(c, T_B16), hi = new_reg(c, T_B16);

			emit_lane(c, st, LOP_CVT_H_F, T_F16, 0, lo, wide[i], OPND_NONE, OPND_NONE);
			emit_lane(c, st, LOP_CVT_H_F, T_F16, 0, hi, wide[i + 1], OPND_NONE, OPND_NONE);
			emit_lane(c, st, LOP_PACK, T_U32, 0, d[i / 2], lo, hi, OPND_NONE);
		}
		return;
	}
	emit_product(c, st, &p, a, b, acc, d);
}

void lower_wmma(struct comp *c, struct stmt *st)
{
	if (st->mod[MC_WMMA] == 3)
		lower_product(c, st);
	else if (st->mod[MC_WMMA])
		lower_move(c, st);
	else
		FAIL_AT(c, st, "wmma needs .load, .store or .mma");
}
