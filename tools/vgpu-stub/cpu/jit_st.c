/* SPDX-License-Identifier: MIT */
/*
 * Stores. jit_addr.c says how addresses are checked and what happens when they fail. Called by jit.c, one instruction at a time.
 */
#include "jit_mem.h"
#include "lanes.h"

/* Stored by a lane: units of 4 or 8 bytes, or one narrow element. */
static u32 units(const struct insn *in) { return in->size < 4 && in->vec > 1 ? in->size * in->vec / 4 : in->vec; }
static u32 unit_bytes(const struct insn *in) { return in->size < 4 && in->vec > 1 ? 4 : in->size; }

/* cx to memory */
static void st_word(struct as *a, struct rm m)
{
	as_room(a, 32);
	b1(a, 0x66);
	g_op(a, 0, 0x89, RCX, m, 0);
}

/* Unit u of the part's lanes; narrow elements side by side in it. */
int jm_st_value(struct jcomp *c, const struct insn *in, u32 u, u32 part, int tmp)
{
	struct as *a = &c->a;
	u32 per = 4 / in->size, e;

	if (unit_bytes(in) == in->size)
		return jv_obs(c, in->o[u], in->dw, part, tmp);
	for (e = 0; e < per; e++) {
		int x = jv_obs(c, in->o[u * per + e], 0, part, 5);

		/* to the top, then down to its place */
		ev_i(a, V_PSHID, 6, e ? 5 : tmp, rm_reg(x), 0, 0, 32 - 8 * in->size);
		if (e + 1 < per)
			ev_i(a, V_PSHID, 2, e ? 5 : tmp, rm_reg(e ? 5 : tmp), 0, 0, 32 - 8 * in->size * (e + 1));
		if (e)
			ev(a, V_PORD, tmp, tmp, rm_reg(5));
	}
	return tmp;
}

/* Zen stores two halves of a line a fifth faster than a whole one. */
static bool halves(void) { return __builtin_cpu_is("amd"); }

/* under: the mask, else all lanes run. False: nothing emitted. */
static bool st_parts(struct jcomp *c, const struct insn *in, const struct acc *x, bool under)
{
	struct as *a = &c->a;
	u32 p, i, idx[16], op, n, bytes = unit_bytes(in);
	int s = 0, t = 0;

	if (jm_unpacks(in)) {
		jit_unpack_st(c, in, x, under);
		return true;
	}
	if (units(in) == 1) {
		if (in->dw != (in->size == 8))
			return false;
		op = bytes == 8 ? V_MOVU64_ST : bytes == 4 ? V_MOVU32_ST : bytes == 2 ? V_PMOVDW : V_PMOVDB;
		n = bytes == 8 ? 64 : 16 * bytes;
		for (p = 0; p < (in->dw ? 4u : 2u); p++) {
			int k = 0;

			s = jm_st_value(c, in, 0, p, 0);
			if (under)
				k = jv_mask(c, in->dw, p);
			j_site(c, x->step);
			if (!under && n == 64 && halves()) {
				ev_n(a, V_LL(op, 1), s, 0, rm_mem(x->base, x->disp + (s32)(64 * p)), 0, 0, 0, 32, 0);
				ev_i(a, V_EXTRACT64X4, s, 0, rm_reg(1), 0, 0, 1);
				j_site(c, x->step);
				ev_n(a, V_LL(op, 1), 1, 0, rm_mem(x->base, x->disp + (s32)(64 * p + 32)), 0, 0, 0, 32, 0);
				continue;
			}
			ev_n(a, op, s, 0, rm_mem(x->base, x->disp + (s32)(n * p)), k, 0, 0, n, 0);
		}
		return true;
	}
	if (bytes != 4 || in->dw || units(in) != 2)
		return false;
	for (p = 0; p < 4; p++) {
		int k = 0;

		if (!(p & 1)) {
			s = jm_st_value(c, in, 0, p / 2, 0);
			t = jm_st_value(c, in, 1, p / 2, 1);
		}
		for (i = 0; i < 16; i++)
			idx[i] = (i & 1) * 16 + (p & 1) * 8 + i / 2;
		ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, idx, 64), 0));
		ev(a, V_PERMI2D, 2, s, rm_reg(t));
		if (under)
			k = jv_mask(c, 1, p);
		j_site(c, x->step);
		ev_n(a, V_MOVU64_ST, 2, 0, rm_mem(x->base, x->disp + (s32)(64 * p)), k, 0, 0, 64, 0);
	}
	return true;
}

