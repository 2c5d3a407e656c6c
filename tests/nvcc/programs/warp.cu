/* SPDX-License-Identifier: MIT */
/*
 * Shapes that compilers write: bits of a float result compared as integers, barriers with a value, votes with the masks of
 * groups, vector accesses that must not tear, log1p(exp) chains, a gather of rows by expert.
 */
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

static void expect(const char *what, bool good)
{
	if (!good) {
		printf("  %s is wrong\n", what);
		failures++;
	}
}

/* ---- float results as integers ------------------------------------------------------------------- */

__global__ void float_bits(const float *x, int *out)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned u = __float_as_uint(x[t] * 2 + 1);

	out[4 * t] = __float_as_int(x[t] * -1.0f) < 0;
	out[4 * t + 1] = signbit(x[t] - 8.0f) ? 5 : 9;
	out[4 * t + 2] = u == 0x3f800000 ? 1 : u == 0x40400000 ? 2 : 3;
	out[4 * t + 3] = (int)(u >> 23) - 127 >= (t & 3) ? -1 : t;
}

static void test_float_bits()
{
	std::vector<float> x(256);
	int before = failures, bad = 0;

	for (int i = 0; i < 256; i++)
		x[i] = (float)(i % 37) / 2;
	buffer<float> in(x);
	buffer<int> out(1024);
	float_bits<<<4, 64>>>(in.p, out.p);
	std::vector<int> got = out.host();
	for (int i = 0; i < 256; i++) {
		float v = x[i] * 2 + 1;

		bad += got[4 * i] != 1 || got[4 * i + 1] != (x[i] < 8 ? 5 : 9) || got[4 * i + 2] != (v == 1 ? 1 : v == 3 ? 2 : 3) ||
		       got[4 * i + 3] != (std::ilogb(v) >= (i & 3) ? -1 : i);
	}
	expect("a comparison of a float's bits", bad == 0);
	verdict("float_bits", before);
}

/* ---- barriers that carry a value, in warps that are not whole too --------------------------------- */

__global__ void barrier_values(int *out, int who)
{
	int t = threadIdx.x, p = t == who;
	int any = __syncthreads_or(p), all = __syncthreads_and(!p), count = __syncthreads_count(t % 3 == 0 || p);

	out[t] = (any != 0) | (all != 0) << 1 | count << 2;
}

static void test_barriers()
{
	int before = failures;

	for (int threads : { 32, 50, 96, 256, 1000 })
		for (int who : { -1, 0, 5, 31, 33, 100, threads - 1 }) {
			buffer<int> out(threads);
			bool there = who >= 0 && who < threads, good = true;
			int count = (threads + 2) / 3 + (there && who % 3);

			barrier_values<<<1, threads>>>(out.p, who);
			for (int v : out.host())
				good &= v == ((there ? 1 : 2) | count << 2);
			expect("a barrier's or, and, count", good);
		}
	verdict("barrier_values", before);
}

/* ---- votes, matches and shuffles with masks of groups, all lanes converged ------------------------- */

template <int size> __global__ void groups(unsigned *out)
{
	int t = threadIdx.x;
	unsigned mask = (size == 32 ? 0xffffffffu : (1u << size % 32) - 1) << (t & ~(size - 1) & 31);
	auto tile = cg::tiled_partition<size>(cg::this_thread_block());
	int p = t % 3 == 0, q = t < 16;

	out[t] = __ballot_sync(mask, p);
	out[64 + t] = __any_sync(mask, q) << 1 | __all_sync(mask, q);
	out[128 + t] = __match_any_sync(mask, t % 3);
	out[192 + t] = __shfl_sync(mask, t, (t & ~(size - 1)) + 1);
	out[256 + t] = tile.any(q) << 1 | tile.all(q);
	out[320 + t] = tile.ballot(p);
	out[384 + t] = tile.shfl_xor(t * 7, 1);
}

