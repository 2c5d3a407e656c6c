/* SPDX-License-Identifier: MIT */
/*
 * Contexts as CUDA shows them: current per thread, a stack of them, one primary per device.
 *
 * Flags and limits that only tune (scheduling, L1 preference, stack size) are kept and answered
 * back; they change nothing in a device whose memories are all the host's.
 */
#include "driver.h"

static struct vg_lock primary_lock;
static struct {
	struct vg_ctx *ctx;
	uint32_t refs, flags;
} primary[VGPU_MAX_DEVICES];

CUresult vg_current_any(struct vg_ctx **c)
{
	struct vg_thread *t = vg_self;

	if (!t || !t->ctx_handle)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (__atomic_load_n(&t->ctx->handle, __ATOMIC_RELAXED) != t->ctx_handle)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*c = t->ctx;
	return CUDA_SUCCESS;
}

CUresult vg_current(struct vg_ctx **c)
{
	uint32_t e;

	VG_TRY(vg_current_any(c));
	e = vg_ctx_error(*c);
	return VG_LIKELY(!e) ? CUDA_SUCCESS : vg_fail(*c, e);
}

CUresult vg_context(CUcontext h, struct vg_ctx **c)
{
	const struct vg_green *g;

	*c = vg_get(VG_CONTEXT, (uint64_t)(uintptr_t)h);
	if (VG_LIKELY(*c != NULL))
		return CUDA_SUCCESS;
	g = vg_get(VG_GREEN, (uint64_t)(uintptr_t)h);
	if (!g || !g->converted)
		return CUDA_ERROR_INVALID_CONTEXT;
	*c = g->ctx;
	return g->ctx->handle == g->ctx_handle ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

struct vg_ctx *vg_primary(uint32_t ordinal)
{
	return __atomic_load_n(&primary[ordinal].ctx, __ATOMIC_ACQUIRE);
}

CUresult vg_context_for(uint32_t ordinal, struct vg_ctx **c)
{
	CUresult r = vg_current(c);

	if (r == CUDA_SUCCESS && (*c)->ordinal == ordinal)
		return r;
	*c = vg_primary(ordinal);
	if (*c)
		return vg_done(*c, vg_ctx_error(*c));
	return r == CUDA_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT : r;
}

/* ---- the stack ---- */

static CUresult push(struct vg_ctx *c, uint64_t handle)
{
	struct vg_thread *t = vg_thread();

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (t->depth == VG_STACK)
		return CUDA_ERROR_INVALID_VALUE;
	t->stack[t->depth++] = handle;
	t->green = handle == c->handle ? 0 : handle;
	vg_thread_set(t, c);
	return CUDA_SUCCESS;
}

/* The entry on top becomes current, be it alive or not. */
static void settle(struct vg_thread *t)
{
	const struct vg_green *g;

	t->ctx_handle = t->depth ? t->stack[t->depth - 1] : 0;
	g = vg_get(VG_GREEN, t->ctx_handle);
	t->green = g ? g->handle : 0;
	if (g)
		t->ctx_handle = g->ctx_handle;
	t->ctx = (struct vg_ctx *)(uintptr_t)(t->ctx_handle & VG_ADDRESS_MASK);
}

CUresult cuCtxPushCurrent_v2(CUcontext h)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	return push(c, (uint64_t)(uintptr_t)h);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	struct vg_thread *t = vg_self;

	VG_READY();
	if (!t || !t->depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx)
		*ctx = (CUcontext)(uintptr_t)t->stack[t->depth - 1];
	t->depth--;
	settle(t);
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext h)
{
	struct vg_thread *t;
	struct vg_ctx *c;

	VG_READY();
	t = vg_thread();
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!h) {
		if (t->depth)
			t->depth--;
		settle(t);
		return CUDA_SUCCESS;
	}
	VG_TRY(vg_context(h, &c));
	if (t->depth)
		t->depth--;
	return push(c, (uint64_t)(uintptr_t)h);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	VG_KNOWN();     /* none is current is an answer, too */
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = vg_self ? (CUcontext)(uintptr_t)(vg_self->green ? vg_self->green : vg_self->ctx_handle) : NULL;
	return CUDA_SUCCESS;
}

