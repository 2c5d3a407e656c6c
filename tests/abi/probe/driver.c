/* SPDX-License-Identifier: MIT */
/* The driver API's probe: its groups, its kernels, and the start; see probe.h. Errors, devices and contexts. */
#include "driver.h"

const struct group groups[] = {
#define X(name) { #name, g_##name },
	GROUPS(X)
#undef X
	{ NULL, NULL }
};

const char probe_ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .global .align 8 .b8 table[40];\n"
	".visible .const .align 4 .b8 coeff[64];\n"
	".visible .global .attribute(.managed) .align 4 .u32 shared_one = 9;\n"
	".visible .entry nop() { ret; }\n"
	".visible .entry params(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[48], .param .f32 d) { ret; }\n"
	".visible .entry add_one(.param .u64 p) { .reg .u64 %a; .reg .u32 %x; ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a;\n"
	" ld.global.u32 %x, [%a]; add.u32 %x, %x, 1; st.global.u32 [%a], %x; ret; }\n"
	".visible .entry wait_for(.param .u64 p) { .reg .u64 %a; .reg .u32 %x; .reg .pred %q; ld.param.u64 %a, [p];\n"
	"again: ld.volatile.u32 %x, [%a]; setp.eq.u32 %q, %x, 0; @%q bra again; ret; }\n"
	".visible .entry store(.param .u64 p) { .reg .u64 %a; ld.param.u64 %a, [p]; st.volatile.u32 [%a], 1; ret; }\n"
	".visible .entry trapped() { trap; }\n"
	".visible .entry static_shared() { .shared .align 4 .b8 s[12000]; .reg .u32 %x; mov.u32 %x, %tid.x; st.volatile.shared.u32 [s], %x; ret; }\n"
	".extern .shared .align 16 .b8 dyn[];\n"
	".visible .entry dynamic_shared() { .reg .u32 %x; .reg .pred %q; mov.u32 %x, %dynamic_smem_size; setp.ge.u32 %q, %x, 4; @%q st.volatile.shared.u32 [dyn], %x; ret; }\n"
	".visible .entry bounded() .maxntid 128, 1, 1 .minnctapersm 4 { ret; }\n"
	".visible .entry required() .reqntid 64, 2, 1 { ret; }\n"
	".visible .entry clustered() .reqnctapercluster 2, 1, 1 .explicitcluster { ret; }\n"
	".visible .entry many_clusters() .maxclusterrank 8 .explicitcluster { ret; }\n"
	".visible .entry local_memory(.param .u64 p) { .local .align 4 .b8 l[256]; .reg .u64 %a, %b; .reg .u32 %x; ld.param.u64 %a, [p];\n"
	" and.b64 %b, %a, 63; cvt.u32.u64 %x, %a; mov.u64 %a, l; add.u64 %b, %b, %a; st.volatile.local.u32 [%b], %x; ret; }\n"
	".func (.reg .u32 r) helper(.reg .u32 x) { add.u32 r, x, 1; ret; }\n";

const char *result_name(int r)
{
	const char *s = NULL;

	return cuGetErrorName((CUresult)r, &s) || !s ? NULL : s;
}

const char *err(CUresult r)
{
	const char *s = result_name((int)r);

	return s ? s : "(none)";
}

CUcontext start(void)
{
	CUcontext c = NULL;

	alarm(20);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c))
		say("[start] no context\n");
	alarm(0);
	in_start = 0;
	return c;
}

CUmodule module(void)
{
	CUmodule m = NULL;
	CUresult r = cuModuleLoadData(&m, probe_ptx);

	if (r)
		say("[module] %s\n", err(r));
	return m;
}

CUfunction function(CUmodule m, const char *name)
{
	CUfunction f = NULL;
	CUresult r = cuModuleGetFunction(&f, m, name);

	if (r)
		say("[function] %s %s\n", name, err(r));
	return f;
}

CUdeviceptr alloc(size_t bytes)
{
	CUdeviceptr p = 0;

	if (cuMemAlloc_v2(&p, bytes))
		say("[alloc] none\n");
	return p;
}

