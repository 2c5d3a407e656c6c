/* SPDX-License-Identifier: MIT */
/*
 * The CUDA runtime API, as far as libcuda-lite implements it; C and C++. Our own header: names,
 * values and layouts are CUDA's published interface, everything else is written here.
 *
 * CUDART_VERSION (default 13010) selects the layouts and signatures of libcudart.so.12 or .so.13: say
 * -DCUDART_VERSION=12080 and link with libcudart.so.12, or leave it and link with libcudart.so.13.
 */
#ifndef CUDA_LITE_CUDA_RUNTIME_API_H
#define CUDA_LITE_CUDA_RUNTIME_API_H

#define __CUDA_RUNTIME_API_H__	/* what other people's headers test for; helper_cuda.h has checkCudaErrors() by the second */
#define __DRIVER_TYPES_H__

#ifndef CUDART_VERSION
#define CUDART_VERSION 13010
#endif

#ifndef __CUDA__
#include "host_defines.h"	/* MAGMA's headers for C mark functions so */
#endif
#include "cuda_lite_runtime_types.h"
#include "cuda_lite_device_prop.h"

#define CUDARTAPI
#define CUDART_CB

#ifdef __cplusplus
extern "C" {
#define CUDA_LITE_DEFAULT(value) = value
#else
#define CUDA_LITE_DEFAULT(value)
#endif

/* A call on the default stream exists twice: on the legacy stream, and on the thread's own. */
#define CUDA_LITE_RT_PTSZ(name, args) \
	cudaError_t name args; \
	cudaError_t name##_ptsz args
#define CUDA_LITE_RT_PTDS(name, args) \
	cudaError_t name args; \
	cudaError_t name##_ptds args

/* Errors and versions */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);

/* The error log */
typedef enum cudaLogLevel { cudaLogLevelError = 0, cudaLogLevelWarning = 1 } cudaLogLevel;
typedef struct CUlogsCallbackEntry_st *cudaLogsCallbackHandle;
typedef unsigned int cudaLogIterator;
typedef void (*cudaLogsCallback_t)(void *user, cudaLogLevel level, char *message, size_t length);
cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t fn, void *user, cudaLogsCallbackHandle *callback);
cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback);
cudaError_t cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags);
cudaError_t cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned int flags);
cudaError_t cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags);

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);

/* Devices */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaSetValidDevices(int *devices, int n);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
#if CUDART_VERSION < 13000
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device);
#endif
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int len, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus_id);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc,
						 int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
enum cudaAtomicOperation {
	cudaAtomicOperationIntegerAdd = 0, cudaAtomicOperationIntegerMin = 1, cudaAtomicOperationIntegerMax = 2,
	cudaAtomicOperationIntegerIncrement = 3, cudaAtomicOperationIntegerDecrement = 4, cudaAtomicOperationAnd = 5,
	cudaAtomicOperationOr = 6, cudaAtomicOperationXOR = 7, cudaAtomicOperationExchange = 8, cudaAtomicOperationCAS = 9,
	cudaAtomicOperationFloatAdd = 10, cudaAtomicOperationFloatMin = 11, cudaAtomicOperationFloatMax = 12
};
cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int *caps, const enum cudaAtomicOperation *ops, unsigned int n, int device);
cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int *caps, const enum cudaAtomicOperation *ops, unsigned int n, int src, int dst);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int src, int dst);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaCtxResetPersistingL2Cache(void);
#if CUDART_VERSION < 13000
cudaError_t cudaThreadExit(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config);
#endif
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f);

/* Memory */
cudaError_t cudaMalloc(void **ptr, size_t bytes);
cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent);
cudaError_t cudaFree(void *ptr);
cudaError_t cudaMallocHost(void **ptr, size_t bytes);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr);
cudaError_t cudaIpcOpenMemHandle(void **ptr, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *ptr);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *ptr);
cudaError_t cudaHostGetDevicePointer(void **dptr, void *ptr, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned int flags CUDA_LITE_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr);
#if CUDART_VERSION >= 13000
cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location);
CUDA_LITE_RT_PTSZ(cudaMemPrefetchAsync, (const void *ptr, size_t bytes, struct cudaMemLocation location,
					 unsigned int flags, cudaStream_t stream CUDA_LITE_DEFAULT(0)));
