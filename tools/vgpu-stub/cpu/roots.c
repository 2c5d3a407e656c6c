/* SPDX-License-Identifier: MIT */
/*
 * From which parameters a kernel's pointers come. Called by cfg.c when calls are resolved and before anything has moved.
 *
 *      ld.param.u64 %rd1, [in];  ...  add.s64 %rd3, %rd1, %rd2;  ld.global.u32 %r1, [%rd3];            // from in
 *      ld.param.u64 %rd4, [bins]; ...  add.s64 %rd6, %rd4, %rd5;  red.global.add.u32 [%rd6], 1;        // from bins
 *
 * If the kernel does nothing to the memory of bins but to add to it, and nobody is to see a sum before the grid has ended, then sums may come there late,
 * and each worker may keep its own till then (tally.c). So: which reductions are of one kind, without an order to anything else; and from which parameters
 * come the pointers of all other accesses of global memory. Whether these lead to the same memory is asked at each launch, when the parameters are known; a
 * pointer that has come from there leads to the same allocation, or it is not the program's to use.
 *
 * A register's root is what is common to all that is written to it, wherever in the code: pointers are moved, chosen and added to, and of a product or a
 * shift nobody makes one. What has 64 bits and is read from memory may be a pointer of which nothing is known, whatever is added to it.
 */
#include <string.h>

#include "front.h"
#include "gen.h"
#include "tally.h"

enum { ROOT_NONE, ROOT_ELSE, ROOT_SEVERAL, ROOT_PARAM };        /* a number; no allocation: variables, shared and local memory; not one; + the parameter's offset */
#define ROUNDS 8u               /* a chain of definitions against the order of the text: loops in loops */

struct roots {
	struct comp *c;
	u32 *of;                /* by register */
	u8 *read;               /* by register: somebody reads it */
	bool more;
};

static u32 both(u32 a, u32 b) { return !a || a == b ? b : b ? ROOT_SEVERAL : a; }

static u32 root_of(const struct roots *r, u32 o)
{
	const struct konst *k;

	if (o == OPND_NONE)
		return ROOT_NONE;
	if (!(o & OPND_CONST))
		return r->of[o];
	k = konst_at(r->c, o);
	return k && k->sym ? ROOT_ELSE : ROOT_NONE;
}

static void written(struct roots *r, u32 o, u32 root)
{
	u32 to = both(r->of[o], root);

	r->more |= to != r->of[o];
	r->of[o] = to;
}

/* What becomes of pointers there. */
static u32 result(const struct roots *r, const struct insn *in)
{
	u32 root = ROOT_NONE, k;

	switch ((enum kind)in->kind) {
	case K_LDPARAM:
		return in->size < 8 ? ROOT_NONE : in->vec == 1 ? ROOT_PARAM + (u32)in->imm : ROOT_SEVERAL;
	case K_LD: case K_ATOM:
		return in->size >= 8 ? ROOT_SEVERAL : ROOT_NONE;
	case K_SREG: case K_SETP: case K_PRED: case K_ISSPACEP: case K_VOTE: case K_ACTIVEMASK:
		return ROOT_NONE;
	case K_LADDR:
		return ROOT_ELSE;
	case K_CVTA:
		return in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC ? root_of(r, in->o[1]) : ROOT_ELSE;
	case K_LANE:
		switch (in->lop) {
		case LOP_MUL: case LOP_MULHI: case LOP_MULWIDE: case LOP_SHL: case LOP_SHR: case LOP_DIV: case LOP_REM:
			return ROOT_NONE;
		case LOP_MAD: case LOP_MADWIDE:
			return root_of(r, in->o[3]);
		}
		break;
	default:
		break;
	}
	for (k = 0; k < 6; k++)
		if (in->use >> k & 1)
			root = both(root, root_of(r, in->o[k]));
	return root;
}

static void spread(struct roots *r)
{
	const struct comp *c = r->c;
	u32 round, i, k;

	for (round = 0, r->more = true; r->more && round < ROUNDS; round++) {
		r->more = false;
		for (i = 0; i < c->ncode; i++) {
			const struct insn *in = &c->code[i];
			u32 root = in->def ? result(r, in) : ROOT_NONE;

			for (k = 0; k < 6 && root; k++)
				if (in->def >> k & 1)
					written(r, in->o[k], root);
		}
	}
}

/* Does it more than to compute, and to read and write? */
static bool plain(const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE: case K_SETP: case K_PRED: case K_SREG: case K_LADDR: case K_LOP3: case K_CVT: case K_CVTA: case K_ISSPACEP:
	case K_LD: case K_LDPARAM: case K_ST: case K_ATOM: case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_ACTIVEMASK: case K_WARPSYNC:
	case K_TENSOR: case K_BAR: case K_LATER: case K_JMP: case K_CBRA: case K_BRX: case K_RET: case K_EXIT: case K_TRAP: case K_NOP:
		return true;
	case K_GEN:
		return in->u.gen == gen_cvt || in->u.gen == gen_cvt_pack || in->u.gen == gen_cvt_small || in->u.gen == gen_video || in->u.gen == gen_product ||
		       in->u.gen == gen_sparse;
	default:
		return false;
	}
}

static bool is_access(const struct insn *in) { return in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM; }
static bool far(const struct insn *in) { return in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC; }

