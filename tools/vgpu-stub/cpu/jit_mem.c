/* SPDX-License-Identifier: MIT */
/*
 * Loads. A pattern says which vector loads serve: rows, runs of lanes, few distinct places, else a gather with
 * offsets known now; varying addresses are gathered. Called by jit.c, one instruction at a time.
 */
#include "jit_mem.h"
#include "lanes.h"

void jm_put_uniform(struct jcomp *c, u32 v, int gpr)
{
	const struct jreg *r = &c->r[v];
	u32 p;

	if (r->cls != JC_VARY) {
		ju_store(c, v, gpr);
		return;
	}
	ev(&c->a, r->w ? V_PBCASTQ_R : V_PBCASTD_R, 0, 0, rm_reg(gpr));
	for (p = 0; p < (r->w ? 4u : 2u); p++)
		jv_put(c, v, p, 0);
}

void jm_load_scalar(struct jcomp *c, const struct insn *in, int gpr, struct rm m)
{
	bool sg = in->flags & INF_SIGNED;

	if (in->size < 4)
		g_movx(&c->a, in->dw && sg, sg, in->size, gpr, m);
	else if (in->size == 4 && in->dw && sg)
		g_movsxd(&c->a, gpr, m);
	else
		g_load(&c->a, in->size == 8, gpr, m);
}

/* The value of 1 or 2 bytes in the low bits of each dword of t, extended. */
void jm_narrow(struct jcomp *c, int t, u32 size, bool sg, u32 from)
{
	struct as *a = &c->a;

	if (size == 4)
		return;
	if (!sg && !from) {
		ev(a, V_PANDD, t, t, rm_lit(j_lit32(c, (1u << 8 * size) - 1), 0));
		return;
	}
	if (!sg && from + size == 4) {
		ev_i(a, V_PSHID, 2, t, rm_reg(t), 0, 0, 8 * from);
		return;
	}
	if (from + size < 4)
		ev_i(a, V_PSHID, 6, t, rm_reg(t), 0, 0, 32 - 8 * (size + from));
	ev_i(a, V_PSHID, sg ? 4 : 2, t, rm_reg(t), 0, 0, 32 - 8 * size);
}

static int even_odd(struct jcomp *c, int t, int x, int y, u32 odd)
{
	u32 idx[16], i;

	for (i = 0; i < 16; i++)
		idx[i] = 2 * i + odd;
	j_lit_to(c, t, j_lit(c, idx, 64));
	ev(&c->a, V_PERMI2D, t, x, rm_reg(y));
	return t;
}

/* The places that the lanes from l0 on read, and which of them each reads; 17: more than 16. */
static u32 distinct(const struct acc *x, u32 l0, u32 lanes, s32 *d, u32 *idx)
{
	u32 n = 0, l, i;

	for (l = 0; l < lanes; l++) {
		for (i = 0; i < n && d[i] != x->pat[l0 + l]; i++)
			;
		if (i == n) {
			if (n == 16)
				return 17;
			d[n++] = x->pat[l0 + l];
		}
		idx[l] = i;
	}
	return n;
}

/* Element e of a gather with known offsets, 32-bit destination; offsets beside rax. */
static void gather_known(struct jcomp *c, const struct insn *in, const struct acc *x, u32 e)
{
	struct as *a = &c->a;
	u32 p, d = in->o[e];
	bool walks = c->walks;

	if (d == OPND_NONE)
		return;
	for (p = 0; p < 2; p++) {
		ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, x->pat + 16 * p, 64), 0));
		k_mov(a, 7, jv_mask(c, 0, p));
		jf_gather(c, V_GATHERDD, 3, rm_vidx(x->base, 2, 0, x->disp + (s32)(e * in->size)), x->step);
		jm_narrow(c, 3, in->size, in->flags & INF_SIGNED, 0);
		jv_put(c, d, p, 3);
	}
	c->walks = walks;       /* it is for some lanes of a warp: what a whole one does says how these go through memory */
}

