/* SPDX-License-Identifier: MIT */
/*
 * Run time: grids, worker threads, launches. Workers take turns (block.c) from all grids in a round: a
 * block that has used its slice goes to the end of its grid's list and the worker takes the next grid, so
 * that an endless kernel starves nobody, and blocks that wait for each other (grid sync, decoupled
 * look-back) all get on.
 *
 * A turn gets several blocks when they are short, by the time that the last ones took: the lock is then taken
 * once in microseconds. Long blocks are given out one by one, in order. What a turn does not start in time,
 * it gives back (rest[]), and the lowest number is always the next to start: blocks wait for lower ones.
 *
 * Locking: engine.lock guards the list of grids, every grid's second half and the pools. A block that runs
 * belongs to its thread alone; launch() and what it keeps for itself belong to the dispatcher.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jit.h"
#include "devrt.h"
#include "memcheck.h"
#include "rt.h"
#include "verify.h"

#define SLICE (1 << 18)         /* budget of a block's turn, about a millisecond or two */
#define COOP_SLICE (1 << 14)    /* blocks of these wait for each other: short turns */
#define TURN_TICKS 60000u       /* clock ticks of a turn of short blocks: long beside taking the lock, which the others want too */
#define ROW 16u                 /* blocks that code runs before it asks whether to go on */
#define INLINE_BUDGET (1 << 15) /* of a block that launch() runs in place */
#define INLINE_TICKS (1u << 17) /* of all of them together: what a hand-over to another thread may cost */
#define STAY_TICKS (1u << 20)    /* that a short grid may keep the dispatcher: a few hundred microseconds */
#define AWAIT_TICKS (1u << 16)  /* the end of what others do of it, and of workers with nothing to do for the next one: about what waking takes */
#define AWAKE_TICKS (1u << 20)  /* so long in all while the dispatcher has one small grid after the other: a stream's next large one is not far */
#define AWAKE 3u                /* workers that wait so long: all of them look at what the dispatcher writes at each grid */
#define SHARE_TICKS (1u << 16)  /* small beside a worker that is awake: a hand-over costs a microsecond, but what is read is in two cores' caches */
#define INLINE_THREADS 2048     /* largest grid that is tried in place when nothing is known about its kernel */
#define HELD_NS 100000000       /* a bound on waiting for our turn, whatever was missed */
#define EVEN 8                  /* one turn of so many goes round without regard to priority */
#define CTA_POOL 256            /* idle blocks that keep their memory */

static void grid_unlink(struct grid *g)
{
	g->e->urgent -= g->priority != 0;
	g->prev->next = g->next;
	g->next->prev = g->prev;
}

static void grid_append(struct engine *e, struct grid *g)
{
	e->urgent += g->priority != 0;
	g->prev = e->grids.prev;
	g->next = &e->grids;
	g->prev->next = g;
	e->grids.prev = g;
	__atomic_store_n(&e->news, e->news + 1, __ATOMIC_RELAXED);
}

/* With the lock held. */
void cta_put(struct engine *e, struct cta *c)
{
	if (e->ncta_pool >= CTA_POOL) {
		cta_free(e, c);
		return;
	}
	c->next = e->cta_pool;
	e->cta_pool = c;
	e->ncta_pool++;
}

static struct cta *cta_pooled(struct engine *e)
{
	struct cta *c = e->cta_pool;

	if (c) {
		e->cta_pool = c->next;
		e->ncta_pool--;
	}
	return c;
}

/* ---- grids, all with the lock held ------------------------------------------------------- */

bool grid_ended(struct engine *e, const struct grid *g)
{
	return !g->running && !g->keepers && (g->done_blocks == g->nblocks || status_of(g) || sticky(e));
}

