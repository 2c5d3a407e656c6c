/* SPDX-License-Identifier: MIT */
/*
 * The ways in and out of a function's code, behind all else: for each block one for lanes that come from the interpreter and one for a strip behind another; for
 * each exit what puts into slots whatever is alive there, of who runs and of who waits.
 *
 * Each moves all that is alive: in a function with hundreds of values and as many blocks that is several times the code itself. So what is alike is there once. The
 * two ways into a block fill its vectors by the same code; where a function is large, lanes that wait for a block are put away by one piece of code whichever
 * exit is taken, and there is one for whole strips and others.
 */
#include "strip.h"
#include "vex.h"

/* What is alive, as a strip behind another one gets it. */
static void entry_of(struct scomp *c, const u64 *live)
{
	u32 w, pass;
	u64 x;

	for (pass = 0; pass < 2; pass++)
		for (w = 0; w < c->words; w++)
			for (x = live[w]; x; x &= x - 1) {
				u32 v = w * 64 + (u32)__builtin_ctzll(x);

				if (!c->r[v].live || (c->r[v].v.cls != SC_SCALAR) != pass)
					continue;
				if (!pass)
					s_unpark(c, v);
				else if (!c->r[v].kept)
					s_fill(c, v);
			}
}

/* Instructions of a function whose ways in and out share what they can; tests have others, too */
#define LARGE 1500u

static bool is_large(const struct scomp *c) { return c->n > LARGE || (jit_stress & 1); }

/* Puts lanes edx away that wait for block b. */
static void waiting(struct scomp *c, u32 b)
{
	struct as *a = &c->a;
	u32 back = 0;

	if (is_large(c)) {
		as_room(a, 16);
		b1(a, 0x4c);            /* lea r11, [rip + ...]: where it goes back to */
		b1(a, 0x8d);
		b1(a, 0x1d);
		b4(a, 0);
		back = a->n - 4;
	}
	if (is_large(c) && c->waiting[b]) {
		g_land(a, g_jmp(a), c->waiting[b]);
		g_here(a, back);
		return;
	}
	c->waiting[b] = a->n;
	g_load(a, 0, RAX, rm_reg(RDX));
	s_mask_vector(c, 14, RAX);
	s_spill_set(c, c->b[b].live_in, 14, false);
	if (is_large(c)) {
		g_op(a, 0, 0xff, 4, rm_reg(R11), 0);
		g_here(a, back);
	}
}

static void exit_stub(struct scomp *c, u32 i)
{
	struct as *a = &c->a;
	const struct sexit *x = &c->exits[i];
	u32 k, part, over;

	if (x->pc != NO_PC) {
		const u64 *all = s_live_before(c, x->pc);
		u64 *live = pool_alloc(&c->mem, (c->words + 1) * 8);

		if (!live) {
			c->bad = true;
			return;
		}
		s_clean_before(c, x->pc, live);
		for (k = 0; k < c->words; k++) {
			u64 clean;

			/* those of what is parked are not up to date */
			for (clean = all[k] & live[k]; clean; clean &= clean - 1)
				if (s_parked(&c->r[k * 64 + (u32)__builtin_ctzll(clean)]))
					live[k] &= ~(clean & -clean);
			live[k] = all[k] & ~live[k];
		}
		if (x->away)
			entry_of(c, all);
		g_load(a, 0, RDX, rm_reg(R12));
		if (is_large(c)) {
			s_spill_set(c, live, 15, false);
		} else {
			g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
			part = g_jcc(a, CC_NE);
			s_spill_set(c, live, 15, true);
			over = g_jmp(a);
			g_here(a, part);
			s_spill_set(c, live, 15, false);
			g_here(a, over);
		}
	}
	for (k = 0; k < x->nwaits; k++) {
		const struct sblock *w = &c->b[x->waits[k]];
		struct rm at = rm_mem(R15, (s32)(offsetof(struct sprivate, wait) + 4 * k));

		g_load(a, 0, RDX, stack_rm(w->word));
		g_store(a, 0, at, RDX);
		g_alui(a, 0, G_CMP, rm_reg(RDX), 0);
		over = g_jcc(a, CC_E);
		waiting(c, x->waits[k]);
		g_here(a, over);
	}
	g_store(a, 0, SPM(m), R12);
	g_store(a, 0, SPM(at), RBP);
	g_movi(a, RAX, i);
	s_way_out(c);
}

