/* SPDX-License-Identifier: MIT */
/*
 * cublasLtMatmul: D = epilogue(alpha op(A) op(B) + beta C). C is brought to where the product goes, one GEMM command (vgpuGemm) adds
 * the product to it, and a kernel of ours (../blas/kernels/epilogue.cu) does the rest. Where D has 16 bits and an epilogue, the
 * product is F32 in memory of its own, so that the epilogue sees what hardware's sees, and D is rounded once. Inputs of 8-bit floats become F16,
 * which has all of their values. A stream that is captured has no such memory without a workspace (a graph that allocates is never part of
 * another one, and XLA puts products into one so): one kernel does the whole there.
 *
 * A matrix in row order is the transpose of one in column order: such an A or B turns its transposition over, and a D in row order is
 * computed as op(B)' op(A)'.
 */
#include <string.h>

#include "lt.h"
#include "vgpu_gemm.h"

#include "../blas/kernels/epilogue.h"

#define STRIDES(p, l) .p##_rs = (l)->order == LT_ORDER_ROW ? (l)->ld : 1, .p##_cs = (l)->order == LT_ORDER_ROW ? 1 : (l)->ld, \
	.p##_bs = (l)->batch_stride

__asm__(".section .rodata\n"
	"vgpu_lt_ptx:\n"
	"\t.incbin \"libcuda-lite/blas/kernels/epilogue.ptx\"\n"
	"\t.byte 0\n"
	".previous\n");
__attribute__((visibility("hidden"))) extern const char vgpu_lt_ptx[];

enum { EACH, SUMS, MOVE, EIGHT, FACTORS, WHOLE, KERNELS };
static const char *const names[KERNELS] = { "epilogue_each", "epilogue_sums", "epilogue_move", "epilogue_eight", "epilogue_factors",
	"epilogue_whole" };
static CUkernel kernels[KERNELS];
static struct blas_module module = { .ptx = vgpu_lt_ptx, .names = names, .kernels = kernels, .count = KERNELS };

static bool order_ok(const struct lt_layout *l)
{
	uint64_t lead = l->order == LT_ORDER_ROW ? l->cols : l->rows;

	return l->rows <= INT32_MAX && l->cols <= INT32_MAX && l->ld <= INT32_MAX && l->ld >= (int64_t)(lead ? lead : 1);
}

static bool floats(unsigned int type)
{
	return type == VGPU_GEMM_F32 || type == VGPU_GEMM_F16 || type == VGPU_GEMM_BF16;
}

static bool is_eight(const struct lt_layout *l)
{
	return l->type == LT_E4M3 || l->type == LT_E5M2;
}

/* The type of D, or of C, as the kernels know it; 0: none of theirs. */
static unsigned int type_of(const struct lt_layout *l)
{
	return l->type == LT_E4M3 ? EPI_E4M3 : l->type == LT_E5M2 ? EPI_E5M2 : blas_type((cudaDataType)l->type);
}

/* Inputs are floats of 8 bits, which are multiplied as F16, and their scales into alpha; D may be of 8 bits then, and C of 16. By NVIDIA's table. */
static bool eights(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
		   const struct lt_layout *d)
{
	bool fits = is_eight(d) ? (c->type == CUDA_R_16F || c->type == CUDA_R_16BF) && (d->type == LT_E4M3 || a->type != b->type) :
			    c->type == d->type && floats(blas_type((cudaDataType)d->type));

	return is_eight(a) && is_eight(b) && (a->type == LT_E4M3 || b->type == LT_E4M3) && p->compute == CUBLAS_COMPUTE_32F && p->scale == CUDA_R_32F &&
	       fits;
}

static bool types_of(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
		     const struct lt_layout *d, unsigned int *in, unsigned int *out, unsigned int *scalar)
{
	if (eights(p, a, b, c, d)) {
		*in = VGPU_GEMM_F16;
		*out = type_of(d);
		*scalar = VGPU_GEMM_F32;
		return true;
	}
	return c->type == d->type && blas_types((cudaDataType)a->type, (cudaDataType)b->type, (cudaDataType)d->type, (cublasComputeType_t)p->compute,
						in, out, scalar) && blas_type((cudaDataType)p->scale) == *scalar;
}

