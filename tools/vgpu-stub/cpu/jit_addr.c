/* SPDX-License-Identifier: MIT */
/*
 * Addresses of loads and stores. One that is uniform or a pattern is checked with two comparisons of scalars, varying ones
 * lane by lane. Whatever fails a check goes through the interpreter (JX_STEP), which raises the fault or takes the long
 * way; so does an instruction that meets a missing page (jit_run.c redirects the signal). Called by jit_mem.c and jit_st.c.
 */
#include "jit_mem.h"
#include "lanes.h"

/* Merged loads are aligned as their elements, others as a whole. */
static u32 jm_align_log2(const struct insn *in)
{
	return (u32)__builtin_ctz(in->kind == K_LD && in->sub2 ? in->sub2 : (u32)in->size * in->vec);
}

/* Every thread has its own local memory: the pattern becomes that of where it is. */
static bool local_lanes(struct jcomp *c, struct acc *x, u32 ext)
{
	s64 v[LANES];
	u32 l, pat;

	if (ext > jit_local_stride(c->fn) || jit_local_stride(c->fn) > 1u << 20)
		return false;
	for (l = 0; l < LANES; l++)
		v[l] = x->pat[l] + (s64)l * jit_local_stride(c->fn);
	pat = jit_pat(c, v);
	if (pat == ~0u)
		return false;
	x->v.cls = JC_PAT;
	x->pat = c->pats[pat];
	for (l = 0; l < LANES; l++) {
		x->cmin = x->pat[l] < x->cmin ? x->pat[l] : x->cmin;
		x->cmax = x->pat[l] > x->cmax ? x->pat[l] : x->cmax;
	}
	return true;
}

/*
 * Asks for what this load will want next time, if it goes on as since the last time: in the next round of its loop or
 * the next block. Processors' own prefetchers do not see that rows of a matrix, read in pieces by one warp after the
 * other, follow each other. rax: the address; rcx is eaten. P keeps the last one; what stands there first does not matter.
 */
#define AHEAD_MIN 128u
#define AHEAD_MAX 512u

static void ahead(struct jcomp *c, const struct acc *x, u32 ext)
{
	struct as *a = &c->a;
	struct rm last;
	u32 i;

	c->home_next = (c->home_next + 7) & ~7u;
	last = rm_mem(RBX, (s32)c->home_next);
	c->home_next += 8;
	g_load(a, 1, RCX, rm_reg(RAX));
	g_alu(a, 1, G_SUB, RCX, last);
	g_store(a, 1, last, RAX);
	g_alu(a, 1, G_ADD, RCX, rm_reg(RAX));
	for (i = 0; i < ext; i += 64)           /* prefetcht0 */
		g_op(a, 0, 0x118, 1, rm_mem(RCX, x->disp + x->cmin + (s32)i), 0);
}

