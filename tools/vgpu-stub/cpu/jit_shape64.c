/* SPDX-License-Identifier: MIT */
/* Loads of 64 bits a lane by patterns that are no rows, all lanes running; of less than that into 64 bits. Called by jit_mem.c. */
#include "jit_mem.h"
#include "lanes.h"

/* Eight lanes that read 8 bytes each in up to four windows of 32, as in windows(). */
bool jm_windows64(struct jcomp *c, const struct acc *x, u32 q, int t)
{
	struct as *a = &c->a;
	u32 n = 0, l, done = 0;
	s32 start[4];
	u64 idx[8];

	while (done != 0xff) {
		s32 low = INT32_MAX;

		if (n == 4)
			return false;
		for (l = 0; l < 8; l++)
			if (!(done >> l & 1) && x->pat[8 * q + l] < low)
				low = x->pat[8 * q + l];
		start[n] = low;
		for (l = 0; l < 8; l++) {
			s32 d = x->pat[8 * q + l] - low;

			if ((done >> l & 1) || d > 24)
				continue;
			idx[l] = n * 4 + (u32)d / 8;
			done |= 1u << l;
		}
		n++;
	}
	for (l = 0; l < n; l++) {
		int w = 4 + (int)(l >> 1);

		j_site(c, x->step);
		if (l & 1) {
			ev_n(a, V_INSERT64X4, w, w, rm_mem(x->base, x->disp + start[l]), 0, 0, 0, 32, 1);
			b1(a, 1);
		} else {
			ev_n(a, V_LL(V_MOVU64, 1), w, 0, rm_mem(x->base, x->disp + start[l]), 0, 0, 0, 32, 0);
		}
	}
	ev(a, V_MOVA64, t, 0, rm_lit(j_lit(c, idx, 64), 0));
	ev(a, V_PERMI2Q, t, 4, rm_reg(5));
	return true;
}

/* 64 bits a lane by a pattern that is no row: runs, windows, one place for eight lanes. All lanes run. False: nothing emitted. */
bool jm_ld_shapes64(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	struct jmark save = j_mark(c);
	u32 q, like[4], l;

	for (q = 0; q < 4; q++) {
		for (like[q] = 0; like[q] < q && memcmp(x->pat + 8 * like[q], x->pat + 8 * q, 32); like[q]++)
			;
		if (like[q] < q)
			continue;
		for (l = 1; l < 8 && x->pat[8 * q + l] == x->pat[8 * q]; l++)
			;
		if (l == 8) {
			j_site(c, x->step);
			ev_n(a, V_PBCASTQ, (int)q, 0, rm_mem(x->base, x->disp + x->pat[8 * q]), 0, 0, 0, 8, 0);
		} else if (!jm_chunk(c, x, 8 * q, 8, (int)q, x->step) && !jm_windows64(c, x, q, (int)q)) {
			j_undo(c, save);
			return false;
		}
	}
	for (q = 0; q < 4; q++)
		jv_put(c, in->o[0], q, (int)like[q]);
	return true;
}

u32 jm_half(struct jcomp *c)
{
	c->r[c->s->nregs] = (struct jreg){ .cls = JC_VARY, .loc = LOC_MEM, .home = JP_RESULT };
	return c->s->nregs;
}

/* A load that its register of 64 bits is wider than, and that is no row: half as wide into P first. */
bool jm_ld_widened(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct insn half = *in;
	u32 q;

	half.dw = 0;
	half.o[0] = jm_half(c);
	if (!jit_ld(c, &half))
		return false;
	for (q = 0; q < 4; q++) {
		int t = jv_dst(c, in->o[0], q, 0);

		ev_n(a, in->flags & INF_SIGNED ? V_PMOVSXDQ : V_PMOVZXDQ, t, 0, rm_mem(RBX, (s32)(JP_RESULT + 32 * q)), 0, 0, 0, 32, 0);
		jv_put(c, in->o[0], q, t);
	}
	return true;
}

/* Is in such a load? Its address is no scalar, nor a row that is known. */
bool jm_widens(const struct jcomp *c, const struct insn *in)
{
	struct jval v;
	u32 l;

	if (!in->dw || in->size == 8 || in->vec > 1 || in->o[0] == OPND_NONE || c->r[in->o[0]].cls != JC_VARY)
		return false;
	v = jit_val(c, in->o[4], in->aw);
	if (v.cls == JC_UNI)
		return in->space == SPACE_LOCAL;
	for (l = 0; v.cls == JC_PAT && l < LANES; l++)
		if (c->pats[v.pat][l] != (s32)(l * in->size))
			return true;
	return v.cls != JC_PAT || in->space == SPACE_LOCAL;
}
