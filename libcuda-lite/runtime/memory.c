/* SPDX-License-Identifier: MIT */
/*
 * Allocation, host memory, managed memory, and questions about pointers.
 *
 * Called by programs; every answer is the driver's. Requests of size 0 succeed with NULL, as the
 * runtime documents; the driver would call them invalid.
 */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
	CUdeviceptr d = 0;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	if (!bytes) {
		*ptr = NULL;
		return cudaSuccess;
	}
	return rt_give(ptr, d, cuMemAlloc_v2(&d, bytes));
}

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr d = 0;

	if (!ptr || !pitch)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	if (!width || !height) {
		*ptr = NULL;
		*pitch = 0;
		return cudaSuccess;
	}
	/* The element size only steers coalescing rules of the oldest devices; 4 is the smallest. */
	return rt_give(ptr, d, cuMemAllocPitch_v2(&d, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent)
{
	size_t rows, pitch = 0;
	void *p = NULL;
	cudaError_t error;

	if (!ptr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return rt_set(cudaErrorInvalidValue);
	error = cudaMallocPitch(&p, &pitch, extent.width, rows);
	if (error == cudaSuccess)
		*ptr = make_cudaPitchedPtr(p, pitch, extent.width, extent.height);
	return error;
}

cudaError_t cudaFree(void *ptr)
{
	/* cudaFree(0) is how many programs start the device, so the context comes first. */
	RT_ENTER();
	return rt_cu(cuMemFree_v2(rt_dptr(ptr)));
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	void *p = NULL;
	CUresult result;

	if (!ptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	if (!bytes) {
		*ptr = NULL;
		return cudaSuccess;
	}
	/* cudaHostAllocPortable, Mapped and WriteCombined are the driver's flags. */
	result = cuMemHostAlloc(&p, bytes, flags);
	if (result == CUDA_SUCCESS)
		*ptr = p;
	return rt_cu(result);
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
	return cudaHostAlloc(ptr, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *ptr)
{
	RT_ENTER();
	if (!ptr)
		return cudaSuccess;
	return rt_cu(cuMemFreeHost(ptr));
}

cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuMemHostRegister_v2(ptr, bytes, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	RT_ENTER();
	return rt_cu(cuMemHostUnregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void **dptr, void *ptr, unsigned int flags)
{
	CUdeviceptr d = 0;

	if (!dptr)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	return rt_give(dptr, d, cuMemHostGetDevicePointer_v2(&d, ptr, flags));
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr)
{
	RT_ENTER();
	return rt_cu(cuMemHostGetFlags(flags, ptr));
}

cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned int flags)
{
	CUdeviceptr d = 0;

	if (!ptr || !bytes)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	return rt_give(ptr, d, cuMemAllocManaged(&d, bytes, flags));
}

/*
 * VGPU_REQUIRED, and the device cannot be used now (core/connect.c): programs that choose by free memory what they compute where
 * ask this first, and would take an error, or nothing free, as leave to use the CPU. It is one of the questions what the device is
 * like, then: all that it has. Whoever allocates is told.
 */
static CUresult described_memory(size_t *free_bytes, size_t *total)
{
	const char *v = getenv("VGPU_REQUIRED");
	CUresult result = CUDA_ERROR_DEVICE_UNAVAILABLE;

	if (v && *v && strcmp(v, "0"))
		result = cuDeviceTotalMem_v2(total, rt_devices[rt_self.device].handle);
	*free_bytes = *total;
	return result;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	size_t f = 0, t = 0;
	CUresult result;
	cudaError_t error = rt_enter();

	if (error != cudaSuccess && error != cudaErrorDevicesUnavailable)
		return rt_set(error);
	result = error == cudaSuccess ? cuMemGetInfo_v2(&f, &t) : described_memory(&f, &t);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	if (free_bytes)
		*free_bytes = f;
	if (total)
		*total = t;
	return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	CUmemorytype type = (CUmemorytype)0;
	CUdeviceptr device_ptr = 0;
	void *host_ptr = NULL;
	unsigned int managed = 0;
	int ordinal = cudaInvalidDeviceId;
	CUpointer_attribute what[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
	};
	void *data[] = { &type, &device_ptr, &host_ptr, &managed, &ordinal };
	struct cudaPointerAttributes a = { .device = cudaInvalidDeviceId };
	CUresult result;

	if (!attributes)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	/* This form of the question does not fail for memory that CUDA does not know: it leaves zeros. */
	result = cuPointerGetAttributes(sizeof(what) / sizeof(what[0]), what, data, rt_dptr(ptr));
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	if (!type) {
		a.hostPointer = (void *)(uintptr_t)ptr;
	} else {
		a.type = managed ? cudaMemoryTypeManaged :
			 type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
		a.device = ordinal;
		a.devicePointer = (void *)(uintptr_t)device_ptr;
		a.hostPointer = host_ptr;
	}
	*attributes = a;
	return cudaSuccess;
}

/* Locations: the runtime's structure and numbers are the driver's. */
static CUmemLocation rt_location(struct cudaMemLocation in)
{
	CUmemLocation out = { (CUmemLocationType)in.type, in.id };

	return out;
}

static cudaError_t rt_prefetch(const void *ptr, size_t bytes, CUmemLocation where, unsigned int flags,
			       cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemPrefetchAsync_v2(rt_dptr(ptr), bytes, where, flags, stream));
}

static cudaError_t rt_advise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
			     CUmemLocation where)
{
	RT_ENTER();
	return rt_cu(cuMemAdvise_v2(rt_dptr(ptr), bytes, (CUmem_advise)advice, where));
}

#if CUDART_MAJOR >= 13
cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes, struct cudaMemLocation location,
				 unsigned int flags, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_location(location), flags, stream);
}

