/* SPDX-License-Identifier: MIT */
/*
 * Launches with clusters of several blocks: asked for by the launch, by the kernel, in graphs; wrong ones; what is said of them. Below compute
 * capability 9.0 there are none.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define MOST 64

/* Each block stores its number, and reads that of the next one of its cluster: out[block] = number | blocks of the cluster << 16 */
#define BODY(name) \
	".visible .entry " #name "(.param .u64 out)"
#define REST \
	"\n{\n	.reg .pred %p;\n	.reg .b32 %r<12>;\n	.reg .b64 %rd<4>;\n	.shared .b32 s;\n" \
	"	ld.param.u64 %rd1, [out];\n	mov.u32 %r1, %ctaid.x;\n	st.shared.u32 [s], %r1;\n" \
	"	barrier.cluster.arrive;\n	barrier.cluster.wait;\n" \
	"	mov.u32 %r2, %cluster_ctarank;\n	mov.u32 %r3, %cluster_nctarank;\n	add.u32 %r4, %r2, 1;\n" \
	"	rem.u32 %r4, %r4, %r3;\n	mov.u32 %r5, s;\n	mapa.shared::cluster.u32 %r6, %r5, %r4;\n	ld.shared::cluster.u32 %r7, [%r6];\n" \
	"	shl.b32 %r8, %r3, 16;\n	or.b32 %r7, %r7, %r8;\n	mul.wide.u32 %rd2, %r1, 4;\n	add.u64 %rd1, %rd1, %rd2;\n" \
	"	st.global.u32 [%rd1], %r7;\n	barrier.cluster.arrive;\n	barrier.cluster.wait;\n	ret;\n}\n"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	BODY(any) REST
	BODY(four) " .reqnctapercluster 4" REST
	BODY(said) " .explicitcluster" REST
	BODY(few) " .maxclusterrank 2" REST;

static CUdeviceptr out;
static unsigned got[MOST];

static CUresult launch(CUfunction f, unsigned blocks, unsigned x, unsigned y)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
	CUlaunchConfig k = { .gridDimX = blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .attrs = &a, .numAttrs = x ? 1 : 0 };
	void *args[] = { &out };

	a.value.clusterDim.x = x;
	a.value.clusterDim.y = y;
	a.value.clusterDim.z = 1;
	return cuLaunchKernelEx(&k, f, args, NULL);
}

static void look(unsigned blocks, unsigned size)
{
	CK(cuMemcpyDtoH(got, out, sizeof(got)));
	CK(cuMemsetD8(out, 0xff, sizeof(got)));
	for (unsigned i = 0; i < MOST; i++) {
		unsigned want = i < blocks ? (i / size * size + (i + 1) % size) | size << 16 : ~0u;

		if (got[i] != want) {
			e2e_fail("%u blocks in clusters of %u: block %u left %x, want %x", blocks, size, i, got[i], want);
			return;
		}
	}
}

static void attributes(CUfunction any, CUfunction four, CUfunction said)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 4, 1, 1 } };
	CUlaunchConfig k = { .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1024, .blockDimY = 1, .blockDimZ = 1, .attrs = &a, .numAttrs = 1 };
	int v, per_sm, sms;

	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, four));
	EXPECT(v == 4);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, four));
	EXPECT(v == 1);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, any));
	EXPECT(v == 0);
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, said));
	EXPECT(v == 1);
	CK(cuOccupancyMaxPotentialClusterSize(&v, any, &k));
	EXPECT(v == 8);
	CK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, any, 1024, 0));
	CK(cuOccupancyMaxActiveClusters(&v, any, &k));
	EXPECT(v == per_sm * sms / 4);
}

