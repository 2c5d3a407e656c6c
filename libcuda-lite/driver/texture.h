/* SPDX-License-Identifier: MIT */
/* Arrays for copy.c. */
#ifndef VG_TEXTURE_H
#define VG_TEXTURE_H

#include "driver.h"

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

/* Where an array lies: address of its first texel, bytes from row to row, rows of a slice, bytes of a row that count, slices. */
CUresult vg_array_side(CUarray h, uint64_t *addr, uint64_t *pitch, uint64_t *rows, uint64_t *width, uint64_t *slices);

bool vg_texture_limit(int attribute, long long *v);     /* device.c: CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE* and the like */

uint32_t vg_array_element(CUarray h);     /* bytes; 0: no array */

#endif
