/* SPDX-License-Identifier: MIT */
/*
 * Mipmapped arrays, and questions about arrays of kinds that this device has not.
 *
 * Called by programs; handles are the driver's.
 */
#include "rt.h"

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
				     unsigned int levels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUmipmappedArray a;
	cudaError_t e;
	CUresult r;

	RT_ENTER();
	e = array ? rt_describe_array(&d, desc, extent, flags) : cudaErrorInvalidValue;
	if (e != cudaSuccess)
		return rt_set(e);
	r = cuMipmappedArrayCreate(&a, &d, levels);
	if (r == CUDA_SUCCESS)
		*array = (cudaMipmappedArray_t)a;
	return rt_cu(r);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned int i)
{
	CUarray a;
	CUresult r;

	RT_ENTER();
	if (!level)
		return rt_set(cudaErrorInvalidValue);
	r = cuMipmappedArrayGetLevel(&a, (CUmipmappedArray)(uintptr_t)array, i);
	if (r == CUDA_SUCCESS)
		*level = (cudaArray_t)a;
	return rt_cu(r);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
	RT_ENTER();
	return array ? rt_cu(cuMipmappedArrayDestroy((CUmipmappedArray)array)) : cudaSuccess;
}

cudaError_t cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int i)
{
	RT_ENTER();
	return rt_cu(cuArrayGetPlane((CUarray *)plane, (CUarray)array, i));
}

cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaArray_t array)
{
	RT_ENTER();
	return rt_cu(cuArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUarray)array));
}

cudaError_t cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaMipmappedArray_t array)
{
	RT_ENTER();
	return rt_cu(cuMipmappedArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUmipmappedArray)array));
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements, cudaArray_t array, int device)
{
	cudaError_t e;

	RT_ENTER();
	e = rt_check_device(device);
	return e != cudaSuccess ? rt_set(e) :
	       rt_cu(cuArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements, (CUarray)array, rt_devices[device].handle));
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements, cudaMipmappedArray_t array, int device)
{
	cudaError_t e;

	RT_ENTER();
	e = rt_check_device(device);
	return e != cudaSuccess ? rt_set(e) :
	       rt_cu(cuMipmappedArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)requirements, (CUmipmappedArray)array,
							   rt_devices[device].handle));
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view, cudaTextureObject_t object)
{
	CUDA_RESOURCE_VIEW_DESC v;
	CUresult r;

	RT_ENTER();
	if (!view)
		return rt_set(cudaErrorInvalidValue);
	r = cuTexObjectGetResourceViewDesc(&v, object);
	if (r != CUDA_SUCCESS)
		return rt_cu(r);
	view->format = (enum cudaResourceViewFormat)v.format;
	view->width = v.width;
	view->height = v.height;
	view->depth = v.depth;
	view->firstMipmapLevel = v.firstMipmapLevel;
	view->lastMipmapLevel = v.lastMipmapLevel;
	view->firstLayer = v.firstLayer;
	view->lastLayer = v.lastLayer;
	return cudaSuccess;
}
