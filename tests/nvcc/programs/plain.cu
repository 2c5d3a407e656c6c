/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the kinds that people write, 78 of them, against their own text: lane.h and block.h are compiled twice, as kernels and as
 * plain functions of the host.
 */
#include "check.h"

namespace gpu {
#define KERNEL __global__ void
#define GX ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GY ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#include "lane.h"
#include "lane_more.h"
#undef GX
#undef GY
#define BXI ((int)blockIdx.x)
#define BYI ((int)blockIdx.y)
#define SHARED(type, name, n) __shared__ type name[n]
#define OWN(type, name) type name
#define OF(name) name
#define EACH { const int tx = threadIdx.x, ty = threadIdx.y, t = ty * blockDim.x + tx; (void)tx; (void)ty; (void)t;
#define MEET } __syncthreads();
#include "block.h"
#include "block_more.h"
}

#undef KERNEL
#undef BXI
#undef BYI
#undef SHARED
#undef OWN
#undef OF
#undef EACH
#undef MEET
namespace cpu {
static int GX, GY, BXI, BYI, BX, BY;

/* one thread at a time */
template <typename T> static T atomicAdd(T *p, T v) { T old = *p; *p += v; return old; }
static unsigned atomicCAS(unsigned *p, unsigned want, unsigned v) { unsigned old = *p; if (old == want) *p = v; return old; }
#define KERNEL static void
#include "lane.h"
#include "lane_more.h"
#define SHARED(type, name, n) type name[n]
#define OWN(type, name) type name[1024]
#define OF(name) name[t]
#define EACH for (int ty = 0; ty < BY; ty++) for (int tx = 0; tx < BX; tx++) { const int t = ty * BX + tx; (void)t;
#define MEET }
#include "block.h"
#include "block_more.h"
}

static int some(int large) { return largest < 1000000 && large > 8 ? large / 8 : large; }        /* the interpreter gets less */
static int parts(int n, int of) { return (n + of - 1) / of; }
static unsigned word() { return (unsigned)(rng() >> 32); }
static float unit() { return (float)(word() >> 8) / 16777216; }

/* What a kernel has, here and there: an argument of both. */
static bool on_host;
struct data;
static std::vector<data *> live;

struct data {
	char kind;              /* f, d, u, b: floats, doubles, words, bytes; s: words in any order */
	std::vector<unsigned char> first, host;
	void *device;

	data(char kind, size_t bytes) : kind(kind), first(bytes + 64), host(bytes + 64)
	{
		CUDA(cudaMalloc(&device, bytes + 64));
		live.push_back(this);
	}
	data(const data &) = delete;
	~data()
	{
		live.erase(std::find(live.begin(), live.end(), this));
		cudaFree(device);
	}
	template <typename T, typename F> data(char kind, size_t n, T, F f) : data(kind, n * sizeof(T))
	{
		for (size_t i = 0; i < n; i++)
			((T *)first.data())[i] = (T)f();
	}
	template <typename T> operator T *() { return (T *)(on_host ? host.data() : device); }
};

static data floats(size_t n, float low, float high) { return data('f', n, 0.0f, [=] { return low + (high - low) * unit(); }); }
static data doubles(size_t n, double low, double high) { return data('d', n, 0.0, [=] { return low + (high - low) * unit(); }); }
static data words(size_t n, unsigned below, unsigned from = 0) { return data('u', n, 0u, [=] { return (below ? word() % below : word()) + from; }); }
static data bytes(size_t n, unsigned below) { return data('b', n, (unsigned char)0, [=] { return word() % below; }); }

template <typename T> static void compare_as(const char *name, const data &d, const std::vector<unsigned char> &got, double within)
{
	size_t n = (d.host.size() - 64) / sizeof(T), bad = 0, at = 0;
	const T *x = (const T *)got.data(), *y = (const T *)d.host.data();

	for (size_t i = 0; i < n; i++) {
		if (x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]) || std::fabs((double)x[i] - (double)y[i]) <= within * (1 + std::fabs((double)y[i])))
			continue;
		at = bad++ ? at : i;
	}
	if (bad) {
		printf("  %s: %zu of %zu differ, the first at %zu: %.9g, should be %.9g\n", name, bad, n, at, (double)x[at], (double)y[at]);
		failures++;
	}
}

