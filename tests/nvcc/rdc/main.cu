// SPDX-License-Identifier: MIT
// Device code in two files (nvcc -rdc=true): calls, variables, constant memory, a table of functions; names that both files have.
#include <cstdio>
#include "other.h"

static __device__ int own = 5;

static __device__ int local(int x)
{
	return x + own;
}

__global__ void k(int *out)
{
	int i = threadIdx.x;

	out[i] = twice(i) + table[i & 3] + local(0) + functions[i & 1](i);
	atomicAdd(&counter, 1);
}

int main()
{
	int *d, h[32], bad = 0;

	cudaMalloc(&d, sizeof h);
	set_table(1000);
	k<<<1, 32>>>(d);
	cudaError_t e = cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 32; i++)
		bad += h[i] != 2 * i + 7 + 1000 + (i & 3) + 5 + (i & 1 ? i * i : -i);
	printf("%s two_files %s, %d wrong, counter %d\n", e || bad || value() != 32 ? "FAIL" : "ok", cudaGetErrorString(e), bad, value());
	h[0] = from_other(d);
	printf("%s kernel_of_the_other %d\n", h[0] == 42 + 7 ? "ok" : "FAIL", h[0]);
	return 0;
}
