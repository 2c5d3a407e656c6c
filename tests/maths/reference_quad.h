/* SPDX-License-Identifier: MIT */
/*
 * References in __float128 for what libquadmath does not have, or has with other special cases than CUDA's math API.
 * Inputs are floats or doubles, so sums, squares and reductions by 1 or 2 below are exact or as good as.
 */
#ifndef TESTS_MATHS_REFERENCE_QUAD_H
#define TESTS_MATHS_REFERENCE_QUAD_H

#include <limits.h>
#include <quadmath.h>

typedef __float128 quad;
#define REFERENCE static __attribute__((unused))

#define Q_NAN __builtin_nanq("")
#define Q_INF __builtin_infq()

/* square root of the sum of squares of the first n of x y z x y z; an infinity wins over a NaN */
REFERENCE quad norm_q(int n, quad x, quad y, quad z)
{
	quad v[6] = { x, y, z, x, y, z }, sum = 0;

	if (n == 5)             /* norm4d(x, y, z, x) */
		n = 4;
	for (int i = 0; i < n; i++)
		if (isinfq(v[i]))
			return Q_INF;
	for (int i = 0; i < n; i++)
		sum += v[i] * v[i];
	return sqrtq(sum);
}

REFERENCE quad exp10_q(quad x)
{
	return powq(10, x);
}

/* Of the turn x / 2 the nearest quarter is taken off first: exact, and zeros stay exact. */
REFERENCE quad sinpi_q(quad x)
{
	quad r = fmodq(x, 2), near = rintq(2 * r);
	quad t = (r - near / 2) * M_PIq;
	int quarter = (int)near & 3;

	if (!finiteq(x))
		return Q_NAN;
	if (r == truncq(r))
		return copysignq(0, x);
	return quarter == 0 ? sinq(t) : quarter == 1 ? cosq(t) : quarter == 2 ? -sinq(t) : -cosq(t);
}

REFERENCE quad cospi_q(quad x)
{
	quad r = fmodq(fabsq(x), 2), near = rintq(2 * r);
	quad t = (r - near / 2) * M_PIq;
	int quarter = (int)near & 3;

	if (!finiteq(x))
		return Q_NAN;
	return quarter == 0 ? cosq(t) : quarter == 1 ? 0 - sinq(t) : quarter == 2 ? -cosq(t) : sinq(t);
}

/* y > 0 with erfc(y) = c, c in (0, 1), by Newton on the logarithm */
REFERENCE quad inverse_erfc(quad c)
{
	quad lc = logq(c), y = c > 0.5Q ? (1 - c) * 0.886Q : sqrtq(-lc);

	for (int i = 0; i < 60; i++) {
		quad e = erfcq(y), step = (logq(e) - lc) * e / (M_2_SQRTPIq * expq(-y * y));

		y += step;
		if (y <= 0)
			y = 1e-30Q;
		if (fabsq(step) <= 1e-30Q * y)
			break;
	}
	return y;
}

/* y with erf(y) = e, |e| <= 1/2 */
REFERENCE quad inverse_erf(quad e)
{
	quad y = e * 0.886226925452758013649083741670572591Q;

	for (int i = 0; i < 60; i++) {
		quad step = (e - erfq(y)) / (M_2_SQRTPIq * expq(-y * y));

		y += step;
		if (fabsq(step) <= 1e-32Q * fabsq(y))
			break;
	}
	return y;
}

REFERENCE quad erfinv_q(quad x)
{
	if (!(fabsq(x) <= 1))
		return Q_NAN;
	if (fabsq(x) == 1)
		return copysignq(Q_INF, x);
	if (fabsq(x) <= 0.5Q)
		return x == 0 ? x : inverse_erf(x);
	return copysignq(inverse_erfc(1 - fabsq(x)), x);
}

REFERENCE quad erfcinv_q(quad x)
{
	if (!(x >= 0 && x <= 2))
		return Q_NAN;
	if (x == 0 || x == 2)
		return x == 0 ? Q_INF : -Q_INF;
	if (x < 0.5Q)
		return inverse_erfc(x);
	return x > 1.5Q ? -inverse_erfc(2 - x) : x == 1 ? 0 : inverse_erf(1 - x);
}

