/* SPDX-License-Identifier: MIT */
/*
 * What a pointer is: one look into the table of memory (core/devmem.c). Pointers that no table knows
 * belong to the process and are "unregistered": INVALID_VALUE from the single query, zeroes from the
 * plural one, as CUDA documents.
 */
#include "driver.h"
#include "../core/adopt.h"

#include <string.h>

static bool find(CUdeviceptr ptr, struct vg_mem *m)
{
	return vg_mem_find(ptr, m) || (vg_in_device(ptr) && vg_module_variable(ptr, m));
}

static bool is_device(const struct vg_mem *m)
{
	return m->kind == VG_MEM_DEVICE || m->kind == VG_MEM_ASYNC || m->kind == VG_MEM_RESERVED ||
	       m->kind == VG_MEM_HEAP || m->kind == VG_MEM_OPENED;
}

/* The mapping that a pointer lies in: in a reserved range one of its own or none, elsewhere the allocation. */
struct place {
	uint64_t start, bytes;
	bool mapped, access;
};

static struct place place_of(CUdeviceptr ptr, const struct vg_mem *m)
{
	struct place p = { 0 };

	if (m && m->kind == VG_MEM_RESERVED)
		p.mapped = vg_vmm_mapping(ptr, &p.start, &p.bytes, &p.access);
	else if (m)
		p = (struct place){ m->start, m->bytes, true, true };
	return p;
}

/* Registered memory is known by two addresses. */
static uint64_t host_of(CUdeviceptr ptr, const struct vg_mem *m)
{
	return m->kind == VG_MEM_ADOPTED && vg_in_window(ptr) ? m->other + (ptr - m->start) : ptr;
}

/* m: NULL when the pointer is not ours. */
static CUresult query(void *data, CUpointer_attribute a, CUdeviceptr ptr, const struct vg_mem *m)
{
	struct place p = place_of(ptr, m);

	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = m && m->ctx ? VG_HANDLE(CUcontext, m->ctx) : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = !m ? 0 : m->kind == VG_MEM_HOST || m->kind == VG_MEM_ADOPTED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = m ? vg_adopted(ptr, 1) : 0;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = m && !is_device(m) ? (void *)(uintptr_t)host_of(ptr, m) : NULL;
		if (m && is_device(m))
			return CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return vg_unsupported("CU_POINTER_ATTRIBUTE_P2P_TOKENS");
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned int *)data = m ? m->sync_memops : 0;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = m ? m->id : 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = m && m->kind == VG_MEM_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = m ? (int)m->ordinal : CU_DEVICE_INVALID;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned int *)data = m && m->kind == VG_MEM_DEVICE && vg_ipc_memory(m->ordinal);
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = m ? m->start : 0;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = p.start;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = m ? m->bytes : 0;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = p.bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned int *)data = p.mapped;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(cuuint64_t *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned int *)data = p.access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = m && m->pool ? VG_HANDLE(CUmemoryPool, m->pool) : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned int *)data = m ? (unsigned int)m->id : 0;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!data || !find(ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	return query(data, a, ptr, &m);
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attribs, void **data, CUdeviceptr ptr)
{
	struct vg_mem m;
	bool known;

	VG_READY();
	if (!n || !attribs || !data)
		return CUDA_ERROR_INVALID_VALUE;
	known = find(ptr, &m);
	for (unsigned int i = 0; i < n; i++) {
		CUresult r = query(data[i], attribs[i], ptr, known ? &m : NULL);

		/* The host pointer of device memory is NULL here, no error. */
		if (r && !(attribs[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && known))
			return r;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute a, CUdeviceptr ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!value || !vg_mem_find(ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	if (a != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	m.sync_memops = *(const unsigned int *)value != 0;
	vg_mem_update(&m);
	return CUDA_SUCCESS;
}
