/* SPDX-License-Identifier: MIT */
/* The runtime API's probe: what libcudart.so.13 answers; see probe.h. One source, as tests/e2e/cu.sh compiles it. */
#include <cuda_runtime.h>

#include "probe.h"

#include "probe.c"

#ifndef __NVCC__
#include "../../e2e/kernels/device.h"
#endif

__device__ int counter = 5;
__device__ float table[10];
__constant__ int coeff[4] = { 1, 2, 3, 4 };
static int no_symbol;

__global__ void nop(void) { }
__global__ void add_one(int *p) { *p += 1; }
__global__ void many(char, long long, float) { }
__global__ void shares(void) { __shared__ int s[3000]; ((volatile int *)s)[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128, 2) bounded(void) { }
__global__ void trapped(void) { asm volatile("trap;"); }
static void not_a_kernel(void) { }

#define F(f) ((const void *)(f))
#define W(x) ((void *)(uintptr_t)(x))
#define WILD W(0x7f1234560000ull)
#define LAST() do { R(cudaPeekAtLastError()); R(cudaGetLastError()); R(cudaGetLastError()); } while (0)

extern "C" const char *result_name(int r)
{
	const char *s = cudaGetErrorName((cudaError_t)r);

	return s && strcmp(s, "unrecognized error code") ? s : NULL;
}

static void start(void)
{
	alarm(20);
	if (cudaFree(NULL))
		say("[start] no device\n");
	alarm(0);
	in_start = 0;
}

static void *dev(size_t n)
{
	void *p = NULL;

	cudaMalloc(&p, n);
	return p;
}

static void g_errors(void)
{
	for (int i = -1; i < 1010; i++) {
		const char *n = cudaGetErrorName((cudaError_t)i), *s = cudaGetErrorString((cudaError_t)i);

		if ((n && s && strcmp(n, "unrecognized error code")) || i < 0 || i % 100 == 50)
			SAY("%d: %s, %s", i, n ? n : "null", s ? s : "null");
	}
}

static void g_init(void)
{
	int n = -7, d = -7, v = -7;
	unsigned int f = 7;
	struct cudaPointerAttributes a;
	size_t z = 7;

	R(cudaGetLastError());
	R(cudaPeekAtLastError());
	RV(cudaRuntimeGetVersion(&v), "major %d", v / 1000);
	RV(cudaDriverGetVersion(&v), "major %d", v / 1000);
	R(cudaRuntimeGetVersion(NULL));
	R(cudaDriverGetVersion(NULL));
	R(cudaGetDeviceCount(NULL));
	RV(cudaGetDevice(&d), "%d", d);
	R(cudaGetDevice(NULL));
	RV(cudaGetDeviceFlags(&f), "0x%x", f);
	R(cudaSetDeviceFlags(3));
	R(cudaSetDeviceFlags(0x100));
	R(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
	RV(cudaGetDeviceFlags(&f), "0x%x", f);
	LAST();
	R(cudaSetDevice(-1));
	R(cudaPeekAtLastError());
	R(cudaSetDevice(99));
	LAST();
	R(cudaGetDeviceCount(&n));
	R(cudaPeekAtLastError());
	R(cudaInitDevice(0, 0, 0));
	R(cudaInitDevice(0, 0x1000, 0));
	R(cudaInitDevice(0, 0x1000, 1));
	R(cudaInitDevice(99, 0, 0));
	R(cudaInitDevice(0, 0, 2));
	LAST();
	memset(&a, 0x77, sizeof a);
	RV(cudaPointerGetAttributes(&a, &n), "type %d, device %d, %s %s", a.type, a.device, a.devicePointer ? "set" : "null", a.hostPointer == &n ? "same" : a.hostPointer ? "set" : "null");
	R(cudaSetDevice(0));
	RV(cudaGetDeviceFlags(&f), "0x%x", f);
	R(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
	RV(cudaGetDeviceFlags(&f), "0x%x", f);
	LAST();
	R(cudaSetValidDevices(&d, 1));
	d = 0;
	R(cudaSetValidDevices(&d, 1));
	R(cudaSetValidDevices(NULL, 0));
	R(cudaSetValidDevices(NULL, 3));
	d = 99;
	R(cudaSetValidDevices(&d, 1));
	LAST();
	R(cudaDeviceSynchronize());
	R(cudaDeviceGetLimit(&z, cudaLimitStackSize));
	for (int i = -1; i < 9; i++) {
		tag("limit %d", i);
		RV(cudaDeviceGetLimit(&z, (enum cudaLimit)i), "%zu", z);
		R(cudaDeviceSetLimit((enum cudaLimit)i, 4096));
		RV(cudaDeviceGetLimit(&z, (enum cudaLimit)i), "%zu", z);
		R(cudaGetLastError());
	}
	for (int i = -1; i < 5; i++) {
		enum cudaFuncCache c = (enum cudaFuncCache)7;
		int s = 7;

		tag("config %d", i);
		R(cudaDeviceSetCacheConfig((enum cudaFuncCache)i));
		RV(cudaDeviceGetCacheConfig(&c), "%d", c);
		D(cudaDeviceSetSharedMemConfig, (int), (i));
		D(cudaDeviceGetSharedMemConfig, (int *), (&s));
		R(cudaGetLastError());
	}
	tag("%s", "");
	RV(cudaDeviceGetStreamPriorityRange(&n, &d), "%d %d", n, d);
	R(cudaDeviceGetStreamPriorityRange(NULL, NULL));
	R(cudaDeviceGetPCIBusId(NULL, 10, 0));
	char bus[32];
	R(cudaDeviceGetPCIBusId(bus, 5, 0));
	R(cudaDeviceGetPCIBusId(bus, 32, 9));
	RV(cudaDeviceGetPCIBusId(bus, 32, 0), "length %d", (int)strlen(bus));
	RV(cudaDeviceGetByPCIBusId(&d, bus), "%d", d);
	R(cudaDeviceGetByPCIBusId(&d, "nonsense"));
	R(cudaDeviceGetByPCIBusId(&d, NULL));
	LAST();
	RV(cudaDeviceCanAccessPeer(&n, 0, 0), "%d", n);
	R(cudaDeviceCanAccessPeer(&n, 0, 9));
	R(cudaDeviceEnablePeerAccess(0, 0));
	R(cudaDeviceEnablePeerAccess(9, 0));
	R(cudaDeviceDisablePeerAccess(0));
	R(cudaDeviceDisablePeerAccess(9));
	LAST();
	D(cudaProfilerStart, (void), ());
	D(cudaProfilerStop, (void), ());
}

static int by_card(int i)
{
	static const unsigned char list[] = { 13, 16, 33, 34, 35, 36, 37, 38, 40, 50, 84, 85, 88, 100, 101, 108, 109, 110, 112, 116, 117, 118, 119,
		121, 124, 128, 130, 131, 132, 134, 136, 137, 139, 140, 141, 142, 143 };

	return !!memchr(list, i, sizeof list);
}

static void g_attributes(void)
{
	int v;
	struct cudaDeviceProp p;

	start();
	for (int i = 0; i < 152; i++) {
		tag("attribute %d", i);
		v = -7;
		RV(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)i, 0), "%s%d", by_card(i) ? "~" : "", v);
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaDeviceGetAttribute(NULL, (enum cudaDeviceAttr)1, 0));
	R(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)1, 9));
	R(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)5000, 9));
	R(cudaGetDeviceProperties(NULL, 0));
	R(cudaGetDeviceProperties(&p, 9));
	R(cudaGetDeviceProperties(&p, -1));
	memset(&p, 0xee, sizeof p);
	RV(cudaGetDeviceProperties(&p, 0), "%d.%d", p.major, p.minor);
