/* SPDX-License-Identifier: MIT */
/*
 * Between libcuda.so.1 and libcublas.so of the same build; not for programs.
 *
 * Queues a GEMM or TRSM (op, b and p as fw-protocol/vgpu_cmd.h describes them) behind the stream's work.
 * CUDA_ERROR_INVALID_VALUE: sizes make no sense, or an operand is memory that the device cannot see.
 */
#ifndef VGPU_GEMM_ENTRY_H
#define VGPU_GEMM_ENTRY_H

#include <cuda.h>

#include "../../fw-protocol/vgpu_cmd.h"

__attribute__((visibility("default")))
CUresult vgpuGemm(unsigned int op, const struct vgpu_body_gemm *b, const struct vgpu_gemm *p, CUstream stream);

#endif
