/* SPDX-License-Identifier: MIT */
/*
 * What the programs of this folder share: a kernel of a lambda, and the line about what it gave: NAME, a checksum of all words, six of them.
 * Nothing here knows what is right: a GPU has said it (h100.txt). $SHOW_DUMP is a folder for all the words, a file a name.
 */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CUDA(call) do { \
	cudaError_t e_ = (call); \
	if (e_ != cudaSuccess) { \
		printf("FAIL %s line %d: %s\n", #call, __LINE__, cudaGetErrorString(e_)); \
		exit(1); \
	} \
} while (0)

/* the same numbers for the host and for each thread */
__host__ __device__ static inline unsigned mixed(unsigned x)
{
	x += 0x9e3779b9u;
	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}
__host__ __device__ static inline float unit(unsigned x) { return (mixed(x) >> 8) * (1.0f / 16777216); }

static unsigned checksum(const unsigned *p, size_t n)
{
	unsigned c = ~0u;

	for (size_t i = 0; i < 4 * n; i++) {
		c ^= ((const unsigned char *)p)[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return ~c;
}

static void show_words(const char *name, const unsigned *p, size_t n)
{
	const char *folder = getenv("SHOW_DUMP");

	printf("%s %08x", name, checksum(p, n));
	for (int k = 0; k < 6; k++)
		printf(" %x", p[(n - 1) * k / 5]);
	putchar('\n');
	fflush(stdout);
	if (folder) {
		std::string file = name;
		for (char &c : file)
			c = c == '/' ? ':' : c;
		FILE *f = fopen((std::string(folder) + "/" + file).c_str(), "wb");
		if (f) {
			fwrite(p, 4, n, f);
			fclose(f);
		}
	}
}

/* of device memory */
static void show(const char *name, const void *device, size_t words)
{
	std::vector<unsigned> w(words);

	CUDA(cudaMemcpy(w.data(), device, 4 * words, cudaMemcpyDeviceToHost));
	show_words(name, w.data(), words);
}

template<int W, class F> __global__ void each(int n, unsigned *o, F f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		f(i, o + (size_t)W * i);
}
/* f(i, words) by n threads, W words each */
template<int W, class F> static void run(const std::string &name, int n, F f, int block = 128)
{
	unsigned *o;

	CUDA(cudaMalloc(&o, 4ull * W * n));
	CUDA(cudaMemset(o, 0x5a, 4ull * W * n));
	each<W><<<(n + block - 1) / block, block>>>(n, o, f);
	CUDA(cudaGetLastError());
	CUDA(cudaDeviceSynchronize());
	show(name.c_str(), o, (size_t)W * n);
	CUDA(cudaFree(o));
}
