/* SPDX-License-Identifier: MIT */
/* For programs that ask for it by this name: all of it is cuda_runtime.h's. */
#ifndef CUDA_LITE_TEXTURE_FETCH_FUNCTIONS_H
#define CUDA_LITE_TEXTURE_FETCH_FUNCTIONS_H

#include "cuda_runtime.h"

#endif
