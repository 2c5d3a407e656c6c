/* SPDX-License-Identifier: MIT */
/*
 * Device memory between processes. A context's device memory is private to its process, so what is exported moves: its bytes go
 * to pages of the window that can be shared, and the context maps these at the old address (MAP_AT). A process that opens it has
 * the segment in its own window, and the address there is its device pointer.
 *
 * What the context has mapped like that it keeps until it ends: an exported allocation that is freed waits for the next one of
 * its size. Opened segments likewise stay, and are found again by their token.
 *
 * Physical memory with a shareable handle is a segment of its own: the handle is its file, and behind the memory, in pages that
 * nothing maps, the file says the token by which the agent knows it.
 */
#include "share.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct vg_lock lock;
static struct segment {
	struct segment *next;
	uint8_t token[16];
	uint64_t at, bytes;
	bool own;
} *segments;
static struct freed {
	struct freed *next;
	struct vg_mem m;
} *freed;

/* Lock held. */
static struct segment *remember(const uint8_t *token, uint64_t at, uint64_t bytes, bool own)
{
	struct segment *s = malloc(sizeof *s);

	if (!s)
		return NULL;
	*s = (struct segment){ .next = segments, .at = at, .bytes = bytes, .own = own };
	memcpy(s->token, token, sizeof s->token);
	segments = s;
	return s;
}

uint32_t vg_share_name(uint64_t addr, uint64_t bytes, struct vg_share_name *n)
{
	struct vgpu_msg_grow m = { .h = { VGPU_MSG_SHARE, 0 }, .bytes = addr - vg.span };
	struct vgpu_msg_share_r r;
	uint32_t status = VGPU_ST_OK;
	struct segment *s;

	vg_lock(&lock);
	for (s = segments; s && !(s->own && addr - s->at < s->bytes); s = s->next)
		;
	if (!s) {
		status = vg_request(&m, sizeof m, &r, sizeof r, NULL, 0);
		if (!status && !(s = remember(r.token, vg.span + r.offset, r.bytes, true)))
			status = VGPU_ST_OUT_OF_MEMORY;
	}
	if (!status) {
		memcpy(n->token, s->token, sizeof n->token);
		n->at = addr - s->at;
		n->bytes = bytes;
	}
	vg_unlock(&lock);
	return status;
}

uint32_t vg_share_open(const struct vg_share_name *n, uint64_t *addr)
{
	uint32_t status = VGPU_ST_OK;
	uint64_t at, bytes;
	struct segment *s;

	vg_lock(&lock);
	for (s = segments; s && memcmp(s->token, n->token, sizeof s->token); s = s->next)
		;
	if (!s) {
		status = vg_window_open(n->token, &at, &bytes);
		if (!status && !(s = remember(n->token, at, bytes, false)))
			status = VGPU_ST_OUT_OF_MEMORY;
	}
	if (!status && (!n->bytes || n->at > s->bytes || n->bytes > s->bytes - n->at))
		status = VGPU_ST_INVALID;
	if (!status) {
		*addr = s->at + n->at;
		status = s->own ? VGPU_ST_BUSY : VGPU_ST_OK;
	}
	vg_unlock(&lock);
	return status;
}

/* ---- physical memory as a file ---- */

#define TAIL_MAGIC 0x50494756u

struct tail {
	uint32_t magic, rsvd;
	struct vg_share_name name;
};

static struct spare {
	struct spare *next;
	uint64_t at, bytes;
	int fd;
} *spares;

uint32_t vg_share_create(uint64_t bytes, uint64_t *at, int *fd)
{
	struct spare **p, *s;
	struct tail t = { .magic = TAIL_MAGIC };
	uint32_t status;

	vg_lock(&lock);
	for (p = &spares; *p && (*p)->bytes != bytes; p = &(*p)->next)
		;
	s = *p;
	if (s)
		*p = s->next;
	vg_unlock(&lock);
	if (s) {
		*at = s->at;
		*fd = s->fd;
		free(s);
		return VGPU_ST_OK;
	}
	status = vg_window_own(bytes + VGPU_HUGE, at, fd);
	if (status)
		return status;
	status = vg_share_name(*at, bytes, &t.name);
	if (status)
		close(*fd);
	else
		memcpy((void *)(uintptr_t)(*at + bytes), &t, sizeof t);
	return status;
}

void vg_share_destroy(uint64_t at, uint64_t bytes, int fd)
{
	struct spare *s = malloc(sizeof *s);

	if (!s) {
		close(fd);
		return;
	}
	vg_lock(&lock);
	*s = (struct spare){ spares, at, bytes, fd };
	spares = s;
	vg_unlock(&lock);
}

