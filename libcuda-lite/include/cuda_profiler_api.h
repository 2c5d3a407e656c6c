/* SPDX-License-Identifier: MIT */
/* The runtime's calls to switch a profiler on and off; there is none. Beside NVIDIA's headers as well, which declare them here only. */
#ifndef CUDA_LITE_CUDA_PROFILER_API_H
#define CUDA_LITE_CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
