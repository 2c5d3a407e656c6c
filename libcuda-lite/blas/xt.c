/* SPDX-License-Identifier: MIT */
/*
 * cublasXt: products of matrices in host memory. Each call brings what is not the device's to it, makes the call of level 3 and takes the result
 * back. On our devices memory is the machine's own: a matrix that does not fit there would fit nowhere, so nothing is cut into tiles. Of
 * several devices the first that was selected computes.
 */
#include <limits.h>
#include <string.h>

#include "levels.h"

/* cublasXt.h includes cublas_v2.h, whose macros turn names of version 1 into those of 2; here the latter are written out. */
#pragma GCC visibility push(default)
#include "cublasXt.h"
#pragma GCC visibility pop

#define HANDLES 256u
#define BLOCK_DIM 2048

struct cublasXtContext {
	atomic_uint used;               /* 0 free, 1 in use, 2 coming or going */
	unsigned int generation;
	CUdevice device;
	CUcontext ctx;                  /* its primary one; NULL before cublasXtDeviceSelect */
	cublasHandle_t blas;
	int block;
	cublasXtPinnedMemMode_t pinning;
	void *routine[CUBLASXT_ROUTINE_MAX][4];
	float ratio[CUBLASXT_ROUTINE_MAX][4];
};

static struct cublasXtContext table[HANDLES];

static cublasXtHandle_t name_of(const struct cublasXtContext *x)
{
	return (cublasXtHandle_t)((((uintptr_t)x->generation & 0xffffff) << 20 | ((uintptr_t)(x - table) + 1)) << 4);
}

static struct cublasXtContext *live(cublasXtHandle_t h)
{
	uintptr_t v = (uintptr_t)h >> 4, i = (v & 0xfffff) - 1;

	return ((uintptr_t)h & 15) || i >= HANDLES || atomic_load_explicit(&table[i].used, memory_order_acquire) != 1 || name_of(&table[i]) != h ?
	       NULL : &table[i];
}

cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle)
{
	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	if (cuInit(0) != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	for (unsigned int i = 0; i < HANDLES; i++) {
		struct cublasXtContext *x = &table[i];
		unsigned int unused = 0;

		if (!atomic_compare_exchange_strong(&x->used, &unused, 2))
			continue;
		x->generation++;
		x->ctx = NULL;
		x->blas = NULL;
		x->block = BLOCK_DIM;
		x->pinning = CUBLASXT_PINNING_DISABLED;
		memset(x->routine, 0, sizeof x->routine);
		memset(x->ratio, 0, sizeof x->ratio);
		atomic_store_explicit(&x->used, 1, memory_order_release);
		*handle = name_of(x);
		return CUBLAS_STATUS_SUCCESS;
	}
	return CUBLAS_STATUS_ALLOC_FAILED;
}

static void release(struct cublasXtContext *x)
{
	if (!x->ctx)
		return;
	(void)cublasDestroy_v2(x->blas);
	(void)cuDevicePrimaryCtxRelease(x->device);
	x->ctx = NULL;
}

cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle)
{
	struct cublasXtContext *x = live(handle);
	unsigned int one = 1;

	if (!x || !atomic_compare_exchange_strong(&x->used, &one, 2))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	release(x);
	atomic_store_explicit(&x->used, 0, memory_order_release);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t devices_ok(int count, const int *ids)
{
	CUdevice d;

	if (count <= 0 || !ids)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = 0; i < count; i++) {
		CUresult r = cuDeviceGet(&d, ids[i]);

		if (r != CUDA_SUCCESS)
			return r == CUDA_ERROR_INVALID_DEVICE ? CUBLAS_STATUS_INVALID_VALUE : blas_status(r);
		for (int j = 0; j < i; j++)
			if (ids[j] == ids[i])
				return CUBLAS_STATUS_INVALID_VALUE;
	}
	return CUBLAS_STATUS_SUCCESS;
}