#define PROP(f) SAY(#f " %lld", (long long)p.f)
	PROP(sharedMemPerBlock); PROP(regsPerBlock); PROP(warpSize); PROP(memPitch); PROP(maxThreadsPerBlock); PROP(maxThreadsDim[2]); PROP(maxGridSize[0]); PROP(maxGridSize[1]);
	PROP(totalConstMem); PROP(textureAlignment); PROP(texturePitchAlignment); PROP(integrated); PROP(canMapHostMemory); PROP(maxTexture1D); PROP(maxTexture1DMipmap);
	PROP(maxTexture2D[0]); PROP(maxTexture2DMipmap[0]); PROP(maxTexture2DLinear[0]); PROP(maxTexture2DLinear[2]); PROP(maxTexture2DGather[0]); PROP(maxTexture3D[0]); PROP(maxTexture3DAlt[0]); PROP(maxTextureCubemap);
	PROP(maxTexture1DLayered[0]); PROP(maxTexture2DLayered[2]); PROP(maxTextureCubemapLayered[1]); PROP(maxSurface1D); PROP(maxSurface2D[0]); PROP(maxSurface3D[0]); PROP(maxSurface1DLayered[0]);
	PROP(maxSurface2DLayered[0]); PROP(maxSurfaceCubemap); PROP(maxSurfaceCubemapLayered[0]); PROP(surfaceAlignment); PROP(concurrentKernels); PROP(unifiedAddressing); PROP(maxThreadsPerMultiProcessor);
	PROP(streamPrioritiesSupported); PROP(globalL1CacheSupported); PROP(localL1CacheSupported); PROP(sharedMemPerMultiprocessor); PROP(regsPerMultiprocessor); PROP(managedMemory); PROP(isMultiGpuBoard);
	PROP(hostNativeAtomicSupported); PROP(pageableMemoryAccess); PROP(concurrentManagedAccess); PROP(computePreemptionSupported); PROP(canUseHostPointerForRegisteredMem); PROP(cooperativeLaunch);
	PROP(sharedMemPerBlockOptin); PROP(pageableMemoryAccessUsesHostPageTables); PROP(directManagedMemAccessFromHost); PROP(maxBlocksPerMultiProcessor); PROP(reservedSharedMemPerBlock);
	PROP(hostRegisterSupported); PROP(hostRegisterReadOnlySupported); PROP(timelineSemaphoreInteropSupported); PROP(memoryPoolsSupported); PROP(clusterLaunch); PROP(unifiedFunctionPointers);
	PROP(ipcEventSupported); PROP(deferredMappingCudaArraySupported); PROP(sparseCudaArraySupported);
	int d = -7;
	memset(&p, 0, sizeof p);
	RV(cudaChooseDevice(&d, &p), "%d", d);
	p.major = 99;
	RV(cudaChooseDevice(&d, &p), "%d", d);
	R(cudaChooseDevice(NULL, &p));
	R(cudaChooseDevice(&d, NULL));
}

