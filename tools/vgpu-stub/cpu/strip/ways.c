/* SPDX-License-Identifier: MIT */
/*
 * Into a strip's code and out of it, and single instructions by the interpreter in between.
 *
 * Outside, what is alive lies in slots of the interpreter's frame: a scalar as the vector that it stands for, and only for the
 * lanes that it is alive in (others may use the slot for something else).
 */
#include "mem.h"
#include "vex.h"

static const u8 saved[] = { RBX, RBP, R12, R13, R14, R15 };

static void push(struct as *a, int r, u32 op)
{
	as_room(a, 8);
	if (r >= 8)
		b1(a, 0x41);
	b1(a, op | (u32)(r & 7));
}

static struct rm slot_rm(const struct sregister *r, u32 part)
{
	return r->w == 1 ? rm_idx(RBX, RBP, 1, (s32)(r->slot + 32 * part)) : rm_idx(RBX, RBP, 0, (s32)r->slot);
}

/* u64 code(struct sprivate *, struct frame *, struct tstate *, pool, where, strip) */
void s_way_in(struct scomp *c)
{
	struct as *a = &c->a;
	u32 i;

	for (i = 0; i < sizeof(saved); i++)
		push(a, saved[i], 0x50);
	g_load(a, 1, RAX, rm_reg(RSP));
	g_alui(a, 1, G_SUB, rm_reg(RSP), c->stack);
	g_alui(a, 1, G_AND, rm_reg(RSP), -32);
	g_store(a, 1, stack_rm(c->old_rsp), RAX);
	g_load(a, 1, R15, rm_reg(RDI));
	g_load(a, 1, RBX, rm_mem(RSI, (s32)offsetof(struct frame, base)));
	g_load(a, 1, R14, rm_reg(RDX));
	g_load(a, 1, R13, rm_reg(RCX));
	g_load(a, 1, R11, rm_reg(R8));
	g_load(a, 0, RBP, rm_reg(R9));
	g_shi(a, 0, G_SHL, RBP, 5);
	g_load(a, 0, R12, SPM(m));
	g_movi(a, RDX, 0);
	for (i = 0; i < c->nb; i++)
		if (c->b[i].word >= 0)
			g_store(a, 0, stack_rm(c->b[i].word), RDX);
	g_load(a, 0, RAX, rm_reg(R12));
	s_mask_vector(c, 15, RAX);
	g_op(a, 0, 0xff, 4, rm_reg(R11), 0);
}

void s_way_out(struct scomp *c)
{
	struct as *a = &c->a;
	u32 i;

	as_room(a, 16);
	b1(a, 0xc5);    /* vzeroupper */
	b1(a, 0xf8);
	b1(a, 0x77);
	g_load(a, 1, RSP, stack_rm(c->old_rsp));
	for (i = sizeof(saved); i--;)
		push(a, saved[i], 0x58);
	as_room(a, 8);
	b1(a, 0xc3);
}

/* ---- between registers and slots -------------------------------------------------------------- */

/*
 * Register v of the lanes of mask (a ymm, its bits in edx, its two halves for 64-bit lanes in ymm2 and ymm3 if one is so wide)
 * into its slot; all: of the whole strip. ymm0, ymm1, rax, rcx are lost.
 */
static void spill(struct scomp *c, u32 v, int mask, bool all)
{
	struct as *a = &c->a;
	struct sregister *r = &c->r[v];
	u32 p;
	int x;

	if (r->w == 2) {
		struct rm at = rm_idx(RBX, RAX, 0, (s32)r->slot);

		if (r->v.cls == SC_SCALAR) {
			s_to_gpr(c, v, 0, RCX);
		} else {
			x = sv(c, v, 2, 0, 0);
			vr(a, X_MOVMSKPS, RCX, 0, x);
		}
		g_load(a, 0, RAX, rm_reg(RBP));
		g_shi(a, 0, G_SHR, RAX, 5);
		if (all) {
			g_op(a, 0, 0x88, RCX, at, 0);
			return;
		}
		/* old ^ ((old ^ new) & mask) */
		g_op(a, 0, 0x32, RCX, at, 0);
		g_alu(a, 0, G_AND, RCX, rm_reg(RDX));
		g_op(a, 0, 0x30, RCX, at, 0);
		return;
	}
	for (p = 0; p < (r->w ? 2u : 1u); p++) {
		if (s_index_of(c, v)) {
			s_index_part(c, s_index_of(c, v), p, 0, 1);
			x = 0;
		} else {
			x = sv(c, v, r->w, p, 0);
		}
		if (r->rawf) {
			s_canon(c, 0, x, 1);
			x = 0;
		}
		if (all)
			vy(a, X_MOVU_ST, x, 0, slot_rm(r, p));
		else if (r->w)
			vy(a, X_MASKMOVQ_ST, x, p ? 3 : 2, slot_rm(r, p));
		else
			vy(a, X_MASKMOVD_ST, x, mask, slot_rm(r, 0));
	}
}

