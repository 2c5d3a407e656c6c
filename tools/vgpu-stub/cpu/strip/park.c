/* SPDX-License-Identifier: MIT */
/*
 * Scalars of strips that are not running. While code runs strips one after the other, vectors lie in the interpreter's slots, and
 * scalars each in a place of 8 bytes for each strip, in the warp's private area: spread over eight lanes they would cost
 * ten times as much. One that has no register of its own lives there always.
 *
 * When code is left, run.c puts those of strips that are not running into their slots, by lists of what is alive where they stand.
 */
#include "strip.h"
#include "vex.h"

/* Four registers share 32 bytes of each strip. */
static s32 place(u32 k) { return (s32)(((sizeof(struct sprivate) + 63) & ~63u) + k / 4 * 128 + k % 4 * 8); }

void s_parks(struct scomp *c)
{
	u32 v;

	for (v = 0; v < c->s->nregs; v++) {
		struct sregister *r = &c->r[v];

		if (r->live && r->v.cls == SC_SCALAR)
			r->home = s_new_home(c);
	}
}

s32 s_new_home(struct scomp *c)
{
	c->p_bytes = (u32)place((c->nhomes | 3) + 1);
	return place(c->nhomes++);
}

s32 s_new_vector_home(struct scomp *c)
{
	s32 at;

	while (c->nhomes & 3)
		s_new_home(c);
	at = s_new_home(c);
	while (c->nhomes & 3)
		s_new_home(c);
	return at;
}

struct rm s_home(const struct sregister *r) { return rm_idx(R15, RBP, 0, r->home); }

void s_park(struct scomp *c, u32 v)
{
	const struct sregister *r = &c->r[v];

	if (r->loc == LOC_GPR && !r->v.known)
		g_store(&c->a, 1, s_home(r), r->reg);
}

void s_unpark(struct scomp *c, u32 v)
{
	const struct sregister *r = &c->r[v];

	if (r->loc == LOC_GPR && !r->v.known)
		g_load(&c->a, 1, r->reg, s_home(r));
}

void s_park_list(struct scomp *c, u32 pc, const u64 *live)
{
	struct spark *p = xgrow(c->parks, &c->parks_cap, c->nparks + 1, sizeof(*p));
	u32 n, at;

	if (!p) {
		c->bad = true;
		return;
	}
	c->parks = p;
	at = s_lives(c, live, &n);
	p[c->nparks++] = (struct spark){ pc, at, n };
}

/* ---- the other side ------------------------------------------------------------------------------- */

static u64 *home(const struct jplace *r, struct warp *w, u32 s) { return (u64 *)(w->jp + r->home + 32 * s); }

void strip_park(const struct jit *j, struct warp *w, u32 n)
{
	const struct jentry *e = &j->entries[n - 1];
	u32 i, s;

	for (i = 0; i < e->nlive; i++) {
		const struct jplace *r = &j->regs[j->lives[e->live + i]];
		const char *slot = w->main.base[0] + r->slot;

		for (s = 0; s < STRIPS && !r->sk && r->home; s++)
			*home(r, w, s) = r->w == 2 ? (slot[s] & 1 ? ~0u : 0) : r->w ? ((const u64 *)slot)[STRIP * s] : ((const u32 *)slot)[STRIP * s];
	}
}

static void unpark(const struct jit *j, struct warp *w, u32 strips, const u32 *live, u32 nlive)
{
	u32 i, s, l;

	for (i = 0; i < nlive; i++) {
		const struct jplace *r = &j->regs[live[i]];
		const s32 *pat = j->strip->pats[r->pat];
		char *slot = w->main.base[0] + r->slot;

		for (s = 0; s < STRIPS; s++) {
			u64 u = r->sk ? r->s : *home(r, w, s);

			if (!(strips >> s & 1))
				continue;
			if (r->w == 2) {
				slot[s] = u ? (char)255 : 0;
				continue;
			}
			for (l = 0; l < STRIP; l++) {
				if (r->w)
					((u64 *)slot)[STRIP * s + l] = u + (u64)(s64)pat[l];
				else
					((u32 *)slot)[STRIP * s + l] = (u32)u + (u32)pat[l];
			}
		}
	}
}

void strip_unpark(const struct jit *j, struct warp *w, u32 strips, u32 n)
{
	const struct jentry *e = &j->entries[n - 1];

	unpark(j, w, strips, j->lives + e->live, e->nlive);
}

void strip_unpark_at(const struct jit *j, struct warp *w, u32 strips, u32 pc)
{
	const struct strip_code *sc = j->strip;
	u32 i;

	for (i = 0; i < sc->nparks; i++)
		if (sc->parks[i].pc == pc)
			unpark(j, w, strips, j->lives + sc->parks[i].live, sc->parks[i].n);
}
