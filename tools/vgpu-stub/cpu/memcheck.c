/* SPDX-License-Identifier: MIT */
/*
 * The memory checker: what a kernel may touch is known to the byte, and each access is held against that
 * before it happens. Errors are told in the words of compute-sanitizer, through the engine's print().
 *
 * Who calls: interp.c at instructions of the checked kinds (mc_func puts them there after compilation), block.c
 * when a block starts, barrier.c, module.c and the context (note_alloc) when memory comes and goes.
 *
 * Checked: bounds of global memory by allocation and variable, and use after free; bounds of shared, local and
 * parameter memory, also through generic addresses; alignment; bytes of shared memory read before they are
 * written, or at the same time (race.c); barriers that part of a warp reaches, or that end because threads have exited; when asked
 * for, bytes of allocations read before anybody has written them (written.c), by kernels or by copies out of the device.
 * Invalid and misaligned accesses end the grid; the rest is told and the kernel goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "demangle.h"
#include "disasm.h"
#include "memcheck.h"
#include "race.h"
#include "regions.h"
#include "srcline.h"
#include "verify.h"
#include "written.h"

#define SHOWN 32                /* errors of a grid that are told in full, unless $VGPU_MEMCHECK says how many */

/* What is looked for beside accesses that are not allowed. */
enum { RACES = 1, SHARED_INIT = 2, GLOBAL_INIT = 4, BARRIERS = 8 };

struct memcheck {
	pthread_rwlock_t lock;  /* written by the dispatcher, read by every checked access */
	struct regions there;
	struct verify_counts own, *counts;      /* for who started all this: vgpu run */
	u32 what, shown;
	enum { NAME_FULL, NAME_SIMPLE, NAME_MANGLED } names;
	u64 read_to;            /* where the last copy of what nobody had written ended: the rest of it is told already */
	u32 copies;             /* of those, so far */
};

/*
 * $VGPU_MEMCHECK, as "race,shared,init,sync,limit=N,demangle=full|simple|no": what is looked for, in words. Without a word of those,
 * all but init. What is none of ours is passed over: vgpu run has made it.
 */
static void options(struct memcheck *mc, const char *p)
{
	static const struct { const char *word; u32 what; } words[] = {
		{ "race", RACES }, { "shared", SHARED_INIT }, { "init", GLOBAL_INIT }, { "sync", BARRIERS },
	};
	size_t n;
	u32 i, what = 0;

	mc->shown = SHOWN;
	for (; p && *p; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		for (i = 0; i < 4; i++)
			if (n == strlen(words[i].word) && !memcmp(p, words[i].word, n))
				what |= words[i].what;
		if (!strncmp(p, "limit=", 6))
			mc->shown = (u32)strtoul(p + 6, NULL, 10);
		if (!strncmp(p, "demangle=", 9))
			mc->names = p[9] == 's' ? NAME_SIMPLE : p[9] == 'n' ? NAME_MANGLED : NAME_FULL;
		if (n == 4 && !memcmp(p, "none", 4))
			what |= 1u << 31;
	}
	mc->what = what ? what : RACES | SHARED_INIT | BARRIERS;
}

int mc_open(struct engine *e)
{
	e->mc = calloc(1, sizeof(*e->mc));
	if (!e->mc)
		return -1;
	pthread_rwlock_init(&e->mc->lock, NULL);
	e->mc->counts = vf_counts(&e->mc->own);
	options(e->mc, getenv("VGPU_MEMCHECK"));
	return 0;
}

void mc_close(struct engine *e)
{
	if (!e->mc)
		return;
	if (e->mc->counts != &e->mc->own)
		munmap(e->mc->counts, sizeof(*e->mc->counts));
	pthread_rwlock_destroy(&e->mc->lock);
	regions_free(&e->mc->there);
	free(e->mc);
	e->mc = NULL;
}

/* ---- what there is ----------------------------------------------------------------------- */

