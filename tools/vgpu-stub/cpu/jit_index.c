/* SPDX-License-Identifier: MIT */
/*
 * Addresses that are a scalar and an index: a[i] with 32 bits of i in vectors is base + (i << shift), which is what a gather takes. Such a
 * register of 64 bits is not computed where only loads and stores want it: these check and use the index, half as many vectors, and whatever
 * else asks gets it made from base and index (jit_emit.c; jit_frame.c for the interpreter).
 *
 * That is done in one block of code, from the index's extension to the last access; in there no base and no index changes, and only our own
 * code may be entered (jcomp.sealed): the interpreter's frame need not have base and index any more. Their places are kept (jit_alloc.c).
 * The pass is called by jit.c between jit_scan and jit_merge; jx_ld() and its like by jit_mem.c, jit_st.c and jit_atom.c.
 */
#include "jit_mem.h"
#include "lanes.h"

/* ---- which registers ------------------------------------------------------------------------------------------------------- */

static bool is_plain(const struct insn *in) { return in->kind == K_LANE && in->guard == OPND_NONE; }

/* The interpreter may be met on the way to any of them, but none waits for somebody or goes elsewhere. */
bool jit_goes_on(const struct insn *in)
{
	switch (in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_LOP3: case K_CVT: case K_CVTA:
	case K_LD: case K_LDPARAM: case K_ST: case K_ATOM: case K_NOP:
		return true;
	}
	return false;
}

/* v stays what it is from behind `from` to last, and nothing behind that writes it early: loads are merged with some before them. */
bool jit_stays(const struct jcomp *c, u32 v, u32 from, u32 last, u32 end)
{
	u32 i;

	if (v == OPND_NONE || (v & OPND_CONST))
		return true;
	for (i = from + 1; i < end; i++) {
		const struct insn *in = &c->code[i];

		if (insn_writes(in, v) && (i <= last + 1 || !is_plain(in) || (in->lop != LOP_ADD && in->lop != LOP_SUB && in->lop != LOP_MOV)))
			return false;
	}
	return true;
}

/* The only definition of v, in the block that begins at start and before `before`. */
static const struct insn *made_at(const struct jcomp *c, u32 v, u32 start, u32 before)
{
	u32 d;

	if (v == OPND_NONE || (v & OPND_CONST))
		return NULL;
	d = c->def_of[v];
	if (!d || d == ~0u || d - 1 < start || d - 1 >= before || !is_plain(&c->code[d - 1]) || c->r[v].cls != JC_VARY || c->r[v].w != 1)
		return NULL;
	return &c->code[d - 1];
}

/* v, made before `before`, is a register of 32 bits, extended and shifted. */
static bool extended(const struct jcomp *c, u32 v, u32 start, u32 before, struct jsym *s)
{
	const struct insn *in = made_at(c, v, start, before);
	struct jval k;

	if (!in)
		return false;
	s->from = (u32)(in - c->code);
	if (in->lop == LOP_SHL && type_bytes(in->type) == 8) {
		k = jit_val(c, in->o[2], 0);
		if (!k.known || k.k > 3 || !made_at(c, in->o[1], start, s->from))
			return false;
		in = made_at(c, in->o[1], start, s->from);
		if (in->lop != LOP_CVT_SEXT)
			return false;
		s->from = (u32)(in - c->code);
		s->shift = (u8)k.k;
	} else if (in->lop == LOP_MULWIDE) {
		k = jit_val(c, in->o[2], 0);
		if (!k.known || !k.k || k.k > 8 || (k.k & (k.k - 1)))
			return false;
		s->shift = (u8)__builtin_ctzll(k.k);
	} else if (in->lop == LOP_CVT_SEXT) {
		s->shift = 0;
	} else {
		return false;
	}
	if ((in->lop == LOP_MULWIDE && in->type != T_U32 && in->type != T_S32) ||
	    (in->lop == LOP_CVT_SEXT && in->type != T_U64 && in->type != T_S64))
		return false;
	s->sg = type_is_signed(in->type);
	s->index = in->o[1];
	s->base = OPND_NONE;
	return s->index != OPND_NONE && !(s->index & OPND_CONST) && c->r[s->index].cls == JC_VARY && !c->r[s->index].w && !c->r[s->index].rawf;
}

