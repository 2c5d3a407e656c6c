/* SPDX-License-Identifier: MIT */
/* Which code a function has: by the shape of its blocks, made when it is first asked for, by the compiler for this processor. */
#include "jit.h"
#include "rt.h"
#include "strip/strip.h"

/*
 * The shape of a block, as the code is specialised for it. Programs of before independent thread scheduling sort and reduce by one warp
 * through global memory and no barrier at all (CuPy's partition does): processors keep its lanes in step as long as they go one way, so that
 * what all have stored is there when they load next.
 */
u32 jit_spec(const struct func *fn, const u32 *block)
{
	u32 x = block[0], yz = block[1] * block[2];
	u32 part = lanes_get() != &lanes_avx512 && x * yz % LANES ? SPEC_PART : 0;

	if (x % LANES == 0)
		return x * yz == LANES && fn && fn->jsrc && fn->jsrc->steps ? SPEC_LINEAR | SPEC_STEP : SPEC_LINEAR;
	if (yz == 1)
		return SPEC_LINE | part;
	if (x < LANES && !(x & (x - 1)) && block[1] % (LANES / x) == 0)
		return SPEC_POW2 | (u32)__builtin_ctz(x) << 8;
	return SPEC_ANY | part;
}

/*
 * Lanes that part at a branch which is no region's (jit_region.c) are the interpreter's until they meet. A block, c, has had
 * one such moment a warp; when jit_patience blocks have, the kernel is compiled anew for the blocks and launches to come: first with vectors in
 * the place of scalars that were in the way, then, if that is not enough or there are none, as strips, in which every lane has a way of its own.
 * The new code is on trial: jit_took() sees which of the two is faster. Called by workers.
 */
u32 jit_patience = 8;

/*
 * Lanes that wrap in 32 bits, as s[t - o] of those does who will not read it, have no widened pattern: their warp leaves code there, and what the
 * interpreter goes on with is none for code behind it either. After so many, blocks and launches to come have code with vectors at that place.
 */
#define WRAPPED (jit_patience == 1 ? 1u : 16u)
#define MOST_ANEW 24u           /* of one function: behind one such place there may be others, which only code that does not leave there comes to */

/* Blocks whose time has to be known before there is a trial; only what was of late counts */
#define KNOWN 8u
#define LATE 256u
/*
 * During a trial old and new code have turns alternately, up to TURNS behind SETTLING, and what is compared is those of one with the next of the other: blocks
 * of a picture's edge take less than those of its middle. Of each pair the slower one counts as so many times the faster at most: it may have been interrupted.
 */
#define PAIRS 32u
#define TURNS 4u
#define SETTLING 2u
#define CLAMP 2u
/* What needs no more pairs: so many, all of which have the same one faster, and together three halves as fast. Where others want the processor, too, a few of a row are interrupted */
#define CLEAR_PAIRS 8u
#define CLEAR(a, b) (2 * (a) > 3 * (b))
/* and fewer, where each has the same one so many times as fast, and a block of the other takes longer than an interruption: it is the interpreter's, as good as whole */
#define VAST 8u
#define VAST_PAIRS 4u
/* When code that walks has a trial: clock ticks that it has taken, what compiling is little beside; and so many blocks' */
#define WALKED (1u << 24)
#define WALKED_BLOCKS 16u
/* Another matrix may have other rows: what a trial has shown is asked anew when so many times the ticks are spent */
#define AGAIN 8u

