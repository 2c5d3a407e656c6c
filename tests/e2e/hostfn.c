/* SPDX-License-Identifier: MIT */
/*
 * Host functions and stream callbacks: called once each, in stream order, after the work before and before
 * the work behind them; and a slow one in one stream stops no other stream. Streams that are destroyed with
 * functions pending run them all the same, and come to their ends: nothing that one waits for is the next one's. A function that
 * calls CUDA is told that it may not.
 */
#include "drv.h"

E2E_PTX(misc);

#define CALLS 12

static uint32_t *pinned;	/* the stream copies x here before each call */
static uint32_t seen[CALLS];
static int calls, slow_done, callback_status = -1;

static void CUDA_CB note(void *arg)
{
	(void)arg;
	if (calls < CALLS)
		seen[calls] = *(volatile uint32_t *)pinned;
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
}

static void CUDA_CB callback(CUstream s, CUresult r, void *arg)
{
	(void)s;
	callback_status = (int)r;
	note(arg);
}

static void CUDA_CB slow(void *arg)
{
	(void)arg;
	e2e_sleep_ms(100);
	__atomic_store_n(&slow_done, 1, __ATOMIC_RELEASE);
}

static int quick_calls;

static void CUDA_CB quick(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&quick_calls, 1, __ATOMIC_RELEASE);
}

/* What a stream has called may not call CUDA (cuStreamAddCallback's text): it is told so, at once, but where it only asks what is current. */
static struct { CUstream s, other; CUdeviceptr d; CUevent e; CUfunction f; CUresult r[11]; unsigned n; } inside;

static void CUDA_CB calls_back(void *arg)
{
	uint32_t n = 1;
	void *params[] = { &inside.d, &n, &n, &n };
	CUdevice dev;
	CUdeviceptr p;
	size_t size;

	inside.n = 0;
	inside.r[inside.n++] = cuMemFree(inside.d);
	inside.r[inside.n++] = cuMemAlloc(&p, 256);
	inside.r[inside.n++] = cuCtxGetDevice(&dev);
	inside.r[inside.n++] = cuMemGetAddressRange(&p, &size, inside.d);
	inside.r[inside.n++] = cuStreamSynchronize(inside.s);
	inside.r[inside.n++] = cuStreamQuery(inside.other);
	inside.r[inside.n++] = cuEventRecord(inside.e, inside.other);
	inside.r[inside.n++] = cuMemsetD32Async(inside.d, 7, 1, inside.other);
	inside.r[inside.n++] = cuLaunchHostFunc(inside.other, quick, NULL);
	inside.r[inside.n++] = cuLaunchKernel(inside.f, 1, 1, 1, 1, 1, 1, 0, inside.other, params, NULL);
	inside.r[inside.n++] = cuCtxSynchronize();
	(void)arg;
}

static void CUDA_CB calls_back_2(CUstream s, CUresult r, void *arg)
{
	(void)s;
	(void)r;
	calls_back(arg);
}

static void no_calls_inside(CUfunction f)
{
	inside.f = f;
	CK(cuStreamCreate(&inside.s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&inside.other, CU_STREAM_NON_BLOCKING));
	CK(cuEventCreate(&inside.e, 0));
	CK(cuMemAlloc(&inside.d, 256));
	for (int how = 0; how < 2; how++) {
		inside.n = 0;
		if (how)
			CK(cuStreamAddCallback(inside.s, calls_back_2, NULL, 0));
		else
			CK(cuLaunchHostFunc(inside.s, calls_back, NULL));
		CK(cuStreamSynchronize(inside.s));
		EXPECT_EQ(inside.n, 11);
		for (unsigned i = 0; i < inside.n; i++)
			EXPECT_EQ(i * 1000 + inside.r[i], i * 1000 + CUDA_ERROR_NOT_PERMITTED);
		/* and who stands outside is none the worse */
		CK(cuMemsetD32Async(inside.d, 9, 1, inside.other));
		CK(cuStreamSynchronize(inside.other));
	}
	CK(cuMemFree(inside.d));
	CK(cuEventDestroy(inside.e));
	CK(cuStreamDestroy(inside.s));
	CK(cuStreamDestroy(inside.other));
}

#define SHORT_LIVES 3000

static void short_lives(void)
{
	for (int i = 0; i < SHORT_LIVES; i++) {
		CUstream s;

		CK(cuStreamCreate(&s, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		CK(cuLaunchHostFunc(s, quick, NULL));
		if (i % 3)
			CK(cuLaunchHostFunc(s, quick, NULL));
		CK(cuStreamDestroy(s));
	}
	CK(cuCtxSynchronize());
	EXPECT_EQ(__atomic_load_n(&quick_calls, __ATOMIC_ACQUIRE), SHORT_LIVES + SHORT_LIVES / 3 * 2);
}

int main(void)
{
	CUcontext ctx = drv_start("hostfn");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	CUdeviceptr d = drv_alloc(4);
	uint32_t mul = 3, add = 1, x = 1, want[CALLS];
	CUstream s, other;
	int n = 1;

	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost((void **)&pinned, 4));
	CK(cuMemsetD32Async(d, x, 1, s));
	for (int i = 0; i < CALLS; i++) {
		LAUNCH(f, 1, 1, 0, s, &d, &mul, &add, &n);
		CK(cuMemcpyDtoHAsync(pinned, d, 4, s));
		if (i % 3 == 2)
			CK(cuStreamAddCallback(s, callback, NULL, 0));
		else if (i % 3)
			CK(cuLaunchHostFunc(s, note, NULL));
		else
			CK(cuLaunchHostFunc_v2(s, note, NULL, (unsigned)i & 1));
		x = x * 3 + 1;
		want[i] = x;
	}
	CK(cuStreamSynchronize(s));
	EXPECT_EQ(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), CALLS);
	e2e_same_u32("seen by call", seen, want, CALLS);
	EXPECT_EQ(callback_status, CUDA_SUCCESS);

	CK(cuLaunchHostFunc(s, slow, NULL));
	WANT(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	LAUNCH(f, 1, 1, 0, other, &d, &mul, &add, &n);
	CK(cuStreamSynchronize(other));
	/* A machine that is busy elsewhere may let 100 ms pass: then this proves nothing, but fails nothing. */
	if (__atomic_load_n(&slow_done, __ATOMIC_ACQUIRE))
		printf("hostfn: note: the other stream took longer than the slow function\n");
	CK(cuStreamSynchronize(s));
	EXPECT(__atomic_load_n(&slow_done, __ATOMIC_ACQUIRE));
	CK(cuStreamDestroy(s));
	CK(cuStreamDestroy(other));
	short_lives();
	no_calls_inside(f);
	CK(cuMemFreeHost(pinned));
	CK(cuMemFree(d));
	CK(cuCtxDestroy(ctx));
	return e2e_end("%d calls in order", CALLS);
}
