/* SPDX-License-Identifier: MIT */
/*
 * Conditional nodes (IF, ELSE, WHILE, SWITCH), nested and captured; nodes of waits and writes of words; what graphs and nodes are
 * called; children that are moved. The kernels are as nvcc writes them: cudaGraphSetConditional is .extern.
 */
#include <pthread.h>

#include "drv.h"

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".extern .func cudaGraphSetConditional\n(\n.param .b64 p0,\n.param .b32 p1\n)\n;\n"
	/* n = --*counter; the handle gets n; *sum += add */
	".visible .entry down(.param .u64 handle, .param .u64 counter, .param .u64 sum, .param .u32 add)\n{\n"
	".reg .b64 %rd<4>;\n.reg .b32 %r<6>;\n"
	"ld.param.u64 %rd1, [handle];\nld.param.u64 %rd2, [counter];\nld.param.u64 %rd3, [sum];\nld.param.u32 %r1, [add];\n"
	"ld.global.u32 %r2, [%rd2];\nsub.u32 %r2, %r2, 1;\nst.global.u32 [%rd2], %r2;\n"
	"ld.global.u32 %r3, [%rd3];\nadd.u32 %r3, %r3, %r1;\nst.global.u32 [%rd3], %r3;\n"
	"{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\n.param .b32 param1;\nst.param.b32 [param1+0], %r2;\n"
	"call.uni\ncudaGraphSetConditional,\n(\nparam0,\nparam1\n);\n}\nret;\n}\n"
	/* the handle gets *from */
	".visible .entry choose(.param .u64 handle, .param .u64 from)\n{\n"
	".reg .b64 %rd<4>;\n.reg .b32 %r<6>;\n"
	"ld.param.u64 %rd1, [handle];\nld.param.u64 %rd2, [from];\nld.global.u32 %r1, [%rd2];\n"
	"{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\n.param .b32 param1;\nst.param.b32 [param1+0], %r1;\n"
	"call.uni\ncudaGraphSetConditional,\n(\nparam0,\nparam1\n);\n}\nret;\n}\n"
	/* *sum = *sum * 10 + add */
	".visible .entry note(.param .u64 sum, .param .u32 add)\n{\n"
	".reg .b64 %rd<4>;\n.reg .b32 %r<6>;\n"
	"ld.param.u64 %rd1, [sum];\nld.param.u32 %r1, [add];\nld.global.u32 %r2, [%rd1];\nmad.lo.u32 %r2, %r2, 10, %r1;\n"
	"st.global.u32 [%rd1], %r2;\nret;\n}\n";

static CUfunction down, choose, note;
static CUcontext ctx;
static CUdeviceptr words;       /* 0: counter, 1: sum, 2: what is chosen */
static CUstream s;

static CUdeviceptr at(int i) { return words + 4 * (CUdeviceptr)i; }

static void put(int i, uint32_t v) { CK(cuMemcpyHtoD(at(i), &v, 4)); }

static uint32_t get(int i)
{
	uint32_t v;

	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(&v, at(i), 4));
	return v;
}

static CUgraphNode kernel(CUgraph g, CUgraphNode after, CUfunction f, void **args)
{
	CUDA_KERNEL_NODE_PARAMS p = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
				      .kernelParams = args };
	CUgraphNode n;

	CK(cuGraphAddKernelNode(&n, g, &after, after != NULL, &p));
	return n;
}

static CUgraphNode noted(CUgraph g, CUgraphNode after, uint32_t digit)
{
	CUdeviceptr sum = at(1);
	void *args[] = { &sum, &digit };

	return kernel(g, after, note, args);
}

static CUgraphNode choosing(CUgraph g, CUgraphNode after, CUgraphConditionalHandle h)
{
	CUdeviceptr from = at(2);
	void *args[] = { &h, &from };

	return kernel(g, after, choose, args);
}

