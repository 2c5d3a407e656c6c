/* SPDX-License-Identifier: MIT */
/* Kernels of our own, loaded once: a library's kernels work in every context, those of streams in other contexts as well. */
#include <sched.h>

#include "types.h"

static CUresult load(struct blas_module *m)
{
	CUlibrary library;
	unsigned int none = 0;
	CUresult r = CUDA_SUCCESS;

	while (atomic_load_explicit(&m->ready, memory_order_acquire) != 2) {
		none = 0;
		if (!atomic_compare_exchange_strong(&m->ready, &none, 1)) {
			sched_yield();
			continue;
		}
		r = cuLibraryLoadData(&library, m->ptx, NULL, NULL, 0, NULL, NULL, 0);
		for (unsigned int i = 0; r == CUDA_SUCCESS && i < m->count; i++)
			if (m->names[i])
				r = cuLibraryGetKernel(&m->kernels[i], library, m->names[i]);
		atomic_store_explicit(&m->ready, r == CUDA_SUCCESS ? 2 : 0, memory_order_release);
		if (r != CUDA_SUCCESS)
			break;
	}
	return r;
}

CUresult blas_launch(struct blas_module *m, unsigned int kernel, unsigned int gx, unsigned int gy, unsigned int threads, CUstream stream,
		     void *args)
{
	void *list[] = { args };
	CUresult r = load(m);

	return r == CUDA_SUCCESS ? cuLaunchKernel((CUfunction)m->kernels[kernel], gx, gy, 1, threads, 1, 1, 0, stream, list, NULL) : r;
}

unsigned int blas_blocks(unsigned long long n, unsigned int threads)
{
	unsigned long long blocks = (n + threads - 1) / threads;

	return blocks > 4096 ? 4096 : blocks ? (unsigned int)blocks : 1;
}
