// SPDX-License-Identifier: MIT
// Kernels that launch themselves without end: each thread two, in the NULL stream, at once and as its tail. The launches that there is
// no room for are refused; all others run.
#include <cstdio>
#include <cstring>

__device__ unsigned long long ran, refused;

__global__ void twice(int levels)
{
	atomicAdd(&ran, 1);
	if (levels) {
		twice<<<1, 32>>>(levels - 1);
		twice<<<1, 32, 0, cudaStreamFireAndForget>>>(levels - 1);
	}
}
__global__ void tail()
{
	atomicAdd(&ran, 1);
	tail<<<1, 1, 0, cudaStreamTailLaunch>>>();
	if (cudaGetLastError() == cudaErrorLaunchMaxDepthExceeded)
		atomicAdd(&refused, 1);
}
__global__ void flood(int n)
{
	atomicAdd(&ran, 1);
	for (int i = 0; i < n; i++) {
		flood<<<1, 1, 0, cudaStreamTailLaunch>>>(0);
		if (cudaGetLastError() == cudaErrorLaunchPendingCountExceeded)
			atomicAdd(&refused, 1);
	}
}

int main(int, char **argv)
{
	unsigned long long n[2];

	if (argv[1] && !strcmp(argv[1], "for-ever")) {
		twice<<<1, 32>>>(1000);
		cudaError_t e = cudaDeviceSynchronize();
		printf("%s\n", cudaGetErrorString(e));
		return !e;
	}
	tail<<<1, 1>>>();
	flood<<<1, 1>>>(100000);
	cudaError_t e = cudaDeviceSynchronize();
	cudaMemcpyFromSymbol(&n[0], ran, 8);
	cudaMemcpyFromSymbol(&n[1], refused, 8);
	bool ok = !e && n[0] + n[1] == 25 + 1 + 1 + 100000 && n[1] > 1;
	printf("%s endless %s, %llu ran, %llu refused\n", ok ? "ok" : "FAIL", cudaGetErrorString(e), n[0], n[1]);
	return !ok;
}
