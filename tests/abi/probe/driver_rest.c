/* SPDX-License-Identifier: MIT */
/* The driver probe: what few programs call: external objects, green contexts, multicast, core dumps, profilers, peers, logs, checkpoints. */
#include "driver.h"

GROUP(external)
{
	unsigned long long d[32];
	void *o = NULL;
	CUdeviceptr p = 0;

	start();
	for (unsigned long long t = 0; t < 12; t++) {
		memset(d, 0, sizeof d);
		d[0] = t;
		d[1] = 9999;    /* a descriptor that is none */
		d[3] = 4096;
		tag("type %llu", t);
		D(cuImportExternalMemory, (void **, void *), (&o, d));
		memset(d, 0, sizeof d);
		d[0] = t;
		d[1] = 9999;
		D(cuImportExternalSemaphore, (void **, void *), (&o, d));
	}
	tag("%s", "");
	D(cuImportExternalMemory, (void **, void *), (NULL, d));
	D(cuImportExternalMemory, (void **, void *), (&o, NULL));
	D(cuDestroyExternalMemory, (void *), (NULL));
	D(cuDestroyExternalSemaphore, (void *), (NULL));
	D(cuExternalMemoryGetMappedBuffer, (CUdeviceptr *, void *, void *), (&p, NULL, d));
	D(cuSignalExternalSemaphoresAsync, (void *, void *, unsigned int, CUstream), (NULL, NULL, 0, NULL));
	D(cuSignalExternalSemaphoresAsync, (void *, void *, unsigned int, CUstream), (NULL, NULL, 1, NULL));
	D(cuWaitExternalSemaphoresAsync, (void *, void *, unsigned int, CUstream), (NULL, NULL, 0, NULL));
	D(cuMemGetHandleForAddressRange, (void *, CUdeviceptr, size_t, int, unsigned long long), (d, alloc(4096), 4096, 1, 0));
	D(cuMemGetHandleForAddressRange, (void *, CUdeviceptr, size_t, int, unsigned long long), (d, 0, 4096, 1, 0));
	D(cuMemGetHandleForAddressRange, (void *, CUdeviceptr, size_t, int, unsigned long long), (d, alloc(4096), 4096, 7, 0));
	D(cuFlushGPUDirectRDMAWrites, (int, int), (0, 100));
	D(cuFlushGPUDirectRDMAWrites, (int, int), (7, 100));
	D(cuGraphicsUnregisterResource, (void *), (NULL));
	D(cuGraphicsMapResources, (unsigned int, void *, CUstream), (0, NULL, NULL));
	D(cuGraphicsMapResources, (unsigned int, void *, CUstream), (1, NULL, NULL));
}

