/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers as pairs, for host and device: the operations of CUDA's header of this name, whose functions neither raise nor
 * look for infinities as C's do. A quotient and an absolute value are scaled first, so that they overflow no earlier than they must.
 */
#ifndef CUDA_LITE_CUCOMPLEX_H
#define CUDA_LITE_CUCOMPLEX_H

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "vector_functions.h"

#ifdef __CUDA__
#define CUDA_LITE_HD static inline __attribute__((host)) __attribute__((device))
#else
#define CUDA_LITE_HD static inline
#endif

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define CUDA_LITE_COMPLEX(type, real, f, abs, root, make) \
	CUDA_LITE_HD real cuCreal##f(type x) { return x.x; } \
	CUDA_LITE_HD real cuCimag##f(type x) { return x.y; } \
	CUDA_LITE_HD type make(real x, real y) { type z; z.x = x; z.y = y; return z; } \
	CUDA_LITE_HD type cuConj##f(type x) { return make(x.x, -x.y); } \
	CUDA_LITE_HD type cuCadd##f(type x, type y) { return make(x.x + y.x, x.y + y.y); } \
	CUDA_LITE_HD type cuCsub##f(type x, type y) { return make(x.x - y.x, x.y - y.y); } \
	CUDA_LITE_HD type cuCmul##f(type x, type y) { return make(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); } \
	CUDA_LITE_HD type cuCfma##f(type x, type y, type d) \
	{ return make(x.x * y.x + d.x - x.y * y.y, x.x * y.y + d.y + x.y * y.x); } \
	CUDA_LITE_HD type cuCdiv##f(type x, type y) \
	{ \
		real s = abs(y.x) + abs(y.y), by = 1 / s, a = x.x * by, b = x.y * by, c = y.x * by, d = y.y * by, n = c * c + d * d; \
		by = 1 / n; \
		return make((a * c + b * d) * by, (b * c - a * d) * by); \
	} \
	CUDA_LITE_HD real cuCabs##f(type x) \
	{ \
		real a = abs(x.x), b = abs(x.y), most = a > b ? a : b, least = a > b ? b : a, r = least / most; \
		return r != r ? a + b : most * root(1 + r * r); \
	}

CUDA_LITE_COMPLEX(cuFloatComplex, float, f, fabsf, sqrtf, make_cuFloatComplex)
CUDA_LITE_COMPLEX(cuDoubleComplex, double, , fabs, sqrt, make_cuDoubleComplex)

CUDA_LITE_HD cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
CUDA_LITE_HD cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return make_cuDoubleComplex(x.x, x.y); }
CUDA_LITE_HD cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return make_cuFloatComplex((float)x.x, (float)x.y); }

#undef CUDA_LITE_COMPLEX
#undef CUDA_LITE_HD

#endif
