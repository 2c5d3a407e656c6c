/* SPDX-License-Identifier: MIT */
/*
 * The data thread. Everything between data_loop() and epoll_wait() is the hot path: no allocation, no
 * lock, no system call but to wake somebody who said that he sleeps.
 *
 *   client's ioq ──copy once, check, publish──▸ device's ring ──▸ context process
 *   client's ctlq ──check, quota, restamp──▸ device's control ring; reply ──▸ client's reply slot
 *   device's irq_pending ──▸ fired bits ──▸ futexes of the timelines that somebody sleeps on
 *
 * Both neighbours are hostile. A word of theirs is read once, into a local, checked, then used. A
 * turn does a bounded amount for each client, so none can keep the thread from the others; one
 * that breaks the rules is looked at no more, and the control thread is told to end it.
 */
#include "data.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "device.h"
#include "idle.h"
#include "load.h"
#include "mailbox.h"
#include "seccomp.h"
#include "sigbus.h"
#include "vgpu_slice.h"

#define CTL_BATCH 8u
#define STALL_MS_MAX 16
#define QUIET_TURNS 1024u       /* so many turns without work, and a client is looked at less often */
#define QUIET_LOOKS 2u          /* of the quiet ones, in a turn that has other work */
#define QUIET_AWAY 8u           /* of the quiet ones, those that were lively last: what a GPU does for them */
#define FEW_SLOTS 4u            /* forwarded in a turn: somebody waits for these, nobody streams */
#define RING_AHEAD 16u          /* slots: the device has read that line, and comes back to it in a lap */

static struct {
	struct client *live[AGENT_CLIENTS];     /* first those with work lately, then the quiet ones */
	unsigned n, lively, next_quiet;
	struct idle idle;
	unsigned stalled, waiting;      /* seen in the last turn: full rings, replies to come */
	uint64_t forwarded;             /* in the last turn: slots */
	int quit;
	pthread_t thread;
} data AGENT_STATE;

/* Counters that the control thread reads for STATUS. One writer: this thread. */
static inline void count(uint64_t *word, uint64_t n)
{
	vgpu_store_relaxed64(word, vgpu_load_relaxed64(word) + n);
}

/* ---- words to the control thread --------------------------------------------------------- */

static void attention(void)
{
	static const uint64_t one = 1;

	vgpu_store_release32(&agent.attention, 1);
	if (write(agent.wake_c, &one, 8) < 0)
		return;         /* EAGAIN: it is full of wake-ups */
}

static void drop_client(struct client *c, const char *why, uint64_t a, uint64_t b)
{
	c->dropped = 1;
	snprintf(c->drop_text, sizeof(c->drop_text), why, (unsigned long long)a, (unsigned long long)b);
	vgpu_store_release32(&c->drop, 1);
	attention();
}