/* Each device of ours is a board of its own. */
cublasStatus_t cublasXtGetNumBoards(int nbDevices, int deviceId[], int *nbBoards)
{
	if (!nbBoards)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (cuInit(0) != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	TRY(devices_ok(nbDevices, deviceId));
	*nbBoards = nbDevices;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtMaxBoards(int *nbGpuBoards)
{
	if (!nbGpuBoards)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (cuInit(0) != CUDA_SUCCESS)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return blas_status(cuDeviceGetCount(nbGpuBoards));
}

cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices, int deviceId[])
{
	struct cublasXtContext *x = live(handle);
	CUcontext ctx, mine;
	cublasHandle_t blas;
	cublasStatus_t st;
	CUdevice d;

	if (!x)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	TRY(devices_ok(nbDevices, deviceId));
	TRY(blas_status(cuDeviceGet(&d, deviceId[0])));
	TRY(blas_status(cuDevicePrimaryCtxRetain(&ctx, d)));
	st = blas_status(cuCtxPushCurrent(ctx));
	if (st == CUBLAS_STATUS_SUCCESS) {
		st = cublasCreate_v2(&blas);
		(void)cuCtxPopCurrent(&mine);
	}
	if (st != CUBLAS_STATUS_SUCCESS) {
		(void)cuDevicePrimaryCtxRelease(d);
		return st;
	}
	release(x);
	x->device = d;
	x->ctx = ctx;
	x->blas = blas;
	return CUBLAS_STATUS_SUCCESS;
}

#define PROPERTY(name, type, field, ok) \
	cublasStatus_t cublasXtSet##name(cublasXtHandle_t handle, type v) \
	{ \
		struct cublasXtContext *x = live(handle); \
		if (!x) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!(ok)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		x->field = v; \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	cublasStatus_t cublasXtGet##name(cublasXtHandle_t handle, type *v) \
	{ \
		struct cublasXtContext *x = live(handle); \
		if (!x) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!v) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		*v = x->field; \
		return CUBLAS_STATUS_SUCCESS; \
	}
PROPERTY(BlockDim, int, block, v > 0)
PROPERTY(PinningMemMode, cublasXtPinnedMemMode_t, pinning, (unsigned)v <= CUBLASXT_PINNING_ENABLED)

static cublasStatus_t hybrid(cublasXtHandle_t handle, cublasXtBlasOp_t op, cublasXtOpType_t type, struct cublasXtContext **x)
{
	*x = live(handle);
	if (!*x)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((unsigned)op >= CUBLASXT_ROUTINE_MAX || (unsigned)type > CUBLASXT_DOUBLECOMPLEX)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (op != CUBLASXT_GEMM)
		BLAS_UNSUPPORTED("a share of the host in a cublasXt call other than gemm (so it is with NVIDIA's)");
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type, void *blasFunctor)
{
	struct cublasXtContext *x;

	TRY(hybrid(handle, blasOp, type, &x));
	x->routine[blasOp][type] = blasFunctor;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type, float ratio)
{
	struct cublasXtContext *x;

	TRY(hybrid(handle, blasOp, type, &x));
	if (!(ratio >= 0 && ratio <= 1))
		return CUBLAS_STATUS_INVALID_VALUE;
	x->ratio[blasOp][type] = ratio;
	return CUBLAS_STATUS_SUCCESS;
}

/* A matrix of a call: where it is, and what the device has for it. */
enum { READ = 1, WRITE = 2 };
struct matrix {
	const void *at;
	size_t rows, cols, ld, bytes;
	int way;
	void *dev;                      /* what the call is given, with ld columns apart */
	size_t dev_ld;
	bool brought;
};

/* The device's own address of what it can see, or 0. */
static CUdeviceptr visible(const struct cublasXtContext *x, const void *p)
{
	CUdeviceptr d = 0;
	unsigned int type = 0;
	int ordinal = 0;

	if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS)
		return 0;
	if (type == CU_MEMORYTYPE_DEVICE && (cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)(uintptr_t)p) !=
					     CUDA_SUCCESS || ordinal != x->device))
		return 0;
	return cuPointerGetAttribute(&d, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)p) == CUDA_SUCCESS ? d : 0;
}

