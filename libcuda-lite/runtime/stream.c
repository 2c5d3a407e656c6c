/* SPDX-License-Identifier: MIT */
/*
 * Streams, host functions and callbacks, capture queries.
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

/* Capture */

static cudaError_t rt_StreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	CUstreamCaptureStatus s;
	CUresult result;

	if (!status)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuStreamIsCapturing(stream, &s);
	if (result == CUDA_SUCCESS)
		*status = (enum cudaStreamCaptureStatus)s;
	return rt_cu(result);
}
TWIN(StreamIsCapturing, enum cudaStreamCaptureStatus *status, status)

/* All forms of the question end here; the driver leaves NULL outputs alone. */
static cudaError_t rt_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				   unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **deps,
				   const cudaGraphEdgeData **edges, size_t *n_deps)
{
	CUstreamCaptureStatus s;
	cuuint64_t sequence = 0;
	CUresult result;

	if (!status)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuStreamGetCaptureInfo_v3(stream, &s, &sequence, graph, deps,
					   (const CUgraphEdgeData **)edges, n_deps);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	*status = (enum cudaStreamCaptureStatus)s;
	if (id)
		*id = sequence;
	return cudaSuccess;
}

#if CUDART_MAJOR >= 13
#define rt_StreamGetCaptureInfo rt_capture_info
TWIN(StreamGetCaptureInfo, enum cudaStreamCaptureStatus *status COMMA unsigned long long *id COMMA
     cudaGraph_t *graph COMMA const cudaGraphNode_t **deps COMMA const cudaGraphEdgeData **edges COMMA
     size_t *n_deps, status COMMA id COMMA graph COMMA deps COMMA edges COMMA n_deps)
#else
#define rt_StreamGetCaptureInfo_v3 rt_capture_info
TWIN(StreamGetCaptureInfo_v3, enum cudaStreamCaptureStatus *status COMMA unsigned long long *id COMMA
     cudaGraph_t *graph COMMA const cudaGraphNode_t **deps COMMA const cudaGraphEdgeData **edges COMMA
     size_t *n_deps, status COMMA id COMMA graph COMMA deps COMMA edges COMMA n_deps)

static cudaError_t rt_StreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					      unsigned long long *id, cudaGraph_t *graph,
					      const cudaGraphNode_t **deps, size_t *n_deps)
{
	return rt_capture_info(stream, status, id, graph, deps, NULL, n_deps);
}
TWIN(StreamGetCaptureInfo_v2, enum cudaStreamCaptureStatus *status COMMA unsigned long long *id COMMA
     cudaGraph_t *graph COMMA const cudaGraphNode_t **deps COMMA size_t *n_deps,
     status COMMA id COMMA graph COMMA deps COMMA n_deps)

static cudaError_t rt_StreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					   unsigned long long *id)
{
	return rt_capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}
TWIN(StreamGetCaptureInfo, enum cudaStreamCaptureStatus *status COMMA unsigned long long *id,
     status COMMA id)
#endif

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	CUstreamCaptureMode m;
	CUresult result;

	if (!mode)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	m = (CUstreamCaptureMode)*mode;
	result = cuThreadExchangeStreamCaptureMode(&m);
	if (result == CUDA_SUCCESS)
		*mode = (enum cudaStreamCaptureMode)m;
	return rt_cu(result);
}