void mc_note(struct engine *e, u64 addr, u64 bytes, bool alive, bool fresh)
{
	struct memcheck *mc = e->mc;

	if (!mc || !bytes || addr + bytes < addr)
		return;
	pthread_rwlock_wrlock(&mc->lock);
	regions_cut(&mc->there, addr, bytes, !alive);
	if (alive) {
		regions_unfree(&mc->there, addr, bytes);
		regions_insert(&mc->there, addr, bytes, fresh && mc->what & GLOBAL_INIT ? written_new(bytes) : NULL);
	}
	pthread_rwlock_unlock(&mc->lock);
}

void mc_wrote(struct engine *e, u64 addr, u64 bytes)
{
	struct memcheck *mc = e->mc;
	struct region *r;
	u32 i;

	if (!mc || !(mc->what & GLOBAL_INIT))
		return;
	pthread_rwlock_rdlock(&mc->lock);
	if (bytes == ~0ull) {
		for (i = 0; i < mc->there.n; i++)
			written_set(mc->there.r[i].written, 0, mc->there.r[i].bytes);
	} else if ((r = regions_tracked(&mc->there, addr, bytes))) {
		written_set(r->written, addr - r->at, bytes);
	}
	pthread_rwlock_unlock(&mc->lock);
}

void mc_hide(struct engine *e, u64 addr, u64 bytes)
{
	if (!e->mc)
		return;
	pthread_rwlock_wrlock(&e->mc->lock);
	regions_cut(&e->mc->there, addr, bytes, false);
	pthread_rwlock_unlock(&e->mc->lock);
}

void mc_module(struct module *m, bool alive)
{
	struct late *l;
	u32 i;

	if (!m->e->mc)
		return;
	if (alive) {
		for (i = 0; i < m->nlist; i++) {
			struct sym *s = m->list[i];

			if (s->what == V_VAR && !s->ext && (s->space == SPACE_GLOBAL || s->space == SPACE_CONST))
				mc_note(m->e, s->addr, s->bytes, true, false);
		}
		return;
	}
	if (m->var_base)
		mc_note(m->e, m->var_base, m->var_cap, false, false);
	for (l = m->late; l; l = l->next)
		if (l->addr)
			mc_note(m->e, l->addr, l->cap, false, false);
}

void mc_func(struct func *fn)
{
	u32 i;

	for (i = 0; i < fn->ncode; i++)
		switch (fn->code[i].kind) {
		case K_LD: fn->code[i].kind = K_MC_LD; break;
		case K_ST: fn->code[i].kind = K_MC_ST; break;
		case K_ATOM: fn->code[i].kind = K_MC_ATOM; break;
		case K_BAR: fn->code[i].kind = K_MC_BAR; break;
		}
}

int mc_fit(struct cta *c)
{
	u32 n = c->g->shared_total;

	if (n <= c->shadow_bytes)
		return 0;
	free(c->shadow);
	n = (n + RACE_WORD - 1) & ~(RACE_WORD - 1);
	c->shadow = race_cells(n);
	c->shadow_bytes = c->shadow ? n : 0;
	return c->shadow ? 0 : -1;
}

void mc_start(struct cta *c)
{
	c->phase_first = ++c->phase;
}

/* ---- reports ----------------------------------------------------------------------------- */

struct text { size_t n; char s[16384]; };

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	size_t room = sizeof(t->s) - t->n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->n, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n < room ? (size_t)n : room - 1;
}

/* Counts an error of the grid that is no race. False: enough have been shown. */
static bool counts(struct grid *g)
{
	return __atomic_fetch_add(&g->errors, 1, __ATOMIC_RELAXED) - __atomic_load_n(&g->races, __ATOMIC_RELAXED) < g->e->mc->shown;
}

static const char *shown_name(const struct memcheck *mc, const char *name, char *out, size_t room)
{
	if (mc->names == NAME_MANGLED)
		return name;
	demangle(name, mc->names == NAME_SIMPLE ? DEMANGLE_SIMPLE : DEMANGLE_FULL, out, room);
	return out;
}

