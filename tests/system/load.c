/* SPDX-License-Identifier: MIT */
/*
 * Work of a known share: copies, or kernels that last a given time by the device's own clock, with sleep between them. Prints
 * "worked A to B of C ms": the device worked no less than its events say, no longer than it was waited for.  load COPY|KERNEL ROUNDS
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
	double begin, asked, worked = 0, waited = 0;
	unsigned long long ns = 30000000;
	static char bytes[4096];
	void *args[] = { &ns };
	CUdevice dev;
	CUcontext c;
	CUmodule m;
	CUfunction f;
	CUdeviceptr d;
	CUevent a, b;
	float ms;
	int rounds = argc > 2 ? atoi(argv[2]) : 30;

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK((cuCtxCreate)(&c, NULL, 0, dev));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "spin"));
	CK(cuMemAlloc(&d, sizeof(bytes)));
	CK(cuEventCreate(&a, 0));
	CK(cuEventCreate(&b, 0));
	CK(cuMemcpyHtoD(d, bytes, sizeof(bytes)));
	puts("begins");
	fflush(stdout);
	if (argc > 3 && getchar() == EOF)
		return 2;
	begin = now();
	for (int i = 0; i < rounds; i++) {
		asked = now();
		if (copies) {
			CK(cuMemcpyHtoD(d, bytes, sizeof(bytes)));
		} else {
			CK(cuEventRecord(a, NULL));
			CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
			CK(cuEventRecord(b, NULL));
			CK(cuEventSynchronize(b));
			CK(cuEventElapsedTime(&ms, a, b));
			worked += ms;
		}
		waited += now() - asked;
		usleep(50000);
	}
	printf("worked %.0f to %.0f of %.0f ms\n", worked, waited * 1e3, (now() - begin) * 1e3);
	fflush(stdout);
	/* the context stays, with what was counted */
	if (argc > 3 && getchar() == EOF)
		return 2;
	return 0;
}
