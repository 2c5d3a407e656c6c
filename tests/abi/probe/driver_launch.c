/* SPDX-License-Identifier: MIT */
/* The driver probe: launches that are right, wrong, and that kill their context. */
#include "driver.h"

static CUmodule m;

GROUP(launches)
{
	CUfunction nop, params, sh, dyn, bound, req, cl;
	static const struct { unsigned int g[3], b[3], s; } t[] = {
		{ { 1, 1, 1 }, { 1, 1, 1 }, 0 }, { { 0, 1, 1 }, { 1, 1, 1 }, 0 }, { { 1, 0, 1 }, { 1, 1, 1 }, 0 }, { { 1, 1, 0 }, { 1, 1, 1 }, 0 }, { { 1, 1, 1 }, { 0, 1, 1 }, 0 },
		{ { 1, 1, 1 }, { 1, 0, 1 }, 0 }, { { 1, 1, 1 }, { 1, 1, 0 }, 0 }, { { 1, 1, 1 }, { 1024, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1025, 1, 1 }, 0 }, { { 1, 1, 1 }, { 1, 1024, 1 }, 0 },
		{ { 1, 1, 1 }, { 1, 1, 64 }, 0 }, { { 1, 1, 1 }, { 1, 1, 65 }, 0 }, { { 1, 1, 1 }, { 32, 32, 2 }, 0 }, { { 1, 1, 1 }, { 0xffffffff, 1, 1 }, 0 }, { { 1, 1, 1 }, { 65536, 65536, 1 }, 0 },
		{ { 0x7fffffff, 1, 1 }, { 0, 1, 1 }, 0 }, { { 0x80000000, 1, 1 }, { 1, 1, 1 }, 0 }, { { 1, 65535, 1 }, { 1, 1, 1 }, 0 }, { { 1, 65536, 1 }, { 1, 1, 1 }, 0 }, { { 1, 1, 65535 }, { 1, 1, 1 }, 0 }, { { 1, 1, 65536 }, { 1, 1, 1 }, 0 },
		{ { 0, 0, 0 }, { 0, 0, 0 }, 0 }, { { 1, 1, 1 }, { 1, 1, 1 }, 49152 }, { { 1, 1, 1 }, { 1, 1, 1 }, 49153 }, { { 1, 1, 1 }, { 1, 1, 1 }, 232448 }, { { 1, 1, 1 }, { 1, 1, 1 }, 232449 }, { { 1, 1, 1 }, { 1, 1, 1 }, 0xffffffff },
		{ { 1, 1, 1 }, { 1, 1, 1 }, 37152 }, { { 1, 1, 1 }, { 1, 1, 1 }, 37153 }, { { 1, 1, 1 }, { 128, 1, 1 }, 0 }, { { 1, 1, 1 }, { 129, 1, 1 }, 0 }, { { 1, 1, 1 }, { 64, 2, 1 }, 0 }, { { 1, 1, 1 }, { 2, 64, 1 }, 0 }, { { 2, 1, 1 }, { 64, 1, 1 }, 0 }, { { 3, 1, 1 }, { 64, 1, 1 }, 0 },
	};
	CUstream s;
	unsigned char buf[256] = { 0 };
	size_t n;
	unsigned long long a8 = 0;

	start();
	s = stream(0);
	m = module();
	nop = function(m, "nop"), params = function(m, "params"), sh = function(m, "static_shared"), dyn = function(m, "dynamic_shared");
	bound = function(m, "bounded"), req = function(m, "required"), cl = function(m, "clustered");
	const struct { const char *name; CUfunction f; } fs[] = { { "nop", nop }, { "static_shared", sh }, { "dynamic_shared", dyn }, { "bounded", bound }, { "required", req }, { "clustered", cl } };
	for (size_t k = 0; k < NEL(fs); k++)
		for (size_t i = 0; i < NEL(t); i++) {
			if (k && i > 0 && i < 22 && i != 8)
				continue;
			tag("%s, grid %u %u %u, block %u %u %u, shared %u", fs[k].name, t[i].g[0], t[i].g[1], t[i].g[2], t[i].b[0], t[i].b[1], t[i].b[2], t[i].s);
			R(cuLaunchKernel(fs[k].f, t[i].g[0], t[i].g[1], t[i].g[2], t[i].b[0], t[i].b[1], t[i].b[2], t[i].s, s, NULL, NULL));
			if (!k || i > 21)
				R(cuLaunchCooperativeKernel(fs[k].f, t[i].g[0], t[i].g[1], t[i].g[2], t[i].b[0], t[i].b[1], t[i].b[2], t[i].s, s, NULL));
		}
	tag("%s", "");
	R(cuStreamSynchronize(s));
	R(cuFuncSetAttribute(dyn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
	R(cuLaunchKernel(dyn, 1, 1, 1, 1, 1, 1, 100000, s, NULL, NULL));
	R(cuLaunchKernel(dyn, 1, 1, 1, 1, 1, 1, 100001, s, NULL, NULL));
	R(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, NULL));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, NULL, NULL));
	tag("cooperative");
	R(cuLaunchCooperativeKernel(nop, 100000, 1, 1, 1024, 1, 1, 0, s, NULL));
	R(cuLaunchCooperativeKernel(nop, 2, 1, 1, 1024, 1, 1, 0, s, NULL));
	R(cuLaunchCooperativeKernel(nop, 2, 1, 1, 32, 1, 1, 0, NULL, NULL));
	R(cuLaunchCooperativeKernel(NULL, 2, 1, 1, 32, 1, 1, 0, NULL, NULL));
	tag("parameters");
	void *ps[4] = { buf, &a8, buf, buf };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, ps, NULL));
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
	ps[2] = NULL;
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, ps, NULL));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, s, ps, NULL));
	static const size_t sizes[] = { 0, 1, 67, 68, 69, 72, 80, 128, 256, 5000 };
	for (size_t i = 0; i < NEL(sizes); i++) {
		void *ex[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };

		if (sizes[i] > sizeof buf)
			continue;
		n = sizes[i];
		tag("buffer of %zu", n);
		R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, ex));
		R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, s, NULL, ex));
	}
	tag("buffer");
	n = 68;
	ps[2] = buf;
	void *both[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, ps, both));
	void *no_size[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, no_size));
	void *no_buffer[] = { CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, no_buffer));
	void *unknown[] = { P(9), &n, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, unknown));
	void *none[] = { CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, none));
	R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, s, NULL, none));
	void *swapped[] = { CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_BUFFER_POINTER, buf, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, swapped));
	void *null_buffer[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, &n, CU_LAUNCH_PARAM_END };
	R(cuLaunchKernel(params, 1, 1, 1, 1, 1, 1, 0, s, NULL, null_buffer));
	R(cuStreamSynchronize(s));
}

