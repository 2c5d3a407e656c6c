/* SPDX-License-Identifier: MIT */
/*
 * Which error the driver gives for which wrong argument, as its documentation has it: before cuInit, without a context, of handles that
 * are none, of sizes and flags. None of them harms the context, which goes on.
 */
#include "drv.h"

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .global .align 8 .b8 gv[24];\n"
	".extern .shared .align 16 .b8 sh[];\n.visible .entry one(.param .u64 p, .param .u32 v)\n.maxntid 256, 1, 1\n{\n"
	".reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [v];\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
#define NO_PTX ".version 7.0\n.target sm_50\n.address_size 64\nbla"

int main(void)
{
	CUcontext c, c2, cur = NULL;
	CUdevice dev;
	CUmodule m;
	CUfunction f;
	CUstream s = NULL;
	CUevent e;
	CUdeviceptr d, g;
	size_t n;
	int v, x;
	char buf[64];
	unsigned u;
	CUuuid id;
	e2e_begin("errors");
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&v));
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&cur));
	CK(cuDriverGetVersion(&v));
	WANT(CUDA_ERROR_INVALID_VALUE, cuInit(7));
	CK(cuInit(0));
	CK(cuInit(0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(NULL));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 77));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, -1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
	CK(cuDeviceGet(&dev, 0));
	CK(cuDeviceGetName(buf, 64, dev));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(buf, 64, 9));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(NULL, 64, dev));
	CK(cuDeviceGetUuid(&id, dev));
	CK(cuDeviceTotalMem(&n, dev));
	EXPECT(n > 0);
	WANT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&v, (CUdevice_attribute)100000, dev));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 9));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(!cur);
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 16));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuModuleLoadData(&m, ptx));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&s, 0));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&cur));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&dev));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(&c, NULL, 0x10000, dev));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(NULL, NULL, 0, dev));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&c, NULL, 0, 9));
	CK(cuDevicePrimaryCtxGetState(dev, &u, &v));
	EXPECT(v == 0 && u == 0);
	CK(cuDevicePrimaryCtxSetFlags(dev, CU_CTX_SCHED_YIELD));
	CK(cuDevicePrimaryCtxRetain(&c2, dev));
	CK(cuDevicePrimaryCtxGetState(dev, &u, &v));
	EXPECT(v == 1 && u == CU_CTX_SCHED_YIELD);
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(c2));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(!cur);
	CK(cuDevicePrimaryCtxRelease(dev));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(dev));
	CK(cuCtxCreate(&c, NULL, 0, dev));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == c);
	CK(cuCtxGetDevice(&dev));
	CK(cuCtxPushCurrent(c));
	CK(cuCtxPopCurrent(&cur));
	EXPECT(cur == c);
	CK(cuCtxGetFlags(&u));
	CK(cuCtxGetApiVersion(c, &u));
	EXPECT(u >= 3010);
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent((CUcontext)&v));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy((CUcontext)0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
	WANT(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&n, (CUlimit)99));

	/* modules */
	WANT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nonexistent.ptx"));
	WANT(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&m, NO_PTX));
	WANT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, ptx));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "one"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "two"));
	CK(cuModuleGetFunction(&f, m, "one"));
	WANT(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&f, m, NULL));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&f, (CUmodule)&v, "one"));
	CK(cuModuleGetFunction(&f, m, "one"));
	CK(cuModuleGetGlobal(&g, &n, m, "gv"));
	EXPECT(n == 24);
	CK(cuModuleGetGlobal(NULL, &n, m, "gv"));
	CK(cuModuleGetGlobal(&g, NULL, m, "gv"));
	WANT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&g, &n, m, "nope"));
	CK(cuModuleGetGlobal(&g, NULL, m, "gv"));
	CK(cuMemsetD8(g, 3, 24));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(g, 3, 1 << 30));
	{
		CUjit_option o[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
		char log[512] = "";
		void *ov[] = { log, (void *)(size_t)512 };
		CUmodule m2;
		WANT(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m2, NO_PTX, 2, o, ov));
		EXPECT(log[0]);
		EXPECT((size_t)ov[1] > 0 && (size_t)ov[1] <= 512);
	}
	{
		unsigned cnt;
		CUfunction fs[2];
		CK(cuModuleGetFunctionCount(&cnt, m));
		EXPECT(cnt == 1);
		CK(cuModuleEnumerateFunctions(fs, 1, m));
		const char *fn;
		CK(cuFuncGetName(&fn, fs[0]));
		EXPECT(!strcmp(fn, "one"));
		CK(cuFuncGetParamInfo(f, 1, &n, NULL));
		EXPECT(n == 8);
		WANT(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 2, &n, NULL));
		WANT(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamCount(f, NULL));
		CK(cuFuncGetParamCount(f, &n));
		EXPECT_EQ(n, 2);
		CUmodule mm;
		CK(cuFuncGetModule(&mm, f));
		EXPECT(mm == m);
		CUfunctionLoadingState ls;
		CK(cuFuncIsLoaded(&ls, f));
		CK(cuFuncLoad(f));
	}
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	EXPECT(v == 256);
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&v, (CUfunction_attribute)99, f));
	CK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000));
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 26));
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 3));
	CK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));

	/* launches */
	CK(cuMemAlloc(&d, 64));
	x = 5;
	{
		void *p[] = { &d, &x };
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 257, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)&v, 1, 1, 1, 1, 1, 1, 0, 0, p, 0));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, 0, p, 0));
		char pk[12];
		size_t pn = 12;
		memcpy(pk, &d, 8);
		x = 9;
		memcpy(pk + 8, &x, 4);
		void *ex[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, pk, CU_LAUNCH_PARAM_BUFFER_SIZE, &pn, CU_LAUNCH_PARAM_END };
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, NULL, ex));
		WANT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, p, ex));
		CK(cuMemcpyDtoH(&v, d, 4));
		EXPECT(v == 9);
	}

	/* memory */
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&g, (size_t)1 << 60));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree(d + 4));
	CK(cuMemGetAddressRange(&g, &n, d + 10));
	EXPECT(g == d && n == 64);
	WANT(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&g, &n, 0x1234));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d, &x, 65));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(NULL, d, 4));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(d + 2, 1, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(d + 1, 1, 1));
	{
		CUmemorytype mt = 0;
		unsigned ord;
		CUcontext pc;
		CK(cuPointerGetAttribute(&mt, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
		EXPECT(mt == CU_MEMORYTYPE_DEVICE);
		CK(cuPointerGetAttribute(&ord, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
		EXPECT(ord == 0);
		CK(cuPointerGetAttribute(&pc, CU_POINTER_ATTRIBUTE_CONTEXT, d));
		EXPECT(pc == c);
		WANT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&mt, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&x));
		unsigned long long bid, bid2;
		CK(cuPointerGetAttribute(&bid, CU_POINTER_ATTRIBUTE_BUFFER_ID, d));
		CUdeviceptr d2;
		CK(cuMemAlloc(&d2, 4));
		CK(cuPointerGetAttribute(&bid2, CU_POINTER_ATTRIBUTE_BUFFER_ID, d2));
		EXPECT(bid != bid2);
		CK(cuPointerGetAttribute(&g, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, d + 5));
		EXPECT(g == d);
		CK(cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_RANGE_SIZE, d));
		EXPECT(n == 64);
		CK(cuMemFree(d2));
	}

	/* vmm */
	{
		CUmemAllocationProp pr;
		memset(&pr, 0, sizeof pr);
		pr.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		pr.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		size_t gr;
		CK(cuMemGetAllocationGranularity(&gr, &pr, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
		CUmemGenericAllocationHandle h;
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, gr + 1, &pr, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, gr, &pr, 1));
		CK(cuMemCreate(&h, gr, &pr, 0));
		CUdeviceptr va;
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&va, gr + 5, 0, 0, 0));
		CK(cuMemAddressReserve(&va, 2 * gr, 0, 0, 0));
		CK(cuMemMap(va, gr, 0, h, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemMap(va, gr, 0, h, 0));
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(va, 1, 4));
		CUmemAccessDesc ad = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
		CK(cuMemSetAccess(va, gr, &ad, 1));
		CK(cuMemsetD8(va, 1, gr));
		unsigned long long fl;
		CK(cuMemGetAccess(&fl, &ad.location, va));
		EXPECT(fl == 3);
		CUmemGenericAllocationHandle h2;
		CK(cuMemRetainAllocationHandle(&h2, (void *)va));
		EXPECT(h2 == h);
		CK(cuMemRelease(h2));
		CK(cuMemRelease(h));
		WANT(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(va, gr));
		CK(cuMemUnmap(va, gr));
		CK(cuMemAddressFree(va, 2 * gr));
	}

	/* streams/events */
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&s, 9));
	CK(cuEventCreate(&e, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&e, 0x40));
	CK(cuEventQuery(e));
	CK(cuEventRecord(e, s));
	CK(cuEventSynchronize(e));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord((CUevent)0, s));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(e, (CUstream)&v));
	{
		CUcontext sc;
		CK(cuStreamGetCtx(s, &sc));
		EXPECT(sc == c);
	}
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(s, d + 1, 1, 0));
	CK(cuStreamWriteValue32(s, d, 77, 0));
	CK(cuStreamWaitValue32(s, d, 70, CU_STREAM_WAIT_VALUE_GEQ));
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(&v, d, 4));
	EXPECT(v == 77);
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, d, 70, 8));
	{
		CUcontext o;
		CK(cuCtxCreate(&o, NULL, 0, dev));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(e, 0));
		CUstream os;
		CK(cuStreamCreate(&os, 0));
		WANT(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(e, os));
		CK(cuStreamWaitEvent(os, e, 0));
		CK(cuCtxDestroy(o));
		CK(cuCtxGetCurrent(&cur));
		EXPECT(cur == c);
	}

	/* occupancy */
	CK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 128, 0));
	EXPECT(v > 0);
	CK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 512, 0));
	EXPECT(v == 0);
	WANT(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 0, 0));
	{
		int mg, bs;
		CK(cuOccupancyMaxPotentialBlockSize(&mg, &bs, f, NULL, 0, 0));
		EXPECT(bs == 256 && mg > 0);
		CK(cuOccupancyMaxPotentialBlockSize(&mg, &bs, f, NULL, 0, 64));
		EXPECT(bs <= 64);
	}
	{
		const char *t;
		WANT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &t));
		EXPECT(!t);
		WANT(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &t));
		EXPECT(!t);
		CK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &t));
		EXPECT(t && *t);
	}
	CK(cuModuleUnload(m));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(m));
	CK(cuStreamDestroy(s));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(s));
	CK(cuEventDestroy(e));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(e));
	CK(cuCtxDestroy(c));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(!cur);
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(c));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 4));
	return e2e_end("errors by the driver's documentation");
}
