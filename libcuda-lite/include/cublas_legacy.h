/* SPDX-License-Identifier: MIT */
/*
 * The calls of cuBLAS before handles (cuBLAS guide, "Using the CUBLAS Legacy API"), as one list; cublas.h declares them and blas/legacy.c
 * gives them bodies. CALL(name, (parameters), (arguments)) is one without a result, whose arguments are those of cublasNAME_v2 behind the
 * handle; VALUE(type, name, ...) is one whose result is cublasNAME_v2's last argument. Factors come by value, letters stand for what v2
 * has enumerations for: N, T, C; L, R; U, L; N, U. Matrices and vectors are in device memory, results are the host's.
 */
#define CUBLAS_LEGACY_ALL(X, T, R) \
	CALL(X##axpy, (int n, T alpha, const T *x, int incx, T *y, int incy), (n, &alpha, x, incx, y, incy)) \
	CALL(X##scal, (int n, T alpha, T *x, int incx), (n, &alpha, x, incx)) \
	CALL(X##copy, (int n, const T *x, int incx, T *y, int incy), (n, x, incx, y, incy)) \
	CALL(X##swap, (int n, T *x, int incx, T *y, int incy), (n, x, incx, y, incy)) \
	CALL(X##rot, (int n, T *x, int incx, T *y, int incy, R c, T s), (n, x, incx, y, incy, &c, &s)) \
	CALL(X##gemv, (char trans, int m, int n, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (op(trans), m, n, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##gbmv, (char trans, int m, int n, int kl, int ku, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (op(trans), m, n, kl, ku, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##trmv, (char uplo, char trans, char diag, int n, const T *A, int lda, T *x, int incx), \
	     (fill(uplo), op(trans), unit(diag), n, A, lda, x, incx)) \
	CALL(X##trsv, (char uplo, char trans, char diag, int n, const T *A, int lda, T *x, int incx), \
	     (fill(uplo), op(trans), unit(diag), n, A, lda, x, incx)) \
	CALL(X##tbmv, (char uplo, char trans, char diag, int n, int k, const T *A, int lda, T *x, int incx), \
	     (fill(uplo), op(trans), unit(diag), n, k, A, lda, x, incx)) \
	CALL(X##tbsv, (char uplo, char trans, char diag, int n, int k, const T *A, int lda, T *x, int incx), \
	     (fill(uplo), op(trans), unit(diag), n, k, A, lda, x, incx)) \
	CALL(X##tpmv, (char uplo, char trans, char diag, int n, const T *AP, T *x, int incx), (fill(uplo), op(trans), unit(diag), n, AP, x, incx)) \
	CALL(X##tpsv, (char uplo, char trans, char diag, int n, const T *AP, T *x, int incx), (fill(uplo), op(trans), unit(diag), n, AP, x, incx)) \
	CALL(X##gemm, (char transa, char transb, int m, int n, int k, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc), \
	     (op(transa), op(transb), m, n, k, &alpha, A, lda, B, ldb, &beta, C, ldc)) \
	CALL(X##symm, (char side, char uplo, int m, int n, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc), \
	     (of_side(side), fill(uplo), m, n, &alpha, A, lda, B, ldb, &beta, C, ldc)) \
	CALL(X##syrk, (char uplo, char trans, int n, int k, T alpha, const T *A, int lda, T beta, T *C, int ldc), \
	     (fill(uplo), op(trans), n, k, &alpha, A, lda, &beta, C, ldc)) \
	CALL(X##syr2k, (char uplo, char trans, int n, int k, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc), \
	     (fill(uplo), op(trans), n, k, &alpha, A, lda, B, ldb, &beta, C, ldc)) \
	CALL(X##trsm, (char side, char uplo, char transa, char diag, int m, int n, T alpha, const T *A, int lda, T *B, int ldb), \
	     (of_side(side), fill(uplo), op(transa), unit(diag), m, n, &alpha, A, lda, B, ldb)) \
	CALL(X##trmm, (char side, char uplo, char transa, char diag, int m, int n, T alpha, const T *A, int lda, T *B, int ldb), \
	     (of_side(side), fill(uplo), op(transa), unit(diag), m, n, &alpha, A, lda, B, ldb, B, ldb))

#define CUBLAS_LEGACY_REAL(X, T) \
	VALUE(T, X##dot, (int n, const T *x, int incx, const T *y, int incy), (n, x, incx, y, incy)) \
	CALL(X##rotg, (T *a, T *b, T *c, T *s), (a, b, c, s)) \
	CALL(X##rotm, (int n, T *x, int incx, T *y, int incy, const T *param), (n, x, incx, y, incy, param)) \
	CALL(X##rotmg, (T *d1, T *d2, T *x1, const T *y1, T *param), (d1, d2, x1, y1, param)) \
	CALL(X##symv, (char uplo, int n, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##sbmv, (char uplo, int n, int k, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, k, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##spmv, (char uplo, int n, T alpha, const T *AP, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, &alpha, AP, x, incx, &beta, y, incy)) \
	CALL(X##ger, (int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda), (m, n, &alpha, x, incx, y, incy, A, lda)) \
	CALL(X##syr, (char uplo, int n, T alpha, const T *x, int incx, T *A, int lda), (fill(uplo), n, &alpha, x, incx, A, lda)) \
	CALL(X##spr, (char uplo, int n, T alpha, const T *x, int incx, T *AP), (fill(uplo), n, &alpha, x, incx, AP)) \
	CALL(X##syr2, (char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda), \
	     (fill(uplo), n, &alpha, x, incx, y, incy, A, lda)) \
	CALL(X##spr2, (char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *AP), (fill(uplo), n, &alpha, x, incx, y, incy, AP))

/* XR: the letters of a call that mixes complex and real numbers */
#define CUBLAS_LEGACY_COMPLEX(X, XR, T, R) \
	VALUE(T, X##dotu, (int n, const T *x, int incx, const T *y, int incy), (n, x, incx, y, incy)) \
	VALUE(T, X##dotc, (int n, const T *x, int incx, const T *y, int incy), (n, x, incx, y, incy)) \
	CALL(XR##scal, (int n, R alpha, T *x, int incx), (n, &alpha, x, incx)) \
	CALL(XR##rot, (int n, T *x, int incx, T *y, int incy, R c, R s), (n, x, incx, y, incy, &c, &s)) \
	CALL(X##rotg, (T *a, T b, R *c, T *s), (a, &b, c, s)) \
	CALL(X##hemv, (char uplo, int n, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##hbmv, (char uplo, int n, int k, T alpha, const T *A, int lda, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, k, &alpha, A, lda, x, incx, &beta, y, incy)) \
	CALL(X##hpmv, (char uplo, int n, T alpha, const T *AP, const T *x, int incx, T beta, T *y, int incy), \
	     (fill(uplo), n, &alpha, AP, x, incx, &beta, y, incy)) \
	CALL(X##geru, (int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda), (m, n, &alpha, x, incx, y, incy, A, lda)) \
	CALL(X##gerc, (int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda), (m, n, &alpha, x, incx, y, incy, A, lda)) \
	CALL(X##her, (char uplo, int n, R alpha, const T *x, int incx, T *A, int lda), (fill(uplo), n, &alpha, x, incx, A, lda)) \
	CALL(X##hpr, (char uplo, int n, R alpha, const T *x, int incx, T *AP), (fill(uplo), n, &alpha, x, incx, AP)) \
	CALL(X##her2, (char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *A, int lda), \
	     (fill(uplo), n, &alpha, x, incx, y, incy, A, lda)) \
	CALL(X##hpr2, (char uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *AP), (fill(uplo), n, &alpha, x, incx, y, incy, AP)) \
	CALL(X##hemm, (char side, char uplo, int m, int n, T alpha, const T *A, int lda, const T *B, int ldb, T beta, T *C, int ldc), \
	     (of_side(side), fill(uplo), m, n, &alpha, A, lda, B, ldb, &beta, C, ldc)) \
	CALL(X##herk, (char uplo, char trans, int n, int k, R alpha, const T *A, int lda, R beta, T *C, int ldc), \
	     (fill(uplo), op(trans), n, k, &alpha, A, lda, &beta, C, ldc)) \
	CALL(X##her2k, (char uplo, char trans, int n, int k, T alpha, const T *A, int lda, const T *B, int ldb, R beta, T *C, int ldc), \
	     (fill(uplo), op(trans), n, k, &alpha, A, lda, B, ldb, &beta, C, ldc))

#define CUBLAS_LEGACY_NORM(X, I, T, R) \
	VALUE(R, X##nrm2, (int n, const T *x, int incx), (n, x, incx)) \
	VALUE(R, X##asum, (int n, const T *x, int incx), (n, x, incx)) \
	VALUE(int, I##amax, (int n, const T *x, int incx), (n, x, incx)) \
	VALUE(int, I##amin, (int n, const T *x, int incx), (n, x, incx))

CUBLAS_LEGACY_ALL(S, float, float)
CUBLAS_LEGACY_ALL(D, double, double)
CUBLAS_LEGACY_ALL(C, cuComplex, float)
CUBLAS_LEGACY_ALL(Z, cuDoubleComplex, double)
CUBLAS_LEGACY_REAL(S, float)
CUBLAS_LEGACY_REAL(D, double)
CUBLAS_LEGACY_COMPLEX(C, Cs, cuComplex, float)
CUBLAS_LEGACY_COMPLEX(Z, Zd, cuDoubleComplex, double)
CUBLAS_LEGACY_NORM(S, Is, float, float)
CUBLAS_LEGACY_NORM(D, Id, double, double)
CUBLAS_LEGACY_NORM(Sc, Ic, cuComplex, float)
CUBLAS_LEGACY_NORM(Dz, Iz, cuDoubleComplex, double)

#undef CUBLAS_LEGACY_ALL
#undef CUBLAS_LEGACY_REAL
#undef CUBLAS_LEGACY_COMPLEX
#undef CUBLAS_LEGACY_NORM
