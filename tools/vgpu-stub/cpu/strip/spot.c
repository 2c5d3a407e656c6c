/* SPDX-License-Identifier: MIT */
/*
 * Addresses as sums: of a variable or a pointer, lanes' numbers, constants, and what all lanes have. Registers that have several makers, as nvcc's variables of a loop, are asked
 * for the one that leads to the instruction. Called by neighbours.c.
 */
#include "spot.h"

#define MOST_BEFORE 4u         /* blocks */

u32 s_block_of(const struct look *l, u32 pc)
{
	const struct jit_src *s = l->c->s;
	u32 from = 0, to = s->nb, mid;

	while (to - from > 1) {
		mid = (from + to) / 2;
		if (s->b[mid].start <= pc)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* The block before b, if there is one alone; NO_PC */
static u32 before(const struct look *l, u32 b)
{
	const struct jit_src *s = l->c->s;
	u32 p, i, one = NO_PC;

	for (p = 0; p < s->nb; p++)
		for (i = 0; i < s->b[p].nsucc; i++)
			if (s->b[p].succ[i] == b) {
				if (one != NO_PC && one != p)
					return NO_PC;
				one = p;
			}
	return b ? one : NO_PC;
}

/* What makes o for the instruction l->user. A register of several definitions: the one that leads there, if there is no other way. */
static const struct insn *maker(const struct look *l, u32 o)
{
	const struct insn *in = definition(l->c, l->def, o);
	u32 b, pc, k, n;

	if (in || o == OPND_NONE || (o & OPND_CONST) || l->def[o] == NO_PC || l->user >= l->c->n)
		return in;
	b = s_block_of(l, l->user);
	for (pc = l->user, n = 0; b != NO_PC && n < MOST_BEFORE; n++, b = before(l, b), pc = b == NO_PC ? 0 : l->c->s->b[b].end)
		while (pc-- > l->c->s->b[b].start) {
			in = &l->c->code[pc];
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] == o)
					return in->guard == OPND_NONE && in->kind != K_CALL ? in : NULL;
			if (in->kind == K_CALL)
				return NULL;
		}
	return NULL;
}

/* The same of what is done once a launch, too; user: where its own operands are asked for */
const struct insn *s_maker_of(const struct look *l, u32 o, u32 *user)
{
	const struct insn *in;

	if (o != OPND_NONE && (o & OPND_CONST)) {
		*user = l->c->n;
		return s_made_once(l->c, o);
	}
	in = maker(l, o);
	*user = in ? (u32)(in - l->c->code) : l->c->n;
	return in;
}

bool s_is_own(const struct look *l, u32 o)
{
	struct sval v;

	if (o == OPND_NONE || !(o & OPND_CONST))
		return o != OPND_NONE && l->own[o];
	/* the prologue's */
	v = s_val(l->c, o, 0);
	return v.cls != SC_SCALAR || v.pat;
}

/* What is not made of the variable's address, lanes' numbers and constants is something that all have, or nothing is known. */
static bool spot_vague(const struct look *l, u32 o, struct spot *a)
{
	memset(a, 0, sizeof(*a));
	if (s_is_own(l, o))
		return false;
	a->fixed = (o & OPND_CONST) || (definition(l->c, l->def, o) && !l->c->s->b[s_block_of(l, l->def[o])].depth);
	a->vague = !a->fixed;
	return true;
}

/* Factors of text that nobody meant: what is beyond 32 bits is no place in shared memory, and products of it would overflow. */
static bool fits(s64 v) { return v >= INT32_MIN && v <= INT32_MAX; }

static bool spot_times(const struct look *l, u32 by, bool shift, struct spot *a)
{
	struct sval v = s_val(l->c, by, 0);
	s64 f = shift ? 1ll << (v.k & 31) : (s64)(s32)(u32)v.k;

	if (by == OPND_NONE || !(by & OPND_CONST) || !v.known || a->named)
		return false;
	a->step *= f;
	a->rows[0] *= f;
	a->rows[1] *= f;
	a->k *= f;
	return fits(a->step) && fits(a->rows[0]) && fits(a->rows[1]) && fits(a->k);
}

