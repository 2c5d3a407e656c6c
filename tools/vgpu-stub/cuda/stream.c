/* SPDX-License-Identifier: MIT */
/*
 * Streams. A stream of the client is a stream of the driver, and commands are given to it as they come; nobody waits for one before the next.
 * Behind each burst the stream itself writes into memory of ours how many it has done (cuStreamWriteValue64): the dispatcher sees the end of
 * commands by a look at a word, and the GPU is never held up by a thread of the host.
 *
 * Who is about to sleep hangs a bell behind what is out, a host function that writes the same number and wakes the dispatcher. Where a
 * driver takes no such writes the bell alone tells; where it takes no host functions either, the stream is asked now and then. After an
 * error of the context none of them comes any more: asking finds that out too.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

#define BURST 32u               /* commands without a write behind them: a client has credits for a stream by 64 */

uint32_t cuda_streams_open(struct engine *e)
{
	CUresult r = cu.cuCtxGetStreamPriorityRange(&e->least, &e->greatest);

	if (!r)
		r = cu.cuMemHostAlloc((void **)&e->words, CUDA_STREAMS * sizeof(*e->words), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	if (r)
		return cuda_failed(e, r);
	memset(e->words, 0, CUDA_STREAMS * sizeof(*e->words));
	return VGPU_ST_OK;
}

/* The client's go from 0, everybody's, up; the driver's from least, everybody's, down to greatest. */
static int priority_of(const struct engine *e, uint32_t priority)
{
	int p = e->least - (int)priority;

	return p < e->greatest ? e->greatest : p;
}

uint32_t cuda_stream(struct engine *e, uint64_t cookie, uint32_t priority, struct cuda_stream **out)
{
	struct cuda_stream *s = *out = &e->stream[cookie % CUDA_STREAMS];
	CUresult r = CUDA_SUCCESS;

	/*
	 * The client's stream of this number may be another one by now, or have been made urgent. A stream of the driver stays as it is made, so
	 * there is one for each priority, and another one is taken when nothing is out.
	 */
	if (s->stream && (priority == CUDA_AS_IT_IS || priority == s->priority || s->seen != s->given))
		return VGPU_ST_OK;
	priority = priority < VGPU_PRIORITIES ? priority : 0;
	if (!s->by_priority[priority])
		r = cu.cuStreamCreateWithPriority(&s->by_priority[priority], CU_STREAM_NON_BLOCKING, priority_of(e, priority));
	if (r) {
		s->by_priority[priority] = NULL;
		return cuda_failed(e, r);
	}
	s->e = e;
	s->word = &e->words[cookie % CUDA_STREAMS];
	s->stream = s->by_priority[priority];
	s->priority = priority;
	return VGPU_ST_OK;
}

void cuda_given(struct engine *e, struct cuda_stream *s)
{
	unsigned i = (unsigned)(s - e->stream);

	s->given++;
	e->active[i / 64] |= 1ull << (i % 64);
	e->dirty = 1;
}

/* This is rare, since the device has looked at the launch before. */
void cuda_refused(struct cuda_stream *s, uint64_t nth, uint32_t status)
{
	struct cuda_refusal *r = realloc(s->refused, (s->nrefused + 1) * sizeof(*r));

	if (!r) {
		/* what has not run is not told as if it had: that is the context's end */
		s->e->died = s->e->died ? s->e->died : VGPU_ST_INTERNAL;
		return;
	}
	s->refused = r;
	s->refused[s->nrefused++] = (struct cuda_refusal){ nth, status };
}

/* What is to be told of the nth. */
static uint32_t refusal(struct cuda_stream *s, uint64_t nth)
{
	uint32_t status = s->told < s->nrefused && s->refused[s->told].nth == nth ? s->refused[s->told++].status : VGPU_ST_OK;

	if (s->told == s->nrefused)
		s->told = s->nrefused = 0;
	return status;
}

int cuda_module_busy(const struct engine *e, const struct cuda_module *m)
{
	for (unsigned i = 0; m->last && i < CUDA_STREAMS; i++)
		if (m->last[i] > e->stream[i].seen)
			return 1;
	return 0;
}

/* Only ever forward: the stream's own write and the bell's may cross. */
static void reached(struct cuda_stream *s, uint64_t value)
{
	uint64_t was = __atomic_load_n(s->word, __ATOMIC_RELAXED);

	while (was < value && !__atomic_compare_exchange_n(s->word, &was, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* The driver's thread. No call of the driver is allowed here. */
static void CUDA_CB rung(void *user)
{
	struct cuda_stream *s = user;
	struct engine *e = s->e;

	reached(s, __atomic_load_n(&s->bell, __ATOMIC_ACQUIRE));
	__atomic_store_n(&s->bell, 0, __ATOMIC_RELEASE);
	e->env.wake(e->env.owner);
}

static void hang_bell(struct engine *e, struct cuda_stream *s)
{
	CUresult r;

	/* Its number is taken back before it may be hung anew: reached() first, then 0. */
	if (__atomic_load_n(&s->bell, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&s->bell, s->given, __ATOMIC_RELEASE);
	r = cu.cuLaunchHostFunc(s->stream, rung, s);
	if (r)
		__atomic_store_n(&s->bell, 0, __ATOMIC_RELEASE);
	cuda_failed(e, r);
}

#define EACH_ACTIVE(e, i) \
	for (unsigned w_ = 0; w_ < CUDA_STREAMS / 64; w_++) \
		for (uint64_t left_ = (e)->active[w_], i = 0; left_ && ((i = w_ * 64 + (unsigned)__builtin_ctzll(left_)), 1); left_ &= left_ - 1)

void cuda_settle(struct engine *e, int more)
{
	if (!e->dirty || e->died)
		return;
	e->dirty = 0;
	EACH_ACTIVE(e, i) {
		struct cuda_stream *s = &e->stream[i];
		CUresult r;

		if (s->written == s->given)
			continue;
		if (more && s->given - s->written < BURST) {
			e->dirty = 1;
			continue;
		}
		if (cuda_run_stale(s))
			cuda_run_flush(e, s);
		if (cuda_run_open(s)) {
			e->dirty = 1;   /* the rest of it is on its way */
			continue;
		}
		r = e->no_writes ? CUDA_ERROR_NOT_SUPPORTED : cu.cuStreamWriteValue64_v2(s->stream, (uintptr_t)s->word, s->given, 0);
		e->no_writes |= r == CUDA_ERROR_NOT_SUPPORTED;
		cuda_failed(e, r);
		if (r && !e->died)
			hang_bell(e, s);        /* and where one hangs already, another when that has rung */
		else
			s->written = s->given;
		e->dirty |= r && !e->died && s->bell != s->given;
	}
}

int cuda_ended(struct engine *e)
{
	EACH_ACTIVE(e, i)
		if (__atomic_load_n(e->stream[i].word, __ATOMIC_ACQUIRE) != e->stream[i].seen)
			return 1;
	return 0;
}

static void fault(struct engine *e, const struct cuda_stream *s)
{
	struct cuda_func *f = s->given == s->seen + 1 && s->fn ? cuda_func(e, s->fn) : NULL;
	struct engine_fault report = { .status = e->died, .fn = f ? s->fn : 0, .kernel = f ? f->name : NULL, .what = "the host's driver says so",
				       .nowhere = 1 };

	e->env.fault(e->env.owner, &report);
}

static unsigned tell(struct engine *e, unsigned i, uint64_t upto, uint32_t status)
{
	struct cuda_stream *s = &e->stream[i];
	unsigned n = 0;

	/* The text first: who has waited for a kernel looks for it. Only of a stream that is done, which nobody has to wait for. */
	if (s->prints && !status && upto == s->given && s->seen < upto && !cuda_print(e, s) && !e->died)
		return 0;
	for (; s->seen < upto; n++) {
		uint32_t own = refusal(s, ++s->seen);

		e->env.done(e->env.owner, i, status ? status : own);
	}
	if (s->seen == s->given)
		e->active[i / 64] &= ~(1ull << (i % 64));
	return n;
}

unsigned cuda_poll(struct engine *e, int patient)
{
	unsigned n = 0;

	EACH_ACTIVE(e, i) {
		struct cuda_stream *s = &e->stream[i];

		n += tell(e, (unsigned)i, __atomic_load_n(s->word, __ATOMIC_ACQUIRE), VGPU_ST_OK);
	}
	if (n || !patient)
		return n;
	EACH_ACTIVE(e, i) {
		struct cuda_stream *s = &e->stream[i];
		CUresult r;

		if (cuda_run_open(s) && !e->died && !cuda_run_stale(s))
			continue;       /* the rest of it is on its way */
		cuda_run_flush(e, s);
		r = e->died ? CUDA_ERROR_UNKNOWN : cu.cuStreamQuery(s->stream);

		if (!r)
			reached(s, s->given);
		else if (r != CUDA_ERROR_NOT_READY && !e->died)
			cuda_failed(e, r);
		if (e->died) {
			fault(e, s);
			n += tell(e, (unsigned)i, s->given, e->died);
		} else if (!r) {
			n += tell(e, (unsigned)i, s->given, VGPU_ST_OK);
		} else {
			hang_bell(e, s);
		}
	}
	return n;
}
