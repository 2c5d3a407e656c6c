/* SPDX-License-Identifier: MIT */
/*
 * Instructions whose result is one scalar for the strip: what lane 0 of it has (facts.c says that the others follow). The exits
 * here are for what facts.c supposes of additions in 32 bits that are widened: that no lane of the strip wraps.
 */
#include "strip.h"
#include "vex.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/* The same number more in each lane: which; 0: not so */
static s32 even_step(const struct scomp *c, struct sval v)
{
	s32 step = c->pats[v.pat][1];

	return s_linear(c, v, step) ? step : 0;
}

/*
 * A lane's value is beyond 32 bits, but maybe of one that does not run: a wave front's others lie in front of the array. The scalar is what the first
 * that runs says; leaves the code where the last one does not say the same. r11, rcx and rdx are lost.
 */
static void widened_of_some(struct scomp *c, int gpr, s32 step, bool sg)
{
	struct as *a = &c->a;

	g_alui(a, 0, G_CMP, rm_reg(R12), 255);
	s_wrong_if(c, CC_E);
	g_tzcnt(a, RCX, rm_reg(R12));
	g_imuli(a, 1, RCX, rm_reg(RCX), step);
	g_wide_sum(a, RDX, gpr, RCX, sg);
	g_alu(a, 1, G_SUB, RDX, rm_reg(RCX));
	g_bsr(a, R11, rm_reg(R12));
	g_imuli(a, 1, R11, rm_reg(R11), step);
	g_wide_sum(a, RCX, gpr, R11, sg);
	g_alu(a, 1, G_ADD, R11, rm_reg(RDX));
	g_alu(a, 1, G_CMP, RCX, rm_reg(R11));
	s_wrong_if(c, CC_NE);
	g_load(a, 1, gpr, rm_reg(RDX));
}

/* gpr = o, 32 bits widened; leaves the code before this instruction when a running lane's value is beyond them. */
static void widened(struct scomp *c, int gpr, u32 o, bool sg)
{
	struct as *a = &c->a;
	struct sval v = s_val(c, o, 0);
	s32 lo, hi, step = c->stage ? 0 : even_step(c, v), by[2];
	u32 over = 0, none = 0, i;

	s_to_gpr(c, o, 0, gpr);
	if (sg)
		g_movsxd(a, gpr, rm_reg(gpr));
	s_range(c, v, &lo, &hi);
	by[0] = hi;
	by[1] = lo;
	for (i = 0; i < 2; i++) {
		if (!by[i])
			continue;
		g_load(a, 0, R11, rm_reg(gpr));
		g_alui(a, 0, i && !sg ? G_SUB : G_ADD, rm_reg(R11), i && !sg ? -by[i] : by[i]);
		if (!step)
			s_wrong_if(c, sg ? CC_O : CC_B);
		else if (i || !by[1])
			none = g_jcc(a, sg ? CC_NO : CC_AE);
		else
			over = g_jcc(a, sg ? CC_O : CC_B);
	}
	if (none) {
		if (over)
			g_here(a, over);
		widened_of_some(c, gpr, step, sg);
		g_here(a, none);
	}
}

/* Into d, where the count is known; else d is rax. */
static void shift(struct scomp *c, const struct insn *in, u8 w, int d)
{
	struct as *a = &c->a;
	struct sval n = s_val(c, in->o[2], 0);
	u32 bits = w ? 64 : 32, op = in->lop == LOP_SHL ? G_SHL : type_is_signed(in->type) ? G_SAR : G_SHR;

	s_to_gpr(c, in->o[1], w, d);
	if (n.known) {
		u32 k = (u32)n.k;

		if (k >= bits && op == G_SAR)
			k = bits - 1;
		if (k >= bits)
			g_movi(a, d, 0);
		else if (k)
			g_shi(a, w, op, d, k);
		return;
	}
	s_to_gpr(c, in->o[2], 0, RCX);
	g_movi(a, RDX, op == G_SAR ? bits - 1 : 0);
	g_alui(a, 0, G_CMP, rm_reg(RCX), (s32)bits);
	if (op == G_SAR) {
		g_cmov(a, 0, CC_AE, RCX, rm_reg(RDX));
		g_shcl(a, w, op, RAX);
		return;
	}
	/* flags survive only where the count is 0: the choice comes first */
	g_cmov(a, 1, CC_AE, RAX, rm_reg(RDX));
	g_shcl(a, w, op, RAX);
}

