// SPDX-License-Identifier: MIT
// What strangers' programs call and nvcc's headers have: overloads of the mathematics, numbers of 128 bits. The device against C on the host;
// nvcc compiles it too (with --expt-relaxed-constexpr).
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

typedef unsigned long long u64;
typedef unsigned __int128 u128;
typedef __int128 s128;
#define N 8192
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)

struct in { float a, b; double x, y; int n; long m; u128 p, q; };
__host__ __device__ static u64 bits(float f) { unsigned u; memcpy(&u, &f, 4); return f != f ? 0x7fffffffu : u; }
__host__ __device__ static u64 bits(double f) { u64 u; memcpy(&u, &f, 8); return f != f ? 0x7fffffffffffffffull : u; }
__host__ __device__ static u64 bits(int i) { return (unsigned)i; }
__host__ __device__ static u64 bits(long i) { return (u64)i; }
__host__ __device__ static u64 bits(long long i) { return (u64)i; }
__host__ __device__ static u64 bits(u128 v) { return (u64)v ^ (u64)(v >> 64) * 0x9e3779b97f4a7c15ull; }
__host__ __device__ static u64 bits(s128 v) { return bits((u128)v); }
template <class T> struct is { };
template <class T, class U> __host__ __device__ u64 typed(U v) { static_assert(sizeof(is<T> *) && sizeof(T) == sizeof(U), "type"); return bits((T)v); }

// the same call on both sides, its result of this type
#define SAME(F) \
	F(float, ldexp(r.a, r.n)) F(float, std::ldexp(r.a, r.n)) F(float, ldexpf(r.a, r.n)) F(double, ldexp(r.x, r.n)) F(double, ldexp(r.n, r.n & 15)) \
	F(float, scalbn(r.a, r.n)) F(float, std::scalbn(r.a, r.n)) F(float, scalbln(r.a, r.m)) F(double, scalbln(r.x, r.m)) F(float, scalblnf(r.a, r.m)) \
	F(int, ilogb(r.a)) F(int, std::ilogb(r.a)) F(int, ilogb(r.x)) F(int, ilogb(r.n)) F(float, nextafter(r.a, r.b)) F(float, std::nextafter(r.a, r.b)) \
	F(long, lrint(near(r.a))) F(long, std::lrint(near(r.a))) F(long, lrintf(near(r.a))) F(long, lrint(r.n)) F(long long, llrint(near(r.a))) F(long long, llrintf(near(r.a))) \
	F(long, lround(near(r.a))) F(long, lroundf(near(r.a))) F(long long, llround(near(r.a))) F(long long, std::llround(near(r.a))) F(long long, llroundf(near(r.a))) \
	F(float, remainder_of(r.a, r.b)) F(double, remainder_of(r.x, r.y)) F(float, whole_of(r.a)) F(float, frexp_of(r.a)) \
	F(double, floor(r.n)) F(double, std::sqrt(r.n & 0xffff)) F(double, sqrt(r.n & 0xffff)) F(double, fabs(r.n)) F(double, fmod(r.n, 7)) F(double, fmod(r.a, r.x)) \
	F(double, copysign(r.x, r.n)) F(double, fmax(r.n, r.x + 0.5)) F(double, fdim(r.n, 3.5f))
#define WIDE(F) \
	F(u128, r.p / r.q) F(u128, r.p % r.q) F(s128, (s128)r.p / (s128)r.q) F(s128, (s128)r.p % (s128)r.q) F(u128, r.p / (u64)r.q) F(s128, (s128)r.p / 10) F(u128, r.q % 1000000007u)
__host__ __device__ static float near(float x) { return x > 1e9f || x < -1e9f || x != x ? 2.5f : x; }
__host__ __device__ static float remainder_of(float x, float y) { int q = 99; float v = std::remquo(x, y, &q); return v != v ? v : v + (q & 7); }
__host__ __device__ static double remainder_of(double x, double y) { int q = 99; double v = remquo(x, y, &q); return v != v ? v : v + (q & 7) * 64 + (q < 0 && q & 7); }
__host__ __device__ static float whole_of(float x) { float w; return modf(x, &w) + w * 0.5f; }
__host__ __device__ static float frexp_of(float x) { int n; float f = std::frexp(x, &n); return f + (x - x == 0 ? n : 0); }

#define EVALUATE(type, expr) o[at++] = typed<type>(expr);
#define ONE(type, expr) at++;
constexpr int count() { int at = 0; SAME(ONE) WIDE(ONE) return at; }
__host__ __device__ static void all(const in &r, u64 *o) { int at = 0; SAME(EVALUATE) WIDE(EVALUATE) }
__global__ void each(const in *r, u64 *o) { int i = blockIdx.x * blockDim.x + threadIdx.x; all(r[i], o + i * count()); }
#define NAME(type, expr) #expr,
static const char *const names[] = { SAME(NAME) WIDE(NAME) };

