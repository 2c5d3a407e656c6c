/* SPDX-License-Identifier: MIT */
/*
 * Graphs through the driver API: captured in one stream and in several, built by hand, changed, cloned, nested, launched
 * again and again. A chain of kernels that do not commute says in which order everything ran.
 */
#include <pthread.h>

#include "drv.h"

E2E_PTX(misc);

#define N 64		/* elements */

static CUfunction affine, wait_flag, set_flag;
static CUdeviceptr d;
static CUstream s, s2;

/* data = data * mul + add, on the host */
static void step(uint32_t *x, uint32_t mul, uint32_t add)
{
	for (int i = 0; i < N; i++)
		x[i] = x[i] * mul + add;
}

static void put(CUstream st, CUdeviceptr p, uint32_t mul, uint32_t add)
{
	int n = N;

	LAUNCH(affine, 1, 32, 0, st, &p, &mul, &add, &n);
}

static void start(uint32_t *x)
{
	for (int i = 0; i < N; i++)
		x[i] = (uint32_t)i;
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyHtoD(d, x, N * 4));
}

static void check(const char *what, const uint32_t *want)
{
	uint32_t got[N];

	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(got, d, sizeof got));
	e2e_same_u32(what, got, want, N);
}

static size_t count(CUgraph g)
{
	size_t n = 0;

	CK(cuGraphGetNodes(g, NULL, &n));
	return n;
}

static CUgraphExec make(CUgraph g)
{
	CUgraphExec e;

	CK(cuGraphInstantiateWithFlags(&e, g, 0));
	return e;
}

/* Nothing runs while it is captured, parameters are those of the call, and each launch does it again. */
static void linear(void)
{
	uint32_t x[N], mul = 3, add = 1;
	CUstreamCaptureStatus status;
	int n = N;
	void *args[] = { &d, &mul, &add, &n };
	size_t ndeps;
	const CUgraphNode *deps;
	CUgraphNodeType type;
	unsigned long long id;
	CUgraph g, seen;
	CUgraphExec e;

	start(x);
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuStreamIsCapturing(s, &status));
	EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	for (int i = 0; i < 5; i++) {
		mul = 3 + 2 * (uint32_t)i;
		add = (uint32_t)i;
		CK(cuLaunchKernel(affine, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
	}
	mul = add = 99;
	CK(cuStreamGetCaptureInfo_v2(s, &status, (cuuint64_t *)&id, &seen, &deps, &ndeps));
	EXPECT_EQ(ndeps, 1);
	CK(cuGraphNodeGetType(deps[0], &type));
	EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
	CK(cuStreamEndCapture(s, &g));
	EXPECT(g == seen);
	CK(cuStreamIsCapturing(s, &status));
	EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
	check("nothing runs while capturing", x);
	EXPECT_EQ(count(g), 5);
	e = make(g);
	CK(cuGraphDestroy(g));
	for (int k = 0; k < 3; k++) {
		CK(cuGraphLaunch(e, s));
		put(s, d, 5, 7);		/* and in order with what else is in the stream */
		for (uint32_t i = 0; i < 5; i++)
			step(x, 3 + 2 * i, i);
		step(x, 5, 7);
	}
	check("captured chain", x);
	/* The same exec in another stream runs behind itself. */
	for (int k = 0; k < 20; k++) {
		CK(cuGraphLaunch(e, k & 1 ? s2 : s));
		for (uint32_t i = 0; i < 5; i++)
			step(x, 3 + 2 * i, i);
	}
	CK(cuGraphExecDestroy(e));		/* while it is on the way */
	CK(cuStreamSynchronize(s2));
	check("alternating streams", x);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(e, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(g));
}

/* A fork and a join through events: what is behind the join sees both branches. */
static void forked(void)
{
	CUdeviceptr b = drv_alloc(N * 4);
	uint32_t x[N], y[N], got[N];
	size_t n = 0;
	CUevent fork, join;
	CUgraph g;
	CUgraphExec e;

	CK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CK(cuEventCreate(&join, 0));
	start(x);
	memset(y, 0, sizeof y);
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	put(s, d, 2, 1);
	CK(cuEventRecord(fork, s));
	CK(cuStreamWaitEvent(s2, fork, 0));
	CK(cuMemcpyDtoDAsync(b, d, N * 4, s2));
	put(s2, b, 3, 5);
	put(s, d, 7, 2);
	CK(cuEventRecord(join, s2));
	CK(cuStreamWaitEvent(s, join, 0));
	put(s, d, 1, 10);
	CK(cuStreamEndCapture(s, &g));
	EXPECT_EQ(count(g), 5);
	CK(cuGraphGetEdges(g, NULL, NULL, NULL, &n));
	EXPECT_EQ(n, 5);
	CK(cuGraphGetRootNodes(g, NULL, &n));
	EXPECT_EQ(n, 1);
	e = make(g);
	for (int k = 0; k < 4; k++) {
		CK(cuGraphLaunch(e, s));
		step(x, 2, 1);
		memcpy(y, x, sizeof y);
		step(y, 3, 5);
		step(x, 7, 2);
		step(x, 1, 10);
	}
	check("origin", x);
	CK(cuMemcpyDtoH(got, b, sizeof got));
	e2e_same_u32("branch", got, y, N);
	/* that capture is over: as NVIDIA's driver 580 answers on an H100 */
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventQuery(join));
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventSynchronize(fork));
	CK(cuEventRecord(fork, s));		/* recorded otherwise: an event as before */
	CK(cuEventSynchronize(fork));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	CK(cuEventDestroy(fork));
	CK(cuEventDestroy(join));
	CK(cuMemFree(b));
}

