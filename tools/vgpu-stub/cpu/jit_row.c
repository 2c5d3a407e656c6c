/* SPDX-License-Identifier: MIT */
/*
 * Rows that only show when code runs: lanes whose addresses nobody knows beforehand, as tid.y times a parameter makes them, but
 * which lie side by side. One vector access serves sixteen of them (eight of 64 bits), where a gather or a scatter takes them one
 * by one. A load may come upon two rows, as a tile of 20 columns has them for 16 lanes: two accesses then. Called by
 * jit_mem.c and jit_st.c, for global and shared memory, before the code for lanes that are no row.
 *
 * zmm 2 is left alone for shared memory: there it says how many places there are, and the other way's code wants that.
 */
#include "jit_mem.h"
#include "lanes.h"

#define MAX_NO 20
/* How far behind a row its neighbours to the right will read, a few blocks on: prefetchers do not follow so many rows at a time. */
#define AHEAD 256

static u32 row_bytes(const struct insn *in) { return in->dw ? 64 : 16u * in->size; }

/* The constant vector of how far the eight (16, addresses of 32 bits) lanes from l on are from the part's first. */
static struct rm apart(struct jcomp *c, const struct insn *in, u32 l)
{
	u64 off[8];
	u32 off32[16], i;

	for (i = 0; i < 8; i++)
		off[i] = (u64)(l + i) * in->size;
	for (i = 0; i < 16; i++)
		off32[i] = (l + i) * in->size;
	return rm_lit(in->aw ? j_lit(c, off, 64) : j_lit(c, off32, 64), 0);
}

