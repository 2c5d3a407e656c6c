/* SPDX-License-Identifier: MIT */
/*
 * Scalar code (uniform values and patterns: what lane 0 computes) and special registers. Called by jit.c, one
 * instruction at a time. Vector arithmetic is in jit_lane.c, comparisons in jit_setp.c, memory in jit_mem.c and jit_st.c.
 */
#include "jit.h"
#include "lanes.h"

static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

static bool small(u64 k, u8 w, s32 *out)
{
	if (!w) {
		*out = (s32)(u32)k;
		return true;
	}
	*out = (s32)k;
	return (s64)k == (s64)(s32)k;
}

void ju_alu(struct jcomp *c, u32 op, int t, u32 o, u8 w)
{
	struct jval v = jit_val(c, o, w);
	s32 i;

	if (jit_stress && t != RCX)     /* it may be needed for o */
		g_movi(&c->a, RCX, 0x5a5a5a5a5a5a);
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
	if (v.sk || (!(o & OPND_CONST) && c->r[o].loc == LOC_ZMM)) {
		ju_load(c, RCX, o, w);
		g_imul(&c->a, w, t, rm_reg(RCX));
	} else {
		g_imul(&c->a, w, t, ju_rm(c, o));
	}
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

void jit_range(const struct jcomp *c, struct jval v, s32 *lo, s32 *hi)
{
	u32 l;

	*lo = *hi = 0;
	for (l = 0; l < LANES; l++) {
		*lo = c->pats[v.pat][l] < *lo ? c->pats[v.pat][l] : *lo;
		*hi = c->pats[v.pat][l] > *hi ? c->pats[v.pat][l] : *hi;
	}
}

/* Widening a pattern: may a lane wrap in 32 bits? */
static bool may_wrap(const struct jcomp *c, struct jval v, bool sg)
{
	s32 lo, hi;

	/* where the scalar is known, so is that none does (jit_scan.c) */
	if (v.cls != JC_PAT || v.sk || v.max < (sg ? 1ull << 31 : 1ull << 32))
		return false;
	jit_range(c, v, &lo, &hi);
	return lo || (v.ual <= 30 && hi >> v.ual);      /* else no carry */
}

bool jit_guess_wide(const struct jcomp *c, const struct insn *in)
{
	bool sg = type_is_signed(in->type);

	switch (in->lop) {
	case LOP_MULWIDE: case LOP_MADWIDE:
		return may_wrap(c, jit_val(c, in->o[1], 0), sg) || may_wrap(c, jit_val(c, in->o[2], 0), sg);
	case LOP_CVT_SEXT:
		return may_wrap(c, jit_val(c, in->o[1], 0), sg);
	default:
		return false;
	}
}

/* The same number more in each lane: which; 0: not so */
static s32 even_step(const struct jcomp *c, struct jval v)
{
	const s32 *p = c->pats[v.pat];

	return j_steps_by(p, LANES, p[1]) ? p[1] : 0;
}

/*
 * rax is lane 0's value, widened, and one that is beyond 32 bits, but maybe of a lane that does not run: a wave front's others lie in front of the array. rax
 * becomes what the first that runs says; leaves where the last one does not say the same, or where it would be none of 32 bits. rcx and rdx are lost.
 */
static void widen_some(struct jcomp *c, s32 step, bool sg, u32 x)
{
	struct as *a = &c->a;

	g_alui(a, 0, G_CMP, PM(m), -1);
	j_leave_if(c, CC_E, x);
	g_tzcnt(a, RCX, PM(m));
	g_imuli(a, 1, RCX, rm_reg(RCX), step);
	g_wide_sum(a, RDX, RAX, RCX, sg);
	g_alu(a, 1, G_SUB, RDX, rm_reg(RCX));
	g_bsr(a, RCX, PM(m));
	g_imuli(a, 1, RCX, rm_reg(RCX), step);
	g_wide_sum(a, RAX, RAX, RCX, sg);
	g_alu(a, 1, G_ADD, RCX, rm_reg(RDX));
	g_alu(a, 1, G_CMP, RAX, rm_reg(RCX));
	j_leave_if(c, CC_NE, x);
	if (sg)
		g_movsxd(a, RAX, rm_reg(RDX));
	else
		g_load(a, 0, RAX, rm_reg(RDX));
	g_alu(a, 1, G_CMP, RAX, rm_reg(RDX));
	j_leave_if(c, CC_NE, x);
}

/* None may: rax holds lane 0's value, widened where that is said; then lanes that do not run may be left out. */
static void check_widen(struct jcomp *c, u32 o, bool sg, bool is_wide)
{
	struct jval v = jit_val(c, o, 0);
	u32 x, over[2], n = 0, none;
	s32 lo, hi, step;

	if (!may_wrap(c, v, sg))
		return;
	jit_range(c, v, &lo, &hi);
	x = j_exit(c, JX_LEAVE, c->pc, 0);
	step = is_wide ? even_step(c, v) : 0;
	if (hi) {
		g_load(&c->a, 0, RDX, rm_reg(RAX));
		g_alui(&c->a, 0, G_ADD, rm_reg(RDX), hi);
		if (step)
			over[n++] = g_jcc(&c->a, sg ? CC_O : CC_B);
		else
			j_leave_if(c, sg ? CC_O : CC_B, x);
	}
	if (lo) {
		g_load(&c->a, 0, RDX, rm_reg(RAX));
		g_alui(&c->a, 0, sg ? G_ADD : G_SUB, rm_reg(RDX), sg ? lo : -lo);
		if (step)
			over[n++] = g_jcc(&c->a, sg ? CC_O : CC_B);
		else
			j_leave_if(c, sg ? CC_O : CC_B, x);
	}
	if (!n)
		return;
	none = g_jmp(&c->a);
	while (n)
		g_here(&c->a, over[--n]);
	widen_some(c, step, sg, x);
	g_here(&c->a, none);
}

/* jit_guess_sign(): every lane is at least 0. rax holds lane 0's value. */
static void check_sign(struct jcomp *c, const struct insn *in, u8 w)
{
	struct jval v = jit_val(c, in->o[1], w);
	u32 x = j_exit(c, JX_QUIT, c->pc, 0);
	s32 lo, hi;

	jit_range(c, v, &lo, &hi);
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
void ju_float(struct jcomp *c, int x, u32 o)
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
		ju_float(c, 0, in->o[1]);
		ev(a, V_LL(V_CVTPH2PS, 0), 0, 0, rm_reg(0));
		break;
	default:
		ju_float(c, 1, in->o[2]);
		if (in->lop == LOP_MAD)
			ju_float(c, 2, in->o[3]);
		ju_float(c, 0, in->o[1]);
		ev_n(a, V_LL(in->lop == LOP_ADD ? V_ADDSS : in->lop == LOP_SUB ? V_SUBSS : in->lop == LOP_MUL ? V_MULSS :
			     V_FMADD213SS, 0), 0, in->lop == LOP_MAD ? 1 : 0, rm_reg(in->lop == LOP_MAD ? 2 : 1), 0, 0, 0, 4, 0);
	}
	f_done(c);
	ju_store(c, in->o[0], RAX);
	return true;
}

