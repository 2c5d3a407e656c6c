/* SPDX-License-Identifier: MIT */
/* For headers of others that ask for the runtime API's types by this name (nvtx3's nvToolsExtCudaRt.h). */
#ifndef CUDA_LITE_DRIVER_TYPES_H
#define CUDA_LITE_DRIVER_TYPES_H

#include "cuda_runtime_api.h"

#endif