/*
 * Not only when it must: behind a store under a mask a load waits for it that has the same place in its page. Zen takes 300 cycles for
 * what another plane of a volume has there; without a mask it sees at once that it is another. Where a load of the same place has gone
 * before, as in y = a * x + y, the mask costs nothing, and the other way an eighth. Flags are eaten.
 */
u32 jm_unless_all(struct jcomp *c)
{
	g_alui(&c->a, 0, G_CMP, PM(m), -1);
	return g_jcc(&c->a, CC_NE);
}

static bool st_row(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	u32 some, done;

	if (c->gk || x->back)
		return st_parts(c, in, x, true);
	if (c->full)
		return st_parts(c, in, x, false);
	some = jm_unless_all(c);
	if (!st_parts(c, in, x, false))
		return false;           /* the caller takes back the comparison */
	done = g_jmp(&c->a);
	g_here(&c->a, some);
	st_parts(c, in, x, true);
	g_here(&c->a, done);
	return true;
}

/* Lanes 4g .. 4g+3 of the 16 in r[0..3], four elements of each side by side. */
int jm_quad(struct jcomp *c, const int *r, u32 g)
{
	struct as *a = &c->a;
	u32 i, idx[16];
	u64 qi[8];

	/* a b a b ... and c d c d ..., then as pairs */
	for (i = 0; i < 16; i++)
		idx[i] = (i & 1) * 16 + g * 4 + (i / 2 & 3);
	ev(a, V_MOVA32, 4, 0, rm_lit(j_lit(c, idx, 64), 0));
	ev(a, V_MOVA32, 5, 0, rm_reg(4));
	ev(a, V_PERMI2D, 4, r[0], rm_reg(r[1]));
	ev(a, V_PERMI2D, 5, r[2], rm_reg(r[3]));
	for (i = 0; i < 8; i++)
		qi[i] = (i & 1) * 8 + i / 2;
	ev(a, V_MOVA64, 6, 0, rm_lit(j_lit(c, qi, 64), 0));
	ev(a, V_PERMI2Q, 6, 4, rm_reg(5));
	return 6;
}

/* 16 bytes a lane in a row, all lanes running */
static void st_quads(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 p, i, g;

	for (p = 0; p < 2; p++) {
		int r[4];

		for (i = 0; i < 4; i++)
			r[i] = jv_obs(c, in->o[i], 0, p, (int)i);
		for (g = 0; g < 4; g++) {
			int t = jm_quad(c, r, g);

			j_site(c, x->step);
			ev_n(a, V_MOVU32_ST, t, 0, rm_mem(x->base, x->disp + (s32)(256 * p + 64 * g)), 0, 0, 0, 64, 0);
		}
	}
}

/* The 32 bits that the last of the lanes that run has in o, a vector in registers, in zmm 0. The mask is in edx if one guards. */
static void last_lane(struct jcomp *c, u32 o)
{
	struct as *a = &c->a;
	int low = jv_reg(c, o, 0, 0, 1), high = jv_reg(c, o, 0, 1, 2);

	g_bsr(a, RCX, c->gk == 1 ? rm_reg(RDX) : PM(m));
	ev(a, V_PBCASTD_R, 0, 0, rm_reg(RCX));
	ev(a, V_PERMI2D, 0, low, rm_reg(high));
	if (c->r[o].rawf)
		jv_canon(c, 0, 0);
}

/*
 * All lanes store to one place: the last of them that runs stays. Values that are not in registers go through P, from where the lane's is taken;
 * a scatter takes as long as all lanes even for one.
 */
