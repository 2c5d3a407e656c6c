/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: copies that hardware makes behind the program's back, and what it is told about caches
 * (PTX ISA 9.7.9); mbarriers, by which it is waited for (9.7.13.15). Called by lower.c.
 *
 * cp.async is a load and a store, done at once, which nobody may tell from one that is done later. There is no cache to
 * tell anything: a policy is a number that is carried to where it is ignored.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "front.h"
#include "gen.h"

static struct insn *words(struct comp *c, const struct insn *t, u8 kind, const u32 *r, u32 n, s64 off)
{
	struct insn *in = emit(c, kind);
	u32 i;

	for (i = 0; i < n; i++)
		in->o[i] = r[i];
	in->o[4] = t->o[4];
	in->space = t->space;
	in->imm = t->imm + off;
	in->aw = t->aw;
	in->vec = (u8)n;
	in->size = 4;
	in->type = T_B32;
	in->def = kind == K_LD ? (u8)((1u << n) - 1) : 0;
	in->use = kind == K_LD ? 16 : (u8)(16 | ((1u << n) - 1));
	return in;
}

/*
 * The source is shorter than the copy: what is behind its end becomes zero, and nothing at all is read where it has no
 * bytes (its address may be anything then). have: bytes, or OPND_NONE and a predicate that says that there are none.
 */
static void short_source(struct comp *c, struct stmt *st, const struct insn *from, const u32 *r, u32 n, u32 have,
			 u32 none, bool none_neg)
{
	u32 guard = c->guard, i, p = new_reg(c, T_PRED), zero = konst(c, 0, 0);
	bool gneg = c->gneg, each = have != OPND_NONE && c->m->e->mc;

	/* one load of all words reads past the end of the source, though never past the 16 bytes that it begins: the checker minds */
	for (i = 0; i < (each ? n : 1); i++) {
		u32 k;

		c->guard = OPND_NONE;
		for (k = 0; k < n; k++)
			if (!i)
				emit_lane(c, st, LOP_MOV, T_U32, 0, r[k], zero, OPND_NONE, OPND_NONE);
		if (have != OPND_NONE)
			emit_cmp(c, st, CMP_GT, T_U32, p, have, konst(c, 4 * i, 0), BOOL_AND, guard, gneg);
		else
			emit_pred(c, guard == OPND_NONE ? PRED_MOV : PRED_AND, p, none, !none_neg, guard, gneg);
		c->guard = p;
		c->gneg = false;
		words(c, from, K_LD, r + i, each ? 1 : n, 4 * i);
	}
	c->guard = OPND_NONE;
	for (i = 0; i < n && have != OPND_NONE; i++) {
		u32 bits = new_reg(c, T_B32), rest = new_reg(c, T_B32);

		/* min(max(have - 4 i, 0), 4) bytes, as bits */
		emit_lane(c, st, LOP_MAX, T_U32, 0, rest, have, konst(c, 4 * i, 0), OPND_NONE);
		emit_lane(c, st, LOP_SUB, T_U32, 0, rest, rest, konst(c, 4 * i, 0), OPND_NONE);
		emit_lane(c, st, LOP_MIN, T_U32, 0, rest, rest, konst(c, 4, 0), OPND_NONE);
		emit_lane(c, st, LOP_SHL, T_U32, 0, rest, rest, konst(c, 3, 0), OPND_NONE);
		emit_lane(c, st, LOP_SHL, T_U32, 0, bits, konst(c, ~0u, 0), rest, OPND_NONE);
		emit_lane(c, st, LOP_NOT, T_U32, 0, bits, bits, OPND_NONE, OPND_NONE);
		emit_lane(c, st, LOP_AND, T_U32, 0, r[i], r[i], bits, OPND_NONE);
	}
	c->guard = guard;
	c->gneg = gneg;
}

