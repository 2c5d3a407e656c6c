/* SPDX-License-Identifier: MIT */
/*
 * Loads of dwords that lie neither side by side nor at few places, at offsets that are known: neighbouring threads' structures, rows of four in
 * tiles of a product. Windows of 64 bytes hold all that 16 lanes want of them, and permutations take it out. So they do for one or two bytes
 * of a lane, with the dword that these lie in. Runs of 16 bytes, and places within 16, have shorter ways. Called by jit_mem.c.
 */
#include <string.h>

#include "jit_mem.h"

/* Bytes that lie side by side in the 64 that the lanes from l0 on read, per bytes each: 64, 32, 16, or 8 for less. */
u32 jm_run_of(const struct acc *x, u32 l0, u32 per)
{
	u32 lanes = 64 / per, run, i;

	for (run = 64; run >= 16; run /= 2) {
		for (i = 0; i < lanes; i++) {
			u32 g = i * per / run;

			if (x->pat[l0 + i] - x->pat[l0 + g * run / per] != (s32)(i * per - g * run))
				break;
		}
		if (i == lanes)
			break;
	}
	return run;
}

/*
 * Four runs of 16 bytes, the first two and the last two of which lie in 64 each: where those begin, so that nothing beyond what lanes read is loaded,
 * and which quarters of them are wanted.
 */
static bool pairs(const s32 at[4], s32 window[2], u32 *imm)
{
	s32 low = at[0], end = at[0];
	u32 k;

	for (k = 1; k < 4; k++) {
		low = at[k] < low ? at[k] : low;
		end = at[k] > end ? at[k] : end;
	}
	end += 16;
	if (end - low < 64)
		return false;
	*imm = 0;
	for (k = 0; k < 4; k++) {
		s32 from = at[k & 2] < at[k | 1] ? at[k & 2] : at[k | 1], d;

		from = from < end - 64 ? from : end - 64;
		window[k / 2] = from;
		d = at[k] - from;
		if (d > 48 || (d & 15))
			return false;
		*imm |= (u32)d / 16 << 2 * k;
	}
	return true;
}

/*
 * 64 bytes of consecutive lanes (per bytes each, first lane l0) into zmm t, when they consist of whole runs.
 * All lanes are read. False: nothing emitted.
 */
bool jm_chunk(struct jcomp *c, const struct acc *x, u32 l0, u32 per, int t, u32 n_exit)
{
	struct as *a = &c->a;
	u32 run = jm_run_of(x, l0, per), k, n = 64 / run;
	s32 at[4], window[2];
	u32 imm;

	if (run < 16)
		return false;
	for (k = 0; k < n; k++)
		at[k] = x->disp + x->pat[l0 + k * run / per];
	j_site(c, n_exit);
	if (run == 64) {
		ev_n(a, V_MOVU32, t, 0, rm_mem(x->base, at[0]), 0, 0, 0, 64, 0);
	} else if (run == 32) {
		ev_n(a, V_LL(V_MOVU32, 1), t, 0, rm_mem(x->base, at[0]), 0, 0, 0, 32, 0);
		j_site(c, n_exit);
		ev_n(a, V_INSERT64X4, t, t, rm_mem(x->base, at[1]), 0, 0, 0, 32, 1);
		b1(a, 1);
	} else if (pairs(at, window, &imm)) {
		ev_n(a, V_MOVU32, t, 0, rm_mem(x->base, window[0]), 0, 0, 0, 64, 0);
		j_site(c, n_exit);
		ev_n(a, V_MOVU32, 6, 0, rm_mem(x->base, window[1]), 0, 0, 0, 64, 0);
		ev_i(a, V_SHUF32X4, t, t, rm_reg(6), 0, 0, imm);
	} else {
		ev_n(a, V_LL(V_MOVU32, 0), t, 0, rm_mem(x->base, at[0]), 0, 0, 0, 16, 0);
		for (k = 1; k < 4; k++) {
			j_site(c, n_exit);
			ev_n(a, V_INSERT32X4, t, t, rm_mem(x->base, at[k]), 0, 0, 0, 16, 1);
			b1(a, k);
		}
	}
	return true;
}

