/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management: address ranges, physical memory, and mappings between them. Physical memory
 * is committed in the process of one context (the current one when it is created), so a mapping lives
 * there. Access is all or nothing: pages appear in the device with cuMemSetAccess(READWRITE). Memory with a shareable handle lies in
 * the window instead (core/share.c), and the context maps it from there.
 */
#include "driver.h"
#include "../core/share.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mapping {
	uint64_t va, bytes, offset;     /* offset into the physical memory */
	struct vg_phys *phys;
	bool access;
};

/* Sorted by address; lock guards it and the counts of all struct vg_phys. */
static struct vg_lock lock;
static struct mapping *maps;
static size_t nmaps, room;

/* Index of the mapping that holds va, or -1. Lock held. */
static long holder(uint64_t va)
{
	size_t lo = 0, hi = nmaps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (maps[mid].va > va)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo && va - maps[lo - 1].va < maps[lo - 1].bytes ? (long)lo - 1 : -1;
}

/* [va, va + bytes) is exactly a row of whole mappings: first index and count. Lock held. */
static bool whole(uint64_t va, uint64_t bytes, size_t *first, size_t *n)
{
	long i = holder(va);

	if (i < 0 || maps[i].va != va)
		return false;
	*first = (size_t)i;
	for (*n = 0; bytes; (*n)++) {
		const struct mapping *m = &maps[*first + *n];

		if (*first + *n == nmaps || m->va != va || m->bytes > bytes)
			return false;
		va += m->bytes;
		bytes -= m->bytes;
	}
	return true;
}

bool vg_vmm_covers(uint64_t va, uint64_t bytes, struct vg_ctx **owner)
{
	bool ok = true;

	*owner = NULL;

	vg_lock(&lock);
	while (bytes && ok) {
		long i = holder(va);
		uint64_t n;

		ok = i >= 0 && maps[i].access && (!*owner || *owner == maps[i].phys->ctx);
		if (!ok)
			break;
		*owner = maps[i].phys->ctx;
		n = maps[i].bytes - (va - maps[i].va);
		n = n < bytes ? n : bytes;
		va += n;
		bytes -= n;
	}
	vg_unlock(&lock);
	return ok;
}

bool vg_vmm_mapping(uint64_t va, uint64_t *start, uint64_t *bytes, bool *access)
{
	long i;

	vg_lock(&lock);
	i = holder(va);
	if (i >= 0) {
		*start = maps[i].va;
		*bytes = maps[i].bytes;
		*access = maps[i].access;
	}
	vg_unlock(&lock);
	return i >= 0;
}

/* Lock held. True: nobody needs it any more, the caller gives it back with phys_end. */
static bool phys_unused(const struct vg_phys *p)
{
	return !p->refs && !p->maps;
}

/* The memory itself is gone. */
static void phys_forget(struct vg_phys *p)
{
	if (p->shared) {
		if (p->opened || p->exported)
			close(p->fd);
		else
			vg_share_destroy(p->shared, p->bytes, p->fd);
		vg_delete(VG_PHYS, p);
		return;
	}
	__atomic_sub_fetch(&vg_committed, p->bytes, __ATOMIC_RELAXED);
	vg_phys_give(p->ordinal, p->offset, p->bytes);
	vg_delete(VG_PHYS, p);
}

static bool phys_alive(const struct vg_phys *p) { return p->ctx->handle == p->ctx_handle && !p->shared; }

static uint32_t phys_free(const struct vg_phys *p)
{
	return phys_alive(p) ? vg_ctl(p->ctx, VGPU_OP_PHYS_FREE, 0, p->offset, p->bytes, 0, NULL) : (uint32_t)VGPU_ST_OK;
}

static void phys_end(struct vg_phys *p, uint32_t status)
{
	if (status)
		vg_delete(VG_PHYS, p);
	else
		phys_forget(p);
}

/* Ranges whose mappings ended with their context. CUDA's live on: a program still unmaps them, and is not told that nothing is there. */
static struct range { uint64_t va, bytes; } *gone;
static size_t ngone, gone_room;

static void remember(uint64_t va, uint64_t bytes)
{
	if (ngone == gone_room) {
		size_t n = gone_room ? gone_room * 2 : 16;
		struct range *t = realloc(gone, n * sizeof *t);

		if (!t)
			return;
		gone = t;
		gone_room = n;
	}
	gone[ngone++] = (struct range){ va, bytes };
}

