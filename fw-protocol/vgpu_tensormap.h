/* SPDX-License-Identifier: MIT */
/*
 * What a CUtensorMap is on VGPU-STUB's cpu engine: 128 bytes that libcuda-lite fills (driver/tensormap.c), programs copy as they like, kernels
 * change field by field (tensormap.replace, beginning from zeros) and the engine reads at each copy (cpu/tmap.c). Nothing in it is taken for
 * granted there. Engine cuda makes the driver's own of one that it finds among a kernel's parameters (cuda/tensormap.c). Semantics: PTX ISA 5.5, "Tensors"; CUDA Driver API, "Tensor Map Object Management".
 *
 * Element (i0, i1, …) lies at base + i0 * its size + i1 * stride[0] + i2 * stride[1] + …
 */
#ifndef VGPU_TENSORMAP_H
#define VGPU_TENSORMAP_H

#include <stdint.h>

/* Element types by tensormap.replace's numbers (9.7.9.28) */
enum vgpu_tensor_type {
	VGPU_TENSOR_U8, VGPU_TENSOR_U16, VGPU_TENSOR_U32, VGPU_TENSOR_S32, VGPU_TENSOR_U64, VGPU_TENSOR_S64, VGPU_TENSOR_F16, VGPU_TENSOR_F32,
	VGPU_TENSOR_F32_FTZ, VGPU_TENSOR_F64, VGPU_TENSOR_BF16, VGPU_TENSOR_TF32, VGPU_TENSOR_TF32_FTZ, VGPU_TENSOR_TYPES
};
enum vgpu_tensor_mode { VGPU_TENSOR_TILE, VGPU_TENSOR_IM2COL };
enum vgpu_tensor_swizzle { VGPU_TENSOR_SWIZZLE_NONE, VGPU_TENSOR_SWIZZLE_32, VGPU_TENSOR_SWIZZLE_64, VGPU_TENSOR_SWIZZLE_128 };

struct vgpu_tensormap {
	uint64_t base;
	uint64_t stride[4];             /* bytes, of dimensions 1 on */
	uint32_t dim[5];                /* elements; 0: 2^32 */
	uint32_t box[5];                /* elements that a tile spans */
	uint32_t step[5];               /* distance of those that it takes */
	uint8_t type, rank, mode, interleave;  /* rank: one less; interleave: 0, there is no other yet */
	uint8_t swizzle, atom, fill, promotion; /* atom: of swizzling, 0: 16 bytes; fill: what is outside, 0: zeros, 1: NaNs; promotion: to the L2 cache, a hint */
	/* im2col: corners of the box of pixels, distances from those of the tensor; channels and pixels that a copy takes */
	int16_t lower[3], upper[3];
	uint16_t channels, pixels;
	uint32_t magic;                 /* VGPU_TENSORMAP_MAGIC of one that the host made: a map of NVIDIA's has other things there, and is taken for none */
};
#define VGPU_TENSORMAP_MAGIC 0x70614d54u        /* "TMap" */

#endif
