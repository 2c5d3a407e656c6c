/* SPDX-License-Identifier: MIT */
/*
 * Matrix products and triangular solves: tiles of one job, run by the worker threads (rt.c) like the blocks of
 * a grid. A tile reads its operands itself, so that no tile waits for another.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "gemm.h"

static const u32 solve_vectors = 32;    /* right-hand sides of one TRSM tile */

u64 gemm_work(const struct gemm_job *j)
{
	u64 w, order = j->op == VGPU_OP_GEMM ? j->p.k : j->p.right ? j->p.n : j->p.m;

	if (__builtin_mul_overflow((u64)j->p.m * j->p.n, order + 1, &w) ||
	    __builtin_mul_overflow(w, (u64)j->b.batch, &w))
		return ~0ull;
	return w;
}

/* Tiles of the whole batch; 0: more than can be counted. */
static u64 count(const struct gemm_job *j)
{
	u64 n;

	return __builtin_mul_overflow((u64)j->tiles_m * j->tiles_n, (u64)j->b.batch, &n) ? 0 : n;
}

static u32 up(u32 n, u32 to) { return (n + to - 1) / to * to; }

u64 gemm_plan(struct gemm_job *j, unsigned workers)
{
	const struct gemm_isa *g = gemm_isa_get();
	u32 m = GEMM_TILE / g->mr * g->mr, n = GEMM_TILE / g->nr * g->nr;

	if (j->op == VGPU_OP_TRSM) {
		j->tile_m = 1;
		j->tile_n = solve_vectors;
		j->tiles_m = 1;
		j->tiles_n = ((j->p.right ? j->p.m : j->p.n) + solve_vectors - 1) / solve_vectors;
		return count(j);
	}
	/* smaller tiles until every worker has some; rows go first, since packing b again costs least */
	while (m > up(j->p.m, g->mr))
		m -= g->mr;
	while (n > up(j->p.n, g->nr))
		n -= g->nr;
	for (;;) {
		j->tiles_m = (u32)(((u64)j->p.m + m - 1) / m);
		j->tiles_n = (u32)(((u64)j->p.n + n - 1) / n);
		if ((u64)j->tiles_m * j->tiles_n >= 2ull * workers || j->b.batch >= 2ull * workers)
			break;
		if (m >= n && m >= 4 * g->mr)
			m = up(m / 2, g->mr);
		else if (n >= 8 * g->nr)
			n = up(n / 2, g->nr);
		else if (m >= 4 * g->mr)
			m = up(m / 2, g->mr);
		else
			break;
	}
	j->tile_m = m;
	j->tile_n = n;
	return count(j);
}

/* ---- what the client named ------------------------------------------------------------------- */

static void reach(struct tstate *ts, u64 addr, u64 bytes, u64 align, const char *what)
{
	const struct engine_env *env = &ts->e->env;

	if (addr - env->span_base >= env->span_bytes || bytes > env->span_bytes - (addr - env->span_base))
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, 0, addr, what);
	if (addr % align)
		fault_raise(VGPU_ST_MISALIGNED, 0, addr, what);
}

/* Matrix i of an operand. The check knows strided ones; an address from an array is seen here first. */
static char *matrix(struct tstate *ts, const struct gemm_job *j, u64 base, u64 stride, u64 i, u32 rows, u32 cols,
		    u32 ld, u32 type, const char *what)
{
	u64 elem = vgpu_gemm_bytes(type), addr = base + i * stride * elem;

	if (j->b.flags & VGPU_GEMM_POINTERS)
		addr = *(volatile const u64 *)(base + i * 8);
	reach(ts, addr, ((u64)(cols - 1) * ld + rows) * elem, elem, what);
	return (char *)addr;
}

static double scalar(struct tstate *ts, u64 at, double value, u32 type)
{
	u64 elem = vgpu_gemm_bytes(type);
	float f;

	if (!at)
		return value;
	reach(ts, at, elem, elem, "read of a matrix product's factor");
	if (type == VGPU_GEMM_F64)
		return *(volatile const double *)at;
	gemm_isa_get()->load(&f, (const void *)at, 1, type);
	return (double)f;
}

/* Room that the thread keeps; a fault in the middle of a tile loses nothing. */
static void *scratch(struct tstate *ts, size_t bytes)
{
	if (ts->scratch_bytes < bytes) {
		free(ts->scratch);
		ts->scratch_bytes = 0;
		ts->scratch = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
		if (!ts->scratch)
			fault_raise(VGPU_ST_OUT_OF_MEMORY, 0, 0, "memory for a tile of a matrix product");
		ts->scratch_bytes = bytes;
	}
	return ts->scratch;
}