static CUresult move(const struct matrix *m, bool back)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = m->rows * m->bytes, .Height = m->cols, .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			    .dstMemoryType = CU_MEMORYTYPE_UNIFIED };
	size_t theirs = m->ld * m->bytes, ours = m->dev_ld * m->bytes;

	c.srcDevice = (CUdeviceptr)(uintptr_t)(back ? m->dev : m->at);
	c.srcPitch = back ? ours : theirs;
	c.dstDevice = (CUdeviceptr)(uintptr_t)(back ? m->at : m->dev);
	c.dstPitch = back ? theirs : ours;
	return cuMemcpy2DUnaligned(&c);
}

static CUresult bring(const struct cublasXtContext *x, struct matrix *m)
{
	size_t size;
	CUdeviceptr d;
	CUresult r;

	m->dev = (void *)m->at;
	m->dev_ld = m->ld;
	if (!m->at || !m->rows || !m->cols)
		return CUDA_SUCCESS;
	if (m->ld < m->rows || m->rows > INT64_MAX / m->bytes || m->ld > INT64_MAX / m->bytes ||
	    __builtin_mul_overflow(m->rows * m->bytes, m->cols, &size))
		return CUDA_ERROR_INVALID_VALUE;
	d = visible(x, m->at);
	if (d) {
		m->dev = (void *)(uintptr_t)d;
		return CUDA_SUCCESS;
	}
	r = cuMemAlloc(&d, size);
	if (r != CUDA_SUCCESS)
		return r;
	m->dev = (void *)(uintptr_t)d;
	m->dev_ld = m->rows;
	m->brought = true;
	return m->way & READ ? move(m, false) : CUDA_SUCCESS;
}

static void forget(struct matrix *m, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (m[i].brought)
			(void)cuMemFree((CUdeviceptr)(uintptr_t)m[i].dev);
}

/* What a call needs is on the device, and its context is current; or nothing is as it was not before. */
static cublasStatus_t begin(cublasXtHandle_t handle, struct cublasXtContext **x, struct matrix *m, size_t count)
{
	CUresult r;
	CUcontext c;

	*x = live(handle);
	if (!*x || !(*x)->ctx)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	r = cuCtxPushCurrent((*x)->ctx);
	if (r != CUDA_SUCCESS)
		return blas_status(r);
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = bring(*x, &m[i]);
	if (r != CUDA_SUCCESS) {
		forget(m, count);
		(void)cuCtxPopCurrent(&c);
	}
	return blas_status(r);
}

/* The result, the last matrix, goes where it belongs. */
static cublasStatus_t end(struct matrix *m, size_t count, cublasStatus_t st)
{
	CUresult r = cuStreamSynchronize(NULL);
	CUcontext c;

	if (st == CUBLAS_STATUS_SUCCESS && r == CUDA_SUCCESS && m[count - 1].brought)
		r = move(&m[count - 1], true);
	forget(m, count);
	(void)cuCtxPopCurrent(&c);
	return st != CUBLAS_STATUS_SUCCESS ? st : blas_status(r);
}

#define L(v) ((int64_t)(v))
#define IN(p, r, c, l) { .at = p, .rows = r, .cols = c, .ld = l, .bytes = sizeof *(p), .way = READ }
#define OUT(p, r, c, l, read) { .at = p, .rows = r, .cols = c, .ld = l, .bytes = sizeof *(p), .way = WRITE | ((read) ? READ : 0) }
#define CALL(fn, ...) \
	struct cublasXtContext *x; \
	TRY(begin(handle, &x, o, sizeof o / sizeof *o)); \
	return end(o, sizeof o / sizeof *o, fn(x->blas, __VA_ARGS__))
