/* SPDX-License-Identifier: MIT */
/*
 * Green contexts, the resources that they are made of, and events of a whole context. Called by programs.
 *
 * A green context is the primary one with a number of multiprocessors: streams that are made in it say so. The numbers are the
 * device's, and what is split of them is not there twice; where blocks run the device decides as ever, so a kernel may have more
 * than its green context has, and never less.
 */
#include "driver.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

#define STEP 2u                 /* multiprocessors; this device has no larger groups */

/* In the part of a CUdevResource that is nobody's. */
struct origin {
	uint32_t magic, split;  /* split: which one made it; 0: as a device or a context has it */
	uint32_t ordinal, first;
};
#define MAGIC 0x56475352u

struct CUdevResourceDesc_st {
	struct CUdevResourceDesc_st *next;
	CUdevResource sm;
	uint32_t ordinal;
};

struct detached {
	struct detached *next;
	uint64_t handle;
};

static struct vg_lock lock;
static struct CUdevResourceDesc_st *descs;
static struct detached *detached;
static uint32_t last_split;

static struct origin *origin_of(const CUdevResource *r) { return (struct origin *)(uintptr_t)r->_internal_padding; }

static void whole(CUdevResource *r, uint32_t ordinal)
{
	const struct origin o = { MAGIC, 0, ordinal, 0 };

	memset(r, 0, sizeof *r);
	r->type = CU_DEV_RESOURCE_TYPE_SM;
	memcpy(r->_internal_padding, &o, sizeof o);
	r->sm.smCount = vg.info[ordinal].sm_count;
	r->sm.minSmPartitionSize = r->sm.smCount < STEP ? r->sm.smCount : STEP;
	r->sm.smCoscheduledAlignment = r->sm.minSmPartitionSize;
}

/* sm: what is answered for multiprocessors. */
static CUresult answer(CUdevResource *r, CUdevResourceType type, const CUdevResource *sm, uint32_t ordinal, uint64_t owner)
{
	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)type) {
	case CU_DEV_RESOURCE_TYPE_SM:
		*r = *sm;
		return CUDA_SUCCESS;
	case CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG:
		memset(r, 0, sizeof *r);
		r->wqConfig.device = (CUdevice)ordinal;
		r->wqConfig.wqConcurrencyLimit = VGPU_MAX_STREAMS;
		break;
	case CU_DEV_RESOURCE_TYPE_WORKQUEUE:
		if (!owner)
			return CUDA_ERROR_INVALID_RESOURCE_TYPE;
		memset(r, 0, sizeof *r);
		memcpy(r->wq.reserved, &owner, sizeof owner);
		break;
	default:
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	}
	r->type = type;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice dev, CUdevResource *r, CUdevResourceType type)
{
	CUdevResource sm;

	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	whole(&sm, (uint32_t)dev);
	return answer(r, type, &sm, (uint32_t)dev, 0);
}

/* ---- splitting ---- */

static CUresult check_input(const CUdevResource *in)
{
	if (!in)
		return CUDA_ERROR_INVALID_VALUE;
	if (in->type != CU_DEV_RESOURCE_TYPE_SM || origin_of(in)->magic != MAGIC)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	/* Documented: what came of a split is split again only behind a green context. */
	return origin_of(in)->split ? CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION : CUDA_SUCCESS;
}

static void part(CUdevResource *r, const CUdevResource *in, uint32_t split, uint32_t at, uint32_t n, uint32_t align, uint32_t flags)
{
	if (!r)
		return;
	memset(r, 0, sizeof *r);
	if (!n)
		return;         /* CU_DEV_RESOURCE_TYPE_INVALID */
	*r = *in;
	r->nextResource = NULL;
	origin_of(r)->split = split;
	origin_of(r)->first += at;
	r->sm.smCount = n;
	r->sm.minSmPartitionSize = align < n ? align : n;
	r->sm.smCoscheduledAlignment = align;
	r->sm.flags = flags;
}

