/* SPDX-License-Identifier: MIT */
/*
 * What is accepted is done, or remembered and answered back; what is not done is refused: flags of contexts, events,
 * streams and waits, who waits for copies and fills, blocks beyond a kernel's bounds, advice on managed memory, places of boxes, mappings behind pointers, JIT options.
 */
#include "drv.h"

#define PIECE ((size_t)2 << 20)

/* Keeps the stream busy for a moment: a call that does not wait returns before that. */
static void CUDA_CB nap(void *unused)
{
	(void)unused;
	e2e_sleep_ms(40);
}

/* Keeps it busy until the call that does not wait has returned, however long that takes; one that does wait ends after ten seconds. */
static int let_go;

static void CUDA_CB held(void *unused)
{
	(void)unused;
	for (int i = 0; i < 10000 && !__atomic_load_n(&let_go, __ATOMIC_ACQUIRE); i++)
		e2e_sleep_ms(1);
	__atomic_store_n(&let_go, 0, __ATOMIC_RELEASE);
}

#define DOES_NOT_WAIT(call) do { \
	CK(cuLaunchHostFunc(NULL, held, NULL)); \
	CK(call); \
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL)); \
	__atomic_store_n(&let_go, 1, __ATOMIC_RELEASE); \
	CK(cuCtxSynchronize()); \
} while (0)

static void check_sync_memops(CUcontext ctx)
{
	CUdeviceptr a = drv_alloc(4096), b = drv_alloc(4096);
	unsigned on = 1, seen = 0;

	CK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
	CK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a + 100));
	EXPECT_EQ(seen, 1);
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemsetD32(a, 5, 1024));
	CK(cuStreamQuery(NULL));
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemcpyDtoD(b, a, 4096));
	CK(cuStreamQuery(NULL));
	/* the asynchronous forms stay what they are */
	DOES_NOT_WAIT(cuMemsetD32Async(a, 6, 1024, NULL));
	/* the same for a whole context */
	CK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	CK(cuCtxGetFlags(&seen));
	EXPECT(seen & CU_CTX_SYNC_MEMOPS);
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemsetD8(b, 1, 4096));
	CK(cuStreamQuery(NULL));
	CK(cuCtxSetFlags(0));
	CK(cuMemFree(a));
	CK(cuMemFree(b));
	(void)ctx;
}

/* CUDA's "API synchronization behavior": who waits when a stream is busy. */
static void check_host_memory(void)
{
	CUdeviceptr dev = drv_alloc(4096), other = drv_alloc(4096), managed;
	unsigned char *a, *b, *own = malloc(4096);

	CK(cuMemAllocHost((void **)&a, 4096));
	CK(cuMemAllocHost((void **)&b, 4096));
	CK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	/* fills of pinned and managed memory are synchronous */
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemsetD8((CUdeviceptr)(uintptr_t)a, 7, 4096));
	EXPECT_EQ(a[4095], 7);
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemsetD2D32((CUdeviceptr)(uintptr_t)a, 64, 0x08080808, 8, 64));
	EXPECT_EQ(a[63 * 64 + 31], 8);
	EXPECT_EQ(a[63 * 64 + 32], 7);
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemsetD16(managed, 0x0909, 2048));
	CK(cuStreamQuery(NULL));
	EXPECT_EQ(*(unsigned char *)(uintptr_t)(managed + 4095), 9);
	/* those of device memory are not, nor are the asynchronous forms anywhere */
	DOES_NOT_WAIT(cuMemsetD8(dev, 10, 4096));
	DOES_NOT_WAIT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)a, 11, 4096, NULL));
	/* from host to host even the asynchronous copy waits; with a device on one side it need not, between devices none does */
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)b, (CUdeviceptr)(uintptr_t)a, 4096, NULL));
	EXPECT_EQ(b[4095], 11);
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)own, (CUdeviceptr)(uintptr_t)b, 4096, NULL));
	EXPECT_EQ(own[4095], 11);
	DOES_NOT_WAIT(cuMemcpyDtoHAsync(b, dev, 4096, NULL));
	EXPECT_EQ(b[4095], 10);
	DOES_NOT_WAIT(cuMemcpyDtoD(other, dev, 4096));
	CK(cuLaunchHostFunc(NULL, nap, NULL));
	CK(cuMemcpyDtoH(own, other, 4096));
	CK(cuStreamQuery(NULL));
	EXPECT_EQ(own[0], 10);
	CK(cuMemFreeHost(a));
	CK(cuMemFreeHost(b));
	CK(cuMemFree(managed));
	CK(cuMemFree(other));
	CK(cuMemFree(dev));
	free(own);
}

