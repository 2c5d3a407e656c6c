/* SPDX-License-Identifier: MIT */
/* launch THREADS PTX...: runs the kernels of each file (kernel.h) and prints a line each: the file, the kernel, what each thread has. */
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define BLOCK 64u       /* of alike: half as many */

static void check(CUresult r, const char *what)
{
	const char *name = "?";

	if (!r)
		return;
	cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	exit(1);
}
#define CHECK(call) check(call, #call)

/* With a 0 behind it. */
static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	long n;

	if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET) && (text = malloc((size_t)n + 1))) {
		text[fread(text, 1, (size_t)n, f)] = 0;
		fclose(f);
		return text;
	}
	printf("%s: cannot read\n", path);
	exit(1);
}

static void run(const char *path, unsigned threads, CUdeviceptr out, unsigned long long *got)
{
	static const char *const names[] = { "in_local", "in_global", "alike" };
	CUdeviceptr at, programs;
	unsigned long long each;
	char *text = read_all(path);
	CUfunction f;
	CUmodule m;
	size_t n;

	CHECK(cuModuleLoadData(&m, text));
	CHECK(cuModuleGetGlobal(&at, &n, m, "program_bytes"));
	CHECK(cuMemcpyDtoH(&each, at, sizeof(each)));
	CHECK(cuMemAlloc(&programs, each * threads));
	for (unsigned k = 0; k < 3; k++) {
		unsigned block = k == 2 ? BLOCK / 2 : BLOCK;
		void *args[] = { &out, &programs };

		CHECK(cuMemsetD8(out, 0xee, threads * sizeof(*got)));
		CHECK(cuModuleGetFunction(&f, m, names[k]));
		CHECK(cuLaunchKernel(f, threads / block, 1, 1, block, 1, 1, 0, NULL, args, NULL));
		CHECK(cuCtxSynchronize());
		CHECK(cuMemcpyDtoH(got, out, threads * sizeof(*got)));
		printf("%s %s", path, names[k]);
		for (unsigned i = 0; i < threads; i++)
			printf(" %016llx", got[i]);
		printf("\n");
	}
	CHECK(cuMemFree(programs));
	CHECK(cuModuleUnload(m));
	free(text);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[1]) / BLOCK * BLOCK : 0;
	unsigned long long *got = calloc(threads + 1, sizeof(*got));
	CUdeviceptr out;
	CUcontext ctx;
	CUdevice dev;

	if (!threads || !got) {
		fprintf(stderr, "usage: launch THREADS PTX...\n");
		return 2;
	}
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536));
	CHECK(cuMemAlloc(&out, threads * sizeof(*got)));
	for (int i = 2; i < argc; i++)
		run(argv[i], threads, out, got);
	CHECK(cuMemFree(out));
	CHECK(cuDevicePrimaryCtxRelease(dev));
	free(got);
	return 0;
}
