/* SPDX-License-Identifier: MIT */
/*
 * Comparisons and predicates, and a comparison together with the branch behind it. Called by jit.c and jit_scalar.c, one
 * instruction at a time.
 */
#include "jit_mem.h"
#include "lanes.h"

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }
static bool is_half(u8 t) { return t == T_F16 || t == T_BF16; }
static bool is16(u8 t) { return t == T_U16 || t == T_S16 || t == T_B16; }

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
		c->rax_pred = in->o[0];
		c->rax_at = i ? 0 : a->n;
	}
}

bool jit_setp_scalar(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);

	if (in->type == T_F32) {
		jit_mxcsr(c, in->mxcsr);
		ju_float(c, 1, in->o[3]);
		ju_float(c, 0, in->o[2]);
		ev_i(a, V_LL(V_CMPPS, 0), 7, 0, rm_reg(1), 0, 0, flt_imm[in->lop]);
		k_to(a, RAX, 7);
		g_alui(a, 0, G_AND, rm_reg(RAX), 1);
	} else {
		if (in->lop > CMP_GE)
			return false;
		ju_load(c, RAX, in->o[2], w);
		ju_alu(c, G_CMP, RAX, in->o[3], w);
		g_op(a, 0, 0x190u | int_cc[type_is_signed(in->type)][in->lop], 0, rm_reg(RAX), 0);
		g_movx(a, 0, 0, 1, RAX, rm_reg(RAX));
	}
	g_neg(a, 0, RAX);
	setp_tail(c, in);
	return true;
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
	if (is_half(t)) {
		if (in->lop > CMP_NAN)
			return false;
		jit_half_wide(c, t == T_BF16, in->o[2], part, 0);
		jit_half_wide(c, t == T_BF16, in->o[3], part, 1);
		ev_i(a, V_CMPPS, k, 0, rm_reg(1), 0, 0, flt_imm[in->lop]);
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
	jit_range(c, x, &lo, &hi);
	*not = *lop == CMP_GE || *lop == CMP_GT || *lop == CMP_NE;
	*lop = *lop == CMP_GE ? CMP_LT : *lop == CMP_GT ? CMP_LE : *lop == CMP_NE ? CMP_EQ : *lop;
	return lo == 0;
}

/* rax = u, rcx = b - u, in 64 bits: of a pattern u + ... at p. Where that is not a number of 64 bits: slow */
static void less_pattern(struct jcomp *c, u32 p, u32 b, u8 w, bool sg, u32 *slow, u32 *nslow)
{
	struct as *a = &c->a;

	if (w) {
		ju_load(c, RAX, p, 1);
		ju_load(c, RCX, b, 1);
	} else {
		ju_wide(c, RAX, p, sg);
		ju_wide(c, RCX, b, sg);
	}
	g_alu(a, 1, G_SUB, RCX, rm_reg(RAX));
	if (w)
		slow[(*nslow)++] = g_jcc(a, CC_O);
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
		ju_alu(c, G_CMP, RAX, in->o[3], w);
		if (taken_if)
			no[(*nno)++] = g_jcc(a, cc ^ 1);
		else
			yes[(*nyes)++] = g_jcc(a, cc);
		c->decided = true;
		return;
	}
	if (jit_scalar(c, in) || !pattern_test(c, in, &p, &b, &lop, &not) || (jit_val(c, p, w).sk && jit_val(c, b, w).sk))
		return;
	jit_range(c, jit_val(c, p, w), &lo, &hi);
	if (not) {
		yes = c->no;
		no = c->yes;
		nyes = &c->nno;
		nno = &c->nyes;
	}
	less_pattern(c, p, b, w, sg, slow, &nslow);
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

/*
 * How many copies of scalars lie between the comparison of scalars at pc and its branch, whose only reader that is, as where a loop's counter
 * gets its new value. They leave the flags alone. 0: none, or it is not so.
 */