static bool spot_plus(struct look *l, u32 o, u32 steps, struct spot *a)
{
	struct spot b;
	bool first;

	if (!s_spot_of(l, o, steps, &b) || (a->named && b.named))
		return false;
	a->var += b.var;
	a->step += b.step;
	a->rows[0] += b.rows[0];
	a->rows[1] += b.rows[1];
	a->k += b.k;
	a->named |= b.named;
	/* the first of a warp, and how far a lane is from it */
	first = (a->first && !b.lane) || (b.first && !a->lane);
	a->lane = (a->lane && !b.first) || (b.lane && !a->first);
	a->first = first;
	a->vague |= b.vague;
	a->fixed |= b.fixed;
	return true;
}

/* tid & -32 is the first of the warp; a mask that a warp's numbers fit in may have them begin anew, which is no nearer. So are 4 * tid & -128 and 4 * tid & 124, as nvcc has it. */
static bool spot_masked(const struct look *l, u32 by, struct spot *a)
{
	struct sval v = s_val(l->c, by, 0);
	u32 m = (u32)v.k, times = a->step > 1 && !(a->step & (a->step - 1)) && !a->k ? (u32)__builtin_ctzll((u64)a->step) : 0;

	if (by == OPND_NONE || !(by & OPND_CONST) || !v.known || a->named || a->first || a->vague || a->fixed || times > 16)
		return false;
	m = (u32)((s32)m >> times);
	if (!(m & (m + 1)) && m >= 31) {
		a->lane = a->step == 1ll << times && m == 31;
		return !a->rows[0] && !a->rows[1];
	}
	m |= ~1023u;    /* threads along x */
	if ((~m & (~m + 1)) || ~m > 31 || a->step != 1ll << times || a->rows[0] || a->rows[1] || a->k)
		return false;
	a->step = 0;
	return a->first = true;
}

static bool spot_sum(struct look *l, const struct insn *in, u32 steps, struct spot *a)
{
	switch (in->lop) {
	case LOP_MOV: case LOP_CVT_SEXT: case LOP_CVT_TRUNC:
		return s_spot_of(l, in->o[1], steps, a);
	case LOP_ADD:
		return s_spot_of(l, in->o[1], steps, a) && spot_plus(l, in->o[2], steps, a);
	case LOP_SHL: case LOP_MUL: case LOP_MULWIDE:
		return s_spot_of(l, in->o[1], steps, a) && spot_times(l, in->o[2], in->lop == LOP_SHL, a);
	case LOP_MAD: case LOP_MADWIDE:
		return s_spot_of(l, in->o[1], steps, a) && spot_times(l, in->o[2], false, a) && spot_plus(l, in->o[3], steps, a);
	case LOP_AND:
		return s_spot_of(l, in->o[1], steps, a) && spot_masked(l, in->o[2], a);
	case LOP_OR:
		/* tid & -32 | tid & 31 */
		return s_spot_of(l, in->o[1], steps, a) && a->first != a->lane && spot_plus(l, in->o[2], steps, a) && !a->first && a->step;
	default:
		return false;
	}
}

bool s_spot_of(struct look *l, u32 o, u32 steps, struct spot *a)
{
	const struct insn *in;
	struct sval v;
	u32 user, of;
	bool sum;

	memset(a, 0, sizeof(*a));
	if (o == OPND_NONE)
		return false;
	if (o & OPND_CONST) {
		v = s_val(l->c, o, 0);
		a->k = v.known ? (s32)(u32)v.k : 0;
		if (v.known)
			return true;
	}
	in = steps ? s_maker_of(l, o, &of) : NULL;
	if (!in)
		return spot_vague(l, o, a);
	if (in->kind == K_SREG && (spec_sreg(l->c->spec, in->sub) == SR_TID_X || in->sub == SR_LANEID)) {
		a->step = 1;
		return true;
	}
	if (in->kind == K_SREG && s_is_own(l, o) && (spec_sreg(l->c->spec, in->sub) == SR_TID_Y || spec_sreg(l->c->spec, in->sub) == SR_TID_Z)) {
		a->rows[spec_sreg(l->c->spec, in->sub) - SR_TID_Y] = 1;
		return true;
	}
	if (in->kind == K_LADDR || (in->kind == K_SREG && in->sub == SR_DYNAMIC_SMEM)) {
		a->var = in->kind == K_LADDR ? (u64)in->imm : NOWHERE;
		return a->named = true;
	}
	user = l->user;
	l->user = of;
	sum = in->kind == K_LANE && spot_sum(l, in, steps - 1, a);
	l->user = user;
	return sum || spot_vague(l, o, a);
}

