/* SPDX-License-Identifier: MIT */
/*
 * Which error the runtime gives for which wrong argument, what is kept as the last error, and which errors stay: as the CUDA Runtime
 * API's documentation has it. Each refused call must also be the thread's last error, once; what is not ready yet is no error.
 */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cassert>
#include <thread>

#include "wrong.h"

static void judge(int line, const char *call, cudaError_t got, cudaError_t want)
{
	if (got == want)
		return;
	printf("  line %d: %s gave %s, want %s\n", line, call, cudaGetErrorName(got), cudaGetErrorName(want));
	wrong++;
}

#define GIVES(want, call) judge(__LINE__, #call, call, want)
#define REFUSED(want, call) do { \
	judge(__LINE__, #call, call, want); \
	judge(__LINE__, "the last error", cudaGetLastError(), want); \
} while (0)
#define OK(call) GIVES(cudaSuccess, call)
static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .global .align 4 .u32 gv = 7;\n"
	".visible .entry one(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 11;\nret;\n}\n";

__global__ void k(int *p, int v) { if (p) *p = v; }
__global__ void add(int *p, int v) { atomicAdd(p, v); }
__global__ void __launch_bounds__(128) lb(int *p) { if (p) *p = 1; }
__global__ void sm(int *p)
{
	extern __shared__ int s[];

	s[threadIdx.x] = 1;
	if (p)
		*p = s[0];
}
__global__ void coop(int *p)
{
	cooperative_groups::this_grid().sync();
	if (p)
		*p = 1;
}
__global__ void spin(volatile int *f) { while (!*f) ; }
struct P { int a; double b; char c[20]; };
__global__ void params(P p, int *q, short s) { *q = p.a + s; }
__global__ void wild(int *p) { *p = 1; }
__global__ void trapk() { asm("trap;"); }
__global__ void asrt(int x) { assert(x == 1); }
__global__ void mis(char *p) { *(int *)(p + 1) = 3; }
__device__ int var[8];
__constant__ float cst[4];
__managed__ int mgd[2];
static void CUDART_CB hostfn(void *p) { ++*(int *)p; }
static void CUDART_CB cb(cudaStream_t, cudaError_t e, void *p) { *(int *)p += 10 + e; }

