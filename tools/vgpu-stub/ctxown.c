/* SPDX-License-Identifier: MIT */
/*
 * What contexts have besides the device memory that they were granted: images, code, the engine's heap, page tables. Each is bounded by itself
 * (ctxgrant.c), but there are 128 of them, and no machine has 128 times that. So all together have --overheads, and of that one client,
 * one user and one container seven eighths, as the agent has it with windows. Who these are it says by a number (CTX_CREATE).
 *
 * The kernel counts, not the context. Who is near the limit gets no more private memory than it maps already: its allocations
 * fail, and nobody else's. What it had mapped before it can still touch; if that goes beyond, contexts are ended, of those together that
 * have too much the one with the most.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "stub.h"

#define NEAR_NS 100000000ull            /* between two looks when it grows, or is more than half of what there is; */
#define FAR_NS 2000000000ull            /* else twice as long each time, to this */
#define NEARLY(share) ((share) / 16 * 15)
#define FEW (32ull << 20)               /* of private memory nobody is refused, whatever others have */
#define TOLD (16ull << 20)              /* with so little left the log says so, once */

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

enum { CLIENT, USER, CONTAINER, ALL, GROUPS };

static uint64_t share(const struct device *d, int group)
{
	return group == ALL ? d->config.overheads_bytes : d->config.overheads_bytes / 8 * 7;
}

static int alike(const struct context *a, const struct context *b, int group)
{
	switch (group) {
	case CLIENT:
		return a->create.seg0_iova == b->create.seg0_iova;
	case USER:
		return a->create.user && a->create.user == b->create.user;
	case CONTAINER:
		return a->create.container && a->create.container == b->create.container;
	}
	return 1;
}

/* Of c and all that are alike. 0: it is in no such group. */
static uint64_t together(const struct context *c, int group)
{
	uint64_t sum = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		const struct context *x = &c->dev->ctx[q];

		if (x->state == CTX_RUNNING && alike(c, x, group))
			sum += x->own.bytes;
	}
	return sum;
}

/* proc(5). Private memory that it maps (what RLIMIT_DATA counts), that of it which is there, and its page tables. 0: the kernel does not say. */
static int kernel_says(const struct context *c, uint64_t *maps, uint64_t *has, uint64_t *tables)
{
	unsigned long long n[3] = { 0, 0, 0 };
	char path[40], line[128];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", c->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		found += sscanf(line, "VmData: %llu", &n[0]) == 1 || sscanf(line, "RssAnon: %llu", &n[1]) == 1 || sscanf(line, "VmPTE: %llu", &n[2]) == 1;
	if (f)
		fclose(f);
	*maps = n[0] << 10;
	*has = n[1] << 10;
	*tables = n[2] << 10;
	return found == 3;
}

/* Private memory that it maps besides its grant. */
static uint64_t look(struct context *c)
{
	uint64_t maps, has, tables, granted = c->granted, physical = ctxgrant_physical(c);
	struct stat code;

	/* at its end it has nothing any more; who is there and says nothing is leader_exits, whose end ctxguard.c is */
	if (!kernel_says(c, &maps, &has, &tables))
		return 0;
	has += physical;
	c->own.bytes = tables + minus(has, granted);
	if (!fstat(c->code_fd, &code))
		c->own.bytes += (uint64_t)code.st_blocks * 512;
	return minus(maps, granted);
}

/* Whose it is: its container's where the agent has named one, else its user's, else its client's. */
static int owner(const struct context *c) { return c->create.container ? CONTAINER : c->create.user ? USER : CLIENT; }

/* What it may still have, by all that limits it. What others leave of the whole counts for those alone who have more than the last eighth. */
static uint64_t left(const struct context *c)
{
	uint64_t whole = minus(NEARLY(share(c->dev, ALL)), together(c, ALL)), mine = minus(share(c->dev, ALL) / 8, together(c, owner(c)));
	uint64_t least = whole > mine ? whole : mine;

	for (int group = 0; group < ALL; group++) {
		uint64_t n = minus(NEARLY(share(c->dev, group)), together(c, group));

		least = n < least ? n : least;
	}
	return least;
}

