/* SPDX-License-Identifier: MIT */
/*
 * CUDA arrays, texture and surface objects. An array is pitched device memory: there is no other layout that a processor would like
 * better. An object is a descriptor in device memory, and its handle the address of that (fw-protocol/vgpu_texture.h), which only the cpu
 * engine understands: on others the calls answer NOT_SUPPORTED.
 *
 * Called by programs and by copy.c (vg_array_side).
 */
#include "driver.h"
#include "texture.h"
#include "../core/queue.h"
#include "../../fw-protocol/vgpu_texture.h"

#include <stdlib.h>
#include <string.h>

#define ROW_ALIGN 64u

/* All objects, by the address of their descriptor. */
static struct vg_lock lock;
static struct vg_texture *objects;

static uint32_t format_bytes(CUarray_format f)
{
	switch ((int)f) {
	case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16: case CU_AD_FORMAT_HALF: return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32: case CU_AD_FORMAT_SIGNED_INT32: case CU_AD_FORMAT_FLOAT: return 4;
	}
	return 0;
}

static bool by_cpu(const struct vg_ctx *c) { return !strncmp(vg.info[c->ordinal].engine, "cpu", 3); }

/* Of an array whose context is still there. */
static CUresult array_of(CUarray h, struct vg_array **a)
{
	VG_READY();
	*a = vg_get(VG_ARRAY, (uint64_t)(uintptr_t)h);
	if (!*a || (*a)->ctx->handle != (*a)->ctx_handle)
		return CUDA_ERROR_INVALID_HANDLE;
	return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool layered, cube;
	struct vg_array *a;
	struct vg_ctx *c;
	uint64_t rows;
	CUresult r;

	VG_READY();
	if (!array || !d || !format_bytes(d->Format) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4) || !d->Width ||
	    (d->Depth && !d->Height && !(d->Flags & CUDA_ARRAY3D_LAYERED)))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & ~(unsigned)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER))
		return vg_unsupported("cuArray3DCreate with these flags");
	layered = d->Flags & CUDA_ARRAY3D_LAYERED;
	cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	if ((layered && !d->Depth) || (cube && (d->Width != d->Height || (layered ? d->Depth % 6 : d->Depth != 6))))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Width > 1u << 27 || d->Height > 1u << 20 || d->Depth > 1u << 16)
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	VG_TRY(vg_current(&c));
	if (!by_cpu(c))
		return vg_unsupported("a CUDA array on this device's engine");
	a = vg_new(VG_ARRAY);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->ctx = c;
	a->ctx_handle = c->handle;
	a->format = (uint8_t)d->Format;
	a->channels = (uint8_t)d->NumChannels;
	a->flags = d->Flags;
	a->width = d->Width;
	a->height = d->Height;
	a->depth = d->Depth;
	a->texel = format_bytes(d->Format) * d->NumChannels;
	a->pitch = (d->Width * a->texel + ROW_ALIGN - 1) & ~(uint64_t)(ROW_ALIGN - 1);
	a->slice = a->pitch * (d->Height ? d->Height : 1);
	rows = d->Depth ? d->Depth : 1;
	if (__builtin_mul_overflow(a->slice, rows, &a->bytes))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else
		r = vg_done(c, vg_mem_alloc(c, a->bytes, VG_MEM_DEVICE, &a->va));
	if (r != CUDA_SUCCESS) {
		vg_delete(VG_ARRAY, a);
		return r;
	}
	vg_publish(a);
	*array = VG_HANDLE(CUarray, a);
	return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR b = { 0 };

	VG_READY();
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	b.Width = d->Width;
	b.Height = d->Height;
	b.Format = d->Format;
	b.NumChannels = d->NumChannels;
	return cuArray3DCreate_v2(array, &b);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
	struct vg_array *a;

	VG_TRY(array_of(array, &a));
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	d->Width = a->width;
	d->Height = a->height;
	d->Depth = a->depth;
	d->Format = (CUarray_format)a->format;
	d->NumChannels = a->channels;
	d->Flags = a->flags;
	return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
	struct vg_array *a;

	VG_TRY(array_of(array, &a));
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	d->Width = a->width;
	d->Height = a->height;
	d->Format = (CUarray_format)a->format;
	d->NumChannels = a->channels;
	return CUDA_SUCCESS;
}

