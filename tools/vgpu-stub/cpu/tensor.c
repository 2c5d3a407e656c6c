/* SPDX-License-Identifier: MIT */
/*
 * K_TENSOR: what lanes of a warp hand each other for the matrix instructions, as lower_tensor.c takes them apart. Called by
 * interp.c, for the JIT as well. An 8 x 8 matrix lies in a register like this: lane l has row l / 4, and there the
 * l % 4th word. Every lane takes part, in a block that ends in the middle of a warp those that are not there with what
 * their registers hold: .aligned leaves that undefined.
 */
#include <math.h>
#include <string.h>

#include "cpu.h"
#include "gen.h"
#include "lanes.h"

/* The address that lane l loads from, given that lane 8 i + r has that of row r of matrix i. */
static void row_address(struct frame *f, const struct insn *in, u32 m)
{
	const void *a = opnd(f, in->o[1]);
	_Alignas(64) u64 to[LANES];
	u32 l;

	for (l = 0; l < LANES; l++) {
		u32 g = l >> 2, t = l & 3, from = 8u * in->sub2, add;

		if (in->sub == TENSOR_ROW) {
			from += g;
			add = 4 * t;
		} else {
			from += 2 * t + (in->sub == TENSOR_ROW_HI);
			add = 2 * g;
		}
		from &= LANES - 1;
		if (in->aw)
			to[l] = ((const u64 *)a)[from] + add;
		else
			((u32 *)to)[l] = ((const u32 *)a)[from] + add;
	}
	if (in->aw)
		lanes_get()->row64(opnd(f, in->o[0]), to, m);
	else
		lanes_get()->row32(opnd(f, in->o[0]), to, m);
}

static void transpose(struct frame *f, const struct insn *in, u32 m)
{
	const u16 *a = opnd(f, in->o[1]);
	_Alignas(64) u32 to[LANES];
	u32 l;

	for (l = 0; l < LANES; l++) {
		u32 g = l >> 2, t = l & 3;

		to[l] = a[8 * (2 * t) + g] | (u32)a[8 * (2 * t + 1) + g] << 16;
	}
	lanes_get()->row32(opnd(f, in->o[0]), to, m);
}

