/* SPDX-License-Identifier: MIT */
/*
 * Green contexts: what is split is not there twice, streams know whose they are, and end with it; events of a whole context, or of
 * one green one. Every number is of the documentation of cuDevSmResourceSplit and its neighbours.
 */
#include "drv.h"

E2E_PTX(misc);

static CUdevResource sms;

static void splits(void)
{
	CU_DEV_SM_RESOURCE_GROUP_PARAMS g[2];
	CUdevResource part[8], rest, wq;
	unsigned n, all = sms.sm.smCount, step = sms.sm.smCoscheduledAlignment;
	CUdevResourceDesc desc;

	WANT(CUDA_ERROR_INVALID_RESOURCE_TYPE, cuDeviceGetDevResource(0, &wq, (CUdevResourceType)7));
	WANT(CUDA_ERROR_INVALID_RESOURCE_TYPE, cuDeviceGetDevResource(0, &wq, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDevResource(77, &wq, CU_DEV_RESOURCE_TYPE_SM));
	CK(cuDeviceGetDevResource(0, &wq, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
	EXPECT(wq.wqConfig.device == 0 && wq.wqConfig.wqConcurrencyLimit > 0);
	WANT(CUDA_ERROR_INVALID_RESOURCE_TYPE, cuDevSmResourceSplitByCount(part, &n, &wq, NULL, 0, 1));
	/* how many there would be, and then no more than there is room for */
	CK(cuDevSmResourceSplitByCount(NULL, &n, &sms, NULL, 0, step + 1));
	EXPECT_EQ(n, all / (2 * step));
	n = 2;
	CK(cuDevSmResourceSplitByCount(part, &n, &sms, &rest, 0, 1));
	EXPECT(n == 2 && part[0].sm.smCount == step && part[1].sm.smCount == step);
	EXPECT(all == 2 * step ? rest.type == CU_DEV_RESOURCE_TYPE_INVALID : rest.sm.smCount == all - 2 * step);
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(part, &n, &sms, &rest, 0, all + 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(part, &n, &sms, &rest, 8, 1));
	n = 1;
	WANT(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevSmResourceSplitByCount(&part[2], &n, &part[0], NULL, 0, 1));
	n = 8;
	CK(cuDevSmResourceSplitByCount(part, &n, &sms, &rest, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 1));
	EXPECT(n == (all < 8 ? all : 8) && part[0].sm.smCount == 1);
	/* explicit groups: 2, and what is left of it; more than there is; wrong ones */
	memset(g, 0, sizeof g);
	g[0].smCount = 2;
	CK(cuDevSmResourceSplit(part, 2, &sms, &rest, 0, g));
	EXPECT(part[0].sm.smCount == 2 && part[1].sm.smCount == all - 2 && g[1].smCount == all - 2 && rest.type == CU_DEV_RESOURCE_TYPE_INVALID);
	g[1].smCount = all;
	WANT(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevSmResourceSplit(part, 2, &sms, &rest, 0, g));
	g[1].smCount = 3;
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplit(part, 2, &sms, &rest, 0, g));
	g[1].smCount = 0;
	g[1].reserved[3] = 1;
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplit(part, 2, &sms, &rest, 0, g));
	memset(g, 0, sizeof g);
	CK(cuDevSmResourceSplit(NULL, 2, &sms, NULL, 0, g));    /* discovery: all, and then none */
	EXPECT(g[0].smCount == all && g[1].smCount == 0);
	/* descriptors: of one split only */
	n = 2;
	CK(cuDevSmResourceSplitByCount(part, &n, &sms, &rest, 0, 1));
	CK(cuDevResourceGenerateDesc(&desc, part, 2));
	n = 1;
	CK(cuDevSmResourceSplitByCount(&part[1], &n, &sms, NULL, 0, 1));
	WANT(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevResourceGenerateDesc(&desc, part, 2));
	part[0].type = CU_DEV_RESOURCE_TYPE_INVALID;
	WANT(CUDA_ERROR_INVALID_RESOURCE_TYPE, cuDevResourceGenerateDesc(&desc, part, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&desc, part, 0));
}

static CUgreenCtx green(unsigned n)
{
	CU_DEV_SM_RESOURCE_GROUP_PARAMS p = { .smCount = n };
	CUdevResourceDesc desc;
	CUdevResource part;
	CUgreenCtx g;

	CK(cuDevSmResourceSplit(&part, 1, &sms, NULL, 0, &p));
	CK(cuDevResourceGenerateDesc(&desc, &part, 1));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&g, desc, 0, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&g, (CUdevResourceDesc)&part, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CK(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	return g;
}

static void CUDA_CB until(void *flag)
{
	while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE))
		e2e_sleep_ms(1);
}

