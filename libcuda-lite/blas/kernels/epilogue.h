/* SPDX-License-Identifier: MIT */
/* The one argument of every kernel in epilogue.cu: both sides include it. Types are of enum vgpu_gemm_type. */
#ifndef EPILOGUE_H
#define EPILOGUE_H

#define EPILOGUE_THREADS 256

/* cublasLtEpilogue_t, by bits */
enum { EPI_RELU = 2, EPI_BIAS = 4, EPI_DRELU = 8, EPI_BGRAD = 16, EPI_GELU = 32, EPI_DGELU = 64, EPI_AUX = 128, EPI_BGRADA = 256,
       EPI_BGRADB = 512 };

/* Results of 8 bits, beside enum vgpu_gemm_type */
enum { EPI_E4M3 = 16, EPI_E5M2 = 17 };

/* Element (i, j) of matrix b is at i rs + j cs + b bs. The bias goes along i. */
struct epilogue_call {
	unsigned long long in, out, bias, aux;
	long long m, n, in_rs, in_cs, in_bs, out_rs, out_cs, out_bs, bias_bs, aux_ld, aux_bs;
	unsigned int does;                      /* EPI_ */
	unsigned int type_in, type_out, type_bias, type_aux;
	unsigned long long scale, amax;         /* of results of 8 bits: addresses of floats, or 0 */
};
/* The whole product by one kernel: then in is C, which counts where beta is not 0. Addresses of factors and of the inputs' scales may be 0. */
struct epilogue_whole_call {
	struct epilogue_call e;
	unsigned long long a, b, alpha_at, beta_at, scale_a, scale_b;
	long long k, a_rs, a_cs, a_bs, b_rs, b_cs, b_bs;
	float alpha, beta;
	unsigned int type_a, type_b;
};
/* out[0] = alpha a b, out[1] = beta: addresses of floats. a and b, the scales of the inputs, may be 0. */
struct epilogue_factors_call {
	unsigned long long out, alpha, beta, a, b;
};
#endif