void s_spill_set(struct scomp *c, const u64 *set, int mask, bool all)
{
	bool wide = false;
	u32 w;
	u64 x;

	for (w = 0; w < c->words && !all; w++)
		for (x = set[w]; x; x &= x - 1)
			wide |= c->r[w * 64 + (u32)__builtin_ctzll(x)].w == 1;
	if (wide)
		s_wide_mask(c, mask, 2, 3);
	for (w = 0; w < c->words; w++)
		for (x = set[w]; x; x &= x - 1)
			spill(c, w * 64 + (u32)__builtin_ctzll(x), mask, all);
}

/* The scalar of v, as the lane says whose number is in ecx. */
void s_fill_scalar(struct scomp *c, u32 v)
{
	struct as *a = &c->a;
	struct sregister *r = &c->r[v];
	int d = r->loc == LOC_GPR ? r->reg : RDX;

	if (r->w == 2) {
		g_load(a, 0, RAX, rm_reg(RBP));
		g_shi(a, 0, G_SHR, RAX, 5);
		g_movx(a, 0, 0, 1, RDX, rm_idx(RBX, RAX, 0, (s32)r->slot));
		g_op(a, 0, 0x1a3, RCX, rm_reg(RDX), 0);         /* bt edx, ecx */
		g_op(a, 0, 0x1b, d, rm_reg(d), 0);              /* sbb d, d */
	} else if (r->w == 1) {
		g_lea(a, 1, RAX, rm_idx(RBX, RBP, 1, (s32)r->slot));
		g_load(a, 1, d, rm_idx(RAX, RCX, 3, 0));
	} else {
		g_lea(a, 1, RAX, rm_idx(RBX, RBP, 0, (s32)r->slot));
		g_load(a, 0, d, rm_idx(RAX, RCX, 2, 0));
	}
	if (r->v.pat) {
		g_lea(a, 1, RAX, rm_lit(s_lit(c, c->pats[r->v.pat], 32), 0));
		if (r->w == 1)
			g_movsxd(a, RAX, rm_idx(RAX, RCX, 2, 0));
		else
			g_load(a, 0, RAX, rm_idx(RAX, RCX, 2, 0));
		g_alu(a, r->w == 1, G_SUB, d, rm_reg(RAX));
	}
	if (r->loc == LOC_MEM)
		g_store(a, 1, s_home(r), d);
}

/* Fills v, which is no scalar, from its slot, whatever lanes it is alive in. */
void s_fill(struct scomp *c, u32 v)
{
	struct as *a = &c->a;
	struct sregister *r = &c->r[v];
	u32 p;

	for (p = 0; p < (r->w == 1 ? 2u : 1u); p++) {
		int d = r->loc == LOC_ZMM ? (p ? r->reg2 : r->reg) : 0;

		if (r->w == 2) {
			g_load(a, 0, RAX, rm_reg(RBP));
			g_shi(a, 0, G_SHR, RAX, 5);
			g_movx(a, 0, 0, 1, RAX, rm_idx(RBX, RAX, 0, (s32)r->slot));
			s_mask_vector(c, d, RAX);
		} else {
			vy(a, X_MOVU, d, 0, slot_rm(r, p));
		}
		if (r->loc == LOC_MEM)
			vy(a, X_MOVU_ST, d, 0, s_vector_home(r, p));
	}
}

/* ---- exits and entries ------------------------------------------------------------------------ */

static u32 *new_jump(struct scomp *c, struct sjump **list, u32 *n, u32 *cap)
{
	struct sjump *j = xgrow(*list, cap, *n + 1, sizeof(*j));

	if (!j) {
		c->bad = true;
		return NULL;
	}
	*list = j;
	return &j[(*n)++].at;
}

