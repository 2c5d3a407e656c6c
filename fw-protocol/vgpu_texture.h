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

#define VGPU_TEXTURE_MAGIC 0x58455456u          /* "VTEX" */

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

struct vgpu_texture {
	uint32_t magic, flags;
	uint8_t format, channels, mode[3], reserved[3];
	uint32_t width, height, depth;          /* in texels; 0 where there is no such dimension */
	uint32_t layers;                        /* 0: not layered */
	uint64_t base, pitch, slice, bytes;     /* bytes: all of it, from base on */
	float border[4];
};

#endif
