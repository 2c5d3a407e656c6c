/* SPDX-License-Identifier: MIT */
/* Matrix products of fragments for CPUs with AVX2 (chosen with the lane table). */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,fma,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#include "vectorize.h"
#pragma GCC target("avx2,f16c,fma,bmi,bmi2,popcnt,lzcnt")
#endif
#define PRODUCT_NAME product_avx2
#include "product.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