static void lower_cp_async(struct comp *c, struct stmt *st)
{
	const struct operand *size = st->nops > 3 ? &st->op[3] : NULL;
	struct insn from, to;
	struct stmt half = *st;
	u32 n, i, r[4];

	if (st->mod[MC_SPACE] != SPACE_GLOBAL || st->mod[MC_FROM] != SPACE_SHARED)
		FAIL_AT(c, st, "cp.async copies from .global to .shared");
	if (st->nops < 3 || st->nops > 4 || st->op[2].kind != O_INT)
		FAIL_AT(c, st, "cp.async: two addresses, the number of bytes, and how many of them the source has");
	if (st->op[0].kind != O_ADDR || st->op[1].kind != O_ADDR)
		FAIL_AT(c, st, "cp.async: two addresses expected");
	if (st->op[2].imm != 4 && st->op[2].imm != 8 && st->op[2].imm != 16)
		FAIL_AT(c, st, "cp.async copies 4, 8 or 16 bytes");
	if (size && !(size->kind == O_REG && (size->type == T_PRED || (type_bytes(size->type) == 4 && !type_is_float(size->type)))) &&
	    !(size->kind == O_INT && size->imm >= 0 && size->imm <= st->op[2].imm))
		FAIL_AT(c, st, "cp.async: the size of the source must be a 32-bit register or a number up to that of the copy");
	n = (u32)st->op[2].imm / 4;
	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	half.mod[MC_SPACE] = SPACE_GLOBAL;
	lower_address(c, &half, &st->op[1], &from);
	half.mod[MC_SPACE] = SPACE_SHARED;
	lower_address(c, &half, &st->op[0], &to);
	for (i = 0; i < n; i++)
		r[i] = new_reg(c, T_B32);
	if (!size || (size->kind == O_INT && size->imm == st->op[2].imm))
		words(c, &from, K_LD, r, n, 0);
	else if (size->kind == O_REG && size->type == T_PRED)
		short_source(c, st, &from, r, n, OPND_NONE, size->reg, size->neg);
	else
		short_source(c, st, &from, r, n, src(c, st, size, T_U32), OPND_NONE, false);
	words(c, &to, K_ST, r, n, 0);
}

static void lower_policy(struct comp *c, struct stmt *st)
{
	const struct operand *d = &st->op[0];

	if (!st->nops || (d->kind != O_SINK && (d->kind != O_REG || d->type == T_PRED || type_bytes(d->type) != 8)))
		FAIL_AT(c, st, "createpolicy: the destination must be a 64-bit register");
	if (!st->mod[MC_POLICY])
		FAIL_AT(c, st, "createpolicy needs .range, .fractional or .cvt");
	if (d->kind == O_REG)
		emit_lane(c, st, LOP_MOV, T_U64, 1, d->reg, konst(c, 1ull << 60, 1), OPND_NONE, OPND_NONE);
}

/* ---- mbarrier: one word of 64 bits, see mem.c ------------------------------------------------------- */

static struct insn *word64(struct comp *c, const struct insn *at, u8 kind, u32 r)
{
	struct insn *in = emit(c, kind);

	in->o[kind == K_ATOM ? 1 : 0] = r;
	in->o[4] = at->o[4];
	in->space = at->space;
	in->imm = at->imm;
	in->aw = at->aw;
	in->vec = 1;
	in->size = 8;
	in->type = T_B64;
	in->dw = 1;
	in->def = kind == K_LD;
	in->use = kind == K_LD ? 16 : kind == K_ST ? 17 : 18;
	return in;
}

static u32 widen(struct comp *c, struct stmt *st, u32 r, u32 shift)
{
	u32 v = new_reg(c, T_B64), s = new_reg(c, T_B64);

	emit_lane(c, st, LOP_CVT_SEXT, T_U64, 1, v, r, OPND_NONE, OPND_NONE);
	if (!shift)
		return v;
	emit_lane(c, st, LOP_SHL, T_U64, 1, s, v, konst(c, shift, 0), OPND_NONE);
	return s;
}

static u32 count_of(struct comp *c, struct stmt *st, u32 i)
{
	const struct operand *o = &st->op[i];

	if (i >= st->nops)
		FAIL_AT(c, st, "%s: %u operands are too few", st->od->name, st->nops);
	if (o->kind != O_INT && (o->kind != O_REG || o->type == T_PRED || type_bytes(o->type) != 4))
		FAIL_AT(c, st, "%s: a 32-bit register or a number expected", st->od->name);
	return src(c, st, o, T_U32);
}

