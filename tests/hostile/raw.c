/* SPDX-License-Identifier: MIT */
/* The protocol by hand; see raw.h. */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000               /* with an agent on a busy machine; an attack that gets no answer to this has not begun */

double raw_deadline, raw_scale = 1;
static uint64_t seed = 0x9e3779b97f4a7c15ull;
static int breaches, misses;
static char refusal[160] = "nothing was refused";     /* the last one */

double raw_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int raw_time_left(double seconds)
{
	return raw_now() + seconds * raw_scale < raw_deadline;
}

void raw_nap_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

uint64_t raw_rand64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

uint32_t raw_rand(void)
{
	return (uint32_t)(raw_rand64() >> 32);
}

uint64_t raw_evil64(void)
{
	static const uint64_t evil[] = { 0, 1, 2, 3, 7, 63, 64, 4095, 4096, 4097, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, 1ull << 40, (1ull << 47) - 1, 1ull << 47, 1ull << 62, 1ull << 63,
		~0ull, ~0ull - 1, ~0ull - 4095, VGPU_SPAN_BASE_DEFAULT, VGPU_SPAN_BASE_DEFAULT - 1,
		VGPU_SPAN_BASE_DEFAULT + VGPU_SEG0_BYTES - 1, VGPU_SPAN_BASE_DEFAULT + VGPU_TIB,
		VGPU_SPAN_BASE_DEFAULT + VGPU_TIB + VGPU_ARENA_BYTES, 0xffffffff80000000ull };

	return raw_rand() % 4 ? evil[raw_rand() % (sizeof evil / sizeof evil[0])] : raw_rand64();
}

void raw_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

