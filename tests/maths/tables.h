/* SPDX-License-Identifier: MIT */
/*
 * The tables as C: included twice by maths.c, with TABLE_FUNCTIONS for the references, then without for the lists. Each copy
 * of a table puts a letter or two in front of the names, which the lists leave out again.
 */
#undef OPEN
#undef CLOSE
#undef QF
#undef XF
#ifdef TABLE_FUNCTIONS
#define OPEN(list)
#define CLOSE
#define QF(p, name, R, A, B, C, value, limit) QUAD_FUNCTION(p##name, R, A, B, C, value, limit)
#define XF(p, name, R, A, B, C, value, s) BITS_FUNCTION(p##name, R, A, B, C, value)
#else
#define OPEN(list) static const struct entry list[] = {
#define CLOSE { .name = NULL } };
#define QF(p, name, R, A, B, C, value, limit) { #name, TYPE_##R, { TYPE_##A, TYPE_##B, TYPE_##C }, ref_##p##name, 0 },
#define XF(p, name, R, A, B, C, value, s) { #name, TYPE_##R, { TYPE_##A, TYPE_##B, TYPE_##C }, ref_##p##name, s },
#endif

OPEN(real32_entries)
#define R(name, device, value, limit) QF(f_, name, f32, f32, f32, f32, value, limit)
#define RI(name, device, value, limit) QF(f_, name, f32, f32, s32, f32, value, limit)
#include "real.def"
#undef R
#undef RI
CLOSE
OPEN(real64_entries)
#define R(name, device, value, limit) QF(d_, name, f64, f64, f64, f64, value, limit)
#define RI(name, device, value, limit) QF(d_, name, f64, f64, s32, f64, value, limit)
#include "real.def"
#undef R
#undef RI
CLOSE

#define X(name, R, A, B, C, device, value) XF(x_, name, R, A, B, C, value, 0)
#define Q(name, R, A, B, C, device, value, limit) QF(x_, name, R, A, B, C, value, limit)
OPEN(float_entries)
#define GROUP_float
#include "intrin.def"
#undef GROUP_float
CLOSE
OPEN(int_entries)
#define GROUP_int
#include "intrin.def"
#undef GROUP_int
CLOSE
OPEN(simd_entries)
#define GROUP_simd
#include "intrin.def"
#undef GROUP_simd
CLOSE
OPEN(fp8_entries)
#include "fp8.def"
CLOSE
#undef X
#undef Q

#ifdef TABLE_FUNCTIONS
/* Macros of half.def, on FORMAT. A function on one value is also one on the two of a word. */
#define d(x) format_value(&FORMAT, x)
#define r(x) format_round(&FORMAT, FE_TONEAREST, x)
#define fo(a, b, c) fused_odd(a, b, c)
#define sat(x) format_clamp(&FORMAT, x, 0)
#define relu(x) format_clamp(&FORMAT, x, 1)
#define hmax(x, y, nan) format_max(&FORMAT, x, y, nan)
#define hmin(x, y, nan) (format_max(&FORMAT, x ^ 0x8000, y ^ 0x8000, nan) ^ 0x8000)
#define to_format(mode, x) format_round(&FORMAT, mode, x)
#define ONE ((u32)FORMAT.highest << FORMAT.fraction)
#define LET(a, b, result) ({ f64 a_ = (a), b_ = (b); int U_ = a_ != a_ || b_ != b_; (void)U_; (result); })
#define EACH(x, y, result) ({ \
	u32 all_ = 0; \
	for (int i_ = 0; i_ < 32; i_ += 16) \
		all_ |= (u32)LET(d((h16)(x >> i_)), d((h16)(y >> i_)), result) << i_; \
	all_; })
#define hcmadd(x, y, z) complex_fma(&FORMAT, x, y, z)
#define PACKED(name, value) \
static h16 one_##name(h16 x, h16 y, h16 z) { (void)y; (void)z; return (h16)(value); } \
static h32 two_##name(h32 x, h32 y, h32 z) \
{ \
	return (h32)one_##name((h16)x, (h16)y, (h16)z) | (h32)one_##name((h16)(x >> 16), (h16)(y >> 16), (h16)(z >> 16)) << 16; \
}
static __attribute__((unused)) h32 complex_fma(const struct format *f, h32 a, h32 b, h32 c)
{
	f64 ar = format_value(f, (h16)a), ai = format_value(f, (h16)(a >> 16)), br = format_value(f, (h16)b), bi = format_value(f, (h16)(b >> 16));
	h16 re = format_round(f, FE_TONEAREST, fused_odd(ar, br, format_value(f, (h16)c)));
	h16 im = format_round(f, FE_TONEAREST, fused_odd(ar, bi, format_value(f, (h16)(c >> 16))));

	re = format_round(f, FE_TONEAREST, fused_odd(-ai, bi, format_value(f, re)));
	im = format_round(f, FE_TONEAREST, fused_odd(ai, br, format_value(f, im)));
	return (h32)re | (h32)im << 16;
}
#else
#define PACKED(name, value)
#endif
#define HX(name, R, A, B, C, device, value) HALF_TABLE(name, R, A, B, C, value, 0)
#define BOTH(name, value, s) BOTH_(HALF_PREFIX(name), name, value, s)
#define BOTH_(pname, name, value, s) BOTH__(pname, name, value, s)
#define BOTH__(pname, name, value, s) PACKED(pname, value) \
	HALF_TABLE(name, h16, h16, h16, h16, one_##pname(x, y, z), s) HALF_TABLE(name##_x2, h32, h32, h32, h32, two_##pname(x, y, z), s)
#define H1(name, one, two, value) BOTH(name, value, 0)
#define F1(name, one, two, value) BOTH(name, value, 1)

#define FORMAT half_format
#define HALF_PREFIX(name) h_##name
#define HALF_TABLE(name, R, A, B, C, value, s) XF(h_, name, R, A, B, C, value, s)
OPEN(half_entries)
#include "half.def"
CLOSE
#undef FORMAT
#undef HALF_PREFIX
#undef HALF_TABLE

#define FORMAT bf16_format
#define HALF_PREFIX(name) b_##name
#define HALF_TABLE(name, R, A, B, C, value, s) XF(b_, name, R, A, B, C, value, s)
OPEN(bf16_entries)
#include "half.def"
CLOSE
#undef HALF_PREFIX
#undef HALF_TABLE

#define BELOW_80
#define HALF_PREFIX(name) o_##name
#define HALF_TABLE(name, R, A, B, C, value, s) XF(o_, name, R, A, B, C, value, s)
OPEN(bf16_75_entries)
#include "half.def"
CLOSE
#undef BELOW_80
#undef FORMAT
#undef HALF_PREFIX
#undef HALF_TABLE
#undef HX
#undef BOTH
#undef BOTH_
#undef BOTH__
#undef H1
#undef F1
#undef PACKED
#ifdef TABLE_FUNCTIONS
#undef d
#undef r
#undef sat
#undef relu
#endif
