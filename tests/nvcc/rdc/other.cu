// SPDX-License-Identifier: MIT
#include "other.h"

static __device__ int own = 7;

static __device__ int local(int x)
{
	return x + own;
}

static __device__ int minus(int x)
{
	return -x;
}

static __device__ int square(int x)
{
	return x * x;
}

__device__ function functions[2] = { minus, square };
__device__ int counter;
__constant__ int table[4];

__device__ int twice(int x)
{
	return 2 * local(x) - own;
}

__global__ void other(int *out)
{
	*out = local(42);
}

int value()
{
	int v = -1;

	cudaMemcpyFromSymbol(&v, counter, sizeof v);
	return v;
}

void set_table(int x)
{
	int t[4] = { x, x + 1, x + 2, x + 3 };

	cudaMemcpyToSymbol(table, t, sizeof t);
}

int from_other(int *d)
{
	int v = -1;

	other<<<1, 1>>>(d);
	cudaMemcpy(&v, d, sizeof v, cudaMemcpyDeviceToHost);
	return v;
}