static uint32_t next_split(void) { return __atomic_add_fetch(&last_split, 1, __ATOMIC_RELAXED) | 1u << 31; }

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n, const CUdevResource *in, CUdevResource *rest, unsigned int flags,
				     unsigned int min)
{
	uint32_t align, size, groups;
	uint32_t split;

	VG_READY();
	if (!n || (flags & ~(unsigned)(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE)))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_input(in));
	if (min > in->sm.smCount)
		return CUDA_ERROR_INVALID_VALUE;
	align = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING ? 1 : in->sm.smCoscheduledAlignment;
	size = (min ? min + align - 1 : align) / align * align;
	groups = in->sm.smCount / size;
	if (!result) {
		*n = groups;
		return CUDA_SUCCESS;
	}
	if (!*n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!groups)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	*n = *n < groups ? *n : groups;
	split = next_split();
	for (uint32_t i = 0; i < *n; i++)
		part(&result[i], in, split, i * size, size, align, 0);
	part(rest, in, split, *n * size, in->sm.smCount - *n * size, align, 0);
	return CUDA_SUCCESS;
}

/* Of `left`, what a group gets; 0: it cannot be. */
static uint32_t group(CU_DEV_SM_RESOURCE_GROUP_PARAMS *g, uint32_t left)
{
	bool fills = g->flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL;
	uint32_t together = g->coscheduledSmCount ? g->coscheduledSmCount : STEP;

	if (!g->smCount)        /* to be found out: all that there is */
		return fills ? left - left % STEP : left - left % together;
	return g->smCount > left ? 0 : g->smCount;
}

static bool group_ok(const CU_DEV_SM_RESOURCE_GROUP_PARAMS *g, uint32_t all)
{
	uint32_t together = g->coscheduledSmCount ? g->coscheduledSmCount : STEP;

	for (unsigned i = 0; i < sizeof g->reserved / sizeof g->reserved[0]; i++)
		if (g->reserved[i])
			return false;
	if (g->flags & ~(unsigned)CU_DEV_SM_RESOURCE_GROUP_BACKFILL)
		return false;
	/* "The maximum is 32 on Compute Architecture 9.0+ and 2 otherwise": groups here are of 2. */
	if (together != STEP || (g->preferredCoscheduledSmCount && g->preferredCoscheduledSmCount % together))
		return false;
	return !g->smCount || (g->smCount >= STEP && g->smCount <= all && g->smCount % STEP == 0);
}

CUresult cuDevSmResourceSplit(CUdevResource *result, unsigned int n, const CUdevResource *in, CUdevResource *rest, unsigned int flags,
			      CU_DEV_SM_RESOURCE_GROUP_PARAMS *g)
{
	uint32_t at = 0;
	uint32_t split;

	VG_READY();
	if (!n || !g || flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_input(in));
	for (unsigned i = 0; i < n; i++)
		if (!group_ok(&g[i], in->sm.smCount))
			return CUDA_ERROR_INVALID_VALUE;
	/* All of it can be, or nothing is written. */
	for (unsigned i = 0; i < n; i++) {
		uint32_t got = group(&g[i], in->sm.smCount - at);

		if (!got && (result || g[i].smCount))
			return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
		at += got;
	}
	at = 0;
	split = next_split();
	for (unsigned i = 0; i < n; i++) {
		uint32_t got = group(&g[i], in->sm.smCount - at);

		g[i].smCount = got;
		g[i].coscheduledSmCount = STEP;
		if (!g[i].preferredCoscheduledSmCount)
			g[i].preferredCoscheduledSmCount = STEP;
		if (result)
			part(&result[i], in, split, at, got, STEP, g[i].flags);
		at += got;
	}
	part(rest, in, split, at, in->sm.smCount - at, STEP, 0);
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *r, unsigned int n)
{
	struct CUdevResourceDesc_st *d, made = { 0 };
	bool sm = false;

	VG_READY();
	if (!out || !r || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		uint32_t ordinal;

		switch ((int)r[i].type) {
		case CU_DEV_RESOURCE_TYPE_SM:
			if (origin_of(&r[i])->magic != MAGIC)
				return CUDA_ERROR_INVALID_RESOURCE_TYPE;
			ordinal = origin_of(&r[i])->ordinal;
			if (sm && (origin_of(&r[i])->split != origin_of(&made.sm)->split || !origin_of(&made.sm)->split ||
				   r[i].sm.smCoscheduledAlignment != made.sm.sm.smCoscheduledAlignment))
				return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
			if (sm)
				made.sm.sm.smCount += r[i].sm.smCount;
			else
				made.sm = r[i];
			sm = true;
			break;
		case CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG:
			if (!vg_device_ok(r[i].wqConfig.device) || (unsigned)r[i].wqConfig.sharingScope > CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED)
				return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
			ordinal = (uint32_t)r[i].wqConfig.device;
			break;
		case CU_DEV_RESOURCE_TYPE_WORKQUEUE:
			ordinal = made.ordinal;
			break;
		default:
			return CUDA_ERROR_INVALID_RESOURCE_TYPE;
		}
		if (i && ordinal != made.ordinal)
			return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
		made.ordinal = ordinal;
	}
	if (!sm)                /* none given: all of them */
		whole(&made.sm, made.ordinal);
	d = malloc(sizeof *d);
	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*d = made;
	/* No call ends one: they stay. */
	vg_lock(&lock);
	d->next = descs;
	descs = d;
	vg_unlock(&lock);
	*out = d;
	return CUDA_SUCCESS;
}

