/* SPDX-License-Identifier: MIT */
/*
 * Launches: given to the stream (stream.c), whose order is theirs.
 */
#include "cuda.h"

#include <stdlib.h>

/* More than 48 KiB of shared memory is asked for by name; what the kernel has of its own counts. */
static CUresult allow_shared(struct cuda_func *f, uint32_t bytes)
{
	CUresult r;
	int own = 0;

	if (!f->shared_known) {
		r = cu.cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->fn);
		if (r)
			return r;
		f->shared_known = 1;
		f->shared_optin = own < 48 << 10 ? (48u << 10) - (uint32_t)own : 0;
	}
	if (bytes <= f->shared_optin)
		return CUDA_SUCCESS;
	r = cu.cuFuncSetAttribute(f->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
	if (!r)
		f->shared_optin = bytes;
	return r;
}

/* So are more than eight blocks of a cluster; that the client asked for them its library has seen to. */
static CUresult allow_cluster(struct cuda_func *f, const uint32_t *cluster)
{
	CUresult r;

	if (f->wide_clusters || (uint64_t)cluster[0] * cluster[1] * cluster[2] <= VGPU_CLUSTER_PORTABLE)
		return CUDA_SUCCESS;
	r = cu.cuFuncSetAttribute(f->fn, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	f->wide_clusters = !r;
	return r;
}

static CUresult start_cluster(struct cuda_func *f, const struct engine_launch *l, CUstream stream, void **extra)
{
	CUlaunchAttribute a[] = {
		{ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { l->cluster[0], l->cluster[1], l->cluster[2] } },
		{ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 },
	};
	CUlaunchConfig c = { .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2], .blockDimX = l->block[0],
			     .blockDimY = l->block[1], .blockDimZ = l->block[2], .sharedMemBytes = l->shared_bytes, .hStream = stream,
			     .attrs = a, .numAttrs = l->flags & ENGINE_LAUNCH_COOPERATIVE ? 2 : 1 };
	CUresult r = allow_cluster(f, l->cluster);

	return r ? r : cu.cuLaunchKernelEx(&c, f->fn, NULL, extra);
}

static CUresult start(struct cuda_func *f, const struct engine_launch *l, char *params, CUstream stream)
{
	size_t bytes = l->param_bytes;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
	void *each[ENGINE_MAX_PARAMS + 1];

	if (l->cluster[0])
		return start_cluster(f, l, stream, bytes ? extra : NULL);
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
	st = e->died ? e->died : cuda_params(e, f);
	if (!st && l->param_bytes != f->param_bytes)
		st = VGPU_ST_INVALID;
	if (!st)
		st = cuda_stream(e, l->cookie, l->priority, &s);
	if (!st && !f->m->last && !(f->m->last = calloc(CUDA_STREAMS, sizeof(*f->m->last))))
		st = VGPU_ST_OUT_OF_MEMORY;
	if (st)
		return st;
	r = l->shared_bytes ? allow_shared(f, l->shared_bytes) : CUDA_SUCCESS;
	if (r)
		return cuda_launch_status(e, r);
	params = cuda_real_params(e, l->params, l->param_bytes, room);
	r = cuda_tensormaps(e, &params, l->param_bytes, room);
	if (r)
		return cuda_launch_status(e, r);
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
