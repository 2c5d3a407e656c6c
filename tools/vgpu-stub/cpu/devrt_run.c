/* SPDX-License-Identifier: MIT */
/* What becomes of launches by kernels: works, streams, events, and families of grids. devrt.h is the picture. */
#include <stdlib.h>
#include <string.h>

#include "devrt.h"
#include "memcheck.h"
#include "rt.h"

#define CHUNK 256u              /* works that are made at once */
#define COMMIT 65536u
#define PIECE (1u << 20)        /* of a copy, between two looks at what else there is */

static bool dead(const struct engine *e, const struct kin *k)
{
	return k->status || __atomic_load_n(&e->sticky, __ATOMIC_RELAXED);
}

struct devrt *devrt_get(struct engine *e)
{
	static const struct { u32 bytes, most; } sizes[WORK_KINDS] = { { 256, SMALL_WORKS }, { 4096, 2048 }, { LARGE_BYTES, 512 } };
	struct devrt *d = e->dr;
	u64 got;
	u32 i, k;

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	alone_never(e);         /* copies and families of kernels end at times that alone.c does not know of */
	for (i = 0; i < WORK_KINDS; i++) {
		struct pool_of_works *p = &d->works[i];

		p->most = sizes[i].most;
		p->bytes = sizes[i].bytes;
		p->base = arena_alloc(e, (u64)p->most * p->bytes, &got);
		p->chunk = calloc(p->most / CHUNK, sizeof(*p->chunk));
		if (!p->base || !p->chunk) {
			for (k = 0; k <= i; k++)
				free(d->works[k].chunk);
			free(d);        /* what is lost of the arena is address space */
			return NULL;
		}
	}
	return e->dr = d;
}

/* ---- works ------------------------------------------------------------------------------- */

static bool more_works(struct engine *e, struct pool_of_works *p)
{
	u32 end = (p->made + CHUNK) * p->bytes, i;
	struct work *w;

	if (p->made == p->most)
		return false;
	if (end > p->committed) {
		u32 up = (end + COMMIT - 1) & ~(COMMIT - 1);

		if (arena_commit(p->base + p->committed, up - p->committed))
			return false;
		mc_note(e, p->base + p->committed, up - p->committed, true, false);
		p->committed = up;
	}
	w = calloc(CHUNK, sizeof(*w));
	if (!w)
		return false;
	p->chunk[p->made / CHUNK] = w;
	for (i = CHUNK; i--;) {
		w[i].params = p->base + (u64)(p->made + i) * p->bytes;
		w[i].kind = (u8)(p - e->dr->works);
		w[i].next = p->free;
		p->free = &w[i];
	}
	p->made += CHUNK;
	return true;
}

struct work *work_new(struct engine *e, struct kin *k, u32 bytes)
{
	struct pool_of_works *p = e->dr->works;
	struct work *w;

	while (p->bytes < bytes)        /* nobody asks for more than LARGE_BYTES */
		p++;
	if (!p->free && !more_works(e, p))
		return NULL;
	w = p->free;
	p->free = w->next;
	w->state = WORK_BUFFER;
	w->by = k;
	w->s = NULL;
	w->prev = NULL;
	w->next = k->buffers;
	if (w->next)
		w->next->prev = w;
	k->buffers = w;
	return w;
}

struct work *work_of_buffer(struct engine *e, u64 addr)
{
	u32 i;

	for (i = 0; e->dr && i < WORK_KINDS; i++) {
		struct pool_of_works *p = &e->dr->works[i];
		u64 n = (addr - p->base) / p->bytes;
		struct work *w;

		if (addr < p->base || n >= p->made || (addr - p->base) % p->bytes)
			continue;
		w = &p->chunk[n / CHUNK][n % CHUNK];
		return w->state == WORK_BUFFER ? w : NULL;
	}
	return NULL;
}

static void unlink_buffer(struct work *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		w->by->buffers = w->next;
	if (w->next)
		w->next->prev = w->prev;
}

void work_give(struct engine *e, struct work *w)
{
	struct pool_of_works *p = &e->dr->works[w->kind];

	if (w->state == WORK_BUFFER)
		unlink_buffer(w);
	w->state = WORK_FREE;
	w->next = p->free;
	p->free = w;
}

