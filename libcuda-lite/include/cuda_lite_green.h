/* SPDX-License-Identifier: MIT */
/*
 * Green contexts and the resources that they are made of, and events of whole contexts; driver API 13.1. Included by cuda.h.
 */
#ifndef CUDA_LITE_GREEN_H
#define CUDA_LITE_GREEN_H

typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
typedef enum { CU_GREEN_CTX_DEFAULT_STREAM = 0x1 } CUgreenCtxCreate_flags;
typedef enum { CU_DEV_SM_RESOURCE_GROUP_DEFAULT = 0, CU_DEV_SM_RESOURCE_GROUP_BACKFILL = 0x1 } CUdevSmResourceGroup_flags;
typedef enum {
	CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 0x1,
	CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE = 0x2
} CUdevSmResourceSplitByCount_flags;
typedef enum {
	CU_DEV_RESOURCE_TYPE_INVALID = 0,
	CU_DEV_RESOURCE_TYPE_SM = 1,
	CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG = 1000,
	CU_DEV_RESOURCE_TYPE_WORKQUEUE = 10000
} CUdevResourceType;

typedef struct CUdevSmResource_st {
	unsigned int smCount, minSmPartitionSize, smCoscheduledAlignment, flags;
} CUdevSmResource;
typedef enum { CU_WORKQUEUE_SCOPE_DEVICE_CTX = 0, CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED = 1 } CUdevWorkqueueConfigScope;
typedef struct CUdevWorkqueueConfigResource_st {
	CUdevice device;
	unsigned int wqConcurrencyLimit;
	CUdevWorkqueueConfigScope sharingScope;
} CUdevWorkqueueConfigResource;
typedef struct CUdevWorkqueueResource_st { unsigned char reserved[40]; } CUdevWorkqueueResource;
typedef struct CU_DEV_SM_RESOURCE_GROUP_PARAMS_st {
	unsigned int smCount, coscheduledSmCount, preferredCoscheduledSmCount, flags, reserved[12];
} CU_DEV_SM_RESOURCE_GROUP_PARAMS;

typedef struct CUdevResource_st {
	CUdevResourceType type;
	unsigned char _internal_padding[92];
	union {
		CUdevSmResource sm;
		CUdevWorkqueueConfigResource wqConfig;
		CUdevWorkqueueResource wq;
		unsigned char _oversize[40];
	};
	struct CUdevResource_st *nextResource;
} CUdevResource;
CUDA_LITE_STATIC_ASSERT(sizeof(CUdevResource) == 144, "CUdevResource");

#ifdef __cplusplus
extern "C" {
#endif
CUresult CUDAAPI cuDeviceGetDevResource(CUdevice dev, CUdevResource *resource, CUdevResourceType type);
CUresult CUDAAPI cuCtxGetDevResource(CUcontext ctx, CUdevResource *resource, CUdevResourceType type);
CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx ctx, CUdevResource *resource, CUdevResourceType type);
CUDA_LITE_PTSZ(cuStreamGetDevResource, (CUstream stream, CUdevResource *resource, CUdevResourceType type));
CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n, const CUdevResource *input, CUdevResource *remainder,
					     unsigned int flags, unsigned int min);
CUresult CUDAAPI cuDevSmResourceSplit(CUdevResource *result, unsigned int n, const CUdevResource *input, CUdevResource *remainder,
				      unsigned int flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS *groups);
CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned int n);
CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *ctx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags);
CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx ctx);
CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx ctx);
CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx ctx, unsigned long long *id);
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned int flags, int priority);
CUresult CUDAAPI cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *ctx);
CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx ctx, CUevent event);
CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx ctx, CUevent event);
CUresult CUDAAPI cuCtxRecordEvent(CUcontext ctx, CUevent event);
CUresult CUDAAPI cuCtxWaitEvent(CUcontext ctx, CUevent event);
#ifdef __cplusplus
}
#endif

#endif
