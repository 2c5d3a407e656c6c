/* SPDX-License-Identifier: MIT */
/* The driver probe: graphs, their nodes and edges, what is made of them. */
#include "driver.h"

static CUfunction nop, params, add;
static CUmodule m;
static CUdeviceptr p;
static CUgraph g;
static CUevent e, nt;

static void CUDA_CB host_fn(void *user)
{
	if (user)
		++*(int *)user;
}

static void set_up(void)
{
	start();
	m = module();
	nop = function(m, "nop"), params = function(m, "params"), add = function(m, "add_one");
	p = alloc(4096);
	cuEventCreate(&e, 0);
	cuEventCreate(&nt, CU_EVENT_DISABLE_TIMING);
	cuGraphCreate(&g, 0);
}

static CUgraphNode empty(CUgraph in, CUgraphNode after)
{
	CUgraphNode n = NULL;

	cuGraphAddEmptyNode(&n, in, after ? &after : NULL, after ? 1 : 0);
	return n;
}

GROUP(graphs)
{
	CUgraph c = NULL, child = NULL;
	CUgraphNode a, b, d, n = NULL, list[8];
	size_t z = 7;
	CUgraphNodeType t = 77;
	unsigned int id = 77;
	CUgraphExec ex = NULL;
	char path[] = "/tmp/vgpu-probe-XXXXXX";

	set_up();
	R(cuGraphCreate(NULL, 0));
	R(cuGraphCreate(&c, 1));
	R(cuGraphCreate(&c, 0));
	RV(cuGraphGetNodes(c, NULL, &z), "%zu", z);
	R(cuGraphGetNodes(c, NULL, NULL));
	R(cuGraphGetNodes(NULL, NULL, &z));
	a = empty(g, NULL);
	b = empty(g, a);
	d = empty(g, b);
	RV(cuGraphGetNodes(g, NULL, &z), "%zu", z);
	z = 2;
	RV(cuGraphGetNodes(g, list, &z), "%zu, in order %d", z, list[0] == a && list[1] == b);
	z = 8;
	memset(list, 0xff, sizeof list);
	RV(cuGraphGetNodes(g, list, &z), "%zu, the rest %s", z, list[5] ? "untouched" : "null");
	z = 8;
	RV(cuGraphGetRootNodes(g, list, &z), "%zu", z);
	R(cuGraphGetRootNodes(g, NULL, NULL));
	RV(cuGraphGetEdges(g, NULL, NULL, &z), "%zu", z);
	R(cuGraphGetEdges(g, list, NULL, &z));
	R(cuGraphGetEdges(g, NULL, NULL, NULL));
	RV(cuGraphNodeGetDependencies(b, NULL, &z), "%zu", z);
	RV(cuGraphNodeGetDependentNodes(b, NULL, &z), "%zu", z);
	RV(cuGraphNodeGetDependencies(a, NULL, &z), "%zu", z);
	R(cuGraphNodeGetDependencies(a, NULL, NULL));
	R(cuGraphNodeGetDependencies(NULL, NULL, &z));
	RV(cuGraphNodeGetType(a, &t), "%d", t);
	R(cuGraphNodeGetType(a, NULL));
	R(cuGraphNodeGetType(NULL, &t));
	tag("dependencies");
	R(cuGraphAddDependencies(g, &a, &b, 1));
	R(cuGraphAddDependencies(g, &a, &d, 1));
	R(cuGraphAddDependencies(g, &a, &d, 1));
	R(cuGraphAddDependencies(g, &d, &a, 1));
	R(cuGraphAddDependencies(g, &a, &a, 1));
	R(cuGraphAddDependencies(g, NULL, NULL, 0));
	R(cuGraphAddDependencies(g, NULL, NULL, 1));
	R(cuGraphAddDependencies(NULL, &a, &b, 1));
	n = empty(c, NULL);
	R(cuGraphAddDependencies(g, &a, &n, 1));
	R(cuGraphAddDependencies(c, &a, &b, 1));
	R(cuGraphInstantiateWithFlags(&ex, g, 0));
	R(cuGraphRemoveDependencies(g, &a, &d, 1));
	R(cuGraphRemoveDependencies(g, &a, &d, 1));
	R(cuGraphRemoveDependencies(g, &d, &a, 1));
	R(cuGraphRemoveDependencies(g, NULL, NULL, 0));
	CUgraphNode two[2] = { a, a }, to[2] = { d, d };
	R(cuGraphAddDependencies(g, two, to, 2));
	RV(cuGraphGetEdges(g, NULL, NULL, &z), "%zu", z);
	tag("nodes with dependencies");
	R(cuGraphAddEmptyNode(&n, g, two, 2));
	R(cuGraphAddEmptyNode(&n, g, NULL, 1));
	R(cuGraphAddEmptyNode(&n, g, two, 0));
	R(cuGraphAddEmptyNode(NULL, g, NULL, 0));
	R(cuGraphAddEmptyNode(&n, NULL, NULL, 0));
	R(cuGraphAddEmptyNode(&n, c, &a, 1));
	tag("clone");
	R(cuGraphClone(&child, g));
	R(cuGraphClone(NULL, g));
	R(cuGraphClone(&child, NULL));
	RV(cuGraphNodeFindInClone(&n, a, child), "differs %d", n != a);
	R(cuGraphNodeFindInClone(&n, a, c));
	R(cuGraphNodeFindInClone(&n, n, child));
	R(cuGraphNodeFindInClone(NULL, a, child));
	R(cuGraphDestroyNode(a));
	RV(cuGraphGetEdges(g, NULL, NULL, &z), "%zu", z);
	R(cuGraphNodeFindInClone(&n, b, child));
	R(cuGraphDestroyNode(NULL));
	tag("child");
	R(cuGraphAddChildGraphNode(&n, g, NULL, 0, c));
	RV(cuGraphChildGraphNodeGetGraph(n, &child), "another %d", child != c);
	R(cuGraphChildGraphNodeGetGraph(n, NULL));
	R(cuGraphChildGraphNodeGetGraph(b, &child));
	R(cuGraphDestroy(child));
	R(cuGraphAddChildGraphNode(&n, g, NULL, 0, NULL));
	R(cuGraphAddChildGraphNode(&n, g, NULL, 0, g));
	R(cuGraphAddChildGraphNode(NULL, g, NULL, 0, c));
	tag("ids");
	D(cuGraphGetId, (CUgraph, unsigned int *), (g, &id));
	D(cuGraphNodeGetLocalId, (CUgraphNode, unsigned int *), (b, &id));
	D(cuGraphNodeGetContainingGraph, (CUgraphNode, CUgraph *), (b, &child));
	tag("dot");
	close(mkstemp(path));
	R(cuGraphDebugDotPrint(g, path, 0));
	R(cuGraphDebugDotPrint(g, path, 0xffffffff));
	R(cuGraphDebugDotPrint(g, NULL, 0));
	R(cuGraphDebugDotPrint(NULL, path, 0));
	R(cuGraphDebugDotPrint(g, "/nonexistent/x", 0));
	unlink(path);
	tag("end");
	R(cuGraphDestroy(c));
	R(cuGraphDestroy(NULL));
	R(cuGraphDestroy(g));
	R(cuGraphExecDestroy(ex));
	R(cuGraphExecDestroy(NULL));
	R(cuGraphDestroy(g));
	R(cuGraphExecDestroy(ex));
}

