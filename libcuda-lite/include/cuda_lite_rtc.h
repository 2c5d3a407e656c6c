/* SPDX-License-Identifier: MIT */
/*
 * What NVRTC has built in: the language, the types of vectors, size_t, assert, printf; no header of the host's. `vgpu cc --rtc` puts it before
 * a program, whose own typedefs of int64_t and the like stand beside nothing.
 */
#ifndef CUDA_LITE_RTC_H
#define CUDA_LITE_RTC_H

#define __CUDACC_RTC__ 1
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__

#ifndef CUDART_VERSION
#define CUDART_VERSION 13010
#endif

#include "cuda_lite_runtime_types.h"
#include "vector_functions.h"
#include "cuda_lite_device.h"

/* What it calls itself: headers that are written for many compilers have their words for NVRTC, which has no host's library behind it. */
#undef __clang__
#undef __GNUC__
#if CUDART_VERSION >= 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 1
#else
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#endif
#define __CUDACC_VER_BUILD__ 0

typedef long clock_t;

#if __cplusplus >= 201103L
/* the one of NVRTC's questions about types that clang has no word for: those that ask for NVRTC's count on it */
#if !__has_builtin(__is_nothrow_destructible)
namespace cuda_lite {
template <class T> T &&some() noexcept;
template <class T> constexpr auto ends_quietly(int) -> decltype(some<T &>().~T(), true) { return noexcept(some<T &>().~T()); }
template <class T> constexpr bool ends_quietly(long) { return false; }
template <class T> struct quiet_end { static constexpr bool value = ends_quietly<T>(0); };
template <class T> struct quiet_end<T &> { static constexpr bool value = true; };
template <class T> struct quiet_end<T &&> { static constexpr bool value = true; };
template <class T, __SIZE_TYPE__ n> struct quiet_end<T[n]> : quiet_end<T> {};
}
#define __is_nothrow_destructible(...) (cuda_lite::quiet_end<__VA_ARGS__>::value)
#endif

namespace std {
/* clang makes one of a list in braces: the first element and their number */
#ifndef CUDA_LITE_RTC_NO_LIST
template <class E> class initializer_list {
	const E *first;
	__SIZE_TYPE__ n;

public:
	typedef E value_type;
	typedef const E &reference;
	typedef const E &const_reference;
	typedef __SIZE_TYPE__ size_type;
	typedef const E *iterator;
	typedef const E *const_iterator;

	__host__ __device__ constexpr initializer_list() noexcept : first(nullptr), n(0) {}
	__host__ __device__ constexpr size_type size() const noexcept { return n; }
	__host__ __device__ constexpr const E *begin() const noexcept { return first; }
	__host__ __device__ constexpr const E *end() const noexcept { return first + n; }
};
#endif
#ifndef CUDA_LITE_RTC_NO_MOVE
template <class T> struct cuda_lite_plain { typedef T type; };
template <class T> struct cuda_lite_plain<T &> { typedef T type; };
template <class T> struct cuda_lite_plain<T &&> { typedef T type; };
template <class T> __host__ __device__ constexpr typename cuda_lite_plain<T>::type &&move(T &&v) noexcept
{
	return static_cast<typename cuda_lite_plain<T>::type &&>(v);
}
template <class T> __host__ __device__ constexpr T &&forward(typename cuda_lite_plain<T>::type &v) noexcept { return static_cast<T &&>(v); }
template <class T> __host__ __device__ constexpr T &&forward(typename cuda_lite_plain<T>::type &&v) noexcept { return static_cast<T &&>(v); }
#endif
}
#endif

#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : __assert_fail(#e, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif

#endif