/* Every lane's access is in zmm 0..3 as 64 bits (two elements of 32, four of 16 ...): takes them apart. */
void jm_split64(struct jcomp *c, const struct insn *in)
{
	u32 e, p;

	for (e = 0; e < in->vec; e++) {
		u32 at = e * in->size;

		if (in->o[e] == OPND_NONE)
			continue;
		for (p = 0; p < 2; p++) {
			int t = even_odd(c, jv_dst(c, in->o[e], p, 4), (int)(2 * p), (int)(2 * p) + 1, at >= 4);

			jm_narrow(c, t, in->size, in->flags & INF_SIGNED, at & 3);
			jv_put(c, in->o[e], p, t);
		}
	}
}

static void split32(struct jcomp *c, const struct insn *in, u32 p, int t)
{
	u32 e;

	for (e = 0; e < in->vec; e++) {
		if (in->o[e] == OPND_NONE)
			continue;
		ev(&c->a, V_MOVA32, 4, 0, rm_reg(t));
		jm_narrow(c, 4, in->size, in->flags & INF_SIGNED, e * in->size);
		jv_put(c, in->o[e], p, 4);
	}
}

/* Where element e goes: the half itself, or the float that it becomes. */
static u32 into(const struct jcomp *c, const struct insn *in, u32 e)
{
	return c->half != OPND_NONE ? c->half : in->o[e];
}

static bool ld_row(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	bool sg = in->flags & INF_SIGNED;
	u32 p, total = x->bytes, op, n;

	if (in->vec == 1) {
		u32 d = into(c, in, 0);

		if (in->dw && in->size == 8) {
			op = V_MOVU64;
			n = 64;
		} else if (in->dw) {
			op = in->size == 4 ? (sg ? V_PMOVSXDQ : V_PMOVZXDQ) : in->size == 2 ? (sg ? V_PMOVSXWQ : V_PMOVZXWQ) : sg ? V_PMOVSXBQ : V_PMOVZXBQ;
			n = 8 * in->size;
		} else if (!in->dw && in->size <= 4) {
			op = in->size == 4 ? V_MOVU32 : c->half != OPND_NONE ? V_CVTPH2PS :
			     in->size == 2 ? (sg ? V_PMOVSXWD : V_PMOVZXWD) : sg ? V_PMOVSXBD : V_PMOVZXBD;
			n = 16 * in->size;
		} else {
			return false;
		}
		for (p = 0; p < (in->dw ? 4u : 2u); p++) {
			int t = d == OPND_NONE ? 0 : jv_dst(c, d, p, 0), k = jv_mask(c, in->dw, p);

			j_site(c, x->step);
			ev_n(a, op, t, 0, rm_mem(x->base, x->disp + (s32)(n * p)), k, 1, 0, n, 0);
			if (d != OPND_NONE)
				jv_put(c, d, p, t);
		}
		if (c->half != OPND_NONE)
			c->after_half = g_jmp(a);
		return true;
	}
	if (in->dw)
		return false;
	if (total == 8) {
		for (p = 0; p < 4; p++) {
			int k = jv_mask(c, 1, p);

			j_site(c, x->step);
			ev_n(a, V_MOVU64, (int)p, 0, rm_mem(x->base, x->disp + (s32)(64 * p)), k, 1, 0, 64, 0);
		}
		jm_split64(c, in);
		return true;
	}
	if (total == 4) {
		for (p = 0; p < 2; p++) {
			int k = jv_mask(c, 0, p);

			j_site(c, x->step);
			ev_n(a, V_MOVU32, 0, 0, rm_mem(x->base, x->disp + (s32)(64 * p)), k, 1, 0, 64, 0);
			split32(c, in, p, 0);
		}
		return true;
	}
	return false;
}

