/* SPDX-License-Identifier: MIT */
/*
 * Statements to warp IR: textures and surfaces (PTX ISA 9.7.10, 9.7.11), in the unified mode, where one 64-bit register names texture and
 * sampler. Called by lower.c; tex.c executes. One instruction a register of the result, or of what is stored: those whose result nobody
 * reads are dropped, and most programs want the first.
 *
 * Gradients become a level of detail before the fetch: the length of each, and the logarithm of the longer one.
 */
#include <string.h>

#include "front.h"
#include "gen.h"
#include "tex.h"

/* How many coordinates a geometry takes in the text (a vector may have one more, which is padding), and how many of them count. */
static const struct { u8 text, used; } geometry[] = {
	[GEOM_1D] = { 1, 1 }, [GEOM_2D] = { 2, 2 }, [GEOM_3D] = { 4, 3 }, [GEOM_A1D] = { 2, 2 }, [GEOM_A2D] = { 4, 3 },
	[GEOM_CUBE] = { 4, 3 }, [GEOM_ACUBE] = { 4, 4 },
};

static u32 coordinate(struct comp *c, struct stmt *st, struct operand *o, enum type t)
{
	if (o->kind == O_REG ? type_bytes(o->type) != 4 || o->type == T_PRED : o->kind != O_INT && o->kind != O_FLT)
		FAIL_AT(c, st, "%s: a coordinate must be a 32-bit register or a number", st->od->name);
	return src(c, st, o, t);
}

/* [handle, {coordinates}] into o[1] and o[2] on; op i of the statement. layer: the first one is an integer whatever the others are. */
/* An object in a register, or a reference by its name: the address of that one's descriptor. */
static u32 handle(struct comp *c, struct stmt *st, const struct operand *a)
{
	bool surface = st->od->id == OPID_SULD || st->od->id == OPID_SUST || st->od->id == OPID_SUQ;
	struct operand base = *a;

	if (a->second == O_REG && type_bytes(a->type) == 8 && !a->imm)
		return a->reg;
	if (a->second != O_SYM || a->imm || a->sym->opaque != (surface ? OPAQUE_SURFACE : OPAQUE_TEXTURE))
		FAIL_AT(c, st, "%s: a 64-bit register or the name of a %s expected", st->od->name, surface ? ".surfref" : ".texref");
	if (a->index != OPND_NONE || a->sym->ndims)
		UNSUPPORTED(c, st, "%s: an array of references is not supported", st->od->name);
	base.kind = O_SYM;
	return src(c, st, &base, T_B64);
}

static void place(struct comp *c, struct stmt *st, u32 i, enum type t, struct insn *out)
{
	const struct operand *a = i < st->nops ? &st->op[i] : NULL;
	u8 g = st->mod[MC_GEOM];
	bool layer = g == GEOM_A1D || g == GEOM_A2D || g == GEOM_ACUBE;
	u32 k, n;

	if (!g)
		FAIL_AT(c, st, "%s needs .1d, .2d, .3d, .a1d, .a2d, .cube or .acube", st->od->name);
	if (!a || a->kind != O_ADDR || !a->n)
		FAIL_AT(c, st, "%s: [handle, {coordinates}] expected", st->od->name);
	n = geometry[g].text;
	if (a->n < geometry[g].used || a->n > n + (n < 4))
		FAIL_AT(c, st, "%s.%s: %u coordinates expected", st->od->name, mod_name(MC_GEOM, g), n);
	out->o[1] = handle(c, st, a);
	out->use = 2;
	for (k = 0; k < geometry[g].used; k++) {
		out->o[2 + k] = coordinate(c, st, &a->elem[k], layer && !k ? T_U32 : t);
		out->use |= (u8)(4u << k);
	}
}

static struct insn *element(struct comp *c, const struct stmt *st, const struct insn *t, gen_fn *fn, u32 k)
{
	struct insn *in = emit(c, K_GEN);

