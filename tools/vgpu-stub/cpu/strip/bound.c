/* SPDX-License-Identifier: MIT */
/*
 * Addresses whose lanes lie in a known distance above a scalar, or above nothing: bins[x & 255]. What the lanes add is bounded by how
 * it was made, so one check of the scalar does for all of them, and a place among a function's own shared variables needs none.
 *
 * Only what this block has computed, without a guard, before the access counts: code is entered at the beginnings of blocks, and of a
 * register that was written elsewhere some lanes may hold anything, for their way may have gone round the instruction that bounds it.
 */
#include "strip.h"

#define MOST (1u << 24)         /* larger ones are not looked at: sums and products of what is below do not wrap */
#define DEPTH 8u

/* The instruction before pc in this block that makes o. NO_PC: none, or only for some lanes. */
static u32 made_at(const struct scomp *c, u32 o, u32 pc)
{
	u32 k;

	while (pc-- > c->cur->start) {
		const struct insn *in = &c->code[pc];

		if (in->kind == K_CALL)
			return NO_PC;
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] == o)
				return k == 0 && in->guard == OPND_NONE ? pc : NO_PC;
	}
	return NO_PC;
}

static bool bound(const struct scomp *c, u32 o, u8 w, u32 pc, u32 depth, u64 *max);

/* Operand k of in at pc; 16 bits of it where its type says so. */
static bool operand(const struct scomp *c, const struct insn *in, u32 k, u32 pc, u32 depth, u64 *max)
{
	bool half = in->type == T_U16, is = bound(c, in->o[k], jit_src_w(in, k), pc, depth, max);

	if (half && (!is || *max > 0xffff)) {
		*max = 0xffff;
		return true;
	}
	return is;
}

static bool lane(const struct scomp *c, const struct insn *in, u32 pc, u32 depth, u64 *max)
{
	bool w = in->type == T_U64 || in->type == T_S64 || in->type == T_B64, sg = type_is_signed(in->type), ia, ib;
	bool ints = w || in->type == T_U32 || in->type == T_S32 || in->type == T_B32;
	u64 a = 0, b = 0, d = 0;

	if (in->lop == LOP_CVT_SEXT || in->lop == LOP_MULWIDE)
		ints |= in->type == T_U16;
	if (!ints || in->dw == 2)
		return false;
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT:
		return operand(c, in, 1, pc, depth, max);
	case LOP_AND:
		ia = operand(c, in, 1, pc, depth, &a);
		ib = operand(c, in, 2, pc, depth, &b);
		*max = ia && (!ib || a < b) ? a : b;
		return ia || ib;
	case LOP_SHR:
		if (!operand(c, in, 2, pc, depth, &b) || !s_val(c, in->o[2], 0).known || b >= (w ? 64u : 32u))
			return false;
		if (!operand(c, in, 1, pc, depth, &a)) {
			if (sg)
				return false;
			a = w ? ~0ull : ~0u;
		}
		*max = a >> b;
		return true;
	case LOP_SHL:
		if (!operand(c, in, 1, pc, depth, &a) || !operand(c, in, 2, pc, depth, &b) || b > 24)
			return false;
		*max = a << b;
		return true;
	case LOP_ADD:
		if (!operand(c, in, 1, pc, depth, &a) || !operand(c, in, 2, pc, depth, &b))
			return false;
		*max = a + b;
		return true;
	case LOP_MUL: case LOP_MULWIDE:
		if (!operand(c, in, 1, pc, depth, &a) || !operand(c, in, 2, pc, depth, &b))
			return false;
		*max = a * b;
		return true;
	case LOP_MAD: case LOP_MADWIDE:
		if (!operand(c, in, 1, pc, depth, &a) || !operand(c, in, 2, pc, depth, &b) || !operand(c, in, 3, pc, depth, &d))
			return false;
		*max = a * b + d;
		return true;
	default:
		return false;
	}
}

