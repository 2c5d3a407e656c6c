/* SPDX-License-Identifier: MIT */
/*
 * Loads that belong together, or to what is made of them:
 *   - two halves that lie behind one another, loaded one by one and packed to a word (as ggml reads quants whose blocks are aligned to
 *     2 bytes): one load of words, where the pack stands. In between only instructions that nothing can leave code at;
 *   - a half that is loaded to be a float: converted from where it lies;
 *   - two words that lie behind one another in every lane: both come with the first, the second waits in the private area.
 * The interpreter does one after the other when an address is not of the ordinary kind.
 *
 * And what nobody reads is not computed.
 */
#include "mem.h"
#include "vex.h"

enum { PAIR_NONE, PAIR_LOW, PAIR_HIGH, PAIR_PACK, PAIR_HALF, PAIR_FLOAT, PAIR_DEAD };

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

/* Is it the float of the half that is loaded at pc - 1, and the half nobody else's? */
static bool converts(const struct scomp *c, const struct sblock *b, u32 pc, const u16 *uses)
{
	const struct insn *in = &c->code[pc], *ld = in - 1;

	return pc > b->start && in->kind == K_LANE && in->lop == LOP_CVT_F_H && in->guard == OPND_NONE && !s_sync_at(c, pc) && half(c, ld) &&
	       in->o[1] == ld->o[0] && uses[in->o[1]] == 2 && c->r[in->o[0]].v.cls == SC_VARY;
}

static bool dead(const struct insn *in, const u16 *uses)
{
	return in->kind == K_LANE && in->guard == OPND_NONE && in->def == 1 && in->o[0] != OPND_NONE && uses[in->o[0]] == 1;
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
	c->twin = pool_alloc(&c->mem, (c->n + 1) * sizeof(*c->twin));
	uses = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*uses));
	if (!c->pair || !c->twin || !uses) {
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

			if (dead(in, uses))
				c->pair[i] = PAIR_DEAD;
			if (converts(c, &c->b[b], i, uses)) {
				c->pair[i - 1] = PAIR_HALF;
				c->pair[i] = PAIR_FLOAT;
			}
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

/* The load that gives the word of each lane at pc: that of the low half, where it is packed. NULL: there is none */
static const struct insn *word_at(const struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	u32 lo;

	if (c->pair[pc] == PAIR_PACK) {
		lo = find(c, pc, in->o[1]);
		return lo == NO_PC ? NULL : &c->code[lo];
	}
	return in->kind == K_LD && c->pair[pc] == PAIR_NONE && in->size == 4 && in->vec == 1 && !in->dw && in->guard == OPND_NONE && !(in->flags & INF_SYNC) &&
	       in->o[0] != OPND_NONE && c->r[in->o[0]].v.cls == SC_VARY ? in : NULL;
}

/* The address of a word that lies behind the one at pc in each lane is looked for in this block. */
static u32 twin_of(const struct scomp *c, u32 pc, const struct insn *ld, const s32 *p)
{
	u32 i, k, l;

	for (l = 0; l < STRIP; l++)
		if (p[l] - p[l & 4] != 8 * (s32)(l & 3))
			return NO_PC;
	for (i = pc + 1; i < c->cur->end; i++) {
		const struct insn *in = &c->code[i], *m = word_at(c, i);

		if (m && m->o[4] == ld->o[4] && m->aw == ld->aw && m->space == ld->space && m->imm == ld->imm + 4)
			return s_comes(c, i) ? NO_PC : i;
		if (s_is_fence(in) || (in->kind != K_LANE && in->kind != K_LD && in->kind != K_CVT && in->kind != K_LOP3 && in->kind != K_SETP &&
		     in->kind != K_PRED && in->kind != K_SREG && in->kind != K_LDPARAM && in->kind != K_LADDR && in->kind != K_CVTA && in->kind != K_NOP) ||
		    s_sync_at(c, i))
			return NO_PC;
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] == ld->o[4])
				return NO_PC;
	}
	return NO_PC;
}

s32 s_twin_home(struct scomp *c, u32 pc)
{
	if (!c->twin[pc])
		c->twin[pc] = s_new_vector_home(c);
	else if (c->twin[pc] < 0)
		c->twin[pc] = -c->twin[pc];
	return c->twin[pc];
}

