/* SPDX-License-Identifier: MIT */
/*
 * The CUDA language for clang without NVIDIA's toolkit: keywords, built-in variables, barriers,
 * votes, shuffles, atomics and the mathematics that PTX has instructions for.
 *
 * Included by cuda_runtime.h when __CUDA__ is defined, in the device pass and in the host pass.
 * Mathematics that is more than an instruction: cuda_lite_math.h; __expf and its kin are the hardware approximations.
 */
#ifndef CUDA_LITE_DEVICE_H
#define CUDA_LITE_DEVICE_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
/*
 * A keyword of clang's from 15 on. Before, a macro that has to bear the C++ library's __attribute__((__noinline__)) too: what is within is then an
 * attribute that clang does not know, by the name __attribute__, and its argument a name that has to be one of something.
 */
#if __clang_major__ < 15
enum { __noinline__ };
#define __noinline__ __attribute__((__noinline__))
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#ifndef __grid_constant__      /* a const parameter, which nobody writes: a copy of a thread's own is the same */
#define __grid_constant__
#endif
#define __align__(n) __attribute__((aligned(n)))

/* threadIdx.x and the others read a special register each (PTX ISA, "Special Registers"). */
#define CUDA_LITE_SREG(type, reg, conv) \
	struct type { \
		__declspec(property(get = get_x)) unsigned int x; \
		__declspec(property(get = get_y)) unsigned int y; \
		__declspec(property(get = get_z)) unsigned int z; \
		__device__ static unsigned int get_x(void) { return __nvvm_read_ptx_sreg_##reg##_x(); } \
		__device__ static unsigned int get_y(void) { return __nvvm_read_ptx_sreg_##reg##_y(); } \
		__device__ static unsigned int get_z(void) { return __nvvm_read_ptx_sreg_##reg##_z(); } \
		__device__ operator conv() const { return conv{get_x(), get_y(), get_z()}; } \
	}
CUDA_LITE_SREG(cuda_lite_thread_idx, tid, uint3);
CUDA_LITE_SREG(cuda_lite_block_idx, ctaid, uint3);
CUDA_LITE_SREG(cuda_lite_block_dim, ntid, dim3);
CUDA_LITE_SREG(cuda_lite_grid_dim, nctaid, dim3);
#undef CUDA_LITE_SREG

extern const __device__ __attribute__((weak)) cuda_lite_thread_idx threadIdx;
extern const __device__ __attribute__((weak)) cuda_lite_block_idx blockIdx;
extern const __device__ __attribute__((weak)) cuda_lite_block_dim blockDim;
extern const __device__ __attribute__((weak)) cuda_lite_grid_dim gridDim;
enum { warpSize = 32 };	/* no macro: cudaDeviceProp has a member of that name */

#define CUDA_LITE_DEV static __device__ __forceinline__

/* Barriers and fences */
/*
 * Not clang's built-in: LLVM 14 believes that llvm.nvvm.barrier0 cannot change a shared variable whose
 * address is never taken, and moves loads of it across the barrier.
 */
#define __syncthreads() asm volatile("bar.sync \t0;" : : : "memory")
CUDA_LITE_DEV int __syncthreads_count(int p)
{
	int n;

	asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; bar.red.popc.u32 %0, 0, q; }"
		     : "=r"(n) : "r"(p) : "memory");
	return n;
}
CUDA_LITE_DEV int __syncthreads_and(int p)
{
	int all;

	asm volatile("{ .reg .pred q, r; setp.ne.s32 q, %1, 0; bar.red.and.pred r, 0, q; selp.s32 %0, 1, 0, r; }"
		     : "=r"(all) : "r"(p) : "memory");
	return all;
}
CUDA_LITE_DEV int __syncthreads_or(int p)
{
	int any;

	asm volatile("{ .reg .pred q, r; setp.ne.s32 q, %1, 0; bar.red.or.pred r, 0, q; selp.s32 %0, 1, 0, r; }"
		     : "=r"(any) : "r"(p) : "memory");
	return any;
}
CUDA_LITE_DEV void __syncwarp(unsigned int mask = 0xffffffff)
{
	asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
}
/* Not by clang's __nvvm_membar_*: its alias analysis takes them for what does not touch a __shared__ array, and old loads are used behind them. */
CUDA_LITE_DEV void __threadfence_block(void) { asm volatile("membar.cta;" : : : "memory"); }
CUDA_LITE_DEV void __threadfence(void) { asm volatile("membar.gl;" : : : "memory"); }
CUDA_LITE_DEV void __threadfence_system(void) { asm volatile("membar.sys;" : : : "memory"); }

/* Votes (PTX ISA "vote.sync") */
CUDA_LITE_DEV unsigned int __activemask(void)
{
	unsigned int m;

	asm volatile("activemask.b32 %0;" : "=r"(m));
	return m;
}
CUDA_LITE_DEV unsigned int __ballot_sync(unsigned int mask, int p)
{
	unsigned int r;

	asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, %2; }"
		     : "=r"(r) : "r"(p), "r"(mask) : "memory");
	return r;
}
CUDA_LITE_DEV int __any_sync(unsigned int mask, int p) { return __ballot_sync(mask, p) != 0; }
/* the predicate is the same in all lanes of the mask */
CUDA_LITE_DEV int __uni_sync(unsigned int mask, int p)
{
	int r;

	asm volatile("{ .reg .pred q, u; setp.ne.s32 q, %1, 0; vote.sync.uni.pred u, q, %2; selp.s32 %0, 1, 0, u; }" : "=r"(r) : "r"(p), "r"(mask) : "memory");
	return r;
}
CUDA_LITE_DEV int __all_sync(unsigned int mask, int p) { return __ballot_sync(mask, !p) == 0; }

