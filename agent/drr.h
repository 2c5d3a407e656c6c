/* SPDX-License-Identifier: MIT */
/*
 * Deficit round robin (Shreedhar and Varghese, 1995): whose turn it is may forward so many slots that every
 * context with work gets its share of the data thread in proportion to its weight, whatever the size of its commands.
 *
 * Used by data.c alone, per context and turn: begin, take for each command, end. What a turn left over counts in the
 * next one as long as there is work; who has none saves nothing up.
 */
#ifndef AGENT_DRR_H
#define AGENT_DRR_H

#include <stdint.h>

#define DRR_SLOTS 128u          /* a turn of weight 100: what two cores share well, and half a microsecond of checks */
#define DRR_SLOTS_MIN 2u
#define DRR_SLOTS_MAX 1024u

struct drr {
	uint32_t quantum;
	uint32_t deficit;
};

/* Any thread: from the next turn on. */
static inline void drr_weight(struct drr *d, uint32_t weight)
{
	uint32_t q = DRR_SLOTS * weight / 100;  /* weight <= 1000, as message.c has seen */

	q = q < DRR_SLOTS_MIN ? DRR_SLOTS_MIN : q > DRR_SLOTS_MAX ? DRR_SLOTS_MAX : q;
	__atomic_store_n(&d->quantum, q, __ATOMIC_RELAXED);
}

static inline void drr_init(struct drr *d, uint32_t weight)
{
	drr_weight(d, weight);
	d->deficit = 0;
}

static inline void drr_begin(struct drr *d) { d->deficit += __atomic_load_n(&d->quantum, __ATOMIC_RELAXED); }

/* 1: this command may go now. */
static inline int drr_take(struct drr *d, uint32_t slots)
{
	if (slots > d->deficit)
		return 0;
	d->deficit -= slots;
	return 1;
}

/* more: it stopped for want of slots, not of work. A stall counts as no work: room, not the turn, was missing. */
static inline void drr_end(struct drr *d, int more)
{
	if (!more)
		d->deficit = 0;
}

#endif
