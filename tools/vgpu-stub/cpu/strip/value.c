/* SPDX-License-Identifier: MIT */
/*
 * Operands and results of a strip's instructions; VEX encodings. Used by all that emit.
 *
 * Encodings: Intel SDM volume 2, 2.3 (VEX). Opcodes are packed as in jit_asm.h; the vector's length is given apart.
 */
#include "strip.h"
#include "vex.h"

void vx(struct as *a, u32 op, int L, int reg, int v, struct rm m, u32 tail)
{
	u32 x = 0, b = 0, at;

	as_room(a, 32);
	at = a->n;
	if (m.kind == 0)
		b = m.reg >> 3 & 1;
	else if (m.kind == 1)
		b = m.base >> 3 & 1;
	if (m.kind == 1 && m.index != 0xff)
		x = m.index >> 3 & 1;
	b1(a, 0xc4);
	b1(a, (~(u32)reg >> 3 & 1) << 7 | (~x & 1) << 6 | (~b & 1) << 5 | (op >> 2 & 7));
	b1(a, V_W(op) << 7 | (~(u32)v & 15) << 3 | (u32)L << 2 | (op & 3));
	b1(a, op >> 8 & 0xff);
	as_modrm(a, reg, m, 1, tail);
	a->vex_op = op;
	a->vex_at = at;
	a->vex_end = a->n + tail;
}

/* Which field of an instruction says where its result goes, and nothing else? */
enum field { F_NONE, F_REG, F_VVVV };

static enum field result_field(u32 op)
{
	switch (op) {
	case X_SHID: case X_SHIQ: case X_SHIW:
		return F_VVVV;
	case X_MOVU: case X_PADDD: case X_PADDQ: case X_PSUBD: case X_PSUBQ: case X_PMULLD: case X_PMULUDQ: case X_PMULDQ: case X_PMADDWD: case X_PMADDUBSW:
	case X_PAND: case X_PANDN: case X_POR: case X_PXOR: case X_PSLLVD: case X_PSRLVD: case X_PSRAVD: case X_PSLLVQ: case X_PSRLVQ:
	case X_PMINSD: case X_PMINUD: case X_PMAXSD: case X_PMAXUD: case X_PABSD: case X_PSIGND: case X_PCMPEQD: case X_PCMPGTD: case X_PCMPEQQ: case X_PCMPGTQ:
	case X_CMPPS: case X_CMPPD: case X_ADDPS: case X_MULPS: case X_SUBPS: case X_DIVPS: case X_SQRTPS: case X_MINPS: case X_MAXPS:
	case X_ADDPD: case X_MULPD: case X_SUBPD: case X_DIVPD: case X_SQRTPD: case X_MINPD: case X_MAXPD:
	case X_CVTDQ2PS: case X_CVTTPS2DQ: case X_CVTPS2DQ: case X_CVTDQ2PD: case X_CVTTPD2DQ: case X_CVTPS2PD: case X_CVTPD2PS: case X_CVTPH2PS:
	case X_ROUNDPS: case X_ROUNDPD: case X_BLENDVPS: case X_BLENDVPD: case X_PBLENDD: case X_PBLENDW:
	case X_PBCASTD: case X_PBCASTQ: case X_PBCASTB: case X_PBCASTW: case X_BCAST128: case X_PMOVSXDQ: case X_PMOVZXDQ: case X_PMOVZXWD: case X_PMOVSXWD:
	case X_PMOVZXBD: case X_PMOVSXBD: case X_INSERT: case X_PERMQ: case X_PERM128: case X_PERMD: case X_SHUFPS: case X_PSHUFD: case X_PSHUFB:
	case X_PUNPCKLDQ: case X_PUNPCKHDQ: case X_PUNPCKLQDQ: case X_PUNPCKHQDQ: case X_PACKUSDW: case X_PACKUSWB: case X_PADDB: case X_PSADBW:
		return F_REG;
	default:
		return F_NONE;
	}
}

