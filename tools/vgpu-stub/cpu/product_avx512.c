/* SPDX-License-Identifier: MIT */
/* Matrix products of fragments for CPUs with AVX-512 (chosen with the lane table). */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,fma,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#include "vectorize.h"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c,fma,bmi,bmi2,popcnt,lzcnt,prefer-vector-width=512")
#endif
#define PRODUCT_NAME product_avx512
#include "product.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
