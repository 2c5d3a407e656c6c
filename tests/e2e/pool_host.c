/* SPDX-License-Identifier: MIT */
/*
 * Pools of memory that is not a device's alone: pinned, of the host or its NUMA node, and managed. What is expected is the
 * documentation's (cuMemPoolCreate, cuMemGetDefaultMemPool, cuMemPoolSetAccess), and what a kernel and the host read.
 *
 * E2E_WINDOW: so many bytes the agent gives a process (narrow.sh). To fill the 4 GiB that it gives otherwise takes seconds, of zeroing.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drv.h"

E2E_PTX(misc);

enum { N = 5000 };
static CUfunction affine;
static CUstream s;
static uint64_t window = 4ull << 30;

static uint64_t get(CUmemoryPool p, CUmemPool_attribute a)
{
	cuuint64_t v = ~0ull;

	CK(cuMemPoolGetAttribute(p, a, &v));
	return v;
}

static int attribute(CUdevice_attribute a)
{
	int v = -1;

	CK(cuDeviceGetAttribute(&v, a, 0));
	return v;
}

static bool one_node(void)
{
	char said[64] = "0";
	FILE *f = fopen("/sys/devices/system/node/online", "r");

	if (f && !fgets(said, sizeof said, f))
		said[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(said, "0") || !strcmp(said, "0\n");
}

static unsigned type_of(CUdeviceptr d)
{
	unsigned v = 0;

	CK(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
	return v;
}

static unsigned is_managed(CUdeviceptr d)
{
	unsigned v = 9;

	CK(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_IS_MANAGED, d));
	return v;
}

/* The host writes, a kernel computes, the host reads, with no copy between; freed in stream order and by the plain call. */
static void works(CUmemoryPool p, unsigned type)
{
	uint32_t mul = 3, add = 7, *h;
	CUmemoryPool of = NULL;
	CUdeviceptr a, b;
	cuuint64_t all = ~0ull;
	int n = N;

	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	CK(cuMemAllocFromPoolAsync(&a, N * 4, p, s));
	CK(cuStreamSynchronize(s));
	EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == N * 4);
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= N * 4);
	EXPECT(type_of(a) == type && is_managed(a) == (type == CU_MEMORYTYPE_DEVICE));
	CK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	EXPECT(of == p);
	h = (uint32_t *)(uintptr_t)a;
	for (int i = 0; i < N; i++)
		h[i] = (uint32_t)i;
	LAUNCH(affine, (N + 127) / 128, 128, 0, s, &a, &mul, &add, &n);
	CK(cuStreamSynchronize(s));
	for (int i = 0; i < N; i++)
		if (h[i] != (uint32_t)i * 3 + 7) {
			e2e_fail("word %d is %u, want %u", i, h[i], (uint32_t)i * 3 + 7);
			break;
		}
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(h));
	CK(cuMemFreeAsync(a, s));
	EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, s));
	/* kept for the next of that size */
	CK(cuMemAllocFromPoolAsync(&b, N * 4, p, s));
	EXPECT(b == a);
	CK(cuMemFree(b));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	CK(cuMemAllocFromPoolAsync(&a, 100, p, s));
	CK(cuMemFreeAsync(a, s));
	CK(cuStreamSynchronize(s));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) > 0);
	CK(cuMemPoolTrimTo(p, 0));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	/* as much again and again as the window would not hold at once, of a size that changes */
	for (int i = 0; i < 300; i++) {
		CK(cuMemAllocFromPoolAsync(&a, (16 << 20) + i * 4096, p, s));
		CK(cuMemsetD32Async(a, (unsigned)i, 1024, s));
		CK(cuMemFreeAsync(a, s));
	}
	CK(cuStreamSynchronize(s));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= window);
	CK(cuMemPoolTrimTo(p, 0));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

static CUmemPoolProps props_of(CUmemAllocationType type, int location, int id)
{
	return (CUmemPoolProps){ .allocType = type, .location = { .type = (CUmemLocationType)location, .id = id } };
}

