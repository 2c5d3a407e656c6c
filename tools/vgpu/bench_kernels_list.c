/* SPDX-License-Identifier: MIT */
/*
 * The everyday kernels of vgpu bench kernels: what each works on, its launches and the calls of the same in C. Sizes take C some
 * milliseconds on a core; those of a check (b->quick) are small.
 */
#include "bench_kernels.h"

#include <math.h>

#include "bench_engine.h"

#define SIZE(large, small) (b->quick ? (small) : (large))
#define IN(k) P(b->in[k])
#define OUT(k) P(b->r[k].gpu)
/* in[] is C's as well, and so are the first four results */
static void share(struct kb *b, long n0, long n1)
{
	memcpy(b->w.in, b->in, sizeof(b->w.in));
	for (unsigned i = 0; i < b->nr; i++)
		b->w.out[i] = b->r[i].c;
	b->w.n[0] = b->n[0] = n0;
	b->w.n[1] = b->n[1] = n1;
}
#define SETUP(name) static void set_##name(struct kb *b)
#define GPU(name) static void gpu_##name(struct kb *b)
#define C(name) static void by_c_##name(struct kb *b)
#define N b->n[0]
#define M b->n[1]

SETUP(saxpy)
{
	long n = SIZE(1 << 22, 10000);

	b->in[0] = take_floats(b, n, -1, 1);
	results(b, 'f', n);
	for (long i = 0; i < n; i++)
		((float *)b->r[0].gpu)[i] = ((float *)b->r[0].c)[i] = (float)(i % 17);
	b->w.f[0] = 0.001f;
	share(b, n, 0);
}
GPU(saxpy) { go(b, "saxpy", DIM((uint32_t)(N + 255) / 256), DIM(256), ARGS(I(N), F(0.001f), IN(0), OUT(0))); }
C(saxpy) { par(b, "saxpy", N); }

