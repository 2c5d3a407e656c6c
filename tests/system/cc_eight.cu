// SPDX-License-Identifier: MIT
// Floats of eight bits of cuda_fp8.h: device and host the same bits, values by the definition of the formats; the hash is that of nvcc's program.
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>
#include <cstring>

typedef unsigned long long u64;
#define HD __host__ __device__
#define OPS 12
HD static u64 op(int which, unsigned w)
{
	__half_raw h;
	__nv_bfloat16_raw b;
	float f;

	h.x = (unsigned short)w;
	b.x = (unsigned short)w;
	memcpy(&f, &w, 4);
	switch (which) {
	case 0: return __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3) | __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E4M3) << 8;
	case 1: return __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2) | __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2) << 8;
	case 2: return __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3) | __nv_cvt_halfraw_to_fp8(h, __NV_NOSAT, __NV_E4M3) << 8;
	case 3: return __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E5M2) | __nv_cvt_halfraw_to_fp8(h, __NV_NOSAT, __NV_E5M2) << 8;
	case 4: return __nv_cvt_bfloat16raw_to_fp8(b, __NV_SATFINITE, __NV_E4M3) | __nv_cvt_bfloat16raw_to_fp8(b, __NV_SATFINITE, __NV_E5M2) << 8;
	case 5: return __nv_cvt_double_to_fp8(f * 1.000000001, __NV_SATFINITE, __NV_E4M3) | __nv_cvt_double_to_fp8(f * 1.000000001, __NV_NOSAT, __NV_E5M2) << 8;
	case 6: return __nv_cvt_fp8_to_halfraw((unsigned char)w, __NV_E4M3).x;
	case 7: return __nv_cvt_fp8_to_halfraw((unsigned char)w, __NV_E5M2).x;
	case 8: { float2 p = make_float2(f, 3.3f); return __nv_cvt_float2_to_fp8x2(p, __NV_SATFINITE, __NV_E4M3) ^ __nv_fp8x2_e5m2(p).__x << 16; }
	case 9: { __half2_raw r = __nv_cvt_fp8x2_to_halfraw2((unsigned short)w, __NV_E4M3); return r.x | (unsigned)r.y << 16; }
	case 10: { __nv_fp8_e4m3 a(f); __nv_fp8_e5m2 c(f); float g = (float)a, k = (float)c; return (u64)(long long)(g == g ? g * 512 : -1) ^ (u64)(long long)(k == k ? k * 65536 : -1) << 20; }
	case 11: { float4 v = make_float4(f, 1.0f, -2.5f, f * 0.5f); __nv_fp8x4_e4m3 q(v); float4 o = (float4)q; return q.__x ^ (u64)(o.y == 1 && o.z == -2.5f) << 40; }
	}
	return 0;
}
__global__ void all(const unsigned *in, u64 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		for (int k = 0; k < OPS; k++)
			out[k * n + i] = op(k, in[i]);
}
// what the bits stand for
static double value(int digits, int bias, unsigned v)
{
	int e = (int)(v & 0x7f) >> digits;
	double m = v & ((1 << digits) - 1);

	m = e ? ldexp(m + (1 << digits), e - bias - digits) : ldexp(m, 1 - bias - digits);
	return v & 0x80 ? -m : m;
}

int main()
{
	const int n = 1 << 16;
	unsigned *in, seed = 3;
	u64 *out, bad = 0, hash[OPS] = {}, total = 0;

	if (cudaMallocManaged(&in, n * sizeof(*in)) || cudaMallocManaged(&out, (size_t)OPS * n * sizeof(*out)))
		return 1;
	for (int i = 0; i < n; i++) {
		float f;

		seed = seed * 1664525u + 1013904223u;
		f = ldexpf((float)(int)seed, -44 + (i >> 8) % 20);
		if (i & 1)
			memcpy(&in[i], &f, 4);
		else
			in[i] = i & 2 ? (seed & 0xffff0000u) | (unsigned)(i & 0xffff) : (seed & 0x7f80) << 16 | (seed >> 8 & 0xff00) | (unsigned)i;
	}
	all<<<n / 128, 128>>>(in, out, n);
	if (cudaDeviceSynchronize())
		return 1;
	for (int k = 0; k < OPS; k++)
		for (int i = 0; i < n; i++) {
			u64 want = op(k, in[i]);

			hash[k] = (hash[k] ^ out[k * n + i]) * 0x100000001b3ull;
			if (out[k * n + i] != want && bad++ < 9)
				printf("function %d of %08x: %llx on the device, %llx on the host\n", k, in[i], out[k * n + i], want);
		}
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < n; i++) {
			int digits = kind ? 2 : 3, bias = kind ? 15 : 7, top = kind ? 0x7b : 0x7e;
			unsigned got = (unsigned)out[kind * n + i] & 0xff, mag = got & 0x7f;
			float f;

			memcpy(&f, &in[i], 4);
			if (f != f || mag == (unsigned)top) {
				bad += f != f ? got != 0x7f : fabs(f) < (kind ? 53248 : 432);
				continue;
			}
			double have = fabs(value(digits, bias, got)), below = mag ? fabs(value(digits, bias, mag - 1)) : have, above = value(digits, bias, mag + 1), a = fabs((double)f);
			bool mine = fabs(a - have) < fabs(a - above) && (!mag || fabs(a - have) < fabs(a - below));
			bool even = !(mag & 1) && fabs(a - have) <= fabs(a - above) && fabs(a - have) <= fabs(a - below);
			if (!mine && !even && bad++ < 9)
				printf("kind %d, %a: %02x\n", kind, f, got);
		}
	for (int k = 0; k < OPS; k++)
		total = total * 31 + hash[k];
	printf("hash: %llx\nresult: %llu wrong\n", total, bad);
	return bad != 0;
}
