/* SPDX-License-Identifier: MIT */
/*
 * What __half and __nv_bfloat16 have alike: comparisons, least and greatest, operators, shuffles, functions of the math library, atomics.
 * cuda_fp16.h and cuda_bf16.h include it once each, with a type, its pair, its bits and its conversions by CUDA_LITE_T, _T2, _AS, ...; no guard.
 */

/* ---- comparisons ------------------------------------------------------------------------------ */

CUDA_LITE_HD bool __hisnan(CUDA_LITE_T a) { return (a.__x & 0x7fff) > CUDA_LITE_INFINITE; }
CUDA_LITE_HD int __hisinf(CUDA_LITE_T a) { return a.__x == CUDA_LITE_INFINITE ? 1 : a.__x == (CUDA_LITE_INFINITE | 0x8000) ? -1 : 0; }
/* of pairs: ones and zeroes, masks, and whether it is so of both */
#define CUDA_LITE_PAIRS(name, u) \
	CUDA_LITE_HD CUDA_LITE_T2 __h##name##u##2(CUDA_LITE_T2 a, CUDA_LITE_T2 b) \
	{ return CUDA_LITE_T2(CUDA_LITE_AS(__h##name##u(a.x, b.x) ? CUDA_LITE_UNIT : 0), CUDA_LITE_AS(__h##name##u(a.y, b.y) ? CUDA_LITE_UNIT : 0)); } \
	CUDA_LITE_HD unsigned int __h##name##u##2_mask(CUDA_LITE_T2 a, CUDA_LITE_T2 b) \
	{ return (__h##name##u(a.x, b.x) ? 0xffffu : 0) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0); } \
	CUDA_LITE_HD bool __hb##name##u##2(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
/* ordered, and unordered: true of a NaN as well; so "not equal" is false of a NaN, where C's is true */
#define CUDA_LITE_CMP(name, op) \
	CUDA_LITE_HD bool __h##name(CUDA_LITE_T a, CUDA_LITE_T b) { return !__hisnan(a) && !__hisnan(b) && CUDA_LITE_FLOAT(a) op CUDA_LITE_FLOAT(b); } \
	CUDA_LITE_HD bool __h##name##u(CUDA_LITE_T a, CUDA_LITE_T b) { return __hisnan(a) || __hisnan(b) || CUDA_LITE_FLOAT(a) op CUDA_LITE_FLOAT(b); } \
	CUDA_LITE_PAIRS(name, ) \
	CUDA_LITE_PAIRS(name, u)
CUDA_LITE_CMP(eq, ==)
CUDA_LITE_CMP(ne, !=)
CUDA_LITE_CMP(lt, <)
CUDA_LITE_CMP(le, <=)
CUDA_LITE_CMP(gt, >)
CUDA_LITE_CMP(ge, >=)
CUDA_LITE_HD CUDA_LITE_T2 __hisnan2(CUDA_LITE_T2 a)
{
	return CUDA_LITE_T2(CUDA_LITE_AS(__hisnan(a.x) ? CUDA_LITE_UNIT : 0), CUDA_LITE_AS(__hisnan(a.y) ? CUDA_LITE_UNIT : 0));
}
/* of a NaN and a number the number, or, in the forms that say so, a NaN; -0 is below +0 */
CUDA_LITE_HD bool __cuda_lite_above(CUDA_LITE_T a, CUDA_LITE_T b)
{
	return CUDA_LITE_FLOAT(a) > CUDA_LITE_FLOAT(b) || (CUDA_LITE_FLOAT(a) == CUDA_LITE_FLOAT(b) && !(a.__x & 0x8000));
}
CUDA_LITE_HD CUDA_LITE_T __hmax(CUDA_LITE_T a, CUDA_LITE_T b)
{
	if (__hisnan(a) || __hisnan(b))
		return __hisnan(a) && __hisnan(b) ? CUDA_LITE_AS(0x7fff) : __hisnan(a) ? b : a;
	return __cuda_lite_above(a, b) ? a : b;
}
CUDA_LITE_HD CUDA_LITE_T __hmin(CUDA_LITE_T a, CUDA_LITE_T b)
{
	if (__hisnan(a) || __hisnan(b))
		return __hisnan(a) && __hisnan(b) ? CUDA_LITE_AS(0x7fff) : __hisnan(a) ? b : a;
	return __cuda_lite_above(a, b) ? b : a;
}
CUDA_LITE_HD CUDA_LITE_T __hmax_nan(CUDA_LITE_T a, CUDA_LITE_T b) { return __hisnan(a) || __hisnan(b) ? CUDA_LITE_AS(0x7fff) : __hmax(a, b); }
CUDA_LITE_HD CUDA_LITE_T __hmin_nan(CUDA_LITE_T a, CUDA_LITE_T b) { return __hisnan(a) || __hisnan(b) ? CUDA_LITE_AS(0x7fff) : __hmin(a, b); }
CUDA_LITE_HD CUDA_LITE_T2 __hmax2(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return CUDA_LITE_T2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }
CUDA_LITE_HD CUDA_LITE_T2 __hmin2(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return CUDA_LITE_T2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }
CUDA_LITE_HD CUDA_LITE_T2 __hmax2_nan(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return CUDA_LITE_T2(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)); }
CUDA_LITE_HD CUDA_LITE_T2 __hmin2_nan(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return CUDA_LITE_T2(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)); }

/* ---- made of products and sums ---------------------------------------------------------------- */

CUDA_LITE_HD CUDA_LITE_T2 __h2div(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return CUDA_LITE_T2(__hdiv(a.x, b.x), __hdiv(a.y, b.y)); }
CUDA_LITE_HD CUDA_LITE_T2 __hneg2(CUDA_LITE_T2 a) { return CUDA_LITE_T2(__hneg(a.x), __hneg(a.y)); }
CUDA_LITE_HD CUDA_LITE_T2 __habs2(CUDA_LITE_T2 a) { return CUDA_LITE_T2(__habs(a.x), __habs(a.y)); }
CUDA_LITE_HD CUDA_LITE_T __hadd_rn(CUDA_LITE_T a, CUDA_LITE_T b) { return __hadd(a, b); }
CUDA_LITE_HD CUDA_LITE_T __hsub_rn(CUDA_LITE_T a, CUDA_LITE_T b) { return __hsub(a, b); }
CUDA_LITE_HD CUDA_LITE_T __hmul_rn(CUDA_LITE_T a, CUDA_LITE_T b) { return __hmul(a, b); }
CUDA_LITE_HD CUDA_LITE_T2 __hadd2_rn(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return __hadd2(a, b); }
CUDA_LITE_HD CUDA_LITE_T2 __hsub2_rn(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return __hsub2(a, b); }
CUDA_LITE_HD CUDA_LITE_T2 __hmul2_rn(CUDA_LITE_T2 a, CUDA_LITE_T2 b) { return __hmul2(a, b); }
/* what is negative becomes 0 */
CUDA_LITE_HD CUDA_LITE_T __hfma_relu(CUDA_LITE_T a, CUDA_LITE_T b, CUDA_LITE_T c) { return __hmax_nan(__hfma(a, b, c), CUDA_LITE_AS(0)); }
CUDA_LITE_HD CUDA_LITE_T2 __hfma2_relu(CUDA_LITE_T2 a, CUDA_LITE_T2 b, CUDA_LITE_T2 c)
{
	return CUDA_LITE_T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
/* a b + c of complex numbers, a's real part first */
CUDA_LITE_HD CUDA_LITE_T2 __hcmadd(CUDA_LITE_T2 a, CUDA_LITE_T2 b, CUDA_LITE_T2 c)
{
	return CUDA_LITE_T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

/* ---- operators -------------------------------------------------------------------------------- */

#define CUDA_LITE_OPERATOR(op, f, f2) \
	CUDA_LITE_HD CUDA_LITE_T operator op(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return f(a, b); } \
	CUDA_LITE_HD CUDA_LITE_T &operator op##=(CUDA_LITE_T &a, const CUDA_LITE_T &b) { return a = f(a, b); } \
	CUDA_LITE_HD CUDA_LITE_T2 operator op(const CUDA_LITE_T2 &a, const CUDA_LITE_T2 &b) { return f2(a, b); } \
	CUDA_LITE_HD CUDA_LITE_T2 &operator op##=(CUDA_LITE_T2 &a, const CUDA_LITE_T2 &b) { return a = f2(a, b); }
CUDA_LITE_OPERATOR(+, __hadd, __hadd2)
CUDA_LITE_OPERATOR(-, __hsub, __hsub2)
CUDA_LITE_OPERATOR(*, __hmul, __hmul2)
CUDA_LITE_OPERATOR(/, __hdiv, __h2div)
CUDA_LITE_HD CUDA_LITE_T operator-(const CUDA_LITE_T &a) { return __hneg(a); }
CUDA_LITE_HD CUDA_LITE_T operator+(const CUDA_LITE_T &a) { return a; }
CUDA_LITE_HD CUDA_LITE_T2 operator-(const CUDA_LITE_T2 &a) { return __hneg2(a); }
CUDA_LITE_HD CUDA_LITE_T2 operator+(const CUDA_LITE_T2 &a) { return a; }
CUDA_LITE_HD CUDA_LITE_T &operator++(CUDA_LITE_T &a) { return a = __hadd(a, CUDA_LITE_AS(CUDA_LITE_UNIT)); }
CUDA_LITE_HD CUDA_LITE_T &operator--(CUDA_LITE_T &a) { return a = __hsub(a, CUDA_LITE_AS(CUDA_LITE_UNIT)); }
CUDA_LITE_HD CUDA_LITE_T operator++(CUDA_LITE_T &a, int) { CUDA_LITE_T was = a; ++a; return was; }
CUDA_LITE_HD CUDA_LITE_T operator--(CUDA_LITE_T &a, int) { CUDA_LITE_T was = a; --a; return was; }
CUDA_LITE_HD bool operator==(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __heq(a, b); }
CUDA_LITE_HD bool operator!=(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __hneu(a, b); }
CUDA_LITE_HD bool operator<(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __hlt(a, b); }
CUDA_LITE_HD bool operator<=(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __hle(a, b); }
CUDA_LITE_HD bool operator>(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __hgt(a, b); }
CUDA_LITE_HD bool operator>=(const CUDA_LITE_T &a, const CUDA_LITE_T &b) { return __hge(a, b); }
CUDA_LITE_HD bool operator==(const CUDA_LITE_T2 &a, const CUDA_LITE_T2 &b) { return __hbeq2(a, b); }
CUDA_LITE_HD bool operator!=(const CUDA_LITE_T2 &a, const CUDA_LITE_T2 &b) { return __hbneu2(a, b); }

/* ---- on the device only: shuffles, the math library, atomics ---------------------------------- */

#ifdef __CUDA__
#define CUDA_LITE_DEV_FN static __attribute__((device)) inline
#define CUDA_LITE_SHUFFLE(name) \
	CUDA_LITE_DEV_FN CUDA_LITE_T name(unsigned int mask, const CUDA_LITE_T &v, int lane, int width = warpSize) \
	{ return CUDA_LITE_AS(name(mask, (unsigned int)v.__x, lane, width)); } \
	CUDA_LITE_DEV_FN CUDA_LITE_T2 name(unsigned int mask, const CUDA_LITE_T2 &v, int lane, int width = warpSize) \
	{ return __builtin_bit_cast(CUDA_LITE_T2, name(mask, __builtin_bit_cast(unsigned int, v), lane, width)); }
CUDA_LITE_SHUFFLE(__shfl_sync)
CUDA_LITE_SHUFFLE(__shfl_up_sync)
CUDA_LITE_SHUFFLE(__shfl_down_sync)
CUDA_LITE_SHUFFLE(__shfl_xor_sync)

#define CUDA_LITE_MATH1(name, expr) \
	CUDA_LITE_DEV_FN CUDA_LITE_T h##name(CUDA_LITE_T a) { float x = CUDA_LITE_FLOAT(a); return CUDA_LITE_NEAREST(expr); } \
	CUDA_LITE_DEV_FN CUDA_LITE_T2 h2##name(CUDA_LITE_T2 a) { return CUDA_LITE_T2(h##name(a.x), h##name(a.y)); }
CUDA_LITE_MATH1(sqrt, sqrtf(x))
CUDA_LITE_MATH1(rsqrt, 1 / sqrtf(x))
CUDA_LITE_MATH1(rcp, 1 / x)
CUDA_LITE_MATH1(exp, expf(x))
CUDA_LITE_MATH1(exp2, exp2f(x))
CUDA_LITE_MATH1(exp10, exp2f(x * 3.32192809488736234787f))
CUDA_LITE_MATH1(log, logf(x))
CUDA_LITE_MATH1(log2, log2f(x))
CUDA_LITE_MATH1(log10, log10f(x))
CUDA_LITE_MATH1(sin, sinf(x))
CUDA_LITE_MATH1(cos, cosf(x))
CUDA_LITE_MATH1(tanh, tanhf(x))
CUDA_LITE_MATH1(floor, floorf(x))
CUDA_LITE_MATH1(ceil, ceilf(x))
CUDA_LITE_MATH1(trunc, truncf(x))
CUDA_LITE_MATH1(rint, rintf(x))

/* half's has an instruction from compute capability 7.0 on, the other from 9.0; before, the word that it lies in is compared and exchanged */
CUDA_LITE_DEV_FN CUDA_LITE_T atomicAdd(CUDA_LITE_T *p, CUDA_LITE_T v)
{
	unsigned int *w = (unsigned int *)((unsigned long long)p & ~3ull), high = ((unsigned long long)p & 2) * 8, was = *w, seen;

	for (;; was = seen) {
		CUDA_LITE_T sum = __hadd(CUDA_LITE_AS(was >> high), v);
		seen = atomicCAS(w, was, (was & ~(0xffffu << high)) | (unsigned int)sum.__x << high);
		if (seen == was)
			return CUDA_LITE_AS(was >> high);
	}
}
CUDA_LITE_DEV_FN CUDA_LITE_T2 atomicAdd(CUDA_LITE_T2 *p, CUDA_LITE_T2 v)
{
	return CUDA_LITE_T2(atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y));
}
#undef CUDA_LITE_SHUFFLE
#undef CUDA_LITE_MATH1
#undef CUDA_LITE_DEV_FN
#endif

#undef CUDA_LITE_PAIRS
#undef CUDA_LITE_CMP
#undef CUDA_LITE_OPERATOR
#undef CUDA_LITE_T
#undef CUDA_LITE_T2
#undef CUDA_LITE_AS
#undef CUDA_LITE_FLOAT
#undef CUDA_LITE_NEAREST
#undef CUDA_LITE_INFINITE
#undef CUDA_LITE_UNIT
