/* SPDX-License-Identifier: MIT */
/*
 * cuLinkCreate and its like: our linker (libcuda-lite/link) over PTX and what holds it, for the current device. What comes out
 * is PTX in a cubin's place (vgpu_cubin.h), which every call that loads modules takes.
 */
#include "driver.h"
#include "../../fw-protocol/vgpu_cubin.h"
#include "../link/ptxlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult link_of(CUlinkState h, struct vg_link **l)
{
	VG_READY();
	*l = vg_get(VG_LINK, (uint64_t)(uintptr_t)h);
	return *l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values, CUlinkState *state)
{
	struct vg_link *l;
	struct vg_ctx *c;
	struct vg_jit jit;

	VG_READY();
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_current(&c));
	VG_TRY(vg_jit_parse(&jit, n, options, values));
	l = vg_new(VG_LINK);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->cc = vg.info[c->ordinal].cc_major * 10 + vg.info[c->ordinal].cc_minor;
	l->linker = ptxlink_new(l->cc);
	l->jit = jit;
	l->values = values;             /* the caller's, valid until the state is destroyed */
	if (!l->linker) {
		vg_delete(VG_LINK, l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*state = (CUlinkState)(uintptr_t)vg_publish(l);
	return CUDA_SUCCESS;
}

/* Tells it in the caller's buffer, or on stderr where there is none. */
static CUresult told(struct vg_link *l, int err, CUresult error)
{
	const char *log = ptxlink_log(l->linker);

	vg_jit_log(l->jit.error, l->jit.error_bytes, log, (uint32_t)strlen(log), l->jit.error_size_at, l->values);
	if (!err)
		return CUDA_SUCCESS;
	if (!l->jit.error)
		vg_say("not linked: %s", log);
	return err == PTXLINK_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : err == PTXLINK_NO_PTX ? CUDA_ERROR_NO_BINARY_FOR_GPU : error;
}

static CUresult kind_of(CUjitInputType type, enum ptxlink_kind *kind)
{
	static const enum ptxlink_kind kinds[] = { PTXLINK_CUBIN, PTXLINK_PTX, PTXLINK_FATBIN, PTXLINK_OBJECT, PTXLINK_LIBRARY };

	if (type == CU_JIT_INPUT_NVVM)
		return vg_unsupported("cuLinkAddData of LTO-IR (libnvJitLink takes it)");
	if ((unsigned)type >= sizeof(kinds) / sizeof(kinds[0]))
		return CUDA_ERROR_INVALID_VALUE;
	*kind = kinds[type];
	return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned int n,
			  CUjit_option *options, void **values)
{
	enum ptxlink_kind kind;
	struct vg_link *l;
	CUresult r;

	VG_TRY(link_of(state, &l));
	if (!data || !size)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_check_jit_options(n, options, values));
	VG_TRY(kind_of(type, &kind));
	vg_lock(&l->lock);
	r = l->image ? CUDA_ERROR_INVALID_VALUE : told(l, ptxlink_add(l->linker, kind, data, size, name),
							type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE);
	vg_unlock(&l->lock);
	return r;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int n, CUjit_option *options, void **values)
{
	enum ptxlink_kind kind;
	struct vg_link *l;
	char *image;
	CUresult r;

	VG_TRY(link_of(state, &l));
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(vg_check_jit_options(n, options, values));
	VG_TRY(kind_of(type, &kind));
	VG_TRY(vg_read_image(path, &image));
	free(image);                    /* it is there, and not empty */
	vg_lock(&l->lock);
	r = l->image ? CUDA_ERROR_INVALID_VALUE : told(l, ptxlink_add_file(l->linker, kind, path), CUDA_ERROR_INVALID_IMAGE);
	vg_unlock(&l->lock);
	return r;
}

static CUresult complete(struct vg_link *l)
{
	struct vgpu_cubin c = { .target = l->cc, .name = "cuLink" };
	size_t bytes = 0;
	int err = ptxlink_complete(l->linker, &c.ptx, &bytes);

	c.ptx_bytes = bytes;
	VG_TRY(told(l, err, CUDA_ERROR_INVALID_IMAGE));
	l->bytes = vgpu_cubin_write(&c, NULL, 0);
	l->image = l->bytes ? malloc(l->bytes) : NULL;
	if (!l->image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	vgpu_cubin_write(&c, l->image, l->bytes);
	return CUDA_SUCCESS;
}

/* What nvcc's device linker registers (crt/link.stub): version 2 of the wrapper, with each file's container behind `more`. */
struct linked_wrapper {
	uint32_t magic, version;
	const void *data;
	const void *const *more;        /* up to a NULL */
};

static CUresult link_files(struct vg_link *l, const struct linked_wrapper *w)
{
	char name[32];
	int err = PTXLINK_OK;

	for (unsigned i = 0; w->more[i] && !err; i++) {
		const void *image = w->more[i];
		uint64_t bytes;

		VG_TRY(vg_image_size(&image, &bytes));
		snprintf(name, sizeof(name), "device code %u", i);
		err = ptxlink_add(l->linker, PTXLINK_FATBIN, image, bytes, name);
		/* libcudadevrt has it for other architectures only, and is there whether it is used or not */
		if (err == PTXLINK_NO_PTX)
			err = PTXLINK_OK;
	}
	if (err)
		return told(l, err, CUDA_ERROR_INVALID_IMAGE);
	return ptxlink_count(l->linker) ? complete(l) : CUDA_SUCCESS;
}

CUresult vg_link_files(const void **image, void **own)
{
	struct linked_wrapper w;
	struct vg_link l = { .cc = vg.info[0].cc_major * 10 + vg.info[0].cc_minor };
	CUresult r;

	*own = NULL;
	memcpy(&w, *image, 4);
	if (w.magic != 0x466243b1u)
		return CUDA_SUCCESS;
	memcpy(&w, *image, sizeof w);
	if (w.version != 2 || !w.more || !w.more[0])
		return CUDA_SUCCESS;
	l.linker = ptxlink_new(l.cc);
	if (!l.linker)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l.jit.error_size_at = -1;
	r = link_files(&l, &w);
	ptxlink_free(l.linker);
	if (l.image)
		*image = *own = l.image;
	return r;
}

CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	CUresult r = CUDA_SUCCESS;
	struct vg_link *l;

	VG_TRY(link_of(state, &l));
	if (!cubin)
		return CUDA_ERROR_INVALID_VALUE;
	vg_lock(&l->lock);
	if (!l->image)
		r = complete(l);
	vg_unlock(&l->lock);
	if (r)
		return r;
	*cubin = l->image;
	if (size)
		*size = l->bytes;
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	struct vg_link *l;

	VG_TRY(link_of(state, &l));
	vg_unpublish(l);
	ptxlink_free(l->linker);
	free(l->image);
	vg_delete(VG_LINK, l);
	return CUDA_SUCCESS;
}
