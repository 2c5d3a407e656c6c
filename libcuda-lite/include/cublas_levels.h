/* SPDX-License-Identifier: MIT */
/*
 * cuBLAS's levels 1 to 3 and its small factorisations; included by cublas_api.h. Of each call there is one with int and one, whose name ends in
 * _64, with int64_t. CUBLAS_ARGS_name(I, T, R) are a call's arguments: I integers, T elements, R real numbers of T's size.
 */
#ifndef CUBLAS_LEVELS_H
#define CUBLAS_LEVELS_H

#ifndef __CUDA_BF16_H__
typedef struct { uint16_t bits; } __nv_bfloat16;
#endif

/* F(suffix, I, letter, T, R, number) for both widths of integers */
#define CUBLAS_BOTH(F, ...) F(, int, __VA_ARGS__) F(_64, int64_t, __VA_ARGS__)
#define CUBLAS_FOR_SD(F) CUBLAS_BOTH(F, S, float, float, 0) CUBLAS_BOTH(F, D, double, double, 1)
#define CUBLAS_FOR_CZ(F) CUBLAS_BOTH(F, C, cuComplex, float, 2) CUBLAS_BOTH(F, Z, cuDoubleComplex, double, 3)
#define CUBLAS_FOR_SDCZ(F) CUBLAS_FOR_SD(F) CUBLAS_FOR_CZ(F)
/* and those of which there is one width */
#define CUBLAS_ONE_SDCZ(F) \
	F(, int, S, float, float, 0) F(, int, D, double, double, 1) F(, int, C, cuComplex, float, 2) F(, int, Z, cuDoubleComplex, double, 3)

/* ---- level 1 ---- */

#define CUBLAS_ARGS_axpy(I, T, R) cublasHandle_t handle, I n, const T *alpha, const T *x, I incx, T *y, I incy
#define CUBLAS_ARGS_scal(I, T, R) cublasHandle_t handle, I n, const T *alpha, T *x, I incx
#define CUBLAS_ARGS_realscal(I, T, R) cublasHandle_t handle, I n, const R *alpha, T *x, I incx
#define CUBLAS_ARGS_copy(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, T *y, I incy
#define CUBLAS_ARGS_swap(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy
#define CUBLAS_ARGS_dot(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, const T *y, I incy, T *result
#define CUBLAS_ARGS_norm(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, R *result
#define CUBLAS_ARGS_index(I, T, R) cublasHandle_t handle, I n, const T *x, I incx, I *result
#define CUBLAS_ARGS_rot(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy, const R *c, const T *s
#define CUBLAS_ARGS_realrot(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy, const R *c, const R *s
#define CUBLAS_ARGS_rotm(I, T, R) cublasHandle_t handle, I n, T *x, I incx, T *y, I incy, const T *param
#define CUBLAS_ARGS_rotg(I, T, R) cublasHandle_t handle, T *a, T *b, R *c, T *s
#define CUBLAS_ARGS_rotmg(I, T, R) cublasHandle_t handle, T *d1, T *d2, T *x1, const T *y1, T *param

#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##axpy_v2##S(CUBLAS_ARGS_axpy(I, T, R)); cublasStatus_t cublas##X##scal_v2##S(CUBLAS_ARGS_scal(I, T, R)); \
	cublasStatus_t cublas##X##copy_v2##S(CUBLAS_ARGS_copy(I, T, R)); cublasStatus_t cublas##X##swap_v2##S(CUBLAS_ARGS_swap(I, T, R)); \
	cublasStatus_t cublas##X##rot_v2##S(CUBLAS_ARGS_rot(I, T, R));
