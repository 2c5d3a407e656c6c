/* SPDX-License-Identifier: MIT */
/*
 * cuRAND's device side for vgpu cc: XORWOW, Philox4x32-10 and MRG32k3a by their publications, with cuRAND's seeds and orders, so that a
 * seed gives the numbers that it gives there. Normals are Box and Muller's, as there.
 *
 *   Marsaglia, Xorshift RNGs, 2003; Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011; L'Ecuyer, Good Parameters and
 *   Implementations for Combined Multiple Recursive Random Number Generators, 1999
 *
 * Poisson's numbers have the distribution, not cuRAND's sequence. Not here: MTGP32, Sobol, the host's library.
 */
#ifndef CUDA_LITE_CURAND_KERNEL_H
#define CUDA_LITE_CURAND_KERNEL_H

#include "cuda_runtime.h"

#if defined(__CUDA__) && defined(__cplusplus)

#include "cuda_lite_xorwow.h"

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)

struct curandStateXORWOW {
	unsigned int d, v[5];
	int boxmuller_flag, boxmuller_flag_double;
	float boxmuller_extra;
	double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
	uint4 ctr, output;
	uint2 key;
	unsigned int STATE;
	int boxmuller_flag, boxmuller_flag_double;
	float boxmuller_extra;
	double boxmuller_extra_double;
};
struct curandStateMRG32k3a {
	unsigned int s1[3], s2[3];
	int boxmuller_flag, boxmuller_flag_double;
	float boxmuller_extra;
	double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

/* ---- XORWOW ------------------------------------------------------------------------------------ */

CUDA_LITE_DEV void cuda_lite_xorwow_step(unsigned int *v)
{
	unsigned int t = v[0] ^ v[0] >> 2;

	v[0] = v[1];
	v[1] = v[2];
	v[2] = v[3];
	v[3] = v[4];
	v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
}

/* n times 2^0 or 2^67 steps. */
static __device__ __noinline__ void cuda_lite_xorwow_skip(unsigned int *v, unsigned long long n, int far)
{
	for (int k = 0; n; k++, n >>= 1) {
		const unsigned int *c = cuda_lite_xorwow_jump[far][k];
		unsigned int sum[5] = { 0, 0, 0, 0, 0 };

		if (!(n & 1))
			continue;
		for (int i = 0; i < 160; i++) {
			if (c[i / 32] >> i % 32 & 1)
				for (int w = 0; w < 5; w++)
					sum[w] ^= v[w];
			cuda_lite_xorwow_step(v);
		}
		for (int w = 0; w < 5; w++)
			v[w] = sum[w];
	}
}

CUDA_LITE_DEV unsigned int curand(curandStateXORWOW_t *s)
{
	cuda_lite_xorwow_step(s->v);
	s->d += 362437;
	return s->v[4] + s->d;
}
CUDA_LITE_DEV void skipahead(unsigned long long n, curandStateXORWOW_t *s)
{
	cuda_lite_xorwow_skip(s->v, n, 0);
	s->d += 362437u * (unsigned int)n;
}
CUDA_LITE_DEV void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *s) { cuda_lite_xorwow_skip(s->v, n, 1); }
CUDA_LITE_DEV void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateXORWOW_t *s)
{
	unsigned int a = ((unsigned int)seed ^ 0xaad26b49u) * 1099087573u, b = ((unsigned int)(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;

	s->d = 6615241u + b + a;
	s->v[0] = 123456789u + a;
	s->v[1] = 362436069u ^ a;
	s->v[2] = 521288629u + b;
	s->v[3] = 88675123u ^ b;
	s->v[4] = 5783321u + a;
	skipahead_sequence(subsequence, s);
	skipahead(offset, s);
	s->boxmuller_flag = s->boxmuller_flag_double = 0;
	s->boxmuller_extra = 0.0f;
	s->boxmuller_extra_double = 0.0;
}

/* ---- Philox4x32-10 ------------------------------------------------------------------------------- */

CUDA_LITE_DEV uint4 curand_Philox4x32_10(uint4 c, uint2 k)
{
	for (int i = 0; i < 10; i++) {
		unsigned long long p = 0xd2511f53ull * c.x, q = 0xcd9e8d57ull * c.z;

		c = make_uint4((unsigned int)(q >> 32) ^ c.y ^ k.x, (unsigned int)q, (unsigned int)(p >> 32) ^ c.w ^ k.y, (unsigned int)p);
		k.x += 0x9e3779b9u;
		k.y += 0xbb67ae85u;
	}
	return c;
}
/* The counter has 128 bits: blocks of four numbers in the low half, subsequences in the high one. */
CUDA_LITE_DEV void cuda_lite_philox_add(curandStatePhilox4_32_10_t *s, unsigned long long n)
{
	unsigned long long lo = (unsigned long long)s->ctr.y << 32 | s->ctr.x, hi = (unsigned long long)s->ctr.w << 32 | s->ctr.z;

	lo += n;
	hi += lo < n;
	s->ctr = make_uint4((unsigned int)lo, (unsigned int)(lo >> 32), (unsigned int)hi, (unsigned int)(hi >> 32));
}
CUDA_LITE_DEV void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *s)
{
	s->STATE += (unsigned int)(n & 3);
	n /= 4;
	if (s->STATE > 3) {
		n++;
		s->STATE -= 4;
	}
	cuda_lite_philox_add(s, n);
	s->output = curand_Philox4x32_10(s->ctr, s->key);
}
CUDA_LITE_DEV void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *s)
{
	unsigned long long hi = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + n;

	s->ctr.z = (unsigned int)hi;
	s->ctr.w = (unsigned int)(hi >> 32);
	s->output = curand_Philox4x32_10(s->ctr, s->key);
}
CUDA_LITE_DEV void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStatePhilox4_32_10_t *s)
{
	s->ctr = make_uint4(0, 0, 0, 0);
	s->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
	s->STATE = 0;
	s->boxmuller_flag = s->boxmuller_flag_double = 0;
	s->boxmuller_extra = 0.0f;
	s->boxmuller_extra_double = 0.0;
	skipahead_sequence(subsequence, s);
	skipahead(offset, s);
}
CUDA_LITE_DEV unsigned int curand(curandStatePhilox4_32_10_t *s)
{
	unsigned int r = s->STATE == 0 ? s->output.x : s->STATE == 1 ? s->output.y : s->STATE == 2 ? s->output.z : s->output.w;

	if (++s->STATE == 4) {
		s->STATE = 0;
		cuda_lite_philox_add(s, 1);
		s->output = curand_Philox4x32_10(s->ctr, s->key);
	}
	return r;
}
/* Four, from where the sequence is. */
CUDA_LITE_DEV uint4 curand4(curandStatePhilox4_32_10_t *s)
{
	uint4 a = s->output, b;

	cuda_lite_philox_add(s, 1);
	b = s->output = curand_Philox4x32_10(s->ctr, s->key);
	switch (s->STATE) {
	case 0: return a;
	case 1: return make_uint4(a.y, a.z, a.w, b.x);
	case 2: return make_uint4(a.z, a.w, b.x, b.y);
	default: return make_uint4(a.w, b.x, b.y, b.z);
	}
}

