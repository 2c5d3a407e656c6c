/* SPDX-License-Identifier: MIT */
/* The driver probe: what calls answer while streams capture, how captures join, end and are lost. */
#include "driver.h"

static CUdeviceptr p, q;
static void *pinned;
static char host[4096];
static CUevent e1, e2;
static CUfunction nop;
static CUgraph graph;

static void set_up(void)
{
	start();
	p = alloc(4096);
	q = alloc(4096);
	cuMemAllocHost_v2(&pinned, 4096);
	cuEventCreate(&e1, 0);
	cuEventCreate(&e2, 0);
	nop = function(module(), "nop");
	cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	cuCtxSynchronize();
}

static void CUDA_CB host_fn(void *user)
{
	(void)user;
}

static void CUDA_CB called(CUstream s, CUresult r, void *user)
{
	(void)s, (void)r, (void)user;
}

static const char *status(CUstream s)
{
	CUstreamCaptureStatus st = 7;
	CUresult r = cuStreamIsCapturing(s, &st);

	return r ? err(r) : st == 0 ? "none" : st == 1 ? "active" : "invalidated";
}

enum { CALLS = 58 };

/* Call k; s captures, other does not */
static void one(int k, CUstream s, CUstream other)
{
	CUdeviceptr d = 0;
	void *h = NULL;
	CUstream ns = NULL;
	CUevent ne = NULL;
	size_t z;
	CUmodule m = NULL;
	CUgraphExec ex = NULL;
	CUgraph g2 = NULL;
	unsigned int u;
	int v;
	CUstreamCaptureStatus cs;
	cuuint64_t id;

	switch (k) {
	case 0: R(cuStreamSynchronize(s)); break;
	case 1: R(cuStreamQuery(s)); break;
	case 2: R(cuStreamSynchronize(other)); break;
	case 3: R(cuStreamQuery(other)); break;
	case 4: R(cuStreamSynchronize(NULL)); break;
	case 5: R(cuStreamQuery(NULL)); break;
	case 6: R(cuCtxSynchronize()); break;
	case 7: R(cuMemAlloc_v2(&d, 64)); break;
	case 8: R(cuMemFree_v2(q)); q = 0; cuMemAlloc_v2(&q, 4096); break;
	case 9: R(cuMemAllocHost_v2(&h, 64)); break;
	case 10: R(cuMemAllocManaged(&d, 64, 1)); break;
	case 11: R(cuMemcpyHtoD_v2(p, host, 16)); break;
	case 12: R(cuMemcpyDtoH_v2(host, p, 16)); break;
	case 13: R(cuMemcpyDtoD_v2(p, p + 64, 16)); break;
	case 14: R(cuMemcpy(p, p + 64, 16)); break;
	case 15: R(cuMemsetD8_v2(p, 0, 16)); break;
	case 16: R(cuMemcpyHtoDAsync_v2(p, host, 16, s)); break;
	case 17: R(cuMemcpyHtoDAsync_v2(p, pinned, 16, s)); break;
	case 18: R(cuMemcpyDtoHAsync_v2(host, p, 16, s)); break;
	case 19: R(cuMemcpyHtoDAsync_v2(p, pinned, 16, NULL)); break;
	case 20: R(cuMemcpyHtoDAsync_v2(p, pinned, 16, other)); break;
	case 21: R(cuMemsetD8Async(p, 0, 16, s)); break;
	case 22: R(cuMemsetD8Async(p, 0, 16, NULL)); break;
	case 23: R(cuMemsetD8Async(p, 0, 16, CU_STREAM_PER_THREAD)); break;
	case 24: R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); break;
	case 25: R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)); break;
	case 26: R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL)); break;
	case 27: R(cuLaunchKernel(nop, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL)); break;
	case 28: R(cuLaunchHostFunc(s, host_fn, NULL)); break;
	case 29: R(cuStreamAddCallback(s, called, NULL, 0)); break;
	case 30: R(cuEventRecord(e1, s)); break;
	case 31: R(cuEventRecord(e1, NULL)); break;
	case 32: R(cuEventRecord(e1, other)); break;
	case 33: R(cuStreamWaitEvent(s, e2, 0)); break;
	case 34: R(cuStreamWaitEvent(s, e2, 1)); break;
	case 35: R(cuEventRecordWithFlags(e1, s, 1)); break;
	case 36: R(cuEventRecord(e1, s)); R(cuEventQuery(e1)); break;
	case 37: R(cuEventRecord(e1, s)); R(cuEventSynchronize(e1)); break;
	case 38: R(cuEventRecord(e1, s)); R(cuEventElapsedTime((float *)&v, e1, e1)); break;
	case 39: R(cuEventQuery(e2)); break;
	case 40: R(cuEventSynchronize(e2)); break;
	case 41: R(cuStreamCreate(&ns, 0)); break;
	case 42: R(cuEventCreate(&ne, 0)); break;
	case 43: R(cuStreamDestroy_v2(other)); break;
	case 44: R(cuMemAllocAsync(&d, 64, s)); break;
	case 45: R(cuMemAllocAsync(&d, 64, other)); break;
	case 46: R(cuMemFreeAsync(p, s)); break;
	case 47: R(cuMemGetInfo_v2(&z, &z)); break;
	case 48: R(cuModuleLoadData(&m, probe_ptx)); break;
	case 49: R(cuGraphCreate(&g2, 0)); R(cuGraphInstantiateWithFlags(&ex, g2, 0)); R(cuGraphLaunch(ex, s)); break;
	case 50: R(cuStreamBeginCapture_v2(s, 0)); break;
	case 51: R(cuStreamGetCaptureInfo_v2(NULL, &cs, &id, NULL, NULL, NULL)); break;
	case 52: R(cuStreamWriteValue32_v2(s, p, 1, 0)); break;
	case 53: R(cuStreamAttachMemAsync(s, p, 0, 1)); break;
	case 54: R(cuMemHostRegister_v2(host, 4096, 0)); cuMemHostUnregister(host); break;
	case 55: R(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048)); break;
	case 56: R(cuFuncGetAttribute(&v, 0, nop)); R(cuStreamGetFlags(s, &u)); R(cuPointerGetAttribute(&z, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p)); break;
	case 57: R(cuStreamDestroy_v2(s)); break;
	}
}

