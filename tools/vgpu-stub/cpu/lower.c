/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR, first half: arithmetic, logic, comparison, moves, conversion. Registers
 * are still virtual and constants live in a pool; cfg.c replaces both by frame offsets.
 */
#include <stdlib.h>
#include <string.h>

#include "front.h"

u32 new_reg(struct comp *c, enum type t)
{
	c->regs = cneed(c, xgrow(c->regs, &c->regs_cap, c->nregs + 1, sizeof(*c->regs)));
	c->regs[c->nregs] = (struct vreg){ (u8)t, type_w(t) };
	return c->nregs++;
}

u32 new_reg_like(struct comp *c, u32 o)
{
	u32 n = new_reg(c, (enum type)c->regs[o].type);

	c->regs[n] = c->regs[o];
	names_same(c, n, o);
	return n;
}

u32 konst_sym(struct comp *c, struct sym *s, u64 bits, u8 w)
{
	u32 h = (u32)((bits * 0x9e3779b97f4a7c15ull + (uintptr_t)s * 31 + w) >> 32), i;

	if (w != 1)
		bits = (u32)bits;
	if (c->nk * 2 >= c->khash_cap) {
		u32 cap = c->khash_cap ? c->khash_cap * 2 : 128;
		u32 *tab;

		/* uniform.c adds constants of its own, without a look here */
		while (c->nk * 2 >= cap)
			cap *= 2;
		tab = cneed(c, calloc(cap, sizeof(u32)));

		for (i = 0; i < c->nk; i++) {
			struct konst *k = &c->k[i];
			u32 p = (u32)((k->bits * 0x9e3779b97f4a7c15ull + (uintptr_t)k->sym * 31 + k->w) >> 32);

			while (tab[p & (cap - 1)])
				p++;
			tab[p & (cap - 1)] = i + 1;
		}
		free(c->khash);
		c->khash = tab;
		c->khash_cap = cap;
	}
	h = (u32)((bits * 0x9e3779b97f4a7c15ull + (uintptr_t)s * 31 + w) >> 32);
	for (; (i = c->khash[h & (c->khash_cap - 1)]); h++)
		if (c->k[i - 1].bits == bits && c->k[i - 1].w == w && c->k[i - 1].sym == s)
			return OPND_CONST | c->k[i - 1].off;
	if (c->cpool_bytes > 1u << 28)
		lex_fail(&c->lx, VGPU_ST_NOT_SUPPORTED, "too many constants");
	c->k = cneed(c, xgrow(c->k, &c->k_cap, c->nk + 1, sizeof(*c->k)));
	c->k[c->nk] = (struct konst){ bits, s, c->cpool_bytes, w };
	c->khash[h & (c->khash_cap - 1)] = ++c->nk;
	c->cpool_bytes += w == 1 ? 256 : 128;
	return OPND_CONST | (c->cpool_bytes - (w == 1 ? 256 : 128));
}

u32 konst(struct comp *c, u64 bits, u8 w)
{
	return konst_sym(c, NULL, bits, w);
}

