/* SPDX-License-Identifier: MIT */
/*
 * Scalar code (uniform values and patterns: what lane 0 computes), comparisons, predicates, special registers. Called by
 * jit.c, one instruction at a time. Vector arithmetic is in jit_lane.c, memory in jit_mem.c and jit_st.c.
 */
#include "jit.h"
#include "lanes.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool is16(u8 t) { return t == T_U16 || t == T_S16 || t == T_B16; }

static bool small(u64 k, u8 w, s32 *out)
{
	if (!w) {
		*out = (s32)(u32)k;
		return true;
	}
	*out = (s32)k;
	return (s64)k == (s64)(s32)k;
}

/* t = t op o */
static void u_alu(struct jcomp *c, u32 op, int t, u32 o, u8 w)
{
	struct jval v = jit_val(c, o, w);
	s32 i;

	if (v.sk && small(v.s, w, &i)) {
		if (i || (op != G_ADD && op != G_SUB && op != G_OR && op != G_XOR))
			g_alui(&c->a, w, op, rm_reg(t), i);
	} else if (!(o & OPND_CONST) && c->r[o].loc == LOC_ZMM) {
		ju_load(c, RCX, o, w);
		g_alu(&c->a, w, op, t, rm_reg(RCX));
	} else {
		g_alu(&c->a, w, op, t, ju_rm(c, o));
	}
}

static void u_mul(struct jcomp *c, int t, u32 o, u8 w)
{
	struct jval v = jit_val(c, o, w);
	s32 i;

	if (v.sk && small(v.s, w, &i)) {
		if (i > 0 && !(i & (i - 1)))
			g_shi(&c->a, w, G_SHL, t, (u32)__builtin_ctz((u32)i));
		else
			g_imuli(&c->a, w, t, rm_reg(t), i);
		return;
	}
	ju_load(c, RCX, o, w);
	g_imul(&c->a, w, t, rm_reg(RCX));
}

/* Where in's scalar result may be computed: its own register, unless a later source is there. */
static int target(const struct jcomp *c, const struct insn *in)
{
	const struct jreg *r = &c->r[in->o[0]];
	u32 k;

	if (r->loc != LOC_GPR)
		return RAX;
	for (k = 2; k < 4; k++)
		if (in->o[k] == in->o[0] || (!(in->o[k] & OPND_CONST) && c->r[in->o[k]].loc == LOC_GPR &&
					     c->r[in->o[k]].reg == r->reg))
			return RAX;
	return r->reg;
}

static void lane_range(const struct jcomp *c, struct jval v, s32 *lo, s32 *hi)
{
	u32 l;

	*lo = *hi = 0;
	for (l = 0; l < LANES; l++) {
		*lo = c->pats[v.pat][l] < *lo ? c->pats[v.pat][l] : *lo;
		*hi = c->pats[v.pat][l] > *hi ? c->pats[v.pat][l] : *hi;
	}
}

/* Widening a pattern: no lane may wrap in 32 bits. rax holds lane 0's value. */
static void check_widen(struct jcomp *c, u32 o, bool sg)
{
	struct jval v = jit_val(c, o, 0);
	s32 lo, hi;
	u32 x;

	if (v.cls != JC_PAT || v.max < (sg ? 1ull << 31 : 1ull << 32))
		return;
	lane_range(c, v, &lo, &hi);
	if (!lo && (v.ual > 30 || !(hi >> v.ual)))
		return;                 /* no carry */
	x = j_exit(c, JX_LEAVE, c->pc, 0);
	if (hi) {
		g_load(&c->a, 0, RDX, rm_reg(RAX));
		g_alui(&c->a, 0, G_ADD, rm_reg(RDX), hi);
		j_leave_if(c, sg ? CC_O : CC_B, x);
	}
	if (lo) {
		g_load(&c->a, 0, RDX, rm_reg(RAX));
		g_alui(&c->a, 0, sg ? G_ADD : G_SUB, rm_reg(RDX), sg ? lo : -lo);
		j_leave_if(c, sg ? CC_O : CC_B, x);
	}
}

