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
	u32 m = GEMM_TILE / g->mr * g->mr, n = GEMM_WIDE / g->nr * g->nr;

	if (j->op == VGPU_OP_TRSM) {
		j->tile_m = 1;
		j->tile_n = solve_vectors;
		j->tiles_m = 1;
		j->tiles_n = ((j->p.right ? j->p.m : j->p.n) + solve_vectors - 1) / solve_vectors;
		return count(j);
	}
	/* smaller tiles until every worker has some; rows go first, since packing b again costs least */
	if (m > up(j->p.m, g->mr))
		m = up(j->p.m, g->mr);
	if (n > up(j->p.n, g->nr))
		n = up(j->p.n, g->nr);
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
	if (type == VGPU_GEMM_I32)
		return (double)*(volatile const int32_t *)at;
	gemm_isa_get()->load(&f, (const void *)at, 1, type);
	return (double)f;
}

/* Room that the thread keeps; a fault in the middle of a tile loses nothing. */
void *gemm_scratch(struct tstate *ts, size_t bytes)
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

/* Where the sums of a tile are: in the scratch, or in c itself when nothing remains to be done to them. */
struct sums {
	float *at;
	u32 ld;
	bool direct, add;               /* direct; and c's old values count (beta is 1) */
};

/* One block of the kernel that reaches over the tile's edge: by way of a whole block. */
static void edge(const struct gemm_isa *g, u32 k, const float *a, const float *b, const struct sums *s, u32 i, u32 j, u32 m, u32 n,
		 bool first)
{
	float block[GEMM_BLOCK];

	g->kernel(k, a, b, block, g->mr, true);
	for (u32 y = 0; y < g->nr && j + y < n; y++)
		for (u32 x = 0; x < g->mr && i + x < m; x++) {
			float *to = s->at + i + x + (size_t)(j + y) * s->ld;

			*to = (first ? 0 : *to) + block[y * g->mr + x];
		}
}