/* The instruction that has just been emitted leaves its result, which is in the temporary x, in d instead: nobody jumps to what follows. */
static bool lands_in(struct as *a, int d, int x)
{
	u8 *p = a->p + a->vex_at;

	if (x >= 4 || a->oom || a->vex_end != a->n || a->label == a->n)
		return false;
	switch (result_field(a->vex_op)) {
	case F_REG:
		if ((int)((p[4] >> 3 & 7) | (~(u32)p[1] >> 7 & 1) << 3) != x)
			return false;
		p[1] = (u8)((p[1] & 0x7f) | (d < 8) << 7);
		p[4] = (u8)((p[4] & 0xc7) | (d & 7) << 3);
		return true;
	case F_VVVV:
		if ((~(u32)p[2] >> 3 & 15) != (u32)x)
			return false;
		p[2] = (u8)((p[2] & 0x87) | (~(u32)d & 15) << 3);
		return true;
	default:
		return false;
	}
}

/* ---- literals: 32 bytes in places of 64 ------------------------------------------------------- */

u32 s_lit(struct scomp *c, const void *bytes, u32 n)
{
	struct as *a = &c->a;
	u8 v[64] = { 0 };
	u32 i;

	memcpy(v, bytes, n);
	for (i = 0; i < a->nlit; i++)
		if (!memcmp(a->lit + 64 * (size_t)i, v, 64))
			return i;
	if (a->nlit == a->lit_cap) {
		u32 cap = a->lit_cap ? a->lit_cap * 2 : 32;
		u8 *p = realloc(a->lit, (size_t)cap * 64);

		if (!p) {
			a->oom = true;
			return 0;
		}
		a->lit = p;
		a->lit_cap = cap;
	}
	memcpy(a->lit + 64 * (size_t)a->nlit, v, 64);
	return a->nlit++;
}

struct rm s_splat32(struct scomp *c, u32 v)
{
	u32 x[8], i;

	for (i = 0; i < 8; i++)
		x[i] = v;
	return rm_lit(s_lit(c, x, 32), 0);
}

struct rm s_splat64(struct scomp *c, u64 v)
{
	u64 x[4] = { v, v, v, v };

	return rm_lit(s_lit(c, x, 32), 0);
}

/* ---- scalars ---------------------------------------------------------------------------------- */

/* Where an operand of the pool lies for this strip. */
static struct rm pool_rm(u32 o, struct sval v, u8 w, u32 part)
{
	s32 off = (s32)(o & ~OPND_CONST);

	if (v.cls == SC_SCALAR && !v.pat && v.all)
		return rm_mem(R13, off);
	return rm_idx(R13, RBP, w == 1, off + 32 * (s32)part);
}

struct rm sg_rm(struct scomp *c, u32 o, u8 w, int tmp)
{
	struct sval v = s_val(c, o, w);

	if (v.known || o == OPND_NONE) {
		g_movi(&c->a, tmp, w == 1 ? v.k : (u32)v.k);
		return rm_reg(tmp);
	}
	if (o & OPND_CONST)
		return pool_rm(o, v, w, 0);
	if (c->stage == WHOLE_CHECKS || c->stage == WHOLE_STRIPS)
		return s_whole_rm(c, o, w, tmp);
	return c->r[o].loc == LOC_GPR ? rm_reg(c->r[o].reg) : s_home(&c->r[o]);
}

void s_to_gpr(struct scomp *c, u32 o, u8 w, int gpr)
{
	struct rm m = sg_rm(c, o, w, gpr);

	if (m.kind || m.reg != gpr)
		g_load(&c->a, w == 1, gpr, m);
}

int sg(struct scomp *c, u32 o, u8 w, int tmp)
{
	struct rm m = sg_rm(c, o, w, tmp);

	if (!m.kind)
		return m.reg;
	g_load(&c->a, w == 1, tmp, m);
	return tmp;
}

void sg_put(struct scomp *c, u32 v, int gpr)
{
	struct sregister *r = &c->r[v];

	if (!r->live)
		return;
	if (r->loc == LOC_MEM)
		g_store(&c->a, 1, s_home(r), gpr);
	else if (r->reg != gpr)
		g_load(&c->a, r->w == 1, r->reg, rm_reg(gpr));
}

/* ---- vectors ---------------------------------------------------------------------------------- */