/* ---- MRG32k3a ------------------------------------------------------------------------------------- */

#define CUDA_LITE_M1 4294967087ull
#define CUDA_LITE_M2 4294944443ull

/* In 1 .. m1, as L'Ecuyer has it. */
CUDA_LITE_DEV unsigned int cuda_lite_mrg(curandStateMRG32k3a_t *s)
{
	unsigned long long p = (1403580ull * s->s1[1] + (CUDA_LITE_M1 - 810728ull) * s->s1[0]) % CUDA_LITE_M1;
	unsigned long long q = (527612ull * s->s2[2] + (CUDA_LITE_M2 - 1370589ull) * s->s2[0] % CUDA_LITE_M2) % CUDA_LITE_M2;

	s->s1[0] = s->s1[1];
	s->s1[1] = s->s1[2];
	s->s1[2] = (unsigned int)p;
	s->s2[0] = s->s2[1];
	s->s2[1] = s->s2[2];
	s->s2[2] = (unsigned int)q;
	return (unsigned int)(p <= q ? p + CUDA_LITE_M1 - q : p - q);
}

struct cuda_lite_3x3 { unsigned int a[3][3]; };
static __device__ __noinline__ cuda_lite_3x3 cuda_lite_mul(cuda_lite_3x3 x, cuda_lite_3x3 y, unsigned long long m)
{
	cuda_lite_3x3 r;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			unsigned long long sum = 0;

			for (int j = 0; j < 3; j++)
				sum = (sum + (unsigned long long)x.a[i][j] * y.a[j][k] % m) % m;
			r.a[i][k] = (unsigned int)sum;
		}
	return r;
}
/* s = a^(n 2^far) s */
static __device__ __noinline__ void cuda_lite_mrg_skip(unsigned int *s, cuda_lite_3x3 a, unsigned long long m, unsigned long long n, int far)
{
	while (far-- > 0)
		a = cuda_lite_mul(a, a, m);
	for (; n; n >>= 1, a = cuda_lite_mul(a, a, m)) {
		unsigned long long r[3] = { 0, 0, 0 };

		if (!(n & 1))
			continue;
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 3; k++)
				r[i] = (r[i] + (unsigned long long)a.a[i][k] * s[k] % m) % m;
		for (int i = 0; i < 3; i++)
			s[i] = (unsigned int)r[i];
	}
}
CUDA_LITE_DEV void cuda_lite_mrg_skips(curandStateMRG32k3a_t *s, unsigned long long n, int far)
{
	const cuda_lite_3x3 a1 = { { { 0, 1, 0 }, { 0, 0, 1 }, { (unsigned int)(CUDA_LITE_M1 - 810728), 1403580, 0 } } };
	const cuda_lite_3x3 a2 = { { { 0, 1, 0 }, { 0, 0, 1 }, { (unsigned int)(CUDA_LITE_M2 - 1370589), 0, 527612 } } };

	if (!n)
		return;
	cuda_lite_mrg_skip(s->s1, a1, CUDA_LITE_M1, n, far);
	cuda_lite_mrg_skip(s->s2, a2, CUDA_LITE_M2, n, far);
}
CUDA_LITE_DEV void skipahead(unsigned long long n, curandStateMRG32k3a_t *s) { cuda_lite_mrg_skips(s, n, 0); }
CUDA_LITE_DEV void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *s) { cuda_lite_mrg_skips(s, n, 76); }
CUDA_LITE_DEV void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *s) { cuda_lite_mrg_skips(s, n, 127); }
CUDA_LITE_DEV void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateMRG32k3a_t *s)
{
	unsigned long long x = (unsigned int)seed ^ 0x55555555u, y = (unsigned int)(seed >> 32) ^ 0xaaaaaaaau;

	for (int i = 0; i < 3; i++)
		s->s1[i] = s->s2[i] = 12345;
	if (seed) {
		s->s1[0] = (unsigned int)(x * 12345 % CUDA_LITE_M1);
		s->s1[1] = (unsigned int)(y * 12345 % CUDA_LITE_M1);
		s->s1[2] = (unsigned int)(x * 12345 % CUDA_LITE_M1);
		s->s2[0] = (unsigned int)(y * 12345 % CUDA_LITE_M2);
		s->s2[1] = (unsigned int)(x * 12345 % CUDA_LITE_M2);
		s->s2[2] = (unsigned int)(y * 12345 % CUDA_LITE_M2);
	}
	skipahead_subsequence(subsequence, s);
	skipahead(offset, s);
	s->boxmuller_flag = s->boxmuller_flag_double = 0;
	s->boxmuller_extra = 0.0f;
	s->boxmuller_extra_double = 0.0;
}
CUDA_LITE_DEV unsigned int curand(curandStateMRG32k3a_t *s)
{
	return (unsigned int)((double)cuda_lite_mrg(s) * 1.000000048662);
}

