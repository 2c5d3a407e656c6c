/* SPDX-License-Identifier: MIT */
/* Lane operations for CPUs with AVX2 (chosen at run time by lanes_get). */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#include "vectorize.h"
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt,lzcnt")
#endif
#define LANES_NAME lanes_avx2
#define LANES_TEXT "avx2"
#include "lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
