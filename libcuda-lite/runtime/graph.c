/* SPDX-License-Identifier: MIT */
/*
 * Capture, graphs and what is made of them; nodes stand in graph_node.c.
 *
 * Called by programs. Handles are the driver's, and so are the rules. TWIN() writes a plain entry point and its _ptsz twin.
 */
#include "rt.h"

#define TWIN(name, params, args) \
	cudaError_t cuda##name(cudaStream_t stream COMMA params) { return rt_##name(stream COMMA args); } \
	cudaError_t cuda##name##_ptsz(cudaStream_t stream COMMA params) \
	{ return rt_##name(rt_per_thread(stream) COMMA args); }
#define COMMA ,

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "the same eight bytes");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "the same fields");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "the same fields");

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

static cudaError_t rt_StreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	RT_ENTER();
	return rt_cu(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode));
}
TWIN(StreamBeginCapture, enum cudaStreamCaptureMode mode, mode)

static cudaError_t rt_StreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *deps,
						const cudaGraphEdgeData *edges, size_t n,
						enum cudaStreamCaptureMode mode)
{
	RT_ENTER();
	return rt_cu(cuStreamBeginCaptureToGraph(stream, graph, deps, (const CUgraphEdgeData *)edges, n,
						 (CUstreamCaptureMode)mode));
}
TWIN(StreamBeginCaptureToGraph, cudaGraph_t graph COMMA const cudaGraphNode_t *deps COMMA const cudaGraphEdgeData *edges COMMA
     size_t n COMMA enum cudaStreamCaptureMode mode, graph COMMA deps COMMA edges COMMA n COMMA mode)

static cudaError_t rt_StreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	RT_ENTER();
	return rt_cu(cuStreamEndCapture(stream, graph));
}
TWIN(StreamEndCapture, cudaGraph_t *graph, graph)

static cudaError_t rt_update_dependencies(cudaStream_t stream, cudaGraphNode_t *deps, const cudaGraphEdgeData *edges,
					  size_t n, unsigned int flags)
{
	RT_ENTER();
	return rt_cu(cuStreamUpdateCaptureDependencies_v2(stream, deps, (const CUgraphEdgeData *)edges, n, flags));
}

#if CUDART_MAJOR >= 13
#define rt_StreamUpdateCaptureDependencies rt_update_dependencies
TWIN(StreamUpdateCaptureDependencies, cudaGraphNode_t *deps COMMA const cudaGraphEdgeData *edges COMMA size_t n COMMA
     unsigned int flags, deps COMMA edges COMMA n COMMA flags)
#else
#define rt_StreamUpdateCaptureDependencies_v2 rt_update_dependencies
TWIN(StreamUpdateCaptureDependencies_v2, cudaGraphNode_t *deps COMMA const cudaGraphEdgeData *edges COMMA size_t n COMMA
     unsigned int flags, deps COMMA edges COMMA n COMMA flags)

static cudaError_t rt_StreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *deps, size_t n,
						      unsigned int flags)
{
	return rt_update_dependencies(stream, deps, NULL, n, flags);
}
TWIN(StreamUpdateCaptureDependencies, cudaGraphNode_t *deps COMMA size_t n COMMA unsigned int flags,
     deps COMMA n COMMA flags)
#endif

/* Calls that are the driver's, but for the thread's last error. */
#define NAMED(name, params, call) \
	cudaError_t name params \
	{ \
		RT_ENTER(); \
		return rt_cu(call); \
	}
#define SAME(name, params, call) NAMED(cuda##name, params, call)

/* Graphs and what holds them together */

SAME(GraphCreate, (cudaGraph_t *graph, unsigned int flags), cuGraphCreate(graph, flags))
SAME(GraphDestroy, (cudaGraph_t graph), cuGraphDestroy(graph))
SAME(GraphClone, (cudaGraph_t *clone, cudaGraph_t graph), cuGraphClone(clone, graph))
SAME(GraphNodeFindInClone, (cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone),
     cuGraphNodeFindInClone(node, original, clone))
SAME(GraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n), cuGraphGetNodes(graph, nodes, n))
SAME(GraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n), cuGraphGetRootNodes(graph, nodes, n))
SAME(GraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode(node))
SAME(GraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
     cuGraphDebugDotPrint(graph, path, flags))

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	CUgraphNodeType t;
	CUresult result;

	if (!type)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuGraphNodeGetType(node, &t);
	if (result == CUDA_SUCCESS)
		*type = (enum cudaGraphNodeType)t;
	return rt_cu(result);
}

/* Edges carry data in CUDA 13; in 12 there are two forms. */
#if CUDART_MAJOR >= 13
#define EDGES(name) name
#else
#define EDGES(name) name##_v2
SAME(GraphGetEdges, (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n),
     cuGraphGetEdges(graph, from, to, n))