static void st_one(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	bool wide = jw_wide(in);
	u32 e, p, at;

	if (c->gk == 1)
		k_to(a, RDX, 5);
	for (e = 0; e < in->vec; e++) {
		struct rm to = rm_mem(x->base, x->disp + (s32)(e * in->size));
		u32 o = in->o[e];

		if (!(o & OPND_CONST) && !in->dw && in->size == 4 && c->r[o].cls == JC_VARY && c->r[o].loc == LOC_ZMM) {
			last_lane(c, o);
			if (wide)
				to = rm_mem(RBX, (s32)(JP_WIDE + e * in->size));
			else
				j_site(c, x->step);
			ev_n(a, V_LL(V_MOVD_ST, 0), 0, 0, to, 0, 0, 0, 4, 0);
			continue;
		}
		if (jit_val(c, o, in->dw).cls == JC_UNI) {
			ju_load(c, RCX, o, in->dw);
		} else {
			bool home = !(o & OPND_CONST) && c->r[o].cls == JC_VARY && c->r[o].loc == LOC_MEM;
			u32 from = home ? c->r[o].home : JP_LANES;

			for (p = 0; !home && p < (in->dw ? 4u : 2u); p++)
				ev(a, V_MOVA32_ST, jv_reg(c, o, in->dw, p, 0), 0, rm_mem(RBX, (s32)(JP_LANES + 64 * p)));
			g_bsr(a, RCX, c->gk == 1 ? rm_reg(RDX) : PM(m));
			g_load(a, in->dw, RCX, rm_idx(RBX, RCX, in->dw ? 3 : 2, (s32)from));
		}
		if (!(o & OPND_CONST) && c->r[o].rawf) {
			/* the NaN that every NaN is */
			ev_n(a, V_LL(V_MOVD, 0), 0, 0, rm_reg(RCX), 0, 0, 0, 4, 0);
			ev_n(a, V_LL(V_UCOMISS, 0), 0, 0, rm_reg(0), 0, 0, 0, 4, 0);
			at = g_jcc(a, CC_NP);
			g_movi(a, RCX, 0x7fffffff);
			g_here(a, at);
		}
		if (wide)
			to = rm_mem(RBX, (s32)(JP_WIDE + e * in->size));
		else
			j_site(c, x->step);
		if (in->size == 1)
			g_op(a, 0, 0x88, RCX, to, 0);
		else if (in->size == 2)
			st_word(a, to);
		else
			g_store(a, in->size == 8, to, RCX);
	}
	if (wide)
		jw_st_one(c, in, x);
}

/*
 * All lanes run: each one's unit straight from its place in the register, in order. A scatter takes three times as long on some
 * processors, and on none less.
 */
static void st_each(struct jcomp *c, const struct insn *in, const struct acc *x, u32 u, u32 p)
{
	struct as *a = &c->a;
	u32 per = in->dw ? 2 : 4, l;
	int s = jm_st_value(c, in, u, p, 0);

	for (l = 0; l < 4 * per; l++) {
		struct rm to = rm_mem(x->base, x->disp + (s32)(u * unit_bytes(in)) + x->pat[4 * per * p + l]);
		int t = l < per ? s : 1;

		if (l >= per && l % per == 0)
			ev_i(a, V_SHUF32X4, 1, s, rm_reg(s), 0, 0, l / per);
		j_site(c, x->step);
		if (l % per) {
			ev_n(a, V_LL(in->dw ? V_PEXTRQ : V_PEXTRD, 0), t, 0, to, 0, 0, 0, in->dw ? 8 : 4, 1);
			b1(a, l % per);
		} else {
			ev_n(a, V_LL(in->dw ? V_MOVQ_ST : V_MOVD_ST, 0), t, 0, to, 0, 0, 0, in->dw ? 8 : 4, 0);
		}
	}
}

