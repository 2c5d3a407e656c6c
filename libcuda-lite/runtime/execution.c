/* SPDX-License-Identifier: MIT */
/*
 * Execution contexts of CUDA 13.1: green contexts, and the primary one of a device, under one handle.
 *
 * Called by programs. The handle is the driver's: of a green context, or the primary context itself.
 */
#include "rt.h"

#if CUDART_MAJOR >= 13

_Static_assert(sizeof(cudaDevResource) == sizeof(CUdevResource) && sizeof(cudaDevSmResourceGroupParams) == sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS),
	       "the same fields");

#define SAME(name, params, call) \
	cudaError_t cuda##name params \
	{ \
		RT_ENTER(); \
		return rt_cu(call); \
	}

cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource *resource, enum cudaDevResourceType type)
{
	cudaError_t error;

	RT_ENTER();
	error = rt_check_device(device);
	return error != cudaSuccess ? rt_set(error) :
	       rt_cu(cuDeviceGetDevResource(rt_devices[device].handle, (CUdevResource *)resource, (CUdevResourceType)type));
}

SAME(DevSmResourceSplitByCount, (cudaDevResource *result, unsigned int *n, const cudaDevResource *input, cudaDevResource *rest,
				 unsigned int flags, unsigned int min),
     cuDevSmResourceSplitByCount((CUdevResource *)result, n, (const CUdevResource *)input, (CUdevResource *)rest, flags, min))
SAME(DevSmResourceSplit, (cudaDevResource *result, unsigned int n, const cudaDevResource *input, cudaDevResource *rest, unsigned int flags,
			  cudaDevSmResourceGroupParams *groups),
     cuDevSmResourceSplit((CUdevResource *)result, n, (const CUdevResource *)input, (CUdevResource *)rest, flags,
			  (CU_DEV_SM_RESOURCE_GROUP_PARAMS *)groups))
SAME(DevResourceGenerateDesc, (cudaDevResourceDesc_t *desc, cudaDevResource *resources, unsigned int n),
     cuDevResourceGenerateDesc((CUdevResourceDesc *)desc, (CUdevResource *)resources, n))

cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t *ctx, cudaDevResourceDesc_t desc, int device, unsigned int flags)
{
	CUgreenCtx green = NULL;
	cudaError_t error;
	CUcontext as;
	CUresult result;

	if (!ctx || flags)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	error = rt_check_device(device);
	if (error != cudaSuccess)
		return rt_set(error);
	result = cuGreenCtxCreate(&green, (CUdevResourceDesc)desc, rt_devices[device].handle, CU_GREEN_CTX_DEFAULT_STREAM);
	/* From here on calls for contexts take it, too. */
	if (result == CUDA_SUCCESS)
		result = cuCtxFromGreenCtx(&as, green);
	if (result == CUDA_SUCCESS)
		*ctx = (cudaExecutionContext_t)green;
	return rt_cu(result);
}

cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int device)
{
	CUcontext primary;
	cudaError_t error;

	if (!ctx)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	error = rt_check_device(device);
	if (error == cudaSuccess)
		error = rt_primary(device, &primary);
	if (error == cudaSuccess)
		*ctx = (cudaExecutionContext_t)primary;
	return rt_set(error);
}

static int rt_is_green(cudaExecutionContext_t ctx)
{
	CUcontext as;

	return cuCtxFromGreenCtx(&as, (CUgreenCtx)ctx) == CUDA_SUCCESS;
}

#define GIVEN(ctx) \
	do { \
		if (!(ctx)) \
			return rt_set(cudaErrorInvalidValue); \
		RT_ENTER(); \
	} while (0)

cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t ctx)
{
	GIVEN(ctx);
	return rt_cu(cuGreenCtxDestroy((CUgreenCtx)ctx));
}

cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx, cudaDevResource *resource, enum cudaDevResourceType type)
{
	GIVEN(ctx);
	return rt_cu(cuCtxGetDevResource((CUcontext)ctx, (CUdevResource *)resource, (CUdevResourceType)type));
}

cudaError_t cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx)
{
	CUresult result;
	CUdevice dev;

	GIVEN(ctx);
	if (!device)
		return rt_set(cudaErrorInvalidValue);
	result = cuCtxGetDevice_v2(&dev, (CUcontext)ctx);
	if (result == CUDA_SUCCESS)
		*device = rt_index(dev);
	return rt_cu(result);
}

cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *id)
{
	GIVEN(ctx);
	return rt_cu(rt_is_green(ctx) ? cuGreenCtxGetId((CUgreenCtx)ctx, id) : cuCtxGetId((CUcontext)ctx, id));
}

cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, cudaExecutionContext_t ctx, unsigned int flags, int priority)
{
	CUcontext was;
	CUresult result;

	GIVEN(ctx);
	if (!stream || (flags & ~(unsigned int)cudaStreamNonBlocking))
		return rt_set(cudaErrorInvalidValue);
	if (rt_is_green(ctx))
		return rt_cu(cuGreenCtxStreamCreate(stream, (CUgreenCtx)ctx, CU_STREAM_NON_BLOCKING, priority));
	result = cuCtxPushCurrent_v2((CUcontext)ctx);
	if (result == CUDA_SUCCESS) {
		result = cuStreamCreateWithPriority(stream, flags, priority);
		cuCtxPopCurrent_v2(&was);
	}
	return rt_cu(result);
}

cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx)
{
	GIVEN(ctx);
	return rt_cu(cuCtxSynchronize_v2((CUcontext)ctx));
}

cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_t ctx, cudaEvent_t event)
{
	GIVEN(ctx);
	return rt_cu(cuCtxRecordEvent((CUcontext)ctx, event));
}

cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_t ctx, cudaEvent_t event)
{
	GIVEN(ctx);
	return rt_cu(cuCtxWaitEvent((CUcontext)ctx, event));
}

SAME(StreamGetDevResource, (cudaStream_t stream, cudaDevResource *resource, enum cudaDevResourceType type),
     cuStreamGetDevResource(stream, (CUdevResource *)resource, (CUdevResourceType)type))
SAME(StreamGetDevResource_ptsz, (cudaStream_t stream, cudaDevResource *resource, enum cudaDevResourceType type),
     cuStreamGetDevResource(rt_per_thread(stream), (CUdevResource *)resource, (CUdevResourceType)type))

/* NULL: that of the current context, as in the form without. */
SAME(GraphConditionalHandleCreate_v2, (cudaGraphConditionalHandle *handle, cudaGraph_t graph, cudaExecutionContext_t ctx, unsigned int value,
				       unsigned int flags),
     cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, (CUcontext)ctx, value, flags))

#else
extern int rt_nothing_here;     /* a file has something in it */
#endif