GROUP(graph_nodes)
{
	CUgraphNode n = NULL, k = NULL, h = NULL, ms = NULL, mc = NULL, er = NULL, ew = NULL;
	unsigned char buf[64] = { 0 };
	unsigned long long a8 = 0;
	void *ps[4] = { buf, &a8, buf, buf };
	CUDA_KERNEL_NODE_PARAMS kp = { .func = nop, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 }, ko;
	CUDA_MEMSET_NODE_PARAMS mp, mo;
	CUDA_HOST_NODE_PARAMS hp = { host_fn, NULL }, ho;
	CUDA_MEMCPY3D cp, co;
	CUevent ev = NULL;
	CUcontext c = NULL;
	CUlaunchAttributeValue v;
	CUgraphExec ex = NULL;
	static char host[4096];

	set_up();
	cuCtxGetCurrent(&c);
	kp.func = nop;
	static const struct { unsigned int g[3], b[3], s; } t[] = { { { 1, 1, 1 }, { 1, 1, 1 }, 0 }, { { 0, 1, 1 }, { 1, 1, 1 }, 0 }, { { 1, 1, 1 }, { 0, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1025, 1, 1 }, 0 },
		{ { 1, 1, 1 }, { 1, 1, 65 }, 0 }, { { 1, 1, 1 }, { 1, 1, 1 }, 49153 }, { { 1, 1, 1 }, { 1, 1, 1 }, 1 << 30 }, { { 1, 65536, 1 }, { 1, 1, 1 }, 0 } };
	for (size_t i = 0; i < NEL(t); i++) {
		CUDA_KERNEL_NODE_PARAMS x = { nop, t[i].g[0], t[i].g[1], t[i].g[2], t[i].b[0], t[i].b[1], t[i].b[2], t[i].s, NULL, NULL, NULL, NULL };
		CUgraph tmp = NULL;

		tag("kernel %zu", i);
		cuGraphCreate(&tmp, 0);
		R(cuGraphAddKernelNode_v2(&n, tmp, NULL, 0, &x));
		R(cuGraphInstantiateWithFlags(&ex, tmp, 0));
	}
	tag("kernel");
	R(cuGraphAddKernelNode_v2(&k, g, NULL, 0, &kp));
	R(cuGraphAddKernelNode_v2(NULL, g, NULL, 0, &kp));
	R(cuGraphAddKernelNode_v2(&n, g, NULL, 0, NULL));
	R(cuGraphAddKernelNode_v2(&n, NULL, NULL, 0, &kp));
	kp.func = NULL;
	R(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &kp));
	kp.func = params;
	R(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &kp));
	kp.kernelParams = ps;
	R(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &kp));
	RV(cuGraphKernelNodeGetParams_v2(n, &ko), "function same %d, params %s, extra %s, kern %s, ctx %s", ko.func == params, !ko.kernelParams ? "null" : ko.kernelParams == ps ? "same" : "another",
	   ko.extra ? "set" : "null", ko.kern ? "set" : "null", ko.ctx ? ko.ctx == c ? "current" : "another" : "null");
	kp.func = nop;
	R(cuGraphKernelNodeSetParams_v2(k, &kp));
	kp.kernelParams = NULL;
	R(cuGraphKernelNodeSetParams_v2(k, &kp));
	kp.blockDimX = 0;
	R(cuGraphKernelNodeSetParams_v2(k, &kp));
	kp.blockDimX = 2000;
	R(cuGraphKernelNodeSetParams_v2(k, &kp));
	kp.blockDimX = 1;
	R(cuGraphKernelNodeSetParams_v2(k, NULL));
	R(cuGraphKernelNodeSetParams_v2(NULL, &kp));
	R(cuGraphKernelNodeGetParams_v2(k, NULL));
	for (int i = -1; i < 18; i++) {
		tag("kernel, attribute %d", i);
		memset(&v, 0, sizeof v);
		RV(cuGraphKernelNodeGetAttribute(k, (CUlaunchAttributeID)i, &v), "%d", v.cooperative);
		memset(&v, 0, sizeof v);
		R(cuGraphKernelNodeSetAttribute(k, (CUlaunchAttributeID)i, &v));
		v.cooperative = 1;
		if (i == 4 || i == 11)
			v.clusterDim.y = v.clusterDim.z = 1;
		if (i != 1 && i != 7 && i != 12 && i != 13)
			R(cuGraphKernelNodeSetAttribute(k, (CUlaunchAttributeID)i, &v));
		memset(&v, 0, sizeof v);
		RV(cuGraphKernelNodeGetAttribute(k, (CUlaunchAttributeID)i, &v), "%d", v.cooperative);
	}
	R(cuGraphKernelNodeCopyAttributes(n, k));
	tag("memset");
	static const struct { size_t pitch; unsigned int es; size_t w, h; int where; } mt[] = { { 0, 1, 16, 1, 0 }, { 0, 4, 16, 1, 0 }, { 0, 2, 16, 1, 0 }, { 0, 3, 16, 1, 0 }, { 0, 0, 16, 1, 0 }, { 0, 8, 16, 1, 0 },
		{ 0, 1, 0, 1, 0 }, { 0, 1, 16, 0, 0 }, { 0, 1, 16, 2, 0 }, { 16, 1, 16, 2, 0 }, { 15, 1, 16, 2, 0 }, { 64, 4, 16, 64, 0 }, { 64, 4, 16, 65, 0 }, { 66, 4, 16, 2, 0 }, { 0, 4, 16, 1, 1 }, { 0, 1, 16, 1, 2 }, { 0, 1, 16, 1, 3 }, { 0, 1, 5000, 1, 0 } };
	for (size_t i = 0; i < NEL(mt); i++) {
		CUDA_MEMSET_NODE_PARAMS x = { mt[i].where == 2 ? WILD : mt[i].where == 3 ? 0 : p + (unsigned int)mt[i].where, mt[i].pitch, 5, mt[i].es, mt[i].w, mt[i].h };

		tag("memset %zu", i);
		n = NULL;
		R(cuGraphAddMemsetNode(&n, g, NULL, 0, &x, c));
		if (n && !i)
			ms = n, mp = x;
	}
	tag("memset");
	RV(cuGraphMemsetNodeGetParams(ms, &mo), "pitch %zu, value %u, element %u, %zu by %zu", mo.pitch, mo.value, mo.elementSize, mo.width, mo.height);
	R(cuGraphMemsetNodeSetParams(ms, &mp));
	R(cuGraphMemsetNodeSetParams(k, &mp));
	R(cuGraphMemsetNodeGetParams(k, &mo));
	mp.value = 0x12345;
	R(cuGraphMemsetNodeSetParams(ms, &mp));
	R(cuGraphAddMemsetNode(&n, g, NULL, 0, &mp, c));
	R(cuGraphAddMemsetNode(&n, g, NULL, 0, &mp, NULL));
	R(cuGraphAddMemsetNode(&n, g, NULL, 0, NULL, c));
	tag("memcpy");
	memset(&cp, 0, sizeof cp);
	cp.srcMemoryType = 1, cp.srcHost = host, cp.srcPitch = 64, cp.srcHeight = 1, cp.dstMemoryType = 2, cp.dstDevice = p, cp.dstPitch = 64, cp.dstHeight = 1;
	cp.WidthInBytes = 64, cp.Height = 1, cp.Depth = 1;
	R(cuGraphAddMemcpyNode(&mc, g, NULL, 0, &cp, c));
	R(cuGraphAddMemcpyNode(&n, g, NULL, 0, &cp, NULL));
	R(cuGraphAddMemcpyNode(&n, g, NULL, 0, NULL, c));
	RV(cuGraphMemcpyNodeGetParams(mc, &co), "types %d %d, %zu by %zu by %zu, pitches %zu %zu", co.srcMemoryType, co.dstMemoryType, co.WidthInBytes, co.Height, co.Depth, co.srcPitch, co.dstPitch);
	for (int i = 0; i < 8; i++) {
		CUDA_MEMCPY3D x = cp;

		tag("memcpy %d", i);
		switch (i) {
		case 0: x.WidthInBytes = 0; break;
		case 1: x.Depth = 0; break;
		case 2: x.dstDevice = WILD; break;
		case 3: x.srcHost = NULL; break;
		case 4: x.srcPitch = 63; break;
		case 5: x.WidthInBytes = 8192; x.srcPitch = x.dstPitch = 8192; break;
		case 6: x.srcMemoryType = 4; x.srcDevice = (CUdeviceptr)(uintptr_t)host; break;
		case 7: x.srcPitch = x.dstPitch = x.srcHeight = x.dstHeight = 0; break;
		}
		R(cuGraphAddMemcpyNode(&n, g, NULL, 0, &x, c));
		R(cuGraphMemcpyNodeSetParams(mc, &x));
	}
	tag("host");
	R(cuGraphAddHostNode(&h, g, NULL, 0, &hp));
	RV(cuGraphHostNodeGetParams(h, &ho), "same %d", ho.fn == host_fn);
	R(cuGraphHostNodeSetParams(h, &hp));
	hp.fn = NULL;
	R(cuGraphHostNodeSetParams(h, &hp));
	R(cuGraphAddHostNode(&n, g, NULL, 0, &hp));
	R(cuGraphAddHostNode(&n, g, NULL, 0, NULL));
	tag("event");
	R(cuGraphAddEventRecordNode(&er, g, NULL, 0, e));
	R(cuGraphAddEventRecordNode(&n, g, NULL, 0, nt));
	R(cuGraphAddEventRecordNode(&n, g, NULL, 0, NULL));
	RV(cuGraphEventRecordNodeGetEvent(er, &ev), "same %d", ev == e);
	R(cuGraphEventRecordNodeSetEvent(er, nt));
	R(cuGraphEventRecordNodeSetEvent(er, NULL));
	R(cuGraphAddEventWaitNode(&ew, g, NULL, 0, e));
	R(cuGraphAddEventWaitNode(&n, g, NULL, 0, NULL));
	R(cuGraphEventWaitNodeGetEvent(er, &ev));
	R(cuGraphEventWaitNodeGetEvent(ew, NULL));
	tag("by type");
	for (int i = -1; i < 16; i++) {
		CUgraphNodeParams np;

		memset(&np, 0, sizeof np);
		np.type = (CUgraphNodeType)i;
		tag("zeros, type %d", i);
		R(cuGraphAddNode(&n, g, NULL, 0, &np));
		R(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &np));
		np.reserved0[1] = 1;
		R(cuGraphAddNode(&n, g, NULL, 0, &np));
	}
	CUgraphNodeParams np;
	memset(&np, 0, sizeof np);
	np.type = CU_GRAPH_NODE_TYPE_EMPTY;
	np.reserved2 = 1;
	tag("%s", "");
	R(cuGraphAddNode(&n, g, NULL, 0, &np));
	np.reserved2 = 0;
	np.reserved1[28] = 1;
	R(cuGraphAddNode(&n, g, NULL, 0, &np));
	R(cuGraphAddNode(&n, g, NULL, 0, NULL));
	R(cuGraphAddNode(NULL, g, NULL, 0, &np));
	CUstreamBatchMemOpParams op[2];
	memset(op, 0, sizeof op);
	op[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, op[0].writeValue.address = p;
	CUDA_BATCH_MEM_OP_NODE_PARAMS bp = { c, 1, op, 0 };
	R(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &bp));
	bp.count = 0;
	R(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &bp));
	bp.count = 1, bp.flags = 1;
	R(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &bp));
	bp.flags = 0, bp.ctx = NULL;
	R(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &bp));
	tag("conditional");
	CUgraphConditionalHandle ch = 0;
	for (unsigned int f = 0; f < 4; f++)
		R(cuGraphConditionalHandleCreate(&ch, g, c, 1, f));
	R(cuGraphConditionalHandleCreate(NULL, g, c, 1, 1));
	R(cuGraphConditionalHandleCreate(&ch, NULL, c, 1, 1));
	R(cuGraphConditionalHandleCreate(&ch, g, NULL, 1, 1));
	R(cuGraphInstantiateWithFlags(&ex, g, 0));
	for (int ty = 0; ty < 4; ty++)
		for (unsigned int sz = 0; sz < 4; sz++) {
			CUgraphNodeParams x;
			CUgraph tmp = NULL;

			cuGraphCreate(&tmp, 0);
			cuGraphConditionalHandleCreate(&ch, tmp, c, 1, 1);
			memset(&x, 0, sizeof x);
			x.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
			x.conditional.handle = ch, x.conditional.type = (CUgraphConditionalNodeType)ty, x.conditional.size = sz, x.conditional.ctx = c;
			tag("conditional type %d, size %u", ty, sz);
			R(cuGraphAddNode(&n, tmp, NULL, 0, &x));
			R(cuGraphAddNode(&n, tmp, NULL, 0, &x));
			R(cuGraphInstantiateWithFlags(&ex, tmp, 0));
			if (ty)
				continue;       /* nothing would end a loop */
			R(cuGraphLaunch(ex, NULL));
			R(cuStreamSynchronize(NULL));
		}
}

