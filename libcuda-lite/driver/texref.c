/* SPDX-License-Identifier: MIT */
/*
 * References to textures and surfaces: names in a module (.texref, .surfref) that kernels fetch by. The module has room for a descriptor at each
 * (fw-protocol/vgpu_texture.h), and a name stands for its address, as an object's handle does; so a reference that is bound here is an object
 * that lies in the module. It is written anew at each change, when all that was launched before has ended.
 *
 * Called by programs and by the runtime of CUDA 11 (runtime/texref.c).
 */
#include "driver.h"
#include "texture.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 16u               /* of linear memory that is fetched from; below CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT */

struct vg_bound {
	bool surface, bound;
	CUDA_RESOURCE_DESC resource;    /* while it is bound; a format there is, but of an array, `format` */
	CUDA_TEXTURE_DESC texture;
	CUarray_format format;
	int channels;
};

/* Those of cuTexRefCreate, which are no module's. */
static struct vg_lock lock;
static struct vg_ref *loose;

static struct vg_ref *ref_new(struct vg_ctx *c, uint64_t va, bool surface)
{
	struct vg_ref *r = vg_new(VG_REF);

	if (!r)
		return NULL;
	r->bound = calloc(1, sizeof *r->bound);
	if (!r->bound) {
		vg_delete(VG_REF, r);
		return NULL;
	}
	r->ctx = c;
	r->ctx_handle = c->handle;
	r->va = va;
	r->bound->surface = surface;
	for (int i = 0; i < 3; i++)
		r->bound->texture.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
	return r;
}

static void ref_free(struct vg_ref *r)
{
	struct vg_bound *b = r->bound;

	vg_delete(VG_REF, r);
	free(b);
}

void vg_refs_free(struct vg_module *m)
{
	for (struct vg_ref *r = m->refs, *next; r; r = next) {
		next = r->next;
		ref_free(r);
	}
	m->refs = NULL;
}

void vg_ref_drop_ctx(struct vg_ctx *c)
{
	struct vg_ref **at = &loose, *r;

	vg_lock(&lock);
	while ((r = *at) != NULL) {
		if (r->ctx != c) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		ref_free(r);
	}
	vg_unlock(&lock);
}

static CUresult ref_of(void *h, bool surface, struct vg_ref **r)
{
	VG_READY();
	*r = vg_get(VG_REF, (uint64_t)(uintptr_t)h);
	return *r && (*r)->ctx->handle == (*r)->ctx_handle && (*r)->bound->surface == surface ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* to: where its handle shall go */
static CUresult get(struct vg_ref **out, const void *to, CUmodule h, const char *name, bool surface)
{
	struct vg_module *m;
	const struct vgpu_symbol *s;
	struct vg_ref *r;

	VG_READY();
	if (!to || !name)
		return CUDA_ERROR_INVALID_VALUE;
	m = vg_get(VG_MODULE, (uint64_t)(uintptr_t)h);
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!vg_texture_able(m->ctx))
		return vg_unsupported("a reference to a texture or surface on this device's engine");
	s = vg_module_find(m, name, NULL);
	/* one that is declared .extern lies nowhere */
	if (!s || s->kind != (surface ? VGPU_SYM_SURFACE : VGPU_SYM_TEXTURE) || s->bytes < VGPU_TEXTURE_ROOM)
		return CUDA_ERROR_NOT_FOUND;
	vg_lock(&m->lock);
	for (r = m->refs; r && r->va != s->address; r = r->next)
		;
	if (!r && (r = ref_new(m->ctx, s->address, surface)) != NULL) {
		r->next = m->refs;
		m->refs = r;
		vg_publish(r);
	}
	vg_unlock(&m->lock);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = r;
	return CUDA_SUCCESS;
}

/* The descriptor, as all that was said makes it. While that is none, a fetch is told so: there is nothing in its place. */
static CUresult describe(struct vg_ref *r)
{
	struct vg_bound *b = r->bound;
	struct vgpu_texture t;
	CUresult answer = CUDA_SUCCESS;
	uint32_t e;

	VG_SAFE();
	if (!r->va)
		return CUDA_SUCCESS;
	if (b->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
		b->resource.res.linear.format = b->format;
		b->resource.res.linear.numChannels = (unsigned int)b->channels;
	}
	if (!b->bound || (answer = vg_texture_describe(r->ctx, &b->resource, b->surface ? NULL : &b->texture, NULL, b->surface, &t)) != CUDA_SUCCESS)
		memset(&t, 0, sizeof t);
	e = vg_ctx_sync(r->ctx);
	if (!e)
		e = vg_texture_put(r->ctx, &t, r->va);
	return e ? vg_fail(r->ctx, e) : answer;
}

static CUresult bind_to(struct vg_ref *r, const CUDA_RESOURCE_DESC *resource)
{
	r->bound->resource = *resource;
	r->bound->bound = true;
	return describe(r);
}

/* What cannot be yet is no mistake: its format, or where it lies, may be said next. */
static CUresult changed(struct vg_ref *r)
{
	CUresult e = r->bound->bound ? describe(r) : CUDA_SUCCESS;

	return e == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : e;
}

