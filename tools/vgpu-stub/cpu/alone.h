/* SPDX-License-Identifier: MIT */
/*
 * One thread alone: atomics without a lock (alone.c).
 */
#ifndef VGPU_ALONE_H
#define VGPU_ALONE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct tstate;

struct alone {
	uint32_t others;        /* who may write device memory beside the thread that runs a grid; 0: nobody. Never 0 with several workers */
	uint32_t listed;        /* grids that are the worker's */
	bool able, used;        /* it can be 0; a kernel looks at it */
	struct tstate *home, *worker;   /* of the dispatcher and the only worker */
};

void alone_open(struct engine *e);
/* Around what the caller writes to memory that kernels reach, while some may be running. False: alone_leave() must not follow. */
bool alone_enter(struct engine *e);
void alone_leave(struct engine *e, bool entered);
/* Another process has come to reach device memory: from now on nobody is alone. */
void alone_never(struct engine *e);

#endif
