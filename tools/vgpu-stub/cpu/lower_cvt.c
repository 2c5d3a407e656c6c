/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: cvt (PTX ISA 9.7.9.21, cvt.pack). Called by lower.c.
 *
 * Registers may be wider than the types (PTX ISA 6.4, operand size exceeding instruction-type size): of a source the low
 * bits count; a result is extended, by its sign where its type has one. Floats take bit registers for that only.
 */
#include "front.h"
#include "gen.h"

static bool is_small(enum type t)
{
	return t >= T_E4M3X2 && t <= T_UE8M0X2;
}

static bool is_bits(enum type t)
{
	return t >= T_B8 && t <= T_B64;
}

static void cvt_dest(struct comp *c, struct stmt *st, const struct operand *d, enum type t)
{
	if (d->kind != O_REG || d->type == T_PRED || type_bytes(d->type) < type_bytes(t) ||
	    (type_is_float(t) && type_bytes(d->type) != type_bytes(t) && !is_bits(d->type)))
		FAIL_AT(c, st, "cvt: bad destination register");
}

static u32 cvt_source(struct comp *c, struct stmt *st, const struct operand *s, enum type t)
{
	if (s->kind == O_REG && (s->type == T_PRED || type_bytes(s->type) < type_bytes(t) ||
				 (type_is_float(t) && type_bytes(s->type) != type_bytes(t) && !is_bits(s->type))))
		FAIL_AT(c, st, "cvt: bad source register");
	if (s->kind != O_REG && s->kind != O_INT && s->kind != O_FLT && s->kind != O_SREG)
		FAIL_AT(c, st, "cvt: bad source operand");
	return s->kind == O_REG ? s->reg : src(c, st, s, t);
}

static struct insn *emit_cvt(struct comp *c, struct stmt *st, gen_fn *fn, u32 a, u32 b, u32 third)
{
	struct insn *in = emit(c, fn ? K_GEN : K_CVT);
	const struct operand *s = &st->op[1];

	if (fn) {
		in->u.gen = fn;
		in->lop = OPID_CVT;
	}
	in->o[0] = st->op[0].reg;
	in->o[1] = a;
	in->o[2] = b == OPND_NONE ? a : b;
	in->o[3] = third;
	in->def = 1;
	in->use = third == OPND_NONE ? 6 : 14;
	in->type = st->type[0];
	in->stype = st->type[1];
	in->dw = type_w(st->op[0].type);
	in->aw = s->kind == O_REG ? type_w(s->type) : type_w(in->stype);
	in->sub = st->mod[MC_RND];
	in->flags = (u8)((st->mod[MC_SAT] ? INF_SAT : 0) | (st->mod[MC_FTZ] ? INF_FTZ : 0) |
			 (st->mod[MC_RELU] ? INF_RELU : 0) | (st->mod[MC_SATF] ? INF_SATFINITE : 0));
	return in;
}

/* cvt.pack.sat: two numbers, clamped, below what c holds. */
static void cvt_pack(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	bool more = t != T_U16 && t != T_S16;
	u32 a, b, k = OPND_NONE;

	if (!st->mod[MC_SAT] || st->ntype != (more ? 3u : 2u) || st->type[1] != T_S32 || (more && st->type[2] != T_B32) ||
	    (more && t != T_U8 && t != T_S8 && t != T_U4 && t != T_S4 && t != T_U2 && t != T_S2))
		FAIL_AT(c, st, "cvt.pack.sat: .s32 to .u16 or .s16, or with .b32 to 2, 4 or 8 bits");
	if (st->nops != (more ? 4u : 3u))
		FAIL_AT(c, st, "cvt.pack: wrong number of operands");
	if (st->op[0].kind != O_REG || type_bytes(st->op[0].type) != 4 || type_is_float(st->op[0].type))
		FAIL_AT(c, st, "cvt.pack: bad destination register");
	a = cvt_source(c, st, &st->op[1], T_S32);
	b = cvt_source(c, st, &st->op[2], T_S32);
	if (more)
		k = cvt_source(c, st, &st->op[3], T_B32);
	emit_cvt(c, st, gen_cvt_pack, a, b, k);
}

