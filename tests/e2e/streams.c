/* SPDX-License-Identifier: MIT */
/*
 * Streams and events. Overlap and order are proven by results, not by clocks: a kernel that can only
 * end when a later launch in another stream has run; chains whose result depends on the order; the
 * legacy stream as a barrier; and event times that are monotonic and not negative.
 */
#include "drv.h"

E2E_PTX(misc);

static CUfunction f_wait, f_set, f_affine, f_spin;

/* Waits for a stream with a bound: 0 when it finished in time. */
static int finishes(CUstream s, double seconds)
{
	double end = e2e_now_s() + seconds;
	CUresult r;

	while ((r = cuStreamQuery(s)) == CUDA_ERROR_NOT_READY && e2e_now_s() < end)
		e2e_sleep_ms(1);
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_NOT_READY)
		drv_die(__FILE__, __LINE__, "cuStreamQuery", r);
	return r == CUDA_SUCCESS ? 0 : -1;
}

/* Stream a spins on a flag; only stream b's kernel, launched afterwards, raises it. */
static void check_overlap(unsigned flags)
{
	CUstream a, b;
	CUdeviceptr dflag, dseen;
	volatile uint32_t *flag;
	uint32_t seen = 0, one = 1717;

	CK(cuStreamCreate(&a, flags));
	CK(cuStreamCreate(&b, flags));
	CK(cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	CK(cuMemHostGetDevicePointer(&dflag, (void *)flag, 0));
	dseen = drv_alloc(4);
	*flag = 0;
	LAUNCH(f_wait, 1, 1, 0, a, &dflag, &dseen);
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	LAUNCH(f_set, 1, 1, 0, b, &dflag, &one);
	if (finishes(b, 5)) {
		e2e_fail("stream b stands behind stream a: no overlap");
		*flag = 1;	/* frees the spinning kernel, so that this program ends */
	}
	if (finishes(a, 5)) {
		e2e_fail("the spinning kernel does not see the flag");
		*flag = 1;
	}
	CK(cuStreamSynchronize(a));
	CK(cuMemcpyDtoH(&seen, dseen, 4));
	EXPECT_EQ(seen, one);
	CK(cuStreamDestroy(a));
	CK(cuStreamDestroy(b));
	CK(cuMemFreeHost((void *)flag));
	CK(cuMemFree(dseen));
}

/* The same with the host as the one that raises the flag: a launch is asynchronous. */
static void check_async(void)
{
	volatile uint32_t *flag;
	CUdeviceptr dflag, dseen = drv_alloc(4);
	uint32_t seen;
	CUstream s;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemHostAlloc((void **)&flag, 64, 0));
	*flag = 0;
	dflag = (CUdeviceptr)(uintptr_t)flag;	/* unified addressing: a pinned pointer is its own device pointer */
	LAUNCH(f_wait, 1, 1, 0, s, &dflag, &dseen);
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	*flag = 4242;
	CK(cuStreamSynchronize(s));
	CK(cuMemcpyDtoH(&seen, dseen, 4));
	EXPECT_EQ(seen, 4242);
	CK(cuStreamDestroy(s));
	CK(cuMemFreeHost((void *)flag));
	CK(cuMemFree(dseen));
}

/* x = x * mul + add by kernels that hop between streams, each hop ordered by an event. */
static void check_event_chain(void)
{
	enum { N = 1001, STREAMS = 3, HOPS = 30 };
	static uint32_t got[N], want[N];
	CUstream s[STREAMS];
	CUevent done[HOPS];
	CUdeviceptr d = drv_alloc(sizeof got);
	int n = N;

	for (int i = 0; i < STREAMS; i++)
		CK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < N; i++)
		want[i] = 0x01010101;
	CK(cuMemsetD8Async(d, 1, sizeof got, s[0]));
	for (int h = 0; h < HOPS; h++) {
		CUstream here = s[h % STREAMS];
		uint32_t mul = 3 + 2 * h, add = 17 * h + 1;

		if (h > 0)
			CK(cuStreamWaitEvent(here, done[h - 1], 0));
		LAUNCH(f_affine, 3, 128, 0, here, &d, &mul, &add, &n);
		CK(cuEventCreate(&done[h], CU_EVENT_DISABLE_TIMING));
		CK(cuEventRecord(done[h], here));
		for (int i = 0; i < N; i++)
			want[i] = want[i] * mul + add;
	}
	CK(cuEventSynchronize(done[HOPS - 1]));
	for (int h = 0; h < HOPS; h++) {
		WANT(CUDA_SUCCESS, cuEventQuery(done[h]));
		CK(cuEventDestroy(done[h]));
	}
	CK(cuMemcpyDtoH(got, d, sizeof got));
	e2e_same_u32("event chain", got, want, N);
	for (int i = 0; i < STREAMS; i++)
		CK(cuStreamDestroy(s[i]));
	CK(cuMemFree(d));
}

/*
 * The legacy stream waits for all blocking streams and they for it; a non-blocking stream does neither
 * (CUDA driver API, "Stream synchronization behavior").
 */