u32 s_exit(struct scomp *c, u32 pc)
{
	struct sexit *x = xgrow(c->exits, &c->exits_cap, c->nexits + 1, sizeof(*x));
	u32 w, n = 0;
	u64 b;

	if (!x) {
		c->bad = true;
		return 0;
	}
	c->exits = x;
	x += c->nexits;
	*x = (struct sexit){ .pc = pc };
	if (pc != NO_PC)
		for (w = 0; w < c->bwords; w++)
			n += (u32)__builtin_popcountll(c->cur->wait[w]);
	if (n > S_MAX_WAITS) {
		c->bad = true;
		return 0;
	}
	x->waits = pool_alloc(&c->mem, (n + 1) * sizeof(u32));
	if (!x->waits) {
		c->bad = true;
		return 0;
	}
	for (w = 0; n && w < c->bwords; w++)
		for (b = c->cur->wait[w]; b; b &= b - 1)
			x->waits[x->nwaits++] = w * 64 + (u32)__builtin_ctzll(b);
	return c->nexits++;
}

void s_exit_jump(struct scomp *c, u32 at, u32 exit)
{
	u32 *p = new_jump(c, &c->xjumps, &c->nxjumps, &c->xjumps_cap);

	if (p) {
		*p = at;
		p[1] = exit;
	}
}

static void stub_jump(struct scomp *c, u32 at, u32 block, u32 where)
{
	struct sstub_jump *j = xgrow(c->sjumps, &c->sjumps_cap, c->nsjumps + 1, sizeof(*j));

	if (!j) {
		c->bad = true;
		return;
	}
	c->sjumps = j;
	j[c->nsjumps++] = (struct sstub_jump){ at, block, where };
}

void s_stub_jump(struct scomp *c, u32 at, u32 block, bool next) { stub_jump(c, at, block, next ? STUB_NEXT : STUB_IN); }
void s_plain_jump(struct scomp *c, u32 at, u32 block) { stub_jump(c, at, block, STUB_PLAIN); }

void s_leave(struct scomp *c, u32 pc)
{
	s_exit_jump(c, g_jmp(&c->a), s_exit(c, pc));
}

void s_leave_if(struct scomp *c, u32 cc, u32 pc)
{
	if (c->stage) {
		s_whole_not_if(c, cc);
		return;
	}
	s_exit_jump(c, g_jcc(&c->a, cc), s_exit(c, pc));
}

void s_parted_if(struct scomp *c, u32 cc)
{
	u32 at, x;

	if (c->stage) {
		s_whole_not_if(c, cc);
		return;
	}
	at = g_jcc(&c->a, cc);
	x = s_exit(c, c->pc);
	if (!c->bad)
		c->exits[x].parted = true;
	s_exit_jump(c, at, x);
}

void s_wrong_if(struct scomp *c, u32 cc)
{
	u32 at, x;

	if (c->stage) {
		s_whole_not_if(c, cc);
		return;
	}
	at = g_jcc(&c->a, cc);
	x = s_exit(c, c->pc);
	if (!c->bad)
		c->exits[x].wrong = true;
	s_exit_jump(c, at, x);
}

/* What is alive before pc. */
const u64 *s_live_before(struct scomp *c, u32 pc)
{
	u32 lo = 0, hi = c->nb, i;
	u64 *set;

	while (hi - lo > 1) {
		u32 mid = (lo + hi) / 2;

		if (c->b[mid].start <= pc)
			lo = mid;
		else
			hi = mid;
	}
	if (c->b[lo].start == pc)
		return c->b[lo].live_in;
	set = pool_alloc(&c->mem, (c->words + 1) * 8);
	if (!set) {
		c->bad = true;
		return c->b[lo].live_in;
	}
	memcpy(set, c->b[lo].live_out, c->words * 8);
	for (i = c->b[lo].end; i-- > pc;)
		s_before(set, &c->code[i]);
	return set;
}

/* ---- one instruction by the interpreter --------------------------------------------------------- */

void s_ldmxcsr(struct scomp *c, u32 v) { vx(&c->a, VOP(0, 1, 0, 0xae), 0, 2, 0, rm_lit(s_lit(c, &v, 4), 0), 0); }

void s_mxcsr(struct scomp *c, u32 want)
{
	if (c->s->mxcsr != ~0u || !want || c->mx == want)
		return;
	s_ldmxcsr(c, want);
	c->mx = want;
}

/* For what sees no subnormal numbers and makes none, as conversions from integers: it cares for the direction of rounding alone. */
void s_mxcsr_rounds(struct scomp *c, u32 want)
{
	if (!c->mx || !want || (c->mx ^ want) & ~(u32)MXCSR_FLUSH)
		s_mxcsr(c, want);
}

/* Blocks begin and end with the mode of most of the code (jit_mode.c says why), C comes back with it. */
void s_mode_home(struct scomp *c)
{
	if (c->s->mxcsr == ~0u)
		s_mxcsr(c, c->s->mxcsr_home);
}

