/* SPDX-License-Identifier: MIT */
/*
 * Shares of the device by weight: start-time fair queueing (Goyal, Vin and Cheng, 1996) over the processor time that contexts
 * took, as the kernel counts it. What a context says of itself plays no part.
 *
 *   virtual time of a context = processor time / weight. Who is more than a slice ahead of the one that is furthest behind
 *   is held: its run word says so, its dispatcher takes no commands and its workers no turns until the others have come after.
 *
 * The one furthest behind is never held, so there is always one that goes on, and whoever waits for another's work gets it.
 * Priorities come before weights: while one of a higher priority works, those of a lower one are held, but for one tick of eight. Shares
 * by weight are among contexts of one priority.
 *
 * Nobody is held long for one who cannot use what is free: who takes next to nothing while others are held, or
 * leaves processors idle, is not waited for, for a while that doubles as long as that is so. Who was idle saves nothing up.
 *
 * All of this is for priorities that differ, and for weights that do where no cgroup knows them (cgroup.c: cpu.weight). Among equals the kernel's own scheduler
 * is fair, and wakes a small client faster than any clock of ours; then there is no clock to be called by.
 */
#include <string.h>

#include "stub.h"

#define TICK_NS 4000000ull              /* the slice: so long the whole device for a context of weight 100, before others have theirs */
#define TICK_ONE_NS 20000000ull         /* while one works */
#define TICK_IDLE_NS 320000000ull       /* while none does, at most */
#define BUSY_PERMILLE 20u               /* of a processor, within a tick: it works */
#define LITTLE_PERMILLE 100u            /* ... alone, and that is all it takes: it has enough */
#define LINGER 25u                      /* ticks without work before it counts as idle */
#define WINDOW_NS 40000000ull           /* processors' idle time is counted in steps of 10 ms */
#define SPARES 3u                       /* windows in a row with a processor idle */
#define EXEMPT_MAX 64u                  /* ticks */
#define DEBT 8u                         /* slices that one can be ahead: what a compilation took is no debt for ever */
#define ALL_EVERY 8u                    /* ticks, one of which is everybody's, whatever his priority */
#define CLASSES (VGPU_PRIORITY_HIGH + 1)

static struct {
	uint64_t last_ns, next_ns, tick_ns;
	uint64_t base[CLASSES];         /* virtual time of the one of that priority furthest behind: never goes back */
	uint32_t ticks;
	int classes;                    /* priorities differ: cgroups do not know them */
	uint64_t idle_ns, window_ns;    /* processors' idle time at the window's begin; that */
	uint32_t window_ticks, held_ticks, spares;
} fair;

static int counts(const struct context *c)
{
	return c->state == CTX_RUNNING && c->create.weight && (!c->in_cgroup || fair.classes);
}

static uint32_t class_of(const struct context *c) { return c->priority ? c->priority : VGPU_PRIORITY_NORMAL; }

/* Is there anything to see to? */
static int weights_differ(const struct device *d)
{
	uint32_t weight = 0, class = 0;

	fair.classes = 0;
	if (d->live < 2)
		return 0;
	for (uint32_t q = 0; q < STUB_QUEUES && !fair.classes; q++) {
		if (d->ctx[q].state != CTX_RUNNING || !d->ctx[q].create.weight)
			continue;
		fair.classes = class && class != class_of(&d->ctx[q]);
		class = class_of(&d->ctx[q]);
	}
	if (fair.classes)
		return 1;
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		if (!counts(&d->ctx[q]))
			continue;
		if (weight && weight != d->ctx[q].create.weight)
			return 1;
		weight = d->ctx[q].create.weight;
	}
	return 0;
}

static int one_wants(const struct device *d)
{
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		if (counts(&d->ctx[q]) && d->ctx[q].fair.active && !d->ctx[q].fair.held && usage_wants(&d->ctx[q]))
			return 1;
	return 0;
}

static void tell(struct context *c, int held)
{
	c->fair.held = held;
	hold_tell(c);
}

void fair_forget(struct context *c)
{
	memset(&c->fair, 0, sizeof(c->fair));
}

/* What each took since the last time. Returns how many work; *free_ns: what those took that are not held. */
static uint32_t account(struct device *d, uint64_t elapsed, uint64_t *free_ns)
{
	uint32_t n = 0;

	*free_ns = 0;
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];
		uint64_t now;

		if (!counts(c))
			continue;
		now = usage_ns(c);
		c->fair.used_ns = c->fair.seen_ns ? now - c->fair.seen_ns : 0;
		c->fair.seen_ns = now;
		if (c->fair.used_ns * 1000 >= elapsed * BUSY_PERMILLE) {
			if (!c->fair.active && c->fair.time < fair.base[class_of(c)])
				c->fair.time = fair.base[class_of(c)];
			c->fair.active = LINGER;
		} else if (c->fair.active && !c->fair.held) {
			c->fair.active--;
		}
		c->fair.time += c->fair.used_ns * 100 / c->create.weight;
		n += c->fair.active != 0;
		if (!c->fair.held)
			*free_ns += c->fair.used_ns;
	}
	return n;
}