const struct konst *konst_at(const struct comp *c, u32 o)
{
	u32 lo = 0, hi = c->nk, off = o & ~OPND_CONST, mid;

	if (o == OPND_NONE || !(o & OPND_CONST))
		return NULL;
	/* they lie in the order in which they were asked for */
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (c->k[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == c->nk || c->k[lo].off != off ? NULL : &c->k[lo];
}

struct insn *emit(struct comp *c, u8 kind)
{
	struct insn *in;
	u32 i;

	c->code = cneed(c, xgrow(c->code, &c->code_cap, c->ncode + 1, sizeof(*c->code)));
	in = &c->code[c->ncode++];
	memset(in, 0, sizeof(*in));
	for (i = 0; i < 6; i++)
		in->o[i] = OPND_NONE;
	in->kind = kind;
	in->guard = c->guard;
	in->gneg = c->gneg;
	in->line = c->line;
	return in;
}

/* MXCSR that an operation on t wants: rounding and flushing of this statement. */
u32 mxcsr_for(const struct stmt *st, enum type t)
{
	u32 r = MXCSR_BASE;

	if (!type_is_float(t))
		return 0;
	if (st->mod[MC_FTZ] && (t == T_F32 || (t == T_F64 && st->mod[MC_APX])))
		r |= MXCSR_FLUSH;
	if (t == T_F32 || t == T_F64)
		switch (st->mod[MC_RND]) {
		case RND_RZ: r |= 3 << 13; break;
		case RND_RM: r |= 1 << 13; break;
		case RND_RP: r |= 2 << 13; break;
		}
	return r;
}

lane_fn *lane_find(u32 lop, enum type t)
{
	const struct lane_table *lt = lanes_get();
	lane_fn *fn = lt->fn[lop][t];

	if (!fn && t >= T_S8 && t <= T_S64)
		fn = lt->fn[lop][t - T_S8 + T_U8];
	if (!fn && t >= T_B8 && t <= T_B64)
		fn = lt->fn[lop][t - T_B8 + T_U8];
	if (!fn && (t == T_F32 || t == T_F16X2 || t == T_BF16X2))
		fn = lt->fn[lop][T_U32];
	if (!fn && (t == T_F16 || t == T_BF16))
		fn = lt->fn[lop][T_U16];
	if (!fn && t == T_F64)
		fn = lt->fn[lop][T_U64];
	return fn;
}

void emit_lane(struct comp *c, const struct stmt *st, u32 lop, enum type t, u8 dw, u32 d, u32 a, u32 b, u32 cc)
{
	lane_fn *fn = lane_find(lop, t);
	struct insn *in;

	if (!fn)
		UNSUPPORTED(c, st, "%s with these modifiers on .%s is not supported", st->od->name, type_name(t));
	if (d == OPND_NONE)
		return;
	in = emit(c, K_LANE);
	in->u.lane = fn;
	in->lop = (u8)lop;
	in->dw = dw;
	in->type = (u8)t;
	in->mxcsr = mxcsr_for(st, t);
	in->o[0] = d;
	in->o[1] = a;
	in->o[2] = b == OPND_NONE ? a : b;
	in->o[3] = cc == OPND_NONE ? a : cc;
	in->def = 1;
	in->use = 14;
}

static u32 sreg(struct comp *c, u32 sr, u8 w)
{
	struct insn *in;
	u32 r = new_reg(c, w == 1 ? T_B64 : T_B32);

	c->fn->reserved |= sr >= SR_RESERVED_BEGIN && sr <= SR_RESERVED_CAP;
	in = emit(c, K_SREG);
	in->guard = OPND_NONE;
	in->sub = (u8)sr;
	in->dw = w;
	in->o[0] = r;
	in->def = 1;
	return r;
}

static u32 address_of(struct comp *c, const struct stmt *st, struct sym *s, s64 add, u8 w)
{
	u32 i, r;
	struct insn *in;

	if (s->what == V_FUNC) {
		c->fn->indirect |= !s->fn->entry;
		return konst(c, s->fn->unique_ptr + (u64)add, w);
	}
	if (s->what != V_VAR)
		FAIL_AT(c, st, "'%s' has no address", s->name);
	if (s->space == SPACE_GLOBAL || s->space == SPACE_CONST) {
		if (s->ext)
			UNSUPPORTED(c, st, "'%s' is not defined in this module", s->name);
		return konst(c, s->addr + (u64)add, w);
	}
	if (s->space == SPACE_PARAM)
		return konst(c, s->addr + (u64)add, w);
	if (s->space == SPACE_SHARED) {
		if (s->dyn && !c->fn->entry) {
			/* where dynamic shared memory starts is known at launch only */
			if (s->align > c->fn->dyn_align)
				c->fn->dyn_align = s->align;
			r = sreg(c, SR_COUNT, w);
			if (add) {
				u32 sum = new_reg(c, w ? T_B64 : T_B32);

				emit_lane(c, st, LOP_ADD, w ? T_U64 : T_U32, w, sum, r, konst(c, (u64)add, w),
					  OPND_NONE);
				r = sum;
			}
			return r;
		}
		for (i = 0; i < c->nshared && c->shared[i] != s; i++)
			;
		if (i == c->nshared) {
			c->shared = cneed(c, xgrow(c->shared, &c->shared_cap, i + 1, sizeof(*c->shared)));
			c->shared[c->nshared++] = s;
		}
		return konst_sym(c, s, (u64)add, w);
	}
	if (c->fn->entry || s->fixed)
		return konst(c, s->addr + (u64)add, w);
	r = new_reg(c, w ? T_B64 : T_B32);
	in = emit(c, K_LADDR);
	in->guard = OPND_NONE;
	in->dw = w;
	in->o[0] = r;
	in->def = 1;
	in->imm = (s64)s->addr + add;
	return r;
}

/* The operand as a source of type t: a register, or a constant in the pool. */
u32 src(struct comp *c, const struct stmt *st, const struct operand *o, enum type t)
{
	u8 w = type_w(t);
	u64 v = (u64)o->imm;

	switch (o->kind) {
	case O_REG:
		return o->reg;
	case O_FLT:
		if (o->type == T_F64 && type_bytes(t) == 4) {
			double d;
			float f;
			u32 u;

			memcpy(&d, &v, 8);
			f = (float)d;
			memcpy(&u, &f, 4);
			v = u;
		}
		return konst(c, v, w);
	case O_INT:
		if (t == T_PRED)
			v = v ? ~0ull : 0;
		else if (type_bytes(t) == 2)
			v = (u16)v;
		return konst(c, v, w);
	case O_SREG:
		if (o->reg == SR_WARPSZ || o->reg == SR_ZERO32 || o->reg == SR_ONE32 || o->reg == SR_ZERO64)
			return konst(c, o->reg == SR_WARPSZ ? LANES : o->reg == SR_ONE32, w);
		return sreg(c, o->reg, w);
	case O_SYM:
		if (o->index != OPND_NONE && st->od->x == X_MOV)
			UNSUPPORTED(c, st, "%s: the address of an element by register is not supported", st->od->name);
		return address_of(c, st, o->sym, o->imm, w);
	}
	FAIL_AT(c, st, "%s: bad operand", st->od->name);
}

static enum type half_flush(struct comp *c, const struct stmt *st, enum type t, u32 *s, u32 n)
{
	u32 i;

	/* .ftz of f16: flushed by an operation of its own; MXCSR knows floats only */
	if (st->mod[MC_FTZ] && (t == T_F16 || t == T_F16X2))
		for (i = 0; i < n; i++) {
			u32 r = new_reg(c, t);

			emit_lane(c, st, LOP_FLUSH, t, 0, r, s[i], OPND_NONE, OPND_NONE);
			s[i] = r;
		}
	return t;
}

/* d = lop of a and b; min.NaN and max.NaN of .f32 are those without, and a NaN where one is */
static void emit_least(struct comp *c, struct stmt *st, u32 lop, enum type t, u8 dw, u32 d, u32 a, u32 b)
{
	u32 r, p;

	if (t != T_F32 || (lop != LOP_MINNAN && lop != LOP_MAXNAN)) {
		emit_lane(c, st, lop, t, dw, d, a, b, OPND_NONE);
		return;
	}
	r = new_reg(c, t);
	p = new_reg(c, T_PRED);
	emit_lane(c, st, lop == LOP_MINNAN ? LOP_MIN : LOP_MAX, t, 0, r, a, b, OPND_NONE);
	emit_cmp(c, st, CMP_NAN, t, p, a, b, 0, OPND_NONE, false);
	emit_lane(c, st, LOP_SELP, t, 0, d, konst(c, 0x7fffffff, 0), r, p);
}

/* min.xorsign.abs: of the magnitudes, with the product's sign */
static void xorsign(struct comp *c, struct stmt *st, u32 lop, u32 *s, u32 d)
{
	enum type t = st->type[0];
	u32 a = new_reg(c, t), b = new_reg(c, t), x = new_reg(c, T_B32), r = new_reg(c, t), sign;

	if (t == T_F64 || !type_is_float(t) || !st->mod[MC_ABS])
		UNSUPPORTED(c, st, "%s.xorsign on .%s is not supported", st->od->name, type_name(t));
	sign = konst(c, t == T_F32 ? 1u << 31 : type_bytes(t) == 4 ? 0x80008000u : 0x8000u, 0);
	if (st->mod[MC_FTZ] && t == T_F32) {
		u32 i, q;

		for (i = 0; i < 2; i++, s++) {
			q = new_reg(c, t);
			emit_lane(c, st, LOP_FLUSH, t, 0, q, *s, OPND_NONE, OPND_NONE);
			*s = q;
		}
		s -= 2;
	}
	emit_lane(c, st, LOP_ABS, t, 0, a, s[0], OPND_NONE, OPND_NONE);
	emit_lane(c, st, LOP_ABS, t, 0, b, s[1], OPND_NONE, OPND_NONE);
	emit_least(c, st, lop, t, 0, r, a, b);
	if (!st->mod[MC_XORSIGN]) {
		emit_lane(c, st, LOP_MOV, T_U32, 0, d, r, OPND_NONE, OPND_NONE);
		return;
	}
	emit_lane(c, st, LOP_XOR, T_U32, 0, x, s[0], s[1], OPND_NONE);
	emit_lane(c, st, LOP_AND, T_U32, 0, x, x, sign, OPND_NONE);
	emit_lane(c, st, LOP_OR, T_U32, 0, x, r, x, OPND_NONE);
	/* a NaN takes no sign: of itself twice, that is the canonical one again, and all else stays */
	emit_least(c, st, lop, t, 0, d, x, x);
}

/* Two .f32 in one register: each half by itself, rounded and flushed as the statement says. */
static void arith_pair(struct comp *c, struct stmt *st, u32 lop)
{
	u32 n = st->nops - 1, half[2], s[3] = { OPND_NONE, OPND_NONE, OPND_NONE }, i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < n; k++) {
			s[k] = new_reg(c, T_B32);
			emit_lane(c, st, LOP_XTR, T_U64, 0, s[k], src(c, st, &st->op[k + 1], T_B64), konst(c, 32 * i, 0),
				  konst(c, ~0u, 0));
		}
		half[i] = new_reg(c, T_F32);
		emit_lane(c, st, lop, T_F32, 0, half[i], s[0], s[1], s[2]);
	}
	emit_lane(c, st, LOP_PACK, T_U64, 1, dst(&st->op[0]), half[0], half[1], OPND_NONE);
}

