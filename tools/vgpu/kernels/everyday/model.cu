/* SPDX-License-Identifier: MIT */
/* What language models do beside matrices. */
#include "common.h"

FN float block_all(float v, float *part, int largest)
{
	int t = threadIdx.x;

	v = largest ? warp_max(v) : warp_sum(v);
	if (t % 32 == 0)
		part[t / 32] = v;
	__syncthreads();
	v = part[t % 8];
	for (int o = 4; o > 0; o >>= 1) {
		float w = __shfl_xor_sync(FULL, v, o);

		v = largest ? fmaxf(v, w) : v + w;
	}
	__syncthreads();
	return v;
}

/* A row for each block of 256 threads. */
KERNEL softmax(int columns, const float *in, float *out)
{
	__shared__ float part[8];
	const float *x = in + blockIdx.x * columns;
	float *y = out + blockIdx.x * columns, most = -3e38f, sum = 0;

	for (int i = threadIdx.x; i < columns; i += 256)
		most = fmaxf(most, x[i]);
	most = block_all(most, part, 1);
	for (int i = threadIdx.x; i < columns; i += 256) {
		float e = __expf(x[i] - most);

		y[i] = e;
		sum += e;
	}
	sum = 1.0f / block_all(sum, part, 0);
	for (int i = threadIdx.x; i < columns; i += 256)
		y[i] *= sum;
}

KERNEL layer_norm(int columns, const float *in, const float *scale, const float *shift, float *out)
{
	__shared__ float part[8];
	const float *x = in + blockIdx.x * columns;
	float mean = 0, var = 0;

	for (int i = threadIdx.x; i < columns; i += 256)
		mean += x[i];
	mean = block_all(mean, part, 0) / columns;
	for (int i = threadIdx.x; i < columns; i += 256)
		var += (x[i] - mean) * (x[i] - mean);
	var = rsqrtf(block_all(var, part, 0) / columns + 1e-5f);
	for (int i = threadIdx.x; i < columns; i += 256)
		out[blockIdx.x * columns + i] = (x[i] - mean) * var * scale[i] + shift[i];
}

/* Pairs half a head apart turned by their position; block.y heads of 128 values, a position for each block. */
KERNEL rope(int heads, const float *in, const int *position, float *out)
{
	int pair = threadIdx.x, head = blockIdx.y * blockDim.y + threadIdx.y, i = (blockIdx.x * heads + head) * 128 + pair;
	float angle = position[blockIdx.x] * __expf(pair * (-9.210340372f / 64)), c = __cosf(angle), s = __sinf(angle);
	float a = in[i], b = in[i + 64];

	out[i] = a * c - b * s;
	out[i + 64] = a * s + b * c;
}

/* Heads of 64 halves; a query for each thread, keys and values by tiles of 32. blockIdx.y: the head */
KERNEL flash_attn(int n, const u16 *q, const u16 *k, const u16 *v, float *out)
{
	__shared__ float ks[32][64], vs[32][64];
	int row = blockIdx.x * 128 + threadIdx.x, head = blockIdx.y * n * 64;
	float mine[64], acc[64], most = -3e38f, sum = 0;

#pragma unroll
	for (int d = 0; d < 64; d++) {
		mine[d] = half_float(q[head + row * 64 + d]) * (0.125f * 1.44269504f);
		acc[d] = 0;
	}
	for (int base = 0; base < n; base += 32) {
		for (int i = threadIdx.x; i < 32 * 64; i += 128) {
			ks[0][i] = half_float(k[head + base * 64 + i]);
			vs[0][i] = half_float(v[head + base * 64 + i]);
		}
		__syncthreads();
		for (int j = 0; j < 32; j++) {
			float s = 0, p, keep, was = most;

#pragma unroll
			for (int d = 0; d < 64; d++)
				s += mine[d] * ks[j][d];
			most = fmaxf(most, s);
			keep = __ex2(was - most);
			p = __ex2(s - most);
			sum = sum * keep + p;
#pragma unroll
			for (int d = 0; d < 64; d++)
				acc[d] = acc[d] * keep + p * vs[j][d];
		}
		__syncthreads();
	}
	sum = 1.0f / sum;
#pragma unroll
	for (int d = 0; d < 64; d++)
		out[head + row * 64 + d] = acc[d] * sum;
}

/* A channel for each thread, its 16 states in registers. */
KERNEL ssm_scan(int steps, int channels, const float *x, const float *dt, const float *a, const float *b, const float *c, float *y)
{
	int ch = GLOBAL_ID;
	float h[16], rate[16];

#pragma unroll
	for (int s = 0; s < 16; s++) {
		h[s] = 0;
		rate[s] = a[s * channels + ch] * 1.44269504f;
	}
	for (int t = 0; t < steps; t++) {
		float d = dt[t * channels + ch], soft, in, sum = 0;

		soft = d > 20.0f ? d : __logf(1.0f + __expf(d));
		in = x[t * channels + ch] * soft;
#pragma unroll
		for (int s = 0; s < 16; s++) {
			h[s] = h[s] * __ex2(soft * rate[s]) + b[t * 16 + s] * in;
			sum += h[s] * c[t * 16 + s];
		}
		y[t * channels + ch] = sum;
	}
}
