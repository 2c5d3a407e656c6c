/* SPDX-License-Identifier: MIT */
/*
 * Device mathematics in single precision, which cuda_lite_math.h gives its names: polynomials of floats where these are enough for the bounds
 * that CUDA states, of doubles where a sum would lose what the last place needs. All lanes go one way, but for what is rare. The coefficients
 * are Remez' for the ranges that are named, made for this project; errors are measured by tests/maths/clang.cu (README.md here).
 */
#ifndef CUDA_LITE_MATH_FLOAT_H
#define CUDA_LITE_MATH_FLOAT_H

#include "cuda_lite_math_double.h"

namespace cuda_lite {

CUDA_LITE_FN inline unsigned int word(float x) { return __builtin_bit_cast(unsigned int, x); }
CUDA_LITE_FN inline float single(unsigned int x) { return __builtin_bit_cast(float, x); }
CUDA_LITE_FN inline float mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_LITE_FN inline double mad(double a, double b, double c) { return fma(a, b, c); }
/* The sum of coefficients times powers of z, the first one's being 0 */
template <class T> CUDA_LITE_FN inline T series(T, T c) { return c; }
template <class T, class... R> CUDA_LITE_FN inline T series(T z, T c, R... r) { return mad(series(z, r...), z, c); }
CUDA_LITE_FN inline float inf_f() { return single(0x7f800000u); }
CUDA_LITE_FN inline float nan_f() { return single(0x7fc00000u); }
/* lo for NaN */
CUDA_LITE_FN inline float within(float x, float lo, float hi) { return __nvvm_fmin_f(__nvvm_fmax_f(x, lo), hi); }

/* x 2^n in two steps: halves of n are powers that a float has, and what is subnormal is rounded once */
CUDA_LITE_FN inline float scaled(float x, int n)
{
	int h = n >> 1;

	return x * single((unsigned int)(127 + h) << 23) * single((unsigned int)(127 + n - h) << 23);
}
/* e^r - 1 for |r| <= 0.35 */
CUDA_LITE_FN inline float exp_less(float r)
{
	float q = series(r, 0.49999994f, 0.166665092f, 0.041668009f, 0.00837002043f, 0.00138479029f);

	return mad(r * r, q, r);
}
/* x = n ln 2 + the result */
CUDA_LITE_FN inline float less_ln2(float x, float *n)
{
	*n = __builtin_rintf(x * 1.44269502f);
	return mad(*n, 1.90465421e-09f, mad(*n, -0.693147182f, x));
}
/* e^x 2^k for k of 0 and -1 */
CUDA_LITE_FN inline float exp_by(float x, int k)
{
	float n, r = less_ln2(within(x, -104.5f, 89.5f), &n);

	r = scaled(1 + exp_less(r), (int)n + k);
	return x != x ? x : r;
}
CUDA_LITE_FN inline float exp(float x) { return exp_by(x, 0); }
CUDA_LITE_FN inline float exp2(float x)
{
	float c = within(x, -151, 129), n = __builtin_rintf(c), r = c - n, q;

	q = series(r, 0.693147182f, 0.240226507f, 0.0555040315f, 0.00961819943f, 0.0013350033f, 0.000154013949f, 9.39555412e-06f);
	r = scaled(mad(q, r, 1), (int)n);
	return x != x ? x : r;
}
CUDA_LITE_FN inline float exp10(float x)
{
	float c = within(x, -45.5f, 38.75f), n = __builtin_rintf(c * 3.32192802f), r = mad(n, 1.43209888e-08f, mad(n, -0.30103001f, c));

	r = scaled(1 + exp_less(mad(r, -3.19754356e-08f, r * 2.30258512f)), (int)n);
	return x != x ? x : r;
}
CUDA_LITE_FN inline float expm1(float x)
{
	float n, r = less_ln2(within(x, -30, 89), &n), h, q;
	bool near = __builtin_fabsf(x) < 0.5f;

	r = near ? x : r;
	q = series(r, 0.50000006f, 0.166666701f, 0.0416649617f, 0.00833264086f, 0.00140105712f, 0.000201502713f);
	q = mad(r * r, q, r);
	/* twice the half: 2^128 is none */
	h = single((unsigned int)(int)(n + 126) << 23);
	r = mad(h, q, h - 0.5f);
	r = near ? q : r + r;
	return x == 0 || x != x ? x : r;
}

/* x = 2^n (1 + f), f from -1/3 to 1/3; x is positive and finite */
CUDA_LITE_FN inline float split(float x, float *f)
{
	bool tiny = x < 1.17549435e-38f;
	unsigned int b = word(tiny ? x * 8388608 : x) - 0x3f2aaaabu;

	*f = single((b & 0x7fffffu) + 0x3f2aaaabu) - 1;
	return (float)(((int)b >> 23) - (tiny ? 23 : 0));
}
/* ln(1 + f) - f for such f */
CUDA_LITE_FN inline float log_less(float f)
{
	float q = series(f, 0.333332151f, -0.249998033f, 0.20010446f, -0.166802466f, 0.140053391f, -0.121874854f, 0.139865309f, -0.128779829f);

	return f * f * mad(q, f, -0.5f);
}
/* What logarithms have at the edges, r in between */
CUDA_LITE_FN inline float log_of(float x, float r) { return x > 0 && x < inf_f() ? r : x == 0 ? -inf_f() : x < 0 ? nan_f() : x; }
CUDA_LITE_FN inline float log(float x)
{
	float f, n = split(x, &f);

	return log_of(x, mad(n, 0.693147182f, f + mad(n, -1.90465421e-09f, log_less(f))));
}
CUDA_LITE_FN inline float log2(float x)
{
	float f, n = split(x, &f), t = mad(f, 1.44269502f, n);

	/* n - t is what t owes to f, but for the rounding */
	f = mad(f, 1.44269502f, n - t) + mad(log_less(f), 1.44269502f, f * 1.92596303e-08f);
	return log_of(x, t + f);
}
CUDA_LITE_FN inline float log10(float x)
{
	float f, n = split(x, &f);

	return log_of(x, mad(n, 0.30103001f, mad(f, 0.434294492f, mad(log_less(f), 0.434294492f, mad(n, -1.43209888e-08f, f * -1.010305e-08f)))));
}
CUDA_LITE_FN inline float log1p(float a)
{
	/* u and what it lacks of 1 + x */
	float x = as_it_is(a), u = 1 + x, c = x > 1 ? 1 - (u - x) : x - (u - 1), f, n = split(u, &f);
	bool near = __builtin_fabsf(x) < 0.333f;

	c = near ? 0 : c / u;
	f = near ? x : f;
	n = near ? 0 : n;
	u = mad(n, 0.693147182f, f + (log_less(f) + mad(n, -1.90465421e-09f, c)));
	return x == 0 || x == inf_f() || x != x ? x : x > -1 ? u : x == -1 ? -inf_f() : nan_f();
}

/* The same in double, to some ten digits: what floats are made of by products and sums that cancel */
CUDA_LITE_FN inline double exp2_light(double x)
{
	double n = __builtin_rint(x), r = x - n, q;

	q = series(r, 0.99999999996162292, 0.69314718072871651, 0.24022651198746414, 0.055504103527783663, 0.0096180271738970525,
	           0.0013333922924260657, 0.00015469316996456086, 1.5201882363154258e-05);
	return q * real((unsigned long long)(1023 + (int)n) << 52);
}
/* s = f / (2 + f): ln(1 + f) / (2 s) */
CUDA_LITE_FN inline double log_over(double s)
{
	double z = s * s;

	return series(z, 0.99999999999982325, 0.333333333648764, 0.19999990880995971, 0.14286676741276394, 0.11065382572640199,
	              0.10081530444883868);
}
/* ln(1 + t), t >= 0 */
CUDA_LITE_FN inline double log1p_light(double t)
{
	unsigned long long b = bits(1 + t) - 0x3fe5555555555555ull;
	int n = (int)((long long)b >> 52);
	double f = n ? real((b & 0xfffffffffffffull) + 0x3fe5555555555555ull) - 1 : t, s = f / (2 + f);

	return fma(n, 0.6931471805599453, 2 * s * log_over(s));
}
CUDA_LITE_FN inline float asinh(float x)
{
	double a = __builtin_fabsf(x);

	return a < inf() ? __builtin_copysignf((float)log1p_light(a + a * a / (1 + __nvvm_sqrt_rn_d(fma(a, a, 1.0)))), x) : x;
}
CUDA_LITE_FN inline float acosh(float x)
{
	double t = (double)x - 1;

	t = log1p_light(t + __nvvm_sqrt_rn_d(t * (t + 2)));
	return x >= 1 ? x == inf_f() ? x : (float)t : nan_f();
}
CUDA_LITE_FN inline float atanh(float x)
{
	double a = __builtin_fabsf(x);
	float r = __builtin_copysignf((float)(0.5 * log1p_light(2 * a / (1 - a))), x);

	return a < 1 ? r : a == 1 ? __builtin_copysignf(inf_f(), x) : nan_f();
}
CUDA_LITE_FN inline float sinh(float x)
{
	float a = __builtin_fabsf(x), z = x * x, h = exp_by(a, -1), q;

	q = series(z, 0.166666672f, 0.00833331142f, 0.000198426351f, 2.78392508e-06f);
	return a < 1 ? mad(x * z, q, x) : __builtin_copysignf(h - 0.25f / h, x);
}
CUDA_LITE_FN inline float cosh(float x)
{
	float h = exp_by(__builtin_fabsf(x), -1);

	return h + 0.25f / h;
}
CUDA_LITE_FN inline float tanh(float x)
{
	float a = __builtin_fabsf(x), z = x * x, q;

	q = series(z, -0.333332986f, 0.133319363f, -0.0537846349f, 0.0207980461f, -0.00589701207f);
	return __builtin_copysignf(a < 0.55f ? mad(a * z, q, a) : 1 - 2 / (exp_by(a + a, 0) + 1), x);
}

/* x = q pi/2 + the result, below pi/4 in size */
CUDA_LITE_FN inline float turned(float x, int *q)
{
	float n = __builtin_rintf(x * 0.636619747f), r;

	if (!(__builtin_fabsf(x) < 48000)) {            /* n would be no more exact in 15 bits */
		if (!(__builtin_fabsf(x) < inf_f())) {
			*q = 0;
			return nan_f();
		}
		return (float)reduce(x, q).hi;
	}
	*q = (int)n;
	r = mad(n, -1.57079637f, x);
	r = mad(n, 4.37113883e-08f, r);
	return mad(n, 1.71512451e-15f, r);
}
CUDA_LITE_FN inline float sin_turned(float r)
{
	float z = r * r;

	return mad(r * z, mad(mad(-0.000195179935f, z, 0.00833218824f), z, -0.166666552f), r);
}
CUDA_LITE_FN inline float cos_turned(float r)
{
	float z = r * r;

	return mad(z * z, mad(mad(2.44306793e-05f, z, -0.00138873013f), z, 0.0416666456f), mad(z, -0.5f, 1));
}
CUDA_LITE_FN inline float sin_of(float r, int q)
{
	float v = q & 1 ? cos_turned(r) : sin_turned(r);

	return q & 2 ? -v : v;
}
CUDA_LITE_FN inline float sin(float x)
{
	int q;
	float r = turned(x, &q);

	return x == 0 ? x : sin_of(r, q);
}
CUDA_LITE_FN inline float cos(float x)
{
	int q;
	float r = turned(x, &q);

	return sin_of(r, q + 1);
}
CUDA_LITE_FN inline void sincos(float x, float *s, float *c)
{
	int q;
	float r = turned(x, &q);

	*s = x == 0 ? x : sin_of(r, q);
	*c = sin_of(r, q + 1);
}
CUDA_LITE_FN inline float tan(float x)
{
	int q;
	float r = turned(x, &q), s = sin_turned(r), c = cos_turned(r);

	return x == 0 ? x : (q & 1 ? -c : s) / (q & 1 ? s : c);
}
/* x pi = q pi/2 + the result */
CUDA_LITE_FN inline float turned_pi(float x, int *q)
{
	float y = mad(__builtin_rintf(x * 0.5f), -2, x), n = __builtin_rintf(y + y);

	*q = (int)n;
	n = mad(n, -0.5f, y);
	return mad(n, 3.14159274f, n * -8.74227766e-08f);
}
CUDA_LITE_FN inline float sinpi(float x)
{
	int q;
	float r = turned_pi(x, &q), v = sin_of(r, q);

	return v == 0 ? __builtin_copysignf(0, x) : v;
}
CUDA_LITE_FN inline float cospi(float x)
{
	int q;
	float r = turned_pi(x, &q);

	return sin_of(r, q + 1) + 0.0f;         /* no -0 */
}

/* atan(t) - t for 0 <= t <= 1 */
CUDA_LITE_FN inline float atan_less(float t)
{
	float z = t * t, q;

	q = series(z, -0.333332986f, 0.19998531f, -0.142640501f, 0.109511547f, -0.0840036944f, 0.0579038262f, -0.0311233737f, 0.010884949f,
	           -0.00178691617f);
	return t * z * q;
}
CUDA_LITE_FN inline float atan(float x)
{
	float a = __builtin_fabsf(x), t = a > 1 ? 1 / a : a, l = atan_less(t);

	return __builtin_copysignf(a > 1 ? 1.57079637f - (t + (l + 4.37113883e-08f)) : t + l, x);
}
CUDA_LITE_FN inline float atan2(float y, float x)
{
	float a = __builtin_fabsf(y), b = __builtin_fabsf(x), most = __nvvm_fmax_f(a, b), t = a == b ? most > 0 : __nvvm_fmin_f(a, b) / most, l = atan_less(t);
	bool back = word(x) >> 31;

	if (x != x || y != y)
		return x + y;
	t = a > b ? back ? 1.57079637f + (t + (l - 4.37113883e-08f)) : 1.57079637f - (t + (l + 4.37113883e-08f)) :
	    back ? 3.14159274f - (t + (l + 8.74227766e-08f)) : t + l;
	return __builtin_copysignf(t, y);
}
/* asin(s) - s, z = s^2 <= 1/4 */
CUDA_LITE_FN inline float asin_less(float s, float z)
{
	float q = series(z, 0.166667536f, 0.0749525204f, 0.0454760417f, 0.0241520796f, 0.042211853f);

	return s * z * q;
}
CUDA_LITE_FN inline float asin(float x)
{
	float a = __builtin_fabsf(x), z = a > 0.5f ? mad(a, -0.5f, 0.5f) : a * a, s = a > 0.5f ? __nvvm_sqrt_rn_f(z) : a, l = asin_less(s, z);

	return __builtin_copysignf(a > 0.5f ? 1.57079637f - 2 * (s + (l + 2.18556942e-08f)) : s + l, x);
}
CUDA_LITE_FN inline float acos(float x)
{
	float a = __builtin_fabsf(x), z = a > 0.5f ? mad(a, -0.5f, 0.5f) : a * a, s = a > 0.5f ? __nvvm_sqrt_rn_f(z) : x, l = asin_less(s, z);

	return x > 0.5f ? 2 * (s + l) : x < -0.5f ? 3.14159274f - 2 * (s + (l + 4.37113883e-08f)) : 1.57079637f - (s + (l + 4.37113883e-08f));
}

/* erf(x) / x, |x| <= 1.1, of z = x^2 */
CUDA_LITE_FN inline double erf_over_light(double z)
{
	return series(z, 1.1283791669596543, -0.37612637443986729, 0.1128376593889186, -0.02686443780174538, 0.0052182190167424335,
	              -0.0008443423979442948, 0.00010975876157398358, -8.8566535383698494e-06);
}
/* erfc(x), 0.5 <= x <= 10.6: e^(-x^2), and a polynomial of t = (x - 3.75) / (x + 3.75) divided by 1 + 2x */
CUDA_LITE_FN inline double erfc_tail_light(double x)
{
	double t = (x - 3.75) / (x + 3.75), p;

	p = series(t, 1.2375126299532715, -0.14024057567201179, 0.0035855645842121655, 0.082275529716721307, -0.10880847138712917,
	           0.092320556399845682, -0.058640381546904645, 0.02829170032214251, -0.010013523072253571, 0.0017819739133784927,
	           0.00078641714277639734);
	return exp2_light(x * x * -1.4426950408889634) * p / fma(2.0, x, 1.0);
}
CUDA_LITE_FN inline double erfc_light(double x)
{
	double a = __builtin_fabs(x), tail = erfc_tail_light(__nvvm_fmax_d(__nvvm_fmin_d(a, 10.5), 0.5));

	return x >= 0.5 ? tail : x < -1 ? 2 - tail : 1 - x * erf_over_light(x * x);
}
CUDA_LITE_FN inline float erf(float x)
{
	double a = __builtin_fabsf(x), tail = erfc_tail_light(__nvvm_fmax_d(__nvvm_fmin_d(a, 6), 0.5));

	return a > 1 ? __builtin_copysignf((float)(1 - tail), x) : (float)(x * erf_over_light(a * a));
}
CUDA_LITE_FN inline float erfc(float x) { return (float)erfc_light(x); }
CUDA_LITE_FN inline float normcdf(float x) { return (float)(0.5 * erfc_light(-0.7071067811865476 * x)); }

/* |x|^(1/3) for what is finite and not zero: a third of the exponent, then steps that have three times the digits */
CUDA_LITE_FN inline double cbrt_light(float x)
{
	bool tiny = __builtin_fabsf(x) < 1.17549435e-38f;
	float m = __builtin_fabsf(tiny ? x * 16777216 : x);
	double a = m, y = single(word(m) / 3 + 709955000u), c;

	c = y * y * y;
	y *= (c + 2 * a) / (2 * c + a);
	c = y * y * y;
	y *= (c + 2 * a) / (2 * c + a);
	return tiny ? y * 0.00390625 : y;
}
CUDA_LITE_FN inline float cbrt(float x) { return x == 0 || !(__builtin_fabsf(x) < inf_f()) ? x : __builtin_copysignf((float)cbrt_light(x), x); }
CUDA_LITE_FN inline float rcbrt(float x)
{
	return x == 0 || !(__builtin_fabsf(x) < inf_f()) ? 1 / x : __builtin_copysignf((float)(1 / cbrt_light(x)), x);
}

/* Squares of floats are doubles */
CUDA_LITE_FN inline double squares(float x, float y, float z, float w)
{
	double a = x, b = y, c = z, d = w, s = fma(a, a, b * b) + fma(c, c, d * d);

	a = __builtin_fabs(a) == inf() || __builtin_fabs(b) == inf() || __builtin_fabs(c) == inf() || __builtin_fabs(d) == inf() ? inf() : s;
	return __nvvm_sqrt_rn_d(a);
}
CUDA_LITE_FN inline float hypot(float x, float y) { return (float)squares(x, y, 0, 0); }
CUDA_LITE_FN inline float rhypot(float x, float y) { return (float)(1 / squares(x, y, 0, 0)); }
CUDA_LITE_FN inline float norm3d(float x, float y, float z) { return (float)squares(x, y, z, 0); }
CUDA_LITE_FN inline float rnorm3d(float x, float y, float z) { return (float)(1 / squares(x, y, z, 0)); }
CUDA_LITE_FN inline float norm4d(float x, float y, float z, float w) { return (float)squares(x, y, z, w); }
CUDA_LITE_FN inline float rnorm4d(float x, float y, float z, float w) { return (float)(1 / squares(x, y, z, w)); }

/* log2 of a positive float to 40 bits, of zero and infinity */
CUDA_LITE_FN inline double log2_light(float a)
{
	unsigned long long b = bits(a) - 0x3fe5555555555555ull;
	double f = real((b & 0xfffffffffffffull) + 0x3fe5555555555555ull) - 1, s = f / (2 + f);
	double l = fma(s * 2.8853900817779268, log_over(s), (double)(int)((long long)b >> 52));

	return a == 0 ? -inf() : a == inf_f() ? inf() : l;
}
CUDA_LITE_FN inline float any_power(float x, float y)
{
	float a = __builtin_fabsf(x), half = y * 0.5f;
	bool whole = __builtin_rintf(y) == y, odd = whole && __builtin_rintf(half) != half;
	double p = y * log2_light(a);
	float r = (float)exp2_light(__nvvm_fmax_d(__nvvm_fmin_d(p, 200), -200));

	r = p != p ? nan_f() : r;
	r = a == 1 && __builtin_fabsf(y) == inf_f() ? 1 : r;
	r = word(x) >> 31 && odd ? -r : r;
	r = x < 0 && !whole && a < inf_f() ? nan_f() : r;
	r = x == 1 || y == 0 ? 1 : r;
	return (x != x && y != 0) || (y != y && x != 1) ? x + y : r;
}
CUDA_LITE_FN inline __attribute__((always_inline)) float pow(float x, float y)
{
	if (__builtin_constant_p(y)) {
		if (y == 2)
			return x * x;
		if (y == 1)
			return x;
		if (y == -1)
			return __nvvm_div_rn_f(1, x);
		if (y == 0.5f)
			return x == -inf_f() ? inf_f() : __nvvm_sqrt_rn_f(x + 0.0f);
	}
	return any_power(x, y);
}

/* Exact, where the quotient's whole part is: else a bit or more at a time */
CUDA_LITE_FN double fmod(double x, double y);
CUDA_LITE_FN double remainder(double x, double y);
CUDA_LITE_FN inline float fmod(float x, float y)
{
	double a = __builtin_fabsf(x), b = __builtin_fabsf(y), q = a / b;

	if (!(q < 134217728))
		return (float)fmod((double)x, (double)y);
	return __builtin_copysignf((float)(q < 1 ? a : fma(-__nvvm_trunc_d(q), b, a)), x);
}
CUDA_LITE_FN inline float remainder(float x, float y)
{
	double a = __builtin_fabsf(x), b = __builtin_fabsf(y), q = a / b;

	if (!(q < 67108864))
		return (float)remainder((double)x, (double)y);
	a = q < 0.5 ? a : fma(-__builtin_rint(q), b, a);
	return word(x) >> 31 ? -(float)a : (float)a;
}

CUDA_LITE_FN inline float floor(float x) { return __nvvm_floor_f(x); }
CUDA_LITE_FN inline float ceil(float x) { return __nvvm_ceil_f(x); }
CUDA_LITE_FN inline float trunc(float x) { return __nvvm_trunc_f(x); }
CUDA_LITE_FN inline float rint(float x) { return __builtin_rintf(x); }
CUDA_LITE_FN inline float nearbyint(float x) { return __builtin_rintf(x); }
CUDA_LITE_FN inline float round(float x)
{
	/* towards 0, so that what is next to a half below does not become one above */
	return __nvvm_trunc_f(__nvvm_add_rz_f(x, __builtin_copysignf(0.5f, x)));
}
CUDA_LITE_FN inline float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
CUDA_LITE_FN inline float rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
CUDA_LITE_FN inline float fabs(float x) { return __builtin_fabsf(x); }
CUDA_LITE_FN inline float fmin(float x, float y) { return __nvvm_fmin_f(x, y); }
CUDA_LITE_FN inline float fmax(float x, float y) { return __nvvm_fmax_f(x, y); }
CUDA_LITE_FN inline float fdim(float a, float b)
{
	float x = as_it_is(a), y = as_it_is(b);

	return x != x || y != y ? x + y : x > y ? x - y : 0;
}
CUDA_LITE_FN inline float copysign(float x, float y) { return __builtin_copysignf(x, y); }
/* x 2^n, rounded once */
CUDA_LITE_FN inline float ldexp(float x, int n)
{
	n = n > 400 ? 400 : n < -400 ? -400 : n;
	return (float)(x * real((unsigned long long)(1023 + n) << 52));
}
CUDA_LITE_FN inline float modf(float x, float *whole)
{
	*whole = __nvvm_trunc_f(x);
	return __builtin_copysignf(__builtin_fabsf(x) == inf_f() ? 0 : as_it_is(x) - *whole, x);
}

} /* cuda_lite */

#endif
