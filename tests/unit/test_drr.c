/* SPDX-License-Identifier: MIT */
/*
 * Fair shares of the data thread: contexts of any weight with commands of any size get slots in proportion to their
 * weights, to within one turn and one command; who had no work saves nothing up; a command larger than a quantum goes
 * after a bounded number of turns.
 *
 * Sources: tests/unit/test_drr.c      Flags: -Iagent
 */
#include <stdio.h>

#include "drr.h"

static unsigned failed;
#define CHECK(x) \
	do { \
		if (!(x)) { \
			failed++; \
			printf("FAIL line %d: %s\n", __LINE__, #x); \
		} \
	} while (0)

/* One turn of a context that always has a next command of `slots`. Returns the slots that went. */
static unsigned turn(struct drr *d, unsigned slots)
{
	unsigned sent = 0;

	drr_begin(d);
	while (drr_take(d, slots))
		sent += slots;
	drr_end(d, 1);
	return sent;
}

int main(void)
{
	static const struct { unsigned weight, slots; } who[] = {
		{ 100, 1 }, { 100, 2 }, { 100, 75 }, { 50, 11 }, { 200, 3 }, { 800, 75 }, { 10, 75 },
	};
	enum { N = sizeof(who) / sizeof(who[0]) };
	struct drr d[N], one;
	unsigned long sent[N] = { 0 };

	for (unsigned i = 0; i < N; i++)
		drr_init(&d[i], who[i].weight);
	for (unsigned t = 0; t < 10000; t++)
		for (unsigned i = 0; i < N; i++)
			sent[i] += turn(&d[i], who[i].slots);
	for (unsigned i = 0; i < N; i++) {
		unsigned long fair = 10000ul * d[i].quantum;

		CHECK(sent[i] <= fair && sent[i] + who[i].slots > fair);
		printf("weight %4u, commands of %2u slots: %7lu slots, quantum %u\n", who[i].weight, who[i].slots, sent[i],
		       d[i].quantum);
	}
	/* shares follow weights */
	CHECK(d[3].quantum * 2 == d[0].quantum && d[4].quantum == 2 * d[0].quantum);

	/* nothing to do for a long time is no credit */
	drr_init(&one, 100);
	for (unsigned t = 0; t < 1000; t++) {
		drr_begin(&one);
		drr_end(&one, 0);
	}
	CHECK(turn(&one, 1) == one.quantum);

	/* the smallest weight and the largest command */
	drr_init(&one, 1);
	unsigned turns = 0;
	while (!turn(&one, 75))
		CHECK(++turns < 75);
	CHECK(one.quantum == DRR_SLOTS_MIN);

	/* and the largest weight is bounded: nobody keeps the thread */
	drr_init(&one, 1000);
	CHECK(turn(&one, 1) == DRR_SLOTS_MAX);
	return failed != 0;
}
