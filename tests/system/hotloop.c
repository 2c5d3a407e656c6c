/* SPDX-License-Identifier: MIT */
/*
 * hotloop SECONDS: asynchronous launches of an empty kernel for so long, then a synchronisation;
 * prints how many. The load under which the agent's system calls are counted.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry empty(.param .u64 a, .param .u32 b)\n{\n\tret;\n}\n";

static void check(CUresult r, const char *what)
{
	const char *name = "?";

	if (r == CUDA_SUCCESS)
		return;
	cuGetErrorName(r, &name);
	fprintf(stderr, "hotloop: %s: %s\n", what, name);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, end;
	unsigned long long a = 0, launches = 0;
	unsigned b = 0;
	void *params[] = { &a, &b };
	CUfunction fn;
	CUcontext ctx;
	CUmodule mod;
	CUdevice dev;

	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&dev, 0), "cuDeviceGet");
	check(cuDevicePrimaryCtxRetain(&ctx, dev), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	check(cuModuleLoadData(&mod, ptx), "cuModuleLoadData");
	check(cuModuleGetFunction(&fn, mod, "empty"), "cuModuleGetFunction");
	check(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	puts("started");
	fflush(stdout);
	end = now() + seconds;
	do {
		for (int i = 0; i < 1000; i++)
			check(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
		launches += 1000;
	} while (now() < end);
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	printf("launches %llu\n", launches);
	return 0;
}