/* in may use the register as its address. */
static bool by_index(const struct insn *in, u32 v)
{
	u32 k;

	if ((in->kind != K_LD && in->kind != K_ST && in->kind != K_ATOM) || in->o[4] != v || !in->aw || in->guard == v)
		return false;
	for (k = 0; k < 6; k++)
		if (k != 4 && ((in->use | in->def) >> k & 1) && in->o[k] == v)
			return false;
	return true;
}

/* The sum at pc of block b is an address. uses: how many of each register there are; made: how many of them are sums that are not computed. */
static void sum(struct jcomp *c, const struct jblock *b, u32 pc, const u32 *uses, u32 *made)
{
	const struct insn *in = &c->code[pc];
	u32 v = in->o[0], n = 0, i, k, term = OPND_NONE;
	struct jsym s = { .to = 0 };

	if (!is_plain(in) || in->lop != LOP_ADD || type_bytes(in->type) != 8 || v == OPND_NONE || c->r[v].cls != JC_VARY || c->def_of[v] != pc + 1)
		return;
	for (k = 1; k < 3 && term == OPND_NONE; k++)
		if (jit_val(c, in->o[3 - k], 1).cls == JC_UNI && extended(c, in->o[k], b->start, pc, &s)) {
			term = in->o[k];
			s.base = in->o[3 - k];
		}
	if (term == OPND_NONE)
		return;
	for (i = s.from + 1; i < b->end && jit_goes_on(&c->code[i]); i++)
		if (i > pc && insn_reads(&c->code[i], v)) {
			if (!by_index(&c->code[i], v))
				break;
			s.to = i;
			n++;
		}
	if (!n || s.to <= pc || !jit_stays(c, s.index, s.from, s.to, b->end) || !jit_stays(c, s.base, pc, s.to, b->end))
		return;
	s.ghost = n == uses[v] && !jit_live_behind(c->s, (u32)(b - c->s->b), v);
	c->sym[v] = s;
	if (s.ghost)
		made[term]++;
	for (i = s.from + 1; i <= s.to; i++)
		c->sealed[i] = 1;
}

bool jit_index(struct jcomp *c)
{
	u32 *uses = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32)), *made = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	u32 b, i, k;

	if (!uses || !made)
		return false;
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				uses[in->o[k]]++;
		for (k = 0; in->kind == K_CALL && k < in->u.call->nargs; k++)
			if (in->u.call->args[k].is_reg && !(in->u.call->args[k].opnd & OPND_CONST))
				uses[in->u.call->args[k].opnd] += 2;
	}
	jit_stay(c, uses);
	for (b = 0; b < c->s->nb; b++) {
		const struct jblock *jb = &c->s->b[b];

		for (i = jb->start; i < jb->end; i++)
			sum(c, jb, i, uses, made);
		/* what only such sums read is not computed either, from the last one back */
		for (i = jb->end; i-- > jb->start;) {
			const struct insn *in = &c->code[i];
			u32 v = in->o[0];
			struct jsym s = { .to = 0 };

			if (!is_plain(in) || v == OPND_NONE || v >= c->s->nregs || !made[v] || made[v] != uses[v] || c->def_of[v] != i + 1 ||
			    jit_live_behind(c->s, b, v) || !extended(c, v, jb->start, i + 1, &s))
				continue;
			for (k = i + 1; k < jb->end; k++)
				if (insn_reads(&c->code[k], v))
					s.to = k;
			s.ghost = true;
			c->sym[v] = s;
			if (in->lop == LOP_SHL)
				made[in->o[1]]++;
		}
	}
	return true;
}

/* ---- code ------------------------------------------------------------------------------------------------------------------ */

