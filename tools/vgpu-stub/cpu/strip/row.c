/* SPDX-License-Identifier: MIT */
/*
 * Rows that only show when code runs: lanes whose addresses nobody knows beforehand, as a division by a tile's width makes them,
 * but which lie side by side after all. One access serves all eight, where each would have its own. Not asked where the address was
 * loaded itself, but where a column of lanes' own is added.
 *
 * Elements of 32 bits. What is no row, or not all of it in memory, goes the way of lanes (mem.c, store.c), which follows.
 */
#include "mem.h"
#include "vex.h"

/* How far behind a row its neighbours to the right will read, a few blocks on: prefetchers do not follow so many rows at a time. */
#define AHEAD 256

/* What neighbouring lanes have each its own of, and nobody has loaded. */
static bool own(const struct scomp *c, u32 o)
{
	struct sval v;

	if (o == OPND_NONE || (o & OPND_CONST))
		return false;
	v = s_val(c, o, 0);
	return v.cls == SC_SCALAR ? v.pat : !c->r[o].wild;
}

static bool loaded(const struct scomp *c, u32 o) { return o != OPND_NONE && !(o & OPND_CONST) && c->r[o].wild; }

/*
 * Is o, made before pc in its block, a sum of what was loaded and of lanes' own numbers? A row of a table by an index (embeddings), and the column in it: rows, as long as
 * neighbours have the same index.
 */
static bool row_by_index(const struct scomp *c, u32 o, u32 pc)
{
	while (pc-- > c->cur->start) {
		const struct insn *in = &c->code[pc];
		bool mad = in->lop == LOP_MAD || in->lop == LOP_MADWIDE;
		u32 x = in->o[1], y = mad ? in->o[3] : in->o[2];

		if (!insn_writes(in, o))
			continue;
		if (in->kind != K_LANE || in->def != 1 || type_is_float(in->type))
			return false;
		switch (in->lop) {
		case LOP_MAD: case LOP_MADWIDE:
			x = loaded(c, x) ? x : in->o[2];
			/* fall through */
		case LOP_ADD:
			if ((loaded(c, x) && own(c, y)) || (loaded(c, y) && own(c, x)))
				return true;
			o = loaded(c, x) ? x : y;
			break;
		case LOP_SHL: case LOP_MUL: case LOP_MULWIDE: case LOP_CVT_SEXT: case LOP_MOV:
			o = loaded(c, x) ? x : in->o[2];
			break;
		default:
			return false;
		}
		if (!loaded(c, o))
			return false;
	}
	return false;
}

bool s_may_be_row(const struct scomp *c, const struct insn *in)
{
	return in->vec == 1 && in->size == 4 && !in->dw && in->o[0] != OPND_NONE && in->space != SPACE_LOCAL && !(in->o[4] & OPND_CONST) &&
	       c->r[in->o[4]].v.cls == SC_VARY && (!c->r[in->o[4]].wild || row_by_index(c, in->o[4], (u32)(in - c->code))) && in->imm < 1 << 24 && in->imm > -(1 << 24) &&
	       (!s_index_of(c, in->o[4]) || s_index_of(c, in->o[4])->shift == 2);
}

/* Where the first lane's element is; jumps no[] are taken where it is none. rax, rcx, rdx, ymm1 to ymm3 are lost */
struct rm s_run_row(struct scomp *c, const struct insn *in, u32 *no, u32 *n)
{
	static const u64 at64[2][4] = { { 0, 4, 8, 12 }, { 16, 20, 24, 28 } };
	static const u32 at32[8] = { 0, 4, 8, 12, 16, 20, 24, 28 };
	const struct sindex *s = s_index_of(c, in->o[4]);
	struct as *a = &c->a;
	int x;

	*n = 0;
	if (s) {
		no[*n] = s_index_row(c, s);
	} else if (in->aw) {
		x = sv(c, in->o[4], 1, 0, 1);
		vx_x(a, X_MOVQ_ST, x, 0, rm_reg(RAX));
		vy(a, X_PBCASTQ, 2, 0, rm_reg(x));
		vy(a, X_PADDQ, 3, 2, rm_lit(s_lit(c, at64[0], 32), 0));
		vr(a, X_PCMPEQQ, 3, 3, x);
		x = sv(c, in->o[4], 1, 1, 1);
		vy(a, X_PADDQ, 2, 2, rm_lit(s_lit(c, at64[1], 32), 0));
		vr(a, X_PCMPEQQ, 2, 2, x);
		vr(a, X_PAND, 3, 3, 2);
		vr(a, X_MOVMSKPD, RCX, 0, 3);
		g_alui(a, 0, G_CMP, rm_reg(RCX), 15);
		no[*n] = g_jcc(a, CC_NE);
	} else {
		x = sv_obs(c, in->o[4], 0, 0, 1);
		vx_x(a, X_MOVD_ST, x, 0, rm_reg(RAX));
		vy(a, X_PBCASTD, 2, 0, rm_reg(x));
		vy(a, X_PADDD, 2, 2, rm_lit(s_lit(c, at32, 32), 0));
		vr(a, X_PCMPEQD, 2, 2, x);
		vr(a, X_MOVMSKPS, RCX, 0, 2);
		g_alui(a, 0, G_CMP, rm_reg(RCX), 255);
		no[*n] = g_jcc(a, CC_NE);
	}
	++*n;
	if (in->imm)
		g_alui(a, 1, G_ADD, rm_reg(RAX), (s32)in->imm);
	g_testi(a, RAX, 3);
	no[(*n)++] = g_jcc(a, CC_NE);
	if (in->space == SPACE_SHARED) {
		g_load(a, 1, RCX, SPM(shared_total));
		g_alui(a, 1, G_SUB, rm_reg(RCX), 32);
		no[(*n)++] = g_jcc(a, CC_B);
		g_alu(a, 1, G_CMP, RAX, rm_reg(RCX));
		no[(*n)++] = g_jcc(a, CC_A);
		g_alu(a, 1, G_ADD, RAX, SPM(shared));
	} else {
		g_load(a, 1, RCX, rm_reg(RAX));
		g_alu(a, 1, G_SUB, RCX, SPM(span_lo));
		g_alu(a, 1, G_CMP, RCX, SPM(span_lim));
		no[(*n)++] = g_jcc(a, CC_A);
		g_op(a, 0, 0x118, 1, rm_mem(RAX, AHEAD), 0);    /* prefetcht0 */
	}
	return rm_mem(RAX, 0);
}
