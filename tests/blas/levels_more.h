/* SPDX-License-Identifier: MIT */
/* Included by levels.c: what there is once and not for each of four types. */

static float half_of(uint16_t h, int bf16)
{
	uint32_t b = (uint32_t)h << 16;
	float f;
	int e = h >> 10 & 31, m = h & 0x3ff;

	if (bf16) {
		memcpy(&f, &b, 4);
		return f;
	}
	return (float)((h & 0x8000 ? -1 : 1) * (e ? ldexp(1024 + m, e - 25) : ldexp(m, -24)));
}
/* multiples of 1/64 below 2 in size, which both kinds of halves hold */
static uint16_t to_half(float v, int bf16)
{
	uint32_t b;
	int e;
	float m;

	memcpy(&b, &v, 4);
	if (bf16)
		return (uint16_t)(b >> 16);
	if (v == 0)
		return 0;
	m = frexpf(fabsf(v), &e);
	return (uint16_t)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 | ((int)(m * 2048) & 0x3ff));
}
static float small_value(void) { return (float)((int)rnd(129) - 64) / 64; }

static void number(const char *what, double got, double want, double tol)
{
	if (!(fabs(got - want) <= tol * (1 + fabs(want))))
		complain(what, 0, got, want);
	checks++;
}

/* Halves: computed with as floats, rounded once. */
static void halves(int bf16)
{
	cudaDataType t = bf16 ? CUDA_R_16BF : CUDA_R_16F;
	int n = 500, m = 40;
	uint16_t hx[2000], hy[2000], got[2000], r = 0;
	float fx[2000], fy[2000], alpha = 0.5f, beta = 0.25f, want[64] = { 0 }, out[64], sum = 0, abs = 0, sq = 0;
	double tol = bf16 ? 0.01 : 0.002;
	void *dx, *dy, *dz;
	const void *list[3];
	void *lists;
	int at = 0;
	uint16_t two = to_half(2, bf16);

	device_mode = 0;
	CK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
	for (int i = 0; i < 2000; i++) {
		hx[i] = to_half(small_value(), bf16);
		hy[i] = to_half(small_value(), bf16);
		fx[i] = half_of(hx[i], bf16);
		fy[i] = half_of(hy[i], bf16);
	}
	for (int i = 0; i < n; i++) {
		sum += fx[i] * fy[i];
		abs += fabsf(fx[i]);
		sq += fx[i] * fx[i];
		at = fabsf(fx[i]) > fabsf(fx[at]) ? i : at;
	}
	dx = device(hx, sizeof hx);
	dy = device(hy, sizeof hy);
	CK(cublasDotEx(handle, n, dx, t, 1, dy, t, 1, &r, t, CUDA_R_32F));
	number("DotEx", half_of(r, bf16), sum, tol);
	CK(cublasDotcEx_64(handle, n, dx, t, 1, dy, t, 1, &r, t, CUDA_R_32F));
	number("DotcEx", half_of(r, bf16), sum, tol);
	CK(cublasAsumEx(handle, n, dx, t, 1, &r, t, CUDA_R_32F));
	number("AsumEx", half_of(r, bf16), abs, tol);
	CK(cublasNrm2Ex(handle, n, dx, t, 1, &r, t, CUDA_R_32F));
	number("Nrm2Ex", half_of(r, bf16), sqrtf(sq), tol);
	{
		int place = 0;

		CK(cublasIamaxEx(handle, n, dx, t, 1, &place));
		number("IamaxEx", place, at + 1, 0);
		CK(cublasIaminEx(handle, n, dx, t, 1, &place));
		for (int i = 0; i < n; i++)
			if (fabsf(fx[i]) < fabsf(fx[place - 1]) || (i < place - 1 && fabsf(fx[i]) == fabsf(fx[place - 1])))
				complain("IaminEx", (size_t)i, place, i + 1);
	}
	CK(cublasAxpyEx(handle, n, &alpha, CUDA_R_32F, dx, t, 1, dy, t, 2, CUDA_R_32F));
	CK(cublasScalEx(handle, n, &two, t, dy, t, 2, CUDA_R_32F));
	CK(cudaMemcpy(got, dy, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		number("AxpyEx and ScalEx", half_of(got[2 * i], bf16), 2 * (fy[2 * i] + alpha * fx[i]), tol);
	CK(cublasCopyEx(handle, n, dx, t, 1, dy, t, -1));
	CK(cublasSwapEx(handle, n, dx, t, -1, dy, t, 2));
	CK(cublasRotEx(handle, n, dx, t, 1, dy, t, 1, &alpha, &beta, CUDA_R_32F, CUDA_R_32F));
	{
		float p[5] = { -1, 0.5f, 0.25f, -1, 2 };

		CK(cublasRotmEx(handle, n, dx, t, 1, dy, t, 1, p, CUDA_R_32F, CUDA_R_32F));
	}
	CK(cudaFree(dx));
	CK(cudaFree(dy));
	/* matrices of halves, vectors of halves or of floats */
	dx = device(hx, sizeof hx);
	dy = device(hy, sizeof hy);
	CK(cudaMalloc(&dz, sizeof out));
	list[0] = dx;
	list[1] = dy;
	list[2] = dz;
	lists = device(list, sizeof list);
	for (int turned = 0; turned < 2; turned++)
		for (int strided = 0; strided < 2; strided++)
			for (int floats = 0; floats < 2; floats++) {
				float none = 0;
				cublasOperation_t op = turned ? CUBLAS_OP_T : CUBLAS_OP_N;
#define GEMV(A, S) \
	(strided ? cublas##A##gemvStridedBatched##S(handle, op, m, m, &alpha, dx, m, 0, dy, 1, 0, &none, dz, 1, 0, 1) : \
		   cublas##A##gemvBatched##S(handle, op, m, m, &alpha, lists, m, (void *)((void **)lists + 1), 1, &none, (void *)((void **)lists + 2), 1, 1))

				CK(bf16 ? floats ? GEMV(TSS, ) : GEMV(TST, _64) : floats ? GEMV(HSS, _64) : GEMV(HSH, ));
				CK(cudaMemcpy(out, dz, sizeof out, cudaMemcpyDeviceToHost));
				for (int i = 0; i < m; i++) {
					want[i] = 0;
					for (int j = 0; j < m; j++)
						want[i] += alpha * fx[turned ? j + i * m : i + j * m] * fy[j];
					number("gemvBatched of halves", floats ? (double)out[i] : (double)half_of(((uint16_t *)out)[i], bf16), want[i],
					       floats ? 1e-5 : tol);
				}
			}
	CK(cudaFree(dx));
	CK(cudaFree(dy));
	CK(cudaFree(dz));
	CK(cudaFree(lists));
}

/* Rotations: of vectors, and their making. rotmg's answer is right if it does what it is for. */
static void rotations(void)
{
	for (int mode = 0; mode < 2; mode++) {
		int n = 100;
		double x[400], y[400], c = 0.6, s = 0.8, p[5];
		float sx[400], sy[400];
		double _Complex zx[100], zy[100], zs = 0.5 + 0.25 * I, za, zb, za0, zb0, zr;
		void *dx, *dy;

		device_mode = mode;
		CK(cublasSetPointerMode(handle, mode ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
		for (int i = 0; i < 400; i++) {
			sx[i] = (float)(x[i] = unit());
			sy[i] = (float)(y[i] = unit());
			x[i] = (double)sx[i];
			y[i] = (double)sy[i];
		}
		dx = device(x, sizeof x);
		dy = device(y, sizeof y);
		CK(cublasDrot(handle, n, dx, 2, dy, -1, P(c), P(s)));
		cblas_drot(n, x, 2, y, -1, c, s);
		same_on_device("Drot x", dx, x, 400, 8, 1e-14);
		same_on_device("Drot y", dy, y, 400, 8, 1e-14);
		for (int i = 0; i < n; i++) {
			zx[i] = x[i] + I * x[i + 100];
			zy[i] = y[i] + I * y[i + 100];
		}
		dx = device(zx, sizeof zx);
		dy = device(zy, sizeof zy);
		CK(cublasZdrot_64(handle, n, dx, 1, dy, 1, P(c), P(s)));
		CK(cublasZrot(handle, n, dx, 1, dy, 1, P(c), P(zs)));
		for (int i = 0; i < n; i++) {
			double _Complex u = c * zx[i] + s * zy[i], v = c * zy[i] - s * zx[i];

			zx[i] = c * u + zs * v;
			zy[i] = c * v - conj(zs) * u;
		}
		same_on_device("Zrot x", dx, zx, 200, 8, 1e-14);
		same_on_device("Zrot y", dy, zy, 200, 8, 1e-14);
		for (int flag = -2; flag < 2; flag++) {
			float q[5] = { (float)flag, 0.5f, -0.25f, 0.75f, 2 };

			dx = device(sx, sizeof sx);
			dy = device(sy, sizeof sy);
			CK(cublasSrotm(handle, n, dx, 1, dy, 3, P(q)));
			cblas_srotm(n, sx, 1, sy, 3, q);
			same_on_device("Srotm x", dx, sx, 400, 4, 1e-6);
			same_on_device("Srotm y", dy, sy, 400, 4, 1e-6);
		}
		for (int i = 0; i < 40; i++) {
			double a = i % 7 ? 3 * unit() : 0, b = i % 5 ? unit() : 0, c1 = 7, s1 = 7, wa = a, wb = b, wc, ws;
			double *v = (double *)(void *)(scalars + 4096), h[5] = { a, b, c1, s1 };

			if (mode) {
				CK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
				CK(cublasDrotg(handle, v, v + 1, v + 2, v + 3));
				CK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
			} else {
				CK(cublasDrotg(handle, h, h + 1, h + 2, h + 3));
			}
			cblas_drotg(&wa, &wb, &wc, &ws);
			/* up to both signs, which libraries choose differently where |b| is the greater */
			number("Drotg r", h[0] * h[2], wa * wc, 1e-14);
			number("Drotg c, s", h[2] * b - h[3] * a, 0, 1e-14);
			number("Drotg c, s", h[2] * h[2] + h[3] * h[3], 1, 1e-14);
			/* [c s; -s* c] (a, b) = (r, 0) */
			za = za0 = unit() + I * unit();
			zb = zb0 = i % 5 ? unit() + I * unit() : 0;
			if (!mode) {
				CK(cublasZrotg(handle, (void *)&za, (void *)&zb, &c1, (void *)&zr));
				number("Zrotg", cabs(c1 * za0 + zr * zb0 - za), 0, 1e-14);
				number("Zrotg", cabs(c1 * zb0 - conj(zr) * za0), 0, 1e-14);
				number("Zrotg", c1 * c1 + creal(zr * conj(zr)), 1, 1e-14);
			}
		}
		for (int i = 0; i < 60; i++) {
			double d1 = fabs(unit()) * (i % 6 ? 1 : 1e-9), d2 = unit() * (i % 4 ? 1 : 1e9), x1 = 2 * unit(), y1 = i % 9 ? unit() : 0, q[5] = { 9, 9, 9, 9, 9 };
			double w[4] = { d1, d2, x1, 0 }, h[9] = { d1, d2, x1, y1 };
			double *v = (double *)(void *)(scalars + 8192);

			memset(p, 0, sizeof p);
			memcpy(h + 4, q, sizeof q);
			CK(cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice));
			CK(mode ? cublasDrotmg(handle, v, v + 1, v + 2, v + 3, v + 4) : cublasDrotmg(handle, h, h + 1, h + 2, h + 3, h + 4));
			if (mode)
				CK(cudaMemcpy(h, v, sizeof h, cudaMemcpyDeviceToHost));
			cblas_drotmg(w, w + 1, w + 2, y1, p);
			number("Drotmg's flag", h[4], p[0], 0);
			if (p[0] == -2)
				continue;
			for (int k = 0; k < 3; k++)
				number("Drotmg", h[k], w[k], 1e-12);
			for (int k = 1; k < 5; k++)
				if (p[0] < 0 || (p[0] == 0 && (k == 2 || k == 3)) || (p[0] > 0 && (k == 1 || k == 4)))
					number("Drotmg's H", h[4 + k], p[k], 1e-12);
		}
	}
	device_mode = 0;
	CK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

/* Pairs of signed bytes, groups of products, copies, great and small numbers, and what is refused. */
static void others(void)
{
	signed char pairs[2 * 64];
	float _Complex whole[64], c[64], one = 1, none = 0;
	double big[1000], r, v[48], mat[48], back[48];
	void *da, *dc, *d;
	const cublasOperation_t n2[2] = { CUBLAS_OP_N, CUBLAS_OP_T };
	const int sizes[2] = { 2, 1 }, eight[2] = { 8, 8 }, k2[2] = { 8, 5 };
	float a[3 * 64], w[3 * 64], alphas[2] = { 1, 0.5f }, betas[2] = { 0, 2 };
	const void *list[3];
	int least = 0;

	for (int i = 0; i < 64; i++) {
		pairs[2 * i] = (signed char)(rnd(256) - 128);
		pairs[2 * i + 1] = (signed char)(rnd(256) - 128);
		whole[i] = (float)pairs[2 * i] + (float)pairs[2 * i + 1] * I;
	}
	da = device(pairs, sizeof pairs);
	dc = device(whole, sizeof whole);
	CK(cublasCgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_C, 8, 8, 8, (void *)&one, da, CUDA_C_8I, 8, da, CUDA_C_8I, 8, (void *)&none, dc, CUDA_C_32F, 8));
	cblas_cgemm(CblasColMajor, CblasNoTrans, CblasConjTrans, 8, 8, 8, &one, whole, 8, whole, 8, &none, c, 8);
	same_on_device("CgemmEx of bytes", dc, c, 128, 4, 0);
	dc = device(c, sizeof c);
	CK(cublasCherkEx(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 8, 8, (float[]){ 1 }, da, CUDA_C_8I, 8, (float[]){ 0.5f }, dc, CUDA_C_32F, 8));
	cblas_cherk(CblasColMajor, CblasUpper, CblasNoTrans, 8, 8, 1, whole, 8, 0.5f, c, 8);
	same_on_device("CherkEx of bytes", dc, c, 128, 4, 1e-6);
	CK(cudaFree(da));

	for (int i = 0; i < 192; i++)
		a[i] = w[i] = (float)unit();
	da = device(a, sizeof a);
	dc = device(a, sizeof a);
	{
		const float *as[3] = { da, (float *)da + 64, (float *)da + 128 };
		float *cs[3] = { dc, (float *)dc + 64, (float *)dc + 128 };
		void *la = device(as, sizeof as), *lc = device(cs, sizeof cs);

		CK(cublasSgemmGroupedBatched(handle, n2, n2, eight, eight, k2, alphas, la, eight, la, eight, betas, lc, eight, 2, sizes));
		for (int i = 0; i < 3; i++)
			cblas_sgemm(CblasColMajor, i < 2 ? CblasNoTrans : CblasTrans, i < 2 ? CblasNoTrans : CblasTrans, 8, 8, i < 2 ? 8 : 5, alphas[i / 2],
				    a + 64 * i, 8, a + 64 * i, 8, betas[i / 2], w + 64 * i, 8);
		same_on_device("SgemmGroupedBatched", dc, w, 192, 4, 1e-5);
		CK(cudaFree(la));
		CK(cudaFree(lc));
	}
	CK(cudaFree(da));

	/* norms that neither overflow nor vanish, and of what is no number */
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 1000; i++)
			big[i] = unit() * (k == 0 ? 1e200 : k == 1 ? 1e-200 : i % 2 ? 1e200 : 1e-200);
		d = device(big, sizeof big);
		CK(cublasDnrm2(handle, 1000, d, 1, &r));
		number("Dnrm2 of great and small numbers", r / cblas_dnrm2(1000, big, 1), 1, 1e-12);
		big[500] = k ? NAN : INFINITY;
		CK(cudaMemcpy(d, big, sizeof big, cudaMemcpyHostToDevice));
		CK(cublasDnrm2(handle, 1000, d, 1, &r));
		if (k ? !isnan(r) : !isinf(r))
			complain("Dnrm2 of no number", (size_t)k, r, big[500]);
		CK(cudaFree(d));
	}
	/* the first of equals */
	for (int i = 0; i < 1000; i++)
		big[i] = i == 400 || i == 700 ? -3 : 1;
	d = device(big, sizeof big);
	CK(cublasIdamax(handle, 1000, d, 1, &least));
	number("Idamax of equals", least, 401, 0);
	CK(cublasIdamin(handle, 1000, d, 1, &least));
	number("Idamin of equals", least, 1, 0);
	CK(cublasIdamax(handle, 0, d, 1, &least));
	number("Idamax of nothing", least, 0, 0);
	CK(cudaFree(d));

	/* copies of rectangles */
	for (int i = 0; i < 48; i++)
		v[i] = unit();
	memset(back, 0, sizeof back);
	CK(cudaMalloc(&d, sizeof v));
	CK(cublasSetMatrix(5, 6, 8, v, 8, d, 7));
	CK(cublasGetMatrix_64(5, 6, 8, d, 7, back, 6));
	for (int j = 0; j < 6; j++)
		for (int i = 0; i < 5; i++)
			number("Set and GetMatrix", back[i + 6 * j], v[i + 8 * j], 0);
	CK(cublasSetVectorAsync(12, 8, v, 3, d, 2, NULL));
	CK(cublasGetVectorAsync(12, 8, d, 2, mat, 1, NULL));
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < 12; i++)
		number("Set and GetVector", mat[i], v[3 * i], 0);
	CK(cudaFree(d));

	/* arguments that make no sense */
#define NO(status, call) \
	do { \
		int st_ = (int)(call); \
		if (st_ != CUBLAS_STATUS_##status) \
			complain(#call, 0, st_, CUBLAS_STATUS_##status); \
		checks++; \
	} while (0)
	list[0] = list[1] = list[2] = NULL;
	(void)list;
	NO(NOT_INITIALIZED, cublasDasum(NULL, 1, back, 1, &r));
	NO(INVALID_VALUE, cublasDasum(handle, 1, back, 1, NULL));
	NO(INVALID_VALUE, cublasDgemv(handle, CUBLAS_OP_N, 4, 4, &r, back, 3, back, 1, &r, back, 1));
	NO(INVALID_VALUE, cublasDgemv(handle, CUBLAS_OP_N, 4, 4, &r, back, 4, back, 0, &r, back, 1));
	NO(INVALID_VALUE, cublasDgemv(handle, CUBLAS_OP_N, -1, 4, &r, back, 4, back, 1, &r, back, 1));
	NO(INVALID_VALUE, cublasDtrsv(handle, (cublasFillMode_t)2, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, back, 4, back, 1));
	NO(INVALID_VALUE, cublasDtbmv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, 2, back, 2, back, 1));
	NO(INVALID_VALUE, cublasDsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 4, -1, &r, back, 4, &r, back, 4));
	NO(INVALID_VALUE, cublasZherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, 4, 4, &r, (void *)back, 4, &r, (void *)back, 4));
	NO(INVALID_VALUE, cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, 4, 4, &r, back, 4, &r, mat, 4, back, 4));
	NO(INVALID_VALUE, cublasDgetrfBatched(handle, 4, (void *)back, 3, NULL, &least, 1));
	NO(INVALID_VALUE, cublasDmatinvBatched(handle, 33, (void *)back, 33, (void *)back, 33, &least, 1));
	NO(NOT_SUPPORTED, cublasDgelsBatched(handle, CUBLAS_OP_T, 4, 4, 1, (void *)back, 4, (void *)back, 4, &least, NULL, 1));
	NO(NOT_SUPPORTED, cublasDotEx(handle, 4, back, CUDA_R_16F, 1, back, CUDA_R_32F, 1, &r, CUDA_R_32F, CUDA_R_32F));
	NO(ALLOC_FAILED, cublasZgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1ll << 30, 1ll << 30, 1ll << 30, (void *)v, (void *)back, 1ll << 30, (void *)back, 1ll << 30,
					 (void *)v, (void *)back, 1ll << 30));
	NO(NOT_SUPPORTED, cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1ll << 32, 1, 1, v, back, 1ll << 32, back, 1, v, back, 1ll << 32));
	NO(SUCCESS, cublasDgemv(handle, CUBLAS_OP_N, 0, 4, &r, NULL, 1, NULL, 1, &r, NULL, 1));
}