static CUgraphNode conditional(CUgraph g, CUgraphNode after, CUgraphConditionalHandle h, CUgraphConditionalNodeType type, unsigned size,
			       CUgraph *bodies)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphNodeType t;
	CUgraphNode n;

	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	p.conditional.ctx = ctx;
	CK(cuGraphAddNode(&n, g, &after, NULL, after != NULL, &p));
	memcpy(bodies, p.conditional.phGraph_out, size * sizeof *bodies);
	CK(cuGraphNodeGetType(n, &t));
	EXPECT(t == CU_GRAPH_NODE_TYPE_CONDITIONAL);
	return n;
}

static CUgraphConditionalHandle handle(CUgraph g, unsigned value, unsigned flags)
{
	CUgraphConditionalHandle h = 0;

	CK(cuGraphConditionalHandleCreate(&h, g, ctx, value, flags));
	return h;
}

static CUgraphExec ready(CUgraph g)
{
	CUgraphExec e;

	CK(cuGraphInstantiate(&e, g, 0));
	return e;
}

/* IF with and without ELSE, SWITCH: the note says which body ran, between what stands before and behind it. */
static void choices(void)
{
	for (int kind = 0; kind < 3; kind++) {
		CUgraphConditionalNodeType type = kind < 2 ? CU_GRAPH_COND_TYPE_IF : CU_GRAPH_COND_TYPE_SWITCH;
		unsigned size = kind < 2 ? 1 + (unsigned)kind : 4;
		CUgraph g, body[4];
		CUgraphNode n;
		CUgraphExec e;
		CUgraphConditionalHandle h;

		CK(cuGraphCreate(&g, 0));
		h = handle(g, 0, 0);
		n = noted(g, NULL, 1);
		n = choosing(g, n, h);
		n = conditional(g, n, h, type, size, body);
		for (unsigned i = 0; i < size; i++)
			noted(body[i], NULL, 5 + i);
		noted(g, n, 9);
		e = ready(g);
		for (uint32_t v = 0; v < 6; v++) {
			uint32_t which = kind < 2 ? (v ? 0 : 1) : v;

			put(1, 0);
			put(2, v);
			CK(cuGraphLaunch(e, s));
			EXPECT_EQ(get(1), which < size ? 109 + 10 * (5 + which) : 19);
		}
		/* an exec lives on without its graph */
		CK(cuGraphDestroy(g));
		put(1, 0);
		put(2, 0);
		CK(cuGraphLaunch(e, s));
		CK(cuGraphExecDestroy(e));      /* while it may be running */
		EXPECT_EQ(get(1), kind == 0 ? 19 : kind == 1 ? 169 : 159);
	}
}

/* Loops with the default that each launch begins with, in turn on two streams; a loop that does not run. */
static void loops(void)
{
	CUdeviceptr counter = at(0), sum = at(1);
	uint32_t add = 7;
	CUgraphConditionalHandle h;
	CUgraph g, body;
	CUgraphExec e;
	CUstream t;

	CK(cuStreamCreate(&t, CU_STREAM_DEFAULT));
	CK(cuGraphCreate(&g, 0));
	h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	{
		void *args[] = { &h, &counter, &sum, &add };

		kernel(body, NULL, down, args);
	}
	e = ready(g);
	put(1, 0);
	for (uint32_t n = 1; n < 40; n += 9) {
		put(0, n);
		CK(cuGraphLaunch(e, n & 2 ? s : t));
		CK(cuMemsetD32Async(at(3), n, 1, n & 2 ? s : t));      /* behind it */
		CK(cuCtxSynchronize());
		EXPECT_EQ(get(0), 0);
		EXPECT_EQ(get(3), n);
	}
	EXPECT_EQ(get(1), 7 * (1 + 10 + 19 + 28 + 37));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	/* without the default the value of before is still there: 0, so nothing runs */
	CK(cuGraphCreate(&g, 0));
	h = handle(g, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
	conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	noted(body, NULL, 1);
	e = ready(g);
	put(1, 3);
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 3);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	CK(cuStreamDestroy(t));
}

