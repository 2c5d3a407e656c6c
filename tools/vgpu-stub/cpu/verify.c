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

#include "devrt.h"
#include "disasm.h"
#include "gen.h"
#include "jit.h"
#include "verify_own.h"

/* What takes longer waits for somebody whom we hold up, or may: the workers run it; so long and four times that the comparing run has. Tests have less. */
u64 verify_ns = 5000000000ull;

struct verify_counts *vf_counts(struct verify_counts *own)
{
	const char *path = getenv("VGPU_VERIFY_COUNTS");
	/* "fd:N": a context opens it while it has files */
	int fd = !path ? -1 : !strncmp(path, "fd:", 3) ? atoi(path + 3) : open(path, O_RDWR | O_CLOEXEC);
	void *p = MAP_FAILED;

	if (fd >= 0) {
		p = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	return p != MAP_FAILED ? p : own;
}

int vf_open(struct engine *e)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (!v)
		return -1;
	v->counts = vf_counts(&v->own);
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

void vf_count(uint64_t *what)
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
bool vf_is_device(const struct verify *v, u64 at)
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

void vf_bytes(struct tstate *ts, const struct insn *in, u32 lane, u64 addr, u32 bytes)
{
	struct verify *v = ts->e->vf;
	u32 size, by;

	if (!v || v->stage != REAL || ts != v->ts || ts->w->cta->g != v->g || v->overflow)
		return;
	by = writer_new(ts, in);
	for (; bytes; addr += size, bytes -= size) {
		for (size = 16; addr & (size - 1) || size > bytes; size /= 2)
			;
		note_bytes(v, addr, size, by ? by << 5 | lane : 0);
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

	if (!v || v->stage != TRIAL || ts != v->ts || !vf_is_device(v, at) || (v->cap && *slot(v, at)))
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
		if (in->kind == K_CALL && in->u.call->builtin >= BUILTIN_DEVRT)
			return "it launches kernels";
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
	u64 until = now_ns() + verify_ns;
	struct grid *g;

	for (;;) {
		bool waits, none;

		pthread_mutex_lock(&e->lock);
		for (g = e->grids.next; g != &e->grids && g->over; g = g->next)
			;
		waits = g != &e->grids && g->waits;
		none = g == &e->grids && !devrt_busy(e);
		pthread_mutex_unlock(&e->lock);
		if (none)
			return true;
		if (waits || now_ns() > until)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	}
}

static void second_run(struct engine *e, struct grid *g, struct jit *jit, u64 took)
{
	struct verify *v = e->vf;
	struct vpage **s = vf_sorted_pages(v);
	u32 i, n = v->n, status = g->status;
	struct func *fn = g->fn;
	u64 est = g->est;
	bool ended;

	/* blocks that do the work of several are code's, too: where tune.c would have to say which is faster, in every other launch */
	if ((fn->tune.state == TUNE_CHOSEN || (g->gridid & 1)) && grid_coarsen(e, g)) {
		jit = g->jit;
	} else if (fn->npro && !g->pool) {
		free(s);
		g->est = est;
		vf_not_comparable(v, fn, "there is no memory");
		return;
	}
	for (i = 0; i < v->cap; i++)
		if (v->tab[i])
			swap_bytes(v->tab[i]);
	rewind_grid(e, g, jit);
	if (s)
		protect(v, s, n, true);
	v->stage = TRIAL;
	ended = run_here(e, g, now_ns() + verify_ns + 4 * took);
	v->stage = REAL;
	if (s)
		protect(v, s, n, false);
	free(s);
	if (ended && g->status && !v->fault[0])
		snprintf(v->fault, sizeof(v->fault), "status %u", g->status);
	vf_compare(v, g, ended ? NULL : "it does not end on the JIT; it may wait for somebody");
	rewind_grid(e, g, NULL);
	g->fn = fn;
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
		if (run_here(e, g, start + verify_ns)) {
			if (v->overflow)
				vf_not_comparable(v, g->fn, "it writes too much");
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
	vf_not_comparable(v, g->fn, why ? why : "there is no memory");
	vf_print_all(e, &v->text);
	/* some of its blocks may have run, and others be suspended */
	return g->next_block ? grid_hand_over(e, g) : grid_start(e, g);
}
