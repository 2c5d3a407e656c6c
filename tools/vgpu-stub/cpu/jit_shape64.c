/* SPDX-License-Identifier: MIT */
/* Loads of 64 bits a lane by patterns that are no rows, all lanes running. Called by jit_mem.c. */
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