template <int size> static void test_group(const char *what)
{
	buffer<unsigned> out(448);
	bool good = true;

	groups<size><<<1, 64>>>(out.p);
	std::vector<unsigned> got = out.host();
	for (int t = 0; t < 64; t++) {
		int first = t & ~(size - 1), base = first & 31;
		unsigned ballot = 0, match = 0, any = 0, all = 1;

		for (int i = 0; i < size; i++) {
			ballot |= (unsigned)((first + i) % 3 == 0) << i;
			match |= (unsigned)((first + i) % 3 == t % 3) << i;
			any |= first + i < 16;
			all &= first + i < 16;
		}
		good &= got[t] == ballot << base && got[64 + t] == (any << 1 | all) && got[128 + t] == match << base && got[192 + t] == (unsigned)(first + 1) &&
			got[256 + t] == (any << 1 | all) && got[320 + t] == ballot && got[384 + t] == (unsigned)(t ^ 1) * 7;
	}
	expect(what, good);
}

static void test_groups()
{
	int before = failures;

	test_group<32>("groups of 32");
	test_group<16>("groups of 16");
	test_group<8>("groups of 8");
	test_group<4>("groups of 4");
	test_group<2>("groups of 2");
	verdict("groups", before);
}

/* ---- vector accesses: halves of one store are seen together ---------------------------------------- */

__global__ void tear(unsigned *narrow, unsigned long long *wide, unsigned n, unsigned *torn)
{
	unsigned *q = narrow + 2 * threadIdx.x, bad = 0;
	unsigned long long *w = wide + 2 * threadIdx.x;

	for (unsigned i = 1; i <= n; i++) {
		unsigned a, b;
		unsigned long long c, d;

		if (blockIdx.x == 0) {
			asm volatile("st.relaxed.gpu.global.v2.u32 [%0],{%1,%1};" ::"l"(q), "r"(i) : "memory");
			asm volatile("st.relaxed.gpu.global.v2.u64 [%0],{%1,%1};" ::"l"(w), "l"((unsigned long long)i) : "memory");
		} else {
			asm volatile("ld.relaxed.gpu.global.v2.u32 {%0,%1},[%2];" : "=r"(a), "=r"(b) : "l"(q) : "memory");
			asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1},[%2];" : "=l"(c), "=l"(d) : "l"(w) : "memory");
			bad += (a != b) + (c != d);
		}
	}
	if (bad)
		atomicAdd(torn, bad);
}

static void test_tear()
{
	int before = failures;

	for (int threads : { 1, 32 }) {
		buffer<unsigned> q(std::vector<unsigned>(64)), torn(std::vector<unsigned>(1));
		buffer<unsigned long long> w(std::vector<unsigned long long>(64));

		tear<<<2, threads>>>(q.p, w.p, threads == 1 ? 1000000 : 100000, torn.p);
		expect("a vector store seen whole", torn.host()[0] == 0);
	}
	verdict("vectors_whole", before);
}

/* ---- log1p(exp) chains: softplus, and the scan of a state-space model on top ------------------------ */

__global__ void state_scan(const float *dt, const float *a, const float *x, float *y, int steps)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, width = gridDim.x * blockDim.x;
	float state = 0;

	for (int i = 0; i < steps; i++) {
		float d = dt[i * width + t], soft = d <= 20.0f ? log1pf(expf(d)) : d;

		state = state * expf(soft * a[t]) + x[i * width + t] * soft;
		y[i * width + t] = state;
	}
}

static void test_chain()
{
	const int width = 160, steps = 50;
	std::vector<float> dt(width * steps), a(width), x(width * steps);
	int before = failures, bad = 0;

	for (float &v : dt)
		v = (float)(int)(rng() >> 40 & 0xffff) / 1024 - 32;
	for (float &v : a)
		v = -(float)(rng() >> 40 & 0xff) / 64;
	for (float &v : x)
		v = (float)(int)(rng() >> 40 & 0xff) / 128 - 1;
	buffer<float> ddt(dt), da(a), dx(x), dy(width * steps);
	state_scan<<<width / 32, 32>>>(ddt.p, da.p, dx.p, dy.p, steps);
	std::vector<float> y = dy.host();
	for (int t = 0; t < width; t++) {
		double state = 0;

		for (int i = 0; i < steps; i++) {
			double soft = log1p(exp((double)dt[i * width + t]));

			state = state * exp(soft * a[t]) + x[i * width + t] * soft;
			bad += !(fabs(y[i * width + t] - state) <= 2e-5 * (1 + fabs(state)));
		}
	}
	expect("a state-space scan", bad == 0);
	verdict("log1p_exp", before);
}