static struct rm lanes_of(struct scomp *c, u16 pat, u8 w, u32 part, s32 by)
{
	s32 x[STRIP];
	s64 y[4];
	u32 i;

	for (i = 0; i < STRIP; i++)
		x[i] = (s32)((u32)c->pats[pat][i] + (u32)by);
	if (w != 1)
		return rm_lit(s_lit(c, x, 32), 0);
	for (i = 0; i < 4; i++)
		y[i] = (s64)c->pats[pat][i + 4 * part] + by;
	return rm_lit(s_lit(c, y, 32), 0);
}

static void splat(struct scomp *c, u32 o, struct sval v, u8 w, u32 part, int d)
{
	struct as *a = &c->a;
	struct rm m;
	s32 by = 0;

	if (v.known) {
		m = w == 1 ? s_splat64(c, v.k) : s_splat32(c, (u32)v.k);
		vy(a, X_MOVU, d, 0, m);
		return;
	}
	/* rax may be where memory lies that it is stored to */
	if (c->stage >= WHOLE_CHECKS && c->stage <= WHOLE_STRIPS && !(o & OPND_CONST))
		m = s_whole_first(c, o, &by);
	else
		m = sg_rm(c, o, w, RAX);
	if (!m.kind) {
		vx_x(a, w == 1 ? X_MOVQ : X_MOVD, d, 0, m);
		m = rm_reg(d);
	}
	vy(a, w == 1 ? X_PBCASTQ : X_PBCASTD, d, 0, m);
	if (v.pat || by)
		vy(a, w == 1 ? X_PADDQ : X_PADDD, d, d, lanes_of(c, v.pat, w, part, by));
}

struct rm sv_rm(struct scomp *c, u32 o, u8 w, u32 part, int tmp)
{
	struct sval v = s_val(c, o, w);
	const struct sregister *r;

	if (o == OPND_NONE)
		return s_splat32(c, 0);
	if (o & OPND_CONST) {
		if (v.known)
			return w == 1 ? s_splat64(c, v.k) : s_splat32(c, (u32)v.k);
		return pool_rm(o, v, w, part);
	}
	r = &c->r[o];
	/* who reads such a one asks index.c */
	c->bad |= s_index_of(c, o) != NULL;
	if (r->v.cls == SC_SCALAR) {
		splat(c, o, r->v, w, part, tmp);
		return rm_reg(tmp);
	}
	if (r->loc == LOC_ZMM)
		return rm_reg(part ? r->reg2 : r->reg);
	return s_vector_home(r, part);
}

int sv(struct scomp *c, u32 o, u8 w, u32 part, int tmp)
{
	struct rm m = sv_rm(c, o, w, part, tmp);

	if (!m.kind)
		return m.reg;
	vy(&c->a, X_MOVU, tmp, 0, m);
	return tmp;
}

bool s_is_raw(const struct scomp *c, u32 o)
{
	struct sval v;

	if (o == OPND_NONE)
		return false;
	if (!(o & OPND_CONST))
		return c->r[o].rawf;
	v = s_val(c, o, 0);
	return v.known && ((u32)v.k & 0x7fffffffu) <= 0x7f800000u;
}

void s_canon(struct scomp *c, int d, int s, int tmp)
{
	vyi(&c->a, X_CMPPS, tmp, s, rm_reg(s), 3);
	vyi(&c->a, X_BLENDVPS, d, s, s_splat32(c, 0x7fffffff), (u32)tmp << 4);
}

/* A register that holds floats as the processor made them is looked at: tmp is not ymm3, which is lost. */
int sv_obs(struct scomp *c, u32 o, u8 w, u32 part, int tmp)
{
	int r = sv(c, o, w, part, tmp);

	if (w || o == OPND_NONE || (o & OPND_CONST) || !c->r[o].rawf)
		return r;
	s_canon(c, tmp, r, 3);
	return tmp;
}

struct rm sv_rm_obs(struct scomp *c, u32 o, u8 w, u32 part, int tmp)
{
	if (w || o == OPND_NONE || (o & OPND_CONST) || !c->r[o].rawf)
		return sv_rm(c, o, w, part, tmp);
	return rm_reg(sv_obs(c, o, w, part, tmp));
}

