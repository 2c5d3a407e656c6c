/* SPDX-License-Identifier: MIT */
/*
 * The small part of CUDA C++'s device side that our test kernels use, for a clang that has no CUDA
 * SDK beside it. Included by kernels/<name>.cu, which is compiled twice: alone to PTX (the driver-API
 * programs embed that; it depends on no header outside this folder) and as part of a <<<>>> program,
 * where our cuda_runtime.h brings the same names. With nvcc this header is empty: the kernels are
 * ordinary CUDA.
 *
 * Invariant: only names that CUDA C++ has, with CUDA's meaning; everything is a clang builtin.
 */
#ifndef E2E_DEVICE_H
#define E2E_DEVICE_H

#ifndef __NVCC__

/* printf takes the vprintf road of the PTX ABI: clang lowers the call. */
extern "C" __attribute__((device)) int printf(const char *, ...);

#ifndef CUDA_LITE_DEVICE_H

#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif

/* threadIdx and friends come with clang itself, not with an SDK. */
#include <__clang_cuda_builtin_vars.h>

#define E2E_DEV static __inline__ __attribute__((device, always_inline))

/*
 * Barriers are asm, not clang's builtin: LLVM 14 believes that the intrinsic cannot change a shared
 * variable whose address is never taken, and moves loads of it across the barrier.
 */
#define __syncthreads() __asm__ volatile("bar.sync \t0;" ::: "memory")
E2E_DEV void __syncwarp(unsigned mask = 0xffffffffu)
{
	__asm__ volatile("bar.warp.sync \t%0;" :: "r"(mask) : "memory");
}
E2E_DEV void __threadfence(void) { __nvvm_membar_gl(); }
E2E_DEV void __threadfence_block(void) { __nvvm_membar_cta(); }
E2E_DEV void __threadfence_system(void) { __nvvm_membar_sys(); }
E2E_DEV void __trap(void) { __asm__ volatile("trap;"); }
E2E_DEV long long clock64(void) { return __nvvm_read_ptx_sreg_clock64(); }

/*
 * PTX ISA "shfl.sync": c holds the clamp in bits 0-4 and the segment mask in bits 8-12. For up the
 * clamp is 0, for the others 31.
 */
#define E2E_SEG(width) ((32 - (width)) << 8)
E2E_DEV int __shfl_sync(unsigned m, int v, int lane, int width = 32)
{
	return __nvvm_shfl_sync_idx_i32(m, v, lane, E2E_SEG(width) | 31);
}
E2E_DEV int __shfl_up_sync(unsigned m, int v, unsigned d, int width = 32)
{
	return __nvvm_shfl_sync_up_i32(m, v, d, E2E_SEG(width));
}
E2E_DEV int __shfl_down_sync(unsigned m, int v, unsigned d, int width = 32)
{
	return __nvvm_shfl_sync_down_i32(m, v, d, E2E_SEG(width) | 31);
}
E2E_DEV int __shfl_xor_sync(unsigned m, int v, int d, int width = 32)
{
	return __nvvm_shfl_sync_bfly_i32(m, v, d, E2E_SEG(width) | 31);
}
E2E_DEV float __shfl_down_sync(unsigned m, float v, unsigned d, int width = 32)
{
	return __nvvm_shfl_sync_down_f32(m, v, d, E2E_SEG(width) | 31);
}
E2E_DEV float __shfl_xor_sync(unsigned m, float v, int d, int width = 32)
{
	return __nvvm_shfl_sync_bfly_f32(m, v, d, E2E_SEG(width) | 31);
}
E2E_DEV unsigned __shfl_up_sync(unsigned m, unsigned v, unsigned d, int width = 32)
{
	return (unsigned)__nvvm_shfl_sync_up_i32(m, (int)v, d, E2E_SEG(width));
}
E2E_DEV unsigned __shfl_down_sync(unsigned m, unsigned v, unsigned d, int width = 32)
{
	return (unsigned)__nvvm_shfl_sync_down_i32(m, (int)v, d, E2E_SEG(width) | 31);
}

E2E_DEV unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }
E2E_DEV int __any_sync(unsigned m, int p) { return __nvvm_vote_any_sync(m, p); }
E2E_DEV int __all_sync(unsigned m, int p) { return __nvvm_vote_all_sync(m, p); }
E2E_DEV int __popc(unsigned v) { return __builtin_popcount(v); }

E2E_DEV int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
E2E_DEV unsigned atomicAdd(unsigned *p, unsigned v)
{
	return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v);
}
E2E_DEV unsigned long long atomicAdd(unsigned long long *p, unsigned long long v)
{
	return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v);
}
E2E_DEV float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
E2E_DEV int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
E2E_DEV unsigned atomicMin(unsigned *p, unsigned v)
{
	return (unsigned)__nvvm_atom_min_gen_ui((unsigned *)p, v);
}
E2E_DEV unsigned atomicOr(unsigned *p, unsigned v)
{
	return (unsigned)__nvvm_atom_or_gen_i((int *)p, (int)v);
}
E2E_DEV unsigned atomicExch(unsigned *p, unsigned v)
{
	return (unsigned)__nvvm_atom_xchg_gen_i((int *)p, (int)v);
}
E2E_DEV unsigned atomicCAS(unsigned *p, unsigned cmp, unsigned v)
{
	return (unsigned)__nvvm_atom_cas_gen_i((int *)p, (int)cmp, (int)v);
}

#endif /* !CUDA_LITE_DEVICE_H */
#endif /* !__NVCC__ */
#endif
