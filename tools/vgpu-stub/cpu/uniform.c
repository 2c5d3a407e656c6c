/* SPDX-License-Identifier: MIT */
/*
 * Values that are the same for every warp of a grid (parameters, block and grid sizes, lane
 * numbers, and what is computed from these alone) are computed once a launch, not once a warp.
 *
 * cfg.c calls uniform_hoist before it builds blocks: an unguarded instruction without side effects
 * whose operands are constants and whose results no other instruction writes moves to the
 * prologue; its results live in the constant pool, of which every grid then has a copy. One that only
 * moves a constant leaves it there for good. What is read from the parameters at an address that becomes known so is a parameter's load as by
 * name. A comparison moves where its operands are the same in all lanes: its answer is then all
 * lanes' or none's, and branches and guards read it from the pool. rt.c calls uniform_run for each grid. A register that is read before it is written is undefined in PTX, so
 * that a single writer may always run early; only entries have prologues.
 */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"
#include "lanes.h"

#define MAX_POOL (256u << 10)   /* bytes that a launch copies at most */

static bool same_in_grid(u8 sr)
{
	switch (sr) {
	case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z:
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z: case SR_NCLUSTERID_X: case SR_NCLUSTERID_Y: case SR_NCLUSTERID_Z:
	case SR_CLUSTER_NCTAID_X: case SR_CLUSTER_NCTAID_Y: case SR_CLUSTER_NCTAID_Z: case SR_CLUSTER_NCTARANK: case SR_CLUSTER_EXPLICIT:
	case SR_LANEID: case SR_LANEMASK_EQ: case SR_LANEMASK_LE: case SR_LANEMASK_LT:
	case SR_LANEMASK_GE: case SR_LANEMASK_GT:
	case SR_NWARPID: case SR_DYNAMIC_SMEM: case SR_TOTAL_SMEM: case SR_COUNT:
	case SR_RESERVED_BEGIN: case SR_RESERVED_1: case SR_RESERVED_END: case SR_RESERVED_CAP:
		return true;
	}
	return false;
}

/* What lanes have, each its own: places of the pool by 128 bytes. Others hold one value for all. */
static bool *differs_at(bool *differs, u32 o) { return o != OPND_NONE && (o & ~OPND_CONST) < MAX_POOL ? &differs[(o & ~OPND_CONST) / 128] : NULL; }

static bool lanes_differ(bool *differs, const struct insn *in)
{
	u32 i;

	if (in->kind == K_SREG)
		return in->sub == SR_LANEID || (in->sub >= SR_LANEMASK_EQ && in->sub <= SR_LANEMASK_GT);
	for (i = 0; i < 6; i++)
		if ((in->use >> i & 1) && differs_at(differs, in->o[i]) && *differs_at(differs, in->o[i]))
			return true;
	return false;
}

static bool can_move(const struct insn *in, const u8 *defs)
{
	u32 i;

	if (in->guard != OPND_NONE || (in->dw == 2 && in->kind != K_SETP && in->kind != K_PRED))
		return false;
	switch (in->kind) {
	case K_LANE:
	case K_LDPARAM:
	case K_SETP:
	case K_PRED:
		break;
	case K_SREG:
		if (!same_in_grid(in->sub))
			return false;
		break;
	case K_CVTA:
		if (in->space != SPACE_PARAM)
			return false;
		break;
	default:
		return false;
	}
	for (i = 0; i < 6; i++) {
		if (in->o[i] == OPND_NONE)
			continue;
		if ((in->use >> i & 1) && !(in->o[i] & OPND_CONST))
			return false;
		if ((in->def >> i & 1) && defs[in->o[i]] != 1)
			return false;
	}
	return true;
}

static void count_def(u8 *defs, u32 r)
{
	if (r != OPND_NONE && defs[r] < 2)
		defs[r]++;
}

static void rename_use(const u32 *to, u32 *o)
{
	if (!(*o & OPND_CONST) && *o != OPND_NONE && to[*o])
		*o = to[*o];
}