/* ---- products ----------------------------------------------------------------------------------- */

/* c = alpha * sums + beta * c, one column of the tile. */
static void finish(const struct gemm_isa *g, char *c, const float *sums, u32 n, u32 type, float alpha, float beta)
{
	float v[GEMM_TILE], old[GEMM_TILE];
	u32 i;

	if (beta != 0.0f) {
		g->load(old, c, n, type);
		for (i = 0; i < n; i++)
			v[i] = alpha * sums[i] + beta * old[i];
	} else {
		for (i = 0; i < n; i++)
			v[i] = alpha * sums[i];
	}
	g->store(c, v, n, type);
}

struct tile {
	const char *a, *b;      /* of the whole matrices; not set where k is 0 */
	char *c;
	u32 i0, j0, m, n;       /* the tile's part of c */
	u32 k;                  /* 0 also where alpha is: a and b are not read */
	double alpha, beta;
};

/* Doubles are rare: one column at a time, sums in a row of the scratch. */
static void tile_f64(struct tstate *ts, const struct gemm_job *job, const struct tile *t)
{
	const struct vgpu_gemm *p = &job->p;
	const double *a = (const double *)(const void *)t->a, *b = (const double *)(const void *)t->b;
	double *sums = scratch(ts, GEMM_TILE * sizeof(*sums));
	u32 i, j, l;

	for (j = t->j0; j < t->j0 + t->n; j++) {
		double *c = (double *)(void *)t->c + (u64)j * p->ldc + t->i0;

		memset(sums, 0, t->m * sizeof(*sums));
		for (l = 0; l < t->k; l++) {
			double x = p->trans_b ? b[j + (u64)l * p->ldb] : b[l + (u64)j * p->ldb];

			if (p->trans_a)
				for (i = 0; i < t->m; i++)
					sums[i] += x * a[l + (u64)(t->i0 + i) * p->lda];
			else
				for (i = 0; i < t->m; i++)
					sums[i] += x * a[t->i0 + i + (u64)l * p->lda];
		}
		for (i = 0; i < t->m; i++)
			c[i] = t->alpha * sums[i] + (t->beta != 0.0 ? t->beta * c[i] : 0.0);
	}
}

