/* SPDX-License-Identifier: MIT */
/*
 * Waiting: for a timeline, a reply, room in a queue or a credit.
 *
 * Spin a little, yield a little, then sleep on the futex that stands beside the word. With few cores
 * the one we wait for may need ours: spin 0.3 us, yield until 20 us; with enough, spin 8 us. When
 * one yield took longer than 50 us, somebody else uses the core: no more yields for a while. A device that computes on no
 * processor of ours leaves them free: then yields go on for 20 ms, as NVIDIA's driver spins where there are cores. Programs that
 * poll (cuStreamQuery, cuEventQuery) yield by the same rule each time they are told to wait. Every
 * sleep ends after at most 500 ms and then looks whether the agent still lives; pollers look as often.
 */
#include "core.h"

#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_FEW_NS 300u
#define SPIN_MANY_NS 8000u
#define YIELD_NS 20000u
#define YIELD_AWAY_NS 20000000u
#define YIELD_BAD_NS 50000u
#define YIELD_PENALTY_NS 5000000u
#define FLOW_STILL_NS 200000u
#define SLICE_FIRST_NS 100000000u
#define SLICE_NS 500000000u
#define SLICE_PRINT_NS 2000000u
#define LOOK_NS 250000000u

static uint64_t no_yield_until_ns;

uint64_t vg_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Every context fails with it, so that launches, which look at nothing else, answer it too. One that the agent ended before it
 * closed the connection keeps the reason it was given: that was stored before the hangup we saw.
 */
static bool lose_for(uint32_t session, uint32_t status, const char *why)
{
	unsigned told = 0, contexts = 0;

	vg_lock(&vg.lost_lock);
	/* Looked at while that session was there, and slow: there may be another by now, of which it says nothing. */
	if (session != vg.session || __atomic_load_n(&vg.lost, __ATOMIC_RELAXED)) {
		vg_unlock(&vg.lost_lock);
		return __atomic_load_n(&vg.lost, __ATOMIC_ACQUIRE) != 0;
	}
	/* Partner: vg_ctx_create(), which stores its context and then looks at this. */
	__atomic_store_n(&vg.lost, VGPU_ST_AGENT_LOST, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		struct vg_ctx *c = vg_ctx_by_number(i);
		uint32_t none = 0, said;

		if (!c)
			continue;
		contexts++;
		said = vgpu_load_acquire32(&c->head->error);
		told += said != 0;
		/* In our own word in any case: the page may be taken away, and is zero then. */
		__atomic_compare_exchange_n(&c->error, &none, vgpu_status_known(said) && said ? said : status, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
	}
	vg_unlock(&vg.lost_lock);
	if (told && told == contexts)
		return true;            /* vg_report() says it for each */
	vg_say("%s; every call fails from now on, until cudaDeviceReset or the end of the last context", why);
	return true;
}

static bool lose(uint32_t session, const char *why)
{
	return lose_for(session, VGPU_ST_AGENT_LOST, why);
}

/* The connection has ended: with a word of farewell, perhaps. */
static bool left_us(uint32_t session)
{
	struct vgpu_msg_bye m;
	bool told = false;

	vg_lock(&vg.sock_lock);         /* one that waits for an answer has got this instead, and lets go */
	for (int tries = 0; tries < 4 && !told && session == __atomic_load_n(&vg.session, __ATOMIC_ACQUIRE); tries++) {
		ssize_t n = recv(vg.sock, &m, sizeof m, MSG_DONTWAIT);

		/* An error comes first when the agent left requests of ours unread (unix(7)); what it sent is still there. */
		if (n == 0 || (n < 0 && errno != ECONNRESET && errno != EINTR))
			break;
		told = n == sizeof m && m.h.type == VGPU_MSG_BYE;
	}
	vg_unlock(&vg.sock_lock);
	if (!told)
		return lose(session, "vgpu-agent closed the connection (its log says why)");
	vg_bye(session, &m);
	return __atomic_load_n(&vg.lost, __ATOMIC_ACQUIRE) != 0;
}

void vg_bye(uint32_t session, struct vgpu_msg_bye *m)
{
	char why[sizeof m->text + 64];

	m->text[sizeof m->text - 1] = 0;
	(void)vg_printable(m->text, (uint32_t)strlen(m->text));
	snprintf(why, sizeof why, "vgpu-agent closed the connection: %s", m->text);
	(void)lose_for(session, m->status && m->status < VGPU_ST_COUNT ? m->status : VGPU_ST_AGENT_LOST, why);
}

bool vg_agent_lost(void)
{
	/* Its number before its descriptors: who makes another changes it first. */
	uint32_t session = __atomic_load_n(&vg.session, __ATOMIC_ACQUIRE);
	struct pollfd p = { .fd = __atomic_load_n(&vg.pidfd, __ATOMIC_RELAXED), .events = POLLIN };

	if (__atomic_load_n(&vg.lost, __ATOMIC_ACQUIRE))
		return true;
	if (poll(&p, 1, 0) == 1 && (p.revents & (POLLIN | POLLNVAL | POLLERR)))
		return lose(session, "vgpu-agent is gone");
	/* A client that broke the protocol is dropped: the socket is closed while the agent lives on. */
	p = (struct pollfd){ .fd = __atomic_load_n(&vg.sock, __ATOMIC_RELAXED), .events = 0 };
	if (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLNVAL | POLLERR)))
		return left_us(session);
	return false;
}

