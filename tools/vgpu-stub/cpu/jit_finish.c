/* SPDX-License-Identifier: MIT */
/* Finished code: its place in the arena, and what the other side needs to know of it. Called by jit.c, last. */
#include <stdlib.h>
#include <string.h>

#include "jit.h"

static void *put(u8 **at, const void *src, size_t bytes)
{
	void *p = *at;

	if (bytes)
		memcpy(p, src, bytes);
	*at += (bytes + 63) & ~(size_t)63;
	return p;
}

/* Places the code in the arena and packs the tables into one allocation. */
struct jit *jit_finish(struct jcomp *c, const u32 *stubs)
{
	struct engine *e = c->fn->m->e;
	struct as *a = &c->a;
	u32 code = (a->n + 63) & ~63u, i;
	u64 total = code + (u64)a->nlit * 64, off;
	struct jit *j;
	u8 *mem, *dst;
	size_t sz;
#define R64(x) (((size_t)(x) + 63) & ~(size_t)63)

	if (a->oom || c->bad || total > 1u << 26)
		return NULL;
	for (i = 0; i < a->nfix; i++) {
		struct fix *f = &a->fix[i];
		u32 disp;

		memcpy(&disp, a->p + f->at, 4);
		disp += code + f->lit * 64 - (f->at + 4 + f->tail);
		memcpy(a->p + f->at, &disp, 4);
	}
	sz = R64(sizeof(*j)) + R64((c->n + 1) * 4) + R64(c->nentries * sizeof(*c->entries)) +
	     R64(c->nexits * sizeof(*c->exits)) + R64(c->nexits * 4) + R64(c->nsites * sizeof(*c->sites)) +
	     R64(c->nlives * 4) + R64(c->s->nregs * sizeof(*j->regs)) + R64(c->npats * sizeof(*c->pats)) +
	     R64(c->nregions * sizeof(*c->regions));
	mem = aligned_alloc(64, sz);
	if (!mem)
		return NULL;
	off = jit_code_take(e, total);
	if (off == ~0ull) {
		free(mem);
		return NULL;
	}
	dst = mem;
	j = (struct jit *)mem;
	memset(j, 0, sizeof(*j));
	dst += R64(sizeof(*j));
	j->mem = mem;
	j->fn = c->fn;
	j->spec = c->spec;
	j->mxcsr = c->s->mxcsr;
	j->mxcsr_home = c->s->mxcsr_home;
	j->guessed = c->guessed;
	j->walks = c->walks;
	for (i = 0; i < c->nexits; i++)
		j->turns |= c->exits[i].kind == JX_TURN;
	j->p_bytes = (c->home_next + 63) & ~63u;
	j->nentries = c->nentries;
	j->nexits = c->nexits;
	j->nsites = c->nsites;
	j->nregions = c->nregions;
	j->entry_at = put(&dst, c->entry_at, (c->n + 1) * 4);
	j->entries = put(&dst, c->entries, c->nentries * sizeof(*c->entries));
	j->exits = put(&dst, c->exits, c->nexits * sizeof(*c->exits));
	j->stubs = put(&dst, stubs, c->nexits * 4);
	j->sites = put(&dst, c->sites, c->nsites * sizeof(*c->sites));
	j->lives = put(&dst, c->lives, c->nlives * 4);
	j->regs = (struct jplace *)dst;
	dst += R64(c->s->nregs * sizeof(*j->regs));
	for (i = 0; i < c->s->nregs; i++) {
		const struct jreg *r = &c->r[i];

		j->regs[i] = (struct jplace){
			.home = r->home, .slot = r->slot, .pat = r->pat, .w = r->w, .cls = r->cls, .rawf = r->rawf, .sk = r->sk, .ual = r->ual,
			.max = r->max, .s = r->s, .ghost = c->sym[i].ghost, .sg = c->sym[i].sg, .shift = c->sym[i].shift, .base = c->sym[i].base,
			.index = c->sym[i].index,
		};
		if (c->stay[i].on) {
			j->regs[i].stay = true;
			j->regs[i].index = c->stay[i].addr;
			j->regs[i].disp = c->stay[i].disp;
		}
	}
	j->pats = put(&dst, c->pats, c->npats * sizeof(*c->pats));
	j->regions = put(&dst, c->regions, c->nregions * sizeof(*c->regions));
	j->code = jit_code_put(e, off, a);
	j->bytes = (u32)total;
	return j;
}
