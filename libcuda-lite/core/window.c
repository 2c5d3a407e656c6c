/* SPDX-License-Identifier: MIT */
/*
 * The window heap: memory that this process, the agent and the device all see. Pinned and managed
 * memory, event records, gates of host functions and scratch of control calls come from here.
 *
 * The agent hands out segments (WINDOW_GROW, 2 MiB and up, zeroed), which are mapped at their place
 * in the span and never given back; inside them this is an extent allocator whose bookkeeping is
 * private, so nothing a device writes can mislead it.
 *
 * A second heap of the same kind has pages that are this process's own (WINDOW_OWN): registered memory (adopt.c). A third one is
 * for what other processes may open (share.c), so that they see nothing else of this one.
 */
#include "core.h"
#include "lent.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN_MIN 64u

static struct vg_lock lock;
static struct heap {
	struct vg_extents free;
	uint64_t mapped;        /* of all segments behind segment 0 */
	uint32_t grow;          /* the message that asks for more */
} heap = { .grow = VGPU_MSG_WINDOW_GROW }, own = { .grow = VGPU_MSG_WINDOW_OWN }, shared = { .grow = VGPU_MSG_WINDOW_OWN };
static uint64_t opened;         /* bytes of whole segments, ours and others' (vg_window_own, vg_window_open) */

/* What others see too (lent.c): parts of their files that are segments. */
static struct part {
	struct vg_lent file;
	uint64_t bytes, at;
} *parts;
static uint32_t nparts;