/* Whom the others wait for, without need: 1. */
static int enough(const struct device *d, uint64_t elapsed, uint64_t free_ns, uint32_t held, uint64_t now)
{
	uint64_t idle;
	int spare = 0;

	if (held && free_ns * 1000 < elapsed * LITTLE_PERMILLE && !one_wants(d))
		return 1;
	fair.window_ticks++;
	fair.held_ticks += held != 0;
	if (now - fair.window_ns < WINDOW_NS)
		return 0;
	/* nobody was held for long: nothing to find out, and no file to read */
	if (fair.held_ticks * 4 >= fair.window_ticks) {
		idle = usage_idle_ns();
		spare = fair.idle_ns && idle - fair.idle_ns > (now - fair.window_ns) / 4 * 3;
		fair.idle_ns = idle;
	} else {
		fair.idle_ns = 0;
	}
	/* once is the end of a launch, or chance */
	fair.spares = spare ? fair.spares + 1 : 0;
	spare = fair.spares >= SPARES;
	fair.window_ns = now;
	fair.window_ticks = fair.held_ticks = 0;
	return spare;
}

static void exempt(struct context *c)
{
	c->fair.again = c->fair.again ? c->fair.again * 2 : 4;
	if (c->fair.again > EXEMPT_MAX)
		c->fair.again = EXEMPT_MAX;
	c->fair.exempt = c->fair.again;
}

/* The least virtual time of those of that priority that are waited for; none: of all that work. */
static uint64_t least(const struct device *d, uint32_t class)
{
	uint64_t wanted = UINT64_MAX, any = UINT64_MAX;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		const struct context *c = &d->ctx[q];

		if (!counts(c) || !c->fair.active || c->cap.held || class_of(c) != class)
			continue;
		any = c->fair.time < any ? c->fair.time : any;
		if (!c->fair.exempt && c->fair.time < wanted)
			wanted = c->fair.time;
	}
	return wanted != UINT64_MAX ? wanted : any;
}

/* The highest priority of those that work and are waited for. */
static uint32_t first_class(const struct device *d)
{
	uint32_t first = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		const struct context *c = &d->ctx[q];

		if (counts(c) && c->fair.active && !c->fair.exempt && !c->cap.held && class_of(c) > first)
			first = class_of(c);
	}
	return first;
}

static uint32_t hold(struct device *d, uint64_t now, uint64_t elapsed, int satisfied)
{
	uint64_t floor[CLASSES], slice = TICK_NS * d->config.cores;
	uint32_t held = 0, first;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];

		if (!counts(c))
			continue;
		c->fair.exempt -= c->fair.exempt != 0;
		if (satisfied && c->fair.active && !c->fair.held)
			exempt(c);
	}
	for (uint32_t class = 1; class < CLASSES; class++) {
		floor[class] = least(d, class);
		if (floor[class] != UINT64_MAX && floor[class] > fair.base[class])
			fair.base[class] = floor[class];
	}
	first = fair.ticks++ % ALL_EVERY ? first_class(d) : 0;
	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];
		uint64_t ahead, base = fair.base[class_of(c)];
		int was, is;

		if (!counts(c))
			continue;
		was = c->fair.held;
		if (c->fair.time < base && c->fair.exempt)
			c->fair.time = base;
		if (c->fair.time > base + DEBT * slice * 100 / c->create.weight)
			c->fair.time = base + DEBT * slice * 100 / c->create.weight;
		ahead = c->fair.time > base ? c->fair.time - base : 0;
		/* from a slice ahead until it is none: not at every tick */
		is = c->fair.active && floor[class_of(c)] != UINT64_MAX && ahead > (was ? 0 : slice * 100 / c->create.weight);
		if (is && !was)
			c->fair.again = 0;      /* it takes its share and more */
		is |= class_of(c) < first;
		tell(c, is);
		held += (uint32_t)is;
		if (is)
			hold_stop(c, now, c->fair.used_ns, elapsed);
	}
	return held;
}

static uint32_t held_now(const struct device *d)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		n += counts(&d->ctx[q]) && d->ctx[q].fair.held;
	return n;
}

static void let_all(struct device *d)
{
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		if (counts(&d->ctx[q]) && d->ctx[q].fair.held)
			tell(&d->ctx[q], 0);
}

uint64_t fair_next(void)
{
	return fair.next_ns;
}

void fair_turn(struct device *d)
{
	uint64_t now, elapsed, free_ns;
	uint32_t n;

	if (!weights_differ(d)) {
		if (fair.next_ns)
			let_all(d);
		fair.next_ns = 0;
		return;
	}
	now = clock_ns();
	if (!fair.next_ns) {
		for (uint32_t q = 0; q < STUB_QUEUES; q++)
			fair_forget(&d->ctx[q]);
		memset(fair.base, 0, sizeof(fair.base));
		fair.last_ns = fair.window_ns = now;
		fair.next_ns = now + TICK_NS;
		fair.tick_ns = TICK_NS;
		return;
	}
	if (now < fair.next_ns)
		return;
	elapsed = now - fair.last_ns;
	fair.last_ns = now;
	n = account(d, elapsed, &free_ns);
	if (n < 2) {
		let_all(d);
		/* one that works is never ahead of itself, and leads those that come */
		for (uint32_t q = 0; q < STUB_QUEUES; q++)
			if (counts(&d->ctx[q]) && d->ctx[q].fair.active && d->ctx[q].fair.time > fair.base[class_of(&d->ctx[q])])
				fair.base[class_of(&d->ctx[q])] = d->ctx[q].fair.time;
		fair.tick_ns = n ? TICK_ONE_NS : fair.tick_ns * 2 > TICK_IDLE_NS ? TICK_IDLE_NS : fair.tick_ns * 2;
	} else {
		hold(d, now, elapsed, enough(d, elapsed, free_ns, held_now(d), now));
		fair.tick_ns = TICK_NS;
	}
	fair.next_ns = now + fair.tick_ns;
}