/* A loop with a choice in it, whose bodies are captured, one with a copy of ordinary memory. */
static void nested(void)
{
	CUdeviceptr counter = at(0), sum = at(1);
	static uint32_t result;
	CUgraphConditionalHandle loop, odd;
	CUgraph g, body, inner[2], same;
	CUgraphNode n;
	CUgraphExec e;

	CK(cuGraphCreate(&g, 0));
	loop = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	odd = handle(g, 0, 0);
	conditional(g, NULL, loop, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	{
		uint32_t none = 0;
		void *args[] = { &loop, &counter, &sum, &none };

		n = kernel(body, NULL, down, args);
	}
	n = choosing(body, n, odd);
	conditional(body, n, odd, CU_GRAPH_COND_TYPE_IF, 2, inner);
	for (int i = 0; i < 2; i++) {
		CK(cuStreamBeginCaptureToGraph(s, inner[i], NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
		{
			uint32_t digit = 1 + i;
			void *args[] = { &sum, &digit };

			CK(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
		}
		CK(cuMemsetD32Async(at(2), (unsigned)i, 1, s));         /* the other one next */
		CK(cuMemcpyDtoHAsync(&result, sum, 4, s));
		CK(cuStreamEndCapture(s, i ? NULL : &same));    /* it is known */
		EXPECT(same == inner[0]);
	}
	e = ready(g);
	for (int round = 0; round < 3; round++) {
		put(0, 6);
		put(1, 0);
		put(2, 1);
		CK(cuGraphLaunch(e, s));
		EXPECT_EQ(get(1), 121212);
		EXPECT_EQ(result, 121212);
	}
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
}

/* What has conditions: one exec at a time, no clone, no child; wrong handles, sizes and contents; updates take the new handle along. */
static void rules(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphExecUpdateResultInfo info;
	CUgraphConditionalHandle h;
	CUgraph g, other, body, b2;
	CUgraphNode n, m;
	CUgraphExec e, e2;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphCreate(&other, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(NULL, g, ctx, 0, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&h, g, ctx, 0, 2));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate(&h, (CUgraph)&h, ctx, 0, 0));
	h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	p.conditional.handle = h;
	p.conditional.ctx = ctx;
	for (int i = 0; i < 5; i++) {
		static const struct { CUgraphConditionalNodeType type; unsigned size; } bad[] = {
			{ CU_GRAPH_COND_TYPE_IF, 0 }, { CU_GRAPH_COND_TYPE_IF, 3 }, { CU_GRAPH_COND_TYPE_WHILE, 2 },
			{ CU_GRAPH_COND_TYPE_SWITCH, 0 }, { (CUgraphConditionalNodeType)3, 1 } };

		p.conditional.type = bad[i].type;
		p.conditional.size = bad[i].size;
		WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&n, g, NULL, NULL, 0, &p));
	}
	p.conditional.type = CU_GRAPH_COND_TYPE_IF;
	p.conditional.size = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&n, other, NULL, NULL, 0, &p));    /* another graph's */
	ip.flags = 0;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&e, g, &ip));
	EXPECT(ip.result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
	n = conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&m, g, NULL, NULL, 0, &p));        /* it has its node */
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(body));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(n, &p));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&b2, g));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddChildGraphNode(&m, other, NULL, 0, g));
	noted(body, NULL, 4);
	e = ready(g);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&e2, g, 0));
	/* a graph of the same form, with a handle of its own */
	h = handle(other, 0, CU_GRAPH_COND_ASSIGN_DEFAULT);
	conditional(other, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &b2);
	noted(b2, NULL, 8);
	put(1, 0);
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 4);
	CK(cuGraphExecUpdate(e, other, &info));
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 4);           /* its default is 0 */
	CK(cuGraphExecDestroy(e));
	/* no host function in a body, no memory */
	{
		CUDA_HOST_NODE_PARAMS hp = { .fn = (CUhostFn)(uintptr_t)&rules };
		CUDA_MEM_ALLOC_NODE_PARAMS ap = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
						  .bytesize = 64 };

		WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddMemAllocNode(&m, b2, NULL, 0, &ap));
		CK(cuGraphAddHostNode(&m, b2, NULL, 0, &hp));
		ip.flags = 0;
		WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&e, other, &ip));
		EXPECT(ip.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE && ip.hErrNode_out == m);
	}
	CK(cuGraphDestroy(g));
	CK(cuGraphDestroy(other));
}

