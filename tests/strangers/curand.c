/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's libcurand on the device against its own generators on the host (curandCreateGeneratorHost), which need none: every generator
 * and distribution. Integers are the same bit for bit; what goes through a logarithm or a sine, within some units of its last place.
 *   curand COUNT [NAME]
 */
#include <cuda_runtime_api.h>
#include <curand.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGERS, FLOATS, DOUBLES, LONGS };
static const size_t bytes_of[] = { 4, 4, 8, 8 };
static const char *generator;
static size_t count;
static void *device, *got, *want;
static int bad;

static int same(int kind, size_t i)
{
	double x, y;

	if (kind == INTEGERS)
		return ((unsigned *)got)[i] == ((unsigned *)want)[i];
	if (kind == LONGS)
		return ((unsigned long long *)got)[i] == ((unsigned long long *)want)[i];
	x = kind == FLOATS ? ((float *)got)[i] : ((double *)got)[i];
	y = kind == FLOATS ? ((float *)want)[i] : ((double *)want)[i];
	/* near nothing, of what was subtracted */
	return fabs(x - y) <= (kind == FLOATS ? 3e-5 : 1e-9) * (fabs(y) + 0.01);
}

/* Both sides have been called: what came of it. */
static void compare(const char *what, int kind, curandStatus_t a, curandStatus_t b)
{
	cudaError_t e = cudaDeviceSynchronize();
	size_t i = 0;

	if (a || b || e) {
		printf("FAIL %s/%s status %d, on the host %d; %s\n", generator, what, a, b, cudaGetErrorString(e));
		bad = 1;
		return;
	}
	cudaMemcpy(got, device, count * bytes_of[kind], cudaMemcpyDeviceToHost);
	while (i < count && same(kind, i))
		i++;
	printf("%s %s/%s", i < count ? "FAIL" : "ok", generator, what);
	if (i < count) {
		printf(" differs from number %zu on", i);
		bad = 1;
	}
	printf("\n");
}

#define BOTH(what, kind, call, ...) compare(what, kind, call(a, device, count, ##__VA_ARGS__), call(b, want, count, ##__VA_ARGS__))

static void all(curandRngType_t type, int quasi)
{
	curandGenerator_t a, b;
	curandStatus_t st = curandCreateGenerator(&a, type), host = curandCreateGeneratorHost(&b, type);

	if (st || host) {
		printf("FAIL %s status %d, on the host %d\n", generator, st, host);
		bad = 1;
		return;
	}
	if (quasi) {
		curandSetQuasiRandomGeneratorDimensions(a, 4);
		curandSetQuasiRandomGeneratorDimensions(b, 4);
	} else {
		curandSetPseudoRandomGeneratorSeed(a, 1234567);
		curandSetPseudoRandomGeneratorSeed(b, 1234567);
	}
	if (quasi == 64)
		BOTH("bits", LONGS, curandGenerateLongLong);
	else
		BOTH("bits", INTEGERS, curandGenerate);
	BOTH("uniform", FLOATS, curandGenerateUniform);
	BOTH("uniform_double", DOUBLES, curandGenerateUniformDouble);
	BOTH("normal", FLOATS, curandGenerateNormal, 1.f, 2.f);
	BOTH("normal_double", DOUBLES, curandGenerateNormalDouble, 0., 1.);
	BOTH("lognormal", FLOATS, curandGenerateLogNormal, 0.f, .5f);
	BOTH("lognormal_double", DOUBLES, curandGenerateLogNormalDouble, 0., .5);
	BOTH("poisson_3", INTEGERS, curandGeneratePoisson, 3.);
	BOTH("poisson_500", INTEGERS, curandGeneratePoisson, 500.);
	BOTH("poisson_5000", INTEGERS, curandGeneratePoisson, 5000.);
	/* documented: not every generator has an offset */
	if (!quasi && !curandSetGeneratorOffset(a, 777) && !curandSetGeneratorOffset(b, 777))
		BOTH("offset", INTEGERS, curandGenerate);
	curandDestroyGenerator(a);
	curandDestroyGenerator(b);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; curandRngType_t type; int quasi; } g[] = {
		{ "xorwow", CURAND_RNG_PSEUDO_XORWOW, 0 }, { "mrg32k3a", CURAND_RNG_PSEUDO_MRG32K3A, 0 },
		{ "philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, 0 }, { "mtgp32", CURAND_RNG_PSEUDO_MTGP32, 0 },
		{ "mt19937", CURAND_RNG_PSEUDO_MT19937, 0 }, { "sobol32", CURAND_RNG_QUASI_SOBOL32, 32 },
		{ "scrambled_sobol32", CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, 32 }, { "sobol64", CURAND_RNG_QUASI_SOBOL64, 64 },
		{ "scrambled_sobol64", CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, 64 },
	};

	count = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;
	if (cudaMalloc(&device, count * 8) || !(got = malloc(count * 8)) || !(want = malloc(count * 8)))
		return 2;
	for (unsigned i = 0; i < sizeof g / sizeof g[0]; i++) {
		generator = g[i].name;
		if (argc < 3 || !strcmp(argv[2], generator))
			all(g[i].type, g[i].quasi);
	}
	return bad;
}
