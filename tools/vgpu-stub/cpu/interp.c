/* SPDX-License-Identifier: MIT */
/*
 * The interpreter: runs one warp until it ends, blocks at a barrier, or has used its budget.
 *
 * Divergence: every activation keeps the lanes that wait with a pc each; the running lanes are
 * those of the lowest pc. Blocks are laid out so that a lower pc is an earlier place (cfg.c), so
 * the hindmost lanes run until they catch up with the others. A check at every jump is enough,
 * since lanes wait only at targets of jumps. A spin loop would starve lanes that wait behind it:
 * after many back edges the others get a turn (boost).
 */
#include <immintrin.h>
#include <string.h>
#include <time.h>

#include "cpu.h"
#include "devrt.h"
#include "debug.h"
#include "jit.h"
#include "lanes.h"
#include "memcheck.h"
#include "race.h"
#include "verify.h"
#include "optrace.h"

#define BOOST_JUMPS 64          /* jumps that turn lasts */
#define SLICES_APART 16         /* turns of a warp that has called something before another of its activations gets one */

u32 interp_garbage;

void frame_start(struct frame *f, struct func *fn, char *regs, u32 lanes)
{
	if (__builtin_expect(interp_garbage != 0, 0))
		memset(regs, (int)interp_garbage, fn->frame_bytes);
	f->fn = fn;
	f->base[0] = regs;
	f->base[1] = fn->cpool;
	f->lanes = f->entered = f->mask = lanes;
	f->waiting = f->parked = f->barred = 0;
	f->next_wait = NO_PC;
	f->pc = 0;
	f->loff = 0;
	f->spin = f->boost = f->boost_pc = f->spin_pc = 0;
	f->turn = f->apart = f->outside = false;
	f->jit = NULL;
	f->callee = NULL;
	f->away = f->napart = 0;
	f->ran = 0;
}

/* The waiting lanes of the lowest pc become the running ones (mask 0 if there are none). */
void frame_resched(struct frame *f)
{
	u32 w = f->waiting, m = 0, min = NO_PC, next = NO_PC, l, pc;

	while (w) {
		l = (u32)__builtin_ctz(w);
		w &= w - 1;
		pc = f->lane_pc[l];
		if (pc < min) {
			next = min;
			min = pc;
			m = 1u << l;
		} else if (pc == min) {
			m |= 1u << l;
		} else if (pc < next) {
			next = pc;
		}
	}
	f->mask = m;
	f->waiting &= ~m;
	f->pc = min;
	f->next_wait = next;
	f->turn = false;
}

void frame_wait(struct frame *f, u32 m, u32 pc)
{
	f->waiting |= m;
	while (m) {
		f->lane_pc[__builtin_ctz(m)] = pc;
		m &= m - 1;
	}
}

/* No lanes run: those that wait at the next place behind the last that had a turn do, without looking for others to meet. */
void frame_turn(struct frame *f)
{
	u32 best = NO_PC, first = NO_PC, w, l, p;

	for (w = f->waiting; w; w &= w - 1) {
		p = f->lane_pc[__builtin_ctz(w)];
		if (p > f->boost_pc && p < best)
			best = p;
		if (p < first)
			first = p;
	}
	if (best == NO_PC)
		best = first;
	f->mask = 0;
	for (w = f->waiting; w; w &= w - 1) {
		l = (u32)__builtin_ctz(w);
		if (f->lane_pc[l] == best)
			f->mask |= 1u << l;
	}
	f->waiting &= ~f->mask;
	f->pc = f->boost_pc = best;
	f->next_wait = NO_PC;
	f->spin = 0;
	f->turn = true;
}

/* Lanes that wait behind a spin loop run on for a while, the next group each time. */
static void boost(struct frame *f, u32 m, u32 pc)
{
	frame_wait(f, m, pc);
	frame_turn(f);
	f->boost = BOOST_JUMPS;
}

/* The lanes go on behind what they waited at. */
static void step_over(struct frame *f, u32 m)
{
	f->waiting |= m;
	for (; m; m &= m - 1)
		f->lane_pc[__builtin_ctz(m)]++;
}

