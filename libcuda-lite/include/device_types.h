/* SPDX-License-Identifier: MIT */
/* For programs that ask for it by this name: all of it is cuda_runtime_api.h's. */
#ifndef CUDA_LITE_DEVICE_TYPES_H
#define CUDA_LITE_DEVICE_TYPES_H

#include "cuda_runtime_api.h"

#endif