/* Sixteen lanes' accesses of 16 bytes are in zmm 0..3: takes them apart. */
void jm_split128(struct jcomp *c, const struct insn *in, u32 p, bool both)
{
	struct as *a = &c->a;
	u32 e, i, idx[16];
	int t;

	for (e = 0; e < 4; e++) {
		if (in->o[e] == OPND_NONE)
			continue;
		for (i = 0; i < 16; i++)
			idx[i] = (i & 3) * 4 + e + (i & 4 ? 16 : 0);
		j_lit_to(c, 4, j_lit(c, idx, 64));
		ev(a, V_MOVA32, 5, 0, rm_reg(4));
		ev(a, V_PERMI2D, 4, 0, rm_reg(1));
		ev(a, V_PERMI2D, 5, 2, rm_reg(3));
		t = jv_dst(c, in->o[e], p, 4);
		ev_i(a, V_INSERT64X4, t, 4, rm_reg(5), 0, 0, 1);
		jv_put(c, in->o[e], p, t);
		if (both)
			jv_put(c, in->o[e], 1, t);
	}
}

/* 16 bytes a lane, as four elements of 32 bits; all lanes run. chunks are of 4 lanes. */
static bool ld_quads(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	bool same = jm_same_parts(x);
	u32 p, i, loads = 0;

	for (i = 0; i < 8; i++)
		loads += 64 / jm_run_of(x, 4 * i, 16);
	/* few places, or as many as lanes */
	if (!jw_wide(in) && jm_combs(c, in, x, 2))
		return true;
	if (loads > 16)
		return jp_ld(c, in, x);
	for (p = 0; p < (same ? 1u : 2u); p++) {
		for (i = 0; i < 4; i++)
			if (!jm_chunk(c, x, p * 16 + i * 4, 16, (int)i, x->step)) {
				if (i || p)
					c->bad = true;  /* runs of 16 bytes always are */
				return false;
			}
		jm_split128(c, in, p, same);
	}
	return true;
}

/*
 * A few places into zmm 3, extended to 32 bits or converted (jcomp.half): one by one, for a gather takes as long as all of
 * them and does not overlap with anything (what microcode does against the sampling of its data).
 */
static void pick(struct jcomp *c, const struct insn *in, const struct acc *x, u32 e, const s32 *at, u32 n)
{
	struct as *a = &c->a;
	u32 op = in->size == 1 ? V_PINSRB : in->size == 2 ? V_PINSRW : V_PINSRD, per = 16 / in->size, i;
	bool sg = in->flags & INF_SIGNED;

	for (i = 0; i < n; i++) {
		int t = i < per ? 3 : 2;

		if (i % per == 0)
			ev(a, V_PXORD, t, t, rm_reg(t));
		j_site(c, x->step);
		ev_n(a, V_LL(op, 0), t, t, rm_mem(x->base, x->disp + (s32)(e * in->size) + at[i]), 0, 0, 0, in->size, 1);
		b1(a, i % per);
		if (i >= per && (i + 1 == n || (i + 1) % per == 0))
			ev_i(a, V_INSERT32X4, 3, 3, rm_reg(2), 0, 0, i / per);
	}
	if (in->size == 1)
		ev_n(a, sg ? V_PMOVSXBD : V_PMOVZXBD, 3, 0, rm_reg(3), 0, 0, 0, 16, 0);
	else if (c->half != OPND_NONE)
		ev(a, V_CVTPH2PS, 3, 0, rm_reg(3));
	else if (in->size == 2)
		ev_n(a, sg ? V_PMOVSXWD : V_PMOVZXWD, 3, 0, rm_reg(3), 0, 0, 0, 32, 0);
}

/* Sixteen lanes at a time, wherever they read. */
static void ld_picked(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 e, p, n, idx[16], i;
	s32 at[16];

	for (e = 0; e < in->vec; e++)
		for (p = 0; p < 2; p++) {
			u32 d = into(c, in, e);
			int t = 3;

			if (d == OPND_NONE)
				continue;
			n = distinct(x, 16 * p, 16, at, idx);
			pick(c, in, x, e, at, n);
			for (i = 0; i < 16 && idx[i] == i; i++)
				;
			if (i < 16) {
				t = jv_dst(c, d, p, 4);
				ev(a, V_MOVA32, t, 0, rm_lit(j_lit(c, idx, 64), 0));
				ev(a, V_PERMD, t, t, rm_reg(3));
			}
			jv_put(c, d, p, t);
		}
}

