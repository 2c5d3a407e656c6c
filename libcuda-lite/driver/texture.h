/* SPDX-License-Identifier: MIT */
/* Arrays for copy.c, descriptors for texref.c. */
#ifndef VG_TEXTURE_H
#define VG_TEXTURE_H

#include "driver.h"
#include "../../fw-protocol/vgpu_texture.h"

struct vg_texture {
	struct vg_texture *next;
	struct vg_ctx *ctx;
	uint64_t ctx_handle, va;
	bool surface;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUDA_RESOURCE_VIEW_DESC view;
	bool viewed;
};

/* Is the device's engine one that knows descriptors? */
bool vg_texture_able(const struct vg_ctx *c);
uint32_t vg_format_bytes(CUarray_format f);       /* of a channel; 0: none that there is */
/* An array whose context is still there; INVALID_HANDLE. */
CUresult vg_array_of(CUarray h, struct vg_array **a);
/* The descriptor of what an object is made of; s and v may be NULL. */
CUresult vg_texture_describe(struct vg_ctx *c, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s, const CUDA_RESOURCE_VIEW_DESC *v,
			     bool surface, struct vgpu_texture *t);
/* What launches that come later, in any stream, will see at va. A status. */
uint32_t vg_texture_put(struct vg_ctx *c, const struct vgpu_texture *t, uint64_t va);

/* Where an array lies: address of its first texel, bytes from row to row, rows of a slice, bytes of a row that count, slices. */
CUresult vg_array_side(CUarray h, uint64_t *addr, uint64_t *pitch, uint64_t *rows, uint64_t *width, uint64_t *slices);

bool vg_texture_limit(int attribute, long long *v);     /* device.c: CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE* and the like */

uint32_t vg_array_element(CUarray h);     /* bytes; 0: no array */

#endif
