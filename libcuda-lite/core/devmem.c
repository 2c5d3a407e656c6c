/* SPDX-License-Identifier: MIT */
/*
 * Memory that has an address in the span: device allocations, reserved ranges (VMM), pinned and
 * managed host memory. One table sorted by address knows them all; driver/ asks it about pointers.
 *
 * The client chooses device addresses (design: one span per device, the same in client and context),
 * so an allocation is one control call with the address in it. Behind each allocation at least one
 * page stays unmapped: a kernel that runs over its end faults instead of hitting a neighbour.
 */
#include "core.h"
#include "adopt.h"
#include "share.h"

#include <stdlib.h>
#include <string.h>

static struct vg_lock lock;
static struct vg_mem **table;           /* by start */
static size_t entries, room;
static uint64_t last_id;
uint64_t vg_committed;
static struct {
	struct vg_extents va, phys;
	bool ready;
} device[VGPU_MAX_DEVICES];

/* Lock held. */
static bool device_ready(uint32_t ordinal)
{
	uint64_t base = vg_device_base(ordinal);

	if (device[ordinal].ready)
		return true;
	device[ordinal].ready = vg_extents_give(&device[ordinal].va, base + VGPU_ARENA_BYTES,
						VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES) &&
				vg_extents_give(&device[ordinal].phys, 0, VGPU_PHYS_SPAN);
	return device[ordinal].ready;
}

