/* SPDX-License-Identifier: MIT */
/*
 * What a context process is to an engine, in test form: reserves the address span, maps buffers
 * inside it with guard gaps between them, starts grids and waits for them with a time limit.
 *
 * Included by ptxrun.c, optest.c and the PTX fuzzer. One rig per process at a time (the span has
 * a fixed address). The callbacks of the engine come from any thread: what they write is
 * guarded by `lock`.
 *
 * Who defines RIG_CUDA before it has the engine on NVIDIA's driver, too (-m cuda, rig_cuda.h): its memory is not this process's,
 * so what tests write is pushed and what they read is pulled, and kernels know a buffer by rig_address().
 */
#ifndef TESTS_PTX_RIG_H
#define TESTS_PTX_RIG_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_status.h"
#include "../../tools/vgpu-stub/engine.h"
#ifndef RIG_SPAN_BASE
#define RIG_SPAN_BASE 0x200000000000ull
#endif
#ifndef RIG_SPAN_BYTES
#define RIG_SPAN_BYTES (512ull << 30)
#endif
#ifndef RIG_ARENA_BYTES
#define RIG_ARENA_BYTES (128ull << 30)
#endif
#define RIG_GUARD (64u << 10)
#define RIG_MEMORY (256ull << 20)
#define RIG_CODE (64ull << 20)
#define RIG_MAX_LAUNCHES 256
#define RIG_TIMEOUT 0xffffffffu         /* not a status: the launch did not end in time */
#define RIG_CALL static __attribute__((unused))        /* no includer needs all of them */
#define RIG_PIECES 128

static __attribute__((unused)) int rig_on_cuda;
static __attribute__((unused)) const struct engine_ops *rig_ops = &engine_cpu;
#ifdef RIG_CUDA
static FILE *rig_out;                   /* where tests speak */
#define printf(...) fprintf(rig_out ? rig_out : (rig_out = stdout), __VA_ARGS__)
#define vprintf(fmt, ap) vfprintf(rig_out ? rig_out : (rig_out = stdout), fmt, ap)
#define RIG_FLUSH() fflush(rig_out ? rig_out : stdout)
#endif

#include "canary.h"

/* A buffer that a kernel has at another address. */
struct rig_piece {
	unsigned char *host;
	uint64_t at;
	size_t whole;
	int gone;
};

#define RIG_MAPPED 256u

struct rig {
	struct engine *engine;
	struct engine_env env;
	uint64_t next;                          /* where the next buffer goes */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned launches;
	uint8_t ended[RIG_MAX_LAUNCHES];
	uint32_t status[RIG_MAX_LAUNCHES];      /* valid when ended */
	unsigned faults;                        /* calls of fault() */
	struct engine_fault fault;              /* the first one; its strings are the copies below */
	char fault_kernel[128], fault_what[128], fault_code[200];
	char *print;                            /* what kernels printed so far */
	size_t print_bytes;
	struct canaries canaries;
	struct rig_piece piece[RIG_PIECES];
	unsigned pieces;
	struct { uint64_t at, bytes; } mapped[RIG_MAPPED];      /* the first of what it has mapped: engine_env.allocation */
	unsigned nmapped;
};

/* How the engines that are opened from now on run kernels. */
static uint32_t rig_mode = ENGINE_MODE_AUTO;

/* Where the JIT's code is left to the interpreter and entered again, by seed (jit.h); 0: nowhere but where it must be. */
extern uint32_t jit_stress, jit_patience, jit_coarse;
extern uint64_t launch_coarse;
/* What runs longer than so many ns is not compared (verify.c) */
extern uint64_t verify_ns;
/* How many grids had narrow blocks run as wider ones; so many of these for each worker there have to be (join.c) */
extern uint64_t launch_joined, join_least;
/* Clock ticks of a grid for a byte of each worker that keeps sums; how many words were brought home (tally.c) */
extern uint64_t tally_worth, tally_brought;

/* Buffers' last pages are watched: not where kernels may write anywhere in the span. */
static __attribute__((unused)) int rig_watch_buffers = 1;
/* the first buffer lies where the span begins, and the arena behind all buffers */
static __attribute__((unused)) int rig_low;