uint32_t vg_share_import(int fd, uint64_t *at, uint64_t *bytes)
{
	struct stat st;
	struct tail t;
	uint32_t status;

	if (syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)(2 * VGPU_HUGE) || st.st_size % (off_t)VGPU_HUGE ||
	    pread(fd, &t, sizeof t, st.st_size - (off_t)VGPU_HUGE) != (ssize_t)sizeof t || t.magic != TAIL_MAGIC || t.name.at ||
	    t.name.bytes != (uint64_t)st.st_size - VGPU_HUGE)
		return VGPU_ST_INVALID;
	status = vg_share_open(&t.name, at);
	*bytes = t.name.bytes;
	return status == VGPU_ST_BUSY ? VGPU_ST_OK : status;    /* of this very process */
}

uint32_t vg_share_map(struct vg_ctx *c, uint64_t va, uint64_t at, uint64_t bytes)
{
	struct vgpu_msg_map_at q = { .h = { VGPU_MSG_MAP_AT, 0 }, .context = c->number, .offset = at - vg.span, .bytes = bytes, .va = va };
	struct vgpu_msg_status r;

	return vg_request(&q, sizeof q, &r, sizeof r, NULL, 0);
}

static uint32_t copy(struct vg_ctx *c, uint64_t to, uint64_t from, uint64_t bytes)
{
	struct vg_copy k = { .dst = to, .src = from, .width = bytes, .height = 1, .depth = 1 };

	return vg_copy(c->legacy, &k, false);
}

uint32_t vg_share_memory(struct vg_mem *m)
{
	uint64_t at;
	uint32_t status;

	if (!vg_shared_take(m->mapped_bytes, &at))
		return VGPU_ST_OUT_OF_MEMORY;
	status = copy(m->ctx, at, m->start, m->mapped_bytes);
	if (!status)
		status = vg_ctl(m->ctx, VGPU_OP_MEM_FREE, 0, m->start, m->mapped_bytes, 0, NULL);
	if (status) {
		vg_shared_give(at, m->mapped_bytes);
		return status;
	}
	status = vg_share_map(m->ctx, m->start, at, m->mapped_bytes);
	if (status) {
		/* As it was. Where even that fails the context has lost memory of its program: it is over. */
		uint32_t back = vg_ctl(m->ctx, VGPU_OP_MEM_ALLOC, 0, m->start, m->mapped_bytes, m->bytes, NULL);

		if (!back)
			back = copy(m->ctx, m->start, at, m->mapped_bytes);
		if (back)
			__atomic_store_n(&m->ctx->error, VGPU_ST_INTERNAL, __ATOMIC_RELEASE);
		vg_shared_give(at, m->mapped_bytes);
		return status;
	}
	__atomic_sub_fetch(&vg_committed, m->mapped_bytes, __ATOMIC_RELAXED);
	m->flags |= VG_MEM_IS_SHARED;
	m->other = at;
	return VGPU_ST_OK;
}

void vg_share_keep(const struct vg_mem *m)
{
	struct freed *f = malloc(sizeof *f);

	if (!f)
		return;         /* its address and its pages are lost, nothing is wrong */
	f->m = *m;
	vg_lock(&lock);
	f->next = freed;
	freed = f;
	vg_unlock(&lock);
}

bool vg_share_again(struct vg_ctx *c, uint64_t mapped, struct vg_mem *m)
{
	struct freed **p, *f = NULL;

	if (!__atomic_load_n(&freed, __ATOMIC_RELAXED))
		return false;
	vg_lock(&lock);
	for (p = &freed; *p && ((*p)->m.ctx != c || (*p)->m.mapped_bytes != mapped); p = &(*p)->next)
		;
	if (*p) {
		f = *p;
		*p = f->next;
	}
	vg_unlock(&lock);
	if (!f)
		return false;
	*m = f->m;
	free(f);
	return true;
}

void vg_share_drop_ctx(struct vg_ctx *c)
{
	struct vg_mem m;
	struct freed **p, *f;

	do {
		vg_lock(&lock);
		for (p = &freed; *p && (*p)->m.ctx != c; p = &(*p)->next)
			;
		f = *p;
		if (f)
			*p = f->next;
		vg_unlock(&lock);
		if (f) {
			m = f->m;
			free(f);
			vg_mem_forget(&m);
		}
	} while (f);
}

void vg_share_forget(void)
{
	struct segment *s;
	struct spare *f;

	vg_lock(&lock);
	while ((s = segments)) {
		segments = s->next;
		free(s);
	}
	while ((f = spares)) {
		spares = f->next;
		close(f->fd);
		free(f);
	}
	vg_unlock(&lock);
}