/* Those lanes that run, in order: where several write one address, the last one wins; units one by one. */
static void scatter(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 u, p;

	for (u = 0; u < units(in); u++)
		for (p = 0; p < (in->dw ? 4u : 2u); p++) {
			s32 off[16] = { 0 };
			int s;

			memcpy(off, x->pat + (in->dw ? 8 : 16) * p, in->dw ? 32 : 64);
			ev(a, V_MOVA32, 2, 0, rm_lit(j_lit(c, off, 64), 0));
			s = jm_st_value(c, in, u, p, 0);
			k_mov(a, 7, jv_mask(c, in->dw, p));
			jf_scatter(c, in->dw ? V_SCATTERDQ : V_SCATTERDD, s, rm_vidx(x->base, 2, 0, x->disp + (s32)(u * unit_bytes(in))), x->step);
		}
}

static void st_scatter(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct as *a = &c->a;
	u32 u, p, some = 0, done = 0;

	if (!c->gk) {
		some = jm_unless_all(c);
		if (!jp_st(c, in, x))
			for (u = 0; u < units(in); u++)
				for (p = 0; p < (in->dw ? 4u : 2u); p++)
					st_each(c, in, x, u, p);
		done = g_jmp(a);
		g_here(a, some);
	}
	scatter(c, in, x);
	if (done)
		g_here(a, done);
}

/* The same at 64-bit addresses that nobody knows beforehand, which go through P: of part p of the values. */
static void st_each_vary(struct jcomp *c, const struct insn *in, u32 p, u32 step)
{
	struct as *a = &c->a;
	u32 per = in->dw ? 2 : 4, n = in->dw ? 1 : 2, u, l;

	for (l = 0; l < n; l++)
		ev(a, V_MOVA64_ST, jm_vary64_in(c, in, n * p + l, step, JM_ADDRESS), 0, rm_mem(RBX, (s32)(JP_LANES + 64 * l)));
	for (u = 0; u < units(in); u++) {
		int s = jm_st_value(c, in, u, p, 3);

		for (l = 0; l < 4 * per; l++) {
			struct rm to = rm_idx(RAX, RCX, 0, (s32)(u * unit_bytes(in)));
			int t = l < per ? s : 1;

			if (l >= per && l % per == 0)
				ev_i(a, V_SHUF32X4, 1, s, rm_reg(s), 0, 0, l / per);
			g_load(a, 1, RCX, rm_mem(RBX, (s32)(JP_LANES + 8 * l)));
			j_site(c, step);
			if (l % per) {
				ev_n(a, V_LL(in->dw ? V_PEXTRQ : V_PEXTRD, 0), t, 0, to, 0, 0, 0, in->dw ? 8 : 4, 1);
				b1(a, l % per);
			} else {
				ev_n(a, V_LL(in->dw ? V_MOVQ_ST : V_MOVD_ST, 0), t, 0, to, 0, 0, 0, in->dw ? 8 : 4, 0);
			}
		}
	}
}

/* Of a vector to global memory, each lane's is one. */
static bool st_wide(struct jcomp *c, const struct insn *in, const struct acc *x)
{
	struct jmark save = j_mark(c);
	struct as *a = &c->a;
	u32 some, done;
	bool ok;

	if (c->gk)
		return jw_st(c, in, x);
	some = jm_unless_all(c);
	if (!jp_st(c, in, x)) {
		j_undo(c, save);
		return jw_st(c, in, x);
	}
	done = g_jmp(a);
	g_here(a, some);
	ok = jw_st(c, in, x);
	g_here(a, done);
	return ok;
}

