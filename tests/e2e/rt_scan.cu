/* SPDX-License-Identifier: MIT */
/* Prefix sums by <<<>>>, in three launches and in one. */
#include <cooperative_groups.h>

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

/* One lane of a warp asks for places for all; the others' variable is never set, as in CUDA's own examples. */
__global__ void keep_odd(const uint32_t *in, uint32_t *out, uint32_t *counts, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	bool keep = i < n && in[i] % 2;
	unsigned all = __ballot_sync(0xffffffffu, keep), first;

	if (lane == 0 && all)
		first = atomicAdd(counts, (unsigned)__popc(all));
	first = __shfl_sync(0xffffffffu, first, 0);
	if (keep)
		out[first + __popc(all & ((1u << lane) - 1))] = in[i];
}
__global__ void keep_odd_groups(const uint32_t *in, uint32_t *out, uint32_t *counts, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && in[i] % 2) {
		cooperative_groups::coalesced_group g = cooperative_groups::coalesced_threads();
		unsigned first;

		if (g.thread_rank() == 0)
			first = atomicAdd(counts, g.size());
		out[g.shfl(first, 0) + g.thread_rank()] = in[i];
	}
}

/* Places in another order, but the same values. */
static void check_kept(int n, uint32_t seed)
{
	uint32_t *in = rt_host<uint32_t>(n), *out = rt_host<uint32_t>(n), counts[2] = { 0, 0 }, want = 0, sum = 0;
	uint32_t *din, *dout = rt_alloc<uint32_t>(n), *dcounts = rt_upload(counts, 2);

	for (int i = 0; i < n; i++) {
		in[i] = e2e_rand(&seed);
		if (in[i] % 2) {
			want++;
			sum += in[i] * in[i];
		}
	}
	din = rt_upload(in, n);
	for (int how = 0; how < 2; how++) {
		uint32_t got = 0;

		RK(cudaMemset(dout, 0, n * 4));
		if (how)
			keep_odd_groups<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(din, dout, dcounts + 1, n);
		else
			keep_odd<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(din, dout, dcounts, n);
		LAUNCHED();
		rt_download(out, dout, n);
		rt_download(counts, dcounts, 2);
		for (int i = 0; i < n; i++)
			got += out[i] * out[i];
		e2e_same_u32("how many", &counts[how], &want, 1);
		e2e_same_u32("which", &got, &sum, 1);
	}
	RK(cudaFree(din));
	RK(cudaFree(dout));
	RK(cudaFree(dcounts));
	free(in);
	free(out);
}

int main(void)
{
	rt_start("rt_scan");
	check(1, 1);
	check(127, 2);
	check(5003, 3);
	check(BLOCK * BLOCK + 1, 4);
	check_kept(5003, 5);
	return e2e_end("up to %d values, 3 levels; chained in one launch; what a warp keeps", BLOCK * BLOCK + 1);
}
