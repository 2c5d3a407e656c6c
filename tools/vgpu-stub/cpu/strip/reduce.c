/* SPDX-License-Identifier: MIT */
/*
 * Reductions of which the strip's places turn out to lie side by side, as ../jit_reduce.c has them: one vector operation for all lanes where no
 * lock is needed. And those to one place, a scalar's: integers come together in a register, and floats are added in the lanes' order, to what is there once.
 * In: addresses and values in sprivate.lanes, all lanes looked at. Called by atom.c; others' code follows.
 */
#include "strip.h"
#include "mem.h"
#include "vex.h"

static u32 operation(const struct insn *in)
{
	bool w = in->size == 8;

	switch (in->sub) {
	case ATOM_ADD: return type_is_float(in->type) ? (w ? X_ADDPD : X_ADDPS) : w ? X_PADDQ : X_PADDD;
	case ATOM_AND: return X_PAND;
	case ATOM_OR: return X_POR;
	case ATOM_XOR: return X_PXOR;
	}
	return 0;
}

/* 0: none whose order is nobody's business. */
static u32 order_free(const struct insn *in)
{
	bool sg = type_is_signed(in->type);

	if (type_is_float(in->type))
		return 0;
	if (in->size == 4 && in->sub == ATOM_MIN)
		return sg ? X_PMINSD : X_PMINUD;
	if (in->size == 4 && in->sub == ATOM_MAX)
		return sg ? X_PMAXSD : X_PMAXUD;
	return operation(in);
}

bool s_reduces_one(const struct insn *in) { return in->o[0] == OPND_NONE && order_free(in); }

/* What it leaves others as they are with: 32 bits of it, and those above are the same. */
static u32 neutral(const struct insn *in)
{
	bool sg = type_is_signed(in->type);

	switch (in->sub) {
	case ATOM_AND: return ~0u;
	case ATOM_MIN: return sg ? INT32_MAX : ~0u;
	case ATOM_MAX: return sg ? 1u << 31 : 0;
	}
	return 0;
}

/* r11 = itself as often as lanes run; odd: once or not at all. Overwrites rdx. */
static void times(struct scomp *c, u8 w, bool odd)
{
	struct as *a = &c->a;

	s_mask_bits(c, RDX);
	as_room(a, 16);
	b1(a, 0xf3);
	g_op(a, 0, 0x1b8, RDX, rm_reg(RDX), 0);         /* popcnt */
	if (odd)
		g_alui(a, 0, G_AND, rm_reg(RDX), 1);
	g_imul(a, w, R11, rm_reg(RDX));
}

/* All lanes' values that run come together in lane 0's place. same: r11 is that of each. */
void s_reduce_one(struct scomp *c, const struct insn *in, u32 values, bool same)
{
	u32 op = order_free(in), p;
	u8 w = in->size == 8;
	struct as *a = &c->a;

	if (same) {
		if (in->sub == ATOM_ADD || in->sub == ATOM_XOR)
			times(c, w, in->sub == ATOM_XOR);
		g_store(a, w, s_mem_lanes_at(values), R11);
		return;
	}
	for (p = 0; p < (w ? 2u : 1u); p++) {
		vy(a, X_MOVU, (int)p, 0, s_mem_lanes_at(values + 32 * p));
		if (!s_all_run(c)) {
			int m = s_mask(c);

			if (w) {
				s_wide_mask(c, m, p ? -1 : 3, p ? 3 : -1);
				m = 3;
			}
			vy(a, X_MOVU, 2, 0, s_splat32(c, neutral(in)));
			vyi(a, X_BLENDVPS, (int)p, 2, rm_reg((int)p), (u32)m << 4);
		}
	}
	if (w)
		vr(a, op, 0, 0, 1);
	vyi(a, X_EXTRACT, 0, 0, rm_reg(1), 1);
	vr(a, op, 0, 0, 1);
	vyi(a, X_PSHUFD, 1, 0, rm_reg(0), 0x4e);
	vr(a, op, 0, 0, 1);
	if (!w) {
		vyi(a, X_PSHUFD, 1, 0, rm_reg(0), 0xb1);
		vr(a, op, 0, 0, 1);
	}
	vx_x(a, w ? X_MOVQ_ST : X_MOVD_ST, 0, 0, s_mem_lanes_at(values));
}

/* Subnormal numbers of 32 bits become 0 with their sign. ymm 1 is lost. */
static void flush(struct scomp *c, int x)
{
	struct as *a = &c->a;

	vy(a, X_PAND, 1, x, s_splat32(c, 0x7f800000));
	vy(a, X_PCMPEQD, 1, 1, s_splat32(c, 0));
	vy(a, X_PAND, 1, 1, s_splat32(c, 0x7fffffff));
	vr(a, X_PANDN, x, 1, x);
}

