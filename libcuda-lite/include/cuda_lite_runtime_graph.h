/* SPDX-License-Identifier: MIT */
/*
 * Graphs and stream capture of the runtime API: types, layouts and calls. Included by cuda_runtime_api.h; where CUDA 12
 * and 13 differ, CUDART_VERSION selects.
 */
#ifndef CUDA_LITE_RUNTIME_GRAPH_H
#define CUDA_LITE_RUNTIME_GRAPH_H

enum cudaGraphNodeType {
	cudaGraphNodeTypeKernel = 0x00,
	cudaGraphNodeTypeMemcpy = 0x01,
	cudaGraphNodeTypeMemset = 0x02,
	cudaGraphNodeTypeHost = 0x03,
	cudaGraphNodeTypeGraph = 0x04,
	cudaGraphNodeTypeEmpty = 0x05,
	cudaGraphNodeTypeWaitEvent = 0x06,
	cudaGraphNodeTypeEventRecord = 0x07,
	cudaGraphNodeTypeExtSemaphoreSignal = 0x08,
	cudaGraphNodeTypeExtSemaphoreWait = 0x09,
	cudaGraphNodeTypeMemAlloc = 0x0a,
	cudaGraphNodeTypeMemFree = 0x0b,
	cudaGraphNodeTypeConditional = 0x0d,
	cudaGraphNodeTypeCount
};

enum cudaGraphInstantiateFlags {
	cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
	cudaGraphInstantiateFlagUpload = 2,
	cudaGraphInstantiateFlagDeviceLaunch = 4,
	cudaGraphInstantiateFlagUseNodePriority = 8
};

typedef enum cudaGraphInstantiateResult {
	cudaGraphInstantiateSuccess = 0,
	cudaGraphInstantiateError = 1,
	cudaGraphInstantiateInvalidStructure = 2,
	cudaGraphInstantiateNodeOperationNotSupported = 3,
	cudaGraphInstantiateMultipleDevicesNotSupported = 4,
	cudaGraphInstantiateConditionalHandleUnused = 5
} cudaGraphInstantiateResult;

enum cudaGraphExecUpdateResult {
	cudaGraphExecUpdateSuccess = 0x0,
	cudaGraphExecUpdateError = 0x1,
	cudaGraphExecUpdateErrorTopologyChanged = 0x2,
	cudaGraphExecUpdateErrorNodeTypeChanged = 0x3,
	cudaGraphExecUpdateErrorFunctionChanged = 0x4,
	cudaGraphExecUpdateErrorParametersChanged = 0x5,
	cudaGraphExecUpdateErrorNotSupported = 0x6,
	cudaGraphExecUpdateErrorUnsupportedFunctionChange = 0x7,
	cudaGraphExecUpdateErrorAttributesChanged = 0x8
};

enum cudaGraphDebugDotFlags { cudaGraphDebugDotFlagsVerbose = 1 << 0 };
enum cudaStreamUpdateCaptureDependenciesFlags {
	cudaStreamAddCaptureDependencies = 0x0,
	cudaStreamSetCaptureDependencies = 0x1
};
enum cudaUserObjectFlags { cudaUserObjectNoDestructorSync = 0x1 };
enum cudaUserObjectRetainFlags { cudaGraphUserObjectMove = 0x1 };
enum cudaGraphMemAttributeType {
	cudaGraphMemAttrUsedMemCurrent = 0x0,
	cudaGraphMemAttrUsedMemHigh = 0x1,
	cudaGraphMemAttrReservedMemCurrent = 0x2,
	cudaGraphMemAttrReservedMemHigh = 0x3
};

typedef struct CUuserObject_st *cudaUserObject_t;
typedef cudaLaunchAttributeID cudaKernelNodeAttrID;
typedef cudaLaunchAttributeValue cudaKernelNodeAttrValue;
#define cudaKernelNodeAttributeCooperative cudaLaunchAttributeCooperative
#define cudaKernelNodeAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow

struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams;
	void **extra;
};

struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned int value;
	unsigned int elementSize;
	size_t width;
	size_t height;
};

struct cudaHostNodeParams {
	cudaHostFn_t fn;
	void *userData;
};

struct cudaMemAllocNodeParams {
	struct cudaMemPoolProps poolProps;
	const struct cudaMemAccessDesc *accessDescs;
	size_t accessDescCount;
	size_t bytesize;
	void *dptr;
};

struct cudaMemcpyNodeParams {
	int flags;
	int reserved[3];
	struct cudaMemcpy3DParms copyParams;
};

struct cudaEventNodeParams {
	cudaEvent_t event;
};

enum cudaGraphChildGraphNodeOwnership {
	cudaGraphChildGraphOwnershipClone = 0,
	cudaGraphChildGraphOwnershipMove = 1
};

struct cudaChildGraphNodeParams {
	cudaGraph_t graph;
	enum cudaGraphChildGraphNodeOwnership ownership;
};

struct cudaMemFreeNodeParams {
	void *dptr;
};

