/* SPDX-License-Identifier: MIT */
/* CUB's and Thrust's scans with decoupled look-back, reductions, histograms, selections and run lengths against std. */
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/scan.h>
#include <thrust/unique.h>

#include "check.h"

/* small whole numbers: sums are exact in every order, in floats too */
template <typename T> static std::vector<T> numbers(int n)
{
	std::vector<T> v(n);

	for (T &x : v)
		x = (T)(int)(rng() >> 40 & 7) - (std::is_signed<T>::value || std::is_floating_point<T>::value ? 3 : 0);
	return v;
}

template <typename T> static void scans(const char *name)
{
	int failed = failures;

	for (int n : sizes) {
		if (n > largest)
			continue;
		std::vector<T> v = numbers<T>(n), want(n);
		std::string what = std::string(name) + " " + std::to_string(n);
		buffer<T> in(v), out(n);
		T sum = 0, most = std::numeric_limits<T>::lowest();

		for (int i = 0; i < n; i++) {
			want[i] = sum;
			sum += v[i];
		}
		CUB(cub::DeviceScan::ExclusiveSum(temp, bytes, in.p, out.p, n));
		check(what + " exclusive", out.host(), want, n);
		for (int i = 0; i < n; i++)
			want[i] = most = std::max(most, (T)(v[i] * (i % 1000 + 1)));
		{
			std::vector<T> scaled(n);

			for (int i = 0; i < n; i++)
				scaled[i] = (T)(v[i] * (i % 1000 + 1));
			buffer<T> d(scaled);
			thrust::inclusive_scan(thrust::device, d.p, d.p + n, d.p, ::cuda::maximum<T>());
			check(what + " inclusive maximum", d.host(), want, n);
		}
		{
			buffer<T> one(1);

			CUB(cub::DeviceReduce::Sum(temp, bytes, in.p, one.p, n));
			check(what + " sum", one.host(), std::vector<T>{ sum }, 1);
		}
	}
	verdict(name, failed);
}

/* runs of equal keys: reduce by key (cub and thrust), run lengths, unique */
template <typename K, typename V> static void by_key(const char *name)
{
	int failed = failures;

	for (int n : sizes) {
		if (n > largest)
			continue;
		std::vector<K> k(n), uk;
		std::vector<V> v = numbers<V>(n), sums;
		std::vector<int> lengths;
		std::string what = std::string(name) + " " + std::to_string(n);

		for (int i = 0; i < n; i++)
			k[i] = i && rng() % 4 ? k[i - 1] : (K)(rng() >> 60);
		for (int i = 0; i < n; i++) {
			if (!i || k[i] != k[i - 1]) {
				uk.push_back(k[i]);
				sums.push_back(0);
				lengths.push_back(0);
			}
			sums.back() += v[i];
			lengths.back()++;
		}
		buffer<K> in(k), out(n);
		buffer<V> vin(v), vout(n);
		buffer<int> runs(1), len(n);
		std::vector<int> count{ (int)uk.size() };
		CUB(cub::DeviceReduce::ReduceByKey(temp, bytes, in.p, out.p, vin.p, vout.p, runs.p, ::cuda::std::plus<>(), n));
		if (check(what + " runs", runs.host(), count, 1) && check(what + " keys", out.host(), uk, uk.size()))
			check(what + " sums", vout.host(), sums, uk.size());
		CUB(cub::DeviceRunLengthEncode::Encode(temp, bytes, in.p, out.p, len.p, runs.p, n));
		if (check(what + " encoded runs", runs.host(), count, 1))
			check(what + " lengths", len.host(), lengths, uk.size());
		size_t got = thrust::unique(thrust::device, in.p, in.p + n) - in.p;
		if (check(what + " unique count", std::vector<int>{ (int)got }, count, 1))
			check(what + " unique", in.host(), uk, uk.size());
	}
	verdict(name, failed);
}

struct odd { __host__ __device__ bool operator()(int x) const { return x & 1; } };

static void selections()
{
	int failed = failures;

	for (int n : sizes) {
		if (n > largest)
			continue;
		std::vector<int> v = keys<int>(n, false), yes, no, flagged;
		std::vector<char> flag(n);
		std::string what = "selections " + std::to_string(n);

		for (int i = 0; i < n; i++) {
			flag[i] = rng() >> 50 & 1;
			(v[i] & 1 ? yes : no).push_back(v[i]);
			if (flag[i])
				flagged.push_back(v[i]);
		}
		buffer<int> in(v), out(n), count(1);
		buffer<char> f(flag);
		CUB(cub::DeviceSelect::If(temp, bytes, in.p, out.p, count.p, n, odd()));
		if (check(what + " if count", count.host(), std::vector<int>{ (int)yes.size() }, 1))
			check(what + " if", out.host(), yes, yes.size());
		CUB(cub::DeviceSelect::Flagged(temp, bytes, in.p, f.p, out.p, count.p, n));
		if (check(what + " flagged count", count.host(), std::vector<int>{ (int)flagged.size() }, 1))
			check(what + " flagged", out.host(), flagged, flagged.size());
		CUB(cub::DevicePartition::If(temp, bytes, in.p, out.p, count.p, n, odd()));
		std::reverse(no.begin(), no.end());     /* the rest comes from the end, backwards */
		yes.insert(yes.end(), no.begin(), no.end());
		check(what + " partition", out.host(), yes, n);
	}
	verdict("select_partition", failed);
}

static void histograms()
{
	int failed = failures;

	for (int n : sizes) {
		if (n > largest)
			continue;
		std::vector<float> v(n);
		std::vector<int> bins(100), wide(5000);
		std::vector<int> values = keys<int>(n, false);

		for (float &x : v)
			x = (float)(rng() >> 40 & 1023) / 8 - 10;       /* exact; some outside */
		for (float x : v)
			if (x >= 0 && x < 100)
				bins[(int)x]++;
		for (int &x : values) {
			x = (int)((uint32_t)x >> 8) % 5000;
			wide[x]++;
		}
		buffer<float> in(v);
		buffer<int> whole(values), out(100), many(5000);
		CUB(cub::DeviceHistogram::HistogramEven(temp, bytes, in.p, out.p, 101, 0.f, 100.f, n));
		check("histogram " + std::to_string(n), out.host(), bins, 100);
		CUB(cub::DeviceHistogram::HistogramEven(temp, bytes, whole.p, many.p, 5001, 0, 5000, n));
		check("wide histogram " + std::to_string(n), many.host(), wide, 5000);
	}
	verdict("histogram", failed);
}

int main(int argc, char **argv)
{
	largest = argc > 1 ? atoi(argv[1]) : largest;
	scans<int>("scan_s32");
	scans<double>("scan_f64");
	scans<uint8_t>("scan_u8");
	by_key<int, float>("by_key_f32");
	by_key<uint16_t, int64_t>("by_key_s64");
	selections();
	histograms();
	return failures != 0;
}