/* Lock held. Maps a segment that the agent gave at its place: NULL: it cannot be. fd is closed, unless it is kept. */
static void *map_segment(const struct vgpu_msg_grow_r *r, int fd, uint64_t offset, bool keep)
{
	void *want = (void *)(uintptr_t)(vg.span + r->offset), *p = NULL;

	if (!(r->offset % VGPU_HUGE) && r->offset >= VGPU_SEG0_BYTES && r->offset <= vg.window_span &&
	    r->bytes <= vg.window_span - r->offset)
		p = mmap(want, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
	if (p == want)
		vg_holes_watch(fd, p, r->bytes);
	if (p != want || !keep)
		close(fd);
	if (p != want)
		return NULL;
	madvise(p, r->bytes, MADV_DONTFORK);
	return p;
}

/* Lock held. Segments come one behind the other and stay: what a small span cannot hold is not asked for. */
static bool room(uint64_t bytes)
{
	uint64_t have = VGPU_SEG0_BYTES + heap.mapped + own.mapped + shared.mapped + opened;

	return have <= vg.window_span && bytes <= vg.window_span - have;
}

/* Lock held. Maps one more segment of at least `bytes`. */
static bool window_grow(struct heap *h, uint64_t bytes)
{
	struct vgpu_msg_grow m = { .h = { h->grow, 0 } };
	struct vgpu_msg_grow_r r;
	int fd = -1;
	void *p;

	bytes = (bytes + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	/* The number of segments is limited: a window that grows does so by a quarter at a time. */
	m.bytes = (h->mapped / 4 + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	if (m.bytes < bytes || !room(m.bytes))
		m.bytes = bytes;
	if (!room(bytes))
		return false;
	while (vg_request(&m, sizeof m, &r, sizeof r, &fd, 1)) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		if (m.bytes == bytes)
			return false;
		m.bytes = bytes;        /* near the quota: only what is needed now */
	}
	if (r.bytes < m.bytes) {
		close(fd);
		return false;
	}
	p = map_segment(&r, fd, 0, false);
	if (!p)
		return false;
	h->mapped += r.bytes;
	/* A page of it is never used: nothing of the process's own lies in two segments, which are two mappings. */
	return vg_extents_give(&h->free, (uint64_t)(uintptr_t)p, r.bytes - (h == &heap ? 0 : VGPU_PAGE));
}

void *vg_window_alloc(uint64_t bytes, uint64_t align)
{
	uint64_t at = 0;
	bool ok;

	if (!bytes || bytes > vg.window_span / 2)
		return NULL;
	bytes = (bytes + ALIGN_MIN - 1) & ~(uint64_t)(ALIGN_MIN - 1);
	if (align < ALIGN_MIN)
		align = ALIGN_MIN;
	vg_lock(&lock);
	ok = vg_extents_take(&heap.free, bytes, align, &at);
	/* Segments start at 2 MiB boundaries; only a larger alignment needs more than the bytes. */
	if (!ok && window_grow(&heap, bytes + (align > VGPU_HUGE ? align : 0)))
		ok = vg_extents_take(&heap.free, bytes, align, &at);
	vg_unlock(&lock);
	return ok ? (void *)(uintptr_t)at : NULL;
}

uint64_t vg_window_bytes(void)
{
	return heap.mapped + own.mapped + shared.mapped + opened;
}

/* Room on both sides, where it can be had, for neighbours that share a page with what will lie here. */
#define SLACK (16 * VGPU_PAGE)

bool vg_pages_take(uint64_t bytes, uint64_t *at)
{
	bool ok;

	if (bytes > vg.window_span / 2)
		return false;
	vg_lock(&lock);
	ok = vg_extents_take(&own.free, bytes + 2 * SLACK, VGPU_PAGE, at) ||
	     (window_grow(&own, bytes + 2 * SLACK + VGPU_PAGE) && vg_extents_take(&own.free, bytes + 2 * SLACK, VGPU_PAGE, at));
	if (ok) {
		(void)vg_extents_give(&own.free, *at, SLACK);
		(void)vg_extents_give(&own.free, *at + SLACK + bytes, SLACK);
		*at += SLACK;
	} else {
		ok = vg_extents_take(&own.free, bytes, VGPU_PAGE, at) ||
		     (window_grow(&own, bytes + VGPU_PAGE) && vg_extents_take(&own.free, bytes, VGPU_PAGE, at));
	}
	vg_unlock(&lock);
	return ok;
}

bool vg_shared_take(uint64_t bytes, uint64_t *at)
{
	bool ok;

	if (!bytes || bytes > vg.window_span / 2)
		return false;
	bytes = (bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	vg_lock(&lock);
	ok = vg_extents_take(&shared.free, bytes, VGPU_PAGE, at) ||
	     (window_grow(&shared, bytes + VGPU_PAGE) && vg_extents_take(&shared.free, bytes, VGPU_PAGE, at));
	vg_unlock(&lock);
	return ok;
}

void vg_shared_give(uint64_t at, uint64_t bytes)
{
	if (!vg_in_window(at))
		return;
	vg_lock(&lock);
	(void)vg_extents_give(&shared.free, at, (bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1));
	vg_unlock(&lock);
}

uint32_t vg_window_own(uint64_t bytes, uint64_t *at, int *fd)
{
	struct vgpu_msg_grow m = { .h = { VGPU_MSG_WINDOW_OWN, 0 }, .bytes = bytes };
	struct vgpu_msg_grow_r r;
	uint32_t status;
	void *p;

	*fd = -1;
	vg_lock(&lock);
	status = room(bytes) ? vg_request(&m, sizeof m, &r, sizeof r, fd, 1) : VGPU_ST_OUT_OF_MEMORY;
	p = status ? NULL : map_segment(&r, *fd, 0, true);
	if (p) {
		opened += r.bytes;
		*at = (uint64_t)(uintptr_t)p;
	}
	vg_unlock(&lock);
	return status ? status : p ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
}

uint32_t vg_window_open(const uint8_t token[16], uint64_t *at, uint64_t *bytes)
{
	struct vgpu_msg_token m = { .h = { VGPU_MSG_SHARED_OPEN, 0 } };
	struct vgpu_msg_grow_r r;
	uint32_t status;
	int fd = -1;
	void *p;

	for (int i = 0; i < 16; i++)
		m.token[i] = token[i];
	vg_lock(&lock);
	status = vg_request(&m, sizeof m, &r, sizeof r, &fd, 1);
	p = status ? NULL : map_segment(&r, fd, 0, false);
	if (p) {
		opened += r.bytes;
		*at = (uint64_t)(uintptr_t)p;
		*bytes = r.bytes;
	}
	vg_unlock(&lock);
	return status ? status : p ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
}

bool vg_window_lent(const struct vg_lent *l, uint64_t bytes, uint64_t *at)
{
	uint32_t i;

	vg_lock(&lock);
	for (i = 0; i < nparts; i++) {
		const struct part *p = &parts[i];

		if (p->file.dev == l->dev && p->file.inode == l->inode && l->offset >= p->file.offset &&
		    l->offset - p->file.offset < p->bytes && bytes <= p->bytes - (l->offset - p->file.offset))
			break;
	}
	if (i < nparts)
		*at = parts[i].at + (l->offset - parts[i].file.offset);
	vg_unlock(&lock);
	return i < nparts;
}

uint32_t vg_window_lend(int fd, const struct vg_lent *l, uint64_t bytes, uint64_t *at)
{
	struct vgpu_msg_lent m = { .h = { VGPU_MSG_WINDOW_LENT, 0 }, .offset = l->offset, .bytes = bytes };
	struct vgpu_msg_grow_r r;
	uint32_t status = VGPU_ST_OUT_OF_MEMORY;
	struct part *more;
	void *p = NULL;

	vg_lock(&lock);
	more = room(bytes) ? realloc(parts, (nparts + 1) * sizeof *parts) : NULL;
	if (more) {
		parts = more;
		status = vg_request_lending(&m, sizeof m, &r, sizeof r, fd);
	}
	if (!status && r.bytes == bytes)
		p = map_segment(&r, fd, l->offset, true);
	if (p) {
		*at = (uint64_t)(uintptr_t)p;
		parts[nparts++] = (struct part){ *l, bytes, *at };
		opened += (bytes + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	}
	vg_unlock(&lock);
	return status ? status : p ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
}

bool vg_pages_take_at(uint64_t at, uint64_t bytes)
{
	bool ok;

	vg_lock(&lock);
	ok = vg_extents_take_at(&own.free, at, bytes);
	vg_unlock(&lock);
	return ok;
}

void vg_pages_give(uint64_t at, uint64_t bytes)
{
	if (!vg_in_window(at))
		return;
	vg_lock(&lock);
	(void)vg_extents_give(&own.free, at, bytes);
	vg_unlock(&lock);
}

void vg_window_forget(void)
{
	vg_lock(&lock);
	heap.free.n = own.free.n = shared.free.n = 0;
	heap.mapped = own.mapped = shared.mapped = opened = 0;
	nparts = 0;
	vg_unlock(&lock);
}

void vg_window_free(void *p, uint64_t bytes)
{
	/* not of this session's window: what a session that is over has left */
	if (!p || !vg_in_window((uint64_t)(uintptr_t)p))
		return;
	bytes = (bytes + ALIGN_MIN - 1) & ~(uint64_t)(ALIGN_MIN - 1);
	vg_lock(&lock);
	/* Fails only when the bookkeeping cannot grow: the bytes are then lost, nothing is wrong. */
	(void)vg_extents_give(&heap.free, (uint64_t)(uintptr_t)p, bytes);
	vg_unlock(&lock);
}
