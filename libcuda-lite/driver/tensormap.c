/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps: descriptions of tensors in global memory that a kernel's copies name (fw-protocol/vgpu_tensormap.h). What may be in one: CUDA Driver
 * API, "Tensor Map Object Management"; there each rule of below is a sentence. Plain arithmetic: the device sees a map when a kernel uses it.
 */
#include <string.h>

#include "../../fw-protocol/vgpu_tensormap.h"
#include "driver.h"

_Static_assert(sizeof(struct vgpu_tensormap) == sizeof(CUtensorMap), "what a program has room for");

static uint32_t element_bytes(CUtensorMapDataType t)
{
	static const uint8_t bytes[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };

	return bytes[t];
}

/* The device's numbers of types: PTX ISA 9.7.9.28 */
static uint8_t device_type(CUtensorMapDataType t)
{
	switch (t) {
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return VGPU_TENSOR_F64;
	case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return VGPU_TENSOR_BF16;
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: return VGPU_TENSOR_F32_FTZ;
	default: return (uint8_t)t;     /* the same */
	}
}

static bool is_float(CUtensorMapDataType t)
{
	return t >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && t <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

struct common {
	CUtensorMapDataType type;
	uint32_t rank;
	void *address;
	const cuuint64_t *dims, *strides;
	const cuuint32_t *steps;
	CUtensorMapInterleave interleave;
	CUtensorMapSwizzle swizzle;
	CUtensorMapL2promotion promotion;
	CUtensorMapFloatOOBfill fill;
};

/* What all kinds have in common; least: dimensions, at least. inner: elements of a row in shared memory. */
static CUresult begin(struct vgpu_tensormap *t, const CUtensorMap *map, const struct common *c, uint32_t least, uint64_t inner)
{
	uint32_t i;

	VG_READY();
	if (!map || (uintptr_t)map & 63 || !c->dims || (c->rank > 1 && !c->strides) || !c->steps)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)c->type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || (unsigned)c->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
	    (unsigned)c->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || (unsigned)c->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
	    (unsigned)c->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->rank < least || c->rank > 5 || (uintptr_t)c->address & (c->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 31 : 15))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < c->rank; i++)
		if (!c->dims[i] || c->dims[i] > 1ull << 32 || !c->steps[i] || c->steps[i] > 8)
			return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i + 1 < c->rank; i++)
		if (c->strides[i] & (c->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 31 : 15) || c->strides[i] >= 1ull << 40)
			return CUDA_ERROR_INVALID_VALUE;
	if (c->fill && !is_float(c->type))
		return CUDA_ERROR_INVALID_VALUE;
	if (c->interleave == CU_TENSOR_MAP_INTERLEAVE_32B && c->swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->interleave && c->rank < 3)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ)
		return vg_unsupported("a tensor map of 4 or 6-bit elements");
	if (c->swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
		return vg_unsupported("a tensor map that is swizzled by 32 or 64 bytes");
	if (c->interleave)
		return vg_unsupported("an interleaved tensor map");
	if ((inner * element_bytes(c->type)) & 15)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->swizzle && inner * element_bytes(c->type) > 16u << c->swizzle)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(vg.info[0].engine, "cpu", 3) && !(vg.info[0].features & VGPU_DEV_FEATURE_TENSORMAPS))
		return vg_unsupported("a tensor map on this device's engine");
	/* "only supported on devices of compute capability 9.0 or higher" */
	if (vg.info[0].cc_major < 9)
		return vg_unsupported("a tensor map on a device below compute capability 9.0");
	memset(t, 0, sizeof(*t));
	t->base = (uint64_t)(uintptr_t)c->address;
	for (i = 0; i < c->rank; i++) {
		t->dim[i] = (uint32_t)c->dims[i];
		t->step[i] = c->steps[i];
		if (i)
			t->stride[i - 1] = c->strides[i - 1];
	}
	t->rank = (uint8_t)(c->rank - 1);
	t->type = device_type(c->type);
	t->swizzle = (uint8_t)c->swizzle;
	t->fill = (uint8_t)c->fill;
	t->promotion = (uint8_t)c->promotion;
	t->magic = VGPU_TENSORMAP_MAGIC;
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
				const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,
				CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	const struct common c = { type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill };
	struct vgpu_tensormap t;
	uint32_t i;

	VG_READY();
	if (!box || rank > 5)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < rank; i++)
		if (!box[i] || box[i] > 256)
			return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(begin(&t, map, &c, 1, rank ? box[0] : 0));
	for (i = 0; i < rank; i++)
		t.box[i] = box[i];
	memcpy(map, &t, sizeof(t));
	return CUDA_SUCCESS;
}

/* Corners lie in -2^15 … 2^15 - 1 with one dimension in space, in a byte with two, in five bits with three. */
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
				 const cuuint64_t *strides, const int *lower, const int *upper, cuuint32_t channels, cuuint32_t pixels,
				 const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	static const int limit[] = { 1 << 15, 1 << 7, 1 << 4 };
	const struct common c = { type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill };
	struct vgpu_tensormap t;
	uint32_t i;

	VG_READY();
	if (!lower || !upper || rank < 3 || rank > 5 || !channels || channels > 256 || !pixels || pixels > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < rank - 2; i++)
		if (lower[i] < -limit[rank - 3] || lower[i] >= limit[rank - 3] || upper[i] < -limit[rank - 3] || upper[i] >= limit[rank - 3])
			return CUDA_ERROR_INVALID_VALUE;
	VG_TRY(begin(&t, map, &c, 3, channels));
	t.mode = VGPU_TENSOR_IM2COL;
	for (i = 0; i < rank - 2; i++) {
		t.lower[i] = (int16_t)lower[i];
		t.upper[i] = (int16_t)upper[i];
	}
	t.channels = (uint16_t)channels;
	t.pixels = (uint16_t)pixels;
	memcpy(map, &t, sizeof(t));
	return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	struct vgpu_tensormap t;

	VG_READY();
	if (!map || (uintptr_t)map & 63 || (uintptr_t)address & 15)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&t, map, sizeof(t));
	t.base = (uint64_t)(uintptr_t)address;
	memcpy(map, &t, sizeof(t));
	return CUDA_SUCCESS;
}
