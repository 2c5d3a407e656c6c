/* SPDX-License-Identifier: MIT */
/*
 * Some lanes of a row in shared memory: `if (t + 1 < n) x = s[t + 1]`, a scan's `if (t >= d) x = s[t - d]`. The places of those that wait often lie
 * in front of shared memory or behind it, where nothing need be, so all of a strip's cannot be loaded, though nothing is wrong. Such an access goes lane by lane then, out of the
 * way, with its own checks (mem.c, store.c), and goes on behind itself; what is wrong there, too, goes to the interpreter. So nobody else may rely on its check: each
 * such access has one.
 *
 * Words that come with it (pair.c, quad.c) are loaded lane by lane as well.
 */
#include "mem.h"
#include "vex.h"

/* May the instruction at hand go so? Only where lanes wait; s_load_lanes() and s_store_lanes() know it. */
bool s_lanes_can(const struct scomp *c)
{
	const struct insn *in = &c->code[c->pc];
	u32 k;

	if (c->stage || !c->cur->keep || in->space != SPACE_SHARED)
		return false;
	if (in->kind == K_ST)
		return in->vec == 1 ? in->size < 8 || in->dw : in->dw ? in->size == 8 && in->vec == 2 : in->size <= 4;
	if (in->kind != K_LD)
		return false;
	for (k = 0; k < in->vec; k++)
		if (in->o[k] != OPND_NONE && c->r[in->o[k]].v.cls == SC_SCALAR)
			return false;
	if (in->vec == 1)
		return in->o[0] != OPND_NONE && (in->size < 8 || in->dw);
	return (in->size == 4 && !in->dw) || (in->size == 8 && in->vec == 2) || (!in->dw && in->size * in->vec <= 8);
}

/* The access at hand has been checked for all lanes, and the words of n others come with it: true if it goes lane by lane otherwise. */
bool s_lanes_have(struct scomp *c, const u32 *twin, u32 n)
{
	struct sslow *s;
	u32 k;

	if (!s_lanes_can(c))
		return false;
	s = s_slow_now(c);
	if (!s || (n && !s->lanes))
		return false;
	s->lanes = true;
	for (k = 0; k < n; k++)
		s->twin[s->ntwins++] = twin[k];
	return true;
}

void s_lanes_way(struct scomp *c, u32 slow)
{
	const struct sslow s = c->slow[slow];
	struct sslow *further = s_slow_new(c);
	const struct insn *in = &c->code[s.pc];
	u32 k;

	if (!further)
		return;
	further->back = s.back;
	further->base = s.base;
	further->leaves = s.ntwins;     /* who relies on the words that come with it */
	for (k = 0; k < s.ntwins; k++) {
		s_lane_addresses(c, &c->code[s.twin[k]]);
		s_gather(c, 4);
		vy(&c->a, X_MOVU_ST, 2, 0, rm_idx(R15, RBP, 0, c->twin[s.twin[k]]));
	}
	if (!(in->kind == K_LD ? s_load_lanes(c, in) : s_store_lanes(c, in))) {
		c->bad = true;
		return;
	}
	if (s.base)
		g_load(&c->a, 1, RAX, SPM(shared));
	g_land(&c->a, g_jmp(&c->a), s.back);
}
