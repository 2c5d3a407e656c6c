/* SPDX-License-Identifier: MIT */
/*
 * Events. An event is a place in a timeline: recording one without timing costs no command, it only
 * remembers the last ticket of the stream. With timing the device writes a time stamp when it gets there.
 */
#include "driver.h"
#include "../core/queue.h"

#define RECORD_BYTES 64u        /* a line of its own: the device writes it while others read theirs */

static uint64_t mark_of(const struct vg_stream *s, uint64_t ticket)
{
	return 1ull << 63 | (uint64_t)s->ctx->number << 58 | (uint64_t)s->index << 48 | ticket;
}

#define MARK_STREAM(m) ((uint16_t)((m) >> 48 & 0x3ff))
#define MARK_TICKET(m) ((m) & ((1ull << 48) - 1))

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	struct vg_event *e;
	struct vg_ctx *c;

	VG_READY();
	if (!event || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)))
		return CUDA_ERROR_INVALID_VALUE;
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	e = vg_new(VG_EVENT);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = c;
	e->ctx_handle = c->handle;
	e->cu_flags = flags;
	if (!(flags & CU_EVENT_DISABLE_TIMING)) {
		e->record = vg_window_alloc(RECORD_BYTES, 64);
		if (!e->record) {
			vg_delete(VG_EVENT, e);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		vgpu_store_relaxed64(&e->record->ticket, 0);
	}
	if (flags & CU_EVENT_INTERPROCESS) {
		CUresult r = vg_ipc_event_make(e);

		if (r) {
			vg_delete(VG_EVENT, e);
			return r;
		}
	}
	*event = (CUevent)(uintptr_t)vg_publish(e);
	return CUDA_SUCCESS;
}

/* The event and its context alive. */
CUresult vg_event(CUevent h, struct vg_event **e)
{
	uint32_t status;

	*e = vg_get(VG_EVENT, (uint64_t)(uintptr_t)h);
	if (!*e)
		return CUDA_ERROR_INVALID_HANDLE;
	if (__atomic_load_n(&(*e)->ctx->handle, __ATOMIC_RELAXED) != (*e)->ctx_handle)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	status = vg_ctx_error((*e)->ctx);
	return VG_LIKELY(!status) ? CUDA_SUCCESS : vg_fail((*e)->ctx, status);
}

void vg_event_record(struct vg_event *e, struct vg_stream *s)
{
	uint64_t ticket;

	if (VG_UNLIKELY(e->shared != NULL))
		vg_ipc_event_record(e, s);
	if (e->record) {
		struct vgpu_body_event b = { .record = (uint64_t)(uintptr_t)e->record };

		ticket = vg_submit(s, VGPU_OP_EVENT, &b, NULL, 0);
	} else {
		ticket = vg_stream_mark(s);
	}
	if (VG_UNLIKELY(e->captured != NULL))
		vg_captured_forget(e);
	__atomic_store_n(&e->mark, mark_of(s, ticket), __ATOMIC_RELEASE);
}

static CUresult impl_cuEventRecordWithFlags(CUevent h, CUstream stream, unsigned int flags, bool pt)
{
	struct vg_stream *s;
	struct vg_event *e;

	VG_READY();
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_event(h, &e));
	VG_TRY(vg_stream(stream, pt, &s));
	if (s->ctx != e->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (VG_UNLIKELY(vg_capturing(s)))
		return e->shared ? vg_unsupported("capture of an interprocess event") : vg_capture_record(s, e, flags);
	if (flags)              /* documented: EXTERNAL is invalid outside of a capture */
		return CUDA_ERROR_INVALID_VALUE;
	vg_event_record(e, s);
	return CUDA_SUCCESS;
}
VG_TWIN(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags, pt))

static CUresult impl_cuEventRecord(CUevent h, CUstream stream, bool pt)
{
	return impl_cuEventRecordWithFlags(h, stream, 0, pt);
}
VG_TWIN(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream, pt))

static bool complete(const struct vg_event *e, uint64_t mark)
{
	if (VG_UNLIKELY(e->shared != NULL))
		return vg_ipc_event_done(e);
	return vg_mark_done(e->ctx, mark);
}

CUresult cuEventQuery(CUevent h)
{
	struct vg_event *e;
	uint32_t status;

	VG_READY();
	VG_TRY(vg_event(h, &e));
	if (VG_UNLIKELY(e->captured != NULL))
		return vg_capture_refuse_event(e, CUDA_ERROR_INVALID_VALUE);
	VG_SAFE();
	if (!complete(e, __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE))) {
		vg_printf_drain(e->ctx);
		status = vg_asked_again(e->ctx);
		if (!status && e->shared)
			status = vg_ipc_event_lost(e);
		return status ? vg_fail(e->ctx, status) : CUDA_ERROR_NOT_READY;
	}
	status = vg_ctx_whole(e->ctx);
	return vg_done(e->ctx, status);
}