CUstream stream(unsigned int flags)
{
	CUstream s = NULL;

	if (cuStreamCreate(&s, flags))
		say("[stream] none\n");
	return s;
}

/* Before cuInit, and without a context */
static void everything(void)
{
	int n = -7, v = -7;
	unsigned int u = 7;
	size_t z = 7, z2 = 7;
	CUdevice d = -7;
	CUcontext c = P(7);
	CUdeviceptr p = 7;
	CUevent e = NULL;
	CUstream s = NULL;
	CUmodule m = NULL;
	CUlibrary l = NULL;
	CUgraph g = NULL;
	CUlinkState link = NULL;
	CUmemoryPool pool = NULL;
	CUarray a = NULL;
	CUstreamCaptureStatus cs;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUmoduleLoadingMode lm = 7;
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUDA_ARRAY_DESCRIPTOR ad = { 16, 16, CU_AD_FORMAT_FLOAT, 1 };
	CUmemGenericAllocationHandle h;
	CUfunc_cache fc;
	CUsharedconfig sc;
	unsigned long long id;
	char buf[64];
	float ms;
	void *hp = NULL;

	R(cuDeviceGetCount(&n));
	R(cuDeviceGet(&d, 0));
	R(cuDeviceGet(&d, -1));
	R(cuDeviceGet(&d, 99));
	R(cuDeviceGet(NULL, 0));
	R(cuDeviceGetAttribute(&v, 1, 0));
	R(cuDeviceGetAttribute(&v, 1, 99));
	R(cuDeviceGetName(buf, 64, 0));
	R(cuDeviceTotalMem_v2(&z, 0));
	R(cuDevicePrimaryCtxGetState(0, &u, &v));
	R(cuDeviceGetDefaultMemPool(&pool, 0));
	R(cuCtxGetCurrent(&c));
	SAY("current is %s", c ? c == P(7) ? "untouched" : "set" : "null");
	R(cuCtxGetCurrent(NULL));
	R(cuCtxGetDevice(&d));
	R(cuCtxSetCurrent(NULL));
	R(cuCtxPopCurrent_v2(&c));
	R(cuCtxPushCurrent_v2(NULL));
	R(cuCtxSynchronize());
	R(cuCtxGetFlags(&u));
	R(cuCtxSetFlags(0));
	R(cuCtxGetId(NULL, &id));
	R(cuCtxGetApiVersion(NULL, &u));
	R(cuCtxGetLimit(&z, CU_LIMIT_STACK_SIZE));
	R(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
	R(cuCtxGetCacheConfig(&fc));
	R(cuCtxGetSharedMemConfig(&sc));
	R(cuCtxGetStreamPriorityRange(&n, &v));
	R(cuCtxDestroy_v2(NULL));
	R(cuCtxResetPersistingL2Cache());
	R(cuModuleLoadData(&m, probe_ptx));
	R(cuModuleLoadData(&m, NULL));
	R(cuModuleLoad(&m, "/nonexistent"));
	R(cuModuleUnload(NULL));
	R(cuModuleGetLoadingMode(&lm));
	R(cuLibraryLoadData(&l, probe_ptx, NULL, NULL, 0, NULL, NULL, 0));
	R(cuLinkCreate_v2(0, NULL, NULL, &link));
	R(cuMemGetInfo_v2(&z, &z2));
	R(cuMemAlloc_v2(&p, 16));
	R(cuMemAlloc_v2(&p, 0));
	R(cuMemAlloc_v2(NULL, 16));
	R(cuMemFree_v2(0));
	R(cuMemFree_v2(WILD));
	R(cuMemAllocHost_v2(&hp, 16));
	R(cuMemHostAlloc(&hp, 16, 0));
	R(cuMemFreeHost(NULL));
	R(cuMemAllocManaged(&p, 16, CU_MEM_ATTACH_GLOBAL));
	R(cuMemHostRegister_v2(buf, 64, 0));
	R(cuMemAllocAsync(&p, 16, NULL));
	R(cuMemGetAllocationGranularity(&z, &prop, 0));
	R(cuMemCreate(&h, 2 << 20, &prop, 0));
	R(cuMemAddressReserve(&p, 2 << 20, 0, 0, 0));
	R(cuMemcpyHtoD_v2(0, buf, 0));
	R(cuMemcpyHtoD_v2(WILD, buf, 16));
	R(cuMemcpy(WILD, WILD, 16));
	R(cuMemsetD8_v2(WILD, 0, 16));
	R(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, WILD));
	R(cuStreamCreate(&s, 0));
	R(cuStreamQuery(NULL));
	R(cuStreamSynchronize(NULL));
	R(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	R(cuStreamIsCapturing(NULL, &cs));
	R(cuThreadExchangeStreamCaptureMode(&mode));
	R(cuEventCreate(&e, 0));
	R(cuEventQuery(NULL));
	R(cuEventElapsedTime(&ms, NULL, NULL));
	R(cuGraphCreate(&g, 0));
	R(cuGraphDestroy(NULL));
	R(cuArrayCreate_v2(&a, &ad));
	R(cuProfilerStart());
	R(cuProfilerStop());
	R(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	R(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, NULL, 32, 0));
	R(cuDeviceCanAccessPeer(&v, 0, 0));
	R(cuDeviceGetPCIBusId(buf, 64, 0));
	R(cuDeviceGetByPCIBusId(&d, "0000:00:00.0"));
	R(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &id));
}

