/* SPDX-License-Identifier: MIT */
/*
 * Bessel functions of device code, by their definitions: to 25 the power series (Abramowitz & Stegun 9.1.10-13, 9.6.10) in pairs of doubles, whose 32 digits
 * bear what the terms cancel, also at zeros; from there on the asymptotic expansions (9.2.5-10, 9.7.1). Orders by recurrence, in the direction that is
 * stable. Those of floats are rounded doubles. Included by cuda_lite_math.h.
 */
#ifndef CUDA_LITE_BESSEL_H
#define CUDA_LITE_BESSEL_H

namespace cuda_lite {

CUDA_LITE_FN inline two plus(two a, two b)
{
	two s = sum(a.hi, b.hi);

	return quick(s.hi, s.lo + (a.lo + b.lo));
}
CUDA_LITE_FN inline two over(two a, double b)
{
	double q = a.hi / b;

	return quick(q, (fma(-q, b, a.hi) + a.lo) / b);
}
/*
 * The sum of t^k / (k! (k + order)!), t = sign x^2 / 4; in *weighted that of terms times H(k), of order 1 H(k) + H(k + 1), H the harmonic numbers
 */
CUDA_LITE_FN two bessel_series(double x, int order, double sign, two *weighted)
{
	two t = product(x * 0.5, x * 0.5), term = { 1, 0 }, s = term, h = { 0, 0 }, w = { (double)order, 0 };

	t.hi *= sign;
	t.lo *= sign;
	for (int k = 1; k < 120; k++) {
		term = over(times(term, t), (double)(k * (k + order)));
		s = plus(s, term);
		if (weighted) {
			h = plus(h, over(two{ 1, 0 }, k));
			w = plus(w, times(term, order ? plus(plus(h, h), over(two{ 1, 0 }, k + 1)) : h));
		}
		if (__builtin_fabs(term.hi) < 1e-35)
			break;
	}
	if (weighted)
		*weighted = w;
	return s;
}
/* ln(x / 2) + Euler's constant, to all 32 digits: near Y's zeros little else is left. With s = f / (2 + f), ln(1 + f) is 2 (s + s^3 / 3 + s^5 / 5 + ...) */
CUDA_LITE_FN two bessel_log(double x)
{
	double f;
	int n = split(x, &f) - 1;
	two t = quick(2, f), u, s2, r;

	u.hi = f / t.hi;
	u.lo = (fma(-u.hi, t.hi, f) - u.hi * t.lo) / t.hi;
	s2 = times(u, u);
	r = over(two{ 2, 0 }, 43);
	for (int k = 41; k > 0; k -= 2)
		r = plus(times(r, s2), over(two{ 2, 0 }, k));
	r = times(r, u);
	return plus(plus(times(two{ (double)n, 0 }, two{ 0.6931471805599453, 2.3190468138462996e-17 }), r), two{ 0.5772156649015329, -4.942915152430645e-18 });
}
/* P and Q of the expansion, x >= 25 */
CUDA_LITE_FN void bessel_far(double x, int order, double *p, double *q)
{
	double z = 1 / x, a = 1, s[2] = { 1, 0 };

	for (int k = 1; k < 26; k++) {
		a *= (4 * order - (2 * k - 1) * (2 * k - 1)) * z / (8 * k);
		s[k & 1] += k & 2 ? -a : a;
	}
	*p = s[0];
	*q = s[1];
}
/* J and Y of order 0 or 1 there: the angle is x less a quarter or three of pi */
CUDA_LITE_FN void bessel_wave(double x, int order, double *j, double *y)
{
	double s, c, p, q, r = __nvvm_sqrt_rn_d(0.3183098861837907 / x), plus_, less;

	sincos(x, &s, &c);
	bessel_far(x, order, &p, &q);
	plus_ = s + c;
	less = s - c;
	*j = r * (order ? p * less + q * plus_ : p * plus_ - q * less);
	*y = r * (order ? q * less - p * plus_ : p * less + q * plus_);
}
CUDA_LITE_FN double bessel_j(double x, int order)
{
	double a = __builtin_fabs(x), j, y;

	if (x != x || a == inf())
		return x != x ? x : 0;
	if (a < 25) {
		two s = bessel_series(a, order, -1, nullptr);

		j = order ? a * 0.5 * s.hi : s.hi;
	} else {
		bessel_wave(a, order, &j, &y);
	}
	return order && bits(x) >> 63 ? -j : j;
}
CUDA_LITE_FN double bessel_y(double x, int order)
{
	double j, y;
	two w, s, l;

	if (x != x || x <= 0)
		return x == 0 ? -inf() : nan();
	if (x == inf())
		return 0;
	if (x >= 25) {
		bessel_wave(x, order, &j, &y);
		return y;
	}
	if (order && x < 1e-280)
		return -0.6366197723675814 / x;
	s = bessel_series(x, order, -1, &w);
	l = times(bessel_log(x), s);
	if (!order) {
		w.hi = -w.hi;
		w.lo = -w.lo;
		return times(plus(l, w), two{ 0.6366197723675814, -3.935735335036497e-17 }).hi;
	}
	/* -2 / (pi x) + x/2 (2/pi (ln(x/2) + C) s - w / pi) */
	l = times(plus(l, two{ w.hi * -0.5, w.lo * -0.5 }), two{ x * 0.5, 0 });
	return times(plus(over(two{ -1, 0 }, x), l), two{ 0.6366197723675814, -3.935735335036497e-17 }).hi;
}
CUDA_LITE_FN double bessel_i(double x, int order)
{
	double a = __builtin_fabs(x), p, q, r;

	if (x != x || a == inf())
		return x != x ? x : order ? x : a;
	if (a < 25) {
		two s = bessel_series(a, order, 1, nullptr);

		r = order ? a * 0.5 * s.hi : s.hi;
	} else {
		/* the terms' signs alternate otherwise than those of P and Q */
		double z = 1 / a, t = 1, s = 0;

		for (int k = 1; k < 26; k++) {
			t *= -(4 * order - (2 * k - 1) * (2 * k - 1)) * z / (8 * k);
			s += t;
		}
		p = 0.3989422804014327 / __nvvm_sqrt_rn_d(a);
		q = exp(a > 700 ? a * 0.5 : a);
		r = fma(s, p, p) * q * (a > 700 ? q : 1);
	}
	return order && bits(x) >> 63 ? -r : r;
}
CUDA_LITE_FN double jn(int n, double x)
{
	double a = __builtin_fabs(x), before, now, next, all = 0, got = 0;

	if (n < 0 || x != x)
		return nan();
	if (n < 2)
		return bessel_j(x, n);
	if (a == 0 || a == inf())
		return 0;
	if (a * a * 0.25 <= n + 1) {            /* the series, none of whose terms is greater than the first */
		now = 1;
		for (int k = 1; k <= n && now != 0; k++)
			now *= a * 0.5 / k;
		next = now;
		for (int k = 1; k < 60 && next != 0; k++) {
			next *= -0.25 * a * a / ((double)k * ((double)n + k));
			now += next;
		}
	} else if (a > n) {
		before = bessel_j(a, 0);
		now = bessel_j(a, 1);
		for (int k = 1; k < n; k++) {
			next = 2.0 * k / a * now - before;
			before = now;
			now = next;
		}
	} else {
		/* downwards from where they are as good as none, scaled by J(0) + 2 J(2) + 2 J(4) + ... = 1 */
		before = 0;
		now = 1e-200;
		for (int k = (n + 30 + (int)(16 * __nvvm_sqrt_rn_d(n))) & ~1; k > 0; k--) {
			next = 2.0 * k / a * now - before;
			before = now;
			now = next;
			if (__builtin_fabs(now) > 1e200) {
				now *= 1e-250;
				before *= 1e-250;
				all *= 1e-250;
				got *= 1e-250;
			}
			all += k & 1 ? k > 1 ? 2 * now : now : 0;
			if (k - 1 == n)
				got = now;
		}
		now = got / all;
	}
	return n & 1 && bits(x) >> 63 ? -now : now;
}
CUDA_LITE_FN double yn(int n, double x)
{
	double before, now, next;

	if (n < 0 || x != x || x < 0)
		return nan();
	if (n < 2)
		return bessel_y(x, n);
	if (x == inf())
		return 0;
	before = bessel_y(x, 0);
	now = bessel_y(x, 1);
	for (int k = 1; k < n && now > -inf(); k++) {
		next = 2.0 * k / x * now - before;
		before = now;
		now = next;
	}
	return now;
}

} /* cuda_lite */