/* jit_guess_sign(): every lane is at least 0. rax holds lane 0's value. */
static void check_sign(struct jcomp *c, const struct insn *in, u8 w)
{
	struct jval v = jit_val(c, in->o[1], w);
	u32 x = j_exit(c, JX_QUIT, c->pc, 0);
	s32 lo, hi;

	lane_range(c, v, &lo, &hi);
	g_load(&c->a, w, RDX, rm_reg(RAX));
	if (lo)
		g_alui(&c->a, w, G_ADD, rm_reg(RDX), lo);
	else
		g_alu(&c->a, w, G_OR, RDX, rm_reg(RDX));
	j_leave_if(c, CC_S, x);
	g_load(&c->a, w, RDX, rm_reg(RAX));
	g_alui(&c->a, w, G_ADD, rm_reg(RDX), hi);
	j_leave_if(c, CC_S, x);
}

/* jit_guess_align(): the scalar is such a multiple. rax holds it. */
static void check_align(struct jcomp *c, const struct insn *in)
{
	u32 need;

	if (!jit_guess_align(c, in, &need))
		return;
	g_testi(&c->a, RAX, (1u << need) - 1);
	j_leave_if(c, CC_NE, j_exit(c, JX_QUIT, c->pc, 0));
}

/* xmm0 = o */
static void f_load(struct jcomp *c, int x, u32 o)
{
	ju_load(c, RAX, o, 0);
	ev_n(&c->a, V_LL(V_MOVD, 0), x, 0, rm_reg(RAX), 0, 0, 0, 4, 0);
}

/* rax = bits of xmm0, a NaN made canonical */
static void f_done(struct jcomp *c)
{
	u32 at;

	ev_n(&c->a, V_LL(V_MOVD_ST, 0), 0, 0, rm_reg(RAX), 0, 0, 0, 4, 0);
	ev_n(&c->a, V_LL(V_UCOMISS, 0), 0, 0, rm_reg(0), 0, 0, 0, 4, 0);
	at = g_jcc(&c->a, CC_NP);
	g_movi(&c->a, RAX, 0x7fffffff);
	g_here(&c->a, at);
}

static bool scalar_float(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	jit_mxcsr(c, in->mxcsr);
	switch (in->lop) {
	case LOP_CVT_F_S32:
	case LOP_CVT_F_U32:
		ju_load(c, RAX, in->o[1], 0);
		ev_n(a, V_LL(in->lop == LOP_CVT_F_S32 ? V_CVTSI2SS : V_CVTUSI2SS, 0), 0, 0, rm_reg(RAX), 0, 0, 0, 4, 0);
		break;
	case LOP_CVT_F_H:
		f_load(c, 0, in->o[1]);
		ev(a, V_LL(V_CVTPH2PS, 0), 0, 0, rm_reg(0));
		break;
	default:
		f_load(c, 1, in->o[2]);
		if (in->lop == LOP_MAD)
			f_load(c, 2, in->o[3]);
		f_load(c, 0, in->o[1]);
		ev_n(a, V_LL(in->lop == LOP_ADD ? V_ADDSS : in->lop == LOP_SUB ? V_SUBSS : in->lop == LOP_MUL ? V_MULSS :
			     V_FMADD213SS, 0), 0, in->lop == LOP_MAD ? 1 : 0, rm_reg(in->lop == LOP_MAD ? 2 : 1), 0, 0, 0, 4, 0);
	}
	f_done(c);
	ju_store(c, in->o[0], RAX);
	return true;
}

/* 64 bits of the 32 in s */
static void extend(struct jcomp *c, int d, int s, bool sg)
{
	if (sg)
		g_movsxd(&c->a, d, rm_reg(s));
	else
		g_load(&c->a, 0, d, rm_reg(s));
}

/* The general register that o is in; -1: it is elsewhere. */
static int in_gpr(const struct jcomp *c, u32 o)
{
	return !(o & OPND_CONST) && c->r[o].loc == LOC_GPR ? c->r[o].reg : -1;
}