/* The exact .f32 of a half. */
static u32 widened(struct comp *c, struct stmt *st, const struct operand *o, enum type t)
{
	u32 r = new_reg(c, T_F32), s = src(c, st, o, t);

	if (t == T_F16) {
		emit_lane(c, st, LOP_CVT_F_H, T_F32, 0, r, s, OPND_NONE, OPND_NONE);
		/* exact, but made with a subtraction, whose zero takes the sign from the rounding of the statement */
		c->code[c->ncode - 1].mxcsr = MXCSR_BASE;
	} else {
		emit_lane(c, st, LOP_SHL, T_U32, 0, r, s, konst(c, 16, 0), OPND_NONE);
	}
	return r;
}

/* The third input of min and max: .abs is of all of them. */
static void min_of_three(struct comp *c, struct stmt *st, u32 lop)
{
	u32 s[3], i, r = new_reg(c, T_F32), q = new_reg(c, T_F32);

	if (st->type[0] != T_F32 || st->mod[MC_XORSIGN] || st->mod[MC_RELU])
		FAIL_AT(c, st, "%s of three is of .f32, without .xorsign", st->od->name);
	for (i = 0; i < 3; i++) {
		s[i] = src(c, st, &st->op[i + 1], T_F32);
		if (st->mod[MC_ABS]) {
			u32 a = new_reg(c, T_F32);

			emit_lane(c, st, LOP_ABS, T_F32, 0, a, s[i], OPND_NONE, OPND_NONE);
			s[i] = a;
		}
	}
	emit_least(c, st, lop, T_F32, 0, q, s[0], s[1]);
	emit_least(c, st, lop, T_F32, 0, st->mod[MC_FTZ] ? r : dst(&st->op[0]), q, s[2]);
	if (st->mod[MC_FTZ])
		emit_lane(c, st, LOP_FLUSH, T_F32, 0, dst(&st->op[0]), r, OPND_NONE, OPND_NONE);
}

