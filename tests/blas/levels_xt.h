/* SPDX-License-Identifier: MIT */
/* Included by levels.c for each type after levels_type.h's own: cublasXt of matrices in ordinary, pinned and device memory, in any mixture. */
#define XT(f) CAT3(cublasXt, X, f)

/* A copy of a matrix somewhere, and its end; the result is looked at whole. */
static void *N(put)(const T *h, size_t n, int *where)
{
	void *p;

	*where = (int)rnd(4);
	if (*where == 0)
		return device(h, n * sizeof(T));
	if (*where == 1)
		CK(cudaMallocHost(&p, n * sizeof(T)));
	else
		p = malloc(n * sizeof(T));
	return memcpy(p, h, n * sizeof(T));
}
static void N(drop)(void *p, int where)
{
	if (where == 0)
		CK(cudaFree(p));
	else if (where == 1)
		CK(cudaFreeHost(p));
	else
		free(p);
}
static void N(xt_is)(const char *what, void *p, int where, const T *want, size_t n, double tol)
{
	T *got = malloc(n * sizeof(T));
	char text[96];

	CK(cudaMemcpy(got, p, n * sizeof(T), cudaMemcpyDefault));
	snprintf(text, sizeof text, "cublasXt%s of %zu bytes", what, sizeof(T));
	same(text, got, want, n * PARTS, sizeof(REAL), tol);
	free(got);
	N(drop)(p, where);
}

/* The host's share: columns that went there are counted. */
static int N(host_columns);
static void N(host_gemm)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const T *alpha, const T *a, const int *lda, const T *b,
			 const int *ldb, const T *beta, T *c, const int *ldc)
{
	N(host_columns) += *n;
	CB(gemm)(CblasColMajor, cops[*ta == 'N' ? 0 : *ta == 'T' ? 1 : 2], cops[*tb == 'N' ? 0 : *tb == 'T' ? 1 : 2], *m, *n, *k, V(*alpha), a, *lda, b,
		 *ldb, V(*beta), c, *ldc);
}

