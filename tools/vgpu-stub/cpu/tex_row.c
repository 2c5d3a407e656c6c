/* SPDX-License-Identifier: MIT */
/*
 * A texture unit for all lanes of a warp that read one texture: what most programs do, of one to three dimensions and layers, without
 * levels. The numbers are tex.c's to the bit, which does one lane at a time and all else; tests/nvcc/programs/texture.cu sees both.
 *
 * Called by gen_tex. Lanes that are not in m are computed as well, at the place of the first that is: no other memory is touched.
 */
#include <string.h>

#include "tex.h"
#include "tex_unit.h"

#define WIDE 2u                         /* lanes at once, as every x86-64 has registers for */

typedef double dwide __attribute__((vector_size(8 * WIDE)));
typedef s64 swide __attribute__((vector_size(8 * WIDE)));

/* One dimension: the texels of each lane, the share of the second, and whether they are there (else: the border). */
struct axis {
	u32 low[LANES], high[LANES];
	double share[LANES];
	u32 no_low, no_high;
};

static dwide all(double v) { return (dwide){ v, v }; }
static dwide pick(swide which, dwide a, dwide b) { return (dwide)(((swide)a & which) | ((swide)b & ~which)); }
static dwide lesser(dwide a, dwide b) { return pick(a < b, a, b); }
static dwide greater(dwide a, dwide b) { return pick(a > b, a, b); }

/* The next lower whole number; v is far below 2^51. */
static dwide below(dwide v)
{
	dwide magic = all(0x1.8p52), r = (v + magic) - magic;

	return r - pick(r > v, all(1), all(0));
}

static u32 bits(swide which)
{
	u32 r = 0;

	for (u32 i = 0; i < WIDE; i++)
		r |= (u32)(which[i] & 1) << i;
	return r;
}

/* Coordinates of n texels: clamped, or told to lie outside. */
static void lay(const struct vgpu_texture *t, const float *x, u32 n, u8 mode, bool linear, struct axis *a)
{
	double scale = t->flags & VGPU_TEXTURE_NORMALIZED ? n : 1;

	a->no_low = a->no_high = 0;
	for (u32 l = 0; l < LANES; l += WIDE) {
		dwide v, low, high, last = all(n - 1.0);

		for (u32 i = 0; i < WIDE; i++)
			v[i] = x[l + i];
		v = pick(v == v, v, all(0));                    /* no number at all is 0 */
		v = lesser(greater(v, all(-1e9)), all(1e9)) * scale;
		if (linear)
			v -= 0.5;
		low = below(v);
		high = low + 1;
		if (linear) {
			dwide part = (((v - low) * 256 + 0x1p52) - 0x1p52) / 256;

			memcpy(&a->share[l], &part, sizeof part);
		}
		if (mode == VGPU_TEXTURE_WRAP || mode == VGPU_TEXTURE_MIRROR) {
			for (u32 i = 0; i < WIDE; i++) {
				texture_fold((s64)low[i], n, mode, &a->low[l + i]);
				texture_fold((s64)high[i], n, mode, &a->high[l + i]);
			}
			continue;
		}
		if (mode == VGPU_TEXTURE_BORDER) {
			a->no_low |= bits((low < all(0)) | (low > last)) << l;
			a->no_high |= bits((high < all(0)) | (high > last)) << l;
		}
		low = lesser(greater(low, all(0)), last);
		high = lesser(greater(high, all(0)), last);
		for (u32 i = 0; i < WIDE; i++) {
			a->low[l + i] = (u32)(s64)low[i];
			a->high[l + i] = (u32)(s64)high[i];
		}
	}
}

/* The same of integers, which are not filtered. */
static void lay_integers(const s32 *x, u32 n, u8 mode, struct axis *a)
{
	a->no_low = 0;
	for (u32 l = 0; l < LANES; l++) {
		bool there = texture_fold(x[l], n, mode, &a->low[l]);

		a->no_low |= (u32)!there << l;
		a->low[l] = there ? a->low[l] : 0;
	}
}

struct image {
	const struct vgpu_texture *t;
	const char *base;               /* of channel k */
	u32 step, k;                    /* from texel to texel */
};

static inline __attribute__((always_inline)) const char *place(const struct image *g, const u32 *x, const u32 *y, const u32 *z, u32 l)
{
	return g->base + (u64)z[l] * g->t->slice + (u64)y[l] * g->t->pitch + (u64)x[l] * g->step;
}

/* The numbers of the lanes' texels, as 32 bits each. */
static void read_texels(const struct image *g, const u32 *x, const u32 *y, const u32 *z, u32 *out)
{
	const float *table = texture_bytes(g->t, g->k);

	if (table) {
		for (u32 l = 0; l < LANES; l++)
			memcpy(&out[l], &table[*(const u8 *)place(g, x, y, z, l)], 4);
		return;
	}
	switch (g->t->format) {
	case VGPU_TEXEL_F32: case VGPU_TEXEL_U32: case VGPU_TEXEL_S32:
		for (u32 l = 0; l < LANES; l++)
			memcpy(&out[l], place(g, x, y, z, l), 4);
		return;
	}
	for (u32 l = 0; l < LANES; l++)
		out[l] = texel_value(g->t, place(g, x, y, z, l), g->k);
}