static void tile_f32(struct tstate *ts, const struct gemm_job *job, const struct tile *t)
{
	const struct vgpu_gemm *p = &job->p;
	const struct gemm_isa *g = gemm_isa_get();
	u64 ea = vgpu_gemm_bytes(p->type_a), eb = vgpu_gemm_bytes(p->type_b), ec = vgpu_gemm_bytes(p->type_c);
	u32 ld = up(t->m, g->mr), wide = up(t->n, g->nr), i, j, l;
	size_t na = (size_t)ld * GEMM_DEPTH, nb = (size_t)(wide + 16) * GEMM_DEPTH;
	float *pa = scratch(ts, (na + nb + (size_t)ld * wide) * sizeof(float)), *pb = pa + na, *sums = pb + nb;

	if (!t->k)
		memset(sums, 0, (size_t)ld * wide * sizeof(*sums));
	for (l = 0; l < t->k; l += GEMM_DEPTH) {
		u32 k = t->k - l < GEMM_DEPTH ? t->k - l : GEMM_DEPTH;

		if (__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
			return;         /* the context has ended: nobody looks at c again */
		g->pack(pa, g->mr, t->a + (p->trans_a ? l + (u64)t->i0 * p->lda : t->i0 + (u64)l * p->lda) * ea, p->type_a,
			p->lda, t->m, k, !p->trans_a);
		g->pack(pb, g->nr, t->b + (p->trans_b ? t->j0 + (u64)l * p->ldb : l + (u64)t->j0 * p->ldb) * eb, p->type_b,
			p->ldb, t->n, k, p->trans_b);
		/* a panel of a stays in the first-level cache while the panels of b pass by */
		for (i = 0; i < ld; i += g->mr)
			for (j = 0; j < wide; j += g->nr)
				g->kernel(k, pa + (size_t)i * k, pb + (size_t)j * k, sums + i + (size_t)j * ld, ld, !l);
	}
	for (j = 0; j < t->n; j++)
		finish(g, t->c + (t->i0 + (u64)(t->j0 + j) * p->ldc) * ec, sums + (size_t)j * ld, t->m, p->type_c,
		       (float)t->alpha, (float)t->beta);
}

static void product(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	const struct vgpu_gemm *p = &j->p;
	u64 i = tile / ((u64)j->tiles_m * j->tiles_n);
	struct tile t = { .alpha = scalar(ts, p->alpha_at, p->alpha, p->type_scalar),
			  .beta = scalar(ts, p->beta_at, p->beta, p->type_scalar) };

	tile %= (u64)j->tiles_m * j->tiles_n;
	t.i0 = (u32)(tile % j->tiles_m) * j->tile_m;
	t.j0 = (u32)(tile / j->tiles_m) * j->tile_n;
	t.m = p->m - t.i0 < j->tile_m ? p->m - t.i0 : j->tile_m;
	t.n = p->n - t.j0 < j->tile_n ? p->n - t.j0 : j->tile_n;
	t.k = t.alpha != 0.0 ? p->k : 0;
	if (t.k) {
		t.a = matrix(ts, j, j->b.a, p->stride_a, i, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda,
			     p->type_a, "read of a matrix product's first operand");
		t.b = matrix(ts, j, j->b.b, p->stride_b, i, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, p->ldb,
			     p->type_b, "read of a matrix product's second operand");
	}
	t.c = matrix(ts, j, j->b.c, p->stride_c, i, p->m, p->n, p->ldc, p->type_c, "write of a matrix product");
	if (p->type_c == VGPU_GEMM_F64)
		tile_f64(ts, j, &t);
	else
		tile_f32(ts, j, &t);
}

/* ---- triangular solves ------------------------------------------------------------------------------ */

static double element(const char *m, u64 at, u32 type)
{
	float f;

	if (type == VGPU_GEMM_F64)
		return ((const double *)(const void *)m)[at];
	if (type == VGPU_GEMM_F32)
		return (double)((const float *)(const void *)m)[at];
	gemm_isa_get()->load(&f, m + at * 2, 1, type);
	return (double)f;
}

/*
 * Substitution, a vector (a column of c on the left side, a row on the right side) at a time. Each mirroring,
 * by transposition or by side, swaps the strides of a and makes upper of lower. Sums are kept in double.
 */
static void solve(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	const struct vgpu_gemm *p = &j->p;
	u32 order = p->right ? p->n : p->m, vectors = p->right ? p->m : p->n, v, r, q;
	u64 i = tile / j->tiles_n, mirrored = p->trans_a ^ p->right;
	u64 si = mirrored ? p->lda : 1, sq = mirrored ? 1 : p->lda;
	bool forward = !(p->upper ^ mirrored);
	double alpha = scalar(ts, p->alpha_at, p->alpha, p->type_scalar);
	double *x = scratch(ts, order * sizeof(*x));
	char *a = matrix(ts, j, j->b.a, p->stride_a, i, order, order, p->lda, p->type_a, "read of a triangular matrix");
	char *c = matrix(ts, j, j->b.c, p->stride_c, i, p->m, p->n, p->ldc, p->type_c, "write of a triangular solve");
	u32 first = (u32)(tile % j->tiles_n) * j->tile_n;
	u32 last = vectors - first < j->tile_n ? vectors : first + j->tile_n;

	for (v = first; v < last; v++) {
		u64 base = p->right ? v : (u64)v * p->ldc, step = p->right ? p->ldc : 1;

		for (u32 s = 0; s < order; s++) {
			u32 from, to;
			double sum;

			r = forward ? s : order - 1 - s;
			from = forward ? 0 : r + 1;
			to = forward ? r : order;
			sum = alpha * element(c, base + r * step, p->type_c);
			for (q = from; q < to; q++)
				sum -= element(a, r * si + q * sq, p->type_a) * x[q];
			x[r] = p->unit ? sum : sum / element(a, r * si + r * sq, p->type_a);
		}
		for (r = 0; r < order; r++) {
			u64 at = base + r * step;
			float f = (float)x[r];

			if (p->type_c == VGPU_GEMM_F64)
				((double *)(void *)c)[at] = x[r];
			else
				gemm_isa_get()->store(c + at * vgpu_gemm_bytes(p->type_c), &f, 1, p->type_c);
		}
		if (__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
			return;
	}
}

void gemm_tile(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	if (j->op == VGPU_OP_GEMM)
		product(ts, j, tile);
	else
		solve(ts, j, tile);
}
