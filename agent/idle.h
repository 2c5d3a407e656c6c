/* SPDX-License-Identifier: MIT */
/*
 * What the data thread does while nothing comes: spin, yield, then sleep (data.c sleeps).
 *
 * Enough cores for agent, device and a client: spin with pause for --spin-us. Fewer: spinning
 * keeps the one who would bring work off the core, so spin 0.3 us, yield until --spin-us, and when a
 * yield took long (the core has other work to do) stop yielding for a while.
 */
#ifndef AGENT_IDLE_H
#define AGENT_IDLE_H

#include <stdint.h>

struct idle {
	uint64_t since, next_yield, no_yield_until;     /* ticks */
	uint64_t spin, limit, slow, penalty;
	int share;                                      /* more pollers than cores */
};

void idle_init(struct idle *i, unsigned cores, unsigned spin_us);
/* There was work. */
static inline void idle_reset(struct idle *i) { i->since = 0; }
/* Nothing to do: passes a little time. 1: it is time to sleep. */
int idle_step(struct idle *i);

uint64_t ticks(void);                   /* a cheap clock: TSC where it is constant */
void ticks_init(void);
uint64_t ticks_per_us(void);

#endif
