/* SPDX-License-Identifier: MIT */
/*
 * Loops whose rounds are counted, and whose addresses are looked at, before they begin.
 *
 * Of a loop of one block that goes on as long as a number, which grows by the same in each round, is below another (or is not that), the rounds are known
 * in which all lanes go on. An address that grows by the same in each round lies, in all of them, between where it is in the first and in
 * the last. So in front of such a loop stands a question: do all 32 lanes run, for some rounds, is the budget enough for them, are those two places of each
 * address in the span, and aligned? Then the rounds are done by a copy of the loop, behind everything else, that asks none of it. Its last round's comparison is
 * everybody's: on to the question for the next rounds, out of the loop, or apart. Else code goes on as ever.
 *
 *      question ──► round ─┐         what an exit of the copy hands over is what one of the loop
 *        │  ▲       ▲──────┘         would: nothing is changed by the question but the budget
 *        ▼  └─── comparison ──► out
 *      round ─┐          ▲
 *      ▲──────┘ ─────────┘
 *
 * Numbers of 32 bits wrap: where one is widened on the way to an address, it must not on the way to the last round.
 *
 * In: classes, places of values. Out: jcomp.loop of a block that is such a loop.
 */
#include <string.h>

#include "jit_mem.h"
#include "lanes.h"

#define MOST_INSNS 512u
#define MOST_ROUNDS 64          /* at once: the budget is looked at in between */
#define MOST_ASKED 2048u        /* bytes of a load that are asked for at once, if that is enough rounds */
#define LEAST_ROUNDS 4          /* of fewer than that, and than there are addresses, the question takes as long as it saves */
#define MOST_SHAPES 24u         /* addresses that are looked at */
#define DEEP 8u
#define NEAR (1 << 24)          /* no step times a number is more */
#define MOST_NO 128u

enum { SURE = 1, ASKED = 2 };

/* What a register grows by in a round: k, or k times register reg's number, with its sign. */
struct step { bool ok; u8 w; u32 reg; s64 k; };

/* What is read and written beside register o, as it is at pc. */
struct shape { u32 o, pc, align; s64 lo, hi; bool asks; };

struct jloop {
	u32 test;               /* the comparison */
	u32 x;                  /* the number that grows */
	u8 w;
	u32 limit;              /* in P: what it is when the rounds are done */
	u32 from;               /* the loop's own code */
	u32 at;                 /* the jump to the copy */
	u32 mx;
	u8 *sure;               /* per instruction: its address needs no check; what later blocks read there has been asked for */
};

/* While one is looked at. */
struct look {
	struct jcomp *c;
	const struct jblock *b;
	u32 *def;               /* per register: its definition in the loop + 1, ~0: several */
	struct step by;         /* of the loop's number */
	s64 adjust;             /* what the distance to the bound is less */
	u32 bound, lop, type;
	u32 most, least;        /* rounds at once */
	u32 last, size;         /* in P: rounds but one; what a round is grown by */
	u32 start;              /* in P: where an address begins */
	u32 no[MOST_NO], nno;
	bool bad, widens;       /* step_of() came by a number of 32 bits that is widened */
};

static struct rm in_p(u32 home) { return rm_mem(RBX, (s32)home); }

static u32 new_home(struct jcomp *c)
{
	c->home_next = ((c->home_next + 7) & ~7u) + 8;
	return c->home_next - 8;
}

static void unless(struct look *l, u32 cc)
{
	u32 at = g_jcc(&l->c->a, cc);

	if (l->nno == MOST_NO)
		l->bad = true;
	else
		l->no[l->nno++] = at;
}

static u32 def_of(const struct look *l, u32 o) { return o & OPND_CONST ? 0 : l->def[o]; }

/* Something that the loop does not write, or that in reads as the round began with it. */
static bool simple(const struct look *l, u32 o, u32 pc)
{
	u32 d = def_of(l, o);

	return !d || (d != ~0u && d - 1 >= pc);
}

static bool scalar(const struct look *l, u32 o, u8 w)
{
	struct jval v = jit_val(l->c, o, w);

	return v.cls != JC_VARY && v.cls != JC_NONE && (v.sk || (o & OPND_CONST) || (l->c->r[o].loc != LOC_NONE && !l->c->sym[o].ghost));
}

