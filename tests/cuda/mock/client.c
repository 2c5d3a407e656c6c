/* SPDX-License-Identifier: MIT */
/*
 * What a client does in the sweep: each kind of call that leads to a call of the driver, in an order that is the same every time. It goes on
 * behind a call that failed, without what that call would have given. What succeeded has to be right.
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../libcuda-lite/include/vgpu_gemm.h"

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .global .align 4 .b8 mock_other[12];\n"
	".visible .global .align 8 .b8 mock_variable[4096];\n"
	".visible .entry mock_set(.param .u64 p, .param .u32 value, .param .u32 n) { ret; }\n"
	".visible .entry mock_full(.param .u64 p, .param .u32 value, .param .u32 n) { .shared .align 4 .b8 own[40960]; ret; }\n"
	".visible .entry mock_add(.param .u64 dst, .param .u64 a, .param .u64 b, .param .u32 n) { ret; }\n"
	".visible .entry mock_wait(.param .u64 p) { ret; }\n"
	".visible .entry mock_map(.param .align 64 .b8 map[128], .param .u64 p) { ret; }\n"
	".visible .entry mock_priority(.param .u64 p) { ret; }\n"
	".visible .entry mock_fault() { ret; }\n"
	".visible .entry mock_trap() { ret; }\n"
	".visible .entry mock_endless() { ret; }\n";

struct report *report;

/* Notes an answer; wrong: it was success, and what it left is not what it should be. */
CUresult noted(const char *what, CUresult r, const char *wrong)
{
	if (r && !report->first) {
		report->first = r;
		snprintf(report->where, sizeof(report->where), "%s", what);
	}
	if (r)
		report->last = r;
	if (!r && wrong && !report->wrong[0])
		snprintf(report->wrong, sizeof(report->wrong), "%s: %s", what, wrong);
	report->calls++;
	return r;
}

#define CALL(x) noted(#x, (x), NULL)
#define CHECK(what, r, good) noted(what, r, (r) || (good) ? NULL : "not what was written")

CUresult launch_endless(CUmodule m, const char *name)
{
	CUfunction f;

	return cuModuleGetFunction(&f, m, name) ? CUDA_ERROR_NOT_FOUND : cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

CUresult load(CUmodule *m) { return cuModuleLoadData(m, ptx); }

CUresult launch_many(unsigned n)
{
	static CUdeviceptr p;
	static CUfunction f;
	uint32_t value = 1, count = 1;
	void *args[] = { &p, &value, &count };
	CUmodule m;
	CUresult r = f ? CUDA_SUCCESS : load(&m);

	if (!r && !f)
		r = cuMemAlloc_v2(&p, 4);
	if (!r && !f)
		r = cuModuleGetFunction(&f, m, "mock_set");
	for (unsigned i = 0; i < n && !r; i++)
		r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	return r ? r : cuCtxSynchronize();
}

static void set(CUfunction f, CUdeviceptr p, uint32_t value, uint32_t n, unsigned shared, CUstream s, const char *what)
{
	void *args[] = { &p, &value, &n };

	noted(what, cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, shared, s, args, NULL), NULL);
}

/* What lies there: all words as they should be? A copy that fails tells nothing. */
static void look(const char *what, CUdeviceptr p, uint32_t want, uint32_t n, int known)
{
	CUresult before = report->first;
	uint32_t *got = calloc(n, 4), ok = 1;
	CUresult r = cuMemcpyDtoH_v2(got, p, (size_t)n * 4);

	for (uint32_t i = 0; i < n; i++)
		ok &= got[i] == want;
	/* an error that comes with it may be of what was to be looked at */
	CHECK(what, r, ok || !known || before);
	free(got);
}

#define N 1024u

