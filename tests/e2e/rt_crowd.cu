/* SPDX-License-Identifier: MIT */
/*
 * Complex maxima with NaNs among the numbers, and counts by atomics, in the sizes and launches of small array operations; each
 * result is known exactly. One of several processes on one device (tests/soak/crowd.sh); by itself a short run.
 *   rt_crowd [TRIES [SEED]]
 */
#include <cmath>

#include "rt.h"

#include "crowd.h"

#define MOST 5000
#define BINS 64

static uint32_t seed = 1;

static pair host_max(const pair *v, int n, bool *nan)
{
	pair best = v[0];

	*nan = false;
	for (int i = 0; i < n; i++) {
		*nan |= std::isnan(v[i].re) || std::isnan(v[i].im);
		if (best.re < v[i].re || (best.re == v[i].re && best.im < v[i].im))
			best = v[i];
	}
	return best;
}

static void maxima(cudaStream_t s, pair *host, int n)
{
	int nans = (int)(e2e_rand(&seed) % 3), threads = 32 << e2e_rand(&seed) % 5;
	pair *in, *out, got, want;
	bool nan;

	for (int i = 0; i < n; i++)
		host[i] = pair{ (float)(int)(e2e_rand(&seed) % 2001 - 1000), (float)(int)(e2e_rand(&seed) % 64) };
	for (int i = 0; i < nans; i++)
		(e2e_rand(&seed) % 2 ? host[e2e_rand(&seed) % (unsigned)n].re : host[e2e_rand(&seed) % (unsigned)n].im) = NAN;
	in = rt_alloc<pair>((size_t)n);
	out = rt_alloc<pair>(1);
	RK(cudaMemcpyAsync(in, host, (size_t)n * sizeof(pair), cudaMemcpyHostToDevice, s));
	max_complex<<<1, threads, 0, s>>>(in, out, n);
	LAUNCHED();
	RK(cudaMemcpyAsync(&got, out, sizeof(got), cudaMemcpyDeviceToHost, s));
	RK(cudaStreamSynchronize(s));
	want = host_max(host, n, &nan);
	if (nan ? !(std::isnan(got.re) || std::isnan(got.im)) : got.re != want.re || got.im != want.im)
		e2e_fail("max of %d in %d threads, %d NaNs: %g%+gi, want %s%g%+gi", n, threads, nans, got.re, got.im, nan ? "a NaN, not " : "",
			 want.re, want.im);
	RK(cudaFree(in));
	RK(cudaFree(out));
}

static void counts(cudaStream_t s, int *host, int n)
{
	unsigned long long *bins, got[BINS], want[BINS] = { 0 };
	int *in = rt_alloc<int>((size_t)n), used = 1 + (int)(e2e_rand(&seed) % BINS);
	double *weights, sums[BINS];

	for (int i = 0; i < n; i++)
		want[host[i] = (int)(e2e_rand(&seed) % (unsigned)used)]++;
	bins = rt_alloc<unsigned long long>(BINS);
	weights = rt_alloc<double>(BINS);
	RK(cudaMemcpyAsync(in, host, (size_t)n * sizeof(int), cudaMemcpyHostToDevice, s));
	RK(cudaMemsetAsync(bins, 0, sizeof(got), s));
	RK(cudaMemsetAsync(weights, 0, sizeof(sums), s));
	count<<<1 + e2e_rand(&seed) % 8, 128, 0, s>>>(in, bins, weights, n);
	LAUNCHED();
	RK(cudaMemcpyAsync(got, bins, sizeof(got), cudaMemcpyDeviceToHost, s));
	RK(cudaMemcpyAsync(sums, weights, sizeof(sums), cudaMemcpyDeviceToHost, s));
	RK(cudaStreamSynchronize(s));
	for (int i = 0; i < BINS; i++)
		if (got[i] != want[i] || sums[i] != 0.25 * (double)want[i])
			e2e_fail("%d counted into %d bins: bin %d has %llu and %g, want %llu", n, used, i, got[i], sums[i], want[i]);
	RK(cudaFree(in));
	RK(cudaFree(bins));
	RK(cudaFree(weights));
}

int main(int argc, char **argv)
{
	int tries = argc > 1 ? atoi(argv[1]) : 40;
	cudaStream_t own;
	void *host = e2e_malloc(MOST * sizeof(pair));

	rt_start("rt_crowd");
	seed = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	RK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	for (int i = 0; i < tries; i++) {
		cudaStream_t s = i % 2 ? own : 0;
		int n = 1 + (int)(e2e_rand(&seed) % (i % 4 ? 200 : MOST));

		maxima(s, (pair *)host, n);
		counts(s, (int *)host, n);
	}
	RK(cudaStreamDestroy(own));
	free(host);
	return e2e_end("%d maxima with NaNs, %d counts", tries, tries);
}
