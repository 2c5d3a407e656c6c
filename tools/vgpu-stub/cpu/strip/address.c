/* SPDX-License-Identifier: MIT */
/*
 * Addresses of which each lane has its own: computed, checked for those that run, all before the first access. What is not within, or not aligned, goes
 * to the interpreter. Loads, stores and atomics go on from there (mem.c, store.c, atom.c).
 */
#include "mem.h"
#include "vex.h"

void s_local_base(struct scomp *c)
{
	struct as *a = &c->a;

	g_load(a, 0, RCX, rm_reg(RBP));
	g_shi(a, 0, G_SHR, RCX, 2);
	g_imuli(a, 1, RCX, rm_reg(RCX), (s32)jit_local_stride(c->fn));
	g_alu(a, 1, G_ADD, RCX, SPM(local));
}

/* The lanes' addresses are within a known distance of a scalar: it is checked for all of them. False: they are not, or it is too far. */
bool s_by_scalar(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u64 max;
	u32 base;

	if (!s_bounded(c, in, &base, &max))
		return false;
	max += (u64)in->imm + (u32)in->size * in->vec;
	if (base == OPND_NONE)
		return in->space == SPACE_SHARED && max <= c->fn->shared_bytes;
	if (max >= JIT_SLACK / 2)
		return false;
	s_to_gpr(c, base, in->aw, RAX);
	if (in->space == SPACE_SHARED) {
		g_load(a, 1, RCX, SPM(shared_total));
		g_alui(a, 1, G_SUB, rm_reg(RCX), (s32)max);
		s_slow_if(c, CC_B);
		g_alu(a, 1, G_CMP, RAX, rm_reg(RCX));
	} else {
		g_alu(a, 1, G_SUB, RAX, SPM(span_lo));
		g_alu(a, 1, G_CMP, RAX, SPM(span_lim));
	}
	s_slow_if(c, CC_A);
	return true;
}

/* ymm0 and ymm1 = the lanes' addresses, an immediate added. */
static void lane_addresses(struct scomp *c, const struct insn *in)
{
	const struct sindex *s = s_index_of(c, in->o[4]);
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 2; p++) {
		int d = (int)p, x;

		if (s) {
			s_index_part(c, s, p, d, 2);
			x = d;
		} else if (in->aw) {
			x = sv(c, in->o[4], 1, p, d);
		} else {
			x = sv_obs(c, in->o[4], 0, 0, d);
			if (p) {
				vyi(a, X_EXTRACT, x, 0, rm_reg(d), 1);
				x = d;
			}
			/* its sum with an immediate wraps in 32 bits: one below zero may be meant */
			vr(a, X_PMOVSXDQ, d, 0, x);
			x = d;
		}
		if (in->imm)
			vy(a, X_PADDQ, d, x, s_splat64(c, (u64)in->imm));
		else if (x != d)
			vr(a, X_MOVU, d, 0, x);
	}
}

/* Of address x: sign bits in d where it lies below the first place or above the last one. */
static void beyond(struct scomp *c, const struct insn *in, int d, int x)
{
	struct as *a = &c->a;
	const struct engine_env *env = &c->fn->m->e->env;
	u32 bytes = (u32)in->size * in->vec;
	u64 top = 1ull << 63;

	if (in->space == SPACE_LOCAL || (in->space == SPACE_SHARED && s_own_shared(c, bytes))) {
		vy(a, X_PCMPGTQ, d, x, s_splat64(c, (in->space == SPACE_LOCAL ? (u64)local_room(c->fn) : c->fn->shared_bytes) - bytes));
		vr(a, X_POR, d, d, x);
	} else if (in->space == SPACE_SHARED) {
		vy(a, X_PBCASTQ, d, 0, rm_mem(R15, (s32)offsetof(struct sprivate, shared_ends) + 8 * (s32)s_log2(bytes)));
		vr(a, X_PCMPGTQ, d, x, d);
		vr(a, X_POR, d, d, x);
	} else {
		/* as unsigned numbers: both moved by 2^63 */
		vy(a, X_PADDQ, d, x, s_splat64(c, top - env->span_base));
		vy(a, X_PCMPGTQ, d, d, s_splat64(c, (env->span_bytes - bytes) ^ top));
	}
}

