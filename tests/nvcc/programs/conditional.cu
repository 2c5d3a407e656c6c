/* SPDX-License-Identifier: MIT */
/*
 * Conditional nodes by the runtime and by NVIDIA's headers, cudaGraphSetConditional as nvcc compiles it; execution contexts of 13.1.
 * Loops do what the same loop does on the host.
 */
#include <cuda_runtime.h>

#include "wrong.h"

/* Collatz: *x goes on; the loop while it is not 1, the branch by its parity */
__global__ void begin(cudaGraphConditionalHandle odd, const unsigned *x)
{
	cudaGraphSetConditional(odd, *x & 1);
}
__global__ void thrice(unsigned *x) { *x = 3 * *x + 1; }
__global__ void half(unsigned *x) { *x /= 2; }
__global__ void finish(cudaGraphConditionalHandle loop, const unsigned *x, unsigned *steps)
{
	++*steps;
	cudaGraphSetConditional(loop, *x != 1);
}

static cudaGraphNode_t conditional(cudaGraph_t g, cudaGraphNode_t *after, cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type,
				   unsigned size, cudaGraph_t *bodies)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t n;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	CUDA(cudaGraphAddNode(&n, g, after, nullptr, after ? 1 : 0, &p));
	std::copy(p.conditional.phGraph_out, p.conditional.phGraph_out + size, bodies);
	return n;
}