cublasStatus_t lt_check(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
			const struct lt_layout *d)
{
	const struct lt_layout *all[] = { a, b, c, d };
	uint64_t k = p->trans_a ? a->rows : a->cols;
	unsigned int in, out, scalar, does = p->epilogue & ~1u;

	for (int i = 0; i < 4; i++) {
		if (all[i]->order != LT_ORDER_COL && all[i]->order != LT_ORDER_ROW)
			LT_UNSUPPORTED("an order of elements other than by columns or by rows");
		if (!order_ok(all[i]) || all[i]->batch_count < 1)
			return CUBLAS_STATUS_INVALID_VALUE;
		if (all[i]->batch_count != d->batch_count)
			return CUBLAS_STATUS_INVALID_VALUE;
	}
	if ((unsigned)p->trans_a > CUBLAS_OP_C || (unsigned)p->trans_b > CUBLAS_OP_C || (p->trans_a ? a->cols : a->rows) != d->rows ||
	    (p->trans_b ? b->cols : b->rows) != k || (p->trans_b ? b->rows : b->cols) != d->cols || c->rows != d->rows || c->cols != d->cols)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (p->trans_c || p->fill != CUBLAS_FILL_MODE_FULL || p->pointer_mode > LT_POINTER_DEVICE)
		LT_UNSUPPORTED("cublasLtMatmul with a transposed or triangular result, or a vector of factors");
	if (p->scale_c || p->scale_aux || p->amax_aux || ((p->scale_d || p->amax_d) && !(is_eight(d) && eights(p, a, b, c, d))) ||
	    ((p->scale_a || p->scale_b) && !eights(p, a, b, c, d)))
		LT_UNSUPPORTED("cublasLtMatmul with scales for other matrices than floats of 8 bits");
	if (lt_complex(p, a, b, c, d) >= 0) {
		if (does)
			LT_UNSUPPORTED("an epilogue of cublasLtMatmul of complex matrices");
		return CUBLAS_STATUS_SUCCESS;
	}
	if (!types_of(p, a, b, c, d, &in, &out, &scalar))
		LT_UNSUPPORTED("cublasLtMatmul with these data, compute and scale types");
	if (does & ~(unsigned)(EPI_RELU | EPI_BIAS | EPI_DRELU | EPI_BGRAD | EPI_GELU | EPI_DGELU | EPI_AUX | EPI_BGRADA | EPI_BGRADB))
		return CUBLAS_STATUS_INVALID_VALUE;
	if ((does & (EPI_BGRADA | EPI_BGRADB)) && eights(p, a, b, c, d))
		LT_UNSUPPORTED("an epilogue of cublasLtMatmul that sums inputs of 8 bits");
	if (is_eight(d) && (does & ~(unsigned)(EPI_RELU | EPI_BIAS | EPI_GELU)))
		LT_UNSUPPORTED("an epilogue of cublasLtMatmul with an auxiliary matrix or sums beside a result of 8 bits");
	if (does && !is_eight(d) && (!floats(in) || !floats(out) || d->batch_count > 65535))
		LT_UNSUPPORTED("an epilogue of cublasLtMatmul in F64 or in integers");
	return CUBLAS_STATUS_SUCCESS;
}

static bool apart(const struct lt_product *p, const struct lt_layout *d, bool eight)
{
	return ((p->epilogue & (EPI_RELU | EPI_BIAS | EPI_DRELU | EPI_GELU | EPI_DGELU)) || eight) && blas_type((cudaDataType)d->type) != VGPU_GEMM_F32;
}

/* Bytes of a matrix in `size` bytes each, up to where the next one may begin. */
static size_t span(const struct lt_layout *l, size_t size)
{
	return ((size_t)(l->rows * l->cols) * (size_t)l->batch_count * size + 255) & ~(size_t)255;
}

size_t lt_room(const struct lt_product *p, const struct lt_layout *a, const struct lt_layout *b, const struct lt_layout *c,
	       const struct lt_layout *d)
{
	bool eight = eights(p, a, b, c, d);

	return (apart(p, d, eight) ? span(d, 4) : 0) + (eight ? span(a, 2) + span(b, 2) + 16 : 0);
}

static CUresult each(unsigned int kernel, struct epilogue_call *q, int batch, CUstream s)
{
	unsigned long long work = kernel == SUMS ? (unsigned long long)q->m : kernel == EACH ? (unsigned long long)(q->m + 7) / 8 * (unsigned long long)q->n :
				  (unsigned long long)q->m * (unsigned long long)q->n;

	return work ? blas_launch(&module, kernel, blas_blocks(work, EPILOGUE_THREADS), (unsigned int)batch, EPILOGUE_THREADS, s, q) : CUDA_SUCCESS;
}

