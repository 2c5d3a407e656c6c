/* SPDX-License-Identifier: MIT */
/*
 * Linear, peer and symbol copies, and fills.
 *
 * Called by programs. The driver tells host from device by address. Where the copy kind says device, an address that is not the
 * device's is refused; where it says host, any address will do, as with UVA.
 * Each body serves the plain entry point and its _ptds/_ptsz twin (default stream = the thread's own).
 */
#include "rt.h"

static int rt_bad_kind(enum cudaMemcpyKind kind)
{
	return (unsigned int)kind > cudaMemcpyDefault;
}

/* A refused copy between host and device: was it that the host's side is the device's as well? */
static int rt_is_device(const void *p)
{
	unsigned int type = 0;

	return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, rt_dptr(p)) == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

static CUresult rt_copy(const void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, int ptds)
{
	CUdeviceptr d = rt_dptr(dst), s = rt_dptr(src);
	CUresult r;

	if (kind == cudaMemcpyHostToDevice) {
		r = ptds ? cuMemcpyHtoD_v2_ptds(d, src, bytes) : cuMemcpyHtoD_v2(d, src, bytes);
		if (r != CUDA_ERROR_INVALID_VALUE || !rt_is_device(src))
			return r;
	} else if (kind == cudaMemcpyDeviceToHost) {
		r = ptds ? cuMemcpyDtoH_v2_ptds((void *)(uintptr_t)dst, s, bytes) : cuMemcpyDtoH_v2((void *)(uintptr_t)dst, s, bytes);
		if (r != CUDA_ERROR_INVALID_VALUE || !rt_is_device(dst))
			return r;
	} else if (kind != cudaMemcpyDeviceToDevice) {
		return ptds ? cuMemcpy_ptds(d, s, bytes) : cuMemcpy(d, s, bytes);
	}
	return ptds ? cuMemcpyDtoD_v2_ptds(d, s, bytes) : cuMemcpyDtoD_v2(d, s, bytes);
}

static CUresult rt_copy_async(const void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUdeviceptr d = rt_dptr(dst), s = rt_dptr(src);
	CUresult r;

	if (kind == cudaMemcpyHostToDevice) {
		r = cuMemcpyHtoDAsync_v2(d, src, bytes, stream);
		if (r != CUDA_ERROR_INVALID_VALUE || !rt_is_device(src))
			return r;
	} else if (kind == cudaMemcpyDeviceToHost) {
		r = cuMemcpyDtoHAsync_v2((void *)(uintptr_t)dst, s, bytes, stream);
		if (r != CUDA_ERROR_INVALID_VALUE || !rt_is_device(dst))
			return r;
	} else if (kind != cudaMemcpyDeviceToDevice) {
		return cuMemcpyAsync(d, s, bytes, stream);
	}
	return cuMemcpyDtoDAsync_v2(d, s, bytes, stream);
}

static cudaError_t rt_memcpy(const void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			     int ptds)
{
	RT_ENTER();
	if (rt_bad_kind(kind))
		return rt_set(cudaErrorInvalidMemcpyDirection);
	if (!bytes)
		return cudaSuccess;
	return rt_cu(rt_copy(dst, src, bytes, kind, ptds));
}

static cudaError_t rt_memcpy_async(const void *dst, const void *src, size_t bytes,
				   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	RT_ENTER();
	if (rt_bad_kind(kind))
		return rt_set(cudaErrorInvalidMemcpyDirection);
	if (!bytes)
		return cudaSuccess;
	return rt_cu(rt_copy_async(dst, src, bytes, kind, stream));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_memcpy(dst, src, bytes, kind, 0);
}

cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_memcpy(dst, src, bytes, kind, 1);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	return rt_memcpy_async(dst, src, bytes, kind, stream);
}

cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	return rt_memcpy_async(dst, src, bytes, kind, rt_per_thread(stream));
}

static cudaError_t rt_peers(int dst_device, int src_device, CUcontext *dst_ctx, CUcontext *src_ctx)
{
	cudaError_t error = rt_check_device(dst_device);

	if (error == cudaSuccess)
		error = rt_check_device(src_device);
	if (error == cudaSuccess)
		error = rt_primary(dst_device, dst_ctx);
	if (error == cudaSuccess)
		error = rt_primary(src_device, src_ctx);
	return error;
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	CUcontext dst_ctx, src_ctx;
	cudaError_t error;

	RT_ENTER();
	error = rt_peers(dst_device, src_device, &dst_ctx, &src_ctx);
	if (error != cudaSuccess || !bytes)
		return rt_set(error);
	return rt_cu(cuMemcpyPeer(rt_dptr(dst), dst_ctx, rt_dptr(src), src_ctx, bytes));
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
				cudaStream_t stream)
{
	CUcontext dst_ctx, src_ctx;
	cudaError_t error;

	RT_ENTER();
	error = rt_peers(dst_device, src_device, &dst_ctx, &src_ctx);
	if (error != cudaSuccess || !bytes)
		return rt_set(error);
	return rt_cu(cuMemcpyPeerAsync(rt_dptr(dst), dst_ctx, rt_dptr(src), src_ctx, bytes, stream));
}

