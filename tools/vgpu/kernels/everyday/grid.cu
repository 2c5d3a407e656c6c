/* SPDX-License-Identifier: MIT */
/* Stencils, a convolution, Fourier transforms, sparse products, a graph, clusters. */
#include "common.h"

/* The border stays as it is. */
KERNEL stencil2d(int w, int h, const float *in, float *out)
{
	int x = GLOBAL_ID, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;

	if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
		out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}

KERNEL stencil3d(int n, const float *in, float *out)
{
	int x = GLOBAL_ID, y = blockIdx.y * blockDim.y + threadIdx.y, nn = n * n;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		for (int z = 1; z < n - 1; z++) {
			int i = z * nn + y * n + x;

			out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - nn] + in[i + nn]);
		}
}

/* 5 x 5, the picture with a border of 2; blocks of 16 x 16. */
KERNEL conv2d(int w, const float *in, const float *filter, float *out)
{
	__shared__ float tile[20][20], f[25];
	int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, pitch = w + 4;
	const float *from = in + blockIdx.y * 16 * pitch + blockIdx.x * 16;
	float sum = 0;

	for (int i = t; i < 400; i += 256)
		tile[i / 20][i % 20] = from[i / 20 * pitch + i % 20];
	if (t < 25)
		f[t] = filter[t];
	__syncthreads();
#pragma unroll
	for (int j = 0; j < 5; j++)
#pragma unroll
		for (int i = 0; i < 5; i++)
			sum += tile[y + j][x + i] * f[j * 5 + i];
	out[(blockIdx.y * 16 + y) * w + blockIdx.x * 16 + x] = sum;
}

/* 1,024 points for each block of 256 threads, Stockham with radix 4; re and im apart, twiddles from a table. */
KERNEL fft1024(const float *re, const float *im, const float *twiddle, float *ore, float *oim)
{
	__shared__ float sr[1024], si[1024];
	int t = threadIdx.x, base = blockIdx.x * 1024;
	float r[4], i[4];

#pragma unroll
	for (int k = 0; k < 4; k++) {
		r[k] = re[base + t + 256 * k];
		i[k] = im[base + t + 256 * k];
	}
	for (int s = 1; s < 1024; s *= 4) {
		int q = t & (s - 1), step = 256 / s, to = (t - q) * 4 + q;
		float ar, ai, br, bi, cr, ci, dr, di;

#pragma unroll
		for (int k = 1; k < 4; k++) {
			float c = twiddle[2 * (k * q * step)], d = twiddle[2 * (k * q * step) + 1], x = r[k];

			r[k] = x * c - i[k] * d;
			i[k] = x * d + i[k] * c;
		}
		ar = r[0] + r[2]; ai = i[0] + i[2];
		br = r[0] - r[2]; bi = i[0] - i[2];
		cr = r[1] + r[3]; ci = i[1] + i[3];
		dr = r[1] - r[3]; di = i[1] - i[3];
		sr[to] = ar + cr; si[to] = ai + ci;
		sr[to + s] = br + di; si[to + s] = bi - dr;
		sr[to + 2 * s] = ar - cr; si[to + 2 * s] = ai - ci;
		sr[to + 3 * s] = br - di; si[to + 3 * s] = bi + dr;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 4; k++) {
			r[k] = sr[t + 256 * k];
			i[k] = si[t + 256 * k];
		}
		__syncthreads();
	}
#pragma unroll
	for (int k = 0; k < 4; k++) {
		ore[base + t + 256 * k] = r[k];
		oim[base + t + 256 * k] = i[k];
	}
}

/* A row for each thread. */
KERNEL spmv_csr(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
	int r = GLOBAL_ID;

	if (r < rows) {
		float sum = 0;

		for (int i = start[r]; i < start[r + 1]; i++)
			sum += value[i] * x[column[i]];
		y[r] = sum;
	}
}

/* A row for each warp. */
KERNEL spmv_csr_warp(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
	int r = GLOBAL_ID / 32, lane = threadIdx.x % 32;

	if (r < rows) {
		float sum = 0;

		for (int i = start[r] + lane; i < start[r + 1]; i += 32)
			sum += value[i] * x[column[i]];
		sum = warp_sum(sum);
		if (!lane)
			y[r] = sum;
	}
}

/* As many places in each row, column by column; -1 is none. */
KERNEL spmv_ell(int rows, int width, const int *column, const float *value, const float *x, float *y)
{
	int r = GLOBAL_ID;

	if (r < rows) {
		float sum = 0;

		for (int i = 0; i < width; i++) {
			int c = column[i * rows + r];

			if (c >= 0)
				sum += value[i * rows + r] * x[c];
		}
		y[r] = sum;
	}
}