/* Sets it by name: jit, interp, memcheck, ops, verify; cuda is another engine. */
RIG_CALL int rig_set_mode(const char *name)
{
	static const char *const names[] = { [ENGINE_MODE_JIT] = "jit", [ENGINE_MODE_INTERP] = "interp",
					     [ENGINE_MODE_MEMCHECK] = "memcheck", [ENGINE_MODE_OPS] = "ops",
					     [ENGINE_MODE_VERIFY] = "verify" };

#ifdef RIG_CUDA
	if (!strcmp(name, "cuda")) {
		rig_on_cuda = 1;
		rig_ops = &engine_cuda;
		return 0;
	}
#endif
	for (uint32_t i = ENGINE_MODE_JIT; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]))
			continue;
		rig_mode = i;
		return 0;
	}
	printf("rig: no mode '%s' (jit, interp, memcheck, ops, verify, cuda)\n", name);
	return -1;
}

static void rig_done(void *owner, uint64_t cookie, uint32_t status)
{
	struct rig *r = owner;

	pthread_mutex_lock(&r->lock);
	if (cookie < RIG_MAX_LAUNCHES) {
		if (r->ended[cookie])
			printf("rig: launch %u ended twice\n", (unsigned)cookie);
		r->ended[cookie] = 1;
		r->status[cookie] = status;
	} else {
		printf("rig: done() with an unknown cookie\n");
	}
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void rig_fault(void *owner, const struct engine_fault *f)
{
	struct rig *r = owner;

	pthread_mutex_lock(&r->lock);
	if (r->faults++ == 0) {
		r->fault = *f;
		snprintf(r->fault_kernel, sizeof(r->fault_kernel), "%s", f->kernel ? f->kernel : "");
		snprintf(r->fault_what, sizeof(r->fault_what), "%s", f->what ? f->what : "(null)");
		snprintf(r->fault_code, sizeof(r->fault_code), "%s", f->code ? f->code : "");
	}
	pthread_mutex_unlock(&r->lock);
}

/*
 * What the memory checker told, or was shown of a warp at work, of all engines of the process; their lines begin with
 * these. Runs of blanks become one.
 */
#define RIG_TOLD "========="
#define RIG_SHOWN "| "
static char rig_told[1 << 20];
static size_t rig_told_bytes;

static int rig_tells(const char *text, size_t bytes)
{
	const char *word = rig_mode == ENGINE_MODE_MEMCHECK || rig_mode == ENGINE_MODE_VERIFY ? RIG_TOLD : rig_mode == ENGINE_MODE_OPS ? RIG_SHOWN : NULL;

	return word && bytes > strlen(word) && !memcmp(text, word, strlen(word));
}

static void rig_print(void *owner, const char *text, size_t bytes)
{
	struct rig *r = owner;
	char *p;

	pthread_mutex_lock(&r->lock);
	if (rig_tells(text, bytes)) {
		for (size_t i = 0; i < bytes && rig_told_bytes + 1 < sizeof(rig_told); i++)
			if (text[i] != ' ' || !rig_told_bytes || rig_told[rig_told_bytes - 1] != ' ')
				rig_told[rig_told_bytes++] = text[i];
		pthread_mutex_unlock(&r->lock);
		return;
	}
	p = realloc(r->print, r->print_bytes + bytes + 1);
	if (p) {
		memcpy(p + r->print_bytes, text, bytes);
		r->print_bytes += bytes;
		p[r->print_bytes] = 0;
		r->print = p;
	}
	pthread_mutex_unlock(&r->lock);
}

static uint64_t rig_allocation(void *owner, uint64_t address, uint64_t *base, int *plain)
{
	struct rig *r = owner;

	*plain = 1;
	for (unsigned i = 0; i < r->nmapped; i++)
		if (address - r->mapped[i].at < r->mapped[i].bytes) {
			*base = r->mapped[i].at;
			return r->mapped[i].bytes;
		}
	return 0;
}

static inline double rig_clock(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#ifdef RIG_CUDA
#include "rig_cuda.h"
#endif

/* 0, or -1 with a line on stdout. */
RIG_CALL int rig_open(struct rig *r, unsigned cores, unsigned cc_major, unsigned cc_minor)
{
	void *want = (void *)RIG_SPAN_BASE, *got;
	pthread_condattr_t attr;
	uint32_t st;

	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &attr);
	pthread_condattr_destroy(&attr);
#ifdef RIG_CUDA
	if (rig_on_cuda)
		return rig_cuda_open(r);
#endif
	got = mmap(want, RIG_SPAN_BYTES, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (got != want) {
		printf("rig: cannot reserve the span at %p: %s\n", want, strerror(errno));
		if (got != MAP_FAILED)
			munmap(got, RIG_SPAN_BYTES);
		return -1;
	}
	if (canary_open(&r->canaries, RIG_SPAN_BASE, RIG_SPAN_BYTES)) {
		munmap(want, RIG_SPAN_BYTES);
		return -1;
	}
	r->next = RIG_SPAN_BASE + (rig_low ? 0 : RIG_ARENA_BYTES);
	r->env = (struct engine_env){
		.span_base = RIG_SPAN_BASE, .span_bytes = RIG_SPAN_BYTES,
		.arena_base = RIG_SPAN_BASE + (rig_low ? RIG_SPAN_BYTES / 2 : 0), .arena_bytes = RIG_ARENA_BYTES,
		.cores = cores, .cc_major = cc_major, .cc_minor = cc_minor,
		.sm_count = 2, .shared_per_block_optin = 99u << 10, .memory_limit = RIG_MEMORY,
		.code_bytes = RIG_CODE, .mode = rig_mode,
		.owner = r, .done = rig_done, .fault = rig_fault, .print = rig_print,
		.allocation = rig_allocation,
	};
	st = engine_cpu.open(&r->env, &r->engine);
	if (st) {
		printf("rig: engine open: %s\n", vgpu_status_text(st));
		canary_close(&r->canaries);
		munmap(want, RIG_SPAN_BYTES);
		return -1;
	}
	return 0;
}

/* Only when every launch has ended. How many bytes were written to that nobody may write to; there is a line of each place. */
RIG_CALL unsigned rig_close(struct rig *r)
{
	unsigned strays;

#ifdef RIG_CUDA
	if (rig_on_cuda) {
		strays = rig_cuda_close(r);
		goto out;
	}
#endif
	strays = canary_check(&r->canaries);
	engine_cpu.close(r->engine);
	canary_close(&r->canaries);
	munmap((void *)RIG_SPAN_BASE, RIG_SPAN_BYTES);
#ifdef RIG_CUDA
out:
#endif
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->print);
	memset(r, 0, sizeof(*r));
	return strays;
}

static void *rig_map(struct rig *r, uint64_t at, size_t bytes, size_t whole)
{
	void *p;

#ifdef RIG_CUDA
	if (rig_on_cuda)
		return rig_cuda_map(r, bytes, whole);
#endif
	p = mmap((void *)at, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (rig_watch_buffers)
		canary_slack(&r->canaries, (unsigned char *)p + bytes, whole - bytes);
	if (r->engine)
		engine_cpu.note_alloc(r->engine, (uint64_t)(uintptr_t)p, bytes, 1);
	if (r->nmapped < RIG_MAPPED) {
		r->mapped[r->nmapped].at = (uint64_t)(uintptr_t)p;
		r->mapped[r->nmapped++].bytes = whole;
	}
	return p;
}

/* rig_alloc(), in the last pages of the span; once. */
RIG_CALL void *rig_alloc_last(struct rig *r, size_t bytes)
{
	size_t whole = (bytes + 4095) & ~(size_t)4095;

	if (whole == 0)
		whole = 4096;
	return rig_map(r, RIG_SPAN_BASE + RIG_SPAN_BYTES - whole, bytes, whole);
}

/* Zeroed device memory with an unmapped gap behind it; NULL when there is none. */
RIG_CALL void *rig_alloc(struct rig *r, size_t bytes)
{
	size_t whole = (bytes + 4095) & ~(size_t)4095;
	void *p;

	if (whole == 0)
		whole = 4096;
	if (whole < bytes || (!rig_on_cuda && r->next + whole + RIG_GUARD > RIG_SPAN_BASE + RIG_SPAN_BYTES))
		return NULL;
	p = rig_map(r, r->next, bytes, whole);
	if (p && !rig_on_cuda)
		r->next += whole + RIG_GUARD;
	return p;
}

/* Where kernels find what a test has at p. */
RIG_CALL uint64_t rig_address(struct rig *r, const void *p)
{
#ifdef RIG_CUDA
	struct rig_piece *piece = rig_on_cuda ? rig_piece_of(r, p) : NULL;

	if (piece)
		return piece->at + (uint64_t)((const unsigned char *)p - piece->host);
#endif
	(void)r;
	return (uint64_t)(uintptr_t)p;
}

/* What a test has written goes to the device; what it reads comes from there. Also of a variable, which `at` is the engine's address of. */
RIG_CALL uint32_t rig_write(struct rig *r, uint64_t at, const void *from, size_t bytes)
{
	return rig_on_cuda ? rig_ops->copy(r->engine, (void *)(uintptr_t)at, from, bytes) : (memcpy((void *)(uintptr_t)at, from, bytes), VGPU_ST_OK);
}

RIG_CALL uint32_t rig_read(struct rig *r, void *to, uint64_t at, size_t bytes)
{
	return rig_on_cuda ? rig_ops->copy(r->engine, to, (void *)(uintptr_t)at, bytes) : (memcpy(to, (void *)(uintptr_t)at, bytes), VGPU_ST_OK);
}

RIG_CALL uint32_t rig_push(struct rig *r, const void *p, size_t bytes)
{
	return rig_on_cuda ? rig_write(r, rig_address(r, p), p, bytes) : (uint32_t)VGPU_ST_OK;
}

/* All buffers of the rig. */
RIG_CALL uint32_t rig_push_all(struct rig *r)
{
	uint32_t st = VGPU_ST_OK;

	for (unsigned i = 0; !st && i < r->pieces; i++)
		st = rig_write(r, r->piece[i].at, r->piece[i].host, r->piece[i].whole);
	return st;
}

RIG_CALL uint32_t rig_pull_all(struct rig *r)
{
	uint32_t st = VGPU_ST_OK;

	for (unsigned i = 0; !st && i < r->pieces; i++)
		st = rig_read(r, r->piece[i].host, r->piece[i].at, r->piece[i].whole);
	return st;
}

/* The engine can do nothing any more. */
RIG_CALL uint32_t rig_died(const struct rig *r)
{
	return rig_on_cuda && r->engine ? rig_ops->died(r->engine) : (uint32_t)VGPU_ST_OK;
}

/* Starts a grid; *index names it for rig_wait. Returns what launch() returned. */
RIG_CALL uint32_t rig_launch(struct rig *r, struct engine_launch *l, unsigned *index)
{
	unsigned i = r->launches;
	uint32_t st;

	if (i >= RIG_MAX_LAUNCHES)
		return VGPU_ST_LIMIT;
	r->launches++;
	*index = i;
	l->cookie = i;
	st = rig_ops->launch(r->engine, l);
	if (st != ENGINE_PENDING) {
		pthread_mutex_lock(&r->lock);
		if (r->ended[i])
			printf("rig: launch %u returned %u and also called done()\n", i, st);
		r->ended[i] = 1;
		r->status[i] = st;
		pthread_mutex_unlock(&r->lock);
	}
	return st;
}

/*
 * `seconds` of the clock and of this process's processor time: a machine with other work gives a launch no less of it.
 * One that does nothing at all has twenty times as long.
 */
RIG_CALL uint32_t rig_wait(struct rig *r, unsigned index, double seconds)
{
	double cpu = rig_clock(CLOCK_PROCESS_CPUTIME_ID), begin = rig_clock(CLOCK_MONOTONIC), end = begin + seconds;
	uint32_t st = RIG_TIMEOUT;

#ifdef RIG_CUDA
	if (rig_on_cuda) {
		rig_cuda_wait(r, index, seconds);
		return r->ended[index] ? r->status[index] : RIG_TIMEOUT;
	}
#endif
	pthread_mutex_lock(&r->lock);
	while (!r->ended[index]) {
		struct timespec until = { (time_t)end, (long)((end - (double)(time_t)end) * 1e9) };

		if (pthread_cond_timedwait(&r->changed, &r->lock, &until) != ETIMEDOUT)
			continue;
		if (rig_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu >= seconds || end >= begin + 20 * seconds)
			break;
		end += seconds;
	}
	if (r->ended[index])
		st = r->status[index];
	pthread_mutex_unlock(&r->lock);
	return st;
}

#endif
