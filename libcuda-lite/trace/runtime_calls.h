/* SPDX-License-Identifier: MIT */
/* Prototypes of what libcudart exports and supports, for gen.awk. */
#include "../runtime/rt_version.h"
#include "cuda_runtime_api.h"
#if CUDART_MAJOR == 12
#include "../runtime/eleven.h"
#endif

/* newer.c, for a wrapper */
void rt_asked(int *value, enum cudaDeviceAttr attr, cudaError_t error, const void *caller);
