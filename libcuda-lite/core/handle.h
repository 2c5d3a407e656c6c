/* SPDX-License-Identifier: MIT */
/*
 * Handles: what applications hold as CUstream, CUfunction, ...
 *
 *   63        48 47                                0
 *   +-----------+----------------------------------+
 *   | generation| address of the object            |
 *   +-----------+----------------------------------+
 *
 * Objects of one type live in one arena that is never unmapped, so any value can be checked without
 * a table: the address lies in the arena, and the object's first word repeats the whole handle. A
 * stale handle differs in its generation, a foreign or invented one in its address; the generation
 * is never 0, so that no internal pointer passes for a handle.
 */
#ifndef VG_HANDLE_H
#define VG_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include "lock.h"

enum vg_type {
	VG_CONTEXT,
	VG_STREAM,
	VG_EVENT,
	VG_MODULE,
	VG_FUNCTION,
	VG_LIBRARY,
	VG_KERNEL,
	VG_POOL,
	VG_PHYS,
	VG_TYPES
};

struct vg_arena {
	uint64_t base;          /* 0: not yet there, no handle passes */
	uint64_t used;          /* bytes ever handed out; only grows */
	/* cold */
	uint64_t room;
	uint32_t slot_bytes;
	struct vg_lock lock;
	uint64_t free;          /* list through the second word of free objects */
};

extern struct vg_arena vg_arenas[VG_TYPES];

#define VG_ADDRESS_MASK ((1ull << 48) - 1)

/* The object, or NULL when the handle is not one (any more). */
static inline void *vg_get(enum vg_type type, uint64_t handle)
{
	const struct vg_arena *a = &vg_arenas[type];
	uint64_t p = handle & VG_ADDRESS_MASK;

	if (p - a->base >= __atomic_load_n(&a->used, __ATOMIC_ACQUIRE) || (p & 7) ||
	    __atomic_load_n((uint64_t *)(uintptr_t)p, __ATOMIC_ACQUIRE) != handle)
		return NULL;
	return (void *)(uintptr_t)p;
}

/*
 * A zeroed object whose handle word is still 0: the maker fills it and then calls vg_publish().
 * NULL when memory is out.
 */
void *vg_new(enum vg_type type);
uint64_t vg_publish(void *object);
/* Makes the handle invalid at once; the memory may be given out again. */
void vg_delete(enum vg_type type, void *object);
/* Only the first half: no lookup finds it any more. */
void vg_unpublish(void *object);

#endif