/* Eight lanes of such a register, in zmm t; nothing else is overwritten. */
void jx_part(struct jcomp *c, u32 v, u32 part, int t)
{
	const struct jsym *s = &c->sym[v];
	const struct jreg *r;
	struct as *a = &c->a;

	jl_widen(c, s->index, part, t, s->sg, false);
	if (s->shift)
		jl_shift(c, LOP_SHL, false, 1, t, t, s->shift);
	if (s->base == OPND_NONE)
		return;
	if (s->base & OPND_CONST) {
		ev(a, V_PADDQ, t, t, rm_mem(R12, (s32)((s->base & ~OPND_CONST) + 64 * part)));
		return;
	}
	r = &c->r[s->base];
	if (r->loc == LOC_GPR)
		g_store(a, 1, rm_mem(RBX, (s32)r->home), r->reg);
	ev_n(a, V_PADDQ, t, t, rm_mem(RBX, (s32)r->home), 0, 0, 1, 8, 0);
}

/* What in's address is at this place, if one access of a lane can use the index. */
static const struct jsym *indexed(const struct jcomp *c, const struct insn *in)
{
	const struct jsym *s;

	if (in->o[4] & OPND_CONST || !in->aw || in->vec != 1 || in->space == SPACE_LOCAL || in->space == SPACE_PARAM)
		return NULL;
	s = &c->sym[in->o[4]];
	if (s->base == OPND_NONE || s->to < c->pc || s->from >= c->pc || !s->to || in->imm < -(1 << 28) || in->imm > 1 << 28)
		return NULL;
	return in->size <= 1u << s->shift ? s : NULL;
}

/* One of 32 bits or less, loaded or stored. */
static const struct jsym *of_32(const struct jcomp *c, const struct insn *in)
{
	return !in->dw && in->size <= 4 && in->o[0] != OPND_NONE ? indexed(c, in) : NULL;
}

/* The number of a row's first lane has 31 bits, too, wherever the first that runs is. */
static void at_most(struct jcomp *c, int gpr)
{
	struct rm top = rm_lit(j_lit64(c, INT32_MAX - LANES), 0);

	g_alu(&c->a, 1, G_CMP, gpr, top);
	g_cmov(&c->a, 1, CC_A, gpr, top);
}

/*
 * rax = where index 0 is; all lanes that run are looked at. An index is good between two numbers, which are those of elements below the base
 * (signed ones alone) and above it, and not beyond 31 bits.
 */
static void check(struct jcomp *c, const struct insn *in, const struct jsym *s, u32 step)
{
	bool window = in->space == SPACE_SHARED, far = !window && c->fn->m->e->env.span_bytes >> s->shift > INT32_MAX - LANES;
	struct as *a = &c->a;
	int x[2], k;
	u32 p;

	ju_load(c, RAX, s->base, 1);
	if (in->imm)
		g_alui(a, 1, G_ADD, rm_reg(RAX), (s32)in->imm);
	g_load(a, 1, RCX, rm_reg(RAX));
	if (!window)
		g_alu(a, 1, G_SUB, RCX, PM(span_lo));
	g_load(a, 1, RDX, window ? PM(shared_total) : PM(span_lim));
	g_alui(a, 1, G_SUB, rm_reg(RDX), in->size);
	j_leave_if(c, CC_B, step);
	g_alu(a, 1, G_SUB, RDX, rm_reg(RCX));
	j_leave_if(c, CC_B, step);
	if (in->size > 1) {
		g_testi(a, RCX, in->size - 1u);
		j_leave_if(c, CC_NE, step);
	}
	if (window)
		g_alu(a, 1, G_ADD, RAX, c->pin ? rm_reg(RBP) : PM(shared));
	if (s->shift)
		g_shi(a, 1, G_SHR, RDX, s->shift);
	if (far)
		at_most(c, RDX);
	if (s->sg) {
		if (s->shift)
			g_shi(a, 1, G_SHR, RCX, s->shift);
		if (far)
			at_most(c, RCX);
		ev(a, V_PBCASTD_R, 1, 0, rm_reg(RCX));
		g_alu(a, 0, G_ADD, RDX, rm_reg(RCX));
	}
	ev(a, V_PBCASTD_R, 2, 0, rm_reg(RDX));
	for (p = 0; p < 2; p++) {
		x[p] = jv_reg(c, s->index, 0, p, p ? 4 : 0);
		if (s->sg) {
			ev(a, V_PADDD, p ? 4 : 0, x[p], rm_reg(1));
			x[p] = p ? 4 : 0;
		}
	}
	k = jv_mask(c, 0, 0);
	ev_i(a, V_PCMPUD, 7, x[0], rm_reg(2), k, 0, 6);
	k = jv_mask(c, 0, 1);
	ev_i(a, V_PCMPUD, 6, x[1], rm_reg(2), k, 0, 6);
	k_ortest(a, 7, 6);
	j_leave_if(c, CC_NE, step);
}

