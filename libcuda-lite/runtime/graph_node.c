/* SPDX-License-Identifier: MIT */
/*
 * Nodes of graphs: the runtime's structures to the driver's, and back.
 *
 * Called by programs. A kernel is named by the host address that stands for it; what a node launches is told the same
 * way. The copies of the runtime's other forms (1D, to and from symbols) become the one that the driver has.
 */
#include <string.h>

#include "rt.h"

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS) &&
	       sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS) &&
	       sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "the same fields");

/* Conversions: cudaSuccess, or what is wrong with them. A context is entered. */

static cudaError_t rt_kernel_of(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *k)
{
	CUfunction fn;

	if (!p)
		return cudaErrorInvalidValue;
	/* What GetParams could not name is the driver's own handle. */
	if (rt_find(p->func)) {
		cudaError_t error = rt_function(p->func, &fn);

		if (error != cudaSuccess)
			return error;
	} else {
		fn = (CUfunction)p->func;
	}
	if (!fn)
		return cudaErrorInvalidDeviceFunction;
	memset(k, 0, sizeof(*k));
	k->func = fn;
	k->gridDimX = p->gridDim.x;
	k->gridDimY = p->gridDim.y;
	k->gridDimZ = p->gridDim.z;
	k->blockDimX = p->blockDim.x;
	k->blockDimY = p->blockDim.y;
	k->blockDimZ = p->blockDim.z;
	k->sharedMemBytes = p->sharedMemBytes;
	k->kernelParams = p->kernelParams;
	k->extra = p->extra;
	return cudaSuccess;
}

/* A handle that is none is a kernel that is none here. */
static cudaError_t rt_kernel_result(CUresult result)
{
	return result == CUDA_ERROR_INVALID_HANDLE ? rt_set(cudaErrorInvalidDeviceFunction) : rt_cu(result);
}

