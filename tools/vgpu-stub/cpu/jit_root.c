/* SPDX-License-Identifier: MIT */
/* Where a scalar comes from, through copies: x and x & ~31 may have the same; and what is guessed of scalars. Called by jit_scan.c. */
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
 * in: x - (x & ~low bits), x's scalar being such a multiple: the scalars are the same. Where that is a guess, the interpreter may have done
 * the mask, of an x that is no such multiple: the code of in looks whether it is so.
 */
bool jit_same_scalar(const struct jcomp *c, const struct insn *in, u32 bits)
{
	const struct insn *d;
	struct jval m, v;
	u32 at, x, need;
	u64 low;

	if (in < c->code || in >= c->code + c->n)
		return false;
	at = (u32)(in - c->code);
	d = recent(c, scalar_root(c, in->o[2], at), at);
	if (!d || d->lop != LOP_AND)
		return false;
	m = jit_val(c, d->o[2], bits == 64);
	v = jit_val(c, d->o[1], bits == 64);
	if (!m.known || (v.cls != JC_PAT && v.cls != JC_UNI))
		return false;
	low = ~j_whole_mask(v, m.k, bits);
	if (jit_guess_align(c, d, &need))
		v.ual = (u8)need;       /* the code of d has seen to that */
	x = scalar_root(c, in->o[1], at);
	return !(low & (low + 1)) && low < 1u << 30 && !(low >> v.ual) && !(x & OPND_CONST) && x == scalar_root(c, d->o[1], at);
}

/* A pattern's sign bit in all lanes: nobody computes it of an index but to find that it is 0. What is known is not guessed. */
bool jit_guess_sign(const struct jcomp *c, const struct insn *in)
{
	u32 bits = in->type == T_S64 ? 64 : 32;
	struct jval a = jit_val(c, in->o[1], bits == 64), s = jit_val(c, in->o[2], 0);

	return c->guess && in->lop == LOP_SHR && (in->type == T_S32 || in->type == T_S64) && s.known && s.k == bits - 1 &&
	       a.cls == JC_PAT && !a.sk && a.max >= 1ull << (bits - 1);
}

/*
 * A shift or mask of a pattern would be one if the scalar were a multiple of some power of two, as the start of a
 * row is. need: log2 of it. The code checks, and guesses are given up when they are often wrong.
 */
bool jit_guess_align(const struct jcomp *c, const struct insn *in, u32 *need)
{
	u32 w = (in->type == T_U64 || in->type == T_S64 || in->type == T_B64), bits = w ? 64 : 32, l;
	struct jval a = jit_val(c, in->o[1], (u8)w), b = jit_val(c, in->o[2], in->lop == LOP_SHR ? 0 : (u8)w);
	u64 m;
	s32 top = 0;

	if (!c->guess || (in->lop != LOP_SHR && in->lop != LOP_AND) || (!w && in->type != T_U32 && in->type != T_S32 && in->type != T_B32) || a.cls != JC_PAT || !b.known)
		return false;
	if (a.sk)                       /* it is known what it is a multiple of, and nobody would look (jit_scalar.c) */
		return false;
	for (l = 0; l < LANES; l++) {
		if (c->pats[a.pat][l] < 0)
			return false;
		top |= c->pats[a.pat][l];
	}
	*need = 32 - (u32)__builtin_clz((u32)top);
	if (in->lop == LOP_SHR) {
		if (b.k >= bits - 1)
			return false;
	} else {
		m = w ? b.k : (u64)(s64)(s32)(u32)b.k;
		if (m & (m + 1))
			m = ~m;
		if (m & (m + 1) || !m || m > 255)
			return false;
		*need = 64 - (u32)__builtin_clzll(m);
	}
	return *need > a.ual && *need <= 8;
}

/* The code of in looks whether a guess is right; nobody else does. */
bool jit_guesses(const struct jcomp *c, const struct insn *in)
{
	u32 need;

	return in->kind == K_LANE && (jit_guess_sign(c, in) || jit_guess_align(c, in, &need) || jit_guess_wide(c, in) ||
				      (in->lop == LOP_SUB && !c->r[in->o[0]].sure && jit_same_scalar(c, in, type_bytes(in->type) * 8)));
}
