/* SPDX-License-Identifier: MIT */
/*
 * See share.h. Only memory that a process filled itself (WINDOW_OWN) is shared: it is charged to all who have it, and taken back
 * when the last of them has gone. A token is 16 random bytes; it is good for processes of the same user in the same container,
 * while a client that has the segment is connected.
 */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"

static uint64_t last_file;

void share_made(struct client *c, unsigned s)
{
	c->share[s].file = ++last_file;
	c->share[s].told = 0;
}

static int random_bytes(void *to, size_t n)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/urandom", O_RDONLY | O_CLOEXEC);     /* as the filter has it */
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, to, n);
	close(fd);
	return got == (ssize_t)n ? 0 : -EIO;
}

/* The segment of that kind in which [offset, offset + bytes) lies. */
static int holder(const struct client *c, uint64_t offset, uint64_t bytes)
{
	for (unsigned s = 0; s < c->segs; s++)
		if (c->share[s].file && offset >= c->seg_offset[s] && offset - c->seg_offset[s] < c->seg[s].bytes &&
		    bytes <= c->seg[s].bytes - (offset - c->seg_offset[s]))
			return (int)s;
	return -1;
}

void share_ask(struct client *c, const struct vgpu_msg_grow *m)
{
	struct vgpu_msg_share_r r = { .status = VGPU_ST_NOT_FOUND };
	int s = holder(c, m->bytes, 1);

	if (s >= 0 && !c->share[s].told && random_bytes(c->share[s].token, sizeof(r.token)) < 0) {
		r.status = VGPU_ST_NOT_SUPPORTED;
	} else if (s >= 0) {
		c->share[s].told = 1;
		r.status = VGPU_ST_OK;
		memcpy(r.token, c->share[s].token, sizeof(r.token));
		r.offset = c->seg_offset[s];
		r.bytes = c->seg[s].bytes;
	}
	answer_send(c, &r, sizeof(r), VGPU_MSG_SHARE, NULL, 0);
}

struct pool_mem *share_find(const struct client *c, const uint8_t *token, struct client **owner, unsigned *at)
{
	for (struct client *o = NULL; (o = client_after(o));) {
		if (o->leaving || o->uid != c->uid || o->tenant[TENANT_CONTAINER] != c->tenant[TENANT_CONTAINER])
			continue;
		for (unsigned s = 0; s < o->segs; s++)
			if (o->share[s].told && !memcmp(o->share[s].token, token, sizeof(o->share[s].token))) {
				*owner = o;
				*at = s;
				return &o->seg[s];
			}
	}
	return NULL;
}

int share_open(struct client *c, unsigned s)
{
	struct client *o;
	unsigned at;
	struct pool_mem *from = share_find(c, c->ask_token, &o, &at);
	int fd = from ? fcntl(from->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd < 0)
		return from ? -errno : -ENOENT;
	c->seg[s] = *from;
	c->seg[s].fd = fd;
	c->share[s] = o->share[at];     /* who has it can pass it on */
	return 0;
}

int share_elsewhere(const struct client *c, unsigned s)
{
	for (const struct client *o = NULL; (o = client_after(o));)
		for (unsigned k = 0; o != c && k < o->segs; k++)
			if (c->share[s].file && o->share[k].file == c->share[s].file && o->seg[k].fd >= 0)
				return 1;
	return 0;
}

uint32_t share_map_begin(struct client *c, const struct vgpu_msg_map_at *m)
{
	struct context *x = &c->ctx[m->context % VGPU_MAX_CONTEXTS];
	uint64_t base;

	if (m->context >= VGPU_MAX_CONTEXTS || x->state != CONTEXT_LIVE)
		return VGPU_ST_BAD_HANDLE;
	base = x->env.device_base + VGPU_ARENA_BYTES;
	if (!m->bytes || (m->offset | m->bytes | m->va) % VGPU_PAGE || holder(c, m->offset, m->bytes) < 0 || m->va < base ||
	    m->va - base >= VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES ||
	    m->bytes > VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES - (m->va - base))
		return VGPU_ST_INVALID;
	c->ask_map = *m;
	x->map = MAP_WANTED;
	return VGPU_ST_OK;
}
