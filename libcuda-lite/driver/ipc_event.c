/* SPDX-License-Identifier: MIT */
/*
 * Events between processes: two numbers in memory that all of them see. A recording takes the next number; the stream writes it
 * to `done` when it gets there, behind the one before, so that `done` only grows. Who waits, waits for the number of the last
 * recording: a stream by the device's own wait for a value, a thread by looking.
 *
 * Who recorded may die before its stream gets there, and then nobody ever will. That is the agent's to know, which names contexts by
 * numbers that no other has (the client's, the context's in it, and when it was made): numbers of processes come again, and mean
 * nothing in another namespace. A process that dies between taking a number and writing down that it did is not found.
 */
#include "driver.h"
#include "../core/queue.h"
#include "../core/share.h"

#include <stdlib.h>

#define RECORDINGS 64u          /* that may be under way; of older ones nobody can say whose they were */
#define LOOK_NS 500000000u

struct vg_shared_event {
	uint64_t recorded, done;
	struct recording {
		uint64_t number;        /* written last */
		uint64_t born_ns;
		uint32_t client, context;
	} by[RECORDINGS];               /* by number */
};
_Static_assert(sizeof(struct vg_shared_event) <= VGPU_PAGE, "fits");

/* Does this context live? 0: no. When it was made, by the agent's clock; ~0: the agent does not answer, its end is told elsewhere. */
static uint64_t born(uint32_t client, uint32_t context)
{
	struct vgpu_msg_contexts_r *r = malloc(sizeof *r);
	uint64_t at = 0;
	uint32_t first = 0;

	if (!r)
		return ~0ull;
	do {
		struct vgpu_msg_index m = { .h = { VGPU_MSG_CONTEXTS, 0 }, .index = first };

		if (vg_request(&m, sizeof m, r, sizeof *r, NULL, 0) || r->count > VGPU_CONTEXTS_PAGE)
			at = ~0ull;
		for (uint32_t i = 0; i < r->count && !at; i++)
			if (r->context[i].client_id == client && r->context[i].context == context)
				at = r->now_ns - r->context[i].since_ns;
		first += r->count;
	} while (!at && r->count && first < r->contexts);
	free(r);
	return at;
}

CUresult vg_ipc_event_make(struct vg_event *e)
{
	struct vg_shared_event *s;
	uint64_t at;

	if (!vg_ipc_supported())
		return vg_unsupported("an interprocess event (this vgpu-agent shares no memory)");
	if (!vg_shared_take(VGPU_PAGE, &at))
		return CUDA_ERROR_OUT_OF_MEMORY;
	s = (struct vg_shared_event *)(uintptr_t)at;
	*s = (struct vg_shared_event){ 0 };
	e->shared = s;
	return CUDA_SUCCESS;
}

void vg_ipc_event_drop(struct vg_event *e)
{
	/* Another process may look at it still: its page stays, unless nobody was ever told. */
	if (e->shared && !e->opened && !e->told && vg_ipc_event_done(e))
		vg_shared_give((uint64_t)(uintptr_t)e->shared, VGPU_PAGE);
}

static void wait_for(struct vg_stream *s, struct vg_shared_event *w, uint64_t n)
{
	struct vgpu_body_value b = { .addr = (uint64_t)(uintptr_t)&w->done, .value = n, .bytes = 8, .compare = CU_STREAM_WAIT_VALUE_GEQ };

	if (vgpu_load_acquire64(&w->done) < n)
		vg_submit(s, VGPU_OP_WAIT_VALUE, &b, NULL, 0);
}