#define ARG(T, i) (T *)o[i].dev, L(o[i].dev_ld)
#define ORDER (side == CUBLAS_SIDE_RIGHT ? n : m)

typedef void (*fortran_gemm)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha, const void *a, const int *lda,
			     const void *b, const int *ldb, const void *beta, void *c, const int *ldc);

/* The columns of a gemm that are the host's, the last ones, by the caller's own function. */
static size_t host_share(cublasXtHandle_t handle, int t, size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc, fortran_gemm *f)
{
	struct cublasXtContext *x = live(handle);
	size_t most = m > k ? m : k;

	most = most > n ? most : n;
	most = most > lda ? most : lda;
	most = most > ldb ? most : ldb;
	most = most > ldc ? most : ldc;
	*f = x ? (fortran_gemm)(uintptr_t)x->routine[CUBLASXT_GEMM][t] : NULL;
	return *f && m && k && most <= INT_MAX ? (size_t)((double)n * (double)x->ratio[CUBLASXT_GEMM][t]) : 0;
}

/* What the host cannot see is left to the device. */
static bool host_can(const void *p)
{
	unsigned int type = 0;

	return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)p) != CUDA_SUCCESS || type == CU_MEMORYTYPE_HOST;
}

#define F(S, I, X, T, R, t) \
	static cublasStatus_t gemm_##X(CUBLASXT_ARGS_gemm(T, R), bool keeps) \
	{ \
		struct matrix o[] = { IN(A, transa ? k : m, transa ? m : k, lda), IN(B, transb ? n : k, transb ? k : n, ldb), OUT(C, m, n, ldc, keeps) }; \
		CALL(cublas##X##gemm_v2_64, transa, transb, L(m), L(n), L(k), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##gemm(CUBLASXT_ARGS_gemm(T, R)) \
	{ \
		static const T zero; \
		bool keeps = !beta || memcmp(beta, &zero, sizeof zero) != 0; \
		fortran_gemm f; \
		size_t share = host_share(handle, t, m, n, k, lda, ldb, ldc, &f), first = n - share; \
		int im = (int)m, in = (int)share, ik = (int)k, ia = (int)lda, ib = (int)ldb, ic = (int)ldc; \
		if (!share || !alpha || !beta || !A || !B || !C || !host_can(A) || !host_can(B) || !host_can(C)) \
			return gemm_##X(handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, keeps); \
		/* wrong arguments are found by the device's part, also where it has no column */ \
		TRY(gemm_##X(handle, transa, transb, m, first, k, alpha, A, lda, B, ldb, beta, C, ldc, keeps)); \
		if ((unsigned)transa > CUBLAS_OP_C || (unsigned)transb > CUBLAS_OP_C || lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		f(&"NTC"[transa], &"NTC"[transb], &im, &in, &ik, alpha, A, &ia, B + (transb ? first : first * ldb), &ib, beta, C + first * ldc, &ic); \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	cublasStatus_t cublasXt##X##syrk(CUBLASXT_ARGS_syrk(T, T)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##syrk_v2_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), beta, ARG(T, 1)); \
	} \
	cublasStatus_t cublasXt##X##syr2k(CUBLASXT_ARGS_syr2k(T, T)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), IN(B, trans ? k : n, trans ? n : k, ldb), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##syr2k_v2_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##syrkx(CUBLASXT_ARGS_syr2k(T, T)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), IN(B, trans ? k : n, trans ? n : k, ldb), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##syrkx_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##symm(CUBLASXT_ARGS_symm(T, R)) \
	{ \
		struct matrix o[] = { IN(A, ORDER, ORDER, lda), IN(B, m, n, ldb), OUT(C, m, n, ldc, true) }; \
		CALL(cublas##X##symm_v2_64, side, uplo, L(m), L(n), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##trsm(CUBLASXT_ARGS_trsm(T, R)) \
	{ \
		struct matrix o[] = { IN(A, ORDER, ORDER, lda), OUT(B, m, n, ldb, true) }; \
		CALL(cublas##X##trsm_v2_64, side, uplo, trans, diag, L(m), L(n), alpha, ARG(T, 0), ARG(T, 1)); \
	} \
	cublasStatus_t cublasXt##X##trmm(CUBLASXT_ARGS_trmm(T, R)) \
	{ \
		struct matrix o[] = { IN(A, ORDER, ORDER, lda), IN(B, m, n, ldb), OUT(C, m, n, ldc, false) }; \
		CALL(cublas##X##trmm_v2_64, side, uplo, trans, diag, L(m), L(n), alpha, ARG(T, 0), ARG(T, 1), ARG(T, 2)); \
	} \
	/* a triangle that is packed is spread out on the device first */ \
	cublasStatus_t cublasXt##X##spmm(CUBLASXT_ARGS_spmm(T, R)) \
	{ \
		size_t order = ORDER, packed = order % 2 ? (order + 1) / 2 * order : order / 2 * (order + 1); \
		struct matrix o[] = { IN(AP, packed, 1, packed), IN(B, m, n, ldb), OUT(C, m, n, ldc, true) }; \
		struct cublasXtContext *x; \
		unsigned long long whole = 0; \
		cublasStatus_t st = CUBLAS_STATUS_SUCCESS; \
		CUdeviceptr d = 0; \
		if (order > 0x10000) \
			BLAS_UNSUPPORTED("a packed matrix of more than 65,536 rows in cublasXt"); \
		TRY(begin(handle, &x, o, 3)); \
		if (AP && order) { \
			st = blas_status(cuMemAlloc(&d, order * order * sizeof(T))); \
			whole = d; \
			if (st == CUBLAS_STATUS_SUCCESS) \
				st = cublas##X##tpttr(x->blas, uplo, (int)order, o[0].dev, (T *)(uintptr_t)whole, (int)order); \
		} \
		if (st == CUBLAS_STATUS_SUCCESS) \
			st = cublas##X##symm_v2_64(x->blas, side, uplo, L(m), L(n), alpha, (T *)(uintptr_t)whole, L(order ? order : 1), ARG(T, 1), \
						   beta, ARG(T, 2)); \
		st = end(o, 3, st); \
		if (d && cuCtxPushCurrent(x->ctx) == CUDA_SUCCESS) { \
			CUcontext c; \
			(void)cuMemFree(d); \
			(void)cuCtxPopCurrent(&c); \
		} \
		return st; \
	}
CUBLAS_ONE_SDCZ(F)
#undef F

#define F(X, T, R) \
	cublasStatus_t cublasXt##X##herk(CUBLASXT_ARGS_syrk(T, R)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##herk_v2_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), beta, ARG(T, 1)); \
	} \
	cublasStatus_t cublasXt##X##her2k(CUBLASXT_ARGS_syr2k(T, R)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), IN(B, trans ? k : n, trans ? n : k, ldb), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##her2k_v2_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##herkx(CUBLASXT_ARGS_syr2k(T, R)) \
	{ \
		struct matrix o[] = { IN(A, trans ? k : n, trans ? n : k, lda), IN(B, trans ? k : n, trans ? n : k, ldb), OUT(C, n, n, ldc, true) }; \
		CALL(cublas##X##herkx_64, uplo, trans, L(n), L(k), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	} \
	cublasStatus_t cublasXt##X##hemm(CUBLASXT_ARGS_symm(T, R)) \
	{ \
		struct matrix o[] = { IN(A, ORDER, ORDER, lda), IN(B, m, n, ldb), OUT(C, m, n, ldc, true) }; \
		CALL(cublas##X##hemm_v2_64, side, uplo, L(m), L(n), alpha, ARG(T, 0), ARG(T, 1), beta, ARG(T, 2)); \
	}
F(C, cuComplex, float)
F(Z, cuDoubleComplex, double)
#undef F