static int host_calls;
static uint32_t *pageable;

static void CUDA_CB host_step(void *arg)
{
	host_calls++;
	for (int i = 0; i < N; i++)
		pageable[i] = pageable[i] * 2 + (uint32_t)(uintptr_t)arg;
}

/* Copies from and to ordinary memory happen when the graph comes to them, host functions between them. */
static void copies(void)
{
	uint32_t x[N], back[2][N], *pinned;
	CUevent mark;
	CUgraph g;
	CUgraphExec e;

	pageable = e2e_malloc(N * 4);
	CK(cuMemAllocHost((void **)&pinned, N * 4));
	CK(cuEventCreate(&mark, 0));
	start(x);
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuLaunchHostFunc(s, host_step, (void *)3));
	CK(cuMemcpyHtoDAsync(d, pageable, N * 4, s));
	put(s, d, 3, 1);
	CK(cuMemcpyDtoHAsync(pinned, d, N * 4, s));
	CK(cuMemcpyDtoHAsync(pageable, d, N * 4, s));
	CK(cuMemsetD32Async(d, 7, N / 2, s));
	CK(cuMemsetD8Async(d + N * 2, 0xff, N, s));
	CK(cuMemcpyDtoHAsync(back[0], d, N * 4, s));
	CK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)back[1], (CUdeviceptr)(uintptr_t)back[0], N * 4, s));
	CK(cuEventRecordWithFlags(mark, s, CU_EVENT_RECORD_EXTERNAL));
	CK(cuStreamEndCapture(s, &g));
	EXPECT_EQ(count(g), 10);
	e = make(g);
	CK(cuGraphDestroy(g));
	for (int i = 0; i < N; i++)
		pageable[i] = x[i] = (uint32_t)i;
	for (int k = 0; k < 3; k++) {
		CK(cuGraphLaunch(e, s));
		step(x, 2, 3);
		step(x, 3, 1);
	}
	CK(cuEventSynchronize(mark));
	EXPECT_EQ(host_calls, 3);
	e2e_same_u32("ordinary memory", pageable, x, N);
	e2e_same_u32("pinned memory", pinned, x, N);
	for (int i = 0; i < N / 2; i++)
		x[i] = 7;
	for (int i = N / 2; i < N / 2 + N / 4; i++)
		x[i] = 0xffffffff;
	e2e_same_u32("host to host", back[1], x, N / 2 + N / 4);
	CK(cuGraphLaunch(e, s));
	CK(cuGraphExecDestroy(e));		/* its staging places are in use */
	CK(cuStreamSynchronize(s));
	EXPECT_EQ(host_calls, 4);
	CK(cuEventDestroy(mark));
	CK(cuMemFreeHost(pinned));
	free(pageable);
}

