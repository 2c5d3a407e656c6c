/* SPDX-License-Identifier: MIT */
/* The words in front of functions. For clang's -x cuda cuda_lite_device.h has them; elsewhere they say nothing. */
#ifndef CUDA_LITE_HOST_DEFINES_H
#define CUDA_LITE_HOST_DEFINES_H

#ifdef __CUDA__
#include "cuda_runtime.h"
#else
#ifndef __host__
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#endif

#endif