u32 jit_copies_ahead(const struct jcomp *c, const struct insn *in, u32 pc)
{
	const struct jblock *jb = &c->s->b[c->block];
	u32 n = 0, k, p = in->o[0];

	if (in->kind != K_SETP || in->guard != OPND_NONE || in->o[1] != OPND_NONE || in->sub || in->lop > CMP_GE || !(is32(in->type) || is64(in->type)) ||
	    !jit_scalar(c, in) || j_keeps(c, in) || jit_live_behind(c->s, c->block, p) || jit_stress || c->after_half || c->decided || c->merged[pc].kind)
		return 0;
	for (k = 1; pc + k < jb->end; k++) {
		const struct insn *next = in + k;

		if (next->kind == K_CBRA)
			return next->guard == p ? n : 0;
		if (next->kind != K_LANE || next->lop != LOP_MOV || next->guard != OPND_NONE || next->def != 1 || next->dw == 2 || !jit_scalar(c, next) ||
		    j_keeps(c, next) || c->merged[pc + k].kind || c->sym[next->o[0]].ghost)
			return 0;
		n++;
	}
	return 0;
}

void jit_setp_copies(struct jcomp *c, const struct insn *in, u32 pc, u32 n)
{
	u8 w = is64(in->type);
	u32 cc = int_cc[type_is_signed(in->type)][in->lop], k;

	c->gk = 0;
	ju_load(c, RAX, in->o[2], w);
	ju_alu(c, G_CMP, RAX, in->o[3], w);
	jm_defines(c, in);
	for (k = 1; k <= n; k++) {
		const struct insn *copy = in + k;
		u32 d = copy->o[0];

		c->pc = pc + k;
		if (c->live_at[(size_t)(pc + k + 1) * c->s->words + (d >> 6)] >> (d & 63) & 1)
			jit_scalar_op(c, copy);
		jm_defines(c, copy);
	}
	if (in[n + 1].gneg)
		c->yes[c->nyes++] = g_jcc(&c->a, cc);
	else
		c->no[c->nno++] = g_jcc(&c->a, cc ^ 1);
	c->decided = true;
	c->passed = n;
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

/* Numbers of lanes that go up by 1 << shift every 1 << group lanes, and begin again every `lanes` lanes: a block's x or y, times something. */
struct ramp { u32 shift, group, lanes; };

static bool is_ramp(const struct jcomp *c, struct jval v, struct ramp *r)
{
	const s32 *p = c->pats[v.pat];
	u32 l, step;

	for (l = 1; l < LANES && p[l] == p[0]; l++)
		;
	if (p[0] || l == LANES || l & (l - 1) || p[l] <= 0 || p[l] & (p[l] - 1) || p[l] > 1 << 16)
		return false;
	r->group = (u32)__builtin_ctz(l);
	step = (u32)p[l];
	r->shift = (u32)__builtin_ctz(step);
	for (; l < LANES && p[l]; l++)
		;
	r->lanes = l;
	if (l & (l - 1))
		return false;
	for (l = 0; l < LANES && (u32)p[l] == (l % r->lanes >> r->group) * step; l++)
		;
	return l == LANES;
}

/*
 * A ramp compared with something uniform: the lanes that are below are the first so many, and which one is equal is a difference, so the mask is made of scalars, eax.
 * *slow: a jump from where a lane's number would wrap, 0: none. False: nothing emitted.
 */
static bool ramp(struct jcomp *c, const struct insn *in, u32 *slow, u32 *nslow)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);
	bool sg = type_is_signed(in->type), not;
	u32 p, b, lop, shift;
	struct ramp r;
	s32 lo, hi, n;

	*nslow = 0;
	if (!pattern_test(c, in, &p, &b, &lop, &not) || !is_ramp(c, jit_val(c, p, w), &r) || (lop == CMP_EQ && r.shift))
		return false;
	shift = r.shift;
	n = (s32)(r.lanes >> r.group);
	jit_range(c, jit_val(c, p, w), &lo, &hi);
	if (lop == CMP_EQ) {            /* whether it wraps or not */
		ju_load(c, RAX, p, w);
		ju_load(c, RCX, b, w);
		g_alu(a, w, G_SUB, RCX, rm_reg(RAX));
		g_movi(a, RDX, 0);
		g_movi(a, RAX, (1u << (1u << r.group)) - 1);
		g_alui(a, w, G_CMP, rm_reg(RCX), n - 1);
		g_cmov(a, 0, CC_A, RAX, rm_reg(RDX));
		if (r.group)
			g_shi(a, 0, G_SHL, RCX, r.group);
		g_shcl(a, 0, G_SHL, RAX);
	} else {
		less_pattern(c, p, b, w, sg, slow, nslow);
		if (jit_val(c, p, w).max >= (w ? 1ull << 63 : sg ? 1ull << 31 : 1ull << 32)) {
			g_alui(a, w, G_ADD, rm_reg(RAX), hi);
			slow[(*nslow)++] = g_jcc(a, sg ? CC_O : CC_B);
		}
		/* rcx: how many are below */
		if (lop == CMP_LT && shift) {
			g_alui(a, 1, G_CMP, rm_reg(RCX), hi);   /* beyond that all are; nothing is added to what may be the largest number */
			g_movi(a, RDX, (u64)hi + 1);
			g_cmov(a, 1, CC_G, RCX, rm_reg(RDX));
			g_alui(a, 1, G_ADD, rm_reg(RCX), (1 << shift) - 1);
		}
		if (shift)
			g_shi(a, 1, G_SAR, RCX, shift);
		g_movi(a, RDX, (u64)(n - (lop == CMP_LE)));
		g_alui(a, 1, G_CMP, rm_reg(RCX), n - (lop == CMP_LE));
		g_cmov(a, 1, CC_G, RCX, rm_reg(RDX));
		if (lop == CMP_LE)
			g_alui(a, 1, G_ADD, rm_reg(RCX), 1);
		g_movi(a, RDX, 0);
		g_alui(a, 1, G_CMP, rm_reg(RCX), 0);
		g_cmov(a, 1, CC_L, RCX, rm_reg(RDX));
		if (r.group)
			g_shi(a, 1, G_SHL, RCX, r.group);
		g_movi(a, RAX, 1);
		g_shcl(a, 1, G_SHL, RAX);
		g_alui(a, 1, G_SUB, rm_reg(RAX), 1);
	}
	if (r.lanes < LANES)
		g_imuli(a, 0, RAX, rm_reg(RAX), (s32)(r.lanes == 16 ? 0x10001 : r.lanes == 8 ? 0x1010101 : r.lanes == 4 ? 0x11111111 : 0x55555555));
	if (not)
		g_not(a, 0, RAX);
	return true;
}

