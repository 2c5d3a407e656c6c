/* SPDX-License-Identifier: MIT */
/*
 * Source of the .fatbin fixtures in this folder, built once with CUDA 13.0:
 *   G="-gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=[compute_80,sm_80]"
 *   nvcc -fatbin $G -Xfatbin -compress-mode=none  scale.cu -o plain.fatbin
 *   nvcc -fatbin $G -Xfatbin -compress-mode=speed scale.cu -o lz4.fatbin
 *   nvcc -fatbin $G -Xfatbin -compress-mode=size  scale.cu -o zstd.fatbin
 *   nvcc -fatbin -gencode arch=compute_90,code=compute_90 -gencode arch=compute_90a,code=compute_90a \
 *        -gencode arch=compute_100f,code=compute_100f scale.cu -o specific.fatbin
 */
extern "C" __global__ void scale(float *x, float k, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= k;
}
