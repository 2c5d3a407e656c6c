/* SPDX-License-Identifier: MIT */
/*
 * See client.h. A client is a process that the kernel names to us (SO_PEERCRED); it is answered
 * without ever waiting for it: who does not read his answer is dropped. Its death is its
 * pidfd, not the hang-up alone: with a forked child alive the socket stays open.
 */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "context.h"
#include "control.h"
#include "mailbox.h"
#include "message.h"
#include "sigbus.h"
#include "status.h"
#include "vfio_noiommu.h"

#define CLIENT_SO_PEERPIDFD 77          /* linux 6.5, asm-generic/socket.h */
#define HELLO_MS 5000
#define UID_SLACK 8u
#define SEG0_TRIES 12u
#define HELD_AGAIN_NS 5000000ull
#define HELD_NS 5000000000ull           /* the library waits twice that long */

/* ---- answers --------------------------------------------------------------------------------- */

/* 0 or -errno */
static int answer_now(struct client *c, const void *message, size_t bytes, const int *fds, unsigned nfds)
{
	union { struct cmsghdr align; char room[CMSG_SPACE(VGPU_HELLO_FDS * sizeof(int))]; } control;
	struct iovec iov = { (void *)(uintptr_t)message, bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *cm;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes ? 0 : -errno;
}

static int answer_failed(struct client *c, int rc)
{
	client_drop(c, rc == -EPIPE || rc == -ECONNRESET ? NULL : "it does not read its answers");
	return -1;
}

/*
 * Descriptors that nobody has read yet are counted against their sender's user, all his processes together; above
 * RLIMIT_NOFILE the kernel lets no more go (ETOOMANYREFS). That passes: the answer is held, and the client not listened to,
 * until it has gone or HELD_NS are over.
 */
static void hold(struct client *c, const void *message, size_t bytes, const int *fds, unsigned nfds)
{
	c->held.since_ns = now_ns();
	c->held.again_ns = c->held.since_ns + HELD_AGAIN_NS;
	c->held.bytes = (uint32_t)bytes;
	c->held.nfds = nfds;
	memcpy(c->held.fds, fds, nfds * sizeof(int));
	memcpy(&c->held.m, message, bytes);
	control_unwatch(c->sock);
}

static int answer(struct client *c, void *message, size_t bytes, unsigned type, const int *fds, unsigned nfds)
{
	struct vgpu_msg_header *h = message;
	int rc;

	h->type = type;
	h->bytes = (uint32_t)bytes;
	rc = answer_now(c, message, bytes, fds, nfds);
	if (rc == -ETOOMANYREFS && nfds && bytes <= sizeof(c->held.m)) {
		hold(c, message, bytes, fds, nfds);
		return 0;
	}
	return rc ? answer_failed(c, rc) : 0;
}

/* Held answers whose time has come; ms until the next one is due, -1: none. */
static int send_held(struct client *c, uint64_t now)
{
	int rc;

	if (now < c->held.again_ns)
		return (int)((c->held.again_ns - now) / 1000000) + 1;
	rc = answer_now(c, &c->held.m, c->held.bytes, c->held.fds, c->held.nfds);
	if (rc == -ETOOMANYREFS && now - c->held.since_ns < HELD_NS) {
		c->held.again_ns = now + HELD_AGAIN_NS;
		return HELD_AGAIN_NS / 1000000;
	}
	c->held.again_ns = 0;
	if (rc == -ETOOMANYREFS) {
		/* The same answer without them: the reason. What was made for this client stays his until he goes. */
		uint32_t *status = &c->held.m.hello.status;

		_Static_assert(offsetof(struct vgpu_msg_hello_r, status) == offsetof(struct vgpu_msg_grow_r, status), "one place");
		log_client(LOG_WARN, "client %u (%s, pid %d): %s", c->id, c->command, c->pid, vgpu_status_text(VGPU_ST_IN_FLIGHT));
		*status = VGPU_ST_IN_FLIGHT;
		if (c->held.m.hello.h.type == VGPU_MSG_HELLO)
			c->held.m.hello.text[0] = 0;
		rc = answer_now(c, &c->held.m, c->held.bytes, NULL, 0);
	}
	if (rc)
		answer_failed(c, rc);
	else
		control_watch(CONTROL_CLIENT, c->index, c->id, c->sock, EPOLLIN);
	return -1;
}

static void answer_status(struct client *c, unsigned type, uint32_t status)
{
	struct vgpu_msg_status m = { .status = status };

	answer(c, &m, sizeof(m), type, NULL, 0);
}

/* ---- HELLO --------------------------------------------------------------------------------- */

static void refuse_hello(struct client *c, uint32_t status, const char *text)
{
	struct vgpu_msg_hello_r r = { .status = status, .version = VGPU_PROTOCOL_VERSION };

	snprintf(r.text, sizeof(r.text), "%s", text);
	if (answer(c, &r, sizeof(r), VGPU_MSG_HELLO, NULL, 0) == 0)
		client_drop(c, text);
}

/* One user's processes must not take all of the machine's memory through us. */
static int windows_full(uint64_t more)
{
	return more > agent.opt.windows || agent.window_bytes > agent.opt.windows - more;
}

/* Segment 0. Without an IOMMU it must lie in one piece of the machine's memory: tried some times. */
static int segment0(struct pool_mem *m)
{
	struct pool_mem tried[SEG0_TRIES];
	unsigned n = 0;
	int rc = pool_alloc(m, VGPU_SEG0_BYTES, "vgpu-window");

	if (!agent.opt.unsafe_noiommu)
		return rc;
	while (rc == 0 && !noiommu_in_one_piece(m, n % 2)) {
		if (n == SEG0_TRIES) {
			pool_free(m);
			rc = -ENOMEM;
			break;
		}
		tried[n++] = *m;        /* kept meanwhile, or it would come again */
		rc = pool_alloc(m, VGPU_SEG0_BYTES, "vgpu-window");
	}
	while (n)
		pool_free(&tried[--n]);
	return rc;
}

static int window_open(struct client *c)
{
	int rc = windows_full(VGPU_SEG0_BYTES) ? -ENOMEM : segment0(&c->seg[0]);

	if (rc < 0)
		return rc;
	c->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->kick_fd < 0)
		goto fail;
	if (!pool_map(&c->seg[0], sigbus_window(c->index)))
		goto fail;
	c->seg0 = sigbus_window(c->index);
	c->seg_offset[0] = 0;
	c->segs = 1;
	c->window_bytes = VGPU_SEG0_BYTES;
	agent.window_bytes += VGPU_SEG0_BYTES;
	c->session = (struct vgpu_session *)c->seg0;
	c->ctlq = (union vgpu_slot *)(c->seg0 + VGPU_CTLQ_OFFSET);
	c->replies = (struct vgpu_reply *)(c->seg0 + VGPU_REPLY_OFFSET);
	c->window = 1;
	return 0;
fail:
	rc = -errno;
	if (c->kick_fd >= 0)
		close(c->kick_fd);
	c->kick_fd = -1;
	pool_free(&c->seg[0]);
	return rc;
}

