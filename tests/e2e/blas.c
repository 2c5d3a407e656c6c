/* SPDX-License-Identifier: MIT */
/*
 * cuBLAS against a reference in double precision: every transposition, odd sizes, leading dimensions with a gap,
 * strided and pointer batches, F32/F16/BF16/F64, alpha and beta with their special zeroes, factors in device
 * memory, streams, triangular solves, and what must be refused.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include "common.h"

#define CK(call) \
	do { \
		int r_ = (int)(call); \
		if (r_) { \
			printf("blas: FAIL %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, r_); \
			exit(1); \
		} \
	} while (0)

static cublasHandle_t handle;
static uint32_t seed = 12345;
static unsigned products;

/* ---- elements of each type, on the host ------------------------------------------------------- */

static size_t bytes_of(cudaDataType t)
{
	return t == CUDA_R_64F ? 8 : t == CUDA_R_32F || t == CUDA_R_32I ? 4 : t == CUDA_R_8I ? 1 : 2;
}

static double half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 0x3ff;
	double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return h & 0x8000 ? -v : v;
}

static double get(const void *p, size_t i, cudaDataType t)
{
	uint32_t bits;
	float f;

	switch ((int)t) {
	case CUDA_R_64F: return ((const double *)p)[i];
	case CUDA_R_32F: return (double)((const float *)p)[i];
	case CUDA_R_16F: return half_value(((const uint16_t *)p)[i]);
	case CUDA_R_8I: return ((const int8_t *)p)[i];
	case CUDA_R_32I: return ((const int32_t *)p)[i];
	}
	bits = (uint32_t)((const uint16_t *)p)[i] << 16;
	memcpy(&f, &bits, 4);
	return (double)f;
}