static void g_memory(void)
{
	void *p = W(7), *q = NULL, *h = NULL;
	size_t z = 7, total;
	static char host[8192];
	unsigned int f = 7;
	struct cudaPitchedPtr pp;
	struct cudaPointerAttributes a;

	start();
	R(cudaMalloc(&p, 0));
	SAY("%s", p == W(7) ? "untouched" : p ? "set" : "null");
	R(cudaMalloc(NULL, 16));
	R(cudaMalloc(NULL, 0));
	p = W(7);
	R(cudaMalloc(&p, (size_t)1 << 46));
	SAY("%s", p == W(7) ? "untouched" : p ? "set" : "null");
	LAST();
	R(cudaMalloc(&p, 100));
	R(cudaFree((char *)p + 1));
	LAST();
	R(cudaFree(p));
	R(cudaFree(p));
	LAST();
	R(cudaFree(NULL));
	R(cudaFree(WILD));
	R(cudaFree(host));
	LAST();
	static const size_t t[][2] = { { 1, 1 }, { 100, 10 }, { 512, 4 }, { 513, 4 }, { 0, 4 }, { 4, 0 }, { 0, 0 }, { 70000, 2 }, { SIZE_MAX, 1 } };
	for (size_t i = 0; i < NEL(t); i++) {
		tag("%zu by %zu", t[i][0], t[i][1]);
		p = W(7), z = 7;
		RV(cudaMallocPitch(&p, &z, t[i][0], t[i][1]), "%zu, %s", z, p ? "set" : "null");
		memset(&pp, 0, sizeof pp);
		RV(cudaMalloc3D(&pp, make_cudaExtent(t[i][0], t[i][1], 2)), "pitch %zu, %zu by %zu, %s", pp.pitch, pp.xsize, pp.ysize, pp.ptr ? "set" : "null");
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaMallocPitch(NULL, &z, 4, 4));
	R(cudaMallocPitch(&p, NULL, 4, 4));
	p = W(7);
	R(cudaMallocHost(&p, 0));
	SAY("%s", p == W(7) ? "untouched" : p ? "set" : "null");
	R(cudaMallocHost(NULL, 16));
	p = W(7);
	R(cudaHostAlloc(&p, 0, 0));
	SAY("%s", p == W(7) ? "untouched" : p ? "set" : "null");
	for (unsigned int i = 0; i < 10; i++) {
		tag("flags %u", i);
		h = NULL;
		R(cudaHostAlloc(&h, 100, i));
		if (h)
			RV(cudaHostGetFlags(&f, h), "%u", f);
		R(cudaHostRegister(host, 4096, i == 4 ? 0x10 : i));
		RV(cudaHostGetFlags(&f, host), "%u", f);
		R(cudaHostUnregister(host));
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaFreeHost(NULL));
	R(cudaFreeHost(host));
	R(cudaFreeHost(WILD));
	LAST();
	R(cudaMallocHost(&h, 4096));
	RV(cudaHostGetFlags(&f, h), "%u", f);
	RV(cudaHostGetDevicePointer(&q, h, 0), "same %d", q == h);
	R(cudaHostGetDevicePointer(&q, h, 1));
	R(cudaHostGetDevicePointer(&q, host, 0));
	R(cudaHostGetDevicePointer(&q, NULL, 0));
	R(cudaHostGetFlags(&f, host));
	R(cudaFree(h));
	R(cudaHostRegister(h, 4096, 0));
	R(cudaHostRegister(NULL, 4096, 0));
	R(cudaHostRegister(host, 0, 0));
	R(cudaHostRegister(host, 4096, 0));
	R(cudaHostRegister(host, 4096, 0));
	R(cudaHostUnregister(host + 1));
	R(cudaHostUnregister(host));
	R(cudaHostUnregister(host));
	LAST();
	R(cudaMallocManaged(&q, 0));
	R(cudaMallocManaged(&q, 100, 0));
	R(cudaMallocManaged(&q, 100, 4));
	R(cudaMallocManaged(&q, 4096, 1));
	p = dev(4096);
	const struct { const char *name; const void *at; } ps[] = { { "device", p }, { "inner", (char *)p + 5 }, { "pinned", h }, { "managed", q }, { "own", host }, { "null", NULL }, { "wild", WILD } };
	for (size_t i = 0; i < NEL(ps); i++) {
		tag("%s", ps[i].name);
		memset(&a, 0x77, sizeof a);
		RV(cudaPointerGetAttributes(&a, ps[i].at), "type %d, device %d, %s, %s", a.type, a.device, a.devicePointer == ps[i].at ? "same" : a.devicePointer ? "another" : "null",
		   a.hostPointer == ps[i].at ? "same" : a.hostPointer ? "another" : "null");
	}
	tag("%s", "");
	R(cudaPointerGetAttributes(NULL, p));
	RV(cudaMemGetInfo(&z, &total), "less %d", z < total);
	R(cudaMemGetInfo(NULL, &total));
	R(cudaMemGetInfo(NULL, NULL));
	LAST();
}

