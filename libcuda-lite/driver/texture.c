/* SPDX-License-Identifier: MIT */
/*
 * CUDA arrays, texture and surface objects. An array is pitched device memory: there is no other layout that a processor would like
 * better. An object is a descriptor in device memory, and its handle the address of that (fw-protocol/vgpu_texture.h), which only the cpu
 * engine understands: on others the calls answer NOT_SUPPORTED.
 *
 * Called by programs, by copy.c (vg_array_side) and texref.c.
 */
#include "driver.h"
#include "texture.h"
#include "../core/queue.h"
#include "../../fw-protocol/vgpu_texture.h"

#include <stdlib.h>
#include <string.h>

/* All objects, by the address of their descriptor. */
static struct vg_lock lock;
static struct vg_texture *objects;

uint32_t vg_format_bytes(CUarray_format f)
{
	switch ((int)f) {
	case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8: return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16: case CU_AD_FORMAT_HALF: return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32: case CU_AD_FORMAT_SIGNED_INT32: case CU_AD_FORMAT_FLOAT: return 4;
	}
	return 0;
}

/* CU_AD_FORMAT_BC1_UNORM to BC7_UNORM_SRGB; and what there is beside: planes, packed colours, normalized integers */
static bool block_compressed(CUarray_format f) { return (unsigned)f >= 0x91 && (unsigned)f <= 0x9e; }
static bool other_format(CUarray_format f) { return (unsigned)f >= 0x50 && (unsigned)f <= 0xcb; }

bool vg_texture_able(const struct vg_ctx *c) { return !strncmp(vg.info[c->ordinal].engine, "cpu", 3); }

CUresult vg_array_of(CUarray h, struct vg_array **a)
{
	VG_READY();
	*a = vg_get(VG_ARRAY, (uint64_t)(uintptr_t)h);
	if (!*a || (*a)->ctx->handle != (*a)->ctx_handle)
		return CUDA_ERROR_INVALID_HANDLE;
	return CUDA_SUCCESS;
}

#define LIMIT(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_##name

static bool within(const CUDA_ARRAY3D_DESCRIPTOR *d, int width, int height, int depth)
{
	const struct { int limit; size_t n; } side[] = { { width, d->Width }, { height, d->Height }, { depth, d->Depth } };
	long long most;

	for (int i = 0; i < 3; i++)
		if (side[i].limit && (!vg_texture_limit(side[i].limit, &most) || side[i].n > (size_t)most))
			return false;
	return true;
}

/* cuArray3DCreate's table of extents, first column, or what is more with CUDA_ARRAY3D_SURFACE_LDST */
static bool fits(const CUDA_ARRAY3D_DESCRIPTOR *d, bool surface)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;

	if (cube && layered)
		return surface ? within(d, LIMIT(SURFACECUBEMAP_LAYERED_WIDTH), 0, LIMIT(SURFACECUBEMAP_LAYERED_LAYERS)) :
				 within(d, LIMIT(TEXTURECUBEMAP_LAYERED_WIDTH), 0, LIMIT(TEXTURECUBEMAP_LAYERED_LAYERS));
	if (cube)
		return within(d, surface ? LIMIT(SURFACECUBEMAP_WIDTH) : LIMIT(TEXTURECUBEMAP_WIDTH), 0, 0);
	if (layered && d->Height)
		return surface ? within(d, LIMIT(SURFACE2D_LAYERED_WIDTH), LIMIT(SURFACE2D_LAYERED_HEIGHT), LIMIT(SURFACE2D_LAYERED_LAYERS)) :
				 within(d, LIMIT(TEXTURE2D_LAYERED_WIDTH), LIMIT(TEXTURE2D_LAYERED_HEIGHT), LIMIT(TEXTURE2D_LAYERED_LAYERS));
	if (layered)
		return surface ? within(d, LIMIT(SURFACE1D_LAYERED_WIDTH), 0, LIMIT(SURFACE1D_LAYERED_LAYERS)) :
				 within(d, LIMIT(TEXTURE1D_LAYERED_WIDTH), 0, LIMIT(TEXTURE1D_LAYERED_LAYERS));
	if (d->Depth)
		return surface ? within(d, LIMIT(SURFACE3D_WIDTH), LIMIT(SURFACE3D_HEIGHT), LIMIT(SURFACE3D_DEPTH)) :
				 within(d, LIMIT(TEXTURE3D_WIDTH), LIMIT(TEXTURE3D_HEIGHT), LIMIT(TEXTURE3D_DEPTH)) ||
				 within(d, LIMIT(TEXTURE3D_WIDTH_ALTERNATE), LIMIT(TEXTURE3D_HEIGHT_ALTERNATE), LIMIT(TEXTURE3D_DEPTH_ALTERNATE));
	if (!d->Height)
		return within(d, surface ? LIMIT(SURFACE1D_WIDTH) : LIMIT(TEXTURE1D_WIDTH), 0, 0);
	if (surface)
		return within(d, LIMIT(SURFACE2D_WIDTH), LIMIT(SURFACE2D_HEIGHT), 0);
	return within(d, LIMIT(TEXTURE2D_WIDTH), LIMIT(TEXTURE2D_HEIGHT), 0) &&
	       (!(d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) || within(d, LIMIT(TEXTURE2D_GATHER_WIDTH), LIMIT(TEXTURE2D_GATHER_HEIGHT), 0));
}

