/* SPDX-License-Identifier: MIT */
/* What a program asks before it starts: device, attributes, identity, errors, occupancy, functions, pointers. */
#include "drv.h"

E2E_PTX(reduce);

static int attr(CUdevice_attribute a)
{
	int v = -1;

	CK(cuDeviceGetAttribute(&v, a, 0));
	return v;
}

static void check_pointers(CUcontext ctx)
{
	unsigned type = 0, ordinal = 99;
	CUcontext owner = NULL;
	CUdeviceptr d = drv_alloc(1000), alias = 0, start = 0;
	size_t range = 0;
	void *pinned, *host = NULL, *data[2];
	CUpointer_attribute two[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT };
	unsigned flags = 0;
	int local;

	CK(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE));
	CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 100));
	EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
	CK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
	EXPECT_EQ(ordinal, 0);
	CK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 999));
	EXPECT(start == d);
	CK(cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, d + 999));
	EXPECT(range >= 1000);
	CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned + 8));
	EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
	CK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)(uintptr_t)pinned));
	EXPECT(host == pinned);
	CK(cuMemHostGetDevicePointer(&alias, pinned, 0));
	EXPECT(alias == (CUdeviceptr)(uintptr_t)pinned);
	CK(cuMemHostGetFlags(&flags, pinned));
	EXPECT(flags & CU_MEMHOSTALLOC_PORTABLE);
	data[0] = &type;
	data[1] = &owner;
	CK(cuPointerGetAttributes(2, two, data, d));
	EXPECT(type == CU_MEMORYTYPE_DEVICE && owner == ctx);
	/* An ordinary host pointer is not CUDA's: an error from one call, zero from the other. */
	WANT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		(CUdeviceptr)(uintptr_t)&local));
	type = 7;
	CK(cuPointerGetAttributes(1, two, data, (CUdeviceptr)(uintptr_t)&local));
	EXPECT_EQ(type, 0);
	CK(cuMemFree(d));
	CK(cuMemFreeHost(pinned));
}

static void check_functions(void)
{
	CUmodule mod = drv_module(ptx_reduce);
	CUfunction f = drv_kernel(mod, "reduce_sum"), dyn = drv_kernel(mod, "reduce_max");
	CUmodule owner = NULL;
	const char *name = NULL;
	int v = -1, blocks = 0, grid = 0, block = 0, optin;

	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
	EXPECT_EQ(v, 128);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, dyn));
	EXPECT_EQ(v, 0);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	EXPECT_EQ(v, 61);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f));
	EXPECT_EQ(v, 0);
	CK(cuFuncGetModule(&owner, f));
	EXPECT(owner == mod);
	CK(cuFuncGetName(&name, f));
	EXPECT(name && !strcmp(name, "reduce_sum"));
	optin = attr(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	CK(cuFuncSetAttribute(dyn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(dyn,
		CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin + 1));
	CK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
	EXPECT(blocks >= 1 && blocks * 256 <= attr(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
	CK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	EXPECT(block >= 32 && block <= 1024 && block % 32 == 0 && grid >= 1);
	CK(cuModuleUnload(mod));
}

int main(void)
{
	CUcontext ctx = drv_start("query");
	char name[100], bus[32], zero[16] = { 0 };
	const char *text = NULL;
	CUuuid uuid, uuid2;
	CUdevice dev, by_bus = 99;
	int n = 0, version = 0, major, minor, lo, hi;
	size_t total = 0, limit = 0;

	CK(cuDriverGetVersion(&version));
	EXPECT(version >= 13010);
	{
		const CUatomicOperation ops[] = { CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_CAS, CU_ATOMIC_OPERATION_FLOAT_ADD };
		unsigned int caps[3] = { 0 };
		int all = 0;

		CK(cuDeviceGetHostAtomicCapabilities(caps, ops, 3, 0));
		CK(cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0));
		EXPECT(!all || ((caps[0] & CU_ATOMIC_CAPABILITY_REDUCTION) && (caps[1] & CU_ATOMIC_CAPABILITY_SCALAR_64) && caps[2]));
		WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(caps, ops, 0, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities(NULL, ops, 3, 0));
		WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetHostAtomicCapabilities(caps, ops, 3, 99));
		WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities(caps, ops, 3, 0, 0));
	}
	CK(cuDeviceGetCount(&n));
	CK(cuDeviceGet(&dev, 0));
	CK(cuDeviceGetName(name, sizeof name, dev));
	EXPECT(strlen(name) > 0);
	CK(cuDeviceTotalMem(&total, dev));
	EXPECT(total >= (64u << 20));
	CK(cuDeviceGetUuid(&uuid, dev));
	CK(cuDeviceGetUuid_v2(&uuid2, dev));
	EXPECT(!memcmp(&uuid, &uuid2, 16) && memcmp(&uuid, zero, 16));
	CK(cuDeviceGetPCIBusId(bus, sizeof bus, dev));
	CK(cuDeviceGetByPCIBusId(&by_bus, bus));
	EXPECT_EQ(by_bus, dev);

	major = attr(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	minor = attr(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	EXPECT(major >= 5 && minor >= 0 && minor <= 9);
	EXPECT_EQ(attr(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
	EXPECT_EQ(attr(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
	EXPECT_EQ(attr(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y), 65535);
	EXPECT(attr(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= 1);
	EXPECT(attr(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) >= 48 << 10);
	EXPECT_EQ(attr(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
	EXPECT_EQ(attr(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 0);
	WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&n, (CUdevice_attribute)100000, dev));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 77));

	CK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	EXPECT(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
	CK(cuGetErrorString(CUDA_SUCCESS, &text));
	EXPECT(!strcmp(text, "no error"));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)123456, &text));
	EXPECT(text == NULL);

	CK(cuCtxGetStreamPriorityRange(&lo, &hi));
	EXPECT(hi <= lo);
	CK(cuCtxGetLimit(&limit, CU_LIMIT_PRINTF_FIFO_SIZE));
	check_functions();
	check_pointers(ctx);
	CK(cuCtxDestroy(ctx));
	return e2e_end("\"%s\", compute capability %d.%d, %zu MiB", name, major, minor, total >> 20);
}