static cudaError_t rt_line_of(const void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
	if ((unsigned int)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	memset(c, 0, sizeof(*c));
	c->srcMemoryType = c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->srcDevice = rt_dptr(src);
	c->dstDevice = rt_dptr(dst);
	c->WidthInBytes = c->srcPitch = c->dstPitch = bytes;
	c->Height = c->Depth = c->srcHeight = c->dstHeight = 1;
	return cudaSuccess;
}

static cudaError_t rt_to_symbol_of(const void *symbol, const void *src, size_t bytes, size_t offset,
				   enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
	CUdeviceptr ptr;
	cudaError_t error = rt_symbol_range(symbol, bytes, offset, &ptr);

	return error != cudaSuccess ? error : rt_line_of((void *)(uintptr_t)ptr, src, bytes, kind, c);
}

static cudaError_t rt_from_symbol_of(void *dst, const void *symbol, size_t bytes, size_t offset,
				     enum cudaMemcpyKind kind, CUDA_MEMCPY3D *c)
{
	CUdeviceptr ptr;
	cudaError_t error = rt_symbol_range(symbol, bytes, offset, &ptr);

	return error != cudaSuccess ? error : rt_line_of(dst, (void *)(uintptr_t)ptr, bytes, kind, c);
}

/* The general form. What the driver writes back is taken over afterwards. */
static cudaError_t rt_node_of(const struct cudaGraphNodeParams *p, CUgraphNodeParams *n)
{
	if (!p)
		return cudaErrorInvalidValue;
	memset(n, 0, sizeof(*n));
	n->type = (CUgraphNodeType)p->type;
	memcpy(n->reserved0, p->reserved0, sizeof(n->reserved0));
	n->reserved2 = p->reserved2;
	switch ((int)p->type) {
	case cudaGraphNodeTypeKernel:
		return rt_kernel_of(&p->kernel, &n->kernel);
	case cudaGraphNodeTypeMemcpy:
		n->memcpy.flags = p->memcpy.flags;
		return rt_copy_of(&p->memcpy.copyParams, &n->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		memcpy(&n->memset, &p->memset, sizeof(p->memset));
		return cudaSuccess;
	case cudaGraphNodeTypeMemAlloc:
		memcpy(&n->alloc, &p->alloc, sizeof(p->alloc));
		return cudaSuccess;
	case cudaGraphNodeTypeConditional:      /* CUDA 12 has no context here, and what stands there is nothing */
		n->conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = p->conditional.handle,
								 .type = (CUgraphConditionalNodeType)p->conditional.type,
								 .size = p->conditional.size };
		return cudaSuccess;
	default:        /* pointers and handles: the same here and there */
		memcpy(n->reserved1, p->reserved1, sizeof(n->reserved1));
		return cudaSuccess;
	}
}

/* A call that converts and then asks the driver. */
#define CONVERTED(name, params, type, convert, call, end) \
	cudaError_t cudaGraph##name params \
	{ \
		cudaError_t error; \
		type c; \
		RT_ENTER(); \
		error = convert; \
		return error != cudaSuccess ? rt_set(error) : end(call); \
	}
#define ADDED cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n

/* Kernels */

CONVERTED(AddKernelNode, (ADDED, const struct cudaKernelNodeParams *p), CUDA_KERNEL_NODE_PARAMS, rt_kernel_of(p, &c),
	  cuGraphAddKernelNode_v2(node, graph, deps, n, &c), rt_kernel_result)
CONVERTED(KernelNodeSetParams, (cudaGraphNode_t node, const struct cudaKernelNodeParams *p), CUDA_KERNEL_NODE_PARAMS,
	  rt_kernel_of(p, &c), cuGraphKernelNodeSetParams_v2(node, &c), rt_kernel_result)
CONVERTED(ExecKernelNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *p),
	  CUDA_KERNEL_NODE_PARAMS, rt_kernel_of(p, &c), cuGraphExecKernelNodeSetParams_v2(exec, node, &c), rt_kernel_result)

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS k;
	CUresult result;
	const void *host;

	if (!p)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuGraphKernelNodeGetParams_v2(node, &k);
	/* A product of cuBLAS: no program has a name for it. */
	if (result == CUDA_ERROR_NOT_SUPPORTED)
		return rt_set(cudaErrorInvalidDeviceFunction);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	host = rt_host_of(k.func);
	memset(p, 0, sizeof(*p));
	p->func = host ? (void *)(uintptr_t)host : (void *)k.func;
	p->gridDim.x = k.gridDimX;
	p->gridDim.y = k.gridDimY;
	p->gridDim.z = k.gridDimZ;
	p->blockDim.x = k.blockDimX;
	p->blockDim.y = k.blockDimY;
	p->blockDim.z = k.blockDimZ;
	p->sharedMemBytes = k.sharedMemBytes;
	p->kernelParams = k.kernelParams;
	p->extra = k.extra;
	return cudaSuccess;
}

/* Calls that are the driver's, but for the thread's last error. */
#define SAME(name, params, call) \
	cudaError_t cudaGraph##name params \
	{ \
		RT_ENTER(); \
		return rt_cu(call); \
	}

SAME(KernelNodeGetAttribute, (cudaGraphNode_t node, cudaKernelNodeAttrID attr, cudaKernelNodeAttrValue *value),
     cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)attr, (CUkernelNodeAttrValue *)value))
SAME(KernelNodeSetAttribute, (cudaGraphNode_t node, cudaKernelNodeAttrID attr, const cudaKernelNodeAttrValue *value),
     cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)attr, (const CUkernelNodeAttrValue *)value))
#if CUDART_MAJOR >= 13
SAME(KernelNodeCopyAttributes, (cudaGraphNode_t dst, cudaGraphNode_t src), cuGraphKernelNodeCopyAttributes(dst, src))
#else
SAME(KernelNodeCopyAttributes, (cudaGraphNode_t src, cudaGraphNode_t dst), cuGraphKernelNodeCopyAttributes(dst, src))
#endif

/* Copies */