static void lower_arith(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 lop = st->od->lop, s[3] = { OPND_NONE, OPND_NONE, OPND_NONE }, i, n = st->nops - 1, d;
	u8 hlw = st->mod[MC_HLW], dw = type_w(t);
	bool sat = st->mod[MC_SAT], wide = hlw == HLW_WIDE;

	if (st->mod[MC_CC]) {
		if (type_is_float(t))
			FAIL_AT(c, st, "%s.cc needs an integer type", st->od->name);
		lower_cc(c, st);
		return;
	}
	if (sat && !type_is_float(t) && t != T_S32)
		FAIL_AT(c, st, "%s.sat does not take .%s", st->od->name, type_name(t));
	if (st->mod[MC_OOB])
		UNSUPPORTED(c, st, "%s.oob is not supported", st->od->name);
	if (t == T_F32X2) {
		if (hlw || sat || st->mod[MC_RELU])
			FAIL_AT(c, st, "%s.f32x2 takes rounding and .ftz only", st->od->name);
		arith_pair(c, st, lop);
		return;
	}
	switch (lop) {
	case LOP_MUL:
	case LOP_MAD:
		if (!type_is_float(t) && !hlw)
			FAIL_AT(c, st, "%s needs .lo, .hi or .wide", st->od->name);
		if (type_is_float(t) && hlw)
			FAIL_AT(c, st, "%s.%s does not take .lo, .hi or .wide", st->od->name, type_name(t));
		if (hlw == HLW_HI)
			lop = lop == LOP_MUL ? LOP_MULHI : sat ? LOP_MADHISAT : LOP_MADHI;
		else if (wide)
			lop = lop == LOP_MUL ? LOP_MULWIDE : LOP_MADWIDE;
		else if (sat)
			lop = lop == LOP_MUL ? LOP_MULSAT : LOP_MADSAT;
		else if (st->mod[MC_RELU])
			lop = LOP_MADRELU;
		if (wide)
			dw = type_bytes(t) == 4;
		break;
	case LOP_ADD: lop = sat ? LOP_ADDSAT : lop; break;
	case LOP_SUB: lop = sat ? LOP_SUBSAT : lop; break;
	case LOP_MUL24LO: lop = hlw == HLW_HI ? LOP_MUL24HI : lop; break;
	case LOP_MAD24LO: lop = hlw != HLW_HI ? lop : sat ? LOP_MAD24HISAT : LOP_MAD24HI; break;
	case LOP_MIN: lop = st->mod[MC_NAN] == 1 ? LOP_MINNAN : lop; break;
	case LOP_MAX: lop = st->mod[MC_NAN] == 1 ? LOP_MAXNAN : lop; break;
	case LOP_BFIND: lop = st->mod[MC_SHIFTAMT] ? LOP_BFINDSH : lop; dw = 0; break;
	case LOP_BMSKC: lop = st->mod[MC_CLAMP] == 2 ? LOP_BMSKW : lop; break;
	case LOP_SZEXTC: lop = st->mod[MC_CLAMP] == 2 ? LOP_SZEXTW : lop; break;
	}
	if (n == 3 && (st->od->lop == LOP_MIN || st->od->lop == LOP_MAX)) {
		min_of_three(c, st, lop);
		return;
	}
	for (i = 0; i < n && i < 3; i++)
		s[i] = st->ntype == 2 && (i == 0 || (i == 1 && st->od->lop == LOP_MAD)) ?
			widened(c, st, &st->op[i + 1], st->type[1]) :
			src(c, st, &st->op[i + 1], wide && i == 2 ? (dw ? T_B64 : T_B32) :
			   lop == LOP_SZEXTC || lop == LOP_SZEXTW ? T_U32 : t);
	half_flush(c, st, t, s, n < 3 ? n : 3);
	d = dst(&st->op[0]);
	if (st->mod[MC_XORSIGN] || st->mod[MC_ABS]) {
		xorsign(c, st, lop, s, d);
		return;
	}
	if (t == T_F32 && !st->mod[MC_RELU] && (st->od->lop == LOP_MIN || st->od->lop == LOP_MAX)) {
		u32 r = st->mod[MC_FTZ] ? new_reg(c, t) : d;

		emit_least(c, st, lop, t, dw, r, s[0], s[1]);
		if (st->mod[MC_FTZ])    /* they pick an operand's bits, which MXCSR does not flush */
			emit_lane(c, st, LOP_FLUSH, t, dw, d, r, OPND_NONE, OPND_NONE);
		return;
	}
	if (st->mod[MC_RELU] && lop != LOP_MADRELU) {
		u32 r = new_reg(c, t);

		emit_lane(c, st, lop, t, dw, r, s[0], s[1], s[2]);
		s[0] = r;
		s[1] = s[2] = OPND_NONE;
		lop = LOP_RELU;
	}
	if (st->mod[MC_FTZ] && (t == T_F16 || t == T_F16X2)) {
		u32 r = new_reg(c, t);

		emit_lane(c, st, lop, t, dw, r, s[0], s[1], s[2]);
		emit_lane(c, st, LOP_FLUSH, t, dw, d, r, OPND_NONE, OPND_NONE);
		return;
	}
	if (!lower_simple(c, st, lop, t, d, s))
		emit_lane(c, st, lop, t, dw, d, s[0], s[1], s[2]);
}