#define WINDOWS 4

struct comb { u32 n; s32 start[WINDOWS]; };

/* Windows for all elements of the part's lanes; the last one ends where they end. */
static bool cover(const struct insn *in, const struct acc *x, u32 p, struct comb *w, u32 most)
{
	s32 reached = INT32_MIN, top = INT32_MIN, bottom = INT32_MAX;
	u32 l, e;

	w->n = 0;
	for (l = 0; l < 16; l++)
		if (x->pat[16 * p + l] & 3)
			return false;
	for (;;) {
		s32 low = INT32_MAX;

		for (l = 0; l < 16; l++)
			for (e = 0; e < in->vec; e++) {
				s32 at = x->pat[16 * p + l] + 4 * (s32)e;

				if (in->o[e] == OPND_NONE)
					continue;
				top = at > top ? at : top;
				bottom = at < bottom ? at : bottom;
				if (at > reached && at < low)
					low = at;
			}
		if (low == INT32_MAX)
			break;
		if (w->n == most)
			return false;
		w->start[w->n++] = low;
		reached = low + 60;
	}
	if (w->n && top - 60 >= bottom)
		w->start[w->n - 1] = top - 60;
	return w->n != 0;
}

/* Element e of the part's lanes out of zmm 0 to 3, into t. */
static void take_out(struct jcomp *c, const struct insn *in, const struct acc *x, u32 p, u32 e, const struct comb *w, int t)
{
	u32 idx[16], l, i, upper = 0;
	struct as *a = &c->a;

	(void)in;
	for (l = 0; l < 16; l++) {
		s32 at = x->pat[16 * p + l] + 4 * (s32)e;

		for (i = 0; at < w->start[i] || at > w->start[i] + 60; i++)
			;
		idx[l] = (i & 1) * 16 + (u32)(at - w->start[i]) / 4;
		upper |= (i >> 1) << l;
	}
	if (w->n == 1) {
		ev(a, V_PERMD, t, j_lit_reg(c, j_lit(c, idx, 64), t), rm_reg(0));
		return;
	}
	j_lit_to(c, w->n > 2 ? 4 : t, j_lit(c, idx, 64));
	if (w->n == 2) {
		ev(a, V_PERMI2D, t, 0, rm_reg(1));
		return;
	}
	ev(a, V_MOVA32, 5, 0, rm_reg(4));
	ev(a, V_PERMI2D, 4, 0, rm_reg(1));
	if (w->n == 3)
		ev(a, V_PERMD, 5, 5, rm_reg(2));
	else
		ev(a, V_PERMI2D, 5, 2, rm_reg(3));
	if (upper == 0xff00) {
		ev_i(a, V_SHUF32X4, t, 4, rm_reg(5), 0, 0, 0xe4);
		return;
	}
	g_movi(a, RCX, upper);
	k_from(a, 7, RCX);
	ev_k(a, V_BLENDMD, t, 4, rm_reg(5), 7, 0);
}

bool jm_same_parts(const struct acc *x) { return !memcmp(x->pat, x->pat + 16, 64); }

typedef void take_fn(struct jcomp *c, const struct insn *in, const struct acc *x, u32 p, u32 e, const struct comb *w, int t);

/* Loads the windows of each part, in zmm 0 to 3, and takes the elements out. */
static void load(struct jcomp *c, const struct insn *in, const struct acc *x, const struct comb *w, take_fn *take)
{
	bool same = jm_same_parts(x);
	u32 p, e, i;

	for (p = 0; p < (same ? 1u : 2u); p++) {
		for (i = 0; i < w[p].n; i++) {
			j_site(c, x->step);
			ev_n(&c->a, V_MOVU32, (int)i, 0, rm_mem(x->base, x->disp + w[p].start[i]), 0, 0, 0, 64, 0);
		}
		for (e = 0; e < in->vec; e++) {
			int t;

			if (in->o[e] == OPND_NONE)
				continue;
			t = jv_dst(c, in->o[e], p, 6);
			take(c, in, x, p, e, &w[p], t);
			jv_put(c, in->o[e], p, t);
			if (same)
				jv_put(c, in->o[e], 1, t);
		}
	}
}

