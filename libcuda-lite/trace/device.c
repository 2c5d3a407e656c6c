/* SPDX-License-Identifier: MIT */
/*
 * What the device did, and when, for vgpu trace: around each call that gives a stream work stand two EVENT commands on that stream, whose time
 * stamps the device writes as it comes to them. So what lies between them is the work as the device ran it, behind whatever the
 * stream had to wait for first; a graph is one piece of work, a wait another. Only where vgpu trace asks for it (VGPU_TRACE_DEVICE, or the
 * door's flags): the program's launches then cost three commands.
 *
 * A span lives in the window from its begin until both stamps are there. Spans that are complete are reported at the end of a later call, or
 * when the process ends. One message each, to where calls are reported:
 *
 *   D PID/TID DEVICE CONTEXT STREAM HANDLE BEGIN END CALL KIND BYTES NAME      times in ns on this process's CLOCK_MONOTONIC
 *
 * KIND: k kernel, m matrix product, g graph, c copy, s set, w wait. HANDLE: the stream's, in hex, 0 the default one.
 */
#define _GNU_SOURCE
#include "../driver/driver.h"
#include "../core/queue.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPANS 4096u                     /* not reported yet, at most: the others are counted */
#define LEAVE_NS 2000000000ull          /* that the end of the process waits for what runs */

struct stamps {
	_Alignas(64) struct vgpu_event_record begin;
	_Alignas(64) struct vgpu_event_record end;
};
struct span {
	struct span *next;
	struct stamps *stamps;
	uint64_t first, last;           /* tickets; last 0: the call has not returned */
	uint64_t call_ns, handle, bytes;
	int64_t clock;                  /* the device's less ours */
	uint32_t tid, device, context, stream;
	char kind;
	bool failed;
	uint32_t session;               /* of `attached`: what another vgpu trace -p began is not this one's */
	char name[200];
};

#pragma GCC visibility push(hidden)
extern __typeof__(cuFuncGetName) vgpu_impl_cuFuncGetName;
extern __typeof__(cuKernelGetName) vgpu_impl_cuKernelGetName;
#pragma GCC visibility pop

static struct vg_lock lock;
static struct span *spans, *unused, *out, **out_end = &out;
static struct stamps *stamps;
static uint32_t pid, client;            /* whose these are */
static uint64_t lost;
static struct { uint64_t ctx_handle; int64_t clock; } clocks[VGPU_MAX_CONTEXTS];

/* Is the device's work reported, by VGPU_TRACE_DEVICE or by vgpu trace -p, which comes and goes? */
static bool on(void)
{
	const struct trace_shared *s = vgpuTraceShared();
	uint32_t n = atomic_load_explicit(&s->attached, memory_order_relaxed);

	return s->flags & TRACE_DEVICE && (!n || atomic_load_explicit(&s->over, memory_order_relaxed) != n);
}

static uint32_t session(void)
{
	return atomic_load_explicit(&vgpuTraceShared()->attached, memory_order_relaxed);
}

/* ---- which calls ------------------------------------------------------------------------------------ */

static const struct { const char *call; char kind; } given[] = {
	{ "cuLaunchKernel", 'k' }, { "cuLaunchCooperativeKernel", 'k' }, { "cuLaunchGrid", 'k' }, { "cuLaunch(", 'k' }, { "cuGraphLaunch", 'g' },
	{ "cuMemcpy", 'c' }, { "cuMemset", 's' }, { "cuStreamWaitEvent", 'w' }, { "cuStreamWaitValue", 'w' },
};

/* The place of an argument in a description; -1: it has none of that name. */
static int place(const char *desc, const char *name)
{
	size_t n = strlen(name);
	const char *p = strchr(desc, '(');

	for (int i = 0; p && *p != ')'; i++) {
		if (!strncmp(++p, name, n) && p[n] == ':')
			return i;
		p += strcspn(p, ",)");
	}
	return -1;
}

static uint64_t value(const char *desc, const uint64_t *args, const char *name, uint64_t otherwise)
{
	int i = place(desc, name);

	return i < 0 || !args ? otherwise : args[i];
}

static const char *where(uint64_t a) { return vg_in_device(a) ? "Device" : "Host"; }

static void copy_of(struct span *s, const char *desc, const uint64_t *args)
{
	const char *from, *to;
	CUDA_MEMCPY3D b;
	CUDA_MEMCPY2D a;
	int i = place(desc, "copy");

	if (i >= 0 && strstr(desc, "copy:H") && !trace_read(&b, args[i], sizeof b)) {
		s->bytes = b.WidthInBytes * b.Height * b.Depth;
		from = where(b.srcMemoryType == CU_MEMORYTYPE_HOST ? 0 : b.srcDevice);
		to = where(b.dstMemoryType == CU_MEMORYTYPE_HOST ? 0 : b.dstDevice);
	} else if (i >= 0 && strstr(desc, "copy:G") && !trace_read(&a, args[i], sizeof a)) {
		s->bytes = a.WidthInBytes * a.Height;
		from = where(a.srcMemoryType == CU_MEMORYTYPE_HOST ? 0 : a.srcDevice);
		to = where(a.dstMemoryType == CU_MEMORYTYPE_HOST ? 0 : a.dstDevice);
	} else {
		s->bytes = value(desc, args, "bytes", 0);
		from = where(value(desc, args, "src", 0));
		to = where(value(desc, args, "dst", 0));
	}
	snprintf(s->name, sizeof s->name, "[CUDA memcpy %s-to-%s]", from, to);
}

