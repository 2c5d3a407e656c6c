/* SPDX-License-Identifier: MIT */
/*
 * Places in arrays whose strides the program has as parameters, as CuPy's elementwise kernels address whatever they are given:
 *
 *      mul.lo.s64 %rd3, %stride, %i;           //                      mul.lo.s64 %rd3, %stride, %i;
 *      shl.b64    %rd4, %rd3, 32;              //                      cvt.u32.u64 %r4, %rd3;
 * L:   shr.s64    %rd5, %rd4, 32;              // halves_up()      L:  cvt.s64.s32 %rd5, %r4;
 *      add.s64    %rd6, %data, %rd5;           //      ==>             add.s64     %rd6, %data, %rd5;
 *      ld.global.f64 %fd1, [%rd6];             //                      ld.global.f64 %fd1, [%rd6];
 *      add.s64    %rd4, %rd4, %step;           //                      add.s32     %r4, %r4, %half_of_step;
 *
 * 32 bits of a number that has been brought into the upper half of 64, to be brought down again with their sign, stay where they were.
 *
 * And where what a lane loads lies a parameter times something on (x[i * incx]), that parameter is mostly as much as makes lanes lie side by side, in a row. Code may
 * take that for granted for launches whose parameters are so (SPEC_STRIDES): strides_find() says which parameters, and what they should be.
 *
 * Called by cfg.c before anything has moved. In: instructions as they were emitted. Out: the same, and func.strides.
 */
#include <string.h>

#include "front.h"
#include "jit.h"
#include "lanes.h"

#define ROUNDS 16u

/* ---- halves ---------------------------------------------------------------------------------------- */

struct halves {
	struct comp *c;
	u8 *may;                /* by register: its lower half is 0, and its upper half is all that is asked for */
	u32 *half;              /* that half; 0: none yet */
	u32 n;                  /* registers of these arrays */
	bool changed;
};

static bool is_32(const struct comp *c, u32 o)
{
	const struct konst *k = konst_at(c, o);

	return k && !k->sym && k->bits == 32;
}

static bool is_lane(const struct insn *in, u32 lop) { return in->kind == K_LANE && in->lop == lop && type_bytes(in->type) == 8; }
static bool reg_of(const struct halves *h, u32 o) { return o != OPND_NONE && !(o & OPND_CONST) && o < h->n; }

static void may_not(struct halves *h, u32 o)
{
	if (reg_of(h, o) && h->may[o]) {
		h->may[o] = 0;
		h->changed = true;
	}
}

static void no_def(void *arg, u32 *o, bool is_def)
{
	if (is_def)
		may_not(arg, *o);
}

static void no_use(void *arg, u32 *o, bool is_def)
{
	if (!is_def)
		may_not(arg, *o);
}

/* What one instruction leaves of it. */
static void judge(struct halves *h, struct insn *in)
{
	if (is_lane(in, LOP_SHL) && is_32(h->c, in->o[2])) {
		may_not(h, in->o[1]);
		return;
	}
	if (is_lane(in, LOP_SHR) && is_32(h->c, in->o[2])) {
		may_not(h, in->o[0]);
		return;
	}
	if (is_lane(in, LOP_ADD) || is_lane(in, LOP_SUB) || is_lane(in, LOP_MOV)) {
		u32 n = in->lop == LOP_MOV ? 1 : 2, k;
		bool all = reg_of(h, in->o[0]) && h->may[in->o[0]];

		for (k = 1; k <= n; k++)
			all &= reg_of(h, in->o[k]) && h->may[in->o[k]];
		if (all)
			return;
	}
	each_opnd(in, no_def, h);
	each_opnd(in, no_use, h);
}

static u32 half_of(struct halves *h, u32 v)
{
	if (!h->half[v])
		h->half[v] = new_reg(h->c, T_B32);
	return h->half[v];
}

static void as_lane(struct insn *in, u32 lop, enum type t, u8 dw)
{
	in->lop = (u8)lop;
	in->type = (u8)t;
	in->dw = dw;
	in->u.lane = lane_find(lop, t);
}

static void rewrite(struct halves *h, struct insn *in)
{
	u32 k;

	if (in->kind != K_LANE)
		return;
	if (is_lane(in, LOP_SHR) && reg_of(h, in->o[1]) && h->may[in->o[1]]) {
		as_lane(in, LOP_CVT_SEXT, type_is_signed(in->type) ? T_S64 : T_U64, 1);
		in->o[1] = in->o[2] = in->o[3] = half_of(h, in->o[1]);
		return;
	}
	if (!(in->def & 1) || !reg_of(h, in->o[0]) || !h->may[in->o[0]])
		return;
	if (in->lop == LOP_SHL) {
		as_lane(in, LOP_CVT_TRUNC, T_U64, 0);
		in->o[2] = in->o[3] = in->o[1];
	} else {
		as_lane(in, in->lop, T_U32, 0);
		for (k = 1; k < 4; k++)
			in->o[k] = half_of(h, in->o[k]);
	}
	in->o[0] = half_of(h, in->o[0]);
}