static void g_copies(void)
{
	void *p, *q, *h = NULL, *m = NULL;
	static char host[8192], host2[8192];
	static const char *const names[] = { "host", "device", "pinned", "managed", "null", "wild" };
	cudaStream_t s = NULL;
	void *sa = NULL;
	size_t z = 7;

	start();
	p = dev(4096), q = dev(4096);
	cudaMallocHost(&h, 4096);
	cudaMallocManaged(&m, 4096);
	cudaStreamCreate(&s);
	void *where[] = { host, p, h, m, NULL, WILD }, *from[] = { host2, q, h, m, NULL, WILD };
	for (int k = -1; k < 6; k++)
		for (int a = 0; a < 6; a++)
			for (int b = 0; b < 6; b++) {
				if ((a > 3 && b > 0) || (b > 3 && a > 1))
					continue;
				/* the process itself dies where the host copies */
				if ((k == 0 && (a != 0 || b != 0)) || (k == 4 && ((a > 3 && b == 0) || (b > 3 && a == 0))))
					continue;
				if ((k == 1 && b > 3) || (k == 2 && a > 3))
					continue;
				tag("kind %d, %s to %s", k, names[b], names[a]);
				R(cudaMemcpy(where[a], from[b], 64, (enum cudaMemcpyKind)k));
				cudaGetLastError();
				R(cudaMemcpyAsync(where[a], from[b], 64, (enum cudaMemcpyKind)k, s));
				R(cudaStreamSynchronize(s));
				cudaGetLastError();
			}
	tag("%s", "");
	for (int k = -1; k < 6; k++) {
		tag("nothing, kind %d", k);
		R(cudaMemcpy(NULL, NULL, 0, (enum cudaMemcpyKind)k));
		R(cudaMemcpy(p, host, 0, (enum cudaMemcpyKind)k));
		R(cudaMemcpyAsync(p, host, 0, (enum cudaMemcpyKind)k, s));
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaMemcpy(p, host, 4097, cudaMemcpyHostToDevice));
	R(cudaMemcpy(host, p, 4097, cudaMemcpyDeviceToHost));
	R(cudaMemcpy(p, q, 4097, cudaMemcpyDeviceToDevice));
	LAST();
	static const struct { size_t dp, sp, w, h; } t[] = { { 64, 64, 64, 4 }, { 63, 64, 64, 4 }, { 64, 63, 64, 4 }, { 64, 64, 0, 4 }, { 64, 64, 64, 0 }, { 0, 0, 64, 1 }, { 0, 0, 0, 0 }, { 64, 64, 64, 4096 }, { (size_t)1 << 31, 64, 64, 1 }, { 10, 10, 64, 0 } };
	for (size_t i = 0; i < NEL(t); i++) {
		tag("2D %zu", i);
		R(cudaMemcpy2D(p, t[i].dp, host, t[i].sp, t[i].w, t[i].h, cudaMemcpyHostToDevice));
		R(cudaMemcpy2D(p, t[i].dp, q, t[i].sp, t[i].w, t[i].h, cudaMemcpyDeviceToDevice));
		R(cudaMemcpy2D(p, t[i].dp, q, t[i].sp, t[i].w, t[i].h, cudaMemcpyDefault));
		R(cudaMemcpy2DAsync(p, t[i].dp, q, t[i].sp, t[i].w, t[i].h, (enum cudaMemcpyKind)9, s));
		R(cudaMemset2D(p, t[i].dp, 1, t[i].w, t[i].h));
		cudaGetLastError();
	}
	tag("3D");
	struct cudaMemcpy3DParms c;
	for (int i = 0; i < 9; i++) {
		memset(&c, 0, sizeof c);
		c.srcPtr = make_cudaPitchedPtr(q, 64, 64, 4);
		c.dstPtr = make_cudaPitchedPtr(p, 64, 64, 4);
		c.extent = make_cudaExtent(64, 4, 2);
		c.kind = cudaMemcpyDeviceToDevice;
		switch (i) {
		case 1: c.extent.width = 0; break;
		case 2: c.srcPtr.pitch = 60; break;
		case 3: c.srcPtr.ptr = NULL; break;
		case 4: c.dstPtr.ysize = 2; break;
		case 5: c.kind = cudaMemcpyHostToDevice; break;
		case 6: c.kind = (enum cudaMemcpyKind)8; break;
		case 7: c.dstPtr.ptr = NULL; break;
		case 8: c.srcPos.x = 8; break;
		}
		tag("3D %d", i);
		R(cudaMemcpy3D(&c));
		cudaGetLastError();
	}
	tag("memset");
	R(cudaMemset(p, 1, 0));
	R(cudaMemset(NULL, 1, 0));
	R(cudaMemset(NULL, 1, 4));
	R(cudaMemset(p, 1, 4097));
	R(cudaMemset(host, 1, 4));
	R(cudaMemset(WILD, 1, 4));
	R(cudaMemsetAsync(p, 1, 4, (cudaStream_t)W(0x1234)));
	LAST();
	tag("symbols");
	R(cudaMemcpyToSymbol(F(&counter), host, 4));
	R(cudaMemcpyToSymbol(F(&counter), host, 5));
	R(cudaMemcpyToSymbol(F(&counter), host, 4, 1));
	R(cudaMemcpyToSymbol(F(&counter), host, 0, 4));
	R(cudaMemcpyToSymbol(F(&counter), host, 0, 5));
	R(cudaMemcpyToSymbol(F(&counter), host, 4, 0, cudaMemcpyDeviceToHost));
	R(cudaMemcpyToSymbol(F(&counter), p, 4, 0, cudaMemcpyDeviceToDevice));
	R(cudaMemcpyToSymbol(F(&counter), p, 4, 0, cudaMemcpyDefault));
	R(cudaMemcpyToSymbol(F(&no_symbol), host, 4));
	R(cudaMemcpyToSymbol(F(NULL), host, 4));
	R(cudaMemcpyFromSymbol(host, F(&coeff), 16));
	R(cudaMemcpyFromSymbol(host, F(&coeff), 17));
	R(cudaMemcpyFromSymbol(host, F(&coeff), 4, 0, cudaMemcpyHostToDevice));
	R(cudaMemcpyToSymbolAsync(F(&table), host, 40, 0, cudaMemcpyHostToDevice, s));
	R(cudaMemcpyFromSymbolAsync(host, F(&table), 44, 0, cudaMemcpyDeviceToHost, s));
	LAST();
	RV(cudaGetSymbolAddress(&sa, F(&counter)), "%s", sa ? "set" : "null");
	R(cudaGetSymbolAddress(&sa, F(&no_symbol)));
	R(cudaGetSymbolAddress(NULL, F(&counter)));
	RV(cudaGetSymbolSize(&z, F(&table)), "%zu", z);
	R(cudaGetSymbolSize(&z, F(&no_symbol)));
	R(cudaGetSymbolSize(&z, F(NULL)));
	LAST();
}