bool s_blends(const struct scomp *c, u32 v)
{
	if (c->some)
		return bit_of(c->some->live_in, v);
	return !c->stage && c->cur->keep && bit_of(c->cur->keep, v);
}

int s_mask(const struct scomp *c) { return c->guarded ? 14 : 15; }

void s_bits(struct scomp *c)
{
	if (!c->guarded || s_has_bits(&c->code[c->pc]))
		return;
	vr(&c->a, X_MOVMSKPS, RAX, 0, 14);
	g_store(&c->a, 0, stack_rm(c->gbits), RAX);
}

void s_mask_bits(struct scomp *c, int gpr)
{
	if (c->guarded && !s_has_bits(&c->code[c->pc]))
		vr(&c->a, X_MOVMSKPS, gpr, 0, 14);
	else if (c->guarded)
		g_load(&c->a, 0, gpr, stack_rm(c->gbits));
	else
		g_load(&c->a, 0, gpr, rm_reg(R12));
}

static void compare_all(struct scomp *c)
{
	if (c->guarded && !s_has_bits(&c->code[c->pc]))
		c->bad = true;          /* memory alone asks */
	g_alui(&c->a, 0, G_CMP, c->guarded ? stack_rm(c->gbits) : rm_reg(R12), 255);
}

/* A jump for when not all lanes of the strip run, 0: they do (whole.c). */
u32 s_unless_all(struct scomp *c)
{
	if (s_all_run(c))
		return 0;
	compare_all(c);
	return g_jcc(&c->a, CC_NE);
}

/* ... for when they all do, which is not known. */
u32 s_if_all(struct scomp *c)
{
	compare_all(c);
	return g_jcc(&c->a, CC_E);
}

void s_mask_vector(struct scomp *c, int ymm, int gpr)
{
	g_shi(&c->a, 0, G_SHL, gpr, 5);
	g_load(&c->a, 1, RCX, SPM(table));
	vy(&c->a, X_MOVU, ymm, 0, rm_idx(RCX, gpr, 0, 0));
}

void s_wide_mask(struct scomp *c, int mask, int lo, int hi)
{
	if (hi >= 0) {
		vyi(&c->a, X_EXTRACT, mask, 0, rm_reg(hi), 1);
		vr(&c->a, X_PMOVSXDQ, hi, 0, hi);
	}
	if (lo >= 0)
		vr(&c->a, X_PMOVSXDQ, lo, 0, mask);
}

int sdst(struct scomp *c, u32 v, u32 part, int tmp)
{
	const struct sregister *r = &c->r[v];

	if (r->loc != LOC_ZMM || r->v.cls != SC_VARY || c->guarded || s_blends(c, v))
		return tmp;
	return part ? r->reg2 : r->reg;
}

/* All temporaries may be lost. Code that makes a scalar's vector here would be a defect: scalars have their own ways. */
void sput(struct scomp *c, u32 v, u32 part, int x)
{
	struct as *a = &c->a;
	struct sregister *r = &c->r[v];
	int own = part ? r->reg2 : r->reg, m = s_mask(c), t;
	struct rm home;

	if (!r->live)
		return;
	if (r->v.cls != SC_VARY) {
		c->bad = true;
		return;
	}
	home = s_vector_home(r, part);
	if (!c->guarded && !s_blends(c, v)) {
		if (r->loc == LOC_MEM)
			vy(a, X_MOVU_ST, x, 0, home);
		else if (own != x && !lands_in(a, own, x))
			vr(a, X_MOVU, own, 0, x);
		return;
	}
	if (r->w == 1) {
		s_wide_mask(c, m, part ? -1 : 3, part ? 3 : -1);
		m = 3;
	}
	if (r->loc == LOC_ZMM) {
		vyi(a, X_BLENDVPS, own, own, rm_reg(x), (u32)m << 4);
		return;
	}
	t = x < 3 ? x : 2;
	vy(a, X_PXOR, t, x, home);
	vr(a, X_PAND, t, t, m);
	vy(a, X_PXOR, t, t, home);
	vy(a, X_MOVU_ST, t, 0, home);
}
