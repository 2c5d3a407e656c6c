/* SPDX-License-Identifier: MIT */
/*
 * Runs JIT code for the interpreter: enters it with a group of lanes, executes single instructions for
 * it, and writes live values back into the frame when it leaves.
 *
 * On entry the frame is read: a uniform register must be the same in all lanes of the group, a pattern
 * must be one. If not (lanes of several loop iterations have met), the interpreter runs on. Across a
 * barrier that a whole warp reaches, values stay in P ("held").
 */
#include <immintrin.h>         /* _mm_setcsr */
#include <string.h>

#include "jit.h"
#include "lanes.h"
#include "strip/strip.h"

/* jit.uneven: what blocks that turns have parted add to it, and from where on there are no more; each other block takes 1 off */
#define PARTED 8u
#define UNEVEN 64u

typedef u64 jit_code(void *p, struct frame *f, struct tstate *ts, const char *pool, const u8 *at);

/* What does not change while the grid runs, nor from block to block. */
void jit_fit(struct engine *e, struct warp *w)
{
	struct jprivate *p = (struct jprivate *)w->jp;
	struct cta *c = w->cta;
	struct grid *g = c->g;
	const struct engine_env *env = &e->env;
	u32 i, t = w->index * LANES;

	if (c->jit->strip) {
		strip_fit(e, w);
		return;
	}
	p->span_lo = env->span_base + JIT_BELOW;
	p->span_lim = env->span_bytes > JIT_SLACK + JIT_BELOW ? env->span_bytes - JIT_SLACK - JIT_BELOW : 0;
	memset(p->wait, 0, sizeof(p->wait));
	memset(p->other, 0, sizeof(p->other));
	for (i = 0; i < 5; i++)
		p->lims[i] = (p->span_lim - (1u << i)) >> i;
	p->one = g->nwarps == 1;
	p->shared = c->shared;
	p->shared_total = g->shared_total;
	p->pwin = g->pwin;
	p->local = c->local + (u64)t * g->local_stride;
	for (i = 0; i < 3; i++) {
		p->dim[i] = g->dim[i];
		p->tid[i] = g->tid[i][t];
		p->tidv[i] = (u64)&g->tid[i][t];
	}
}

/* One instruction for the lanes e. */
static void interpret(struct tstate *ts, const struct jit *j, char *p, struct frame *f, u32 pc, u32 e)
{
	const struct insn *in = &f->fn->code[pc], *v = &f->fn->jsrc->code[pc];
	u32 k;

	for (k = 0; k < 6; k++)
		if (v->o[k] != OPND_NONE && !(v->o[k] & OPND_CONST) && (v->use >> k & 1))
			jit_spill_one(j, p, f, v->o[k], e);
	if (v->guard != OPND_NONE) {
		u32 g;

		if (!(v->guard & OPND_CONST))
			jit_spill_one(j, p, f, v->guard, e);
		g = *(u32 *)opnd(f, in->guard);
		e &= in->gneg ? ~g : g;
	}
	if (!e)
		return;
	ts->in = in;
	ts->held = j;
	ts->held_mask = e;
	exec_one(ts, f, in, e);
	ts->held = NULL;
	for (k = 0; k < 6; k++)
		if ((v->def >> k & 1) && v->o[k] != OPND_NONE)
			jit_fill_def(j, p, f, v->o[k], e);
}

static void step(struct tstate *ts, const struct jit *j, char *p, struct frame *f, const struct jexit *x)
{
	u32 e = ((struct jprivate *)p)->m, i;

	for (i = 0; i < x->nbefore; i++)
		interpret(ts, j, p, f, x->pc - x->before[i], e);
	interpret(ts, j, p, f, x->pc, e);
	for (i = 0; i < x->nmore; i++)
		interpret(ts, j, p, f, x->pc + x->more[i], e);
}

static void walk(struct tstate *ts, const struct jit *j, char *p, struct frame *f, const struct jexit *x)
{
	u32 i;

	for (i = 0; i < x->nwalk; i++)
		interpret(ts, j, p, f, j->lives[x->walk + i], ((struct jprivate *)p)->m);
}

