/* SPDX-License-Identifier: MIT */
/*
 * Threads of one process, all in one context: each with a stream of its own and with its per-thread
 * default stream, each checking its own results. Arguments: [threads [rounds]].
 */
#include <pthread.h>

#include "drv.h"

E2E_PTX(misc);

#define N 513
#define MAX_THREADS 64

static CUcontext ctx;
static CUfunction f_affine, f_fill;
static int rounds = 6;

static void *work(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;
	uint32_t *pinned, seed = id + 1, got[N], want[N];
	CUstream own;
	CUdeviceptr d;
	int n = N;

	CK(cuCtxSetCurrent(ctx));
	CK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost((void **)&pinned, N * 4));
	d = drv_alloc(N * 4);
	for (int r = 0; r < rounds; r++) {
		/* Odd rounds: the default stream that each thread has for itself. */
		CUstream s = r & 1 ? CU_STREAM_PER_THREAD : own;
		uint32_t x = e2e_rand(&seed), mul, add;

		LAUNCH(f_fill, 2, 96, 0, s, &d, &x, &n);
		for (int k = 0; k < 5; k++) {
			mul = e2e_rand(&seed) | 1;
			add = e2e_rand(&seed);
			LAUNCH(f_affine, 1 + k, 64, 0, s, &d, &mul, &add, &n);
			x = x * mul + add;
		}
		for (int i = 0; i < N; i++)
			want[i] = x;
		CK(cuMemcpyDtoHAsync(pinned, d, N * 4, s));
		CK(cuStreamSynchronize(s));
		e2e_same_u32(s == own ? "own stream" : "per-thread stream", pinned, want, N);
		/* And a synchronous copy into pageable memory, in the legacy stream. */
		memset(got, 0, sizeof got);
		CK(cuMemcpyDtoH(got, d, N * 4));
		e2e_same_u32("sync copy", got, want, N);
	}
	CK(cuMemFree(d));
	CK(cuMemFreeHost(pinned));
	CK(cuStreamDestroy(own));
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t t[MAX_THREADS];
	CUmodule mod;

	if (argc > 2)
		rounds = atoi(argv[2]);
	if (threads < 1 || threads > MAX_THREADS)
		threads = MAX_THREADS;
	ctx = drv_start("threads");
	mod = drv_module(ptx_misc);
	f_affine = drv_kernel(mod, "affine");
	f_fill = drv_kernel(mod, "fill");
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i)) {
			e2e_fail("pthread_create");
			threads = i;
		}
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	CK(cuCtxDestroy(ctx));
	return e2e_end("%d threads x %d rounds, own and per-thread default streams", threads, rounds);
}
