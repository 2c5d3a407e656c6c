/* SPDX-License-Identifier: MIT */
/*
 * K_TENSOR: what lanes of a warp hand each other for the matrix instructions, as lower_tensor.c takes them apart. Called by
 * interp.c, for the JIT as well. An 8 x 8 matrix lies in a register like this: lane l has row l / 4, and there the
 * l % 4th word. Every lane takes part, in a block that ends in the middle of a warp those that are not there with what
 * their registers hold: .aligned leaves that undefined.
 */
#include "cpu.h"
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