CUresult cuModuleGetTexRef(CUtexref *ref, CUmodule module, const char *name)
{
	struct vg_ref *r;

	VG_TRY(get(&r, ref, module, name, false));
	*ref = VG_HANDLE(CUtexref, r);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetSurfRef(CUsurfref *ref, CUmodule module, const char *name)
{
	struct vg_ref *r;

	VG_TRY(get(&r, ref, module, name, true));
	*ref = VG_HANDLE(CUsurfref, r);
	return CUDA_SUCCESS;
}

CUresult cuTexRefCreate(CUtexref *ref)
{
	struct vg_ctx *c;
	struct vg_ref *r;

	VG_READY();
	if (!ref)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	r = ref_new(c, 0, false);
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_lock(&lock);
	r->next = loose;
	loose = r;
	vg_unlock(&lock);
	vg_publish(r);
	*ref = VG_HANDLE(CUtexref, r);
	return CUDA_SUCCESS;
}

/* A module's go with it. */
CUresult cuTexRefDestroy(CUtexref ref)
{
	struct vg_ref **at, *r;

	VG_TRY(ref_of(ref, false, &r));
	vg_lock(&lock);
	for (at = &loose; *at && *at != r; at = &(*at)->next)
		;
	if (*at)
		*at = r->next;
	else
		r = NULL;
	vg_unlock(&lock);
	if (!r)
		return CUDA_ERROR_INVALID_HANDLE;
	ref_free(r);
	return CUDA_SUCCESS;
}

CUresult cuTexRefSetArray(CUtexref ref, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	struct vg_array *a;
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_array_of(array, &a));
	r->bound->format = (CUarray_format)a->format;
	r->bound->channels = a->channels;
	return bind_to(r, &d);
}

CUresult cuTexRefSetMipmappedArray(CUtexref ref, CUmipmappedArray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = array };
	CUarray first;
	struct vg_array *a;
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (flags != CU_TRSA_OVERRIDE_FORMAT)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(cuMipmappedArrayGetLevel(&first, array, 0));
	VG_TRY(vg_array_of(first, &a));
	r->bound->format = (CUarray_format)a->format;
	r->bound->channels = a->channels;
	r->bound->resource = d;
	r->bound->bound = true;
	return changed(r);              /* with coordinates that are normalized, which may be said next */
}

CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref ref, CUdeviceptr ptr, size_t bytes)
{
	CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_LINEAR };
	size_t over = ptr % ALIGN;
	struct vg_ref *r;
	struct vg_mem m;

	VG_TRY(ref_of(ref, false, &r));
	if (!ptr && !bytes) {           /* to nothing */
		r->bound->bound = false;
		return describe(r);
	}
	if (!ptr || !bytes || (over && !offset) || !vg_mem_find(ptr, &m) || ptr - over < m.start || bytes > m.bytes - (ptr - m.start))
		return CUDA_ERROR_INVALID_VALUE;
	if (offset)
		*offset = over;
	d.res.linear.devPtr = ptr - over;
	d.res.linear.sizeInBytes = bytes + over;
	r->bound->resource = d;
	r->bound->bound = true;
	return changed(r);
}

static CUresult address_2d(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch)
{
	CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_PITCH2D };
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!desc || !ptr)
		return CUDA_ERROR_INVALID_VALUE;
	d.res.pitch2D.devPtr = ptr;
	d.res.pitch2D.format = r->bound->format = desc->Format;
	d.res.pitch2D.numChannels = desc->NumChannels;
	r->bound->channels = (int)desc->NumChannels;
	d.res.pitch2D.width = desc->Width;
	d.res.pitch2D.height = desc->Height;
	d.res.pitch2D.pitchInBytes = pitch;
	return bind_to(r, &d);
}

CUresult cuTexRefSetAddress2D_v2(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch) { return address_2d(ref, desc, ptr, pitch); }
CUresult cuTexRefSetAddress2D_v3(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr ptr, size_t pitch) { return address_2d(ref, desc, ptr, pitch); }

/* ---- how it is read ---- */

CUresult cuTexRefSetFormat(CUtexref ref, CUarray_format format, int channels)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!vg_format_bytes(format) || (channels != 1 && channels != 2 && channels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	r->bound->format = format;
	r->bound->channels = channels;
	return changed(r);
}

CUresult cuTexRefSetAddressMode(CUtexref ref, int dim, CUaddress_mode mode)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (dim < 0 || dim > 2 || (unsigned)mode > CU_TR_ADDRESS_MODE_BORDER)
		return CUDA_ERROR_INVALID_VALUE;
	r->bound->texture.addressMode[dim] = mode;
	return changed(r);
}

#define CHANGE(name, type, field, good) \
	CUresult name(CUtexref ref, type value) \
	{ \
		struct vg_ref *r; \
	\
		VG_TRY(ref_of(ref, false, &r)); \
		if (!(good)) \
			return CUDA_ERROR_INVALID_VALUE; \
		r->bound->texture.field = value; \
		return changed(r); \
	}
