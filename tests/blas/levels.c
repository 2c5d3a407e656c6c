/* SPDX-License-Identifier: MIT */
/*
 * Levels 1 to 3 and the small factorisations of libcublas against OpenBLAS and its LAPACK: every call in all four types, both widths of
 * integers and both pointer modes, with random shapes, steps (backwards too), leading dimensions with a gap, triangles, transpositions. Whole
 * buffers are compared, so that nothing is written where nothing belongs; what a triangle leaves out is NaN on the device's side.
 *   levels [-s SEED] [-n ROUNDS]
 */
#include <cblas.h>
#include <cublasXt.h>
#include <cuda_runtime_api.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cublasHandle_t handle;
static unsigned long long state = 88172645463325252ull;
static unsigned long long checks, failures;
static int device_mode, wide;
static char *scalars;                   /* device memory for factors */
static size_t scalar_at;

static unsigned rnd(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}
static double unit(void) { return (double)(int)(rnd(2001) - 1000) / 1000; }
static int inc(void) { return (int[]){ 1, 1, 2, 3, -1, -2 }[rnd(6)]; }
static int inc_up(void) { return 1 + (int)rnd(3); }

#define CK(call) \
	do { \
		int r_ = (int)(call); \
		if (r_) { \
			printf("FAIL levels:%d: %s gave %d\n", __LINE__, #call, r_); \
			exit(1); \
		} \
	} while (0)

/* A factor where the pointer mode wants it. */
static const void *factor(const void *p, size_t bytes)
{
	void *at = scalars + (scalar_at += 64) % 65536;

	if (!device_mode)
		return p;
	CK(cudaMemcpy(at, p, bytes, cudaMemcpyHostToDevice));
	return at;
}
#define P(v) ((void *)(uintptr_t)factor(&(v), sizeof(v)))
/* a call in either width: BOTHX and BOTH_ of levels_type.h */

static void modes(void)
{
	device_mode = (int)rnd(2);
	wide = (int)rnd(2);
	CK(cublasSetPointerMode(handle, device_mode ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
}

static void *device(const void *host, size_t bytes)
{
	void *d;

	CK(cudaMalloc(&d, bytes + 64));
	CK(cudaMemcpy(d, host, bytes, cudaMemcpyHostToDevice));
	return d;
}

static void complain(const char *what, size_t i, double got, double want)
{
	if (failures++ < 20)
		printf("FAIL levels: %s: number %zu is %.9g, not %.9g\n", what, i, got, want);
}

/* Real numbers, of 4 or 8 bytes; what both call NaN is left alone. */
static void same(const char *what, const void *got, const void *want, size_t n, size_t bytes, double tol)
{
	for (size_t i = 0; i < n; i++) {
		double g = bytes == 4 ? (double)((const float *)got)[i] : ((const double *)got)[i];
		double w = bytes == 4 ? (double)((const float *)want)[i] : ((const double *)want)[i];

		if (isnan(g) && isnan(w))
			continue;
		if (!(fabs(g - w) <= tol * (1 + fabs(w)))) {
			complain(what, i, g, w);
			break;
		}
	}
	checks++;
}

static void same_on_device(const char *what, void *d, const void *want, size_t n, size_t bytes, double tol)
{
	void *got = malloc(n * bytes + 1);

	CK(cudaMemcpy(got, d, n * bytes, cudaMemcpyDeviceToHost));
	same(what, got, want, n, bytes, tol);
	CK(cudaFree(d));
	free(got);
}

static cublasOperation_t ops[] = { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
static CBLAS_TRANSPOSE cops[] = { CblasNoTrans, CblasTrans, CblasConjTrans };
static CBLAS_UPLO cuplo[] = { CblasLower, CblasUpper };
static CBLAS_DIAG cdiag[] = { CblasNonUnit, CblasUnit };
static CBLAS_SIDE cside[] = { CblasLeft, CblasRight };

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(a, CAT(b, c))

#define X S
#define TYPE 0
#define NU(f) cublasS##f
#define NB(f) cblas_s##f
#define x s
#define T float
#define REAL float
#define TOL 3e-5
#include "levels_type.h"
#define X D
#define TYPE 1
#define NU(f) cublasD##f
#define NB(f) cblas_d##f
#define x d
#define T double
#define REAL double
#define TOL 1e-12
#include "levels_type.h"
#define COMPLEX
#define X C
#define TYPE 2
#define NU(f) cublasSc##f
#define NB(f) cblas_sc##f
#define x c
#define T float _Complex
#define REAL float
#define TOL 3e-5
#include "levels_type.h"
#define X Z
#define TYPE 3
#define NU(f) cublasDz##f
#define NB(f) cblas_dz##f
#define x z
#define T double _Complex
#define REAL double
#define TOL 1e-12
#include "levels_type.h"

#include "levels_more.h"

/* cublasXt: what a handle is asked, then a round of every product */
static void xt_rounds(int rounds)
{
	cublasXtHandle_t xt, other;
	cublasXtPinnedMemMode_t pinning;
	int device0 = 0, none = 99, twice[] = { 0, 0 }, number = 0;
	float one[1] = { 1 };

	CK(cublasXtCreate(&xt));
	CK(cublasXtCreate(&other));
	CK(cublasXtDestroy(other));
	if (cublasXtDestroy(other) != CUBLAS_STATUS_NOT_INITIALIZED ||
	    cublasXtSgemm(xt, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, one, one, 1, one, 1, one, one, 1) != CUBLAS_STATUS_NOT_INITIALIZED ||
	    cublasXtDeviceSelect(xt, 1, &none) != CUBLAS_STATUS_INVALID_VALUE || cublasXtDeviceSelect(xt, 2, twice) != CUBLAS_STATUS_INVALID_VALUE ||
	    cublasXtSetBlockDim(xt, 0) != CUBLAS_STATUS_INVALID_VALUE || cublasXtSetCpuRatio(xt, CUBLASXT_GEMM, CUBLASXT_FLOAT, 2) !=
	    CUBLAS_STATUS_INVALID_VALUE || cublasXtSetCpuRatio(xt, CUBLASXT_TRSM, CUBLASXT_FLOAT, 0.5f) != CUBLAS_STATUS_NOT_SUPPORTED)
		complain("cublasXt's handles", 0, 0, 1);
	CK(cublasXtDeviceSelect(xt, 1, &device0));
	CK(cublasXtMaxBoards(&number));
	CK(cublasXtGetNumBoards(1, &device0, &number));
	if (number != 1)
		complain("boards", 0, number, 1);
	CK(cublasXtSetBlockDim(xt, 512));
	CK(cublasXtGetBlockDim(xt, &number));
	CK(cublasXtSetPinningMemMode(xt, CUBLASXT_PINNING_ENABLED));
	CK(cublasXtGetPinningMemMode(xt, &pinning));
	if (number != 512 || pinning != CUBLASXT_PINNING_ENABLED)
		complain("what was set", 0, number, 512);
	for (int i = 0; i < rounds; i++) {
		xt_S(xt);
		xt_D(xt);
		xt_C(xt);
		xt_Z(xt);
	}
	CK(cublasXtDestroy(xt));
}

int main(int argc, char **argv)
{
	int rounds = 12, o;

	while ((o = getopt(argc, argv, "s:n:")) >= 0)
		if (o == 's')
			state = strtoull(optarg, NULL, 0) * 2654435761u + 88172645463325252ull;
		else if (o == 'n')
			rounds = atoi(optarg);
		else
			return 2;
	openblas_set_num_threads(1);    /* its trsv by threads crashes now and then (0.3.21) */
	CK(cublasCreate(&handle));
	CK(cudaMalloc((void **)&scalars, 65536 + 64));
	for (int i = 0; i < rounds; i++) {
		all_S();
		all_D();
		all_C();
		all_Z();
	}
	more();
	xt_rounds(2 * rounds);
	CK(cublasDestroy(handle));
	if (failures)
		return 1;
	printf("ok levels: %llu results as OpenBLAS's\n", checks);
	return 0;
}