/* As jit_mode_begin(): another mode for operands that it makes a difference for. True: s_mode_end() has to follow. ymm0, ymm1, rax are lost. */
bool s_mode_begin(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 none;

	if (!jit_mode_seldom(in) || in->lop == LOP_MIN || in->lop == LOP_MAX || !jit_mode_other(c->mx, in))
		return false;
	vy(a, X_PAND, 0, sv(c, in->o[1], 0, 0, 0), s_splat32(c, 0x7fffffff));
	if (in->lop == LOP_RCP) {
		vy(a, X_PSUBD, 0, 0, s_splat32(c, 0x00800000));
		vy(a, X_PXOR, 0, 0, s_splat32(c, 1u << 31));
		vy(a, X_PCMPGTD, 1, 0, s_splat32(c, 0xfe000000u));
	} else {                        /* from 0 to 0x7ffffe, with a sign bit that only the comparison has */
		vy(a, X_PSUBD, 0, 0, s_splat32(c, 1));
		vy(a, X_MOVU, 1, 0, s_splat32(c, 0x007fffff));
		vr(a, X_PCMPGTD, 1, 1, 0);
		vr(a, X_PANDN, 1, 0, 1);
	}
	vr(a, X_MOVMSKPS, RAX, 0, 1);
	g_store(a, 0, SPM(apart), RAX);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
	none = g_jcc(a, CC_E);
	s_ldmxcsr(c, in->mxcsr);
	g_here(a, none);
	return true;
}

void s_mode_end(struct scomp *c)
{
	struct as *a = &c->a;
	u32 none;

	g_alui(a, 0, G_CMP, SPM(apart), 0);
	none = g_jcc(a, CC_E);
	s_ldmxcsr(c, c->mx);
	g_here(a, none);
}

/* Two ways come together here, the other one with that mode. */
void s_mode_met(struct scomp *c, u32 other)
{
	if (c->mx != other)
		c->mx = 0;
}

void s_saved(struct scomp *c, u32 pc, bool load)
{
	struct as *a = &c->a;
	u32 v, p, ymm = 0, gpr = 0, k;

	for (v = 0; v < c->s->nregs; v++) {
		const struct sregister *r = &c->r[v];

		if (!r->live || r->first > pc || r->last <= pc)
			continue;
		if (r->loc == LOC_GPR)
			gpr |= 1u << r->reg;
		for (p = 0; r->loc == LOC_ZMM && p < (r->w == 1 ? 2u : 1u); p++)
			ymm |= 1u << (p ? r->reg2 : r->reg);
	}
	for (k = 0, p = 0; k < 16; k++) {
		if (gpr >> k & 1) {
			struct rm at = stack_rm(c->save_gpr + 8 * (s32)p++);

			if (load)
				g_load(a, 1, (int)k, at);
			else
				g_store(a, 1, at, (int)k);
		}
		if (ymm >> k & 1)
			vy(a, load ? X_MOVU : X_MOVU_ST, (int)k, 0, stack_rm(c->save_ymm + 32 * (s32)k));
	}
}

void s_call(struct scomp *c, u32 pc) { s_call_at(c, pc, pc); }

void s_call_at(struct scomp *c, u32 pc, u32 where)
{
	struct as *a = &c->a;
	const struct insn *in = &c->code[pc];
	u64 *set = pool_alloc(&c->mem, (c->words + 1) * 8);
	u32 k, none, part, over;

	if (!set) {
		c->bad = true;
		return;
	}
	for (k = 0; k < 6; k++)
		if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
			set[in->o[k] >> 6] |= 1ull << (in->o[k] & 63);
	s_bits(c);
	s_mask_bits(c, RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), 0);
	none = g_jcc(a, CC_E);
	g_store(a, 0, SPM(step), RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
	part = g_jcc(a, CC_NE);
	s_spill_set(c, set, s_mask(c), true);
	over = g_jmp(a);
	g_here(a, part);
	s_spill_set(c, set, s_mask(c), false);
	g_here(a, over);
	s_saved(c, where, false);
	g_load(a, 1, RDI, rm_reg(R14));
	g_load(a, 1, RSI, rm_reg(R15));
	g_movi(a, RDX, pc);
	g_load(a, 0, RCX, rm_reg(RBP));
	g_shi(a, 0, G_SHR, RCX, 5);
	as_room(a, 16);
	b1(a, 0xc5);    /* vzeroupper */
	b1(a, 0xf8);
	b1(a, 0x77);
	g_movi(a, RAX, (u64)(uintptr_t)strip_step);
	g_op(a, 0, 0xff, 2, rm_reg(RAX), 0);
	s_saved(c, where, true);
	g_load(a, 0, RAX, rm_reg(R12));
	s_mask_vector(c, 15, RAX);
	if (c->guarded) {
		g_load(a, 0, RAX, stack_rm(c->gbits));
		s_mask_vector(c, 14, RAX);
	}
	for (k = 0; k < 6; k++) {
		struct sregister *r;
		u32 p;

		if (!(in->def >> k & 1) || in->o[k] == OPND_NONE)
			continue;
		r = &c->r[in->o[k]];
		if (!r->live)
			continue;
		if (r->v.cls == SC_SCALAR) {
			g_load(a, 0, RCX, SPM(step));
			g_tzcnt(a, RCX, rm_reg(RCX));
			s_fill_scalar(c, in->o[k]);
			continue;
		}
		for (p = 0; p < (r->w == 1 ? 2u : 1u); p++) {
			if (r->w == 2) {
				g_load(a, 0, RAX, rm_reg(RBP));
				g_shi(a, 0, G_SHR, RAX, 5);
				g_movx(a, 0, 0, 1, RAX, rm_idx(RBX, RAX, 0, (s32)r->slot));
				s_mask_vector(c, 0, RAX);
			} else {
				vy(a, X_MOVU, 0, 0, slot_rm(r, p));
			}
			sput(c, in->o[k], p, 0);
		}
	}
	g_here(a, none);
	c->mx = 0;
}

