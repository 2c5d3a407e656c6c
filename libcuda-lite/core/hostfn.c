/* SPDX-License-Identifier: MIT */
/*
 * Host functions in streams (cuLaunchHostFunc, cuStreamAddCallback).
 *
 *   stream:    ... work (ticket T) | WAIT_VALUE gate >= n | later work ...
 *   executor:  waits for T, runs the function, gate = n, rings
 *
 * One thread runs them all, in the order of the stream and one at a time, so a function may not
 * wait for another one (CUDA forbids it too). What the library itself does between two commands of a
 * stream, and may take long (driver/graph_cond.c), has a thread of its own: its work may wait for a host function. The gate is a word of the window; a command on an
 * internal stream follows the store, so that a device that sleeps looks at its waits again.
 * A destroyed stream's work goes on, and the device may look at its gate long after the function
 * has run: the word is free when both are done, the last function here and the last command there.
 */
#include "core.h"
#include "queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * pthread_create moved to a new version in glibc 2.34; we ask for the old one, which every glibc
 * has. Weak: before 2.34 it is in libpthread, which only threaded programs bring.
 */
#if !defined(VGPU_STATIC) && defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
#pragma weak pthread_create
#endif

struct vg_gate {
	uint64_t *word;         /* in the window */
	uint64_t done;          /* what is in it */
	uint32_t pending;
	bool orphan;            /* the stream is destroyed; these say what its last command was */
	struct vg_ctx *ctx;
	uint64_t last;
	uint16_t stream;
};

struct job {
	struct job *next;
	struct vg_ctx *ctx;
	struct vgpu_timeline *tl;
	struct vg_gate *gate;
	uint64_t ticket, n;
	uint64_t handle;
	vg_host_fn fn;
	vg_host_callback cb;
	void *user;
};

#define GATE_BYTES 64u

static struct vg_lock lock;
static struct executor {
	struct job *head, **tail;
	uint32_t posted;        /* futex: counts jobs, and what others may wait for */
	uint32_t started, tid;
	struct vg_ctx *running; /* context of the job that runs now */
} executors[2] = { { .tail = &executors[0].head }, { .tail = &executors[1].head } };   /* the program's, the library's */

bool vg_on_executor(void)
{
	uint32_t me = (uint32_t)syscall(SYS_gettid);

	return executors[0].tid == me || executors[1].tid == me;
}

static void post(struct executor *x)
{
	__atomic_add_fetch(&x->posted, 1, __ATOMIC_RELEASE);
	vg_futex(&x->posted, FUTEX_WAKE_PRIVATE, 1, NULL);
}

uint32_t vg_host_runs;

bool vg_is_host(void)
{
	const struct vg_thread *t = vg_self;

	return t && t->in_host;
}

/* Lock held before; not after. */
static void put_gate(struct vg_gate *g)
{
	bool over = !g->pending && g->orphan;

	vg_unlock(&lock);
	if (!over)
		return;
	vg_defer(VG_DEFER_WINDOW, g->ctx, g->stream, g->last, g->word, GATE_BYTES);
	free(g);
}

/* First job that may run: next of its stream, and the stream got there (or never will). */
static struct job *take_ready(struct executor *x, unsigned *waiting, struct job *first)
{
	struct job **p, *j;

	*waiting = 0;
	for (p = &x->head; (j = *p) != NULL; p = &j->next) {
		if (j->n != j->gate->done + 1)
			continue;
		if (vgpu_timeline_reached(j->tl, j->ticket) || vg_ctx_error(j->ctx)) {
			*p = j->next;
			if (!*p)
				x->tail = p;
			return j;
		}
		if (!(*waiting)++)
			*first = *j;
	}
	return NULL;
}

static void call(struct job *j, uint32_t error)
{
	struct vg_thread *t = vg_thread();

	if (t)
		t->in_host = true;
	__atomic_store_n(&vg_host_runs, 1, __ATOMIC_RELAXED);
	if (j->cb)
		j->cb(j->handle, error, j->user);
	else if (!error)
		j->fn(j->user);
	__atomic_store_n(&vg_host_runs, 0, __ATOMIC_RELAXED);
	if (t)
		t->in_host = false;
}

static void run(const struct executor *x, struct job *j)
{
	uint32_t error = vg_ctx_error(j->ctx);

	if (x == &executors[0])
		call(j, error);
	else
		j->cb(j->handle, error, j->user);
	error = error ? error : vg_ctx_error(j->ctx);
	/* Release: what the function wrote comes before the stream goes on. Partner, for ThreadSanitizer: who finds work of the context done. */
	vg_order_release(j->ctx);
	vgpu_store_release64(j->gate->word, j->n);
	if (j->ctx->host_stream && !error)
		vg_submit(j->ctx->host_stream, VGPU_OP_NOP, NULL, NULL, 0);
	/* An owner's launch asks nobody whether it may; what runs here next may not. */
	vg_queue_give(&j->ctx->queue);
}