#define COPY_NODE(suffix, convert, ...) \
	CONVERTED(AddMemcpyNode##suffix, (ADDED, __VA_ARGS__), CUDA_MEMCPY3D, convert, \
		  cuGraphAddMemcpyNode(node, graph, deps, n, &c, NULL), rt_cu) \
	CONVERTED(MemcpyNodeSetParams##suffix, (cudaGraphNode_t node, __VA_ARGS__), CUDA_MEMCPY3D, convert, \
		  cuGraphMemcpyNodeSetParams(node, &c), rt_cu) \
	CONVERTED(ExecMemcpyNodeSetParams##suffix, (cudaGraphExec_t exec, cudaGraphNode_t node, __VA_ARGS__), CUDA_MEMCPY3D, \
		  convert, cuGraphExecMemcpyNodeSetParams(exec, node, &c, NULL), rt_cu)

COPY_NODE(, rt_copy_of(p, &c), const struct cudaMemcpy3DParms *p)
COPY_NODE(1D, rt_line_of(dst, src, bytes, kind, &c), void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
COPY_NODE(ToSymbol, rt_to_symbol_of(symbol, src, bytes, offset, kind, &c), const void *symbol, const void *src, size_t bytes,
	  size_t offset, enum cudaMemcpyKind kind)
COPY_NODE(FromSymbol, rt_from_symbol_of(dst, symbol, bytes, offset, kind, &c), void *dst, const void *symbol, size_t bytes,
	  size_t offset, enum cudaMemcpyKind kind)

/* An end of a copy in the driver's form: unified addresses stand where those of the device do. */
static struct cudaPitchedPtr rt_end_of(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t width,
				       size_t height)
{
	struct cudaPitchedPtr p;

	p.ptr = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : (void *)(uintptr_t)device;
	p.pitch = pitch;
	p.xsize = width;
	p.ysize = height;
	return p;
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	CUresult result;

	if (!p)
		return rt_set(cudaErrorInvalidValue);
	RT_ENTER();
	result = cuGraphMemcpyNodeGetParams(node, &c);
	if (result != CUDA_SUCCESS)
		return rt_cu(result);
	memset(p, 0, sizeof(*p));
	p->srcPos.x = c.srcXInBytes;
	p->srcPos.y = c.srcY;
	p->srcPos.z = c.srcZ;
	p->srcPtr = rt_end_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcPitch ? c.srcPitch : c.WidthInBytes,
			      c.WidthInBytes, c.srcHeight);
	p->dstPos.x = c.dstXInBytes;
	p->dstPos.y = c.dstY;
	p->dstPos.z = c.dstZ;
	p->dstPtr = rt_end_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch ? c.dstPitch : c.WidthInBytes,
			      c.WidthInBytes, c.dstHeight);
	p->extent.width = c.WidthInBytes;
	p->extent.height = c.Height;
	p->extent.depth = c.Depth;
	p->kind = cudaMemcpyDefault;
	if (c.srcMemoryType != CU_MEMORYTYPE_UNIFIED && c.dstMemoryType != CU_MEMORYTYPE_UNIFIED)
		p->kind = c.srcMemoryType == CU_MEMORYTYPE_HOST ?
			  (c.dstMemoryType == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice) :
			  (c.dstMemoryType == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
	return cudaSuccess;
}

/* Fills and host functions: the same structures under other names */

SAME(AddMemsetNode, (ADDED, const struct cudaMemsetParams *p),
     cuGraphAddMemsetNode(node, graph, deps, n, (const CUDA_MEMSET_NODE_PARAMS *)p, NULL))
SAME(MemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *p),
     cuGraphMemsetNodeGetParams(node, (CUDA_MEMSET_NODE_PARAMS *)p))
SAME(MemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *p),
     cuGraphMemsetNodeSetParams(node, (const CUDA_MEMSET_NODE_PARAMS *)p))
SAME(ExecMemsetNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *p),
     cuGraphExecMemsetNodeSetParams(exec, node, (const CUDA_MEMSET_NODE_PARAMS *)p, NULL))
SAME(AddHostNode, (ADDED, const struct cudaHostNodeParams *p),
     cuGraphAddHostNode(node, graph, deps, n, (const CUDA_HOST_NODE_PARAMS *)p))
