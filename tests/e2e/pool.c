/* SPDX-License-Identifier: MIT */
/* Stream-ordered allocation: memory is there for work behind the allocation and returns after the work before the free. */
#include <unistd.h>

#include "drv.h"
#include "../unit/fds.h"

E2E_PTX(misc);

static uint64_t get(CUmemoryPool p, CUmemPool_attribute a)
{
	cuuint64_t v = ~0ull;

	CK(cuMemPoolGetAttribute(p, a, &v));
	return v;
}

static void books(CUmemoryPool p, uint64_t used, uint64_t reserved, int line)
{
	if (get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) != used || get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) != reserved)
		e2e_fail("line %d: %llu used, %llu reserved, want %llu and %llu", line,
			 (unsigned long long)get(p, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
			 (unsigned long long)get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), (unsigned long long)used, (unsigned long long)reserved);
}
#define BOOKS(p, used, reserved) books(p, used, reserved, __LINE__)

static volatile int go;

static void CUDA_CB stand_still(void *arg)
{
	(void)arg;
	while (!go)
		e2e_sleep_ms(1);
}

/* What a pool has and keeps, by the documentation of CU_MEMPOOL_ATTR_* and cuMemPoolTrimTo. */
static void thresholds(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	uint64_t mib = 1 << 20;
	cuuint64_t v;
	CUdeviceptr a, b, c;
	CUmemoryPool p;
	CUstream s, t;
	int no = 0;

	CK(cuMemPoolCreate(&p, &props));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	BOOKS(p, 0, 0);
	CK(cuMemAllocFromPoolAsync(&a, mib, p, s));
	CK(cuMemAllocFromPoolAsync(&b, 3 * mib, p, s));
	BOOKS(p, 4 * mib, 4 * mib);
	/* threshold 0: reserved until the next synchronization, and not longer */
	CK(cuMemFreeAsync(a, s));
	BOOKS(p, 3 * mib, 4 * mib);
	CK(cuStreamSynchronize(s));
	BOOKS(p, 3 * mib, 3 * mib);
	/* the stream that freed it has it again at once, before it came so far */
	CK(cuLaunchHostFunc(s, stand_still, NULL));
	CK(cuMemFreeAsync(b, s));
	BOOKS(p, 0, 3 * mib);
	CK(cuMemAllocFromPoolAsync(&c, 3 * mib, p, t));
	EXPECT(c != b);
	CK(cuMemAllocFromPoolAsync(&a, 3 * mib, p, s));
	EXPECT(a == b);
	BOOKS(p, 6 * mib, 6 * mib);
	CK(cuMemFreeAsync(a, s));
	CK(cuStreamSynchronize(t));
	CK(cuMemPoolTrimTo(p, 0));      /* what the stream has not come to stays */
	BOOKS(p, 3 * mib, 6 * mib);
	go = 1;
	CK(cuStreamSynchronize(s));
	BOOKS(p, 3 * mib, 3 * mib);
	CK(cuMemFreeAsync(c, t));
	CK(cuStreamSynchronize(t));
	BOOKS(p, 0, 0);
	EXPECT(get(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 6 * mib && get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 6 * mib);
	v = 0;
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &v));
	EXPECT(get(p, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 0 && get(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 6 * mib);
	v = 5;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v));
	/* kept up to the threshold, taken again by another stream, given back by TrimTo */
	v = 4 * mib;
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
	CK(cuMemAllocFromPoolAsync(&a, 2 * mib, p, s));
	CK(cuMemAllocFromPoolAsync(&b, 2 * mib, p, s));
	CK(cuMemAllocFromPoolAsync(&c, 2 * mib, p, s));
	CK(cuMemFreeAsync(a, s));
	CK(cuMemFreeAsync(b, s));
	CK(cuMemFreeAsync(c, s));
	CK(cuCtxSynchronize());
	BOOKS(p, 0, 4 * mib);
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no));
	CK(cuMemAllocFromPoolAsync(&a, 2 * mib, p, t));
	BOOKS(p, 2 * mib, 6 * mib);
	no = 1;
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no));
	CK(cuMemAllocFromPoolAsync(&b, 2 * mib, p, t));
	BOOKS(p, 4 * mib, 6 * mib);
	CK(cuMemPoolTrimTo(p, 5 * mib));
	BOOKS(p, 4 * mib, 4 * mib);
	CK(cuMemFree(a));               /* by the plain call: not kept */
	BOOKS(p, 2 * mib, 2 * mib);
	CK(cuMemFreeAsync(b, t));
	CK(cuStreamSynchronize(t));
	BOOKS(p, 0, 2 * mib);
	CK(cuMemPoolTrimTo(p, 2 * mib));
	BOOKS(p, 0, 2 * mib);
	CK(cuMemPoolTrimTo(p, 0));
	BOOKS(p, 0, 0);
	/* what is allocated outlives its pool */
	CK(cuMemAllocFromPoolAsync(&a, 100, p, s));
	CK(cuMemAllocFromPoolAsync(&b, 100, p, s));
	CK(cuMemFreeAsync(b, s));
	CK(cuMemPoolDestroy(p));
	CK(cuMemsetD8Async(a, 1, 100, s));
	CK(cuMemFreeAsync(a, s));
	CK(cuStreamDestroy(s));
	CK(cuStreamDestroy(t));
}

