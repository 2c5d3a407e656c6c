/* SPDX-License-Identifier: MIT */
/* The array operations of vgpu bench kernels, 4 M values each: as bench_kernels_list.c, C on one core. */
#include "bench_kernels.h"

#define MANY (b->quick ? 1L << 14 : 1L << 22)
#define IN(k) P(b->in[k])
#define OUT(k) P(b->r[k].gpu)
#define N b->n[0]
#define M b->n[1]
#define BLOCKS(n) DIM((uint32_t)(((n) + 255) / 256))

static void share(struct kb *b, long n0, long n1)
{
	memcpy(b->w.in, b->in, sizeof(b->w.in));
	for (unsigned i = 0; i < b->nr; i++)
		b->w.out[i] = b->r[i].c;
	b->w.n[0] = b->n[0] = n0;
	b->w.n[1] = b->n[1] = n1;
}

static void set_affine(struct kb *b)
{
	b->in[0] = take_floats(b, MANY * 2, -1, 1);
	results(b, 'f', MANY);
	share(b, MANY, 2);
	b->w.out[1] = take(b, MANY * 4);
}
static void gpu_affine(struct kb *b) { go(b, "a_affine", BLOCKS(N), DIM(256), ARGS(I(N), IN(0), I(2), OUT(0))); }
static void c_affine(struct kb *b) { par(b, "affine", N); }

static void set_sum(struct kb *b)
{
	b->in[0] = take_floats(b, MANY, 0, 1);
	results(b, 'f', 1024);
	share(b, MANY / 1024, 1024);
}
static void gpu_sum0(struct kb *b) { go(b, "a_sum0", DIM((uint32_t)(M / 128)), DIM(128), ARGS(I(N), I(M), IN(0), OUT(0))); }
static void c_sum0(struct kb *b) { par(b, "sum0", M); }

static void set_astype(struct kb *b)
{
	b->in[0] = take_floats(b, MANY, -1, 1);
	results(b, 'd', MANY);
	share(b, MANY, 0);
}
static void gpu_astype(struct kb *b) { go(b, "a_astype", BLOCKS(N), DIM(256), ARGS(I(N), IN(0), OUT(0))); }
static void c_astype(struct kb *b) { par(b, "astype", N); }

static void set_tcopy(struct kb *b)
{
	b->in[0] = take_floats(b, MANY, -1, 1);
	results(b, 'u', MANY);
	share(b, MANY / 1024, 1024);
}
static void gpu_tcopy(struct kb *b) { go(b, "a_tcopy", BLOCKS(N * M), DIM(256), ARGS(I(N), I(M), IN(0), OUT(0))); }
static void c_tcopy(struct kb *b) { par(b, "tcopy", M); }

/* 64 blocks' largest come together here, as in a second launch of one block */
static void set_argmax(struct kb *b)
{
	b->in[0] = take_floats(b, MANY, -1, 1);
	results(b, 'f', 1);
	results(b, 'u', 1);
	b->scratch[0] = take(b, 64 * 4);
	b->scratch[1] = take(b, 64 * 8);
	share(b, MANY, 0);
}
static void gpu_argmax(struct kb *b)
{
	const float *v = b->scratch[0];
	const long long *p = b->scratch[1];
	int best = 0;

	go(b, "a_argmax", DIM(64), DIM(512), ARGS(I(N), IN(0), P(v), P(p)));
	for (int i = 1; i < 64; i++)
		if (v[i] > v[best] || (v[i] == v[best] && p[i] < p[best]))
			best = i;
	*(float *)b->r[0].gpu = v[best];
	*(uint32_t *)b->r[1].gpu = (uint32_t)p[best];
}
static void c_argmax(struct kb *b) { par(b, "argmax", N); }

static void set_bincount(struct kb *b)
{
	b->in[0] = take_words(b, MANY, 1023);
	results(b, 'u', 2048);          /* 64-bit counts */
	share(b, MANY, 0);
}
static void gpu_bincount(struct kb *b)
{
	memset(b->r[0].gpu, 0, 8192);
	go(b, "a_bincount", BLOCKS(N), DIM(256), ARGS(I(N), IN(0), OUT(0)));
}
static void c_bincount(struct kb *b)
{
	memset(b->r[0].c, 0, 8192);
	par(b, "bincount", N);
}

static void set_philox(struct kb *b)
{
	results(b, 'u', MANY);
	share(b, MANY / 4, 0);
}
static void gpu_philox(struct kb *b) { go(b, "a_philox", BLOCKS(N), DIM(256), ARGS(I(N), I(1234), I(5678), OUT(0))); }
static void c_philox(struct kb *b) { par(b, "philox", N); }

#define CASE(key, setup, tolerance) { #key, "array", set_##setup, gpu_##key, c_##key, tolerance, 0 }
const struct kcase array_cases[] = {
	CASE(affine, affine, 1e-6), CASE(sum0, sum, 1e-5), CASE(astype, astype, 0), CASE(tcopy, tcopy, 0),
	CASE(argmax, argmax, 0), CASE(bincount, bincount, 0), CASE(philox, philox, 0), { 0 },
};
