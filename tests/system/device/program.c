/* SPDX-License-Identifier: MIT */
/*
 * A known amount of work on two streams. Its own events stand around the kernels, and it prints what they measured: ns, one line each.
 *   spin on a, spin on b behind an event of a, 3 quick ones in a graph, 2 copies and a set.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda.h"

#define CK(x) do { CUresult r_ = (x); if (r_) { printf("%s: %d\n", #x, r_); exit(1); } } while (0)

static const char *ptx = ".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry _Z4spinPj(.param .u64 p, .param .u32 n)\n{\n"
	".reg .pred %q; .reg .u32 %i, %n; .reg .u64 %p;\nld.param.u64 %p, [p]; ld.param.u32 %n, [n]; mov.u32 %i, 0;\n"
	"L: ld.volatile.global.u32 %i, [%p]; add.u32 %i, %i, 1; st.volatile.global.u32 [%p], %i; setp.lt.u32 %q, %i, %n; @%q bra L;\n"
	"st.volatile.global.u32 [%p], 0; ret;\n}\n";

int main(void)
{
	CUevent e[4];
	CUstream a, b;
	CUdevice dev;
	CUcontext ctx;
	CUmodule m;
	CUfunction f;
	CUgraph g;
	CUgraphExec x;
	CUdeviceptr p, q;
	unsigned n = 300000, few = 10, word = 1;
	void *va[] = { &p, &n }, *vb[] = { &q, &n }, *vc[] = { &p, &few };
	float ms;

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK((cuCtxCreate)(&ctx, NULL, 0, dev));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "_Z4spinPj"));
	CK(cuMemAlloc(&p, 4));
	CK(cuMemAlloc(&q, 4));
	word = 0;
	CK(cuMemcpyHtoD(p, &word, 4));
	CK(cuMemsetD32(q, 0, 1));
	CK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 4; i++)
		CK(cuEventCreate(&e[i], 0));
	CK(cuCtxSynchronize());
	CK(cuEventRecord(e[0], a));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, a, va, NULL));
	CK(cuEventRecord(e[1], a));
	CK(cuStreamWaitEvent(b, e[1], 0));
	CK(cuEventRecord(e[2], b));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, b, vb, NULL));
	CK(cuEventRecord(e[3], b));
	CK(cuStreamSynchronize(b));
	CK(cuEventElapsedTime(&ms, e[0], e[1]));
	printf("%.0f\n", (double)ms * 1e6);
	CK(cuEventElapsedTime(&ms, e[2], e[3]));
	printf("%.0f\n", (double)ms * 1e6);
	CK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 3; i++)
		CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, a, vc, NULL));
	CK(cuStreamEndCapture(a, &g));
	CK(cuGraphInstantiate(&x, g, 0));
	CK(cuGraphLaunch(x, a));
	CK(cuStreamSynchronize(a));
	CK(cuMemcpyDtoH(&word, p, 4));
	CK(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, a, va, NULL) == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, a, vc, NULL));   /* nobody waits for it */
	return word != 0;
}