	memcpy(in->o, t->o, sizeof(in->o));
	in->use = t->use;
	in->u.gen = fn;
	in->lop = (u8)st->od->id;
	in->sub = st->mod[MC_GEOM];
	in->sub2 = (u8)k;
	in->type = st->type[0];
	in->stype = st->type[1];
	in->imm = t->imm;
	in->size = t->size;
	in->vec = st->mod[MC_VEC] ? st->mod[MC_VEC] : 1;
	return in;
}

/* The registers of a vector, or the one that there is. */
static u32 elements(struct comp *c, struct stmt *st, u32 i, struct operand **e)
{
	struct operand *o = &st->op[i];
	u32 n = st->mod[MC_VEC] ? st->mod[MC_VEC] : 1;

	if (i >= st->nops || (o->kind == O_VEC ? o->n != n : n != 1))
		FAIL_AT(c, st, "%s: %u registers expected", st->od->name, n);
	*e = o->kind == O_VEC ? o->elem : o;
	return n;
}

static void results(struct comp *c, struct stmt *st, const struct insn *t, gen_fn *fn, u32 bytes, u8 dw)
{
	struct operand *e;
	u32 n = elements(c, st, 0, &e), k;

	for (k = 0; k < n; k++) {
		struct insn *in;

		if (e[k].kind == O_SINK)
			continue;
		/* a register may be wider than an element of 8 bits */
		if (e[k].kind != O_REG || e[k].type == T_PRED || type_bytes(e[k].type) < bytes || (bytes > 1 && type_bytes(e[k].type) != bytes))
			FAIL_AT(c, st, "%s: a register of %u bits expected", st->od->name, 8 * bytes);
		in = element(c, st, t, fn, k);
		in->o[0] = e[k].reg;
		in->def = 1;
		in->dw = dw;
	}
}

static struct insn blank(void)
{
	struct insn t;
	u32 i;

	memset(&t, 0, sizeof(t));
	for (i = 0; i < 6; i++)
		t.o[i] = OPND_NONE;
	return t;
}

static u32 gradient(struct comp *c, struct stmt *st, u32 i, u32 handle)
{
	struct operand *o = &st->op[i], *e = o->kind == O_VEC ? o->elem : o;
	u32 n = o->kind == O_VEC ? o->n : 1, want = geometry[st->mod[MC_GEOM]].used, k;
	struct insn t = blank(), *in;

	want -= st->mod[MC_GEOM] == GEOM_A1D || st->mod[MC_GEOM] == GEOM_A2D;
	if (n < want)
		FAIL_AT(c, st, "tex.grad: a gradient of %u numbers expected", want);
	t.o[1] = handle;
	t.use = 2;
	for (k = 0; k < want; k++) {
		t.o[2 + k] = coordinate(c, st, &e[k], T_F32);
		t.use |= (u8)(4u << k);
	}
	in = element(c, st, &t, gen_tex_span, 0);
	in->o[0] = new_reg(c, T_F32);
	in->def = 1;
	return in->o[0];
}

/* The level of detail, if one is given, into the operand behind the coordinates; size says which. */
static void level(struct comp *c, struct stmt *st, enum type x, struct insn *t)
{
	u8 g = st->mod[MC_GEOM];
	u32 at = 2 + geometry[g].used, lod;

	if (st->mod[MC_LEVEL] != LEVEL_LOD && st->mod[MC_LEVEL] != LEVEL_GRAD)
		return;
	if (at > 5)
		UNSUPPORTED(c, st, "'tex.acube' with a level of detail is not supported");
	if (st->mod[MC_LEVEL] == LEVEL_GRAD) {
		struct insn two = blank(), *in;

		if (g == GEOM_CUBE)
			UNSUPPORTED(c, st, "'tex.grad.cube' is not supported");
		two.o[2] = gradient(c, st, 2, t->o[1]);
		two.o[3] = gradient(c, st, 3, t->o[1]);
		two.use = 4 | 8;
		in = element(c, st, &two, gen_tex_lod, 0);
		in->o[0] = lod = new_reg(c, T_F32);
		in->def = 1;
	} else {
		lod = coordinate(c, st, &st->op[2], x);
	}
	t->o[at] = lod;
	t->use |= (u8)(1u << at);
	t->size = (u8)at;
}