/* Quotients by way of 64 bits, where nothing overflows. By 0: all ones. */
static void divide(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool sg = type_is_signed(in->type), rem = in->lop == LOP_REM;
	u32 zero, over;

	s_to_gpr(c, in->o[1], 0, RAX);
	s_to_gpr(c, in->o[2], 0, RCX);
	if (sg) {
		g_movsxd(a, RAX, rm_reg(RAX));
		g_movsxd(a, RCX, rm_reg(RCX));
	}
	g_alui(a, 0, G_CMP, rm_reg(RCX), 0);
	zero = g_jcc(a, CC_E);
	if (sg) {
		as_room(a, 8);
		b1(a, 0x48);    /* cqo */
		b1(a, 0x99);
	} else {
		g_movi(a, RDX, 0);
	}
	g_op(a, 1, 0xf7, sg ? 7 : 6, rm_reg(RCX), 0);
	if (rem)
		g_load(a, 0, RAX, rm_reg(RDX));
	over = g_jmp(a);
	g_here(a, zero);
	g_movi(a, RAX, 0xffffffffu);
	g_here(a, over);
	g_load(a, 0, RAX, rm_reg(RAX));
}

/* Where a scalar may be computed at once: its own register, if no operand but the first is there. */
static int target(const struct scomp *c, const struct insn *in)
{
	const struct sregister *r = &c->r[in->o[0]];
	u32 k;

	if (r->v.cls != SC_SCALAR || r->loc != LOC_GPR || !r->live)
		return RAX;
	for (k = 2; k <= s_lane_ops(in->lop); k++)
		if (in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && c->r[in->o[k]].loc == LOC_GPR && c->r[in->o[k]].reg == r->reg)
			return RAX;
	return r->reg;
}

/* Sums, products and the like, by constants where one is; the register, -1: not of these. */
static int simple(struct scomp *c, const struct insn *in, u8 w)
{
	struct as *a = &c->a;
	struct sval x = s_val(c, in->o[1], w), k = s_val(c, in->o[2], w);
	s64 v = w ? (s64)k.k : (s32)k.k;
	bool imm = k.known && v == (s32)v && !x.known;
	int d = target(c, in);
	struct rm m;
	u32 op;

	switch (in->lop) {
	case LOP_MOV:
		s_to_gpr(c, in->o[1], w || in->dw == 1, d);
		return d;
	case LOP_ADD: op = G_ADD; break;
	case LOP_SUB: op = G_SUB; break;
	case LOP_AND: op = G_AND; break;
	case LOP_OR: op = G_OR; break;
	case LOP_XOR: op = G_XOR; break;
	case LOP_MUL:
		if (!imm)
			return -1;
		g_imuli(a, w, d, sg_rm(c, in->o[1], w, RAX), (s32)v);
		return d;
	case LOP_SHL: case LOP_SHR:
		if (!s_val(c, in->o[2], 0).known)
			return -1;
		shift(c, in, w, d);
		return d;
	case LOP_CVT_SEXT:
		if (!w)
			return -1;
		widened(c, d, in->o[1], in->type == T_S64);
		return d;
	case LOP_MULWIDE: case LOP_MADWIDE:
		k = s_val(c, in->o[2], 0);
		if (w || !k.known || (s32)k.k < 0)
			return -1;
		widened(c, d, in->o[1], type_is_signed(in->type));
		if ((u32)k.k && !((u32)k.k & ((u32)k.k - 1)))
			g_shi(a, 1, G_SHL, d, (u32)__builtin_ctz((u32)k.k));
		else
			g_imuli(a, 1, d, rm_reg(d), (s32)k.k);
		if (in->lop == LOP_MADWIDE)
			g_alu(a, 1, G_ADD, d, sg_rm(c, in->o[3], 1, RCX));
		return d;
	default:
		return -1;
	}
	if (imm) {
		m = sg_rm(c, in->o[1], w, d);
		if (!m.kind && m.reg != d && (in->lop == LOP_ADD || (in->lop == LOP_SUB && v != INT32_MIN))) {
			g_lea(a, w, d, rm_mem(m.reg, (s32)(in->lop == LOP_ADD ? v : -v)));
			return d;
		}
		if (m.kind || m.reg != d)
			g_load(a, w, d, m);
		g_alui(a, w, op, rm_reg(d), (s32)v);
		return d;
	}
	if (in->lop == LOP_ADD && !x.known && !k.known && !(in->o[1] & OPND_CONST) && !(in->o[2] & OPND_CONST) && c->r[in->o[1]].loc == LOC_GPR &&
	    c->r[in->o[2]].loc == LOC_GPR) {
		g_lea(a, w, d, rm_idx(c->r[in->o[1]].reg, c->r[in->o[2]].reg, 0, 0));
		return d;
	}
	s_to_gpr(c, in->o[1], w, d);
	g_alu(a, w, op, d, sg_rm(c, in->o[2], w, RCX));
	return d;
}

