/* SPDX-License-Identifier: MIT */
/*
 * What the files of levels 1 to 3 share: how a call becomes a kernel of ours (kernels/). Each fills a struct levels_call, whose one argument
 * all of these kernels take; the device's own products are reached by gemm.c.
 */
#ifndef BLAS_LEVELS_H
#define BLAS_LEVELS_H

#include "blas.h"
#include "types.h"
#include "kernels/levels.h"

/* Four types, or with halves six. The kernels of a module in the order of their functions, by type. */
#define BY_TYPE4(fn) #fn "_s", #fn "_d", #fn "_c", #fn "_z", NULL, NULL
#define BY_TYPE6(fn) #fn "_s", #fn "_d", #fn "_c", #fn "_z", #fn "_h", #fn "_b"
#define MODULE(symbol, file, list) \
	__asm__(".section .rodata\n" #symbol ":\n\t.incbin \"libcuda-lite/blas/kernels/" file "\"\n\t.byte 0\n.previous\n"); \
	__attribute__((visibility("hidden"))) extern const char symbol[]; \
	static CUkernel symbol##_kernels[sizeof list / sizeof list[0]]; \
	static struct blas_module module = { .ptx = symbol, .names = list, .kernels = symbol##_kernels, .count = sizeof list / sizeof list[0] }

#define TRY(call) \
	do { \
		cublasStatus_t st_ = (call); \
		if (st_ != CUBLAS_STATUS_SUCCESS) \
			return st_; \
	} while (0)

#pragma GCC visibility push(hidden)
/* Bytes of an element of a type of kernels/levels.h. */
size_t levels_bytes(int type);
/* The type of a cudaDataType that level 1 takes, or -1. */
int levels_type(cudaDataType t);
/* handle.c. The handle's context is current, or an error. */
cublasStatus_t levels_enter(cublasHandle_t handle, struct cublasContext **h);
/* alpha and beta (or NULL) of a type: their values, or where they are on the device. */
void levels_factors(const struct cublasContext *h, int type, const void *alpha, const void *beta, struct levels_call *q);
/* True: known here to be 0. */
bool levels_none(const struct levels_call *q, bool of_beta);
/* threads 0: LEVELS_THREADS */
cublasStatus_t levels_launch(const struct cublasContext *h, struct blas_module *m, unsigned int kernel, unsigned int gx, unsigned int gy,
			     unsigned int threads, struct levels_call *q);
/* Blocks for work on n elements, count times side by side. */
unsigned int levels_blocks(long long n);
unsigned int levels_side(long long count);
/* Memory in the stream's order: for a times b times c times d bytes. */
cublasStatus_t levels_room(const struct cublasContext *h, long long a, long long b, long long c, size_t d, unsigned long long *p);
cublasStatus_t levels_leave(const struct cublasContext *h, unsigned long long p, cublasStatus_t st);
/* Memory that host and device see, one user at a time; levels_slot_done() waits for the stream first. */
cublasStatus_t levels_slot(struct cublasContext *h, void **slot);
cublasStatus_t levels_slot_done(struct cublasContext *h, cublasStatus_t st, void *to, size_t bytes);

/* level1.c: copies n elements of one type */
cublasStatus_t levels_copy(const struct cublasContext *h, int type, long long n, const void *x, long long incx, void *y, long long incy);

/* A product of complex matrices; type_in may be pairs of signed bytes (TYPES). */
struct levels_product {
	int type, type_in;
	unsigned int ta, tb;
	long long m, n, k, count, lda, ldb, ldc, sa, sb, sc;
	bool pointers;
	const void *a, *b, *alpha, *beta;
	void *c;
};
cublasStatus_t levels_product(const struct cublasContext *h, const struct levels_product *p);
#pragma GCC visibility pop
#define BLAS_SLOT_BYTES 256u
#endif
