/* SPDX-License-Identifier: MIT */
/* Histogram by <<<>>>: shared and global atomics. */
#include "rt.h"

#include "kernels/hist.cu"

static void check(int n, unsigned grid, unsigned block)
{
	unsigned char *in = rt_host<unsigned char>(n), *din;
	uint32_t bins[256], want[256] = { 0 }, seed = 1 + n, *dbins = rt_alloc<uint32_t>(256);

	for (int i = 0; i < n; i++) {
		in[i] = (unsigned char)(e2e_rand(&seed) & e2e_rand(&seed) & 0xff);
		want[in[i]]++;
	}
	din = rt_upload(in, n);
	RK(cudaMemsetAsync(dbins, 0, sizeof bins));
	histogram<<<grid, block>>>(din, dbins, n);
	LAUNCHED();
	rt_download(bins, dbins, 256);
	e2e_same_u32("bin", bins, want, 256);
	RK(cudaFree(din));
	RK(cudaFree(dbins));
	free(in);
}

int main(void)
{
	rt_start("rt_hist");
	check(1, 1, 32);
	check(10007, 5, 128);
	check(40009, 8, 250);
	return e2e_end("40009 bytes, 8 blocks");
}
