/* SPDX-License-Identifier: MIT */
/* Comparisons and predicates of a strip: all ones or zeros in 32-bit lanes, or one word of them. */
#include "strip.h"
#include "vex.h"
#include "whole.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool is16(u8 t) { return t == T_U16 || t == T_S16 || t == T_B16; }

static const u8 int_cc[2][CMP_GE + 1] = {
	{ 0, CC_E, CC_NE, CC_B, CC_BE, CC_A, CC_AE }, { 0, CC_E, CC_NE, CC_L, CC_LE, CC_G, CC_GE },
};
static const u8 flt_imm[CMP_NAN + 1] = { 0, 0x00, 0x0c, 0x11, 0x12, 0x1e, 0x1d, 0x08, 0x04, 0x19, 0x1a, 0x16, 0x15, 7, 3 };

static void invert(struct scomp *c, int r, int tmp)
{
	vr(&c->a, X_PCMPEQD, tmp, tmp, tmp);
	vr(&c->a, X_PXOR, r, r, tmp);
}

static u32 vector_op(u8 sub) { return sub == BOOL_AND ? X_PAND : sub == BOOL_OR ? X_POR : X_PXOR; }

/* The scalar predicate in gpr goes to v. */
static void put_scalar(struct scomp *c, u32 v, int gpr)
{
	if (c->r[v].v.cls == SC_SCALAR) {
		sg_put(c, v, gpr);
		return;
	}
	vx_x(&c->a, X_MOVD, 0, 0, rm_reg(gpr));
	vy(&c->a, X_PBCASTD, 0, 0, rm_reg(0));
	sput(c, v, 0, 0);
}

/* d = x cmp y for a vector of 32 or 64-bit integers; d is neither; tmp is lost */
static void compare_ints(struct scomp *c, u32 lop, bool w, bool sg, int d, int x, int y, int tmp)
{
	struct as *a = &c->a;
	bool flip = lop == CMP_NE;

	if (lop == CMP_EQ || lop == CMP_NE) {
		vr(a, w ? X_PCMPEQQ : X_PCMPEQD, d, x, y);
	} else if (sg) {
		bool swap = lop == CMP_LT || lop == CMP_GE;

		vr(a, w ? X_PCMPGTQ : X_PCMPGTD, d, swap ? y : x, swap ? x : y);
		flip = lop == CMP_LE || lop == CMP_GE;
	} else if (!w) {
		/* x <= y where the lesser one is x */
		vr(a, lop == CMP_LE || lop == CMP_GT ? X_PMINUD : X_PMAXUD, d, x, y);
		vr(a, X_PCMPEQD, d, d, x);
		flip = lop == CMP_LT || lop == CMP_GT;
	} else {
		bool swap = lop == CMP_LT || lop == CMP_GE;
		struct rm top = s_splat64(c, 1ull << 63);

		vy(a, X_PXOR, d, swap ? y : x, top);
		vy(a, X_PXOR, tmp, swap ? x : y, top);
		vr(a, X_PCMPGTQ, d, d, tmp);
		flip = lop == CMP_LE || lop == CMP_GE;
	}
	if (flip)
		invert(c, d, tmp);
}