/* fn: whose instruction in is; NULL: nobody knows where. */
static void say_place(struct text *t, struct grid *g, const struct cta *c, u32 thread, const struct func *fn,
		      const struct insn *in)
{
	char code[160], source[512], name[1024];
	struct dtext d = { code, sizeof(code), 0 };

	say(t, "=========     at %s", shown_name(g->e->mc, g->fn->name, name, sizeof(name)));
	if (in) {
		disasm(fn, in, &d);
		say(t, ", PTX line %u: %s", in->line, code);
		if (src_line(fn, in->line, source, sizeof(source)))
			say(t, "\n=========     in %s", source);
	}
	say(t, "\n=========     by thread (%u,%u,%u) in block (%u,%u,%u)\n", g->tid[0][thread], g->tid[1][thread],
	    g->tid[2][thread], c->id[0], c->id[1], c->id[2]);
}

static void tell(struct engine *e, struct text *t)
{
	e->env.print(e->env.owner, t->s, t->n);
}

/* Where a global address lies that belongs to nothing: the freed or nearest allocation. */
static void say_nearest(struct engine *e, struct text *t, u64 a)
{
	const struct regions *all = &e->mc->there;
	const struct region *best = NULL;
	u32 i;

	for (i = 0; i < REGIONS_FREED && i < all->nfreed; i++)
		if (all->freed[i].bytes && !region_distance(&all->freed[i], a)) {
			say(t, "=========     and is %llu bytes inside the freed allocation at 0x%llx of size %llu bytes\n",
			    (unsigned long long)(a - all->freed[i].at), (unsigned long long)all->freed[i].at,
			    (unsigned long long)all->freed[i].bytes);
			return;
		}
	i = regions_find(all, a);
	if (i < all->n)
		best = &all->r[i];
	if (i && (!best || region_distance(&all->r[i - 1], a) <= region_distance(best, a)))
		best = &all->r[i - 1];
	if (!best)
		return;
	say(t, region_distance(best, a) ? "=========     and is %llu bytes %s the nearest allocation at 0x%llx of size %llu bytes\n"
	    : "=========     and is %llu bytes %s the end of the allocation at 0x%llx of size %llu bytes\n",
	    (unsigned long long)(region_distance(best, a) ? region_distance(best, a) : best->bytes - (a - best->at)),
	    a < best->at || !region_distance(best, a) ? "before" : "after", (unsigned long long)best->at,
	    (unsigned long long)best->bytes);
}

/* ---- accesses ---------------------------------------------------------------------------- */

enum verdict { FINE, OUTSIDE, MISALIGNED, FOREIGN_LOCAL };

struct access {
	const struct insn *in;
	struct cta *c;
	u8 does;                /* K_MC_LD … */
	u32 bytes;
	u8 space;               /* the one that the address turned out to be in */
	u64 addr;               /* as the program sees it */
	u64 offset;             /* in shared memory */
	u64 dropped;            /* bits of bytes that a vector's reader does not want */
	struct touch by;
	u64 reserved;           /* where the shared memory begins that is the system's */
	const struct region *near;      /* where another lane's access was; NULL: not known */
};

/* What is the same for all lanes. */
static struct access access_of(const struct tstate *ts, const struct insn *in, u8 does)
{
	struct access a = { .in = in, .c = ts->w->cta, .does = does };
	u32 v;

	a.reserved = a.c->g->fn->reserved ? a.c->g->reserved : ~0ull;
	a.by.line = in->line;
	a.by.sync = does == K_MC_ATOM || in->kind == K_GEN || (in->flags & INF_SYNC);
	for (v = 0; in->kind == K_MC_LD && v < in->vec; v++)
		if (in->o[v] == OPND_NONE)
			a.dropped |= ((1ull << in->size) - 1) << (v * in->size);
	return a;
}

