/* SPDX-License-Identifier: MIT */
/*
 * Many operations by one call, and pools by place. Called by programs; the driver does it (../driver/batch.c, pool.c), whose structures
 * these are under other names. CUDA 12's copies say which one was refused, CUDA 13's do not.
 */
#include "rt.h"

#include <stddef.h>

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "attributes of copies");
_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "copies of boxes");
_Static_assert(offsetof(struct cudaMemcpy3DBatchOp, extent) == offsetof(CUDA_MEMCPY3D_BATCH_OP, extent), "copies of boxes");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "locations");

static cudaError_t batch(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count, struct cudaMemcpyAttributes *attrs,
			 size_t *idx, size_t nattrs, size_t *fail, cudaStream_t stream)
{
	RT_ENTER();
	/* pointers and CUdeviceptr are both 64 bits; the driver writes none of them */
	return rt_cu(cuMemcpyBatchAsync((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs, (size_t *)(uintptr_t)sizes, count,
					(CUmemcpyAttributes *)attrs, idx, nattrs, fail, stream));
}

static cudaError_t boxes(size_t count, struct cudaMemcpy3DBatchOp *ops, size_t *fail, unsigned long long flags, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemcpy3DBatchAsync(count, (CUDA_MEMCPY3D_BATCH_OP *)ops, fail, flags, stream));
}

#if CUDART_MAJOR >= 13
#define FAIL NULL
#else
#define FAIL fail
#endif
CUDA_LITE_RT_BATCH(cudaMemcpyBatchAsync) { return batch((void *const *)dsts, (const void *const *)srcs, sizes, count, attrs, attrsIdxs, numAttrs, FAIL, stream); }
CUDA_LITE_RT_BATCH(cudaMemcpyBatchAsync_ptsz)
{
	return batch((void *const *)dsts, (const void *const *)srcs, sizes, count, attrs, attrsIdxs, numAttrs, FAIL, rt_per_thread(stream));
}
CUDA_LITE_RT_BATCH3D(cudaMemcpy3DBatchAsync) { return boxes(count, ops, FAIL, flags, stream); }
CUDA_LITE_RT_BATCH3D(cudaMemcpy3DBatchAsync_ptsz) { return boxes(count, ops, FAIL, flags, rt_per_thread(stream)); }

static cudaError_t one(void *dst, const void *src, size_t bytes, struct cudaMemcpyAttributes *attr, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemcpyWithAttributesAsync((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, bytes, (CUmemcpyAttributes *)attr, stream));
}
cudaError_t cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attr, cudaStream_t stream)
{
	return one(dst, src, size, attr, stream);
}
cudaError_t cudaMemcpyWithAttributesAsync_ptsz(void *dst, const void *src, size_t size, struct cudaMemcpyAttributes *attr, cudaStream_t stream)
{
	return one(dst, src, size, attr, rt_per_thread(stream));
}

static cudaError_t one_box(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemcpy3DWithAttributesAsync((CUDA_MEMCPY3D_BATCH_OP *)op, flags, stream));
}
cudaError_t cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream)
{
	return one_box(op, flags, stream);
}
cudaError_t cudaMemcpy3DWithAttributesAsync_ptsz(struct cudaMemcpy3DBatchOp *op, unsigned long long flags, cudaStream_t stream)
{
	return one_box(op, flags, rt_per_thread(stream));
}

/* ---- managed memory ---- */

static cudaError_t prefetch(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *idx, size_t n,
			    unsigned long long flags, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemPrefetchBatchAsync((CUdeviceptr *)(uintptr_t)ptrs, sizes, count, (CUmemLocation *)locations, idx, n, flags, stream));
}

static cudaError_t discard(void **ptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemDiscardBatchAsync((CUdeviceptr *)(uintptr_t)ptrs, sizes, count, flags, stream));
}

static cudaError_t discard_and_prefetch(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *idx, size_t n,
					unsigned long long flags, cudaStream_t stream)
{
	RT_ENTER();
	return rt_cu(cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)(uintptr_t)ptrs, sizes, count, (CUmemLocation *)locations, idx, n, flags,
						       stream));
}

#define RANGES(name, call) \
	cudaError_t name(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *idx, size_t n, \
			 unsigned long long flags, cudaStream_t stream) \
	{ return call(ptrs, sizes, count, locations, idx, n, flags, stream); } \
	cudaError_t name##_ptsz(void **ptrs, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *idx, size_t n, \
				unsigned long long flags, cudaStream_t stream) \
	{ return call(ptrs, sizes, count, locations, idx, n, flags, rt_per_thread(stream)); }
RANGES(cudaMemPrefetchBatchAsync, prefetch)
RANGES(cudaMemDiscardAndPrefetchBatchAsync, discard_and_prefetch)

cudaError_t cudaMemDiscardBatchAsync(void **ptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
	return discard(ptrs, sizes, count, flags, stream);
}

cudaError_t cudaMemDiscardBatchAsync_ptsz(void **ptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
	return discard(ptrs, sizes, count, flags, rt_per_thread(stream));
}

/* ---- pools by place ---- */

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
	RT_ENTER();
	return rt_cu(cuMemGetDefaultMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
	RT_ENTER();
	return rt_cu(cuMemGetMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t pool)
{
	RT_ENTER();
	return rt_cu(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, pool));
}