static void describe(struct span *s, const char *desc, const uint64_t *args)
{
	uint64_t fn = value(desc, args, "fn", 0);
	const char *name = NULL;

	s->bytes = 0;
	switch (s->kind) {
	case 'k':
		if (vgpu_impl_cuFuncGetName(&name, (CUfunction)(uintptr_t)fn) != CUDA_SUCCESS &&
		    vgpu_impl_cuKernelGetName(&name, (CUkernel)(uintptr_t)fn) != CUDA_SUCCESS)
			name = "?";
		snprintf(s->name, sizeof s->name, "%s", name);
		break;
	case 'c':
		copy_of(s, desc, args);
		break;
	case 's':
		s->bytes = (strstr(desc, "D32") ? 4 : strstr(desc, "D16") ? 2 : 1) *
			   value(desc, args, "n", value(desc, args, "width", 0) * value(desc, args, "height", 1));
		snprintf(s->name, sizeof s->name, "[CUDA memset]");
		break;
	case 'g':
		snprintf(s->name, sizeof s->name, "[CUDA graph]");
		break;
	default:
		snprintf(s->name, sizeof s->name, "[wait for %s]", strstr(desc, "Event") ? "an event" : "a value");
	}
}

/* ---- spans -------------------------------------------------------------------------------------------- */

/* Lock held. In a forked child and in a later session there are none, and the memory of those before is gone. */
static bool ready(void)
{
	if (spans && pid == (uint32_t)getpid() && client == vg.client_id)
		return true;
	if (!spans && !(spans = calloc(SPANS, sizeof *spans)))
		return false;
	stamps = vg_window_alloc(SPANS * sizeof *stamps, 64);
	if (!stamps)
		return false;
	memset(stamps, 0, SPANS * sizeof *stamps);
	memset(clocks, 0, sizeof clocks);
	unused = out = NULL;
	out_end = &out;
	for (uint32_t i = SPANS; i-- > 0;) {
		spans[i].stamps = &stamps[i];
		spans[i].next = unused;
		unused = &spans[i];
	}
	pid = (uint32_t)getpid();
	client = vg.client_id;
	return true;
}

/* A device behind a VM's border has a clock of its own: what it shows less what ours does, by the quickest of some answers. */
static int64_t clock_of(struct vg_ctx *c)
{
	uint64_t best = UINT64_MAX, v[3] = { 0 };
	int64_t ahead = 0;

	if (clocks[c->number].ctx_handle == c->handle)
		return clocks[c->number].clock;
	for (int i = 0; i < 5; i++) {
		uint64_t t0 = vg_now_ns(), t1;

		if (vg_ctl(c, VGPU_OP_PING, 0, 0, 0, 0, v))
			return 0;
		t1 = vg_now_ns();
		if (t1 - t0 < best) {
			best = t1 - t0;
			ahead = (int64_t)(v[0] - (t0 + (t1 - t0) / 2));
		}
	}
	/* within what the answer took it is the same clock */
	if (ahead < (int64_t)best && ahead > -(int64_t)best)
		ahead = 0;
	clocks[c->number].ctx_handle = c->handle;
	clocks[c->number].clock = ahead;
	return ahead;
}

static void *begin(struct vg_stream *s, uint64_t handle, char kind)
{
	struct vgpu_body_event e;
	struct span *p = NULL;

	/* what a host function calls is refused; a mark in front of it would make its thread the queue's owner, whose launch is not */
	if (vg.lost || vg_capturing(s) || vg_is_host())
		return NULL;
	vg_lock(&lock);
	if (ready() && (p = unused))
		unused = p->next;
	else
		lost++;
	vg_unlock(&lock);
	if (!p)
		return NULL;
	p->kind = kind;
	p->handle = handle;
	p->failed = false;
	p->session = session();
	p->last = 0;
	p->tid = (uint32_t)syscall(SYS_gettid);
	p->device = vg.map[s->ctx->ordinal];
	p->context = s->ctx->number;
	p->stream = s->index;
	p->clock = clock_of(s->ctx);
	p->stamps->begin.ticket = p->stamps->end.ticket = 0;
	p->call_ns = vg_now_ns();
	e = (struct vgpu_body_event){ .record = (uint64_t)(uintptr_t)&p->stamps->begin };
	p->first = vg_submit(s, VGPU_OP_EVENT, &e, NULL, 0);
	return p;
}

