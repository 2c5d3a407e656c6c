/* SPDX-License-Identifier: MIT */
/*
 * What the everyday kernels of `vgpu bench kernels` share. They are ordinary CUDA: nvcc takes them as they are, clang
 * without an SDK through the small header below (regen.sh). NAME.ptx beside NAME.cu is what the bench runs.
 */
#include "../../../../tests/e2e/kernels/device.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void
#define FULL 0xffffffffu
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __NVCC__
#define FN static __device__ __forceinline__
#else
#define FN E2E_DEV
FN float __ex2(float x) { return __nvvm_ex2_approx_f(x); }
FN float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
FN float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
FN float __sinf(float x) { return __nvvm_sin_approx_f(x); }
FN float __cosf(float x) { return __nvvm_cos_approx_f(x); }
FN float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
FN float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
FN float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
FN float fabsf(float x) { return __nvvm_fabs_f(x); }
FN float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
FN u32 __umulhi(u32 a, u32 b) { return (u32)__nvvm_mulhi_ui(a, b); }
FN int __shfl_up_sync(u32 m, int v, int d) { return __nvvm_shfl_sync_up_i32(m, v, d, 0); }
#endif

/* halves as they lie in memory */
FN float half_float(u32 h)
{
	float f;

	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((u16)h));
	return f;
}

FN float warp_sum(float v)
{
	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_xor_sync(FULL, v, o);
	return v;
}

FN float warp_max(float v)
{
	for (int o = 16; o > 0; o >>= 1)
		v = fmaxf(v, __shfl_xor_sync(FULL, v, o));
	return v;
}