/* Patterns other than rows, all lanes running. False: nothing emitted. */
static bool ld_shapes(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, n, idx[LANES];
	s32 at[16];

	if (in->dw)
		return false;
	if (jm_near(c, in, x))
		return true;
	n = distinct(x, 0, LANES, at, idx);
	if (n > 8 && in->vec == 1 && jm_words(c, in, x, into(c, in, 0)))
		return true;
	if (n > 4 && c->half == OPND_NONE && jm_narrow_combs(c, in, x))
		return true;
	if (n <= (in->size < 4 ? 16u : jm_places_apart(at, n) ? 8u : 4u) && in->vec == 1) {
		u32 d = into(c, in, 0);

		pick(c, in, x, 0, at, n);
		for (p = 0; p < 2; p++) {
			int t = jv_dst(c, d, p, 4);

			ev(a, V_PERMD, t, j_lit_reg(c, j_lit(c, idx + 16 * p, 64), t), rm_reg(3));
			jv_put(c, d, p, t);
		}
		return true;
	}
	if (x->bytes == 8) {
		struct jmark save = j_mark(c);

		for (p = 0; p < 4; p++)
			if (!jm_chunk(c, x, p * 8, 8, (int)p, x->step)) {
				j_undo(c, save);
				return false;
			}
		jm_split64(c, in);
		return true;
	}
	if (x->bytes == 4) {
		struct jmark save = j_mark(c);
		bool whole = in->vec == 1 && in->size == 4 && in->o[0] != OPND_NONE;

		for (p = 0; p < 2; p++)
			if (!jm_chunk(c, x, p * 16, 4, whole ? jv_dst(c, in->o[0], p, (int)p) : (int)p, x->step)) {
				j_undo(c, save);
				return false;
			}
		for (p = 0; p < 2; p++)
			if (whole)
				jv_put(c, in->o[0], p, jv_dst(c, in->o[0], p, (int)p));
			else
				split32(c, in, p, (int)p);
		return true;
	}
	return false;
}

/*
 * 16 lanes that read dwords in up to four windows of 32 bytes: as many loads and one permutation. The
 * windows may reach beyond what the lanes read; a page that is missing there sends us the slow way.
 */
static bool windows(struct jcomp *c, const struct acc *x, u32 p, s32 off, int t)
{
	struct as *a = &c->a;
	s32 start[4];
	u32 idx[16], n = 0, l, w, done = 0;

	while (done != 0xffff) {
		s32 low = INT32_MAX;

		if (n == 4)
			return false;
		for (l = 0; l < 16; l++)
			if (!(done >> l & 1) && x->pat[16 * p + l] < low)
				low = x->pat[16 * p + l];
		start[n] = low;
		for (l = 0; l < 16; l++) {
			s32 d = x->pat[16 * p + l] - low;

			if ((done >> l & 1) || d > 28 || (d & 3))
				continue;
			idx[l] = (n >> 1) * 16 + (n & 1) * 8 + (u32)d / 4;
			done |= 1u << l;
		}
		n++;
	}
	for (w = 0; w < n; w++) {
		j_site(c, x->step);
		if (w & 1) {
			ev_n(a, V_INSERT64X4, 2 + (int)(w >> 1), 2 + (int)(w >> 1), rm_mem(x->base, x->disp + off + start[w]), 0, 0, 0, 32, 1);
			b1(a, 1);
		} else {
			ev_n(a, V_LL(V_MOVU32, 1), 2 + (int)(w >> 1), 0, rm_mem(x->base, x->disp + off + start[w]), 0, 0, 0, 32, 0);
		}
	}
	if (n > 2) {
		j_lit_to(c, t, j_lit(c, idx, 64));
		ev(a, V_PERMI2D, t, 2, rm_reg(3));
	} else {
		ev(a, V_PERMD, t, j_lit_reg(c, j_lit(c, idx, 64), t), rm_reg(2));
	}
	return true;
}

