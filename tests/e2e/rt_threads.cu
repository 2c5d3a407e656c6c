/* SPDX-License-Identifier: MIT */
/*
 * Threads over the runtime API: nobody makes a context, each thread launches into its own stream, its
 * per-thread default stream and the legacy stream.
 */
#include <pthread.h>

#include "rt.h"

#include "kernels/misc.cu"

#define N 513
#define THREADS 8
#define ROUNDS 6

static void *work(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;
	uint32_t *pinned, seed = id + 1, got[N], want[N], *d = rt_alloc<uint32_t>(N);
	cudaStream_t own;

	RK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	RK(cudaMallocHost((void **)&pinned, sizeof got));
	for (int r = 0; r < ROUNDS; r++) {
		cudaStream_t s = r % 3 == 0 ? own : r % 3 == 1 ? cudaStreamPerThread : 0;
		uint32_t x = e2e_rand(&seed);

		fill<<<2, 96, 0, s>>>(d, x, N);
		LAUNCHED();
		for (int k = 0; k < 4; k++) {
			uint32_t mul = e2e_rand(&seed) | 1, add = e2e_rand(&seed);

			affine<<<1 + k, 64, 0, s>>>(d, mul, add, N);
			LAUNCHED();
			x = x * mul + add;
		}
		for (int i = 0; i < N; i++)
			want[i] = x;
		RK(cudaMemcpyAsync(pinned, d, sizeof got, cudaMemcpyDeviceToHost, s));
		RK(cudaStreamSynchronize(s));
		e2e_same_u32("async copy", pinned, want, N);
		memset(got, 0, sizeof got);
		rt_download(got, d, N);
		e2e_same_u32("sync copy", got, want, N);
		/* The last error is a thread's own. */
		if (id == 0)
			RWANT(cudaErrorInvalidValue, cudaMemcpy(NULL, d, 4, cudaMemcpyDeviceToHost));
		RWANT((id == 0 ? cudaErrorInvalidValue : cudaSuccess), cudaGetLastError());
	}
	RK(cudaStreamDestroy(own));
	RK(cudaFreeHost(pinned));
	RK(cudaFree(d));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	rt_start("rt_threads");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i))
			rt_die(__FILE__, __LINE__, "pthread_create", cudaErrorUnknown);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return e2e_end("%d threads x %d rounds in 3 kinds of stream", THREADS, ROUNDS);
}