/* gpr = o, 32 bits extended to 64 */
void ju_wide(struct jcomp *c, int gpr, u32 o, bool sg)
{
	bool held = (o & OPND_CONST) || c->r[o].loc == LOC_GPR || (c->r[o].loc == LOC_MEM && c->r[o].cls != JC_VARY);

	if (held && !jit_val(c, o, 0).sk) {
		if (sg)
			g_movsxd(&c->a, gpr, ju_rm(c, o));
		else
			g_load(&c->a, 0, gpr, ju_rm(c, o));
		return;
	}
	ju_load(c, gpr, o, 0);
	if (sg)
		g_movsxd(&c->a, gpr, rm_reg(gpr));
	else
		g_load(&c->a, 0, gpr, rm_reg(gpr));
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
			ju_alu(c, G_ADD, t, y, w);
		}
	} else if (p >= 0 && q >= 0 && p != t && q != t) {
		g_lea(a, w, t, rm_idx(p, q, 0, 0));
	} else if (q >= 0 && q == t) {
		ju_alu(c, G_ADD, t, x, w);
	} else {
		ju_load(c, t, x, w);
		ju_alu(c, G_ADD, t, y, w);
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
	bool none;
	u32 need;
	int t;

	if (in->type == T_F32 && in->lop != LOP_MOV && in->lop != LOP_SELP)
		return scalar_float(c, in);
	t = target(c, in);
	if (c->r[in->o[0]].sure && c->r[in->o[0]].sk) {
		g_movi(a, t, c->r[in->o[0]].w == 1 ? c->r[in->o[0]].s : (u32)c->r[in->o[0]].s);
		ju_store(c, in->o[0], t);
		return true;
	}
	switch (in->lop) {
	case LOP_MOV:
		ju_load(c, t, in->o[1], w);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_ADD:
		scalar_add(c, in->o[0], in->o[1], in->o[2], w);
		return true;
	case LOP_POPC: case LOP_CLZ: case LOP_BFIND: case LOP_BFINDSH: case LOP_BREV:
		ju_load(c, RAX, in->o[1], w);
		jit_bits_scalar(c, in);
		ju_store(c, in->o[0], RAX);
		return true;
	case LOP_SUB: case LOP_AND: case LOP_OR: case LOP_XOR:
		none = in->lop == LOP_SUB && c->r[in->o[0]].sk && !c->r[in->o[0]].sure && jit_same_scalar(c, in, w ? 64 : 32);
		if (none || (in->lop == LOP_AND && jit_guess_align(c, in, &need)))
			t = RAX;
		ju_load(c, t, in->o[1], w);
		if (in->lop == LOP_AND)
			check_align(c, in);
		ju_alu(c, in->lop == LOP_SUB ? G_SUB : in->lop == LOP_AND ? G_AND :
		      in->lop == LOP_OR ? G_OR : G_XOR, t, in->o[2], w);
		if (none) {
			g_alu(a, w, G_OR, RAX, rm_reg(RAX));
			j_leave_if(c, CC_NE, j_exit(c, JX_QUIT, c->pc, 0));
		}
		ju_store(c, in->o[0], t);
		return true;
	case LOP_MUL:
	case LOP_MAD:
		ju_load(c, t, in->o[1], w);
		u_mul(c, t, in->o[2], w);
		if (in->lop == LOP_MAD)
			ju_alu(c, G_ADD, t, in->o[3], w);
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
		if (jit_guess_align(c, in, &need) || jit_guess_sign(c, in))
			t = RAX;
		ju_load(c, t, in->o[1], w);
		check_align(c, in);
		if (jit_guess_sign(c, in))
			check_sign(c, in, w);
		if (v2.k)
			g_shi(a, w, in->lop == LOP_SHL ? G_SHL : sg ? G_SAR : G_SHR, t, (u32)v2.k);
		ju_store(c, in->o[0], t);
		return true;
	case LOP_BFE:
		ju_load(c, t, in->o[1], 0);
		if (v2.k & 255)
			g_shi(a, 0, G_SHR, t, (u32)v2.k & 31);
		g_alui(a, 0, G_AND, rm_reg(t), (s32)((1ull << (v3.k & 255)) - 1));
		ju_store(c, in->o[0], t);
		return true;
	case LOP_XTR:
		ju_load(c, t, in->o[1], w);
		if (v2.k & (w ? 63 : 31))
			g_shi(a, w, G_SHR, t, (u32)v2.k & (w ? 63 : 31));
		if ((u32)v3.k != ~0u)
			g_alui(a, 0, G_AND, rm_reg(t), (s32)(u32)v3.k);
		else if (w)
			g_load(a, 0, t, rm_reg(t));
		ju_store(c, in->o[0], t);
		return true;
	case LOP_MULWIDE:
	case LOP_MADWIDE:
		if (v2.known && (u32)v2.k < 1u << 31) {
			u32 k = (u32)v2.k;

			if (may_wrap(c, jit_val(c, in->o[1], 0), sg))
				t = RAX;
			ju_wide(c, t, in->o[1], sg);
			check_widen(c, in->o[1], sg, true);
			if (k && !(k & (k - 1)))
				g_shi(a, 1, G_SHL, t, (u32)__builtin_ctz(k));
			else
				g_imuli(a, 1, t, rm_reg(t), (s32)k);
			if (in->lop == LOP_MADWIDE)
				ju_alu(c, G_ADD, t, in->o[3], 1);
			ju_store(c, in->o[0], t);
			return true;
		}
		ju_load(c, RAX, in->o[2], 0);
		check_widen(c, in->o[2], sg, false);
		extend(c, RCX, RAX, sg);
		ju_load(c, RAX, in->o[1], 0);
		check_widen(c, in->o[1], sg, false);
		extend(c, RAX, RAX, sg);
		g_imul(a, 1, RAX, rm_reg(RCX));
		if (in->lop == LOP_MADWIDE)
			ju_alu(c, G_ADD, RAX, in->o[3], 1);
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
		if (!is64(in->type)) {
			ju_load(c, RAX, in->o[1], 0);
			g_movx(a, 0, sg, 2, RAX, rm_reg(RAX));
			break;
		}
		if (may_wrap(c, jit_val(c, in->o[1], 0), sg))
			t = RAX;
		ju_wide(c, t, in->o[1], sg);
		check_widen(c, in->o[1], sg, true);
		ju_store(c, in->o[0], t);
		return true;
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
		u32 zero, done;

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
		zero = g_jcc(a, CC_E);
		g_op(a, sg, 0xf7, sg ? 7 : 6, rm_reg(RCX), 0);
		if (in->lop == LOP_REM)
			g_load(a, 0, RAX, rm_reg(RDX));
		done = g_jmp(a);
		g_here(a, zero);
		g_movi(a, RAX, ~0u);
		g_here(a, done);
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

bool jit_scalar_op(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	switch (in->kind) {
	case K_LANE:
		return scalar_lane(c, in);
	case K_SETP:
		return jit_setp_scalar(c, in);
	case K_CVTA:
		ju_load(c, RAX, in->o[1], 1);
		g_alu(a, 1, in->sub ? G_SUB : G_ADD, RAX, in->space == SPACE_SHARED ? PM(shared) : in->space == SPACE_LOCAL ? PM(local) : PM(pwin));
		ju_store(c, in->o[0], RAX);
		return true;
	}
	return false;
}

/* ---- special registers ------------------------------------------------------------------ */

bool jit_sreg(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 d = in->o[0], dim, part;
	int t = c->r[d].cls != JC_VARY && in_gpr(c, d) >= 0 ? in_gpr(c, d) : RAX;
	u8 sr = spec_sreg(c->spec & SPEC_SINGLE, in->sub);
	bool block = in->sub == SR_CTAID_X;     /* and what a lane is of it, among blocks of one thread */

	switch (sr) {
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z:
	case SR_CLUSTER_CTAID_X: case SR_CLUSTER_CTAID_Y: case SR_CLUSTER_CTAID_Z: case SR_CLUSTER_CTARANK:
		g_load(a, 1, RAX, rm_mem(R13, (s32)offsetof(struct warp, cta) - (s32)offsetof(struct warp, main)));
		g_load(a, 0, t, rm_mem(RAX, (s32)offsetof(struct cta, id) + 4 * (in->sub - SR_CTAID_X)));
		break;
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
		g_load(a, 0, t, rm_mem(RBX, PSZ(dim) + 4 * (in->sub - SR_NCTAID_X)));
		break;
	case SR_TID_X: case SR_TID_Y: case SR_TID_Z:
		dim = sr - SR_TID_X;
		if (block)
			g_load(a, 1, RCX, rm_mem(R13, (s32)offsetof(struct warp, cta) - (s32)offsetof(struct warp, main)));
		if (c->r[d].cls != JC_VARY) {
			g_load(a, 0, t, rm_mem(RBX, PSZ(tid) + 4 * (s32)dim));
			if (block)
				g_alu(a, 0, G_ADD, t, rm_mem(RCX, (s32)offsetof(struct cta, id)));
			break;
		}
		if (c->r[d].w)
			return false;
		g_load(a, 1, RAX, rm_mem(RBX, PSZ(tidv) + 8 * (s32)dim));
		if (block)
			ev_n(a, V_PBCASTD, 1, 0, rm_mem(RCX, (s32)offsetof(struct cta, id)), 0, 0, 0, 4, 0);
		for (part = 0; part < 2; part++) {
			int z = jv_dst(c, d, part, 0);

			ev(a, V_MOVU32, z, 0, rm_mem(RAX, (s32)(64 * part)));
			if (block)
				ev(a, V_PADDD, z, z, rm_reg(1));
			jv_put(c, d, part, z);
		}
		return true;
	default:
		return false;
	}
	if (c->r[d].cls == JC_VARY)
		return false;
	ju_store(c, d, t);
	return true;
}
