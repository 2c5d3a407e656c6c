/* SPDX-License-Identifier: MIT */
/*
 * The rig on NVIDIA's driver (-m cuda): the hardware says what is right. Included by rig.h where RIG_CUDA is defined.
 *
 * A process has one context and one engine for all its rigs. Buffers are device memory at the end of the driver's pages, with an
 * unmapped page behind; tests read and write a copy of it in this process, which rig_push and rig_pull move. The driver has
 * descriptor 1 (cuda/print.c), so what tests say goes through rig_out.
 */
#ifndef TESTS_PTX_RIG_CUDA_H
#define TESTS_PTX_RIG_CUDA_H

#include <dlfcn.h>
#include <sched.h>

#include "../../fw-protocol/vgpu_client.h"
#include "../../fw-protocol/vgpu_device.h"

/* A program without cuda/ is told so. */
#pragma weak engine_cuda
#pragma weak cuda_open_library
#pragma weak cuda_open_context
#pragma weak cuda_identify

#define RIG_DEVICE_BYTES (64ull << 30)  /* of addresses */

static uint64_t rig_base;               /* of the engine: its arena, then memory */

static struct engine *rig_cuda_engine;
static struct rig *rig_now;             /* whose launches are out */
static struct vgpu_device_info rig_device;

static void rig_cuda_done(void *owner, uint64_t cookie, uint32_t status)
{
	(void)owner;
	rig_done(rig_now, cookie, status);
}

static void rig_cuda_fault(void *owner, const struct engine_fault *f)
{
	(void)owner;
	rig_fault(rig_now, f);
}

static void rig_cuda_print(void *owner, const char *text, size_t bytes)
{
	(void)owner;
	rig_print(rig_now, text, bytes);
}

static int rig_cuda_room(void *owner, size_t bytes)
{
	(void)owner, (void)bytes;
	return 1;
}

static void rig_cuda_wake(void *owner) { (void)owner; }

/* 0, or -1 with a line. Our own libcuda as the driver has its window below the device's memory, and an agent of its own. */
static int rig_cuda_begin(void)
{
	const char *path = getenv("CUDA_LIBRARY"), *agent = getenv("VGPU_HOST_AGENT");
	/* where a driver gives no memory at the first one */
	static const uint64_t bases[] = { 0x200000000000ull, 0x100000000000ull, 0x10000000000ull, 0x400000000000ull };
	struct engine_env env = {
		.span_bytes = VGPU_DEVICE_SPAN, .arena_bytes = VGPU_ARENA_BYTES, .cores = 1, .wake = rig_cuda_wake, .done = rig_cuda_done, .fault = rig_cuda_fault, .print = rig_cuda_print,
		.print_room = rig_cuda_room,
	};
	char why[512] = "", span[64];
	uint32_t st;

	if (rig_cuda_engine)
		return 0;
	if (!&engine_cuda) {
		printf("rig: this program was linked without the engine on CUDA\n");
		return -1;
	}
	fflush(stdout);
	if (!rig_out || rig_out == stdout) {
		rig_out = fdopen(dup(1), "w");
		if (!rig_out)
			return -1;
		setvbuf(rig_out, NULL, _IOLBF, 1 << 16);
	}
	snprintf(span, sizeof(span), "0x%llx:1", (unsigned long long)(bases[0] - 2 * VGPU_TIB));
	setenv("VGPU_SPAN", span, 1);
	setenv("CUDA_CACHE_DISABLE", "1", 0);
	if (agent)
		setenv("VGPU_AGENT", agent, 1);
	st = cuda_open_library(path && *path ? path : "libcuda.so.1", 0, why, sizeof(why));
	if (!st)
		st = cuda_identify(&rig_device, why, sizeof(why));
	for (unsigned i = 0; !rig_base && !st && i < sizeof(bases) / sizeof(bases[0]); i++) {
		uint32_t no = cuda_open_context(bases[i], RIG_DEVICE_BYTES, why, sizeof(why));

		if (no)
			printf("rig: no context with memory at 0x%llx: %s (%s)\n", (unsigned long long)bases[i], vgpu_status_text(no), why);
		else
			rig_base = bases[i];
	}
	if (!st && !rig_base)
		st = VGPU_ST_NOT_SUPPORTED;
	env.span_base = env.arena_base = rig_base;
	env.cc_major = rig_device.cc_major;
	env.cc_minor = rig_device.cc_minor;
	env.sm_count = rig_device.sm_count;
	env.shared_per_block_optin = rig_device.shared_per_block_optin;
	if (!st)
		st = engine_cuda.open(&env, &rig_cuda_engine);
	if (st)
		printf("rig: the driver: %s (%s)\n", vgpu_status_text(st), why);
	return st ? -1 : 0;
}

