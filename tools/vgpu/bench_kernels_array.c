/* SPDX-License-Identifier: MIT */
/* The array operations of vgpu bench kernels: see bench_kernels_list.c. */
#include "bench_kernels.h"

const struct kcase array_cases[] = { { 0 } };