GROUP(init)
{
	int v = -7;

	tag("before cuInit");
	R(cuInit(1));
	RV(cuDriverGetVersion(&v), "major %d", v / 1000);
	R(cuDriverGetVersion(NULL));
	everything();
	tag("after a cuInit with flags");
	R(cuInit(1));
	R(cuInit(0xffffffff));
	R(cuDeviceGetCount(&v));
	tag("after cuInit");
	R(cuInit(0));
	R(cuInit(0));
	R(cuInit(1));
	everything();
}

GROUP(errors)
{
	for (int i = -2; i < 1010; i++) {
		const char *n = "x", *s = "x";
		CUresult a = cuGetErrorName((CUresult)i, &n), b = cuGetErrorString((CUresult)i, &s);

		if (a || b) {
			if (i % 100 == 50 || i < 0)
				SAY("%d: %d %d, name %s, text %s", i, a, b, n ? n : "null", s ? s : "null");
			continue;
		}
		SAY("%d: %s, %s", i, n, s);
	}
	R(cuGetErrorName(CUDA_SUCCESS, NULL));
	R(cuGetErrorString(CUDA_SUCCESS, NULL));
}

GROUP(devices)
{
	CUdevice d = -7;
	int v = -7, w = -7;
	char buf[128], bus[32];
	CUuuid uuid;
	size_t z = 7;
	unsigned int caps[16] = { 0 };
	CUatomicOperation ops[16];
	CUdevprop prop;
	CUmemoryPool pool = NULL, pool2 = NULL;

	cuInit(0);
	in_start = 0;
	RV(cuDeviceGet(&d, 0), "%d", d);
	RV(cuDeviceGetCount(&v), "%s", v > 0 ? "some" : "none");
	R(cuDeviceGetCount(NULL));
	R(cuDeviceGet(&d, -1));
	R(cuDeviceGet(&d, 64));
	R(cuDeviceGetName(NULL, 100, 0));
	R(cuDeviceGetName(buf, 0, 0));
	R(cuDeviceGetName(buf, -1, 0));
	memset(buf, 'x', sizeof buf);
	RV(cuDeviceGetName(buf, 1, 0), "first %d second %d", buf[0], buf[1]);
	memset(buf, 'x', sizeof buf);
	RV(cuDeviceGetName(buf, 4, 0), "length %d, then %d", (int)strnlen(buf, 9), buf[4]);
	memset(buf, 'x', sizeof buf);
	RV(cuDeviceGetName(buf, 100, 0), "last byte %d", buf[99]);
	R(cuDeviceGetName(buf, 100, 7));
	R(cuDeviceGetName(buf, 100, -1));
	R(cuDeviceGetUuid(&uuid, 0));
	R(cuDeviceGetUuid_v2(&uuid, 0));
	R(cuDeviceGetUuid_v2(NULL, 0));
	R(cuDeviceGetUuid_v2(&uuid, 9));
	R(cuDeviceGetLuid(buf, caps, 0));
	R(cuDeviceTotalMem_v2(NULL, 0));
	R(cuDeviceTotalMem_v2(&z, 5));
	R(cuDeviceComputeCapability(&v, &w, 0));
	RV(cuDeviceComputeCapability(&v, &w, 0), "%d.%d", v, w);
	R(cuDeviceComputeCapability(NULL, &w, 0));
	R(cuDeviceComputeCapability(&v, &w, 3));
	RV(cuDeviceGetProperties(&prop, 0), "threads %d dim %d %d %d grid %d %d %d shared %d const %d simd %d pitch %d regs %d clock ~%d tex %d",
	   prop.maxThreadsPerBlock, prop.maxThreadsDim[0], prop.maxThreadsDim[1], prop.maxThreadsDim[2], prop.maxGridSize[0], prop.maxGridSize[1],
	   prop.maxGridSize[2], prop.sharedMemPerBlock, prop.totalConstantMemory, prop.SIMDWidth, prop.memPitch, prop.regsPerBlock,
	   prop.clockRate, prop.textureAlign);
	R(cuDeviceGetProperties(NULL, 0));
	RV(cuDeviceGetPCIBusId(bus, sizeof bus, 0), "length %d", (int)strlen(bus));
	R(cuDeviceGetPCIBusId(buf, 13, 0));
	R(cuDeviceGetPCIBusId(buf, 12, 0));
	R(cuDeviceGetPCIBusId(buf, 4, 0));
	R(cuDeviceGetPCIBusId(buf, 0, 0));
	R(cuDeviceGetPCIBusId(NULL, 20, 0));
	R(cuDeviceGetPCIBusId(buf, 20, 9));
	RV(cuDeviceGetByPCIBusId(&d, bus), "%d", d);
	RV(cuDeviceGetByPCIBusId(&d, bus + 5), "%d", d);
	R(cuDeviceGetByPCIBusId(&d, "nonsense"));
	R(cuDeviceGetByPCIBusId(&d, ""));
	R(cuDeviceGetByPCIBusId(&d, NULL));
	R(cuDeviceGetByPCIBusId(NULL, bus));
	R(cuDeviceGetByPCIBusId(&d, "0000:fe:00.0"));
	bus[strlen(bus) - 2] = 0;
	RV(cuDeviceGetByPCIBusId(&d, bus), "%d", d);
	RV(cuDeviceCanAccessPeer(&v, 0, 0), "%d", v);
	R(cuDeviceCanAccessPeer(NULL, 0, 0));
	R(cuDeviceCanAccessPeer(&v, 0, 9));
	R(cuDeviceCanAccessPeer(&v, 9, 0));
	for (int i = 0; i < 8; i++) {
		tag("attribute %d", i);
		R(cuDeviceGetP2PAttribute(&v, (CUdevice_P2PAttribute)i, 0, 0));
		R(cuDeviceGetP2PAttribute(&v, (CUdevice_P2PAttribute)i, 0, 9));
	}
	tag("%s", "");
	for (int i = 0; i < 4; i++) {
		v = -7;
		tag("type %d", i);
		RV(cuDeviceGetExecAffinitySupport(&v, (CUexecAffinityType)i, 0), "%d", v);
	}
	for (int f = 0; f < 40; f++)
		for (unsigned int n = 0; n < 6; n++) {
			if (n != 1 && n != 4 && f != 1)
				continue;
			tag("format %d, channels %u", f, n);
			RV(cuDeviceGetTexture1DLinearMaxWidth(&z, (CUarray_format)f, n, 0), "%zu", z);
		}
	for (int i = 0; i < 16; i++)
		ops[i] = (CUatomicOperation)i;
	for (int i = 0; i < 15; i++) {
		tag("operation %d", i);
		caps[0] = 7;
		if (go("cuDeviceGetHostAtomicCapabilities")) {
			CUresult r = cuDeviceGetHostAtomicCapabilities(caps, ops + i, 1, 0);

			came(r);
			say(" ~%x\n", caps[0]);
		}
	}
	tag("%s", "");
	R(cuDeviceGetP2PAtomicCapabilities(caps, ops, 1, 0, 0));
	R(cuDeviceGetHostAtomicCapabilities(caps, ops, 0, 0));
	R(cuDeviceGetHostAtomicCapabilities(NULL, ops, 1, 0));
	RV(cuDeviceGetDefaultMemPool(&pool, 0), "%s", pool ? "set" : "null");
	RV(cuDeviceGetMemPool(&pool2, 0), "same %d", pool == pool2);
	R(cuDeviceGetDefaultMemPool(NULL, 0));
	R(cuDeviceGetDefaultMemPool(&pool, 9));
	R(cuDeviceSetMemPool(0, NULL));
	R(cuDeviceSetMemPool(9, pool));
	R(cuDeviceSetMemPool(0, pool));
}

