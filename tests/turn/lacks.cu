// SPDX-License-Identifier: MIT
// Calls that the static cudart has and our libcudart has not: each answers NOT_SUPPORTED, and is named once.
#include <cstdio>

int main()
{
	unsigned long long id = 0;
	cudaStream_t s;

	if (cudaStreamCreate(&s))
		return 1;
	for (int i = 0; i < 2; i++) {
		cudaDevResource r;

		printf("%d %d\n", (int)cudaGraphExecGetId(nullptr, (unsigned int *)&id), (int)cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeSm));
	}
	return 0;
}
