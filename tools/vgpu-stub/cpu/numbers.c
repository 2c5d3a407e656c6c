/* SPDX-License-Identifier: MIT */
/*
 * What registers are in the first warps of a block, as far as threads' numbers make them, and which places an access has by that: later.c asks who reads what others write.
 * Lane by lane, by the functions that the interpreter has for each operation. What is not known counts as 0, and is kept as what has come to it.
 */
#include <string.h>

#include "later.h"

static void other(struct numbers *n, u64 what, u64 *to)
{
	u32 i;

	memset(to, 0, LANES * sizeof(u64));
	for (i = 0; i < n->nothers && i < MOST_OTHERS; i++)
		if (n->others[i] == what)
			return;
	if (n->nothers < MOST_OTHERS)
		n->others[n->nothers] = what;
	n->nothers++;
}


/* false: it is no constant of the text's */
static bool constant(struct numbers *n, u32 o, u64 *to)
{
	const struct konst *k = konst_at(n->l->g->c, o);
	u32 t;

	if (!k)
		return false;
	if (k->sym)
		other(n, (u64)(uintptr_t)k->sym, to);
	for (t = 0; t < LANES; t++)
		if (k->w == 1)
			to[t] = k->bits;
		else
			((u32 *)to)[t] = (u32)k->bits;
	return true;
}

const struct insn *later_maker(const struct later *l, u32 o, u32 *k)
{
	const struct func *fn = l->g->c->fn;
	u32 i, at;

	if (!(o & OPND_CONST)) {
		at = l->def[o];
		for (*k = 0; at && *k < 6; ++*k)
			if ((l->code[at - 1].def >> *k & 1) && l->code[at - 1].o[*k] == o)
				return l->more[6 * (at - 1) + *k] ? NULL : &l->code[at - 1];
		return NULL;
	}
	for (i = 0; i < fn->npro; i++)
		for (*k = 0; *k < 6; ++*k)
			if ((fn->pro[i].def >> *k & 1) && fn->pro[i].o[*k] == o)
				return &fn->pro[i];
	return NULL;
}

static void same(const struct insn *in, u32 x, u64 *to)
{
	u32 t;

	for (t = 0; t < LANES; t++)
		if (in->dw == 1)
			to[t] = x;
		else
			((u32 *)to)[t] = x;
}

static void special(struct numbers *n, const struct insn *in, u64 *to)
{
	u32 t;

	n->y |= in->sub == SR_TID_Y;
	n->lanes |= in->sub <= SR_TID_Z || in->sub == SR_LANEID || in->sub == SR_WARPID;
	if (n->width && in->sub == SR_NTID_X) {
		same(in, n->width, to);
		return;
	}
	if (n->rows && in->sub == SR_NTID_X) {
		same(in, LANES, to);
		return;
	}
	if (n->place && (in->sub == SR_TID_Z || (in->sub >= SR_NTID_X && in->sub <= SR_NTID_Z))) {
		u32 side = in->sub == SR_TID_Z ? 0 : in->sub == SR_NTID_X ? WARPS * LANES : in->sub == SR_NTID_Y && n->rows ? WARPS : 1;

		same(in, side, to);
		return;
	}
	if (in->sub != SR_TID_X && in->sub != SR_TID_Y && in->sub != SR_LANEID && in->sub != SR_WARPID) {
		n->unknown = true;
		other(n, (u64)in->sub << 32, to);
		return;
	}
	for (t = 0; t < LANES; t++) {
		u32 x = in->sub == SR_LANEID ? t : in->sub == SR_WARPID ? n->warp : in->sub == SR_TID_Y ? (n->rows ? n->warp : 0) :
			n->rows ? t : n->warp * LANES + t;

		if (in->dw == 1)
			to[t] = x;
		else
			((u32 *)to)[t] = x;
	}
}

static bool is_zero(const struct insn *in, const u64 *x)
{
	_Alignas(64) static const u64 none[LANES];

	return !memcmp(x, none, type_bytes(in->type) == 8 ? sizeof(none) : sizeof(none) / 2);
}

/* The factors of a product. %tid.y * %ntid.x, where all threads are in one row, is 0 however long that is, which then nobody need know. */
static void factors(struct numbers *n, const struct insn *in, u64 *x, u64 *y, u32 depth)
{
	struct numbers one = *n, both;

	later_number(&one, in->o[1], x, depth);
	both = one;
	later_number(&both, in->o[2], y, depth);
	if (is_zero(in, x) && one.nothers == n->nothers && one.unknown == n->unknown) {
		memset(y, 0, LANES * sizeof(*y));
	} else if (is_zero(in, y) && both.nothers == one.nothers && both.unknown == one.unknown) {
		memset(x, 0, LANES * sizeof(*x));
		one = *n;
	} else {
		one = both;
	}
	one.asked = both.asked;
	one.own = both.own;
	one.y = both.y;
	*n = one;
}

