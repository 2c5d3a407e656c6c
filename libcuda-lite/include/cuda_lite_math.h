/* SPDX-License-Identifier: MIT */
/*
 * The device side of <math.h>, in double (cuda_lite_math_double.h) and in float (cuda_lite_math_float.h; what is not there is a rounded
 * double): the C names, the overloads of C++ in the global namespace and in std. Included by cuda_lite_device.h, so before any header of the
 * C++ library: what that declares constexpr would be taken for both sides otherwise.
 */
#ifndef CUDA_LITE_MATH_H
#define CUDA_LITE_MATH_H

#include "cuda_lite_math_double.h"
#include "cuda_lite_math_float.h"

namespace cuda_lite {

CUDA_LITE_FN double sin(double x) { double s, c; sincos(x, &s, &c); return s; }
CUDA_LITE_FN double cos(double x) { double s, c; sincos(x, &s, &c); return c; }
CUDA_LITE_FN double tan(double x) { double s, c; sincos(x, &s, &c); return s / c; }
CUDA_LITE_FN double atan(double x) { return atan2(x, 1); }
CUDA_LITE_FN double asin(double x)
{
	double a = __builtin_fabs(x);

	if (!(a <= 1))
		return nan();
	two p = product(a, a), s = sum(1, -p.hi);
	double r = __nvvm_sqrt_rn_d(s.hi), w = r > 0 ? (fma(-r, r, s.hi) + s.lo - p.lo) / (2 * r) : 0;
	/* atan(x / (r + w)), r + w the root to twice the bits */
	double t = atan2(a, r) - w * a;
	return __builtin_copysign(a < 1e-8 ? a : t, x);
}
CUDA_LITE_FN double acos(double x)
{
	if (!(__builtin_fabs(x) <= 1))
		return nan();
	two p = product(x, x), s = sum(1, -p.hi);
	double r = x > 0.5 || x < -0.5 ? __nvvm_sqrt_rn_d((1 - x) * (1 + x)) : __nvvm_sqrt_rn_d(s.hi + (s.lo - p.lo));

	return x > 0.9 ? 2 * atan2(__nvvm_sqrt_rn_d((1 - x) * 0.5), __nvvm_sqrt_rn_d((1 + x) * 0.5)) : atan2(r, x);
}
CUDA_LITE_FN double sinh(double x)
{
	double a = __builtin_fabs(x), t;

	if (a > 709) {
		t = exp(a * 0.5);
		return __builtin_copysign(t * 0.5 * t, x);
	}
	if (a == 0)
		return x;
	t = expm1(a);
	return __builtin_copysign(0.5 * (t + t / (t + 1)), x);
}
CUDA_LITE_FN double cosh(double x)
{
	double a = __builtin_fabs(x), t = exp(a > 709 ? a * 0.5 : a);

	return a > 709 ? t * 0.5 * t : fma(0.5, t, 0.5 / t);
}
CUDA_LITE_FN double tanh(double x)
{
	double a = __builtin_fabs(x), t;

	if (a < 1e-9 || x != x)
		return x;
	t = expm1(2 * a);
	return __builtin_copysign(a > 20 ? 1 : t / (t + 2), x);
}
CUDA_LITE_FN double asinh(double x)
{
	double a = __builtin_fabs(x);

	if (a < 1e-9 || !(a < inf()))
		return x;
	return __builtin_copysign(a > 1e9 ? log(a) + 0.6931471805599453 : log1p(a + a * a / (1 + __nvvm_sqrt_rn_d(fma(a, a, 1)))), x);
}
CUDA_LITE_FN double acosh(double x)
{
	double t = cuda_lite::as_it_is(x) - 1;

	return x < 1 ? nan() : x > 1e9 ? log(x) + 0.6931471805599453 : log1p(t + __nvvm_sqrt_rn_d(fma(t, t, 2 * t)));
}
CUDA_LITE_FN double atanh(double x)
{
	double a = __builtin_fabs(x);

	return a < 1e-9 ? x : __builtin_copysign(0.5 * log1p(2 * a / (1 - a)), x);
}
CUDA_LITE_FN double cbrt(double x)
{
	double a = __builtin_fabs(x), y, f;
	int n;

	if (a == 0 || !(a < inf()))
		return x;
	n = split(a, &f);
	y = exp((log_two(1 + f).hi + n * 0.6931471805599453) * (1.0 / 3));
	/* Newton's step, with what is left over of y^3 in two doubles */
	a = scale(1 + f, 0);
	f = scale(1, -(n / 3));
	y *= f;
	a *= scale(1, n - 3 * (n / 3));
	two c = times(product(y, y), two{ y, 0 });
	y -= (c.hi - a + c.lo) / (3 * y * y);
	return __builtin_copysign(y * scale(1, n / 3), x);
}
CUDA_LITE_FN double hypot(double x, double y)
{
	double a = __builtin_fabs(x), b = __builtin_fabs(y), k, r;

	if (a == inf() || b == inf())
		return inf();
	if (a < b)
		k = a, a = b, b = k;
	if (b == 0 || !(a >= b))
		return a + b;
	k = a > 1e150 ? 2.409919865102884e-181 : a < 1e-150 ? 4.149515568880993e+180 : 1;
	a *= k;
	b *= k;
	two p = product(a, a), q = product(b, b), s = sum(p.hi, q.hi);
	s.lo += p.lo + q.lo;
	r = __nvvm_sqrt_rn_d(s.hi);
	r += (fma(-r, r, s.hi) + s.lo) / (2 * r);
	return r / k;
}
/* e^(-x^2), x^2 in two doubles */
CUDA_LITE_FN inline double gauss(double x)
{
	two p = product(x, x);

	return exp2d(-p.hi, -p.lo);
}
/* erf(x) / x, 0 <= x <= 1.1, of z = x^2: Chebyshev's interpolation, 4e-17 */
CUDA_LITE_FN inline double erf_over(double z)
{
	double p = 2.549447645846886e-13;

	p = fma(p, z, -6.005116038861622e-12);
	p = fma(p, z, 9.259902202800111e-11);
	p = fma(p, z, -1.226519982403814e-09);
	p = fma(p, z, 1.4804415235074425e-08);
	p = fma(p, z, -1.6365626155137923e-07);
	p = fma(p, z, 1.6462101936286594e-06);
	p = fma(p, z, -1.492564984994355e-05);
	p = fma(p, z, 0.00012055332967076217);
	p = fma(p, z, -0.0008548327023158678);
	p = fma(p, z, 0.005223977625438398);
	p = fma(p, z, -0.026866170645130957);
	p = fma(p, z, 0.11283791670955125);
	p = fma(p, z, -0.37612638903183754);
	p = fma(p, z, 1.1283791670955126);
	return p;
}
/* e^(x^2) erfc(x), 0.5 <= x <= 28, is a polynomial of t = (x - 3.75) / (x + 3.75), divided by 1 + 2x: the same, 1e-16 */
CUDA_LITE_FN inline double erfcx_over(double x)
{
	double t = (x - 3.75) / (x + 3.75), p = 2.4692678286084754e-08;

	p = fma(p, t, 1.3512078662750848e-08);
	p = fma(p, t, -2.406562578208242e-07);
	p = fma(p, t, -4.5220805167488635e-08);
	p = fma(p, t, 1.7381878159697882e-06);
	p = fma(p, t, -9.820391763957724e-07);
	p = fma(p, t, -1.1437861284564643e-05);
	p = fma(p, t, 2.238794812213972e-05);
	p = fma(p, t, 5.164721129905776e-05);
	p = fma(p, t, -0.000290155108053201);
	p = fma(p, t, 0.0002937140282088813);
	p = fma(p, t, 0.0017556260312447311);
	p = fma(p, t, -0.009746579601110984);
	p = fma(p, t, 0.028362277400399816);
	p = fma(p, t, -0.058693398586687866);
	p = fma(p, t, 0.09230432116143354);
	p = fma(p, t, -0.1088039301418505);
	p = fma(p, t, 0.08227673849011784);
	p = fma(p, t, 0.00358541548546576);
	p = fma(p, t, -0.14024059858554674);
	p = fma(p, t, 1.2375126308378275);
	return p / fma(2, x, 1);
}
CUDA_LITE_FN double erf(double x)
{
	double a = __builtin_fabs(x), least = a > 6 ? 6 : a;

	if (x != x)
		return x;
	return __builtin_copysign(a < 1.1 ? a * erf_over(a * a) : 1 - gauss(least) * erfcx_over(least), x);
}
CUDA_LITE_FN double erfc(double x)
{
	if (x != x)
		return x;
	return x > 28 ? 0 : x < -6 ? 2 : x >= 0.5 ? gauss(x) * erfcx_over(x) : 1 - erf(x);
}
CUDA_LITE_FN inline int exponent(double x)
{
	return x < 2.2250738585072014e-308 ? (int)(bits(x * 1.8014398509481984e+16) >> 52) - 54 : (int)(bits(x) >> 52);
}
/* Exact: what is left of x, a bit or more at a time */
CUDA_LITE_FN double fmod(double x, double y)
{
	double a = __builtin_fabs(x), b = __builtin_fabs(y), d;
	int n;

	if (!(a < inf()) || b == 0 || y != y)
		return nan();
	while (a >= b) {
		n = exponent(a) - exponent(b);
		d = scale(b, n);
		if (d > a)
			d = scale(b, n - 1);
		a -= d;
	}
	return __builtin_copysign(a, x);
}
CUDA_LITE_FN double round(double x)
{
	/* towards 0, so that what is next to a half below does not become one above */
	return __nvvm_trunc_d(__nvvm_add_rz_d(x, __builtin_copysign(0.5, x)));
}
CUDA_LITE_FN double remainder(double x, double y)
{
	double a = __builtin_fabs(x), b = __builtin_fabs(y);

	if (!(a < inf()) || b == 0 || y != y)
		return nan();
	if (a < 0.25 * b)
		return x;
	if (b >= 4.49423283715579e+307) {            /* 2 * b is none */
		a *= 0.25;
		b *= 0.25;
	}
	a = fmod(a, 2 * b);
	if (b < 4.450147717014403e-308) {
		if (a + a > b) {
			a -= b;
			if (a + a >= b)
				a -= b;
		}
	} else if (a > 0.5 * b) {
		a -= b;
		if (a >= 0.5 * b)
			a -= b;
	}
	if (__builtin_fabs(y) > b)
		a *= 4;
	return bits(x) >> 63 ? -a : a;
}
/* The quotient's three low bits, with its sign: what is left of x / 8y says which */
CUDA_LITE_FN double remquo(double x, double y, int *quo)
{
	double a = __builtin_fabs(x), b = __builtin_fabs(y), r;
	int q = 0;

	*quo = 0;
	if (!(a < inf()) || b == 0 || y != y)
		return nan();
	if (b == inf())
		return x;
	if (b < 2.247116418577895e+307)                 /* 8 * b is one */
		a = fmod(a, 8 * b);
	if (b < 4.49423283715579e+307 && a >= 4 * b)
		a -= 4 * b, q += 4;
	if (b < 8.98846567431158e+307 && a >= 2 * b)
		a -= 2 * b, q += 2;
	if (a >= b)
		a -= b, q++;
	/* the nearest: a - b is exact, and compares where b / 2 might not */
	r = b - a;
	if (a > r || (a == r && q & 1))
		a = -r, q++;
	q &= 7;
	*quo = (bits(x) ^ bits(y)) >> 63 ? -q : q;
	return bits(x) >> 63 ? -a : a;
}
CUDA_LITE_FN double frexp(double x, int *n)
{
	double f;

	*n = 0;
	if (x == 0 || !(__builtin_fabs(x) < inf()))
		return x;
	f = __builtin_fabs(x) < 2.2250738585072014e-308 ? x * 1.8014398509481984e+16 : x;
	*n = (int)(bits(f) >> 52 & 2047) - 1022 - (f == x ? 0 : 54);
	return real((bits(f) & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
CUDA_LITE_FN double modf(double x, double *whole)
{
	*whole = __nvvm_trunc_d(x);
	return __builtin_copysign(__builtin_fabs(x) == inf() ? 0 : cuda_lite::as_it_is(x) - *whole, x);
}
CUDA_LITE_FN double floor(double x) { return __nvvm_floor_d(x); }
CUDA_LITE_FN double ceil(double x) { return __nvvm_ceil_d(x); }
CUDA_LITE_FN double trunc(double x) { return __nvvm_trunc_d(x); }
CUDA_LITE_FN double nearbyint(double x) { return __builtin_rint(x); }
CUDA_LITE_FN double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
CUDA_LITE_FN double rsqrt(double x) { return 1 / __nvvm_sqrt_rn_d(x); }
CUDA_LITE_FN double fabs(double x) { return __builtin_fabs(x); }
CUDA_LITE_FN double fmin(double x, double y) { return __nvvm_fmin_d(x, y); }
CUDA_LITE_FN double fmax(double x, double y) { return __nvvm_fmax_d(x, y); }
CUDA_LITE_FN double fdim(double a, double b)
{
	double x = cuda_lite::as_it_is(a), y = cuda_lite::as_it_is(b);

	return x != x || y != y ? x + y : x > y ? x - y : 0;
}
CUDA_LITE_FN double copysign(double x, double y) { return __builtin_copysign(x, y); }
CUDA_LITE_FN double sinpi(double x)
{
	two p = times(two{ fmod(x, 2), 0 }, two{ 3.141592653589793, 1.2246467991473532e-16 });

	return sin(p.hi) + p.lo * cos(p.hi);
}
CUDA_LITE_FN double cospi(double x)
{
	two p = times(two{ fmod(x, 2), 0 }, two{ 3.141592653589793, 1.2246467991473532e-16 });

	return cos(p.hi) - p.lo * sin(p.hi);
}
CUDA_LITE_FN double normcdf(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }
CUDA_LITE_FN double rcbrt(double x) { return 1 / cbrt(x); }
CUDA_LITE_FN double rhypot(double x, double y) { return 1 / hypot(x, y); }
CUDA_LITE_FN double logb(double x)
{
	return x == 0 ? -inf() : !(__builtin_fabs(x) < inf()) ? x * x : exponent(__builtin_fabs(x)) - 1023;
}
CUDA_LITE_FN int ilogb(double x) { return x == 0 || x != x ? -2147483647 - 1 : __builtin_fabs(x) == inf() ? 2147483647 : exponent(__builtin_fabs(x)) - 1023; }
/* A first guess of a few bits (logarithms of the tail), then steps of third order, against the tail where there is more of it */
CUDA_LITE_FN double erfcinv(double y)
{
	if (!(y >= 0 && y <= 2))
		return nan();
	if (y == 0 || y == 2)
		return y == 0 ? inf() : -inf();
	double t = y < 1 ? y : 2 - y, w = __nvvm_sqrt_rn_d(-2 * log(0.5 * t)), x, e;

	x = 0.7071067811865476 * (w - (2.30753 + w * 0.27061) / (1 + w * (0.99229 + w * 0.04481)));
	for (int i = 0; i < 3; i++) {
		e = (erfc(x) - t) / (1.1283791670955126 * exp(-x * x));
		x += e / (1 - x * e);
	}
	return y < 1 ? x : -x;
}
CUDA_LITE_FN double erfinv(double x)
{
	double a = __builtin_fabs(x), w, y, e;

	if (a > 0.5)
		return a > 1 ? nan() : __builtin_copysign(erfcinv(1 - a), x);
	w = a * a;
	y = a * 0.886226925452758 * (1 + w * (0.2617993877991494 + w * (0.1439317308492135 + w * 0.0976636195038)));
	for (int i = 0; i < 2; i++) {
		e = (erf(y) - a) / (1.1283791670955126 * exp(-y * y));
		y -= e / (1 + y * e);
	}
	return x != x ? x : __builtin_copysign(y, x);
}
CUDA_LITE_FN double normcdfinv(double p) { return -1.4142135623730951 * erfcinv(2 * p); }
CUDA_LITE_FN double erfcx(double x)
{
	if (x < 0.5)
		return exp(x * x) * erfc(x);
	return x <= 28 ? erfcx_over(x) : (1 - (0.5 - 0.75 / (x * x)) / (x * x)) * 0.5641895835477563 / x;
}
/* Lanczos' sum for x >= 0.5, of nine terms: some 1e-15 */
CUDA_LITE_FN double lanczos(double x)
{
	const double c[] = { 676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
			     -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7 };
	double s = 0.9999999999998099;

	for (int i = 0; i < 8; i++)
		s += c[i] / (x + i);
	return s;
}
/* Below 0.5 by reflection: not by calls of themselves, which would want a stack */
CUDA_LITE_FN double tgamma(double x)
{
	double y = x < 0.5 ? 1 - x : x, t = y + 6.5, h, g;

	if (x == 0)
		return __builtin_copysign(inf(), x);
	if (x < 0 && __nvvm_trunc_d(x) == x)
		return nan();
	h = pow(t, 0.5 * (y - 0.5));
	g = y != y ? y : y > 171.7 ? inf() : 2.5066282746310002 * h * exp(-t) * h * lanczos(y);
	if (!(x < 0.5))
		return g;
	h = 3.141592653589793 / sinpi(x);
	return x < -185 ? 0 * h : h / g;
}
CUDA_LITE_FN double lgamma(double x)
{
	double y = x < 0.5 ? 1 - x : x, t = y + 6.5, g;

	if (x < 0.5 && __nvvm_trunc_d(x) == x)
		return inf();
	g = y == inf() ? y : 0.9189385332046728 + (y - 0.5) * log(t) - t + log(lanczos(y));
	return x < 0.5 ? log(3.141592653589793 / __builtin_fabs(sinpi(x))) - g : g;
}

} /* cuda_lite */

/* Each name with its double, its float and, where C has them, the overloads for float */
#define CUDA_LITE_NAMES_1(F) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(exp) F(exp2) \
	F(expm1) F(log) F(log2) F(log10) F(log1p) F(cbrt) F(erf) F(erfc) F(round) F(rint) F(nearbyint) F(floor) F(ceil) F(trunc) F(sqrt) F(fabs) \
	F(logb) F(tgamma) F(lgamma)
#define CUDA_LITE_NAMES_2(F) F(pow) F(atan2) F(hypot) F(fmod) F(remainder) F(fdim) F(copysign) F(fmin) F(fmax)
/* CUDA's own */
#define CUDA_LITE_NAMES_OWN(F) F(exp10) F(sinpi) F(cospi) F(rsqrt) F(normcdf) F(normcdfinv) F(rcbrt) F(erfinv) F(erfcinv) F(erfcx)

#define CUDA_LITE_ONE(name) \
	CUDA_LITE_FN inline double name(double x) { return cuda_lite::name(x); } \
	CUDA_LITE_FN inline float name##f(float x) { return (float)cuda_lite::name(x); } \
	CUDA_LITE_FN inline float name(float x) { return name##f(x); }
#define CUDA_LITE_BOTH(name) \
	CUDA_LITE_FN inline double name(double x, double y) { return cuda_lite::name(x, y); } \
	CUDA_LITE_FN inline float name##f(float x, float y) { return (float)cuda_lite::name(x, y); } \
	CUDA_LITE_FN inline float name(float x, float y) { return name##f(x, y); }
#define CUDA_LITE_STD(name) using ::name; using ::name##f;

CUDA_LITE_NAMES_1(CUDA_LITE_ONE)
CUDA_LITE_NAMES_2(CUDA_LITE_BOTH)
CUDA_LITE_NAMES_OWN(CUDA_LITE_ONE)

/* Whole numbers are doubles, and of two different types the one that holds both ([c.math] of C++) */
namespace cuda_lite {
template <class T> struct is_whole { static constexpr bool value = false; };
#define CUDA_LITE_WHOLE(type) template <> struct is_whole<type> { static constexpr bool value = true; };
CUDA_LITE_WHOLE(bool) CUDA_LITE_WHOLE(char) CUDA_LITE_WHOLE(signed char) CUDA_LITE_WHOLE(unsigned char) CUDA_LITE_WHOLE(short)
CUDA_LITE_WHOLE(unsigned short) CUDA_LITE_WHOLE(int) CUDA_LITE_WHOLE(unsigned int) CUDA_LITE_WHOLE(long) CUDA_LITE_WHOLE(unsigned long)
CUDA_LITE_WHOLE(long long) CUDA_LITE_WHOLE(unsigned long long)
#undef CUDA_LITE_WHOLE
template <class T, class U> struct same { static constexpr bool value = false; };
template <class T> struct same<T, T> { static constexpr bool value = true; };
template <class T> struct is_number { static constexpr bool value = is_whole<T>::value || same<T, float>::value || same<T, double>::value; };
template <bool, class R> struct only { };
template <class R> struct only<true, R> { typedef R type; };
template <class T, class R = double> using of_whole = typename only<is_whole<T>::value, R>::type;
template <class T, class U> using of_mixed =
	typename only<is_number<T>::value && is_number<U>::value && (!same<T, U>::value || is_whole<T>::value), double>::type;
} /* cuda_lite */
#define CUDA_LITE_ONE_WHOLE(name) template <class T> CUDA_LITE_FN inline cuda_lite::of_whole<T> name(T x) { return name((double)x); }
#define CUDA_LITE_BOTH_MIXED(name) \
	template <class T, class U> CUDA_LITE_FN inline cuda_lite::of_mixed<T, U> name(T x, U y) { return name((double)x, (double)y); }
CUDA_LITE_NAMES_1(CUDA_LITE_ONE_WHOLE)
CUDA_LITE_NAMES_2(CUDA_LITE_BOTH_MIXED)

CUDA_LITE_FN inline double pow(double x, int n) { return cuda_lite::pow(x, n); }
CUDA_LITE_FN inline float pow(float x, int n) { return (float)cuda_lite::pow(x, n); }
CUDA_LITE_FN inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
CUDA_LITE_FN inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_LITE_FN inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_LITE_FN inline void sincos(double x, double *s, double *c) { cuda_lite::sincos(x, s, c); }
CUDA_LITE_FN inline void sincosf(float x, float *s, float *c) { cuda_lite::sincos(x, s, c); }
CUDA_LITE_FN inline void sincospi(double x, double *s, double *c) { *s = cuda_lite::sinpi(x); *c = cuda_lite::cospi(x); }
CUDA_LITE_FN inline void sincospif(float x, float *s, float *c) { *s = cuda_lite::sinpi(x); *c = cuda_lite::cospi(x); }
CUDA_LITE_FN inline double ldexp(double x, int n) { return cuda_lite::scale(x, n); }
CUDA_LITE_FN inline float ldexpf(float x, int n) { return cuda_lite::ldexp(x, n); }
CUDA_LITE_FN inline double scalbn(double x, int n) { return cuda_lite::scale(x, n); }
CUDA_LITE_FN inline float scalbnf(float x, int n) { return ldexpf(x, n); }
CUDA_LITE_FN inline double frexp(double x, int *n) { return cuda_lite::frexp(x, n); }
CUDA_LITE_FN inline float frexpf(float x, int *n) { return (float)cuda_lite::frexp((double)x, n); }
CUDA_LITE_FN inline double modf(double x, double *n) { return cuda_lite::modf(x, n); }
CUDA_LITE_FN inline float modff(float x, float *n) { return cuda_lite::modf(x, n); }
CUDA_LITE_FN inline long lround(double x) { return (long)cuda_lite::round(x); }
CUDA_LITE_FN inline long lroundf(float x) { return (long)cuda_lite::round((double)x); }
CUDA_LITE_FN inline long lrint(double x) { return (long)cuda_lite::rint(x); }
CUDA_LITE_FN inline long lrintf(float x) { return (long)cuda_lite::rint((double)x); }
CUDA_LITE_FN inline long long llround(double x) { return (long long)cuda_lite::round(x); }
CUDA_LITE_FN inline long long llroundf(float x) { return (long long)cuda_lite::round((double)x); }
CUDA_LITE_FN inline long long llrint(double x) { return (long long)cuda_lite::rint(x); }
CUDA_LITE_FN inline long long llrintf(float x) { return (long long)cuda_lite::rint((double)x); }
CUDA_LITE_FN inline int ilogb(double x) { return cuda_lite::ilogb(x); }
CUDA_LITE_FN inline int ilogbf(float x) { return cuda_lite::ilogb((double)x); }
CUDA_LITE_FN inline float ldexp(float x, int n) { return ldexpf(x, n); }
CUDA_LITE_FN inline float scalbn(float x, int n) { return ldexpf(x, n); }
CUDA_LITE_FN inline double scalbln(double x, long n) { return cuda_lite::scale(x, n > 4000 ? 4000 : n < -4000 ? -4000 : (int)n); }
CUDA_LITE_FN inline float scalblnf(float x, long n) { return ldexpf(x, n > 400 ? 400 : n < -400 ? -400 : (int)n); }
CUDA_LITE_FN inline float scalbln(float x, long n) { return scalblnf(x, n); }
CUDA_LITE_FN inline float frexp(float x, int *n) { return frexpf(x, n); }
CUDA_LITE_FN inline float modf(float x, float *n) { return modff(x, n); }
CUDA_LITE_FN inline double remquo(double x, double y, int *n) { return cuda_lite::remquo(x, y, n); }
CUDA_LITE_FN inline float remquof(float x, float y, int *n) { return (float)cuda_lite::remquo((double)x, (double)y, n); }
CUDA_LITE_FN inline float remquo(float x, float y, int *n) { return remquof(x, y, n); }
CUDA_LITE_FN inline double fdivide(double x, double y) { return x / y; }
#define CUDA_LITE_TO_WHOLE(type, name) \
	CUDA_LITE_FN inline type name(float x) { return name##f(x); } \
	template <class T> CUDA_LITE_FN inline cuda_lite::of_whole<T, type> name(T x) { return name((double)x); }
CUDA_LITE_TO_WHOLE(long, lround)
CUDA_LITE_TO_WHOLE(long, lrint)
CUDA_LITE_TO_WHOLE(long long, llround)
CUDA_LITE_TO_WHOLE(long long, llrint)
CUDA_LITE_TO_WHOLE(int, ilogb)
#undef CUDA_LITE_TO_WHOLE
#define CUDA_LITE_BY_POWER(name, type) template <class T> CUDA_LITE_FN inline cuda_lite::of_whole<T> name(T x, type n) { return name((double)x, n); }
CUDA_LITE_BY_POWER(ldexp, int)
CUDA_LITE_BY_POWER(scalbn, int)
CUDA_LITE_BY_POWER(scalbln, long)
CUDA_LITE_BY_POWER(frexp, int *)
#undef CUDA_LITE_BY_POWER
CUDA_LITE_FN inline double nextafter(double x, double y)
{
	unsigned long long b = cuda_lite::bits(x);

	if (x != x || y != y)
		return x + y;
	if (x == y)
		return y;
	return x == 0 ? __builtin_copysign(4.9406564584124654e-324, y) : cuda_lite::real((x < y) == (x > 0) ? b + 1 : b - 1);
}
/* A quiet NaN with these bits, as strtoull() reads them (C11 7.22.1.3); what is no number: none */
CUDA_LITE_FN inline double nan(const char *tag)
{
	unsigned long long n = 0;
	int base = 10;

	if (tag[0] == '0') {
		base = tag[1] == 'x' || tag[1] == 'X' ? 16 : 8;
		tag += base == 16 ? 2 : 1;
	}
	for (; *tag; tag++) {
		int lower = *tag | 32, d = *tag >= '0' && *tag <= '9' ? *tag - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;

		if (d >= base) {
			n = 0;
			break;
		}
		n = n * base + d;
	}
	return cuda_lite::real(0x7ff8000000000000ull | (n & 0x7ffffffffffffull));
}
CUDA_LITE_FN inline float nanf(const char *tag)
{
	return __builtin_bit_cast(float, 0x7fc00000u | ((unsigned int)cuda_lite::bits(nan(tag)) & 0x3fffffu));
}
CUDA_LITE_FN inline float nextafterf(float x, float y)
{
	unsigned int b = __builtin_bit_cast(unsigned int, x);

	if (x != x || y != y)
		return x + y;
	if (x == y)
		return y;
	return x == 0 ? __builtin_copysignf(1.40129846e-45f, y) : __builtin_bit_cast(float, (x < y) == (x > 0) ? b + 1 : b - 1);
}
CUDA_LITE_FN inline float nextafter(float x, float y) { return nextafterf(x, y); }
CUDA_LITE_BOTH_MIXED(nextafter)
CUDA_LITE_FN inline double rhypot(double x, double y) { return cuda_lite::rhypot(x, y); }
CUDA_LITE_FN inline float rhypotf(float x, float y) { return cuda_lite::rhypot(x, y); }
CUDA_LITE_FN inline double norm3d(double x, double y, double z) { return cuda_lite::hypot(cuda_lite::hypot(x, y), z); }
CUDA_LITE_FN inline float norm3df(float x, float y, float z) { return cuda_lite::norm3d(x, y, z); }
CUDA_LITE_FN inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
CUDA_LITE_FN inline float rnorm3df(float x, float y, float z) { return cuda_lite::rnorm3d(x, y, z); }
CUDA_LITE_FN inline double norm4d(double x, double y, double z, double w) { return cuda_lite::hypot(cuda_lite::hypot(x, y), cuda_lite::hypot(z, w)); }
CUDA_LITE_FN inline float norm4df(float x, float y, float z, float w) { return cuda_lite::norm4d(x, y, z, w); }
CUDA_LITE_FN inline double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
CUDA_LITE_FN inline float rnorm4df(float x, float y, float z, float w) { return cuda_lite::rnorm4d(x, y, z, w); }
/* The root of the sum of n squares. An infinity is one whatever else there is; the greatest becomes 1 or more, below 2. */
CUDA_LITE_FN inline double norm(int n, const double *p)
{
	double most = 0;
	cuda_lite::two s = { 0, 0 };
	bool none = false;
	int e;

	for (int i = 0; i < n; i++) {
		none |= p[i] != p[i];
		most = __nvvm_fmax_d(most, __builtin_fabs(p[i]));
	}
	if (most == cuda_lite::inf() || none)
		return most == cuda_lite::inf() ? most : cuda_lite::nan();
	if (most == 0)
		return 0;
	e = cuda_lite::exponent(most) - 1023;
	for (int i = 0; i < n; i++) {
		double x = cuda_lite::scale(p[i], -e);
		cuda_lite::two q = cuda_lite::product(x, x), t = cuda_lite::sum(s.hi, q.hi);

		s = cuda_lite::quick(t.hi, t.lo + (s.lo + q.lo));
	}
	return cuda_lite::scale(__nvvm_sqrt_rn_d(s.hi), e);
}
CUDA_LITE_FN inline float normf(int n, const float *p)
{
	double s = 0, most = 0;

	for (int i = 0; i < n; i++) {
		s = cuda_lite::fma(p[i], p[i], s);
		most = __nvvm_fmax_d(most, __builtin_fabs((double)p[i]));
	}
	return most == cuda_lite::inf() ? cuda_lite::inf_f() : (float)__nvvm_sqrt_rn_d(s);
}
CUDA_LITE_FN inline double rnorm(int n, const double *p) { return 1 / norm(n, p); }
CUDA_LITE_FN inline float rnormf(int n, const float *p) { return 1 / normf(n, p); }
CUDA_LITE_FN inline long labs(long x) { return x < 0 ? -x : x; }
CUDA_LITE_FN inline long long llabs(long long x) { return x < 0 ? -x : x; }
CUDA_LITE_FN inline long abs(long x) { return x < 0 ? -x : x; }
#define CUDA_LITE_KIND(type) \
	CUDA_LITE_FN inline bool isnan(type x) { return x != x; } \
	CUDA_LITE_FN inline bool isinf(type x) { return x == (type)__builtin_inf() || x == -(type)__builtin_inf(); } \
	CUDA_LITE_FN inline bool isfinite(type x) { return x < (type)__builtin_inf() && x > -(type)__builtin_inf(); } \
	CUDA_LITE_FN inline bool signbit(type x) { return __builtin_signbit(x); }
CUDA_LITE_KIND(float)
CUDA_LITE_KIND(double)
#undef CUDA_LITE_KIND
CUDA_LITE_FN inline double abs(double x) { return __builtin_fabs(x); }
CUDA_LITE_FN inline float abs(float x) { return __builtin_fabsf(x); }
CUDA_LITE_FN inline int abs(int x) { return x < 0 ? -x : x; }
CUDA_LITE_FN inline long long abs(long long x) { return x < 0 ? -x : x; }

#include "cuda_lite_bessel.h"

/* What the C++ library declares of these as constexpr stays the host's, since these are there already */
namespace std {
CUDA_LITE_NAMES_1(CUDA_LITE_STD)
CUDA_LITE_NAMES_2(CUDA_LITE_STD)
using ::fma; using ::fmaf; using ::ldexp; using ::scalbn; using ::frexp; using ::modf; using ::lround; using ::lrint; using ::llround;
using ::llrint; using ::ilogb; using ::nextafter; using ::scalbln; using ::remquo; using ::ldexpf; using ::scalbnf; using ::scalblnf;
using ::frexpf; using ::modff; using ::remquof; using ::lroundf; using ::lrintf; using ::llroundf; using ::llrintf; using ::ilogbf;
using ::nextafterf; using ::nan; using ::nanf; using ::abs; using ::labs; using ::llabs;
}
#undef CUDA_LITE_ONE
#undef CUDA_LITE_BOTH
#undef CUDA_LITE_ONE_WHOLE
#undef CUDA_LITE_BOTH_MIXED
#undef CUDA_LITE_STD
#undef CUDA_LITE_NAMES_1
#undef CUDA_LITE_NAMES_2
#undef CUDA_LITE_NAMES_OWN

#endif