static void all_calls(int mode, unsigned int flags)
{
	for (int k = 0; k < CALLS; k++) {
		CUstream s = stream(flags), other = stream(0);
		CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_GLOBAL;
		size_t n = 99;

		tag("mode %d, stream %u, call %d", mode, flags, k);
		if (cuStreamBeginCapture_v2(s, (CUstreamCaptureMode)mode)) {
			SAY("no capture");
			continue;
		}
		one(k, s, other);
		if (k == 57)
			continue;
		SAY("%s", status(s));
		graph = P(7);
		if (go("cuStreamEndCapture")) {
			CUresult r = cuStreamEndCapture(s, &graph);

			came(r);
			if (!r && graph && graph != P(7))
				cuGraphGetNodes(graph, NULL, &n);
			say(" graph %s, %zu nodes\n", !graph ? "null" : graph == P(7) ? "untouched" : "set", n);
		}
		cuStreamSynchronize(s);
		cuThreadExchangeStreamCaptureMode(&m);
		cuThreadExchangeStreamCaptureMode(&m);
	}
}

GROUP(capture_calls)
{
	set_up();
	all_calls(CU_STREAM_CAPTURE_MODE_GLOBAL, 0);
	all_calls(CU_STREAM_CAPTURE_MODE_GLOBAL, 1);
}

GROUP(capture_modes)
{
	CUstreamCaptureMode m;

	set_up();
	all_calls(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 0);
	all_calls(CU_STREAM_CAPTURE_MODE_RELAXED, 1);
	tag("%s", "");
	for (int i = -1; i < 5; i++) {
		tag("mode %d", i);
		m = (CUstreamCaptureMode)i;
		RV(cuThreadExchangeStreamCaptureMode(&m), "before %d", m);
		R(cuStreamBeginCapture_v2(stream(0), (CUstreamCaptureMode)i));
	}
	R(cuThreadExchangeStreamCaptureMode(NULL));
}

static size_t count(CUgraph g)
{
	size_t n = 0;

	return !g || cuGraphGetNodes(g, NULL, &n) ? 99 : n;
}

