/* SPDX-License-Identifier: MIT */
/*
 * Runs strip code: the strips of a warp one after the other to where lanes look at each other, what is done there by the whole
 * warp, and on. Everything that is alive lies in the interpreter's frame in between.
 *
 * Called by interp.c (strip_run), block.c (strip_block) and by code (strip_step).
 */
#include <immintrin.h>

#include "strip.h"

typedef u64 strip_fn(struct sprivate *p, struct frame *f, struct tstate *ts, const char *pool, const u8 *at, u32 strip);

static u32 masks[256][8] __attribute__((aligned(64)));

static void make_masks(void)
{
	u32 i, l;

	for (i = 0; i < 256; i++)
		for (l = 0; l < 8; l++)
			masks[i][l] = i >> l & 1 ? ~0u : 0;
}

void strip_fit(struct engine *e, struct warp *w)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sprivate *p = (struct sprivate *)w->jp;
	struct cta *c = w->cta;
	struct grid *g = c->g;
	const struct engine_env *env = &e->env;
	bool wide = e->lanes == &lanes_avx512;
	u32 i, t = w->index * LANES;

	pthread_once(&once, make_masks);
	p->table = (u64)(uintptr_t)masks;
	p->span_lo = env->span_base + JIT_BELOW;
	p->span_lim = env->span_bytes > JIT_SLACK + JIT_BELOW ? env->span_bytes - JIT_SLACK - JIT_BELOW : 0;
	p->shared = c->shared;
	p->shared_total = g->shared_total;
	p->pwin = g->pwin;
	p->local = c->local + (u64)t * g->local_stride;
	p->frame = (u64)(uintptr_t)&w->main;
	p->ctaid = (u64)(uintptr_t)c->id;
	p->warp = w->index;
	p->warp_at = (u64)(uintptr_t)w;
	p->slots = (u64)(uintptr_t)(w->jp - c->regs_bytes);
	/* code goes on to whole warps only, but for that for SPEC_PART */
	p->born = ~0u;
	if (!wide && g->threads < (w->index + 1) * LANES)
		p->born = (1u << g->threads % LANES) - 1;
	for (i = 0; i < STRIPS; i++) {
		p->own[i].m = p->born >> STRIP * i & 255;
		if (p->own[i].m)
			p->last = 32 * i;
	}
	p->next = 0;
	if (w->index + 1 == g->nwarps)
		p->next = ALL_WARPS;
	else if (!wide || g->threads >= (w->index + 2) * LANES)
		p->next = (u64)(uintptr_t)(w->jp + c->frame_bytes);
	for (i = 0; i < 5; i++)
		p->shared_ends[i] = (u64)g->shared_total - (1u << i);
	for (i = 0; i < 3; i++) {
		p->dim[i] = g->dim[i];
		p->tid[i] = g->tid[i][t];
		p->tidv[i] = (u64)(uintptr_t)&g->tid[i][t];
	}
}

static void mxcsr_of(struct tstate *ts, u32 v)
{
	if (v && ts->mxcsr != v)
		_mm_setcsr(ts->mxcsr = v);
}

static u32 home(const struct jit *j) { return j->mxcsr == ~0u ? j->mxcsr_home : j->mxcsr; }

/* An instruction that code leaves to the interpreter, for the lanes m. */
static void by_interpreter(struct tstate *ts, struct sprivate *p, u32 pc, u32 m)
{
	struct frame *f = (struct frame *)(uintptr_t)p->frame;
	const struct jit *j = ts->jit;

	ts->in = &f->fn->code[pc];
	if (j->mxcsr == ~0u || ts->in->kind == K_ATOM)
		ts->mxcsr = 0;          /* code has changed it */
	ts->held = j;
	ts->held_mask = m;
	exec_one(ts, f, ts->in, m);
	ts->held = NULL;
	mxcsr_of(ts, home(j));
}

void strip_step(struct tstate *ts, struct sprivate *p, u32 pc, u32 strip) { by_interpreter(ts, p, pc, p->step << STRIP * strip); }

