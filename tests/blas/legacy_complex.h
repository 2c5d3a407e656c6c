/* SPDX-License-Identifier: MIT */
/* Included by legacy.c for complex numbers: Hermitian matrices, products of two kinds, real factors. */

/* Debian 12's OpenBLAS, 0.3.21, adds thirteen numbers wrongly where there is AVX-512. */
static R CAT(moduli_, X, )(int n, const T *x, int step)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += fabs(creal(x[i * step])) + fabs(cimag(x[i * step]));
	return (R)sum;
}

static void CAT(complex_, X, )(void)
{
	R c = (R)0.6, r = (R)unit(), s = (R)0.8, rg[2], n;
	T z = (T)(0.48 + 0.64 * I), g[2][2], want;
	V got;
	FACTORS;

	SAME(rot, ANY, (a.n, dA, a.ix, dB, a.iy, c, BY(z)), (&a.n, hA, &a.ix, hB, &a.iy, &c, &z));
	CAT(fresh_, X, )(ANY);
	CAT(cublas, XR, rot)(a.n, dA, a.ix, dB, a.iy, c, s);
	CAT(cblas_, xr, rot)(a.n, hA, a.ix, hB, a.iy, c, s);
	CAT(same_, X, )("real rot");
	CAT(fresh_, X, )(ANY);
	CAT(cublas, XR, scal)(a.n, r, dA, abs(a.ix));
	CAT(cblas_, xr, scal)(a.n, r, hA, abs(a.ix));
	CAT(same_, X, )("real scal");
	g[0][0] = g[1][0] = al;
	CUB(rotg)((V *)&g[0][0], BY(be), &rg[0], (V *)&g[0][1]);
	CAT(cblas_, x, rotg)(&g[1][0], &be, &rg[1], &g[1][1]);
	CAT(near_, X, )("rotg", (R *)g[0], (R *)g[1], 4);
	CAT(near_, X, )("rotg's cosine", &rg[0], &rg[1], 1);
	CAT(fresh_, X, )(ANY);
	got = CUB(dotu)(a.n, dA, a.ix, dB, a.iy);
	CAT(cblas_, x, dotu_sub)(a.n, hA, a.ix, hB, a.iy, &want);
	CAT(near_, X, )("dotu", (R *)&got, (R *)&want, 2);
	got = CUB(dotc)(a.n, dA, a.ix, dB, a.iy);
	CAT(cblas_, x, dotc_sub)(a.n, hA, a.ix, hB, a.iy, &want);
	CAT(near_, X, )("dotc", (R *)&got, (R *)&want, 2);
	n = CAT(cublas, XN, nrm2)(a.n, dA, abs(a.ix));
	CAT(near_, X, )("nrm2", &n, (R[]){ CAT(cblas_, xn, nrm2)(a.n, hA, abs(a.ix)) }, 1);
	n = CAT(cublas, XN, asum)(a.n, dA, abs(a.ix));
	CAT(near_, X, )("asum", &n, (R[]){ CAT(moduli_, X, )(a.n, hA, abs(a.ix)) }, 1);
	must("amax", CAT(cublas, XI, amax)(a.n, dB, abs(a.ix)), 1 + (int)CAT(cblas_, xi, amax)(a.n, hB, abs(a.ix)));
	must("amin", CAT(cublas, XI, amin)(a.n, dB, abs(a.ix)), 1 + (int)CAT(cblas_, xi, amin)(a.n, hB, abs(a.ix)));
	SAME(hemv, ANY, (a.ul, a.n, BY(al), dA, a.lda, dB, a.ix, BY(be), dC, a.iy), (&a.ul, &a.n, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(hbmv, ANY, (a.ul, a.n, a.kl, BY(al), dA, a.lda, dB, a.ix, BY(be), dC, a.iy),
	     (&a.ul, &a.n, &a.kl, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(hpmv, ANY, (a.ul, a.n, BY(al), dA, dB, a.ix, BY(be), dC, a.iy), (&a.ul, &a.n, &al, hA, hB, &a.ix, &be, hC, &a.iy));
	SAME(geru, ANY, (a.m, a.n, BY(al), dA, a.ix, dB, a.iy, dC, a.ldc), (&a.m, &a.n, &al, hA, &a.ix, hB, &a.iy, hC, &a.ldc));
	SAME(gerc, ANY, (a.m, a.n, BY(al), dA, a.ix, dB, a.iy, dC, a.ldc), (&a.m, &a.n, &al, hA, &a.ix, hB, &a.iy, hC, &a.ldc));
	SAME(her, ANY, (a.ul, a.n, r, dA, a.ix, dC, a.ldc), (&a.ul, &a.n, &r, hA, &a.ix, hC, &a.ldc));
	SAME(hpr, ANY, (a.ul, a.n, r, dA, a.ix, dC), (&a.ul, &a.n, &r, hA, &a.ix, hC));
	SAME(her2, ANY, (a.ul, a.n, BY(al), dA, a.ix, dB, a.iy, dC, a.ldc), (&a.ul, &a.n, &al, hA, &a.ix, hB, &a.iy, hC, &a.ldc));
	SAME(hpr2, ANY, (a.ul, a.n, BY(al), dA, a.ix, dB, a.iy, dC), (&a.ul, &a.n, &al, hA, &a.ix, hB, &a.iy, hC));
	SAME(hemm, ANY, (a.si, a.ul, a.m, a.n, BY(al), dA, a.lda, dB, a.ldb, BY(be), dC, a.ldc),
	     (&a.si, &a.ul, &a.m, &a.n, &al, hA, &a.lda, hB, &a.ldb, &be, hC, &a.ldc));
	SAME(herk, "NCnc", (a.ul, a.ta, a.n, a.k, r, dA, a.lda, c, dC, a.ldc), (&a.ul, &a.ta, &a.n, &a.k, &r, hA, &a.lda, &c, hC, &a.ldc));
	SAME(her2k, "NCnc", (a.ul, a.ta, a.n, a.k, BY(al), dA, a.lda, dB, a.ldb, c, dC, a.ldc),
	     (&a.ul, &a.ta, &a.n, &a.k, &al, hA, &a.lda, hB, &a.ldb, &c, hC, &a.ldc));
}