/*
 * gpr = the number in xmm x: an index that has been looked at, or that of a row whose first lanes do not run and may be before 0. So it is a signed one,
 * whatever the indices are.
 */
static void to_gpr(struct jcomp *c, int gpr, int x)
{
	ev_n(&c->a, V_LL(V_MOVD_ST, 0), x, 0, rm_reg(gpr), 0, 0, 0, 4, 0);
	g_movsxd(&c->a, gpr, rm_reg(gpr));
}

static struct rm place(const struct jsym *s, int gpr) { return rm_idx(RAX, gpr, s->shift, 0); }

/* How far a lane is from the first of a row. */
static struct rm lanes(struct jcomp *c)
{
	u32 v[16], i;

	for (i = 0; i < 16; i++)
		v[i] = i;
	return rm_lit(j_lit(c, v, 64), 0);
}

/* Elements side by side are a row; one: all are one. zmm 1 is its first lane's index in all. The jump that is taken if it is none. */
static u32 row(struct jcomp *c, const struct jsym *s, u32 part, bool one)
{
	struct as *a = &c->a;
	int x = jv_reg(c, s->index, 0, part, 0), k;

	ev_n(a, V_PBCASTD, 1, 0, rm_reg(x), 0, 0, 0, 4, 0);
	if (!one)
		ev(a, V_PADDD, 3, 1, lanes(c));
	k = jv_mask(c, 0, part);
	ev_i(a, V_PCMPUD, 7, x, rm_reg(one ? 1 : 3), k, 0, 4);
	k_ortest(a, 7, 7);
	return g_jcc(a, CC_NE);
}

/*
 * The part is groups of n lanes, and those of each that run are side by side, or at one place. The jump that is taken if they are not; no group
 * has been touched then. Overwrites zmm 1 and k7.
 */
static u32 grouped(struct jcomp *c, const struct jsym *s, u32 part, u32 n, bool one)
{
	struct as *a = &c->a;
	int x = jv_reg(c, s->index, 0, part, 0), k;
	u32 first[16], off[16], i;

	for (i = 0; i < 16; i++) {
		first[i] = i & ~(n - 1);
		off[i] = i & (n - 1);
	}
	ev(a, V_MOVA32, 1, 0, rm_lit(j_lit(c, first, 64), 0));
	ev(a, V_PERMD, 1, 1, rm_reg(x));
	if (!one)
		ev(a, V_PADDD, 1, 1, rm_lit(j_lit(c, off, 64), 0));
	k = jv_mask(c, 0, part);
	ev_i(a, V_PCMPUD, 7, x, rm_reg(1), k, 0, 4);
	k_ortest(a, 7, 7);
	return g_jcc(a, CC_NE);
}

/* Group g of the part: k7 its lanes that run, rcx the index of its first one. Overwrites rdx and zmm 1. */
static void group(struct jcomp *c, const struct jsym *s, u32 part, u32 n, u32 g)
{
	struct as *a = &c->a;
	int x = jv_reg(c, s->index, 0, part, 0);

	if (g) {
		ev_i(a, V_EXTRACT32X4, x, 0, rm_reg(1), 0, 0, g * n / 4);
		x = 1;
	}
	to_gpr(c, RCX, x);
	g_movi(a, RDX, ((1u << n) - 1) << g * n);
	k_from(a, 7, RDX);
	k_and(a, 7, 7, jv_mask(c, 0, part));
}

