/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher: one thread that looks at both rings, at launches the engine has ended, and at
 * the parent, and sleeps when nobody has anything for it.
 *
 * Waiting is measured, not guessed: with processors to spare a spin of some microseconds is cheapest;
 * where agent, client and this process share two cores a spinner stops the one it waits for, so it
 * yields at once and sleeps soon; and where a yield came back late, another process is using the core, and
 * yielding stops for a while. After a burst of many commands it naps on a timer first: the client is
 * waking up from a lack of credits, and a doorbell for each such moment would cost the agent two syscalls.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_fence.h"

#define SPIN_FREE_NS 10000u             /* with cores to spare */
#define SPIN_OUT_NS 100000u             /* ... and a GPU at work: its driver would spin as well, and to be woken by it takes 10 us and more */
#define YIELD_OUT_NS 20000000u          /* ... so long it looks between yields: to sleep and be woken is a percent of that */
#define YIELD_NEXT_NS 2000000u          /* ... with nothing out: a program prepares its next step for the GPU */
#define YIELD_NS 20000u
#define YIELD_LATE_NS 50000u
#define YIELD_OFF_NS 10000000u
#define SPIN_ALONE_NS 5000u             /* while yielding is off: about what a wake-up costs */
#define STREAM_BURST 32u                /* commands between two idle moments: somebody streams */
#define STREAM_NAP_NS 40000u
#define STREAM_NS 200000u
#define LOOK_NS 50000u                  /* memory waits, asleep: every so often */
#define LOOK_LONG_NS 100000u            /* ... when nothing has moved for LOOK_SETTLE_NS */
#define LOOK_SETTLE_NS 2000000u
#define LOOK_BUSY_NS 20000u             /* memory waits beside other work */
#define SOCKET_NS 2000000u
#define TELL_NS 1000000u                /* who waits so long tells what for */
#define NAP_NS 500000000u               /* a bound on every sleep, whatever was missed */
#define NAP_WORK_NS 60000000u           /* ... while a launch is out: the counter of work goes on meanwhile */

uint64_t ctx_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Any thread. Partner: `asleep = 1`, fence, last look in nap(). The fence is a full one on both
 * sides; a launch that goes through the engine's workers can afford it.
 */
void ctx_wake(struct ctx *c)
{
	uint64_t one = 1;

	vgpu_full_fence();
	if (vgpu_load_relaxed32(&c->asleep) && vgpu_exchange32(&c->asleep, 0) &&
	    write(CTX_AT_OWN, &one, sizeof(one)) < 0)
		return;         /* full counter: it is readable, so the sleeper wakes all the same */
}

/* At most one interrupt outstanding: the agent clears irq_pending before it looks. */
void ctx_irq(struct ctx *c)
{
	uint64_t one = 1;
	struct ctx_msg m = { .type = CTX_RAISE };

	if (vgpu_exchange32(&c->qb->irq_pending, 1))
		return;
	__atomic_fetch_add(&c->qb->interrupts, 1, __ATOMIC_RELAXED);
	if (c->irq_by_parent)
		ctx_send(&m, -1, MSG_DONTWAIT);
	else if (write(CTX_AT_IRQ, &one, sizeof(one)) < 0)
		ctx_log(c, "interrupt lost: %s", strerror(errno));
}

static int io_ready(const struct ctx *c)
{
	return !c->io_broken && ctx_stream_room(c) &&
	       vgpu_slot_ready(&c->io_ring[c->io_index % VGPU_DEV_IO_SLOTS], c->io_index);
}

static int ctl_ready(const struct ctx *c)
{
	return !ctx_job_busy(c) && vgpu_slot_ready(&c->ctl_ring[c->ctl_index % VGPU_DEV_CTL_SLOTS], c->ctl_index);
}

/* Answers that somebody waits for, and the parent's messages. */
int ctx_wanted(void *owner)
{
	struct ctx *c = owner;

	return ctl_ready(c) || ctx_job_done(c) || vgpu_load_acquire32(&c->run->messages) != c->messages_seen;
}

static int running(const struct ctx *c)
{
	uint32_t word = vgpu_load_acquire32(&c->run->run);

	return word == CTX_RUN_GO || (c->deaf && word & CTX_RUN_GO);
}

/* Others' turn is no reason to keep somebody waiting for an answer. */
static int answering(const struct ctx *c)
{
	return vgpu_load_relaxed32(&c->run->run) & CTX_RUN_GO;
}

/* A slot is read once; what is checked is the copy. */
static unsigned take_io(struct ctx *c, unsigned budget)
{
	unsigned did = 0;

	for (; did < budget && io_ready(c); did++) {
		uint64_t index = c->io_index;
		const union vgpu_slot *slot = &c->io_ring[index % VGPU_DEV_IO_SLOTS];
		struct vgpu_cmd cmd = slot->cmd;

		__builtin_prefetch(&c->io_ring[(index + 1) % VGPU_DEV_IO_SLOTS]);
		if (vgpu_check_cmd(&cmd, VGPU_Q_IO, index, &c->env)) {
			c->io_broken = 1;
			ctx_why(c, "slot %llu, op %u", (unsigned long long)index, cmd.op);
			ctx_die(c, VGPU_ST_PROTOCOL);
			break;
		}
		ctx_stream_submit(c, &cmd, index + 1);
	}
	return did;
}

