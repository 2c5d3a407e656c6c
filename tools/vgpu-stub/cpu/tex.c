/* SPDX-License-Identifier: MIT */
/*
 * Textures and surfaces: what a texture unit does, a lane at a time. Semantics: CUDA C++ Programming Guide, "Texture Fetching" and "Surface
 * Functions"; PTX ISA 9.7.10, 9.7.11. Weights of linear filtering have 8 bits of fraction, as the guide says of the hardware.
 *
 * Called by interp.c for the instructions of lower_tex.c. What an object's handle names is a descriptor in the program's own memory
 * (fw-protocol/vgpu_texture.h): it is copied, then believed as far as addresses go that lie in the span.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "gen.h"
#include "memcheck.h"
#include "tex.h"
#include "tex_unit.h"
#include "verify.h"


static void reach(const struct unit *u, u64 at, u64 bytes, const char *what)
{
	const struct engine_env *e = &u->ts->e->env;

	if (at < e->span_base || at - e->span_base > e->span_bytes - bytes)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)u->lane, at, what);
}

static u32 format_bytes(u8 f)
{
	switch (f) {
	case VGPU_TEXEL_U8: case VGPU_TEXEL_S8: return 1;
	case VGPU_TEXEL_U16: case VGPU_TEXEL_S16: case VGPU_TEXEL_F16: return 2;
	case VGPU_TEXEL_U32: case VGPU_TEXEL_S32: case VGPU_TEXEL_F32: return 4;
	}
	return 0;
}

static u32 at_least(u32 n) { return n ? n : 1; }

/* Does every texel lie in the span? In bytes of which none overflows: dimensions have 32 bits, the distances are looked at first. */
static bool lies_inside(const struct unit *u)
{
	const struct engine_env *e = &u->ts->e->env;
	const struct vgpu_texture *t = &u->t;
	u64 high = t->layers > t->depth ? t->layers : at_least(t->depth), most;

	if (t->pitch >= 1ull << 30 || t->slice >= 1ull << 30)
		return false;
	most = (u64)t->width * t->channels * format_bytes(t->format) + (u64)(at_least(t->height) - 1) * t->pitch;
	most += (high - 1) * t->slice;
	return t->base >= e->span_base && most <= e->span_bytes && t->base - e->span_base <= e->span_bytes - most;
}

/* Lanes mostly have the same handle: read once for them. */
static void open_unit(struct unit *u, struct tstate *ts, u32 lane, u64 handle, u64 *last)
{
	u->ts = ts;
	u->lane = lane;
	if (handle == *last)
		return;
	*last = ~0ull;
	if (handle & 63)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)lane, handle, "no texture or surface object");
	reach(u, handle, sizeof(u->t), "no texture or surface object");
	memcpy(&u->t, (const void *)(uintptr_t)handle, sizeof(u->t));
	if (u->t.magic == VGPU_TEXTURE_MAGIC)
		memset(&u->t.lod_bias, 0, sizeof(u->t) - offsetof(struct vgpu_texture, lod_bias));
	if ((u->t.magic != VGPU_TEXTURE_MAGIC && u->t.magic != VGPU_TEXTURE_MAGIC_2) || !format_bytes(u->t.format) || !u->t.channels || u->t.channels > 4 || !u->t.width)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)lane, handle, "no texture or surface object");
	u->inside = lies_inside(u);
	*last = handle;
}

/* ---- texels ------------------------------------------------------------------------------------------ */

static float half_float(u16 h)
{
	u32 e = h >> 10 & 31, m = h & 0x3ff, s = (u32)(h & 0x8000) << 16, r;
	float f;

	if (!e) {
		f = (float)m * 0x1p-24f;
		return s ? -f : f;
	}
	r = s | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13;
	memcpy(&f, &r, 4);
	return f;
}

static u32 bits_of(float f)
{
	u32 r;

	memcpy(&r, &f, 4);
	return r;
}

static float float_of(u32 r)
{
	float f;

	memcpy(&f, &r, 4);
	return f;
}

/* Is what is read a float? Then its bits are; else an integer, extended to 32 bits. */
static bool reads_float(const struct vgpu_texture *t)
{
	return t->format == VGPU_TEXEL_F16 || t->format == VGPU_TEXEL_F32 || ((t->flags & VGPU_TEXTURE_UNIT) && format_bytes(t->format) < 4);
}

/* Bytes as 0 to 1, and by IEC 61966-2-1; filled before the first kernel runs */
static float unit_of[256], linear_of[256];

