/* SPDX-License-Identifier: MIT */
/*
 * See client.h. A client is a process that the kernel names to us (SO_PEERCRED); it is answered without ever waiting for it: who does
 * not read his answer is dropped. Its death is its pidfd, not the hang-up alone: with a forked child alive the socket stays open.
 */
#include "client.h"
#include "about.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "closer.h"
#include "context.h"
#include "control.h"
#include "guard.h"
#include "lent.h"
#include "hello.h"
#include "mailbox.h"
#include "message.h"
#include "share.h"
#include "sigbus.h"
#include "status.h"

#define HELLO_MS 5000

static int unfinished;          /* client_more() */

/* Ours are empty when they are closed; of one that was lent this may be the last descriptor, and its pages many. */
static void seg_free(struct pool_mem *m)
{
	if (m->lent && m->fd >= 0) {
		closer_close(m->fd);
		m->fd = -1;
	}
	m->lent = 0;
	pool_free(m);
}

/* One whose connection is closed: what its contexts still use goes when they have ended. Until then its place is taken and its memory is its own. */
static void leave(struct client *c)
{
	uint64_t budget = POOL_NOW;
	int kept = 0;

	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++)
		if (c->ctx[n].state != CONTEXT_FREE)
			return;
	if (c->sock >= 0)
		return;         /* client_drop() has not come so far yet */
	if (c->ask_lent.lent)
		seg_free(&c->ask_lent);
	if (c->grow_bytes) {            /* it never had this one */
		tenant_charge(c, -(int64_t)pool_room(&c->seg[c->segs]));
		seg_free(&c->seg[c->segs]);
		c->grow_bytes = 0;
	}
	if (c->grow_map) {              /* this one devices may have: it goes as the others do */
		c->grow_map = GROW_NONE;
		c->window_bytes += pool_room(&c->seg[c->segs++]);
	}
	if (c->window && c->seg0) {
		if (context_unmap_window(c) < 0)
			return;
		sigbus_release(c->index);
		c->seg0 = NULL;
	}
	/*
	 * He may have kept the descriptors, or sent them to others: each file is punched whole, in slices. Only then its memory is
	 * no longer charged to him here; what somebody touches of it later is charged to that one, by the kernel. A process that
	 * lives on without us has its own memory in WINDOW_OWN: that stays, and stays charged, until the process ends (client_gone).
	 * An agent that ends takes nobody's memory away.
	 */
	for (unsigned s = c->segs; s--;) {
		struct pool_mem *m = &c->seg[s];
		int others = agent.stop || m->lent || share_elsewhere(c, s);
		uint64_t gone;

		if (m->own && client_keeps(c) && !agent.stop) {
			kept = 1;
			continue;
		}
		/* what others have too is theirs now */
		gone = others ? pool_room(m) : m->bytes ? pool_punch(m, budget) : 0;
		tenant_charge(c, -(int64_t)gone);
		c->window_bytes -= gone;
		if (!others) {
			budget -= gone;
			unfinished |= m->bytes != 0;
			if (m->bytes)
				return;
		}
		seg_free(m);
	}
	if (kept)
		return;
	client_more();
	c->segs = 0;
	tenant_drop(c);
	c->window = c->greeted = 0;
	client_place(c, 0);
}

void client_take_time(struct client *c, int what)
{
	c->asked = what;
	control_unwatch(c->sock);
}

void client_listen_again(struct client *c)
{
	c->asked = ASKED_NOTHING;
	if (!c->held.again_ns)          /* else answer_held() does it */
		control_watch(CONTROL_CLIENT, c->index, c->id, c->sock, EPOLLIN);
}

/* ---- requests that take their time: the client is not listened to until they are answered ------------------- */

static void context_refused(uint32_t device)
{
	if (device < agent.opt.devices)
		agent.dev[device].refused++;
}

static void create_progress(struct client *c)
{
	struct vgpu_msg_ctx_r r = { .status = VGPU_ST_INVALID };
	struct context *x = c->ask_ctx;

	if (!x && c->window)
		r.status = context_begin(c, c->ask.device, c->ask.weight, c->ask.place, &c->ask_ctx);
	if (!x && (r.status == VGPU_ST_OK || r.status == VGPU_ST_BUSY))
		return;
	if (x && (x->state == CONTEXT_STARTING || (x->state == CONTEXT_ENDING && x->result)))
		return;
	if (x) {
		r.status = x->result;
		r.context = x->number;
	}
	if (r.status == VGPU_ST_LIMIT && !x)
		guard_refused(c);
	if (r.status != VGPU_ST_OK)
		context_refused(c->ask.device);
	if (answer_send(c, &r, sizeof(r), VGPU_MSG_CTX_CREATE, NULL, 0) == 0)
		client_listen_again(c);
}

