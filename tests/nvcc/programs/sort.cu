/* SPDX-License-Identifier: MIT */
/* CUB's sorts (onesweep, single tile, segmented, merge) against std::stable_sort. */
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include "check.h"

/* The order that CUB documents: by bits, those of floats turned so that -NaN < -inf < ... < +NaN, and both zeros equal. */
template <typename T> static bool before(T a, T b)
{
	if (std::is_floating_point<T>::value) {
		int64_t x, y;

		if (a == 0)
			a = 0;
		if (b == 0)
			b = 0;
		if (sizeof(T) == 4) {
			int32_t u, v;

			memcpy(&u, &a, 4);
			memcpy(&v, &b, 4);
			x = u < 0 ? -1ll - (u & 0x7fffffff) : u;
			y = v < 0 ? -1ll - (v & 0x7fffffff) : v;
		} else {
			memcpy(&x, &a, sizeof(T) == 8 ? 8 : 0);
			memcpy(&y, &b, sizeof(T) == 8 ? 8 : 0);
			x = x < 0 ? -1 - (x & INT64_MAX) : x;
			y = y < 0 ? -1 - (y & INT64_MAX) : y;
		}
		return x < y;
	}
	return a < b;
}

/* ways: 1 ascending, 2 descending; each is kernels of its own */
template <typename K, typename V, int ways> static void pairs(const char *name, bool few)
{
	int failed = failures;

	for (int n : sizes) {
		for (int down = 0; down < 2; down++) {
			if (n > largest || !(ways >> down & 1))
				continue;
			std::vector<K> k = keys<K>(n, few), sorted(n);
			std::vector<V> v(n), order(n);
			std::vector<int> at(n);
			std::string what = std::string(name) + " " + std::to_string(n) + (down ? " descending" : "");

			std::iota(at.begin(), at.end(), 0);
			std::iota(v.begin(), v.end(), (V)0);
			std::stable_sort(at.begin(), at.end(), [&](int a, int b) { return down ? before(k[b], k[a]) : before(k[a], k[b]); });
			for (int i = 0; i < n; i++) {
				sorted[i] = k[at[i]];
				order[i] = (V)at[i];
			}
			buffer<K> in(k), out(n);
			buffer<V> vin(v), vout(n);
			if constexpr (ways & 2)
				if (down)
					CUB(cub::DeviceRadixSort::SortPairsDescending(temp, bytes, in.p, out.p, vin.p, vout.p, n));
			if constexpr (ways & 1)
				if (!down)
					CUB(cub::DeviceRadixSort::SortPairs(temp, bytes, in.p, out.p, vin.p, vout.p, n));
			if (check(what + " keys", out.host(), sorted, n))
				check(what + " values", vout.host(), order, n);
		}
	}
	verdict(name, failed);
}

/*
 * Segments of very different lengths, empty ones among them; stable, so values tell the order of equal keys. Radix sorts have a
 * place for NaNs; DeviceSegmentedSort merges small segments by <, so its keys have none.
 */
template <typename K, bool radix> static void segments(const char *name)
{
	int failed = failures;

	for (int n : { 33, 5000, 200000 }) {
		std::vector<K> k = keys<K>(n, true), sorted(n);
		std::vector<int> v(n), order(n), offset{ 0 };

		if (n > largest)
			continue;
		for (K &x : k)
			if (!radix && x != x)
				x = 0;
		std::iota(v.begin(), v.end(), 0);
		order = v;
		while (offset.back() < n)
			offset.push_back(std::min<int>(n, offset.back() + (int)(rng() % 7 == 0 ? rng() % 9000 : rng() % 50)));
		for (size_t s = 0; s + 1 < offset.size(); s++) {
			std::stable_sort(order.begin() + offset[s], order.begin() + offset[s + 1], [&](int a, int b) { return before(k[a], k[b]); });
			for (int i = offset[s]; i < offset[s + 1]; i++)
				sorted[i] = k[order[i]];
		}
		buffer<K> in(k), out(n);
		buffer<int> vin(v), vout(n), begin(offset);
		if constexpr (radix)
			CUB(cub::DeviceSegmentedRadixSort::SortPairs(temp, bytes, in.p, out.p, vin.p, vout.p, n, (int)offset.size() - 1, begin.p, begin.p + 1));
		else
			CUB(cub::DeviceSegmentedSort::StableSortPairs(temp, bytes, in.p, out.p, vin.p, vout.p, n, (int)offset.size() - 1, begin.p, begin.p + 1));
		if (check(name + (" keys " + std::to_string(n)), out.host(), sorted, n))
			check(name + (" values " + std::to_string(n)), vout.host(), order, n);
	}
	verdict(name, failed);
}

struct by_value { template <typename T> __host__ __device__ bool operator()(T a, T b) const { return a < b; } };

static void merges()
{
	int failed = failures;

	for (int n : sizes) {
		if (n > largest)
			continue;
		std::vector<int64_t> k = keys<int64_t>(n, n & 1), sorted = k;
		buffer<int64_t> d(k);

		std::stable_sort(sorted.begin(), sorted.end());
		CUB(cub::DeviceMergeSort::SortKeys(temp, bytes, d.p, n, by_value()));
		check("merge " + std::to_string(n), d.host(), sorted, n);
	}
	verdict("merge_sort", failed);
}

int main(int argc, char **argv)
{
	largest = argc > 1 ? atoi(argv[1]) : largest;
#ifdef ONE_TILE
	largest = 4000;
	pairs<float, int, 1>("tile_f32", false);
	pairs<uint16_t, int, 2>("tile_u16", true);
#else
	pairs<uint32_t, int, 1>("radix_u32", false);
	pairs<uint8_t, int, 2>("radix_u8", false);
	pairs<int64_t, int64_t, 2>("radix_s64", true);
	pairs<float, int, 3>("radix_f32", false);
	pairs<double, int, 1>("radix_f64", true);
	segments<float, false>("segmented_f32");
	segments<float, true>("segmented_radix_f32");
	merges();
#endif
	return failures != 0;
}