bool jit_setp(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type) || in->type == T_F64;
	u32 h, slow[2], nslow, over = 0;

	if (known_answer(c, in, &h)) {
		g_movi(a, RAX, h);
		setp_tail(c, in);
		return true;
	}
	if (ramp(c, in, slow, &nslow)) {
		if (!nslow) {
			setp_tail(c, in);
			return true;
		}
		over = g_jmp(a);
		while (nslow)
			g_here(a, slow[--nslow]);
	}
	if (type_is_float(in->type) && in->type != T_F16)       /* no f16 is a denormal f32 */
		jit_mxcsr(c, in->mxcsr);
	for (h = 0; h < (w ? 2u : 1u); h++) {
		bool done = compare(c, in, h * 2, 6);

		k_hold(a, 6);
		done = done && compare(c, in, h * 2 + 1, 7);
		k_let(a, 6);
		if (!done)
			return false;
		if (w)
			k_unpckbw(a, 7, 7, 6);
		else
			k_unpckwd(a, 7, 7, 6);
		k_to(a, h ? RCX : RAX, 7);
	}
	if (w) {
		g_shi(a, 0, G_SHL, RCX, 16);
		g_load(a, 0, RAX, rm_reg(RAX));
		g_alu(a, 0, G_OR, RAX, rm_reg(RCX));
	}
	if (over)
		g_here(a, over);
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