void tex_init(void)
{
	for (u32 i = 0; i < 256; i++) {
		double c = i / 255.0;

		unit_of[i] = (float)i / 255;
		linear_of[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
}

const float *texture_bytes(const struct vgpu_texture *t, u32 k)
{
	if (t->format != VGPU_TEXEL_U8 || !(t->flags & VGPU_TEXTURE_UNIT))
		return NULL;
	return k < 3 && (t->flags & VGPU_TEXTURE_SRGB) ? linear_of : unit_of;
}

u32 texel_value(const struct vgpu_texture *t, const void *at, u32 k)
{
	bool unit = t->flags & VGPU_TEXTURE_UNIT;
	u32 v = 0;

	memcpy(&v, at, format_bytes(t->format));
	switch (t->format) {
	case VGPU_TEXEL_U8: return unit ? bits_of(texture_bytes(t, k)[v]) : v;
	case VGPU_TEXEL_U16: return unit ? bits_of((float)v / 65535) : v;
	case VGPU_TEXEL_S8: return unit ? bits_of(fmaxf((float)(s8)v / 127, -1)) : (u32)(s8)v;
	case VGPU_TEXEL_S16: return unit ? bits_of(fmaxf((float)(s16)v / 32767, -1)) : (u32)(s16)v;
	case VGPU_TEXEL_F16: return bits_of(half_float((u16)v));
	default: return v;
	}
}

static u32 texel(const struct unit *u, u32 x, u32 y, u32 z, u32 k)
{
	const struct vgpu_texture *t = &u->t;
	u32 size = format_bytes(t->format);
	u64 at;

	if (k >= t->channels)           /* what a format has not: black, and opaque */
		return k < 3 ? 0 : reads_float(t) ? 0x3f800000u : 1;
	at = t->base + (u64)z * t->slice + (u64)y * t->pitch + ((u64)x * t->channels + k) * size;
	if (!u->inside)
		reach(u, at, size, "texture");
	return texel_value(t, (const void *)(uintptr_t)at, k);
}

/* Texel number i of n along a dimension, wherever the mode says that lies; false: the border. */
bool texture_fold(s64 i, u32 n, u8 mode, u32 *out)
{
	if (i >= 0 && i < n) {
		*out = (u32)i;
		return true;
	}
	if (mode == VGPU_TEXTURE_BORDER)
		return false;
	if (mode == VGPU_TEXTURE_WRAP) {
		i %= n;
		*out = (u32)(i < 0 ? i + n : i);
	} else if (mode == VGPU_TEXTURE_MIRROR) {
		i %= 2 * (s64)n;
		i += i < 0 ? 2 * (s64)n : 0;
		*out = (u32)(i < n ? i : 2 * (s64)n - 1 - i);
	} else {
		*out = i < 0 ? 0 : n - 1;
	}
	return true;
}

u8 texture_mode(const struct vgpu_texture *t, u32 dim)
{
	u8 m = t->mode[dim];

	/* turns and mirrors are of coordinates from 0 to 1 */
	return !(t->flags & VGPU_TEXTURE_NORMALIZED) && (m == VGPU_TEXTURE_WRAP || m == VGPU_TEXTURE_MIRROR) ? VGPU_TEXTURE_CLAMP : m;
}

static u32 texel_folded(const struct unit *u, const s64 *i, u32 dims, u32 layer, u32 k)
{
	const u32 n[3] = { u->t.width, at_least(u->t.height), at_least(u->t.depth) };
	u32 at[3] = { 0, 0, 0 }, d;

	for (d = 0; d < dims; d++)
		if (!texture_fold(i[d], n[d], texture_mode(&u->t, d), &at[d]))
			return reads_float(&u->t) ? bits_of(u->t.border[k]) : (u32)(s32)u->t.border[k];
	return texel(u, at[0], at[1], dims == 3 ? at[2] : layer, k);
}

/* A coordinate in texels; one of no number at all is 0. */
static double in_texels(const struct vgpu_texture *t, float x, u32 n)
{
	double v = x;

	if (!(v > -1e9 && v < 1e9))
		v = v > 0 ? 1e9 : v < 0 ? -1e9 : 0;
	return t->flags & VGPU_TEXTURE_NORMALIZED ? v * n : v;
}

static u32 sample(const struct unit *u, const float *x, u32 dims, u32 layer, u32 k)
{
	const u32 n[3] = { u->t.width, at_least(u->t.height), at_least(u->t.depth) };
	bool linear = (u->t.flags & VGPU_TEXTURE_LINEAR) && reads_float(&u->t), there[3][2];
	u32 at[3][2] = { { 0, 0 }, { 0, 0 }, { layer, 0 } }, d, corner;
	double w[3][2], sum = 0;

	if (!linear) {
		s64 i[3];

		for (d = 0; d < dims; d++)
			i[d] = (s64)floor(in_texels(&u->t, x[d], n[d]));
		return texel_folded(u, i, dims, layer, k);
	}
	for (d = 0; d < dims; d++) {
		double v = in_texels(&u->t, x[d], n[d]) - 0.5, low = floor(v);
		u8 mode = texture_mode(&u->t, d);

		w[d][1] = rint((v - low) * 256) / 256;
		w[d][0] = 1 - w[d][1];
		there[d][0] = texture_fold((s64)low, n[d], mode, &at[d][0]);
		there[d][1] = texture_fold((s64)low + 1, n[d], mode, &at[d][1]);
	}
	for (corner = 0; corner < 1u << dims; corner++) {
		u32 cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2;
		double share = w[0][cx] * (dims > 1 ? w[1][cy] : 1) * (dims > 2 ? w[2][cz] : 1);
		bool inside = there[0][cx] && (dims < 2 || there[1][cy]) && (dims < 3 || there[2][cz]);

		if (share != 0)
			sum += share * (inside ? float_of(texel(u, at[0][cx], at[1][cy], at[2][cz], k)) : u->t.border[k]);
	}
	return sum != sum ? 0x7fffffff : bits_of((float)sum);
}

/* The face of a cube that a direction meets, and where: the guide's table "Cubemap Textures". */
static u32 face(float x, float y, float z, float *st)
{
	float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), m, s, t;
	u32 f;

	if (ax >= ay && ax >= az) {
		f = x < 0;
		m = ax, s = x < 0 ? z : -z, t = -y;
	} else if (ay >= az) {
		f = 2 + (y < 0);
		m = ay, s = x, t = y < 0 ? -z : z;
	} else {
		f = 4 + (z < 0);
		m = az, s = z < 0 ? -x : x, t = -y;
	}
	st[0] = m > 0 ? (s / m + 1) / 2 : 0;
	st[1] = m > 0 ? (t / m + 1) / 2 : 0;
	return f;
}

static u32 layer_of(const struct vgpu_texture *t, u32 layer)
{
	u32 n = at_least(t->layers);

	return (s32)layer < 0 ? 0 : layer >= n ? n - 1 : layer;
}

/* Of one level. o: x, y, z … as they stand in the text. */
static u32 fetch_level(const struct unit *u, const struct insn *in, const u32 *o, u32 k)
{
	float x[4], st[2];
	u32 layer = 0, first = 0, dims, d, cube;

	switch (in->sub) {
	case GEOM_A1D:
	case GEOM_A2D:
	case GEOM_ACUBE:
		layer = o[0];
		first = 1;
	}
	for (d = 0; d < 4; d++)
		x[d] = in->stype == T_F32 ? float_of(o[d]) : (float)(s32)o[d];
	dims = in->sub == GEOM_1D || in->sub == GEOM_A1D ? 1 : in->sub == GEOM_3D ? 3 : 2;
	if (in->sub == GEOM_CUBE || in->sub == GEOM_ACUBE) {
		cube = face(x[first], x[first + 1], x[first + 2], st);
		return sample(u, st, 2, layer_of(&u->t, 6 * layer + cube), k);
	}
	if (in->stype != T_F32) {
		s64 i[3] = { (s32)o[first], (s32)o[first + 1], (s32)o[first + 2] };

		if (u->t.flags & VGPU_TEXTURE_FETCH)
			return i[0] >= 0 && i[0] < u->t.width ? texel(u, (u32)i[0], 0, 0, k) :
			       k == 3 && u->t.channels < 4 ? texel(u, 0, 0, 0, k) : 0;
		return texel_folded(u, i, dims, layer_of(&u->t, layer), k);
	}
	return sample(u, x + first, dims, layer_of(&u->t, layer), k);
}

/* ---- levels of detail ---------------------------------------------------------------------------------- */

static struct unit at_level(const struct unit *u, u32 level)
{
	const struct vgpu_texture *t = &u->t;
	struct vgpu_level v = vgpu_texture_level(t->width, t->height, t->depth, t->all_layers, t->channels * format_bytes(t->format),
						 t->first_level + level);
	struct unit l = *u;

	l.inside = false;
	l.t.width = v.width;
	l.t.height = v.height;
	l.t.depth = v.depth;
	l.t.pitch = v.pitch;
	l.t.slice = v.slice;
	l.t.base = t->base + v.offset + (u64)t->first_layer * v.slice;
	return l;
}

static u32 fetch(const struct unit *u, const struct insn *in, const u32 *o, const u32 *lod, u32 k)
{
	const struct vgpu_texture *t = &u->t;
	struct unit l;
	double v = 0, low, part;
	float a, b;

	if (!t->levels)
		return fetch_level(u, in, o, k);
	if (lod)
		v = in->stype == T_F32 ? (double)float_of(*lod) + t->lod_bias : (double)(s32)*lod;
	v = v < t->lod_max ? v : t->lod_max;
	v = v > t->lod_min ? v : t->lod_min;
	v = v < t->levels - 1 ? v : t->levels - 1;
	v = v > 0 ? v : 0;
	low = floor(v);
	part = rint((v - low) * 256) / 256;
	if (in->stype != T_F32 || !(t->flags & VGPU_TEXTURE_MIP_LINEAR) || !reads_float(t) || part == 0 || part == 1) {
		l = at_level(u, (u32)floor(in->stype == T_F32 && (t->flags & VGPU_TEXTURE_MIP_LINEAR) && reads_float(t) ? low + part : v + 0.5));
		return fetch_level(&l, in, o, k);
	}
	l = at_level(u, (u32)low);
	a = float_of(fetch_level(&l, in, o, k));
	l = at_level(u, (u32)low + 1);
	b = float_of(fetch_level(&l, in, o, k));
	return bits_of((float)((1 - part) * a + part * b));
}

/* How many texels of the first level a gradient goes. */
void gen_tex_span(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *h = opnd(f, in->o[1]);
	u32 *d = opnd(f, in->o[0]), i;
	u64 last = ~0ull;
	struct unit u, l;

	for (; m; m &= m - 1) {
		u32 lane = (u32)__builtin_ctz(m), n[3];
		double sum = 0;

		open_unit(&u, ts, lane, h[lane], &last);
		l = u.t.levels ? at_level(&u, 0) : u;
		n[0] = l.t.width;
		n[1] = at_least(l.t.height);
		n[2] = at_least(l.t.depth);
		for (i = 0; i < 3; i++)
			if (in->use >> (2 + i) & 1) {
				double g = (double)float_of(((const u32 *)opnd(f, in->o[2 + i]))[lane]) * (u.t.flags & VGPU_TEXTURE_NORMALIZED ? n[i] : 1);

				sum += g * g;
			}
		d[lane] = bits_of((float)sqrt(sum));
	}
}

/* The level of detail of two gradients, by the longer one: what filters the same in all directions takes. */
void gen_tex_lod(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u32 *a = opnd(f, in->o[2]), *b = opnd(f, in->o[3]);
	u32 *d = opnd(f, in->o[0]);

	(void)ts;
	for (; m; m &= m - 1) {
		u32 lane = (u32)__builtin_ctz(m);
		float most = fmaxf(float_of(a[lane]), float_of(b[lane]));

		d[lane] = bits_of(most > 0 ? log2f(most) : -1000);
	}
}

/* tld4: one channel of the four texels that filtering would take, from the lower left counterclockwise. */
static u32 gather(const struct unit *u, const float *x, u32 which, u32 k)
{
	static const u8 dx[4] = { 0, 1, 1, 0 }, dy[4] = { 1, 1, 0, 0 };
	s64 i[2];

	i[0] = (s64)floor(in_texels(&u->t, x[0], u->t.width) - 0.5) + dx[which];
	i[1] = (s64)floor(in_texels(&u->t, x[1], at_least(u->t.height)) - 0.5) + dy[which];
	return texel_folded(u, i, 2, 0, k);
}

void gen_tex(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	static const u32 none[LANES];
	const u64 *h = opnd(f, in->o[1]);
	const u32 *at[4];
	u32 *d = opnd(f, in->o[0]), o[4], i;
	u64 last = ~0ull;
	struct unit u;

	for (i = 0; i < 4; i++)
		at[i] = in->use >> (2 + i) & 1 ? opnd(f, in->o[2 + i]) : none;
	if (m && !in->imm) {
		u32 first = (u32)__builtin_ctz(m);

		for (i = m; i && h[__builtin_ctz(i)] == h[first];)
			i &= i - 1;
		if (!i) {
			open_unit(&u, ts, first, h[first], &last);
			if (tex_row(&u, in, at, m, in->sub2, d))
				return;
		}
	}
	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);

		open_unit(&u, ts, l, h[l], &last);
		for (i = 0; i < 4; i++)
			o[i] = at[i][l];
		if (in->imm) {
			float x[2] = { float_of(o[0]), float_of(o[1]) };

			struct unit first = u.t.levels ? at_level(&u, 0) : u;

			d[l] = gather(&first, x, in->sub2, (u32)in->imm - 1);
		} else {
			d[l] = fetch(&u, in, o, in->size ? &at[in->size - 2][l] : NULL, in->sub2);
		}
	}
}

