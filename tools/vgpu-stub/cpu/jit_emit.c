/* SPDX-License-Identifier: MIT */
/*
 * Operands: literals, vectors, scalars. Called by whatever emits an instruction.
 */
#include "jit.h"
#include "lanes.h"

u32 jit_stress;

/* Some seeds ask for much, some for little. */
bool jit_stressed(const struct jcomp *c, u32 pc, u32 what)
{
	static const u8 often[3][4] = { { 3, 8, 40, 1 }, { 60, 20, 0, 7 }, { 2, 5, 1, 12 } };
	u32 one_in = often[what][jit_stress >> 2 * what & 3];
	u64 h = ((u64)jit_stress << 32 | pc << 2 | what) * 0x9e3779b97f4a7c15ull ^ c->n;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	return jit_stress && one_in && (h >> 33) % one_in == 0;
}

/* ---- literals --------------------------------------------------------------------------- */

u32 j_lit(struct jcomp *c, const void *bytes, u32 n)
{
	struct as *a = &c->a;
	u8 v[64] = { 0 };
	u32 i;

	memcpy(v, bytes, n);
	for (i = a->nlit; i-- > 0 && i + 32 > a->nlit;)         /* those of late are the likely ones */
		if (!memcmp(a->lit + i * 64, v, 64))
			return i;
	if (a->nlit == a->lit_cap) {
		u32 cap = a->lit_cap ? a->lit_cap * 2 : 64;
		u8 *p = realloc(a->lit, (size_t)cap * 64);

		if (!p) {
			a->oom = true;
			return 0;
		}
		a->lit = p;
		a->lit_cap = cap;
	}
	memcpy(a->lit + a->nlit * 64, v, 64);
	return a->nlit++;
}

u32 j_lit32(struct jcomp *c, u32 x)
{
	u32 v[16], i;

	for (i = 0; i < 16; i++)
		v[i] = x;
	return j_lit(c, v, 64);
}

u32 j_lit64(struct jcomp *c, u64 x)
{
	u64 v[8];
	u32 i;

	for (i = 0; i < 8; i++)
		v[i] = x;
	return j_lit(c, v, 64);
}

static u32 pat_lit(struct jcomp *c, u32 pat, u8 w, u32 part)
{
	s64 q[8];
	u32 i;

	if (!w)
		return j_lit(c, c->pats[pat] + 16 * part, 64);
	for (i = 0; i < 8; i++)
		q[i] = c->pats[pat][8 * part + i];
	return j_lit(c, q, 64);
}

/* ---- vector operands -------------------------------------------------------------------- */

/* What fetching an operand may write. */
static void spoil(struct jcomp *c, int tmp)
{
	if (!jit_stress)
		return;
	k_mov(&c->a, 7, 1);
	if (tmp < JZ_FIRST)
		ev_i(&c->a, V_PTERNLOGD, tmp, tmp, rm_reg(tmp), 0, 0, 0xff);
}

struct rm jv_rm(struct jcomp *c, u32 o, u8 w, u32 part, int tmp, int *bc)
{
	struct as *a = &c->a;
	const struct jreg *r;

	spoil(c, tmp);
	if (bc)
		*bc = 0;
	if (o & OPND_CONST)
		return rm_mem(R12, (s32)((o & ~OPND_CONST) + 64 * part));
	r = &c->r[o];
	if (c->sym[o].ghost) {
		jx_part(c, o, part, tmp);
		return rm_reg(tmp);
	}
	if (r->cls == JC_VARY)
		return r->loc == LOC_ZMM ? rm_reg(r->reg + (int)part) : rm_mem(RBX, (s32)(r->home + 64 * part));
	if (r->cls == JC_UNI && r->loc == LOC_MEM && bc) {
		*bc = 1;
		return ju_rm(c, o);
	}
	if (r->loc == LOC_GPR)
		ev(a, w ? V_PBCASTQ_R : V_PBCASTD_R, tmp, 0, rm_reg(r->reg));
	else
		ev_n(a, w ? V_PBCASTQ : V_PBCASTD, tmp, 0, ju_rm(c, o), 0, 0, 0, w ? 8 : 4, 0);
	if (r->cls == JC_PAT)
		ev(a, w ? V_PADDQ : V_PADDD, tmp, tmp, rm_lit(pat_lit(c, r->pat, w, part), 0));
	return rm_reg(tmp);
}

