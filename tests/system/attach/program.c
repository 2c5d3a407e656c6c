/* SPDX-License-Identifier: MIT */
/*
 * Does what standard input says, for attach.sh, and answers each line:
 *   round N      N copies there and back through the runtime, checked, and a kernel each         "rounds N"
 *   slots        where the entry points of three calls lead: the words behind their jumps        "slots HEX HEX HEX"
 *   late         opens libcublas, makes a handle                                                "late 0"
 *   range N      N NVTX ranges around a copy                                                    "ranges N"
 *   fork         a child does a round, while its parent waits                                   "child 0"
 *   wait         a stream waits for a value that comes with the next line                       "waits", then "waited 0"
 * Threads that only copy and check run beside it where it is given their number: "failed" is the last it says.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int nvtxRangePushA(const char *message);
int nvtxRangePop(void);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry add(.param .u64 p) {\n"
	".reg .u64 %d; .reg .u32 %r, %t; .reg .u64 %o;\nld.param.u64 %d, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %d, %d, %o;\n"
	"ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret; }\n";
static CUfunction add;
static CUcontext ctx;

static int round_of(unsigned seed)
{
	unsigned in[64], out[64];
	void *p, *args[] = { &p };
	int bad = 0;

	for (unsigned i = 0; i < 64; i++)
		in[i] = seed * 64 + i;
	if (cudaMalloc(&p, sizeof in) || cudaMemcpy(p, in, sizeof in, cudaMemcpyHostToDevice) ||
	    cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL) || cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost) || cudaFree(p))
		return 1;
	for (unsigned i = 0; i < 64; i++)
		bad |= out[i] != in[i] + 1;
	return bad;
}

static void *beside(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(ctx);
	for (unsigned i = 0;; i++)
		if (round_of(i)) {
			puts("failed");
			exit(3);
		}
}

/* "jmp *there(%rip)": ff 25 and a distance */
static uint64_t slot(const char *name)
{
	const unsigned char *p = dlsym(RTLD_DEFAULT, name);
	int32_t far;

	if (!p || p[0] != 0xff || p[1] != 0x25)
		return 0;
	memcpy(&far, p + 2, 4);
	return *(volatile uint64_t *)(p + 6 + far);
}

int main(int argc, char **argv)
{
	CUmodule m;
	char line[64];
	unsigned n;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (cudaSetDevice(0) || cudaFree(NULL) || cuCtxGetCurrent(&ctx) || cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&add, m, "add"))
		return 1;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 0); i++) {
		pthread_t t;

		pthread_create(&t, NULL, beside, NULL);
	}
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "round %u", &n) == 1) {
			for (unsigned i = 0; i < n; i++)
				if (round_of(i))
					return puts("failed") < 0;
			printf("rounds %u\n", n);
		} else if (!strncmp(line, "slots", 5)) {
			printf("slots %lx %lx %lx\n", slot("cuMemAlloc_v2"), slot("cudaMalloc"), slot("nvtxRangePushA"));
		} else if (!strncmp(line, "late", 4)) {
			void *h = dlopen("libcublas.so.12", RTLD_NOW), *handle;
			int (*create)(void **) = h ? (int (*)(void **))dlsym(h, "cublasCreate_v2") : NULL;

			printf("late %d\n", create ? create(&handle) : -1);
		} else if (sscanf(line, "range %u", &n) == 1) {
			for (unsigned i = 0; i < n; i++) {
				nvtxRangePushA("a round");
				if (round_of(i))
					return puts("failed") < 0;
				nvtxRangePop();
			}
			printf("ranges %u\n", n);
		} else if (!strncmp(line, "fork", 4)) {
			pid_t child = fork();
			int v, st;

			/* what a child of a fork may do with CUDA: ask for the version */
			if (!child)
				_exit(cuDriverGetVersion(&v) || v < 12000);
			waitpid(child, &st, 0);
			printf("child %d\n", st);
		} else if (!strncmp(line, "wait", 4)) {
			unsigned *flag;
			CUresult r;

			if (cuMemAllocHost((void **)&flag, 64))
				return 1;
			*flag = 0;
			if (cuStreamWaitValue32(NULL, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_GEQ))
				return 1;
			puts("waits");
			if (!fgets(line, sizeof line, stdin))
				return 1;
			*(volatile unsigned *)flag = 1;
			r = cuStreamSynchronize(NULL);
			printf("waited %d\n", r);
		}
	}
	return 0;
}
