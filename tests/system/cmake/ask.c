/* SPDX-License-Identifier: MIT */
/* A call of each library that the project links. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvml.h>
#include <stdio.h>
#ifndef NO_BLAS
#include <cublas_v2.h>
#include <nvrtc.h>
#endif

int main(void)
{
	int driver = 0, devices = 0;
	unsigned boards = 0;

	if (cuInit(0) || cuDriverGetVersion(&driver) || cudaGetDeviceCount(&devices) || nvmlInit_v2() || nvmlDeviceGetCount_v2(&boards))
		return 1;
#ifndef NO_BLAS
	cublasHandle_t h;

	if (cublasCreate_v2(&h) || cublasDestroy_v2(h))
		return 2;
	/* whoever compiles: NVIDIA's, clang, or nobody */
	nvrtcProgram p;

	if (nvrtcCreateProgram(&p, "", NULL, 0, NULL, NULL) == NVRTC_SUCCESS && nvrtcDestroyProgram(&p) != NVRTC_SUCCESS)
		return 4;
#endif
	printf("answered: %d devices, %u boards\n", devices, boards);
	return devices > 0 && boards > 0 ? 0 : 3;
}