static void barrier_at(struct comp *c, struct stmt *st, u32 i, struct insn *at)
{
	struct stmt half = *st;

	if (i >= st->nops || st->op[i].kind != O_ADDR)
		FAIL_AT(c, st, "%s: the address of an mbarrier expected", st->od->name);
	memset(at, 0, sizeof(*at));
	if (st->od->x == X_CPASYNC)
		half.mod[MC_SPACE] = st->mod[MC_BULK] == BULK_MBARRIER ? st->mod[MC_SPACE] : SPACE_SHARED;
	else if (st->mod[MC_SPACE] && st->mod[MC_SPACE] != SPACE_SHARED)
		FAIL_AT(c, st, "%s: an mbarrier lies in shared memory", st->od->name);
	lower_address(c, &half, &st->op[i], at);
}

/* The word of a new mbarrier, other than that of the old one, if there was one: see mem.c. */
static u32 made_anew(struct comp *c, struct stmt *st, const struct insn *at, u32 word)
{
	u32 r[4], i;

	for (i = 0; i < 4; i++)
		r[i] = new_reg(c, T_B64);
	word64(c, at, K_LD, r[0])->flags = INF_SYNC;
	emit_lane(c, st, LOP_ADD, T_U64, 1, r[1], r[0], konst(c, 1ull << 61, 1), OPND_NONE);
	emit_lane(c, st, LOP_AND, T_B64, 1, r[2], r[1], konst(c, 3ull << 61, 1), OPND_NONE);
	emit_lane(c, st, LOP_OR, T_B64, 1, r[3], r[2], word, OPND_NONE);
	return r[3];
}

/* Waits: has the phase that the state names ended? */
static void mbar_wait(struct comp *c, struct stmt *st, bool parity)
{
	const struct operand *d = &st->op[0], *s = &st->op[2];
	u32 now = new_reg(c, T_B64), v;
	struct insn at, *in;

	if (st->nops < 3 || d->kind != O_REG || d->type != T_PRED)
		FAIL_AT(c, st, "mbarrier: a wait takes a predicate, an address and a state or parity");
	if (!parity && (s->kind != O_REG || s->type == T_PRED || type_bytes(s->type) != 8))
		FAIL_AT(c, st, "mbarrier: the state must be a 64-bit register");
	if (st->nops > 3 + (st->mod[MC_MBAR] == MBAR_TRY))
		FAIL_AT(c, st, "mbarrier: too many operands");
	barrier_at(c, st, 1, &at);
	v = parity ? count_of(c, st, 2) : s->reg;
	word64(c, &at, K_LD, now)->flags = INF_SYNC;
	in = emit(c, K_GEN);
	in->u.gen = gen_mbar_phase;
	in->lop = OPID_MBARRIER;
	in->o[0] = d->reg;
	in->o[1] = now;
	in->o[2] = v;
	in->def = 1;
	in->use = 6;
	in->dw = 2;
	in->sub = st->mod[MC_MBAR];
	in->sub2 = parity;
	emit(c, K_MEMBAR);
}