static void g_functions(void)
{
	struct cudaFuncAttributes a;
	const struct { const char *name; const void *f; } fs[] = { { "nop", F(nop) }, { "many", F(many) }, { "shares", F(shares) }, { "bounded", F(bounded) } };
	int v = -7;
	size_t z = 7, o = 7;
	const char *name = NULL;
	static const int values[] = { -2, -1, 0, 1, 50, 100, 101, 49152, 232448, 232449 };

	start();
	for (size_t k = 0; k < NEL(fs); k++) {
		tag("%s", fs[k].name);
		memset(&a, 0x77, sizeof a);
		RV(cudaFuncGetAttributes(&a, fs[k].f), "shared %zu, const ~%zu, local ~%zu, threads %d, regs ~%d, ptx %d, binary %d, ca %d, dynamic %d, carveout %d", a.sharedSizeBytes, a.constSizeBytes,
		   a.localSizeBytes, a.maxThreadsPerBlock, a.numRegs, a.ptxVersion, a.binaryVersion, a.cacheModeCA, a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout);
		for (int b = 0; b < 5; b++) {
			static const int blocks[] = { 0, 32, 128, 1024, 1025 };

			tag("%s, block %d", fs[k].name, blocks[b]);
			RV(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, fs[k].f, blocks[b], 0), "%d", v);
			RV(cudaOccupancyAvailableDynamicSMemPerBlock(&z, fs[k].f, 2, blocks[b]), "%zu", z);
			cudaGetLastError();
		}
	}
	for (int i = 7; i < 17; i++)
		for (size_t k = 0; k < NEL(values); k++) {
			if (i > 9 && k > 3)
				continue;
			tag("attribute %d = %d", i, values[k]);
			R(cudaFuncSetAttribute(F(nop), (enum cudaFuncAttribute)i, values[k]));
			cudaGetLastError();
		}
	tag("%s", "");
	R(cudaFuncGetAttributes(&a, F(not_a_kernel)));
	R(cudaFuncGetAttributes(&a, NULL));
	R(cudaFuncGetAttributes(NULL, F(nop)));
	R(cudaFuncSetAttribute(F(not_a_kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
	LAST();
	for (int i = -1; i < 5; i++) {
		tag("config %d", i);
		R(cudaFuncSetCacheConfig(F(nop), (enum cudaFuncCache)i));
		D(cudaFuncSetSharedMemConfig, (const void *, int), (F(nop), i));
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaFuncSetCacheConfig(NULL, cudaFuncCachePreferNone));
	R(cudaFuncSetCacheConfig(F(not_a_kernel), cudaFuncCachePreferNone));
	RV(cudaFuncGetName(&name, F(nop)), "%s", name);
	R(cudaFuncGetName(NULL, F(nop)));
	R(cudaFuncGetName(&name, F(not_a_kernel)));
	for (size_t i = 0; i < 5; i++) {
		tag("parameter %zu", i);
		RV(cudaFuncGetParamInfo(F(many), i, &o, &z), "at %zu, %zu bytes", o, z);
	}
	tag("%s", "");
	R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, F(nop), 32, 0));
	R(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, F(not_a_kernel), 32, 0));
	LAST();
	cudaFunction_t fn = NULL;
	cudaKernel_t kn = NULL;
	R(cudaGetFuncBySymbol(&fn, F(nop)));
	R(cudaGetFuncBySymbol(&fn, F(not_a_kernel)));
	R(cudaGetKernel(&kn, F(nop)));
	R(cudaGetKernel(&kn, F(not_a_kernel)));
	void *ep = NULL;
	enum cudaDriverEntryPointQueryResult q = (enum cudaDriverEntryPointQueryResult)7;
	D(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned int, unsigned long long, enum cudaDriverEntryPointQueryResult *), ("cuInit", &ep, 12000, 0, &q));
	D(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned int, unsigned long long, enum cudaDriverEntryPointQueryResult *), ("cuNothing", &ep, 12000, 0, &q));
	SAY("status %d, %s", q, ep ? "set" : "null");
	D(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned int, unsigned long long, enum cudaDriverEntryPointQueryResult *), (NULL, &ep, 12000, 0, &q));
	D(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned int, unsigned long long, enum cudaDriverEntryPointQueryResult *), ("cuInit", NULL, 12000, 0, &q));
	D(cudaGetDriverEntryPointByVersion, (const char *, void **, unsigned int, unsigned long long, enum cudaDriverEntryPointQueryResult *), ("cuInit", &ep, 12000, 9, &q));
	LAST();
}