/* ymm2 = the comparison; false: not done */
static bool compare(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 t = in->type;
	bool w = is64(t) || t == T_F64;
	u32 p;
	int x, y;

	if (type_is_float(t) && t != T_F16X2 && t != T_BF16X2) {
		if (in->lop > CMP_NAN)
			return false;
		if (t != T_F16)
			s_mxcsr(c, in->mxcsr);
	} else if (in->lop > CMP_GE || !(is32(t) || is64(t) || is16(t))) {
		return false;
	}
	for (p = 0; p < (w ? 2u : 1u); p++) {
		int d = p ? 3 : 2;

		if (t == T_F16 || t == T_BF16) {
			s_half_wide(c, t, in->o[2], 0);
			s_half_wide(c, t, in->o[3], 1);
			vyi(a, X_CMPPS, 2, 0, rm_reg(1), flt_imm[in->lop]);
			continue;
		}
		if (type_is_float(t)) {
			x = sv(c, in->o[2], w, p, 0);
			vyi(a, w ? X_CMPPD : X_CMPPS, d, x, sv_rm(c, in->o[3], w, p, 1), flt_imm[in->lop]);
			continue;
		}
		x = sv_obs(c, in->o[2], w, p, 0);
		y = sv_obs(c, in->o[3], w, p, 1);
		if (is16(t)) {
			vyi(a, X_SHID, SH_LEFT, 0, rm_reg(x), 16);
			vyi(a, X_SHID, SH_LEFT, 1, rm_reg(y), 16);
			x = 0;
			y = 1;
		}
		/* temporaries 0 and 1 are free again behind the reading, but for those that still hold an operand */
		compare_ints(c, in->lop, w, type_is_signed(t), d, x, y, p ? (x == 0 ? 1 : 0) : 3);
	}
	if (w) {        /* the low halves of both */
		vyi(a, X_SHUFPS, 2, 2, rm_reg(3), 0x88);
		vyi(a, X_PERMQ, 2, 0, rm_reg(2), 0xd8);
	}
	return true;
}

/* Only the branch b, at the end of the block, wants to know. */
static bool asked_by(const struct scomp *c, const struct insn *in, const struct insn *b)
{
	return (!c->stage || (c->stage == WHOLE_SCALARS && c->whole_way->flags)) && !in->sub && in->o[1] == OPND_NONE && in->guard == OPND_NONE && b->kind == K_CBRA &&
	       b->guard == in->o[0] && b->taken != b->fall && !bit_of(c->cur->live_out, in->o[0]);
}

/* It takes the flags: behind the comparison come moves at most, which leave them as they are. */
static bool for_the_branch(const struct scomp *c, const struct insn *in)
{
	const struct insn *b = &c->code[c->cur->end - 1], *m;

	for (m = in + 1; m < b; m++)
		if (m->kind != K_LANE || m->lop != LOP_MOV || m->guard != OPND_NONE || m->dw == 2 || type_bytes(m->type) < 4)
			return false;
	return b > in && c->r[in->o[0]].v.cls == SC_SCALAR && asked_by(c, in, b);
}

/* Is it a pattern that goes one way, compared with a scalar? Then two lanes of it tell of all. first: the pattern is the first operand */
static bool has_ends(const struct scomp *c, const struct insn *in, bool *first, s32 *far)
{
	u8 w = is64(in->type);
	struct sval x = s_val(c, in->o[2], w), y = s_val(c, in->o[3], w);
	s32 lo, hi;

	if (x.cls != SC_SCALAR || y.cls != SC_SCALAR || !x.pat == !y.pat || (!is32(in->type) && !w) || in->lop < CMP_LT || in->lop > CMP_GE)
		return false;
	*first = x.pat != 0;
	s_range(c, *first ? x : y, &lo, &hi);
	*far = hi ? hi : lo;
	return !lo || !hi;
}

/* ... for a branch behind it; where lanes part there, any comparison of integers is done at the branch */
static bool at_branch(const struct scomp *c, const struct insn *in)
{
	struct sval x = s_val(c, in->o[2], is64(in->type)), y = s_val(c, in->o[3], is64(in->type));
	bool first;
	s32 far;

	if (c->stage || c->pc + 2 != c->cur->end || !asked_by(c, in, in + 1) || (!is32(in->type) && !is64(in->type)) || in->lop > CMP_GE)
		return false;
	return has_ends(c, in, &first, &far) || (c->cur->split && (s_varies(x) || s_varies(y) || x.pat || y.pat));
}