CUBLAS_FOR_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##rotg_v2(CUBLAS_ARGS_rotg(I, T, R));
CUBLAS_ONE_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##dot_v2##S(CUBLAS_ARGS_dot(I, T, R)); cublasStatus_t cublas##X##rotm_v2##S(CUBLAS_ARGS_rotm(I, T, R));
CUBLAS_FOR_SD(F)
#undef F
cublasStatus_t cublasSrotmg_v2(CUBLAS_ARGS_rotmg(int, float, float));
cublasStatus_t cublasDrotmg_v2(CUBLAS_ARGS_rotmg(int, double, double));
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##dotu_v2##S(CUBLAS_ARGS_dot(I, T, R)); cublasStatus_t cublas##X##dotc_v2##S(CUBLAS_ARGS_dot(I, T, R));
CUBLAS_FOR_CZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##scal_v2##S(CUBLAS_ARGS_realscal(I, T, R)); cublasStatus_t cublas##X##rot_v2##S(CUBLAS_ARGS_realrot(I, T, R));
CUBLAS_BOTH(F, Cs, cuComplex, float, 2)
CUBLAS_BOTH(F, Zd, cuDoubleComplex, double, 3)
#undef F
/* letters of asum and nrm2, of iamax and iamin */
#define CUBLAS_FOR_NORMS(F) CUBLAS_FOR_SD(F) CUBLAS_BOTH(F, Sc, cuComplex, float, 2) CUBLAS_BOTH(F, Dz, cuDoubleComplex, double, 3)
#define CUBLAS_FOR_INDEX(F) \
	CUBLAS_BOTH(F, Is, float, float, 0) CUBLAS_BOTH(F, Id, double, double, 1) CUBLAS_BOTH(F, Ic, cuComplex, float, 2) CUBLAS_BOTH(F, Iz, cuDoubleComplex, double, 3)
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##asum_v2##S(CUBLAS_ARGS_norm(I, T, R)); cublasStatus_t cublas##X##nrm2_v2##S(CUBLAS_ARGS_norm(I, T, R));
CUBLAS_FOR_NORMS(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##amax_v2##S(CUBLAS_ARGS_index(I, T, R)); cublasStatus_t cublas##X##amin_v2##S(CUBLAS_ARGS_index(I, T, R));
CUBLAS_FOR_INDEX(F)
#undef F

/* types by number */
#define CUBLAS_ARGS_dotEx(I) cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx, const void *y, cudaDataType yType, I incy, \
	void *result, cudaDataType resultType, cudaDataType executionType
#define CUBLAS_ARGS_normEx(I) cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx, void *result, cudaDataType resultType, \
	cudaDataType executionType
#define CUBLAS_ARGS_indexEx(I) cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx, I *result
#define CUBLAS_ARGS_scalEx(I) cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType, void *x, cudaDataType xType, I incx, \
	cudaDataType executionType
#define CUBLAS_ARGS_axpyEx(I) cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType, const void *x, cudaDataType xType, I incx, void *y, \
	cudaDataType yType, I incy, cudaDataType executionType
#define CUBLAS_ARGS_copyEx(I) cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy
#define CUBLAS_ARGS_swapEx(I) cublasHandle_t handle, I n, void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy
#define CUBLAS_ARGS_rotEx(I) cublasHandle_t handle, I n, void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy, const void *c, \
	const void *s, cudaDataType csType, cudaDataType executionType
#define CUBLAS_ARGS_rotmEx(I) cublasHandle_t handle, I n, void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy, const void *param, \
	cudaDataType paramType, cudaDataType executionType
#define F(S, I, ...) cublasStatus_t cublasDotEx##S(CUBLAS_ARGS_dotEx(I)); cublasStatus_t cublasDotcEx##S(CUBLAS_ARGS_dotEx(I)); \
	cublasStatus_t cublasNrm2Ex##S(CUBLAS_ARGS_normEx(I)); cublasStatus_t cublasAsumEx##S(CUBLAS_ARGS_normEx(I)); \
	cublasStatus_t cublasIamaxEx##S(CUBLAS_ARGS_indexEx(I)); cublasStatus_t cublasIaminEx##S(CUBLAS_ARGS_indexEx(I)); \
	cublasStatus_t cublasScalEx##S(CUBLAS_ARGS_scalEx(I)); cublasStatus_t cublasAxpyEx##S(CUBLAS_ARGS_axpyEx(I)); \
	cublasStatus_t cublasCopyEx##S(CUBLAS_ARGS_copyEx(I)); cublasStatus_t cublasSwapEx##S(CUBLAS_ARGS_swapEx(I)); \
	cublasStatus_t cublasRotEx##S(CUBLAS_ARGS_rotEx(I)); cublasStatus_t cublasRotmEx##S(CUBLAS_ARGS_rotmEx(I));
CUBLAS_BOTH(F, 0)
#undef F
cublasStatus_t cublasRotgEx(cublasHandle_t handle, void *a, void *b, cudaDataType abType, void *c, void *s, cudaDataType csType, cudaDataType executionType);
cublasStatus_t cublasRotmgEx(cublasHandle_t handle, void *d1, cudaDataType d1Type, void *d2, cudaDataType d2Type, void *x1, cudaDataType x1Type,
	const void *y1, cudaDataType y1Type, void *param, cudaDataType paramType, cudaDataType executionType);

/* ---- level 2 ---- */

#define CUBLAS_ARGS_gemv(I, T, R) cublasHandle_t handle, cublasOperation_t trans, I m, I n, const T *alpha, const T *A, I lda, const T *x, I incx, \
	const T *beta, T *y, I incy
#define CUBLAS_ARGS_gbmv(I, T, R) cublasHandle_t handle, cublasOperation_t trans, I m, I n, I kl, I ku, const T *alpha, const T *A, I lda, const T *x, \
	I incx, const T *beta, T *y, I incy
#define CUBLAS_ARGS_trmv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, const T *A, I lda, \
	T *x, I incx
#define CUBLAS_ARGS_tbmv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, I k, const T *A, \
	I lda, T *x, I incx
#define CUBLAS_ARGS_tpmv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, const T *AP, T *x, I incx
#define CUBLAS_ARGS_symv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *A, I lda, const T *x, I incx, \
	const T *beta, T *y, I incy
#define CUBLAS_ARGS_sbmv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, I k, const T *alpha, const T *A, I lda, const T *x, I incx, \
	const T *beta, T *y, I incy
#define CUBLAS_ARGS_spmv(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *AP, const T *x, I incx, const T *beta, \
	T *y, I incy
#define CUBLAS_ARGS_ger(I, T, R) cublasHandle_t handle, I m, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *A, I lda
#define CUBLAS_ARGS_syr(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, T *A, I lda
#define CUBLAS_ARGS_her(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const R *alpha, const T *x, I incx, T *A, I lda
#define CUBLAS_ARGS_hpr(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const R *alpha, const T *x, I incx, T *AP
#define CUBLAS_ARGS_syr2(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *A, I lda
#define CUBLAS_ARGS_spr2(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, const T *y, I incy, T *AP
/* T of what is read, U of what is written, R of factors */
#define CUBLAS_ARGS_gemvBatched(I, T, U, R) cublasHandle_t handle, cublasOperation_t trans, I m, I n, const R *alpha, const T *const Aarray[], I lda, \
	const T *const xarray[], I incx, const R *beta, U *const yarray[], I incy, I count
#define CUBLAS_ARGS_gemvStrided(I, T, U, R) cublasHandle_t handle, cublasOperation_t trans, I m, I n, const R *alpha, const T *A, I lda, \
	long long strideA, const T *x, I incx, long long stridex, const R *beta, U *y, I incy, long long stridey, I count

#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##gemv_v2##S(CUBLAS_ARGS_gemv(I, T, R)); cublasStatus_t cublas##X##gbmv_v2##S(CUBLAS_ARGS_gbmv(I, T, R)); \
	cublasStatus_t cublas##X##trmv_v2##S(CUBLAS_ARGS_trmv(I, T, R)); cublasStatus_t cublas##X##trsv_v2##S(CUBLAS_ARGS_trmv(I, T, R)); \
	cublasStatus_t cublas##X##tbmv_v2##S(CUBLAS_ARGS_tbmv(I, T, R)); cublasStatus_t cublas##X##tbsv_v2##S(CUBLAS_ARGS_tbmv(I, T, R)); \
	cublasStatus_t cublas##X##tpmv_v2##S(CUBLAS_ARGS_tpmv(I, T, R)); cublasStatus_t cublas##X##tpsv_v2##S(CUBLAS_ARGS_tpmv(I, T, R)); \
	cublasStatus_t cublas##X##symv_v2##S(CUBLAS_ARGS_symv(I, T, R)); cublasStatus_t cublas##X##syr_v2##S(CUBLAS_ARGS_syr(I, T, R)); \
	cublasStatus_t cublas##X##syr2_v2##S(CUBLAS_ARGS_syr2(I, T, R));
CUBLAS_FOR_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##ger_v2##S(CUBLAS_ARGS_ger(I, T, R)); cublasStatus_t cublas##X##sbmv_v2##S(CUBLAS_ARGS_sbmv(I, T, R)); \
	cublasStatus_t cublas##X##spmv_v2##S(CUBLAS_ARGS_spmv(I, T, R)); cublasStatus_t cublas##X##spr_v2##S(CUBLAS_ARGS_hpr(I, T, T)); \
	cublasStatus_t cublas##X##spr2_v2##S(CUBLAS_ARGS_spr2(I, T, R));
CUBLAS_FOR_SD(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##geru_v2##S(CUBLAS_ARGS_ger(I, T, R)); cublasStatus_t cublas##X##gerc_v2##S(CUBLAS_ARGS_ger(I, T, R)); \
	cublasStatus_t cublas##X##hemv_v2##S(CUBLAS_ARGS_symv(I, T, R)); cublasStatus_t cublas##X##hbmv_v2##S(CUBLAS_ARGS_sbmv(I, T, R)); \
	cublasStatus_t cublas##X##hpmv_v2##S(CUBLAS_ARGS_spmv(I, T, R)); cublasStatus_t cublas##X##her_v2##S(CUBLAS_ARGS_her(I, T, R)); \
	cublasStatus_t cublas##X##hpr_v2##S(CUBLAS_ARGS_hpr(I, T, R)); cublasStatus_t cublas##X##her2_v2##S(CUBLAS_ARGS_syr2(I, T, R)); \
	cublasStatus_t cublas##X##hpr2_v2##S(CUBLAS_ARGS_spr2(I, T, R));
CUBLAS_FOR_CZ(F)
#undef F
/* F(suffix, I, letters, T, U, R, number of T, number of kernel) */
#define CUBLAS_FOR_GEMV(F) \
	CUBLAS_BOTH(F, S, float, float, float, 0, 0) CUBLAS_BOTH(F, D, double, double, double, 1, 1) CUBLAS_BOTH(F, C, cuComplex, cuComplex, cuComplex, 2, 2) \
	CUBLAS_BOTH(F, Z, cuDoubleComplex, cuDoubleComplex, cuDoubleComplex, 3, 3) CUBLAS_BOTH(F, HSH, __half, __half, float, 4, 4) \
	CUBLAS_BOTH(F, HSS, __half, float, float, 4, 6) CUBLAS_BOTH(F, TST, __nv_bfloat16, __nv_bfloat16, float, 5, 5) \
	CUBLAS_BOTH(F, TSS, __nv_bfloat16, float, float, 5, 7)
#define F(S, I, X, T, U, R, t, k) cublasStatus_t cublas##X##gemvBatched##S(CUBLAS_ARGS_gemvBatched(I, T, U, R)); \
	cublasStatus_t cublas##X##gemvStridedBatched##S(CUBLAS_ARGS_gemvStrided(I, T, U, R));
CUBLAS_FOR_GEMV(F)
#undef F

/* ---- level 3 ---- */

#define CUBLAS_ARGS_gemm(I, T, R) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha, const T *A, \
	I lda, const T *B, I ldb, const T *beta, T *C, I ldc
#define CUBLAS_ARGS_gemmBatched(I, T, R) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha, \
	const T *const A[], I lda, const T *const B[], I ldb, const T *beta, T *const C[], I ldc, I count
#define CUBLAS_ARGS_gemmStrided(I, T, R) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T *alpha, \
	const T *A, I lda, long long strideA, const T *B, I ldb, long long strideB, const T *beta, T *C, I ldc, long long strideC, I count
#define CUBLAS_ARGS_gemmTyped(I, R) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const R *alpha, const void *A, \
	cudaDataType Atype, I lda, const void *B, cudaDataType Btype, I ldb, const R *beta, void *C, cudaDataType Ctype, I ldc
#define CUBLAS_ARGS_gemmEx(I) CUBLAS_ARGS_gemmTyped(I, void), cublasComputeType_t compute, cublasGemmAlgo_t algo
#define CUBLAS_ARGS_gemmBatchedEx(I) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const void *alpha, \
	const void *const A[], cudaDataType Atype, I lda, const void *const B[], cudaDataType Btype, I ldb, const void *beta, void *const C[], \
	cudaDataType Ctype, I ldc, I count, cublasComputeType_t compute, cublasGemmAlgo_t algo
#define CUBLAS_ARGS_gemmStridedEx(I) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const void *alpha, \
	const void *A, cudaDataType Atype, I lda, long long strideA, const void *B, cudaDataType Btype, I ldb, long long strideB, const void *beta, void *C, \
	cudaDataType Ctype, I ldc, long long strideC, I count, cublasComputeType_t compute, cublasGemmAlgo_t algo
#define CUBLAS_ARGS_gemmGrouped(I, T, R) cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const I m[], \
	const I n[], const I k[], const T alpha[], const T *const A[], const I lda[], const T *const B[], const I ldb[], const T beta[], T *const C[], \
	const I ldc[], I groups, const I sizes[]
#define CUBLAS_ARGS_gemmGroupedEx(I) cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const I m[], \
	const I n[], const I k[], const void *alpha, const void *const A[], cudaDataType Atype, const I lda[], const void *const B[], cudaDataType Btype, \
	const I ldb[], const void *beta, void *const C[], cudaDataType Ctype, const I ldc[], I groups, const I sizes[], cublasComputeType_t compute
#define CUBLAS_ARGS_trsm(I, T, R) cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, \
	I m, I n, const T *alpha, const T *A, I lda, T *B, I ldb
#define CUBLAS_ARGS_trsmBatched(I, T, R) cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
	cublasDiagType_t diag, I m, I n, const T *alpha, const T *const A[], I lda, T *const B[], I ldb, I count
#define CUBLAS_ARGS_trmm(I, T, R) cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, \
	I m, I n, const T *alpha, const T *A, I lda, const T *B, I ldb, T *C, I ldc
#define CUBLAS_ARGS_symm(I, T, R) cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n, const T *alpha, const T *A, I lda, \
	const T *B, I ldb, const T *beta, T *C, I ldc
#define CUBLAS_ARGS_syrk(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const R *alpha, const T *A, I lda, \
	const R *beta, T *C, I ldc
#define CUBLAS_ARGS_syr2k(I, T, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T *alpha, const T *A, I lda, \
	const T *B, I ldb, const R *beta, T *C, I ldc
#define CUBLAS_ARGS_syrkEx(I, R) cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const R *alpha, const void *A, \
	cudaDataType Atype, I lda, const R *beta, void *C, cudaDataType Ctype, I ldc
#define CUBLAS_ARGS_geam(I, T, R) cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, const T *alpha, const T *A, I lda, \
	const T *beta, const T *B, I ldb, T *C, I ldc
#define CUBLAS_ARGS_dgmm(I, T, R) cublasHandle_t handle, cublasSideMode_t mode, I m, I n, const T *A, I lda, const T *x, I incx, T *C, I ldc

#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##trsm_v2##S(CUBLAS_ARGS_trsm(I, T, R)); cublasStatus_t cublas##X##trsmBatched##S(CUBLAS_ARGS_trsmBatched(I, T, R)); \
	cublasStatus_t cublas##X##gemm_v2##S(CUBLAS_ARGS_gemm(I, T, R)); cublasStatus_t cublas##X##gemmBatched##S(CUBLAS_ARGS_gemmBatched(I, T, R)); \
	cublasStatus_t cublas##X##gemmStridedBatched##S(CUBLAS_ARGS_gemmStrided(I, T, R)); cublasStatus_t cublas##X##trmm_v2##S(CUBLAS_ARGS_trmm(I, T, R)); \
	cublasStatus_t cublas##X##symm_v2##S(CUBLAS_ARGS_symm(I, T, R)); cublasStatus_t cublas##X##syrk_v2##S(CUBLAS_ARGS_syrk(I, T, T)); \
	cublasStatus_t cublas##X##syr2k_v2##S(CUBLAS_ARGS_syr2k(I, T, T)); cublasStatus_t cublas##X##syrkx##S(CUBLAS_ARGS_syr2k(I, T, T)); \
	cublasStatus_t cublas##X##geam##S(CUBLAS_ARGS_geam(I, T, R)); cublasStatus_t cublas##X##dgmm##S(CUBLAS_ARGS_dgmm(I, T, R));
CUBLAS_FOR_SDCZ(F)
#undef F
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##hemm_v2##S(CUBLAS_ARGS_symm(I, T, R)); cublasStatus_t cublas##X##herk_v2##S(CUBLAS_ARGS_syrk(I, T, R)); \
	cublasStatus_t cublas##X##her2k_v2##S(CUBLAS_ARGS_syr2k(I, T, R)); cublasStatus_t cublas##X##herkx##S(CUBLAS_ARGS_syr2k(I, T, R)); \
	cublasStatus_t cublas##X##gemm3m##S(CUBLAS_ARGS_gemm(I, T, R));
CUBLAS_FOR_CZ(F)
#undef F
#define F(S, I, ...) \
	cublasStatus_t cublasHgemm##S(CUBLAS_ARGS_gemm(I, __half, float)); cublasStatus_t cublasHgemmBatched##S(CUBLAS_ARGS_gemmBatched(I, __half, float)); \
	cublasStatus_t cublasHgemmStridedBatched##S(CUBLAS_ARGS_gemmStrided(I, __half, float)); \
	cublasStatus_t cublasCgemm3mBatched##S(CUBLAS_ARGS_gemmBatched(I, cuComplex, float)); \
	cublasStatus_t cublasCgemm3mStridedBatched##S(CUBLAS_ARGS_gemmStrided(I, cuComplex, float)); \
	cublasStatus_t cublasSgemmEx##S(CUBLAS_ARGS_gemmTyped(I, float)); cublasStatus_t cublasCgemmEx##S(CUBLAS_ARGS_gemmTyped(I, cuComplex)); \
	cublasStatus_t cublasCgemm3mEx##S(CUBLAS_ARGS_gemmTyped(I, cuComplex)); cublasStatus_t cublasGemmEx##S(CUBLAS_ARGS_gemmEx(I)); \
	cublasStatus_t cublasGemmBatchedEx##S(CUBLAS_ARGS_gemmBatchedEx(I)); cublasStatus_t cublasGemmStridedBatchedEx##S(CUBLAS_ARGS_gemmStridedEx(I)); \
	cublasStatus_t cublasSgemmGroupedBatched##S(CUBLAS_ARGS_gemmGrouped(I, float, float)); \
	cublasStatus_t cublasDgemmGroupedBatched##S(CUBLAS_ARGS_gemmGrouped(I, double, double)); \
	cublasStatus_t cublasGemmGroupedBatchedEx##S(CUBLAS_ARGS_gemmGroupedEx(I)); \
	cublasStatus_t cublasCsyrkEx##S(CUBLAS_ARGS_syrkEx(I, cuComplex)); cublasStatus_t cublasCsyrk3mEx##S(CUBLAS_ARGS_syrkEx(I, cuComplex)); \
	cublasStatus_t cublasCherkEx##S(CUBLAS_ARGS_syrkEx(I, float)); cublasStatus_t cublasCherk3mEx##S(CUBLAS_ARGS_syrkEx(I, float));
CUBLAS_BOTH(F, 0)
#undef F

/* ---- small matrices by arrays of pointers, and what moves data ---- */

#define CUBLAS_ARGS_getrf(T) cublasHandle_t handle, int n, T *const A[], int lda, int *P, int *info, int count
#define CUBLAS_ARGS_getrs(T) cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs, const T *const A[], int lda, const int *P, T *const B[], \
	int ldb, int *info, int count
#define CUBLAS_ARGS_getri(T) cublasHandle_t handle, int n, const T *const A[], int lda, const int *P, T *const C[], int ldc, int *info, int count
#define CUBLAS_ARGS_matinv(T) cublasHandle_t handle, int n, const T *const A[], int lda, T *const Ainv[], int lda_inv, int *info, int count
#define CUBLAS_ARGS_geqrf(T) cublasHandle_t handle, int m, int n, T *const A[], int lda, T *const Tau[], int *info, int count
#define CUBLAS_ARGS_gels(T) cublasHandle_t handle, cublasOperation_t trans, int m, int n, int nrhs, T *const A[], int lda, T *const C[], int ldc, \
	int *info, int *devInfoArray, int count
#define F(S, I, X, T, R, t) cublasStatus_t cublas##X##getrfBatched(CUBLAS_ARGS_getrf(T)); cublasStatus_t cublas##X##getrsBatched(CUBLAS_ARGS_getrs(T)); \
	cublasStatus_t cublas##X##getriBatched(CUBLAS_ARGS_getri(T)); cublasStatus_t cublas##X##matinvBatched(CUBLAS_ARGS_matinv(T)); \
	cublasStatus_t cublas##X##geqrfBatched(CUBLAS_ARGS_geqrf(T)); cublasStatus_t cublas##X##gelsBatched(CUBLAS_ARGS_gels(T)); \
	cublasStatus_t cublas##X##tpttr(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T *AP, T *A, int lda); \
	cublasStatus_t cublas##X##trttp(cublasHandle_t handle, cublasFillMode_t uplo, int n, const T *A, int lda, T *AP);
CUBLAS_ONE_SDCZ(F)
#undef F
#define F(S, I, ...) \
	cublasStatus_t cublasSetVector##S(I n, I size, const void *x, I incx, void *y, I incy); \
	cublasStatus_t cublasGetVector##S(I n, I size, const void *x, I incx, void *y, I incy); \
	cublasStatus_t cublasSetMatrix##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb); \
	cublasStatus_t cublasGetMatrix##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb); \
	cublasStatus_t cublasSetVectorAsync##S(I n, I size, const void *x, I incx, void *y, I incy, cudaStream_t stream); \
	cublasStatus_t cublasGetVectorAsync##S(I n, I size, const void *x, I incx, void *y, I incy, cudaStream_t stream); \
	cublasStatus_t cublasSetMatrixAsync##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb, cudaStream_t stream); \
	cublasStatus_t cublasGetMatrixAsync##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb, cudaStream_t stream);
CUBLAS_BOTH(F, 0)
#undef F
#endif