static CUresult give_back(uint64_t va)
{
	struct vg_mem m;

	return vg_mem_take(va, 1u << VG_MEM_DEVICE, &m) ? vg_done(m.ctx, vg_mem_release(&m)) : CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray array)
{
	struct vg_array *a;
	uint32_t e;

	VG_TRY(array_of(array, &a));
	VG_SAFE();
	e = vg_ctx_sync(a->ctx);
	if (e)
		return vg_fail(a->ctx, e);
	VG_TRY(give_back(a->va));
	vg_delete(VG_ARRAY, a);
	return CUDA_SUCCESS;
}

CUresult vg_array_side(CUarray h, uint64_t *addr, uint64_t *pitch, uint64_t *rows, uint64_t *width, uint64_t *slices)
{
	struct vg_array *a;

	VG_TRY(array_of(h, &a));
	*addr = a->va;
	*pitch = a->pitch;
	*rows = a->height ? a->height : 1;
	*width = a->width * a->texel;
	*slices = a->depth ? a->depth : 1;
	return CUDA_SUCCESS;
}

uint32_t vg_array_element(CUarray h)
{
	struct vg_array *a;

	return array_of(h, &a) ? 0 : a->texel;
}

/* ---- objects ---- */

/* The descriptor's first half: where texels are. */
static CUresult resource(const CUDA_RESOURCE_DESC *d, struct vg_ctx *c, struct vgpu_texture *t)
{
	struct vg_array *a;
	struct vg_mem m;
	uint64_t base, bytes, size;

	memset(t, 0, sizeof *t);
	t->magic = VGPU_TEXTURE_MAGIC;
	if (d->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		VG_TRY(array_of(d->res.array.hArray, &a));
		if (a->ctx != c)
			return CUDA_ERROR_INVALID_VALUE;
		t->format = a->format;
		t->channels = a->channels;
		t->width = (uint32_t)a->width;
		t->height = (uint32_t)a->height;
		t->flags = a->flags & CUDA_ARRAY3D_CUBEMAP ? VGPU_TEXTURE_CUBE : 0;
		if (a->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
			t->layers = (uint32_t)a->depth;
		else
			t->depth = (uint32_t)a->depth;
		t->base = a->va;
		t->pitch = a->pitch;
		t->slice = a->slice;
		t->bytes = a->bytes;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		size = format_bytes(d->res.linear.format) * d->res.linear.numChannels;
		base = d->res.linear.devPtr;
		bytes = d->res.linear.sizeInBytes;
		t->format = (uint8_t)d->res.linear.format;
		t->channels = (uint8_t)d->res.linear.numChannels;
		if (!size || d->res.linear.numChannels > 4 || d->res.linear.numChannels == 3 || bytes < size || bytes / size > 1u << 28)
			return CUDA_ERROR_INVALID_VALUE;
		t->width = (uint32_t)(bytes / size);
		t->flags = VGPU_TEXTURE_FETCH;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		size = format_bytes(d->res.pitch2D.format) * d->res.pitch2D.numChannels;
		base = d->res.pitch2D.devPtr;
		t->format = (uint8_t)d->res.pitch2D.format;
		t->channels = (uint8_t)d->res.pitch2D.numChannels;
		t->pitch = d->res.pitch2D.pitchInBytes;
		if (!size || d->res.pitch2D.numChannels > 4 || d->res.pitch2D.numChannels == 3 || !d->res.pitch2D.width || !d->res.pitch2D.height ||
		    d->res.pitch2D.width > 1u << 20 || d->res.pitch2D.height > 1u << 20 || t->pitch < d->res.pitch2D.width * size || t->pitch > 1u << 30)
			return CUDA_ERROR_INVALID_VALUE;
		t->width = (uint32_t)d->res.pitch2D.width;
		t->height = (uint32_t)d->res.pitch2D.height;
		bytes = t->pitch * (t->height - 1) + t->width * size;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return vg_unsupported("a mipmapped array");
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (base % 16 || !vg_mem_find(base, &m) || bytes > m.bytes - (base - m.start))
		return CUDA_ERROR_INVALID_VALUE;
	t->base = base;
	t->bytes = bytes;
	return CUDA_SUCCESS;
}

static CUresult sampler(const CUDA_TEXTURE_DESC *d, struct vgpu_texture *t)
{
	for (int i = 0; i < 3; i++) {
		if ((unsigned)d->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		t->mode[i] = (uint8_t)d->addressMode[i];
	}
	if ((unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	if (d->flags & CU_TRSF_SRGB)
		return vg_unsupported("a texture in sRGB");
	if (d->flags & CU_TRSF_NORMALIZED_COORDINATES)
		t->flags |= VGPU_TEXTURE_NORMALIZED;
	if (!(d->flags & CU_TRSF_READ_AS_INTEGER) && format_bytes((CUarray_format)t->format) < 4 && t->format != VGPU_TEXEL_F16)
		t->flags |= VGPU_TEXTURE_UNIT;
	if (d->filterMode == CU_TR_FILTER_MODE_LINEAR)
		t->flags |= VGPU_TEXTURE_LINEAR;
	memcpy(t->border, d->borderColor, sizeof t->border);
	return CUDA_SUCCESS;
}

/* Formats stand in the enumeration as kind by kind with 1, 2 and 4 channels; those behind CU_RES_VIEW_FORMAT_FLOAT_4X32 are compressed. */
static CUresult viewed(const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *v, struct vgpu_texture *t)
{
	static const uint8_t formats[] = { VGPU_TEXEL_U8, VGPU_TEXEL_S8, VGPU_TEXEL_U16, VGPU_TEXEL_S16, VGPU_TEXEL_U32, VGPU_TEXEL_S32, VGPU_TEXEL_F16, VGPU_TEXEL_F32 };
	uint32_t texel = format_bytes((CUarray_format)t->format) * t->channels, kind, depth = t->layers ? t->layers : t->depth;

	if (r->resType != CU_RESOURCE_TYPE_ARRAY || v->firstMipmapLevel || v->lastMipmapLevel)
		return CUDA_ERROR_INVALID_VALUE;
	if (v->format > CU_RES_VIEW_FORMAT_FLOAT_4X32 && v->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
		return vg_unsupported("a texture in a compressed format");
	if ((unsigned)v->format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
		return CUDA_ERROR_INVALID_VALUE;
	if (v->format) {
		/* "has to be equal to that of the original resource"; a dimension that an array lacks is 0 or 1 */
		if (v->width != t->width || (v->height ? v->height : 1) != (t->height ? t->height : 1) || (v->depth ? v->depth : 1) != (depth ? depth : 1))
			return CUDA_ERROR_INVALID_VALUE;
		kind = ((uint32_t)v->format - 1) / 3;
		t->format = formats[kind];
		t->channels = (uint8_t)(1u << ((uint32_t)v->format - 1) % 3);
		if (format_bytes((CUarray_format)t->format) * t->channels != texel)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!v->firstLayer && !v->lastLayer)
		return CUDA_SUCCESS;            /* all of them, as where there are none */
	if (v->firstLayer > v->lastLayer || v->lastLayer >= t->layers || t->flags & VGPU_TEXTURE_CUBE)
		return CUDA_ERROR_INVALID_VALUE;
	t->base += v->firstLayer * t->slice;
	t->layers = v->lastLayer - v->firstLayer + 1;
	t->bytes = t->layers * t->slice;
	return CUDA_SUCCESS;
}

/* What launches that come later, in any stream, will see at *va. */
static CUresult place(struct vg_ctx *c, const struct vgpu_texture *t, uint64_t *va)
{
	struct vg_copy k = { .src = (uintptr_t)t, .width = sizeof *t, .height = 1, .depth = 1, .src_pageable = true };
	uint32_t status = vg_mem_alloc(c, sizeof *t, VG_MEM_DEVICE, va);

	if (status)
		return vg_done(c, status);
	k.dst = *va;
	status = vg_copy(c->legacy, &k, false);
	if (!status)
		status = vg_stream_reach(c->legacy);
	if (status)
		give_back(*va);
	return vg_done(c, status);
}

static CUresult object_new(unsigned long long *object, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s, const CUDA_RESOURCE_VIEW_DESC *v,
			   bool surface)
{
	struct vgpu_texture t;
	struct vg_texture *o;
	struct vg_ctx *c;
	CUresult e;

	VG_READY();
	if (!object || !r || (!s && !surface))
		return CUDA_ERROR_INVALID_VALUE;
	VG_SAFE();
	VG_TRY(vg_current(&c));
	if (!by_cpu(c))
		return vg_unsupported("a texture or surface object on this device's engine");
	VG_TRY(resource(r, c, &t));
	if (surface && (r->resType != CU_RESOURCE_TYPE_ARRAY))
		return CUDA_ERROR_INVALID_VALUE;
	t.flags |= surface ? VGPU_TEXTURE_SURFACE : 0;
	if (v)
		VG_TRY(viewed(r, v, &t));
	if (s)
		VG_TRY(sampler(s, &t));
	o = calloc(1, sizeof *o);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->ctx = c;
	o->ctx_handle = c->handle;
	o->resource = *r;
	o->surface = surface;
	if (s)
		o->texture = *s;
	o->has_view = v;
	if (v)
		o->view = *v;
	e = place(c, &t, &o->va);
	if (e != CUDA_SUCCESS) {
		free(o);
		return e;
	}
	vg_lock(&lock);
	o->next = objects;
	objects = o;
	vg_unlock(&lock);
	*object = o->va;
	return CUDA_SUCCESS;
}

static bool is(const struct vg_texture *o, uint64_t object, bool surface)
{
	return o->va == object && o->surface == surface && o->ctx->handle == o->ctx_handle;
}

static CUresult object_delete(uint64_t object, bool surface)
{
	struct vg_texture *o, **at;
	CUresult r;

	VG_READY();
	VG_SAFE();
	vg_lock(&lock);
	for (at = &objects; (o = *at) && !is(o, object, surface); at = &o->next)
		;
	if (o)
		*at = o->next;
	vg_unlock(&lock);
	if (!o)
		return CUDA_ERROR_INVALID_VALUE;
	vg_ctx_sync(o->ctx);            /* kernels may still use it */
	r = give_back(o->va);
	free(o);
	return r;
}

static CUresult object_get(uint64_t object, bool surface, CUDA_RESOURCE_DESC *r, CUDA_TEXTURE_DESC *t)
{
	const struct vg_texture *o;

	VG_READY();
	if (!r && !t)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	for (o = objects; o && !is(o, object, surface); o = o->next)
		;
	if (o && r)
		*r = o->resource;
	if (o && t)
		*t = o->texture;
	vg_unlock(&lock);
	return o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *t, const CUDA_RESOURCE_VIEW_DESC *view)
{
	VG_READY();
	return object_new(object, r, t, view, false);
}

CUresult cuTexObjectDestroy(CUtexObject object) { return object_delete(object, false); }
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUtexObject object) { return object_get(object, false, r, NULL); }
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *t, CUtexObject object) { return object_get(object, false, NULL, t); }

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *v, CUtexObject object)
{
	const struct vg_texture *o;
	bool there;

	VG_READY();
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	for (o = objects; o && !is(o, object, false); o = o->next)
		;
	there = o && o->has_view;
	if (there)
		*v = o->view;
	vg_unlock(&lock);
	return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *r) { return object_new(object, r, NULL, NULL, true); }
CUresult cuSurfObjectDestroy(CUsurfObject object) { return object_delete(object, true); }
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUsurfObject object) { return object_get(object, true, r, NULL); }

/* ---- copies of a row of an array ---- */

/* "1D CUDA array": offset and bytes within its only row. */
static CUresult row(CUDA_MEMCPY3D *m, size_t bytes, bool pt)
{
	if (!bytes)
		return CUDA_SUCCESS;
	m->WidthInBytes = bytes;
	m->Height = m->Depth = 1;
	return pt ? cuMemcpy3D_v2_ptds(m) : cuMemcpy3D_v2(m);
}

static CUresult impl_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes, bool pt)
{
	CUDA_MEMCPY3D m = { .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = dst, .dstXInBytes = offset, .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = src };

	return row(&m, bytes, pt);
}
VG_TWIN(cuMemcpyHtoA_v2, _ptds, (CUarray dst, size_t offset, const void *src, size_t bytes), (dst, offset, src, bytes, pt))

static CUresult impl_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes, bool pt)
{
	CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = src, .srcXInBytes = offset, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = dst };

	return row(&m, bytes, pt);
}
VG_TWIN(cuMemcpyAtoH_v2, _ptds, (void *dst, CUarray src, size_t offset, size_t bytes), (dst, src, offset, bytes, pt))

static CUresult impl_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes, bool pt)
{
	CUDA_MEMCPY3D m = { .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = dst, .dstXInBytes = offset, .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = src };

	return row(&m, bytes, pt);
}
VG_TWIN(cuMemcpyDtoA_v2, _ptds, (CUarray dst, size_t offset, CUdeviceptr src, size_t bytes), (dst, offset, src, bytes, pt))

static CUresult impl_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes, bool pt)
{
	CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = src, .srcXInBytes = offset, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dst };

	return row(&m, bytes, pt);
}
VG_TWIN(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dst, CUarray src, size_t offset, size_t bytes), (dst, src, offset, bytes, pt))

static CUresult impl_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes, bool pt)
{
	CUDA_MEMCPY3D m = { .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = src, .srcXInBytes = src_offset,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = dst, .dstXInBytes = dst_offset };

	return row(&m, bytes, pt);
}
VG_TWIN(cuMemcpyAtoA_v2, _ptds, (CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t bytes), (dst, dst_offset, src, src_offset, bytes, pt))
