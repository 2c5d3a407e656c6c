/* SPDX-License-Identifier: MIT */
/* What is asked of the host's cuBLAS (cublas.c), by the names that it exports. */
#ifndef VGPU_CUDA_CUBLAS_H
#define VGPU_CUDA_CUBLAS_H

#include "../../../libcuda-lite/include/cublas_api.h"

#define CUBLAS_CALLS(X) \
	X(cublasCreate_v2) X(cublasSetMathMode) X(cublasSetStream_v2) X(cublasSetWorkspace_v2) X(cublasSetPointerMode_v2) \
	X(cublasGemmEx) X(cublasGemmStridedBatchedEx) X(cublasGemmBatchedEx) X(cublasStrsm_v2) X(cublasDtrsm_v2) X(cublasStrsmBatched) X(cublasDtrsmBatched)

#endif
