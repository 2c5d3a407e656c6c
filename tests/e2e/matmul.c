/* SPDX-License-Identifier: MIT */
/* Tiled matrix multiplication: 2D blocks, shared memory, barriers in a loop, odd shapes. */
#include "drv.h"

E2E_PTX(matmul);

static void check(CUfunction f, int m, int n, int k, uint32_t seed)
{
	float *a = e2e_malloc(m * k * 4), *b = e2e_malloc(k * n * 4);
	float *c = e2e_malloc(m * n * 4), *want = e2e_malloc(m * n * 4);
	CUdeviceptr da, db, dc;
	void *args[] = { &da, &db, &dc, &m, &n, &k };

	/* Small integers: every sum is exact in float, whatever the order and with or without fma. */
	for (int i = 0; i < m * k; i++)
		a[i] = (float)((int)(e2e_rand(&seed) % 33) - 16);
	for (int i = 0; i < k * n; i++)
		b[i] = (float)((int)(e2e_rand(&seed) % 33) - 16);
	for (int i = 0; i < m; i++)
		for (int l = 0; l < k; l++)
			for (int j = 0; j < n; j++)
				want[i * n + j] += a[i * k + l] * b[l * n + j];
	da = drv_upload(a, m * k * 4);
	db = drv_upload(b, k * n * 4);
	dc = drv_alloc(m * n * 4);
	CK(cuLaunchKernel(f, (n + 15) / 16, (m + 15) / 16, 1, 16, 16, 1, 0, NULL, args, NULL));
	CK(cuMemcpyDtoH(c, dc, m * n * 4));
	e2e_same_f32("c", c, want, m * n);
	CK(cuMemFree(da));
	CK(cuMemFree(db));
	CK(cuMemFree(dc));
	free(a);
	free(b);
	free(c);
	free(want);
}

int main(void)
{
	CUcontext ctx = drv_start("matmul");
	CUfunction f = drv_kernel(drv_module(ptx_matmul), "matmul");

	check(f, 16, 16, 16, 1);
	check(f, 1, 1, 1, 2);
	check(f, 33, 17, 65, 3);
	check(f, 79, 93, 61, 4);
	CK(cuCtxDestroy(ctx));
	return e2e_end("4 shapes up to 79 x 93 x 61");
}