static void ready(struct engine *e, struct work *w)
{
	w->next = e->dr->ready;
	e->dr->ready = w;
	rt_wake(e, 1);
}

/* ---- handles ----------------------------------------------------------------------------- */

/* Small numbers are streams that are there without being made. 0: there is no room. */
static u64 handle_new(struct devrt *d, u8 kind, void *what)
{
	u32 i = d->free_handle;
	struct handle *h;

	if (i) {
		i--;
		d->free_handle = d->handles[i].next;
	} else {
		h = d->nhandles < HANDLES ? xgrow(d->handles, &d->handles_cap, d->nhandles + 1, sizeof(*h)) : NULL;
		if (!h)
			return 0;
		d->handles = h;
		i = d->nhandles++;
		h[i].life = 0;
	}
	h = &d->handles[i];
	h->what = what;
	h->kind = kind;
	h->life++;
	return (u64)h->life << 32 | (i + 16);
}

static struct handle *handle_get(struct devrt *d, u64 handle, u8 kind)
{
	u64 i = (handle & 0xffffffffu) - 16;

	return i < d->nhandles && d->handles[i].kind == kind && d->handles[i].life == handle >> 32 ? &d->handles[i] : NULL;
}

static void handle_drop(struct devrt *d, u64 handle)
{
	u32 i = (u32)(handle & 0xffffffffu) - 16;

	d->handles[i].kind = HANDLE_NONE;
	d->handles[i].next = d->free_handle;
	d->free_handle = i + 1;
}

/* ---- streams ----------------------------------------------------------------------------- */

static u32 chain_of(const struct kin *k, u64 block)
{
	return (u32)(((u64)k / 64 + block) * 0x9e3779b97f4a7c15ull >> 54);
}

static struct dstream *stream_make(struct kin *k)
{
	struct dstream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->by = k;
	s->last = &s->first;
	s->next = k->streams;
	if (s->next)
		s->next->prev = s;
	k->streams = s;
	return s;
}

static void stream_free(struct devrt *d, struct dstream *s)
{
	struct dstream **p;

	if (s->null) {
		for (p = &d->null[chain_of(s->by, s->block)]; *p != s; p = &(*p)->chain)
			;
		*p = s->chain;
	} else if (!s->gone) {
		handle_drop(d, s->handle);
	}
	if (s->prev)
		s->prev->next = s->next;
	else
		s->by->streams = s->next;
	if (s->next)
		s->next->prev = s->prev;
	free(s);
}

static void event_free(struct devrt *d, struct devent *v)
{
	if (!v->gone)
		handle_drop(d, v->handle);
	if (v->prev)
		v->prev->next = v->next;
	else
		v->by->events = v->next;
	if (v->next)
		v->next->prev = v->prev;
	free(v);
}

static void event_unref(struct devrt *d, struct devent *v)
{
	if (!--v->refs && v->gone)
		event_free(d, v);
}

/* Whatever may go on in the stream does, and in those that wait for it. May end streams that nobody has any more. */
static void stream_go(struct engine *e, struct dstream *upnext)
{
	struct dstream *s, *t;
	struct work *w;

	upnext->upnext = NULL;
	while ((s = upnext)) {
		upnext = s->upnext;
		while (!s->busy && (w = s->first)) {
			bool drop = dead(e, s->by);

			if (w->what == DO_WAIT && !drop && w->ev->done < w->count) {
				s->waits = true;
				s->upnext = w->ev->waiters;
				w->ev->waiters = s;
				break;
			}
			s->first = w->next;
			if (!s->first)
				s->last = &s->first;
			if (w->what == DO_RECORD) {
				w->ev->done = w->count > w->ev->done ? w->count : w->ev->done;
				while ((t = w->ev->waiters)) {
					w->ev->waiters = t->upnext;
					t->waits = false;
					t->upnext = upnext;
					upnext = t;
				}
			}
			if (w->what == DO_RECORD || w->what == DO_WAIT)
				event_unref(e->dr, w->ev);
			else if (!drop) {
				s->busy = true;
				ready(e, w);
				break;
			}
			work_give(e, w);
			s->by->kids--;
		}
		if (!s->busy && !s->first && (s->null || s->gone))
			stream_free(e->dr, s);
	}
}

