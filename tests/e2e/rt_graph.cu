/* SPDX-License-Identifier: MIT */
/*
 * Graphs through the runtime API: <<<>>> captured, forked and updated as llama.cpp does it, nodes by hand, what a node
 * launches told by the name that the program has for it.
 */
#include <stdlib.h>

#include "rt.h"

#define N 64

static __device__ unsigned variable[N];

__global__ void affine(unsigned *data, unsigned mul, unsigned add)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	data[i] = data[i] * mul + add;
}

__global__ void twice(unsigned *data)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	data[i] *= 2;
}

static unsigned *d;
static cudaStream_t s, s2;

static void step(unsigned *x, unsigned mul, unsigned add)
{
	for (int i = 0; i < N; i++)
		x[i] = x[i] * mul + add;
}

static void start(unsigned *x)
{
	for (int i = 0; i < N; i++)
		x[i] = (unsigned)i;
	RK(cudaMemcpy(d, x, N * 4, cudaMemcpyHostToDevice));
}

static void check(const char *what, const unsigned *want)
{
	unsigned got[N];

	RK(cudaStreamSynchronize(s));
	rt_download(got, d, N);
	e2e_same_u32(what, got, want, N);
}

static cudaGraph_t capture(unsigned k)
{
	cudaGraph_t g;

	RK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	affine<<<2, N / 2, 0, s>>>(d, k, k + 1);
	LAUNCHED();
	twice<<<2, N / 2, 0, s>>>(d);
	LAUNCHED();
	RK(cudaStreamEndCapture(s, &g));
	return g;
}

/* A token at a time: capture, update, and instantiate anew where that fails; GetParams and SetParams as older ones did. */
static void tokens(void)
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t e = NULL;
	struct cudaKernelNodeParams p;
	enum cudaGraphNodeType type;
	cudaGraphNode_t nodes[8];
	unsigned x[N];
	size_t n;

	start(x);
	for (unsigned k = 1; k < 30; k++) {
		cudaGraph_t g = capture(k);

		n = 8;
		RK(cudaGraphGetNodes(g, nodes, &n));
		EXPECT_EQ(n, 2);
		RK(cudaGraphNodeGetType(nodes[0], &type));
		EXPECT_EQ(type, cudaGraphNodeTypeKernel);
		RK(cudaGraphKernelNodeGetParams(nodes[0], &p));
		EXPECT(p.func == (void *)affine && p.gridDim.x == 2 && p.blockDim.x == N / 2 && *(unsigned **)p.kernelParams[0] == d);
		if (!e) {
			RK(cudaGraphInstantiate(&e, g, 0));
		} else {
			RK(cudaGraphExecUpdate(e, g, &info));
			EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
		}
		RK(cudaGraphDestroy(g));
		RK(cudaGraphLaunch(e, s));
		step(x, k, k + 1);
		step(x, 2, 0);
	}
	check("tokens", x);
	{
		cudaGraph_t g;

		RK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
		twice<<<2, N / 2, 0, s>>>(d);
		RK(cudaStreamEndCapture(s, &g));
		RWANT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(e, g, &info));
		EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
		EXPECT_EQ(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
		RK(cudaGraphDestroy(g));
	}
	RK(cudaGraphExecDestroy(e));
}

