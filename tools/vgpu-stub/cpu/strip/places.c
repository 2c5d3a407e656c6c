/* SPDX-License-Identifier: MIT */
/*
 * Addresses lane by lane, as lanes' numbers make them by any whole-number operation (the interpreter's own does it): tiles' rows and columns by shifts, masks, inserted
 * fields, swizzles.
 *
 *     row = lane >> 2, s[row * 32 + (lane & 3)] = ...; row = lane >> 3, ... = s[row * 32]
 *
 * What all lanes have and is not known, a parameter, a loop's counter, is a large round number, another one for each: two addresses that it is added to in the same way stay as far
 * from each other as they are, and masks find its low bits zero, as those of a stage's or a warp's part are.
 *
 * For warps along x, and for rows of 2, 4, 8, 16 threads: of two warps of a block, both whole (one of 16 threads has no others). Called by neighbours.c.
 */
#include "spot.h"

#define DEEP 24u                /* makers of makers */
#define MOST_MADE 128u          /* of one address */
#define MOST_COMPARED (1u << 17)

struct made {
	struct look *l;
	u32 warp, left;
};

static bool number(struct made *m, u32 o, u8 w, u32 deep, struct places *p);

static void all_have(struct places *p, u64 v)
{
	u32 i;

	for (i = 0; i < LANES; i++)
		p->at[i] = v;
}

static bool of_thread(const struct made *m, u8 sub, struct places *p)
{
	u32 spec = m->l->c->spec, shape = spec & 255, log2 = shape == SPEC_POW2 ? spec_log2(spec) : 5, i, t;

	/* rows of whole warps: a warp's place along y and z counts as its number */
	if ((sub == SR_TID_Y || sub == SR_TID_Z) && shape != SPEC_POW2) {
		all_have(p, shape == SPEC_LINEAR ? m->warp : 0);
		return true;
	}
	if (sub != SR_LANEID && sub != SR_TID_X && sub != SR_TID_Y)
		return false;
	for (i = 0; i < LANES; i++) {
		t = sub == SR_LANEID ? i : LANES * m->warp + i;
		p->at[i] = sub == SR_TID_Y ? t >> log2 : sub == SR_TID_X && shape == SPEC_POW2 ? t & ((1u << log2) - 1) : t;
	}
	return true;
}

static void lane(const struct insn *in, const struct places *a, struct places *p)
{
	_Alignas(64) u64 out[LANES], v[3][LANES];
	u32 i, k;

	memset(v, 0, sizeof(v));
	for (k = 0; k < 3; k++)
		for (i = 0; i < LANES; i++)
			if (jit_src_w(in, k + 1) == 1)
				v[k][i] = a[k].at[i];
			else
				((u32 *)v[k])[i] = (u32)a[k].at[i];
	in->u.lane(out, v[0], v[1], v[2]);
	for (i = 0; i < LANES; i++)
		p->at[i] = in->dw ? out[i] : ((u32 *)out)[i];
}

static void lop3(const struct insn *in, const struct places *a, struct places *p)
{
	u32 i, k;

	for (i = 0; i < LANES; i++) {
		u32 x = (u32)a[0].at[i], y = (u32)a[1].at[i], z = (u32)a[2].at[i], v = 0;

		for (k = 0; k < 8; k++)
			if (in->imm >> k & 1)
				v |= (k & 4 ? x : ~x) & (k & 2 ? y : ~y) & (k & 1 ? z : ~z);
		p->at[i] = v;
	}
}

static u8 width(const struct insn *in, u32 k) { return in->kind == K_LANE ? jit_src_w(in, k) : 0; }

