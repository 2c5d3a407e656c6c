/* SPDX-License-Identifier: MIT */
/*
 * Launches: given to the stream (stream.c), whose order is theirs.
 */
#include "cuda.h"

#include <stdlib.h>

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

static CUresult start(struct cuda_func *f, const struct engine_launch *l, char *params, CUstream stream)
{
	size_t bytes = l->param_bytes;
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
uint32_t cuda_launch_status(struct engine *e, CUresult r)
{
	return r == CUDA_ERROR_INVALID_VALUE ? (uint32_t)VGPU_ST_INVALID_CONFIG : cuda_failed(e, r);
}

uint32_t cuda_launch(struct engine *e, const struct engine_launch *l)
{
	struct cuda_func *f = cuda_func(e, l->fn);
	uint8_t room[VGPU_MAX_LARGE_BYTES];
	struct cuda_stream *s;
	const void *params;
	CUresult r;
	uint32_t st;

	if (!f)
		return VGPU_ST_BAD_HANDLE;
	if (l->cluster[0])
		return VGPU_ST_NOT_SUPPORTED;   /* nobody was promised it: VGPU_DEV_FEATURE_CLUSTERS */
	st = e->died ? e->died : cuda_params(e, f);
	if (!st && l->param_bytes != f->param_bytes)
		st = VGPU_ST_INVALID;
	if (!st)
		st = cuda_stream(e, l->cookie, &s);
	if (!st && !f->m->last && !(f->m->last = calloc(CUDA_STREAMS, sizeof(*f->m->last))))
		st = VGPU_ST_OUT_OF_MEMORY;
	if (st)
		return st;
	r = l->shared_bytes > 48u << 10 ? allow_shared(f, l->shared_bytes) : CUDA_SUCCESS;
	if (r)
		return cuda_launch_status(e, r);
	params = cuda_real_params(e, l->params, l->param_bytes, room);
	if (cuda_run_add(e, s, f, l, params)) {
		cuda_run_flush(e, s);
		r = start(f, l, (char *)(uintptr_t)params, s->stream);
		if (r)
			return cuda_launch_status(e, r);
		cuda_given(e, s);
	}
	f->m->last[s - e->stream] = s->given;
	s->fn = l->fn;
	s->prints = f->m->prints ? CUDA_PRINTS : s->prints;
	return ENGINE_PENDING;
}
