/* SPDX-License-Identifier: MIT */
/* Prefix sums by <<<>>>, in three launches and in one. */
#include "rt.h"

#include "kernels/scan.cu"

#define BLOCK 128

static void scan(const uint32_t *in, uint32_t *out, int n)
{
	unsigned grid = (n + BLOCK - 1) / BLOCK;
	uint32_t *sums = NULL;

	if (grid > 1)
		sums = rt_alloc<uint32_t>(grid);
	scan_blocks<<<grid, BLOCK>>>(in, out, sums, n);
	if (grid > 1) {
		scan(sums, sums, (int)grid);
		scan_add<<<grid, BLOCK>>>(out, sums, n);
		RK(cudaFree(sums));
	}
	LAUNCHED();
}

static void check(int n, uint32_t seed)
{
	unsigned grid = (n + BLOCK - 1) / BLOCK;
	uint32_t *in = rt_host<uint32_t>(n), *out = rt_host<uint32_t>(n), *want = rt_host<uint32_t>(n), sum = 0;
	uint32_t *din, *dout = rt_alloc<uint32_t>(n);
	unsigned long long *state = rt_alloc<unsigned long long>(grid + 1);

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		want[i] = sum += in[i];
	}
	din = rt_upload(in, n);
	scan(din, dout, n);
	rt_download(out, dout, n);
	e2e_same_u32("three launches", out, want, n);
	RK(cudaMemset(dout, 0, n * 4));
	RK(cudaMemset(state, 0, (grid + 1) * 8));
	scan_chained<<<grid, BLOCK>>>(din, dout, state, n);
	LAUNCHED();
	rt_download(out, dout, n);
	e2e_same_u32("one launch", out, want, n);
	RK(cudaFree(din));
	RK(cudaFree(dout));
	RK(cudaFree(state));
	free(in);
	free(out);
	free(want);
}

int main(void)
{
	rt_start("rt_scan");
	check(1, 1);
	check(127, 2);
	check(5003, 3);
	check(BLOCK * BLOCK + 1, 4);
	return e2e_end("up to %d values, 3 levels; chained in one launch", BLOCK * BLOCK + 1);
}
