/* SPDX-License-Identifier: MIT */
/* Element-wise kernels: the smallest thing that can be launched and checked. */
#include "device.h"

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* Grid-stride form: any grid covers any n. */
extern "C" __global__ void saxpy(float alpha, const float *x, float *y, int n)
{
	int step = gridDim.x * blockDim.x;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
		y[i] = alpha * x[i] + y[i];
}

/* Every index of a 3D grid of 3D blocks written once: proves the geometry registers. */
extern "C" __global__ void geometry(unsigned *out)
{
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned per_block = blockDim.x * blockDim.y * blockDim.z;

	out[block * per_block + thread] = block << 16 | thread;
}