static enum verdict in_bounds(u64 off, u64 limit, u32 bytes)
{
	return off < limit && bytes <= limit - off ? FINE : OUTSIDE;
}

/* Shared memory of another block of the cluster: there only what is written is known. The own one by a long name gets its short one. */
static bool far(const struct cta *c, struct access *a)
{
	struct cta *other;
	u64 off;

	if (a->space != SPACE_SHARED && a->space != SPACE_GENERIC)
		return false;
	other = cluster_block(c, a->space == SPACE_GENERIC, a->addr, a->bytes, &off);
	if (!other)
		return false;
	if (other == c) {
		a->space = SPACE_SHARED;
		a->addr = off;
		return false;
	}
	if (a->does != K_MC_LD)
		race_far(other, off, a->bytes);
	a->space = SPACE_PARAM;
	return true;
}

/* With the regions' lock held, unless space is one of the windows: may this lane do that? */
static enum verdict judge(struct tstate *ts, struct access *a, u32 lane)
{
	struct cta *c = a->c;
	struct grid *g = c->g;
	const struct regions *there;
	u64 all, own;
	u32 i;

	if (a->addr & (a->bytes - 1))
		return MISALIGNED;
	if (g->team > 1 && far(c, a))
		return FINE;
	switch (a->space) {
	case SPACE_SHARED:
		a->offset = a->addr;
		return in_bounds(a->offset, g->shared_total, a->bytes);
	case SPACE_LOCAL:
		return in_bounds(a->addr, g->fn->local_total, a->bytes);
	case SPACE_PARAM:
		return in_bounds(a->addr, g->param_bytes, a->bytes);
	case SPACE_GENERIC:
		if (a->addr - c->shared < g->shared_total) {
			a->space = SPACE_SHARED;
			a->offset = a->addr - c->shared;
			return in_bounds(a->offset, g->shared_total, a->bytes);
		}
		all = (u64)g->local_stride * g->nwarps * LANES;
		if (a->addr - c->local < all) {
			own = c->local + (u64)(ts->w->index * LANES + lane) * g->local_stride;
			a->space = SPACE_LOCAL;
			return a->addr - own >= g->local_stride ? FOREIGN_LOCAL : in_bounds(a->addr - own, g->fn->local_total, a->bytes);
		}
	}
	if (a->addr - g->pwin < PARAM_WINDOW && (a->does == K_MC_LD || a->space == SPACE_GENERIC)) {
		a->space = SPACE_PARAM;
		return in_bounds(a->addr - g->pwin, g->param_bytes, a->bytes);
	}
	/* what a cooperative launch keeps for its barrier is the grid's own */
	if (g->coop_win && a->addr - g->coop_win < 4096)
		return FINE;
	a->space = SPACE_GLOBAL;
	if (!a->near || a->addr - a->near->at >= a->near->bytes) {
		there = &ts->e->mc->there;
		i = regions_find(there, a->addr);
		if (i == there->n || a->addr < there->r[i].at)
			return OUTSIDE;
		a->near = &there->r[i];
	}
	return in_bounds(a->addr - a->near->at, a->near->bytes, a->bytes);
}

static const char *space_word(u8 space)
{
	return space == SPACE_SHARED ? "__shared__" : space == SPACE_LOCAL ? "__local__" :
	       space == SPACE_CONST ? "__constant__" : space == SPACE_PARAM ? "__param__" : "__global__";
}

static const char *verb(u8 does)
{
	return does == K_MC_ST ? "write" : does == K_MC_ATOM ? "atomic" : "read";
}

