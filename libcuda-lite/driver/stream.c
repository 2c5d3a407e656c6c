/* SPDX-License-Identifier: MIT */
/*
 * Streams. The default streams exist without being created: 0 and 0x1 are the legacy one (a barrier
 * with all blocking streams), 0x2 and 0 of the _ptsz calls the calling thread's own.
 */
#include "driver.h"
#include "../core/queue.h"

#include <stdlib.h>
#include <string.h>

CUresult vg_default_stream(bool per_thread, struct vg_stream **out)
{
	struct vg_stream *s;
	struct vg_thread *t;
	struct vg_ctx *c;

	VG_TRY(vg_current(&c));
	if (!per_thread) {
		*out = c->legacy;
		return CUDA_SUCCESS;
	}
	t = vg_self;    /* there is a current context, so there is a thread record */
	s = vg_get(VG_STREAM, t->stream[c->number]);
	if (!s || s->ctx != c) {
		VG_TRY(vg_done(c, vg_stream_create(c, VGPU_CMD_BLOCKING, &s)));
		vg_gate(s);
		t->stream[c->number] = s->handle;
	}
	*out = s;
	return CUDA_SUCCESS;
}

/* How many there are beside 0, lower numbers first; 0: the device or the agent heeds none. */
unsigned vg_priorities(const struct vg_ctx *c)
{
	return vg.features & VGPU_FEATURE_PRIORITY && vg.info[c->ordinal].features & VGPU_DEV_FEATURE_PRIORITY ? VGPU_PRIORITIES - 1 : 0;
}

/* Documented: out of range is the nearest within. As a command's flags have it. */
uint16_t vg_priority_flags(const struct vg_ctx *c, int priority)
{
	int most = (int)vg_priorities(c);

	return (uint16_t)((priority >= 0 ? 0 : priority < -most ? most : -priority) << VGPU_CMD_PRIORITY_SHIFT);
}

static int priority_of(const struct vg_stream *s)
{
	uint64_t flags = __atomic_load_n(&s->flags_word, __ATOMIC_RELAXED) >> 48;

	return -(int)((flags & VGPU_CMD_PRIORITY) >> VGPU_CMD_PRIORITY_SHIFT);
}

/* Also while other threads submit: each command has the one or the other. */
static void set_priority(struct vg_stream *s, int priority)
{
	uint64_t word = __atomic_load_n(&s->flags_word, __ATOMIC_RELAXED) & ~((uint64_t)VGPU_CMD_PRIORITY << 48);

	__atomic_store_n(&s->flags_word, word | (uint64_t)vg_priority_flags(s->ctx, priority) << 48, __ATOMIC_RELAXED);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	struct vg_stream *s;
	struct vg_ctx *c;

	VG_READY();
	if (!stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(vg_done(c, vg_stream_create(c, (uint16_t)((flags & CU_STREAM_NON_BLOCKING ? 0 : VGPU_CMD_BLOCKING) | vg_priority_flags(c, priority)), &s)));
	s->cu_flags = flags;
	s->green = vg_self->green;
	vg_gate(s);
	*stream = VG_HANDLE(CUstream, s);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream h)
{
	struct vg_stream *s;

	VG_READY();
	s = (uintptr_t)h > 2 ? vg_get(VG_STREAM, (uint64_t)(uintptr_t)h) : NULL;
	if (!s)
		return vg_detached_end(h) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	vg_stream_destroy(s);
	return CUDA_SUCCESS;
}

static CUresult impl_cuStreamQuery(CUstream h, bool pt)
{
	struct vg_stream *s;
	uint32_t e;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	VG_NO_CAPTURE(s);
	if (!vg_stream_idle(s)) {
		vg_printf_drain(s->ctx);        /* what prints waits for its reader */
		e = vg_asked_again(s->ctx);
		return e ? vg_fail(s->ctx, e) : CUDA_ERROR_NOT_READY;
	}
	/* Values move on when a context fails: look at the error behind them. */
	e = vg_ctx_whole(s->ctx);
	if (e)
		return vg_fail(s->ctx, e);
	vg_printf_drain(s->ctx);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamQuery, _ptsz, (CUstream stream), (stream, pt))

static CUresult impl_cuStreamSynchronize(CUstream h, bool pt)
{
	struct vg_stream *s;
	uint32_t status;

	VG_READY();
	VG_TRY(vg_stream(h, pt, &s));
	VG_NO_CAPTURE(s);
	status = vg_stream_sync(s);
	vg_pools_settle();
	vg_retained_reap();
	return vg_done(s->ctx, status);
}
VG_TWIN(cuStreamSynchronize, _ptsz, (CUstream stream), (stream, pt))

static CUresult impl_cuStreamGetPriority(CUstream h, int *priority, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	*priority = priority_of(s);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetPriority, _ptsz, (CUstream stream, int *priority), (stream, priority, pt))

static CUresult impl_cuStreamGetFlags(CUstream h, unsigned int *flags, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	*flags = s->cu_flags;
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned int *flags), (stream, flags, pt))

