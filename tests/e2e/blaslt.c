/* SPDX-License-Identifier: MIT */
/*
 * cublasLtMatmul against loops in double precision: types, orders, transpositions, batches, C apart from D, every epilogue forwards and
 * backwards with its auxiliary output, factors in device memory, complex matrices, floats of 8 bits in and out, products in graphs within graphs, and what must be refused. Sizes and forms are drawn, the same each run.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include "common.h"

/* cublasLt.h, what is used of it */
typedef struct lt *lt_t;
int cublasLtCreate(lt_t *h);
int cublasLtDestroy(lt_t h);
int cublasLtMatmulDescCreate(void **d, int compute, int scale);
int cublasLtMatmulDescInit_internal(void *d, size_t bytes, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *d, int number, const void *v, size_t bytes);
int cublasLtMatmulDescGetAttribute(void *d, int number, void *v, size_t bytes, size_t *written);
int cublasLtMatmulDescDestroy(void *d);
int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *l, int number, const void *v, size_t bytes);
int cublasLtMatrixLayoutDestroy(void *l);
int cublasLtMatmulPreferenceCreate(void **p);
int cublasLtMatmulPreferenceSetAttribute(void *p, int number, const void *v, size_t bytes);
int cublasLtMatmulPreferenceDestroy(void *p);
int cublasLtMatmulAlgoGetHeuristic(lt_t h, void *d, void *a, void *b, void *c, void *dd, void *p, int wanted, void *results, int *found);
int cublasLtMatmul(lt_t h, void *desc, const void *alpha, const void *A, void *a, const void *B, void *b, const void *beta, const void *C,
		   void *c, void *D, void *d, const void *algo, void *workspace, size_t bytes, cudaStream_t s);

enum { RELU = 2, BIAS = 4, DRELU = 8, BGRAD = 16, GELU = 32, DGELU = 64, AUX = 128, BGRADA = 256, BGRADB = 512 };

