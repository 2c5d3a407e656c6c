/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of the device: a line for each generator, seed and place in its sequences. cc_random.txt has what NVIDIA's nvcc 13.1 makes
 * of this file with cuRAND 10.4.1's headers (PyPI: nvidia-curand; nvcc -I.../nvidia/cu13/include -arch=compute_75, run by vgpu run --cc 7.5).
 * By vgpu cc with our header whole and uniform numbers are the same to the bit, normal ones within some units of the last place: cc_random.py.
 */
#include <curand_kernel.h>

#include <cstdio>
#include <cstring>

#define CK(call) do { cudaError_t e_ = (call); if (e_) { printf("FAIL %s: %s\n", #call, cudaGetErrorString(e_)); return 1; } } while (0)

struct Case { unsigned long long seed, sequence, offset; };
struct Out { unsigned n[6]; float u[3], g[5], l; double d[3], h[3], m; };

template <typename S> __global__ void draw(const Case *c, Out *out)
{
	const Case t = c[threadIdx.x];
	Out *o = &out[threadIdx.x];
	S s;

	curand_init(t.seed, t.sequence, t.offset, &s);
	for (int i = 0; i < 6; i++)
		o->n[i] = curand(&s);
	for (int i = 0; i < 3; i++)
		o->u[i] = curand_uniform(&s);
	for (int i = 0; i < 3; i++)
		o->g[i] = curand_normal(&s);
	float2 g = curand_normal2(&s);
	o->g[3] = g.x;
	o->g[4] = g.y;
	for (int i = 0; i < 3; i++)
		o->d[i] = curand_uniform_double(&s);
	skipahead(5, &s);
	o->h[0] = curand_normal_double(&s);
	double2 h = curand_normal2_double(&s);
	o->h[1] = h.x;
	o->h[2] = h.y;
	o->l = curand_log_normal(&s, 0.5f, 0.25f);
	skipahead_sequence(3, &s);
	o->m = curand_uniform_double(&s);
}

/* Philox gives four at once. */
__global__ void four(const Case *c, unsigned *n, float *f, double *d)
{
	const Case t = c[threadIdx.x];
	curandStatePhilox4_32_10_t s;

	curand_init(t.seed, t.sequence, t.offset, &s);
	for (int i = 0; i < 2; i++) {
		uint4 x = curand4(&s);
		memcpy(n + threadIdx.x * 8 + 4 * i, &x, sizeof(x));
	}
	float4 u = curand_uniform4(&s), g = curand_normal4(&s);
	memcpy(f + threadIdx.x * 8, &u, sizeof(u));
	memcpy(f + threadIdx.x * 8 + 4, &g, sizeof(g));
	double2 v = curand_uniform2_double(&s);
	memcpy(d + threadIdx.x * 2, &v, sizeof(v));
}

static const Case cases[] = {
	{ 0, 0, 0 }, { 1, 0, 0 }, { 1234, 0, 0 }, { 1234, 1, 0 }, { 1234, 0, 1 }, { 1234, 0, 7 }, { 1234, 5, 3 }, { 0x123456789abcdefull, 1000, 100000 },
	{ ~0ull, 77777777, 123456789012345ull }, { 42, 1ull << 40, 2 },
};
enum { N = sizeof(cases) / sizeof(cases[0]) };

template <typename S> static int lines(const char *name, const Case *c)
{
	static Out out[N];
	Out *o;

	CK(cudaMalloc(&o, sizeof(out)));
	draw<S><<<1, N>>>(c, o);
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(out, o, sizeof(out), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++) {
		printf("%s %d n", name, i);
		for (unsigned n : out[i].n) printf(" %08x", n);
		printf("\n%s %d u", name, i);
		for (float u : out[i].u) printf(" %a", u);
		for (double u : out[i].d) printf(" %a", u);
		printf(" %a\n%s %d g", out[i].m, name, i);
		for (float u : out[i].g) printf(" %.9g", u);
		printf(" %.9g\n%s %d h", out[i].l, name, i);
		for (double u : out[i].h) printf(" %.17g", u);
		printf("\n");
	}
	return 0;
}

int main()
{
	static unsigned n[N * 8];
	static float f[N * 8];
	static double d[N * 2];
	unsigned *dn;
	float *df;
	double *dd;
	Case *c;

	CK(cudaMalloc(&c, sizeof(cases)));
	CK(cudaMemcpy(c, cases, sizeof(cases), cudaMemcpyHostToDevice));
	if (lines<curandStateXORWOW_t>("xorwow", c) || lines<curandStatePhilox4_32_10_t>("philox", c) || lines<curandStateMRG32k3a_t>("mrg", c))
		return 1;
	CK(cudaMalloc(&dn, sizeof(n)));
	CK(cudaMalloc(&df, sizeof(f)));
	CK(cudaMalloc(&dd, sizeof(d)));
	four<<<1, N>>>(c, dn, df, dd);
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(n, dn, sizeof(n), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(f, df, sizeof(f), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(d, dd, sizeof(d), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++) {
		printf("four %d n", i);
		for (int k = 0; k < 8; k++) printf(" %08x", n[8 * i + k]);
		printf("\nfour %d u", i);
		for (int k = 0; k < 4; k++) printf(" %a", f[8 * i + k]);
		printf(" %a %a\nfour %d g", d[2 * i], d[2 * i + 1], i);
		for (int k = 4; k < 8; k++) printf(" %.9g", f[8 * i + k]);
		printf("\n");
	}
	return 0;
}
