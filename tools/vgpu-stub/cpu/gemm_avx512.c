/* SPDX-License-Identifier: MIT */
/*
 * Inner loops of matrix products for AVX-512: conversion, packing, the kernel, and dot products for the few columns
 * that generating a token has. Chosen by gemm_isa_get(); see gemm_isa.c for the method.
 */
#include <immintrin.h>
#include <string.h>

#include "gemm.h"

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define MR 32u
#define NR 12u

/* Up to 16 elements; lanes outside the mask are zero and their memory is not touched. */
AVX512 static inline __m512 load16(const char *p, __mmask16 m, uint32_t type)
{
	__m256i x;

	if (type == VGPU_GEMM_F32)
		return _mm512_maskz_loadu_ps(m, p);
	x = _mm256_maskz_loadu_epi16(m, p);
	if (type == VGPU_GEMM_F16)
		return _mm512_cvtph_ps(x);
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static inline __mmask16 first_lanes(uint32_t n)
{
	return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
}

AVX512 static void load(float *dst, const void *src, uint32_t n, uint32_t type)
{
	uint64_t elem = vgpu_gemm_bytes(type);

	for (uint32_t i = 0; i < n; i += 16) {
		__mmask16 m = first_lanes(n - i);

		_mm512_mask_storeu_ps(dst + i, m, load16((const char *)src + i * elem, m, type));
	}
}

/* Nearest even, as gemm_isa.c's to_bfloat: a NaN stays one. */
AVX512 static inline __m256i to_bfloat(__m512 f)
{
	__m512i x = _mm512_castps_si512(f), odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
	__m512i r = _mm512_add_epi32(x, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q), x, _mm512_set1_epi32(0x400000));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}

AVX512 static void store(void *dst, const float *src, uint32_t n, uint32_t type)
{
	uint16_t *h = dst;

	for (uint32_t i = 0; i < n; i += 16) {
		__mmask16 m = first_lanes(n - i);
		__m512 v = _mm512_maskz_loadu_ps(m, src + i);

		if (type == VGPU_GEMM_F32)
			_mm512_mask_storeu_ps((float *)dst + i, m, v);
		else
			_mm256_mask_storeu_epi16(h + i, m, type == VGPU_GEMM_F16 ? _mm512_cvtps_ph(v, 0) : to_bfloat(v));
	}
}

/* 16 x 16: pairs of rows, then quads, then 128-bit lanes twice. */
AVX512 static inline __attribute__((always_inline)) void transpose16(__m512 r[16])
{
	__m512 t[16];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
		t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 16; i += 4) {
		__m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
		__m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);

		r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
		r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
		r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
		r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		__m512 even = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88), odd = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
		__m512 even2 = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
		__m512 odd2 = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);

		t[i] = _mm512_shuffle_f32x4(even, even2, 0x88);
		t[i + 8] = _mm512_shuffle_f32x4(even, even2, 0xdd);
		t[i + 4] = _mm512_shuffle_f32x4(odd, odd2, 0x88);
		t[i + 12] = _mm512_shuffle_f32x4(odd, odd2, 0xdd);
	}
#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		r[i] = t[i];
}

/*
 * Rows that lie along the memory: one step of k after the other, all panels of it, so that the source is read in
 * order. `step` bytes from one step to the next.
 */
AVX512 static inline __attribute__((always_inline)) void pack_along(float *dst, const uint32_t panel, const char *s,
								    const uint32_t type, uint64_t step, uint32_t rows,
								    uint32_t k)
{
	const uint64_t elem = vgpu_gemm_bytes(type);
	uint32_t l, r;

	for (l = 0; l < k; l++, s += step) {
		float *d = dst + (size_t)l * panel;

		for (r = 0; r < rows; r += panel, d += (size_t)panel * k) {
			const char *p = s + r * elem;

			/* no fault comes of a prefetch, wherever it points */
			_mm_prefetch(p + 4 * step, _MM_HINT_T0);
			if (panel == NR) {
				_mm512_mask_storeu_ps(d, 0xfff, load16(p, first_lanes(rows - r) & 0xfff, type));
				continue;
			}
			_mm_prefetch(p + 4 * step + 64, _MM_HINT_T0);
			_mm512_storeu_ps(d, load16(p, first_lanes(rows - r), type));
			_mm512_storeu_ps(d + 16, load16(p + 16 * elem, first_lanes(rows - r > 16 ? rows - r - 16 : 0), type));
		}
	}
}