#define CK(call) \
	do { \
		int r_ = (int)(call); \
		if (r_) { \
			printf("blaslt: FAIL %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, r_); \
			exit(1); \
		} \
	} while (0)

static lt_t handle;
static uint32_t seed = 4711;
static unsigned products;

static double value(const void *p, long long i, int type)
{
	uint32_t bits;
	uint16_t h;
	float f;

	if (type == CUDA_R_32F)
		return (double)((const float *)p)[i];
	h = ((const uint16_t *)p)[i];
	if (type == CUDA_R_16F) {
		int e = h >> 10 & 31, m = h & 0x3ff;
		double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

		return h & 0x8000 ? -v : v;
	}
	bits = (uint32_t)h << 16;
	memcpy(&f, &bits, 4);
	return (double)f;
}

/* Eighths below 2 in size: exact in every type here. */
static void put(void *p, long long i, int type)
{
	int v = (int)(e2e_rand(&seed) % 31) - 15, e = 0, m = abs(v);
	float f = (float)v / 8;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	if (type >= 28) {
		((unsigned char *)p)[i] = (unsigned char)v;
	} else if (type == CUDA_R_32F) {
		((float *)p)[i] = f;
	} else if (type == CUDA_R_16BF) {
		((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
	} else {
		for (; m && m < 1024; e++)
			m *= 2;
		((uint16_t *)p)[i] = (uint16_t)((v < 0 ? 0x8000 : 0) | (m ? (22 - e) << 10 | (m & 0x3ff) : 0));
	}
}

struct matrix {
	int rows, cols, row_order, type, batch;
	long long ld, stride, n;
	void *host, *dev, *layout;
};

static size_t bytes_of(int type) { return type == CUDA_R_32F ? 4 : type >= 28 ? 1 : 2; }

static long long at(const struct matrix *m, int i, int j, int b)
{
	return b * m->stride + (m->row_order ? (long long)i * m->ld + j : i + (long long)j * m->ld);
}

static struct matrix matrix(int rows, int cols, int row_order, int type, int batch)
{
	struct matrix m = { .rows = rows, .cols = cols, .row_order = row_order, .type = type, .batch = batch };
	int32_t order = row_order;

	m.ld = (row_order ? cols : rows) + (int)(e2e_rand(&seed) % 4);
	m.stride = m.ld * (row_order ? rows : cols) + 3;
	m.n = m.stride * batch;
	m.host = e2e_malloc((size_t)m.n * bytes_of(type));
	for (long long i = 0; i < m.n; i++)
		put(m.host, i, type);
	CK(cudaMalloc(&m.dev, (size_t)m.n * bytes_of(type)));
	CK(cudaMemcpy(m.dev, m.host, (size_t)m.n * bytes_of(type), cudaMemcpyHostToDevice));
	CK(cublasLtMatrixLayoutCreate(&m.layout, type, (uint64_t)rows, (uint64_t)cols, m.ld));
	CK(cublasLtMatrixLayoutSetAttribute(m.layout, 1, &order, 4));
	CK(cublasLtMatrixLayoutSetAttribute(m.layout, 5, &batch, 4));
	CK(cublasLtMatrixLayoutSetAttribute(m.layout, 6, &m.stride, 8));
	return m;
}

static void gone(struct matrix *m)
{
	CK(cublasLtMatrixLayoutDestroy(m->layout));
	CK(cudaFree(m->dev));
	free(m->host);
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double slope(double x)
{
	double h = 1e-5;

	return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

static void near(double got, double want, double size, int type, const char *what, unsigned epilogue, int i, int j)
{
	double eps = type == CUDA_R_32F ? 1e-5 : type == CUDA_R_16F ? 1.0 / 1000 : 1.0 / 120;

	if (!(fabs(got - want) <= eps * (fabs(want) + 0.05 * size + 0.05)))
		e2e_fail("%s, epilogue %u, type %d (%d, %d): %.9g, want %.9g", what, epilogue, type, i, j, got, want);
}

static void one(int m, int n, int k, int type, int out, int batch, unsigned epilogue, float alpha, float beta)
{
	int ta = e2e_rand(&seed) % 2, tb = e2e_rand(&seed) % 2, apart = e2e_rand(&seed) % 2, on_device = e2e_rand(&seed) % 4 == 0;
	struct matrix a = matrix(ta ? k : m, ta ? m : k, (int)(e2e_rand(&seed) % 3 == 0), type, batch);
	struct matrix b = matrix(tb ? n : k, tb ? k : n, (int)(e2e_rand(&seed) % 3 == 0), type, batch);
	struct matrix d = matrix(m, n, (int)(e2e_rand(&seed) % 3 == 0), out, batch), c = apart ? matrix(m, n, d.row_order, out, batch) : d;
	long long aux_ld = (m + 127) / 128 * 128, aux_stride = aux_ld * n, bias_stride = (m > n ? m : n) + 1;
	size_t aux_bytes = (size_t)(aux_stride * batch) * 4, bias_bytes = (size_t)(bias_stride * batch) * bytes_of(out);
	unsigned char *aux = e2e_malloc(aux_bytes);
	void *bias = e2e_malloc(bias_bytes), *aux_at, *bias_at, *desc, *preference, *was = e2e_malloc((size_t)c.n * bytes_of(out));
	float *factors, host_factors[2] = { alpha, beta };
	uint64_t heuristic[12];
	int found = 0, one_mode = 1;
	uint64_t opaque[32];
	int local = e2e_rand(&seed) % 2;

	memcpy(was, c.host, (size_t)c.n * bytes_of(out));
	for (size_t i = 0; i < aux_bytes; i++)
		aux[i] = (unsigned char)(e2e_rand(&seed) >> 8);
	if (epilogue & DGELU)
		for (long long i = 0; i < aux_stride * batch; i++)
			put(aux, i, out);
	for (long long i = 0; i < bias_stride * batch; i++)
		put(bias, i, out);
	CK(cudaMalloc(&aux_at, aux_bytes));
	CK(cudaMalloc(&bias_at, bias_bytes));
	CK(cudaMalloc((void **)&factors, sizeof host_factors));
	CK(cudaMemcpy(aux_at, aux, aux_bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(bias_at, bias, bias_bytes, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(factors, host_factors, sizeof host_factors, cudaMemcpyHostToDevice));

	if (local) {
		desc = opaque;
		CK(cublasLtMatmulDescInit_internal(desc, sizeof opaque, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	} else {
		CK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	}
	CK(cublasLtMatmulDescSetAttribute(desc, 3, &ta, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 4, &tb, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 8, &bias_at, 8));
	CK(cublasLtMatmulDescSetAttribute(desc, 10, &bias_stride, 8));
	CK(cublasLtMatmulDescSetAttribute(desc, 11, &aux_at, 8));
	CK(cublasLtMatmulDescSetAttribute(desc, 12, &aux_ld, 8));
	CK(cublasLtMatmulDescSetAttribute(desc, 13, &aux_stride, 8));
	if (on_device)
		CK(cublasLtMatmulDescSetAttribute(desc, 2, &one_mode, 4));
	CK(cublasLtMatmulPreferenceCreate(&preference));
	CK(cublasLtMatmulAlgoGetHeuristic(handle, desc, a.layout, b.layout, c.layout, d.layout, preference, 1, heuristic, &found));
	EXPECT_EQ(found, 1);
	CK(cublasLtMatmul(handle, desc, on_device ? factors : host_factors, a.dev, a.layout, b.dev, b.layout,
			  on_device ? factors + 1 : host_factors + 1, c.dev, c.layout, d.dev, d.layout, heuristic, NULL, 0, 0));
	CK(cublasLtMatmulPreferenceDestroy(preference));
	if (!local)
		CK(cublasLtMatmulDescDestroy(desc));
	CK(cudaMemcpy(d.host, d.dev, (size_t)d.n * bytes_of(out), cudaMemcpyDeviceToHost));

	for (int q = 0; q < batch; q++) {
		unsigned char *new_aux = e2e_malloc(aux_bytes);
		void *new_bias = e2e_malloc(bias_bytes);

		CK(cudaMemcpy(new_aux, aux_at, aux_bytes, cudaMemcpyDeviceToHost));
		CK(cudaMemcpy(new_bias, bias_at, bias_bytes, cudaMemcpyDeviceToHost));
		for (int i = 0; i < m; i++) {
			double row = 0;

			for (int j = 0; j < n; j++) {
				long long x = q * aux_stride + i + j * aux_ld;
				double v = 0, size = 0;

				for (int l = 0; l < k; l++) {
					double w = value(a.host, ta ? at(&a, l, i, q) : at(&a, i, l, q), type) *
						   value(b.host, tb ? at(&b, j, l, q) : at(&b, l, j, q), type);

					v += w;
					size += fabs(w);
				}
				v *= (double)alpha;
				if (beta != 0)
					v += (double)beta * value(was, at(&c, i, j, q), out);
				if (epilogue & BIAS)
					v += value(bias, q * bias_stride + i, out);
				if ((epilogue & RELU) && (epilogue & AUX) && fabs(v) > 1e-4 && (new_aux[x / 8] >> (x % 8) & 1) != (v > 0))
					e2e_fail("mask of relu (%d, %d)", i, j);
				if (epilogue & RELU)
					v = v > 0 ? v : 0;
				if ((epilogue & GELU) && (epilogue & AUX))
					near(value(new_aux, x, out), v, size, out, "aux", epilogue, i, j);
				if (epilogue & GELU)
					v = gelu(v);
				if (epilogue & DRELU)
					v = aux[x / 8] >> (x % 8) & 1 ? v : 0;
				if (epilogue & DGELU)
					v *= slope(value(aux, x, out));
				near(value(d.host, at(&d, i, j, q), out), v, size, out, "D", epilogue, i, j);
				row += value(d.host, at(&d, i, j, q), out);
			}
			if (epilogue & BGRAD)
				near(value(new_bias, q * bias_stride + i, out), row, 4 * n, out, "bias gradient", epilogue, i, 0);
		}
		for (int i = 0; i < ((epilogue & BGRADA) ? m : (epilogue & BGRADB) ? n : 0); i++) {
			double sum = 0;

			for (int l = 0; l < k; l++)
				sum += epilogue & BGRADA ? value(a.host, ta ? at(&a, l, i, q) : at(&a, i, l, q), type) :
							   value(b.host, tb ? at(&b, i, l, q) : at(&b, l, i, q), type);
			near(value(new_bias, q * bias_stride + i, out), sum, k, out, "bias gradient of an input", epilogue, i, 0);
		}
		free(new_aux);
		free(new_bias);
	}
	gone(&a);
	gone(&b);
	gone(&d);
	if (apart)
		gone(&c);
	CK(cudaFree(aux_at)); CK(cudaFree(bias_at)); CK(cudaFree(factors));
	free(aux); free(bias); free(was);
	products++;
}

/* Complex matrices, of floats or doubles: numbers that are exact in both, so the sums are equal to the last bit. */
static void *complex_matrix(int rows, int cols, int row_order, int wide, int batch, long long *ld, long long *stride, double _Complex **host, void **dev)
{
	int32_t order = row_order;
	size_t size = wide ? 16 : 8;
	void *layout;
	long long n;

	*ld = (row_order ? cols : rows) + (int)(e2e_rand(&seed) % 4);
	*stride = *ld * (row_order ? rows : cols) + 3;
	n = *stride * batch;
	*host = e2e_malloc((size_t)n * 16);
	CK(cudaMallocManaged(dev, (size_t)n * size, 1));
	for (long long i = 0; i < n; i++) {
		(*host)[i] = (int)(e2e_rand(&seed) % 17) - 8 + ((int)(e2e_rand(&seed) % 17) - 8) * 1.0i;
		if (wide)
			((double _Complex *)*dev)[i] = (*host)[i];
		else
			((float _Complex *)*dev)[i] = (float _Complex)(*host)[i];
	}
	CK(cublasLtMatrixLayoutCreate(&layout, wide ? CUDA_C_64F : CUDA_C_32F, (uint64_t)rows, (uint64_t)cols, *ld));
	CK(cublasLtMatrixLayoutSetAttribute(layout, 1, &order, 4));
	CK(cublasLtMatrixLayoutSetAttribute(layout, 5, &batch, 4));
	CK(cublasLtMatrixLayoutSetAttribute(layout, 6, stride, 8));
	return layout;
}

static double _Complex conj_if(double _Complex z, int yes)
{
	return yes ? __real__ z - (__imag__ z) * 1.0i : z;
}

static void complex_one(int m, int n, int k, int wide, int batch, int beta_zero)
{
	int ta = e2e_rand(&seed) % 3, tb = e2e_rand(&seed) % 3, apart = e2e_rand(&seed) % 2, on_device = e2e_rand(&seed) % 3 == 0, one_mode = 1, found = 0;
	int ra = e2e_rand(&seed) % 2, rb = e2e_rand(&seed) % 2, rc = e2e_rand(&seed) % 2, rd = apart ? (int)(e2e_rand(&seed) % 2) : rc;
	double _Complex alpha = 2 - 1.0i, beta = beta_zero ? 0 : 1 + 3.0i, *ha, *hb, *hc, *hd, factors[2] = { alpha, beta };
	float _Complex narrow[2] = { (float _Complex)alpha, (float _Complex)beta };
	long long la, lb, lc, ld, sa, sb, sc, sd;
	void *a, *b, *c, *d, *da, *db, *dc, *dd, *desc, *preference, *there, *at;
	uint64_t heuristic[12];
	size_t size = wide ? 16 : 8;

	a = complex_matrix(ta ? k : m, ta ? m : k, ra, wide, batch, &la, &sa, &ha, &da);
	b = complex_matrix(tb ? n : k, tb ? k : n, rb, wide, batch, &lb, &sb, &hb, &db);
	c = complex_matrix(m, n, rc, wide, batch, &lc, &sc, &hc, &dc);
	d = complex_matrix(m, n, rd, wide, batch, &ld, &sd, &hd, &dd);
	CK(cudaMallocManaged(&there, 32, 1));
	memcpy(there, wide ? (void *)factors : narrow, 2 * size);
	CK(cublasLtMatmulDescCreate(&desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_C_64F : CUDA_C_32F));
	CK(cublasLtMatmulDescSetAttribute(desc, 3, &ta, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 4, &tb, 4));
	if (on_device)
		CK(cublasLtMatmulDescSetAttribute(desc, 2, &one_mode, 4));
	at = on_device ? there : wide ? (void *)factors : narrow;
	CK(cublasLtMatmulPreferenceCreate(&preference));
	CK(cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, apart ? d : c, preference, 1, heuristic, &found));
	EXPECT_EQ(found, 1);
	CK(cublasLtMatmul(handle, desc, at, da, a, db, b, (char *)at + size, dc, c, apart ? dd : dc, apart ? d : c, heuristic, NULL, 0, 0));
	CK(cudaDeviceSynchronize());
	for (int q = 0; q < batch; q++)
		for (int i = 0; i < m; i++)
			for (int j = 0; j < n; j++) {
				long long x = q * (apart ? sd : sc), step = apart ? ld : lc, to = x + (rd ? i * step + j : i + j * step);
				void *result = apart ? dd : dc;
				double _Complex sum = 0, got = wide ? ((double _Complex *)result)[to] : (double _Complex)((float _Complex *)result)[to];

				for (int l = 0; l < k; l++) {
					int ai = ta ? l : i, aj = ta ? i : l, bi = tb ? j : l, bj = tb ? l : j;

					sum += conj_if(ha[q * sa + (ra ? ai * la + aj : ai + aj * la)], ta == 2) *
					       conj_if(hb[q * sb + (rb ? bi * lb + bj : bi + bj * lb)], tb == 2);
				}
				sum = alpha * sum + beta * hc[q * sc + (rc ? i * lc + j : i + j * lc)];
				if (got != sum)
					e2e_fail("complex product (%d, %d) of %d, operations %d %d, orders %d %d %d %d: %g %+gi, want %g %+gi", i, j, q, ta, tb, ra, rb,
						 rc, rd, __real__ got, __imag__ got, __real__ sum, __imag__ sum);
			}
	CK(cublasLtMatmulPreferenceDestroy(preference));
	CK(cublasLtMatmulDescDestroy(desc));
	CK(cublasLtMatrixLayoutDestroy(a)); CK(cublasLtMatrixLayoutDestroy(b)); CK(cublasLtMatrixLayoutDestroy(c)); CK(cublasLtMatrixLayoutDestroy(d));
	CK(cudaFree(da)); CK(cudaFree(db)); CK(cudaFree(dc)); CK(cudaFree(dd));
	CK(cudaFree(there));
	free(ha); free(hb); free(hc); free(hd);
	products++;
}

/* A float of 8 bits, by OCP's definition: e4m3 has no infinity, e5m2 is the upper half of F16. */
static double eight_value(unsigned b, int e5m2)
{
	int e = e5m2 ? b >> 2 & 31 : b >> 3 & 15, m = e5m2 ? b & 3 : b & 7, bits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
	double v = e ? ldexp((1 << bits) + m, e - bias - bits) : ldexp(m, 1 - bias - bits);

	if (e5m2 ? e == 31 : (b & 127) == 127)
		v = e5m2 && !m ? INFINITY : NAN;
	return b & 128 ? -v : v;
}

/* The nearest float of 8 bits, ties to even, the largest for what is larger. */
static unsigned eight_nearest(double v, int e5m2)
{
	unsigned best = 0;

	v = fmin(fmax(v, -1e6), 1e6);
	for (unsigned c = 1; c < (e5m2 ? 0x7cu : 0x7fu); c++) {
		double was = fabs(fabs(v) - eight_value(best, e5m2)), is = fabs(fabs(v) - eight_value(c, e5m2));

		if (is < was || (is == was && c % 2 == 0))
			best = c;
	}
	return best | (signbit(v) ? 128 : 0);
}

/* What is captured, as a part of another graph, which runs twice. */
static void in_a_graph(cudaStream_t s)
{
	cudaGraph_t inner, outer;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	CK(cudaStreamEndCapture(s, &inner));
	CK(cudaGraphCreate(&outer, 0));
	CK(cudaGraphAddChildGraphNode(&node, outer, NULL, 0, inner));
	CK(cudaGraphInstantiate(&exec, outer, 0));
	for (int i = 0; i < 2; i++)
		CK(cudaGraphLaunch(exec, s));
	CK(cudaStreamSynchronize(s));
	CK(cudaGraphExecDestroy(exec)); CK(cudaGraphDestroy(outer)); CK(cudaGraphDestroy(inner));
}

/* Inputs of 8 bits with their scales; ReLU, a bias or GELU now and then, results of 8 bits with a scale and their largest; in a graph where no workspace is. */
static void eight_one(int m, int n, int k, int out, int round)
{
	int ta = e2e_rand(&seed) % 2, tb = e2e_rand(&seed) % 2, ra = e2e_rand(&seed) % 2, rb = e2e_rand(&seed) % 2, kinds = e2e_rand(&seed) % 3, found = 0;
	int five[2] = { kinds == 1, kinds == 2 }, on_device = round % 3 == 0, one_mode = 1, orders[2] = { ra, rb };
	long long la = (ra ? (ta ? m : k) : (ta ? k : m)) + 3, lb = (rb ? (tb ? k : n) : (tb ? n : k)) + 2;
	int small = out >= 28, c_type = !small ? out : round % 3 ? CUDA_R_16BF : CUDA_R_16F, captured = round % 2 == 0 && round % 5;
	struct matrix d = matrix(m, n, (int)(e2e_rand(&seed) % 2), out, 1), c = small || captured ? matrix(m, n, (int)(e2e_rand(&seed) % 2), c_type, 1) : d;
	unsigned epilogue = round % 4 == 1 ? RELU : round % 4 == 2 ? BIAS : round % 8 == 3 ? GELU : 1;
	float alpha = 0.5f, beta = round % 3 ? 0.25f : 0, *shared, scaled = small ? 0.03f : 1;
	double most_seen = 0;
	cudaStream_t s;
	unsigned char *a, *b;
	size_t na = (size_t)la * (size_t)(m > k ? m : k), nb = (size_t)lb * (size_t)(n > k ? n : k);
	void *desc, *layouts[2], *preference, *was = e2e_malloc((size_t)c.n * bytes_of(c_type)), *bias, *workspace;
	uint64_t heuristic[12], most = 1 << 20;

	if (out == 29 && five[0] == five[1])    /* e5m2 comes of e5m2 only */
		five[round / 2 % 2] = 1;
	memcpy(was, c.host, (size_t)c.n * bytes_of(c_type));
	CK(cudaStreamCreate(&s));
	CK(cudaMallocManaged((void **)&a, na, 1));
	CK(cudaMallocManaged((void **)&b, nb, 1));
	CK(cudaMallocManaged((void **)&shared, 64, 1));
	CK(cudaMallocManaged(&bias, (size_t)m * 4, 1));
	for (int i = 0; i < m; i++)
		put(bias, i, c_type);
	/* neither NaN nor infinity, which are the next test's */
	for (size_t i = 0; i < na; i++)
		do
			a[i] = (unsigned char)(e2e_rand(&seed) >> 9);
		while (!isfinite(eight_value(a[i], five[0])));
	for (size_t i = 0; i < nb; i++)
		do
			b[i] = (unsigned char)(e2e_rand(&seed) >> 9);
		while (!isfinite(eight_value(b[i], five[1])));
	shared[0] = 2; shared[1] = 0.125f; shared[2] = alpha; shared[3] = beta; shared[4] = scaled; shared[5] = 1e30f;
	CK(cublasLtMatrixLayoutCreate(&layouts[0], 28 + five[0], (uint64_t)(ta ? k : m), (uint64_t)(ta ? m : k), la));
	CK(cublasLtMatrixLayoutCreate(&layouts[1], 28 + five[1], (uint64_t)(tb ? n : k), (uint64_t)(tb ? k : n), lb));
	for (int i = 0; i < 2; i++)
		CK(cublasLtMatrixLayoutSetAttribute(layouts[i], 1, &orders[i], 4));
	CK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	CK(cublasLtMatmulDescSetAttribute(desc, 3, &ta, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 4, &tb, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4));
	CK(cublasLtMatmulDescSetAttribute(desc, 8, &bias, 8));
	for (int i = 0; i < 2; i++) {
		float *scale = shared + i;

		CK(cublasLtMatmulDescSetAttribute(desc, 17 + i, &scale, 8));
	}
	for (int i = 0; small && i < 2; i++) {
		float *at = shared + 4 + i;

		CK(cublasLtMatmulDescSetAttribute(desc, 20 + i, &at, 8));
	}
	if (on_device)
		CK(cublasLtMatmulDescSetAttribute(desc, 2, &one_mode, 4));
	CK(cublasLtMatmulPreferenceCreate(&preference));
	if (round % 2)
		CK(cublasLtMatmulPreferenceSetAttribute(preference, 1, &most, 8));
	CK(cublasLtMatmulAlgoGetHeuristic(handle, desc, layouts[0], layouts[1], c.layout, d.layout, preference, 1, heuristic, &found));
	/* with a workspace that is asked for, nothing is allocated, which a graph within another one could not hold */
	EXPECT_EQ(heuristic[8] > 0, round % 2);
	CK(cudaMalloc(&workspace, most));
	if (captured)
		CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	CK(cublasLtMatmul(handle, desc, on_device ? shared + 2 : &alpha, a, layouts[0], b, layouts[1], on_device ? shared + 3 : &beta, c.dev, c.layout, d.dev,
			  d.layout, heuristic, heuristic[8] ? workspace : NULL, (size_t)heuristic[8], s));
	if (captured)
		in_a_graph(s);
	CK(cudaStreamSynchronize(s));
	CK(cudaFree(workspace));
	CK(cudaMemcpy(d.host, d.dev, (size_t)d.n * bytes_of(out), cudaMemcpyDeviceToHost));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double v = 0, size = 0;

			for (int l = 0; l < k; l++) {
				int ai = ta ? l : i, aj = ta ? i : l, bi = tb ? j : l, bj = tb ? l : j;
				double w = eight_value(a[ra ? ai * la + aj : ai + aj * la], five[0]) * eight_value(b[rb ? bi * lb + bj : bi + bj * lb], five[1]);

				v += w;
				size += fabs(w);
			}
			v = v * 0.125 + (double)beta * value(was, at(&c, i, j, 0), c_type);
			if (epilogue == BIAS)
				v += value(bias, i, c_type);
			if (epilogue == RELU)
				v = v > 0 ? v : 0;
			if (epilogue == GELU)
				v = gelu(v);
			most_seen = fabs(v) > most_seen ? fabs(v) : most_seen;
			if (small) {
				double x = v * (double)scaled, best = eight_value(eight_nearest(x, out == 29), out == 29);
				double got = eight_value(((unsigned char *)d.host)[at(&d, i, j, 0)], out == 29);

				/* the nearest, or one that is no farther by more than the sum's own rounding */
				if (!(fabs(got - best) <= 0 || fabs(got - x) <= fabs(best - x) + 1e-5 * (size * (double)scaled + fabs(x))))
					e2e_fail("result of 8 bits, epilogue %u, type %d (%d, %d): %.9g, want %.9g of %.9g", epilogue, out, i, j, got, best, x);
			} else if (fabs(v) < 60000)             /* what F16 holds */
				near(value(d.host, at(&d, i, j, 0), out), v, size, out, "product of 8-bit floats", epilogue, i, j);
		}
	if (small && !(fabs((double)shared[5] - most_seen) <= 1e-4 * most_seen))
		e2e_fail("the largest of 8-bit results is %g, want %g", (double)shared[5], most_seen);
	CK(cublasLtMatmulPreferenceDestroy(preference));
	CK(cublasLtMatmulDescDestroy(desc));
	CK(cublasLtMatrixLayoutDestroy(layouts[0])); CK(cublasLtMatrixLayoutDestroy(layouts[1]));
	CK(cudaFree(a)); CK(cudaFree(b)); CK(cudaFree(shared)); CK(cudaFree(bias));
	CK(cudaStreamDestroy(s));
	if (c.dev != d.dev)
		gone(&c);
	gone(&d);
	free(was);
	products++;
}

/* Each of the 256 values of both kinds, by a product with 1. */
static void eight_each(void)
{
	for (int e5m2 = 0; e5m2 < 2; e5m2++) {
		unsigned char *a, *one;
		float *d, alpha = 1, beta = 0;
		void *desc, *la, *lb, *ld;

		CK(cudaMallocManaged((void **)&a, 256, 1));
		CK(cudaMallocManaged((void **)&one, 1, 1));
		CK(cudaMallocManaged((void **)&d, 1024, 1));
		for (int i = 0; i < 256; i++)
			a[i] = (unsigned char)i;
		*one = 0x38;                    /* e4m3 */
		CK(cublasLtMatrixLayoutCreate(&la, 28 + e5m2, 256, 1, 256));
		CK(cublasLtMatrixLayoutCreate(&lb, 28, 1, 1, 1));
		CK(cublasLtMatrixLayoutCreate(&ld, CUDA_R_32F, 256, 1, 256));
		CK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
		CK(cublasLtMatmul(handle, desc, &alpha, a, la, one, lb, &beta, d, ld, d, ld, NULL, NULL, 0, 0));
		CK(cudaDeviceSynchronize());
		for (unsigned i = 0; i < 256; i++) {
			double want = eight_value(i, e5m2);

			if (isnan(want) ? !isnan(d[i]) : (double)d[i] != want)
				e2e_fail("e%s of %#x is %g, want %g", e5m2 ? "5m2" : "4m3", i, (double)d[i], want);
		}
		CK(cublasLtMatmulDescDestroy(desc));
		CK(cublasLtMatrixLayoutDestroy(la)); CK(cublasLtMatrixLayoutDestroy(lb)); CK(cublasLtMatrixLayoutDestroy(ld));
		CK(cudaFree(a)); CK(cudaFree(one)); CK(cudaFree(d));
		products++;
	}
}

/* Each value times a factor, exactly rounded to each kind. */
static void eight_rounds(void)
{
	static const float factors[] = { 1, 0.5f, 1 / 3.0f, 3.7f, 1e-3f, 300, 0.0625f, 1e5f, 1e-5f };

	for (unsigned x = 0; x < 2 * sizeof factors / sizeof factors[0]; x++) {
		int out = (int)x % 2, from = (int)x / 2 % 2 || out;
		unsigned char *a, *one, *d;
		float *scale, alpha = 1, beta = 0;
		void *desc, *la, *lb, *lc, *ld;

		CK(cudaMallocManaged((void **)&a, 256, 1));
		CK(cudaMallocManaged((void **)&one, 1, 1));
		CK(cudaMallocManaged((void **)&d, 256, 1));
		CK(cudaMallocManaged((void **)&scale, 4, 1));
		for (int i = 0; i < 256; i++)
			a[i] = (unsigned char)i;
		*one = 0x38;                    /* e4m3 */
		*scale = factors[x / 2];
		CK(cublasLtMatrixLayoutCreate(&la, 28 + from, 256, 1, 256));
		CK(cublasLtMatrixLayoutCreate(&lb, 28, 1, 1, 1));
		CK(cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, 256, 1, 256));
		CK(cublasLtMatrixLayoutCreate(&ld, 28 + out, 256, 1, 256));
		CK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
		CK(cublasLtMatmulDescSetAttribute(desc, 20, &scale, 8));
		CK(cublasLtMatmul(handle, desc, &alpha, a, la, one, lb, &beta, NULL, lc, d, ld, NULL, NULL, 0, 0));
		CK(cudaDeviceSynchronize());
		for (unsigned i = 0; i < 256; i++) {
			float v = (float)eight_value(i, from) * *scale;
			unsigned want = isnan(v) ? 127 : eight_nearest((double)v, out);

			if (isnan(v) ? (d[i] & 127) < (out ? 125 : 127) : v == 0 ? d[i] & 127 : d[i] != want)
				e2e_fail("%g to e%s is %#x, want %#x", (double)v, out ? "5m2" : "4m3", d[i], want);
		}
		CK(cublasLtMatmulDescDestroy(desc));
		CK(cublasLtMatrixLayoutDestroy(la)); CK(cublasLtMatrixLayoutDestroy(lb)); CK(cublasLtMatrixLayoutDestroy(lc)); CK(cublasLtMatrixLayoutDestroy(ld));
		CK(cudaFree(a)); CK(cudaFree(one)); CK(cudaFree(d)); CK(cudaFree(scale));
		products++;
	}
}

static void refusals(void)
{
	void *desc, *l8, *l, *small, *preference;
	uint64_t heuristic[12];
	float f = 1;
	size_t written = 0;
	uint32_t epilogue = 0;
	int found = 7;

	CK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	CK(cublasLtMatmulPreferenceCreate(&preference));
	CK(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 4, 4, 4));
	CK(cublasLtMatrixLayoutCreate(&small, CUDA_R_32F, 4, 4, 3));
	CK(cublasLtMatrixLayoutCreate(&l8, 29, 4, 4, 4));       /* e5m2 by e5m2: hardware has none either */
	CK(cublasLtMatmulDescGetAttribute(desc, 7, NULL, 0, &written));
	EXPECT_EQ(written, 4);
	CK(cublasLtMatmulDescGetAttribute(desc, 7, &epilogue, 4, &written));
	EXPECT_EQ(epilogue, 1);
	EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 8), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, 999, &epilogue, 4), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, desc, l8, l8, l, l, preference, 1, heuristic, &found), CUBLAS_STATUS_NOT_SUPPORTED);
	EXPECT_EQ(found, 0);
	EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, desc, small, l, l, l, preference, 1, heuristic, &found), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasLtMatmul(NULL, desc, &f, &f, l, &f, l, &f, &f, l, &f, l, NULL, NULL, 0, 0), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT_EQ(cublasLtMatmul(handle, desc, &f, &f, l8, &f, l8, &f, &f, l, &f, l, NULL, NULL, 0, 0), CUBLAS_STATUS_NOT_SUPPORTED);
	epilogue = BIAS;                                        /* without one */
	CK(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4));
	EXPECT_EQ(cublasLtMatmul(handle, desc, &f, &f, l, &f, l, &f, &f, l, &f, l, NULL, NULL, 0, 0), CUBLAS_STATUS_INVALID_VALUE);
	CK(cublasLtMatrixLayoutDestroy(l8));
	CK(cublasLtMatrixLayoutDestroy(small));
	CK(cublasLtMatrixLayoutDestroy(l));
	CK(cublasLtMatmulPreferenceDestroy(preference));
	CK(cublasLtMatmulDescDestroy(desc));
}

/* What is logged, where, and what is not. */
int cublasLtLoggerSetLevel(int level);
int cublasLtLoggerOpenFile(const char *path);
int cublasLtLoggerSetFile(FILE *f);
int cublasLtLoggerSetCallback(void (*f)(int, const char *, const char *));
int cublasLtLoggerForceDisable(void);

static int told, told_level;

static void listen(int level, const char *function, const char *message)
{
	told += !strcmp(function, "cublasLtMatmul") && *message;
	told_level = level;
}

static void logged(void)
{
	char path[] = "/tmp/vgpu-lt-XXXXXX", text[4096] = "";
	int fd = mkstemp(path);
	FILE *f;

	if (fd < 0)
		e2e_fail("mkstemp");
	close(fd);
	EXPECT_EQ(cublasLtLoggerSetLevel(6), CUBLAS_STATUS_INVALID_VALUE);
	EXPECT_EQ(cublasLtLoggerOpenFile("/nowhere/log"), CUBLAS_STATUS_INVALID_VALUE);
	CK(cublasLtLoggerOpenFile(path));
	CK(cublasLtLoggerSetLevel(1));
	one(4, 4, 4, CUDA_R_32F, CUDA_R_32F, 1, 1, 1, 0);       /* no error: nothing */
	f = fopen(path, "r");
	EXPECT_EQ(!f || fread(text, 1, sizeof(text) - 1, f), 0);
	CK(cublasLtLoggerSetLevel(2));
	one(4, 3, 5, CUDA_R_32F, CUDA_R_32F, 1, 1, 1, 0);
	clearerr(f);
	EXPECT_EQ(fread(text, 1, sizeof(text) - 1, f) > 0 && strstr(text, "[Trace][cublasLtMatmul]") && strstr(text, "rows=4 cols=3"), 1);
	fclose(f);
	unlink(path);
	CK(cublasLtLoggerSetFile(NULL));
	CK(cublasLtLoggerSetCallback(listen));
	EXPECT_EQ(cublasLtMatmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0), CUBLAS_STATUS_NOT_INITIALIZED);
	EXPECT_EQ(told, 1);
	EXPECT_EQ(told_level, 1);
	CK(cublasLtLoggerForceDisable());
	EXPECT_EQ(cublasLtLoggerSetLevel(5), CUBLAS_STATUS_NOT_SUPPORTED);
	one(4, 4, 4, CUDA_R_32F, CUDA_R_32F, 1, 1, 1, 0);
	EXPECT_EQ(told, 1);
}