SAME(GraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *deps, size_t *n),
     cuGraphNodeGetDependencies(node, deps, n))
SAME(GraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n),
     cuGraphNodeGetDependentNodes(node, nodes, n))
SAME(GraphAddDependencies, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n),
     cuGraphAddDependencies(graph, from, to, n))
SAME(GraphRemoveDependencies, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n),
     cuGraphRemoveDependencies(graph, from, to, n))
#endif
NAMED(EDGES(cudaGraphGetEdges),
     (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *n),
     cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edges, n))
NAMED(EDGES(cudaGraphNodeGetDependencies),
     (cudaGraphNode_t node, cudaGraphNode_t *deps, cudaGraphEdgeData *edges, size_t *n),
     cuGraphNodeGetDependencies_v2(node, deps, (CUgraphEdgeData *)edges, n))
NAMED(EDGES(cudaGraphNodeGetDependentNodes),
     (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *n),
     cuGraphNodeGetDependentNodes_v2(node, nodes, (CUgraphEdgeData *)edges, n))
NAMED(EDGES(cudaGraphAddDependencies),
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t n),
     cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, n))
NAMED(EDGES(cudaGraphRemoveDependencies),
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, size_t n),
     cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, n))

SAME(GraphConditionalHandleCreate, (cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned int value, unsigned int flags),
     cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, NULL, value, flags))

/* What they are called */

#if CUDART_MAJOR >= 13
SAME(GraphGetId, (cudaGraph_t graph, unsigned int *id), cuGraphGetId(graph, id))
SAME(GraphExecGetId, (cudaGraphExec_t exec, unsigned int *id), cuGraphExecGetId(exec, id))
SAME(GraphNodeGetLocalId, (cudaGraphNode_t node, unsigned int *id), cuGraphNodeGetLocalId(node, id))
SAME(GraphNodeGetToolsId, (cudaGraphNode_t node, unsigned long long *id), cuGraphNodeGetToolsId(node, id))
SAME(GraphNodeGetContainingGraph, (cudaGraphNode_t node, cudaGraph_t *graph), cuGraphNodeGetContainingGraph(node, graph))
#endif

/* Graphs that can be launched */

SAME(GraphInstantiate, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags(exec, graph, flags))
SAME(GraphInstantiateWithFlags, (cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags(exec, graph, flags))
SAME(GraphInstantiateWithParams, (cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
     cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params))
SAME(GraphInstantiateWithParams_ptsz, (cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
     cuGraphInstantiateWithParams_ptsz(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params))
SAME(GraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphLaunch(exec, stream))
SAME(GraphLaunch_ptsz, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphLaunch(exec, rt_per_thread(stream)))
SAME(GraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphUpload(exec, stream))
SAME(GraphUpload_ptsz, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphUpload(exec, rt_per_thread(stream)))
SAME(GraphExecDestroy, (cudaGraphExec_t exec), cuGraphExecDestroy(exec))
SAME(GraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
     cuGraphExecUpdate_v2(exec, graph, (CUgraphExecUpdateResultInfo *)info))

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
	cuuint64_t f = 0;
	CUresult result;

	if (!flags)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuGraphExecGetFlags(exec, &f);
	if (result == CUDA_SUCCESS)
		*flags = f;
	return rt_cu(result);
}

/* User objects, and memory that graphs have */

SAME(UserObjectCreate, (cudaUserObject_t *object, void *ptr, cudaHostFn_t destroy, unsigned int refs, unsigned int flags),
     cuUserObjectCreate(object, ptr, destroy, refs, flags))
SAME(UserObjectRetain, (cudaUserObject_t object, unsigned int count), cuUserObjectRetain(object, count))
SAME(UserObjectRelease, (cudaUserObject_t object, unsigned int count), cuUserObjectRelease(object, count))
SAME(GraphRetainUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
     cuGraphRetainUserObject(graph, object, count, flags))
SAME(GraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
     cuGraphReleaseUserObject(graph, object, count))

#define OF_DEVICE(name, params, call) \
	cudaError_t cuda##name params \
	{ \
		cudaError_t error; \
		RT_ENTER(); \
		error = rt_check_device(device); \
		return error != cudaSuccess ? rt_set(error) : rt_cu(call); \
	}

OF_DEVICE(DeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(rt_devices[device].handle))
OF_DEVICE(DeviceGetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attr, void *value),
	  cuDeviceGetGraphMemAttribute(rt_devices[device].handle, (CUgraphMem_attribute)attr, value))
OF_DEVICE(DeviceSetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attr, void *value),
	  cuDeviceSetGraphMemAttribute(rt_devices[device].handle, (CUgraphMem_attribute)attr, value))
