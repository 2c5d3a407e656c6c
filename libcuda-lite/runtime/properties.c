/* SPDX-License-Identifier: MIT */
/*
 * cudaDeviceProp, filled from the driver's attributes by a table: attribute, place, width.
 *
 * Called by programs, some of them thousands of times a second, so the answer is built once per device
 * (nothing in it changes) and copied. The layout is the one of the major version compiled for.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

struct prop_field {
	CUdevice_attribute attrib;
	unsigned short offset;
	unsigned short wide;	/* the field is a size_t */
};

#define FIELD(attrib, field) { CU_DEVICE_ATTRIBUTE_##attrib, offsetof(struct cudaDeviceProp, field), \
			       sizeof(((struct cudaDeviceProp *)0)->field) == sizeof(size_t) }
#define ELEMENT(attrib, field, i) { CU_DEVICE_ATTRIBUTE_##attrib, \
				    offsetof(struct cudaDeviceProp, field) + (i) * sizeof(int), 0 }

static const struct prop_field prop_fields[] = {
	FIELD(MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
	FIELD(MAX_REGISTERS_PER_BLOCK, regsPerBlock),
	FIELD(WARP_SIZE, warpSize),
	FIELD(MAX_PITCH, memPitch),
	FIELD(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
	ELEMENT(MAX_BLOCK_DIM_X, maxThreadsDim, 0),
	ELEMENT(MAX_BLOCK_DIM_Y, maxThreadsDim, 1),
	ELEMENT(MAX_BLOCK_DIM_Z, maxThreadsDim, 2),
	ELEMENT(MAX_GRID_DIM_X, maxGridSize, 0),
	ELEMENT(MAX_GRID_DIM_Y, maxGridSize, 1),
	ELEMENT(MAX_GRID_DIM_Z, maxGridSize, 2),
	FIELD(TOTAL_CONSTANT_MEMORY, totalConstMem),
	FIELD(COMPUTE_CAPABILITY_MAJOR, major),
	FIELD(COMPUTE_CAPABILITY_MINOR, minor),
	FIELD(TEXTURE_ALIGNMENT, textureAlignment),
	FIELD(TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment),
	FIELD(MULTIPROCESSOR_COUNT, multiProcessorCount),
	FIELD(INTEGRATED, integrated),
	FIELD(CAN_MAP_HOST_MEMORY, canMapHostMemory),
	FIELD(MAXIMUM_TEXTURE1D_WIDTH, maxTexture1D),
	FIELD(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, maxTexture1DMipmap),
	ELEMENT(MAXIMUM_TEXTURE2D_WIDTH, maxTexture2D, 0),
	ELEMENT(MAXIMUM_TEXTURE2D_HEIGHT, maxTexture2D, 1),
	ELEMENT(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, maxTexture2DMipmap, 0),
	ELEMENT(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, maxTexture2DMipmap, 1),
	ELEMENT(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, maxTexture2DLinear, 0),
	ELEMENT(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, maxTexture2DLinear, 1),
	ELEMENT(MAXIMUM_TEXTURE2D_LINEAR_PITCH, maxTexture2DLinear, 2),
	ELEMENT(MAXIMUM_TEXTURE2D_GATHER_WIDTH, maxTexture2DGather, 0),
	ELEMENT(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, maxTexture2DGather, 1),
	ELEMENT(MAXIMUM_TEXTURE3D_WIDTH, maxTexture3D, 0),
	ELEMENT(MAXIMUM_TEXTURE3D_HEIGHT, maxTexture3D, 1),
	ELEMENT(MAXIMUM_TEXTURE3D_DEPTH, maxTexture3D, 2),
	ELEMENT(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, maxTexture3DAlt, 0),
	ELEMENT(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, maxTexture3DAlt, 1),
	ELEMENT(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, maxTexture3DAlt, 2),
	FIELD(MAXIMUM_TEXTURECUBEMAP_WIDTH, maxTextureCubemap),
	ELEMENT(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, maxTexture1DLayered, 0),
	ELEMENT(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, maxTexture1DLayered, 1),
	ELEMENT(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, maxTexture2DLayered, 0),
	ELEMENT(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, maxTexture2DLayered, 1),
	ELEMENT(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, maxTexture2DLayered, 2),
	ELEMENT(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, maxTextureCubemapLayered, 0),
	ELEMENT(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, maxTextureCubemapLayered, 1),
	FIELD(MAXIMUM_SURFACE1D_WIDTH, maxSurface1D),
	ELEMENT(MAXIMUM_SURFACE2D_WIDTH, maxSurface2D, 0),
	ELEMENT(MAXIMUM_SURFACE2D_HEIGHT, maxSurface2D, 1),
	ELEMENT(MAXIMUM_SURFACE3D_WIDTH, maxSurface3D, 0),
	ELEMENT(MAXIMUM_SURFACE3D_HEIGHT, maxSurface3D, 1),
	ELEMENT(MAXIMUM_SURFACE3D_DEPTH, maxSurface3D, 2),
	ELEMENT(MAXIMUM_SURFACE1D_LAYERED_WIDTH, maxSurface1DLayered, 0),
	ELEMENT(MAXIMUM_SURFACE1D_LAYERED_LAYERS, maxSurface1DLayered, 1),
	ELEMENT(MAXIMUM_SURFACE2D_LAYERED_WIDTH, maxSurface2DLayered, 0),
	ELEMENT(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, maxSurface2DLayered, 1),
	ELEMENT(MAXIMUM_SURFACE2D_LAYERED_LAYERS, maxSurface2DLayered, 2),
	FIELD(MAXIMUM_SURFACECUBEMAP_WIDTH, maxSurfaceCubemap),
	ELEMENT(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, maxSurfaceCubemapLayered, 0),
	ELEMENT(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, maxSurfaceCubemapLayered, 1),
	FIELD(SURFACE_ALIGNMENT, surfaceAlignment),
	FIELD(CONCURRENT_KERNELS, concurrentKernels),
	FIELD(ECC_ENABLED, ECCEnabled),
	FIELD(PCI_BUS_ID, pciBusID),
	FIELD(PCI_DEVICE_ID, pciDeviceID),
	FIELD(PCI_DOMAIN_ID, pciDomainID),
	FIELD(TCC_DRIVER, tccDriver),
	FIELD(ASYNC_ENGINE_COUNT, asyncEngineCount),
	FIELD(UNIFIED_ADDRESSING, unifiedAddressing),
	FIELD(GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
	FIELD(L2_CACHE_SIZE, l2CacheSize),
	FIELD(MAX_PERSISTING_L2_CACHE_SIZE, persistingL2CacheMaxSize),
	FIELD(MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
	FIELD(STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
	FIELD(GLOBAL_L1_CACHE_SUPPORTED, globalL1CacheSupported),
	FIELD(LOCAL_L1_CACHE_SUPPORTED, localL1CacheSupported),
	FIELD(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor),
	FIELD(MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor),
	FIELD(MANAGED_MEMORY, managedMemory),
	FIELD(MULTI_GPU_BOARD, isMultiGpuBoard),
	FIELD(MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID),
	FIELD(HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported),
	FIELD(PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess),
	FIELD(CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess),
	FIELD(COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported),
	FIELD(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem),
	FIELD(COOPERATIVE_LAUNCH, cooperativeLaunch),
	FIELD(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin),
	FIELD(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, pageableMemoryAccessUsesHostPageTables),
	FIELD(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost),
	FIELD(MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor),
	FIELD(MAX_ACCESS_POLICY_WINDOW_SIZE, accessPolicyMaxWindowSize),
	FIELD(RESERVED_SHARED_MEMORY_PER_BLOCK, reservedSharedMemPerBlock),
	FIELD(HOST_REGISTER_SUPPORTED, hostRegisterSupported),
	FIELD(SPARSE_CUDA_ARRAY_SUPPORTED, sparseCudaArraySupported),
	FIELD(READ_ONLY_HOST_REGISTER_SUPPORTED, hostRegisterReadOnlySupported),
	FIELD(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, timelineSemaphoreInteropSupported),
	FIELD(MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
	FIELD(GPU_DIRECT_RDMA_SUPPORTED, gpuDirectRDMASupported),
	FIELD(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, gpuDirectRDMAFlushWritesOptions),
	FIELD(GPU_DIRECT_RDMA_WRITES_ORDERING, gpuDirectRDMAWritesOrdering),
	FIELD(MEMPOOL_SUPPORTED_HANDLE_TYPES, memoryPoolSupportedHandleTypes),
	FIELD(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, deferredMappingCudaArraySupported),
	FIELD(IPC_EVENT_SUPPORTED, ipcEventSupported),
	FIELD(CLUSTER_LAUNCH, clusterLaunch),
	FIELD(UNIFIED_FUNCTION_POINTERS, unifiedFunctionPointers),
#if CUDART_MAJOR < 13
	FIELD(CLOCK_RATE, clockRate),
	FIELD(GPU_OVERLAP, deviceOverlap),
	FIELD(KERNEL_EXEC_TIMEOUT, kernelExecTimeoutEnabled),
	FIELD(COMPUTE_MODE, computeMode),
	FIELD(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, maxTexture1DLinear),
	FIELD(MEMORY_CLOCK_RATE, memoryClockRate),
	FIELD(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, singleToDoublePrecisionPerfRatio),
	FIELD(COOPERATIVE_MULTI_DEVICE_LAUNCH, cooperativeMultiDeviceLaunch),
#else
	FIELD(NUMA_CONFIG, deviceNumaConfig),
	FIELD(NUMA_ID, deviceNumaId),
	FIELD(MPS_ENABLED, mpsEnabled),
	FIELD(HOST_NUMA_ID, hostNumaId),
	FIELD(GPU_PCI_DEVICE_ID, gpuPciDeviceID),
	FIELD(GPU_PCI_SUBSYSTEM_ID, gpuPciSubsystemID),
	FIELD(HOST_NUMA_MULTINODE_IPC_SUPPORTED, hostNumaMultinodeIpcSupported),
#endif
};

static CUresult rt_fill_prop(struct cudaDeviceProp *p, CUdevice dev)
{
	CUuuid uuid;
	CUresult result;
	size_t i, wide;
	int value;

	memset(p, 0, sizeof(*p));
	result = cuDeviceGetName(p->name, sizeof(p->name), dev);
	if (result == CUDA_SUCCESS)
		result = cuDeviceTotalMem_v2(&p->totalGlobalMem, dev);
	if (result == CUDA_SUCCESS)
		result = cuDeviceGetUuid_v2(&uuid, dev);
	if (result != CUDA_SUCCESS)
		return result;
	memcpy(&p->uuid, &uuid, sizeof(p->uuid));
	/* luid and its mask stay zero: they exist on Windows only. */
	for (i = 0; i < sizeof(prop_fields) / sizeof(prop_fields[0]); i++) {
		result = cuDeviceGetAttribute(&value, prop_fields[i].attrib, dev);
		/* An attribute newer than the driver is a feature that the device lacks. */
		if (result == CUDA_ERROR_INVALID_VALUE)
			continue;
		if (result != CUDA_SUCCESS)
			return result;
		if (prop_fields[i].wide) {
			wide = (size_t)value;
			memcpy((char *)p + prop_fields[i].offset, &wide, sizeof(wide));
		} else {
			memcpy((char *)p + prop_fields[i].offset, &value, sizeof(value));
		}
	}
	return CUDA_SUCCESS;
}

static cudaError_t rt_properties(int device, const struct cudaDeviceProp **out)
{
	struct rt_device *d;
	struct cudaDeviceProp *p, *first = NULL;
	CUresult result;
	cudaError_t error = rt_check_device(device);

	if (error != cudaSuccess)
		return error;
	d = &rt_devices[device];
	p = atomic_load_explicit(&d->prop, memory_order_acquire);
	if (!p) {
		p = malloc(sizeof(*p));
		if (!p)
			return cudaErrorMemoryAllocation;
		result = rt_fill_prop(p, d->handle);
		if (result != CUDA_SUCCESS) {
			free(p);
			return rt_translate(result);
		}
		/* Two threads may have asked at once: the first answer stays, both are the same. */
		if (!atomic_compare_exchange_strong_explicit(&d->prop, &first, p, memory_order_acq_rel,
							     memory_order_acquire)) {
			free(p);
			p = first;
		}
	}
	*out = p;
	return cudaSuccess;
}

static cudaError_t rt_get_properties(struct cudaDeviceProp *prop, int device, size_t bytes)
{
	const struct cudaDeviceProp *p;
	cudaError_t error;

	if (!prop)
		return rt_set(cudaErrorInvalidValue);
	error = rt_properties(device, &p);
	if (error == cudaSuccess)
		memcpy(prop, p, bytes);
	return rt_set(error);
}

#if CUDART_MAJOR >= 13
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	return rt_get_properties(prop, device, sizeof(*prop));
}
#else
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device)
{
	return rt_get_properties(prop, device, sizeof(*prop));
}

/*
 * The plain name is what programs built for CUDA 11 call. Their structure ends after
 * reservedSharedMemPerBlock; up to there the layout is the same.
 */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	return rt_get_properties(prop, device, offsetof(struct cudaDeviceProp, hostRegisterSupported));
}
#endif

/* Each property that the program set to non-zero and the device meets counts one; the best device wins. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *want)
{
	const struct cudaDeviceProp *p;
	cudaError_t error = rt_init();
	int i, score, best = -1;

	if (error != cudaSuccess)
		return rt_set(error);
	if (!device || !want)
		return rt_set(cudaErrorInvalidValue);
	for (i = 0; i < rt_device_count(); i++) {
		error = rt_properties(i, &p);
		if (error != cudaSuccess)
			return rt_set(error);
		score = (want->major && (p->major > want->major ||
					 (p->major == want->major && p->minor >= want->minor)));
		score += want->totalGlobalMem && p->totalGlobalMem >= want->totalGlobalMem;
		score += want->multiProcessorCount && p->multiProcessorCount >= want->multiProcessorCount;
		score += want->sharedMemPerBlock && p->sharedMemPerBlock >= want->sharedMemPerBlock;
		score += want->maxThreadsPerBlock && p->maxThreadsPerBlock >= want->maxThreadsPerBlock;
		score += want->integrated && p->integrated;
		score += want->canMapHostMemory && p->canMapHostMemory;
		if (score > best) {
			best = score;
			*device = i;
		}
	}
	return cudaSuccess;
}
