/* SPDX-License-Identifier: MIT */
/*
 * What strips that are not running have. While code runs strips one after the other, vectors lie in the interpreter's slots, and
 * scalars each in a place of 8 bytes for each strip, in the warp's private area: spread over eight lanes they would cost
 * ten times as much. One that has no register of its own lives there always.
 *
 * So do vectors without a register that are alive where strips meet ("kept"), in 32 or 64 bytes for each strip: between a slot and a
 * home on the stack they would be copied at every meeting. Those whose lives do not overlap share a home.
 *
 * When code is left, run.c puts those of strips that are not running into their slots, by lists of what is alive where they stand.
 */
#include <immintrin.h>
#include <stdlib.h>

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

bool s_parked(const struct sregister *r) { return r->v.cls == SC_SCALAR || r->kept; }

/*
 * Homes of vectors lie by eights: 256 bytes of one strip behind those of another. Zen takes a load for one of what was stored just before if the last twelve bits of
 * their addresses are the same: four eights are 4 KiB, and the next four lie 256 bytes on, so that a strip's first 128 homes differ.
 */
#define EIGHT 32u               /* places of 8 bytes for each strip */
#define BY_STRIP 256u

struct shared { s32 at; bool wide; u32 last; };

/* Two homes side by side, of 64 bytes for each strip. */
static s32 two_homes(struct scomp *c, u32 *have)
{
	u32 k = *have % 4;

	if (!k) {
		while (c->nhomes & 3)
			s_new_home(c);
		if (*have && *have % 16 == 0)
			c->nhomes += BY_STRIP / 32;
		c->kept_at = place(c->nhomes);
		c->nhomes += EIGHT - 1;
		s_new_home(c);
	}
	++*have;
	return c->kept_at + (s32)(64 * k);
}

static int by_first(const void *a, const void *b)
{
	const struct sregister *x = *(struct sregister *const *)a, *y = *(struct sregister *const *)b;

	return x->first != y->first ? (x->first < y->first ? -1 : 1) : x < y ? -1 : x > y;
}

/* Products of matrices work on slots. */
static void not_of_tensors(const struct scomp *c, u64 *live)
{
	u32 pc, k;

	for (pc = 0; pc < c->n; pc++)
		for (k = 0; k < 6 && c->code[pc].kind == K_TENSOR; k++)
			if (((c->code[pc].def | c->code[pc].use) >> k & 1) && c->code[pc].o[k] != OPND_NONE && !(c->code[pc].o[k] & OPND_CONST))
				live[c->code[pc].o[k] >> 6] &= ~(1ull << (c->code[pc].o[k] & 63));
}

/* Which vectors are kept: of the registers of live (set bits), those without a machine register, as long as there is room. */
bool s_keep_vectors(struct scomp *c, u64 *live)
{
	struct sregister **list = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*list));
	struct shared *h = pool_alloc(&c->mem, (c->s->nregs + 2) * 2 * sizeof(*h));
	u32 n = 0, nh = 0, v, i, k, twos = 0;

	if (!list || !h)
		return false;
	not_of_tensors(c, live);
	for (v = 0; v < c->s->nregs; v++) {
		struct sregister *r = &c->r[v];

		if (r->live && r->loc == LOC_MEM && r->v.cls == SC_VARY && r->w <= 2 && bit_of(live, v))
			list[n++] = r;
	}
	/* by their beginnings: a home is free when the last one that had it has ended */
	qsort(list, n, sizeof(*list), by_first);
	for (i = 0; i < n; i++) {
		struct sregister *r = list[i];
		bool wide = r->w == 1;

		for (k = 0; k < nh && (h[k].wide != wide || h[k].last > r->first); k++)
			;
		if (k == nh) {
			if (place(c->nhomes + 2 * EIGHT) > (s32)c->most)
				continue;
			h[nh++] = (struct shared){ .at = two_homes(c, &twos), .wide = wide };
			if (!wide) {
				h[nh] = h[nh - 1];
				h[nh++].at += 32;
			}
		}
		h[k].last = r->last;
		r->home = h[k].at;
		r->kept = true;
	}
	return true;
}

struct rm s_vector_home(const struct sregister *r, u32 part)
{
	if (!r->kept)
		return stack_rm(r->home + 32 * (s32)part);
	return rm_idx(R15, RBP, 3, r->home + 32 * (s32)part);
}