/* rax = the result; false: not done */
static bool lane(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	bool sg = type_is_signed(in->type);
	u32 op;

	switch (in->lop) {
	case LOP_MOV:
		s_to_gpr(c, in->o[1], w || in->dw == 1, RAX);
		return true;
	case LOP_CVT_TRUNC:
		s_to_gpr(c, in->o[1], 1, RAX);
		g_load(a, 0, RAX, rm_reg(RAX));
		return true;
	case LOP_PACK:
		s_to_gpr(c, in->o[2], 0, RAX);
		g_shi(a, 1, G_SHL, RAX, 32);
		s_to_gpr(c, in->o[1], 0, RCX);
		g_alu(a, 1, G_OR, RAX, rm_reg(RCX));
		return true;
	case LOP_XTR:
		w = jit_src_w(in, 1);
		s_to_gpr(c, in->o[1], w, RAX);
		op = (u32)s_val(c, in->o[2], 0).k & (w ? 63 : 31);
		if (op)
			g_shi(a, w, G_SHR, RAX, op);
		g_alui(a, 0, G_AND, rm_reg(RAX), (s32)s_val(c, in->o[3], 0).k);
		return true;
	case LOP_SELP:
		s_to_gpr(c, in->o[3], 0, RCX);
		s_to_gpr(c, in->o[2], w, RAX);
		s_to_gpr(c, in->o[1], w, RDX);
		g_alui(a, 0, G_CMP, rm_reg(RCX), 0);
		g_cmov(a, w, CC_NE, RAX, rm_reg(RDX));
		return true;
	}
	if (!w && !is32(in->type))
		return false;
	if (s_guess_sign(c, in)) {
		s_to_gpr(c, in->o[1], w, RAX);
		g_alui(a, w, G_CMP, rm_reg(RAX), 0);
		s_wrong_if(c, CC_S);
		g_movi(a, RAX, 0);
		return true;
	}
	switch (in->lop) {
	case LOP_MULWIDE:
	case LOP_MADWIDE:
		if (w)
			return false;
		widened(c, RAX, in->o[1], sg);
		widened(c, RCX, in->o[2], sg);
		g_imul(a, 1, RAX, rm_reg(RCX));
		if (in->lop == LOP_MADWIDE)
			g_alu(a, 1, G_ADD, RAX, sg_rm(c, in->o[3], 1, RCX));
		return true;
	case LOP_MUL:
	case LOP_MAD:
		s_to_gpr(c, in->o[1], w, RAX);
		g_imul(a, w, RAX, sg_rm(c, in->o[2], w, RCX));
		if (in->lop == LOP_MAD)
			g_alu(a, w, G_ADD, RAX, sg_rm(c, in->o[3], w, RCX));
		return true;
	case LOP_MULHI:
		s_to_gpr(c, in->o[1], w, RAX);
		s_to_gpr(c, in->o[2], w, RCX);
		if (w) {
			g_op(a, 1, 0xf7, sg ? 5 : 4, rm_reg(RCX), 0);   /* imul, mul */
			g_load(a, 1, RAX, rm_reg(RDX));
			return true;
		}
		if (sg) {
			g_movsxd(a, RAX, rm_reg(RAX));
			g_movsxd(a, RCX, rm_reg(RCX));
		}
		g_imul(a, 1, RAX, rm_reg(RCX));
		g_shi(a, 1, G_SHR, RAX, 32);
		return true;
	case LOP_BFE: {
		u32 at = (u32)s_val(c, in->o[2], 0).k, n = (u32)s_val(c, in->o[3], 0).k;

		s_to_gpr(c, in->o[1], 0, RAX);
		if (at + n < 32)
			g_shi(a, 0, G_SHL, RAX, 32 - at - n);
		if (n < 32)
			g_shi(a, 0, sg ? G_SAR : G_SHR, RAX, 32 - n);
		return true;
	}
	case LOP_NEG:
	case LOP_NOT:
		s_to_gpr(c, in->o[1], w, RAX);
		if (in->lop == LOP_NEG)
			g_neg(a, w, RAX);
		else
			g_not(a, w, RAX);
		return true;
	case LOP_SHL:
	case LOP_SHR:
		shift(c, in, w, RAX);
		return true;
	case LOP_MIN:
	case LOP_MAX:
		s_to_gpr(c, in->o[1], w, RAX);
		s_to_gpr(c, in->o[2], w, RCX);
		g_alu(a, w, G_CMP, RAX, rm_reg(RCX));
		g_cmov(a, w, in->lop == LOP_MIN ? (sg ? CC_G : CC_A) : sg ? CC_L : CC_B, RAX, rm_reg(RCX));
		return true;
	case LOP_DIV:
	case LOP_REM:
		if (w)
			return false;
		divide(c, in);
		return true;
	}
	return false;
}

