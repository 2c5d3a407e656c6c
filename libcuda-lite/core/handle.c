/* SPDX-License-Identifier: MIT */
/*
 * Arenas of handle objects; see handle.h. Called by every create and destroy call of driver/.
 *
 * Invariant: word 0 of an object is its handle, or 0; the last generation is kept in the arena slot
 * behind the object's end, so that clearing an object does not forget it.
 */
#include "core.h"

#include <string.h>
#include <sys/mman.h>

_Alignas(64) struct vg_range vg_ranges[VG_TYPES];

static struct arena {
	uint64_t used;          /* bytes ever handed out; only grows */
	uint64_t room;          /* 0: not yet there */
	uint32_t slot_bytes;
	struct vg_lock lock;
	uint64_t free;          /* list through the second word of free objects */
} arenas[VG_TYPES];

static const struct { uint32_t bytes, count; } sizes[VG_TYPES] = {
	[VG_CONTEXT] = { sizeof(struct vg_ctx), 1024 },
	[VG_STREAM] = { sizeof(struct vg_stream), 32768 },
	[VG_EVENT] = { sizeof(struct vg_event), 1u << 20 },
	[VG_MODULE] = { sizeof(struct vg_module), 1u << 17 },
	[VG_FUNCTION] = { sizeof(struct vg_func), 1u << 20 },
	[VG_LIBRARY] = { sizeof(struct vg_library), 1u << 17 },
	[VG_KERNEL] = { sizeof(struct vg_kernel), 1u << 20 },
	[VG_POOL] = { sizeof(struct vg_pool), 4096 },
	[VG_PHYS] = { sizeof(struct vg_phys), 1u << 18 },
	[VG_GRAPH] = { sizeof(struct vg_graph), 1u << 18 },
	[VG_NODE] = { sizeof(struct vg_node), 1u << 22 },
	[VG_EXEC] = { sizeof(struct vg_exec), 1u << 18 },
	[VG_USER_OBJECT] = { sizeof(struct vg_user_object), 1u << 18 },
	[VG_LINK] = { sizeof(struct vg_link), 1u << 16 },
	[VG_ARRAY] = { sizeof(struct vg_array), 1u << 16 },
	[VG_MIPMAP] = { sizeof(struct vg_mipmap), 1u << 14 },
	[VG_REF] = { sizeof(struct vg_ref), 1u << 16 },
	[VG_GREEN] = { sizeof(struct vg_green), 1u << 12 },
};

/* Object plus one word of generation, in whole cache lines. */
static uint32_t slot_bytes(enum vg_type type)
{
	return (sizes[type].bytes + 8 + (1u << VG_OBJECT_SHIFT) - 1) & ~((1u << VG_OBJECT_SHIFT) - 1);
}

static uint64_t *generation_of(const struct arena *a, void *object)
{
	return (uint64_t *)((char *)object + a->slot_bytes - 8);
}

static int arena_open(enum vg_type type)
{
	struct arena *a = &arenas[type];
	uint64_t bytes = (uint64_t)slot_bytes(type) * sizes[type].count;
	/* Pages appear when they are touched. */
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	/*
	 * In a forked child no handle is one: a launch need not ask whether this is still the process that called
	 * cuInit. Wiped, not DONTFORK: a child may look at handles. Before 4.14 see make_alive().
	 */
	madvise(p, bytes, MADV_WIPEONFORK);
	a->slot_bytes = slot_bytes(type);
	a->room = bytes;
	vg_ranges[type].base = (uint64_t)(uintptr_t)p;
	__atomic_store_n(&vg_ranges[type].lines, bytes >> VG_OBJECT_SHIFT, __ATOMIC_RELEASE);
	return 0;
}

void *vg_new(enum vg_type type)
{
	struct arena *a = &arenas[type];
	uint64_t p = 0;

	vg_lock(&a->lock);
	if (!a->room && arena_open(type))
		goto out;
	if (a->free) {
		p = a->free;
		a->free = ((uint64_t *)(uintptr_t)p)[1];
		memset((void *)(uintptr_t)p, 0, a->slot_bytes - 8);
	} else if (a->used + a->slot_bytes <= a->room) {
		p = vg_ranges[type].base + a->used;
		a->used += a->slot_bytes;
	}
	if (p) {
		uint64_t *g = generation_of(a, (void *)(uintptr_t)p);

		/* 15 bits: handles stay positive numbers for callers that treat them as such. */
		*g = *g % 0x7fff + 1;
		((uint64_t *)(uintptr_t)p)[1] = p | *g << 48;
	}
out:
	vg_unlock(&a->lock);
	return (void *)(uintptr_t)p;
}

/* vg_new left the handle in word 1 (handle_next of every object). */
uint64_t vg_publish(void *object)
{
	uint64_t *w = object;

	__atomic_store_n(&w[0], w[1], __ATOMIC_RELEASE);
	return w[1];
}

void vg_unpublish(void *object)
{
	__atomic_store_n((uint64_t *)object, 0, __ATOMIC_RELEASE);
}

void vg_delete(enum vg_type type, void *object)
{
	struct arena *a = &arenas[type];
	uint64_t *w = object;

	vg_unpublish(object);
	vg_lock(&a->lock);
	w[1] = a->free;
	a->free = (uint64_t)(uintptr_t)object;
	vg_unlock(&a->lock);
}

void *vg_take_owned(enum vg_type type, const struct vg_ctx *c, uint64_t *at)
{
	struct arena *a = &arenas[type];
	struct vg_owned *found = NULL;

	vg_lock(&a->lock);
	for (; !found && *at < a->used; *at += a->slot_bytes) {
		struct vg_owned *o = (void *)(uintptr_t)(vg_ranges[type].base + *at);

		if (__atomic_load_n(&o->handle, __ATOMIC_ACQUIRE) && o->ctx == c && __atomic_exchange_n(&o->handle, 0, __ATOMIC_ACQ_REL))
			found = o;
	}
	vg_unlock(&a->lock);
	return found;
}
