/* SPDX-License-Identifier: MIT */
/*
 * Two halves that lie behind one another, loaded one by one and packed to a word (as ggml reads quants whose blocks are aligned to
 * 2 bytes): one load of words, where the pack stands. In between only instructions that nothing can leave code at; the
 * interpreter does the three one after the other when an address is not of the ordinary kind.
 */
#include "mem.h"
#include "vex.h"

enum { PAIR_NONE, PAIR_LOW, PAIR_HIGH, PAIR_PACK };

/* Does it go on to the next instruction, whatever its operands are, and write nothing but vectors? */
static bool quiet(const struct scomp *c, const struct insn *in)
{
	if (in->kind != K_LANE || in->guard != OPND_NONE)
		return false;
	if (in->dw != 2 && c->r[in->o[0]].v.cls == SC_SCALAR)
		return in->lop == LOP_ADD || in->lop == LOP_OR || in->lop == LOP_AND || in->lop == LOP_MOV;
	return in->dw != 2;
}

static bool half(const struct scomp *c, const struct insn *in)
{
	struct sval v;

	return in->kind == K_LD && in->size == 2 && in->vec == 1 && !in->dw && in->guard == OPND_NONE && !(in->flags & (INF_SYNC | INF_SIGNED)) &&
	       in->space != SPACE_LOCAL && in->space != SPACE_SHARED && in->o[0] != OPND_NONE && s_can_be(c, in) && s_mem_row(c, in, &v) && v.pat &&
	       c->r[in->o[0]].v.cls == SC_VARY;
}

/* u32 of two u16: the low one is o[1], the high one o[2] */
static bool packs(const struct scomp *c, const struct insn *in)
{
	return in->kind == K_LANE && in->lop == LOP_PACK && in->type == T_U32 && !in->dw && in->guard == OPND_NONE && c->r[in->o[0]].v.cls == SC_VARY &&
	       in->o[1] != OPND_NONE && in->o[2] != OPND_NONE && !(in->o[1] & OPND_CONST) && !(in->o[2] & OPND_CONST) && in->o[1] != in->o[2];
}

static u32 touched(const struct insn *in, u32 o)
{
	u32 k, n = in->guard == o;

	for (k = 0; k < 6; k++)
		n += ((in->use | in->def) >> k & 1) && in->o[k] == o;
	if (in->kind == K_CALL)
		for (k = 0; k < in->u.call->nargs + in->u.call->nrets; k++) {
			const struct arg *a = k < in->u.call->nargs ? &in->u.call->args[k] : &in->u.call->rets[k - in->u.call->nargs];

			n += a->is_reg && a->opnd == o;
		}
	return n;
}

/* Where o is loaded for the pack at pc, in the same block; NO_PC: not by such a load. */
static u32 loaded(const struct scomp *c, const struct sblock *b, u32 pc, u32 o)
{
	u32 i;

	for (i = pc; i-- > b->start;) {
		const struct insn *in = &c->code[i];

		if (touched(in, o))
			return half(c, in) && in->o[0] == o ? i : NO_PC;
		if (!quiet(c, in) && !half(c, in))
			return NO_PC;
	}
	return NO_PC;
}