/* A NaN is the canonical one, as it is of other operations on .f32; halves are made so where they are packed. */
static void one_nan(u32 *to)
{
	u32 l;

	for (l = 0; l < LANES; l++)
		to[l] = (to[l] & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : to[l];
}

void warp_tensor(struct frame *f, const struct insn *in, u32 m)
{
	_Alignas(64) u32 to[LANES];
	const u32 *a[2], *b[2];

	switch (in->sub) {
	case TENSOR_TRANS:
		transpose(f, in, m);
		return;
	case TENSOR_MMA:
		a[0] = opnd(f, in->o[1]);
		b[0] = opnd(f, in->o[3]);
		a[1] = in->o[2] == OPND_NONE ? NULL : opnd(f, in->o[2]);
		b[1] = in->o[4] == OPND_NONE ? NULL : opnd(f, in->o[4]);
		lanes_get()->mma(to, a, b, opnd(f, in->o[5]), in);
		if (in->sub2 != TENSOR_BOTH && in->type != T_S8 && in->type != T_U8)
			one_nan(to);
		lanes_get()->row32(opnd(f, in->o[0]), to, m);
		return;
	default:
		row_address(f, in, m);
	}
}

/* ---- products of types that are not worth a way of their own ---------------------------------------- */

static double half_number(u32 h)
{
	u32 v[LANES] = { h & 0xffff }, r[LANES];
	float x;

	lanes_get()->fn[LOP_CVT_F_H][T_F32](r, v, v, v);
	memcpy(&x, r, 4);
	return x;
}

static double eighth(u32 v, enum type t)
{
	u32 e = t == T_E4M3 ? v >> 3 & 15 : v >> 2 & 31, frac = t == T_E4M3 ? v & 7 : v & 3, bits = t == T_E4M3 ? 3 : 2;
	int bias = t == T_E4M3 ? 7 : 15;
	double x = ldexp(e ? frac | 1u << bits : frac, (int)(e ? e : 1) - bias - (int)bits);

	if (t == T_E4M3 ? (v & 0x7f) == 0x7f : e == 31)
		x = t == T_E5M2 && !frac ? INFINITY : NAN;
	return v & 0x80 ? -x : x;
}

/*
 * As TENSOR_MMA: o[1], o[2] words of a, o[3], o[4] of b, o[5] what is added to; sub: the operation on bits. Sums of floats go up
 * k, each rounded to the type of the result (.f16: to .f32), those of integers are exact before they wrap or saturate.
 */
void gen_product(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 words = in->o[2] == OPND_NONE ? 1 : 2, l, j, k, w, p, first = in->sub2 == TENSOR_ODD, last = in->sub2 == TENSOR_BOTH ? 1 : first;
	_Alignas(64) union { u32 u[LANES]; double d[LANES]; } to;
	const void *a[2], *b[2], *c = opnd(f, in->o[5]);
	enum type t = in->type;
	u32 bits = t == T_B1 ? 1 : t == T_S4 || t == T_U4 ? 4 : 8;

	(void)ts;
	for (w = 0; w < words; w++) {
		a[w] = opnd(f, in->o[1 + w]);
		b[w] = opnd(f, in->o[3 + w]);
	}
	for (l = 0; l < LANES; l++) {
		u32 both[2] = { 0, 0 };

		for (p = first; p <= last; p++) {
			u32 row = l & ~3u, col = 4 * (2 * (l & 3) + p);
			double dsum = t == T_F64 ? ((const double *)c)[l] : 0;
			float fsum = 0;
			s64 sum = ((const s32 *)c)[l];

			memcpy(&fsum, (const u32 *)c + l, 4);
			if (in->sub2 == TENSOR_BOTH)
				fsum = (float)half_number(((const u32 *)c)[l] >> 16 * p);
			for (w = 0; w < words; w++)
				for (j = 0; j < 4; j++) {
					u32 x, y;

					if (t == T_F64) {
						dsum = fma(((const double *)a[w])[row + j], ((const double *)b[w])[col + j], dsum);
						continue;
					}
					x = ((const u32 *)a[w])[row + j];
					y = ((const u32 *)b[w])[col + j];
					if (t == T_B1) {
						sum += __builtin_popcount(in->sub == BOOL_AND ? x & y : x ^ y);
						continue;
					}
					for (k = 0; k < 32; k += bits) {
						if (t == T_E4M3 || t == T_E5M2) {
							fsum += (float)(eighth(x >> k, t) * eighth(y >> k, in->stype));
							continue;
						}
						sum += (t == T_S8 || t == T_S4 ? (s64)(s32)(x << (32 - bits - k)) >> (32 - bits) : (s64)(x >> k & ((1u << bits) - 1))) *
						       (in->stype == T_S8 || in->stype == T_S4 ? (s64)(s32)(y << (32 - bits - k)) >> (32 - bits) :
							(s64)(y >> k & ((1u << bits) - 1)));
					}
				}
			if (t == T_F64) {
				to.d[l] = dsum;
			} else if (t == T_E4M3 || t == T_E5M2) {
				memcpy(&both[p], &fsum, 4);
				if (in->sub2 == TENSOR_BOTH) {
					u32 one[LANES] = { both[p] }, h[LANES];

					lanes_get()->fn[LOP_CVT_H_F][T_F16](h, one, one, one);
					both[p] = h[0];
				} else if (fsum != fsum) {
					both[p] = 0x7fffffff;
				}
			} else {
				if (in->flags & INF_SATFINITE)
					sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
				both[p] = (u32)sum;
			}
		}
		if (t != T_F64)
			to.u[l] = in->sub2 == TENSOR_BOTH ? (both[0] & 0xffff) | both[1] << 16 : both[first];
	}
	if (in->dw)
		lanes_get()->row64(opnd(f, in->o[0]), &to, m);
	else
		lanes_get()->row32(opnd(f, in->o[0]), &to, m);
}
