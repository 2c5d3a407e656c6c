/* SPDX-License-Identifier: MIT */
/*
 * match, elect, redux and activemask of lanes that all name the same members, and addresses that lanes have by themselves from one space to another.
 * Called by jit.c, one instruction at a time; that the members are here, j_need_members() has seen to.
 */
#include "jit_mem.h"
#include "lanes.h"

/* edx: the lanes that run; eax: the members among them. False: lanes name different ones. */
static bool members(struct jcomp *c, const struct insn *in)
{
	struct jval mask = { .cls = JC_UNI, .known = true, .k = ~0u };
	struct as *a = &c->a;

	if (in->o[2] != OPND_NONE)
		mask = jit_val(c, in->o[2], 0);
	if (in->guard != OPND_NONE || mask.cls != JC_UNI)
		return false;
	if (mask.known && (u32)mask.k == ~0u)
		g_load(a, 0, RAX, PM(m));
	else
		ju_load(c, RAX, in->o[2], 0);
	g_load(a, 0, RDX, PM(m));
	g_alu(a, 0, G_AND, RAX, rm_reg(RDX));
	return true;
}

void j_put_bits(struct jcomp *c, u32 o)
{
	struct rm old = rm_mem(RBX, (s32)c->r[o].home);
	struct as *a = &c->a;

	if (c->gk) {
		g_alu(a, 0, G_XOR, RAX, old);
		g_alu(a, 0, G_AND, RAX, PM(m));
		g_alu(a, 0, G_XOR, RAX, old);
	}
	g_store(a, 0, old, RAX);
}

static bool by_name(const struct jcomp *c, const struct insn *in) { return in->o[2] != OPND_NONE && jit_val(c, in->o[2], 0).cls != JC_UNI; }

static void to_lanes(struct jcomp *c, u32 o, u8 w, s32 at)
{
	u32 p;

	for (p = 0; p < (w ? 4u : 2u); p++)
		ev(&c->a, V_MOVA32_ST, jv_obs(c, o, w, p, 0), 0, rm_mem(RBX, at + 64 * (s32)p));
}

static void from_result(struct jcomp *c, u32 o)
{
	u32 p;

	for (p = 0; p < 2; p++) {
		ev(&c->a, V_MOVA32, 0, 0, rm_mem(RBX, JP_RESULT + 64 * (s32)p));
		jv_put(c, o, p, 0);
	}
}

/* Each lane names its members, as those of a tile do. By a C function. o: the register that is looked at */
static bool by_lane(struct jcomp *c, const struct insn *in, u32 o)
{
	struct as *a = &c->a;

	if (in->guard != OPND_NONE || c->r[in->o[0]].cls != JC_VARY || c->r[in->o[0]].w)
		return false;
	to_lanes(c, o, in->kind == K_MATCH && in->aw, JP_LANES);
	to_lanes(c, in->o[2], 0, JP_WIDE);
	jit_call_keep(c);       /* before arguments take the place of scalars */
	g_load(a, 0, R8, PM(m));
	g_lea(a, 1, RCX, rm_mem(RBX, JP_WIDE));
	g_movi(a, RDI, (u64)(uintptr_t)&c->fn->code[c->pc]);
	g_lea(a, 1, RSI, rm_mem(RBX, JP_RESULT));
	g_lea(a, 1, RDX, rm_mem(RBX, JP_LANES));
	jit_call_done(c, (u64)(uintptr_t)warp_by_lane);
	if (in->kind == K_MATCH && in->o[1] != OPND_NONE)
		j_put_bits(c, in->o[1]);
	from_result(c, in->o[0]);
	return true;
}

