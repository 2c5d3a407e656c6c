/* SPDX-License-Identifier: MIT */
/* cudaCreateChannelDesc<T>(): what a texel of type T is. cuda_runtime.h brings it. */
#ifndef CUDA_LITE_CHANNEL_DESCRIPTOR_H
#define CUDA_LITE_CHANNEL_DESCRIPTOR_H

#include "cuda_runtime_api.h"
#include "vector_types.h"

#ifdef __cplusplus

template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
	return ::cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define CUDA_LITE_TEXEL(type, base, n, kind) \
	template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<type>() \
	{ \
		const int bits = 8 * (int)sizeof(base); \
		return ::cudaCreateChannelDesc(bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 2 ? bits : 0, cudaChannelFormatKind##kind); \
	}
#define CUDA_LITE_TEXELS(base, vector, kind) \
	CUDA_LITE_TEXEL(base, base, 1, kind) CUDA_LITE_TEXEL(vector##1, base, 1, kind) \
	CUDA_LITE_TEXEL(vector##2, base, 2, kind) CUDA_LITE_TEXEL(vector##4, base, 4, kind)
CUDA_LITE_TEXEL(char, char, 1, Signed)
CUDA_LITE_TEXELS(signed char, char, Signed)
CUDA_LITE_TEXELS(unsigned char, uchar, Unsigned)
CUDA_LITE_TEXELS(short, short, Signed)
CUDA_LITE_TEXELS(unsigned short, ushort, Unsigned)
CUDA_LITE_TEXELS(int, int, Signed)
CUDA_LITE_TEXELS(unsigned int, uint, Unsigned)
CUDA_LITE_TEXELS(float, float, Float)
#undef CUDA_LITE_TEXELS
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf() { return ::cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat); }
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf1() { return ::cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat); }
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf2() { return ::cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat); }
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf4() { return ::cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat); }
#undef CUDA_LITE_TEXEL

#endif

#endif
