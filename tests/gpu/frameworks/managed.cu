/* SPDX-License-Identifier: MIT */
/* A variable that the driver manages, in a program of its own. "ok NAME = NUMBER" or "FAIL NAME why". Called by python.sh. */
#include <cuda_runtime.h>
#include <stdio.h>

__managed__ int word = 5;

__global__ void thrice()
{
	word *= 3;
}

int main()
{
	cudaError_t e;

	word += 1;
	thrice<<<1, 1>>>();
	e = cudaDeviceSynchronize();
	printf("%s managed_variable = %d %s\n", e || word != 18 ? "FAIL" : "ok", word, e ? cudaGetErrorString(e) : "");
	return e || word != 18;
}
