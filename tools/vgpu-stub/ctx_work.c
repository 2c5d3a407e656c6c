/* SPDX-License-Identifier: MIT */
/*
 * What a context does, for vgpu ctl list and vgpu metrics: which kernel is out and since when, and how long kernels and compilations took.
 * Written into its queue block (struct vgpu_qb_work), which the agent reads as a claim. Dispatcher only.
 *
 * A launch that ends at once costs two looks at the clock and two additions; names are written between rounds, and only when they change.
 */
#include "ctx.h"

#include <string.h>

void ctx_work_took(const struct ctx *c, struct vgpu_times *t, uint64_t ticks)
{
	uint64_t ns = (uint64_t)((double)ticks * c->ns_per_tick), units = ns ? (ns - 1) >> 10 : 0;
	unsigned i = units ? (65u - (unsigned)__builtin_clzll(units)) / 2 : 0;

	i = i < VGPU_TIMES ? i : VGPU_TIMES - 1;
	vgpu_store_relaxed64(&t->n[i], t->n[i] + 1);
	vgpu_store_relaxed64(&t->ns, t->ns + ns);
}

/* Partner: the agent's look, which takes a name only between two even values that are the same. */
static void name(struct ctx *c, uint32_t fn)
{
	struct vgpu_qb_work *w = c->work;
	const char *text = fn ? c->ops->name_of(c->engine, fn) : "matrix product";
	char line[VGPU_KERNEL_NAME] = "";

	if (c->named && fn == c->fn_told)
		return;
	c->named = 1;
	c->fn_told = fn;
	if (text)
		memccpy(line, text, 0, sizeof(line) - 1);
	vgpu_store_relaxed32(&w->seq, w->seq + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(w->kernel, line, sizeof(line));
	vgpu_store_release32(&w->seq, w->seq + 1);
}

static int is_out(const struct ctx *c, const struct ctx_stream *s)
{
	return c->ops->settle ? s->out && s->out->cmd.op == VGPU_OP_LAUNCH : s->where == STREAM_RUNNING && s->running;
}

void ctx_work_now(struct ctx *c)
{
	const struct ctx_stream *oldest = NULL;
	uint64_t ns = 0;

	for (unsigned i = 0; c->launches_out && i < c->streams_used; i++)
		if (is_out(c, &c->streams[i]) && (!oldest || c->streams[i].began < oldest->began))
			oldest = &c->streams[i];
	if (oldest)
		ns = (uint64_t)((double)(ctx_ticks() - oldest->began) * c->ns_per_tick) | 1;
	if (oldest || c->launches_done)
		name(c, oldest ? oldest->fn : c->fn_last);
	vgpu_store_relaxed64(&c->work->running_ns, ns);
}

static uint64_t held_ns(const struct ctx *c)
{
	uint64_t since = __atomic_load_n(&c->run->held_since_ns, __ATOMIC_ACQUIRE), now = since ? ctx_now_ns() : 0;

	return __atomic_load_n(&c->run->held_ns, __ATOMIC_ACQUIRE) + (now > since ? now - since : 0);
}

void ctx_work_began(const struct ctx *c, struct ctx_stream *s)
{
	s->began = ctx_ticks();
	s->began_held = held_ns(c);
}

uint64_t ctx_work_ns(const struct ctx *c, const struct ctx_stream *s)
{
	uint64_t all = (uint64_t)((double)(ctx_ticks() - s->began) * c->ns_per_tick), held = held_ns(c) - s->began_held;

	return held < all ? all - held : 0;
}

uint64_t ctx_work_limit(const struct ctx *c)
{
	uint64_t own = c->init.kernel_timeout_s * 1000000000ull, set = vgpu_load_relaxed32(&c->run->kernel_ms) * 1000000ull;

	return !own || (set && set < own) ? set : own;
}
