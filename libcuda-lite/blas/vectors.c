/* SPDX-License-Identifier: MIT */
/* Vectors and matrices between host and device: copies of rectangles, with steps and leading dimensions on both sides. */
#include "levels.h"

enum way { TO_DEVICE, TO_HOST };

/* rows by cols elements; apart bytes from a column to the next one */
static cublasStatus_t copy(enum way way, long long rows, long long cols, long long size, const void *from, long long from_apart, void *to,
			   long long to_apart, bool wait, CUstream stream)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = (size_t)(rows * size), .Height = (size_t)cols, .srcPitch = (size_t)from_apart, .dstPitch = (size_t)to_apart };
	CUresult r;

	if (way == TO_DEVICE) {
		c.srcMemoryType = CU_MEMORYTYPE_HOST;
		c.srcHost = from;
		c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
		c.dstDevice = (CUdeviceptr)to;
	} else {
		c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
		c.srcDevice = (CUdeviceptr)from;
		c.dstMemoryType = CU_MEMORYTYPE_HOST;
		c.dstHost = to;
	}
	r = wait ? cuMemcpy2DUnaligned(&c) : cuMemcpy2DAsync(&c, stream);
	return r == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : r == CUDA_ERROR_INVALID_VALUE ? CUBLAS_STATUS_MAPPING_ERROR : blas_status(r);
}

static cublasStatus_t vector(enum way way, long long n, long long size, const void *x, long long incx, void *y, long long incy, bool wait, CUstream s)
{
	if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	if (!x || !y)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (incx == 1 && incy == 1)
		return copy(way, n, 1, size, x, n * size, y, n * size, wait, s);
	return copy(way, 1, n, size, x, incx * size, y, incy * size, wait, s);
}

static cublasStatus_t matrix(enum way way, long long rows, long long cols, long long size, const void *a, long long lda, void *b, long long ldb, bool wait,
			     CUstream s)
{
	if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows || lda <= 0 || ldb <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!rows || !cols)
		return CUBLAS_STATUS_SUCCESS;
	if (!a || !b)
		return CUBLAS_STATUS_INVALID_VALUE;
	return copy(way, rows, cols, size, a, lda * size, b, ldb * size, wait, s);
}

#define F(S, I, ...) \
	cublasStatus_t cublasSetVector##S(I n, I size, const void *x, I incx, void *y, I incy) \
	{ return vector(TO_DEVICE, n, size, x, incx, y, incy, true, NULL); } \
	cublasStatus_t cublasGetVector##S(I n, I size, const void *x, I incx, void *y, I incy) \
	{ return vector(TO_HOST, n, size, x, incx, y, incy, true, NULL); } \
	cublasStatus_t cublasSetMatrix##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb) \
	{ return matrix(TO_DEVICE, rows, cols, size, A, lda, B, ldb, true, NULL); } \
	cublasStatus_t cublasGetMatrix##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb) \
	{ return matrix(TO_HOST, rows, cols, size, A, lda, B, ldb, true, NULL); } \
	cublasStatus_t cublasSetVectorAsync##S(I n, I size, const void *x, I incx, void *y, I incy, cudaStream_t stream) \
	{ return vector(TO_DEVICE, n, size, x, incx, y, incy, false, stream); } \
	cublasStatus_t cublasGetVectorAsync##S(I n, I size, const void *x, I incx, void *y, I incy, cudaStream_t stream) \
	{ return vector(TO_HOST, n, size, x, incx, y, incy, false, stream); } \
	cublasStatus_t cublasSetMatrixAsync##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb, cudaStream_t stream) \
	{ return matrix(TO_DEVICE, rows, cols, size, A, lda, B, ldb, false, stream); } \
	cublasStatus_t cublasGetMatrixAsync##S(I rows, I cols, I size, const void *A, I lda, void *B, I ldb, cudaStream_t stream) \
	{ return matrix(TO_HOST, rows, cols, size, A, lda, B, ldb, false, stream); }
CUBLAS_BOTH(F, 0)
#undef F
