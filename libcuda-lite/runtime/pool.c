/* SPDX-License-Identifier: MIT */
/*
 * Stream-ordered allocation and memory pools.
 *
 * Called by programs; the pools are the driver's, with the driver's structures under other names.
 */
#include "rt.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "pool properties");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "access descriptors");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "locations");

static cudaError_t rt_malloc_async(void **ptr, size_t bytes, cudaStream_t stream)
{
	CUdeviceptr d = 0;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	if (!bytes) {
		*ptr = NULL;
		return cudaSuccess;
	}
	return rt_give(ptr, d, cuMemAllocAsync(&d, bytes, stream));
}

cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
	return rt_malloc_async(ptr, bytes, stream);
}

cudaError_t cudaMallocAsync_ptsz(void **ptr, size_t bytes, cudaStream_t stream)
{
	return rt_malloc_async(ptr, bytes, rt_per_thread(stream));
}

static cudaError_t rt_free_async(void *ptr, cudaStream_t stream)
{
	RT_ENTER();
	if (!ptr)
		return cudaSuccess;
	return rt_cu(cuMemFreeAsync(rt_dptr(ptr), stream));
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
	return rt_free_async(ptr, stream);
}

cudaError_t cudaFreeAsync_ptsz(void *ptr, cudaStream_t stream)
{
	return rt_free_async(ptr, rt_per_thread(stream));
}

static cudaError_t rt_malloc_from_pool(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	CUdeviceptr d = 0;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	if (!bytes) {
		*ptr = NULL;
		return cudaSuccess;
	}
	return rt_give(ptr, d, cuMemAllocFromPoolAsync(&d, bytes, pool, stream));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	return rt_malloc_from_pool(ptr, bytes, pool, stream);
}

cudaError_t cudaMallocFromPoolAsync_ptsz(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	return rt_malloc_from_pool(ptr, bytes, pool, rt_per_thread(stream));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
	RT_ENTER();
	return rt_cu(cuMemPoolCreate(pool, (const CUmemPoolProps *)props));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
	RT_ENTER();
	return rt_cu(cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t min_bytes)
{
	RT_ENTER();
	return rt_cu(cuMemPoolTrimTo(pool, min_bytes));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
	RT_ENTER();
	return rt_cu(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
	RT_ENTER();
	return rt_cu(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attr, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n)
{
	RT_ENTER();
	return rt_cu(cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)list, n));
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
				 struct cudaMemLocation *location)
{
	RT_ENTER();
	return rt_cu(cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceGetDefaultMemPool(pool, rt_devices[device].handle));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceGetMemPool(pool, rt_devices[device].handle));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return rt_set(error);
	return rt_cu(cuDeviceSetMemPool(rt_devices[device].handle, pool));
}