/* Multiples of 1/64 below 2 in size: every type but BF16 holds them exactly, BF16 those with few bits. */
static void put_random(void *p, size_t i, cudaDataType t)
{
	int v = (int)(e2e_rand(&seed) % 255) - 127, e = 0, m = abs(v);
	float f = (float)v / 64;
	uint32_t bits;

	switch ((int)t) {
	case CUDA_R_64F: ((double *)p)[i] = (double)f; return;
	case CUDA_R_32F: ((float *)p)[i] = f; return;
	case CUDA_R_8I: ((int8_t *)p)[i] = (int8_t)(v == 127 ? -128 : v); return;
	case CUDA_R_32I: ((int32_t *)p)[i] = v * 1000; return;
	case CUDA_R_16F:
		for (; m && m < 1024; e++)
			m *= 2;         /* m * 2^-e / 64 = 1.x * 2^(10 - e - 6) */
		((uint16_t *)p)[i] = (uint16_t)((v < 0 ? 0x8000 : 0) | (m ? (19 - e) << 10 | (m & 0x3ff) : 0));
		return;
	}
	memcpy(&bits, &f, 4);
	((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
}

/* ---- one product ------------------------------------------------------------------------------- */

struct shape {
	int ta, tb, m, n, k, gap, count;
	cudaDataType in, out;
	cublasComputeType_t compute;
	double alpha, beta;
	enum { PLAIN, STRIDED, POINTERS } form;
	int device_scalars;
};

struct operand {
	int rows, cols, ld;
	long long stride;       /* elements */
	size_t bytes;
	void *host, *dev;
	void **pointers;        /* device memory */
};

static struct operand operand(int rows, int cols, const struct shape *s, cudaDataType t)
{
	struct operand o = { .rows = rows, .cols = cols, .ld = (rows ? rows : 1) + s->gap };
	void *list[64];
	size_t n;

	o.stride = (long long)o.ld * cols + 5 * s->gap;
	n = (size_t)o.stride * (size_t)s->count;
	o.bytes = (n ? n : 1) * bytes_of(t);
	o.host = e2e_malloc(o.bytes);
	for (size_t i = 0; i < n; i++)
		put_random(o.host, i, t);
	CK(cudaMalloc(&o.dev, o.bytes));
	CK(cudaMalloc((void **)&o.pointers, sizeof list));
	/* backwards, so that an array taken for a strided batch is noticed */
	for (int i = 0; i < s->count; i++)
		list[i] = (char *)o.dev + (size_t)(s->count - 1 - i) * (size_t)o.stride * bytes_of(t);
	CK(cudaMemcpy(o.pointers, list, (size_t)s->count * sizeof list[0], cudaMemcpyHostToDevice));
	return o;
}

static void put_scalar(void *p, double v, cublasComputeType_t c)
{
	if (c == CUBLAS_COMPUTE_64F)
		*(double *)p = v;
	else if (c == CUBLAS_COMPUTE_32F)
		*(float *)p = (float)v;
	else if (c == CUBLAS_COMPUTE_32I)
		*(int32_t *)p = (int32_t)v;
	else            /* the few that the table uses */
		*(uint16_t *)p = v == 0 ? 0 : v == 1 ? 0x3c00 : v == -0.5 ? 0xb800 : 0x4000;
}

static double *values(const struct operand *o, cudaDataType t)
{
	size_t n = o->bytes / bytes_of(t);
	double *v = e2e_malloc(n * sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = get(o->host, i, t);
	return v;
}

static void compare(const struct shape *s, const struct operand *a, const struct operand *b, const struct operand *c,
		    const void *old)
{
	double eps = s->out == CUDA_R_32I ? 0 : s->out == CUDA_R_64F ? 1e-14 : s->out == CUDA_R_32F ? 1e-5 : s->out == CUDA_R_16F ? 1.0 / 1024 : 1.0 / 128;
	double *va = values(a, s->in), *vb = values(b, s->in);

	for (int q = 0; q < s->count; q++)
		for (int j = 0; j < c->cols; j++)
			for (int i = 0; i < c->ld; i++) {
				size_t at = (size_t)(q * c->stride + (long long)j * c->ld + i);
				double got = get(c->host, at, s->out), want = 0, size = 0, was = get(old, at, s->out);

				if (i >= c->rows) {     /* the gap stays as it was */
					if (memcmp((char *)c->host + at * bytes_of(s->out), (const char *)old + at * bytes_of(s->out),
						   bytes_of(s->out)))
						e2e_fail("gap of column %d was written", j);
					continue;
				}
				for (int l = 0; s->alpha != 0 && l < s->k; l++) {
					size_t x = (size_t)(s->ta ? l + (long long)i * a->ld : i + (long long)l * a->ld);
					size_t y = (size_t)(s->tb ? j + (long long)l * b->ld : l + (long long)j * b->ld);
					double v = va[x + (size_t)(q * a->stride)] * vb[y + (size_t)(q * b->stride)];

					want += v;
					size += fabs(v);
				}
				want = s->alpha * want + (s->beta != 0 ? s->beta * was : 0);
				size = fabs(s->alpha) * size + (s->beta != 0 ? fabs(s->beta * was) : 0);
				/* products and sums of these inputs round at the end only; longer sums in F32 may round within */
				if (!(fabs(got - want) <= eps * (size * 0.02 + fabs(want)) + 1e-12))
					e2e_fail("op %d%d %dx%dx%d gap %d form %d types %d>%d matrix %d (%d, %d): %.9g, want %.9g", s->ta, s->tb,
						 s->m, s->n, s->k, s->gap, s->form, s->in, s->out, q, i, j, got, want);
			}
	free(va);
	free(vb);
}

static void one(struct shape s)
{
	struct operand a, b, c;
	double scalars[2], *alpha = &scalars[0], *beta = &scalars[1];
	void *old, *dev_scalars = NULL;

	if (s.form == PLAIN)
		s.count = 1;
	a = operand(s.ta ? s.k : s.m, s.ta ? s.m : s.k, &s, s.in);
	b = operand(s.tb ? s.n : s.k, s.tb ? s.k : s.n, &s, s.in);
	c = operand(s.m, s.n, &s, s.out);
	if (s.beta == 0)        /* c must not be read: all bits set is NaN in every type */
		memset(c.host, 0xff, c.bytes);
	if (s.alpha == 0) {     /* nor a and b */
		memset(a.host, 0xff, a.bytes);
		memset(b.host, 0xff, b.bytes);
	}
	old = e2e_malloc(c.bytes);
	memcpy(old, c.host, c.bytes);
	put_scalar(alpha, s.alpha, s.compute);
	put_scalar(beta, s.beta, s.compute);
	if (s.device_scalars) {
		CK(cudaMalloc(&dev_scalars, sizeof scalars));
		CK(cudaMemcpy(dev_scalars, scalars, sizeof scalars, cudaMemcpyHostToDevice));
		alpha = dev_scalars;
		beta = alpha + 1;
	}
	CK(cudaMemcpy(a.dev, a.host, a.bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(b.dev, b.host, b.bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(c.dev, c.host, c.bytes, cudaMemcpyHostToDevice));
	CK(cublasSetPointerMode(handle, s.device_scalars ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
	if (s.form == POINTERS)
		CK(cublasGemmBatchedEx(handle, (cublasOperation_t)s.ta, (cublasOperation_t)s.tb, s.m, s.n, s.k, alpha,
				       (const void *const *)a.pointers, s.in, a.ld, (const void *const *)b.pointers, s.in, b.ld,
				       beta, c.pointers, s.out, c.ld, s.count, s.compute, CUBLAS_GEMM_DEFAULT));
	else if (s.form == STRIDED)
		CK(cublasGemmStridedBatchedEx(handle, (cublasOperation_t)s.ta, (cublasOperation_t)s.tb, s.m, s.n, s.k, alpha, a.dev,
					      s.in, a.ld, a.stride, b.dev, s.in, b.ld, b.stride, beta, c.dev, s.out, c.ld, c.stride,
					      s.count, s.compute, CUBLAS_GEMM_DEFAULT));
	else if (s.compute == CUBLAS_COMPUTE_32F && s.in == CUDA_R_32F)
		CK(cublasSgemm(handle, (cublasOperation_t)s.ta, (cublasOperation_t)s.tb, s.m, s.n, s.k, (float *)alpha, a.dev, a.ld,
			       b.dev, b.ld, (float *)beta, c.dev, c.ld));
	else
		CK(cublasGemmEx(handle, (cublasOperation_t)s.ta, (cublasOperation_t)s.tb, s.m, s.n, s.k, alpha, a.dev, s.in, a.ld,
				b.dev, s.in, b.ld, beta, c.dev, s.out, c.ld, s.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
	CK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
	CK(cudaMemcpy(c.host, c.dev, c.bytes, cudaMemcpyDeviceToHost));
	compare(&s, &a, &b, &c, old);
	CK(cudaFree(a.dev)); CK(cudaFree(b.dev)); CK(cudaFree(c.dev));
	CK(cudaFree(a.pointers)); CK(cudaFree(b.pointers)); CK(cudaFree(c.pointers));
	CK(cudaFree(dev_scalars));
	free(a.host); free(b.host); free(c.host); free(old);
	products++;
}

static void many(void)
{
	static const struct { cudaDataType in, out; cublasComputeType_t compute; } types[] = {
		{ CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F }, { CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F },
		{ CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F }, { CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F },
		{ CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F }, { CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F },
		{ CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F }, { CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I },
		{ CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	};
	static const int sizes[][3] = { { 1, 1, 1 }, { 3, 5, 7 }, { 16, 8, 16 }, { 33, 9, 17 }, { 65, 31, 193 }, { 300, 7, 40 },
					{ 31, 270, 33 }, { 12, 12, 0 } };
	static const double factors[][2] = { { 1, 0 }, { -0.5, 1 }, { 2, -0.5 }, { 0, 1 }, { 0, 0 } };
	uint32_t pick = 99;

	/* every type, size and transposition; form, gap, factors and where these stand are drawn, the same in each run */
	for (unsigned t = 0; t < sizeof types / sizeof types[0]; t++)
		for (unsigned z = 0; z < sizeof sizes / sizeof sizes[0]; z++)
			for (int op = 0; op < 4; op++) {
				struct shape s = { .ta = op & 1, .tb = op >> 1, .m = sizes[z][0], .n = sizes[z][1], .k = sizes[z][2],
						   .count = 3, .in = types[t].in, .out = types[t].out, .compute = types[t].compute };
				unsigned f = e2e_rand(&pick) % 5;

				s.alpha = factors[f][0];
				s.beta = factors[f][1];
				if (s.out == CUDA_R_32I) {
					s.alpha = trunc(s.alpha);
					s.beta = trunc(s.beta);
				}
				s.gap = (int)(e2e_rand(&pick) % 6);
				s.form = e2e_rand(&pick) % 3;
				s.device_scalars = e2e_rand(&pick) % 4 == 0;
				one(s);
			}
	/* of bytes as deep as several passes */
	one((struct shape){ .ta = 1, .m = 70, .n = 45, .k = 2500, .in = CUDA_R_8I, .out = CUDA_R_32I,
			    .compute = CUBLAS_COMPUTE_32I, .alpha = 1, .form = PLAIN });
	/* one that no cache holds */
	one((struct shape){ .ta = 1, .m = 520, .n = 300, .k = 400, .in = CUDA_R_16F, .out = CUDA_R_32F,
			    .compute = CUBLAS_COMPUTE_32F, .alpha = 1, .form = PLAIN });
}

/* ---- triangular solves: op(A) X = alpha B, checked by multiplying back ---------------------------- */

static void solve(int right, int upper, int trans, int unit, int m, int n)
{
	int order = right ? n : m, lda = order + 2, ldb = m + 1, count = 3;
	size_t na = (size_t)(lda * order), nb = (size_t)(ldb * n);
	float *a = e2e_malloc(na * 3 * sizeof *a), *b = e2e_malloc(nb * 3 * sizeof *b), *x = e2e_malloc(nb * 3 * sizeof *x), alpha = 2;
	float *da, *db, **pa, *list[3], **pb, *list2[3];

	for (size_t i = 0; i < na * 3; i++)
		a[i] = (float)((int)(e2e_rand(&seed) % 65) - 32) / (16.0f * (float)order);
	for (int q = 0; q < count; q++)
		for (int i = 0; i < order; i++)         /* far from singular; with unit, never looked at */
			a[(size_t)q * na + (size_t)(i * lda + i)] = unit ? NAN : 2 + (float)i / 64;
	for (size_t i = 0; i < nb * 3; i++)
		b[i] = (float)((int)(e2e_rand(&seed) % 65) - 32) / 16;
	CK(cudaMalloc((void **)&da, na * 3 * sizeof *a));
	CK(cudaMalloc((void **)&db, nb * 3 * sizeof *b));
	CK(cudaMalloc((void **)&pa, sizeof list));
	CK(cudaMalloc((void **)&pb, sizeof list));
	for (int q = 0; q < count; q++) {
		list[q] = da + (size_t)q * na;
		list2[q] = db + (size_t)q * nb;
	}
	CK(cudaMemcpy(pa, list, sizeof list, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(pb, list2, sizeof list2, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(da, a, na * 3 * sizeof *a, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(db, b, nb * 3 * sizeof *b, cudaMemcpyHostToDevice));
	CK(cublasStrsmBatched(handle, right ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT, upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
			      trans ? CUBLAS_OP_T : CUBLAS_OP_N, unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, m, n, &alpha,
			      (const float *const *)pa, lda, pb, ldb, count));
	CK(cudaMemcpy(x, db, nb * 3 * sizeof *x, cudaMemcpyDeviceToHost));
	for (int q = 0; q < count; q++)
		for (int i = 0; i < m; i++)
			for (int j = 0; j < n; j++) {
				const float *aq = a + (size_t)q * na, *xq = x + (size_t)q * nb;
				double sum = 0, want = (double)(alpha * b[(size_t)q * nb + (size_t)(i + j * ldb)]);

				for (int l = 0; l < order; l++) {
					int r = right ? l : i, c = right ? j : l, t;

					if (trans)
						t = r, r = c, c = t;
					if (upper ? r > c : r < c)
						continue;
					sum += (r == c && unit ? 1.0 : (double)aq[r + c * lda]) * (double)(right ? xq[i + l * ldb] : xq[l + j * ldb]);
				}
				if (!(fabs(sum - want) <= 1e-4 * (1 + fabs(want))))
					e2e_fail("solve %d%d%d%d %dx%d matrix %d (%d, %d): %g, want %g", right, upper, trans, unit, m, n, q, i, j,
						 sum, want);
			}
	CK(cudaFree(da)); CK(cudaFree(db)); CK(cudaFree(pa)); CK(cudaFree(pb));
	free(a); free(b); free(x);
	products++;
}

/* ---- order, refusals --------------------------------------------------------------------------------- */

/* A chain of products on two streams with an event between: each needs the one before it. */
static void streams(void)
{
	enum { N = 160, ROUNDS = 12 };
	float *m[2], *half, *host = e2e_malloc(N * N * sizeof *host), one_ = 1, zero = 0;
	cudaStream_t s[2], got;
	cudaEvent_t e;

	CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	for (int i = 0; i < 2; i++) {
		CK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		CK(cudaMalloc((void **)&m[i], N * N * sizeof(float)));
	}
	CK(cudaMalloc((void **)&half, N * N * sizeof(float)));
	for (int i = 0; i < N; i++)     /* a permutation, doubled: after 12 rounds 4096 times a permutation */
		host[((i + 1) % N) + i * N] = 2;
	CK(cudaMemcpy(half, host, N * N * sizeof(float), cudaMemcpyHostToDevice));
	memset(host, 0, N * N * sizeof(float));
	for (int i = 0; i < N; i++)
		host[i + i * N] = 1;
	CK(cudaMemcpy(m[0], host, N * N * sizeof(float), cudaMemcpyHostToDevice));
	for (int r = 0; r < ROUNDS; r++) {
		CK(cublasSetStream(handle, s[r & 1]));
		CK(cublasGetStream(handle, &got));
		EXPECT(got == s[r & 1]);
		if (r)
			CK(cudaStreamWaitEvent(s[r & 1], e, 0));
		CK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one_, half, N, m[r & 1], N, &zero, m[1 - (r & 1)], N));
		CK(cudaEventRecord(e, s[r & 1]));
	}
	CK(cudaMemcpyAsync(host, m[ROUNDS & 1], N * N * sizeof(float), cudaMemcpyDeviceToHost, s[(ROUNDS - 1) & 1]));
	CK(cudaStreamSynchronize(s[(ROUNDS - 1) & 1]));
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			float want = (i - j + N) % N == ROUNDS ? 4096.0f : 0.0f;

			if (host[i + j * N] != want)
				e2e_fail("chain (%d, %d) = %g, want %g", i, j, (double)host[i + j * N], (double)want);
		}
	CK(cublasSetStream(handle, NULL));
	for (int i = 0; i < 2; i++) {
		CK(cudaStreamDestroy(s[i]));
		CK(cudaFree(m[i]));
	}
	CK(cudaFree(half));
	CK(cudaEventDestroy(e));
	free(host);
}

/* In a stream that captures a product is a kernel's node that has no name; each launch adds it once more. */
static void captured(void)
{
	enum { M = 5, N = 7, K = 11 };
	float a[M * K], b[K * N], c[M * N] = { 0 }, want[M * N] = { 0 }, one = 1;
	float *da, *db, *dc;
	struct cudaKernelNodeParams params;
	enum cudaGraphNodeType type;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t s;
	size_t n = 1;

	for (int i = 0; i < M * K; i++)
		put_random(a, (size_t)i, CUDA_R_32F);
	for (int i = 0; i < K * N; i++)
		put_random(b, (size_t)i, CUDA_R_32F);
	CK(cudaMalloc((void **)&da, sizeof a));
	CK(cudaMalloc((void **)&db, sizeof b));
	CK(cudaMalloc((void **)&dc, sizeof c));
	CK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
	CK(cudaMemset(dc, 0, sizeof c));
	CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CK(cublasSetStream(handle, s));
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, da, M, db, K, &one, dc, M));
	CK(cudaStreamEndCapture(s, &graph));
	CK(cudaGraphGetNodes(graph, &node, &n));
	EXPECT_EQ(n, 1);
	CK(cudaGraphNodeGetType(node, &type));
	EXPECT_EQ(type, cudaGraphNodeTypeKernel);
	EXPECT_EQ(cudaGraphKernelNodeGetParams(node, &params), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
	CK(cudaGraphInstantiate(&exec, graph, 0));
	for (int k = 0; k < 3; k++)
		CK(cudaGraphLaunch(exec, s));
	CK(cudaMemcpyAsync(c, dc, sizeof c, cudaMemcpyDeviceToHost, s));
	CK(cudaStreamSynchronize(s));
	for (int j = 0; j < N; j++)
		for (int i = 0; i < M; i++)
			for (int k = 0; k < 3 * K; k++)
				want[i + j * M] += a[i + k % K * M] * b[k % K + j * K];
	/* multiples of 2^-12 below 2^8: every sum is exact */
	e2e_same_f32("captured product", c, want, M * N);
	products++;
	CK(cudaGraphExecDestroy(exec));
	CK(cudaGraphDestroy(graph));
	CK(cublasSetStream(handle, NULL));
	CK(cudaStreamDestroy(s));
	CK(cudaFree(da));
	CK(cudaFree(db));
	CK(cudaFree(dc));
}

static void refused(void)
{
	cublasHandle_t other = NULL;
	float alpha = 1, beta = 0, *d;
	int v = 0;

	CK(cudaMalloc((void **)&d, 4096));
#define GEMM(h, m, n, k, lda, ldb, ldc, a, c) \
	cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, lda, d, ldb, &beta, c, ldc)
	EXPECT_EQ(GEMM(NULL, 4, 4, 4, 4, 4, 4, d, d), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT_EQ(GEMM((cublasHandle_t)d, 4, 4, 4, 4, 4, 4, d, d), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT_EQ(GEMM(handle, -1, 4, 4, 4, 4, 4, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 4, -1, 4, 4, 4, 4, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 4, 4, -1, 4, 4, 4, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 4, 4, 4, 3, 4, 4, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 4, 4, 4, 4, 3, 4, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 4, 4, 4, 4, 4, 3, d, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 0, 4, 4, 4, 4, 4, NULL, NULL), CUBLAS_STATUS_SUCCESS);
	/* memory that the device cannot see */
	EXPECT_EQ(GEMM(handle, 1, 1, 1, 1, 1, 1, &alpha, d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(GEMM(handle, 1, 1, 1, 1, 1, 1, (float *)((char *)d + 2), d), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasSgemm(handle, (cublasOperation_t)7, CUBLAS_OP_N, 1, 1, 1, &alpha, d, 1, d, 1, &beta, d, 1),
		  CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, NULL, d, 1, d, 1, &beta, d, 1), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &v, d, CUDA_R_8U, 4, d, CUDA_R_8U, 4, &v, d, CUDA_R_32I, 4,
			       CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED);
	CK(cublasCreate(&other));
	CK(cublasSetMathMode(other, CUBLAS_TF32_TENSOR_OP_MATH));
	CK(cublasSetWorkspace(other, d, 4096));
	CK(cublasGetVersion(other, &v));
	EXPECT_EQ(v / 10000, CUDART_VERSION / 1000);
	CK(cublasDestroy(other));
	EXPECT_EQ(cublasDestroy(other), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT_EQ(cublasSetMathMode(other, CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT(!strcmp(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED"));
	EXPECT(cublasGetStatusString(CUBLAS_STATUS_EXECUTION_FAILED)[0]);
	CK(cudaFree(d));
}

/* An address in the device's span with no memory behind it kills the context, as on hardware. Last. */
static void illegal(void)
{
	float alpha = 1, beta = 0, *d, **list, *bad[2];
	cudaError_t r;

	CK(cudaMalloc((void **)&d, 64 * 64 * sizeof *d));
	CK(cudaMalloc((void **)&list, sizeof bad));
	CK(cudaMemset(d, 0, 64 * 64 * sizeof *d));
	bad[0] = d;
	bad[1] = (float *)16;   /* not even in the span */
	CK(cudaMemcpy(list, bad, sizeof bad, cudaMemcpyHostToDevice));
	CK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, (const float *const *)list, 8,
			      (const float *const *)list, 8, &beta, list, 8, 2));
	r = cudaDeviceSynchronize();
	EXPECT_EQ(r, cudaErrorIllegalAddress);
	EXPECT_EQ(cudaFree(d), cudaErrorIllegalAddress);
	EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, d, 8, d, 8, &beta, d, 8), CUBLAS_STATUS_EXECUTION_FAILED);
}

int main(void)
{
	double t;

	e2e_begin("blas");
	CK(cublasCreate(&handle));
	t = e2e_now_s();
	many();
	for (int i = 0; i < 16; i++)
		solve(i & 1, i >> 1 & 1, i >> 2 & 1, i >> 3, 17 + i, 40 - i);
	streams();
	captured();
	refused();
	t = e2e_now_s() - t;
	if (!e2e_failures)
		illegal();
	CK(cublasDestroy(handle));
	return e2e_end("%u products, %.1f s", products, t);
}
