/* SPDX-License-Identifier: MIT */
/*
 * What a context does with its engine (tools/vgpu-stub/ctx_job.c): one thread loads modules and compiles kernels while another launches
 * what is ready; now and then it launches the very kernel that is being compiled. Every result is right, and no launch waits for a
 * compilation that is not its own: in the whole run some are had while one is under way.
 *
 * Sources: tests/unit/test_apart.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 */
#include <pthread.h>
#include <sched.h>

#include "../ptx/rig.h"

#define ROUNDS 200
#define BODIES 40                       /* kernels of a module */

static struct rig rig;
static char text[BODIES * 400 + 400];

/* The second thread's job: 0 none, 1 load, 2 describe; it sets it back. */
static int job;
static uint32_t module, fn, status;
static int over;

static void *compiler(void *unused)
{
	struct engine_func_info info;
	char log[256];

	(void)unused;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		switch (__atomic_load_n(&job, __ATOMIC_ACQUIRE)) {
		case 0:
			sched_yield();
			continue;
		case 1:
			status = engine_cpu.module_load(rig.engine, text, strlen(text) + 1, &module, log, sizeof(log));
			break;
		case 2:
			status = engine_cpu.func_info(rig.engine, fn, &info, log, sizeof(log));
			break;
		}
		__atomic_store_n(&job, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static uint32_t entry(uint32_t m, const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; !engine_cpu.module_symbol(rig.engine, m, i, &s); i++)
		if (!strcmp(s.name, name))
			return s.id;
	abort();
}

/* 0: it has written what it should */
static int launch(uint32_t f, volatile uint32_t *cell, uint32_t want)
{
	struct engine_launch l = { .fn = f, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .params = &cell, .param_bytes = 8 };
	unsigned index = 0;
	uint32_t st;

	*cell = 0;
	st = rig_launch(&rig, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, 60);
	rig.launches = 0;
	rig.ended[0] = 0;
	if (!st && *cell == want)
		return 0;
	printf("FAIL launch: %s, %u instead of %u\n", vgpu_status_text(st), *cell, want);
	return 1;
}

int main(void)
{
	uint32_t first, beside = 0, bad = 0;
	volatile uint32_t *cell;
	pthread_t t;
	char *p = text;

	p += sprintf(p, ".version 7.0\n.target sm_60\n.address_size 64\n");
	for (unsigned i = 0; i < BODIES; i++) {
		p += sprintf(p, ".visible .entry k%u(.param .u64 p) {\n.reg .b32 %%r<3>;\n.reg .b64 %%q<2>;\nld.param.u64 %%q1, [p];\nmov.u32 %%r1, %u;\n", i, i);
		p += sprintf(p, "add.u32 %%r2, %%r1, 7;\nst.global.b32 [%%q1], %%r2;\nret;\n}\n");
	}
	if (rig_open(&rig, 2, 6, 1))
		return 1;
	cell = rig_alloc(&rig, 4096);
	job = 1;
	pthread_create(&t, NULL, compiler, NULL);
	while (__atomic_load_n(&job, __ATOMIC_ACQUIRE))
		sched_yield();
	first = entry(module, "k3");
	for (unsigned i = 0; i < ROUNDS && !bad; i++) {
		uint32_t k = i % BODIES;
		char name[16];

		__atomic_store_n(&job, 1, __ATOMIC_RELEASE);
		do
			bad += (uint32_t)launch(first, cell, 10);
		while (!bad && __atomic_load_n(&job, __ATOMIC_ACQUIRE) && ++beside);
		snprintf(name, sizeof(name), "k%u", k);
		fn = status ? 0 : entry(module, name);
		__atomic_store_n(&job, 2, __ATOMIC_RELEASE);
		bad += status || launch(fn, cell, k + 7);
		while (__atomic_load_n(&job, __ATOMIC_ACQUIRE))
			sched_yield();
		bad += status || engine_cpu.module_unload(rig.engine, module) != VGPU_ST_OK;
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	rig_close(&rig);
	printf("%s: %u modules beside launches, %u of these while one was loaded\n", bad || !beside ? "FAIL" : "ok", ROUNDS, beside);
	return bad || !beside;
}
