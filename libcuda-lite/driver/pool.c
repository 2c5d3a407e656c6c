/* SPDX-License-Identifier: MIT */
/*
 * Stream-ordered allocation. Memory is there at once (earlier than the stream asks, which is allowed);
 * a free takes effect when the stream gets to it. What is freed stays reserved for a while: pool_cache.c.
 *
 * A pool's memory is a device's, or of the window: pinned (of the host, or of its one NUMA node) or managed. Each place
 * has a default pool and a current one.
 */
#include "driver.h"
#include "../core/queue.h"
#include "../core/share.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Devices' own memory first, by ordinal; of managed memory the place is where it is preferred. */
enum { HOST = VGPU_MAX_DEVICES, HOST_NODE, MANAGED, MANAGED_HOST = MANAGED + VGPU_MAX_DEVICES, MANAGED_NODE, MANAGED_NONE, SLOTS };

static struct vg_lock lock;
static struct vg_pool *defaults[SLOTS], *current[SLOTS];

static struct vg_pool *make(uint32_t slot)
{
	struct vg_pool *p = vg_new(VG_POOL);

	if (!p)
		return NULL;
	p->slot = slot;
	p->kind = slot < HOST ? VG_MEM_ASYNC : slot < MANAGED ? VG_MEM_HOST : VG_MEM_MANAGED;
	p->ordinal = slot < HOST ? slot : UINT32_MAX;
	p->fd = -1;
	p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
	vg_publish(p);
	return p;
}

struct vg_pool *vg_pool_make(uint32_t ordinal)
{
	return make(ordinal);
}

