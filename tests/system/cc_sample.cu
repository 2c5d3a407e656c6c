/* SPDX-License-Identifier: MIT */
/* cc.sh's program: CUDA C++ as it is written for nvcc, nothing of ours named: the C++ library, templates, printf, assert, symbols. */
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

float scaled(float x);  /* cc_other.cpp */

__constant__ float factor;
__device__ int calls;

template <class T, int WIDTH> struct Wave {
	T phase;
	__host__ __device__ T operator()(T x) const { return std::sin(x + phase) * WIDTH; }
};

template <class F> __global__ void apply(F f, const float *x, float *y, int n)
{
	__shared__ float tile[64];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	assert(n > 0);
	tile[threadIdx.x] = i < n ? x[i] : 0;
	__syncthreads();
	if (i < n) {
		float left = tile[threadIdx.x ? threadIdx.x - 1 : 0];

		y[i] = f(x[i]) * factor + powf(fabsf(left), 1.5f) + std::sqrt(fmaxf(x[i], 0.f)) + std::exp(-left * left) + atan2f(left, 2.f);
		atomicAdd(&calls, 1);
	}
	if (i == n - 1)
		printf("device: %d of %d, %.3f\n", i + 1, n, (double)y[i]);
}

int main()
{
	const int n = 1000;
	std::vector<float> x(n), y(n);
	Wave<float, 3> w{ 0.25f };
	float k = scaled(2), *dx, *dy, worst = 0;
	int seen = 0;

	for (int i = 0; i < n; i++)
		x[i] = (i - 500) * 0.01f;
	if (cudaMalloc(&dx, n * sizeof(float)) || cudaMalloc(&dy, n * sizeof(float)) || cudaMemcpyToSymbol(factor, &k, sizeof(k))) {
		std::cout << "no device: " << cudaGetErrorString(cudaGetLastError()) << "\n";
		return 1;
	}
	cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	apply<<<(n + 63) / 64, 64>>>(w, dx, dy, n);
	cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
	cudaMemcpyFromSymbol(&seen, calls, sizeof(seen));
	for (int i = 0; i < n; i++) {
		float left = x[i % 64 ? i - 1 : i];
		float want = w(x[i]) * k + powf(fabsf(left), 1.5f) + std::sqrt(fmaxf(x[i], 0.f)) + std::exp(-left * left) + atan2f(left, 2.f);

		worst = std::max(worst, std::fabs(y[i] - want));
	}
	std::cout << "result: " << cudaGetErrorName(cudaGetLastError()) << ", " << seen << " threads, " << (worst < 1e-5f ? "right" : "wrong") << "\n";
	return worst < 1e-5f && seen == n ? 0 : 1;
}