void later_number(struct numbers *n, u32 o, u64 *to, u32 depth)
{
	_Alignas(64) u64 from[3][LANES];
	const struct later *l = n->l;
	const struct insn *in;
	bool product;
	u32 k, v, p;

	if ((o & OPND_CONST) && constant(n, o, to))
		return;
	in = later_maker(l, o, &k);
	if (!in || in->guard != OPND_NONE || depth > DEPTH || ++n->asked > MOST_ASKED) {
		*l->asked = 0;
		n->own |= !(o & OPND_CONST) && later_depends(l, o, 0) == TID;
		n->unknown = true;
		other(n, o, to);
		return;
	}
	if (in->kind == K_SREG) {
		special(n, in, to);
		return;
	}
	if ((in->kind != K_LANE && in->kind != K_SETP && in->kind != K_PRED && in->kind != K_CVT && in->kind != K_CVTA) || type_is_float(in->type) ||
	    (in->kind == K_CVT && type_is_float(in->stype)) || (in->kind == K_SETP && in->sub)) {
		n->unknown = true;
		other(n, o, to);
		return;
	}
	product = in->kind == K_LANE && (in->lop == LOP_MUL || in->lop == LOP_MAD || in->lop == LOP_MULWIDE || in->lop == LOP_MADWIDE);
	if (product)
		factors(n, in, from[0], from[1], depth + 1);
	/* of a comparison the second and third are what it reads, of others the first is */
	for (v = product ? 2 : 0; v < 3; v++) {
		const u32 *src = &in->o[(in->kind == K_SETP ? 2 : 1) + v];

		/* what is not wanted is the first once more */
		if (product && in->lop != LOP_MAD && in->lop != LOP_MADWIDE)
			memset(from[v], 0, sizeof(from[v]));
		else if (v && !product && src[0] == src[-(s32)v])
			memcpy(from[v], from[0], sizeof(from[v]));
		else if (v < (in->kind == K_LANE ? 3 : in->kind == K_CVTA ? 1 : 2) && src[0] != OPND_NONE)
			later_number(n, src[0], from[v], depth + 1);
		else
			memset(from[v], 0, sizeof(from[v]));
	}
	switch ((enum kind)in->kind) {
	case K_LANE: in->u.lane(to, from[0], from[1], from[2]); return;
	case K_CVT: lane_cvt(in, to, from[0], from[1]); return;
	case K_CVTA: memcpy(to, from[0], sizeof(from[0])); return;
	case K_SETP:
		p = in->u.mask(from[0], from[1]);
		p = k == 1 ? ~p : p;
		break;
	default:
		p = *(u32 *)from[0];
		v = *(u32 *)from[1];
		p = in->flags & INF_CNEG ? ~p : p;
		v = in->flags & INF_BNEG ? ~v : v;
		p = in->sub == PRED_NOT ? ~p : in->sub == PRED_AND ? p & v : in->sub == PRED_OR ? p | v : in->sub == PRED_XOR ? p ^ v : p;
	}
	memcpy(to, &p, sizeof(p));
}

void later_places(const struct later *l, const struct insn *in, u32 b, bool rows, u32 warps, struct places *p)
{
	_Alignas(64) u64 v[LANES];
	u32 w, t, i;

	p->n = (struct numbers){ .l = l, .rows = rows, .place = true };
	p->bytes = in->size * (in->vec ? in->vec : 1u);
	for (w = 0; w < warps; w++) {
		p->n.warp = w;
		p->n.asked = 0;
		later_number(&p->n, in->o[4], v, 0);
		for (t = 0; t < LANES; t++)
			p->at[w][t] = (in->aw ? v[t] : ((u32 *)v)[t]) + (u64)in->imm;
		p->lanes[w] = ~0u;
		for (u32 to = b, from, n = 0; n < DEPTH && (from = l->pred[to]) != NO_PC; n++, to = from) {
			const struct insn *last = &l->code[l->g->b[from].end - 1];
			struct numbers by = { .l = l, .rows = rows, .warp = w };

			if (last->kind != K_CBRA || last->taken == last->fall)
				continue;
			later_number(&by, last->guard, v, 0);
			p->n.y |= by.y;
			/* what is not known keeps nobody away */
			if (by.nothers)
				continue;
			memcpy(&i, v, sizeof(i));
			p->lanes[w] &= last->gneg == (last->taken == to) ? ~i : i;
		}
	}
}