/* Values that stayed in P across a barrier go where the interpreter looks for them. */
void jit_drop(struct warp *w)
{
	struct frame *f = &w->main;
	const struct jit *j = f->jit;
	const struct jentry *e = &j->entries[j->entry_at[w->jheld] - 1];

	jit_spill(j, w->jp, f, e->live, e->nlive, w->jheld_mask);
	w->jheld = 0;
}

bool jit_barrier(const struct insn *in)
{
	return in->kind == K_BAR && in->sub == BAR_SYNC && in->guard == OPND_NONE && (in->o[1] & OPND_CONST) &&
	       (in->o[2] == OPND_NONE || (in->o[2] & OPND_CONST));
}

/*
 * Is the barrier complete when each warp has come to it once, so that nobody needs to keep account? With a count that does not
 * go into the warps there are, some wait for ever, and the interpreter says so; as it does of a number that no barrier has.
 */
bool jit_meets(const struct cta *c, const struct insn *in)
{
	u32 id = *(const u32 *)opnd(&c->warps[0].main, in->o[1]);
	u32 count = in->o[2] == OPND_NONE ? 0 : *(const u32 *)opnd(&c->warps[0].main, in->o[2]);

	return id < CTA_BARRIERS && (!count || !(c->nwarps * LANES % count));
}

static bool can_hold(const struct frame *f, u32 pc, u32 m)
{
	return m == f->lanes && jit_barrier(&f->fn->jsrc->code[pc]);
}

/*
 * Warp *pw from entry n on, to an exit that is not a single instruction. P is filled. If it leaves by exit `expect`, the
 * next one goes on, up to `more` of them, which are then all there are behind it; *pw is the warp that came out. whole: those before it
 * left so, too, or it is the first; code may have passed barriers meanwhile (ts->phases), and started further blocks (ts->row: how many
 * it has not).
 */
static const struct jexit *go(struct tstate *ts, const struct jit *j, struct warp **pw, u32 n, u32 more, u32 expect, bool whole)
{
	struct warp *w = *pw;
	const struct jexit *x;
	u32 mode = j->mxcsr == ~0u ? j->mxcsr_home : j->mxcsr;

	((struct jprivate *)w->jp)->m = w->main.mask;
	ts->chain = (s32)more;
	ts->chain_exit = expect;
	ts->phases = 0;
	ts->whole = whole;
	ts->turns = whole && w->cta->nwarps > 1 && j->turns && __atomic_load_n(&j->uneven, __ATOMIC_RELAXED) < UNEVEN;
	ts->chain_at = j->code + j->entries[n - 1].code;
	for (;;) {
		if (j->mxcsr && ts->mxcsr != mode) {
			ts->mxcsr = mode;
			_mm_setcsr(mode);
		}
		ts->jit = j;
		x = &j->exits[((jit_code *)j->code)(w->jp, &w->main, ts, w->main.base[1], j->code + j->entries[n - 1].code)];
		ts->jit = NULL;
		if (j->mxcsr == ~0u)
			ts->mxcsr = 0;
		if (ts->chain < 0)
			ts->chain = 0;
		if (ts->row < 0)
			ts->row = 0;
		if (ts->chain_exit != NO_PC)
			w = &w->cta->warps[w->cta->nwarps - 1 - (u32)ts->chain];
		*pw = w;
		if (x->kind != JX_STEP && x->kind != JX_WALK)
			return x;
		ts->w = w;
		ts->f = &w->main;
		if (x->kind == JX_WALK) {
			walk(ts, j, w->jp, &w->main, x);
			return x;
		}
		step(ts, j, w->jp, &w->main, x);
		n = x->resume;
	}
}

/* Lanes that waited in a region's code wait for the interpreter now, at pc. */
static void settle_lanes(struct frame *f, const struct jit *j, const char *p, u32 *lanes, u32 pc, u32 live, u32 n)
{
	u32 m = *lanes, l;

	if (!m)
		return;
	*lanes = 0;
	jit_spill(j, p, f, live, n, m);
	f->waiting |= m;
	for (l = m; l; l &= l - 1)
		f->lane_pc[__builtin_ctz(l)] = pc;
	f->next_wait = pc < f->next_wait ? pc : f->next_wait;
}

