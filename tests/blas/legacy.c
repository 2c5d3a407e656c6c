/* SPDX-License-Identifier: MIT */
/*
 * The calls of cuBLAS without a handle (cublas.h) against OpenBLAS's Fortran names, which take the same letters: every call, in all its types,
 * with random shapes, steps and letters in both cases. Whole buffers are compared. Errors are kept until they are asked for.
 *   legacy [ROUNDS]
 */
#include <cblas.h>
#include <complex.h>
#include <cublas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 24                         /* of the largest matrix */
#define BUF (SIDE * SIDE * 2)           /* numbers of a buffer, gaps and steps among them */

static unsigned long long state = 88172645463325252ull, checks, failures;

static unsigned rnd(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}
static double unit(void) { return (double)(int)(rnd(2001) - 1000) / 1000; }
static char pick(const char *letters) { return letters[rnd((unsigned)strlen(letters))]; }
static int inc(void) { return (int[]){ 1, 1, 2, -1, -2 }[rnd(5)]; }

static void must(const char *what, int got, int want)
{
	checks++;
	if (got != want && failures++ < 20)
		printf("FAIL legacy: %s gave %d, not %d\n", what, got, want);
}

/* One call's arguments: the same on both sides. */
static struct { int m, n, k, kl, ku, lda, ldb, ldc, ix, iy; char ta, tb, ul, di, si; } a;

static void arguments(const char *ops)
{
	a.m = 1 + (int)rnd(SIDE - 4);
	a.n = 1 + (int)rnd(SIDE - 4);
	a.k = 1 + (int)rnd(SIDE - 4);
	a.kl = (int)rnd(4);
	a.ku = (int)rnd(4);
	a.lda = a.ldb = a.ldc = SIDE - (int)rnd(3);
	a.ix = inc();
	a.iy = inc();
	a.ta = pick(ops);
	a.tb = pick(ops);
	a.ul = pick("ULul");
	a.di = pick("UNun");
	a.si = pick("LRlr");
}

static cuComplex by_C(float complex v) { return (cuComplex){ crealf(v), cimagf(v) }; }
static cuDoubleComplex by_Z(double complex v) { return (cuDoubleComplex){ creal(v), cimag(v) }; }

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c) CAT_(a, b, c)
#define CUB(f) CAT(cublas, X, f)
#define FOR(f) CAT(x, f, _)
/* A call here and there, then all three buffers. Fortran takes pointers alone, so that dots and a prototype pass them alike. */
#define SAME(f, ops, here, there) do { \
	CAT(fresh_, X, )(ops); \
	CUB(f) here; \
	{ extern void FOR(f)(const void *, ...); FOR(f) there; } \
	CAT(same_, X, )(#f); \
} while (0)
/* The three buffers here and there, of the type at hand. */
#define hA CAT(host_, X, )[0]
#define hB CAT(host_, X, )[1]
#define hC CAT(host_, X, )[2]
#define dA (void *)CAT(dev_, X, )[0]
#define dB (void *)CAT(dev_, X, )[1]
#define dC (void *)CAT(dev_, X, )[2]
#define ANY "NTCntc"
#define FACTORS T al = CAT(value_, X, )(), be = CAT(value_, X, )()

#define T float
#define R float
#define BY(v) (v)
#define X S
#define x s
#define PARTS 1
#include "legacy_type.h"
#include "legacy_real.h"
#undef T
#undef R
#undef X
#undef x
#define T double
#define R double
#define X D
#define x d
#include "legacy_type.h"
#include "legacy_real.h"
#undef T
#undef R
#undef X
#undef x
#undef BY
#undef PARTS
#define PARTS 2
#define T float complex
#define R float
#define BY(v) by_C(v)
#define V cuComplex
#define X C
#define x c
#define XR Cs
#define xr cs
#define XN Sc
#define xn sc
#define XI Ic
#define xi ic
#include "legacy_type.h"
#include "legacy_complex.h"
#undef T
#undef R
#undef BY
#undef V
#undef X
#undef x
#undef XR
#undef xr
#undef XN
#undef xn
#undef XI
#undef xi
#define T double complex
#define R double
#define BY(v) by_Z(v)
#define V cuDoubleComplex
#define X Z
#define x z
#define XR Zd
#define xr zd
#define XN Dz
#define xn dz
#define XI Iz
#define xi iz
#include "legacy_type.h"
#include "legacy_complex.h"