/* Gives the results of in their places in the pool. False: the pool is full. */
static bool place(struct comp *c, struct insn *in, u32 *to, bool *differs)
{
	bool each = lanes_differ(differs, in);
	u32 i, bytes = in->dw == 1 ? LANES * 8 : LANES * 4;

	if (c->cpool_bytes + (u32)__builtin_popcount(in->def) * bytes > MAX_POOL)
		return false;
	for (i = 0; i < 6; i++) {
		if (!(in->def >> i & 1) || in->o[i] == OPND_NONE)
			continue;
		c->unames = cneed(c, xgrow(c->unames, &c->unames_cap, c->nunames + 1, sizeof(*c->unames)));
		*differs_at(differs, c->cpool_bytes) = each;
		c->unames[c->nunames][0] = OPND_CONST | c->cpool_bytes;
		c->unames[c->nunames++][1] = in->o[i];
		to[in->o[i]] = OPND_CONST | c->cpool_bytes;
		in->o[i] = to[in->o[i]];
		c->cpool_bytes += bytes;
	}
	return true;
}

static const struct konst *wide(const struct comp *c, u32 o)
{
	const struct konst *k = konst_at(c, o);

	return k && k->w == 1 ? k : NULL;
}

/* A register that only ever holds one constant: its place in the pool, which place() has made, holds it before any launch. */
static bool constant(struct comp *c, const struct insn *in, u32 from)
{
	const struct konst *of;
	struct konst k;

	if (in->kind != K_LANE || in->lop != LOP_MOV || in->type != (in->dw ? T_U64 : T_U32))
		return false;
	of = konst_at(c, from);
	if (!of || of->w != in->dw)
		return false;
	k = *of;
	k.off = in->o[0] & ~OPND_CONST;
	c->k = cneed(c, xgrow(c->k, &c->k_cap, c->nk + 1, sizeof(*c->k)));
	c->k[c->nk++] = k;
	return true;
}

/* Which byte of the parameters a place holds the address of, by 128 bytes of the pool; or NO_PARAM. */
#define NO_PARAM INT64_MIN

static s64 param_byte(const s64 *byte, u32 o)
{
	return o != OPND_NONE && (o & OPND_CONST) && (o & ~OPND_CONST) < MAX_POOL ? byte[(o & ~OPND_CONST) / 128] : NO_PARAM;
}

/* What an instruction that has its place makes known of it. */
static void param_follow(const struct comp *c, const struct insn *in, s64 *byte)
{
	const struct konst *k = NULL;
	s64 at = NO_PARAM;

	if (in->kind == K_CVTA && !in->sub) {
		k = wide(c, in->o[1]);
		at = 0;
	} else if (in->kind == K_LANE && in->lop == LOP_ADD && in->type == T_U64) {
		at = param_byte(byte, in->o[1]);
		k = wide(c, at == NO_PARAM ? in->o[1] : in->o[2]);
		at = at == NO_PARAM ? param_byte(byte, in->o[2]) : at;
	}
	if (k && !k->sym && at != NO_PARAM && (in->o[0] & ~OPND_CONST) < MAX_POOL)
		byte[(in->o[0] & ~OPND_CONST) / 128] = (s64)((u64)at + k->bits);
}

static void param_load(const struct comp *c, struct insn *in, const s64 *byte)
{
	s64 at;

	if (in->kind != K_LD || !in->aw || in->space == SPACE_SHARED || in->space == SPACE_LOCAL || (in->flags & (INF_VOLATILE | INF_SYNC)))
		return;
	at = param_byte(byte, in->o[4]);
	if (in->space == SPACE_PARAM) {         /* the address is the byte's number itself */
		const struct konst *k = wide(c, in->o[4]);

		at = k && !k->sym ? (s64)k->bits : NO_PARAM;
	}
	if (at == NO_PARAM || __builtin_add_overflow(at, in->imm, &at) || at < 0 || at & (in->size * in->vec - 1) ||
	    (u64)at + (u64)in->size * in->vec > c->fn->param_bytes)
		return;
	in->kind = K_LDPARAM;
	in->space = SPACE_PARAM;
	in->imm = at;
	in->use = 0;
	in->o[4] = OPND_NONE;
}