/* What depends on the card, its place or the host */
static int by_card(int i)
{
	static const unsigned char list[] = { 13, 16, 33, 34, 35, 36, 37, 38, 40, 50, 84, 85, 88, 100, 101, 108, 109, 110, 116, 117, 118, 119,
		121, 124, 130, 131, 132, 134, 139, 140, 112, 128, 136, 137, 141, 142, 143 };

	return !!memchr(list, i, sizeof list);
}

GROUP(attributes)
{
	int v;

	cuInit(0);
	in_start = 0;
	for (int i = -1; i < 152; i++) {
		tag("attribute %d", i);
		v = -7;
		RV(cuDeviceGetAttribute(&v, (CUdevice_attribute)i, 0), "%s%d", by_card(i) ? "~" : "", v);
	}
	tag("%s", "");
	R(cuDeviceGetAttribute(NULL, 1, 0));
	R(cuDeviceGetAttribute(&v, 1, 1000));
	R(cuDeviceGetAttribute(&v, 1, -1));
	R(cuDeviceGetAttribute(&v, 5000, 1000));
	R(cuDeviceGetAttribute(NULL, 5000, 1000));
	R(cuDeviceGetAttribute(NULL, 1, 1000));
}

GROUP(primary)
{
	unsigned int f = 7;
	int a = -7;
	CUcontext c = NULL, c2 = NULL, cur = NULL;
	CUdevice d = -7;

	cuInit(0);
	RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags %u active %d", f, a);
	R(cuDevicePrimaryCtxGetState(0, NULL, &a));
	R(cuDevicePrimaryCtxGetState(9, &f, &a));
	R(cuDevicePrimaryCtxRelease_v2(0));
	R(cuDevicePrimaryCtxRelease_v2(9));
	R(cuDevicePrimaryCtxReset_v2(0));
	R(cuDevicePrimaryCtxReset_v2(9));
	static const unsigned int flags[] = { 1, 2, 3, 4, 5, 6, 7, 8, 16, 0x18, 0x20, 0x40, 0x80, 0x100, 0x1000, 0x80000000, 0xff, 0 };
	for (size_t i = 0; i < NEL(flags); i++) {
		tag("flags 0x%x", flags[i]);
		R(cuDevicePrimaryCtxSetFlags_v2(0, flags[i]));
		RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags 0x%x active %d", f, a);
	}
	tag("%s", "");
	R(cuDevicePrimaryCtxSetFlags_v2(9, 0));
	R(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
	R(cuDevicePrimaryCtxRetain(NULL, 0));
	R(cuDevicePrimaryCtxRetain(&c, 9));
	RV(cuDevicePrimaryCtxRetain(&c, 0), "%s", c ? "set" : "null");
	RV(cuDevicePrimaryCtxRetain(&c2, 0), "same %d", c == c2);
	RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags 0x%x active %d", f, a);
	RV(cuCtxGetCurrent(&cur), "%s", cur ? "set" : "null");
	RV(cuCtxGetDevice_v2(&d, c), "%d", d);
	R(cuCtxGetDevice_v2(&d, NULL));
	R(cuCtxGetDevice(&d));
	R(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_SPIN));
	RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags 0x%x active %d", f, a);
	R(cuCtxSetCurrent(c));
	RV(cuCtxGetFlags(&f), "0x%x", f);
	R(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
	RV(cuCtxGetFlags(&f), "0x%x", f);
	R(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
	RV(cuCtxGetFlags(&f), "0x%x", f);
	R(cuCtxSetFlags(0x1000));
	R(cuCtxSetFlags(3));
	R(cuCtxDestroy_v2(c));
	R(cuCtxDetach(c));
	R(cuCtxAttach(&c2, 0));
	R(cuCtxAttach(&c2, 1));
	R(cuCtxDetach(c));
	R(cuDevicePrimaryCtxRelease_v2(0));
	RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags 0x%x active %d", f, a);
	R(cuDevicePrimaryCtxReset_v2(0));
	RV(cuDevicePrimaryCtxGetState(0, &f, &a), "flags 0x%x active %d", f, a);
	RV(cuCtxGetCurrent(&cur), "same %d", cur == c);
	R(cuCtxSynchronize());
	R(cuMemAlloc_v2((CUdeviceptr[]){ 0 }, 16));
	R(cuCtxGetDevice(&d));
	R(cuCtxGetFlags(&f));
	R(cuDevicePrimaryCtxRelease_v2(0));
	R(cuDevicePrimaryCtxRelease_v2(0));
	RV(cuDevicePrimaryCtxRetain(&c2, 0), "same %d", c == c2);
	R(cuCtxSynchronize());
	R(cuCtxPopCurrent_v2(&cur));
	R(cuCtxPopCurrent_v2(&cur));
}

GROUP(contexts)
{
	CUcontext c = NULL, c2 = NULL, cur = NULL, pc = NULL;
	CUdevice d = -7;
	unsigned int f = 7, ver = 7;
	unsigned long long id = 0, id2 = 0;
	CUexecAffinityParam ep = { .type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param.smCount.val = 4 };
	CUfunc_cache fc = 7;
	CUsharedconfig sc = 7;
	int lo = -7, hi = -7;
	CUstream s = NULL;
	CUevent e = NULL;
	CUdeviceptr p = 0;

	cuInit(0);
	static const unsigned int flags[] = { 3, 5, 6, 7, 0x20, 0x100, 0x200, 0x1000, 0x80000000, 0xff };
	for (size_t i = 0; i < NEL(flags); i++) {
		tag("flags 0x%x", flags[i]);
		R(cuCtxCreate_v2(&c, flags[i], 0));
	}
	tag("%s", "");
	R(cuCtxCreate_v2(NULL, 0, 0));
	R(cuCtxCreate_v2(&c, 0, 9));
	R(cuCtxCreate_v2(&c, 0x1000, 9));
	while (!cuCtxGetCurrent(&cur) && cur)
		cuCtxDestroy_v2(cur);
	RV(cuCtxCreate_v2(&c, 0, 0), "%s", c ? "set" : "null");
	in_start = 0;
	RV(cuCtxGetFlags(&f), "0x%x", f);
	RV(cuCtxGetApiVersion(NULL, &ver), "%u", ver);
	RV(cuCtxGetApiVersion(c, &ver), "%u", ver);
	R(cuCtxGetApiVersion(c, NULL));
	RV(cuCtxGetId(c, &id), "%s", id ? "positive" : "zero");
	RV(cuCtxGetId(NULL, &id2), "same %d", id == id2);
	R(cuCtxGetId(c, NULL));
	in_start = 1;
	RV(cuCtxCreate_v2(&c2, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST, 0), "differs %d", c != c2);
	in_start = 0;
	RV(cuCtxGetId(c2, &id2), "greater %d", id2 > id);
	RV(cuCtxGetFlags(&f), "0x%x", f);
	RV(cuCtxGetCurrent(&cur), "the second %d", cur == c2);
	RV(cuCtxPopCurrent_v2(&cur), "the second %d", cur == c2);
	RV(cuCtxGetCurrent(&cur), "the first %d", cur == c);
	R(cuCtxPushCurrent_v2(c2));
	R(cuCtxPushCurrent_v2(c2));
	R(cuCtxPushCurrent_v2(c));
	R(cuCtxPopCurrent_v2(NULL));
	RV(cuCtxGetCurrent(&cur), "the second %d", cur == c2);
	R(cuCtxSetCurrent(NULL));
	RV(cuCtxGetCurrent(&cur), "the second %d null %d", cur == c2, !cur);
	R(cuCtxGetDevice(&d));
	R(cuCtxSetCurrent(c));
	RV(cuCtxGetDevice(&d), "%d", d);
	RV(cuCtxGetCacheConfig(&fc), "%d", fc);
	for (int i = -1; i < 6; i++) {
		tag("config %d", i);
		R(cuCtxSetCacheConfig((CUfunc_cache)i));
		RV(cuCtxGetCacheConfig(&fc), "%d", fc);
	}
	for (int i = -1; i < 5; i++) {
		tag("config %d", i);
		R(cuCtxSetSharedMemConfig((CUsharedconfig)i));
		RV(cuCtxGetSharedMemConfig(&sc), "%d", sc);
	}
	tag("%s", "");
	R(cuCtxGetCacheConfig(NULL));
	R(cuCtxGetSharedMemConfig(NULL));
	RV(cuCtxGetStreamPriorityRange(&lo, &hi), "%d %d", lo, hi);
	R(cuCtxGetStreamPriorityRange(NULL, &hi));
	R(cuCtxGetStreamPriorityRange(NULL, NULL));
	R(cuCtxResetPersistingL2Cache());
	R(cuCtxGetExecAffinity(&ep, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
	R(cuCtxGetExecAffinity(&ep, (CUexecAffinityType)3));
	R(cuCtxGetExecAffinity(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
	in_start = 1;
	R(cuCtxCreate_v3(&cur, NULL, 0, 0, 0));
	R(cuCtxCreate_v3(&cur, &ep, 1, 0, 0));
	R(cuCtxCreate_v3(&cur, NULL, 1, 0, 0));
	R(cuCtxCreate_v4(&cur, NULL, 0, 0));
	R(cuCtxCreate_v4(&cur, &(CUctxCreateParams){ &ep, 1, NULL }, 0, 0));
	RV(cuCtxGetApiVersion(NULL, &ver), "%u", ver);
	in_start = 0;
	R(cuCtxSetCurrent(c));
	tag("objects of another context");
	R(cuStreamCreate(&s, 0));
	R(cuEventCreate(&e, 0));
	R(cuMemAlloc_v2(&p, 64));
	R(cuCtxSetCurrent(c2));
	R(cuEventRecord(e, NULL));
	R(cuEventRecord(e, s));
	R(cuStreamWaitEvent(NULL, e, 0));
	R(cuStreamSynchronize(s));
	R(cuMemsetD8_v2(p, 1, 64));
	R(cuMemsetD8Async(p, 1, 64, s));
	RV(cuStreamGetCtx(s, &cur), "the first %d", cur == c);
	R(cuMemFree_v2(p));
	R(cuCtxSynchronize());
	R(cuCtxSynchronize_v2(c));
	R(cuCtxSynchronize_v2(NULL));
	tag("destroyed");
	R(cuCtxDestroy_v2(c2));
	RV(cuCtxGetCurrent(&cur), "null %d the first %d gone %d", !cur, cur == c, cur == c2);
	R(cuCtxSetCurrent(c2));
	R(cuCtxDestroy_v2(c2));
	R(cuCtxPushCurrent_v2(c2));
	R(cuCtxGetId(c2, &id2));
	R(cuCtxGetApiVersion(c2, &ver));
	R(cuCtxSetCurrent(c));
	R(cuDevicePrimaryCtxRetain(&pc, 0));
	R(cuCtxDestroy_v2(c));
	R(cuStreamQuery(s));
	R(cuEventQuery(e));
	R(cuCtxSetCurrent(pc));
	R(cuStreamQuery(s));
	R(cuStreamSynchronize(s));
	R(cuEventRecord(e, NULL));
	R(cuCtxSetCurrent(P(0x1234)));
	R(cuCtxPushCurrent_v2(P(0x1234)));
	R(cuCtxDestroy_v2(P(0x1234)));
}

GROUP(limits)
{
	size_t z;
	static const size_t values[] = { 0, 1, 100, 511, 1000, 1024, 4096, 65536, 262144, 524288, 1 << 20, 1 << 24, (size_t)1 << 32, (size_t)1 << 40, SIZE_MAX };

	start();
	for (int i = -1; i < 12; i++) {
		tag("limit %d", i);
		z = 7;
		RV(cuCtxGetLimit(&z, (CUlimit)i), "%zu", z);
	}
	R(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
	for (int i = 0; i < 11; i++)
		for (size_t k = 0; k < NEL(values); k++) {
			/* not what would take the card's memory from the groups beside this one */
			if ((!i && values[k] > 4096 && values[k] < 1 << 24) || (i == 1 && values[k] >> 32 == 1))
				continue;
			tag("limit %d, %zx", i, values[k]);
			z = 7;
			R(cuCtxSetLimit((CUlimit)i, values[k]));
			RV(cuCtxGetLimit(&z, (CUlimit)i), "%zu", z);
		}
}

GROUP(proc)
{
	static const char *const names[] = { "cuInit", "cuMemAlloc", "cuMemAlloc_v2", "cuCtxCreate", "cuCtxCreate_v4", "cuStreamSynchronize",
		"cuLaunchKernel", "cuLaunchKernelEx", "cuGetProcAddress", "cuGetProcAddress_v2", "cuNothing", "", "cuStreamBeginCapture",
		"cuMemPrefetchAsync", "cuMemAdvise", "cuGraphInstantiate", "cuGraphAddNode", "cuGraphExecUpdate", "cuEventElapsedTime",
		"cuDeviceGetUuid", "cuGreenCtxCreate", "cuMemcpyBatchAsync", "cuGetExportTable", "cuStreamSynchronize_ptsz", "cuLogsCurrent",
		"cuCheckpointProcessLock", "cuDevSmResourceSplit", "cuLaunchHostFunc", "cuArrayCreate", "cuTexRefCreate", "cuGLInit", "cuMulticastCreate" };
	static const int versions[] = { 0, 1000, 2000, 3000, 3020, 4000, 7000, 9000, 10000, 11000, 11030, 12000, 12040, 12080, 13000, 13010, 99999, -1 };
	void *f, *g;
	CUdriverProcAddressQueryResult q;

	for (size_t i = 0; i < NEL(names); i++)
		for (size_t k = 0; k < NEL(versions); k++) {
			if (k != 1 && k != 4 && k != 11 && k != 14 && i >= 6)
				continue;
			tag("\"%s\", %d", names[i], versions[k]);
			f = P(7);
			q = 7;
			if (go("cuGetProcAddress_v2")) {
				int r = cuGetProcAddress_v2(names[i], &f, versions[k], 0, &q);

				came(r);
				say(" %s status %d\n", !f ? "null" : f == P(7) ? "untouched" : "set", q);
			}
		}
	for (unsigned long long fl = 0; fl < 9; fl++) {
		tag("flags %llu", fl);
		f = g = NULL;
		R(cuGetProcAddress_v2("cuStreamSynchronize", &f, 12000, fl, &q));
		R(cuGetProcAddress_v2("cuStreamSynchronize", &g, 12000, 2, &q));
		SAY("same as per-thread %d", f == g);
	}
	tag("%s", "");
	f = P(7);
	R(cuGetProcAddress_v2(NULL, &f, 12000, 0, &q));
	R(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, &q));
	R(cuGetProcAddress_v2("cuInit", &f, 12000, 0, NULL));
	R(cuGetProcAddress_v2("cuNothing", &f, 12000, 0, NULL));
	SAY("%s", !f ? "null" : f == P(7) ? "untouched" : "set");
	R(cuGetProcAddress("cuInit", &f, 12000, 0));
	R(cuGetProcAddress("cuNothing", &f, 12000, 0));
	R(cuGetExportTable((const void **)&f, &(CUuuid){ "none there is" }));
	R(cuGetExportTable((const void **)&f, NULL));
	R(cuGetExportTable(NULL, &(CUuuid){ "none there is" }));
}
