/* SPDX-License-Identifier: MIT */
/*
 * Contexts: none yet, own ones, the primary one, the stack; each has its memory, which goes back when it ends; an
 * allocation that is too large fails and leaves everything else as it was.
 */
#include <pthread.h>

#include "drv.h"

E2E_PTX(misc);

static void *other_thread(void *arg)
{
	CUcontext cur = (CUcontext)arg;

	/* What is current is a thread's own affair. */
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == NULL);
	CK(cuCtxSetCurrent((CUcontext)arg));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == (CUcontext)arg);
	CK(cuCtxSynchronize());
	return NULL;
}

/* Two contexts in turn, one kernel each; neither sees the other's memory. */
static void check_two(CUcontext a, CUcontext b)
{
	CUcontext ctx[2] = { a, b };
	CUdeviceptr d[2];
	CUfunction f[2];
	uint32_t got[64], want[64], value;
	int n = 64;

	for (int i = 0; i < 2; i++) {
		CK(cuCtxPushCurrent(ctx[i]));
		f[i] = drv_kernel(drv_module(ptx_misc), "fill");
		d[i] = drv_alloc(sizeof got);
		CK(cuCtxPopCurrent(NULL));
	}
	EXPECT(d[0] != d[1]);
	for (int i = 0; i < 2; i++) {
		CK(cuCtxPushCurrent(ctx[i]));
		value = 500 + i;
		LAUNCH(f[i], 2, 32, 0, NULL, &d[i], &value, &n);
		CK(cuCtxPopCurrent(NULL));
	}
	for (int i = 0; i < 2; i++) {
		CK(cuCtxPushCurrent(ctx[i]));
		CK(cuMemcpyDtoH(got, d[i], sizeof got));
		for (int k = 0; k < n; k++)
			want[k] = 500 + i;
		e2e_same_u32("context's memory", got, want, n);
		CK(cuMemFree(d[i]));
		CK(cuCtxPopCurrent(NULL));
	}
}

int main(void)
{
	CUcontext own, second, cur, primary, again;
	size_t free0, free1, total;
	CUdeviceptr d;
	CUdevice dev;
	unsigned flags;
	pthread_t t;
	int n, active;

	e2e_begin("contexts");
	WANT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	CK(cuInit(0));
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 16));
	WANT(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 1000));
	CK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT_EQ(active, 0);

	CK(cuCtxCreate_v2(&own, 0, 0));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == own);
	CK(cuCtxGetDevice(&dev));
	EXPECT_EQ(dev, 0);
	/* An allocation shows in the free memory; again if a neighbour freed some at that moment. */
	for (int tries = 0; ; tries++) {
		CK(cuMemGetInfo(&free0, &total));
		EXPECT(free0 <= total && total > 0);
		CK(cuMemAlloc(&d, 8 << 20));
		CK(cuMemGetInfo(&free1, &total));
		if (free1 + (8 << 20) <= free0)
			break;
		if (tries == 20) {
			e2e_fail("8 MiB taken, free memory went from %zu to %zu", free0, free1);
			break;
		}
		CK(cuMemFree(d));
		e2e_sleep_ms(10);
	}
	/* More than there is, and more than there can be. */
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&d, total + (1 << 20)));
	WANT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&d, (size_t)1 << 60));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&d, 0));

	CK(cuCtxCreate_v2(&second, 0, 0));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == second);
	check_two(own, second);
	/* The destroyed current context leaves the stack; below it stands the first one. */
	CK(cuMemAlloc(&d, 8 << 20));
	CK(cuCtxDestroy(second));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == own);
	EXPECT(drv_free_again(free1));

	CK(cuDevicePrimaryCtxRetain(&primary, 0));
	CK(cuDevicePrimaryCtxRetain(&again, 0));
	EXPECT(primary == again && primary != own);
	CK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT_EQ(active, 1);
	check_two(own, primary);
	if (pthread_create(&t, NULL, other_thread, primary))
		e2e_fail("pthread_create");
	else
		pthread_join(t, NULL);
	CK(cuDevicePrimaryCtxRelease(0));
	CK(cuDevicePrimaryCtxRelease(0));
	CK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT_EQ(active, 0);
	CK(cuCtxDestroy(own));
	CK(cuCtxGetCurrent(&cur));
	EXPECT(cur == NULL);
	WANT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 16));

	/* Contexts come and go; nothing is left behind. */
	CK(cuCtxCreate_v2(&own, 0, 0));
	CK(cuMemGetInfo(&free0, &total));
	for (int i = 0; i < 10; i++) {
		CK(cuCtxCreate_v2(&second, 0, 0));
		d = drv_alloc(2 << 20);
		CK(cuMemsetD8(d, 1, 2 << 20));
		CK(cuCtxDestroy(second));
	}
	EXPECT(drv_free_again(free0));
	CK(cuCtxDestroy(own));
	return e2e_end("own, primary, stack, 10 in a row");
}
