/* SPDX-License-Identifier: MIT */
/*
 * What cublasLtMatmul does to a product's elements (../../blaslt/matmul.c). epilogue.ptx beside this file is what clang makes of it.
 * A thread has eight rows of a column: ReLU's mask has a bit for each, and no two threads share a byte of it.
 */
#include "values.h"
#include "epilogue.h"

#define KERNEL extern "C" __global__ void __launch_bounds__(EPILOGUE_THREADS)

/* 1 - 2 / (e^2u + 1), right to 3e-7 of one at every u */
E2E_DEV float tanh_of(float u)
{
	float e, r;

	__asm__("ex2.approx.ftz.f32 \t%0, %1;" : "=f"(e) : "f"(u * 2.885390081777927f));
	__asm__("rcp.rn.f32 \t%0, %1;" : "=f"(r) : "f"(e + 1.0f));
	return 1.0f - 2.0f * r;
}

#define ROOT 0.7978845608028654f
#define CUBE 0.044715f

E2E_DEV float gelu(float x)
{
	return 0.5f * x * (1.0f + tanh_of(ROOT * (x + CUBE * x * x * x)));
}

E2E_DEV float gelu_slope(float x)
{
	float t = tanh_of(ROOT * (x + CUBE * x * x * x));

	return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * ROOT * (1.0f + 3.0f * CUBE * x * x);
}

/* To 8 bits: nearest, ties to even, what is too large becomes the largest; a NaN stays one. */
E2E_DEV u32 eight_of(float v, u32 type)
{
	u32 fraction = type == EPI_E4M3 ? 3 : 2, most = type == EPI_E4M3 ? 0x7e : 0x7b, low = type == EPI_E4M3 ? 121 : 113;
	u32 b = float_bits(v), sign = b >> 24 & 0x80, size = b & 0x7fffffffu, shift = 23 - fraction, code;

	if (size > 0x7f800000u)
		return sign | 0x7f;
	if (size >> 23 < low)           /* a multiple of the least: 2^(low - 127 - fraction); adding 2^23 of these rounds */
		code = float_bits(bits_float(size) + bits_float((low + shift) << 23)) & 0x7fffffu;
	else
		code = ((size + (1u << (shift - 1)) - 1 + (size >> shift & 1)) >> shift) - ((low - 1) << fraction);
	return sign | (code > most ? most : code);
}

/* A float of 8 bits has a value in F16: e5m2 is its upper half, e4m3 is 2^-8 of it with a bit less of exponent and one more of fraction. */
E2E_DEV float eight_float(u32 b, u32 type)
{
	if (type == EPI_E5M2)
		return half_float((u16)(b << 8));
	return (b & 0x7f) == 0x7f ? __builtin_nanf("") : 256.0f * half_float((u16)((b & 0x80) << 8 | (b & 0x7f) << 7));
}

E2E_DEV float load_any(u64 at, i64 i, u32 type)
{
	return type < EPI_E4M3 ? load(at, i, type) : eight_float(((const unsigned char *)at)[i], type);
}

E2E_DEV void store_any(const struct epilogue_call *q, i64 i, float v)
{
	if (q->type_out < EPI_E4M3) {
		store(q->out, i, q->type_out, v);
		return;
	}
	if (q->amax)
		__asm__ volatile("red.global.max.u32 \t[%0], %1;" :: "l"(q->amax), "r"(float_bits(v) & 0x7fffffffu) : "memory");
	((unsigned char *)q->out)[i] = (unsigned char)eight_of(q->scale ? v * *(const float *)q->scale : v, q->type_out);
}

/* Element (i, j) of matrix b, the product's, on its way to D. bit: of its byte of the mask. */
__attribute__((always_inline)) E2E_DEV void finish(const struct epilogue_call *q, float v, i64 i, i64 j, i64 b, u32 bit, u32 *mask)
{
	i64 aux = i + j * q->aux_ld + b * q->aux_bs;

	if (q->does & EPI_BIAS)
		v += load(q->bias, i + b * q->bias_bs, q->type_bias);
	if (q->does & EPI_RELU) {
		*mask |= (u32)(v > 0) << bit;
		v = v > 0 || v != v ? v : 0;
	}
	if (q->does & EPI_GELU) {
		if (q->does & EPI_AUX)
			store(q->aux, aux, q->type_aux, v);
		v = gelu(v);
	}
	if (q->does & EPI_DRELU)
		v = *mask >> bit & 1 ? v : 0;
	if (q->does & EPI_DGELU)
		v *= gelu_slope(load(q->aux, aux, q->type_aux));
	store_any(q, i * q->out_rs + j * q->out_cs + b * q->out_bs, v);
}