/* ---- distributions -------------------------------------------------------------------------------- */

/* In (0, 1]. */
CUDA_LITE_DEV float cuda_lite_unit(unsigned int x) { return x * CURAND_2POW32_INV + CURAND_2POW32_INV / 2.0f; }
CUDA_LITE_DEV double cuda_lite_unit53(unsigned int x, unsigned int y)
{
	return ((unsigned long long)x ^ (unsigned long long)y << 21) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
CUDA_LITE_DEV float curand_uniform(curandStateXORWOW_t *s) { return cuda_lite_unit(curand(s)); }
CUDA_LITE_DEV float curand_uniform(curandStatePhilox4_32_10_t *s) { return cuda_lite_unit(curand(s)); }
CUDA_LITE_DEV float curand_uniform(curandStateMRG32k3a_t *s) { return (float)((double)cuda_lite_mrg(s) * 2.3283065498378288e-10); }
CUDA_LITE_DEV double curand_uniform_double(curandStateXORWOW_t *s)
{
	unsigned int x = curand(s), y = curand(s);

	return cuda_lite_unit53(x, y);
}
/* Of 32 bits: uniform2_double has all. */
CUDA_LITE_DEV double curand_uniform_double(curandStatePhilox4_32_10_t *s)
{
	return curand(s) * CURAND_2POW32_INV_DOUBLE + CURAND_2POW32_INV_DOUBLE;
}
CUDA_LITE_DEV double curand_uniform_double(curandStateMRG32k3a_t *s) { return (double)cuda_lite_mrg(s) * 2.3283065498378288e-10; }
CUDA_LITE_DEV float4 curand_uniform4(curandStatePhilox4_32_10_t *s)
{
	uint4 x = curand4(s);

	return make_float4(cuda_lite_unit(x.x), cuda_lite_unit(x.y), cuda_lite_unit(x.z), cuda_lite_unit(x.w));
}
CUDA_LITE_DEV double2 curand_uniform2_double(curandStatePhilox4_32_10_t *s)
{
	uint4 x = curand4(s);

	return make_double2(cuda_lite_unit53(x.x, x.y), cuda_lite_unit53(x.z, x.w));
}

CUDA_LITE_DEV float2 cuda_lite_box_muller(unsigned int x, unsigned int y)
{
	float u = cuda_lite_unit(x), v = y * (CURAND_2POW32_INV * 6.2831855f) + CURAND_2POW32_INV * 6.2831855f / 2.0f, r = sqrtf(-2.0f * logf(u)), si, co;

	sincosf(v, &si, &co);
	return make_float2(r * si, r * co);
}
CUDA_LITE_DEV double2 cuda_lite_box_muller_double(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1)
{
	double u = cuda_lite_unit53(x0, x1), v = cuda_lite_unit53(y0, y1) * 2.0, r = sqrt(-2.0 * log(u)), si, co;

	sincospi(v, &si, &co);
	return make_double2(r * si, r * co);
}
/* L'Ecuyer's numbers are in 1 .. m1 and have no 53 bits. */
CUDA_LITE_DEV float2 cuda_lite_normal2(curandStateMRG32k3a_t *s)
{
	float u = curand_uniform(s), v = curand_uniform(s) * 6.2831855f, r = sqrtf(-2.0f * logf(u)), si, co;

	sincosf(v, &si, &co);
	return make_float2(r * si, r * co);
}
CUDA_LITE_DEV double2 cuda_lite_normal2_double(curandStateMRG32k3a_t *s)
{
	double u = curand_uniform_double(s), v = curand_uniform_double(s) * 2.0, r = sqrt(-2.0 * log(u)), si, co;

	sincospi(v, &si, &co);
	return make_double2(r * si, r * co);
}
template <typename S> __device__ __forceinline__ float2 cuda_lite_normal2(S *s)
{
	unsigned int x = curand(s), y = curand(s);

	return cuda_lite_box_muller(x, y);
}
template <typename S> __device__ __forceinline__ double2 cuda_lite_normal2_double(S *s)
{
	unsigned int x0 = curand(s), x1 = curand(s), y0 = curand(s), y1 = curand(s);

	return cuda_lite_box_muller_double(x0, x1, y0, y1);
}
/* The second of two is kept for the next call of its kind: 1, a normal number, 2, a log-normal one. */
template <typename S> __device__ __forceinline__ float cuda_lite_normal(S *s)
{
	float2 v;

	if (s->boxmuller_flag == 1) {
		s->boxmuller_flag = 0;
		return s->boxmuller_extra;
	}
	v = cuda_lite_normal2(s);
	s->boxmuller_flag = 1;
	s->boxmuller_extra = v.y;
	return v.x;
}
template <typename S> __device__ __forceinline__ double cuda_lite_normal_double(S *s)
{
	double2 v;

	if (s->boxmuller_flag_double == 1) {
		s->boxmuller_flag_double = 0;
		return s->boxmuller_extra_double;
	}
	v = cuda_lite_normal2_double(s);
	s->boxmuller_flag_double = 1;
	s->boxmuller_extra_double = v.y;
	return v.x;
}
template <typename S> __device__ __forceinline__ float cuda_lite_log_normal(S *s, float mean, float stddev)
{
	float2 v;

	if (s->boxmuller_flag == 2) {
		s->boxmuller_flag = 0;
		return s->boxmuller_extra;
	}
	v = cuda_lite_normal2(s);
	s->boxmuller_flag = 2;
	s->boxmuller_extra = expf(mean + stddev * v.y);
	return expf(mean + stddev * v.x);
}
template <typename S> __device__ __forceinline__ double cuda_lite_log_normal_double(S *s, double mean, double stddev)
{
	double2 v;

	if (s->boxmuller_flag_double == 2) {
		s->boxmuller_flag_double = 0;
		return s->boxmuller_extra_double;
	}
	v = cuda_lite_normal2_double(s);
	s->boxmuller_flag_double = 2;
	s->boxmuller_extra_double = exp(mean + stddev * v.y);
	return exp(mean + stddev * v.x);
}

/* Knuth's product, in pieces that exp() has room for; from 4000 on the normal that it comes near to. */
template <typename S> __device__ __forceinline__ unsigned int cuda_lite_poisson(S *s, double lambda)
{
	unsigned int n = 0;

	if (lambda >= 4000.0) {
		double v = lambda + sqrt(lambda) * cuda_lite_normal_double(s) + 0.5;

		return v > 0.0 ? (unsigned int)v : 0;
	}
	while (lambda > 0.0) {
		double part = lambda > 64.0 ? 64.0 : lambda, left = exp(-part), p = curand_uniform_double(s);

		for (; p > left; n++)
			p *= curand_uniform_double(s);
		lambda -= part;
	}
	return n;
}

#define CUDA_LITE_CURAND(S) \
	CUDA_LITE_DEV float curand_normal(S *s) { return cuda_lite_normal(s); } \
	CUDA_LITE_DEV double curand_normal_double(S *s) { return cuda_lite_normal_double(s); } \
	CUDA_LITE_DEV float2 curand_normal2(S *s) { return cuda_lite_normal2(s); } \
	CUDA_LITE_DEV double2 curand_normal2_double(S *s) { return cuda_lite_normal2_double(s); } \
	CUDA_LITE_DEV float curand_log_normal(S *s, float mean, float stddev) { return cuda_lite_log_normal(s, mean, stddev); } \
	CUDA_LITE_DEV double curand_log_normal_double(S *s, double mean, double stddev) { return cuda_lite_log_normal_double(s, mean, stddev); } \
	CUDA_LITE_DEV float2 curand_log_normal2(S *s, float mean, float stddev) \
	{ \
		float2 v = cuda_lite_normal2(s); \
		return make_float2(expf(mean + stddev * v.x), expf(mean + stddev * v.y)); \
	} \
	CUDA_LITE_DEV double2 curand_log_normal2_double(S *s, double mean, double stddev) \
	{ \
		double2 v = cuda_lite_normal2_double(s); \
		return make_double2(exp(mean + stddev * v.x), exp(mean + stddev * v.y)); \
	} \
	CUDA_LITE_DEV unsigned int curand_poisson(S *s, double lambda) { return cuda_lite_poisson(s, lambda); }
CUDA_LITE_CURAND(curandStateXORWOW_t)
CUDA_LITE_CURAND(curandStatePhilox4_32_10_t)
CUDA_LITE_CURAND(curandStateMRG32k3a_t)
#undef CUDA_LITE_CURAND

CUDA_LITE_DEV float4 curand_normal4(curandStatePhilox4_32_10_t *s)
{
	uint4 x = curand4(s);
	float2 a = cuda_lite_box_muller(x.x, x.y), b = cuda_lite_box_muller(x.z, x.w);

	return make_float4(a.x, a.y, b.x, b.y);
}
CUDA_LITE_DEV float4 curand_log_normal4(curandStatePhilox4_32_10_t *s, float mean, float stddev)
{
	float4 v = curand_normal4(s);

	return make_float4(expf(mean + stddev * v.x), expf(mean + stddev * v.y), expf(mean + stddev * v.z), expf(mean + stddev * v.w));
}
CUDA_LITE_DEV uint4 curand_poisson4(curandStatePhilox4_32_10_t *s, double lambda)
{
	unsigned int a = cuda_lite_poisson(s, lambda), b = cuda_lite_poisson(s, lambda), c = cuda_lite_poisson(s, lambda);

	return make_uint4(a, b, c, cuda_lite_poisson(s, lambda));
}

#undef CUDA_LITE_M1
#undef CUDA_LITE_M2

#endif
#endif
