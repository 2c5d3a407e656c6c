/* SPDX-License-Identifier: MIT */
/*
 * Work of a known share: kernels that last a given time by the device's own clock, with sleep between them. Prints how much of the
 * time the device worked, by events, in permille.  load COPY|KERNEL SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"

#define CK(c) do { CUresult r_ = (c); if (r_) { fprintf(stderr, "%s: %d\n", #c, r_); exit(1); } } while (0)

static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry spin(.param .u64 ns) {\n"
	".reg .u64 %t<4>; .reg .pred %p;\nld.param.u64 %t1, [ns];\nmov.u64 %t2, %globaltimer;\nadd.u64 %t1, %t1, %t2;\n"
	"L: mov.u64 %t3, %globaltimer;\nsetp.lt.u64 %p, %t3, %t1;\n@%p bra L;\nret;\n}\n";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int copies = argc > 1 && !strcmp(argv[1], "COPY");
	double until, begin, worked = 0;
	unsigned long long ns = 60000000;
	static char bytes[4096];
	void *args[] = { &ns };
	CUdevice dev;
	CUcontext c;
	CUmodule m;
	CUfunction f;
	CUdeviceptr d;
	CUevent a, b;
	float ms;

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK((cuCtxCreate)(&c, NULL, 0, dev));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "spin"));
	CK(cuMemAlloc(&d, sizeof(bytes)));
	CK(cuEventCreate(&a, 0));
	CK(cuEventCreate(&b, 0));
	begin = now();
	until = begin + (argc > 2 ? atof(argv[2]) : 3);
	while (now() < until) {
		if (copies) {
			CK(cuMemcpyHtoD(d, bytes, sizeof(bytes)));
		} else {
			CK(cuEventRecord(a, NULL));
			CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
			CK(cuEventRecord(b, NULL));
			CK(cuEventSynchronize(b));
			CK(cuEventElapsedTime(&ms, a, b));
			worked += ms / 1e3;
		}
		usleep(100000);
		printf("%.0f\n", worked / (now() - begin) * 1000);
		fflush(stdout);
	}
	return 0;
}
