/* SPDX-License-Identifier: MIT */
/*
 * The CUDA driver API, as far as libcuda-lite implements it. Our own header: the names, values and
 * layouts are CUDA's published interface, everything else is written here.
 *
 * Every function is declared under the name that libcuda.so.1 exports (with _v2, _ptsz, ...). Macros
 * at the end give the unsuffixed names that programs write; define __CUDA_API_VERSION_INTERNAL to
 * leave them out (the libraries do, since they define old and new entry points side by side), or
 * CUDA_LITE_API_VERSION as 12000 to write CUDA 12's signatures instead of 13's.
 *
 * Names that libcuda.so.1 exports but that are not declared here answer CUDA_ERROR_NOT_SUPPORTED.
 */
#ifndef CUDA_LITE_CUDA_H
#define CUDA_LITE_CUDA_H

#define __cuda_cuda_h__	/* what other people's headers test for */

#define CUDA_VERSION 13010
#ifndef CUDA_LITE_API_VERSION
#define CUDA_LITE_API_VERSION CUDA_VERSION
#endif

#include "cuda_lite_errors.h"
#include "cuda_lite_device_attributes.h"
#include "cuda_lite_enums.h"
#include "cuda_lite_types.h"
#include "cuda_lite_texture.h"
#include "cuda_lite_tensormap.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A call that works on the default stream exists twice: on the legacy stream, and (_ptsz for calls
 * that take a stream, _ptds for those that do not) on the calling thread's own stream.
 */
#define CUDA_LITE_PTSZ(name, args) \
	CUresult CUDAAPI name args; \
	CUresult CUDAAPI name##_ptsz args
#define CUDA_LITE_PTDS(name, args) \
	CUresult CUDAAPI name args; \
	CUresult CUDAAPI name##_ptds args

/* Start, errors, entry points */
CUresult CUDAAPI cuInit(unsigned int flags);
CUresult CUDAAPI cuDriverGetVersion(int *version);
CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name);
CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags);
CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status);
CUresult CUDAAPI cuGetProcAddress_v2_ptsz(const char *symbol, void **fn, int version, cuuint64_t flags,
					  CUdriverProcAddressQueryResult *status);
/* The error log */
typedef enum CUlogLevel_enum { CU_LOG_LEVEL_ERROR = 0, CU_LOG_LEVEL_WARNING = 1 } CUlogLevel;
typedef struct CUlogsCallbackEntry_st *CUlogsCallbackHandle;
typedef void (CUDA_CB *CUlogsCallback)(void *user, CUlogLevel level, char *message, size_t length);
typedef unsigned int CUlogIterator;
CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback fn, void *user, CUlogsCallbackHandle *callback);
CUresult CUDAAPI cuLogsUnregisterCallback(CUlogsCallbackHandle callback);
CUresult CUDAAPI cuLogsCurrent(CUlogIterator *iterator, unsigned int flags);
CUresult CUDAAPI cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned int flags);
CUresult CUDAAPI cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags);
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id);

