/* SPDX-License-Identifier: MIT */
/*
 * The device runtime, as kernels call it: each function of vgpu_devrt.def for each running lane in turn, by interp.c. Arguments lie in the
 * lane's local frame, results go there; what a pointer of the kernel's names is written last and without the lock, for it may fault.
 * An error becomes the thread's last one (cudaGetLastError).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../libcuda-lite/include/cuda_lite_runtime_errors.h"
#include "devrt.h"
#include "memcheck.h"
#include "rt.h"

enum {
#define DEVRT(name, params, ret) DR_##name,
#include "../../../fw-protocol/vgpu_devrt.def"
#undef DEVRT
	DR_COUNT
};

static const struct { const char *name, *params; u8 ret; } table[] = {
#define DEVRT(name, params, ret) { #name, params, ret },
#include "../../../fw-protocol/vgpu_devrt.def"
#undef DEVRT
};

/* ---- when it is compiled ----------------------------------------------------------------- */

u32 devrt_find(const char *name)
{
	size_t n = strlen(name), i, k;

	/* what <<<>>> of old code has in the place of a call that warns */
	if (!strcmp(name, "__cudaDeviceSynchronizeDeprecationAvoidance"))
		return BUILTIN_DEVRT + DR_DeviceSynchronize;
	if (!strncmp(name, "__cudaCDP2", 10))
		k = 10;
	else if (!strncmp(name, "cuda", 4))
		k = 4;
	else
		return 0;
	if (n > 5 && !strcmp(name + n - 5, "_ptsz"))
		n -= 5;
	for (i = 0; i < DR_COUNT; i++)
		if (strlen(table[i].name) == n - k && !memcmp(table[i].name, name + k, n - k))
			return BUILTIN_DEVRT + (u32)i;
	return 0;
}

static u32 param_bytes(char c)
{
	switch (c) {
	case '4': return 4;
	case 'd': return 12;
	case 'e': return 24;
	case 'p': return 32;
	}
	return 8;
}

bool devrt_fits(u32 builtin, const struct callinfo *ci)
{
	const char *p = table[builtin - BUILTIN_DEVRT].params;
	u32 i;

	if (ci->nargs != strlen(p) || ci->nrets > 1 || (ci->nrets && ci->rets[0].bytes != table[builtin - BUILTIN_DEVRT].ret))
		return false;
	for (i = 0; i < ci->nargs; i++)
		if (ci->args[i].bytes != param_bytes(p[i]))
			return false;
	return true;
}

/* ---- one lane's call --------------------------------------------------------------------- */

struct call {
	struct tstate *ts;
	struct engine *e;
	struct cta *c;
	struct grid *g;
	const struct callinfo *ci;
	char *local;
	u32 lane, thread;
};

static u64 arg8(const struct call *c, u32 i)
{
	u64 v;

	memcpy(&v, c->local + c->ci->args[i].off, 8);
	return v;
}

static u32 arg4(const struct call *c, u32 i)
{
	u32 v;

	memcpy(&v, c->local + c->ci->args[i].off, 4);
	return v;
}

static void argn(const struct call *c, u32 i, void *v, u32 bytes)
{
	memcpy(v, c->local + c->ci->args[i].off, bytes);
}

static void put(const struct call *c, u64 addr, const void *v, size_t bytes)
{
	mem_write(c->ts, (int)c->lane, addr, v, bytes);
}

static u32 put4(const struct call *c, u64 addr, u32 v)
{
	put(c, addr, &v, 4);
	return DE_OK;
}

static u32 put8(const struct call *c, u64 addr, u64 v)
{
	put(c, addr, &v, 8);
	return DE_OK;
}

u32 devrt_error(struct cta *c, u32 thread, u32 error)
{
	if (!error)
		return error;
	if (!c->errs)
		c->errs = calloc(1024, sizeof(*c->errs));
	else if (!c->err_used)
		memset(c->errs, 0, 1024 * sizeof(*c->errs));
	if (c->errs) {
		c->err_used = true;
		c->errs[thread] = error;
	}
	return error;
}

static u32 last_error(const struct call *c, bool forget)
{
	u32 error = c->c->err_used ? c->c->errs[c->thread] : 0;

	if (error && forget)
		c->c->errs[c->thread] = 0;
	return error;
}