/* d = x + y with what adds and moves at once */
static void scalar_add(struct jcomp *c, u32 d, u32 x, u32 y, u8 w)
{
	struct as *a = &c->a;
	struct jval v;
	int t = in_gpr(c, d), p, q;
	s32 i;

	if (jit_val(c, x, w).sk) {
		u32 z = x;

		x = y;
		y = z;
	}
	v = jit_val(c, y, w);
	if (t < 0)
		t = RAX;
	p = in_gpr(c, x);
	q = in_gpr(c, y);
	if (v.sk && small(v.s, w, &i)) {
		if (p >= 0 && p != t && i)
			g_lea(a, w, t, rm_mem(p, i));
		else {
			ju_load(c, t, x, w);
			u_alu(c, G_ADD, t, y, w);
		}
	} else if (p >= 0 && q >= 0 && p != t && q != t) {
		g_lea(a, w, t, rm_idx(p, q, 0, 0));
	} else if (q >= 0 && q == t) {
		u_alu(c, G_ADD, t, x, w);
	} else {
		ju_load(c, t, x, w);
		u_alu(c, G_ADD, t, y, w);
	}
	ju_store(c, d, t);
}

static bool scalar_lane(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	bool sg = type_is_signed(in->type);
	struct jval v2 = jit_val(c, in->o[2], jit_src_w(in, 2));
	struct jval v3 = jit_val(c, in->o[3], jit_src_w(in, 3));
	u32 need;
	int t;

	if (in->type == T_F32 && in->lop != LOP_MOV && in->lop != LOP_SELP)
		return scalar_float(c, in);
	t = target(c, in);
	switch (in->lop) {
	case LOP_MOV:
		ju_load(c, t, in->o[1], w);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_ADD:
		scalar_add(c, in->o[0], in->o[1], in->o[2], w);
		return true;
	case LOP_SUB: case LOP_AND: case LOP_OR: case LOP_XOR:
		if (in->lop == LOP_AND && jit_guess_align(c, in, &need))
			t = RAX;
		ju_load(c, t, in->o[1], w);
		if (in->lop == LOP_AND)
			check_align(c, in);
		u_alu(c, in->lop == LOP_SUB ? G_SUB : in->lop == LOP_AND ? G_AND :
		      in->lop == LOP_OR ? G_OR : G_XOR, t, in->o[2], w);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_MUL:
	case LOP_MAD:
		ju_load(c, t, in->o[1], w);
		u_mul(c, t, in->o[2], w);
		if (in->lop == LOP_MAD)
			u_alu(c, G_ADD, t, in->o[3], w);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_NEG:
	case LOP_NOT:
		ju_load(c, t, in->o[1], w);
		if (in->lop == LOP_NEG)
			g_neg(a, w, t);
		else
			g_not(a, w, t);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_SHL:
	case LOP_SHR:
		if (!v2.known) {
			u32 at;

			ju_load(c, RAX, in->o[1], w);
			ju_load(c, RCX, in->o[2], 0);
			g_alui(a, 0, G_CMP, rm_reg(RCX), w ? 64 : 32);
			at = g_jcc(a, CC_B);
			if (in->lop == LOP_SHR && sg)
				g_movi(a, RCX, w ? 63 : 31);
			else
				g_movi(a, RAX, 0);
			g_here(a, at);
			g_shcl(a, w, in->lop == LOP_SHL ? G_SHL : sg ? G_SAR : G_SHR, RAX);
			break;
		}
		if (v2.k >= (w ? 64 : 32) && in->lop == LOP_SHR && sg)
			v2.k = w ? 63 : 31;
		if (v2.k >= (w ? 64 : 32)) {
			g_movi(a, RAX, 0);
			break;
		}
		ju_load(c, RAX, in->o[1], w);
		check_align(c, in);
		if (jit_guess_sign(c, in))
			check_sign(c, in, w);
		if (v2.k)
			g_shi(a, w, in->lop == LOP_SHL ? G_SHL : sg ? G_SAR : G_SHR, RAX, (u32)v2.k);
		break;
	case LOP_BFE:
		ju_load(c, RAX, in->o[1], 0);
		if (v2.k & 255)
			g_shi(a, 0, G_SHR, RAX, (u32)v2.k & 31);
		g_alui(a, 0, G_AND, rm_reg(RAX), (s32)((1ull << (v3.k & 255)) - 1));
		break;
	case LOP_XTR:
		ju_load(c, RAX, in->o[1], w);
		if (v2.k & (w ? 63 : 31))
			g_shi(a, w, G_SHR, RAX, (u32)v2.k & (w ? 63 : 31));
		if ((u32)v3.k != ~0u)
			g_alui(a, 0, G_AND, rm_reg(RAX), (s32)(u32)v3.k);
		else
			g_load(a, 0, RAX, rm_reg(RAX));
		break;
	case LOP_MULWIDE:
	case LOP_MADWIDE:
		if (v2.known && (u32)v2.k < 1u << 31) {
			u32 k = (u32)v2.k;

			ju_load(c, RAX, in->o[1], 0);
			check_widen(c, in->o[1], sg);
			extend(c, RAX, RAX, sg);
			if (k && !(k & (k - 1)))
				g_shi(a, 1, G_SHL, RAX, (u32)__builtin_ctz(k));
			else
				g_imuli(a, 1, RAX, rm_reg(RAX), (s32)k);
			if (in->lop == LOP_MADWIDE)
				u_alu(c, G_ADD, RAX, in->o[3], 1);
			break;
		}
		ju_load(c, RAX, in->o[2], 0);
		check_widen(c, in->o[2], sg);
		extend(c, RCX, RAX, sg);
		ju_load(c, RAX, in->o[1], 0);
		check_widen(c, in->o[1], sg);
		extend(c, RAX, RAX, sg);
		g_imul(a, 1, RAX, rm_reg(RCX));
		if (in->lop == LOP_MADWIDE)
			u_alu(c, G_ADD, RAX, in->o[3], 1);
		break;
	case LOP_MULHI:
		ju_load(c, RAX, in->o[1], 0);
		ju_load(c, RCX, in->o[2], 0);
		if (sg) {
			g_movsxd(a, RAX, rm_reg(RAX));
			g_movsxd(a, RCX, rm_reg(RCX));
		}
		g_imul(a, 1, RAX, rm_reg(RCX));
		g_shi(a, 1, G_SHR, RAX, 32);
		break;
	case LOP_CVT_SEXT:
		ju_load(c, RAX, in->o[1], 0);
		if (is64(in->type)) {
			check_widen(c, in->o[1], sg);
			extend(c, RAX, RAX, sg);
		} else {
			g_movx(a, 0, sg, 2, RAX, rm_reg(RAX));
		}
		break;
	case LOP_CVT_TRUNC:
		ju_load(c, RAX, in->o[1], 1);
		g_load(a, 0, RAX, rm_reg(RAX));
		break;
	case LOP_MIN:
	case LOP_MAX:
		ju_load(c, RAX, in->o[1], w);
		ju_load(c, RCX, in->o[2], w);
		g_alu(a, w, G_CMP, RCX, rm_reg(RAX));
		g_cmov(a, w, in->lop == LOP_MIN ? (sg ? CC_L : CC_B) : (sg ? CC_G : CC_A), RAX, rm_reg(RCX));
		break;
	case LOP_DIV:
	case LOP_REM: {
		u32 zero;

		ju_load(c, RAX, in->o[1], 0);
		ju_load(c, RCX, in->o[2], 0);
		if (sg) {               /* in 64 bits nothing overflows */
			g_movsxd(a, RAX, rm_reg(RAX));
			g_movsxd(a, RCX, rm_reg(RCX));
			g_load(a, 1, RDX, rm_reg(RAX));
			g_shi(a, 1, G_SAR, RDX, 63);
		} else {
			g_load(a, 0, RAX, rm_reg(RAX));
			g_load(a, 0, RCX, rm_reg(RCX));
			g_movi(a, RDX, 0);
		}
		g_alu(a, 1, G_OR, RCX, rm_reg(RCX));
		if (in->lop == LOP_DIV) {
			u32 done;

			zero = g_jcc(a, CC_E);
			g_op(a, sg, 0xf7, sg ? 7 : 6, rm_reg(RCX), 0);
			done = g_jmp(a);
			g_here(a, zero);
			g_movi(a, RAX, ~0u);
			g_here(a, done);
			break;
		}
		zero = g_jcc(a, CC_E);
		g_op(a, sg, 0xf7, sg ? 7 : 6, rm_reg(RCX), 0);
		g_load(a, 0, RAX, rm_reg(RDX));
		g_here(a, zero);
		break;
	}
	case LOP_SELP:
		w = c->r[in->o[0]].w;
		ju_load(c, RAX, in->o[1], w);
		ju_load(c, RCX, in->o[2], w);
		ju_load(c, RDX, in->o[3], 2);
		g_alu(a, 0, G_OR, RDX, rm_reg(RDX));
		g_cmov(a, w, CC_E, RAX, rm_reg(RCX));
		break;
	case LOP_PACK:
		ju_load(c, RAX, in->o[1], 0);
		ju_load(c, RCX, in->o[2], 0);
		if (!w)
			g_movx(a, 0, 0, 2, RAX, rm_reg(RAX));
		else
			g_load(a, 0, RAX, rm_reg(RAX));
		g_shi(a, w, G_SHL, RCX, w ? 32 : 16);
		g_alu(a, w, G_OR, RAX, rm_reg(RCX));
		break;
	default:
		return false;
	}
	ju_store(c, in->o[0], RAX);
	return true;
}

