/* SPDX-License-Identifier: MIT */
/*
 * Textures and surfaces of device code: fetches by texture object, reads and writes by surface object (PTX ISA 9.7.10, 9.7.11). A type has one,
 * two or four elements of 8, 16 or 32 bits; float is also what normalised elements come as. x of a surface is in bytes.
 */
#ifndef CUDA_LITE_TEX_H
#define CUDA_LITE_TEX_H

namespace cuda_lite {

template <class T> struct texel;
#define CUDA_LITE_TEXEL(base, v1, v2, v4, as) \
	template <> struct texel<v1> { typedef as type; CUDA_LITE_DEV v1 of(const as *r) { return (v1)r[0]; } }; \
	template <> struct texel<base##1> { typedef as type; CUDA_LITE_DEV base##1 of(const as *r) { base##1 v; v.x = (v1)r[0]; return v; } }; \
	template <> struct texel<v2> { typedef as type; CUDA_LITE_DEV v2 of(const as *r) { v2 v; v.x = (v1)r[0]; v.y = (v1)r[1]; return v; } }; \
	template <> struct texel<v4> { typedef as type; CUDA_LITE_DEV v4 of(const as *r) \
	{ v4 v; v.x = (v1)r[0]; v.y = (v1)r[1]; v.z = (v1)r[2]; v.w = (v1)r[3]; return v; } };
CUDA_LITE_TEXEL(float, float, float2, float4, float)
CUDA_LITE_TEXEL(int, int, int2, int4, int)
CUDA_LITE_TEXEL(uint, unsigned int, uint2, uint4, unsigned int)
CUDA_LITE_TEXEL(short, short, short2, short4, int)
CUDA_LITE_TEXEL(ushort, unsigned short, ushort2, ushort4, unsigned int)
CUDA_LITE_TEXEL(char, signed char, char2, char4, int)
CUDA_LITE_TEXEL(uchar, unsigned char, uchar2, uchar4, unsigned int)
template <> struct texel<char> { typedef int type; CUDA_LITE_DEV char of(const int *r) { return (char)r[0]; } };

/* NAME(r, object, coordinates): one for each kind of element that comes back */
#define CUDA_LITE_FETCH(name, what, params, at, ...) \
	CUDA_LITE_DEV void name(float *r, unsigned long long t, params) \
	{ asm volatile(what ".f32" at : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "l"(t), __VA_ARGS__); } \
	CUDA_LITE_DEV void name(int *r, unsigned long long t, params) \
	{ asm volatile(what ".s32" at : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(t), __VA_ARGS__); } \
	CUDA_LITE_DEV void name(unsigned int *r, unsigned long long t, params) \
	{ asm volatile(what ".u32" at : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(t), __VA_ARGS__); }
#define CUDA_LITE_P(...) __VA_ARGS__
CUDA_LITE_FETCH(fetch1i, "tex.1d.v4", int x, ".s32 {%0, %1, %2, %3}, [%4, {%5}];", "r"(x))
CUDA_LITE_FETCH(fetch1, "tex.1d.v4", float x, ".f32 {%0, %1, %2, %3}, [%4, {%5}];", "f"(x))
CUDA_LITE_FETCH(fetch2, "tex.2d.v4", CUDA_LITE_P(float x, float y), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))
CUDA_LITE_FETCH(fetch3, "tex.3d.v4", CUDA_LITE_P(float x, float y, float z), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "f"(x), "f"(y), "f"(z))
CUDA_LITE_FETCH(fetcha1, "tex.a1d.v4", CUDA_LITE_P(float x, int n), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "r"(n), "f"(x))
CUDA_LITE_FETCH(fetcha2, "tex.a2d.v4", CUDA_LITE_P(float x, float y, int n), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "r"(n), "f"(x), "f"(y))
CUDA_LITE_FETCH(fetchcube, "tex.cube.v4", CUDA_LITE_P(float x, float y, float z), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "f"(x), "f"(y), "f"(z))
CUDA_LITE_FETCH(fetchacube, "tex.acube.v4", CUDA_LITE_P(float x, float y, float z, int n), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %8}];", "r"(n), "f"(x), "f"(y), "f"(z))
/* of a level of a mipmapped array; of the one that the changes of the coordinates from pixel to pixel ask for */
CUDA_LITE_FETCH(level1, "tex.level.1d.v4", CUDA_LITE_P(float x, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5}], %6;", "f"(x), "f"(l))
CUDA_LITE_FETCH(level2, "tex.level.2d.v4", CUDA_LITE_P(float x, float y, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;", "f"(x), "f"(y), "f"(l))
CUDA_LITE_FETCH(level3, "tex.level.3d.v4", CUDA_LITE_P(float x, float y, float z, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "f"(x), "f"(y), "f"(z), "f"(l))
CUDA_LITE_FETCH(levela1, "tex.level.a1d.v4", CUDA_LITE_P(float x, int n, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;", "r"(n), "f"(x), "f"(l))
CUDA_LITE_FETCH(levela2, "tex.level.a2d.v4", CUDA_LITE_P(float x, float y, int n, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "r"(n), "f"(x), "f"(y), "f"(l))
CUDA_LITE_FETCH(levelcube, "tex.level.cube.v4", CUDA_LITE_P(float x, float y, float z, float l), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "f"(x), "f"(y), "f"(z), "f"(l))
CUDA_LITE_FETCH(grad1, "tex.grad.1d.v4", CUDA_LITE_P(float x, float dx, float dy), ".f32 {%0, %1, %2, %3}, [%4, {%5}], {%6}, {%7};", "f"(x), "f"(dx), "f"(dy))
CUDA_LITE_FETCH(grad2, "tex.grad.2d.v4", CUDA_LITE_P(float x, float y, float2 dx, float2 dy), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {%7, %8}, {%9, %10};",
		"f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
CUDA_LITE_FETCH(grad3, "tex.grad.3d.v4", CUDA_LITE_P(float x, float y, float z, float4 dx, float4 dy),
		".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13};", "f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
CUDA_LITE_FETCH(grada1, "tex.grad.a1d.v4", CUDA_LITE_P(float x, int n, float dx, float dy), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {%7}, {%8};", "r"(n), "f"(x), "f"(dx), "f"(dy))
CUDA_LITE_FETCH(grada2, "tex.grad.a2d.v4", CUDA_LITE_P(float x, float y, int n, float2 dx, float2 dy),
		".f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], {%8, %9}, {%10, %11};", "r"(n), "f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
CUDA_LITE_FETCH(gather0, "tld4.r.2d.v4", CUDA_LITE_P(float x, float y), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))
CUDA_LITE_FETCH(gather1, "tld4.g.2d.v4", CUDA_LITE_P(float x, float y), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))
CUDA_LITE_FETCH(gather2, "tld4.b.2d.v4", CUDA_LITE_P(float x, float y), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))
CUDA_LITE_FETCH(gather3, "tld4.a.2d.v4", CUDA_LITE_P(float x, float y), ".f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))

} // namespace cuda_lite

#define CUDA_LITE_TEX(name, fetch, params, ...) \
	template <class T> CUDA_LITE_DEV T name(cudaTextureObject_t t, params) \
	{ typename cuda_lite::texel<T>::type r[4]; cuda_lite::fetch(r, t, __VA_ARGS__); return cuda_lite::texel<T>::of(r); } \
	template <class T> CUDA_LITE_DEV void name(T *v, cudaTextureObject_t t, params) { *v = name<T>(t, __VA_ARGS__); }
CUDA_LITE_TEX(tex1Dfetch, fetch1i, int x, x)
CUDA_LITE_TEX(tex1D, fetch1, float x, x)
CUDA_LITE_TEX(tex2D, fetch2, CUDA_LITE_P(float x, float y), x, y)
CUDA_LITE_TEX(tex3D, fetch3, CUDA_LITE_P(float x, float y, float z), x, y, z)
CUDA_LITE_TEX(tex1DLayered, fetcha1, CUDA_LITE_P(float x, int layer), x, layer)
CUDA_LITE_TEX(tex2DLayered, fetcha2, CUDA_LITE_P(float x, float y, int layer), x, y, layer)
CUDA_LITE_TEX(texCubemap, fetchcube, CUDA_LITE_P(float x, float y, float z), x, y, z)
CUDA_LITE_TEX(texCubemapLayered, fetchacube, CUDA_LITE_P(float x, float y, float z, int layer), x, y, z, layer)
CUDA_LITE_TEX(tex1DLod, level1, CUDA_LITE_P(float x, float level), x, level)
CUDA_LITE_TEX(tex2DLod, level2, CUDA_LITE_P(float x, float y, float level), x, y, level)
CUDA_LITE_TEX(tex3DLod, level3, CUDA_LITE_P(float x, float y, float z, float level), x, y, z, level)
CUDA_LITE_TEX(tex1DLayeredLod, levela1, CUDA_LITE_P(float x, int layer, float level), x, layer, level)
CUDA_LITE_TEX(tex2DLayeredLod, levela2, CUDA_LITE_P(float x, float y, int layer, float level), x, y, layer, level)
CUDA_LITE_TEX(texCubemapLod, levelcube, CUDA_LITE_P(float x, float y, float z, float level), x, y, z, level)
CUDA_LITE_TEX(tex1DGrad, grad1, CUDA_LITE_P(float x, float dx, float dy), x, dx, dy)
CUDA_LITE_TEX(tex2DGrad, grad2, CUDA_LITE_P(float x, float y, float2 dx, float2 dy), x, y, dx, dy)
CUDA_LITE_TEX(tex3DGrad, grad3, CUDA_LITE_P(float x, float y, float z, float4 dx, float4 dy), x, y, z, dx, dy)
CUDA_LITE_TEX(tex1DLayeredGrad, grada1, CUDA_LITE_P(float x, int layer, float dx, float dy), x, layer, dx, dy)
CUDA_LITE_TEX(tex2DLayeredGrad, grada2, CUDA_LITE_P(float x, float y, int layer, float2 dx, float2 dy), x, y, layer, dx, dy)
template <class T> CUDA_LITE_DEV T tex2Dgather(cudaTextureObject_t t, float x, float y, int component = 0)
{
	typename cuda_lite::texel<T>::type r[4];

	switch (component) {
	case 1: cuda_lite::gather1(r, t, x, y); break;
	case 2: cuda_lite::gather2(r, t, x, y); break;
	case 3: cuda_lite::gather3(r, t, x, y); break;
	default: cuda_lite::gather0(r, t, x, y);
	}
	return cuda_lite::texel<T>::of(r);
}

template <class T> CUDA_LITE_DEV void tex2Dgather(T *v, cudaTextureObject_t t, float x, float y, int component = 0) { *v = tex2Dgather<T>(t, x, y, component); }

/* ---- surfaces: elements as they lie in memory -------------------------------------------------- */

enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };

namespace cuda_lite {

template <int bytes> struct words;      /* an element of so many, as registers */
template <> struct words<1> { unsigned short a; };
template <> struct words<2> { unsigned short a; };
template <> struct words<4> { unsigned int a; };
template <> struct words<8> { unsigned long long a; };
template <> struct words<16> { unsigned long long a, b; };

#define CUDA_LITE_SURF(name, n, con, dim, ptx, values, outs, ins, params, at, ...) \
	CUDA_LITE_DEV void name##_read(words<n> &w, cudaSurfaceObject_t s, params, cudaSurfaceBoundaryMode mode) \
	{ \
		if (mode == cudaBoundaryModeZero) asm volatile("suld.b." dim "." ptx ".zero " values ", [%[s], " at "];" : outs : [s] "l"(s), __VA_ARGS__); \
		else if (mode == cudaBoundaryModeClamp) asm volatile("suld.b." dim "." ptx ".clamp " values ", [%[s], " at "];" : outs : [s] "l"(s), __VA_ARGS__); \
		else asm volatile("suld.b." dim "." ptx ".trap " values ", [%[s], " at "];" : outs : [s] "l"(s), __VA_ARGS__); \
	} \
	CUDA_LITE_DEV void name##_write(const words<n> &w, cudaSurfaceObject_t s, params, cudaSurfaceBoundaryMode mode) \
	{ \
		if (mode == cudaBoundaryModeZero) asm volatile("sust.b." dim "." ptx ".zero [%[s], " at "], " values ";" : : ins, [s] "l"(s), __VA_ARGS__ : "memory"); \
		else if (mode == cudaBoundaryModeClamp) asm volatile("sust.b." dim "." ptx ".clamp [%[s], " at "], " values ";" : : ins, [s] "l"(s), __VA_ARGS__ : "memory"); \
		else asm volatile("sust.b." dim "." ptx ".trap [%[s], " at "], " values ";" : : ins, [s] "l"(s), __VA_ARGS__ : "memory"); \
	}
#define CUDA_LITE_SIZES(name, dim, params, at, ...) \
	CUDA_LITE_SURF(name, 1, "h", dim, "b8", "{%[a]}", [a] "=h"(w.a), [a] "h"(w.a), CUDA_LITE_P(params), at, __VA_ARGS__) \
	CUDA_LITE_SURF(name, 2, "h", dim, "b16", "{%[a]}", [a] "=h"(w.a), [a] "h"(w.a), CUDA_LITE_P(params), at, __VA_ARGS__) \
	CUDA_LITE_SURF(name, 4, "r", dim, "b32", "{%[a]}", [a] "=r"(w.a), [a] "r"(w.a), CUDA_LITE_P(params), at, __VA_ARGS__) \
	CUDA_LITE_SURF(name, 8, "l", dim, "b64", "{%[a]}", [a] "=l"(w.a), [a] "l"(w.a), CUDA_LITE_P(params), at, __VA_ARGS__) \
	CUDA_LITE_SURF(name, 16, "l", dim, "v2.b64", "{%[a], %[b]}", CUDA_LITE_P([a] "=l"(w.a), [b] "=l"(w.b)), \
		       CUDA_LITE_P([a] "l"(w.a), [b] "l"(w.b)), CUDA_LITE_P(params), at, __VA_ARGS__)
CUDA_LITE_SIZES(surf1, "1d", int x, "{%[x]}", [x] "r"(x))
CUDA_LITE_SIZES(surf2, "2d", CUDA_LITE_P(int x, int y), "{%[x], %[y]}", [x] "r"(x), [y] "r"(y))
CUDA_LITE_SIZES(surf3, "3d", CUDA_LITE_P(int x, int y, int z), "{%[x], %[y], %[z], %[z]}", [x] "r"(x), [y] "r"(y), [z] "r"(z))
CUDA_LITE_SIZES(surfa1, "a1d", CUDA_LITE_P(int x, int n), "{%[n], %[x]}", [x] "r"(x), [n] "r"(n))
CUDA_LITE_SIZES(surfa2, "a2d", CUDA_LITE_P(int x, int y, int n), "{%[n], %[x], %[y], %[y]}", [x] "r"(x), [y] "r"(y), [n] "r"(n))

} // namespace cuda_lite

#define CUDA_LITE_SURFACE(read, write, f, params, ...) \
	template <class T> CUDA_LITE_DEV T read(cudaSurfaceObject_t s, params, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ \
		cuda_lite::words<sizeof(T)> w; \
		T v; \
		cuda_lite::f##_read(w, s, __VA_ARGS__, mode); \
		__builtin_memcpy(&v, &w, sizeof(v)); \
		return v; \
	} \
	template <class T> CUDA_LITE_DEV void read(T *v, cudaSurfaceObject_t s, params, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ *v = read<T>(s, __VA_ARGS__, mode); } \
	template <class T> CUDA_LITE_DEV void write(T v, cudaSurfaceObject_t s, params, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
	{ \
		cuda_lite::words<sizeof(T)> w = {}; \
		__builtin_memcpy(&w, &v, sizeof(v)); \
		cuda_lite::f##_write(w, s, __VA_ARGS__, mode); \
	}
CUDA_LITE_SURFACE(surf1Dread, surf1Dwrite, surf1, int x, x)
CUDA_LITE_SURFACE(surf2Dread, surf2Dwrite, surf2, CUDA_LITE_P(int x, int y), x, y)
CUDA_LITE_SURFACE(surf3Dread, surf3Dwrite, surf3, CUDA_LITE_P(int x, int y, int z), x, y, z)
CUDA_LITE_SURFACE(surf1DLayeredread, surf1DLayeredwrite, surfa1, CUDA_LITE_P(int x, int layer), x, layer)
CUDA_LITE_SURFACE(surf2DLayeredread, surf2DLayeredwrite, surfa2, CUDA_LITE_P(int x, int y, int layer), x, y, layer)

#undef CUDA_LITE_TEXEL
#undef CUDA_LITE_FETCH
#undef CUDA_LITE_TEX
#undef CUDA_LITE_SURF
#undef CUDA_LITE_SIZES
#undef CUDA_LITE_SURFACE
#undef CUDA_LITE_P

#endif
