/* SPDX-License-Identifier: MIT */
/*
 * For test_context*.c: plays parent and agent of one context process.
 *
 * Memory is memfds of the test's own; the window lies elsewhere in this process than in the context,
 * so nothing works by accident of equal addresses. A thread answers the seccomp notifications by the
 * parent's rule: exactly the MAP sent last, or physical memory.
 */
#ifndef TEST_CONTEXT_DEVICE_H
#define TEST_CONTEXT_DEVICE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_fence.h"
#include "../../tools/vgpu-stub/ctx_proto.h"

#define SPAN VGPU_SPAN_BASE_DEFAULT
#define DEVICE VGPU_DEVICE_BASE(SPAN, 0)
#define MEMORY (DEVICE + VGPU_ARENA_BYTES)      /* first address that MEM_ALLOC may use */
#define CONTEXT 2u                              /* not 0, so that a forgotten stride shows */
#define STAGING (SPAN + VGPU_STAGING_OFFSET)
#define MIB (1ull << 20)
#define IO_INDEX 1000u                          /* not 0, and the ring wraps soon */

struct dev {
	pid_t pid;
	int sock, listener, kick, irq, phys, run_fd, seg0_fd, seg1_fd;
	uint8_t *qb, *seg0, *seg1;
	struct ctx_run *run;
	struct vgpu_qb_head *head;
	struct vgpu_ctx_head *ctx;
	struct vgpu_timeline *tl;
	uint64_t *shadow;
	uint64_t io_index, ctl_index, limit;
	struct ctx_map allowed;         /* by the listener's thread */
	pthread_t guard;
	unsigned refused;
	char log[8][512];
	unsigned logs;
	uint32_t raised;
};

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void need(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "set-up: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static void *shared(int *fd, const char *name, uint64_t bytes)
{
	void *p;

	*fd = memfd_create(name, MFD_CLOEXEC);
	need(*fd >= 0 && !ftruncate(*fd, (off_t)bytes), name);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	need(p != MAP_FAILED, name);
	return p;
}

static void tell(struct dev *d, const struct ctx_msg *m, const int *fds, unsigned n)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(CTX_INIT_FDS * sizeof(int))];
	} u;
	struct iovec iov = { (void *)(uintptr_t)m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		memset(&u, 0, sizeof(u));
		h.msg_control = &u;
		h.msg_controllen = CMSG_SPACE(n * sizeof(int));
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&u.h), fds, n * sizeof(int));
	}
	need(sendmsg(d->sock, &h, MSG_NOSIGNAL) == sizeof(*m), "sendmsg");
}

/* Next message that is not LOG or RAISE. 0 when none comes in time. */
static uint32_t hear(struct dev *d, struct ctx_msg *m, int *fd, int ms)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u;

	for (;;) {
		struct iovec iov = { m, sizeof(*m) };
		struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
				    .msg_controllen = sizeof(u) };
		struct pollfd p = { .fd = d->sock, .events = POLLIN };

		if (poll(&p, 1, ms < 300 ? ms : 60000) != 1 || recvmsg(d->sock, &h, MSG_CMSG_CLOEXEC) != sizeof(*m))
			return 0;
		if (CMSG_FIRSTHDR(&h) && fd)
			memcpy(fd, CMSG_DATA(&u.h), sizeof(int));
		if (m->type == CTX_RAISE)
			d->raised++;
		else if (m->type == CTX_LOG && d->logs < 8)
			memcpy(d->log[d->logs++], m->u.log, sizeof(m->u.log));
		else if (m->type != CTX_LOG)
			return m->type;
	}
}

