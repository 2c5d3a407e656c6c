/* SPDX-License-Identifier: MIT */
/*
 * What a driver costs: launches, copies, graphs. One line each, "NAME VALUE UNIT"; the best of some rounds. By the driver API alone, so that
 * it runs on NVIDIA's libcuda as on ours.
 *
 *   figures [-q]       -q: little of everything, to see that it works
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry nothing()\n{\n\tret;\n}\n"
	".visible .entry count(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tatom.global.add.u32 %r1, [%rd1], 1;\n\tret;\n}\n";

static void check(CUresult r, const char *what)
{
	const char *s = "?";

	if (!r)
		return;
	cuGetErrorName(r, &s);
	printf("error %s: %s\n", what, s);
	exit(1);
}
#define CK(x) check(x, #x)

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int quick;
static CUfunction nothing, count;
static CUstream stream;

static void launches(void)
{
	int n = quick ? 20 : 1000;
	double give = 1e9, all = 1e9, each = 1e9;

	for (int round = 0; round < (quick ? 1 : 20); round++) {
		double t = now_s(), u;

		for (int i = 0; i < n; i++)
			CK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
		u = now_s();
		CK(cuStreamSynchronize(stream));
		give = u - t < give ? u - t : give;
		t = now_s() - t;
		all = t < all ? t : all;
		t = now_s();
		for (int i = 0; i < n / 10; i++) {
			CK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
			CK(cuStreamSynchronize(stream));
		}
		t = now_s() - t;
		each = t < each ? t : each;
	}
	printf("launch %.3f us\nlaunch-in-a-row %.3f us\nlaunch-and-sync %.3f us\n", give * 1e6 / n, all * 1e6 / n, each * 1e6 / (n / 10));
}

static void graph(CUdeviceptr word)
{
	int nodes = quick ? 5 : 100, n = quick ? 3 : 100;
	void *args[] = { &word };
	double best = 1e9;
	CUgraphExec exec;
	uint32_t got = 0;
	CUgraph g;

	CK(cuMemsetD32_v2(word, 0, 1));
	CK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < nodes; i++)
		CK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
	CK(cuStreamEndCapture(stream, &g));
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < n; i++) {
		double t = now_s();

		CK(cuGraphLaunch(exec, stream));
		CK(cuStreamSynchronize(stream));
		t = now_s() - t;
		best = t < best ? t : best;
	}
	CK(cuMemcpyDtoH_v2(&got, word, 4));
	if (got != (uint32_t)(nodes * n)) {
		printf("error the graph ran %u kernels, not %d\n", got, nodes * n);
		exit(1);
	}
	printf("graph-of-100 %.2f us\n", best * 1e6);
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(g));
}

enum way { IN, OUT, WITHIN };

static double rate(enum way way, void *host, CUdeviceptr a, CUdeviceptr b, size_t bytes)
{
	double best = 1e9;

	for (int round = 0; round < (quick ? 1 : 10); round++) {
		double t = now_s();

		CK(way == IN ? cuMemcpyHtoDAsync_v2(a, host, bytes, stream) : way == OUT ? cuMemcpyDtoHAsync_v2(host, a, bytes, stream) :
		   cuMemcpyDtoDAsync_v2(b, a, bytes, stream));
		CK(cuStreamSynchronize(stream));
		t = now_s() - t;
		best = t < best ? t : best;
	}
	return (double)bytes / best * 1e-9;
}

static void copies(void)
{
	size_t bytes = quick ? 1 << 20 : 256u << 20, small = 64 << 10;
	uint32_t *pinned, *pageable = malloc(bytes);
	CUdeviceptr a, b;

	CK(cuMemAlloc_v2(&a, bytes));
	CK(cuMemAlloc_v2(&b, bytes));
	CK(cuMemHostAlloc((void **)&pinned, bytes, 0));
	if (!pageable)
		exit(1);
	for (size_t i = 0; i < bytes / 4; i++)
		pinned[i] = pageable[i] = (uint32_t)i * 2654435761u;
	printf("pinned-in %.2f GB/s\n", rate(IN, pinned, a, b, bytes));
	printf("within %.2f GB/s\n", rate(WITHIN, NULL, a, b, bytes));
	memset(pinned, 0, bytes);
	CK(cuMemcpyDtoH_v2(pinned, b, bytes));
	if (memcmp(pinned, pageable, bytes)) {
		puts("error copies: what came back is not what was sent");
		exit(1);
	}
	printf("pinned-out %.2f GB/s\n", rate(OUT, pinned, a, b, bytes));
	printf("pageable-in %.2f GB/s\n", rate(IN, pageable, a, b, bytes));
	printf("pageable-out %.2f GB/s\n", rate(OUT, pageable, a, b, bytes));
	printf("pinned-in-64K %.3f GB/s\n", rate(IN, pinned, a, b, small));
	printf("pinned-out-64K %.3f GB/s\n", rate(OUT, pinned, a, b, small));
	CK(cuMemFreeHost(pinned));
	CK(cuMemFree_v2(a));
	CK(cuMemFree_v2(b));
	free(pageable);
}

int main(int argc, char **argv)
{
	char name[128];
	CUdeviceptr word;
	CUcontext ctx;
	CUmodule m;
	CUdevice d;

	setvbuf(stdout, NULL, _IOLBF, 0);
	quick = argc > 1 && !strcmp(argv[1], "-q");
	CK(cuInit(0));
	CK(cuDeviceGet(&d, 0));
	CK(cuDeviceGetName(name, sizeof(name), d));
	printf("device %s\n", name);
	CK(cuCtxCreate_v2(&ctx, 0, d));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&nothing, m, "nothing"));
	CK(cuModuleGetFunction(&count, m, "count"));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc_v2(&word, 4));
	launches();
	copies();
	graph(word);
	CK(cuMemFree_v2(word));
	CK(cuModuleUnload(m));
	CK(cuCtxDestroy_v2(ctx));
	return 0;
}
