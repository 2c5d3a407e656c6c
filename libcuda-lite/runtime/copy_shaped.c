/* SPDX-License-Identifier: MIT */
/*
 * Two- and three-dimensional copies and fills of pitched memory.
 *
 * Called by programs. Everything becomes one CUDA_MEMCPY2D or CUDA_MEMCPY3D with unified addresses.
 * Where a CUDA array takes part, widths and positions count its texels.
 */
#include <string.h>

#include "rt.h"

enum rt_mode {
	RT_SYNC,
	RT_SYNC_PER_THREAD,
	RT_ASYNC
};

/* Where a kind says device, the address has to be the device's; where it says host, any will do (copy.c). */
static CUmemorytype rt_from(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

static CUmemorytype rt_to(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

#define RT_MAX_PITCH 0x7fffffffu      /* cudaDeviceProp.memPitch */

static cudaError_t rt_copy_2d(const void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			      size_t height, enum cudaMemcpyKind kind, enum rt_mode mode,
			      cudaStream_t stream)
{
	CUDA_MEMCPY2D c;

	RT_ENTER();
	if ((unsigned int)kind > cudaMemcpyDefault)
		return rt_set(cudaErrorInvalidMemcpyDirection);
	if (!width || !height)
		return cudaSuccess;
	/* A single row has no pitch; none may be "greater than the maximum allowed". */
	if ((height > 1 && (width > dpitch || width > spitch)) || dpitch > RT_MAX_PITCH || spitch > RT_MAX_PITCH)
		return rt_set(cudaErrorInvalidPitchValue);
	memset(&c, 0, sizeof(c));
	c.srcMemoryType = rt_from(kind);
	c.srcDevice = rt_dptr(src);
	c.srcPitch = spitch < width ? width : spitch;
	c.dstMemoryType = rt_to(kind);
	c.dstDevice = rt_dptr(dst);
	c.dstPitch = dpitch < width ? width : dpitch;
	c.WidthInBytes = width;
	c.Height = height;
	/* The runtime promises nothing about the pitch's alignment, so the synchronous form is the lenient one. */
	if (mode == RT_ASYNC)
		return rt_cu(cuMemcpy2DAsync_v2(&c, stream));
	if (mode == RT_SYNC_PER_THREAD)
		return rt_cu(cuMemcpy2DUnaligned_v2_ptds(&c));
	return rt_cu(cuMemcpy2DUnaligned_v2(&c));
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind)
{
	return rt_copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_SYNC, NULL);
}

cudaError_t cudaMemcpy2D_ptds(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			      size_t height, enum cudaMemcpyKind kind)
{
	return rt_copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_SYNC_PER_THREAD, NULL);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_ASYNC, stream);
}

cudaError_t cudaMemcpy2DAsync_ptsz(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
				   size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_ASYNC, rt_per_thread(stream));
}

/* The parameters of both forms have the same names. */
#define RT_BOX(p) rt_box((p)->srcPos, (p)->srcPtr, (p)->dstPos, (p)->dstPtr, (p)->extent)
#define RT_ARRAYS(p, c) rt_arrays((p)->srcArray, (p)->dstArray, c)
#define RT_SMALL_PITCH(p, c) \
	((c)->WidthInBytes && (p)->extent.height && (p)->extent.depth && \
	 ((!(p)->srcArray && (c)->WidthInBytes > (p)->srcPtr.pitch) || (!(p)->dstArray && (c)->WidthInBytes > (p)->dstPtr.pitch)))

static CUDA_MEMCPY3D rt_box(struct cudaPos from, struct cudaPitchedPtr src, struct cudaPos to,
			    struct cudaPitchedPtr dst, struct cudaExtent extent)
{
	CUDA_MEMCPY3D c;

	memset(&c, 0, sizeof(c));
	c.srcXInBytes = from.x;
	c.srcY = from.y;
	c.srcZ = from.z;
	c.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	c.srcDevice = rt_dptr(src.ptr);
	c.srcPitch = src.pitch;
	c.srcHeight = src.ysize;
	c.dstXInBytes = to.x;
	c.dstY = to.y;
	c.dstZ = to.z;
	c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c.dstDevice = rt_dptr(dst.ptr);
	c.dstPitch = dst.pitch;
	c.dstHeight = dst.ysize;
	c.WidthInBytes = extent.width;
	c.Height = extent.height;
	c.Depth = extent.depth;
	return c;
}