static void copies(CUdeviceptr a, CUdeviceptr b, CUdeviceptr big)
{
	uint32_t host[N];

	for (uint32_t i = 0; i < N; i++)
		host[i] = 7;
	if (a) {
		int known = !CALL(cuMemcpyHtoD_v2(a, host, sizeof(host)));

		look("back from the device", a, 7, N, known);
		known &= b && !CALL(cuMemcpyDtoD_v2(b, a, sizeof(host)));
		if (b)
			look("a copy on the device", b, 7, N, known);
		known = !CALL(cuMemsetD32_v2(a, 0x01020304, N));
		look("fill of words", a, 0x01020304, N, known);
		known = !CALL(cuMemsetD16_v2(a, 0x0505, 2 * N));
		look("fill of halves", a, 0x05050505, N, known);
	}
	if (big) {
		int known = !CALL(cuMemsetD8_v2(big, 9, 5 << 20));

		look("the end of a large fill", big + (5u << 20) - 4 * N, 0x09090909, N, known);
	}
}

/* As much of the host's memory as takes more than one registration with the driver. */
static void pinned(CUdeviceptr big)
{
	CUresult before = report->first, r;
	size_t bytes = 5 << 20;
	uint8_t *p = NULL;

	if (CALL(cuMemHostAlloc((void **)&p, 16 << 20, 0)))
		return;
	for (size_t at = 0; big && at + bytes <= 16u << 20; at += 4 << 20) {
		memset(p + at, (int)(at >> 20) + 1, bytes);
		r = CALL(cuMemcpyHtoD_v2(big, p + at, bytes));
		memset(p + at, 0, bytes);
		if (!r && !CALL(cuMemcpyDtoH_v2(p + at, big, bytes)))
			CHECK("pinned memory, there and back", CUDA_SUCCESS,
			      (p[at] == (uint8_t)((at >> 20) + 1) && !memcmp(p + at, p + at + 1, bytes - 1)) || report->first != before);
	}
	noted("cuMemFreeHost", cuMemFreeHost(p), NULL);
}

/* What a kernel has of shared memory counts among the 48 KiB that need no word; what PTX's version is called is its architecture. */
static void full(CUmodule m, CUdeviceptr a)
{
	CUresult before = report->first;
	CUfunction f = NULL;
	int v = 0;

	if (CALL(cuModuleGetFunction(&f, m, "mock_full")) || !a)
		return;
	noted("shared memory of a kernel's own", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f), NULL);
	CHECK("shared memory of a kernel's own", CUDA_SUCCESS, v == 40 << 10 || before != report->first);
	noted("PTX's version", cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f), NULL);
	CHECK("PTX's version", CUDA_SUCCESS, v == 60 || before != report->first);
	noted("40 and 16 KiB of shared memory", cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16 << 10), NULL);
	set(f, a, 22, N, 8 << 10, NULL, "launch with 40 and 8 KiB of shared memory");
	set(f, a, 23, N, 16 << 10, NULL, "launch with 40 and 16 KiB of shared memory");
	if (!CALL(cuCtxSynchronize()) && report->first == before)
		look("what a kernel with 56 KiB of shared memory wrote", a, 23, N, 1);
}

static void launches(CUmodule m, CUdeviceptr a, CUdeviceptr b)
{
	CUfunction fset = NULL, fadd = NULL;
	CUstream s = NULL;
	uint32_t n = N, before = report->calls, failed = report->first;
	void *args[] = { &b, &a, &a, &n }, *five[] = { &b, &(uint32_t){ 5 }, &n };
	CUlaunchAttribute two = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 2, 1, 1 } };
	CUlaunchConfig cluster = { .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .attrs = &two, .numAttrs = 1 };
	CUresult r;

	CALL(cuModuleGetFunction(&fset, m, "mock_set"));
	CALL(cuModuleGetFunction(&fadd, m, "mock_add"));
	if (!fset || !fadd || !a || !b)
		return;
	set(fset, a, 20, N, 0, NULL, "launch");
	noted("launch with 100 KiB of shared memory", cuFuncSetAttribute(fset, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10), NULL);
	set(fset, a, 21, N, 100 << 10, NULL, "launch with 100 KiB of shared memory");
	noted("cooperative launch", cuLaunchCooperativeKernel(fadd, 1, 1, 1, 32, 1, 1, 0, NULL, args), NULL);
	r = CALL(cuCtxSynchronize());
	(void)before;
	if (!r && report->first == failed)
		look("what kernels wrote", b, 42, N, 1);
	full(m, a);
	if (CALL(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)))
		return;
	failed = report->first;
	cluster.hStream = s;
	set(fset, b, 4, N, 0, s, "launch in a stream");
	noted("launch of a cluster", cuLaunchKernelEx(&cluster, fset, five, NULL), NULL);
	r = CALL(cuStreamSynchronize(s));
	if (!r && report->first == failed)
		look("what the stream's kernel wrote", b, 5, N, 1);
	CALL(cuStreamDestroy_v2(s));
}

