/* SPDX-License-Identifier: MIT */
/*
 * Execution contexts of the runtime API 13.1: the primary context of a device, or a green one. Included by cuda_runtime_api.h.
 */
#ifndef CUDA_LITE_RUNTIME_EXECUTION_H
#define CUDA_LITE_RUNTIME_EXECUTION_H

typedef struct cudaDevResourceDesc_st *cudaDevResourceDesc_t;
enum cudaDevSmResourceGroup_flags { cudaDevSmResourceGroupDefault = 0, cudaDevSmResourceGroupBackfill = 0x1 };
enum cudaDevSmResourceSplitByCount_flags {
	cudaDevSmResourceSplitIgnoreSmCoscheduling = 0x1,
	cudaDevSmResourceSplitMaxPotentialClusterSize = 0x2
};
enum cudaDevResourceType {
	cudaDevResourceTypeInvalid = 0,
	cudaDevResourceTypeSm = 1,
	cudaDevResourceTypeWorkqueueConfig = 1000,
	cudaDevResourceTypeWorkqueue = 10000
};
struct cudaDevSmResource {
	unsigned int smCount, minSmPartitionSize, smCoscheduledAlignment, flags;
};
enum cudaDevWorkqueueConfigScope { cudaDevWorkqueueConfigScopeDeviceCtx = 0, cudaDevWorkqueueConfigScopeGreenCtxBalanced = 1 };
struct cudaDevWorkqueueConfigResource {
	int device;
	unsigned int wqConcurrencyLimit;
	enum cudaDevWorkqueueConfigScope sharingScope;
};
struct cudaDevWorkqueueResource { unsigned char reserved[40]; };
typedef struct cudaDevSmResourceGroupParams_st {
	unsigned int smCount, coscheduledSmCount, preferredCoscheduledSmCount, flags, reserved[12];
} cudaDevSmResourceGroupParams;
typedef struct cudaDevResource_st {
	enum cudaDevResourceType type;
	unsigned char _internal_padding[92];
	union {
		struct cudaDevSmResource sm;
		struct cudaDevWorkqueueConfigResource wqConfig;
		struct cudaDevWorkqueueResource wq;
		unsigned char _oversize[40];
	};
	struct cudaDevResource_st *nextResource;
} cudaDevResource;
CUDA_LITE_ASSERT_SIZE(cudaDevResource, 144);

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource *resource, enum cudaDevResourceType type);
cudaError_t cudaDevSmResourceSplitByCount(cudaDevResource *result, unsigned int *n, const cudaDevResource *input,
					  cudaDevResource *remaining, unsigned int flags, unsigned int min);
cudaError_t cudaDevSmResourceSplit(cudaDevResource *result, unsigned int n, const cudaDevResource *input, cudaDevResource *remainder,
				   unsigned int flags, cudaDevSmResourceGroupParams *groups);
cudaError_t cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *desc, cudaDevResource *resources, unsigned int n);
cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t *ctx, cudaDevResourceDesc_t desc, int device, unsigned int flags);
cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int device);
cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t ctx);
cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx, cudaDevResource *resource, enum cudaDevResourceType type);
cudaError_t cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx);
cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *id);
cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, cudaExecutionContext_t ctx, unsigned int flags, int priority);
cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx);
cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_t ctx, cudaEvent_t event);
cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_t ctx, cudaEvent_t event);
CUDA_LITE_RT_PTSZ(cudaStreamGetDevResource, (cudaStream_t stream, cudaDevResource *resource, enum cudaDevResourceType type));
cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
						cudaExecutionContext_t ctx CUDA_LITE_DEFAULT(0),
						unsigned int value CUDA_LITE_DEFAULT(0),
						unsigned int flags CUDA_LITE_DEFAULT(0));
#ifdef __cplusplus
}
#endif

#endif
