/* SPDX-License-Identifier: MIT */
/*
 * What the CUB programs share: keys of all kinds, a device buffer, and the count of what is wrong. A program prints
 * "ok NAME" or "FAIL NAME why" for each of its scenarios, which run.sh hands on, and exits 1 where one failed.
 */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

static int failures;

#define CUDA(call) do { \
	cudaError_t e_ = (call); \
	if (e_ != cudaSuccess) { \
		printf("FAIL %s line %d: %s\n", #call, __LINE__, cudaGetErrorString(e_)); \
		exit(1); \
	} \
} while (0)

/* sizes at the edges of a warp, a tile and the algorithms that CUB picks by size */
static int largest = 1000000;          /* what is bigger is left out: the programs' only argument */
static const int sizes[] = { 1, 5, 31, 32, 33, 1000, 4000, 60000, 1000000 };

static uint64_t state = 0x9e3779b97f4a7c15ull;
static inline uint64_t rng()
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

/* bit patterns of all kinds: for floats zeros of both signs, denormals, infinities and NaN; few values, so that there are equal ones, or many */
template <typename T> static T key(bool few)
{
	uint64_t u = rng();
	T k;

	if (std::is_floating_point<T>::value) {
		static const double some[] = { 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY };

		if (u % 8 == 0)
			return (T)some[u >> 20 & 3];
		if (u % 64 == 1)
			return std::numeric_limits<T>::denorm_min() * (T)(u >> 40);
		if (u % 256 == 2)
			return std::numeric_limits<T>::quiet_NaN();
		if (u % 256 == 3)
			return (T)some[4 + (u >> 30 & 1)];
		if (few)
			return (T)(int)(u >> 33 & 63) - 32;
	} else if (few) {
		return (T)(u >> 33 & 63);
	}
	u = rng();
	memcpy(&k, &u, sizeof(k));
	return k;
}

template <typename T> static std::vector<T> keys(int n, bool few)
{
	std::vector<T> v(n);

	for (T &k : v)
		k = key<T>(few);
	return v;
}

/* device memory with what a vector holds */
template <typename T> struct buffer {
	T *p = nullptr;
	size_t n;

	explicit buffer(size_t count) : n(count) { CUDA(cudaMalloc(&p, (count ? count : 1) * sizeof(T))); CUDA(cudaMemset(p, 0xa5, (count ? count : 1) * sizeof(T))); }
	explicit buffer(const std::vector<T> &v) : buffer(v.size()) { CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); }
	buffer(const buffer &) = delete;
	~buffer() { cudaFree(p); }
	std::vector<T> host() const
	{
		std::vector<T> v(n);

		CUDA(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
		return v;
	}
};

/* one of CUB's two-step calls: asks for the temporary memory, then works */
#define CUB(call) do { \
	void *temp = nullptr; \
	size_t bytes = 0; \
	CUDA(call); \
	CUDA(cudaMalloc(&temp, bytes ? bytes : 1)); \
	CUDA(call); \
	CUDA(cudaDeviceSynchronize()); \
	cudaFree(temp); \
} while (0)

/* the same bits, but any NaN for a NaN */
template <typename T> static bool same(T a, T b)
{
	return !memcmp(&a, &b, sizeof(T)) || (a != a && b != b);
}

template <typename T> static bool check(const std::string &what, const std::vector<T> &got, const std::vector<T> &want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!same(got[i], want[i])) {
			printf("  %s: element %zu of %zu is %.17g, should be %.17g\n", what.c_str(), i, n, (double)got[i], (double)want[i]);
			failures++;
			return false;
		}
	return true;
}

/* the verdict on a scenario: failures since `before` */
static void verdict(const char *name, int before)
{
	if (failures > before)
		printf("FAIL %s %d of its cases\n", name, failures - before);
	else
		printf("ok %s\n", name);
	fflush(stdout);
}