static void show_access(struct text *t, struct tstate *ts, const struct access *a, u32 lane, enum verdict v)
{
	struct cta *c = ts->w->cta;

	if (!counts(c->g))
		return;
	say(t, "========= Invalid %s %s of size %u bytes\n", space_word(a->space), verb(a->does), a->bytes);
	say_place(t, c->g, c, ts->w->index * LANES + lane, ts->f->fn, a->in);
	say(t, "=========     Address 0x%llx is %s\n", (unsigned long long)a->addr,
	    v == MISALIGNED ? "misaligned" : v == FOREIGN_LOCAL ? "local memory of another thread" : "out of bounds");
	if (v == OUTSIDE && a->space == SPACE_GLOBAL)
		say_nearest(ts->e, t, a->addr);
	else if (v == OUTSIDE && a->space == SPACE_SHARED)
		say(t, "=========     and the block has %u bytes of shared memory\n", c->g->shared_total);
	else if (v == OUTSIDE && a->space == SPACE_LOCAL)
		say(t, "=========     and the thread has %u bytes of local memory\n", c->g->fn->local_total);
}

static void show_race(struct text *t, struct tstate *ts, const struct access *a, u32 lane, enum race kind,
		      const struct touch *with)
{
	struct cta *c = ts->w->cta;
	const u32 (*tid)[1024] = c->g->tid;
	char source[512];

	/* an allowance of its own: a race explains the bytes that nobody had written */
	__atomic_fetch_add(&c->g->errors, 1, __ATOMIC_RELAXED);
	if (__atomic_fetch_add(&c->g->races, 1, __ATOMIC_RELAXED) >= c->g->e->mc->shown)
		return;
	say(t, "========= Race reported between %s access and %s access to __shared__ memory (%s): no barrier between them\n",
	    kind == RACE_WAR ? "Read" : "Write", kind == RACE_RAW ? "Read" : "Write",
	    kind == RACE_RAW ? "RAW" : kind == RACE_WAW ? "WAW" : "WAR");
	say(t, "=========     first at PTX line %u", with->line);
	if (src_line(ts->f->fn, with->line, source, sizeof(source)))
		say(t, ", in %s", source);
	say(t, ", by thread (%u,%u,%u), then\n", tid[0][with->thread], tid[1][with->thread], tid[2][with->thread]);
	say_place(t, c->g, c, ts->w->index * LANES + lane, ts->f->fn, a->in);
	say(t, "=========     Address 0x%llx\n", (unsigned long long)a->offset);
}

/* Which bytes a store finds as it would leave them. */
static u64 kept(const struct tstate *ts, const struct access *a, u32 lane)
{
	const struct insn *in = a->in;
	const u8 *at = (const u8 *)a->c->shared + a->offset;
	const u64 low = 0x7f7f7f7f7f7f7f7f;
	u64 bits = 0, x;
	u32 v;

	for (v = 0; v < in->vec; v++, at += in->size) {
		const void *s = opnd(ts->f, in->o[v]);

		x = in->dw ? ((const u64 *)s)[lane] : ((const u32 *)s)[lane];
		switch (in->size) {
		case 1: x = (u8)x ^ at[0]; break;
		case 2: x = (u16)x ^ *(const u16 *)at; break;
		case 4: x = (u32)x ^ *(const u32 *)at; break;
		case 8: x ^= *(const u64 *)at; break;
		}
		/* to the top of each byte that is not 0, and these to the lowest byte */
		x = ((x & low) + low) | x;
		bits |= (((~x & ~low) * 0x2040810204081) >> 56 & ((1u << in->size) - 1)) << (v * in->size);
	}
	return bits;
}