/* Which of the kernel's variables that is in, if others' are not added to it */
static u64 variable_at(const struct look *l, s64 at)
{
	const struct jit_src *s = l->c->s;
	u64 v = NOWHERE;
	u32 i;

	for (i = 0; i < s->nshared; i++)
		if ((s64)s->shared_at[i] <= at && (v == NOWHERE || s->shared_at[i] > v))
			v = s->shared_at[i];
	return v;
}

static bool is_address(const struct look *l, u32 at)
{
	const struct jit_src *s = l->c->s;
	u32 i;

	for (i = 0; i < s->nshared && s->shared_at[i] != at; i++)
		;
	return i < s->nshared;
}

/* The constants of a sum; named: a variable's address is one of them; dynamic: that of what a launch asks for; open: with something that may be one for all that is known. */
struct sum { s64 k; bool named, dynamic, open; };

#define DYNAMIC (NOWHERE - 1)
#define IN_CONSTANTS (1ull << 48)       /* pointers that lie in constant memory, by where they do */

static u64 variable_of(const struct look *l, struct sum a, s64 more)
{
	return a.dynamic ? DYNAMIC : a.open && !a.named && !a.k ? NOWHERE : variable_at(l, a.k + more);
}

static struct sum sum_of(struct look *l, u32 o, u32 steps);

static struct sum made_by(struct look *l, const struct insn *in, u32 of, u32 steps)
{
	struct sum a = { 0 }, b;
	u32 k, n, user = l->user;

	if (in->kind == K_LADDR)
		return (struct sum){ .k = in->imm };
	if (in->kind == K_SREG)
		return (struct sum){ .dynamic = in->sub == SR_DYNAMIC_SMEM };
	if (in->kind != K_LANE || (in->lop != LOP_ADD && in->lop != LOP_MOV && in->lop != LOP_MAD && in->lop != LOP_CVT_SEXT && in->lop != LOP_CVT_TRUNC))
		return (struct sum){ .open = in->kind == K_LD || in->kind == K_CALL || (in->kind == K_LANE && in->lop == LOP_SELP) };
	k = in->lop == LOP_MAD ? 3 : 1;
	n = in->lop == LOP_ADD ? 2 : k;
	l->user = of;
	for (; k <= n; k++) {
		b = sum_of(l, in->o[k], steps - 1);
		a.k += b.k;
		a.named |= b.named;
		a.dynamic |= b.dynamic;
		a.open |= b.open;
	}
	l->user = user;
	return a;
}

/* Does it add a step to o, and not o to a variable's address? */
static bool steps_on(const struct look *l, const struct insn *in, u32 o)
{
	struct sval v;
	u32 by;

	if (in->kind != K_LANE || (in->lop != LOP_ADD && in->lop != LOP_SUB))
		return false;
	by = in->o[1] == o ? in->o[2] : in->lop == LOP_ADD && in->o[2] == o ? in->o[1] : OPND_NONE;
	if (by == OPND_NONE)
		return false;
	v = s_val(l->c, by, 0);
	return in->lop != LOP_ADD || !v.known || !v.k || !is_address(l, (u32)v.k);
}

/* Of a register of several definitions, without those that add to what it is: are all in one variable? */
static struct sum of_several(struct look *l, u32 o, u32 steps)
{
	const struct scomp *c = l->c;
	struct sum a = { .open = true }, b;
	u32 i, k, d;

	for (i = 0; i < c->n && l->several; i++, l->several--) {
		const struct insn *in = &c->code[i];

		for (k = 0; (d = s_next_def(in, &k)) != OPND_NONE && d != o;)
			;
		if (d != o || steps_on(l, in, o))
			continue;
		b = made_by(l, in, i, steps);
		if (b.open || (!a.open && variable_of(l, a, 0) != variable_of(l, b, 0)))
			return (struct sum){ .open = true };
		a = b;
	}
	return l->several ? a : (struct sum){ .open = true };
}

static struct sum sum_of(struct look *l, u32 o, u32 steps)
{
	const struct insn *in;
	struct sval v;
	u32 of;

