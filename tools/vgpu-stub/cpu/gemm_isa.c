/* SPDX-License-Identifier: MIT */
/*
 * Inner loops of matrix products: conversion, packing and the register-blocked kernel, for AVX2 with FMA and for
 * any processor (gemm_avx512.c has the rest). Chosen once by gemm_isa_get(); called by gemm.c.
 *
 * The method is the usual one (Goto, van de Geijn: "Anatomy of High-Performance Matrix Multiplication"):
 * panels are packed so that the kernel reads both operands in order, and the sums live in registers.
 */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))

/* ---- any processor ---------------------------------------------------------------------- */

static float from_half(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3ff, bits;
	float f;

	if (exp == 31) {
		bits = sign | 0x7f800000u | man << 13;
	} else if (exp) {
		bits = sign | (exp + 112) << 23 | man << 13;
	} else {
		f = (float)man * 0x1p-24f;      /* exact: man has 10 bits */
		memcpy(&bits, &f, 4);
		bits |= sign;
	}
	memcpy(&f, &bits, 4);
	return f;
}

static uint16_t to_half(float f)
{
	uint32_t bits, sign, man, shift;
	int exp;

	memcpy(&bits, &f, 4);
	sign = bits >> 16 & 0x8000;
	bits &= 0x7fffffffu;
	if (bits > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
	if (bits >= 0x477ff000u)        /* 65520 and more round to infinity */
		return (uint16_t)(sign | 0x7c00);
	exp = (int)(bits >> 23) - 112;
	if (exp > 0) {
		man = bits - (112u << 23);
		return (uint16_t)(sign | (man + 0xfff + (man >> 13 & 1)) >> 13);
	}
	if (exp < -10)
		return (uint16_t)sign;
	/* subnormal: the hidden one becomes visible, the rest is shifted out and rounded */
	man = (bits & 0x7fffffu) | 0x800000u;
	shift = (uint32_t)(14 - exp);
	return (uint16_t)(sign | (man + (1u << (shift - 1)) - 1 + (man >> shift & 1)) >> shift);
}

static uint16_t to_bfloat(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void base_load(float *dst, const void *src, uint32_t n, uint32_t type)
{
	const uint16_t *h = src;
	uint32_t i, bits;

	if (type == VGPU_GEMM_F32) {
		memcpy(dst, src, (size_t)n * 4);
	} else if (type == VGPU_GEMM_F16) {
		for (i = 0; i < n; i++)
			dst[i] = from_half(h[i]);
	} else {
		for (i = 0; i < n; i++) {
			bits = (uint32_t)h[i] << 16;
			memcpy(&dst[i], &bits, 4);
		}
	}
}

static void base_store(void *dst, const float *src, uint32_t n, uint32_t type)
{
	uint16_t *h = dst;
	uint32_t i;

	if (type == VGPU_GEMM_F32)
		memcpy(dst, src, (size_t)n * 4);
	else
		for (i = 0; i < n; i++)
			h[i] = type == VGPU_GEMM_F16 ? to_half(src[i]) : to_bfloat(src[i]);
}

/* Packing with the loads of an instruction set; the transposed case goes through a row at a time. */
static inline __attribute__((always_inline)) void pack_with(
	void (*load)(float *, const void *, uint32_t, uint32_t), float *dst, uint32_t panel, const void *src,
	uint32_t type, uint64_t ld, uint32_t rows, uint32_t k, bool along)
{
	uint64_t elem = vgpu_gemm_bytes(type);
	const char *s = src;
	float row[GEMM_DEPTH];
	uint32_t r, l, i;

	for (r = 0; r < rows; r += panel, dst += (size_t)panel * k) {
		uint32_t n = rows - r < panel ? rows - r : panel;

		if (n < panel)
			memset(dst, 0, (size_t)panel * k * sizeof(*dst));
		if (along) {
			for (l = 0; l < k; l++)
				load(dst + (size_t)l * panel, s + (r + l * ld) * elem, n, type);
			continue;
		}
		for (i = 0; i < n; i++) {
			load(row, s + (r + i) * ld * elem, k, type);
			for (l = 0; l < k; l++)
				dst[(size_t)l * panel + i] = row[l];
		}
	}
}

static void base_pack(float *dst, uint32_t panel, const void *src, uint32_t type, uint64_t ld, uint32_t rows,
		      uint32_t k, bool along)
{
	pack_with(base_load, dst, panel, src, type, ld, rows, k, along);
}

static void base_kernel(uint32_t k, const float *a, const float *b, float *sums, uint32_t ld, bool first)
{
	float t[4][8] = { { 0 } };
	uint32_t l, i, j;

	for (l = 0; l < k; l++, a += 8, b += 4)
		for (j = 0; j < 4; j++)
			for (i = 0; i < 8; i++)
				t[j][i] += a[i] * b[j];
	for (j = 0; j < 4; j++)
		for (i = 0; i < 8; i++)
			sums[j * ld + i] = (first ? 0 : sums[j * ld + i]) + t[j][i];
}

/* ---- AVX2 -------------------------------------------------------------------------------- */

AVX2 static void avx2_load(float *dst, const void *src, uint32_t n, uint32_t type)
{
	const uint16_t *h = src;
	uint32_t i = 0;

	if (type == VGPU_GEMM_F32) {
		memcpy(dst, src, (size_t)n * 4);
		return;
	}
	for (; i + 8 <= n; i += 8) {
		__m128i x = _mm_loadu_si128((const void *)(h + i));

		_mm256_storeu_ps(dst + i, type == VGPU_GEMM_F16 ? _mm256_cvtph_ps(x) :
				 _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)));
	}
	base_load(dst + i, h + i, n - i, type);
}