static void lower_lane(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 s[3] = { OPND_NONE, OPND_NONE, OPND_NONE }, i;
	const char *shape = st->od->shape;
	u8 dw = shape[0] == 'n' ? 0 : type_w(t);

	for (i = 1; i < st->nops && i < 4; i++) {
		char l = shape[i];

		s[i - 1] = src(c, st, &st->op[i], l == 'u' ? T_U32 : l == 'p' ? T_PRED : t);
	}
	if (st->od->id == OPID_SELP && st->op[3].neg) {
		u32 x = s[0];

		s[0] = s[1];
		s[1] = x;
	}
	if (st->mod[MC_FTZ] && (st->od->id == OPID_ABS || st->od->id == OPID_NEG) &&
	    (t == T_F32 || t == T_F16 || t == T_F16X2)) {
		u32 r = new_reg(c, t);

		emit_lane(c, st, LOP_FLUSH, t, 0, r, s[0], OPND_NONE, OPND_NONE);
		s[0] = r;
	}
	if (st->od->id == OPID_DIV && t == T_F32 && st->mod[MC_APX] == 1)
		s[1] = divisor_of_approx(c, st, s[1]);
	if (!lower_simple(c, st, st->od->lop, t, dst(&st->op[0]), s))
		emit_lane(c, st, st->od->lop, t, dw, dst(&st->op[0]), s[0], s[1], s[2]);
}