static void lower_mbar(struct comp *c, struct stmt *st)
{
	u8 op = st->mod[MC_MBAR], how = st->mod[MC_MBARM];
	u32 d = OPND_NONE, n, old;
	struct insn at, *in;

	if (!op && how == MBARM_EXPECT) {
		barrier_at(c, st, 0, &at);
		n = widen(c, st, count_of(c, st, 1), 32);
		word64(c, &at, K_ATOM, n)->sub = ATOM_MBAR_TX;
		return;
	}
	switch (op) {
	case MBAR_INIT:
		barrier_at(c, st, 0, &at);
		n = widen(c, st, count_of(c, st, 1), 0);
		old = new_reg(c, T_B64);
		emit_lane(c, st, LOP_MUL, T_U64, 1, old, n, konst(c, 1 | 1u << 20, 1), OPND_NONE);
		/* a word of nobody's yet, which the memory checker would complain of: there it begins anew */
		word64(c, &at, K_ST, c->m->e->mc ? old : made_anew(c, st, &at, old));
		return;
	case MBAR_INVAL:                /* as on devices: for sm_80 no instruction at all, and threads that still wait for the last phase go on */
		barrier_at(c, st, 0, &at);
		return;
	case MBAR_COMPLETE:
		barrier_at(c, st, 0, &at);
		n = new_reg(c, T_B32);
		emit_lane(c, st, LOP_NEG, T_S32, 0, n, count_of(c, st, 1), OPND_NONE, OPND_NONE);
		n = widen(c, st, n, 32);
		word64(c, &at, K_ATOM, n)->sub = ATOM_MBAR_TX;
		return;
	case MBAR_ARRIVE:
	case MBAR_DROP:
		barrier_at(c, st, 1, &at);
		if (st->op[0].kind != O_SINK &&
		    (st->op[0].kind != O_REG || st->op[0].type == T_PRED || type_bytes(st->op[0].type) != 8))
			FAIL_AT(c, st, "mbarrier: the state must be a 64-bit register");
		d = dst(&st->op[0]);
		if (how == MBARM_EXPECT) {
			n = new_reg(c, T_B64);
			emit_lane(c, st, LOP_OR, T_U64, 1, n, widen(c, st, count_of(c, st, 2), 32), konst(c, 1, 1), OPND_NONE);
		} else {
			n = st->nops > 2 ? widen(c, st, count_of(c, st, 2), 0) : konst(c, 1, 1);
		}
		emit(c, K_MEMBAR);
		in = word64(c, &at, K_ATOM, n);
		in->sub = op == MBAR_DROP ? ATOM_MBAR_DROP : ATOM_MBAR_ARRIVE;
		in->o[0] = d;
		in->def = d != OPND_NONE;
		return;
	case MBAR_TEST:
	case MBAR_TRY:
		mbar_wait(c, st, how == MBARM_PARITY);
		return;
	case MBAR_PENDING:
		if (st->nops != 2 || st->op[0].kind != O_REG || type_bytes(st->op[0].type) != 4 || st->op[1].kind != O_REG ||
		    type_bytes(st->op[1].type) != 8)
			FAIL_AT(c, st, "mbarrier.pending_count takes a 32-bit result and a state");
		emit_lane(c, st, LOP_XTR, T_U64, 0, st->op[0].reg, st->op[1].reg, konst(c, 0, 0), konst(c, 0xfffff, 0));
		return;
	}
	FAIL_AT(c, st, "mbarrier: an operation is missing");
}

/* ---- cp.async.bulk: a loop of 16 bytes a round; then the barrier learns of the bytes ------------------ */

/* name: a literal, since listings show it for as long as the module is there */
static struct label *here(struct comp *c, const char *name, bool now)
{
	char text[40];
	struct label *l;
	int n = snprintf(text, sizeof(text), "%%%s%u", name, c->nlabels);

	l = label_get(c, text, (u32)n);
	l->text = name;
	l->ntext = (u32)strlen(name);
	l->defined = true;
	if (now)
		l->at = c->ncode;
	return l;
}

static u32 advanced(struct comp *c, struct stmt *st, const struct insn *at, u32 i)
{
	u32 r = new_reg(c, at->aw ? T_B64 : T_B32);

	emit_lane(c, st, LOP_ADD, at->aw ? T_U64 : T_U32, at->aw, r, at->o[4], at->aw ? widen(c, st, i, 0) : i, OPND_NONE);
	return r;
}

static void bulk_round(struct comp *c, struct stmt *st, const struct insn *at, u8 kind, u32 i, const u32 *t)
{
	struct insn *in, from = *at;

	from.o[4] = advanced(c, st, at, i);
	in = word64(c, &from, kind, t[0]);
	in->o[1] = t[1];
	in->vec = 2;
	in->def = kind == K_LD ? 3 : 0;
	in->use = kind == K_LD ? 16 : 19;
}

/* Which reductions there are of what (9.7.9.25.4): halves by pairs */
static bool reduce_known(const struct stmt *st)
{
	enum type t = st->type[0];
	bool half = t == T_F16 || t == T_BF16, group = st->mod[MC_BULK] == BULK_GROUP, word = t == T_U32 || t == T_S32;

	switch (st->mod[MC_ATOM]) {
	case ATOM_ADD: return word || t == T_U64 || (group && ((half && st->mod[MC_NOFTZ]) || t == T_F32 || t == T_F64));
	case ATOM_MIN:
	case ATOM_MAX: return word || (group && (half || t == T_U64 || t == T_S64));
	case ATOM_INC:
	case ATOM_DEC: return t == T_U32;
	case ATOM_AND:
	case ATOM_OR:
	case ATOM_XOR: return t == T_B32 || (group && t == T_B64);
	}
	return false;
}

