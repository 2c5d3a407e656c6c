/* SPDX-License-Identifier: MIT */
/* C[m][n] = A[m][k] * B[k][n], 16 x 16 tiles in shared memory, two barriers a tile. */
#include "device.h"

#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float ta[TILE][TILE];
	__shared__ float tb[TILE][TILE + 1];
	int row = blockIdx.y * TILE + threadIdx.y;
	int col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0.0f;

	for (int t = 0; t < k; t += TILE) {
		int ka = t + threadIdx.x, kb = t + threadIdx.y;

		ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
		tb[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && col < n)
		c[row * n + col] = sum;
}