/* Rows across the memory: blocks of up to 16 rows by 16 steps of k are turned in registers. */
AVX512 static inline __attribute__((always_inline)) void pack_across(float *dst, const uint32_t panel, const char *s,
								     const uint32_t type, uint64_t step, uint32_t rows,
								     uint32_t k)
{
	const uint32_t part = panel == NR ? NR : 16;
	const __mmask16 width = panel == NR ? 0xfff : 0xffff;
	const uint64_t elem = vgpu_gemm_bytes(type);
	uint32_t r, l;
	int i;

	/* up to the end of the last panel: what is behind the rows is zero */
	for (r = 0; r < (rows + panel - 1) / panel * panel; r += part) {
		float *d = dst + (size_t)(r / panel) * panel * k + r % panel;
		const char *p = s + r * step;
		uint32_t have = rows > r ? rows - r : 0;

		for (l = 0; l < k; l += 16, p += 16 * elem) {
			__mmask16 m = first_lanes(k - l);
			uint32_t left = k - l < 16 ? k - l : 16;
			__m512 x[16];

			if (have >= part) {
#pragma GCC unroll 16
				for (i = 0; i < 16; i++)
					x[i] = (uint32_t)i < part ? load16(p + (uint64_t)i * step, m, type) : _mm512_setzero_ps();
			} else {
#pragma GCC unroll 16
				for (i = 0; i < 16; i++)
					x[i] = (uint32_t)i < have ? load16(p + (uint64_t)i * step, m, type) : _mm512_setzero_ps();
			}
			transpose16(x);
			if (left == 16) {
#pragma GCC unroll 16
				for (i = 0; i < 16; i++)
					_mm512_mask_storeu_ps(d + (size_t)(l + (uint32_t)i) * panel, width, x[i]);
				continue;
			}
#pragma GCC unroll 16
			for (i = 0; i < 16; i++)
				if ((uint32_t)i < left)
					_mm512_mask_storeu_ps(d + (size_t)(l + (uint32_t)i) * panel, width, x[i]);
		}
	}
}

AVX512 static void pack(float *dst, uint32_t panel, const void *src, uint32_t type, uint64_t ld, uint32_t rows,
			uint32_t k, bool along)
{
	const uint64_t step = ld * vgpu_gemm_bytes(type);

	/* constants, so that each case has a loop of its own */
#define CASE(p, t) \
	if (panel == p && type == t) { \
		if (along) \
			pack_along(dst, p, src, t, step, rows, k); \
		else \
			pack_across(dst, p, src, t, step, rows, k); \
		return; \
	}
	CASE(MR, VGPU_GEMM_F32)
	CASE(NR, VGPU_GEMM_F32)
	CASE(MR, VGPU_GEMM_F16)
	CASE(NR, VGPU_GEMM_F16)
	CASE(MR, VGPU_GEMM_BF16)
	CASE(NR, VGPU_GEMM_BF16)
#undef CASE
}

/* 24 sums, two of a and one of b: 27 of 32 registers. */
AVX512 static void kernel(uint32_t k, const float *a, const float *b, float *sums, uint32_t ld, bool first)
{
	__m512 t[NR][2];
	uint32_t l;
	unsigned j;

#pragma GCC unroll 12
	for (j = 0; j < NR; j++) {
		t[j][0] = t[j][1] = _mm512_setzero_ps();
		_mm_prefetch((const char *)(sums + (size_t)j * ld), _MM_HINT_T0);
		_mm_prefetch((const char *)(sums + (size_t)j * ld + 31), _MM_HINT_T0);
	}
	for (l = 0; l < k; l++, a += MR, b += NR) {
		__m512 a0 = _mm512_loadu_ps(a), a1 = _mm512_loadu_ps(a + 16);

#pragma GCC unroll 12
		for (j = 0; j < NR; j++) {
			__m512 x = _mm512_set1_ps(b[j]);

			t[j][0] = _mm512_fmadd_ps(a0, x, t[j][0]);
			t[j][1] = _mm512_fmadd_ps(a1, x, t[j][1]);
		}
	}
#pragma GCC unroll 12
	for (j = 0; j < NR; j++) {
		float *s = sums + (size_t)j * ld;

		if (!first) {
			t[j][0] = _mm512_add_ps(t[j][0], _mm512_loadu_ps(s));
			t[j][1] = _mm512_add_ps(t[j][1], _mm512_loadu_ps(s + 16));
		}
		_mm512_storeu_ps(s, t[j][0]);
		_mm512_storeu_ps(s + 16, t[j][1]);
	}
}

/* ---- few columns --------------------------------------------------------------------------------- */

#define ROWS 4u
#define COLUMNS 6u

