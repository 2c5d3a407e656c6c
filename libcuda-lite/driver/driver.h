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

#define VG_DRIVER_VERSION 13000

/* First line of every call but cuInit and the few that work without it. */
#define VG_READY() \
	do { \
		if (VG_UNLIKELY(!__atomic_load_n(vg_alive, __ATOMIC_RELAXED))) \
			return CUDA_ERROR_NOT_INITIALIZED; \
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
static inline CUresult vg_done(struct vg_ctx *c, uint32_t status)
{
	return VG_LIKELY(status == VGPU_ST_OK) ? CUDA_SUCCESS : vg_fail(c, status);
}

/* The calling thread's context, alive and without error. */
CUresult vg_current(struct vg_ctx **c);
/* The same, but a sticky error does not matter (queries, destruction). */
CUresult vg_current_any(struct vg_ctx **c);
CUresult vg_context(CUcontext h, struct vg_ctx **c);
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
		return CUDA_ERROR_INVALID_HANDLE;
	e = vg_ctx_error(s->ctx);
	if (VG_UNLIKELY(e))
		return vg_fail(s->ctx, e);
	*out = s;
	return CUDA_SUCCESS;
}

static inline bool vg_device_ok(CUdevice d) { return d >= 0 && (uint32_t)d < vg.ndev; }

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
CUresult vg_launch(CUfunction fn, CUstream stream, bool pt, const struct vg_shape *k, void **params, void **extra);
/* Some launch of it that is good, to begin with: what launch_owner() may compare with. False: there is none. */
bool vg_func_first(struct vg_func *f);

/* module.c, function.c, library.c */
uint32_t vg_module_make(struct vg_ctx *c, const void *image, uint64_t bytes, char *log, uint32_t log_bytes,
			uint32_t *log_used, struct vg_module **out);
CUresult vg_image_size(const void **image, uint64_t *bytes);
CUresult vg_read_image(const char *name, char **out);
CUresult vg_check_jit_options(unsigned int n, const CUjit_option *options, void **values);
CUresult vg_module_free(struct vg_module *m);
bool vg_module_variable(uint64_t addr, struct vg_mem *out);
const struct vgpu_symbol *vg_module_find(struct vg_module *m, const char *name, uint32_t *index);
const char *vg_symbol_name(const struct vg_module *m, const struct vgpu_symbol *s);
struct vg_func *vg_module_func(struct vg_module *m, uint32_t index);
uint32_t vg_func_load(struct vg_func *f);
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

/* pool.c */
CUresult vg_pool_default(uint32_t ordinal, struct vg_pool **p);
void vg_pool_freed(struct vg_pool *p, uint64_t bytes);

#endif
