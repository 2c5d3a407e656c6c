/* SPDX-License-Identifier: MIT */
/* cuBLAS's probe: status codes, the order of checks, what beta = 0 does with NaN, batches by pointers, the heuristics of cublasLt; see probe.h. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>

#include "probe.h"

int cublasLtCreate(void **h);
int cublasLtDestroy(void *h);
size_t cublasLtGetVersion(void);
int cublasLtMatmulDescCreate(void **d, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *d, int number, const void *v, size_t bytes);
int cublasLtMatmulDescGetAttribute(void *d, int number, void *v, size_t bytes, size_t *written);
int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *l, int number, const void *v, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void *l, int number, void *v, size_t bytes, size_t *written);
int cublasLtMatrixLayoutDestroy(void *l);
int cublasLtMatmulPreferenceCreate(void **p);
int cublasLtMatmulPreferenceSetAttribute(void *p, int number, const void *v, size_t bytes);
int cublasLtMatmulPreferenceGetAttribute(void *p, int number, void *v, size_t bytes, size_t *written);
int cublasLtMatmulAlgoGetHeuristic(void *h, void *d, void *a, void *b, void *c, void *dd, void *p, int wanted, void *results, int *found);
int cublasLtMatmul(void *h, void *desc, const void *alpha, const void *A, void *a, const void *B, void *b, const void *beta, const void *C,
		   void *c, void *D, void *d, const void *algo, void *workspace, size_t bytes, cudaStream_t s);

const char *result_name(int r)
{
	switch (r) {
	case 0: return "SUCCESS";
	case 1: return "NOT_INITIALIZED";
	case 3: return "ALLOC_FAILED";
	case 7: return "INVALID_VALUE";
	case 8: return "ARCH_MISMATCH";
	case 11: return "MAPPING_ERROR";
	case 13: return "EXECUTION_FAILED";
	case 14: return "INTERNAL_ERROR";
	case 15: return "NOT_SUPPORTED";
	}
	return NULL;
}

static cublasHandle_t h;
static float *A, *B, *C;
static const float one = 1, zero = 0;
static float host[256];

static void start(void)
{
	alarm(25);
	if (cublasCreate_v2(&h) || cudaMalloc((void **)&A, 65536) || cudaMalloc((void **)&B, 65536) || cudaMalloc((void **)&C, 65536))
		say("[start] no handle\n");
	cudaMemset(A, 0, 65536);
	cudaMemset(B, 0, 65536);
	cudaMemset(C, 0xff, 65536);
	alarm(0);
	in_start = 0;
}

static const char *seen(const void *p, int n)
{
	int nan = 0, nought = 0;

	if (cudaMemcpy(host, p, (size_t)n * 4, cudaMemcpyDeviceToHost))
		return "no copy";
	for (int i = 0; i < n; i++) {
		nan += isnan(host[i]);
		nought += host[i] == 0;
	}
	cudaMemset(C, 0xff, 65536);
	return nan == n ? "all NaN" : nought == n ? "all 0" : nan ? "some NaN" : "numbers";
}

static void g_handle(void)
{
	int v = 7;
	cublasPointerMode_t pm = 7;
	cublasAtomicsMode_t am = 7;
	cublasMath_t mm = 7;
	cudaStream_t s = (cudaStream_t)(uintptr_t)7;

	R(cublasCreate_v2(NULL));
	R(cublasDestroy_v2(NULL));
	RV(cublasGetProperty(MAJOR_VERSION, &v), "%d", v);
	R(cublasGetProperty(9, &v));
	R(cublasGetProperty(MAJOR_VERSION, NULL));
	R(cublasGetVersion_v2(NULL, &v));
	R(cublasSetStream_v2(NULL, NULL));
	R(cublasGetPointerMode_v2(NULL, &pm));
	for (int i = -1; i < 20; i++)
		SAY("%d: %s, %s", i, cublasGetStatusName((cublasStatus_t)i), cublasGetStatusString((cublasStatus_t)i));
	start();
	R(cublasGetVersion_v2(h, NULL));
	RV(cublasGetPointerMode_v2(h, &pm), "%d", pm);
	R(cublasGetPointerMode_v2(h, NULL));
	RV(cublasGetAtomicsMode(h, &am), "%d", am);
	RV(cublasGetMathMode(h, &mm), "%d", mm);
	RV(cublasGetStream_v2(h, &s), "%s", s ? "set" : "null");
	R(cublasGetStream_v2(h, NULL));
	RV(cublasGetSmCountTarget(h, &v), "%d", v);
	for (int i = -1; i < 20; i++) {
		tag("mode %d", i);
		R(cublasSetMathMode(h, (cublasMath_t)i));
		RV(cublasGetMathMode(h, &mm), "%d", mm);
		if (i < 4) {
			R(cublasSetPointerMode_v2(h, (cublasPointerMode_t)i));
			RV(cublasGetPointerMode_v2(h, &pm), "%d", pm);
			R(cublasSetAtomicsMode(h, (cublasAtomicsMode_t)i));
			RV(cublasGetAtomicsMode(h, &am), "%d", am);
			R(cublasSetSmCountTarget(h, i));
			RV(cublasGetSmCountTarget(h, &v), "%d", v);
		}
	}
	tag("%s", "");
	R(cublasSetSmCountTarget(h, 100000));
	R(cublasSetWorkspace_v2(h, NULL, 0));
	R(cublasSetWorkspace_v2(h, NULL, 1024));
	R(cublasSetWorkspace_v2(h, A, 1));
	R(cublasSetWorkspace_v2(h, (char *)A + 1, 1024));
	R(cublasSetWorkspace_v2(h, A, 65536));
	R(cublasSetWorkspace_v2(h, host, 1024));
	R(cublasDestroy_v2(h));
}

static void g_gemm(void)
{
	static const struct { int ta, tb, m, n, k, lda, ldb, ldc; } t[] = { { 0, 0, 4, 4, 4, 4, 4, 4 }, { 0, 0, 0, 4, 4, 4, 4, 4 }, { 0, 0, 4, 0, 4, 4, 4, 4 }, { 0, 0, 4, 4, 0, 4, 4, 4 }, { 0, 0, -1, 4, 4, 4, 4, 4 }, { 0, 0, 4, -1, 4, 4, 4, 4 }, { 0, 0, 4, 4, -1, 4, 4, 4 },
		{ 0, 0, 4, 4, 4, 3, 4, 4 }, { 0, 0, 4, 4, 4, 4, 3, 4 }, { 0, 0, 4, 4, 4, 4, 4, 3 }, { 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 4, 4, 0, 4, 0 }, { 0, 0, 0, 4, 4, 1, 4, 1 }, { 1, 0, 4, 4, 8, 8, 8, 4 }, { 1, 0, 4, 4, 8, 7, 8, 4 }, { 3, 0, 4, 4, 4, 4, 4, 4 }, { 9, 0, 4, 4, 4, 4, 4, 4 }, { 0, -1, 4, 4, 4, 4, 4, 4 }, { 9, 0, -1, 4, 4, 4, 4, 4 } };
	const float *as[4];
	float *cs[4];
	void *pa, *pb, *pc;

	start();
	for (size_t i = 0; i < NEL(t); i++) {
		tag("gemm %zu", i);
#define ARGS (cublasOperation_t)t[i].ta, (cublasOperation_t)t[i].tb, t[i].m, t[i].n, t[i].k
		R(cublasSgemm_v2(h, ARGS, &one, A, t[i].lda, B, t[i].ldb, &zero, C, t[i].ldc));
		SAY("%s", seen(C, 16));
		R(cublasSgemm_v2(h, ARGS, &zero, A, t[i].lda, B, t[i].ldb, &zero, C, t[i].ldc));
		SAY("%s", seen(C, 16));
		R(cublasSgemm_v2(h, ARGS, &zero, C, t[i].lda, B, t[i].ldb, &one, C, t[i].ldc));
		R(cublasSgemm_v2(NULL, ARGS, &one, A, t[i].lda, B, t[i].ldb, &zero, C, t[i].ldc));
		if (i < 2) {
			R(cublasSgemm_v2(h, ARGS, NULL, A, t[i].lda, B, t[i].ldb, &zero, C, t[i].ldc));
			R(cublasSgemm_v2(h, ARGS, &one, A, t[i].lda, B, t[i].ldb, NULL, C, t[i].ldc));
		}
		R(cublasDgemm_v2(h, ARGS, (const double *)host, (const double *)A, t[i].lda, (const double *)B, t[i].ldb, (const double *)host, (double *)C, t[i].ldc));
		for (int b = -1; b < 3; b++) {
			tag("gemm %zu, %d batches", i, b);
			R(cublasSgemmStridedBatched(h, ARGS, &one, A, t[i].lda, 64, B, t[i].ldb, 64, &zero, C, t[i].ldc, 64, b));
			SAY("%s", seen(C, 16));
			R(cublasSgemmStridedBatched(h, ARGS, &one, A, t[i].lda, -64, B, t[i].ldb, 64, &zero, C, t[i].ldc, 1, b));
			cudaMemset(C, 0xff, 65536);
		}
	}
	tag("by pointers");
	cudaMalloc(&pa, 64), cudaMalloc(&pb, 64), cudaMalloc(&pc, 64);
	for (int i = 0; i < 4; i++)
		as[i] = A, cs[i] = C + 64 * i;
	cudaMemcpy(pa, as, 32, cudaMemcpyHostToDevice);
	cudaMemcpy(pc, cs, 32, cudaMemcpyHostToDevice);
	for (int i = 0; i < 4; i++)
		as[i] = B;
	cudaMemcpy(pb, as, 32, cudaMemcpyHostToDevice);
	static const int sizes[] = { 1, 2, 3, 4, 7, 8, 13, 16, 32 };
	for (size_t i = 0; i < NEL(sizes); i++)
		for (int k = 0; k < 3; k++) {
			int n = sizes[i] > 8 ? 8 : sizes[i], kk = k == 0 ? 0 : k == 1 ? sizes[i] : 1;

			tag("by pointers, %d, %d", n, kk);
			R(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, kk, &one, (const float *const *)pa, 32, (const float *const *)pb, 32, &zero, (float *const *)pc, 8, 4));
			SAY("%s", seen(C, n));
			R(cublasSgemmBatched(h, CUBLAS_OP_T, CUBLAS_OP_N, n, n, kk, &one, (const float *const *)pa, 32, (const float *const *)pb, 32, &zero, (float *const *)pc, 8, 4));
			SAY("%s", seen(C, n));
			R(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, kk, &zero, (const float *const *)pa, 32, (const float *const *)pb, 32, &zero, (float *const *)pc, 8, 4));
			SAY("%s", seen(C, n));
		}
	tag("by pointers");
	R(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, NULL, 4, (const float *const *)pb, 4, &zero, (float *const *)pc, 4, 0));
	R(cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, (const float *const *)pa, 4, (const float *const *)pb, 4, &zero, (float *const *)pc, 4, -1));
	R(cudaDeviceSynchronize());
}

static void g_ex(void)
{
	static const int types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_16BF, CUDA_R_32I, CUDA_C_32F, 99 };
	static const int computes[] = { 64, 65, 68, 69, 70, 72, 74, 75, 77, 99 };
	start();
	for (size_t a = 0; a < NEL(types); a++)
		for (size_t c = 0; c < NEL(types); c++)
			for (size_t m = 0; m < NEL(computes); m++) {
				double al[2] = { 0, 0 };

				tag("Ex, %d to %d, compute %d", types[a], types[c], computes[m]);
				R(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, al, A, (cudaDataType)types[a], 16, B, (cudaDataType)types[a], 16, al, C, (cudaDataType)types[c], 16, (cublasComputeType_t)computes[m], CUBLAS_GEMM_DEFAULT));
			}
	R(cudaDeviceSynchronize());
}

static void g_levels(void)
{
	float r = 0;

	start();
	tag("level 1");
	R(cublasSdot_v2(h, 0, A, 1, B, 1, &r));
	R(cublasSdot_v2(h, -1, A, 1, B, 1, &r));
	R(cublasSdot_v2(h, 4, A, 0, B, 1, &r));
	R(cublasSdot_v2(h, 4, A, -1, B, 1, &r));
	R(cublasSdot_v2(NULL, 4, A, 1, B, 1, &r));
	R(cublasSaxpy_v2(h, 4, NULL, A, 1, B, 1));
	R(cublasSaxpy_v2(h, 0, NULL, A, 1, B, 1));
	R(cublasSaxpy_v2(h, 4, &one, A, 0, B, 0));
	R(cublasSscal_v2(h, 4, &one, A, 0));
	R(cublasSscal_v2(h, 4, &zero, C, 1));
	SAY("%s", seen(C, 4));
	int at = 77;
	R(cublasIsamax_v2(h, 0, A, 1, &at));
	SAY("%d", at);
	R(cublasIsamax_v2(h, 4, A, 0, &at));
	SAY("%d", at);
	R(cublasIsamax_v2(h, 4, C, 1, &at));
	SAY("%d", at);
	R(cublasSnrm2_v2(h, 4, A, -1, &r));
	SAY("%g", (double)r);
	R(cublasSnrm2_v2(h, 4, A, 0, &r));
	R(cublasSasum_v2(h, -4, A, 1, &r));
	SAY("%g", (double)r);
	tag("level 2");
	for (int i = 0; i < 8; i++) {
		tag("gemv %d", i);
		R(cublasSgemv_v2(h, i == 1 ? 9 : CUBLAS_OP_N, i == 2 ? -1 : i == 3 ? 0 : 4, i == 4 ? 0 : 4, &one, A, i == 5 ? 3 : 4, B, i == 6 ? 0 : 1, &zero, C, i == 7 ? 0 : 1));
		SAY("%s", seen(C, 4));
	}
	tag("level 3");
	R(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 4, &zero, A, 4, C, 4));
	SAY("%s", seen(C, 16));
	R(cublasStrsm_v2(h, 7, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 4, &one, A, 4, C, 4));
	R(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, 7, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 4, &one, A, 4, C, 4));
	R(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_FULL, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 4, &one, A, 4, C, 4));
	R(cublasStrsm_v2(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 7, 4, 4, &one, A, 4, C, 4));
	R(cublasSsyrk_v2(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 4, 0, &one, A, 4, &zero, C, 4));
	SAY("%s", seen(C, 1));
	R(cudaDeviceSynchronize());
}

static void g_pointer_mode(void)
{
	float *s = NULL;

	start();
	cudaMalloc((void **)&s, 64);
	cudaMemset(s, 0, 64);
	R(cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_DEVICE));
	R(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, s, A, 4, B, 4, s, C, 4));
	SAY("%s", seen(C, 16));
	R(cublasSdot_v2(h, 0, A, 1, B, 1, s));
	cudaMemset(s, 0xff, 64);
	R(cublasSdot_v2(h, 0, A, 1, B, 1, s));
	SAY("%s", seen(s, 1));
	R(cublasSetPointerMode_v2(h, CUBLAS_POINTER_MODE_HOST));
	R(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, s, A, 4, B, 4, s, C, 4));
	R(cudaDeviceSynchronize());
}

/* What may kill the context: a group each */
static void g_null_a(void)
{
	start();
	R(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, NULL, 4, B, 4, &zero, C, 4));
	R(cudaDeviceSynchronize());
	R(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, A, 4, B, 4, &zero, C, 4));
}