/* ---- what there is ----------------------------------------------------------------------- */

static const struct limits { u32 major, minor, threads, blocks, shared_kib, optin_kib, reserved; } known[] = {
#define CC(major, minor, threads, blocks, shared, optin, reserved) { major, minor, threads, blocks, shared, optin, reserved },
#include "../cc.def"
#undef CC
};

/* Those of the compute capability; of the lowest there is where nobody knows it. */
static const struct limits *limits(const struct engine *e)
{
	u32 i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].major == e->env.cc_major && known[i].minor == e->env.cc_minor)
			return &known[i];
	return known;
}

#define REGS 65536u             /* of a block, of a multiprocessor */

/* By the numbers of cudaDeviceAttr; what the host alone knows is not known here. */
static bool attribute(const struct engine *e, u32 attr, u32 *v)
{
	const struct limits *l = limits(e);

	switch (attr) {
	case 1: case 2: case 3: *v = 1024; return true;         /* threads of a block, its x and y */
	case 4: *v = 64; return true;
	case 5: *v = 0x7fffffff; return true;                   /* blocks of a grid */
	case 6: case 7: *v = 65535; return true;
	case 8: *v = 49152; return true;                        /* shared memory of a block */
	case 9: *v = 65536; return true;                        /* constant memory */
	case 10: *v = LANES; return true;
	case 11: *v = 0x7fffffff; return true;                  /* pitch */
	case 12: *v = REGS; return true;
	case 16: *v = e->env.sm_count; return true;
	case 19: case 31: case 41: case 83: case 95: *v = 1; return true;       /* mapped memory, concurrent kernels, one address space, managed, cooperative */
	case 39: *v = l->threads; return true;                  /* of a multiprocessor, from here on */
	case 75: *v = e->env.cc_major; return true;
	case 76: *v = e->env.cc_minor; return true;
	case 81: *v = l->shared_kib << 10; return true;
	case 82: *v = REGS; return true;
	case 97: *v = e->env.shared_per_block_optin; return true;
	case 106: *v = l->blocks; return true;
	case 111: *v = l->reserved; return true;
	}
	return false;
}

static u32 get_limit(const struct call *c)
{
	switch (arg4(c, 1)) {
	case 0: return put8(c, arg8(c, 0), 1024);                       /* stack; cuCtxGetLimit says the same */
	case 2: return put8(c, arg8(c, 0), heap_bytes(c->e));
	case 4: return put8(c, arg8(c, 0), SMALL_WORKS);
	}
	return DE_NOT_SUPPORTED;
}

/* Two lists in the arena: each entry a NUL-terminated text, behind its error's number. */
static const struct { u32 code; const char *name, *text; } errors[] = {
#define X(name, code, text) { code, #name, text },
	CUDA_LITE_RUNTIME_ERROR_LIST(X)
#undef X
};
#define NERRORS (sizeof(errors) / sizeof(errors[0]))
#define TEXT_BYTES 128u         /* of each */

/* Its address in device memory, where all of them are once one is asked for. 0: no memory. */
static u64 error_text(struct engine *e, u32 code, bool name)
{
	u64 bytes = (u64)(NERRORS + 1) * 2 * TEXT_BYTES, got, at = 0;
	struct devrt *d;
	u32 i;

	pthread_mutex_lock(&e->lock);
	d = devrt_get(e);
	if (d && !d->texts && (at = arena_alloc(e, bytes, &got)) && !arena_commit(at, bytes)) {
		for (i = 0; i <= NERRORS; i++) {
			snprintf((char *)at + 2 * i * TEXT_BYTES, TEXT_BYTES, "%s", i < NERRORS ? errors[i].name : "unrecognized error code");
			snprintf((char *)at + (2 * i + 1) * TEXT_BYTES, TEXT_BYTES, "%s", i < NERRORS ? errors[i].text : "unrecognized error code");
		}
		mc_note(e, at, bytes, true, false);
		d->texts = at;
	}
	at = d ? d->texts : 0;
	pthread_mutex_unlock(&e->lock);
	for (i = 0; i < NERRORS && errors[i].code != code; i++)
		;
	return at ? at + (2 * i + !name) * TEXT_BYTES : 0;
}

/* ---- functions --------------------------------------------------------------------------- */