static bool scalar_compare(struct scomp *c, const struct insn *in)
{
	struct sval k;
	struct as *a = &c->a;
	u8 w = is64(in->type);
	u32 op = in->sub == BOOL_AND ? G_AND : in->sub == BOOL_OR ? G_OR : G_XOR;

	if (in->lop > CMP_GE)
		return false;
	k = s_val(c, in->o[3], w);
	if (k.known && (w ? (s64)k.k : (s32)k.k) == (w ? (s64)(s32)k.k : (s32)k.k)) {
		g_alui(a, w, G_CMP, sg_rm(c, in->o[2], w, RAX), (s32)k.k);
	} else {
		int x = sg(c, in->o[2], w, RAX);

		g_alu(a, w, G_CMP, x, sg_rm(c, in->o[3], w, RCX));
	}
	if (for_the_branch(c, in)) {
		c->fused = (u8)(0x10 | int_cc[type_is_signed(in->type)][in->lop]);
		return true;
	}
	g_op(a, 0, 0x190u | int_cc[type_is_signed(in->type)][in->lop], 0, rm_reg(RAX), 0);
	g_movx(a, 0, 0, 1, RAX, rm_reg(RAX));
	g_neg(a, 0, RAX);
	if (in->o[1] != OPND_NONE) {
		g_load(a, 0, RDX, rm_reg(RAX));
		g_not(a, 0, RDX);
	}
	if (in->sub) {
		s_to_gpr(c, in->o[4], 0, RCX);
		if (in->flags & INF_CNEG)
			g_not(a, 0, RCX);
		g_alu(a, 0, op, RAX, rm_reg(RCX));
		if (in->o[1] != OPND_NONE)
			g_alu(a, 0, op, RDX, rm_reg(RCX));
	}
	put_scalar(c, in->o[0], RAX);
	if (in->o[1] != OPND_NONE)
		put_scalar(c, in->o[1], RDX);
	return true;
}

/* ymm2 is the comparison: with the third predicate, into both results */
static void tail(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	if (in->o[1] != OPND_NONE) {
		vr(a, X_PCMPEQD, 1, 1, 1);
		vr(a, X_PXOR, 1, 1, 2);
	}
	if (in->sub) {
		int z = sv(c, in->o[4], 2, 0, 0);

		if (in->flags & INF_CNEG) {
			vr(a, X_PCMPEQD, 3, 3, 3);
			vr(a, X_PXOR, 0, z, 3);
			z = 0;
		}
		vr(a, vector_op(in->sub), 2, 2, z);
		if (in->o[1] != OPND_NONE)
			vr(a, vector_op(in->sub), 1, 1, z);
	}
	/* sput() may use ymm2 when it is not what it puts */
	if (in->o[1] != OPND_NONE) {
		vy(a, X_MOVU_ST, 1, 0, SPM(lanes));
		sput(c, in->o[0], 0, 2);
		vy(a, X_MOVU, 1, 0, SPM(lanes));
		sput(c, in->o[1], 0, 1);
		return;
	}
	sput(c, in->o[0], 0, 2);
}

/* flags = the scalar of the pattern, and by more, compared with the other operand; false: there, to the end of the number's range */
static void compare_end(struct scomp *c, const struct insn *in, bool first, s32 by, u32 *wraps)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	u32 p = in->o[first ? 2 : 3], o = in->o[first ? 3 : 2];
	struct sval k = s_val(c, o, w);
	struct rm m = sg_rm(c, p, w, RAX);

	if (by || m.kind) {
		if (m.kind || m.reg != RAX)
			g_load(a, w, RAX, m);
		m = rm_reg(RAX);
	}
	if (by) {
		g_alui(a, w, by > 0 ? G_ADD : G_SUB, m, by > 0 ? by : -by);
		*wraps = g_jcc(a, type_is_signed(in->type) ? CC_O : CC_B);
	}
	if (k.known && (w ? (s64)k.k : (s32)k.k) == (w ? (s64)(s32)k.k : (s32)k.k))
		g_alui(a, w, G_CMP, m, (s32)k.k);
	else
		g_alu(a, w, G_CMP, m.reg, sg_rm(c, o, w, RCX));
}

/*
 * The comparison in, at the branch behind it, with two jumps each (0: none) where it holds for all lanes and for none. Lanes in a row are on one
 * side if its ends are. If those are not, the lanes that run still may be: then all are asked. Where lanes part, eax is those for which it holds.
 */