static unsigned take_ctl(struct ctx *c)
{
	uint64_t index = c->ctl_index;
	struct vgpu_cmd cmd;

	if (c->commit.bytes) {
		ctx_control_go_on(c);
		return 1;
	}
	if (ctx_job_done(c)) {
		ctx_control_end(c);
		return 1;
	}
	if (!ctl_ready(c))
		return 0;
	cmd = c->ctl_ring[index % VGPU_DEV_CTL_SLOTS].cmd;
	c->ctl_index = index + 1;
	vgpu_ring_consumed(&c->qb->ctl_head, c->ctl_index);
	if (vgpu_check_cmd(&cmd, VGPU_Q_CTL, index, &c->env)) {
		ctx_why(c, "control slot %llu, op %u", (unsigned long long)index, cmd.op);
		ctx_die(c, VGPU_ST_PROTOCOL);
		cmd.ticket = index + 1;         /* it is answered with the error */
	}
	ctx_control(c, &cmd);
	return 1;
}

/* ---- idle ------------------------------------------------------------------------------------ */

static void drain_fd(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return;         /* somebody else's read: nothing to take */
}

/*
 * NEED_WAKEUP (vgpu_ring.h): the agent's publications and the engine's completions are looked at
 * again after the flags stand, behind the sleeper's fence; partners: the agent's publisher
 * fence before it reads need_wakeup, and ctx_wake(). Without the bell the nap is short, and the
 * agent is not asked for a doorbell.
 *
 * Who looks at memory every 50 us leaves need_wakeup up in between. What the agent publishes since the fence behind which it went up
 * rings, and what it published before is seen: no fence again, which interrupts every processor. The agent lowers it before it rings.
 */
static void nap(struct ctx *c, uint64_t ns, int bell)
{
	int up = bell && c->asym_sleep && vgpu_load_relaxed32(&c->qb->need_wakeup), looks = bell && ns <= LOOK_LONG_NS;
	struct pollfd p[3] = { { .fd = CTX_AT_KICK, .events = POLLIN }, { .fd = CTX_AT_OWN, .events = POLLIN },
			       { .fd = CTX_SOCKET_FD, .events = POLLIN } };
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	if (!up)
		vgpu_store_relaxed32(&c->qb->need_wakeup, (uint32_t)bell);
	vgpu_store_relaxed32(&c->asleep, 1);
	vgpu_sleeper_fence(bell && c->asym_sleep && !up);
	if (!(running(c) && io_ready(c)) && !(answering(c) && (ctl_ready(c) || ctx_job_done(c))) &&
	    !__atomic_load_n(&c->done_list, __ATOMIC_ACQUIRE) && !(c->ops->ended && c->launches_out && c->ops->ended(c->engine)) &&
	    ppoll(p, 3, &t, NULL) > 0) {
		if (p[0].revents & POLLIN)
			drain_fd(CTX_AT_KICK);
		if (p[1].revents & POLLIN)
			drain_fd(CTX_AT_OWN);
		if (p[2].revents)
			c->messages_seen--;     /* look at the socket, whatever the run page says */
	}
	vgpu_store_relaxed32(&c->asleep, 0);
	if (!looks)
		vgpu_store_relaxed32(&c->qb->need_wakeup, 0);
}

struct idle {
	uint64_t since_ns;      /* 0: busy */
	uint64_t no_yield_until_ns;
	uint64_t moved_ns;      /* last own progress */
	uint64_t burst, seen;   /* commands done between the last two idle moments; all, at the last one */
	int spare;              /* processors to spare */
};

static void yield(struct idle *w, uint64_t now)
{
	sched_yield();
	if (ctx_now_ns() - now > YIELD_LATE_NS)
		w->no_yield_until_ns = now + YIELD_OFF_NS;
}

