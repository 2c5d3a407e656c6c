// SPDX-License-Identifier: MIT
// What strangers' programs call and nvcc's headers have: overloads of the mathematics, numbers of 128 bits, DPX, levels of textures. The device
// against C on the host; nvcc compiles it too (with --expt-relaxed-constexpr).
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

// Bessel functions, against the C library's long doubles and the series itself; near zeros, too
__global__ void bessels(const double *x, const int *n, double *o, float *f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	double v = x[i], *p = o + i * 8;

	p[0] = j0(v); p[1] = j1(v); p[2] = y0(v); p[3] = y1(v); p[4] = jn(n[i], v); p[5] = yn(n[i], v); p[6] = cyl_bessel_i0(v); p[7] = cyl_bessel_i1(v);
	f[i] = j0f((float)v) - y1f((float)v) * 0.0f + jnf(2, (float)v) * 0.0f + cyl_bessel_i0f(0.0f) * 0.0f;
}
static long double bessel_i(int order, long double x)
{
	long double t = x * x / 4, term = order ? x / 2 : 1, s = term;

	for (int k = 1; k < 2000 && term > s * 1e-22L; k++)
		s += term *= t / k / (k + order);
	return s;
}
static int check_bessels()
{
	const int n = 1024;
	static const double zeros[] = { 2.404825557695773, 3.8317059702075125, 0.8935769662791675, 2.197141326031017, 5.520078110286311, 5.429681040794135 };
	static const double bound[] = { 7, 7, 7, 7, 0, 0, 6, 6 };
	double *x, *o;
	float *f;
	int *order, bad = 0;

	CK(cudaMallocManaged(&x, n * sizeof(*x))); CK(cudaMallocManaged(&o, n * 8 * sizeof(*o))); CK(cudaMallocManaged(&f, n * sizeof(*f))); CK(cudaMallocManaged(&order, n * sizeof(int)));
	for (int i = 0; i < n; i++) {
		x[i] = i % 4 == 0 ? zeros[i / 4 % 6] + ldexp(i - 500.5, -14) : i % 4 == 1 ? 8.0 * (i + 1) / n : i % 4 == 2 ? 0.7 * i + 0.001 : 40.0 * (i + 1) / n;
		order[i] = i * 7 % 129;
	}
	bessels<<<n / 64, 64>>>(x, order, o, f);
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++) {
		long double v = x[i], want[8] = { j0l(v), j1l(v), y0l(v), y1l(v), jnl(order[i], v), ynl(order[i], v), bessel_i(0, v), bessel_i(1, v) };

		for (int k = 0; k < 8; k++) {
			long double off = fabsl(o[i * 8 + k] - want[k]), unit = ldexpl(1, ilogbl(want[k]) - 52);

			if (isinf((double)want[k]) ? o[i * 8 + k] != (double)want[k] : k < 6 && (k > 3 || v >= 8) ? off > (k == 5 ? 1e-11L * fabsl(want[k]) + 5e-12L : 2.5e-12L) : off > bound[k] * unit)
				if (bad++ < 5)
					printf("bessel %d of %d, %.17g: %.17g, not %.17Lg\n", k, order[i], x[i], o[i * 8 + k], want[k]);
		}
		bad += !(fabsl(f[i] - j0l((float)x[i])) <= 2.2e-6L);
	}
	return bad;
}

// DPX: each by sums of 64 bits and by sorting
typedef long long wide;
template <class T> __host__ __device__ wide best(int kind, wide a, wide b, wide c)
{
	wide s = (T)(a + b);

	return kind == 0 ? (s > c ? s : c) : kind == 1 ? (s < c ? s : c) : kind == 2 ? (a > b ? a > c ? a : c : b > c ? b : c) : (a < b ? a < c ? a : c : b < c ? b : c);
}
template <class T> __host__ __device__ unsigned word(int kind, unsigned a, unsigned b, unsigned c, bool relu)
{
	unsigned r = 0;

	for (int i = 0; i < 32; i += 8 * sizeof(T)) {
		wide v = best<T>(kind, (T)(a >> i), (T)(b >> i), (T)(c >> i));
		r |= (unsigned)(sizeof(T) == 4 ? v < 0 && relu ? 0 : v : (v < 0 && relu ? 0 : v) & 0xffff) << i;
	}
	return r;
}
#define DPX(kind, name) \
	bad += (unsigned)name##_s32((int)a, (int)b, (int)c) != word<int>(kind, a, b, c, false); bad += name##_u32(a, b, c) != word<unsigned>(kind, a, b, c, false); \
	bad += name##_s16x2(a, b, c) != word<short>(kind, a, b, c, false); bad += name##_u16x2(a, b, c) != word<unsigned short>(kind, a, b, c, false); \
	bad += (unsigned)name##_s32_relu((int)a, (int)b, (int)c) != word<int>(kind, a, b, c, true); bad += name##_s16x2_relu(a, b, c) != word<short>(kind, a, b, c, true);