/* Takes the grid out. What is to be told then is in x: where kernels have launched kernels that is of the host's launch, or nothing yet. */
static void grid_end(struct engine *e, struct grid *g, struct ended *x)
{
	u32 st = status_of(g);
	struct cta *c;

	if (!st && g->done_blocks != g->nblocks)
		st = sticky(e) ? sticky(e) : VGPU_ST_INTERNAL;
	while ((c = g->suspended)) {
		g->suspended = c->next;
		cta_put(e, c);
	}
	if (g->kin)
		kin_over(e, g, st, x);
	else
		*x = (struct ended){ true, g->cookie, st };
	g->kin = NULL;
	__atomic_store_n(&e->news, e->news + 1, __ATOMIC_RELAXED);
	g->next = e->grid_pool;
	e->grid_pool = g;
}

/* With the lock held, which is given away meanwhile. */
static void tell(struct engine *e, struct ended *x)
{
	if (!x->tell)
		return;
	pthread_mutex_unlock(&e->lock);
	e->env.done(e->env.owner, x->cookie, x->status);
	pthread_mutex_lock(&e->lock);
	x->tell = false;
}

/* Where the lowest blocks that nobody has started are; at == end: nowhere. */
static struct range unstarted(const struct grid *g, u32 *rest)
{
	struct range r = { g->next_block, g->nblocks };
	u32 i;

	*rest = GRID_RESTS;
	for (i = 0; i < g->nrest; i++)
		if (g->rest[i].at < r.at) {
			r = g->rest[i];
			*rest = i;
		}
	return r;
}

/* So many blocks that they take some microseconds, and never so many that another thread has nothing. */
static u64 chunk(const struct engine *e, const struct grid *g, u64 left)
{
	u64 n = left / (2 * e->nthreads), most = g->est ? TURN_TICKS / g->est : 1;

	if (g->cooperative || g->team > 1 || g->nrest + g->running >= GRID_RESTS)
		return 1;
	n = n < most ? n : most;
	return n ? n : 1;
}

/* How many blocks code may start behind one by itself: as many as a turn has, if they take as long as others did. To begin anew costs a third of a short one. */
static u32 row(const struct grid *g)
{
	u64 n = g->est ? TURN_TICKS / g->est : 1;

	return n > ROW ? ROW - 1 : n ? (u32)n - 1 : 0;
}

static bool pick(struct engine *e, struct grid *g, struct turn *t)
{
	struct cta *c = g->suspended;
	struct range r;
	bool more;
	u32 i;

	if (status_of(g) || sticky(e) || alone_waits(e, g))
		return false;
	r = unstarted(g, &i);
	more = r.at < r.end && g->resident < g->max_resident;
	t->g = g;
	t->at = t->end = 0;
	/* a block that has run long may be waiting for one that has not started */
	if (c && !(more && (c->slices >= 16 || g->cooperative))) {
		g->suspended = c->next;
		if (!g->suspended)
			g->tail = &g->suspended;
		g->running++;
		t->c = c;
		t->started = true;
		return true;
	}
	if (!more)
		return false;
	t->started = false;
	t->row = row(g);
	t->at = r.at;
	t->end = r.at + chunk(e, g, r.end - r.at);
	if (i == GRID_RESTS)
		g->next_block = t->end;
	else if (t->end < r.end)
		g->rest[i].at = t->end;
	else
		g->rest[i] = g->rest[--g->nrest];
	g->resident++;
	g->running++;
	return true;
}

/* The next turn of g, if it has one. t->c is the block to go on with, or stays as it is. */
bool grid_pick(struct engine *e, struct grid *g, struct turn *t)
{
	bool got = pick(e, g, t);

	if (got) {
		alone_turn(e, t);
		tally_turn(t);
	}
	return got;
}

/* n that sleep, at most, but the one whose processor is not_on. */
static void wake(struct engine *e, u64 n, int not_on)
{
	for (u32 i = 0; n && e->sleepers && i < e->nthreads; i++) {
		struct bed *b = &e->beds[i];

		if (!b->asleep || (not_on >= 0 && b->cpu == not_on))
			continue;
		b->asleep = false;
		e->sleepers--;
		n--;
		pthread_cond_signal(&b->wake);
	}
}