E2E_DEV float sum_of(const struct epilogue_whole_call *w, i64 i, i64 j, i64 b)
{
	float sum = 0;

	for (i64 l = 0; l < w->k; l++)
		sum += load_any(w->a, i * w->a_rs + l * w->a_cs + b * w->a_bs, w->type_a) * load_any(w->b, l * w->b_rs + j * w->b_cs + b * w->b_bs, w->type_b);
	return sum;
}

/* w: the product is made here, and q is its epilogue; 0: it is what lies at q->in */
E2E_DEV void eights(const struct epilogue_call *q, const struct epilogue_whole_call *w, float alpha, float beta)
{
	i64 eights = (q->m + 7) / 8, b = blockIdx.y;

	for (i64 e = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; e < eights * q->n; e += (i64)gridDim.x * EPILOGUE_THREADS) {
		i64 top = e % eights * 8, j = e / eights;
		u32 mask = 0;
		unsigned char *bits = (unsigned char *)q->aux + (top + j * q->aux_ld + b * q->aux_bs) / 8;

		if (q->does & EPI_DRELU)
			mask = *bits;
		for (i64 i = top; i < top + 8 && i < q->m; i++) {
			i64 in = i * q->in_rs + j * q->in_cs + b * q->in_bs;
			float v = w ? alpha * sum_of(w, i, j, b) : load(q->in, in, q->type_in);

			if (w && beta != 0)
				v += beta * load(q->in, in, q->type_in);
			finish(q, v, i, j, b, (u32)(i - top), &mask);
		}
		if ((q->does & (EPI_RELU | EPI_AUX)) == (EPI_RELU | EPI_AUX))
			*bits = (unsigned char)mask;
	}
}

KERNEL epilogue_each(struct epilogue_call q)
{
	eights(&q, 0, 1, 0);
}

/* Slower than a GEMM command, but in memory of nobody's: what a graph captures and another graph is to hold cannot allocate. */
KERNEL epilogue_whole(struct epilogue_whole_call w)
{
	float alpha = w.alpha, beta = w.beta;

	/* in registers: clang would choose between two addresses, and put these into memory for it */
	__asm__("" : "+f"(alpha), "+f"(beta));
	if (w.alpha_at)
		alpha = *(const float *)w.alpha_at;
	if (w.beta_at)
		beta = *(const float *)w.beta_at;
	alpha *= (w.scale_a ? *(const float *)w.scale_a : 1.0f) * (w.scale_b ? *(const float *)w.scale_b : 1.0f);
	eights(&w.e, &w, alpha, beta);
}

/* bias[i] = the sum over j of in(i, j): a thread a row */
KERNEL epilogue_sums(struct epilogue_call q)
{
	for (i64 i = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; i < q.m; i += (i64)gridDim.x * EPILOGUE_THREADS) {
		double sum = 0;

		for (i64 j = 0; j < q.n; j++)
			sum += (double)load(q.in, i * q.in_rs + j * q.in_cs + blockIdx.y * q.in_bs, q.type_in);
		store(q.bias, i + blockIdx.y * q.bias_bs, q.type_bias, (float)sum);
	}
}

/* Floats of 8 bits as F16, which has all of their values. */
KERNEL epilogue_eight(struct epilogue_call q)
{
	for (i64 e = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; e < q.m * q.n; e += (i64)gridDim.x * EPILOGUE_THREADS) {
		u32 b = ((const unsigned char *)q.in)[e % q.m * q.in_rs + e / q.m * q.in_cs + blockIdx.y * q.in_bs];

		store(q.out, e % q.m * q.out_rs + e / q.m * q.out_cs + blockIdx.y * q.out_bs, F16, eight_float(b, q.type_in));
	}
}

KERNEL epilogue_factors(struct epilogue_factors_call q)
{
	if (threadIdx.x || blockIdx.x)
		return;
	((float *)q.out)[0] = *(const float *)q.alpha * (q.a ? *(const float *)q.a : 1.0f) * (q.b ? *(const float *)q.b : 1.0f);
	((float *)q.out)[1] = *(const float *)q.beta;
}

/* Elements of any size moved as they are: in and out of q.type_in bytes each. */
KERNEL epilogue_move(struct epilogue_call q)
{
	for (i64 e = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; e < q.m * q.n; e += (i64)gridDim.x * EPILOGUE_THREADS) {
		i64 from = e % q.m * q.in_rs + e / q.m * q.in_cs + blockIdx.y * q.in_bs;
		i64 to = e % q.m * q.out_rs + e / q.m * q.out_cs + blockIdx.y * q.out_bs;

		if (q.type_in == 8)
			((u64 *)q.out)[to] = ((const u64 *)q.in)[from];
		else if (q.type_in == 4)
			((u32 *)q.out)[to] = ((const u32 *)q.in)[from];
		else if (q.type_in == 2)
			((u16 *)q.out)[to] = ((const u16 *)q.in)[from];
		else
			((unsigned char *)q.out)[to] = ((const unsigned char *)q.in)[from];
	}
}
