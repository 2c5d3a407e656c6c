/* SPDX-License-Identifier: MIT */
/* Arithmetic without much memory: bodies, options, random walks, Mandelbrot's set, hashes. */
#include "common.h"

struct float4v { float x, y, z, w; } __attribute__((aligned(16)));

/* 256 threads; n a multiple of it. */
KERNEL nbody(int n, const float4v *at, float4v *acc)
{
	__shared__ float4v tile[256];
	float4v me = at[GLOBAL_ID], sum = { 0, 0, 0, 0 };

	for (int base = 0; base < n; base += 256) {
		tile[threadIdx.x] = at[base + threadIdx.x];
		__syncthreads();
#pragma unroll 8
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), f = tile[j].w * inv * inv * inv;

			sum.x += dx * f;
			sum.y += dy * f;
			sum.z += dz * f;
		}
		__syncthreads();
	}
	acc[GLOBAL_ID] = sum;
}

FN float normal_cdf(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
	float c = 0.39894228f * __expf(-0.5f * d * d) *
		(k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1.0f - c : c;
}

KERNEL black_scholes(int n, const float *price, const float *strike, const float *years, float *call, float *put, float r, float vol)
{
	int i = GLOBAL_ID;

	if (i < n) {
		float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
		float d1 = (__logf(s / x) + (r + 0.5f * vol * vol) * t) / (vol * root), d2 = d1 - vol * root;
		float c1 = normal_cdf(d1), c2 = normal_cdf(d2), e = __expf(-r * t);

		call[i] = s * c1 - x * e * c2;
		put[i] = x * e * (1.0f - c2) - s * (1.0f - c1);
	}
}

/* Options by random walks: xorshift and Box-Muller. A sum for each thread. */
KERNEL monte_carlo(int paths, float *out, float s, float x, float drift, float vol)
{
	u32 i = GLOBAL_ID, a = i * 2654435761u + 12345u, b = a ^ 0x9e3779b9u;
	float sum = 0;

	a |= 1;
	b |= 1;
	for (int p = 0; p < paths; p++) {
		float u, v, z;

		a ^= a << 13; a ^= a >> 17; a ^= a << 5;
		b ^= b << 13; b ^= b >> 17; b ^= b << 5;
		u = ((a >> 8) + 1) * (1.0f / 16777216.0f);
		v = (b >> 8) * (6.2831853f / 16777216.0f);
		z = sqrtf(-2.0f * __logf(u)) * __cosf(v);
		sum += fmaxf(s * __expf(drift + vol * z) - x, 0.0f);
	}
	out[i] = sum;
}

/* n x n points of (-2, 1) x (-1.5, 1.5); blocks of 16 x 16. */
KERNEL mandelbrot(int n, int most, int *out)
{
	int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y, i;
	float cx = -2.0f + px * (3.0f / n), cy = -1.5f + py * (3.0f / n), x = 0, y = 0;

	for (i = 0; i < most && x * x + y * y < 4.0f; i++) {
		float t = x * x - y * y + cx;

		y = 2 * x * y + cy;
		x = t;
	}
	out[py * n + px] = i;
}

__constant__ u32 sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

FN u32 ror(u32 v, int n) { return v >> n | v << (32 - n); }

/* One chunk of 16 words for each thread, word by word beside the others'; state after it. */
KERNEL sha256(int n, const u32 *in, u32 *out)
{
	const u32 start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	int t = GLOBAL_ID;
	u32 w[16], s[8];

	if (t >= n)
		return;
#pragma unroll
	for (int i = 0; i < 16; i++)
		w[i] = in[i * n + t];
#pragma unroll
	for (int i = 0; i < 8; i++)
		s[i] = start[i];
#pragma unroll 16
	for (int i = 0; i < 64; i++) {
		u32 a, b;

		if (i >= 16) {
			u32 x = w[(i + 1) & 15], y = w[(i + 14) & 15];

			w[i & 15] += (ror(x, 7) ^ ror(x, 18) ^ x >> 3) + w[(i + 9) & 15] + (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
		}
		a = s[7] + (ror(s[4], 6) ^ ror(s[4], 11) ^ ror(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_k[i] + w[i & 15];
		b = (ror(s[0], 2) ^ ror(s[0], 13) ^ ror(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		s[7] = s[6]; s[6] = s[5]; s[5] = s[4]; s[4] = s[3] + a;
		s[3] = s[2]; s[2] = s[1]; s[1] = s[0]; s[0] = a + b;
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		out[i * n + t] = s[i] + start[i];
}
