/* SPDX-License-Identifier: MIT */
/*
 * The device mathematics of our own headers, as vgpu cc compiles it: each function over random arguments of its range and over the
 * edges, against glibc's long double, which has 11 bits more. Errors are in units of the last place of the right result.
 *
 *   clang      exit 0: all within their bounds (which libcuda-lite/include/README.md tells); a line for each function
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define N 40000

/* name, the range of its arguments (powers of ten where from is 0), bounds for double and float; for float never above CUDA's but for expm1 and log2 (1) */
#define ONE(F) \
	F(sin, -10, 10, 1, 2) F(cos, -10, 10, 1, 2) F(tan, -10, 10, 2, 4) F(asin, -1, 1, 2, 2) F(acos, -1, 1, 2, 2) F(atan, -20, 20, 2, 2) \
	F(sinh, -20, 20, 2, 2) F(cosh, -20, 20, 2, 2) F(tanh, -10, 10, 2, 2) F(asinh, -100, 100, 3, 0.51) F(acosh, 1, 100, 3, 0.51) \
	F(atanh, -1, 1, 3, 0.51) F(exp, -700, 700, 1, 1.1) F(exp2, -1000, 1000, 1, 1) F(exp10, -300, 300, 1, 1.5) F(expm1, -3, 3, 2, 1.5) \
	F(log, 0, 0, 1, 1) F(log2, 0, 0, 1, 1.2) F(log10, 0, 0, 1, 1) F(log1p, -0.9, 3, 2, 1) F(cbrt, 0, 0, 1, 0.51) F(erf, -4, 4, 3, 0.55) \
	F(erfc, -4, 26, 6, 0.55) F(round, -100, 100, 0, 0) F(rint, -100, 100, 0, 0) F(floor, -100, 100, 0, 0) F(ceil, -100, 100, 0, 0) \
	F(trunc, -100, 100, 0, 0) F(sqrt, 0, 0, 0.5, 0.5) F(fabs, -1, 1, 0, 0)
#define BOTH(F) F(pow, 0, 20, 2, 0.52) F(atan2, -5, 5, 2, 2) F(hypot, -5, 5, 2, 0.51) F(fmod, -100, 7, 0, 0) F(remainder, -100, 7, 0, 0) \
	F(fdim, -5, 5, 0.5, 0.5) F(fmin, -5, 5, 0, 0) F(fmax, -5, 5, 0, 0) F(copysign, -5, 5, 0, 0)

#define KERNEL1(name, lo, hi, bound, bound_f) \
	__global__ void k_##name(const double *x, const double *, double *d, float *s) \
	{ \
		int i = blockIdx.x * blockDim.x + threadIdx.x; \
		if (i < N) { d[i] = name(x[i]); s[i] = name##f((float)x[i]); } \
	}
#define KERNEL2(name, lo, hi, bound, bound_f) \
	__global__ void k_##name(const double *x, const double *y, double *d, float *s) \
	{ \
		int i = blockIdx.x * blockDim.x + threadIdx.x; \
		if (i < N) { d[i] = name(x[i], y[i]); s[i] = name##f((float)x[i], (float)y[i]); } \
	}
ONE(KERNEL1)
BOTH(KERNEL2)

#define HOST1(name, lo, hi, bound, bound_f) static long double h_##name(long double x, long double) { return name##l(x); }
#define HOST2(name, lo, hi, bound, bound_f) static long double h_##name(long double x, long double y) { return name##l(x, y); }
ONE(HOST1)
BOTH(HOST2)

static unsigned long long state = 1;
static double draw()
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) * 0x1p-53;
}

/* got against the right result, in units of the last place of type T */
template <class T> static double ulps(T got, long double want, int digits, int least)
{
	T w = (T)want;
	int e;

	if (std::isnan(want) || std::isnan(got))
		return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
	if (std::isinf(w) || std::isinf(got))
		return w == got ? 0 : 1e30;
	if (want == 0 && got == 0)
		return std::signbit(got) == std::signbit(want) ? 0 : 1e30;
	std::frexp(want, &e);
	e = e - digits < least ? least : e - digits;
	return (double)(fabsl((long double)got - want) / ldexpl(1, e));
}

static double *x, *y, *d;
static float *s;
static int bad;

