/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: copies by tensor maps (PTX ISA 9.7.9.27), done at once by one instruction (tmap.c), after which an mbarrier learns of the
 * bytes; tensormap.replace and .cp_fenceproxy (9.7.9.28, 9.7.13.17). Called by lower_async.c and lower.c.
 */
#include <stddef.h>
#include <string.h>

#include "../../../fw-protocol/vgpu_tensormap.h"
#include "front.h"
#include "gen.h"
#include "tmap.h"

static u32 number(struct comp *c, struct stmt *st, const struct operand *o, u32 bytes)
{
	if (o->kind == O_REG ? o->type == T_PRED || type_is_float(o->type) || type_bytes(o->type) != bytes : o->kind != O_INT)
		FAIL_AT(c, st, "%s: a register of %u bits or a number expected", st->od->name, 8 * bytes);
	return src(c, st, o, bytes == 8 ? T_B64 : bytes == 4 ? T_B32 : T_B16);
}

static u32 pack(struct comp *c, struct stmt *st, u32 low, u32 high)
{
	u32 r = new_reg(c, T_B64);

	emit_lane(c, st, LOP_PACK, T_U64, 1, r, low, high, OPND_NONE);
	return r;
}

/* Where an address operand points, in 32 bits of its space, or in 64. */
static u32 address(struct comp *c, struct stmt *st, const struct operand *o, u8 space, bool wide)
{
	struct stmt half = *st;
	struct insn at;

	if (o->kind != O_ADDR)
		FAIL_AT(c, st, "%s: an address expected", st->od->name);
	memset(&at, 0, sizeof(at));
	half.mod[MC_SPACE] = space;
	lower_address(c, &half, o, &at);
	return sum_of(c, st, &at, wide);
}

void lower_tmap(struct comp *c, struct stmt *st)
{
	u32 rank = st->mod[MC_TENSOR], mode = st->mod[MC_TMODE], how = st->mod[MC_BULK], n = 0, i, k, zero = konst(c, 0, 0), coord[5], shared, off = OPND_NONE, blocks = OPND_NONE,
	    m, w[3], bytes;
	bool load = how == BULK_TX, col = mode == TMODE_IM2COL || mode == TMODE_NO_OFFS, reduce = st->mod[MC_PO] == 2;
	const struct operand *map, *place;
	struct insn *in;

	if (!rank || rank > 5 || st->mod[MC_CP] != CP_ASYNC || mode == TMODE_B1024)
		FAIL_AT(c, st, "cp.async.bulk.tensor: .1d to .5d is missing");
	if (how == BULK_PREFETCH)
		return;
	if ((col && rank < 3) || (mode == TMODE_IM2COL && !load) || (mode == TMODE_NO_OFFS && load) || (reduce ? !st->mod[MC_ATOM] || load : st->mod[MC_ATOM] || st->mod[MC_PO]) ||
	    st->ntype)
		UNSUPPORTED(c, st, "cp.async.bulk.tensor: this mode or operation is not supported");
	if (load ? st->mod[MC_FROM] != SPACE_SHARED || st->mod[MC_SPACE] != SPACE_GLOBAL : how != BULK_GROUP || st->mod[MC_FROM] != SPACE_GLOBAL || st->mod[MC_SPACE] != SPACE_SHARED)
		UNSUPPORTED(c, st, "cp.async.bulk.tensor between these state spaces is not supported");
	n = load ? 3 : 2;
	if (st->nops < n)
		FAIL_AT(c, st, "cp.async.bulk.tensor: %u operands are too few", st->nops);
	map = &st->op[load ? 1 : 0];
	place = &st->op[load ? 0 : 1];
	if (map->kind != O_ADDR || map->n != rank || (map->second == O_REG && map->imm))
		FAIL_AT(c, st, "cp.async.bulk.tensor: [tensor map, {coordinates}] expected, of %u dimensions", rank);
	for (i = 0; i < 5; i++)
		coord[i] = i < rank ? number(c, st, &map->elem[i], 4) : zero;
	if (mode == TMODE_IM2COL) {
		const struct operand *o = n < st->nops ? &st->op[n++] : NULL;
		u32 two = new_reg(c, T_B32), part[3] = { zero, zero, zero };

		if (!o || o->kind != O_VEC || o->n != rank - 2)
			FAIL_AT(c, st, "cp.async.bulk.tensor.im2col: %u offsets expected", rank - 2);
		for (k = 0; k < rank - 2; k++) {
			part[k] = new_reg(c, T_B32);
			emit_lane(c, st, LOP_AND, T_U32, 0, part[k], number(c, st, &o->elem[k], 2), konst(c, 0xffff, 0), OPND_NONE);
		}
		emit_lane(c, st, LOP_SHL, T_U32, 0, two, part[1], konst(c, 16, 0), OPND_NONE);
		emit_lane(c, st, LOP_OR, T_U32, 0, two, two, part[0], OPND_NONE);
		off = pack(c, st, two, part[2]);
	}
	if (st->mod[MC_TO]) {
		u32 high = new_reg(c, T_B64), wide = new_reg(c, T_B64);

		if (!load || n == st->nops)
			FAIL_AT(c, st, "cp.async.bulk.tensor.multicast::cluster takes a mask of blocks");
		blocks = blocks_of(c, st, n++);
		emit_lane(c, st, LOP_CVT_SEXT, T_U64, 1, wide, blocks, OPND_NONE, OPND_NONE);
		emit_lane(c, st, LOP_SHL, T_U64, 1, high, wide, konst(c, 48, 0), OPND_NONE);
		if (off != OPND_NONE)
			emit_lane(c, st, LOP_OR, T_U64, 1, high, high, off, OPND_NONE);
		off = high;
	}
	if (n != st->nops)
		FAIL_AT(c, st, "cp.async.bulk.tensor: %u operands are too many", st->nops);
	shared = address(c, st, place, SPACE_SHARED, false);
	m = address(c, st, map, SPACE_GENERIC, true);
	w[0] = pack(c, st, coord[0], coord[1]);
	w[1] = pack(c, st, coord[2], coord[3]);
	w[2] = pack(c, st, coord[4], shared);
	in = emit(c, K_GEN);
	bytes = in->o[0] = new_reg(c, T_B32);
	in->o[1] = m;
	memcpy(&in->o[2], w, sizeof(w));
	in->o[5] = off;
	in->u.gen = gen_tmap;
	in->lop = OPID_CP;
	in->def = 1;
	in->use = off == OPND_NONE ? 30 : 62;
	in->sub = load ? TMAP_LOAD : reduce ? TMAP_REDUCE : TMAP_STORE;
	in->sub2 = (u8)rank;
	in->size = col ? VGPU_TENSOR_IM2COL : VGPU_TENSOR_TILE;
	in->imm = st->mod[MC_ATOM];
	in->aw = blocks != OPND_NONE;
	in->mxcsr = 0x1f80;
	if (blocks != OPND_NONE)
		tell_blocks(c, st, 2, bytes, blocks);
	else if (load)
		tell_mbarrier(c, st, 2, bytes);
}