struct insn *emit_pred(struct comp *c, u8 op, u32 d, u32 a, bool aneg, u32 b, bool bneg)
{
	struct insn *in = emit(c, K_PRED);

	in->sub = op;
	in->dw = 2;
	in->o[0] = d;
	in->o[1] = a;
	in->o[2] = b == OPND_NONE ? a : b;
	in->flags = (u8)((aneg ? INF_CNEG : 0) | (bneg ? INF_BNEG : 0));
	in->def = 1;
	in->use = 6;
	return in;
}

static mask_fn *cmp_find(struct comp *c, const struct stmt *st, u32 cmp, enum type t)
{
	const struct lane_table *lt = lanes_get();
	mask_fn *fn = lt->cmp[cmp][t];

	if (!fn && t >= T_S8 && t <= T_S64)
		fn = lt->cmp[cmp][t - T_S8 + T_U8];
	if (!fn && t >= T_B8 && t <= T_B64)
		fn = lt->cmp[cmp][t - T_B8 + T_U8];
	if (!fn)
		UNSUPPORTED(c, st, "%s with this comparison on .%s is not supported", st->od->name,
			    type_name(t));
	return fn;
}

/* p|q = (a cmp b) bool r; also the engine of set, testp */
static void emit_setp(struct comp *c, struct stmt *st, u32 cmp, enum type t, u32 p, u32 q, u32 a, u32 b,
		      u32 r, bool rneg)
{
	struct insn *in;

	if (p == OPND_NONE)
		p = new_reg(c, T_PRED);
	in = emit(c, K_SETP);
	in->u.mask = cmp_find(c, st, cmp, t);
	in->lop = (u8)cmp;
	in->mxcsr = mxcsr_for(st, t);
	in->dw = 2;
	in->type = (u8)t;
	in->o[0] = p;
	in->o[1] = q;
	in->o[2] = a;
	in->o[3] = b;
	in->o[4] = r;
	in->def = q == OPND_NONE ? 1 : 3;
	in->use = r == OPND_NONE ? 12 : 28;
	in->sub = r == OPND_NONE ? 0 : st->mod[MC_BOOL];
	in->flags = rneg ? INF_CNEG : 0;
}

struct insn *emit_cmp(struct comp *c, const struct stmt *st, u32 cmp, enum type t, u32 p, u32 a, u32 b, u8 op, u32 more, bool neg)
{
	struct insn *in = emit(c, K_SETP);

	in->u.mask = cmp_find(c, st, cmp, t);
	in->lop = (u8)cmp;
	in->dw = 2;
	in->type = (u8)t;
	in->o[0] = p;
	in->o[2] = a;
	in->o[3] = b;
	in->o[4] = more;
	in->def = 1;
	in->use = more == OPND_NONE ? 12 : 28;
	in->sub = more == OPND_NONE ? 0 : op;
	in->flags = neg ? INF_CNEG : 0;
	return in;
}