static void forked(void)
{
	unsigned *b = rt_alloc<unsigned>(N), x[N], y[N], got[N];
	cudaEvent_t fork, join;
	cudaGraphExec_t e;
	cudaGraph_t g;

	RK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	RK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	start(x);
	memcpy(y, x, sizeof(y));
	RK(cudaMemcpy(b, y, N * 4, cudaMemcpyHostToDevice));
	RK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	RK(cudaEventRecord(fork, s));
	RK(cudaStreamWaitEvent(s2, fork, 0));
	affine<<<1, N, 0, s>>>(d, 3, 1);
	affine<<<1, N, 0, s2>>>(b, 5, 2);
	RK(cudaEventRecord(join, s2));
	RK(cudaStreamWaitEvent(s, join, 0));
	RK(cudaMemcpyAsync(d, b, N * 2, cudaMemcpyDeviceToDevice, s));
	RK(cudaStreamEndCapture(s, &g));
	RK(cudaGraphInstantiate(&e, g, 0));
	for (int k = 0; k < 3; k++) {
		RK(cudaGraphLaunch(e, s));
		step(x, 3, 1);
		step(y, 5, 2);
		memcpy(x, y, N * 2);
	}
	check("forked", x);
	rt_download(got, b, N);
	e2e_same_u32("branch", got, y, N);
	RWANT(cudaErrorInvalidValue, cudaEventQuery(join));
	cudaGetLastError();
	RK(cudaGraphExecDestroy(e));
	RK(cudaGraphDestroy(g));
	RK(cudaEventDestroy(fork));
	RK(cudaEventDestroy(join));
	RK(cudaFree(b));
}

static void by_hand(void)
{
	unsigned x[N], from[N], to[N], mul = 3, add = 4;
	cudaGraphNode_t set, kernel, copy, symbol, back, deps[4];
	struct cudaKernelNodeParams p;
	struct cudaMemsetParams m;
	struct cudaMemcpy3DParms c;
	cudaGraphExec_t e;
	cudaGraph_t g, clone;
	void *args[] = { &d, &mul, &add };
	size_t n;

	memset(&p, 0, sizeof(p));
	memset(&m, 0, sizeof(m));
	p.func = (void *)affine;
	p.gridDim = dim3(1);
	p.blockDim = dim3(N);
	p.kernelParams = args;
	m.dst = d;
	m.value = 5;
	m.elementSize = 4;
	m.width = N;
	m.height = 1;
	RK(cudaGraphCreate(&g, 0));
	RK(cudaGraphAddMemsetNode(&set, g, NULL, 0, &m));
	RK(cudaGraphAddKernelNode(&kernel, g, &set, 1, &p));
	RK(cudaGraphAddMemcpyNode1D(&copy, g, &kernel, 1, to, d, N * 4, cudaMemcpyDeviceToHost));
	RK(cudaGraphAddMemcpyNodeToSymbol(&symbol, g, &kernel, 1, variable, from, N * 2, N * 2, cudaMemcpyHostToDevice));
	RK(cudaGraphAddMemcpyNodeFromSymbol(&back, g, &symbol, 1, d, variable, N * 2, N * 2, cudaMemcpyDeviceToDevice));
	RK(cudaGraphMemcpyNodeGetParams(copy, &c));
	EXPECT(c.dstPtr.ptr == to && c.srcPtr.ptr == d && c.extent.width == N * 4);
	n = 4;
#if CUDART_VERSION >= 13000
	RK(cudaGraphNodeGetDependencies(back, deps, NULL, &n));
#else
	RK(cudaGraphNodeGetDependencies(back, deps, &n));
#endif
	EXPECT(n == 1 && deps[0] == symbol);
	RK(cudaGraphClone(&clone, g));
	RK(cudaGraphNodeFindInClone(&deps[0], kernel, clone));
	RK(cudaGraphInstantiateWithFlags(&e, g, 0));
	for (int i = 0; i < N; i++)
		from[i] = 1000u + (unsigned)i;
	RK(cudaGraphLaunch(e, s));
	for (int i = 0; i < N; i++)
		x[i] = 19;
	RK(cudaStreamSynchronize(s));
	e2e_same_u32("copied out", to, x, N);
	memcpy(x, from, N * 2);
	check("by hand", x);
	/* the exec alone, then another function in it */
	mul = 1;
	RK(cudaGraphExecKernelNodeSetParams(e, kernel, &p));
	m.value = 6;
	RK(cudaGraphExecMemsetNodeSetParams(e, set, &m));
	RK(cudaGraphNodeSetEnabled(e, copy, 0));
	RK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(e, back, d + N / 2, variable, N * 2, N * 2, cudaMemcpyDeviceToDevice));
	RK(cudaGraphLaunch(e, s));
	for (int i = 0; i < N; i++)
		x[i] = 10;
	memcpy(x + N / 2, from, N * 2);
	check("changed", x);
	p.func = (void *)twice;
	RK(cudaGraphExecKernelNodeSetParams(e, kernel, &p));
	RK(cudaGraphLaunch(e, s));
	for (int i = 0; i < N / 2; i++)
		x[i] = 12;
	check("another function", x);
	p.func = (void *)&x;
	RWANT(cudaErrorInvalidDeviceFunction, cudaGraphExecKernelNodeSetParams(e, kernel, &p));
	cudaGetLastError();
	RK(cudaGraphExecDestroy(e));
	RK(cudaGraphDestroy(clone));
	RK(cudaGraphDestroy(g));
}

