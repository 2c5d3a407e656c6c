// SPDX-License-Identifier: MIT
// What clang 14 by itself makes wrong code of, or has not: numbers are the host's.
#include <math.h>
#include <stdio.h>
#include <string.h>

// a warp's sums in steps, kept apart by fences alone, as programs from before __syncwarp() have it
__global__ void fences(int *out)
{
	__shared__ int s[32];
	int t = threadIdx.x;

	s[t] = t + 1;
	__threadfence_block();
	for (int by = 1; by < 32; by *= 2) {
		int more = t >= by ? s[t - by] : 0;

		__threadfence_block();
		s[t] += more;
		__threadfence_block();
	}
	out[t] = s[t];
}
// fields of negative numbers that end beyond bit 63
__global__ void fields(const long long *x, long long *out)
{
	int i = threadIdx.x;

	out[4 * i] = x[i] >> 63 & 7;
	out[4 * i + 1] = x[i] < 0 ? 7 : 0;
	out[4 * i + 2] = x[i] >> 60 & 255;
	out[4 * i + 3] = x[i] >> 40 & 0xffffff;
}
// an index that wraps in 32 bits, before the beginning
__global__ void wraps(int *out, unsigned int n)
{
	__shared__ int s[64];
	int *behind = s + 32;

	s[threadIdx.x] = threadIdx.x;
	s[threadIdx.x + 32] = threadIdx.x + 32;
	__syncthreads();
	out[threadIdx.x] = behind[~(n + threadIdx.x)];
}
__global__ void nans(unsigned long long *out)
{
	out[0] = __double_as_longlong(nan(""));
	out[1] = __double_as_longlong(nan("0x123"));
	out[2] = __float_as_int(nanf("77"));
	out[3] = __double_as_longlong(nan("what"));
}

static int bad;

static void same(const char *what, int i, long long have, long long want)
{
	if (have != want && bad++ < 10)
		printf("%s %d: %lld, not %lld\n", what, i, have, want);
}

int main()
{
	static const long long x[8] = { -1, 1, -5, 1ll << 62, -(1ll << 62), 0x123456789abcdef, -0x123456789abcdef, 0 };
	long long *in, f[32];
	int *out, n[64];
	unsigned long long nan_bits[4];

	cudaMalloc(&in, sizeof(x) + sizeof(f));
	cudaMalloc(&out, sizeof(n));
	fences<<<1, 32>>>(out);
	cudaMemcpy(n, out, 128, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 32; i++)
		same("fences", i, n[i], (i + 1) * (i + 2) / 2);
	cudaMemcpy(in, x, sizeof(x), cudaMemcpyHostToDevice);
	fields<<<1, 8>>>(in, in + 8);
	cudaMemcpy(f, in + 8, sizeof(f), cudaMemcpyDeviceToHost);
	for (int i = 0; i < 8; i++) {
		volatile long long v = x[i];

		same("fields", 4 * i, f[4 * i], v >> 63 & 7);
		same("fields", 4 * i + 1, f[4 * i + 1], v < 0 ? 7 : 0);
		same("fields", 4 * i + 2, f[4 * i + 2], v >> 60 & 255);
		same("fields", 4 * i + 3, f[4 * i + 3], v >> 40 & 0xffffff);
	}
	wraps<<<1, 32>>>(out, 0);
	cudaMemcpy(n, out, 128, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 32; i++)
		same("wraps", i, n[i], 31 - i);
	nans<<<1, 1>>>((unsigned long long *)in);
	cudaMemcpy(nan_bits, in, sizeof(nan_bits), cudaMemcpyDeviceToHost);
	same("nan", 0, nan_bits[0], 0x7ff8000000000000);
	same("nan", 1, nan_bits[1], 0x7ff8000000000123);
	same("nan", 2, nan_bits[2], 0x7fc0004d);
	same("nan", 3, nan_bits[3], 0x7ff8000000000000);
	if (cudaDeviceSynchronize() != cudaSuccess || bad)
		return printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError())), 1;
	puts("100 as on the host");
}