static void end(struct vg_stream *s, struct span *p, bool failed)
{
	struct vgpu_body_event e = { .record = (uint64_t)(uintptr_t)&p->stamps->end };

	/* behind a call that waits for its work the stream is as idle as it is without a trace */
	bool idle = !failed && vgpu_timeline_reached(s->tl, __atomic_load_n(&s->last, __ATOMIC_ACQUIRE));

	p->failed = failed;
	p->last = failed ? p->first : vg_submit(s, VGPU_OP_EVENT, &e, NULL, 0);
	if (idle)
		vg_wait_timeline(s->ctx, s->tl, p->last);
	vg_lock(&lock);
	p->next = NULL;
	*out_end = p;
	out_end = &p->next;
	vg_unlock(&lock);
}

static void report(const struct span *p)
{
	char buf[512];
	int n = snprintf(buf, sizeof buf, "D %u/%u %u %u %u %llx %llu %llu %llu %c %llu %s\n", pid, p->tid, p->device, p->context, p->stream,
			 (unsigned long long)p->handle, (unsigned long long)(p->stamps->begin.time_ns - (uint64_t)p->clock),
			 (unsigned long long)(p->stamps->end.time_ns - (uint64_t)p->clock), (unsigned long long)p->call_ns, p->kind,
			 (unsigned long long)p->bytes, p->name);

	trace_put(buf, (size_t)n);
}

/* Reports what is complete; how many are not. */
static unsigned drain(void)
{
	struct span **at, *p;
	unsigned left = 0;

	vg_lock(&lock);
	if (!spans || pid != (uint32_t)getpid() || client != vg.client_id || vg.lost) {
		vg_unlock(&lock);
		return 0;
	}
	for (at = &out; (p = *at);) {
		bool done = __atomic_load_n(&p->stamps->begin.ticket, __ATOMIC_ACQUIRE) == p->first &&
			    (p->failed || __atomic_load_n(&p->stamps->end.ticket, __ATOMIC_ACQUIRE) == p->last);

		if (!done) {
			left++;
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (!*at)
			out_end = at;
		if (!p->failed && p->session == session())
			report(p);
		p->next = unused;
		unused = p;
	}
	vg_unlock(&lock);
	return left;
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

void *vgpu_trace_begin(const char *desc, const uint64_t *args)
{
	struct vg_stream *s;
	size_t name = strcspn(desc, "(");
	bool pt = name > 5 && (!strncmp(desc + name - 5, "_ptsz", 5) || !strncmp(desc + name - 5, "_ptds", 5));
	uint64_t handle;
	CUlaunchConfig k;
	struct span *p;
	char kind = 0;

	if (!on() || !__atomic_load_n(vg_alive, __ATOMIC_RELAXED))
		return NULL;
	for (size_t i = 0; !kind && i < sizeof given / sizeof given[0]; i++)
		if (!strncmp(desc, given[i].call, strlen(given[i].call)))
			kind = given[i].kind;
	if (!kind)
		return NULL;
	handle = value(desc, args, "stream", 0);
	if (place(desc, "config") == 0) {
		if (trace_read(&k, args[0], sizeof k))
			return NULL;
		handle = (uint64_t)(uintptr_t)k.hStream;
	}
	if (vg_stream((CUstream)(uintptr_t)handle, pt, &s) != CUDA_SUCCESS)
		return NULL;
	p = begin(s, handle, kind);
	if (p)
		describe(p, desc, args);
	return p;
}

void vgpu_trace_end(void *span, int failed)
{
	struct span *p = span;
	struct vg_stream *s = NULL;

	/* the stream again, by number: the call may have ended it */
	for (unsigned i = 0; p && i < 2; i++) {
		if (vg_stream((CUstream)(uintptr_t)p->handle, i, &s) == CUDA_SUCCESS && s->index == p->stream)
			break;
		s = NULL;
	}
	if (p)
		end(s, p, failed || !s);
	drain();
}

static void *product_begin(struct vg_stream *s, CUstream handle, const char *name)
{
	struct span *p = on() ? begin(s, (uint64_t)(uintptr_t)handle, 'm') : NULL;

	if (p) {
		p->bytes = 0;
		snprintf(p->name, sizeof p->name, "%s", name);
	}
	return p;
}

static void product_end(struct vg_stream *s, void *span)
{
	if (span)
		end(s, span, false);
}

static const struct vg_device_trace products = { product_begin, product_end };

__attribute__((constructor)) static void device_trace_start(void)
{
	const char *to = getenv("VGPU_TRACE"), *device = getenv("VGPU_TRACE_DEVICE");

	vg_device_trace = &products;
	if (to && *to && device && *device && !getauxval(AT_SECURE))
		vgpuTraceShared()->flags |= TRACE_DEVICE;
}

__attribute__((destructor)) static void device_trace_end(void)
{
	uint64_t until = vg_now_ns() + LEAVE_NS;

	if (!on() || pid != (uint32_t)getpid())
		return;
	for (unsigned turn = 0; drain() && vg_now_ns() < until; vg_backoff(turn++))
		;
	if (lost)
		vg_say("trace: %llu pieces of work of the device are not in the trace: more than %u were under way", (unsigned long long)lost, SPANS);
}