static void pinned(int location)
{
	CUmemPoolProps props = props_of(CU_MEM_ALLOCATION_TYPE_PINNED, location, 0);
	CUmemAccessDesc give = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemLocation here = { (CUmemLocationType)location, 0 }, device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUmemAccess_flags can;
	CUmemoryPool p, d, now;
	CUgraph g;
	CUdeviceptr a;

	/* not for other processes */
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	if (location == CU_MEM_LOCATION_TYPE_HOST)
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&p, &props));
	props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	CK(cuMemPoolCreate(&p, &props));
	/* the host's, until a device is given access */
	CK(cuMemPoolGetAccess(&can, p, &here));
	EXPECT(can == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CK(cuMemPoolGetAccess(&can, p, &device));
	EXPECT(can == CU_MEM_ACCESS_FLAGS_PROT_NONE);
	CK(cuMemPoolSetAccess(p, &give, 1));
	CK(cuMemPoolGetAccess(&can, p, &device));
	EXPECT(can == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	works(p, CU_MEMORYTYPE_HOST);
	give.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	CK(cuMemPoolSetAccess(p, &give, 1));
	CK(cuMemPoolGetAccess(&can, p, &device));
	EXPECT(can == CU_MEM_ACCESS_FLAGS_PROT_NONE);
	give.location.id = 9;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(p, &give, 1));
	/* the place's default and current one, which is no device's */
	CK(cuMemGetDefaultMemPool(&d, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	CK(cuMemGetMemPool(&now, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(d && d == now && d != p);
	CK(cuDeviceGetDefaultMemPool(&now, 0));
	EXPECT(d != now);
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceSetMemPool(0, p));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemSetMemPool(&device, CU_MEM_ALLOCATION_TYPE_PINNED, p));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, now));
	CK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, p));
	CK(cuMemGetMemPool(&now, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(now == p);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(d));
	/* in a graph only a device's memory can be allocated */
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocFromPoolAsync(&a, 64, p, s));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphDestroy(g));
	/* at most as much as it was made for; what is allocated outlives it */
	CK(cuMemPoolDestroy(p));
	CK(cuMemGetMemPool(&now, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(now == d);
	props.maxSize = 1 << 20;
	CK(cuMemPoolCreate(&p, &props));
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&a, 2 << 20, p, s));
	CK(cuMemAllocFromPoolAsync(&a, 1 << 20, p, s));
	CK(cuMemPoolDestroy(p));
	memset((void *)(uintptr_t)a, 1, 1 << 20);
	CK(cuMemFreeAsync(a, s));
	CK(cuStreamSynchronize(s));
}

static void managed(int location)
{
	CUmemPoolProps props = props_of(CU_MEM_ALLOCATION_TYPE_MANAGED, location, 0);
	CUmemLocation here = { (CUmemLocationType)location, 0 }, device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	CUmemAccess_flags can;
	CUmemoryPool p, d, now;
	CUdeviceptr a;
	int type = -1;

	props.maxSize = 1 << 20;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&p, &props));
	props.maxSize = 0;
	CK(cuMemPoolCreate(&p, &props));
	CK(cuMemPoolGetAccess(&can, p, &device));
	EXPECT(can == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	works(p, CU_MEMORYTYPE_DEVICE);
	/* where the pool's memory is preferred */
	CK(cuMemAllocFromPoolAsync(&a, 1 << 16, p, s));
	CK(cuMemRangeGetAttribute(&type, sizeof type, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, a, 1 << 16));
	EXPECT(type == location);
	CK(cuMemFreeAsync(a, s));
	CK(cuMemGetDefaultMemPool(&d, &here, CU_MEM_ALLOCATION_TYPE_MANAGED));
	CK(cuMemGetDefaultMemPool(&now, &device, CU_MEM_ALLOCATION_TYPE_PINNED));
	EXPECT(d && d != now);
	CK(cuMemPoolDestroy(p));
}

int main(void)
{
	CUmemPoolProps props = props_of(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0);
	CUcontext ctx = drv_start("pool_host");
	const char *narrow = getenv("E2E_WINDOW");
	void *plain;
	CUmemoryPool p;

	if (narrow && *narrow)
		window = strtoull(narrow, NULL, 0);
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED) == 1);
	EXPECT(attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED) == one_node());
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&p, &props));
	pinned(CU_MEM_LOCATION_TYPE_HOST);
	managed(CU_MEM_LOCATION_TYPE_NONE);
	managed(CU_MEM_LOCATION_TYPE_DEVICE);
	managed(CU_MEM_LOCATION_TYPE_HOST);
	props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	if (one_node()) {
		pinned(CU_MEM_LOCATION_TYPE_HOST_NUMA);
		managed(CU_MEM_LOCATION_TYPE_HOST_NUMA);
		props.location.id = 5;
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&p, &props));
	} else {
		WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&p, &props));
	}
	/* what no pool gave is still no pool's to take */
	CK(cuMemAllocHost(&plain, 4096));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync((CUdeviceptr)(uintptr_t)plain, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)(uintptr_t)plain));
	CK(cuMemFreeHost(plain));
	CK(cuStreamDestroy(s));
	CK(cuCtxDestroy(ctx));
	return e2e_end("pinned and managed");
}