static struct dstream *null_stream(struct engine *e, struct kin *k, u64 block)
{
	struct dstream **head = &e->dr->null[chain_of(k, block)], *s;

	for (s = *head; s && (s->by != k || s->block != block); s = s->chain)
		;
	if (!s && (s = stream_make(k))) {
		s->null = true;
		s->block = block;
		s->chain = *head;
		*head = s;
	}
	return s;
}

/* Of 0 to 2 (legacy, per thread) each block has its own. */
static u32 stream_find(struct engine *e, struct kin *k, u64 block, u64 stream, struct dstream **out)
{
	struct handle *h;

	if (stream <= 2) {
		*out = null_stream(e, k, block);
		return *out ? DE_OK : DE_MEMORY;
	}
	h = handle_get(e->dr, stream, HANDLE_STREAM);
	*out = h ? h->what : NULL;
	return *out && (*out)->by == k ? DE_OK : DE_HANDLE;
}

static void append(struct engine *e, struct dstream *s, struct work *w)
{
	w->s = s;
	w->next = NULL;
	*s->last = w;
	s->last = &w->next;
	if (!s->busy && !s->waits)
		stream_go(e, s);
}

u32 work_queue(struct engine *e, struct work *w, u64 block, u64 stream)
{
	struct kin *k = w->by;
	struct dstream *s = NULL;
	u32 st;

	if (stream != 3 && stream != 4 && (st = stream_find(e, k, block, stream, &s)))
		return st;
	unlink_buffer(w);
	w->state = WORK_QUEUED;
	if (stream == 3) {              /* cudaStreamTailLaunch */
		w->next = NULL;
		*k->tail_end = w;
		k->tail_end = &w->next;
		return DE_OK;
	}
	k->kids++;
	if (stream == 4)                /* cudaStreamFireAndForget */
		ready(e, w);
	else
		append(e, s, w);
	return DE_OK;
}

u32 stream_new(struct engine *e, struct kin *k, u64 *handle)
{
	struct dstream *s = stream_make(k);

	if (!s)
		return DE_MEMORY;
	*handle = s->handle = handle_new(e->dr, HANDLE_STREAM, s);
	if (s->handle)
		return DE_OK;
	s->gone = true;
	stream_free(e->dr, s);
	return DE_MEMORY;
}

u32 stream_destroy(struct engine *e, struct kin *k, u64 handle)
{
	struct handle *h = handle_get(e->dr, handle, HANDLE_STREAM);
	struct dstream *s = h ? h->what : NULL;

	if (!s || s->by != k)
		return DE_HANDLE;
	if (s->busy || s->first) {      /* what is in it still runs */
		handle_drop(e->dr, handle);
		s->gone = true;
	} else {
		stream_free(e->dr, s);
	}
	return DE_OK;
}

u32 event_new(struct engine *e, struct kin *k, u64 *handle)
{
	struct devent *v = calloc(1, sizeof(*v));

	if (v)
		v->handle = handle_new(e->dr, HANDLE_EVENT, v);
	if (!v || !v->handle) {
		free(v);
		return DE_MEMORY;
	}
	v->by = k;
	v->next = k->events;
	if (v->next)
		v->next->prev = v;
	k->events = v;
	*handle = v->handle;
	return DE_OK;
}

static struct devent *event_find(struct engine *e, struct kin *k, u64 handle)
{
	struct handle *h = handle_get(e->dr, handle, HANDLE_EVENT);
	struct devent *v = h ? h->what : NULL;

	return v && v->by == k ? v : NULL;
}

u32 event_destroy(struct engine *e, struct kin *k, u64 handle)
{
	struct devent *v = event_find(e, k, handle);

	if (!v)
		return DE_HANDLE;
	if (v->refs) {
		handle_drop(e->dr, handle);
		v->gone = true;
	} else {
		event_free(e->dr, v);
	}
	return DE_OK;
}