/* One function's source, as it is compiled: workers do that too. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

enum what { CODE_FIRST, CODE_APART, CODE_STRIPS };

static struct jit *compile(struct func *fn, u32 spec, enum what what)
{
	u32 csr = __builtin_ia32_stmxcsr();
	bool wide = fn->m->e->lanes == &lanes_avx512;
	struct jit *j = NULL;

	pthread_mutex_lock(&compiling);
	__builtin_ia32_ldmxcsr(0x1f80);
	if (wide && what != CODE_STRIPS)
		j = what == CODE_APART ? jit_compile_apart(fn, spec) : jit_compile(fn, spec);
	if (!j && (!wide || (what != CODE_FIRST && !(spec & SPEC_STEP))))
		j = strip_compile(fn, spec, S_AREA);
	__builtin_ia32_ldmxcsr(csr);
	pthread_mutex_unlock(&compiling);
	return j;
}

static void swap(struct grid *g, const struct jit *from, struct jit *to)
{
	if (to && __atomic_load_n(&g->jit, __ATOMIC_RELAXED) == from)
		__atomic_store_n(&g->jit, to, __ATOMIC_RELEASE);
}

/* False: there is other code already, or none to be had. */
static bool try(struct jit *j, enum what what)
{
	struct jit *n;

	if (__atomic_exchange_n(&j->trying, true, __ATOMIC_RELAXED) || !(n = compile(j->fn, j->spec, what)))
		return false;
	n->older = j;
	__atomic_store_n(&j->newer, n, __ATOMIC_RELEASE);
	__atomic_store_n(&j->trial, JIT_TRIED, __ATOMIC_RELEASE);
	return true;
}

/*
 * Lanes that walk through memory of their own, each a row of a matrix, say, are in 32 lines at once, and where these are a power of two apart
 * the cache has room for a few of them: what a round brings is gone before the next one. A strip's lanes walk to the end before the next
 * strip's begin. Whether that is faster is not to be seen in the code; only code that has taken some time is tried.
 */
void jit_walked(struct cta *c)
{
	struct jit *j = (struct jit *)(uintptr_t)c->jit;

	__atomic_store_n(&j->due, false, __ATOMIC_RELAXED);
	if (try(j, CODE_STRIPS))
		swap(c->g, j, j->newer);
}

void jit_part(struct cta *c, const struct jit *old)
{
	struct jit *j = (struct jit *)(uintptr_t)old;
	bool first = jit_patience == 1, slow = __atomic_load_n(&j->spent, __ATOMIC_RELAXED) > WALKED;
	u32 n;

	/* how fast this code is has to be known; then one of them is the one that makes it so many. Few will do where they take long: each is the interpreter's, mostly */
	if (__atomic_load_n(&j->ran, __ATOMIC_RELAXED) < (jit_patience == 1 ? 0 : slow ? 2 : KNOWN))
		return;
	n = __atomic_add_fetch(&j->parted, 1, __ATOMIC_RELAXED);
	if ((n == jit_patience || (slow && n >= 2 && n < jit_patience)) && try(j, CODE_APART))
		first = true;
	/* later on it is judge() that says whose turn it is: blocks of the new code among those of the old one's turn would make both alike */
	if (first && __atomic_load_n(&j->trial, __ATOMIC_ACQUIRE) == JIT_TRIED)
		swap(c->g, j, j->newer);
}

/*
 * Sides with scalars of their own (jit_region.c) have all code up to where they meet by themselves. For lanes that leave a loop in two or three
 * groups that is what there is; where every other warp has parted so, vectors in the place of those scalars may be faster.
 */
static void sides(struct grid *g, struct jit *j, u64 done, u32 times)
{
	u64 warps = ((u64)g->dim[0] * g->dim[1] * g->dim[2] + LANES - 1) / LANES;
	u32 i;

	if (j->older || j->strip || 2 * (u64)times < done * warps || (jit_patience > 1 && __atomic_load_n(&j->ran, __ATOMIC_RELAXED) < KNOWN) ||
	    __atomic_add_fetch(&j->parted, 1, __ATOMIC_RELAXED) != jit_patience)
		return;
	for (i = 0; i < j->nregions; i++)
		if (j->regions[i].apart)
			__atomic_fetch_or(&j->fn->jsrc->parted[j->regions[i].at], PARTED_LANES, __ATOMIC_RELAXED);
	if (try(j, CODE_APART))
		swap(g, j, j->newer);
}

/* Of code that walks, and of its strips, the trial is over; is it time for another? */
static void again(struct grid *g, struct jit *ran)
{
	struct jit *old = __atomic_load_n(&ran->trial, __ATOMIC_ACQUIRE) ? ran : (struct jit *)(uintptr_t)ran->older, *n;
	u64 spent;

	if (!old || !old->again || __atomic_load_n(&old->trial, __ATOMIC_ACQUIRE) == JIT_TRIED)
		return;
	n = old->newer;
	spent = old->spent + n->spent;
	if (spent < old->again)
		return;
	old->again = AGAIN * spent;
	n->pairs = n->won = n->vast = 0;
	n->sum[0] = n->sum[1] = n->pair[0] = n->pair[1] = 0;
	__atomic_store_n(&old->trial, JIT_TRIED, __ATOMIC_RELEASE);
	swap(g, ran, ran == n ? old : n);
}

