/* SPDX-License-Identifier: MIT */
/*
 * DPX: least and greatest of sums and of three, for dynamic programming (CUDA Math API, SIMD and DPX intrinsics), on both sides. Sums wrap around; _relu
 * is not below 0; 16x2 is each half of a word by itself; vib tells which one it was, the first where they are equal. By cuda_lite_device.h.
 */
#ifndef CUDA_LITE_DPX_H
#define CUDA_LITE_DPX_H

#define CUDA_LITE_DPX static inline __host__ __device__ __attribute__((unused))

namespace cuda_lite {
template <class T> CUDA_LITE_DPX T greatest(T a, T b) { return a < b ? b : a; }
template <class T> CUDA_LITE_DPX T least(T a, T b) { return b < a ? b : a; }
CUDA_LITE_DPX int wrapped(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }
CUDA_LITE_DPX unsigned int wrapped(unsigned int a, unsigned int b) { return a + b; }
CUDA_LITE_DPX short wrapped(short a, short b) { return (short)(a + b); }
CUDA_LITE_DPX unsigned short wrapped(unsigned short a, unsigned short b) { return (unsigned short)(a + b); }
template <class T> CUDA_LITE_DPX T low(unsigned int w) { return (T)(w & 0xffff); }
template <class T> CUDA_LITE_DPX T high(unsigned int w) { return (T)(w >> 16); }
CUDA_LITE_DPX unsigned int both(int lo, int hi) { return (unsigned int)lo << 16 >> 16 | (unsigned int)hi << 16; }
} // namespace cuda_lite

/* NAME of a, b, c for words, and for halves by the macro of one half */
#define CUDA_LITE_DPX3(name, W, w, T, t, expr) \
	CUDA_LITE_DPX W name##_##w(W a, W b, W c) { typedef W N; return expr; } \
	namespace cuda_lite { CUDA_LITE_DPX T name##_##t##_one(T a, T b, T c) { typedef T N; return expr; } } \
	CUDA_LITE_DPX unsigned int name##_##t##x2(unsigned int a, unsigned int b, unsigned int c) \
	{ \
		using namespace cuda_lite; \
		return both(name##_##t##_one(low<T>(a), low<T>(b), low<T>(c)), name##_##t##_one(high<T>(a), high<T>(b), high<T>(c))); \
	}
#define CUDA_LITE_RELU3(name, expr) \
	CUDA_LITE_DPX int name##_s32_relu(int a, int b, int c) { typedef int N; return cuda_lite::greatest<N>(expr, 0); } \
	namespace cuda_lite { CUDA_LITE_DPX short name##_s16_relu_one(short a, short b, short c) { typedef short N; return greatest<N>(expr, 0); } } \
	CUDA_LITE_DPX unsigned int name##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) \
	{ \
		using namespace cuda_lite; \
		return both(name##_s16_relu_one(low<short>(a), low<short>(b), low<short>(c)), name##_s16_relu_one(high<short>(a), high<short>(b), high<short>(c))); \
	}
#define CUDA_LITE_DPX_ALL(name, expr) \
	CUDA_LITE_DPX3(name, int, s32, short, s16, expr) \
	CUDA_LITE_DPX3(name, unsigned int, u32, unsigned short, u16, expr) \
	CUDA_LITE_RELU3(name, expr)
CUDA_LITE_DPX_ALL(__viaddmax, (cuda_lite::greatest<N>(cuda_lite::wrapped(a, b), c)))
CUDA_LITE_DPX_ALL(__viaddmin, (cuda_lite::least<N>(cuda_lite::wrapped(a, b), c)))
CUDA_LITE_DPX_ALL(__vimax3, (cuda_lite::greatest<N>(cuda_lite::greatest<N>(a, b), c)))
CUDA_LITE_DPX_ALL(__vimin3, (cuda_lite::least<N>(cuda_lite::least<N>(a, b), c)))

CUDA_LITE_DPX int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
CUDA_LITE_DPX int __vimin_s32_relu(int a, int b) { return __vimin3_s32_relu(a, b, b); }
CUDA_LITE_DPX unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) { return __vimax3_s16x2(a, b, 0); }
CUDA_LITE_DPX unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) { return __vimin3_s16x2_relu(a, b, b); }

#define CUDA_LITE_DPX_B(name, W, w, T, t, op) \
	CUDA_LITE_DPX W name##_##w(W a, W b, bool *first) { *first = a op b; return *first ? a : b; } \
	CUDA_LITE_DPX unsigned int name##_##t##x2(unsigned int a, unsigned int b, bool *high, bool *low) \
	{ \
		*high = cuda_lite::high<T>(a) op cuda_lite::high<T>(b); \
		*low = cuda_lite::low<T>(a) op cuda_lite::low<T>(b); \
		return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu); \
	}
CUDA_LITE_DPX_B(__vibmax, int, s32, short, s16, >=)
CUDA_LITE_DPX_B(__vibmax, unsigned int, u32, unsigned short, u16, >=)
CUDA_LITE_DPX_B(__vibmin, int, s32, short, s16, <=)
CUDA_LITE_DPX_B(__vibmin, unsigned int, u32, unsigned short, u16, <=)

#undef CUDA_LITE_DPX3
#undef CUDA_LITE_RELU3
#undef CUDA_LITE_DPX_ALL
#undef CUDA_LITE_DPX_B
#undef CUDA_LITE_DPX

#endif
