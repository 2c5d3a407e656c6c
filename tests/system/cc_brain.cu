// SPDX-License-Identifier: MIT
// Brain floats of cuda_bf16.h, and what halves and they have alike: every function on the device and on the host, the same bits; conversions by
// the definition of rounding. The hashes at the end are those that nvcc's headers make (cc.sh has them).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef unsigned long long u64;
#define OPS 52
#define HD __host__ __device__
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define ON_BOTH(expr) return expr
#else   // of nvcc's headers these are the device's alone
#define ON_BOTH(expr) return 0
#endif
#if defined(__clang__) || __CUDA_ARCH__ >= 800
#define ON_80(expr) return expr
#else
#define ON_80(expr) return 0
#endif
HD static u64 of(float f) { unsigned u; memcpy(&u, &f, 4); return f != f ? 0x7fffffff : u; }
HD static u64 of(__nv_bfloat16 h) { return __hisnan(h) ? 0x7fff : __bfloat16_as_ushort(h); }
HD static u64 of(__half h) { return __hisnan(h) ? 0x7fff : __half_as_ushort(h); }
HD static u64 of(__nv_bfloat162 h) { return of(__low2bfloat16(h)) | of(__high2bfloat16(h)) << 16; }
HD static u64 of(__half2 h) { return of(__low2half(h)) | of(__high2half(h)) << 16; }