static const u8 int_cc[2][CMP_GE + 1] = {
	{ 0, CC_E, CC_NE, CC_B, CC_BE, CC_A, CC_AE }, { 0, CC_E, CC_NE, CC_L, CC_LE, CC_G, CC_GE },
};
static const u8 int_imm[CMP_GE + 1] = { 0, 0, 4, 1, 2, 6, 5 };
static const u8 flt_imm[CMP_NAN + 1] = { 0, 0x00, 0x0c, 0x11, 0x12, 0x1e, 0x1d, 0x08, 0x04, 0x19, 0x1a, 0x16, 0x15, 7, 3 };

/* eax: v. Combines it with the third predicate and stores p and q. */
static void setp_tail(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 i;

	if (in->o[1] != OPND_NONE) {
		g_load(a, 0, RCX, rm_reg(RAX));
		g_not(a, 0, RCX);
	}
	if (in->sub) {
		u32 op = in->sub == BOOL_AND ? G_AND : in->sub == BOOL_OR ? G_OR : G_XOR;

		g_load(a, 0, RDX, ju_rm(c, in->o[4]));
		if (in->flags & INF_CNEG)
			g_not(a, 0, RDX);
		g_alu(a, 0, op, RAX, rm_reg(RDX));
		if (in->o[1] != OPND_NONE)
			g_alu(a, 0, op, RCX, rm_reg(RDX));
	}
	for (i = 0; i < 2; i++) {
		struct rm m;

		if (in->o[i] == OPND_NONE || c->r[in->o[i]].loc == LOC_NONE)
			continue;
		m = rm_mem(RBX, (s32)c->r[in->o[i]].home);
		if (c->gk) {
			k_to(a, RDX, c->gk == 1 ? 5 : 1);
			g_alu(a, 0, G_XOR, i ? RCX : RAX, m);
			g_alu(a, 0, G_AND, i ? RCX : RAX, rm_reg(RDX));
			g_alu(a, 0, G_XOR, i ? RCX : RAX, m);
		}
		g_store(a, 0, m, i ? RCX : RAX);
	}
}