/*
 * Shuffles (PTX ISA "shfl.sync"): c carries the width as a segment mask in bits 8-12 and the clamp in
 * bits 0-4. 64-bit values go as two halves. Values go by reference: only the lane that is read needs to have set its own, and one that
 * nobody set is, as an argument by value, undefined behaviour that clang uses.
 */
#define CUDA_LITE_SHFL(name, mode, clamp, declared, passed, operand, mask_or_none) \
	CUDA_LITE_DEV int name(declared const int &v, int lane, int width = warpSize) \
	{ \
		int r; \
		asm volatile("shfl" mode ".b32 %0, %1, %2, %3" operand ";" \
			     : "=r"(r) : "r"(v), "r"(lane), "r"(((warpSize - width) << 8) | clamp), "r"(mask_or_none) \
			     : "memory"); \
		return r; \
	} \
	CUDA_LITE_DEV unsigned int name(declared const unsigned int &v, int lane, int width = warpSize) \
	{ return (unsigned int)name(passed (int)v, lane, width); } \
	CUDA_LITE_DEV float name(declared const float &v, int lane, int width = warpSize) \
	{ return __builtin_bit_cast(float, name(passed __builtin_bit_cast(int, v), lane, width)); } \
	CUDA_LITE_DEV long long name(declared const long long &v, int lane, int width = warpSize) \
	{ \
		unsigned int lo = name(passed (unsigned int)v, lane, width); \
		unsigned int hi = name(passed (unsigned int)((unsigned long long)v >> 32), lane, width); \
		return (long long)((unsigned long long)hi << 32 | lo); \
	} \
	CUDA_LITE_DEV unsigned long long name(declared const unsigned long long &v, int lane, int width = warpSize) \
	{ return (unsigned long long)name(passed (long long)v, lane, width); } \
	CUDA_LITE_DEV long name(declared const long &v, int lane, int width = warpSize) \
	{ return (long)name(passed (long long)v, lane, width); } \
	CUDA_LITE_DEV unsigned long name(declared const unsigned long &v, int lane, int width = warpSize) \
	{ return (unsigned long)name(passed (long long)v, lane, width); } \
	CUDA_LITE_DEV double name(declared const double &v, int lane, int width = warpSize) \
	{ return __builtin_bit_cast(double, name(passed __builtin_bit_cast(long long, v), lane, width)); }
#define CUDA_LITE_MASK_DECLARED unsigned int mask,
#define CUDA_LITE_MASK_PASSED mask,
#define CUDA_LITE_SHFL_SYNC(name, mode, clamp) \
	CUDA_LITE_SHFL(name, ".sync." mode, clamp, CUDA_LITE_MASK_DECLARED, CUDA_LITE_MASK_PASSED, ", %4", mask)

CUDA_LITE_SHFL_SYNC(__shfl_sync, "idx", 0x1f)
CUDA_LITE_SHFL_SYNC(__shfl_up_sync, "up", 0)
CUDA_LITE_SHFL_SYNC(__shfl_down_sync, "down", 0x1f)
CUDA_LITE_SHFL_SYNC(__shfl_xor_sync, "bfly", 0x1f)

/* Those of before CUDA 9, of all active lanes; as with NVIDIA's they are there below 7.0 only */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700
CUDA_LITE_SHFL(__shfl, ".idx", 0x1f, , , "", 0)
CUDA_LITE_SHFL(__shfl_up, ".up", 0, , , "", 0)
CUDA_LITE_SHFL(__shfl_down, ".down", 0x1f, , , "", 0)
CUDA_LITE_SHFL(__shfl_xor, ".bfly", 0x1f, , , "", 0)
CUDA_LITE_DEV unsigned int __ballot(int p)
{
	unsigned int r;

	asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.ballot.b32 %0, q; }" : "=r"(r) : "r"(p) : "memory");
	return r;
}
CUDA_LITE_DEV int __any(int p) { return __ballot(p) != 0; }
CUDA_LITE_DEV int __all(int p) { return __ballot(!p) == 0; }
#endif
#undef CUDA_LITE_SHFL_SYNC
#undef CUDA_LITE_MASK_PASSED
#undef CUDA_LITE_MASK_DECLARED
#undef CUDA_LITE_SHFL

