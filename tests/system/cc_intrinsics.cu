// SPDX-License-Identifier: MIT
// What device code calls by CUDA's names, against C on the host: roundings by fesetround(), integers by wider ones, bytes one by one, special
// functions by long double and by their inverses; textures and surfaces by the array itself.
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef unsigned long long u64;
#define N 4096
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)

struct in { float a, b, c; double x, y, z; unsigned u, v, w; u64 p, q; };
static u64 bits(float f) { unsigned u; memcpy(&u, &f, 4); return f != f ? 0x7fffffffu : u; }
static u64 bits(double f) { u64 u; memcpy(&u, &f, 8); return f != f ? 0x7fffffffffffffffull : u; }
static u64 bits(int i) { return (unsigned)i; }
static u64 bits(unsigned i) { return i; }
static u64 bits(long long i) { return (u64)i; }
static u64 bits(u64 i) { return i; }
static int wrong;
static void look(const char *name, int i, u64 got, u64 want)
{
	if (got != want && wrong++ < 10)
		printf("%s of row %d: %llx, not %llx\n", name, i, got, want);
}

// EACH(name, type, device expression, host expression, rounding of the host)
#define ROUNDED(F, s, mode) \
	F(fadd_##s, float, __fadd_##s(r.a, r.b), r.a + r.b, mode) F(fsub_##s, float, __fsub_##s(r.a, r.b), r.a - r.b, mode) \
	F(fmul_##s, float, __fmul_##s(r.a, r.b), r.a * r.b, mode) F(fdiv_##s, float, __fdiv_##s(r.a, r.b), r.a / r.b, mode) \
	F(frcp_##s, float, __frcp_##s(r.a), 1.0f / r.a, mode) F(fsqrt_##s, float, __fsqrt_##s(fabsf(r.a)), sqrtf(fabsf(r.a)), mode) \
	F(fmaf_##s, float, __fmaf_##s(r.a, r.b, r.c), fmaf(r.a, r.b, r.c), mode) \
	F(dadd_##s, double, __dadd_##s(r.x, r.y), r.x + r.y, mode) F(dsub_##s, double, __dsub_##s(r.x, r.y), r.x - r.y, mode) \
	F(dmul_##s, double, __dmul_##s(r.x, r.y), r.x * r.y, mode) F(ddiv_##s, double, __ddiv_##s(r.x, r.y), r.x / r.y, mode) \
	F(drcp_##s, double, __drcp_##s(r.x), 1.0 / r.x, mode) F(dsqrt_##s, double, __dsqrt_##s(fabs(r.x)), sqrt(fabs(r.x)), mode) \
	F(fma_##s, double, __fma_##s(r.x, r.y, r.z), fma(r.x, r.y, r.z), mode) \
	F(double2float_##s, float, __double2float_##s(r.x), (float)r.x, mode) F(int2float_##s, float, __int2float_##s((int)r.u), (float)(int)r.u, mode) \
	F(uint2float_##s, float, __uint2float_##s(r.u), (float)r.u, mode) F(ll2float_##s, float, __ll2float_##s((long long)r.p), (float)(long long)r.p, mode) \
	F(ll2double_##s, double, __ll2double_##s((long long)r.p), (double)(long long)r.p, mode) \
	F(float2int_##s, int, __float2int_##s(r.a), (int)nearbyintf(r.a), mode) F(float2ll_##s, long long, __float2ll_##s(r.a * 1048576.0f), (long long)nearbyintf(r.a * 1048576.0f), mode) \
	F(double2int_##s, int, __double2int_##s(r.x), (int)nearbyint(r.x), mode) F(double2uint_##s, unsigned, __double2uint_##s(fabs(r.x)), (unsigned)nearbyint(fabs(r.x)), mode) \
	F(double2ll_##s, long long, __double2ll_##s(r.x * 1073741824.0), (long long)nearbyint(r.x * 1073741824.0), mode)
#define OTHERS(F) \
	F(ffsll, int, __ffsll((long long)(r.p & r.q)), __builtin_ffsll((long long)(r.p & r.q)), FE_TONEAREST) \
	F(byte_perm, unsigned, __byte_perm(r.u, r.v, r.w), perm(r.u, r.v, r.w), FE_TONEAREST) \
	F(brevll, u64, __brevll(r.p), rev(r.p), FE_TONEAREST) \
	F(funnel_l, unsigned, __funnelshift_l(r.u, r.v, r.w), (unsigned)((((u64)r.v << 32 | r.u) << (r.w & 31)) >> 32), FE_TONEAREST) \
	F(funnel_r, unsigned, __funnelshift_r(r.u, r.v, r.w), (unsigned)(((u64)r.v << 32 | r.u) >> (r.w & 31)), FE_TONEAREST) \
	F(funnel_lc, unsigned, __funnelshift_lc(r.u, r.v, r.w & 63), (r.w & 63) >= 32 ? r.u : (unsigned)((((u64)r.v << 32 | r.u) << (r.w & 31)) >> 32), FE_TONEAREST) \
	F(funnel_rc, unsigned, __funnelshift_rc(r.u, r.v, r.w & 63), (r.w & 63) >= 32 ? r.v : (unsigned)(((u64)r.v << 32 | r.u) >> (r.w & 31)), FE_TONEAREST) \
	F(mul24, int, __mul24((int)r.u, (int)r.v), (int)((long long)((int)(r.u << 8) >> 8) * ((int)(r.v << 8) >> 8)), FE_TONEAREST) \
	F(umul24, unsigned, __umul24(r.u, r.v), (r.u & 0xffffff) * (r.v & 0xffffff), FE_TONEAREST) \
	F(mul64hi, long long, __mul64hi((long long)r.p, (long long)r.q), (long long)(((__int128)(long long)r.p * (long long)r.q) >> 64), FE_TONEAREST) \
	F(umul64hi, u64, __umul64hi(r.p, r.q), (u64)(((unsigned __int128)r.p * r.q) >> 64), FE_TONEAREST) \
	F(sad, unsigned, __sad((int)r.u, (int)r.v, r.w), (unsigned)(llabs((long long)(int)r.u - (int)r.v) + r.w), FE_TONEAREST) \
	F(usad, unsigned, __usad(r.u, r.v, r.w), (unsigned)(llabs((long long)r.u - r.v) + r.w), FE_TONEAREST) \
	F(hadd, int, __hadd((int)r.u, (int)r.v), (int)(((long long)(int)r.u + (int)r.v) >> 1), FE_TONEAREST) \
	F(urhadd, unsigned, __urhadd(r.u, r.v), (unsigned)(((u64)r.u + r.v + 1) >> 1), FE_TONEAREST) \
	F(dp4a, int, __dp4a((int)r.u, (int)r.v, (int)r.w), dp4a(r.u, r.v, r.w), FE_TONEAREST) \
	F(vadd4, unsigned, __vadd4(r.u, r.v), V(4, unsigned, x + y), FE_TONEAREST) F(vsub2, unsigned, __vsub2(r.u, r.v), V(2, unsigned, x - y), FE_TONEAREST) \
	F(vaddss4, unsigned, __vaddss4(r.u, r.v), V(4, int, x + y > 127 ? 127 : x + y < -128 ? -128 : x + y), FE_TONEAREST) \
	F(vsubus2, unsigned, __vsubus2(r.u, r.v), V(2, unsigned, x < y ? 0 : x - y), FE_TONEAREST) \
	F(vabsdiffu4, unsigned, __vabsdiffu4(r.u, r.v), V(4, unsigned, x < y ? y - x : x - y), FE_TONEAREST) \
	F(vavgs2, unsigned, __vavgs2(r.u, r.v), V(2, int, (x + y + (x + y >= 0)) >> 1), FE_TONEAREST) \
	F(vmaxs4, unsigned, __vmaxs4(r.u, r.v), V(4, int, x > y ? x : y), FE_TONEAREST) F(vminu2, unsigned, __vminu2(r.u, r.v), V(2, unsigned, x < y ? x : y), FE_TONEAREST) \
	F(vcmpgts4, unsigned, __vcmpgts4(r.u, r.v), V(4, int, x > y ? -1 : 0), FE_TONEAREST) F(vseteq2, unsigned, __vseteq2(r.u, r.v & 0xffff), V1(2, unsigned, r.u, r.v & 0xffff, x == y), FE_TONEAREST) \
	F(vnegss4, unsigned, __vnegss4(r.u), V(4, int, (void(y), x == -128 ? 127 : -x)), FE_TONEAREST) \
	F(hiloint, double, __hiloint2double(__double2hiint(r.x), __double2loint(r.x)), r.x, FE_TONEAREST) \
	F(saturate, float, __saturatef(r.a), r.a > 0 ? fminf(r.a, 1) : 0, FE_TONEAREST) \
	F(nextafter, double, nextafter(r.x, r.y), nextafter(r.x, r.y), FE_TONEAREST) F(nextafterf, float, nextafterf(r.a, r.b), nextafterf(r.a, r.b), FE_TONEAREST) \
	F(ilogb, int, ilogb(r.x), ilogb(r.x), FE_TONEAREST) F(logbf, float, logbf(r.a), logbf(r.a), FE_TONEAREST) \
	F(llrint, long long, llrint(r.x), llrint(r.x), FE_TONEAREST) F(llround, long long, llroundf(r.a), llroundf(r.a), FE_TONEAREST) \
	F(kinds, int, isnan(r.a) | isinf(1 / (r.a - r.a)) << 1 | isfinite(r.x) << 2 | signbit(r.y) << 3, (r.a != r.a) | (r.a - r.a != 0 || 1 ? 2 : 0) | 4 | (__builtin_signbit(r.y) ? 8 : 0), FE_TONEAREST) \
	F(minmax, long long, llmin((long long)r.p, (long long)r.q) ^ (long long)ullmax(r.p, r.q), ((long long)r.p < (long long)r.q ? (long long)r.p : (long long)r.q) ^ (long long)(r.p > r.q ? r.p : r.q), FE_TONEAREST) \
	F(cached, unsigned, __ldcg(&r.u) ^ __ldcv(&r.v) ^ __ldcs(&r.w), r.u ^ r.v ^ r.w, FE_TONEAREST) \
	F(copied, float, copied(r), r.b, FE_TONEAREST)

static unsigned perm(unsigned a, unsigned b, unsigned s)
{
	u64 all = (u64)b << 32 | a;
	unsigned r = 0;

	for (int i = 0; i < 4; i++)
		r |= (unsigned)(all >> (s >> 4 * i & 7) * 8 & 255) << 8 * i;
	return r;
}
static u64 rev(u64 v) { u64 r = 0; for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i); return r; }
static int dp4a(unsigned a, unsigned b, unsigned c) { for (int i = 0; i < 32; i += 8) c += (unsigned)((signed char)(a >> i) * (signed char)(b >> i)); return (int)c; }
#define V1(n, T, A, B, expr) ([&] { unsigned r_ = 0; for (int i = 0; i < 32; i += 32 / n) { \
	T x = (T)((A) << (32 - 32 / n - i)) >> (32 - 32 / n), y = (T)((B) << (32 - 32 / n - i)) >> (32 - 32 / n); \
	r_ |= ((unsigned)(expr) & (unsigned)((1ull << 32 / n) - 1)) << i; } return r_; }())
#define V(n, T, expr) V1(n, T, r.u, r.v, expr)
__device__ float copied(const in &r) { float f; char t[4]; memset(t, 1, 4); memcpy(t, &r.b, 4); memmove(&f, t, 4); return f; }

#define KERNEL(name, type, dev, host, mode) __global__ void k_##name(const in *t, type *o) { int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); const in &r = t[i]; o[i] = dev; }
#define CHECK(name, type, dev, host, mode) { \
	k_##name<<<N / 128, 128>>>(t, (type *)o); CK(cudaDeviceSynchronize()); \
	for (int i = 0; i < N; i++) { const volatile in &r = t[i]; fesetround(mode); volatile type want = host; fesetround(FE_TONEAREST); look(#name, i, bits(((type *)o)[i]), bits((type)want)); } }
ROUNDED(KERNEL, rn, 0) ROUNDED(KERNEL, rz, 0) ROUNDED(KERNEL, rd, 0) ROUNDED(KERNEL, ru, 0) OTHERS(KERNEL)

// special functions, by what undoes them or by long double; in units of the last place
__global__ void special(const double *x, double *o)
{
	int i = (int)threadIdx.x;
	double v = x[i];

	o[i] = erfinv(v / 32);
	o[64 + i] = erfcinv(exp2(-v * v / 4));
	o[128 + i] = tgamma(v / 3 + 0.1);
	o[192 + i] = lgamma(v * 3 + 40.25);
	o[256 + i] = normcdfinv(0.5 + v / 70);
	o[320 + i] = erfcx(v);
	o[384 + i] = rcbrt(v + 40);
	o[448 + i] = norm3d(v, 2, 3);
}
__global__ void image(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o, int w, int h)
{
	int x = (int)threadIdx.x, y = (int)blockIdx.x;

	o[y * w + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
	float4 v = surf2Dread<float4>(s, x * 16, y, cudaBoundaryModeZero);
	__syncthreads();
	v.x += 1000;
	surf2Dwrite(v, s, x * 16, y);
	o[w * h + y * w + x] = surf2Dread<float4>(s, x * 16 - 16, y, cudaBoundaryModeZero);
}

static double ulps(double got, long double want)
{
	int e;

	frexpl(want, &e);
	return fabs((double)((got - want) / ldexpl(1, e - 53)));
}

int main()
{
	in *t;
	u64 *o, seed = 1;

	CK(cudaMallocManaged(&t, N * sizeof(*t)));
	CK(cudaMallocManaged(&o, N * sizeof(*o)));
	auto next = [&] { seed = seed * 6364136223846793005ull + 1442695040888963407ull; return seed >> 11; };
	for (int i = 0; i < N; i++) {
		auto real = [&](int most) { return ((double)next() / 0x1p53 - 0.5) * exp2((double)(next() % (unsigned)(2 * most)) - most); };
		t[i] = { (float)real(20), (float)real(20), (float)real(30), real(28), real(28), real(40), (unsigned)next(), (unsigned)next(), (unsigned)next(), next() * next(), next() * next() };
	}
	ROUNDED(CHECK, rn, FE_TONEAREST) ROUNDED(CHECK, rz, FE_TOWARDZERO) ROUNDED(CHECK, rd, FE_DOWNWARD) ROUNDED(CHECK, ru, FE_UPWARD) OTHERS(CHECK)

	double *x, *y, worst[8] = { 0 };
	CK(cudaMallocManaged(&x, 64 * sizeof(*x)));
	CK(cudaMallocManaged(&y, 512 * sizeof(*y)));
	for (int i = 0; i < 64; i++)
		x[i] = (i - 31.5) * 0.97;
	special<<<1, 64>>>(x, y);
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < 64; i++) {
		long double v = x[i], g;
		double c;
		// the inverse of the result, by how far its argument may be off
		auto back = [&](long double at, long double is, long double slope, double got) { int e; frexp(got, &e); return fabs((double)((is - at) / (slope * ldexpl(1, e - 53)))); };
		g = y[i];
		c = back((double)v / 32, erfl(g), 1.1283791670955126L * expl(-g * g), y[i]);
		worst[0] = fmax(worst[0], fabs(x[i] / 32) < 0.99 ? c : 0);
		g = y[64 + i];
		worst[1] = fmax(worst[1], back(exp2(-x[i] * x[i] / 4), erfcl(g), 1.1283791670955126L * expl(-g * g), y[64 + i]));
		worst[2] = fmax(worst[2], ulps(y[128 + i], tgammal(x[i] / 3 + 0.1)));
		if (x[i] * 3 + 40.25 > 3)
			worst[3] = fmax(worst[3], ulps(y[192 + i], lgammal(x[i] * 3 + 40.25)));
		g = y[256 + i];
		worst[4] = fmax(worst[4], back(0.5 + x[i] / 70, 0.5L * erfcl(-g * 0.70710678118654752440L), 0.3989422804014327L * expl(-g * g / 2), y[256 + i]));
		if (x[i] > 0 && x[i] < 12)
			worst[5] = fmax(worst[5], ulps(y[320 + i], expl(v * v) * erfcl(v)));
		worst[6] = fmax(worst[6], ulps(y[384 + i], 1 / cbrtl(v + 40)));
		worst[7] = fmax(worst[7], ulps(y[448 + i], sqrtl(v * v + 13)));
	}
	static const char *const names[] = { "erfinv", "erfcinv", "tgamma", "lgamma", "normcdfinv", "erfcx", "rcbrt", "norm3d" };
	static const double bound[] = { 8, 40, 120, 24, 200, 400, 3, 3 };
	for (int k = 0; k < 8; k++) {
		printf("%s: %.1f ulp\n", names[k], worst[k]);
		if (!(worst[k] <= bound[k]))
			wrong++;
	}

	// an image of 16 x 8: fetched, written as a surface
	const int w = 16, h = 8;
	cudaArray_t a;
	cudaChannelFormatDesc d = cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
	CK(cudaMallocArray(&a, &d, w, h, cudaArraySurfaceLoadStore));
	static float4 src[w * h];
	for (int i = 0; i < w * h; i++)
		src[i] = make_float4((float)i, i + 0.25f, i + 0.5f, -(float)i);
	CK(cudaMemcpy2DToArray(a, 0, 0, src, w * 16, w * 16, h, cudaMemcpyHostToDevice));
	cudaResourceDesc res = {};
	cudaTextureDesc how = {};
	res.resType = cudaResourceTypeArray;
	res.res.array.array = a;
	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	how.readMode = cudaReadModeElementType;
	cudaTextureObject_t tex;
	cudaSurfaceObject_t surf;
	CK(cudaCreateTextureObject(&tex, &res, &how, nullptr));
	CK(cudaCreateSurfaceObject(&surf, &res));
	float4 *f;
	CK(cudaMallocManaged(&f, 2 * sizeof(src)));
	image<<<h, w>>>(tex, surf, f, w, h);
	CK(cudaDeviceSynchronize());
	for (int i = 0; i < w * h; i++)
		if (memcmp(&f[i], &src[i], 16) && wrong++ < 10)
			printf("texel %d: %g %g %g %g\n", i, f[i].x, f[i].y, f[i].z, f[i].w);
	CK(cudaMemcpy2DFromArray(f, w * 16, a, 0, 0, w * 16, h, cudaMemcpyDeviceToHost));
	for (int i = 0; i < w * h; i++)
		if ((f[i].x != src[i].x + 1000 || f[i].w != src[i].w) && wrong++ < 10)
			printf("surface %d: %g %g\n", i, f[i].x, f[i].w);
	for (int y2 = 0; y2 < h; y2++)
		if (f[w * h + y2 * w].x != 0 && wrong++ < 10)
			printf("beyond the edge: %g\n", f[w * h + y2 * w].x);
	printf("result: %d wrong\n", wrong);
	return wrong != 0;
}