bool jm_combs(struct jcomp *c, const struct insn *in, const struct acc *x, u32 most)
{
	struct comb w[2];

	if (in->size != 4 || in->dw || !cover(in, x, 0, &w[0], most) || !cover(in, x, 1, &w[1], most))
		return false;
	load(c, in, x, w, take_out);
	return true;
}

/* ---- one or two bytes a lane, or several of these ----------------------------------------------------------------------------- */

/* The window in which lane l's element e is; where it is there: *at. */
static u32 window_of(const struct insn *in, const struct acc *x, u32 l, u32 e, const struct comb *w, s32 *at)
{
	u32 i;

	*at = x->pat[l] + (s32)(e * in->size);
	i = w->n == 2 && *at + in->size > w->start[0] + 64;
	*at -= w->start[i];
	return i;
}

/* One or two windows with all that the part's lanes read. Elements are aligned, so each lies within one of their dwords. */
static bool cover_narrow(const struct acc *x, u32 p, struct comb *w)
{
	s32 low = INT32_MAX, top = INT32_MIN;
	u32 l;

	for (l = 16 * p; l < 16 * p + 16; l++) {
		low = x->pat[l] < low ? x->pat[l] : low;
		top = x->pat[l] + (s32)x->bytes > top ? x->pat[l] + (s32)x->bytes : top;
	}
	if (top - low > 128)
		return false;
	w->n = top - low > 64 ? 2 : 1;
	w->start[0] = low;
	w->start[1] = top - 64;
	return true;
}

static void narrow_out(struct jcomp *c, const struct insn *in, const struct acc *x, u32 p, u32 e, const struct comb *w, int t)
{
	u32 idx[16], up[16], l;
	struct as *a = &c->a;
	s32 at;

	for (l = 0; l < 16; l++) {
		idx[l] = window_of(in, x, 16 * p + l, e, w, &at) * 16;
		idx[l] += (u32)at / 4;
		up[l] = 32 - 8 * (u32)((at & 3) + in->size);
	}
	ev(a, V_MOVA32, t, 0, rm_lit(j_lit(c, idx, 64), 0));
	if (w->n == 1)
		ev(a, V_PERMD, t, t, rm_reg(0));
	else
		ev(a, V_PERMI2D, t, 0, rm_reg(1));
	/* to the top of the dword, then down */
	ev(a, V_PSLLVD, t, t, rm_lit(j_lit(c, up, 64), 0));
	ev_i(a, V_PSHID, in->flags & INF_SIGNED ? 4 : 2, t, rm_reg(t), 0, 0, 32 - 8 * (u32)in->size);
}

bool jm_narrow_combs(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct comb w[2];

	if (in->size > 2 || in->dw || jw_wide(in) || !cover_narrow(x, 0, &w[0]) || !cover_narrow(x, 1, &w[1]))
		return false;
	load(c, in, x, w, narrow_out);
	return true;
}

/*
 * One half a lane: a permutation of words takes all that 16 lanes want out of one or two windows, the second of which it reads itself.
 * d: where they go, as floats if they are converted (jcomp.half).
 */