/* The kernel that a pointer names, compiled. NULL: none. What cannot run here is a fault that says why: nobody looks at errors. */
static struct func *kernel(const struct call *c, u64 ptr)
{
	static __thread char what[320];
	char log[256] = "";
	struct func *fn = ptr >> 32 == 0x00f00000u ? func_get(c->e, (u32)ptr) : NULL;

	if (!fn || !fn->entry)
		return NULL;
	if (func_is_ready(fn) || !func_ready(fn, log, sizeof(log)))
		return fn;
	snprintf(what, sizeof(what), "launch of '%.60s' by a kernel: %.200s", fn->name, log);
	fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, (int)c->lane, 0, what);
}

static u32 func_attributes(const struct call *c)
{
	struct { u64 shared, constant, local; u32 threads, regs, ptx, binary, ca, dynamic; s32 carveout; u32 cluster[6]; } a = { 0 };
	struct func *fn = kernel(c, arg8(c, 1));

	if (!fn)
		return DE_FUNCTION;
	a.shared = fn->shared_bytes;
	a.constant = fn->m->const_bytes;
	a.local = fn->local_total;
	a.threads = fn->max_threads;
	a.regs = fn->regs;
	a.ptx = fn->m->version;
	a.binary = fn->m->target;
	a.dynamic = 49152 > a.shared ? 49152 - (u32)a.shared : 0;
	a.carveout = -1;
	/* the structure has ended behind the carveout before clusters came */
	put(c, arg8(c, 0), &a, fn->m->version >= 78 ? sizeof(a) : offsetof(__typeof__(a), cluster));
	return DE_OK;
}

/* As libcuda-lite/driver/occupancy.c has it. */
static u32 occupancy(const struct call *c)
{
	struct func *fn = kernel(c, arg8(c, 1));
	const struct limits *l = limits(c->e);
	u32 threads = arg4(c, 2), warps = (threads + LANES - 1) / LANES, n = l->blocks, by;
	u64 dynamic = arg8(c, 3), shared;

	if (!fn)
		return DE_FUNCTION;
	if (!threads || threads > fn->max_threads || dynamic > c->e->env.shared_per_block_optin)
		return threads && (s32)threads > 0 ? put4(c, arg8(c, 0), 0) : DE_VALUE;
	by = l->threads / (warps * LANES);
	n = by < n ? by : n;
	by = REGS / ((fn->regs * LANES + 255) / 256 * 256 * warps);
	n = by < n ? by : n;
	shared = shared_rounded(&c->e->env, fn->shared_bytes + (u32)dynamic + l->reserved);
	by = shared ? (u32)((l->shared_kib << 10) / shared) : n;
	return put4(c, arg8(c, 0), by < n ? by : n);
}

static u32 new_handle(const struct call *c, u32 flags, u32 (*make)(struct engine *, struct kin *, u64 *))
{
	struct kin *k;
	u64 handle = 0;
	u32 st;

	/* cudaStreamNonBlocking; cudaEventDisableTiming: nothing else is there on the device */
	if (arg4(c, 1) != flags)
		return DE_VALUE;
	pthread_mutex_lock(&c->e->lock);
	k = kin_get(c->e, c->g);
	st = k ? make(c->e, k, &handle) : (u32)DE_MEMORY;
	pthread_mutex_unlock(&c->e->lock);
	return st ? st : put8(c, arg8(c, 0), handle);
}

static u32 drop_handle(const struct call *c, u32 (*drop)(struct engine *, struct kin *, u64))
{
	struct kin *k;
	u32 st;

	pthread_mutex_lock(&c->e->lock);
	k = kin_get(c->e, c->g);
	st = k ? drop(c->e, k, arg8(c, 0)) : (u32)DE_MEMORY;
	pthread_mutex_unlock(&c->e->lock);
	return st;
}

static u32 event_call(const struct call *c, u64 event, u64 stream, u32 flags,
		      u32 (*does)(struct engine *, struct kin *, u64, u64, u64))
{
	struct kin *k;
	u32 st;

	if (flags)
		return DE_VALUE;
	pthread_mutex_lock(&c->e->lock);
	k = kin_get(c->e, c->g);
	st = k ? does(c->e, k, event, c->c->linear, stream) : (u32)DE_MEMORY;
	pthread_mutex_unlock(&c->e->lock);
	return st;
}