GROUP(graph_exec)
{
	CUgraphExec ex = NULL;
	CUgraphNode a, k = NULL, h = NULL, err_node = NULL;
	char log[256] = "";
	CUstream s;
	cuuint64_t f = 7;
	unsigned int on = 7;
	CUDA_KERNEL_NODE_PARAMS kp = { 0 };
	CUDA_GRAPH_INSTANTIATE_PARAMS ip = { 0 };
	CUDA_HOST_NODE_PARAMS hp = { host_fn, NULL };
	CUdeviceptr big = p;
	int hits = 0;

	set_up();
	s = stream(0);
	kp.func = nop, kp.gridDimX = kp.gridDimY = kp.gridDimZ = kp.blockDimX = kp.blockDimY = kp.blockDimZ = 1;
	a = empty(g, NULL);
	cuGraphAddKernelNode_v2(&k, g, &a, 1, &kp);
	hp.userData = &hits;
	cuGraphAddHostNode(&h, g, &k, 1, &hp);
	for (unsigned int i = 0; i < 20; i++) {
		tag("flags %u", i);
		R(cuGraphInstantiateWithFlags(&ex, g, i));
		RV(cuGraphExecGetFlags(ex, &f), "%llu", (unsigned long long)f);
	}
	tag("%s", "");
	R(cuGraphInstantiateWithFlags(NULL, g, 0));
	R(cuGraphInstantiateWithFlags(&ex, NULL, 0));
	R(cuGraphInstantiate_v2(&ex, g, &err_node, log, sizeof log));
	R(cuGraphInstantiate_v2(&ex, g, NULL, NULL, 0));
	for (unsigned int i = 0; i < 9; i++) {
		tag("params, flags %u", i);
		ip.flags = i, ip.result_out = 77;
		R(cuGraphInstantiateWithParams(&ex, g, &ip));
		SAY("result %d", ip.result_out);
	}
	R(cuGraphInstantiateWithParams(&ex, g, NULL));
	tag("device launch alone");
	CUgraph dg = NULL;
	CUgraphNode dn = NULL;
	cuGraphCreate(&dg, 0);
	cuGraphAddKernelNode_v2(&dn, dg, NULL, 0, &kp);
	ip.flags = 4, ip.result_out = 77;
	R(cuGraphInstantiateWithParams(&ex, dg, &ip));
	SAY("result %d", ip.result_out);
	tag("launch");
	R(cuGraphInstantiateWithFlags(&ex, g, 0));
	R(cuGraphLaunch(ex, s));
	R(cuGraphLaunch(ex, NULL));
	R(cuGraphLaunch(ex, CU_STREAM_PER_THREAD));
	R(cuGraphLaunch(NULL, s));
	R(cuGraphUpload(ex, s));
	R(cuGraphUpload(NULL, s));
	R(cuCtxSynchronize());
	SAY("host function ran %d times", hits);
	tag("enabled");
	RV(cuGraphNodeGetEnabled(ex, k, &on), "%u", on);
	R(cuGraphNodeSetEnabled(ex, k, 0));
	RV(cuGraphNodeGetEnabled(ex, k, &on), "%u", on);
	R(cuGraphNodeSetEnabled(ex, k, 2));
	RV(cuGraphNodeGetEnabled(ex, k, &on), "%u", on);
	R(cuGraphNodeSetEnabled(ex, h, 0));
	R(cuGraphNodeSetEnabled(ex, a, 0));
	R(cuGraphNodeGetEnabled(ex, h, &on));
	R(cuGraphNodeSetEnabled(ex, dn, 0));
	R(cuGraphNodeGetEnabled(ex, k, NULL));
	R(cuGraphNodeSetEnabled(NULL, k, 0));
	tag("set params");
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	kp.gridDimX = 5;
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	kp.gridDimX = 0;
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	kp.gridDimX = 1;
	kp.func = add;
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	void *ps[1] = { &big };
	big = p;
	kp.kernelParams = ps;
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	R(cuGraphExecKernelNodeSetParams_v2(ex, dn, &kp));
	R(cuGraphExecKernelNodeSetParams_v2(ex, h, &kp));
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, NULL));
	R(cuGraphExecHostNodeSetParams(ex, h, &hp));
	R(cuGraphExecHostNodeSetParams(ex, k, &hp));
	tag("node destroyed");
	R(cuGraphDestroyNode(k));
	R(cuGraphExecKernelNodeSetParams_v2(ex, k, &kp));
	R(cuGraphLaunch(ex, s));
	R(cuGraphExecDestroy(ex));
	R(cuGraphLaunch(ex, s));
	R(cuCtxSynchronize());
}