/* Clusters that the function is given: every launch has them, those that were remembered as good too, and those of a graph */
static void required(CUfunction any, CUfunction four)
{
	void *args[] = { &out };
	CUstream s;
	CUgraph g;
	CUgraphExec x;
	int v;

	CK(cuStreamCreate(&s, 0));
	CK(cuLaunchKernel(any, 12, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamSynchronize(s));
	look(12, 1);
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1));
	CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 3));
	/* "must either all be 0 or all be positive", which is "checked at launch time" */
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernel(any, 12, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
	CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
	CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, any));
	EXPECT(v == 3);
	CK(cuLaunchKernel(any, 12, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamSynchronize(s));
	look(12, 3);
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernel(any, 13, 1, 1, 1, 1, 1, 0, s, args, NULL));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(any, 12, 2, 1));
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuLaunchKernel(any, 6, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphInstantiate(&x, g, 0));
	CK(cuGraphLaunch(x, s));
	CK(cuStreamSynchronize(s));
	look(6, 3);
	CK(cuGraphExecDestroy(x));
	CK(cuGraphDestroy(g));
	for (int i = 0; i < 3; i++)
		CK(cuFuncSetAttribute(any, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i), 0));
	CK(cuLaunchKernel(any, 12, 1, 1, 1, 1, 1, 0, s, args, NULL));
	CK(cuStreamSynchronize(s));
	look(12, 1);
	/* "If the value is set during compile time, it cannot be set at runtime." */
	WANT(CUDA_ERROR_NOT_PERMITTED, cuFuncSetAttribute(four, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
	CK(cuStreamDestroy(s));
}

static void graphs(CUfunction any)
{
	CUstream s;
	CUgraph g;
	CUgraphExec x;
	CUgraphNode node;
	CUkernelNodeAttrValue v;
	size_t n = 1;

	CK(cuStreamCreate(&s, 0));
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	{
		CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 2, 1, 1 } };
		CUlaunchConfig k = { .gridDimX = 6, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .hStream = s, .attrs = &a, .numAttrs = 1 };
		void *args[] = { &out };

		CK(cuLaunchKernelEx(&k, any, args, NULL));
	}
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphGetNodes(g, &node, &n));
	CK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
	EXPECT(n == 1 && v.clusterDim.x == 2 && v.clusterDim.y == 1 && v.clusterDim.z == 1);
	CK(cuGraphInstantiate(&x, g, 0));
	CK(cuGraphLaunch(x, s));
	CK(cuStreamSynchronize(s));
	look(6, 2);
	CK(cuGraphExecDestroy(x));
	v.clusterDim.x = 4;
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
	v.clusterDim.x = 3;
	CK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
	v.cooperative = 1;
	CK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	CK(cuGraphInstantiate(&x, g, 0));
	CK(cuGraphLaunch(x, s));
	CK(cuStreamSynchronize(s));
	look(6, 3);
	CK(cuGraphExecDestroy(x));
	CK(cuGraphDestroy(g));
	CK(cuStreamDestroy(s));
}

int main(void)
{
	CUcontext ctx = drv_start("cluster");
	CUfunction any, four, said, few;
	CUmodule mod;
	int major, has;
	void *args[] = { &out };

	CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	EXPECT(has == (major >= 9));
	CK(cuMemAlloc(&out, sizeof(got)));
	CK(cuMemsetD8(out, 0xff, sizeof(got)));
	if (!has) {
		static const char old[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 out) { ret; }\n";
		int v;

		CK(cuModuleLoadData(&mod, old));
		CK(cuModuleGetFunction(&any, mod, "k"));
		CK(launch(any, 2, 1, 1));
		WANT(CUDA_ERROR_NOT_SUPPORTED, launch(any, 2, 2, 1));
		/* what may be is kept, and nothing comes of it */
		CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
		CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, any));
		EXPECT(v == 1);
		WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
		CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, CU_CLUSTER_SCHEDULING_POLICY_SPREAD));
		WANT(CUDA_ERROR_NOT_SUPPORTED, launch(any, 2, 2, 1));
		CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, any));
		EXPECT(v == 0);
		CK(cuCtxDestroy(ctx));
		return e2e_end("none below 9.0");
	}
	CK(cuModuleLoadData(&mod, ptx));
	CK(cuModuleGetFunction(&any, mod, "any"));
	CK(cuModuleGetFunction(&four, mod, "four"));
	CK(cuModuleGetFunction(&said, mod, "said"));
	CK(cuModuleGetFunction(&few, mod, "few"));
	CK(launch(any, 64, 8, 1));
	look(64, 8);
	CK(launch(any, 12, 1, 1));
	look(12, 1);
	CK(launch(any, 12, 0, 0));
	look(12, 1);
	CK(cuLaunchKernel(four, 12, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	look(12, 4);
	CK(launch(four, 8, 4, 1));
	look(8, 4);
	CK(launch(said, 6, 3, 1));
	look(6, 3);
	CK(launch(few, 6, 2, 1));
	look(6, 2);

	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(any, 64, 16, 1));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(any, 64, 32, 1));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(any, 9, 2, 1));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(any, 8, 2, 2));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(four, 8, 2, 1));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernel(four, 6, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernel(said, 6, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	WANT(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(few, 6, 3, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, launch(any, 6, 2, 0));
	look(0, 1);
	CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	CK(launch(any, 64, 16, 1));
	look(64, 16);
	CK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
	attributes(any, four, said);
	graphs(any);
	required(any, four);
	CK(cuCtxDestroy(ctx));
	return e2e_end("launches, kernels' own, graphs, errors");
}