static bool ld_windows(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct jmark save = j_mark(c);
	u32 p, e;
	int t;

	for (e = 0; e < (x->bytes > 4 ? in->vec : 1u); e++)
		for (p = 0; p < 2; p++) {
			if (x->bytes > 4 && in->o[e] == OPND_NONE)
				continue;
			t = in->vec > 1 && x->bytes <= 4 ? 0 : jv_dst(c, in->o[e], p, 4);
			if (!windows(c, x, p, (s32)(e * in->size), t)) {
				j_undo(c, save);
				return false;
			}
			if (in->vec > 1 && x->bytes <= 4) {
				split32(c, in, p, 0);
			} else {
				jm_narrow(c, t, in->size, in->flags & INF_SIGNED, 0);
				jv_put(c, in->o[e], p, t);
			}
		}
	return true;
}

/* Two or four elements of a lane in one dword: a gather of these. */
static void gather_dwords(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p;

	for (p = 0; p < 2; p++) {
		ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, x->pat + 16 * p, 64), 0));
		k_mov(a, 7, jv_mask(c, 0, p));
		jf_gather(c, V_GATHERDD, 3, rm_vidx(x->base, 2, 0, x->disp), x->step);
		split32(c, in, p, 3);
	}
}

/* Vectors of a lane that are no runs, each in one piece. All lanes run. */
static void ld_pieces(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct jmark save = j_mark(c);
	u32 q;

	if (x->bytes <= 4) {
		gather_dwords(c, in, x);
		return;
	}
	for (q = 0; q < 4; q++)
		if (!jm_windows64(c, x, q, (int)q)) {
			j_undo(c, save);
			if (!jp_ld(c, in, x))
				jw_ld(c, in, x);
			return;
		}
	jm_split64(c, in);
}

static bool ld_pattern(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 e, slow = 0, done = 0;
	bool all;

	if ((jm_is_row(x) && ld_row(c, in, x)) || jr_ld_parts(c, in, x))
		return true;
	if (in->dw && in->size == 8 && in->vec == 1 && in->o[0] != OPND_NONE) {
		u32 p;

		if (!c->gk && (!c->full || !jm_ld_shapes64(c, in, x))) {
			slow = jm_unless_all(c);
			if (jm_ld_shapes64(c, in, x))
				done = g_jmp(a);
			g_here(a, slow);
		} else if (!c->gk) {
			return true;
		}
		for (p = 0; p < 4; p++) {
			s32 off[16] = { 0 };

			memcpy(off, x->pat + 8 * p, 32);
			ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, off, 64), 0));
			k_mov(a, 7, jv_mask(c, 1, p));
			jf_gather(c, V_GATHERDQ, 3, rm_vidx(x->base, 2, 0, x->disp), x->step);
			jv_put(c, in->o[0], p, 3);
		}
		if (done)
			g_here(a, done);
		return true;
	}
	if (in->dw && in->vec > 1)
		return jw_ld(c, in, x);
	if (in->dw || in->size > 4)
		return false;
	all = !c->gk && (in->vec > 1 || in->o[0] != OPND_NONE);
	if (all) {
		slow = c->full ? 0 : jm_unless_all(c);
		if (in->size == 4 && in->vec == 4 ? ld_quads(c, in, x) : ld_shapes(c, in, x)) {
		} else if (jw_wide(in)) {
			ld_pieces(c, in, x);
		} else {
			if ((in->vec > 1 && jm_combs(c, in, x, 4)) || ((x->bytes <= 4 || in->size == 4) && ld_windows(c, in, x)) || jm_combs(c, in, x, 4) ||
			    jm_narrow_combs(c, in, x))
				c->half = OPND_NONE;    /* the lanes' halves lie in dwords here */
			else {
				c->walks |= c->s->b[c->block].depth != 0;
				if (!jp_ld(c, in, x))
					ld_picked(c, in, x);
			}
		}
		if (c->full && c->half != OPND_NONE)
			c->after_half = g_jmp(a);
		if (c->full)
			return true;
		done = g_jmp(a);
		g_here(a, slow);
	}
	if (jw_wide(in) && x->bytes > 4)
		jw_ld(c, in, x);
	else if (jw_wide(in))
		gather_dwords(c, in, x);
	else
		for (e = 0; e < in->vec; e++)
			gather_known(c, in, x, e);
	if (all && c->half != OPND_NONE)
		c->after_half = done;
	else if (all)
		g_here(a, done);
	return true;
}