/* Shared memory: reads must find every byte written, writes write them; neither beside another warp's. True: a race is told. */
static bool shadow(struct text *t, struct tstate *ts, struct access *a, u32 lane, bool races)
{
	const struct insn *in = a->in;
	struct cta *c = a->c;
	struct touch with, other;
	enum race r = RACE_NONE, here;
	bool missing = false;

	if (a->offset >= a->reserved)
		return false;           /* the system's: cooperative groups set only the bits that they wait for */
	a->by.thread = (u16)(ts->w->index * LANES + lane);
	/* an exchange does not look at what was there, unless its result is used */
	if (a->does == K_MC_LD || (in->kind == K_MC_ATOM && (in->sub != ATOM_EXCH || in->o[0] != OPND_NONE)))
		r = race_read(c, a->offset, a->bytes, a->dropped, &a->by, &with, &missing);
	if (missing && ts->e->mc->what & (SHARED_INIT | GLOBAL_INIT) && counts(c->g)) {
		say(t, "========= Uninitialized __shared__ memory read of size %u bytes\n", a->bytes);
		say_place(t, c->g, c, ts->w->index * LANES + lane, ts->f->fn, in);
		say(t, "=========     Address 0x%llx was not written by any thread of the block\n",
		    (unsigned long long)a->offset);
	}
	if (a->does != K_MC_LD) {
		here = race_write(c, a->offset, a->bytes, in->kind == K_MC_ST && in->size <= 8 ? kept(ts, a, lane) : 0, &a->by, &other);
		if (!r && here) {
			r = here;
			with = other;
		}
	}
	if (r && races)
		show_race(t, ts, a, lane, r, &with);
	return r;
}

/* Global memory: reads must find every byte written, writes write them. */
static void global(struct text *t, struct tstate *ts, const struct access *a, u32 lane)
{
	const struct insn *in = a->in;
	struct region *r = regions_tracked(&ts->e->mc->there, a->addr, a->bytes);
	struct cta *c = ts->w->cta;
	u64 at = r ? a->addr - r->at : 0;
	bool missing = false;
	u32 i;

	if (!r)
		return;
	if (in->kind == K_GEN) {
		missing = a->does != K_MC_ST && written_gap(r->written, at, a->bytes) < at + a->bytes;
		if (a->does != K_MC_LD)
			written_set(r->written, at, a->bytes);
	} else if (in->kind == K_MC_LD) {
		for (i = 0; i < in->vec; i++)
			missing |= in->o[i] != OPND_NONE && written_gap(r->written, at + i * in->size, in->size) < at + (i + 1) * in->size;
	} else {
		missing = in->kind == K_MC_ATOM && (in->sub != ATOM_EXCH || in->o[0] != OPND_NONE) &&
			  written_gap(r->written, at, a->bytes) < at + a->bytes;
		written_set(r->written, at, a->bytes);
	}
	if (!missing || !counts(c->g))
		return;
	say(t, "========= Uninitialized __global__ memory read of size %u bytes\n", a->bytes);
	say_place(t, c->g, c, ts->w->index * LANES + lane, ts->f->fn, in);
	say(t, "=========     Address 0x%llx is %llu bytes inside the allocation at 0x%llx of size %llu bytes, and nobody has written it\n",
	    (unsigned long long)a->addr, (unsigned long long)at, (unsigned long long)r->at, (unsigned long long)r->bytes);
}

void mc_copied(struct engine *e, u64 dst, u64 src, u64 bytes)
{
	struct memcheck *mc = e->mc;
	static __thread struct text t;
	struct region *from, *to;
	u64 at, gap, i;

	if (!mc || !(mc->what & GLOBAL_INIT))
		return;
	t.n = 0;
	pthread_rwlock_rdlock(&mc->lock);
	from = regions_tracked(&mc->there, src, bytes);
	to = regions_tracked(&mc->there, dst, bytes);
	at = from ? src - from->at : 0;
	gap = from ? written_gap(from->written, at, bytes) : bytes;
	if (gap - at == bytes) {
		if (to)
			written_set(to->written, dst - to->at, bytes);
	} else if (to) {
		/* within the device what nobody has written stays that */
		for (i = 0; i < bytes; i++)
			if (written_gap(from->written, at + i, 1) != at + i)
				written_set(to->written, dst - to->at + i, 1);
	} else {
		/* a long copy is done in pieces */
		if (src != mc->read_to) {
			__atomic_fetch_add(&mc->counts->errors, 1, __ATOMIC_RELAXED);
			if (mc->copies++ < mc->shown)
				say(&t, "========= Uninitialized __global__ memory read by a copy out of it\n"
				    "=========     Address 0x%llx is %llu bytes inside the allocation at 0x%llx of size %llu bytes, and nobody has written it\n",
				    (unsigned long long)(from->at + gap), (unsigned long long)gap, (unsigned long long)from->at,
				    (unsigned long long)from->bytes);
		}
		mc->read_to = src + bytes;
	}
	pthread_rwlock_unlock(&mc->lock);
	if (t.n)
		tell(e, &t);
}

