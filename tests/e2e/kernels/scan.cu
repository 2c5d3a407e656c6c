/* SPDX-License-Identifier: MIT */
/*
 * Inclusive prefix sums over many blocks, in the two usual ways: three launches (scan each block,
 * scan the block sums, add), and one launch in which a block waits for its predecessor's total.
 */
#include "device.h"

#define FULL 0xffffffffu

/* Inclusive scan of one value a thread over the block; every thread of the block must call it. */
static __device__ unsigned block_scan(unsigned v, unsigned *warp_sum)
{
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, t;

	for (unsigned d = 1; d < 32; d <<= 1) {
		t = __shfl_up_sync(FULL, v, d);
		if (lane >= d)
			v += t;
	}
	if (lane == 31)
		warp_sum[warp] = v;
	__syncthreads();
	if (warp == 0) {
		unsigned s = lane < blockDim.x / 32 ? warp_sum[lane] : 0;

		for (unsigned d = 1; d < 32; d <<= 1) {
			t = __shfl_up_sync(FULL, s, d);
			if (lane >= d)
				s += t;
		}
		warp_sum[lane] = s;
	}
	__syncthreads();
	return warp ? v + warp_sum[warp - 1] : v;
}

/* blockDim.x must be a multiple of 32 here and below. sums may be null. */
extern "C" __global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
	__shared__ unsigned warp_sum[32];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = block_scan(i < n ? in[i] : 0, warp_sum);

	if (i < n)
		out[i] = v;
	if (sums && threadIdx.x == blockDim.x - 1)
		sums[blockIdx.x] = v;
}

extern "C" __global__ void scan_add(unsigned *out, const unsigned *sums, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (blockIdx.x > 0 && i < n)
		out[i] += sums[blockIdx.x - 1];
}

/*
 * One pass. state[0] is a ticket counter: a block's place in the scan is the order in which it
 * started, so the block it waits for has always started before it and no deadlock is possible,
 * however few blocks run at once. state[1 + p] is (p's inclusive total) with bit 63 as "valid".
 */
extern "C" __global__ void scan_chained(const unsigned *in, unsigned *out,
	volatile unsigned long long *state, int n)
{
	__shared__ unsigned warp_sum[32];
	__shared__ unsigned place, before;
	unsigned v;
	int i;

	if (threadIdx.x == 0)
		place = (unsigned)atomicAdd((unsigned long long *)&state[0], 1ull);
	__syncthreads();
	i = place * blockDim.x + threadIdx.x;
	v = block_scan(i < n ? in[i] : 0, warp_sum);
	if (threadIdx.x == blockDim.x - 1) {
		unsigned long long prev = 0;

		if (place > 0)
			do
				prev = state[place];
			while (!(prev >> 63));
		state[1 + place] = (unsigned long long)((unsigned)prev + v) | 1ull << 63;
		__threadfence();
		before = (unsigned)prev;
	}
	__syncthreads();
	if (i < n)
		out[i] = v + before;
}
