/* SPDX-License-Identifier: MIT */
/* See idle.h; the numbers are measured (agent/README.md, "Waiting"). */
#include "idle.h"

#include <sched.h>
#include <time.h>

#include "agent.h"
#include "cpu.h"
#include "wait.h"

#define BURST 16u

static uint64_t per_us = 1000;
static int use_tsc;

AGENT_HOT uint64_t ticks(void)
{
#if defined(__x86_64__)
	if (use_tsc)
		return __builtin_ia32_rdtsc();
#endif
	return now_ns();
}

uint64_t ticks_per_us(void)
{
	return per_us;
}

void ticks_init(void)
{
#if defined(__x86_64__)
	uint64_t t0, n0, n1;

	if (!cpu_constant_tsc())
		return;
	/* No CPUID leaf tells the frequency on many virtual machines: 2 ms against the clock do. */
	n0 = now_ns();
	t0 = __builtin_ia32_rdtsc();
	do
		n1 = now_ns();
	while (n1 - n0 < 2000000);
	per_us = (__builtin_ia32_rdtsc() - t0) * 1000 / (n1 - n0);
	use_tsc = per_us > 0;
	if (!use_tsc)
		per_us = 1000;
#endif
}

void idle_init(struct idle *i, unsigned cores, unsigned spin_us)
{
	*i = (struct idle){ .share = cores < 3, .limit = spin_us * per_us, .slow = 50 * per_us, .penalty = 5000 * per_us,
			     .stall = 2000 * per_us };
	i->spin = i->share ? per_us * 3 / 10 : i->limit;
	if (i->spin > i->limit)
		i->spin = i->limit;
}

AGENT_HOT int idle_step(struct idle *i, enum idle_for what)
{
	uint64_t now = ticks(), after, limit = i->limit, spin = i->spin, patience = 10 * spin;

	if (what == IDLE_AWAY && !i->share) {
		limit = 10 * i->stall;
	} else if (what == IDLE_STALLED || (what != IDLE_NOTHING && !i->share)) {
		limit = i->stall;
	} else if (what == IDLE_IN_FLIGHT || what == IDLE_AWAY) {
		limit *= 20;
		spin = 0;               /* the core is what the device waits for */
	} else if (i->share && i->turns >= BURST) {
		limit *= 10;
		patience *= 10;         /* a sleep and a wake-up cost both sides more than 30 us */
	}
	if (!i->since)
		i->since = now;
	if (now - i->since >= limit)
		return 1;
	if (now - i->since < spin || (now < i->no_yield_until && now - i->since < patience)) {
		wait_moment(i->word, i->ready);
		return 0;
	}
	if (now < i->no_yield_until && what != IDLE_STALLED)
		return 1;
	sched_yield();
	after = ticks();
	/* in a burst, who had the core was most likely the device, at our work: more patience */
	if (after - now > (limit > i->limit ? 20 * i->slow : i->slow) && what != IDLE_STALLED)
		i->no_yield_until = after + i->penalty;
	return 0;
}
