/* SPDX-License-Identifier: MIT */
/*
 * make_int4() and its kin, for host and device.
 *
 * Included by cuda_runtime.h.
 */
#ifndef CUDA_LITE_VECTOR_FUNCTIONS_H
#define CUDA_LITE_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#ifdef __CUDA__
#define CUDA_LITE_FN static inline __attribute__((host)) __attribute__((device))
#else
#define CUDA_LITE_FN static inline
#endif

#define CUDA_LITE_MAKE(type, base) \
	CUDA_LITE_FN base##1 make_##base##1(type x) \
	{ base##1 v; v.x = x; return v; } \
	CUDA_LITE_FN base##2 make_##base##2(type x, type y) \
	{ base##2 v; v.x = x; v.y = y; return v; } \
	CUDA_LITE_FN base##3 make_##base##3(type x, type y, type z) \
	{ base##3 v; v.x = x; v.y = y; v.z = z; return v; } \
	CUDA_LITE_FN base##4 make_##base##4(type x, type y, type z, type w) \
	{ base##4 v; v.x = x; v.y = y; v.z = z; v.w = w; return v; }

CUDA_LITE_MAKE(signed char, char)
CUDA_LITE_MAKE(unsigned char, uchar)
CUDA_LITE_MAKE(short, short)
CUDA_LITE_MAKE(unsigned short, ushort)
CUDA_LITE_MAKE(int, int)
CUDA_LITE_MAKE(unsigned int, uint)
CUDA_LITE_MAKE(long, long)
CUDA_LITE_MAKE(unsigned long, ulong)
CUDA_LITE_MAKE(long long, longlong)
CUDA_LITE_MAKE(unsigned long long, ulonglong)
CUDA_LITE_MAKE(float, float)
CUDA_LITE_MAKE(double, double)

#undef CUDA_LITE_MAKE

#define CUDA_LITE_MAKE4(type, base) \
	CUDA_LITE_FN base##4_16a make_##base##4_16a(type x, type y, type z, type w) \
	{ base##4_16a v; v.x = x; v.y = y; v.z = z; v.w = w; return v; } \
	CUDA_LITE_FN base##4_32a make_##base##4_32a(type x, type y, type z, type w) \
	{ base##4_32a v; v.x = x; v.y = y; v.z = z; v.w = w; return v; }
CUDA_LITE_MAKE4(long, long)
CUDA_LITE_MAKE4(unsigned long, ulong)
CUDA_LITE_MAKE4(long long, longlong)
CUDA_LITE_MAKE4(unsigned long long, ulonglong)
CUDA_LITE_MAKE4(double, double)
#undef CUDA_LITE_MAKE4
#undef CUDA_LITE_FN

#endif