static void *guard(void *arg)
{
	static union {
		struct seccomp_notif n;
		char room[512];
	} u;
	struct dev *d = arg;

	for (;;) {
		struct pollfd p = { .fd = d->listener, .events = POLLIN };
		struct seccomp_notif_resp r = { 0 };
		const __u64 *a = u.n.data.args;

		if (poll(&p, 1, -1) != 1 || !(p.revents & POLLIN))
			return NULL;
		memset(&u, 0, sizeof(u));
		if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_RECV, &u.n))
			continue;
		r.id = u.n.id;
		r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		if (u.n.data.nr != SYS_mmap || a[2] != (PROT_READ | PROT_WRITE) ||
		    a[3] != (MAP_SHARED | MAP_FIXED)) {
			r.flags = 0;
		} else if (a[4] == CTX_AT_MAP && a[0] == d->allowed.va && a[1] == d->allowed.bytes &&
			   a[5] == d->allowed.offset) {
			struct seccomp_notif_addfd add = { .id = u.n.id, .flags = SECCOMP_ADDFD_FLAG_SETFD,
							   .srcfd = (__u32)d->seg1_fd, .newfd = CTX_AT_MAP };

			if (ioctl(d->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
				r.flags = 0;
		} else if (a[4] != CTX_AT_PHYS || a[0] < MEMORY) {
			r.flags = 0;
		}
		if (!r.flags) {
			r.error = -EPERM;
			d->refused++;
		}
		ioctl(d->listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}

/* Boots a context of `binary`; the protocol of ctx_proto.h, in its order. */
static void dev_start(struct dev *d, const char *binary, uint64_t limit)
{
	struct ctx_msg m = { .type = CTX_INIT };
	int sv[2], qb_fd, fds[CTX_INIT_FDS];

	memset(d, 0, sizeof(*d));
	d->limit = limit;
	need(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), "socketpair");
	d->sock = sv[0];
	d->pid = fork();
	need(d->pid >= 0, "fork");
	if (!d->pid) {
		int s = fcntl(sv[1], F_DUPFD, 20);

		if (dup2(s, CTX_SOCKET_FD) < 0 || syscall(SYS_close_range, CTX_SOCKET_FD + 1, ~0u, 0))
			_exit(126);
		execl(binary, "vgpu-stub", "--context", (char *)NULL);
		_exit(127);
	}
	close(sv[1]);
	d->qb = shared(&qb_fd, "queue", VGPU_QB_BYTES);
	d->seg0 = shared(&d->seg0_fd, "seg0", VGPU_SEG0_BYTES);
	d->seg1 = shared(&d->seg1_fd, "seg1", VGPU_HUGE);
	d->run = shared(&d->run_fd, "run", VGPU_PAGE);
	d->run->run = 1;
	d->run->granted = 1ull << 50;   /* whoever plays the parent here keeps no account */
	d->phys = memfd_create("phys", MFD_CLOEXEC);
	need(d->phys >= 0 && !ftruncate(d->phys, (off_t)VGPU_PHYS_SPAN), "phys");
	d->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->irq = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->head = (void *)d->qb;
	d->shadow = (void *)(d->qb + VGPU_QB_SHADOW);
	d->ctx = (void *)(d->seg0 + VGPU_CTX_OFFSET(CONTEXT));
	d->tl = (void *)(d->seg0 + VGPU_CTX_OFFSET(CONTEXT) + VGPU_CTX_TIMELINES);
	d->io_index = IO_INDEX;

	m.u.init.create = (struct vgpu_ctx_create){ .span_base = SPAN, .span_bytes = VGPU_SPAN_BYTES,
						    .device_base = DEVICE, .memory_limit = limit,
						    .context = CONTEXT, .weight = 100, .io_index = IO_INDEX };
	m.u.init.device.cc_major = 6;
	m.u.init.device.cc_minor = 1;
	m.u.init.device.sm_count = 8;
	m.u.init.device.warp_size = 32;
	m.u.init.device.shared_per_block = m.u.init.device.shared_per_block_optin = 48 << 10;
	m.u.init.cores = 2;
	m.u.init.overhead = 2 * VGPU_GIB;
	m.u.init.asym_fence = vgpu_asym_register() == 0;
	fds[CTX_FD_KICK] = d->kick;
	fds[CTX_FD_IRQ] = d->irq;
	fds[CTX_FD_PHYS] = d->phys;
	fds[CTX_FD_RUN] = d->run_fd;
	fds[CTX_FD_CODE] = memfd_create("code", MFD_CLOEXEC);
	need(fds[CTX_FD_CODE] >= 0 && !ftruncate(fds[CTX_FD_CODE], (off_t)CTX_CODE_BYTES), "code");
	tell(d, &m, fds, CTX_INIT_FDS);
	close(fds[CTX_FD_CODE]);
	m = (struct ctx_msg){ .type = CTX_MAP };
	m.u.map = (struct ctx_map){ .va = CTX_QB_VA, .bytes = VGPU_QB_BYTES, .fd_key = 1 };
	tell(d, &m, &qb_fd, 1);
	/* Segment 0 in two pieces, the second of a known file. */
	m.u.map = (struct ctx_map){ .va = SPAN, .bytes = VGPU_HUGE, .fd_key = 2 };
	tell(d, &m, &d->seg0_fd, 1);
	m.u.map = (struct ctx_map){ .va = SPAN + VGPU_HUGE, .bytes = VGPU_SEG0_BYTES - VGPU_HUGE,
				    .offset = VGPU_HUGE, .fd_key = 2 };
	tell(d, &m, NULL, 0);
	m.type = CTX_START;
	tell(d, &m, NULL, 0);
	d->listener = -1;
	if (hear(d, &m, &d->listener, 10000) != CTX_READY || m.status || d->listener < 0) {
		fprintf(stderr, "the context did not start: status %u, log \"%s\"\n", m.status, d->log[0]);
		exit(1);
	}
	need(!pthread_create(&d->guard, NULL, guard, d), "thread");
	close(qb_fd);
}

/* Closing the socket must end the process; 0 when it did so by itself. */
static int dev_stop(struct dev *d)
{
	uint64_t end = now_ns() + 3000000000u;
	int status = -1;

	close(d->sock);
	while (waitpid(d->pid, &status, WNOHANG) == 0) {
		if (now_ns() > end) {
			kill(d->pid, SIGKILL);
			waitpid(d->pid, &status, 0);
			return -1;
		}
		usleep(1000);
	}
	pthread_join(d->guard, NULL);
	close(d->listener);
	close(d->phys);
	close(d->kick);
	close(d->irq);
	close(d->run_fd);
	close(d->seg0_fd);
	close(d->seg1_fd);
	munmap(d->qb, VGPU_QB_BYTES);
	munmap(d->seg0, VGPU_SEG0_BYTES);
	munmap(d->seg1, VGPU_HUGE);
	munmap(d->run, VGPU_PAGE);
	return status;
}

static int dev_alive(struct dev *d)
{
	return waitpid(d->pid, NULL, WNOHANG) == 0;
}

/* As the agent does after publishing. */
static void ring_bell(struct dev *d)
{
	uint64_t one = 1;

	vgpu_full_fence();
	if (vgpu_load_relaxed32(&d->head->need_wakeup)) {
		vgpu_store_relaxed32(&d->head->need_wakeup, 0);
		need(write(d->kick, &one, sizeof(one)) == sizeof(one), "kick");
	}
}

static union vgpu_slot *io_slot(struct dev *d, uint64_t index)
{
	return (union vgpu_slot *)(d->qb + VGPU_QB_IO) + index % VGPU_DEV_IO_SLOTS;
}

/* Fills in slots, ticket and seq; waits for room. Returns the ticket. */
static uint64_t submit(struct dev *d, struct vgpu_cmd c, const void *payload, unsigned bytes)
{
	uint64_t index = d->io_index, end = now_ns() + 5000000000u;
	unsigned n = vgpu_payload_slots(bytes);

	while (!vgpu_ring_room(&d->head->io_head, index, n + 1, VGPU_DEV_IO_SLOTS)) {
		if (now_ns() > end) {
			int status = 0, gone = waitpid(d->pid, &status, WNOHANG) != 0;

			fprintf(stderr, "no room in the I/O ring; the context %s (status 0x%x)\n",
				gone ? "is gone" : "lives", status);
			exit(1);
		}
		usleep(100);
	}
	c.slots = (uint8_t)(n + 1);
	c.ticket = index + 1;
	c.seq = 0;
	for (unsigned i = 0; i < n; i++) {
		struct vgpu_payload_slot *p = &io_slot(d, index + 1 + i)->payload;
		unsigned part = bytes - i * VGPU_SLOT_PAYLOAD;

		memset(p, 0, sizeof(*p));
		memcpy(p->bytes, (const char *)payload + i * VGPU_SLOT_PAYLOAD,
		       part < VGPU_SLOT_PAYLOAD ? part : VGPU_SLOT_PAYLOAD);
		p->seq = (uint32_t)(index + 2 + i);
	}
	io_slot(d, index)->cmd = c;
	vgpu_slot_publish(io_slot(d, index), index);
	d->io_index = index + n + 1;
	ring_bell(d);
	return index + 1;
}

static int wait_ticket(struct dev *d, unsigned stream, uint64_t ticket, unsigned ms)
{
	/* `ms` is what it takes at rest; short ones are turns of a caller's loop, the others wait for what surely comes */
	uint64_t end = now_ns() + (ms < 300 ? ms : 60000) * 1000000ull;

	while (!vgpu_timeline_reached(&d->tl[stream], ticket)) {
		if (now_ns() > end)
			return 0;
		usleep(50);
	}
	return 1;
}

static uint32_t ctl(struct dev *d, unsigned op, uint32_t id, uint64_t a, uint64_t b, uint64_t c, uint64_t *v)
{
	uint64_t index = d->ctl_index++, end = now_ns() + 20000000000u;
	union vgpu_slot *s = (union vgpu_slot *)(d->qb + VGPU_QB_CTL) + index % VGPU_DEV_CTL_SLOTS;
	struct vgpu_reply *r = (struct vgpu_reply *)(d->qb + VGPU_QB_REPLIES) + index % VGPU_DEV_CTL_SLOTS;

	s->cmd = (struct vgpu_cmd){ .op = (uint8_t)op, .slots = 1, .ticket = index + 1,
				    .u.ctl = { .context = CONTEXT, .id = id, .a = a, .b = b, .c = c } };
	vgpu_slot_publish(s, index);
	ring_bell(d);
	while (vgpu_load_acquire32(&r->seq) != (uint32_t)(index + 1)) {
		if (now_ns() > end) {
			fprintf(stderr, "no reply to control op %u\n", op);
			return ~0u;
		}
		usleep(50);
	}
	if (v)
		memcpy(v, r->v, sizeof(r->v));
	return r->status;
}

/* ---- commands, short ------------------------------------------------------------------------------ */

static struct vgpu_cmd cmd(unsigned op, unsigned stream)
{
	return (struct vgpu_cmd){ .op = (uint8_t)op, .stream = stream };
}

static inline uint64_t nop(struct dev *d, unsigned stream, unsigned flags)
{
	struct vgpu_cmd c = cmd(VGPU_OP_NOP, stream);

	c.flags = (uint16_t)flags;
	return submit(d, c, NULL, 0);
}

static inline uint64_t value_op(struct dev *d, unsigned op, unsigned stream, uint64_t addr, uint64_t value,
			 unsigned bytes, unsigned compare, unsigned flags)
{
	struct vgpu_cmd c = cmd(op, stream);

	c.flags = (uint16_t)flags;
	c.u.value = (struct vgpu_body_value){ .addr = addr, .value = value, .bytes = bytes, .compare = compare };
	return submit(d, c, NULL, 0);
}

/* Holds a stream until the word at addr is 1. */
static inline uint64_t hold(struct dev *d, unsigned stream, uint64_t addr, unsigned flags)
{
	return value_op(d, VGPU_OP_WAIT_VALUE, stream, addr, 1, 4, VGPU_COMPARE_EQ, flags);
}

static inline uint64_t copy(struct dev *d, unsigned stream, uint64_t dst, uint64_t src, uint64_t bytes)
{
	struct vgpu_cmd c = cmd(VGPU_OP_COPY, stream);

	c.u.copy = (struct vgpu_body_copy){ .dst = dst, .src = src, .bytes = bytes };
	return submit(d, c, NULL, 0);
}

static inline uint64_t fill(struct dev *d, unsigned stream, uint64_t dst, uint64_t width, uint32_t pitch,
		     uint32_t height, uint32_t value, uint32_t elem)
{
	struct vgpu_cmd c = cmd(VGPU_OP_FILL, stream);

	c.u.fill = (struct vgpu_body_fill){ .dst = dst, .width = width, .pitch = pitch, .height = height,
					    .value = value, .elem_bytes = elem };
	return submit(d, c, NULL, 0);
}

static inline uint64_t launch(struct dev *d, unsigned stream, uint32_t fn, unsigned grid, const void *params,
		       unsigned bytes)
{
	struct vgpu_cmd c = cmd(VGPU_OP_LAUNCH, stream);

	c.u.launch = (struct vgpu_body_launch){ .fn = fn, .grid = { grid, 1, 1 }, .block = { 1, 1, 1 },
						.param_bytes = (uint16_t)bytes };
	return submit(d, c, params, bytes);
}

static inline int pending(struct dev *d, unsigned stream, uint64_t ticket)
{
	usleep(3000);
	return !vgpu_timeline_reached(&d->tl[stream], ticket);
}

static volatile uint32_t *word(struct dev *d, unsigned i)
{
	return (volatile uint32_t *)(d->seg0 + VGPU_STAGING_OFFSET) + i;
}

static inline void release(struct dev *d, unsigned i) { __atomic_store_n(word(d, i), 1, __ATOMIC_RELEASE); }

/* BUILD/test/unit/KIND/context and BUILD/bin/vgpu-stub */
static inline const char *stub_binary(int argc, char **argv)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	if (argc > 1 || getenv("VGPU_STUB_BIN"))
		return argc > 1 ? argv[1] : getenv("VGPU_STUB_BIN");
	for (int up = 0; up < 4 && n > 0; up++)
		while (n > 0 && path[--n] != '/')
			;
	if (n <= 0)
		return "build/bin/vgpu-stub";
	strcpy(path + n, "/bin/vgpu-stub");
	return path;
}

#endif