static bool number(const struct look *l, u32 o, u8 w, s64 *k)
{
	struct jval v = jit_val(l->c, o, w);

	if (!v.sk || v.cls != JC_UNI)
		return false;
	*k = w ? (s64)v.s : (s64)(s32)v.s;
	return *k > -NEAR && *k < NEAR;
}

static bool integer(const struct insn *in)
{
	return in->kind == K_LANE && in->guard == OPND_NONE && !type_is_float(in->type) && (in->def & 1);
}

static u8 wide(const struct insn *in) { return type_bytes(in->type) == 8; }

static const struct insn *made_by(const struct look *l, u32 o)
{
	u32 d = def_of(l, o);

	return d && d != ~0u ? &l->c->code[d - 1] : NULL;
}

/* o is written once a round, as itself and something that stays. */
static struct step own_step(const struct look *l, u32 o)
{
	const struct insn *in = made_by(l, o);
	struct step s = { .reg = OPND_NONE };
	u32 other;
	u8 w;

	if (in && integer(in) && in->lop == LOP_MOV && made_by(l, in->o[1]) && made_by(l, in->o[1]) < in)
		in = made_by(l, in->o[1]);
	if (!in || !integer(in) || (in->lop != LOP_ADD && in->lop != LOP_SUB))
		return s;
	w = wide(in);
	other = in->o[1] == o ? in->o[2] : in->lop == LOP_ADD && in->o[2] == o ? in->o[1] : OPND_NONE;
	if (type_bytes(in->type) < 4 || other == OPND_NONE || def_of(l, other) || !scalar(l, other, w) || jit_val(l->c, other, w).cls != JC_UNI)
		return s;
	s.ok = true;
	if (number(l, other, w, &s.k)) {
		s.k = in->lop == LOP_SUB ? -s.k : s.k;
	} else {
		s.reg = other;
		s.w = w;
		s.k = 1;
		s.ok = in->lop == LOP_ADD && !jit_val(l->c, other, w).sk;
	}
	return s;
}

static struct step times(struct step s, s64 k)
{
	s.k *= k;
	s.ok = s.ok && s.k > -NEAR && s.k < NEAR;
	return s;
}

static struct step plus(struct step s, struct step t, s64 sign)
{
	if (!s.k) {
		s.reg = t.reg;
		s.w = t.w;
	}
	s.ok = s.ok && t.ok && (!t.k || s.reg == t.reg);
	s.k += sign * t.k;
	return times(s, 1);
}

/* What o, read at pc, grows by in a round. As far as this says, first() can compute what it is in the first. */
static struct step step_of(struct look *l, u32 o, u32 pc, u8 w, u32 deep)
{
	const struct insn *in = made_by(l, o);
	struct step s = { .reg = OPND_NONE }, t = own_step(l, o);
	u32 d = def_of(l, o);
	s64 k;

	if (!scalar(l, o, w) || deep == DEEP || d == ~0u)
		return s;
	if (!d)
		return (struct step){ .ok = true, .reg = OPND_NONE };
	if (d - 1 >= pc)
		return t;
	if (!integer(in) || in->o[0] != o || type_bytes(in->type) < 4)
		return s;
	w = wide(in);
	switch (in->lop) {
	case LOP_MOV:
		return step_of(l, in->o[1], d - 1, w, deep + 1);
	case LOP_ADD: case LOP_SUB:
		s = step_of(l, in->o[1], d - 1, w, deep + 1);
		t = step_of(l, in->o[2], d - 1, w, deep + 1);
		s.ok = s.ok && (simple(l, in->o[2], d - 1) || (in->lop == LOP_ADD && simple(l, in->o[1], d - 1)));
		return plus(s, t, in->lop == LOP_ADD ? 1 : -1);
	case LOP_SHL:
		s.ok = number(l, in->o[2], 0, &k) && k >= 0 && k < 24;
		return s.ok ? times(step_of(l, in->o[1], d - 1, w, deep + 1), 1ll << k) : s;
	case LOP_MUL: case LOP_MAD:
		s.ok = number(l, in->o[2], w, &k);
		if (s.ok)
			s = times(step_of(l, in->o[1], d - 1, w, deep + 1), k);
		break;
	case LOP_CVT_SEXT:
		l->widens = true;
		return w ? step_of(l, in->o[1], d - 1, 0, deep + 1) : s;
	case LOP_MULWIDE: case LOP_MADWIDE:
		if (type_bytes(in->type) != 4 || !number(l, in->o[2], 0, &k) || (k < 0 && !type_is_signed(in->type)))
			return s;
		l->widens = true;
		s = times(step_of(l, in->o[1], d - 1, 0, deep + 1), k);
		w = 1;
		break;
	default:
		return s;
	}
	if (s.ok && (in->lop == LOP_MAD || in->lop == LOP_MADWIDE)) {
		s.ok = simple(l, in->o[3], d - 1);
		s = plus(s, step_of(l, in->o[3], d - 1, w, deep + 1), 1);
	}
	return s;
}