/* D, and where the product goes: D itself, or F32 of the same order. */
struct target {
	const struct lt_layout *d;
	struct lt_layout to;
	CUdeviceptr at;
	unsigned int type;
	bool apart;
};

static CUresult product(const struct lt_product *p, const struct target *t, unsigned int in, unsigned int scalar, double alpha, double beta,
			const void *alpha_at, const void *beta_at, const void *a, const struct lt_layout *la, const void *b,
			const struct lt_layout *lb, CUstream s)
{
	bool rows = t->to.order == LT_ORDER_ROW;
	const struct lt_layout *x = rows ? lb : la, *y = rows ? la : lb;
	int tx = (rows ? p->trans_b : p->trans_a) != 0, ty = (rows ? p->trans_a : p->trans_b) != 0;
	struct vgpu_body_gemm body = { .a = (uintptr_t)(rows ? b : a), .b = (uintptr_t)(rows ? a : b), .c = t->at,
				       .batch = (uint32_t)t->to.batch_count };
	struct vgpu_gemm g = {
		.m = (uint32_t)(rows ? t->to.cols : t->to.rows), .n = (uint32_t)(rows ? t->to.rows : t->to.cols),
		.k = (uint32_t)(p->trans_a ? la->rows : la->cols), .lda = (uint32_t)x->ld, .ldb = (uint32_t)y->ld, .ldc = (uint32_t)t->to.ld,
		.stride_a = (uint64_t)x->batch_stride, .stride_b = (uint64_t)y->batch_stride, .stride_c = (uint64_t)t->to.batch_stride,
		.type_a = (uint8_t)in, .type_b = (uint8_t)in, .type_c = (uint8_t)t->type, .type_scalar = (uint8_t)scalar,
		.trans_a = tx ^ rows ^ (x->order == LT_ORDER_ROW), .trans_b = ty ^ rows ^ (y->order == LT_ORDER_ROW),
		.alpha = alpha, .beta = beta, .alpha_at = (uintptr_t)alpha_at, .beta_at = (uintptr_t)beta_at,
	};

	if (!alpha_at && alpha == 0)
		g.k = 0;
	if (!g.k)
		body.a = body.b = 0;
	return vgpuGemm(VGPU_OP_GEMM, &body, &g, s);
}

/* Both inputs as F16, densely, and factors in memory of the device's own. */
struct wide {
	CUdeviceptr at, factors;
	struct lt_layout a, b;
	CUdeviceptr A, B;
};

static CUresult widen(const struct lt_layout *l, const void *from, CUdeviceptr to, struct lt_layout *wide, CUstream s)
{
	struct epilogue_call q = { .in = (uintptr_t)from, .out = to, .m = (long long)l->rows, .n = (long long)l->cols, STRIDES(in, l),
				   .type_in = type_of(l) };

	*wide = *l;
	wide->type = CUDA_R_16F;
	wide->ld = (int64_t)(l->order == LT_ORDER_ROW ? l->cols : l->rows);
	wide->batch_stride = (int64_t)(l->rows * l->cols);
	q.out_rs = l->order == LT_ORDER_ROW ? wide->ld : 1;
	q.out_cs = l->order == LT_ORDER_ROW ? 1 : wide->ld;
	q.out_bs = wide->batch_stride;
	return each(EIGHT, &q, l->batch_count, s);
}

static CUresult widen_both(const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a, const void *B,
			   const struct lt_layout *b, const void *beta, CUdeviceptr room, struct wide *w, CUstream s)
{
	size_t na = span(a, 2), nb = span(b, 2);
	struct epilogue_factors_call q = { .alpha = (uintptr_t)alpha, .beta = (uintptr_t)beta, .a = p->scale_a, .b = p->scale_b };
	CUresult r = room ? CUDA_SUCCESS : cuMemAllocAsync(&w->at, na + nb + 16, s);

	if (r != CUDA_SUCCESS)
		return r;
	room = room ? room : w->at;
	w->A = room;
	w->B = room + na;
	q.out = w->factors = room + na + nb;
	if (p->pointer_mode == LT_POINTER_HOST) {
		uint32_t bits[2];

		memcpy(&bits[0], alpha, 4);
		memcpy(&bits[1], beta, 4);
		q.alpha = q.out + 8;
		q.beta = q.out + 12;
		r = cuMemsetD32Async(q.alpha, bits[0], 1, s);
		if (r == CUDA_SUCCESS)
			r = cuMemsetD32Async(q.beta, bits[1], 1, s);
	}
	if (r == CUDA_SUCCESS)
		r = blas_launch(&module, FACTORS, 1, 1, 32, s, &q);
	if (r == CUDA_SUCCESS)
		r = widen(a, A, w->A, &w->a, s);
	return r == CUDA_SUCCESS ? widen(b, B, w->B, &w->b, s) : r;
}