/* .maxntid and .reqntid are promises to the compiler: a launch with other blocks is an invalid value. */
static void check_block_bounds(void)
{
	static const char ptx[] = ".version 6.4\n.target sm_61\n.address_size 64\n"
		".visible .entry most() .maxntid 64, 1, 1 { ret; }\n.visible .entry just() .reqntid 32, 2, 1 { ret; }\n";
	CUfunction most, just;
	CUmodule m;

	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&most, m, "most"));
	CK(cuModuleGetFunction(&just, m, "just"));
	CK(cuLaunchKernel(most, 1, 1, 1, 8, 8, 1, 0, NULL, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(most, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernel(most, 1, 1, 1, 128, 1, 1, 0, NULL, NULL));
	CK(cuLaunchKernel(just, 1, 1, 1, 32, 2, 1, 0, NULL, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(just, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(just, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSynchronize());
	CK(cuModuleUnload(m));
}

static void check_flags(void)
{
	CUcontext c = NULL;
	CUevent e;
	CUstream s;
	CUdeviceptr word = drv_alloc(8), managed;

	/* two ways to wait at once; core dumps by a pipe, at which nobody listens */
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&c, 3, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&c, 0x100, 0));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate_v2(&c, CU_CTX_USER_COREDUMP_ENABLE, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxSetFlags(CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags(0, 7));
	/* EXTERNAL belongs to captures */
	CK(cuEventCreate(&e, CU_EVENT_BLOCKING_SYNC));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
	CK(cuLaunchHostFunc(s, nap, NULL));
	CK(cuEventRecord(e, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	CK(cuEventSynchronize(e));
	CK(cuEventQuery(e));
	/* CAN_FLUSH_REMOTE_WRITES is 0 */
	CK(cuMemsetD32(word, 0, 2));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(s, word, 0, CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH));
	/* a stream alone cannot be the legacy one */
	CK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE));
	CK(cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_SINGLE));
	CK(cuCtxSynchronize());
	CK(cuMemFree(managed));
	CK(cuMemFree(word));
	CK(cuEventDestroy(e));
	CK(cuStreamDestroy(s));
}

static void check_stream_attributes(void)
{
	CUstreamAttrValue v, w;
	CUstream a, b;

	memset(&v, 0, sizeof v);
	CK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CK(cuStreamGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &w));
	EXPECT_EQ(w.syncPolicy, CU_SYNC_POLICY_AUTO);
	v.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
	CK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	v.syncPolicy = (CUsynchronizationPolicy)9;
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
	memset(&v, 0, sizeof v);
	v.accessPolicyWindow.num_bytes = 4096;
	v.accessPolicyWindow.hitRatio = 0.5f;
	v.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
	v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_STREAMING;
	CK(cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	v.accessPolicyWindow.hitRatio = 1.5f;
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	v.accessPolicyWindow.hitRatio = 1;
	v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_PERSISTING;
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
	CK(cuStreamCopyAttributes(b, a));
	CK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &w));
	EXPECT_EQ(w.syncPolicy, CU_SYNC_POLICY_BLOCKING_SYNC);
	CK(cuStreamGetAttribute(b, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w));
	EXPECT(w.accessPolicyWindow.num_bytes == 4096 && w.accessPolicyWindow.hitRatio == 0.5f);
	CK(cuLaunchHostFunc(b, nap, NULL));
	CK(cuStreamSynchronize(b));
	CK(cuStreamQuery(b));
	CK(cuStreamDestroy(a));
	CK(cuStreamDestroy(b));
}

static int range(CUmem_range_attribute a, CUdeviceptr p, size_t n)
{
	int v = -77;

	CK(cuMemRangeGetAttribute(&v, sizeof v, a, p, n));
	return v;
}

static void check_advice(void)
{
	const CUmemLocation device = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
	CUdeviceptr m;
	int by[3], two[2];

	CK(cuMemAllocManaged(&m, 4 * PIECE, CU_MEM_ATTACH_GLOBAL));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4 * PIECE), 0);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 4 * PIECE), CU_DEVICE_INVALID);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, m, PIECE), CU_MEM_LOCATION_TYPE_INVALID);
	/* of the whole; then a hole in it; then a part of the hole filled again */
	CK(cuMemAdvise_v2(m, 4 * PIECE, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4 * PIECE), 1);
	CK(cuMemAdvise_v2(m + PIECE, 2 * PIECE, CU_MEM_ADVISE_UNSET_READ_MOSTLY, host));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 4 * PIECE), 0);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, PIECE), 1);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m + 3 * PIECE, PIECE), 1);
	CK(cuMemAdvise_v2(m + PIECE, PIECE, CU_MEM_ADVISE_SET_READ_MOSTLY, host));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 2 * PIECE), 1);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, 2 * PIECE + 1), 0);
	/* two places, which differ */
	CK(cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
	CK(cuMemAdvise_v2(m + PIECE, PIECE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, PIECE), 0);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m + PIECE, PIECE), CU_DEVICE_CPU);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, m + PIECE, PIECE), CU_MEM_LOCATION_TYPE_HOST);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, 2 * PIECE), CU_DEVICE_INVALID);
	CK(cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, (CUmemLocation){ (CUmemLocationType)99, 99 }));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, m, PIECE), CU_DEVICE_INVALID);
	CK(cuMemPrefetchAsync_v2(m, 4 * PIECE, device, 0, NULL));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, m + 5, 100), 0);
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, m + 5, 100), 0);
	CK(cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
	CK(cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
	CK(cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, PIECE));
	EXPECT(by[0] == CU_DEVICE_CPU && by[1] == 0 && by[2] == CU_DEVICE_INVALID);
	CK(cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, host));
	CK(cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, m, PIECE));
	EXPECT(by[0] == 0 && by[1] == CU_DEVICE_INVALID);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(two, sizeof two, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, PIECE));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise_v2(m, PIECE, CU_MEM_ADVISE_SET_ACCESSED_BY,
		(CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 40 }));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2(m, PIECE, (CUmem_advise)7, host));
	CK(cuMemFree(m));
	/* what was said of memory that is gone is not said of what comes in its place */
	CK(cuMemAllocManaged(&m, 4 * PIECE, CU_MEM_ATTACH_GLOBAL));
	EXPECT_EQ(range(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, m, PIECE), 0);
	CK(cuMemFree(m));
}

