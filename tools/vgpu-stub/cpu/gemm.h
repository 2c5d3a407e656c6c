/* SPDX-License-Identifier: MIT */
/*
 * Matrix products as native tiles: what gemm.c (tiles), gemm_isa.c (inner loops) and rt.c (workers) share.
 *
 * Invariant: a job is the engine's private copy, checked by vgpu_check_gemm; the addresses in a pointer
 * array, and everything the addresses point to, are the client's and may fault at any access.
 */
#ifndef VGPU_CPU_GEMM_H
#define VGPU_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../fw-protocol/vgpu_cmd.h"

struct engine;
struct tstate;

struct gemm_job {
	uint32_t op;                    /* VGPU_OP_GEMM or VGPU_OP_TRSM */
	uint32_t tile_m, tile_n;        /* a tile of c; TRSM: tile_n vectors */
	uint32_t tiles_m, tiles_n;      /* of one matrix */
	struct vgpu_body_gemm b;
	struct vgpu_gemm p;
};

/*
 * Largest tile (rows, columns) and depth of one pass. What is packed of b stays in a core's second-level cache for the
 * whole pass; of a GEMM_ROWS rows are packed at a time, and one panel of them stays in the first-level cache
 * while b passes by.
 */
#define GEMM_TILE 1024
#define GEMM_WIDE 384
#define GEMM_ROWS 256
#define GEMM_DEPTH 256
#define GEMM_BLOCK (32 * 12)            /* mr x nr, at most */
/* Up to so many columns, dot products beat packing: each element of a is used too rarely. */
#define GEMM_FEW 16
#define GEMM_FEW_DEPTH 2048

/*
 * The inner loops of one instruction set. Packed panels: `mr` rows of a (or `nr` columns of b) for each step of
 * k, zeroes where the matrix ends, so that the kernel knows no edges.
 */
struct gemm_isa {
	const char *name;
	uint32_t mr, nr;
	/* sums[mr x nr, column-major, ld] = (first ? 0 : sums) + a * b */
	void (*kernel)(uint32_t k, const float *a, const float *b, float *sums, uint32_t ld, bool first);
	/* n elements of a type to floats and back (round to nearest even) */
	void (*load)(float *dst, const void *src, uint32_t n, uint32_t type);
	void (*store)(void *dst, const float *src, uint32_t n, uint32_t type);
	/*
	 * rows x k elements into panels of `panel` rows. along: element (r, l) is at src + r + l * ld, else at
	 * src + l + r * ld. One panel more than needed may be written.
	 */
	void (*pack)(float *dst, uint32_t panel, const void *src, uint32_t type, uint64_t ld, uint32_t rows,
		     uint32_t k, bool along);
	/*
	 * sums[i + j * ld] = (first ? 0 : sums) + row i of a (k elements in order, rows lda apart) times column j of b (floats,
	 * ldb apart). NULL: there is none.
	 */
	void (*dots)(const void *a, uint32_t type, uint64_t lda, uint32_t rows, const float *b, uint32_t ldb, uint32_t n,
		     uint32_t k, float *sums, uint32_t ld, bool first);
};
extern const struct gemm_isa gemm_isa_avx512;

const struct gemm_isa *gemm_isa_get(void);
/* All that this processor has, best first; NULL behind the last. For tests. */
const struct gemm_isa *gemm_isa_list(unsigned i);

/* A tile's part of one product. */
struct gemm_part {
	const char *a, *b;      /* of the whole matrices; not set where k is 0 */
	char *c;
	uint32_t i0, j0, m, n;  /* the tile's part of c */
	uint32_t k;             /* 0 also where alpha is: a and b are not read */
	double alpha, beta;
};
/* gemm_double.c: a tile of a product of doubles; one of a triangular solve: n vectors from c on */
struct gemm_solve {
	const char *a;
	char *c;
	uint32_t order, n, type_a, type_c;
	uint64_t lda, ldc;
	double alpha;
	bool right, unit, mirrored, forward;    /* mirrored: rows of the triangle are a's rows; forward: from its first row on */
};
void gemm_double_avx512(uint32_t k, const double *a, const double *b, double *out);
void gemm_double_tile(struct tstate *ts, const struct gemm_job *job, const struct gemm_part *t);
void gemm_solve_tile(struct tstate *ts, const struct gemm_solve *s);
/* gemm_bytes.c: a tile of a product of bytes */
void gemm_bytes_tile(struct tstate *ts, const struct gemm_job *job, const struct gemm_part *t);
/* Of the thread, at least so many bytes, aligned for vectors; the next call takes it back. */
void *gemm_scratch(struct tstate *ts, size_t bytes);

/* Splits the job for `workers` threads; returns the number of tiles, 0 when it has no name. */
uint64_t gemm_plan(struct gemm_job *j, unsigned workers);
/* A rough count of multiply-adds; saturates. */
uint64_t gemm_work(const struct gemm_job *j);
/* One tile. Faults leave by fault_raise() or the signal handler. */
void gemm_tile(struct tstate *ts, const struct gemm_job *j, uint64_t tile);

#endif