SAME(HostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *p),
     cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)p))
SAME(HostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *p),
     cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)p))
SAME(ExecHostNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaHostNodeParams *p),
     cuGraphExecHostNodeSetParams(exec, node, (const CUDA_HOST_NODE_PARAMS *)p))

/* Child graphs, events, and nothing */

SAME(AddChildGraphNode, (ADDED, cudaGraph_t child), cuGraphAddChildGraphNode(node, graph, deps, n, child))
SAME(ChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph), cuGraphChildGraphNodeGetGraph(node, graph))
SAME(ExecChildGraphNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
     cuGraphExecChildGraphNodeSetParams(exec, node, child))
SAME(AddEmptyNode, (ADDED), cuGraphAddEmptyNode(node, graph, deps, n))

#define EVENT_NODE(name) \
	SAME(Add##name##Node, (ADDED, cudaEvent_t event), cuGraphAdd##name##Node(node, graph, deps, n, event)) \
	SAME(name##NodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event), cuGraph##name##NodeGetEvent(node, event)) \
	SAME(name##NodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event), cuGraph##name##NodeSetEvent(node, event)) \
	SAME(Exec##name##NodeSetEvent, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event), \
	     cuGraphExec##name##NodeSetEvent(exec, node, event))
EVENT_NODE(EventRecord)
EVENT_NODE(EventWait)

/* Memory */

SAME(AddMemAllocNode, (ADDED, struct cudaMemAllocNodeParams *p),
     cuGraphAddMemAllocNode(node, graph, deps, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)p))
SAME(MemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *p),
     cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)p))
SAME(AddMemFreeNode, (ADDED, void *ptr), cuGraphAddMemFreeNode(node, graph, deps, n, rt_dptr(ptr)))
/* ptr: where the address is written */
SAME(MemFreeNodeGetParams, (cudaGraphNode_t node, void *ptr), cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)ptr))

/* Any */

static cudaError_t rt_add_node(ADDED, const CUgraphEdgeData *edges, struct cudaGraphNodeParams *p)
{
	cudaError_t error;
	CUgraphNodeParams c;
	CUresult result;

	RT_ENTER();
	error = rt_node_of(p, &c);
	if (error != cudaSuccess)
		return rt_set(error);
	result = cuGraphAddNode_v2(node, graph, deps, edges, n, &c);
	if (result == CUDA_SUCCESS && p->type == cudaGraphNodeTypeMemAlloc)
		p->alloc.dptr = (void *)(uintptr_t)c.alloc.dptr;
	if (result == CUDA_SUCCESS && p->type == cudaGraphNodeTypeConditional)
		p->conditional.phGraph_out = c.conditional.phGraph_out;
	return rt_cu(result);
}

#if CUDART_MAJOR >= 13
cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
			     const cudaGraphEdgeData *edges, size_t n, struct cudaGraphNodeParams *p)
{
	return rt_add_node(node, graph, deps, n, (const CUgraphEdgeData *)edges, p);
}
#else
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
				const cudaGraphEdgeData *edges, size_t n, struct cudaGraphNodeParams *p)
{
	return rt_add_node(node, graph, deps, n, (const CUgraphEdgeData *)edges, p);
}

cudaError_t cudaGraphAddNode(ADDED, struct cudaGraphNodeParams *p)
{
	return rt_add_node(node, graph, deps, n, NULL, p);
}
#endif

CONVERTED(NodeSetParams, (cudaGraphNode_t node, struct cudaGraphNodeParams *p), CUgraphNodeParams, rt_node_of(p, &c),
	  cuGraphNodeSetParams(node, &c), rt_cu)
CONVERTED(ExecNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *p), CUgraphNodeParams,
	  rt_node_of(p, &c), cuGraphExecNodeSetParams(exec, node, &c), rt_cu)
SAME(NodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled),
     cuGraphNodeSetEnabled(exec, node, enabled))
SAME(NodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled),
     cuGraphNodeGetEnabled(exec, node, enabled))
