/* SPDX-License-Identifier: MIT */
/*
 * CUDA's built-in vector types: int4, float2, dim3 and the rest.
 *
 * Included by cuda_runtime_api.h (host and device). Alignment is ABI: a vector of 2 or 4 elements is
 * aligned to its size up to 16 bytes, a vector of 3 to its element.
 */
#ifndef CUDA_LITE_VECTOR_TYPES_H
#define CUDA_LITE_VECTOR_TYPES_H

#define CUDA_LITE_VECTORS(type, base, a2, a4) \
	struct base##1 { type x; }; \
	struct __attribute__((aligned(a2))) base##2 { type x, y; }; \
	struct base##3 { type x, y, z; }; \
	struct __attribute__((aligned(a4))) base##4 { type x, y, z, w; }; \
	typedef struct base##1 base##1; \
	typedef struct base##2 base##2; \
	typedef struct base##3 base##3; \
	typedef struct base##4 base##4

CUDA_LITE_VECTORS(signed char, char, 2, 4);
CUDA_LITE_VECTORS(unsigned char, uchar, 2, 4);
CUDA_LITE_VECTORS(short, short, 4, 8);
CUDA_LITE_VECTORS(unsigned short, ushort, 4, 8);
CUDA_LITE_VECTORS(int, int, 8, 16);
CUDA_LITE_VECTORS(unsigned int, uint, 8, 16);
CUDA_LITE_VECTORS(long, long, 16, 16);
CUDA_LITE_VECTORS(unsigned long, ulong, 16, 16);
CUDA_LITE_VECTORS(long long, longlong, 16, 16);
CUDA_LITE_VECTORS(unsigned long long, ulonglong, 16, 16);
CUDA_LITE_VECTORS(float, float, 8, 16);
CUDA_LITE_VECTORS(double, double, 16, 16);

#undef CUDA_LITE_VECTORS

/* CUDA 13 has four elements of eight bytes by their alignment, too. */
#define CUDA_LITE_VECTOR4(type, base) \
	struct __attribute__((aligned(16))) base##4_16a { type x, y, z, w; }; \
	struct __attribute__((aligned(32))) base##4_32a { type x, y, z, w; }; \
	typedef struct base##4_16a base##4_16a; \
	typedef struct base##4_32a base##4_32a
CUDA_LITE_VECTOR4(long, long);
CUDA_LITE_VECTOR4(unsigned long, ulong);
CUDA_LITE_VECTOR4(long long, longlong);
CUDA_LITE_VECTOR4(unsigned long long, ulonglong);
CUDA_LITE_VECTOR4(double, double);
#undef CUDA_LITE_VECTOR4

/* In C++ an unset dimension is 1, and dim3 converts from int and from uint3. */
struct dim3 {
	unsigned int x, y, z;
#ifdef __cplusplus
#ifdef __CUDA__
#define CUDA_LITE_BOTH __attribute__((host)) __attribute__((device))
#else
#define CUDA_LITE_BOTH
#endif
	CUDA_LITE_BOTH constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
		: x(vx), y(vy), z(vz) {}
	CUDA_LITE_BOTH constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
	CUDA_LITE_BOTH constexpr operator uint3() const { return uint3{x, y, z}; }
#undef CUDA_LITE_BOTH
#endif
};
typedef struct dim3 dim3;

#endif
