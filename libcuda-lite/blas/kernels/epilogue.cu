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

KERNEL epilogue_each(struct epilogue_call q)
{
	i64 eights = (q.m + 7) / 8, b = blockIdx.y;

	for (i64 e = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; e < eights * q.n; e += (i64)gridDim.x * EPILOGUE_THREADS) {
		i64 top = e % eights * 8, j = e / eights;
		u32 mask = 0;
		unsigned char *bits = (unsigned char *)q.aux + (top + j * q.aux_ld + b * q.aux_bs) / 8;

		if (q.does & EPI_DRELU)
			mask = *bits;
		for (i64 i = top; i < top + 8 && i < q.m; i++) {
			float v = load(q.in, i * q.in_rs + j * q.in_cs + b * q.in_bs, q.type_in);
			i64 aux = i + j * q.aux_ld + b * q.aux_bs;

			if (q.does & EPI_BIAS)
				v += load(q.bias, i + b * q.bias_bs, q.type_bias);
			if (q.does & EPI_RELU) {
				mask |= (u32)(v > 0) << (i - top);
				v = v > 0 || v != v ? v : 0;
			}
			if (q.does & EPI_GELU) {
				if (q.does & EPI_AUX)
					store(q.aux, aux, q.type_aux, v);
				v = gelu(v);
			}
			if (q.does & EPI_DRELU)
				v = mask >> (i - top) & 1 ? v : 0;
			if (q.does & EPI_DGELU)
				v *= gelu_slope(load(q.aux, aux, q.type_aux));
			store(q.out, i * q.out_rs + j * q.out_cs + b * q.out_bs, q.type_out, v);
		}
		if ((q.does & (EPI_RELU | EPI_AUX)) == (EPI_RELU | EPI_AUX))
			*bits = (unsigned char)mask;
	}
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

/* Floats of 8 bits (q.type_in 0: e4m3, 1: e5m2) as F16, which has all of their values. */
KERNEL epilogue_eight(struct epilogue_call q)
{
	for (i64 e = (i64)blockIdx.x * EPILOGUE_THREADS + threadIdx.x; e < q.m * q.n; e += (i64)gridDim.x * EPILOGUE_THREADS) {
		u32 b = ((const unsigned char *)q.in)[e % q.m * q.in_rs + e / q.m * q.in_cs + blockIdx.y * q.in_bs], h = b << 8;
		i64 to = e % q.m * q.out_rs + e / q.m * q.out_cs + blockIdx.y * q.out_bs;

		((u16 *)q.out)[to] = (u16)h;
		if (!q.type_in) {
			/* one bit less of exponent, one more of fraction: 2^-8 of it as F16 */
			((u16 *)q.out)[to] = (u16)((b & 0x80) << 8 | (b & 0x7f) << 7);
			store(q.out, to, F16, (b & 0x7f) == 0x7f ? __builtin_nanf("") : 256.0f * load(q.out, to, F16));
		}
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