/*
 * A graph of launches, again and again: the first time they are launches, then a graph of the driver, whose parameters change. Each
 * writes its part of b, with the round's number.
 */
static void graphs(CUmodule m, CUdeviceptr b)
{
	CUgraphExec exec = NULL;
	CUfunction f = NULL;
	CUstream s = NULL;
	CUgraph g = NULL;
	CUgraphNode node[12];
	uint32_t part = N / 12, failed = report->first;
	CUresult r;

	CALL(cuModuleGetFunction(&f, m, "mock_set"));
	if (!f || !b || CALL(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)))
		return;
	CALL(cuGraphCreate(&g, 0));
	for (uint32_t i = 0; g && i < 12; i++) {
		CUdeviceptr p = b + 4 * i * part;
		uint32_t value = 100;
		void *args[] = { &p, &value, &part };
		CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
						 .kernelParams = args };

		CALL(cuGraphAddKernelNode_v2(&node[i], g, i ? &node[i - 1] : NULL, i != 0, &k));
	}
	CALL(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (uint32_t round = 0; exec && round < 5; round++) {
		CALL(cuMemsetD32Async(b, 1, 12 * part, s));
		for (uint32_t i = 0; round >= 3 && i < 2; i++) {        /* two of twelve are others in the last rounds */
			CUdeviceptr p = b + 4 * i * part;
			uint32_t value = 100, count = part;
			void *args[] = { &p, &value, &count };
			CUDA_KERNEL_NODE_PARAMS_v2 k = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
							 .blockDimZ = 1, .kernelParams = args };

			value += round * (i == 0);
			CALL(cuGraphExecKernelNodeSetParams_v2(exec, node[i], &k));
		}
		CALL(cuGraphLaunch(exec, s));
		r = CALL(cuStreamSynchronize(s));
		if (!r && report->first == failed) {
			look("what a graph wrote", b + 4 * part, 100, 11 * part, 1);
			look("what a graph wrote with another parameter", b, round >= 3 ? 100 + round : 100, part, 1);
		}
	}
	if (exec)
		CALL(cuGraphExecDestroy(exec));
	if (g)
		CALL(cuGraphDestroy(g));
	CALL(cuStreamDestroy_v2(s));
}

/* What is launched goes to a stream of the driver's with its priority; the driver has fewer of them. */
static void priorities(CUmodule m, CUdeviceptr a)
{
	CUstreamAttrValue v = { .priority = -5 };
	CUfunction f = NULL;
	CUstream s = NULL;
	void *args[] = { &a };

	if (CALL(cuModuleGetFunction(&f, m, "mock_priority")) || !a || CALL(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -3)))
		return;
	for (uint32_t want = 3; want < 5; want++) {
		CUresult before = report->first;
		int known = !noted("launch in a stream with a priority", cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, args, NULL), NULL);

		if (!CALL(cuStreamSynchronize(s)) && report->first == before)
			look("the priority of a stream", a, want, 1, known);
		CALL(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	}
	CALL(cuStreamDestroy_v2(s));
}

/* Our words for a tensor become the driver's on their way to a kernel. */
static void tensor_map(CUmodule m, CUdeviceptr a)
{
	const cuuint64_t dims[] = { 64, 8 }, strides[] = { 128 };
	const cuuint32_t box[] = { 16, 4 }, steps[] = { 1, 1 };
	_Alignas(64) CUtensorMap map;
	CUresult before = report->first;
	CUfunction f = NULL;
	void *args[] = { &map, &a };
	int known;

	if (CALL(cuModuleGetFunction(&f, m, "mock_map")) || !a ||
	    noted("cuTensorMapEncodeTiled", cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)a, dims, strides, box, steps,
			CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
			CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE), NULL))
		return;
	known = !noted("launch with a tensor map", cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), NULL);
	if (!CALL(cuCtxSynchronize()) && report->first == before)
		look("a kernel's tensor map", a, 1, 1, known);
}