/* Lanes go apart here, or some that did wait for the others: that the code of a region would do, and here the interpreter does. */
static void count_parted(struct cta *c, const struct jit *j, const struct jexit *x, s64 budget)
{
	bool jump = x->kind == JX_JUMP && budget >= 0, part = x->kind == JX_LEAVE && j->fn->jsrc->code[x->pc].kind == K_CBRA;

	if (part)
		__atomic_fetch_or(&j->fn->jsrc->parted[x->pc], PARTED_LANES, __ATOMIC_RELAXED);
	if (!(jump | part) || ++c->parted < c->nwarps)
		return;
	c->parted = 0;
	jit_part(c, j);
}

/* What the interpreter is to do at exit x. */
static int left(const struct tstate *ts, struct warp *w, struct frame *f, const struct jit *j, const struct jexit *x)
{
	struct jprivate *p = (struct jprivate *)w->jp;
	u32 m = p->m, i;
	u64 b;

	count_parted(w->cta, j, x, ts->budget);
	f->mask = m;
	f->pc = x->kind == JX_WALK ? x->to : x->pc;
	switch (x->kind) {
	case JX_DONE:
		return JR_DONE;
	case JX_LEAVE:
		if (jit_widens(&f->fn->jsrc->code[x->pc]))
			jit_wraps(w->cta->g, j, x->pc);
		if (can_hold(f, x->pc, m)) {
			w->jheld = x->pc + 1;
			w->jheld_mask = m;
			return JR_AT;
		}
		break;
	case JX_QUIT:
		f->jit = NULL;
		/* guesses that are wrong that often are not made again */
		if (__atomic_add_fetch(&((struct jit *)j)->quits, 1, __ATOMIC_RELAXED) == 16)
			f->fn->jsrc->noguess = true;
		break;
	}
	jit_spill(j, w->jp, f, x->live, x->nlive, m);
	for (b = x->rin; b; b &= b - 1) {
		const struct jregion *r = &j->regions[__builtin_ctzll(b)];
		u32 *wait = &p->wait[__builtin_ctzll(b)], *other = &p->other[__builtin_ctzll(b)];

		/* a loop without end must not keep them for ever */
		if (x->kind == JX_JUMP && x->to <= x->pc && (*wait | *other))
			f->spin += JIT_SPIN / 8;
		settle_lanes(f, j, w->jp, wait, r->join, r->live_join, r->njoin);
		/* the innermost region's, which nobody outside of it reads, first; those who run have theirs in the frame by now */
		for (i = 0; *other && i < r->nsaved; i++)
			memcpy(w->jp + j->regs[j->lives[r->saved + i]].home, w->jp + r->save_at + 8 * i, j->regs[j->lives[r->saved + i]].w ? 8 : 4);
		if (r->second != NO_PC)
			settle_lanes(f, j, w->jp, other, r->second, r->live_second, r->nsecond);
	}
	w->jto = x->to;
	return x->kind == JX_JUMP || x->kind == JX_TURN ? JR_JUMP : JR_AT;
}

/* Runs the lanes f->mask from f->pc on, while there is code for it. */
int jit_run(struct tstate *ts, struct warp *w, struct frame *f)
{
	const struct jit *j = f->jit;
	u32 m = f->mask, n = j->entry_at[f->pc], i;
	const struct jentry *e = &j->entries[n - 1];

	/* they have met */
	if (!f->waiting && !w->depth)
		f->spin = 0;
	if (j->strip)
		return strip_run(ts, w, f);
	if (w->jheld)
		w->jheld = 0;           /* warp_run has seen that it is this one */
	else
		for (i = 0; i < e->nlive; i++)
			if (!jit_fill(j, w->jp, f, j->lives[e->live + i], m) && !jit_fill_any(j, w->jp, f, j->lives[e->live + i], m))
				return JR_REFUSED;
	return left(ts, w, f, j, go(ts, j, &w, n, 0, NO_PC, false));
}

static void end_warp(struct cta *c, struct warp *w)
{
	w->live = w->main.lanes = w->main.mask = 0;
	c->done_warps++;
}