struct sslow *s_slow_now(struct scomp *c)
{
	if (c->nslow && c->slow[c->nslow - 1].pc == c->pc && c->slow[c->nslow - 1].whole == (c->stage != 0) && c->slow[c->nslow - 1].strip == c->whole_strip)
		return &c->slow[c->nslow - 1];
	return s_slow_new(c);
}

struct sslow *s_slow_new(struct scomp *c)
{
	struct sslow *s = xgrow(c->slow, &c->slow_cap, c->nslow + 1, sizeof(*s));

	if (!s) {
		c->bad = true;
		return NULL;
	}
	c->slow = s;
	s += c->nslow++;
	*s = (struct sslow){ .pc = c->pc, .guarded = c->guarded, .whole = c->stage != 0, .strip = (u8)c->whole_strip, .block = c->cur };
	return s;
}

void s_slow_if(struct scomp *c, u32 cc)
{
	struct sslow *s;

	if (c->stage && c->stage != WHOLE_STRIPS) {
		s_whole_not_if(c, cc);
		return;
	}
	s = s_slow_now(c);
	if (!s)
		return;
	if (s->njump == sizeof(s->jump) / sizeof(s->jump[0])) {
		c->bad = true;
		return;
	}
	s->jump[s->njump++] = g_jcc(&c->a, cc);
}

void s_site(struct scomp *c)
{
	struct sslow *s = s_slow_now(c);
	struct jsite *t = s ? xgrow(c->sites, &c->sites_cap, c->nsites + 1, sizeof(*t)) : NULL;

	if (!t) {
		c->bad = true;
		return;
	}
	c->sites = t;
	t[c->nsites++] = (struct jsite){ c->a.n, (u32)(s - c->slow) };
}

/* Behind everything: instructions whose quick way found something that it does not do. */
void s_slow_ways(struct scomp *c)
{
	u32 i, k;

	for (i = 0; i < c->nslow && !c->bad && !c->a.oom; i++) {
		struct sslow *s = &c->slow[i];

		for (k = 0; k < s->njump; k++)
			g_here(&c->a, s->jump[k]);
		s->at = c->a.n;
		c->pc = s->pc;
		c->guarded = s->guarded;
		c->cur = s->block;
		if (s->whole && s->block->warp_exit) {
			g_land(&c->a, g_jmp(&c->a), s->block->warp_exit[s->strip]);
			continue;
		}
		if (s->whole && s->block->round) {
			g_land(&c->a, g_jmp(&c->a), s->block->round_exit[s->strip]);
			continue;
		}
		if (s->whole) {
			s_whole_slow(c, s->pc, s->guarded);
			continue;
		}
		if (s->lanes) {
			s_lanes_way(c, i);
			continue;
		}
		if (s->pair)
			s_pair_slow(c, s->pc);
		else
			s_call(c, s->pc);
		/* what follows takes for granted that the quick way was good */
		if (s->leaves)
			s_leave(c, s->pc + 1);
		if (s->base)
			g_load(&c->a, 1, RAX, SPM(shared));
		if (!s->leaves)
			g_land(&c->a, g_jmp(&c->a), s->back);
	}
	c->guarded = false;
}
