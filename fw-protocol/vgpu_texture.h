/* SPDX-License-Identifier: MIT */
/*
 * What a CUtexObject or CUsurfObject is on VGPU-STUB's cpu engine: the device address of one of these, in a page of its own. libcuda-lite
 * writes it when the object is made (driver/texture.c), the engine reads it at each fetch (cpu/tex.c). It lies where the program's kernels may
 * write, so the engine takes nothing in it for granted: every address that comes out of it is checked as those of loads are.
 *
 * Texels lie at base + layer or z * slice + y * pitch + x * bytes a texel. Semantics: CUDA C++ Programming Guide, "Texture Fetching"; PTX ISA
 * 9.7.10, 9.7.11.
 */
#ifndef VGPU_TEXTURE_H
#define VGPU_TEXTURE_H

#include <stdint.h>

#define VGPU_TEXTURE_MAGIC 0x58455456u          /* "VTEX": what stands behind border is none of it */
#define VGPU_TEXTURE_MAGIC_2 0x32585456u        /* "VTX2": all counts; an engine that does not know it refuses the object */

enum vgpu_texel {                               /* as CUarray_format has them */
	VGPU_TEXEL_U8 = 0x01, VGPU_TEXEL_U16 = 0x02, VGPU_TEXEL_U32 = 0x03, VGPU_TEXEL_S8 = 0x08, VGPU_TEXEL_S16 = 0x09,
	VGPU_TEXEL_S32 = 0x0a, VGPU_TEXEL_F16 = 0x10, VGPU_TEXEL_F32 = 0x20
};
enum vgpu_texture_mode { VGPU_TEXTURE_WRAP, VGPU_TEXTURE_CLAMP, VGPU_TEXTURE_MIRROR, VGPU_TEXTURE_BORDER };

#define VGPU_TEXTURE_NORMALIZED 1u              /* coordinates go from 0 to 1 */
#define VGPU_TEXTURE_LINEAR 2u                  /* filtered; else the nearest texel */
#define VGPU_TEXTURE_UNIT 4u                    /* integers of 8 and 16 bits are read as 0 to 1, or -1 to 1 */
#define VGPU_TEXTURE_FETCH 8u                   /* linear memory: read by integers, 0 beyond its end */
#define VGPU_TEXTURE_CUBE 16u                   /* layers are faces, six of a cube */
#define VGPU_TEXTURE_SURFACE 32u                /* a surface: bytes, no sampler */
#define VGPU_TEXTURE_SRGB 64u                   /* bytes read as 0 to 1: the first three channels are sRGB's */
#define VGPU_TEXTURE_MIP_LINEAR 128u            /* between two levels; else the nearest */

struct vgpu_texture {
	uint32_t magic, flags;
	uint8_t format, channels, mode[3], reserved[3];
	uint32_t width, height, depth;          /* in texels; 0 where there is no such dimension */
	uint32_t layers;                        /* 0: not layered */
	uint64_t base, pitch, slice, bytes;     /* bytes: all of it, from base on */
	float border[4];
	/* with levels width, height and depth are those of the first that there is, and each lies behind the one before */
	float lod_bias, lod_min, lod_max;
	uint16_t levels, first_level;           /* of the view; levels 0: there is but one */
	uint32_t first_layer, all_layers;       /* all_layers: of the array */
};

#define VGPU_TEXTURE_ROOM 128u                  /* of a .texref or .surfref of a module, VGPU_SYM_TEXTURE: zero, then one of these, for whose handle its address stands */

/* Where a level lies, and how large it is. height, depth, layers: 0 where there is no such dimension. */
struct vgpu_level {
	uint32_t width, height, depth;
	uint64_t pitch, slice, offset, bytes;
};
#define VGPU_TEXTURE_ALIGN 64u                  /* of rows */

static inline struct vgpu_level vgpu_texture_level(uint32_t width, uint32_t height, uint32_t depth, uint32_t layers, uint32_t texel,
						   uint32_t level)
{
	struct vgpu_level v = { 0, 0, 0, 0, 0, 0, 0 };

	for (uint32_t l = 0; l <= level && l < 32; l++) {
		v.offset += v.bytes;
		v.width = width >> l ? width >> l : 1;
		v.height = !height ? 0 : height >> l ? height >> l : 1;
		v.depth = !depth ? 0 : depth >> l ? depth >> l : 1;
		v.pitch = ((uint64_t)v.width * texel + VGPU_TEXTURE_ALIGN - 1) & ~(uint64_t)(VGPU_TEXTURE_ALIGN - 1);
		v.slice = v.pitch * (v.height ? v.height : 1);
		v.bytes = v.slice * (layers ? layers : v.depth ? v.depth : 1);
	}
	return v;
}

#endif
