/* SPDX-License-Identifier: MIT */
/*
 * What every file of driver/ starts with: the API's own header, the core, and the way from a handle
 * to an object and from a status to a CUresult.
 *
 * Order in every call: is the session alive (fork!), are the handles valid, is the context free of
 * a sticky error, are the arguments sensible, and only then the work.
 */
#ifndef VG_DRIVER_H
#define VG_DRIVER_H

#include "../core/core.h"

#define __CUDA_API_VERSION_INTERNAL
/* Exported names; everything else of the library is hidden. */
#pragma GCC visibility push(default)
#include "cuda.h"
#pragma GCC visibility pop

/*
 * First line of every call but cuInit and the few that work without it. What a stream has called may not call back: it would
 * wait for itself. Programs ask for that very answer (libgomp puts off what it must free).
 */
#define VG_READY() \
	do { \
		if (VG_UNLIKELY(__atomic_load_n(&vg_host_runs, __ATOMIC_RELAXED)) && vg_is_host()) \
			return CUDA_ERROR_NOT_PERMITTED; \
		if (VG_UNLIKELY(!__atomic_load_n(vg_alive, __ATOMIC_RELAXED))) { \
			int not_ready_ = vg_not_ready(); \
			if (not_ready_) \
				return (CUresult)not_ready_; \
		} \
	} while (0)

/* The same for calls that only ask what a device is like (VGPU_REQUIRED without an agent; core/connect.c). */
#define VG_KNOWN() \
	do { \
		if (VG_UNLIKELY(!__atomic_load_n(vg_alive, __ATOMIC_RELAXED))) { \
			int not_ready_ = vg_not_ready(); \
			if (not_ready_ && !(vg_absent() && vg_described())) \
				return (CUresult)not_ready_; \
		} \
	} while (0)

#define VG_TRY(call) \
	do { \
		CUresult r_ = (call); \
		if (VG_UNLIKELY(r_ != CUDA_SUCCESS)) \
			return r_; \
	} while (0)

/*
 * The two entry points of a call that works on the default stream: name (legacy stream) and name_ptsz or
 * name_ptds (the calling thread's stream). Both call impl_name with `pt` among the arguments.
 */
