/* SPDX-License-Identifier: MIT */
/*
 * Atomics without a lock (cpu/alone.c). On a device of one core a kernel adds to words for as long as the test lasts, on the worker,
 * and meanwhile others write there: grids that run on the dispatcher, fills and copies, who writes by himself and says so, and,
 * where memory is shared or the client's, a thread with locked instructions of its own. Not one of their writes may be lost, and no
 * addition. A kernel whose addition meets a missing page leaves nobody waiting.
 *
 * Sources: tests/unit/test_alone.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <sched.h>

#include "../ptx/rig.h"
#include "isas.h"

#include "../../tools/vgpu-stub/cpu/cpu.h"
#include "processor.h"

#define MET 2000u                       /* rounds in which the kernel got on: on a busy machine the two take turns for long */
#define ROUNDS 500000u                  /* where it never does */

static struct rig rig;

/*
 * again(p, stop, n): each lane adds 1 to p[0], 0 to p[1], until *stop; n[lane] counts its rounds. once(p): one round. Where a lane adds is read
 * from memory, so 32 additions follow each other, and most of the time one is at work.
 */
static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry again(.param .u64 p, .param .u64 stop, .param .u64 n)\n{\n"
	"\t.reg .b32 %r<8>;\n\t.reg .b64 %q<8>;\n\t.reg .pred %p0;\n"
	"\tld.param.u64 %q0, [p];\n\tld.param.u64 %q1, [stop];\n\tld.param.u64 %q2, [n];\n"
	"\tmov.u32 %r0, %tid.x;\n\tmul.wide.u32 %q3, %r0, 4;\n\tadd.u64 %q4, %q0, %q3;\n\tld.global.u32 %r1, [%q4+1024];\n"
	"\tmul.wide.u32 %q3, %r1, 8;\n\tadd.u64 %q4, %q0, %q3;\n\tmov.u32 %r2, 0;\n"
	"L:\n\tatom.global.add.u32 %r3, [%q4], 1;\n\tred.global.add.u32 [%q4+4], 0;\n\tadd.u32 %r2, %r2, 1;\n"
	"\tld.volatile.global.u32 %r4, [%q1];\n\tsetp.eq.u32 %p0, %r4, 0;\n\t@%p0 bra L;\n"
	"\tmul.wide.u32 %q5, %r0, 4;\n\tadd.u64 %q5, %q2, %q5;\n\tst.global.u32 [%q5], %r2;\n\tret;\n}\n"
	".visible .entry once(.param .u64 p, .param .u64 stop, .param .u64 n)\n{\n"
	"\t.reg .b32 %r<8>;\n\t.reg .b64 %q<8>;\n"
	"\tld.param.u64 %q0, [p];\n"
	"\tmov.u32 %r0, %tid.x;\n\tmul.wide.u32 %q3, %r0, 4;\n\tadd.u64 %q4, %q0, %q3;\n\tld.global.u32 %r1, [%q4+1024];\n"
	"\tmul.wide.u32 %q3, %r1, 8;\n\tadd.u64 %q4, %q0, %q3;\n"
	"\tatom.global.add.u32 %r3, [%q4], 1;\n\tred.global.add.u32 [%q4+4], 0;\n\tret;\n}\n";

static uint32_t module;

static uint32_t entry(const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, module, i, &s); i++)
		if (!strcmp(s.name, name))
			return s.id;
	abort();
}

static uint32_t start(const char *name, volatile uint32_t *p, volatile uint32_t *stop, volatile uint32_t *n, unsigned *index)
{
	struct { volatile uint32_t *p, *stop, *n; } args = { p, stop, n };
	struct engine_launch l = { .fn = entry(name), .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .params = &args, .param_bytes = 24 };

	return rig_launch(&rig, &l, index);
}

enum { GRIDS, FILLS, COPIES, BY_ITSELF, SHARED, WINDOW, NWAYS };
static const char *const ways[NWAYS] = { "grids", "fills", "copies", "by itself", "shared", "window" };

