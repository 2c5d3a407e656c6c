/* SPDX-License-Identifier: MIT */
/* Included by levels.c for each type: X, x its letters, T, REAL, TOL, COMPLEX. */
#define N(name) CAT(name##_, X)                          /* a function of this file for this type */
#define CU_(X, f) cublas##X##f
#define CU2(X, f) CU_(X, f)
#define CU(f) CU2(X, f)                                         /* cublasSf */
#define CB_(x, f) cblas_##x##f
#define CB2(x, f) CB_(x, f)
#define CB(f) CB2(x, f)                                         /* cblas_sf */
#define LA_(x, f) x##f##_
#define LA2(x, f) LA_(x, f)
#define LA(f) LA2(x, f)                                         /* sf_ */
#define BOTHX(f, ...) BOTH_(CU(f), __VA_ARGS__)
#define BOTH_(f, ...) BOTH2_(f, __VA_ARGS__)
#define BOTH2_(f, ...) CK(wide ? f##_64(__VA_ARGS__) : f(__VA_ARGS__))
/* The same call here and there: into y from a fresh copy, into the matrix; A(...) is a list of arguments. */
#define A(...) __VA_ARGS__
#define INTO(d, h, n, tol, f, cf, here, there) do { \
	d = device(h, n * sizeof(T)); \
	BOTHX(f##_v2, handle, here); \
	CB(cf)(there); \
	N(is)(#f, d, h, n, tol); \
} while (0)
#define INTO_Y(f, cf, here, there) INTO(dy, hy, ny, tol, f, cf, A(here), A(there))
#define INTO_A(f, cf, here, there) INTO(da, ha, na, TOL, f, cf, A(here), A(there))
#ifdef COMPLEX
#define V(a) &(a)
#define PARTS 2
#define CT(p) ((void *)(p))
#define RE(z) ((T)(REAL)(z))
#define CONJ(z) ((T)conj(z))
#else
#define V(a) (a)
#define PARTS 1
#define CT(p) (p)
#define RE(z) (z)
#define CONJ(z) (z)
#endif

static T N(value)(void)
{
#ifdef COMPLEX
	return (T)(unit() + unit() * I);
#else
	return (T)unit();
#endif
}
static T N(factor_value)(void)
{
	unsigned k = rnd(6);

	return k == 0 ? (T)0 : k == 1 ? (T)1 : N(value)();
}
static T *N(fill)(size_t n)
{
	T *p = malloc((n + 1) * sizeof *p);

	for (size_t i = 0; i < n; i++)
		p[i] = N(value)();
	return p;
}
static size_t N(span)(int n, int step) { return n ? (size_t)(n - 1) * (size_t)abs(step) + 1 : 1; }
static void N(is)(const char *what, void *d, const T *want, size_t n, double tol)
{
	char text[96];

	snprintf(text, sizeof text, "cublas" "%s%s", (const char *[]){ "S", "D", "C", "Z" }[(PARTS - 1) * 2 + (sizeof(REAL) == 8)], what);
	same_on_device(text, d, want, n * PARTS, sizeof(REAL), tol);
}

/* A result that is one number: from the host or the device. */
#define RESULT(what, kind, n, call, want, tol) \
	do { \
		kind got_[2] = { 0 }, want_[2] = { 0 }; \
		kind *rp_ = device_mode ? (kind *)(void *)(scalars + (scalar_at += 64) % 65536) : got_; \
		call; \
		want; \
		if (device_mode) \
			CK(cudaMemcpy(got_, rp_, sizeof got_[0], cudaMemcpyDeviceToHost)); \
		same(what, got_, want_, (n), sizeof(got_[0]) / (n), tol); \
	} while (0)

static void N(level1)(void)
{
	int n = rnd(8) ? (int)rnd(300) : 20000 + (int)rnd(50000), ix = inc(), iy = inc(), up = inc_up();
	size_t nx = N(span)(n, ix), ny = N(span)(n, iy), nu = N(span)(n, up);
	T *hx = N(fill)(nx), *hy = N(fill)(ny), *hu = N(fill)(nu), a = N(factor_value)();
	double sum = TOL * 4;
	void *dx, *dy;

	modes();
#define XY dx = device(hx, nx * sizeof(T)), dy = device(hy, ny * sizeof(T))
	XY;
	BOTHX(axpy_v2, handle, n, P(a), dx, ix, dy, iy);
	CB(axpy)(n, V(a), hx, ix, hy, iy);
	N(is)("axpy", dy, hy, ny, TOL);
	CK(cudaFree(dx));
	XY;
	BOTHX(swap_v2, handle, n, dx, ix, dy, iy);
	CB(swap)(n, hx, ix, hy, iy);
	N(is)("swap", dx, hx, nx, 0);
	N(is)("swap", dy, hy, ny, 0);
	XY;
	BOTHX(copy_v2, handle, n, dx, ix, dy, iy);
	CB(copy)(n, hx, ix, hy, iy);
	N(is)("copy", dy, hy, ny, 0);
	dy = device(hu, nu * sizeof(T));
	a = N(value)();
	BOTHX(scal_v2, handle, n, P(a), dy, up);
	CB(scal)(n, V(a), hu, up);
	N(is)("scal", dy, hu, nu, TOL);
	dy = device(hu, nu * sizeof(T));
#ifdef COMPLEX
	RESULT("dotu", T, 2, BOTHX(dotu_v2, handle, n, dx, ix, dx, ix, (void *)rp_), CB(dotu_sub)(n, hx, ix, hx, ix, CT(want_)), sum * sqrt(n + 1));
	RESULT("dotc", T, 2, BOTHX(dotc_v2, handle, n, dx, ix, dx, -ix, (void *)rp_), CB(dotc_sub)(n, hx, ix, hx, -ix, CT(want_)), sum * sqrt(n + 1));
#else
	RESULT("dot", T, 1, BOTHX(dot_v2, handle, n, dx, ix, dx, -ix, rp_), want_[0] = CB(dot)(n, hx, ix, hx, -ix), sum * sqrt(n + 1));
#endif
	CK(cudaFree(dy));
	dy = device(hu, nu * sizeof(T));
	RESULT("asum", REAL, 1, BOTH_(NU(asum_v2), handle, n, dy, up, rp_), want_[0] = NB(asum)(n, hu, up), sum);
	RESULT("nrm2", REAL, 1, BOTH_(NU(nrm2_v2), handle, n, dy, up, rp_), want_[0] = NB(nrm2)(n, hu, up), sum);
	if (n) {
		int64_t r64 = 0, *p64 = device_mode ? (int64_t *)(void *)(scalars + 128) : &r64;
		int r = 0, *p = device_mode ? (int *)(void *)(scalars + 64) : &r;
		int want = (int)CAT3(cblas_i, x, amax)(n, CT(hu), up) + 1;

		if (device_mode)
			scalar_at = 256;
		CK(CAT3(cublasI, x, amax_v2)(handle, n, dy, up, p));
		CK(CAT3(cublasI, x, amax_v2_64)(handle, n, dy, up, p64));
		if (device_mode) {
			CK(cudaMemcpy(&r, p, sizeof r, cudaMemcpyDeviceToHost));
			CK(cudaMemcpy(&r64, p64, sizeof r64, cudaMemcpyDeviceToHost));
		}
		if (r != want || r64 != want)
			complain("iamax", (size_t)n, r, want);
		want = (int)CAT3(cblas_i, x, amin)(n, CT(hu), up) + 1;
		CK(CAT3(cublasI, x, amin_v2)(handle, n, dy, up, p));
		if (device_mode)
			CK(cudaMemcpy(&r, p, sizeof r, cudaMemcpyDeviceToHost));
		if (r != want)
			complain("iamin", (size_t)n, r, want);
		checks += 3;
	}
	CK(cudaFree(dx));
	CK(cudaFree(dy));
	free(hx);
	free(hy);
	free(hu);
}

/* A triangle that can be solved with: much on the diagonal, little beside it. */
static void N(solvable)(T *a, int n, int ld)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			a[i + (size_t)j * ld] = i == j ? N(value)() + (T)3 : N(value)() / (T)(n + 1);
}
/* What is not stored is NaN. */
static void N(hide)(T *a, int n, int ld, int upper, int diagonal)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			if ((upper ? i > j : i < j) || (diagonal && i == j))
				a[i + (size_t)j * ld] = (T)NAN;
}