#define FLAGS (unsigned)(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | \
			 CU_TRSF_SEAMLESS_CUBEMAP)
CHANGE(cuTexRefSetFilterMode, CUfilter_mode, filterMode, (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
CHANGE(cuTexRefSetMipmapFilterMode, CUfilter_mode, mipmapFilterMode, (unsigned)value <= CU_TR_FILTER_MODE_LINEAR)
CHANGE(cuTexRefSetMipmapLevelBias, float, mipmapLevelBias, true)
CHANGE(cuTexRefSetMaxAnisotropy, unsigned int, maxAnisotropy, true)
CHANGE(cuTexRefSetFlags, unsigned int, flags, !(value & ~FLAGS))

CUresult cuTexRefSetMipmapLevelClamp(CUtexref ref, float least, float most)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	r->bound->texture.minMipmapLevelClamp = least;
	r->bound->texture.maxMipmapLevelClamp = most;
	return changed(r);
}

CUresult cuTexRefSetBorderColor(CUtexref ref, float *color)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(r->bound->texture.borderColor, color, sizeof r->bound->texture.borderColor);
	return changed(r);
}

/* ---- questions ---- */

static CUresult bound_to(CUtexref ref, const void *out, CUresourcetype type, const CUDA_RESOURCE_DESC **d)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	*d = &r->bound->resource;
	return out && r->bound->bound && (*d)->resType == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr *ptr, CUtexref ref)
{
	const CUDA_RESOURCE_DESC *d;

	if (bound_to(ref, ptr, CU_RESOURCE_TYPE_PITCH2D, &d) == CUDA_SUCCESS) {
		*ptr = d->res.pitch2D.devPtr;
		return CUDA_SUCCESS;
	}
	VG_TRY(bound_to(ref, ptr, CU_RESOURCE_TYPE_LINEAR, &d));
	*ptr = d->res.linear.devPtr;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetArray(CUarray *array, CUtexref ref)
{
	const CUDA_RESOURCE_DESC *d;

	VG_TRY(bound_to(ref, array, CU_RESOURCE_TYPE_ARRAY, &d));
	*array = d->res.array.hArray;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *array, CUtexref ref)
{
	const CUDA_RESOURCE_DESC *d;

	VG_TRY(bound_to(ref, array, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, &d));
	*array = d->res.mipmap.hMipmappedArray;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref ref)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!format && !channels)
		return CUDA_ERROR_INVALID_VALUE;
	if (format)
		*format = r->bound->format;
	if (channels)
		*channels = r->bound->channels;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref ref, int dim)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!mode || dim < 0 || dim > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = r->bound->texture.addressMode[dim];
	return CUDA_SUCCESS;
}

#define ANSWER(name, type, field) \
	CUresult name(type *out, CUtexref ref) \
	{ \
		struct vg_ref *r; \
	\
		VG_TRY(ref_of(ref, false, &r)); \
		if (!out) \
			return CUDA_ERROR_INVALID_VALUE; \
		*out = (type)r->bound->texture.field; \
		return CUDA_SUCCESS; \
	}
ANSWER(cuTexRefGetFilterMode, CUfilter_mode, filterMode)
ANSWER(cuTexRefGetMipmapFilterMode, CUfilter_mode, mipmapFilterMode)
ANSWER(cuTexRefGetMipmapLevelBias, float, mipmapLevelBias)
ANSWER(cuTexRefGetMaxAnisotropy, int, maxAnisotropy)
ANSWER(cuTexRefGetFlags, unsigned int, flags)

CUresult cuTexRefGetMipmapLevelClamp(float *least, float *most, CUtexref ref)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!least || !most)
		return CUDA_ERROR_INVALID_VALUE;
	*least = r->bound->texture.minMipmapLevelClamp;
	*most = r->bound->texture.maxMipmapLevelClamp;
	return CUDA_SUCCESS;
}

CUresult cuTexRefGetBorderColor(float *color, CUtexref ref)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!color)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(color, r->bound->texture.borderColor, sizeof r->bound->texture.borderColor);
	return CUDA_SUCCESS;
}

CUresult cuSurfRefSetArray(CUsurfref ref, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC d = { .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
	struct vg_array *a;
	struct vg_ref *r;

	VG_TRY(ref_of(ref, true, &r));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_array_of(array, &a));
	if (!(a->flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	return bind_to(r, &d);
}

CUresult cuSurfRefGetArray(CUarray *array, CUsurfref ref)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, true, &r));
	if (!array || !r->bound->bound)
		return CUDA_ERROR_INVALID_VALUE;
	*array = r->bound->resource.res.array.hArray;
	return CUDA_SUCCESS;
}

/* A module's kernels see its references anyway. */
CUresult cuParamSetTexRef(CUfunction fn, int unit, CUtexref ref)
{
	struct vg_ref *r;

	VG_TRY(ref_of(ref, false, &r));
	if (!vg_get(VG_FUNCTION, (uint64_t)(uintptr_t)fn))
		return CUDA_ERROR_INVALID_HANDLE;
	return unit == CU_PARAM_TR_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
