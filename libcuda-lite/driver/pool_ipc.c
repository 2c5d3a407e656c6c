/* SPDX-License-Identifier: MIT */
/*
 * Pools of another process. A pool's handle is a file that names it and holds nothing; its allocations are handed over one by
 * one, as cuIpcGetMemHandle does it (ipc.c). An imported pool gives no memory of its own.
 */
#include "driver.h"
#include "../core/share.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct vg_lock lock;

static struct vg_pool *pool_of(CUmemoryPool h)
{
	return vg_get(VG_POOL, (uint64_t)(uintptr_t)h);
}

static CUresult only_files(CUmemAllocationHandleType type)
{
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_SUCCESS :
	       vg_unsupported("a shareable handle that is no file descriptor");
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool h, CUmemAllocationHandleType type, unsigned long long flags)
{
	uint32_t status = VGPU_ST_OK;
	struct vg_pool *p;
	int fd = -1;

	VG_READY();
	p = pool_of(h);
	if (!out || flags || !p || !p->shareable)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(only_files(type));
	vg_lock(&lock);
	p->session = p->fd < 0 ? vg.session : p->session;
	if (p->fd < 0)
		status = vg_share_create(VGPU_HUGE, &p->at, &p->fd);
	if (!status)
		fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	vg_unlock(&lock);
	if (status)
		return vg_done(NULL, status);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	uint64_t at, bytes;
	struct vg_pool *p;
	struct vg_ctx *c;
	uint32_t status;

	VG_READY();
	if (!pool || flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(only_files(type));
	VG_TRY(vg_current(&c));
	status = vg_share_import((int)(intptr_t)handle, &at, &bytes);
	if (status)
		return status == VGPU_ST_INVALID || status == VGPU_ST_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE : vg_done(NULL, status);
	p = vg_pool_make(c->ordinal);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->imported = true;
	*pool = VG_HANDLE(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr ptr)
{
	struct vg_mem m;

	_Static_assert(sizeof *out == CU_IPC_HANDLE_SIZE, "one size");
	VG_READY();
	if (!out || !vg_mem_find(ptr, &m) || m.kind != VG_MEM_ASYNC || !m.pool || !m.pool->shareable || m.start != ptr)
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	return vg_ipc_export(ptr, 3, (char *)out);
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool h, CUmemPoolPtrExportData *data)
{
	struct vg_mem m = { .kind = VG_MEM_OPENED, .flags = VG_MEM_OF_POOL, .other = 1 };
	struct vg_pool *p;
	struct vg_ctx *c;

	VG_READY();
	p = pool_of(h);
	if (!ptr || !data || !p || !p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	if (c->ordinal != p->ordinal)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_ipc_open((const char *)data, 3, &m.start, &m.bytes));
	m.span_bytes = m.bytes;
	m.ordinal = c->ordinal;
	m.ctx = c;
	if (vg_mem_find(m.start, &(struct vg_mem){ 0 }))        /* documented: once */
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_mem_add(&m))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = m.start;
	return CUDA_SUCCESS;
}
