/* SPDX-License-Identifier: MIT */
/*
 * mma.sp, as lower_mma.c takes it apart (PTX ISA 9.7.14.6). Called by interp.c, for the JIT as well.
 *
 * Half of a row of a is stored: c elements of it lie in the lanes as those of a dense matrix with half the columns do. Every four columns (of .tf32 two, of
 * four bits eight, in pairs) have four bits of metadata, which say where the stored ones belong. Whose register holds them:
 *
 *     16 and 32 bits: rows r and r + 8 in one word, the low and the high half of it, of four chunks; lane 4 r + selector, for two words a row
 *     lanes 4 r + 2 selector and the next
 *     8 and 4 bits: a word for eight chunks of one row; lanes 4 r + 2 selector for row r, the next for r + 8; for two words a row the other
 *     two lanes have the second half
 *
 * What is not stored is not multiplied: an infinity that it would meet in b leaves no trace.
 */
#include <math.h>
#include <string.h>

#include "gen.h"
#include "lanes.h"

struct shape { u32 bits, each; bool pairs, ints, wide; };       /* of an element; elements a word; by pairs; chunks have a word of 8, not of 4 */

static struct shape shape_of(enum type t)
{
	u32 bits = t == T_TF32 ? 32 : t == T_F16 || t == T_BF16 ? 16 : t == T_S4 || t == T_U4 ? 4 : 8;

	return (struct shape){ bits, 32 / bits, bits == 4, t == T_S8 || t == T_U8 || t == T_S4 || t == T_U4, bits < 16 };
}

/* A float of `e` bits of exponent and `f` of fraction; without infinities all ones are a NaN. */
static double small_float(u32 x, u32 e, u32 f, bool inf)
{
	u32 ex = x >> f & ((1u << e) - 1), frac = x & ((1u << f) - 1);
	int bias = (1 << (e - 1)) - 1;
	double v;

	if (ex == (1u << e) - 1 && (inf || frac == (1u << f) - 1))
		v = frac ? NAN : INFINITY;
	else
		v = ex ? ldexp(frac + (1u << f), (int)ex - bias - (int)f) : ldexp(frac, 1 - bias - (int)f);
	return x >> (e + f) & 1 ? -v : v;
}

static double number(enum type t, u32 x)
{
	float f;

	switch (t) {
	case T_F16: return small_float(x, 5, 10, true);
	case T_E4M3: return small_float(x, 4, 3, false);
	case T_E5M2: return small_float(x, 5, 2, true);
	case T_S8: return (s8)x;
	case T_S4: return (s8)(x << 4) >> 4;
	case T_U8: case T_U4: return x;
	case T_BF16: x <<= 16; break;
	default: x &= ~0x1fffu;         /* .tf32 has 10 bits of fraction */
	}
	memcpy(&f, &x, 4);
	return f;
}

static u32 element(const u64 *r, u32 lane, u32 word, const struct shape *s, u32 i)
{
	u32 w = (u32)(r[lane] >> 32 * word) >> s->bits * i;

	return s->bits == 32 ? w : w & ((1u << s->bits) - 1);
}

/* Column of stored element c of the row of lane group g. */
static u32 column(const u32 *meta, u32 g, u32 c, s64 how, enum type t, const struct shape *s)
{
	u32 chunk = t == T_TF32 ? c : s->pairs ? c / 4 : c / 2, selector = (u32)(how / SPARSE_SELECTOR), lane, shift, four;
	bool large = how & SPARSE_LARGE, upper = how & SPARSE_UPPER;

	if (s->wide) {
		lane = (large ? 0 : 2 * selector) + 2 * (chunk / 8) + upper;
		shift = 4 * (chunk % 8);
	} else {
		lane = (large ? 2 * selector : selector) + chunk / 4;
		shift = 16 * upper + 4 * (chunk % 4);
	}
	four = meta[4 * g + (lane & 3)] >> shift & 15;
	if (t == T_TF32)
		return 2 * chunk + (four >> 1 & 1);
	if (s->pairs)
		return 8 * chunk + 2 * (four >> (c & 2) & 3) + (c & 1);
	return 4 * chunk + (four >> 2 * (c & 1) & 3);
}

static u32 half_of(double v)
{
	float f = (float)v;
	u32 one[LANES] = { 0 }, h[LANES];

	memcpy(one, &f, 4);
	lanes_get()->fn[LOP_CVT_H_F][T_F16](h, one, one, one);
	return h[0] & 0xffff;
}

static u32 total(const struct insn *in, double sum)
{
	float f;
	u32 u;

	if (in->type == T_S8 || in->type == T_U8 || in->type == T_S4 || in->type == T_U4) {
		/* far below 2^53 */
		if (in->flags & INF_SATFINITE)
			sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
		return (u32)(s64)sum;
	}
	f = (float)sum;
	memcpy(&u, &f, 4);
	return f != f ? 0x7fffffff : u;
}

/* o[1]: words of a row of a; o[2], o[3]: words of b; o[4]: metadata, o[5]: what is added to */
void gen_sparse(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *a = opnd(f, in->o[1]), *b[2] = { opnd(f, in->o[2]), opnd(f, in->o[3]) };
	const u32 *meta = opnd(f, in->o[4]), *acc = opnd(f, in->o[5]);
	struct shape s = shape_of(in->type);
	u32 stored = 4 * s.each * (in->imm & SPARSE_LARGE ? 2 : 1), l, g, c, p;
	double x[64], y[64][8];         /* of a row; of b: at most 128 columns, of which the half is met */
	_Alignas(64) u32 to[LANES];
	u32 at[64];

	(void)ts;
	for (g = 0; g < 8; g++) {
		for (c = 0; c < stored; c++) {
			u32 lane = 4 * g + c / s.each % 4, n;

			x[c] = number(in->type, element(a, lane, c / (4 * s.each), &s, c % s.each));
			at[c] = column(meta, g, c, in->imm, in->type, &s);
			for (n = 0; n < 8; n++)
				y[c][n] = number(in->stype, element(b[at[c] / (8 * s.each)], 4 * n + at[c] / s.each % 4, at[c] / (4 * s.each) % 2, &s,
								    at[c] % s.each));
		}
		for (l = 4 * g; l < 4 * g + 4; l++) {
			u32 both = 0;

			for (p = 0; p < (in->sub2 == TENSOR_BOTH ? 2u : 1u); p++) {
				u32 n = 2 * (l & 3) + (in->sub2 == TENSOR_ODD || p);
				double sum;
				float one;

				if (in->sub2 == TENSOR_BOTH) {
					sum = small_float(acc[l] >> 16 * p, 5, 10, true);
				} else if (s.ints) {
					sum = (s32)acc[l];
				} else {
					memcpy(&one, &acc[l], 4);
					sum = one;
				}
				for (c = 0; c < stored; c++)
					sum += x[c] * y[c][n];
				both |= in->sub2 == TENSOR_BOTH ? half_of(sum) << 16 * p : total(in, sum);
			}
			to[l] = both;
		}
	}
	lanes_get()->row32(opnd(f, in->o[0]), to, m);
}
