/* SPDX-License-Identifier: MIT */
/*
 * What capture forbids: each error by its name, the capture spoiled by it and good for nothing afterwards, and everything
 * as before once it has ended. Modes and threads.
 */
#include <pthread.h>

#include "drv.h"

E2E_PTX(misc);

static CUstream s, s2, blocking;
static CUdeviceptr d;
static CUfunction fill;
static CUcontext ctx;

static void begin(CUstream st, CUstreamCaptureMode mode) { CK(cuStreamBeginCapture(st, mode)); }

static void work(CUstream st, CUresult want)
{
	CUdeviceptr p = d;
	uint32_t v = 1;
	int n = 16;
	void *args[] = { &p, &v, &n };

	WANT(want, cuLaunchKernel(fill, 1, 1, 1, 16, 1, 1, 0, st, args, NULL));
}

/* It ends as spoiled: no graph, and the stream works again. */
static void spoiled(CUstream st)
{
	CUstreamCaptureStatus status;
	CUgraph g = (CUgraph)1;

	CK(cuStreamIsCapturing(st, &status));
	EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	work(st, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamSynchronize(st));
	WANT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(st, &g));
	EXPECT(!g);
	CK(cuStreamIsCapturing(st, &status));
	EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
	work(st, CUDA_SUCCESS);
	CK(cuStreamSynchronize(st));
}

static void good(CUstream st, size_t want)
{
	size_t n = 0;
	CUgraph g;

	CK(cuStreamEndCapture(st, &g));
	CK(cuGraphGetNodes(g, NULL, &n));
	EXPECT_EQ(n, want);
	CK(cuGraphDestroy(g));
}

static void states(void)
{
	CUgraph g;

	WANT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &g));
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(s, (CUstreamCaptureMode)3));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuStreamBeginCapture((CUstream)0x1234560, CU_STREAM_CAPTURE_MODE_GLOBAL));
	WANT(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(s, NULL, NULL, 0, 0));
	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	work(s, CUDA_SUCCESS);
	good(s, 1);
	/* The thread's own stream may be captured. */
	begin(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(CU_STREAM_PER_THREAD, CUDA_SUCCESS);
	good(CU_STREAM_PER_THREAD, 1);
}

/* What waits for a stream that captures. */
static void waits(void)
{
	uint32_t v;

	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
	spoiled(s);
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
	spoiled(s);
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
	spoiled(s);
	/* Another stream has nothing to do with it, a copy neither, where the legacy stream does not wait for this one. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuStreamSynchronize(s2));
	CK(cuMemcpyDtoH(&v, d, 4));
	work(NULL, CUDA_SUCCESS);
	good(s, 0);
}

/* A stream that the legacy stream waits for captures. */
static void legacy(void)
{
	CUstreamCaptureStatus status;
	uint32_t v;
	CUevent e;

	begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(blocking, CUDA_SUCCESS);
	WANT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
	good(blocking, 1);			/* a question spoils nothing */
	begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(NULL, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	spoiled(blocking);
	begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyDtoH(&v, d, 4));
	spoiled(blocking);
	begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
	spoiled(blocking);
	begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuEventCreate(&e, 0));
	WANT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(e, NULL));
	spoiled(blocking);
	work(NULL, CUDA_SUCCESS);
	CK(cuEventRecord(e, NULL));
	CK(cuEventSynchronize(e));
	CK(cuEventDestroy(e));
}

/* Calls that may do harm elsewhere, by the mode of the capture and the thread's. */
static void *unsafe_here(void *want)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	CUdeviceptr p = 0;

	CK(cuCtxSetCurrent(ctx));
	WANT((CUresult)(uintptr_t)want, cuMemAlloc(&p, 64));
	if (p)
		CK(cuMemFree(p));
	/* A thread that asked for no more than its own captures. */
	CK(cuThreadExchangeStreamCaptureMode(&mode));
	EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CK(cuMemAlloc(&p, 64));
	CK(cuMemFree(p));
	return NULL;
}