/* Arrays in a box that was made as if there were none: the extent counts texels, and so does the position in an array. */
static cudaError_t rt_arrays(cudaArray_const_t src, cudaArray_const_t dst, CUDA_MEMCPY3D *c)
{
	size_t from = 1, to = 1;
	cudaError_t error = cudaSuccess;

	if (src)
		error = rt_texel_bytes(src, &from);
	if (error == cudaSuccess && dst)
		error = rt_texel_bytes(dst, &to);
	if (error != cudaSuccess)
		return error;
	if (src && dst && from != to)
		return cudaErrorInvalidValue;
	if (src) {
		c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c->srcArray = (CUarray)(uintptr_t)src;
	}
	if (dst) {
		c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c->dstArray = (CUarray)(uintptr_t)dst;
	}
	if (__builtin_mul_overflow(c->WidthInBytes, src ? from : to, &c->WidthInBytes) ||
	    __builtin_mul_overflow(c->srcXInBytes, from, &c->srcXInBytes) || __builtin_mul_overflow(c->dstXInBytes, to, &c->dstXInBytes))
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

cudaError_t rt_copy_of(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	cudaError_t error;

	if (!p)
		return cudaErrorInvalidValue;
	if ((unsigned int)p->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	*c = RT_BOX(p);
	c->srcMemoryType = rt_from(p->kind);
	c->dstMemoryType = rt_to(p->kind);
	error = RT_ARRAYS(p, c);
	if (error == cudaSuccess && RT_SMALL_PITCH(p, c))
		error = cudaErrorInvalidPitchValue;
	return error;
}

static cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, enum rt_mode mode, cudaStream_t stream)
{
	cudaError_t error;
	CUDA_MEMCPY3D c;

	RT_ENTER();
	error = rt_copy_of(p, &c);
	if (error != cudaSuccess)
		return rt_set(error);
	if (!c.WidthInBytes || !c.Height || !c.Depth)
		return cudaSuccess;
	if (mode == RT_ASYNC)
		return rt_cu(cuMemcpy3DAsync_v2(&c, stream));
	if (mode == RT_SYNC_PER_THREAD)
		return rt_cu(cuMemcpy3D_v2_ptds(&c));
	return rt_cu(cuMemcpy3D_v2(&c));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	return rt_copy_3d(p, RT_SYNC, NULL);
}

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *p)
{
	return rt_copy_3d(p, RT_SYNC_PER_THREAD, NULL);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return rt_copy_3d(p, RT_ASYNC, stream);
}

cudaError_t cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return rt_copy_3d(p, RT_ASYNC, rt_per_thread(stream));
}

static cudaError_t rt_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, enum rt_mode mode,
				   cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER c;
	CUDA_MEMCPY3D box;
	cudaError_t error;

	_Static_assert(sizeof(c) == sizeof(box) && offsetof(CUDA_MEMCPY3D_PEER, Depth) == offsetof(CUDA_MEMCPY3D, Depth),
		       "same layout");

	RT_ENTER();
	if (!p)
		return rt_set(cudaErrorInvalidValue);
	if (!p->extent.width || !p->extent.height || !p->extent.depth)
		return cudaSuccess;
	box = RT_BOX(p);
	error = RT_ARRAYS(p, &box);
	if (error == cudaSuccess && RT_SMALL_PITCH(p, &box))
		error = cudaErrorInvalidPitchValue;
	memcpy(&c, &box, sizeof(c));    /* alike but for the contexts, which are reserved there */
	if (error == cudaSuccess)
		error = rt_check_device(p->srcDevice);
	if (error == cudaSuccess)
		error = rt_check_device(p->dstDevice);
	if (error == cudaSuccess)
		error = rt_primary(p->srcDevice, &c.srcContext);
	if (error == cudaSuccess)
		error = rt_primary(p->dstDevice, &c.dstContext);
	if (error != cudaSuccess)
		return rt_set(error);
	if (mode == RT_ASYNC)
		return rt_cu(cuMemcpy3DPeerAsync(&c, stream));
	if (mode == RT_SYNC_PER_THREAD)
		return rt_cu(cuMemcpy3DPeer_ptds(&c));
	return rt_cu(cuMemcpy3DPeer(&c));
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	return rt_copy_3d_peer(p, RT_SYNC, NULL);
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *p)
{
	return rt_copy_3d_peer(p, RT_SYNC_PER_THREAD, NULL);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	return rt_copy_3d_peer(p, RT_ASYNC, stream);
}

