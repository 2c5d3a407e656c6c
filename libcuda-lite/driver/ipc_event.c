/* SPDX-License-Identifier: MIT */
/*
 * Events between processes: two numbers in memory that all of them see. A recording takes the next number; the stream writes it
 * to `done` when it gets there, behind the one before, so that `done` only grows. Who waits, waits for the number of the last
 * recording: a stream by the device's own wait for a value, a thread by looking.
 */
#include "driver.h"
#include "../core/queue.h"
#include "../core/share.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct vg_shared_event {
	uint64_t recorded, done;
	uint64_t pids;                  /* the namespace in which the number below means something */
	uint32_t pid, rsvd;             /* who recorded last */
};

static uint64_t pid_namespace(void)
{
	struct stat st;

	return syscall(SYS_stat, "/proc/self/ns/pid", &st) ? 0 : st.st_ino;
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

	b.value = __atomic_add_fetch(&w->recorded, 1, __ATOMIC_ACQ_REL);
	w->pids = pid_namespace();
	__atomic_store_n(&w->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
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

/* A status. LAUNCH_FAILED's when who recorded it is gone: it will never be done. */
uint32_t vg_ipc_event_sync(const struct vg_event *e)
{
	const struct vg_shared_event *w = e->shared;
	uint64_t n = vgpu_load_acquire64(&w->recorded), look = vg_now_ns() + 500000000u;
	uint32_t status;

	for (unsigned turn = 0; vgpu_load_acquire64(&w->done) < n; vg_backoff(turn++)) {
		status = vg_asked_again(e->ctx);
		if (status)
			return status;
		if (vg_now_ns() < look)
			continue;
		look += 500000000u;
		if (w->pids == pid_namespace() && kill((pid_t)w->pid, 0) && errno == ESRCH && vgpu_load_acquire64(&w->done) < n)
			return VGPU_ST_CONTEXT_DEAD;
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
	return vg_ipc_name((uint64_t)(uintptr_t)e->shared, sizeof *e->shared, 2, handle->reserved);
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
	VG_TRY(vg_ipc_open(handle.reserved, 2, &at, &bytes));
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