static void errors(void)
{
	enum cudaStreamCaptureStatus status;
	cudaGraph_t g;
	void *p;

	RK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	RK(cudaStreamIsCapturing(s, &status));
	EXPECT_EQ(status, cudaStreamCaptureStatusActive);
	RWANT(cudaErrorStreamCaptureUnsupported, cudaMalloc(&p, 64));
	twice<<<1, N, 0, s>>>(d);
	EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
	RWANT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &g));
	EXPECT(!g);
	RK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	RWANT(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
	RWANT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &g));
	RWANT(cudaErrorIllegalState, cudaStreamEndCapture(s, &g));
	cudaGetLastError();
	RK(cudaDeviceSynchronize());
}

__global__ void countdown(cudaGraphConditionalHandle loop, unsigned *data)
{
	data[0] += 3;
	cudaGraphSetConditional(loop, --data[1]);
}

/* A loop whose end device code decides. */
static void conditional(void)
{
	struct cudaGraphNodeParams p = {};
	cudaGraphConditionalHandle loop;
	unsigned x[2] = { 0, 0 };
	cudaGraphNode_t node;
	cudaGraph_t g, body;
	cudaGraphExec_t e;

	RK(cudaGraphCreate(&g, 0));
	RK(cudaGraphConditionalHandleCreate(&loop, g, 1, cudaGraphCondAssignDefault));
	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = loop;
	p.conditional.type = cudaGraphCondTypeWhile;
	p.conditional.size = 1;
#if CUDART_VERSION >= 13000
	RK(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
#else
	RK(cudaGraphAddNode(&node, g, NULL, 0, &p));
#endif
	body = p.conditional.phGraph_out[0];
	RK(cudaStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
	countdown<<<1, 1, 0, s>>>(loop, d);
	LAUNCHED();
	RK(cudaStreamEndCapture(s, NULL));
	RK(cudaGraphInstantiateWithFlags(&e, g, 0));
	for (unsigned n = 1; n < 5; n++) {
		const unsigned in[2] = { 100, n };

		RK(cudaMemcpy(d, in, sizeof in, cudaMemcpyHostToDevice));
		RK(cudaGraphLaunch(e, s));
		RK(cudaStreamSynchronize(s));
		rt_download(x, d, 2);
		EXPECT_EQ(x[0], 100 + 3 * n);
		EXPECT_EQ(x[1], 0);
	}
	RK(cudaGraphExecDestroy(e));
	RK(cudaGraphDestroy(g));
}

static void refused(void)
{
	cudaGraphConditionalHandle loop;
	cudaGraph_t g;

	RK(cudaGraphCreate(&g, 0));
	RWANT(cudaErrorNotSupported, cudaGraphConditionalHandleCreate(&loop, g, 1, cudaGraphCondAssignDefault));
	RK(cudaGraphDestroy(g));
}

int main(void)
{
	rt_start("rt_graph");
	d = rt_alloc<unsigned>(N);
	RK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	RK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
	tokens();
	forked();
	by_hand();
	errors();
	if (getenv("E2E_ENGINE_CUDA"))          /* which refuses them by name (tests/cuda/nested.sh) */
		refused();
	else
		conditional();
	RK(cudaFree(d));
	return e2e_end("captured, updated, by hand");
}
