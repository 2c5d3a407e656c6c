/* SPDX-License-Identifier: MIT */
/*
 * Libraries: modules that belong to no context. The image is kept; the first use in a context loads
 * it there. A kernel is a name in a library; its function differs per context.
 */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CUresult library_of(CUlibrary h, struct vg_library **l)
{
	VG_READY();
	*l = vg_get(VG_LIBRARY, (uint64_t)(uintptr_t)h);
	return *l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_of(CUkernel h, struct vg_kernel **k)
{
	VG_READY();
	*k = vg_get(VG_KERNEL, (uint64_t)(uintptr_t)h);
	return *k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The library's module in context c, loaded now if it was not. */
static CUresult module_in(struct vg_library *l, struct vg_ctx *c, struct vg_module **out)
{
	char log[2048];
	uint32_t used = 0, status = VGPU_ST_OK;
	struct vg_module *m;
	bool told;

	vg_lock(&l->lock);
	m = l->in[c->number].ctx_handle == c->handle ? l->in[c->number].module : NULL;
	if (!m) {
		status = vg_module_make(c, l->image, l->bytes, log, sizeof log, &used, &m);
		if (!status) {
			m->library = l;
			l->in[c->number].ctx_handle = c->handle;
			l->in[c->number].module = m;
		}
	}
	told = l->told == status;
	l->told = status;
	vg_unlock(&l->lock);
	if (status) {
		if (told)
			return vg_fail(c, status);
		if (used)
			vg_say("library not loaded: %s: %s", vgpu_status_text(status), log);
		else if (status == VGPU_ST_NO_BINARY)
			vg_say("library not loaded: it holds no PTX for compute capability %u.%u or less",
			       vg.info[c->ordinal].cc_major, vg.info[c->ordinal].cc_minor);
		return vg_fail(c, status);
	}
	*out = m;
	return CUDA_SUCCESS;
}

/* Names can be asked for before any context is current: then the first device's primary one answers. */
static CUresult some_context(struct vg_ctx **c)
{
	if (vg_current(c) == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	for (uint32_t o = 0; o < vg.ndev; o++) {
		*c = vg_primary(o);
		if (*c)
			return vg_done(*c, vg_ctx_error(*c));
	}
	return CUDA_ERROR_INVALID_CONTEXT;
}

/* PTX begins with a directive or a comment; the others have a byte that no text has in their first four. */
static bool no_image(const void *image)
{
	const char *p = image;

	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
		p++;
	return *p != '.' && *p != '/' && *p != '@' && (unsigned char)p[0] != 0x7f && (unsigned char)p[0] != 0x50 && (unsigned char)p[0] < 0x80;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options, void **jit_values,
			   unsigned int n_jit, CUlibraryOption *lib_options, void **lib_values, unsigned int n_lib)
{
	struct vg_library *l;
	bool preserved = false;
	void *linked = NULL;
	uint64_t bytes;

	VG_READY();
	(void)lib_values;
	if (!library || !code || (n_jit && (!jit_options || !jit_values)) || (n_lib && !lib_options))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n_lib; i++) {
		if (lib_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			preserved = true;
		else if (lib_options[i] != CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	VG_TRY(vg_check_jit_options(n_jit, jit_options, jit_values));
	VG_TRY(vg_check_wrapper(&code, &linked, &bytes));
	/* Its text is read when something of it is used; what is no text is told now. */
	if (!linked && no_image(code)) {
		vg_say("the library is no PTX, no fat binary and no cubin");
		return CUDA_ERROR_INVALID_IMAGE;
	}
	l = vg_new(VG_LIBRARY);
	if (!l) {
		free(linked);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	l->bytes = bytes;
	l->image = (void *)(uintptr_t)code;
	if (linked) {
		l->own = true;
	} else if (!preserved) {
		/* The text's NUL is not part of it, but costs nothing. */
		l->image = malloc(bytes + 1);
		if (!l->image) {
			vg_delete(VG_LIBRARY, l);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(l->image, code, bytes);
		((char *)l->image)[bytes] = 0;
		l->own = true;
	}
	*library = (CUlibrary)(uintptr_t)vg_publish(l);
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fname, CUjit_option *jit_options, void **jit_values,
			       unsigned int n_jit, CUlibraryOption *lib_options, void **lib_values, unsigned int n_lib)
{
	char *image = NULL;
	CUresult r;

	VG_READY();
	if (!library || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n_lib && lib_options; i++)
		if (lib_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			return CUDA_ERROR_INVALID_VALUE;        /* documented: not for files */
	VG_TRY(vg_read_image(fname, &image));
	r = cuLibraryLoadData(library, image, jit_options, jit_values, n_jit, lib_options, lib_values, n_lib);
	free(image);
	return r;
}

CUresult cuLibraryUnload(CUlibrary h)
{
	struct vg_library *l;
	CUresult r = CUDA_SUCCESS;

	VG_TRY(library_of(h, &l));
	vg_unpublish(l);
	for (uint32_t i = 0; i < VGPU_MAX_CONTEXTS; i++) {
		struct vg_ctx *c = vg_ctx_by_number(i);

		/* A context that has gone took its module with it. */
		if (c && l->in[i].module && l->in[i].ctx_handle == c->handle) {
			CUresult one = vg_module_free(l->in[i].module);

			r = r ? r : one;
		}
	}
	while (l->kernels) {
		struct vg_kernel *k = l->kernels;

		l->kernels = k->next;
		free(k->name);
		vg_delete(VG_KERNEL, k);
	}
	if (l->own)
		free(l->image);
	vg_delete(VG_LIBRARY, l);
	return r;
}

static CUresult kernel_named(struct vg_library *l, const char *name, CUkernel *out)
{
	struct vg_kernel *k;
	CUresult r = CUDA_SUCCESS;

	vg_lock(&l->lock);
	for (k = l->kernels; k && strcmp(k->name, name); k = k->next)
		;
	if (!k && (k = vg_new(VG_KERNEL)) != NULL) {
		k->name = strdup(name);
		k->library = l;
		k->max_dynamic = -1;
		k->carveout = -1;
		if (k->name) {
			k->next = l->kernels;
			l->kernels = k;
			vg_publish(k);
		} else {
			vg_delete(VG_KERNEL, k);
			k = NULL;
		}
	}
	if (k)
		*out = VG_HANDLE(CUkernel, k);
	else
		r = CUDA_ERROR_OUT_OF_MEMORY;
	vg_unlock(&l->lock);
	return r;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary h, const char *name)
{
	const struct vgpu_symbol *s;
	struct vg_library *l;
	struct vg_module *m;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	if (!kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(some_context(&c));
	VG_TRY(module_in(l, c, &m));
	s = vg_module_find(m, name, NULL);
	if (!s || s->kind != VGPU_SYM_FUNC)
		return CUDA_ERROR_NOT_FOUND;
	return kernel_named(l, name, kernel);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary h)
{
	struct vg_library *l;
	struct vg_module *m;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(some_context(&c));
	VG_TRY(module_in(l, c, &m));
	return cuModuleGetFunctionCount(count, VG_HANDLE(CUmodule, m));
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary h)
{
	struct vg_library *l;
	struct vg_module *m;
	unsigned int at = 0;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	if (!kernels || !n)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(some_context(&c));
	VG_TRY(module_in(l, c, &m));
	for (uint32_t i = 0; i < m->nsyms && at < n; i++) {
		const struct vgpu_symbol *s = (const struct vgpu_symbol *)(m->table + 1) + i;

		if (s->kind == VGPU_SYM_FUNC)
			VG_TRY(kernel_named(l, vg_symbol_name(m, s), &kernels[at++]));
	}
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary h)
{
	struct vg_library *l;
	struct vg_module *m;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(module_in(l, c, &m));
	*module = VG_HANDLE(CUmodule, m);
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary h, const char *name)
{
	struct vg_library *l;
	struct vg_module *m;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	VG_TRY(vg_current(&c));
	VG_TRY(module_in(l, c, &m));
	return cuModuleGetGlobal_v2(ptr, bytes, VG_HANDLE(CUmodule, m), name);
}

/* A managed variable has one address for the host and for kernels. */
CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary h, const char *name)
{
	const struct vgpu_symbol *s;
	struct vg_library *l;
	struct vg_module *m;
	struct vg_ctx *c;

	VG_TRY(library_of(h, &l));
	if ((!ptr && !bytes) || !name)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(module_in(l, c, &m));
	s = vg_module_find(m, name, NULL);
	if (!s || s->kind != VGPU_SYM_MANAGED)
		return CUDA_ERROR_NOT_FOUND;
	if (ptr)
		*ptr = s->address;
	if (bytes)
		*bytes = s->bytes;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetUnifiedFunction(void **fn, CUlibrary h, const char *symbol)
{
	struct vg_library *l;

	VG_TRY(library_of(h, &l));
	return fn && symbol ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels ---- */

CUresult vg_kernel_function(struct vg_kernel *k, struct vg_ctx *c, struct vg_func **out)
{
	struct vg_module *m;
	struct vg_func *f;
	uint32_t index;

	if (VG_LIKELY(__atomic_load_n(&k->in[c->number].ctx_handle, __ATOMIC_ACQUIRE) == c->handle)) {
		*out = k->in[c->number].func;
		return CUDA_SUCCESS;
	}
	VG_TRY(module_in(k->library, c, &m));
	if (!vg_module_find(m, k->name, &index))
		return CUDA_ERROR_NOT_FOUND;
	f = vg_module_func(m, index);
	if (!f)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Attributes that were set for the kernel hold in every context. */
	if (k->max_dynamic >= 0 || k->carveout >= 0)
		VG_TRY(vg_done(c, vg_func_load(f)));
	if (k->max_dynamic >= 0)
		VG_TRY(vg_func_set(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k->max_dynamic));
	if (k->carveout >= 0)
		VG_TRY(vg_func_set(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k->carveout));
	k->in[c->number].func = f;
	__atomic_store_n(&k->in[c->number].ctx_handle, c->handle, __ATOMIC_RELEASE);
	*out = f;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *fn, CUkernel h)
{
	struct vg_kernel *k;
	struct vg_func *f;
	struct vg_ctx *c;

	VG_TRY(kernel_of(h, &k));
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(vg_kernel_function(k, c, &f));
	*fn = VG_HANDLE(CUfunction, f);
	return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel h)
{
	struct vg_kernel *k;

	VG_TRY(kernel_of(h, &k));
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	*library = VG_HANDLE(CUlibrary, k->library);
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel h)
{
	struct vg_kernel *k;

	VG_READY();
	if (!name || !h)
		return CUDA_ERROR_INVALID_VALUE;        /* documented of either */
	VG_TRY(kernel_of(h, &k));
	*name = k->name;
	return CUDA_SUCCESS;
}

/* The kernel's function on a device, described. */
static CUresult on_device(CUkernel h, CUdevice dev, struct vg_kernel **k, struct vg_func **f)
{
	struct vg_ctx *c;

	VG_TRY(kernel_of(h, k));
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	VG_TRY(vg_context_for((uint32_t)dev, &c));
	VG_TRY(vg_kernel_function(*k, c, f));
	return vg_done(c, vg_func_load(*f));
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel h, CUdevice dev)
{
	struct vg_kernel *k;
	struct vg_func *f;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(on_device(h, dev, &k, &f));
	return vg_func_attribute(f, a, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel h, CUdevice dev)
{
	struct vg_kernel *k;
	struct vg_func *f;

	VG_TRY(on_device(h, dev, &k, &f));
	VG_TRY(vg_func_set(f, a, value));
	if (a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		k->max_dynamic = value;
	else if (a == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		k->carveout = value;
	return CUDA_SUCCESS;
}

CUresult cuKernelSetCacheConfig(CUkernel h, CUfunc_cache config, CUdevice dev)
{
	struct vg_kernel *k;

	VG_TRY(kernel_of(h, &k));
	if (!vg_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult some_function(CUkernel h, CUfunction *fn)
{
	struct vg_kernel *k;
	struct vg_func *f;
	struct vg_ctx *c;

	VG_TRY(kernel_of(h, &k));
	VG_TRY(some_context(&c));
	VG_TRY(vg_kernel_function(k, c, &f));
	*fn = VG_HANDLE(CUfunction, f);
	return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel h, size_t index, size_t *offset, size_t *size)
{
	CUfunction f;

	VG_TRY(some_function(h, &f));
	return cuFuncGetParamInfo(f, index, offset, size);
}

CUresult cuKernelGetParamCount(CUkernel h, size_t *count)
{
	CUfunction f;

	VG_TRY(some_function(h, &f));
	return cuFuncGetParamCount(f, count);
}
