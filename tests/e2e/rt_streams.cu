/* SPDX-License-Identifier: MIT */
/* Streams, events and host functions of the runtime API; overlap and order proven by results, as in streams.c. */
#include "rt.h"

#include "kernels/misc.cu"

static int finishes(cudaStream_t s, double seconds)
{
	double end = e2e_now_s() + seconds;
	cudaError_t r;

	while ((r = cudaStreamQuery(s)) == cudaErrorNotReady && e2e_now_s() < end)
		e2e_sleep_ms(1);
	if (r != cudaSuccess && r != cudaErrorNotReady)
		rt_die(__FILE__, __LINE__, "cudaStreamQuery", r);
	return r == cudaSuccess ? 0 : -1;
}

static void check_overlap(void)
{
	volatile uint32_t *flag;
	uint32_t seen = 0, *dflag, *dseen = rt_alloc<uint32_t>(1);
	cudaStream_t a, b;

	RK(cudaStreamCreate(&a));
	RK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	RK(cudaHostAlloc((void **)&flag, 64, cudaHostAllocMapped));
	RK(cudaHostGetDevicePointer((void **)&dflag, (void *)flag, 0));
	*flag = 0;
	wait_flag<<<1, 1, 0, a>>>(dflag, dseen);
	LAUNCHED();
	RWANT(cudaErrorNotReady, cudaStreamQuery(a));
	/* NotReady is no error (programming guide, "Error Checking"): nothing is remembered. */
	RWANT(cudaSuccess, cudaGetLastError());
	set_flag<<<1, 1, 0, b>>>(dflag, 99u);
	LAUNCHED();
	if (finishes(b, 5) || finishes(a, 5)) {
		e2e_fail("stream b stands behind stream a: no overlap");
		*flag = 1;
	}
	RK(cudaStreamSynchronize(a));
	rt_download(&seen, dseen, 1);
	EXPECT_EQ(seen, 99);
	RK(cudaStreamDestroy(a));
	RK(cudaStreamDestroy(b));
	RK(cudaFreeHost((void *)flag));
	RK(cudaFree(dseen));
}

static void check_chain(void)
{
	enum { N = 501, STREAMS = 3, HOPS = 12 };
	static uint32_t got[N], want[N];
	cudaStream_t s[STREAMS];
	cudaEvent_t done[HOPS];
	uint32_t *d = rt_alloc<uint32_t>(N);
	float ms, all = 0;

	for (int i = 0; i < STREAMS; i++)
		RK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
	RK(cudaMemsetAsync(d, 1, sizeof got, s[0]));
	for (int i = 0; i < N; i++)
		want[i] = 0x01010101;
	for (int h = 0; h < HOPS; h++) {
		if (h > 0)
			RK(cudaStreamWaitEvent(s[h % STREAMS], done[h - 1], 0));
		affine<<<2, 96, 0, s[h % STREAMS]>>>(d, 3 + 2 * h, 17 * h + 1, N);
		LAUNCHED();
		RK(cudaEventCreate(&done[h]));
		RK(cudaEventRecord(done[h], s[h % STREAMS]));
		for (int i = 0; i < N; i++)
			want[i] = want[i] * (3 + 2 * h) + 17 * h + 1;
	}
	RK(cudaEventSynchronize(done[HOPS - 1]));
	for (int h = 0; h < HOPS; h++) {
		RK(cudaEventQuery(done[h]));
		if (h > 0) {
			RK(cudaEventElapsedTime(&ms, done[h - 1], done[h]));
			if (!(ms >= 0))
				e2e_fail("event %d before event %d: %g ms", h, h - 1, (double)ms);
			all += ms;
		}
	}
	RK(cudaEventElapsedTime(&ms, done[0], done[HOPS - 1]));
	if (!(ms <= all + 0.01f))
		e2e_fail("span %g ms, sum of steps %g ms", (double)ms, (double)all);
	rt_download(got, d, N);
	e2e_same_u32("event chain", got, want, N);
	for (int h = 0; h < HOPS; h++)
		RK(cudaEventDestroy(done[h]));
	for (int i = 0; i < STREAMS; i++)
		RK(cudaStreamDestroy(s[i]));
	RK(cudaFree(d));
}

/* Legacy default stream between two blocking streams. */
static void check_legacy(void)
{
	enum { N = 300 };
	uint32_t got[N], want[N], x = 0x07070707, *d = rt_alloc<uint32_t>(N);
	cudaStream_t a, b;

	RK(cudaStreamCreate(&a));
	RK(cudaStreamCreate(&b));
	RK(cudaMemset(d, 7, sizeof got));
	for (int i = 0; i < 12; i++) {
		cudaStream_t order[] = { a, 0, b, cudaStreamLegacy };

		affine<<<2, 64, 0, order[i % 4]>>>(d, 2 * i + 3, i, N);
		LAUNCHED();
		x = x * (2 * i + 3) + i;
	}
	rt_download(got, d, N);
	for (int i = 0; i < N; i++)
		want[i] = x;
	e2e_same_u32("legacy order", got, want, N);
	RK(cudaStreamDestroy(a));
	RK(cudaStreamDestroy(b));
	RK(cudaFree(d));
}

static uint32_t *pinned, seen_by_host[8];
static int calls, callback_status = -1;

static void note(void *)
{
	if (calls < 8)
		seen_by_host[calls] = *(volatile uint32_t *)pinned;
	calls++;
}

static void callback(cudaStream_t, cudaError_t r, void *)
{
	callback_status = (int)r;
	note(NULL);
}

static void check_host_functions(void)
{
	uint32_t want[8], x = 1, *d = rt_alloc<uint32_t>(1);
	cudaStream_t s;

	RK(cudaStreamCreate(&s));
	RK(cudaMallocHost((void **)&pinned, 4));
	RK(cudaMemcpyAsync(d, &x, 4, cudaMemcpyHostToDevice, s));
	for (int i = 0; i < 8; i++) {
		affine<<<1, 1, 0, s>>>(d, 3, 1, 1);
		LAUNCHED();
		RK(cudaMemcpyAsync(pinned, d, 4, cudaMemcpyDeviceToHost, s));
		if (i % 3 == 2)
			RK(cudaStreamAddCallback(s, callback, NULL, 0));
		else
			RK(cudaLaunchHostFunc(s, note, NULL));
		x = x * 3 + 1;
		want[i] = x;
	}
	RK(cudaStreamSynchronize(s));
	EXPECT_EQ(calls, 8);
	EXPECT_EQ(callback_status, cudaSuccess);
	e2e_same_u32("seen by the host function", seen_by_host, want, 8);
	RK(cudaStreamDestroy(s));
	RK(cudaFreeHost(pinned));
	RK(cudaFree(d));
}

int main(void)
{
	rt_start("rt_streams");
	check_overlap();
	check_chain();
	check_legacy();
	check_host_functions();
	return e2e_end("overlap, event chain, legacy order, host functions");
}