static void fetch(struct comp *c, struct stmt *st)
{
	enum type d = st->type[0], x = st->type[1];
	struct insn t = blank();

	if (st->ntype != 2 || (d != T_F32 && d != T_S32 && d != T_U32))
		UNSUPPORTED(c, st, "'%s.%s' is not supported", st->od->name, type_name(d));
	if (x != T_F32 && x != T_S32)
		FAIL_AT(c, st, "%s: coordinates are .s32 or .f32", st->od->name);
	if (st->od->id == OPID_TLD4 && (st->mod[MC_GEOM] != GEOM_2D || x != T_F32 || st->mod[MC_VEC] != 4 || !st->mod[MC_TLD]))
		UNSUPPORTED(c, st, "'tld4' is supported as .r, .g, .b or .a of .2d.v4 with coordinates of .f32");
	if (st->nops != (st->mod[MC_LEVEL] == LEVEL_LOD ? 3u : st->mod[MC_LEVEL] == LEVEL_GRAD ? 4u : 2u))
		UNSUPPORTED(c, st, "'%s' with offsets or comparisons is not supported", st->od->name);
	place(c, st, 1, x, &t);
	t.imm = st->mod[MC_TLD];
	level(c, st, x, &t);
	c->texels = true;
	results(c, st, &t, gen_tex, 4, 0);
}

static u32 surface_bytes(struct comp *c, struct stmt *st)
{
	if (st->mod[MC_SURF] != SURF_B)
		UNSUPPORTED(c, st, "'%s.p' is not supported", st->od->name);
	if (st->ntype != 1)
		FAIL_AT(c, st, "%s: one type expected", st->od->name);
	if (!st->mod[MC_EDGE])
		FAIL_AT(c, st, "%s needs .trap, .clamp or .zero", st->od->name);
	return type_bytes(st->type[0]);
}

static void surface(struct comp *c, struct stmt *st, bool store)
{
	u32 bytes = surface_bytes(c, st), n, k;
	struct insn t = blank(), *in;
	struct operand *e;

	if (st->nops != 2)
		FAIL_AT(c, st, "%s: two operands expected", st->od->name);
	place(c, st, !store, T_S32, &t);
	t.imm = st->mod[MC_EDGE];
	if (!store) {
		results(c, st, &t, gen_suld, bytes, bytes > 4);
		return;
	}
	if (t.o[5] != OPND_NONE)
		FAIL_AT(c, st, "sust does not take .acube");
	n = elements(c, st, 1, &e);
	for (k = 0; k < n; k++) {
		if (e[k].kind == O_REG ? e[k].type == T_PRED || type_bytes(e[k].type) < bytes : e[k].kind != O_INT && e[k].kind != O_FLT)
			FAIL_AT(c, st, "sust: a register of %u bits expected", 8 * bytes);
		in = element(c, st, &t, gen_sust, k);
		in->o[5] = src(c, st, &e[k], bytes > 4 ? T_B64 : T_B32);
		in->use |= 32;
	}
}

static void query(struct comp *c, struct stmt *st)
{
	const struct operand *d = &st->op[0], *a = &st->op[1];
	struct insn t = blank(), *in;

	if (st->nops != 2 || a->kind != O_ADDR || a->n || d->kind != O_REG || type_bytes(d->type) != 4 || d->type == T_PRED)
		FAIL_AT(c, st, "%s takes a 32-bit register and [handle]", st->od->name);
	if (!st->mod[MC_TXQ])
		FAIL_AT(c, st, "%s: what is asked for is missing", st->od->name);
	t.o[1] = handle(c, st, a);
	t.use = 2;
	in = element(c, st, &t, gen_txq, 0);
	in->o[0] = d->reg;
	in->def = 1;
	in->imm = st->mod[MC_TXQ];
}

void lower_tex(struct comp *c, struct stmt *st)
{
	switch (st->od->id) {
	case OPID_TEX:
	case OPID_TLD4: fetch(c, st); return;
	case OPID_SULD: surface(c, st, false); return;
	case OPID_SUST: surface(c, st, true); return;
	default: query(c, st);
	}
}