/* A load of 32 bits a lane into zmm t: each group's place, or row. Returned: the jump behind the other ways, which follow. */
static u32 ld_groups(struct jcomp *c, const struct jsym *s, u32 part, u32 step, u32 n, bool one, int t)
{
	u32 no = grouped(c, s, part, n, one), g, done;
	struct as *a = &c->a;

	for (g = 0; g < 16 / n; g++) {
		group(c, s, part, n, g);
		j_site(c, step);
		if (one)
			ev_n(a, V_PBCASTD, t, 0, place(s, RCX), 7, !g, 0, 4, 0);
		else
			ev_n(a, V_MOVU32, t, 0, rm_idx(RAX, RCX, s->shift, -(s32)(4 * n * g)), 7, !g, 0, 64, 0);
	}
	done = g_jmp(a);
	g_here(a, no);
	return done;
}

#define AHEAD 256       /* as in jit_row.c, like the two that follow */
#define STEP_MAX 8
#define STEP_LANES 256

/* No row, and zmm 1 as row() left it: two, one behind the other? Then they go into zmm t, and the jump behind it is returned. */
static u32 two_rows(struct jcomp *c, const struct jsym *s, u32 part, u32 step, u32 op, u32 bytes, int t)
{
	struct as *a = &c->a;
	int x = jv_reg(c, s->index, 0, part, 0), k;
	u32 last[16], no, done, i;

	for (i = 0; i < 16; i++)
		last[i] = 15;
	ev(a, V_PSUBD, 2, x, lanes(c));
	ev(a, V_MOVA32, 3, 0, rm_lit(j_lit(c, last, 64), 0));
	ev(a, V_PERMD, 3, 3, rm_reg(2));
	ev_i(a, V_PCMPUD, 7, 1, rm_reg(2), 0, 0, 4);
	k_to(a, RCX, 7);
	ev_i(a, V_PCMPUD, 7, 3, rm_reg(2), 7, 0, 4);
	k_ortest(a, 7, 7);
	no = g_jcc(a, CC_NE);
	k_from(a, 7, RCX);
	to_gpr(c, RDX, 3);
	to_gpr(c, RCX, 1);
	ev(a, V_PXORD, t, t, rm_reg(t));
	k = jv_mask(c, 0, part);
	k_and(a, 7, 7, k);
	j_site(c, step);
	ev_n(a, op, t, 0, place(s, RDX), 7, 0, 0, bytes, 0);
	k_andn(a, 7, 7, k);
	j_site(c, step);
	ev_n(a, op, t, 0, place(s, RCX), 7, 0, 0, bytes, 0);
	/* the rows of a tile with a border: its neighbour's go on where they end */
	g_op(a, 0, 0x118, 1, rm_idx(RAX, RDX, s->shift, AHEAD), 0);
	g_op(a, 0, 0x118, 1, rm_idx(RAX, RCX, s->shift, AHEAD), 0);
	done = g_jmp(a);
	g_here(a, no);
	return done;
}

/* Neither: lanes that are the same few bytes apart ask for what their neighbours will read (ask_steps() in jit_row.c). */
static void ask_steps(struct jcomp *c, const struct jsym *s, u32 part)
{
	struct as *a = &c->a;
	int x = jv_reg(c, s->index, 0, part, 0), k;
	u32 no[2];

	ev_i(a, V_EXTRACT64X4, x, 0, rm_reg(2), 0, 0, 1);
	ev(a, V_PSUBD, 2, 2, rm_reg(x));
	ev_n(a, V_PBCASTD, 3, 0, rm_reg(2), 0, 0, 0, 4, 0);
	k = jv_mask(c, 0, part);
	ev_i(a, V_LL(V_PCMPUD, 1), 7, 2, rm_reg(3), k, 0, 4);
	k_ortest(a, 7, 7);
	no[0] = g_jcc(a, CC_NE);
	ev_n(a, V_LL(V_MOVD_ST, 0), 3, 0, rm_reg(RDX), 0, 0, 0, 4, 0);
	g_movsxd(a, RDX, rm_reg(RDX));
	g_shi(a, 1, G_SHL, RDX, s->shift);
	g_lea(a, 1, RDX, rm_mem(RDX, 8 * STEP_MAX));
	g_alui(a, 1, G_CMP, rm_reg(RDX), 16 * STEP_MAX);
	no[1] = g_jcc(a, CC_A);
	to_gpr(c, RCX, 1);
	g_lea(a, 1, RCX, place(s, RCX));
	g_shi(a, 1, G_SHL, RDX, 5);
	g_op(a, 0, 0x118, 1, rm_idx(RCX, RDX, 0, -STEP_LANES * STEP_MAX), 0);
	g_op(a, 0, 0x118, 1, rm_idx(RCX, RDX, 0, -STEP_LANES * STEP_MAX + 64), 0);
	g_here(a, no[1]);
	g_here(a, no[0]);
}

