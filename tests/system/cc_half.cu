// SPDX-License-Identifier: MIT
// Halves of cuda_fp16.h: every function on the device and on the host, the same bits; what the host has is printed for Python to look at
// (cc.sh), whose struct module and fractions round for themselves. Names of other small headers, too.
#include <cuComplex.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <device_launch_parameters.h>
#include <math_constants.h>

#include <cstdio>
#include <cstdlib>

#define OPS 46
__host__ __device__ unsigned short bits(__half h) { return __hisnan(h) ? 0x7fff : __half_as_ushort(h); }
__host__ __device__ unsigned long long both(__half2 h) { return bits(__low2half(h)) | (unsigned)bits(__high2half(h)) << 16; }
__host__ __device__ unsigned long long of(float f) { unsigned u; memcpy(&u, &f, 4); return f != f ? 0x7fffffff : u; }

__host__ __device__ unsigned long long op(int which, unsigned x, unsigned y, unsigned z)
{
	__half a = __ushort_as_half((unsigned short)x), b = __ushort_as_half((unsigned short)y), c = __ushort_as_half((unsigned short)z);
	__half2 p(a, b), q(b, c), s(c, a);
	float f;
	unsigned w = x << 16 | y;
	long long ll = (long long)((unsigned long long)w << 8 ^ z);

	memcpy(&f, &w, 4);
	switch (which) {
	case 0: return bits(a + b);
	case 1: return bits(a - b);
	case 2: return bits(a * b);
	case 3: return bits(a / b);
	case 4: return bits(__hfma(a, b, c));
	case 5: return bits(__float2half(f));
	case 6: return bits(__float2half_rz(f));
	case 7: return bits(__float2half_rd(f));
	case 8: return bits(__float2half_ru(f));
	case 9: return bits(__double2half((double)f * 1.0000001));
	case 10: return of(__half2float(a));
	case 11: return (unsigned)__half2int_rn(a);
	case 12: return (unsigned)__half2int_rz(a);
	case 13: return __half2uint_rd(a);
	case 14: return (unsigned short)__half2short_ru(a);
	case 15: return __half2ushort_rn(a);
	case 16: return (unsigned long long)__half2ll_rz(a);
	case 17: return __half2ull_ru(a);
	case 18: return bits(__int2half_rn((int)w));
	case 19: return bits(__uint2half_rz(w));
	case 20: return bits(__short2half_rd((short)x));
	case 21: return bits(__ushort2half_ru((unsigned short)x));
	case 22: return bits(__ll2half_rn(ll));
	case 23: return bits(__ull2half_rz((unsigned long long)ll));
	case 24: return bits(__hmax(a, b));
	case 25: return bits(__hmin(a, b));
	case 26: return __heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 | __hge(a, b) << 5 | __hltu(a, b) << 6 |
			__hequ(a, b) << 7 | __hneu(a, b) << 8 | (a == b) << 9 | (a < b) << 10;
	case 27: return bits(__hadd_sat(a, b));
	case 28: return bits(__hmul_sat(a, b));
	case 29: return bits(__hfma_sat(a, b, c));
	case 30: return both(p + q);
	case 31: return both(p * q);
	case 32: return both(__hfma2(p, q, s));
	case 33: return both(__h2div(p, q));
	case 34: return both(__hneg2(p)) ^ both(__habs2(q)) << 32;
	case 35: return both(__hlt2(p, q)) | (unsigned long long)__hbge2(p, s) << 40;
	case 36: return both(__lows2half2(p, q)) ^ both(__highs2half2(q, s)) << 32;
	case 37: return both(__lowhigh2highlow(p)) ^ both(__float2half2_rn(f)) << 32;
	case 38: return both(__hmax2(p, q)) ^ both(__hmin2(q, s)) << 32;
	case 39: { __half t = a; t += b; t *= c; t -= b; return bits(t) ^ (unsigned long long)bits(++t) << 16; }
	case 40: return (unsigned)__hisinf(a) ^ (bool)a ^ (unsigned long long)both(__hisnan2(p)) << 16;
	case 41: { cuComplex u = make_cuComplex(1.5f, (float)(x & 7)), v = make_cuComplex((float)(y & 15), 2); return of(cuCrealf(cuCmulf(u, v))) ^ (unsigned long long)of(cuCimagf(cuCmulf(u, v))) << 32; }
	case 42: return of(CUDART_INF_F) ^ of(CUDART_PI_F) << 1 ^ of((float)CUDART_PIO2);
	case 43: return bits(__half(f)) ^ bits(__half((int)w)) << 16;
	case 44: return both(__hsub2_sat(p, q));
	case 45: return bits(-a) ^ bits(__habs(b)) << 16;
	}
	return 0;
}

__global__ void all(const unsigned *in, unsigned long long *out, int n)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		for (int k = 0; k < OPS; k++)
			out[k * n + i] = op(k, in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

__global__ void sums(__half *h, __half2 *h2, float *f)
{
	atomicAdd(h + (threadIdx.x & 1), __half(1.0f));
	atomicAdd(h2, __floats2half2_rn(1, 0.5f));
	if (!threadIdx.x)
		*f = __half2float(hsqrt(__half(9.0f)) + hexp2(__half(3.0f)) + hrcp(__half(4.0f))) + __low2float(h2floor(__floats2half2_rn(2.75f, -1.5f)));
}

int main()
{
	static const unsigned edges[] = { 0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x3555, 0x4248 };
	const int n = 65536;
	unsigned *in, seed = 7, x[3];
	unsigned long long *out, bad = 0;

	if (cudaMallocManaged(&in, 3 * n * sizeof(*in)) || cudaMallocManaged(&out, (size_t)OPS * n * sizeof(*out)) || cudaProfilerStart())
		return 1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525u + 1013904223u;
			in[3 * i + k] = k == 0 ? (unsigned)i : seed >> 29 ? seed >> 8 & 0xffff : edges[seed >> 8 & 15];
		}
	all<<<n / 128, 128>>>(in, out, n);
	if (cudaDeviceSynchronize())
		return 1;
	for (int k = 0; k < OPS; k++)
		for (int i = 0; i < n; i++) {
			unsigned long long want = op(k, in[3 * i], in[3 * i + 1], in[3 * i + 2]);

			if (out[k * n + i] != want && bad++ < 8)
				printf("function %d of %04x, %04x, %04x: %llx on the device, %llx on the host\n", k, in[3 * i], in[3 * i + 1], in[3 * i + 2], out[k * n + i], want);
			if (k < 11 && i % 13 == 0)
				printf("%d %u %u %u %llu\n", k, in[3 * i], in[3 * i + 1], in[3 * i + 2], want);
		}
	__half *h;
	__half2 *h2;
	float *f;
	if (cudaMallocManaged(&h, 4) || cudaMallocManaged(&h2, 4) || cudaMallocManaged(&f, 4))
		return 1;
	x[0] = 0;
	memcpy(h, x, 4);
	memcpy(h2, x, 4);
	sums<<<1, 128>>>(h, h2, f);
	if (cudaDeviceSynchronize() || cudaProfilerStop())
		return 1;
	if (__half2float(h[0]) != 64 || __half2float(h[1]) != 64 || __low2float(*h2) != 128 || __high2float(*h2) != 64 || *f != 13.25f) {
		printf("atomics and functions: %g %g %g %g %g\n", __half2float(h[0]), __half2float(h[1]), __low2float(*h2), __high2float(*h2), *f);
		bad++;
	}
	printf("result: %llu wrong\n", bad);
	return bad != 0;
}
