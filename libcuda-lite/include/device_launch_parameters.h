/* SPDX-License-Identifier: MIT */
/* For programs that ask for it by this name: all of it is cuda_runtime.h's. */
#ifndef CUDA_LITE_DEVICE_LAUNCH_PARAMETERS_H
#define CUDA_LITE_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
