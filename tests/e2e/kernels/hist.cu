/* SPDX-License-Identifier: MIT */
/* A histogram of bytes: atomics in shared memory, then one atomic a bin and block in global. */
#include "device.h"

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
	__shared__ unsigned local[256];

	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		local[b] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1u);
	__syncthreads();
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		if (local[b])
			atomicAdd(&bins[b], local[b]);
}

/*
 * The other atomics, each with a result that does not depend on the order: r[0] signed maximum,
 * r[1] unsigned minimum, r[2] or, r[3] sum made by a compare-and-swap loop; f[0] a sum of small
 * integers in float (exact); w[0] a 64-bit sum.
 */
extern "C" __global__ void atomics(const unsigned *in, unsigned *r, float *f,
	unsigned long long *w, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v, old, seen;

	if (i >= n)
		return;
	v = in[i];
	atomicMax((int *)&r[0], (int)v);
	atomicMin(&r[1], v);
	atomicOr(&r[2], v & 0x0f0f0f0fu);
	for (old = r[3]; (seen = atomicCAS(&r[3], old, old + (v & 255))) != old; old = seen)
		;
	atomicAdd(&f[0], (float)(v & 7));
	atomicAdd(&w[0], (unsigned long long)v << 16);
}