/* A current context, as the runtime would have it: the first device's primary one. */
static CUresult enter(void)
{
	CUcontext c = NULL;
	CUdevice dev;
	CUresult r = cuCtxGetCurrent(&c);

	if (r != CUDA_SUCCESS || c)
		return r;
	r = cuDeviceGet(&dev, 0);
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&c, dev);
	return r == CUDA_SUCCESS ? cuCtxSetCurrent(c) : r;
}

/* One call, checked. Factors by address where they are in device memory, else by value. */
struct call {
	const struct lt_product *p;
	const void *alpha, *A, *B, *beta, *C;
	void *D;
	const struct lt_layout *a, *b, *c, *d;
	unsigned int in, out, scalar, does, bias_type;
	const void *alpha_at, *beta_at;
	double av, bv;
	CUstream stream;
};

static struct epilogue_call finish(const struct call *k, CUdeviceptr from, const struct lt_layout *l, unsigned int type)
{
	const struct lt_product *p = k->p;

	return (struct epilogue_call){ .in = from, .out = (uintptr_t)k->D, .bias = p->bias, .aux = p->aux, .m = (long long)k->d->rows,
				       .n = (long long)k->d->cols, STRIDES(in, l), STRIDES(out, k->d), .bias_bs = p->bias_stride,
				       .aux_ld = p->aux_ld, .aux_bs = p->aux_stride, .does = k->does, .type_in = type, .type_out = k->out,
				       .type_bias = k->bias_type, .type_aux = p->aux_type < 0 ? k->out : blas_type((cudaDataType)p->aux_type),
				       .scale = p->scale_d, .amax = p->amax_d };
}

/* Everything by one kernel, in no memory but the caller's. */
static CUresult whole(const struct call *k)
{
	const struct lt_product *p = k->p;
	const struct lt_layout *a = k->a, *b = k->b;
	long long ar = a->order == LT_ORDER_ROW ? a->ld : 1, ac = a->order == LT_ORDER_ROW ? 1 : a->ld;
	long long br = b->order == LT_ORDER_ROW ? b->ld : 1, bc = b->order == LT_ORDER_ROW ? 1 : b->ld;
	struct epilogue_whole_call w = {
		.e = finish(k, (uintptr_t)k->C, k->c, type_of(k->c)), .a = (uintptr_t)k->A, .b = (uintptr_t)k->B, .alpha_at = (uintptr_t)k->alpha_at,
		.beta_at = (uintptr_t)k->beta_at, .scale_a = p->scale_a, .scale_b = p->scale_b, .k = (long long)(p->trans_a ? a->rows : a->cols),
		.a_rs = p->trans_a ? ac : ar, .a_cs = p->trans_a ? ar : ac, .a_bs = a->batch_stride, .b_rs = p->trans_b ? bc : br,
		.b_cs = p->trans_b ? br : bc, .b_bs = b->batch_stride, .alpha = (float)k->av, .beta = (float)k->bv, .type_a = type_of(a), .type_b = type_of(b),
	};
	unsigned long long work = (unsigned long long)(w.e.m + 7) / 8 * (unsigned long long)w.e.n;

	if (!w.alpha_at && w.alpha == 0)
		w.k = 0;
	return blas_launch(&module, WHOLE, blas_blocks(work, EPILOGUE_THREADS), (unsigned int)k->d->batch_count, EPILOGUE_THREADS, k->stream, &w);
}

