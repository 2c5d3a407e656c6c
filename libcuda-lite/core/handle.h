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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

enum vg_type {
	VG_STREAM,              /* the first four share a cache line of vg_ranges */
	VG_FUNCTION,
	VG_EVENT,
	VG_CONTEXT,
	VG_MODULE,
	VG_LIBRARY,
	VG_KERNEL,
	VG_POOL,
	VG_PHYS,
	VG_GRAPH,
	VG_NODE,
	VG_EXEC,
	VG_USER_OBJECT,
	VG_LINK,
	VG_ARRAY,
	VG_GREEN,
	VG_MIPMAP,
	VG_REF,
	VG_TYPES
};

/* Objects stand on cache lines, so a place is a line's number, and what is between two of them is none. */
#define VG_OBJECT_SHIFT 6

struct vg_range {
	uint64_t base;          /* of an arena; all of it may be read: what was never handed out reads 0 */
	uint64_t lines;         /* 0: not yet there, no handle passes. Stored after base */
};

extern struct vg_range vg_ranges[VG_TYPES];

#define VG_ADDRESS_MASK ((1ull << 48) - 1)

/* Is it one (still)? Then *object is it. */
static inline __attribute__((always_inline)) bool vg_is(enum vg_type type, uint64_t handle, void **object)
{
	const struct vg_range *r = &vg_ranges[type];
	/* Acquire; partner: the release in arena_open(), which has stored base. */
	uint64_t lines = __atomic_load_n(&r->lines, __ATOMIC_ACQUIRE), p = handle & VG_ADDRESS_MASK, off = p - r->base;

	/* Rotated: bits that say "not at the start of a line" make a large number of it. */
	if ((off >> VG_OBJECT_SHIFT | off << (64 - VG_OBJECT_SHIFT)) >= lines ||
	    __atomic_load_n((uint64_t *)(uintptr_t)p, __ATOMIC_ACQUIRE) != handle)
		return false;
	*object = (void *)(uintptr_t)p;
	return true;
}

/* The object, or NULL when the handle is not one (any more). */
static inline void *vg_get(enum vg_type type, uint64_t handle)
{
	void *object;

	return vg_is(type, handle, &object) ? object : NULL;
}

/*
 * A zeroed object whose handle word is still 0: the maker fills it and then calls vg_publish().
 * NULL when memory is out.
 */
void *vg_new(enum vg_type type);
uint64_t vg_publish(void *object);
/* Makes the handle invalid at once; the memory may be given out again. */
void vg_delete(enum vg_type type, void *object);
/*
 * Of a type that begins as struct vg_owned: the next one of the context's, at *at (0 at first) or behind, unpublished. NULL: there is no
 * more. Whoever gets it ends it, and nobody else does.
 */
struct vg_ctx;
struct vg_owned {
	uint64_t handle, handle_next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle;
};
void *vg_take_owned(enum vg_type type, const struct vg_ctx *c, uint64_t *at);
/* Only the first half: no lookup finds it any more. */
void vg_unpublish(void *object);

#endif
