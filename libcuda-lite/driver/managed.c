/* SPDX-License-Identifier: MIT */
/*
 * Managed memory. It is window memory, one memory for both sides: nothing migrates, so a prefetch moves nothing
 * and advice changes nothing. But both are remembered, range by range, and answered back (cuMemRangeGetAttribute).
 */
#include "driver.h"

#include <stdlib.h>

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	struct vg_ctx *c;
	void *p;

	VG_READY();
	if (!ptr || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	VG_TRY(vg_current(&c));
	VG_TRY(vg_done(c, vg_mem_alloc_host(c, bytes, VG_MEM_MANAGED, flags, &p)));
	*ptr = (CUdeviceptr)(uintptr_t)p;
	vg_leak_alloc(*ptr, bytes, __builtin_return_address(0));
	return CUDA_SUCCESS;
}

/* ---- what was said of ranges ---- */

enum fact { READ_MOSTLY, PREFERRED, PREFETCHED, ACCESSED_BY_CPU, ACCESSED_BY, FACTS = ACCESSED_BY + VGPU_MAX_DEVICES };

struct note {
	struct note *next;
	uint64_t id;                    /* of the allocation: notes on one that is gone mean nothing */
	uint64_t from, to;
	uint64_t value;                 /* 0: unset */
	unsigned fact;
};

static struct vg_lock lock;
static struct note *notes;              /* newest first */

#define LOCATION(l) (1ull << 63 | (uint64_t)(unsigned)(l).type << 32 | (uint32_t)(l).id)
#define LOCATION_TYPE(v) ((CUmemLocationType)((v) >> 32 & 0x7fffffff))
#define LOCATION_ID(v) ((int)(uint32_t)(v))