static void collatz()
{
	cudaGraphConditionalHandle loop, odd;
	cudaGraph_t g, body, branch[2], same;
	cudaGraphNode_t n;
	cudaGraphExec_t e;
	cudaStream_t s;
	unsigned *x;

	CUDA(cudaStreamCreate(&s));
	CUDA(cudaMalloc(&x, 8));
	CUDA(cudaGraphCreate(&g, 0));
	CUDA(cudaGraphConditionalHandleCreate(&loop, g, 1, cudaGraphCondAssignDefault));
	CUDA(cudaGraphConditionalHandleCreate(&odd, g));
	conditional(g, nullptr, loop, cudaGraphCondTypeWhile, 1, &body);
	CUDA(cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
	begin<<<1, 1, 0, s>>>(odd, x);
	{
		cudaStreamCaptureStatus status;
		const cudaGraphNode_t *deps;
		size_t count;
		cudaGraph_t in;

		CUDA(cudaStreamGetCaptureInfo(s, &status, nullptr, &in, &deps, nullptr, &count));
		WANT(in == body && count == 1);
		n = deps[0];
		n = conditional(body, &n, odd, cudaGraphCondTypeIf, 2, branch);
		CUDA(cudaStreamUpdateCaptureDependencies(s, &n, nullptr, 1, cudaStreamSetCaptureDependencies));
	}
	finish<<<1, 1, 0, s>>>(loop, x, x + 1);
	CUDA(cudaStreamEndCapture(s, &same));
	WANT(same == body);
	for (int i = 0; i < 2; i++) {
		CUDA(cudaStreamBeginCaptureToGraph(s, branch[i], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
		if (i == 0)
			thrice<<<1, 1, 0, s>>>(x);
		else
			half<<<1, 1, 0, s>>>(x);
		CUDA(cudaStreamEndCapture(s, &same));
	}
	CUDA(cudaGraphInstantiate(&e, g));
	for (unsigned first : { 2u, 7u, 27u, 97u }) {
		unsigned in[2] = { first, 0 }, out[2], steps = 0;

		for (unsigned v = first; v != 1; v = v & 1 ? 3 * v + 1 : v / 2)
			steps++;
		CUDA(cudaMemcpyAsync(x, in, 8, cudaMemcpyHostToDevice, s));
		CUDA(cudaGraphLaunch(e, s));
		CUDA(cudaMemcpyAsync(out, x, 8, cudaMemcpyDeviceToHost, s));
		CUDA(cudaStreamSynchronize(s));
		WANT(out[0] == 1 && out[1] == steps);
	}
	CUDA(cudaGraphExecDestroy(e));
	CUDA(cudaGraphDestroy(g));
	CUDA(cudaFree(x));
	CUDA(cudaStreamDestroy(s));
	done("collatz");
}

/* A SWITCH, and what it is called. */
static void names()
{
	cudaGraphConditionalHandle h;
	unsigned id[2], local;
	unsigned long long tools;
	cudaGraph_t g, in, bodies[3];
	cudaGraphNode_t n;
	cudaGraphNodeType type;
	cudaGraphExec_t e;

	CUDA(cudaGraphCreate(&g, 0));
	CUDA(cudaGraphConditionalHandleCreate_v2(&h, g, nullptr, 2, cudaGraphCondAssignDefault));
	n = conditional(g, nullptr, h, cudaGraphCondTypeSwitch, 3, bodies);
	CUDA(cudaGraphNodeGetType(n, &type));
	WANT(type == cudaGraphNodeTypeConditional);
	CUDA(cudaGraphGetId(g, &id[0]));
	CUDA(cudaGraphGetId(bodies[2], &id[1]));
	WANT(id[0] != id[1]);
	CUDA(cudaGraphNodeGetLocalId(n, &local));
	CUDA(cudaGraphNodeGetToolsId(n, &tools));
	CUDA(cudaGraphNodeGetContainingGraph(n, &in));
	WANT(in == g);
	CUDA(cudaGraphInstantiate(&e, g));
	CUDA(cudaGraphExecGetId(e, &id[0]));
	CUDA(cudaGraphExecDestroy(e));
	CUDA(cudaGraphDestroy(g));
	WANT(cudaGraphGetId(g, &id[0]) == cudaErrorInvalidValue);
	done("names");
}

__global__ void fill(int *p, int v) { p[threadIdx.x] = v; }

static void contexts()
{
	cudaDevSmResourceGroupParams groups[2] = { { 2, 0, 0, 0, {} }, { 0, 0, 0, 0, {} } };
	cudaExecutionContext_t ctx[2], primary, none = nullptr;
	cudaDevResource all, part[2], r;
	cudaDevResourceDesc_t desc;
	unsigned long long id[3];
	cudaStream_t s[2];
	cudaEvent_t e;
	int *p, got[64], device = -1;

	CUDA(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
	if (all.sm.smCount < 4) {
		printf("ok contexts (a device of %u multiprocessors)\n", all.sm.smCount);
		return;
	}
	CUDA(cudaDevSmResourceSplit(part, 2, &all, nullptr, 0, groups));
	CUDA(cudaDeviceGetExecutionCtx(&primary, 0));
	CUDA(cudaExecutionCtxGetId(primary, &id[2]));
	CUDA(cudaMalloc(&p, sizeof(got)));
	CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	for (int i = 0; i < 2; i++) {
		CUDA(cudaDevResourceGenerateDesc(&desc, &part[i], 1));
		WANT(cudaGreenCtxCreate(&ctx[i], desc, 0, 1) == cudaErrorInvalidValue);
		CUDA(cudaGreenCtxCreate(&ctx[i], desc, 0, 0));
		CUDA(cudaExecutionCtxGetId(ctx[i], &id[i]));
		CUDA(cudaExecutionCtxGetDevice(&device, ctx[i]));
		WANT(device == 0);
		CUDA(cudaExecutionCtxGetDevResource(ctx[i], &r, cudaDevResourceTypeSm));
		WANT(r.sm.smCount == (i ? all.sm.smCount - 2 : 2));
		CUDA(cudaExecutionCtxStreamCreate(&s[i], ctx[i], cudaStreamDefault, 0));
		CUDA(cudaStreamGetDevResource(s[i], &r, cudaDevResourceTypeSm));
		WANT(r.sm.smCount == (i ? all.sm.smCount - 2 : 2));
	}
	WANT(id[0] != id[1] && id[0] != id[2] && id[1] != id[2]);
	fill<<<1, 64, 0, s[0]>>>(p, 1);
	CUDA(cudaExecutionCtxRecordEvent(ctx[0], e));
	CUDA(cudaExecutionCtxWaitEvent(ctx[1], e));
	fill<<<1, 64, 0, s[1]>>>(p, 2);
	CUDA(cudaExecutionCtxSynchronize(ctx[1]));
	CUDA(cudaMemcpy(got, p, sizeof(got), cudaMemcpyDeviceToHost));
	WANT(got[0] == 2 && got[63] == 2);
	WANT(cudaExecutionCtxSynchronize(none) == cudaErrorInvalidValue);
	WANT(cudaGetLastError() == cudaErrorInvalidValue);
	for (int i = 0; i < 2; i++) {
		CUDA(cudaExecutionCtxDestroy(ctx[i]));
		WANT(cudaStreamSynchronize(s[i]) == cudaErrorStreamDetached);
		CUDA(cudaStreamDestroy(s[i]));
	}
	CUDA(cudaEventDestroy(e));
	CUDA(cudaFree(p));
	done("contexts");
}

int main()
{
	collatz();
	names();
	contexts();
	return failures != 0;
}