void strip_meet(struct tstate *ts, struct sprivate *p, u32 pc, u32 n)
{
	struct frame *f = (struct frame *)(uintptr_t)p->frame;
	u32 i, k;

	for (i = 0; i < n; i += k) {
		const struct insn *in = &f->fn->code[pc + i];

		k = in->kind == K_TENSOR && in->sub == TENSOR_MMA ? tensor_group(in, n - i) : 1;
		if (k == 1) {
			u32 m = in->guard == OPND_NONE ? ~0u : *(const u32 *)opnd(f, in->guard) ^ (in->gneg ? ~0u : 0);

			m &= f->lanes;
			if (m)
				by_interpreter(ts, p, pc + i, m);
			continue;
		}
		if (ts->jit->mxcsr == ~0u)
			ts->mxcsr = 0;
		mxcsr_of(ts, in->mxcsr);
		warp_products(f, in, k, f->lanes);
		mxcsr_of(ts, home(ts->jit));
	}
}

/* Are the scalars that entry e takes for granted so in all strips of m? */
static bool as_claimed(const struct jit *j, const struct jentry *e, const struct frame *f, u32 m)
{
	u32 i, s, l;

	for (i = 0; i < e->nlive; i++) {
		const struct jplace *r = &j->regs[j->lives[e->live + i]];
		const char *slot = f->base[0] + r->slot;
		u64 top = r->w ? ~0ull : 0xffffffffu;
		const s32 *pat = j->strip->pats[r->pat];

		for (s = 0; s < STRIPS && r->cls == SC_SCALAR; s++) {
			u32 sm = m >> STRIP * s & 255, first;
			u64 u;

			if (!sm)
				continue;
			if (r->w == 2) {
				u32 x = *(const u32 *)slot >> STRIP * s & 255;

				if ((x & sm) && (x & sm) != sm)
					return false;
				continue;
			}
#define LANE(n) (r->w ? ((const u64 *)slot)[STRIP * s + (n)] : ((const u32 *)slot)[STRIP * s + (n)])
			first = (u32)__builtin_ctz(sm);
			u = (LANE(first) - (u64)(s64)pat[first]) & top;
			if (r->sk && u != (r->s & top))
				return false;
			if (r->ual && (u & ((1ull << (r->ual > 63 ? 63 : r->ual)) - 1) & top))
				return false;
			for (l = first + 1; l < STRIP; l++)
				if ((sm >> l & 1) && ((LANE(l) - (u64)(s64)pat[l]) & top) != u)
					return false;
#undef LANE
		}
	}
	return true;
}

static const struct jit *newest(const struct jit *j)
{
	const struct jit *n;

	while ((n = __atomic_load_n(&j->newer, __ATOMIC_ACQUIRE)))
		j = n;
	return j;
}

/* wrong guesses of one grid that are worth compiling anew; how often for one function, the last time without guesses */
#define PARTED 8
#define AGES 3

