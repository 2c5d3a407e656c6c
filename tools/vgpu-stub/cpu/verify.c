/* SPDX-License-Identifier: MIT */
/*
 * Each launch twice, on the interpreter and then on the JIT, from the same memory; what they write is compared.
 *
 * The first run is the real one: its stores are watched, so that every byte that it writes is known with what was there
 * before and the instruction that wrote it. Then those bytes are put back, and nothing else is: memory that the client
 * sees as well is never written with an old value of somebody else's. The second run, on the JIT, prints nothing, its
 * faults stay here and it has a limit of time; allocations are read-only for it where the first did not write, so that
 * stray stores show. After the comparison memory holds the first run's results.
 *
 * Both runs are had on the dispatcher's thread alone, blocks in order and from cleared windows, so the order of atomics
 * is that of the lanes within a warp. Results of floating-point additions that differ by rounding are told apart.
 *
 * Only the dispatcher writes here, but for vf_grid_end(), which takes over what the grid has to say.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "disasm.h"
#include "jit.h"
#include "verify.h"

#define PAGE 4096u
#define PAGES_MOST (1u << 17)   /* that a launch may write to and be compared: half a gigabyte, and as much again to watch it */
#define WRITERS_MOST (1u << 22)
#define RECENT 256u
#define SPARE_MOST 4096u        /* pages of notes kept for the next launch */
#define REAL_NS 5000000000ull   /* what takes longer waits for somebody whom we hold up, or may: the workers run it */
#define TRIAL_NS 5000000000ull  /* and four times the interpreter's */
#define SHOWN 32                /* reports of a context in full */
#define BUDGET (1 << 22)        /* of a block's turn: hardly any is interrupted, so both runs have one order */

/* One page that was written to. */
struct vpage {
	u64 at;
	struct vpage *next;     /* of the spare ones */
	u64 bits[PAGE / 64];    /* bytes that the first run wrote */
	u32 by[PAGE / 4];       /* by which instruction last: index of its writer << 5 | lane, 0: unknown */
	u8 was[PAGE];           /* before the first run; then what it wrote, and the rest as it was */
};

struct vwriter { const struct func *fn; const struct insn *in; u64 block; u32 warp; };
struct vrange { u64 at, bytes; bool window; };
struct vtext { char *s; size_t n, cap; };

enum { IDLE, REAL, TRIAL };

struct verify {
	struct grid *g;         /* that is watched */
	struct tstate *ts;
	int stage;
	bool overflow;          /* too much is written for a comparison */
	struct vpage **tab, *last, *spare;      /* by address, open addressing */
	u32 cap, n, nspare;
	struct vwriter *writers;
	u32 nwriters, writers_cap, recent[RECENT];
	struct vrange *r;
	u32 nr, rcap, shown;
	struct vtext text;      /* what is said of this launch, and what it printed */
	char fault[400];        /* of the trial */
	struct verify_counts own, *counts;
};