/* ---- creation ---- */

/* 0, or why these flags of a context cannot be: each is obeyed, or a hint, or refused. */
static CUresult check_flags(unsigned int flags)
{
	unsigned int how = flags & CU_CTX_SCHED_MASK;

	if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (how & (how - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_CTX_USER_COREDUMP_ENABLE)
		return vg_unsupported("core dumps of the device by a pipe (CU_CTX_USER_COREDUMP_ENABLE)");
	return CUDA_SUCCESS;
}

static void set_flags(struct vg_ctx *c, unsigned int flags)
{
	c->cu_flags = flags;
	if (flags & CU_CTX_COREDUMP_ENABLE)
		vg_coredump_enable(c);
	c->sleeps_at_once = (flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC;
}

static CUresult create(CUcontext *ctx, unsigned int flags, CUdevice dev, unsigned int version)
{
	struct vg_ctx *c;
	CUresult r;

	VG_READY();
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(check_flags(flags));
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	VG_TRY(vg_done(NULL, vg_ctx_create((uint32_t)dev, &c)));
	set_flags(c, flags);
	c->api_version = version;
	r = push(c, c->handle);
	if (r) {
		vg_ctx_destroy(c);
		return r;
	}
	*ctx = VG_HANDLE(CUcontext, c);
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return create(ctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
	if (params && n)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(ctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && params->execAffinityParams && params->numExecAffinityParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	if (params && params->cigParams)
		return vg_unsupported("cuCtxCreate_v4 with CIG parameters");
	return create(ctx, flags, dev, 3020);
}

void vg_ctx_forget_current(uint64_t handle)
{
	struct vg_thread *t = vg_self;

	if (t && t->depth && t->stack[t->depth - 1] == handle) {
		t->depth--;
		settle(t);
	}
}

CUresult cuCtxDestroy_v2(CUcontext h)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	if (c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	vg_ctx_destroy(c);
	vg_ctx_forget_current((uint64_t)(uintptr_t)h);
	return CUDA_SUCCESS;
}

CUresult cuCtxAttach(CUcontext *ctx, unsigned int flags)
{
	struct vg_ctx *c;

	VG_READY();
	if (!ctx || flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	*ctx = VG_HANDLE(CUcontext, c);
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext h)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_context(h, &c));
	if (c->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return CUDA_SUCCESS;
	return cuCtxDestroy_v2(h);
}

/* ---- primary contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	uint32_t status = VGPU_ST_OK;
	struct vg_ctx *c;

	VG_READY();
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	vg_lock(&primary_lock);
	if (!primary[dev].ctx) {
		status = vg_ctx_create((uint32_t)dev, &c);
		if (!status) {
			c->primary = true;
			set_flags(c, primary[dev].flags);
			c->api_version = 3020;
			__atomic_store_n(&primary[dev].ctx, c, __ATOMIC_RELEASE);
		}
	}
	if (!status) {
		primary[dev].refs++;
		*ctx = VG_HANDLE(CUcontext, primary[dev].ctx);
	}
	vg_unlock(&primary_lock);
	return vg_done(NULL, status);
}

static CUresult primary_end(CUdevice dev, bool reset)
{
	struct vg_ctx *c = NULL;

	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	vg_lock(&primary_lock);
	if (!reset && !primary[dev].refs) {
		vg_unlock(&primary_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	/* Documented: a reset ends the context but releases nobody's hold on it. */
	if (reset || !--primary[dev].refs) {
		c = primary[dev].ctx;
		__atomic_store_n(&primary[dev].ctx, NULL, __ATOMIC_RELEASE);
	}
	vg_unlock(&primary_lock);
	if (c)
		vg_ctx_destroy(c);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) { return primary_end(dev, false); }
CUresult cuDevicePrimaryCtxRelease(CUdevice dev) { return primary_end(dev, false); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) { return primary_end(dev, true); }
CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return primary_end(dev, true); }

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	VG_TRY(check_flags(flags));
	vg_lock(&primary_lock);
	primary[dev].flags = flags;
	if (primary[dev].ctx)
		set_flags(primary[dev].ctx, flags);
	vg_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	VG_READY();
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	vg_lock(&primary_lock);
	if (flags)
		*flags = primary[dev].flags;
	if (active)
		*active = primary[dev].ctx != NULL;
	vg_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

/* ---- queries ---- */

CUresult cuCtxGetDevice(CUdevice *dev)
{
	struct vg_ctx *c;

	VG_READY();
	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current_any(&c));
	*dev = (CUdevice)c->ordinal;
	return CUDA_SUCCESS;
}

/* A NULL context means the current one in the _v2 calls. */
static CUresult given_or_current(CUcontext h, struct vg_ctx **c)
{
	return h ? vg_context(h, c) : vg_current_any(c);
}

static CUresult ask_about(const void *out, CUcontext h, struct vg_ctx **c)
{
	VG_READY();
	return out ? given_or_current(h, c) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetDevice_v2(CUdevice *dev, CUcontext h)
{
	struct vg_ctx *c;

	VG_TRY(ask_about(dev, h, &c));
	*dev = (CUdevice)c->ordinal;
	return CUDA_SUCCESS;
}

/* What a question about the current context begins with. */
static CUresult ask(const void *out, struct vg_ctx **c)
{
	VG_READY();
	return out ? vg_current(c) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct vg_ctx *c;

	VG_TRY(ask(flags, &c));
	*flags = c->cu_flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(check_flags(flags));
	VG_TRY(vg_current(&c));
	set_flags(c, flags);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext h, unsigned long long *id)
{
	struct vg_ctx *c;

	VG_TRY(ask_about(id, h, &c));
	*id = c->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext h, unsigned int *version)
{
	struct vg_ctx *c;

	VG_TRY(ask_about(version, h, &c));
	*version = c->api_version;
	return CUDA_SUCCESS;
}

static CUresult synchronize(struct vg_ctx *c)
{
	uint32_t status = vg_ctx_sync(c);

	vg_pools_settle();
	vg_retained_reap();
	return vg_done(c, status);
}

CUresult cuCtxSynchronize(void)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current(&c));
	VG_TRY(vg_capture_refuse_ctx(c));
	return synchronize(c);
}

