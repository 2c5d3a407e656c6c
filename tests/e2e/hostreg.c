/* SPDX-License-Identifier: MIT */
/*
 * Registered host memory: the caller's address stays his, the device has one of its own, and both see the same bytes. With an
 * argument: only what does not need kernels in it (a device whose engine cannot map the window).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "drv.h"

E2E_PTX(misc);

static CUfunction affine;
static int kernels;

/* *x = *x * 3 + 1, by the device where it can */
static void work(void *host, int n)
{
	uint32_t mul = 3, add = 1, *p = host;
	CUdeviceptr d;

	CK(cuMemHostGetDevicePointer(&d, host, 0));
	if (kernels) {
		LAUNCH(affine, (n + 127) / 128, 128, 0, NULL, &d, &mul, &add, &n);
		CK(cuCtxSynchronize());
	} else {
		for (int i = 0; i < n; i++)
			p[i] = p[i] * 3 + 1;
	}
}

/* Is any page of [p, p + bytes) one of the library's? */
static int adopted(const void *p, size_t bytes)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long a, b, at = (unsigned long)p;
	char line[512];
	int yes = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx", &a, &b) == 2 && a < at + bytes && at < b && strstr(line, "vgpu-window"))
			yes = 1;
	if (f)
		fclose(f);
	return yes;
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		e2e_skip("no memory");
	return p;
}

static void one(size_t offset, int n)
{
	size_t bytes = (size_t)n * 4, in = n > 1 ? 4 : 0;
	uint8_t *all = e2e_malloc(bytes + offset + 8192), *copy = e2e_malloc(bytes);
	uint32_t *p = (uint32_t *)(all + offset);
	CUdeviceptr d, back;
	unsigned int flags, type;
	CUstream s;
	void *host;

	memset(all, 0x5a, bytes + offset + 8192);
	for (int i = 0; i < n; i++)
		p[i] = (uint32_t)i;
	CK(cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
	WANT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(p, bytes, 0));
	WANT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister((char *)p + bytes - 4, 64, 0));
	WANT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister((char *)p + bytes));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(p));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)(uintptr_t)p));
	CK(cuMemHostGetFlags(&flags, p));
	EXPECT(flags & CU_MEMHOSTALLOC_DEVICEMAP && flags & CU_MEMHOSTALLOC_PORTABLE);
	CK(cuMemHostGetDevicePointer(&d, (char *)p + in, 0));
	for (int which = 0; which < 2; which++) {
		CUdeviceptr at = which ? d : (CUdeviceptr)(uintptr_t)p + in;

		CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
		EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
		CK(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
		EXPECT(back == d);
		CK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
		EXPECT(host == (char *)p + in);
	}
	work(p, n);
	for (int i = 0; i < n; i++)
		if (p[i] != (uint32_t)i * 3 + 1) {
			e2e_fail("offset %zu: element %d is %u", offset, i, p[i]);
			break;
		}
	/* what lies beside it came along */
	for (size_t i = 0; i < offset; i++)
		EXPECT(all[i] == 0x5a);
	for (size_t i = offset + bytes; i < offset + bytes + 8192; i++)
		EXPECT(all[i] == 0x5a);
	/* copies by either address, asynchronous ones too */
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc(&d, bytes));
	CK(cuMemcpyHtoDAsync(d, p, bytes, s));
	CK(cuMemsetD8Async(d, 7, 4, s));
	memset(copy, 0, bytes);
	CK(cuMemcpyDtoHAsync(p, d, bytes, s));
	CK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)p, 7, 4, s));
	CK(cuStreamSynchronize(s));
	EXPECT(p[0] == 0x07070707 && (n < 2 || p[n - 1] == (uint32_t)(n - 1) * 3 + 1));
	CK(cuMemHostUnregister(p));
	WANT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(p));
	EXPECT(!adopted(all, bytes + offset + 8192));
	EXPECT(p[0] == 0x07070707 && (n < 2 || p[n - 1] == (uint32_t)(n - 1) * 3 + 1));
	CK(cuMemFree(d));
	CK(cuStreamDestroy(s));
	free(all);
	free(copy);
}

/* A copy of registered memory returns while its stream stands still; one of ordinary memory could not. */
static volatile int go;

static void CUDA_CB stand_still(void *arg)
{
	(void)arg;
	while (!go)
		e2e_sleep_ms(1);
}

