/* SPDX-License-Identifier: MIT */
/* Device code in two files, nvcc -rdc=true, and kernels that launch kernels (-lcudadevrt). "ok NAME = NUMBER" or "FAIL NAME why". Called by python.sh. */
#include <cuda_runtime.h>
#include <stdio.h>

extern __device__ int offset;
__device__ int shifted(int v);

__global__ void far(int *out)
{
	out[threadIdx.x] = shifted((int)threadIdx.x);
}

__global__ void child(int *out)
{
	atomicAdd(out, (int)threadIdx.x);
}

__global__ void parent(int *out)
{
	if (!threadIdx.x)
		child<<<2, 32>>>(out);
}

int main()
{
	int *out, h[32] = { 0 }, three = 3, bad;
	cudaError_t e = cudaMalloc(&out, sizeof(h));

	if (!e)
		e = cudaMemcpyToSymbol(offset, &three, 4);
	far<<<1, 32>>>(out);
	if (!e)
		e = cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost);
	bad = e || h[31] != 34;
	printf("%s two_files = %d %s\n", bad ? "FAIL" : "ok", h[31], e ? cudaGetErrorString(e) : "");
	h[0] = 0;
	cudaMemset(out, 0, sizeof(h));
	parent<<<1, 32>>>(out);
	e = cudaDeviceSynchronize();
	if (!e)
		e = cudaMemcpy(h, out, 4, cudaMemcpyDeviceToHost);
	printf("%s launches = %d %s\n", e || h[0] != 992 ? "FAIL" : "ok", h[0], e ? cudaGetErrorString(e) : "");
	return bad || e || h[0] != 992;
}