static void blend(const struct lane_table *lt, u8 dw, void *d, const void *s, u32 m)
{
	if (dw)
		lt->blend64(d, s, m);
	else
		lt->blend32(d, s, m);
}

static inline void set_pred(struct frame *f, u32 o, u32 v, u32 m)
{
	u32 *d = opnd(f, o);

	*d = (*d & ~m) | (v & m);
}

void lane_setp(struct frame *f, const struct insn *in, u32 m)
{
	u32 v = in->u.mask(opnd(f, in->o[2]), opnd(f, in->o[3])), q = ~v, r;

	if (in->sub) {
		r = *(u32 *)opnd(f, in->o[4]);
		if (in->flags & INF_CNEG)
			r = ~r;
		v = in->sub == BOOL_AND ? v & r : in->sub == BOOL_OR ? v | r : v ^ r;
		q = in->sub == BOOL_AND ? q & r : in->sub == BOOL_OR ? q | r : q ^ r;
	}
	set_pred(f, in->o[0], v, m);
	if (in->o[1] != OPND_NONE)
		set_pred(f, in->o[1], q, m);
}

void lane_pred(struct frame *f, const struct insn *in, u32 m)
{
	u32 a = *(u32 *)opnd(f, in->o[1]), b = *(u32 *)opnd(f, in->o[2]);

	if (in->flags & INF_CNEG)
		a = ~a;
	if (in->flags & INF_BNEG)
		b = ~b;
	switch (in->sub) {
	case PRED_NOT: a = ~a; break;
	case PRED_AND: a &= b; break;
	case PRED_OR: a |= b; break;
	case PRED_XOR: a ^= b; break;
	}
	set_pred(f, in->o[0], a, m);
}

static void do_cvta(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	struct warp *w = ts->w;
	u64 base, step = 0, *d = opnd(f, in->o[0]), tmp[LANES];
	const u64 *a = opnd(f, in->o[1]);
	u32 l;

	if (in->space == SPACE_SHARED) {
		base = w->cta->shared;
	} else if (in->space == SPACE_PARAM) {
		base = w->cta->g->pwin;
	} else {
		step = w->cta->g->local_stride;
		base = w->cta->local + w->index * LANES * step;
	}
	if (in->sub) {
		base = 0 - base;
		step = 0 - step;
	}
	for (l = 0; l < LANES; l++)
		tmp[l] = a[l] + base + l * step;
	ts->e->lanes->blend64(d, tmp, m);
}

static u32 in_space(struct tstate *ts, struct frame *f, const struct insn *in)
{
	struct cta *c = ts->w->cta;
	const u64 *a = opnd(f, in->o[1]);
	const struct engine_env *env = &ts->e->env;
	u64 lo, n;
	u32 l, r = 0;

	switch (in->space) {
	case SPACE_SHARED: lo = c->shared; n = c->g->shared_total; break;
	case SPACE_LOCAL: lo = c->local; n = (u64)c->g->local_stride * c->nwarps * LANES; break;
	case SPACE_PARAM: lo = c->g->pwin; n = c->g->param_bytes; break;
	case SPACE_CONST: lo = f->fn->m->const_lo; n = f->fn->m->const_hi - lo; break;
	default:
		/* global is what no window covers */
		for (l = 0; l < LANES; l++)
			if (a[l] - env->span_base < env->span_bytes && a[l] - c->win >= c->win_bytes &&
			    a[l] - f->fn->m->const_lo >= f->fn->m->const_hi - f->fn->m->const_lo)
				r |= 1u << l;
		return r;
	}
	for (l = 0; l < LANES; l++)
		if (a[l] - lo < n)
			r |= 1u << l;
	return r;
}

/* What a checker looks at before it is done. An acquire or a release is in order with what others have done, as behind a fence. */
static __attribute__((noinline)) void checked(struct tstate *ts, const struct insn *in, u32 e)
{
	ts->in = in;
	if (in->kind == K_VF_ST || in->kind == K_VF_ATOM) {
		vf_store(ts, in, e);
		return;
	}
	if (in->flags & INF_ORDER)
		race_phase(ts->w->cta);
	mc_access(ts, in, e);
	if (in->flags & INF_ORDER)
		race_phase(ts->w->cta);
}

