/* SPDX-License-Identifier: MIT */
/* The one argument of every kernel in epilogue.cu: both sides include it. Types are of enum vgpu_gemm_type. */
#ifndef EPILOGUE_H
#define EPILOGUE_H

#define EPILOGUE_THREADS 256

/* cublasLtEpilogue_t, by bits */
enum { EPI_RELU = 2, EPI_BIAS = 4, EPI_DRELU = 8, EPI_BGRAD = 16, EPI_GELU = 32, EPI_DGELU = 64, EPI_AUX = 128, EPI_BGRADA = 256,
       EPI_BGRADB = 512 };

/* Element (i, j) of matrix b is at i rs + j cs + b bs. The bias goes along i. */
struct epilogue_call {
	unsigned long long in, out, bias, aux;
	long long m, n, in_rs, in_cs, in_bs, out_rs, out_cs, out_bs, bias_bs, aux_ld, aux_bs;
	unsigned int does;                      /* EPI_ */
	unsigned int type_in, type_out, type_bias, type_aux;
};
/* out[0] = alpha a b, out[1] = beta: addresses of floats. a and b, the scales of the inputs, may be 0. */
struct epilogue_factors_call {
	unsigned long long out, alpha, beta, a, b;
};
#endif
