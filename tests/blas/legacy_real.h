/* SPDX-License-Identifier: MIT */
/* Included by legacy.c for float and double: calls of real numbers alone, and those whose results are the host's. */
#define NUMBER(f, args, want) do { \
	R got_, want_; \
	CAT(fresh_, X, )(ANY); \
	got_ = (R)CUB(f) args; \
	want_ = (R)want; \
	CAT(near_, X, )(#f, &got_, &want_, 1); \
} while (0)

static void CAT(real_, X, )(void)
{
	T c = (T)0.6, s = (T)0.8, g[2][4], mod[2][5], d[2][3];
	FACTORS;

	SAME(rot, ANY, (a.n, dA, a.ix, dB, a.iy, c, s), (&a.n, hA, &a.ix, hB, &a.iy, &c, &s));
	for (int i = 0; i < 2; i++) {
		memcpy(g[i], (T[]){ al, be, 0, 0 }, sizeof g[i]);
		memcpy(mod[i], (T[]){ 0, al, be, 1, 2 }, sizeof mod[i]);
		memcpy(d[i], (T[]){ 1, 2, be }, sizeof d[i]);
	}
	SAME(rotm, ANY, (a.n, dA, a.ix, dB, a.iy, mod[0]), (&a.n, hA, &a.ix, hB, &a.iy, mod[1]));
	CUB(rotg)(&g[0][0], &g[0][1], &g[0][2], &g[0][3]);
	CAT(cblas_, x, rotg)(&g[1][0], &g[1][1], &g[1][2], &g[1][3]);
	CAT(near_, X, )("rotg", g[0], g[1], 4);
	mod[0][0] = mod[1][0] = -2;
	CUB(rotmg)(&d[0][0], &d[0][1], &d[0][2], &al, mod[0]);
	CAT(cblas_, x, rotmg)(&d[1][0], &d[1][1], &d[1][2], al, mod[1]);
	CAT(near_, X, )("rotmg", d[0], d[1], 3);
	CAT(near_, X, )("rotmg's flag", mod[0], mod[1], 1);
	NUMBER(dot, (a.n, dA, a.ix, dB, a.iy), CAT(cblas_, x, dot)(a.n, hA, a.ix, hB, a.iy));
	NUMBER(nrm2, (a.n, dA, abs(a.ix)), CAT(cblas_, x, nrm2)(a.n, hA, abs(a.ix)));
	NUMBER(asum, (a.n, dA, abs(a.ix)), CAT(cblas_, x, asum)(a.n, hA, abs(a.ix)));
	CAT(fresh_, X, )(ANY);
	must("amax", CAT(cublasI, x, amax)(a.n, dB, abs(a.ix)), 1 + (int)CAT(cblas_i, x, amax)(a.n, hB, abs(a.ix)));
	must("amin", CAT(cublasI, x, amin)(a.n, dB, abs(a.ix)), 1 + (int)CAT(cblas_i, x, amin)(a.n, hB, abs(a.ix)));
	SAME(symv, ANY, (a.ul, a.n, al, dA, a.lda, dB, a.ix, be, dC, a.iy), (&a.ul, &a.n, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(sbmv, ANY, (a.ul, a.n, a.kl, al, dA, a.lda, dB, a.ix, be, dC, a.iy), (&a.ul, &a.n, &a.kl, &al, hA, &a.lda, hB, &a.ix, &be, hC, &a.iy));
	SAME(spmv, ANY, (a.ul, a.n, al, dA, dB, a.ix, be, dC, a.iy), (&a.ul, &a.n, &al, hA, hB, &a.ix, &be, hC, &a.iy));
	SAME(ger, ANY, (a.m, a.n, al, dA, a.ix, dB, a.iy, dC, a.ldc), (&a.m, &a.n, &al, hA, &a.ix, hB, &a.iy, hC, &a.ldc));
	SAME(syr, ANY, (a.ul, a.n, al, dA, a.ix, dC, a.ldc), (&a.ul, &a.n, &al, hA, &a.ix, hC, &a.ldc));
	SAME(spr, ANY, (a.ul, a.n, al, dA, a.ix, dC), (&a.ul, &a.n, &al, hA, &a.ix, hC));
	SAME(syr2, ANY, (a.ul, a.n, al, dA, a.ix, dB, a.iy, dC, a.ldc), (&a.ul, &a.n, &al, hA, &a.ix, hB, &a.iy, hC, &a.ldc));
	SAME(spr2, ANY, (a.ul, a.n, al, dA, a.ix, dB, a.iy, dC), (&a.ul, &a.n, &al, hA, &a.ix, hB, &a.iy, hC));
}
#undef NUMBER