static void arguments()
{
	cudaDeviceProp pr;
	int v, n;
	void *p = nullptr, *q;
	int *d, *h;
	size_t a, b;
	float ms;
	cudaStream_t s, s2;
	cudaEvent_t e0, e1, ent;
	cudaPointerAttributes pa;
	cudaFuncAttributes fa;
	OK(cudaFree(0));
	OK(cudaGetDeviceProperties(&pr, 0));

	/* last error */
	GIVES(cudaErrorInvalidValue, cudaMemset((void *)16, 0, 4));
	GIVES(cudaErrorInvalidValue, cudaPeekAtLastError());
	GIVES(cudaErrorInvalidValue, cudaPeekAtLastError());
	OK(cudaMalloc(&d, 256));
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaGetLastError());
	REFUSED(cudaErrorInvalidDevice, cudaSetDevice(99));
	REFUSED(cudaErrorInvalidDevice, cudaSetDevice(-1));
	{
		cudaError_t other = cudaErrorUnknown;
		GIVES(cudaErrorInvalidDevice, cudaSetDevice(99));
		std::thread([&]{ other = cudaGetLastError(); }).join();
		WANT(other == cudaSuccess);
		GIVES(cudaErrorInvalidDevice, cudaGetLastError());
	}

	/* launches */
	k<<<0, 1>>>(d, 1);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	k<<<1, 0>>>(d, 1);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	k<<<1, 2048>>>(d, 1);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	k<<<1, dim3(1, 1, 65)>>>(d, 1);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	k<<<dim3(1, 65536, 1), 1>>>(d, 1);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	k<<<1, 1, 1 << 20>>>(d, 1);
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	lb<<<1, 256>>>(d);
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	sm<<<1, 32, 49 * 1024>>>(d);
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaDeviceSynchronize());
	k<<<1, 1>>>(d, 7);
	OK(cudaGetLastError());
	OK(cudaMemcpy(&v, d, 4, cudaMemcpyDeviceToHost));
	WANT(v == 7);
	REFUSED(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)hostfn, dim3(1), dim3(1), nullptr, 0, 0));
	REFUSED(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)nullptr, dim3(1), dim3(1), nullptr, 0, 0));

	/* memory */
	REFUSED(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 60));
	OK(cudaMalloc(&p, 0));
	WANT(!p);
	OK(cudaFree(p));
	REFUSED(cudaErrorInvalidValue, cudaMalloc(nullptr, 4));
	REFUSED(cudaErrorInvalidValue, cudaFree((void *)0x1234));
	REFUSED(cudaErrorInvalidValue, cudaFree((char *)d + 4));
	OK(cudaMalloc(&p, 16));
	OK(cudaFree(p));
	REFUSED(cudaErrorInvalidValue, cudaFree(p));
	OK(cudaMallocHost(&h, 256));
	REFUSED(cudaErrorInvalidValue, cudaFree(h));
	REFUSED(cudaErrorInvalidValue, cudaFreeHost(d));
	REFUSED(cudaErrorInvalidValue, cudaHostAlloc(&p, 16, 0x80));
	REFUSED(cudaErrorInvalidValue, cudaMallocManaged(&p, 16, 0));
	REFUSED(cudaErrorInvalidValue, cudaMallocManaged(&p, 16, 4));
	REFUSED(cudaErrorInvalidMemcpyDirection, cudaMemcpy(d, h, 4, (cudaMemcpyKind)7));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice));
	/* where the kind says device, addresses that are nothing are looked at no further; nor are the host's */
	REFUSED(cudaErrorInvalidValue, cudaMemcpy((void *)1, (void *)2, 3, cudaMemcpyDeviceToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy((void *)64, h, 4, cudaMemcpyHostToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy(h, (void *)64, 4, cudaMemcpyDeviceToHost));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy(&v, &v, 4, cudaMemcpyDeviceToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpyAsync((void *)1, d, 3, cudaMemcpyDeviceToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpyAsync((void *)64, h, 4, cudaMemcpyHostToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpyAsync(h, (void *)64, 4, cudaMemcpyDeviceToHost));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy2D((void *)1, 8, (void *)2, 8, 3, 3, cudaMemcpyDeviceToDevice));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy2DAsync(h, 8, (void *)64, 8, 4, 1, cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(d, d, 4, cudaMemcpyHostToDevice));
	OK(cudaMemcpyAsync(d, d, 4, cudaMemcpyDeviceToHost));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy(nullptr, d, 4, cudaMemcpyDeviceToHost));
	REFUSED(cudaErrorInvalidValue, cudaMemcpy(d, h, 1 << 20, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(d, h, 0, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
	REFUSED(cudaErrorInvalidPitchValue, cudaMemcpy2D(d, 4, h, 16, 8, 2, cudaMemcpyHostToDevice));
	REFUSED(cudaErrorInvalidPitchValue, cudaMemcpy2D(d, 16, h, 4, 8, 2, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2D(d, 16, h, 16, 0, 2, cudaMemcpyHostToDevice));
	REFUSED(cudaErrorInvalidMemcpyDirection, cudaMemcpy2D(d, 16, h, 16, 8, 2, (cudaMemcpyKind)9));
	REFUSED(cudaErrorInvalidValue, cudaMemset2D(d, 4, 0, 8, 2));
	OK(cudaMallocPitch(&p, &a, 100, 3));
	WANT(a % 512 == 0 && a >= 100);
	OK(cudaFree(p));
	{
		cudaPitchedPtr pp;
		OK(cudaMalloc3D(&pp, make_cudaExtent(100, 3, 2)));
		WANT(pp.xsize == 100 && pp.ysize == 3 && pp.pitch % 512 == 0);
		OK(cudaMemset3D(pp, 1, make_cudaExtent(100, 3, 2)));
		OK(cudaFree(pp.ptr));
	}
	OK(cudaMemGetInfo(&a, &b));
	WANT(a <= b && b > 0);

	/* host registration */
	q = aligned_alloc(4096, 8192);
	OK(cudaHostRegister(q, 8192, 0));
	REFUSED(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(q, 8192, 0));
	OK(cudaPointerGetAttributes(&pa, q));
	WANT(pa.type == cudaMemoryTypeHost && pa.hostPointer == q);
	OK(cudaHostUnregister(q));
	REFUSED(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(q));
	REFUSED(cudaErrorInvalidValue, cudaHostRegister(q, 0, 0));
	REFUSED(cudaErrorInvalidValue, cudaHostRegister(nullptr, 16, 0));
	OK(cudaPointerGetAttributes(&pa, q));
	WANT(pa.type == cudaMemoryTypeUnregistered && pa.devicePointer == nullptr && pa.hostPointer == q && pa.device == -2);
	OK(cudaPointerGetAttributes(&pa, d));
	WANT(pa.type == cudaMemoryTypeDevice && pa.devicePointer == d && pa.hostPointer == nullptr && pa.device == 0);
	OK(cudaPointerGetAttributes(&pa, d + 3));
	WANT(pa.devicePointer == d + 3);
	OK(cudaPointerGetAttributes(&pa, h));
	WANT(pa.type == cudaMemoryTypeHost && pa.hostPointer == h && pa.devicePointer);
	OK(cudaMallocManaged(&p, 64));
	OK(cudaPointerGetAttributes(&pa, p));
	WANT(pa.type == cudaMemoryTypeManaged && pa.hostPointer == p && pa.devicePointer == p);
	REFUSED(cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, p));
	{
		cudaMemLocation loc = { cudaMemLocationTypeDevice, 0 };
		REFUSED(cudaErrorInvalidValue, cudaMemPrefetchAsync(d, 64, loc, 0, 0));
		OK(cudaMemPrefetchAsync(p, 64, loc, 0, 0));
		REFUSED(cudaErrorInvalidValue, cudaMemPrefetchAsync(p, 0, loc, 0, 0));
		OK(cudaMemAdvise(p, 64, cudaMemAdviseSetReadMostly, loc));
		REFUSED(cudaErrorInvalidValue, cudaMemAdvise(d, 64, cudaMemAdviseSetReadMostly, loc));
		int rm = 9;
		OK(cudaMemRangeGetAttribute(&rm, 4, cudaMemRangeAttributeReadMostly, p, 64));
		WANT(rm == 1);
		REFUSED(cudaErrorInvalidValue, cudaMemRangeGetAttribute(&rm, 3, cudaMemRangeAttributeReadMostly, p, 64));
	}
	OK(cudaFree(p));
	REFUSED(cudaErrorInvalidValue, cudaHostGetDevicePointer(&p, q, 0));
	OK(cudaHostGetDevicePointer(&p, h, 0));
	REFUSED(cudaErrorInvalidValue, cudaHostGetDevicePointer(&p, h, 1));
	unsigned fl;
	OK(cudaHostGetFlags(&fl, h));
	REFUSED(cudaErrorInvalidValue, cudaHostGetFlags(&fl, q));

	/* devices */
	REFUSED(cudaErrorInvalidDevice, cudaGetDeviceProperties(&pr, 5));
	REFUSED(cudaErrorInvalidValue, cudaDeviceGetAttribute(&v, (cudaDeviceAttr)9999, 0));
	REFUSED(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 9));
	OK(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0));
	WANT(v == 32);
	char bus[32];
	OK(cudaDeviceGetPCIBusId(bus, 32, 0));
	OK(cudaDeviceGetByPCIBusId(&v, bus));
	WANT(v == 0);
	REFUSED(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&v, "junk"));
	REFUSED(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(bus, 0, 0));
	OK(cudaDeviceCanAccessPeer(&v, 0, 0));
	WANT(v == 0);
	REFUSED(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&v, 0, 9));
	REFUSED(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
	REFUSED(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(9, 0));
	REFUSED(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&a, (cudaLimit)99));
	OK(cudaDeviceGetLimit(&a, cudaLimitStackSize));
	WANT(a == 1024);
	OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
	OK(cudaDeviceGetLimit(&a, cudaLimitStackSize));
	WANT(a >= 4096);
	REFUSED(cudaErrorInvalidValue, cudaSetDeviceFlags(0x1000));
	OK(cudaGetDeviceFlags(&fl));
	OK(cudaChooseDevice(&v, &pr));
	int lo = 5, hi = 5;
	OK(cudaDeviceGetStreamPriorityRange(&lo, &hi));
	WANT(hi <= lo);
	{
		cudaDeviceP2PAttr at = cudaDevP2PAttrAccessSupported;
		REFUSED(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&v, at, 0, 0));
	}
	OK(cudaInitDevice(0, 0, 0));
	REFUSED(cudaErrorInvalidDevice, cudaInitDevice(9, 0, 0));

	/* streams, events */
	REFUSED(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&s, 7));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamGetFlags(s, &fl));
	WANT(fl == cudaStreamNonBlocking);
	OK(cudaStreamCreateWithPriority(&s2, 0, -100));
	OK(cudaStreamGetPriority(s2, &v));
	WANT(v == hi);
	unsigned long long i0, i1;
	OK(cudaStreamGetId(s, &i0));
	OK(cudaStreamGetId(s2, &i1));
	WANT(i0 != i1);
	OK(cudaStreamGetDevice(s, &v));
	WANT(v == 0);
	REFUSED(cudaErrorInvalidValue, cudaEventCreateWithFlags(&e0, 0x100));
	REFUSED(cudaErrorInvalidValue, cudaEventCreateWithFlags(&e0, cudaEventInterprocess));
	OK(cudaEventCreate(&e0));
	OK(cudaEventCreate(&e1));
	OK(cudaEventCreateWithFlags(&ent, cudaEventDisableTiming));
	OK(cudaEventQuery(e0));
	OK(cudaEventSynchronize(e0));
	OK(cudaStreamWaitEvent(s, e0, 0));
	REFUSED(cudaErrorInvalidValue, cudaStreamWaitEvent(s, e0, 5));
	REFUSED(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, e0, e1));
	OK(cudaEventRecord(e0, s));
	OK(cudaEventRecord(ent, s));
	OK(cudaStreamSynchronize(s));
	REFUSED(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, e0, ent));
	OK(cudaEventRecord(e1, s));
	OK(cudaEventSynchronize(e1));
	OK(cudaEventElapsedTime(&ms, e0, e1));
	WANT(ms >= 0);
	REFUSED(cudaErrorInvalidValue, cudaEventElapsedTime(nullptr, e0, e1));
	{
		volatile int *f;
		OK(cudaHostAlloc((void **)&f, 4, cudaHostAllocMapped));
		*f = 0;
		spin<<<1, 1, 0, s>>>(f);
		OK(cudaEventRecord(e1, s));
		GIVES(cudaErrorNotReady, cudaStreamQuery(s));
		GIVES(cudaErrorNotReady, cudaEventQuery(e1));
		GIVES(cudaErrorNotReady, cudaEventElapsedTime(&ms, e0, e1));
		OK(cudaStreamQuery(s2));
		*f = 1;
		OK(cudaStreamSynchronize(s));
		OK(cudaStreamQuery(s));
		OK(cudaFreeHost((void *)f));
	}
	n = 0;
	OK(cudaLaunchHostFunc(s, hostfn, &n));
	OK(cudaStreamAddCallback(s, cb, &n, 0));
	OK(cudaStreamSynchronize(s));
	WANT(n == 11);
	REFUSED(cudaErrorInvalidValue, cudaStreamAddCallback(s, cb, &n, 1));
	REFUSED(cudaErrorInvalidValue, cudaLaunchHostFunc(s, nullptr, &n));
	REFUSED(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
	REFUSED(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr, s));
	REFUSED(cudaErrorInvalidResourceHandle, cudaEventDestroy(nullptr));
	REFUSED(cudaErrorInvalidResourceHandle, cudaEventQuery(nullptr));

	/* functions */
	OK(cudaFuncGetAttributes(&fa, lb));
	WANT(fa.maxThreadsPerBlock == 128);
	OK(cudaFuncGetAttributes(&fa, sm));
	WANT(fa.sharedSizeBytes == 0 && fa.maxDynamicSharedSizeBytes == 48 * 1024 && fa.ptxVersion >= 75 && fa.numRegs > 0);
	REFUSED(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&fa, (void *)hostfn));
	REFUSED(cudaErrorInvalidValue, cudaFuncSetAttribute(sm, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24));
	REFUSED(cudaErrorInvalidValue, cudaFuncSetAttribute(sm, cudaFuncAttributeMaxDynamicSharedMemorySize, -2));
	REFUSED(cudaErrorInvalidValue, cudaFuncSetAttribute(sm, (cudaFuncAttribute)77, 1));
	REFUSED(cudaErrorInvalidValue, cudaFuncSetAttribute(sm, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
	OK(cudaFuncSetAttribute(sm, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
	OK(cudaFuncSetCacheConfig(sm, cudaFuncCachePreferL1));
	OK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	WANT(v >= 48 * 1024);
	OK(cudaFuncSetAttribute(sm, cudaFuncAttributeMaxDynamicSharedMemorySize, v));
	sm<<<1, 32, v>>>(d);
	OK(cudaGetLastError());
	OK(cudaFuncGetAttributes(&fa, sm));
	WANT(fa.maxDynamicSharedSizeBytes == v);
	OK(cudaDeviceSynchronize());
	const char *name = nullptr;
	OK(cudaFuncGetName(&name, (void *)lb));
	WANT(name && !strcmp(name, "_Z2lbPi"));
	OK(cudaFuncGetParamInfo((void *)params, 1, &a, &b));
	WANT(a == 40 && b == 8);
	OK(cudaFuncGetParamInfo((void *)params, 2, &a, &b));
	WANT(a == 48 && b == 2);
	REFUSED(cudaErrorInvalidValue, cudaFuncGetParamInfo((void *)params, 3, &a, &b));

	/* occupancy */
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, sm, 256, 0));
	WANT(n > 0);
	REFUSED(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, sm, 0, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, lb, 256, 0));
	WANT(n == 0);
	OK(cudaOccupancyMaxPotentialBlockSize(&n, &v, lb, 0, 0));
	WANT(v == 128 && n > 0);
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&a, sm, 1, 128));
	WANT(a > 0);

	/* cooperative */
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, coop, 64, 0));
	OK(cudaGetDeviceProperties(&pr, 0));
	{
		void *arg[] = { &d };
		OK(cudaLaunchCooperativeKernel((void *)coop, dim3(pr.multiProcessorCount), dim3(64), arg, 0, 0));
		OK(cudaDeviceSynchronize());
		REFUSED(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel((void *)coop,
		     dim3(pr.multiProcessorCount * n + 1), dim3(64), arg, 0, 0));
	}

	/* launch attributes */
	{
		cudaLaunchAttribute at[3];
		memset(at, 0, sizeof at);
		cudaLaunchConfig_t c = {};
		c.gridDim = dim3(2);
		c.blockDim = dim3(32);
		c.attrs = at;
		c.stream = s;
		at[0].id = cudaLaunchAttributeCooperative;
		at[0].val.cooperative = 1;
		c.numAttrs = 1;
		OK(cudaLaunchKernelEx(&c, coop, d));
		at[0].id = cudaLaunchAttributePriority;
		at[0].val.priority = 0;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeClusterDimension;
		at[0].val.clusterDim.x = at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1;
		if (pr.major >= 9) OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
		at[0].val.programmaticStreamSerializationAllowed = 1;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeProgrammaticEvent;
		at[0].val.programmaticEvent.event = ent;
		at[0].val.programmaticEvent.flags = 0;
		at[0].val.programmaticEvent.triggerAtBlockStart = 0;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		OK(cudaEventSynchronize(ent));
		at[0].id = cudaLaunchAttributeLaunchCompletionEvent;
		at[0].val.launchCompletionEvent.event = ent;
		at[0].val.launchCompletionEvent.flags = 0;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeMemSyncDomain;
		at[0].val.memSyncDomain = cudaLaunchMemSyncDomainDefault;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeAccessPolicyWindow;
		memset(&at[0].val, 0, sizeof at[0].val);
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributeIgnore;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = (cudaLaunchAttributeID)55;
		REFUSED(cudaErrorInvalidValue, cudaLaunchKernelEx(&c, k, d, 3));
		at[0].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
		at[0].val.sharedMemCarveout = 50;
		OK(cudaLaunchKernelEx(&c, k, d, 3));
		OK(cudaStreamSynchronize(s));
	}
	{
		cudaStreamAttrValue sv;
		memset(&sv, 0, sizeof sv);
		sv.syncPolicy = cudaSyncPolicySpin;
		OK(cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &sv));
		memset(&sv, 0, sizeof sv);
		OK(cudaStreamGetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &sv));
		WANT(sv.syncPolicy == cudaSyncPolicySpin);
		OK(cudaStreamCopyAttributes(s2, s));
	}

	/* symbols */
	OK(cudaGetSymbolAddress(&p, var));
	OK(cudaGetSymbolSize(&a, var));
	WANT(a == 32);
	REFUSED(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&p, (const void *)hostfn));
	REFUSED(cudaErrorInvalidSymbol, cudaGetSymbolSize(&a, (const void *)&n));
	int in[9] = { 1, 2, 3 }, out[9];
	OK(cudaMemcpyToSymbol(var, in, 12, 8));
	OK(cudaMemcpyFromSymbol(out, var, 12, 8));
	WANT(!memcmp(in, out, 12));
	REFUSED(cudaErrorInvalidValue, cudaMemcpyToSymbol(var, in, 36));
	REFUSED(cudaErrorInvalidValue, cudaMemcpyToSymbol(var, in, 4, 32));
	REFUSED(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(var, in, 4, 0, cudaMemcpyDeviceToHost));
	REFUSED(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(out, var, 4, 0, cudaMemcpyHostToDevice));
	REFUSED(cudaErrorInvalidSymbol, cudaMemcpyToSymbol((const void *)&n, in, 4));
	float fc[4] = { 1, 2, 3, 4 };
	OK(cudaMemcpyToSymbol(cst, fc, 16));
	OK(cudaGetSymbolAddress(&p, mgd));
	WANT(p == mgd);
	OK(cudaGetSymbolSize(&a, mgd));
	WANT(a == 8);
	OK(cudaMemcpyToSymbol(mgd, in, 4, 4));
	WANT(mgd[1] == 1);

	/* capture */
	{
		cudaGraph_t g;
		cudaStreamCaptureStatus st;
		REFUSED(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
		REFUSED(cudaErrorIllegalState, cudaStreamEndCapture(s, &g));
		OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		REFUSED(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(s));
		OK(cudaStreamIsCapturing(s, &st));
		WANT(st == cudaStreamCaptureStatusInvalidated);
		REFUSED(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &g));
		WANT(!g);
		OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		REFUSED(cudaErrorStreamCaptureUnsupported, cudaMalloc(&p, 16));
		REFUSED(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &g));
		OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
		k<<<1,1>>>(d, 1);
		OK(cudaGetLastError());
		OK(cudaStreamEndCapture(s, &g));
		OK(cudaGraphDestroy(g));
		OK(cudaStreamBeginCapture(s2, cudaStreamCaptureModeGlobal));
		k<<<1,1>>>(d, 1);
		GIVES(cudaErrorStreamCaptureImplicit, cudaGetLastError());
		REFUSED(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s2, &g));
	}

	/* entry points */
	{
		cudaDriverEntryPointQueryResult st;
		p = &n;
		OK(cudaGetDriverEntryPointByVersion("cuNope", &p, 12000, cudaEnableDefault, &st));
		WANT(!p && st == cudaDriverEntryPointSymbolNotFound);
		OK(cudaGetDriverEntryPointByVersion("cuGreenCtxCreate", &p, 12000, cudaEnableDefault, &st));
		WANT(st == cudaDriverEntryPointVersionNotSufficent && !p);
	}
	WANT(!strcmp(cudaGetErrorName((cudaError_t)54321), "unrecognized error code"));
	OK(cudaDriverGetVersion(&v));
	OK(cudaRuntimeGetVersion(&n));
	WANT(v >= n && n == 13010);
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(s2));
	OK(cudaDeviceReset());
	OK(cudaMalloc(&d, 16));
	OK(cudaFree(d));
	done("arguments");
}