static void kill_context(struct client *c, struct context *x, uint32_t status, const char *why, uint64_t a, uint64_t b)
{
	c->live &= ~(1u << x->number);
	snprintf(x->kill_text, sizeof(x->kill_text), why, (unsigned long long)a, (unsigned long long)b);
	vgpu_store_release32(&x->kill, status);
	attention();
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Out of shared memory, once: the barrier keeps the compiler from reading the source again. */
static inline __attribute__((always_inline)) void copy_slot(void *to, const void *from)
{
	__builtin_memcpy(to, from, VGPU_SLOT_BYTES);
	__asm__ volatile("" ::: "memory");
}

/* All but the sequence word, then that one with release: the partner is vgpu_slot_ready(). */
static inline __attribute__((always_inline)) void publish(union vgpu_slot *to, const struct vgpu_cmd *c, uint64_t index)
{
	__builtin_memcpy((uint8_t *)to + 4, (const uint8_t *)c + 4, VGPU_SLOT_BYTES - 4);
	vgpu_slot_publish(to, index);
}

AGENT_HOT static void wake_device(struct context *x)
{
	vgpu_publisher_fence(x->asym);
	if (!vgpu_load_relaxed32(&x->qb->need_wakeup))
		return;
	vgpu_store_relaxed32(&x->qb->need_wakeup, 0);
	count(&agent.wakes_sent, 1);
	device_ring(x->device, 1 + x->qid, x->doorbell_fd);
}

/* ---- I/O queue --------------------------------------------------------------------------- */

/* Slots [index, index + n) fit into the device's ring. 0: full, or the device lied (killed). */
AGENT_HOT static int ring_room(struct client *c, struct context *x, uint64_t index, unsigned n)
{
	uint64_t head;

	if (index + n - x->io_taken <= VGPU_DEV_IO_SLOTS)
		return 1;
	head = vgpu_load_acquire64(&x->qb->io_head);
	if (head < x->io_taken || head > index) {
		kill_context(c, x, VGPU_ST_INTERNAL, "the context's process broke the protocol: consumed %llu of %llu slots",
			     head, index);
		return 0;
	}
	x->io_taken = head;
	return index + n - head <= VGPU_DEV_IO_SLOTS;
}

/* The one payload slot of those that have something to check in it. */
static int one_slot(const struct context *x, const struct vgpu_cmd *h, const union vgpu_slot *s)
{
	struct vgpu_params_at at;
	struct vgpu_copy3d box;

	if (h->op == VGPU_OP_COPY3D) {
		__builtin_memcpy(&box, s->payload.bytes, sizeof(box));
		return vgpu_check_copy3d(h, &box, &x->env) == VGPU_ST_OK;
	}
	if (h->op == VGPU_OP_LAUNCH_LARGE) {
		__builtin_memcpy(&at, s->payload.bytes, sizeof(at));
		return vgpu_check_params_at(h, &at, &x->env) == VGPU_ST_OK;
	}
	return 1;
}

/* Payload slots of a checked header, client's queue to device's ring. 0: malformed. */
AGENT_HOT static int copy_payload(struct context *x, const struct vgpu_cmd *h, uint64_t index)
{
	struct vgpu_gemm gemm;

	for (unsigned k = 1; k < h->slots; k++) {
		union vgpu_slot s;

		copy_slot(&s, &x->ioq[(index + k) % VGPU_IOQ_SLOTS]);
		if (s.payload.seq != (uint32_t)(index + k + 1) || s.payload.zero)
			return 0;
		if (h->op != VGPU_OP_LAUNCH && !one_slot(x, h, &s))
			return 0;
		/* two slots, as vgpu_check_cmd has seen */
		if (h->op == VGPU_OP_GEMM || h->op == VGPU_OP_TRSM)
			__builtin_memcpy((uint8_t *)&gemm + (k - 1) * VGPU_SLOT_PAYLOAD, s.payload.bytes, VGPU_SLOT_PAYLOAD);
		copy_slot(&x->ring[(index + k) % VGPU_DEV_IO_SLOTS], &s);
	}
	if (h->op == VGPU_OP_GEMM || h->op == VGPU_OP_TRSM)
		return vgpu_check_gemm(h, &gemm, &x->env) == VGPU_ST_OK;
	return 1;
}

AGENT_HOT static unsigned io_turn(struct client *c, struct context *x)
{
	uint64_t index = x->io_index, first = index, commands = 0;
	int more = 0;

	x->stalled = 0;
	if (!vgpu_slot_ready(&x->ioq[index % VGPU_IOQ_SLOTS], index))
		return 0;
	drr_begin(&x->share);
	for (;;) {
		const union vgpu_slot *s = &x->ioq[index % VGPU_IOQ_SLOTS];
		struct vgpu_cmd h;

		if (!vgpu_slot_ready(s, index))
			break;
		copy_slot(&h, s);
		if (vgpu_check_cmd(&h, VGPU_Q_IO, index, &x->env) != VGPU_ST_OK) {
			kill_context(c, x, VGPU_ST_PROTOCOL, "malformed command: slot %llu, op %llu", index, h.op);
			break;
		}
		if (!drr_take(&x->share, h.slots)) {
			more = 1;
			break;
		}
		if (!ring_room(c, x, index, h.slots)) {
			x->stalled = 1;
			data.stalled++;
			break;
		}
		if (h.slots > 1 && !copy_payload(x, &h, index)) {
			kill_context(c, x, VGPU_ST_PROTOCOL, "malformed payload: slot %llu, op %llu", index, h.op);
			break;
		}
		publish(&x->ring[index % VGPU_DEV_IO_SLOTS], &h, index);
		for (unsigned k = 0; k < h.slots; k++)
			vgpu_prefetch_write(&x->ring[(index + RING_AHEAD + k) % VGPU_DEV_IO_SLOTS]);
		index += h.slots;
		commands++;
	}
	drr_end(&x->share, more);
	if (index == first)
		return (unsigned)more;
	x->io_index = index;
	data.forwarded += index - first;
	data.idle.word = &x->ioq[index % VGPU_IOQ_SLOTS].cmd.seq;
	data.idle.ready = (uint32_t)(index + 1);
	count(&x->commands, commands);
	vgpu_ring_consumed(&x->head->io_head, index);
	wake_device(x);
	return 1;
}

/* ---- control queue --------------------------------------------------------------------------- */

AGENT_HOT static void reply_client(struct client *c, unsigned slot, uint32_t seq, uint32_t status, const uint64_t v[5])
{
	struct vgpu_reply *r = &c->replies[slot % VGPU_REPLIES];

	for (int i = 0; i < 5; i++)
		vgpu_store_relaxed64(&r->v[i], v ? v[i] : 0);
	vgpu_store_relaxed32(&r->status, status);
	vgpu_store_release32(&r->seq, seq);
	/* Partner: the client's fence between waiter = 1 and its last look at seq. */
	vgpu_publisher_fence(c->asym);
	if (vgpu_load_relaxed32(&r->waiter)) {
		vgpu_store_relaxed32(&r->waiter, 0);
		vgpu_store_release32(&r->wake, vgpu_load_relaxed32(&r->wake) + 1);
		futex_wake(&r->wake);
	}
}

static void charge(struct client *c, struct context *x, uint64_t bytes)
{
	x->memory_bytes += bytes;
	count(&c->memory_bytes, bytes);
	for (unsigned k = 0; k < TENANT_KINDS; k++)
		if (c->tenant[k])
			c->tenant[k]->memory_bytes += bytes;
	x->device->memory_used += bytes;
	vgpu_store_relaxed64(&agent.page->device[x->device->index].memory_used, x->device->memory_used);
}

static void refund(struct client *c, struct context *x, uint64_t bytes)
{
	if (bytes > x->memory_bytes)    /* a context that says yes to a free too many */
		bytes = x->memory_bytes;
	charge(c, x, 0 - bytes);
}

static inline int more(uint64_t have, uint64_t bytes, uint64_t limit)
{
	return bytes > limit || have > limit - bytes;
}

/* Partner: allot_to(), on the control thread. */
static int tenant_over(const struct tenant *t, uint64_t bytes, uint64_t limit)
{
	if (t && vgpu_load_relaxed64(&t->memory_limit))
		limit = vgpu_load_relaxed64(&t->memory_limit);
	return limit && t && more(t->memory_bytes, bytes, limit);
}

static int over_quota(const struct client *c, const struct context *x, uint64_t bytes)
{
	uint64_t device = x->device->info.memory_bytes;

	uint64_t quota = vgpu_load_relaxed64(&c->memory_quota);

	return (quota && more(c->memory_bytes, bytes, quota)) || more(x->device->memory_used, bytes, device) ||
	       tenant_over(c->tenant[TENANT_USER], bytes, vgpu_load_relaxed64(&agent.opt.uid_memory)) ||
	       tenant_over(c->tenant[TENANT_CONTAINER], bytes, vgpu_load_relaxed64(&agent.opt.container_memory));
}

/* Into the context's control ring. 0: no room until it answers. */
static int forward(struct client *c, struct context *x, struct vgpu_cmd *h)
{
	unsigned place = x->ctl_tail % VGPU_DEV_CTL_SLOTS;
	struct pending *p = &x->pending[place];
	uint64_t index = x->ctl_tail;

	if (x->outstanding >> place & 1)
		return 0;
	p->bytes = 0;
	p->op = h->op;
	p->reply = h->u.ctl.reply;
	p->client_seq = (uint32_t)h->ticket;
	if (h->op == VGPU_OP_MEM_ALLOC || h->op == VGPU_OP_PHYS_ALLOC) {
		if (over_quota(c, x, h->u.ctl.b)) {
			reply_client(c, p->reply, p->client_seq, VGPU_ST_OUT_OF_MEMORY, NULL);
			return 1;
		}
		p->bytes = h->u.ctl.b;
		charge(c, x, p->bytes);
	} else if (h->op == VGPU_OP_MEM_FREE || h->op == VGPU_OP_PHYS_FREE) {
		p->bytes = h->u.ctl.b;
	}
	h->ticket = index + 1;
	publish(&x->ctl[place], h, index);
	x->outstanding |= 1ull << place;
	x->ctl_tail = index + 1;
	wake_device(x);
	return 1;
}

AGENT_HOT static unsigned ctl_turn(struct client *c)
{
	uint64_t index = c->ctl_index, first = index;

	while (index - first < CTL_BATCH) {
		const union vgpu_slot *s = &c->ctlq[index % VGPU_CTLQ_SLOTS];
		struct context *x = NULL;
		struct vgpu_cmd h;
		unsigned n;

		if (!vgpu_slot_ready(s, index))
			break;
		copy_slot(&h, s);
		n = h.u.ctl.context;
		if (n < VGPU_MAX_CONTEXTS && (c->live >> n & 1))
			x = &c->ctx[n];
		if (vgpu_check_cmd(&h, VGPU_Q_CTL, index, x ? &x->env : &c->any_env) != VGPU_ST_OK) {
			drop_client(c, "malformed control command: slot %llu, op %llu", index, h.op);
			return 1;
		}
		if (h.op == VGPU_OP_AGENT_PING) {
			reply_client(c, h.u.ctl.reply, (uint32_t)h.ticket, VGPU_ST_OK, NULL);
		} else if (!x) {
			uint32_t dead = c->ctx[n].dead_status;

			reply_client(c, h.u.ctl.reply, (uint32_t)h.ticket, dead ? dead : VGPU_ST_BAD_HANDLE, NULL);
		} else if (!forward(c, x, &h)) {
			break;
		}
		index++;
	}
	if (index == first)
		return 0;
	c->ctl_index = index;
	count(&c->commands, index - first);
	vgpu_ring_consumed(&c->session->ctl_head, index);
	return 1;
}

/* Answers of the device to control commands, in whatever order they come. */
AGENT_HOT static unsigned reply_turn(struct client *c, struct context *x)
{
	unsigned done = 0;

	for (uint64_t left = x->outstanding; left; left &= left - 1) {
		unsigned place = (unsigned)__builtin_ctzll(left);
		struct vgpu_reply *r = &x->replies[place];
		struct pending *p = &x->pending[place];
		/* the index below ctl_tail that fell on this place */
		uint64_t index = x->ctl_tail - 1 - (x->ctl_tail - 1 - place) % VGPU_DEV_CTL_SLOTS;
		uint64_t v[5];
		uint32_t status;

		if (vgpu_load_acquire32(&r->seq) != (uint32_t)(index + 1))
			continue;
		status = vgpu_load_relaxed32(&r->status);
		for (int i = 0; i < 5; i++)
			v[i] = vgpu_load_relaxed64(&r->v[i]);
		if (!vgpu_status_known(status))
			status = VGPU_ST_INTERNAL;
		x->outstanding &= ~(1ull << place);
		if ((p->op == VGPU_OP_MEM_ALLOC || p->op == VGPU_OP_PHYS_ALLOC) ? status != VGPU_ST_OK :
		    (p->op == VGPU_OP_MEM_FREE || p->op == VGPU_OP_PHYS_FREE) && status == VGPU_ST_OK)
			refund(c, x, p->bytes);
		reply_client(c, p->reply, p->client_seq, status, v);
		done = 1;
	}
	if (x->outstanding)
		data.waiting++;
	return done;
}

/* ---- waking waiters -------------------------------------------------------------------------- */

AGENT_HOT static unsigned irq_turn(struct context *x)
{
	if (!vgpu_load_relaxed32(&x->qb->irq_pending))
		return 0;
	/* Cleared before the look (a full barrier): what fires from here on interrupts again. */
	vgpu_exchange32(&x->qb->irq_pending, 0);
	vgpu_full_fence();
	for (unsigned i = 0; i < VGPU_MAX_STREAMS / 64; i++) {
		uint64_t fired = vgpu_load_relaxed64(&x->qb->fired[i]) ? vgpu_exchange64(&x->qb->fired[i], 0) : 0;

		for (; fired; fired &= fired - 1) {
			struct vgpu_timeline *t = &x->timelines[i * 64 + (unsigned)__builtin_ctzll(fired)];

			vgpu_store_release32(&t->wake, vgpu_load_relaxed32(&t->wake) + 1);
			futex_wake(&t->wake);
			count(&agent.wakes_sent, 1);
		}
	}
	return 1;
}

/* ---- the loop ------------------------------------------------------------------------------- */

AGENT_HOT static unsigned client_turn(struct client *c)
{
	unsigned work;

	if (c->dropped)
		return 0;
	work = ctl_turn(c);
	for (uint32_t left = c->live; left; left &= left - 1) {
		struct context *x = &c->ctx[__builtin_ctz(left)];

		work |= io_turn(c, x);
		work |= irq_turn(x);
		if (x->outstanding)
			work |= reply_turn(c, x);
	}
	/* Set by the SIGBUS handler of this very thread, or by the control thread's. */
	if (vgpu_load_relaxed32(&c->poisoned) && !c->dropped)
		drop_client(c, "its shared memory was taken away (hole punched, or no huge page left)", 0, 0);
	return work;
}

AGENT_HOT static void swap(unsigned a, unsigned b)
{
	struct client *c = data.live[a];

	data.live[a] = data.live[b];
	data.live[b] = c;
}

/*
 * Every lively client, and a few of the quiet ones: clients that do nothing cost the others next to nothing. A turn
 * without work looks at all, so the one before a sleep does too.
 */
AGENT_HOT static unsigned turn(void)
{
	unsigned work = 0, quiet, looks;

	data.stalled = data.waiting = 0;
	data.forwarded = 0;
	for (unsigned i = 0; i < data.lively;) {
		struct client *c = data.live[i];
		unsigned stuck = data.stalled + data.waiting, did = client_turn(c);

		/* who waits for room or a reply is not quiet */
		c->quiet = did || data.stalled + data.waiting != stuck ? 0 : c->quiet + 1;
		work |= did;
		if (c->quiet > QUIET_TURNS)
			swap(i, --data.lively);
		else
			i++;
	}
	quiet = data.n - data.lively;
	looks = work && quiet > QUIET_LOOKS ? QUIET_LOOKS : quiet;
	for (; looks && quiet; looks--) {
		unsigned i = data.lively + data.next_quiet++ % quiet;
		unsigned stuck = data.stalled + data.waiting;

		if (!client_turn(data.live[i]) && data.stalled + data.waiting == stuck)
			continue;
		work = 1;
		data.live[i]->quiet = 0;
		swap(i, data.lively++);
		quiet--;
	}
	return work;
}

static void end_context(struct client *c, struct context *x, uint32_t status)
{
	c->live &= ~(1u << x->number);
	x->dead_status = status;
	for (uint64_t left = x->outstanding; left; left &= left - 1) {
		struct pending *p = &x->pending[__builtin_ctzll(left)];

		reply_client(c, p->reply, p->client_seq, status, NULL);
	}
	x->outstanding = 0;
	count(&c->commands, x->commands);
	vgpu_store_relaxed64(&x->commands, 0);
}

/* Edge-triggered: a wake-up costs no read, whoever writes it. */
static void watch(int fd, int on)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };

	if (fd >= 0)
		epoll_ctl(agent.epoll_d, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &e);
}