void s_ends(struct scomp *c, const struct insn *in, u32 *holds, u32 *fails)
{
	static const u8 other[] = { [CMP_LT] = CMP_GT, [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE };
	struct as *a = &c->a;
	bool first, up;
	u32 lop, cc, wraps = 0;
	s32 far;

	holds[0] = holds[1] = fails[0] = fails[1] = 0;
	if (!has_ends(c, in, &first, &far))
		goto all;
	lop = first ? in->lop : other[in->lop];
	cc = int_cc[type_is_signed(in->type)][lop];
	/* the far end first: that none wraps is what both rely on. up: it is the one that the comparison holds for last */
	up = (lop == CMP_LT || lop == CMP_LE) == (far > 0);
	compare_end(c, in, first, far, &wraps);
	*(up ? holds : fails) = g_jcc(a, up ? cc : cc ^ 1);
	compare_end(c, in, first, 0, &wraps);
	*(up ? fails : holds) = g_jcc(a, up ? cc ^ 1 : cc);
	g_here(a, wraps);
all:
	if (!compare(c, in))
		c->bad = true;
	vr(a, X_MOVMSKPS, RAX, 0, 2);
	g_alu(a, 0, G_AND, RAX, rm_reg(R12));
	if (c->cur->split)
		return;
	/* who leaves code at the branch has it */
	tail(c, in);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
	fails[1] = g_jcc(a, CC_E);
	g_alu(a, 0, G_CMP, RAX, rm_reg(R12));
	s_parted_if(c, CC_NE);
	holds[1] = g_jmp(a);
}

bool s_setp(struct scomp *c, const struct insn *in)
{
	u8 w = is64(in->type);
	struct sval x = s_val(c, in->o[2], w), y = s_val(c, in->o[3], w);
	bool ints = is32(in->type) || w, third = in->sub && s_val(c, in->o[4], 2).cls != SC_SCALAR;
	u32 i;

	if (at_branch(c, in)) {
		c->later = true;
		return true;
	}
	if (ints && x.cls == SC_SCALAR && y.cls == SC_SCALAR && !x.pat && !y.pat && !third && scalar_compare(c, in))
		return true;
	for (i = 0; i < 2; i++)
		if (in->o[i] != OPND_NONE && c->r[in->o[i]].v.cls == SC_SCALAR)
			return false;
	if (!compare(c, in))
		return false;
	tail(c, in);
	return true;
}

/* By a function. */
bool s_setp_call(struct scomp *c, const struct insn *in)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (in->o[i] != OPND_NONE && c->r[in->o[i]].v.cls == SC_SCALAR)
			return false;
	if (!s_compare_call(c, in))
		return false;
	tail(c, in);
	return true;
}

bool s_pred(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool two = in->sub >= PRED_AND, flat = s_val(c, in->o[1], 2).cls == SC_SCALAR && (!two || s_val(c, in->o[2], 2).cls == SC_SCALAR);
	bool na = !!(in->flags & INF_CNEG) != (in->sub == PRED_NOT), nb = in->flags & INF_BNEG;
	int x, y;

	if (flat) {
		s_to_gpr(c, in->o[1], 0, RAX);
		if (na)
			g_not(a, 0, RAX);
		if (two) {
			s_to_gpr(c, in->o[2], 0, RCX);
			if (nb)
				g_not(a, 0, RCX);
			g_alu(a, 0, in->sub == PRED_AND ? G_AND : in->sub == PRED_OR ? G_OR : G_XOR, RAX, rm_reg(RCX));
		}
		put_scalar(c, in->o[0], RAX);
		return true;
	}
	if (c->r[in->o[0]].v.cls == SC_SCALAR)
		return false;
	x = sv(c, in->o[1], 2, 0, 0);
	if (na || nb)
		vr(a, X_PCMPEQD, 2, 2, 2);
	if (na) {
		vr(a, X_PXOR, 0, x, 2);
		x = 0;
	}
	if (two) {
		y = sv(c, in->o[2], 2, 0, 1);
		if (nb) {
			vr(a, X_PXOR, 1, y, 2);
			y = 1;
		}
		vr(a, in->sub == PRED_AND ? X_PAND : in->sub == PRED_OR ? X_POR : X_PXOR, 0, x, y);
		x = 0;
	}
	sput(c, in->o[0], 0, x);
	return true;
}
