/* SPDX-License-Identifier: MIT */
/*
 * Streams, host functions and callbacks.
 *
 * Called by programs. cudaStream_t is CUstream, the special handles included. A body named rt_* serves
 * the plain entry point and its _ptsz twin; TWIN() writes the pair.
 */
#include <stdlib.h>

#include "rt.h"

#define TWIN(name, params, args) \
	cudaError_t cuda##name(cudaStream_t stream COMMA params) { return rt_##name(stream COMMA args); } \
	cudaError_t cuda##name##_ptsz(cudaStream_t stream COMMA params) \
	{ return rt_##name(rt_per_thread(stream) COMMA args); }
#define COMMA ,

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	RT_ENTER();
	return rt_cu(cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	RT_ENTER();
	return rt_cu(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	/* The default streams are nobody's to destroy. */
	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return rt_set(cudaErrorInvalidResourceHandle);
	RT_ENTER();
	return rt_cu(cuStreamDestroy_v2(stream));
}

static cudaError_t rt_StreamSynchronize(cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return rt_StreamSynchronize(stream);
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
	return rt_StreamSynchronize(rt_per_thread(stream));
}

static cudaError_t rt_StreamQuery(cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuStreamQuery(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return rt_StreamQuery(stream);
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
	return rt_StreamQuery(rt_per_thread(stream));
}

static cudaError_t rt_StreamGetPriority(cudaStream_t stream, int *priority)
{
	RT_ENTER();
	return rt_cu(cuStreamGetPriority(stream, priority));
}
TWIN(StreamGetPriority, int *priority, priority)

static cudaError_t rt_StreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	RT_ENTER();
	return rt_cu(cuStreamGetFlags(stream, flags));
}
TWIN(StreamGetFlags, unsigned int *flags, flags)

static cudaError_t rt_StreamGetId(cudaStream_t stream, unsigned long long *id)
{
	RT_ENTER();
	return rt_cu(cuStreamGetId(stream, id));
}
TWIN(StreamGetId, unsigned long long *id, id)

static cudaError_t rt_StreamGetDevice(cudaStream_t stream, int *device)
{
	CUdevice dev;
	CUresult result;
	int i;

	if (!device)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuStreamGetDevice(stream, &dev);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	i = rt_index(dev);
	if (i < 0)
		return rt_set(cudaErrorInvalidDevice);
	*device = i;
	return cudaSuccess;
}
TWIN(StreamGetDevice, int *device, device)

static cudaError_t rt_StreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuStreamWaitEvent(stream, event, flags));
}
TWIN(StreamWaitEvent, cudaEvent_t event COMMA unsigned int flags, event COMMA flags)

static cudaError_t rt_StreamAttachMemAsync(cudaStream_t stream, void *ptr, size_t bytes, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuStreamAttachMemAsync(stream, rt_dptr(ptr), bytes, flags));
}
TWIN(StreamAttachMemAsync, void *ptr COMMA size_t bytes COMMA unsigned int flags, ptr COMMA bytes COMMA flags)

static cudaError_t rt_StreamCopyAttributes(cudaStream_t stream, cudaStream_t src)
{
	RT_ENTER();
	return rt_cu(cuStreamCopyAttributes(stream, src));
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
	return rt_StreamCopyAttributes(dst, src);
}

cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t dst, cudaStream_t src)
{
	return rt_StreamCopyAttributes(rt_per_thread(dst), rt_per_thread(src));
}

static cudaError_t rt_StreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attr,
					 cudaStreamAttrValue *value)
{
	RT_ENTER();
	return rt_cu(cuStreamGetAttribute(stream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value));
}
TWIN(StreamGetAttribute, cudaStreamAttrID attr COMMA cudaStreamAttrValue *value, attr COMMA value)

static cudaError_t rt_StreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr,
					 const cudaStreamAttrValue *value)
{
	RT_ENTER();
	return rt_cu(cuStreamSetAttribute(stream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value));
}
TWIN(StreamSetAttribute, cudaStreamAttrID attr COMMA const cudaStreamAttrValue *value, attr COMMA value)

static cudaError_t rt_LaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *user)
{
	RT_ENTER();
	return rt_cu(cuLaunchHostFunc(stream, fn, user));
}
TWIN(LaunchHostFunc, cudaHostFn_t fn COMMA void *user, fn COMMA user)

static cudaError_t rt_LaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t fn, void *user, unsigned int mode)
{
	RT_ENTER();
	return rt_cu(cuLaunchHostFunc_v2(stream, fn, user, mode));
}
TWIN(LaunchHostFunc_v2, cudaHostFn_t fn COMMA void *user COMMA unsigned int mode, fn COMMA user COMMA mode)

/* The driver's callback gets a CUresult, the program's a cudaError_t: one small record in between. */
struct rt_callback {
	cudaStreamCallback_t fn;
	void *user;
};

static void rt_call_back(CUstream stream, CUresult status, void *record)
{
	struct rt_callback c = *(struct rt_callback *)record;

	free(record);
	c.fn(stream, rt_translate(status), c.user);
}

static cudaError_t rt_StreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *user,
					unsigned int flags)
{
	struct rt_callback *c;
	CUresult result;

	if (!callback)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	c = malloc(sizeof(*c));
	if (!c)
		return rt_set(cudaErrorMemoryAllocation);
	c->fn = callback;
	c->user = user;
	result = cuStreamAddCallback(stream, rt_call_back, c, flags);
	if (result != CUDA_SUCCESS)
		free(c);
	return rt_cu(result);
}
TWIN(StreamAddCallback, cudaStreamCallback_t callback COMMA void *user COMMA unsigned int flags,
     callback COMMA user COMMA flags)
