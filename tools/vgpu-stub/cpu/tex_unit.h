/* SPDX-License-Identifier: MIT */
/* A texture that is read: between tex.c, a lane at a time, and tex_row.c, a warp at a time. */
#ifndef VGPU_TEX_UNIT_H
#define VGPU_TEX_UNIT_H

#include "../../../fw-protocol/vgpu_texture.h"
#include "gen.h"

struct unit {
	struct tstate *ts;
	u32 lane;
	bool inside;                    /* all that the texture can be read at lies in the span */
	struct vgpu_texture t;
};

/* What the bytes of a texel's channel say, as 32 bits; k counts for sRGB. */
u32 texel_value(const struct vgpu_texture *t, const void *at, u32 k);
/* Of bytes that are read as 0 to 1: what each is. NULL: they are not. */
const float *texture_bytes(const struct vgpu_texture *t, u32 k);
/* The mode of a dimension, as it counts. */
u8 texture_mode(const struct vgpu_texture *t, u32 dim);
bool texture_fold(s64 i, u32 n, u8 mode, u32 *out);

/* Channel k of what the lanes of m read of this one texture, from coordinates at[]; false: it is for tex.c, and nothing was done. */
bool tex_row(const struct unit *u, const struct insn *in, const u32 *const *at, u32 m, u32 k, u32 *d);

#endif
