/* SPDX-License-Identifier: MIT */
/*
 * By which of its two functions a kernel is run: the ordinary one, or the one whose blocks do the work of several (coarsen.c). For a product of a
 * matrix and a vector the code says it: coarsen_pays(). For others it depends on what a block's own code waits for: on barriers and on results that it needs
 * at once, when more blocks are more that can be done meanwhile; or on memory, or on registers, when they are not. So where the other function may be, and the
 * kernel has taken some time, launches are made by the one and by the other, and what a block took is compared.
 *
 *      tune_takes()    a launch, on the dispatcher: whose turn is it?
 *      tune_took()     a turn's blocks took so long
 *      tune_due()      time for the trial: a worker makes the other function and its code, before a turn
 *
 * Which of a pair of launches is the other function's goes by the sequence of Thue and Morse: so that of launches of two or four kinds, which programs
 * make in turn, either has as many of each.
 */
#include "jit.h"
#include "rt.h"

/* The trial begins when the kernel has taken TUNED clock ticks, beside which compiling it once more is little, in so many launches */
#define TUNED_INSN (1u << 16)   /* ... and so many for each instruction of it */
#define TUNED_LAUNCHES 4u
#define MOST_INSNS 8192u        /* four times as many are more than the processor has near */
/* Pairs of launches that are compared, behind SETTLING; of each the slower one counts as so many times the faster at most: it may have been interrupted */
#define PAIRS 12u
#define SETTLING 2u
#define CLAMP 4u
/* So many pairs do where all have the same one faster and together this is clear; fewer where it was CLAMP times as long */
#define CLEAR_PAIRS 4u
#define CLEAR(a, b) (8 * (a) > 9 * (b))
#define HOPELESS_PAIRS 2u
#define HOPELESS 8u             /* the first pair does where the coarse one takes so many times as long: launches like that are not to be many */
/* Of a launch with other numbers something else may be right: it is asked anew when so many times the ticks are spent */
#define AGAIN 8u
#define UNIT 256u               /* ticks are compared in parts of so many */

static bool patient(void) { return jit_patience > 1; }

static u32 state_of(const struct tune *t) { return __atomic_load_n(&t->state, __ATOMIC_ACQUIRE); }

static bool first_of_pair(const struct tune *t) { return __builtin_parity(t->pairs); }

bool tune_takes(const struct func *fn)
{
	const struct tune *t = &fn->tune;
	bool first;

	switch (state_of(t)) {
	case TUNE_CHOSEN:
		return true;
	case TUNE_TRIED:
		first = first_of_pair(t);
		return __atomic_load_n(&t->pair[first], __ATOMIC_RELAXED) ? !first : first;
	}
	return false;
}

/* Is code of j, or of what it is tried against, on trial itself? */
static bool unsettled(const struct jit *j)
{
	return __atomic_load_n(&j->trial, __ATOMIC_RELAXED) == JIT_TRIED || (j->older && __atomic_load_n(&j->older->trial, __ATOMIC_RELAXED) == JIT_TRIED);
}

static void begin(struct tune *t)
{
	t->held = t->state == TUNE_CHOSEN;
	t->pairs = t->won = 0;
	t->sum[0] = t->sum[1] = t->pair[0] = t->pair[1] = 0;
	__atomic_store_n(&t->state, TUNE_TRIED, __ATOMIC_RELEASE);
}

/* Behind n pairs. */
static void over(struct tune *t, u32 n)
{
	/* who was not the one before has to be better by a thirtieth, and in a third of all pairs: a few long launches say little */
	u64 more = t->sum[t->held ? 0 : 1] / 32;
	bool better = t->held ? t->sum[0] + more > t->sum[1] || 3 * (n - t->won) < n : t->sum[1] + more <= t->sum[0] && 3 * t->won >= n;

	t->again = AGAIN * t->spent;
	__atomic_store_n(&t->state, better ? TUNE_CHOSEN : TUNE_KEPT, __ATOMIC_RELEASE);
}

/* A launch by the one or the other took so long for each block. */
static void judge(struct tune *t, bool coarse, u64 each)
{
	u64 a, b;
	u32 n;
	bool one;

	__atomic_store_n(&t->pair[coarse], each + 1, __ATOMIC_RELAXED);
	a = t->pair[0];
	b = t->pair[1];
	if (!a || !b)
		return;
	__atomic_store_n(&t->pair[0], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->pair[1], 0, __ATOMIC_RELAXED);
	n = ++t->pairs;
	if (patient() && n <= SETTLING && b < HOPELESS * a)
		return;
	if (b >= HOPELESS * a && !t->won) {
		t->sum[0] += a;
		t->sum[1] += b;
		over(t, 1);
		return;
	}
	n -= patient() ? SETTLING : 0;
	t->sum[0] += a < CLAMP * b ? a : CLAMP * b;
	t->sum[1] += b < CLAMP * a ? b : CLAMP * a;
	t->won += b < a;
	one = !t->won || t->won == n;
	if (n >= PAIRS || !patient() || (n >= CLEAR_PAIRS && one && (CLEAR(t->sum[0], t->sum[1]) || CLEAR(t->sum[1], t->sum[0]))) ||
	    (n >= HOPELESS_PAIRS && t->sum[1] >= (CLAMP - 1) * t->sum[0]))
		over(t, n);
}

void tune_took(struct grid *g, const struct jit *ran, u64 ticks, u64 done)
{
	struct func *fn = g->fn->of ? g->fn->of : g->fn;
	struct tune *t = &fn->tune;
	u32 state = state_of(t);

	__atomic_store_n(&t->spent, __atomic_load_n(&t->spent, __ATOMIC_RELAXED) + ticks, __ATOMIC_RELAXED);
	g->took += ticks;
	g->took_blocks += done;
	if (g->took_blocks != g->nblocks)
		return;
	if (state == TUNE_UNTRIED) {
		if (!patient() || (++t->launches >= TUNED_LAUNCHES && t->spent > TUNED && t->spent / TUNED_INSN > fn->ncode && fn->ncode <= MOST_INSNS))
			__atomic_store_n(&t->due, true, __ATOMIC_RELAXED);
	} else if (state == TUNE_TRIED) {
		if (!unsettled(ran))
			judge(t, g->fn != fn, g->took * UNIT * g->join.parts / (g->nblocks * g->step * g->rows));
	} else if (t->again && t->spent > t->again) {
		begin(t);
	}
}

void tune_due(struct grid *g)
{
	struct func *fn = g->fn;
	struct tune *t = &fn->tune;

	if (!__atomic_exchange_n(&t->due, false, __ATOMIC_RELAXED) || state_of(t) != TUNE_UNTRIED)
		return;
	/* Somebody else may compile, and that may take long: another time. */
	if (pthread_mutex_trylock(&fn->m->e->compile_lock))
		return;
	if (state_of(t) == TUNE_UNTRIED) {
		if (func_coarse(fn) && jit_get(fn->coarse, jit_spec(fn->coarse, g->block)))
			begin(t);
		else
			__atomic_store_n(&t->state, TUNE_KEPT, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&fn->m->e->compile_lock);
}