/* ---- surfaces: by bytes ---------------------------------------------------------------------------------- */

/* Where element sub2 lies; 0: nowhere, what is read there is 0 and what is written is lost. */
static u64 surface_at(struct unit *u, const struct insn *in, const u32 *o, u32 bytes)
{
	const struct vgpu_texture *t = &u->t;
	u32 texel = t->channels * format_bytes(t->format), i;
	s64 n[3] = { (s64)t->width * texel, at_least(t->height), at_least(t->layers ? t->layers : t->depth) }, p[3] = { 0, 0, 0 };
	u64 at;

	switch (in->sub) {
	case GEOM_A1D: p[2] = (s32)o[0]; p[0] = (s32)o[1]; break;
	case GEOM_A2D: p[2] = (s32)o[0]; p[0] = (s32)o[1]; p[1] = (s32)o[2]; break;
	default:
		p[0] = (s32)o[0];
		p[1] = in->sub >= GEOM_2D ? (s32)o[1] : 0;
		p[2] = in->sub == GEOM_3D ? (s32)o[2] : 0;
	}
	for (i = 0; i < 3; i++) {
		s64 end = i ? n[i] : n[i] - (s64)bytes * (in->vec ? in->vec : 1) + 1;

		if (p[i] >= 0 && p[i] < end)
			continue;
		if (in->imm == EDGE_TRAP)
			fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)u->lane, t->base, "a place outside of the surface");
		if (in->imm == EDGE_ZERO || end <= 0)
			return 0;
		p[i] = p[i] < 0 ? 0 : end - 1;
	}
	at = t->base + (u64)p[2] * t->slice + (u64)p[1] * t->pitch + (u64)p[0] + (u64)in->sub2 * bytes;
	if (at & (bytes - 1))
		fault_raise(VGPU_ST_MISALIGNED, (int)u->lane, at, "a place in a surface that is no multiple of the size");
	reach(u, at, bytes, "surface");
	return at;
}