static void g_launches(void)
{
	static const struct { unsigned int g[3], b[3]; size_t s; } t[] = { { { 1, 1, 1 }, { 1, 1, 1 }, 0 }, { { 0, 1, 1 }, { 1, 1, 1 }, 0 }, { { 1, 1, 1 }, { 0, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1024, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1025, 1, 1 }, 0 },
		{ { 1, 1, 1 }, { 1, 1, 65 }, 0 }, { { 1, 65536, 1 }, { 1, 1, 1 }, 0 }, { { 0x80000000u, 1, 1 }, { 1, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1, 1, 1 }, 49152 }, { { 1, 1, 1 }, { 1, 1, 1 }, 49153 }, { { 1, 1, 1 }, { 1, 1, 1 }, 232449 }, { { 1, 1, 1 }, { 129, 1, 1 }, 0 },
		{ { 1, 1, 1 }, { 1, 1, 1 }, (size_t)1 << 32 }, { { 0, 0, 0 }, { 0, 0, 0 }, 0 } };
	const struct { const char *name; const void *f; } fs[] = { { "nop", F(nop) }, { "shares", F(shares) }, { "bounded", F(bounded) }, { "not a kernel", F(not_a_kernel) }, { "null", NULL } };
	cudaStream_t s = NULL;
	cudaLaunchConfig_t c;
	cudaLaunchAttribute at[1];

	start();
	cudaStreamCreate(&s);
	for (size_t k = 0; k < NEL(fs); k++)
		for (size_t i = 0; i < NEL(t); i++) {
			dim3 g(t[i].g[0], t[i].g[1], t[i].g[2]), b(t[i].b[0], t[i].b[1], t[i].b[2]);

			tag("%s, launch %zu", fs[k].name, i);
			R(cudaLaunchKernel(fs[k].f, g, b, NULL, t[i].s, s));
			R(cudaPeekAtLastError());
			R(cudaLaunchCooperativeKernel(fs[k].f, g, b, NULL, t[i].s, s));
			R(cudaGetLastError());
		}
	tag("by the brackets");
	nop<<<1, 1025>>>();
	R(cudaPeekAtLastError());
	R(cudaDeviceSynchronize());
	R(cudaPeekAtLastError());
	R(cudaMalloc(NULL, 1));
	R(cudaPeekAtLastError());
	nop<<<1, 1>>>();
	R(cudaGetLastError());
	nop<<<0, 1>>>();
	nop<<<1, 1>>>();
	R(cudaGetLastError());
	R(cudaDeviceSynchronize());
	R(cudaStreamQuery(NULL));
	R(cudaGetLastError());
	nop<<<1, 1, 0, s>>>();
	LAST();
	for (unsigned int x = 0; x < 18; x++) {
		memset(&c, 0, sizeof c);
		memset(at, 0, sizeof at);
		c.gridDim = dim3(16, 1, 1), c.blockDim = dim3(32, 1, 1), c.attrs = at, c.numAttrs = 1;
		at[0].id = (cudaLaunchAttributeID)4;
		at[0].val.clusterDim.x = x, at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1;
		tag("cluster of %u", x);
		R(cudaLaunchKernelExC(&c, F(nop), NULL));
		cudaGetLastError();
	}
	tag("%s", "");
	R(cudaLaunchKernelExC(NULL, F(nop), NULL));
	LAST();
	R(cudaLaunchHostFunc(s, NULL, NULL));
	R(cudaStreamAddCallback(s, NULL, NULL, 0));
	LAST();
	R(cudaStreamSynchronize(s));
}