static void hold(struct context *c, uint64_t maps)
{
	uint64_t n = left(c), few = CTX_TABLE_BYTES + (c->dev->config.cores + 1) * CTX_THREAD_BYTES + CTX_SLACK + FEW;
	int held = n < c->dev->config.overhead_bytes;

	if (!held && !c->own.held)
		return;
	if (n < TOLD && !c->own.told)
		log_line("context %u (pid %d) has %" PRIu64 " MiB besides its device memory, and with those whose it is, or all, nearly what there is for "
			 "that (--overheads): it gets %" PRIu64 " more", c->qid, c->pid, c->own.bytes >> 20, n >> 20);
	c->own.told = held && (c->own.told || n < TOLD);
	c->own.held = held;
	c->own.most = maps + n > few ? maps + n : few;
	ctxgrant_limit(c);
}

/* The largest of those alike; it is ended. */
static void end_one(struct context *of, int group)
{
	static const char *const whose[GROUPS] = { "its client", "its user", "its container", "all clients together" };
	struct device *d = of->dev;
	struct context *worst = NULL;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *x = &d->ctx[q];

		if (x->state == CTX_RUNNING && alike(of, x, group) && (!worst || x->own.bytes > worst->own.bytes))
			worst = x;
	}
	log_line("context %u (pid %d) has %" PRIu64 " MiB besides its device memory; %s have %" PRIu64 ", %" PRIu64 " at most (--overheads): killed",
		 worst->qid, worst->pid, worst->own.bytes >> 20, whose[group], together(of, group) >> 20, share(d, group) >> 20);
	worst->own.bytes = 0;
	ctxproc_kill(worst, VGPU_ST_CONTEXT_DEAD);
}

/* With all of them it is too much: whose are the most? */
static struct context *greediest(struct device *d, int *group)
{
	struct context *most = NULL;
	uint64_t bytes = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++) {
		struct context *c = &d->ctx[q];
		uint64_t n = c->state == CTX_RUNNING ? together(c, owner(c)) : 0;

		if (n > bytes) {
			bytes = n;
			most = c;
			*group = owner(c);
		}
	}
	return most;
}

/* One is ended, if somebody has too much. */
static int end_greedy(struct device *d)
{
	struct context *c;
	int group = ALL;

	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		for (group = 0; d->ctx[q].state == CTX_RUNNING && group < ALL; group++)
			if (together(&d->ctx[q], group) > share(d, group)) {
				end_one(&d->ctx[q], group);
				return 1;
			}
	if (d->own_all <= share(d, ALL))
		return 0;
	c = greediest(d, &group);
	if (c)
		end_one(c, group);
	return c != NULL;
}

static uint64_t all(const struct device *d)
{
	uint64_t sum = 0;

	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		sum += d->ctx[q].state == CTX_RUNNING ? d->ctx[q].own.bytes : 0;
	return sum;
}

uint64_t ctxown_next(const struct device *d)
{
	/* a host's driver has memory of its own, which it does not tell */
	if (!d->live || d->config.cuda_library)
		return 0;
	return d->own_ns ? d->own_ns : 1;
}

void ctxown_turn(struct device *d)
{
	uint64_t now = clock_ns(), maps[STUB_QUEUES], before = d->own_all, next = ctxown_next(d);

	if (!next || now < next)
		return;
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		maps[q] = d->ctx[q].state == CTX_RUNNING ? look(&d->ctx[q]) : 0;
	d->own_all = all(d);
	if (d->own_all > d->config.overheads_bytes / 2 || d->own_all > before + d->config.overheads_bytes / 64)
		d->own_every_ns = NEAR_NS;
	else
		d->own_every_ns = d->own_every_ns * 2 > FAR_NS ? FAR_NS : d->own_every_ns < NEAR_NS ? NEAR_NS : d->own_every_ns * 2;
	while (end_greedy(d))
		d->own_all = all(d);
	for (uint32_t q = 0; q < STUB_QUEUES; q++)
		if (d->ctx[q].state == CTX_RUNNING && maps[q])
			hold(&d->ctx[q], maps[q]);
	d->own_ns = now + d->own_every_ns;
}
