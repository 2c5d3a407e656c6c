/* SPDX-License-Identifier: MIT */
/* Lanes that part, wait for one another in regions, and come together again: the code of what jit_region.c has found. Called by jit.c. */
#include <stddef.h>

#include "jit.h"

static struct rm waiting(u32 i) { return rm_mem(RBX, PSZ(wait) + 4 * (s32)i); }
static struct rm others(u32 i) { return rm_mem(RBX, PSZ(other) + 4 * (s32)i); }

/* Who waits in this word comes along, if anybody does. */
static void take_up(struct jcomp *c, struct rm who)
{
	struct as *a = &c->a;
	u32 at;

	g_alui(a, 0, G_CMP, who, 0);
	at = g_jcc(a, CC_E);
	g_load(a, 0, RAX, who);
	g_alu(a, 0, G_OR, RAX, PM(m));
	g_movi(a, RCX, 0);
	g_store(a, 0, who, RCX);
	j_run_lanes(c, RAX);
	g_here(a, at);
}

/* From a first side to where lanes wait for their turn at the second one: they come along. */
static void take_along(struct jcomp *c, u32 to)
{
	u64 in = c->rfirst[c->block];

	for (; in; in &= in - 1) {
		u32 i = (u32)__builtin_ctzll(in);

		/* not those with scalars of their own, which do not come by here */
		if (c->regions[i].second == to && !c->regions[i].apart)
			take_up(c, others(i));
	}
}

/* The scalars of those who wait for their turn at the second side: as they are now, or as they were. Writes RCX. */
static void scalars(struct jcomp *c, const struct jregion *r, bool back)
{
	struct as *a = &c->a;
	u32 i;

	for (i = 0; i < r->nsaved; i++) {
		const struct jreg *v = &c->r[c->lives[r->saved + i]];
		struct rm at = rm_mem(RBX, (s32)(r->save_at + 8 * i)), own = rm_mem(RBX, (s32)v->home);
		bool reg = v->loc == LOC_GPR;

		if (v->loc == LOC_NONE)
			continue;
		if (back) {
			g_load(a, 1, reg ? v->reg : RCX, at);
			if (!reg)
				g_store(a, v->w == 1, own, RCX);
		} else {
			if (!reg)
				g_load(a, v->w == 1, RCX, own);
			g_store(a, 1, at, reg ? v->reg : RCX);
		}
	}
}

const struct jregion *jit_region_at(const struct jcomp *c, u32 pc, u32 *no)
{
	u32 i;

	for (i = 0; i < c->nregions; i++)
		if (c->regions[i].at == pc) {
			*no = i;
			return &c->regions[i];
		}
	return NULL;
}

/* To the join of these regions, from the innermost one out. */
static void to_join(struct jcomp *c, u32 pc, u64 left)
{
	struct as *a = &c->a;

	for (; left; left &= left - 1) {
		u32 i = (u32)__builtin_ctzll(left), at;

		if (c->rfirst[c->block] >> i & 1) {
			/* the other side's turn, if there are any; these here wait */
			g_alui(a, 0, G_CMP, others(i), 0);
			at = g_jcc(a, CC_E);
			g_load(a, 0, RAX, others(i));
			g_load(a, 0, RCX, PM(m));
			g_alu(a, 0, G_OR, RCX, waiting(i));
			g_store(a, 0, waiting(i), RCX);
			g_movi(a, RCX, 0);
			g_store(a, 0, others(i), RCX);
			j_run_lanes(c, RAX);
			scalars(c, &c->regions[i], true);
			take_along(c, c->regions[i].second);
			j_edge(c, pc, c->regions[i].second);
			g_here(a, at);
		}
		if (!(c->rfirst[c->block] & ~c->rsecond[c->block] & 1ull << i) ||
		    c->regions[i].loops)
			take_up(c, waiting(i));
	}
}

/*
 * All lanes leave the round of a loop for `to`, and with it regions in which others may wait: these go on now, from the innermost region
 * out, and those that leave wait where the branch has its own wait (jit_region.c's ways_out).
 */
static void hold_back(struct jcomp *c, u32 pc, u32 to, u64 left)
{
	struct as *a = &c->a;
	u32 no = 0, k, at, i, j;
	u64 same;

	if (!left || !jit_region_at(c, pc, &no))
		return;
	for (; left; left &= left - 1)
		for (i = (u32)__builtin_ctzll(left), k = 0; k < 2; k++) {
			const struct jregion *r = &c->regions[i];
			struct rm slot = c->regions[no].second == to ? others(no) : waiting(no), who = k ? waiting(i) : others(i);

			if (!k && (r->second == NO_PC || !(c->rfirst[c->block] >> i & 1)))
				continue;
			g_alui(a, 0, G_CMP, who, 0);
			at = g_jcc(a, CC_E);
			g_load(a, 0, RCX, slot);
			g_alu(a, 0, G_OR, RCX, PM(m));
			g_store(a, 0, slot, RCX);
			g_load(a, 0, RAX, who);
			g_movi(a, RCX, 0);
			g_store(a, 0, who, RCX);
			j_run_lanes(c, RAX);
			for (j = 0, same = 0; k && j < c->nregions; j++)
				same |= (u64)(c->regions[j].join == r->join) << j;
			to_join(c, pc, c->rin[c->block] & ~c->rin[block_no(c, r->join)] & same);
			take_along(c, k ? r->join : r->second);
			j_edge(c, pc, k ? r->join : r->second);
			g_here(a, at);
		}
}

/* A jump; in leaving regions it takes up the lanes that wait for that, from the innermost one out. */
void j_jump(struct jcomp *c, u32 pc, u32 to)
{
	u64 left = c->rin[c->block] & ~c->rin[block_no(c, to)], out = 0;
	u32 i;

	jit_mxcsr_home(c);
	for (i = 0; i < c->nregions; i++)
		out |= (u64)(c->regions[i].head != NO_PC && c->regions[i].join != to) << i;
	hold_back(c, pc, to, left & out);
	to_join(c, pc, left & ~out);
	take_along(c, to);
	j_edge(c, pc, to);
}

/* Lanes part: eax are those that jump. */
void j_part(struct jcomp *c, const struct insn *in, u32 pc, const struct jregion *r, u32 no)
{
	struct rm wait = r->second == NO_PC ? waiting(no) : others(no);
	struct as *a = &c->a;

	scalars(c, r, false);
	if (r->apart)
		g_alui(a, 0, G_ADD, rm_mem(R14, (s32)offsetof(struct tstate, sides)), 1);
	g_load(a, 0, RCX, rm_reg(RAX));
	g_alu(a, 0, G_XOR, r->first == in->taken ? RCX : RAX, PM(m));
	if (r->second == NO_PC || r->loops)
		g_alu(a, 0, G_OR, RCX, wait);
	g_store(a, 0, wait, RCX);
	j_run_lanes(c, RAX);
	j_jump(c, pc, r->first);        /* which may be where a region of the round ends */
}