/* An instruction that does not touch control flow, for the lanes e (not none). */
static inline __attribute__((always_inline)) void straight(struct tstate *ts, struct frame *f, const struct insn *in, u32 e)
{
	const struct lane_table *lt = ts->e->lanes;
	_Alignas(64) u64 tmp[LANES];
	u32 t;

	switch ((enum kind)in->kind) {
	case K_LANE:
		in->u.lane(tmp, opnd(f, in->o[1]), opnd(f, in->o[2]), opnd(f, in->o[3]));
		blend(lt, in->dw, opnd(f, in->o[0]), tmp, e);
		break;
	case K_SETP:
		lane_setp(f, in, e);
		break;
	case K_PRED:
		lane_pred(f, in, e);
		break;
	case K_SREG:
		ts->mask = e;
		lane_sreg(ts, f, in, e);
		break;
	case K_LADDR:
		for (t = 0; t < LANES; t++)
			if (in->dw)
				((u64 *)tmp)[t] = (u64)in->imm + f->loff;
			else
				((u32 *)tmp)[t] = (u32)in->imm + f->loff;
		blend(lt, in->dw, opnd(f, in->o[0]), tmp, e);
		break;
	case K_LOP3:
		lane_lop3(f, in, e);
		break;
	case K_CVT:
		if (ts->mxcsr != 0x1f80)
			_mm_setcsr(ts->mxcsr = 0x1f80);
		lane_cvt(in, tmp, opnd(f, in->o[1]), opnd(f, in->o[2]));
		blend(lt, in->dw, opnd(f, in->o[0]), tmp, e);
		break;
	case K_CVTA:
		do_cvta(ts, f, in, e);
		break;
	case K_ISSPACEP:
		set_pred(f, in->o[0], in_space(ts, f, in), e);
		break;
	case K_MC_LD:
		checked(ts, in, e);
		/* fall through */
	case K_LD:
		ts->in = in;
		mem_ld(ts, in, e);
		break;
	case K_LDPARAM:
		mem_ldparam(ts, in, e);
		break;
	case K_VF_ST:
	case K_MC_ST:
		checked(ts, in, e);
		/* fall through */
	case K_ST:
		ts->in = in;
		mem_st(ts, in, e);
		break;
	case K_VF_ATOM:
	case K_MC_ATOM:
		checked(ts, in, e);
		/* fall through */
	case K_ATOM:
		ts->in = in;
		if (ts->mxcsr != 0x1f80)
			_mm_setcsr(ts->mxcsr = 0x1f80);
		mem_atom(ts, in, e);
		break;
	case K_ACTIVEMASK:
		for (t = 0; t < LANES; t++)
			((u32 *)tmp)[t] = e;
		lt->blend32(opnd(f, in->o[0]), tmp, e);
		break;
	case K_MEMBAR:
		if (ts->e->mc)
			race_phase(ts->w->cta);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		break;
	case K_NANOSLEEP:
		ts->budget -= 1000;     /* whoever sleeps gives its slice away */
		break;
	case K_SHFL:
		warp_shfl(f, in, e);
		break;
	case K_VOTE:
		warp_vote(f, in, e);
		break;
	case K_MATCH:
		warp_match(f, in, e);
		break;
	case K_REDUX:
		warp_redux(f, in, e);
		break;
	case K_TENSOR:
		warp_tensor(f, in, e);
		break;
	case K_GEN:
		if (ts->mxcsr != 0x1f80)
			_mm_setcsr(ts->mxcsr = 0x1f80);
		ts->in = in;
		ts->mask = e;
		in->u.gen(ts, f, in, e);
		break;
	default:
		break;
	}
}

/* The same for the JIT, which has checked that all lanes of a warp operation are here. */
void exec_one(struct tstate *ts, struct frame *f, const struct insn *in, u32 e)
{
	if (in->mxcsr && in->mxcsr != ts->mxcsr) {
		ts->mxcsr = in->mxcsr;
		_mm_setcsr(in->mxcsr);
	}
	straight(ts, f, in, e);
}