/* ---- varying addresses ------------------------------------------------------------------ */

/*
 * The result may be where the address is, which is still needed: by the parts that follow, and by the slow way, which does
 * all of them again. Then all parts wait in zmm 4..7.
 */
static void vary_part(struct jcomp *c, const struct insn *in, u32 e, u32 part)
{
	if (in->o[e] == in->o[4])
		ev(&c->a, V_MOVA32, 4 + (int)part, 0, rm_reg(3));
	else
		jv_put(c, in->o[e], part, 3);
}

static void vary_done(struct jcomp *c, const struct insn *in, u32 parts)
{
	u32 p;

	for (p = 0; in->o[0] == in->o[4] && p < parts; p++)
		jv_put(c, in->o[0], p, 4 + (int)p);
}

static bool ld_vary(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 step, q, e, p, done, same, level;

	if (in->size * in->vec > 16 || (in->dw && in->size != 8) || (!in->dw && in->size > 4))
		return false;
	if (!jm_window(in) && !in->aw)
		return false;
	if ((jw_wide(in) || in->dw) && in->size * in->vec == 16)
		return jw_ld(c, in, NULL);
	step = j_exit(c, JX_STEP, c->pc, 0);
	if (jt_ld(c, in, step))
		return true;
	if (in->dw && in->o[0] == OPND_NONE)
		return false;
	if (in->dw && !in->aw)
		return jw_ld(c, in, NULL);
	if (!jm_vary_base(c, in, step))
		return false;
	if (!in->aw) {
		for (p = 0; p < 2; p++) {
			level = in->vec == 1 ? jr_level(c, in, p, step, 3) : 0;
			done = jr_ld(c, in, p, step, 3);
			jm_vary32(c, in, p, step, JM_CHECK | JM_ADDRESS);
			if (in->vec > 1 && in->size * in->vec == 4) {
				jf_gather(c, V_GATHERDD, 3, rm_vidx(RAX, 0, 0, 0), step);
				split32(c, in, p, 3);
				continue;
			}
			for (e = 0; e < in->vec; e++) {
				if (in->o[e] == OPND_NONE)
					continue;
				if (e)
					k_mov(a, 7, jv_mask(c, 0, p));
				jf_gather(c, V_GATHERDD, 3, rm_vidx(RAX, 0, 0, (s32)(e * in->size)), step);
				jm_narrow(c, 3, in->size, in->flags & INF_SIGNED, 0);
				if (done)
					g_here(a, done);
				if (level)
					g_here(a, level);
				vary_part(c, in, e, p);
			}
		}
		vary_done(c, in, 2);
		return true;
	}
	same = jr_same(c, in, step);
	if (in->dw) {
		for (q = 0; q < 4; q++) {
			int x;

			level = jr_level(c, in, q, step, 3);
			done = jr_ld(c, in, q, step, 3);
			x = jm_vary64_in(c, in, q, step, JM_CHECK | JM_ADDRESS);
			jf_gather(c, V_GATHERQQ, 3, rm_vidx(RAX, x, 0, 0), step);
			if (done)
				g_here(a, done);
			if (level)
				g_here(a, level);
			vary_part(c, in, 0, q);
		}
		vary_done(c, in, 4);
		if (same)
			g_here(a, same);
		return true;
	}
	if (in->vec > 1 && in->size * in->vec == 8) {
		for (p = 0; p < 2; p++) {
			level = jr_level(c, in, p, step, 5);
			done = jr_beside(c, in, p, step);
			jr_eights(c, in, p, step);
			for (e = 0; e < in->vec; e++) {
				u32 at = e * in->size;

				if (in->o[e] == OPND_NONE)
					continue;
				even_odd(c, 5, 3, 4, at >= 4);
				jm_narrow(c, 5, in->size, in->flags & INF_SIGNED, at & 3);
				jv_put(c, in->o[e], p, 5);
			}
			if (done)
				g_here(a, done);
			if (level)
				g_here(a, level);
		}
		return true;
	}
	if (in->vec > 1 && in->size * in->vec == 4) {
		for (p = 0; p < 2; p++) {
			for (q = 0; q < 2; q++) {
				jm_vary64(c, in, 2 * p + q, step, JM_CHECK | JM_ADDRESS);
				jf_gather(c, V_GATHERQD, 3 + (int)q, rm_vidx(RAX, 0, 0, 0), step);
			}
			ev_i(a, V_INSERT64X4, 3, 3, rm_reg(4), 0, 0, 1);
			split32(c, in, p, 3);
		}
		return true;
	}
	/* eight lanes a gather; halves of the four elements gather in zmm 4..7 */
	for (p = 0; p < 2; p++) {
		level = in->vec == 1 ? jr_level(c, in, p, step, 4) : 0;
		done = jr_ld(c, in, p, step, 4);
		for (q = 0; q < 2; q++) {
			int x = jm_vary64_in(c, in, 2 * p + q, step, JM_CHECK | JM_ADDRESS);

			for (e = 0; e < in->vec; e++) {
				int t = 4 + (int)e;

				if (in->o[e] == OPND_NONE)
					continue;
				if (e)
					k_mov(a, 7, jv_mask(c, 1, 2 * p + q));
				jf_gather(c, V_GATHERQD, 3, rm_vidx(RAX, x, 0, (s32)(e * in->size)), step);
				if (!q)
					ev(a, V_MOVA32, t, 0, rm_reg(3));
				else
					ev_i(a, V_INSERT64X4, t, t, rm_reg(3), 0, 0, 1);
				if (q) {
					jm_narrow(c, t, in->size, in->flags & INF_SIGNED, 0);
					if (done)
						g_here(a, done);
					if (level)
						g_here(a, level);
					jv_put(c, in->o[e], p, t);
				}
			}
		}
	}
	if (same)
		g_here(a, same);
	return true;
}

