/* SPDX-License-Identifier: MIT */
/*
 * Registered host memory, and what host memory is to the device. Memory from cuMemHostAlloc is its own device pointer; that
 * of cuMemHostRegister has another one (core/adopt.c), which CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 0 says. Copies and
 * fills take either.
 */
#include "driver.h"
#include "../core/adopt.h"

static bool host(uint64_t ptr, struct vg_mem *m)
{
	return vg_mem_find(ptr, m) && (m->kind == VG_MEM_HOST || m->kind == VG_MEM_ADOPTED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned int flags)
{
	struct vg_mem m;

	VG_READY();
	if (!dptr || flags || !host((uintptr_t)ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	*dptr = vg_adopted((uintptr_t)ptr, 1);
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!flags || !host((uintptr_t)ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = m.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}

static CUresult refused(enum vg_adopt_result r)
{
	switch (r) {
	case VG_ADOPT_OK:
		return CUDA_SUCCESS;
	case VG_ADOPT_TWICE:
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	case VG_ADOPT_UNMAPPED:
		return CUDA_ERROR_INVALID_VALUE;
	case VG_ADOPT_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case VG_ADOPT_SHARED:
		return vg_unsupported("cuMemHostRegister of a MAP_SHARED mapping whose file this process cannot open for writing, or that is no file of "
				      "memory (tmpfs, memfd: keep its descriptor open; or use cuMemHostAlloc)");
	case VG_ADOPT_KIND:
		return vg_unsupported("cuMemHostRegister of huge pages or of code (use cuMemHostAlloc)");
	case VG_ADOPT_STACK:
		return vg_unsupported("cuMemHostRegister of a stack (a forked child would run on it too; use cuMemHostAlloc)");
	case VG_ADOPT_APART:
		return vg_unsupported("cuMemHostRegister of memory that shares a page with a registration that the device sees apart from it "
				      "(register whole pages, or both ranges at once)");
	case VG_ADOPT_PROC:
		return vg_unsupported("cuMemHostRegister without /proc/self/maps (mount /proc, or use cuMemHostAlloc)");
	case VG_ADOPT_AGENT:
		return vg_unsupported("cuMemHostRegister (this vgpu-agent has no memory for it; use cuMemHostAlloc)");
	}
	return CUDA_ERROR_UNKNOWN;
}

CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	struct vg_ctx *c;
	struct vg_mem m;

	VG_READY();
	if (!ptr || !bytes || (flags & ~15u))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return vg_unsupported("CU_MEMHOSTREGISTER_IOMEMORY");
	VG_SAFE();
	VG_TRY(vg_current(&c));
	if (vg_in_window((uintptr_t)ptr) && vg_mem_find((uintptr_t)ptr, &m))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (vg_in_window((uintptr_t)ptr) || vg_in_device((uintptr_t)ptr))
		return CUDA_ERROR_INVALID_VALUE;
	return refused(vg_adopt(c, (uintptr_t)ptr, bytes, flags & CU_MEMHOSTREGISTER_PORTABLE, flags & CU_MEMHOSTREGISTER_READ_ONLY));
}

CUresult cuMemHostUnregister(void *ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	if (!vg_mem_find((uintptr_t)ptr, &m) || m.kind != VG_MEM_ADOPTED || m.start != (uintptr_t)ptr)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	/* Any context may have been given the pointer. */
	vg_sync_all();
	return vg_adopt_end((uintptr_t)ptr) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