static void brx(struct frame *f, const struct insn *in, u32 m, u32 off)
{
	const u32 *idx = opnd(f, in->o[0]);
	u32 w, l;

	/* an index beyond the list is undefined: the last target */
	for (w = m; w; w &= w - 1) {
		l = (u32)__builtin_ctz(w);
		frame_wait(f, 1u << l, in->u.targets[1 + (idx[l] < in->u.targets[0] ? idx[l] :
							  in->u.targets[0] - 1)]);
	}
	if (off)
		frame_wait(f, off, in->fall);
}

/*
 * Nothing runs in the top activation: return from it, wake parked lanes that nobody will join,
 * or find that the warp is blocked or done.
 */
static enum run settle(struct tstate *ts, struct warp *w)
{
	struct frame *f;

	for (;;) {
		f = w->top;
		if (!f->lanes) {
			if (!f->up || !w->live)
				return RUN_DONE;
			call_leave(w);
			f = w->top;
			if (f->mask) {
				ts->f = f;
				return RUN_BUDGET;      /* runnable */
			}
			continue;
		}
		if (f->mask) {                  /* a barrier let the warp through */
			ts->f = f;
			return RUN_BUDGET;
		}
		if (f->waiting) {
			frame_resched(f);
			ts->f = f;
			return RUN_BUDGET;
		}
		if (f->parked && !f->away) {
			/* those they wait for cannot come */
			f->waiting = f->parked;
			f->parked = 0;
			continue;
		}
		if (!apart_turn(w))
			return RUN_BLOCKED;
	}
}

u32 interp_spin = JIT_SPIN;
u32 interp_upper;

#define PTR(o) ((void *)(base[(o) >> 31] + ((o) & ~OPND_CONST)))

enum run warp_run(struct tstate *ts, struct warp *w)
{
	struct frame *f = w->top;
	const struct insn *in, *code;
	const u32 *entry;
	u32 m, pc, e, t, to, mx = ts->mxcsr;
	char *base[2];
	enum run r;
	u8 full;