static void asynchronous(void)
{
	size_t bytes = 8u << 20;
	uint8_t *p = e2e_malloc(bytes);
	CUdeviceptr d = drv_alloc(bytes);
	CUstream s;

	memset(p, 1, bytes);
	CK(cuMemHostRegister(p, bytes, 0));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuLaunchHostFunc(s, stand_still, NULL));
	CK(cuMemcpyHtoDAsync(d, p, bytes, s));
	CK(cuMemcpyDtoHAsync(p, d, bytes, s));
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	memset(p, 2, bytes);            /* before the device reads it */
	go = 1;
	CK(cuStreamSynchronize(s));
	EXPECT(p[0] == 2 && p[bytes - 1] == 2);
	CK(cuMemHostUnregister(p));
	CK(cuMemFree(d));
	free(p);
}

/* Several in the same pages, in every order of coming and going. */
static void neighbours(void)
{
	enum { K = 6, WORDS = 1500 };   /* 6000 bytes: each shares pages with the next */
	static const int order[3][K] = { { 0, 1, 2, 3, 4, 5 }, { 5, 4, 3, 2, 1, 0 }, { 3, 2, 4, 1, 5, 0 } };

	for (int in = 0; in < 3; in++)
		for (int out = 0; out < 3; out++) {
			uint32_t *p = pages((K * WORDS * 4 + 8191) & ~4095u);

			for (int i = 0; i < K * WORDS; i++)
				p[i] = (uint32_t)i;
			for (int i = 0; i < K; i++)
				CK(cuMemHostRegister(p + order[in][i] * WORDS, WORDS * 4, 0));
			for (int i = 0; i < K; i++) {
				work(p + order[out][i] * WORDS, WORDS);
				CK(cuMemHostUnregister(p + order[out][i] * WORDS));
			}
			for (int i = 0; i < K * WORDS; i++)
				if (p[i] != (uint32_t)i * 3 + 1) {
					e2e_fail("neighbours %d %d: element %d is %u", in, out, i, p[i]);
					break;
				}
			EXPECT(!adopted(p, K * WORDS * 4));
			munmap(p, (K * WORDS * 4 + 8191) & ~4095u);
		}
}

static void refusals(void)
{
	size_t page = 4096;
	char *p = pages(4 * page), *shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char stack[5000];
	CUdeviceptr d = drv_alloc(page);
	void *pinned;

	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(NULL, 16, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, 0, 0));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, 16, 64));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister((void *)(uintptr_t)d, 16, 0));
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemHostRegister(p, 16, CU_MEMHOSTREGISTER_IOMEMORY));
	/* nobody but the administrator can open what has no name and no descriptor */
	if (cuMemHostRegister(shared, page, 0) == CUDA_SUCCESS) {
		shared[5] = 5;
		CK(cuMemHostGetDevicePointer(&d, shared + 4, 0));
		CK(cuMemsetD8(d, 9, 1));
		CK(cuCtxSynchronize());
		EXPECT(shared[4] == 9 && shared[5] == 5);
		CK(cuMemHostUnregister(shared));
	}
	WANT(CUDA_ERROR_NOT_SUPPORTED, cuMemHostRegister(stack, sizeof stack, 0));
	CK(cuMemAllocHost(&pinned, page));
	WANT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(pinned, page, 0));
	WANT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pinned));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&d, p, 0));
	/* a hole, and a part that cannot be read */
	munmap(p + page, page);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, 3 * page, 0));
	mprotect(p + 3 * page, page, PROT_NONE);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p + 2 * page, 2 * page, 0));
	/* read only: when that is said */
	memset(p, 9, page);
	mprotect(p, page, PROT_READ);
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(p, page, 0));
	CK(cuMemHostRegister(p, page, CU_MEMHOSTREGISTER_READ_ONLY));
	EXPECT(p[0] == 9 && p[page - 1] == 9);
	CK(cuMemHostUnregister(p));
	EXPECT(p[0] == 9 && p[page - 1] == 9);
	CK(cuMemFreeHost(pinned));
}

/* Too much for the window: nothing has changed. */
static void quota(void)
{
	size_t huge = (size_t)300 << 30;
	char *p = mmap(NULL, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return;
	p[5] = 5;
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuMemHostRegister(p, huge, 0));
	EXPECT(p[5] == 5 && !adopted(p, huge));
	munmap(p, huge);
}