/* What bulk_round stores, as atomics: each element by itself. */
static void reduce_round(struct comp *c, struct stmt *st, const struct insn *at, u32 i, const u32 *t)
{
	enum type type = st->type[0] == T_F16 ? T_F16X2 : st->type[0] == T_BF16 ? T_BF16X2 : (enum type)st->type[0];
	u32 size = type_bytes(type), n = 16 / size, k, base = advanced(c, st, at, i), r;
	struct insn *in;

	for (k = 0; k < n; k++) {
		r = t[k * size / 8];
		if (size == 4) {
			r = new_reg(c, T_B32);
			emit_lane(c, st, LOP_XTR, T_U64, 0, r, t[k / 2], konst(c, k % 2 * 32, 0), konst(c, ~0u, 0));
		}
		in = word64(c, at, K_ATOM, r);
		in->o[4] = base;
		in->imm += k * size;
		in->size = (u8)size;
		in->type = (u8)type;
		in->dw = size == 8;
		in->sub = st->mod[MC_ATOM];
	}
}

static void tell(struct comp *c, struct stmt *st, u32 i, u32 minus)
{
	struct insn at;

	emit(c, K_MEMBAR);
	barrier_at(c, st, i, &at);
	word64(c, &at, K_ATOM, minus)->sub = ATOM_MBAR_TX;
}

void tell_mbarrier(struct comp *c, struct stmt *st, u32 i, u32 bytes)
{
	u32 neg = new_reg(c, T_B32);

	emit_lane(c, st, LOP_NEG, T_S32, 0, neg, bytes, OPND_NONE, OPND_NONE);
	tell(c, st, i, widen(c, st, neg, 32));
}

/* What is done for each i = 0, step, 2 * step ... below size, by the lanes that guard lets through. */
struct rounds { struct label *end, *more; u32 i, size, below, guard; bool gneg; };

/* guard and gneg are set, and hold for no instruction from here to rounds_end(). */
static void rounds_begin(struct comp *c, struct stmt *st, struct rounds *r, u32 size, const char *round, const char *behind)
{
	u32 zero = konst(c, 0, 0);

	c->guard = OPND_NONE;
	r->size = size;
	/* lanes that are not there have nothing to do */
	if (r->guard != OPND_NONE) {
		r->size = new_reg(c, T_B32);
		emit_lane(c, st, LOP_SELP, T_U32, 0, r->size, r->gneg ? zero : size, r->gneg ? size : zero, r->guard);
	}
	r->i = new_reg(c, T_B32);
	r->below = new_reg(c, T_PRED);
	emit_lane(c, st, LOP_MOV, T_U32, 0, r->i, zero, OPND_NONE, OPND_NONE);
	r->end = here(c, behind, false);
	emit_cmp(c, st, CMP_EQ, T_U32, r->below, r->size, zero, 0, OPND_NONE, false);
	c->guard = r->below;
	c->gneg = false;
	emit(c, K_CBRA)->taken = r->end->id;
	c->guard = OPND_NONE;
	r->more = here(c, round, true);
}

static void rounds_end(struct comp *c, struct stmt *st, struct rounds *r, u32 step)
{
	emit_lane(c, st, LOP_ADD, T_U32, 0, r->i, r->i, konst(c, step, 0), OPND_NONE);
	emit_cmp(c, st, CMP_LT, T_U32, r->below, r->i, r->size, 0, OPND_NONE, false);
	c->guard = r->below;
	emit(c, K_CBRA)->taken = r->more->id;
	r->end->at = c->ncode;
	c->guard = r->guard;
	c->gneg = r->gneg;
}

/*
 * st.bulk: zeros of shared memory, eight bytes a round (PTX ISA, st.bulk). A size of 64 bits counts whole: what no memory has room for
 * is as far beyond as 32 bits go.
 */