#define VIB(name, kind, op) \
	{ bool p, q; \
	bad += (unsigned)name##_s32((int)a, (int)b, &p) != word<int>(kind, a, b, b, false) || p != ((int)a op (int)b); \
	bad += name##_u32(a, b, &p) != word<unsigned>(kind, a, b, b, false) || p != (a op b); \
	bad += name##_s16x2(a, b, &p, &q) != word<short>(kind, a, b, b, false) || p != ((short)(a >> 16) op (short)(b >> 16)) || q != ((short)a op (short)b); \
	bad += name##_u16x2(a, b, &p, &q) != word<unsigned short>(kind, a, b, b, false) || p != (a >> 16 op b >> 16) || q != ((a & 0xffff) op (b & 0xffff)); }
__host__ __device__ static int dpx(unsigned a, unsigned b, unsigned c)
{
	int bad = 0;

	DPX(0, __viaddmax) DPX(1, __viaddmin) DPX(2, __vimax3) DPX(3, __vimin3)
	VIB(__vibmax, 2, >=) VIB(__vibmin, 3, <=)
	bad += (unsigned)__vimax_s32_relu((int)a, (int)b) != word<int>(2, a, b, b, true); bad += (unsigned)__vimin_s32_relu((int)a, (int)b) != word<int>(3, a, b, b, true);
	bad += __vimax_s16x2_relu(a, b) != word<short>(2, a, b, b, true); bad += __vimin_s16x2_relu(a, b) != word<short>(3, a, b, b, true);
	return bad;
}
__device__ static unsigned nth(unsigned mask, unsigned base, int n)
{
	int left = n < 0 ? -n : n, step = n < 0 ? -1 : 1;

	if (!n)
		return mask >> base & 1 ? base : 0xffffffff;
	for (int i = (int)base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && !--left)
			return (unsigned)i;
	return 0xffffffff;
}
__global__ void words(const in *r, int *bad)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
	unsigned a = (unsigned)(u64)r[i].p, b = i % 4 ? (unsigned)(u64)r[i].q : a ^ 0x8000, c = i % 5 ? (unsigned)r[i].n : 0x7fff8000;
	short2 s = make_short2((short)a, (short)(a >> 16));
	char4 q = make_char4((signed char)b, (signed char)(b >> 8), (signed char)(b >> 16), (signed char)(b >> 24));

	n += dpx(a, b, c);
	n += __dp2a_lo(s, q, 5) != (int)((unsigned)(s.x * q.x) + (unsigned)(s.y * q.y) + 5u) || __dp2a_hi(s, q, 5) != (int)((unsigned)(s.x * q.z) + (unsigned)(s.y * q.w) + 5u);
	n += __dp2a_hi(make_ushort2(7, 9), make_uchar4(1, 2, 200, 255), 1u) != 7 * 200 + 9 * 255 + 1 || __dp2a_lo(make_ushort2(7, 9), make_uchar4(1, 2, 200, 255), 1u) != 26;
	n += __fns(a, c & 31, (int)(b & 15) - 8) != nth(a, c & 31, (int)(b & 15) - 8);
	n += !__uni_sync(~0u, 3) || !__uni_sync(~0u, 0) || __uni_sync(~0u, threadIdx.x == 7) != (threadIdx.x >= 32);
	atomicAdd(bad, n);
}