static void destroy_progress(struct client *c)
{
	struct context *x = &c->ctx[c->ask.context % VGPU_MAX_CONTEXTS];

	if (x->state == CONTEXT_FREE && answer_status(c, VGPU_MSG_CTX_DESTROY, VGPU_ST_OK) == 0)
		client_listen_again(c);
}

static uint32_t grow_type(const struct client *c)
{
	return c->ask_type;
}

/* The segment is there when every context that lives has it. */
static void grow(struct client *c, uint64_t bytes);
static void grow_map(struct client *c);

static void grow_progress(struct client *c)
{
	struct vgpu_msg_grow_r r = { .status = VGPU_ST_OK };
	unsigned s;

	if (c->grow_map)
		grow_map(c);
	if (c->grow_bytes || c->grow_map || c->asked != ASKED_GROW)
		return;
	if (c->ask_grow) {
		grow(c, c->ask_grow);
		return;
	}
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++)
		if (c->ctx[n].state == CONTEXT_LIVE && c->ctx[n].segs < c->segs)
			return;
	s = c->segs - 1;
	r.offset = c->seg_offset[s];
	r.bytes = c->seg[s].bytes;
	if (answer_send(c, &r, sizeof(r), grow_type(c), &c->seg[s].fd, !c->seg[s].lent) == 0)
		client_listen_again(c);
}

static void map_progress(struct client *c);

void client_progress(struct client *c)
{
	if (c->leaving) {
		leave(c);
		return;
	}
	switch (c->asked) {
	case ASKED_HELLO:
		hello_answer(c, &c->ask_hello);
		break;
	case ASKED_CREATE:
		create_progress(c);
		break;
	case ASKED_DESTROY:
		destroy_progress(c);
		break;
	case ASKED_GROW:
		grow_progress(c);
		break;
	case ASKED_MAP_AT:
		map_progress(c);
		break;
	case ASKED_NOTHING:
		break;
	}
}

static void context_ask(struct client *c, const struct vgpu_msg_ctx *m)
{
	struct vgpu_msg_ctx_r no = { .status = VGPU_ST_LIMIT };

	if (guard_context(c)) {
		context_refused(m->device);
		answer_send(c, &no, sizeof(no), VGPU_MSG_CTX_CREATE, NULL, 0);
		return;
	}
	c->ask = *m;
	c->ask_ctx = NULL;
	client_take_time(c, ASKED_CREATE);
	client_progress(c);
}

static void context_drop(struct client *c, const struct vgpu_msg_ctx *m)
{
	if (m->context >= VGPU_MAX_CONTEXTS || c->ctx[m->context].state == CONTEXT_FREE) {
		answer_status(c, VGPU_MSG_CTX_DESTROY, VGPU_ST_BAD_HANDLE);
		return;
	}
	c->ask = *m;
	client_take_time(c, ASKED_DESTROY);
	context_end(&c->ctx[m->context]);
	if (c->asked == ASKED_DESTROY)
		client_progress(c);
}

static void grow_refuse(struct client *c, uint32_t status)
{
	struct vgpu_msg_grow_r r = { .status = status };

	if (c->ask_lent.lent)
		seg_free(&c->ask_lent);
	if (answer_send(c, &r, sizeof(r), grow_type(c), NULL, 0) == 0 && c->asked == ASKED_GROW)
		client_listen_again(c);
}

static int grow_memory(struct client *c, struct pool_mem *m, uint64_t bytes)
{
	unsigned s = c->segs;
	int rc;

	if (c->ask_type == VGPU_MSG_SHARED_OPEN)
		return share_open(c, s);
	c->share[s].file = 0;
	c->share[s].told = 0;
	if (c->ask_type == VGPU_MSG_WINDOW_LENT) {
		*m = c->ask_lent;
		c->ask_lent.lent = 0;
		return 0;
	}
	if (c->ask_type == VGPU_MSG_WINDOW_GROW)
		return pool_alloc(m, bytes, "vgpu-window");
	rc = pool_alloc_own(m, bytes, "vgpu-window");
	if (rc == 0)
		share_made(c, s);
	return rc;
}