/* values: where they stand, behind the addresses. The jump to behind the other ways' code, which follows; 0: nothing emitted. */
u32 s_reduce_row(struct scomp *c, const struct insn *in, u32 values)
{
	bool w = in->size == 8, f32 = type_is_float(in->type) && !w, far = in->space != SPACE_SHARED;
	u32 op = operation(in), some, no, done, p, i;
	struct as *a = &c->a;
	u64 off[8];

	/* a generic sum would have to ask each lane which memory it means */
	if (in->o[0] != OPND_NONE || !op || (f32 && in->space == SPACE_GENERIC))
		return 0;
	for (i = 0; i < 8; i++)
		off[i] = (u64)i * in->size;
	some = s_unless_all(c);
	vy(a, X_PBCASTQ, 0, 0, s_mem_lanes_at(0));
	vy(a, X_PADDQ, 1, 0, rm_lit(s_lit(c, off, 32), 0));
	vy(a, X_PCMPEQQ, 1, 1, s_mem_lanes_at(0));
	vy(a, X_PADDQ, 0, 0, rm_lit(s_lit(c, off + 4, 32), 0));
	vy(a, X_PCMPEQQ, 0, 0, s_mem_lanes_at(32));
	vr(a, X_PAND, 0, 0, 1);
	vr(a, X_MOVMSKPD, RAX, 0, 0);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 15);
	no = g_jcc(a, CC_NE);
	g_load(a, 1, RAX, s_mem_lanes_at(0));
	for (p = 0; p < (w ? 2u : 1u); p++) {
		vy(a, X_MOVU, 2, 0, s_mem_lanes_at(values + 32 * p));
		s_site(c);
		vy(a, X_MOVU, 0, 0, rm_mem(RAX, (s32)(32 * p)));
		if (f32 && far) {
			flush(c, 0);
			flush(c, 2);
		}
		vr(a, op, 0, 0, 2);
		if (f32 && far)
			flush(c, 0);
		if (f32)
			s_canon(c, 0, 0, 1);
		s_site(c);
		vy(a, X_MOVU_ST, 0, 0, rm_mem(RAX, (s32)(32 * p)));
	}
	done = g_jmp(a);
	g_here(a, no);
	if (some)
		g_here(a, some);
	return done;
}

/* Lanes add one number to one word and want to know what was there before, as jit_atom.c has it: .u64 by a number that is known and small. */
bool s_ranked(const struct scomp *c, const struct insn *in)
{
	struct sval v = s_val(c, in->o[1], in->size == 8);

	return in->o[0] != OPND_NONE && in->sub == ATOM_ADD && !type_is_float(in->type) && !s_varies(v) && !v.pat && (in->size == 4 || (v.known && v.k <= INT32_MAX));
}

/* r11 = what all lanes that run add, of r11 each. Overwrites rdx. */
void s_rank_sum(struct scomp *c, const struct insn *in)
{
	times(c, in->size == 8, false);
}

/* ymm 0 = how many lanes that run each has before it. Overwrites ymm 1 and 2. */
static void ranks(struct scomp *c)
{
	static const u32 all[STRIP] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct as *a = &c->a;
	u8 by[2][32];
	u32 i, k;

	if (s_all_run(c)) {
		vy(a, X_MOVU, 0, 0, rm_lit(s_lit(c, all, 32), 0));
		return;
	}
	for (k = 0; k < 2; k++)
		for (i = 0; i < 32; i++)
			by[k][i] = (i & 15) < 4u << k ? 0x80 : (u8)((i & 15) - (4u << k));
	vr(a, X_PXOR, 2, 2, 2);
	vr(a, X_PSUBD, 2, 2, s_mask(c));                /* 1 for each that runs; then sums of two, of four, and of the lower half in the upper one */
	vr(a, X_MOVU, 0, 0, 2);
	for (k = 0; k < 2; k++) {
		vy(a, X_PSHUFB, 1, 0, rm_lit(s_lit(c, by[k], 32), 0));
		vr(a, X_PADDD, 0, 0, 1);
	}
	vyi(a, X_PERM128, 1, 0, rm_reg(0), 0x08);
	vyi(a, X_PSHUFD, 1, 0, rm_reg(1), 0xff);
	vr(a, X_PADDD, 0, 0, 1);
	vr(a, X_PSUBD, 0, 0, 2);
}

/* What was there is in lane 0's place at `at`, what each adds stands at `values`: each lane's own, into all. */
void s_rank_spread(struct scomp *c, const struct insn *in, u32 at, u32 values)
{
	bool w = in->size == 8;
	struct as *a = &c->a;
	u32 p;

	ranks(c);
	vy(a, w ? X_PBCASTQ : X_PBCASTD, 3, 0, s_mem_lanes_at(at));
	for (p = 0; p < (w ? 2u : 1u); p++) {
		if (p)
			vyi(a, X_EXTRACT, 0, 0, rm_reg(0), 1);
		if (w)
			vr(a, X_PMOVZXDQ, 1, 0, 0);
		vy(a, w ? X_PMULUDQ : X_PMULLD, 1, w ? 1 : 0, s_mem_lanes_at(values + 32 * p));
		vr(a, w ? X_PADDQ : X_PADDD, 1, 1, 3);
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(at + 32 * p));
	}
}