static void check(const char *name, void (*kernel)(const double *, const double *, double *, float *), long double (*host)(long double, long double),
		  double lo, double hi, double bound, double bound_f)
{
	static const double edge[] = { 0.0, -0.0, 1, -1, 0.5, -0.5, 2, 3, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308,
		1e-20, -1e-20, 1e300, -1e300, 1.7976931348623157e308, 710, -746, 1024, -1075, 1e22, 6381956970095103.0 * 0x1p797, 0x1p60, 355.0 / 226,
		0.41421356, 0.9, 27.5, 1e5, 99999.5, 4503599627370497.5, -2.5, 2.5 };
	const int edges = sizeof(edge) / sizeof(edge[0]), floats = N * 3 / 4;
	std::vector<double> a(N), b(N), r(N);
	std::vector<float> f(N);
	double worst = 0, worst_f = 0, at = 0, bt = 0, at_f = 0, bt_f = 0;
	int two = !strcmp(name, "pow") || !strcmp(name, "atan2") || !strcmp(name, "hypot") || !strcmp(name, "fmod") || !strcmp(name, "remainder");

	for (int i = 0; i < N; i++) {
		a[i] = lo == 0 && hi == 0 ? std::exp((draw() - 0.5) * 1400) : lo + draw() * (hi - lo);
		b[i] = (draw() - 0.4) * 20;
		if (i % 8 == 1 && lo < 0)
			a[i] *= std::exp(-draw() * 30);         /* small ones */
	}
	/* every edge with every other */
	for (int i = 0; i < edges * edges && i < N; i++) {
		a[i] = edge[i / edges];
		b[i] = edge[i % edges];
		/* fmod takes as many steps as exponents lie between */
		if (two && (name[0] == 'f' || name[0] == 'r') && std::fabs(a[i]) > 1e30 * std::fabs(b[i]))
			b[i] = a[i] / 3;
	}
	/* floats of all sizes and signs, a quarter of them; what a double is for doubles they are as well */
	for (int i = floats; i < N; i++) {
		unsigned u = (unsigned)(i - floats) * (unsigned)(0x100000000ull / (N - floats)) + (unsigned)(draw() * 100000);
		float g, h = (float)b[i];

		std::memcpy(&g, &u, 4);
		a[i] = g;
		/* powers that are neither all nor nothing; quotients that fmod comes to the end of soon */
		if (name[0] == 'p' && i % 2)
			h = (float)(draw() * 170 - 85) / (std::fabs(std::log(std::fabs(g))) + 1e-6f);
		if (two && (name[0] == 'f' || name[0] == 'r'))
			h = g * (float)std::exp(draw() * 30 - 25);
		b[i] = h;
	}
	cudaMemcpy(x, a.data(), N * 8, cudaMemcpyHostToDevice);
	cudaMemcpy(y, b.data(), N * 8, cudaMemcpyHostToDevice);
	kernel<<<(N + 127) / 128, 128>>>(x, y, d, s);
	if (cudaDeviceSynchronize() != cudaSuccess) {
		std::printf("FAIL %s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
		std::exit(1);
	}
	cudaMemcpy(r.data(), d, N * 8, cudaMemcpyDeviceToHost);
	cudaMemcpy(f.data(), s, N * 4, cudaMemcpyDeviceToHost);
	for (int i = 0; i < N; i++) {
		double u = ulps<double>(r[i], host(a[i], b[i]), 53, -1074), v = ulps<float>(f[i], host((float)a[i], (float)b[i]), 24, -149);

		/* of two zeros fmin and fmax may give either */
		if ((float)a[i] == 0 && (float)b[i] == 0 && name[0] == 'f' && name[1] == 'm' && name[2] != 'o')
			continue;
		if (u > worst)
			worst = u, at = a[i], bt = b[i];
		if (v > worst_f)
			worst_f = v, at_f = a[i], bt_f = b[i];
	}
	if (worst > bound || worst_f > bound_f) {
		bad++;
		std::printf("FAIL ");
	} else {
		std::printf("ok ");
	}
	std::printf("%s: double %.3f ulp at %.17g, %.17g (bound %.1f), float %.3f at %.9g, %.9g (%.2f)\n", name, worst, at, bt, bound, worst_f, at_f, bt_f,
		    bound_f);
}

int main()
{
	if (cudaMalloc(&x, N * 8) || cudaMalloc(&y, N * 8) || cudaMalloc(&d, N * 8) || cudaMalloc(&s, N * 4)) {
		std::printf("FAIL no device memory\n");
		return 1;
	}
#define CHECK(name, lo, hi, bound, bound_f) check(#name, k_##name, h_##name, lo, hi, bound, bound_f);
	ONE(CHECK)
	BOTH(CHECK)
	return bad != 0;
}