// each level of a mipmapped array has its own number as value: of level 1.5 it is 1.5
__global__ void levels(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3, cudaTextureObject_t a2, float *o)
{
	float4 z = make_float4(0.25f, 0, 0, 0), none = make_float4(0, 0, 0, 0), got;

	o[0] = tex1DLod<float4>(t1, 0.3f, 1.5f).x; o[1] = tex2DLod<float4>(t2, 0.3f, 0.6f, 2.25f).y; o[2] = tex3DLod<float4>(t3, 0.3f, 0.6f, 0.2f, 0.5f).z;
	o[3] = tex2DLayeredLod<float4>(a2, 0.3f, 0.6f, 2, 1).w; o[4] = tex1DGrad<float4>(t1, 0.3f, 0.25f, 0).x;
	o[5] = tex2DGrad<float4>(t2, 0.3f, 0.6f, make_float2(0, 0.125f), make_float2(0.0625f, 0)).x; o[6] = tex3DGrad<float4>(t3, 0.3f, 0.6f, 0.2f, z, none).x;
	o[7] = tex2DLayeredGrad<float4>(a2, 0.3f, 0.6f, 1, make_float2(0.25f, 0), make_float2(0, 0)).x;
	tex2DLod(&got, t2, 0.1f, 0.2f, 9);
	o[8] = got.x;
}
static cudaTextureObject_t mipmapped(int w, int h, int d, unsigned flags)
{
	cudaChannelFormatDesc f = cudaCreateChannelDescHalf4();
	cudaMipmappedArray_t m;
	cudaTextureObject_t t;
	cudaResourceDesc r = {};
	cudaTextureDesc how = {};
	static unsigned short texels[16 * 16 * 16 * 4];
	static const unsigned short halves[4] = { 0, 0x3c00, 0x4000, 0x4200 };

	CK(cudaMallocMipmappedArray(&m, &f, make_cudaExtent(w, h, d), 4, flags));
	for (int l = 0; l < 4; l++) {
		cudaMemcpy3DParms p = {};

		for (unsigned short &v : texels)
			v = halves[l];
		CK(cudaGetMipmappedArrayLevel(&p.dstArray, m, l));
		p.extent = make_cudaExtent(w >> l, h ? h >> l : 1, flags & cudaArrayLayered ? d : d ? d >> l : 1);
		p.srcPtr = make_cudaPitchedPtr(texels, (w >> l) * 8, w >> l, p.extent.height);
		p.kind = cudaMemcpyHostToDevice;
		CK(cudaMemcpy3D(&p));
	}
	r.resType = cudaResourceTypeMipmappedArray;
	r.res.mipmap.mipmap = m;
	how.normalizedCoords = 1;
	how.filterMode = how.mipmapFilterMode = cudaFilterModeLinear;
	how.maxMipmapLevelClamp = 3;
	CK(cudaCreateTextureObject(&t, &r, &how, nullptr));
	return t;
}
static int textures()
{
	static const float want[9] = { 1.5f, 2.25f, 0.5f, 1, 2, 1, 2, 2, 3 };
	float *o, have[9];
	int bad = 0;

	CK(cudaMalloc(&o, sizeof(have)));
	levels<<<1, 1>>>(mipmapped(16, 0, 0, 0), mipmapped(16, 16, 0, 0), mipmapped(16, 16, 16, 0), mipmapped(16, 16, 3, cudaArrayLayered), o);
	CK(cudaMemcpy(have, o, sizeof(have), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 9; i++)
		if (fabsf(have[i] - want[i]) > 0.01f && ++bad)
			printf("texture %d: %g, not %g\n", i, have[i], want[i]);
	return bad;
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
	int n_words = 0, *d_words = (int *)o;
	CK(cudaMemset(d_words, 0, sizeof(n_words)));
	words<<<N / 128, 128>>>(d, d_words);
	CK(cudaMemcpy(&n_words, d_words, sizeof(n_words), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		n_words += dpx((unsigned)(u64)h[i].p, (unsigned)(u64)h[i].q, (unsigned)h[i].n);
	if (n_words)
		printf("words: %d\n", n_words);
	bad += n_words + textures() + check_bessels();
	printf("result: %d wrong\n", bad);
	return bad != 0;
}