/* Scalars of what is alive at block b; next: as strips have them that are not running, else from the interpreter's frame. */
static void scalars(struct scomp *c, u32 b, bool next)
{
	const u64 *live = c->b[b].live_in;
	u32 w, some = 0;
	u64 x;

	for (w = 0; w < c->words; w++)
		for (x = live[w]; x; x &= x - 1) {
			u32 v = w * 64 + (u32)__builtin_ctzll(x);

			if (!c->r[v].live || c->r[v].v.cls != SC_SCALAR)
				continue;
			if (next) {
				s_unpark(c, v);
				continue;
			}
			/* ecx says which lane they are read of */
			if (!some++)
				g_load(&c->a, 0, RCX, SPM(first));
			s_fill_scalar(c, v);
			s_park(c, v);
		}
}

/* Vectors, those that are kept or the others. */
static void vectors(struct scomp *c, u32 b, bool kept)
{
	const u64 *live = c->b[b].live_in;
	u32 w;
	u64 x;

	for (w = 0; w < c->words; w++)
		for (x = live[w]; x; x &= x - 1) {
			u32 v = w * 64 + (u32)__builtin_ctzll(x);

			if (c->r[v].live && c->r[v].v.cls != SC_SCALAR && c->r[v].kept == kept)
				s_fill(c, v);
		}
}

/* A strip behind another one. */
void s_entry(struct scomp *c, u32 b)
{
	scalars(c, b, true);
	vectors(c, b, false);
}

static void entries(struct scomp *c, u32 b)
{
	struct as *a = &c->a;
	u32 fill;

	scalars(c, b, true);
	fill = a->n;
	vectors(c, b, false);
	g_land(a, g_jmp(a), c->b[b].at);
	c->b[b].in = a->n;
	scalars(c, b, false);
	vectors(c, b, true);
	g_land(a, g_jmp(a), fill);
}

u32 s_lives(struct scomp *c, const u64 *set, u32 *n)
{
	u32 at = c->nlives, w;
	u64 x;

	*n = 0;
	for (w = 0; w < c->words; w++)
		for (x = set[w]; x; x &= x - 1) {
			u32 v = w * 64 + (u32)__builtin_ctzll(x), *p;

			if (!s_parked(&c->r[v]))
				continue;
			p = xgrow(c->lives, &c->lives_cap, c->nlives + 1, sizeof(u32));
			if (!p) {
				c->bad = true;
				return at;
			}
			c->lives = p;
			c->lives[c->nlives++] = v;
			++*n;
		}
	return at;
}

bool s_ways(struct scomp *c)
{
	u32 i, b, *stub = pool_alloc(&c->mem, (c->nexits + 1) * sizeof(u32));

	c->waiting = pool_alloc(&c->mem, (c->nb + 1) * sizeof(u32));
	if (!stub || !c->waiting)
		return false;
	for (i = 0; i < c->nexits && !c->bad && !c->a.oom; i++) {
		stub[i] = c->a.n;
		exit_stub(c, i);
		if (c->a.n > S_MAX_CODE)
			return false;
	}
	for (i = 0; i < c->nxjumps; i++)
		g_land(&c->a, c->xjumps[i].at, stub[c->xjumps[i].block]);
	for (b = 0; b < c->nb && !c->bad && !c->a.oom; b++) {
		u32 n, at;

		/* code that does nothing but leave is not entered */
		if (!s_enters(c, b))
			continue;
		c->entries = xgrow(c->entries, &c->entries_cap, c->nentries + 1, sizeof(*c->entries));
		c->next = xgrow(c->next, &c->next_cap, c->nentries + 1, sizeof(*c->next));
		if (!c->entries || !c->next)
			return false;
		at = s_lives(c, c->b[b].live_in, &n);
		c->next[c->nentries] = c->b[b].next = c->a.n;
		if (s_part(c))
			s_own_lanes(c);
		if (c->b[b].round) {
			g_alui(&c->a, 0, G_CMP, rm_reg(RBP), 0);
			g_land(&c->a, g_jcc(&c->a, CC_E), c->b[b].round);
		}
		if (c->b[b].warp_in) {
			g_alui(&c->a, 0, G_CMP, rm_reg(RBP), 0);
			g_land(&c->a, g_jcc(&c->a, CC_E), c->b[b].warp_in);
		}
		c->b[b].plain = c->a.n;
		entries(c, b);
		c->entries[c->nentries++] = (struct jentry){ c->b[b].in, at, n };
		c->entry_at[c->b[b].start] = c->nentries;
		if (c->a.n > S_MAX_CODE)
			return false;
	}
	for (i = 0; i < c->nsjumps; i++) {
		const struct sblock *to = &c->b[c->sjumps[i].block];

		g_land(&c->a, c->sjumps[i].at, c->sjumps[i].where == STUB_IN ? to->in : c->sjumps[i].where == STUB_NEXT ? to->next : to->plain);
	}
	return !c->bad && !c->a.oom;
}