static void g_sticky(void)
{
	int *p, v;
	void *q = NULL;
	cudaStream_t s = NULL;
	cudaEvent_t e = NULL;
	struct cudaFuncAttributes fa;

	for (int k = 0; k < 2; k++) {
		in_start = 1;
		start();
		tag("%s", k ? "trap" : "wild");
		p = (int *)dev(64);
		cudaStreamCreate(&s);
		cudaEventCreate(&e);
		if (k)
			trapped<<<1, 1, 0, s>>>();
		else
			add_one<<<1, 1, 0, s>>>((int *)WILD);
		R(cudaGetLastError());
		R(cudaStreamSynchronize(s));
		R(cudaPeekAtLastError());
		R(cudaGetLastError());
		R(cudaGetLastError());
		R(cudaDeviceSynchronize());
		R(cudaMalloc(&q, 16));
		R(cudaFree(p));
		R(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
		R(cudaStreamQuery(s));
		R(cudaEventRecord(e, s));
		R(cudaEventQuery(e));
		R(cudaGetDevice(&v));
		R(cudaGetDeviceCount(&v));
		R(cudaSetDevice(0));
		R(cudaFuncGetAttributes(&fa, F(nop)));
		R(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)1, 0));
		R(cudaMalloc(NULL, 1));
		R(cudaGetLastError());
		nop<<<0, 1>>>();
		R(cudaGetLastError());
		R(cudaStreamDestroy(s));
		R(cudaEventDestroy(e));
		in_start = 1;
		R(cudaDeviceReset());
		R(cudaGetLastError());
		R(cudaGetLastError());
		R(cudaFree(NULL));
		in_start = 0;
		nop<<<1, 1>>>();
		R(cudaGetLastError());
		R(cudaDeviceSynchronize());
	}
}