/* By a C function: each lane's number against all others'. */
bool jit_match(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;

	if (c->r[in->o[0]].cls != JC_VARY || c->r[in->o[0]].w || (in->o[1] != OPND_NONE && c->r[in->o[1]].cls != JC_VARY))
		return false;
	if (by_name(c, in))
		return by_lane(c, in, in->o[3]);
	to_lanes(c, in->o[3], in->aw, JP_LANES);
	if (!members(c, in))
		return false;
	jit_call_keep(c);       /* before arguments take the place of scalars */
	g_load(a, 0, R8, rm_reg(RAX));
	g_load(a, 0, RCX, rm_reg(RDX));
	g_movi(a, RDI, (u64)(uintptr_t)&c->fn->code[c->pc]);
	g_lea(a, 1, RSI, rm_mem(RBX, JP_RESULT));
	g_lea(a, 1, RDX, rm_mem(RBX, JP_LANES));
	jit_call_done(c, (u64)(uintptr_t)warp_match_one);
	if (in->o[1] != OPND_NONE)
		j_put_bits(c, in->o[1]);
	from_result(c, in->o[0]);
	return true;
}

bool jit_redux(struct jcomp *c, const struct insn *in)
{
	static const u8 swap[] = { 0x4e, 0xb1 };
	u32 op = ja_vector_op(in), p, i;
	struct as *a = &c->a;
	int x;

	if (by_name(c, in) && in->size != 8)
		return by_lane(c, in, in->o[1]);
	if (!op || in->size == 8 || c->r[in->o[0]].cls != JC_UNI || c->r[in->o[0]].w || !members(c, in))
		return false;
	g_alu(a, 0, G_OR, RAX, rm_reg(RAX));
	g_cmov(a, 0, CC_E, RAX, rm_reg(RDX));   /* who is no member: as the interpreter has it */
	for (p = 0; p < 2; p++) {
		x = jv_obs(c, in->o[1], 0, p, 1);
		ev(a, V_MOVA32, p ? 2 : 0, 0, rm_lit(j_lit32(c, (u32)ja_neutral(in)), 0));
		k_from(a, 7, RAX);
		if (p)
			k_shr(a, 7, 7, 16);
		ev_k(a, V_MOVA32, p ? 2 : 0, 0, rm_reg(x), 7, 0);
	}
	ev(a, op, 0, 0, rm_reg(2));
	for (i = 0; i < 4; i++) {
		ev_i(a, i < 2 ? V_SHUF32X4 : V_PSHUFD, 1, 0, rm_reg(0), 0, 0, swap[i & 1]);
		ev(a, op, 0, 0, rm_reg(1));
	}
	ev_n(a, V_LL(V_MOVD_ST, 0), 0, 0, rm_reg(RAX), 0, 0, 0, 4, 0);
	ju_store(c, in->o[0], RAX);
	return true;
}

bool jit_activemask(struct jcomp *c, const struct insn *in)
{
	if (in->guard != OPND_NONE || c->r[in->o[0]].cls != JC_UNI)
		return false;
	g_load(&c->a, 0, RAX, PM(m));
	ju_store(c, in->o[0], RAX);
	return true;
}

/* cvta of an address that is no scalar, or becomes none. */
bool jit_cvta(struct jcomp *c, const struct insn *in)
{
	s64 stride = in->space == SPACE_LOCAL ? (s64)jit_local_stride(c->fn) : 0;
	struct as *a = &c->a;
	u32 p, i;

	if (c->r[in->o[0]].cls != JC_VARY || !c->r[in->o[0]].w)
		return false;
	for (p = 0; p < 4; p++) {
		int x = jv_reg(c, in->o[1], 1, p, 0), d = jv_dst(c, in->o[0], p, 2);
		u64 off[8];

		for (i = 0; i < 8; i++)
			off[i] = (u64)(stride * (s64)(8 * p + i));
		ev_n(a, V_PBCASTQ, 1, 0, in->space == SPACE_SHARED ? PM(shared) : in->space == SPACE_LOCAL ? PM(local) : PM(pwin), 0, 0, 0, 8, 0);
		if (stride)
			ev(a, V_PADDQ, 1, 1, rm_lit(j_lit(c, off, 64), 0));
		ev(a, in->sub ? V_PSUBQ : V_PADDQ, d, x, rm_reg(1));
		jv_put(c, in->o[0], p, d);
	}
	return true;
}