static void compare(const char *name, data &d, double within)
{
	std::vector<unsigned char> got(d.host.size());
	int before = failures;

	CUDA(cudaMemcpy(got.data(), d.device, got.size(), cudaMemcpyDeviceToHost));
	for (auto *v : { &got, &d.host })
		if (d.kind == 's')
			std::sort((unsigned *)v->data(), (unsigned *)(v->data() + v->size() - 64));
	d.kind == 'f' ? compare_as<float>(name, d, got, within) : d.kind == 'd' ? compare_as<double>(name, d, got, within) :
	d.kind == 'u' || d.kind == 's' ? compare_as<unsigned>(name, d, got, within) : compare_as<unsigned char>(name, d, got, within);
	verdict(name, before);
}

static void begin()
{
	for (data *d : live) {
		d->host = d->first;
		CUDA(cudaMemcpy(d->device, d->first.data(), d->first.size(), cudaMemcpyHostToDevice));
	}
}

/* A kernel of lane.h for every thread, one of block.h for every block. */
template <typename F> static void every(bool of_threads, int gx, int gy, int bx, int by, F f)
{
	cpu::BX = bx;
	cpu::BY = by;
	for (int j = 0; j < gy * (of_threads ? by : 1); j++)
		for (int i = 0; i < gx * (of_threads ? bx : 1); i++) {
			cpu::GX = cpu::BXI = i;
			cpu::GY = cpu::BYI = j;
			f();
		}
}

#define RUN(kernel, gx, gy, bx, by, result, within, ...) do { \
	int gx_ = some(gx), gy_ = gy; \
	begin(); \
	on_host = true; \
	every(of_threads, gx_, gy_, bx, by, [&] { cpu::kernel(__VA_ARGS__); }); \
	on_host = false; \
	gpu::kernel<<<dim3(gx_, gy_), dim3(bx, by)>>>(__VA_ARGS__); \
	CUDA(cudaGetLastError()); \
	CUDA(cudaDeviceSynchronize()); \
	compare(#kernel, result, within); \
} while (0)

static bool of_threads;