/* The halves of f16x2 are compared one by one: p is the lower, q the upper result. */
static void setp_pair(struct comp *c, struct stmt *st, enum type half, const u32 *s, u32 r)
{
	u32 i, k, h[2], p[2], v[2], one;
	bool set = st->od->x == X_SET;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 2; k++) {
			h[k] = new_reg(c, T_B32);
			emit_lane(c, st, LOP_XTR, T_U32, 0, h[k], s[k], konst(c, i * 16, 0), konst(c, 0xffff, 0));
		}
		p[i] = set ? new_reg(c, T_PRED) : i ? st->op[0].second : dst(&st->op[0]);
		if (p[i] != OPND_NONE)
			emit_setp(c, st, st->mod[MC_CMP], half, p[i], OPND_NONE, h[0], h[1], r,
				  st->nops > 3 && st->op[3].neg);
	}
	if (!set)
		return;
	one = st->type[0] == T_F16X2 ? 0x3c00 : st->type[0] == T_BF16X2 ? 0x3f80 : 0xffff;
	for (i = 0; i < 2; i++) {
		v[i] = new_reg(c, T_B32);
		emit_lane(c, st, LOP_SELP, T_U32, 0, v[i], konst(c, one, 0), konst(c, 0, 0), p[i]);
	}
	emit_lane(c, st, LOP_PACK, T_U32, 0, dst(&st->op[0]), v[0], v[1], OPND_NONE);
}

static void lower_setp(struct comp *c, struct stmt *st)
{
	bool set = st->od->x == X_SET;
	enum type t = set ? st->type[1] : st->type[0];
	u32 s[2], r = OPND_NONE, p, n;

	if (!st->mod[MC_CMP])
		FAIL_AT(c, st, "%s: a comparison is missing", st->od->name);
	if (st->nops > 3 && !st->mod[MC_BOOL])
		FAIL_AT(c, st, "%s: .and, .or or .xor is missing", st->od->name);
	s[0] = src(c, st, &st->op[1], t);
	s[1] = src(c, st, &st->op[2], t);
	half_flush(c, st, t, s, 2);
	if (st->nops > 3)
		r = src(c, st, &st->op[3], T_PRED);
	if (t == T_F16X2 || t == T_BF16X2) {
		setp_pair(c, st, t == T_F16X2 ? T_F16 : T_BF16, s, r);
		return;
	}
	if (!set) {
		emit_setp(c, st, st->mod[MC_CMP], t, dst(&st->op[0]), st->op[0].second,
			  s[0], s[1], r, st->nops > 3 && st->op[3].neg);
		return;
	}
	p = new_reg(c, T_PRED);
	emit_setp(c, st, st->mod[MC_CMP], t, p, OPND_NONE, s[0], s[1], r,
		  st->nops > 3 && st->op[3].neg);
	n = st->type[0];
	emit_lane(c, st, LOP_SELP, T_U32, 0, dst(&st->op[0]),
		  konst(c, n == T_F32 ? 0x3f800000u : n == T_F16 ? 0x3c00 : n == T_BF16 ? 0x3f80 :
			type_bytes(n) == 2 ? 0xffff : ~0u, 0), konst(c, 0, 0), p);
}

static void lower_logic(struct comp *c, struct stmt *st)
{
	static const u8 ops[] = { [OPID_AND - OPID_AND] = PRED_AND, [OPID_OR - OPID_AND] = PRED_OR,
				  [OPID_XOR - OPID_AND] = PRED_XOR, [OPID_NOT - OPID_AND] = PRED_NOT };
	enum type t = st->type[0];
	u32 a = src(c, st, &st->op[1], t), b = st->nops > 2 ? src(c, st, &st->op[2], t) : OPND_NONE;

	if (t != T_PRED)
		emit_lane(c, st, st->od->lop, t, type_w(t), dst(&st->op[0]), a, b, OPND_NONE);
	else if (st->op[0].kind == O_REG)
		emit_pred(c, ops[st->od->id - OPID_AND], dst(&st->op[0]), a, st->op[1].neg, b,
			  st->nops > 2 && st->op[2].neg);
}