static void check_legacy(void)
{
	enum { N = 777 };
	static uint32_t got[N], want[N];
	CUdeviceptr d = drv_alloc(sizeof got), dflag, dseen = drv_alloc(4);
	uint32_t mul, add, x = 5;
	volatile uint32_t *flag;
	CUstream a, b, free_running;
	int n = N;

	CK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	CK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	CK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	CK(cuMemHostAlloc((void **)&flag, 64, 0));
	*flag = 0;
	dflag = (CUdeviceptr)(uintptr_t)flag;
	CK(cuMemsetD32(d, x, N));

	/* A non-blocking stream that does not end holds up nobody below. */
	LAUNCH(f_wait, 1, 1, 0, free_running, &dflag, &dseen);
	for (unsigned i = 0; i < 12; i++) {
		CUstream order[] = { a, NULL, b, CU_STREAM_LEGACY };

		mul = 2 * i + 3;
		add = i;
		LAUNCH(f_affine, 2, 64, 0, order[i % 4], &d, &mul, &add, &n);
		x = x * mul + add;
	}
	if (finishes(NULL, 5))
		e2e_fail("the legacy stream waits for a non-blocking stream");
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(free_running));
	*flag = 1;
	CK(cuCtxSynchronize());
	WANT(CUDA_SUCCESS, cuStreamQuery(free_running));
	for (int i = 0; i < N; i++)
		want[i] = x;
	CK(cuMemcpyDtoH(got, d, sizeof got));
	e2e_same_u32("legacy order", got, want, N);
	CK(cuStreamDestroy(a));
	CK(cuStreamDestroy(b));
	CK(cuStreamDestroy(free_running));
	CK(cuMemFreeHost((void *)flag));
	CK(cuMemFree(d));
	CK(cuMemFree(dseen));
}

static void check_times(void)
{
	enum { EVENTS = 6 };
	CUevent ev[EVENTS], untimed, unrecorded;
	CUdeviceptr out = drv_alloc(64 * 4);
	unsigned rounds = 20000;
	double wall = e2e_now_s();
	float ms, total, sum = 0;
	CUstream s;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < EVENTS; i++) {
		CK(cuEventCreate(&ev[i], CU_EVENT_DEFAULT));
		if (i > 0)
			LAUNCH(f_spin, 1, 64, 0, s, &out, &rounds);
		CK(cuEventRecord(ev[i], s));
	}
	CK(cuEventSynchronize(ev[EVENTS - 1]));
	wall = (e2e_now_s() - wall) * 1e3;
	for (int i = 1; i < EVENTS; i++) {
		CK(cuEventElapsedTime(&ms, ev[i - 1], ev[i]));
		if (!(ms >= 0))
			e2e_fail("event %d is %g ms after event %d", i, (double)ms, i - 1);
		sum += ms;
	}
	CK(cuEventElapsedTime(&total, ev[0], ev[EVENTS - 1]));
	if (!(total > 0 && total <= wall + 1))
		e2e_fail("events span %g ms, the host saw %g ms", (double)total, wall);
	if (!(sum > total * 0.99f - 0.01f && sum < total * 1.01f + 0.01f))
		e2e_fail("the steps add up to %g ms, the span is %g ms", (double)sum, (double)total);

	/* An event recorded again moves; without timing, or never recorded, it has no time. */
	CK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	CK(cuEventCreate(&unrecorded, CU_EVENT_DEFAULT));
	CK(cuEventRecord(untimed, s));
	CK(cuEventSynchronize(untimed));
	CK(cuEventQuery(unrecorded));
	CK(cuEventSynchronize(unrecorded));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, ev[0], untimed));
	WANT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, ev[0], unrecorded));
	CK(cuEventRecord(ev[0], s));
	CK(cuStreamSynchronize(s));
	CK(cuEventElapsedTime(&ms, ev[EVENTS - 1], ev[0]));
	EXPECT(ms >= 0);
	for (int i = 0; i < EVENTS; i++)
		CK(cuEventDestroy(ev[i]));
	CK(cuEventDestroy(untimed));
	CK(cuEventDestroy(unrecorded));
	CK(cuStreamDestroy(s));
	CK(cuMemFree(out));
}

/* Many launches in many streams, none waited for until the end; then the streams die while busy. */
static void check_many(void)
{
	enum { STREAMS = 16, N = 64, ROUNDS = 40 };
	CUstream s[STREAMS];
	CUdeviceptr d[STREAMS];
	uint32_t got[N], want[N], one = 1, three = 3;
	int n = N;

	for (int i = 0; i < STREAMS; i++) {
		CK(cuStreamCreateWithPriority(&s[i], CU_STREAM_NON_BLOCKING, 0));
		d[i] = drv_alloc(sizeof got);
		CK(cuMemsetD32Async(d[i], i, N, s[i]));
	}
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < STREAMS; i++)
			LAUNCH(f_affine, 1, N, 0, s[i], &d[i], &three, &one, &n);
	/* cuStreamDestroy returns at once; the work in the stream still completes. */
	for (int i = 0; i < STREAMS; i++)
		CK(cuStreamDestroy(s[i]));
	CK(cuCtxSynchronize());
	for (int i = 0; i < STREAMS; i++) {
		uint32_t x = i;

		for (int r = 0; r < ROUNDS; r++)
			x = x * 3 + 1;
		for (int k = 0; k < N; k++)
			want[k] = x;
		CK(cuMemcpyDtoH(got, d[i], sizeof got));
		e2e_same_u32("stream of many", got, want, N);
		CK(cuMemFree(d[i]));
	}
}

int main(void)
{
	CUcontext ctx = drv_start("streams");
	CUmodule mod = drv_module(ptx_misc);

	f_wait = drv_kernel(mod, "wait_flag");
	f_set = drv_kernel(mod, "set_flag");
	f_affine = drv_kernel(mod, "affine");
	f_spin = drv_kernel(mod, "spin");
	check_async();
	check_overlap(CU_STREAM_NON_BLOCKING);
	check_overlap(CU_STREAM_DEFAULT);
	check_event_chain();
	check_legacy();
	check_times();
	check_many();
	CK(cuCtxDestroy(ctx));
	return e2e_end("overlap, event chain, legacy order, times, 16 streams");
}