static void mailbox(void)
{
	enum mailbox_op op;
	struct context *x;
	struct client *c;
	uint32_t status;
	void *object;

	if (!mailbox_take(&op, &object, &status))
		return;
	data.idle.word = NULL;          /* its memory may be about to go */
	switch (op) {
	case MAILBOX_ADD_CLIENT:
		c = object;
		data.live[data.n] = c;
		c->quiet = 0;
		swap(data.n++, data.lively++);
		watch(c->kick_fd, 1);
		break;
	case MAILBOX_DEL_CLIENT:
		c = object;
		watch(c->kick_fd, 0);
		for (unsigned i = 0; i < data.n; i++)
			if (data.live[i] == c) {
				if (i < data.lively) {
					swap(i, --data.lively);
					i = data.lively;
				}
				swap(i, --data.n);
				break;
			}
		break;
	case MAILBOX_ADD_CONTEXT:
		x = object;
		x->dead_status = 0;
		x->client->live |= 1u << x->number;
		watch(x->device->irq_fd[1 + x->qid], 1);
		break;
	case MAILBOX_DEL_CONTEXT:
		x = object;
		watch(x->device->irq_fd[1 + x->qid], 0);
		end_context(x->client, x, status);
		break;
	case MAILBOX_REFUND:            /* its process is gone, and the memory with it */
		x = object;
		refund(x->client, x, x->memory_bytes);
		break;
	case MAILBOX_QUIT:
		data.quit = 1;
		break;
	case MAILBOX_NONE:
		break;
	}
	mailbox_done();
}

