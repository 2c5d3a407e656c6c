/* SPDX-License-Identifier: MIT */
/*
 * Handles of device memory and events for other processes of the same user (core/share.c, ipc_event.c). A handle is a name that
 * the agent resolves, for that user alone; it is good while the process that made it lives. Who has opened it keeps the memory.
 */
#include "driver.h"
#include "../core/share.h"

#include <string.h>

#define MAGIC 0x50494756u       /* "VGIP" */

struct handle {
	uint32_t magic, kind;
	struct vg_share_name name;
};
_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "fits");

static struct vg_lock lock;     /* counts of what is opened, and who exports */

CUresult vg_ipc_name(uint64_t addr, uint64_t bytes, uint32_t kind, char *out)
{
	struct handle h = { .magic = MAGIC, .kind = kind };
	uint32_t status = vg_share_name(addr, bytes, &h.name);

	if (status)
		return (CUresult)vg_result(status);
	memset(out, 0, CU_IPC_HANDLE_SIZE);
	memcpy(out, &h, sizeof h);
	return CUDA_SUCCESS;
}

CUresult vg_ipc_open(const char *in, uint32_t kind, uint64_t *addr, uint64_t *bytes)
{
	struct handle h;
	uint32_t status;

	memcpy(&h, in, sizeof h);
	if (h.magic != MAGIC || h.kind != kind)
		return CUDA_ERROR_INVALID_HANDLE;
	status = vg_share_open(&h.name, addr);
	*bytes = h.name.bytes;
	switch (status) {
	case VGPU_ST_BUSY:      /* documented: not in the process that exports it */
		return CUDA_ERROR_INVALID_CONTEXT;
	case VGPU_ST_NOT_FOUND:
	case VGPU_ST_INVALID:
		return CUDA_ERROR_INVALID_HANDLE;
	}
	return (CUresult)vg_result(status);
}

bool vg_ipc_supported(void)
{
	return (vg.features & VGPU_FEATURE_SHARE) != 0;
}

bool vg_ipc_memory(uint32_t ordinal)
{
	return vg_ipc_supported() && strncmp(vg.info[ordinal].engine, "cuda", 4) != 0;
}

/* The allocation that ptr lies in, moved to where it can be shared, and its name. */
CUresult vg_ipc_export(uint64_t ptr, uint32_t kind, char *out)
{
	CUresult r = CUDA_SUCCESS;
	uint32_t status;
	struct vg_mem m;

	if (!vg_mem_find(ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_ipc_memory(m.ordinal))
		return vg_unsupported("memory for other processes, of this device (it is not its context's own)");
	status = vg_ctx_sync(m.ctx);
	if (status)
		return vg_fail(m.ctx, status);
	vg_lock(&lock);
	if (vg_mem_find(ptr, &m) && !(m.flags & VG_MEM_IS_SHARED)) {
		status = vg_share_memory(&m);
		vg_mem_update(&m);
	}
	if (status == VGPU_ST_NOT_SUPPORTED || status == VGPU_ST_INVALID)
		r = vg_unsupported("memory for other processes, of this device (it is not its context's own)");
	else if (status)
		r = vg_done(m.ctx, status);
	else
		r = vg_ipc_name(m.other, m.bytes, kind, out);
	vg_unlock(&lock);
	return r;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct vg_mem m;

	VG_READY();
	if (!handle || !vg_mem_find(ptr, &m) || m.kind != VG_MEM_DEVICE || (m.flags & VG_MEM_OF_MODULE) || m.graph)
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	return vg_ipc_export(ptr, 1, handle->reserved);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	struct vg_mem m = { .kind = VG_MEM_OPENED };
	struct vg_ctx *c;
	CUresult r;

	VG_READY();
	if (!ptr || (flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_ipc_supported())
		return vg_unsupported("cuIpcOpenMemHandle (this vgpu-agent shares no memory)");
	VG_SAFE();
	VG_TRY(vg_current(&c));
	vg_lock(&lock);
	r = vg_ipc_open(handle.reserved, 1, &m.start, &m.bytes);
	if (!r) {
		struct vg_mem had;

		if (vg_mem_find(m.start, &had)) {
			if (had.kind == VG_MEM_OPENED && had.start == m.start) {
				had.other++;
				vg_mem_update(&had);
			} else {
				r = CUDA_ERROR_INVALID_HANDLE;
			}
		} else {
			m.span_bytes = m.bytes;
			m.other = 1;
			m.ordinal = c->ordinal;
			m.ctx = c;
			r = vg_mem_add(&m) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	if (!r)
		*ptr = m.start;
	vg_unlock(&lock);
	return r;
}

__attribute__((visibility("default"))) CUresult cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags);
CUresult cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	return cuIpcOpenMemHandle_v2(ptr, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	CUresult r = CUDA_SUCCESS;
	struct vg_mem m;

	VG_READY();
	VG_SAFE();
	if (!vg_mem_find(ptr, &m) || m.kind != VG_MEM_OPENED || m.start != ptr || (m.flags & VG_MEM_OF_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	/* Any context may have been given the pointer. */
	vg_sync_all();
	vg_lock(&lock);
	if (!vg_mem_find(ptr, &m) || m.kind != VG_MEM_OPENED || m.start != ptr || (m.flags & VG_MEM_OF_POOL)) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else if (--m.other) {
		vg_mem_update(&m);
	} else {
		vg_mem_take(ptr, 1u << VG_MEM_OPENED, &m);
	}
	vg_unlock(&lock);
	return r;
}