/* ---- a mixture of experts: top 2 of each row, rows gathered by expert, weighted sums back ------------- */

__global__ void route(const float *logits, int experts, int *which, float *weight, int *count)
{
	int row = blockIdx.x, lane = threadIdx.x;
	float v = lane < experts ? logits[row * experts + lane] : -INFINITY, first = 0;

	for (int k = 0; k < 2; k++) {
		float best = v;
		int at = lane;

		for (int o = 16; o; o >>= 1) {
			float w = __shfl_xor_sync(~0u, best, o);
			int b = __shfl_xor_sync(~0u, at, o);

			if (w > best || (w == best && b < at)) {
				best = w;
				at = b;
			}
		}
		if (lane == 0) {
			first = k ? first : best;
			which[2 * row + k] = at;
			weight[2 * row + k] = expf(best - first);
			atomicAdd(count + at, 1);
		}
		if (lane == at)
			v = -INFINITY;
	}
}

__global__ void gather(const float *x, const int *which, int *next, int *place, float *rows, int width)
{
	__shared__ int to;

	if (threadIdx.x == 0)
		to = place[blockIdx.x] = atomicAdd(next + which[blockIdx.x], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < width; i += blockDim.x)
		rows[to * width + i] = x[blockIdx.x / 2 * width + i] * (float)(which[blockIdx.x] + 1);
}

__global__ void combine(const float *rows, const int *place, const float *weight, float *y, int width)
{
	int row = blockIdx.x;

	for (int i = threadIdx.x; i < width; i += blockDim.x)
		y[row * width + i] = weight[2 * row] * rows[place[2 * row] * width + i] + weight[2 * row + 1] * rows[place[2 * row + 1] * width + i];
}

static void test_experts()
{
	const int rows = 300, experts = 20, width = 70;
	std::vector<float> logits(rows * experts), x(rows * width);
	std::vector<int> start(experts);
	int before = failures, bad = 0;

	for (float &v : logits)
		v = (float)(int)(rng() >> 40 & 0x3f) / 8;
	for (float &v : x)
		v = (float)(int)(rng() >> 40 & 0xff);
	buffer<float> dl(logits), dx(x), weight(2 * rows), all(2 * rows * width), y(rows * width);
	buffer<int> which(2 * rows), place(2 * rows), count(std::vector<int>(experts, 0));
	route<<<rows, 32>>>(dl.p, experts, which.p, weight.p, count.p);
	std::vector<int> counts = count.host();
	for (int e = 1; e < experts; e++)
		start[e] = start[e - 1] + counts[e - 1];
	buffer<int> next(start);
	gather<<<2 * rows, 64>>>(dx.p, which.p, next.p, place.p, all.p, width);
	combine<<<rows, 64>>>(all.p, place.p, weight.p, y.p, width);
	std::vector<float> got = y.host();
	for (int r = 0; r < rows; r++) {
		std::vector<int> order(experts);
		const float *l = &logits[r * experts];

		std::iota(order.begin(), order.end(), 0);
		std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return l[p] > l[q]; });
		for (int i = 0; i < width; i++) {
			double want = x[r * width + i] * ((order[0] + 1) + exp((double)l[order[1]] - l[order[0]]) * (order[1] + 1));

			bad += !(fabs(got[r * width + i] - want) <= 1e-6 * (1 + fabs(want)));
		}
	}
	expect("a mixture of experts", bad == 0);
	verdict("experts", before);
}

int main()
{
	test_float_bits();
	test_barriers();
	test_groups();
	test_tear();
	test_chain();
	test_experts();
	return failures != 0;
}
