/* SPDX-License-Identifier: MIT */
/* What level3.c has of product.c: dense matrices, their products, and the kernels of kernels/level3.cu. */
#ifndef BLAS_PRODUCT_H
#define BLAS_PRODUCT_H

#include "levels.h"

enum { DENSE, BYTES, MERGE, GEAM, DGMM, PACK, TRSM };

#define COMPLEX(type) ((type) == TYPE_C || (type) == TYPE_Z)

/* A dense matrix, or a batch of them; a complex one as planes, the imaginary one `apart` real numbers behind. */
struct dense {
	unsigned long long at;
	long long ld, stride, apart;
	unsigned int trans;
	int sign;                       /* of the imaginary plane: -1 conjugates */
	bool ours;                      /* to be given back */
};

static inline bool ld_ok(long long ld, long long rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

#pragma GCC visibility push(hidden)
cublasStatus_t product_launch(const struct cublasContext *h, unsigned int fn, int type, unsigned int gx, unsigned int gy, unsigned int threads,
			      struct levels_call *q);
/* type_in's op(q->a), q->m by q->n, of a batch of q->count, as numbers of type */
cublasStatus_t product_dense(const struct cublasContext *h, int type, int type_in, struct levels_call *q, struct dense *d);
/* A matrix that is dense already: as it is, or its planes. op: cublasOperation_t; rows and columns as stored */
cublasStatus_t product_operand(const struct cublasContext *h, int type, int type_in, unsigned int op, long long rows, long long cols, const void *a,
			       long long lda, long long stride, bool pointers, long long count, struct dense *d);
cublasStatus_t product_leave(const struct cublasContext *h, const struct dense *d, cublasStatus_t st);
/* q: factors, c, m, n, count, flags. p NULL: there is no product to add */
cublasStatus_t product_merge(const struct cublasContext *h, int type, const struct dense *p, struct levels_call *q);
/* c = alpha op(a) op(b) + beta c by what q says of c; a and b are given back */
cublasStatus_t product_into(const struct cublasContext *h, int type, struct dense *a, struct dense *b, long long k, struct levels_call *q);
#pragma GCC visibility pop
#endif