AVX2 static void avx2_store(void *dst, const float *src, uint32_t n, uint32_t type)
{
	uint16_t *h = dst;
	uint32_t i = 0;

	if (type == VGPU_GEMM_F16)
		for (; i + 8 <= n; i += 8)
			_mm_storeu_si128((void *)(h + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
	base_store((char *)dst + i * (type == VGPU_GEMM_F32 ? 4u : 2u), src + i, n - i, type);
}

AVX2 static void avx2_pack(float *dst, uint32_t panel, const void *src, uint32_t type, uint64_t ld, uint32_t rows,
			   uint32_t k, bool along)
{
	pack_with(avx2_load, dst, panel, src, type, ld, rows, k, along);
}

AVX2 static void avx2_kernel(uint32_t k, const float *a, const float *b, float *sums, uint32_t ld, bool first)
{
	__m256 t[6][2];
	uint32_t l;
	int j;

#pragma GCC unroll 6
	for (j = 0; j < 6; j++)
		t[j][0] = t[j][1] = _mm256_setzero_ps();
	for (l = 0; l < k; l++, a += 16, b += 6) {
		__m256 a0 = _mm256_loadu_ps(a), a1 = _mm256_loadu_ps(a + 8);

#pragma GCC unroll 6
		for (j = 0; j < 6; j++) {
			__m256 x = _mm256_broadcast_ss(b + j);

			t[j][0] = _mm256_fmadd_ps(a0, x, t[j][0]);
			t[j][1] = _mm256_fmadd_ps(a1, x, t[j][1]);
		}
	}
#pragma GCC unroll 6
	for (j = 0; j < 6; j++) {
		float *s = sums + (size_t)j * ld;

		if (!first) {
			t[j][0] = _mm256_add_ps(t[j][0], _mm256_loadu_ps(s));
			t[j][1] = _mm256_add_ps(t[j][1], _mm256_loadu_ps(s + 8));
		}
		_mm256_storeu_ps(s, t[j][0]);
		_mm256_storeu_ps(s + 8, t[j][1]);
	}
}

/* ---- choice ---------------------------------------------------------------------------------- */

static const struct gemm_isa avx2 = { "avx2", 16, 6, avx2_kernel, avx2_load, avx2_store, avx2_pack, NULL };
static const struct gemm_isa plain = { "base", 8, 4, base_kernel, base_load, base_store, base_pack, NULL };
static const struct gemm_isa *const isas[] = { &gemm_isa_avx512, &avx2, &plain };

static int has(unsigned i)
{
	__builtin_cpu_init();
	switch (i) {
	case 0:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
	case 1:         /* every processor with AVX2 and FMA has F16C */
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	}
	return 1;
}

const struct gemm_isa *gemm_isa_list(unsigned n)
{
	for (unsigned i = 0; i < sizeof(isas) / sizeof(isas[0]); i++)
		if (has(i) && n-- == 0)
			return isas[i];
	return NULL;
}

const struct gemm_isa *gemm_isa_get(void)
{
	static const struct gemm_isa *chosen;
	const struct gemm_isa *g = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
	const char *want;

	if (g)
		return g;
	want = getenv("VGPU_CPU_ISA");  /* for tests, as for the lane operations */
	for (unsigned i = 0; (g = gemm_isa_list(i)) && want && strcmp(want, g->name); i++)
		;
	if (!g)
		g = gemm_isa_list(0);
	__atomic_store_n(&chosen, g, __ATOMIC_RELAXED);
	return g;
}