/*
 * What is still read from the parameters by an address in a register (an array among them, say, by the block's number) is a load from memory,
 * of which every engine has more ways than of these: where the parameters are is added. Their number; 0, too, where the pool is full.
 */
static u32 param_rest(struct comp *c, const u32 *moved, u32 *window)
{
	struct insn in = { .kind = K_CVTA, .guard = OPND_NONE, .dw = 1, .def = 1, .use = 2, .space = SPACE_PARAM };
	u32 i, n = 0;

	for (i = 0; i < c->ncode; i++)
		n += !moved[i] && c->code[i].kind == K_LD && c->code[i].space == SPACE_PARAM && c->code[i].aw;
	if (!n || c->cpool_bytes + 2 * LANES * 8 > MAX_POOL)
		return 0;
	for (i = 2; i < 6; i++)
		in.o[i] = OPND_NONE;
	in.o[1] = konst(c, 0, 1);
	in.o[0] = *window = OPND_CONST | c->cpool_bytes;
	c->cpool_bytes += LANES * 8;
	c->fn->pro[c->fn->npro++] = in;
	c->unames = cneed(c, xgrow(c->unames, &c->unames_cap, c->nunames + 1, sizeof(*c->unames)));
	c->unames[c->nunames][0] = *window;
	c->unames[c->nunames++][1] = new_reg(c, T_B64);
	return n;
}

static struct insn param_sum(struct comp *c, struct insn *load, u32 window)
{
	struct insn in = { .kind = K_LANE, .guard = OPND_NONE, .lop = LOP_ADD, .dw = 1, .type = T_U64, .def = 1, .use = 14, .line = load->line };

	in.u.lane = lane_find(LOP_ADD, T_U64);
	in.o[0] = new_reg(c, T_B64);
	in.o[1] = in.o[3] = load->o[4];
	in.o[2] = window;
	in.o[4] = in.o[5] = OPND_NONE;
	load->o[4] = in.o[0];
	load->space = SPACE_GLOBAL;
	return in;
}

void uniform_hoist(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i, k, n, round, *to, *at, rest, window = OPND_NONE;
	s64 *byte;
	bool *differs, more = true, full = false;
	u8 *defs;

	if (!fn->entry || !c->ncode)
		return;
	defs = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
	to = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(*to)));
	at = cneed(c, pool_alloc(&c->pool, (c->ncode + 1) * sizeof(*at)));
	differs = cneed(c, pool_alloc(&c->pool, MAX_POOL / 128 * sizeof(*differs)));
	byte = cneed(c, pool_alloc(&c->pool, MAX_POOL / 128 * sizeof(*byte)));
	for (i = 0; i < MAX_POOL / 128; i++)
		byte[i] = NO_PARAM;
	for (i = 0; i < c->ncode; i++) {
		const struct insn *in = &c->code[i];

		for (k = 0; k < 6; k++)
			if (in->def >> k & 1)
				count_def(defs, in->o[k]);
		if (in->kind == K_CALL)
			for (k = 0; k < in->u.call->nrets; k++)
				if (in->u.call->rets[k].is_reg)
					count_def(defs, in->u.call->rets[k].opnd);
	}
	fn->pro = cneed(c, calloc(c->ncode + 1, sizeof(*fn->pro)));
	/* when no more may move, a round is still to be finished, and behind one that moved some another: all uses get their new names */
	for (round = 0; more; round++) {
		more = false;
		fn->work += c->ncode;
		for (i = 0; i < c->ncode; i++) {
			struct insn *in = &c->code[i];

			for (k = 0; k < 6; k++)
				if (in->use >> k & 1)
					rename_use(to, &in->o[k]);
			rename_use(to, &in->guard);
			param_load(c, in, byte);
			if (at[i] || full || round == HOIST_ROUNDS || !can_move(in, defs) || (in->dw == 2 && lanes_differ(differs, in)))
				continue;
			if (!place(c, in, to, differs)) {
				full = true;
				continue;
			}
			param_follow(c, in, byte);
			if (!constant(c, in, in->o[1]))
				fn->pro[fn->npro++] = *in;
			at[i] = 1;
			more = true;
		}
	}
	/* what stays closes up; with loads that need their sums first, behind it */
	rest = param_rest(c, at, &window);
	c->code = cneed(c, xgrow(c->code, &c->code_cap, c->ncode + rest, sizeof(*c->code)));
	memmove(c->code + rest, c->code, c->ncode * sizeof(*c->code));
	for (i = n = 0; i < c->ncode; i++) {
		struct insn *in = &c->code[i + rest];

		if (in->kind == K_CALL)
			for (k = 0; k < in->u.call->nargs; k++)
				if (in->u.call->args[k].is_reg)
					rename_use(to, &in->u.call->args[k].opnd);
		k = n;
		if (!at[i] && rest && in->kind == K_LD && in->space == SPACE_PARAM && in->aw)
			c->code[n++] = param_sum(c, in, window);
		if (!at[i])
			c->code[n++] = *in;
		at[i] = k;
	}
	at[c->ncode] = n;
	c->ncode = n;
	for (i = 0; i < c->nlabels; i++)
		if (!c->labels[i]->alias)
			c->labels[i]->at = at[c->labels[i]->at];
}