/* Bodies that run, or not, or many times, by a value that device code sets */
typedef unsigned long long cudaGraphConditionalHandle;
enum cudaGraphConditionalHandleFlags { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType {
	cudaGraphCondTypeIf = 0,
	cudaGraphCondTypeWhile = 1,
	cudaGraphCondTypeSwitch = 2
};

struct cudaConditionalNodeParams {
	cudaGraphConditionalHandle handle;
	enum cudaGraphConditionalNodeType type;
	unsigned int size;
	cudaGraph_t *phGraph_out;
#if CUDART_VERSION >= 13000
	cudaExecutionContext_t ctx;
#endif
};

struct cudaGraphNodeParams {
	enum cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaKernelNodeParams kernel;
		struct cudaMemcpyNodeParams memcpy;
		struct cudaMemsetParams memset;
		struct cudaHostNodeParams host;
		struct cudaChildGraphNodeParams graph;
		struct cudaEventNodeParams eventWait;
		struct cudaEventNodeParams eventRecord;
		struct cudaMemAllocNodeParams alloc;
		struct cudaMemFreeNodeParams free;
		struct cudaConditionalNodeParams conditional;
	};
	long long reserved2;
};

typedef struct cudaGraphInstantiateParams_st {
	unsigned long long flags;
	cudaStream_t uploadStream;
	cudaGraphNode_t errNode_out;
	cudaGraphInstantiateResult result_out;
} cudaGraphInstantiateParams;

typedef struct cudaGraphExecUpdateResultInfo_st {
	enum cudaGraphExecUpdateResult result;
	cudaGraphNode_t errorNode;
	cudaGraphNode_t errorFromNode;
} cudaGraphExecUpdateResultInfo;

CUDA_LITE_ASSERT_SIZE(struct cudaKernelNodeParams, 56);
CUDA_LITE_ASSERT_SIZE(struct cudaMemAllocNodeParams, 120);
CUDA_LITE_ASSERT_SIZE(struct cudaGraphNodeParams, 256);

#ifdef __cplusplus
extern "C" {
#endif

/* Capture */
CUDA_LITE_RT_PTSZ(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status));
CUDA_LITE_RT_PTSZ(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode));
CUDA_LITE_RT_PTSZ(cudaStreamBeginCaptureToGraph, (cudaStream_t stream, cudaGraph_t graph,
						  const cudaGraphNode_t *deps, const cudaGraphEdgeData *edges,
						  size_t n_deps, enum cudaStreamCaptureMode mode));
CUDA_LITE_RT_PTSZ(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph));
#if CUDART_VERSION >= 13000
CUDA_LITE_RT_PTSZ(cudaStreamGetCaptureInfo, (cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					     unsigned long long *id CUDA_LITE_DEFAULT(0), cudaGraph_t *graph CUDA_LITE_DEFAULT(0),
					     const cudaGraphNode_t **deps CUDA_LITE_DEFAULT(0),
					     const cudaGraphEdgeData **edges CUDA_LITE_DEFAULT(0), size_t *n_deps CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamUpdateCaptureDependencies, (cudaStream_t stream, cudaGraphNode_t *deps,
							const cudaGraphEdgeData *edges, size_t n_deps,
							unsigned int flags CUDA_LITE_DEFAULT(0)));
#else
CUDA_LITE_RT_PTSZ(cudaStreamGetCaptureInfo, (cudaStream_t stream, enum cudaStreamCaptureStatus *status,
					     unsigned long long *id CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamGetCaptureInfo_v2, (cudaStream_t stream, enum cudaStreamCaptureStatus *status,
						unsigned long long *id CUDA_LITE_DEFAULT(0), cudaGraph_t *graph CUDA_LITE_DEFAULT(0),
						const cudaGraphNode_t **deps CUDA_LITE_DEFAULT(0), size_t *n_deps CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamGetCaptureInfo_v3, (cudaStream_t stream, enum cudaStreamCaptureStatus *status,
						unsigned long long *id CUDA_LITE_DEFAULT(0), cudaGraph_t *graph CUDA_LITE_DEFAULT(0),
						const cudaGraphNode_t **deps CUDA_LITE_DEFAULT(0),
						const cudaGraphEdgeData **edges CUDA_LITE_DEFAULT(0), size_t *n_deps CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamUpdateCaptureDependencies, (cudaStream_t stream, cudaGraphNode_t *deps,
							size_t n_deps, unsigned int flags CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamUpdateCaptureDependencies_v2, (cudaStream_t stream, cudaGraphNode_t *deps,
							   const cudaGraphEdgeData *edges, size_t n_deps,
							   unsigned int flags CUDA_LITE_DEFAULT(0)));
#endif
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);

/* Graphs and what holds them together */
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n);
#define CUDA_LITE_RT_EDGES(suffix) \
	cudaError_t cudaGraphGetEdges##suffix(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, \
					      cudaGraphEdgeData *edges, size_t *n); \
	cudaError_t cudaGraphNodeGetDependencies##suffix(cudaGraphNode_t node, cudaGraphNode_t *deps, \
							 cudaGraphEdgeData *edges, size_t *n); \
	cudaError_t cudaGraphNodeGetDependentNodes##suffix(cudaGraphNode_t node, cudaGraphNode_t *nodes, \
							   cudaGraphEdgeData *edges, size_t *n); \
	cudaError_t cudaGraphAddDependencies##suffix(cudaGraph_t graph, const cudaGraphNode_t *from, \
						     const cudaGraphNode_t *to, const cudaGraphEdgeData *edges, \
						     size_t n); \
	cudaError_t cudaGraphRemoveDependencies##suffix(cudaGraph_t graph, const cudaGraphNode_t *from, \
							const cudaGraphNode_t *to, \
							const cudaGraphEdgeData *edges, size_t n); \
	cudaError_t cudaGraphAddNode##suffix(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, \
					     const cudaGraphEdgeData *edges, size_t n_deps, \
					     struct cudaGraphNodeParams *params);
