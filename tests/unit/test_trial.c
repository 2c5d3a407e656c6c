/* SPDX-License-Identifier: MIT */
/*
 * Which of two codes of a kernel is kept: what a trial makes of turns some of which were interrupted, as they are where others want the
 * processor, too. Times are given here; nothing is measured.
 *
 * Sources: tests/unit/test_trial.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../../tools/vgpu-stub/cpu/jit.h"

#define BLOCKS 4u

/* How long a block of the one code or the other takes in that turn, in ticks. */
typedef u64 took(u32 turn, bool newer);

/* Turns until it is over; how it ended in *end. */
static u32 trial(took *t, u32 *end)
{
	static struct jit old, new;
	struct grid *g = calloc(1, sizeof(*g));
	u32 turn;

	memset(&old, 0, sizeof(old));
	memset(&new, 0, sizeof(new));
	old.newer = &new;
	new.older = &old;
	old.trial = JIT_TRIED;
	g->jit = &old;
	for (turn = 0; old.trial == JIT_TRIED && turn < 1000; turn++)
		jit_took(g, g->jit, BLOCKS * t(turn / 2, g->jit == &new), BLOCKS);
	*end = old.trial;
	CHECK(g->jit == (old.trial == JIT_CHOSEN ? &new : &old));
	free(g);
	return turn;
}

static u64 much_slower(u32 turn, bool newer) { return newer ? 9000 + turn : 3000; }
static u64 much_faster(u32 turn, bool newer) { return newer ? 1000 + turn : 3000; }
static u64 little_faster(u32 turn, bool newer) { return newer ? 2600 + turn % 3 : 3000; }
/* a tick of the clock comes now and then, and by chance the new one has those of the beginning */
static u64 interrupted_first(u32 turn, bool newer) { return (newer ? 2000 : 3000) + (newer && turn < 5 ? 400000 : 0); }
static u64 interrupted_often(u32 turn, bool newer) { return (newer ? 2000 : 3000) + (turn % 4 == newer ? 90000 : 0); }
static u64 cold_first(u32 turn, bool newer) { return (newer ? 3000 : 2000) + (!newer && turn < 3 ? 500000 : 0) + (!newer && turn == 4 ? 10000 : 0); }
/* blocks of an edge take half as long */
static u64 edges(u32 turn, bool newer) { return (newer ? 2400 : 3000) / (turn % 8 == 7 ? 2 : 1); }

int main(void)
{
	u32 end;

	CHECK(trial(much_slower, &end) < 24 && end == JIT_KEPT);
	CHECK(trial(much_faster, &end) < 24 && end == JIT_CHOSEN);
	trial(little_faster, &end);
	CHECK(end == JIT_CHOSEN);
	trial(interrupted_first, &end);
	CHECK(end == JIT_CHOSEN);
	trial(interrupted_often, &end);
	CHECK(end == JIT_CHOSEN);
	trial(cold_first, &end);
	CHECK(end == JIT_KEPT);
	trial(edges, &end);
	CHECK(end == JIT_CHOSEN);
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
