/* SPDX-License-Identifier: MIT */
/*
 * Which of two codes of a kernel is kept, and which of its two functions (tune.c): what a trial makes of turns and launches some of which were
 * interrupted, as they are where others want the processor, too. Times are given here; nothing is measured.
 *
 * Sources: tests/unit/test_trial.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../../tools/vgpu-stub/cpu/jit.h"
#include "../../tools/vgpu-stub/cpu/rt.h"

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
/* the old one is the interpreter's, as good as whole */
static u64 interpreted(u32 turn, bool newer) { return newer ? 100000 + turn : 20000000; }
/* blocks of an edge take half as long */
static u64 edges(u32 turn, bool newer) { return (newer ? 2400 : 3000) / (turn % 8 == 7 ? 2 : 1); }

/* The same of launches, by the ordinary function and by the coarse one, whose blocks do four blocks' work: how long that takes is t's. Launches until it is over. */
static u32 launches(took *t, bool held, u32 *end)
{
	struct func fn = { .tune = { .state = TUNE_TRIED, .held = held } }, many = { .of = &fn, .further = 3 };
	struct grid *g = calloc(1, sizeof(*g));
	struct jit j = { .fn = &fn };
	u32 n, by[2] = { 0 };

	fn.coarse = &many;
	g->rows = g->join.parts = 1;
	for (n = 0; fn.tune.state == TUNE_TRIED && n < 1000; n++) {
		bool coarse = tune_takes(&fn);

		g->fn = coarse ? &many : &fn;
		g->nblocks = coarse ? BLOCKS : 4 * BLOCKS;
		g->step = coarse ? 4 : 1;
		g->took = g->took_blocks = 0;
		/* by two workers, the second of which has more to do */
		tune_took(g, &j, t(n, coarse) * BLOCKS, 1);
		tune_took(g, &j, 3 * t(n, coarse) * BLOCKS, g->nblocks - 1);
		by[coarse]++;
	}
	*end = fn.tune.state;
	CHECK(by[0] && by[1] && tune_takes(&fn) == (*end == TUNE_CHOSEN));
	free(g);
	return n;
}

static u64 hopeless(u32 n, bool coarse) { return coarse ? 90000 + n : 3000; }
static u64 four_times(u32 n, bool coarse) { return coarse ? 12000 + n : 3000; }
static u64 hardly_faster(u32 n, bool coarse) { return coarse ? 2960 + n % 2 : 3000; }
static u64 hardly_slower(u32 n, bool coarse) { return coarse ? 3040 + n % 2 : 3000; }
/* two of the ordinary one's launches were interrupted, or had to wait for memory */
static u64 seldom_long(u32 n, bool coarse) { return coarse ? 3060 : 3000 + (n == 8 || n == 11 || n == 12 || n == 15 ? 5000 : 0); }
/* every other launch has three times as much to do */
static u64 alternately(u32 n, bool coarse) { return (coarse ? 2400 : 3000) * (n % 2 ? 3 : 1); }
static u64 alternately_slower(u32 n, bool coarse) { return (coarse ? 3600 : 3000) * (n % 2 ? 3 : 1); }
static u64 cold(u32 n, bool coarse) { return (coarse ? 2400 : 3000) + (n < 2 ? 800000 : 0); }

/* Another trial comes, behind many times what there was. */
static void again(void)
{
	struct func fn = { .tune = { .state = TUNE_KEPT, .spent = 1000, .again = 8000 } };
	struct grid *g = calloc(1, sizeof(*g));
	struct jit j = { .fn = &fn };

	g->fn = &fn;
	g->nblocks = g->step = g->rows = g->join.parts = 1;
	tune_took(g, &j, 6000, 1);
	CHECK(fn.tune.state == TUNE_KEPT);
	g->took = g->took_blocks = 0;
	tune_took(g, &j, 2000, 1);
	CHECK(fn.tune.state == TUNE_TRIED);
	free(g);
}

/* most: launches until it is over */
static const struct { took *took; bool held; u32 most, end; } of_launches[] = {
	{ hopeless, false, 2, TUNE_KEPT }, { four_times, false, 8, TUNE_KEPT },
	{ much_slower, false, 19, TUNE_KEPT }, { much_faster, false, 19, TUNE_CHOSEN },
	{ little_faster, false, 28, TUNE_CHOSEN }, { hardly_faster, false, 28, TUNE_KEPT },
	{ interrupted_often, false, 28, TUNE_CHOSEN }, { cold, false, 28, TUNE_CHOSEN },
	{ alternately, false, 28, TUNE_CHOSEN }, { alternately_slower, false, 28, TUNE_KEPT },
	{ hardly_faster, true, 28, TUNE_CHOSEN }, { hardly_slower, true, 28, TUNE_CHOSEN }, { much_slower, true, 28, TUNE_KEPT },
	{ seldom_long, false, 28, TUNE_KEPT }, { seldom_long, true, 28, TUNE_CHOSEN },
};

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
	CHECK(trial(interpreted, &end) < 12 && end == JIT_CHOSEN);
	trial(edges, &end);
	CHECK(end == JIT_CHOSEN);
	for (u32 i = 0; i < sizeof(of_launches) / sizeof(*of_launches); i++) {
		u32 n = launches(of_launches[i].took, of_launches[i].held, &end);

		CHECK(n <= of_launches[i].most && end == of_launches[i].end);
		if (end != of_launches[i].end)
			printf("trial of launches %u\n", i);
	}
	again();
	printf("%u checks, %u failed\n", checks, failed);
	return failed != 0;
}