#if CUDART_VERSION >= 13000
CUDA_LITE_RT_EDGES()
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t dst, cudaGraphNode_t src);
#else
CUDA_LITE_RT_EDGES(_v2)
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *deps, size_t *n);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
				     size_t n);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to, size_t n);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n_deps,
			     struct cudaGraphNodeParams *params);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t src, cudaGraphNode_t dst);
#endif
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphGetId(cudaGraph_t graph, unsigned int *id);
cudaError_t cudaGraphExecGetId(cudaGraphExec_t exec, unsigned int *id);
cudaError_t cudaGraphNodeGetLocalId(cudaGraphNode_t node, unsigned int *id);
cudaError_t cudaGraphNodeGetToolsId(cudaGraphNode_t node, unsigned long long *id);
cudaError_t cudaGraphNodeGetContainingGraph(cudaGraphNode_t node, cudaGraph_t *graph);
#endif
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);

/* Nodes: added, asked and changed, in the graph and in what was made of it */
#define CUDA_LITE_RT_ADD(name, ...) \
	cudaError_t cudaGraphAdd##name(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, \
				       size_t n_deps, __VA_ARGS__)
CUDA_LITE_RT_ADD(KernelNode, const struct cudaKernelNodeParams *params);
CUDA_LITE_RT_ADD(MemcpyNode, const struct cudaMemcpy3DParms *copy);
CUDA_LITE_RT_ADD(MemcpyNode1D, void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
CUDA_LITE_RT_ADD(MemcpyNodeToSymbol, const void *symbol, const void *src, size_t bytes, size_t offset,
		 enum cudaMemcpyKind kind);
CUDA_LITE_RT_ADD(MemcpyNodeFromSymbol, void *dst, const void *symbol, size_t bytes, size_t offset,
		 enum cudaMemcpyKind kind);
CUDA_LITE_RT_ADD(MemsetNode, const struct cudaMemsetParams *params);
CUDA_LITE_RT_ADD(HostNode, const struct cudaHostNodeParams *params);
CUDA_LITE_RT_ADD(ChildGraphNode, cudaGraph_t child);
CUDA_LITE_RT_ADD(EventRecordNode, cudaEvent_t event);
CUDA_LITE_RT_ADD(EventWaitNode, cudaEvent_t event);
CUDA_LITE_RT_ADD(MemAllocNode, struct cudaMemAllocNodeParams *params);
CUDA_LITE_RT_ADD(MemFreeNode, void *ptr);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
				  size_t n_deps);
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attr,
					    cudaKernelNodeAttrValue *value);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attr,
					    const cudaKernelNodeAttrValue *value);
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params);
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params);
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t bytes,
					   enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src,
						 size_t bytes, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol,
						   size_t bytes, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params);
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params);
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params);
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params);
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph);
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event);
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event);
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params);
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *ptr);
cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value);
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value);

/* Graphs that can be launched */
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
					     unsigned int value CUDA_LITE_DEFAULT(0),
					     unsigned int flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				 unsigned long long flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
					  unsigned long long flags CUDA_LITE_DEFAULT(0));
CUDA_LITE_RT_PTSZ(cudaGraphInstantiateWithParams, (cudaGraphExec_t *exec, cudaGraph_t graph,
						   cudaGraphInstantiateParams *params));
CUDA_LITE_RT_PTSZ(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream));
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *params);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst,
					       const void *src, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
						     const void *symbol, const void *src, size_t bytes,
						     size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst,
						       const void *symbol, size_t bytes, size_t offset,
						       enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *params);
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *params);
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled);
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled);

/* User objects */
cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *ptr, cudaHostFn_t destroy, unsigned int refs,
				 unsigned int flags);
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count CUDA_LITE_DEFAULT(1));
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count CUDA_LITE_DEFAULT(1));
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
				      unsigned int count CUDA_LITE_DEFAULT(1),
				      unsigned int flags CUDA_LITE_DEFAULT(0));
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
				       unsigned int count CUDA_LITE_DEFAULT(1));

#ifdef __cplusplus
}
#endif

#endif