template <class T, class T2> HD u64 alike(int which, T a, T b, T c)
{
	T2 p(a, b), q(b, c), s(c, a);

	switch (which) {
	case 0: return of(a + b);
	case 1: return of(a - b);
	case 2: return of(a * b);
	case 3: return of(a / b);
	case 4: ON_80(of(__hfma(a, b, c)));
	case 5: ON_80(of(__hadd_sat(a, b)) ^ of(__hsub_sat(a, c)) << 16 ^ of(__hmul_sat(a, b)) << 32 ^ of(__hfma_sat(a, b, c)) << 48);
	case 6: return of(__hmax(a, b)) ^ of(__hmin(a, b)) << 16 ^ of(__hmax_nan(a, b)) << 32 ^ of(__hmin_nan(a, b)) << 48;
	case 7: ON_80(of(__hfma_relu(a, b, c)) ^ of(__hfma2_relu(p, q, s)) << 16);
	case 8: ON_80(of(__hcmadd(p, q, s)));
	case 9: return (unsigned)(__heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 | __hge(a, b) << 5 | __hltu(a, b) << 6 |
			__hequ(a, b) << 7 | __hneu(a, b) << 8 | (a == b) << 9 | (a < b) << 10 | __hbequ2(p, q) << 11 | __hbne2(p, s) << 12 | (p == q) << 13 | (p != s) << 14);
	case 10: return of(p + q) ^ of(p * s) << 32;
	case 11: ON_80(of(__hfma2(p, q, s)) ^ of(__h2div(p, q)) << 32);
	case 12: return of(__hneg2(p)) ^ of(__habs2(q)) << 32;
	case 13: return of(__hlt2(p, q)) ^ of(__hgeu2(p, s)) << 32;
	case 14: return __hlt2_mask(p, q) ^ (u64)__hneu2_mask(p, s) << 32;
	case 15: return of(__hmax2(p, q)) ^ of(__hmin2_nan(q, s)) << 32;
	case 16: { T t = a; t += b; t *= c; t -= b; u64 v = of(t); return v ^ of(++t) << 16; }
	case 17: return (unsigned)__hisinf(a) ^ of(__hisnan2(p)) << 32;
	case 18: return of(__lowhigh2highlow(p)) ^ of(__hsub2_sat(p, q)) << 32;
	case 19: return of(-a) ^ of(__habs(b)) << 16;
	}
	return 0;
}
HD static u64 op(int which, unsigned x, unsigned y, unsigned z)
{
	__nv_bfloat16 a = __ushort_as_bfloat16((unsigned short)x), b = __ushort_as_bfloat16((unsigned short)y), c = __ushort_as_bfloat16((unsigned short)z);
	__half h = __ushort_as_half((unsigned short)x);
	float f;
	unsigned w = x << 16 | y;
	long long ll = (long long)((u64)w << 32 ^ (u64)z * 0x10001) >> (z & 63);

	if (which < 20)
		return alike<__nv_bfloat16, __nv_bfloat162>(which, a, b, c);
	if (which < 40)
		return alike<__half, __half2>(which - 20, h, __ushort_as_half((unsigned short)y), __ushort_as_half((unsigned short)z));
	memcpy(&f, &w, 4);
	switch (which) {
	case 40: return of(__float2bfloat16(f)) ^ of(__float2bfloat16_rz(f)) << 16 ^ of(__float2bfloat16_rd(f)) << 32 ^ of(__float2bfloat16_ru(f)) << 48;
	case 41: return of(__double2bfloat16((double)f * 1.00000001)) ^ of(__double2bfloat16(__bfloat162float(a) * 1.00390625 + (double)__bfloat162float(b) * 1e-12)) << 16;
	case 42: ON_BOTH((unsigned)__bfloat162int_rn(a) ^ (u64)(unsigned)__bfloat162int_rz(a) << 32);
	case 43: ON_BOTH(__bfloat162uint_rd(a) ^ (u64)(unsigned short)__bfloat162short_ru(a) << 32 ^ (u64)__bfloat162ushort_rn(a) << 48);
	case 44: ON_BOTH((u64)__bfloat162ll_rz(a) ^ __bfloat162ull_ru(a));
	case 45: ON_BOTH(of(__int2bfloat16_rn((int)w)) ^ of(__uint2bfloat16_rz(w)) << 16 ^ of(__short2bfloat16_rd((short)x)) << 32 ^ of(__ushort2bfloat16_ru((unsigned short)x)) << 48);
	case 46: ON_BOTH(of(__ll2bfloat16_rn(ll)) ^ of(__ull2bfloat16_rz((u64)ll)) << 16 ^ of(__ll2bfloat16_ru(ll)) << 32 ^ of(__ull2bfloat16_rd((u64)ll)) << 48);
	case 47: return (unsigned char)__bfloat162char_rz(a) ^ __bfloat162uchar_rz(a) << 8 ^ (unsigned char)__half2char_rz(h) << 16 ^ (u64)__half2uchar_rz(h) << 24;
	case 48: return of(__nv_bfloat16((int)w)) ^ of(__nv_bfloat16(f)) << 16 ^ of(__nv_bfloat16((double)f)) << 32 ^ of(__nv_bfloat16(ll)) << 48;
	case 49: return of(__floats2bfloat162_rn(f, 2.5f)) ^ of(__highs2bfloat162(__bfloat162bfloat162(a), __halves2bfloat162(b, c))) << 32;
	case 50: return of((float)a) ^ of(__high2float(make_bfloat162(a, b))) << 32;
	case 51: { __nv_bfloat16_raw r; r.x = (unsigned short)x; return of(__nv_bfloat16(r)) ^ (u64)__bfloat16_as_short(b) << 32; }
	}
	return 0;
}
__global__ void all(const unsigned *in, u64 *out, int n)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		for (int k = 0; k < OPS; k++)
			out[k * n + i] = op(k, in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}