/* ---- green contexts ---- */

static CUresult green_of(CUgreenCtx h, struct vg_green **g)
{
	VG_READY();
	*g = vg_get(VG_GREEN, (uint64_t)(uintptr_t)h);
	if (!*g)
		return CUDA_ERROR_INVALID_CONTEXT;
	return (*g)->ctx->handle == (*g)->ctx_handle ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
	struct CUdevResourceDesc_st *d;
	static uint64_t last_id;
	struct vg_green *g;
	CUcontext primary;
	CUresult r;

	VG_READY();
	if (!out || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	vg_lock(&lock);
	for (d = descs; d && d != desc; d = d->next)
		;
	vg_unlock(&lock);
	if (!d || d->ordinal != (uint32_t)dev)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(cuDevicePrimaryCtxRetain(&primary, dev));
	g = vg_new(VG_GREEN);
	r = g ? vg_context(primary, &g->ctx) : CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		if (g)
			vg_delete(VG_GREEN, g);
		cuDevicePrimaryCtxRelease_v2(dev);
		return r;
	}
	g->ctx_handle = g->ctx->handle;
	g->first = origin_of(&d->sm)->first;
	g->sms = d->sm.sm.smCount;
	g->align = d->sm.sm.smCoscheduledAlignment;
	g->id = (1ull << 63) | __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	vg_publish(g);
	*out = VG_HANDLE(CUgreenCtx, g);
	return CUDA_SUCCESS;
}

/* The streams of it end as handles; what is in them goes on. */
static CUresult detach(struct vg_green *g)
{
	struct vg_ctx *c = g->ctx;

	for (;;) {
		struct detached *d = malloc(sizeof *d);
		struct vg_stream *s = NULL;

		if (!d)
			return CUDA_ERROR_OUT_OF_MEMORY;
		vg_lock(&c->lock);
		for (unsigned i = 1; i < c->stream_top && !s; i++)
			if (c->streams[i] && c->streams[i]->green == g->handle)
				s = c->streams[i];
		vg_unlock(&c->lock);
		if (!s) {
			free(d);
			return CUDA_SUCCESS;
		}
		d->handle = s->handle;
		vg_lock(&lock);
		d->next = detached;
		detached = d;
		vg_unlock(&lock);
		vg_stream_destroy(s);
	}
}

CUresult vg_no_stream(CUstream h)
{
	const struct detached *d;

	vg_lock(&lock);
	for (d = detached; d && d->handle != (uint64_t)(uintptr_t)h; d = d->next)
		;
	vg_unlock(&lock);
	return d ? CUDA_ERROR_STREAM_DETACHED : CUDA_ERROR_INVALID_HANDLE;
}

bool vg_detached_end(CUstream h)
{
	struct detached **p, *d;

	vg_lock(&lock);
	for (p = &detached; (d = *p) && d->handle != (uint64_t)(uintptr_t)h; p = &d->next)
		;
	if (d)
		*p = d->next;
	vg_unlock(&lock);
	free(d);
	return d != NULL;
}

