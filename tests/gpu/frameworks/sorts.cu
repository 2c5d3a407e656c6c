/* SPDX-License-Identifier: MIT */
/* CUB's and Thrust's kernels in a program of nvcc's. "ok NAME = NUMBER" or "FAIL NAME why". Called by python.sh. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <stdio.h>
#include <algorithm>
#include <vector>

static int show(const char *name, bool right, double v)
{
	cudaError_t e = cudaGetLastError();

	printf("%s %s = %.10g %s\n", right && !e ? "ok" : "FAIL", name, v, e ? cudaGetErrorString(e) : "");
	return !right || e;
}

int main()
{
	const int n = 300000;
	std::vector<int> h(n), got(n), want;
	int *in, *out, bad = 0;
	void *room = NULL;
	size_t bytes = 0, most = 0;

	for (int i = 0; i < n; i++)
		h[i] = (int)(i * 2654435761u >> 12) - 500000;
	cudaMalloc(&in, n * 4);
	cudaMalloc(&out, n * 4);
	cudaMemcpy(in, h.data(), n * 4, cudaMemcpyHostToDevice);
	cub::DeviceRadixSort::SortKeys(NULL, bytes, in, out, n);
	most = bytes;
	cub::DeviceScan::InclusiveSum(NULL, bytes, in, out, n);
	most = std::max(most, bytes);
	cub::DeviceReduce::Sum(NULL, bytes, in, out, n);
	most = std::max(most, bytes);
	cudaMalloc(&room, most);
	cub::DeviceRadixSort::SortKeys(room, most, in, out, n);
	cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
	want = h;
	std::sort(want.begin(), want.end());
	bad |= show("cub_sort", got == want, got[n / 2]);
	cub::DeviceScan::InclusiveSum(room, most, in, out, n);
	cudaMemcpy(got.data(), out, n * 4, cudaMemcpyDeviceToHost);
	unsigned sum = 0;
	bool right = true;
	for (int i = 0; i < n; i++)
		right &= (unsigned)got[i] == (sum += (unsigned)h[i]);
	bad |= show("cub_scan", right, got[n - 1]);
	cub::DeviceReduce::Sum(room, most, in, out, n);
	cudaMemcpy(got.data(), out, 4, cudaMemcpyDeviceToHost);
	bad |= show("cub_sum", (unsigned)got[0] == sum, got[0]);
	return bad;
}
