/* SPDX-License-Identifier: MIT */
/* Prototypes of all that libcuda.so.1 exports and supports, for gen.awk. */
#define __CUDA_API_VERSION_INTERNAL
#include "cuda.h"

/* names of the 32-bit days that cuda.h does not declare */
CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev);
CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total);
CUresult cuMemAllocHost(void **ptr, unsigned int bytes);

#define SAME(old, new, params, args) CUresult old params;
#include "../driver/compat.def"
