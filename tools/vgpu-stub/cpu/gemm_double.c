/* SPDX-License-Identifier: MIT */
/*
 * Tiles of products of doubles, and triangular solves. Called by gemm.c.
 *
 * Products go by packed panels, as those of floats do (gemm_isa.c says why); what a block of the kernel makes is scaled and added to c at once, a pass of
 * GEMM_DEPTH at a time. Solves take all vectors of a tile together: each number of the triangle is read once for all of them.
 */
#include <immintrin.h>
#include <string.h>

#include "cpu.h"
#include "gemm.h"

#define ROWS 96                 /* of a, packed at a time: a multiple of each kernel's */
#define MOST (24 * 8)           /* of a kernel's block */

/* out[nr columns of mr] = a * b, of packed panels */
struct kernel { u32 mr, nr; void (*run)(u32 k, const double *a, const double *b, double *out); };

__attribute__((target("avx2,fma"))) static void narrow(u32 k, const double *a, const double *b, double *out)
{
	__m256d t[6][2];
	u32 l, j;

#pragma GCC unroll 6
	for (j = 0; j < 6; j++)
		t[j][0] = t[j][1] = _mm256_setzero_pd();
	for (l = 0; l < k; l++, a += 8, b += 6) {
		__m256d a0 = _mm256_loadu_pd(a), a1 = _mm256_loadu_pd(a + 4);

#pragma GCC unroll 6
		for (j = 0; j < 6; j++) {
			__m256d x = _mm256_broadcast_sd(b + j);

			t[j][0] = _mm256_fmadd_pd(a0, x, t[j][0]);
			t[j][1] = _mm256_fmadd_pd(a1, x, t[j][1]);
		}
	}
#pragma GCC unroll 6
	for (j = 0; j < 6; j++) {
		_mm256_storeu_pd(out + 8 * j, t[j][0]);
		_mm256_storeu_pd(out + 8 * j + 4, t[j][1]);
	}
}

static void plain(u32 k, const double *a, const double *b, double *out)
{
	double t[4][4] = { { 0 } };
	u32 l, i, j;

	for (l = 0; l < k; l++, a += 4, b += 4)
		for (j = 0; j < 4; j++)
			for (i = 0; i < 4; i++)
				t[j][i] += a[i] * b[j];
	memcpy(out, t, sizeof(t));
}

static const struct kernel *kernel(void)
{
	static const struct kernel all[] = { { 24, 8, gemm_double_avx512 }, { 8, 6, narrow }, { 4, 4, plain } };
	const char *name = gemm_isa_get()->name;

	return &all[!strcmp(name, "avx512") ? 0 : !strcmp(name, "avx2") ? 1 : 2];
}

/* Rows of an operand into panels, zeros behind its edge. along: element (r, l) is at src + r + l * ld, else at src + l + r * ld. */
static void pack(double *to, u32 panel, const double *src, u64 ld, u32 rows, u32 k, bool along)
{
	u32 r, l, i;

	for (r = 0; r < rows; r += panel, to += (size_t)panel * k) {
		u32 n = rows - r < panel ? rows - r : panel;

		if (n < panel)
			memset(to, 0, (size_t)panel * k * sizeof(*to));
		if (along)
			for (l = 0; l < k; l++)
				memcpy(to + (size_t)l * panel, src + r + l * ld, n * sizeof(*to));
		else
			for (i = 0; i < n; i++)
				for (l = 0; l < k; l++)
					to[(size_t)l * panel + i] = src[l + (u64)(r + i) * ld];
	}
}

/* c = (first ? beta * c : c) + alpha * block; what beta is 0 for is not read */
static void put(const struct gemm_part *t, double *c, u64 ldc, const double *block, const struct kernel *g, u32 m, u32 n, bool first)
{
	u32 i, j;

	for (j = 0; j < n && j < g->nr; j++, c += ldc, block += g->mr)
		for (i = 0; i < m && i < g->mr; i++)
			c[i] = t->alpha * block[i] + (!first ? c[i] : t->beta != 0.0 ? t->beta * c[i] : 0.0);
}

