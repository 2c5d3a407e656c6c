/* SPDX-License-Identifier: MIT */
/*
 * Activations of a warp that go on by themselves. A call is made by the lanes that come to it, and the others of the warp wait for
 * it at their places: lanes meet again behind it. Where those in the call wait for those outside (a barrier that these have yet
 * to come to, a lock that they hold, a word that they write), that would be for ever. So an activation that is blocked, or whose
 * turns end one behind the other, is set aside, and another one of the warp goes on: its caller's other lanes, those that
 * have returned among them, or one that was set aside before.
 *
 *            main ── waiting lanes           The activations are a tree by .up. w->top runs, all other leaves are in
 *             ├─ f ── g      <- w->top       w->aside by .next. A caller knows the one callee that its .pc and .mask
 *             └─ f'          <- w->aside     stand for (.callee); a callee that is apart knows its call itself (.call_pc).
 *
 * A caller counts those that are apart (.napart) and the lanes that they have (.away). Called by interp.c, block.c and cluster.c.
 */
#include "cpu.h"
#include "jit.h"

/* Lanes that called c, or had no call to make, and do not run in it (any more). */
static u32 back_from(const struct warp *w, const struct frame *f, const struct frame *c)
{
	return f->mask & ~c->lanes & w->live;
}

/* The lanes m of c, an activation that is apart, are in its caller again, behind the call. */
void apart_back(struct warp *w, struct frame *c, u32 m)
{
	struct frame *f = c->up;

	call_results(w, c, m & c->entered);
	c->entered &= ~m;
	f->away &= ~m;
	f->waiting |= m;
	for (; m; m &= m - 1)
		f->lane_pc[__builtin_ctz(m)] = c->call_pc + 1;
	f->next_wait = 0;       /* running lanes notice them at their next jump */
}

/* What f has called goes on by itself. */
static void part(struct warp *w, struct frame *f)
{
	struct frame *c = f->callee;

	c->apart = true;
	c->call_pc = f->pc;
	f->callee = NULL;
	f->napart++;
	f->away |= f->mask & c->lanes;
	apart_back(w, c, back_from(w, f, c));
	f->mask = 0;
}

static bool can_run(const struct warp *w, const struct frame *f)
{
	if (f->waiting)
		return true;
	if (f->callee)
		return back_from(w, f, f->callee) != 0;
	return !f->napart && (!f->lanes || f->parked);
}

/* Who of the activations from f upwards can run and has not for longest, best among them. */
static struct frame *oldest(const struct warp *w, struct frame *f, struct frame *best)
{
	for (; f; f = f->up)
		if (f != w->top && can_run(w, f) && (!best || f->ran < best->ran))
			best = f;
	return best;
}

static struct frame *other(const struct warp *w)
{
	struct frame *t, *best = oldest(w, w->top, NULL);

	for (t = w->aside; t; t = t->next)
		best = oldest(w, t, best);
	return best;
}

bool apart_can(const struct warp *w)
{
	return w->depth && other(w);
}

/* g becomes the activation that runs, whatever top was about to do. */
static void enter(struct warp *w, struct frame *g)
{
	struct frame *f = w->top, **p;
	u32 m;

	if (w->jheld)
		jit_drop(w);
	for (m = f->mask, f->waiting |= m; m; m &= m - 1)
		f->lane_pc[__builtin_ctz(m)] = f->pc;
	f->mask = f->boost = 0;
	f->next_wait = 0;
	f->ran = ++w->turns;
	if (g->callee)
		part(w, g);
	for (p = &w->aside; *p && *p != g; p = &(*p)->next)
		;
	if (*p)
		*p = g->next;
	if (!f->napart) {
		f->next = w->aside;
		w->aside = f;
	}
	w->top = g;
}

/* Another activation of the warp has a turn; false: there is none that could. */
bool apart_turn(struct warp *w)
{
	struct frame *g = w->depth ? other(w) : NULL;

	if (g)
		enter(w, g);
	return g;
}

/*
 * Leaves the top activation, which is apart and has no lanes left. What else its caller has called goes on first: lanes meet
 * behind the call again.
 */
void apart_leave(struct warp *w)
{
	struct frame *g = w->top, *f = g->up, *t, *x, *best = NULL;

	if (f->callee)
		part(w, f);
	f->napart--;
	w->top = f;
	for (t = w->aside; t; t = t->next) {
		for (x = t; x && x != f; x = x->up)
			;
		for (g = t; x && g != f; g = g->up)
			if (can_run(w, g) && (!best || g->ran < best->ran))
				best = g;
	}
	if (best)
		enter(w, best);
}

/* Where in f a lane is that waits there, or in what it has called. */
u32 apart_pc(const struct warp *w, const struct frame *f, u32 lane)
{
	const struct frame *t, *x;

	for (t = w->top; t; t = apart_next(w, t))
		for (x = t; x; x = x->up)
			if (x->up == f && x->apart && x->lanes >> lane & 1)
				return x->call_pc;
	return f->lane_pc[lane];
}

/* Does a loop lead from at to pc once more, with another one in it, behind pc, that waits for others? Who is at `at` may have been kept there, and is a round behind. */
bool apart_spins(const struct func *fn, u32 at, u32 pc)
{
	bool spins = false;
	u32 i;

	for (i = pc + 1; i < fn->ncode; i++) {
		const struct insn *in = &fn->code[i];

		if (in->kind != K_JMP && in->kind != K_CBRA)
			continue;
		spins |= (in->flags & INF_SPIN) && in->taken > pc && in->taken <= i;
		if (spins && i >= at && in->taken <= pc)
			return true;
	}
	return false;
}

/* Lanes leave an activation; exit also leaves the kernel. Who waits for them there looks again. */
void lanes_gone(struct frame *f, u32 m)
{
	u32 w = f->parked;

	f->lanes &= ~m;
	f->waiting |= w;
	f->parked = 0;
	for (; w; w &= w - 1)
		if (f->lane_pc[__builtin_ctz(w)] < f->next_wait)
			f->next_wait = f->lane_pc[__builtin_ctz(w)];
}

void exit_lanes(struct warp *w, u32 m)
{
	struct frame *t, *f;

	w->live &= ~m;
	for (t = w->top; t; t = apart_next(w, t))
		for (f = t; f; f = f->up) {
			lanes_gone(f, m);
			f->mask &= ~m;
			f->away &= ~m;
		}
}

/* Nobody in the block can run: lanes that wait for others of their warp are not met by them. */
bool apart_wake(struct cta *c)
{
	bool any = false;
	u32 i;

	for (i = 0; i < c->nwarps; i++) {
		struct warp *w = &c->warps[i];
		struct frame *t, *f;

		for (t = w->top; w->live && t; t = apart_next(w, t))
			for (f = t; f; f = f->up) {
				any |= f->away && f->parked;
				f->waiting |= f->away ? f->parked : 0;
				f->parked &= f->away ? 0 : ~0u;
			}
	}
	return any;
}