static void lanes()
{
	{
		int n = 64, m = 8192;
		data a = floats(n * m, -1, 0), b = floats(n * m, 3, 4), c = floats(n * m, -1, 0), d = floats(n * m, 0, 1), e = floats(n * m, 0, 1);
		RUN(thomas_rows, parts(m, 128), 1, 128, 1, d, 1e-4, n, m, a, b, c, d, e);
		RUN(thomas_columns, parts(m, 128), 1, 128, 1, d, 1e-4, n, m, a, b, c, d, e);
	}
	{
		int w = 1024, h = 512;
		data in = bytes(w * h * 3, 256), o = bytes(w * h, 2);
		RUN(grey, parts(w * h, 256), 1, 256, 1, o, 1, w * h, in, o);
		RUN(median, parts(w, 16), parts(h, 16), 16, 16, o, 0, w, h, in, o);
		data z = bytes(w * h, 2);
		RUN(life, parts(w, 32), parts(h, 8), 32, 8, o, 0, w, h, z, o);
	}
	{
		int n = 65536;
		data o = words(n, 0);
		RUN(collatz, parts(n, 256), 1, 256, 1, o, 0, n, o);
		RUN(primes, parts(n, 256), 1, 256, 1, o, 0, n, o);
		data i = words(n, 0);
		RUN(power_mod, parts(n, 256), 1, 256, 1, o, 0, n, i, o);
		RUN(reverse_bits, parts(n, 256), 1, 256, 1, o, 0, n, i, o);
	}
	{
		int n = 1 << 18;
		data p = floats(n * 8, -1, 1);
		RUN(particles, parts(n, 256), 1, 256, 1, p, 1e-5, n, p, 0.01f);
		data q = floats(n * 3, -1, 1), o = floats(n * 3, 0, 1);
		RUN(normalise, parts(n, 256), 1, 256, 1, o, 1e-4, n, q, o);
		RUN(hue, parts(n, 256), 1, 256, 1, q, 1e-3, n, q);
	}
	{
		int n = 4096, m = 1024;
		data p = floats(n * 3, 0, 1), q = floats(m * 3, 0, 1), o = floats(n * 8, 0, 1);
		RUN(eight_nearest, parts(n, 128), 1, 128, 1, o, 1e-4, n, m, p, q, o);
	}
	{
		int N = 10;
		data o = words(N * N, 0);
		RUN(queens, parts(N * N, 32), 1, 32, 1, o, 0, N * N, N, o);
	}
	{
		int n = 4096, m = 64;
		data a = words(n * m, 100000);
		RUN(quicksort, parts(n, 128), 1, 128, 1, a, 0, n, m, a);
		RUN(insertion_sort, parts(n, 128), 1, 128, 1, a, 0, n, m, a);
	}
	{
		int n = 8192, m = 64;
		data in = bytes(n * m + 64, 256), t = words(256, 0), o = words(n, 0);
		RUN(crc32, parts(n, 128), 1, 128, 1, o, 0, n, m, in, t, o);
		data s = bytes(n * m + 64, 3), pt = bytes(8, 3);
		RUN(count_word, parts(n, 128), 1, 128, 1, o, 0, n, m, s, pt, 8, o);
	}
	{
		int n = 4096, m = 32;
		data a = bytes(n * m, 4), b = bytes(n * m, 4), o = bytes(n, 2);
		RUN(edit_distance, parts(n, 128), 1, 128, 1, o, 0, n, m, a, b, o);
	}
	{
		int n = 16384;
		data s = words(n, 0), o = floats(n, 0, 1);
		RUN(xorwow, parts(n, 256), 1, 256, 1, o, 1e-4, n, 256, s, o);
		RUN(box_muller, parts(n, 256), 1, 256, 1, o, 1e-3, n, 32, o);
	}
	{
		int w = 512, h = 256;
		data sp = floats(64, -1, 1), o = floats(w * h, 0, 1);
		RUN(spheres, parts(w, 16), parts(h, 16), 16, 16, o, 1e-1, w, h, sp, 16, o);
		RUN(mandelbrot, parts(w, 16), parts(h, 16), 16, 16, o, 0, w, h, o);
	}
	{
		int n = 512;
		data d = words(n * n, 1000);
		RUN(shortest_paths, parts(n, 16), parts(n, 16), 16, 16, d, 0, n, 7, d);
	}
	{
		int n = 1024, m = 1024;
		data a = floats(n * m, -1, 1), x = floats(m, -1, 1), y = floats(n, 0, 1);
		RUN(rows_times_vector, parts(n, 128), 1, 128, 1, y, 1e-3, n, m, a, x, y);
		RUN(columns_times_vector, parts(n, 128), 1, 128, 1, y, 1e-3, n, m, a, x, y);
		data o = floats(n * m, 0, 1);
		RUN(softmax_rows, parts(n, 128), 1, 128, 1, o, 1e-4, n, m, a, o);
		RUN(sums_of_rows, parts(n, 128), 1, 128, 1, o, 1e-3, m, n, a, o);
		RUN(sums_of_columns, parts(n, 128), 1, 128, 1, o, 1e-3, m, n, o);
	}
	{
		int n = 256;
		data a = floats(n * n, -1, 1), b = floats(n * n, -1, 1), c = floats(n * n, 0, 1);
		RUN(product_nt, parts(n, 16), parts(n, 16), 16, 16, c, 1e-3, n, a, b, c);
		RUN(product_tn, parts(n, 16), parts(n, 16), 16, 16, c, 1e-3, n, a, b, c);
	}
	{
		int c = 16, h = 128, w = 128;
		data in = floats(c * h * w, -1, 1), f = floats(16 * 16 * 9, -1, 1), o = floats(c * h * w, 0, 1), big = floats(9 * c * h * w, 0, 1);
		RUN(maxpool, parts(c * h * w / 4, 256), 1, 256, 1, o, 0, c, h, w, in, o);
		RUN(convolution, parts(16 * h * w, 256), 1, 256, 1, o, 1e-3, c, 16, h, w, in, f, o);
		RUN(im2col, parts(c * h * w, 256), 1, 256, 1, big, 0, c, h, w, in, big);
		RUN(bilinear, parts(500, 16), parts(300, 16), 16, 16, o, 1e-3, 128, 128, 500, 300, in, o);
	}
	{
		int n = 4096;
		data in = floats(n * 64, -1, 1), o = floats(n * 64, 0, 1), ct = floats(64, -1, 1);
		RUN(cosines, parts(n, 128), 1, 128, 1, o, 1e-3, n, in, o, ct);
		data m9 = floats(n * 36, 1, 2), r9 = floats(n * 36, 0, 1);
		RUN(inverse3, parts(n * 4, 128), 1, 128, 1, r9, 10, n * 4, m9, r9);
	}
	{
		int n = 1 << 17;
		data k = words(n, 1 << 20, 1), t = words(1 << 18, 1), o = words(n, 1);
		t.kind = 's';
		RUN(hash_insert, parts(n, 256), 1, 256, 1, t, 0, n, k, t, (1u << 18) - 1);
		unsigned *T = (unsigned *)t.first.data();
		for (int i = 0; i < n; i += 2) {
			unsigned v = ((unsigned *)k.first.data())[i], h = v * 2654435761u & ((1 << 18) - 1);
			while (T[h] && T[h] != v)
				h = (h + 1) & ((1 << 18) - 1);
			T[h] = v;
		}
		RUN(hash_find, parts(n, 256), 1, 256, 1, o, 0, n, k, t, (1u << 18) - 1, o);
	}
	{
		int n = 1 << 15, e = n * 16;
		data row = words(n + 1, 1), col = words(e, n), r = floats(n, 0, 1), dg = floats(n, 1, 9), o = floats(n, 0, 1);
		int *R = (int *)row.first.data();
		R[0] = 0;
		for (int i = 0; i < n; i++) {
			int d = word() % 32;
			R[i + 1] = R[i] + d < e ? R[i] + d : e;
		}
		RUN(pagerank, parts(n, 256), 1, 256, 1, o, 1e-3, n, row, col, r, dg, o);
		data rr = words(e, n), v = floats(e, 0, 1), y = floats(n, 0, 0);
		RUN(sparse_atomic, parts(e, 256), 1, 256, 1, y, 1e-3, e, rr, col, v, r, y);
	}
	{
		int n = 16384, k = 64;
		data p = floats(n * 4, 0, 1), nb = words(n * k, n), f = floats(n * 3, 0, 1);
		RUN(lennard_jones, parts(n, 256), 1, 256, 1, f, 1e-2, n, k, p, nb, f);
	}
	{
		int n = 65536;
		data in = doubles(n, 0, 1), o = doubles(n, 0, 1);
		RUN(polynomial, parts(n, 256), 1, 256, 1, o, 1e-9, n, 32, in, o);
	}
	{
		int n = 16384;
		data a = words(n * 8, 0), b = words(n * 8, 0), o = words(n * 16, 0);
		RUN(multiply256, parts(n, 128), 1, 128, 1, o, 0, n, a, b, o);
		RUN(mix128, parts(n, 128), 1, 128, 1, o, 0, n, a, b, o);
	}
	{
		int n = 4096, m = 64;
		data a = floats(n * m, -1, 1), t = floats(n * m, 0, 1);
		RUN(haar, parts(n, 128), 1, 128, 1, a, 1e-4, n, m, a, t);
	}
	{
		int n = 1024, m = 16;
		data a = floats(n * m * m, 0, 0.1f);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < m; j++)
				((float *)a.first.data())[i * m * m + j * m + j] += 4;
		RUN(cholesky, parts(n, 128), 1, 128, 1, a, 1e-3, n, m, a);
	}
	{
		int W = 65535;
		data in = words(W + 1, 1000), o = words(W + 1, 1);
		RUN(knapsack, parts(W + 1, 256), 1, 256, 1, o, 0, W, in, o, 37, 55);
	}
	{
		int n = 4096, m = 64;
		data in = bytes(n * m, 2), o = bytes(n * m * 2, 1), l = words(n, 1);
		RUN(run_lengths, parts(n, 128), 1, 128, 1, l, 0, n, m, in, o, l);
	}
}