void vg_agent_silent(uint32_t session)
{
	(void)lose(session, "vgpu-agent does not answer");
}

/*
 * One turn of the core for whoever is ready: with few cores that may be the agent or the device, woken where we run, which would
 * otherwise wait for the scheduler's tick.
 */
static bool yield_core(uint64_t now)
{
	uint64_t took;

	if (now <= __atomic_load_n(&no_yield_until_ns, __ATOMIC_RELAXED))
		return false;
	sched_yield();
	took = vg_now_ns() - now;
	if (took > YIELD_BAD_NS)
		__atomic_store_n(&no_yield_until_ns, now + took + YIELD_PENALTY_NS, __ATOMIC_RELAXED);
	return true;
}

/*
 * A program that polls waits as much as one that sleeps, so it hears of a dead context or agent as well: every LOOK_NS at the
 * latest, by the clock that costs least.
 */
uint32_t vg_asked_again(struct vg_ctx *c)
{
	static uint64_t look_ns;
	uint32_t e = vg_ctx_error(c);
	struct timespec t;
	uint64_t now;

	if (VG_UNLIKELY(e != 0))
		return e;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (VG_UNLIKELY(now >= __atomic_load_n(&look_ns, __ATOMIC_RELAXED))) {
		__atomic_store_n(&look_ns, now + LOOK_NS, __ATOMIC_RELAXED);
		if (vg_agent_lost())
			return vg_lost_status(c);
	}
	if (vg.cores < 4)
		(void)yield_core(vg_now_ns());
	return 0;
}

/* State of one wait: 0 spin, 1 yield, then sleep. True while the caller should look again at once. */
struct spin {
	uint64_t start_ns;
	unsigned turns;
	bool asleep, away;      /* away: the device computes on a GPU */
};

static bool spin_again(struct spin *w)
{
	uint64_t now, waited;
	bool few = vg.cores < 4;

	if (w->asleep)
		return false;
	if (!w->turns++)
		w->start_ns = vg_now_ns();
	for (int i = 0; i < 4; i++)
		vgpu_cpu_relax();
	now = vg_now_ns();
	waited = now - w->start_ns;
	if (waited < (few ? SPIN_FEW_NS : SPIN_MANY_NS))
		return true;
	if (waited < (few ? YIELD_NS : w->away ? YIELD_AWAY_NS : 0) && yield_core(now))
		return true;
	w->asleep = true;
	return false;
}

void vg_backoff(unsigned turn)
{
	struct timespec t = { 0, turn < 200 ? 50000 : 1000000 };

	if (turn < 32)
		vgpu_cpu_relax();
	else if (turn < 64)
		sched_yield();
	else
		nanosleep(&t, NULL);
}

