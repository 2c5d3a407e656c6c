/* SPDX-License-Identifier: MIT */
/*
 * The cpu engine in this process: see local.h. It plays the part that the context has on the device.
 */
#define _GNU_SOURCE
#include "local.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../fw-protocol/vgpu_status.h"
#include "vgpu.h"

#define SPAN_BYTES (1ull << 40)
#define ARENA_BYTES (96ull << 30)
#define FIRST_BYTES 65536u
#define GUARD_BYTES 65536u
#define CODE_BYTES (256ull << 20)

static uint64_t span, span_next;        /* arenas and buffers from the start, in the order they are asked for */

static void on_done(void *owner, uint64_t cookie, uint32_t status)
{
	struct local *l = owner;

	(void)cookie;
	l->status = status;
	sem_post(&l->ended);
}

static void on_fault(void *owner, const struct engine_fault *f)
{
	struct local *l = owner;

	if (!l->fault[0])
		snprintf(l->fault, sizeof(l->fault), "%s in %s, block %u,%u,%u thread %u,%u,%u, address 0x%llx, PTX line %u",
			 f->what, f->kernel ? f->kernel : "?", f->block[0], f->block[1], f->block[2], f->thread[0],
			 f->thread[1], f->thread[2], (unsigned long long)f->address, f->ptx_line);
}

static void on_print(void *owner, const char *text, size_t bytes)
{
	(void)owner;
	fwrite(text, 1, bytes, stderr);
}

static uint64_t (*allocations)(uint64_t address, uint64_t *base);

void local_allocations(uint64_t (*of)(uint64_t address, uint64_t *base)) { allocations = of; }

static uint64_t allocation(void *owner, uint64_t address, uint64_t *base, int *plain)
{
	(void)owner;
	*plain = 1;
	return allocations ? allocations(address, base) : 0;
}

static uint64_t span_take(uint64_t bytes)
{
	uint64_t at;

	if (!span) {
		void *p = mmap(NULL, SPAN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED) {
			complain("cannot reserve %llu GiB of address space: %s (ulimit -v?)", SPAN_BYTES >> 30, strerror(errno));
			return 0;
		}
		/* as in a client's, nothing of a program's lies in its first page: code looks at such accesses twice (JIT_BELOW) */
		span = (uint64_t)(uintptr_t)p;
		span_next = span + FIRST_BYTES;
	}
	if (bytes > span + SPAN_BYTES - span_next)
		return 0;
	at = span_next;
	span_next += bytes;
	return at;
}

int local_owns(uint64_t address)
{
	return span && address >= span && address - span < SPAN_BYTES;
}

int local_open(struct local *l, uint32_t mode, unsigned cores, unsigned cc)
{
	struct engine_env env = {
		.cores = cores, .cc_major = cc / 10, .cc_minor = cc % 10, .sm_count = cores,
		.shared_per_block_optin = 99u << 10, .code_bytes = CODE_BYTES, .mode = mode,
		.owner = l, .done = on_done, .fault = on_fault, .print = on_print, .allocation = allocation,
	};
	uint32_t st;

	memset(l, 0, sizeof(*l));
	l->cc = cc;
	sem_init(&l->ended, 0, 0);
	env.arena_base = span_take(ARENA_BYTES);
	env.arena_bytes = ARENA_BYTES;
	env.span_base = span;
	env.span_bytes = SPAN_BYTES;
	if (!env.arena_base)
		return -1;
	st = engine_cpu.open(&env, &l->e);
	if (st) {
		complain("cpu engine: %s", vgpu_status_text(st));
		return -1;
	}
	return 0;
}

void local_close(struct local *l)
{
	if (l->e)
		engine_cpu.close(l->e);
	l->e = NULL;
	sem_destroy(&l->ended);
}

void *local_alloc(size_t bytes)
{
	size_t whole = (bytes + 4095) & ~(size_t)4095;
	uint64_t at = whole < bytes ? 0 : span_take(whole + GUARD_BYTES);
	void *p;

	if (!at)
		return NULL;
	p = mmap((void *)(uintptr_t)at, whole, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

uint32_t local_kernel(struct local *l, uint32_t module, const char *name)
{
	struct engine_symbol s;

	for (uint32_t i = 0; engine_cpu.module_symbol(l->e, module, i, &s) == VGPU_ST_OK; i++)
		if (s.kind == ENGINE_SYM_FUNC && !strcmp(s.name, name))
			return s.id;
	complain("no kernel %s", name);
	return 0;
}

uint32_t local_run(struct local *l, const struct engine_launch *launch)
{
	uint32_t st = engine_cpu.launch(l->e, launch);

	if (st != ENGINE_PENDING)
		return st;
	while (sem_wait(&l->ended))
		;
	return l->status;
}