/* Checks a uniform or pattern address; rax becomes lane 0's real address less disp. False: not this way. */
bool jm_addr(struct jcomp *c, const struct insn *in, struct acc *x)
{
	struct as *a = &c->a;
	u32 l, ext;
	s32 cmin;
	bool known;

	x->v = jit_val(c, in->o[4], in->aw);
	x->bytes = (u32)in->size * in->vec;
	x->align = in->kind == K_LD && in->sub2 ? in->sub2 : x->bytes;
	if (x->v.cls == JC_VARY)
		return false;
	x->pat = c->pats[x->v.pat];
	x->cmin = x->cmax = 0;
	for (l = 0; l < LANES; l++) {
		x->cmin = x->pat[l] < x->cmin ? x->pat[l] : x->cmin;
		x->cmax = x->pat[l] > x->cmax ? x->pat[l] : x->cmax;
		if (x->pat[l] & (s32)(x->align - 1))
			return false;
	}
	ext = (u32)(x->cmax - x->cmin) + x->bytes;
	cmin = x->cmin;
	if (ext > JIT_SLACK || in->imm < -(1 << 28) || in->imm > 1 << 28)
		return false;
	x->step = j_exit(c, JX_STEP, c->pc, 0);
	known = x->v.known;
	if (in->space == SPACE_LOCAL && !local_lanes(c, x, ext))
		return false;
	ju_load(c, RAX, in->o[4], in->aw);
	x->disp = (s32)in->imm;
	if (in->space == SPACE_LOCAL) {
		s64 lo = (s64)x->v.k + in->imm + cmin;
		u32 stride = jit_local_stride(c->fn);

		if (!in->aw && in->imm) {
			g_alui(a, 0, G_ADD, rm_reg(RAX), (s32)in->imm);
			x->disp = 0;
		}
		if (!(known && lo >= 0 && lo + ext <= stride && !(lo & (x->align - 1)))) {
			g_lea(a, 1, RCX, rm_mem(RAX, x->disp + cmin));
			g_alui(a, 1, G_CMP, rm_reg(RCX), (s32)(stride - ext));
			j_leave_if(c, CC_A, x->step);
			if (x->align > 1) {
				g_testi(a, RCX, x->align - 1);
				j_leave_if(c, CC_NE, x->step);
			}
		}
		g_alu(a, 1, G_ADD, RAX, PM(local));
		return true;
	}
	if (in->space == SPACE_SHARED) {
		s64 lo = (s64)x->v.k + in->imm + x->cmin;

		if (!in->aw && in->imm) {
			g_alui(a, 0, G_ADD, rm_reg(RAX), (s32)in->imm);
			x->disp = 0;
		}
		/* a variable of the kernel's own needs no check */
		if (!(known && lo >= 0 && lo + ext <= c->fn->shared_bytes && !(lo & (x->align - 1)))) {
			g_load(a, 1, RDX, PM(shared_total));
			g_alui(a, 1, G_SUB, rm_reg(RDX), (s32)ext);
			j_leave_if(c, CC_B, x->step);
			g_lea(a, 1, RCX, rm_mem(RAX, x->disp + x->cmin));
			g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
			j_leave_if(c, CC_A, x->step);
			if (x->align > 1) {
				g_testi(a, RCX, x->align - 1);
				j_leave_if(c, CC_NE, x->step);
			}
		}
		g_alu(a, 1, G_ADD, RAX, PM(shared));
		return true;
	}
	g_lea(a, 1, RCX, rm_mem(RAX, x->disp + x->cmin));
	g_alu(a, 1, G_SUB, RCX, PM(span_lo));
	g_alu(a, 1, G_CMP, RCX, PM(span_lim));
	j_leave_if(c, CC_AE, x->step);
	if (x->align > 1) {
		g_testi(a, RCX, x->align - 1);
		j_leave_if(c, CC_NE, x->step);
	}
	if (in->kind == K_LD && ext >= AHEAD_MIN && ext <= AHEAD_MAX)
		ahead(c, x, ext);
	return true;
}

bool jm_is_row(const struct acc *x)
{
	u32 l;

	for (l = 0; l < LANES; l++)
		if (x->pat[l] != (s32)(l * x->bytes))
			return false;
	return true;
}

/*
 * Checks part q of a varying 64-bit address and leaves it in zmm 0, relative to the base in rax; the
 * mask of running lanes in k7.
 */