static CUresult default_of(uint32_t slot, struct vg_pool **out)
{
	vg_lock(&lock);
	if (!defaults[slot] && (defaults[slot] = make(slot)) != NULL) {
		defaults[slot]->is_default = true;
		if (!current[slot])
			current[slot] = defaults[slot];
	}
	*out = defaults[slot];
	vg_unlock(&lock);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult vg_pool_default(uint32_t ordinal, struct vg_pool **out)
{
	return default_of(ordinal, out);
}

static CUresult current_of(uint32_t slot, struct vg_pool **out)
{
	VG_TRY(default_of(slot, out));
	vg_lock(&lock);
	*out = current[slot];
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

/* Destroyed, and nothing names it any more. Its file is of use to the next one that is exported, in the same session. */
static void bury(struct vg_pool *p)
{
	if (p->fd >= 0 && p->session == vg.session)
		vg_share_destroy(p->at, VGPU_HUGE, p->fd);
	else if (p->fd >= 0)
		close(p->fd);
	vg_delete(VG_POOL, p);
}

void vg_pool_less(struct vg_pool *p, uint64_t used, uint64_t reserved)
{
	bool over;

	vg_lock(&p->lock);
	p->used -= used;
	p->reserved -= reserved;
	over = p->dead && !p->used && !p->reserved;
	vg_unlock(&p->lock);
	if (over)
		bury(p);
}

void vg_pool_lost(const struct vg_mem *m)
{
	vg_pool_less(m->pool, m->bytes, m->mapped_bytes);
}

static CUresult pool_of(CUmemoryPool h, struct vg_pool **p)
{
	VG_READY();
	*p = vg_get(VG_POOL, (uint64_t)(uintptr_t)h);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;    /* documented: no call on a pool names a handle's error */
}

static CUresult pool_for(CUmemoryPool *pool, CUdevice dev, CUresult (*which)(uint32_t slot, struct vg_pool **p))
{
	struct vg_pool *p;

	VG_READY();
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	VG_TRY(which((uint32_t)dev, &p));
	*pool = VG_HANDLE(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return pool_for(pool, dev, default_of);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return pool_for(pool, dev, current_of);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool h)
{
	struct vg_pool *p, *d;

	VG_TRY(pool_of(h, &p));
	if (!vg_device_ok(dev) || p->slot != (uint32_t)dev)
		return CUDA_ERROR_INVALID_DEVICE;
	if (p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(default_of((uint32_t)dev, &d));
	vg_lock(&lock);
	current[dev] = p;
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

/*
 * The window has no node: all of it is as near as the machine's memory is. So one node can be named where there is one,
 * and of several none.
 */
bool vg_one_node(void)
{
	static int known;               /* 1: one node, 2: several */
	int now = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!now) {
		int fd = open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
		char said[8];
		ssize_t n = fd < 0 ? 0 : read(fd, said, sizeof said);

		if (fd >= 0)
			close(fd);
		now = n <= 0 || (said[0] == '0' && (n == 1 || said[1] == '\n')) ? 1 : 2;
		__atomic_store_n(&known, now, __ATOMIC_RELAXED);
	}
	return now == 1;
}

static CUresult slot_of(const CUmemLocation *l, CUmemAllocationType type, uint32_t *slot)
{
	bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;

	VG_READY();
	if (!l || (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed))
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (!vg_device_ok(l->id))
			return CUDA_ERROR_INVALID_DEVICE;
		*slot = (managed ? MANAGED : 0) + (uint32_t)l->id;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_NONE:
		*slot = MANAGED_NONE;
		return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_LOCATION_TYPE_HOST:
		*slot = managed ? MANAGED_HOST : HOST;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		if (l->id < 0)
			return CUDA_ERROR_INVALID_VALUE;
		if (!vg_one_node())
			return vg_unsupported("pools of one of several NUMA nodes");
		*slot = managed ? MANAGED_NODE : HOST_NODE;
		return l->id ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* The same the other way, for who asks where a managed pool's memory is preferred. */
static CUmemLocation location_of(uint32_t slot)
{
	return slot < MANAGED_HOST ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, (int)(slot - MANAGED) } :
	       slot == MANAGED_HOST ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 } :
	       slot == MANAGED_NODE ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST_NUMA, 0 } : (CUmemLocation){ CU_MEM_LOCATION_TYPE_NONE, 0 };
}

static CUresult pool_at(CUmemoryPool *pool, const CUmemLocation *location, CUmemAllocationType type,
			CUresult (*which)(uint32_t slot, struct vg_pool **p))
{
	struct vg_pool *p;
	uint32_t slot;

	VG_TRY(slot_of(location, type, &slot));
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(which(slot, &p));
	*pool = VG_HANDLE(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	return pool_at(pool, location, type, default_of);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	return pool_at(pool, location, type, current_of);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool h)
{
	struct vg_pool *p, *d;
	uint32_t slot;

	VG_TRY(slot_of(location, type, &slot));
	VG_TRY(pool_of(h, &p));
	/* documented: a pool of another place is a wrong value here, not a wrong device */
	if (p->slot != slot || p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(default_of(slot, &d));
	vg_lock(&lock);
	current[slot] = p;
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct vg_pool *p;
	uint32_t slot;
	CUresult r;

	VG_READY();
	if (!pool || !props)
		return CUDA_ERROR_INVALID_VALUE;
	/* documented: for what is not a device's alone no handles, for managed memory no size nor use either */
	if (((int)props->location.type == CU_MEM_LOCATION_TYPE_HOST || props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) && props->handleTypes)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED && (props->maxSize || props->usage))
		return CUDA_ERROR_INVALID_VALUE;
	r = slot_of(&props->location, props->allocType, &slot);
	if (r)
		return r == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : r;   /* this call has no other word for it */
	if (props->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return vg_unsupported("cuMemPoolCreate with shareable handles that are no file descriptors");
	if (props->handleTypes && (slot >= HOST || !vg_ipc_memory(slot)))
		return vg_unsupported("cuMemPoolCreate with shareable handles at this place");
	if (props->usage)
		return vg_unsupported("cuMemPoolCreate for hardware decompression");
	p = make(slot);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->max_bytes = props->maxSize;
	p->shareable = props->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
	*pool = VG_HANDLE(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool h)
{
	struct vg_pool *p;
	bool again;

	VG_TRY(pool_of(h, &p));
	if (p->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	if (current[p->slot] == p)
		current[p->slot] = defaults[p->slot];
	vg_unlock(&lock);
	/* Allocations of it live on, and are given back when they are freed; the record goes with the last one. A byte is this call's own. */
	vg_lock(&p->lock);
	again = p->dead;
	p->used += !again;
	p->dead = true;
	vg_unlock(&p->lock);
	if (again)
		return CUDA_ERROR_INVALID_VALUE;
	vg_unpublish(p);
	vg_pool_empty(p);
	vg_pool_less(p, 1, 0);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool h, size_t min)
{
	struct vg_pool *p;

	VG_TRY(pool_of(h, &p));
	vg_deferred_reap();
	vg_pool_trim(p, min);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool h, CUmemPool_attribute attr, void *value)
{
	struct vg_pool *p;

	VG_TRY(pool_of(h, &p));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->reuse[attr - 1] = *(int *)value != 0;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		__atomic_store_n(&p->release_threshold, *(cuuint64_t *)value, __ATOMIC_RELAXED);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		/* Documented: only to 0, which starts the high mark anew. */
		if (*(cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		vg_lock(&p->lock);
		if ((int)attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
			p->used_high = p->used;
		else
			p->reserved_high = p->reserved;
		vg_unlock(&p->lock);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool h, CUmemPool_attribute attr, void *value)
{
	struct vg_pool *p;

	VG_TRY(pool_of(h, &p));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->reuse[attr - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = p->release_threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = p->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = p->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* What a place can do with a pool's memory. Of pinned memory devices have what they were given; that is all there is to it, they reach the window. */
static CUmemAccess_flags access_of(const struct vg_pool *p, const CUmemLocation *l)
{
	bool device = l->type == CU_MEM_LOCATION_TYPE_DEVICE, can;

	if (p->kind == VG_MEM_ASYNC)
		can = device && (uint32_t)l->id == p->ordinal;
	else if (p->kind == VG_MEM_HOST)
		can = !device || (p->access >> l->id & 1);
	else
		can = true;
	return can ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* A pool of the host's names the host as well. */
static bool has_access(const struct vg_pool *p, const CUmemLocation *l)
{
	if (l->type == CU_MEM_LOCATION_TYPE_DEVICE)
		return vg_device_ok(l->id);
	return p->kind != VG_MEM_ASYNC && (l->type == CU_MEM_LOCATION_TYPE_HOST || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA);
}

CUresult cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t n)
{
	struct vg_pool *p;

	VG_TRY(pool_of(h, &p));
	if (!map && n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		bool all = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

		if (!has_access(p, &map[i].location) || (!all && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE))
			return CUDA_ERROR_INVALID_VALUE;
		if (p->kind == VG_MEM_HOST && map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			continue;
		/* Who owns the memory always has access, no other device can. */
		if (all != (access_of(p, &map[i].location) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
			return all ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < n; i++)
		if (p->kind == VG_MEM_HOST && map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
			if (map[i].flags)
				__atomic_or_fetch(&p->access, 1u << map[i].location.id, __ATOMIC_RELAXED);
			else
				__atomic_and_fetch(&p->access, ~(1u << map[i].location.id), __ATOMIC_RELAXED);
		}
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool h, CUmemLocation *location)
{
	struct vg_pool *p;

	VG_TRY(pool_of(h, &p));
	if (!flags || !location || !has_access(p, location))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = access_of(p, location);
	return CUDA_SUCCESS;
}

/* ---- allocation ---- */

/* An allocation that was counted did not come about: no high mark of it stays, unless others have passed it. */
static void unused(struct vg_pool *p, uint64_t bytes, uint64_t was, uint64_t most)
{
	vg_lock(&p->lock);
	if (p->used_high == most)
		p->used_high = was;
	vg_unlock(&p->lock);
	vg_pool_less(p, bytes, 0);
}

/* Of the window, in whole pages, which are what the next one of that size takes. */
static uint32_t alloc_window(struct vg_pool *p, struct vg_ctx *c, uint64_t bytes, uint64_t *va)
{
	uint64_t whole = (bytes + VGPU_PAGE - 1) & ~(VGPU_PAGE - 1);
	struct vg_mem m;
	uint32_t status;
	void *at;

	if (whole < bytes)
		return VGPU_ST_OUT_OF_MEMORY;
	status = vg_mem_alloc_host(c, whole, p->kind, p->kind == VG_MEM_HOST ? CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP :
							CU_MEM_ATTACH_GLOBAL, &at);
	if (status)
		return status;
	*va = (uint64_t)(uintptr_t)at;
	if (vg_mem_find(*va, &m)) {
		m.bytes = bytes;
		m.mapped_bytes = whole;
		vg_mem_update(&m);
	}
	return VGPU_ST_OK;
}

static CUresult alloc_from(struct vg_pool *p, CUdeviceptr *ptr, size_t bytes, struct vg_stream *s)
{
	struct vg_mem m;
	uint64_t va, was, most;
	bool fits, kept;

	vg_lock(&p->lock);
	was = most = p->used_high;
	fits = !p->max_bytes || (bytes <= p->max_bytes && p->used <= p->max_bytes - bytes);
	if (fits) {
		p->used += bytes;
		if (p->used > p->used_high)
			most = p->used_high = p->used;
	}
	vg_unlock(&p->lock);
	if (!fits)
		return CUDA_ERROR_OUT_OF_MEMORY;
	kept = vg_pool_take(p, s, bytes, &m);
	if (kept) {
		va = m.start;
		if (!vg_mem_add(&m)) {
			unused(p, bytes, was, most);
			vg_pool_keep(s, vg_stream_mark(s), &m);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	} else {
		uint32_t status = p->kind == VG_MEM_ASYNC ? vg_mem_alloc(s->ctx, bytes, VG_MEM_ASYNC, &va) :
							    alloc_window(p, s->ctx, bytes, &va);

		if (status) {
			unused(p, bytes, was, most);
			return vg_fail(s->ctx, status);
		}
	}
	if (!kept && vg_mem_find(va, &m)) {
		m.pool = p;
		m.other = bytes;
		vg_mem_update(&m);
		vg_lock(&p->lock);
		p->reserved += m.mapped_bytes;
		if (p->reserved > p->reserved_high)
			p->reserved_high = p->reserved;
		vg_unlock(&p->lock);
	}
	if (p->kind == VG_MEM_MANAGED && p->slot != MANAGED_NONE && vg_mem_find(va, &m))
		(void)vg_managed_prefer(&m, location_of(p->slot));
	vg_leak_alloc(va, bytes, __builtin_return_address(0));
	*ptr = va;
	return CUDA_SUCCESS;
}

/* Unlike cuMemAlloc, which calls that a wrong value; what cuMemFreeAsync takes as well. */
static CUresult nothing(CUdeviceptr *ptr)
{
	*ptr = 0;
	return CUDA_SUCCESS;
}

static CUresult impl_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream h, bool pt)
{
	struct vg_stream *s;
	struct vg_pool *p;

	VG_READY();
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	if (!bytes)
		return nothing(ptr);
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_alloc(s, ptr, bytes);
	VG_TRY(current_of(s->ctx->ordinal, &p));
	return alloc_from(p, ptr, bytes, s);
}
VG_TWIN(cuMemAllocAsync, _ptsz, (CUdeviceptr *ptr, size_t bytes, CUstream stream), (ptr, bytes, stream, pt))

static CUresult impl_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream h, bool pt)
{
	struct vg_stream *s;
	struct vg_pool *p;

	VG_TRY(pool_of(pool, &p));
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	if ((p->kind == VG_MEM_ASYNC && p->ordinal != s->ctx->ordinal) || p->imported)  /* documented: an imported pool allocates nothing */
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes)
		return nothing(ptr);
	if (VG_UNLIKELY(vg_capturing(s)))
		return p->kind == VG_MEM_ASYNC ? vg_capture_alloc(s, ptr, bytes) : vg_unsupported("host memory of a pool in a graph");
	return alloc_from(p, ptr, bytes, s);
}
VG_TWIN(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream),
	(ptr, bytes, pool, stream, pt))

static CUresult impl_cuMemFreeAsync(CUdeviceptr ptr, CUstream h, bool pt)
{
	struct vg_stream *s;
	struct vg_mem *m, entry;
	unsigned kinds = 1u << VG_MEM_ASYNC | 1u << VG_MEM_DEVICE;
	uint64_t mark;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	if (!ptr)
		return CUDA_SUCCESS;
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_free(s, ptr);
	if (vg_mem_find(ptr, &entry) && entry.graph)
		return vg_graph_mem_free_outside(ptr, s);
	/* What another process's pool lent stays mapped: nothing is to wait for. */
	if (vg_mem_find(ptr, &entry) && (entry.flags & VG_MEM_OF_POOL) && entry.start == ptr)
		return vg_mem_take(ptr, 1u << VG_MEM_OPENED, &entry) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (vg_mem_find(ptr, &entry) && entry.pool)
		kinds |= 1u << VG_MEM_HOST | 1u << VG_MEM_MANAGED;
	m = malloc(sizeof *m);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!vg_mem_take(ptr, kinds, m)) {
		free(m);
		return CUDA_ERROR_INVALID_VALUE;
	}
	vg_leak_free(ptr);
	mark = vg_stream_mark(s);
	/* Another context's memory is given back in that context; it may not wait here for a stream of this one. */
	if (m->pool && m->ctx == s->ctx) {
		vg_pool_less(m->pool, m->bytes, 0);
		vg_pool_keep(s, mark, m);
		free(m);
		return CUDA_SUCCESS;
	}
	if (m->pool)
		vg_pool_lost(m);
	m->pool = NULL;
	vg_defer(VG_DEFER_MEM, s->ctx, s->index, mark, m, 0);
	vg_deferred_reap();
	return CUDA_SUCCESS;
}
VG_TWIN(cuMemFreeAsync, _ptsz, (CUdeviceptr ptr, CUstream stream), (ptr, stream, pt))