static void in_thread(void *(*fn)(void *), uintptr_t arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, (void *)arg))
		e2e_skip("no thread");
	pthread_join(t, NULL);
}

static void modes(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr p;
	CUevent e;
	void *h;

	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&p, 64));
	spoiled(s);
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemHostAlloc(&h, 64, 0));
	spoiled(s);
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree(d));
	spoiled(s);
	/* of nothing, too: how libraries make sure of a context */
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree(0));
	spoiled(s);
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuMemAlloc(&p, 64));
	CK(cuMemFree(p));
	in_thread(unsafe_here, CUDA_SUCCESS);
	good(s, 0);
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	in_thread(unsafe_here, CUDA_SUCCESS);
	good(s, 0);
	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	in_thread(unsafe_here, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	spoiled(s);
	/* What PyTorch does around its allocations. */
	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CK(cuThreadExchangeStreamCaptureMode(&mode));
	EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CK(cuMemAlloc(&p, 64));
	CK(cuMemFree(p));
	CK(cuThreadExchangeStreamCaptureMode(&mode));
	EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	good(s, 0);
	/* An event of no capture. */
	CK(cuEventCreate(&e, 0));
	CK(cuEventRecord(e, s2));
	begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuEventQuery(e));
	spoiled(s);
	CK(cuEventSynchronize(e));
	CK(cuEventDestroy(e));
}

