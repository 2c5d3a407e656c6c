/* SPDX-License-Identifier: MIT */
/*
 * The one argument of every kernel of cuBLAS's levels and small factorisations (level1.cu, level2.cu, level3.cu, factor.cu): both sides
 * include it. Who uses which field: the kernel's own comment.
 */
#ifndef LEVELS_H
#define LEVELS_H

#define LEVELS_THREADS 256
#define FACTOR_THREADS 64

/* Types of a kernel, the last letter of its name: s d c z h b; and c8, pairs of signed bytes. Of a factor: its own. */
enum { TYPE_S, TYPE_D, TYPE_C, TYPE_Z, TYPE_H, TYPE_B, TYPES };

/* What is to be known of matrix a. */
enum {
	LV_TRANS = 1, LV_CONJ = 2,              /* op(): (j, i) for (i, j); and its conjugate */
	LV_UPPER = 4, LV_UNIT = 8,              /* which triangle is stored; ones on the diagonal, which is not read */
	LV_PACKED = 16, LV_BAND = 32,           /* how it is stored: else by columns, lda apart */
	LV_SYM = 64, LV_HERM = 128, LV_TRI = 256, /* what the other triangle is: the same, its conjugate, zeros */
	LV_A_AT = 512, LV_B_AT = 1024, LV_C_AT = 2048, LV_X_AT = 4096, LV_Y_AT = 8192, /* arrays of pointers, one for each of a batch */
	LV_CONJ_Y = 1 << 14, LV_TWO = 1 << 15,  /* rank updates: of y's conjugate; the second product too */
	LV_FINISH = 1 << 16,                    /* reductions: part has n partial results */
	LV_LONG = 1 << 17,                      /* an index has 64 bits */
	LV_MIN = 1 << 18,                       /* the least, not the greatest */
	LV_RIGHT = 1 << 19,
	LV_NO_PIVOT = 1 << 20,
	LV_TRANS_B = 1 << 21, LV_CONJ_B = 1 << 22,
};

/* Vectors: element i is at x + i incx, or from the end where incx is below 0. One of a batch to the next: sa, sb ... elements. */
struct levels_call {
	unsigned long long a, b, c, x, y, out, part;
	unsigned long long alpha_at, beta_at;   /* where factors are in device memory, or 0 */
	double alpha[2], beta[2];
	long long m, n, k, lda, ldb, ldc, incx, incy, count;
	long long sa, sb, sc, sx, sy, sout;
	int kl, ku;
	unsigned int flags;
	unsigned int scalar;                    /* type of factors */
};
#endif