GROUP(capture_joins)
{
	CUstream a, b, c;
	CUgraph g = NULL, g2 = NULL;
	CUgraphNode n = NULL;
	const CUgraphNode *deps = NULL;
	const CUgraphEdgeData *edges = NULL;
	size_t nd = 7;
	cuuint64_t id = 0, id2 = 0;
	CUstreamCaptureStatus st = 7;

	set_up();
	a = stream(1), b = stream(1), c = stream(1);
	tag("fork and join");
	R(cuStreamBeginCapture_v2(a, 0));
	RV(cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &nd), "%d id %s, graph %s, %zu dependencies", st, id ? "positive" : "zero", g ? "set" : "null", nd);
	RV(cuStreamGetCaptureInfo_v3(a, &st, &id, &g, &deps, &edges, &nd), "%d, %zu dependencies", st, nd);
	R(cuStreamGetCaptureInfo_v2(a, NULL, &id, NULL, NULL, NULL));
	R(cuStreamGetCaptureInfo_v3(a, &st, NULL, NULL, NULL, NULL, NULL));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(b, e1, 0));
	SAY("b %s", status(b));
	cuStreamGetCaptureInfo_v2(b, &st, &id2, NULL, NULL, NULL);
	SAY("one id %d", id == id2);
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, b, NULL, NULL));
	R(cuStreamEndCapture(b, &g));
	SAY("a %s, b %s", status(a), status(b));
	R(cuStreamEndCapture(a, &g));
	SAY("a %s, b %s, %zu", status(a), status(b), count(g));
	tag("joined");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(b, e1, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, b, NULL, NULL));
	R(cuEventRecord(e2, b));
	R(cuStreamWaitEvent(a, e2, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	R(cuStreamEndCapture(a, &g));
	SAY("a %s, b %s, %zu", status(a), status(b), count(g));
	tag("not joined, nothing in it");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(b, e1, 0));
	R(cuStreamEndCapture(a, &g));
	SAY("a %s, b %s, %zu", status(a), status(b), count(g));
	tag("not joined");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(b, e1, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, b, NULL, NULL));
	g = P(7);
	R(cuStreamEndCapture(a, &g));
	SAY("graph %s, a %s, b %s", !g ? "null" : g == P(7) ? "untouched" : "set", status(a), status(b));
	R(cuStreamQuery(b));
	R(cuStreamEndCapture(b, &g));
	tag("an event of the capture elsewhere");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuEventRecord(e1, a));
	R(cuStreamBeginCapture_v2(b, 0));
	R(cuStreamWaitEvent(b, e1, 0));
	SAY("a %s, b %s", status(a), status(b));
	R(cuStreamEndCapture(b, &g));
	R(cuStreamEndCapture(a, &g));
	tag("two captures merged");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuStreamBeginCapture_v2(b, 0));
	R(cuEventRecord(e1, b));
	R(cuStreamWaitEvent(a, e1, 0));
	SAY("a %s, b %s", status(a), status(b));
	R(cuStreamEndCapture(a, &g));
	R(cuStreamEndCapture(b, &g));
	tag("the event after the end");
	R(cuEventQuery(e1));
	R(cuEventSynchronize(e1));
	R(cuStreamWaitEvent(c, e1, 0));
	R(cuEventRecord(e1, c));
	R(cuStreamSynchronize(c));
	R(cuEventQuery(e1));
	tag("legacy waits for the event");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(NULL, e1, 0));
	SAY("a %s", status(a));
	R(cuStreamEndCapture(a, &g));
	tag("destroyed event");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuEventRecord(e1, a));
	R(cuEventDestroy_v2(e1));
	R(cuStreamEndCapture(a, &g));
	cuEventCreate(&e1, 0);
	tag("to a graph");
	R(cuGraphCreate(&g2, 0));
	R(cuGraphAddEmptyNode(&n, g2, NULL, 0));
	R(cuStreamBeginCaptureToGraph(a, g2, &n, NULL, 1, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	g = NULL;
	R(cuStreamEndCapture(a, &g));
	SAY("same %d, %zu", g == g2, count(g));
	R(cuStreamBeginCaptureToGraph(a, NULL, NULL, NULL, 0, 0));
	R(cuStreamBeginCaptureToGraph(a, g2, NULL, NULL, 1, 0));
	R(cuStreamBeginCaptureToGraph(NULL, g2, NULL, NULL, 0, 0));
	tag("dependencies");
	R(cuStreamUpdateCaptureDependencies(a, &n, 1, 1));
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &nd);
	SAY("%zu", nd);
	R(cuStreamUpdateCaptureDependencies(a, NULL, 0, 0));
	R(cuStreamUpdateCaptureDependencies(a, NULL, 0, 1));
	R(cuStreamUpdateCaptureDependencies(a, NULL, 0, 2));
	R(cuStreamUpdateCaptureDependencies(a, NULL, 1, 1));
	R(cuStreamUpdateCaptureDependencies(a, &n, 1, 1));
	SAY("%s", status(a));
	cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &nd);
	SAY("%zu", nd);
	R(cuStreamEndCapture(a, &g));
	tag("a node added by hand");
	R(cuStreamBeginCapture_v2(a, 0));
	cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &nd);
	R(cuGraphAddEmptyNode(&n, g, NULL, 0));
	R(cuStreamUpdateCaptureDependencies(a, &n, 1, 0));
	R(cuGraphDestroy(g));
	R(cuGraphInstantiateWithFlags((CUgraphExec *)&g2, g, 0));
	R(cuStreamEndCapture(a, &g));
	SAY("%zu", count(g));
}

