/* SPDX-License-Identifier: MIT */
/* Stream-ordered allocation: memory is there for work behind the allocation and returns after the work before the free. */
#include "drv.h"

E2E_PTX(misc);

int main(void)
{
	enum { N = 5000, ROUNDS = 20 };
	CUcontext ctx = drv_start("pool");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	uint32_t *out, *want = e2e_malloc(N * 4), mul = 5, add = 1;
	CUmemoryPool pool = NULL;
	size_t before, total;
	CUdeviceptr d, e;
	CUstream s;
	int n = N, supported = 0;

	CK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
	if (!supported)
		e2e_skip("the device has no memory pools");
	CK(cuDeviceGetDefaultMemPool(&pool, 0));
	EXPECT(pool != NULL);
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemAllocHost((void **)&out, N * 4));
	CK(cuMemGetInfo(&before, &total));
	for (int r = 0; r < ROUNDS; r++) {
		CK(cuMemAllocAsync(&d, N * 4, s));
		CK(cuMemAllocFromPoolAsync(&e, N * 4, pool, s));
		EXPECT(d != e);
		CK(cuMemsetD32Async(d, r, N, s));
		LAUNCH(f, 7, 128, 0, s, &d, &mul, &add, &n);
		CK(cuMemcpyDtoDAsync(e, d, N * 4, s));
		CK(cuMemFreeAsync(d, s));
		LAUNCH(f, 7, 128, 0, s, &e, &mul, &add, &n);
		CK(cuMemcpyDtoHAsync(out, e, N * 4, s));
		CK(cuMemFreeAsync(e, s));
		CK(cuStreamSynchronize(s));
		for (int i = 0; i < N; i++)
			want[i] = (r * 5 + 1) * 5 + 1;
		e2e_same_u32("pool", out, want, N);
	}
	/* Memory of the pool may be freed by the plain call as well. */
	CK(cuMemAllocAsync(&d, 16 << 20, s));
	CK(cuStreamSynchronize(s));
	CK(cuMemFree(d));
	CK(cuMemPoolTrimTo(pool, 0));
	EXPECT(drv_free_again(before));
	CK(cuMemFreeHost(out));
	CK(cuStreamDestroy(s));
	CK(cuCtxDestroy(ctx));
	return e2e_end("%d rounds of two allocations", ROUNDS);
}