static bool scalar_setp(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);

	if (in->type == T_F32) {
		jit_mxcsr(c, in->mxcsr);
		f_load(c, 1, in->o[3]);
		f_load(c, 0, in->o[2]);
		ev_i(a, V_LL(V_CMPPS, 0), 7, 0, rm_reg(1), 0, 0, flt_imm[in->lop]);
		k_to(a, RAX, 7);
		g_alui(a, 0, G_AND, rm_reg(RAX), 1);
	} else {
		if (in->lop > CMP_GE)
			return false;
		ju_load(c, RAX, in->o[2], w);
		u_alu(c, G_CMP, RAX, in->o[3], w);
		g_op(a, 0, 0x190u | int_cc[type_is_signed(in->type)][in->lop], 0, rm_reg(RAX), 0);
		g_movx(a, 0, 0, 1, RAX, rm_reg(RAX));
	}
	g_neg(a, 0, RAX);
	setp_tail(c, in);
	return true;
}

bool jit_scalar_op(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	switch (in->kind) {
	case K_LANE:
		return scalar_lane(c, in);
	case K_SETP:
		return scalar_setp(c, in);
	case K_CVTA:
		ju_load(c, RAX, in->o[1], 1);
		g_alu(a, 1, in->sub ? G_SUB : G_ADD, RAX, in->space == SPACE_SHARED ? PM(shared) : in->space == SPACE_LOCAL ? PM(local) : PM(pwin));
		ju_store(c, in->o[0], RAX);
		return true;
	}
	return false;
}