cudaError_t cudaMemPrefetchAsync_ptsz(const void *ptr, size_t bytes, struct cudaMemLocation location,
				      unsigned int flags, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_location(location), flags, rt_per_thread(stream));
}

cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location)
{
	return rt_advise(ptr, bytes, advice, rt_location(location));
}
#else
/* CUDA 12's first forms name a device, or cudaCpuDeviceId for the host. */
static CUmemLocation rt_device_location(int device)
{
	CUmemLocation where = { CU_MEM_LOCATION_TYPE_DEVICE, device };

	if (device == cudaCpuDeviceId) {
		where.type = CU_MEM_LOCATION_TYPE_HOST;
		where.id = 0;
	}
	return where;
}

cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_device_location(device), 0, stream);
}

cudaError_t cudaMemPrefetchAsync_ptsz(const void *ptr, size_t bytes, int device, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_device_location(device), 0, rt_per_thread(stream));
}

cudaError_t cudaMemPrefetchAsync_v2(const void *ptr, size_t bytes, struct cudaMemLocation location,
				    unsigned int flags, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_location(location), flags, stream);
}

cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void *ptr, size_t bytes, struct cudaMemLocation location,
					 unsigned int flags, cudaStream_t stream)
{
	return rt_prefetch(ptr, bytes, rt_location(location), flags, rt_per_thread(stream));
}

cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice, int device)
{
	return rt_advise(ptr, bytes, advice, rt_device_location(device));
}

cudaError_t cudaMemAdvise_v2(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation location)
{
	return rt_advise(ptr, bytes, advice, rt_location(location));
}
#endif

cudaError_t cudaMemRangeGetAttribute(void *data, size_t data_size, enum cudaMemRangeAttribute attribute,
				     const void *ptr, size_t bytes)
{
	RT_ENTER();
	return rt_cu(cuMemRangeGetAttribute(data, data_size, (CUmem_range_attribute)attribute,
					    rt_dptr(ptr), bytes));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *data_sizes,
				      enum cudaMemRangeAttribute *attributes, size_t n, const void *ptr,
				      size_t bytes)
{
	_Static_assert(sizeof(enum cudaMemRangeAttribute) == sizeof(CUmem_range_attribute), "enum size");
	RT_ENTER();
	return rt_cu(cuMemRangeGetAttributes(data, data_sizes, (CUmem_range_attribute *)attributes, n,
					     rt_dptr(ptr), bytes));
}