static void lower_fill(struct comp *c, struct stmt *st)
{
	const struct operand *n = &st->op[1];
	struct rounds r = { .guard = c->guard, .gneg = c->gneg };
	u32 size, whole, wide;
	struct insn to;

	if (st->nops != 3 || st->op[0].kind != O_ADDR)
		FAIL_AT(c, st, "st.bulk: an address, a size and 0 expected");
	if (n->kind != O_INT && (n->kind != O_REG || n->type == T_PRED || type_is_float(n->type) || type_bytes(n->type) < 4 || type_bytes(n->type) > 8))
		FAIL_AT(c, st, "st.bulk: a size of 64 bits expected");
	if (n->kind == O_INT && n->imm % 8)
		FAIL_AT(c, st, "st.bulk: the size must be a multiple of 8");
	if (st->op[2].kind != O_INT || st->op[2].imm)
		FAIL_AT(c, st, "st.bulk: the value stored must be 0");
	memset(&to, 0, sizeof(to));
	lower_address(c, st, &st->op[0], &to);
	c->guard = OPND_NONE;
	if (n->kind == O_REG && type_bytes(n->type) == 4) {
		size = n->reg;
	} else {
		wide = new_reg(c, T_B64);
		size = new_reg(c, T_B32);
		emit_lane(c, st, LOP_MIN, T_U64, 1, wide, src(c, st, n, T_U64), konst(c, 0xffffffff, 1), OPND_NONE);
		emit_lane(c, st, LOP_XTR, T_U64, 0, size, wide, konst(c, 0, 0), konst(c, ~0u, 0));
	}
	whole = new_reg(c, T_B32);
	emit_lane(c, st, LOP_AND, T_U32, 0, whole, size, konst(c, ~7u, 0), OPND_NONE);
	rounds_begin(c, st, &r, whole, "fill", "filled");
	{
		struct insn at = to;

		at.o[4] = advanced(c, st, &to, r.i);
		word64(c, &at, K_ST, konst(c, 0, 1));
	}
	rounds_end(c, st, &r, 8);
}

bool lower_behind(struct comp *c, struct stmt *st, void (*write)(struct comp *c, struct stmt *st))
{
	u32 bytes = type_bytes(st->type[0]) * (st->mod[MC_VEC] ? st->mod[MC_VEC] : 1);
	struct stmt plain = *st;

	if (!st->mod[MC_CP] && !st->mod[MC_BULK]) {
		if (st->nops > 2)
			FAIL_AT(c, st, "%s: %u operands are too many", st->od->name, st->nops);
		return false;
	}
	if (!st->mod[MC_CP] && st->od->id == OPID_ST && st->mod[MC_BULK] == BULK_COPY) {
		lower_fill(c, st);
		return true;
	}
	if (st->mod[MC_CP] != CP_ASYNC || st->mod[MC_BULK] != BULK_TX || bytes < 4)
		UNSUPPORTED(c, st, "'%s%s' without an mbarrier, or of less than a word, is not supported", st->od->name,
			    st->mod[MC_CP] == CP_ASYNC ? ".async" : st->mod[MC_BULK] == BULK_COPY ? ".bulk" : "");
	if (st->nops != 3)
		UNSUPPORTED(c, st, "'%s.async' without an mbarrier is not supported", st->od->name);
	if (st->mod[MC_SPACE] > SPACE_SHARED || st->mod[MC_SPACE] == SPACE_GLOBAL || (st->od->id == OPID_RED && type_is_float(st->type[0])))
		FAIL_AT(c, st, "%s.async takes an address in .shared::cluster, a value and an mbarrier", st->od->name);
	plain.mod[MC_CP] = plain.mod[MC_BULK] = 0;
	plain.nops = 2;
	write(c, &plain);
	tell(c, st, 2, konst(c, (u64)(0u - bytes) << 32, 1));
	return true;
}

/* The place that an address operand names, in 32 bits of .shared::cluster, or in 64. */
u32 sum_of(struct comp *c, struct stmt *st, const struct insn *at, bool wide)
{
	u32 r = at->o[4], sum = new_reg(c, wide ? T_B64 : T_B32);

	if (wide && !at->aw)
		UNSUPPORTED(c, st, "%s: an address of 32 bits is not supported here", st->od->name);
	if (!wide && at->aw) {
		r = new_reg(c, T_B32);
		emit_lane(c, st, LOP_XTR, T_U64, 0, r, at->o[4], konst(c, 0, 0), konst(c, ~0u, 0));
	}
	emit_lane(c, st, LOP_ADD, wide ? T_U64 : T_U32, wide, sum, r, konst(c, (u64)at->imm, wide), OPND_NONE);
	return sum;
}

/* .multicast::cluster: which blocks a copy goes to, as operand i says */
u32 blocks_of(struct comp *c, struct stmt *st, u32 i)
{
	const struct operand *o = &st->op[i];
	u32 r = new_reg(c, T_B32);

	if (o->kind == O_REG ? o->type == T_PRED || type_is_float(o->type) || type_bytes(o->type) != 2 : o->kind != O_INT)
		FAIL_AT(c, st, "%s: a mask of blocks, of 16 bits, expected", st->od->name);
	emit_lane(c, st, LOP_AND, T_U32, 0, r, src(c, st, o, T_B16), konst(c, 0xffff, 0), OPND_NONE);
	return r;
}

