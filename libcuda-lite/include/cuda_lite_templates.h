/* SPDX-License-Identifier: MIT */
/*
 * What C++ programs call with a kernel, a variable or a typed pointer where the functions of cuda_runtime_api.h take void pointers
 * (CUDA Runtime API, "C++ API Routines"): occupancy, graphs' copies from and to variables, pools, libraries. cuda_runtime.h brings it.
 */
#ifndef CUDA_LITE_TEMPLATES_H
#define CUDA_LITE_TEMPLATES_H

/* ---- kernels: names, occupancy ---- */

template <class T> static inline cudaError_t cudaFuncGetName(const char **name, T *func)
{
	return ::cudaFuncGetName(name, (const void *)func);
}

template <class T> static inline cudaError_t cudaGetKernel(cudaKernel_t *kernel, T *entry)
{
	return ::cudaGetKernel(kernel, (const void *)entry);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T func, int block_size, size_t shared,
										 unsigned int flags)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)func, block_size, shared, flags);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T func, int block_size, size_t shared)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)func, block_size, shared,
									cudaOccupancyDefault);
}

template <class T>
static inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, T *func, int blocks, int block_size)
{
	return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void *)func, blocks, block_size);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, T *func, const cudaLaunchConfig_t *config)
{
	return ::cudaOccupancyMaxPotentialClusterSize(size, (const void *)func, config);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, T *func, const cudaLaunchConfig_t *config)
{
	return ::cudaOccupancyMaxActiveClusters(clusters, (const void *)func, config);
}

/*
 * The block size with the best occupancy: tries every multiple of a warp up to the kernel's limit and keeps the first that no larger
 * one beats. shared_of(size): bytes of dynamic shared memory that a block of that size wants.
 */
template <class F, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *min_grid, int *block_size, T func, F shared_of,
										  int limit = 0, unsigned int flags = 0)
{
	struct cudaFuncAttributes attr;
	int device, sms, warp, per_sm, best = 0;
	cudaError_t err;

	if (!min_grid || !block_size)
		return cudaErrorInvalidValue;
	err = ::cudaGetDevice(&device);
	if (err == cudaSuccess)
		err = ::cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
	if (err == cudaSuccess)
		err = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
	if (err == cudaSuccess)
		err = ::cudaFuncGetAttributes(&attr, (const void *)func);
	if (err != cudaSuccess)
		return err;
	if (limit <= 0 || limit > attr.maxThreadsPerBlock)
		limit = attr.maxThreadsPerBlock;
	*min_grid = *block_size = 0;
	for (int size = limit; size > 0; size = size % warp ? size - size % warp : size - warp) {
		err = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&per_sm, (const void *)func, size, shared_of(size), flags);
		if (err != cudaSuccess)
			return err;
		if (per_sm * size > best) {
			best = per_sm * size;
			*block_size = size;
			*min_grid = per_sm * sms;
		}
	}
	return cudaSuccess;
}

template <class F, class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *min_grid, int *block_size, T func, F shared_of, int limit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid, block_size, func, shared_of, limit, cudaOccupancyDefault);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size, T func, size_t shared = 0,
								      int limit = 0, unsigned int flags = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid, block_size, func, [=](int) { return shared; }, limit, flags);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, T func, size_t shared = 0, int limit = 0)
{
	return cudaOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, func, shared, limit, cudaOccupancyDefault);
}

/* ---- graphs ---- */

/* As CUDA 10 and 11 had it. There is no log; a node that is to blame is told by cudaGraphInstantiateWithParams(). */
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node, char *log, size_t bytes)
{
	if (error_node)
		*error_node = 0;
	if (log && bytes)
		*log = 0;
	return ::cudaGraphInstantiate(exec, graph, 0);
}

template <class T>
static inline cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
							 const T &symbol, const void *src, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, deps, n, (const void *)&symbol, src, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
							   void *dst, const T &symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, deps, n, dst, (const void *)&symbol, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &symbol, const void *src, size_t bytes,
							       size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&symbol, src, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const T &symbol, size_t bytes,
								 size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, dst, (const void *)&symbol, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const T &symbol, const void *src,
								   size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, (const void *)&symbol, src, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const T &symbol,
								     size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, dst, (const void *)&symbol, bytes, offset, kind);
}

/* ---- memory ---- */

static inline cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync(ptr, bytes, pool, stream);
}

template <class T> static inline cudaError_t cudaMallocAsync(T **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync((void **)(void *)ptr, bytes, pool, stream);
}

template <class T> static inline cudaError_t cudaMallocFromPoolAsync(T **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	return ::cudaMallocFromPoolAsync((void **)(void *)ptr, bytes, pool, stream);
}

template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *ptr, size_t bytes = 0, unsigned int flags = cudaMemAttachSingle)
{
	return ::cudaStreamAttachMemAsync(stream, (void *)ptr, bytes, flags);
}

template <class T> static inline cudaError_t cudaLibraryGetGlobal(T **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	return ::cudaLibraryGetGlobal((void **)(void *)ptr, bytes, library, name);
}

template <class T> static inline cudaError_t cudaLibraryGetManaged(T **ptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	return ::cudaLibraryGetManaged((void **)(void *)ptr, bytes, library, name);
}

#endif