static bool made_by(struct made *m, const struct insn *in, u32 deep, struct places *p)
{
	struct places a[3];
	u32 k, n;

	if (in->guard != OPND_NONE)
		return false;
	switch ((enum kind)in->kind) {
	case K_SREG:
		return of_thread(m, spec_sreg(m->l->c->spec, in->sub), p);
	case K_LADDR:
		all_have(p, (u64)in->imm);
		return true;
	case K_LANE: case K_LOP3:
		if (type_is_float(in->type) || in->dw == 2 || (in->def & ~1u))
			return false;
		if (in->use & ~14u)
			return false;
		memset(a, 0, sizeof(a));
		for (k = 1; k <= 3; k++)
			if (in->use >> k & 1) {
				/* an operand that an operation does not have is another one once more */
				for (n = 1; n < k && (in->o[n] != in->o[k] || width(in, n) != width(in, k)); n++)
					;
				if (n < k)
					a[k - 1] = a[n - 1];
				else if (!number(m, in->o[k], width(in, k), deep, &a[k - 1]))
					return false;
			}
		if (in->kind == K_LOP3)
			lop3(in, a, p);
		else
			lane(in, a, p);
		return true;
	default:
		return false;
	}
}

/* Operand o of the instruction l->user */
static bool number(struct made *m, u32 o, u8 w, u32 deep, struct places *p)
{
	struct look *l = m->l;
	const struct insn *in;
	struct sval v;
	u32 user = l->user;
	u64 id;
	bool is;

	if (o == OPND_NONE || !m->left)
		return false;
	m->left--;
	v = s_val(l->c, o, w);
	if ((o & OPND_CONST) && v.known && !v.pat) {
		all_have(p, w == 1 ? v.k : (u32)v.k);
		return true;
	}
	in = deep ? s_maker_of(l, o, &l->user) : NULL;
	is = in && made_by(m, in, deep - 1, p);
	l->user = user;
	if (is || s_is_own(l, o))
		return is;
	id = (o & OPND_CONST) || !in ? o : (u64)(in - l->c->code) << 32 | 1;
	all_have(p, id * 0x9e3779b97f4a7c15ull >> 33 & 0x7ffff000);
	return true;
}

bool s_places_of(struct look *l, u32 o, bool wide, s64 imm, struct places p[2])
{
	u32 shape = l->c->spec & 255, i, k;
	struct made m = { .l = l };

	if ((shape != SPEC_LINEAR && shape != SPEC_LINE && shape != SPEC_POW2) || (l->c->spec & (SPEC_JOINED | SPEC_TURNED | SPEC_PART)))
		return false;
	for (k = 0; k < 2; k++) {
		m.warp = k;
		m.left = MOST_MADE;
		if (!number(&m, o, wide, DEEP, &p[k]))
			return false;
		p[k].first = ~0ull;
		p[k].last = 0;
		for (i = 0; i < LANES; i++) {
			p[k].at[i] += (u64)imm;
			p[k].first = p[k].at[i] < p[k].first ? p[k].at[i] : p[k].first;
			p[k].last = p[k].at[i] > p[k].last ? p[k].at[i] : p[k].last;
		}
	}
	return true;
}

/* Does lane j read, n bytes of it, what lane i stores, m bytes, of another strip: a later one, if later says so? */
static bool meet(const struct places *st, u32 m, const struct places *ld, u32 n, bool later)
{
	u32 i, j;

	for (i = 0; i < LANES; i++)
		for (j = 0; j < LANES; j++) {
			u64 far = ld->at[j] - st->at[i];

			if ((far < m || -far < n) && (later ? j / STRIP > i / STRIP : j / STRIP != i / STRIP))
				return true;
		}
	return false;
}

bool s_places_meet(struct look *l, const struct access *st, const struct access *ld, bool later)
{
	const struct insn *store = &l->c->code[st->pc], *load = &l->c->code[ld->pc];
	u32 k;

	for (k = 0; st->places && ld->places && k < 2; k++) {
		if (st->places[k].last + store->size * store->vec <= ld->places[k].first || ld->places[k].last + load->size * load->vec <= st->places[k].first)
			continue;
		if (l->compared == MOST_COMPARED)
			return false;
		l->compared++;
		if (meet(&st->places[k], store->size * store->vec, &ld->places[k], load->size * load->vec, later))
			return true;
	}
	return false;
}