void gemm_double_tile(struct tstate *ts, const struct gemm_job *job, const struct gemm_part *t)
{
	const struct vgpu_gemm *p = &job->p;
	const double *a = (const double *)(const void *)t->a, *b = (const double *)(const void *)t->b;
	double *c = (double *)(void *)t->c + t->i0 + (u64)t->j0 * p->ldc, block[MOST];
	const struct kernel *g = kernel();
	double *pa = gemm_scratch(ts, (size_t)(ROWS + GEMM_WIDE + 64) * GEMM_DEPTH * sizeof(*pa)), *pb = pa + ROWS * GEMM_DEPTH;
	u32 l, h, i, j;

	memset(block, 0, sizeof(block));
	for (j = 0; !t->k && j < t->n; j += g->nr)
		for (i = 0; i < t->m; i += g->mr)
			put(t, c + i + (u64)j * p->ldc, p->ldc, block, g, t->m - i, t->n - j, true);
	for (l = 0; l < t->k; l += GEMM_DEPTH) {
		u32 k = t->k - l < GEMM_DEPTH ? t->k - l : GEMM_DEPTH;

		pack(pb, g->nr, b + (p->trans_b ? t->j0 + (u64)l * p->ldb : l + (u64)t->j0 * p->ldb), p->ldb, t->n, k, p->trans_b);
		for (h = 0; h < t->m; h += ROWS) {
			u32 rows = t->m - h < ROWS ? t->m - h : ROWS, at = t->i0 + h;

			if (__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
				return;         /* the context has ended: nobody looks at c again */
			pack(pa, g->mr, a + (p->trans_a ? l + (u64)at * p->lda : at + (u64)l * p->lda), p->lda, rows, k, !p->trans_a);
			for (i = 0; i < rows; i += g->mr)
				for (j = 0; j < t->n; j += g->nr) {
					g->run(k, pa + (size_t)i * k, pb + (size_t)j * k, block);
					put(t, c + h + i + (u64)j * p->ldc, p->ldc, block, g, rows - i, t->n - j, !l);
				}
		}
	}
}

/* ---- triangular solves ------------------------------------------------------------------------------ */

/* n numbers of a matrix, step apart. */
static void numbers(double *to, const char *m, u64 at, u64 step, u32 n, u32 type)
{
	u32 i;
	float f;

	if (type == VGPU_GEMM_F64)
		for (i = 0; i < n; i++)
			to[i] = ((const double *)(const void *)m)[at + i * step];
	else if (type == VGPU_GEMM_F32)
		for (i = 0; i < n; i++)
			to[i] = (double)((const float *)(const void *)m)[at + i * step];
	else
		for (i = 0; i < n; i++) {
			gemm_isa_get()->load(&f, m + (at + i * step) * 2, 1, type);
			to[i] = (double)f;
		}
}

/* x[0..n] -= a row of the triangle times the vectors that are known; n: how many vectors, side by side in v */
static inline __attribute__((always_inline)) void less(double *x, const double *row, const double *v, u32 n, u32 from, u32 to)
{
	u32 q, i;

	for (q = from; q < to; q++)
		for (i = 0; i < n; i++)
			x[i] -= row[q] * v[(size_t)q * n + i];
}

__attribute__((target("avx2,fma"))) static void less_avx2(double *x, const double *row, const double *v, u32 n, u32 from, u32 to)
{
	u32 i, q;

	for (i = 0; i + 16 <= n; i += 16) {
		__m256d s[4];
		u32 j;

#pragma GCC unroll 4
		for (j = 0; j < 4; j++)
			s[j] = _mm256_loadu_pd(x + i + 4 * j);
		for (q = from; q < to; q++) {
			__m256d a = _mm256_broadcast_sd(row + q);

#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
				s[j] = _mm256_fnmadd_pd(a, _mm256_loadu_pd(v + (size_t)q * n + i + 4 * j), s[j]);
		}
#pragma GCC unroll 4
		for (j = 0; j < 4; j++)
			_mm256_storeu_pd(x + i + 4 * j, s[j]);
	}
	for (q = from; i < n && q < to; q++)
		for (u32 k = i; k < n; k++)
			x[k] -= row[q] * v[(size_t)q * n + k];
}

/*
 * Substitution; a vector is a column of c on the left side, a row on the right side. Each mirroring,
 * by transposition or by side, swaps the strides of a and makes upper of lower. Sums are kept in double.
 */
void gemm_solve_tile(struct tstate *ts, const struct gemm_solve *s)
{
	u32 order = s->order, n = s->n, i, r, q, from, to;
	u64 si = s->mirrored ? s->lda : 1, sq = s->mirrored ? 1 : s->lda, step = s->right ? s->ldc : 1, next = s->right ? 1 : s->ldc;
	double *v = gemm_scratch(ts, ((size_t)order * n + order) * sizeof(*v)), *row = v + (size_t)order * n, diagonal;
	bool fast = kernel()->run != plain;

	/* vectors side by side: v[q * n + i] is number q of vector i */
	for (q = 0; q < order; q++) {
		numbers(v + (size_t)q * n, s->c, (u64)q * step, next, n, s->type_c);
		for (i = 0; i < n; i++)
			v[(size_t)q * n + i] *= s->alpha;
	}
	for (q = 0; q < order; q++) {
		double *x;

		r = s->forward ? q : order - 1 - q;
		from = s->forward ? 0 : r + 1;
		to = s->forward ? r : order;
		x = v + (size_t)r * n;
		numbers(row + from, s->a, (u64)r * si + (u64)from * sq, sq, to - from, s->type_a);
		if (fast)
			less_avx2(x, row, v, n, from, to);
		else
			less(x, row, v, n, from, to);
		if (!s->unit) {
			numbers(&diagonal, s->a, (u64)r * si + (u64)r * sq, 1, 1, s->type_a);
			for (i = 0; i < n; i++)
				x[i] /= diagonal;
		}
		if (q % 64 == 0 && __atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
			return;
	}
	for (r = 0; r < order; r++)
		for (i = 0; i < n; i++) {
			u64 at = (u64)r * step + i * next;
			float f = (float)v[(size_t)r * n + i];

			if (s->type_c == VGPU_GEMM_F64)
				((double *)(void *)s->c)[at] = v[(size_t)r * n + i];
			else
				gemm_isa_get()->store(s->c + at * vgpu_gemm_bytes(s->type_c), &f, 1, s->type_c);
		}
}
