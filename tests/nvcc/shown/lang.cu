/* SPDX-License-Identifier: MIT */
/* C++ as kernels have it: calls through pointers and tables, recursion, heaps, stacks of odd sizes, wide and narrow types, constants, statics. */
#include "show.h"
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>

enum { N = 4096 };
#define V mixed(i)

struct shape { __device__ virtual ~shape() {} __device__ virtual unsigned area(unsigned x) const = 0; unsigned tag = 3; };
struct square : shape { unsigned side; __device__ square(unsigned s) : side(s) {} __device__ unsigned area(unsigned x) const override { return side * side + x; } };
struct disc : shape { __device__ unsigned area(unsigned x) const override { return x * 355 / 113 + tag; } };
struct odd : square { unsigned char bytes[13]; __device__ odd(unsigned s) : square(s) { for (int k = 0; k < 13; k++) bytes[k] = s + k; } __device__ unsigned area(unsigned x) const override { unsigned t = 0; for (int k = 0; k < 13; k++) t = t * 5 + bytes[k]; return t ^ square::area(x); } };

__device__ unsigned twice(unsigned x) { return 2 * x; }
__device__ unsigned flip(unsigned x) { return ~x; }
__device__ __noinline__ unsigned turn(unsigned x) { return x << 7 | x >> 25; }
__constant__ unsigned table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
__device__ unsigned (*const jump[])(unsigned) = { twice, flip, turn };
__device__ unsigned counter = 5;
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__device__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
template<class... A> __device__ unsigned fold(A... a) { return (0u + ... + (unsigned)a); }
struct bits { unsigned a : 5; int b : 7; unsigned long long c : 40; unsigned d : 12; };
struct packed { unsigned char a; unsigned short b; double c; char d[3]; };
union both { float f; unsigned u; unsigned char c[4]; };