/* Forgets those in [va, va + bytes); true: they were all of it. Lock held. */
static bool recall(uint64_t va, uint64_t bytes)
{
	uint64_t found = 0;
	size_t n = 0;

	for (size_t i = 0; i < ngone; i++)
		if (gone[i].va >= va && gone[i].va - va < bytes && gone[i].bytes <= bytes - (gone[i].va - va))
			found += gone[i].bytes;
		else
			gone[n++] = gone[i];
	ngone = n;
	return bytes && found == bytes;
}

/* The context's process has ended, its physical memory and mappings with it. */
void vg_vmm_drop_ctx(struct vg_ctx *c)
{
	size_t n = 0;

	vg_lock(&lock);
	for (size_t i = 0; i < nmaps; i++) {
		struct vg_phys *p = maps[i].phys;

		if (p->ctx != c) {
			maps[n++] = maps[i];
			continue;
		}
		remember(maps[i].va, maps[i].bytes);
		if (!--p->maps && !p->refs)
			phys_forget(p);
	}
	nmaps = n;
	vg_unlock(&lock);
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return vg_unsupported("virtual memory management of host memory");
	if (!vg_device_ok(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return vg_unsupported("cuMemCreate with a shareable handle that is no file descriptor");
	if (prop->requestedHandleTypes && !vg_ipc_memory((uint32_t)prop->location.id))
		return vg_unsupported("cuMemCreate with a shareable handle on this device");
	/* compressionType is a hint; what came of it is asked by cuMemGetAllocationPropertiesFromHandle. */
	if (prop->allocFlags.gpuDirectRDMACapable || prop->allocFlags.usage)
		return vg_unsupported("cuMemCreate for RDMA, tile pools or hardware decompression");
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	VG_KNOWN();
	if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_prop(prop));
	*granularity = VGPU_HUGE;
	return CUDA_SUCCESS;
}

/* ---- address ranges ---- */

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	struct vg_ctx *c;
	uint64_t va;

	VG_READY();
	/* documented: multiples of the host's page size; what is mapped into it has larger ones */
	if (!ptr || !size || size % VGPU_PAGE || addr % VGPU_PAGE || flags || (alignment & (alignment - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_done(NULL, vg_mem_reserve(vg_current_any(&c) ? 0 : c->ordinal, size, alignment, addr, &va)));
	*ptr = va;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct vg_mem m;
	bool used = false;

	VG_READY();
	if (!vg_mem_find(ptr, &m) || m.kind != VG_MEM_RESERVED || m.start != ptr || m.bytes != size)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	for (size_t i = 0; i < nmaps && !used; i++)
		used = maps[i].va - ptr < size;
	if (!used)
		recall(ptr, size);
	vg_unlock(&lock);
	if (used || !vg_mem_take(ptr, 1u << VG_MEM_RESERVED, &m))
		return CUDA_ERROR_INVALID_VALUE;
	return vg_done(NULL, vg_mem_release(&m));
}

/* ---- physical memory ---- */

static CUmemGenericAllocationHandle publish(struct vg_phys *p, struct vg_ctx *c, uint64_t bytes)
{
	p->ctx = c;
	p->ctx_handle = c->handle;
	p->ordinal = c->ordinal;
	p->bytes = bytes;
	p->refs = 1;
	return vg_publish(p);
}

/*
 * Whose memory it is. CUDA asks for no context here; what is meant for other processes gets one where the caller has none, the
 * primary one, which stays. Without a handle for others it would be found by that context alone, which the caller does not expect.
 */
static CUresult owner_of(const CUmemAllocationProp *prop, struct vg_ctx **c)
{
	CUresult r = vg_context_for((uint32_t)prop->location.id, c);
	CUcontext primary;

	if (r != CUDA_ERROR_INVALID_CONTEXT || !prop->requestedHandleTypes)
		return r;
	VG_TRY(cuDevicePrimaryCtxRetain(&primary, prop->location.id));
	return vg_context(primary, c);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	struct vg_phys *p;
	struct vg_ctx *c;
	uint32_t status;

	VG_READY();
	if (!handle || !size || size % VGPU_HUGE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_prop(prop));
	VG_TRY(owner_of(prop, &c));
	p = vg_new(VG_PHYS);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (prop->requestedHandleTypes) {
		status = vg_share_create(size, &p->shared, &p->fd);
		if (status) {
			vg_delete(VG_PHYS, p);
			return vg_fail(c, status);
		}
		*handle = publish(p, c, size);
		return CUDA_SUCCESS;
	}
	if (!vg_phys_take(c->ordinal, size, &p->offset)) {
		vg_delete(VG_PHYS, p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->ordinal = c->ordinal;
	vg_deferred_reap();
	do {
		status = vg_ctl(c, VGPU_OP_PHYS_ALLOC, 0, p->offset, size, 0, NULL);
	} while (status == VGPU_ST_OUT_OF_MEMORY && vg_deferred_wait());
	if (status) {
		vg_phys_give(p->ordinal, p->offset, size);
		vg_delete(VG_PHYS, p);
		return vg_fail(c, status);
	}
	__atomic_add_fetch(&vg_committed, size, __ATOMIC_RELAXED);
	*handle = publish(p, c, size);
	return CUDA_SUCCESS;
}

static struct vg_phys *phys_of(CUmemGenericAllocationHandle h)
{
	return vg_get(VG_PHYS, h);
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type,
				      unsigned long long flags)
{
	struct vg_phys *p;
	int fd = -1;

	VG_READY();
	if (!shareable || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return vg_unsupported("a shareable handle that is no file descriptor");
	vg_lock(&lock);
	p = phys_of(h);
	if (p && p->shared) {
		fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
		p->exported = true;
	}
	vg_unlock(&lock);
	/* Documented: of memory that was created for it. */
	if (!p || !p->shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)shareable = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle, CUmemAllocationHandleType type)
{
	uint64_t at, bytes;
	struct vg_phys *p;
	struct vg_ctx *c;
	uint32_t status;
	int fd;

	VG_READY();
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return vg_unsupported("a shareable handle that is no file descriptor");
	VG_TRY(vg_current(&c));
	if (!vg_ipc_memory(c->ordinal))
		return vg_unsupported("cuMemImportFromShareableHandle on this device");
	fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	status = vg_share_import(fd, &at, &bytes);
	p = status ? NULL : vg_new(VG_PHYS);
	if (!p) {
		close(fd);
		return status == VGPU_ST_INVALID || status == VGPU_ST_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE :
		       status ? vg_fail(c, status) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->shared = at;
	p->opened = true;
	p->fd = fd;
	*handle = publish(p, c, bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle h)
{
	uint32_t status = VGPU_ST_OK;
	struct vg_phys *p;
	bool end = false;

	VG_READY();
	vg_lock(&lock);
	p = phys_of(h);
	if (p && p->refs == 1 && !p->maps)
		status = phys_free(p);
	/* What a living context refuses to free stays, and so does its handle. */
	if (p && (!status || vg_ctx_error(p->ctx)) && !--p->refs) {
		vg_unpublish(p);
		end = phys_unused(p);
	}
	vg_unlock(&lock);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (end)
		phys_end(p, status);
	return vg_done(NULL, status);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	long i;

	VG_READY();
	if (!handle)
		return r;
	vg_lock(&lock);
	i = holder((uintptr_t)addr);
	if (i >= 0) {
		struct vg_phys *p = maps[i].phys;

		/* All handles were released: the memory lives on by its mapping and gets its handle back. */
		if (!p->refs++)
			vg_publish(p);
		*handle = p->handle;
		r = CUDA_SUCCESS;
	}
	vg_unlock(&lock);
	return r;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle h)
{
	struct vg_phys *p;

	VG_READY();
	p = phys_of(h);
	if (!prop || !p)
		return CUDA_ERROR_INVALID_VALUE;
	memset(prop, 0, sizeof *prop);
	prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop->location.id = (int)p->ordinal;
	prop->requestedHandleTypes = p->shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
	return CUDA_SUCCESS;
}

/* ---- mappings ---- */

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct vg_phys *p;
	struct vg_mem m;
	size_t at = 0;

	VG_READY();
	/* documented of offset and flags: must be zero */
	if (!size || size % VGPU_HUGE || offset || ptr % VGPU_HUGE || flags)
		return r;
	if (!vg_mem_find(ptr, &m) || m.kind != VG_MEM_RESERVED || size > m.bytes - (ptr - m.start))
		return r;
	vg_lock(&lock);
	p = phys_of(h);
	if (!p || p->ordinal != m.ordinal || size > p->bytes)
		goto out;
	while (at < nmaps && maps[at].va < ptr)
		at++;
	/* Neighbours must end before and start behind us. */
	if ((at && maps[at - 1].va + maps[at - 1].bytes > ptr) || (at < nmaps && maps[at].va < ptr + size))
		goto out;
	if (nmaps == room) {
		size_t n = room ? room * 2 : 64;
		struct mapping *t = realloc(maps, n * sizeof *t);

		if (!t) {
			r = CUDA_ERROR_OUT_OF_MEMORY;
			goto out;
		}
		maps = t;
		room = n;
	}
	recall(ptr, size);
	memmove(&maps[at + 1], &maps[at], (nmaps - at) * sizeof *maps);
	maps[at] = (struct mapping){ ptr, size, offset, p, false };
	nmaps++;
	p->maps++;
	r = CUDA_SUCCESS;
out:
	vg_unlock(&lock);
	return r;
}

/* Brings the device's pages in line with m->access. Lock held: mappings change rarely. */
static uint32_t apply(struct mapping *m, bool access)
{
	uint32_t status;

	if (m->access == access)
		return VGPU_ST_OK;
	/* Its number may be another context's by now. */
	if (m->phys->ctx->handle != m->phys->ctx_handle)
		return VGPU_ST_BAD_HANDLE;
	status = access && m->phys->shared ? vg_share_map(m->phys->ctx, m->va, m->phys->shared + m->offset, m->bytes) :
		 access ? vg_ctl(m->phys->ctx, VGPU_OP_VMM_MAP, 0, m->va, m->bytes, m->phys->offset + m->offset, NULL) :
			  vg_ctl(m->phys->ctx, VGPU_OP_VMM_UNMAP, 0, m->va, m->bytes, 0, NULL);
	if (!status)
		m->access = access;
	return status;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	uint32_t status = VGPU_ST_OK;
	size_t first, count;
	bool ok;

	VG_READY();
	if (!desc || !n || !size)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return vg_unsupported("cuMemSetAccess for the host");
		if (!vg_device_ok(desc[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
			return vg_unsupported("cuMemSetAccess with read-only access");
		if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	vg_lock(&lock);
	ok = whole(ptr, size, &first, &count);
	for (size_t i = 0; ok && i < n && !status; i++) {
		bool access = desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

		for (size_t k = 0; k < count && !status; k++) {
			struct mapping *m = &maps[first + k];

			/* Another device has no access and cannot get it. */
			if (m->phys->ordinal != (uint32_t)desc[i].location.id)
				status = access ? VGPU_ST_NOT_SUPPORTED : VGPU_ST_OK;
			else
				status = apply(m, access);
		}
	}
	vg_unlock(&lock);
	return ok ? vg_done(NULL, status) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	long i;

	VG_READY();
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !vg_device_ok(location->id))
		return r;
	vg_lock(&lock);
	i = holder(ptr);
	if (i >= 0) {
		*flags = maps[i].access && maps[i].phys->ordinal == (uint32_t)location->id ?
			 CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
		r = CUDA_SUCCESS;
	}
	vg_unlock(&lock);
	return r;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	uint32_t status = VGPU_ST_OK;
	size_t first, count, done = 0;
	struct vg_phys *ended[16];
	unsigned nended = 0;
	struct vg_ctx *c = NULL;
	bool ok;

	VG_READY();
	vg_lock(&lock);
	ok = whole(ptr, size, &first, &count);
	if (ok)
		c = maps[first].phys->ctx;
	else
		ok = recall(ptr, size);
	vg_unlock(&lock);
	if (!ok || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_SUCCESS;
	/* Kernels that still run may use the pages. */
	(void)vg_ctx_sync(c);
	vg_lock(&lock);
	ok = whole(ptr, size, &first, &count);
	while (ok && done < count && !status && nended < 16) {
		struct vg_phys *p = maps[first + done].phys;

		status = apply(&maps[first + done], false);
		if (status)
			break;
		p->maps--;
		if (phys_unused(p))
			ended[nended++] = p;
		done++;
	}
	if (done) {
		ptr = maps[first + done - 1].va + maps[first + done - 1].bytes;
		size = done < count ? maps[first + count - 1].va + maps[first + count - 1].bytes - ptr : 0;
		memmove(&maps[first], &maps[first + done], (nmaps - first - done) * sizeof *maps);
		nmaps -= done;
	}
	vg_unlock(&lock);
	for (unsigned i = 0; i < nended; i++)
		phys_end(ended[i], phys_free(ended[i]));
	if (!ok)
		return CUDA_ERROR_INVALID_VALUE;
	/* More handles to end than fit the list: the rest in another round. */
	return status || !size ? vg_done(NULL, status) : cuMemUnmap(ptr, size);
}
