/* SPDX-License-Identifier: MIT */
/*
 * The driver's calls to switch a profiler on and off (CUDA Driver API, "Profiler Control"). There is none, so the two answer
 * success; cuProfilerInitialize, whose configuration files no driver has read since CUDA 11, answers NOT_SUPPORTED. Beside NVIDIA's
 * cuda.h as well, which does not declare them.
 */
#ifndef CUDA_LITE_CUDAPROFILER_H
#define CUDA_LITE_CUDAPROFILER_H

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUoutput_mode_enum { CU_OUT_KEY_VALUE_PAIR, CU_OUT_CSV } CUoutput_mode;

CUresult CUDAAPI cuProfilerInitialize(const char *configFile, const char *outputFile, CUoutput_mode outputMode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