/* ---- changes of a map ---------------------------------------------------------------------------- */

/* n: of how many dimensions; most: the greatest number, where it is one that stands in the text */
static const struct { u16 off; u8 bytes, n, most; } fields[] = {
	[TENSOR_OF_BASE] = { offsetof(struct vgpu_tensormap, base), 8, 0, 0 }, [TENSOR_OF_RANK] = { offsetof(struct vgpu_tensormap, rank), 1, 0, 0 },
	[TENSOR_OF_BOX] = { offsetof(struct vgpu_tensormap, box), 4, 5, 0 }, [TENSOR_OF_DIM] = { offsetof(struct vgpu_tensormap, dim), 4, 5, 0 },
	[TENSOR_OF_STRIDE] = { offsetof(struct vgpu_tensormap, stride), 8, 4, 0 }, [TENSOR_OF_STEP] = { offsetof(struct vgpu_tensormap, step), 4, 5, 0 },
	[TENSOR_OF_TYPE] = { offsetof(struct vgpu_tensormap, type), 1, 0, 12 }, [TENSOR_OF_INTERLEAVE] = { offsetof(struct vgpu_tensormap, interleave), 1, 0, 2 },
	[TENSOR_OF_SWIZZLE] = { offsetof(struct vgpu_tensormap, swizzle), 1, 0, 4 }, [TENSOR_OF_ATOM] = { offsetof(struct vgpu_tensormap, atom), 1, 0, 3 },
	[TENSOR_OF_FILL] = { offsetof(struct vgpu_tensormap, fill), 1, 0, 1 },
};

static struct insn *move(struct comp *c, u8 kind, const struct insn *at, u32 off, u32 bytes, u32 r, u32 r2)
{
	struct insn *in = emit(c, kind);