/* Addresses in ymm0 and ymm1, checked for the lanes that run. */
void s_lane_addresses(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, align = c->loose ? in->size : bytes, k = s_log2(align), p;
	struct sval v = s_val(c, in->o[4], in->aw);
	u32 ual = v.ual, l;
	bool within = s_by_scalar(c, in);
	u64 apart[4];

	for (l = 1; v.cls == SC_SCALAR && l < STRIP; l++)
		if (c->pats[v.pat][l] && (u32)__builtin_ctz((u32)c->pats[v.pat][l]) < ual)
			ual = (u32)__builtin_ctz((u32)c->pats[v.pat][l]);
	if (in->imm && (u32)__builtin_ctzll((u64)in->imm) < ual)
		ual = (u32)__builtin_ctzll((u64)in->imm);
	lane_addresses(c, in);
	if (!within) {
		beyond(c, in, 2, 0);
		beyond(c, in, 3, 1);
		vyi(a, X_SHUFPS, 3, 2, rm_reg(3), 0xdd);
	}
	if (ual < k) {
		/* a sign bit where one of the lowest is set */
		vyi(a, X_SHUFPS, 2, 0, rm_reg(1), 0x88);
		vy(a, X_PAND, 2, 2, s_splat32(c, align - 1));
		vy(a, X_PADDD, within ? 3 : 2, 2, s_splat32(c, 0x7fffffff));
		if (!within)
			vr(a, X_POR, 3, 3, 2);
	}
	if (!within || ual < k) {
		/* from lanes 0, 1, 4, 5, 2 ... to their order */
		vyi(a, X_PERMQ, 3, 0, rm_reg(3), 0xd8);
		vr(a, X_MOVMSKPS, RDX, 0, 3);
		if (c->guarded)
			s_mask_bits(c, RAX);
		g_op(a, 0, 0x85, RDX, rm_reg(c->guarded ? RAX : R12), 0);       /* test */
		s_slow_if(c, CC_NE);
	}
	if (in->space == SPACE_SHARED) {
		vy(a, X_PBCASTQ, 2, 0, SPM(shared));
		vr(a, X_PADDQ, 0, 0, 2);
		vr(a, X_PADDQ, 1, 1, 2);
	}
	if (in->space == SPACE_LOCAL) {
		s_local_base(c);
		vx_x(a, X_MOVQ, 2, 0, rm_reg(RCX));
		vy(a, X_PBCASTQ, 2, 0, rm_reg(2));
		for (p = 0; p < 2; p++) {
			for (l = 0; l < 4; l++)
				apart[l] = (u64)jit_local_stride(c->fn) * (l + 4 * p);
			vr(a, X_PADDQ, (int)p, (int)p, 2);
			vy(a, X_PADDQ, (int)p, (int)p, rm_lit(s_lit(c, apart, 32), 0));
		}
	}
}

/*
 * Lanes that do not run get a place of the warp's own: all eight may be loaded one after the other then, without a loop whose rounds nobody can foretell, and
 * without the gather instruction, which takes three times as long as eight loads on our CPUs. ymm2 and ymm3 are lost.
 */
void s_idle_lanes(struct scomp *c, u32 place)
{
	struct as *a = &c->a;
	u32 all;
	int m;

	if (s_all_run(c))
		return;
	all = s_if_all(c);
	m = s_mask(c);
	g_lea(a, 1, RAX, s_mem_lanes_at(place));
	vx_x(a, X_MOVQ, 2, 0, rm_reg(RAX));
	vy(a, X_PBCASTQ, 2, 0, rm_reg(2));
	s_wide_mask(c, m, 3, -1);
	vyi(a, X_BLENDVPD, 0, 2, rm_reg(0), 3 << 4);
	s_wide_mask(c, m, -1, 3);
	vyi(a, X_BLENDVPD, 1, 2, rm_reg(1), 3 << 4);
	g_here(a, all);
}

void s_store_addresses(struct scomp *c)
{
	vy(&c->a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_ADDR));
	vy(&c->a, X_MOVU_ST, 1, 0, s_mem_lanes_at(L_ADDR + 32));
}

/* The addresses of the lanes that run, checked, in sprivate.lanes. */
bool s_addresses(struct scomp *c, const struct insn *in)
{
	if (!s_can_be(c, in))
		return false;
	s_lane_addresses(c, in);
	s_store_addresses(c);
	return true;
}

/* For each lane that runs: rcx its number, rax its address. Returns where the next round begins. */
u32 s_each_lane(struct scomp *c)
{
	struct as *a = &c->a;
	u32 top;

	s_mask_bits(c, RDX);
	top = a->n;
	g_tzcnt(a, RCX, rm_reg(RDX));
	g_load(a, 1, RAX, s_mem_lanes_of(L_ADDR, RCX, 3));
	return top;
}

void s_next_lane(struct scomp *c, u32 top)
{
	struct as *a = &c->a;

	g_lea(a, 0, RAX, rm_mem(RDX, -1));
	g_alu(a, 0, G_AND, RDX, rm_reg(RAX));
	g_land(a, g_jcc(a, CC_NE), top);
}