static uint64_t all_memory(void)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < agent.opt.devices; i++)
		if (agent.dev[i].info.memory_bytes > most)
			most = agent.dev[i].info.memory_bytes;
	return most;
}

/* Connections that said HELLO; of one user, or of all. */
static unsigned greeted_clients(const uid_t *uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < AGENT_CLIENTS; i++) {
		const struct client *c = &agent.client[i];

		n += c->in_use && c->greeted && (!uid || c->uid == *uid);
	}
	return n;
}

static void hello(struct client *c, const struct vgpu_msg_hello *m)
{
	struct vgpu_msg_hello_r r = { .version = VGPU_PROTOCOL_VERSION };
	int fds[VGPU_HELLO_FDS];
	char text[96];

	if (c->greeted) {
		client_drop(c, "a second HELLO");
		return;
	}
	memcpy(c->command, m->command, sizeof(c->command));
	if (m->version != VGPU_PROTOCOL_VERSION) {
		snprintf(text, sizeof(text), "client speaks protocol %u, vgpu-agent %s speaks %u", m->version, AGENT_VERSION,
			 VGPU_PROTOCOL_VERSION);
		refuse_hello(c, VGPU_ST_NOT_SUPPORTED, text);
		return;
	}
	if (m->features >> 32) {
		refuse_hello(c, VGPU_ST_NOT_SUPPORTED, "client requires a feature that this vgpu-agent does not know");
		return;
	}
	if (greeted_clients(&c->uid) >= agent.opt.uid_clients) {
		snprintf(text, sizeof(text), "user %u has %u connections already (--uid-clients)", c->uid,
			 agent.opt.uid_clients);
		refuse_hello(c, VGPU_ST_LIMIT, text);
		return;
	}
	if (greeted_clients(NULL) >= agent.opt.max_clients) {
		snprintf(text, sizeof(text), "vgpu-agent serves %u clients already (--max-clients)", agent.opt.max_clients);
		refuse_hello(c, VGPU_ST_LIMIT, text);
		return;
	}
	if (m->span_base && !message_span_ok(m->span_base)) {
		refuse_hello(c, VGPU_ST_INVALID, "the address span must start at a multiple of 1 GiB from 0x200000000000 on");
		return;
	}
	if (m->span_base && window_open(c) < 0) {
		refuse_hello(c, VGPU_ST_OUT_OF_MEMORY, "no memory for the client's window");
		return;
	}
	c->span_base = m->span_base;
	c->greeted = 1;
	r.features = agent.asym ? m->features & VGPU_FEATURE_ASYM_FENCE : 0;
	c->asym = (r.features & VGPU_FEATURE_ASYM_FENCE) != 0;
	c->memory_quota = agent.opt.client_memory ? agent.opt.client_memory : all_memory();
	r.client_id = c->id;
	r.devices = agent.opt.devices;
	r.memory_quota = c->memory_quota;
	snprintf(r.text, sizeof(r.text), "%s", AGENT_VERSION);
	status_work();
	fds[VGPU_HELLO_FD_PIDFD] = agent.pidfd;
	fds[VGPU_HELLO_FD_AGENT_PAGE] = agent.page_fd;
	if (c->window) {
		r.window_iova = client_iova(c).v;
		r.window_quota = agent.opt.client_window;
		fds[VGPU_HELLO_FD_KICK] = c->kick_fd;
		fds[VGPU_HELLO_FD_SEG0] = c->seg[0].fd;
		c->session->magic = VGPU_SESSION_MAGIC;
		c->session->version = VGPU_PROTOCOL_VERSION;
		c->session->features = r.features;
		c->session->client_id = c->id;
		c->any_env = (struct vgpu_check_env){
			.window_base = c->span_base, .window_bytes = VGPU_WINDOW_SPAN,
			.device_base = VGPU_DEVICE_BASE(c->span_base, 0),
			.device_bytes = VGPU_MAX_DEVICES * VGPU_DEVICE_SPAN, .arena_bytes = VGPU_ARENA_BYTES };
		mailbox_call(MAILBOX_ADD_CLIENT, c, 0);
	}
	if (answer(c, &r, sizeof(r), VGPU_MSG_HELLO, fds, c->window ? VGPU_HELLO_FDS : VGPU_HELLO_FD_AGENT_PAGE + 1) == 0 &&
	    c->window)
		log_debug("client %u: %s, pid %d, uid %u", c->id, c->command, c->pid, c->uid);
}

