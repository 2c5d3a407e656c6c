/* SPDX-License-Identifier: MIT */
/* The one argument of every kernel in product.cu: both sides include it. Types are of enum vgpu_gemm_type, fields what struct vgpu_gemm says. */
#ifndef PRODUCT_H
#define PRODUCT_H

#define PRODUCT_THREADS 256
#define SOLVE_WARPS 8                   /* of a block: a vector each */

enum { PRODUCT_POINTERS = 1, PRODUCT_TRANS_A = 2, PRODUCT_TRANS_B = 4, PRODUCT_RIGHT = 8, PRODUCT_UPPER = 16, PRODUCT_UNIT = 32 };

struct product_call {
	unsigned long long a, b, c, alpha_at, beta_at;
	double alpha, beta;
	unsigned long long stride_a, stride_b, stride_c;
	unsigned int m, n, k, lda, ldb, ldc, batch;
	unsigned int type_a, type_b, type_c, type_scalar;
	unsigned int flags;
};
#endif
