/* SPDX-License-Identifier: MIT */
/*
 * K_TENSOR: what lanes of a warp hand each other for the matrix instructions, as lower_tensor.c takes them apart. Called by
 * interp.c, for the JIT as well. An 8 x 8 matrix lies in a register like this: lane l has row l / 4, and there the
 * l % 4th word. Every lane takes part, in a block that ends in the middle of a warp those that are not there with the values
 * that their registers hold: .aligned leaves that undefined. Addresses are another matter, see row_address().
 */
#include <math.h>
#include <string.h>

#include "cpu.h"
#include "gen.h"
#include "lanes.h"

/* The lane whose address lane l takes for its part of matrix i, given that lane 8 i + r has that of row r. */
static u32 row_lane(u32 sub, u32 i, u32 l)
{
	return (8 * i + (sub == TENSOR_ROW ? l >> 2 : 2 * (l & 3) + (sub == TENSOR_ROW_HI))) & (LANES - 1);
}

/*
 * In a block that ends in the middle of a warp some of these are not there, and the instruction is undefined. What their
 * registers hold is no address: a load takes the row of the first lane that is there, a store leaves out such rows (gen_rows).
 */
static void row_address(struct frame *f, const struct insn *in, u32 m)
{
	const void *a = opnd(f, in->o[1]);
	_Alignas(64) u64 to[LANES];
	u32 l, first = (u32)__builtin_ctz(m);

	for (l = 0; l < LANES; l++) {
		u32 from = row_lane(in->sub, in->sub2, l), add = in->sub == TENSOR_ROW ? 4 * (l & 3) : 2 * (l >> 2);

		from = m >> from & 1 ? from : first;
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

void gen_rows(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 *d = opnd(f, in->o[0]), r = 0, l;

	(void)ts;
	for (l = 0; l < LANES; l++)
		r |= (m >> row_lane(in->sub2, in->sub, l) & 1) << l;
	*d = (*d & ~m) | (r & m);
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

/*
 * A statement's results stand behind each other (lower_mma.c): for each eight rows of a the even columns, the odd ones, or both in a
 * word. How many from in on, of most, can be computed at once, in this order.
 */
u32 tensor_group(const struct insn *in, u32 most)
{
	u32 per = in->sub2 == TENSOR_BOTH ? 1 : 2, n, k, i;
	const struct insn *x;

	if (in->sub2 == TENSOR_ODD)
		return 1;
	for (n = 1; n < most && n < 2 * per; n++) {
		x = in + n;
		if (x->kind != K_TENSOR || x->sub != TENSOR_MMA || x->guard != in->guard || x->gneg != in->gneg || x->type != in->type || x->stype != in->stype || x->mxcsr != in->mxcsr)
			break;
		if (x->sub2 != (per == 1 ? TENSOR_BOTH : n & 1 ? TENSOR_ODD : 0) || x->o[3] != in->o[3] || x->o[4] != in->o[4])
			break;
		if (n & (per - 1) ? x->o[1] != x[-1].o[1] || x->o[2] != x[-1].o[2] : (x->o[2] == OPND_NONE) != (in->o[2] == OPND_NONE))
			break;
		for (i = 0; i < n; i++)
			for (k = 1; k < 6; k++)
				if (x->o[k] == in[i].o[0])
					return n;
	}
	return n;
}

/* n that can be computed at once, for the lanes of m. */
void warp_products(struct frame *f, const struct insn *in, u32 n, u32 m)
{
	u32 words = in->o[2] == OPND_NONE ? 1 : 2, per = in->sub2 == TENSOR_BOTH ? 1 : 2, rows = n > per ? 2 : 1, odd = in->sub2 == TENSOR_ODD, i;
	_Alignas(64) u32 v[PRODUCT_REGS][LANES];

	if (n % per)            /* the other columns are computed for nobody, from anything */
		memset(v[(PRODUCT_C + odd + n - 1) ^ 1], 0, sizeof(v[0]));
	for (i = 0; i < n; i++) {
		memcpy(v[PRODUCT_C + odd + i], opnd(f, in[i].o[5]), sizeof(v[0]));
		if (i % per)
			continue;
		memcpy(v[PRODUCT_A + i / per], opnd(f, in[i].o[1]), sizeof(v[0]));
		if (words == 2)
			memcpy(v[PRODUCT_A + rows + i / per], opnd(f, in[i].o[2]), sizeof(v[0]));
	}
	memcpy(v[PRODUCT_B], opnd(f, in->o[3]), sizeof(v[0]));
	if (words == 2)
		memcpy(v[PRODUCT_B + 1], opnd(f, in->o[4]), sizeof(v[0]));
	lanes_get()->product(v, in->type, in->stype, PRODUCT_SHAPE(rows, words) | (per == 1 ? PRODUCT_BOTH : 0));
	for (i = 0; i < n; i++)
		lanes_get()->row32(opnd(f, in[i].o[0]), v[PRODUCT_C + odd + i], m);
}

void warp_tensor(struct frame *f, const struct insn *in, u32 m)
{
	switch (in->sub) {
	case TENSOR_TRANS:
		transpose(f, in, m);
		return;
	case TENSOR_MMA:
		warp_products(f, in, 1, m);
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

/*
 * As TENSOR_MMA: o[1], o[2] words of a, o[3], o[4] of b, o[5] what is added to; sub: the operation on bits. Sums of .f64 go up k, each
 * rounded; those of integers are exact before they wrap or saturate.
 */
void gen_product(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 words = in->o[2] == OPND_NONE ? 1 : 2, l, j, k, w;
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
		u32 row = l & ~3u, col = 4 * (2 * (l & 3) + (in->sub2 == TENSOR_ODD));
		double dsum = t == T_F64 ? ((const double *)c)[l] : 0;
		s64 sum = ((const s32 *)c)[l];

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
				for (k = 0; k < 32; k += bits)
					sum += (t == T_S8 || t == T_S4 ? (s64)(s32)(x << (32 - bits - k)) >> (32 - bits) : (s64)(x >> k & ((1u << bits) - 1))) *
					       (in->stype == T_S8 || in->stype == T_S4 ? (s64)(s32)(y << (32 - bits - k)) >> (32 - bits) :
						(s64)(y >> k & ((1u << bits) - 1)));
			}
		if (t == T_F64) {
			to.d[l] = dsum;
			continue;
		}
		if (in->flags & INF_SATFINITE)
			sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
		to.u[l] = (u32)sum;
	}
	if (in->dw)
		lanes_get()->row64(opnd(f, in->o[0]), &to, m);
	else
		lanes_get()->row32(opnd(f, in->o[0]), &to, m);
}

/* ---- mma.m8n8k4 of .f16: four products at once, of lanes 4 q on and 16 + 4 q on each (9.7.14.5.1) ------------------- */

/* Row and column of element i of a result, of .f16 in pairs and of .f32, in the lane's product. */
static u32 quarter_row(u32 l, u32 i, bool pairs)
{
	return (pairs ? l & 3 : (l & 1) + (i & 2)) + (l >= 16 ? 4 : 0);
}

static u32 quarter_col(u32 l, u32 i, bool pairs)
{
	return pairs ? i : (i & 4) + (l & 2) + (i & 1);
}

/* Element `at` of what lane `far` of four in the product of l has, in its lower or upper lanes. */
static double quarter_half(const u32 *const r[2], u32 l, u32 far, bool upper, u32 at)
{
	return half_number(r[at / 2][(l & 12) + far + (upper ? 16 : 0)] >> 16 * (at & 1));
}

/*
 * o[1], o[2]: a, o[3], o[4]: b, o[5]: register sub of what is added to, of the result's type. sub2: QUARTER_*. a by rows: a lane has
 * one, low lanes the first four; by columns: one column's half. b by columns: a lane has one; by rows: a row's half.
 */
void gen_quarter(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u32 *a[2] = { opnd(f, in->o[1]), opnd(f, in->o[2]) }, *b[2] = { opnd(f, in->o[3]), opnd(f, in->o[4]) }, *c = opnd(f, in->o[5]);
	bool pairs = in->sub2 & QUARTER_PAIRS;
	_Alignas(64) u32 to[LANES];
	u32 l, p, k;

	(void)ts;
	for (l = 0; l < LANES; l++) {
		u32 both[2] = { 0, 0 };

		for (p = 0; p < (pairs ? 2u : 1u); p++) {
			u32 i = pairs ? 2u * in->sub + p : in->sub, row = quarter_row(l, i, pairs), col = quarter_col(l, i, pairs);
			float sum;

			memcpy(&sum, &c[l], 4);
			if (pairs)
				sum = (float)half_number(c[l] >> 16 * p);
			for (k = 0; k < 4; k++) {
				double x = in->sub2 & QUARTER_A_COL ? quarter_half(a, l, k, row >= 4, row & 3) : quarter_half(a, l, row & 3, row >= 4, k);
				double y = in->sub2 & QUARTER_B_ROW ? quarter_half(b, l, k, col >= 4, col & 3) : quarter_half(b, l, col & 3, col >= 4, k);

				sum += (float)(x * y);
			}
			memcpy(&both[p], &sum, 4);
			if (pairs) {
				u32 one[LANES] = { both[p] }, h[LANES];

				lanes_get()->fn[LOP_CVT_H_F][T_F16](h, one, one, one);
				both[p] = h[0] & 0xffff;
			} else if (sum != sum) {
				both[p] = 0x7fffffff;
			}
		}
		to[l] = both[0] | both[1] << 16;
	}
	lanes_get()->row32(opnd(f, in->o[0]), to, m);
}

/* Register sub of what is added to a result of .f32, out of o[1] to o[4], the pairs of .f16 that were given. */
void gen_quarter_acc(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	_Alignas(64) u32 to[LANES];
	u32 l;

	(void)ts;
	for (l = 0; l < LANES; l++) {
		u32 row = quarter_row(l, in->sub, false), col = quarter_col(l, in->sub, false);
		const u32 *c = opnd(f, in->o[1 + col / 2]);
		float x = (float)half_number(c[(l & 12) + (row & 3) + (row >= 4 ? 16 : 0)] >> 16 * (col & 1));

		memcpy(&to[l], &x, 4);
	}
	lanes_get()->row32(opnd(f, in->o[0]), to, m);
}