static void batches(void)
{
	CUstreamBatchMemOpParams op[3] = { { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32 } };
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .ctx = ctx, .count = 2, .paramArray = op }, back;
	CUgraphNode n, list[2];
	size_t two = 2;
	CUgraph g;
	CUgraphExec e;

	put(0, 5);
	put(1, 1);
	op[0].waitValue.address = at(0);
	op[0].waitValue.value = 5;
	op[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	op[1] = (CUstreamBatchMemOpParams){ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at(1), .value = 77 } };
	CK(cuGraphCreate(&g, 0));
	p.flags = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
	p.flags = 0;
	op[1].writeValue.address = at(1) + 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
	op[1].writeValue.address = at(1);
	CK(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p));
	CK(cuGraphBatchMemOpNodeGetParams(n, &back));
	EXPECT(back.count == 2 && back.ctx == ctx && back.paramArray[1].writeValue.value == 77 && back.paramArray != op);
	e = ready(g);
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 77);
	op[1].writeValue.value = 78;
	CK(cuGraphExecBatchMemOpNodeSetParams(e, n, &p));
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 78);
	op[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(e, n, &p));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	/* captured: one node of all, and nothing of a batch with a wrong one in it */
	op[1] = (CUstreamBatchMemOpParams){ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at(1), .value = 79 } };
	op[2] = (CUstreamBatchMemOpParams){ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = at(1) + 2, .value = 80 } };
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(s, 3, op, 0));
	EXPECT_EQ(get(1), 78);
	CK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CK(cuStreamBatchMemOp(s, 2, op, 0));
	CK(cuStreamWriteValue32(s, at(2), 81, 0));
	CK(cuStreamEndCapture(s, &g));
	CK(cuGraphGetNodes(g, list, &two));
	EXPECT(two == 2);
	CK(cuGraphBatchMemOpNodeGetParams(list[0], &back));
	EXPECT(back.count == 2 && back.paramArray[1].writeValue.value == 79);
	e = ready(g);
	CK(cuGraphLaunch(e, s));
	EXPECT_EQ(get(1), 79);
	EXPECT_EQ(get(2), 81);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
}

static void names(void)
{
	unsigned id[3], local[3];
	unsigned long long tools[3];
	CUgraphNode n[3];
	CUgraph g, h, in;
	CUgraphExec e, f;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphCreate(&h, 0));
	CK(cuGraphGetId(g, &id[0]));
	CK(cuGraphGetId(h, &id[1]));
	EXPECT(id[0] != id[1]);
	for (int i = 0; i < 3; i++) {
		CK(cuGraphAddEmptyNode(&n[i], i < 2 ? g : h, NULL, 0));
		CK(cuGraphNodeGetLocalId(n[i], &local[i]));
		CK(cuGraphNodeGetToolsId(n[i], &tools[i]));
		CK(cuGraphNodeGetContainingGraph(n[i], &in));
		EXPECT(in == (i < 2 ? g : h));
	}
	EXPECT(local[0] != local[1] && tools[0] != tools[1] && tools[0] != tools[2] && tools[1] != tools[2]);
	/* a node's stays when others go */
	CK(cuGraphDestroyNode(n[0]));
	CK(cuGraphNodeGetLocalId(n[1], &local[2]));
	EXPECT(local[2] == local[1]);
	CK(cuGraphAddEmptyNode(&n[0], g, NULL, 0));
	CK(cuGraphNodeGetLocalId(n[0], &local[0]));
	EXPECT(local[0] != local[1]);
	e = ready(g);
	f = ready(g);
	CK(cuGraphExecGetId(e, &id[0]));
	CK(cuGraphExecGetId(f, &id[1]));
	EXPECT(id[0] != id[1]);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphGetId(g, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphExecGetId((CUgraphExec)g, id));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetContainingGraph((CUgraphNode)g, &in));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphExecDestroy(f));
	CK(cuGraphDestroy(g));
	CK(cuGraphDestroy(h));
}