	in->o[0] = r;
	in->o[1] = r2;
	in->o[4] = at->o[4];
	in->space = at->space;
	in->aw = at->aw;
	in->imm = at->imm + off;
	in->vec = r2 == OPND_NONE ? 1 : 2;
	in->size = (u8)bytes;
	in->dw = bytes == 8;
	in->type = bytes == 8 ? T_B64 : bytes == 4 ? T_B32 : T_B8;
	in->def = kind == K_LD ? (r2 == OPND_NONE ? 1 : 3) : 0;
	in->use = kind == K_LD ? 16 : r2 == OPND_NONE ? 17 : 19;
	return in;
}

/* .cp_fenceproxy: 128 bytes from shared memory, by every lane of the warp */
static void copy_map(struct comp *c, struct stmt *st)
{
	struct insn to, from;
	struct stmt half = *st;
	u32 i, r[2];

	if (!st->mod[MC_SYNC] || !st->mod[MC_ALIGNED] || st->mod[MC_FROM] != SPACE_GLOBAL || st->mod[MC_SPACE] != SPACE_SHARED || st->nops != 3 ||
	    st->op[0].kind != O_ADDR || st->op[1].kind != O_ADDR || st->op[2].kind != O_INT || st->op[2].imm != 128)
		FAIL_AT(c, st, "tensormap.cp_fenceproxy: addresses in .global and .shared::cta, and 128, expected");
	tensor_together(c, st);
	memset(&to, 0, sizeof(to));
	memset(&from, 0, sizeof(from));
	half.mod[MC_SPACE] = SPACE_GLOBAL;
	lower_address(c, &half, &st->op[0], &to);
	half.mod[MC_SPACE] = SPACE_SHARED;
	lower_address(c, &half, &st->op[1], &from);
	for (i = 0; i < 128; i += 16) {
		r[0] = new_reg(c, T_B64);
		r[1] = new_reg(c, T_B64);
		move(c, K_LD, &from, i, 8, r[0], r[1]);
		move(c, K_ST, &to, i, 8, r[0], r[1]);
	}
	emit(c, K_MEMBAR);
}

void lower_tensormap(struct comp *c, struct stmt *st)
{
	u8 f = st->mod[MC_TENSOR];
	u32 off, v, at = 1;
	struct insn to;

	if (st->mod[MC_CP] == CP_FENCEPROXY) {
		copy_map(c, st);
		return;
	}
	if (st->mod[MC_CP] != CP_REPLACE || f < TENSOR_OF_BASE || st->mod[MC_TMODE] != TMODE_B1024 || st->mod[MC_SPACE] > SPACE_SHARED)
		FAIL_AT(c, st, "tensormap: .replace.tile, a field, .b1024 and a type expected");
	if (st->nops != (fields[f].n ? 3u : 2u) || st->op[0].kind != O_ADDR || st->type[0] != (fields[f].bytes == 8 ? T_B64 : T_B32))
		FAIL_AT(c, st, "tensormap.replace: an address, %sa value of .b%u expected", fields[f].n ? "a number and " : "", fields[f].bytes == 8 ? 64 : 32);
	memset(&to, 0, sizeof(to));
	lower_address(c, st, &st->op[0], &to);
	off = fields[f].off;
	if (fields[f].n) {
		if (st->op[1].kind != O_INT || st->op[1].imm < 0 || st->op[1].imm > 4)
			FAIL_AT(c, st, "tensormap.replace: a dimension from 0 to 4 expected");
		if (st->op[1].imm >= fields[f].n)       /* the assembler takes it */
			UNSUPPORTED(c, st, "tensormap.replace of a fifth stride is not supported");
		off += (u32)st->op[1].imm * fields[f].bytes;
		at = 2;
	}
	v = number(c, st, &st->op[at], fields[f].bytes == 8 ? 8 : 4);
	if (fields[f].most && (st->op[at].kind != O_INT || st->op[at].imm < 0 || st->op[at].imm > fields[f].most))
		FAIL_AT(c, st, "tensormap.replace: a number from 0 to %u expected", fields[f].most);
	/* before 8.5 strides came in units of 16 bytes */
	if (f == TENSOR_OF_STRIDE && c->m->version < 85) {
		u32 s = new_reg(c, T_B64);

		emit_lane(c, st, LOP_SHL, T_U64, 1, s, v, konst(c, 4, 0), OPND_NONE);
		v = s;
	}
	move(c, K_ST, &to, off, fields[f].bytes, v, OPND_NONE);
}