static void N(level2)(void)
{
	int m = (int)rnd(90), n = (int)rnd(90), o = (int)rnd(3), u = (int)rnd(2), g = (int)rnd(2), ix = inc(), iy = inc(), lda = m + 1 + (int)rnd(4);
	int kl = (int)rnd(9), ku = (int)rnd(9), big = (m > n ? m : n) + 1, ldn = n + 1 + (int)rnd(4), k = (int)rnd(7);
	size_t nx = N(span)(big, ix), ny = N(span)(big, iy), na = (size_t)(big + 20) * (size_t)(big + 20);
	T *ha = N(fill)(na), *hx = N(fill)(nx), *hy = N(fill)(ny), *hp, a = N(factor_value)(), b = N(factor_value)();
	double tol = TOL * 10;
	void *da, *dx, *dy;

	modes();
#define AXY da = device(ha, na * sizeof(T)), dx = device(hx, nx * sizeof(T)), dy = device(hy, ny * sizeof(T))
#define FREE(p) CK(cudaFree(p))
	AXY;
	BOTHX(gemv_v2, handle, ops[o], m, n, P(a), da, lda, dx, ix, P(b), dy, iy);
	CB(gemv)(CblasColMajor, cops[o], m, n, V(a), ha, lda, hx, ix, V(b), hy, iy);
	N(is)("gemv", dy, hy, ny, tol);
	FREE(da);
	FREE(dx);
	AXY;
	BOTHX(gbmv_v2, handle, ops[o], m, n, kl, ku, P(a), da, kl + ku + 2, dx, ix, P(b), dy, iy);
	CB(gbmv)(CblasColMajor, cops[o], m, n, kl, ku, V(a), ha, kl + ku + 2, hx, ix, V(b), hy, iy);
	N(is)("gbmv", dy, hy, ny, tol);
	FREE(da);
	FREE(dx);

	/* symmetric and Hermitian; of packed ones the same numbers */
	hp = malloc(na * sizeof(T));
	memcpy(hp, ha, na * sizeof(T));
	N(hide)(hp, n, ldn, u, 0);
#ifdef COMPLEX
	dx = device(hx, nx * sizeof(T));
	da = device(hp, na * sizeof(T));
	INTO_Y(hemv, hemv, A((cublasFillMode_t)u, n, P(a), da, ldn, dx, ix, P(b), dy, iy),
	       A(CblasColMajor, cuplo[u], n, V(a), ha, ldn, hx, ix, V(b), hy, iy));
	FREE(da);
	da = device(ha, na * sizeof(T));
	INTO_Y(hpmv, hpmv, A((cublasFillMode_t)u, n, P(a), da, dx, ix, P(b), dy, iy),
	       A(CblasColMajor, cuplo[u], n, V(a), ha, hx, ix, V(b), hy, iy));
	INTO_Y(hbmv, hbmv, A((cublasFillMode_t)u, n, k, P(a), da, k + 2, dx, ix, P(b), dy, iy),
	       A(CblasColMajor, cuplo[u], n, k, V(a), ha, k + 2, hx, ix, V(b), hy, iy));
#else
	da = device(ha, na * sizeof(T));
	dx = device(hx, nx * sizeof(T));
	INTO_Y(spmv, spmv, A((cublasFillMode_t)u, n, P(a), da, dx, ix, P(b), dy, iy),
	       A(CblasColMajor, cuplo[u], n, V(a), ha, hx, ix, V(b), hy, iy));
	INTO_Y(sbmv, sbmv, A((cublasFillMode_t)u, n, k, P(a), da, k + 2, dx, ix, P(b), dy, iy),
	       A(CblasColMajor, cuplo[u], n, k, V(a), ha, k + 2, hx, ix, V(b), hy, iy));
#endif
	FREE(da);
	/* symv of all four: complex ones by a matrix that was made whole, since C's BLAS has none */
	{
		T *whole = malloc(na * sizeof(T));

		memcpy(whole, ha, na * sizeof(T));
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++)
				if (u ? i > j : i < j)
					whole[i + (size_t)j * ldn] = ha[j + (size_t)i * ldn];
		da = device(hp, na * sizeof(T));
		INTO_Y(symv, gemv, A((cublasFillMode_t)u, n, P(a), da, ldn, dx, ix, P(b), dy, iy),
		       A(CblasColMajor, CblasNoTrans, n, n, V(a), whole, ldn, hx, ix, V(b), hy, iy));
		FREE(da);
		free(whole);
	}
	FREE(dx);

	/* rank updates */
	AXY;