static void N(xt)(cublasXtHandle_t xt)
{
	int m = (int)rnd(70), n = (int)rnd(70), k = (int)rnd(70), oa = (int)rnd(3), ob = (int)rnd(3), u = (int)rnd(2), g = (int)rnd(2), s = (int)rnd(2);
	int order = s ? n : m, lda = 75 + (int)rnd(4), ldb = 75 + (int)rnd(4), ldc = 75 + (int)rnd(4), t = (int)rnd(2);
	int tr = t ? (PARTS == 2 ? 1 : 1 + (int)rnd(2)) : 0, wa, wb, wc;
	size_t na = 80 * 80;
	T *ha = N(fill)(na), *hb = N(fill)(na), *hc = N(fill)(na), *hp = malloc(na * sizeof(T)), *hq = malloc(na * sizeof(T));
	T a = N(factor_value)(), b = N(factor_value)(), zero = 0;
	double tol = TOL * 10;
	cublasFillMode_t fill = (cublasFillMode_t)u;
	void *xa, *xb, *xc;

	(void)hq;
#define XABC xa = N(put)(ha, na, &wa), xb = N(put)(hb, na, &wb), xc = N(put)(hc, na, &wc)
#define XC(what, tol) \
	do { \
		N(xt_is)(what, xc, wc, hc, na, tol); \
		xc = N(put)(hc, na, &wc); \
	} while (0)
	XABC;
	CK(XT(gemm)(xt, ops[oa], ops[ob], (size_t)m, (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(gemm)(CblasColMajor, cops[oa], cops[ob], m, n, k, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	XC("gemm", tol);
	/* a result that is not read may hold anything */
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			hc[i + (size_t)j * ldc] = (T)NAN;
	N(drop)(xc, wc);
	xc = N(put)(hc, na, &wc);
	CK(XT(gemm)(xt, ops[oa], ops[ob], (size_t)m, (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&zero, xc, (size_t)ldc));
	CB(gemm)(CblasColMajor, cops[oa], cops[ob], m, n, k, V(a), ha, lda, hb, ldb, V(zero), hc, ldc);
	XC("gemm, beta 0", tol);
	/* some columns by the host's own function, where the host sees all three */
	CK(cublasXtSetCpuRoutine(xt, CUBLASXT_GEMM, (cublasXtOpType_t)TYPE, (void *)(uintptr_t)N(host_gemm)));
	CK(cublasXtSetCpuRatio(xt, CUBLASXT_GEMM, (cublasXtOpType_t)TYPE, 0.5f));
	N(host_columns) = 0;
	CK(XT(gemm)(xt, ops[oa], ops[ob], (size_t)m, (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(gemm)(CblasColMajor, cops[oa], cops[ob], m, n, k, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	if (N(host_columns) != (wa && wb && wc && m && k ? n / 2 : 0))
		complain("columns of the host's", (size_t)n, N(host_columns), n / 2);
	CK(cublasXtSetCpuRatio(xt, CUBLASXT_GEMM, (cublasXtOpType_t)TYPE, 0));
	XC("gemm, half of it the host's", tol);

	CK(XT(syrk)(xt, fill, ops[tr], (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, (void *)&b, xc, (size_t)ldc));
	CB(syrk)(CblasColMajor, cuplo[u], cops[tr], n, k, V(a), ha, lda, V(b), hc, ldc);
	XC("syrk", tol);
	CK(XT(syr2k)(xt, fill, ops[tr], (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(syr2k)(CblasColMajor, cuplo[u], cops[tr], n, k, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	XC("syr2k", tol);
	memcpy(hp, hc, na * sizeof(T));
	CK(XT(syrkx)(xt, fill, ops[tr], (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(gemm)(CblasColMajor, t ? CblasTrans : CblasNoTrans, t ? CblasNoTrans : CblasTrans, n, n, k, V(a), ha, lda, hb, ldb, V(b), hp, ldc);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			if (!(u ? i > j : i < j))
				hc[i + (size_t)j * ldc] = hp[i + (size_t)j * ldc];
	XC("syrkx", tol);
#ifdef COMPLEX
	{
		REAL ra = (REAL)unit(), rb = (REAL)unit();

		for (int i = 0; i < n; i++)
			hc[i + (size_t)i * ldc] = RE(hc[i + (size_t)i * ldc]);
		N(drop)(xc, wc);
		xc = N(put)(hc, na, &wc);
		CK(XT(herk)(xt, fill, ops[2 * t], (size_t)n, (size_t)k, &ra, xa, (size_t)lda, &rb, xc, (size_t)ldc));
		CB(herk)(CblasColMajor, cuplo[u], cops[2 * t], n, k, ra, ha, lda, rb, hc, ldc);
		XC("herk", tol);
		CK(XT(her2k)(xt, fill, ops[2 * t], (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, &rb, xc, (size_t)ldc));
		CB(her2k)(CblasColMajor, cuplo[u], cops[2 * t], n, k, &a, ha, lda, hb, ldb, rb, hc, ldc);
		XC("her2k", tol);
		/* of a with itself and a real factor it is herk */
		a = RE(a);
		ra = (REAL)creal(a);
		CK(XT(herkx)(xt, fill, ops[2 * t], (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xa, (size_t)lda, &rb, xc, (size_t)ldc));
		CB(herk)(CblasColMajor, cuplo[u], cops[2 * t], n, k, ra, ha, lda, rb, hc, ldc);
		XC("herkx", tol);
		CK(XT(hemm)(xt, (cublasSideMode_t)s, fill, (size_t)m, (size_t)n, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
		CB(hemm)(CblasColMajor, cside[s], cuplo[u], m, n, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
		XC("hemm", tol);
	}
#endif
	CK(XT(symm)(xt, (cublasSideMode_t)s, fill, (size_t)m, (size_t)n, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(symm)(CblasColMajor, cside[s], cuplo[u], m, n, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	XC("symm", tol);
	/* the same numbers packed: what they are in a triangle */
	for (int j = 0, at = 0; j < order; j++)
		for (int i = u ? 0 : j; i <= (u ? j : order - 1); i++)
			hq[i + (size_t)j * lda] = ha[at++];
	CK(XT(spmm)(xt, (cublasSideMode_t)s, fill, (size_t)m, (size_t)n, (void *)&a, xa, xb, (size_t)ldb, (void *)&b, xc, (size_t)ldc));
	CB(symm)(CblasColMajor, cside[s], cuplo[u], m, n, V(a), hq, lda, hb, ldb, V(b), hc, ldc);
	XC("spmm", tol);
	N(drop)(xa, wa);
	N(solvable)(ha, order, lda);
	xa = N(put)(ha, na, &wa);
	CK(XT(trmm)(xt, (cublasSideMode_t)s, fill, ops[oa], (cublasDiagType_t)g, (size_t)m, (size_t)n, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, xc,
		    (size_t)ldc));
	for (int j = 0; j < n; j++)
		memcpy(hc + (size_t)j * ldc, hb + (size_t)j * ldb, (size_t)m * sizeof(T));
	CB(trmm)(CblasColMajor, cside[s], cuplo[u], cops[oa], cdiag[g], m, n, V(a), ha, lda, hc, ldc);
	XC("trmm", tol);
	CK(XT(trsm)(xt, (cublasSideMode_t)s, fill, ops[oa], (cublasDiagType_t)g, (size_t)m, (size_t)n, (void *)&a, xa, (size_t)lda, xc, (size_t)ldc));
	CB(trsm)(CblasColMajor, cside[s], cuplo[u], cops[oa], cdiag[g], m, n, V(a), ha, lda, hc, ldc);
	N(xt_is)("trsm", xc, wc, hc, na, tol * 10);
	/* too small a step between columns, and no such operation */
	if (m > 1 && n && (XT(gemm)(xt, ops[0], ops[0], (size_t)m, (size_t)n, (size_t)k, (void *)&a, xa, (size_t)lda, xb, (size_t)ldb, (void *)&b,
				    (void *)hc, (size_t)m - 1) != CUBLAS_STATUS_INVALID_VALUE ||
			   XT(trsm)(xt, (cublasSideMode_t)s, fill, (cublasOperation_t)7, (cublasDiagType_t)g, (size_t)m, (size_t)n, (void *)&a, xa,
				    (size_t)lda, (void *)hc, (size_t)ldc) != CUBLAS_STATUS_INVALID_VALUE))
		complain("wrong arguments of cublasXt", 0, 0, 7);
	N(drop)(xa, wa);
	N(drop)(xb, wb);
	free(ha);
	free(hb);
	free(hc);
	free(hp);
	free(hq);
}
#undef XABC
#undef XC
#undef XT
#undef TYPE
