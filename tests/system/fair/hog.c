/* SPDX-License-Identifier: MIT */
/*
 * hog [BLOCKS]: launches without end, two ahead, of a kernel whose blocks take about a millisecond; how many blocks
 * have ended is a word of the file count.PID in the current folder. For fair.sh, which kills it.
 */
#include <cuda.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry spin(.param .u64 sum, .param .u32 n)\n{\n"
	"\t.reg .u64 %a;\n\t.reg .u32 %i, %n, %x, %t;\n\t.reg .pred %p;\n"
	"\tld.param.u64 %a, [sum];\n\tld.param.u32 %n, [n];\n\tmov.u32 %i, 0;\n\tmov.u32 %t, %tid.x;\n\tmov.u32 %x, %t;\n"
	"loop:\n\tmad.lo.u32 %x, %x, 1664525, 1013904223;\n\tadd.u32 %i, %i, 1;\n\tsetp.lt.u32 %p, %i, %n;\n\t@%p bra loop;\n"
	"\tsetp.ne.u32 %p, %t, 0;\n\t@%p bra end;\n\tshr.u32 %x, %x, 31;\n\tshr.u32 %x, %x, 1;\n\tadd.u32 %x, %x, 1;\n"
	"\tred.global.add.u32 [%a], %x;\n"
	"end:\n\tret;\n}\n";

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "hog: %s: %d\n", what, r);
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 64, n = 300000;
	unsigned *sum, *count;
	char name[40];
	CUevent done[2];
	CUdeviceptr at;
	CUfunction fn;
	CUcontext ctx;
	CUmodule mod;
	CUdevice dev;
	int fd;

	snprintf(name, sizeof(name), "count.%d", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4) || (count = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		return perror(name), 1;
	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&dev, 0), "cuDeviceGet");
	check(cuDevicePrimaryCtxRetain(&ctx, dev), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	check(cuModuleLoadData(&mod, ptx), "cuModuleLoadData");
	check(cuModuleGetFunction(&fn, mod, "spin"), "cuModuleGetFunction");
	check(cuMemAllocHost((void **)&sum, 4096), "cuMemAllocHost");
	check(cuMemHostGetDevicePointer(&at, sum, 0), "cuMemHostGetDevicePointer");
	*sum = 0;
	for (int i = 0; i < 2; i++)
		check(cuEventCreate(&done[i], CU_EVENT_BLOCKING_SYNC), "cuEventCreate");
	for (unsigned i = 0;; i++) {
		void *params[] = { &at, &n };

		if (i > 1)
			check(cuEventSynchronize(done[i % 2]), "cuEventSynchronize");
		*count = *(volatile unsigned *)sum;
		check(cuLaunchKernel(fn, blocks, 1, 1, 32, 1, 1, 0, NULL, params, NULL), "cuLaunchKernel");
		check(cuEventRecord(done[i % 2], NULL), "cuEventRecord");
	}
}
