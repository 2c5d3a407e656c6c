/* SPDX-License-Identifier: MIT */
/* The driver probe: streams, their attributes, values that they wait for, events. */
#include "driver.h"

static CUdeviceptr flag_dev;
static volatile unsigned int *flag_host;

static void the_flag(void)
{
	void *p = NULL;

	cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP);
	flag_host = p;
	*flag_host = 0;
	cuMemHostGetDevicePointer_v2(&flag_dev, p, 0);
}

static void CUDA_CB called(CUstream s, CUresult r, void *user)
{
	(void)s;
	*(int *)user = 100 + (int)r;
}

static void CUDA_CB host_fn(void *user)
{
	*(int *)user = 1;
}

static int in_fn[6];
static void CUDA_CB calls_inside(void *user)
{
	CUevent e;
	CUdeviceptr p;
	CUstream s;

	(void)user;
	in_fn[0] = cuStreamQuery(NULL);
	in_fn[1] = cuMemAlloc_v2(&p, 16);
	in_fn[2] = cuEventCreate(&e, 0);
	in_fn[3] = cuStreamCreate(&s, 0);
	in_fn[4] = cuCtxSynchronize();
	in_fn[5] = cuInit(0);
}

GROUP(streams)
{
	CUstream s = NULL, s2 = NULL;
	CUcontext c = start(), c2 = NULL;
	unsigned int f = 7;
	int pr = 7, dev = 7, hit = 0;
	unsigned long long id = 0, id2 = 0;
	CUevent e = NULL;
	CUmodule m = module();
	CUfunction wait = function(m, "wait_for");
	CUgreenCtx gc = P(7);
	void *args[1] = { &flag_dev };

	the_flag();
	static const unsigned int flags[] = { 0, 1, 2, 3, 4, 8, 0x100, 0x80000000 };
	for (size_t i = 0; i < NEL(flags); i++) {
		tag("flags 0x%x", flags[i]);
		s = NULL;
		R(cuStreamCreate(&s, flags[i]));
		if (s)
			RV(cuStreamGetFlags(s, &f), "%u", f);
		R(cuStreamCreateWithPriority(&s2, flags[i], 0));
	}
	for (int i = -8; i < 4; i++) {
		tag("priority %d", i);
		R(cuStreamCreateWithPriority(&s, 1, i));
		RV(cuStreamGetPriority(s, &pr), "%d", pr);
	}
	tag("%s", "");
	R(cuStreamCreate(NULL, 0));
	R(cuStreamCreate(NULL, 9));
	CUstream all[] = { s, NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };
	static const char *const names[] = { "own", "null", "legacy", "per-thread" };
	for (int i = 0; i < 4; i++) {
		tag("%s stream", names[i]);
		RV(cuStreamGetFlags(all[i], &f), "%u", f);
		R(cuStreamGetFlags(all[i], NULL));
		RV(cuStreamGetPriority(all[i], &pr), "%d", pr);
		R(cuStreamGetPriority(all[i], NULL));
		RV(cuStreamGetId(all[i], &id), "%s", i ? id < 3 ? id == 1 ? "1" : id ? "2" : "0" : "positive" : id ? "positive" : "zero");
		R(cuStreamGetId(all[i], NULL));
		RV(cuStreamGetCtx(all[i], &c2), "same %d", c == c2);
		R(cuStreamGetCtx(all[i], NULL));
		RV(cuStreamGetCtx_v2(all[i], &c2, &gc), "context %s, green %s", c2 == c ? "same" : c2 ? "another" : "null", gc ? gc == P(7) ? "untouched" : "set" : "null");
		RV(cuStreamGetDevice(all[i], &dev), "%d", dev);
		R(cuStreamQuery(all[i]));
		R(cuStreamSynchronize(all[i]));
		R(cuLaunchHostFunc(all[i], host_fn, &hit));
		R(cuStreamSynchronize(all[i]));
		R(cuStreamAddCallback(all[i], called, &hit, 0));
		R(cuStreamSynchronize(all[i]));
		SAY("called with %d", hit);
		R(cuStreamAddCallback(all[i], called, &hit, 1));
		R(cuStreamAddCallback(all[i], NULL, &hit, 0));
		R(cuLaunchHostFunc(all[i], NULL, &hit));
		if (i)
			R(cuStreamDestroy_v2(all[i]));
	}
	tag("%s", "");
	cuStreamGetId(NULL, &id);
	cuStreamGetId(CU_STREAM_LEGACY, &id2);
	SAY("null and legacy have one id %d", id == id2);
	cuStreamGetId(s, &id);
	cuStreamGetId(s2, &id2);
	SAY("ids differ %d", id != id2);
	tag("ptsz");
	cuStreamGetId_ptsz(NULL, &id);
	cuStreamGetId(CU_STREAM_PER_THREAD, &id2);
	SAY("null is per-thread %d", id == id2);
	R(cuStreamGetFlags_ptsz(NULL, &f));
	R(cuStreamSynchronize_ptsz(NULL));
	tag("calls from a host function");
	memset(in_fn, 0xff, sizeof in_fn);
	R(cuLaunchHostFunc(s, calls_inside, NULL));
	R(cuStreamSynchronize(s));
	for (int i = 0; i < 6; i++)
		SAY("%d: %s", i, err((CUresult)in_fn[i]));
	tag("busy");
	*flag_host = 0;
	R(cuStreamCreate(&s, 1));
	R(cuStreamCreate(&s2, 1));
	R(cuEventCreate(&e, 0));
	R(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	R(cuStreamQuery(s));
	R(cuEventRecord(e, s));
	R(cuEventQuery(e));
	R(cuStreamWaitEvent(s2, e, 0));
	R(cuStreamQuery(s2));
	R(cuStreamQuery(NULL));
	R(cuStreamQuery(CU_STREAM_PER_THREAD));
	R(cuStreamDestroy_v2(s2));
	R(cuEventDestroy_v2(e));
	*flag_host = 1;
	R(cuStreamSynchronize(s));
	R(cuStreamQuery(s));
	tag("destroyed with work");
	*flag_host = 0;
	R(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	R(cuStreamDestroy_v2(s));
	*flag_host = 1;
	R(cuCtxSynchronize());
	tag("wait, flags");
	R(cuStreamCreate(&s, 0));
	R(cuEventCreate(&e, 0));
	for (unsigned int i = 0; i < 4; i++) {
		tag("flags %u", i);
		R(cuStreamWaitEvent(s, e, i));
		R(cuEventRecordWithFlags(e, s, i));
	}
	tag("%s", "");
	R(cuStreamWaitEvent(s, NULL, 0));
	R(cuStreamGetPriority(P(0x1234), &pr));
}

GROUP(destroyed)
{
	CUstream s;
	CUevent e = NULL;
	unsigned int f;

	start();
	s = stream(0);
	cuEventCreate(&e, 0);
	R(cuStreamDestroy_v2(s));
	R(cuEventDestroy_v2(e));
	tag("a stream that is gone");
	R(cuStreamQuery(s));
	R(cuStreamSynchronize(s));
	R(cuStreamGetFlags(s, &f));
	R(cuEventRecord(e, s));
	R(cuStreamDestroy_v2(s));
	R(cuMemsetD8Async(alloc(16), 0, 16, s));
	R(cuLaunchHostFunc(s, host_fn, &f));
	R(cuStreamBeginCapture_v2(s, 0));
	R(cuStreamWaitEvent(s, e, 0));
	tag("an event that is gone");
	R(cuEventQuery(e));
	R(cuEventSynchronize(e));
	R(cuEventRecord(e, NULL));
	R(cuEventDestroy_v2(e));
	R(cuStreamWaitEvent(NULL, e, 0));
}

GROUP(nulls)
{
	start();
	R(cuEventQuery(NULL));
	R(cuEventSynchronize(NULL));
	R(cuEventRecord(NULL, NULL));
	R(cuEventDestroy_v2(NULL));
	R(cuStreamWaitEvent(NULL, NULL, 0));
	R(cuStreamDestroy_v2(NULL));
}

/* Handles that never were */
GROUP(wild)
{
	unsigned int f;

	start();
	R(cuStreamQuery(P(0x1238)));
	R(cuStreamSynchronize(P(0x1238)));
	R(cuEventQuery(P(0x1238)));
	R(cuEventRecord(P(0x1238), NULL));
	R(cuModuleUnload(P(0x1238)));
	R(cuFuncGetAttribute((int *)&f, 0, P(0x1238)));
	R(cuLaunchKernel(P(0x1238), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	R(cuGraphDestroy(P(0x1238)));
	R(cuGraphExecDestroy(P(0x1238)));
	R(cuGraphLaunch(P(0x1238), NULL));
	R(cuArrayDestroy(P(0x1238)));
	R(cuMemPoolDestroy(P(0x1238)));
	R(cuLibraryUnload(P(0x1238)));
}

GROUP(stream_attributes)
{
	CUstream s, s2;
	CUstreamAttrValue v, w;

	start();
	s = stream(0);
	s2 = stream(0);
	CUstream all[] = { s, NULL, CU_STREAM_PER_THREAD };
	for (int k = 0; k < 3; k++)
		for (int i = -1; i < 18; i++) {
			tag("stream %d, attribute %d", k, i);
			memset(&v, 0, sizeof v);
			RV(cuStreamGetAttribute(all[k], (CUstreamAttrID)i, &v), "%d", v.cooperative);
			memset(&w, 0, sizeof w);
			R(cuStreamSetAttribute(all[k], (CUstreamAttrID)i, &w));
			w.cooperative = 1;
			if (i != 1)
				R(cuStreamSetAttribute(all[k], (CUstreamAttrID)i, &w));
			w.cooperative = -5;
			if (i != 1)
				R(cuStreamSetAttribute(all[k], (CUstreamAttrID)i, &w));
			w.cooperative = 99;
			if (i != 1)
				R(cuStreamSetAttribute(all[k], (CUstreamAttrID)i, &w));
			memset(&v, 0, sizeof v);
			RV(cuStreamGetAttribute(all[k], (CUstreamAttrID)i, &v), "%d", v.cooperative);
		}
	tag("window");
	for (int i = 0; i < 6; i++)
		for (int h = 0; h < 4; h++) {
			memset(&w, 0, sizeof w);
			w.accessPolicyWindow.base_ptr = P(alloc(1 << 20));
			w.accessPolicyWindow.num_bytes = i == 5 ? (size_t)1 << 40 : 1 << 20;
			w.accessPolicyWindow.hitRatio = (float)(i - 1) * .5f;
			w.accessPolicyWindow.hitProp = (CUaccessProperty)h;
			w.accessPolicyWindow.missProp = (CUaccessProperty)(h == 2 ? 2 : 1);
			tag("window %d %d", i, h);
			R(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w));
		}
	tag("%s", "");
	R(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL));
	R(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL));
	R(cuStreamCopyAttributes(s2, s));
	R(cuStreamCopyAttributes(s, s));
	R(cuStreamCopyAttributes(s2, NULL));
	R(cuStreamCopyAttributes(NULL, s));
}

GROUP(stream_values)
{
	CUdeviceptr p;
	CUstream s;
	unsigned int out = 0;
	static const unsigned int flags[] = { 0, 1, 2, 3, 4, 7, 1u << 30, (1u << 30) | 1, 1u << 31 };
	CUstreamBatchMemOpParams op[3];

	start();
	s = stream(0);
	p = alloc(64);
	cuMemsetD8_v2(p, 0xff, 64);
	for (size_t i = 0; i < NEL(flags); i++) {
		tag("flags 0x%x", flags[i]);
		cuMemsetD32_v2(p, flags[i] == 3 ? 0 : 5, 16);
		R(cuStreamWaitValue32_v2(s, p, 5, flags[i]));
		cuMemsetD32_v2(p, flags[i] == 3 ? 0 : 5, 16);
		R(cuStreamWaitValue64_v2(s, p, 0x500000005ull, flags[i]));
		R(cuStreamWriteValue32_v2(s, p, 7, flags[i]));
		R(cuStreamWriteValue64_v2(s, p, 7, flags[i]));
		R(cuStreamSynchronize(s));
	}
	for (unsigned int o = 1; o < 8; o++) {
		tag("offset %u", o);
		R(cuStreamWriteValue32_v2(s, p + o, 7, 0));
		R(cuStreamWriteValue64_v2(s, p + o, 7, 0));
		R(cuStreamWaitValue32_v2(s, p + o, 0, 0));
		R(cuStreamWaitValue64_v2(s, p + o, 0, 0));
	}
	tag("%s", "");
	R(cuStreamWriteValue32_v2(s, 0, 7, 0));
	R(cuStreamWriteValue32_v2(s, WILD, 7, 0));
	R(cuStreamWaitValue32_v2(s, 0, 0, 0));
	R(cuStreamWaitValue32_v2(s, WILD, 0, 0));
	R(cuStreamWriteValue32_v2(s, (CUdeviceptr)(uintptr_t)&out, 7, 0));
	R(cuStreamWriteValue32_v2(NULL, p, 7, 0));
	R(cuStreamWriteValue32_v2(CU_STREAM_LEGACY, p, 7, 0));
	R(cuStreamWriteValue32_v2(CU_STREAM_PER_THREAD, p, 7, 0));
	R(cuStreamSynchronize(s));
	for (int t = 0; t < 9; t++) {
		memset(op, 0, sizeof op);
		op[0].operation = (CUstreamBatchMemOpType)t;
		if (t != 3 && t != 6) {
			op[0].writeValue.address = p;
		}
		tag("operation %d", t);
		R(cuStreamBatchMemOp_v2(s, 1, op, 0));
		R(cuStreamBatchMemOp(s, 1, op, 0));
	}
	memset(op, 0, sizeof op);
	for (int i = 0; i < 3; i++) {
		op[i].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
		op[i].writeValue.address = p + 4 * (unsigned int)i;
		op[i].writeValue.value = 40 + (unsigned int)i;
	}
	tag("batch");
	R(cuStreamBatchMemOp_v2(s, 3, op, 0));
	R(cuStreamBatchMemOp_v2(s, 0, op, 0));
	R(cuStreamBatchMemOp_v2(s, 0, NULL, 0));
	R(cuStreamBatchMemOp_v2(s, 1, NULL, 0));
	R(cuStreamBatchMemOp_v2(s, 3, op, 1));
	R(cuStreamBatchMemOp_v2(s, 257, op, 0));
	op[1].writeValue.address = WILD;
	R(cuStreamBatchMemOp_v2(s, 3, op, 0));
	R(cuStreamSynchronize(s));
	R(cuMemcpyDtoH_v2(&out, p, 4));
	SAY("%u", out);
}

GROUP(events)
{
	CUevent a = NULL, b = NULL, n = NULL;
	float ms = -1;
	static const unsigned int flags[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x100, 0x80000000 };
	CUstream s;
	CUmodule m;
	void *args[1] = { &flag_dev };
	CUfunction wait;

	start();
	m = module();
	wait = function(m, "wait_for");
	the_flag();
	s = stream(1);
	for (size_t i = 0; i < NEL(flags); i++) {
		tag("flags 0x%x", flags[i]);
		R(cuEventCreate(&a, flags[i]));
	}
	tag("%s", "");
	R(cuEventCreate(NULL, 0));
	R(cuEventCreate(&a, 0));
	R(cuEventCreate(&b, 0));
	R(cuEventCreate(&n, CU_EVENT_DISABLE_TIMING));
	tag("unrecorded");
	R(cuEventQuery(a));
	R(cuEventSynchronize(a));
	R(cuStreamWaitEvent(s, a, 0));
	R(cuEventElapsedTime(&ms, a, b));
	R(cuEventElapsedTime_v2(&ms, a, b));
	R(cuEventElapsedTime(&ms, a, n));
	R(cuEventElapsedTime(&ms, n, n));
	tag("one recorded");
	R(cuEventRecord(a, NULL));
	R(cuEventSynchronize(a));
	R(cuEventElapsedTime(&ms, a, b));
	R(cuEventElapsedTime(&ms, b, a));
	R(cuEventElapsedTime(&ms, a, n));
	tag("both");
	R(cuEventRecord(b, NULL));
	R(cuEventSynchronize(b));
	RV(cuEventElapsedTime(&ms, a, b), "not negative %d", ms >= 0);
	RV(cuEventElapsedTime(&ms, b, a), "not positive %d", ms <= 0);
	RV(cuEventElapsedTime(&ms, a, a), "zero %d", ms == 0);
	R(cuEventElapsedTime(NULL, a, b));
	R(cuEventElapsedTime(&ms, NULL, b));
	R(cuEventElapsedTime(&ms, a, NULL));
	R(cuEventRecord(n, NULL));
	R(cuEventSynchronize(n));
	R(cuEventElapsedTime(&ms, a, n));
	R(cuEventElapsedTime(&ms, n, b));
	R(cuEventElapsedTime_v2(&ms, a, n));
	tag("busy");
	*flag_host = 0;
	R(cuEventRecord(a, s));
	R(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	R(cuEventRecord(b, s));
	R(cuEventRecord(n, s));
	R(cuEventQuery(b));
	R(cuEventElapsedTime(&ms, a, b));
	R(cuEventElapsedTime(&ms, a, n));
	R(cuEventElapsedTime(&ms, b, a));
	R(cuEventElapsedTime(&ms, b, n));
	R(cuEventElapsedTime(&ms, n, b));
	R(cuEventDestroy_v2(n));
	*flag_host = 1;
	R(cuEventSynchronize(b));
	RV(cuEventElapsedTime(&ms, a, b), "positive %d", ms > 0);
	tag("flags of a record");
	for (unsigned int i = 0; i < 4; i++)
		R(cuEventRecordWithFlags(a, s, i));
	R(cuEventRecord(a, CU_STREAM_LEGACY));
	R(cuEventRecord(a, CU_STREAM_PER_THREAD));
	D(cuCtxRecordEvent, (CUcontext, CUevent), (NULL, a));
	D(cuCtxWaitEvent, (CUcontext, CUevent), (NULL, a));
}