/* One graph after another against an executable one */
GROUP(graph_update)
{
	CUgraphExecUpdateResultInfo info;
	static const char *const what[] = { "itself", "another grid", "another kernel", "a node more", "a node less", "another type", "another edge", "empty", "a memset for the kernel", "other attributes" };

	set_up();
	for (size_t k = 0; k < NEL(what); k++) {
		CUgraph x = NULL, y = NULL;
		CUgraphNode n[4] = { 0 }, o[4] = { 0 };
		CUDA_KERNEL_NODE_PARAMS kp = { .func = nop, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
		CUDA_MEMSET_NODE_PARAMS mp = { p, 0, 1, 1, 16, 1 };
		CUDA_HOST_NODE_PARAMS hp = { host_fn, NULL };
		CUcontext c = NULL;
		CUgraphExec ex = NULL;
		CUlaunchAttributeValue v = { .priority = -1 };
		void *ps[1] = { &p };

		cuCtxGetCurrent(&c);
		tag("%s", what[k]);
		cuGraphCreate(&x, 0);
		cuGraphCreate(&y, 0);
		cuGraphAddKernelNode_v2(&n[0], x, NULL, 0, &kp);
		cuGraphAddMemsetNode(&n[1], x, &n[0], 1, &mp, c);
		cuGraphAddHostNode(&n[2], x, &n[1], 1, &hp);
		R(cuGraphInstantiateWithFlags(&ex, x, 0));
		if (k == 1)
			kp.gridDimX = 7;
		if (k == 2)
			kp.func = add, kp.kernelParams = ps;
		if (k != 7 && k != 8)
			cuGraphAddKernelNode_v2(&o[0], y, NULL, 0, &kp);
		if (k == 8)
			cuGraphAddMemsetNode(&o[0], y, NULL, 0, &mp, c);
		if (k == 5)
			cuGraphAddEmptyNode(&o[1], y, &o[0], 1);
		else if (k != 7)
			cuGraphAddMemsetNode(&o[1], y, &o[0], 1, &mp, c);
		if (k != 4 && k != 7)
			cuGraphAddHostNode(&o[2], y, k == 6 ? &o[0] : &o[1], 1, &hp);
		if (k == 3)
			cuGraphAddEmptyNode(&o[3], y, &o[2], 1);
		if (k == 9)
			cuGraphKernelNodeSetAttribute(o[0], CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
		memset(&info, 0, sizeof info);
		info.result = 77;
		R(cuGraphExecUpdate_v2(ex, y, &info));
#define WHICH(z) (!(z) ? "null" : (z) == o[0] ? "kernel" : (z) == o[1] ? "second" : (z) == o[2] ? "third" : (z) == o[3] ? "fourth" : (z) == n[0] || (z) == n[1] || (z) == n[2] ? "of the first" : "another")
		SAY("result %d, node %s, from %s", info.result, WHICH(info.errorNode), WHICH(info.errorFromNode));
		R(cuGraphLaunch(ex, NULL));
		R(cuGraphExecUpdate_v2(ex, y, NULL));
		R(cuGraphExecUpdate_v2(ex, NULL, &info));
		R(cuCtxSynchronize());
	}
}

GROUP(graph_memory)
{
	CUDA_MEM_ALLOC_NODE_PARAMS ap, ao;
	CUmemAccessDesc ad = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, 3 };
	CUgraphNode a = NULL, f = NULL, n = NULL;
	CUgraphExec ex = NULL, ex2 = NULL;
	CUgraph c = NULL;
	CUdeviceptr d = 0;
	unsigned long long v = 7;
	CUstream s;

	set_up();
	s = stream(0);
	memset(&ap, 0, sizeof ap);
	ap.poolProps.allocType = 1, ap.poolProps.location = ad.location, ap.bytesize = 1000;
	for (int i = -1; i < 6; i++) {
		tag("attribute %d", i);
		v = 7;
		RV(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)i, &v), "%llu", v);
		v = 0;
		R(cuDeviceSetGraphMemAttribute(0, (CUgraphMem_attribute)i, &v));
		v = 5;
		R(cuDeviceSetGraphMemAttribute(0, (CUgraphMem_attribute)i, &v));
	}
	tag("%s", "");
	for (int i = 0; i < 8; i++) {
		CUDA_MEM_ALLOC_NODE_PARAMS x = ap;
		CUgraph tmp = NULL;

		cuGraphCreate(&tmp, 0);
		tag("alloc %d", i);
		switch (i) {
		case 0: x.bytesize = 0; break;
		case 1: x.poolProps.allocType = 0; break;
		case 2: x.poolProps.handleTypes = 1; break;
		case 3: x.poolProps.location.type = 2; break;
		case 4: x.poolProps.location.id = 9; break;
		case 5: x.accessDescs = &ad, x.accessDescCount = 1; break;
		case 6: x.accessDescCount = 1; break;
		case 7: x.bytesize = (size_t)1 << 46; break;
		}
		n = NULL;
		R(cuGraphAddMemAllocNode(&n, tmp, NULL, 0, &x));
		R(cuGraphInstantiateWithFlags(&ex, tmp, 0));
		if (i == 7)
			R(cuGraphLaunch(ex, s));
	}
	tag("%s", "");
	R(cuGraphAddMemAllocNode(&a, g, NULL, 0, &ap));
	SAY("%s, aligned 512 %d", ap.dptr ? "set" : "null", !(ap.dptr & 511));
	d = ap.dptr;
	RV(cuGraphMemAllocNodeGetParams(a, &ao), "same %d, %zu bytes", ao.dptr == d, ao.bytesize);
	R(cuGraphMemAllocNodeGetParams(a, NULL));
	R(cuGraphMemFreeNodeGetParams(a, &d));
	R(cuMemsetD8_v2(d, 0, 16));
	R(cuMemFree_v2(d));
	R(cuGraphClone(&c, g));
	R(cuGraphDestroyNode(a));
	R(cuGraphRemoveDependencies(g, &a, &a, 0));
	tag("child with memory");
	R(cuGraphCreate(&c, 0));
	R(cuGraphAddChildGraphNode(&n, c, NULL, 0, g));
	tag("not freed in the graph");
	R(cuGraphInstantiateWithFlags(&ex, g, 0));
	R(cuGraphInstantiateWithFlags(&ex2, g, 0));
	R(cuGraphLaunch(ex, s));
	R(cuGraphLaunch(ex, s));
	R(cuStreamSynchronize(s));
	R(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
	R(cuMemFreeAsync(d, s));
	R(cuMemFreeAsync(d, s));
	R(cuGraphLaunch(ex, s));
	R(cuStreamSynchronize(s));
	R(cuMemFree_v2(d));
	R(cuGraphExecDestroy(ex));
	tag("freed automatically");
	R(cuGraphInstantiateWithFlags(&ex, g, 1));
	R(cuGraphLaunch(ex, s));
	R(cuGraphLaunch(ex, s));
	R(cuStreamSynchronize(s));
	tag("free nodes");
	R(cuGraphAddMemFreeNode(&f, g, NULL, 0, d));
	R(cuGraphAddMemFreeNode(&f, g, &a, 1, d));
	R(cuGraphAddMemFreeNode(&n, g, &a, 1, d));
	R(cuGraphAddMemFreeNode(&n, g, NULL, 0, p));
	R(cuGraphAddMemFreeNode(&n, g, NULL, 0, 0));
	R(cuGraphAddMemFreeNode(&n, g, NULL, 0, WILD));
	RV(cuGraphMemFreeNodeGetParams(f, &d), "same %d", d == ap.dptr);
	R(cuGraphDestroyNode(f));
	R(cuGraphInstantiateWithFlags(&ex2, g, 0));
	R(cuDeviceGraphMemTrim(0));
	R(cuDeviceGraphMemTrim(9));
	R(cuDeviceGetGraphMemAttribute(9, 0, &v));
	R(cuDeviceGetGraphMemAttribute(0, 0, NULL));
	R(cuCtxSynchronize());
}