/* Freed, unmapped, grown while it is registered: the program's fault, and nobody's loss. */
static void careless(void)
{
	size_t bytes = 1u << 20;
	uint32_t *p = pages(bytes), *other = pages(bytes), *q;
	void *gone = p;
	volatile uintptr_t old;

	CK(cuMemHostRegister(p, bytes, 0));
	munmap(p, bytes);
	p = mmap(gone, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	p[0] = 77;
	CK(cuMemHostRegister(p, bytes, 0));
	EXPECT(p[0] == 77);
	CK(cuMemHostUnregister(p));
	CK(cuMemHostRegister(p, bytes, 0));
	munmap(p, bytes);
	p = mmap(gone, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	p[3] = 33;
	CK(cuMemHostUnregister(p));     /* not a byte of what lies there now */
	EXPECT(p[3] == 33 && p[0] == 0);
	/* realloc of a chunk that malloc has mapped by itself, beside other registered memory */
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 16);
#endif
	q = malloc(bytes);
	old = (uintptr_t)q;
	for (size_t i = 0; i < bytes / 4; i++)
		q[i] = (uint32_t)i, other[i] = ~(uint32_t)i;
	CK(cuMemHostRegister(q, bytes, 0));
	CK(cuMemHostRegister(other, bytes, 0));
	q = realloc(q, 4 * bytes);
	memset((char *)q + bytes, 0xee, 3 * bytes);
	for (size_t i = 0; i < bytes / 4; i++)
		if (q[i] != (uint32_t)i || other[i] != ~(uint32_t)i) {
			e2e_fail("realloc: element %zu is %x and %x", i, q[i], other[i]);
			break;
		}
	CK(cuMemHostUnregister(other));
	CK(cuMemHostUnregister((void *)old));
	free(q);
	munmap(other, bytes);
}

/* What children do is theirs, what the parent and the device do afterwards is not the child's. */
static void forks(void)
{
	int n = 3000, to[2], status = -1;
	uint32_t *p = e2e_malloc((size_t)n * 4);
	char c;
	pid_t pid;

	for (int i = 0; i < n; i++)
		p[i] = 10;
	CK(cuMemHostRegister(p, (size_t)n * 4, 0));
	if (pipe(to))
		e2e_skip("no pipe");
	pid = fork();
	if (pid == 0) {
		int bad = read(to[0], &c, 1) != 1;      /* the parent has changed it */

		bad |= adopted(p, (size_t)n * 4);
		for (int i = 0; i < n; i++) {
			bad |= p[i] != 10;
			p[i] = 99;
		}
		free(malloc(100));
		free(p);
		_exit(bad);
	}
	p[0] = p[n - 1] = 10;
	work(p, n);
	if (write(to[1], "x", 1) != 1)
		e2e_fail("pipe");
	waitpid(pid, &status, 0);
	EXPECT(status == 0);
	for (int i = 0; i < n; i++)
		EXPECT(p[i] == 31);
	CK(cuMemHostUnregister(p));
	free(p);
	close(to[0]);
	close(to[1]);
}

/* Threads that register and unregister what lies side by side in one heap, while others use what lies between. */
static void *busy(void *arg)
{
	CUcontext ctx = arg;
	uint32_t seed = (uint32_t)(uintptr_t)&ctx;

	CK(cuCtxSetCurrent(ctx));
	for (int r = 0; r < 40; r++) {
		int n = 2000 + (int)((seed = seed * 1664525 + 1013904223) >> 20);
		uint32_t *p = pages(((size_t)n * 4 + 4095) & ~(size_t)4095);

		for (int i = 0; i < n; i++)
			p[i] = (uint32_t)(i ^ r);
		CK(cuMemHostRegister(p, (size_t)n * 4, 0));
		work(p, n);
		CK(cuMemHostUnregister(p));
		for (int i = 0; i < n; i++)
			if (p[i] != (uint32_t)(i ^ r) * 3 + 1) {
				e2e_fail("thread: element %d is %u", i, p[i]);
				break;
			}
		munmap(p, ((size_t)n * 4 + 4095) & ~(size_t)4095);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CUcontext ctx = drv_start("hostreg");
	int supported = 0, same = 1;
	uint32_t *left;
	pthread_t t[4];

	(void)argv;
	kernels = argc < 2;
	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0));
	CK(cuDeviceGetAttribute(&same, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0));
	if (!supported)
		e2e_skip("HOST_REGISTER_SUPPORTED is 0");
	EXPECT_EQ(same, 0);
	affine = drv_kernel(drv_module(ptx_misc), "affine");
	one(0, 1);
	one(4, 1000);
	one(20, 5000);
	one(4092, 2);
	one(16, 1 << 20);
	asynchronous();
	neighbours();
	refusals();
	quota();
	careless();
	forks();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, busy, ctx);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	/* A context that ends takes its registrations with it, not the memory. */
	left = e2e_malloc(100000);
	left[0] = 5;
	CK(cuMemHostRegister(left, 100000, 0));
	CK(cuCtxDestroy(ctx));
	EXPECT(left[0] == 5 && !adopted(left, 100000));
	return e2e_end("registered memory: neighbours, forks, refusals, 160 by four threads");
}