/* ---- comparisons and predicates --------------------------------------------------------- */

/* k = a cmp b for one part; false: not done */
static bool compare(struct jcomp *c, const struct insn *in, u32 part, int k)
{
	struct as *a = &c->a;
	u8 t = in->type, w = is64(t) || t == T_F64;
	bool sg = type_is_signed(t);
	struct rm m;
	int x, bc;

	if (t == T_F32 || t == T_F64) {
		if (in->lop > CMP_NAN)
			return false;
		x = jv_reg(c, in->o[2], w, part, 0);
		m = jv_rm(c, in->o[3], w, part, 1, &bc);
		ev_n(a, w ? V_CMPPD : V_CMPPS, k, x, m, 0, 0, bc, v_n(V_CMPPS, 0) / (bc ? (w ? 8 : 16) : 1), 1);
		b1(a, flt_imm[in->lop]);
		return true;
	}
	if (in->lop > CMP_GE || !(is32(t) || is64(t) || is16(t)))
		return false;
	if (is16(t)) {
		x = jv_reg(c, in->o[2], 0, part, 0);
		ev_i(a, V_PSHID, 6, 0, rm_reg(x), 0, 0, 16);
		m = jv_rm(c, in->o[3], 0, part, 1, NULL);
		ev_i(a, V_PSHID, 6, 1, m, 0, 0, 16);
		ev_i(a, sg ? V_PCMPD : V_PCMPUD, k, 0, rm_reg(1), 0, 0, int_imm[in->lop]);
		return true;
	}
	x = jv_obs(c, in->o[2], w, part, 0);
	m = jv_rm_obs(c, in->o[3], w, part, 1, &bc);
	ev_n(a, w ? (sg ? V_PCMPQ : V_PCMPUQ) : sg ? V_PCMPD : V_PCMPUD, k, x, m, 0, 0, bc, bc ? (w ? 8 : 4) : 64, 1);
	b1(a, int_imm[in->lop]);
	return true;
}