/* The mbarriers of these blocks at the place of operand i learn of the bytes. */
void tell_blocks(struct comp *c, struct stmt *st, u32 i, u32 bytes, u32 blocks)
{
	struct insn at, *in;
	u32 r;

	emit(c, K_MEMBAR);
	barrier_at(c, st, i, &at);
	r = sum_of(c, st, &at, false);
	in = emit(c, K_GEN);
	in->u.gen = gen_multitell;
	in->lop = OPID_CP;
	in->o[1] = r;
	in->o[2] = bytes;
	in->o[3] = blocks;
	in->use = 14;
}

static void multicast(struct comp *c, struct stmt *st, const struct insn *to, const struct insn *from, u32 bytes)
{
	u32 blocks = blocks_of(c, st, 4), g = sum_of(c, st, from, true), s = sum_of(c, st, to, false), w = new_reg(c, T_B64);
	struct insn *in;

	emit_lane(c, st, LOP_PACK, T_U64, 1, w, s, bytes, OPND_NONE);
	in = emit(c, K_GEN);
	in->u.gen = gen_multicast;
	in->lop = OPID_CP;
	in->o[1] = g;
	in->o[2] = w;
	in->o[3] = blocks;
	in->use = 14;
	tell_blocks(c, st, 3, bytes, blocks);
}

static void lower_bulk(struct comp *c, struct stmt *st)
{
	u8 to_space = st->mod[MC_FROM], from_space = st->mod[MC_SPACE], how = st->mod[MC_BULK];
	struct rounds r = { .guard = c->guard, .gneg = c->gneg };
	bool tx = how == BULK_TX, ok;
	struct stmt half = *st;
	u32 size, t[2], k;
	struct insn from, to;

	if (st->mod[MC_PO] ? !reduce_known(st) || (tx && from_space != SPACE_SHARED) : st->ntype || st->mod[MC_ATOM])
		UNSUPPORTED(c, st, "cp%s.async.bulk: this operation on .%s is not supported", st->mod[MC_PO] ? ".reduce" : "",
			    type_name(st->type[0]));
	ok = tx ? to_space == SPACE_SHARED && (from_space == SPACE_GLOBAL || from_space == SPACE_SHARED) :
	     how == BULK_GROUP && to_space == SPACE_GLOBAL && from_space == SPACE_SHARED;
	if (!ok)
		UNSUPPORTED(c, st, "cp.async.bulk between these state spaces is not supported");
	if (st->mod[MC_TO] && (from_space != SPACE_GLOBAL || st->nops != 5))
		FAIL_AT(c, st, "cp.async.bulk.multicast::cluster is from .global, and takes a mask of blocks");
	if (st->nops != (tx ? 4u : 3u) + (st->mod[MC_TO] != 0) || st->op[0].kind != O_ADDR || st->op[1].kind != O_ADDR)
		FAIL_AT(c, st, "cp.async.bulk: two addresses, a size%s expected", tx ? " and an mbarrier" : "");
	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	half.mod[MC_SPACE] = to_space;
	lower_address(c, &half, &st->op[0], &to);
	half.mod[MC_SPACE] = from_space;
	lower_address(c, &half, &st->op[1], &from);
	k = count_of(c, st, 2);
	if (st->mod[MC_TO]) {
		multicast(c, st, &to, &from, k);
		return;
	}
	c->guard = OPND_NONE;
	size = new_reg(c, T_B32);
	emit_lane(c, st, LOP_AND, T_U32, 0, size, k, konst(c, ~15u, 0), OPND_NONE);
	t[0] = new_reg(c, T_B64);
	t[1] = new_reg(c, T_B64);
	rounds_begin(c, st, &r, size, "copy", "copied");
	bulk_round(c, st, &from, K_LD, r.i, t);
	if (st->mod[MC_PO])
		reduce_round(c, st, &to, r.i, t);
	else
		bulk_round(c, st, &to, K_ST, r.i, t);
	rounds_end(c, st, &r, 16);
	if (!tx)
		return;
	tell_mbarrier(c, st, 3, k);
}