/* ---- the other messages ---------------------------------------------------------------------- */

static void device_info(struct client *c, uint32_t index)
{
	struct vgpu_msg_device_r r = { .status = VGPU_ST_OK };

	if (index >= agent.opt.devices)
		r.status = VGPU_ST_INVALID;
	else if (!agent.dev[index].ready)
		r.status = VGPU_ST_DEVICE_LOST;
	else
		r.info = agent.dev[index].info;
	answer(c, &r, sizeof(r), VGPU_MSG_DEVICE, NULL, 0);
}

static void context_ask(struct client *c, const struct vgpu_msg_ctx *m)
{
	struct vgpu_msg_ctx_r r = { .status = VGPU_ST_INVALID };

	if (c->window)
		r.status = context_create(c, m->device, m->weight, &r.context);
	answer(c, &r, sizeof(r), VGPU_MSG_CTX_CREATE, NULL, 0);
}

static void context_end(struct client *c, uint32_t n)
{
	uint32_t status = VGPU_ST_BAD_HANDLE;

	if (n < VGPU_MAX_CONTEXTS && c->ctx[n].state != CONTEXT_FREE) {
		context_destroy(&c->ctx[n]);
		status = VGPU_ST_OK;
	}
	answer_status(c, VGPU_MSG_CTX_DESTROY, status);
}

static void grow_answer(struct client *c, uint32_t status)
{
	struct vgpu_msg_grow_r r = { .status = status };
	unsigned s = c->segs;

	if (status == VGPU_ST_OK) {
		c->seg_offset[s] = c->window_bytes;
		c->window_bytes += c->seg[s].bytes;
		agent.window_bytes += c->seg[s].bytes;
		c->segs = s + 1;
		status = r.status = context_add_segment(c, s);
		r.offset = c->seg_offset[s];
		r.bytes = c->seg[s].bytes;
	} else {
		pool_free(&c->seg[s]);
	}
	if (!c->in_use)
		return;
	answer(c, &r, sizeof(r), VGPU_MSG_WINDOW_GROW, &c->seg[s].fd, status == VGPU_ST_OK);
}