#else
cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise_v2(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation location);
CUDA_LITE_RT_PTSZ(cudaMemPrefetchAsync, (const void *ptr, size_t bytes, int device,
					 cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaMemPrefetchAsync_v2, (const void *ptr, size_t bytes,
					    struct cudaMemLocation location, unsigned int flags,
					    cudaStream_t stream CUDA_LITE_DEFAULT(0)));
#endif
cudaError_t cudaMemRangeGetAttribute(void *data, size_t data_size, enum cudaMemRangeAttribute attribute,
				     const void *ptr, size_t bytes);
cudaError_t cudaMemRangeGetAttributes(void **data, size_t *data_sizes,
				      enum cudaMemRangeAttribute *attributes, size_t n, const void *ptr,
				      size_t bytes);

/* Stream-ordered allocation */
CUDA_LITE_RT_PTSZ(cudaMallocAsync, (void **ptr, size_t bytes, cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaFreeAsync, (void *ptr, cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaMallocFromPoolAsync, (void **ptr, size_t bytes, cudaMemPool_t pool,
					    cudaStream_t stream));
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t min_bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value);
cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type,
					       unsigned int flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type,
						 unsigned int flags);
cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *ptr);
cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n);
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
				 struct cudaMemLocation *location);

/* Copies and fills */
CUDA_LITE_RT_PTDS(cudaMemcpy, (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpyAsync, (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
				    cudaStream_t stream CUDA_LITE_DEFAULT(0)));
cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
				cudaStream_t stream CUDA_LITE_DEFAULT(0));
CUDA_LITE_RT_PTDS(cudaMemcpy2D, (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
				 size_t height, enum cudaMemcpyKind kind));
CUDA_LITE_RT_PTSZ(cudaMemcpy2DAsync, (void *dst, size_t dpitch, const void *src, size_t spitch,
				      size_t width, size_t height, enum cudaMemcpyKind kind,
				      cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p));
CUDA_LITE_RT_PTSZ(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p,
				      cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *p));
CUDA_LITE_RT_PTSZ(cudaMemcpy3DPeerAsync, (const struct cudaMemcpy3DPeerParms *p,
					  cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemcpyToSymbol, (const void *symbol, const void *src, size_t bytes,
				       size_t offset CUDA_LITE_DEFAULT(0),
				       enum cudaMemcpyKind kind CUDA_LITE_DEFAULT(cudaMemcpyHostToDevice)));
CUDA_LITE_RT_PTDS(cudaMemcpyFromSymbol, (void *dst, const void *symbol, size_t bytes,
					 size_t offset CUDA_LITE_DEFAULT(0),
					 enum cudaMemcpyKind kind CUDA_LITE_DEFAULT(cudaMemcpyDeviceToHost)));
CUDA_LITE_RT_PTSZ(cudaMemcpyToSymbolAsync, (const void *symbol, const void *src, size_t bytes,
					    size_t offset, enum cudaMemcpyKind kind,
					    cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaMemcpyFromSymbolAsync, (void *dst, const void *symbol, size_t bytes, size_t offset,
					      enum cudaMemcpyKind kind,
					      cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemset, (void *dst, int value, size_t bytes));
CUDA_LITE_RT_PTSZ(cudaMemsetAsync, (void *dst, int value, size_t bytes,
				    cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemset2D, (void *dst, size_t pitch, int value, size_t width, size_t height));
CUDA_LITE_RT_PTSZ(cudaMemset2DAsync, (void *dst, size_t pitch, int value, size_t width, size_t height,
				      cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTDS(cudaMemset3D, (struct cudaPitchedPtr dst, int value, struct cudaExtent extent));
CUDA_LITE_RT_PTSZ(cudaMemset3DAsync, (struct cudaPitchedPtr dst, int value, struct cudaExtent extent,
				      cudaStream_t stream CUDA_LITE_DEFAULT(0)));
cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);

/* Streams */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
CUDA_LITE_RT_PTSZ(cudaStreamGetPriority, (cudaStream_t stream, int *priority));
CUDA_LITE_RT_PTSZ(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags));
CUDA_LITE_RT_PTSZ(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id));
CUDA_LITE_RT_PTSZ(cudaStreamGetDevice, (cudaStream_t stream, int *device));
CUDA_LITE_RT_PTSZ(cudaStreamSynchronize, (cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaStreamQuery, (cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event,
					unsigned int flags CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t callback, void *user,
					  unsigned int flags));
CUDA_LITE_RT_PTSZ(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t fn, void *user));
CUDA_LITE_RT_PTSZ(cudaLaunchHostFunc_v2, (cudaStream_t stream, cudaHostFn_t fn, void *user, unsigned int syncMode));
CUDA_LITE_RT_PTSZ(cudaStreamAttachMemAsync, (cudaStream_t stream, void *ptr,
					     size_t bytes CUDA_LITE_DEFAULT(0),
					     unsigned int flags CUDA_LITE_DEFAULT(cudaMemAttachSingle)));
CUDA_LITE_RT_PTSZ(cudaStreamCopyAttributes, (cudaStream_t dst, cudaStream_t src));
CUDA_LITE_RT_PTSZ(cudaStreamGetAttribute, (cudaStream_t stream, cudaStreamAttrID attr,
					   cudaStreamAttrValue *value));
CUDA_LITE_RT_PTSZ(cudaStreamSetAttribute, (cudaStream_t stream, cudaStreamAttrID attr,
					   const cudaStreamAttrValue *value));

/* Events */
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
CUDA_LITE_RT_PTSZ(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream CUDA_LITE_DEFAULT(0),
					     unsigned int flags CUDA_LITE_DEFAULT(0)));
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);

/* Kernels */
CUDA_LITE_RT_PTSZ(cudaLaunchKernel, (const void *func, dim3 grid, dim3 block, void **args, size_t shared,
				     cudaStream_t stream));
CUDA_LITE_RT_PTSZ(cudaLaunchKernelExC, (const cudaLaunchConfig_t *config, const void *func, void **args));
CUDA_LITE_RT_PTSZ(cudaLaunchCooperativeKernel, (const void *func, dim3 grid, dim3 block, void **args,
						size_t shared, cudaStream_t stream));
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value);
cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config);
cudaError_t cudaFuncGetName(const char **name, const void *func);
cudaError_t cudaFuncGetParamInfo(const void *func, size_t index, size_t *offset, size_t *size);
cudaError_t cudaFuncGetParamCount(const void *func, size_t *count);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol);
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *symbol);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int block_size,
							  size_t shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func,
								   int block_size, size_t shared,
								   unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *func, int blocks,
						      int block_size);
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *func,
						 const cudaLaunchConfig_t *config);
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *func,
					   const cudaLaunchConfig_t *config);