CUresult cuGreenCtxDestroy(CUgreenCtx h)
{
	struct vg_green *g;
	CUdevice dev;

	VG_TRY(green_of(h, &g));
	VG_TRY(detach(g));
	dev = (CUdevice)g->ctx->ordinal;
	vg_unpublish(g);
	vg_ctx_forget_current((uint64_t)(uintptr_t)h);
	vg_delete(VG_GREEN, g);
	return cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult cuCtxFromGreenCtx(CUcontext *ctx, CUgreenCtx h)
{
	struct vg_green *g;

	VG_READY();
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(green_of(h, &g));
	g->converted = true;
	*ctx = VG_HANDLE(CUcontext, g);
	return CUDA_SUCCESS;
}

static void resource_of(const struct vg_green *g, CUdevResource *r)
{
	whole(r, g->ctx->ordinal);
	origin_of(r)->first = g->first;
	r->sm.smCount = g->sms;
	r->sm.smCoscheduledAlignment = g->align;
	r->sm.minSmPartitionSize = g->align < g->sms ? g->align : g->sms;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx h, CUdevResource *r, CUdevResourceType type)
{
	struct vg_green *g;
	CUdevResource sm;

	VG_TRY(green_of(h, &g));
	resource_of(g, &sm);
	return answer(r, type, &sm, g->ctx->ordinal, g->handle);
}

CUresult cuCtxGetDevResource(CUcontext h, CUdevResource *r, CUdevResourceType type)
{
	const struct vg_green *g = vg_get(VG_GREEN, (uint64_t)(uintptr_t)h);
	CUdevResource sm;
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	if (g)
		resource_of(g, &sm);
	else
		whole(&sm, c->ordinal);
	return answer(r, type, &sm, c->ordinal, (uint64_t)(uintptr_t)h);
}

static CUresult impl_cuStreamGetDevResource(CUstream h, CUdevResource *r, CUdevResourceType type, bool pt)
{
	const struct vg_green *g;
	struct vg_stream *s;
	CUdevResource sm;

	VG_READY();
	if (!r)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	if (type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	g = vg_get(VG_GREEN, vg_green_of(h, s));
	if (g)
		resource_of(g, &sm);
	else
		whole(&sm, s->ctx->ordinal);
	*r = sm;
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetDevResource, _ptsz, (CUstream stream, CUdevResource *resource, CUdevResourceType type), (stream, resource, type, pt))

CUresult cuGreenCtxGetId(CUgreenCtx h, unsigned long long *id)
{
	struct vg_green *g;

	VG_READY();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!h && vg_self)
		h = (CUgreenCtx)(uintptr_t)vg_self->green;
	VG_TRY(green_of(h, &g));
	*id = g->id;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx h, unsigned int flags, int priority)
{
	struct vg_green *g;
	struct vg_stream *s;

	VG_READY();
	if (!stream || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(green_of(h, &g));
	VG_TRY(vg_done(g->ctx, vg_stream_create(g->ctx, vg_priority_flags(g->ctx, priority), &s)));
	s->cu_flags = flags;
	s->green = g->handle;
	vg_gate(s);
	*stream = VG_HANDLE(CUstream, s);
	return CUDA_SUCCESS;
}

/* Of a stream by its handle; one of the special ones is of what is current. */
uint64_t vg_green_of(CUstream h, const struct vg_stream *s)
{
	return (uintptr_t)h > 2 ? s->green : vg_self ? vg_self->green : 0;
}

CUresult cuStreamGetGreenCtx(CUstream h, CUgreenCtx *green)
{
	struct vg_stream *s;

	VG_READY();
	if (!green)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, false, &s));
	*green = (CUgreenCtx)(uintptr_t)vg_green_of(h, s);
	return CUDA_SUCCESS;
}

/* ---- events of all streams ---- */

