/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench kernels: how a case is put together (bench_kernels_list.c, bench_kernels_array.c), the harness that runs and
 * compares cases (bench_kernels.c) and the same algorithms in C (kernels/everyday/everyday.c, array.c), which build.mk
 * compiles for this machine and for AVX2.
 */
#ifndef VGPU_BENCH_KERNELS_H
#define VGPU_BENCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a C function works on; its range is what threads divide. */
struct work {
	const void *in[8];
	void *out[4];
	long n[4];
	float f[4];
};
typedef void (*c_part)(const struct work *w, long from, long to);
struct c_function { const char *name; c_part run; };
/* ends with a NULL name */
/* 0, which has been said: this processor is not one that the C was compiled for */
int c_runs_here(void);
/* "c_everyday_native", c_array_, _haswell; NULL: they cannot be loaded, which has been said */
const struct c_function *c_functions(const char *table);

/* Two results of as many values, the engine's and C's. */
struct result_pair {
	void *gpu, *c;
	size_t n;
	char kind;              /* f float, d double: by norms; u 32-bit words, all equal; i int, all but one in 100 */
};

struct kb {                     /* a case that is being run */
	int quick;              /* sizes for a check only */
	int cores;
	struct work w;
	const void *in[8];
	struct result_pair r[4];
	unsigned nr;
	void *scratch[4];       /* the engine's own */
	long n[4];
	int failed;             /* said */
};

struct kcase {
	const char *key, *module;
	void (*setup)(struct kb *b);
	void (*gpu)(struct kb *b);
	void (*c)(struct kb *b);
	double tolerance;       /* of floats: the norm of the difference over the norm */
	int in_place;           /* results are inputs as well: rounds are counted alike on both sides */
};
extern const struct kcase everyday_cases[], array_cases[];      /* end with a NULL key */

struct ptx_module { const char *name, *text; };
extern const struct ptx_module everyday_modules[];              /* bench_kernels_ptx.c */

/* ---- for cases ---- */

void *take(struct kb *b, size_t bytes);                         /* zeroed memory that kernels may touch, until the case ends */
float *take_floats(struct kb *b, size_t n, float low, float high);
uint32_t *take_words(struct kb *b, size_t n, uint32_t mask);
uint32_t any_word(void);
float any_float(float low, float high);
unsigned results(struct kb *b, char kind, size_t n);            /* a new pair: its number */

/* A launch, done when it returns. Arguments are 8 bytes each, of which the kernel's parameter takes the low ones. */
void go(struct kb *b, const char *kernel, const uint32_t grid[3], const uint32_t block[3], unsigned n, const uint64_t *args);
#define DIM(...) ((const uint32_t[3]){ __VA_ARGS__ })           /* 0: 1 */
#define ARGS(...) sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ }
static inline uint64_t P(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline uint64_t I(long v) { return (uint64_t)v; }
static inline uint64_t F(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

void par(struct kb *b, const char *function, long n);           /* the C function, n divided over the cores */

#endif
