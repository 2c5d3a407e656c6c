/* SPDX-License-Identifier: MIT */
/*
 * A client of vgpu-agent with nothing but the contract (vgpu_client.h): tests speak to the agent
 * through it where libcuda-lite would get in the way. Every call waits at most a few seconds.
 */
#ifndef AGENT_RAW_H
#define AGENT_RAW_H

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "vgpu_client.h"
#include "vgpu_fence.h"

struct raw {
	int sock, fds[VGPU_HELLO_FDS], asym;
	uint8_t *seg0;
	const struct vgpu_agent_page *page;
	uint64_t span;
	uint64_t ctl_tail, io_tail[VGPU_MAX_CONTEXTS];
	struct vgpu_msg_hello_r hello;
};

static inline uint64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline int raw_send(struct raw *r, void *msg, unsigned type, size_t bytes)
{
	struct vgpu_msg_header h = { type, (uint32_t)bytes };

	memcpy(msg, &h, sizeof(h));
	return send(r->sock, msg, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? 0 : -errno;
}

/* How long a call may take. Attackers do not wait long; who wants the answer gives a busy machine its time. */
static unsigned raw_ctl_ms = 5000;

/* One answer; fds that come with it go to `fds` (room for nfds). Bytes, 0 at the end, -errno. */
static inline int raw_recv(struct raw *r, void *msg, size_t bytes, int *fds, int nfds)
{
	union { struct cmsghdr a; char room[CMSG_SPACE(16 * sizeof(int))]; } c;
	struct iovec iov = { msg, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof(c.room) };
	struct pollfd p = { .fd = r->sock, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, 60000) <= 0)
		return -ETIMEDOUT;
	n = recvmsg(r->sock, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); n && h; h = CMSG_NXTHDR(&m, h)) {
		int got = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		for (int i = 0; i < got; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + (size_t)i * sizeof(int), sizeof(int));
			if (i < nfds)
				fds[i] = fd;
			else
				close(fd);
		}
	}
	return (int)n;
}

/* The agent's last word, with its reason, and then the end; who never had a window hears the end alone. 1, or 0 with what came. */
static inline int raw_dropped(struct raw *r, int had_window)
{
	struct vgpu_msg_bye m;
	int n = had_window ? raw_recv(r, &m, sizeof(m), NULL, 0) : 0;

	if (had_window && (n != sizeof(m) || m.h.type != VGPU_MSG_BYE || !m.status || !m.text[0] || !memchr(m.text, 0, sizeof(m.text)))) {
		printf("no farewell: %d\n", n);
		return 0;
	}
	n = raw_recv(r, &m, sizeof(m), NULL, 0);
	if (n)
		printf("no end: %d\n", n);
	return !n;
}

static inline int raw_connect(struct raw *r, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memset(r, 0, sizeof(*r));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	r->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return connect(r->sock, (struct sockaddr *)&a, sizeof(a)) == 0 ? 0 : -errno;
}

/* Connection and HELLO. 0, a status > 0, or -errno. */
static inline int raw_open(struct raw *r, const char *path, uint64_t span, uint64_t features)
{
	struct vgpu_msg_hello m = { .magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION,
				    .features = features, .span_base = span, .command = "raw" };
	int rc = raw_connect(r, path);

	if (rc < 0)
		return rc;
	for (int i = 0; i < VGPU_HELLO_FDS; i++)
		r->fds[i] = -1;
	if ((features & VGPU_FEATURE_ASYM_FENCE) && vgpu_asym_register() < 0)
		return -errno;
	if ((rc = raw_send(r, &m, VGPU_MSG_HELLO, sizeof(m))) < 0)
		return rc;
	rc = raw_recv(r, &r->hello, sizeof(r->hello), r->fds, VGPU_HELLO_FDS);
	if (rc != sizeof(r->hello))
		return rc < 0 ? rc : -EPROTO;
	if (r->hello.status)
		return (int)r->hello.status;
	r->asym = (r->hello.features & VGPU_FEATURE_ASYM_FENCE) != 0;
	r->span = span;
	r->page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, r->fds[VGPU_HELLO_FD_AGENT_PAGE], 0);
	if (r->page == MAP_FAILED)
		return -errno;
	if (!span)
		return 0;
