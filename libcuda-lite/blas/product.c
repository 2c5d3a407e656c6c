/* SPDX-License-Identifier: MIT */
/*
 * Products that are not the device's own command: complex ones, whose matrices become two planes (four products of these are theirs), and what
 * level3.c made dense. The result is merged into C. libcublasLt has a copy.
 */
#include "product.h"

static const char *const names[] = {
	BY_TYPE4(dense), "dense_c8", NULL, NULL, NULL, NULL, NULL, BY_TYPE4(merge), BY_TYPE4(geam), BY_TYPE4(dgmm), BY_TYPE4(pack), BY_TYPE4(trsm),
};
MODULE(vgpu_blas_level3, "level3.ptx", names);

cublasStatus_t product_launch(const struct cublasContext *h, unsigned int fn, int type, unsigned int gx, unsigned int gy, unsigned int threads,
			      struct levels_call *q)
{
	return levels_launch(h, &module, fn * TYPES + (unsigned int)type, gx, gy, threads, q);
}

static size_t real_bytes(int type)
{
	return levels_bytes(type) / (COMPLEX(type) ? 2 : 1);
}

/* type_in's op(q->a), q->m by q->n, of a batch of q->count, as numbers of type */
cublasStatus_t product_dense(const struct cublasContext *h, int type, int type_in, struct levels_call *q, struct dense *d)
{
	cublasStatus_t st;

	*d = (struct dense){ .ld = q->m, .sign = 1, .ours = true };
	TRY(levels_room(h, q->m, q->n, q->count, levels_bytes(type), &d->at));
	d->stride = q->m * q->n;
	d->apart = d->stride * q->count;
	q->out = d->at;
	q->sout = d->apart;
	st = product_launch(h, type_in == TYPES ? BYTES : DENSE, type_in == TYPES ? 0 : type_in, levels_blocks(q->m * q->n), levels_side(q->count),
			    0, q);
	return st == CUBLAS_STATUS_SUCCESS ? st : levels_leave(h, d->at, st);
}