static void blocks()
{
	{
		int n = 1 << 20;
		data in = floats(n, 0, 1), o = floats(n / 1024, 0, 1);
		RUN(sum, n / 1024, 1, 256, 1, o, 1e-4, n, in, o);
		data di = doubles(n / 4, 0, 1), dd = doubles(n / 1024, 0, 1);
		RUN(sum_of_doubles, n / 1024, 1, 256, 1, dd, 1e-9, n, di, dd);
		data ko = words(n / 256, 1);
		RUN(largest_at, n / 256, 1, 256, 1, ko, 0, n, in, ko);
		data ii = words(n, 100), io = words(n, 1);
		RUN(scan_up_down, n / 512, 1, 256, 1, io, 0, n, ii, io);
		data fo = floats(n, 0, 1);
		RUN(scan_two_buffers, n / 256, 1, 256, 1, fo, 1e-4, n, in, fo);
		RUN(bitonic, n / 512 / 4, 1, 256, 1, ii, 0, n, ii);
		RUN(odd_even, n / 256 / 8, 1, 256, 1, ii, 0, n, ii);
		data fl = words(n, 9);
		RUN(segments_largest, n / 256 / 2, 1, 256, 1, fo, 0, n, in, fl, fo);
		RUN(split_sort, n / 256 / 16, 1, 256, 1, io, 0, n, ii, io);
		RUN(haar_block, n / 512, 1, 256, 1, in, 1e-4, n, in);
	}
	{
		int w = 512, h = 512;
		data in = floats(w * h, 0, 1), f = floats(25, 0, 1), o = floats(w * h, 0, 1);
		RUN(convolution5, w / 16, h / 16, 16, 16, o, 1e-4, w, h, in, f, o);
		RUN(transpose, w / 32, h / 32, 32, 8, o, 0, w, h, in, o);
		RUN(jacobi, w / 16, h / 16, 16, 16, o, 1e-4, w, h, 16, in, o);
		data cb = bytes(w * h, 2), co = bytes(w * h, 1);
		RUN(life_tile, w / 16, h / 16, 16, 16, co, 0, w, h, cb, co);
		data hb = bytes(1 << 20, 256), ho = words(256, 1);
		RUN(histogram, 256, 1, 256, 1, ho, 0, 0, hb, ho);
		data sp = floats(64, -1, 1);
		RUN(march, w / 16, 8, 16, 16, o, 1e-2, w, h, sp, o);
	}
	{
		int n = 256;
		data a = floats(n * n, -1, 1), b = floats(n * n, -1, 1), c = floats(n * n, 0, 1);
		RUN(product16, n / 16, n / 16, 16, 16, c, 1e-3, n, a, b, c);
		data x = doubles(n * n, -1, 1), y = doubles(n * n, -1, 1), z = doubles(n * n, 0, 1);
		RUN(product16_doubles, n / 16, n / 16, 16, 16, z, 1e-9, n, x, y, z);
	}
	{
		int n = 256;
		data a = floats(n * 1024, 0, 0.1f);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < 32; j++)
				((float *)a.first.data())[i * 1024 + j * 33] += 4;
		for (int i = 0; i < n; i++)
			for (int j = 0; j < 32; j++)
				for (int k = 0; k < j; k++)
					((float *)a.first.data())[i * 1024 + k * 32 + j] = ((float *)a.first.data())[i * 1024 + j * 32 + k];
		RUN(lu_tile, n, 1, 32, 1, a, 1e-3, n, a);
		RUN(cholesky_tile, n, 1, 256, 1, a, 1e-3, n, a);
	}
	{
		int n = 1 << 17;
		data re = floats(n, -1, 1), im = floats(n, -1, 1);
		RUN(fourier, n / 256, 1, 256, 1, re, 1e-3, n, re, im);
		data rf = words(n, 7), o = words(n, 1);
		RUN(align, n / 256, 1, 16, 1, o, 0, n, rf, o);
		data a = floats(n, -1, 0), b = floats(n, 3, 4), c = floats(n, -1, 0), d = floats(n, 0, 1), x = floats(n, 0, 1);
		RUN(cyclic_reduction, n / 128, 1, 128, 1, x, 1e-3, n, a, b, c, d, x);
	}
	{
		int n = 1 << 17;
		data p = floats(n * 4, 0, 1), c = floats(64, 0, 1), s = floats(64, 0, 0), q = words(16, 1);
		RUN(nearest_centre, n / 256, 1, 256, 1, q, 0, n, 16, p, c, s, q);
	}
	{
		int c = 64, hw = 3136;
		data in = floats(c * hw, -1, 1), o = floats(c * hw, 0, 1);
		RUN(normalise_batch, c, 1, 256, 1, o, 1e-3, c, hw, in, o);
		RUN(softmax_block, 196, 1, 128, 1, o, 1e-4, 196, 1024, in, o);
	}
	{
		int n = 256, d = 64;
		data q = floats(n * d, -1, 1), k = floats(n * d, -1, 1), v = floats(n * d, -1, 1), o = floats(n * d, 0, 1);
		RUN(attention, n, 1, 128, 1, o, 1e-3, n, d, q, k, v, o);
	}
	{
		int n = 1024;
		data p = doubles(n * 4, 0, 1), f = doubles(n * 3, 0, 1);
		RUN(bodies, n / 128, 1, 128, 1, f, 1e-9, n, p, f);
	}
	{
		data o = words(64, 1);
		RUN(dice, 64, 1, 256, 1, o, 0, 0, 1000, o);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		largest = atoi(argv[1]);
	of_threads = true;
	lanes();
	of_threads = false;
	blocks();
	return failures != 0;
}