#ifdef __SANITIZE_THREAD__      /* has its own use for that part of the address space */
	r->seg0 = mmap(NULL, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fds[VGPU_HELLO_FD_SEG0], 0);
#else
	r->seg0 = mmap((void *)(uintptr_t)span, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
		       r->fds[VGPU_HELLO_FD_SEG0], 0);
#endif
	return r->seg0 == MAP_FAILED ? -errno : 0;
}

static inline void raw_close(struct raw *r)
{
	if (r->seg0 && r->seg0 != MAP_FAILED)
		munmap(r->seg0, VGPU_SEG0_BYTES);
	if (r->page)
		munmap((void *)(uintptr_t)r->page, 4096);
	for (int i = 0; i < VGPU_HELLO_FDS; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	close(r->sock);
}

/* Status, or -errno. */
static inline int raw_ctx_create(struct raw *r, uint32_t device, uint32_t *n)
{
	struct vgpu_msg_ctx m = { .device = device };
	struct vgpu_msg_ctx_r a;
	int rc = raw_send(r, &m, VGPU_MSG_CTX_CREATE, sizeof(m));

	if (rc == 0 && (rc = raw_recv(r, &a, sizeof(a), NULL, 0)) != sizeof(a))
		return rc < 0 ? rc : -EPROTO;
	*n = a.context;
	if (rc == sizeof(a) && !a.status)
		r->io_tail[a.context] = a.io_index;
	return rc < 0 ? rc : (int)a.status;
}

static inline int raw_ctx_destroy(struct raw *r, uint32_t n)
{
	struct vgpu_msg_ctx m = { .context = n };
	struct vgpu_msg_status a;
	int rc = raw_send(r, &m, VGPU_MSG_CTX_DESTROY, sizeof(m));

	if (rc == 0 && (rc = raw_recv(r, &a, sizeof(a), NULL, 0)) != sizeof(a))
		return rc < 0 ? rc : -EPROTO;
	return rc < 0 ? rc : (int)a.status;
}

static inline struct vgpu_ctx_head *raw_head(struct raw *r, uint32_t n)
{
	return (struct vgpu_ctx_head *)(r->seg0 + VGPU_CTX_OFFSET(n));
}

static inline struct vgpu_timeline *raw_timeline(struct raw *r, uint32_t n, uint32_t stream)
{
	return (struct vgpu_timeline *)(r->seg0 + VGPU_CTX_OFFSET(n) + VGPU_CTX_TIMELINES) + stream;
}

static inline union vgpu_slot *raw_ioq(struct raw *r, uint32_t n, uint64_t index)
{
	return (union vgpu_slot *)(r->seg0 + VGPU_CTX_OFFSET(n) + VGPU_CTX_IOQ) + index % VGPU_IOQ_SLOTS;
}

static inline void raw_kick(struct raw *r)
{
	uint64_t one = 1;

	vgpu_publisher_fence(r->asym);
	if (vgpu_load_relaxed32(&r->page->need_wakeup) && write(r->fds[VGPU_HELLO_FD_KICK], &one, 8) < 0)
		return;
}

/* Appends one command with its payload; waits for room. Ticket, 0 when there is no room for raw_ctl_ms or the context has failed. */
static inline uint64_t raw_io(struct raw *r, uint32_t n, struct vgpu_cmd c, const void *payload, unsigned bytes)
{
	uint64_t index = r->io_tail[n], until = raw_ns() + raw_ctl_ms * 1000000ull;

	c.slots = (uint8_t)(1 + vgpu_payload_slots(bytes));
	while (!vgpu_ring_room(&raw_head(r, n)->io_head, index, c.slots, VGPU_IOQ_SLOTS)) {
		struct timespec ts = { 0, 50000 };

		if (raw_ns() > until || vgpu_load_relaxed32(&raw_head(r, n)->error))
			return 0;
		nanosleep(&ts, NULL);
	}
	for (unsigned k = 1; k < c.slots; k++) {
		struct vgpu_payload_slot *p = &raw_ioq(r, n, index + k)->payload;
		unsigned at = (k - 1) * VGPU_SLOT_PAYLOAD, m = bytes - at;

		p->zero = 0;
		memset(p->bytes, 0, sizeof(p->bytes));
		memcpy(p->bytes, (const char *)payload + at, m < VGPU_SLOT_PAYLOAD ? m : VGPU_SLOT_PAYLOAD);
		p->seq = (uint32_t)(index + k + 1);
	}
	c.ticket = index + 1;
	memcpy((char *)raw_ioq(r, n, index) + 4, (char *)&c + 4, 60);
	vgpu_slot_publish(raw_ioq(r, n, index), index);
	r->io_tail[n] = index + c.slots;
	raw_kick(r);
	return c.ticket;
}

/* Sleeps until the ticket is reached, the stream has an error (its status), or -ETIMEDOUT. */
static inline int raw_wait(struct raw *r, uint32_t n, uint32_t stream, uint64_t ticket, unsigned ms)
{
	struct vgpu_timeline *t = raw_timeline(r, n, stream);
	uint64_t until = raw_ns() + ms * 1000000ull;

	for (;;) {
		uint32_t wake = vgpu_load_acquire32(&t->wake);
		struct timespec ts = { 0, 100000000 };

		vgpu_store_relaxed32(&t->waiter, 1);
		vgpu_sleeper_fence(r->asym);
		if (vgpu_load_acquire32(&t->error))
			return (int)t->error;
		if (vgpu_timeline_reached(t, ticket))
			return 0;
		if (raw_ns() > until)
			return -ETIMEDOUT;
		syscall(SYS_futex, &t->wake, FUTEX_WAIT, wake, &ts, NULL, 0);
	}
}

/* One control call. Status or -ETIMEDOUT; v gets the five values if not NULL. */
static inline int raw_ctl(struct raw *r, unsigned op, uint32_t context, uint32_t id, uint64_t a, uint64_t b, uint64_t c,
			  uint64_t v[5])
{
	uint64_t index = r->ctl_tail, until = raw_ns() + raw_ctl_ms * 1000000ull;
	union vgpu_slot *s = (union vgpu_slot *)(r->seg0 + VGPU_CTLQ_OFFSET) + index % VGPU_CTLQ_SLOTS;
	struct vgpu_reply *p = (struct vgpu_reply *)(r->seg0 + VGPU_REPLY_OFFSET) + index % VGPU_REPLIES;
	struct vgpu_session *session = (struct vgpu_session *)r->seg0;
	struct vgpu_cmd cmd = { .op = (uint8_t)op, .slots = 1, .ticket = index + 1 };

	cmd.u.ctl = (struct vgpu_body_ctl){ (uint16_t)(index % VGPU_REPLIES), (uint16_t)context, id, a, b, c };
	while (!vgpu_ring_room(&session->ctl_head, index, 1, VGPU_CTLQ_SLOTS))
		if (raw_ns() > until)
			return -ETIMEDOUT;
	memcpy((char *)s + 4, (char *)&cmd + 4, 60);
	vgpu_slot_publish(s, index);
	r->ctl_tail = index + 1;
	raw_kick(r);
	for (;;) {
		uint32_t wake = vgpu_load_acquire32(&p->wake);
		struct timespec ts = { 0, 100000000 };

		vgpu_store_relaxed32(&p->waiter, 1);
		vgpu_sleeper_fence(r->asym);
		if (vgpu_load_acquire32(&p->seq) == (uint32_t)(index + 1))
			break;
		if (raw_ns() > until)
			return -ETIMEDOUT;
		syscall(SYS_futex, &p->wake, FUTEX_WAIT, wake, &ts, NULL, 0);
	}
	vgpu_store_relaxed32(&p->waiter, 0);
	if (v)
		memcpy(v, p->v, sizeof(p->v));
	return (int)p->status;
}

#endif