/* A buffer, and what is known of the launch so far; 0 with an error in st. */
static u64 buffer(const struct call *c, u32 bytes, const struct engine_launch *l, u32 *st)
{
	struct work *w = NULL;
	struct kin *k;

	pthread_mutex_lock(&c->e->lock);
	k = kin_get(c->e, c->g);
	*st = !k ? DE_MEMORY : k->depth >= MAX_DEPTH ? DE_DEPTH : bytes > LARGE_BYTES ? DE_NOT_SUPPORTED : DE_OK;
	if (!*st && !(w = work_new(c->e, k, bytes)))
		*st = DE_PENDING;
	if (w) {
		w->what = DO_KERNEL;
		w->fn = l ? l->fn : 0;
		if (l) {
			memcpy(w->grid, l->grid, sizeof(w->grid));
			memcpy(w->block, l->block, sizeof(w->block));
			w->shared_bytes = l->shared_bytes;
		}
	}
	pthread_mutex_unlock(&c->e->lock);
	return w ? w->params : 0;
}

/* What a launch asks for, from the arguments at i: grid, block, shared memory. */
static u32 configure(const struct call *c, u64 ptr, u32 i, struct engine_launch *l, u32 *bytes)
{
	struct func *fn = kernel(c, ptr);
	u64 threads;

	if (!fn)
		return DE_FUNCTION;
	memset(l, 0, sizeof(*l));
	l->fn = fn->id;
	argn(c, i, l->grid, 12);
	argn(c, i + 1, l->block, 12);
	l->shared_bytes = arg4(c, i + 2);
	l->params = l;          /* not looked at */
	l->param_bytes = *bytes = fn->param_bytes;
	switch (launch_allowed(c->e, l, fn, &threads)) {
	case VGPU_ST_OK: return DE_OK;
	case VGPU_ST_LAUNCH_RESOURCES: return DE_RESOURCES;
	}
	return DE_CONFIGURATION;
}

static u32 launch(const struct call *c, u64 at, const struct engine_launch *l, u32 bytes, u64 stream)
{
	struct work *w;
	u32 st = DE_VALUE;

	pthread_mutex_lock(&c->e->lock);
	w = work_of_buffer(c->e, at);
	if (w && w->by == c->g->kin && w->what == DO_KERNEL && (l ? bytes <= c->e->dr->works[w->kind].bytes : w->fn != 0)) {
		if (l) {
			w->fn = l->fn;
			memcpy(w->grid, l->grid, sizeof(w->grid));
			memcpy(w->block, l->block, sizeof(w->block));
			w->shared_bytes = l->shared_bytes;
		}
		st = work_queue(c->e, w, c->c->linear, stream);
		if (st)
			work_give(c->e, w);
	}
	pthread_mutex_unlock(&c->e->lock);
	return st;
}

static bool inside(const struct call *c, u64 at, const struct box *b, u64 pitch, u64 slice)
{
	unsigned __int128 end = (unsigned __int128)(b->depth - 1) * slice + (unsigned __int128)(b->height - 1) * pitch + b->width;

	return at - c->e->env.span_base < c->e->env.span_bytes && end <= c->e->env.span_bytes - (at - c->e->env.span_base);
}

/* Shared and local memory of a block are no place of a copy (guide, "Memory Space" of the device runtime). */
static u32 transfer(const struct call *c, u8 what, const struct box *b, u32 value, u64 stream)
{
	struct cta *cta = c->c;
	struct work *w;
	struct kin *k;
	u32 st;

	if (!b->width || !b->height || !b->depth)
		return DE_OK;
	if (b->width > 1ull << 48 || b->height > 1ull << 32 || b->depth > 1ull << 32 || b->dst - cta->win < cta->win_bytes ||
	    (unsigned __int128)b->width * b->height * b->depth > 1ull << 48 || (b->height > 1 && b->dst_pitch < b->width) ||
	    (what == DO_COPY && (b->src - cta->win < cta->win_bytes || (b->height > 1 && b->src_pitch < b->width))))
		return DE_VALUE;
	if (!inside(c, b->dst, b, b->dst_pitch, b->dst_slice) || (what == DO_COPY && !inside(c, b->src, b, b->src_pitch, b->src_slice)))
		return DE_VALUE;
	pthread_mutex_lock(&c->e->lock);
	k = kin_get(c->e, c->g);
	w = k ? work_new(c->e, k, 0) : NULL;
	st = !k ? DE_MEMORY : DE_PENDING;
	if (w) {
		w->what = what;
		w->box = *b;
		w->at = 0;
		w->value = value;
		st = work_queue(c->e, w, cta->linear, stream);
		if (st)
			work_give(c->e, w);
	}
	pthread_mutex_unlock(&c->e->lock);
	return st;
}