/* A scalar in rax as the result, whatever its register is. */
static void result(struct scomp *c, u32 v, u8 w)
{
	u32 p;

	if (c->r[v].v.cls == SC_SCALAR) {
		sg_put(c, v, RAX);
		return;
	}
	for (p = 0; p < (w == 1 ? 2u : 1u); p++) {
		vx_x(&c->a, w == 1 ? X_MOVQ : X_MOVD, 0, 0, rm_reg(RAX));
		vy(&c->a, w == 1 ? X_PBCASTQ : X_PBCASTD, 0, 0, rm_reg(0));
		sput(c, v, p, 0);
	}
}

static bool params(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 v;

	if (in->vec > 4)
		return false;
	for (v = 0; v < in->vec; v++) {
		s32 off = (s32)in->imm + (s32)(v * in->size);
		struct rm m = rm_mem(RCX, off);
		bool sg = in->flags & INF_SIGNED;

		if (in->o[v] == OPND_NONE)
			continue;
		g_load(a, 1, RCX, SPM(pwin));
		if (in->size == 8)
			g_load(a, 1, RAX, m);
		else if (in->size == 4 && sg && in->dw)
			g_movsxd(a, RAX, m);
		else if (in->size == 4)
			g_load(a, 0, RAX, m);
		else
			g_movx(a, in->dw, sg, in->size, RAX, m);
		result(c, in->o[v], in->dw);
	}
	return true;
}

