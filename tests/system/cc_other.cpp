/* SPDX-License-Identifier: MIT */
/* cc.sh: a file of C++ beside the CUDA one, which asks the runtime something by itself. */
#include <cuda_runtime.h>

float scaled(float x)
{
	int n = 0;

	return cudaGetDeviceCount(&n) == cudaSuccess && n > 0 ? x * 1.5f : 0;
}