static CUresult check_array(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;

	if (!vg_format_bytes(d->Format) || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4) || !d->Width ||
	    (d->Depth && !d->Height && !layered))
		return block_compressed(d->Format) ? vg_unsupported("an array of block-compressed texels") :
		       other_format(d->Format) ? vg_unsupported("an array of such a format") : CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & ~(unsigned)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER))
		return vg_unsupported("cuArray3DCreate with these flags");
	if ((layered && !d->Depth) || (cube && (d->Width != d->Height || (layered ? d->Depth % 6 : d->Depth != 6))))
		return CUDA_ERROR_INVALID_VALUE;
	return fits(d, false) && (!(d->Flags & CUDA_ARRAY3D_SURFACE_LDST) || fits(d, true)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A level of an array of that description, with no memory yet; not published. */
static struct vg_array *array_new(struct vg_ctx *c, const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t level)
{
	uint32_t layers = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) ? (uint32_t)d->Depth : 0;
	struct vg_array *a = vg_new(VG_ARRAY);
	struct vgpu_level v;

	if (!a)
		return NULL;
	a->ctx = c;
	a->ctx_handle = c->handle;
	a->format = (uint8_t)d->Format;
	a->channels = (uint8_t)d->NumChannels;
	a->flags = d->Flags;
	a->texel = vg_format_bytes(d->Format) * d->NumChannels;
	v = vgpu_texture_level((uint32_t)d->Width, (uint32_t)d->Height, layers ? 0 : (uint32_t)d->Depth, layers, a->texel, level);
	a->width = v.width;
	a->height = v.height;
	a->depth = layers ? layers : v.depth;
	a->pitch = v.pitch;
	a->slice = v.slice;
	a->bytes = v.bytes;
	a->va = v.offset;       /* from where the first begins */
	return a;
}

/* Whether an array of that kind can be made, and in which context. */
static CUresult may_begin(const void *out, const CUDA_ARRAY3D_DESCRIPTOR *d, struct vg_ctx **c)
{
	VG_READY();
	if (!out || !d)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_array(d));
	VG_SAFE();
	VG_TRY(vg_current(c));
	return vg_texture_able(*c) ? CUDA_SUCCESS : vg_unsupported("a CUDA array on this device's engine");
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct vg_array *a;
	struct vg_ctx *c;
	CUresult r;

	VG_TRY(may_begin(array, d, &c));
	a = array_new(c, d, 0);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
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

	VG_TRY(vg_array_of(array, &a));
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

	VG_TRY(vg_array_of(array, &a));
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

/* When all that uses it has ended. */
static CUresult end_and_give_back(struct vg_ctx *c, uint64_t va)
{
	uint32_t e;

	VG_SAFE();
	e = vg_ctx_sync(c);
	return e ? vg_fail(c, e) : give_back(va);
}

CUresult cuArrayDestroy(CUarray array)
{
	struct vg_array *a;

	VG_TRY(vg_array_of(array, &a));
	if (a->mipmap)
		return CUDA_ERROR_INVALID_HANDLE;       /* a level goes with the others */
	VG_TRY(end_and_give_back(a->ctx, a->va));
	vg_delete(VG_ARRAY, a);
	return CUDA_SUCCESS;
}

/* Documented: these are questions about arrays of kinds that cannot be made here. */
CUresult cuArrayGetPlane(CUarray *plane, CUarray array, unsigned int i)
{
	struct vg_array *a;

	(void)i;
	VG_TRY(vg_array_of(array, &a));
	(void)plane;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *p, CUarray array)
{
	struct vg_array *a;

	VG_TRY(vg_array_of(array, &a));
	(void)p;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *r, CUarray array, CUdevice dev)
{
	struct vg_array *a;

	VG_TRY(vg_array_of(array, &a));
	(void)r;
	return vg_device_ok(dev) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
}