/* Libraries: images loaded by the program itself. The options are the driver API's. */
enum cudaJitOption { cudaJitMaxRegisters = 0 };
enum cudaLibraryOption {
	cudaLibraryHostUniversalFunctionAndDataTable = 0,
	cudaLibraryBinaryIsPreserved = 1
};
cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
				void **jit_values, unsigned int n_jit,
				enum cudaLibraryOption *lib_options, void **lib_values, unsigned int n_lib);
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fname,
				    enum cudaJitOption *jit_options, void **jit_values, unsigned int n_jit,
				    enum cudaLibraryOption *lib_options, void **lib_values,
				    unsigned int n_lib);
cudaError_t cudaLibraryUnload(cudaLibrary_t library);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library);
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int n, cudaLibrary_t library);
cudaError_t cudaLibraryGetGlobal(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetManaged(void **ptr, size_t *bytes, cudaLibrary_t library, const char *name);
cudaError_t cudaLibraryGetUnifiedFunction(void **fn, cudaLibrary_t library, const char *symbol);
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
					    int device);

/* The driver underneath */
CUDA_LITE_RT_PTSZ(cudaGetDriverEntryPoint, (const char *symbol, void **fn, unsigned long long flags,
					    enum cudaDriverEntryPointQueryResult *status CUDA_LITE_DEFAULT(0)));
CUDA_LITE_RT_PTSZ(cudaGetDriverEntryPointByVersion, (const char *symbol, void **fn, unsigned int version,
						     unsigned long long flags,
						     enum cudaDriverEntryPointQueryResult *status CUDA_LITE_DEFAULT(0)));
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

/* What compilers emit calls to */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_fn, char *device_fn, const char *device_name,
			    int thread_limit, void *tid, void *bid, void *block_dim, void *grid_dim,
			    int *warp_size);
void __cudaRegisterVar(void **handle, char *host_var, char *device_address, const char *device_name,
		       int ext, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host_var, char *device_address,
			      const char *device_name, int ext, size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared CUDA_LITE_DEFAULT(0),
					 struct CUstream_st *stream CUDA_LITE_DEFAULT(0));
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host_fn);
CUDA_LITE_RT_PTSZ(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				       size_t shared, cudaStream_t stream));

#include "cuda_lite_runtime_graph.h"

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch, size_t xsize, size_t ysize)
{
	struct cudaPitchedPtr p = { ptr, pitch, xsize, ysize };

	return p;
}

static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
	struct cudaPos p = { x, y, z };

	return p;
}

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
	struct cudaExtent e = { width, height, depth };

	return e;
}

#ifdef __cplusplus
}
#endif

#include "cuda_lite_runtime_texture.h"
#include "cuda_lite_runtime_batch.h"
#if CUDART_VERSION >= 13000
#include "cuda_lite_runtime_execution.h"
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "cuda_lite_runtime_ptds.h"
#endif

/*
 * CUDA 12 programs get their property structure from the _v2 entry point (their plain name still
 * means the older, shorter structure in the library).
 */
#if CUDART_VERSION < 13000 && !defined(__CUDART_API_VERSION_INTERNAL)
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif

#endif
