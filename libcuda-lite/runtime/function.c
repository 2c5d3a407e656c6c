/* SPDX-License-Identifier: MIT */
/*
 * Attributes of kernels and occupancy.
 *
 * Called by programs before their launches; all answers are the driver's.
 */
#include <string.h>

#include "rt.h"

/* Where the driver's attributes stand in the runtime's structure. */
static const struct {
	CUfunction_attribute attrib;
	unsigned short offset;
	unsigned short wide;	/* the field is a size_t */
} func_fields[] = {
#define FIELD(attrib, field) { CU_FUNC_ATTRIBUTE_##attrib, offsetof(struct cudaFuncAttributes, field), \
			       sizeof(((struct cudaFuncAttributes *)0)->field) == sizeof(size_t) }
	FIELD(SHARED_SIZE_BYTES, sharedSizeBytes),
	FIELD(CONST_SIZE_BYTES, constSizeBytes),
	FIELD(LOCAL_SIZE_BYTES, localSizeBytes),
	FIELD(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
	FIELD(NUM_REGS, numRegs),
	FIELD(PTX_VERSION, ptxVersion),
	FIELD(BINARY_VERSION, binaryVersion),
	FIELD(CACHE_MODE_CA, cacheModeCA),
	FIELD(MAX_DYNAMIC_SHARED_SIZE_BYTES, maxDynamicSharedSizeBytes),
	FIELD(PREFERRED_SHARED_MEMORY_CARVEOUT, preferredShmemCarveout),
	FIELD(CLUSTER_SIZE_MUST_BE_SET, clusterDimMustBeSet),
	FIELD(REQUIRED_CLUSTER_WIDTH, requiredClusterWidth),
	FIELD(REQUIRED_CLUSTER_HEIGHT, requiredClusterHeight),
	FIELD(REQUIRED_CLUSTER_DEPTH, requiredClusterDepth),
	FIELD(CLUSTER_SCHEDULING_POLICY_PREFERENCE, clusterSchedulingPolicyPreference),
	FIELD(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nonPortableClusterSizeAllowed),
#undef FIELD
};

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	CUfunction fn;
	CUresult result;
	size_t i, wide;
	int value;

	if (!attr)
		return rt_set(cudaErrorInvalidValue);
	RT_FUNCTION(func, &fn);
	memset(attr, 0, sizeof(*attr));
	for (i = 0; i < sizeof(func_fields) / sizeof(func_fields[0]); i++) {
		result = cuFuncGetAttribute(&value, func_fields[i].attrib, fn);
		/* A driver without clusters does not know their attributes: the field stays 0. */
		if (result == CUDA_ERROR_INVALID_VALUE && func_fields[i].attrib >= CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)
			continue;
		if (result != CUDA_SUCCESS)
			return rt_cu(result);
		if (func_fields[i].wide) {
			wide = (size_t)value;
			memcpy((char *)attr + func_fields[i].offset, &wide, sizeof(wide));
		} else {
			memcpy((char *)attr + func_fields[i].offset, &value, sizeof(value));
		}
	}
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncSetAttribute(fn, (CUfunction_attribute)attr, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncSetCacheConfig(fn, (CUfunc_cache)config));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncSetSharedMemConfig(fn, (CUsharedconfig)config));
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	CUfunction fn;

	if (!name)
		return rt_set(cudaErrorInvalidValue);
	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncGetName(name, fn));
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t index, size_t *offset, size_t *size)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncGetParamInfo(fn, index, offset, size));
}

cudaError_t cudaFuncGetParamCount(const void *func, size_t *count)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuFuncGetParamCount(fn, count));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func,
								   int block_size, size_t shared,
								   unsigned int flags)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fn, block_size, shared,
									  flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int block_size,
							  size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size, shared,
								      cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *func, int blocks,
						      int block_size)
{
	CUfunction fn;

	RT_FUNCTION(func, &fn);
	return rt_cu(cuOccupancyAvailableDynamicSMemPerBlock(bytes, fn, blocks, block_size));
}