#define VG_TWIN(name, suffix, params, args) \
	CUresult name params { const bool pt = false; return impl_##name args; } \
	CUresult name##suffix params { const bool pt = true; return impl_##name args; }

/* Translates; a sticky error of the context prints its report first. c may be NULL. */
CUresult vg_fail(struct vg_ctx *c, uint32_t status);
/* coredump.c: the core of a context that has failed, once, if one is wanted; a flag of its creation wants it. */
void vg_coredump(struct vg_ctx *c);
void vg_coredump_enable(struct vg_ctx *c);
static inline CUresult vg_done(struct vg_ctx *c, uint32_t status)
{
	return VG_LIKELY(status == VGPU_ST_OK) ? CUDA_SUCCESS : vg_fail(c, status);
}

/* The calling thread's context, alive and without error. */
/*
 * nvcc -rdc=true: the wrapper names each file's device code, which is linked here for the first device. *own gets the result,
 * for the caller to free, and *image is it; NULL where the image is no such wrapper, or none of its files has PTX.
 */
CUresult vg_link_files(const void **image, void **own);
CUresult vg_check_wrapper(const void **image, void **linked, uint64_t *bytes);
CUresult vg_jit_parse(struct vg_jit *j, unsigned int n, const CUjit_option *o, void **v);
/* Into a caller's buffer, cut to its size; its length goes to v[size_at]. */
void vg_jit_log(char *to, size_t room, const char *text, uint32_t n, int size_at, void **v);
CUresult vg_current(struct vg_ctx **c);
/* The same, but a sticky error does not matter (queries, destruction). */
CUresult vg_current_any(struct vg_ctx **c);
CUresult vg_context(CUcontext h, struct vg_ctx **c);
/* green.c: what a handle is that is no stream's; was it one whose green context is gone (and is forgotten)? */
CUresult vg_no_stream(CUstream h);
bool vg_detached_end(CUstream h);
uint64_t vg_green_of(CUstream h, const struct vg_stream *s);    /* its green context, or 0 */
void vg_gate(struct vg_stream *s);                              /* a new one waits for what its context was told to wait for */
void vg_ctx_forget_current(uint64_t handle);                    /* context.c: it is gone */
/* NULL: the calling thread's default stream of that kind. */
CUresult vg_default_stream(bool per_thread, struct vg_stream **s);

static inline CUresult vg_stream(CUstream h, bool pt, struct vg_stream **out)
{
	struct vg_stream *s;
	uint32_t e;

	if ((uintptr_t)h <= 2)
		return vg_default_stream((uintptr_t)h == 2 || (!h && pt), out);
	s = vg_get(VG_STREAM, (uint64_t)(uintptr_t)h);
	if (VG_UNLIKELY(!s))
		return vg_no_stream(h);
	e = vg_ctx_error(s->ctx);
	if (VG_UNLIKELY(e))
		return vg_fail(s->ctx, e);
	*out = s;
	return CUDA_SUCCESS;
}

static inline bool vg_device_ok(CUdevice d) { return d >= 0 && (uint32_t)d < vg.ndev; }

/* trace/device.c; NULL: nobody wants to know when the device did what. */
struct vg_device_trace {
	void *(*begin)(struct vg_stream *s, CUstream handle, const char *name);
	void (*end)(struct vg_stream *s, void *span);
};
extern const struct vg_device_trace *vg_device_trace;
unsigned vg_priorities(const struct vg_ctx *c);                         /* stream.c */
uint16_t vg_priority_flags(const struct vg_ctx *c, int priority);

/* "NAME is not supported", once, and the code. */
static inline CUresult vg_unsupported(const char *what)
{
	vg_unsupported_line(what);
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define VG_HANDLE(type, object) ((type)(uintptr_t)(object)->handle)

/* The context that calls without a stream use on a device: current, else the active primary one. */
CUresult vg_context_for(uint32_t ordinal, struct vg_ctx **c);
struct vg_ctx *vg_primary(uint32_t ordinal);    /* NULL: not active */

/* launch.c: any launch, everything checked */
struct vg_shape {
	uint32_t grid[3], block[3];
	uint32_t shared, attrs;
};
#define VG_MAX_PITCH 0x7fffffffu        /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

/* launch_other.c: clusters of several blocks are there; the attrs of a launch become those with such clusters; are they right for it? */
bool vg_clusters(int ordinal);
CUresult vg_cluster_attrs(int ordinal, unsigned x, unsigned y, unsigned z, uint32_t *attrs);
CUresult vg_cluster_check(const struct vg_func *f, const struct vg_shape *s);
CUresult vg_launch(CUfunction fn, CUstream stream, bool pt, const struct vg_shape *k, void **params, void **extra);
/* All checks of a launch but those of its stream. *packed: the parameters in one buffer, where they came so. */
CUresult vg_launch_check(struct vg_func *f, const struct vg_shape *k, void **params, void **extra, const uint8_t **packed);
/* The command of a launch, f->nslots slots, for vg_submit_run(). packed: its parameters in one buffer. */
static inline bool vg_func_large(const struct vg_func *f) { return f->param_bytes > VGPU_MAX_PARAM_BYTES; }
/* Of those: the body of its command, LAUNCH_LARGE. */
void vg_launch_body(const struct vg_func *f, const struct vg_shape *k, uint64_t body[4]);
unsigned vg_launch_image(const struct vg_func *f, const struct vg_shape *k, const uint8_t *packed, union vgpu_slot *to);
/* Some launch of it that is good, to begin with: what launch_owner() may compare with. False: there is none. */
bool vg_func_first(struct vg_func *f);

/* module.c, function.c, library.c */
uint32_t vg_module_make(struct vg_ctx *c, const void *image, uint64_t bytes, char *log, uint32_t log_bytes,
			uint32_t *log_used, struct vg_module **out);
CUresult vg_image_size(const void **image, uint64_t *bytes);
CUresult vg_read_image(const char *name, char **out);
CUresult vg_check_jit_options(unsigned int n, const CUjit_option *options, void **values);
CUresult vg_module_free(struct vg_module *m);
bool vg_module_variable(uint64_t addr, struct vg_mem *out);     /* of some context */
bool vg_ctx_variable(struct vg_ctx *c, uint64_t addr, struct vg_mem *out);
const struct vgpu_symbol *vg_module_find(struct vg_module *m, const char *name, uint32_t *index);
const char *vg_symbol_name(const struct vg_module *m, const struct vgpu_symbol *s);
static inline bool vg_is_variable(const struct vgpu_symbol *s)
{
	return s->kind == VGPU_SYM_GLOBAL || s->kind == VGPU_SYM_CONST || s->kind == VGPU_SYM_MANAGED;
}
void vg_refs_free(struct vg_module *m);         /* texref.c: with the module */
struct vg_func *vg_module_func(struct vg_module *m, uint32_t index);
uint32_t vg_func_load(struct vg_func *f);
/* context.c: before a function with these VGPU_FN_USES_* can run; what it needs is there from then on, of the size that was set. */
uint32_t vg_ctx_uses(struct vg_ctx *c, uint32_t uses);
/* A CUfunction, or a CUkernel in its place, seen from the current context. */
CUresult vg_function(CUfunction h, struct vg_func **f);
CUresult vg_kernel_function(struct vg_kernel *k, struct vg_ctx *c, struct vg_func **f);
CUresult vg_func_attribute(struct vg_func *f, CUfunction_attribute a, int *value);
CUresult vg_func_set(struct vg_func *f, CUfunction_attribute a, int value);
void vg_func_free(struct vg_func *f);

/* vmm.c: all of the range is mapped with access, in one context */
bool vg_vmm_covers(uint64_t va, uint64_t bytes, struct vg_ctx **owner);
/* false: nothing is mapped at va */
bool vg_vmm_mapping(uint64_t va, uint64_t *start, uint64_t *bytes, bool *access);

/* copy.c: copies and fills as the nodes of a graph have them. One side is device memory of c, or memory that all share. */
CUresult vg_copy_of_box(const CUDA_MEMCPY3D *m, struct vg_ctx *c, struct vg_copy *k);
CUresult vg_check_fill(const CUDA_MEMSET_NODE_PARAMS *p, struct vg_ctx *c);

/* stream.c: one wait or write of a word, checked; *op 0: there is nothing to do */
#define VG_VALUES_MAX 256u
CUresult vg_value_of(const CUstreamBatchMemOpParams *p, struct vgpu_body_value *b, uint8_t *op);

/* event.c: recording and waiting where nothing captures, the event and its context alive */
CUresult vg_event(CUevent h, struct vg_event **e);
void vg_event_record(struct vg_event *e, struct vg_stream *s);
void vg_event_wait(struct vg_stream *s, struct vg_event *e);
bool vg_mark_done(const struct vg_ctx *c, uint64_t mark);       /* what an event of c recorded: is it complete? */
void vg_mark_wait(struct vg_stream *s, const struct vg_ctx *c, uint64_t mark);

/*
 * capture.c: what calls do in a stream that captures. Its word in the stream is looked at behind all checks of the
 * arguments and before anything is done.
 */
static inline bool vg_capturing(const struct vg_stream *s)
{
	return __atomic_load_n(&s->capture, __ATOMIC_RELAXED) != NULL;
}
CUresult vg_capture_kernel(struct vg_stream *s, struct vg_func *f, const struct vg_shape *k, void *const *params,
			   const uint8_t *packed);
CUresult vg_capture_copy(struct vg_stream *s, const struct vg_copy *k);
CUresult vg_capture_fill(struct vg_stream *s, const CUDA_MEMSET_NODE_PARAMS *p);
CUresult vg_capture_host(struct vg_stream *s, CUhostFn fn, void *user);
/* A command that no other node has; type: what the node is called. */
CUresult vg_capture_command(struct vg_stream *s, CUgraphNodeType type, uint8_t op, const void *body, const void *payload,
			    unsigned bytes);
CUresult vg_capture_values(struct vg_stream *s, unsigned int n, const CUstreamBatchMemOpParams *ops);
CUresult vg_capture_alloc(struct vg_stream *s, CUdeviceptr *ptr, size_t bytes);
CUresult vg_capture_free(struct vg_stream *s, CUdeviceptr ptr);
CUresult vg_capture_record(struct vg_stream *s, struct vg_event *e, unsigned int flags);
CUresult vg_capture_wait(struct vg_stream *s, struct vg_event *e, unsigned int flags);
/* What waits for the stream, or has no node: the error, and the capture is good for nothing afterwards. */
CUresult vg_capture_refuse(struct vg_stream *s);
/*
 * The same for questions about an event whose last recording was captured, and for waiting for a whole context. over: the answer once that
 * capture has ended, which the driver has two of (580 on an H100).
 */
CUresult vg_capture_refuse_event(struct vg_event *e, CUresult over);
CUresult vg_capture_refuse_ctx(struct vg_ctx *c);
/* graph_mem.c: by cuMemFree (s NULL, everything is complete) or cuMemFreeAsync */
CUresult vg_graph_mem_free_outside(uint64_t va, struct vg_stream *s);
void vg_captured_forget(struct vg_event *e);    /* it was recorded otherwise, or is destroyed */

#define VG_NO_CAPTURE(s) \
	do { \
		if (VG_UNLIKELY(vg_capturing(s))) \
			return vg_capture_refuse(s); \
	} while (0)

/* First in calls that CUDA calls potentially unsafe while somebody captures: what is allowed depends on modes. */
extern uint32_t vg_strict_captures;
CUresult vg_unsafe(void);
#define VG_SAFE() \
	do { \
		if (VG_UNLIKELY(__atomic_load_n(&vg_strict_captures, __ATOMIC_RELAXED))) \
			VG_TRY(vg_unsafe()); \
	} while (0)

/* function.c: counts functions that are gone, so that whoever keeps some knows when to look again */
extern uint64_t vg_func_deaths;

/* pool.c */
struct vg_pool *vg_pool_make(uint32_t ordinal);
CUresult vg_pool_default(uint32_t ordinal, struct vg_pool **p);
bool vg_one_node(void);                         /* has the machine one NUMA node? */
/* managed.c */
CUresult vg_managed_prefer(const struct vg_mem *m, CUmemLocation location);
/* That much is the application's no more, and that much the pool's: a destroyed one that has nothing left is gone. */
void vg_pool_less(struct vg_pool *p, uint64_t used, uint64_t reserved);
/* ipc.c, ipc_event.c: kind 1 memory, 2 events */
bool vg_ipc_supported(void);
bool vg_ipc_memory(uint32_t ordinal);           /* ... and of this device: its memory is its contexts' own */
CUresult vg_ipc_name(uint64_t addr, uint64_t bytes, uint32_t kind, char *out);
CUresult vg_ipc_open(const char *in, uint32_t kind, uint64_t *addr, uint64_t *bytes);
CUresult vg_ipc_export(uint64_t ptr, uint32_t kind, char *out);
CUresult vg_ipc_event_make(struct vg_event *e);
void vg_ipc_event_drop(struct vg_event *e);
void vg_ipc_event_record(struct vg_event *e, struct vg_stream *s);
void vg_ipc_event_wait(struct vg_event *e, struct vg_stream *s);
bool vg_ipc_event_done(const struct vg_event *e);
uint32_t vg_ipc_event_sync(struct vg_event *e);
/* Not 0: who recorded it is gone. Looks twice a second at most. */
uint32_t vg_ipc_event_lost(struct vg_event *e);
/* pool_cache.c: memory that was freed and is not given back yet */
bool vg_pool_take(struct vg_pool *p, struct vg_stream *s, uint64_t bytes, struct vg_mem *out);
void vg_pool_keep(struct vg_stream *s, uint64_t ticket, const struct vg_mem *m);
void vg_pool_trim(struct vg_pool *p, uint64_t min);
void vg_pool_empty(struct vg_pool *p);
void vg_pools_settle(void);                             /* at each synchronization: down to the thresholds */

#endif
