/* SPDX-License-Identifier: MIT */
/*
 * Lane operations and conversions by C functions of eight lanes: operands and result in sprivate.lanes. Whatever code does
 * not do itself and needs nothing but its operands goes this way, without the frame and the lanes of other strips.
 */
#include "strip.h"
#include "vex.h"

#define OPERAND(k) (64 * (k))           /* in sprivate.lanes: the result, then the operands */

static struct rm at(u32 off) { return rm_mem(R15, (s32)(offsetof(struct sprivate, lanes) + off)); }

/* The strip's function for the warp's. */
static lane_fn *of_lane(const struct scomp *c, lane_fn *f)
{
	const struct lane_table *lt = c->fn->m->e->lanes;
	u32 i, t;

	for (i = 0; i < LOP_COUNT; i++)
		for (t = 0; t < T_COUNT; t++)
			if (lt->fn[i][t] == f)
				return lanes_strip.fn[i][t];
	return NULL;
}

static mask_fn *of_mask(const struct scomp *c, mask_fn *f)
{
	const struct lane_table *lt = c->fn->m->e->lanes;
	u32 i, t;

	for (i = 0; i < MOP_COUNT; i++)
		for (t = 0; t < T_COUNT; t++)
			if (lt->cmp[i][t] == f)
				return lanes_strip.cmp[i][t];
	return NULL;
}

/* Operand o goes to place k; a predicate as bits. */
static void operand(struct scomp *c, u32 o, u8 w, u32 k)
{
	struct as *a = &c->a;
	u32 p;

	if (o == OPND_NONE)
		return;
	if (w == 2) {
		if (s_val(c, o, 2).cls == SC_SCALAR)
			s_to_gpr(c, o, 0, RAX);
		else
			vr(a, X_MOVMSKPS, RAX, 0, sv(c, o, 2, 0, 0));
		g_store(a, 0, at(OPERAND(k)), RAX);
		return;
	}
	for (p = 0; p < (w ? 2u : 1u); p++)
		vy(a, X_MOVU_ST, sv_obs(c, o, w, p, 0), 0, at(OPERAND(k) + 32 * p));
}

/* The function whose arguments are in their registers, what lives in registers being saved; eax is stored. */
static void call(struct scomp *c, u64 f)
{
	struct as *a = &c->a;

	as_room(a, 16);
	b1(a, 0xc5);    /* vzeroupper */
	b1(a, 0xf8);
	b1(a, 0x77);
	g_movi(a, RAX, f);
	g_op(a, 0, 0xff, 2, rm_reg(RAX), 0);
	g_store(a, 0, SPM(step), RAX);
	s_saved(c, c->pc, true);
	g_load(a, 0, RAX, rm_reg(R12));
	s_mask_vector(c, 15, RAX);
	if (c->guarded) {
		g_load(a, 0, RAX, stack_rm(c->gbits));
		s_mask_vector(c, 14, RAX);
	}
}

static void result(struct scomp *c, const struct insn *in)
{
	u32 p;

	for (p = 0; p < (in->dw ? 2u : 1u); p++) {
		vy(&c->a, X_MOVU, 0, 0, at(OPERAND(0) + 32 * p));
		sput(c, in->o[0], p, 0);
	}
}

bool s_lane_call(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	lane_fn *f = in->dw == 2 || c->r[in->o[0]].v.cls != SC_VARY ? NULL : of_lane(c, in->u.lane);
	static const u8 args[4] = { RDI, RSI, RDX, RCX };
	u32 k;

	if (!f)
		return false;
	s_mxcsr(c, in->mxcsr);
	for (k = 1; k < 4; k++)
		operand(c, in->o[k], jit_src_w(in, k), k);
	s_saved(c, c->pc, false);       /* before arguments take the place of scalars */
	for (k = 0; k < 4; k++)
		g_lea(a, 1, args[k], at(OPERAND(k)));
	call(c, (u64)(uintptr_t)f);
	result(c, in);
	return true;
}

/* ymm2 = the comparison of the operands */
bool s_compare_call(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	mask_fn *f = of_mask(c, in->u.mask);
	u8 w = type_bytes(in->type) == 8;

	if (!f || (in->type == T_PRED))
		return false;
	s_mxcsr(c, in->mxcsr);
	operand(c, in->o[2], w, 1);
	operand(c, in->o[3], w, 2);
	s_saved(c, c->pc, false);
	g_lea(a, 1, RDI, at(OPERAND(1)));
	g_lea(a, 1, RSI, at(OPERAND(2)));
	call(c, (u64)(uintptr_t)f);
	g_load(a, 0, RAX, SPM(step));
	g_alui(a, 0, G_AND, rm_reg(RAX), 255);
	s_mask_vector(c, 2, RAX);
	return true;
}

static void cvt8(const struct insn *in, char *lanes)
{
	lane_cvt_n(in, lanes + OPERAND(0), lanes + OPERAND(1), lanes + OPERAND(2), STRIP);
}

bool s_cvt_call(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 plain = 0x1f80, k;
	bool set = c->s->mxcsr != plain;

	if (in->dw == 2 || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	for (k = 1; k < 3; k++)
		operand(c, in->o[k], in->aw || type_bytes(in->stype) == 8, k);
	if (set)
		s_ldmxcsr(c, plain);
	s_saved(c, c->pc, false);
	g_movi(a, RDI, (u64)(uintptr_t)&c->fn->code[c->pc]);
	g_lea(a, 1, RSI, at(0));
	call(c, (u64)(uintptr_t)cvt8);
	if (c->s->mxcsr == ~0u)
		c->mx = plain;
	else if (set)
		s_ldmxcsr(c, c->s->mxcsr);
	result(c, in);
	return true;
}