/* All lanes' or none's: as a word of bits, and as a word a lane, which is what strips read. */
static void fill_pred(u32 *p)
{
	u32 l;

	for (l = 1; l < LANES; l++)
		p[l] = p[0];
}

/* An address within the parameters, as one of memory, or back. */
static void cvta_param(u64 *to, const u64 *from, u64 add)
{
	u32 l;

	for (l = 0; l < LANES; l++)
		to[l] = from[l] + add;
}

/* Fills the grid's pool; its parameters and sizes are set. False: no memory. */
bool uniform_run(struct engine *e, struct grid *g)
{
	struct func *fn = g->fn;
	u64 id = pool_id(fn);
	struct tstate ts;
	struct frame f;
	struct warp w;
	struct cta c;
	u32 i;

	if (!fn->npro)
		return true;
	if (fn->cpool_bytes > g->pool_bytes) {
		g->pool_fn = 0;
		free(g->pool);
		g->pool_bytes = (fn->cpool_bytes + 4095) & ~4095u;
		g->pool = aligned_alloc(64, g->pool_bytes);
		if (!g->pool) {
			g->pool_bytes = 0;
			return false;
		}
	}
	if (g->pool_fn != id)           /* ids hardly ever come back (cpu.h) */
		memcpy(g->pool, fn->cpool, fn->cpool_bytes);
	g->pool_fn = id;
	/* a warp with all lanes, as far as these instructions look at it */
	memset(&f, 0, sizeof(f));
	f.fn = fn;
	f.base[0] = f.base[1] = g->pool;
	f.lanes = ~0u;
	c.g = g;
	c.linear = 0;
	memset(c.id, 0, sizeof(c.id));
	memset(c.at, 0, sizeof(c.at));
	c.rank = 0;
	w.cta = &c;
	w.index = 0;
	ts.e = e;
	ts.w = &w;
	ts.f = &f;
	for (i = 0; i < fn->npro; i++) {
		const struct insn *in = &fn->pro[i];

		if (in->kind == K_LDPARAM) {
			mem_ldparam(&ts, in, ~0u);
		} else if (in->kind == K_SREG) {
			lane_sreg(&ts, &f, in, ~0u);
		} else if (in->kind == K_CVTA) {
			cvta_param(opnd(&f, in->o[0]), opnd(&f, in->o[1]), in->sub ? 0 - g->pwin : g->pwin);
		} else if (in->kind == K_SETP || in->kind == K_PRED) {
			_mm_setcsr(in->mxcsr ? in->mxcsr : 0x1f80);
			(in->kind == K_SETP ? lane_setp : lane_pred)(&f, in, ~0u);
			fill_pred(opnd(&f, in->o[0]));
			if (in->kind == K_SETP && in->o[1] != OPND_NONE)
				fill_pred(opnd(&f, in->o[1]));
		} else {
			_mm_setcsr(in->mxcsr ? in->mxcsr : 0x1f80);
			in->u.lane(opnd(&f, in->o[0]), opnd(&f, in->o[1]), opnd(&f, in->o[2]), opnd(&f, in->o[3]));
		}
	}
	_mm_setcsr(0x1f80);
	return true;
}