/* More pools than there can be at once, each outlived by its memory; and some that had a name for other processes. */
static void many(void)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUdeviceptr a, b;
	CUmemoryPool p;
	unsigned had = 0;
	CUstream s;
	int fd;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 4200; i++) {
		CK(cuMemPoolCreate(&p, &props));
		CK(cuMemAllocFromPoolAsync(&a, 4096, p, s));
		CK(cuMemAllocFromPoolAsync(&b, 4096, p, s));
		CK(cuMemFreeAsync(b, s));       /* kept by the pool, when that goes */
		CK(cuMemPoolDestroy(p));
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(p, 0));
		CK(i % 3 ? cuMemFreeAsync(a, s) : cuMemFree(a));
	}
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	for (unsigned i = 0; i < 20; i++) {
		/* engine cuda has none of these */
		if (cuMemPoolCreate(&p, &props) != CUDA_SUCCESS)
			break;
		CK(cuMemPoolExportToShareableHandle(&fd, p, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		close(fd);
		CK(cuMemPoolDestroy(p));
		if (i == 1)
			had = open_fds();
	}
	if (had && open_fds() > had)
		e2e_fail("%u files stay of exported pools", open_fds() - had);
	CK(cuStreamDestroy(s));
}

/* What pools keep does not stand in anybody's way when memory runs out. */
static void full(CUmemoryPool p)
{
	cuuint64_t all = ~0ull;
	size_t before, total;
	CUdeviceptr a, b;

	CK(cuMemGetInfo(&before, &total));
	before -= before / 8;
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	CK(cuMemAllocAsync(&a, 256 << 20, NULL));
	CK(cuMemFreeAsync(a, NULL));
	CK(cuCtxSynchronize());
	BOOKS(p, 0, 256 << 20);
	if (total <= 1ull << 30) {      /* of a small device: as much as there is */
		CK(cuMemAlloc(&b, before));
		BOOKS(p, 0, 0);
		CK(cuMemFree(b));
	}
	all = 0;
	CK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	CK(cuCtxSynchronize());
	BOOKS(p, 0, 0);
}

/* Nothing, wherever a size is asked for: who allocates in a stream gets NULL, copies and fills have nothing to do. */
static void empty(CUmemoryPool pool, CUstream s)
{
	CUdeviceptr a = 5, b = 5, d = drv_alloc(64);
	CUDA_MEMCPY2D flat = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .srcPitch = 64,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = 64 };
	CUDA_MEMCPY3D deep = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = d, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d,
			       .WidthInBytes = 8, .Height = 8 };
	CUgraph g;
	void *h = &g;
	size_t n = 5, pitch;

	CK(cuMemAllocAsync(&a, 0, s));
	CK(cuMemAllocFromPoolAsync(&b, 0, pool, s));
	EXPECT(!a && !b);
	CK(cuMemFreeAsync(a, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(NULL, 0, s));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuMemAllocAsync(&a, 0, (CUstream)&g));
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	a = 5;
	CK(cuMemAllocAsync(&a, 0, s));
	CK(cuMemFreeAsync(a, s));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphGetNodes(g, NULL, &n));
	EXPECT(!a && !n);
	CK(cuGraphDestroy(g));
	CK(cuMemAllocHost(&h, 0));
	EXPECT(!h);
	CK(cuMemFreeHost(h));
	/* documented, unlike the above */
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&a, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&a, 0, CU_MEM_ATTACH_GLOBAL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&a, &pitch, 0, 4, 4));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(&g, 0, 0));
	CK(cuMemFree(0));
	CK(cuMemcpyDtoDAsync(d, d, 0, s));
	CK(cuMemcpyHtoD(d, &g, 0));
	CK(cuMemcpyDtoH(&g, d, 0));
	CK(cuMemcpy2DAsync(&flat, s));
	CK(cuMemcpy3D(&deep));
	CK(cuMemsetD8(d, 1, 0));
	CK(cuMemsetD32Async(d, 1, 0, s));
	CK(cuMemsetD2D16(d, 64, 1, 0, 4));
	CK(cuMemFree(d));
}

int main(void)
{
	enum { N = 5000, ROUNDS = 20 };
	CUcontext ctx = drv_start("pool");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	uint32_t *out, *want = e2e_malloc(N * 4), mul = 5, add = 1;
	CUmemoryPool pool = NULL;
	size_t before, total;
	CUdeviceptr d, e;
	CUstream s;
	int n = N, supported = 0;

	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
	if (!supported)
		e2e_skip("the device has no memory pools");
	CK(cuDeviceGetDefaultMemPool(&pool, 0));
	EXPECT(pool != NULL);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost((void **)&out, N * 4));
	CK(cuMemGetInfo(&before, &total));
	for (int r = 0; r < ROUNDS; r++) {
		CK(cuMemAllocAsync(&d, N * 4, s));
		CK(cuMemAllocFromPoolAsync(&e, N * 4, pool, s));
		EXPECT(d != e);
		CK(cuMemsetD32Async(d, r, N, s));
		LAUNCH(f, 7, 128, 0, s, &d, &mul, &add, &n);
		CK(cuMemcpyDtoDAsync(e, d, N * 4, s));
		CK(cuMemFreeAsync(d, s));
		LAUNCH(f, 7, 128, 0, s, &e, &mul, &add, &n);
		CK(cuMemcpyDtoHAsync(out, e, N * 4, s));
		CK(cuMemFreeAsync(e, s));
		CK(cuStreamSynchronize(s));
		for (int i = 0; i < N; i++)
			want[i] = (r * 5 + 1) * 5 + 1;
		e2e_same_u32("pool", out, want, N);
	}
	/* Memory of the pool may be freed by the plain call as well. */
	CK(cuMemAllocAsync(&d, 16 << 20, s));
	CK(cuStreamSynchronize(s));
	CK(cuMemFree(d));
	CK(cuMemPoolTrimTo(pool, 0));
	EXPECT(drv_free_again(before));
	empty(pool, s);
	thresholds();
	many();
	full(pool);
	CK(cuMemFreeHost(out));
	CK(cuStreamDestroy(s));
	CK(cuCtxDestroy(ctx));
	return e2e_end("%d rounds of two allocations", ROUNDS);
}
