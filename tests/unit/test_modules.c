/* SPDX-License-Identifier: MIT */
/*
 * Modules that come and go leave nothing: after 5,000 loads, compilations, launches and unloads the engine's memory is what
 * it is after 30,000, in bytes allocated and in pages. And an id of a function that is gone names nothing, though its
 * place is used again.
 *
 * Sources: tests/unit/test_modules.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <malloc.h>

#include "../ptx/rig.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1                     /* keeps what is freed for a while, and looks for leaks itself */
#define WARM 300
#define LOADS 600
#else
#define SANITIZED 0
#define WARM 5000
#define LOADS 30000
#endif
#define ROUNDS 3u
#define SLACK_HEAP 4096                 /* bytes */
#define SLACK_PAGES 48                  /* of the threads' own */

static const char text[] =
	".version 7.0\n.target sm_60\n.address_size 64\n"
	".visible .global .align 4 .b32 cell[300];\n"
	".visible .const .align 4 .b32 five = 5;\n"
	".func (.param .b32 r) twice(.param .b32 x) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, [x];\nadd.s32 %r2, %r1, %r1;\n"
	"st.param.b32 [r], %r2;\nret;\n}\n"
	".visible .entry one(.param .u64 p) {\n.reg .b32 %r<3>;\n.reg .b64 %q<2>;\nld.param.u64 %q1, [p];\n"
	"{\n.param .b32 a;\n.param .b32 b;\nld.const.b32 %r1, [five];\nst.param.b32 [a], %r1;\ncall (b), twice, (a);\n"
	"ld.param.b32 %r2, [b];\n}\nst.global.b32 [%q1], %r2;\nret;\n}\n"
	".visible .entry two() {\nret;\n}\n";

static struct rig rig;
static unsigned failures;

static long pages(void)
{
	long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
		abort();
	fclose(f);
	return resident;
}

static size_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static uint32_t entry(uint32_t module, const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &s); i++)
		if (!strcmp(s.name, name))
			return s.id;
	abort();
}

static uint32_t once(volatile uint32_t *cell)
{
	struct engine_launch l = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .params = &cell, .param_bytes = 8 };
	struct engine_func_info info;
	uint32_t m, id, st;
	unsigned index = 0;
	char log[256];

	st = engine_cpu.module_load(rig.engine, text, sizeof(text), &m, log, sizeof(log));
	if (st) {
		printf("module_load: %s: %s\n", vgpu_status_text(st), log);
		exit(1);
	}
	l.fn = id = entry(m, "one");
	st = engine_cpu.func_info(rig.engine, id, &info, log, sizeof(log));
	*cell = 0;
	if (!st)
		st = rig_launch(&rig, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 30);
	if (st || *cell != 10) {
		printf("FAIL launch: %s, result %u\n", vgpu_status_text(st), *cell);
		exit(1);
	}
	rig.launches = 0;
	rig.ended[0] = 0;
	st = engine_cpu.module_unload(rig.engine, m);
	if (st) {
		printf("FAIL module_unload: %s\n", vgpu_status_text(st));
		exit(1);
	}
	return id;
}

int main(void)
{
	struct engine_func_info info;
	volatile uint32_t *cell;
	uint32_t first, id = 0;
	size_t h = 0;
	long p = 0;
	char log[64];

	if (rig_open(&rig, 2, 6, 1))
		return 1;
	cell = rig_alloc(&rig, 4096);
	first = once(cell);
	/* what is leaked is leaked again; what is there once may come late, where a launch takes long for once and a worker has its first grid */
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 1; i < LOADS; i++) {
			if (i == WARM) {
				h = heap();
				p = pages();
			}
			id = once(cell);
			if (id == first) {
				printf("FAIL the id of load 0 came back at load %u\n", i);
				return 1;
			}
		}
		if (SANITIZED || (heap() <= h + SLACK_HEAP && pages() <= p + SLACK_PAGES))
			break;
	}
	if (!SANITIZED && heap() > h + SLACK_HEAP)
		failures += printf("FAIL %zu bytes more are allocated after %u loads than after %u\n", heap() - h, LOADS, WARM) > 0;
	if (!SANITIZED && pages() > p + SLACK_PAGES)
		failures += printf("FAIL %ld pages more are in use\n", pages() - p) > 0;
	if (engine_cpu.func_info(rig.engine, first, &info, log, sizeof(log)) != VGPU_ST_BAD_HANDLE ||
	    engine_cpu.func_info(rig.engine, id, &info, log, sizeof(log)) != VGPU_ST_BAD_HANDLE)
		failures += printf("FAIL a function that is gone is found\n") > 0;
	rig_close(&rig);
	printf("%u loads, %u failed\n", LOADS, failures);
	return failures != 0;
}
