/* SPDX-License-Identifier: MIT */
/* Lane operations for CPUs with AVX-512 (chosen at run time by lanes_get). */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,fp-contract=off,rounding-math")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt,lzcnt,prefer-vector-width=512")
#endif
#define LANES_NAME lanes_avx512
#define LANES_TEXT "avx512"
#include "lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
