/* SPDX-License-Identifier: MIT */
/* What global memory there is, for memcheck.c: allocations and variables by address, and the last ones that were freed. The caller has a lock. */
#ifndef VGPU_CPU_REGIONS_H
#define VGPU_CPU_REGIONS_H

#include "cpu.h"

#define REGIONS_FREED 1024      /* freed allocations that are remembered */

struct region {
	u64 at, bytes;
	u64 *written;           /* which bytes; NULL: it is not asked */
};

struct regions {
	struct region *r;       /* alive, by address, without overlap */
	u32 n, cap;
	struct region freed[REGIONS_FREED];
	u32 nfreed;             /* ever; the ring holds the last ones */
};

/* First region that ends behind addr. */
u32 regions_find(const struct regions *all, u64 addr);
/* The region that has all of it, with what is known of its bytes; else NULL. */
struct region *regions_tracked(const struct regions *all, u64 addr, u64 bytes);
/* written is the region's from now on. */
void regions_insert(struct regions *all, u64 at, u64 bytes, u64 *written);
/* Forgets what lies in [at, at + bytes); with keep, as freed. */
void regions_cut(struct regions *all, u64 at, u64 bytes, bool keep);
/* The address is in use again: it is no longer that of something freed. */
void regions_unfree(struct regions *all, u64 at, u64 bytes);
void regions_free(struct regions *all);

static inline u64 region_distance(const struct region *r, u64 a)
{
	return a < r->at ? r->at - a : a - r->at >= r->bytes ? a - r->at - r->bytes + 1 : 0;
}

#endif
