/* SPDX-License-Identifier: MIT */
/* Where the prototypes of libcublas are. */
#include "../include/cublas_api.h"
#include "../include/cublasXt.h"
