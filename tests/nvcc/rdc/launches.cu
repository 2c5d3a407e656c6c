// SPDX-License-Identifier: MIT
// A program with a kernel that launches kernels: that one is refused, the others run.
#include <cstdio>

__global__ void child(int *out, int from)
{
	out[from + threadIdx.x] = from + threadIdx.x;
}

__global__ void parent(int *out)
{
	child<<<1, 32>>>(out, threadIdx.x * 32);
}

int main()
{
	int *d, h[64], bad = 0;

	cudaMalloc(&d, sizeof h);
	child<<<2, 32>>>(d, 0);
	child<<<1, 32>>>(d, 32);
	cudaError_t e = cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 64; i++)
		bad += h[i] != i;
	printf("%s others_run %s, %d wrong\n", e || bad ? "FAIL" : "ok", cudaGetErrorString(e), bad);
	parent<<<1, 2>>>(d);
	e = cudaGetLastError();
	printf("%s launches_refused %s\n", e == cudaErrorNotSupported ? "ok" : "FAIL", cudaGetErrorString(e));
	return 0;
}