static void grow_refuse(struct client *c, uint32_t status)
{
	struct vgpu_msg_grow_r r = { .status = status };

	answer(c, &r, sizeof(r), VGPU_MSG_WINDOW_GROW, NULL, 0);
}

static void grow(struct client *c, uint64_t bytes)
{
	struct pool_mem *m = &c->seg[c->segs % AGENT_SEGMENTS];

	if (!c->window || !bytes) {
		grow_refuse(c, VGPU_ST_INVALID);
		return;
	}
	if (bytes > agent.opt.client_window ||
	    ((bytes + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1)) > agent.opt.client_window - c->window_bytes || windows_full(bytes)) {
		grow_refuse(c, VGPU_ST_OUT_OF_MEMORY);
		return;
	}
	if (c->segs >= AGENT_SEGMENTS) {
		grow_refuse(c, VGPU_ST_LIMIT);
		return;
	}
	if (pool_alloc(m, bytes, "vgpu-window") < 0) {
		grow_refuse(c, VGPU_ST_OUT_OF_MEMORY);
		return;
	}
	/* A large one takes a second to commit: in slices, so that others are served meanwhile. */
	c->grow_bytes = m->bytes;
	c->grow_done = m->hugetlb ? m->bytes : m->bytes < POOL_NOW ? m->bytes : POOL_NOW;
	client_grow_step(c);
}

void client_grow_step(struct client *c)
{
	uint64_t left = c->grow_bytes - c->grow_done, slice = left < POOL_NOW ? left : POOL_NOW;
	int rc = slice ? pool_commit(&c->seg[c->segs], c->grow_done, slice) : 0;

	if (rc == -EAGAIN)
		return;
	c->grow_done += slice;
	if (rc == 0 && c->grow_done < c->grow_bytes)
		return;
	c->grow_bytes = c->grow_done = 0;
	grow_answer(c, rc < 0 ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_OK);
}

void client_readable(struct client *c)
{
	uint8_t bytes[MESSAGE_MAX];
	union message m;
	const char *why;
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (c->grow_bytes)
		return;         /* one request at a time; the loop comes back */
	/* No room for control data: fds that a client sends are closed by the kernel. */
	n = recvmsg(c->sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_drop(c, NULL);
		return;
	}
	if (message_parse(bytes, (size_t)n, &m, &why) < 0) {
		client_drop(c, why);
		return;
	}
	if (!c->greeted && m.h.type != VGPU_MSG_HELLO) {
		client_drop(c, "a request before HELLO");
		return;
	}
	switch (m.h.type) {
	case VGPU_MSG_HELLO:
		hello(c, &m.hello);
		break;
	case VGPU_MSG_DEVICE:
		device_info(c, m.index.index);
		break;
	case VGPU_MSG_CTX_CREATE:
		context_ask(c, &m.ctx);
		break;
	case VGPU_MSG_CTX_DESTROY:
		context_end(c, m.ctx.context);
		break;
	case VGPU_MSG_WINDOW_GROW:
		grow(c, m.grow.bytes);
		break;
	case VGPU_MSG_STATUS: {
		static struct vgpu_msg_status_r r;      /* 4 KiB, off the stack */

		status_fill(&r, m.index.index);
		answer(c, &r, sizeof(r), VGPU_MSG_STATUS, NULL, 0);
		break;
	}
	}
}

/* ---- coming and going -------------------------------------------------------------------- */

static struct client *free_slot(void)
{
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		if (!agent.client[i].in_use)
			return &agent.client[i];
	return NULL;
}