/*
 * Of a thread, for functions that call themselves: a driver's own limit is 1 KiB, and an H100 has room for 270,000 threads. Behind the
 * first launch memory comes for it; what was asked for stays until another asks.
 */
static __attribute__((unused)) int rig_cuda_stack(size_t bytes)
{
	const char *path = getenv("CUDA_LIBRARY");
	void *lib = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *f = lib ? dlsym(lib, "cuCtxSetLimit") : NULL;
	int (*set_limit)(int, size_t);

	memcpy(&set_limit, &f, sizeof(f));
	return f ? set_limit(0 /* CU_LIMIT_STACK_SIZE */, bytes) : -1;
}

static int rig_cuda_open(struct rig *r)
{
	if (rig_cuda_begin())
		return -1;
	if (engine_cuda.died(rig_cuda_engine)) {
		printf("rig: the context died of %s\n", vgpu_status_text(engine_cuda.died(rig_cuda_engine)));
		return -1;
	}
	r->engine = rig_cuda_engine;
	r->next = rig_base + VGPU_ARENA_BYTES;
	rig_now = r;
	return 0;
}

static struct rig_piece *rig_piece_of(struct rig *r, const void *p)
{
	for (unsigned i = 0; i < r->pieces; i++)
		if ((uintptr_t)p - (uintptr_t)r->piece[i].host < r->piece[i].whole)
			return &r->piece[i];
	return NULL;
}

static void *rig_cuda_map(struct rig *r, size_t bytes, size_t whole)
{
	struct rig_piece *p = &r->piece[r->pieces];
	uint64_t pages = (whole + VGPU_HUGE - 1) & ~(VGPU_HUGE - 1);
	uint32_t st;

	if (r->pieces == RIG_PIECES)
		return NULL;
	p->host = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->host == MAP_FAILED)
		return NULL;
	p->whole = whole;
	p->gone = 0;
	p->at = r->next + pages - whole;
	if (rig_watch_buffers)
		canary_slack(&r->canaries, p->host + bytes, whole - bytes);
	st = engine_cuda.memory(r->engine, p->at, whole, 1);
	if (!st)
		st = engine_cuda.copy(r->engine, (void *)(uintptr_t)p->at, p->host, whole);
	if (st) {
		printf("rig: device memory at 0x%llx: %s\n", (unsigned long long)p->at, vgpu_status_text(st));
		munmap(p->host, whole);
		return NULL;
	}
	r->next += pages + VGPU_HUGE;
	r->pieces++;
	return p->host;
}

/* Its address stays a name. */
static __attribute__((unused)) void rig_free(struct rig *r, const void *p)
{
	struct rig_piece *piece = rig_piece_of(r, p);

	if (!piece || !rig_on_cuda || engine_cuda.memory(r->engine, piece->at, piece->whole, 0))
		printf("rig: memory that cannot be freed\n");
	if (piece)
		piece->gone = 1;
}

/* No launch is out. How many bytes behind buffers were written to. */
static unsigned rig_cuda_close(struct rig *r)
{
	unsigned strays = 0;

	if (!engine_cuda.died(r->engine)) {
		for (unsigned i = 0; i < r->pieces; i++)
			if (!r->piece[i].gone)
				engine_cuda.copy(r->engine, r->piece[i].host, (void *)(uintptr_t)r->piece[i].at, r->piece[i].whole);
		strays = canary_check(&r->canaries);
	}
	for (unsigned i = 0; i < r->pieces; i++) {
		if (!r->piece[i].gone && !engine_cuda.died(r->engine))
			engine_cuda.memory(r->engine, r->piece[i].at, r->piece[i].whole, 0);
		munmap(r->piece[i].host, r->piece[i].whole);
	}
	return strays;
}

/* Until launch `index` has ended, or for so long. An end by an error of the context is seen by asking alone. */
static void rig_cuda_wait(struct rig *r, unsigned index, double seconds)
{
	double until = rig_clock(CLOCK_MONOTONIC) + seconds;

	for (unsigned n = 0; !__atomic_load_n(&r->ended[index], __ATOMIC_ACQUIRE); n++) {
		engine_cuda.settle(r->engine, 0);
		engine_cuda.poll(r->engine, n > 100);
		if (n <= 100) {
			sched_yield();
			continue;
		}
		if (rig_clock(CLOCK_MONOTONIC) > until)
			break;
		usleep(n < 1000 ? 20 : 500);
	}
}

#endif