/* ---- mipmapped arrays ---- */

static CUresult mipmap_of(CUmipmappedArray h, struct vg_mipmap **m)
{
	VG_READY();
	*m = vg_get(VG_MIPMAP, (uint64_t)(uintptr_t)h);
	if (!*m || (*m)->ctx->handle != (*m)->ctx_handle)
		return CUDA_ERROR_INVALID_HANDLE;
	return CUDA_SUCCESS;
}

static void mipmap_free(struct vg_mipmap *m)
{
	for (uint32_t i = 0; i < m->levels && m->level[i]; i++)
		vg_delete(VG_ARRAY, m->level[i]);
	vg_delete(VG_MIPMAP, m);
}

_Static_assert(offsetof(struct vg_array, ctx_handle) == offsetof(struct vg_owned, ctx_handle) &&
	       offsetof(struct vg_mipmap, ctx_handle) == offsetof(struct vg_owned, ctx_handle), "vg_take_owned()");

/* Their memory goes as all of the context's. */
void vg_array_drop_ctx(struct vg_ctx *c)
{
	struct vg_mipmap *m;
	struct vg_array *a;

	for (uint64_t at = 0; (m = vg_take_owned(VG_MIPMAP, c, &at)) != NULL;)
		mipmap_free(m);
	for (uint64_t at = 0; (a = vg_take_owned(VG_ARRAY, c, &at)) != NULL;)
		vg_delete(VG_ARRAY, a);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	uint64_t largest, most = 1;
	struct vg_mipmap *m;
	struct vg_array *a;
	struct vg_ctx *c;
	CUresult r;

	VG_TRY(may_begin(out, d, &c));
	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) && !d->Depth &&
	    !(d->Height ? within(d, LIMIT(TEXTURE2D_MIPMAPPED_WIDTH), LIMIT(TEXTURE2D_MIPMAPPED_HEIGHT), 0) :
			  within(d, LIMIT(TEXTURE1D_MIPMAPPED_WIDTH), 0, 0)))
		return CUDA_ERROR_INVALID_VALUE;
	/* Documented: clamped to 1 + floor(log2(the largest side)). */
	largest = d->Width > d->Height ? d->Width : d->Height;
	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) && d->Depth > largest)
		largest = d->Depth;
	while (largest >> most)
		most++;
	m = vg_new(VG_MIPMAP);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = c;
	m->ctx_handle = c->handle;
	m->levels = !levels ? 1 : levels < most ? levels : (uint32_t)most;
	for (uint32_t i = 0; i < m->levels; i++) {
		m->level[i] = a = array_new(c, d, i);
		if (!a) {
			mipmap_free(m);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		m->bytes = a->va + a->bytes;
		a->mipmap = m;
	}
	r = vg_done(c, vg_mem_alloc(c, m->bytes, VG_MEM_DEVICE, &m->va));
	if (r != CUDA_SUCCESS) {
		mipmap_free(m);
		return r;
	}
	for (uint32_t i = 0; i < m->levels; i++) {
		m->level[i]->va += m->va;
		vg_publish(m->level[i]);
	}
	vg_publish(m);
	*out = VG_HANDLE(CUmipmappedArray, m);
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray h, unsigned int i)
{
	struct vg_mipmap *m;

	VG_TRY(mipmap_of(h, &m));
	if (!level || i >= m->levels)
		return CUDA_ERROR_INVALID_VALUE;
	*level = VG_HANDLE(CUarray, m->level[i]);
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray h)
{
	struct vg_mipmap *m;

	VG_TRY(mipmap_of(h, &m));
	VG_TRY(end_and_give_back(m->ctx, m->va));
	mipmap_free(m);
	return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *p, CUmipmappedArray h)
{
	struct vg_mipmap *m;

	VG_TRY(mipmap_of(h, &m));
	(void)p;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *r, CUmipmappedArray h, CUdevice dev)
{
	struct vg_mipmap *m;

	VG_TRY(mipmap_of(h, &m));
	(void)r;
	return vg_device_ok(dev) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
}

CUresult vg_array_side(CUarray h, uint64_t *addr, uint64_t *pitch, uint64_t *rows, uint64_t *width, uint64_t *slices)
{
	struct vg_array *a;

	VG_TRY(vg_array_of(h, &a));
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

	return vg_array_of(h, &a) ? 0 : a->texel;
}

/* ---- objects ---- */

