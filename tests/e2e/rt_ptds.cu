/* SPDX-License-Identifier: MIT */
/*
 * The per-thread default stream as a program's default: one thread's stream 0 stands still while another
 * thread's stream 0 works, which the legacy stream could not.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include <pthread.h>

#include "rt.h"

#include "kernels/misc.cu"

#define N 200

static volatile uint32_t *flag;
static uint32_t *dseen;
static int launched;

static void *blocked(void *)
{
	uint32_t *f = (uint32_t *)flag;
	void *args[] = { &f, &dseen };

	RK(cudaLaunchKernel((const void *)wait_flag, dim3(1), dim3(1), args, 0, 0));
	RWANT(cudaErrorNotReady, cudaStreamQuery(0));
	__atomic_store_n(&launched, 1, __ATOMIC_RELEASE);
	RK(cudaStreamSynchronize(0));
	return NULL;
}

int main(void)
{
	uint32_t got[N], want[N], seen = 0, value = 8, *d;
	double end = e2e_now_s() + 5;
	cudaError_t r;
	pthread_t t;
	int n = N;
	void *args[] = { &d, &value, &n };

	rt_start("rt_ptds");
	RK(cudaHostAlloc((void **)&flag, 64, 0));
	*flag = 0;
	d = rt_alloc<uint32_t>(N);
	dseen = rt_alloc<uint32_t>(1);
	if (pthread_create(&t, NULL, blocked, NULL))
		rt_die(__FILE__, __LINE__, "pthread_create", cudaErrorUnknown);
	while (!__atomic_load_n(&launched, __ATOMIC_ACQUIRE))
		e2e_sleep_ms(1);
	RK(cudaLaunchKernel((const void *)fill, dim3(2), dim3(64), args, 0, 0));
	RK(cudaMemcpyAsync(got, d, sizeof got, cudaMemcpyDeviceToHost, 0));
	while ((r = cudaStreamQuery(0)) == cudaErrorNotReady && e2e_now_s() < end)
		e2e_sleep_ms(1);
	if (r != cudaSuccess)
		e2e_fail("this thread's stream 0: %s", cudaGetErrorName(r));
	*flag = 77;
	pthread_join(t, NULL);
	for (int i = 0; i < N; i++)
		want[i] = 8;
	e2e_same_u32("this thread's work", got, want, N);
	RK(cudaMemcpy(&seen, dseen, 4, cudaMemcpyDeviceToHost));
	EXPECT_EQ(seen, 77);
	RK(cudaFree(d));
	RK(cudaFree(dseen));
	RK(cudaFreeHost((void *)flag));
	return e2e_end("two threads, two default streams");
}