/* By hand: nodes, edges, questions, and a clone. */
static void by_hand(void)
{
	uint32_t x[N], mul[3] = { 2, 3, 5 }, add[3] = { 1, 7, 4 };
	CUDA_KERNEL_NODE_PARAMS p = { .func = affine, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
				      .blockDimY = 1, .blockDimZ = 1 }, q;
	CUDA_MEMSET_NODE_PARAMS f = { .dst = d, .value = 6, .elementSize = 4, .width = N, .height = 1 }, f2;
	CUgraphNode k[3], set, empty, found, from[8], to[8], got[8];
	CUgraphNodeParams any;
	int n = N;
	CUgraph g, clone;
	CUgraphExec e, ce;
	size_t m;

	CK(cuGraphCreate(&g, 0));
	for (int i = 0; i < 3; i++) {
		void *args[] = { &d, &mul[i], &add[i], &n };

		p.kernelParams = args;
		CK(cuGraphAddKernelNode(&k[i], g, NULL, 0, &p));
	}
	CK(cuGraphAddMemsetNode(&set, g, NULL, 0, &f, NULL));
	CK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
	/* set, empty, 2, 0, 1 */
	/* of kernels also by programmatic edges, which order here as all do */
	CK(cuGraphAddDependencies(g, (CUgraphNode[]){ set, empty, k[2], k[0] }, (CUgraphNode[]){ empty, k[2], k[0], k[1] },
				  (CUgraphEdgeData[]){ { .type = 0 }, { .type = 0 }, { .from_port = 1, .type = 1 }, { .from_port = 2, .type = 1 } }, 4));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddDependencies(g, &k[1], &empty, &(CUgraphEdgeData){ .type = 9 }, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(g, &set, &empty, NULL, 1));	/* it is there */
	m = 8;
	CK(cuGraphGetEdges(g, from, to, NULL, &m));
	EXPECT_EQ(m, 4);
	m = 8;
	CK(cuGraphNodeGetDependencies(k[0], got, NULL, &m));
	EXPECT(m == 1 && got[0] == k[2] && !got[1]);
	m = 8;
	CK(cuGraphNodeGetDependentNodes(set, got, NULL, &m));
	EXPECT(m == 1 && got[0] == empty);
	CK(cuGraphKernelNodeGetParams(k[1], &q));
	EXPECT(q.func == affine && q.blockDimX == 32 && *(uint32_t *)q.kernelParams[1] == 3 && *(int *)q.kernelParams[3] == N);
	CK(cuGraphMemsetNodeGetParams(set, &f2));
	EXPECT(f2.value == 6 && f2.width == N);
	CK(cuGraphClone(&clone, g));
	CK(cuGraphNodeFindInClone(&found, k[1], clone));
	EXPECT(found && found != k[1]);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&found, k[1], g));
	e = make(g);
	ce = make(clone);
	/* What changes afterwards changes neither of them. */
	q.kernelParams = (void *[]){ &d, &mul[2], &add[2], &n };
	CK(cuGraphKernelNodeSetParams(k[1], &q));
	CK(cuGraphLaunch(e, s));
	for (int i = 0; i < N; i++)
		x[i] = 6;
	step(x, 5, 4);
	step(x, 2, 1);
	step(x, 3, 7);
	check("by hand", x);
	CK(cuGraphLaunch(ce, s));
	check("its clone", x);
	/* In the exec alone. */
	f.value = 9;
	CK(cuGraphExecMemsetNodeSetParams(e, set, &f, NULL));
	q.kernelParams = (void *[]){ &d, &mul[1], &add[0], &n };
	CK(cuGraphExecKernelNodeSetParams(e, k[2], &q));
	CK(cuGraphNodeSetEnabled(e, k[0], 0));
	CK(cuGraphLaunch(e, s));
	for (int i = 0; i < N; i++)
		x[i] = 9;
	step(x, 3, 1);
	step(x, 3, 7);
	check("exec changed", x);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphExecMemsetNodeSetParams(ce, k[0], &f, NULL));	/* no node of it */
	/* The general form, and a circle. */
	memset(&any, 0, sizeof any);
	any.type = CU_GRAPH_NODE_TYPE_MEMSET;
	any.memset.dst = d;
	any.memset.value = 1;
	any.memset.elementSize = 4;
	any.memset.width = N;
	any.memset.height = 1;
	CK(cuGraphAddNode(&found, g, &k[1], NULL, 1, &any));
	CK(cuGraphAddDependencies(g, &found, &set, NULL, 1));
	{
		CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
		CUgraphExec none;

		WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&none, g, &ip));
		EXPECT_EQ(ip.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
		EXPECT(ip.hErrNode_out != NULL);
	}
	CK(cuGraphRemoveDependencies(g, &found, &set, NULL, 1));
	CK(cuGraphDestroyNode(empty));
	EXPECT_EQ(count(g), 5);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphExecDestroy(ce));
	CK(cuGraphDestroy(clone));
	CK(cuGraphDestroy(g));
}