s32 s_kept_at(const struct sregister *r, u32 strip) { return r->home + (s32)(BY_STRIP * strip); }

/* From the slots of all strips into their homes. */
void s_kept_results(struct scomp *c, u32 pc, u32 n)
{
	struct as *a = &c->a;
	u32 i, k, s, p;

	for (i = 0; i < n; i++) {
		const struct insn *in = &c->code[pc + i];

		for (k = 0; k < 6; k++) {
			const struct sregister *r;

			if (!(in->def >> k & 1) || in->o[k] == OPND_NONE || !c->r[in->o[k]].kept)
				continue;
			r = &c->r[in->o[k]];
			for (s = 0; s < STRIPS; s++) {
				if (r->w == 2) {
					g_movx(a, 0, 0, 1, RAX, rm_mem(RBX, (s32)(r->slot + s)));
					s_mask_vector(c, 0, RAX);
					vy(a, X_MOVU_ST, 0, 0, rm_mem(R15, s_kept_at(r, s)));
				}
				for (p = 0; r->w < 2 && p < (r->w ? 2u : 1u); p++) {
					vy(a, X_MOVU, 0, 0, rm_mem(RBX, (s32)(r->slot + (r->w ? 64 : 32) * s + 32 * p)));
					vy(a, X_MOVU_ST, 0, 0, rm_mem(R15, s_kept_at(r, s) + (s32)(32 * p)));
				}
			}
		}
	}
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

/* Register r of these strips: from its slot into its home, or back. */
static __attribute__((target("avx2"))) void move_vector(const struct jplace *r, struct warp *w, u32 strips, bool back)
{
	u32 bytes = r->w == 1 ? 64 : 32, s, i;
	char *slot = w->main.base[0] + r->slot;
	char *at = w->jp + r->home;

	for (s = 0; s < STRIPS; s++, at += BY_STRIP) {
		if (!(strips >> s & 1))
			continue;
		if (r->w == 2 && back) {
			slot[s] = (char)_mm256_movemask_ps(_mm256_loadu_ps((const float *)at));
		} else if (r->w == 2) {
			for (i = 0; i < STRIP; i++)
				((u32 *)at)[i] = (u8)slot[s] >> i & 1 ? ~0u : 0;
		} else {
			for (i = 0; i < bytes; i += 32) {
				char *there = slot + bytes * s + i;
				__m256i v = _mm256_loadu_si256((const __m256i *)(back ? at + i : there)), most;

				if (back && r->rawf) {
					/* NaNs of floats are canonical in slots */
					most = _mm256_and_si256(v, _mm256_set1_epi32(0x7fffffff));
					v = _mm256_blendv_epi8(v, _mm256_set1_epi32(0x7fffffff), _mm256_cmpgt_epi32(most, _mm256_set1_epi32(0x7f800000)));
				}
				_mm256_storeu_si256((__m256i *)(back ? there : at + i), v);
			}
		}
	}
}

void strip_catch_up(const struct jit *j, struct warp *w)
{
	struct sprivate *p = (struct sprivate *)w->jp;
	const struct strip_code *sc = j->strip;
	u32 i, k, s;

	for (i = 0; p->met && i < sc->nlags; i++)
		for (k = 0; sc->lags[i].pc == p->met && k < sc->lags[i].n; k++) {
			const struct sbehind *b = &sc->behind[sc->lags[i].live + k];
			char *at = w->jp + b->home;

			for (s = 1; s < STRIPS; s++) {
				u64 u = *(const u64 *)at + (u64)(s64)b->by[s];

				*(u64 *)(at + 32 * s) = b->w == 1 || !b->by[s] ? u : (u32)u;
			}
		}
	p->met = 0;
}

void strip_park(const struct jit *j, struct warp *w, u32 n)
{
	const struct jentry *e = &j->entries[n - 1];
	u32 i, s;

	((struct sprivate *)w->jp)->met = 0;
	for (i = 0; i < e->nlive; i++) {
		const struct jplace *r = &j->regs[j->lives[e->live + i]];
		const char *slot = w->main.base[0] + r->slot;

		if (r->cls != SC_SCALAR)
			move_vector(r, w, ~0u, false);
		for (s = 0; s < STRIPS && r->cls == SC_SCALAR && !r->sk && r->home; s++)
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

		if (r->cls != SC_SCALAR)
			move_vector(r, w, strips, true);
		for (s = 0; s < STRIPS && r->cls == SC_SCALAR; s++) {
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