/* What the interpreter is to do with a warp that came out by exit x. */
static void apart(struct tstate *ts, struct cta *c, struct warp *w, const struct jit *j, const struct jexit *x)
{
	struct frame *f = &w->main;

	ts->w = w;
	ts->f = f;
	if (x->kind == JX_DONE && ((struct jprivate *)w->jp)->m == f->lanes)
		end_warp(c, w);
	else
		w->jresume = (u8)left(ts, w, f, j, x);      /* those at a barrier arrive at it in the ordinary way */
}

/* A block whose warps have come to their end together. What two workers' counts lose of one another does not matter. */
static void even(const struct jit *code)
{
	struct jit *j = (struct jit *)(uintptr_t)code;
	u32 k = __atomic_load_n(&j->uneven, __ATOMIC_RELAXED);

	if (k && k < UNEVEN)
		__atomic_store_n(&j->uneven, k - 1, __ATOMIC_RELAXED);
}

/*
 * A block from entry n on, where all of its warps stand: all of them up to the same exit, the end or a barrier, and again from
 * there, as long as all of them do the same. Nobody keeps account of such a barrier. RUN_DONE: the block has ended,
 * with nothing written into its warps; else every one of them stands where the interpreter goes on. *phases: how many
 * barriers they came to together. more: as in jit_block.
 */
static enum run in_step(struct tstate *ts, struct cta *c, u32 n, s64 *left_over, u32 *more, u32 *phases)
{
	const struct jit *j = c->jit;
	u32 i, k, may = *more;

	*more = *phases = 0;
	ts->block_f = &c->warps[0].main;
	ts->block_p = c->warps[0].jp;
	ts->block_chain = (s32)c->nwarps - 1;
	ts->block_entry = n;
	ts->block_at = j->code + j->entries[n - 1].code;
	ts->phase_budget = (s64)c->nwarps << 14;
	for (;;) {
		u32 expect = NO_PC, way = NO_PC;        /* way: that all took so far */
		const struct jexit *x = NULL;
		struct warp *w = NULL;

		ts->w = c->warps;
		ts->f = &c->warps[0].main;
		ts->budget = (s64)c->nwarps << 14;
		if (ts->budget > *left_over)
			ts->budget = *left_over;
		*left_over -= ts->budget + 16;
		ts->block_budget = ts->budget;
		ts->left = *left_over;
		ts->row = (s32)may;
		ts->entry = n;
		for (i = 0; i < c->nwarps; i++) {
			w = &c->warps[i];
			x = go(ts, j, &w, n, c->nwarps - 1 - i, expect, true);
			k = (u32)(w - c->warps);
			if ((u32)ts->row != may || ts->phases) {     /* blocks before it have ended, or it is behind a barrier */
				*more += may - (u32)ts->row;
				may = (u32)ts->row;
				*phases += ts->phases;
				ts->phases = 0;
				n = ts->entry;
				way = NO_PC;
				i = 0;
			}
			expect = ts->chain_exit;
			if (k > i)
				way = expect;
			i = k;
			k = (u32)(x - j->exits);
			if ((way != NO_PC && way != k) || ((struct jprivate *)w->jp)->m != w->main.lanes ||
			    (x->kind != JX_DONE && !(x->kind == JX_LEAVE && jit_barrier(&j->fn->jsrc->code[x->pc]) &&
						     jit_meets(c, &j->fn->jsrc->code[x->pc]))))
				break;
			way = expect = k;
		}
		*left_over = ts->left + (ts->budget > 0 ? ts->budget : 0);
		if (i == c->nwarps) {
			if (j->exits[way].kind == JX_DONE) {
				even(j);
				return RUN_DONE;
			}
			++*phases;
			if (*left_over > 0) {
				n = j->entry_at[j->exits[way].pc + 1];
				continue;
			}
		}
		if (way != NO_PC && j->exits[way].kind == JX_TURN && x->kind != JX_TURN)
			__atomic_add_fetch(&((struct jit *)(uintptr_t)j)->uneven, PARTED, __ATOMIC_RELAXED);
		/* they part here: those before warp i took way, those behind it have not run */
		for (k = 0; k < i; k++)
			apart(ts, c, &c->warps[k], j, &j->exits[way]);
		if (i < c->nwarps)
			apart(ts, c, w, j, x);
		for (k = i + 1; k < c->nwarps; k++) {
			w = &c->warps[k];
			ts->w = w;
			ts->f = &w->main;
			ts->budget = *left_over < 1 << 14 ? *left_over : 1 << 14;
			*left_over -= ts->budget + 16;
			x = go(ts, j, &w, n, 0, NO_PC, false);
			*left_over += ts->budget > 0 ? ts->budget : 0;
			apart(ts, c, w, j, x);
		}
		return c->done_warps == c->nwarps ? RUN_DONE : RUN_BUDGET;
	}
}

