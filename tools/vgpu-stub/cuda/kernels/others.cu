/* SPDX-License-Identifier: MIT */
/* Products of F64 and of bytes; triangular solves. */
#include "product.inc"

KERNEL product_f64_4(struct product_call q) { product<of<F64>, 4>(&q); }
KERNEL product_i8_4(struct product_call q) { product<of<I8>, 4>(&q); }

/* ---- triangular solves --------------------------------------------------------------------------------------- */

template <u32 T> E2E_DEV double element(u64 at, u64 i, u32 type)
{
	return T == F64 ? ((const double *)at)[i] : (double)load(at, (i64)i, type);
}

E2E_DEV double added(double v)
{
#pragma unroll
	for (int d = 16; d; d /= 2) {
		u64 bits = __builtin_bit_cast(u64, v);
		u32 low = (u32)__shfl_xor_sync(~0u, (int)bits, d), high = (u32)__shfl_xor_sync(~0u, (int)(bits >> 32), d);

		v += __builtin_bit_cast(double, (u64)high << 32 | low);
	}
	return v;
}

/*
 * Substitution, a warp for each vector (a column of c on the left side, a row on the right side), in place; lanes share a sum's
 * members. Each mirroring, by transposition or by side, swaps the strides of a and makes upper of lower.
 */
template <u32 T> E2E_DEV void solve(const struct product_call *q)
{
	u32 order = q->flags & PRODUCT_RIGHT ? q->n : q->m, vectors = q->flags & PRODUCT_RIGHT ? q->m : q->n, lane = threadIdx.x % 32;
	bool mirrored = !!(q->flags & PRODUCT_TRANS_A) != !!(q->flags & PRODUCT_RIGHT), forward = !!(q->flags & PRODUCT_UPPER) == mirrored;
	u64 si = mirrored ? q->lda : 1, sq = mirrored ? 1 : q->lda, step = q->flags & PRODUCT_RIGHT ? q->ldc : 1;
	double alpha = factor(q, q->alpha_at, q->alpha);
	u32 bytes = bytes_of(q->type_c);

	for (u32 i = blockIdx.y; i < q->batch; i += gridDim.y)
		for (u64 v = blockIdx.x * (u64)SOLVE_WARPS + threadIdx.x / 32; v < vectors; v += (u64)gridDim.x * SOLVE_WARPS) {
			u64 a = matrix(q, q->a, q->stride_a, i, bytes);
			u64 x = matrix(q, q->c, q->stride_c, i, bytes) + v * (q->flags & PRODUCT_RIGHT ? 1 : q->ldc) * bytes;

			for (u32 s = 0; s < order; s++) {
				u32 r = forward ? s : order - 1 - s;
				double sum = 0;

				/* x[] above r (below it, backwards) is solved: by lane 0, seen by all behind the barrier */
				for (u32 p = lane; p < s; p += 32) {
					u32 l = forward ? p : order - 1 - p;

					sum += element<T>(a, r * si + l * sq, q->type_a) * element<T>(x, l * step, q->type_c);
				}
				sum = alpha * element<T>(x, r * step, q->type_c) - added(sum);
				if (!(q->flags & PRODUCT_UNIT))
					sum = sum / element<T>(a, r * si + r * sq, q->type_a);
				__syncwarp();
				if (lane == 0 && T == F64)
					((double *)x)[r * step] = sum;
				else if (lane == 0)
					store(x, (i64)(r * step), q->type_c, (float)sum);
				__syncwarp();
			}
		}
}

KERNEL solve_any(struct product_call q) { solve<0>(&q); }
KERNEL solve_f64(struct product_call q) { solve<F64>(&q); }
