/* SPDX-License-Identifier: MIT */
/*
 * cublasXt: level 3 of matrices that stand in host memory, or in the device's; a call returns when its result is there. CUBLASXT_ARGS_name(T, R)
 * are a call's arguments: T elements, R real numbers of T's size.
 */
#ifndef CUBLAS_XT_H_
#define CUBLAS_XT_H_

#include "cublas_v2.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct cublasXtContext *cublasXtHandle_t;

typedef enum { CUBLASXT_PINNING_DISABLED = 0, CUBLASXT_PINNING_ENABLED = 1 } cublasXtPinnedMemMode_t;
typedef enum { CUBLASXT_FLOAT = 0, CUBLASXT_DOUBLE = 1, CUBLASXT_COMPLEX = 2, CUBLASXT_DOUBLECOMPLEX = 3 } cublasXtOpType_t;
typedef enum {
	CUBLASXT_GEMM = 0, CUBLASXT_SYRK = 1, CUBLASXT_HERK = 2, CUBLASXT_SYMM = 3, CUBLASXT_HEMM = 4, CUBLASXT_TRSM = 5, CUBLASXT_SYR2K = 6,
	CUBLASXT_HER2K = 7, CUBLASXT_SPMM = 8, CUBLASXT_SYRKX = 9, CUBLASXT_HERKX = 10, CUBLASXT_TRMM = 11, CUBLASXT_ROUTINE_MAX = 12
} cublasXtBlasOp_t;

cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle);
cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle);
cublasStatus_t cublasXtGetNumBoards(int nbDevices, int deviceId[], int *nbBoards);
cublasStatus_t cublasXtMaxBoards(int *nbGpuBoards);
/* Once, before the first product. Any of our devices may be named; the first of them computes. */
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices, int deviceId[]);
/* How work would be split among devices, and host memory brought to them: kept, and given back. */
cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int blockDim);
cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int *blockDim);
cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t *mode);
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode);
/* A share of gemm's columns that the caller's own function (Fortran's ?gemm) computes, of matrices in host memory. */
cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type, void *blasFunctor);
cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type, float ratio);

#define CUBLASXT_ARGS_gemm(T, R) cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size_t m, size_t n, size_t k, \
	const T *alpha, const T *A, size_t lda, const T *B, size_t ldb, const T *beta, T *C, size_t ldc
#define CUBLASXT_ARGS_syrk(T, R) cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, size_t n, size_t k, const R *alpha, \
	const T *A, size_t lda, const R *beta, T *C, size_t ldc
#define CUBLASXT_ARGS_syr2k(T, R) cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, size_t n, size_t k, const T *alpha, \
	const T *A, size_t lda, const T *B, size_t ldb, const R *beta, T *C, size_t ldc
#define CUBLASXT_ARGS_symm(T, R) cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, size_t m, size_t n, const T *alpha, \
	const T *A, size_t lda, const T *B, size_t ldb, const T *beta, T *C, size_t ldc
#define CUBLASXT_ARGS_spmm(T, R) cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, size_t m, size_t n, const T *alpha, \
	const T *AP, const T *B, size_t ldb, const T *beta, T *C, size_t ldc
#define CUBLASXT_ARGS_trsm(T, R) cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
	cublasDiagType_t diag, size_t m, size_t n, const T *alpha, const T *A, size_t lda, T *B, size_t ldb
#define CUBLASXT_ARGS_trmm(T, R) cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
	cublasDiagType_t diag, size_t m, size_t n, const T *alpha, const T *A, size_t lda, const T *B, size_t ldb, T *C, size_t ldc

#define F(S, I, X, T, R, t) cublasStatus_t cublasXt##X##gemm(CUBLASXT_ARGS_gemm(T, R)); cublasStatus_t cublasXt##X##syrk(CUBLASXT_ARGS_syrk(T, T)); \
	cublasStatus_t cublasXt##X##syr2k(CUBLASXT_ARGS_syr2k(T, T)); cublasStatus_t cublasXt##X##syrkx(CUBLASXT_ARGS_syr2k(T, T)); \
	cublasStatus_t cublasXt##X##symm(CUBLASXT_ARGS_symm(T, R)); cublasStatus_t cublasXt##X##spmm(CUBLASXT_ARGS_spmm(T, R)); \
	cublasStatus_t cublasXt##X##trsm(CUBLASXT_ARGS_trsm(T, R)); cublasStatus_t cublasXt##X##trmm(CUBLASXT_ARGS_trmm(T, R));
CUBLAS_ONE_SDCZ(F)
#undef F
#define F(X, T, R) cublasStatus_t cublasXt##X##herk(CUBLASXT_ARGS_syrk(T, R)); cublasStatus_t cublasXt##X##her2k(CUBLASXT_ARGS_syr2k(T, R)); \
	cublasStatus_t cublasXt##X##herkx(CUBLASXT_ARGS_syr2k(T, R)); cublasStatus_t cublasXt##X##hemm(CUBLASXT_ARGS_symm(T, R));
F(C, cuComplex, float)
F(Z, cuDoubleComplex, double)
#undef F

#if defined(__cplusplus)
}
#endif
#endif