#ifdef COMPLEX
	BOTHX(geru_v2, handle, m, n, P(a), dx, ix, dy, iy, da, lda);
	CB(geru)(CblasColMajor, m, n, V(a), hx, ix, hy, iy, ha, lda);
	N(is)("geru", da, ha, na, TOL);
	INTO_A(gerc, gerc, A(m, n, P(a), dx, ix, dy, iy, da, lda), A(CblasColMajor, m, n, V(a), hx, ix, hy, iy, ha, lda));
	{
		REAL ra = (REAL)unit();

		/* a Hermitian diagonal is real before and after */
		for (int i = 0; i < n; i++)
			ha[i + (size_t)i * ldn] = RE(ha[i + (size_t)i * ldn]);
		INTO_A(her, her, A((cublasFillMode_t)u, n, P(ra), dx, ix, da, ldn),
		       A(CblasColMajor, cuplo[u], n, ra, hx, ix, ha, ldn));
		INTO_A(her2, her2, A((cublasFillMode_t)u, n, P(a), dx, ix, dy, iy, da, ldn),
		       A(CblasColMajor, cuplo[u], n, V(a), hx, ix, hy, iy, ha, ldn));
		for (int i = 0, at = 0; i < n; i++) {
			ha[at] = RE(ha[at]);
			at += u ? i + 2 : n - i;
		}
		INTO_A(hpr, hpr, A((cublasFillMode_t)u, n, P(ra), dx, ix, da), A(CblasColMajor, cuplo[u], n, ra, hx, ix, ha));
		INTO_A(hpr2, hpr2, A((cublasFillMode_t)u, n, P(a), dx, ix, dy, iy, da),
		       A(CblasColMajor, cuplo[u], n, V(a), hx, ix, hy, iy, ha));
	}