static CUgraph capture(uint32_t mul, uint32_t add, int kernels, int with_set)
{
	CUgraph g;

	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	if (with_set)
		CK(cuMemsetD32Async(d, mul, N, s));
	for (int i = 0; i < kernels; i++)
		put(s, d, mul + (uint32_t)i, add);
	CK(cuStreamEndCapture(s, &g));
	return g;
}

/* What llama.cpp does for each token: capture again, update, and make it anew where that fails. */
static void updates(void)
{
	CUgraphExecUpdateResultInfo info;
	uint32_t x[N];
	CUgraph g = capture(3, 1, 4, 0), longer, other;
	CUgraphExec e = make(g);

	start(x);
	for (uint32_t k = 0; k < 50; k++) {
		CK(cuGraphDestroy(g));
		g = capture(k, k + 1, 4, 0);
		CK(cuGraphExecUpdate(e, g, &info));
		EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
		CK(cuGraphLaunch(e, s));
		for (uint32_t i = 0; i < 4; i++)
			step(x, k + i, k + 1);
	}
	check("updated", x);
	longer = capture(1, 1, 5, 0);
	WANT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, longer, &info));
	EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	EXPECT(!info.errorNode && !info.errorFromNode);
	CK(cuGraphDestroy(longer));
	longer = capture(1, 1, 5, 1);                   /* their number comes before what they are */
	WANT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, longer, &info));
	EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	EXPECT(!info.errorNode);
	other = capture(1, 1, 3, 1);
	WANT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(e, other, &info));
	EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	EXPECT(info.errorNode != NULL);
	CK(cuGraphLaunch(e, s));		/* as it was */
	for (uint32_t i = 0; i < 4; i++)
		step(x, 49 + i, 50);
	check("after failed updates", x);
	CK(cuGraphDestroy(longer));
	CK(cuGraphDestroy(other));
	CK(cuGraphDestroy(g));
	CK(cuGraphExecDestroy(e));
}

/* A graph in a graph, by hand and by launching in a stream that captures. */
static void nested(void)
{
	uint32_t x[N];
	CUgraph inner = capture(3, 2, 2, 0), g, seen, outer;
	CUgraphExec ie = make(inner), e;
	CUgraphNode child, inside[2];
	CUgraphNodeType type;
	CUDA_KERNEL_NODE_PARAMS p;
	size_t n = 2;

	start(x);
	CK(cuGraphCreate(&g, 0));
	CK(cuGraphAddChildGraphNode(&child, g, NULL, 0, inner));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&child, g, NULL, 0, g));
	CK(cuGraphChildGraphNodeGetGraph(child, &seen));
	CK(cuGraphGetNodes(seen, inside, &n));
	EXPECT_EQ(n, 2);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(seen));
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	put(s, d, 2, 0);
	CK(cuGraphLaunch(ie, s));
	put(s, d, 1, 1);
	CK(cuStreamEndCapture(s, &outer));
	EXPECT_EQ(count(outer), 3);
	CK(cuGraphAddChildGraphNode(&child, g, &child, 1, outer));
	CK(cuGraphNodeGetType(child, &type));
	EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_GRAPH);
	e = make(g);
	CK(cuGraphLaunch(e, s));
	for (int k = 0; k < 2; k++) {
		if (k)
			step(x, 2, 0);
		step(x, 3, 2);
		step(x, 4, 2);
	}
	step(x, 1, 1);
	check("nested", x);
	/* A node inside, changed in the exec. */
	CK(cuGraphKernelNodeGetParams(inside[0], &p));
	*(uint32_t *)p.kernelParams[1] = 11;
	CK(cuGraphExecKernelNodeSetParams(e, inside[0], &p));
	CK(cuGraphLaunch(e, s));
	step(x, 11, 2);
	step(x, 4, 2);
	step(x, 2, 0);
	step(x, 3, 2);
	step(x, 4, 2);
	step(x, 1, 1);
	check("nested, changed", x);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphExecDestroy(ie));
	CK(cuGraphDestroy(g));
	CK(cuGraphDestroy(inner));
	CK(cuGraphDestroy(outer));
}