#define CUDA_LITE_BESSEL(name, expr) \
	CUDA_LITE_FN inline double name(double x) { return expr; } \
	CUDA_LITE_FN inline float name##f(float x) { return (float)name((double)x); }
CUDA_LITE_BESSEL(j0, cuda_lite::bessel_j(x, 0))
CUDA_LITE_BESSEL(j1, cuda_lite::bessel_j(x, 1))
CUDA_LITE_BESSEL(y0, cuda_lite::bessel_y(x, 0))
CUDA_LITE_BESSEL(y1, cuda_lite::bessel_y(x, 1))
CUDA_LITE_BESSEL(cyl_bessel_i0, cuda_lite::bessel_i(x, 0))
CUDA_LITE_BESSEL(cyl_bessel_i1, cuda_lite::bessel_i(x, 1))
#undef CUDA_LITE_BESSEL
CUDA_LITE_FN inline double jn(int n, double x) { return cuda_lite::jn(n, x); }
CUDA_LITE_FN inline float jnf(int n, float x) { return (float)cuda_lite::jn(n, (double)x); }
CUDA_LITE_FN inline double yn(int n, double x) { return cuda_lite::yn(n, x); }
CUDA_LITE_FN inline float ynf(int n, float x) { return (float)cuda_lite::yn(n, (double)x); }

#endif
