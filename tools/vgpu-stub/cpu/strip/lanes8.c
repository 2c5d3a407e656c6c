/* SPDX-License-Identifier: MIT */
/* Lane operations for a strip: called by code for what it does not do itself (call8.c). */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#include "../vectorize.h"
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt,lzcnt")
#endif
#define LANES_NAME lanes_strip
#define LANES_STRIP
#define LANES_N 8
#include "../lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