/* 0 is what leaves words as they are, so that a table of sums begins with it. */
static bool from_zero(const struct insn *in)
{
	bool whole = !type_is_float(in->type);

	if (in->size != 4 && in->size != 8)
		return false;
	switch (in->sub) {
	case ATOM_ADD: return whole || in->type == T_F32 || in->type == T_F64;
	case ATOM_OR: case ATOM_XOR: return true;
	case ATOM_MAX: return whole && !type_is_signed(in->type);
	}
	return false;
}

/* A reduction by itself: lower_atom.c has marked those that order nothing, and are not for the host to see. */
static bool may_be_kept(const struct roots *r, const struct insn *in)
{
	return in->kind == K_ATOM && in->sub2 == ATOM_KEPT && far(in) && from_zero(in) && in->aw && root_of(r, in->o[4]) >= ROOT_PARAM &&
	       (in->o[0] == OPND_NONE || !r->read[in->o[0]]);
}

static bool same_kind(const struct tally_plan *p, const struct insn *in)
{
	return !p->nreds || (p->op == in->sub && p->size == in->size && type_is_float(p->type) == type_is_float(in->type));
}

/* offs[*n] = the parameter, unless it is there; false: there are too many, or they lie too far. */
static bool put(u16 *offs, u8 *n, u32 most, u32 root)
{
	u32 at = root - ROOT_PARAM, i;

	for (i = 0; i < *n; i++)
		if (offs[i] == at)
			return true;
	if (*n == most || at > UINT16_MAX)
		return false;
	offs[(*n)++] = (u16)at;
	return true;
}

/* False: nothing may be kept. */
static bool plan(const struct roots *r, struct tally_plan *p)
{
	struct comp *c = r->c;
	u32 i;

	for (i = 0; i < c->ncode; i++) {
		struct insn *in = &c->code[i];
		u32 root = is_access(in) && far(in) ? root_of(r, in->o[4]) : ROOT_ELSE;

		/* others are told something: a fence orders what was kept as well */
		if (!plain(in) || (is_access(in) && in->space != SPACE_SHARED && (in->flags & (INF_SYNC | INF_ORDER))))
			return false;
		if (may_be_kept(r, in) && same_kind(p, in) && put(p->red, &p->nreds, TALLY_REDS, root)) {
			p->op = in->sub;
			p->type = in->type;
			p->size = in->size;
			continue;
		}
		if (in->kind == K_ATOM)
			in->sub2 = 0;
		if (root == ROOT_ELSE || (in->kind != K_ATOM && in->o[4] != OPND_NONE && (in->o[4] & OPND_CONST)))
			continue;
		if (root < ROOT_PARAM || !put(p->other, &p->nothers, TALLY_OTHERS, root))
			return false;
	}
	return p->nreds != 0;
}

void tally_find(struct comp *c)
{
	struct roots r = { .c = c };
	struct tally_plan p = { .nreds = 0 };
	u32 i, k, reds = 0;

	for (i = 0; i < c->ncode; i++)
		reds += c->code[i].kind == K_ATOM && c->code[i].sub2 == ATOM_KEPT;
	if (!reds)
		return;
	if (c->fn->entry && !c->fn->calls && !c->fn->launches) {
		r.of = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
		r.read = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
		for (i = 0; i < c->ncode; i++)
			for (k = 0; k < 6; k++) {
				u32 o = c->code[i].o[k];

				if ((c->code[i].use >> k & 1) && o != OPND_NONE && !(o & OPND_CONST))
					r.read[o] = 1;
			}
		spread(&r);
		if (!r.more && plan(&r, &p)) {
			c->fn->tally = p;
			return;
		}
	}
	for (i = 0; i < c->ncode; i++)
		if (c->code[i].kind == K_ATOM)
			c->code[i].sub2 = 0;
}

/* ---- who reads what the kernel writes ------------------------------------------------------------ */

#define POINTERS 16u

/* Does it only load and store, as what jit_src.c asks of? */
static bool loads_and_stores(const struct comp *c)
{
	bool loads = false, stores = false;
	u32 i;

	for (i = 0; i < c->ncode; i++)
		switch ((enum kind)c->code[i].kind) {
		case K_BAR: case K_WARPSYNC: case K_ATOM: case K_CALL: case K_TENSOR:
			return false;
		case K_LD:
			loads |= far(&c->code[i]);
			break;
		case K_ST:
			stores |= far(&c->code[i]);
			break;
		default:
			break;
		}
	return loads && stores;
}

/* True: what it stores to comes from other parameters than what it loads from. */
static bool apart(const struct roots *r)
{
	u32 to[POINTERS], n = 0, i, k, pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < r->c->ncode; i++) {
			const struct insn *in = &r->c->code[i];
			u32 root;

			if (!is_access(in) || !far(in) || (in->kind == K_ST) == pass)
				continue;
			root = root_of(r, in->o[4]);
			if (root < ROOT_PARAM && root != ROOT_ELSE)
				return false;
			for (k = 0; k < n && to[k] != root; k++)
				;
			if (pass && k < n)
				return false;
			if (pass || k < n)
				continue;
			if (n == POINTERS)
				return false;
			to[n++] = root;
		}
	return true;
}

void roots_find(struct comp *c)
{
	struct roots r = { .c = c };

	if (!c->fn->entry || c->fn->launches || !loads_and_stores(c))
		return;
	r.of = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
	spread(&r);
	c->fn->one_way = !r.more && apart(&r);
}