static u32 copy3d(const struct call *c)
{
	struct { u64 src_array, src_pos[3], src[4], dst_array, dst_pos[3], dst[4], extent[3]; u32 kind, none; } p;
	struct box b;

	mem_read(c->ts, (int)c->lane, arg8(c, 0), &p, sizeof(p));
	if (p.src_array || p.dst_array)
		return DE_NOT_SUPPORTED;
	b = (struct box){ .width = p.extent[0], .height = p.extent[1], .depth = p.extent[2], .dst_pitch = p.dst[1], .src_pitch = p.src[1],
			  .dst_slice = p.dst[1] * p.dst[3], .src_slice = p.src[1] * p.src[3] };
	b.dst = p.dst[0] + p.dst_pos[0] + p.dst_pos[1] * b.dst_pitch + p.dst_pos[2] * b.dst_slice;
	b.src = p.src[0] + p.src_pos[0] + p.src_pos[1] * b.src_pitch + p.src_pos[2] * b.src_slice;
	return transfer(c, DO_COPY, &b, 0, arg8(c, 1));
}

static u32 fill3d(const struct call *c)
{
	u64 p[4], extent[3];

	argn(c, 0, p, sizeof(p));
	argn(c, 2, extent, sizeof(extent));
	return transfer(c, DO_FILL, &(struct box){ .dst = p[0], .dst_pitch = p[1], .dst_slice = p[1] * p[3], .width = extent[0],
						   .height = extent[1], .depth = extent[2] }, arg4(c, 1), arg8(c, 3));
}

/* Is all complete that the grid has launched? */
static bool children_done(const struct call *c)
{
	bool done;

	pthread_mutex_lock(&c->e->lock);
	done = !c->g->kin || !c->g->kin->kids;
	pthread_mutex_unlock(&c->e->lock);
	return done;
}