	ts->w = w;
	if (w->depth && !w->jresume && ++w->slices >= SLICES_APART) {
		w->slices = 0;
		apart_turn(w);
		f = w->top;
	}
	ts->f = f;
	if (w->jresume) {               /* where jit_block left it */
		t = w->jresume;
		w->jresume = 0;
		code = f->fn->code;
		entry = f->jit ? f->jit->entry_at : NULL;
		goto left;
	}
	if (w->jheld && (w->jheld != f->pc || w->jheld_mask != f->mask))
		jit_drop(w);
	if (!f->mask)
		goto settle;
reload:
	code = f->fn->code;
	entry = f->jit ? f->jit->entry_at : NULL;
	if (entry && entry[f->pc] && !f->boost) {
		ts->mxcsr = mx;
		t = (u32)jit_run(ts, w, f);
		mx = ts->mxcsr;
		if (!f->jit)
			entry = NULL;
left:
		if (t == JR_DONE) {
			m = f->mask;
			f->mask = 0;
			exit_lanes(w, m);
			if (w->cta->bar_used)
				bar_exited(w->cta);
			if (!w->live) {
				ts->mxcsr = mx;
				return RUN_DONE;
			}
			goto settle;
		}
		if (t == JR_LANES) {
			if (w->jended) {
				exit_lanes(w, w->jended);
				if (w->cta->bar_used)
					bar_exited(w->cta);
				if (!w->live) {
					ts->mxcsr = mx;
					return RUN_DONE;
				}
			}
			goto settle;
		}
		if (t == JR_JUMP) {
			m = f->mask;
			in = code + f->pc;
			base[0] = f->base[0];
			base[1] = f->base[1];
			full = m == f->lanes;
			to = w->jto;
			goto jump;
		}
	}
	m = f->mask;
	in = code + f->pc;
	base[0] = f->base[0];
	base[1] = f->base[1];
	full = m == f->lanes;
	for (;; in++) {
		/* straight-line arithmetic of all lanes: most of what runs */
		while (in->plain & full) {
			if (in->mxcsr && in->mxcsr != mx) {
				mx = in->mxcsr;
				_mm_setcsr(mx);
			}
			in->u.lane(PTR(in->o[0]), PTR(in->o[1]), PTR(in->o[2]), PTR(in->o[3]));
			in++;
		}
		/* strips leave lanes within blocks, too */
		if (__builtin_expect((u32)(in - code) == f->next_wait, 0)) {
			frame_wait(f, m, (u32)(in - code));
			frame_resched(f);
			goto reload;
		}
		e = m;
		if (in->guard != OPND_NONE && in->kind != K_CBRA) {
			t = *(u32 *)PTR(in->guard);
			e &= in->gneg ? ~t : t;
			if (!e && in->kind != K_BRX)
				continue;
		}
		if (in->mxcsr && in->mxcsr != mx) {
			mx = in->mxcsr;
			_mm_setcsr(mx);
		}
		switch ((enum kind)in->kind) {
		case K_SHFL:
		case K_VOTE:
		case K_MATCH:
		case K_REDUX:
			if (in->o[2] != OPND_NONE && (e != f->lanes || !warp_named_alike(f, in, e))) {
				pc = (u32)(in - code);
				t = warp_gather(f, m, e, pc);
				if (t != e) {
					/* some wait, or others have waited for these: all look where they are */
					if (t)
						straight(ts, f, in, t);
					frame_wait(f, m & ~e, pc + 1);
					step_over(f, t);
					f->mask = 0;
					goto settle;
				}
			}
			straight(ts, f, in, e);
			break;
		case K_WARPSYNC:
			if (e == f->lanes && warp_named_alike(f, in, e))
				break;
			pc = (u32)(in - code);
			t = warp_gather(f, m, e, pc);
			if (t == e)
				break;
			frame_wait(f, m & ~e, pc + 1);
			step_over(f, t);
			f->mask = 0;
			goto settle;
		case K_MC_BAR:
			if (in->sub != BAR_ARRIVE)
				mc_bar(ts, in, e);
			/* fall through */
		case K_BAR:
			ts->in = in;
			pc = (u32)(in - code);
			if (in->sub == BAR_ARRIVE) {
				bar_arrive(ts, w, in, e, pc);
				break;
			}
			if (in->sub == BAR_WAIT) {
				t = bar_wait(w, e, pc);
				if (!t)
					break;
				frame_wait(f, m & ~t, pc + 1);
				f->mask = 0;
				goto settle;
			}
			frame_wait(f, m & ~e, pc + 1);
			f->mask = 0;
			bar_arrive(ts, w, in, e, pc);
			if (w->cta->met) {      /* cta_turns looks at the block as a whole */
				ts->mxcsr = mx;
				return RUN_BUDGET;
			}
			goto settle;
		case K_JMP:
			to = in->taken;
			goto jump;
		case K_CBRA:
			t = *(u32 *)PTR(in->guard);
			t = m & (in->gneg ? ~t : t);
			if (t == m) {
				to = in->taken;
				goto jump;
			}
			if (!t) {
				to = in->fall;
				goto jump;
			}
			frame_wait(f, t, in->taken);
			frame_wait(f, m & ~t, in->fall);
			f->mask = 0;
			pc = (u32)(in - code);
			if (in->taken <= pc)
				ts->budget -= (s64)(pc - in->taken) + 8 + spin_cost_of(in->flags);
			f->boost = 0;
			if (interp_upper) {
				f->boost_pc = interp_upper == 2 ? (u32)(in - code) : in->taken < in->fall ? in->taken : in->fall;
				frame_turn(f);
				goto reload;
			}
			goto settle;
		case K_BRX:
			brx(f, in, e, m & ~e);
			f->mask = 0;
			ts->budget -= 64;
			goto settle;
		case K_CALL:
			ts->in = in;
			ts->mask = e;
			if (in->u.call->builtin == BUILTIN_VPRINTF) {
				_mm_setcsr(mx = 0x1f80);
				dev_printf(ts, f, in->u.call, e);
				break;
			}
			if (in->u.call->builtin >= BUILTIN_DEVRT) {
				_mm_setcsr(mx = 0x1f80);
				if (devrt_call(ts, f, in->u.call, e))
					break;
				/* its children first: the call comes once more */
				f->mask = m;
				f->pc = (u32)(in - code);
				ts->mxcsr = mx;
				ts->budget = 0;
				return RUN_BUDGET;
			}
			if (in->u.call->builtin >= BUILTIN_MALLOC) {
				dev_heap(ts, f, in->u.call, e);
				break;
			}
			if (in->u.call->builtin == BUILTIN_ASSERTFAIL)
				dev_assertfail(ts, f, in->u.call, e);
			f->mask = m;
			f->pc = (u32)(in - code);
			if (call_enter(ts, w, in, e)) {
				f = w->top;
				ts->f = f;
				ts->budget -= 32;
				goto reload;
			}
			break;
		case K_RET:
			if (f->up) {
				call_return(w, e);
				lanes_gone(f, e);
				f->mask = 0;
				if (m & ~e) {
					m &= ~e;
					full = m == f->lanes;
					break;
				}
				goto settle;
			}
			/* fall through */
		case K_EXIT:
			f->mask = 0;
			exit_lanes(w, e);
			m &= ~e;
			if (w->cta->bar_used)
				bar_exited(w->cta);
			full = m == f->lanes;
			if (m)
				break;
			goto settle;
		case K_TRAP:
			ts->in = in;
			ts->mask = e;
			fault_raise(VGPU_ST_TRAP, __builtin_ctz(e), 0, in->sub ? "brkpt" : "trap");
		case K_NOP:
			break;
		case K_LATER:           /* once each time it is come to */
			f->mask = m;
			f->pc = (u32)(in + 1 - code);
			ts->mxcsr = mx;
			return RUN_BUDGET;
		case K_STEP:
			if (ts->e->dbg)
				dbg_step(ts, f, in, m);
			else
				optrace_step(ts, f, in + 1, m);
			break;
		default:
			ts->mxcsr = mx;
			straight(ts, f, in, e);
			mx = ts->mxcsr;
			break;
		}
		/* behind what the JIT left to be done here */
		if (entry && entry[in + 1 - code] && !f->boost) {
			f->mask = m;
			f->pc = (u32)(in + 1 - code);
			goto reload;
		}
		continue;
jump:
		pc = (u32)(in - code);
		if (to <= pc) {
			bool spins = code[pc].flags & INF_SPIN && (code[pc].kind == K_JMP || code[pc].kind == K_CBRA);

			ts->budget -= (s64)(pc - to) + 1 + (spins ? spin_cost_of(code[pc].flags) : 0);
			/* they have met */
			if (!f->waiting && !w->depth)
				f->spin = 0;
			else if ((f->spin += spins ? SPIN_STEP : 1) >> f->fn->patience > interp_spin) {
				f->spin = 0;
				if (w->depth && (!f->waiting || (f->outside = !f->outside))) {
					f->mask = m;
					f->pc = to;
					if (apart_turn(w)) {
						f = w->top;
						goto settle;
					}
				}
				if (f->waiting) {
					boost(f, m, to);
					goto reload;
				}
			}
			if (ts->budget < 0) {
				f->mask = m;
				f->pc = to;
				ts->mxcsr = mx;
				return RUN_BUDGET;
			}
		}
		if (f->boost && !--f->boost) {
			frame_wait(f, m, to);
			frame_resched(f);
			goto reload;
		}
		if (to >= f->next_wait) {
			frame_wait(f, m, to);
			frame_resched(f);
			goto reload;
		}
		if (entry && entry[to]) {
			f->mask = m;
			f->pc = to;
			goto reload;
		}
		in = code + to - 1;
	}
settle:
	r = settle(ts, w);
	ts->mxcsr = mx;
	f = w->top;
	if (r == RUN_BUDGET && ts->budget >= 0)
		goto reload;
	return r;
}