static u32 mark(struct engine *e, struct kin *k, struct devent *v, u8 what, u64 count, u64 block, u64 stream)
{
	struct dstream *s;
	struct work *w;
	u32 st = stream_find(e, k, block, stream, &s);

	if (st)
		return st;
	w = work_new(e, k, 0);
	if (!w) {
		if (s->null && !s->busy && !s->first)
			stream_free(e->dr, s);
		return DE_MEMORY;       /* documented for an event that has no slot */
	}
	unlink_buffer(w);
	w->state = WORK_QUEUED;
	w->what = what;
	w->ev = v;
	w->count = count;
	v->refs++;
	k->kids++;
	append(e, s, w);
	return DE_OK;
}

u32 event_record(struct engine *e, struct kin *k, u64 event, u64 block, u64 stream)
{
	struct devent *v = event_find(e, k, event);
	u32 st;

	if (!v)
		return DE_HANDLE;
	st = mark(e, k, v, DO_RECORD, v->recorded + 1, block, stream);
	if (!st)
		v->recorded++;
	return st;
}

u32 event_wait(struct engine *e, struct kin *k, u64 event, u64 block, u64 stream)
{
	struct devent *v = event_find(e, k, event);

	if (!v)
		return DE_HANDLE;
	return v->done >= v->recorded ? DE_OK : mark(e, k, v, DO_WAIT, v->recorded, block, stream);
}

/* ---- families ---------------------------------------------------------------------------- */

static struct kin *kin_new(struct engine *e, struct kin *up, struct dstream *s)
{
	struct kin *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->up = up;
	k->s = s;
	k->depth = up ? up->depth + 1 : 0;
	k->tail_end = &k->tail;
	k->next = e->dr->kins;
	if (k->next)
		k->next->prev = k;
	e->dr->kins = k;
	return k;
}

static void kin_free(struct engine *e, struct kin *k)
{
	while (k->buffers)
		work_give(e, k->buffers);
	while (k->streams)
		stream_free(e->dr, k->streams);
	while (k->events)
		event_free(e->dr, k->events);
	if (k->prev)
		k->prev->next = k->next;
	else
		e->dr->kins = k->next;
	if (k->next)
		k->next->prev = k->prev;
	free(k);
}

struct kin *kin_get(struct engine *e, struct grid *g)
{
	if (!g->kin && devrt_get(e) && (g->kin = kin_new(e, NULL, NULL)))
		g->kin->cookie = g->cookie;
	return g->kin;
}

/* Is k complete? Then perhaps who has launched it is, too. */
static void settle(struct engine *e, struct kin *k, struct ended *x)
{
	while (k && k->over && !k->kids) {
		struct kin *up = k->up;
		struct work *w = k->tail;
		struct dstream *s = k->s;
		u32 status = k->status;

		if (w) {
			k->tail = w->next;
			if (!k->tail)
				k->tail_end = &k->tail;
			if (dead(e, k)) {
				work_give(e, w);
				continue;
			}
			k->kids++;
			w->s = NULL;
			ready(e, w);
			return;
		}
		if (!up)
			*x = (struct ended){ true, k->cookie, status ? status : __atomic_load_n(&e->sticky, __ATOMIC_RELAXED) };
		kin_free(e, k);
		if (up) {
			if (status && !up->status)
				up->status = status;
			up->kids--;
			if (s) {
				s->busy = false;
				stream_go(e, s);
			}
		}
		k = up;
	}
}

void kin_over(struct engine *e, struct grid *g, u32 status, struct ended *x)
{
	struct kin *k = g->kin;

	k->over = true;
	if (!k->status)
		k->status = status;
	if (k->up && e->dr->running-- == MAX_RUNNING)
		rt_wake(e, 1);
	settle(e, k, x);
}

/* A work that no grid stands for is complete, or is none any more. */
static void work_over(struct engine *e, struct work *w, u32 status, struct ended *x)
{
	struct kin *k = w->by;
	struct dstream *s = w->s;

	if (status && !k->status)
		k->status = status;
	work_give(e, w);
	k->kids--;
	if (s) {
		s->busy = false;
		stream_go(e, s);
	}
	settle(e, k, x);
}

static u64 box_bytes(const struct box *b)
{
	return b->width * b->height * b->depth;
}