/* A level of a search: who is reached first goes into the next queue. */
KERNEL bfs_level(int n, const u32 *queue, const int *start, const int *edge, u32 *level, u32 *next, u32 *count, u32 depth)
{
	int i = GLOBAL_ID;

	if (i < n) {
		u32 v = queue[i];

		for (int e = start[v]; e < start[v + 1]; e++) {
			u32 w = edge[e];

			if (level[w] == FULL && atomicCAS(&level[w], FULL, depth) == FULL)
				next[atomicAdd(count, 1u)] = w;
		}
	}
}

/* Points of 4 coordinates (apart) to the nearest of 16 centres; their sums and counts. */
KERNEL kmeans(int n, const float *points, const float *centres, int *nearest, float *sums, u32 *counts)
{
	__shared__ float c[64], s[64];
	__shared__ u32 many[16];
	int t = threadIdx.x;

	if (t < 64) {
		c[t] = centres[t];
		s[t] = 0;
	}
	if (t < 16)
		many[t] = 0;
	__syncthreads();
	for (int i = GLOBAL_ID; i < n; i += gridDim.x * blockDim.x) {
		float p[4], least = 3e38f;
		int which = 0;

		for (int d = 0; d < 4; d++)
			p[d] = points[d * n + i];
		for (int k = 0; k < 16; k++) {
			float sum = 0;

			for (int d = 0; d < 4; d++)
				sum += (p[d] - c[k * 4 + d]) * (p[d] - c[k * 4 + d]);
			if (sum < least) {
				least = sum;
				which = k;
			}
		}
		nearest[i] = which;
		for (int d = 0; d < 4; d++)
			atomicAdd(&s[which * 4 + d], p[d]);
		atomicAdd(&many[which], 1u);
	}
	__syncthreads();
	if (t < 64)
		atomicAdd(&sums[t], s[t]);
	if (t < 16)
		atomicAdd(&counts[t], many[t]);
}

/* Smith and Waterman's alignment of two rows of 128 letters, a block a pair: thread t has row t, and all go along the diagonals. */
KERNEL align(const u8 *a, const u8 *b, int *best)
{
	__shared__ int score[3][129], most[128];
	__shared__ u8 row[128];
	int t = threadIdx.x, before = 0, last = 1, now = 2, top = 0;
	int mine = a[blockIdx.x * 128 + t];

	row[t] = b[blockIdx.x * 128 + t];
	for (int k = 0; k < 3; k++) {
		score[k][t + 1] = 0;
		if (t == 0)
			score[k][0] = 0;
	}
	__syncthreads();
	for (int d = 0; d < 255; d++) {
		int j = d - t, old = before;

		if (j >= 0 && j < 128) {
			int s = (j ? score[before][t] : 0) + (mine == row[j] ? 2 : -1), above = score[last][t] - 2, left = (j ? score[last][t + 1] : 0) - 2;

			s = s > above ? s : above;
			s = s > left ? s : left;
			s = s > 0 ? s : 0;
			score[now][t + 1] = s;
			top = s > top ? s : top;
		}
		__syncthreads();
		before = last;
		last = now;
		now = old;
	}
	most[t] = top;
	__syncthreads();
	for (int n = 64; n; n /= 2) {
		if (t < n)
			most[t] = most[t] > most[t + n] ? most[t] : most[t + n];
		__syncthreads();
	}
	if (t == 0)
		best[blockIdx.x] = most[0];
}

/* Each point's pull by the nodes of a tree of eight branches (x, y, z, mass, size), near ones by their children: a stack of places. */
KERNEL tree_walk(int n, const float *nodes, const int *child, const float *points, float *pull)
{
	int i = GLOBAL_ID, stack[64], left = 1;
	float x, y, z, sum = 0;

	if (i >= n)
		return;
	x = points[3 * i];
	y = points[3 * i + 1];
	z = points[3 * i + 2];
	stack[0] = 0;
	while (left) {
		int k = stack[--left];
		float dx = nodes[5 * k] - x, dy = nodes[5 * k + 1] - y, dz = nodes[5 * k + 2] - z;
		float far = dx * dx + dy * dy + dz * dz + 0.001f, size = nodes[5 * k + 4];

		if (child[k] < 0 || size * size < far * 0.25f)
			sum += nodes[5 * k + 3] * rsqrtf(far);
		else
			for (int c = 0; c < 8; c++)
				stack[left++] = child[k] + c;
	}
	pull[i] = sum;
}