/* Index of the first entry that starts behind addr. Lock held. */
static size_t after(uint64_t addr)
{
	size_t lo = 0, hi = entries;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (table[mid]->start > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Lock held. */
static bool insert(const struct vg_mem *m)
{
	struct vg_mem *e;
	size_t i;

	if (entries == room) {
		size_t n = room ? room * 2 : 256;
		struct vg_mem **t = realloc(table, n * sizeof *t);

		if (!t)
			return false;
		table = t;
		room = n;
	}
	e = malloc(sizeof *e);
	if (!e)
		return false;
	*e = *m;
	e->id = ++last_id;
	i = after(m->start);
	memmove(&table[i + 1], &table[i], (entries - i) * sizeof *table);
	table[i] = e;
	entries++;
	return true;
}

/* Lock held. NULL: no entry holds addr. */
static struct vg_mem *holder(uint64_t addr, size_t *index)
{
	size_t i = after(addr);

	if (!i || addr - table[i - 1]->start >= table[i - 1]->bytes)
		return NULL;
	if (index)
		*index = i - 1;
	return table[i - 1];
}

bool vg_mem_find(uint64_t addr, struct vg_mem *out)
{
	struct vg_mem *e;

	vg_lock(&lock);
	e = holder(addr, NULL);
	if (e)
		*out = *e;
	vg_unlock(&lock);
	return e != NULL;
}

bool vg_mem_update(const struct vg_mem *m)
{
	struct vg_mem *e;

	vg_lock(&lock);
	e = holder(m->start, NULL);
	if (e && e->id == m->id)
		*e = *m;
	vg_unlock(&lock);
	return e != NULL;
}

bool vg_mem_add(const struct vg_mem *m)
{
	bool ok;

	vg_lock(&lock);
	ok = insert(m);
	vg_unlock(&lock);
	return ok;
}

bool vg_mem_take(uint64_t start, unsigned kinds, struct vg_mem *out)
{
	struct vg_mem *e;
	size_t i;

	vg_lock(&lock);
	e = holder(start, &i);
	if (e && (e->start != start || !(kinds & 1u << e->kind)))
		e = NULL;
	if (e) {
		*out = *e;
		memmove(&table[i], &table[i + 1], (entries - i - 1) * sizeof *table);
		entries--;
		free(e);
	}
	vg_unlock(&lock);
	return e != NULL;
}

static void give_va(uint32_t ordinal, uint64_t start, uint64_t bytes)
{
	if (!vg_in_device(start))
		return;         /* of a session that is over */
	vg_lock(&lock);
	(void)vg_extents_give(&device[ordinal].va, start, bytes);
	vg_unlock(&lock);
}

/* Address space and table entry; nothing is committed yet. */
static uint32_t place(struct vg_mem *m, uint64_t align, uint64_t hint)
{
	bool ok;

	vg_lock(&lock);
	ok = device_ready(m->ordinal) &&
	     ((hint && !(hint & (align - 1)) && vg_extents_take_at(&device[m->ordinal].va, hint, m->span_bytes) &&
	       (m->start = hint)) ||
	      vg_extents_take(&device[m->ordinal].va, m->span_bytes, align, &m->start));
	if (ok && !insert(m)) {
		(void)vg_extents_give(&device[m->ordinal].va, m->start, m->span_bytes);
		ok = false;
	}
	vg_unlock(&lock);
	return ok ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
}

uint32_t vg_mem_alloc(struct vg_ctx *c, uint64_t bytes, enum vg_mem_kind kind, uint64_t *va)
{
	struct vg_mem m = { .bytes = bytes, .kind = kind, .ordinal = c->ordinal, .ctx = c };
	uint32_t status;

	if (bytes > VGPU_DEVICE_SPAN)
		return VGPU_ST_OUT_OF_MEMORY;
	m.mapped_bytes = (bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	m.span_bytes = m.mapped_bytes + VGPU_PAGE;
	if (kind == VG_MEM_DEVICE && vg_share_again(c, m.mapped_bytes, &m)) {
		m.bytes = bytes;
		m.kind = kind;
		m.pool = NULL;
		m.sync_memops = 0;
		*va = m.start;
		return vg_mem_add(&m) ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
	}
	vg_deferred_reap();
	do {
		status = place(&m, bytes >= VGPU_HUGE ? VGPU_HUGE : VGPU_PAGE, 0);
		if (!status)
			status = vg_ctl(c, VGPU_OP_MEM_ALLOC, 0, m.start, m.mapped_bytes, bytes, NULL);
		else
			m.start = 0;
		if (status && m.start) {
			struct vg_mem gone;

			vg_mem_take(m.start, ~0u, &gone);
			give_va(m.ordinal, m.start, m.span_bytes);
		}
		/* Memory freed in stream order may still be on its way back. */
	} while (status == VGPU_ST_OUT_OF_MEMORY && vg_deferred_wait());
	if (status)
		return status;
	__atomic_add_fetch(&vg_committed, m.mapped_bytes, __ATOMIC_RELAXED);
	*va = m.start;
	return VGPU_ST_OK;
}

uint32_t vg_mem_alloc_host(struct vg_ctx *c, uint64_t bytes, enum vg_mem_kind kind, uint32_t flags, void **p)
{
	struct vg_mem m = { .bytes = bytes, .span_bytes = bytes, .kind = kind, .flags = flags,
			    .ordinal = c->ordinal, .ctx = c };
	void *at;
	bool ok;

	/* What was freed in stream order may still be on its way back. */
	do
		at = vg_window_alloc(bytes, bytes >= VGPU_PAGE ? VGPU_PAGE : 512);
	while (!at && vg_deferred_wait());
	if (!at)
		return VGPU_ST_OUT_OF_MEMORY;
	m.start = (uint64_t)(uintptr_t)at;
	vg_lock(&lock);
	ok = insert(&m);
	vg_unlock(&lock);
	if (!ok) {
		vg_window_free(at, bytes);
		return VGPU_ST_OUT_OF_MEMORY;
	}
	*p = at;
	return VGPU_ST_OK;
}

uint32_t vg_mem_reserve(uint32_t ordinal, uint64_t bytes, uint64_t align, uint64_t hint, uint64_t *va)
{
	/* One huge page of guard: mappings are made of huge pages. */
	struct vg_mem m = { .bytes = bytes, .span_bytes = bytes + VGPU_HUGE, .kind = VG_MEM_RESERVED,
			    .ordinal = ordinal };
	uint32_t status;

	if (bytes > VGPU_DEVICE_SPAN)
		return VGPU_ST_OUT_OF_MEMORY;
	status = place(&m, align < VGPU_HUGE ? VGPU_HUGE : align, hint);
	if (!status)
		*va = m.start;
	return status;
}

/* The device has it still: it stays an allocation, which can be freed another time and goes with its context. */
static void put_back(const struct vg_mem *m)
{
	vg_lock(&lock);
	if (insert(m)) {
		struct vg_mem *e = holder(m->start, NULL);

		e->id = m->id;
		e->pool = NULL;         /* that has given it up */
	}
	vg_unlock(&lock);
}

uint32_t vg_mem_release(const struct vg_mem *m)
{
	uint32_t status = VGPU_ST_OK;

	if (m->flags & VG_MEM_IS_SHARED) {
		vg_share_keep(m);
		return VGPU_ST_OK;
	}
	switch (m->kind) {
	case VG_MEM_HOST:
	case VG_MEM_MANAGED:
		vg_window_free((void *)(uintptr_t)m->start, m->span_bytes);
		return VGPU_ST_OK;
	case VG_MEM_OPENED:
		return VGPU_ST_OK;
	case VG_MEM_DEVICE:
	case VG_MEM_ASYNC:
	case VG_MEM_HEAP:
		status = vg_ctl(m->ctx, VGPU_OP_MEM_FREE, 0, m->start, m->mapped_bytes, 0, NULL);
		if (!status)
			__atomic_sub_fetch(&vg_committed, m->mapped_bytes, __ATOMIC_RELAXED);
		break;
	case VG_MEM_RESERVED:
		break;
	case VG_MEM_ADOPTED:            /* vg_adopt_end() */
		return VGPU_ST_INVALID;
	}
	if (status)
		put_back(m);
	else
		give_va(m->ordinal, m->start, m->span_bytes);
	return status;
}

void vg_mem_forget(const struct vg_mem *m)
{
	if (m->kind == VG_MEM_HOST || m->kind == VG_MEM_MANAGED) {
		vg_window_free((void *)(uintptr_t)m->start, m->span_bytes);
		return;
	}
	if (m->kind == VG_MEM_OPENED)
		return;
	if (m->flags & VG_MEM_IS_SHARED)
		vg_shared_give(m->other, m->mapped_bytes);
	else
		__atomic_sub_fetch(&vg_committed, m->mapped_bytes, __ATOMIC_RELAXED);
	give_va(m->ordinal, m->start, m->span_bytes);
}

/* The context's process takes its device memory with it: only our books are to be kept. */
void vg_mem_drop_ctx(struct vg_ctx *c)
{
	struct vg_mem *e;

	vg_adopt_drop_ctx(c);
	vg_share_drop_ctx(c);
	do {
		e = NULL;
		vg_lock(&lock);
		for (size_t i = entries; i-- > 0;)
			if (table[i]->ctx == c) {
				e = table[i];
				memmove(&table[i], &table[i + 1], (entries - i - 1) * sizeof *table);
				entries--;
				break;
			}
		vg_unlock(&lock);
		if (e && e->pool)
			vg_pool_lost(e);
		if (e)
			vg_mem_forget(e);
		free(e);
	} while (e);
}

/* Ranges that no context owned, and numbers of a device that is gone. */
void vg_mem_forget_all(void)
{
	vg_lock(&lock);
	while (entries)
		free(table[--entries]);
	for (uint32_t i = 0; i < VGPU_MAX_DEVICES; i++) {
		device[i].va.n = device[i].phys.n = 0;
		device[i].ready = false;
	}
	__atomic_store_n(&vg_committed, 0, __ATOMIC_RELAXED);
	vg_unlock(&lock);
}

bool vg_phys_take(uint32_t ordinal, uint64_t bytes, uint64_t *offset)
{
	bool ok;

	vg_lock(&lock);
	ok = device_ready(ordinal) && vg_extents_take(&device[ordinal].phys, bytes, VGPU_HUGE, offset);
	vg_unlock(&lock);
	return ok;
}

void vg_phys_give(uint32_t ordinal, uint64_t offset, uint64_t bytes)
{
	vg_lock(&lock);
	(void)vg_extents_give(&device[ordinal].phys, offset, bytes);
	vg_unlock(&lock);
}