// approximate, or on the device only
__global__ void others(double *o, const double *p, const float *f, const int *n)
{
	o[0] = cos(n[0]); o[1] = std::sin(n[0]); o[2] = exp(n[1]); o[3] = pow(n[0], 2.5); o[4] = std::atan2(n[0], n[1]); o[5] = log(n[0]); o[6] = cbrt(n[0]); o[7] = hypot(n[0], 4);
	o[8] = norm(5, p); o[9] = rnorm(5, p); o[10] = normf(5, f); o[11] = rnormf(5, f); o[12] = fdivide(p[0], p[1]);
}

static unsigned seed = 5;
static unsigned any() { seed = seed * 1664525u + 1013904223u; return seed >> 8 ^ seed << 16; }
static u64 any64() { u64 h = any(); return h << 32 | any(); }
static double real(int i)
{
	static const double edges[] = { 0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 2.5, -0.5, 3.5, 1e-310, 5e-324, 1.7e308, 1e-40, 3e38 };
	u64 b = any64();
	double d;

	memcpy(&d, &b, 8);
	return any() % 8 == 0 ? edges[any() % 15] : i & 1 ? ldexp((double)(int)any(), -24) : d == d ? d : 1;
}

int main()
{
	static in h[N];
	static u64 have[N * count()], want[count()];
	int bad = 0, n[2] = { 3, -2 };
	double p[5] = { 3, -4, 12, 84, 0 }, res[13], big[5] = { 3e200, 4e200, 0, 0, 0 };
	float f[5] = { 3, -4, 12, 84, 0 };
	in *d;
	u64 *o;

	for (int i = 0; i < N; i++) {
		h[i].x = real(i); h[i].y = i % 3 ? real(i) : h[i].x / (1 + any() % 9); h[i].a = (float)real(i | 1); h[i].b = i % 3 ? (float)real(i | 1) : h[i].a * 0.125f;
		h[i].n = (int)any() >> (any() & 31); h[i].m = (long)any64() >> (any() & 63);
		h[i].p = ((u128)any64() << 64 | any64()) >> (any() & 127); h[i].q = ((u128)any64() << 64 | any64()) >> (any() & 127);
		if (!(u64)h[i].q)
			h[i].q |= 1;
		if (any() & 1)
			h[i].p = -h[i].p;
		if (any() & 1)
			h[i].q = -h[i].q;
	}
	h[0].p = (u128)1 << 127; h[0].q = 3; h[1].p = ~(u128)0; h[1].q = 1; h[2].p = h[2].q;
	CK(cudaMalloc(&d, sizeof(h))); CK(cudaMalloc(&o, sizeof(have)));
	CK(cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice));
	each<<<N / 128, 128>>>(d, o);
	CK(cudaMemcpy(have, o, sizeof(have), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++) {
		all(h[i], want);
		for (int k = 0; k < count(); k++)
			if (have[i * count() + k] != want[k] && bad++ < 20)
				printf("%s: %llx, not %llx (a %a b %a x %a y %a n %d m %ld)\n", names[k], have[i * count() + k], want[k], h[i].a, h[i].b, h[i].x, h[i].y, h[i].n, h[i].m);
	}
	const double right[13] = { cos(3.0), sin(3.0), exp(-2.0), pow(3, 2.5), atan2(3, -2), log(3.0), cbrt(3.0), 5, 85, 1 / 85.0, 85, 1 / 85.0, -0.75 };
	double *dp;
	float *df;
	int *dn;
	CK(cudaMalloc(&dp, sizeof(p) * 8)); CK(cudaMalloc(&df, sizeof(f))); CK(cudaMalloc(&dn, sizeof(n)));
	CK(cudaMemcpy(dp, p, sizeof(p), cudaMemcpyHostToDevice)); CK(cudaMemcpy(df, f, sizeof(f), cudaMemcpyHostToDevice)); CK(cudaMemcpy(dn, n, sizeof(n), cudaMemcpyHostToDevice));
	others<<<1, 1>>>(dp + 8, dp, df, dn);
	CK(cudaMemcpy(res, dp + 8, sizeof(res), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 13; i++)
		if (!(fabs(res[i] - right[i]) <= 2e-7 * fabs(right[i])) && ++bad)
			printf("other %d: %.17g, not %.17g\n", i, res[i], right[i]);
	CK(cudaMemcpy(dp, big, sizeof(big), cudaMemcpyHostToDevice));
	others<<<1, 1>>>(dp + 8, dp, df, dn);
	CK(cudaMemcpy(res, dp + 8, sizeof(res), cudaMemcpyDeviceToHost));
	if (!(fabs(res[8] / 5e200 - 1) < 1e-15) && ++bad)
		printf("norm of what is great: %g\n", res[8]);
	printf("result: %d wrong\n", bad);
	return bad != 0;
}