/* With the lock held: there is something for n workers. */
void rt_wake(struct engine *e, u64 n)
{
	__atomic_store_n(&e->news, e->news + 1, __ATOMIC_RELAXED);
	wake(e, n, e->here);
}

static void give_back(struct engine *e, struct turn *t)
{
	if (t->at >= t->end)
		return;
	/* chunk() left room for it */
	t->g->rest[t->g->nrest++] = (struct range){ t->at, t->end };
	t->at = t->end;
	rt_wake(e, 1);
}

/* For the kernel's next launch. A single long time may be that of another process on this core. before: of earlier turns of the same blocks. */
static void learn(struct grid *g, const struct jit *ran, u64 ticks, u64 before, u64 done)
{
	u64 was, now = done == 1 ? ticks : ticks / done + 1;

	g->est = now;
	if (!g->fn)
		return;
	if (ran)
		jit_took(g, ran, ticks + before, done);
	was = __atomic_load_n(&g->fn->est, __ATOMIC_RELAXED);
	if (was && now > 8 * was)
		now = 8 * was;
	__atomic_store_n(&g->fn->est, now, __ATOMIC_RELAXED);
}

static void suspend(struct grid *g, struct cta *c, u64 ticks)
{
	c->slices++;
	c->spent += ticks;
	c->next = NULL;
	if (!g->suspended)
		g->tail = &g->suspended;
	*g->tail = c;
	g->tail = &c->next;
}

/* Files what became of a turn. True: t->c is still the thread's, with nothing in it. */
bool grid_put(struct engine *e, struct turn *t)
{
	struct grid *g = t->g;
	struct cta *c = t->c;

	g->running--;
	g->done_blocks += t->done;
	alone_turned(e, t);
	give_back(e, t);
	if (t->r == RUN_BUDGET) {
		suspend(g, c, t->ticks);
		g->est = TURN_TICKS;
		return false;
	}
	if (t->done)
		learn(g, c && c->gridid == g->gridid ? c->jit : NULL, t->ticks, c ? c->spent : 0, t->done);
	if (c)
		c->spent = 0;
	g->resident--;
	if (grid_rest(e, g))
		rt_wake(e, g->nblocks - 1);
	return true;
}

void rt_give_back(struct turn *t)
{
	pthread_mutex_lock(&t->e->lock);
	t->g->est = TURN_TICKS;
	give_back(t->e, t);
	pthread_mutex_unlock(&t->e->lock);
}

/* ---- workers ------------------------------------------------------------------------------ */

/* Others' turn: the word, which does not let us go on; 0: it does. */
static u32 held(const struct engine *e)
{
	u32 word = e->env.run ? __atomic_load_n(e->env.run, __ATOMIC_RELAXED) : 0;

	return word & ENGINE_HELD ? word : 0;
}

static void wait_for_turn(const struct engine *e, u32 word)
{
	const struct timespec most = { .tv_nsec = HELD_NS };

	syscall(SYS_futex, e->env.run, FUTEX_WAIT, word, &most, NULL, 0);
}

/*
 * A turn of the grid whose stream has the highest priority; NULL: it is the turn of all, each in its place, as one in EVEN is: a grid may
 * wait for one that is less urgent.
 */
static struct grid *most_urgent(struct engine *e, struct turn *t)
{
	if (e->rounds++ % EVEN == 0)
		return NULL;
	for (u32 p = VGPU_PRIORITIES - 1; p > 0; p--)
		for (struct grid *g = e->grids.next; g != &e->grids; g = g->next)
			if (g->priority == p && !grid_ended(e, g) && grid_pick(e, g, t))
				return g;
	return NULL;
}

/*
 * With the lock held, given away meanwhile: until a grid comes or goes, for a moment. What comes next is not far where a stream has one short
 * grid after the other, and to be woken takes as long as such a grid. False: nothing has come.
 */