/* A fault is found when somebody waits, and is every call's answer from then on, until the device is reset. */
static void sticky(const char *what, cudaError_t want, int kind)
{
	cudaStream_t s;
	int *d, count;

	OK(cudaMalloc(&d, 64));
	OK(cudaStreamCreate(&s));
	switch (kind) {
	case 0: wild<<<1, 1, 0, s>>>((int *)0x10); break;
	case 1: trapk<<<1, 1, 0, s>>>(); break;
	case 2: asrt<<<1, 1, 0, s>>>(2); break;
	default: mis<<<1, 1, 0, s>>>((char *)d);
	}
	OK(cudaGetLastError());         /* the launch as such */
	GIVES(want, cudaStreamSynchronize(s));
	GIVES(want, cudaGetLastError());
	GIVES(want, cudaDeviceSynchronize());
	GIVES(want, cudaGetLastError());
	GIVES(want, cudaPeekAtLastError());
	GIVES(want, cudaMalloc(&d, 4));
	GIVES(want, cudaMemcpy(&count, d, 4, cudaMemcpyDeviceToHost));
	k<<<1, 1>>>(d, 1);
	GIVES(want, cudaGetLastError());
	GIVES(want, cudaStreamCreate(&s));
	GIVES(want, cudaFree(d));
	OK(cudaGetDeviceCount(&count));
	OK(cudaGetDevice(&count));
	OK(cudaDeviceReset());
	OK(cudaGetLastError());
	OK(cudaMalloc(&d, 64));
	k<<<1, 1>>>(d, 5);
	OK(cudaDeviceSynchronize());
	OK(cudaFree(d));
	done(what);
}