void halves_up(struct comp *c)
{
	struct halves h = { .c = c, .n = c->nregs, .changed = true };
	u32 i, round, shl = 0, shr = 0;

	for (i = 0; i < c->ncode; i++) {
		shl += is_lane(&c->code[i], LOP_SHL) && is_32(c, c->code[i].o[2]);
		shr += is_lane(&c->code[i], LOP_SHR) && is_32(c, c->code[i].o[2]);
	}
	if (!shl || !shr)
		return;
	h.may = cneed(c, pool_alloc(&c->pool, c->nregs + 1));
	h.half = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
	memset(h.half, 0, (c->nregs + 1) * sizeof(u32));
	memset(h.may, 0, c->nregs + 1);
	/* those that are made so at all, and what sums of them come to */
	for (i = 0; i < c->ncode; i++)
		if ((c->code[i].kind == K_LANE) && c->code[i].o[0] < c->nregs && c->regs[c->code[i].o[0]].w == 1)
			h.may[c->code[i].o[0]] = 1;
	for (round = 0; h.changed && round < ROUNDS; round++) {
		h.changed = false;
		for (i = 0; i < c->ncode; i++)
			judge(&h, &c->code[i]);
	}
	for (i = 0; !h.changed && i < c->ncode; i++)
		rewrite(&h, &c->code[i]);
}

/* ---- strides --------------------------------------------------------------------------------------- */

#define CHASED 24u

/* A number, small and known; 0: it is not */
static u32 small(const struct comp *c, u32 o)
{
	const struct konst *k = konst_at(c, o);

	return k && !k->sym && k->bits <= 64 ? (u32)k->bits : 0;
}

/* What register o becomes by that: itself times so much; 0: something else */
static u32 becomes(const struct comp *c, const struct insn *in, u32 o)
{
	if (in->kind == K_CVTA)
		return in->o[1] == o;
	if (in->kind != K_LANE)
		return 0;
	switch (in->lop) {
	case LOP_ADD: case LOP_MOV: case LOP_CVT_SEXT: case LOP_CVT_TRUNC:
		return in->o[1] == o || in->o[2] == o;
	case LOP_MAD:
		return in->o[3] == o;
	case LOP_MADWIDE:
		return in->o[3] == o ? 1 : in->o[1] == o ? small(c, in->o[2]) : 0;
	case LOP_MULWIDE:
		return in->o[1] == o ? small(c, in->o[2]) : 0;
	case LOP_SHL:
		return in->o[1] == o && small(c, in->o[2]) < 6 ? 1u << small(c, in->o[2]) : 0;
	}
	return 0;
}

/* By how much v has to grow from lane to lane for what is accessed at addresses made of it to lie side by side; 0: no such access is found. */
static u32 accessed(const struct comp *c, u32 v)
{
	struct { u32 reg, times; } list[CHASED] = { { v, 1 } };
	u32 n = 1, i, k, at, times, bytes;

	for (at = 0; at < n; at++)
		for (i = 0; i < c->ncode; i++) {
			const struct insn *in = &c->code[i];

			if ((in->kind == K_LD || in->kind == K_ST) && in->o[4] == list[at].reg && (in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC)) {
				bytes = in->size * (in->vec ? in->vec : 1u);
				return bytes % list[at].times ? 0 : bytes / list[at].times;
			}
			times = becomes(c, in, list[at].reg);
			for (k = 0; times && k < n && list[k].reg != in->o[0]; k++)
				;
			if (times && k == n && n < CHASED) {
				list[n].reg = in->o[0];
				list[n++].times = list[at].times * times;
			}
		}
	return 0;
}

void strides_find(struct comp *c)
{
	struct func *fn = c->fn;
	u32 i, k, q, *at;

	fn->nstrides = 0;
	if (!fn->entry)
		return;
	at = cneed(c, pool_alloc(&c->pool, (c->nregs + 1) * sizeof(u32)));
	memset(at, 0, (c->nregs + 1) * sizeof(u32));
	/* the one load of a parameter that makes a register; ~0: there is something else */
	for (i = 0; i < c->ncode; i++)
		for (k = 0; k < 6; k++) {
			const struct insn *in = &c->code[i];

			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				at[in->o[k]] = at[in->o[k]] || in->kind != K_LDPARAM || in->vec != 1 || in->size < 4 || in->size > 8 || in->guard != OPND_NONE ? ~0u : i + 1;
		}
	for (i = 0; i < c->ncode && fn->nstrides < STRIDES; i++) {
		const struct insn *in = &c->code[i];

		if (in->kind != K_LANE || (in->lop != LOP_MUL && in->lop != LOP_MAD) || type_is_float(in->type))
			continue;
		for (k = 1; k < 3; k++) {
			u32 o = in->o[k], from = o & OPND_CONST ? 0 : at[o], bytes;

			if (!from || from == ~0u)
				continue;
			for (q = 0; q < fn->nstrides && fn->strides[q].off != (u32)c->code[from - 1].imm; q++)
				;
			bytes = q == fn->nstrides ? accessed(c, in->o[0]) : 0;
			if (bytes && fn->nstrides < STRIDES)
				fn->strides[fn->nstrides++] = (struct stride){ (u32)c->code[from - 1].imm, bytes, c->code[from - 1].size };
		}
	}
}

u32 strides_of(const struct func *fn, const void *args)
{
	u32 spec = 0, q;
	u64 v;

	for (q = 0; args && q < fn->nstrides; q++) {
		v = 0;
		memcpy(&v, (const char *)args + fn->strides[q].off, fn->strides[q].size);
		if (v == fn->strides[q].bytes)
			spec |= SPEC_STRIDES << q;
	}
	return spec;
}

bool strides_known(const struct func *fn, u32 spec, const struct insn *in, u64 *v)
{
	u32 q;

	for (q = 0; in->kind == K_LDPARAM && in->vec == 1 && q < fn->nstrides; q++)
		if (fn->strides[q].off == (u32)in->imm && fn->strides[q].size == in->size && (spec & SPEC_STRIDES << q)) {
			*v = fn->strides[q].bytes;
			return true;
		}
	return false;
}
