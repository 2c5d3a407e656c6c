/* SPDX-License-Identifier: MIT */
/*
 * Launches. A stream of the client is a stream of the driver; the driver calls a host function behind each launch, so that no
 * thread of ours waits. After an error of the context no host function is called any more: cuda_poll() finds that out, as it finds the end
 * of a launch that the driver took no host function for.
 */
#include "cuda.h"

#include <stdio.h>

/* Takes the launch back: 1 to whoever comes first. */
static int take(struct cuda_stream *s)
{
	return __atomic_exchange_n(&s->out, 0, __ATOMIC_ACQ_REL) != 0;
}

/* The driver's thread. No call of the driver is allowed here. */
static void CUDA_CB ended(void *user)
{
	struct cuda_stream *s = user;
	struct engine *e = s->e;

	if (!take(s))
		return;
	__atomic_fetch_sub(&e->launches, 1, __ATOMIC_RELEASE);
	e->env.done(e->env.owner, s->cookie, VGPU_ST_OK);
}

/* More than 48 KiB of shared memory is asked for by name. */
static CUresult allow_shared(struct cuda_func *f, uint32_t bytes)
{
	CUresult r;

	if (bytes <= f->shared_optin)
		return CUDA_SUCCESS;
	r = cu.cuFuncSetAttribute(f->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
	if (!r)
		f->shared_optin = bytes;
	return r;
}

static CUresult start(struct engine *e, struct cuda_func *f, const struct engine_launch *l, CUstream stream)
{
	size_t bytes = l->param_bytes;
	uint8_t room[VGPU_MAX_PARAM_BYTES];
	char *params = (char *)(uintptr_t)cuda_real_params(e, l->params, l->param_bytes, room);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
	void *each[ENGINE_MAX_PARAMS + 1];

	if (!(l->flags & ENGINE_LAUNCH_COOPERATIVE))
		return cu.cuLaunchKernel(f->fn, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes,
					 stream, NULL, bytes ? extra : NULL);
	for (uint32_t i = 0; i < f->nparams; i++)
		each[i] = params + f->params[i].offset;
	return cu.cuLaunchCooperativeKernel(f->fn, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
					    l->shared_bytes, stream, each);
}

/* INVALID_VALUE of a launch is its shape: the function and the parameters' size were looked at. */
static uint32_t launch_status(struct engine *e, CUresult r)
{
	return r == CUDA_ERROR_INVALID_VALUE ? (uint32_t)VGPU_ST_INVALID_CONFIG : cuda_failed(e, r);
}

uint32_t cuda_launch(struct engine *e, const struct engine_launch *l)
{
	struct cuda_func *f = cuda_func(e, l->fn);
	struct cuda_stream *s = &e->stream[l->cookie % CUDA_STREAMS];
	CUresult r;
	uint32_t st;

	if (!f)
		return VGPU_ST_BAD_HANDLE;
	st = e->died ? e->died : cuda_params(e, f);
	if (st)
		return st;
	if (l->param_bytes != f->param_bytes)
		return VGPU_ST_INVALID;
	if (!s->stream) {
		r = cu.cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING);
		if (r)
			return cuda_failed(e, r);
	}
	r = l->shared_bytes > 48u << 10 ? allow_shared(f, l->shared_bytes) : CUDA_SUCCESS;
	if (!r)
		r = start(e, f, l, s->stream);
	if (r)
		return launch_status(e, r);
	s->e = e;
	s->cookie = l->cookie;
	s->fn = l->fn;
	__atomic_fetch_add(&e->launches, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->out, 1, __ATOMIC_RELEASE);
	/* The kernel runs. Where the driver takes no host function, a look at the stream finds its end. */
	r = cu.cuLaunchHostFunc(s->stream, ended, s);
	s->by_look = r != CUDA_SUCCESS;
	cuda_failed(e, r);
	return ENGINE_PENDING;
}

static void died(struct engine *e, struct cuda_stream *s, uint32_t status)
{
	struct cuda_func *f = cuda_func(e, s->fn);
	struct engine_fault fault = { .status = status, .fn = s->fn, .kernel = f ? f->name : NULL, .what = "the host's driver says so", .nowhere = 1 };

	e->env.fault(e->env.owner, &fault);
	e->env.done(e->env.owner, s->cookie, status);
}

/* The dispatcher, now and then while launches are out: how many of them an error has ended. */
unsigned cuda_poll(struct engine *e)
{
	unsigned n = 0;

	if (!__atomic_load_n(&e->launches, __ATOMIC_ACQUIRE))
		return 0;
	for (uint32_t i = 0; i < CUDA_STREAMS; i++) {
		struct cuda_stream *s = &e->stream[i];
		CUresult r;

		if (!__atomic_load_n(&s->out, __ATOMIC_ACQUIRE))
			continue;
		r = e->died ? CUDA_SUCCESS : cu.cuStreamQuery(s->stream);
		if (r && r != CUDA_ERROR_NOT_READY)
			cuda_failed(e, r);
		if (!e->died && !r && s->by_look) {
			ended(s);
			n++;
			continue;
		}
		/* An answer that ends nothing is about the question; the host function tells of the launch. */
		if (!e->died || !take(s))
			continue;
		__atomic_fetch_sub(&e->launches, 1, __ATOMIC_RELAXED);
		died(e, s, e->died);
		n++;
	}
	return n;
}