int main()
{
	CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 32768));
	run<1>("virtual", N, [] __device__ (int i, unsigned *o) {
		square s(V & 31);
		disc d;
		odd e(V >> 9);
		const shape *p[] = { &s, &d, &e };
		*o = p[V % 3]->area(i) + p[(V >> 8) % 3]->area(V);
	});
	run<1>("heap", N, [] __device__ (int i, unsigned *o) {
		shape *s = V & 1 ? (shape *)new odd(V) : V & 2 ? (shape *)new disc : new square(V & 255);
		unsigned *a = (unsigned *)malloc(4 * (1 + V % 40)), n = 1 + V % 40, sum = 0;
		for (unsigned k = 0; k < n; k++)
			a[k] = mixed(i + k);
		for (unsigned k = 0; k < n; k++)
			sum = sum * 31 + a[k];
		*o = s->area(i) ^ sum;
		free(a);
		delete s;
	});
	run<1>("pointers", N, [] __device__ (int i, unsigned *o) { unsigned v = i; for (unsigned k = 0; k < V % 7; k++) v = jump[mixed(v + k) % 3](v); *o = v; });
	run<1>("ackermann", 256, [] __device__ (int i, unsigned *o) { *o = ackermann(V % 3, V >> 8 & 7); });
	run<1>("fib", 1024, [] __device__ (int i, unsigned *o) { *o = fib(V % 15); });
	run<1>("constants", N, [] __device__ (int i, unsigned *o) { *o = table[V & 15] * 100 + table[i & 15] + table[blockIdx.x & 15] * 10000; });
	run<1>("statics", N, [] __device__ (int i, unsigned *o) { static __device__ unsigned hits; atomicAdd(&hits, 1); *o = counter + (atomicAdd(&hits, 0) > 0); });
	run<2>("bitfields", N, [] __device__ (int i, unsigned *o) { bits b; b.a = V; b.b = V >> 3; b.c = (unsigned long long)V * V; b.d = V >> 20; b.b -= b.a; o[0] = b.a + b.b; o[1] = (unsigned)(b.c >> 8) + b.d; });
	run<2>("structs", N, [] __device__ (int i, unsigned *o) {
		packed p[5];
		for (int k = 0; k < 5; k++)
			p[k] = { (unsigned char)(V + k), (unsigned short)(V >> k), V * 0.5 + k, { (char)k, (char)i, (char)V } };
		const packed &q = p[V % 5];
		both b;
		b.f = (float)q.c;
		b.c[V & 3] ^= q.d[1];
		o[0] = b.u;
		o[1] = q.a + q.b + q.d[2] + sizeof(packed);
	});
	run<2>("wide", N, [] __device__ (int i, unsigned *o) {
		__int128 a = (__int128)(int)V << 70 | V, b = (__int128)mixed(i + 1) * mixed(i + 2) + 1, c = a * b;
		unsigned __int128 u = ((unsigned __int128)V << 90) / (b | 1);
		o[0] = (unsigned)(c >> 64) ^ (unsigned)c ^ (unsigned)(a % b);
		o[1] = (unsigned)u ^ (unsigned)(u >> 64) ^ (a < b) ^ (unsigned)(a >> (V & 127));
	});
	run<1>("narrow", N, [] __device__ (int i, unsigned *o) {
		signed char a = V;
		unsigned char b = V >> 8;
		short c = V >> 16;
		a += b; b *= a; c -= a * b; a = (signed char)(a << 3) >> 1; b = b >> 2 | b << 6; c = c / (b | 1);
		*o = (unsigned)(a * 65536) ^ (unsigned)(b * 256) ^ (unsigned)c;
	});
	run<1>("switch", N, [] __device__ (int i, unsigned *o) {
		unsigned v = 1;
		for (int k = 0; k < 8; k++)
			switch (mixed(i + k) % 23) {
			case 0: v += 7; break; case 1: v *= 3; case 2: v ^= 0x55; break; case 3: v <<= 1; break; case 5: v -= k; break; case 8: v = ~v; break; case 13: v = __brev(v);
			case 14: v++; break; case 15: k++; break; case 16: if (v & 1) goto done; break; case 19: continue; case 21: v |= 1u << k; break; default: v = v * 31 + k;
			}
done:		*o = v;
	});
	run<1>("stack", N, [] __device__ (int i, unsigned *o) {
		unsigned char *p = (unsigned char *)alloca(16 + V % 100);
		unsigned s = 0;
		for (unsigned k = 0; k < 16 + V % 100; k++)
			p[k] = k * V >> 4;
		for (unsigned k = 0; k < 16 + V % 100; k++)
			s = s * 33 + p[15 + V % 100 - k];
		*o = s;
	});
	run<1>("fold", N, [] __device__ (int i, unsigned *o) { *o = fold(V, (short)V, (unsigned char)i, 3.7f, 'x', V * 1ull << 3); });
	run<2>("std", N, [] __device__ (int i, unsigned *o) {
		cuda::std::variant<int, float, cuda::std::array<short, 4>> v;
		cuda::std::optional<unsigned> q = V & 1 ? cuda::std::optional<unsigned>(V >> 3) : cuda::std::nullopt;
		cuda::std::tuple<int, char, double> t(i, (char)V, V * 0.25);
		cuda::std::complex<float> z(unit(i), unit(i + 1)), w = z * z / cuda::std::complex<float>(1.5f, -unit(i + 2));
		if (V % 3 == 0) v = (int)V; else if (V % 3 == 1) v = unit(i); else v = cuda::std::array<short, 4>{ (short)V, 1, 2, (short)i };
		o[0] = cuda::std::visit([](auto x) -> unsigned { if constexpr (sizeof(x) == 8) return x[0] + x[3]; else return (unsigned)x; }, v) + q.value_or(9);
		o[1] = (unsigned)cuda::std::get<2>(t) + cuda::std::get<1>(t) + cuda::std::popcount(V) + cuda::std::countl_zero(V | 1) + (unsigned)(w.real() * 1000) + cuda::std::numeric_limits<short>::max();
	});
	run<2>("special", 2048, [] __device__ (int i, unsigned *o) {
		unsigned a, b, c;
		asm("mov.u32 %0, %%laneid; mov.u32 %1, %%lanemask_eq; mov.u32 %2, %%ntid.x;" : "=r"(a), "=r"(b), "=r"(c));
		o[0] = a + 100 * b + c;
		asm("mov.u32 %0, %%lanemask_lt; mov.u32 %1, %%lanemask_ge; mov.u32 %2, %%nctaid.x;" : "=r"(a), "=r"(b), "=r"(c));
		o[1] = a ^ b * 3 ^ c;
	});
	run<2>("spaces", 256, [] __device__ (int i, unsigned *o) {
		__shared__ unsigned s[4];
		unsigned l[4] = { 1, 2, 3, V };
		o[0] = __isShared(s) + 2 * __isShared(l) + 4 * __isGlobal(o) + 8 * __isGlobal(s) + 16 * __isLocal(l) + 32 * __isLocal(o) + 64 * __isConstant(table) + 128 * __isConstant(o) + 256 * __isGlobal(table);
		o[1] = (unsigned)(__cvta_generic_to_shared(s) < 1024) + l[V & 3];
	});
	return 0;
}