/*
 * So many turns in a row are one code's where there are that many: its first ones are not counted. What a turn asks for ahead (ahead.h) is the next one's,
 * and with turns of one and the other both wait for memory alike, however much one of them computes.
 */
static bool took(struct grid *g, struct jit *n, bool newer, u64 ticks, u64 done, u64 *each)
{
	u64 turns = g->nblocks / done / 8;

	turns = jit_patience == 1 || turns < 1 ? 1 : turns < TURNS ? turns : TURNS;
	if (n->of != g->gridid || n->of_newer != newer) {
		n->of = g->gridid;
		n->of_newer = newer;
		n->of_turns = 0;
		n->of_ticks = n->of_blocks = 0;
	}
	if (++n->of_turns <= SETTLING && turns > 1)
		return false;
	n->of_ticks += ticks;
	n->of_blocks += done;
	if (n->of_turns < (turns > 1 ? SETTLING + turns : 1))
		return false;
	*each = n->of_ticks / n->of_blocks + 1;
	n->of = 0;
	return true;
}

/* A turn of ran took so long for so many blocks. The lock is held, or nobody else has the grid; what two workers mix up is a pair or two. */
static void judge(struct grid *g, struct jit *ran, u64 ticks, u64 done)
{
	struct jit *old = ran, *n = ran->newer;
	u64 a, b, each;
	bool clear;

	if (__atomic_load_n(&old->trial, __ATOMIC_ACQUIRE) != JIT_TRIED) {
		n = ran;
		old = (struct jit *)(uintptr_t)n->older;
		if (!old || __atomic_load_n(&old->trial, __ATOMIC_ACQUIRE) != JIT_TRIED)
			return;
	}
	if (!took(g, n, ran == n, ticks, done, &each))
		return;
	n->pair[ran == n] = each;
	if (n->pair[0] && n->pair[1]) {
		a = n->pair[0];
		b = n->pair[1];
		n->sum[0] += a < CLAMP * b ? a : CLAMP * b;
		n->sum[1] += b < CLAMP * a ? b : CLAMP * a;
		n->pair[0] = n->pair[1] = 0;
		n->pairs++;
		n->won += b < a;
		n->vast += (a > VAST * b && a > WALKED) || (b > VAST * a && b > WALKED);
		clear = n->pairs == VAST_PAIRS && n->vast == n->pairs && (!n->won || n->won == n->pairs);
		clear |= n->pairs >= CLEAR_PAIRS && ((!n->won && CLEAR(n->sum[1], n->sum[0])) || (n->won == n->pairs && CLEAR(n->sum[0], n->sum[1])));
		if (n->pairs >= PAIRS || clear) {
			/* one long pair, at whose beginning pages were missing, say, is not to outdo all others */
			bool better = n->sum[1] <= n->sum[0] && 3 * n->won >= n->pairs;

			if (old->walks)
				old->again = AGAIN * (old->spent + n->spent);
			__atomic_store_n(&old->trial, better ? JIT_CHOSEN : JIT_KEPT, __ATOMIC_RELEASE);
			swap(g, better ? old : n, better ? n : old);
			return;
		}
	}
	if (jit_patience > 1)
		swap(g, ran, ran == n ? old : n);
}

void jit_took(struct grid *g, const struct jit *ran, u64 ticks, u64 done)
{
	struct jit *n = (struct jit *)(uintptr_t)ran;
	u64 t = __atomic_load_n(&n->ticks, __ATOMIC_RELAXED) + ticks, k = __atomic_load_n(&n->ran, __ATOMIC_RELAXED) + done, spent;

	while (k > LATE) {
		t /= 2;
		k /= 2;
	}
	__atomic_store_n(&n->ticks, t, __ATOMIC_RELAXED);
	__atomic_store_n(&n->ran, k, __ATOMIC_RELAXED);
	spent = __atomic_load_n(&n->spent, __ATOMIC_RELAXED) + ticks;
	__atomic_store_n(&n->spent, spent, __ATOMIC_RELAXED);
	if (n->walks && !__atomic_load_n(&n->trying, __ATOMIC_RELAXED) &&
	    (jit_patience == 1 || (spent > WALKED && spent > WALKED_BLOCKS * (ticks / done))))
		__atomic_store_n(&n->due, true, __ATOMIC_RELAXED);
	if (cpu_ts && cpu_ts->sides) {
		sides(g, n, done, cpu_ts->sides);
		cpu_ts->sides = 0;
	}
	again(g, n);
	judge(g, n, ticks, done);
	if (g->tunes)
		tune_took(g, n, ticks, done);
}