/* Two numbers of 8 bits or fewer: from two .f32 (the first is the upper one) or a pair of 16 bits, and back to that. */
static void cvt_small(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->type[1];
	bool scale = dt == T_UE8M0X2 || at == T_UE8M0X2, down = is_small(dt), ok;
	u32 need = down && at == T_F32 ? 3 : 2, a, b = OPND_NONE;
	u8 rnd = st->mod[MC_RND];

	if (!down)
		ok = dt == (scale ? T_BF16X2 : T_F16X2) && rnd == RND_RN && !st->mod[MC_SATF] && !(scale && st->mod[MC_RELU]);
	else if (scale)
		ok = (at == T_F32 || at == T_BF16X2) && (rnd == RND_RZ || rnd == RND_RP) && !st->mod[MC_RELU];
	else
		ok = (at == T_F32 || at == T_F16X2 || at == T_BF16X2) && rnd == RND_RN && st->mod[MC_SATF];
	if (!ok || st->ntype != 2)
		UNSUPPORTED(c, st, "cvt.%s.%s with these modifiers is not supported", type_name(dt), type_name(at));
	if (st->nops != need)
		FAIL_AT(c, st, "cvt takes %u operands here", need);
	if (st->op[0].kind != O_REG || type_bytes(st->op[0].type) != type_bytes(dt))
		FAIL_AT(c, st, "cvt: bad destination register");
	a = cvt_source(c, st, &st->op[1], at);
	if (need == 3)
		b = cvt_source(c, st, &st->op[2], at);
	emit_cvt(c, st, gen_cvt_small, a, b, OPND_NONE);
}

/* cvt.rs: two or four .f32 with random bits; the first is the uppermost. */
static void cvt_random(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0];
	bool four = dt >= T_E4M3X4 && dt <= T_E3M2X4;
	struct operand *d = &st->op[0], *v = &st->op[1], *bits;
	u32 n = four ? 4 : 2, need = four ? 3 : 4, from[4];
	struct insn *in;

	if ((!four && dt != T_F16X2 && dt != T_BF16X2) || st->ntype != 2 || st->type[1] != T_F32 || st->mod[MC_FTZ] || st->mod[MC_SAT] ||
	    (four && !st->mod[MC_SATF]))
		FAIL_AT(c, st, "cvt.rs takes .f32 to .f16x2 or .bf16x2, or with .satfinite to four numbers of 8, 6 or 4 bits");
	if (st->nops != need)
		FAIL_AT(c, st, "cvt takes %u operands here", need);
	if (d->kind != O_REG || type_bytes(d->type) != type_bytes(dt) || (!is_bits(d->type) && d->type != dt))
		FAIL_AT(c, st, "cvt: bad destination register");
	if (four && (v->kind != O_VEC || v->n != 4))
		FAIL_AT(c, st, "cvt: {a, b, e, f} are its sources here");
	for (u32 i = 0; i < n; i++)
		from[i] = cvt_source(c, st, four ? &v->elem[i] : v + i, T_F32);
	for (u32 i = n; i < 4; i++)
		from[i] = from[0];
	bits = &st->op[need - 1];
	if (bits->kind != O_REG || type_bytes(bits->type) != 4 || bits->type == T_F32)
		FAIL_AT(c, st, "cvt: random bits are a register of .b32");
	in = emit(c, K_GEN);
	in->u.gen = gen_cvt_random;
	in->lop = OPID_CVT;
	in->o[0] = d->reg;
	for (u32 i = 0; i < 4; i++)
		in->o[1 + i] = from[i];
	in->o[5] = bits->reg;
	in->def = 1;
	in->use = 0x3e;
	in->type = dt;
	in->stype = T_F32;
	in->flags = (u8)((st->mod[MC_RELU] ? INF_RELU : 0) | (st->mod[MC_SATF] ? INF_SATFINITE : 0));
}

/* Between integers of 32 bits or fewer. */
static void emit_word_cvt(struct comp *c, struct stmt *st, u32 d, enum type dt, u32 a, enum type at)
{
	struct insn *in = emit_cvt(c, st, NULL, a, OPND_NONE, OPND_NONE);

	in->o[0] = d;
	in->type = dt;
	in->stype = at;
	in->dw = in->aw = 0;
}