SETUP(sgemm)
{
	long n = SIZE(512, 128);

	b->in[0] = take_floats(b, n * n, -1, 1);
	b->in[1] = take_floats(b, n * n, -1, 1);
	results(b, 'f', n * n);
	share(b, n, 0);
}
GPU(sgemm_tiled) { go(b, "sgemm_tiled", DIM(N / 16, N / 16), DIM(16, 16), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(sgemm_tiled) { par(b, "sgemm", N); }
GPU(sgemm_reg) { go(b, "sgemm_reg", DIM(N / 64, N / 64), DIM(256), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(sgemm_reg) { par(b, "sgemm_4", N / 4); }

SETUP(dgemm)
{
	long n = SIZE(384, 64);

	for (int k = 0; k < 2; k++) {
		double *m = take(b, n * n * 8);

		for (long i = 0; i < n * n; i++)
			m[i] = any_float(-1, 1);
		b->in[k] = m;
	}
	results(b, 'd', n * n);
	share(b, n, 0);
}
GPU(dgemm) { go(b, "dgemm_tiled", DIM(N / 16, N / 16), DIM(16, 16), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(dgemm) { par(b, "dgemm", N); }

SETUP(transpose)
{
	long n = SIZE(2048, 128);

	b->in[0] = take_floats(b, n * n, -1, 1);
	results(b, 'u', n * n);
	share(b, n, 0);
}
GPU(transpose) { go(b, "transpose", DIM(N / 32, N / 32), DIM(32, 8), ARGS(I(N), IN(0), OUT(0))); }
C(transpose) { par(b, "transpose", N / 32); }

SETUP(lu_tile)
{
	long n = SIZE(1024, 16);
	float *m = take_floats(b, n * 1024, -1, 1);

	for (long i = 0; i < n * 1024; i += 1024)
		for (int k = 0; k < 32; k++)
			m[i + k * 33] += 32;
	b->in[0] = m;
	results(b, 'f', n * 1024);
	share(b, n, 0);
}
GPU(lu_tile) { go(b, "lu_tile", DIM(N), DIM(32, 8), ARGS(IN(0), OUT(0))); }
C(lu_tile) { par(b, "lu_tile", N); }

SETUP(reduce)
{
	long n = SIZE(1 << 22, 65536);

	b->in[0] = take_floats(b, n, 0, 1);
	results(b, 'f', 256);
	share(b, n, 256);
}
/* sums of other parts than C's: they are compared by their sum */
static void one_sum(float *v)
{
	double sum = 0;

	for (int i = 0; i < 256; i++)
		sum += v[i];
	memset(v, 0, 256 * sizeof(*v));
	v[0] = (float)sum;
}
GPU(reduce_tree) { go(b, "reduce_tree", DIM(256), DIM(256), ARGS(I(N), IN(0), OUT(0))); one_sum(b->r[0].gpu); }
GPU(reduce_shfl) { go(b, "reduce_shfl", DIM(256), DIM(256), ARGS(I(N), IN(0), OUT(0))); one_sum(b->r[0].gpu); }
C(reduce) { par(b, "reduce", 256); one_sum(b->r[0].c); }

SETUP(scan)
{
	long n = SIZE(1 << 22, 65536);

	b->in[0] = take_words(b, n, 1023);
	results(b, 'u', n);
	b->scratch[0] = take(b, n / 256);
	share(b, n, b->cores);
	b->w.in[1] = take(b, (size_t)b->cores * 4);
}
GPU(scan)
{
	go(b, "scan_block", DIM(N / 1024), DIM(256), ARGS(IN(0), OUT(0), P(b->scratch[0])));
	go(b, "scan_sums", DIM(1), DIM(256), ARGS(I(N / 1024), P(b->scratch[0])));
	go(b, "scan_add", DIM(N / 1024), DIM(256), ARGS(OUT(0), P(b->scratch[0])));
}
C(scan)
{
	uint32_t sum = 0;

	par(b, "scan", M);
	for (long i = 0; i < M; i++) {
		((uint32_t *)b->w.in[1])[i] = sum;
		sum += ((uint32_t *)b->r[0].c)[(i + 1) * N / M - 1];
	}
	if (M > 1)
		par(b, "scan_add", M);
}

static void set_histogram(struct kb *b, long bins)
{
	long n = SIZE(1 << 22, 20000);

	b->in[0] = take_words(b, n, ~0u);
	results(b, 'u', bins);
	share(b, n, b->cores);
	b->w.out[1] = take(b, (size_t)(b->cores * bins) * 4);
	b->n[2] = b->w.n[2] = bins;
}
SETUP(histogram_shared) { set_histogram(b, 256); }
SETUP(histogram_global) { set_histogram(b, 4096); }
GPU(histogram_shared)
{
	memset(b->r[0].gpu, 0, 1024);
	go(b, "histogram_shared", DIM(64), DIM(256), ARGS(I(N), IN(0), OUT(0)));
}
GPU(histogram_global)
{
	memset(b->r[0].gpu, 0, 4096 * 4);
	go(b, "histogram_global", DIM((uint32_t)(N + 255) / 256), DIM(256), ARGS(I(N), IN(0), OUT(0)));
}
C(histogram)
{
	memset(b->r[0].c, 0, (size_t)b->n[2] * 4);
	par(b, "histogram", M);
	par(b, "histogram_sum", b->n[2]);
}

SETUP(radix_sort)
{
	long n = SIZE(1 << 20, 16384);

	b->in[0] = take_words(b, n, ~0u);
	results(b, 'u', n);
	b->scratch[0] = take(b, n * 4);                         /* keys between passes */
	b->scratch[1] = take(b, n / 2048 * 1024);               /* counts by digit and block */
	b->scratch[2] = take(b, n * 4);                         /* C's keys between passes */
	share(b, n, b->cores);
	b->scratch[3] = take(b, (size_t)b->cores * 1024);
	b->n[2] = n / 2048;
}
GPU(radix_sort)
{
	const void *from = b->in[0];

	for (long pass = 0; pass < 4; pass++) {
		void *to = pass % 2 ? b->r[0].gpu : b->scratch[0], *counts = b->scratch[1];

		go(b, "radix_count", DIM(b->n[2]), DIM(256), ARGS(P(from), P(counts), I(pass * 8)));
		go(b, "scan_sums", DIM(1), DIM(256), ARGS(I(b->n[2] * 256), P(counts)));
		go(b, "radix_scatter", DIM(b->n[2]), DIM(256), ARGS(P(from), P(counts), P(to), I(pass * 8)));
		from = to;
	}
}
C(radix_sort)
{
	uint32_t *counts = b->scratch[3];

	b->w.in[0] = b->in[0];
	b->w.in[1] = counts;
	for (long pass = 0; pass < 4; pass++) {
		uint32_t at = 0;

		b->w.n[3] = pass * 8;
		b->w.out[0] = pass % 2 ? b->r[0].c : b->scratch[2];
		par(b, "radix_count", M);
		for (int d = 0; d < 256; d++)
			for (long i = 0; i < M; i++) {
				uint32_t c = counts[i * 256 + d];

				counts[i * 256 + d] = at;
				at += c;
			}
		par(b, "radix_scatter", M);
		b->w.in[0] = b->w.out[0];
	}
}

SETUP(bitonic)
{
	long n = SIZE(512, 16);

	b->in[0] = take_words(b, n * 1024, ~0u);
	results(b, 'u', n * 1024);
	share(b, n, 0);
}
GPU(bitonic) { go(b, "bitonic", DIM(N), DIM(512), ARGS(IN(0), OUT(0))); }
C(bitonic) { par(b, "bitonic", N); }

SETUP(nbody)
{
	long n = SIZE(4096, 512);

	b->in[0] = take_floats(b, n * 4, 0, 1);
	results(b, 'f', n * 4);
	share(b, n, 0);
}
GPU(nbody) { go(b, "nbody", DIM(N / 256), DIM(256), ARGS(I(N), IN(0), OUT(0))); }
C(nbody) { par(b, "nbody", N); }

SETUP(black_scholes)
{
	long n = SIZE(1 << 20, 10000);

	b->in[0] = take_floats(b, n, 5, 30);
	b->in[1] = take_floats(b, n, 1, 100);
	b->in[2] = take_floats(b, n, 0.25f, 10);
	results(b, 'f', n);
	results(b, 'f', n);
	b->w.f[0] = 0.02f;
	b->w.f[1] = 0.3f;
	share(b, n, 0);
}
GPU(black_scholes)
{
	go(b, "black_scholes", DIM((uint32_t)(N + 255) / 256), DIM(256),
	   ARGS(I(N), IN(0), IN(1), IN(2), OUT(0), OUT(1), F(0.02f), F(0.3f)));
}
C(black_scholes) { par(b, "black_scholes", N); }

SETUP(monte_carlo)
{
	results(b, 'f', SIZE(16384, 1024));
	b->w.f[0] = 100;
	b->w.f[1] = 95;
	b->w.f[2] = 0.01f;
	b->w.f[3] = 0.2f;
	share(b, SIZE(64, 16), SIZE(16384, 1024));
}
GPU(monte_carlo) { go(b, "monte_carlo", DIM(M / 256), DIM(256), ARGS(I(N), OUT(0), F(100), F(95), F(0.01f), F(0.2f))); }
C(monte_carlo) { par(b, "monte_carlo", M / 16); }

/* At the edge a rounding decides: not all need be equal. */
SETUP(mandelbrot)
{
	long n = SIZE(512, 64);

	results(b, 'i', n * n);
	share(b, n, 256);
}
GPU(mandelbrot) { go(b, "mandelbrot", DIM(N / 16, N / 16), DIM(16, 16), ARGS(I(N), I(M), OUT(0))); }
C(mandelbrot) { par(b, "mandelbrot", N); }

SETUP(sha256)
{
	long n = SIZE(65536, 1024);

	b->in[0] = take_words(b, n * 16, ~0u);
	results(b, 'u', n * 8);
	share(b, n, 0);
}
GPU(sha256) { go(b, "sha256", DIM(N / 128), DIM(128), ARGS(I(N), IN(0), OUT(0))); }
C(sha256) { par(b, "sha256", N); }

SETUP(stencil2d)
{
	long n = SIZE(2048, 128);

	b->in[0] = take_floats(b, n * n, -1, 1);
	results(b, 'f', n * n);
	share(b, n, n);
}
GPU(stencil2d) { go(b, "stencil2d", DIM(N / 32, N / 8), DIM(32, 8), ARGS(I(N), I(N), IN(0), OUT(0))); }
C(stencil2d) { par(b, "stencil2d", N - 2); }

SETUP(align)
{
	long n = SIZE(256, 16);

	b->in[0] = take_words(b, n * 32, 0x03030303);
	b->in[1] = take_words(b, n * 32, 0x03030303);
	results(b, 'u', n);
	share(b, n, 0);
}
GPU(align) { go(b, "align", DIM(N), DIM(128), ARGS(IN(0), IN(1), OUT(0))); }
C(align) { par(b, "align", N); }

/* Four levels of boxes below one; each has its children's place. */
SETUP(tree_walk)
{
	long n = SIZE(4096, 128), first = 0, many = 1;
	float *nodes = take(b, 4681 * 5 * sizeof(float));
	int *child = take(b, 4681 * sizeof(int));

	for (int level = 0; level < 5; level++) {
		float size = 1.0f / (float)(1 << level);

		for (long k = 0; k < many; k++) {
			float *q = nodes + 5 * (first + k);

			for (int d = 0; d < 3; d++) {
				int at = 0;

				for (int bit = 0; bit < level; bit++)
					at |= (int)(k >> (3 * bit + d) & 1) << bit;
				q[d] = ((float)at + 0.5f) * size;
			}
			q[3] = size * size * size;
			q[4] = size;
			child[first + k] = level == 4 ? -1 : (int)(first + many + 8 * k);
		}
		first += many;
		many *= 8;
	}
	b->in[0] = nodes;
	b->in[1] = child;
	b->in[2] = take_floats(b, n * 3, 0, 1);
	results(b, 'f', n);
	share(b, n, 0);
}
GPU(tree_walk) { go(b, "tree_walk", DIM((uint32_t)(N + 127) / 128), DIM(128), ARGS(I(N), IN(0), IN(1), IN(2), OUT(0))); }
C(tree_walk) { par(b, "tree_walk", N); }

SETUP(stencil3d)
{
	long n = SIZE(160, 32);

	b->in[0] = take_floats(b, n * n * n, -1, 1);
	results(b, 'f', n * n * n);
	share(b, n, 0);
}
GPU(stencil3d) { go(b, "stencil3d", DIM(N / 32, N / 8), DIM(32, 8), ARGS(I(N), IN(0), OUT(0))); }
C(stencil3d) { par(b, "stencil3d", N - 2); }

SETUP(conv2d)
{
	long n = SIZE(1024, 64);

	b->in[0] = take_floats(b, (n + 4) * (n + 4), -1, 1);
	b->in[1] = take_floats(b, 25, -1, 1);
	results(b, 'f', n * n);
	share(b, n, 0);
}
GPU(conv2d) { go(b, "conv2d", DIM(N / 16, N / 16), DIM(16, 16), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(conv2d) { par(b, "conv2d", N); }

SETUP(fft1024)
{
	long n = SIZE(512, 8);
	float *t = take(b, 2048 * 4);

	for (int i = 0; i < 1024; i++) {
		t[2 * i] = (float)cos(-2 * M_PI * i / 1024);
		t[2 * i + 1] = (float)sin(-2 * M_PI * i / 1024);
	}
	b->in[0] = take_floats(b, n * 1024, -1, 1);
	b->in[1] = take_floats(b, n * 1024, -1, 1);
	b->in[2] = t;
	results(b, 'f', n * 1024);
	results(b, 'f', n * 1024);
	share(b, n, 0);
}
GPU(fft1024) { go(b, "fft1024", DIM(N), DIM(256), ARGS(IN(0), IN(1), IN(2), OUT(0), OUT(1))); }
C(fft1024) { par(b, "fft1024", N); }

/* Rows of 4 to 28 values. */
SETUP(spmv)
{
	long n = SIZE(1 << 16, 2048);
	int *start = take(b, (n + 1) * 4);

	for (long i = 0; i < n; i++)
		start[i + 1] = start[i] + 4 + (int)(any_word() % 25);
	b->in[0] = start;
	b->in[1] = take_words(b, start[n], (uint32_t)n - 1);
	b->in[2] = take_floats(b, start[n], -1, 1);
	b->in[3] = take_floats(b, n, -1, 1);
	results(b, 'f', n);
	share(b, n, 0);
}
GPU(spmv_csr) { go(b, "spmv_csr", DIM(N / 128), DIM(128), ARGS(I(N), IN(0), IN(1), IN(2), IN(3), OUT(0))); }
GPU(spmv_csr_warp) { go(b, "spmv_csr_warp", DIM(N / 8), DIM(256), ARGS(I(N), IN(0), IN(1), IN(2), IN(3), OUT(0))); }
C(spmv_csr) { par(b, "spmv_csr", N); }

SETUP(spmv_ell)
{
	long n = SIZE(1 << 16, 2048);
	int *column = (int *)take_words(b, n * 16, (uint32_t)n - 1);

	for (long i = n * 12; i < n * 16; i++)
		if (any_word() & 1)
			column[i] = -1;
	b->in[0] = column;
	b->in[1] = take_floats(b, n * 16, -1, 1);
	b->in[2] = take_floats(b, n, -1, 1);
	results(b, 'f', n);
	share(b, n, 16);
}
GPU(spmv_ell) { go(b, "spmv_ell", DIM(N / 128), DIM(128), ARGS(I(N), I(M), IN(0), IN(1), IN(2), OUT(0))); }
C(spmv_ell) { par(b, "spmv_ell", N); }

SETUP(bfs)
{
	long n = SIZE(1 << 17, 2048);
	int *start = take(b, (n + 1) * 4);

	for (long i = 0; i < n; i++)
		start[i + 1] = start[i] + 2 + (int)(any_word() % 13);
	b->in[1] = start;
	b->in[2] = take_words(b, start[n], (uint32_t)n - 1);
	results(b, 'u', n);
	for (int i = 0; i < 3; i++)
		b->scratch[i] = take(b, n * 4);
	share(b, n, 0);
}
static void search(struct kb *b, uint32_t *level, int by_c)
{
	uint32_t *queue = b->scratch[0], *next = b->scratch[1], *count = b->scratch[2], n = 1;

	memset(level, 0xff, (size_t)N * 4);
	level[0] = queue[0] = 0;
	for (uint32_t depth = 1; n && !b->failed; depth++) {
		uint32_t *t = queue;

		*count = 0;
		if (by_c) {
			b->w.in[0] = queue;
			b->w.in[3] = count;
			b->w.out[1] = next;
			b->w.n[0] = depth;
			par(b, "bfs", n);
		} else {
			go(b, "bfs_level", DIM((n + 127) / 128), DIM(128),
			   ARGS(I(n), P(queue), IN(1), IN(2), P(level), P(next), P(count), I(depth)));
		}
		n = *count;
		queue = next;
		next = t;
	}
}
GPU(bfs) { search(b, b->r[0].gpu, 0); }
C(bfs) { search(b, b->r[0].c, 1); }

SETUP(kmeans)
{
	long n = SIZE(1 << 18, 8192);

	b->in[0] = take_floats(b, n * 4, -1, 1);
	b->in[1] = take_floats(b, 64, -1, 1);
	results(b, 'u', n);
	results(b, 'f', 64);
	results(b, 'u', 16);
	share(b, n, b->cores);
	b->w.out[1] = take(b, (size_t)b->cores * 256);
	b->w.out[2] = take(b, (size_t)b->cores * 64);
}
GPU(kmeans)
{
	memset(b->r[1].gpu, 0, 256);
	memset(b->r[2].gpu, 0, 64);
	go(b, "kmeans", DIM(64), DIM(256), ARGS(I(N), IN(0), IN(1), OUT(0), OUT(1), OUT(2)));
}
C(kmeans)
{
	memset(b->r[1].c, 0, 256);
	memset(b->r[2].c, 0, 64);
	par(b, "kmeans", M);
	for (long i = 0; i < M; i++) {
		for (int k = 0; k < 64; k++)
			((float *)b->r[1].c)[k] += ((float *)b->w.out[1])[i * 64 + k];
		for (int k = 0; k < 16; k++)
			((uint32_t *)b->r[2].c)[k] += ((uint32_t *)b->w.out[2])[i * 16 + k];
	}
}

SETUP(rows)
{
	long rows = SIZE(1024, 16), columns = 1024;

	b->in[0] = take_floats(b, rows * columns, -4, 4);
	b->in[1] = take_floats(b, columns, -1, 1);
	b->in[2] = take_floats(b, columns, -1, 1);
	results(b, 'f', rows * columns);
	share(b, columns, rows);
}
GPU(softmax) { go(b, "softmax", DIM(M), DIM(256), ARGS(I(N), IN(0), OUT(0))); }
C(softmax) { par(b, "softmax", M); }
GPU(layer_norm) { go(b, "layer_norm", DIM(M), DIM(256), ARGS(I(N), IN(0), IN(1), IN(2), OUT(0))); }
C(layer_norm) { par(b, "layer_norm", M); }

SETUP(rope)
{
	long n = SIZE(256, 8), heads = 32;
	uint32_t *position = take_words(b, n, 63);      /* sin.approx is exact enough for small angles only */

	b->in[0] = take_floats(b, n * heads * 128, -1, 1);
	b->in[1] = position;
	results(b, 'f', n * heads * 128);
	share(b, heads, n);
}
GPU(rope) { go(b, "rope", DIM(M, N / 4), DIM(64, 4), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(rope) { par(b, "rope", M); }

SETUP(flash_attn)
{
	long n = SIZE(512, 128), heads = SIZE(4, 2);

	for (int k = 0; k < 3; k++) {
		uint16_t *h = take(b, n * heads * 128);

		for (long i = 0; i < n * heads * 64; i++)
			h[i] = c_half(any_float(-1, 1));
		b->in[k] = h;
	}
	results(b, 'f', n * heads * 64);
	share(b, n, heads);
}
GPU(flash_attn) { go(b, "flash_attn", DIM(N / 128, M), DIM(128), ARGS(I(N), IN(0), IN(1), IN(2), OUT(0))); }
C(flash_attn) { par(b, "flash_attn", N * M / 8); }

/* by four rows in C; b has its columns for rows */
SETUP(hgemm_mma)
{
	long n = SIZE(512, 64);

	for (int k = 0; k < 2; k++) {
		uint16_t *h = take(b, n * n * 2);

		for (long i = 0; i < n * n; i++)
			h[i] = c_half(any_float(-1, 1));
		b->in[k] = h;
	}
	results(b, 'f', n * n);
	share(b, n, n);
}
GPU(hgemm_mma) { go(b, "hgemm_mma", DIM(N / 64, N / 64), DIM(128), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(hgemm_mma) { par(b, "hgemm", N / 4); }
SETUP(igemm_mma)
{
	long n = SIZE(512, 64);

	b->in[0] = take_words(b, n * n / 4, ~0u);
	b->in[1] = take_words(b, n * n / 4, ~0u);
	results(b, 'u', n * n);
	share(b, n, n);
}
GPU(igemm_mma) { go(b, "igemm_mma", DIM(N / 64, N / 64), DIM(128), ARGS(I(N), IN(0), IN(1), OUT(0))); }
C(igemm_mma) { par(b, "igemm", N); }

SETUP(ssm_scan)
{
	long steps = SIZE(64, 16), channels = SIZE(2048, 256);

	b->in[0] = take_floats(b, steps * channels, -1, 1);
	b->in[1] = take_floats(b, steps * channels, -2, 2);
	b->in[2] = take_floats(b, 16 * channels, -2, -0.1f);
	b->in[3] = take_floats(b, steps * 16, -1, 1);
	b->in[4] = take_floats(b, steps * 16, -1, 1);
	results(b, 'f', steps * channels);
	share(b, steps, channels);
}
GPU(ssm_scan)
{
	go(b, "ssm_scan", DIM(M / 128), DIM(128), ARGS(I(N), I(M), IN(0), IN(1), IN(2), IN(3), IN(4), OUT(0)));
}
C(ssm_scan) { par(b, "ssm_scan", M / 16); }

#define CASE(key, module, setup, by_c, tolerance, in_place) { #key, module, set_##setup, gpu_##key, by_c_##by_c, tolerance, in_place }
const struct kcase everyday_cases[] = {
	CASE(saxpy, "linear", saxpy, saxpy, 1e-6, 1),
	CASE(sgemm_tiled, "linear", sgemm, sgemm_tiled, 1e-5, 0),
	CASE(sgemm_reg, "linear", sgemm, sgemm_reg, 1e-5, 0),
	CASE(dgemm, "linear", dgemm, dgemm, 1e-12, 0),
	CASE(transpose, "linear", transpose, transpose, 0, 0),
	CASE(lu_tile, "linear", lu_tile, lu_tile, 1e-5, 0),
	CASE(reduce_tree, "reduce", reduce, reduce, 1e-5, 0),
	CASE(reduce_shfl, "reduce", reduce, reduce, 1e-5, 0),
	CASE(scan, "reduce", scan, scan, 0, 0),
	CASE(histogram_shared, "reduce", histogram_shared, histogram, 0, 0),
	CASE(histogram_global, "reduce", histogram_global, histogram, 0, 0),
	CASE(radix_sort, "reduce", radix_sort, radix_sort, 0, 0),
	CASE(bitonic, "reduce", bitonic, bitonic, 0, 0),
	CASE(spmv_csr, "grid", spmv, spmv_csr, 1e-5, 0),
	CASE(spmv_csr_warp, "grid", spmv, spmv_csr, 1e-5, 0),
	CASE(spmv_ell, "grid", spmv_ell, spmv_ell, 1e-5, 0),
	CASE(stencil2d, "grid", stencil2d, stencil2d, 1e-6, 0),
	CASE(align, "grid", align, align, 0, 0),
	CASE(tree_walk, "grid", tree_walk, tree_walk, 1e-5, 0),
	CASE(stencil3d, "grid", stencil3d, stencil3d, 1e-6, 0),
	CASE(conv2d, "grid", conv2d, conv2d, 1e-5, 0),
	CASE(fft1024, "grid", fft1024, fft1024, 1e-5, 0),
	CASE(bfs, "grid", bfs, bfs, 0, 0),
	CASE(kmeans, "grid", kmeans, kmeans, 1e-3, 0),
	CASE(nbody, "numeric", nbody, nbody, 1e-4, 0),
	CASE(black_scholes, "numeric", black_scholes, black_scholes, 1e-4, 0),
	CASE(monte_carlo, "numeric", monte_carlo, monte_carlo, 1e-3, 0),
	CASE(mandelbrot, "numeric", mandelbrot, mandelbrot, 0, 0),
	CASE(sha256, "numeric", sha256, sha256, 0, 0),
	CASE(softmax, "model", rows, softmax, 1e-5, 0),
	CASE(layer_norm, "model", rows, layer_norm, 1e-5, 0),
	CASE(rope, "model", rope, rope, 1e-4, 0),
	CASE(flash_attn, "model", flash_attn, flash_attn, 1e-4, 0),
	CASE(hgemm_mma, "tensor", hgemm_mma, hgemm_mma, 1e-4, 0),
	CASE(igemm_mma, "tensor", igemm_mma, igemm_mma, 0, 0),
	CASE(ssm_scan, "model", ssm_scan, ssm_scan, 1e-4, 0),
	{ 0 },
};
