/* SPDX-License-Identifier: MIT */
/*
 * In front of lanes and products, which gcc is to vectorize. For ASan it is not: what is read and written is the same, and
 * vectorizing checked accesses is most of the time of compiling them.
 */
#if defined(__GNUC__) && !defined(__clang__)
#ifdef __SANITIZE_ADDRESS__
#pragma GCC optimize("no-trapping-math,fp-contract=off,rounding-math")
#else
#pragma GCC optimize("O3,no-trapping-math,fp-contract=off,rounding-math")
#endif
#endif
