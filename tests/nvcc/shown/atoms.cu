/* SPDX-License-Identifier: MIT */
/* Atomics: each operation and type, global and shared, what they leave and, where it is one thread's, what they return; denormals, NaN, zeros. */
#include "show.h"
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { N = 8192, CELLS = 64 };
#define V mixed(i)

/* by all threads, on cells whose contents do not depend on the order */
template<class T, class F> static void left(const char *name, T start, F f)
{
	T *p;
	std::vector<T> v(CELLS, start);

	CUDA(cudaMalloc(&p, sizeof(T) * CELLS));
	CUDA(cudaMemcpy(p, v.data(), sizeof(T) * CELLS, cudaMemcpyHostToDevice));
	each<1><<<N / 128, 128>>>(N, (unsigned *)NULL, [=] __device__ (int i, unsigned *) { f(p + V % CELLS, i); });
	CUDA(cudaGetLastError());
	show((std::string("global.") + name).c_str(), p, sizeof(T) * CELLS / 4);
	CUDA(cudaMemcpy(p, v.data(), sizeof(T) * CELLS, cudaMemcpyHostToDevice));
	each<1><<<1, 256>>>(256, (unsigned *)NULL, [=] __device__ (int i, unsigned *) {
		__shared__ T s[CELLS];
		if (threadIdx.x < CELLS)
			s[threadIdx.x] = p[threadIdx.x];
		__syncthreads();
		for (int k = i; k < 4096; k += 256)
			f(s + mixed(k) % CELLS, k);
		__syncthreads();
		if (threadIdx.x < CELLS)
			p[threadIdx.x] = s[threadIdx.x];
	});
	show((std::string("shared.") + name).c_str(), p, sizeof(T) * CELLS / 4);
	CUDA(cudaFree(p));
}
/* one thread a cell: what comes back too */
template<class T, class U, class F> static void back(const char *name, U start, F f)
{
	run<4>(std::string("back.") + name, 2048, [=] __device__ (int i, unsigned *o) {
		__shared__ T s[128];
		T *g = (T *)o, r;
		unsigned long long was = 0, left = 0;
		*g = start(i);
		r = f(g, i);
		memcpy(&was, &r, sizeof(r));
		memcpy(&left, g, sizeof(r));
		o[0] = (unsigned)was ^ (unsigned)(was >> 32);
		o[1] = (unsigned)left ^ (unsigned)(left >> 32);
		s[threadIdx.x] = start(i);
		r = f(s + threadIdx.x, i);
		memcpy(&was, &r, sizeof(r));
		memcpy(&left, s + threadIdx.x, sizeof(r));
		o[2] = (unsigned)was ^ (unsigned)(was >> 32);
		o[3] = (unsigned)left ^ (unsigned)(left >> 32);
	});
}
__device__ static float real(unsigned i)
{
	static const unsigned edges[] = { 0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x3f800000 };

	return mixed(i) & 1 ? __uint_as_float(edges[mixed(i + 1) % 14]) : __uint_as_float(mixed(i + 2));
}
__device__ static double real2(unsigned i)
{
	return mixed(i) & 1 ? __longlong_as_double((long long)(mixed(i + 4) % 3) - 1 + ((unsigned long long)(mixed(i + 5) & 1) << 63)) :
		__longlong_as_double((unsigned long long)mixed(i + 2) << 32 | mixed(i + 3));
}
__device__ static unsigned clean(float f) { return f == f ? __float_as_uint(f) : 0x7fffffff; }

/* two floats of 16 bits in a word; tiny: a mask that leaves denormals, infinite: what infinity's bits are */
template<class T> static void pairs(const char *name, unsigned tiny, unsigned infinite)
{
	run<4>(name, 8192, [=] __device__ (int i, unsigned *o) {
		__shared__ T s[128];
		unsigned a = mixed(i) & (i & 1 ? tiny : ~0u), b = mixed(i + 9) & (i & 1 ? tiny : ~0u), r;
		T ha, hb;
		memcpy(&ha, &a, 4);
		memcpy(&hb, &b, 4);
		*(T *)o = ha;
		atomicAdd((T *)o, hb);
		s[threadIdx.x] = ha;
		atomicAdd(s + threadIdx.x, hb);
		memcpy(&r, s + threadIdx.x, 4);
		o[1] = r; o[2] = o[3] = 0;
		for (int k = 0; k < 2; k++)             /* NaN as one pattern */
			for (int w = 0; w < 2; w++)
				if ((o[k] >> (16 * w) & 0x7fff) > infinite)
					o[k] = (o[k] & ~(0xffffu << 16 * w)) | 0x7fffu << 16 * w;
	});
}

