/* SPDX-License-Identifier: MIT */
/* Touches what cuda_runtime.h offers to device and host code; compiled, not run, by test_headers.sh. */
#include <cuda_runtime.h>

__constant__ float scale[4];
__device__ int counter;

__global__ void __launch_bounds__(256) touch(const float *in, float *out, double *wide, int n, unsigned int *hist)
{
	__shared__ float part[32];
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x) + (int)(blockIdx.y * gridDim.x);
	float v = i < n ? __ldg(in + i) * scale[0] : 0.f;
	double w = v;

	for (int d = warpSize / 2; d; d >>= 1)
		v += __shfl_down_sync(0xffffffff, v, d);
	w = __shfl_xor_sync(0xffffffff, w, 1);
	if ((threadIdx.x & 31) == 0)
		part[threadIdx.x >> 5] = fmaf(v, 2.f, (float)w);
	__syncthreads();
	if (__any_sync(0xffffffff, i > 3) && !__all_sync(0xffffffff, i > 5))
		__syncwarp();
	n += __syncthreads_count(i > 3) + __syncthreads_and(i) + __syncthreads_or(i);
	if (threadIdx.x == 0) {
		atomicAdd(out, sqrtf(part[0]) + fmaxf(part[1], __expf(part[2])));
		atomicAdd(hist + __popc((unsigned int)(i + n)), 1u);
		atomicAdd(&counter, 1);
		atomicAdd(wide, w);
		atomicMax(hist, atomicCAS(hist + 1, 0u, 7u));
		__threadfence();
	}
	dim3 grid = gridDim;
	uint3 thread = threadIdx;
	float4 f = make_float4(1.f, 2.f, 3.f, fabsf(out[1]));
	out[grid.x + thread.y] = f.w + (float)clock64();
}

int main()
{
	static const float ones[4] = { 1, 1, 1, 1 };
	cudaLaunchConfig_t config = {};
	cudaFuncAttributes attr;
	unsigned int *hist;
	double *wide;
	float *data;
	int grid, block;

	cudaMalloc(&data, 4096);
	cudaMallocManaged(&wide, sizeof(*wide));
	cudaMallocHost(&hist, 256);
	cudaMemcpyToSymbol(scale, ones, sizeof(ones));
	touch<<<4, 256>>>(data, data + 1, wide, 10, hist);
	touch<<<dim3(2, 2), dim3(256), 16, cudaStreamPerThread>>>(data, data + 1, wide, 10, hist);
	config.gridDim = dim3(2);
	config.blockDim = 64;
	cudaLaunchKernelEx(&config, touch, data, data + 1, wide, 3, hist);
	cudaFuncGetAttributes(&attr, touch);
	cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
	cudaOccupancyMaxPotentialBlockSize(&grid, &block, touch);
	return cudaGetLastError() != cudaSuccess;
}