bool s_sreg(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	bool scalar = c->r[in->o[0]].v.cls == SC_SCALAR;
	u8 sr;

	if (in->dw)
		return false;
	sr = spec_sreg(c->spec & SPEC_SINGLE, in->sub);
	switch (sr) {
	case SR_TID_X: case SR_TID_Y: case SR_TID_Z:
		g_load(a, 1, RCX, rm_mem(R15, (s32)offsetof(struct sprivate, tidv) + 8 * (sr - SR_TID_X)));
		if (in->sub == SR_CTAID_X)
			g_load(a, 1, RDX, SPM(ctaid));
		if (!scalar) {
			vy(a, X_MOVU, 0, 0, rm_idx(RCX, RBP, 0, 0));
			if (in->sub == SR_CTAID_X) {
				vy(a, X_PBCASTD, 1, 0, rm_mem(RDX, 0));
				vr(a, X_PADDD, 0, 0, 1);
			}
			sput(c, in->o[0], 0, 0);
			return true;
		}
		g_load(a, 0, RAX, rm_idx(RCX, RBP, 0, 0));
		if (in->sub == SR_CTAID_X)
			g_alu(a, 0, G_ADD, RAX, rm_mem(RDX, 0));
		break;
	case SR_LANEID:
		if (!scalar)
			return false;
		g_load(a, 0, RAX, rm_reg(RBP));
		g_shi(a, 0, G_SHR, RAX, 2);
		break;
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z:
	case SR_CLUSTER_CTAID_X: case SR_CLUSTER_CTAID_Y: case SR_CLUSTER_CTAID_Z: case SR_CLUSTER_CTARANK:
		g_load(a, 1, RCX, SPM(ctaid));
		g_load(a, 0, RAX, rm_mem(RCX, 4 * (in->sub - SR_CTAID_X)));
		break;
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z:
		g_load(a, 0, RAX, rm_mem(R15, (s32)offsetof(struct sprivate, dim) + 4 * (in->sub - SR_NCTAID_X)));
		break;
	case SR_WARPID:
		g_load(a, 0, RAX, SPM(warp));
		break;
	default:
		return false;
	}
	result(c, in->o[0], 0);
	return true;
}

static bool cvta(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct sval v = s_val(c, in->o[1], 1);
	u32 p;

	if (in->space != SPACE_SHARED && in->space != SPACE_PARAM && in->space != SPACE_LOCAL)
		return false;
	if (c->r[in->o[0]].v.cls == SC_SCALAR && v.cls == SC_SCALAR) {
		if (in->space == SPACE_LOCAL) {
			g_load(a, 0, RCX, rm_reg(RBP));
			g_shi(a, 0, G_SHR, RCX, 2);
			g_imuli(a, 1, RCX, rm_reg(RCX), (s32)jit_local_stride(c->fn));
			g_alu(a, 1, G_ADD, RCX, SPM(local));
		} else {
			g_load(a, 1, RCX, in->space == SPACE_SHARED ? SPM(shared) : SPM(pwin));
		}
		s_to_gpr(c, in->o[1], 1, RAX);
		g_alu(a, 1, in->sub ? G_SUB : G_ADD, RAX, rm_reg(RCX));
		sg_put(c, in->o[0], RAX);
		return true;
	}
	if (in->space == SPACE_LOCAL)
		return false;
	for (p = 0; p < 2; p++) {
		int x = sv(c, in->o[1], 1, p, 0), d = sdst(c, in->o[0], p, 0);

		vy(a, X_PBCASTQ, 1, 0, in->space == SPACE_SHARED ? SPM(shared) : SPM(pwin));
		vr(a, in->sub ? X_PSUBQ : X_PADDQ, d, x, 1);
		sput(c, in->o[0], p, d);
	}
	return true;
}

bool s_scalar(struct scomp *c, const struct insn *in)
{
	u32 k;

	switch ((enum kind)in->kind) {
	case K_LANE:
		if (in->dw == 2 || (c->r[in->o[0]].v.cls != SC_SCALAR && !s_guess_sign(c, in)))
			return false;
		for (k = 1; k <= s_lane_ops(in->lop); k++)
			if (s_val(c, in->o[k], jit_src_w(in, k)).cls != SC_SCALAR)
				return false;
		if (c->r[in->o[0]].v.cls == SC_SCALAR && !s_guess_sign(c, in) && (is32(in->type) || is64(in->type))) {
			int d = simple(c, in, is64(in->type));

			if (d >= 0) {
				sg_put(c, in->o[0], d);
				return true;
			}
		}
		if (!lane(c, in))
			return false;
		result(c, in->o[0], c->r[in->o[0]].w);
		return true;
	case K_LDPARAM:
		return params(c, in);
	case K_SREG:
		return s_sreg(c, in);
	case K_LADDR:
		g_movi(&c->a, RAX, in->dw ? (u64)in->imm : (u32)in->imm);
		result(c, in->o[0], in->dw);
		return true;
	case K_CVTA:
		return cvta(c, in);
	default:
		return false;
	}
}
