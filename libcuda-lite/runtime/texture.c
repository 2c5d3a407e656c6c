/* SPDX-License-Identifier: MIT */
/*
 * Arrays, textures and surfaces: the driver's, with the runtime's descriptors. An array's handle is the driver's.
 *
 * Called by programs and by copy_shaped.c (rt_texel_bytes).
 */
#include <stdbool.h>
#include <string.h>

#include "rt.h"

static CUarray driver_array(cudaArray_const_t a) { return (CUarray)(uintptr_t)a; }

/* One to four channels of one size; false: no format that CUDA has. */
static bool to_format(const struct cudaChannelFormatDesc *d, CUarray_format *format, unsigned int *channels)
{
	int bits = d->x, n = d->w ? 4 : d->z ? 3 : d->y ? 2 : 1;

	if (n == 3 || (n > 1 && d->y != bits) || (n > 2 && (d->z != bits || d->w != bits)))
		return false;
	*channels = (unsigned int)n;
	switch (d->f) {
	case cudaChannelFormatKindSigned:
		*format = bits == 8 ? CU_AD_FORMAT_SIGNED_INT8 : bits == 16 ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_SIGNED_INT32;
		return bits == 8 || bits == 16 || bits == 32;
	case cudaChannelFormatKindUnsigned:
		*format = bits == 8 ? CU_AD_FORMAT_UNSIGNED_INT8 : bits == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT32;
		return bits == 8 || bits == 16 || bits == 32;
	case cudaChannelFormatKindFloat:
		*format = bits == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
		return bits == 16 || bits == 32;
	default:
		return false;
	}
}

static struct cudaChannelFormatDesc from_format(CUarray_format format, unsigned int channels)
{
	struct cudaChannelFormatDesc d = { 0, 0, 0, 0, cudaChannelFormatKindNone };
	int bits = 32;

	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8: bits = 8; d.f = cudaChannelFormatKindUnsigned; break;
	case CU_AD_FORMAT_UNSIGNED_INT16: bits = 16; d.f = cudaChannelFormatKindUnsigned; break;
	case CU_AD_FORMAT_UNSIGNED_INT32: d.f = cudaChannelFormatKindUnsigned; break;
	case CU_AD_FORMAT_SIGNED_INT8: bits = 8; d.f = cudaChannelFormatKindSigned; break;
	case CU_AD_FORMAT_SIGNED_INT16: bits = 16; d.f = cudaChannelFormatKindSigned; break;
	case CU_AD_FORMAT_SIGNED_INT32: d.f = cudaChannelFormatKindSigned; break;
	case CU_AD_FORMAT_HALF: bits = 16; d.f = cudaChannelFormatKindFloat; break;
	case CU_AD_FORMAT_FLOAT: d.f = cudaChannelFormatKindFloat; break;
	}
	d.x = bits;
	d.y = channels > 1 ? bits : 0;
	d.z = channels > 2 ? bits : 0;
	d.w = channels > 3 ? bits : 0;
	return d;
}

cudaError_t rt_describe_array(CUDA_ARRAY3D_DESCRIPTOR *d, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int flags)
{
	memset(d, 0, sizeof(*d));
	if (!desc)
		return cudaErrorInvalidValue;
	if (!to_format(desc, &d->Format, &d->NumChannels))
		return cudaErrorInvalidChannelDescriptor;
	d->Width = extent.width;
	d->Height = extent.height;
	d->Depth = extent.depth;
	d->Flags = flags;
	return cudaSuccess;
}