void s_pairs(struct scomp *c)
{
	u16 *uses;
	u32 b, i, k, lo, hi;

	c->pair = pool_alloc(&c->mem, c->n + 1);
	uses = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*uses));
	if (!c->pair || !uses) {
		c->bad = true;
		return;
	}
	/* a half that anybody else reads, or that another instruction writes, is touched more than twice */
	for (i = 0; i < c->n; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++) {
			u32 o = in->o[k], j;

			if (!((in->use | in->def) >> k & 1) || o == OPND_NONE || (o & OPND_CONST) || uses[o] == 9)
				continue;
			/* operands that an operation lacks are its first one again */
			for (j = 0; j < k && !(((in->use | in->def) >> j & 1) && in->o[j] == o); j++)
				;
			uses[o] += j == k;
		}
		if (in->kind == K_CALL)
			for (k = 0; k < in->u.call->nargs + in->u.call->nrets; k++) {
				const struct arg *a = k < in->u.call->nargs ? &in->u.call->args[k] : &in->u.call->rets[k - in->u.call->nargs];

				if (a->is_reg && a->opnd != OPND_NONE && !(a->opnd & OPND_CONST))
					uses[a->opnd] = 9;
			}
		if (in->guard != OPND_NONE && !(in->guard & OPND_CONST))
			uses[in->guard] = 9;
	}
	for (b = 0; b < c->nb; b++)
		for (i = c->b[b].start; i < c->b[b].end; i++) {
			const struct insn *in = &c->code[i], *l, *h;
			u32 first;

			if (!packs(c, in) || uses[in->o[1]] != 2 || uses[in->o[2]] != 2)
				continue;
			lo = loaded(c, &c->b[b], i, in->o[1]);
			hi = loaded(c, &c->b[b], i, in->o[2]);
			if (lo == NO_PC || hi == NO_PC)
				continue;
			l = &c->code[lo];
			h = &c->code[hi];
			if (l->o[4] != h->o[4] || l->aw != h->aw || l->space != h->space || h->imm != l->imm + 2)
				continue;
			/* the address is still there, and what is between writes none of these */
			first = lo < hi ? lo : hi;
			if ((lo < hi ? hi : lo) + 1 != i)
				continue;
			for (k = first; k < i && !((c->code[k].def & 1) && c->code[k].o[0] == l->o[4]); k++)
				if (k != lo && k != hi && !quiet(c, &c->code[k]))
					break;
			if (k != i)
				continue;
			c->pair[lo] = PAIR_LOW;
			c->pair[hi] = PAIR_HIGH;
			c->pair[i] = PAIR_PACK;
		}
}

static u32 find(const struct scomp *c, u32 pc, u32 o)
{
	while (pc-- > c->cur->start)
		if (c->pair[pc] && c->code[pc].kind == K_LD && c->code[pc].o[0] == o)
			return pc;
	return NO_PC;
}

/* The instruction at pc is one of the three: true, and done; the halves are done by the pack. */
bool s_pair(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	struct as *a = &c->a;
	struct sslow *slow;
	struct insn word;
	struct sval v;
	const s32 *p;
	struct rm m;
	u32 lo;

	if (c->pair[pc] == PAIR_NONE)
		return false;
	if (c->pair[pc] != PAIR_PACK)
		return true;
	lo = find(c, pc, in->o[1]);
	if (lo == NO_PC || !s_mem_row(c, &c->code[lo], &v)) {
		c->bad = true;
		return true;
	}
	word = c->code[lo];
	m = s_row_address(c, &word, v);
	slow = s_slow_now(c);
	if (!slow)
		return true;
	slow->pair = true;
	p = c->pats[v.pat];
	s_mem_four(c, 0, m, p);
	s_mem_four(c, 1, m, p + 4);
	vyi(a, X_INSERT, 0, 0, rm_reg(1), 1);
	sput(c, in->o[0], 0, 0);
	return true;
}

/* One after the other; the pack is a shift and an or. */
void s_pair_slow(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	struct as *a = &c->a;
	int x;

	/* what the loads need ends before the pack */
	s_call_at(c, find(c, pc, in->o[1]), pc - 1);
	s_call_at(c, find(c, pc, in->o[2]), pc - 1);
	x = sv(c, in->o[2], 0, 0, 1);
	vyi(a, X_SHID, SH_LEFT, 1, rm_reg(x), 16);
	x = sv(c, in->o[1], 0, 0, 0);
	vy(a, X_PAND, 0, x, s_splat32(c, 0xffff));
	vr(a, X_POR, 0, 0, 1);
	sput(c, in->o[0], 0, 0);
}