/* rdx = what s is in all rounds but one. Overwrites rcx. */
static void in_all(struct look *l, struct step s)
{
	struct as *a = &l->c->a;

	g_load(a, 1, RDX, in_p(l->last));
	if (s.k != 1)
		g_imuli(a, 1, RDX, rm_reg(RDX), (s32)s.k);
	if (s.reg == OPND_NONE)
		return;
	if (s.reg == l->by.reg) {
		g_imul(a, 1, RDX, in_p(l->size));
		return;
	}
	if (s.w)
		ju_load(l->c, RCX, s.reg, 1);
	else
		ju_wide(l->c, RCX, s.reg, true);
	g_alui(a, 1, G_CMP, rm_reg(RCX), NEAR);
	unless(l, CC_G);
	g_alui(a, 1, G_CMP, rm_reg(RCX), -NEAR);
	unless(l, CC_L);
	g_imul(a, 1, RDX, rm_reg(RCX));
}

static void first(struct look *l, u32 o, u32 pc, u8 w);

/* rax = o, of 32 bits, as 64, unless it would wrap before the last round. */
static void first_wide(struct look *l, u32 o, u32 pc, bool sg)
{
	struct step s = step_of(l, o, pc, 0, 0);
	struct as *a = &l->c->a;

	first(l, o, pc, 0);
	if (sg)
		g_movsxd(a, RAX, rm_reg(RAX));
	else
		g_load(a, 0, RAX, rm_reg(RAX));
	if (!s.k)
		return;
	in_all(l, s);
	g_alu(a, 1, G_ADD, RDX, rm_reg(RAX));
	if (sg)
		g_movsxd(a, RCX, rm_reg(RDX));
	else
		g_load(a, 0, RCX, rm_reg(RDX));
	g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
	unless(l, CC_NE);
}

/* rax = what o, read at pc, is in the first round, of lane 0. Overwrites rcx and rdx. */
static void first(struct look *l, u32 o, u32 pc, u8 w)
{
	const struct insn *in = made_by(l, o);
	struct jcomp *c = l->c;
	struct as *a = &c->a;
	u32 d = def_of(l, o), x;
	s64 k = 0;

	if (!d || d - 1 >= pc) {
		ju_load(c, RAX, o, w);
		return;
	}
	w = wide(in);
	switch (in->lop) {
	case LOP_MOV:
		first(l, in->o[1], d - 1, w);
		return;
	case LOP_ADD: case LOP_SUB:
		x = simple(l, in->o[2], d - 1) ? 1 : 2;
		first(l, in->o[x], d - 1, w);
		ju_alu(c, in->lop == LOP_ADD ? G_ADD : G_SUB, RAX, in->o[3 - x], w);
		return;
	case LOP_SHL:
		number(l, in->o[2], 0, &k);
		first(l, in->o[1], d - 1, w);
		g_shi(a, w, G_SHL, RAX, (u32)k);
		return;
	case LOP_MUL: case LOP_MAD:
		number(l, in->o[2], w, &k);
		first(l, in->o[1], d - 1, w);
		g_imuli(a, w, RAX, rm_reg(RAX), (s32)k);
		break;
	case LOP_CVT_SEXT:
		first_wide(l, in->o[1], d - 1, type_is_signed(in->type));
		return;
	case LOP_MULWIDE: case LOP_MADWIDE:
		number(l, in->o[2], 0, &k);
		first_wide(l, in->o[1], d - 1, type_is_signed(in->type));
		g_imuli(a, 1, RAX, rm_reg(RAX), (s32)k);
		w = 1;
		break;
	}
	if (in->lop == LOP_MAD || in->lop == LOP_MADWIDE)
		ju_alu(c, G_ADD, RAX, in->o[3], w);
}

