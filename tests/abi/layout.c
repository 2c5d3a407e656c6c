/* SPDX-License-Identifier: MIT */
/*
 * Layouts and numbers that programs compiled elsewhere rely on, as CUDA publishes them. Compiled by
 * test_headers.sh for both major versions; being compilable is the test.
 */
#include <stddef.h>

#include "cuda_runtime_api.h"
#include "cuda.h"

/* the words in front of functions say nothing to a C compiler */
__host__ __device__ int marked(int x);

#ifdef __cplusplus
#define SAME(what, value) static_assert((what) == (value), #what)
#else
#define SAME(what, value) _Static_assert((what) == (value), #what)
#endif
#define AT(type, field, offset) SAME(offsetof(type, field), offset)

SAME(sizeof(CUdeviceptr), 8);
SAME(sizeof(CUuuid), 16);
SAME(sizeof(CUdevprop), 56);
SAME(sizeof(CUipcMemHandle), 64);
SAME(sizeof(CUDA_ARRAY3D_DESCRIPTOR), 40);
AT(CUDA_MEMCPY2D, dstMemoryType, 72);
AT(CUDA_MEMCPY2D, WidthInBytes, 112);
AT(CUDA_MEMCPY3D, srcPitch, 72);
AT(CUDA_MEMCPY3D, Depth, 192);
AT(CUmemAllocationProp, location, 8);
AT(CUmemAllocationProp, allocFlags, 24);
AT(CUmemPoolProps, maxSize, 24);
AT(CUlaunchConfig, hStream, 32);
AT(CUlaunchConfig, numAttrs, 48);
AT(CUlaunchAttribute, value, 8);
SAME(sizeof(CUctxCreateParams), 24);

SAME(CUDA_ERROR_NOT_SUPPORTED, 801);
SAME(CUDA_ERROR_ILLEGAL_ADDRESS, 700);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75);
SAME(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102);
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8);
SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
SAME(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2);

AT(struct cudaDeviceProp, uuid, 256);
AT(struct cudaDeviceProp, luid, 272);
AT(struct cudaDeviceProp, totalGlobalMem, 288);
AT(struct cudaDeviceProp, sharedMemPerBlock, 296);
AT(struct cudaDeviceProp, warpSize, 308);
AT(struct cudaDeviceProp, maxGridSize, 336);
#if CUDART_VERSION < 13000
SAME(sizeof(struct cudaDeviceProp), 1032);
AT(struct cudaDeviceProp, clockRate, 348);
AT(struct cudaDeviceProp, totalConstMem, 352);
AT(struct cudaDeviceProp, major, 360);
AT(struct cudaDeviceProp, multiProcessorCount, 388);
AT(struct cudaDeviceProp, integrated, 396);
SAME(sizeof(struct cudaPointerAttributes), 24);
#else
SAME(sizeof(struct cudaDeviceProp), 1008);
AT(struct cudaDeviceProp, totalConstMem, 352);
AT(struct cudaDeviceProp, major, 360);
AT(struct cudaDeviceProp, multiProcessorCount, 384);
AT(struct cudaDeviceProp, integrated, 388);
SAME(sizeof(struct cudaPointerAttributes), 88);
#endif
SAME(sizeof(struct cudaFuncAttributes), 144);
AT(struct cudaFuncAttributes, ptxVersion, 32);
SAME(sizeof(cudaLaunchConfig_t), 56);
AT(cudaLaunchConfig_t, stream, 32);
SAME(sizeof(struct cudaMemcpy3DParms), 160);
SAME(sizeof(struct cudaMemPoolProps), 88);
SAME(sizeof(dim3), 12);
SAME(sizeof(float4), 16);
SAME(cudaErrorNotSupported, 801);
SAME(cudaDevAttrCooperativeLaunch, 95);
SAME(cudaFuncAttributeMaxDynamicSharedMemorySize, 8);