static inline __attribute__((always_inline)) void filter(const struct image *g, const struct axis *a, const u32 dims, const u32 *layer,
							 u32 *d, u32 m)
{
	static const u32 zero[LANES];
	double sum[LANES] = { 0 }, border = g->t->border[g->k];

	for (u32 corner = 0; corner < 1u << dims; corner++) {
		bool cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2;
		u32 c[LANES], none = cx ? a[0].no_high : a[0].no_low;

		if (dims > 1)
			none |= cy ? a[1].no_high : a[1].no_low;
		if (dims > 2)
			none |= cz ? a[2].no_high : a[2].no_low;
		read_texels(g, cx ? a[0].high : a[0].low, dims < 2 ? zero : cy ? a[1].high : a[1].low,
			    dims < 3 ? layer : cz ? a[2].high : a[2].low, c);
		for (u32 l = 0; l < LANES; l += WIDE) {
			dwide w, part, s, v;

			memcpy(&w, &a[0].share[l], sizeof w);
			w = cx ? w : 1 - w;
			for (u32 i = 1; i < dims; i++) {
				memcpy(&part, &a[i].share[l], sizeof part);
				w = w * ((i == 1 ? cy : cz) ? part : 1 - part);
			}
			for (u32 i = 0; i < WIDE; i++) {
				float f;

				memcpy(&f, &c[l + i], 4);
				v[i] = f;
			}
			for (u32 left = none >> l & ((1u << WIDE) - 1); left; left &= left - 1)
				v[__builtin_ctz(left)] = border;
			memcpy(&s, &sum[l], sizeof s);
			s = s + pick(w != all(0), w * v, all(0));       /* what has no share may be no number */
			memcpy(&sum[l], &s, sizeof s);
		}
	}
	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);
		float f = (float)sum[l];

		memcpy(&d[l], &f, 4);
		d[l] = f != f ? 0x7fffffff : d[l];
	}
}

static void nearest(const struct image *g, const struct axis *a, u32 dims, const u32 *layer, bool floats, u32 *d, u32 m)
{
	static const u32 zero[LANES];
	u32 c[LANES], none = a[0].no_low | (dims > 1 ? a[1].no_low : 0) | (dims > 2 ? a[2].no_low : 0), border;

	read_texels(g, a[0].low, dims > 1 ? a[1].low : zero, dims > 2 ? a[2].low : layer, c);
	if (floats)
		memcpy(&border, &g->t->border[g->k], 4);
	else
		border = (u32)(s32)g->t->border[g->k];
	if (g->t->flags & VGPU_TEXTURE_FETCH)
		border = 0;
	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);

		d[l] = none >> l & 1 ? border : c[l];
	}
}

bool tex_row(const struct unit *u, const struct insn *in, const u32 *const *given, u32 m, u32 k, u32 *d)
{
	const u32 *at[4] = { given[0], given[1], given[2], given[3] };
	u32 room[4][LANES];
	const struct vgpu_texture *t = &u->t;
	const u32 n[3] = { t->width, t->height ? t->height : 1, t->depth ? t->depth : 1 };
	bool layered = in->sub == GEOM_A1D || in->sub == GEOM_A2D, integers = in->stype != T_F32;
	u32 dims = in->sub == GEOM_1D || in->sub == GEOM_A1D ? 1 : in->sub == GEOM_3D ? 3 : 2, layer[LANES] = { 0 }, bytes, i;
	bool floats = t->format == VGPU_TEXEL_F16 || t->format == VGPU_TEXEL_F32 ||
		      ((t->flags & VGPU_TEXTURE_UNIT) && t->format != VGPU_TEXEL_U32 && t->format != VGPU_TEXEL_S32);
	bool linear = (t->flags & VGPU_TEXTURE_LINEAR) && floats && !integers;
	struct axis a[3];
	struct image g;

	if (!u->inside || t->levels || k >= t->channels || in->sub == GEOM_CUBE || in->sub == GEOM_ACUBE)
		return false;
	if ((t->flags & VGPU_TEXTURE_FETCH) && (!integers || dims > 1 || layered))
		return false;
	bytes = t->format == VGPU_TEXEL_U8 || t->format == VGPU_TEXEL_S8 ? 1 :
		t->format == VGPU_TEXEL_U32 || t->format == VGPU_TEXEL_S32 || t->format == VGPU_TEXEL_F32 ? 4 : 2;
	g = (struct image){ t, (const char *)(uintptr_t)t->base + k * bytes, t->channels * bytes, k };
	for (i = 0; ~m && i < dims + layered; i++) {
		for (u32 l = 0; l < LANES; l++)
			room[i][l] = at[i][m >> l & 1 ? l : (u32)__builtin_ctz(m)];
		at[i] = room[i];
	}
	if (layered)
		for (i = 0; i < LANES; i++)
			layer[i] = (s32)at[0][i] < 0 ? 0 : at[0][i] < t->layers ? at[0][i] : t->layers ? t->layers - 1 : 0;
	for (i = 0; i < dims; i++) {
		u8 mode = t->flags & VGPU_TEXTURE_FETCH ? VGPU_TEXTURE_BORDER : texture_mode(t, i);

		if (integers)
			lay_integers((const s32 *)at[layered + i], n[i], mode, &a[i]);
		else
			lay(t, (const float *)at[layered + i], n[i], mode, linear, &a[i]);
	}
	if (!linear)
		nearest(&g, a, dims, layer, floats, d, m);
	else if (dims == 1)
		filter(&g, a, 1, layer, d, m);
	else if (dims == 2)
		filter(&g, a, 2, layer, d, m);
	else
		filter(&g, a, 3, layer, d, m);
	return true;
}
