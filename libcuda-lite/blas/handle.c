/* SPDX-License-Identifier: MIT */
/*
 * Handles and what is set on them. A handle is a place in a table and a generation, not a pointer: a destroyed or
 * made-up one is told from a live one without touching foreign memory.
 */
#include "levels.h"

#define HANDLES 4096u

/* Pages that no program ever uses cost nothing. */
static struct cublasContext table[HANDLES];

static cublasHandle_t name_of(const struct cublasContext *b)
{
	return (cublasHandle_t)((((uintptr_t)b->generation & 0xffffff) << 20 | ((uintptr_t)(b - table) + 1)) << 4);
}

struct cublasContext *blas_handle(cublasHandle_t h)
{
	uintptr_t v = (uintptr_t)h >> 4, i = (v & 0xfffff) - 1;

	if (((uintptr_t)h & 15) || i >= HANDLES || atomic_load_explicit(&table[i].used, memory_order_acquire) != 1 ||
	    name_of(&table[i]) != h)
		return NULL;
	return &table[i];
}

cublasStatus_t blas_enter(const struct cublasContext *b)
{
	CUcontext current = NULL;
	CUresult r = cuCtxGetCurrent(&current);

	if (r == CUDA_SUCCESS && !current)
		r = cuCtxSetCurrent(b->ctx);
	return blas_status(r);
}

cublasStatus_t levels_enter(cublasHandle_t handle, struct cublasContext **h)
{
	*h = blas_handle(handle);
	return *h ? blas_enter(*h) : CUBLAS_STATUS_NOT_INITIALIZED;
}

/*
 * The current context, or the primary one of the first device, as the runtime would take; and as the runtime does, for the life of the process:
 * the thread whose current context it is goes on in it when the handle is gone.
 */
static CUresult attach(struct cublasContext *b)
{
	static atomic_uint kept;
	CUdevice dev;
	CUresult r = cuInit(0);

	if (r == CUDA_SUCCESS)
		r = cuCtxGetCurrent(&b->ctx);
	if (r != CUDA_SUCCESS || b->ctx)
		return r;
	r = cuDeviceGet(&dev, 0);
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&b->ctx, dev);
	if (r != CUDA_SUCCESS)
		return r;
	if (atomic_exchange(&kept, 1))
		(void)cuDevicePrimaryCtxRelease(dev);
	return cuCtxSetCurrent(b->ctx);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	CUresult r;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = NULL;
	for (unsigned int i = 0; i < HANDLES; i++) {
		struct cublasContext *b = &table[i];
		unsigned int unused = 0;

		if (!atomic_compare_exchange_strong(&b->used, &unused, 2))
			continue;
		r = attach(b);
		if (r != CUDA_SUCCESS) {
			atomic_store(&b->used, 0);
			return r == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
		}
		b->generation++;
		b->stream = NULL;
		b->pointer_mode = CUBLAS_POINTER_MODE_HOST;
		b->math_mode = CUBLAS_DEFAULT_MATH;
		b->atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
		b->sm_count = 0;
		b->slot = NULL;
		atomic_store(&b->slot_used, 0);
		atomic_store_explicit(&b->used, 1, memory_order_release);
		*handle = name_of(b);
		return CUBLAS_STATUS_SUCCESS;
	}
	return CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	struct cublasContext *b = blas_handle(handle);
	unsigned int live = 1;

	/* of two threads that destroy the same one, one is wrong */
	if (!b || !atomic_compare_exchange_strong(&b->used, &live, 2))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (b->slot && blas_enter(b) == CUBLAS_STATUS_SUCCESS)
		(void)cuMemFreeHost(b->slot);
	atomic_store_explicit(&b->used, 0, memory_order_release);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	(void)handle;           /* documented to work with any */
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = BLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == MAJOR_VERSION ? BLAS_VERSION / 10000 :
		 type == MINOR_VERSION ? BLAS_VERSION / 100 % 100 : BLAS_VERSION % 100;
	return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
	return BLAS_VERSION / 10000 * 1000 + BLAS_VERSION / 100 % 100 * 10;
}

/* Our products need none: what the caller offers stays unused. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
	if (!blas_handle(handle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	/* Documented: "The pointer must be aligned to at least 256 bytes". */
	return (bytes && !workspace) || (uintptr_t)workspace % 256 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

/* A setter checks a range; its getter gives back what was set. */
#define PROPERTY(name, suffix, type, field, ok) \
	cublasStatus_t cublasSet##name##suffix(cublasHandle_t handle, type v) \
	{ \
		struct cublasContext *b = blas_handle(handle); \
		if (!b) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!(ok)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		b->field = v; \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	cublasStatus_t cublasGet##name##suffix(cublasHandle_t handle, type *v) \
	{ \
		struct cublasContext *b = blas_handle(handle); \
		if (!b) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!v) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		*v = b->field; \
		return CUBLAS_STATUS_SUCCESS; \
	}

PROPERTY(Stream, _v2, cudaStream_t, stream, 1)
PROPERTY(PointerMode, _v2, cublasPointerMode_t, pointer_mode, (unsigned)v <= CUBLAS_POINTER_MODE_DEVICE)
PROPERTY(AtomicsMode, , cublasAtomicsMode_t, atomics_mode, (unsigned)v <= CUBLAS_ATOMICS_ALLOWED)
/* Modes choose among roundings that hardware offers. Our sums are F32 or better in each of them. */
PROPERTY(MathMode, , cublasMath_t, math_mode, ((unsigned)v & ~16u) <= CUBLAS_TF32_TENSOR_OP_MATH)
PROPERTY(SmCountTarget, , int, sm_count, v >= 0)