CUresult cuEventSynchronize(CUevent h)
{
	struct vg_event *e;
	uint32_t status;
	uint64_t mark;

	VG_READY();
	VG_TRY(vg_event(h, &e));
	if (VG_UNLIKELY(e->captured != NULL))
		return vg_capture_refuse_event(e, CUDA_ERROR_INVALID_VALUE);
	if (VG_UNLIKELY(e->shared != NULL))
		return vg_done(e->ctx, vg_ipc_event_sync(e));
	mark = __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE);
	if (!mark)
		return CUDA_SUCCESS;
	status = vg_wait_timeline_how(e->ctx, &e->ctx->timelines[MARK_STREAM(mark)], MARK_TICKET(mark),
				      e->cu_flags & CU_EVENT_BLOCKING_SYNC);
	vg_printf_drain(e->ctx);
	vg_pools_settle();
	vg_retained_reap();
	return vg_done(e->ctx, status);
}

_Static_assert(offsetof(struct vg_event, ctx_handle) == offsetof(struct vg_owned, ctx_handle), "vg_take_owned()");

/* Nobody finds it any more. */
static void event_end(struct vg_event *e)
{
	uint64_t mark;

	if (e->captured)
		vg_captured_forget(e);
	mark = e->mark;
	vg_ipc_event_drop(e);
	if (e->record) {
		bool alive = e->ctx->handle == e->ctx_handle && !vg_ctx_error(e->ctx);

		/* The device may still write its record. */
		if (alive && !complete(e, mark))
			vg_defer(VG_DEFER_EVENT, e->ctx, MARK_STREAM(mark), MARK_TICKET(mark), e->record, RECORD_BYTES);
		else
			vg_window_free(e->record, RECORD_BYTES);
	}
	vg_delete(VG_EVENT, e);
}

CUresult cuEventDestroy_v2(CUevent h)
{
	struct vg_event *e;

	VG_READY();
	e = vg_get(VG_EVENT, (uint64_t)(uintptr_t)h);
	if (!e || !__atomic_exchange_n(&e->handle, 0, __ATOMIC_ACQ_REL))
		return CUDA_ERROR_INVALID_HANDLE;
	event_end(e);
	vg_deferred_reap();
	return CUDA_SUCCESS;
}

/* The device does not write their records any more. */
void vg_event_drop_ctx(struct vg_ctx *c)
{
	struct vg_event *e;

	for (uint64_t at = 0; (e = vg_take_owned(VG_EVENT, c, &at)) != NULL;)
		event_end(e);
}

/* Recorded, and made with timing. */
static bool is_timed(const struct vg_event *e)
{
	return e->record && __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE);
}

/* Time stamp of the last recording of such a one; NOT_READY until the device has written that one. */
static CUresult stamp_of(struct vg_event *e, uint64_t *ns)
{
	uint64_t mark = __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE);

	/* Acquire: time_ns was written before ticket. */
	if (!complete(e, mark) || vgpu_load_acquire64(&e->record->ticket) < MARK_TICKET(mark)) {
		uint32_t status = vg_asked_again(e->ctx);

		return status ? vg_fail(e->ctx, status) : CUDA_ERROR_NOT_READY;
	}
	*ns = vgpu_load_relaxed64(&e->record->time_ns);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	struct vg_event *a, *b;
	uint64_t t0, t1;

	VG_READY();
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_event(start, &a));
	VG_TRY(vg_event(end, &b));
	if (a->ctx != b->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (a->captured || b->captured)
		return vg_capture_refuse_event(a->captured ? a : b, CUDA_ERROR_CAPTURED_EVENT);
	/* whether or not the other one's time has come */
	if (!is_timed(a) || !is_timed(b))
		return CUDA_ERROR_INVALID_HANDLE;
	VG_TRY(stamp_of(a, &t0));
	VG_TRY(stamp_of(b, &t1));
	*ms = (float)((double)(int64_t)(t1 - t0) * 1e-6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime_v2(ms, start, end);
}

bool vg_mark_done(const struct vg_ctx *c, uint64_t mark)
{
	bool done = !mark || vgpu_timeline_reached(&c->timelines[MARK_STREAM(mark)], MARK_TICKET(mark));

	if (done)
		vg_order_acquire((void *)(uintptr_t)c);
	return done;
}

void vg_mark_wait(struct vg_stream *s, const struct vg_ctx *c, uint64_t mark)
{
	/* Never recorded, already there, or the same stream: nothing to wait for. */
	if (vg_mark_done(c, mark) || (s->ctx == c && s->index == MARK_STREAM(mark)))
		return;
	vg_submit_wait(s, VGPU_WAIT_TL(c->number, MARK_STREAM(mark)), MARK_TICKET(mark));
}

void vg_event_wait(struct vg_stream *s, struct vg_event *e)
{
	uint64_t mark = __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE);

	if (VG_UNLIKELY(e->shared != NULL)) {
		vg_ipc_event_wait(e, s);
		return;
	}
	vg_mark_wait(s, e->ctx, mark);
}

static CUresult impl_cuStreamWaitEvent(CUstream stream, CUevent h, unsigned int flags, bool pt)
{
	struct vg_stream *s;
	struct vg_event *e;

	VG_READY();
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_event(h, &e));
	VG_TRY(vg_stream(stream, pt, &s));
	if (VG_UNLIKELY(vg_capturing(s) && e->shared))
		return vg_unsupported("capture of an interprocess event");
	if (VG_UNLIKELY(vg_capturing(s) || e->captured))
		return vg_capture_wait(s, e, flags);
	if (flags)              /* EXTERNAL: as for cuEventRecordWithFlags */
		return CUDA_ERROR_INVALID_VALUE;
	vg_event_wait(s, e);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags, pt))