template <class T, class T2> __global__ void lanes(u64 *out, T *sum, T2 *sum2)
{
	int t = (int)threadIdx.x;
	T h = T((float)t);
	T2 p(h, T((float)(t + 100)));

	out[t] = of(__shfl_sync(~0u, h, 5)) ^ of(__shfl_xor_sync(~0u, h, 3)) << 16 ^ of(__shfl_up_sync(~0u, h, 2u, 8)) << 32 ^ of(__shfl_down_sync(~0u, h, 1u)) << 48;
	out[32 + t] = of(__shfl_sync(~0u, p, 5)) ^ of(__shfl_xor_sync(~0u, p, 3)) << 32;
	out[64 + t] = of(__shfl_up_sync(~0u, p, 2)) ^ of(__shfl_down_sync(~0u, p, 1, 16)) << 32;
	out[96 + t] = of(hsqrt(T((float)(t * t)))) ^ of(h2floor(p)) << 16 ^ of(hexp2(T((float)(t & 7)))) << 48;
	atomicAdd(sum, T(1.0f));
	atomicAdd(sum2, T2(T(1.0f), T(0.5f)));
}
template <class T, class T2> static int try_lanes(u64 *out, void *room)
{
	static const int up = 2;
	int bad = 0;
	T s;
	T2 s2;

	cudaMemset(room, 0, 8);
	lanes<T, T2><<<1, 32>>>(out, (T *)room, (T2 *)room + 1);
	bad += cudaMemcpy(&s, room, sizeof(s), cudaMemcpyDefault) != cudaSuccess || cudaMemcpy(&s2, (T2 *)room + 1, sizeof(s2), cudaMemcpyDefault) != cudaSuccess;
	bad += (float)s != 32 || (float)s2.x != 32 || (float)s2.y != 16;
	for (int t = 0; t < 32; t++) {
		T h5((float)5), x((float)(t ^ 3)), u((float)(t % 8 < up ? t : t - up)), d((float)(t < 31 ? t + 1 : t));
		T2 p5(h5, T(105.0f)), px(x, T((float)((t ^ 3) + 100)));
		int pu = t < 2 ? t : t - 2, pd = t % 16 < 15 ? t + 1 : t;

		bad += out[t] != (of(h5) ^ of(x) << 16 ^ of(u) << 32 ^ of(d) << 48);
		bad += out[32 + t] != (of(p5) ^ of(px) << 32);
		bad += out[64 + t] != (of(T2(T((float)pu), T((float)(pu + 100)))) ^ of(T2(T((float)pd), T((float)(pd + 100)))) << 32);
		bad += out[96 + t] != (of(T((float)t)) ^ of(T2(T((float)t), T((float)(t + 100)))) << 16 ^ of(T((float)(1 << (t & 7)))) << 48);
	}
	return bad;
}
// the nearest by looking at both neighbours
static int try_rounding(float f)
{
	unsigned u, lo;
	float a, b;

	memcpy(&u, &f, 4);
	if (f != f || fabsf(f) >= 3.3e38f)
		return 0;
	lo = u & 0xffff0000u;
	memcpy(&a, &lo, 4);
	lo += 0x10000;
	memcpy(&b, &lo, 4);
	double da = fabs((double)f - a), db = fabs((double)b - f);
	float want = da < db ? a : db < da ? b : lo >> 16 & 1 ? a : b;
	return of(__bfloat162float(__float2bfloat16(f))) != of(want);
}

int main()
{
	static const unsigned edges[] = { 0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f80, 0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x3eab, 0x4049, 0x3c00, 0x7bff, 0x7c00, 0x0100, 0x2000, 0x1f80 };
	const int n = 65536;
	unsigned *in, seed = 7;
	u64 *out, bad = 0, hash[OPS] = {}, total = 0;

	if (cudaMallocManaged(&in, 3 * n * sizeof(*in)) || cudaMallocManaged(&out, (size_t)OPS * n * sizeof(*out)))
		return 1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525u + 1013904223u;
			in[3 * i + k] = k == 0 ? (unsigned)i : seed >> 29 ? seed >> 8 & 0xffff : edges[(seed >> 8) % 22];
		}
	all<<<n / 128, 128>>>(in, out, n);
	if (cudaDeviceSynchronize())
		return 1;
	for (int k = 0; k < OPS; k++)
		for (int i = 0; i < n; i++) {
			u64 want = op(k, in[3 * i], in[3 * i + 1], in[3 * i + 2]);

			hash[k] = (hash[k] ^ out[k * n + i]) * 0x100000001b3ull;
			if (out[k * n + i] != want && want && bad++ < 12)
				printf("function %d of %04x, %04x, %04x: %llx on the device, %llx on the host\n", k, in[3 * i], in[3 * i + 1], in[3 * i + 2], out[k * n + i], want);
		}
	for (int i = 0; i < n; i++) {
		unsigned w = in[3 * i] << 16 | (i & 1 ? in[3 * i + 1] : 0x8000);
		float f;

		memcpy(&f, &w, 4);
		bad += try_rounding(f);
	}
	bad += try_lanes<__nv_bfloat16, __nv_bfloat162>(out, in);
	bad += try_lanes<__half, __half2>(out, in);
	for (int k = 0; k < OPS; k++) {
		if (getenv("HASHES"))
			printf("hash %d %llx\n", k, hash[k]);
		total = total * 31 + hash[k];
	}
	printf("hash: %llx\nresult: %llu wrong\n", total, bad);
	return bad != 0;
}
