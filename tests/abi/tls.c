/* SPDX-License-Identifier: MIT */
/*
 * Loads other libraries and then one of ours by dlopen, and makes calls that look at the state of the calling thread, in the
 * first thread and in two that come and go. Linked dynamically and -static.
 *
 *   tls LIBRARY [OTHER...]      a LIBRARY by its soname; each OTHER may fail to load: that fills the room for TLS
 *
 * Exit 0: right; 1: not, with the reason.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *lib;

static void die(const char *what, long n)
{
	printf("%s: %ld\n", what, n);
	exit(1);
}
static void *sym(const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		die(name, -1);
	return p;
}
#define CALL(name, types, ...) ((int (*) types)sym(#name))(__VA_ARGS__)
#define RIGHT(expect, name, types, ...) do { \
	int r_ = CALL(name, types, __VA_ARGS__); \
	if (r_ != (expect)) \
		die(#name, r_); \
} while (0)

/* Each thread begins without a context; what it makes current is its own. */
static void driver(int first)
{
	static void *primary;
	void *ctx = &ctx;

	if (first) {
		RIGHT(0, cuInit, (unsigned), 0);
		RIGHT(0, cuDevicePrimaryCtxRetain, (void **, int), &primary, 0);
	}
	RIGHT(0, cuCtxGetCurrent, (void **), &ctx);
	if (ctx)
		die("a context is current in a new thread", 0);
	RIGHT(0, cuCtxSetCurrent, (void *), primary);
	RIGHT(0, cuCtxGetCurrent, (void **), &ctx);
	if (!ctx || ctx != primary)
		die("another context is current", 0);
}
/* cudaErrorInvalidDevice stays the last error of the thread that made it. */
static void runtime(int first)
{
	void *p = NULL;

	(void)first;
	RIGHT(0, cudaGetLastError, (void));
	RIGHT(0, cudaSetDevice, (int), 0);
	RIGHT(0, cudaMalloc, (void **, size_t), &p, 100);
	RIGHT(0, cudaFree, (void *), p);
	RIGHT(101, cudaSetDevice, (int), 1000);
	RIGHT(101, cudaPeekAtLastError, (void));
}
static void blas(int first)
{
	void *h = NULL;

	(void)first;
	RIGHT(0, cublasCreate_v2, (void **), &h);
	RIGHT(0, cublasDestroy_v2, (void *), h);
}
static void blaslt(int first)
{
	(void)first;
	if (((size_t (*)(void))sym("cublasLtGetVersion"))() < 120000)
		die("cublasLtGetVersion", 0);
}
static void nvml(int first)
{
	unsigned n = 0;

	(void)first;
	RIGHT(0, nvmlInit_v2, (void));
	RIGHT(0, nvmlDeviceGetCount_v2, (unsigned *), &n);
	if (n != 1)
		die("nvmlDeviceGetCount_v2 counts", n);
	RIGHT(0, nvmlShutdown, (void));
}
static void nccl(int first)
{
	const char *(*last)(void *) = (const char *(*)(void *))sym("ncclGetLastError");

	(void)first;
	if (*last(NULL))
		die("an error in a new thread", 0);
	RIGHT(5, ncclGroupEnd, (void));
	if (!strstr(last(NULL), "ncclGroupStart"))
		die("ncclGetLastError", 0);
	RIGHT(0, ncclGroupStart, (void));
	RIGHT(0, ncclGroupEnd, (void));
}

/* levels are the thread's own */
static void nvtx(int first)
{
	int (*push)(const char *) = (int (*)(const char *))sym("nvtxRangePushA"), (*pop)(void) = (int (*)(void))sym("nvtxRangePop");

	if (push("a") || push("b") != 1 || pop() != 1 || pop())
		die("levels of ranges", 0);
	if (first)
		push("stays open here");
}

static const struct {
	const char *name;
	void (*calls)(int first);
} known[] = {
	{ "libcuda.so", driver }, { "libcudart.so", runtime }, { "libcublas.so", blas }, { "libcublasLt.so", blaslt },
	{ "libnvidia-ml.so", nvml }, { "libnccl.so", nccl }, { "libnvToolsExt.so", nvtx },
};
static void (*calls)(int first);

static void *thread(void *arg)
{
	calls(0);
	return arg;
}

int main(int argc, char **argv)
{
	int loaded = 0;

	for (size_t i = 0; argc > 1 && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(argv[1], known[i].name, strlen(known[i].name)))
			calls = known[i].calls;
	if (!calls)
		die("which library?", argc);
	for (int i = 2; i < argc; i++)
		loaded += dlopen(argv[i], RTLD_NOW) != NULL;
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) {
		printf("%s\n", dlerror());
		return 1;
	}
	calls(1);
	for (int i = 0; i < 2; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
			die("pthread_create", i);
	}
	printf("%s after %d of %d others\n", argv[1], loaded, argc - 2);
	return 0;
}
