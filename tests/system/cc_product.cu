// SPDX-License-Identifier: MIT
// Functions of a product are functions of the product as it has been rounded: what they add to their argument is no part of a fused multiply-add with
// it. Each is asked of a * b, computed where it is called, and of the same products as the host has rounded them. Of 1 and what is next to it, of halves, of others.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define ALL(X, T, f) \
	X(round##f, T, round##f(x)) X(lround##f, T, (T)lround##f(x)) X(rint##f, T, rint##f(x)) X(floor##f, T, floor##f(x)) X(ceil##f, T, ceil##f(x)) \
	X(modf##f, T, modf##f(x, &w)) X(whole##f, T, (modf##f(x, &w), w)) X(isfinite##f, T, (T)isfinite(x)) X(isnan##f, T, (T)isnan(x)) X(isinf##f, T, (T)isinf(x)) \
	X(fdim##f, T, fdim##f(x, (T)3)) X(acos##f, T, acos##f(x)) X(asin##f, T, asin##f(x)) X(atan##f, T, atan##f(x)) X(atan2##f, T, atan2##f(x, (T)1.3)) \
	X(acosh##f, T, acosh##f(x)) X(asinh##f, T, asinh##f(x)) X(atanh##f, T, atanh##f(x)) X(cosh##f, T, cosh##f(x)) X(sinh##f, T, sinh##f(x)) \
	X(tanh##f, T, tanh##f(x)) X(log##f, T, log##f(x)) X(log1p##f, T, log1p##f(x)) X(log2##f, T, log2##f(x)) X(log10##f, T, log10##f(x)) \
	X(exp##f, T, exp##f(x)) X(expm1##f, T, expm1##f(x)) X(exp2##f, T, exp2##f(x)) X(exp10##f, T, exp10##f(x)) X(pow##f, T, pow##f(x, (T)1.7)) \
	X(to##f, T, pow##f((T)1.7, x)) X(sin##f, T, sin##f(x)) X(cos##f, T, cos##f(x)) X(tan##f, T, tan##f(x)) X(sinpi##f, T, sinpi##f(x)) \
	X(cospi##f, T, cospi##f(x)) X(erf##f, T, erf##f(x)) X(erfc##f, T, erfc##f(x)) X(erfinv##f, T, erfinv##f(x)) X(normcdf##f, T, normcdf##f(x)) \
	X(lgamma##f, T, lgamma##f(x)) X(tgamma##f, T, tgamma##f(x)) X(cbrt##f, T, cbrt##f(x)) X(hypot##f, T, hypot##f(x, (T)1)) X(rsqrt##f, T, rsqrt##f(x)) \
	X(fmod##f, T, fmod##f(x, (T).37)) X(remainder##f, T, remainder##f(x, (T).37)) X(ldexp##f, T, ldexp##f(x, 3)) X(logb##f, T, logb##f(x)) X(nextafter##f, T, nextafter##f(x, (T)9))

#define KERNELS(name, T, e) \
	__global__ void product_##name(T *o, const T *a, const T *b) { int i = blockIdx.x * blockDim.x + threadIdx.x; T x = a[i] * b[i], w = 0; (void)w; o[i] = e; } \
	__global__ void rounded_##name(T *o, const T *a) { int i = blockIdx.x * blockDim.x + threadIdx.x; T x = a[i], w = 0; (void)w; o[i] = e; }
ALL(KERNELS, float, f)
ALL(KERNELS, double,)

enum { N = 1 << 14 };
static int asked, wrong;

template <class T> static void compare(const char *name, void (*product)(T *, const T *, const T *), void (*rounded)(T *, const T *), T *const d[5])
{
	static T have[N], want[N];
	int bad = 0, at = 0;

	product<<<N / 256, 256>>>(d[3], d[0], d[1]);
	rounded<<<N / 256, 256>>>(d[4], d[2]);
	if (cudaMemcpy(have, d[3], sizeof(have), cudaMemcpyDeviceToHost) || cudaMemcpy(want, d[4], sizeof(want), cudaMemcpyDeviceToHost)) {
		printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
		exit(1);
	}
	for (int i = 0; i < N; i++)
		if (memcmp(&have[i], &want[i], sizeof(T)) && !(have[i] != have[i] && want[i] != want[i]) && !bad++)
			at = i;
	asked++;
	if (bad) {
		wrong++;
		printf("%s: %d of %d differ, %.17g for %.17g\n", name, bad, N, (double)have[at], (double)want[at]);
	}
}

/* kind 0: at 1; 1: halves; 2: anything up to 100 */
template <class T> static void products(int kind, T next, T *d[5])
{
	static T a[N], b[N], z[N];

	for (int i = 0; i < N; i++) {
		T p = kind == 0 ? 1 - (rand() % 4) * next : kind == 1 ? (rand() % 64) + (T).5 : (rand() % 999983 - 499991) / (T)4999.91;
		volatile T rounded;

		b[i] = 1 + rand() % 999983 / (T)999983;
		a[i] = p / b[i];
		rounded = a[i] * b[i];
		z[i] = rounded;
	}
	for (int k = 0; k < 5; k++)
		if (!d[k] && cudaMalloc((void **)&d[k], sizeof(a)))
			exit(1);
	cudaMemcpy(d[0], a, sizeof(a), cudaMemcpyHostToDevice);
	cudaMemcpy(d[1], b, sizeof(b), cudaMemcpyHostToDevice);
	cudaMemcpy(d[2], z, sizeof(z), cudaMemcpyHostToDevice);
}

#define COMPARE(name, T, e) compare<T>(#name, product_##name, rounded_##name, d##T);
int main()
{
	float *dfloat[5] = {};
	double *ddouble[5] = {};

	for (int kind = 0; kind < 3; kind++) {
		products<float>(kind, 5.9604645e-8f, dfloat);
		ALL(COMPARE, float, f)
		products<double>(kind, 1.1102230246251565e-16, ddouble);
		ALL(COMPARE, double,)
	}
	printf("%d asked, %d differ\n", asked, wrong);
	return wrong != 0;
}