/* What comes beside the worker's grid in one round; how many additions to word 0 that were. */
static uint32_t beside(int way, volatile uint32_t *p, volatile uint32_t *stop, volatile uint32_t *n, uint32_t i)
{
	unsigned index;
	int entered;
	uint32_t st;

	switch (way) {
	case GRIDS:
		st = start("once", p, stop, n, &index);
		if (st == ENGINE_PENDING)
			st = rig_wait(&rig, index, 60);
		rig.launches--;
		rig.ended[index] = 0;
		CHECK(!st, "round %u: %s", i, vgpu_status_text(st));
		return 32;
	case FILLS:
		CHECK(!engine_cpu.fill(rig.engine, (void *)&p[1], i, 4, 1), "round %u", i);
		break;
	case COPIES:
		CHECK(!engine_cpu.copy(rig.engine, (void *)&p[1], &i, 4), "round %u", i);
		break;
	case BY_ITSELF:
		entered = engine_cpu.beside(rig.engine, -1);
		p[1] = i;
		engine_cpu.beside(rig.engine, entered);
		break;
	case SHARED:
	case WINDOW:
		__atomic_store_n(&p[1], i, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&p[0], 1, __ATOMIC_SEQ_CST);
		break;
	}
	/* the grid adds nothing to it: unless it wrote back what it had read before, that is what is there */
	for (unsigned k = 0; k < 50; k++)
		if (p[1] != i) {
			CHECK(0, "%s: round %u: 0x%x is there", ways[way], i, p[1]);
			break;
		}
	return way >= SHARED;
}

static void one_way(int way, volatile uint32_t *page)
{
	volatile uint32_t *p = page, *stop = page + 512, *n = page + 768;
	uint32_t more = 0, added = 0, met = 0, last = 0, now, st, i;
	unsigned index;

	for (i = 0; i < 1024; i++)
		page[i] = 0;
	st = start("again", p, stop, n, &index);
	CHECK(st == ENGINE_PENDING, "%s", vgpu_status_text(st));
	while (!p[0])           /* it runs */
		;
	for (i = 1; i <= ROUNDS && met < MET && failures < 5; i++) {
		more += beside(way, p, stop, n, i);
		now = p[0] - more;
		met += now != last;
		last = now;
	}
	*stop = 1;
	st = rig_wait(&rig, index, 60);
	CHECK(!st, "%s", vgpu_status_text(st));
	for (unsigned lane = 0; lane < 32; lane++)
		added += n[lane];
	CHECK(p[0] == added + more, "%s: %u additions, and %u more, came to %u", ways[way], added, more, p[0]);
	rig.launches = 0;
	memset(rig.ended, 0, sizeof(rig.ended));
	printf("ok %s: %u rounds beside %u additions, which got on in %u\n", ways[way], i - 1, added, met);
}

static int open_apart(void)
{
	int rc;

	on(0);
	rc = rig_open(&rig, 1, 9, 0);
	on(1);
	return rc;
}

static int all(void)
{
	volatile uint32_t *page;
	char log[256] = "";
	unsigned index;
	uint32_t st, one = 1;

	if (open_apart())
		return 1;
	page = rig_alloc(&rig, 4096);
	st = engine_cpu.module_load(rig.engine, text, sizeof(text), &module, log, sizeof(log));
	if (st || !page) {
		printf("test_alone.c: %s %s\n", vgpu_status_text(st), log);
		return 1;
	}
	if (!rig.engine->alone.able) {
		printf("skip: no compiled code here, or no membarrier\n");
		return 77;
	}
	for (int way = GRIDS; way < SHARED; way++)
		one_way(way, page);
	CHECK(rig.engine->alone.used && !rig.engine->alone.others, "used %d, others %u", rig.engine->alone.used, rig.engine->alone.others);
	engine_cpu.note_alloc(rig.engine, (uint64_t)(uintptr_t)page, 4096, ENGINE_MAPPED);
	CHECK(rig.engine->alone.others, "shared memory, and nobody beside");
	one_way(SHARED, page);
	rig_close(&rig);

	/* the client's memory lies below the arena: it writes there as it likes */
	rig_low = 1;
	if (open_apart())
		return 1;
	rig_low = 0;
	page = rig_alloc(&rig, 4096);
	engine_cpu.module_load(rig.engine, text, sizeof(text), &module, log, sizeof(log));
	one_way(WINDOW, page);
	CHECK(!rig.engine->alone.others, "others %u", rig.engine->alone.others);
	rig_close(&rig);

	/* an addition to a missing page, as the first of a new engine: it is said that it was at work, and then it never ends */
	if (open_apart())
		return 1;
	page = rig_alloc(&rig, 4096);
	engine_cpu.module_load(rig.engine, text, sizeof(text), &module, log, sizeof(log));
	for (unsigned lane = 0; lane < 32; lane++)
		page[256 + lane] = 1024;
	st = start("once", page, page, page, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 60);
	CHECK(st == VGPU_ST_ILLEGAL_ADDRESS, "%s", vgpu_status_text(st));
	CHECK(!cpu_ts->bare && (!rig.engine->alone.worker || !rig.engine->alone.worker->bare), "an atomic is still at work");
	CHECK(!engine_cpu.copy(rig.engine, (void *)page, &one, 4) && page[0] == 1, "0x%x", page[0]);
	rig_close(&rig);
	printf("%s\n", failures ? "FAIL" : "ok");
	return failures != 0;
}

int main(void) { return on_each_isa(all); }