static CUresult note(const struct vg_mem *m, uint64_t va, uint64_t bytes, unsigned fact, uint64_t value)
{
	struct note *n = malloc(sizeof *n), **at = &notes;
	struct vg_mem now;

	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*n = (struct note){ .id = m->id, .from = va, .to = va + bytes, .value = value, .fact = fact };
	vg_lock(&lock);
	/* What the new one hides, or speaks of memory that is gone, goes. */
	while (*at) {
		struct note *o = *at;

		if ((o->id == n->id && o->fact == fact && o->from >= n->from && o->to <= n->to) ||
		    !vg_mem_find(o->from, &now) || now.id != o->id) {
			*at = o->next;
			free(o);
		} else {
			at = &o->next;
		}
	}
	n->next = notes;
	notes = n;
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

/* The value at va, and in *end how far it holds at least. Lock held. */
static uint64_t value_at(uint64_t id, unsigned fact, uint64_t va, uint64_t *end)
{
	for (const struct note *n = notes; n; n = n->next) {
		if (n->id != id || n->fact != fact)
			continue;
		if (n->from <= va && va < n->to) {
			*end = n->to < *end ? n->to : *end;
			return n->value;
		}
		if (n->from > va && n->from < *end)
			*end = n->from;         /* a newer note, or one behind a gap */
	}
	return 0;
}

/* The one value that all of the range has; 0 when none was set or they differ. */
static uint64_t fact_of(const struct vg_mem *m, uint64_t va, uint64_t bytes, unsigned fact)
{
	uint64_t first = 0, end = va + bytes, v;

	vg_lock(&lock);
	for (uint64_t at = va; at < end;) {
		uint64_t to = end;

		v = value_at(m->id, fact, at, &to);
		if (at == va)
			first = v;
		if (v != first) {
			first = 0;
			break;
		}
		at = to;
	}
	vg_unlock(&lock);
	return first;
}

/* ---- prefetch and advice ---- */

static CUresult managed_range(CUdeviceptr ptr, size_t bytes, struct vg_mem *m)
{
	VG_READY();
	if (!bytes || !vg_mem_find(ptr, m) || m->kind != VG_MEM_MANAGED || bytes > m->bytes - (ptr - m->start))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult location_ok(CUmemLocation l)
{
	switch ((int)l.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return vg_device_ok(l.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* The older calls name a device, or CU_DEVICE_CPU. */
static CUmemLocation location_of(CUdevice dev)
{
	return dev == CU_DEVICE_CPU ? (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 } :
				      (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, dev };
}

static CUresult impl_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags,
					   CUstream stream, bool pt)
{
	struct vg_stream *s;
	struct vg_mem m;

	VG_TRY(managed_range(ptr, bytes, &m));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(location_ok(location));
	VG_TRY(vg_stream(stream, pt, &s));
	VG_NO_CAPTURE(s);
	return note(&m, ptr, bytes, PREFETCHED, LOCATION(location));
}
VG_TWIN(cuMemPrefetchAsync_v2, _ptsz,
	(CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags, CUstream stream),
	(ptr, bytes, location, flags, stream, pt))

static CUresult impl_cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream, bool pt)
{
	return impl_cuMemPrefetchAsync_v2(ptr, bytes, location_of(dev), 0, stream, pt);
}
VG_TWIN(cuMemPrefetchAsync, _ptsz, (CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream),
	(ptr, bytes, dev, stream, pt))

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	struct vg_mem m;
	unsigned who;

	VG_TRY(managed_range(ptr, bytes, &m));
	switch ((int)advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		return note(&m, ptr, bytes, READ_MOSTLY, advice == CU_MEM_ADVISE_SET_READ_MOSTLY);
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		VG_TRY(location_ok(location));
		return note(&m, ptr, bytes, PREFERRED, LOCATION(location));
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		return note(&m, ptr, bytes, PREFERRED, 0);
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		VG_TRY(location_ok(location));
		who = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? ACCESSED_BY + (unsigned)location.id : ACCESSED_BY_CPU;
		return note(&m, ptr, bytes, who, advice == CU_MEM_ADVISE_SET_ACCESSED_BY);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice dev)
{
	return cuMemAdvise_v2(ptr, bytes, advice, location_of(dev));
}

CUresult vg_managed_prefer(const struct vg_mem *m, CUmemLocation location)
{
	return note(m, m->start, m->bytes, PREFERRED, LOCATION(location));
}

/* ---- questions ---- */

/* As the attribute without _TYPE and _ID has it: a device, the CPU, or neither. */
static int device_of(uint64_t location)
{
	switch (location ? (int)LOCATION_TYPE(location) : 0) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return LOCATION_ID(location);
	case CU_MEM_LOCATION_TYPE_HOST:
		return CU_DEVICE_CPU;
	}
	return CU_DEVICE_INVALID;
}

CUresult cuMemRangeGetAttribute(void *data, size_t data_size, CUmem_range_attribute attrib, CUdeviceptr ptr,
				size_t bytes)
{
	size_t room = data_size / sizeof(int), n = 0;
	struct vg_mem m;
	int *v = data;
	uint64_t at;

	VG_TRY(managed_range(ptr, bytes, &m));
	if (!data || !room || data_size % sizeof(int))
		return CUDA_ERROR_INVALID_VALUE;
	if (attrib == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
		if (fact_of(&m, ptr, bytes, ACCESSED_BY_CPU))
			v[n++] = CU_DEVICE_CPU;
		for (unsigned d = 0; d < vg.ndev && n < room; d++)
			if (fact_of(&m, ptr, bytes, ACCESSED_BY + d))
				v[n++] = (int)d;
		while (n < room)
			v[n++] = CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	}
	if (room != 1)
		return CUDA_ERROR_INVALID_VALUE;
	at = fact_of(&m, ptr, bytes, attrib == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? READ_MOSTLY :
		     attrib == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION || attrib == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ||
		     attrib == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID ? PREFERRED : PREFETCHED);
	switch ((int)attrib) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*v = at != 0;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*v = device_of(at);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*v = at ? (int)LOCATION_TYPE(at) : CU_MEM_LOCATION_TYPE_INVALID;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*v = at ? LOCATION_ID(at) : CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes, CUmem_range_attribute *attribs, size_t n,
				 CUdeviceptr ptr, size_t bytes)
{
	VG_READY();
	if (!data || !data_sizes || !attribs || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		VG_TRY(cuMemRangeGetAttribute(data[i], data_sizes[i], attribs[i], ptr, bytes));
	return CUDA_SUCCESS;
}
