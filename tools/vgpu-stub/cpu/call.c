/* SPDX-License-Identifier: MIT */
/*
 * Calls: an activation of its own per call, for the lanes that make it. Parameters are copied
 * between the local frames lane by lane, as the .param ABI wants it; registers by blending.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "jit.h"
#include "lanes.h"

#define CALL_BYTES 16           /* of a thread's stack that a call counts as, whether it has a frame there or not: its registers are memory, too */

static char *lane_local(const struct warp *w, u32 lane, u32 off)
{
	return (char *)(w->cta->local + (u64)(w->index * LANES + lane) * w->cta->g->local_stride + off);
}

static struct frame *frame_get(struct warp *w, u32 bytes)
{
	struct frame *f, **p;

	for (p = &w->spare; (f = *p); p = &f->up)
		if (f->bytes >= bytes) {
			*p = f->up;
			return f;
		}
	f = aligned_alloc(64, (sizeof(*f) + bytes + 127) & ~(size_t)63);
	if (f)
		f->bytes = bytes;
	return f;
}

static void copy_reg(struct frame *to, u32 d, struct frame *from, u32 s, u8 w, u32 m)
{
	const struct lane_table *lt = lanes_get();
	u32 *pd;

	if (w == 2) {
		pd = opnd(to, d);
		*pd = (*pd & ~m) | (*(u32 *)opnd(from, s) & m);
	} else if (w) {
		lt->blend64(opnd(to, d), opnd(from, s), m);
	} else {
		lt->blend32(opnd(to, d), opnd(from, s), m);
	}
}

static struct func *indirect_target(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *p = opnd(f, in->o[0]);
	u32 lane = interp_garbage & 1 ? 31 - (u32)__builtin_clz(m) : (u32)__builtin_ctz(m);     /* whose goes first is open */
	struct engine *e = ts->e;
	struct func *fn = NULL;
	u64 id = p[lane] & 0xffffffffu;

	if (p[lane] >> 32 == 0x00f00000u && id)
		fn = func_get(e, (u32)id);
	if (!fn || fn->entry || !func_is_ready(fn))
		fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, (int)lane, p[lane], "call of no function");
	return fn;
}

/*
 * Enters a call with the lanes of m; the caller's pc and mask are saved in its frame. An indirect
 * call takes the lanes of one target at a time: the rest find the same instruction again.
 */
bool call_enter(struct tstate *ts, struct warp *w, const struct insn *in, u32 m)
{
	const struct callinfo *ci = in->u.call;
	struct frame *f = w->top, *g;
	struct func *fn = ci->fn;
	u32 i, k, l, loff = f->loff + f->fn->local_bytes + (interp_garbage & 0xf0);     /* somewhere else, where tests ask */

	if (!fn) {
		const u64 *p = opnd(f, in->o[0]);
		u32 same = 0;

		fn = indirect_target(ts, f, in, m);
		for (k = m; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			if (p[l] == fn->unique_ptr)
				same |= 1u << l;
		}
		if (same != m) {        /* the other targets wait at this very call */
			u32 rest = m & ~same;

			f->waiting |= rest;
			f->mask &= ~rest;
			for (k = rest; k; k &= k - 1)
				f->lane_pc[__builtin_ctz(k)] = f->pc;
			f->next_wait = f->pc < f->next_wait ? f->pc : f->next_wait;
			m = same;
		}
		if (fn->nparams != ci->nargs || fn->nrets != ci->nrets)
			fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, __builtin_ctz(m), fn->unique_ptr,
				    "call through a pointer of another type");
	} else if (!func_is_ready(fn)) {
		/* one that calls its caller, which was reached by a pointer: it did not compile, the caller did */
		fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, __builtin_ctz(m), fn->unique_ptr, "call of a function that does not compile");
	}
	if (w->depth >= (w->cta->g->fn->stack ? w->cta->g->fn->stack : STACK_BYTES) / CALL_BYTES || loff + fn->local_bytes > w->cta->g->local_stride)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, __builtin_ctz(m), 0, "call: stack overflow");
	g = frame_get(w, fn->frame_bytes);
	if (!g)
		fault_raise(VGPU_ST_OUT_OF_MEMORY, __builtin_ctz(m), 0, "call: out of memory");
	frame_start(g, fn, (char *)g + ((sizeof(*g) + 63) & ~(size_t)63), m);
	if (ts->e->dbg)         /* as block.c does for a block */
		memset(g->base[0], 0, fn->frame_bytes);
	g->loff = loff;
	for (k = interp_garbage ? m : 0; k; k &= k - 1)
		memset(lane_local(w, (u32)__builtin_ctz(k), loff), (int)interp_garbage, fn->local_bytes);
	g->up = f;
	g->ran = w->turns;
	f->callee = g;
	for (i = 0; i < ci->nargs; i++) {
		const struct arg *a = &ci->args[i];
		const struct fparam *p = &fn->params[i];

		if (a->is_reg != p->is_reg)
			fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, __builtin_ctz(m), fn->unique_ptr,
				    "call through a pointer of another type");
		if (a->is_reg) {
			copy_reg(g, fn->parg[i], f, a->opnd, a->w, m);
			continue;
		}
		for (k = m; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			memcpy(lane_local(w, l, loff + p->off), lane_local(w, l, f->loff + a->off),
			       p->bytes < a->bytes ? p->bytes : a->bytes);
		}
	}
	w->top = g;
	w->depth++;
	return true;
}

/*
 * Lanes of m return from the top activation: what is in registers goes to the caller now. Others may go on here, and write
 * whole registers, as the lanes that have gone are none of theirs.
 */
void call_return(struct warp *w, u32 m)
{
	struct frame *g = w->top, *f = g->up;
	const struct callinfo *ci = f->fn->code[g->apart ? g->call_pc : f->pc].u.call;
	u32 i;

	for (i = 0; i < ci->nrets; i++)
		if (ci->rets[i].is_reg)
			copy_reg(f, ci->rets[i].opnd, g, g->fn->pret[i], ci->rets[i].w, m);
	if (g->apart)
		apart_back(w, g, m);
}

/* Results in memory of the lanes m go to the caller of g. */
void call_results(struct warp *w, struct frame *g, u32 m)
{
	struct frame *f = g->up;
	const struct callinfo *ci = f->fn->code[g->apart ? g->call_pc : f->pc].u.call;
	u32 i, k, l;

	for (i = 0; i < ci->nrets; i++) {
		const struct arg *a = &ci->rets[i];
		const struct fparam *p = &g->fn->rets[i];

		if (a->is_reg)
			continue;
		for (k = m; k; k &= k - 1) {
			l = (u32)__builtin_ctz(k);
			memcpy(lane_local(w, l, f->loff + a->off), lane_local(w, l, g->loff + p->off),
			       p->bytes < a->bytes ? p->bytes : a->bytes);
		}
	}
}

/* The top activation has no lanes left: results in memory go back, the caller continues behind the call. */
void call_leave(struct warp *w)
{
	struct frame *g = w->top, *f = g->up;

	if (g->apart) {
		apart_leave(w);
	} else {
		call_results(w, g, g->entered & w->live);
		f->callee = NULL;
		f->mask &= w->live;
		f->pc++;
		w->top = f;
		/* those that call another function from here come first: lanes meet behind the call */
		if (f->next_wait < f->pc) {
			frame_wait(f, f->mask, f->pc);
			f->mask = 0;
		}
	}
	w->depth--;
	g->up = w->spare;
	w->spare = g;
}