const struct insn *s_made_once(const struct scomp *c, u32 o)
{
	const struct func *fn = c->fn;
	u32 i;

	for (i = 0; i < fn->npro; i++)
		if ((fn->pro[i].def & 1) && fn->pro[i].o[0] == o)
			return &fn->pro[i];
	return NULL;
}

/* Is o before pc at most *max, in every lane that runs, as an unsigned number? */
static bool bound(const struct scomp *c, u32 o, u8 w, u32 pc, u32 depth, u64 *max)
{
	struct sval v = s_val(c, o, w);
	const struct insn *in;
	bool is = false;

	if (v.cls == SC_SCALAR && v.known && !v.made && !v.pat) {
		*max = w == 1 ? v.k : (u32)v.k;
		return *max < MOST;
	}
	if (o == OPND_NONE || depth == DEPTH)
		return false;
	if (o & OPND_CONST) {
		in = s_made_once(c, o);
	} else {
		pc = made_at(c, o, pc);
		in = pc == NO_PC ? NULL : &c->code[pc];
	}
	if (!in)
		return false;
	if (in->kind == K_LANE) {
		is = lane(c, in, pc, depth + 1, max);
	} else if (in->kind == K_SREG && in->sub == SR_LANEID) {
		*max = LANES - 1;
		is = true;
	} else if (in->kind == K_LD && in->vec == 1 && in->size < 4 && !(in->flags & INF_SIGNED) && !type_is_float(in->type)) {
		*max = (1u << 8 * in->size) - 1;
		is = true;
	}
	return is && *max < MOST;
}

bool s_made_small(const struct scomp *c, u32 o)
{
	u64 max;

	return bound(c, o, 0, 0, 0, &max);
}

/* Is the scalar o still what it was behind pc, here? */
static bool lasts(const struct scomp *c, u32 o, u32 pc)
{
	u32 k;

	if (o & OPND_CONST)
		return true;
	if (c->r[o].first > c->pc || c->r[o].last <= c->pc)
		return false;
	while (++pc < c->pc)
		for (k = 0; k < 6; k++)
			if ((c->code[pc].def >> k & 1) && c->code[pc].o[k] == o)
				return false;
	return true;
}

/* The addresses of in at c->pc are *base, a scalar or OPND_NONE, and up to *max more. */
bool s_bounded(const struct scomp *c, const struct insn *in, u32 *base, u64 *max)
{
	const struct insn *d;
	u32 pc, k, add = 0, other;
	u64 b;

	*base = OPND_NONE;
	if (in->space == SPACE_LOCAL || in->imm < 0 || in->imm >= MOST || in->o[4] == OPND_NONE || (in->o[4] & OPND_CONST))
		return false;
	if (bound(c, in->o[4], in->aw, c->pc, 0, max))
		return true;
	pc = made_at(c, in->o[4], c->pc);
	if (pc == NO_PC)
		return false;
	d = &c->code[pc];
	if (d->kind != K_LANE || d->dw != in->aw || type_is_float(d->type) || type_bytes(d->type) < 4)
		return false;
	if (d->lop == LOP_ADD)
		add = s_val(c, d->o[1], in->aw).cls == SC_SCALAR ? 1 : 2;
	else if (d->lop == LOP_MAD || d->lop == LOP_MADWIDE)
		add = 3;
	if (!add || s_val(c, d->o[add], in->aw).cls != SC_SCALAR || s_val(c, d->o[add], in->aw).pat || s_val(c, d->o[add], in->aw).known ||
	    !lasts(c, d->o[add], pc))
		return false;
	*max = 1;
	for (k = 1; k < (d->lop == LOP_ADD ? 3u : 4u); k++) {
		other = d->o[k];
		if (k == add)
			continue;
		if (!bound(c, other, jit_src_w(d, k), pc, 0, &b))
			return false;
		*max *= b;
	}
	*base = d->o[add];
	return *max < MOST;
}