/* A complex product and a solve in a graph, whose memory between them is the graph's own. */
static void captured(void)
{
	float _Complex a[64], c[64], w[64], one = 1, half = 0.5f;
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t e;
	void *da, *dc;

	for (int i = 0; i < 64; i++) {
		a[i] = (float)unit() + (float)unit() * I + (float)(i % 9 ? 0 : 4);
		c[i] = w[i] = (float)unit();
	}
	da = device(a, sizeof a);
	dc = device(c, sizeof c);
	CK(cudaStreamCreate(&s));
	CK(cublasSetStream(handle, s));
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CK(cublasCgemm(handle, CUBLAS_OP_N, CUBLAS_OP_C, 8, 8, 8, (void *)&half, da, 8, da, 8, (void *)&one, dc, 8));
	CK(cublasCtrsv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 8, da, 8, dc, 1));
	CK(cublasCtrmv(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 8, da, 8, (void *)((float _Complex *)dc + 8), 1));
	CK(cudaStreamEndCapture(s, &g));
	CK(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++) {
		CK(cudaGraphLaunch(e, s));
		cblas_cgemm(CblasColMajor, CblasNoTrans, CblasConjTrans, 8, 8, 8, &half, a, 8, a, 8, &one, w, 8);
		cblas_ctrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, 8, a, 8, w, 1);
		cblas_ctrmv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, 8, a, 8, w + 8, 1);
	}
	CK(cudaStreamSynchronize(s));
	same_on_device("calls in a graph", dc, w, 128, 4, 1e-3);
	CK(cudaGraphExecDestroy(e));
	CK(cudaGraphDestroy(g));
	CK(cublasSetStream(handle, NULL));
	CK(cudaStreamDestroy(s));
	CK(cudaFree(da));
}

static void more(void)
{
	device_mode = 0;
	CK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
	captured();
	halves(0);
	halves(1);
	rotations();
	others();
}