#else
	BOTHX(ger_v2, handle, m, n, P(a), dx, ix, dy, iy, da, lda);
	CB(ger)(CblasColMajor, m, n, V(a), hx, ix, hy, iy, ha, lda);
	N(is)("ger", da, ha, na, TOL);
	INTO_A(spr, spr, A((cublasFillMode_t)u, n, P(a), dx, ix, da), A(CblasColMajor, cuplo[u], n, a, hx, ix, ha));
	INTO_A(spr2, spr2, A((cublasFillMode_t)u, n, P(a), dx, ix, dy, iy, da),
	       A(CblasColMajor, cuplo[u], n, a, hx, ix, hy, iy, ha));
	INTO_A(syr, syr, A((cublasFillMode_t)u, n, P(a), dx, ix, da, ldn), A(CblasColMajor, cuplo[u], n, a, hx, ix, ha, ldn));
	INTO_A(syr2, syr2, A((cublasFillMode_t)u, n, P(a), dx, ix, dy, iy, da, ldn),
	       A(CblasColMajor, cuplo[u], n, a, hx, ix, hy, iy, ha, ldn));
#endif
	FREE(dx);
	FREE(dy);

	/* triangles: full, in a band, packed */
	memcpy(hp, ha, na * sizeof(T));
	N(solvable)(ha, n, ldn);
	memcpy(hp, ha, na * sizeof(T));
	N(hide)(hp, n, ldn, u, g);
	da = device(hp, na * sizeof(T));
	dx = device(hx, nx * sizeof(T));
	BOTHX(trmv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, da, ldn, dx, ix);
	CB(trmv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, ha, ldn, hx, ix);
	N(is)("trmv", dx, hx, nx, tol);
	dx = device(hx, nx * sizeof(T));
	BOTHX(trsv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, da, ldn, dx, ix);
	CB(trsv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, ha, ldn, hx, ix);
	N(is)("trsv", dx, hx, nx, tol);
	FREE(da);
	for (int j = 0; j < n; j++)             /* the band's diagonal */
		for (int i = 0; i < k + 2; i++)
			ha[i + (size_t)j * (k + 2)] = i == (u ? k : 0) ? N(value)() + (T)3 : N(value)() / (T)10;
	da = device(ha, na * sizeof(T));
	dx = device(hx, nx * sizeof(T));
	BOTHX(tbmv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, k, da, k + 2, dx, ix);
	CB(tbmv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, k, ha, k + 2, hx, ix);
	N(is)("tbmv", dx, hx, nx, tol);
	dx = device(hx, nx * sizeof(T));
	BOTHX(tbsv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, k, da, k + 2, dx, ix);
	CB(tbsv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, k, ha, k + 2, hx, ix);
	N(is)("tbsv", dx, hx, nx, tol);
	FREE(da);
	for (int j = 0, at = 0; j < n; j++)
		for (int i = u ? 0 : j; i < (u ? j + 1 : n); i++, at++)
			ha[at] = i == j ? N(value)() + (T)3 : N(value)() / (T)(n + 1);
	da = device(ha, na * sizeof(T));
	dx = device(hx, nx * sizeof(T));
	BOTHX(tpmv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, da, dx, ix);
	CB(tpmv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, ha, hx, ix);
	N(is)("tpmv", dx, hx, nx, tol);
	dx = device(hx, nx * sizeof(T));
	BOTHX(tpsv_v2, handle, (cublasFillMode_t)u, ops[o], (cublasDiagType_t)g, n, da, dx, ix);
	CB(tpsv)(CblasColMajor, cuplo[u], cops[o], cdiag[g], n, ha, hx, ix);
	N(is)("tpsv", dx, hx, nx, tol);
	/* packed and unpacked again */
	{
		T *hf = N(fill)(na);

		dx = device(hf, na * sizeof(T));
		CK(CU(tpttr)(handle, (cublasFillMode_t)u, n, da, dx, ldn));
		for (int j = 0, at = 0; j < n; j++)
			for (int i = u ? 0 : j; i < (u ? j + 1 : n); i++, at++)
				hf[i + (size_t)j * ldn] = ha[at];
		dy = device(hp, na * sizeof(T));
		CK(CU(trttp)(handle, (cublasFillMode_t)u, n, dx, ldn, dy));
		memcpy(hp, ha, (size_t)n * (size_t)(n + 1) / 2 * sizeof(T));
		N(is)("tpttr", dx, hf, na, 0);
		N(is)("trttp", dy, hp, (size_t)n * (size_t)(n + 1) / 2, 0);
		free(hf);
	}
	FREE(da);
	free(ha);
	free(hx);
	free(hy);
	free(hp);
}

