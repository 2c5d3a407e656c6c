/* SPDX-License-Identifier: MIT */
/*
 * Matrix products and triangular solves: by the host's cuBLAS, where the device was given one (cublas.c), else, and for what that does not
 * take, by kernels of ours (kernels/). They are texts of PTX, which the driver compiles when the first product of a kind comes; they need no
 * file. Given to the stream like launches.
 */
#include "cuda.h"

#include <string.h>

#include "kernels/product.h"

#define TEXT(symbol, file) \
	__asm__(".section .rodata\n" #symbol ":\n\t.incbin \"tools/vgpu-stub/cuda/kernels/" file "\"\n\t.byte 0\n.previous\n"); \
	__attribute__((visibility("hidden"))) extern const char symbol[]
TEXT(vgpu_cuda_floats, "floats.ptx");
TEXT(vgpu_cuda_halves, "halves.ptx");
TEXT(vgpu_cuda_others, "others.ptx");
TEXT(vgpu_cuda_tensor_f16, "tensor_f16.ptx");
TEXT(vgpu_cuda_tensor_bf16, "tensor_bf16.ptx");

enum kernel { FLOATS_8, FLOATS_4, HALVES_8, HALVES_4, DOUBLES, BYTES, SOLVE, SOLVE_DOUBLES, TENSOR_F16_8, TENSOR_F16_4, TENSOR_BF16_8, TENSOR_BF16_4 };

static const struct { const char *text, *name; uint32_t module, tile; } kernels[CUDA_PRODUCTS] = {
	[FLOATS_8] = { vgpu_cuda_floats, "product_f32_8", 0, 128 }, [FLOATS_4] = { vgpu_cuda_floats, "product_f32_4", 0, 64 },
	[HALVES_8] = { vgpu_cuda_halves, "product_any_8", 1, 128 }, [HALVES_4] = { vgpu_cuda_halves, "product_any_4", 1, 64 },
	[DOUBLES] = { vgpu_cuda_others, "product_f64_4", 2, 64 }, [BYTES] = { vgpu_cuda_others, "product_i8_4", 2, 64 },
	[TENSOR_F16_8] = { vgpu_cuda_tensor_f16, "tensor_f16_8", 3, 128 }, [TENSOR_F16_4] = { vgpu_cuda_tensor_f16, "tensor_f16_4", 3, 64 },
	[TENSOR_BF16_8] = { vgpu_cuda_tensor_bf16, "tensor_bf16_8", 4, 128 }, [TENSOR_BF16_4] = { vgpu_cuda_tensor_bf16, "tensor_bf16_4", 4, 64 },
	[SOLVE] = { vgpu_cuda_others, "solve_any", 2, 0 }, [SOLVE_DOUBLES] = { vgpu_cuda_others, "solve_f64", 2, 0 },
};

static CUresult function(struct engine *e, enum kernel k, CUfunction *f)
{
	CUmodule *m = &e->products.module[kernels[k].module];
	CUresult r = CUDA_SUCCESS;

	if (!*m)
		r = cu.cuModuleLoadDataEx(m, kernels[k].text, 0, NULL, NULL);
	if (r)
		*m = NULL;
	if (!r && !e->products.fn[k])
		r = cu.cuModuleGetFunction(&e->products.fn[k], *m, kernels[k].name);
	if (r)
		e->products.fn[k] = NULL;
	*f = e->products.fn[k];
	return r;
}

#define NARROW 8u               /* no more rows or columns than these leave a tensor core idle */

static uint64_t tiles(const struct vgpu_gemm *p, uint32_t side)
{
	return (((uint64_t)p->m + side - 1) / side) * (((uint64_t)p->n + side - 1) / side);
}

static enum kernel choose(const struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p)
{
	/* large tiles read less; small ones are more, where there are few */
	int large = tiles(p, 128) >= e->env.sm_count || (tiles(p, 128) >= 4 && tiles(p, 128) * b->batch >= e->env.sm_count);

	if (op == VGPU_OP_TRSM)
		return p->type_c == VGPU_GEMM_F64 ? SOLVE_DOUBLES : SOLVE;
	if (p->type_c == VGPU_GEMM_F64)
		return DOUBLES;
	if (p->type_a == VGPU_GEMM_I8)
		return BYTES;
	if (p->type_a == VGPU_GEMM_F32 && p->type_b == VGPU_GEMM_F32)
		return large ? FLOATS_8 : FLOATS_4;
	if (e->env.cc_major >= 8 && p->type_a == p->type_b && p->m > NARROW && p->n > NARROW)
		return p->type_a == VGPU_GEMM_F16 ? (large ? TENSOR_F16_8 : TENSOR_F16_4) : large ? TENSOR_BF16_8 : TENSOR_BF16_4;
	return large ? HALVES_8 : HALVES_4;
}

/* An address that stands in for a variable is the variable's; one in front of nothing stays, and faults. */
static uint64_t real(const struct engine *e, uint64_t at)
{
	uint64_t there;

	return cuda_real(e, at, 0, &there) ? there : at;
}

static CUresult own(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, const uint64_t place[5], CUstream stream)
{
	enum kernel k = choose(e, op, b, p);
	struct product_call q = {
		.a = place[0], .b = place[1], .c = place[2], .alpha_at = place[3], .beta_at = place[4],
		.alpha = p->alpha, .beta = p->beta, .stride_a = p->stride_a, .stride_b = p->stride_b, .stride_c = p->stride_c,
		.m = p->m, .n = p->n, .k = p->k, .lda = p->lda, .ldb = p->ldb, .ldc = p->ldc, .batch = b->batch,
		.type_a = p->type_a, .type_b = p->type_b, .type_c = p->type_c, .type_scalar = p->type_scalar,
		.flags = (b->flags & VGPU_GEMM_POINTERS ? PRODUCT_POINTERS : 0) | (p->trans_a ? PRODUCT_TRANS_A : 0) |
			 (p->trans_b ? PRODUCT_TRANS_B : 0) | (p->right ? PRODUCT_RIGHT : 0) | (p->upper ? PRODUCT_UPPER : 0) |
			 (p->unit ? PRODUCT_UNIT : 0),
	};
	size_t bytes = sizeof(q);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &q, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
	uint64_t blocks = op == VGPU_OP_TRSM ? ((p->right ? p->m : p->n) + SOLVE_WARPS - 1ull) / SOLVE_WARPS : tiles(p, kernels[k].tile);
	CUfunction f;
	CUresult r = function(e, k, &f);

	/* a tile each: c lies in the span, so they have a name; vectors of a solve go round */
	if (!r && blocks > 0x7fffffff && op == VGPU_OP_TRSM)
		blocks = 0x7fffffff;
	return r ? r : cu.cuLaunchKernel(f, (unsigned)blocks, b->batch < 65535 ? b->batch : 65535, 1, PRODUCT_THREADS, 1, 1, 0, stream, NULL, extra);
}

uint32_t cuda_gemm(struct engine *e, uint32_t op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, uint64_t cookie)
{
	const uint64_t place[5] = { real(e, b->a), real(e, b->b), real(e, b->c), real(e, p->alpha_at), real(e, p->beta_at) };
	struct cuda_stream *s;
	uint32_t st = e->died ? e->died : cuda_stream(e, cookie, CUDA_AS_IT_IS, &s);

	if (!st) {
		cuda_run_flush(e, s);
		st = cuda_cublas(e, op, b, p, place, s);
	}
	if (st == CUDA_OURS)
		st = cuda_failed(e, own(e, op, b, p, place, s->stream));
	if (st)
		return st;
	s->fn = 0;
	cuda_given(e, s);
	return ENGINE_PENDING;
}
