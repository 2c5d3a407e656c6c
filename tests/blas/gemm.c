/* SPDX-License-Identifier: MIT */
/*
 * Our cuBLAS, on the device, against OpenBLAS: the same matrices through both, every combination of types that ggml uses,
 * transpositions, odd sizes, gaps, batches; then the speed of both, device memory to device memory.
 *
 *   gemm            compare; exit 0, 1
 *   gemm -b [-t N]  speed; OpenBLAS with N threads (give the device as many cores)
 *
 * An element may be off by what rounding allows: (k + 2) ulp of the sum of absolute products, and the result type's own
 * half ulp.
 */
#include <cblas.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CK(call) \
	do { \
		int r_ = (int)(call); \
		if (r_) { \
			printf("FAIL %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, r_); \
			exit(1); \
		} \
	} while (0)

static cublasHandle_t handle;
static uint32_t seed = 7;
static unsigned products;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	return seed ^= seed << 5;
}

static size_t bytes_of(cudaDataType t) { return t == CUDA_R_32F ? 4 : 2; }

static float half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 0x3ff;
	double v = e == 31 ? INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return (float)(h & 0x8000 ? -v : v);
}

/* A random value of a type, in [-1, 1): its bits to p[i], itself as a float. */
static float put_random(void *p, size_t i, cudaDataType t)
{
	float f = (float)((int32_t)rnd() / 2147483648.0);
	uint32_t bits;
	uint16_t h;

	if (t == CUDA_R_32F) {
		((float *)p)[i] = f;
		return f;
	}
	if (t == CUDA_R_16F) {  /* any half below 1 */
		h = (uint16_t)(rnd() & 0x8000) | (uint16_t)(rnd() % 0x3c00);
		((uint16_t *)p)[i] = h;
		return half_value(h);
	}
	memcpy(&bits, &f, 4);
	bits &= 0xffff0000u;
	((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
	memcpy(&f, &bits, 4);
	return f;
}

static float value(const void *p, size_t i, cudaDataType t)
{
	uint32_t bits;
	float f;

	if (t == CUDA_R_32F)
		return ((const float *)p)[i];
	if (t == CUDA_R_16F)
		return half_value(((const uint16_t *)p)[i]);
	bits = (uint32_t)((const uint16_t *)p)[i] << 16;
	memcpy(&f, &bits, 4);
	return f;
}

struct matrix {
	int rows, cols, ld, count;
	cudaDataType type;
	size_t n;               /* elements of all, gaps too */
	char *host;
	float *f, *abs;         /* the same values */
	void *dev;
};

static void *must(void *p)
{
	if (!p) {
		puts("FAIL no memory");
		exit(1);
	}
	return p;
}

static struct matrix make(int rows, int cols, int gap, int count, cudaDataType t)
{
	struct matrix m = { rows, cols, rows + gap, count, t, 0, NULL, NULL, NULL, NULL };

	m.n = (size_t)m.ld * (size_t)cols * (size_t)count;
	m.host = must(malloc(m.n * bytes_of(t)));
	m.f = must(malloc(m.n * sizeof(float)));
	m.abs = must(malloc(m.n * sizeof(float)));
	for (size_t i = 0; i < m.n; i++) {
		m.f[i] = put_random(m.host, i, t);
		m.abs[i] = fabsf(m.f[i]);
	}
	CK(cudaMalloc(&m.dev, m.n * bytes_of(t)));
	CK(cudaMemcpy(m.dev, m.host, m.n * bytes_of(t), cudaMemcpyHostToDevice));
	return m;
}

static void drop(struct matrix *m)
{
	free(m->host);
	free(m->f);
	free(m->abs);
	CK(cudaFree(m->dev));
}

enum form { SGEMM, EX, STRIDED, BATCHED, FORMS };
static const char *const form_name[] = { "cublasSgemm", "cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx" };

/* The addresses of the batch's matrices, on the device. */
static void **pointers(const struct matrix *m)
{
	void *host[16], **dev;

	for (int i = 0; i < m->count; i++)
		host[i] = (char *)m->dev + (size_t)i * (size_t)m->ld * (size_t)m->cols * bytes_of(m->type);
	CK(cudaMalloc((void **)&dev, sizeof(void *) * (size_t)m->count));
	CK(cudaMemcpy(dev, host, sizeof(void *) * (size_t)m->count, cudaMemcpyHostToDevice));
	return dev;
}

static void ours(enum form form, int ta, int tb, int m, int n, int k, float alpha, float beta, const struct matrix *a,
		 const struct matrix *b, struct matrix *c)
{
	cublasOperation_t oa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, ob = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
	long long sa = (long long)a->ld * a->cols, sb = (long long)b->ld * b->cols, sc = (long long)c->ld * c->cols;
	void **pa, **pb, **pc;

	switch (form) {
	case SGEMM:
		CK(cublasSgemm(handle, oa, ob, m, n, k, &alpha, a->dev, a->ld, b->dev, b->ld, &beta, c->dev, c->ld));
		break;
	case EX:
		CK(cublasGemmEx(handle, oa, ob, m, n, k, &alpha, a->dev, a->type, a->ld, b->dev, b->type, b->ld, &beta, c->dev, c->type,
				c->ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
		break;
	case STRIDED:
		CK(cublasGemmStridedBatchedEx(handle, oa, ob, m, n, k, &alpha, a->dev, a->type, a->ld, sa, b->dev, b->type, b->ld, sb, &beta,
					      c->dev, c->type, c->ld, sc, c->count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
		break;
	default:
		pa = pointers(a), pb = pointers(b), pc = pointers(c);
		CK(cublasGemmBatchedEx(handle, oa, ob, m, n, k, &alpha, (const void *const *)pa, a->type, a->ld, (const void *const *)pb,
				       b->type, b->ld, &beta, (void *const *)pc, c->type, c->ld, c->count, CUBLAS_COMPUTE_32F,
				       CUBLAS_GEMM_DEFAULT));
		CK(cudaDeviceSynchronize());
		CK(cudaFree(pa));
		CK(cudaFree(pb));
		CK(cudaFree(pc));
	}
}

static void compare(enum form form, int ta, int tb, int m, int n, int k, float alpha, float beta, cudaDataType tab, cudaDataType tc)
{
	int count = form >= STRIDED ? 1 + (int)(rnd() % 5) : 1, gap = (int)(rnd() % 3) * 3;
	struct matrix a = make(ta ? k : m, ta ? m : k, gap, count, tab), b = make(tb ? n : k, tb ? k : n, gap, count, tab);
	struct matrix c = make(m, n, gap, count, tc);
	char *got = must(malloc(c.n * bytes_of(tc)));
	float *want = must(malloc(c.n * sizeof(float))), *bound = must(malloc(c.n * sizeof(float)));
	double ulp = tc == CUDA_R_32F ? 0 : tc == CUDA_R_16F ? 0x1p-11 : 0x1p-8;

	ours(form, ta, tb, m, n, k, alpha, beta, &a, &b, &c);
	CK(cudaMemcpy(got, c.dev, c.n * bytes_of(tc), cudaMemcpyDeviceToHost));
	memcpy(want, c.f, c.n * sizeof(float));
	memcpy(bound, c.abs, c.n * sizeof(float));
	for (int i = 0; i < count; i++) {
		size_t oa = (size_t)i * (size_t)a.ld * (size_t)a.cols, ob = (size_t)i * (size_t)b.ld * (size_t)b.cols;
		size_t oc = (size_t)i * (size_t)c.ld * (size_t)c.cols;

		cblas_sgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a.f + oa, a.ld,
			    b.f + ob, b.ld, beta, want + oc, c.ld);
		cblas_sgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, fabsf(alpha),
			    a.abs + oa, a.ld, b.abs + ob, b.ld, fabsf(beta), bound + oc, c.ld);
	}
	for (size_t i = 0; i < c.n; i++) {
		double g = (double)value(got, i, tc), w = (double)want[i], off = (k + 2) * (double)FLT_EPSILON * (double)bound[i];
		int in_gap = (int)(i % (size_t)c.ld) >= m;

		if (in_gap ? g != (double)c.f[i] : !(fabs(g - w) <= off + ulp * (fabs(w) + off) + (tc == CUDA_R_16F ? 0x1p-25 : 0))) {
			printf("FAIL %s %dx%dx%d %c%c alpha %g beta %g types %d %d: element %zu is %.9g, OpenBLAS has %.9g\n", form_name[form], m, n, k,
			       ta ? 'T' : 'N', tb ? 'T' : 'N', (double)alpha, (double)beta, (int)tab, (int)tc, i, g, w);
			exit(1);
		}
	}
	products += (unsigned)count;
	free(got);
	free(want);
	free(bound);
	drop(&a);
	drop(&b);
	drop(&c);
}

static void solves(void)
{
	for (int round = 0; round < 12; round++) {
		int m = 1 + (int)(rnd() % 60), n = 1 + (int)(rnd() % 40), lower = round & 1, trans = round >> 1 & 1;
		struct matrix a = make(m, m, 0, 1, CUDA_R_32F), b = make(m, n, 0, 1, CUDA_R_32F);
		float one = 1, *got = must(malloc(b.n * sizeof(float)));
		float **pa, **pb;

		for (int i = 0; i < m; i++)
			a.f[i + i * m] = (float)m + 1;  /* well conditioned */
		CK(cudaMemcpy(a.dev, a.f, a.n * 4, cudaMemcpyHostToDevice));
		pa = (float **)pointers(&a);
		pb = (float **)pointers(&b);
		CK(cublasStrsmBatched(handle, CUBLAS_SIDE_LEFT, lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
				      trans ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, &one, (const float *const *)pa, m, pb, m, 1));
		CK(cudaMemcpy(got, b.dev, b.n * 4, cudaMemcpyDeviceToHost));
		cblas_strsm(CblasColMajor, CblasLeft, lower ? CblasLower : CblasUpper, trans ? CblasTrans : CblasNoTrans, CblasNonUnit, m, n, 1,
			    a.f, m, b.f, m);
		for (size_t i = 0; i < b.n; i++)
			if (!(fabsf(got[i] - b.f[i]) <= 4 * (float)m * FLT_EPSILON)) {
				printf("FAIL cublasStrsmBatched %dx%d: element %zu is %.9g, OpenBLAS has %.9g\n", m, n, i, (double)got[i], (double)b.f[i]);
				exit(1);
			}
		products++;
		free(got);
		CK(cudaFree(pa));
		CK(cudaFree(pb));
		drop(&a);
		drop(&b);
	}
}

static void check(void)
{
	static const struct { cudaDataType ab, c; } types[] = {
		{ CUDA_R_32F, CUDA_R_32F }, { CUDA_R_16F, CUDA_R_16F }, { CUDA_R_16F, CUDA_R_32F }, { CUDA_R_16BF, CUDA_R_16BF },
		{ CUDA_R_16BF, CUDA_R_32F },
	};
	static const float factors[][2] = { { 1, 0 }, { 1, 1 }, { 0.5f, 0 }, { -1.25f, 0.75f } };

	for (int round = 0; round < 240; round++) {
		enum form form = (enum form)(round % FORMS);
		unsigned t = form == SGEMM ? 0 : (unsigned)round / FORMS % 5;
		const float *f = factors[rnd() % 4];
		/* many small ones, all the counts of a token's columns, some beyond a tile */
		int m = 1 + (int)(rnd() % (round % 6 ? 150 : 1100)), n = 1 + (int)(rnd() % (round % 3 ? 20 : round % 9 ? 90 : 450));
		int k = 1 + (int)(rnd() % (round % 5 ? 200 : 2300));

		compare(form, rnd() & 1, rnd() & 1, m, n, k, f[0], f[1], types[t].ab, types[t].c);
	}
	solves();
	printf("ok gemm: %u products and solves as OpenBLAS\n", products);
}

/* ---- speed ------------------------------------------------------------------------------------------ */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void speed(int m, int n, int k, int ta, cudaDataType type)
{
	enum { ROUNDS = 9 };
	struct matrix a = make(ta ? k : m, ta ? m : k, 0, 1, type), b = make(k, n, 0, 1, type), c = make(m, n, 0, 1, CUDA_R_32F);
	double flop = 2.0 * m * n * k, o[ROUNDS], t[ROUNDS], r[ROUNDS];
	int repeat = (int)(3e8 / flop) + 1;

	for (int i = -1; i < ROUNDS; i++) {
		double at = now(), mid;

		for (int q = 0; q < repeat; q++)
			ours(EX, ta, 0, m, n, k, 1, 0, &a, &b, &c);
		CK(cudaDeviceSynchronize());
		mid = now();
		for (int q = 0; q < repeat; q++)
			cblas_sgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k, 1, a.f, a.ld, b.f, b.ld, 0, c.f, c.ld);
		if (i < 0)
			continue;
		t[i] = now() - mid;
		o[i] = mid - at;
		r[i] = t[i] / o[i];
	}
	qsort(o, ROUNDS, sizeof(double), by_value);
	qsort(t, ROUNDS, sizeof(double), by_value);
	qsort(r, ROUNDS, sizeof(double), by_value);
	printf("%5d x %4d x %4d %cN %-4s  device %7.1f GFLOP/s, OpenBLAS f32 %7.1f, ratio %.2f\n", m, n, k, ta ? 'T' : 'N',
	       type == CUDA_R_32F ? "f32" : type == CUDA_R_16F ? "f16" : "bf16", flop * repeat / o[ROUNDS / 2] / 1e9,
	       flop * repeat / t[ROUNDS / 2] / 1e9, r[ROUNDS / 2]);
	fflush(stdout);
	drop(&a);
	drop(&b);
	drop(&c);
}

int main(int argc, char **argv)
{
	int opt, bench = 0, threads = 1;

	while ((opt = getopt(argc, argv, "bt:")) != -1) {
		if (opt == 'b')
			bench = 1;
		else if (opt == 't')
			threads = atoi(optarg);
		else
			return 2;
	}
	openblas_set_num_threads(threads);
	CK(cublasCreate(&handle));
	if (bench) {
		static const int n[] = { 1024, 512, 128, 32, 16, 8, 4, 2, 1 };

		speed(1024, 1024, 1024, 0, CUDA_R_32F);
		for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
			speed(2048, n[i], 2048, 1, CUDA_R_32F);
		speed(1024, 512, 1024, 1, CUDA_R_16F);
		speed(2048, 1, 2048, 1, CUDA_R_16F);
		speed(1024, 512, 1024, 1, CUDA_R_16BF);
		speed(2048, 1, 2048, 1, CUDA_R_16BF);
	} else {
		check();
	}
	CK(cublasDestroy(handle));
	return 0;
}
