/* SPDX-License-Identifier: MIT */
/*
 * The gate of a context's mmap calls: its seccomp filter sends every mmap of a file here (user
 * notification), and the thread waits until we say yes or no.
 *
 * Yes only to exactly the MAP sent last (from CTX_AT_MAP, where we put the file at that moment), or to its
 * own physical memory (CTX_AT_PHYS) at an address of its device span. A mapping of one page could otherwise be
 * made again over all of the file, which behind QEMU is all guest RAM. Anything else is refused, and the
 * context killed: an honest one never asks.
 *
 * "Yes" lets the call go on with the arguments we saw: they are registers, not memory, and the filter
 * forbids close and dup, so that an fd number means what we think it does.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stub.h"

#if defined(__x86_64__)
#define GUARD_ARCH AUDIT_ARCH_X86_64
#else
#error "no seccomp architecture number for this machine"
#endif

int ctxguard_is_listener(int fd)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = 0;
	return !strcmp(link, "anon_inode:seccomp notify");
}

static int inside(uint64_t addr, uint64_t bytes, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base <= size && bytes <= size - (addr - base);
}

/* Gives the file of the MAP to the context, at the number that its call names. */
static int place_file(struct context *c, uint64_t id, int fd)
{
	struct seccomp_notif_addfd add = { .id = id, .flags = SECCOMP_ADDFD_FLAG_SETFD,
					   .srcfd = (uint32_t)fd, .newfd = CTX_AT_MAP };

	return ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) == CTX_AT_MAP;
}

static int allowed(struct context *c, const struct seccomp_notif *n)
{
	const struct seccomp_data *s = &n->data;
	uint64_t addr = s->args[0], bytes = s->args[1], offset = s->args[5];
	uint64_t device = c->create.device_base + VGPU_ARENA_BYTES;
	const struct ctx_piece *p;

	if (s->arch != GUARD_ARCH || s->nr != SYS_mmap)
		return 0;
	if (s->args[2] != (PROT_READ | PROT_WRITE) ||
	    (s->args[3] & ~(uint64_t)(MAP_POPULATE | MAP_NORESERVE)) != (MAP_SHARED | MAP_FIXED))
		return 0;
	if ((int)s->args[4] == CTX_AT_PHYS) {
		if (!inside(addr, bytes, device, VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES) || !inside(offset, bytes, 0, VGPU_PHYS_SPAN))
			return 0;
		ctxgrant_maps(c, bytes);
		return 1;
	}
	if ((int)s->args[4] != CTX_AT_MAP || !c->map_allowed || c->map_done || c->next_piece >= c->npieces)
		return 0;
	p = &c->pieces[c->next_piece];
	if (addr != p->va || bytes != p->bytes || offset != p->offset || !place_file(c, n->id, p->file->fd))
		return 0;
	c->map_done = 1;        /* once: its ACK may be read after a second call */
	return 1;
}

void ctxguard_ready(struct context *c)
{
	/* The kernel's struct may be longer than the header's; it checks that the buffer is zeroed. */
	static union {
		struct seccomp_notif n;
		char room[1024];
	} u;
	struct seccomp_notif_resp resp;
	struct pollfd p = { .fd = c->listener, .events = POLLIN };
	int ok;

	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLIN)) {
		if (p.revents & (POLLHUP | POLLERR))
			loop_remove(&c->listen_src);    /* no task is left under the filter */
		return;
	}
	memset(&u, 0, sizeof(u));
	if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_RECV, &u.n))
		return;                         /* ENOENT: the caller died meanwhile */
	ok = allowed(c, &u.n);
	if (c->state != CTX_RUNNING && c->listener < 0)
		return;                         /* killed for what it has mapped: there is nobody to answer */
	if (!ok && ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &u.n.id))
		return;                         /* it died while it asked: nothing to blame it for */
	memset(&resp, 0, sizeof(resp));
	resp.id = u.n.id;
	if (ok)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		resp.error = -EPERM;
	if (!ok) {
		log_line("context %u asked for a mapping that it was not given (call %d, va 0x%llx, %llu bytes): killed",
			 c->qid, u.n.data.nr, (unsigned long long)u.n.data.args[0],
			 (unsigned long long)u.n.data.args[1]);
		ctxproc_kill(c, VGPU_ST_PROTOCOL);      /* before the answer: it never runs again */
		return;
	}
	if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) && errno != ENOENT)
		log_line("context %u: seccomp answer failed: %s", c->qid, strerror(errno));
}