/* A child that is moved keeps its handle and its nodes; with memory of its own. */
static void moved(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS ap = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
					  .bytesize = 4096 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	CUgraphNode n, a, m;
	CUgraph g, child, back;
	CUgraphExec e;

	CK(cuGraphCreate(&g, 0));
	CK(cuGraphCreate(&child, 0));
	CK(cuGraphAddMemAllocNode(&a, child, NULL, 0, &ap));
	n = noted(child, a, 3);
	CK(cuGraphAddMemFreeNode(&m, child, &n, 1, ap.dptr));
	p.graph.graph = child;
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&m, g, NULL, NULL, 0, &p));
	p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&m, child, NULL, NULL, 0, &p));    /* into itself */
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&m, g, &n, NULL, 1, &p));          /* behind another graph's: still ours */
	CK(cuGraphAddNode(&m, g, NULL, NULL, 0, &p));
	CK(cuGraphChildGraphNodeGetGraph(m, &back));
	EXPECT(back == child);
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(child));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&back, g));
	noted(g, m, 4);
	e = ready(g);
	for (int i = 0; i < 2; i++) {
		put(1, 0);
		CK(cuGraphLaunch(e, s));
		EXPECT_EQ(get(1), 34);
	}
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(child));
}

/* Several threads, each with a loop of its own, in the legacy stream and in others, with host functions in between. */
static void CUDA_CB count_up(void *n) { __atomic_add_fetch((int *)n, 1, __ATOMIC_RELAXED); }

static void *looping(void *arg)
{
	int me = (int)(uintptr_t)arg, seen = 0;
	CUdeviceptr counter, sum;
	CUgraphConditionalHandle h;
	uint32_t add = 1, got;
	CUgraph g, body;
	CUgraphExec e;
	CUstream t = NULL;

	CK(cuCtxSetCurrent(ctx));
	counter = drv_alloc(64);
	sum = counter + 4;
	CK(cuMemsetD32(counter, 0, 16));
	CK(cuStreamSynchronize(NULL));
	if (me)
		CK(cuStreamCreate(&t, me & 1 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
	CK(cuGraphCreate(&g, 0));
	CK(cuGraphConditionalHandleCreate(&h, g, ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	{
		void *args[] = { &h, &counter, &sum, &add };

		kernel(body, NULL, down, args);
	}
	e = ready(g);
	for (int r = 0; r < 8; r++) {
		CK(cuMemsetD32Async(counter, 5, 1, t));
		CK(cuLaunchHostFunc(t, count_up, &seen));
		CK(cuGraphLaunch(e, t));
		CK(cuLaunchHostFunc(t, count_up, &seen));
	}
	CK(cuStreamSynchronize(t));
	CK(cuMemcpyDtoH(&got, sum, 4));
	EXPECT_EQ(got, 40);
	EXPECT_EQ(seen, 16);
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	if (t)
		CK(cuStreamDestroy(t));
	CK(cuMemFree(counter));
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, looping, (void *)i))
			e2e_fail("no thread");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* A loop without an end ends with its context. */
static void endless(void)
{
	CUgraphConditionalHandle h;
	CUcontext mine, was = ctx;
	CUgraph g, body;
	CUgraphExec e;
	CUstream t;

	CK(cuCtxCreate_v2(&mine, 0, 0));
	ctx = mine;
	CK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CK(cuGraphCreate(&g, 0));
	h = handle(g, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
	conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
	e = ready(g);
	CK(cuGraphLaunch(e, t));
	e2e_sleep_ms(20);
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(t));
	CK(cuCtxDestroy(mine));
	CK(cuGraphExecDestroy(e));
	CK(cuGraphDestroy(g));
	ctx = was;
	CK(cuCtxSetCurrent(ctx));
}

int main(void)
{
	CUmodule mod;

	ctx = drv_start("graph_cond");
	CK(cuModuleLoadData(&mod, ptx));
	down = drv_kernel(mod, "down");
	choose = drv_kernel(mod, "choose");
	note = drv_kernel(mod, "note");
	words = drv_alloc(64);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	choices();
	loops();
	nested();
	rules();
	batches();
	names();
	moved();
	threads();
	endless();
	CK(cuMemFree(words));
	CK(cuStreamDestroy(s));
	CK(cuCtxDestroy(ctx));
	return e2e_end("conditional nodes, memory operations, names");
}
