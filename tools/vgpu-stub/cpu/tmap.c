/* SPDX-License-Identifier: MIT */
/*
 * Copies between shared memory and a box of a tensor (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor; PTX ISA 5.5 and 9.7.9.27),
 * a row of the box at a time. Called by interp.c for the instructions of lower_tmap.c.
 *
 * A tensor map is memory that a program may write (fw-protocol/vgpu_tensormap.h): it is copied, its numbers are checked, and every row of
 * addresses that comes out of it is checked as those of loads and stores are.
 */
#include <string.h>

#include "../../../fw-protocol/vgpu_tensormap.h"
#include "gen.h"
#include "lanes.h"
#include "memcheck.h"
#include "tmap.h"
#include "verify.h"

_Static_assert(sizeof(struct vgpu_tensormap) == 128, "what CUtensorMap has");
#define ROW_BYTES 2048u         /* 256 elements of 8 bytes */

struct copy {
	struct tstate *ts;
	const struct insn *in;
	struct vgpu_tensormap t;
	u32 lane, bytes;                /* of an element */
	u32 row;                        /* bytes of a row in shared memory */
	u32 shared, at;                 /* where the box begins there, and its next row */
	u64 base;                       /* the block's shared memory: of another one of the cluster, perhaps */
	s64 c[5];                       /* coordinates */
	u32 off[3];                     /* im2col's */
	u8 dir;                         /* TMAP_LOAD … */
	u8 atom;                        /* ATOM_*, of TMAP_REDUCE */
};

static u32 element_bytes(u8 type)
{
	static const u8 bytes[VGPU_TENSOR_TYPES] = { 1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4 };

	return bytes[type];
}

/* as an H100 says of one */
_Noreturn static void bad_map(const struct copy *p, u64 addr) { fault_raise(VGPU_ST_ILLEGAL_INSTRUCTION, (int)p->lane, addr, "no tensor map"); }

static void open_map(struct copy *p, u64 addr, u32 rank, u8 mode)
{
	struct vgpu_tensormap *t = &p->t;
	u32 i;

	if (addr & 63)
		fault_raise(VGPU_ST_MISALIGNED, (int)p->lane, addr, "no tensor map");
	mem_read(p->ts, (int)p->lane, addr, t, sizeof(*t));
	if (t->rank + 1u != rank || t->mode != mode || t->type >= VGPU_TENSOR_TYPES || t->interleave || t->swizzle > VGPU_TENSOR_SWIZZLE_128 || t->atom || t->fill > 1)
		bad_map(p, addr);
	p->bytes = element_bytes(t->type);
	for (i = 0; i < rank; i++)
		if ((mode == VGPU_TENSOR_TILE && (!t->box[i] || t->box[i] > 256)) || ((i || mode) && (!t->step[i] || t->step[i] > 8)))
			bad_map(p, addr);
	if (mode == VGPU_TENSOR_IM2COL && (!t->channels || t->channels > 256 || !t->pixels || t->pixels > 1024))
		bad_map(p, addr);
	p->row = (mode ? t->channels : t->box[0]) * p->bytes;
	if ((p->dir == TMAP_REDUCE && !tmap_reduces(p->atom, t->type)) || p->row & 15 || (t->swizzle && p->row > 16u << t->swizzle))
		bad_map(p, addr);
}

/* Where byte `at` of the window lies once swizzled: three bits higher say by what 16-byte pieces change places. */
static u32 swizzled(const struct copy *p, u32 at) { return at ^ (at >> 3 & ((16u << p->t.swizzle) - 16) & 0x70); }

static u8 *shared_at(const struct copy *p, u32 at) { return (u8 *)(uintptr_t)(p->base + at); }

static void reach(const struct copy *p, u64 at, u64 bytes)
{
	const struct engine_env *e = &p->ts->e->env;

	if (at < e->span_base || at - e->span_base > e->span_bytes - bytes)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)p->lane, at, "tensor");
}

static u64 fill_bits(u8 type)
{
	switch (type) {
	case VGPU_TENSOR_F16: return 0x7fff;
	case VGPU_TENSOR_BF16: return 0x7fff;
	case VGPU_TENSOR_F32: case VGPU_TENSOR_F32_FTZ: case VGPU_TENSOR_TF32: case VGPU_TENSOR_TF32_FTZ: return 0x7fffffff;
	case VGPU_TENSOR_F64: return 0x7fffffffffffffffull;
	}
	return 0;
}