/* Captured into a graph that is there, behind a node of it; then beside what came first. */
static void to_graph(void)
{
	CUDA_MEMSET_NODE_PARAMS f = { .dst = d, .value = 6, .elementSize = 4, .width = N, .height = 1 };
	CUdeviceptr b = drv_alloc(N * 4);
	uint32_t x[N], y[N], got[N];
	CUgraph g, seen, end;
	CUgraphNode set;
	CUgraphExec e;
	size_t n = 0;

	memset(y, 0, sizeof y);
	CK(cuMemsetD32(b, 0, N));
	CK(cuGraphCreate(&g, 0));
	CK(cuGraphAddMemsetNode(&set, g, NULL, 0, &f, NULL));
	CK(cuStreamBeginCaptureToGraph(s, g, &set, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCaptureToGraph(s2, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	put(s, d, 2, 1);
	CK(cuStreamUpdateCaptureDependencies(s, &set, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	put(s, b, 3, 4);
	CK(cuStreamGetCaptureInfo(s, &(CUstreamCaptureStatus){ 0 }, NULL, &seen, NULL, NULL, &n));
	EXPECT(seen == g && n == 1);
	CK(cuStreamEndCapture(s, &end));
	EXPECT(end == g);
	EXPECT_EQ(count(g), 3);
	CK(cuGraphNodeGetDependentNodes(set, NULL, NULL, &n));
	EXPECT_EQ(n, 2);
	e = make(g);
	CK(cuGraphLaunch(e, s));
	CK(cuGraphLaunch(e, s));
	for (int i = 0; i < N; i++)
		x[i] = 13;
	step(y, 3, 4);
	step(y, 3, 4);
	check("behind a node", x);
	CK(cuMemcpyDtoH(got, b, sizeof got));
	e2e_same_u32("beside it", got, y, N);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	CK(cuMemFree(b));
}

/* More nodes than a stream has credits, many times: everything in order, and the queue goes round. */
static void big(void)
{
	uint32_t x[N];
	CUgraph g = capture(1, 1, 1000, 0);
	CUgraphExec e = make(g);

	CK(cuGraphDestroy(g));
	start(x);
	for (int k = 0; k < 8; k++) {
		CK(cuGraphLaunch(e, s));
		for (uint32_t i = 0; i < 1000; i++)
			step(x, 1 + i, 1);
	}
	check("a thousand nodes", x);
	CK(cuGraphExecDestroy(e));
}

/* Memory of the graph's own: allocated by a launch, left to the program. */
static void memory(void)
{
	CUdeviceptr p, q;
	uint32_t got[N], want[N];
	unsigned long long used;
	CUgraph g, c;
	CUgraphExec e, e2;

	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuMemAllocAsync(&p, N * 4, s));
	CK(cuMemAllocAsync(&q, N * 4, s));
	CK(cuMemsetD32Async(p, 5, N, s));
	CK(cuMemcpyDtoDAsync(q, p, N * 4, s));
	put(s, q, 2, 1);
	CK(cuMemFreeAsync(p, s));
	CK(cuStreamEndCapture(s, &g));
	EXPECT_EQ(count(g), 6);
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&c, g));
	e = make(g);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&e2, g, 0));
	CK(cuGraphLaunch(e, s));
	CK(cuMemcpyDtoHAsync(got, q, N * 4, s));
	CK(cuStreamSynchronize(s));
	for (int i = 0; i < N; i++)
		want[i] = 11;
	e2e_same_u32("allocated by the graph", got, want, N);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(e, s));		/* q is not freed */
	CK(cuMemFreeAsync(q, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(q, s));
	CK(cuGraphLaunch(e, s));
	CK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	EXPECT_EQ(used, N * 4);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	CK(cuMemFree(q));
	CK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
	EXPECT_EQ(used, 0);
}

