/* SPDX-License-Identifier: MIT */
/*
 * A word's two halves, each made a float, stored side by side: what `__half22float2` and a store of its result are, which is how kernels bring a
 * tile of halves into shared memory as floats.
 *
 *   xtr h, x, 0; xtr k, x, 16; cvt.f32.f16 f, h; cvt.f32.f16 g, k; st.v2.f32 [a], {f, g}
 *
 * Where the lanes' places are a row, the floats lie there in the order in which the halves lie in x: they are converted as they come, neither
 * taken apart before it nor put together behind it. The store does all of it (c->merged, as jit_merge.c says); an interpreter that it
 * leaves for does first what was put off.
 */
#include "jit_mem.h"
#include "lanes.h"

#define REACH 24u               /* instructions */
#define PARTS 4u

/* The one instruction that makes register v before the store at s, after `from`; NO_PC: none. Nobody else looks at v, up to the store and behind it. */
static u32 maker(const struct jcomp *c, u32 from, u32 s, u32 user, u32 v)
{
	u32 i, made = NO_PC;

	if ((v & OPND_CONST) || v == OPND_NONE || c->r[v].cls != JC_VARY || c->r[v].w ||
	    (c->live_at[(size_t)(s + 1) * c->s->words + (v >> 6)] >> (v & 63) & 1))
		return NO_PC;
	for (i = s; i-- > from && made == NO_PC;) {
		if (insn_writes(&c->code[i], v))
			made = i;
		if (i != user && insn_reads(&c->code[i], v))
			return NO_PC;
	}
	return made;
}

static bool unguarded(const struct jcomp *c, u32 i, u32 lop)
{
	const struct insn *in = &c->code[i];

	return in->kind == K_LANE && in->lop == lop && in->guard == OPND_NONE && !c->merged[i].kind;
}

static bool is_number(const struct jcomp *c, u32 o, u32 k)
{
	struct jval v = jit_val(c, o, 0);

	return v.known && (u32)v.k == k;
}

/* Where f, which the store at s has, is made of half `which` of *x: of[0] takes the half, of[1] converts it. */
static bool from_half(const struct jcomp *c, u32 from, u32 s, u32 f, u32 which, u32 *of, u32 *x)
{
	const struct insn *take;

	of[1] = maker(c, from, s, s, f);
	if (of[1] == NO_PC || !unguarded(c, of[1], LOP_CVT_F_H))
		return false;
	of[0] = maker(c, from, s, of[1], c->code[of[1]].o[1]);
	if (of[0] == NO_PC || of[0] > of[1] || !unguarded(c, of[0], LOP_XTR))
		return false;
	take = &c->code[of[0]];
	if ((take->o[1] & OPND_CONST) || !is_number(c, take->o[2], 16 * which) || !is_number(c, take->o[3], 0xffff) || (which && take->o[1] != *x))
		return false;
	*x = take->o[1];
	return true;
}

/* May code be left at i, or somebody else look at memory? */
static bool passes(const struct jcomp *c, u32 i)
{
	return (c->code[i].kind == K_LANE && c->r[c->code[i].o[0]].cls == JC_VARY && c->code[i].guard == OPND_NONE) || c->code[i].kind == K_NOP;
}

static bool in_a_row(const struct jcomp *c, const struct insn *in)
{
	struct jval v = jit_val(c, in->o[4], in->aw);
	u32 l;

	for (l = 0; v.cls == JC_PAT && l < LANES && c->pats[v.pat][l] == (s32)(8 * l); l++)
		;
	return v.cls == JC_PAT && l == LANES;
}

void jit_unpack(struct jcomp *c, u32 start, u32 s)
{
	const struct insn *in = &c->code[s];
	u32 from = s > start + REACH ? s - REACH : start, of[PARTS], x = 0, first = s, i, k;
	struct insn *m = &c->merged[s];

	if (in->kind != K_ST || in->vec != 2 || in->size != 4 || in->dw || in->guard != OPND_NONE || m->kind || (in->flags & INF_SYNC) || (in->o[4] & OPND_CONST) ||
	    !in_a_row(c, in) || !from_half(c, from, s, in->o[0], 0, of, &x) || !from_half(c, from, s, in->o[1], 1, of + 2, &x) ||
	    c->r[x].cls != JC_VARY || c->r[x].w || c->sym[x].ghost)
		return;
	for (k = 0; k < PARTS; k++)
		first = of[k] < first ? of[k] : first;
	for (i = first; i < s; i++)
		if (c->inside[i] || !passes(c, i) || insn_writes(&c->code[i], x))
			return;
	*m = *in;
	m->lop = LOP_CVT_F_H;
	m->o[0] = m->o[1] = x;
	for (k = 0; k < PARTS; k++) {
		c->merged[of[k]].kind = K_ST;
		c->merged[of[k]].vec = 0;
		c->merged[of[k]].imm = s;
	}
	for (i = first + 1; i <= s; i++) {
		c->live_at[(size_t)i * c->s->words + (x >> 6)] |= 1ull << (x & 63);
		c->inside[i] = 1;
	}
}

/* The store: of each part, the lower and the upper eight of its words. under: the mask. */
void jit_unpack_st(struct jcomp *c, const struct insn *in, const struct acc *x, bool under)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 4; p++) {
		int s = jv_obs(c, in->o[0], 0, p / 2, 0), k = 0;

		if (p & 1) {
			ev_i(a, V_EXTRACT64X4, s, 0, rm_reg(1), 0, 0, 1);
			s = 1;
		}
		ev(a, V_CVTPH2PS, 1, 0, rm_reg(s));
		jv_canon(c, 1, 1);
		if (under)
			k = jv_mask(c, 1, p);
		j_site(c, x->step);
		ev_n(a, V_MOVU64_ST, 1, 0, rm_mem(x->base, x->disp + (s32)(64 * p)), k, 0, 0, 64, 0);
	}
}