static bool await_news(struct engine *e, u64 most)
{
	u32 was = e->news;
	u64 begin = __builtin_ia32_rdtsc(), now = begin, since;

	pthread_mutex_unlock(&e->lock);
	do {
		__builtin_ia32_pause();
		since = __atomic_load_n(&e->moved, __ATOMIC_RELAXED);
		now = __builtin_ia32_rdtsc();
	} while (__atomic_load_n(&e->news, __ATOMIC_RELAXED) == was && now - begin < most &&
		 (now - begin < AWAIT_TICKS || (s64)(now - since) < AWAIT_TICKS));
	pthread_mutex_lock(&e->lock);
	return e->news != was;
}

/* Sleeps until there is something to do. It waits for it awake first where nobody else wants the processor: beside a dispatcher that takes turns. */
static void go_to_bed(struct engine *e, struct bed *b, bool *awake)
{
	if (*awake && e->stays_on >= 0 && b->cpu >= 0 && b->cpu != e->stays_on) {
		*awake = await_news(e, __atomic_fetch_add(&e->awake, 1, __ATOMIC_RELAXED) < AWAKE ? AWAKE_TICKS : AWAIT_TICKS);
		__atomic_fetch_sub(&e->awake, 1, __ATOMIC_RELAXED);
		return;
	}
	b->asleep = true;
	e->sleepers++;
	while (b->asleep && !e->stop)
		pthread_cond_wait(&b->wake, &e->lock);
	if (b->asleep) {
		b->asleep = false;
		e->sleepers--;
	}
}

/* With the lock held: may this thread keep the sums that it has of g for the turn of g that it is about to have? */
static bool keeps_sums(const struct engine *e, const struct grid *g)
{
	struct range r;
	u32 rest;

	r = unstarted(g, &rest);
	return e->grids.next == g && g->next == &e->grids && (g->suspended || (r.at < r.end && g->resident < g->max_resident)) && !status_of(g) && !held(e) &&
	       !devrt_can_start(e);
}

/* With the lock held, which is given away meanwhile: is the grid's end there? Then it is told. */
static bool retire(struct engine *e, struct grid *g)
{
	struct ended x = { 0 };

	if (!grid_ended(e, g))
		return false;
	if (e->mc || g->vtext) {        /* print() may take its time; while it does, the kernel's module stays */
		g->running++;
		pthread_mutex_unlock(&e->lock);
		mc_grid_end(e, g);
		vf_grid_end(e, g);
		pthread_mutex_lock(&e->lock);
		g->running--;
	}
	grid_unlink(g);
	/* Release: what its blocks wrote. Partner: alone_enter(), run_inline(). */
	__atomic_fetch_sub(&e->alone.listed, 1, __ATOMIC_RELEASE);
	grid_end(e, g, &x);
	tell(e, &x);
	return true;
}