/* Devices */
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal);
CUresult CUDAAPI cuDeviceGetCount(int *count);
CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev);
CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev);
CUresult CUDAAPI cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice dev);
CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev);
CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attrib, CUdevice dev);
CUresult CUDAAPI cuDeviceGetProperties(CUdevprop *prop, CUdevice dev);
CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev);
CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *bus_id);
CUresult CUDAAPI cuDeviceGetPCIBusId(char *bus_id, int len, CUdevice dev);
CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer);
typedef enum CUatomicOperation_enum {
	CU_ATOMIC_OPERATION_INTEGER_ADD = 0, CU_ATOMIC_OPERATION_INTEGER_MIN = 1, CU_ATOMIC_OPERATION_INTEGER_MAX = 2,
	CU_ATOMIC_OPERATION_INTEGER_INCREMENT = 3, CU_ATOMIC_OPERATION_INTEGER_DECREMENT = 4, CU_ATOMIC_OPERATION_AND = 5,
	CU_ATOMIC_OPERATION_OR = 6, CU_ATOMIC_OPERATION_XOR = 7, CU_ATOMIC_OPERATION_EXCHANGE = 8, CU_ATOMIC_OPERATION_CAS = 9,
	CU_ATOMIC_OPERATION_FLOAT_ADD = 10, CU_ATOMIC_OPERATION_FLOAT_MIN = 11, CU_ATOMIC_OPERATION_FLOAT_MAX = 12,
	CU_ATOMIC_OPERATION_MAX
} CUatomicOperation;
typedef enum CUatomicOperationCapability_enum {
	CU_ATOMIC_CAPABILITY_SIGNED = 1 << 0, CU_ATOMIC_CAPABILITY_UNSIGNED = 1 << 1, CU_ATOMIC_CAPABILITY_REDUCTION = 1 << 2,
	CU_ATOMIC_CAPABILITY_SCALAR_32 = 1 << 3, CU_ATOMIC_CAPABILITY_SCALAR_64 = 1 << 4, CU_ATOMIC_CAPABILITY_SCALAR_128 = 1 << 5,
	CU_ATOMIC_CAPABILITY_VECTOR_32x4 = 1 << 6
} CUatomicOperationCapability;
CUresult CUDAAPI cuDeviceGetHostAtomicCapabilities(unsigned int *caps, const CUatomicOperation *ops, unsigned int n, CUdevice dev);
CUresult CUDAAPI cuDeviceGetP2PAtomicCapabilities(unsigned int *caps, const CUatomicOperation *ops, unsigned int n, CUdevice src,
						  CUdevice dst);
CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice src,
					 CUdevice dst);
CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev);
CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
						    unsigned channels, CUdevice dev);
CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool);
/* By place and kind: PINNED memory of a device has pools, no other (NOT_SUPPORTED) */
CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
CUresult CUDAAPI cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);

/* Primary contexts and contexts */
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev);
CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags);
CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags);
CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int n_params,
				unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags,
				CUdevice dev);
CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx);
CUresult CUDAAPI cuCtxAttach(CUcontext *ctx, unsigned int flags);
CUresult CUDAAPI cuCtxDetach(CUcontext ctx);
CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx);
CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *ctx);
CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx);
CUresult CUDAAPI cuCtxGetCurrent(CUcontext *ctx);
CUresult CUDAAPI cuCtxGetDevice(CUdevice *dev);
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx);
CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags);
CUresult CUDAAPI cuCtxSetFlags(unsigned int flags);
CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *id);
CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version);
CUresult CUDAAPI cuCtxSynchronize(void);
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx);
CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit);
CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value);
CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config);
CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config);
CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *config);
CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult CUDAAPI cuCtxResetPersistingL2Cache(void);
CUresult CUDAAPI cuCtxGetExecAffinity(CUexecAffinityParam *param, CUexecAffinityType type);
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer);

/* Modules and libraries */
CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname);
CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image);
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n_options,
				    CUjit_option *options, void **values);
CUresult CUDAAPI cuLinkCreate_v2(unsigned int n_options, CUjit_option *options, void **values, CUlinkState *state);
CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
				  unsigned int n_options, CUjit_option *options, void **values);
CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int n_options,
				  CUjit_option *options, void **values);
CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubin, size_t *size);
CUresult CUDAAPI cuLinkDestroy(CUlinkState state);
CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatbin);
CUresult CUDAAPI cuModuleUnload(CUmodule module);
CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode);
CUresult CUDAAPI cuModuleGetFunction(CUfunction *fn, CUmodule module, const char *name);
CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule module);
CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *fns, unsigned int n, CUmodule module);
CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
				      const char *name);
CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
				   void **jit_values, unsigned int n_jit,
				   CUlibraryOption *lib_options, void **lib_values, unsigned int n_lib);
CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fname, CUjit_option *jit_options,
				       void **jit_values, unsigned int n_jit,
				       CUlibraryOption *lib_options, void **lib_values,
				       unsigned int n_lib);
CUresult CUDAAPI cuLibraryUnload(CUlibrary library);
CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary library);
CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary library);
CUresult CUDAAPI cuLibraryGetModule(CUmodule *module, CUlibrary library);
CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
				    const char *name);
CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
				     const char *name);
CUresult CUDAAPI cuLibraryGetUnifiedFunction(void **fn, CUlibrary library, const char *symbol);
CUresult CUDAAPI cuKernelGetFunction(CUfunction *fn, CUkernel kernel);
CUresult CUDAAPI cuKernelGetLibrary(CUlibrary *library, CUkernel kernel);
CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel);
CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute attrib, CUkernel kernel,
				      CUdevice dev);
CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int value, CUkernel kernel,
				      CUdevice dev);
CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev);
CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size);
CUresult CUDAAPI cuKernelGetParamCount(CUkernel kernel, size_t *count);

/* Functions and launches */
CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attrib, CUfunction fn);
CUresult CUDAAPI cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attrib, int value);
CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config);
CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction fn, CUsharedconfig config);
CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction fn);
CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction fn);
CUresult CUDAAPI cuFuncGetParamInfo(CUfunction fn, size_t index, size_t *offset, size_t *size);
CUresult CUDAAPI cuFuncGetParamCount(CUfunction fn, size_t *count);
CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction fn);
CUresult CUDAAPI cuFuncLoad(CUfunction fn);
CUDA_LITE_PTSZ(cuLaunchKernel, (CUfunction fn, unsigned int grid_x, unsigned int grid_y,
				unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				unsigned int block_z, unsigned int shared_bytes, CUstream stream,
				void **params, void **extra));
CUDA_LITE_PTSZ(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction fn, void **params,
				  void **extra));
CUDA_LITE_PTSZ(cuLaunchCooperativeKernel, (CUfunction fn, unsigned int grid_x, unsigned int grid_y,
					   unsigned int grid_z, unsigned int block_x,
					   unsigned int block_y, unsigned int block_z,
					   unsigned int shared_bytes, CUstream stream, void **params));
CUDA_LITE_PTSZ(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *user));
CUDA_LITE_PTSZ(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn fn, void *user, unsigned int syncMode));
CUresult CUDAAPI cuFuncSetBlockShape(CUfunction fn, int x, int y, int z);
CUresult CUDAAPI cuFuncSetSharedSize(CUfunction fn, unsigned int bytes);
CUresult CUDAAPI cuParamSetSize(CUfunction fn, unsigned int bytes);
CUresult CUDAAPI cuParamSeti(CUfunction fn, int offset, unsigned int value);
CUresult CUDAAPI cuParamSetf(CUfunction fn, int offset, float value);
CUresult CUDAAPI cuParamSetv(CUfunction fn, int offset, void *ptr, unsigned int bytes);
CUresult CUDAAPI cuLaunch(CUfunction fn);
CUresult CUDAAPI cuLaunchGrid(CUfunction fn, int width, int height);
CUresult CUDAAPI cuLaunchGridAsync(CUfunction fn, int width, int height, CUstream stream);

/* Occupancy */
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction fn, int block_size,
							     size_t dynamic_shared);
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction fn,
								      int block_size,
								      size_t dynamic_shared,
								      unsigned int flags);
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, CUfunction fn,
						  CUoccupancyB2DSize block_to_shared,
						  size_t dynamic_shared, int block_limit);
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size, CUfunction fn,
							   CUoccupancyB2DSize block_to_shared,
							   size_t dynamic_shared, int block_limit,
							   unsigned int flags);
CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction fn, int blocks,
							 int block_size);
CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn,
						    const CUlaunchConfig *config);
CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *clusters, CUfunction fn,
					      const CUlaunchConfig *config);

/* Memory */
CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes);
CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
				    unsigned int element_bytes);
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr ptr);
CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
CUresult CUDAAPI cuMemAllocHost_v2(void **ptr, size_t bytes);
CUresult CUDAAPI cuMemFreeHost(void *ptr);
CUresult CUDAAPI cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags);
CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned int flags);
CUresult CUDAAPI cuMemHostGetFlags(unsigned int *flags, void *ptr);
CUresult CUDAAPI cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size);
CUresult CUDAAPI cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size);
CUresult CUDAAPI cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size);
CUresult CUDAAPI cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size);
CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr);
CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags);
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr ptr);
CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event);
CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle);
CUresult CUDAAPI cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags);
CUresult CUDAAPI cuMemHostUnregister(void *ptr);
CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags);
CUDA_LITE_PTSZ(cuMemPrefetchAsync, (CUdeviceptr ptr, size_t bytes, CUdevice dev, CUstream stream));
CUDA_LITE_PTSZ(cuMemPrefetchAsync_v2, (CUdeviceptr ptr, size_t bytes, CUmemLocation location,
				       unsigned int flags, CUstream stream));
CUresult CUDAAPI cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice dev);
CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice,
				CUmemLocation location);
CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t data_size, CUmem_range_attribute attrib,
					CUdeviceptr ptr, size_t bytes);
CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *data_sizes, CUmem_range_attribute *attribs,
					 size_t n, CUdeviceptr ptr, size_t bytes);
CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attrib, CUdeviceptr ptr);
CUresult CUDAAPI cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attribs, void **data,
					CUdeviceptr ptr);
CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attrib, CUdeviceptr ptr);

/* Copies */
CUDA_LITE_PTDS(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes));
CUDA_LITE_PTSZ(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream));
CUDA_LITE_PTDS(cuMemcpyPeer, (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			      size_t bytes));
CUDA_LITE_PTSZ(cuMemcpyPeerAsync, (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
				   CUcontext src_ctx, size_t bytes, CUstream stream));
CUDA_LITE_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t bytes));
CUDA_LITE_PTDS(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t bytes));
CUDA_LITE_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes));
CUDA_LITE_PTSZ(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream));
CUDA_LITE_PTSZ(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream));
CUDA_LITE_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy));
CUDA_LITE_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy));
CUDA_LITE_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream));
CUDA_LITE_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy));
CUDA_LITE_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream));
CUDA_LITE_PTDS(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *copy));
CUDA_LITE_PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream));

/* Fills; n counts elements */
CUDA_LITE_PTDS(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t n));
CUDA_LITE_PTDS(cuMemsetD16_v2, (CUdeviceptr dst, unsigned short value, size_t n));
CUDA_LITE_PTDS(cuMemsetD32_v2, (CUdeviceptr dst, unsigned int value, size_t n));
CUDA_LITE_PTDS(cuMemsetD2D8_v2, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
				 size_t height));
CUDA_LITE_PTDS(cuMemsetD2D16_v2, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
				  size_t height));
CUDA_LITE_PTDS(cuMemsetD2D32_v2, (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
				  size_t height));
CUDA_LITE_PTSZ(cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream));
CUDA_LITE_PTSZ(cuMemsetD16Async, (CUdeviceptr dst, unsigned short value, size_t n, CUstream stream));
CUDA_LITE_PTSZ(cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t n, CUstream stream));
CUDA_LITE_PTSZ(cuMemsetD2D8Async, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
				   size_t height, CUstream stream));
CUDA_LITE_PTSZ(cuMemsetD2D16Async, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
				    size_t height, CUstream stream));
CUDA_LITE_PTSZ(cuMemsetD2D32Async, (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
				    size_t height, CUstream stream));

/* Virtual memory management */
CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
				     unsigned long long flags);
CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size);
CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags);
CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size);
CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t n);
CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
				CUdeviceptr ptr);
CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option);
CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
							CUmemGenericAllocationHandle handle);
CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr);
CUresult CUDAAPI cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
					      CUmemAllocationHandleType type, unsigned long long flags);
CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
						CUmemAllocationHandleType type);

/* Stream-ordered allocation */
CUDA_LITE_PTSZ(cuMemAllocAsync, (CUdeviceptr *ptr, size_t bytes, CUstream stream));
CUDA_LITE_PTSZ(cuMemFreeAsync, (CUdeviceptr ptr, CUstream stream));
CUDA_LITE_PTSZ(cuMemAllocFromPoolAsync, (CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
					 CUstream stream));
CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool);
CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t min_bytes);
CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool, CUmemAllocationHandleType type,
						  unsigned long long flags);
CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, CUmemAllocationHandleType type,
						    unsigned long long flags);
CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr);
CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data);
CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n);
CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				    CUmemLocation *location);

/* Streams */
CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream);
CUDA_LITE_PTSZ(cuStreamGetPriority, (CUstream stream, int *priority));
CUDA_LITE_PTSZ(cuStreamGetFlags, (CUstream stream, unsigned int *flags));
CUDA_LITE_PTSZ(cuStreamGetId, (CUstream stream, unsigned long long *id));
CUDA_LITE_PTSZ(cuStreamGetCtx, (CUstream stream, CUcontext *ctx));
CUDA_LITE_PTSZ(cuStreamGetCtx_v2, (CUstream stream, CUcontext *ctx, CUgreenCtx *green));
CUDA_LITE_PTSZ(cuStreamGetDevice, (CUstream stream, CUdevice *dev));
CUDA_LITE_PTSZ(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags));
CUDA_LITE_PTSZ(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void *user,
				     unsigned int flags));
CUDA_LITE_PTSZ(cuStreamQuery, (CUstream stream));
CUDA_LITE_PTSZ(cuStreamSynchronize, (CUstream stream));
CUDA_LITE_PTSZ(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr ptr, size_t bytes,
					unsigned int flags));
CUDA_LITE_PTSZ(cuStreamCopyAttributes, (CUstream dst, CUstream src));
CUDA_LITE_PTSZ(cuStreamGetAttribute, (CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value));
CUDA_LITE_PTSZ(cuStreamSetAttribute, (CUstream stream, CUstreamAttrID attr,
				      const CUstreamAttrValue *value));
CUDA_LITE_PTSZ(cuStreamWaitValue32_v2, (CUstream stream, CUdeviceptr addr, cuuint32_t value,
					unsigned int flags));
CUDA_LITE_PTSZ(cuStreamWaitValue64_v2, (CUstream stream, CUdeviceptr addr, cuuint64_t value,
					unsigned int flags));
CUDA_LITE_PTSZ(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr addr, cuuint32_t value,
					 unsigned int flags));
CUDA_LITE_PTSZ(cuStreamWriteValue64_v2, (CUstream stream, CUdeviceptr addr, cuuint64_t value,
					 unsigned int flags));

/* Events */
CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags);
CUDA_LITE_PTSZ(cuEventRecord, (CUevent event, CUstream stream));
CUDA_LITE_PTSZ(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags));
CUresult CUDAAPI cuEventQuery(CUevent event);
CUresult CUDAAPI cuEventSynchronize(CUevent event);
CUresult CUDAAPI cuEventDestroy_v2(CUevent event);
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult CUDAAPI cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end);

/* Profilers: there is none to start */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#ifdef __cplusplus
}
#endif

#include "cuda_lite_batch.h"
#include "cuda_lite_graph.h"
#include "cuda_lite_green.h"

/* its name before CUDA 11.1 */
#define CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED

#ifndef __CUDA_API_VERSION_INTERNAL
#include "cuda_lite_aliases.h"
#endif

#endif