/* of: a green context's handle, or 0: all. A stream that captures spoils its capture. */
static CUresult each_captures(struct vg_ctx *c, uint64_t of)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 1; i < c->stream_top; i++) {
		struct vg_stream *s = c->streams[i];

		if (s && (!of || s->green == of) && vg_capturing(s)) {
			(void)vg_capture_refuse(s);
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	return r;
}

/* Behind all that the streams have got, those that are destroyed included. */
static CUresult record(struct vg_ctx *c, uint64_t of, struct vg_event *e)
{
	if (e->ctx != c)
		return CUDA_ERROR_INVALID_HANDLE;
	VG_TRY(each_captures(c, of));
	vg_lock(&lock);
	if (!c->all_stream) {
		uint32_t status = vg_stream_create(c, 0, &c->all_stream);

		if (status) {
			vg_unlock(&lock);
			return vg_done(c, status);
		}
	}
	for (unsigned i = 0; i < c->stream_top; i++) {
		uint64_t last = 0;

		vg_lock(&c->lock);
		if (c->streams[i] && c->streams[i] != c->all_stream && (!of || c->streams[i]->green == of))
			last = vg_stream_last(c->streams[i]);
		else if (!c->streams[i] && !of)
			last = c->dying[i];
		vg_unlock(&c->lock);
		if (last && !vgpu_timeline_reached(&c->timelines[i], last))
			vg_submit_wait(c->all_stream, VGPU_WAIT_TL(c->number, i), last);
	}
	vg_event_record(e, c->all_stream);
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

/* What streams that are made later wait for, until it is complete. */
struct gate {
	struct gate *next;
	uint64_t of, green;             /* handles of the context that waits, and of the green one in it, or 0 */
	struct vg_ctx *ctx;             /* of the event */
	uint64_t ctx_handle, mark;
};
static struct gate *gates;

static bool over(const struct gate *g) { return g->ctx->handle != g->ctx_handle || vg_mark_done(g->ctx, g->mark); }

static CUresult gate_add(const struct vg_ctx *c, uint64_t green, const struct vg_event *e)
{
	struct gate *g = malloc(sizeof *g), **p, *x;

	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*g = (struct gate){ NULL, c->handle, green, e->ctx, e->ctx_handle, __atomic_load_n(&e->mark, __ATOMIC_ACQUIRE) };
	vg_lock(&lock);
	for (p = &gates; (x = *p) != NULL;) {
		if (over(x)) {
			*p = x->next;
			free(x);
		} else {
			p = &x->next;
		}
	}
	*p = g;
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

void vg_gate(struct vg_stream *s)
{
	if (VG_LIKELY(!__atomic_load_n(&gates, __ATOMIC_RELAXED)))
		return;
	vg_lock(&lock);
	for (const struct gate *g = gates; g; g = g->next)
		if (g->of == s->ctx->handle && (!g->green || g->green == s->green) && !over(g))
			vg_mark_wait(s, g->ctx, g->mark);
	vg_unlock(&lock);
}

/* Streams that are made later wait as well. */
static CUresult wait(struct vg_ctx *c, struct vg_green *g, struct vg_event *e)
{
	if (e->captured)
		return vg_capture_refuse_event(e, CUDA_ERROR_CAPTURED_EVENT);
	if (e->shared)
		return vg_unsupported("waiting of a context for an interprocess event");
	VG_TRY(each_captures(c, g ? g->handle : 0));
	for (unsigned i = 0; i < c->stream_top; i++) {
		struct vg_stream *s;

		vg_lock(&c->lock);
		s = c->streams[i];
		vg_unlock(&c->lock);
		if (s && s != c->host_stream && s != c->body_stream && s != c->all_stream && (!g || s->green == g->handle))
			vg_event_wait(s, e);
	}
	return gate_add(c, g ? g->handle : 0, e);
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx h, CUevent event)
{
	struct vg_green *g;
	struct vg_event *e;

	VG_TRY(green_of(h, &g));
	VG_TRY(vg_event(event, &e));
	return record(g->ctx, g->handle, e);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx h, CUevent event)
{
	struct vg_green *g;
	struct vg_event *e;

	VG_TRY(green_of(h, &g));
	VG_TRY(vg_event(event, &e));
	return wait(g->ctx, g, e);
}

CUresult cuCtxRecordEvent(CUcontext h, CUevent event)
{
	const struct vg_green *g = vg_get(VG_GREEN, (uint64_t)(uintptr_t)h);
	struct vg_event *e;
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	VG_TRY(vg_event(event, &e));
	return record(c, g ? g->handle : 0, e);
}

CUresult cuCtxWaitEvent(CUcontext h, CUevent event)
{
	struct vg_green *g = vg_get(VG_GREEN, (uint64_t)(uintptr_t)h);
	struct vg_event *e;
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	VG_TRY(vg_event(event, &e));
	return wait(c, g, e);
}