static u64 place(struct unit *u, struct tstate *ts, struct frame *f, const struct insn *in, u32 l, u64 *last)
{
	u32 o[3] = { 0, 0, 0 }, i;

	open_unit(u, ts, l, ((const u64 *)opnd(f, in->o[1]))[l], last);
	for (i = 0; i < 3; i++)
		if (in->use >> (2 + i) & 1)
			o[i] = ((const u32 *)opnd(f, in->o[2 + i]))[l];
	return surface_at(u, in, o, type_bytes(in->type));
}

void gen_suld(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 bytes = type_bytes(in->type);
	void *d = opnd(f, in->o[0]);
	u64 last = ~0ull;
	struct unit u;

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);
		u64 at = place(&u, ts, f, in, l, &last), v = 0;

		if (at)
			memcpy(&v, (const void *)(uintptr_t)at, bytes);
		if (bytes > 4)
			((u64 *)d)[l] = v;
		else
			((u32 *)d)[l] = (u32)v;
	}
}

void gen_sust(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 bytes = type_bytes(in->type);
	const void *s = opnd(f, in->o[5]);
	u64 last = ~0ull;
	struct unit u;

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);
		u64 at = place(&u, ts, f, in, l, &last), v = bytes > 4 ? ((const u64 *)s)[l] : ((const u32 *)s)[l];

		if (!at)
			continue;
		vf_bytes(ts, in, l, at, bytes);
		memcpy((void *)(uintptr_t)at, &v, bytes);
		if (ts->e->mc)
			mc_wrote(ts->e, at, bytes);
	}
}

void gen_txq(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	const u64 *h = opnd(f, in->o[1]);
	u32 *d = opnd(f, in->o[0]);
	u64 last = ~0ull;
	struct unit u;

	for (; m; m &= m - 1) {
		u32 l = (u32)__builtin_ctz(m);
		struct unit first;

		open_unit(&u, ts, l, h[l], &last);
		first = u.t.levels ? at_level(&u, 0) : u;
		d[l] = in->imm == TXQ_WIDTH ? first.t.width : in->imm == TXQ_HEIGHT ? first.t.height : in->imm == TXQ_DEPTH ? first.t.depth :
		       in->imm == TXQ_LAYERS ? u.t.layers : u.t.levels ? u.t.levels : 1;
	}
}