static bool st_vary(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 p, u, step, done = 0, each = 0, some;
	int s;

	if (!jm_window(in) && !in->aw)
		return false;
	step = j_exit(c, JX_STEP, c->pc, 0);
	if (!jm_vary_base(c, in, step))
		return false;
	for (p = 0; p < (in->aw ? 4u : 2u); p++)
		in->aw ? jm_vary64(c, in, p, step, JM_CHECK) : jm_vary32(c, in, p, step, JM_CHECK);
	for (p = 0; p < (in->aw ? 4u : 2u); p++) {
		if (in->dw || !in->aw || !(p & 1)) {
			done = jr_st(c, in, in->dw || !in->aw ? p : p / 2, step);
			if (in->aw && !c->gk) {
				some = jm_unless_all(c);
				st_each_vary(c, in, in->dw ? p : p / 2, step);
				each = g_jmp(a);
				g_here(a, some);
			}
		}
		if (in->aw)
			jm_vary64(c, in, p, step, JM_ADDRESS);
		else
			jm_vary32(c, in, p, step, JM_ADDRESS);
		for (u = 0; u < units(in); u++) {
			struct rm at = rm_vidx(RAX, 0, 0, (s32)(u * unit_bytes(in)));

			if (in->aw && !in->dw) {
				s = jm_st_value(c, in, u, p / 2, 3);
				if (p & 1) {
					ev_i(a, V_EXTRACT64X4, s, 0, rm_reg(4), 0, 0, 1);
					s = 4;
				}
				k_mov(a, 7, jv_mask(c, 1, p));
				jf_scatter(c, V_SCATTERQD, s, at, step);
			} else {
				s = jm_st_value(c, in, u, p, 3);
				k_mov(a, 7, jv_mask(c, in->aw, p));
				jf_scatter(c, in->dw ? V_SCATTERQQ : V_SCATTERDD, s, at, step);
			}
		}
		if (in->dw || !in->aw || (p & 1)) {
			if (done)
				g_here(a, done);
			if (each)
				g_here(a, each);
			done = each = 0;
		}
	}
	return true;
}

/* The lower part of a register of 64 bits. */
static bool st_low(struct jcomp *c, const struct insn *in)
{
	struct insn half = *in;
	u32 q;

	for (q = 0; q < 4; q++)
		ev_n(&c->a, V_PMOVQD, jv_reg(c, in->o[0], 1, q, 0), 0, rm_mem(RBX, (s32)(JP_RESULT + 32 * q)), 0, 0, 0, 32, 0);
	half.dw = 0;
	half.o[0] = jm_half(c);
	return jit_st(c, &half);
}

bool jit_st(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct acc x;

	if (in->space == SPACE_PARAM || (!in->dw && in->size > 4))
		return false;
	if (jm_unpacks(in))
		return jm_addr(c, in, &x) && x.v.cls == JC_PAT && jm_is_row(&x) && st_row(c, in, &x);
	if (in->dw && in->size < 8)
		return in->vec == 1 && st_low(c, in);
	if (in->vec > 1 && in->size < 4 && in->size * in->vec % 4)
		return in->size * in->vec == 2 && !in->dw && jb_st(c, in, jm_addr(c, in, &x) ? &x : NULL);
	if (jm_addr(c, in, &x)) {
		if (x.v.cls == JC_UNI) {
			st_one(c, in, &x);
			return true;
		}
		struct jmark mark = j_mark(c);

		if (jm_is_row(&x) && st_row(c, in, &x))
			return true;
		j_undo(c, mark);
		if (jr_st_parts(c, in, &x))
			return true;
		if (jm_is_row(&x) && in->vec == 4 && in->size == 4 && !c->gk) {
			u32 some = jm_unless_all(c), done;

			st_quads(c, in, &x);
			done = g_jmp(a);
			g_here(a, some);
			if (!jw_wide(in))
				scatter(c, in, &x);
			else if (!jw_st(c, in, &x))
				return false;
			g_here(a, done);
			return true;
		}
		if (unit_bytes(in) < 4)
			return !in->dw && jb_st(c, in, &x);
		if (units(in) > 1 && jw_wide(in))
			return st_wide(c, in, &x);
		st_scatter(c, in, &x);
		return true;
	}
	if (jit_val(c, in->o[4], in->aw).cls != JC_VARY)
		return false;
	if (jx_st(c, in))
		return true;
	if ((units(in) > 1 && jw_wide(in)) || (in->dw && !in->aw))
		return jw_st(c, in, NULL);
	return unit_bytes(in) >= 4 ? st_vary(c, in) : jb_st(c, in, NULL);
}