static void of_array(const struct vg_array *a, struct vgpu_texture *t)
{
	t->format = a->format;
	t->channels = a->channels;
	t->width = (uint32_t)a->width;
	t->height = (uint32_t)a->height;
	t->flags = a->flags & CUDA_ARRAY3D_CUBEMAP ? VGPU_TEXTURE_CUBE : 0;
	if (a->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
		t->layers = t->all_layers = (uint32_t)a->depth;
	else
		t->depth = (uint32_t)a->depth;
	t->base = a->va;
	t->pitch = a->pitch;
	t->slice = a->slice;
	t->bytes = a->bytes;
}

/* The descriptor's first half: where texels are. */
static CUresult resource(const CUDA_RESOURCE_DESC *d, struct vg_ctx *c, struct vgpu_texture *t)
{
	struct vg_mipmap *p;
	struct vg_array *a;
	struct vg_mem m;
	uint64_t base, bytes, size;

	memset(t, 0, sizeof *t);
	t->magic = VGPU_TEXTURE_MAGIC;
	if (d->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		VG_TRY(vg_array_of(d->res.array.hArray, &a));
		if (a->ctx != c)
			return CUDA_ERROR_INVALID_VALUE;
		of_array(a, t);
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		VG_TRY(mipmap_of(d->res.mipmap.hMipmappedArray, &p));
		if (p->ctx != c)
			return CUDA_ERROR_INVALID_VALUE;
		of_array(p->level[0], t);
		t->bytes = p->bytes;
		t->levels = (uint16_t)p->levels;
		t->magic = VGPU_TEXTURE_MAGIC_2;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		size = vg_format_bytes(d->res.linear.format) * d->res.linear.numChannels;
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
		size = vg_format_bytes(d->res.pitch2D.format) * d->res.pitch2D.numChannels;
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
	if ((unsigned)d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	/* Documented: mipmapped arrays have normalized coordinates. */
	if (t->levels && !(d->flags & CU_TRSF_NORMALIZED_COORDINATES))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->flags & CU_TRSF_NORMALIZED_COORDINATES)
		t->flags |= VGPU_TEXTURE_NORMALIZED;
	if (d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR)
		t->flags |= VGPU_TEXTURE_MIP_LINEAR;
	t->lod_bias = d->mipmapLevelBias;
	t->lod_min = d->minMipmapLevelClamp;
	t->lod_max = d->maxMipmapLevelClamp;
	if (!(d->flags & CU_TRSF_READ_AS_INTEGER) && vg_format_bytes((CUarray_format)t->format) < 4 && t->format != VGPU_TEXEL_F16)
		t->flags |= VGPU_TEXTURE_UNIT;
	/* Documented: of bytes that are read as floats. */
	if ((d->flags & CU_TRSF_SRGB) && t->format == VGPU_TEXEL_U8 && (t->flags & VGPU_TEXTURE_UNIT)) {
		t->flags |= VGPU_TEXTURE_SRGB;
		t->magic = VGPU_TEXTURE_MAGIC_2;
	}
	if (d->filterMode == CU_TR_FILTER_MODE_LINEAR)
		t->flags |= VGPU_TEXTURE_LINEAR;
	memcpy(t->border, d->borderColor, sizeof t->border);
	return CUDA_SUCCESS;
}

/* CU_RES_VIEW_FORMAT_*: 8, 16, 32 bits without and with a sign, 16 and 32 bits of float; of one, two and four channels. */
static bool view_format(int f, uint8_t *format, uint8_t *channels)
{
	static const uint8_t formats[] = { VGPU_TEXEL_U8, VGPU_TEXEL_S8, VGPU_TEXEL_U16, VGPU_TEXEL_S16, VGPU_TEXEL_U32, VGPU_TEXEL_S32,
					   VGPU_TEXEL_F16, VGPU_TEXEL_F32 };

	if (f < 1 || f > 3 * (int)sizeof formats)
		return false;
	*format = formats[(f - 1) / 3];
	*channels = (uint8_t)(1u << (f - 1) % 3);
	return true;
}

/* Part of an array, in other texels of the same size. */
static CUresult view_of(const CUDA_RESOURCE_VIEW_DESC *v, const CUDA_RESOURCE_DESC *r, struct vgpu_texture *t)
{
	uint32_t size = vg_format_bytes((CUarray_format)t->format) * t->channels, levels = t->levels ? t->levels : 1;
	uint32_t layers = t->layers ? t->layers : 1;
	struct vgpu_level l;

	if (r->resType != CU_RESOURCE_TYPE_ARRAY && r->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	if (v->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1 && v->format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
		return vg_unsupported("a view of block-compressed texels");
	if (v->format && (!view_format(v->format, &t->format, &t->channels) || vg_format_bytes((CUarray_format)t->format) * t->channels != size))
		return CUDA_ERROR_INVALID_VALUE;
	if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= levels || v->firstLayer > v->lastLayer || v->lastLayer >= layers ||
	    ((t->flags & VGPU_TEXTURE_CUBE) && (v->firstLayer % 6 || (v->lastLayer + 1 - v->firstLayer) % 6)))
		return CUDA_ERROR_INVALID_VALUE;
	/* Documented: the view's size is the array's, but for compressed ones; 0 is taken for "as it is". */
	l = vgpu_texture_level(t->width, t->height, t->depth, t->all_layers, size, 0);
	if ((v->width && v->width != l.width) || (v->height && v->height != l.height) || (v->depth && v->depth != (t->layers ? t->all_layers : l.depth)))
		return CUDA_ERROR_INVALID_VALUE;
	if (t->levels) {
		t->first_level = (uint16_t)v->firstMipmapLevel;
		t->levels = (uint16_t)(v->lastMipmapLevel + 1 - v->firstMipmapLevel);
		t->first_layer = v->firstLayer;
	} else {
		t->base += v->firstLayer * t->slice;
		t->bytes = (v->lastLayer + 1 - v->firstLayer) * (t->layers ? t->slice : t->bytes);
	}
	if (t->layers)
		t->layers = v->lastLayer + 1 - v->firstLayer;
	return CUDA_SUCCESS;
}

CUresult vg_texture_describe(struct vg_ctx *c, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s, const CUDA_RESOURCE_VIEW_DESC *v,
			     bool surface, struct vgpu_texture *t)
{
	VG_TRY(resource(r, c, t));
	if (surface && r->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	t->flags |= surface ? VGPU_TEXTURE_SURFACE : 0;
	if (v)
		VG_TRY(view_of(v, r, t));
	return s ? sampler(s, t) : CUDA_SUCCESS;
}

uint32_t vg_texture_put(struct vg_ctx *c, const struct vgpu_texture *t, uint64_t va)
{
	struct vg_copy k = { .src = (uintptr_t)t, .dst = va, .width = sizeof *t, .height = 1, .depth = 1, .src_pageable = true };
	uint32_t status = vg_copy(c->legacy, &k, false);

	return status ? status : vg_stream_reach(c->legacy);
}

static CUresult place(struct vg_ctx *c, const struct vgpu_texture *t, uint64_t *va)
{
	uint32_t status = vg_mem_alloc(c, sizeof *t, VG_MEM_DEVICE, va);

	if (status)
		return vg_done(c, status);
	status = vg_texture_put(c, t, *va);
	if (status)
		give_back(*va);
	return vg_done(c, status);
}

static CUresult object_new(unsigned long long *object, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s,
			   const CUDA_RESOURCE_VIEW_DESC *v, bool surface)
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
	if (!vg_texture_able(c))
		return vg_unsupported("a texture or surface object on this device's engine");
	VG_TRY(vg_texture_describe(c, r, s, v, surface, &t));
	o = calloc(1, sizeof *o);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->ctx = c;
	o->ctx_handle = c->handle;
	o->resource = *r;
	o->surface = surface;
	if (s)
		o->texture = *s;
	if (v)
		o->view = *v;
	o->viewed = v != NULL;
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

static CUresult object_get(uint64_t object, bool surface, CUDA_RESOURCE_DESC *r, CUDA_TEXTURE_DESC *t, CUDA_RESOURCE_VIEW_DESC *v)
{
	const struct vg_texture *o;

	VG_READY();
	if (!r && !t && !v)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&lock);
	for (o = objects; o && !is(o, object, surface); o = o->next)
		;
	if (o && r)
		*r = o->resource;
	if (o && t)
		*t = o->texture;
	if (o && v && o->viewed)
		*v = o->view;
	else if (v)
		o = NULL;       /* documented: an object without one is a wrong value */
	vg_unlock(&lock);
	return o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *t, const CUDA_RESOURCE_VIEW_DESC *view)
{
	return object_new(object, r, t, view, false);
}

CUresult cuTexObjectDestroy(CUtexObject object) { return object_delete(object, false); }
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUtexObject object) { return object_get(object, false, r, NULL, NULL); }
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *t, CUtexObject object) { return object_get(object, false, NULL, t, NULL); }
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *v, CUtexObject object) { return object_get(object, false, NULL, NULL, v); }
CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *r) { return object_new(object, r, NULL, NULL, true); }
CUresult cuSurfObjectDestroy(CUsurfObject object) { return object_delete(object, true); }
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUsurfObject object) { return object_get(object, true, r, NULL, NULL); }

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