/* No lock. So many bytes as a piece has; false: an access went wrong. */
static bool copy_piece(struct engine *e, struct work *w)
{
	const struct box *b = &w->box;
	u64 bytes = 0, n;

	for (; w->at < box_bytes(b) && bytes < PIECE; w->at += n, bytes += n) {
		u64 row = w->at / b->width, x = w->at % b->width, y = row % b->height, z = row / b->height;
		char *dst = (char *)(b->dst + x + y * b->dst_pitch + z * b->dst_slice);
		const char *src = (const char *)(b->src + x + y * b->src_pitch + z * b->src_slice);

		n = b->width - x < PIECE ? b->width - x : PIECE;
		if (w->what == DO_COPY ? mem_copy(e, dst, src, n) : mem_fill(e, dst, w->value & 255, 1, n))
			return false;
		if (e->mc && w->what == DO_COPY)
			mc_copied(e, (u64)dst, (u64)src, n);
		else if (e->mc)
			mc_wrote(e, (u64)dst, n);
	}
	return true;
}

static void copy_fault(struct engine *e, const struct work *w)
{
	struct engine_fault r = { .status = VGPU_ST_ILLEGAL_ADDRESS, .nowhere = 1,
				  .kernel = w->what == DO_COPY ? "cudaMemcpyAsync of a kernel" : "cudaMemsetAsync of a kernel",
				  .what = "access to memory that is not there" };
	u32 zero = 0;

	if (__atomic_compare_exchange_n(&e->sticky, &zero, r.status, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		e->env.fault(e->env.owner, &r);
}

static void start_copy(struct engine *e, struct work *w, struct ended *x)
{
	bool ok;

	pthread_mutex_unlock(&e->lock);
	ok = copy_piece(e, w);
	if (!ok)
		copy_fault(e, w);
	pthread_mutex_lock(&e->lock);
	if (ok && w->at < box_bytes(&w->box))
		ready(e, w);
	else
		work_over(e, w, ok ? 0 : VGPU_ST_ILLEGAL_ADDRESS, x);
}

void devrt_start(struct engine *e, struct ended *x)
{
	struct work *w = e->dr->ready;
	struct engine_launch l = { 0 };
	struct grid *g = NULL;
	struct kin *k = NULL;
	u64 threads, nth;
	struct func *fn;

	e->dr->ready = w->next;
	if (dead(e, w->by)) {
		work_over(e, w, 0, x);
		return;
	}
	if (w->what != DO_KERNEL) {
		start_copy(e, w, x);
		return;
	}
	e->dr->running++;
	nth = ++e->dr->launched;
	pthread_mutex_unlock(&e->lock);
	fn = func_get(e, w->fn);        /* its module stays while there are families */
	memcpy(l.grid, w->grid, sizeof(l.grid));
	memcpy(l.block, w->block, sizeof(l.block));
	l.fn = w->fn;
	l.shared_bytes = w->shared_bytes;
	l.params = (const void *)w->params;
	l.param_bytes = fn ? fn->param_bytes : 0;
	if (fn && !launch_allowed(e, &l, fn, &threads) && (fn = func_roomy(fn)))
		g = grid_make_child(e, &l, fn, (u32)threads, nth);
	pthread_mutex_lock(&e->lock);
	if (g)
		k = kin_new(e, w->by, w->s);
	if (!k) {
		if (g) {
			g->next = e->grid_pool;
			e->grid_pool = g;
		}
		e->dr->running--;
		work_over(e, w, VGPU_ST_OUT_OF_MEMORY, x);
		return;
	}
	work_give(e, w);
	g->kin = k;
	/* before the others: who launches much has to wait for it */
	g->next = e->grids.next;
	g->prev = &e->grids;
	g->next->prev = g;
	e->grids.next = g;
	__atomic_fetch_add(&e->alone.listed, 1, __ATOMIC_RELAXED);
	rt_wake(e, g->nblocks);
}

void devrt_close(struct engine *e)
{
	struct devrt *d = e->dr;
	u32 i, k;

	if (!d)
		return;
	while (d->kins)
		kin_free(e, d->kins);
	for (i = 0; i < WORK_KINDS; i++) {
		for (k = 0; k < d->works[i].made / CHUNK; k++)
			free(d->works[i].chunk[k]);
		free(d->works[i].chunk);
	}
	free(d->handles);
	free(d);
	e->dr = NULL;
}