/* Lanes that read one place of global memory read it once, as jr_same() says. The jump to behind all other ways. */
static u32 same(struct jcomp *c, const struct insn *in, const struct jsym *s, u32 step)
{
	struct as *a = &c->a;
	u32 no[3], n = 0, p, some, all, done;
	int x[2], k;

	if (c->gk == 1)
		k_to(a, RDX, 5);
	else
		g_load(a, 0, RDX, PM(m));
	g_testi(a, RDX, 1);
	some = g_jcc(a, CC_E);
	ev_n(a, V_PBCASTD, 1, 0, rm_reg(jv_reg(c, s->index, 0, 0, 0)), 0, 0, 0, 4, 0);
	all = g_jmp(a);
	g_here(a, some);
	/* the first that runs is not lane 0 */
	g_alui(a, 0, G_CMP, rm_reg(RDX), 0);
	no[n++] = g_jcc(a, CC_E);
	for (p = 0; p < 2; p++)
		ev(a, V_MOVA32_ST, jv_reg(c, s->index, 0, p, 0), 0, rm_mem(RBX, (s32)(JP_LANES + 64 * p)));
	g_tzcnt(a, RCX, rm_reg(RDX));
	ev_n(a, V_PBCASTD, 1, 0, rm_idx(RBX, RCX, 2, JP_LANES), 0, 0, 0, 4, 0);
	g_here(a, all);
	for (p = 0; p < 2; p++) {
		x[p] = jv_reg(c, s->index, 0, p, 0);
		k = jv_mask(c, 0, p);
		ev_i(a, V_PCMPUD, 7, x[p], rm_reg(1), k, 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
	}
	to_gpr(c, RCX, 1);
	as_room(a, 64);
	j_site(c, step);
	jm_load_scalar(c, in, RCX, place(s, RCX));
	ev(a, V_PBCASTD_R, 3, 0, rm_reg(RCX));
	for (p = 0; p < 2; p++)
		jv_put(c, in->o[0], p, 3);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* False: nothing emitted. */
bool jx_ld(struct jcomp *c, const struct insn *in)
{
	const struct jsym *s = of_32(c, in);
	bool sg = in->flags & INF_SIGNED, window = in->space == SPACE_SHARED;
	struct as *a = &c->a;
	u32 step, p, op, once = 0;

	if (!s)
		return false;
	op = in->size == 4 ? V_MOVU32 : in->size == 2 ? (sg ? V_PMOVSXWD : V_PMOVZXWD) : sg ? V_PMOVSXBD : V_PMOVZXBD;
	step = j_exit(c, JX_STEP, c->pc, 0);
	check(c, in, s, step);
	if (!window)
		once = same(c, in, s, step);
	for (p = 0; p < 2; p++) {
		u32 no, done[5], n = 0, bytes = 16u * in->size, level = j_level(c, s->index);
		int t = jv_dst(c, in->o[0], p, 4), x, k;

		if (level == 4 || level == 8) {
			if (in->size == 4)
				done[n++] = ld_groups(c, s, p, step, level, true, t);
		} else if (level) {
			no = row(c, s, p, true);
			to_gpr(c, RCX, 1);
			as_room(a, 64);
			j_site(c, step);
			jm_load_scalar(c, in, RCX, place(s, RCX));
			ev(a, V_PBCASTD_R, t, 0, rm_reg(RCX));
			done[n++] = g_jmp(a);
			g_here(a, no);
		}
		if (in->size == 4 && s->shift == 2 && j_tile(c) && level != j_tile(c))
			done[n++] = ld_groups(c, s, p, step, j_tile(c), false, t);
		if (in->size == 1u << s->shift) {
			no = row(c, s, p, false);
			to_gpr(c, RCX, 1);
			k = jv_mask(c, 0, p);
			j_site(c, step);
			ev_n(a, op, t, 0, place(s, RCX), k, 1, 0, bytes, 0);
			if (!window)
				g_op(a, 0, 0x118, 1, rm_idx(RAX, RCX, s->shift, AHEAD), 0);
			done[n++] = g_jmp(a);
			g_here(a, no);
			if (!window) {
				done[n++] = two_rows(c, s, p, step, op, bytes, t);
				ask_steps(c, s, p);
			}
		}
		x = jv_reg(c, s->index, 0, p, 0);
		k_mov(a, 7, jv_mask(c, 0, p));
		jf_gather(c, V_GATHERDD, t, rm_vidx(RAX, x, s->shift, 0), step);
		jm_narrow(c, t, in->size, sg, 0);
		while (n)
			g_here(a, done[--n]);
		jv_put(c, in->o[0], p, t);
	}
	if (once)
		g_here(a, once);
	return true;
}

/* All lanes run: one after the other, their indices through P. */
static void each(struct jcomp *c, const struct insn *in, const struct jsym *s, u32 part, u32 step)
{
	struct as *a = &c->a;
	int v = jm_st_value(c, in, 0, part, 3);
	u32 l;

	ev(a, V_MOVA32_ST, jv_reg(c, s->index, 0, part, 0), 0, rm_mem(RBX, JP_LANES));
	for (l = 0; l < 16; l++) {
		int t = l < 4 ? v : 1;

		if (l >= 4 && l % 4 == 0)
			ev_i(a, V_SHUF32X4, 1, v, rm_reg(v), 0, 0, l / 4);
		if (s->sg)
			g_movsxd(a, RCX, rm_mem(RBX, (s32)(JP_LANES + 4 * l)));
		else
			g_load(a, 0, RCX, rm_mem(RBX, (s32)(JP_LANES + 4 * l)));
		j_site(c, step);
		if (l % 4) {
			ev_n(a, V_LL(V_PEXTRD, 0), t, 0, place(s, RCX), 0, 0, 0, 4, 1);
			b1(a, l % 4);
		} else {
			ev_n(a, V_LL(V_MOVD_ST, 0), t, 0, place(s, RCX), 0, 0, 0, 4, 0);
		}
	}
}

/* False: nothing emitted. */
bool jx_st(struct jcomp *c, const struct insn *in)
{
	const struct jsym *s = of_32(c, in);
	struct as *a = &c->a;
	u32 step, p;

	if (!s || in->size != 4)
		return false;
	step = j_exit(c, JX_STEP, c->pc, 0);
	check(c, in, s, step);
	for (p = 0; p < 2; p++) {
		u32 done[4], n = 0, some, g;
		int v, x, k;

		if (s->shift == 2 && j_tile(c)) {
			u32 no = grouped(c, s, p, j_tile(c), false);

			v = jm_st_value(c, in, 0, p, 3);
			for (g = 0; g < 16 / j_tile(c); g++) {
				group(c, s, p, j_tile(c), g);
				j_site(c, step);
				ev_n(a, V_MOVU32_ST, v, 0, rm_idx(RAX, RCX, 2, -(s32)(4 * j_tile(c) * g)), 7, 0, 0, 64, 0);
			}
			done[n++] = g_jmp(a);
			g_here(a, no);
		}
		if (s->shift == 2) {
			u32 no = row(c, s, p, false);

			to_gpr(c, RCX, 1);
			v = jm_st_value(c, in, 0, p, 3);
			if (!c->gk) {
				some = jm_unless_all(c);
				j_site(c, step);
				ev_n(a, V_MOVU32_ST, v, 0, place(s, RCX), 0, 0, 0, 64, 0);
				done[n++] = g_jmp(a);
				g_here(a, some);
			}
			k = jv_mask(c, 0, p);
			j_site(c, step);
			ev_n(a, V_MOVU32_ST, v, 0, place(s, RCX), k, 0, 0, 64, 0);
			done[n++] = g_jmp(a);
			g_here(a, no);
		}
		if (!c->gk) {
			some = jm_unless_all(c);
			each(c, in, s, p, step);
			done[n++] = g_jmp(a);
			g_here(a, some);
		}
		v = jm_st_value(c, in, 0, p, 3);
		x = jv_reg(c, s->index, 0, p, 0);
		k_mov(a, 7, jv_mask(c, 0, p));
		jf_scatter(c, V_SCATTERDD, v, rm_vidx(RAX, x, s->shift, 0), step);
		while (n)
			g_here(a, done[--n]);
	}
	return true;
}

/* All lanes' addresses, looked at, into P. False: nothing emitted. */
bool jx_addresses(struct jcomp *c, const struct insn *in, u32 step)
{
	const struct jsym *s = indexed(c, in);
	struct as *a = &c->a;
	u32 q;

	if (!s)
		return false;
	check(c, in, s, step);
	ev(a, V_PBCASTQ_R, 1, 0, rm_reg(RAX));
	for (q = 0; q < 4; q++) {
		jl_widen(c, s->index, q, 0, s->sg, false);
		if (s->shift)
			jl_shift(c, LOP_SHL, false, 1, 0, 0, s->shift);
		ev(a, V_PADDQ, 0, 0, rm_reg(1));
		ev(a, V_MOVA64_ST, 0, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
	}
	return true;
}

/*
 * A reduction of one instruction, op, on memory whose sums this worker keeps (tally.c): by indices that lie in it, each lane's its own. Rows, and what all lanes
 * have in common, is for the code behind this, as is all else. Values stand in P. Returned: the jump behind that; 0: nothing emitted.
 */
u32 jx_kept(struct jcomp *c, const struct insn *in, u32 op, u32 step, bool same)
{
	const struct jsym *s = indexed(c, in);
	u32 no[5], n = 2, some, done, all, top, l, p;
	struct rm value = rm_mem(RBX, JA_VALUE);
	u8 w = in->size == 8;
	struct as *a = &c->a;

	if (!s)
		return 0;
	check(c, in, s, step);
	tally_reach(a, in->size, no);
	g_shi(a, 1, G_SHR, RCX, s->shift);
	ev(a, V_PBCASTD_R, 2, 0, rm_reg(RCX));
	for (p = 0; p < 2; p++) {
		int x = jv_reg(c, s->index, 0, p, 0);

		ev_i(a, V_PCMPUD, 7, x, rm_reg(2), jv_mask(c, 0, p), 0, 6);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
		ev(a, V_MOVA32_ST, x, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * p)));
	}
	some = row(c, s, 0, false);
	all = g_jmp(a);
	g_here(a, some);
	ev_i(a, V_PCMPUD, 7, jv_reg(c, s->index, 0, 0, 0), rm_reg(1), jv_mask(c, 0, 0), 0, 4);
	k_ortest(a, 7, 7);
	no[n++] = g_jcc(a, CC_E);
	g_alu(a, 1, G_ADD, RAX, tally_at(offsetof(struct tally, delta)));
	if (c->gk == 1)
		k_to(a, RDX, 5);
	else
		g_load(a, 0, RDX, PM(m));
	k_from(a, 7, RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), -1);
	some = g_jcc(a, CC_NE);
	if (same)
		g_load(a, w, RDX, value);
	for (l = 0; l < LANES; l++) {
		g_load(a, 0, RCX, rm_mem(RBX, (s32)(JP_LANES + 4 * l)));
		if (!same)
			g_load(a, w, RDX, rm_mem(RBX, (s32)(JA_VALUE + in->size * l)));
		g_op(a, w, op, RDX, place(s, RCX), 0);
	}
	done = g_jmp(a);
	g_here(a, some);
	top = a->n;
	ja_lane(a);
	g_load(a, w, RDX, same ? value : rm_idx(RBX, RCX, w ? 3 : 2, JA_VALUE));
	g_load(a, 0, RCX, rm_idx(RBX, RCX, 2, JP_LANES));
	g_op(a, w, op, RDX, place(s, RCX), 0);
	ja_next_lane(a, top);
	g_land(a, done, a->n);
	done = g_jmp(a);
	g_here(a, all);
	while (n)
		g_here(a, no[--n]);
	return done;
}