static void *executor(void *arg)
{
	struct executor *x = arg, *other = x == executors ? x + 1 : executors;

	x->tid = (uint32_t)syscall(SYS_gettid);
	for (;;) {
		uint32_t seen = __atomic_load_n(&x->posted, __ATOMIC_ACQUIRE);
		struct job first = { 0 }, *j;
		unsigned waiting;

		vg_lock(&lock);
		j = take_ready(x, &waiting, &first);
		x->running = j ? j->ctx : NULL;
		vg_unlock(&lock);
		if (j) {
			run(x, j);
			vg_lock(&lock);
			j->gate->done = j->n;
			j->gate->pending--;
			put_gate(j->gate);
			/* The context stays until nothing of it runs here, what is put off for it included. */
			vg_lock(&lock);
			x->running = NULL;
			vg_unlock(&lock);
			free(j);
			if (__atomic_load_n(&other->started, __ATOMIC_RELAXED))
				post(other);    /* the next of this stream may be there */
		} else if (!waiting) {
			vg_futex(&x->posted, FUTEX_WAIT_PRIVATE, seen, NULL);
		} else {
			/* Short slices: a new job, or another stream, may be ready before this one. */
			(void)vg_wait_timeline_for(first.ctx, first.tl, first.ticket, waiting == 1 ? 1000000 : 100000);
		}
	}
	return NULL;
}

static bool start(struct executor *x)
{
	uint64_t all = ~0ull, old;
	pthread_t t;
	bool ok = true;

	vg_lock(&lock);
	if (!x->started) {
#if !defined(VGPU_STATIC) && defined(__GLIBC__)
		ok = &pthread_create != NULL;
		if (!ok)
			vg_say("host functions need threads: link the program with -lpthread");
#endif
		/* The application's signals stay in the application's threads. */
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof all);
		ok = ok && pthread_create(&t, NULL, executor, x) == 0;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof old);
		__atomic_store_n(&x->started, ok, __ATOMIC_RELAXED);
	}
	vg_unlock(&lock);
	return ok;
}

static uint32_t prepare(struct vg_stream *s)
{
	struct vg_ctx *c = s->ctx;

	if (!c->host_stream) {
		struct vg_stream *h = NULL, *none = NULL;
		uint32_t status = vg_stream_create(c, 0, &h);

		if (status)
			return status;
		if (!__atomic_compare_exchange_n(&c->host_stream, &none, h, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			vg_stream_destroy(h);
	}
	if (!s->gate) {
		struct vg_gate *g = calloc(1, sizeof *g);

		if (!g)
			return VGPU_ST_OUT_OF_MEMORY;
		g->word = vg_window_alloc(GATE_BYTES, 64);
		if (!g->word) {
			free(g);
			return VGPU_ST_OUT_OF_MEMORY;
		}
		vgpu_store_release64(g->word, 0);
		s->gate = g;
	}
	return VGPU_ST_OK;
}

static uint32_t append(struct executor *x, struct vg_stream *s, uint64_t handle, vg_host_fn fn, vg_host_callback cb, void *user)
{
	struct vgpu_body_value b = { .bytes = 8, .compare = VGPU_COMPARE_GEQ };
	struct job *j = calloc(1, sizeof *j);
	uint32_t status;

	if (!j)
		return VGPU_ST_OUT_OF_MEMORY;
	if (!start(x)) {
		free(j);
		return VGPU_ST_NOT_SUPPORTED;
	}
	vg_lock(&s->host_lock);
	status = prepare(s);
	if (status) {
		vg_unlock(&s->host_lock);
		free(j);
		return status;
	}
	*j = (struct job){ NULL, s->ctx, s->tl, s->gate, vg_stream_mark(s), ++s->host_issued, handle, fn, cb, user };
	vg_lock(&lock);
	s->gate->pending++;
	*x->tail = j;
	x->tail = &j->next;
	vg_unlock(&lock);
	post(x);
	/* After the append: the submission may wait for a credit that only the executor can free. */
	b.addr = (uint64_t)(uintptr_t)s->gate->word;
	b.value = s->host_issued;
	vg_submit(s, VGPU_OP_WAIT_VALUE, &b, NULL, 0);
	vg_unlock(&s->host_lock);
	return VGPU_ST_OK;
}

uint32_t vg_host_call(struct vg_stream *s, uint64_t handle, vg_host_fn fn, vg_host_callback cb, void *user)
{
	return append(&executors[0], s, handle, fn, cb, user);
}

uint32_t vg_between(struct vg_stream *s, vg_host_callback cb, void *user)
{
	return append(&executors[1], s, 0, NULL, cb, user);
}

void vg_host_forget(struct vg_stream *s)
{
	struct vg_gate *g = s->gate;

	if (!g)
		return;
	vg_lock(&lock);
	g->orphan = true;
	g->ctx = s->ctx;
	g->stream = s->index;
	g->last = vg_stream_last(s);
	put_gate(g);
	s->gate = NULL;
}

void vg_host_drain(struct vg_ctx *c)
{
	if ((!executors[0].started && !executors[1].started) || vg_on_executor())
		return;
	for (unsigned turn = 0;; vg_backoff(turn++)) {
		bool busy = false;

		vg_lock(&lock);
		for (unsigned i = 0; i < 2; i++) {
			busy = busy || executors[i].running == c;
			for (struct job *j = executors[i].head; j && !busy; j = j->next)
				busy = j->ctx == c;
		}
		vg_unlock(&lock);
		if (!busy)
			return;
	}
}
