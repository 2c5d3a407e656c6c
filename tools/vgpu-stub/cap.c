/* SPDX-License-Identifier: MIT */
/*
 * Shares that are upper limits: a client, a container or a user has no more than so many thousandths of the device's time, whatever others
 * leave. The device's time is what --cores processors have; what contexts took of it is the kernel's count (usage.c), not their own.
 *
 * A group is whoever has one share together: a bucket that fills with time, and that its contexts' processor time empties. Below zero
 * they are held, all of them, until it is full enough again. What was not used is lost, but for a burst.
 */
#include <string.h>

#include "stub.h"

#define TICK_NS 10000000ull
#define TICK_IDLE_NS 160000000ull       /* while none of them works, at most */
#define BURST_NS 20000000ull            /* of time: so much may be saved up */
#define DEBT_NS 2000000000ull           /* ... and owed: one compilation is not paid for by the minute */
#define GROUPS (6 * STUB_QUEUES)        /* three of each context, and those of contexts that have gone since members() looked */
#define BUSY_PERMILLE 20u               /* of a processor, within a tick: it works */

static struct group {
	uint64_t id;                    /* 0: free */
	uint32_t permille, members;
	int64_t left_ns;
} groups[GROUPS];
static uint64_t last_ns, next_ns, tick_ns;

static struct group *find(uint64_t id)
{
	struct group *empty = NULL;

	for (uint32_t i = 0; i < GROUPS; i++) {
		if (groups[i].id == id)
			return &groups[i];
		if (!groups[i].id && !empty)
			empty = &groups[i];
	}
	*empty = (struct group){ .id = id };    /* there is one: GROUPS */
	return empty;
}

static int lives(const struct context *c) { return c->state == CTX_RUNNING && c->create.weight; }

static int has_share(const struct context *c)
{
	return lives(c) && (c->cap.share[0].permille || c->cap.share[1].permille || c->cap.share[2].permille);
}

void cap_set(struct context *c, uint32_t which, uint32_t permille, uint64_t group)
{
	c->cap.share[which].permille = permille;
	c->cap.share[which].group = group;
}

/* What time brought, as much as may be saved up. */
static void fill(const struct device *d, uint64_t elapsed)
{
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct group *g = &groups[i];
		int64_t rate = (int64_t)(g->permille * d->config.cores);        /* thousandths of a processor */
		int64_t most = (int64_t)BURST_NS / 1000 * rate, least = -(int64_t)(DEBT_NS / 1000) * rate;

		if (!g->id)
			continue;
		g->left_ns += (int64_t)elapsed / 1000 * rate;
		g->left_ns = g->left_ns > most ? most : g->left_ns < least ? least : g->left_ns;
	}
}

static int empty(const struct context *c)
{
	for (unsigned k = 0; k < 3; k++)
		if (c->cap.share[k].permille && find(c->cap.share[k].group)->left_ns < 0)
			return 1;
	return 0;
}

/* Those that nobody is in any more go, with what they owe. */
static void members(const struct device *d)
{
	for (uint32_t i = 0; i < GROUPS; i++)
		groups[i].members = 0;
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		for (unsigned k = 0; k < 3; k++)
			if (lives(&d->ctx[q]) && d->ctx[q].cap.share[k].permille) {
				struct group *g = find(d->ctx[q].cap.share[k].group);

				g->permille = d->ctx[q].cap.share[k].permille;
				g->members++;
			}
	for (uint32_t i = 0; i < GROUPS; i++)
		if (!groups[i].members)
			groups[i].id = 0;
}

/* Does any of them work? */
static int take(struct device *d, uint64_t elapsed)
{
	int works = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];
		uint64_t now;

		if (!has_share(c)) {
			c->cap.seen_ns = 0;
			continue;
		}
		now = usage_ns(c);
		c->cap.used_ns = c->cap.seen_ns && now > c->cap.seen_ns ? now - c->cap.seen_ns : 0;
		c->cap.seen_ns = now;
		works |= c->cap.held || c->cap.used_ns * 1000 > elapsed * BUSY_PERMILLE;
		for (unsigned k = 0; k < 3; k++)
			if (c->cap.share[k].permille)
				find(c->cap.share[k].group)->left_ns -= (int64_t)c->cap.used_ns;
	}
	return works;
}

uint64_t cap_next(void)
{
	return next_ns;
}

void cap_turn(struct device *d)
{
	uint64_t now, elapsed;
	int any = 0, works;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		any |= has_share(c);
		if (c->cap.held && lives(c) && !has_share(c)) {
			c->cap.held = 0;
			hold_tell(c);
		}
	}
	if (!any) {
		memset(groups, 0, sizeof(groups));
		next_ns = 0;
		return;
	}
	now = clock_ns();
	if (!next_ns) {
		last_ns = now;
		tick_ns = TICK_NS;
		next_ns = now + tick_ns;
	}
	if (now < next_ns)
		return;
	elapsed = now - last_ns;
	last_ns = now;
	members(d);
	fill(d, elapsed);
	works = take(d, elapsed);
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		if (!has_share(c))
			continue;
		c->cap.held = empty(c);
		hold_tell(c);
		if (c->cap.held)
			hold_stop(c, now, c->cap.used_ns, elapsed);
	}
	tick_ns = works ? TICK_NS : tick_ns * 2 > TICK_IDLE_NS ? TICK_IDLE_NS : tick_ns * 2;
	next_ns = now + tick_ns;
}