static CUresult impl_cuStreamGetId(CUstream h, unsigned long long *id, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	*id = s->id;
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id), (stream, id, pt))

static CUresult impl_cuStreamGetCtx(CUstream h, CUcontext *ctx, bool pt)
{
	struct vg_stream *s;
	uint64_t green;

	VG_READY();
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	green = vg_green_of(h, s);
	*ctx = green ? (CUcontext)(uintptr_t)green : VG_HANDLE(CUcontext, s->ctx);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *ctx), (stream, ctx, pt))

static CUresult impl_cuStreamGetCtx_v2(CUstream h, CUcontext *ctx, CUgreenCtx *green, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	/* Documented: a thread's own stream is in no green context. */
	if ((uintptr_t)h == 2 && vg_self->green)
		return CUDA_ERROR_INVALID_HANDLE;
	*ctx = VG_HANDLE(CUcontext, s->ctx);
	if (green)
		*green = (CUgreenCtx)(uintptr_t)vg_green_of(h, s);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetCtx_v2, _ptsz, (CUstream stream, CUcontext *ctx, CUgreenCtx *green), (stream, ctx, green, pt))

static CUresult impl_cuStreamGetDevice(CUstream h, CUdevice *dev, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	*dev = (CUdevice)s->ctx->ordinal;
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *dev), (stream, dev, pt))

/* ---- host functions ---- */

static CUresult impl_cuLaunchHostFunc(CUstream h, CUhostFn fn, void *user, bool pt)
{
	struct vg_stream *s;

	VG_READY();
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_host(s, fn, user);
	return vg_done(s->ctx, vg_host_call(s, 0, fn, NULL, user));
}
VG_TWIN(cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn fn, void *user), (stream, fn, user, pt))

/*
 * How it is waited for, by sleeping or not, is a hint: whoever calls host functions here sleeps. It is not looked at: a program that was built
 * with the headers of CUDA 13.1 itself asks for this entry point's version, and knows of three arguments.
 */
static CUresult impl_cuLaunchHostFunc_v2(CUstream h, CUhostFn fn, void *user, unsigned int mode, bool pt)
{
	(void)mode;
	return impl_cuLaunchHostFunc(h, fn, user, pt);
}
VG_TWIN(cuLaunchHostFunc_v2, _ptsz, (CUstream stream, CUhostFn fn, void *user, unsigned int mode), (stream, fn, user, mode, pt))

/* The callback's signature is CUDA's; core/ has its own view of handles and errors. */
struct callback {
	CUstreamCallback fn;
	void *user;
};

static void call_back(uint64_t stream, uint32_t status, void *user)
{
	struct callback *cb = user, k = *cb;

	free(cb);
	k.fn((CUstream)(uintptr_t)stream, (CUresult)vg_result(status), k.user);
}