	if (o == OPND_NONE)
		return (struct sum){ 0 };
	v = s_val(l->c, o, 0);
	/* what is taken off is a part of an index: the sum stays in the variable */
	if ((o & OPND_CONST) && v.known)
		return (struct sum){ .k = (s32)(u32)v.k > 0 ? (s32)(u32)v.k : 0, .named = is_address(l, (u32)v.k) };
	if (!steps)
		return (struct sum){ .open = true };
	in = s_maker_of(l, o, &of);
	if (in)
		return made_by(l, in, of, steps);
	return !(o & OPND_CONST) && l->def[o] == NO_PC - 1 && steps > STEPS ? of_several(l, o, STEPS) : (struct sum){ .open = true };
}

u64 s_variable_of(struct look *l, u32 o, s64 imm)
{
	return variable_of(l, sum_of(l, o, 2 * STEPS), imm > 0 && imm <= INT32_MAX ? imm : 0);
}

static bool adds_to_pointer(const struct insn *in)
{
	return in->kind == K_CVTA || (in->kind == K_LANE && (in->lop == LOP_ADD || in->lop == LOP_MOV || in->lop == LOP_MADWIDE));
}

/* The pointer in what in adds, copies or turns into another kind of address */
static u64 pointer_by(struct look *l, const struct insn *in, u32 steps)
{
	u32 k = in->kind == K_LANE && in->lop == LOP_MADWIDE ? 3 : 1, n = in->kind == K_LANE && in->lop == LOP_ADD ? 2 : k;
	u64 a = NOWHERE;

	for (; k <= n && a == NOWHERE; k++)
		a = s_pointer_of(l, in->o[k], steps - 1);
	return a;
}

/* Of a pointer of several definitions, without those that add a step to what it is, or are nothing but numbers: are all by one? */
static u64 pointer_of_several(struct look *l, u32 o)
{
	const struct scomp *c = l->c;
	u32 i, k, d, of, user = l->user;
	u64 a = NOWHERE, b;

	for (i = 0; i < c->n && l->several; i++, l->several--) {
		const struct insn *in = &c->code[i], *by = in;

		for (k = 0; (d = s_next_def(in, &k)) != OPND_NONE && d != o;)
			;
		if (d != o || (in->kind == K_LANE && !adds_to_pointer(in)))
			continue;
		l->user = i;
		if (in->kind == K_LANE && in->lop == LOP_MOV)
			by = s_maker_of(l, in->o[1], &of);
		if (by && by->kind == K_LANE && by->lop == LOP_ADD && (by->o[1] == o || by->o[2] == o)) {
			b = s_pointer_of(l, by->o[1] == o ? by->o[2] : by->o[1], STEPS);
			l->user = user;
			if (b == NOWHERE)
				continue;
		} else {
			b = in->kind == K_LDPARAM ? o : adds_to_pointer(in) ? pointer_by(l, in, STEPS) : NOWHERE;
			l->user = user;
		}
		if (b == NOWHERE || (a != NOWHERE && a != b))
			return NOWHERE;
		a = b;
	}
	return l->several ? a : NOWHERE;
}

/* In global memory: the pointer to which something is added. */
u64 s_pointer_of(struct look *l, u32 o, u32 steps)
{
	const struct insn *in;
	u32 of, user;
	u64 a;

	if (o == OPND_NONE)
		return NOWHERE;
	in = steps ? s_maker_of(l, o, &of) : NULL;
	if (o & OPND_CONST) {
		if (s_is_own(l, o) || s_val(l->c, o, 1).known)
			return NOWHERE;
		if (!in)
			return o;
	}
	if (!in && !(o & OPND_CONST) && l->def[o] == NO_PC - 1 && steps > STEPS && !l->loops)
		return pointer_of_several(l, o);
	if (!in || in->kind == K_LDPARAM)
		return in ? o : NOWHERE;
	if (in->kind == K_LD && in->space == SPACE_CONST && !l->loops && in->o[4] != OPND_NONE && (in->o[4] & OPND_CONST) && s_val(l->c, in->o[4], 1).known)
		return IN_CONSTANTS + s_val(l->c, in->o[4], 1).k + (u64)in->imm;
	/* who has loaded it once goes by it from there on */
	if ((in->kind == K_LD || in->kind == K_SHFL) && !l->loops && !(o & OPND_CONST) && l->def[o] < l->c->n)
		return o;
	if (!adds_to_pointer(in))
		return NOWHERE;
	user = l->user;
	l->user = of;
	a = pointer_by(l, in, steps);
	l->user = user;
	return a;
}