void vg_ipc_event_record(struct vg_event *e, struct vg_stream *s)
{
	struct vg_shared_event *w = e->shared;
	struct vgpu_body_value b = { .addr = (uint64_t)(uintptr_t)&w->done, .bytes = 8 };
	struct recording *by;

	if (!s->ctx->born_ns)
		s->ctx->born_ns = born(vg.client_id, s->ctx->number);
	b.value = __atomic_add_fetch(&w->recorded, 1, __ATOMIC_ACQ_REL);
	by = &w->by[b.value % RECORDINGS];
	by->client = vg.client_id;
	by->context = s->ctx->number;
	by->born_ns = s->ctx->born_ns;
	/* Partner: abandoned(). */
	__atomic_store_n(&by->number, b.value, __ATOMIC_RELEASE);
	wait_for(s, w, b.value - 1);
	vg_submit(s, VGPU_OP_WRITE_VALUE, &b, NULL, 0);
}

void vg_ipc_event_wait(struct vg_event *e, struct vg_stream *s)
{
	wait_for(s, e->shared, vgpu_load_acquire64(&e->shared->recorded));
}

bool vg_ipc_event_done(const struct vg_event *e)
{
	return vgpu_load_acquire64(&e->shared->done) >= vgpu_load_acquire64(&e->shared->recorded);
}

/* The recording that all others wait for is of a context that is gone: it will never be done. */
static bool abandoned(const struct vg_shared_event *w)
{
	uint64_t next = vgpu_load_acquire64(&w->done) + 1, at;
	const struct recording *by = &w->by[next % RECORDINGS];
	struct recording r;

	if (next > vgpu_load_acquire64(&w->recorded) || vgpu_load_acquire64(&by->number) != next)
		return false;
	r = *by;
	at = born(r.client, r.context);
	if (at == ~0ull || r.born_ns == ~0ull || at == r.born_ns)
		return false;
	/* it may have been the last that it did */
	return vgpu_load_acquire64(&w->done) + 1 == next && vgpu_load_acquire64(&by->number) == next;
}

uint32_t vg_ipc_event_lost(struct vg_event *e)
{
	uint64_t now = vg_now_ns(), look = __atomic_load_n(&e->look_ns, __ATOMIC_RELAXED);

	if (now < look)
		return VGPU_ST_OK;
	__atomic_store_n(&e->look_ns, now + LOOK_NS, __ATOMIC_RELAXED);
	return look && abandoned(e->shared) ? VGPU_ST_CONTEXT_DEAD : VGPU_ST_OK;
}

/* A status. LAUNCH_FAILED's when who recorded it is gone: it will never be done. */
uint32_t vg_ipc_event_sync(struct vg_event *e)
{
	const struct vg_shared_event *w = e->shared;
	uint64_t n = vgpu_load_acquire64(&w->recorded);
	uint32_t status;

	for (unsigned turn = 0; vgpu_load_acquire64(&w->done) < n; vg_backoff(turn++)) {
		status = vg_asked_again(e->ctx);
		if (!status)
			status = vg_ipc_event_lost(e);
		if (status)
			return status;
	}
	return VGPU_ST_OK;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent h)
{
	struct vg_event *e;

	VG_READY();
	VG_TRY(vg_event(h, &e));
	if (!handle || !e->shared || e->opened)
		return CUDA_ERROR_INVALID_VALUE;
	e->told = true;
	return vg_ipc_name((uint64_t)(uintptr_t)e->shared, sizeof *e->shared, 3, handle->reserved);
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct vg_event *e;
	struct vg_ctx *c;
	uint64_t at, bytes;

	VG_READY();
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_ipc_supported())
		return vg_unsupported("cuIpcOpenEventHandle (this vgpu-agent shares no memory)");
	VG_TRY(vg_current(&c));
	VG_TRY(vg_ipc_open(handle.reserved, 3, &at, &bytes));
	if (bytes < sizeof *e->shared)
		return CUDA_ERROR_INVALID_HANDLE;
	e = vg_new(VG_EVENT);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = c;
	e->ctx_handle = c->handle;
	e->cu_flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	e->shared = (struct vg_shared_event *)(uintptr_t)at;
	e->opened = true;
	*event = (CUevent)(uintptr_t)vg_publish(e);
	return CUDA_SUCCESS;
}
