/* SPDX-License-Identifier: MIT */
/* What levels 1 to 3 have in common: see levels.h. */
#include <sched.h>
#include <string.h>

#include "levels.h"

size_t levels_bytes(int type)
{
	static const size_t bytes[TYPES + 1] = { 4, 8, 8, 16, 2, 2, 2 };

	return bytes[type];
}

int levels_type(cudaDataType t)
{
	switch ((int)t) {
	case CUDA_R_32F: return TYPE_S;
	case CUDA_R_64F: return TYPE_D;
	case CUDA_C_32F: return TYPE_C;
	case CUDA_C_64F: return TYPE_Z;
	case CUDA_R_16F: return TYPE_H;
	case CUDA_R_16BF: return TYPE_B;
	}
	return -1;
}

static void value(const void *p, int type, double v[2])
{
	uint32_t bits;
	float f;

	v[1] = 0;
	switch (type) {
	case TYPE_S: v[0] = (double)*(const float *)p; break;
	case TYPE_D: v[0] = *(const double *)p; break;
	case TYPE_C: v[0] = (double)((const float *)p)[0]; v[1] = (double)((const float *)p)[1]; break;
	case TYPE_Z: memcpy(v, p, 16); break;
	case TYPE_H: v[0] = blas_host_scalar(p, VGPU_GEMM_F16); break;
	default:
		bits = (uint32_t)*(const uint16_t *)p << 16;
		memcpy(&f, &bits, 4);
		v[0] = (double)f;
	}
}

void levels_factors(const struct cublasContext *h, int type, const void *alpha, const void *beta, struct levels_call *q)
{
	q->scalar = (unsigned int)type;
	if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
		q->alpha_at = (uintptr_t)alpha;
		q->beta_at = (uintptr_t)beta;
		return;
	}
	value(alpha, type, q->alpha);
	if (beta)
		value(beta, type, q->beta);
}

bool levels_none(const struct levels_call *q, bool of_beta)
{
	const double *v = of_beta ? q->beta : q->alpha;

	return !(of_beta ? q->beta_at : q->alpha_at) && v[0] == 0 && v[1] == 0;
}

unsigned int levels_blocks(long long n)
{
	return blas_blocks((unsigned long long)n, LEVELS_THREADS);
}

unsigned int levels_side(long long count)
{
	return count < 1 ? 1 : count > 65535 ? 65535 : (unsigned int)count;
}

cublasStatus_t levels_launch(const struct cublasContext *h, struct blas_module *m, unsigned int kernel, unsigned int gx, unsigned int gy,
			     unsigned int threads, struct levels_call *q)
{
	return blas_status(blas_launch(m, kernel, gx, gy, threads ? threads : LEVELS_THREADS, h->stream, q));
}

cublasStatus_t levels_room(const struct cublasContext *h, long long a, long long b, long long c, size_t d, unsigned long long *p)
{
	CUdeviceptr at = 0;
	size_t bytes;
	CUresult r;

	*p = 0;
	if (__builtin_mul_overflow((size_t)a, (size_t)b, &bytes) || __builtin_mul_overflow(bytes, (size_t)c, &bytes) ||
	    __builtin_mul_overflow(bytes, d, &bytes))
		return CUBLAS_STATUS_ALLOC_FAILED;
	r = cuMemAllocAsync(&at, bytes ? bytes : 1, h->stream);
	*p = at;
	return blas_status(r);
}

cublasStatus_t levels_leave(const struct cublasContext *h, unsigned long long p, cublasStatus_t st)
{
	cublasStatus_t freed = p ? blas_status(cuMemFreeAsync((CUdeviceptr)p, h->stream)) : CUBLAS_STATUS_SUCCESS;

	return st != CUBLAS_STATUS_SUCCESS ? st : freed;
}

cublasStatus_t levels_slot(struct cublasContext *h, void **slot)
{
	cublasStatus_t st = CUBLAS_STATUS_SUCCESS;

	while (atomic_exchange_explicit(&h->slot_used, 1, memory_order_acquire))
		sched_yield();
	if (!h->slot)
		st = blas_status(cuMemHostAlloc(&h->slot, BLAS_SLOT_BYTES, CU_MEMHOSTALLOC_PORTABLE));
	if (st != CUBLAS_STATUS_SUCCESS) {
		h->slot = NULL;
		atomic_store_explicit(&h->slot_used, 0, memory_order_release);
	}
	*slot = h->slot;
	return st;
}

cublasStatus_t levels_slot_done(struct cublasContext *h, cublasStatus_t st, void *to, size_t bytes)
{
	if (st == CUBLAS_STATUS_SUCCESS)
		st = blas_status(cuStreamSynchronize(h->stream));
	if (st == CUBLAS_STATUS_SUCCESS && bytes)
		memcpy(to, h->slot, bytes);
	atomic_store_explicit(&h->slot_used, 0, memory_order_release);
	return st;
}
