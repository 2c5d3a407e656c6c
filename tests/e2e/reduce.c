/* SPDX-License-Identifier: MIT */
/* Block reductions by shuffles and shared memory (static and dynamic), and votes. */
#include "drv.h"

E2E_PTX(reduce);

static CUmodule mod;

static void check(int n, unsigned grid, unsigned block, uint32_t seed)
{
	uint32_t *in = e2e_malloc(n * 4), *part = e2e_malloc(grid * 4);
	float *fin = e2e_malloc(n * 4), *fpart = e2e_malloc(grid * 4);
	uint32_t sum = 0, odd = 0, got = 0;
	float max = -3.0e38f, fgot = max;
	CUdeviceptr din, dfin, dpart, dtotal;
	int igrid = (int)grid;

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		fin[i] = (float)(int32_t)in[i];
		sum += in[i];
		odd += in[i] & 1;
		max = fin[i] > max ? fin[i] : max;
	}
	din = drv_upload(in, n * 4);
	dfin = drv_upload(fin, n * 4);
	dpart = drv_alloc(grid * 4);
	dtotal = drv_alloc(4);

	/* Partial sums on the device, then the partial sums by one block of the same kernel. */
	LAUNCH(drv_kernel(mod, "reduce_sum"), grid, block, 0, NULL, &din, &dpart, &n);
	LAUNCH(drv_kernel(mod, "reduce_sum"), 1, 64, 0, NULL, &dpart, &dtotal, &igrid);
	CK(cuMemcpyDtoH(&got, dtotal, 4));
	e2e_same_u32("sum", &got, &sum, 1);

	/* One float a warp, but the first warp reads all 32 lanes' worth only below warps. */
	LAUNCH(drv_kernel(mod, "reduce_max"), grid, block, ((block + 31) / 32) * 4, NULL, &dfin, &dpart, &n);
	CK(cuMemcpyDtoH(fpart, dpart, grid * 4));
	for (unsigned i = 0; i < grid; i++)
		fgot = fpart[i] > fgot ? fpart[i] : fgot;
	e2e_same_f32("max", &fgot, &max, 1);

	CK(cuMemsetD32(dtotal, 0, 1));
	LAUNCH(drv_kernel(mod, "count_odd"), (n + block - 1) / block, block, 0, NULL, &din, &dtotal, &n);
	CK(cuMemcpyDtoH(&got, dtotal, 4));
	e2e_same_u32("odd values", &got, &odd, 1);

	CK(cuMemFree(din));
	CK(cuMemFree(dfin));
	CK(cuMemFree(dpart));
	CK(cuMemFree(dtotal));
	free(in);
	free(part);
	free(fin);
	free(fpart);
}

int main(void)
{
	CUcontext ctx = drv_start("reduce");

	mod = drv_module(ptx_reduce);
	check(1, 1, 32, 3);
	check(1000, 4, 128, 4);
	check(4099, 7, 256, 5);
	check(50021, 9, 1024, 6);
	check(777, 5, 96, 7);
	CK(cuCtxDestroy(ctx));
	return e2e_end("sum, max and votes of up to 50021 values");
}