static void idle(struct ctx *c, struct idle *w, uint64_t now)
{
	uint64_t waited = now - w->since_ns, bound = NAP_NS;
	int yields = now >= w->no_yield_until_ns;

	/* An engine elsewhere does not need the processor, and its client waits for each wake-up on the way to it. */
	if (w->spare && c->ops->ended && yields && waited >= (c->launches_out ? SPIN_OUT_NS : SPIN_FREE_NS) &&
	    waited < (c->launches_out ? YIELD_OUT_NS : YIELD_NEXT_NS)) {
		yield(w, now);
		return;
	}
	/* Where processors are shared, who brings work or waits for its end may want this one: a yield at once. */
	if (waited < (w->spare ? c->ops->ended && c->launches_out ? SPIN_OUT_NS : SPIN_FREE_NS : yields ? 0 : SPIN_ALONE_NS)) {
		for (int i = 0; i < 4; i++)
			vgpu_cpu_relax();
		return;
	}
	if (!w->spare && waited < YIELD_NS && yields) {
		yield(w, now);
		return;
	}
	if (c->ops->poll && c->launches_out) {
		if (c->ops->poll(c->engine, 1))
			return;
		bound = ENGINE_POLL_NS;
	}
	/* A client that streams and has run out of credits comes back soon: no doorbell for that. */
	if (w->burst >= STREAM_BURST && waited < STREAM_NS)
		nap(c, STREAM_NAP_NS, 0);
	else if (c->poll.head && running(c))
		nap(c, now - w->moved_ns < LOOK_SETTLE_NS ? LOOK_NS : LOOK_LONG_NS, 1);
	else
		nap(c, bound == NAP_NS && c->launches_out ? NAP_WORK_NS : bound, 1);
}

/* busy_ns: time with a launch out or something to do. Counted when it ends, and now and then before. */
static void count_busy(struct ctx *c, int busy)
{
	uint64_t now = ctx_ticks();

	if (c->busy_since) {
		c->busy_ticks += now - c->busy_since;
		vgpu_store_relaxed64(&c->qb->busy_ns, (uint64_t)((double)c->busy_ticks * c->ns_per_tick));
	}
	c->busy_since = busy ? now : 0;
}

static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/*
 * --kernel-timeout. Nothing can stop a kernel but the end of its process: its client has the error before that, and what the agent
 * says of a dead process comes behind it.
 */
static int overdue(struct ctx *c)
{
	uint64_t most = ctx_work_limit(c);

	if (!most)
		return 0;

	for (unsigned i = 0; i < c->streams_used; i++) {
		const struct ctx_stream *s = &c->streams[i];

		if ((c->ops->settle ? !s->out : s->where != STREAM_RUNNING || !s->running) ||
		    ctx_work_ns(c, s) < most)
			continue;
		ctx_why(c, "a kernel of stream %u takes longer than %.15g s (%s)", i, (double)most / 1e9,
			most == c->init.kernel_timeout_s * 1000000000ull ? "vgpu-stub --kernel-timeout" : "vgpu ctl set kernel-time");
		ctx_die(c, VGPU_ST_TIMEOUT);
		return 1;
	}
	return 0;
}

int ctx_loop(struct ctx *c)
{
	struct idle w = { .spare = processors() >= 4, .moved_ns = ctx_now_ns() };
	uint64_t ticks_per_us, socket_due = 0, look_due = 0, now;
	unsigned did;

	ticks_per_us = (uint64_t)(1000.0 / c->ns_per_tick);
	c->last_tick = ctx_ticks();
	for (;;) {
		int go = running(c);

		vgpu_store_relaxed64(&c->beat, c->beat + 1);
		if (vgpu_load_acquire32(&c->run->messages) != c->messages_seen) {
			c->messages_seen = vgpu_load_relaxed32(&c->run->messages);
			if (ctx_messages(c) < 0)
				return 0;
		}
		did = ctx_stream_drain(c);
		if (answering(c))
			did += take_ctl(c);
		if (go) {
			did += take_io(c, 16);
			did += ctx_stream_run(c, 32);
		}
		if (c->ops->settle && c->launches_out) {
			c->ops->settle(c->engine, go && io_ready(c));
			did += c->ops->poll(c->engine, 0);
		}
		if (go) {
			/* Own progress may be what a memory wait waits for; else they cost a look now and then. */
			if (c->poll.head && (!did || ctx_ticks() >= look_due)) {
				did += ctx_stream_poll(c);
				look_due = ctx_ticks() + LOOK_BUSY_NS / 1000 * ticks_per_us;
			}
		}
		if (did) {
			if (!c->busy_since)
				c->busy_since = c->last_tick;
			if (w.since_ns && vgpu_load_relaxed32(&c->qb->need_wakeup))
				vgpu_store_relaxed32(&c->qb->need_wakeup, 0);
			w.since_ns = 0;
			/* Busy without end: the socket and the counter must not wait for idleness. */
			if (!(++c->rounds % 1024) && ctx_ticks() >= socket_due) {
				socket_due = ctx_ticks() + SOCKET_NS / 1000 * ticks_per_us;
				count_busy(c, 1);
				c->messages_seen--;
				if (overdue(c))
					return 0;
				ctx_work_now(c);
			}
			continue;
		}
		now = ctx_now_ns();
		if (!w.since_ns) {
			w.since_ns = w.moved_ns = now;
			w.burst = c->commands_done - w.seen;
			w.seen = c->commands_done;
		}
		count_busy(c, c->launches_out != 0 || ctx_job_busy(c));
		if (c->launches_out && overdue(c))
			return 0;
		if (now - w.since_ns >= TELL_NS)
			ctx_work_now(c);
		idle(c, &w, now);
		/* what is found now has begun since: a sleep is no work */
		c->last_tick = ctx_ticks();
	}
}