/* ---- how long it goes on --------------------------------------------------------------------------------------------------- */

/* Is the block's branch back one by a comparison of what grows with what stays? */
static bool counted(struct look *l, struct jloop *p)
{
	static const u8 not[] = { [CMP_EQ] = CMP_NE, [CMP_NE] = CMP_EQ, [CMP_LT] = CMP_GE, [CMP_LE] = CMP_GT, [CMP_GT] = CMP_LE, [CMP_GE] = CMP_LT };
	static const u8 swapped[] = { [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT, [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE };
	const struct jcomp *c = l->c;
	const struct insn *bra = &c->code[l->b->end - 1], *t = bra - 1;
	s32 lo, hi;
	u32 k;

	if (l->b->end - l->b->start < 3 || bra->kind != K_CBRA || (bra->flags & INF_SPIN) || t->kind != K_SETP || t->guard != OPND_NONE)
		return false;
	if (t->o[0] != bra->guard || t->o[1] != OPND_NONE || t->sub || t->lop < CMP_EQ || t->lop > CMP_GE)
		return false;
	/* rounds that are counted do not make it: who reads it in the next one, before it is made again, would have an old one */
	if (c->live_at[(size_t)l->b->start * c->s->words + (t->o[0] >> 6)] >> (t->o[0] & 63) & 1)
		return false;
	l->type = t->type;
	if (type_is_float(t->type) || (type_bytes(t->type) != 4 && type_bytes(t->type) != 8))
		return false;
	p->w = type_bytes(t->type) == 8;
	p->test = l->b->end - 2;
	l->lop = (bra->taken == l->b->start) != bra->gneg ? t->lop : not[t->lop];
	for (k = 2; k < 4; k++) {
		if (def_of(l, t->o[5 - k]) || !scalar(l, t->o[5 - k], p->w) || jit_val(c, t->o[5 - k], p->w).cls != JC_UNI || (t->o[k] & OPND_CONST))
			continue;
		l->widens = false;
		l->by = step_of(l, t->o[k], p->test, p->w, 0);
		if (l->widens || !l->by.ok || !l->by.k || c->r[t->o[k]].loc == LOC_NONE)
			continue;
		p->x = t->o[k];
		l->bound = t->o[5 - k];
		break;
	}
	if (k == 4)
		return false;
	if (k == 3)
		l->lop = swapped[l->lop];
	if (l->by.reg != OPND_NONE && (l->by.k != 1 || l->by.w != p->w))
		return false;
	jit_range(c, jit_val(c, p->x, p->w), &lo, &hi);
	switch (l->lop) {
	case CMP_LT: case CMP_LE:
		l->adjust = hi - (l->lop == CMP_LE);
		return l->by.k > 0 && !lo;
	case CMP_GT: case CMP_GE:
		l->adjust = -(l->lop == CMP_GE);
		return l->by.k < 0 && !lo && !hi;
	case CMP_NE:
		return !lo && !hi;
	default:
		return false;
	}
}

/* A loop of few rounds is left alone, if that is seen at once. Numbers that wrap are asked about later. */
static void glance(struct look *l, const struct jloop *p)
{
	struct jcomp *c = l->c;
	bool down = l->by.k < 0;

	if (l->by.reg != OPND_NONE || !own_step(l, p->x).ok)
		return;
	ju_load(c, RAX, down ? p->x : l->bound, p->w);
	ju_alu(c, G_SUB, RAX, down ? l->bound : p->x, p->w);
	g_alui(&c->a, p->w, G_CMP, rm_reg(RAX), (s32)(down ? -l->by.k : l->by.k) * ((s32)l->least - 1));
	unless(l, CC_LE);
}

/* last and limit, unless all lanes will not be there for that many rounds. */
static void count(struct look *l, struct jloop *p)
{
	struct jcomp *c = l->c;
	struct as *a = &c->a;
	u64 by = (u64)(l->by.k < 0 ? -l->by.k : l->by.k);
	bool var = l->by.reg != OPND_NONE, down = l->by.k < 0, sg = type_is_signed(l->type);
	/* of two numbers of 64 bits nothing is said if they are too far apart; to differ they may be */
	u32 wraps = !p->w || l->lop == CMP_NE ? 0 : sg ? CC_O + 1 : CC_B + 1;

	if (var) {
		if (p->w)
			ju_load(c, RDX, l->by.reg, 1);
		else
			ju_wide(c, RDX, l->by.reg, true);
		g_alui(a, 1, G_CMP, rm_reg(RDX), NEAR);
		unless(l, CC_GE);
		g_alui(a, 1, G_CMP, rm_reg(RDX), 0);
		unless(l, CC_LE);
		g_store(a, 1, in_p(l->size), RDX);
	}
	first(l, p->x, p->test, p->w);
	g_store(a, 1, in_p(p->limit), RAX);
	if (!p->w && sg)
		g_movsxd(a, RAX, rm_reg(RAX));
	else if (!p->w)
		g_load(a, 0, RAX, rm_reg(RAX));
	if (p->w)
		ju_load(c, RCX, l->bound, 1);
	else
		ju_wide(c, RCX, l->bound, sg);
	if (down) {
		g_alu(a, 1, G_SUB, RAX, rm_reg(RCX));
		if (wraps)
			unless(l, wraps - 1);
		g_load(a, 1, RCX, rm_reg(RAX));
	} else {
		g_alu(a, 1, G_SUB, RCX, rm_reg(RAX));
		if (wraps)
			unless(l, wraps - 1);
	}
	if (var) {
		g_imuli(a, 1, RDX, in_p(l->size), (s32)l->least - 2);
		g_alui(a, 1, G_ADD, rm_reg(RDX), (s32)l->adjust);
		g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
		unless(l, CC_LE);
		g_imuli(a, 1, RDX, in_p(l->size), (s32)l->most - 1);
		g_alui(a, 1, G_ADD, rm_reg(RDX), (s32)l->adjust);
	} else {
		g_alui(a, 1, G_CMP, rm_reg(RCX), (s32)(l->adjust + (s64)by * (l->least - 2)));
		unless(l, CC_LE);
		g_movi(a, RDX, (u64)((s64)by * (l->most - 1) + l->adjust));
	}
	g_alu(a, 1, G_CMP, RCX, rm_reg(RDX));
	g_cmov(a, 1, CC_G, RCX, rm_reg(RDX));
	if (l->adjust)          /* not before: the distance may be the largest number */
		g_alui(a, 1, G_SUB, rm_reg(RCX), (s32)l->adjust);
	if (var) {
		g_alu(a, 1, G_ADD, RCX, in_p(l->size));
		g_lea(a, 1, RAX, rm_mem(RCX, -1));
		g_movi(a, RDX, 0);
		g_op(a, 1, 0xf7, 6, in_p(l->size), 0);          /* div */
	} else if (by & (by - 1)) {
		g_lea(a, 1, RAX, rm_mem(RCX, (s32)by - 1));
		g_movi(a, RDX, 0);
		g_movi(a, RCX, by);
		g_op(a, 1, 0xf7, 6, rm_reg(RCX), 0);
	} else {
		g_lea(a, 1, RAX, rm_mem(RCX, (s32)by - 1));
		if (by > 1)
			g_shi(a, 1, G_SHR, RAX, (u32)__builtin_ctzll(by));
	}
	g_store(a, 1, in_p(l->last), RAX);
	if (var)
		g_imul(a, 1, RAX, in_p(l->size));
	else
		g_imuli(a, 1, RAX, rm_reg(RAX), (s32)l->by.k);
	g_op(a, 1, 0x01, RAX, in_p(p->limit), 0);       /* add */
}

/* ---- addresses ---------------------------------------------------------------------------------------------------------------- */

static const struct insn *access_at(const struct jcomp *c, u32 pc)
{
	const struct insn *in = c->merged[pc].kind ? &c->merged[pc] : &c->code[pc];

	if ((in->kind != K_LD && in->kind != K_ST) || !in->vec || !in->aw || jm_window(in) || in->space == SPACE_PARAM)
		return NULL;
	return in;
}

/* The addresses that need no check in the copy; how many. What lies beside each other from one register on is one. */
static u32 addresses(struct look *l, struct jloop *p, struct shape *s)
{
	struct jcomp *c = l->c;
	u32 pc, n = 0, i;

	for (pc = l->b->start; pc < p->test; pc++) {
		const struct insn *in = access_at(c, pc);
		struct step t;
		struct acc x;
		s64 lo, hi;
		bool asks;
		u32 ext;

		if (!in || !jm_shape(c, in, &x, &ext) || ext > JIT_SLACK)
			continue;
		t = step_of(l, in->o[4], pc, 1, 0);
		/* no round makes it crooked */
		if (!t.ok || (t.k & (s64)(x.align - 1)))
			continue;
		asks = t.reg == OPND_NONE && jm_asks(c, in, ext);
		lo = in->imm + x.cmin;
		hi = lo + ext;
		for (i = 0; i < n; i++) {
			s64 l2 = lo < s[i].lo ? lo : s[i].lo, h2 = hi > s[i].hi ? hi : s[i].hi;
			u32 most = x.align > s[i].align ? x.align : s[i].align;

			if (s[i].o == in->o[4] && simple(l, s[i].o, s[i].pc) == simple(l, s[i].o, pc) && h2 - l2 <= JIT_SLACK &&
			    !((lo - s[i].lo) & (most - 1))) {
				s[i].lo = l2;
				s[i].hi = h2;
				s[i].align = most;
				s[i].asks |= asks;
				break;
			}
		}
		if (i == n) {
			if (n == MOST_SHAPES)
				continue;
			s[n++] = (struct shape){ in->o[4], pc, x.align, lo, hi, asks };
		}
		p->sure[pc - l->b->start] = asks ? SURE | ASKED : SURE;
	}
	l->least = n > LEAST_ROUNDS ? n : LEAST_ROUNDS;
	l->most = MOST_ROUNDS;
	for (i = 0; i < n; i++)
		if (s[i].asks && l->most > MOST_ASKED / (u32)(s[i].hi - s[i].lo))
			l->most = MOST_ASKED / (u32)(s[i].hi - s[i].lo);
	l->most = l->most < l->least ? l->least : l->most;
	return n;
}

/* Where all of it lies in the first round, and in the last. */
static void look_at(struct look *l, const struct shape *s)
{
	struct step t = step_of(l, s->o, s->pc, 1, 0);
	struct as *a = &l->c->a;

	first(l, s->o, s->pc, 1);
	if (s->lo)
		g_lea(a, 1, RAX, rm_mem(RAX, (s32)s->lo));
	if (s->asks) {
		g_store(a, 1, in_p(l->start), RAX);
		jm_ahead_rounds(l->c, l->last, t.k, s->hi - s->lo < 512 ? (u32)(s->hi - s->lo) : 512);
		g_load(a, 1, RAX, in_p(l->start));
	}
	g_alu(a, 1, G_SUB, RAX, PM(span_lo));
	if (s->align > 1) {
		g_testi(a, RAX, s->align - 1);
		unless(l, CC_NE);
	}
	g_alu(a, 1, G_CMP, RAX, PM(span_lim));
	unless(l, CC_AE);
	if (!t.k)
		return;
	in_all(l, t);
	g_alu(a, 1, G_ADD, RAX, rm_reg(RDX));
	g_alu(a, 1, G_CMP, RAX, PM(span_lim));
	unless(l, CC_AE);
}

/* ---- code ---------------------------------------------------------------------------------------------------------------------- */

static bool one_block(const struct jcomp *c, u32 b)
{
	const struct jblock *jb = &c->s->b[b];
	u32 i;

	for (i = 0; i < jb->nsucc && jb->succ[i] != b; i++)
		;
	if (i == jb->nsucc || jb->nsucc != 2 || jb->end - jb->start > MOST_INSNS || c->within[b])
		return false;
	for (i = 0; i < c->nregions; i++)
		if ((c->rfirst[b] >> i & 1) && c->regions[i].second == jb->start)
			return false;
	for (i = jb->start; i + 1 < jb->end; i++)
		switch (c->code[i].kind) {
		case K_LANE: case K_SETP: case K_PRED: case K_LD: case K_ST: case K_LDPARAM: case K_LOP3: case K_CVT: case K_ATOM: case K_NOP:
			break;
		default:
			return false;
		}
	return true;
}

static void definitions(struct look *l)
{
	u32 pc, k;

	for (pc = l->b->start; pc < l->b->end; pc++) {
		const struct insn *in = &l->c->code[pc];

		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				l->def[in->o[k]] = l->def[in->o[k]] ? ~0u : pc + 1;
	}
}

/* Block b begins, with the mode that all blocks begin with: in front of a loop the question, which leads to its copy or to what follows. */
void jit_loop_begin(struct jcomp *c, u32 b)
{
	struct look l = { .c = c, .b = &c->s->b[b] };
	struct jmark mark = j_mark(c);
	struct shape s[MOST_SHAPES];
	struct as *a = &c->a;
	struct jloop *p;
	u32 n, i;

	if (!one_block(c, b))
		return;
	c->pc = l.b->start;
	l.def = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	p = pool_alloc(&c->mem, sizeof(*p));
	if (!l.def || !p || !(p->sure = pool_alloc(&c->mem, l.b->end - l.b->start))) {
		c->bad = true;
		return;
	}
	definitions(&l);
	if (!counted(&l, p) || !(n = addresses(&l, p, s)))
		return;
	l.last = new_home(c);
	l.size = new_home(c);
	l.start = new_home(c);
	p->limit = new_home(c);
	glance(&l, p);
	g_alui(a, 0, G_CMP, PM(m), -1);
	unless(&l, CC_NE);
	count(&l, p);
	for (i = 0; i < n; i++)
		look_at(&l, &s[i]);
	/* as j_edge() has it */
	g_imuli(a, 1, RCX, in_p(l.last), (s32)(l.b->end - l.b->start));
	g_alu(a, 1, G_CMP, RCX, rm_mem(R14, (s32)offsetof(struct tstate, budget)));
	unless(&l, CC_GE);
	g_op(a, 1, 0x29, RCX, rm_mem(R14, (s32)offsetof(struct tstate, budget)), 0);
	if (l.bad) {
		j_undo(c, mark);
		return;
	}
	p->at = g_jmp(a);
	for (i = 0; i < l.nno; i++)
		g_here(a, l.no[i]);
	p->from = a->n;
	p->mx = c->mx;
	c->loop[b] = p;
}

/* A jump at `at` back to loop b, of its own code, passes the question by. */
bool jit_loop_back(struct jcomp *c, u32 at, u32 b)
{
	if (b != c->block || !c->loop[b] || c->sure)
		return false;
	g_land(&c->a, at, c->loop[b]->from);
	return true;
}

/* In a copy, the instruction at pc begins: if it is the comparison, the rounds that are known go on. */
void jit_loop_test(struct jcomp *c, u32 pc)
{
	const struct jloop *p = c->sure;
	struct as *a = &c->a;

	if (!p || pc != p->test)
		return;
	jit_mxcsr_home(c);
	if (c->r[p->x].loc == LOC_GPR) {
		g_alu(a, p->w, G_CMP, c->r[p->x].reg, in_p(p->limit));
	} else {
		ju_load(c, RAX, p->x, p->w);
		g_alu(a, p->w, G_CMP, RAX, in_p(p->limit));
	}
	g_land(a, g_jcc(a, CC_NE), c->sure_at);
}

/* Has the address at c->pc been looked at before the loop? */
bool jit_loop_sure(const struct jcomp *c)
{
	return c->sure && (c->sure->sure[c->pc - c->s->b[c->block].start] & SURE);
}

/* Has what later blocks read there been asked for? */
bool jit_loop_asked(const struct jcomp *c)
{
	return c->sure && (c->sure->sure[c->pc - c->s->b[c->block].start] & ASKED);
}

/* The copies. */
void jit_loops(struct jcomp *c)
{
	u32 b;

	for (b = 0; b < c->s->nb && !c->bad && !c->a.oom; b++) {
		if (!c->loop[b])
			continue;
		g_here(&c->a, c->loop[b]->at);
		c->first_exit = c->nexits;
		c->ndot = c->nproduct = 0;
		c->mx = c->loop[b]->mx;
		c->sure = c->loop[b];
		c->sure_at = c->a.n;
		j_rest(c, b, c->s->b[b].start);
		c->sure = NULL;
	}
}