static void errors(void)
{
	void *p = NULL;
	int version = 0;

	must("Shutdown", cublasShutdown(), CUBLAS_STATUS_SUCCESS);
	must("Shutdown twice", cublasShutdown(), CUBLAS_STATUS_NOT_INITIALIZED);
	must("GetError", cublasGetError(), CUBLAS_STATUS_NOT_INITIALIZED);
	must("GetError again", cublasGetError(), CUBLAS_STATUS_SUCCESS);
	must("Alloc without Init", cublasAlloc(1, 4, &p), CUBLAS_STATUS_NOT_INITIALIZED);
	must("snrm2 without Init", cublasSnrm2(4, NULL, 1) == 0, 1);
	must("GetError", cublasGetError(), CUBLAS_STATUS_NOT_INITIALIZED);
	must("Init", cublasInit(), CUBLAS_STATUS_SUCCESS);
	must("Init twice", cublasInit(), CUBLAS_STATUS_SUCCESS);
	must("Alloc of none", cublasAlloc(0, 4, &p), CUBLAS_STATUS_INVALID_VALUE);
	must("Alloc", cublasAlloc(64, 4, &p), CUBLAS_STATUS_SUCCESS);
	(void)cublasGetError();
	cublasSgemm('X', 'N', 2, 2, 2, 1, p, 2, p, 2, 0, p, 2);
	must("a letter that is none", cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
	cublasSgemm('n', 'T', 2, 2, 2, 1, p, 1, p, 2, 0, p, 2);
	must("a leading dimension below the rows", cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
	cublasSgemm('n', 't', 2, 2, 2, 1, p, 2, p, 2, 0, p, 2);
	must("a good one", cublasGetError(), CUBLAS_STATUS_SUCCESS);
	must("GetVersion", cublasGetVersion(&version), CUBLAS_STATUS_SUCCESS);
	must("SetKernelStream", cublasSetKernelStream(NULL), CUBLAS_STATUS_SUCCESS);
	must("Free", cublasFree(p), CUBLAS_STATUS_SUCCESS);
	must("Free of NULL", cublasFree(NULL), CUBLAS_STATUS_SUCCESS);
	must("DeviceReset", (int)cudaDeviceReset(), cudaSuccess);
	must("Alloc behind a reset", cublasAlloc(64, 4, &p), CUBLAS_STATUS_NOT_INITIALIZED);
	must("Init behind a reset", cublasInit(), CUBLAS_STATUS_SUCCESS);
	must("Alloc behind it", cublasAlloc(64, 4, &p), CUBLAS_STATUS_SUCCESS);
	must("cudaFree of what it gave", (int)cudaFree(p), cudaSuccess);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 8;
	cublasHandle_t handle;
	void *p;

	/* the thread stays where the first handle brought it, so that the runtime finds it there */
	must("Create", cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
	must("Destroy", cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
	must("DeviceReset", (int)cudaDeviceReset(), cudaSuccess);
	must("Create behind a reset", cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
	must("Destroy", cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
	must("Malloc behind a handle", (int)cudaMalloc(&p, 64), cudaSuccess);
	must("Init", cublasInit(), CUBLAS_STATUS_SUCCESS);
	for (int i = 0; i < rounds; i++) {
		all_S();
		real_S();
		all_D();
		real_D();
		all_C();
		complex_C();
		all_Z();
		complex_Z();
	}
	must("GetError", cublasGetError(), CUBLAS_STATUS_SUCCESS);
	errors();
	if (failures)
		return 1;
	printf("ok legacy: %llu results as OpenBLAS's\n", checks);
	return 0;
}