static void check_global(const struct copy *p, u64 at, u32 bytes, u8 kind)
{
	if (p->ts->e->mc)
		mc_bytes(p->ts, p->in, p->lane, SPACE_GLOBAL, at, bytes, kind);
}

/* The row in shared memory, piece by piece where it really lies. */
static void check_shared(const struct copy *p, u8 kind)
{
	u32 i;

	for (i = 0; p->ts->e->mc && i < p->row; i += 16)
		mc_bytes(p->ts, p->in, p->lane, SPACE_GENERIC, p->base + swizzled(p, p->at + i), 16, kind);
}

/* `n` elements from g on become, or come from, those of the row from element `first` on; others are outside. */
static void load_row(struct copy *p, u64 g, u32 first, u32 n)
{
	_Alignas(16) u8 row[ROW_BYTES];
	const u8 *from = (const u8 *)(uintptr_t)g;
	u32 i, bytes = n * p->bytes, whole = p->row / p->bytes;

	if (n) {
		reach(p, g, bytes);
		check_global(p, g, bytes, K_MC_LD);
	}
	if (n < whole) {
		u64 fill = p->t.fill ? fill_bits(p->t.type) : 0;

		for (i = 0; i < whole; i++)
			memcpy(row + i * p->bytes, &fill, p->bytes);
		memcpy(row + first * p->bytes, from, bytes);
		from = row;
	}
	check_shared(p, K_MC_ST);
	if (!p->t.swizzle)
		memcpy(shared_at(p, p->at), from, p->row);
	else
		for (i = 0; i < p->row; i += 16)
			memcpy(shared_at(p, swizzled(p, p->at + i)), from + i, 16);
	p->at += p->row;
}

static void store_row(struct copy *p, u64 g, u32 first, u32 n)
{
	_Alignas(16) u8 row[ROW_BYTES];
	u32 i, bytes = n * p->bytes;

	check_shared(p, K_MC_LD);
	for (i = 0; i < p->row; i += 16)
		memcpy(row + i, shared_at(p, swizzled(p, p->at + i)), 16);
	p->at += p->row;
	if (!n)
		return;
	reach(p, g, bytes);
	check_global(p, g, bytes, p->dir == TMAP_STORE ? K_MC_ST : K_MC_ATOM);
	vf_bytes(p->ts, p->in, p->lane, g, bytes);
	if (p->dir == TMAP_STORE)
		memcpy((void *)(uintptr_t)g, row + first * p->bytes, bytes);
	for (i = 0; p->dir == TMAP_REDUCE && i < n; i++)
		tmap_reduce(p->atom, p->t.type, g + i * p->bytes, row + (first + i) * p->bytes);
}

static void do_row(struct copy *p, u64 g, u32 first, u32 n)
{
	if (p->dir == TMAP_LOAD)
		load_row(p, g, first, n);
	else
		store_row(p, g, first, n);
}

static u64 dim_of(const struct vgpu_tensormap *t, u32 i) { return t->dim[i] ? t->dim[i] : 1ull << 32; }

/* Elements c on of dimension 0, `whole` of them: which are inside. */
static u32 inside(const struct copy *p, s64 c, u32 whole, u32 *first)
{
	s64 lo = c < 0 ? -c : 0, hi = (s64)dim_of(&p->t, 0) - c;

	hi = hi > whole ? whole : hi;
	*first = lo < hi ? (u32)lo : 0;
	return lo < hi ? (u32)(hi - lo) : 0;
}

/* The box must lie in the block's shared memory; how many bytes it has. */
static u32 room(const struct copy *p, u64 rows)
{
	u64 bytes = rows * p->row;
	u32 total = p->ts->w->cta->g->shared_total;

	/* shared memory is given out in units of 128 bytes, so swizzling stays in what a box touches */
	if (p->shared & 127)
		fault_raise(VGPU_ST_MISALIGNED, (int)p->lane, p->shared, "a tensor's box in shared memory");
	if (p->shared > total || bytes > total - p->shared)
		fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)p->lane, p->shared, "a tensor's box in shared memory");
	return (u32)bytes;
}