void jm_vary64(struct jcomp *c, const struct insn *in, u32 q, u32 step)
{
	struct as *a = &c->a;
	u32 sh = jm_align_log2(in);
	int x = jv_reg(c, in->o[4], 1, q, 0), k;

	if (in->imm) {
		ev(a, V_PADDQ, 0, x, rm_lit(j_lit64(c, (u64)in->imm), 0));
		x = 0;
	}
	if (!jm_window(in))
		ev_n(a, V_PSUBQ, 1, x, PM(span_lo), 0, 0, 1, 8, 0);
	else
		ev(a, V_MOVA64, 1, 0, rm_reg(x));
	if (sh)
		ev_i(a, V_PSRAIQ, 0, 1, rm_reg(1), 0, 0, sh);   /* vprorq */
	k = jv_mask(c, 1, q);
	if (!jm_window(in)) {
		ev_n(a, V_PCMPUQ, 7, 1, rm_mem(RBX, PSZ(lims) + 8 * (s32)sh), k, 0, 1, 8, 1);
		b1(a, 5);
	} else {
		ev_i(a, V_PCMPUQ, 7, 1, rm_reg(2), k, 0, 5);
	}
	k_ortest(a, 7, 7);
	j_leave_if(c, CC_NE, step);
	k_mov(a, 7, k);
	if (x)
		ev(a, V_MOVA64, 0, 0, rm_reg(x));
	if (in->space == SPACE_LOCAL) {
		u64 off[8];
		u32 i;

		for (i = 0; i < 8; i++)
			off[i] = (u64)(8 * q + i) * jit_local_stride(c->fn);
		ev(a, V_PADDQ, 0, 0, rm_lit(j_lit(c, off, 64), 0));
	}
}

/* The same for 32-bit addresses of shared memory: 16 lanes. */
void jm_vary32(struct jcomp *c, const struct insn *in, u32 p, u32 step)
{
	struct as *a = &c->a;
	u32 sh = jm_align_log2(in);
	int x = jv_reg(c, in->o[4], 0, p, 0), k;

	if (in->imm) {
		ev(a, V_PADDD, 0, x, rm_lit(j_lit32(c, (u32)in->imm), 0));
		x = 0;
	}
	if (sh) {
		ev_i(a, V_PSHID, 0, 1, rm_reg(x), 0, 0, sh);    /* vprord */
	} else {
		ev(a, V_MOVA32, 1, 0, rm_reg(x));
	}
	k = jv_mask(c, 0, p);
	ev_i(a, V_PCMPUD, 7, 1, rm_reg(2), k, 0, 5);
	k_ortest(a, 7, 7);
	j_leave_if(c, CC_NE, step);
	k_mov(a, 7, k);
	if (x)
		ev(a, V_MOVA32, 0, 0, rm_reg(x));
	if (in->space == SPACE_LOCAL) {
		u32 off[16], i;

		for (i = 0; i < 16; i++)
			off[i] = (16 * p + i) * jit_local_stride(c->fn);
		ev(a, V_PADDD, 0, 0, rm_lit(j_lit(c, off, 64), 0));
	}
}

bool jm_window(const struct insn *in) { return in->space == SPACE_SHARED || in->space == SPACE_LOCAL; }

/* rax = base of varying addresses; zmm 2 = how many places an access of this size has in shared or local memory */
bool jm_vary_base(struct jcomp *c, const struct insn *in, u32 step)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, sh = jm_align_log2(in), stride = jit_local_stride(c->fn);

	if (in->space == SPACE_LOCAL) {
		if (stride < bytes || stride > 1u << 20)
			return false;
		ev(a, V_MOVA64, 2, 0, rm_lit(in->aw ? j_lit64(c, ((stride - bytes) >> sh) + 1) : j_lit32(c, ((stride - bytes) >> sh) + 1), 0));
		g_load(a, 1, RAX, PM(local));
		return true;
	}
	if (in->space != SPACE_SHARED) {
		g_movi(a, RAX, 0);
		return true;
	}
	g_load(a, 1, RCX, PM(shared_total));
	g_alui(a, 1, G_SUB, rm_reg(RCX), (s32)bytes);
	j_leave_if(c, CC_B, step);
	if (sh)
		g_shi(a, 1, G_SHR, RCX, sh);
	g_alui(a, 1, G_ADD, rm_reg(RCX), 1);
	ev(a, in->aw ? V_PBCASTQ_R : V_PBCASTD_R, 2, 0, rm_reg(RCX));
	g_load(a, 1, RAX, PM(shared));
	return true;
}