GROUP(capture_ends)
{
	CUstream a;
	CUgraph g = P(7);
	CUstreamCaptureStatus st = 7;
	cuuint64_t id = 7;
	size_t n = 7;
	const CUgraphNode *deps = P(7);

	set_up();
	a = stream(0);
	tag("no capture");
	R(cuStreamEndCapture(a, &g));
	SAY("graph %s", !g ? "null" : g == P(7) ? "untouched" : "set");
	R(cuStreamEndCapture(NULL, &g));
	R(cuStreamEndCapture(a, NULL));
	RV(cuStreamIsCapturing(a, &st), "%d", st);
	RV(cuStreamIsCapturing(NULL, &st), "%d", st);
	RV(cuStreamIsCapturing(CU_STREAM_LEGACY, &st), "%d", st);
	RV(cuStreamIsCapturing(CU_STREAM_PER_THREAD, &st), "%d", st);
	R(cuStreamIsCapturing(a, NULL));
	RV(cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &n), "%d, id %s, graph %s, %s, n %s", st, id == 7 ? "untouched" : "set", g == P(7) ? "untouched" : "set", deps == P(7) ? "untouched" : "set", n == 7 ? "untouched" : "set");
	RV(cuStreamGetCaptureInfo(a, &st, &id), "%d", st);
	R(cuStreamBeginCapture_v2(NULL, 0));
	R(cuStreamBeginCapture_v2(CU_STREAM_LEGACY, 0));
	R(cuStreamBeginCapture_v2(CU_STREAM_LEGACY, 2));
	tag("per-thread");
	R(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, 0));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, NULL));
	R(cuStreamEndCapture(CU_STREAM_PER_THREAD, &g));
	SAY("%zu", count(g));
	tag("while legacy is asked");
	R(cuStreamBeginCapture_v2(a, 0));
	RV(cuStreamIsCapturing(NULL, &st), "%d", st);
	R(cuStreamGetCaptureInfo_v2(NULL, &st, &id, &g, &deps, &n));
	SAY("%s", status(a));
	R(cuStreamEndCapture(a, NULL));
	SAY("%s", status(a));
	R(cuStreamEndCapture(a, &g));
	SAY("%zu", count(g));
	tag("invalidated");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuStreamSynchronize(a));
	SAY("%s", status(a));
	R(cuStreamGetCaptureInfo_v2(a, &st, &id, &g, &deps, &n));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	R(cuMemsetD8Async(p, 0, 16, a));
	R(cuEventRecord(e1, a));
	R(cuStreamWaitEvent(a, e2, 0));
	R(cuStreamQuery(a));
	R(cuStreamSynchronize(a));
	R(cuMemAllocAsync(&q, 16, a));
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuStreamUpdateCaptureDependencies(a, NULL, 0, 1));
	R(cuMemAlloc_v2(&q, 16));
	R(cuStreamSynchronize(NULL));
	R(cuCtxSynchronize());
	g = P(7);
	R(cuStreamEndCapture(a, &g));
	SAY("graph %s", !g ? "null" : g == P(7) ? "untouched" : "set");
	R(cuStreamQuery(a));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	tag("memory of the capture");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuMemAllocAsync(&q, 16, a));
	R(cuMemFreeAsync(p, a));
	R(cuMemFreeAsync(q, a));
	R(cuMemFreeAsync(q, a));
	SAY("%s", status(a));
	R(cuStreamEndCapture(a, &g));
	tag("a callback");
	R(cuStreamBeginCapture_v2(a, 0));
	R(cuStreamAddCallback(a, called, NULL, 0));
	SAY("%s", status(a));
	R(cuStreamEndCapture(a, &g));
}