int jv_reg(struct jcomp *c, u32 o, u8 w, u32 part, int tmp)
{
	struct rm m = jv_rm(c, o, w, part, tmp, NULL);

	if (m.kind == 0)
		return m.reg;
	ev(&c->a, V_MOVA32, tmp, 0, m);
	return tmp;
}

/* A float as the interpreter would have left it: NaNs canonical. */
int jv_canon(struct jcomp *c, int r, int tmp)
{
	ev_i(&c->a, V_CMPPS, 7, r, rm_reg(r), 0, 0, 3);
	ev_k(&c->a, V_BLENDMD, tmp, r, rm_lit(j_lit32(c, 0x7fffffff), 0), 7, 0);
	return tmp;
}

static bool raw(const struct jcomp *c, u32 o) { return !(o & OPND_CONST) && c->r[o].rawf; }

int jv_obs(struct jcomp *c, u32 o, u8 w, u32 part, int tmp)
{
	int r = jv_reg(c, o, w, part, tmp);

	return raw(c, o) && !w ? jv_canon(c, r, tmp) : r;
}

struct rm jv_rm_obs(struct jcomp *c, u32 o, u8 w, u32 part, int tmp, int *bc)
{
	if (!raw(c, o) || w)
		return jv_rm(c, o, w, part, tmp, bc);
	if (bc)
		*bc = 0;
	return rm_reg(jv_obs(c, o, w, part, tmp));
}

int jv_dst(struct jcomp *c, u32 v, u32 part, int tmp)
{
	const struct jreg *r = &c->r[v];

	return c->gk || r->loc != LOC_ZMM ? tmp : r->reg + (int)part;
}

int jv_mask(struct jcomp *c, u8 w, u32 part)
{
	u32 s = part * (w ? 8 : 16);

	if (jit_stress)
		k_mov(&c->a, 6, 1);
	if (c->gk != 1)
		return s ? (w ? 1 + (int)part : 3) : 1;
	if (!s)
		return 5;
	k_shr(&c->a, 6, 5, s);
	return 6;
}

void jv_put(struct jcomp *c, u32 v, u32 part, int t)
{
	const struct jreg *r = &c->r[v];
	u8 w = r->w;
	int k = c->gk ? jv_mask(c, w, part) : 0;

	if (r->loc == LOC_MEM)
		ev_k(&c->a, w ? V_MOVA64_ST : V_MOVA32_ST, t, 0, rm_mem(RBX, (s32)(r->home + 64 * part)), k, 0);
	else if (r->loc == LOC_ZMM && (k || t != r->reg + (int)part))
		ev_k(&c->a, w ? V_MOVA64 : V_MOVA32, r->reg + (int)part, 0, rm_reg(t), k, 0);
}

/* ---- scalars ---------------------------------------------------------------------------- */

struct rm ju_rm(struct jcomp *c, u32 o)
{
	const struct jreg *r;

	if (o & OPND_CONST)
		return rm_mem(R12, (s32)(o & ~OPND_CONST));
	r = &c->r[o];
	if (c->stay[o].on)
		return js_rm(c, o);
	return r->loc == LOC_GPR ? rm_reg(r->reg) : rm_mem(RBX, (s32)r->home);
}

void ju_load(struct jcomp *c, int gpr, u32 o, u8 w)
{
	struct jval v = jit_val(c, o, w);

	if (v.sk) {
		g_movi(&c->a, gpr, w == 1 ? v.s : (u32)v.s);
		return;
	}
	if (!(o & OPND_CONST) && c->r[o].loc == LOC_ZMM) {
		ev_n(&c->a, V_LL(w == 1 ? V_MOVQ_ST : V_MOVD_ST, 0), c->r[o].reg, 0, rm_reg(gpr), 0, 0, 0, 4, 0);
		return;
	}
	if (!(o & OPND_CONST) && c->r[o].loc == LOC_GPR && c->r[o].reg == gpr)
		return;
	g_load(&c->a, w == 1, gpr, ju_rm(c, o));
}

void ju_store(struct jcomp *c, u32 v, int gpr)
{
	const struct jreg *r = &c->r[v];

	if (r->loc == LOC_GPR && r->reg == gpr)
		return;
	if (r->loc == LOC_GPR)
		g_load(&c->a, r->w == 1, r->reg, rm_reg(gpr));
	else if (r->loc == LOC_MEM)
		g_store(&c->a, r->w == 1, rm_mem(RBX, (s32)r->home), gpr);
}
