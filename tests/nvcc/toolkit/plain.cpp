// SPDX-License-Identifier: MIT
// No kernel: the runtime and the driver, of one program.
#include <cuda.h>
#include <cuda_runtime.h>

int main()
{
	int device = -1, count = 0;

	return cuInit(0) || cudaGetDeviceCount(&count) || count < 1 || cudaSetDevice(0) || cuCtxGetDevice(&device) || device;
}