static cudaError_t make(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	cudaError_t e;
	CUarray a;
	CUresult r;

	RT_ENTER();
	e = array ? rt_describe_array(&d, desc, extent, flags) : cudaErrorInvalidValue;
	if (e != cudaSuccess)
		return rt_set(e);
	r = cuArray3DCreate_v2(&a, &d);
	if (r == CUDA_SUCCESS)
		*array = (cudaArray_t)(uintptr_t)a;
	return rt_cu(r);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height, unsigned int flags)
{
	struct cudaExtent extent = { width, height, 0 };

	return make(array, desc, extent, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int flags)
{
	return make(array, desc, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	RT_ENTER();
	return array ? rt_cu(cuArrayDestroy(driver_array(array))) : cudaSuccess;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r;

	RT_ENTER();
	r = cuArray3DGetDescriptor_v2(&d, driver_array(array));
	if (r != CUDA_SUCCESS)
		return rt_cu(r);
	if (desc)
		*desc = from_format(d.Format, d.NumChannels);
	if (extent) {
		extent->width = d.Width;
		extent->height = d.Height;
		extent->depth = d.Depth;
	}
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	if (!desc)
		return rt_set(cudaErrorInvalidValue);
	return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

cudaError_t rt_texel_bytes(cudaArray_const_t array, size_t *bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = cuArray3DGetDescriptor_v2(&d, driver_array(array));
	struct cudaChannelFormatDesc f;

	if (r != CUDA_SUCCESS)
		return rt_cu(r);
	f = from_format(d.Format, d.NumChannels);
	*bytes = (size_t)f.x / 8 * d.NumChannels;
	return cudaSuccess;
}

/* ---- objects ---- */

static bool to_resource(const struct cudaResourceDesc *s, CUDA_RESOURCE_DESC *d)
{
	memset(d, 0, sizeof(*d));
	d->resType = (CUresourcetype)s->resType;
	switch (s->resType) {
	case cudaResourceTypeArray:
		d->res.array.hArray = driver_array(s->res.array.array);
		return true;
	case cudaResourceTypeMipmappedArray:
		d->res.mipmap.hMipmappedArray = (CUmipmappedArray)s->res.mipmap.mipmap;
		return true;
	case cudaResourceTypeLinear:
		d->res.linear.devPtr = rt_dptr(s->res.linear.devPtr);
		d->res.linear.sizeInBytes = s->res.linear.sizeInBytes;
		return to_format(&s->res.linear.desc, &d->res.linear.format, &d->res.linear.numChannels);
	case cudaResourceTypePitch2D:
		d->res.pitch2D.devPtr = rt_dptr(s->res.pitch2D.devPtr);
		d->res.pitch2D.width = s->res.pitch2D.width;
		d->res.pitch2D.height = s->res.pitch2D.height;
		d->res.pitch2D.pitchInBytes = s->res.pitch2D.pitchInBytes;
		return to_format(&s->res.pitch2D.desc, &d->res.pitch2D.format, &d->res.pitch2D.numChannels);
	}
	return false;
}

static void from_resource(const CUDA_RESOURCE_DESC *s, struct cudaResourceDesc *d)
{
	memset(d, 0, sizeof(*d));
	d->resType = (enum cudaResourceType)s->resType;
	switch ((int)s->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		d->res.array.array = (cudaArray_t)(uintptr_t)s->res.array.hArray;
		break;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		d->res.mipmap.mipmap = (cudaMipmappedArray_t)s->res.mipmap.hMipmappedArray;
		break;
	case CU_RESOURCE_TYPE_LINEAR:
		d->res.linear.devPtr = (void *)(uintptr_t)s->res.linear.devPtr;
		d->res.linear.desc = from_format(s->res.linear.format, s->res.linear.numChannels);
		d->res.linear.sizeInBytes = s->res.linear.sizeInBytes;
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		d->res.pitch2D.devPtr = (void *)(uintptr_t)s->res.pitch2D.devPtr;
		d->res.pitch2D.desc = from_format(s->res.pitch2D.format, s->res.pitch2D.numChannels);
		d->res.pitch2D.width = s->res.pitch2D.width;
		d->res.pitch2D.height = s->res.pitch2D.height;
		d->res.pitch2D.pitchInBytes = s->res.pitch2D.pitchInBytes;
		break;
	}
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture,
				    const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_VIEW_DESC v;
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC t;
	int i;

	RT_ENTER();
	if (!object || !resource || !texture)
		return rt_set(cudaErrorInvalidValue);
	if (!to_resource(resource, &r))
		return rt_set(cudaErrorInvalidChannelDescriptor);
	memset(&t, 0, sizeof(t));
	for (i = 0; i < 3; i++)
		t.addressMode[i] = (CUaddress_mode)texture->addressMode[i];
	t.filterMode = (CUfilter_mode)texture->filterMode;
	t.flags = (texture->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
		  (texture->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) | (texture->sRGB ? CU_TRSF_SRGB : 0u) |
		  (texture->disableTrilinearOptimization ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
		  (texture->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
	t.maxAnisotropy = texture->maxAnisotropy;
	t.mipmapFilterMode = (CUfilter_mode)texture->mipmapFilterMode;
	t.mipmapLevelBias = texture->mipmapLevelBias;
	t.minMipmapLevelClamp = texture->minMipmapLevelClamp;
	t.maxMipmapLevelClamp = texture->maxMipmapLevelClamp;
	memcpy(t.borderColor, texture->borderColor, sizeof(t.borderColor));
	memset(&v, 0, sizeof(v));
	if (view) {
		v.format = (CUresourceViewFormat)view->format;
		v.width = view->width;
		v.height = view->height;
		v.depth = view->depth;
		v.firstMipmapLevel = view->firstMipmapLevel;
		v.lastMipmapLevel = view->lastMipmapLevel;
		v.firstLayer = view->firstLayer;
		v.lastLayer = view->lastLayer;
	}
	return rt_cu(cuTexObjectCreate(object, &r, &t, view ? &v : NULL));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
	RT_ENTER();
	return object ? rt_cu(cuTexObjectDestroy(object)) : cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object)
{
	CUDA_RESOURCE_DESC r;
	CUresult e;

	RT_ENTER();
	if (!resource)
		return rt_set(cudaErrorInvalidValue);
	e = cuTexObjectGetResourceDesc(&r, object);
	if (e == CUDA_SUCCESS)
		from_resource(&r, resource);
	return rt_cu(e);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
	CUDA_TEXTURE_DESC t;
	CUresult e;
	int i;

	RT_ENTER();
	if (!texture)
		return rt_set(cudaErrorInvalidValue);
	e = cuTexObjectGetTextureDesc(&t, object);
	if (e != CUDA_SUCCESS)
		return rt_cu(e);
	memset(texture, 0, sizeof(*texture));
	for (i = 0; i < 3; i++)
		texture->addressMode[i] = (enum cudaTextureAddressMode)t.addressMode[i];
	texture->filterMode = (enum cudaTextureFilterMode)t.filterMode;
	texture->readMode = t.flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
	texture->normalizedCoords = !!(t.flags & CU_TRSF_NORMALIZED_COORDINATES);
	texture->sRGB = !!(t.flags & CU_TRSF_SRGB);
	texture->disableTrilinearOptimization = !!(t.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
	texture->seamlessCubemap = !!(t.flags & CU_TRSF_SEAMLESS_CUBEMAP);
	texture->maxAnisotropy = t.maxAnisotropy;
	texture->mipmapFilterMode = (enum cudaTextureFilterMode)t.mipmapFilterMode;
	texture->mipmapLevelBias = t.mipmapLevelBias;
	texture->minMipmapLevelClamp = t.minMipmapLevelClamp;
	texture->maxMipmapLevelClamp = t.maxMipmapLevelClamp;
	memcpy(texture->borderColor, t.borderColor, sizeof(t.borderColor));
	return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC r;

	RT_ENTER();
	if (!object || !resource)
		return rt_set(cudaErrorInvalidValue);
	if (!to_resource(resource, &r))
		return rt_set(cudaErrorInvalidChannelDescriptor);
	return rt_cu(cuSurfObjectCreate(object, &r));
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
	RT_ENTER();
	return object ? rt_cu(cuSurfObjectDestroy(object)) : cudaSuccess;
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t object)
{
	CUDA_RESOURCE_DESC r;
	CUresult e;

	RT_ENTER();
	if (!resource)
		return rt_set(cudaErrorInvalidValue);
	e = cuSurfObjectGetResourceDesc(&r, object);
	if (e == CUDA_SUCCESS)
		from_resource(&r, resource);
	return rt_cu(e);
}

/* ---- copies ---- */

struct side { cudaArray_const_t array; size_t x, y; const void *ptr; size_t pitch; };
struct how { enum cudaMemcpyKind kind; bool async, per_thread; cudaStream_t stream; };

static cudaError_t rectangle(struct side to, struct side from, size_t width, size_t height, struct how h)
{
	CUDA_MEMCPY2D c;

	RT_ENTER();
	if ((unsigned int)h.kind > cudaMemcpyDefault)
		return rt_set(cudaErrorInvalidMemcpyDirection);
	if (!width || !height)
		return cudaSuccess;
	if (height > 1 && ((!to.array && width > to.pitch) || (!from.array && width > from.pitch)))
		return rt_set(cudaErrorInvalidPitchValue);
	memset(&c, 0, sizeof(c));
	c.dstMemoryType = to.array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	c.dstArray = driver_array(to.array);
	c.dstDevice = rt_dptr(to.ptr);
	c.dstPitch = to.pitch;
	c.dstXInBytes = to.x;
	c.dstY = to.y;
	c.srcMemoryType = from.array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
	c.srcArray = driver_array(from.array);
	c.srcDevice = rt_dptr(from.ptr);
	c.srcPitch = from.pitch;
	c.srcXInBytes = from.x;
	c.srcY = from.y;
	c.WidthInBytes = width;
	c.Height = height;
	if (h.async)
		return rt_cu(cuMemcpy2DAsync_v2(&c, h.stream));
	return rt_cu(h.per_thread ? cuMemcpy2DUnaligned_v2_ptds(&c) : cuMemcpy2DUnaligned_v2(&c));
}

/* count bytes that lie row by row in the array, from (x, y) on, and one behind the other elsewhere */
static cudaError_t rows(cudaArray_const_t array, size_t x, size_t y, const void *ptr, size_t count, bool into, struct how h)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	size_t texel = 0, row, at = 0;
	cudaError_t e;
	CUresult r;

	RT_ENTER();
	r = cuArray3DGetDescriptor_v2(&d, driver_array(array));
	if (r != CUDA_SUCCESS)
		return rt_cu(r);
	e = rt_texel_bytes(array, &texel);
	if (e != cudaSuccess)
		return e;
	row = d.Width * texel;
	if (x >= row)
		return rt_set(cudaErrorInvalidValue);
	/* the rest of a row, whole rows, the begin of one */
	while (at < count) {
		size_t width = x || count - at < row ? (count - at < row - x ? count - at : row - x) : row;
		size_t high = !x && width == row ? (count - at) / row : 1;
		struct side a = { array, x, y, NULL, 0 }, m = { NULL, 0, 0, (const char *)ptr + at, width };

		e = into ? rectangle(a, m, width, high, h) : rectangle(m, a, width, high, h);
		if (e != cudaSuccess)
			return e;
		at += width * high;
		y += high;
		x = 0;
	}
	return cudaSuccess;
}

/* How many bytes a row of the array has; 0 with *e: no array. */
static size_t row_bytes(cudaArray_const_t array, cudaError_t *e)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	size_t texel = 0;
	CUresult r = cuArray3DGetDescriptor_v2(&d, driver_array(array));

	*e = r == CUDA_SUCCESS ? rt_texel_bytes(array, &texel) : rt_cu(r);
	return *e == cudaSuccess ? d.Width * texel : 0;
}

/* Row by row in either array. */
static cudaError_t array_rows(struct side to, struct side from, size_t count, struct how h)
{
	size_t wide, high, n;
	cudaError_t e;

	RT_ENTER();
	wide = row_bytes(to.array, &e);
	high = e == cudaSuccess ? row_bytes(from.array, &e) : 0;
	if (e != cudaSuccess)
		return e;
	if (to.x >= wide || from.x >= high)
		return rt_set(cudaErrorInvalidValue);
	for (; count; count -= n) {
		n = wide - to.x < high - from.x ? wide - to.x : high - from.x;
		n = n < count ? n : count;
		e = rectangle(to, from, n, 1, h);
		if (e != cudaSuccess)
			return e;
		to.x += n;
		from.x += n;
		if (to.x == wide) {
			to.x = 0;
			to.y++;
		}
		if (from.x == high) {
			from.x = 0;
			from.y++;
		}
	}
	return cudaSuccess;
}

#define SYNC(name, params, call) \
	cudaError_t name params { struct how h = { kind, false, false, NULL }; return call; } \
	cudaError_t name##_ptds params { struct how h = { kind, false, true, NULL }; return call; }
#define UNPACK(...) __VA_ARGS__
#define ASYNC(name, params, call) \
	cudaError_t name(UNPACK params, enum cudaMemcpyKind kind, cudaStream_t stream) { struct how h = { kind, true, false, stream }; return call; } \
	cudaError_t name##_ptsz(UNPACK params, enum cudaMemcpyKind kind, cudaStream_t stream) \
	{ \
		struct how h = { kind, true, true, rt_per_thread(stream) }; \
		return call; \
	}
#define ARRAY(a, x, y) ((struct side){ a, x, y, NULL, 0 })
#define PITCHED(p, pitch) ((struct side){ NULL, 0, 0, p, pitch })

SYNC(cudaMemcpy2DToArray, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind),
     rectangle(ARRAY(dst, x, y), PITCHED(src, pitch), width, height, h))
SYNC(cudaMemcpy2DFromArray, (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height, enum cudaMemcpyKind kind),
     rectangle(PITCHED(dst, pitch), ARRAY(src, x, y), width, height, h))
SYNC(cudaMemcpy2DArrayToArray, (cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy, size_t width, size_t height,
				enum cudaMemcpyKind kind), rectangle(ARRAY(dst, dx, dy), ARRAY(src, sx, sy), width, height, h))
SYNC(cudaMemcpyToArray, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t count, enum cudaMemcpyKind kind),
     rows(dst, x, y, src, count, true, h))
SYNC(cudaMemcpyFromArray, (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count, enum cudaMemcpyKind kind),
     rows(src, x, y, dst, count, false, h))
ASYNC(cudaMemcpy2DToArrayAsync, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width, size_t height),
      rectangle(ARRAY(dst, x, y), PITCHED(src, pitch), width, height, h))
ASYNC(cudaMemcpy2DFromArrayAsync, (void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width, size_t height),
      rectangle(PITCHED(dst, pitch), ARRAY(src, x, y), width, height, h))
ASYNC(cudaMemcpyToArrayAsync, (cudaArray_t dst, size_t x, size_t y, const void *src, size_t count), rows(dst, x, y, src, count, true, h))
ASYNC(cudaMemcpyFromArrayAsync, (void *dst, cudaArray_const_t src, size_t x, size_t y, size_t count), rows(src, x, y, dst, count, false, h))
SYNC(cudaMemcpyArrayToArray, (cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy, size_t count,
			      enum cudaMemcpyKind kind), array_rows(ARRAY(dst, dx, dy), ARRAY(src, sx, sy), count, h))

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int device)
{
	cudaError_t e = rt_check_device(device);
	unsigned channels;

	if (e != cudaSuccess)
		return rt_set(e);
	if (!width || !desc || (desc->x != 8 && desc->x != 16 && desc->x != 32))
		return rt_set(cudaErrorInvalidValue);
	channels = 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
	return rt_cu(cuDeviceGetTexture1DLinearMaxWidth(width, desc->x == 8 ? CU_AD_FORMAT_UNSIGNED_INT8 : desc->x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 :
							CU_AD_FORMAT_UNSIGNED_INT32, channels, rt_devices[device].handle));
}
