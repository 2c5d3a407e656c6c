/* SPDX-License-Identifier: MIT */
/* A C++ program with kernels of its own and a cuBLAS product, for the archives: y = 2 A B + 1, against the host's. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

__device__ float shift;
__constant__ float factor;

template <typename T> __global__ void scale_and_shift(T *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = factor * y[i] + shift;
}

static void check(int status, const char *what)
{
	if (status)
		throw std::runtime_error(std::string(what) + " gave " + std::to_string(status));
}
#define CK(call) check((int)(call), #call)

static void run()
{
	const int n = 65;
	std::vector<float> a(n * n), b(n * n), y(n * n);
	float one = 1, two = 2, zero = 0, *da, *db, *dy;
	cublasHandle_t handle;
	size_t bytes = y.size() * sizeof(float);

	for (int i = 0; i < n * n; i++) {
		a[i] = i % 7 - 3;
		b[i] = i % 11 - 5;
	}
	CK(cudaMemcpyToSymbol(shift, &one, sizeof one));
	CK(cudaMemcpyToSymbol(factor, &two, sizeof two));
	CK(cudaMalloc(&da, bytes));
	CK(cudaMalloc(&db, bytes));
	CK(cudaMalloc(&dy, bytes));
	CK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
	CK(cublasCreate(&handle));
	CK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, n, db, n, &zero, dy, n));
	scale_and_shift<<<(n * n + 127) / 128, 128>>>(dy, n * n);
	CK(cudaGetLastError());
	CK(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost));
	CK(cublasDestroy(handle));
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < n; i++) {
			float sum = 0;

			/* whole numbers, small enough to be exact */
			for (int k = 0; k < n; k++)
				sum += a[i + k * n] * b[k + j * n];
			if (y[i + j * n] != 2 * sum + 1)
				throw std::runtime_error("element " + std::to_string(i) + "," + std::to_string(j) + " is " +
							 std::to_string(y[i + j * n]));
		}
	}
}

int main()
{
	int bad = 0;

	for (int i = 0; i < 2; i++) {
		std::thread t([&] {
			try {
				run();
			} catch (const std::exception &e) {
				std::cout << e.what() << "\n";
				bad = 1;
			}
		});
		t.join();
	}
	return bad;
}