int main(void)
{
	enum { N = 1000 };
	CUgreenCtx g, h, got;
	CUcontext primary, own, as, now, back;
	CUstream s, t, u, plain;
	CUevent e, f;
	CUfunction affine;
	CUdevResource r;
	CUdeviceptr d;
	uint32_t mul = 3, add = 1, first = 0;
	unsigned long long a, b;
	int n = N, go = 0;

	own = drv_start("green");
	CK(cuDeviceGetDevResource(0, &sms, CU_DEV_RESOURCE_TYPE_SM));
	CK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	EXPECT_EQ(sms.sm.smCount, n);
	if (n < 4)
		e2e_skip("a device of %d multiprocessors", n);
	n = N;
	splits();
	CK(cuCtxDestroy(own));
	CK(cuDevicePrimaryCtxRetain(&primary, 0));
	CK(cuCtxSetCurrent(primary));
	g = green(2);
	h = green(4);
	CK(cuGreenCtxGetId(g, &a));
	CK(cuGreenCtxGetId(h, &b));
	EXPECT(a != b);
	CK(cuGreenCtxGetDevResource(h, &r, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT_EQ(r.sm.smCount, 4);
	CK(cuCtxGetDevResource(primary, &r, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT(r.sm.smCount == sms.sm.smCount);

	/* a handle for contexts only when it is made one */
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent((CUcontext)g));
	CK(cuCtxFromGreenCtx(&as, g));
	EXPECT(as != primary);
	CK(cuCtxPushCurrent(as));
	CK(cuCtxGetCurrent(&now));
	EXPECT(now == as);
	CK(cuGreenCtxGetId(NULL, &b));
	EXPECT(b == a);
	CK(cuCtxGetDevResource(as, &r, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT_EQ(r.sm.smCount, 2);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));         /* in what is current */
	CK(cuStreamGetGreenCtx(s, &got));
	EXPECT(got == g);
	CK(cuStreamGetGreenCtx(NULL, &got));
	EXPECT(got == g);
	WANT(CUDA_ERROR_INVALID_HANDLE, cuStreamGetCtx_v2(CU_STREAM_PER_THREAD, &now, &got));
	CK(cuMemAlloc(&d, N * 4));
	CK(cuCtxPopCurrent(&back));
	EXPECT(back == as);
	CK(cuCtxGetCurrent(&now));
	EXPECT(now == primary);
	CK(cuStreamGetGreenCtx(NULL, &got));
	EXPECT(!got);

	/* work in green streams is work of the primary context */
	WANT(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&t, h, 0, 0));
	CK(cuGreenCtxStreamCreate(&t, h, CU_STREAM_NON_BLOCKING, 0));
	CK(cuStreamGetCtx_v2(t, &now, &got));
	EXPECT(now == primary && got == h);
	CK(cuStreamGetCtx(s, &now));
	EXPECT(now == as);
	CK(cuStreamGetDevResource(t, &r, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT_EQ(r.sm.smCount, 4);
	WANT(CUDA_ERROR_INVALID_RESOURCE_TYPE, cuStreamGetDevResource(t, &r, CU_DEV_RESOURCE_TYPE_WORKQUEUE));
	CK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	CK(cuStreamGetDevResource(plain, &r, CU_DEV_RESOURCE_TYPE_SM));
	EXPECT(r.sm.smCount == sms.sm.smCount);
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	CK(cuMemsetD32(d, 5, N));

	/* an event of one green context does not wait for the other's; one of all does, and so does who waits for it, now or later */
	CK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
	CK(cuLaunchHostFunc(s, until, &go));
	LAUNCH(affine, 4, 256, 0, s, &d, &mul, &add, &n);
	CK(cuGreenCtxRecordEvent(h, e));
	CK(cuEventSynchronize(e));
	CK(cuGreenCtxRecordEvent(g, e));
	CK(cuCtxRecordEvent(primary, f));
	WANT(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	WANT(CUDA_ERROR_NOT_READY, cuEventQuery(f));
	CK(cuGreenCtxWaitEvent(h, e));
	LAUNCH(affine, 4, 256, 0, t, &d, &mul, &add, &n);
	CK(cuGreenCtxStreamCreate(&u, h, CU_STREAM_NON_BLOCKING, 0));
	CK(cuMemcpyDtoHAsync(&first, d, 4, plain));             /* of neither: at once */
	CK(cuStreamSynchronize(plain));
	EXPECT_EQ(first, 5);
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(t));
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(u));           /* made behind the wait */
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	CK(cuStreamSynchronize(t));
	CK(cuEventSynchronize(f));
	CK(cuMemcpyDtoH(&first, d, 4));
	EXPECT_EQ(first, (5 * 3 + 1) * 3 + 1);
	CK(cuStreamSynchronize(u));
	CK(cuStreamDestroy(u));
	/* not while a stream captures */
	CK(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
	WANT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGreenCtxRecordEvent(h, e));
	CK(cuGreenCtxRecordEvent(g, e));
	{
		CUgraph none;

		WANT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(t, &none));
	}

	/* what is left of its streams: they can be destroyed */
	CK(cuGreenCtxDestroy(h));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxGetId(h, &a));
	WANT(CUDA_ERROR_STREAM_DETACHED, cuStreamSynchronize(t));
	WANT(CUDA_ERROR_STREAM_DETACHED, cuMemsetD8Async(d, 0, 4, t));
	CK(cuStreamDestroy(t));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(t));
	CK(cuStreamSynchronize(s));
	CK(cuStreamDestroy(s));
	CK(cuGreenCtxDestroy(g));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(as));
	CK(cuMemFree(d));
	CK(cuDevicePrimaryCtxRelease(0));
	return e2e_end("splits, streams and events of two green contexts");
}