/* A comparison of a pattern p with something uniform: in terms of u = scalar of p, b: p < b, p <= b, p == b, or the contrary. */
static bool pattern_test(const struct jcomp *c, const struct insn *in, u32 *p, u32 *b, u32 *lop, bool *not)
{
	static const u8 mirror[CMP_GE + 1] = { [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT, [CMP_LE] = CMP_GE,
					       [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE };
	u8 w = is64(in->type);
	struct jval x, y;
	s32 lo, hi;

	if ((!w && !is32(in->type)) || (w && !type_is_signed(in->type)) || in->lop > CMP_GE || in->sub || in->o[1] != OPND_NONE)
		return false;
	x = jit_val(c, in->o[2], w);
	y = jit_val(c, in->o[3], w);
	*lop = in->lop;
	*p = in->o[2];
	*b = in->o[3];
	if (x.cls == JC_UNI && y.cls == JC_PAT) {
		struct jval t = x;

		x = y;
		y = t;
		*p = in->o[3];
		*b = in->o[2];
		*lop = mirror[in->lop];
	}
	if (x.cls != JC_PAT || y.cls != JC_UNI)
		return false;
	lane_range(c, x, &lo, &hi);
	*not = *lop == CMP_GE || *lop == CMP_GT || *lop == CMP_NE;
	*lop = *lop == CMP_GE ? CMP_LT : *lop == CMP_GT ? CMP_LE : *lop == CMP_NE ? CMP_EQ : *lop;
	return lo == 0;
}

/*
 * The branch behind it goes by what in says: where all lanes say the same, which scalars tell, we are there at once.
 * taken_if: it jumps if in is true.
 */
void jit_setp_ahead(struct jcomp *c, const struct insn *in, bool taken_if)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	bool sg = type_is_signed(in->type), not;
	u32 p, b, lop, slow[3], nslow = 0, i, *yes = c->yes, *no = c->no;
	u8 *nyes = &c->nyes, *nno = &c->nno;
	s32 lo, hi;

	if (jit_scalar(c, in) && (w || is32(in->type)) && in->lop <= CMP_GE && !in->sub && in->o[1] == OPND_NONE) {
		u32 cc = int_cc[sg][in->lop];

		ju_load(c, RAX, in->o[2], w);
		u_alu(c, G_CMP, RAX, in->o[3], w);
		if (taken_if)
			no[(*nno)++] = g_jcc(a, cc ^ 1);
		else
			yes[(*nyes)++] = g_jcc(a, cc);
		c->decided = true;
		return;
	}
	if (jit_scalar(c, in) || !pattern_test(c, in, &p, &b, &lop, &not) || (jit_val(c, p, w).sk && jit_val(c, b, w).sk))
		return;
	lane_range(c, jit_val(c, p, w), &lo, &hi);
	if (not) {
		yes = c->no;
		no = c->yes;
		nyes = &c->nno;
		nno = &c->nyes;
	}
	/* rax = u, rcx = b - u, in 64 bits */
	ju_load(c, RAX, p, w);
	ju_load(c, RCX, b, w);
	if (!w && sg) {
		g_movsxd(a, RAX, rm_reg(RAX));
		g_movsxd(a, RCX, rm_reg(RCX));
	} else if (!w) {
		g_load(a, 0, RAX, rm_reg(RAX));
		g_load(a, 0, RCX, rm_reg(RCX));
	}
	g_alu(a, 1, G_SUB, RCX, rm_reg(RAX));
	if (w)
		slow[nslow++] = g_jcc(a, CC_O);
	g_alui(a, 1, G_CMP, rm_reg(RCX), hi);
	if (lop == CMP_EQ)
		no[(*nno)++] = g_jcc(a, CC_G);
	else
		yes[(*nyes)++] = g_jcc(a, lop == CMP_LT ? CC_G : CC_GE);
	g_alui(a, 1, G_CMP, rm_reg(RCX), 0);
	slow[nslow++] = g_jcc(a, lop == CMP_LT ? CC_G : CC_GE);
	/* no lane is below, if none wraps */
	if (jit_val(c, p, w).max >= (w ? 1ull << 63 : sg ? 1ull << 31 : 1ull << 32)) {
		g_alui(a, w, G_ADD, rm_reg(RAX), hi);
		slow[nslow++] = g_jcc(a, sg ? CC_O : CC_B);
	}
	no[(*nno)++] = g_jmp(a);
	for (i = 0; i < nslow; i++)
		g_here(a, slow[i]);
}

/* Both sides known: so is every lane's answer. */
static bool known_answer(const struct jcomp *c, const struct insn *in, u32 *mask)
{
	u8 w = is64(in->type);
	struct jval x, y;
	u32 l;

	if ((!w && !is32(in->type)) || in->lop > CMP_GE)
		return false;
	x = jit_val(c, in->o[2], w);
	y = jit_val(c, in->o[3], w);
	if (!x.sk || !y.sk || x.cls == JC_VARY || y.cls == JC_VARY)
		return false;
	*mask = 0;
	for (l = 0; l < LANES; l++) {
		u64 p = x.s + (u64)(s64)c->pats[x.pat][l], q = y.s + (u64)(s64)c->pats[y.pat][l];
		bool eq, lt;

		if (!w) {
			p = type_is_signed(in->type) ? (u64)(s64)(s32)(u32)p : (u32)p;
			q = type_is_signed(in->type) ? (u64)(s64)(s32)(u32)q : (u32)q;
		}
		eq = p == q;
		lt = type_is_signed(in->type) ? (s64)p < (s64)q : p < q;
		if (in->lop == CMP_EQ ? eq : in->lop == CMP_NE ? !eq : in->lop == CMP_LT ? lt : in->lop == CMP_LE ? lt || eq :
		    in->lop == CMP_GT ? !lt && !eq : !lt)
			*mask |= 1u << l;
	}
	return true;
}

bool jit_setp(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type) || in->type == T_F64;
	u32 h;

	if (known_answer(c, in, &h)) {
		g_movi(a, RAX, h);
		setp_tail(c, in);
		return true;
	}

	if (in->type == T_F32 || in->type == T_F64)
		jit_mxcsr(c, in->mxcsr);
	for (h = 0; h < (w ? 2u : 1u); h++) {
		if (!compare(c, in, h * 2, 7) || !compare(c, in, h * 2 + 1, 6))
			return false;
		if (w)
			k_unpckbw(a, 7, 6, 7);
		else
			k_unpckwd(a, 7, 6, 7);
		k_to(a, h ? RCX : RAX, 7);
	}
	if (w) {
		g_shi(a, 0, G_SHL, RCX, 16);
		g_load(a, 0, RAX, rm_reg(RAX));
		g_alu(a, 0, G_OR, RAX, rm_reg(RCX));
	}
	setp_tail(c, in);
	return true;
}