GROUP(graph_edges)
{
	CUgraphNode a, b, k = NULL, k2 = NULL;
	CUgraphEdgeData ed = { 0 }, out[4];
	size_t z = 4;
	CUDA_KERNEL_NODE_PARAMS kp = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1 };
	CUgraphExec ex = NULL;
	CUgraphNode from[4], to[4];

	set_up();
	kp.func = nop;
	a = empty(g, NULL), b = empty(g, NULL);
	cuGraphAddKernelNode_v2(&k, g, NULL, 0, &kp);
	cuGraphAddKernelNode_v2(&k2, g, NULL, 0, &kp);
	for (int i = 0; i < 12; i++) {
		memset(&ed, 0, sizeof ed);
		ed.from_port = (unsigned char)(i & 3);
		ed.type = (unsigned char)(i >> 2);
		tag("from port %d, type %d", ed.from_port, ed.type);
		R(cuGraphAddDependencies_v2(g, &k, &k2, &ed, 1));
		R(cuGraphAddDependencies_v2(g, &k, &k2, &ed, 1));
		z = 4;
		R(cuGraphGetEdges(g, from, to, &z));
		z = 4;
		RV(cuGraphGetEdges_v2(g, from, to, out, &z), "%zu, type %d, from port %d", z, z ? out[0].type : -1, z ? out[0].from_port : -1);
		R(cuGraphInstantiateWithFlags(&ex, g, 0));
		R(cuGraphRemoveDependencies(g, &k, &k2, 1));
		R(cuGraphRemoveDependencies_v2(g, &k, &k2, &ed, 1));
		R(cuGraphAddDependencies_v2(g, &a, &b, &ed, 1));
		R(cuGraphRemoveDependencies_v2(g, &a, &b, &ed, 1));
		R(cuGraphAddDependencies_v2(g, &k, &b, &ed, 1));
		R(cuGraphRemoveDependencies_v2(g, &k, &b, &ed, 1));
	}
	memset(&ed, 0, sizeof ed);
	ed.to_port = 1;
	tag("to port 1");
	R(cuGraphAddDependencies_v2(g, &k, &k2, &ed, 1));
	ed.to_port = 0, ed.reserved[2] = 1;
	tag("reserved");
	R(cuGraphAddDependencies_v2(g, &k, &k2, &ed, 1));
}