/*
 * The words at known distances p from m, of the instruction at pc, into ymm0; what else its rows hold is put where the instruction
 * that wants it finds it, which then relies on it. False: they are not of a kind that is done so.
 */
bool s_twin(struct scomp *c, struct rm m, const s32 *p)
{
	const struct insn *ld = word_at(c, c->pc);
	u32 other = ld ? twin_of(c, c->pc, ld, p) : NO_PC;
	struct sslow *slow;
	struct as *a = &c->a;

	if (other == NO_PC)
		return false;
	s_twin_home(c, other);
	s_mem_rows(c, m, p, 0, 2, true);
	s_mem_rows(c, m, p + 4, 1, 2, true);
	if (!s_lanes_have(c, &other, 1)) {
		slow = s_slow_now(c);
		if (!slow)
			return true;
		slow->leaves = true;
	}
	vyi(a, X_SHUFPS, 2, 0, rm_reg(1), 0xdd);
	vyi(a, X_SHUFPS, 0, 0, rm_reg(1), 0x88);
	vyi(a, X_PERMQ, 2, 0, rm_reg(2), 0xd8);
	vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
	vy(a, X_MOVU_ST, 2, 0, rm_idx(R15, RBP, 0, c->twin[other]));
	return true;
}

/* It has come with another one. */
static bool has_come(struct scomp *c, u32 v)
{
	if (!s_comes(c, c->pc))
		return false;
	vy(&c->a, X_MOVU, 0, 0, rm_idx(R15, RBP, 0, c->twin[c->pc]));
	sput(c, v, 0, 0);
	return true;
}

static bool pack(struct scomp *c, const struct insn *in)
{
	u32 lo = find(c, c->pc, in->o[1]);
	struct as *a = &c->a;
	struct sslow *slow;
	struct sval v;
	struct rm m;

	if (has_come(c, in->o[0]))
		return true;
	if (lo == NO_PC || !s_mem_row(c, &c->code[lo], &v)) {
		c->bad = true;
		return true;
	}
	m = s_row_address(c, &c->code[lo], v);
	slow = s_slow_now(c);
	if (!slow)
		return true;
	slow->pair = true;
	if (!s_twin(c, m, c->pats[v.pat])) {
		s_mem_four(c, 0, m, c->pats[v.pat]);
		s_mem_four(c, 1, m, c->pats[v.pat] + 4);
		vyi(a, X_INSERT, 0, 0, rm_reg(1), 1);
	}
	sput(c, in->o[0], 0, 0);
	return true;
}

static bool half_float(struct scomp *c, const struct insn *in)
{
	const struct insn *ld = in - 1;
	struct as *a = &c->a;
	struct sslow *slow;
	struct sval v;
	struct rm m;

	if (!s_mem_row(c, ld, &v)) {
		c->bad = true;
		return true;
	}
	m = s_row_address(c, ld, v);
	slow = s_slow_now(c);
	if (!slow)
		return true;
	slow->pair = true;
	if (s_linear(c, v, 2)) {
		s_site(c);
		vx_x(a, X_MOVU, 0, 0, m);
	} else {
		s_mem_eight(c, 2, m, c->pats[v.pat]);
	}
	s_half_float(c, in);
	return true;
}

/* Is the instruction at pc one of these? True: it is done, or another one does it too. */
bool s_pair(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];

	switch (c->pair[pc]) {
	case PAIR_NONE:
		return in->kind == K_LD && has_come(c, in->o[0]);
	case PAIR_PACK:
		return pack(c, in);
	case PAIR_FLOAT:
		return half_float(c, in);
	default:
		return true;
	}
}

/* One after the other; the pack is a shift and an or. */
void s_pair_slow(struct scomp *c, u32 pc)
{
	const struct insn *in = &c->code[pc];
	struct as *a = &c->a;
	int x;

	if (in->kind == K_ST) {
		s_quad_slow(c, pc);
		return;
	}
	if (c->pair[pc] == PAIR_FLOAT) {
		s_call_at(c, pc - 1, pc - 1);
		if (!s_lane(c, in))
			c->bad = true;
		return;
	}
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