CUresult cuCtxSynchronize_v2(CUcontext h)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(given_or_current(h, &c));
	VG_TRY(vg_capture_refuse_ctx(c));
	return synchronize(c);
}

/* ---- limits and preferences ---- */

#define MAX_FETCH 128u                  /* bytes, as documented */
#define MAX_PENDING 65536u              /* launches by kernels: the device's SMALL_WORKS */
#define MAX_SYNC_DEPTH 24u              /* how deep they nest */

/* What the device does when nobody asks; 0: there is no such thing here (an L2 cache to set aside; waiting for children, from 9.0 on). */
static uint64_t default_limit(const struct vg_ctx *c, CUlimit limit)
{
	switch ((int)limit) {
	case CU_LIMIT_STACK_SIZE: return 1024;
	case CU_LIMIT_PRINTF_FIFO_SIZE: return VGPU_CTX_PRINTF_BYTES;
	case CU_LIMIT_MALLOC_HEAP_SIZE: return VGPU_DEVICE_HEAP_BYTES;
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY: return 64;
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: return 2048;
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH: return vg.info[c->ordinal].cc_major < 9 ? 2 : 0;
	}
	return 0;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct vg_ctx *c;

	VG_TRY(ask(value, &c));
	if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) {
		*value = 0;
		return CUDA_SUCCESS;
	}
	if (!default_limit(c, limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	vg_lock(&c->limits_lock);
	*value = c->limits[limit] ? c->limits[limit] : default_limit(c, limit);
	vg_unlock(&c->limits_lock);
	return CUDA_SUCCESS;
}

/*
 * The device's stacks are as large as a kernel needs; where calls go round, which nobody can foresee, it is told. It has room for as many launches by kernels as may be asked
 * for. In a full printf ring a kernel waits until it is read, so none of its text is lost, however much room was asked for; less than the
 * ring has is adjusted to that, as CUDA allows, and cuCtxGetLimit tells. What kernels use already keeps its size (documented: INVALID_VALUE).
 */
CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUresult r = CUDA_SUCCESS;
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current(&c));
	if (!default_limit(c, limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	vg_lock(&c->limits_lock);
	switch ((int)limit) {
	case CU_LIMIT_STACK_SIZE:
		if (value > VGPU_MAX_STACK_BYTES)
			r = CUDA_ERROR_INVALID_VALUE;
		else if (vg.features & VGPU_FEATURE_STACK)
			r = vg_done(c, vg_ctl(c, VGPU_OP_STACK, 0, value, 0, 0, NULL));
		break;
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		r = value > MAX_FETCH ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
		break;
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
		r = value > MAX_PENDING ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
		break;
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
		r = value > MAX_SYNC_DEPTH ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
		break;
	case CU_LIMIT_PRINTF_FIFO_SIZE:
		r = c->prints ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
		value = value < VGPU_CTX_PRINTF_BYTES ? VGPU_CTX_PRINTF_BYTES : value;
		break;
	case CU_LIMIT_MALLOC_HEAP_SIZE:
		if (c->heap)
			r = CUDA_ERROR_INVALID_VALUE;
		else if (value > vg.info[c->ordinal].memory_bytes || (vg.memory_quota && value > vg.memory_quota))
			r = CUDA_ERROR_OUT_OF_MEMORY;
		else
			value = value ? (value + VGPU_PAGE - 1) & ~(size_t)(VGPU_PAGE - 1) : VGPU_PAGE;
		break;
	}
	if (r == CUDA_SUCCESS)
		c->limits[limit] = value;
	vg_unlock(&c->limits_lock);
	return r;
}

/* The heap is an allocation like any other, so it is counted like one; the context is told to give it out in parts. */
static uint32_t make_heap(struct vg_ctx *c)
{
	uint64_t limit = c->limits[CU_LIMIT_MALLOC_HEAP_SIZE], bytes = limit ? limit : VGPU_DEVICE_HEAP_BYTES, va;
	uint32_t status = vg_mem_alloc(c, bytes, VG_MEM_HEAP, &va);
	struct vg_mem m;

	if (status)
		return status;
	status = vg_ctl(c, VGPU_OP_DEVICE_HEAP, 0, va, bytes, 0, NULL);
	if (!status)
		c->heap = va;
	else if (vg_mem_take(va, 1u << VG_MEM_HEAP, &m))
		vg_mem_release(&m);
	return status;
}

uint32_t vg_ctx_uses(struct vg_ctx *c, uint32_t uses)
{
	uint32_t status = VGPU_ST_OK;

	if (!uses)
		return VGPU_ST_OK;
	vg_lock(&c->limits_lock);
	if ((uses & VGPU_FN_USES_HEAP) && !c->heap)
		status = make_heap(c);
	if (!status && (uses & VGPU_FN_USES_PRINTF))
		c->prints = true;
	vg_unlock(&c->limits_lock);
	return status;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	struct vg_ctx *c;

	VG_TRY(ask(config, &c));
	*config = (CUfunc_cache)c->cache_config;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct vg_ctx *c;

	VG_READY();
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	c->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	struct vg_ctx *c;

	VG_TRY(ask(config, &c));
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct vg_ctx *c;

	VG_READY();
	if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	return CUDA_SUCCESS;    /* documented: no effect on devices without configurable banks */
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current(&c));
	if (least)
		*least = 0;
	/* 0, too: priorities are not supported */
	if (greatest)
		*greatest = -(int)vg_priorities(c);
	return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current(&c));
	return CUDA_SUCCESS;    /* nothing persists */
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *param, CUexecAffinityType type)
{
	struct vg_ctx *c;

	VG_READY();
	if (!param || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxEnablePeerAccess(CUcontext h, unsigned int flags)
{
	struct vg_ctx *c, *peer;

	VG_READY();
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(vg_context(h, &peer));
	if (c == peer || c->ordinal == peer->ordinal)
		return CUDA_ERROR_INVALID_CONTEXT;
	return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext h)
{
	struct vg_ctx *c, *peer;

	VG_READY();
	VG_TRY(vg_current(&c));
	VG_TRY(vg_context(h, &peer));
	return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
