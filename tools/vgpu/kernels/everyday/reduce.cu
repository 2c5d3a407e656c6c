/* SPDX-License-Identifier: MIT */
/* Sums, prefix sums, histograms, a sort of whole numbers, rows made even. */
#include "common.h"

/* A sum for each block of 256 threads. */
KERNEL reduce_tree(int n, const float *in, float *out)
{
	__shared__ float part[256];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = GLOBAL_ID; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	part[t] = sum;
	__syncthreads();
	for (int s = 128; s > 0; s >>= 1) {
		if (t < s)
			part[t] += part[t + s];
		__syncthreads();
	}
	if (!t)
		out[blockIdx.x] = part[0];
}

/* The same by shuffles. */
KERNEL reduce_shfl(int n, const float *in, float *out)
{
	__shared__ float part[8];
	int t = threadIdx.x;
	float sum = 0;

	for (int i = GLOBAL_ID; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	sum = warp_sum(sum);
	if (t % 32 == 0)
		part[t / 32] = sum;
	__syncthreads();
	if (t < 32) {
		sum = warp_sum(t < 8 ? part[t] : 0.0f);
		if (!t)
			out[blockIdx.x] = sum;
	}
}

/* Prefix sums of 256 threads' values, exclusive; *total: all of them. */
FN u32 block_scan(u32 v, u32 *warps, u32 *total)
{
	int t = threadIdx.x, lane = t % 32;
	u32 sum = v;

	for (int o = 1; o < 32; o <<= 1) {
		u32 w = __shfl_up_sync(FULL, sum, (unsigned)o);

		if (lane >= o)
			sum += w;
	}
	if (lane == 31)
		warps[t / 32] = sum;
	__syncthreads();
	if (t < 8) {
		u32 s = warps[t];

		for (int o = 1; o < 8; o <<= 1) {
			u32 w = __shfl_up_sync(0xff, s, (unsigned)o);

			if (t >= o)
				s += w;
		}
		warps[t] = s;
	}
	__syncthreads();
	*total = warps[7];
	return sum - v + (t >= 32 ? warps[t / 32 - 1] : 0);
}

/* Three steps: blocks of 1,024, their sums by one block, and these added. Inclusive. */
KERNEL scan_block(const u32 *in, u32 *out, u32 *sums)
{
	__shared__ u32 warps[8];
	int i = blockIdx.x * 1024 + threadIdx.x * 4;
	u32 a = in[i], b = in[i + 1] + a, c = in[i + 2] + b, d = in[i + 3] + c, total, before;

	before = block_scan(d, warps, &total);
	out[i] = a + before;
	out[i + 1] = b + before;
	out[i + 2] = c + before;
	out[i + 3] = d + before;
	if (!threadIdx.x)
		sums[blockIdx.x] = total;
}

/* In place, exclusive; one block. */
KERNEL scan_sums(int n, u32 *sums)
{
	__shared__ u32 warps[8];
	u32 carry = 0, total;

	for (int at = 0; at < n; at += 256) {
		int i = at + threadIdx.x;
		u32 v = i < n ? sums[i] : 0, before = block_scan(v, warps, &total);

		if (i < n)
			sums[i] = carry + before;
		carry += total;
		__syncthreads();
	}
}

KERNEL scan_add(u32 *out, const u32 *sums)
{
	int i = blockIdx.x * 1024 + threadIdx.x;
	u32 s = sums[blockIdx.x];

	for (int j = 0; j < 1024; j += 256)
		out[i + j] += s;
}

KERNEL histogram_shared(int n, const u32 *in, u32 *bins)
{
	__shared__ u32 own[256];

	own[threadIdx.x] = 0;
	__syncthreads();
	for (int i = GLOBAL_ID; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&own[in[i] & 255], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

KERNEL histogram_global(int n, const u32 *in, u32 *bins)
{
	int i = GLOBAL_ID;

	if (i < n)
		atomicAdd(&bins[in[i] & 4095], 1u);
}

/* A pass of a radix sort by 8 bits: 2,048 keys for each block of 256 threads. counts: [digit][block] */
KERNEL radix_count(const u32 *keys, u32 *counts, int shift)
{
	__shared__ u32 own[256];
	const u32 *k = keys + blockIdx.x * 2048;

	own[threadIdx.x] = 0;
	__syncthreads();
	for (int i = 0; i < 8; i++)
		atomicAdd(&own[k[i * 256 + threadIdx.x] >> shift & 255], 1u);
	__syncthreads();
	counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

/* Each warp has 256 keys that follow each other; its keys of equal digits are found by votes. */
KERNEL radix_scatter(const u32 *keys, const u32 *counts, u32 *out, int shift)
{
	__shared__ u32 own[8][256];
	int t = threadIdx.x, warp = t / 32, lane = t % 32;
	const u32 *k = keys + blockIdx.x * 2048 + warp * 256;
	u32 key[8], rank[8], at;

	for (int i = 0; i < 8; i++)
		own[i][t] = 0;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 8; i++) {
		u32 d, same = FULL, before;

		key[i] = k[i * 32 + lane];
		d = key[i] >> shift & 255;
#pragma unroll
		for (int b = 0; b < 8; b++) {
			u32 set = __ballot_sync(FULL, d >> b & 1);

			same &= d >> b & 1 ? set : ~set;
		}
		before = own[warp][d];
		rank[i] = before + __popc(same & ((1u << lane) - 1));
		__syncwarp();
		if (!(same >> lane >> 1))
			own[warp][d] = before + __popc(same);
		__syncwarp();
	}
	__syncthreads();
	at = counts[t * gridDim.x + blockIdx.x];
	for (int w = 0; w < 8; w++) {
		u32 c = own[w][t];

		own[w][t] = at;
		at += c;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < 8; i++)
		out[own[warp][key[i] >> shift & 255] + rank[i]] = key[i];
}

/* 1,024 values for each block of 512 threads. */
KERNEL bitonic(const u32 *in, u32 *out)
{
	__shared__ u32 v[1024];
	int t = threadIdx.x;

	v[t] = in[blockIdx.x * 1024 + t];
	v[t + 512] = in[blockIdx.x * 1024 + t + 512];
	for (int k = 2; k <= 1024; k <<= 1)
		for (int j = k >> 1; j > 0; j >>= 1) {
			int i = 2 * t - (t & (j - 1));
			u32 a, b;

			__syncthreads();
			a = v[i];
			b = v[i + j];
			if ((a > b) == !(i & k)) {
				v[i] = b;
				v[i + j] = a;
			}
		}
	__syncthreads();
	out[blockIdx.x * 1024 + t] = v[t];
	out[blockIdx.x * 1024 + t + 512] = v[t + 512];
}
