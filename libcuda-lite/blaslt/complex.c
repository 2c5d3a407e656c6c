/* SPDX-License-Identifier: MIT */
/*
 * cublasLtMatmul of complex matrices: products by planes (../blas/product.c). A matrix in row order is the transpose of one in column order, as in
 * matmul.c; a conjugate that is not transposed is one of product.c's operations.
 */
#include "lt.h"

#include "../blas/product.h"

/* levels.c and product.c answer with this library's statuses. */
cublasStatus_t blas_status(CUresult r)
{
	return lt_status(r);
}

int lt_complex(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
	       const struct lt_layout *d)
{
	bool wide = p->compute == CUBLAS_COMPUTE_64F || p->compute == CUBLAS_COMPUTE_64F_PEDANTIC;

	if (a->type != d->type || b->type != d->type || c->type != d->type || p->scale != d->type || a->plane || b->plane || c->plane || d->plane)
		return -1;
	if (d->type == CUDA_C_64F)
		return wide ? TYPE_Z : -1;
	return d->type == CUDA_C_32F && (p->compute == CUBLAS_COMPUTE_32F || p->compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
					 p->compute == CUBLAS_COMPUTE_32F_FAST_TF32 || p->compute == CUBLAS_COMPUTE_32F_FAST_16F ||
					 p->compute == CUBLAS_COMPUTE_32F_FAST_16BF) ? TYPE_C : -1;
}

static unsigned int transposed(unsigned int op)
{
	static const unsigned int other[] = { [CUBLAS_OP_N] = CUBLAS_OP_T, [CUBLAS_OP_T] = CUBLAS_OP_N, [CUBLAS_OP_C] = CUBLAS_OP_CONJG,
					      [CUBLAS_OP_CONJG] = CUBLAS_OP_C };

	return other[op];
}

/* D = C, in D's order */
static cublasStatus_t move(const struct cublasContext *h, int type, const void *C, const struct lt_layout *c, void *D, const struct lt_layout *d)
{
	bool rows = d->order == LT_ORDER_ROW;
	size_t size = levels_bytes(type);
	cublasStatus_t st = CUBLAS_STATUS_SUCCESS;

	for (int32_t i = 0; i < d->batch_count && st == CUBLAS_STATUS_SUCCESS; i++) {
		struct levels_call q = { .m = (long long)(rows ? d->cols : d->rows), .n = (long long)(rows ? d->rows : d->cols), .lda = c->ld, .ldc = d->ld,
					 .a = (uintptr_t)C + (uintptr_t)(i * c->batch_stride) * size,
					 .c = (uintptr_t)D + (uintptr_t)(i * d->batch_stride) * size, .scalar = (unsigned int)type, .alpha = { 1, 0 },
					 .flags = c->order == d->order ? 0 : LV_TRANS };

		st = product_launch(h, GEAM, type, levels_blocks(q.m * q.n), 1, 0, &q);
	}
	return st;
}

cublasStatus_t lt_complex_matmul(int type, const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a, const void *B,
				 const struct lt_layout *b, const void *beta, const void *C, const struct lt_layout *c, void *D,
				 const struct lt_layout *d, CUstream stream)
{
	struct cublasContext h = { .stream = stream, .pointer_mode = (cublasPointerMode_t)p->pointer_mode };
	unsigned int oa = (unsigned int)p->trans_a, ob = (unsigned int)p->trans_b;
	bool rows = d->order == LT_ORDER_ROW;
	struct levels_call factors = { 0 };
	struct levels_product q = { .type = type, .type_in = type, .m = (long long)d->rows, .n = (long long)d->cols,
				    .k = (long long)(p->trans_a ? a->rows : a->cols), .count = d->batch_count, .ldc = d->ld, .sc = d->batch_stride,
				    .alpha = alpha, .beta = beta, .c = D };

	levels_factors(&h, type, alpha, beta, &factors);
	if (!levels_none(&factors, true)) {
		if (!C)
			return CUBLAS_STATUS_INVALID_VALUE;
		if (C != D || c->ld != d->ld || c->order != d->order || c->batch_stride != d->batch_stride)
			TRY(move(&h, type, C, c, D, d));
	}
	oa = a->order == LT_ORDER_ROW ? transposed(oa) : oa;
	ob = b->order == LT_ORDER_ROW ? transposed(ob) : ob;
	if (rows) {             /* D' = op(B)' op(A)' */
		const struct lt_layout *l = a;
		const void *at = A;
		unsigned int o = oa;

		q.m = (long long)d->cols;
		q.n = (long long)d->rows;
		oa = transposed(ob);
		ob = transposed(o);
		A = B;
		B = at;
		a = b;
		b = l;
	}
	q.ta = oa;
	q.tb = ob;
	q.a = A;
	q.lda = a->ld;
	q.sa = a->batch_stride;
	q.b = B;
	q.ldb = b->ld;
	q.sb = b->batch_stride;
	return levels_product(&h, &q);
}