static bool turned(unsigned int op)
{
	return op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/* A matrix that is dense already: as it is, or its planes. op: cublasOperation_t; rows and columns as stored */
cublasStatus_t product_operand(const struct cublasContext *h, int type, int type_in, unsigned int op, long long rows, long long cols, const void *a,
			      long long lda, long long stride, bool pointers, long long count, struct dense *d)
{
	struct levels_call q = { .m = rows, .n = cols, .count = count, .a = (uintptr_t)a, .lda = lda, .sa = stride, .flags = pointers ? LV_A_AT : 0 };

	if (COMPLEX(type))
		TRY(product_dense(h, type, type_in, &q, d));
	else
		*d = (struct dense){ .at = (uintptr_t)a, .ld = lda, .stride = stride, .sign = 1 };
	d->trans = turned(op);
	d->sign = op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG ? -1 : 1;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t product_leave(const struct cublasContext *h, const struct dense *d, cublasStatus_t st)
{
	return levels_leave(h, d->ours ? d->at : 0, st);
}

/* The device's command. c += where beta is 1. */
static CUresult real_product(const struct cublasContext *h, bool wide, const struct dense *a, unsigned long long pa, const struct dense *b,
			     unsigned long long pb, long long m, long long n, long long k, double alpha, double beta, unsigned long long c,
			     long long ldc, long long stride, long long count)
{
	unsigned int type = wide ? VGPU_GEMM_F64 : VGPU_GEMM_F32;
	struct vgpu_body_gemm body = { .a = k ? pa : 0, .b = k ? pb : 0, .c = c, .batch = (uint32_t)count };
	struct vgpu_gemm g = { .stride_a = (uint64_t)a->stride, .stride_b = (uint64_t)b->stride, .stride_c = (uint64_t)stride, .m = (uint32_t)m,
			       .n = (uint32_t)n, .k = (uint32_t)k, .lda = (uint32_t)a->ld, .ldb = (uint32_t)b->ld, .ldc = (uint32_t)ldc,
			       .type_a = (uint8_t)type, .type_b = (uint8_t)type, .type_c = (uint8_t)type, .type_scalar = (uint8_t)type,
			       .trans_a = a->trans != 0, .trans_b = b->trans != 0, .alpha = alpha, .beta = beta };

	return vgpuGemm(VGPU_OP_GEMM, &body, &g, h->stream);
}

/* p = op(a) op(b), m by n, in memory of its own */
static cublasStatus_t multiply(const struct cublasContext *h, int type, const struct dense *a, const struct dense *b, long long m, long long n,
			       long long k, long long count, struct dense *p)
{
	bool wide = type == TYPE_D || type == TYPE_Z;
	size_t one = real_bytes(type);
	unsigned long long im_a = a->at + (unsigned long long)a->apart * one, im_b = b->at + (unsigned long long)b->apart * one, im;
	CUresult r;

	*p = (struct dense){ .ld = m, .sign = 1, .ours = true };
	TRY(levels_room(h, m, n, count, levels_bytes(type), &p->at));
	p->stride = m * n;
	p->apart = p->stride * count;
	im = p->at + (unsigned long long)p->apart * one;
	r = real_product(h, wide, a, a->at, b, b->at, m, n, k, 1, 0, p->at, m, p->stride, count);
	if (COMPLEX(type)) {
		if (r == CUDA_SUCCESS)
			r = real_product(h, wide, a, im_a, b, im_b, m, n, k, -a->sign * b->sign, 1, p->at, m, p->stride, count);
		if (r == CUDA_SUCCESS)
			r = real_product(h, wide, a, a->at, b, im_b, m, n, k, b->sign, 0, im, m, p->stride, count);
		if (r == CUDA_SUCCESS)
			r = real_product(h, wide, a, im_a, b, b->at, m, n, k, a->sign, 1, im, m, p->stride, count);
	}
	return r == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : levels_leave(h, p->at, blas_status(r));
}

/* q: factors, c, m, n, count, flags. p NULL: there is no product to add */
cublasStatus_t product_merge(const struct cublasContext *h, int type, const struct dense *p, struct levels_call *q)
{
	if (p) {
		q->part = p->at;
		q->sout = p->apart;
	} else {
		q->alpha_at = 0;
		q->alpha[0] = q->alpha[1] = 0;
	}
	return product_launch(h, MERGE, type, levels_blocks(q->m * q->n), levels_side(q->count), 0, q);
}

/* c = alpha op(a) op(b) + beta c by what q says of c; a and b are given back */
cublasStatus_t product_into(const struct cublasContext *h, int type, struct dense *a, struct dense *b, long long k, struct levels_call *q)
{
	struct dense p;
	cublasStatus_t st = multiply(h, type, a, b, q->m, q->n, k, q->count, &p);

	if (st == CUBLAS_STATUS_SUCCESS)
		st = product_leave(h, &p, product_merge(h, type, &p, q));
	return product_leave(h, a, product_leave(h, b, st));
}

cublasStatus_t levels_product(const struct cublasContext *h, const struct levels_product *p)
{
	struct levels_call q = { .m = p->m, .n = p->n, .count = p->count, .c = (uintptr_t)p->c, .ldc = p->ldc, .sc = p->sc,
				 .flags = p->pointers ? LV_C_AT : 0 };
	struct dense a, b;
	cublasStatus_t st;

	levels_factors(h, p->type, p->alpha, p->beta, &q);
	if (!p->k || levels_none(&q, false))
		return product_merge(h, p->type, NULL, &q);
	if (!p->a || !p->b)
		return CUBLAS_STATUS_INVALID_VALUE;
	TRY(product_operand(h, p->type, p->type_in, p->ta, turned(p->ta) ? p->k : p->m, turned(p->ta) ? p->m : p->k, p->a, p->lda, p->sa, p->pointers,
			    p->count, &a));
	st = product_operand(h, p->type, p->type_in, p->tb, turned(p->tb) ? p->n : p->k, turned(p->tb) ? p->k : p->n, p->b, p->ldb, p->sb, p->pointers,
			     p->count, &b);
	return st == CUBLAS_STATUS_SUCCESS ? product_into(h, p->type, &a, &b, p->k, &q) : product_leave(h, &a, st);
}