GROUP(launch_ex)
{
	CUlaunchAttribute a[2];
	CUlaunchConfig c = { 16, 1, 1, 32, 1, 1, 0, NULL, a, 1 };
	CUfunction nop, cl, many;
	CUstream s;
	CUevent e = NULL, nt = NULL;
	unsigned long long arg = 0;
	void *ps[1] = { &arg };

	start();
	m = module();
	s = stream(0);
	c.hStream = s;
	nop = function(m, "nop"), cl = function(m, "clustered"), many = function(m, "many_clusters");
	cuEventCreate(&e, 0);
	cuEventCreate(&nt, CU_EVENT_DISABLE_TIMING);
	for (int i = -1; i < 18; i++)
		for (int v = -1; v < 4; v++) {
			memset(a, 0, sizeof a);
			a[0].id = (CUlaunchAttributeID)i;
			a[0].value.cooperative = v;
			if (i == 1 || i == 7 || i == 12 || i == 13)
				continue;
			if (i == 4 || i == 11)
				a[0].value.clusterDim.x = (unsigned int)v, a[0].value.clusterDim.y = a[0].value.clusterDim.z = 1;
			tag("attribute %d = %d", i, v);
			R(cuLaunchKernelEx(&c, nop, NULL, NULL));
		}
	for (unsigned int x = 0; x < 20; x++)
		for (unsigned int grid = 15; grid < 17; grid++) {
			memset(a, 0, sizeof a);
			a[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
			a[0].value.clusterDim.x = x, a[0].value.clusterDim.y = a[0].value.clusterDim.z = 1;
			c.gridDimX = grid;
			tag("cluster of %u, grid of %u", x, grid);
			R(cuLaunchKernelEx(&c, nop, NULL, NULL));
			R(cuLaunchKernelEx(&c, cl, NULL, NULL));
			R(cuLaunchKernelEx(&c, many, NULL, NULL));
		}
	c.gridDimX = 16;
	tag("clusters over all three");
	a[0].value.clusterDim.x = 2, a[0].value.clusterDim.y = 2, a[0].value.clusterDim.z = 2;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.gridDimY = c.gridDimZ = 2;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.gridDimY = c.gridDimZ = 1;
	R(cuFuncSetAttribute(nop, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	a[0].value.clusterDim.x = 16, a[0].value.clusterDim.y = 1, a[0].value.clusterDim.z = 1;
	tag("16, not portable");
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.numAttrs = 0;
	tag("no attributes");
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	R(cuLaunchKernelEx(&c, cl, NULL, NULL));
	R(cuLaunchKernelEx(&c, many, NULL, NULL));
	R(cuLaunchKernelEx(NULL, nop, NULL, NULL));
	R(cuLaunchKernelEx(&c, NULL, NULL, NULL));
	c.attrs = NULL;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	R(cuLaunchKernelEx(&c, nop, ps, NULL));
	c.numAttrs = 1;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.attrs = a;
	tag("twice the same");
	c.numAttrs = 2;
	memset(a, 0, sizeof a);
	a[0].id = a[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	tag("cooperative with a cluster");
	a[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, a[0].value.cooperative = 1;
	a[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, a[1].value.clusterDim.x = 2, a[1].value.clusterDim.y = a[1].value.clusterDim.z = 1;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.gridDimX = 1 << 20;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	c.gridDimX = 16;
	c.numAttrs = 1;
	tag("events");
	for (int k = 0; k < 3; k++) {
		memset(a, 0, sizeof a);
		a[0].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
		a[0].value.launchCompletionEvent.event = k == 0 ? e : k == 1 ? nt : NULL;
		R(cuLaunchKernelEx(&c, nop, NULL, NULL));
		a[0].value.launchCompletionEvent.flags = 1;
		R(cuLaunchKernelEx(&c, nop, NULL, NULL));
		a[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
		a[0].value.programmaticEvent.flags = 0;
		R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	}
	tag("updatable by the device, outside a capture");
	memset(a, 0, sizeof a);
	a[0].id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
	a[0].value.deviceUpdatableKernelNode.deviceUpdatable = 1;
	R(cuLaunchKernelEx(&c, nop, NULL, NULL));
	R(cuStreamSynchronize(s));
}

GROUP(launch_fault)
{
	CUfunction trap, nop, add;
	CUdeviceptr p, bad = WILD;
	CUstream s = NULL;
	CUevent e = NULL;
	CUcontext c, c2 = NULL;
	void *args[1] = { &bad };
	unsigned int f;
	int v, act;
	size_t z;
	CUmodule mm = NULL;
	char buf[16];

	c = start();
	m = module();
	p = alloc(64);
	trap = function(m, "trapped"), nop = function(m, "nop"), add = function(m, "add_one");
	cuStreamCreate(&s, 0);
	cuEventCreate(&e, 0);
	for (int k = 0; k < 2; k++) {
		tag("%s", k ? "trapped" : "wild store");
		R(cuLaunchKernel(k ? trap : add, 1, 1, 1, 1, 1, 1, 0, s, k ? NULL : args, NULL));
		R(cuStreamSynchronize(s));
		R(cuStreamSynchronize(s));
		R(cuStreamQuery(s));
		R(cuStreamQuery(NULL));
		R(cuCtxSynchronize());
		R(cuEventRecord(e, s));
		R(cuEventQuery(e));
		R(cuEventSynchronize(e));
		R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
		R(cuLaunchKernel(nop, 0, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
		R(cuMemAlloc_v2(&p, 16));
		R(cuMemFree_v2(p));
		R(cuMemcpyDtoH_v2(buf, p, 16));
		R(cuMemsetD8_v2(p, 0, 16));
		R(cuMemGetInfo_v2(&z, &z));
		R(cuStreamCreate(&s, 0));
		R(cuEventCreate(&e, 0));
		R(cuModuleLoadData(&mm, probe_ptx));
		R(cuFuncGetAttribute(&v, 0, nop));
		R(cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
		R(cuCtxGetDevice(&v));
		R(cuCtxGetFlags(&f));
		R(cuCtxGetLimit(&z, 0));
		R(cuCtxSetLimit(0, 2048));
		R(cuDeviceGetAttribute(&v, 1, 0));
		R(cuDevicePrimaryCtxGetState(0, &f, &act));
		R(cuStreamDestroy_v2(s));
		R(cuEventDestroy_v2(e));
		R(cuModuleUnload(m));
		R(cuCtxPopCurrent_v2(&c2));
		tag("%s, another context", k ? "trapped" : "wild store");
		in_start = 1;
		R(cuCtxCreate_v2(&c2, 0, 0));
		R(cuCtxSynchronize());
		R(cuCtxDestroy_v2(c2));
		tag("%s, after a reset", k ? "trapped" : "wild store");
		R(cuDevicePrimaryCtxReset_v2(0));
		R(cuDevicePrimaryCtxRetain(&c, 0));
		R(cuCtxSetCurrent(c));
		in_start = 0;
		R(cuCtxSynchronize());
		R(cuModuleLoadData(&m, probe_ptx));
		nop = function(m, "nop"), trap = function(m, "trapped"), add = function(m, "add_one");
		R(cuLaunchKernel(nop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		R(cuStreamSynchronize(NULL));
		cuStreamCreate(&s, 0);
		cuEventCreate(&e, 0);
	}
}