void lower_cvt(struct comp *c, struct stmt *st)
{
	enum type dt = st->type[0], at = st->type[1];
	struct operand *d = &st->op[0], *s = &st->op[1];
	u32 a, b = OPND_NONE, need = dt == T_F16X2 || dt == T_BF16X2 ? 3 : 2;
	u8 rnd = st->mod[MC_RND];

	if (rnd == RND_RS || (dt >= T_E4M3X4 && dt <= T_E3M2X4)) {
		if (rnd != RND_RS)
			FAIL_AT(c, st, "cvt.%s takes .rs", type_name(dt));
		cvt_random(c, st);
		return;
	}
	if (st->mod[MC_PACK]) {
		cvt_pack(c, st);
		return;
	}
	if (is_small(dt) || is_small(at)) {
		cvt_small(c, st);
		return;
	}
	if (st->ntype != 2)
		UNSUPPORTED(c, st, "this form of cvt is not supported");
	if (st->nops != need)
		FAIL_AT(c, st, "cvt takes %u operands here", need);
	if (at == T_F16X2 || at == T_BF16X2 || (need == 3 && at != T_F32) || at == T_PRED ||
	    (at >= T_B8 && at <= T_B64))
		UNSUPPORTED(c, st, "cvt.%s.%s is not supported", type_name(dt), type_name(at));
	if (dt == T_TF32 && (at != T_F32 || d->type != T_B32))
		FAIL_AT(c, st, "cvt.tf32 takes .f32 into a .b32 register");
	cvt_dest(c, st, d, dt);
	a = cvt_source(c, st, s, at);
	if (need == 3)
		b = cvt_source(c, st, &st->op[2], at);
	if (st->mod[MC_SATF]) {
		if (at != T_F32 || (dt != T_F16 && dt != T_BF16 && dt != T_F16X2 && dt != T_BF16X2 && dt != T_TF32))
			FAIL_AT(c, st, "cvt.satfinite takes .f32 to a shorter format");
		emit_cvt(c, st, gen_cvt, a, b, OPND_NONE);
		return;
	}
	/* the common ones go straight to a lane operation */
	if (!st->mod[MC_SAT] && !st->mod[MC_RELU] && need == 2) {
		u8 sw = s->kind == O_REG ? type_w(s->type) : type_w(at), w = type_w(d->type);

		if (w == 1 && sw == 0 && (at == T_S32 || at == T_U32) &&
		    (type_bytes(dt) == 8 && !type_is_float(dt))) {
			emit_lane(c, st, LOP_CVT_SEXT, at == T_S32 ? T_S64 : T_U64, 1, d->reg, a, OPND_NONE,
				  OPND_NONE);
			return;
		}
		/* the lower half of a long register: what is made of that is a word's */
		if (sw == 1 && !type_is_float(at) && !type_is_float(dt) && type_bytes(at) <= 4 && type_bytes(dt) == (w ? 8 : 4)) {
			u32 low = new_reg(c, T_U32);

			emit_lane(c, st, LOP_CVT_TRUNC, T_U64, 0, low, a, OPND_NONE, OPND_NONE);
			if (type_bytes(at) < 4) {
				enum type word = !w ? dt : type_is_signed(at) ? T_S32 : T_U32;
				u32 whole = w ? new_reg(c, word) : d->reg;

				emit_word_cvt(c, st, whole, word, low, at);
				at = word;
				low = whole;
			} else if (!w) {
				emit_lane(c, st, LOP_MOV, T_U32, 0, d->reg, low, OPND_NONE, OPND_NONE);
			}
			if (w)
				emit_lane(c, st, LOP_CVT_SEXT, at == T_S32 ? T_S64 : T_U64, 1, d->reg, low, OPND_NONE, OPND_NONE);
			return;
		}
		if (w == 0 && sw == 1 && !type_is_float(at) && !type_is_float(dt) && type_bytes(dt) == 4) {
			emit_lane(c, st, LOP_CVT_TRUNC, T_U64, 0, d->reg, a, OPND_NONE, OPND_NONE);
			return;
		}
		/* a short one of a long one is that of its lower half, and a long one of a short one that of a word */
		if (w == 0 && sw == 1 && type_bytes(at) == 8 && !type_is_float(at) && !type_is_float(dt)) {
			u32 low = new_reg(c, T_U32);

			emit_lane(c, st, LOP_CVT_TRUNC, T_U64, 0, low, a, OPND_NONE, OPND_NONE);
			emit_word_cvt(c, st, d->reg, dt, low, T_U32);
			return;
		}
		if (w == 1 && sw == 0 && !type_is_float(at) && !type_is_float(dt) && type_bytes(dt) == 8 && type_bytes(at) < 4) {
			enum type word = type_is_signed(at) ? T_S32 : T_U32;
			u32 whole = new_reg(c, word);

			emit_word_cvt(c, st, whole, word, a, at);
			emit_lane(c, st, LOP_CVT_SEXT, word == T_S32 ? T_S64 : T_U64, 1, d->reg, whole, OPND_NONE, OPND_NONE);
			return;
		}
		if (w == 0 && sw == 0 && !type_is_float(dt) && (at == T_S16 || at == T_U16) &&
		    type_bytes(dt) == 4) {
			emit_lane(c, st, LOP_CVT_SEXT, at, 0, d->reg, a, OPND_NONE, OPND_NONE);
			return;
		}
		if (dt == T_F32 && w == 0 && sw == 0 && (at == T_S32 || at == T_U32)) {
			emit_lane(c, st, at == T_S32 ? LOP_CVT_F_S32 : LOP_CVT_F_U32, T_F32, 0, d->reg, a,
				  OPND_NONE, OPND_NONE);
			return;
		}
		if (dt == T_F32 && at == T_F16 && w == 0 && sw == 0 && !rnd) {
			emit_lane(c, st, LOP_CVT_F_H, T_F32, 0, d->reg, a, OPND_NONE, OPND_NONE);
			return;
		}
		if (dt == T_F16 && at == T_F32 && w == 0 && sw == 0 && rnd <= RND_RN && !st->mod[MC_FTZ]) {
			emit_lane(c, st, LOP_CVT_H_F, T_F16, 0, d->reg, a, OPND_NONE, OPND_NONE);
			return;
		}
	}
	emit_cvt(c, st, NULL, a, b, OPND_NONE);
}