static u64 call_one(const struct call *c, u32 what)
{
	struct engine_launch l;
	u32 v, st, bytes;
	u64 at;

	switch (what) {
	case DR_DeviceGetAttribute:
		return arg4(c, 2) ? DE_DEVICE : attribute(c->e, arg4(c, 1), &v) ? put4(c, arg8(c, 0), v) : (u32)DE_NOT_SUPPORTED;
	case DR_DeviceGetLimit:
		return get_limit(c);
	case DR_DeviceGetCacheConfig:           /* no preference */
	case DR_DeviceGetSharedMemConfig:
	case DR_GetDevice:
		return put4(c, arg8(c, 0), 0);
	case DR_GetDeviceCount:
		return put4(c, arg8(c, 0), 1);
	case DR_RuntimeGetVersion:              /* that of the headers: PTX ISA 8.x is of CUDA 12, 9.x of 13 */
		v = c->g->fn->m->version;
		return put4(c, arg8(c, 0), v < 80 ? 11000 : v < 90 ? 12000 + (v - 80) * 10 : 13000 + (v - 90) * 10);
	case DR_StreamCreateWithFlags:
		return new_handle(c, 1, stream_new);
	case DR_StreamDestroy:
		return drop_handle(c, stream_destroy);
	case DR_StreamWaitEvent:
		return event_call(c, arg8(c, 1), arg8(c, 0), arg4(c, 2), event_wait);
	case DR_EventCreateWithFlags:
		return new_handle(c, 2, event_new);
	case DR_EventRecord:
		return event_call(c, arg8(c, 0), arg8(c, 1), 0, event_record);
	case DR_EventRecordWithFlags:
		return event_call(c, arg8(c, 0), arg8(c, 1), arg4(c, 2), event_record);
	case DR_EventDestroy:
		return drop_handle(c, event_destroy);
	case DR_FuncGetAttributes:
		return func_attributes(c);
	case DR_OccupancyMaxActiveBlocksPerMultiprocessor:
	case DR_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
		return occupancy(c);
	case DR_Malloc:
		at = heap_take(c->e, arg8(c, 1), 16);
		put8(c, arg8(c, 0), at);
		return at || !arg8(c, 1) ? DE_OK : DE_MEMORY;
	case DR_Free:
		return !arg8(c, 0) || heap_give(c->e, arg8(c, 0)) ? DE_OK : DE_POINTER;
	case DR_MemcpyAsync:
		return transfer(c, DO_COPY, &(struct box){ .dst = arg8(c, 0), .src = arg8(c, 1), .width = arg8(c, 2), .height = 1, .depth = 1 },
				0, arg8(c, 4));
	case DR_Memcpy2DAsync:
		return transfer(c, DO_COPY, &(struct box){ .dst = arg8(c, 0), .dst_pitch = arg8(c, 1), .src = arg8(c, 2),
							   .src_pitch = arg8(c, 3), .width = arg8(c, 4), .height = arg8(c, 5), .depth = 1 },
				0, arg8(c, 7));
	case DR_Memcpy3DAsync:
		return copy3d(c);
	case DR_MemsetAsync:
		return transfer(c, DO_FILL, &(struct box){ .dst = arg8(c, 0), .width = arg8(c, 2), .height = 1, .depth = 1 }, arg4(c, 1),
				arg8(c, 3));
	case DR_Memset2DAsync:
		return transfer(c, DO_FILL, &(struct box){ .dst = arg8(c, 0), .dst_pitch = arg8(c, 1), .width = arg8(c, 3),
							   .height = arg8(c, 4), .depth = 1 }, arg4(c, 2), arg8(c, 5));
	case DR_Memset3DAsync:
		return fill3d(c);
	case DR_LaunchDevice:
		st = configure(c, arg8(c, 0), 2, &l, &bytes);
		return st ? st : launch(c, arg8(c, 1), &l, bytes, arg8(c, 5));
	case DR_LaunchDeviceV2:
		return launch(c, arg8(c, 0), NULL, 0, arg8(c, 1));
	}
	return DE_OK;
}

/* Those whose result is no error. */
static u64 call_other(const struct call *c, u32 what)
{
	struct engine_launch l;
	u32 st = DE_OK, bytes;
	u64 at = 0;

	switch (what) {
	case DR_GetLastError:
		return last_error(c, true);
	case DR_PeekAtLastError:
		return last_error(c, false);
	case DR_GetErrorString:
		return error_text(c->e, arg4(c, 0), false);
	case DR_GetErrorName:
		return error_text(c->e, arg4(c, 0), true);
	case DR_GetParameterBuffer:
		at = buffer(c, arg8(c, 1) > LARGE_BYTES ? LARGE_BYTES + 1 : (u32)arg8(c, 1), NULL, &st);
		break;
	case DR_GetParameterBufferV2:
		st = configure(c, arg8(c, 0), 1, &l, &bytes);
		if (!st)
			at = buffer(c, bytes, &l, &st);
		break;
	}
	devrt_error(c->c, c->thread, st);
	return at;
}

bool devrt_call(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	struct warp *w = ts->w;
	struct call c = { .ts = ts, .e = ts->e, .c = w->cta, .g = w->cta->g, .ci = ci };
	u32 what = ci->builtin - BUILTIN_DEVRT, k;
	u64 v;

	if (what == DR_DeviceSynchronize) {
		c.lane = (u32)__builtin_ctz(m);
		if (!children_done(&c))
			return false;
	}
	for (k = m; k; k &= k - 1) {
		c.lane = (u32)__builtin_ctz(k);
		c.thread = w->index * LANES + c.lane;
		c.local = (char *)(w->cta->local + (u64)c.thread * c.g->local_stride + f->loff);
		switch (what) {
		case DR_GetLastError: case DR_PeekAtLastError: case DR_GetErrorString: case DR_GetErrorName:
		case DR_GetParameterBuffer: case DR_GetParameterBufferV2:
			v = call_other(&c, what);
			break;
		default:
			v = devrt_error(c.c, c.thread, (u32)call_one(&c, what));
		}
		if (ci->nrets)
			memcpy(c.local + ci->rets[0].off, &v, table[what].ret);
	}
	return true;
}
