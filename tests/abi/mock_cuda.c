/* SPDX-License-Identifier: MIT */
/*
 * The recording libcuda.so.1 of runtime_behaviour.c: two devices, handles that name themselves, nothing
 * that computes. Attribute n of device d is 1000 * (d + 1) + n.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock_cuda.h"

struct mock mock;
char mock_managed[MOCK_VAR_BYTES], mock_global[MOCK_VAR_BYTES];

struct CUctx_st {
	int device;
};

static struct CUctx_st primary[MOCK_DEVICES] = { { 0 }, { 1 } }, foreign[MOCK_DEVICES] = { { 0 }, { 1 } };
static __thread CUcontext current;
static pid_t owner;

#define CALL() \
	do { \
		atomic_fetch_add(&mock.calls, 1); \
		if (owner != getpid()) \
			return CUDA_ERROR_NOT_INITIALIZED; \
	} while (0)

CUcontext mock_primary(int device) { return &primary[device]; }
CUcontext mock_foreign(int device) { return &foreign[device]; }

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	if (!owner)
		owner = getpid();
	atomic_fetch_add(&mock.inits, 1);
	CALL();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	CALL();
	*count = MOCK_DEVICES;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CALL();
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CALL();
	snprintf(name, (size_t)len, "mock %d", dev);
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CALL();
	*bytes = (size_t)(dev + 1) << 33;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	CALL();
	memset(uuid, 0x50 + dev, sizeof(*uuid));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attrib, CUdevice dev)
{
	CALL();
	*value = 1000 * (dev + 1) + (int)attrib;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CALL();
	atomic_fetch_add(&mock.retains, 1);
	*ctx = &primary[dev];
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	(void)dev;
	CALL();
	atomic_fetch_add(&mock.resets, 1);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	(void)dev;
	CALL();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	if (owner != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	*ctx = current;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CALL();
	current = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	CALL();
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	*dev = current->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	CALL();
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options, void **jit_values,
			   unsigned int n_jit, CUlibraryOption *lib_options, void **lib_values,
			   unsigned int n_lib)
{
	(void)jit_options;
	(void)jit_values;
	(void)n_jit;
	(void)lib_options;
	(void)lib_values;
	(void)n_lib;
	CALL();
	if (!code)
		return CUDA_ERROR_INVALID_IMAGE;
	atomic_fetch_add(&mock.loads, 1);
	*library = (CUlibrary)(uintptr_t)code;
	return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library)
{
	(void)library;
	CALL();
	atomic_fetch_add(&mock.unloads, 1);
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	struct mock_kernel *k;

	(void)library;
	CALL();
	if (!strcmp(name, "absent"))
		return CUDA_ERROR_NOT_FOUND;
	k = calloc(1, sizeof(*k));
	if (!k)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(k->name, sizeof(k->name), "%s", name);
	atomic_fetch_add(&mock.kernels, 1);
	*kernel = (CUkernel)k;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *fn, CUkernel kernel)
{
	struct mock_kernel *k;

	CALL();
	k = calloc(1, sizeof(*k));
	if (!k)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*k = *(struct mock_kernel *)kernel;
	k->ctx = current;
	atomic_fetch_add(&mock.functions, 1);
	*fn = (CUfunction)k;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name)
{
	(void)library;
	CALL();
	if (!strcmp(name, "absent"))
		return CUDA_ERROR_NOT_FOUND;
	*ptr = (CUdeviceptr)(uintptr_t)mock_global;
	*bytes = MOCK_VAR_BYTES;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name)
{
	(void)library;
	(void)name;
	CALL();
	*ptr = (CUdeviceptr)(uintptr_t)mock_managed;
	*bytes = MOCK_VAR_BYTES;
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction fn, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			unsigned int block_x, unsigned int block_y, unsigned int block_z,
			unsigned int shared_bytes, CUstream stream, void **params, void **extra)
{
	unsigned int dims[6] = { grid_x, grid_y, grid_z, block_x, block_y, block_z };
	CUresult result = mock.next;

	(void)extra;
	CALL();
	mock.next = CUDA_SUCCESS;
	mock.fn = fn;
	memcpy(mock.dims, dims, sizeof(dims));
	mock.shared = shared_bytes;
	mock.stream = stream;
	mock.params = params;
	atomic_fetch_add(&mock.launches, 1);
	return result;
}

static CUresult copied(CUdeviceptr dst, CUdeviceptr src, size_t bytes, int per_thread, CUstream stream)
{
	CALL();
	mock.dst = dst;
	mock.src = src;
	mock.bytes = bytes;
	mock.per_thread = per_thread;
	mock.stream = stream;
	return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copied(dst, src, bytes, 0, NULL);
}

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copied(dst, src, bytes, 1, NULL);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copied(dst, (CUdeviceptr)(uintptr_t)src, bytes, 0, NULL);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copied((CUdeviceptr)(uintptr_t)dst, src, bytes, 0, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copied(dst, src, bytes, 0, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
	return copied(dst, value, n, 0, NULL);
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr dst, unsigned char value, size_t n)
{
	return copied(dst, value, n, 1, NULL);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
	(void)pitch;
	return copied(dst, value, width * height, 0, NULL);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	CALL();
	mock.copy2d = *copy;
	return CUDA_SUCCESS;
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	CALL();
	mock.copy3d = *copy;
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	CALL();
	mock.stream = stream;
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
	CALL();
	mock.stream = stream;
	return CUDA_ERROR_NOT_READY;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user, unsigned int flags)
{
	(void)flags;
	CALL();
	callback(stream, mock.result_of_callback, user);
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attribs, void **data, CUdeviceptr ptr)
{
	unsigned int i;

	CALL();
	for (i = 0; i < n; i++) {
		if (ptr != 0x1000)
			continue;
		if (attribs[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
			*(unsigned int *)data[i] = CU_MEMORYTYPE_DEVICE;
		if (attribs[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
			*(CUdeviceptr *)data[i] = ptr;
		if (attribs[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = 1;
	}
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	CALL();
	*fn = (void *)(uintptr_t)(flags * 100000 + (cuuint64_t)version);
	*status = CU_GET_PROC_ADDRESS_SUCCESS;
	if (strcmp(symbol, "cuInit")) {
		*status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
		return CUDA_ERROR_NOT_FOUND;
	}
	return CUDA_SUCCESS;
}