/* Devices interrupt for replies only while somebody sleeps on them. */
static void ask_for_replies(void)
{
	for (unsigned i = 0; i < data.n; i++)
		for (uint32_t left = data.live[i]->live; left; left &= left - 1) {
			struct context *x = &data.live[i]->ctx[__builtin_ctz(left)];

			if (x->outstanding)
				vgpu_store_relaxed32(&x->qb->reply_waiter, 1);
		}
}

/* 1: somebody woke us, or there was work; 0: only the timer. */
static int sleep_until_woken(void)
{
	static int stall_ms = 1;
	struct epoll_event e[16];
	int timeout = -1, woken = 1;

	vgpu_store_relaxed32(&agent.page->need_wakeup, 1);
	ask_for_replies();
	/* [B] of vgpu_ring.h; partners: clients and contexts, after they publish. */
	vgpu_sleeper_fence(agent.asym);
	if (!turn()) {
		/*
		 * Who waits for room in a ring is woken by nobody; a timer stands behind replies in case a
		 * device forgets its interrupt. With neither, no timer: idle costs nothing.
		 */
		if (data.stalled) {
			timeout = stall_ms;
			stall_ms = stall_ms * 2 > STALL_MS_MAX ? STALL_MS_MAX : stall_ms * 2;
		} else if (data.waiting) {
			timeout = 100;
		}
		count(&agent.sleeps, 1);
		woken = epoll_wait(agent.epoll_d, e, 16, timeout) != 0;
		if (woken)
			load_works();
	}
	if (!data.stalled)
		stall_ms = 1;
	vgpu_store_relaxed32(&agent.page->need_wakeup, 0);
	return woken;
}

