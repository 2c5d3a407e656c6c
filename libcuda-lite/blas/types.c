/* SPDX-License-Identifier: MIT */
/* Types by number, and factors in host memory. */
#include "types.h"

double blas_host_scalar(const void *p, unsigned int type)
{
	uint16_t h;
	int e;
	double v;

	if (type == VGPU_GEMM_F32)
		return (double)*(const float *)p;
	if (type == VGPU_GEMM_F64)
		return *(const double *)p;
	if (type == VGPU_GEMM_I32)
		return (double)*(const int32_t *)p;
	h = *(const uint16_t *)p;
	e = h >> 10 & 31;
	v = (h & 0x3ff) + (e ? 1024.0 : 0.0);
	if (e == 31)
		v = h & 0x3ff ? __builtin_nan("") : __builtin_inf();
	for (e = e ? e - 25 : -24; e > 0 && e < 6; e--)
		v *= 2;
	for (; e < 0; e++)
		v /= 2;
	return h & 0x8000 ? -v : v;
}

unsigned int blas_type(cudaDataType t)
{
	switch ((int)t) {
	case CUDA_R_32F: return VGPU_GEMM_F32;
	case CUDA_R_16F: return VGPU_GEMM_F16;
	case CUDA_R_16BF: return VGPU_GEMM_BF16;
	case CUDA_R_64F: return VGPU_GEMM_F64;
	case CUDA_R_8I: return VGPU_GEMM_I8;
	case CUDA_R_32I: return VGPU_GEMM_I32;
	}
	return 0;
}

bool blas_types(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute, unsigned int *in, unsigned int *out,
		unsigned int *scalar)
{
	unsigned int t = *in = blas_type(a), o = *out = blas_type(c);

	if (!t || a != b || t == VGPU_GEMM_I32)
		return false;
	switch ((int)compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		*scalar = VGPU_GEMM_F16;
		return t == VGPU_GEMM_F16 && o == t;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		*scalar = VGPU_GEMM_F64;
		return t == VGPU_GEMM_F64 && o == t;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
		*scalar = VGPU_GEMM_F32;
		return t != VGPU_GEMM_F64 && ((o == t && t != VGPU_GEMM_I8) || o == VGPU_GEMM_F32);
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		*scalar = VGPU_GEMM_I32;
		return t == VGPU_GEMM_I8 && o == VGPU_GEMM_I32;
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		*scalar = VGPU_GEMM_F32;
		return t == VGPU_GEMM_F32 && o == t;
	}
	return false;
}