/* C, the product, and the epilogue, where that is not a sum. room: lt_room()'s bytes, or 0 */
static CUresult steps(const struct call *k, CUdeviceptr room, bool eight)
{
	static const unsigned int elementwise = EPI_RELU | EPI_BIAS | EPI_DRELU | EPI_GELU | EPI_DGELU;
	const struct lt_layout *a = k->a, *b = k->b, *c = k->c, *d = k->d;
	struct target t = { .d = d, .to = *d, .at = (CUdeviceptr)k->D, .type = k->out, .apart = apart(k->p, d, eight) };
	const void *A = k->A, *B = k->B, *alpha_at = k->alpha_at, *beta_at = k->beta_at;
	unsigned int scalar = k->scalar;
	struct wide w = { 0 };
	CUresult r = CUDA_SUCCESS;

	if (t.apart) {
		scalar = VGPU_GEMM_F32;
		t.to.ld = (int64_t)(d->order == LT_ORDER_ROW ? d->cols : d->rows);
		t.to.batch_stride = (int64_t)(d->rows * d->cols);
		t.type = VGPU_GEMM_F32;
		t.at = room;
		if (!room)
			r = cuMemAllocAsync(&t.at, span(d, 4), k->stream);
		if (r != CUDA_SUCCESS)
			return r;
	}
	if ((beta_at || k->bv != 0) && (t.apart || k->C != k->D || c->ld != d->ld || c->order != d->order || c->batch_stride != d->batch_stride)) {
		struct epilogue_call q = { .in = (uintptr_t)k->C, .out = t.at, .m = (long long)d->rows, .n = (long long)d->cols, STRIDES(in, c),
					   STRIDES(out, &t.to), .type_in = type_of(c), .type_out = t.type };
		unsigned int kernel = EACH;

		if (!t.apart) {
			q.type_in = vgpu_gemm_bytes(k->out);
			kernel = MOVE;
		}
		r = each(kernel, &q, d->batch_count, k->stream);
	}
	if (r == CUDA_SUCCESS && eight) {
		r = widen_both(k->p, k->alpha, A, a, B, b, k->beta, room ? room + (t.apart ? span(d, 4) : 0) : 0, &w, k->stream);
		A = (const void *)(uintptr_t)w.A;
		B = (const void *)(uintptr_t)w.B;
		a = &w.a;
		b = &w.b;
		alpha_at = (const void *)(uintptr_t)w.factors;
		beta_at = (const void *)(uintptr_t)(w.factors + 4);
	}
	if (r == CUDA_SUCCESS)
		r = product(k->p, &t, k->in, scalar, k->av, k->bv, alpha_at, beta_at, A, a, B, b, k->stream);
	if (r == CUDA_SUCCESS && ((k->does & elementwise) || t.apart)) {
		struct epilogue_call q = finish(k, t.at, &t.to, t.type);

		r = each(EACH, &q, d->batch_count, k->stream);
	}
	if (w.at) {
		CUresult freed = cuMemFreeAsync(w.at, k->stream);

		if (r == CUDA_SUCCESS)
			r = freed;
	}
	if (t.apart && !room) {
		CUresult freed = cuMemFreeAsync(t.at, k->stream);

		if (r == CUDA_SUCCESS)
			r = freed;
	}
	return r;
}

/* Along the rows of D, of op(A), or the columns of op(B). */
static CUresult sums(const struct call *k)
{
	const struct lt_product *p = k->p;
	const struct lt_layout *l = k->does & EPI_BGRADA ? k->a : k->does & EPI_BGRADB ? k->b : k->d;
	struct epilogue_call q = { .in = (uintptr_t)(l == k->a ? k->A : l == k->b ? k->B : k->D), .bias = p->bias, .m = (long long)l->rows,
				   .n = (long long)l->cols, STRIDES(in, l), .bias_bs = p->bias_stride, .type_in = l == k->d ? k->out : k->in,
				   .type_bias = k->bias_type };

	if ((k->does & EPI_BGRADA) ? p->trans_a : (k->does & EPI_BGRADB) ? !p->trans_b : 0) {
		q.m = (long long)l->cols;
		q.n = (long long)l->rows;
		q.in_rs = l->order == LT_ORDER_ROW ? 1 : l->ld;
		q.in_cs = l->order == LT_ORDER_ROW ? l->ld : 1;
	}
	return each(SUMS, &q, k->d->batch_count, k->stream);
}