void raw_breach(const char *fmt, ...)
{
	va_list ap;

	breaches++;
	printf("BREACH: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

int raw_breaches(void)
{
	return breaches;
}

void raw_miss(const char *why)
{
	misses++;
	printf("nothing done: %s (%s)\n", why, refusal);
	fflush(stdout);
}

int raw_misses(void)
{
	return misses;
}

int raw_connect(void)
{
	const char *path = getenv("VGPU_AGENT");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd;

	if (!path || strlen(path) >= sizeof sa.sun_path) {
		fprintf(stderr, "hostile: VGPU_AGENT must name the agent's socket\n");
		exit(2);
	}
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&sa, sizeof sa)) {
		snprintf(refusal, sizeof refusal, "connect: %s", strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int raw_send(int sock, const void *msg, size_t bytes, const int *fds, int n)
{
	struct iovec v = { (void *)(uintptr_t)msg, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	union { char buf[CMSG_SPACE(253 * sizeof(int))]; struct cmsghdr align; } u;

	if (n > 0) {
		struct cmsghdr *c;

		memset(&u, 0, sizeof u);
		m.msg_control = u.buf;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int raw_recv(int sock, void *msg, size_t bytes, int *fds, int max, int ms)
{
	union { char buf[CMSG_SPACE(64 * sizeof(int))]; struct cmsghdr align; } u;
	struct iovec v = { msg, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf, .msg_controllen = sizeof u.buf };
	struct pollfd p = { sock, POLLIN, 0 };
	int got = 0;
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return -1;
	n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return 0;
	for (int i = 0; i < max; i++)
		fds[i] = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int k = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)), fd;

		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		for (int i = 0; i < k; i++) {
			memcpy(&fd, CMSG_DATA(c) + (size_t)i * sizeof fd, sizeof fd);
			if (got < max)
				fds[got++] = fd;
			else
				close(fd);
		}
	}
	return (int)n;
}

int raw_closed(int sock)
{
	struct pollfd p = { sock, POLLIN, 0 };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* What an agent on a busy machine takes for the first session and the first context is none of the attack's time: it may be all of it. */
static void first(bool *had, double since)
{
	if (!*had)
		raw_deadline += raw_now() - since;
	*had = true;
}

int raw_open(struct raw *r)
{
	static bool had;
	double since = raw_now();
	struct vgpu_msg_hello h = { .h = { VGPU_MSG_HELLO, sizeof h }, .magic = VGPU_SESSION_MAGIC,
		.version = VGPU_PROTOCOL_VERSION, .span_base = VGPU_SPAN_BASE_DEFAULT, .command = "hostile" };
	int fd[VGPU_HELLO_FDS], n;
	void *p;

	memset(r, 0, sizeof *r);
	r->span = h.span_base;
	r->sock = raw_connect();
	if (r->sock < 0)
		return -1;
	r->pidfd = r->page_fd = r->kick = r->seg_fd = -1;
	n = -1;
	if (!raw_send(r->sock, &h, sizeof h, NULL, 0))
		n = raw_recv(r->sock, &r->hello, sizeof r->hello, fd, VGPU_HELLO_FDS, PATIENCE_MS);
	if (n < (int)sizeof r->hello || r->hello.status != VGPU_ST_OK || fd[VGPU_HELLO_FD_SEG0] < 0) {
		snprintf(refusal, sizeof refusal, "HELLO: %d bytes, status %u, %.90s", n,
			n > 16 ? r->hello.status : 0, n >= (int)sizeof r->hello ? r->hello.text : "");
		close(r->sock);
		r->sock = -1;
		return -1;
	}
	r->pidfd = fd[VGPU_HELLO_FD_PIDFD];
	r->page_fd = fd[VGPU_HELLO_FD_AGENT_PAGE];
	r->kick = fd[VGPU_HELLO_FD_KICK];
	r->seg_fd = fd[VGPU_HELLO_FD_SEG0];
	p = mmap(NULL, VGPU_SEG0_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->seg_fd, 0);
	r->seg0 = p == MAP_FAILED ? NULL : p;
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, r->page_fd, 0);
	r->page = p == MAP_FAILED ? NULL : p;
	if (!r->seg0 || !r->page) {
		raw_say("cannot map what the agent gave: %s", strerror(errno));
		raw_close(r);
		return -1;
	}
	first(&had, since);
	return 0;
}

void raw_close(struct raw *r)
{
	int fd[] = { r->sock, r->pidfd, r->page_fd, r->kick, r->seg_fd };

	if (r->seg0)
		munmap(r->seg0, VGPU_SEG0_BYTES);
	if (r->page)
		munmap((void *)(uintptr_t)r->page, 4096);
	for (unsigned i = 0; i < sizeof fd / sizeof fd[0]; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	memset(r, 0, sizeof *r);
	r->sock = r->pidfd = r->page_fd = r->kick = r->seg_fd = -1;
}

int raw_context(struct raw *r)
{
	struct vgpu_msg_ctx q = { .h = { VGPU_MSG_CTX_CREATE, sizeof q } };
	struct vgpu_msg_ctx_r a;
	double since = raw_now();
	static bool had;
	int n;

	if (raw_send(r->sock, &q, sizeof q, NULL, 0))
		return -1;
	n = raw_recv(r->sock, &a, sizeof a, NULL, 0, PATIENCE_MS);
	if (n != (int)sizeof a || a.status != VGPU_ST_OK) {
		snprintf(refusal, sizeof refusal, "CTX_CREATE: %d bytes, status %u", n, n > 12 ? a.status : 0);
		return -1;
	}
	if (a.context >= VGPU_MAX_CONTEXTS) {
		raw_breach("CTX_CREATE answered context %u", a.context);
		return -1;
	}
	r->io_index[a.context] = a.io_index;
	first(&had, since);
	return (int)a.context;
}

int raw_context_destroy(struct raw *r, unsigned context)
{
	struct vgpu_msg_ctx q = { .h = { VGPU_MSG_CTX_DESTROY, sizeof q }, .context = context };
	struct vgpu_msg_status a;

	if (raw_send(r->sock, &q, sizeof q, NULL, 0))
		return -1;
	if (raw_recv(r->sock, &a, sizeof a, NULL, 0, PATIENCE_MS) != (int)sizeof a)
		return -1;
	return a.status == VGPU_ST_OK ? 0 : 1;
}

void raw_kick(struct raw *r)
{
	uint64_t one = 1;

	vgpu_full_fence();
	if (vgpu_load_relaxed32(&r->page->need_wakeup) && write(r->kick, &one, sizeof one) < 0)
		return;
}

int raw_io(struct raw *r, unsigned context, const struct vgpu_cmd *c, const void *payload, size_t bytes, int keep)
{
	uint64_t index = r->io_index[context];
	union vgpu_slot *s = raw_io_slot(r, context, index);
	unsigned slots = c->slots ? c->slots : 1;
	double end = raw_now() + 0.2;

	while (!vgpu_ring_room(&raw_head(r, context)->io_head, index, slots, VGPU_IOQ_SLOTS)) {
		raw_kick(r);
		if (raw_now() > end)
			return -1;
		raw_nap_ms(1);
	}
	for (unsigned i = 1; i < slots; i++) {
		struct vgpu_payload_slot *p = &raw_io_slot(r, context, index + i)->payload;
		size_t at = (size_t)(i - 1) * VGPU_SLOT_PAYLOAD, n = at < bytes ? bytes - at : 0;

		memset(p->bytes, 0, sizeof p->bytes);
		if (n)
			memcpy(p->bytes, (const char *)payload + at, n < sizeof p->bytes ? n : sizeof p->bytes);
		p->zero = 0;
		p->seq = (uint32_t)(index + i + 1);
	}
	memcpy((char *)s + 4, (const char *)c + 4, sizeof *c - 4);
	if (keep) {
		vgpu_store_release32(&s->cmd.seq, c->seq);
	} else {
		s->cmd.ticket = index + 1;
		vgpu_slot_publish(s, index);
	}
	r->ticket = index + 1;
	r->io_index[context] = index + slots;
	raw_kick(r);
	return 0;
}

int raw_ctl(struct raw *r, const struct vgpu_cmd *c, struct vgpu_reply *reply, int ms)
{
	uint64_t index = r->ctl_index++;
	union vgpu_slot *s = raw_ctl_slot(r, index);
	unsigned n = c->u.ctl.reply < VGPU_REPLIES ? c->u.ctl.reply : 0;
	struct vgpu_reply *a = raw_reply(r, n);
	double end = raw_now() + ms * 1e-3;

	memcpy((char *)s + 4, (const char *)c + 4, sizeof *c - 4);
	s->cmd.ticket = index + 1;
	vgpu_slot_publish(s, index);
	raw_kick(r);
	while (vgpu_load_acquire32(&a->seq) != (uint32_t)(index + 1)) {
		if (raw_now() > end || raw_closed(r->sock))
			return -1;
		raw_nap_ms(1);
	}
	*reply = *a;
	return 0;
}

int raw_wait(struct raw *r, unsigned context, unsigned stream, uint64_t ticket, int ms)
{
	double end = raw_now() + ms * 1e-3;

	for (;;) {
		if (vgpu_timeline_reached(raw_timeline(r, context, stream), ticket))
			return 0;
		if (vgpu_load_acquire32(&raw_head(r, context)->error))
			return 1;
		if (raw_now() > end)
			return -1;
		raw_nap_ms(1);
	}
}

uint32_t raw_kernel(struct raw *r, unsigned context, const char *ptx, const char *name)
{
	struct vgpu_cmd c = { .op = VGPU_OP_MODULE_BEGIN, .slots = 1 };
	struct vgpu_symtab *tab = raw_at(r, VGPU_STAGING_OFFSET + 0x100000);
	size_t bytes = strlen(ptx) + 1;
	struct vgpu_reply a;
	uint32_t module;

	c.u.ctl.context = (uint16_t)context;
	c.u.ctl.a = bytes;
	if (raw_ctl(r, &c, &a, PATIENCE_MS) || a.status)
		return 0;
	module = (uint32_t)a.v[0];
	memcpy(raw_at(r, VGPU_STAGING_OFFSET), ptx, bytes);
	c.op = VGPU_OP_MODULE_DATA;
	c.u.ctl.id = module;
	c.u.ctl.a = 0;
	c.u.ctl.b = raw_va(r, VGPU_STAGING_OFFSET);
	c.u.ctl.c = bytes;
	if (raw_ctl(r, &c, &a, PATIENCE_MS) || a.status)
		return 0;
	c.op = VGPU_OP_MODULE_COMMIT;
	c.u.ctl.a = raw_va(r, VGPU_STAGING_OFFSET + 0x80000);	/* the log */
	c.u.ctl.b = 4096;
	c.u.ctl.c = 0;
	if (raw_ctl(r, &c, &a, PATIENCE_MS) || a.status)
		return 0;
	c.op = VGPU_OP_MODULE_TABLE;
	c.u.ctl.a = raw_va(r, VGPU_STAGING_OFFSET + 0x100000);
	c.u.ctl.b = 0x100000;
	if (raw_ctl(r, &c, &a, PATIENCE_MS) || a.status)
		return 0;
	for (uint32_t i = 0; i < tab->nsyms && i < 1000; i++) {
		struct vgpu_symbol *s = (struct vgpu_symbol *)(tab + 1) + i;

		if (s->kind == VGPU_SYM_FUNC && s->name < 0x100000 && !strcmp((char *)tab + s->name, name))
			return s->id;
	}
	return 0;
}

int raw_launch(struct raw *r, unsigned context, unsigned stream, uint32_t fn, const void *params, unsigned bytes)
{
	struct vgpu_cmd c = { .op = VGPU_OP_LAUNCH, .stream = stream };

	c.slots = (uint8_t)(1 + vgpu_payload_slots(bytes));
	c.u.launch.fn = fn;
	c.u.launch.grid[0] = c.u.launch.grid[1] = c.u.launch.grid[2] = 1;
	c.u.launch.block[0] = c.u.launch.block[1] = c.u.launch.block[2] = 1;
	c.u.launch.param_bytes = (uint16_t)bytes;
	return raw_io(r, context, &c, params, bytes, 0);
}

int raw_alloc(struct raw *r, unsigned context, uint64_t va, uint64_t bytes)
{
	struct vgpu_cmd c = { .op = VGPU_OP_MEM_ALLOC, .slots = 1 };
	struct vgpu_reply a;

	c.u.ctl.context = (uint16_t)context;
	c.u.ctl.a = va;
	c.u.ctl.b = bytes;
	if (raw_ctl(r, &c, &a, PATIENCE_MS))
		return -1;
	return (int)a.status;
}
