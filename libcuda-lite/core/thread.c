/* SPDX-License-Identifier: MIT */
/*
 * Per-thread state: the stack of current contexts and the thread's own default streams. Made at a
 * thread's first call that needs it.
 *
 * No destructor: that would need libpthread's keys, which old glibc keeps in a library of its own.
 * A record belongs to a thread id; records of ids that no longer exist are reused when new
 * threads come, so a program that starts thousands of threads keeps a bounded number.
 */
#include "core.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

VGPU_TLS_HERE(struct vg_thread *, vg_self_slot);

static struct vg_lock lock;
static struct vg_thread *threads;

static bool gone(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

/* Called with the lock held. */
static void clear(struct vg_thread *t)
{
	for (uint32_t i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		struct vg_stream *s = vg_get(VG_STREAM, t->stream[i]);

		if (s)
			vg_stream_destroy(s);
		t->stream[i] = 0;
	}
	t->ctx = NULL;
	t->ctx_handle = 0;
	t->green = 0;
	t->depth = 0;
	t->capture_mode = 0;
	t->tid = 0;
}

struct vg_thread *vg_thread_make(void)
{
	uint32_t me = (uint32_t)syscall(SYS_gettid);
	struct vg_thread *t, *unused = NULL;

	vg_lock(&lock);
	for (t = threads; t; t = t->next) {
		if (t->tid == me || (t->tid && gone(t->tid)))
			clear(t);
		if (!t->tid && !unused)
			unused = t;
	}
	t = unused;
	if (!t && (t = calloc(1, sizeof *t)) != NULL) {
		t->next = threads;
		threads = t;
	}
	if (t)
		t->tid = me;
	vg_unlock(&lock);
	vg_self = t;
	return t;
}

void vg_thread_sweep(void)
{
	vg_lock(&lock);
	for (struct vg_thread *t = threads; t; t = t->next)
		if (t->tid && gone(t->tid))
			clear(t);
	vg_unlock(&lock);
}

void vg_thread_set(struct vg_thread *t, struct vg_ctx *c)
{
	t->ctx = c;
	t->ctx_handle = c ? c->handle : 0;
}