int vf_open(struct engine *e)
{
	struct verify *v = calloc(1, sizeof(*v));
	const char *path = getenv("VGPU_VERIFY_COUNTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p;

	if (!v)
		return -1;
	v->counts = &v->own;
	if (fd >= 0) {
		p = mmap(NULL, sizeof(v->own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED)
			v->counts = p;
		close(fd);
	}
	e->vf = v;
	return 0;
}

static void forget(struct verify *v)
{
	u32 i;

	for (i = 0; i < v->cap; i++) {
		struct vpage *p = v->tab[i];

		if (!p)
			continue;
		v->tab[i] = NULL;
		if (v->nspare < SPARE_MOST) {
			p->next = v->spare;
			v->spare = p;
			v->nspare++;
		} else {
			free(p);
		}
	}
	v->n = v->nwriters = 0;
	memset(v->recent, 0, sizeof(v->recent));
	v->last = NULL;
	v->overflow = false;
	v->fault[0] = 0;
}

void vf_close(struct engine *e)
{
	struct verify *v = e->vf;
	struct vpage *p;

	if (!v)
		return;
	forget(v);
	while ((p = v->spare)) {
		v->spare = p->next;
		free(p);
	}
	if (v->counts != &v->own)
		munmap(v->counts, sizeof(*v->counts));
	free(v->tab);
	free(v->writers);
	free(v->r);
	free(v->text.s);
	free(v);
	e->vf = NULL;
}

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

/* ---- what there is ----------------------------------------------------------------------- */

void vf_note(struct engine *e, u64 addr, u64 bytes, bool alive, bool window)
{
	struct verify *v = e->vf;
	u64 end = (addr + bytes + PAGE - 1) & ~(u64)(PAGE - 1);
	struct vrange *r;
	u32 i, k;

	if (!v || !bytes || end < addr)
		return;
	addr &= ~(u64)(PAGE - 1);
	for (i = k = 0; i < v->nr; i++)
		if (v->r[i].at >= end || v->r[i].at + v->r[i].bytes <= addr)
			v->r[k++] = v->r[i];
	v->nr = k;
	r = alive ? xgrow(v->r, &v->rcap, v->nr + 1, sizeof(*r)) : NULL;
	if (!r)
		return;                 /* strays there stay unseen */
	v->r = r;
	r[v->nr++] = (struct vrange){ addr, end - addr, window };
}

/* Memory that nobody but kernels writes to while one of them runs. */
static bool is_device(const struct verify *v, u64 at)
{
	u32 i;

	for (i = 0; i < v->nr; i++)
		if (at - v->r[i].at < v->r[i].bytes)
			return !v->r[i].window;
	return false;
}

void vf_func(struct func *fn)
{
	u32 i;

	for (i = 0; i < fn->ncode; i++)
		switch (fn->code[i].kind) {
		case K_ST: fn->code[i].kind = K_VF_ST; break;
		case K_ATOM: fn->code[i].kind = K_VF_ATOM; break;
		}
}

/* ---- pages -------------------------------------------------------------------------------- */

static struct vpage **slot(struct verify *v, u64 at)
{
	u32 i = (u32)((at / PAGE * 0x9e3779b97f4a7c15ull) >> 32) & (v->cap - 1);

	while (v->tab[i] && v->tab[i]->at != at)
		i = (i + 1) & (v->cap - 1);
	return &v->tab[i];
}

static bool grow(struct verify *v)
{
	u32 old = v->cap, i;
	struct vpage **tab = v->tab, **more = calloc(old ? 2 * (size_t)old : 256, sizeof(*more));

	if (!more)
		return false;
	v->tab = more;
	v->cap = old ? 2 * old : 256;
	for (i = 0; i < old; i++)
		if (tab[i])
			*slot(v, tab[i]->at) = tab[i];
	free(tab);
	return true;
}

/* The page at this address as it is now, none of it written. NULL: no memory. */
static struct vpage *page_new(struct verify *v, u64 at)
{
	struct vpage *p = v->spare;

	if (v->n == PAGES_MOST || (2 * v->n >= v->cap && !grow(v)))
		return NULL;
	if (p) {
		v->spare = p->next;
		v->nspare--;
	} else {
		p = malloc(sizeof(*p));
	}
	if (!p)
		return NULL;
	p->at = at;
	memset(p->bits, 0, sizeof(p->bits));
	memset(p->by, 0, sizeof(p->by));
	memcpy(p->was, (const void *)at, PAGE);
	*slot(v, at) = p;
	v->n++;
	return p;
}

static u32 writer_new(struct tstate *ts, const struct insn *in)
{
	struct verify *v = ts->e->vf;
	u64 block = ts->w->cta->linear;
	u32 *recent = &v->recent[((u64)in >> 3 ^ ts->w->index * 37u) % RECENT];
	struct vwriter *w = &v->writers[*recent];

	/* loops write by few instructions */
	if (*recent && w->in == in && w->block == block && w->warp == ts->w->index)
		return *recent;
	if (v->nwriters + 1 >= WRITERS_MOST)
		return 0;
	w = xgrow(v->writers, &v->writers_cap, v->nwriters + 2, sizeof(*w));
	if (!w)
		return 0;
	v->writers = w;
	w[++v->nwriters] = (struct vwriter){ ts->f->fn, in, block, ts->w->index };
	return *recent = v->nwriters;
}

static void note_bytes(struct verify *v, u64 a, u32 bytes, u32 by)
{
	u64 at = a & ~(u64)(PAGE - 1);
	struct vpage *p = v->last;
	u32 off = (u32)(a - at), i;

	if (!p || p->at != at) {
		p = v->cap ? *slot(v, at) : NULL;
		if (!p) {
			(void)*(volatile const u8 *)a;  /* a page that is not there is told with this address */
			p = page_new(v, at);
		}
		if (!p) {
			v->overflow = true;
			return;
		}
		v->last = p;
	}
	/* an access is aligned, and has 32 bytes at most */
	p->bits[off / 64] |= ((1ull << bytes) - 1) << off % 64;
	for (i = off / 4; i <= (off + bytes - 1) / 4; i++)
		p->by[i] = by;
}

void vf_store(struct tstate *ts, const struct insn *in, u32 m)
{
	struct verify *v = ts->e->vf;
	struct cta *c = ts->w->cta;
	const struct engine_env *env = &ts->e->env;
	u32 bytes = (u32)in->size * in->vec, k, l, by = 0;
	const void *base;

	if (v->stage != REAL || ts != v->ts || c->g != v->g || v->overflow || in->space == SPACE_SHARED ||
	    in->space == SPACE_LOCAL || in->space == SPACE_PARAM)
		return;
	base = opnd(ts->f, in->o[4]);
	ts->mask = m;
	for (k = m; k; k &= k - 1) {
		u64 a;

		l = (u32)__builtin_ctz(k);
		a = in->aw ? ((const u64 *)base)[l] + (u64)in->imm : (u32)(((const u32 *)base)[l] + (u64)in->imm);
		/* what is wrong faults in a moment; windows of the block and the parameters are the grid's own */
		if ((a & (bytes - 1)) || a - env->span_base > env->span_bytes - bytes || a - c->win < c->win_bytes ||
		    a - c->g->pwin < 65536)
			continue;
		if (!by)
			by = writer_new(ts, in);
		note_bytes(v, a, bytes, by ? by << 5 | l : 0);
	}
}

void vf_start(struct cta *c)
{
	u64 local = (u64)c->g->local_stride * c->g->nwarps * LANES;
	u32 i;

	if (c->g != c->g->e->vf->g)
		return;
	for (i = 0; i < c->nwarps; i++)
		memset(c->mem + (size_t)i * c->frame_bytes, 0, c->regs_bytes);
	memset((void *)c->shared, 0, c->g->shared_total);
	if (local)
		memset((void *)c->local, 0, local);
}

/* Memory and the notes change places, in the bytes that were written. */
static void swap_bytes(struct vpage *p)
{
	u8 *mem = (u8 *)p->at, x;
	u32 i;

	for (i = 0; i < PAGE; i++) {
		if (!p->bits[i / 64]) {
			i |= 63;
			continue;
		}
		if (p->bits[i / 64] >> i % 64 & 1) {
			x = mem[i];
			mem[i] = p->was[i];
			p->was[i] = x;
		}
	}
}

/* ---- strays ------------------------------------------------------------------------------- */

/* Read-only but for the pages that the first run wrote to, or all as it was. */
static void protect(struct verify *v, struct vpage **sorted, u32 n, bool on)
{
	u32 i, k, first;

	for (i = 0; i < v->nr; i++)
		if (!v->r[i].window)
			mprotect((void *)v->r[i].at, v->r[i].bytes, on ? PROT_READ : PROT_READ | PROT_WRITE);
	for (i = 0; on && i < n; i = k) {
		first = i;
		for (k = i + 1; k < n && sorted[k]->at == sorted[k - 1]->at + PAGE; k++)
			;
		mprotect((void *)sorted[first]->at, (u64)(k - first) * PAGE, PROT_READ | PROT_WRITE);
	}
}

/* Raised by an access of the JIT's code or the interpreter, never inside of malloc: it may be called here. */
bool vf_page_fault(struct tstate *ts, u64 addr)
{
	struct verify *v = ts->e ? ts->e->vf : NULL;
	u64 at = addr & ~(u64)(PAGE - 1);

	if (!v || v->stage != TRIAL || ts != v->ts || !is_device(v, at) || (v->cap && *slot(v, at)))
		return false;
	if (!page_new(v, at)) {
		v->overflow = true;
		return false;
	}
	return !mprotect((void *)at, PAGE, PROT_READ | PROT_WRITE);
}

bool vf_trial_fault(struct engine *e, struct grid *g, const struct engine_fault *r)
{
	struct verify *v = e->vf;
	int n;

	if (!v || v->stage != TRIAL || g != v->g)
		return false;
	__atomic_store_n(&g->status, r->status, __ATOMIC_SEQ_CST);
	n = snprintf(v->fault, sizeof(v->fault), "%.100s at 0x%llx, block (%u,%u,%u), thread (%u,%u,%u)", r->what,
		     (unsigned long long)r->address, r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1],
		     r->thread[2]);
	if (r->ptx_line && n > 0)
		snprintf(v->fault + n, sizeof(v->fault) - (size_t)n, ", PTX line %u: %.160s", r->ptx_line,
			 r->code ? r->code : "");
	return true;
}

/* ---- what is said ------------------------------------------------------------------------- */

static void text_add(struct vtext *t, const char *s, size_t n)
{
	char *p = t->s;

	if (t->n + n + 1 > t->cap) {
		size_t cap = 2 * t->cap + n + 1024;

		p = realloc(t->s, cap);
		if (!p)
			return;
		t->s = p;
		t->cap = cap;
	}
	memcpy(p + t->n, s, n);
	t->n += n;
}

static void say(struct verify *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct verify *v, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		text_add(&v->text, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* The pieces are marked by their lengths: print() takes whole calls, and a ring of the client's only so much. */
bool vf_keep(struct engine *e, const char *text, size_t bytes)
{
	struct verify *v = e->vf;
	u32 n = (u32)bytes;

	if (!v || cpu_ts != v->ts || v->stage == IDLE)
		return false;
	if (v->stage == REAL) {
		text_add(&v->text, (const char *)&n, sizeof(n));
		text_add(&v->text, text, bytes);
	}
	return true;
}

static void print_all(struct engine *e, struct vtext *t)
{
	size_t at = 0;
	u32 n;

	while (at + sizeof(n) <= t->n) {
		memcpy(&n, t->s + at, sizeof(n));
		at += sizeof(n);
		if (n > t->n - at)
			break;
		e->env.print(e->env.owner, t->s + at, n);
		at += n;
	}
	t->n = 0;
}

void vf_grid_end(struct engine *e, struct grid *g)
{
	struct vtext *t = g->vtext;

	if (!t)
		return;
	g->vtext = NULL;
	print_all(e, t);
	free(t->s);
	free(t);
}

/* A report is one piece: begin() and end() go round what say() adds. */
static size_t begin(struct verify *v)
{
	u32 none = 0;

	text_add(&v->text, (const char *)&none, sizeof(none));
	return v->text.n;
}

static void end(struct verify *v, size_t at)
{
	u32 n = (u32)(v->text.n - at);

	if (at >= sizeof(n) && v->text.s)
		memcpy(v->text.s + at - sizeof(n), &n, sizeof(n));
}

static void say_writer(struct verify *v, const struct grid *g, u32 by)
{
	const struct vwriter *w = &v->writers[by >> 5];
	u32 thread = w->warp * LANES + (by & 31);
	char code[160];
	struct dtext d = { code, sizeof(code), 0 };

	disasm(w->fn, w->in, &d);
	say(v, "=========     at %s, PTX line %u: %s\n", w->fn->name, w->in->line, code);
	say(v, "=========     by thread (%u,%u,%u) in block (%u,%u,%u)\n", g->tid[0][thread], g->tid[1][thread], g->tid[2][thread],
	    (u32)(w->block % g->dim[0]), (u32)(w->block / g->dim[0] % g->dim[1]), (u32)(w->block / g->dim[0] / g->dim[1]));
}

/* ---- comparison --------------------------------------------------------------------------- */

struct diff {
	u64 first, stray, bytes, strays, summed;        /* addresses of the first ones; how many */
	u64 jit, interp;                                /* what stands at first */
	u8 stray_was, stray_is;
	u32 by, size;
};

static bool near_ulps(u32 a, u32 b, u32 bits, u32 ulps)
{
	s32 sign = 1 << (bits - 1), x = (s32)a, y = (s32)b;

	x = x & sign ? -(x & (sign - 1)) : x;
	y = y & sign ? -(y & (sign - 1)) : y;
	return (u32)(x > y ? x - y : y - x) <= ulps;
}

static bool near(double a, double b, double rel)
{
	double d = a > b ? a - b : b - a, m = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? (a < 0 ? -a : a) : (b < 0 ? -b : b);

	return a == b || (a != a && b != b) || d <= rel * m || d <= rel * 1e-2;
}

/*
 * Sums of floats in another order are equal but for rounding, which adds up: a thousandth, half of the bits of a double, a few
 * units of a half.
 */
static bool same_sum(const struct insn *in, u64 x, u64 y)
{
	u32 a32 = (u32)x, b32 = (u32)y;
	float fa, fb;
	double da, db;

	if (in->kind != K_VF_ATOM || in->sub != ATOM_ADD || !type_is_float(in->type))
		return false;
	if (in->type == T_F64) {
		memcpy(&da, &x, 8);
		memcpy(&db, &y, 8);
		return near(da, db, 1e-8);
	}
	if (in->type == T_F32) {
		memcpy(&fa, &a32, 4);
		memcpy(&fb, &b32, 4);
		return near(fa, fb, 1e-3);
	}
	return near_ulps(a32 & 0xffff, b32 & 0xffff, 16, 32) && near_ulps(a32 >> 16, b32 >> 16, 16, 32);
}

static void compare_page(struct verify *v, struct vpage *p, struct diff *d)
{
	const u8 *mem = (const u8 *)p->at;
	bool device = is_device(v, p->at);
	u32 i, size, at;

	for (i = 0; i < PAGE; i++) {
		u64 x = 0, y = 0;
		const struct vwriter *w;

		if (i % 64 == 0 && !memcmp(mem + i, p->was + i, 64)) {
			i += 63;
			continue;
		}
		if (mem[i] == p->was[i])
			continue;
		if (!(p->bits[i / 64] >> i % 64 & 1)) {
			if (device && !d->strays++) {
				d->stray = p->at + i;
				d->stray_was = p->was[i];
				d->stray_is = mem[i];
			}
			continue;
		}
		/* whole elements, as they were written */
		w = p->by[i / 4] ? &v->writers[p->by[i / 4] >> 5] : NULL;
		size = w ? w->in->size : 1;
		at = i & ~(size - 1);
		memcpy(&x, mem + at, size);
		memcpy(&y, p->was + at, size);
		i = at + size - 1;
		if (w && same_sum(w->in, x, y)) {
			d->summed += size;
			continue;
		}
		if (!d->bytes) {
			d->first = p->at + at;
			d->jit = x;
			d->interp = y;
			d->by = p->by[at / 4];
			d->size = size;
		}
		d->bytes += size;
	}
}

static int by_address(const void *a, const void *b)
{
	u64 x = (*(struct vpage *const *)a)->at, y = (*(struct vpage *const *)b)->at;

	return x < y ? -1 : x > y;
}

static struct vpage **sorted_pages(struct verify *v)
{
	struct vpage **s = malloc((v->n + 1) * sizeof(*s));
	u32 i, n = 0;

	for (i = 0; s && i < v->cap; i++)
		if (v->tab[i])
			s[n++] = v->tab[i];
	if (s)
		qsort(s, n, sizeof(*s), by_address);
	return s;
}

/* Where memory holds what the JIT wrote, it gets the interpreter's. */
static void take_first(struct verify *v, struct vpage *p)
{
	u8 *mem = (u8 *)p->at;
	bool device = is_device(v, p->at);
	u32 i;

	for (i = 0; i < PAGE; i++)
		if (mem[i] != p->was[i] && (device || (p->bits[i / 64] >> i % 64 & 1)))
			mem[i] = p->was[i];
}

/* Do atomics answer in an order that threads have by chance? */
static bool ordered(const struct func *fn, u32 depth)
{
	u32 i;

	for (i = 0; i < fn->ncode; i++) {
		const struct insn *in = &fn->code[i];

		if (in->kind == K_VF_ATOM && (in->o[0] != OPND_NONE || in->sub == ATOM_EXCH || type_is_float(in->type)))
			return true;
	}
	for (i = 0; depth && i < fn->ncallees; i++)
		if (ordered(fn->callees[i], depth - 1))
			return true;
	return false;
}

static void say_shape(struct verify *v, const struct grid *g)
{
	say(v, "=========     launch: grid (%u,%u,%u), block (%u,%u,%u)\n", g->dim[0], g->dim[1], g->dim[2], g->block[0],
	    g->block[1], g->block[2]);
}

static void report(struct verify *v, struct grid *g, const struct diff *d, u64 written)
{
	size_t at;

	count(&v->counts->differ);
	if (v->shown++ >= SHOWN)
		return;
	at = begin(v);
	if (v->fault[0])
		say(v, "========= Verify: kernel %s faults on the JIT, not in the interpreter\n=========     %s\n", g->fn->name, v->fault);
	else if (d->bytes)
		say(v, "========= Verify: kernel %s writes another value on the JIT\n", g->fn->name);
	else
		say(v, "========= Verify: kernel %s writes on the JIT where it does not in the interpreter\n", g->fn->name);
	if (d->bytes) {
		if (d->by)
			say_writer(v, g, d->by);
		say(v, "=========     Address 0x%llx: JIT 0x%0*llx, interpreter 0x%0*llx; %llu of %llu written bytes differ\n",
		    (unsigned long long)d->first, (int)d->size * 2, (unsigned long long)d->jit, (int)d->size * 2,
		    (unsigned long long)d->interp, (unsigned long long)d->bytes, (unsigned long long)written);
	}
	if (d->strays)
		say(v, "=========     Address 0x%llx: JIT writes 0x%02x over 0x%02x, the interpreter nothing; %llu such bytes\n",
		    (unsigned long long)d->stray, d->stray_is, d->stray_was, (unsigned long long)d->strays);
	if (ordered(g->fn, 8))
		say(v, "=========     The kernel has atomics whose order shows in their results: it may be that\n");
	say_shape(v, g);
	end(v, at);
}

/* Once a kernel: why nothing is said about it. */
static void not_comparable(struct verify *v, struct func *fn, const char *why)
{
	size_t at;

	count(&v->counts->skipped);
	if (fn->vf_told)
		return;
	fn->vf_told = true;
	at = begin(v);
	say(v, "========= Verify: kernel %s is not comparable: %s\n", fn->name, why);
	end(v, at);
}

static void compare(struct verify *v, struct grid *g, const char *unended)
{
	struct vpage **s = sorted_pages(v);
	struct diff d = { 0 };
	u64 written = 0;
	u32 i, k;

	for (i = 0; s && i < v->n; i++) {
		for (k = 0; k < PAGE / 64; k++)
			written += (u64)__builtin_popcountll(s[i]->bits[k]);
		if (!unended)
			compare_page(v, s[i], &d);
	}
	for (i = 0; i < v->cap; i++)
		if (v->tab[i])
			take_first(v, v->tab[i]);
	free(s);
	if (unended || !s || v->overflow) {
		not_comparable(v, g->fn, unended ? unended : "it writes too much");
		return;
	}
	count(&v->counts->compared);
	if (d.bytes || d.strays || v->fault[0])
		report(v, g, &d, written);
	else if (d.summed)
		count(&v->counts->order);
}

/* ---- launches ------------------------------------------------------------------------------ */

/* NULL: nothing speaks against it. */
static const char *why_not(const struct func *fn, u32 depth)
{
	const char *why = NULL;
	u32 i;

	if (fn->indirect || fn->anywhere)
		return "it calls functions by pointer";
	for (i = 0; i < fn->ncode; i++) {
		const struct insn *in = &fn->code[i];

		if (in->kind == K_SREG && in->sub >= SR_CLOCK && in->sub <= SR_GLOBALTIMER_HI)
			return "it reads a clock";
		if (in->kind == K_CALL && in->u.call->builtin >= BUILTIN_MALLOC)
			return "it allocates device memory";
	}
	for (i = 0; depth && !why && i < fn->ncallees; i++)
		why = why_not(fn->callees[i], depth - 1);
	return why;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* Runs the grid on this thread. False: it has not ended in time. */
static bool run_here(struct engine *e, struct grid *g, u64 until)
{
	struct turn t = { .e = e, .g = g };
	bool ended = false, kept;

	for (;;) {
		pthread_mutex_lock(&e->lock);
		ended = grid_ended(e, g);
		if (ended || now_ns() > until || !grid_pick(e, g, &t)) {
			pthread_mutex_unlock(&e->lock);
			return ended;
		}
		pthread_mutex_unlock(&e->lock);
		if (!t.started) {
			if (!e->home_cta)
				e->home_cta = cta_new();
			t.c = e->home_cta;
		}
		t.row = 0;              /* each block starts in vf_start() */
		t.budget = g->cooperative ? BUDGET / 256 : BUDGET;
		t.limit = ~0ull;
		t.done = 0;
		t.r = RUN_FAULT;
		if (t.c)
			turn_run(e->vf->ts, &t);
		pthread_mutex_lock(&e->lock);
		if (!t.c)
			g->status = VGPU_ST_OUT_OF_MEMORY;
		kept = grid_put(e, &t);
		if (kept && t.started && t.c)
			cta_put(e, t.c);
		if (!kept && !t.started)
			e->home_cta = NULL;
		pthread_mutex_unlock(&e->lock);
	}
}

/* The grid at its start, with code or without; blocks that fitted the other run do not fit it. */
static void rewind_grid(struct engine *e, struct grid *g, struct jit *jit)
{
	struct cta *c;

	pthread_mutex_lock(&e->lock);
	while ((c = g->suspended)) {
		g->suspended = c->next;
		cta_put(e, c);
	}
	for (c = e->cta_pool; c; c = c->next)
		c->gridid = 0;
	pthread_mutex_unlock(&e->lock);
	if (e->home_cta)
		e->home_cta->gridid = 0;
	g->jit = jit;
	g->next_block = g->done_blocks = 0;
	g->resident = g->running = g->status = g->nrest = 0;
	g->suspended = NULL;
	g->tail = &g->suspended;
	if (g->coop_win) {
		memset((void *)g->coop_win, 0, 4096);
		*(u32 *)g->coop_win = 4096;
	}
}

/* Waits until nothing else runs, which would write to memory between the runs. False: it does not end. */
static bool alone(struct engine *e)
{
	u64 until = now_ns() + REAL_NS;
	struct grid *g;

	for (;;) {
		bool waits;

		pthread_mutex_lock(&e->lock);
		for (g = e->grids.next; g != &e->grids && g->over; g = g->next)
			;
		waits = g != &e->grids && g->waits;
		pthread_mutex_unlock(&e->lock);
		if (g == &e->grids)
			return true;
		if (waits || now_ns() > until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	}
}

static void second_run(struct engine *e, struct grid *g, struct jit *jit, u64 took)
{
	struct verify *v = e->vf;
	struct vpage **s = sorted_pages(v);
	u32 i, n = v->n, status = g->status;
	u64 est = g->est;
	bool ended;

	for (i = 0; i < v->cap; i++)
		if (v->tab[i])
			swap_bytes(v->tab[i]);
	rewind_grid(e, g, jit);
	if (s)
		protect(v, s, n, true);
	v->stage = TRIAL;
	ended = run_here(e, g, now_ns() + TRIAL_NS + 4 * took);
	v->stage = REAL;
	if (s)
		protect(v, s, n, false);
	free(s);
	if (ended && g->status && !v->fault[0])
		snprintf(v->fault, sizeof(v->fault), "status %u", g->status);
	compare(v, g, ended ? NULL : "it does not end on the JIT; it may wait for somebody");
	rewind_grid(e, g, NULL);
	g->next_block = g->done_blocks = g->nblocks;
	g->status = status;
	g->est = est;
}

/* What is to be printed goes with the grid to where waiting for the reader is allowed. */
static u32 finish(struct engine *e, struct grid *g)
{
	struct verify *v = e->vf;

	v->stage = IDLE;
	v->g = NULL;
	if (v->text.n && (g->vtext = malloc(sizeof(v->text)))) {
		*g->vtext = v->text;
		v->text = (struct vtext){ 0 };
	}
	forget(v);
	return grid_finish(e, g);
}

u32 vf_launch(struct engine *e, struct grid *g)
{
	struct verify *v = e->vf;
	struct jit *jit = g->jit;
	const char *why = jit ? why_not(g->fn, 8) : "it has no compiled code";
	u64 start;

	g->jit = NULL;
	v->ts = tstate_get(e);
	if (!why && !alone(e))
		why = "another kernel does not end";
	if (!why && v->ts) {
		v->g = g;
		v->stage = REAL;
		start = now_ns();
		if (run_here(e, g, start + REAL_NS)) {
			if (v->overflow)
				not_comparable(v, g->fn, "it writes too much");
			else if (!g->status && !e->sticky)
				second_run(e, g, jit, now_ns() - start);
			return finish(e, g);
		}
		why = "it does not end soon; it may wait for somebody";
		g->waits = true;
	}
	v->stage = IDLE;
	v->g = NULL;
	forget(v);
	not_comparable(v, g->fn, why ? why : "there is no memory");
	print_all(e, &v->text);
	/* some of its blocks may have run, and others be suspended */
	return g->next_block ? grid_hand_over(e, g) : grid_start(e, g);
}