int main(void)
{
	static const unsigned epilogues[] = { 1, RELU, RELU | AUX, BIAS, RELU | BIAS, RELU | AUX | BIAS, DRELU | AUX, DRELU | AUX | BGRAD, GELU,
					      GELU | AUX, GELU | BIAS, GELU | AUX | BIAS, DGELU | AUX, DGELU | AUX | BGRAD, BGRADA, BGRADB };
	static const int types[][2] = { { CUDA_R_32F, CUDA_R_32F }, { CUDA_R_16F, CUDA_R_16F }, { CUDA_R_16BF, CUDA_R_16BF }, { CUDA_R_16F, CUDA_R_32F } };
	static const int sizes[][3] = { { 1, 1, 1 }, { 5, 3, 7 }, { 33, 18, 20 }, { 130, 9, 12 } };
	cublasHandle_t blas;

	e2e_begin("blaslt");
	CK(cublasLtCreate(&handle));
	for (unsigned e = 0; e < sizeof epilogues / sizeof epilogues[0]; e++)
		for (unsigned t = 0; t < 4; t++)
			for (unsigned z = 0; z < 4; z++)
				one(sizes[z][0], sizes[z][1], sizes[z][2], types[t][0], types[t][1], 1 + (int)(e2e_rand(&seed) % 3), epilogues[e],
				    e2e_rand(&seed) % 2 ? 1 : -0.5f, e2e_rand(&seed) % 2 ? 0 : 0.5f);
	for (int i = 0; i < 60; i++)
		complex_one(sizes[i % 4][0], sizes[i % 4][1], sizes[i % 4][2], i / 4 % 2, 1 + i % 3, i / 8 % 2);
	for (int i = 0; i < 48; i++)
		eight_one(sizes[i % 4][0], sizes[i % 4][1], sizes[i % 4][2], types[i / 4 % 3][0], i);
	for (int i = 0; i < 48; i++)
		eight_one(sizes[i % 4][0], sizes[i % 4][1], sizes[i % 4][2], 28 + i / 4 % 2, i);
	eight_each();
	eight_rounds();
	refusals();
	logged();
	CK(cublasLtDestroy(handle));
	/* cuBLAS's handle is one of Lt's too */
	CK(cublasCreate(&blas));
	handle = (lt_t)blas;
	one(8, 8, 8, CUDA_R_32F, CUDA_R_32F, 1, RELU | BIAS, 1, 0);
	CK(cublasDestroy(blas));
	return e2e_end("%u products", products);
}
