// SPDX-License-Identifier: MIT
// The older rules (-DCUDA_FORCE_CDP1_IF_SUPPORTED): a block waits for what it has launched, and goes on with the results.
#include <cstdio>

__global__ void fibonacci(int n, long long *out)
{
	long long *two;

	if (n < 2) {
		*out = n;
		return;
	}
	cudaMalloc((void **)&two, 2 * sizeof *two);
	fibonacci<<<1, 1>>>(n - 1, two);
	fibonacci<<<1, 1>>>(n - 2, two + 1);
	cudaDeviceSynchronize();
	*out = two[0] + two[1];
	cudaFree(two);
}

__global__ void square(int *p) { p[threadIdx.x] *= p[threadIdx.x]; }

__global__ void rounds(int *p, int n)
{
	__shared__ int sum;

	for (int i = 0; i < n; i++) {
		if (threadIdx.x == 0) {
			sum = 0;
			square<<<1, 64>>>(p + 64 * blockIdx.x);
			cudaDeviceSynchronize();
		}
		__syncthreads();
		atomicAdd(&sum, p[64 * blockIdx.x + threadIdx.x]);
		__syncthreads();
		p[64 * blockIdx.x + threadIdx.x] = sum % (threadIdx.x + 2);
		__syncthreads();
	}
}

int main()
{
	long long *f;
	int *p, h[640], bad = 0;

	cudaMallocManaged(&f, sizeof *f);
	cudaMallocManaged(&p, 640 * sizeof *p);
	cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 16);
	fibonacci<<<1, 1>>>(13, f);
	cudaError_t e = cudaDeviceSynchronize();
	printf("%s fibonacci %s, %lld\n", e || *f != 233 ? "FAIL" : "ok", cudaGetErrorString(e), *f);
	for (int i = 0; i < 640; i++)
		h[i] = p[i] = i % 7;
	rounds<<<10, 64>>>(p, 5);
	e = cudaDeviceSynchronize();
	for (int b = 0; b < 10; b++)
		for (int r = 0; r < 5; r++) {
			int sum = 0;
			for (int i = 0; i < 64; i++)
				sum += h[64 * b + i] * h[64 * b + i];
			for (int i = 0; i < 64; i++)
				h[64 * b + i] = sum % (i + 2);
		}
	for (int i = 0; i < 640; i++)
		bad += h[i] != p[i];
	printf("%s rounds %s, %d wrong\n", e || bad ? "FAIL" : "ok", cudaGetErrorString(e), bad);
	return e || bad;
}
