/* SPDX-License-Identifier: MIT */
/* Managed memory: one pointer for host and device, in both directions, without a copy. */
#include "drv.h"

E2E_PTX(misc);

/* What a copy that returns has put into managed memory is there: the program reads it by itself. */
static void copied(void)
{
	enum { N = 4096, ROUNDS = 300 };
	static uint32_t from[N];
	volatile uint32_t *m;
	CUdeviceptr d;

	CK(cuMemAllocManaged(&d, sizeof from, CU_MEM_ATTACH_GLOBAL));
	m = (volatile uint32_t *)(uintptr_t)d;
	for (unsigned r = 1; r <= ROUNDS; r++) {
		unsigned n = r % 3 ? 3 : N;

		for (unsigned i = 0; i < n; i++)
			from[i] = r;
		CK(cuMemcpy(d, (CUdeviceptr)(uintptr_t)from, n * 4));
		if (m[n - 1] != r) {
			e2e_fail("copy %u of %u words is not there", r, n);
			break;
		}
	}
	CK(cuMemFree(d));
}

int main(void)
{
	enum { N = 10007 };
	CUcontext ctx = drv_start("managed");
	CUfunction f = drv_kernel(drv_module(ptx_misc), "affine");
	uint32_t *want = e2e_malloc(N * 4), mul = 7, add = 11;
	unsigned type = 0, managed = 0;
	CUdeviceptr d;
	uint32_t *host;
	int n = N;

	CK(cuMemAllocManaged(&d, N * 4, CU_MEM_ATTACH_GLOBAL));
	host = (uint32_t *)(uintptr_t)d;
	for (int i = 0; i < N; i++) {
		host[i] = i;
		want[i] = (i * mul + add) * mul + add + 1;
	}
	LAUNCH(f, 5, 128, 0, NULL, &d, &mul, &add, &n);
	LAUNCH(f, 5, 100, 0, NULL, &d, &mul, &add, &n);
	CK(cuCtxSynchronize());
	for (int i = 0; i < N; i++)
		host[i]++;
	e2e_same_u32("managed", host, want, N);
	CK(cuMemsetD32(d, 3, 10));
	CK(cuCtxSynchronize());
	EXPECT_EQ(host[9], 3);
	EXPECT_EQ(host[10], want[10]);
	CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 4));
	CK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d + 4));
	EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
	EXPECT(managed);
	CK(cuMemFree(d));
	WANT(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&d, 0, CU_MEM_ATTACH_GLOBAL));
	copied();
	CK(cuCtxDestroy(ctx));
	free(want);
	return e2e_end("%d words written by both sides", N);
}