static void *worker(void *arg)
{
	struct bed *bed = arg;
	struct engine *e = bed->e;
	struct tstate *ts = tstate_get(e);
	struct cta *own = cta_new();            /* the block of fresh turns */
	struct turn t = { .e = e, .listed = true };
	struct ended x = { 0 };
	struct grid *g;
	bool got, awake = false;
	u32 word;

	if (!ts || !own) {
		free(own);
		return NULL;
	}
	/* Release: it is ready to be looked at. Partner: alone_enter(). */
	if (e->env.cores == 1)
		__atomic_store_n(&e->alone.worker, ts, __ATOMIC_RELEASE);
	pthread_mutex_lock(&e->lock);
	while (!e->stop) {
		got = false;
		if (ts->tally.g && !keeps_sums(e, ts->tally.g)) {
			retire(e, tally_close(e, ts));
			continue;
		}
		if ((e->grids.next != &e->grids || devrt_can_start(e)) && (word = held(e))) {
			pthread_mutex_unlock(&e->lock);
			wait_for_turn(e, word);
			pthread_mutex_lock(&e->lock);
			continue;
		}
		if (devrt_can_start(e)) {
			devrt_start(e, &x);
			tell(e, &x);
			continue;
		}
		g = e->urgent ? most_urgent(e, &t) : NULL;
		got = g != NULL;
		for (g = g ? g : e->grids.next; !got && g != &e->grids; g = g->next) {
			if (grid_ended(e, g))
				break;
			got = grid_pick(e, g, &t);
			if (got)
				break;
		}
		if (g == &e->grids) {
			if (ts->tally.g)
				retire(e, tally_close(e, ts));
			else
				go_to_bed(e, bed, &awake);
			continue;
		}
		awake = true;
		if (got) {
			/* the grid goes to the end: grids share the workers evenly */
			if (g->next != &e->grids) {
				grid_unlink(g);
				grid_append(e, g);
			}
			if (!t.started)
				t.c = own ? own : (own = cta_pooled(e));
			pthread_mutex_unlock(&e->lock);
			t.budget = g->cooperative ? COOP_SLICE : SLICE;
			t.limit = 4 * TURN_TICKS;
			if (!t.started && !own)
				t.c = own = cta_new();
			alone_beside(e, &t);
			tally_open(ts);
			if (t.c) {
				turn_run(ts, &t);
			} else {
				t.done = 0;
				t.r = RUN_FAULT;
			}
			pthread_mutex_lock(&e->lock);
			if (!t.c)
				fail_with(&g->status, VGPU_ST_OUT_OF_MEMORY);
			if (!grid_put(e, &t)) {
				if (!t.started)
					own = NULL;
			} else if (t.started) {
				if (own)
					cta_put(e, t.c);
				else
					own = t.c;
			}
		}
		retire(e, g);
	}
	if (own)
		cta_put(e, own);
	pthread_mutex_unlock(&e->lock);
	tstate_thread_exit();
	return NULL;
}

/*
 * A worker a core, where all cores that we may use are the device's: else the one that wakes another may get it beside itself,
 * and half a grid waits for the other half while a core idles. Turns are short, so a core that others use, too, just gets fewer.
 */
static bool worker_start(struct engine *e, const cpu_set_t *own, u32 *cpu)
{
	struct bed *b = &e->beds[e->nthreads];
	pthread_attr_t attr;
	cpu_set_t one;
	bool ok;

	*b = (struct bed){ .e = e, .cpu = -1 };
	pthread_cond_init(&b->wake, NULL);
	if (pthread_attr_init(&attr))
		return false;
	if (own) {
		while (!CPU_ISSET(*cpu, own))
			++*cpu;
		CPU_ZERO(&one);
		b->cpu = (int)*cpu;
		CPU_SET((*cpu)++, &one);
		pthread_attr_setaffinity_np(&attr, sizeof(one), &one);
	}
	ok = !pthread_create(&e->threads[e->nthreads], &attr, worker, b);
	pthread_attr_destroy(&attr);
	return ok;
}

int rt_start(struct engine *e)
{
	sigset_t all, old;
	cpu_set_t may;
	bool own;
	u32 i, cpu = 0;

	e->here = e->stays_on = -1;
	e->threads = calloc(e->env.cores, sizeof(*e->threads));
	e->beds = calloc(e->env.cores, sizeof(*e->beds));
	if (!e->threads || !e->beds)
		return -1;
	/* workers leave every signal but faults to the process's own threads */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	own = e->env.cores > 1 && !sched_getaffinity(0, sizeof(may), &may) && (u32)CPU_COUNT(&may) == e->env.cores;
	for (i = 0; i < e->env.cores; i++)
		if (worker_start(e, own ? &may : NULL, &cpu))
			e->nthreads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e->nthreads ? 0 : -1;
}

