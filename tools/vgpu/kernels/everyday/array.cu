/* SPDX-License-Identifier: MIT */
/*
 * What Python's array libraries compile for arrays of 4 M values: an element for each thread with 64-bit numbers, strides as
 * parameters, reductions by trees in shared memory. Without fast mathematics, as NVRTC does it by default.
 */
#include "common.h"

KERNEL a_affine(long long n, const float *in, long long stride, float *out)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i * stride] * 2.0f + 1.0f;
}

KERNEL a_astype(long long n, const float *in, double *out)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i];
}

/* out[y][x] = in[x][y], by numbers divided */
KERNEL a_tcopy(int rows, int columns, const float *in, float *out)
{
	int i = GLOBAL_ID;

	if (i < rows * columns)
		out[i] = in[i % rows * columns + i / rows];
}

/* Axis 0: a column for each thread */
KERNEL a_sum0(int rows, int columns, const float *in, float *out)
{
	int c = GLOBAL_ID;
	float sum = 0;

	if (c >= columns)
		return;
	for (int r = 0; r < rows; r++)
		sum += in[(long long)r * columns + c];
	out[c] = sum;
}

/* Value and place of the largest, first of equals; 512 threads. */
KERNEL a_argmax(long long n, const float *in, float *value, long long *place)
{
	__shared__ float v[512];
	__shared__ long long p[512];
	int t = threadIdx.x;
	float most = in[0];
	long long where = 0;

	for (long long i = (long long)blockIdx.x * 512 + t; i < n; i += (long long)gridDim.x * 512)
		if (in[i] > most || (in[i] == most && i < where)) {
			most = in[i];
			where = i;
		}
	v[t] = most;
	p[t] = where;
	for (int s = 256; s > 0; s >>= 1) {
		__syncthreads();
		if (t < s && (v[t + s] > v[t] || (v[t + s] == v[t] && p[t + s] < p[t]))) {
			v[t] = v[t + s];
			p[t] = p[t + s];
		}
	}
	if (!t) {
		value[blockIdx.x] = v[0];
		place[blockIdx.x] = p[0];
	}
}

KERNEL a_bincount(long long n, const u32 *in, u64 *out)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&out[in[i]], 1ull);
}

/* Philox 4x32-10: four values for each thread. */
KERNEL a_philox(int n, u32 key0, u32 key1, float *out)
{
	u32 i = GLOBAL_ID, c[4] = { i, 0, 0, 0 };

	if (i >= (u32)n)
		return;
#pragma unroll
	for (int r = 0; r < 10; r++) {
		u32 h0 = __umulhi(0xd2511f53u, c[0]), l0 = 0xd2511f53u * c[0], h1 = __umulhi(0xcd9e8d57u, c[2]), l1 = 0xcd9e8d57u * c[2];

		c[0] = h1 ^ c[1] ^ key0;
		c[1] = l1;
		c[2] = h0 ^ c[3] ^ key1;
		c[3] = l0;
		key0 += 0x9e3779b9u;
		key1 += 0xbb67ae85u;
	}
	for (int k = 0; k < 4; k++)
		out[i * 4 + k] = (c[k] >> 8) * (1.0f / 16777216.0f);
}