bool jit_ld(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct acc x;
	u32 e;

	if (in->kind == K_LDPARAM) {
		g_load(a, 1, RAX, PM(pwin));
		for (e = 0; e < in->vec; e++)
			if (in->o[e] != OPND_NONE) {
				jm_load_scalar(c, in, RCX, rm_mem(RAX, (s32)(in->imm + e * in->size)));
				jm_put_uniform(c, in->o[e], RCX);
			}
		return true;
	}
	if (in->space == SPACE_PARAM)
		return false;
	if (jm_widens(c, in))
		return jm_ld_widened(c, in);
	/* elements are written while the address is still needed */
	for (e = 0; e < in->vec; e++)
		if (in->vec > 1 && in->o[e] == in->o[4])
			return false;
	if (!jm_addr(c, in, &x))
		return jit_val(c, in->o[4], in->aw).cls == JC_VARY && (jx_ld(c, in) || ld_vary(c, in));
	if (x.v.cls == JC_UNI && jw_wide(in)) {
		jw_ld_one(c, in, &x);
		return true;
	}
	if (x.v.cls == JC_UNI) {
		bool stays = false;

		for (e = 0; e < in->vec; e++) {
			if (js_stays(c, in, e)) {
				stays = true;
				continue;
			}
			j_site(c, x.step);
			jm_load_scalar(c, in, RCX, rm_mem(x.base, x.disp + (s32)(e * in->size)));
			if (in->o[e] != OPND_NONE)
				jm_put_uniform(c, in->o[e], RCX);
		}
		if (stays)
			js_stayed(c, in);
		return true;
	}
	for (e = 0; e < in->vec; e++)
		if (in->o[e] != OPND_NONE && c->r[in->o[e]].cls != JC_VARY)
			return false;
	return ld_pattern(c, in, &x);
}