static uint32_t wait_timeline(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket, uint64_t limit_ns, bool sleep)
{
	uint64_t slice = SLICE_FIRST_NS, end = 0;
	struct spin w = { .asleep = sleep, .away = limit_ns == ~0ull && vg.info[c->ordinal].features & VGPU_DEV_FEATURE_CUBIN &&
						   !vgpu_load_relaxed64(&c->head->printf_head) };
	unsigned prints = 0;
	uint32_t e;

	while (!vgpu_timeline_reached(t, ticket)) {
		struct timespec ts;
		uint32_t wake;

		/* A dead context publishes values late or, when its process died, never. */
		if ((e = vg_ctx_error(c)) != 0)
			return e;
		if (spin_again(&w))
			continue;
		/* A context that prints is looked at often: its ring holds 60 KiB, then its kernels wait. */
		if (vgpu_load_relaxed64(&c->head->printf_head)) {
			vg_printf_drain(c);
			slice = SLICE_PRINT_NS;
			if (++prints % 50 == 0 && vg_agent_lost())
				return vg_lost_status(c);
		}
		if (limit_ns != ~0ull) {
			uint64_t now = vg_now_ns();

			if (!end)
				end = now + limit_ns;
			if (now >= end)
				return VGPU_ST_BUSY;
			if (end - now < slice)
				slice = end - now;
		}
		/*
		 * [B] of the handshake in vgpu_ring.h, partner: the device's publisher fence after it
		 * stored value. The agent increments wake, so a wake between load and sleep is not lost.
		 */
		wake = vgpu_load_acquire32(&t->wake);
		vgpu_timeline_want(t, ticket);
		vgpu_sleeper_fence(vg.asym);
		if (vgpu_timeline_reached(t, ticket) || vg_ctx_error(c))
			continue;
		ts = (struct timespec){ (time_t)(slice / 1000000000u), (long)(slice % 1000000000u) };
		/* Shared, not private: another process wakes us. */
		if (vg_futex(&t->wake, FUTEX_WAIT, wake, &ts) == -ETIMEDOUT) {
			slice = SLICE_NS;
			if (vg_agent_lost())
				return vg_lost_status(c);
		}
	}
	vg_order_acquire(c);
	/* Values move on when a context fails, to free its waiters: the error decides. */
	if ((e = vg_ctx_whole(c)) != 0)
		return e;
	/* A command that the device refused without failing (written before value, so the acquire covers it). */
	e = vgpu_load_relaxed32(&t->error);
	/* It is told once, as a launch that CUDA refuses is: the stream goes on. Unless the device has written another one meanwhile. */
	if (e && !vgpu_status_sticky(e)) {
		uint32_t seen = e;

		__atomic_compare_exchange_n(&t->error, &seen, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return vgpu_status_known(e) ? e : VGPU_ST_INTERNAL;
}

uint32_t vg_wait_timeline(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket)
{
	return wait_timeline(c, t, ticket, ~0ull, c->sleeps_at_once);
}

uint32_t vg_wait_timeline_how(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket, bool sleep)
{
	return wait_timeline(c, t, ticket, ~0ull, sleep || c->sleeps_at_once);
}

uint32_t vg_wait_timeline_for(struct vg_ctx *c, struct vgpu_timeline *t, uint64_t ticket, uint64_t limit_ns)
{
	return wait_timeline(c, t, ticket, limit_ns, c->sleeps_at_once);
}

/*
 * As long as the stream moves, stay in step with it: small refills keep agent and device from falling
 * asleep between them, and a sleep here would be ended by the very next command anyway. Ends when
 * the ticket is reached, or nothing has moved for FLOW_STILL_NS.
 */
static void stay_in_step(struct vg_stream *s, uint64_t ticket)
{
	uint64_t seen = 0, v, moved_ns = vg_now_ns();

	while ((v = vgpu_load_acquire64(&s->tl->value)) < ticket && !vg_ctx_error(s->ctx)) {
		uint64_t now = vg_now_ns();

		if (v != seen) {
			seen = v;
			moved_ns = now;
		} else if (now - moved_ns > FLOW_STILL_NS) {
			return;
		}
		if (vg.cores < 4) {
			sched_yield();
			continue;
		}
		for (int i = 0; i < 16; i++)
			vgpu_cpu_relax();
	}
}

void vg_wait_flow(struct vg_stream *s, uint64_t ticket)
{
	stay_in_step(s, ticket);
	/* Dead or lost: the claim goes on, and the caller runs into the error at its next check. */
	(void)vg_wait_timeline(s->ctx, s->tl, ticket);
}

/*
 * The slots are claimed already, so this returns only when they may be written: there is room, or
 * nobody reads the queue any more.
 */
void vg_wait_room(struct vg_ctx *c, struct vg_queue *q, uint64_t index, unsigned n)
{
	uint64_t head;

	for (unsigned turn = 0;; vg_backoff(turn++)) {
		head = vgpu_load_acquire64(q->head);
		if (index + n - head <= q->size)
			break;
		if (turn >= 64 && turn % 64 == 0 && (vg_agent_lost() || vg_ctx_error(c)))
			break;
		/* a kernel that waits to print holds up what is behind it */
		if (turn >= 64)
			vg_printf_drain(c);
	}
	__atomic_store_n(&q->room, head + q->size, __ATOMIC_RELEASE);
}

void vg_wait_reply(struct vgpu_reply *r, uint32_t seq)
{
	uint64_t slice = SLICE_FIRST_NS;
	struct spin w = { 0 };

	while (vgpu_load_acquire32(&r->seq) != seq) {
		struct timespec ts;
		uint32_t wake;

		if (spin_again(&w))
			continue;
		wake = vgpu_load_acquire32(&r->wake);
		vgpu_store_release32(&r->waiter, 1);
		/* [B]; partner: the agent's publisher fence after it stored seq. */
		vgpu_sleeper_fence(vg.asym);
		if (vgpu_load_acquire32(&r->seq) == seq)
			break;
		ts = (struct timespec){ 0, (long)(slice % 1000000000u) };
		if (vg_futex(&r->wake, FUTEX_WAIT, wake, &ts) == -ETIMEDOUT) {
			slice = SLICE_NS;
			if (vg_agent_lost())
				return;
		}
	}
}