static void N(level3)(void)
{
	int m = (int)rnd(70), n = (int)rnd(70), k = (int)rnd(70), oa = (int)rnd(3), ob = (int)rnd(3), u = (int)rnd(2), g = (int)rnd(2), s = (int)rnd(2);
	int order = s ? n : m, lda = 75 + (int)rnd(4), ldb = 75 + (int)rnd(4), ldc = 75 + (int)rnd(4);
	size_t na = 80 * 80;
	T *ha = N(fill)(na), *hb = N(fill)(na), *hc = N(fill)(na), *hp = malloc(na * sizeof(T)), a = N(factor_value)(), b = N(factor_value)();
	REAL ra = (REAL)unit(), rb = (REAL)unit();
	double tol = TOL * 10;
	void *da, *db, *dc;

	(void)ra;
	(void)rb;
	modes();
#define ABC da = device(ha, na * sizeof(T)), db = device(hb, na * sizeof(T)), dc = device(hc, na * sizeof(T))
#define AGAIN(p, h) p = device(h, na * sizeof(T))
	ABC;
	BOTHX(gemm_v2, handle, ops[oa], ops[ob], m, n, k, P(a), da, lda, db, ldb, P(b), dc, ldc);
	CB(gemm)(CblasColMajor, cops[oa], cops[ob], m, n, k, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	N(is)("gemm", dc, hc, na, tol);
	/* sums and diagonals */
	AGAIN(dc, hc);
	BOTHX(geam, handle, ops[oa], ops[ob], m, n, P(a), da, lda, P(b), db, ldb, dc, ldc);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			T v = oa ? ha[j + (size_t)i * lda] : ha[i + (size_t)j * lda], w = ob ? hb[j + (size_t)i * ldb] : hb[i + (size_t)j * ldb];

			hc[i + (size_t)j * ldc] = a * (oa == 2 ? CONJ(v) : v) + b * (ob == 2 ? CONJ(w) : w);
		}
	N(is)("geam", dc, hc, na, TOL);
	AGAIN(dc, hc);
	BOTHX(dgmm, handle, (cublasSideMode_t)s, m, n, da, lda, db, 2, dc, ldc);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			hc[i + (size_t)j * ldc] = ha[i + (size_t)j * lda] * hb[2 * (s ? j : i)];
	N(is)("dgmm", dc, hc, na, TOL);
	/* triangles of products. Real ones take C as T. */
	{
		int t = (int)rnd(2), tr = t ? (PARTS == 2 ? 1 : 1 + (int)rnd(2)) : 0;

		AGAIN(dc, hc);
		BOTHX(syrk_v2, handle, (cublasFillMode_t)u, ops[tr], n, k, P(a), da, lda, P(b), dc, ldc);
		CB(syrk)(CblasColMajor, cuplo[u], cops[tr], n, k, V(a), ha, lda, V(b), hc, ldc);
		N(is)("syrk", dc, hc, na, tol);
		AGAIN(dc, hc);
		BOTHX(syr2k_v2, handle, (cublasFillMode_t)u, ops[tr], n, k, P(a), da, lda, db, ldb, P(b), dc, ldc);
		CB(syr2k)(CblasColMajor, cuplo[u], cops[tr], n, k, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
		N(is)("syr2k", dc, hc, na, tol);
		/* one triangle of a product that is not symmetric */
		AGAIN(dc, hc);
		memcpy(hp, hc, na * sizeof(T));
		BOTHX(syrkx, handle, (cublasFillMode_t)u, ops[tr], n, k, P(a), da, lda, db, ldb, P(b), dc, ldc);
		CB(gemm)(CblasColMajor, t ? CblasTrans : CblasNoTrans, t ? CblasNoTrans : CblasTrans, n, n, k, V(a), ha, lda, hb, ldb, V(b), hp, ldc);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++)
				if (!(u ? i > j : i < j))
					hc[i + (size_t)j * ldc] = hp[i + (size_t)j * ldc];
		N(is)("syrkx", dc, hc, na, tol);
#ifdef COMPLEX
		for (int i = 0; i < n; i++)
			hc[i + (size_t)i * ldc] = RE(hc[i + (size_t)i * ldc]);
		AGAIN(dc, hc);
		BOTHX(herk_v2, handle, (cublasFillMode_t)u, ops[2 * t], n, k, P(ra), da, lda, P(rb), dc, ldc);
		CB(herk)(CblasColMajor, cuplo[u], cops[2 * t], n, k, ra, ha, lda, rb, hc, ldc);
		N(is)("herk", dc, hc, na, tol);
		AGAIN(dc, hc);
		BOTHX(her2k_v2, handle, (cublasFillMode_t)u, ops[2 * t], n, k, P(a), da, lda, db, ldb, P(rb), dc, ldc);
		CB(her2k)(CblasColMajor, cuplo[u], cops[2 * t], n, k, &a, ha, lda, hb, ldb, rb, hc, ldc);
		N(is)("her2k", dc, hc, na, tol);
		AGAIN(dc, hc);
		BOTHX(herkx, handle, (cublasFillMode_t)u, ops[2 * t], n, k, P(a), da, lda, da, lda, P(rb), dc, ldc);
		/* of a with itself: Hermitian but for alpha, whose diagonal is real where alpha is */
		memcpy(hp, hc, na * sizeof(T));
		{
			T wide_b = rb;

			CB(gemm)(CblasColMajor, t ? CblasConjTrans : CblasNoTrans, t ? CblasNoTrans : CblasConjTrans, n, n, k, &a, ha, lda, ha, lda, &wide_b,
				 hp, ldc);
		}
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++)
				if (!(u ? i > j : i < j))
					hc[i + (size_t)j * ldc] = i == j ? RE(hp[i + (size_t)j * ldc]) : hp[i + (size_t)j * ldc];
		N(is)("herkx", dc, hc, na, tol);
#endif
	}
	/* square matrices of a kind: what is not stored is NaN */
	CK(cudaFree(da));
	memcpy(hp, ha, na * sizeof(T));
	N(hide)(hp, order, lda, u, 0);
	AGAIN(da, hp);
	AGAIN(dc, hc);
	BOTHX(symm_v2, handle, (cublasSideMode_t)s, (cublasFillMode_t)u, m, n, P(a), da, lda, db, ldb, P(b), dc, ldc);
	CB(symm)(CblasColMajor, cside[s], cuplo[u], m, n, V(a), ha, lda, hb, ldb, V(b), hc, ldc);
	N(is)("symm", dc, hc, na, tol);