/* A variable, which the driver has at an address of its own: written and read by name, and by a kernel that is told where it is. */
static void variables(CUmodule m, CUdeviceptr a)
{
	CUdeviceptr v = 0;
	CUfunction f = NULL;
	size_t bytes = 0;
	uint32_t host[N], n = N;
	void *args[] = { &a, &v, &v, &n };
	int known;

	CALL(cuModuleGetFunction(&f, m, "mock_add"));
	if (CALL(cuModuleGetGlobal_v2(&v, &bytes, m, "mock_variable")) || !f || !a)
		return;
	noted("size of a variable", CUDA_SUCCESS, bytes == sizeof(host) ? NULL : "another");
	for (uint32_t i = 0; i < N; i++)
		host[i] = 19;
	known = !CALL(cuMemcpyHtoD_v2(v, host, sizeof(host)));
	known &= !noted("launch on a variable", cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), NULL);
	look("what a kernel read of a variable", a, 38, N, known);
	known = !CALL(cuMemsetD32_v2(v + 4 * N - 64, 3, 16));
	look("the end of a variable", v + 4 * N - 64, 3, 16, known);
}

/* A kernel that is out for some time, as the driver's look finds it; it reads memory of the program. */
static void long_one(CUmodule m)
{
	uint32_t *word = NULL, seen;
	CUfunction f = NULL;
	void *args[] = { &word };

	if (CALL(cuMemHostAlloc((void **)&word, 4 << 20, CU_MEMHOSTALLOC_DEVICEMAP)))
		return;
	*word = 0;
	CALL(cuModuleGetFunction(&f, m, "mock_wait"));
	if (f && !CALL(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL)) && report->slot) {
		seen = looks();
		/* the dispatcher's look, or the end of all of it */
		for (int i = 0; i < 20000 && looks() == seen && cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY; i++)
			nap();
	}
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	CALL(cuCtxSynchronize());
	noted("cuMemFreeHost", cuMemFreeHost(word), NULL);
}

/* A product that begins c, one that adds to it, and a solve: L = ones below a diagonal of ones, so x of (0, 1, 2, ...) is (0, 1, 1, ...). */
static void products(CUdeviceptr p)
{
	enum { M = 5, NN = 6, K = 7 };
	float a[M * K], b[K * NN], c[M * NN], l[M * M], want;
	CUdeviceptr at_a = p, at_b = p + 256, at_c = p + 512, at_l = p + 1024;
	struct vgpu_body_gemm body = { .a = at_a, .b = at_b, .c = at_c, .batch = 1 };
	struct vgpu_gemm g = { .alpha = 2, .m = M, .n = NN, .k = K, .lda = M, .ldb = K, .ldc = M, .type_a = VGPU_GEMM_F32, .type_b = VGPU_GEMM_F32,
			       .type_c = VGPU_GEMM_F32, .type_scalar = VGPU_GEMM_F32 };
	CUresult before = report->first;
	int ok = 1, known;

	for (int i = 0; i < M * K; i++)
		a[i] = (float)(i % 5);
	for (int i = 0; i < K * NN; i++)
		b[i] = (float)(i % 7) - 3;
	for (int i = 0; i < M * M; i++)
		l[i] = i % M > i / M ? 1.0f : 9.0f;      /* the diagonal and what is above are not looked at */
	known = !CALL(cuMemcpyHtoD_v2(at_a, a, sizeof(a)));
	known &= !CALL(cuMemcpyHtoD_v2(at_b, b, sizeof(b)));
	known &= !CALL(cuMemcpyHtoD_v2(at_l, l, sizeof(l)));
	known &= !noted("a product", vgpuGemm(VGPU_OP_GEMM, &body, &g, NULL), NULL);
	g.beta = 1;
	known &= !noted("a product that adds", vgpuGemm(VGPU_OP_GEMM, &body, &g, NULL), NULL);
	known &= !CALL(cuMemcpyDtoH_v2(c, at_c, sizeof(c)));
	for (int j = 0; j < NN; j++)
		for (int i = 0; i < M; i++) {
			want = 0;
			for (int k = 0; k < K; k++)
				want += 4 * a[i + k * M] * b[k + j * K];
			ok &= c[i + j * M] == want;
		}
	CHECK("products", CUDA_SUCCESS, ok || !known || report->first != before);
	for (int i = 0; i < M * NN; i++)
		c[i] = (float)(i % M);
	known = !CALL(cuMemcpyHtoD_v2(at_c, c, sizeof(c)));
	body = (struct vgpu_body_gemm){ .a = at_l, .c = at_c, .batch = 1 };
	g = (struct vgpu_gemm){ .alpha = 1, .m = M, .n = NN, .lda = M, .ldc = M, .type_a = VGPU_GEMM_F32, .type_b = VGPU_GEMM_F32,
				.type_c = VGPU_GEMM_F32, .type_scalar = VGPU_GEMM_F32, .unit = 1 };
	known &= !noted("a solve", vgpuGemm(VGPU_OP_TRSM, &body, &g, NULL), NULL);
	known &= !CALL(cuMemcpyDtoH_v2(c, at_c, sizeof(c)));
	for (int i = 0; i < M * NN; i++)
		ok &= c[i] == (i % M ? 1.0f : 0.0f);
	CHECK("what a solve leaves", CUDA_SUCCESS, ok || !known || report->first != before);
}

