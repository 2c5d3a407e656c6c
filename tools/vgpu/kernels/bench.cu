/* SPDX-License-Identifier: MIT */
/*
 * The kernels of `vgpu bench engine`: the inner loops of language models in the shape that ggml gives them
 * at compute capability 6.1, and two everyday ones. bench.ptx beside this file is what clang makes of it
 * (regen.sh); bench_engine_c.c has the same arithmetic as plain C.
 *
 * Quantised rows are blocks of 32 values: a half scale, then the values as int8 (q8_0, 34 bytes) or as
 * nibbles, low ones first (q4_0, 18 bytes). A vector that multiplies them is q8_1: half scale, half
 * sum of the values, 32 int8 (36 bytes).
 */
#include "../../../tests/e2e/kernels/device.h"

typedef unsigned short u16;
typedef unsigned int u32;

struct q8_0 { u16 d; signed char q[32]; };
struct q4_0 { u16 d; unsigned char q[16]; };
struct q8_1 { u32 ds; signed char q[32]; };

E2E_DEV float half_float(u32 h)
{
	float f;

	__asm__("cvt.f32.f16 \t%0, %1;" : "=f"(f) : "h"((u16)h));
	return f;
}

E2E_DEV u32 float_half(float f)
{
	u16 h;

	__asm__("cvt.rn.f16.f32 \t%0, %1;" : "=h"(h) : "f"(f));
	return h;
}

E2E_DEV int dp4a(int a, int b, int c)
{
	int d;

	__asm__("dp4a.s32.s32 \t%0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}

/* Blocks of a weight row are aligned to two bytes only. */
E2E_DEV int int_at2(const void *p, int i)
{
	const u16 *h = (const u16 *)p;

	return (int)(h[2 * i] | (u32)h[2 * i + 1] << 16);
}
E2E_DEV int int_at4(const void *p, int i) { return ((const int *)p)[i]; }

E2E_DEV float warp_sum(float v)
{
	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_xor_sync(0xffffffffu, v, o);
	return v;
}

E2E_DEV float warp_max(float v)
{
	for (int o = 16; o > 0; o >>= 1)
		v = __nvvm_fmax_ftz_f(v, __shfl_xor_sync(0xffffffffu, v, o));
	return v;
}

extern "C" __global__ void empty(void)
{
}

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

/* One sum for each `per` values: 256 threads. */
extern "C" __global__ void block_reduce(const float *__restrict__ x, float *__restrict__ out, int per)
{
	__shared__ float part[32];
	const float *mine = x + (long long)blockIdx.x * per;
	float sum = 0.0f;

	for (int i = threadIdx.x; i < per; i += blockDim.x)
		sum += mine[i];
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
		sum = warp_sum(sum);
		if (threadIdx.x == 0)
			out[blockIdx.x] = sum;
	}
}

template <int THREADS> E2E_DEV void rms_norm_row(const float *__restrict__ x, float *__restrict__ y, int columns, float eps)
{
	__shared__ float part[32];
	float sum = 0.0f, scale;

	x += (long long)blockIdx.x * columns;
	y += (long long)blockIdx.x * columns;
	for (int i = threadIdx.x; i < columns; i += THREADS)
		sum += x[i] * x[i];
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = threadIdx.x % 32 < THREADS / 32 ? part[threadIdx.x % 32] : 0.0f;
	sum = warp_sum(sum);
	scale = __nvvm_rsqrt_approx_ftz_f(sum / (float)columns + eps);
	for (int i = threadIdx.x; i < columns; i += THREADS)
		y[i] = scale * x[i];
}

extern "C" __global__ void __launch_bounds__(256)
rms_norm_256(const float *__restrict__ x, float *__restrict__ y, int columns, float eps)
{
	rms_norm_row<256>(x, y, columns, eps);
}
extern "C" __global__ void __launch_bounds__(1024)
rms_norm_1024(const float *__restrict__ x, float *__restrict__ y, int columns, float eps)
{
	rms_norm_row<1024>(x, y, columns, eps);
}

/* A thread quantises one value; a warp makes one block. */
extern "C" __global__ void quantize_q8_1(const float *__restrict__ x, q8_1 *__restrict__ y, long long columns, long long stride)
{
	long long i = (long long)blockDim.x * blockIdx.x + threadIdx.x, at;
	float v, most, sum, d;

	if (i >= columns)
		return;
	at = (long long)blockIdx.y * columns + i;
	v = x[(long long)blockIdx.y * stride + i];
	most = warp_max(__nvvm_fabs_ftz_f(v));
	sum = warp_sum(v);
	d = most / 127.0f;
	y[at / 32].q[at % 32] = (signed char)(most == 0.0f ? 0 : (int)__builtin_roundf(v / d));
	if (at % 32 == 0)
		y[at / 32].ds = float_half(d) | float_half(sum) << 16;
}

/* Eight values of a block each time: which eight, `part` says. */
struct dot_q8_0 {
	typedef q8_0 block;
	enum { parts = 4 };
	static __device__ float dot(const q8_0 *w, const q8_1 *v, int part)
	{
		int sum = 0;

		for (int k = 0; k < 2; k++)
			sum = dp4a(int_at2(w->q, 2 * part + k), int_at4(v->q, 2 * part + k), sum);
		return half_float(w->d) * half_float(v->ds & 0xffff) * (float)sum;
	}
};

/* Sixteen: nibbles stand for their value less eight, which the vector's sum takes off. */
struct dot_q4_0 {
	typedef q4_0 block;
	enum { parts = 2 };
	static __device__ float dot(const q4_0 *w, const q8_1 *v, int part)
	{
		int sum = 0;

		for (int k = 0; k < 2; k++) {
			int q = int_at2(w->q, 2 * part + k);

			sum = dp4a(q & 0x0f0f0f0f, int_at4(v->q, 2 * part + k), sum);
			sum = dp4a(q >> 4 & 0x0f0f0f0f, int_at4(v->q, 2 * part + k + 4), sum);
		}
		return half_float(w->d) * ((float)sum * half_float(v->ds & 0xffff) - 4.0f * half_float(v->ds >> 16));
	}
};

/* One row a block: four warps share it, lanes take parts of blocks, the sums meet in shared memory. */
template <class D> E2E_DEV void mul_row(const void *__restrict__ weights, const q8_1 *__restrict__ v, float *__restrict__ out,
				       u32 columns, u32 stride)
{
	enum { warps = 4, step = warps * 32 / D::parts };
	__shared__ float part[warps - 1][32];
	const typename D::block *w = (const typename D::block *)weights + (long long)blockIdx.x * stride;
	int t = 32 * threadIdx.y + threadIdx.x, blocks = (int)(columns / 32);
	float sum = 0.0f;

	for (int b = t / D::parts; b < blocks; b += step)
		sum += D::dot(&w[b], &v[b], t % D::parts);
	if (threadIdx.y > 0)
		part[threadIdx.y - 1][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y > 0)
		return;
	for (int l = 0; l < warps - 1; l++)
		sum += part[l][threadIdx.x];
	sum = warp_sum(sum);
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128)
mmvq_q8_0(const void *__restrict__ weights, const q8_1 *__restrict__ v, float *__restrict__ out, u32 columns, u32 stride)
{
	mul_row<dot_q8_0>(weights, v, out, columns, stride);
}
extern "C" __global__ void __launch_bounds__(128)
mmvq_q4_0(const void *__restrict__ weights, const q8_1 *__restrict__ v, float *__restrict__ out, u32 columns, u32 stride)
{
	mul_row<dot_q4_0>(weights, v, out, columns, stride);
}