/* Are the part's lanes that run a row, or one: at one place? Then rcx is where its first lane would be; if not, jumps no[] are taken. */
static u32 row(struct jcomp *c, const struct insn *in, u32 part, bool one, u32 *no)
{
	struct as *a = &c->a;
	u32 n = !in->aw || in->dw ? 1 : 2, q;
	u8 w = in->aw;

	for (q = 0; q < n; q++) {
		u32 at = part * n + q;
		int x = jv_reg(c, in->o[4], w, at, 0), k;

		if (!q)
			ev_n(a, w ? V_PBCASTQ : V_PBCASTD, 1, 0, rm_reg(x), 0, 0, 0, w ? 8 : 4, 0);
		if (!one)
			ev(a, w ? V_PADDQ : V_PADDD, 3, 1, apart(c, in, 8 * q));
		k = jv_mask(c, w, at);
		ev_i(a, w ? V_PCMPUQ : V_PCMPUD, 7, x, rm_reg(one ? 1 : 3), k, 0, 4);
		k_ortest(a, 7, 7);
		no[q] = g_jcc(a, CC_NE);
	}
	ev_n(a, V_LL(w ? V_MOVQ_ST : V_MOVD_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	return n;
}

/*
 * A jump, taken if none of those in mask k runs. Where their row lies in pages that are not there, as with a stride of rows between lanes, the processor
 * does such an access in microcode, to find that nobody wants it: 130 ns for a store, 300 for a load (Zen 4; half of a mat-vec of halves' time).
 */
static u32 nobody(struct jcomp *c, const struct insn *in, int k)
{
	k_none(&c->a, k, in->dw ? 8 : 16);
	return g_jcc(&c->a, CC_E);
}

static bool may(const struct insn *in)
{
	if (in->space == SPACE_LOCAL || (!in->aw && (in->space != SPACE_SHARED || in->dw)))
		return false;
	return in->vec == 1 && in->o[0] != OPND_NONE && in->imm >= -(1 << 28) && in->imm <= 1 << 28;
}

/* Where the row that rcx (or rdx) is the first lane of lies; rax is the base. */
static struct rm row_at(const struct insn *in, int r)
{
	return in->space == SPACE_SHARED ? rm_idx(RAX, r, 0, in->aw ? (s32)in->imm : 0) : rm_mem(r, (s32)in->imm);
}

/* Leaves for no[] if so many bytes from r on are not all in memory that may be looked at, or crooked. Overwrites rdx. */
static u32 check(struct jcomp *c, const struct insn *in, int r, u32 bytes, u32 *no)
{
	struct as *a = &c->a;
	u32 n = 0;

	if (in->space == SPACE_SHARED) {
		g_lea(a, in->aw, RDX, rm_mem(r, (s32)((in->aw ? in->imm : 0) + bytes)));
		g_alui(a, 1, G_CMP, rm_reg(RDX), (s32)bytes);
		no[n++] = g_jcc(a, CC_B);
		g_alu(a, 1, G_CMP, RDX, PM(shared_total));
		no[n++] = g_jcc(a, CC_A);
	} else {
		g_lea(a, 1, RDX, rm_mem(r, (s32)in->imm));
		g_alu(a, 1, G_SUB, RDX, PM(span_lo));
		g_alu(a, 1, G_CMP, RDX, PM(span_lim));
		no[n++] = g_jcc(a, CC_AE);
	}
	if (in->size * in->vec > 1) {
		g_testi(a, RDX, in->size * in->vec - 1u);
		no[n++] = g_jcc(a, CC_NE);
	}
	return n;
}

/* The part's lanes are no row. Two, one behind the other? Loads them into zmm t; if not, jumps no[] are taken. */
static u32 two_rows(struct jcomp *c, const struct insn *in, u32 part, u32 step, u32 op, int t, u32 *no)
{
	struct as *a = &c->a;
	u32 quads = in->dw ? 1 : 2, q, n = 0;
	u64 last[8] = { 7, 7, 7, 7, 7, 7, 7, 7 };
	int x, k;

	/* zmm 1: where the first row's lane 0 is; zmm 3: where the second's would be; ecx: lanes of the second */
	for (q = quads; q--;) {
		x = jv_reg(c, in->o[4], 1, part * quads + q, 0);
		ev(a, V_PSUBQ, 2, x, apart(c, in, 8 * q));
		if (q == quads - 1) {
			ev(a, V_MOVA64, 3, 0, rm_lit(j_lit(c, last, 64), 0));
			ev(a, V_PERMQ, 3, 3, rm_reg(2));
		}
		ev_i(a, V_PCMPUQ, 7, 1, rm_reg(2), 0, 0, 4);
		k_to(a, q == quads - 1 ? RCX : RDX, 7);
		ev_i(a, V_PCMPUQ, 7, 3, rm_reg(2), 7, 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
		if (q)
			g_shi(a, 0, G_SHL, RCX, 8);
		else if (quads > 1)
			g_alu(a, 0, G_OR, RCX, rm_reg(RDX));
	}
	k_from(a, 7, RCX);
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	n += check(c, in, RCX, row_bytes(in), no + n);
	ev_n(a, V_LL(V_MOVQ_ST, 0), 3, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	n += check(c, in, RCX, row_bytes(in), no + n);
	k = jv_mask(c, in->dw, part);
	g_load(a, 1, RDX, rm_reg(RCX));
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	ev(a, V_PXORD, t, t, rm_reg(t));
	k_and(a, 7, 7, k);
	j_site(c, step);
	ev_n(a, op, t, 0, row_at(in, RDX), 7, 0, 0, row_bytes(in), 0);
	k_andn(a, 7, 7, k);
	j_site(c, step);
	ev_n(a, op, t, 0, row_at(in, RCX), 7, 0, 0, row_bytes(in), 0);
	return n;
}

/* Lanes up to so many bytes from each other ask for what their neighbours, so many lanes on, will read. */
#define STEP_MAX 8
#define STEP_LANES 256

/*
 * The part's lanes are no row; zmm 1: where its first one reads, in all lanes. If each of the upper eight is as far from its lower one, and
 * near, they go through memory step by step: prefetchers do not see a gather's. Overwrites rcx, rdx, zmm 2 and 3, k7.
 */
static void ask_steps(struct jcomp *c, const struct insn *in, u32 part)
{
	struct as *a = &c->a;
	u32 no[2];
	int k;

	ev(a, V_MOVA64, 2, 0, rm_reg(jv_reg(c, in->o[4], 1, 2 * part + 1, 0)));
	ev(a, V_PSUBQ, 2, 2, rm_reg(jv_reg(c, in->o[4], 1, 2 * part, 0)));
	ev_n(a, V_PBCASTQ, 3, 0, rm_reg(2), 0, 0, 0, 8, 0);
	k = jv_mask(c, 1, 2 * part);
	ev_i(a, V_PCMPUQ, 7, 2, rm_reg(3), k, 0, 4);
	k_ortest(a, 7, 7);
	no[0] = g_jcc(a, CC_NE);
	ev_n(a, V_LL(V_MOVQ_ST, 0), 3, 0, rm_reg(RDX), 0, 0, 0, 4, 0);
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	g_lea(a, 1, RDX, rm_mem(RDX, 8 * STEP_MAX));
	g_alui(a, 1, G_CMP, rm_reg(RDX), 16 * STEP_MAX);
	no[1] = g_jcc(a, CC_A);
	g_shi(a, 1, G_SHL, RDX, 5);
	g_op(a, 0, 0x118, 1, rm_idx(RCX, RDX, 0, (s32)in->imm - STEP_LANES * STEP_MAX), 0);
	g_op(a, 0, 0x118, 1, rm_idx(RCX, RDX, 0, (s32)in->imm - STEP_LANES * STEP_MAX + 64), 0);
	g_here(a, no[1]);
	g_here(a, no[0]);
}

/*
 * A part of a load into zmm t, extended. Returned: the jump behind the other way's code, which follows; 0: nothing emitted.
 * Only the first lane's address is checked; if it fails, each lane's is, over there.
 */
u32 jr_ld(struct jcomp *c, const struct insn *in, u32 part, u32 step, int t)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;
	u32 no[MAX_NO], apart_at[2], n, m, done, end, op, none;
	int k;

	if (!may(in))
		return 0;
	op = in->dw ? V_MOVU64 : in->size == 4 ? V_MOVU32 : in->size == 2 ? (sg ? V_PMOVSXWD : V_PMOVZXWD) :
	     sg ? V_PMOVSXBD : V_PMOVZXBD;
	m = row(c, in, part, false, apart_at);
	if (!in->aw)
		g_lea(a, 0, RCX, rm_mem(RCX, (s32)in->imm));
	n = check(c, in, RCX, row_bytes(in), no);
	k = jv_mask(c, in->dw, part);
	none = nobody(c, in, k);
	j_site(c, step);
	ev_n(a, op, t, 0, row_at(in, RCX), k, 1, 0, row_bytes(in), 0);
	end = a->n;
	if (!jm_window(in))
		g_op(a, 0, 0x118, 1, rm_mem(RCX, (s32)in->imm + AHEAD), 0);
	g_here(a, none);
	done = g_jmp(a);
	while (m)
		g_here(a, apart_at[--m]);
	if (!jm_window(in)) {
		n += two_rows(c, in, part, step, op, t, no + n);
		g_land(a, g_jmp(a), end);
	}
	while (n)
		g_here(a, no[--n]);
	if (!jm_window(in) && !in->dw)
		ask_steps(c, in, part);
	return done;
}

/*
 * A part of two loads of a word each, side by side, that are one (jit_merge.c). Where its lanes turn out to be a row, a word apart, as those of a stencil are
 * (a[i], a[i + 1]), each is a row, too. Returned: as of jr_ld.
 */
u32 jr_beside(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct insn word = *in;
	u32 no[MAX_NO], n, e, done, none;
	struct as *a = &c->a;
	struct rm at;

	word.vec = 1;
	if (!jm_merged(in) || in->vec != 2 || in->size != 4 || in->dw || !in->aw || !may(&word))
		return 0;
	n = row(c, &word, part, false, no);
	n += check(c, &word, RCX, row_bytes(&word) + 4, no + n);
	at = row_at(&word, RCX);
	none = nobody(c, &word, jv_mask(c, 0, part));
	for (e = 0; e < 2; e++) {
		int k = jv_mask(c, 0, part);

		j_site(c, step);
		ev_n(a, V_MOVU32, 5, 0, at, k, 1, 0, 64, 0);
		jv_put(c, in->o[e], part, 5);
		at.disp += 4;
	}
	if (!jm_window(in))
		g_op(a, 0, 0x118, 1, rm_mem(RCX, (s32)in->imm + AHEAD), 0);
	g_here(a, none);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* ---- one place, that only shows when code runs ------------------------------------------------------------------------------- */

/*
 * Lanes that read one place read it once, whatever other workers write there meanwhile: hardware does it so, and gcc's OpenMP, whose
 * warps work as one thread, relies on it. The jump to behind all other ways of this load, which follow; 0: nothing emitted.
 */
u32 jr_same(struct jcomp *c, const struct insn *in, u32 step)
{
	struct as *a = &c->a;
	u32 no[MAX_NO + 4], n = 0, q, all, some, done;

	if (!may(in) || jm_window(in))
		return 0;
	if (c->gk == 1)
		k_to(a, RDX, 5);
	else
		g_load(a, 0, RDX, PM(m));
	g_testi(a, RDX, 1);
	some = g_jcc(a, CC_E);
	ev_n(a, V_PBCASTQ, 1, 0, rm_reg(jv_reg(c, in->o[4], 1, 0, 0)), 0, 0, 0, 8, 0);
	all = g_jmp(a);
	g_here(a, some);
	/* the first that runs is not lane 0 */
	g_alui(a, 0, G_CMP, rm_reg(RDX), 0);
	no[n++] = g_jcc(a, CC_E);
	for (q = 0; q < 4; q++)
		ev(a, V_MOVA64_ST, jv_reg(c, in->o[4], 1, q, 0), 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
	g_tzcnt(a, RCX, rm_reg(RDX));
	ev_n(a, V_PBCASTQ, 1, 0, rm_idx(RBX, RCX, 3, JP_LANES), 0, 0, 0, 8, 0);
	g_here(a, all);
	for (q = 0; q < 4; q++) {
		int x = jv_reg(c, in->o[4], 1, q, 0), k = jv_mask(c, 1, q);

		ev_i(a, V_PCMPUQ, 7, x, rm_reg(1), k, 0, 4);
		k_ortest(a, 7, 7);
		no[n++] = g_jcc(a, CC_NE);
	}
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	n += check(c, in, RCX, in->size, no + n);
	as_room(a, 64);
	j_site(c, step);
	jm_load_scalar(c, in, RCX, rm_mem(RCX, (s32)in->imm));
	ev(a, in->dw ? V_PBCASTQ_R : V_PBCASTD_R, 3, 0, rm_reg(RCX));
	for (q = 0; q < (in->dw ? 4u : 2u); q++)
		jv_put(c, in->o[0], q, 3);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/*
 * A part of sixteen lanes is groups of n, and those of each that run are at one place, or, for addresses of 64 bits, side by side. Jumps to no[] if they are
 * not. Overwrites zmm 1 and k7.
 */
static u32 grouped(struct jcomp *c, const struct insn *in, u32 part, u32 n, bool one, u32 *no)
{
	u32 first[16], quads = in->aw ? 2 : 1, q, i;
	struct as *a = &c->a;
	u64 first64[8], off[8];

	for (i = 0; i < 16; i++)
		first[i] = i & ~(n - 1);
	for (i = 0; i < 8; i++) {
		first64[i] = i & ~(n - 1);
		off[i] = (i & (n - 1)) * in->size;
	}
	for (q = 0; q < quads; q++) {
		int x = jv_reg(c, in->o[4], in->aw, quads * part + q, 0), k;

		ev(a, V_MOVA32, 1, 0, rm_lit(in->aw ? j_lit(c, first64, 64) : j_lit(c, first, 64), 0));
		ev(a, in->aw ? V_PERMQ : V_PERMD, 1, 1, rm_reg(x));
		if (!one)
			ev(a, V_PADDQ, 1, 1, rm_lit(j_lit(c, off, 64), 0));
		k = jv_mask(c, in->aw, quads * part + q);
		ev_i(a, in->aw ? V_PCMPUQ : V_PCMPUD, 7, x, rm_reg(1), k, 0, 4);
		k_ortest(a, 7, 7);
		no[q] = g_jcc(a, CC_NE);
	}
	return quads;
}

/* rcx = the address in the first lane of group g. Overwrites zmm 1. */
static void group_at(struct jcomp *c, const struct insn *in, u32 part, u32 n, u32 g)
{
	u32 l = g * n, quads = in->aw ? 2 : 1, in_quad = in->aw ? l % 8 / 2 : l / 4;
	int x = jv_reg(c, in->o[4], in->aw, quads * part + (in->aw ? l / 8 : 0), 0);
	struct as *a = &c->a;

	if (in_quad) {
		ev_i(a, V_EXTRACT32X4, x, 0, rm_reg(1), 0, 0, in_quad);
		x = 1;
	}
	ev_n(a, V_LL(in->aw ? V_MOVQ_ST : V_MOVD_ST, 0), x, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
}

/* k7: the lanes of group g that run. Overwrites rdx. */
static void group_mask(struct jcomp *c, u32 part, u32 n, u32 g)
{
	g_movi(&c->a, RDX, ((1u << n) - 1) << g * n);
	k_from(&c->a, 7, RDX);
	k_and(&c->a, 7, 7, jv_mask(c, 0, part));
}

/* As jr_level, for groups of n lanes, 4 or 8, of 32 bits. */
static u32 ld_groups(struct jcomp *c, const struct insn *in, u32 part, u32 step, u32 n, int t)
{
	u32 no[MAX_NO], m = grouped(c, in, part, n, true, no), g, done;
	struct as *a = &c->a;

	for (g = 0; g < 16 / n; g++) {
		group_at(c, in, part, n, g);
		if (!in->aw)
			g_lea(a, 0, RCX, rm_mem(RCX, (s32)in->imm));
		m += check(c, in, RCX, in->size, no + m);
		group_mask(c, part, n, g);
		j_site(c, step);
		ev_n(a, V_PBCASTD, t, 0, row_at(in, RCX), 7, !g, 0, 4, 0);
	}
	done = g_jmp(a);
	while (m)
		g_here(a, no[--m]);
	return done;
}

/*
 * A part of a load whose lanes are supposed to read one place (jit_level.c); zmm t is overwritten, and of one element it is the result. Of two, they
 * are in their registers. Returned: as of jr_ld.
 */
u32 jr_level(struct jcomp *c, const struct insn *in, u32 part, u32 step, int t)
{
	u32 bytes = in->size * in->vec, no[MAX_NO], n, e, done, level = j_level(c, in->o[4]);
	struct as *a = &c->a;

	if (level < (in->dw ? 8u : 4u) || in->space == SPACE_LOCAL || (!in->aw && (in->space != SPACE_SHARED || in->dw)))
		return 0;
	if (in->imm < -(1 << 28) || in->imm > 1 << 28 || (in->vec != 1 && (in->vec != 2 || in->size != 4 || in->dw)))
		return 0;
	if (!in->dw && level < 16)
		return in->size == 4 && in->vec == 1 ? ld_groups(c, in, part, step, level, t) : 0;
	n = row(c, in, part, true, no);
	if (!in->aw)
		g_lea(a, 0, RCX, rm_mem(RCX, (s32)in->imm));
	n += check(c, in, RCX, bytes, no + n);
	as_room(a, 64);
	j_site(c, step);
	if (in->vec == 1) {
		jm_load_scalar(c, in, RCX, row_at(in, RCX));
		ev(a, in->dw ? V_PBCASTQ_R : V_PBCASTD_R, t, 0, rm_reg(RCX));
	} else {
		g_load(a, 1, RCX, row_at(in, RCX));
	}
	for (e = 0; in->vec == 2 && e < 2; e++) {
		if (e)
			g_shi(a, 1, G_SHR, RCX, 32);
		if (in->o[e] == OPND_NONE)
			continue;
		ev(a, V_PBCASTD_R, t, 0, rm_reg(RCX));
		jv_put(c, in->o[e], part, t);
	}
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* Eight lanes of a load of 8 bytes each, supposed to be at one place, into zmm t. Returned: as of jr_ld. */
static u32 eight(struct jcomp *c, const struct insn *in, u32 q, u32 step, int t)
{
	struct as *a = &c->a;
	u32 no[MAX_NO], n = 1, done;
	int x, k;

	if (j_level(c, in->o[4]) != 8 || in->space == SPACE_LOCAL || !in->aw || in->imm < -(1 << 28) || in->imm > 1 << 28)
		return 0;
	x = jv_reg(c, in->o[4], 1, q, 0);
	ev_n(a, V_PBCASTQ, 1, 0, rm_reg(x), 0, 0, 0, 8, 0);
	k = jv_mask(c, 1, q);
	ev_i(a, V_PCMPUQ, 7, x, rm_reg(1), k, 0, 4);
	k_ortest(a, 7, 7);
	no[0] = g_jcc(a, CC_NE);
	ev_n(a, V_LL(V_MOVQ_ST, 0), 1, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
	n += check(c, in, RCX, 8, no + n);
	k = jv_mask(c, 1, q);
	j_site(c, step);
	ev_n(a, V_PBCASTQ, t, 0, row_at(in, RCX), k, 1, 0, 8, 0);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* A part of a load of 8 bytes a lane, wherever they are, into zmm 3 and 4. */
void jr_eights(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct as *a = &c->a;
	u32 q, done;

	for (q = 0; q < 2; q++) {
		int t = 3 + (int)q;

		done = eight(c, in, 2 * part + q, step, t);
		jm_vary64(c, in, 2 * part + q, step, JM_CHECK | JM_ADDRESS);
		jf_gather(c, V_GATHERQQ, t, rm_vidx(RAX, 0, 0, 0), step);
		if (done)
			g_here(a, done);
	}
}

/* A part of a store of 32 bits in a narrow block: a row of lanes after the other. Returned: as of jr_ld. */
static u32 st_groups(struct jcomp *c, const struct insn *in, u32 part, u32 step, u32 n)
{
	u32 no[2], m = grouped(c, in, part, n, false, no), g, done;
	struct as *a = &c->a;
	int s = jm_st_value(c, in, 0, part, 3);

	for (g = 0; g < 16 / n; g++) {
		struct rm at;

		group_at(c, in, part, n, g);
		group_mask(c, part, n, g);
		at = row_at(in, RCX);
		at.disp -= (s32)(4 * n * g);
		j_site(c, step);
		ev_n(a, V_MOVU32_ST, s, 0, at, 7, 0, 0, 64, 0);
	}
	done = g_jmp(a);
	while (m)
		g_here(a, no[--m]);
	return done;
}

/* A part of a store, all of whose lanes have been checked. Returned: as of jr_ld. */
u32 jr_st(struct jcomp *c, const struct insn *in, u32 part, u32 step)
{
	struct as *a = &c->a;
	u32 no[MAX_NO], n, done, some, none, all = 0;
	int s, k;

	if (!may(in) || in->size < 4)
		return 0;
	if (in->size == 4 && in->aw && j_tile(c))
		return st_groups(c, in, part, step, j_tile(c));
	n = row(c, in, part, false, no);
	if (!in->aw)
		g_lea(a, 0, RCX, rm_mem(RCX, (s32)in->imm));
	s = jm_st_value(c, in, 0, part, 3);
	if (!c->gk) {
		some = jm_unless_all(c);
		j_site(c, step);
		ev_n(a, in->dw ? V_MOVU64_ST : V_MOVU32_ST, s, 0, row_at(in, RCX), 0, 0, 0, 64, 0);
		all = g_jmp(a);
		g_here(a, some);
	}
	k = jv_mask(c, in->dw, part);
	none = nobody(c, in, k);
	j_site(c, step);
	ev_n(a, in->dw ? V_MOVU64_ST : V_MOVU32_ST, s, 0, row_at(in, RCX), k, 0, 0, 64, 0);
	g_here(a, none);
	if (all)
		g_here(a, all);
	done = g_jmp(a);
	while (n)
		g_here(a, no[--n]);
	return done;
}

/* ---- rows that are known beforehand, but for a part of the lanes each ----------------------------------------------------- */

/* The part's lanes read or write side by side (step: the size of an access), or all at one place (0). */
static bool apart_by(const struct insn *in, const struct acc *x, u32 part, s32 step)
{
	u32 per = in->dw ? 8 : 16;

	return j_steps_by(x->pat + per * part, per, step);
}

static bool whole(const struct insn *in) { return in->size == (in->dw ? 8 : 4) && !jw_wide(in); }

/* In a block of 16 x 16 tile[tid.y][tid.x] and tile[tid.y][k] are this, whatever lies between two rows. False: nothing emitted. */
bool jr_ld_parts(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, e, parts = in->dw ? 4 : 2, per = LANES / parts;

	for (p = 0; p < parts; p++)
		if (!whole(in) || (!apart_by(in, x, p, in->size) && !apart_by(in, x, p, 0)))
			return false;
	for (e = 0; e < in->vec; e++)
		for (p = 0; p < parts && in->o[e] != OPND_NONE; p++) {
			bool one = apart_by(in, x, p, 0);
			int t = jv_dst(c, in->o[e], p, 0), k = jv_mask(c, in->dw, p);
			u32 op = in->dw ? (one ? V_PBCASTQ : V_MOVU64) : one ? V_PBCASTD : V_MOVU32;

			j_site(c, x->step);
			ev_n(a, op, t, 0, rm_mem(x->base, x->disp + (s32)(e * in->size) + x->pat[per * p]), k, 1, 0, one ? in->size : 64, 0);
			jv_put(c, in->o[e], p, t);
		}
	return true;
}

bool jr_st_parts(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, parts = in->dw ? 4 : 2, per = LANES / parts, under, some = 0, done = 0;

	for (p = 0; p < parts; p++)
		if (!whole(in) || in->vec > 1 || in->o[0] == OPND_NONE || !apart_by(in, x, p, in->size))
			return false;
	for (under = c->gk != 0; under < 2; under++) {
		if (!under)
			some = jm_unless_all(c);
		for (p = 0; p < parts; p++) {
			int s = jm_st_value(c, in, 0, p, 0), k = under ? jv_mask(c, in->dw, p) : 0;

			j_site(c, x->step);
			ev_n(a, in->dw ? V_MOVU64_ST : V_MOVU32_ST, s, 0, rm_mem(x->base, x->disp + x->pat[per * p]), k, 0, 0, 64, 0);
		}
		if (!under) {
			done = g_jmp(a);
			g_here(a, some);
		}
	}
	if (done)
		g_here(a, done);
	return true;
}