static int destroyed;
static void CUDA_CB destroy_it(void *p) { *(int *)p += 1; }

static void objects(void)
{
	CUuserObject o;
	CUgraph g, c;

	CK(cuGraphCreate(&g, 0));
	CK(cuUserObjectCreate(&o, &destroyed, destroy_it, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CK(cuGraphClone(&c, g));
	CK(cuGraphDestroy(g));
	EXPECT_EQ(destroyed, 0);
	CK(cuGraphDestroy(c));
	EXPECT_EQ(destroyed, 1);
	WANT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(o, 1));
}

/* A graph that waits for a flag, and keeps what counts in *gone; its own or, inside, that of a child. */
static CUgraph keeps(CUdeviceptr flag, int *gone, int inside)
{
	CUDA_KERNEL_NODE_PARAMS p = { .func = wait_flag, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
	CUdeviceptr seen = flag + 4;
	void *args[] = { &flag, &seen };
	CUgraph g, outer;
	CUgraphNode n;
	CUuserObject o;

	CK(cuGraphCreate(&g, 0));
	p.kernelParams = args;
	CK(cuGraphAddKernelNode(&n, g, NULL, 0, &p));
	CK(cuUserObjectCreate(&o, gone, destroy_it, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	if (!inside)
		return g;
	CK(cuGraphCreate(&outer, 0));
	CK(cuGraphAddChildGraphNode(&n, outer, NULL, 0, g));
	CK(cuGraphDestroy(g));
	EXPECT_EQ(*gone, 0);
	return outer;
}

/* An exec has references of its own; what it lets go of while a launch is on the way goes when that is done. */
static void objects_of_exec(int inside)
{
	int first = 0, second = 0, none = 0;
	CUgraphExecUpdateResultInfo info;
	CUdeviceptr flag = drv_alloc(8);
	uint32_t one = 1;
	CUgraph a, b;
	CUgraphExec e;

	CK(cuMemsetD32(flag, 0, 2));
	a = keeps(flag, &first, inside);
	b = keeps(flag, &second, inside);
	e = make(a);
	CK(cuGraphDestroy(a));
	EXPECT_EQ(first, 0);
	CK(cuGraphLaunch(e, s));
	CK(cuGraphExecUpdate(e, b, &info));
	CK(cuGraphDestroy(b));
	CK(cuStreamSynchronize(s2));
	EXPECT_EQ(first, 0);                    /* that launch waits for the flag */
	LAUNCH(set_flag, 1, 1, 0, s2, &flag, &one);
	CK(cuStreamSynchronize(s));
	EXPECT_EQ(first, 1);
	EXPECT_EQ(second, 0);
	CK(cuMemsetD32(flag, 0, 2));
	CK(cuGraphLaunch(e, s));
	CK(cuGraphExecDestroy(e));
	CK(cuStreamSynchronize(s2));
	EXPECT_EQ(second, 0);
	LAUNCH(set_flag, 1, 1, 0, s2, &flag, &one);
	CK(cuStreamSynchronize(s));
	EXPECT_EQ(second, 1);
	/* nothing on the way: at once */
	a = keeps(flag, &none, inside);
	e = make(a);
	CK(cuGraphDestroy(a));
	EXPECT_EQ(none, 0);
	CK(cuGraphExecDestroy(e));
	EXPECT_EQ(none, 1);
	EXPECT_EQ(first + second, 2);
	CK(cuMemFree(flag));
}

/* Four threads, each with its own stream and graphs, in one context. */
static void *one_thread(void *arg)
{
	CUcontext ctx = arg;
	uint32_t x[N], got[N];
	CUdeviceptr mine;
	CUstream st;

	CK(cuCtxSetCurrent(ctx));
	mine = drv_alloc(N * 4);
	CK(cuStreamCreate(&st, CU_STREAM_NON_BLOCKING));
	memset(x, 0, sizeof x);
	CK(cuMemsetD32Async(mine, 0, N, st));
	for (uint32_t k = 0; k < 40; k++) {
		CUgraph g;
		CUgraphExec e;

		CK(cuStreamBeginCapture(st, CU_STREAM_CAPTURE_MODE_RELAXED));
		for (uint32_t i = 0; i < 30; i++)
			put(st, mine, 1 + i, k);
		CK(cuStreamEndCapture(st, &g));
		e = make(g);
		CK(cuGraphDestroy(g));
		CK(cuGraphLaunch(e, st));
		CK(cuGraphLaunch(e, st));
		CK(cuGraphExecDestroy(e));
		for (uint32_t i = 0; i < 60; i++)
			step(x, 1 + i % 30, k);
	}
	CK(cuStreamSynchronize(st));
	CK(cuMemcpyDtoHAsync(got, mine, sizeof got, st));
	CK(cuStreamSynchronize(st));
	e2e_same_u32("thread", got, x, N);
	CK(cuStreamDestroy(st));
	return NULL;
}

static void threads(CUcontext ctx)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, one_thread, ctx))
			e2e_skip("no thread");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* A launch does not wait for its stream: this graph ends when a later kernel has set the flag. */
static void asynchronous(void)
{
	CUdeviceptr flag = drv_alloc(8), seen = flag + 4;
	uint32_t one = 1, got = 0;
	CUgraph g;
	CUgraphExec e;

	CK(cuMemsetD32(flag, 0, 2));
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	LAUNCH(wait_flag, 1, 1, 0, s, &flag, &seen);
	CK(cuMemcpyDtoHAsync(&got, seen, 4, s));
	CK(cuStreamEndCapture(s, &g));
	e = make(g);
	CK(cuGraphLaunch(e, s));
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	LAUNCH(set_flag, 1, 1, 0, s2, &flag, &one);
	CK(cuStreamSynchronize(s));
	EXPECT_EQ(got, 1);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	CK(cuMemFree(flag));
}

static void dot(void)
{
	char path[] = "/tmp/vgpu-e2e-graph-XXXXXX", text[4096] = "";
	int fd = mkstemp(path);
	CUgraph g = capture(3, 1, 2, 1);
	FILE *f;

	if (fd < 0)
		return;
	close(fd);
	CK(cuGraphDebugDotPrint(g, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof text - 1, f)] = 0;
		fclose(f);
	}
	unlink(path);
	EXPECT(strstr(text, "digraph") && strstr(text, "affine") && strstr(text, "memset") && strstr(text, "->"));
	CK(cuGraphDestroy(g));
}

int main(void)
{
	CUcontext ctx = drv_start("graph");
	CUmodule mod = drv_module(ptx_misc), other;
	CUgraph g;
	CUgraphExec e;
	int n = N;
	uint32_t v = 1;

	affine = drv_kernel(mod, "affine");
	wait_flag = drv_kernel(mod, "wait_flag");
	set_flag = drv_kernel(mod, "set_flag");
	d = drv_alloc(N * 4);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	linear();
	forked();
	copies();
	by_hand();
	updates();
	nested();
	to_graph();
	big();
	memory();
	objects();
	objects_of_exec(0);
	objects_of_exec(1);
	asynchronous();
	dot();
	threads(ctx);
	/* A kernel that is gone. */
	other = drv_module(ptx_misc);
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	LAUNCH(drv_kernel(other, "fill"), 1, 32, 0, s, &d, &v, &n);
	CK(cuStreamEndCapture(s, &g));
	e = make(g);
	CK(cuGraphLaunch(e, s));
	CK(cuStreamSynchronize(s));
	CK(cuModuleUnload(other));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(e, s));
	/* The context goes with all that is left in it, a capture under way too. */
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CK(cuCtxDestroy(ctx));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	return e2e_end("captured, built, nested and updated graphs do what their calls would");
}