/* Events across the border. */
static void events(void)
{
	CUevent outside, inside, never;
	float ms;
	CUgraph g;

	CK(cuEventCreate(&outside, 0));
	CK(cuEventCreate(&inside, 0));
	CK(cuEventCreate(&never, 0));
	CK(cuEventRecord(outside, s2));
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuStreamWaitEvent(s, never, 0));		/* nothing to wait for */
	WANT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, outside, 0));
	spoiled(s);
	/* A question about what has only been captured. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuEventRecord(inside, s));
	WANT(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(inside));
	spoiled(s);
	WANT(CUDA_ERROR_CAPTURED_EVENT, cuEventElapsedTime(&ms, outside, inside));
	WANT(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(s2, inside, 0));	/* that capture is over */
	/* Two captures do not become one. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	begin(s2, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(s, CUDA_SUCCESS);
	CK(cuEventRecord(inside, s));
	WANT(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(s2, inside, 0));
	spoiled(s);
	spoiled(s2);
	/* A branch that does not come back. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(s, CUDA_SUCCESS);
	CK(cuEventRecord(inside, s));
	CK(cuStreamWaitEvent(s2, inside, 0));
	work(s2, CUDA_SUCCESS);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &g));
	EXPECT(!g);
	work(s, CUDA_SUCCESS);
	work(s2, CUDA_SUCCESS);
	CK(cuStreamSynchronize(s2));
	/* One that was left behind where it had begun has nothing to bring back. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	work(s, CUDA_SUCCESS);
	CK(cuEventRecord(inside, s));
	CK(cuStreamWaitEvent(s2, inside, 0));
	work(s, CUDA_SUCCESS);
	good(s, 2);
	/* A stream and events that go as soon as they are not needed: what was captured stays. */
	for (int back = 0; back < 2; back++) {
		CUevent a, b;
		CUstream t;

		begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
		CK(cuStreamCreate(&t, back ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		CK(cuEventCreate(&a, 0));
		CK(cuEventCreate(&b, 0));
		work(s, CUDA_SUCCESS);
		CK(cuEventRecord(a, s));
		CK(cuStreamWaitEvent(t, a, 0));
		CK(cuEventDestroy(a));
		work(t, CUDA_SUCCESS);
		CK(cuEventRecord(b, t));
		if (back) {
			CK(cuStreamWaitEvent(s, b, 0));
			CK(cuStreamDestroy(t));
			CK(cuEventDestroy(b));
			work(s, CUDA_SUCCESS);
			good(s, 3);
			continue;
		}
		/* Its event brings its work back after its end; without that the branch is missed. */
		CK(cuStreamDestroy(t));
		CK(cuStreamWaitEvent(s, b, 0));
		good(s, 2);
		begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
		CK(cuStreamCreate(&t, CU_STREAM_DEFAULT));
		CK(cuEventRecord(b, s));
		CK(cuStreamWaitEvent(t, b, 0));
		work(t, CUDA_SUCCESS);
		CK(cuStreamDestroy(t));
		WANT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &g));
		CK(cuEventDestroy(b));
	}
	/* Ended where it did not begin. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuEventRecord(inside, s));
	CK(cuStreamWaitEvent(s2, inside, 0));
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(s2, &g));
	spoiled(s);
	CK(cuEventDestroy(inside));
	CK(cuEventDestroy(outside));
	CK(cuEventDestroy(never));
}

static void *end_here(void *want)
{
	CUgraph g;

	CK(cuCtxSetCurrent(ctx));
	WANT((CUresult)(uintptr_t)want, cuStreamEndCapture(s, &g));
	if (g)
		CK(cuGraphDestroy(g));
	return NULL;
}

static void thread_of(void)
{
	begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	in_thread(end_here, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	good(s, 0);
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	in_thread(end_here, CUDA_SUCCESS);
	work(s, CUDA_SUCCESS);
	CK(cuStreamSynchronize(s));
}

static void CUDA_CB nothing(CUstream st, CUresult r, void *arg) { (void)st; (void)r; (void)arg; }

/* Calls that have no node, and handles that are none. */
static void others(void)
{
	CUgraphExecUpdateResultInfo info;
	CUgraphNode node;
	CUstream gone;
	CUgraph g;
	CUevent e;
	size_t n;

	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(s, nothing, NULL, 0));
	spoiled(s);
	/* An argument that is wrong is refused as ever, and the capture goes on. */
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync(0, &n, 4, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(d, s));	/* no graph has allocated it */
	CK(cuStreamGetCaptureInfo(s, &(CUstreamCaptureStatus){ 0 }, NULL, &g, NULL, NULL, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(g));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&(CUgraphExec){ NULL }, g, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&(CUgraphExec){ NULL }, g,
	     CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	good(s, 0);
	/* A stream that goes takes its capture along; one that had only joined leaves it as it is. */
	CK(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
	begin(gone, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CK(cuStreamDestroy(gone));
	work(NULL, CUDA_SUCCESS);
	CK(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
	CK(cuEventCreate(&e, 0));
	begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	CK(cuEventRecord(e, s));
	CK(cuStreamWaitEvent(gone, e, 0));
	CK(cuStreamDestroy(gone));
	good(s, 0);
	WANT(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
	CK(cuEventDestroy(e));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy((CUgraph)0x40));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy((CUgraph)s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch((CUgraphExec)0x80, s));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphExecDestroy(NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(NULL, NULL, &n));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&node, NULL, NULL, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate(NULL, NULL, &info));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode((CUgraphNode)d));
	CK(cuGraphCreate(&g, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&node, g, NULL, 0, &(CUDA_HOST_NODE_PARAMS){ NULL, NULL }));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&node, g, NULL, 0, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&node, g, (CUgraphNode[]){ NULL }, 1));
	WANT(CUDA_ERROR_INVALID_VALUE,
	     cuGraphAddMemsetNode(&node, g, NULL, 0, &(CUDA_MEMSET_NODE_PARAMS){ d, 0, 0, 3, 4, 1 }, NULL));
	WANT(CUDA_ERROR_INVALID_VALUE,
	     cuGraphAddMemsetNode(&node, g, NULL, 0, &(CUDA_MEMSET_NODE_PARAMS){ d, 0, 0, 4, 1u << 20, 1 }, NULL));
	CK(cuGraphGetNodes(g, NULL, &n));
	EXPECT_EQ(n, 0);
	CK(cuGraphDestroy(g));
}

int main(void)
{
	ctx = drv_start("graph_errors");
	fill = drv_kernel(drv_module(ptx_misc), "fill");
	d = drv_alloc(4096);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	states();
	waits();
	legacy();
	modes();
	events();
	thread_of();
	others();
	CK(cuCtxDestroy(ctx));
	return e2e_end("every error of a capture by its name");
}
