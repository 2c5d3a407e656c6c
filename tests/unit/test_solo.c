/* SPDX-License-Identifier: MIT */
/*
 * Atomics without a lock where there are several workers (cpu/alone.c): one of them has a turn, and the others none. A kernel of many
 * blocks adds to a few words of one line, by turns of one at a time; meanwhile grids come that add to the same words, whose turns begin
 * beside it, and fills, copies and who writes by himself come to a word of the line. Not one addition may be lost, and no write. Then without
 * being told: the trial ends with what is faster on this machine, and the sums are right again.
 *
 * Sources: tests/unit/test_solo.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */

#include "../ptx/rig.h"
#include "isas.h"

#include "../../tools/vgpu-stub/cpu/cpu.h"

#define WORDS 8u
#define BLOCKS 12000u
#define FEW 1500u               /* blocks of the grid beside: more than the dispatcher runs in place */
#define THREADS 64u
#define ADDS 4u                 /* of a thread */
#define LAUNCHES 20u
#define OWN 12u                 /* the word that nobody adds to */

static struct rig rig;

/* Each thread adds 1 to p[tid & 7] four times. The second kernel is the same with another name: what is known of one is not known of the other. */
#define KERNEL(name) \
	".visible .entry " name "(.param .u64 p)\n{\n" \
	"\t.reg .b32 %r<4>;\n\t.reg .b64 %q<4>;\n" \
	"\tld.param.u64 %q0, [p];\n\tmov.u32 %r0, %tid.x;\n\tmul.wide.u32 %q1, %r0, 4;\n\tadd.u64 %q1, %q0, %q1;\n" \
	"\tld.global.u32 %r1, [%q1+1024];\n\tmul.wide.u32 %q2, %r1, 4;\n\tadd.u64 %q2, %q0, %q2;\n" \
	"\tred.global.add.u32 [%q2], 1;\n\tatom.global.add.u32 %r2, [%q2], 1;\n\tred.global.add.u32 [%q2], 1;\n\tred.global.add.u32 [%q2], 1;\n" \
	"\tret;\n}\n"
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL("many") KERNEL("few");

static uint32_t module;

static uint32_t entry(const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &s); i++)
		if (!strcmp(s.name, name))
			return s.id;
	abort();
}

static uint32_t start(const char *name, volatile uint32_t *p, uint32_t blocks, unsigned *index)
{
	struct engine_launch l = { .fn = entry(name), .grid = { blocks, 1, 1 }, .block = { THREADS, 1, 1 }, .params = &p, .param_bytes = 8 };

	return rig_launch(&rig, &l, index);
}

/* As if a trial had come out so. */
static void outcome(const char *name, bool better)
{
	struct func *fn = func_get(rig.engine, entry(name));

	pthread_mutex_lock(&rig.engine->lock);
	fn->solo.better = better;
	fn->solo.turns = 2 * SOLO_TRIAL;
	pthread_mutex_unlock(&rig.engine->lock);
}

static void meanwhile(volatile uint32_t *p, uint32_t i)
{
	uint32_t was = p[OWN];
	int entered;

	switch (i % 3) {
	case 0:
		CHECK(!engine_cpu.fill(rig.engine, (void *)&p[OWN], i, 4, 1), "fill %u", i);
		break;
	case 1:
		CHECK(!engine_cpu.copy(rig.engine, (void *)&p[OWN], &i, 4), "copy %u", i);
		break;
	default:
		entered = engine_cpu.beside(rig.engine, -1);
		p[OWN] = i;
		engine_cpu.beside(rig.engine, entered);
	}
	CHECK(p[OWN] == i, "%u is there, and was %u, for %u", p[OWN], was, i);
}

static void wait_for(uint32_t st, unsigned index)
{
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 60);
	CHECK(!st, "%s", vgpu_status_text(st));
	rig.ended[index] = 0;
}

static void sums(volatile uint32_t *p, uint32_t blocks)
{
	for (unsigned i = 0; i < WORDS; i++)
		CHECK(p[i] == blocks * THREADS * ADDS / WORDS, "word %u: %u instead of %u", i, p[i], blocks * THREADS * ADDS / WORDS);
	for (unsigned i = 0; i < WORDS; i++)
		p[i] = 0;
}

static void several(unsigned cores)
{
	uint32_t st, other, round = 1, few, all = 0;
	volatile uint32_t *p;
	unsigned index, second;
	char log[256] = "";

	if (rig_open(&rig, cores, 9, 0))
		abort();
	p = rig_alloc(&rig, 4096);
	st = engine_cpu.module_load(rig.engine, text, sizeof(text), &module, log, sizeof(log));
	CHECK(!st && p, "%s %s", vgpu_status_text(st), log);
	for (unsigned i = 0; i < THREADS; i++)
		p[256 + i] = i % WORDS;
	for (unsigned i = 0; i < LAUNCHES && failures < 5; i++) {
		outcome("many", true);
		outcome("few", false);
		st = start("many", p, BLOCKS, &index);
		for (few = 0; few < 40 && __atomic_load_n(&rig.engine->alone.listed, __ATOMIC_RELAXED); few++) {
			other = start("few", p, FEW, &second);
			for (unsigned k = 0; k < 100; k++, round++)
				meanwhile(p, round);
			wait_for(other, second);
		}
		wait_for(st, index);
		rig.launches = 0;
		sums(p, BLOCKS + few * FEW);
		all += few;
	}
	CHECK(rig.engine->alone.used && rig.engine->alone.others == 1 && !rig.engine->alone.solo,
	      "used %d, others %u, solo %d", rig.engine->alone.used, rig.engine->alone.others, rig.engine->alone.solo);
	func_get(rig.engine, entry("many"))->solo.turns = 0;
	for (unsigned i = 0; i < LAUNCHES && failures < 5; i++) {
		wait_for(start("many", p, BLOCKS, &index), index);
		rig.launches = 0;
		sums(p, BLOCKS);
	}
	printf("ok %u workers: %u grids and %u writes beside; turns of one at a time: %s\n", cores, all, round - 1,
	       func_get(rig.engine, entry("many"))->solo.better ? "faster" : "not faster");
	rig_close(&rig);
}

static int all(void)
{
	if (rig_open(&rig, 2, 9, 0))
		return 1;
	if (!rig.engine->alone.able) {
		printf("skip: no compiled code here, or no membarrier\n");
		return 77;
	}
	rig_close(&rig);
	several(2);
	several(3);
	printf("%s\n", failures ? "FAIL" : "ok");
	return failures != 0;
}

int main(void) { return on_each_isa(all); }
