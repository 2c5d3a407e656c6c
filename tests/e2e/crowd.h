/* SPDX-License-Identifier: MIT */
/* What CuPy does for a.max() of complex numbers and for bincount(): a reduction in which NaNs win, and counts by atomics. */
#include "kernels/device.h"

struct pair { float re, im; };

__device__ static bool is_nan(pair a) { return a.re != a.re || a.im != a.im; }

/* The first NaN, or the greatest: by the real part, then the imaginary one. */
__device__ static pair greater_of(pair a, pair b)
{
	if (is_nan(a))
		return a;
	if (is_nan(b))
		return b;
	return a.re < b.re || (a.re == b.re && a.im < b.im) ? b : a;
}

extern "C" __global__ void max_complex(const pair *in, pair *out, int n)
{
	__shared__ pair part[512];
	int t = threadIdx.x;
	pair best = in[0];

	for (int i = t; i < n; i += blockDim.x)
		best = greater_of(best, in[i]);
	part[t] = best;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half)
			part[t] = greater_of(part[t], part[t + half]);
		__syncthreads();
	}
	if (t == 0)
		*out = part[0];
}

extern "C" __global__ void count(const int *in, unsigned long long *bins, double *weights, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&bins[in[i]], 1ull);
		atomicAdd(&weights[in[i]], 0.25);
	}
}