void rt_stop(struct engine *e)
{
	struct grid *g;
	struct cta *c;
	u32 i;

	pthread_mutex_lock(&e->lock);
	e->stop = true;
	fail_with(&e->sticky, VGPU_ST_CONTEXT_DEAD);    /* running blocks stop at their next turn */
	for (i = 0; i < e->nthreads; i++)
		pthread_cond_signal(&e->beds[i].wake);
	pthread_mutex_unlock(&e->lock);
	for (i = 0; i < e->nthreads; i++) {
		pthread_join(e->threads[i], NULL);
		pthread_cond_destroy(&e->beds[i].wake);
	}
	free(e->threads);
	free(e->beds);
	while ((g = e->grids.next) != &e->grids) {
		grid_unlink(g);
		while ((c = g->suspended)) {
			g->suspended = c->next;
			cta_free(e, c);
		}
		grid_free(e, g);
	}
	while ((g = e->grid_pool)) {
		e->grid_pool = g->next;
		grid_free(e, g);
	}
	if (e->home)
		grid_free(e, e->home);
	while ((c = cta_pooled(e)))
		cta_free(e, c);
	if (e->home_cta)
		cta_free(e, e->home_cta);
	for (i = 0; i < e->nshapes; i++)
		free(e->shape_tid[i]);
}

/* ---- launch ---------------------------------------------------------------------------- */

/* What prints waits for its reader, and that may wait for the dispatcher. */
static bool may_print(const struct grid *g)
{
	return g->fn->prints || g->e->mc || g->e->ops || g->e->dbg;
}

/* Is it worth while to run the grid here, before others hear of it? */
static bool is_small(const struct grid *g)
{
	if (g->native)
		return g->small;
	if (may_print(g))
		return false;
	if (g->nblocks == 1)
		return g->est < INLINE_TICKS;
	if (g->cooperative)
		return false;
	if (!g->est)
		return g->nblocks * g->team * g->threads <= INLINE_THREADS;
	return g->nblocks * g->est < (__atomic_load_n(&g->e->awake, __ATOMIC_RELAXED) ? SHARE_TICKS : INLINE_TICKS);
}

/*
 * Runs a small grid here, as far as a hand-over to another thread would take as long; what is left then goes
 * to the workers after all. True: the grid has ended.
 */
static bool run_inline(struct engine *e, struct grid *g)
{
	struct turn t = { .e = e, .g = g, .c = e->home_cta, .limit = INLINE_TICKS, .budget = INLINE_BUDGET };
	struct tstate *ts = tstate_get(e);
	bool beside;

	if (!ts || !is_small(g))
		return false;
	if (!t.c)
		t.c = e->home_cta = cta_new();
	if (!t.c)
		return false;
	/* Acquire: partner: the worker, when a grid has ended. Where it has none, this grid may be alone itself. */
	beside = __atomic_load_n(&e->alone.listed, __ATOMIC_ACQUIRE);
	do {
		t.at = 0;
		t.end = g->nblocks;
		t.row = row(g);
		if (beside)
			alone_enter(e);
		turn_run(ts, &t);
		__atomic_store_n(&e->moved, __builtin_ia32_rdtsc(), __ATOMIC_RELAXED);
		if (beside)
			alone_leave(e);
		g->done_blocks = t.done;
		g->next_block = t.at;
		if (t.r == RUN_BUDGET) {
			suspend(g, t.c, t.ticks);
			g->resident = 1;
			e->home_cta = NULL;
			learn(g, NULL, INLINE_TICKS, 0, 1);
		} else if (t.done) {
			learn(g, t.c->gridid == g->gridid ? t.c->jit : NULL, t.ticks, 0, t.done);
		}
	} while (grid_rest(e, g));
	return g->done_blocks == g->nblocks || status_of(g) || sticky(e);
}

/*
 * The workers sleep, and waking takes them longest where their core sleeps too: the grid's first turn may be had here
 * meanwhile. Only if its blocks are known to be short and wait for nobody; one worker is as near as we are.
 */
static bool starts_here(const struct engine *e, const struct grid *g)
{
	return e->nthreads > 1 && e->sleepers && g->prev == &e->grids && !g->native && !g->cooperative &&
	       !may_print(g) && g->est && g->est < TURN_TICKS;
}