static void learn(const struct jit *j, struct grid *g, u32 pc, u8 what)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct jit_src *s = j->fn->jsrc;
	struct jit *old, *n;
	u32 i, csr;

	__atomic_fetch_or(&s->parted[pc], what, __ATOMIC_RELAXED);
	if (__atomic_add_fetch(&g->parted, 1, __ATOMIC_RELAXED) < PARTED || pthread_mutex_trylock(&one))
		return;
	old = (struct jit *)(uintptr_t)newest(j);
	if (old == j && old->age < AGES) {
		for (i = 0; old->age == AGES - 1 && i < s->n; i++)
			__atomic_fetch_or(&s->parted[i], PARTED_LANES | PARTED_TURNS, __ATOMIC_RELAXED);
		csr = _mm_getcsr();
		_mm_setcsr(0x1f80);
		n = strip_compile(old->fn, old->spec, old->p_bytes);
		_mm_setcsr(csr);
		/* the private areas that there are have to do */
		if (n && n->strip->area > old->p_bytes) {
			jit_code_give(n->fn->m->e, (u64)(n->code - n->fn->m->e->code_rx), n->bytes);
			free(n->mem);
			n = NULL;
		}
		if (!n) {
			old->age = AGES;
		} else {
			n->age = (u8)(old->age + 1);
			n->p_bytes = old->p_bytes;
			__atomic_store_n(&old->newer, n, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&g->parted, 0, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&one);
}

void strip_free(struct jit *j)
{
	struct engine *e = j->fn->m->e;
	struct jit *n, *next;

	for (n = j->newer; n; n = next) {
		next = n->newer;
		jit_code_give(e, (u64)(n->code - e->code_rx), n->bytes);
		free(n->mem);
	}
}

bool s_together(const struct insn *in)
{
	if (in->guard != OPND_NONE)
		return false;
	switch ((enum kind)in->kind) {
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_WARPSYNC: case K_ACTIVEMASK: case K_TENSOR: case K_GEN:
	case K_LD: case K_ST: case K_ATOM: case K_NOP: case K_MEMBAR:
		return true;
	default:
		return false;
	}
}

/* of code that is entered with lanes waiting */
#define SPIN_BUDGET 2048

/*
 * A strip's share of the budget where those before it have used it up: they may be spinning for what it does. Or all have as much to do: what
 * one of them has had the others have as well, so that they are left in the same place. If not, they are apart from then on, for no reason of the program's.
 */
#define LEAST_BUDGET 64

static u32 call(struct tstate *ts, const struct jit *j, struct sprivate *p, struct frame *f, const u8 *at, u32 s)
{
	u32 exit;

	mxcsr_of(ts, home(j));
	ts->jit = j;
	exit = (u32)((strip_fn *)(uintptr_t)j->code)(p, f, ts, f->base[1], at, s);
	ts->jit = NULL;
	if (j->mxcsr == ~0u)
		ts->mxcsr = 0;
	return exit;
}

/* The lanes that wait where code was left. */
static u32 wait_at(const struct sprivate *p, const struct sexit *x)
{
	u32 i, m = 0;

	for (i = 0; i < x->nwaits; i++)
		m |= p->wait[i];
	return m;
}

/* lanes of a warp that are apart: how often code goes on with the lowest */
#define TURNS 64

/*
 * Lanes wait at several places: where code is entered with the lowest of them, 0: not by code. A shuffle or vote that names no others is
 * done here, and what needs none: code would come back from it at once.
 */
static u32 next_turn(struct tstate *ts, const struct jit *j, struct frame *f, u32 done)
{
	const struct insn *in = &f->fn->code[f->pc];
	u32 n, l, named = 0;

	switch ((enum kind)in->kind) {
	case K_SHFL: case K_VOTE: case K_MATCH: case K_REDUX: case K_WARPSYNC:
		if (in->o[2] == OPND_NONE)
			return 0;
		for (l = f->mask; l; l &= l - 1)
			named |= ((const u32 *)opnd(f, in->o[2]))[__builtin_ctz(l)];
		if ((named & f->lanes & ~done & ~f->mask) || !warp_named_alike(f, in, f->mask))
			return 0;
		break;
	default:
		break;
	}
	/* where rounds end code may have nothing but a meeting */
	if (s_sync(in) || (in->kind == K_NOP && !j->entry_at[f->pc] && j->entry_at[f->pc + 1])) {
		if (!s_together(in) || in->kind == K_TENSOR || in->kind == K_GEN)
			return 0;
		ts->in = in;
		exec_one(ts, f, in, f->mask);
		f->pc++;
	}
	n = j->entry_at[f->pc];
	return n && as_claimed(j, &j->entries[n - 1], f, f->mask) ? n : 0;
}

/*
 * Strips that take turns in a loop did not go round it equally often: code was left at pc, where others stood at. They do so at the border of a picture, in some
 * blocks of many; turns are no gain where most blocks are like that.
 */
static void ragged(const struct jit *j, struct grid *g, u32 at, u32 pc)
{
	if (at != NO_PC && at != S_ENDED && (at & S_TURN) && pc != (at & ~S_TURN) && __atomic_add_fetch(&g->ragged, 1, __ATOMIC_RELAXED) > g->nblocks / 4 * 3)
		learn(j, g, at & ~S_TURN, PARTED_TURNS);
}

/*
 * Do lanes wait further down that could go on? Code would take those that run now past where they meet: what is written behind that by one of
 * them is to come after what the others do before it. (Who waits for somebody at its place is found there.) It is shared memory where lanes tell each
 * other such things: if none is written before they meet at a barrier, they may pass.
 */
static bool would_pass(const struct jit *j, const struct frame *f, const struct grid *g)
{
	const struct jit_src *src = f->fn->jsrc;
	u8 how = (g->shared_total ? J_TELLS : 0) | (f->fn->patience ? J_ASKS : 0);
	u32 w, pc;

	for (w = how ? f->waiting : 0; w; w &= w - 1) {
		pc = f->lane_pc[__builtin_ctz(w)];
		if (pc > f->pc && !s_sync(&src->code[pc]) && (src->code[pc].kind != K_NOP || !j->entry_at[pc + 1]) && (jit_tells(src, pc) & how))
			return true;
	}
	return false;
}

enum { AT_ONE, AT_ODD, APART, ENDED };

/* Warps of a block, where they are all whole: ran is the one that code was entered with. */
struct chain { struct sphase *phase; struct warp *warps; u32 n, ran; bool moved; };

/*
 * Code was entered with the first strip of warp k->ran and left in w, whose strip s did not get further. What other strips have put away goes where the interpreter
 * looks for it. Returns the entry at which w's strips behind s stand.
 */
static u32 put_back(const struct jit *j, struct warp *w, u32 s, u32 n, struct chain *k)
{
	struct sprivate *p = (struct sprivate *)w->jp;
	u32 i, start = n;

	for (i = 0; k && i < k->n; i++)
		strip_catch_up(j, &k->warps[i]);
	strip_catch_up(j, w);
	if (k && (k->phase->start != NO_PC)) {
		start = j->entry_at[k->phase->start];
		k->moved = true;
		k->ran = 0;
		for (i = w->index + 1; i < k->n; i++)
			strip_unpark(j, &k->warps[i], ~0u, start);
	}
	for (i = k ? k->ran : 0; k && i < w->index && k->phase->at != S_ENDED; i++)
		strip_unpark_at(j, &k->warps[i], ~0u, k->phase->at);
	if (p->seg_pc != NO_PC)
		start = j->entry_at[p->seg_pc];
	if (s && p->spc != S_ENDED)
		strip_unpark_at(j, w, (1u << s) - 1, p->spc);
	strip_unpark(j, w, ~((2u << s) - 1), start);
	return start;
}

/*
 * The warp's running lanes from entry n on; others may wait, where the frame says. AT_ONE: at f->pc, which code does not do; AT_ODD: there too, after lanes were apart, and what
 * is a scalar behind it for code is none; APART: its lanes wait at several
 * places; ENDED: there are none. *done: lanes that have ended on the way, with frame.lanes still as it was. With k code may go on with the warps behind it and with
 * further phases: *pw is then another, and k says where the others stand.
 */
static int run_warp(struct tstate *ts, const struct jit *j, struct warp **pw, u32 n, u32 *done, struct chain *k)
{
	struct warp *w = *pw;
	struct frame *f = &w->main;
	struct sprivate *p = (struct sprivate *)w->jp;
	const struct strip_code *sc = j->strip;
	u32 m = f->mask, turns = 0, s, i, l, pc, here, apart, from, waits;
	s64 lent, had, most;
	bool many, spun, stopped, odd = m != f->lanes;         /* lanes have not come all the way together */
	bool others = f->waiting;

	*done = 0;
	ts->w = w;
	ts->f = f;
	for (;;) {
		pc = NO_PC;
		here = 0;
		from = f->pc;
		apart = f->waiting;
		if (!apart && !w->depth) {
			others = false;
			f->spin = f->spin_pc = 0;
		}
		lent = 0;
		most = LEAST_BUDGET;
		spun = stopped = false;
		for (s = 0; s < STRIPS; s++) {
			const struct sexit *x;

			p->m = m >> STRIP * s & 255;
			if (!p->m)
				continue;
			p->first = (u32)__builtin_ctz(p->m);
			p->done = 0;
			p->seg_pc = NO_PC;
			p->seg = p->phase = 0;
			many = !s && m == p->born && f->lanes == p->born;
			if (many) {
				if (!k || !k->moved)
					strip_park(j, w, n);
				p->seg = (u64)(uintptr_t)(j->code + sc->next[n - 1]);
				if (k && !turns) {
					p->phase = (u64)(uintptr_t)k->phase;
					k->phase->seg = p->seg;
					k->phase->start = NO_PC;
					k->ran = w->index;
				}
			}
			if (s && ts->budget < most) {
				/* one that stopped for it has used one more than it had: others are to stop in the same place */
				lent += most - stopped - ts->budget;
				ts->budget = most - stopped;
			}
			had = ts->budget;
			x = &sc->exits[call(ts, j, p, f, many ? (const u8 *)(uintptr_t)p->seg : j->code + j->entries[n - 1].code, s)];
			if (had - ts->budget > most && !x->spins)
				most = had - ts->budget;
			if (many) {
				if (!p->phase)
					k = NULL;
				if (ts->w != w || (k && k->phase->start != NO_PC)) {
					w = *pw = ts->w;
					f = &w->main;
					p = (struct sprivate *)w->jp;
					m = p->born;
					apart = 0;
				}
				s = p->at / 32;
				if (!x->wrong && !x->parted)
					ragged(j, w->cta->g, s ? p->spc : k ? k->phase->at : NO_PC, x->pc);
				n = put_back(j, w, s, n, k);
				/* code has run those before this one */
				if (s && p->spc == S_ENDED) {
					*done |= (1u << STRIP * s) - 1;
				} else if (s) {
					pc = p->spc & ~S_TURN;
					here = (1u << STRIP * s) - 1;
				}
				k = NULL;
				most = s > 1 ? most / s : most;
				if (most < LEAST_BUDGET)
					most = LEAST_BUDGET;
			}
			waits = wait_at(p, x);
			/* its time is over on the way to where those before it stand */
			if (s && (pc != NO_PC || many) && x->pc != pc && x->pc != NO_PC && !x->spins && ts->budget < 0 && p->m && !waits && (i = j->entry_at[x->pc]) &&
			    as_claimed(j, &j->entries[i - 1], f, p->m << STRIP * s)) {
				lent += most - ts->budget;
				ts->budget = most;
				*done |= p->done << STRIP * s;
				p->done = 0;
				p->first = (u32)__builtin_ctz(p->m);
				p->seg_pc = NO_PC;
				p->seg = p->phase = 0;
				x = &sc->exits[call(ts, j, p, f, j->code + j->entries[i - 1].code, s)];
				waits = wait_at(p, x);
			}
			*done |= p->done << STRIP * s;
			spun |= x->spins;
			/* guesses that are wrong that often are not made again */
			if (x->wrong && jit_widens(&f->fn->jsrc->code[x->pc]))
				jit_wraps(w->cta->g, j, x->pc);
			else if (x->wrong && __atomic_add_fetch(&((struct jit *)j)->quits, 1, __ATOMIC_RELAXED) == 16)
				f->fn->jsrc->noguess = true;
			if (x->parted)
				learn(j, w->cta->g, x->pc, PARTED_LANES);
			stopped |= ts->budget < 0 && !x->spins;
			if (x->pc == NO_PC)
				continue;
			if (!waits && (pc == x->pc || pc == NO_PC) && apart == f->waiting) {
				pc = x->pc;
				here |= p->m << STRIP * s;
				continue;
			}
			/* places by lane from now on */
			for (l = here; l; l &= l - 1)
				f->lane_pc[__builtin_ctz(l)] = pc;
			apart |= here;
			here = 0;
			for (l = p->m; l; l &= l - 1)
				f->lane_pc[STRIP * s + (u32)__builtin_ctz(l)] = x->pc;
			apart |= p->m << STRIP * s;
			for (i = 0; i < x->nwaits; i++) {
				for (l = p->wait[i]; l; l &= l - 1)
					f->lane_pc[STRIP * s + (u32)__builtin_ctz(l)] = x->waits[i];
				apart |= p->wait[i] << STRIP * s;
			}
		}
		ts->budget -= lent;
		if (f->turn && here && apart == f->waiting && !spun) {
			/* what they stand at is done before others run */
			f->mask = here;
			f->pc = pc;
			return AT_ONE;
		}
		if (apart) {
			for (l = here; l; l &= l - 1)
				f->lane_pc[__builtin_ctz(l)] = pc;
			f->waiting = apart | here;
			frame_resched(f);
			odd = true;
			if (f->waiting && spun && others && (!f->fn->patience || (f->spin += JIT_SPIN) >> f->fn->patience > interp_spin)) {
				/* they may be waiting for those that wait for them; without others it was but long */
				frame_wait(f, f->mask, f->pc);
				frame_turn(f);
				return APART;
			}
			if (f->waiting) {
				/* the same lanes as before, where they were: they want something that code does not do */
				n = turns++ < TURNS && ts->budget >= 0 && (f->pc != from || f->mask != m) && !would_pass(j, f, w->cta->g) ? next_turn(ts, j, f, *done) : 0;
				if (!n)
					return APART;
				m = f->mask;
				continue;
			}
			here = f->mask;
			pc = f->pc;
		}
		if (!here) {
			f->mask = 0;
			return ENDED;
		}
		f->mask = m = here;
		f->pc = pc;
		if (odd && jit_barrier(&f->fn->jsrc->code[pc]) && j->entry_at[pc + 1] && !as_claimed(j, &j->entries[j->entry_at[pc + 1] - 1], f, m))
			return AT_ODD;
		if (m != f->lanes || *done || ts->budget < 0 || !s_together(&f->fn->code[pc]) || !warp_named_alike(f, &f->fn->code[pc], m))
			return AT_ONE;
		ts->in = &f->fn->code[pc];
		exec_one(ts, f, ts->in, m);
		f->pc = pc + 1;
		n = j->entry_at[pc + 1];
		if (!n || (odd && !as_claimed(j, &j->entries[n - 1], f, m)))
			return AT_ONE;
	}
}

/*
 * Lanes of strips that are ahead stand before a barrier, with others of their warp behind them: they arrive at it, so that those
 * who wait for a turn are only such as need one.
 */
static void arrive(struct tstate *ts, struct warp *w, struct frame *f)
{
	u32 m = f->waiting, l, k, same, pc;

	ts->w = w;
	ts->f = f;
	while (m) {
		const struct insn *in;

		pc = f->lane_pc[__builtin_ctz(m)];
		in = &f->fn->code[pc];
		for (same = 0, k = m; k; k &= k - 1)
			if (f->lane_pc[l = (u32)__builtin_ctz(k)] == pc)
				same |= 1u << l;
		m &= ~same;
		if (in->kind != K_BAR || in->sub != BAR_SYNC || in->guard != OPND_NONE)
			continue;
		f->waiting &= ~same;
		ts->in = in;
		bar_arrive(ts, w, in, same, pc);
	}
	f->next_wait = NO_PC;
	for (k = f->waiting; k; k &= k - 1)
		if (f->lane_pc[l = (u32)__builtin_ctz(k)] < f->next_wait)
			f->next_wait = f->lane_pc[l];
}

int strip_run(struct tstate *ts, struct warp *w, struct frame *f)
{
	const struct jit *j = newest(f->jit);
	u32 n = j->entry_at[f->pc];
	s64 budget = ts->budget, most = budget;
	u32 pc, mask;
	int r;

	if (f != &w->main || !n)
		return JR_REFUSED;
	if (f->waiting)
		arrive(ts, w, f);
	if (f->waiting && would_pass(j, f, w->cta->g))
		return JR_REFUSED;
	/*
	 * Who goes on long while others wait may be waiting for them: they have turns too. Rounds are what counts, as in the interpreter; not how often somebody
	 * waited for a while, or how many places lanes come to that code leaves them at.
	 */
	if (f->waiting) {
		f->spin += f->pc <= f->spin_pc && (j->strip->spins || !f->fn->patience) ? SPIN_STEP : 1;
		f->spin_pc = f->pc;
		if (f->spin >> f->fn->patience > interp_spin) {
			frame_wait(f, f->mask, f->pc);
			frame_turn(f);
			n = j->entry_at[f->pc];
			if (!n)
				return JR_REFUSED;
		}
		most = budget < SPIN_BUDGET ? budget : SPIN_BUDGET;
	} else if (!w->depth) {
		f->spin = f->spin_pc = 0;
	}
	if (!as_claimed(j, &j->entries[n - 1], f, f->mask))
		return JR_REFUSED;
	ts->budget = most;
	pc = f->pc;
	mask = f->mask;
	r = run_warp(ts, j, &w, n, &w->jended, NULL);
	ts->budget += budget - most;
	/* code came back from it at once */
	if (r == APART && f->pc == pc && f->mask == mask)
		r = AT_ONE;
	return (r == AT_ONE || r == AT_ODD) && !w->jended && ts->budget >= 0 ? JR_AT : JR_LANES;
}

/* The interpreter goes on with a warp as run_warp() left it. */
static void hand_over(struct cta *c, struct warp *w, u32 done)
{
	struct frame *f = &w->main;

	f->lanes &= ~done;
	w->live &= ~done;
	if (!w->live) {
		f->mask = 0;
		c->done_warps++;
	}
}

/* A warp that stands at pc whole, for who goes on with it. */
static void stands(struct warp *w, u32 pc)
{
	w->main.mask = w->main.lanes;
	w->main.pc = pc;
}

/* Has it all the lanes it began with? */
static bool is_whole(const struct warp *w) { return w->main.lanes == ((const struct sprivate *)w->jp)->born; }

/* How many warps code goes to by itself: all, or those that have 32 lanes (strip_fit()) */
static u32 chained(const struct cta *c)
{
	const struct sprivate *last = (const struct sprivate *)c->warps[c->nwarps - 1].jp;

	return last->born == ~0u ? c->g->threads / LANES : c->nwarps;
}

/* Code goes from warp to warp by itself only where none of them has lost lanes. */
static bool all_whole(const struct cta *c)
{
	u32 k;

	for (k = 0; k < chained(c); k++)
		if (!is_whole(&c->warps[k]))
			return false;
	return true;
}

/* Where warps go on that wait at at. */
static u32 behind(u32 at) { return at & S_TURN ? at & ~S_TURN : at + 1; }

/*
 * A block whose warps all stand at start, in phases between barriers that all of them come to whole. *phases: how many. RUN_DONE: it has ended, with nothing
 * written into its warps. row: further blocks that code may begin; what is said of the block is true of the last one, and tstate.row is how many are left.
 */
static enum run in_step(struct tstate *ts, struct cta *c, const struct jit *j, u32 start, s64 *left_over, u32 row, u32 *phases)
{
	u32 i = 0, k, done, n = j->entry_at[start];
	struct sphase ph = { .at = NO_PC };
	struct chain chain;
	bool whole = all_whole(c);

	*phases = 0;
	ts->row = (s32)row;
	ph.first = (struct sprivate *)c->warps[0].jp;
	for (k = 0; k < c->nwarps; k++)
		((struct sprivate *)c->warps[k].jp)->met = 0;
	for (;;) {
		ts->budget = (s64)c->nwarps << (j->strip->spins ? 14 : 17);
		if (ts->budget > *left_over)
			ts->budget = *left_over;
		*left_over -= ts->budget + 16;
		ts->block_budget = ts->budget;
		ph.least = ts->budget / 2;
		for (k = 0; k < c->nwarps && n != j->entry_at[0]; k++)
			if (is_whole(&c->warps[k]))
				strip_park(j, &c->warps[k], n);
		while (i < c->nwarps) {
			struct warp *w = &c->warps[i];
			u32 lanes, pc, stand;
			int r;

			chain = (struct chain){ .phase = &ph, .warps = c->warps, .n = chained(c) };
			r = run_warp(ts, j, &w, n, &done, whole ? &chain : NULL);
			if (chain.moved) {
				/* the others stand behind another barrier now */
				start = ph.start;
				n = j->entry_at[start];
				++*phases;
				for (k = 0; k < c->nwarps; k++)
					if (&c->warps[k] != w)
						stands(&c->warps[k], start);
			}
			i = w->index;
			lanes = w->main.lanes;
			pc = w->main.pc;
			stand = NO_PC;
			if (r == ENDED && done == lanes)
				stand = S_ENDED;
			else if (r == AT_ONE && !done && w->main.mask == lanes && ph.at == (pc | S_TURN))
				stand = ph.at;
			else if (r == AT_ONE && !done && w->main.mask == lanes && jit_barrier(&j->strip->code[pc]) && jit_meets(c, &j->strip->code[pc]))
				stand = pc;
			if (stand == NO_PC || (ph.at != NO_PC && ph.at != stand))
				break;
			ph.at = stand;
			/* what it has lies in slots; code that brings the others here goes on with the first warp, and looks into homes */
			if (stand != S_ENDED && is_whole(w) && j->entry_at[behind(stand)])
				strip_park(j, w, j->entry_at[behind(stand)]);
			i++;
		}
		*left_over += ts->budget > 0 ? ts->budget : 0;
		if (i == c->nwarps) {
			if (ph.at == S_ENDED) {
				for (k = 0; k < c->nwarps; k++)
					stands(&c->warps[k], 0);
				return RUN_DONE;
			}
			++*phases;
			start = behind(ph.at);
			n = j->entry_at[start];
			if (*left_over > 0 && n) {
				for (k = 0; k < c->nwarps; k++)
					stands(&c->warps[k], start);
				ph.at = NO_PC;
				i = 0;
				continue;
			}
		}
		/* they part here; those behind warp i have not run, and stand where the phase began */
		for (k = 0; k < i; k++) {
			if (ph.at == S_ENDED)
				hand_over(c, &c->warps[k], c->warps[k].main.lanes);
			else
				stands(&c->warps[k], ph.at & ~S_TURN);
		}
		if (i < c->nwarps)
			hand_over(c, &c->warps[i], done);
		return c->done_warps == c->nwarps ? RUN_DONE : RUN_BUDGET;
	}
}

/* As jit_block() does. */
enum run strip_block(struct tstate *ts, struct cta *c, s64 *left_over, u32 *more)
{
	const struct jit *j = newest(c->jit);
	u32 phases, may = *more;
	enum run r;

	*more = 0;
	if (!j->entry_at[0])
		return RUN_BUDGET;
	ts->blocks++;
	r = in_step(ts, c, j, 0, left_over, may, &phases);
	*more = may - (u32)ts->row;
	c->pristine = r == RUN_DONE && c->done_warps != c->nwarps;
	return r;
}

/* As jit_again() does, of warps that stand abreast. */
bool strip_again(struct tstate *ts, struct cta *c, s64 *left_over, enum run *r)
{
	const struct jit *j = newest(c->jit);
	u32 pc = c->warps[0].main.pc, n = j->entry_at[pc], i, phases;

	for (i = 0; n && i < c->nwarps; i++)
		if (!as_claimed(j, &j->entries[n - 1], &c->warps[i].main, c->warps[i].main.mask))
			return false;
	if (!n)
		return false;
	*r = in_step(ts, c, j, pc, left_over, 0, &phases);
	c->astray = phases || *r == RUN_DONE ? 0 : (u8)(c->astray + 1);
	return true;
}
