/* SPDX-License-Identifier: MIT */
/*
 * Block reductions. A warp reduces by shuffles, the first warp reduces the warps' results from
 * shared memory; one value a block leaves. Blocks need not be full: lanes beyond n give the
 * neutral element.
 */
#include "device.h"

extern "C" __global__ void reduce_sum(const unsigned *in, unsigned *out, int n)
{
	__shared__ unsigned warp_sum[32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	unsigned warps = (blockDim.x + 31) >> 5;
	unsigned v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	for (int d = 16; d > 0; d >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (lane == 0)
		warp_sum[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = lane < warps ? warp_sum[lane] : 0;
		for (int d = 16; d > 0; d >>= 1)
			v += __shfl_down_sync(0xffffffffu, v, d);
		if (lane == 0)
			out[blockIdx.x] = v;
	}
}

/* The xor form: afterwards every lane holds the warp's maximum. Dynamic shared memory. */
extern "C" __global__ void reduce_max(const float *in, float *out, int n)
{
	extern __shared__ float warp_max[];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	unsigned warps = (blockDim.x + 31) >> 5;
	float v = -3.0e38f;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v = in[i] > v ? in[i] : v;
	for (int d = 16; d > 0; d >>= 1) {
		float w = __shfl_xor_sync(0xffffffffu, v, d);
		v = w > v ? w : v;
	}
	warp_max[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = lane < warps ? warp_max[lane] : -3.0e38f;
		for (int d = 16; d > 0; d >>= 1) {
			float w = __shfl_xor_sync(0xffffffffu, v, d);
			v = w > v ? w : v;
		}
		if (lane == 0)
			out[blockIdx.x] = v;
	}
}

/* Votes: counts the odd values below n by ballot, one atomic a warp. */
extern "C" __global__ void count_odd(const unsigned *in, unsigned *total, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned votes = __ballot_sync(0xffffffffu, i < n && (in[i] & 1));

	if ((threadIdx.x & 31) == 0)
		atomicAdd(total, (unsigned)__popc(votes));
}