/* Live processes only: a pid from SO_PEERCRED may be dead and taken again; SO_PEERPIDFD may not. */
static int peer_pidfd(int sock, pid_t pid)
{
	socklen_t n = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, CLIENT_SO_PEERPIDFD, &fd, &n) == 0)
		return fd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static void accept_one(int sock)
{
	struct ucred cred = { 0, 0, 0 };
	socklen_t n = sizeof(cred);
	struct client *c = free_slot();
	unsigned of_uid = 0;

	if (!c || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0) {
		if (!c)
			log_client(LOG_WARN, "a connection was refused: %u are open", AGENT_CLIENTS);
		close(sock);
		return;
	}
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		of_uid += agent.client[i].in_use && agent.client[i].uid == cred.uid;
	/* A few more than allowed may stay to hear why not; the rest just finds the door shut. */
	if (of_uid >= agent.opt.uid_clients + UID_SLACK) {
		log_client(LOG_WARN, "a connection of user %u was refused: %u are open (--uid-clients)", cred.uid, of_uid);
		close(sock);
		return;
	}
	memset(c, 0, offsetof(struct client, ctx));
	for (unsigned i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		c->ctx[i].state = CONTEXT_FREE;
		c->ctx[i].dead_status = 0;
		c->ctx[i].kill = 0;
	}
	memset(&c->poisoned, 0, sizeof(*c) - offsetof(struct client, poisoned));
	c->index = (uint32_t)(c - agent.client);
	c->in_use = 1;
	c->sock = sock;
	c->kick_fd = -1;
	c->pid = cred.pid;
	c->uid = cred.uid;
	c->id = ++agent.next_id;
	c->since_ns = now_ns();
	c->pidfd = peer_pidfd(sock, cred.pid);
	if (c->pidfd >= 0)
		control_watch(CONTROL_PIDFD, c->index, c->id, c->pidfd, EPOLLIN);
	else
		log_debug("client %u: no pidfd (%s), its end is its hang-up", c->id, strerror(errno));
	control_watch(CONTROL_CLIENT, c->index, c->id, sock, EPOLLIN);
}

void client_accept(void)
{
	for (int i = 0; i < 16; i++) {
		int sock = accept4(agent.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (sock < 0) {
			if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
				log_client(LOG_WARN, "a connection could not be accepted: %s", strerror(errno));
			return;
		}
		accept_one(sock);
	}
}

void client_drop(struct client *c, const char *why)
{
	if (!c->in_use)
		return;
	c->in_use = 0;          /* first: health_lost() below us must not come back here */
	if (why)
		log_client(LOG_WARN, "client %u (%s, pid %d) is dropped: %s", c->id, c->command[0] ? c->command : "?", c->pid, why);
	else if (c->window)
		log_debug("client %u (%s, pid %d) is gone", c->id, c->command, c->pid);
	/* One that lives but misbehaved learns it from its contexts. */
	for (unsigned n = 0; why && n < VGPU_MAX_CONTEXTS; n++)
		if (c->ctx[n].state == CONTEXT_LIVE)
			context_died(&c->ctx[n], VGPU_ST_PROTOCOL, why);
	context_destroy_all(c);
	if (c->window) {
		mailbox_call(MAILBOX_DEL_CLIENT, c, 0);
		context_unmap_window(c);
		agent.window_bytes -= c->window_bytes;
		sigbus_release(c->index);
		if (c->grow_bytes)
			pool_free(&c->seg[c->segs]);
		for (unsigned s = 0; s < c->segs; s++)
			pool_free(&c->seg[s]);
		close(c->kick_fd);
	}
	if (c->pidfd >= 0) {
		control_unwatch(c->pidfd);
		close(c->pidfd);
	}
	control_unwatch(c->sock);
	close(c->sock);
	c->window = c->greeted = 0;
}

void client_drop_all(void)
{
	for (unsigned i = 0; i < AGENT_CLIENTS; i++)
		client_drop(&agent.client[i], NULL);
}

void client_attention(void)
{
	if (!vgpu_load_acquire32(&agent.attention))
		return;
	vgpu_exchange32(&agent.attention, 0);
	for (unsigned i = 0; i < AGENT_CLIENTS; i++) {
		struct client *c = &agent.client[i];

		if (!c->in_use)
			continue;
		if (vgpu_load_acquire32(&c->drop)) {
			client_drop(c, c->drop_text);
			continue;
		}
		for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
			struct context *x = &c->ctx[n];
			uint32_t status = vgpu_load_acquire32(&x->kill);

			if (status && x->state == CONTEXT_LIVE)
				context_died(x, status, x->kill_text);
		}
	}
}

/* Its HELLO is there: the delay is ours, in a crowd that connects at once. */
static int waits_for_us(const struct client *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN && !(p.revents & (POLLHUP | POLLERR));
}

int client_expire(void)
{
	uint64_t now = now_ns();
	int next = -1;

	for (unsigned i = 0; i < AGENT_CLIENTS; i++) {
		struct client *c = &agent.client[i];
		uint64_t age = (now - c->since_ns) / 1000000;

		int due = -1;

		if (!c->in_use)
			continue;
		if (c->held.again_ns)
			due = send_held(c, now);
		else if (!c->greeted && age >= HELLO_MS && !waits_for_us(c))
			client_drop(c, "no HELLO within 5 s");
		else if (!c->greeted)
			due = age < HELLO_MS ? (int)(HELLO_MS - age) + 1 : 0;
		if (due >= 0 && (next < 0 || due < next))
			next = due;
	}
	return next;
}