cudaError_t cudaMemcpy3DPeerAsync_ptsz(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	return rt_copy_3d_peer(p, RT_ASYNC, rt_per_thread(stream));
}

/* Fills */

static cudaError_t rt_fill_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
			      enum rt_mode mode, cudaStream_t stream)
{
	unsigned char byte = (unsigned char)value;

	RT_ENTER();
	if (!width || !height)
		return cudaSuccess;
	if (height > 1 && width > pitch)        /* documented: of fills, unlike copies, the pitch is a value like any other */
		return rt_set(cudaErrorInvalidValue);
	if (mode == RT_ASYNC)
		return rt_cu(cuMemsetD2D8Async(rt_dptr(dst), pitch, byte, width, height, stream));
	if (mode == RT_SYNC_PER_THREAD)
		return rt_cu(cuMemsetD2D8_v2_ptds(rt_dptr(dst), pitch, byte, width, height));
	return rt_cu(cuMemsetD2D8_v2(rt_dptr(dst), pitch, byte, width, height));
}

cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
	return rt_fill_2d(dst, pitch, value, width, height, RT_SYNC, NULL);
}

cudaError_t cudaMemset2D_ptds(void *dst, size_t pitch, int value, size_t width, size_t height)
{
	return rt_fill_2d(dst, pitch, value, width, height, RT_SYNC_PER_THREAD, NULL);
}

cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
			      cudaStream_t stream)
{
	return rt_fill_2d(dst, pitch, value, width, height, RT_ASYNC, stream);
}

cudaError_t cudaMemset2DAsync_ptsz(void *dst, size_t pitch, int value, size_t width, size_t height,
				   cudaStream_t stream)
{
	return rt_fill_2d(dst, pitch, value, width, height, RT_ASYNC, rt_per_thread(stream));
}

/* A box whose slices follow each other without a gap is one tall rectangle; else slice by slice. */
static cudaError_t rt_fill_3d(struct cudaPitchedPtr dst, int value, struct cudaExtent extent,
			      enum rt_mode mode, cudaStream_t stream)
{
	size_t rows, slice, total, z;
	cudaError_t error = cudaSuccess;

	if (!extent.width || !extent.height || !extent.depth)
		return cudaSuccess;
	if (extent.width > dst.pitch || (extent.depth > 1 && extent.height > dst.ysize) ||
	    __builtin_mul_overflow(extent.height, extent.depth, &rows) ||
	    __builtin_mul_overflow(dst.pitch, dst.ysize, &slice) ||
	    __builtin_mul_overflow(slice, extent.depth, &total))
		return rt_set(cudaErrorInvalidValue);
	if (extent.depth == 1 || extent.height == dst.ysize)
		return rt_fill_2d(dst.ptr, dst.pitch, value, extent.width, rows, mode, stream);
	for (z = 0; z < extent.depth && error == cudaSuccess; z++)
		error = rt_fill_2d((char *)dst.ptr + z * slice, dst.pitch, value, extent.width,
				   extent.height, mode, stream);
	return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr dst, int value, struct cudaExtent extent)
{
	return rt_fill_3d(dst, value, extent, RT_SYNC, NULL);
}

cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr dst, int value, struct cudaExtent extent)
{
	return rt_fill_3d(dst, value, extent, RT_SYNC_PER_THREAD, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr dst, int value, struct cudaExtent extent,
			      cudaStream_t stream)
{
	return rt_fill_3d(dst, value, extent, RT_ASYNC, stream);
}

cudaError_t cudaMemset3DAsync_ptsz(struct cudaPitchedPtr dst, int value, struct cudaExtent extent,
				   cudaStream_t stream)
{
	return rt_fill_3d(dst, value, extent, RT_ASYNC, rt_per_thread(stream));
}