#ifdef COMPLEX
	AGAIN(dc, hc);
	BOTHX(hemm_v2, handle, (cublasSideMode_t)s, (cublasFillMode_t)u, m, n, P(a), da, lda, db, ldb, P(b), dc, ldc);
	CB(hemm)(CblasColMajor, cside[s], cuplo[u], m, n, &a, ha, lda, hb, ldb, &b, hc, ldc);
	N(is)("hemm", dc, hc, na, tol);
	AGAIN(dc, hc);
	memcpy(hp, hc, na * sizeof(T));
	BOTHX(gemm3m, handle, ops[oa], ops[ob], m, n, 0, P(a), db, lda, db, ldb, P(b), dc, ldc);
	CB(gemm)(CblasColMajor, cops[oa], cops[ob], m, n, 0, &a, ha, lda, hb, ldb, &b, hp, ldc);
	N(is)("gemm3m", dc, hp, na, tol);
#endif
	CK(cudaFree(da));
	N(solvable)(ha, order, lda);
	memcpy(hp, ha, na * sizeof(T));
	N(hide)(hp, order, lda, u, g);
	AGAIN(da, hp);
	/* out of place, and in place */
	AGAIN(dc, hc);
	BOTHX(trmm_v2, handle, (cublasSideMode_t)s, (cublasFillMode_t)u, ops[oa], (cublasDiagType_t)g, m, n, P(a), da, lda, db, ldb, dc, ldc);
	BOTHX(trmm_v2, handle, (cublasSideMode_t)s, (cublasFillMode_t)u, ops[oa], (cublasDiagType_t)g, m, n, P(a), da, lda, db, ldb, db, ldb);
	CB(trmm)(CblasColMajor, cside[s], cuplo[u], cops[oa], cdiag[g], m, n, V(a), ha, lda, hb, ldb);
	for (int j = 0; j < n; j++)
		memcpy(hc + (size_t)j * ldc, hb + (size_t)j * ldb, (size_t)m * sizeof(T));
	N(is)("trmm", dc, hc, na, tol);
	N(is)("trmm in place", db, hb, na, tol);
	AGAIN(db, hb);
	BOTHX(trsm_v2, handle, (cublasSideMode_t)s, (cublasFillMode_t)u, ops[oa], (cublasDiagType_t)g, m, n, P(a), da, lda, db, ldb);
	CB(trsm)(CblasColMajor, cside[s], cuplo[u], cops[oa], cdiag[g], m, n, V(a), ha, lda, hb, ldb);
	N(is)("trsm", db, hb, na, tol);
	CK(cudaFree(da));
	free(ha);
	free(hb);
	free(hc);
	free(hp);
}

extern void LA(getrf)(const int *, const int *, T *, const int *, int *, int *);
extern void LA(getrs)(const char *, const int *, const int *, const T *, const int *, const int *, T *, const int *, int *);
extern void LA(geqrf)(const int *, const int *, T *, const int *, T *, T *, const int *, int *);
extern void LA(gels)(const char *, const int *, const int *, const int *, T *, const int *, T *, const int *, T *, const int *, int *);

/* count matrices in one buffer, apart elements from each other; their addresses on the device */
static void *N(pointers)(void *d, int count, size_t apart)
{
	void *list[16];

	for (int i = 0; i < count; i++)
		list[i] = (T *)d + (size_t)i * apart;
	return device(list, sizeof list);
}