GROUP(graph_objects)
{
	CUuserObject o = NULL;
	int hits = 0;
	CUgraphExec ex = NULL;

	set_up();
	R(cuUserObjectCreate(&o, &hits, host_fn, 1, 0));
	R(cuUserObjectCreate(&o, &hits, host_fn, 1, 2));
	R(cuUserObjectCreate(&o, &hits, host_fn, 0, 1));
	R(cuUserObjectCreate(&o, &hits, NULL, 1, 1));
	R(cuUserObjectCreate(&o, NULL, host_fn, 1, 1));
	R(cuUserObjectCreate(NULL, &hits, host_fn, 1, 1));
	R(cuUserObjectCreate(&o, &hits, host_fn, 0x80000000u, 1));
	R(cuUserObjectCreate(&o, &hits, host_fn, 2, 1));
	R(cuUserObjectRetain(o, 1));
	R(cuUserObjectRetain(o, 0));
	R(cuUserObjectRetain(NULL, 1));
	R(cuUserObjectRelease(o, 0));
	R(cuUserObjectRelease(NULL, 1));
	R(cuUserObjectRelease(o, 99));
	R(cuUserObjectRelease(o, 1));
	SAY("%d", hits);
	R(cuGraphRetainUserObject(g, o, 1, 0));
	R(cuGraphRetainUserObject(g, o, 1, 1));
	R(cuGraphRetainUserObject(g, o, 0, 0));
	R(cuGraphRetainUserObject(g, o, 1, 2));
	R(cuGraphRetainUserObject(NULL, o, 1, 0));
	R(cuGraphRetainUserObject(g, NULL, 1, 0));
	R(cuGraphReleaseUserObject(g, o, 1));
	R(cuGraphReleaseUserObject(g, o, 9));
	R(cuGraphReleaseUserObject(g, o, 0));
	R(cuGraphInstantiateWithFlags(&ex, g, 0));
	R(cuGraphDestroy(g));
	R(cuGraphExecDestroy(ex));
	R(cuCtxSynchronize());
	R(cuUserObjectRelease(o, 1));
	usleep(100000);
	SAY("%d", hits);
}