/* rows (up to ROWS) x n dot products along k; sums as in dots(). */
AVX512 static inline __attribute__((always_inline)) void dots_block(const char *a, const uint32_t type, uint64_t step, uint32_t rows,
								    const float *b, uint32_t ldb, const uint32_t n, uint32_t k,
								    float *sums, uint32_t ld, bool first)
{
	const uint64_t elem = vgpu_gemm_bytes(type);
	__m512 t[ROWS][COLUMNS];
	const char *p[ROWS];
	uint32_t l, i, j;

#pragma GCC unroll 4
	for (i = 0; i < ROWS; i++) {
		p[i] = a + (i < rows ? i : 0) * step;   /* a row that is not there: the first again */
#pragma GCC unroll 6
		for (j = 0; j < n; j++)
			t[i][j] = _mm512_setzero_ps();
	}
	for (l = 0; l < k; l += 16) {
		__mmask16 m = first_lanes(k - l);
		__m512 x[ROWS];

#pragma GCC unroll 4
		for (i = 0; i < ROWS; i++)
			x[i] = load16(p[i] + l * elem, m, type);
#pragma GCC unroll 6
		for (j = 0; j < n; j++) {
			__m512 y = _mm512_maskz_loadu_ps(m, b + (size_t)j * ldb + l);

#pragma GCC unroll 4
			for (i = 0; i < ROWS; i++)
				t[i][j] = _mm512_fmadd_ps(x[i], y, t[i][j]);
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < ROWS; i++)
#pragma GCC unroll 6
		for (j = 0; j < n; j++) {
			float *s = sums + i + (size_t)j * ld, v = _mm512_reduce_add_ps(t[i][j]);

			if (i < rows)
				*s = first ? v : *s + v;
		}
}

AVX512 static inline __attribute__((always_inline)) void dots_type(const char *a, const uint32_t type, uint64_t lda, uint32_t rows,
								   const float *b, uint32_t ldb, uint32_t n, uint32_t k, float *sums,
								   uint32_t ld, bool first)
{
	uint64_t step = lda * vgpu_gemm_bytes(type);

	for (uint32_t r = 0; r < rows; r += ROWS) {
		uint32_t have = rows - r < ROWS ? rows - r : ROWS;

		/* the rows come from memory once and from the first-level cache for the other columns */
		for (uint32_t c = 0; c < n;) {
			uint32_t left = n - c, take = left <= COLUMNS ? left : left >= 2 * COLUMNS ? COLUMNS : (left + 1) / 2;
			const float *q = b + (size_t)c * ldb;
			float *s = sums + r + (size_t)c * ld;

			switch (take) {
#define TAKE(x) case x: dots_block(a + r * step, type, step, have, q, ldb, x, k, s, ld, first); break;
			TAKE(1)
			TAKE(2)
			TAKE(3)
			TAKE(4)
			TAKE(5)
			TAKE(6)
#undef TAKE
			}
			c += take;
		}
	}
}

AVX512 static void dots(const void *a, uint32_t type, uint64_t lda, uint32_t rows, const float *b, uint32_t ldb, uint32_t n,
			uint32_t k, float *sums, uint32_t ld, bool first)
{
	if (type == VGPU_GEMM_F32)
		dots_type(a, VGPU_GEMM_F32, lda, rows, b, ldb, n, k, sums, ld, first);
	else if (type == VGPU_GEMM_F16)
		dots_type(a, VGPU_GEMM_F16, lda, rows, b, ldb, n, k, sums, ld, first);
	else
		dots_type(a, VGPU_GEMM_BF16, lda, rows, b, ldb, n, k, sums, ld, first);
}

/* 24 rows by 8 columns of doubles (gemm_double.c) */
AVX512 void gemm_double_avx512(uint32_t k, const double *a, const double *b, double *out)
{
	__m512d t[8][3];
	uint32_t l, j;

#pragma GCC unroll 8
	for (j = 0; j < 8; j++)
		t[j][0] = t[j][1] = t[j][2] = _mm512_setzero_pd();
	for (l = 0; l < k; l++, a += 24, b += 8) {
		__m512d a0 = _mm512_loadu_pd(a), a1 = _mm512_loadu_pd(a + 8), a2 = _mm512_loadu_pd(a + 16);

#pragma GCC unroll 8
		for (j = 0; j < 8; j++) {
			__m512d x = _mm512_set1_pd(b[j]);

			t[j][0] = _mm512_fmadd_pd(a0, x, t[j][0]);
			t[j][1] = _mm512_fmadd_pd(a1, x, t[j][1]);
			t[j][2] = _mm512_fmadd_pd(a2, x, t[j][2]);
		}
	}
#pragma GCC unroll 8
	for (j = 0; j < 8; j++) {
		_mm512_storeu_pd(out + 24 * j, t[j][0]);
		_mm512_storeu_pd(out + 24 * j + 8, t[j][1]);
		_mm512_storeu_pd(out + 24 * j + 16, t[j][2]);
	}
}

const struct gemm_isa gemm_isa_avx512 = { "avx512", MR, NR, kernel, load, store, pack, dots };
