/* SPDX-License-Identifier: MIT */
/*
 * CUDA 11 by the runtime of 12. Between the two, every call but these kept its signature and the layout of what it takes
 * (cudaGetDeviceProperties and cudaStreamGetCaptureInfo kept 11's under their plain names; 12's own have a suffix). What 12
 * removed, the references to textures and surfaces, is in texref.c.
 *
 * Called by programs with a runtime 11 inside, through libvgpu-turn.so, and by those that need libcudart.so.11.0.
 */
#include "rt.h"

#if CUDART_MAJOR == 12
#include <string.h>

#include "eleven.h"

/* Beside 12's symbols: a program that resolves by this gets the entry points of its time. */
#define ELEVEN_VERSION 11080

_Static_assert(ELEVEN_FUNC_BYTES == 52, "size_t, size_t, size_t, and seven ints");
_Static_assert(sizeof(((cudaStreamAttrValue *)0)->accessPolicyWindow) == ELEVEN_VALUE_BYTES, "the largest value of 11");

cudaError_t __cuda11_cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return rt_set(cudaErrorInvalidValue);
	*version = ELEVEN_VERSION;
	return cudaSuccess;
}

cudaError_t __cuda11_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct cudaFuncAttributes all;
	cudaError_t error;

	if (!attr)
		return rt_set(cudaErrorInvalidValue);
	error = cudaFuncGetAttributes(&all, func);
	if (error == cudaSuccess)
		memcpy(attr, &all, ELEVEN_FUNC_BYTES);
	return error;
}

cudaError_t __cuda11_cudaGetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags)
{
	return cudaGetDriverEntryPointByVersion(symbol, fn, ELEVEN_VERSION, flags, NULL);
}

cudaError_t __cuda11_cudaGetDriverEntryPoint_ptsz(const char *symbol, void **fn, unsigned long long flags)
{
	return cudaGetDriverEntryPointByVersion_ptsz(symbol, fn, ELEVEN_VERSION, flags, NULL);
}

/* The node and the text are of errors; without one both are empty. */
cudaError_t __cuda11_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node, char *log, size_t log_bytes)
{
	if (error_node)
		*error_node = NULL;
	if (log && log_bytes)
		*log = 0;
	return cudaGraphInstantiateWithFlags(exec, graph, 0);
}

cudaError_t __cuda11_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
					 enum cudaGraphExecUpdateResult *result)
{
	cudaGraphExecUpdateResultInfo info = { .result = cudaGraphExecUpdateError };
	cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);

	if (error_node)
		*error_node = info.errorNode;
	if (result)
		*result = info.result;
	return error;
}

/* get: 12's whole value goes through a place of our own. set: what lies behind 11's is not read. */
#define ELEVEN_VALUE(name, handle, id) \
	cudaError_t __cuda11_##name(handle h, id attr, void *value) \
	{ \
		cudaLaunchAttributeValue whole; \
		cudaError_t error; \
		\
		if (!value) \
			return rt_set(cudaErrorInvalidValue); \
		error = name(h, attr, &whole); \
		if (error == cudaSuccess) \
			memcpy(value, &whole, ELEVEN_VALUE_BYTES); \
		return error; \
	}
#define ELEVEN_SET(name, handle, id) \
	cudaError_t __cuda11_##name(handle h, id attr, const void *value) \
	{ \
		cudaLaunchAttributeValue whole; \
		\
		if (!value) \
			return rt_set(cudaErrorInvalidValue); \
		memset(&whole, 0, sizeof(whole)); \
		memcpy(&whole, value, ELEVEN_VALUE_BYTES); \
		return name(h, attr, &whole); \
	}
ELEVEN_VALUE(cudaGraphKernelNodeGetAttribute, cudaGraphNode_t, cudaKernelNodeAttrID)
ELEVEN_SET(cudaGraphKernelNodeSetAttribute, cudaGraphNode_t, cudaKernelNodeAttrID)
ELEVEN_VALUE(cudaStreamGetAttribute, cudaStream_t, cudaStreamAttrID)
ELEVEN_VALUE(cudaStreamGetAttribute_ptsz, cudaStream_t, cudaStreamAttrID)
ELEVEN_SET(cudaStreamSetAttribute, cudaStream_t, cudaStreamAttrID)
ELEVEN_SET(cudaStreamSetAttribute_ptsz, cudaStream_t, cudaStreamAttrID)

cudaError_t __cuda11_cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
					     const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
	struct cudaTextureDesc whole = { 0 };

	if (texture)
		memcpy(&whole, texture, ELEVEN_TEXTURE_BYTES);
	return cudaCreateTextureObject(object, resource, texture ? &whole : NULL, view);
}

cudaError_t __cuda11_cudaCreateTextureObject_v2(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
						const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
	return cudaCreateTextureObject(object, resource, texture, view);
}

cudaError_t __cuda11_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
	struct cudaTextureDesc whole;
	cudaError_t error = cudaGetTextureObjectTextureDesc(texture ? &whole : NULL, object);

	if (error == cudaSuccess)
		memcpy(texture, &whole, ELEVEN_TEXTURE_BYTES);
	return error;
}

cudaError_t __cuda11_cudaGetTextureObjectTextureDesc_v2(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
	return cudaGetTextureObjectTextureDesc(texture, object);
}

__attribute__((visibility("default"))) cudaError_t __cuda11_cudaProfilerInitialize(void);
cudaError_t __cuda11_cudaProfilerInitialize(void)
{
	static atomic_uint said;

	return rt_unsupported(&said, "cudaProfilerInitialize");
}
#endif