static CUresult impl_cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *user, unsigned int flags, bool pt)
{
	struct callback *cb;
	struct vg_stream *s;
	uint32_t status;

	VG_READY();
	if (!fn || flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	VG_NO_CAPTURE(s);       /* documented: only host functions have a node */
	cb = malloc(sizeof *cb);
	if (!cb)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*cb = (struct callback){ fn, user };
	status = vg_host_call(s, (uint64_t)(uintptr_t)h, NULL, call_back, cb);
	if (status)
		free(cb);
	return vg_done(s->ctx, status);
}
VG_TWIN(cuStreamAddCallback, _ptsz,
	(CUstream stream, CUstreamCallback fn, void *user, unsigned int flags), (stream, fn, user, flags, pt))

/* ---- waits and writes of memory ---- */

CUresult vg_value_of(const CUstreamBatchMemOpParams *p, struct vgpu_body_value *b, uint8_t *op)
{
	const struct CUstreamMemOpValueParams_st *v = &p->waitValue;
	bool wait = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	struct vg_ctx *owner;
	struct vg_mem m;

	*op = VGPU_OP_WRITE_VALUE;
	*b = (struct vgpu_body_value){ .addr = v->address, .bytes = 4, .value = v->value };
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		b->bytes = 8;
		b->value = v->value64;
		break;
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		break;
	case CU_STREAM_MEM_OP_BARRIER:
		*op = 0;        /* commands of a stream are in order, and so is what they write */
		return p->memoryBarrier.flags & ~1u ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return vg_unsupported("CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES");
	case 8:                 /* of 13.1 */
		return vg_unsupported("CU_STREAM_MEM_OP_ATOMIC_REDUCTION");
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (wait) {
		if (v->flags & ~(unsigned)(3 | CU_STREAM_WAIT_VALUE_FLUSH))
			return CUDA_ERROR_INVALID_VALUE;
		/* Documented: only where CAN_FLUSH_REMOTE_WRITES is not 0. */
		if (v->flags & CU_STREAM_WAIT_VALUE_FLUSH)
			return vg_unsupported("CU_STREAM_WAIT_VALUE_FLUSH");
		*op = VGPU_OP_WAIT_VALUE;
		b->compare = v->flags & 3;
	} else if (v->flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (v->address % b->bytes || !vg_mem_find(v->address, &m) ||
	    (m.kind == VG_MEM_RESERVED && !vg_vmm_covers(v->address, b->bytes, &owner)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* All are checked before the first is done; a stream that captures gets one node. */
static CUresult values(CUstream h, unsigned int n, const CUstreamBatchMemOpParams *ops, bool pt)
{
	struct vgpu_body_value b;
	struct vg_stream *s;
	uint8_t op;

	VG_TRY(vg_stream(h, pt, &s));
	for (unsigned i = 0; i < n; i++)
		VG_TRY(vg_value_of(&ops[i], &b, &op));
	if (VG_UNLIKELY(vg_capturing(s)))
		return vg_capture_values(s, n, ops);
	for (unsigned i = 0; i < n; i++) {
		VG_TRY(vg_value_of(&ops[i], &b, &op));
		if (op)
			vg_submit(s, op, &b, NULL, 0);
	}
	return CUDA_SUCCESS;
}

static CUresult impl_cuStreamBatchMemOp_v2(CUstream h, unsigned int n, CUstreamBatchMemOpParams *ops, unsigned int flags, bool pt)
{
	VG_READY();
	if (!ops || n > VG_VALUES_MAX || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return values(h, n, ops, pt);
}
VG_TWIN(cuStreamBatchMemOp_v2, _ptsz, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags),
	(stream, count, ops, flags, pt))

/* The first form knows no barrier. */
static CUresult impl_cuStreamBatchMemOp(CUstream h, unsigned int n, CUstreamBatchMemOpParams *ops, unsigned int flags, bool pt)
{
	for (unsigned i = 0; ops && i < n && n <= VG_VALUES_MAX; i++)
		if (ops[i].operation == CU_STREAM_MEM_OP_BARRIER)
			return CUDA_ERROR_INVALID_VALUE;
	return impl_cuStreamBatchMemOp_v2(h, n, ops, flags, pt);
}
VG_TWIN(cuStreamBatchMemOp, _ptsz, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops, unsigned int flags),
	(stream, count, ops, flags, pt))

#define VALUE_CALL(name, type, field, op) \
	static CUresult impl_##name(CUstream s, CUdeviceptr a, type v, unsigned int f, bool pt) \
	{ \
		const CUstreamBatchMemOpParams p = { .waitValue = { .operation = op, .address = a, .field = v, .flags = f } }; \
		VG_READY(); \
		return values(s, 1, &p, pt); \
	} \
	VG_TWIN(name, _ptsz, (CUstream stream, CUdeviceptr addr, type value, unsigned int flags), \
		(stream, addr, value, flags, pt))

VALUE_CALL(cuStreamWaitValue32_v2, cuuint32_t, value, CU_STREAM_MEM_OP_WAIT_VALUE_32)
VALUE_CALL(cuStreamWaitValue64_v2, cuuint64_t, value64, CU_STREAM_MEM_OP_WAIT_VALUE_64)
VALUE_CALL(cuStreamWriteValue32_v2, cuuint32_t, value, CU_STREAM_MEM_OP_WRITE_VALUE_32)
VALUE_CALL(cuStreamWriteValue64_v2, cuuint64_t, value64, CU_STREAM_MEM_OP_WRITE_VALUE_64)

/* ---- attributes ---- */

static CUresult impl_cuStreamAttachMemAsync(CUstream h, CUdeviceptr ptr, size_t bytes, unsigned int flags, bool pt)
{
	struct vg_stream *s;
	struct vg_mem m;

	VG_READY();
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	VG_NO_CAPTURE(s);
	/* The legacy stream means all of them. */
	if (flags == CU_MEM_ATTACH_SINGLE && !s->index)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_mem_find(ptr, &m) || m.kind != VG_MEM_MANAGED || (bytes && bytes != m.bytes))
		return CUDA_ERROR_INVALID_VALUE;
	/* Managed memory is one memory for both sides here: every attachment is already true. */
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamAttachMemAsync, _ptsz, (CUstream stream, CUdeviceptr ptr, size_t bytes, unsigned int flags),
	(stream, ptr, bytes, flags, pt))

/*
 * What may be set on a stream. The policy decides how waits for it wait; the others are hints that this device has
 * no use for, and memory domains of which it has one. All are answered back as they were set.
 */
struct attributes {
	CUaccessPolicyWindow window;
	CUlaunchMemSyncDomainMap map;
	unsigned char policy, domain, mapped;   /* 0: never set */
};
CUDA_LITE_STATIC_ASSERT(sizeof(struct attributes) <= sizeof(((struct vg_stream *)0)->attrs), "room in struct vg_stream");

static void set_attributes(struct vg_stream *s, const struct attributes *a)
{
	memcpy(s->attrs, a, sizeof *a);
	s->sleeps_at_once = a->policy == CU_SYNC_POLICY_BLOCKING_SYNC;
}

static CUresult impl_cuStreamCopyAttributes(CUstream dst, CUstream src, bool pt)
{
	struct vg_stream *d, *s;
	struct attributes a;

	VG_READY();
	VG_TRY(vg_stream(dst, pt, &d));
	VG_TRY(vg_stream(src, pt, &s));
	if (d->ctx != s->ctx)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&a, s->attrs, sizeof a);
	set_attributes(d, &a);
	set_priority(d, priority_of(s));
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src), (dst, src, pt))

static CUresult impl_cuStreamGetAttribute(CUstream h, CUstreamAttrID attr, CUstreamAttrValue *value, bool pt)
{
	struct vg_stream *s;
	struct attributes a;

	VG_READY();
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	memcpy(&a, s->attrs, sizeof a);
	memset(value, 0, sizeof *value);
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		value->syncPolicy = a.policy ? (CUsynchronizationPolicy)a.policy : CU_SYNC_POLICY_AUTO;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		value->accessPolicyWindow = a.window;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value->priority = priority_of(s);
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		value->memSyncDomain = (CUlaunchMemSyncDomain)a.domain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		value->memSyncDomainMap = a.map;
		if (!a.mapped)
			value->memSyncDomainMap.remote = 1;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
VG_TWIN(cuStreamGetAttribute, _ptsz, (CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value),
	(stream, attr, value, pt))

/* Documented: hits may be persisting, misses may not. */
static bool window_ok(const CUaccessPolicyWindow *w)
{
	return w->hitRatio >= 0 && w->hitRatio <= 1 && (unsigned)w->hitProp <= CU_ACCESS_PROPERTY_PERSISTING &&
	       (unsigned)w->missProp < CU_ACCESS_PROPERTY_PERSISTING;
}

static CUresult impl_cuStreamSetAttribute(CUstream h, CUstreamAttrID attr, const CUstreamAttrValue *value, bool pt)
{
	struct vg_stream *s;
	struct attributes a;

	VG_READY();
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_stream(h, pt, &s));
	memcpy(&a, s->attrs, sizeof a);
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		a.policy = (unsigned char)value->syncPolicy;
		break;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (!window_ok(&value->accessPolicyWindow))
			return CUDA_ERROR_INVALID_VALUE;
		a.window = value->accessPolicyWindow;
		break;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		set_priority(s, value->priority);
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		if ((unsigned)value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
			return CUDA_ERROR_INVALID_VALUE;
		a.domain = (unsigned char)value->memSyncDomain;
		break;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		a.map = value->memSyncDomainMap;
		a.mapped = 1;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	set_attributes(s, &a);
	return CUDA_SUCCESS;
}
VG_TWIN(cuStreamSetAttribute, _ptsz, (CUstream stream, CUstreamAttrID attr, const CUstreamAttrValue *value),
	(stream, attr, value, pt))
