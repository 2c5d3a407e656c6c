/* SPDX-License-Identifier: MIT */
/*
 * Many copies by one call (CUDA Runtime API 12.8 and 13, "Memory Management"); included by cuda_runtime_api.h. The driver's
 * structures under other names: cuda_lite_batch.h says what the fields are.
 */
#ifndef CUDA_LITE_RUNTIME_BATCH_H
#define CUDA_LITE_RUNTIME_BATCH_H

enum cudaMemcpySrcAccessOrder {
	cudaMemcpySrcAccessOrderInvalid = 0,
	cudaMemcpySrcAccessOrderStream = 1,
	cudaMemcpySrcAccessOrderDuringApiCall = 2,
	cudaMemcpySrcAccessOrderAny = 3,
	cudaMemcpySrcAccessOrderMax = 0x7fffffff
};

enum cudaMemcpyFlags { cudaMemcpyFlagDefault = 0, cudaMemcpyFlagPreferOverlapWithCompute = 1 };
enum cudaMemcpy3DOperandType { cudaMemcpyOperandTypePointer = 1, cudaMemcpyOperandTypeArray = 2, cudaMemcpyOperandTypeMax = 0x7fffffff };

struct cudaMemcpyAttributes {
	enum cudaMemcpySrcAccessOrder srcAccessOrder;
	struct cudaMemLocation srcLocHint;
	struct cudaMemLocation dstLocHint;
	unsigned int flags;
};

struct cudaOffset3D { size_t x, y, z; };

struct cudaMemcpy3DOperand {
	enum cudaMemcpy3DOperandType type;
	union {
		struct {
			void *ptr;
			size_t rowLength;
			size_t layerHeight;
			struct cudaMemLocation locHint;
		} ptr;
		struct {
			cudaArray_t array;
			struct cudaOffset3D offset;
		} array;
	} op;
};

struct cudaMemcpy3DBatchOp {
	struct cudaMemcpy3DOperand src;
	struct cudaMemcpy3DOperand dst;
	struct cudaExtent extent;
	enum cudaMemcpySrcAccessOrder srcAccessOrder;
	unsigned int flags;
};

#ifdef __cplusplus
extern "C" {
#endif
#if CUDART_VERSION >= 13000
#define CUDA_LITE_RT_BATCH(name) \
	cudaError_t name(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count, struct cudaMemcpyAttributes *attrs, \
			 size_t *attrsIdxs, size_t numAttrs, cudaStream_t stream)
#define CUDA_LITE_RT_BATCH3D(name) \
	cudaError_t name(size_t count, struct cudaMemcpy3DBatchOp *ops, unsigned long long flags, cudaStream_t stream)
#else
#define CUDA_LITE_RT_BATCH(name) \
	cudaError_t name(void **dsts, void **srcs, size_t *sizes, size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, \
			 size_t numAttrs, size_t *fail, cudaStream_t stream)
#define CUDA_LITE_RT_BATCH3D(name) \
	cudaError_t name(size_t count, struct cudaMemcpy3DBatchOp *ops, size_t *fail, unsigned long long flags, cudaStream_t stream)
#endif
CUDA_LITE_RT_BATCH(cudaMemcpyBatchAsync);
CUDA_LITE_RT_BATCH(cudaMemcpyBatchAsync_ptsz);
CUDA_LITE_RT_BATCH3D(cudaMemcpy3DBatchAsync);
CUDA_LITE_RT_BATCH3D(cudaMemcpy3DBatchAsync_ptsz);
cudaError_t cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attr, cudaStream_t stream);
cudaError_t cudaMemcpyWithAttributesAsync_ptsz(void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attr, cudaStream_t stream);
cudaError_t cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemcpy3DWithAttributesAsync_ptsz(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemPrefetchBatchAsync(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *locationIdxs,
				      size_t numLocations, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemPrefetchBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *locationIdxs,
					   size_t numLocations, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardBatchAsync(void **ptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations,
						size_t *locationIdxs, size_t numLocations, unsigned long long flags, cudaStream_t stream);
cudaError_t cudaMemDiscardAndPrefetchBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations,
						     size_t *locationIdxs, size_t numLocations, unsigned long long flags,
						     cudaStream_t stream);
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type);
cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type);
cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t pool);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t dstX, size_t dstY, cudaArray_const_t src, size_t srcX, size_t srcY, size_t count,
				   enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t dst, size_t dstX, size_t dstY, cudaArray_const_t src, size_t srcX, size_t srcY,
					size_t count, enum cudaMemcpyKind kind);
#ifdef __cplusplus
}
#endif

#endif