static void grow(struct client *c, uint64_t bytes)
{
	struct pool_mem *m = &c->seg[c->segs % AGENT_SEGMENTS];
	uint64_t whole;
	int rc;

	if (!c->window || !bytes) {
		grow_refuse(c, VGPU_ST_INVALID);
		return;
	}
	whole = (bytes + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	c->ask_grow = 0;
	if (bytes <= agent.opt.client_window && whole <= agent.opt.client_window - c->window_bytes && !tenant_may_have(c, whole) &&
	    hello_comes_back()) {
		c->ask_grow = bytes;
		if (!c->asked)
			client_take_time(c, ASKED_GROW);
		return;
	}
	if (bytes > agent.opt.client_window || whole > agent.opt.client_window - c->window_bytes || !tenant_may_have(c, whole)) {
		grow_refuse(c, VGPU_ST_OUT_OF_MEMORY);
		return;
	}
	if (c->segs >= AGENT_SEGMENTS) {
		grow_refuse(c, VGPU_ST_LIMIT);
		return;
	}
	rc = grow_memory(c, m, bytes);
	if (rc < 0) {
		grow_refuse(c, rc == -ENOENT ? VGPU_ST_NOT_FOUND : VGPU_ST_OUT_OF_MEMORY);
		return;
	}
	if (!c->asked)
		client_take_time(c, ASKED_GROW);
	tenant_charge(c, (int64_t)pool_room(m));        /* before it is there: nobody else may have it */
	/* A large one takes a second to commit: in slices, so that others are served meanwhile. */
	c->grow_bytes = m->bytes;
	c->grow_done = m->hugetlb || m->own || m->lent ? m->bytes : m->bytes < POOL_NOW ? m->bytes : POOL_NOW;
	client_grow_step(c);
}

static void shared_open(struct client *c, const struct vgpu_msg_token *m)
{
	struct client *owner;
	struct pool_mem *from;
	unsigned s;

	c->ask_type = VGPU_MSG_SHARED_OPEN;
	memcpy(c->ask_token, m->token, sizeof(c->ask_token));
	from = c->window ? share_find(c, m->token, &owner, &s) : NULL;
	if (from)
		grow(c, from->bytes);
	else
		grow_refuse(c, VGPU_ST_NOT_FOUND);
}

/* fd is taken. */
static void lent(struct client *c, const struct vgpu_msg_lent *m, int fd)
{
	int rc = pool_lent(&c->ask_lent, fd, m->offset, m->bytes);

	c->ask_type = VGPU_MSG_WINDOW_LENT;
	if (rc == 0) {
		grow(c, m->bytes);
		return;
	}
	closer_close(fd);
	grow_refuse(c, rc == -EINVAL ? VGPU_ST_INVALID : VGPU_ST_NOT_SUPPORTED);
}

static void map_at(struct client *c, const struct vgpu_msg_map_at *m)
{
	uint32_t st = share_map_begin(c, m);

	if (st)
		answer_status(c, VGPU_MSG_MAP_AT, st);
	else
		client_take_time(c, ASKED_MAP_AT);
}

static void map_progress(struct client *c)
{
	struct context *x = &c->ctx[c->ask_map.context];
	uint32_t st = x->state != CONTEXT_LIVE ? VGPU_ST_CONTEXT_DEAD : x->map_result;

	if (x->state == CONTEXT_LIVE && x->map != MAP_DONE)
		return;
	x->map = MAP_NONE;
	if (answer_status(c, VGPU_MSG_MAP_AT, st) == 0)
		client_listen_again(c);
}

static void not_grown(struct client *c, uint32_t status)
{
	tenant_charge(c, -(int64_t)pool_room(&c->seg[c->segs]));
	seg_free(&c->seg[c->segs]);
	grow_refuse(c, status);
}

static void grow_map(struct client *c)
{
	unsigned s = c->segs;
	int undone;

	if (context_map_segment(c, s) < 0)
		return;
	undone = c->grow_map == GROW_UNDONE;
	c->grow_map = GROW_NONE;
	if (undone) {
		not_grown(c, c->grow_status);
		return;
	}
	c->window_bytes += pool_room(&c->seg[s]);
	c->segs = s + 1;
	client_more();
}

/* Its memory is there: now devices and contexts are to have it. */
static void grown(struct client *c, uint32_t status)
{
	if (status != VGPU_ST_OK) {
		not_grown(c, status);
		return;
	}
	c->seg_offset[c->segs] = c->window_bytes;
	c->seg_on[c->segs] = 0;
	c->grow_map = GROW_MAPS;
	c->grow_told = c->grow_status = 0;
	client_progress(c);
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
	grown(c, rc < 0 ? VGPU_ST_OUT_OF_MEMORY : VGPU_ST_OK);
}

/* What monitors and the administrator ask. */
static void asked(struct client *c, const union message *m)
{
	uint32_t id = c->id;
	void *reply;
	size_t bytes = status_answer(c, m, &reply);

	/* he may have ended himself */
	if (client_here(c) && !c->leaving && c->id == id)
		answer_send(c, reply, bytes, m->h.type, NULL, 0);
}

void client_readable(struct client *c)
{
	uint8_t bytes[MESSAGE_MAX];
	union message m;
	const char *why;
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = -1;
	ssize_t n;

	/*
	 * No room for descriptors, and none are taken: reading the message would be their last close (closer.h). The one message that
	 * brings one is read with room for all.
	 */
	n = recvmsg(c->sock, &msg, MSG_DONTWAIT | MSG_PEEK);
	if (n >= 0 && msg.msg_flags & MSG_CTRUNC) {
		memcpy(&m.h, bytes, sizeof(m.h));
		if (n == sizeof(m.lent) && m.h.type == VGPU_MSG_WINDOW_LENT && c->window)
			n = lent_receive(c->sock, bytes, sizeof(bytes), &fd);
		if (fd < 0) {
			guard_fault(c);
			client_drop(c, "descriptors that nobody asked for");
			return;
		}
	} else if (n > 0) {
		n = recvmsg(c->sock, &msg, MSG_DONTWAIT);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_drop(c, NULL);
		return;
	}
	if (message_parse(bytes, (size_t)n, &m, &why) < 0 || (m.h.type == VGPU_MSG_WINDOW_LENT && fd < 0 && (why = "WINDOW_LENT without a file"))) {
		if (fd >= 0)
			closer_close(fd);
		guard_fault(c);
		client_drop(c, why);
		return;
	}
	if (!c->greeted && m.h.type != VGPU_MSG_HELLO) {
		client_drop(c, "a request before HELLO");
		return;
	}
	switch (m.h.type) {
	case VGPU_MSG_HELLO:
		hello_answer(c, &m.hello);
		break;
	case VGPU_MSG_CTX_CREATE:
		context_ask(c, &m.ctx);
		break;
	case VGPU_MSG_CTX_DESTROY:
		context_drop(c, &m.ctx);
		break;
	case VGPU_MSG_WINDOW_GROW:
	case VGPU_MSG_WINDOW_OWN:
		c->ask_type = m.h.type;
		grow(c, m.grow.bytes);
		break;
	case VGPU_MSG_SHARE:
		share_ask(c, &m.grow);
		break;
	case VGPU_MSG_SHARED_OPEN:
		shared_open(c, &m.token);
		break;
	case VGPU_MSG_MAP_AT:
		map_at(c, &m.map_at);
		break;
	case VGPU_MSG_WINDOW_LENT:
		lent(c, &m.lent, fd);
		break;
	case VGPU_MSG_DEVICE:
	case VGPU_MSG_STATUS:
	case VGPU_MSG_LOAD:
	case VGPU_MSG_CONTEXTS:
	case VGPU_MSG_CTL:
	case VGPU_MSG_GATE:
	case VGPU_MSG_GATES:
	case VGPU_MSG_ALLOT:
	case VGPU_MSG_ALLOTS:
	case VGPU_MSG_WORK:
	case VGPU_MSG_TIMES:
		asked(c, &m);
		break;
	}
}

/* ---- coming and going -------------------------------------------------------------------- */

/* Its window is taken back: what its contexts say there may be gone before it looks. */
static void say_bye(struct client *c, uint32_t status, const char *why)
{
	struct vgpu_msg_bye m = { .h = { VGPU_MSG_BYE, sizeof(m) }, .status = status };

	snprintf(m.text, sizeof(m.text), "%s", why);
	(void)answer_now(c, &m, sizeof(m), NULL, 0);    /* one that reads nothing is told nothing */
}

static int has_own(const struct client *c)
{
	for (unsigned s = 0; s < c->segs; s++)
		if (c->seg[s].own)
			return 1;
	return 0;
}

static void forget_process(struct client *c)
{
	control_unwatch(c->pidfd);
	close(c->pidfd);
	c->pidfd = -1;
}

void client_drop(struct client *c, const char *why)
{
	client_end(c, VGPU_ST_PROTOCOL, why);
}

void client_end(struct client *c, uint32_t status, const char *why)
{
	if (!client_here(c) || c->leaving)
		return;
	c->leaving = 1;
	c->asked = ASKED_NOTHING;
	c->held.again_ns = 0;
	log_about(c);
	if (why)
		log_client(LOG_WARN, "client %u (%s, pid %d) is dropped: %s", c->id, c->command[0] ? c->command : "?", c->pid, why);
	else if (c->window)
		log_client(LOG_INFO, "client %u goes: %s, pid %d, uid %u, after %llu s, %llu commands", c->id, c->command, c->pid, c->uid,
			   (unsigned long long)((now_ns() - c->since_ns) / 1000000000u), (unsigned long long)status_commands(c));
	else
		log_nobody();
	/* One that lives but misbehaved learns it from its contexts, or from this. */
	if (why && c->window)
		say_bye(c, status, why);
	for (unsigned n = 0; n < VGPU_MAX_CONTEXTS; n++) {
		if (why && c->ctx[n].state == CONTEXT_LIVE)
			context_died(&c->ctx[n], status, why);
		context_end(&c->ctx[n]);
	}
	if (c->window) {
		mailbox_call(MAILBOX_DEL_CLIENT, c, 0);
		close(c->kick_fd);
		/* Release, and before a page of it goes: what it reads there from now on may be nothing (vg_window_gone()). */
		if (!agent.stop)
			vgpu_store_release32(&c->session->magic, 0);
	}
	if (c->pidfd >= 0 && !has_own(c))
		forget_process(c);
	control_unwatch(c->sock);
	closer_close(c->sock);
	c->sock = c->kick_fd = -1;
	leave(c);
}

void client_gone(struct client *c)
{
	client_drop(c, NULL);
	if (client_here(c) && c->pidfd >= 0) {
		forget_process(c);
		leave(c);
	}
}

void client_drop_all(void)
{
	for (struct client *c = NULL; (c = client_after(c));)
		client_drop(c, NULL);
}

int client_any(void)
{
	for (const struct client *c = NULL; (c = client_after(c));)
		if (c->window || !c->greeted)
			return 1;
	return 0;
}

void client_attention(void)
{
	if (!vgpu_load_acquire32(&agent.attention))
		return;
	vgpu_exchange32(&agent.attention, 0);
	for (struct client *c = NULL; (c = client_after(c));) {
		if (c->leaving)
			continue;
		if (vgpu_load_acquire32(&c->drop)) {
			guard_fault(c);
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

void client_more(void)
{
	unfinished = 1;
}

int client_unfinished(void)
{
	int yes = unfinished;

	unfinished = 0;
	return yes;
}

int client_expire(void)
{
	uint64_t now = now_ns();
	int next = -1;

	for (struct client *c = NULL; (c = client_after(c));) {
		uint64_t age = (now - c->since_ns) / 1000000;
		int due = -1;

		if (c->leaving) {
			leave(c);
			continue;
		}
		/* it waits for a queue, or memory, that comes back soon */
		if ((c->asked == ASKED_CREATE && !c->ask_ctx) || c->asked == ASKED_HELLO || (c->asked == ASKED_GROW && c->ask_grow))
			client_progress(c);
		if (c->held.again_ns)
			due = answer_held(c, now);
		else if (!c->greeted && age >= HELLO_MS && !c->asked && !waits_for_us(c))
			client_drop(c, "no HELLO within 5 s");
		else if (!c->greeted)
			due = age < HELLO_MS ? (int)(HELLO_MS - age) + 1 : 0;
		if (due >= 0 && (next < 0 || due < next))
			next = due;
	}
	return next;
}