/* Atomics on generic addresses (PTX ISA "atom"); every one returns the old value. */
CUDA_LITE_DEV int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicAdd(unsigned int *p, unsigned int v)
{
	return (unsigned int)__nvvm_atom_add_gen_i((int *)p, (int)v);
}
CUDA_LITE_DEV unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
CUDA_LITE_DEV float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
CUDA_LITE_DEV double atomicAdd(double *p, double v)
{
	double old;

	asm volatile("atom.add.f64 %0, [%1], %2;" : "=d"(old) : "l"(p), "d"(v) : "memory");
	return old;
}
#endif
CUDA_LITE_DEV int atomicSub(int *p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
CUDA_LITE_DEV unsigned int atomicSub(unsigned int *p, unsigned int v) { return atomicAdd(p, 0u - v); }
CUDA_LITE_DEV int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicExch(unsigned int *p, unsigned int v)
{
	return (unsigned int)__nvvm_atom_xchg_gen_i((int *)p, (int)v);
}
CUDA_LITE_DEV float atomicExch(float *p, float v)
{
	return __builtin_bit_cast(float, __nvvm_atom_xchg_gen_i((int *)p, __builtin_bit_cast(int, v)));
}
CUDA_LITE_DEV unsigned long long atomicExch(unsigned long long *p, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_xchg_gen_ll((long long *)p, (long long)v);
}
CUDA_LITE_DEV int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicMin(unsigned int *p, unsigned int v) { return __nvvm_atom_min_gen_ui(p, v); }
CUDA_LITE_DEV int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicMax(unsigned int *p, unsigned int v) { return __nvvm_atom_max_gen_ui(p, v); }
CUDA_LITE_DEV unsigned int atomicInc(unsigned int *p, unsigned int v) { return __nvvm_atom_inc_gen_ui(p, v); }
CUDA_LITE_DEV unsigned int atomicDec(unsigned int *p, unsigned int v) { return __nvvm_atom_dec_gen_ui(p, v); }
CUDA_LITE_DEV int atomicAnd(int *p, int v) { return __nvvm_atom_and_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicAnd(unsigned int *p, unsigned int v)
{
	return (unsigned int)__nvvm_atom_and_gen_i((int *)p, (int)v);
}
CUDA_LITE_DEV int atomicOr(int *p, int v) { return __nvvm_atom_or_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicOr(unsigned int *p, unsigned int v)
{
	return (unsigned int)__nvvm_atom_or_gen_i((int *)p, (int)v);
}
CUDA_LITE_DEV int atomicXor(int *p, int v) { return __nvvm_atom_xor_gen_i(p, v); }
CUDA_LITE_DEV unsigned int atomicXor(unsigned int *p, unsigned int v)
{
	return (unsigned int)__nvvm_atom_xor_gen_i((int *)p, (int)v);
}
CUDA_LITE_DEV int atomicCAS(int *p, int cmp, int v) { return __nvvm_atom_cas_gen_i(p, cmp, v); }
CUDA_LITE_DEV unsigned int atomicCAS(unsigned int *p, unsigned int cmp, unsigned int v)
{
	return (unsigned int)__nvvm_atom_cas_gen_i((int *)p, (int)cmp, (int)v);
}
CUDA_LITE_DEV unsigned long long atomicCAS(unsigned long long *p, unsigned long long cmp, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)cmp, (long long)v);
}

/* Integers */
CUDA_LITE_DEV int __popc(unsigned int v) { return __builtin_popcount(v); }
CUDA_LITE_DEV int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
CUDA_LITE_DEV int __clz(int v) { return v ? __builtin_clz((unsigned int)v) : 32; }
CUDA_LITE_DEV int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
CUDA_LITE_DEV int __ffs(int v) { return __builtin_ffs(v); }
CUDA_LITE_DEV unsigned int __brev(unsigned int v) { return __builtin_bitreverse32(v); }
CUDA_LITE_DEV unsigned int __umulhi(unsigned int a, unsigned int b)
{
	return (unsigned int)((unsigned long long)a * b >> 32);
}
CUDA_LITE_DEV int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
CUDA_LITE_DEV int min(int a, int b) { return a < b ? a : b; }
CUDA_LITE_DEV unsigned int min(unsigned int a, unsigned int b) { return a < b ? a : b; }
CUDA_LITE_DEV int max(int a, int b) { return a > b ? a : b; }
CUDA_LITE_DEV unsigned int max(unsigned int a, unsigned int b) { return a > b ? a : b; }
CUDA_LITE_DEV float min(float a, float b) { return __nvvm_fmin_f(a, b); }
CUDA_LITE_DEV float max(float a, float b) { return __nvvm_fmax_f(a, b); }

/* Floating point: approximations that are one instruction, and bits */
CUDA_LITE_DEV float __expf(float a) { return __nvvm_ex2_approx_f(a * 1.44269504f); }
CUDA_LITE_DEV float __exp2f(float a) { return __nvvm_ex2_approx_f(a); }
CUDA_LITE_DEV float __logf(float a) { return __nvvm_lg2_approx_f(a) * 0.693147181f; }
CUDA_LITE_DEV float __log2f(float a) { return __nvvm_lg2_approx_f(a); }
CUDA_LITE_DEV float __sinf(float a) { return __nvvm_sin_approx_f(a); }
CUDA_LITE_DEV float __cosf(float a) { return __nvvm_cos_approx_f(a); }
CUDA_LITE_DEV float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
CUDA_LITE_DEV unsigned int __float_as_uint(float a) { return __builtin_bit_cast(unsigned int, a); }
CUDA_LITE_DEV int __float_as_int(float a) { return __builtin_bit_cast(int, a); }
CUDA_LITE_DEV float __uint_as_float(unsigned int a) { return __builtin_bit_cast(float, a); }
CUDA_LITE_DEV float __int_as_float(int a) { return __builtin_bit_cast(float, a); }

template <class T> CUDA_LITE_DEV T __ldg(const T *p) { return *p; }
CUDA_LITE_DEV long long clock64(void) { return __nvvm_read_ptx_sreg_clock64(); }
CUDA_LITE_DEV long long clock(void) { return __nvvm_read_ptx_sreg_clock64(); }
CUDA_LITE_DEV void __trap(void) { __builtin_trap(); }
CUDA_LITE_DEV void __nanosleep(unsigned int ns) { asm volatile("nanosleep.u32 %0;" : : "r"(ns)); }
CUDA_LITE_DEV double __longlong_as_double(long long a) { return __builtin_bit_cast(double, a); }
CUDA_LITE_DEV long long __double_as_longlong(double a) { return __builtin_bit_cast(long long, a); }
CUDA_LITE_DEV long long min(long long a, long long b) { return a < b ? a : b; }
CUDA_LITE_DEV long long max(long long a, long long b) { return a > b ? a : b; }
CUDA_LITE_DEV unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
CUDA_LITE_DEV unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
CUDA_LITE_DEV double min(double a, double b) { return __nvvm_fmin_d(a, b); }
CUDA_LITE_DEV double max(double a, double b) { return __nvvm_fmax_d(a, b); }

/* What the device has of the C library: PTX's entry points. clang makes vprintf of a printf on the device. */
extern "C" {
__device__ int vprintf(const char *, void *);
__device__ int printf(const char *, ...);
__device__ void *malloc(__SIZE_TYPE__);
__device__ void free(void *);
__device__ void *__cuda_syscall_aligned_malloc(__SIZE_TYPE__ bytes, __SIZE_TYPE__ align);
/* At a multiple of align, a power of two; for free(). */
static __device__ inline __attribute__((unused)) void *__nv_aligned_device_malloc(__SIZE_TYPE__ bytes, __SIZE_TYPE__ align)
{
	return __cuda_syscall_aligned_malloc(bytes, align);
}
/* the value of a graph's conditional node (cudaGraphConditionalHandleCreate) */
__device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);
__device__ void __assertfail(const char *what, const char *file, unsigned int line, const char *function, __SIZE_TYPE__ char_bytes);
static __device__ inline __attribute__((unused)) void __assert_fail(const char *what, const char *file, unsigned int line, const char *function)
{
	__assertfail(what, file, line, function, 1);
}
static __device__ inline __attribute__((unused)) void *memcpy(void *to, const void *from, __SIZE_TYPE__ n)
{
	return __builtin_memcpy(to, from, n);
}
static __device__ inline __attribute__((unused)) void *memset(void *to, int c, __SIZE_TYPE__ n) { return __builtin_memset(to, c, n); }
static __device__ inline __attribute__((unused)) void *memmove(void *to, const void *from, __SIZE_TYPE__ n)
{
	char *d = (char *)to;
	const char *s = (const char *)from;

	if (d <= s || d >= s + n)
		return __builtin_memcpy(to, from, n);
	while (n--)
		((volatile char *)d)[n] = s[n];
	return to;
}
}

#include "cuda_lite_intrinsics.h"
#include "cuda_lite_wide.h"
#include "cuda_lite_dpx.h"
#include "cuda_lite_tex.h"
#include "cuda_lite_math.h"

#endif