bool jit_pred(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct rm m = rm_mem(RBX, (s32)c->r[in->o[0]].home);

	if (c->r[in->o[0]].loc == LOC_NONE)
		return true;
	g_load(a, 0, RAX, ju_rm(c, in->o[1]));
	if (in->flags & INF_CNEG)
		g_not(a, 0, RAX);
	if (in->sub == PRED_NOT) {
		g_not(a, 0, RAX);
	} else if (in->sub != PRED_MOV) {
		g_load(a, 0, RCX, ju_rm(c, in->o[2]));
		if (in->flags & INF_BNEG)
			g_not(a, 0, RCX);
		g_alu(a, 0, in->sub == PRED_AND ? G_AND : in->sub == PRED_OR ? G_OR : G_XOR, RAX, rm_reg(RCX));
	}
	if (c->gk) {
		k_to(a, RDX, c->gk == 1 ? 5 : 1);
		g_alu(a, 0, G_XOR, RAX, m);
		g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
		g_alu(a, 0, G_XOR, RAX, m);
	}
	g_store(a, 0, m, RAX);
	return true;
}

/* ---- special registers ------------------------------------------------------------------ */

bool jit_sreg(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 d = in->o[0], dim, part;

	switch (in->sub) {
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z:
		g_load(a, 1, RAX, rm_mem(R13, (s32)offsetof(struct warp, cta) - (s32)offsetof(struct warp, main)));
		g_load(a, 0, RAX, rm_mem(RAX, (s32)offsetof(struct cta, id) + 4 * (in->sub - SR_CTAID_X)));
		break;
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
		g_load(a, 0, RAX, rm_mem(RBX, PSZ(dim) + 4 * (in->sub - SR_NCTAID_X)));
		break;
	case SR_TID_X: case SR_TID_Y: case SR_TID_Z:
		dim = in->sub - SR_TID_X;
		if (c->r[d].cls != JC_VARY) {
			g_load(a, 0, RAX, rm_mem(RBX, PSZ(tid) + 4 * (s32)dim));
			break;
		}
		if (c->r[d].w)
			return false;
		g_load(a, 1, RAX, rm_mem(RBX, PSZ(tidv) + 8 * (s32)dim));
		for (part = 0; part < 2; part++) {
			int t = jv_dst(c, d, part, 0);

			ev(a, V_MOVU32, t, 0, rm_mem(RAX, (s32)(64 * part)));
			jv_put(c, d, part, t);
		}
		return true;
	default:
		return false;
	}
	if (c->r[d].cls == JC_VARY)
		return false;
	ju_store(c, d, RAX);
	return true;
}