/*
 * A block from its first instruction. It may have up to *more followed in its row, if all its warps go one way:
 * *more becomes how many, and what is said of the block is true of the last one.
 */
enum run jit_block(struct tstate *ts, struct cta *c, s64 *left_over, u32 *more)
{
	const struct jit *j = c->jit;
	u32 n = j->entry_at[0], phases;
	enum run r;

	if (j->strip)
		return strip_block(ts, c, left_over, more);
	if (!n) {
		*more = 0;
		return RUN_BUDGET;
	}
	ts->blocks++;
	r = in_step(ts, c, n, left_over, more, &phases);
	c->pristine = r == RUN_DONE && c->done_warps != c->nwarps;
	return r;
}

#define ASTRAY 8u

/* Every warp of the block goes on at the same place with all of its lanes, and no barrier has been come to. */
static bool abreast(const struct cta *c, const struct jit *j)
{
	u32 pc = c->warps[0].main.pc, i, k, used = 0;

	for (i = 0; i < c->nwarps; i++) {
		const struct warp *w = &c->warps[i];
		const struct frame *f = &w->main;

		if (!w->live || w->top != f || f->jit != j || f->pc != pc || f->mask != f->lanes || w->jresume || f->boost ||
		    (f->waiting | f->parked | f->barred))
			return false;
	}
	for (k = 0; k < ALL_BARRIERS; k++)
		for (i = 0; i < c->nwarps; i++)
			used |= c->bar[k].arrived[i];
	return !used;
}

/*
 * A barrier has let the block go on. If all of it stands in step again, it goes on as in jit_block: a budget that ended, or one
 * way that some warps went by themselves, costs as much as up to here, not the rest of the block. False: it does not.
 */
bool jit_again(struct tstate *ts, struct cta *c, s64 *left_over, enum run *r)
{
	const struct jit *j = c->jit;
	u32 pc = c->warps[0].main.pc, n = j->entry_at[pc], i, k, phases, more = 0;
	const struct jentry *e = &j->entries[n - 1];

	if (c->astray >= ASTRAY || !abreast(c, j))
		return false;
	if (j->strip)
		return strip_again(ts, c, left_over, r);
	if (!n)
		return false;
	for (i = 0; i < c->nwarps; i++) {
		struct warp *w = &c->warps[i];

		if (w->jheld == pc && w->jheld_mask == w->main.mask)
			continue;
		if (w->jheld)
			jit_drop(w);
		for (k = 0; k < e->nlive; k++)
			if (!jit_fill(j, w->jp, &w->main, j->lives[e->live + k], w->main.mask) &&
			    !jit_fill_any(j, w->jp, &w->main, j->lives[e->live + k], w->main.mask))
				return false;
	}
	for (i = 0; i < c->nwarps; i++)
		c->warps[i].jheld = 0;
	*r = in_step(ts, c, n, left_over, &more, &phases);
	c->astray = phases || *r == RUN_DONE ? 0 : (u8)(c->astray + 1);
	return true;
}

/* A fault inside code: where the instruction's exit is, NULL: not an access of ours. Async-signal-safe. */
const u8 *jit_fault(const struct jit *j, const u8 *ip)
{
	u32 lo = 0, hi = j->nsites, at = (u32)(ip - j->code);

	if (ip < j->code || ip >= j->code + j->bytes)
		return NULL;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (j->sites[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == j->nsites || j->sites[lo].at != at)
		return NULL;
	return j->code + j->stubs[j->sites[lo].exit];
}
