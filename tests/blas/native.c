/* SPDX-License-Identifier: MIT */
/*
 * The device's matrix product and OpenBLAS on one core, side by side in one process: the same tiles in the same
 * order as a worker of the device runs them, without the device around. Prints both speeds and their ratio, the
 * median of alternating rounds; the results are compared too.
 *
 *   native [-r ROUNDS] [M N K transA transB type]...
 *
 * Sources: tests/blas/native.c tools/vgpu-stub/cpu/gemm.c tools/vgpu-stub/cpu/gemm_isa.c
 */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/vgpu-stub/cpu/cpu.h"
#include "../../tools/vgpu-stub/cpu/gemm.h"

/* what gemm.c takes from the engine */
_Noreturn void fault_raise(u32 status, int lane, u64 addr, const char *what)
{
	(void)lane;
	printf("FAIL fault %u at %#llx: %s\n", status, (unsigned long long)addr, what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct shape {
	u32 m, n, k;
	int ta, tb;
	const char *type;
};

/* prompts and tokens of llama models, squares, and what ggml does not do */
static const struct shape standard[] = {
	{ 256, 256, 256, 0, 0, "f32" }, { 512, 512, 512, 0, 0, "f32" }, { 1024, 1024, 1024, 0, 0, "f32" },
	{ 1024, 1024, 1024, 1, 0, "f32" }, { 1024, 1024, 1024, 0, 1, "f32" }, { 1023, 517, 771, 1, 1, "f32" },
	{ 2048, 512, 2048, 1, 0, "f32" }, { 2048, 32, 2048, 1, 0, "f32" },
	{ 2048, 16, 2048, 1, 0, "f32" }, { 2048, 8, 2048, 1, 0, "f32" }, { 2048, 4, 2048, 1, 0, "f32" },
	{ 2048, 2, 2048, 1, 0, "f32" }, { 2048, 1, 2048, 1, 0, "f32" }, { 2048, 1, 2048, 0, 0, "f32" },
	{ 64, 64, 64, 0, 0, "f32" }, { 64, 512, 64, 1, 0, "f32" },
	{ 1024, 512, 1024, 1, 0, "f16" }, { 2048, 16, 2048, 1, 0, "f16" }, { 2048, 1, 2048, 1, 0, "f16" },
	{ 1024, 512, 1024, 1, 0, "bf16" }, { 2048, 16, 2048, 1, 0, "bf16" }, { 2048, 1, 2048, 1, 0, "bf16" },
};

static u32 type_of(const char *s) { return !strcmp(s, "f16") ? VGPU_GEMM_F16 : !strcmp(s, "bf16") ? VGPU_GEMM_BF16 : VGPU_GEMM_F32; }

static int run(const struct shape *s, int rounds)
{
	static struct engine e;
	static struct tstate ts;
	const struct gemm_isa *g = gemm_isa_get();
	size_t na = (size_t)s->m * s->k, nb = (size_t)s->k * s->n, nc = (size_t)s->m * s->n;
	u32 type = type_of(s->type);
	u64 elem = vgpu_gemm_bytes(type);
	float *fa = aligned_alloc(64, na * 4 + 64), *fb = aligned_alloc(64, nb * 4 + 64), *fc = aligned_alloc(64, nc * 4 + 64);
	float *c = aligned_alloc(64, nc * 4 + 64);
	char *a = aligned_alloc(64, na * elem + 64), *b = aligned_alloc(64, nb * elem + 64);
	double *ours = calloc((size_t)rounds, sizeof(double)), *theirs = calloc((size_t)rounds, sizeof(double));
	double *ratio = calloc((size_t)rounds, sizeof(double));
	double flop = 2.0 * s->m * s->n * s->k, worst = 0, t;
	struct gemm_job j = { .op = VGPU_OP_GEMM };
	u64 tiles;
	int repeat = (int)(2e7 / flop) + 1;

	if (!fa || !fb || !fc || !c || !a || !b || !ours || !theirs || !ratio)
		return 1;
	for (size_t i = 0; i < na; i++)
		fa[i] = (float)(rand() % 65 - 32) / 64;
	for (size_t i = 0; i < nb; i++)
		fb[i] = (float)(rand() % 65 - 32) / 64;
	g->store(a, fa, (u32)na, type);
	g->store(b, fb, (u32)nb, type);
	e.env.span_base = 0;
	e.env.span_bytes = ~0ull;
	ts.e = &e;
	j.b = (struct vgpu_body_gemm){ .a = (u64)a, .b = (u64)b, .c = (u64)c, .batch = 1 };
	j.p = (struct vgpu_gemm){ .m = s->m, .n = s->n, .k = s->k, .lda = s->ta ? s->k : s->m, .ldb = s->tb ? s->n : s->k, .ldc = s->m,
				  .trans_a = (u8)s->ta, .trans_b = (u8)s->tb, .type_a = (u8)type, .type_b = (u8)type,
				  .type_c = VGPU_GEMM_F32, .type_scalar = VGPU_GEMM_F32, .alpha = 1 };
	tiles = gemm_plan(&j, 1);
	for (int r = -1; r < rounds; r++) {
		t = now();
		for (int q = 0; q < repeat; q++)
			for (u64 i = 0; i < tiles; i++)
				gemm_tile(&ts, &j, i);
		if (r >= 0)
			ours[r] = now() - t;
		t = now();
		for (int q = 0; q < repeat; q++)
			cblas_sgemm(CblasColMajor, s->ta ? CblasTrans : CblasNoTrans, s->tb ? CblasTrans : CblasNoTrans, (int)s->m, (int)s->n,
				    (int)s->k, 1, fa, (int)j.p.lda, fb, (int)j.p.ldb, 0, fc, (int)s->m);
		if (r >= 0)
			theirs[r] = now() - t;
	}
	for (size_t i = 0; i < nc; i++)
		worst = fmax(worst, fabs((double)c[i] - (double)fc[i]));
	/* multiples of 1/64 below 1/2: every type holds them, and sums of products stay exact up to here */
	if (worst != 0 && s->k <= 2048) {
		printf("FAIL %ux%ux%u: differs by %g\n", s->m, s->n, s->k, worst);
		return 1;
	}
	for (int r = 0; r < rounds; r++)
		ratio[r] = theirs[r] / ours[r];
	qsort(ours, (size_t)rounds, sizeof(double), by_value);
	qsort(theirs, (size_t)rounds, sizeof(double), by_value);
	qsort(ratio, (size_t)rounds, sizeof(double), by_value);
	/* speeds of the quiet quarter: other load only ever slows down; the ratio is that of neighbours in time */
	printf("%5u x %4u x %4u %c%c %-4s  ours %7.1f GFLOP/s, OpenBLAS f32 %7.1f, ratio %.2f\n", s->m, s->n, s->k, s->ta ? 'T' : 'N',
	       s->tb ? 'T' : 'N', s->type, flop * repeat / ours[rounds / 4] / 1e9, flop * repeat / theirs[rounds / 4] / 1e9,
	       ratio[rounds / 2]);
	fflush(stdout);
	free(fa); free(fb); free(fc); free(c); free(a); free(b); free(ours); free(theirs); free(ratio);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = 9, opt, bad = 0;

	while ((opt = getopt(argc, argv, "r:")) != -1) {
		if (opt != 'r')
			return 2;
		rounds = atoi(optarg);
	}
	if (rounds < 1 || (argc - optind) % 6) {
		fputs("usage: native [-r ROUNDS] [M N K transA transB type]...\n", stderr);
		return 2;
	}
	openblas_set_num_threads(1);
	if (optind == argc)
		for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
			bad |= run(&standard[i], rounds);
	for (char **v = argv + optind; v < argv + argc; v += 6) {
		struct shape s = { (u32)atoi(v[0]), (u32)atoi(v[1]), (u32)atoi(v[2]), atoi(v[3]), atoi(v[4]), v[5] };

		bad |= run(&s, rounds);
	}
	return bad;
}
