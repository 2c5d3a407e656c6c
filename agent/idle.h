/* SPDX-License-Identifier: MIT */
/*
 * What the data thread does while nothing comes: spin, yield, then sleep (data.c sleeps).
 *
 * Enough cores for agent, device and a client: spin (pause or umwait: wait.h) for --spin-us. Fewer: spinning
 * keeps the one who would bring work off the core, so spin 0.3 us, yield until --spin-us, and when a
 * yield took long (the core has other work to do) do not yield for a while but spin 3 us and sleep.
 *
 * After a burst (BURST turns with work since the last sleep) the next one is likely: a client that
 * waits for credits sleeps for 100 to 200 us. Then yielding goes on for ten times --spin-us.
 *
 * A full device ring is another matter: nobody wakes us when there is room again, and whoever makes
 * room needs the core. Then yielding goes on for 2 ms without progress, before the timer takes over. With cores
 * to spare the same while the device works on commands in flight: their end brings the next ones, and a sleep in
 * between costs client, device and us a system call or two each. Where cores are few it yields at once, and for twenty
 * times --spin-us: the core is the device's, and a kernel that takes longer than that does not notice a wake-up.
 * A device that computes on a GPU (VGPU_DEV_FEATURE_CUBIN) needs no core: with some to spare yielding goes on for 20 ms while it works, and
 * for 2 ms behind that, since the program that prepares the next step would wait for each wake-up on the way.
 */
#ifndef AGENT_IDLE_H
#define AGENT_IDLE_H

#include <stdint.h>

struct idle {
	uint64_t since, no_yield_until; /* ticks */
	uint64_t spin, limit, slow, penalty, stall;
	unsigned turns;                                 /* with work, since the last sleep */
	int share;                                      /* more pollers than cores */
	const uint32_t *word;                           /* where the next command is likeliest to come: it is `ready` then. Or NULL */
	uint32_t ready;
};

void idle_init(struct idle *i, unsigned cores, unsigned spin_us);
/* There was work. */
static inline void idle_reset(struct idle *i) { i->since = 0; i->turns++; }
/* It has slept: the burst, if there was one, is over. */
static inline void idle_slept(struct idle *i) { i->since = 0; i->turns = 0; }
/* no work; none, and its like comes soon for a GPU; a device works on it; a GPU does; its ring is full */
enum idle_for { IDLE_NOTHING, IDLE_NEXT, IDLE_IN_FLIGHT, IDLE_AWAY, IDLE_STALLED };
/* Passes a little time. 1: it is time to sleep. */
int idle_step(struct idle *i, enum idle_for what);

uint64_t ticks(void);                   /* a cheap clock: TSC where it is constant */
void ticks_init(void);
uint64_t ticks_per_us(void);

#endif