/* The device side of a symbol copy, checked against the variable's size. */
cudaError_t rt_symbol_range(const void *symbol, size_t bytes, size_t offset, CUdeviceptr *ptr)
{
	size_t size;
	cudaError_t error = rt_variable(symbol, ptr, &size);

	if (error != cudaSuccess)
		return error;
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*ptr += offset;
	return cudaSuccess;
}

static cudaError_t rt_to_symbol(const void *symbol, const void *src, size_t bytes, size_t offset,
				enum cudaMemcpyKind kind, int async, int per_thread, cudaStream_t stream)
{
	CUdeviceptr ptr;
	cudaError_t error;

	RT_ENTER();
	if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return rt_set(cudaErrorInvalidMemcpyDirection);
	error = rt_symbol_range(symbol, bytes, offset, &ptr);
	if (error != cudaSuccess)
		return rt_set(error);
	if (async)
		return rt_memcpy_async((void *)(uintptr_t)ptr, src, bytes, kind, stream);
	return rt_memcpy((void *)(uintptr_t)ptr, src, bytes, kind, per_thread);
}

static cudaError_t rt_from_symbol(void *dst, const void *symbol, size_t bytes, size_t offset,
				  enum cudaMemcpyKind kind, int async, int per_thread, cudaStream_t stream)
{
	CUdeviceptr ptr;
	cudaError_t error;

	RT_ENTER();
	if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		return rt_set(cudaErrorInvalidMemcpyDirection);
	error = rt_symbol_range(symbol, bytes, offset, &ptr);
	if (error != cudaSuccess)
		return rt_set(error);
	if (async)
		return rt_memcpy_async(dst, (void *)(uintptr_t)ptr, bytes, kind, stream);
	return rt_memcpy(dst, (void *)(uintptr_t)ptr, bytes, kind, per_thread);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
			       enum cudaMemcpyKind kind)
{
	return rt_to_symbol(symbol, src, bytes, offset, kind, 0, 0, NULL);
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind)
{
	return rt_to_symbol(symbol, src, bytes, offset, kind, 0, 1, NULL);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
				    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_to_symbol(symbol, src, bytes, offset, kind, 1, 0, stream);
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t bytes, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_to_symbol(symbol, src, bytes, offset, kind, 1, 1, rt_per_thread(stream));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
				 enum cudaMemcpyKind kind)
{
	return rt_from_symbol(dst, symbol, bytes, offset, kind, 0, 0, NULL);
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t bytes, size_t offset,
				      enum cudaMemcpyKind kind)
{
	return rt_from_symbol(dst, symbol, bytes, offset, kind, 0, 1, NULL);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_from_symbol(dst, symbol, bytes, offset, kind, 1, 0, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t bytes, size_t offset,
					   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_from_symbol(dst, symbol, bytes, offset, kind, 1, 1, rt_per_thread(stream));
}

/* Fills */

static cudaError_t rt_memset(void *dst, int value, size_t bytes, int ptds)
{
	RT_ENTER();
	if (!bytes)
		return cudaSuccess;
	return rt_cu(ptds ? cuMemsetD8_v2_ptds(rt_dptr(dst), (unsigned char)value, bytes) :
			    cuMemsetD8_v2(rt_dptr(dst), (unsigned char)value, bytes));
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes)
{
	return rt_memset(dst, value, bytes, 0);
}

cudaError_t cudaMemset_ptds(void *dst, int value, size_t bytes)
{
	return rt_memset(dst, value, bytes, 1);
}

static cudaError_t rt_memset_async(void *dst, int value, size_t bytes, cudaStream_t stream)
{
	RT_ENTER();
	if (!bytes)
		return cudaSuccess;
	return rt_cu(cuMemsetD8Async(rt_dptr(dst), (unsigned char)value, bytes, stream));
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream)
{
	return rt_memset_async(dst, value, bytes, stream);
}

cudaError_t cudaMemsetAsync_ptsz(void *dst, int value, size_t bytes, cudaStream_t stream)
{
	return rt_memset_async(dst, value, bytes, rt_per_thread(stream));
}