/*
 * Does a device still work on what we gave it? Then whoever waits for that brings the next command soon; who has become
 * quiet meanwhile waits for something longer, which on a GPU is worth it. The device's word decides about nothing but how long we yield
 * before a sleep.
 */
AGENT_HOT static enum idle_for in_flight(void)
{
	enum idle_for is = IDLE_NOTHING;

	for (unsigned i = 0; i < data.n && i < data.lively + QUIET_AWAY; i++)
		for (uint32_t left = data.live[i]->live; left; left &= left - 1) {
			const struct context *x = &data.live[i]->ctx[__builtin_ctz(left)];
			int gpu = (x->device->info.features & VGPU_DEV_FEATURE_CUBIN) != 0, busy;

			if (!gpu && (i >= data.lively || is == IDLE_IN_FLIGHT))
				continue;
			busy = vgpu_load_relaxed64(&x->qb->commands_done) < x->commands;
			if (gpu && busy)
				return IDLE_AWAY;
			if (busy)
				is = IDLE_IN_FLIGHT;
			else if (gpu && is == IDLE_NOTHING)
				is = IDLE_NEXT;
		}
	return is;
}

static void *data_loop(void *unused)
{
	(void)unused;
	vgpu_short_slice();
	if (agent.opt.sandbox)
		seccomp_data_thread();
	while (!data.quit) {
		mailbox();
		if (turn()) {
			idle_reset(&data.idle);
			/* where cores are shared it is the device that needs ours now: without another look */
			if (data.idle.share && data.forwarded - 1 < FEW_SLOTS)
				idle_step(&data.idle, IDLE_IN_FLIGHT);
		} else if (idle_step(&data.idle, data.stalled ? IDLE_STALLED : in_flight()) &&
			 sleep_until_woken())
			idle_slept(&data.idle);
	}
	return NULL;
}

static void pin(pthread_t t)
{
	cpu_set_t set;

	if (agent.cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)agent.cpu, &set);
	if (pthread_setaffinity_np(t, sizeof(set), &set) != 0) {
		log_warn("cannot pin the data thread to CPU %d; it runs unpinned", agent.cpu);
		agent.cpu = -1;
	}
}

int data_start(void)
{
	sigset_t all, old;
	int rc;

	data.n = data.lively = 0;
	data.quit = 0;
	idle_init(&data.idle, agent.cores, agent.opt.spin_us);
	agent.epoll_d = epoll_create1(EPOLL_CLOEXEC);
	if (agent.epoll_d < 0)
		return -1;
	watch(mailbox_fd(), 1);
	/* Signals for people go to the control thread; SIGBUS must reach whoever caused it. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&data.thread, NULL, data_loop, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -1;
	pin(data.thread);
	return 0;
}

void data_stop(void)
{
	mailbox_call(MAILBOX_QUIT, NULL, 0);
	pthread_join(data.thread, NULL);
	close(agent.epoll_d);
	agent.epoll_d = -1;
}
