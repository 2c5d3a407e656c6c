/* SPDX-License-Identifier: MIT */
/* Where a scalar comes from, through copies: x and x & ~31 may have the same. Called by jit_scan.c. */
#include "jit.h"
#include "lanes.h"

/*
 * o's only definition, whose sources are still what they were then at pc at: in the same block of code, or all of them
 * outside loops and written before it (a source may be read before its only definition, in lanes that pass there: then it
 * is another value that stands in it later). NULL: no such.
 */
static const struct insn *recent(const struct jcomp *c, u32 o, u32 at)
{
	const struct insn *d;
	bool here;
	u32 pc, k, q;

	if (o == OPND_NONE || (o & OPND_CONST) || !c->def_of[o] || c->def_of[o] == ~0u)
		return NULL;
	pc = c->def_of[o] - 1;
	d = &c->code[pc];
	here = jit_block_at(c, pc) == jit_block_at(c, at);
	if (pc >= at || (!here && jit_block_at(c, pc)->depth) || d->kind != K_LANE || d->guard != OPND_NONE)
		return NULL;
	for (k = 1; k < 4; k++) {
		if (d->o[k] == OPND_NONE || (d->o[k] & OPND_CONST))
			continue;
		q = c->def_of[d->o[k]];
		if (q == ~0u || (q && (here ? q - 1 >= pc && q - 1 < at : q - 1 >= pc || jit_block_at(c, q - 1)->depth != 0)))
			return NULL;
	}
	return d;
}

/* The register whose scalar o's is at pc at, found through copies. */
static u32 scalar_root(const struct jcomp *c, u32 o, u32 at)
{
	const struct insn *d;
	u32 n;

	for (n = 0; n < 8 && (d = recent(c, o, at)); n++) {
		if (d->lop == LOP_ADD) {
			struct jval x = jit_val(c, d->o[1], jit_src_w(d, 1)), y = jit_val(c, d->o[2], jit_src_w(d, 2));

			if (y.sk && !y.s)
				o = d->o[1];
			else if (x.sk && !x.s)
				o = d->o[2];
			else
				return o;
		} else if (d->lop == LOP_MOV) {
			o = d->o[1];
		} else {
			return o;
		}
	}
	return o;
}

/*
 * in: x - (x & ~low bits), x's scalar being such a multiple: the scalars are the same. A guess like others, for the
 * interpreter may have done the mask, of an x that is no such multiple: the code of in looks whether it is so.
 */
bool jit_same_scalar(const struct jcomp *c, const struct insn *in, u32 bits)
{
	const struct insn *d;
	struct jval m, v;
	u32 at, x, need;
	u64 low;

	if (!c->guess || in < c->code || in >= c->code + c->n)
		return false;
	at = (u32)(in - c->code);
	d = recent(c, scalar_root(c, in->o[2], at), at);
	if (!d || d->lop != LOP_AND)
		return false;
	m = jit_val(c, d->o[2], bits == 64);
	v = jit_val(c, d->o[1], bits == 64);
	if (!m.known || (v.cls != JC_PAT && v.cls != JC_UNI))
		return false;
	low = bits == 32 ? (u32)~m.k : ~m.k;
	if (jit_guess_align(c, d, &need))
		v.ual = (u8)need;       /* the code of d has seen to that */
	x = scalar_root(c, in->o[1], at);
	return !(low & (low + 1)) && low < 1u << 30 && !(low >> v.ual) && !(x & OPND_CONST) && x == scalar_root(c, d->o[1], at);
}

/* The code of in looks whether a guess is right; nobody else does. */
bool jit_guesses(const struct jcomp *c, const struct insn *in)
{
	u32 need;

	return in->kind == K_LANE && (jit_guess_sign(c, in) || jit_guess_align(c, in, &need) || jit_guess_wide(c, in) ||
				      (in->lop == LOP_SUB && jit_same_scalar(c, in, type_bytes(in->type) * 8)));
}
