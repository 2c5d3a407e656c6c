/* SPDX-License-Identifier: MIT */
/*
 * Things that can be given back only when a stream has come to a ticket: memory freed in stream
 * order, window blocks that a queued copy still reads, records of destroyed events. Reaped by
 * allocations and synchronizations; no thread of its own.
 */
#include "core.h"

#include <stdlib.h>

struct deferred {
	struct deferred *next;
	enum vg_deferred_kind kind;
	struct vg_ctx *ctx;
	uint16_t stream;
	uint64_t ticket;
	void *p;                /* window block, or struct vg_mem (taken out of the table) */
	uint64_t bytes;
};

static struct vg_lock lock;
static struct deferred *head, **tail = &head;
static uint32_t count;

static void finish(struct deferred *d, bool ctx_gone)
{
	switch (d->kind) {
	case VG_DEFER_WINDOW:
	case VG_DEFER_EVENT:
		vg_window_free(d->p, d->bytes);
		break;
	case VG_DEFER_MEM:
		if (ctx_gone)
			vg_mem_forget(d->p);
		else
			(void)vg_mem_release(d->p);
		free(d->p);
		break;
	}
	free(d);
}

void vg_defer(enum vg_deferred_kind kind, struct vg_ctx *c, uint16_t stream, uint64_t ticket, void *p,
	      uint64_t bytes)
{
	struct deferred *d = malloc(sizeof *d);

	if (!d) {
		/* No room to remember it: wait now. */
		(void)vg_wait_timeline(c, &c->timelines[stream], ticket);
		if (kind == VG_DEFER_MEM) {
			(void)vg_mem_release(p);
			free(p);
		} else {
			vg_window_free(p, bytes);
		}
		return;
	}
	*d = (struct deferred){ NULL, kind, c, stream, ticket, p, bytes };
	vg_lock(&lock);
	*tail = d;
	tail = &d->next;
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	vg_unlock(&lock);
}

/* Takes out everything that pred says; the list keeps its order. */
static struct deferred *split(bool (*pred)(const struct deferred *, const void *), const void *arg)
{
	struct deferred *out = NULL, **p;

	vg_lock(&lock);
	for (p = &head; *p;) {
		struct deferred *d = *p;

		if (!pred(d, arg)) {
			p = &d->next;
			continue;
		}
		*p = d->next;
		d->next = out;
		out = d;
		__atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED);
	}
	tail = p;
	vg_unlock(&lock);
	return out;
}

static bool is_done(const struct deferred *d, const void *arg)
{
	(void)arg;
	/* A failed context runs nothing any more, but its memory goes only with it. */
	return vgpu_timeline_reached(&d->ctx->timelines[d->stream], d->ticket) && !vg_ctx_error(d->ctx);
}

static bool is_of(const struct deferred *d, const void *arg)
{
	return d->ctx == arg;
}

void vg_deferred_reap(void)
{
	struct deferred *d;

	if (!__atomic_load_n(&count, __ATOMIC_RELAXED))
		return;
	d = split(is_done, NULL);
	while (d) {
		struct deferred *next = d->next;

		finish(d, false);
		d = next;
	}
}

bool vg_deferred_wait(void)
{
	struct vg_ctx *c = NULL;
	uint16_t stream = 0;
	uint64_t ticket = 0;

	vg_lock(&lock);
	for (struct deferred *d = head; d && !c; d = d->next)
		if (d->kind == VG_DEFER_MEM && !vg_ctx_error(d->ctx)) {
			c = d->ctx;
			stream = d->stream;
			ticket = d->ticket;
		}
	vg_unlock(&lock);
	if (!c)
		return vg_pools_spare();
	if (vg_wait_timeline(c, &c->timelines[stream], ticket))
		return false;
	vg_deferred_reap();
	return true;
}

void vg_deferred_drop_ctx(struct vg_ctx *c)
{
	struct deferred *d = split(is_of, c);

	while (d) {
		struct deferred *next = d->next;

		finish(d, true);
		d = next;
	}
}
