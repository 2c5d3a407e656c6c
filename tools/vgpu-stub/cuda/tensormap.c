/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps. The client's library describes a tensor in our own words (fw-protocol/vgpu_tensormap.h); what NVIDIA's hardware reads only its
 * driver knows to write. So a map among a kernel's parameters, which is where a program has it (__grid_constant__), is made the
 * driver's as the launch goes by. One that a program keeps in device memory stays ours, and no copy of a kernel's understands it.
 */
#include "cuda.h"

#include <string.h>

#include "../../../fw-protocol/vgpu_tensormap.h"

#define ALIGN 64u               /* of a CUtensorMap, in parameters as elsewhere */

static CUtensorMapDataType type_of(uint8_t t)
{
	switch (t) {
	case VGPU_TENSOR_F64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
	case VGPU_TENSOR_BF16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
	case VGPU_TENSOR_F32_FTZ: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ;
	default: return (CUtensorMapDataType)t; /* the same */
	}
}

static CUresult encode(const struct engine *e, const struct vgpu_tensormap *t, CUtensorMap *out)
{
	uint32_t rank = t->rank + 1u;
	cuuint64_t dims[5], strides[5];
	cuuint32_t box[5], steps[5];
	int lower[3], upper[3];
	uint64_t at;

	if (rank > 5 || t->interleave || t->atom || !cuda_real(e, t->base, 1, &at))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < rank; i++) {
		dims[i] = t->dim[i] ? t->dim[i] : 1ull << 32;
		box[i] = t->box[i];
		steps[i] = t->step[i];
		strides[i] = i + 1 < rank ? t->stride[i] : 0;
	}
	for (uint32_t i = 0; i < 3; i++) {
		lower[i] = t->lower[i];
		upper[i] = t->upper[i];
	}
	if (t->mode == VGPU_TENSOR_IM2COL)
		return cu.cuTensorMapEncodeIm2col(out, type_of(t->type), rank, (void *)(uintptr_t)at, dims, strides, lower, upper, t->channels, t->pixels,
						  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)t->swizzle,
						  (CUtensorMapL2promotion)t->promotion, (CUtensorMapFloatOOBfill)t->fill);
	return cu.cuTensorMapEncodeTiled(out, type_of(t->type), rank, (void *)(uintptr_t)at, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
					 (CUtensorMapSwizzle)t->swizzle, (CUtensorMapL2promotion)t->promotion, (CUtensorMapFloatOOBfill)t->fill);
}

CUresult cuda_tensormaps(const struct engine *e, const void **params, uint32_t bytes, uint8_t *room)
{
	for (uint32_t i = 0; e->env.cc_major >= 9 && i + sizeof(CUtensorMap) <= bytes; i += ALIGN) {
		_Alignas(ALIGN) CUtensorMap own;
		struct vgpu_tensormap t;
		CUresult r;

		memcpy(&t, (const uint8_t *)*params + i, sizeof(t));
		if (t.magic != VGPU_TENSORMAP_MAGIC)
			continue;
		r = encode(e, &t, &own);
		if (r)
			return r;
		if (*params != room)
			memcpy(room, *params, bytes);
		*params = room;
		memcpy(room + i, &own, sizeof(own));
	}
	return CUDA_SUCCESS;
}