GROUP(green)
{
	CUdevResource r, parts[64], rest;
	CUdevResourceDesc desc = NULL;
	CUgreenCtx gc = NULL, out = NULL;
	CUcontext c = NULL, pc;
	CUstream s = NULL;
	unsigned int n;
	CUevent e = NULL;
	static const int types[] = { -1, 0, 1, 2, 3, 1000, 10000 };

	pc = start();
	for (size_t i = 0; i < NEL(types); i++) {
		tag("type %d", types[i]);
		memset(&r, 0, sizeof r);
		RV(cuDeviceGetDevResource(0, &r, (CUdevResourceType)types[i]), "~%u SMs, at least %u, aligned %u, type %d", r.sm.smCount, r.sm.minSmPartitionSize, r.sm.smCoscheduledAlignment, r.type);
		R(cuCtxGetDevResource(pc, &r, (CUdevResourceType)types[i]));
	}
	tag("%s", "");
	R(cuDeviceGetDevResource(9, &r, 1));
	R(cuDeviceGetDevResource(0, NULL, 1));
	R(cuCtxGetDevResource(NULL, &r, 1));
	R(cuDeviceGetDevResource(0, &r, 1));
	for (unsigned int fl = 0; fl < 5; fl++)
		for (unsigned int m = 0; m < 300; m = m ? m < 4 ? m * 2 : m * 3 : 1) {
			n = 2;
			tag("split, at least %u, flags %u", m, fl);
			RV(cuDevSmResourceSplitByCount(parts, &n, &r, &rest, fl, m), "%u of %u, rest ~%u", n, parts[0].sm.smCount, rest.sm.smCount);
		}
	tag("split");
	n = 0;
	R(cuDevSmResourceSplitByCount(NULL, &n, &r, &rest, 0, 16));
	SAY("~%u", n);
	n = 1;
	R(cuDevSmResourceSplitByCount(parts, NULL, &r, &rest, 0, 16));
	R(cuDevSmResourceSplitByCount(parts, &n, NULL, &rest, 0, 16));
	R(cuDevSmResourceSplitByCount(parts, &n, &r, NULL, 0, 16));
	R(cuDevResourceGenerateDesc(&desc, NULL, 1));
	R(cuDevResourceGenerateDesc(&desc, parts, 0));
	R(cuDevResourceGenerateDesc(NULL, parts, 1));
	R(cuDevResourceGenerateDesc(&desc, parts, 1));
	for (unsigned int fl = 0; fl < 3; fl++)
		R(cuGreenCtxCreate(&gc, desc, 0, fl));
	R(cuGreenCtxCreate(&gc, NULL, 0, 1));
	R(cuGreenCtxCreate(&gc, desc, 9, 1));
	R(cuGreenCtxCreate(NULL, desc, 0, 1));
	R(cuGreenCtxCreate(&gc, desc, 0, 1));
	R(cuCtxFromGreenCtx(&c, gc));
	R(cuCtxFromGreenCtx(NULL, gc));
	R(cuCtxFromGreenCtx(&c, NULL));
	RV(cuGreenCtxGetDevResource(gc, &rest, 1), "%u", rest.sm.smCount);
	for (unsigned int fl = 0; fl < 3; fl++)
		R(cuGreenCtxStreamCreate(&s, gc, fl, 0));
	R(cuGreenCtxStreamCreate(&s, NULL, 1, 0));
	R(cuGreenCtxStreamCreate(&s, gc, 1, 0));
	RV(cuStreamGetGreenCtx(s, &out), "same %d", out == gc);
	RV(cuStreamGetGreenCtx(NULL, &out), "%s", out ? "set" : "null");
	cuEventCreate(&e, 0);
	R(cuGreenCtxRecordEvent(gc, e));
	R(cuGreenCtxWaitEvent(gc, e));
	R(cuGreenCtxRecordEvent(NULL, e));
	R(cuGreenCtxRecordEvent(gc, NULL));
	R(cuStreamSynchronize(s));
	R(cuCtxSetCurrent(c));
	RV(cuCtxGetDevResource(c, &rest, 1), "%u", rest.sm.smCount);
	R(cuLaunchKernel(function(module(), "nop"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	R(cuCtxSynchronize());
	R(cuCtxDestroy_v2(c));
	R(cuCtxSetCurrent(pc));
	R(cuStreamDestroy_v2(s));
	R(cuGreenCtxDestroy(gc));
	R(cuGreenCtxDestroy(NULL));
}

GROUP(multicast)
{
	unsigned long long h = 0, prop[4] = { 1, 2 << 20, 0, 0 };
	size_t z = 0;

	start();
	D(cuMulticastGetGranularity, (size_t *, void *, int), (&z, prop, 0));
	D(cuMulticastGetGranularity, (size_t *, void *, int), (&z, NULL, 0));
	D(cuMulticastCreate, (void *, void *), (NULL, prop));
	D(cuMulticastCreate, (void *, void *), (&h, NULL));
	D(cuMulticastAddDevice, (unsigned long long, int), (0, 0));
	D(cuMulticastUnbind, (unsigned long long, int, size_t, size_t), (0, 0, 0, 0));
	D(cuMulticastBindMem, (unsigned long long, size_t, unsigned long long, size_t, size_t, unsigned long long), (0, 0, 0, 0, 0, 0));
}

GROUP(coredump)
{
	unsigned char buf[1024];
	size_t z;
	unsigned char one = 1;

	cuInit(0);
	for (int k = 0; k < 2; k++) {
		if (k)
			start();
		for (int i = 0; i < 9; i++) {
			tag("%s, attribute %d", k ? "context" : "none", i);
			z = sizeof buf;
			memset(buf, 0, sizeof buf);
			RV(cuCoredumpGetAttribute((CUcoredumpSettings)i, buf, &z), "%zu", i == 5 || i == 6 ? 0 : z);
			z = sizeof buf;
			RV(cuCoredumpGetAttributeGlobal((CUcoredumpSettings)i, buf, &z), "%zu, first byte %d", i == 5 || i == 6 ? 0 : z, i == 5 || i == 6 ? 0 : buf[0]);
			z = 0;
			R(cuCoredumpGetAttributeGlobal((CUcoredumpSettings)i, buf, &z));
			R(cuCoredumpGetAttributeGlobal((CUcoredumpSettings)i, NULL, &z));
			z = 1;
			one = 0;
			if (i != 5 && i != 6 && i != 7)
				R(cuCoredumpSetAttribute((CUcoredumpSettings)i, &one, &z));
			if (i != 5 && i != 6 && i != 7)
				R(cuCoredumpSetAttributeGlobal((CUcoredumpSettings)i, &one, &z));
			R(cuCoredumpSetAttributeGlobal((CUcoredumpSettings)i, NULL, &z));
			R(cuCoredumpSetAttributeGlobal((CUcoredumpSettings)i, &one, NULL));
		}
	}
}

GROUP(profiler)
{
	int v = 0;

	start();
	R(cuProfilerStart());
	R(cuProfilerStart());
	R(cuProfilerStop());
	R(cuProfilerStop());
	D(cuProfilerInitialize, (const char *, const char *, int), ("a", "b", 0));
	D(cuProfilerInitialize, (const char *, const char *, int), (NULL, NULL, 9));
	D(cuCheckpointProcessGetState, (int, int *), ((int)getpid(), &v));
	D(cuCheckpointProcessGetState, (int, int *), (1, &v));
	D(cuCheckpointProcessGetState, (int, int *), (-1, &v));
	D(cuCheckpointProcessGetState, (int, int *), ((int)getpid(), NULL));
	D(cuCheckpointProcessGetRestoreThreadId, (int, int *), ((int)getpid(), &v));
	D(cuCheckpointProcessLock, (int, void *), (99999999, NULL));
	D(cuCheckpointProcessUnlock, (int, void *), (99999999, NULL));
	D(cuCheckpointProcessCheckpoint, (int, void *), (99999999, NULL));
	D(cuCheckpointProcessRestore, (int, void *), (99999999, NULL));
}

GROUP(peer)
{
	CUcontext c = start(), o = NULL;

	R(cuCtxEnablePeerAccess(c, 0));
	R(cuCtxEnablePeerAccess(c, 1));
	R(cuCtxEnablePeerAccess(NULL, 0));
	R(cuCtxDisablePeerAccess(c));
	R(cuCtxDisablePeerAccess(NULL));
	in_start = 1;
	R(cuCtxCreate_v2(&o, 0, 0));
	R(cuCtxEnablePeerAccess(c, 0));
	R(cuCtxEnablePeerAccess(c, 0));
	R(cuCtxDisablePeerAccess(c));
	R(cuCtxDisablePeerAccess(c));
	D(cuLaunchCooperativeKernelMultiDevice, (void *, unsigned int, unsigned int), (NULL, 0, 0));
	D(cuDeviceRegisterAsyncNotification, (int, void *, void *, void **), (0, NULL, NULL, (void **)&o));
	D(cuDeviceUnregisterAsyncNotification, (int, void *), (0, NULL));
	D(cuMemBatchDecompressAsync, (void *, size_t, unsigned int, size_t *, CUstream), (NULL, 0, 0, NULL, NULL));
	D(cuTensorMapEncodeTiled, (void *, int, unsigned int, void *, void *, void *, void *, void *, int, int, int, int), (NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0));
	D(cuTensorMapReplaceAddress, (void *, void *), (NULL, NULL));
	D(cuVDPAUGetDevice, (void *, int, int, void *), (NULL, 0, 0, NULL));
	D(cuGLInit, (void), ());
}

static void CUDA_CB hear(void *user, CUlogLevel level, char *message, size_t length)
{
	(void)level, (void)message, (void)length;
	++*(int *)user;
}

GROUP(logs)
{
	CUlogIterator at = 77;
	CUlogsCallbackHandle h = NULL;
	static char text[30000];
	size_t z = sizeof text;
	int heard = 0;

	start();
	R(cuLogsCurrent(&at, 0));
	R(cuLogsCurrent(&at, 1));
	R(cuLogsCurrent(NULL, 0));
	R(cuLogsRegisterCallback(NULL, NULL, &h));
	R(cuLogsRegisterCallback(hear, &heard, NULL));
	R(cuLogsRegisterCallback(hear, &heard, &h));
	R(cuMemFree_v2(WILD));
	R(cuCtxSetLimit(99, 1));
	R(cuLaunchKernel(function(module(), "nop"), 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	SAY("heard %s", heard ? "something" : "nothing");
	R(cuLogsDumpToMemory(&at, text, &z, 0));
	SAY("%s", z ? "something" : "nothing");
	R(cuLogsDumpToMemory(&at, text, &z, 1));
	R(cuLogsDumpToMemory(NULL, text, &z, 0));
	R(cuLogsDumpToMemory(&at, NULL, &z, 0));
	z = 10;
	R(cuLogsDumpToMemory(&at, text, &z, 0));
	R(cuLogsDumpToFile(&at, "/nonexistent/x", 0));
	R(cuLogsDumpToFile(&at, NULL, 0));
	R(cuLogsUnregisterCallback(h));
	R(cuLogsUnregisterCallback(h));
	R(cuLogsUnregisterCallback(NULL));
}