bool jm_words(struct jcomp *c, const struct insn *in, const struct acc *x, u32 d)
{
	bool same = jm_same_parts(x);
	struct as *a = &c->a;
	struct comb w[2];
	u32 p, l;

	if (in->size != 2 || in->vec != 1 || in->dw || !cover_narrow(x, 0, &w[0]) || !cover_narrow(x, 1, &w[1]))
		return false;
	for (p = 0; p < (same ? 1u : 2u); p++) {
		u32 more = w[p].n - 1;
		u16 idx[32] = { 0 };
		s32 at;
		int t;

		for (l = 0; l < 16; l++) {
			idx[l] = (u16)(window_of(in, x, 16 * p + l, 0, &w[p], &at) * 32);
			idx[l] = (u16)(idx[l] + (u32)at / 2);
		}
		if (more) {
			j_site(c, x->step);
			ev_n(a, V_MOVU32, 0, 0, rm_mem(x->base, x->disp + w[p].start[0]), 0, 0, 0, 64, 0);
		}
		j_lit_to(c, 3, j_lit(c, idx, 64));
		j_site(c, x->step);
		ev(a, more ? V_PERMI2W : V_PERMW, 3, more ? 0 : 3, rm_mem(x->base, x->disp + w[p].start[more]));
		t = jv_dst(c, d, p, 4);
		if (c->half != OPND_NONE)
			ev(a, V_CVTPH2PS, t, 0, rm_reg(3));
		else
			ev_n(a, in->flags & INF_SIGNED ? V_PMOVSXWD : V_PMOVZXWD, t, 0, rm_reg(3), 0, 0, 0, 32, 0);
		jv_put(c, d, p, t);
		if (same)
			jv_put(c, d, 1, t);
	}
	return true;
}

/* ---- places close together ------------------------------------------------------------------------------------------------------ */

/* 4, 8 or 16 bytes from *at on that the part's lanes read in; 0: they are further apart. */
static u32 near_part(const struct acc *x, u32 p, s32 *at)
{
	s32 end = INT32_MIN;
	u32 l;

	*at = INT32_MAX;
	for (l = 16 * p; l < 16 * p + 16; l++) {
		*at = x->pat[l] < *at ? x->pat[l] : *at;
		end = x->pat[l] + (s32)x->bytes > end ? x->pat[l] + (s32)x->bytes : end;
	}
	return end - *at > 16 ? 0 : end - *at > 8 ? 16 : end - *at > 4 ? 8 : 4;
}

/* All that a part's lanes read, in each four of them, and of it each lane's bytes: one load, one shuffle an element. They may read a little further. */
bool jm_near(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	u32 sg = in->flags & INF_SIGNED && in->size < 4 ? 4 - in->size : 0, e, p, l, b, n[2];
	struct as *a = &c->a;
	s32 at[2];

	n[0] = near_part(x, 0, &at[0]);
	n[1] = near_part(x, 1, &at[1]);
	if (!n[0] || !n[1] || in->size > 4 || c->half != OPND_NONE || jw_wide(in))
		return false;
	for (p = 0; p < 2; p++) {
		j_site(c, x->step);
		ev_n(a, n[p] == 4 ? V_PBCASTD : n[p] == 8 ? V_PBCASTQ : V_BCAST32X4, 0, 0, rm_mem(x->base, x->disp + at[p]), 0, 0, 0, n[p], 0);
		for (e = 0; e < in->vec; e++) {
			u8 from[64];
			int t;

			if (in->o[e] == OPND_NONE)
				continue;
			memset(from, 0x80, sizeof(from));
			for (l = 0; l < 16; l++)
				for (b = 0; b < in->size; b++)
					from[4 * l + sg + b] = (u8)((u32)(x->pat[16 * p + l] - at[p]) + e * in->size + b);
			t = jv_dst(c, in->o[e], p, 4);
			ev(a, V_PSHUFB, t, 0, rm_lit(j_lit(c, from, 64), 0));
			if (sg)
				ev_i(a, V_PSHID, 4, t, rm_reg(t), 0, 0, 8 * sg);
			jv_put(c, in->o[e], p, t);
		}
	}
	return true;
}

/* A window of each would hold no second one: it costs as much as a place, and more to load. */
bool jm_places_apart(const s32 *at, u32 n)
{
	u32 i, k;

	for (i = 0; i < n && n <= 8; i++)
		for (k = 0; k < i; k++)
			if (at[i] - at[k] <= 28 && at[k] - at[i] <= 28)
				return false;
	return true;
}