void mc_access(struct tstate *ts, const struct insn *in, u32 m)
{
	const void *base = opnd(ts->f, in->o[4]);
	u32 k, l, bad = 0;
	enum verdict v, first = FINE;
	bool raced = false;             /* the lanes of one instruction race as one */
	bool window = in->space == SPACE_SHARED || in->space == SPACE_LOCAL || in->space == SPACE_PARAM;        /* no regions are asked */
	static __thread struct text t;
	struct access a = access_of(ts, in, in->kind);
	u64 at = 0;

	t.n = 0;
	ts->mask = m;
	a.bytes = (u32)in->size * in->vec;
	if (!window)
		pthread_rwlock_rdlock(&ts->e->mc->lock);
	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		a.space = in->space;
		a.addr = in->aw ? ((const u64 *)base)[l] + (u64)in->imm : (u32)(((const u32 *)base)[l] + (u64)in->imm);
		v = judge(ts, &a, l);
		if (v == FINE) {
			if (a.space == SPACE_SHARED)
				raced |= shadow(&t, ts, &a, l, !raced && ts->e->mc->what & RACES);
			else if (a.space == SPACE_GLOBAL && ts->e->mc->what & GLOBAL_INIT)
				global(&t, ts, &a, l);
			continue;
		}
		show_access(&t, ts, &a, l, v);
		if (!bad++) {
			first = v;
			at = a.addr;
			m = l;
		}
	}
	/* print() may wait for the client, and that for the dispatcher: not with the lock held */
	if (!window)
		pthread_rwlock_unlock(&ts->e->mc->lock);
	if (t.n)
		tell(ts->e, &t);
	if (bad)
		fault_raise(first == MISALIGNED ? VGPU_ST_MISALIGNED : VGPU_ST_ILLEGAL_ADDRESS, (int)m, at, NULL);
}

void mc_bytes(struct tstate *ts, const struct insn *in, u32 lane, u8 space, u64 addr, u32 bytes, u8 does)
{
	static __thread struct text t;
	enum verdict v = FINE;
	struct access a = access_of(ts, in, does);
	u32 i, size;

	t.n = 0;
	pthread_rwlock_rdlock(&ts->e->mc->lock);
	for (i = 0; i < bytes && v == FINE; i += size) {
		/* pieces that are aligned */
		for (size = 16; (addr + i) & (size - 1) || size > bytes - i; size /= 2)
			;
		a.bytes = size;
		a.space = space;
		a.addr = addr + i;
		v = judge(ts, &a, lane);
		if (v != FINE)
			show_access(&t, ts, &a, lane, v);
		else if (a.space == SPACE_SHARED)
			shadow(&t, ts, &a, lane, ts->e->mc->what & RACES);
		else if (a.space == SPACE_GLOBAL && ts->e->mc->what & GLOBAL_INIT)
			global(&t, ts, &a, lane);
	}
	pthread_rwlock_unlock(&ts->e->mc->lock);
	if (t.n)
		tell(ts->e, &t);
	if (v != FINE)
		fault_raise(v == MISALIGNED ? VGPU_ST_MISALIGNED : VGPU_ST_ILLEGAL_ADDRESS, (int)lane, a.addr, NULL);
}

/* ---- barriers ---------------------------------------------------------------------------- */