static void g_null_c(void)
{
	start();
	R(cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, A, 4, B, 4, &zero, NULL, 4));
	R(cudaDeviceSynchronize());
}

static void g_null_dot(void)
{
	float r = 0;

	start();
	R(cublasSdot_v2(h, 4, A, 1, B, 1, NULL));
	R(cublasSdot_v2(h, 4, NULL, 1, B, 1, &r));
	R(cudaDeviceSynchronize());
}

static void g_lt(void)
{
	void *lt = NULL, *desc = NULL, *a = NULL, *b = NULL, *c = NULL, *pref = NULL;
	static char results[64][96];
	int found = 7;
	size_t w = 0;
	uint64_t v[8];
	static const int types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_16BF, 28, 29 };
	static const int computes[][2] = { { 68, 0 }, { 77, 0 }, { 64, 2 }, { 70, 1 }, { 72, 10 }, { 72, 0 }, { 68, 2 }, { 74, 0 } };

	start();
	R(cublasLtCreate(NULL));
	R(cublasLtCreate(&lt));
	R(cublasLtDestroy(NULL));
	R(cublasLtMatmulDescCreate(NULL, 68, 0));
	R(cublasLtMatmulDescCreate(&desc, 999, 0));
	R(cublasLtMatmulDescCreate(&desc, 68, 999));
	R(cublasLtMatrixLayoutCreate(&a, 999, 4, 4, 4));
	R(cublasLtMatrixLayoutCreate(&a, 0, 0, 0, 0));
	R(cublasLtMatrixLayoutCreate(&a, 0, 4, 4, 3));
	R(cublasLtMatrixLayoutCreate(NULL, 0, 4, 4, 4));
	R(cublasLtMatmulPreferenceCreate(NULL));
	R(cublasLtMatmulPreferenceCreate(&pref));
	for (int i = 0; i < 14; i++) {
		tag("preference %d", i);
		R(cublasLtMatmulPreferenceGetAttribute(pref, i, v, sizeof v, &w));
		SAY("%zu bytes", w);
	}
	tag("%s", "");
	R(cublasLtMatmulDescCreate(&desc, 68, 0));
	for (int i = 0; i < 36; i++) {
		memset(v, 0, sizeof v);
		w = 0;
		tag("desc %d", i);
		R(cublasLtMatmulDescGetAttribute(desc, i, v, sizeof v, &w));
		SAY("%zu bytes, %lld", w, (long long)(int)v[0]);
		R(cublasLtMatmulDescGetAttribute(desc, i, v, 1, &w));
		R(cublasLtMatmulDescGetAttribute(desc, i, NULL, 0, &w));
	}
	R(cublasLtMatrixLayoutCreate(&a, 0, 4, 4, 4));
	for (int i = 0; i < 12; i++) {
		memset(v, 0, sizeof v);
		w = 0;
		tag("layout %d", i);
		R(cublasLtMatrixLayoutGetAttribute(a, i, v, sizeof v, &w));
		SAY("%zu bytes, %lld", w, (long long)v[0]);
	}
	tag("%s", "");
	for (size_t k = 0; k < NEL(computes); k++)
		for (size_t x = 0; x < NEL(types); x++)
			for (size_t y = 0; y < NEL(types); y++)
				for (int sh = 0; sh < 4; sh++) {
					static const int shapes[4][2] = { { 16, 16 }, { 7, 7 }, { 16, 17 }, { 1, 1 } };
					int ta = types[x] >= 28 || types[x] == CUDA_R_8I;

					if (sh && (y && y != x))
						continue;
					tag("compute %d %d, %d to %d, %d of %d", computes[k][0], computes[k][1], types[x], types[y], shapes[sh][0], shapes[sh][1]);
					desc = a = b = c = NULL;
					cublasLtMatmulDescCreate(&desc, computes[k][0], computes[k][1]);
					if (ta)
						cublasLtMatmulDescSetAttribute(desc, 3, &ta, 4);
					cublasLtMatrixLayoutCreate(&a, types[x], (uint64_t)shapes[sh][0], (uint64_t)shapes[sh][0], shapes[sh][1]);
					cublasLtMatrixLayoutCreate(&b, types[x], (uint64_t)shapes[sh][0], (uint64_t)shapes[sh][0], shapes[sh][1]);
					cublasLtMatrixLayoutCreate(&c, types[y], (uint64_t)shapes[sh][0], (uint64_t)shapes[sh][0], shapes[sh][1]);
					found = 7;
					RV(cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, c, c, pref, 1, results, &found), "%d", found);
				}
	tag("wrong");
	desc = a = b = c = NULL;
	cublasLtMatmulDescCreate(&desc, 68, 0);
	cublasLtMatrixLayoutCreate(&a, 0, 16, 8, 16);
	cublasLtMatrixLayoutCreate(&b, 0, 8, 16, 8);
	cublasLtMatrixLayoutCreate(&c, 0, 16, 16, 16);
	R(cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, c, c, pref, 0, results, &found));
	R(cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, c, c, pref, 1, NULL, &found));
	R(cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, c, c, NULL, 1, results, &found));
	R(cublasLtMatmulAlgoGetHeuristic(lt, desc, b, a, c, c, pref, 1, results, &found));
	R(cublasLtMatmulAlgoGetHeuristic(lt, desc, NULL, b, c, c, pref, 1, results, &found));
	R(cublasLtMatmulAlgoGetHeuristic(NULL, desc, a, b, c, c, pref, 1, results, &found));
	R(cublasLtMatmul(lt, desc, &one, A, a, B, b, &zero, C, c, C, c, NULL, NULL, 0, NULL));
	SAY("%s", seen(C, 256));
	R(cublasLtMatmul(lt, desc, &one, A, a, B, b, &zero, NULL, c, C, c, NULL, NULL, 0, NULL));
	R(cublasLtMatmul(lt, desc, NULL, A, a, B, b, &zero, C, c, C, c, NULL, NULL, 0, NULL));
	R(cublasLtMatmul(lt, desc, &one, A, b, B, a, &zero, C, a, C, c, NULL, NULL, 0, NULL));
	R(cublasLtMatmul(lt, desc, &one, A, a, B, b, &zero, C, c, C, c, NULL, NULL, 1 << 20, NULL));
	R(cudaDeviceSynchronize());
}

const struct group groups[] = { { "handle", g_handle }, { "gemm", g_gemm }, { "ex", g_ex }, { "levels", g_levels }, { "null_a", g_null_a }, { "null_c", g_null_c }, { "null_dot", g_null_dot }, { "pointer_mode", g_pointer_mode }, { "lt", g_lt }, { NULL, NULL } };