int main()
{
	left<int>("add.int", 5, [] __device__ (int *p, int i) { atomicAdd(p, (int)V); });
	left<unsigned>("sub", 5, [] __device__ (unsigned *p, int i) { atomicSub(p, V); });
	left<unsigned>("inc", 5, [] __device__ (unsigned *p, int i) { atomicInc(p, 37); });
	left<unsigned>("dec", 50, [] __device__ (unsigned *p, int i) { atomicDec(p, 37); });
	left<unsigned>("min", ~0u, [] __device__ (unsigned *p, int i) { atomicMin(p, V); });
	left<int>("max.int", -5, [] __device__ (int *p, int i) { atomicMax(p, (int)V); });
	left<unsigned long long>("max.64", 5, [] __device__ (unsigned long long *p, int i) { atomicMax(p, (unsigned long long)V << 20); });
	left<long long>("min.64", 5, [] __device__ (long long *p, int i) { atomicMin(p, (long long)(int)V << 9); });
	left<unsigned>("and", ~0u, [] __device__ (unsigned *p, int i) { atomicAnd(p, V | V << 7 | V >> 5); });
	left<unsigned long long>("or.64", 0, [] __device__ (unsigned long long *p, int i) { atomicOr(p, 1ull << (V >> 26)); });
	left<unsigned>("xor", 0, [] __device__ (unsigned *p, int i) { atomicXor(p, V); });
	left<unsigned long long>("add.64", 0, [] __device__ (unsigned long long *p, int i) { atomicAdd(p, (unsigned long long)V * V); });
	left<float>("add.float", 0, [] __device__ (float *p, int i) { atomicAdd(p, (float)(V % 1000)); });
	left<double>("add.double", 0, [] __device__ (double *p, int i) { atomicAdd(p, V * 0.5); });
	left<__half2>("add.half2", __float2half2_rn(0), [] __device__ (__half2 *p, int i) { atomicAdd(p, __floats2half2_rn(1, V % 4)); });
	left<__nv_bfloat162>("add.bf162", __float2bfloat162_rn(0), [] __device__ (__nv_bfloat162 *p, int i) { atomicAdd(p, __floats2bfloat162_rn(1, 0.5f)); });
	left<unsigned>("cas.float", 0, [] __device__ (unsigned *p, int i) {
		unsigned was = *(volatile unsigned *)p, seen;
		do {
			seen = was;
			was = atomicCAS(p, seen, __float_as_uint(fmaxf(__uint_as_float(seen), (float)V)));
		} while (was != seen);
	});
	left<unsigned>("ref.fetch_max", 0, [] __device__ (unsigned *p, int i) { cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*p).fetch_max(V); });
	left<unsigned>("ref.exchange_lock", 0, [] __device__ (unsigned *p, int i) { cuda::atomic_ref<unsigned, cuda::thread_scope_block>(*p).fetch_add(V & 7, cuda::std::memory_order_relaxed); });

	back<int>("add", [] __device__ (int i) { return (int)V; }, [] __device__ (int *p, int i) { return atomicAdd(p, (int)mixed(i + 9)); });
	back<unsigned>("inc", [] __device__ (int i) { return V % 20; }, [] __device__ (unsigned *p, int i) { return atomicInc(p, mixed(i + 9) % 20); });
	back<unsigned>("dec", [] __device__ (int i) { return V % 20; }, [] __device__ (unsigned *p, int i) { return atomicDec(p, mixed(i + 9) % 20); });
	back<unsigned>("exch", [] __device__ (int i) { return V; }, [] __device__ (unsigned *p, int i) { return atomicExch(p, i); });
	back<unsigned>("cas", [] __device__ (int i) { return V % 4; }, [] __device__ (unsigned *p, int i) { return atomicCAS(p, mixed(i + 9) % 4, 77u); });
	back<unsigned short>("cas.16", [] __device__ (int i) { return (unsigned short)(V % 4); }, [] __device__ (unsigned short *p, int i) { return atomicCAS(p, (unsigned short)(mixed(i + 9) % 4), (unsigned short)77); });
	back<unsigned long long>("cas.64", [] __device__ (int i) { return (unsigned long long)(V % 4) << 32; }, [] __device__ (unsigned long long *p, int i) { return atomicCAS(p, (unsigned long long)(mixed(i + 9) % 4) << 32, ~0ull); });
	back<int>("min", [] __device__ (int i) { return (int)V; }, [] __device__ (int *p, int i) { return atomicMin(p, (int)mixed(i + 9)); });
	back<long long>("max.64", [] __device__ (int i) { return (long long)(int)V << 31; }, [] __device__ (long long *p, int i) { return atomicMax(p, (long long)(int)mixed(i + 9) << 31); });
	/* sums of floats at the edges: which memory keeps denormals? NaN as one pattern */
	run<4>("edges.float", 8192, [] __device__ (int i, unsigned *o) {
		__shared__ float s[128];
		float *g = (float *)o, was;
		*g = real(i);
		was = atomicAdd(g, real(i + 40000));
		o[1] = clean(was);
		o[0] = clean(*(volatile float *)g);
		s[threadIdx.x] = real(i);
		was = atomicAdd(s + threadIdx.x, real(i + 40000));
		o[3] = clean(was);
		o[2] = clean(*(volatile float *)(s + threadIdx.x));
	});
	run<8>("edges.double", 4096, [] __device__ (int i, unsigned *o) {
		__shared__ double s[128];
		double *g = (double *)o, was = 0, now;
		*g = real2(i);
		was = atomicAdd(g, real2(i + 40000));
		now = *(volatile double *)g;
		o[2] = __double2loint(was); o[3] = was == was ? __double2hiint(was) : 0x7fffffff;
		o[0] = now == now ? __double2loint(now) : 0; o[1] = now == now ? __double2hiint(now) : 0x7fffffff;
		s[threadIdx.x] = real2(i);
		atomicAdd(s + threadIdx.x, real2(i + 40000));
		now = *(volatile double *)(s + threadIdx.x);
		o[4] = now == now ? __double2loint(now) : 0; o[5] = now == now ? __double2hiint(now) : 0x7fffffff;
		o[6] = o[7] = 0;
	});
	pairs<__half2>("edges.half2", 0x83ff83ff, 0x7c00);
	pairs<__nv_bfloat162>("edges.bf162", 0x807f807f, 0x7f80);
	run<4>("vector.float4", 4096, [] __device__ (int i, unsigned *o) {
		float4 *g = (float4 *)o;
		*g = make_float4(unit(i), unit(i + 1), 1e-40f, -0.0f);
		float4 was = atomicAdd(g, make_float4(unit(i + 2), -1, 1e-40f, -0.0f));
		o[0] ^= __float_as_uint(was.x);
		o[1] ^= __float_as_uint(was.y);
	});
	return 0;
}