/* Without a state space the address is a generic one. */
static void lower_mapa(struct comp *c, struct stmt *st)
{
	enum type t = st->type[0];
	bool map = st->od->id == OPID_MAPA;
	u32 d, a, r = OPND_NONE;
	struct insn *in;

	if (!map && (st->nops != 2 || st->op[0].kind != O_REG || st->op[0].type == T_PRED || type_bytes(st->op[0].type) != 4))
		FAIL_AT(c, st, "getctarank takes a 32-bit result and an address");
	d = dst(&st->op[0]);
	a = src(c, st, &st->op[1], t);
	if (map)
		r = src(c, st, &st->op[2], T_U32);
	if (d == OPND_NONE)
		return;
	in = emit(c, K_GEN);
	in->u.gen = map ? gen_mapa : gen_ctarank;
	in->lop = st->od->id;
	in->o[0] = d;
	in->o[1] = a;
	in->o[2] = r;
	in->def = 1;
	in->use = map ? 6 : 2;
	in->aw = type_w(t);
	in->dw = map ? type_w(t) : 0;
	in->sub = st->mod[MC_SPACE] != SPACE_SHARED;
}

/*
 * May a generic address be one in another block's shared memory? A kernel makes such by mapa; functions are handed them, or give them back. cvta of .shared, which
 * hardware has no other way for than that of .shared::cluster, must know them then: libcu++ converts what map_shared_rank() gives by __cvta_generic_to_shared().
 */
bool far_shared(struct comp *c)
{
	const struct module *m = c->m;
	bool alone = true;
	u32 i;

	if (c->far_known)
		return c->far;
	for (i = 0; i < m->nfuncs; i++)
		alone &= m->funcs[i]->entry || !m->funcs[i]->has_body;
	c->far = m->target >= 90 && (alone ? body_names(c, "mapa.") : memmem(m->text, (size_t)(m->end - m->text), "mapa.", 5) != NULL);
	c->far_known = true;
	return c->far;
}

void lower_async(struct comp *c, struct stmt *st)
{
	if (st->od->x == X_POLICY) {
		lower_policy(c, st);
		return;
	}
	if (st->od->x == X_MBAR) {
		lower_mbar(c, st);
		return;
	}
	if (st->od->x == X_MAPA) {
		lower_mapa(c, st);
		return;
	}
	if (st->mod[MC_PO] ? st->mod[MC_PO] != 2 || (st->mod[MC_BULK] != BULK_GROUP && st->mod[MC_BULK] != BULK_TX) :
	    st->mod[MC_ATOM] || st->mod[MC_NOFTZ])
		UNSUPPORTED(c, st, "'cp' with this operation is not supported");
	if (st->mod[MC_TENSOR]) {
		lower_tmap(c, st);
		return;
	}
	if (st->mod[MC_TMODE] || (st->mod[MC_TO] && st->mod[MC_BULK] != BULK_TX))
		UNSUPPORTED(c, st, "'cp' with this operation is not supported");
	if (st->mod[MC_CP] == CP_ASYNC && st->mod[MC_BULK]) {
		struct insn at;

		if (st->mod[MC_BULK] == BULK_PREFETCH)
			return;
		if (st->mod[MC_BULK] != BULK_MBARRIER) {
			lower_bulk(c, st);
			return;
		}
		/* all copies of the thread are done: without .noinc that is one arrival more and one less */
		if (st->mod[MC_MBAR] != MBAR_ARRIVE || st->nops != 1)
			FAIL_AT(c, st, "cp.async.mbarrier.arrive takes the address of an mbarrier");
		barrier_at(c, st, 0, &at);
		if (st->mod[MC_MBARM] == MBARM_NOINC)
			word64(c, &at, K_ATOM, konst(c, 1, 1))->sub = ATOM_MBAR_ARRIVE;
		return;
	}
	switch (st->mod[MC_CP]) {
	case CP_COMMIT:
	case CP_WAIT_ALL:
		if (st->nops)
			FAIL_AT(c, st, "cp.async: no operands expected");
		return;
	case CP_WAIT:
		if (st->nops != 1 || st->op[0].kind != O_INT)
			FAIL_AT(c, st, "cp.async.wait_group takes a number");
		return;
	case CP_ASYNC:
		lower_cp_async(c, st);
		return;
	default:
		UNSUPPORTED(c, st, "cp without .async is not supported");
	}
}
