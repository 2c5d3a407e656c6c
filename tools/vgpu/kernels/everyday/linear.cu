/* SPDX-License-Identifier: MIT */
/* Linear algebra: products by tiles and by register tiles, a transposition, small LU factors. */
#include "common.h"

KERNEL saxpy(int n, float a, const float *x, float *y)
{
	int i = GLOBAL_ID;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

/* Square matrices, n a multiple of 16; blocks of 16 x 16. */
KERNEL sgemm_tiled(int n, const float *a, const float *b, float *c)
{
	__shared__ float as[16][16], bs[16][16];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
	float sum = 0;

	for (int k = 0; k < n; k += 16) {
		as[ty][tx] = a[row * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + col];
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += as[ty][i] * bs[i][tx];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

KERNEL dgemm_tiled(int n, const double *a, const double *b, double *c)
{
	__shared__ double as[16][16], bs[16][16];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
	double sum = 0;

	for (int k = 0; k < n; k += 16) {
		as[ty][tx] = a[row * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + col];
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += as[ty][i] * bs[i][tx];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

/* 256 threads have 4 x 4 values of a tile of 64 x 64 each. */
KERNEL sgemm_reg(int n, const float *a, const float *b, float *c)
{
	__shared__ float as[16][64 + 4], bs[16][64];
	int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
	float sum[4][4] = {};

	for (int k = 0; k < n; k += 16) {
		for (int i = 0; i < 4; i++) {
			as[t % 16][t / 16 + 16 * i] = a[(row + t / 16 + 16 * i) * n + k + t % 16];
			bs[t / 64 + 4 * i][t % 64] = b[(k + t / 64 + 4 * i) * n + col + t % 64];
		}
		__syncthreads();
#pragma unroll
		for (int i = 0; i < 16; i++) {
			float x[4], y[4];

#pragma unroll
			for (int j = 0; j < 4; j++) {
				x[j] = as[i][ty * 4 + j];
				y[j] = bs[i][tx * 4 + j];
			}
#pragma unroll
			for (int r = 0; r < 4; r++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					sum[r][j] += x[r] * y[j];
		}
		__syncthreads();
	}
	for (int r = 0; r < 4; r++)
		for (int j = 0; j < 4; j++)
			c[(row + ty * 4 + r) * n + col + tx * 4 + j] = sum[r][j];
}

/* 32 x 8 threads for a tile of 32 x 32. */
KERNEL transpose(int n, const float *in, float *out)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += 8)
		tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

/* L and U of a matrix of 32 x 32 for each block, without pivots; 32 x 8 threads. */
KERNEL lu_tile(const float *in, float *out)
{
	__shared__ float m[32][33];
	int x = threadIdx.x, y = threadIdx.y;
	const float *a = in + blockIdx.x * 1024;

	for (int j = y; j < 32; j += 8)
		m[j][x] = a[j * 32 + x];
	__syncthreads();
	for (int k = 0; k < 31; k++) {
		if (y == 0 && x > k)
			m[x][k] /= m[k][k];
		__syncthreads();
		for (int j = y; j < 32; j += 8)
			if (j > k && x > k)
				m[j][x] -= m[j][k] * m[k][x];
		__syncthreads();
	}
	for (int j = y; j < 32; j += 8)
		out[blockIdx.x * 1024 + j * 32 + x] = m[j][x];
}