#define AT(f, at) do { \
	OK(cudaDeviceGetAttribute(&v, at, 0)); \
	WANT((long long)v == (long long)pr.f); \
} while (0)

static void objects()
{
	int *d, *h, v, n;
	cudaStream_t s;
	size_t a;
	OK(cudaMalloc(&d, 1 << 20));
	OK(cudaMallocHost(&h, 1 << 20));
	OK(cudaStreamCreate(&s));
	cudaDeviceProp pr;
	OK(cudaGetDeviceProperties(&pr, 0));

	/* props consistent with attributes */
	AT(maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock);
	AT(maxThreadsDim[2], cudaDevAttrMaxBlockDimZ);
	AT(maxGridSize[1], cudaDevAttrMaxGridDimY);
	AT(sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock);
	AT(warpSize, cudaDevAttrWarpSize);
	AT(regsPerBlock, cudaDevAttrMaxRegistersPerBlock);
	AT(multiProcessorCount, cudaDevAttrMultiProcessorCount);
	AT(canMapHostMemory, cudaDevAttrCanMapHostMemory);
	AT(concurrentKernels, cudaDevAttrConcurrentKernels);
	AT(ECCEnabled, cudaDevAttrEccEnabled);
	AT(asyncEngineCount, cudaDevAttrAsyncEngineCount);
	AT(unifiedAddressing, cudaDevAttrUnifiedAddressing);
	AT(l2CacheSize, cudaDevAttrL2CacheSize);
	AT(maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor);
	AT(major, cudaDevAttrComputeCapabilityMajor);
	AT(managedMemory, cudaDevAttrManagedMemory);
	AT(concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess);
	AT(cooperativeLaunch, cudaDevAttrCooperativeLaunch);
	AT(sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin);
	AT(maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor);
	AT(reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock);
	AT(hostRegisterSupported, cudaDevAttrHostRegisterSupported);
	AT(memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported);
	AT(maxTexture2D[0], cudaDevAttrMaxTexture2DWidth);
	AT(maxTexture1DMipmap, cudaDevAttrMaxTexture1DMipmappedWidth);
	AT(maxTexture2DMipmap[0], cudaDevAttrMaxTexture2DMipmappedWidth);
	AT(textureAlignment, cudaDevAttrTextureAlignment);
	AT(pageableMemoryAccess, cudaDevAttrPageableMemoryAccess);
	AT(streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported);
	AT(clusterLaunch, cudaDevAttrClusterLaunch);

	/* pools */
	{
		cudaMemPool_t p, dp;
		OK(cudaDeviceGetDefaultMemPool(&dp, 0));
		OK(cudaDeviceGetMemPool(&p, 0));
		WANT(p == dp);
		cudaMemPoolProps pp = {};
		pp.allocType = cudaMemAllocationTypePinned;
		pp.location.type = cudaMemLocationTypeDevice;
		OK(cudaMemPoolCreate(&p, &pp));
		OK(cudaDeviceSetMemPool(0, p));
		void *x;
		OK(cudaMallocAsync(&x, 100, s));
		uint64_t u;
		OK(cudaMemPoolGetAttribute(p, cudaMemPoolAttrUsedMemCurrent, &u));
		WANT(u == 100 || u >= 100);
		OK(cudaFreeAsync(x, s));
		OK(cudaStreamSynchronize(s));
		OK(cudaMemPoolGetAttribute(p, cudaMemPoolAttrUsedMemCurrent, &u));
		WANT(u == 0);
		REFUSED(cudaErrorInvalidValue, cudaMemPoolDestroy(dp));
		OK(cudaMemPoolDestroy(p));
		OK(cudaDeviceGetMemPool(&p, 0));
		WANT(p == dp);
		REFUSED(cudaErrorInvalidValue, cudaFreeAsync((void *)0x123, s));
		OK(cudaMallocAsync(&x, 100, s));
		OK(cudaFree(x));
		REFUSED(cudaErrorMemoryAllocation, cudaMallocAsync(&x, (size_t)1 << 50, s));
		pp.allocType = cudaMemAllocationTypeInvalid;
		REFUSED(cudaErrorInvalidValue, cudaMemPoolCreate(&p, &pp));
		cudaMemPoolPtrExportData ed;
		REFUSED(cudaErrorInvalidValue, cudaMemPoolExportPointer(&ed, d));
	}

	/* 3D copies */
	{
		cudaMemcpy3DParms c = {};
		c.srcPtr = make_cudaPitchedPtr(h, 64, 64, 4);
		c.dstPtr = make_cudaPitchedPtr(d, 64, 64, 4);
		c.extent = make_cudaExtent(64, 4, 2);
		c.kind = cudaMemcpyHostToDevice;
		OK(cudaMemcpy3D(&c));
		c.dstPtr.pitch = 32;
		REFUSED(cudaErrorInvalidPitchValue, cudaMemcpy3D(&c));
		c.dstPtr.pitch = 64;
		c.kind = (cudaMemcpyKind)8;
		REFUSED(cudaErrorInvalidMemcpyDirection, cudaMemcpy3D(&c));
		c.kind = cudaMemcpyDefault;
		c.extent.depth = 0;
		OK(cudaMemcpy3D(&c));
		REFUSED(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
	}

	/* graphs */
	{
		cudaGraph_t g, g2;
		cudaGraphNode_t kn, mn, hn, en, nodes[8];
		cudaGraphExec_t ge;
		int arg = 3;
		void *args[] = { &d, &arg };
		cudaKernelNodeParams kp = {};
		kp.func = (void *)add;
		kp.gridDim = dim3(2);
		kp.blockDim = dim3(4);
		kp.kernelParams = args;
		OK(cudaMemset(d, 0, 64));
		OK(cudaGraphCreate(&g, 0));
		REFUSED(cudaErrorInvalidValue, cudaGraphCreate(&g2, 1));
		OK(cudaGraphAddKernelNode(&kn, g, nullptr, 0, &kp));
		OK(cudaGraphAddMemcpyNode1D(&mn, g, &kn, 1, h, d, 4, cudaMemcpyDeviceToHost));
		n = 0;
		cudaHostNodeParams hp = { hostfn, &n };
		OK(cudaGraphAddHostNode(&hn, g, &mn, 1, &hp));
		OK(cudaGraphAddEmptyNode(&en, g, &hn, 1));
		OK(cudaGraphGetNodes(g, nullptr, &a));
		WANT(a == 4);
		OK(cudaGraphGetRootNodes(g, nodes, &a));
		WANT(a == 1 && nodes[0] == kn);
		a = 8;
		OK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &a));
		WANT(a == 3);
		OK(cudaGraphInstantiate(&ge, g, 0));
		OK(cudaGraphLaunch(ge, s));
		OK(cudaGraphLaunch(ge, s));
		OK(cudaStreamSynchronize(s));
		WANT(h[0] == 48 && n == 2);
		arg = 5;
		OK(cudaGraphExecKernelNodeSetParams(ge, kn, &kp));
		OK(cudaGraphLaunch(ge, s));
		OK(cudaStreamSynchronize(s));
		WANT(h[0] == 48 + 40);
		OK(cudaGraphNodeSetEnabled(ge, kn, 0));
		OK(cudaGraphLaunch(ge, s));
		OK(cudaStreamSynchronize(s));
		WANT(h[0] == 88);
		unsigned on;
		OK(cudaGraphNodeGetEnabled(ge, kn, &on));
		WANT(!on);
		REFUSED(cudaErrorInvalidValue, cudaGraphAddDependencies(g, &hn, &hn, nullptr, 1));
		OK(cudaGraphAddDependencies(g, &en, &kn, nullptr, 1));
		REFUSED(cudaErrorInvalidValue, cudaGraphInstantiate(&ge, g, 0));
		OK(cudaGraphRemoveDependencies(g, &en, &kn, nullptr, 1));
		OK(cudaGraphClone(&g2, g));
		OK(cudaGraphNodeFindInClone(&nodes[0], kn, g2));
		cudaGraphExecUpdateResultInfo ui;
		arg = 9;
		OK(cudaGraphKernelNodeSetParams(nodes[0], &kp));
		OK(cudaGraphExecUpdate(ge, g2, &ui));
		WANT(ui.result == cudaGraphExecUpdateSuccess);
		OK(cudaGraphDestroyNode(en));
		REFUSED(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(ge, g, &ui));
		WANT(ui.result == cudaGraphExecUpdateErrorTopologyChanged);
		cudaKernelNodeParams back;
		OK(cudaGraphKernelNodeGetParams(kn, &back));
		WANT(back.func == (void *)add && back.gridDim.x == 2 && *(int *)back.kernelParams[1] == 3);
		cudaGraphNodeType ty;
		OK(cudaGraphNodeGetType(mn, &ty));
		WANT(ty == cudaGraphNodeTypeMemcpy);
		REFUSED(cudaErrorInvalidValue, cudaGraphHostNodeGetParams(mn, &hp));
		OK(cudaGraphExecDestroy(ge));
		OK(cudaGraphDestroy(g));
		OK(cudaGraphDestroy(g2));
	}

	/* library management */
	{
		cudaLibrary_t l;
		cudaKernel_t kn;
		OK(cudaLibraryLoadData(&l, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
		OK(cudaLibraryGetKernel(&kn, l, "one"));
		REFUSED(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kn, l, "two"));
		OK(cudaLibraryGetKernel(&kn, l, "one"));
		void *gp;
		OK(cudaLibraryGetGlobal(&gp, &a, l, "gv"));
		WANT(a == 4);
		unsigned cnt;
		OK(cudaLibraryGetKernelCount(&cnt, l));
		WANT(cnt == 1);
		void *args[] = { &d };
		OK(cudaLaunchKernel((void *)kn, dim3(1), dim3(1), args, 0, s));
		OK(cudaMemcpyAsync(h, d, 4, cudaMemcpyDefault, s));
		OK(cudaStreamSynchronize(s));
		WANT(h[0] == 11);
		OK(cudaLibraryUnload(l));
		REFUSED(cudaErrorInvalidKernelImage, cudaLibraryLoadData(&l, "bla .version", nullptr, nullptr, 0, nullptr, nullptr, 0));
	}

	/* launch blocking semantic: pageable copies etc */
	{
		std::vector<int> src(1000, 4), dst(1000);
		OK(cudaMemcpyAsync(d, src.data(), 4000, cudaMemcpyHostToDevice, s));
		src.assign(1000, 9);
		OK(cudaMemcpyAsync(dst.data(), d, 4000, cudaMemcpyDeviceToHost, s));
		OK(cudaStreamSynchronize(s));
		WANT(dst[999] == 4);
	}

	/* kernel occupancy cluster, device attrs */

	/* driver: sticky vs ctx */
	done("objects");
}

int main()
{
	arguments();
	objects();
	sticky("an illegal address stays", cudaErrorIllegalAddress, 0);
	sticky("a trap stays", cudaErrorLaunchFailure, 1);
	sticky("an assertion stays", cudaErrorAssert, 2);
	sticky("a misaligned address stays", cudaErrorMisalignedAddress, 3);
	return failures != 0;
}