void lower_stmt(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	u32 a, b, d, e, f;

	switch (st->od->x) {
	case X_NOP:
		return;
	case X_LANE:
		if (st->od->id != OPID_BFE || !lower_bfe(c, st))
			lower_lane(c, st);
		return;
	case X_ARITH:
		lower_arith(c, st);
		return;
	case X_CARRY:
		lower_cc(c, st);
		return;
	case X_LOGIC:
		lower_logic(c, st);
		return;
	case X_SETP:
	case X_SET:
		lower_setp(c, st);
		return;
	case X_TESTP:
		a = src(c, st, &st->op[1], t);
		emit_setp(c, st, TESTP_BASE + st->mod[MC_TESTP], t, dst(&st->op[0]),
			  OPND_NONE, a, a, OPND_NONE, false);
		return;
	case X_SLCT:
		if (st->type[1] != T_S32 && st->type[1] != T_F32)
			FAIL_AT(c, st, "slct compares .s32 or .f32");
		a = src(c, st, &st->op[1], t);
		b = src(c, st, &st->op[2], t);
		e = src(c, st, &st->op[3], st->type[1]);
		emit_lane(c, st, st->type[1] == T_S32 ? LOP_SLCTS : LOP_SLCTF,
			  type_bytes(t) == 8 ? T_U64 : type_bytes(t) == 4 ? T_U32 : T_U16, type_w(t),
			  dst(&st->op[0]), a, b, e);
		/* the comparison flushes, whatever is selected */
		if (st->type[1] == T_F32 && st->op[0].kind == O_REG)
			c->code[c->ncode - 1].mxcsr = mxcsr_for(st, T_F32);
		return;
	case X_DP:
		f = st->ntype < 2 ? st->type[0] : st->type[1];
		d = (u32)((type_is_signed(t) ? 2 : 0) + (type_is_signed(f) ? 1 : 0));
		d += st->od->id == OPID_DP4A ? LOP_DP4AUU : st->mod[MC_HLW] == HLW_HI ? LOP_DP2AHUU :
		     LOP_DP2ALUU;
		a = src(c, st, &st->op[1], T_U32);
		b = src(c, st, &st->op[2], T_U32);
		e = src(c, st, &st->op[3], T_U32);
		emit_lane(c, st, d, T_U32, 0, dst(&st->op[0]), a, b, e);
		return;
	case X_SHF:
		d = st->mod[MC_SHF] == 1 ? (st->mod[MC_CLAMP] == 2 ? LOP_SHFLW : LOP_SHFLC) :
		    (st->mod[MC_CLAMP] == 2 ? LOP_SHFRW : LOP_SHFRC);
		a = src(c, st, &st->op[1], t);
		b = src(c, st, &st->op[2], t);
		e = src(c, st, &st->op[3], t);
		emit_lane(c, st, d, T_U32, 0, dst(&st->op[0]), a, b, e);
		return;
	case X_PRMT:
		a = src(c, st, &st->op[1], t);
		b = src(c, st, &st->op[2], t);
		e = src(c, st, &st->op[3], t);
		emit_lane(c, st, LOP_PRMT + st->mod[MC_PRMT], T_U32, 0, dst(&st->op[0]), a, b, e);
		return;
	case X_COPYSIGN:
		lower_copysign(c, st);
		return;
	case X_BFI:
		lower_bfi(c, st);
		return;
	case X_LOP3:
		lower_lop3(c, st);
		return;
	case X_MOV:
		lower_mov(c, st);
		return;
	case X_CVT:
		lower_cvt(c, st);
		return;
	case X_LD:
	case X_ST:
	case X_ATOM:
	case X_CVTA:
	case X_ISSPACEP:
		lower_mem(c, st);
		return;
	case X_BRA:
	case X_BRX:
	case X_CALL:
	case X_RET:
	case X_EXIT:
	case X_TRAP:
		lower_control(c, st);
		return;
	case X_MMA:
	case X_WMMA:
	case X_WGMMA:
	case X_STMATRIX:
	case X_LDMATRIX:
	case X_MOVMATRIX:
		lower_tensor(c, st);
		return;
	case X_VIDEO:
		lower_video(c, st);
		return;
	case X_TEX:
		lower_tex(c, st);
		return;
	case X_TMAP:
		lower_tensormap(c, st);
		return;
	case X_MBAR:
	case X_MAPA:
	case X_CPASYNC:
	case X_POLICY:
		lower_async(c, st);
		return;
	case X_STACK:
		lower_stack(c, st);
		return;
	default:
		lower_warp(c, st);
	}
}
