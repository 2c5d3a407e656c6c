/* SPDX-License-Identifier: MIT */
/*
 * Products of signed bytes: a tile of gemm.c whose sums are whole numbers, exact modulo 2^32, in any order. Rows of a and columns of b
 * are laid out in the direction of k first, so that a sum is one dot product in order.
 */
#include <immintrin.h>
#include <string.h>

#include "cpu.h"
#include "gemm.h"

#define DEPTH 1024u             /* of k at a time: a column of b's for each pass stays in the first-level cache */
#define AVX2 __attribute__((target("avx2")))

/* sums[j] += a . b[j], of four columns that lie DEPTH apart; unsigned, so that what overflows wraps. k is a multiple of 32 */
static void dots(const int8_t *a, const int8_t *b, u32 k, u32 sums[4])
{
	for (u32 j = 0; j < 4; j++)
		for (u32 l = 0; l < k; l++)
			sums[j] += (u32)(a[l] * b[j * DEPTH + l]);
}

AVX2 static void dots_avx2(const int8_t *a, const int8_t *b, u32 k, u32 sums[4])
{
	__m256i s[4] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256() };
	u32 lanes[8];

	for (u32 l = 0; l < k; l += 16) {
		__m256i x = _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)(const void *)(a + l)));

		/* a pair of products is at most 2^15: madd cannot saturate */
#pragma GCC unroll 4
		for (u32 j = 0; j < 4; j++)
			s[j] = _mm256_add_epi32(s[j], _mm256_madd_epi16(x, _mm256_cvtepi8_epi16(
				_mm_load_si128((const __m128i *)(const void *)(b + j * DEPTH + l)))));
	}
	for (u32 j = 0; j < 4; j++) {
		_mm256_storeu_si256((__m256i *)(void *)lanes, s[j]);
		for (u32 i = 0; i < 8; i++)
			sums[j] += lanes[i];
	}
}

/* rows x k elements, DEPTH apart, zeroes up to `padded`. along: element (r, l) is at src + r + l * ld, else at src + l + r * ld */
static void lay_out(int8_t *to, const char *src, u64 ld, u32 rows, u32 k, u32 padded, bool along)
{
	for (u32 r = 0; r < rows; r++, to += DEPTH) {
		if (along)
			for (u32 l = 0; l < k; l++)
				to[l] = (int8_t)src[r + l * ld];
		else
			memcpy(to, src + r * ld, k);
		memset(to + k, 0, padded - k);
	}
}

/* A factor of I32, which went through a double; what a client puts there instead is any number. */
static u32 whole(double v)
{
	return v >= -0x1p31 && v < 0x1p31 ? (u32)(s32)v : 0;
}

static void finish(const struct gemm_part *t, const struct vgpu_gemm *p, const u32 *sums)
{
	u32 alpha = whole(t->alpha), beta = whole(t->beta);

	for (u32 j = 0; j < t->n; j++) {
		char *c = t->c + (t->i0 + (u64)(t->j0 + j) * p->ldc) * 4;

		for (u32 i = 0; i < t->m; i++, sums++) {
			if (p->type_c == VGPU_GEMM_I32) {
				u32 *to = (u32 *)(void *)c + i;

				*to = alpha * *sums + (beta ? beta * *to : 0);
			} else {
				float *to = (float *)(void *)c + i;

				*to = (float)t->alpha * (float)(s32)*sums + (t->beta != 0.0 ? (float)t->beta * *to : 0.0f);
			}
		}
	}
}

void gemm_bytes_tile(struct tstate *ts, const struct gemm_job *job, const struct gemm_part *t)
{
	const struct vgpu_gemm *p = &job->p;
	void (*sum)(const int8_t *, const int8_t *, u32, u32 *) = strcmp(gemm_isa_get()->name, "base") ? dots_avx2 : dots;
	u32 wide = (t->n + 3) / 4 * 4;
	int8_t *a = gemm_scratch(ts, DEPTH + (size_t)wide * DEPTH + (size_t)t->m * t->n * sizeof(u32)), *b = a + DEPTH;
	u32 *sums = (u32 *)(void *)(b + (size_t)wide * DEPTH);

	memset(sums, 0, (size_t)t->m * t->n * sizeof(*sums));
	for (u32 l = 0; l < t->k; l += DEPTH) {
		u32 k = t->k - l < DEPTH ? t->k - l : DEPTH, padded = (k + 31) / 32 * 32;

		lay_out(b, t->b + (p->trans_b ? t->j0 + (u64)l * p->ldb : l + (u64)t->j0 * p->ldb), p->ldb, t->n, k, padded, p->trans_b);
		memset(b + (size_t)t->n * DEPTH, 0, (size_t)(wide - t->n) * DEPTH);
		for (u32 i = 0; i < t->m; i++) {
			u32 at = t->i0 + i;

			if (!(i % 64) && __atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
				return;         /* the context has ended: nobody looks at c again */
			lay_out(a, t->a + (p->trans_a ? l + (u64)at * p->lda : at + (u64)l * p->lda), p->lda, 1, k, padded, !p->trans_a);
			for (u32 j = 0; j < wide; j += 4) {
				u32 four[4] = { 0 };

				sum(a, b + (size_t)j * DEPTH, padded, four);
				for (u32 q = 0; q < 4 && j + q < t->n; q++)
					sums[i + (size_t)(j + q) * t->m] += four[q];
			}
		}
	}
	finish(t, p, sums);
}