static void N(batches)(void)
{
	int n = 1 + (int)rnd(30), m = n + (int)rnd(9), k = 1 + (int)rnd(20), o = (int)rnd(3), count = 1 + (int)rnd(5), lda = 41, ldb = 42, info = 7, *piv, *got;
	size_t apart = 42 * 42;
	T *ha = N(fill)(apart * 5), *hb = N(fill)(apart * 5), *hc = N(fill)(apart * 5), *work = N(fill)(4096), *tau = N(fill)(200);
	T a = N(factor_value)(), b = N(factor_value)();
	void *da = device(ha, apart * 5 * sizeof(T)), *db = device(hb, apart * 5 * sizeof(T)), *dc = device(hc, apart * 5 * sizeof(T));
	void *pa = N(pointers)(da, count, apart), *pb = N(pointers)(db, count, apart), *pc = N(pointers)(dc, count, apart), *dp, *di, *dt, *pt;
	double tol = TOL * 300;
	int work_size = 4096, singular = (int)rnd(4) == 0, pivoting = (int)rnd(4) != 0;

	modes();
	/* products and solves of batches */
	BOTHX(gemmBatched, handle, ops[o], CUBLAS_OP_T, n, k, m, P(a), pa, lda, pb, ldb, P(b), pc, 40, count);
	BOTHX(gemmStridedBatched, handle, ops[o], CUBLAS_OP_T, n, k, m, P(a), da, lda, (long long)apart, db, ldb, (long long)apart, P(b), dc, 40,
	      (long long)apart, count);
	for (int i = 0; i < 2 * count; i++)
		CB(gemm)(CblasColMajor, cops[o], CblasTrans, n, k, m, V(a), ha + i % count * apart, lda, hb + i % count * apart, ldb, V(b), hc + i % count * apart,
			 40);
	BOTHX(gemvBatched, handle, ops[o], n, m, P(a), pa, lda, pb, 1, P(b), pc, 2, count);
	BOTHX(gemvStridedBatched, handle, ops[o], n, m, P(a), da, lda, (long long)apart, db, 1, (long long)apart, P(b), dc, 2, (long long)apart, count);
	for (int i = 0; i < 2 * count; i++)
		CB(gemv)(CblasColMajor, cops[o], n, m, V(a), ha + i % count * apart, lda, hb + i % count * apart, 1, V(b), hc + i % count * apart, 2);
	N(is)("gemm and gemv batched", dc, hc, apart * 5, TOL * 20);
	for (int i = 0; i < count; i++)
		N(solvable)(ha + i * apart, n, lda);
	CK(cudaFree(da));
	CK(cudaFree(pa));
	da = device(ha, apart * 5 * sizeof(T));
	pa = N(pointers)(da, count, apart);
	BOTHX(trsmBatched, handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, ops[o], CUBLAS_DIAG_NON_UNIT, n, k, P(a), pa, lda, pb, ldb, count);
	for (int i = 0; i < count; i++)
		CB(trsm)(CblasColMajor, CblasLeft, CblasLower, cops[o], CblasNonUnit, n, k, V(a), ha + i * apart, lda, hb + i * apart, ldb);
	/* LU: the same pivots, factors and infos, also where the first of a batch has no inverse; then solutions and inverses */
	if (singular)
		for (int i = 0; i < n; i++)
			ha[i + (size_t)(n / 2) * lda] = 0;
	CK(cudaMemcpy(da, ha, apart * 5 * sizeof(T), cudaMemcpyHostToDevice));
	piv = calloc(5 * 64, sizeof *piv);
	got = calloc(5 * 64, sizeof *got);
	CK(cudaMalloc(&dp, 5 * 64 * sizeof(int)));
	CK(cudaMalloc(&di, 64 * sizeof(int)));
	CK(CU(getrfBatched)(handle, n, pa, lda, pivoting ? dp : NULL, di, count));
	CK(cudaMemcpy(got, di, (size_t)count * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < count; i++) {
		/* a diagonal as heavy as this one is its own pivot, so both ways give the same */
		LA(getrf)(&n, &n, ha + i * apart, &lda, piv + i * n, &info);
		if (got[i] != info)
			complain("getrfBatched's info", (size_t)i, got[i], info);
	}
	if (pivoting) {
		CK(cudaMemcpy(got, dp, (size_t)(count * n) * sizeof(int), cudaMemcpyDeviceToHost));
		for (int i = 0; i < count * n && !singular; i++)
			if (got[i] != piv[i])
				complain("getrfBatched's pivots", (size_t)i, got[i], piv[i]);
	}
	if (!singular) {
		CK(CU(getrsBatched)(handle, ops[o], n, k, (void *)pa, lda, pivoting ? dp : NULL, pb, ldb, &info, count));
		if (info)
			complain("getrsBatched's info", 0, info, 0);
		for (int i = 0; i < count; i++)
			LA(getrs)(&"NTC"[o], &n, &k, ha + i * apart, &lda, piv + i * n, hb + i * apart, &ldb, &info);
	}
	CK(CU(getriBatched)(handle, n, (void *)pa, lda, pivoting ? dp : NULL, pc = N(pointers)(dc = device(hc, apart * 5 * sizeof(T)), count, apart), 40, di, count));
	for (int i = singular; i < count; i++) {
		for (int e = 0; e < n * n; e++)
			hc[i * apart + (size_t)(e % n + e / n * 40)] = (T)(e % n == e / n);
		LA(getrs)("N", &n, &n, ha + i * apart, &lda, piv + i * n, hc + i * apart, (int[]){ 40 }, &info);
	}
	CK(cudaMemcpy(got, di, (size_t)count * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < count; i++)
		if (got[i] != (singular && !i ? n / 2 + 1 : 0))
			complain("getriBatched's info", (size_t)i, got[i], singular && !i ? n / 2 + 1 : 0);
	N(is)("getrfBatched", da, ha, apart * 5, tol);
	N(is)("getrsBatched", db, hb, apart * 5, tol);
	N(is)("getriBatched", dc, hc, apart * 5, tol);
	/* inverses at once, QR, least squares */
	for (int i = 0; i < count; i++)
		for (size_t e = 0; e < apart; e++)
			ha[i * apart + e] = N(value)();
	for (int i = 0; i < count; i++)
		N(solvable)(ha + i * apart, n, lda);
	CK(cudaFree(pa));
	pa = N(pointers)(da = device(ha, apart * 5 * sizeof(T)), count, apart);
	CK(cudaFree(pc));
	pc = N(pointers)(dc = device(hc, apart * 5 * sizeof(T)), count, apart);
	CK(CU(matinvBatched)(handle, n, (void *)pa, lda, pc, 40, di, count));
	N(is)("matinvBatched leaves A", da, ha, apart * 5, 0);
	for (int i = 0; i < count; i++) {
		T *copy = malloc(apart * sizeof(T));

		memcpy(copy, ha + i * apart, apart * sizeof(T));
		for (int e = 0; e < n * n; e++)
			hc[i * apart + (size_t)(e % n + e / n * 40)] = (T)(e % n == e / n);
		LA(getrf)(&n, &n, copy, &lda, piv, &info);
		LA(getrs)("N", &n, &n, copy, &lda, piv, hc + i * apart, (int[]){ 40 }, &info);
		free(copy);
	}
	N(is)("matinvBatched", dc, hc, apart * 5, tol);
	da = device(ha, apart * 5 * sizeof(T));
	CK(cudaFree(pa));
	pa = N(pointers)(da, count, apart);
	dt = device(tau, 200 * sizeof(T));
	pt = N(pointers)(dt, count, 40);
	CK(CU(geqrfBatched)(handle, m, n, pa, lda, pt, &info, count));
	if (info)
		complain("geqrfBatched's info", 0, info, 0);
	memcpy(hc, ha, apart * 5 * sizeof(T));
	for (int i = 0; i < count; i++)
		LA(geqrf)(&m, &n, hc + i * apart, &lda, tau + 40 * i, work, &work_size, &info);
	N(is)("geqrfBatched", da, hc, apart * 5, tol);
	N(is)("geqrfBatched's tau", dt, tau, 200, tol);
	da = device(ha, apart * 5 * sizeof(T));
	CK(cudaFree(pa));
	pa = N(pointers)(da, count, apart);
	memcpy(hb, hc, apart * 5 * sizeof(T));
	db = device(hb, apart * 5 * sizeof(T));
	CK(cudaFree(pb));
	pb = N(pointers)(db, count, apart);
	CK(CU(gelsBatched)(handle, CUBLAS_OP_N, m, n, k, pa, lda, pb, ldb, &info, di, count));
	CK(cudaMemcpy(got, di, (size_t)count * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < count; i++) {
		if (got[i] || info)
			complain("gelsBatched's info", (size_t)i, got[i], 0);
		LA(gels)("N", &m, &n, &k, ha + i * apart, &lda, hb + i * apart, &ldb, work, &work_size, &info);
	}
	N(is)("gelsBatched's R", da, ha, apart * 5, tol);
	N(is)("gelsBatched", db, hb, apart * 5, tol);
	CK(cudaFree(pa));
	CK(cudaFree(pb));
	CK(cudaFree(pc));
	CK(cudaFree(pt));
	CK(cudaFree(dp));
	CK(cudaFree(di));
	free(ha);
	free(hb);
	free(hc);
	free(work);
	free(tau);
	free(piv);
	free(got);
}

static void CAT(all_, X)(void)
{
	N(level1)();
	for (int i = 0; i < 2; i++) {
		N(level2)();
		N(level3)();
	}
	N(batches)();
}
#include "levels_xt.h"
#undef N
#undef CU
#undef CB
#undef LA
#undef V
#undef PARTS
#undef CT
#undef X
#undef x
#undef T
#undef REAL
#undef RE
#undef CONJ
#undef NU
#undef NB
#undef TOL
