/* SPDX-License-Identifier: MIT */
/*
 * Launches of graphs: the program of an exec, into the stream. Called by programs.
 *
 * All of it goes into the launching stream one behind the other, branches that could run side by side too: the order
 * is one in which every dependency holds, and CUDA promises no other. What comes later in the stream waits for all.
 */
#include "graph.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

/* What a host function of ours copies; a record for each launch, freed by the function. */
struct packing {
	struct vg_copy k;
	uint8_t *staging;
	enum vg_call call;
};

static void rows(uint64_t dst, uint64_t dst_pitch, uint64_t dst_slice, uint64_t src, uint64_t src_pitch, uint64_t src_slice,
		 const struct vg_copy *k)
{
	for (uint64_t z = 0; z < k->depth; z++)
		for (uint64_t y = 0; y < k->height; y++)
			memcpy((void *)(uintptr_t)(dst + z * dst_slice + y * dst_pitch),
			       (const void *)(uintptr_t)(src + z * src_slice + y * src_pitch), k->width);
}

/* Called for a failed context too, with its error: then only the record goes. */
static void pack(uint64_t handle, uint32_t status, void *user)
{
	struct packing *p = user;
	const struct vg_copy *k = &p->k;
	uint64_t place = (uint64_t)(uintptr_t)p->staging;

	(void)handle;
	if (status)
		goto out;
	if (p->call == VG_CALL_PACK)
		rows(place, k->width, k->width * k->height, k->src, k->src_pitch, k->src_slice, k);
	else if (p->call == VG_CALL_UNPACK)
		rows(k->dst, k->dst_pitch, k->dst_slice, place, k->width, k->width * k->height, k);
	else
		rows(k->dst, k->dst_pitch, k->dst_slice, k->src, k->src_pitch, k->src_slice, k);
out:
	free(p);
}

static CUresult call_pack(struct vg_stream *s, const struct vg_step *step)
{
	struct packing *p = malloc(sizeof *p);
	uint32_t status;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*p = (struct packing){ *step->copy, step->staging, step->call };
	status = vg_host_call(s, 0, NULL, pack, p);
	if (status)
		free(p);
	return vg_done(s->ctx, status);
}

static CUresult call_event(struct vg_stream *s, const struct vg_step *step)
{
	struct vg_event *e;

	VG_TRY(vg_event((CUevent)(uintptr_t)step->w->u.event, &e));
	if (step->call == VG_CALL_WAIT)
		vg_event_wait(s, e);
	else
		vg_event_record(e, s);
	return CUDA_SUCCESS;
}

CUresult vg_step_call(struct vg_stream *s, const struct vg_step *step)
{
	switch (step->call) {
	case VG_CALL_HOST:
		return vg_done(s->ctx, vg_host_call(s, 0, step->w->u.host.fn, NULL, step->w->u.host.user));
	case VG_CALL_RECORD:
	case VG_CALL_WAIT:
		return call_event(s, step);
	case VG_CALL_PACK:
	case VG_CALL_UNPACK:
	case VG_CALL_COPY:
		return call_pack(s, step);
	case VG_CALL_ALLOC:
		vg_graph_mem_allocate(step->w);
		return CUDA_SUCCESS;
	case VG_CALL_FREE:
		vg_graph_mem_free(step->w->u.freed);
		return CUDA_SUCCESS;
	case VG_CALL_CONDITION:
		return vg_condition_call(s, step->condition);
	case VG_CALL_NONE:
		break;
	}
	return CUDA_SUCCESS;
}

/* The exec's lock is held. */
static CUresult launch(struct vg_exec *e, struct vg_stream *s)
{
	const union vgpu_slot *image;
	CUresult r = CUDA_SUCCESS;

	if (VG_UNLIKELY(e->dirty))
		VG_TRY(vg_exec_build(e));
	if (VG_UNLIKELY(e->seen != __atomic_load_n(&vg_func_deaths, __ATOMIC_ACQUIRE))) {
		uint64_t seen = __atomic_load_n(&vg_func_deaths, __ATOMIC_ACQUIRE);

		if (!vg_exec_alive(e))
			return CUDA_ERROR_INVALID_HANDLE;
		e->seen = seen;
	}
	if (e->ctx && (s->ctx != e->ctx || s->ctx->handle != e->ctx_handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (e->graph->mems)
		VG_TRY(vg_graph_mem_launch(e));
	/* An exec runs once at a time: behind its last launch, wherever that was. */
	if (e->last && (e->last_ctx != s->ctx || e->last_stream != s->index) && e->last_ctx->handle == e->last_ctx_handle &&
	    !vgpu_timeline_reached(&e->last_ctx->timelines[e->last_stream], e->last))
		vg_submit_wait(s, VGPU_WAIT_TL(e->last_ctx->number, e->last_stream), e->last);
	if (e->graph->conditions)
		vg_conditions_begin(&e->program, s);
	image = e->program.image;
	for (uint32_t i = 0; i < e->program.nsteps && !r; i++) {
		const struct vg_step *step = &e->program.steps[i];

		image = vg_submit_run(s, image, step->commands);
		if (step->call != VG_CALL_NONE)
			r = vg_step_call(s, step);
	}
	e->last = vg_stream_last(s);
	e->last_ctx = s->ctx;
	e->last_ctx_handle = s->ctx->handle;
	e->last_stream = (uint16_t)s->index;
	if (e->graph->mems)
		vg_graph_mem_launched(e);
	if (e->graph->conditions)
		vg_conditions_launched(e);
	return r ? r : vg_done(s->ctx, vg_ctx_error(s->ctx));
}

/* In a stream that captures: a node that does what the exec does. */
static CUresult capture(struct vg_exec *e, struct vg_stream *s)
{
	struct vg_work *w;

	if (vg_graph_single(e->graph))
		return vg_unsupported("capture of a graph that allocates memory, or has conditional nodes");
	w = vg_work_new(CU_GRAPH_NODE_TYPE_GRAPH, NULL);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vg_lock(&vg_graphs);
	w->u.child = vg_graph_copy(e->graph, false);
	vg_unlock(&vg_graphs);
	if (!w->u.child) {
		vg_work_free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return vg_capture_add(s, w, NULL);
}

static CUresult impl_cuGraphLaunch(CUgraphExec h, CUstream stream, bool pt)
{
	struct vg_stream *s;
	struct vg_exec *e;
	CUresult r;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &s));
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&e->lock);
	if (VG_UNLIKELY(e->handle != (uint64_t)(uintptr_t)h))
		r = CUDA_ERROR_INVALID_VALUE;
	else if (VG_UNLIKELY(vg_capturing(s)))
		r = capture(e, s);
	else
		r = launch(e, s);
	vg_unlock(&e->lock);
	vg_retained_reap();
	return r;
}
VG_TWIN(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream, pt))

/* The program is there since the exec was made; what an upload would do is done, or is done now. */
static CUresult impl_cuGraphUpload(CUgraphExec h, CUstream stream, bool pt)
{
	CUresult r = CUDA_SUCCESS;
	struct vg_stream *s;
	struct vg_exec *e;

	VG_READY();
	VG_TRY(vg_stream(stream, pt, &s));
	VG_NO_CAPTURE(s);
	e = vg_get(VG_EXEC, (uint64_t)(uintptr_t)h);
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&e->lock);
	if (e->handle != (uint64_t)(uintptr_t)h)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (e->dirty)
		r = vg_exec_build(e);
	vg_unlock(&e->lock);
	return r;
}
VG_TWIN(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream, pt))