/* May the dispatcher go on with g, which is the only one and soon over? */
static bool stays(const struct engine *e, const struct grid *g, u64 begin)
{
	return g->next == &e->grids && g->prev == &e->grids && !g->suspended && g->est < TURN_TICKS &&
	       (g->nblocks - g->done_blocks) * g->est < (u64)STAY_TICKS * e->nthreads && __builtin_ia32_rdtsc() - begin < 2ull * STAY_TICKS &&
	       !held(e) && !devrt_can_start(e) && !(e->env.wanted && e->env.wanted(e->env.owner));
}

/*
 * With the lock held, but for while blocks run. The dispatcher's turn, and of a short grid all turns until it has ended: whoever is woken
 * comes late to that, and the next launch of the stream needs the dispatcher.
 */
static void turns_here(struct engine *e, struct grid *g)
{
	struct turn t = { .e = e, .listed = true, .limit = TURN_TICKS, .budget = INLINE_BUDGET };
	struct tstate *ts = tstate_get(e);
	u64 begin = __builtin_ia32_rdtsc();
	bool others = false;

	do {
		if (!e->home_cta)
			e->home_cta = cta_new();
		t.c = e->home_cta;
		if (!ts || !t.c)
			break;
		others = !grid_pick(e, g, &t);
		if (others)
			break;
		pthread_mutex_unlock(&e->lock);
		alone_beside(e, &t);
		tally_open(ts);
		turn_run(ts, &t);
		pthread_mutex_lock(&e->lock);
		if (!grid_put(e, &t))
			e->home_cta = NULL;
		if (retire(e, g))
			return;
	} while (stays(e, g, begin));
	if (ts && ts->tally.g && retire(e, tally_close(e, ts)))
		return;
	/* others do the last of it */
	if (others && (g->running || g->keepers))
		await_news(e, AWAIT_TICKS);
}

u32 grid_finish(struct engine *e, struct grid *g)
{
	struct ended x = { 0 };

	if (g->vtext) {         /* a worker may wait for its reader */
		g->over = true;
		return grid_hand_over(e, g);
	}
	if (g->done_blocks == g->nblocks && !status_of(g) && !g->kin)
		return VGPU_ST_OK;
	/* it did start, so its end is told the same way as of any other */
	e->home = NULL;
	pthread_mutex_lock(&e->lock);
	grid_end(e, g, &x);
	tell(e, &x);
	pthread_mutex_unlock(&e->lock);
	return ENGINE_PENDING;
}

u32 grid_start(struct engine *e, struct grid *g)
{
	if (!run_inline(e, g))
		return grid_hand_over(e, g);
	mc_grid_end(e, g);
	return grid_finish(e, g);
}

u32 grid_hand_over(struct engine *e, struct grid *g)
{
	e->home = NULL;
	pthread_mutex_lock(&e->lock);
	grid_append(e, g);
	__atomic_fetch_add(&e->alone.listed, 1, __ATOMIC_RELAXED);
	if (!g->over && starts_here(e, g)) {
		e->here = e->stays_on = sched_getcpu();
		wake(e, g->nblocks - 1 < e->nthreads - 1 ? g->nblocks - 1 : e->nthreads - 1, e->here);
		turns_here(e, g);
		e->here = -1;
		if (e->grids.next != &e->grids)
			rt_wake(e, 1);
	} else {
		rt_wake(e, g->nblocks);
	}
	pthread_mutex_unlock(&e->lock);
	return ENGINE_PENDING;
}

u32 rt_launch(struct engine *e, const struct engine_launch *l)
{
	struct func *fn;
	struct grid *g;
	u64 threads;
	u32 st;
	char log[256];

	fn = func_get(e, l->fn);
	if (!fn || !fn->entry)
		return VGPU_ST_BAD_HANDLE;
	if (sticky(e))
		return sticky(e);
	st = func_ready(fn, log, sizeof(log));
	if (!st)
		st = launch_allowed(e, l, fn, &threads);
	if (st)
		return st;
	fn = func_roomy(fn);
	g = fn ? grid_make(e, l, fn, (u32)threads) : NULL;
	if (!g)
		return VGPU_ST_OUT_OF_MEMORY;
	return e->vf ? vf_launch(e, g) : grid_start(e, g);
}
