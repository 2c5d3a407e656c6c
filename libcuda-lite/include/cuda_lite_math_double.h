/* SPDX-License-Identifier: MIT */
/*
 * Device mathematics in double precision, which cuda_lite_math.h gives its names: exponentials, logarithms, powers, sines, arc tangents.
 * Written for this project from the series themselves; what PTX has no instruction for is here, and nothing else is linked in.
 * Errors, in units of the last place, are measured by tests/maths/clang.cu (README.md here).
 *
 * A value in two doubles is the sum of both, the second below half a unit of the first. Products that such sums are made of are
 * mul.rn, which no compiler joins with the addition behind it.
 */
#ifndef CUDA_LITE_MATH_DOUBLE_H
#define CUDA_LITE_MATH_DOUBLE_H

#define CUDA_LITE_FN static __device__ __attribute__((unused))

namespace cuda_lite {

/* No built-in: LLVM makes an ordinary product of that, and fma of it and the sum behind it */
CUDA_LITE_FN inline double mul(double a, double b)
{
	double r;

	asm("mul.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
	return r;
}

/*
 * An argument as the caller has it. A product of his that something is added to or taken from here would become part of a fused multiply-add with it, and not be rounded:
 * round(a * b), modf(a * b, &w), isfinite(a * b) are of the product as it is.
 */
CUDA_LITE_FN inline double as_it_is(double x)
{
	if (!__builtin_constant_p(x))
		asm("" : "+d"(x));
	return x;
}
CUDA_LITE_FN inline float as_it_is(float x)
{
	if (!__builtin_constant_p(x))
		asm("" : "+f"(x));
	return x;
}

struct two { double hi, lo; };

CUDA_LITE_FN inline unsigned long long bits(double x) { return __builtin_bit_cast(unsigned long long, x); }
CUDA_LITE_FN inline double real(unsigned long long x) { return __builtin_bit_cast(double, x); }
CUDA_LITE_FN inline double inf() { return real(0x7ff0000000000000ull); }
CUDA_LITE_FN inline double nan() { return real(0x7ff8000000000000ull); }
CUDA_LITE_FN inline double rint(double x) { return __builtin_rint(x); }
CUDA_LITE_FN inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* a + b exactly; the second needs |a| >= |b| */
CUDA_LITE_FN inline two sum(double a, double b)
{
	double s = __nvvm_add_rn_d(a, b), t = __nvvm_add_rn_d(s, -a);

	return two{ s, __nvvm_add_rn_d(__nvvm_add_rn_d(a, -__nvvm_add_rn_d(s, -t)), __nvvm_add_rn_d(b, -t)) };
}
CUDA_LITE_FN inline two quick(double a, double b)
{
	double s = __nvvm_add_rn_d(a, b);

	return two{ s, __nvvm_add_rn_d(b, -__nvvm_add_rn_d(s, -a)) };
}
CUDA_LITE_FN inline two product(double a, double b)
{
	double p = mul(a, b);

	return two{ p, fma(a, b, -p) };
}
CUDA_LITE_FN inline two times(two a, two b)
{
	two p = product(a.hi, b.hi);

	return quick(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* x * 2^n, rounded once where the result is subnormal */
CUDA_LITE_FN inline double scale(double x, int n)
{
	if (n > 1023) {
		x *= real(0x7fe0000000000000ull);
		n -= 1023;
		if (n > 1023) {
			x *= real(0x7fe0000000000000ull);
			n = n - 1023 > 1023 ? 1023 : n - 1023;
		}
	} else if (n < -1022) {         /* by 2^-969: 53 bits stay until the last step */
		x *= real(54ull << 52);
		n += 969;
		if (n < -1022) {
			x *= real(54ull << 52);
			n = n + 969 < -1022 ? -1022 : n + 969;
		}
	}
	return x * real((unsigned long long)(1023 + n) << 52);
}

/* e^(x.hi + x.lo) - 1 for |x| <= 0.35: Taylor's series */
CUDA_LITE_FN inline double expm1_small(double x, double lo)
{
	double q = 1.0 / 1307674368000;

	q = fma(q, x, 1.0 / 87178291200);
	q = fma(q, x, 1.0 / 6227020800);
	q = fma(q, x, 1.0 / 479001600);
	q = fma(q, x, 1.0 / 39916800);
	q = fma(q, x, 1.0 / 3628800);
	q = fma(q, x, 1.0 / 362880);
	q = fma(q, x, 1.0 / 40320);
	q = fma(q, x, 1.0 / 5040);
	q = fma(q, x, 1.0 / 720);
	q = fma(q, x, 1.0 / 120);
	q = fma(q, x, 1.0 / 24);
	q = fma(q, x, 1.0 / 6);
	q = fma(q, x, 0.5);
	return x + fma(x * x, q, lo);
}

/* e^(hi + lo) */
CUDA_LITE_FN double exp2d(double hi, double lo)
{
	double n, r, t;

	if (hi != hi)
		return hi;
	if (hi > 710)
		return inf();
	if (hi < -746)
		return 0;
	n = rint(hi * 1.4426950408889634);
	r = fma(-n, 0.6931471803691238, hi);          /* exact: 32 bits, 11 bits */
	t = fma(-n, 1.9082149292705877e-10, lo);
	two s = sum(r, t);
	return scale(1 + expm1_small(s.hi, s.lo), (int)n);
}
CUDA_LITE_FN double exp(double x) { return exp2d(x, 0); }
CUDA_LITE_FN double exp2(double x)
{
	double n = rint(x);
	two p;

	if (!(x < 1025 && x > -1080))
		return x > 0 ? inf() : x != x ? x : 0;
	p = times(two{ x - n, 0 }, two{ 0.6931471805599453, 2.3190468138462996e-17 });
	return scale(1 + expm1_small(p.hi, p.lo), (int)n);
}
CUDA_LITE_FN double exp10(double x)
{
	two p;

	if (!(x < 310 && x > -330))
		return x > 0 ? inf() : x != x ? x : 0;
	p = times(two{ x, 0 }, two{ 2.302585092994046, -2.1707562233822494e-16 });
	return exp2d(p.hi, p.lo);
}
CUDA_LITE_FN double expm1(double x)
{
	double n, r, t, m;

	if (__builtin_fabs(x) < 0.35)
		return x == 0 ? x : expm1_small(x, 0);
	if (!(x < 40 && x > -40))
		return x < 0 ? -1 : exp(x);
	n = rint(x * 1.4426950408889634);
	r = fma(-n, 0.6931471803691238, x);
	t = mul(-n, 1.9082149292705877e-10);
	two s = sum(r, t);
	m = scale(1, (int)n);
	two all = sum(m - 1, m * expm1_small(s.hi, s.lo));
	return all.hi + all.lo;
}

/* x = 2^n (1 + f), f between sqrt(1/2) - 1 and sqrt(2) - 1; x is positive and finite */
CUDA_LITE_FN inline int split(double x, double *f)
{
	int n = 0;
	unsigned long long b;

	if (x < 2.2250738585072014e-308) {
		x *= 1.8014398509481984e+16;
		n = -54;
	}
	b = bits(x) - 0x3fe6a09e667f3bcdull;
	n += (int)((long long)b >> 52);
	*f = real((b & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1;
	return n;
}

/* ln x in two doubles, for what is as exact as those: atanh's series in s = f / (2 + f), the first two terms in two doubles */
CUDA_LITE_FN two log_two(double x)
{
	double f, z, q;
	int n = split(x, &f);
	two t = quick(2, f), s, s2, s3, k, a;

	s.hi = f / t.hi;
	s.lo = (fma(-s.hi, t.hi, f) - s.hi * t.lo) / t.hi;
	s2 = times(s, s);
	s3 = times(times(s2, s), two{ 0.6666666666666666, 3.700743415417188e-17 });
	z = s2.hi;
	q = 2.0 / 25;
	q = fma(q, z, 2.0 / 23);
	q = fma(q, z, 2.0 / 21);
	q = fma(q, z, 2.0 / 19);
	q = fma(q, z, 2.0 / 17);
	q = fma(q, z, 2.0 / 15);
	q = fma(q, z, 2.0 / 13);
	q = fma(q, z, 2.0 / 11);
	q = fma(q, z, 2.0 / 9);
	q = fma(q, z, 2.0 / 7);
	q = fma(q, z, 2.0 / 5);
	q *= z * z * s.hi;
	k = quick(n * 0.6931471803691238, n * 1.9082149292705877e-10);
	k.lo += n * -3.390939443714712e-27;
	a = sum(k.hi, 2 * s.hi);
	a.lo += k.lo + 2 * s.lo;
	a = quick(a.hi, a.lo);
	two b = sum(a.hi, s3.hi);
	return quick(b.hi, b.lo + (a.lo + s3.lo + q));
}

/* What logarithms have at the edges; true: *r is it */
CUDA_LITE_FN inline bool log_edge(double x, double *r)
{
	if (x > 0 && x < inf())
		return false;
	*r = x == 0 ? -inf() : x < 0 ? nan() : x;
	return true;
}
CUDA_LITE_FN double log(double x)
{
	double r;

	return log_edge(x, &r) ? r : log_two(x).hi;
}
CUDA_LITE_FN double log2(double x)
{
	double r, f;
	int n;

	if (log_edge(x, &r))
		return r;
	n = split(x, &f);
	two l = times(log_two(1 + f), two{ 1.4426950408889634, 2.0355273740931033e-17 });
	two s = sum(n, l.hi);
	return s.hi + (s.lo + l.lo);
}
CUDA_LITE_FN double log10(double x)
{
	double r;

	return log_edge(x, &r) ? r : times(log_two(x), two{ 0.4342944819032518, 1.098319650216765e-17 }).hi;
}
CUDA_LITE_FN double log1p(double x)
{
	double u, r;

	x = as_it_is(x);
	u = 1 + x;
	if (x == 0 || log_edge(u, &r))
		return x == 0 ? x : x == inf() ? x : r;
	if (__builtin_fabs(x) < 1e-300)
		return x;
	two s = sum(1, x), l = log_two(s.hi);
	return l.hi + (l.lo + s.lo / s.hi);
}

CUDA_LITE_FN double any_power(double x, double y)
{
	double a = __builtin_fabs(x), r;
	bool whole = rint(y) == y, odd = whole && __builtin_fabs(y) < 9007199254740992.0 && (long long)y & 1;
	two l, p;

	if (x == 1 || y == 0)
		return 1;
	if (x != x || y != y)
		return x + y;
	if (__builtin_fabs(y) == inf())
		return a == 1 ? 1 : (a > 1) == (y > 0) ? inf() : 0;
	if (a == 0 || a == inf()) {
		r = (a == 0) == (y < 0) ? inf() : 0;
		return odd && bits(x) >> 63 ? -r : r;
	}
	if (x < 0 && !whole)
		return nan();
	l = log_two(a);
	p = product(y, l.hi);
	if (__builtin_fabs(p.hi) < inf())
		p = quick(p.hi, fma(y, l.lo, p.lo));
	r = exp2d(p.hi, p.hi == p.hi && __builtin_fabs(p.hi) < 800 ? p.lo : 0);
	return odd && x < 0 ? -r : r;
}
/* Exponents that the text names, for which it is one operation: a square, a root, a reciprocal */
CUDA_LITE_FN inline __attribute__((always_inline)) double pow(double x, double y)
{
	if (__builtin_constant_p(y)) {
		if (y == 2)
			return x * x;
		if (y == 1)
			return x;
		if (y == -1)
			return 1 / x;
		if (y == 0.5)
			return x == -inf() ? inf() : __nvvm_sqrt_rn_d(x + 0.0);
	}
	return any_power(x, y);
}

/* x = q pi/2 + the result, below pi/4 in size, in two doubles: by 2/pi to as many bits as it takes (Payne and Hanek) */
CUDA_LITE_FN two reduce_far(double x, int *q)
{
	static __device__ const unsigned long long digits[] = {
		0, /* 2/pi, from the point on */
		0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
		0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
		0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
		0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull
	};
	int e = (int)(bits(x) >> 52 & 2047) - 1075, at = e - 2 + 64, w = at / 64, sh = at % 64, n;
	unsigned long long m = (bits(x) & 0xfffffffffffffull) | 1ull << 52, v[3], hi, lo;
	bool minus;
	double a, b;

	for (int i = 0; i < 3; i++)
		v[i] = sh ? digits[w + i] << sh | digits[w + i + 1] >> (64 - sh) : digits[w + i];
	/* the low 192 bits of m * v: two of whole quarters, the rest their part */
	unsigned __int128 p1 = (unsigned __int128)m * v[2], p2 = (unsigned __int128)m * v[1] + (unsigned long long)(p1 >> 64);
	hi = m * v[0] + (unsigned long long)(p2 >> 64);
	lo = (unsigned long long)p2;
	*q = (int)(hi >> 62);
	hi = hi << 2 | lo >> 62;
	lo = lo << 2 | (unsigned long long)p1 >> 62;
	minus = hi >> 63;
	if (minus) {
		*q += 1;
		hi = ~hi;
		lo = ~lo;
	}
	n = hi ? __builtin_clzll(hi) : 63;
	if (n)
		hi = hi << n | lo >> (64 - n), lo <<= n;
	a = (double)(hi >> 11) * scale(1, -53 - n);
	b = (double)((hi & 2047) << 42 | lo >> 22) * scale(1, -106 - n);
	if (minus)
		a = -a, b = -b;
	two r = times(two{ a, b }, two{ 1.5707963267948966, 6.123233995736766e-17 });
	if (bits(x) >> 63) {
		r.hi = -r.hi;
		r.lo = -r.lo;
		*q = -*q;
	}
	return r;
}
CUDA_LITE_FN two reduce(double x, int *q)
{
	double n, w;
	two p, r;

	if (__builtin_fabs(x) > 1e5)
		return reduce_far(x, q);
	n = rint(x * 0.6366197723675814);
	*q = (int)n;
	p = product(n, 1.5707963267948966);
	r = sum(x, -p.hi);
	r = sum(r.hi, r.lo - p.lo);
	p = product(n, 6.123233995736766e-17);
	two s = sum(r.hi, -p.hi);
	w = s.lo + (r.lo - p.lo) + n * 1.4973849048591698e-33;
	return quick(s.hi, w);
}

/* For |x| <= pi/4 */
CUDA_LITE_FN inline double sin_small(two x)
{
	double z = x.hi * x.hi, q = -1.0 / 121645100408832000.0;

	q = fma(q, z, 1.0 / 355687428096000.0);
	q = fma(q, z, -1.0 / 1307674368000.0);
	q = fma(q, z, 1.0 / 6227020800.0);
	q = fma(q, z, -1.0 / 39916800);
	q = fma(q, z, 1.0 / 362880);
	q = fma(q, z, -1.0 / 5040);
	q = fma(q, z, 1.0 / 120);
	q = fma(q, z, -1.0 / 6);
	return x.hi + fma(x.hi * z, q, x.lo * fma(z, -0.5, 1.0));
}
CUDA_LITE_FN inline double cos_small(two x)
{
	double z = x.hi * x.hi, q = 1.0 / 2432902008176640000.0, h;

	q = fma(q, z, -1.0 / 6402373705728000.0);
	q = fma(q, z, 1.0 / 20922789888000.0);
	q = fma(q, z, -1.0 / 87178291200.0);
	q = fma(q, z, 1.0 / 479001600);
	q = fma(q, z, -1.0 / 3628800);
	q = fma(q, z, 1.0 / 40320);
	q = fma(q, z, -1.0 / 720);
	q = fma(q, z, 1.0 / 24);
	h = mul(z, 0.5);
	two s = quick(1, -h);
	return s.hi + (s.lo + fma(z * z, q, -x.hi * x.lo) - fma(x.hi, x.hi, -z) * 0.5);
}
CUDA_LITE_FN void sincos(double x, double *s, double *c)
{
	int q;

	if (!(__builtin_fabs(x) < inf())) {
		*s = *c = nan();
		return;
	}
	two r = reduce(x, &q);
	double a = sin_small(r), b = cos_small(r);

	if (x == 0)
		a = x;
	*s = q & 1 ? b : a;
	*c = q & 1 ? a : b;
	*s = q & 2 ? -*s : *s;
	*c = (q + 1) & 2 ? -*c : *c;
}

/* atan of y / x, both positive, the quotient at most 1 and in two doubles */
CUDA_LITE_FN inline two atan_two(double y, double x)
{
	two t, base = { 0, 0 }, r;
	double z, q;

	/* above tan(pi/8): pi/4 + atan((y - x) / (y + x)) */
	if (y > 0.41421356 * x) {
		two n = sum(y, -x), d = sum(y, x);

		t.hi = n.hi / d.hi;
		t.lo = (fma(-t.hi, d.hi, n.hi) + n.lo - t.hi * d.lo) / d.hi;
		base = two{ 0.7853981633974483, 3.061616997868383e-17 };
	} else {
		t.hi = y / x;
		t.lo = fma(-t.hi, x, y) / x;
	}
	z = t.hi * t.hi;
	q = 0;
	for (int k = 22; k >= 1; k--)
		q = fma(q, z, (k & 1 ? -1.0 : 1.0) / (2 * k + 1));
	r = quick(t.hi, fma(t.hi * z, q, t.lo * (1 - z)));
	two s = sum(base.hi, r.hi);
	return quick(s.hi, s.lo + (base.lo + r.lo));
}
CUDA_LITE_FN double atan2(double y, double x)
{
	double a = __builtin_fabs(y), b = __builtin_fabs(x), k;
	two r;

	if (x != x || y != y)
		return x + y;
	if (a == inf() && b == inf())
		a = b = 1;
	if (a == b)
		r = a == 0 ? two{ 0, 0 } : two{ 0.7853981633974483, 3.061616997868383e-17 };
	else if (a == inf() || b == inf())
		r = two{ 0, 0 };
	else {
		/* far from the ends of the range, where the parts of quotients would be lost */
		k = (a > b ? a : b) > 1e150 ? 6.223015277861142e-61 : (a > b ? a : b) < 1e-150 ? 1.6069380442589903e+60 : 1;
		r = a < b ? atan_two(a * k, b * k) : atan_two(b * k, a * k);
		if (a < b && r.hi < 1e-290)
			r = two{ a / b, 0 };
	}
	if (a > b) {
		two s = sum(1.5707963267948966, -r.hi);
		r = quick(s.hi, s.lo + (6.123233995736766e-17 - r.lo));
	}
	if (bits(x) >> 63) {
		two s = sum(3.141592653589793, -r.hi);
		r = quick(s.hi, s.lo + (1.2246467991473532e-16 - r.lo));
	}
	return __builtin_copysign(r.hi, y);
}

} /* cuda_lite */

#endif
