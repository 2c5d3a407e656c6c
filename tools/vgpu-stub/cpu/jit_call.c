/* SPDX-License-Identifier: MIT */
/*
 * Lane operations and conversions that code does not do itself, by the interpreter's own C functions of 32 lanes: operands
 * and result lie in P, no exit is taken and the frame stays as it is. What lives in registers over the instruction is kept where
 * an exit would put it; the group's masks come from P again. Called by jit.c when an instruction has no code.
 */
#include "jit.h"
#include "lanes.h"

static const s32 places[4] = { JP_RESULT, JP_LANES, JP_WIDE, JP_WIDE + 256 };

static struct rm at(u32 k, u32 part) { return rm_mem(RBX, places[k] + 64 * (s32)part); }

/* Operand o goes to place k; a predicate as bits. */
static void operand(struct jcomp *c, u32 o, u8 w, u32 k)
{
	u32 p;

	if (o == OPND_NONE)
		return;
	if (w == 2) {
		g_load(&c->a, 0, RAX, ju_rm(c, o));
		g_store(&c->a, 0, at(k, 0), RAX);
		return;
	}
	for (p = 0; p < (w ? 4u : 2u); p++)
		ev(&c->a, V_MOVA32_ST, jv_obs(c, o, w, p, 0), 0, at(k, p));
}

/* Registers of all that lives here, to P or back. The callee keeps rbp and r15. */
static void keep(struct jcomp *c, bool load)
{
	struct as *a = &c->a;
	u32 v, k;

	for (v = 0; v < c->s->nregs; v++) {
		const struct jreg *r = &c->r[v];

		if (r->first > c->pc || r->last <= c->pc)
			continue;
		if (r->loc == LOC_GPR && r->reg != RBP && r->reg != R15) {
			if (load)
				g_load(a, 1, r->reg, rm_mem(RBX, (s32)r->home));
			else
				g_store(a, 1, rm_mem(RBX, (s32)r->home), r->reg);
		}
		for (k = 0; r->loc == LOC_ZMM && k < (r->w ? 4u : 2u); k++)
			ev(a, load ? V_MOVA32 : V_MOVA32_ST, r->reg + (int)k, 0, rm_mem(RBX, (s32)(r->home + 64 * k)));
	}
}

void jit_call_keep(struct jcomp *c) { keep(c, false); }

/* The function whose arguments are in their registers. Code has its stack 8 bytes off what C wants. */
static void call(struct jcomp *c, u64 f)
{
	struct as *a = &c->a;

	if (c->gk == 1) {
		k_to(a, RAX, 5);
		g_store(a, 0, PM(guard), RAX);
	}
	g_movi(a, RAX, f);
	as_room(a, 16);
	b1(a, 0x50);            /* push rax */
	g_op(a, 0, 0xff, 2, rm_reg(RAX), 0);
	as_room(a, 16);
	b1(a, 0x59);            /* pop rcx */
	keep(c, true);
	c->lits = 0;
	a->k_held &= (u8)~JK_GROUP;
	k_load(a, 1, PM(m));
	k_shr(a, 2, 1, 8);
	k_shr(a, 3, 1, 16);
	k_shr(a, 4, 1, 24);
	a->k_held |= JK_GROUP;
	if (c->gk == 1) {
		k_let(a, 5);
		k_load(a, 5, PM(guard));
		k_hold(a, 5);
	}
}

void jit_call_done(struct jcomp *c, u64 f) { call(c, f); }

static bool result(struct jcomp *c, const struct insn *in)
{
	u32 p;

	if (c->r[in->o[0]].cls == JC_UNI) {
		g_load(&c->a, in->dw == 1, RAX, at(0, 0));
		ju_store(c, in->o[0], RAX);
		return true;
	}
	for (p = 0; p < (in->dw ? 4u : 2u); p++) {
		ev(&c->a, V_MOVA32, 0, 0, at(0, p));
		jv_put(c, in->o[0], p, 0);
	}
	return true;
}

/* A uniform result is stored whole: nobody may be left out. */
static bool wanted(const struct jcomp *c, const struct insn *in)
{
	const struct jreg *r = &c->r[in->o[0]];

	return in->dw != 2 && !r->sk && (r->cls == JC_VARY || (r->cls == JC_UNI && !c->gk));
}

bool jit_lane_call(struct jcomp *c, const struct insn *in)
{
	static const u8 args[4] = { RDI, RSI, RDX, RCX };
	bool apart;
	u32 k;

	if (!wanted(c, in))
		return false;
	apart = jit_mode_begin(c, in);
	if (!apart)
		jit_mxcsr(c, in->mxcsr);
	for (k = 1; k < 4; k++)
		operand(c, in->o[k], jit_src_w(in, k), k);
	keep(c, false);         /* before arguments take the place of scalars */
	for (k = 0; k < 4; k++)
		g_lea(&c->a, 1, args[k], at(k, 0));
	call(c, (u64)(uintptr_t)in->u.lane);
	if (apart)
		jit_mode_end(c);
	return result(c, in);
}

static void cvt32(const struct insn *in, char *d, const char *x, const char *y)
{
	lane_cvt_n(in, d, x, y, LANES);
}

bool jit_cvt_call(struct jcomp *c, const struct insn *in)
{
	static const u8 args[4] = { RDI, RSI, RDX, RCX };
	bool set;
	u32 k;

	if (!wanted(c, in))
		return false;
	for (k = 1; k < 3; k++)
		operand(c, in->o[k], in->aw || type_bytes(in->stype) == 8, k);
	set = jit_mxcsr_for(c, MXCSR_BASE);
	keep(c, false);
	g_movi(&c->a, RDI, (u64)(uintptr_t)&c->fn->code[c->pc]);
	for (k = 0; k < 3; k++)
		g_lea(&c->a, 1, args[k + 1], at(k, 0));
	call(c, (u64)(uintptr_t)cvt32);
	if (set)
		jit_mxcsr_back(c);
	return result(c, in);
}