static u32 tile(struct copy *p, u32 rank)
{
	const struct vgpu_tensormap *t = &p->t;
	u32 n[5] = { 1, 1, 1, 1, 1 }, i[5] = { 0 }, k, bytes, first, some;
	u64 rows = 1;

	for (k = 1; k < rank; k++) {
		n[k] = (t->box[k] + t->step[k] - 1) / t->step[k];
		rows *= n[k];
	}
	bytes = room(p, rows);
	for (; rows; rows--) {
		bool out = false;
		u64 g = t->base;

		for (k = 1; k < rank; k++) {
			s64 at = p->c[k] + (s64)i[k] * t->step[k];

			out |= at < 0 || at >= (s64)dim_of(t, k);
			g += (u64)at * t->stride[k - 1];
		}
		some = out ? 0 : inside(p, p->c[0], t->box[0], &first);
		do_row(p, g + (u64)(p->c[0] + (some ? first : 0)) * p->bytes, some ? first : 0, some);
		for (k = 1; k < rank && ++i[k] == n[k]; k++)
			i[k] = 0;
	}
	return bytes;
}

/* Pixels of a box, along the tensor's width, height, depth, then images; those beside the tensor are outside. 5.5.4 */
static u32 im2col(struct copy *p, u32 rank)
{
	const struct vgpu_tensormap *t = &p->t;
	u32 space = rank - 2, k, n, bytes = room(p, t->pixels), first, some;
	s64 at[4];

	for (k = 0; k < space + 1; k++)
		at[k] = p->c[1 + k];
	for (n = 0; n < t->pixels; n++) {
		bool out = at[space] < 0 || at[space] >= (s64)dim_of(t, rank - 1);
		u64 g = t->base + (u64)at[space] * t->stride[rank - 2];

		for (k = 0; k < space; k++) {
			s64 x = at[k] + p->off[k];

			out |= x < 0 || x >= (s64)dim_of(t, k + 1);
			g += (u64)x * t->stride[k];
		}
		some = out ? 0 : inside(p, p->c[0], t->channels, &first);
		do_row(p, g + (u64)(p->c[0] + (some ? first : 0)) * p->bytes, some ? first : 0, some);
		for (k = 0; k < space; k++) {
			at[k] += t->step[k + 1];
			if (at[k] <= (s64)dim_of(t, k + 1) - 1 + t->upper[k])
				break;
			at[k] = t->lower[k];
		}
		if (k == space)
			at[space]++;
	}
	return bytes;
}

/*
 * o[0] = bytes of the box, o[1]: address of the map, o[2], o[3]: coordinates 0 and 1, 2 and 3, o[4]: 4, and in the upper half the place in
 * shared memory, o[5]: im2col's offsets, 16 bits each, and above them, if aw, which blocks of the cluster the box goes to. sub: TMAP_*, sub2: dimensions, size: the map's mode, imm: what is done of a reduction.
 */
static u32 box(struct copy *p, u32 rank)
{
	p->at = p->shared;
	return p->in->size == VGPU_TENSOR_TILE ? tile(p, rank) : im2col(p, rank);
}

void gen_tmap(struct tstate *ts, struct frame *f, const struct insn *in, u32 m)
{
	u32 *d = opnd(f, in->o[0]), k;

	for (; m; m &= m - 1) {
		struct copy p = { .ts = ts, .in = in, .lane = (u32)__builtin_ctz(m), .dir = in->sub, .atom = (u8)in->imm };
		u64 w[3], place;
		u32 blocks;

		for (k = 0; k < 3; k++)
			w[k] = ((const u64 *)opnd(f, in->o[2 + k]))[p.lane];
		p.c[0] = (s32)w[0];
		p.c[1] = (s32)(w[0] >> 32);
		p.c[2] = (s32)w[1];
		p.c[3] = (s32)(w[1] >> 32);
		p.c[4] = (s32)w[2];
		place = (u32)(w[2] >> 32);
		p.shared = place & ((1u << FAR_RANK) - 1);
		if (in->use & 32)
			for (k = 0; k < 3; k++)
				p.off[k] = (u16)(((const u64 *)opnd(f, in->o[5]))[p.lane] >> 16 * k);
		open_map(&p, ((const u64 *)opnd(f, in->o[1]))[p.lane], in->sub2, in->size);
		if (!in->aw) {
			p.base = cluster_place(ts->w->cta, place, 0) - p.shared;
			if (p.base == 0 - (u64)p.shared)
				fault_raise(VGPU_ST_ILLEGAL_ADDRESS, (int)p.lane, place, "a tensor's box in shared memory");
			d[p.lane] = box(&p, in->sub2);
			continue;
		}
		blocks = cluster_mask(ts, p.lane, ((const u64 *)opnd(f, in->o[5]))[p.lane] >> 48);
		for (d[p.lane] = 0; blocks; blocks &= blocks - 1) {
			p.base = cluster_other(ts, p.lane, (u32)__builtin_ctz(blocks), 0, 0);
			d[p.lane] = box(&p, in->sub2);
		}
	}
}