static void many_columns(struct tstate *ts, const struct gemm_isa *g, const struct vgpu_gemm *p, const struct gemm_part *t,
			 const struct sums *s, float *room)
{
	u64 ea = vgpu_gemm_bytes(p->type_a), eb = vgpu_gemm_bytes(p->type_b);
	float *pa = room, *pb = pa + GEMM_ROWS * GEMM_DEPTH;
	u32 h, i, j, l;

	for (l = 0; l < t->k; l += GEMM_DEPTH) {
		u32 k = t->k - l < GEMM_DEPTH ? t->k - l : GEMM_DEPTH;
		bool first = !l && !s->add;

		g->pack(pb, g->nr, t->b + (p->trans_b ? t->j0 + (u64)l * p->ldb : l + (u64)t->j0 * p->ldb) * eb, p->type_b,
			p->ldb, t->n, k, p->trans_b);
		for (h = 0; h < t->m; h += GEMM_ROWS) {
			u32 rows = t->m - h < GEMM_ROWS ? t->m - h : GEMM_ROWS, at = t->i0 + h;

			if (__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
				return;         /* the context has ended: nobody looks at c again */
			g->pack(pa, g->mr, t->a + (p->trans_a ? l + (u64)at * p->lda : at + (u64)l * p->lda) * ea, p->type_a,
				p->lda, rows, k, !p->trans_a);
			for (i = 0; i < rows; i += g->mr)
				for (j = 0; j < t->n; j += g->nr) {
					const float *a = pa + (size_t)i * k, *b = pb + (size_t)j * k;

					if (i + g->mr <= rows && j + g->nr <= t->n)
						g->kernel(k, a, b, s->at + h + i + (size_t)j * s->ld, s->ld, first);
					else
						edge(g, k, a, b, s, h + i, j, h + rows, t->n, first);
				}
		}
	}
}

static void few_columns(struct tstate *ts, const struct gemm_isa *g, const struct vgpu_gemm *p, const struct gemm_part *t,
			const struct sums *s, float *b)
{
	u64 ea = vgpu_gemm_bytes(p->type_a), eb = vgpu_gemm_bytes(p->type_b);

	for (u32 l = 0; l < t->k; l += GEMM_FEW_DEPTH) {
		u32 k = t->k - l < GEMM_FEW_DEPTH ? t->k - l : GEMM_FEW_DEPTH;

		for (u32 j = 0; j < t->n; j++)
			g->load(b + (size_t)j * GEMM_FEW_DEPTH, t->b + (l + (u64)(t->j0 + j) * p->ldb) * eb, k, p->type_b);
		if (__atomic_load_n(&ts->e->sticky, __ATOMIC_RELAXED))
			return;
		g->dots(t->a + (l + (u64)t->i0 * p->lda) * ea, p->type_a, p->lda, t->m, b, GEMM_FEW_DEPTH, t->n, k, s->at, s->ld,
			!l && !s->add);
	}
}

static void tile_f32(struct tstate *ts, const struct gemm_job *job, const struct gemm_part *t)
{
	const struct vgpu_gemm *p = &job->p;
	const struct gemm_isa *g = gemm_isa_get();
	bool few = g->dots && t->n <= GEMM_FEW && p->trans_a && !p->trans_b;
	size_t packed = few ? (size_t)GEMM_FEW * GEMM_FEW_DEPTH : (size_t)(GEMM_ROWS + GEMM_WIDE + 64) * GEMM_DEPTH;
	struct sums s = { .ld = up(t->m, g->mr) };
	float *room;

	s.direct = p->type_c == VGPU_GEMM_F32 && t->k && t->alpha == 1 && (t->beta == 0 || t->beta == 1);
	s.add = s.direct && t->beta == 1;
	room = gemm_scratch(ts, (packed + (s.direct ? 0 : (size_t)s.ld * t->n)) * sizeof(float));
	s.at = room + packed;
	if (s.direct) {
		s.at = (float *)(void *)t->c + t->i0 + (u64)t->j0 * p->ldc;
		s.ld = p->ldc;
	}
	if (!t->k)
		memset(s.at, 0, (size_t)s.ld * t->n * sizeof(float));
	else if (few)
		few_columns(ts, g, p, t, &s, room);
	else
		many_columns(ts, g, p, t, &s, room);
	if (s.direct)
		return;
	for (u32 j = 0; j < t->n; j++)
		finish(g, t->c + (t->i0 + (u64)(t->j0 + j) * p->ldc) * vgpu_gemm_bytes(p->type_c), s.at + (size_t)j * s.ld, t->m,
		       p->type_c, (float)t->alpha, (float)t->beta);
}

static void product(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	const struct vgpu_gemm *p = &j->p;
	u64 i = tile / ((u64)j->tiles_m * j->tiles_n);
	struct gemm_part t = { .alpha = scalar(ts, p->alpha_at, p->alpha, p->type_scalar),
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
	if (p->type_a == VGPU_GEMM_I8)
		gemm_bytes_tile(ts, j, &t);
	else if (p->type_c == VGPU_GEMM_F64)
		gemm_double_tile(ts, j, &t);
	else
		tile_f32(ts, j, &t);
}

/* ---- triangular solves ------------------------------------------------------------------------------ */

static void solve(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	const struct vgpu_gemm *p = &j->p;
	u32 order = p->right ? p->n : p->m, vectors = p->right ? p->m : p->n, first = (u32)(tile % j->tiles_n) * j->tile_n;
	u64 i = tile / j->tiles_n;
	struct gemm_solve s = { .order = order, .n = vectors - first < j->tile_n ? vectors - first : j->tile_n, .lda = p->lda, .ldc = p->ldc,
		.type_a = p->type_a, .type_c = p->type_c, .right = p->right, .unit = p->unit, .mirrored = p->trans_a ^ p->right };

	s.forward = !(p->upper ^ s.mirrored);
	s.alpha = scalar(ts, p->alpha_at, p->alpha, p->type_scalar);
	s.a = matrix(ts, j, j->b.a, p->stride_a, i, order, order, p->lda, p->type_a, "read of a triangular matrix");
	s.c = matrix(ts, j, j->b.c, p->stride_c, i, p->m, p->n, p->ldc, p->type_c, "write of a triangular solve");
	s.c += (u64)first * (p->right ? 1 : p->ldc) * vgpu_gemm_bytes(p->type_c);
	gemm_solve_tile(ts, &s);
}

void gemm_tile(struct tstate *ts, const struct gemm_job *j, u64 tile)
{
	if (j->op == VGPU_OP_GEMM)
		product(ts, j, tile);
	else
		solve(ts, j, tile);
}