static struct jit *found(struct func *fn, u32 spec)
{
	struct jit *j;

	/* Acquire: the code behind it. Partner: the store in jit_get(). */
	for (j = __atomic_load_n(&fn->jits, __ATOMIC_ACQUIRE); j; j = j->next)
		if (j->spec == spec && !(j->guessed && fn->jsrc->noguess) &&
		    (__atomic_load_n(&j->wrapped, __ATOMIC_RELAXED) < WRAPPED || __atomic_load_n(&fn->jsrc->anew, __ATOMIC_RELAXED) > MOST_ANEW)) {
			u32 trial;

			/* of one that is tried, whose turn it is */
			while ((trial = __atomic_load_n(&j->trial, __ATOMIC_ACQUIRE)) == JIT_CHOSEN || (trial == JIT_TRIED && !j->newer->pair[1]))
				j = j->newer;
			return j;
		}
	return NULL;
}

/* The code for a shape; NULL: there is none, interpret. Called by the dispatcher, and by workers for what kernels launch. */
struct jit *jit_get(struct func *fn, u32 spec)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	struct jit *j = found(fn, spec);

	if (j || !fn->jsrc || !fn->m->e->code_rw || __atomic_load_n(&fn->jit_failed, __ATOMIC_RELAXED))
		return j;
	pthread_mutex_lock(&adding);
	j = found(fn, spec);
	if (!j && !fn->jit_failed) {
		j = compile(fn, spec, CODE_FIRST);
		if (j) {
			j->next = fn->jits;
			__atomic_store_n(&fn->jits, j, __ATOMIC_RELEASE);
		} else if (fn->jsrc->anew) {            /* what there was has to do */
			__atomic_store_n(&fn->jsrc->anew, MOST_ANEW + 1, __ATOMIC_RELAXED);
			j = found(fn, spec);
		}
		if (!j)
			__atomic_store_n(&fn->jit_failed, true, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&adding);
	return j;
}

void jit_wraps(struct grid *g, const struct jit *j, u32 pc)
{
	const struct jit *now = __atomic_load_n(&g->jit, __ATOMIC_RELAXED), *n;
	struct jit *first;
	bool due = false;

	__atomic_fetch_or(&j->fn->jsrc->parted[pc], PARTED_WIDE, __ATOMIC_RELAXED);
	for (first = __atomic_load_n(&j->fn->jits, __ATOMIC_ACQUIRE); first; first = first->next)
		for (n = first; n; n = __atomic_load_n(&n->newer, __ATOMIC_ACQUIRE))
			if (n == j)
				due |= __atomic_add_fetch(&first->wrapped, 1, __ATOMIC_RELAXED) == WRAPPED;
	if (!due || __atomic_add_fetch(&j->fn->jsrc->anew, 1, __ATOMIC_RELAXED) > MOST_ANEW)
		return;
	/* blocks that this grid has yet to begin have it, too */
	swap(g, now, jit_get(j->fn, j->spec));
}

void jit_drop_code(struct jit *j)
{
	struct engine *e = j->fn->m->e;

	jit_code_give(e, (u64)(j->code - e->code_rx), j->bytes);
	free(j->mem);
}

void jit_free(struct func *fn)
{
	struct jit *j;

	while ((j = fn->jits)) {
		struct engine *e = fn->m->e;

		fn->jits = j->next;
		strip_free(j);
		jit_code_give(e, (u64)(j->code - e->code_rx), j->bytes);
		free(j->mem);
	}
	jit_src_free(fn->jsrc);
	fn->jsrc = NULL;
	body_free(fn);
}