static void g_reset(void)
{
	void *p = NULL, *sa = NULL, *sb = NULL;
	cudaStream_t s = NULL;
	cudaEvent_t e = NULL;
	int v = 0;
	unsigned int f = 7;

	start();
	p = dev(64);
	cudaStreamCreate(&s);
	cudaEventCreate(&e);
	v = 77;
	R(cudaMemcpyToSymbol(F(&counter), &v, 4));
	cudaGetSymbolAddress(&sa, F(&counter));
	in_start = 1;
	R(cudaDeviceReset());
	R(cudaDeviceReset());
	R(cudaGetLastError());
	R(cudaFree(p));
	in_start = 0;
	LAST();
	R(cudaMemcpyFromSymbol(&v, F(&counter), 4));
	SAY("%d", v);
	R(cudaGetSymbolAddress(&sb, F(&counter)));
	R(cudaStreamQuery(s));
	R(cudaEventQuery(e));
	R(cudaStreamDestroy(s));
	LAST();
	nop<<<1, 1>>>();
	R(cudaDeviceSynchronize());
	RV(cudaGetDeviceFlags(&f), "0x%x", f);
}

#include "runtime_streams.h"

extern "C" const struct group groups[] = { { "errors", g_errors }, { "init", g_init }, { "attributes", g_attributes }, { "memory", g_memory }, { "copies", g_copies }, { "functions", g_functions }, { "launches", g_launches },
	{ "sticky", g_sticky }, { "reset", g_reset }, { "streams", g_streams }, { "capture", g_capture }, { "arrays", g_arrays }, { NULL, NULL } };
