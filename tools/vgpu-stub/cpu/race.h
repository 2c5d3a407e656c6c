/* SPDX-License-Identifier: MIT */
/*
 * What the memory checker knows of a byte of shared memory: who has written and read it since when. A phase is the time between
 * two barriers of the block. Two accesses of one phase by different warps, one of them a write, are in no order.
 */
#ifndef VGPU_CPU_RACE_H
#define VGPU_CPU_RACE_H

#include "cpu.h"

struct touch { u32 line; u16 thread; bool sync; };      /* sync: an atomic, or volatile, relaxed, acquire, release */

struct race_cell {
	u64 written, read;              /* in which phase last; 0: never */
	struct touch w, r[2];           /* the second reader is of another warp than the first, or has line 0 */
};

enum race { RACE_NONE, RACE_RAW, RACE_WAW, RACE_WAR };

/* The blocks of one struct cta count their phases on: nothing of the one before is of this. */
static inline bool race_written(const struct cta *c, const struct race_cell *s) { return s->written >= c->phase_first; }

/* One thread reads or writes a byte. The other side of a race, where there is one, in *with. */
enum race race_read(const struct cta *c, struct race_cell *s, const struct touch *by, struct touch *with);
enum race race_write(const struct cta *c, struct race_cell *s, const struct touch *by, bool same, struct touch *with);

/* Another block of the cluster has written them: in no race, for nobody keeps account of the two's order. */
void race_far(struct cta *c, u64 off, u32 bytes);

/* A barrier or a fence: what was before it is in order with what comes behind. */
static inline void race_phase(struct cta *c) { c->phase++; }

#endif
