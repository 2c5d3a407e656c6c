/* SPDX-License-Identifier: MIT */
/*
 * Memory: device and pinned. Pinned memory is window memory: the device uses it at the same address, so a host
 * pointer is its own device pointer. (Registered memory has two: hostreg.c.)
 */
#include "driver.h"

#include <string.h>

#define PITCH_ALIGN 512u

/* What the device has, and within it what the agent lets this process have. */
static uint64_t total_bytes(const struct vg_ctx *c)
{
	uint64_t device = vg.info[c->ordinal].memory_bytes;

	return vg.memory_quota && vg.memory_quota < device ? vg.memory_quota : device;
}

static uint64_t free_bytes(const struct vg_ctx *c)
{
	const struct vgpu_agent_device *d = &vg.agent->device[vg.map[c->ordinal]];
	uint64_t device = vg.info[c->ordinal].memory_bytes, total = total_bytes(c);
	uint64_t used = vgpu_load_relaxed64(&d->memory_used);
	uint64_t mine = __atomic_load_n(&vg_committed, __ATOMIC_RELAXED);
	uint64_t left = used < device ? device - used : 0;

	if (mine >= total)
		return 0;
	return left < total - mine ? left : total - mine;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current(&c));
	vg_deferred_reap();
	if (free)
		*free = free_bytes(c);
	if (total)
		*total = total_bytes(c);
	return CUDA_SUCCESS;
}

__attribute__((visibility("default"))) CUresult cuMemGetInfo(unsigned int *free, unsigned int *total);
CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
	size_t f, t;

	VG_TRY(cuMemGetInfo_v2(&f, &t));
	if (free)
		*free = f > 0xffffffffu ? 0xffffffffu : (unsigned int)f;
	if (total)
		*total = t > 0xffffffffu ? 0xffffffffu : (unsigned int)t;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct vg_ctx *c;
	uint64_t va;

	VG_READY();
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	VG_TRY(vg_current(&c));
	VG_TRY(vg_done(c, vg_mem_alloc(c, bytes, VG_MEM_DEVICE, &va)));
	vg_leak_alloc(va, bytes, __builtin_return_address(0));
	*ptr = va;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	size_t p, bytes;

	VG_READY();
	if (!ptr || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	p = (width + PITCH_ALIGN - 1) & ~(size_t)(PITCH_ALIGN - 1);
	if (p < width || p > VG_MAX_PITCH)
		return CUDA_ERROR_INVALID_VALUE;        /* no copy would take it */
	if (__builtin_mul_overflow(p, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	VG_TRY(cuMemAlloc_v2(ptr, bytes));
	*pitch = p;
	return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	struct vg_mem m;
	struct vg_ctx *c;
	uint32_t e;

	VG_READY();
	VG_SAFE();
	if (!ptr)
		return CUDA_SUCCESS;
	VG_TRY(vg_current_any(&c));
	if (!vg_mem_find(ptr, &m) || m.start != ptr || (m.kind == VG_MEM_HOST && !m.pool) || m.kind == VG_MEM_RESERVED ||
	    (m.flags & VG_MEM_OF_MODULE))
		return CUDA_ERROR_INVALID_VALUE;
	/* Kernels that are still running may use it; CUDA waits too. */
	e = vg_ctx_sync(m.ctx);
	if (e)
		return vg_fail(m.ctx, e);
	if (m.graph)
		return vg_graph_mem_free_outside(ptr, NULL);
	if (m.flags & VG_MEM_OF_POOL)
		return vg_mem_take(ptr, 1u << VG_MEM_OPENED, &m) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (!vg_mem_take(ptr, 1u << VG_MEM_DEVICE | 1u << VG_MEM_MANAGED | 1u << VG_MEM_ASYNC | (m.pool ? 1u << VG_MEM_HOST : 0), &m))
		return CUDA_ERROR_INVALID_VALUE;
	if (m.pool)
		vg_pool_lost(&m);
	e = vg_mem_release(&m);
	if (!e)
		vg_leak_free(ptr);
	return vg_done(m.ctx, e);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!vg_mem_find(ptr, &m) && !(vg_in_device(ptr) && vg_module_variable(ptr, &m)))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = m.start;
	if (size)
		*size = m.bytes;
	return CUDA_SUCCESS;
}

/* ---- host memory ---- */

CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct vg_ctx *c;

	VG_READY();
	if (!ptr || (flags & ~7u))
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes) {
		*ptr = NULL;
		return CUDA_SUCCESS;
	}
	VG_SAFE();
	VG_TRY(vg_current(&c));
	return vg_done(c, vg_mem_alloc_host(c, bytes, VG_MEM_HOST, flags, ptr));
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return cuMemHostAlloc(ptr, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

__attribute__((visibility("default"))) CUresult cuMemAllocHost(void **ptr, unsigned int bytes);
CUresult cuMemAllocHost(void **ptr, unsigned int bytes)
{
	return cuMemAllocHost_v2(ptr, bytes);
}

CUresult cuMemFreeHost(void *ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!ptr)
		return CUDA_SUCCESS;
	VG_SAFE();
	if (!vg_mem_find((uintptr_t)ptr, &m) || m.start != (uintptr_t)ptr || m.kind != VG_MEM_HOST || m.pool)
		return CUDA_ERROR_INVALID_VALUE;
	/* Any context may have been given the pointer. */
	vg_sync_all();
	if (!vg_mem_take((uintptr_t)ptr, 1u << VG_MEM_HOST, &m))
		return CUDA_ERROR_INVALID_VALUE;
	return vg_done(NULL, vg_mem_release(&m));
}
