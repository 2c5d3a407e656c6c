/* SPDX-License-Identifier: MIT */
/* Included by legacy.c for each type. BY(v) is v as cuBLAS takes it. */
static T CAT(host_, X, )[3][BUF];
static T *CAT(dev_, X, )[3];

static T CAT(value_, X, )(void)
{
#if PARTS == 2
	return (T)(unit() + unit() * I);
#else
	return (T)unit();
#endif
}

/* New arguments and numbers; the first buffer's diagonal, where it is a square or packed matrix, is not small. */
static void CAT(fresh_, X, )(const char *ops)
{
	arguments(ops);
	for (int b = 0; b < 3; b++) {
		for (int i = 0; i < BUF; i++)
			CAT(host_, X, )[b][i] = CAT(value_, X, )() / (b ? 1 : 16);
		if (!b)
			for (int i = 0; i < BUF; i++)
				CAT(host_, X, )[b][i] += ops[0] == '1' || i % (a.lda + 1) == 0;
		if (!CAT(dev_, X, )[b])
			must("Alloc", cublasAlloc(BUF, sizeof(T), (void **)&CAT(dev_, X, )[b]), CUBLAS_STATUS_SUCCESS);
		must("SetVector", cublasSetVector(BUF, sizeof(T), CAT(host_, X, )[b], 1, CAT(dev_, X, )[b], 1), CUBLAS_STATUS_SUCCESS);
	}
}

static void CAT(near_, X, )(const char *what, const R *got, const R *want, int n)
{
	double tol = sizeof(R) == 4 ? 2e-4 : 1e-11;

	for (int i = 0; i < n; i++) {
		checks++;
		if (!(fabs((double)got[i] - (double)want[i]) <= tol * (1 + fabs((double)want[i]))) && failures++ < 20)
			printf("FAIL legacy: %zu bytes, %d parts: %s: number %d is %.9g, not %.9g\n", sizeof(R), PARTS, what, i, (double)got[i], (double)want[i]);
	}
}

static void CAT(same_, X, )(const char *what)
{
	static T back[BUF];

	for (int b = 0; b < 3; b++) {
		must("GetVector", cublasGetVector(BUF, sizeof(T), CAT(dev_, X, )[b], 1, back, 1), CUBLAS_STATUS_SUCCESS);
		CAT(near_, X, )(what, (const R *)back, (const R *)CAT(host_, X, )[b], BUF * PARTS);
	}
}

static void CAT(all_, X, )(void)
{
	FACTORS;

	SAME(axpy, ANY, (a.n, BY(al), dA, a.ix, dB, a.iy), (&a.n, &al, hA, &a.ix, hB, &a.iy));
	SAME(scal, ANY, (a.n, BY(al), dA, abs(a.ix)), (&a.n, &al, hA, (int[]){ abs(a.ix) }));
	SAME(copy, ANY, (a.n, dA, a.ix, dB, a.iy), (&a.n, hA, &a.ix, hB, &a.iy));
	SAME(swap, ANY, (a.n, dA, a.ix, dB, a.iy), (&a.n, hA, &a.ix, hB, &a.iy));
	SAME(gemv, ANY, (a.ta, a.m, a.n, BY(al), dA, a.lda, dB, a.ix, BY(be), dC, a.iy), (&a.ta, &a.m, &a.n, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(gbmv, ANY, (a.ta, a.m, a.n, a.kl, a.ku, BY(al), dA, a.lda, dB, a.ix, BY(be), dC, a.iy),
	     (&a.ta, &a.m, &a.n, &a.kl, &a.ku, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(trmv, ANY, (a.ul, a.ta, a.di, a.n, dA, a.lda, dB, a.ix), (&a.ul, &a.ta, &a.di, &a.n, hA, &a.lda, hB, &a.ix));
	SAME(trsv, ANY, (a.ul, a.ta, a.di, a.n, dA, a.lda, dB, a.ix), (&a.ul, &a.ta, &a.di, &a.n, hA, &a.lda, hB, &a.ix));
	SAME(tbmv, ANY, (a.ul, a.ta, a.di, a.n, a.kl, dA, a.lda, dB, a.ix), (&a.ul, &a.ta, &a.di, &a.n, &a.kl, hA, &a.lda, hB, &a.ix));
	SAME(tpmv, ANY, (a.ul, a.ta, a.di, a.n, dA, dB, a.ix), (&a.ul, &a.ta, &a.di, &a.n, hA, hB, &a.ix));
	/* near the unit matrix: bands and packed triangles have their diagonals elsewhere, so their solves take unit ones */
	SAME(tbsv, ANY, (a.ul, a.ta, 'U', 3, 2, dC, a.lda, dB, a.ix), (&a.ul, &a.ta, "U", (int[]){ 3 }, (int[]){ 2 }, hC, &a.lda, hB, &a.ix));
	SAME(tpsv, ANY, (a.ul, a.ta, 'u', 4, dC, dB, a.ix), (&a.ul, &a.ta, "U", (int[]){ 4 }, hC, hB, &a.ix));
	SAME(gemm, ANY, (a.ta, a.tb, a.m, a.n, a.k, BY(al), dA, a.lda, dB, a.ldb, BY(be), dC, a.ldc),
	     (&a.ta, &a.tb, &a.m, &a.n, &a.k, &al, hA, &a.lda, hB, &a.ldb, &be, hC, &a.ldc));
	SAME(symm, ANY, (a.si, a.ul, a.m, a.n, BY(al), dA, a.lda, dB, a.ldb, BY(be), dC, a.ldc),
	     (&a.si, &a.ul, &a.m, &a.n, &al, hA, &a.lda, hB, &a.ldb, &be, hC, &a.ldc));
	SAME(syrk, "NTnt", (a.ul, a.ta, a.n, a.k, BY(al), dA, a.lda, BY(be), dC, a.ldc), (&a.ul, &a.ta, &a.n, &a.k, &al, hA, &a.lda, &be, hC, &a.ldc));
	SAME(syr2k, "NTnt", (a.ul, a.ta, a.n, a.k, BY(al), dA, a.lda, dB, a.ldb, BY(be), dC, a.ldc),
	     (&a.ul, &a.ta, &a.n, &a.k, &al, hA, &a.lda, hB, &a.ldb, &be, hC, &a.ldc));
	SAME(trmm, ANY, (a.si, a.ul, a.ta, a.di, a.m, a.n, BY(al), dA, a.lda, dB, a.ldb), (&a.si, &a.ul, &a.ta, &a.di, &a.m, &a.n, &al, hA, &a.lda, hB, &a.ldb));
	SAME(trsm, ANY, (a.si, a.ul, a.ta, a.di, a.m, a.n, BY(al), dA, a.lda, dB, a.ldb), (&a.si, &a.ul, &a.ta, &a.di, &a.m, &a.n, &al, hA, &a.lda, hB, &a.ldb));
}
