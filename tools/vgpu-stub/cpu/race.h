/* SPDX-License-Identifier: MIT */
/*
 * What the memory checker knows of shared memory: who has written and read it since when. A phase is the time between two
 * barriers of the block. Two accesses of one phase by different warps, one of them a write, are in no order.
 *
 * It is known of every byte, and kept by words: a cell says it of four bytes as long as who wrote last, and who read, is the same
 * for all of them that somebody wrote, or read, in this phase. Where it is not, each byte has a cell of its own until the phase is over.
 */
#ifndef VGPU_CPU_RACE_H
#define VGPU_CPU_RACE_H

#include "cpu.h"

#define RACE_WORD 4u

struct touch { u32 line; u16 thread; bool sync; };      /* sync: an atomic, or volatile, relaxed, acquire, release */

struct race_cell {
	u64 phase;                      /* what stands behind this is of this one */
	struct touch w, r[2];           /* the second reader is of another warp than the first, or has line 0 */
	u8 ever, now, read;             /* bits of its bytes: written by the block; written and read in the phase */
	bool parted;                    /* ever and all else stand in the bytes' cells */
};

enum race { RACE_NONE, RACE_RAW, RACE_WAW, RACE_WAR };

/* Cells for so many bytes: one for each word, and behind them those of the bytes. NULL: no memory. */
struct race_cell *race_cells(u32 bytes);

/*
 * One thread reads or writes up to 64 bytes, a part of a word or whole words. The other side of a race, where there is one, in *with.
 * not: bits of bytes that are not read. missing: some that are read nobody has written.
 * same: bits of bytes that have this value already.
 */
enum race race_read(const struct cta *c, u64 off, u32 bytes, u64 not, const struct touch *by, struct touch *with, bool *missing);
enum race race_write(const struct cta *c, u64 off, u32 bytes, u64 same, const struct touch *by, struct touch *with);

/* Another block of the cluster has written them: in no race, for nobody keeps account of the two's order. */
void race_far(struct cta *c, u64 off, u32 bytes);

/* A barrier or a fence: what was before it is in order with what comes behind. */
static inline void race_phase(struct cta *c) { c->phase++; }

#endif
