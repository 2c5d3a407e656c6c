/* SPDX-License-Identifier: MIT */
/*
 * The cpu engine inside this process, without device or agent: what vgpu bench engine and vgpu check run on.
 * All engines of the process share one reserved span; each has an arena of its own in it.
 * Used from one thread.
 */
#ifndef VGPU_TOOL_LOCAL_H
#define VGPU_TOOL_LOCAL_H

#include <semaphore.h>

#include "../vgpu-stub/engine.h"

struct local {
	struct engine *e;
	sem_t ended;
	unsigned cc;
	uint32_t status;                /* of the launch that ended last */
	char fault[256];                /* of the first fault */
};

/* 0, or -1 after a complaint. The engine's threads inherit the caller's affinity. */
int local_open(struct local *l, uint32_t mode, unsigned cores, unsigned cc);
void local_close(struct local *l);

/* Is it an address of one of the engines' memories? */
int local_owns(uint64_t address);

/* Zeroed memory that kernels may touch, with an unmapped gap behind it; never given back. NULL: none left. */
void *local_alloc(size_t bytes);

/* Who divides such memory tells what is one allocation there (engine_env.allocation): its bytes, and where it begins; 0: none. */
void local_allocations(uint64_t (*of)(uint64_t address, uint64_t *base));

/* Function id of a kernel, 0 after a complaint. */
uint32_t local_kernel(struct local *l, uint32_t module, const char *name);
/* Starts it and waits for its end. */
uint32_t local_run(struct local *l, const struct engine_launch *launch);

#endif