REFERENCE quad erfcx_q(quad x)
{
	quad f = 0;

	if (x < 100)
		return x < -110 ? Q_INF : x != x ? x : expq(x * x) * erfcq(x);
	if (isinfq(x))
		return 0;
	/* the continued fraction 1/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))) */
	for (int k = 60; k >= 1; k--)
		f = (quad)k / 2 / (x + f);
	return M_2_SQRTPIq / 2 / (x + f);
}

REFERENCE quad normcdf_q(quad x)
{
	return erfcq(-x * M_SQRT1_2q) / 2;
}

REFERENCE quad normcdfinv_q(quad p)
{
	return -M_SQRT2q * erfcinv_q(2 * p);
}

REFERENCE quad lgamma_q(quad x)
{
	if (x <= 0 && x == truncq(x))
		return Q_INF;
	return lgammaq(x);
}

REFERENCE quad jn_q(int n, quad x)
{
	return isinfq(x) ? 0 : jnq(n, x);
}

static quad y_of(int n, quad x)
{
	if (x != x || x < 0)
		return Q_NAN;
	if (x == 0)
		return -Q_INF;
	if (isinfq(x))
		return 0;
	return n == 0 ? y0q(x) : n == 1 ? y1q(x) : ynq(n, x);
}
REFERENCE quad y0_q(quad x) { return y_of(0, x); }
REFERENCE quad y1_q(quad x) { return y_of(1, x); }
REFERENCE quad yn_q(int n, quad x) { return y_of(n, x); }

/* modified Bessel functions of the first kind, order 0 or 1: the power series, all of whose terms have one sign */
REFERENCE quad bessel_i_q(int n, quad x)
{
	quad term = n ? x / 2 : 1, sum = term, square = x * x / 4;

	if (x != x)
		return x;
	if (fabsq(x) > 720)
		return n ? copysignq(Q_INF, x) : Q_INF;
	for (int k = 1; fabsq(term) > fabsq(sum) * 1e-35Q; k++) {
		term *= square / ((quad)k * (k + n));
		sum += term;
	}
	return sum;
}

/* three bits of the quotient and its sign */
REFERENCE quad remquo_q(quad x, quad y)
{
	quad r = remainderq(x, y), n;

	if (r != r)
		return r;
	if (isinfq(y))
		return 0;
	n = rintq((fmodq(fabsq(x), 8 * fabsq(y)) - (x < 0 ? -r : r)) / fabsq(y));
	n = fmodq(n, 8);
	return (x < 0) != (y < 0) ? 0 - n : n;
}

REFERENCE quad modf_q(quad x)
{
	return isinfq(x) ? copysignq(0, x) : copysignq(x - truncq(x), x);
}

REFERENCE quad frexp_part_q(quad x)
{
	int e;

	return frexpq(x, &e);
}

REFERENCE quad frexp_power_q(quad x)
{
	int e = 0;

	if (finiteq(x))
		frexpq(x, &e);
	return e;
}

REFERENCE quad ldexp_q(quad x, int n)
{
	return scalbnq(x, n > 5000 ? 5000 : n < -5000 ? -5000 : n);
}

REFERENCE quad ilogb_q(quad x)
{
	return isinfq(x) ? INT_MAX : x == 0 || x != x ? INT_MIN : ilogbq(x);
}

REFERENCE quad below_q(quad x)
{
	return fabsq(x) < 0x1p60Q ? x : 0;
}

/* bits_select of kernels.cu: which of these x * 2 + 1 is, each operation rounded */
REFERENCE quad bits_select_q(quad x, int single)
{
	double v = single ? (double)((float)x * 2 + 1) : (double)x * 2 + 1;

	return v == 1 ? 1 : v == 3 ? 2 : !(v < 0) && !(v >= 0) ? 4 : signbitq((quad)v) ? 4 : 3;
}

/* PTX ISA, max: a NaN loses, and -0 is less than +0 */
REFERENCE quad max_q(quad x, quad y)
{
	if (x != x || y != y)
		return x != x ? y : x;
	return x == y ? signbitq(x) ? y : x : x > y ? x : y;
}
#endif