static u32 threads_of(const struct cta *c, u32 warp)
{
	u32 n = c->g->threads - warp * LANES;

	return n >= LANES ? ~0u : (1u << n) - 1;
}

static void show_bar(struct engine *e, struct cta *c, u32 thread, const struct func *fn, const struct insn *in,
		     const char *what)
{
	static __thread struct text t;

	if (!counts(c->g))
		return;
	t.n = 0;
	say(&t, "========= Barrier error detected. %s\n", what);
	say_place(&t, c->g, c, thread, fn, in);
	tell(e, &t);
}

/*
 * All lanes of a warp come to the barrier at pc, or none. Those of rest are not coming along: are they on another
 * way? Lanes that spin for others come later, from a lower pc or in a round that is not over, to the same place.
 */
static bool apart(const struct warp *w, const struct frame *f, u32 rest, u32 pc)
{
	u32 l;

	if (rest & ~f->lanes)
		return true;            /* in another function */
	for (; rest; rest &= rest - 1) {
		l = (u32)__builtin_ctz(rest);
		if (!((f->barred | f->waiting | f->parked | f->away) >> l & 1))
			return true;    /* its guard says no */
		if (f->barred >> l & 1 ? f->lane_pc[l] != pc : apart_pc(w, f, l) > pc && !apart_spins(f->fn, apart_pc(w, f, l), pc))
			return true;
	}
	return false;
}

void mc_bar(struct tstate *ts, const struct insn *in, u32 m)
{
	struct warp *w = ts->w;
	struct cta *c = w->cta;
	struct frame *f = ts->f;
	u32 i, first = w->index * LANES + (u32)__builtin_ctz(m);

	if (!(ts->e->mc->what & BARRIERS))
		return;
	if ((in->flags & INF_ALIGNED) && apart(w, f, w->live & ~m, (u32)(in - f->fn->code))) {
		show_bar(ts->e, c, first, f->fn, in, "Divergent thread(s) in warp");
		return;
	}
	if (in->o[2] != OPND_NONE || (in->flags & INF_CLUSTER))
		return;         /* with a count, or of those that have not exited: not a matter of all threads */
	for (i = 0; i < c->nwarps; i++)
		if (c->warps[i].live != threads_of(c, i)) {
			show_bar(ts->e, c, first, f->fn, in,
				 "Divergent thread(s) in block: other threads have exited");
			return;
		}
}

void mc_bar_exited(struct cta *c, u32 id)
{
	struct engine *e = c->g->e;
	u32 i;

	if (!e->mc || !(e->mc->what & BARRIERS) || c->bar[id].count || id >= CLUSTER_BARRIER)
		return;
	for (i = 0; i < c->nwarps; i++)
		if (c->bar[id].arrived[i]) {
			show_bar(e, c, i * LANES + (u32)__builtin_ctz(c->bar[id].arrived[i]), NULL, NULL,
				 "Divergent thread(s) in block: other threads exited while it waited");
			return;
		}
}

void mc_grid_end(struct engine *e, struct grid *g)
{
	static __thread struct text t;
	u32 n = __atomic_load_n(&g->errors, __ATOMIC_RELAXED), races = __atomic_load_n(&g->races, __ATOMIC_RELAXED);
	char name[1024];
	u32 shown, most;

	if (!e->mc)
		return;
	most = e->mc->shown;
	shown = (races < most ? races : most) + (n - races < most ? n - races : most);
	__atomic_fetch_add(&e->mc->counts->checked, 1, __ATOMIC_RELAXED);
	if (!n)
		return;
	__atomic_fetch_add(&e->mc->counts->errors, n, __ATOMIC_RELAXED);
	t.n = 0;
	say(&t, "========= ERROR SUMMARY: %u errors in %s", n,
	    g->fn ? shown_name(e->mc, g->fn->name, name, sizeof(name)) : "a matrix product");
	if (n > shown)
		say(&t, ", %u of them not shown", n - shown);
	say(&t, "\n");
	tell(e, &t);
}
