/* SPDX-License-Identifier: MIT */
/* Prefix sums over many blocks: in three launches, and in one whose blocks wait for each other. */
#include "drv.h"

E2E_PTX(scan);

#define BLOCK 128

static CUfunction f_blocks, f_add, f_chained;

/* Recursive: block totals are scanned the same way until one block holds them. */
static void scan(CUdeviceptr in, CUdeviceptr out, int n)
{
	unsigned grid = (n + BLOCK - 1) / BLOCK;
	CUdeviceptr sums = 0;
	int blocks = (int)grid;

	if (grid > 1)
		sums = drv_alloc(grid * 4);
	LAUNCH(f_blocks, grid, BLOCK, 0, NULL, &in, &out, &sums, &n);
	if (grid > 1) {
		scan(sums, sums, blocks);
		LAUNCH(f_add, grid, BLOCK, 0, NULL, &out, &sums, &n);
		CK(cuMemFree(sums));
	}
}

static void check(int n, uint32_t seed)
{
	uint32_t *in = e2e_malloc(n * 4), *out = e2e_malloc(n * 4), *want = e2e_malloc(n * 4);
	unsigned grid = (n + BLOCK - 1) / BLOCK;
	CUdeviceptr din, dout = drv_alloc(n * 4), state = drv_alloc((grid + 1) * 8);
	uint32_t sum = 0;

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		want[i] = sum += in[i];
	}
	din = drv_upload(in, n * 4);
	scan(din, dout, n);
	CK(cuMemcpyDtoH(out, dout, n * 4));
	e2e_same_u32("three launches", out, want, n);

	CK(cuMemsetD32(dout, 0, n));
	CK(cuMemsetD32(state, 0, (grid + 1) * 2));
	LAUNCH(f_chained, grid, BLOCK, 0, NULL, &din, &dout, &state, &n);
	CK(cuMemcpyDtoH(out, dout, n * 4));
	e2e_same_u32("one launch", out, want, n);
	CK(cuMemFree(din));
	CK(cuMemFree(dout));
	CK(cuMemFree(state));
	free(in);
	free(out);
	free(want);
}

int main(void)
{
	CUcontext ctx = drv_start("scan");
	CUmodule mod = drv_module(ptx_scan);

	f_blocks = drv_kernel(mod, "scan_blocks");
	f_add = drv_kernel(mod, "scan_add");
	f_chained = drv_kernel(mod, "scan_chained");
	check(1, 1);
	check(127, 2);
	check(5003, 3);
	check(BLOCK * BLOCK + 1, 4);
	CK(cuCtxDestroy(ctx));
	return e2e_end("up to %d values, 3 levels; chained in one launch", BLOCK * BLOCK + 1);
}