static void virtual_memory(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemAccessDesc rw = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle h[2] = { 0, 0 };
	size_t bytes = 2 << 20;
	CUdeviceptr at = 0;
	int mapped = 0;

	if (CALL(cuMemAddressReserve(&at, 2 * bytes, 0, 0, 0)))
		return;
	for (int i = 0; i < 2; i++)
		if (!CALL(cuMemCreate(&h[i], bytes, &prop, 0)) && !CALL(cuMemMap(at + (CUdeviceptr)i * bytes, bytes, 0, h[i], 0)))
			mapped |= 1 << i;
	if (mapped == 3 && !CALL(cuMemSetAccess(at, 2 * bytes, &rw, 1))) {
		int known = !CALL(cuMemsetD32_v2(at + bytes - 2 * N, 77, N));

		look("across two mappings", at + bytes - 2 * N, 77, N, known);
	}
	/* what was refused stays mapped, and is tried again */
	for (int i = 0; i < 2; i++)
		if (mapped & 1 << i && CALL(cuMemUnmap(at + (CUdeviceptr)i * bytes, bytes)) && !report->gone)
			CALL(cuMemUnmap(at + (CUdeviceptr)i * bytes, bytes));
	for (int i = 0; i < 2; i++)
		if (h[i] && CALL(cuMemRelease(h[i])) && !report->gone)
			cuMemRelease(h[i]);
	CALL(cuMemAddressFree(at, 2 * bytes));
}

static void give_back(CUdeviceptr p)
{
	CUresult again;

	if (!p || !CALL(cuMemFree_v2(p)))
		return;
	/* what was refused is an allocation still, and can be freed another time; of a context that is lost it goes with that */
	again = CALL(cuMemFree_v2(p));
	if (again == CUDA_ERROR_INVALID_VALUE)
		snprintf(report->wrong, sizeof(report->wrong), "an allocation whose free was refused is forgotten");
}

void round_of_calls(void)
{
	CUdeviceptr a = 0, b = 0, big = 0;
	CUmodule m = NULL;
	int version = 0;

	CHECK("the driver's version", cuDriverGetVersion(&version), version == MOCK_VERSION);
	CALL(cuMemAlloc_v2(&a, 4 * N));
	CALL(cuMemAlloc_v2(&b, 1 << 20));
	CALL(cuMemAlloc_v2(&big, 5 << 20));
	copies(a, b, big);
	pinned(big);
	if (!noted("cuModuleLoadData", load(&m), NULL)) {
		launches(m, a, b);
		graphs(m, b);
		tensor_map(m, a);
		priorities(m, a);
		variables(m, a);
		long_one(m);
		CALL(cuModuleUnload(m));
	}
	if (b)
		products(b);
	virtual_memory();
	give_back(a);
	give_back(b);
	give_back(big);
}