static bool captured(CUstream s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return cuStreamIsCapturing(s, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static cublasStatus_t matmul(void *handle, const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a,
	const void *B, const struct lt_layout *b, const void *beta, const void *C, const struct lt_layout *c, void *D,
	const struct lt_layout *d, const struct lt_algo *algo, void *workspace, size_t bytes, CUstream stream)
{
	struct call k = { .p = p, .alpha = alpha, .A = A, .B = B, .beta = beta, .C = C, .D = D, .a = a, .b = b, .c = c, .d = d, .stream = stream };
	cublasStatus_t st;
	CUdeviceptr room;
	bool eight;
	int complex;
	CUresult r;

	(void)algo;
	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!p || !a || !b || !c || !d || !alpha || !beta || !D)
		return CUBLAS_STATUS_INVALID_VALUE;
	st = lt_check(p, a, b, c, d);
	if (st != CUBLAS_STATUS_SUCCESS)
		return st;
	if (!d->rows || !d->cols)
		return CUBLAS_STATUS_SUCCESS;
	complex = lt_complex(p, a, b, c, d);
	if (complex >= 0) {
		r = enter();
		return r == CUDA_SUCCESS ? lt_complex_matmul(complex, p, alpha, A, a, B, b, beta, C, c, D, d, stream) : lt_status(r);
	}
	(void)types_of(p, a, b, c, d, &k.in, &k.out, &k.scalar);
	eight = eights(p, a, b, c, d);
	k.does = p->epilogue & ~1u;
	k.bias_type = p->bias_type >= 0 ? blas_type((cudaDataType)p->bias_type) : is_eight(d) ? type_of(c) : k.out;
	if (p->pointer_mode == LT_POINTER_DEVICE) {
		k.alpha_at = alpha;
		k.beta_at = beta;
	} else {
		k.av = blas_host_scalar(alpha, k.scalar);
		k.bv = blas_host_scalar(beta, k.scalar);
	}
	if (((k.does & (EPI_BIAS | EPI_BGRAD | EPI_BGRADA | EPI_BGRADB)) && !p->bias) ||
	    ((k.does & EPI_AUX) && (!p->aux || p->aux_ld < (int64_t)d->rows || ((k.does & (EPI_RELU | EPI_DRELU)) && p->aux_ld % 128))) ||
	    ((k.beta_at || k.bv != 0) && !C))
		return CUBLAS_STATUS_INVALID_VALUE;
	r = enter();
	if (r != CUDA_SUCCESS)
		return lt_status(r);
	/* hardware's factors are F32 too where its sums are; those of 16-bit sums stand on the host here */
	if (apart(p, d, eight) && k.scalar == VGPU_GEMM_F16 && k.alpha_at)
		LT_UNSUPPORTED("an epilogue of cublasLtMatmul in F16 with factors in device memory");
	room = bytes >= lt_room(p, a, b, c, d) && !((uintptr_t)workspace & 15) ? (CUdeviceptr)workspace : 0;
	if (p->amax_d)
		r = cuMemsetD32Async(p->amax_d, 0, 1, stream);
	if (r == CUDA_SUCCESS)
		r = !room && lt_room(p, a, b, c, d) && captured(stream) ? whole(&k) : steps(&k, room, eight);
	if (r == CUDA_SUCCESS && (k.does & (EPI_BGRAD | EPI_BGRADA | EPI_BGRADB)))
		r = sums(&k);
	return lt_status(r);
}

PUBLIC cublasStatus_t cublasLtMatmul(void *handle, const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a,
	const void *B, const struct lt_layout *b, const void *beta, const void *C, const struct lt_layout *c, void *D,
	const struct lt_layout *d, const struct lt_algo *algo, void *workspace, size_t bytes, CUstream stream);

cublasStatus_t cublasLtMatmul(void *handle, const struct lt_product *p, const void *alpha, const void *A, const struct lt_layout *a,
	const void *B, const struct lt_layout *b, const void *beta, const void *C, const struct lt_layout *c, void *D,
	const struct lt_layout *d, const struct lt_algo *algo, void *workspace, size_t bytes, CUstream stream)
{
	cublasStatus_t st = matmul(handle, p, alpha, A, a, B, b, beta, C, c, D, d, algo, workspace, bytes, stream);

	if (st != CUBLAS_STATUS_SUCCESS)
		lt_log(LT_ERROR, "cublasLtMatmul", "status %d", (int)st);
	else
		lt_log(LT_TRACE, "cublasLtMatmul", "A=%p Adesc=[type=%d rows=%llu cols=%llu ld=%lld] B=%p Bdesc=[type=%d rows=%llu cols=%llu ld=%lld] "
		       "D=%p Ddesc=[type=%d rows=%llu cols=%llu ld=%lld] batches=%d computeType=%d epilogue=%u workSpace=%p workSpaceSizeInBytes=%zu stream=%p", A, (int)a->type,
		       (unsigned long long)a->rows, (unsigned long long)a->cols, (long long)a->ld, B, (int)b->type, (unsigned long long)b->rows,
		       (unsigned long long)b->cols, (long long)b->ld, D, (int)d->type, (unsigned long long)d->rows, (unsigned long long)d->cols,
		       (long long)d->ld, (int)d->batch_count, (int)p->compute, p->epilogue, workspace, bytes, (void *)stream);
	return st;
}
