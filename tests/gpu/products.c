/* SPDX-License-Identifier: MIT */
/*
 * What matrix products reach, through cuBLAS: 10^12 operations a second, a line for each type and size. It runs on VGPU-STUB by our libcublas,
 * and natively by NVIDIA's, whichever the loader finds.
 *
 *   products [-q]     -q: one small product of each type, to see whether all of it works
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CK(call) \
	do { \
		int r_ = (int)(call); \
		if (r_) { \
			printf("error %s: %s gave %d\n", __FILE__, #call, r_); \
			exit(1); \
		} \
	} while (0)

static const struct { const char *name; cudaDataType in, out; cublasComputeType_t compute; size_t bytes_in, bytes_out; } types[] = {
	{ "f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 4 }, { "f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2, 2 },
	{ "f16-f32", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 4 }, { "bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2 },
	{ "f64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8 },
};

int main(int argc, char **argv)
{
	static const int sizes[][3] = { { 4096, 4096, 4096 }, { 4096, 512, 4096 }, { 4096, 32, 4096 } }, small[][3] = { { 128, 64, 96 } };
	const int quick = argc > 1 && !strcmp(argv[1], "-q"), (*size)[3] = quick ? small : sizes, rounds = quick ? 1 : 20;
	const int n_sizes = quick ? 1 : 3;
	const size_t most = quick ? 1 << 17 : (size_t)4096 * 4096 * 8;
	cublasHandle_t h;
	cudaEvent_t from, to;
	cudaStream_t s;
	void *a, *b, *c;

	CK(cublasCreate(&h));
	CK(cudaStreamCreate(&s));
	CK(cublasSetStream(h, s));
	CK(cudaEventCreate(&from));
	CK(cudaEventCreate(&to));
	CK(cudaMalloc(&a, most));
	CK(cudaMalloc(&b, most));
	CK(cudaMalloc(&c, most));
	CK(cudaMemset(a, 0, most));
	CK(cudaMemset(b, 0, most));
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		for (int i = 0; i < n_sizes; i++) {
			int m = size[i][0], n = size[i][1], k = size[i][2];
			double one[2] = { 1, 0 };
			float onef[2] = { 1, 0 }, ms = 0;
			void *alpha = types[t].bytes_in == 8 ? (void *)&one[0] : &onef[0], *beta = types[t].bytes_in == 8 ? (void *)&one[1] : &onef[1];

			/* a is transposed, as weights are; the first round is not counted */
			for (int r = -1; r < rounds; r++) {
				if (!r)
					CK(cudaEventRecord(from, s));
				CK(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, alpha, a, types[t].in, k, b, types[t].in, k, beta, c, types[t].out, m,
						types[t].compute, CUBLAS_GEMM_DEFAULT));
			}
			CK(cudaEventRecord(to, s));
			CK(cudaEventSynchronize(to));
			CK(cudaEventElapsedTime(&ms, from, to));
			printf("product-%s-%dx%dx%d %.3f Tflop/s\n", types[t].name, m, n, k, ms > 0 ? 2.0 * m * n * k * rounds / ms / 1e9 : 0.0);
		}
	CK(cublasDestroy(h));
	return 0;
}