static void check_boxes(void)
{
	CUdeviceptr d = drv_alloc(4096);
	char host[4096] = { 0 };
	CUDA_MEMCPY3D b = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 64, .srcHeight = 4,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = d, .dstPitch = 64, .dstHeight = 4,
			    .WidthInBytes = 32, .Height = 4, .Depth = 2 };
	CUDA_MEMCPY3D w;

	CK(cuMemcpy3D(&b));
	w = b, w.dstXInBytes = 40;              /* 40 + 32 bytes in rows of 64 */
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	w = b, w.srcY = 1;                      /* 1 + 4 rows in slices of 4 */
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	/* sums that run over 2^64 and would come out small */
	w = b, w.dstZ = (size_t)1 << 58;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	w = b, w.dstXInBytes = (size_t)-16, w.Height = w.Depth = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	w = b, w.dstY = (size_t)1 << 58, w.Depth = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	w = b, w.reserved0 = host;
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&w));
	CK(cuMemFree(d));
}

static void check_mappings(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUpointer_attribute one[] = { CU_POINTER_ATTRIBUTE_MAPPED };
	CUmemGenericAllocationHandle h;
	unsigned mapped = 9, flags = 9;
	CUdeviceptr va, base = 0;
	void *nowhere[] = { NULL };
	size_t size = 0;

	CK(cuMemAddressReserve(&va, 4 * PIECE, 0, 0, 0));
	CK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, va));
	EXPECT_EQ(mapped, 0);
	CK(cuMemCreate(&h, PIECE, &prop, 0));
	CK(cuMemMap(va + PIECE, PIECE, 0, h, 0));
	CK(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, va + PIECE));
	EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	CK(cuMemSetAccess(va + PIECE, PIECE, &access, 1));
	CK(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, va + PIECE));
	EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, va + PIECE + 9));
	EXPECT_EQ(mapped, 1);
	CK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, va + PIECE + 9));
	CK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, va + PIECE + 9));
	EXPECT(base == va + PIECE && size == PIECE);
	CK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, va + PIECE));
	EXPECT(size == 4 * PIECE);
	WANT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(1, one, nowhere, va));
	CK(cuMemUnmap(va + PIECE, PIECE));
	CK(cuMemRelease(h));
	CK(cuMemAddressFree(va, 4 * PIECE));
	prop.allocFlags.gpuDirectRDMACapable = 1;
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&h, PIECE, &prop, 0));
}

static void check_jit_options(void)
{
	static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n";
	CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_LTO };
	char log[64] = "left over";
	void *v[] = { log, (void *)sizeof log, NULL };
	CUlibrary l;
	CUmodule m;

	CK(cuLibraryLoadData(&l, ptx, o, v, 3, NULL, NULL, 0));
	EXPECT(!log[0] && !v[1]);
	CK(cuLibraryUnload(l));
	v[1] = (void *)sizeof log;
	CK(cuModuleLoadDataEx(&m, ptx, 3, o, v));
	CK(cuModuleUnload(m));
	v[2] = (void *)1;
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuLibraryLoadData(&l, ptx, o, v, 3, NULL, NULL, 0));
	o[2] = (CUjit_option)1000;
	WANT(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData(&l, ptx, o, v, 3, NULL, NULL, 0));
}

int main(void)
{
	CUcontext ctx = drv_start("promises");

	CK(cuProfilerStart());
	CK(cuProfilerStop());
	check_sync_memops(ctx);
	check_host_memory();
	check_block_bounds();
	check_flags();
	check_stream_attributes();
	check_advice();
	check_boxes();
	check_mappings();
	check_jit_options();
	CK(cuCtxDestroy(ctx));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStart());
	return e2e_end("flags, attributes, advice, boxes, mappings, options");
}
