/* SPDX-License-Identifier: MIT */
/* Stores of a strip; addresses as in mem.c. */
#include "mem.h"
#include "vex.h"

#define FEW 3u                  /* lanes; as many are stored in less time without rounds by lane, whose end nobody can foretell */

static void store_gpr(struct scomp *c, u32 size, struct rm m, int gpr)
{
	struct as *a = &c->a;

	if (size == 2) {
		as_room(a, 16);
		b1(a, 0x66);
	}
	g_op(a, size == 8, size == 1 ? 0x88 : 0x89, gpr, m, 0);
}

/*
 * Shared memory has one worker: some lanes of a row may be stored as the whole, with what is there for the others. Where lanes are apart that
 * is done at once, without a look whether all run.
 */
static bool blends_in(const struct insn *in) { return in->space == SPACE_SHARED; }
static bool often_some(const struct scomp *c) { return c->guarded || c->cur->keep; }

/* ymm tmp = what is to be stored at m, x for those that run. In tmp or memory */
static void blend_row(struct scomp *c, struct rm m, int x, int mask, int tmp)
{
	struct as *a = &c->a;

	s_site(c);
	vy(a, X_MOVU, tmp, 0, m);
	vyi(a, X_BLENDVPS, tmp, tmp, rm_reg(x), (u32)mask << 4);
	s_site(c);
	vy(a, X_MOVU_ST, tmp, 0, m);
}

/* Eight words next to each other. A store under a mask takes many times a plain one's time, and nothing that loads from there is forwarded. */
static void put_row(struct scomp *c, const struct insn *in, struct rm m, int x)
{
	struct as *a = &c->a;
	u32 part, over;

	if (blends_in(in) && (c->some || (!c->stage && often_some(c)))) {
		blend_row(c, m, x, s_mask(c), 1);
		return;
	}
	part = s_unless_all(c);
	s_site(c);
	vy(a, X_MOVU_ST, x, 0, m);
	if (!part)
		return;
	over = g_jmp(a);
	g_here(a, part);
	if (blends_in(in)) {
		blend_row(c, m, x, s_mask(c), 1);
	} else {
		s_site(c);
		vy(a, X_MASKMOVD_ST, x, s_mask(c), m);
	}
	g_here(a, over);
}

/* Lanes next to each other; false: not of a kind that is done so */
static bool store_row(struct scomp *c, const struct insn *in, struct sval v)
{
	struct as *a = &c->a;
	u32 part, over;
	struct rm m;
	int x, y;

	if (in->vec > 1 || (in->size == 8) != in->dw)
		return false;
	if (in->size == 8) {
		x = sv(c, in->o[0], 1, 0, 0);
		y = sv(c, in->o[0], 1, 1, 1);
		m = s_row_address(c, in, v);
		part = s_unless_all(c);
		s_site(c);
		vy(a, X_MOVU_ST, x, 0, m);
		s_site(c);
		vy(a, X_MOVU_ST, y, 0, s_off(m, 32));
		if (!part)
			return true;
		over = g_jmp(a);
		g_here(a, part);
		s_wide_mask(c, s_mask(c), 2, 3);
		s_site(c);
		vy(a, X_MASKMOVQ_ST, x, 2, m);
		s_site(c);
		vy(a, X_MASKMOVQ_ST, y, 3, s_off(m, 32));
		g_here(a, over);
		return true;
	}
	x = sv_obs(c, in->o[0], 0, 0, 0);
	if (in->size == 4) {
		put_row(c, in, s_row_address(c, in, v), x);
		return true;
	}
	vy(a, X_PAND, 0, x, s_splat32(c, in->size == 2 ? 0xffff : 0xff));
	vr(a, X_PACKUSDW, 0, 0, 0);
	vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0x08);
	m = s_row_address(c, in, v);
	s_mask_bits(c, RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
	s_slow_if(c, CC_NE);
	if (in->size == 1) {
		vx_x(a, X_PACKUSWB, 0, 0, rm_reg(0));
		s_site(c);
		vx_x(a, VOP(1, 1, 0, 0xd6), 0, 0, m);      /* vmovq */
	} else {
		s_site(c);
		vx_x(a, X_MOVU_ST, 0, 0, m);
	}
	return true;
}

/* Word k of a vector of elements below 32 bits: a thread's vector is one access. */
static int word_of(struct scomp *c, const struct insn *in, u32 k)
{
	struct as *a = &c->a;
	u32 bits = 8u * in->size, per = 32 / bits, e;

	for (e = 0; e < per && k * per + e < in->vec; e++) {
		int d = e ? 1 : 0, x = sv_obs(c, in->o[k * per + e], 0, 0, d);

		if (e + 1 < per) {
			vy(a, X_PAND, d, x, s_splat32(c, (1u << bits) - 1));
			x = d;
		}
		if (e) {
			vy(a, X_PSLLVD, 1, x, s_splat32(c, bits * e));
			vr(a, X_POR, 0, 0, 1);
		}
	}
	return 0;
}

/* Elements of up to 32 bits of all lanes, in their order, at the addresses in ymm0 and ymm1. */
static void store_each(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 op = in->size == 4 ? X_PEXTRD_TO : in->size == 2 ? X_PEXTRW_TO : X_PEXTRB_TO, i;
	int x = sv_obs(c, in->o[0], 0, 0, 2);

	for (i = 0; i < STRIP; i += 2) {
		int at = i < 4 ? 0 : 1;

		if (i == 4) {
			vyi(a, X_EXTRACT, x, 0, rm_reg(2), 1);
			x = 2;
		}
		if (i & 2)
			vyi(a, X_EXTRACT, at, 0, rm_reg(at), 1);
		vx_x(a, X_MOVQ_ST, at, 0, rm_reg(RAX));
		vx(a, X_PEXTRQ, 0, at, 0, rm_reg(RCX), 1);
		b1(a, 1);
		s_site(c);
		vx(a, op, 0, x, 0, rm_mem(RAX, 0), 1);
		b1(a, (i & 3) * (4 / in->size));
		s_site(c);
		vx(a, op, 0, x, 0, rm_mem(RCX, 0), 1);
		b1(a, ((i & 3) + 1) * (4 / in->size));
	}
}

/* A jump for when few lanes run. */
static u32 if_few(struct scomp *c)
{
	struct as *a = &c->a;

	s_mask_bits(c, RAX);
	g_popcnt(a, RAX, rm_reg(RAX));
	g_alui(a, 0, G_CMP, rm_reg(RAX), FEW);
	return g_jcc(a, CC_B);
}

/* Four words of each lane, whose addresses are in ymm0 and ymm1: rows, which are stored in the lanes' order. Who does not run has a place of the warp's own. */
static void store_rows(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 few, over, top, k;
	int x, y;

	s_idle_lanes(c, L_IDLE_ST);
	s_store_addresses(c);
	y = sv_obs(c, in->o[1], 0, 0, 1);
	x = sv_obs(c, in->o[0], 0, 0, 0);
	vr(a, X_PUNPCKHDQ, 2, x, y);
	vr(a, X_PUNPCKLDQ, 0, x, y);
	y = sv_obs(c, in->o[3], 0, 0, 14);
	x = sv_obs(c, in->o[2], 0, 0, 1);
	vr(a, X_PUNPCKHDQ, 3, x, y);
	vr(a, X_PUNPCKLDQ, 1, x, y);
	vr(a, X_PUNPCKLQDQ, 14, 0, 1);
	vr(a, X_PUNPCKHQDQ, 0, 0, 1);
	vr(a, X_PUNPCKLQDQ, 1, 2, 3);
	vr(a, X_PUNPCKHQDQ, 2, 2, 3);
	/* lanes 0 and 4, 1 and 5 and so on */
	for (k = 0; k < 4; k++) {
		static const u8 at[] = { 14, 0, 1, 2 };

		vx_x(a, X_MOVU_ST, at[k], 0, s_mem_lanes_at(L_COLS + 16 * k));
		vyi(a, X_EXTRACT, at[k], 0, s_mem_lanes_at(L_COLS + 16 * (k + 4)), 1);
	}
	few = if_few(c);
	for (k = 0; k < STRIP; k++) {
		g_load(a, 1, RAX, s_mem_lanes_at(L_ADDR + 8 * k));
		vx_x(a, X_MOVU, 0, 0, s_mem_lanes_at(L_COLS + 16 * k));
		s_site(c);
		vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
	}
	over = g_jmp(a);
	g_here(a, few);
	top = s_each_lane(c);
	g_shi(a, 0, G_SHL, RCX, 4);
	vx_x(a, X_MOVU, 0, 0, s_mem_lanes_of(L_COLS, RCX, 0));
	s_site(c);
	vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
	s_next_lane(c, top);
	g_here(a, over);
}

/* By base and index: all at once, or round by lane. */
static void store_by_index(struct scomp *c, const struct insn *in, const struct sindex *s)
{
	struct as *a = &c->a;
	u32 some, all, top, p;
	struct rm m;

	s_index_check(c, in, s);
	s_mask_bits(c, RAX);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 255);
	some = g_jcc(a, CC_NE);
	s_index_store(c, in, s);
	all = g_jmp(a);
	g_here(a, some);
	vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_ADDR));
	for (p = 0; p < (in->dw ? 2u : 1u); p++) {
		int x = in->dw ? sv(c, in->o[0], 1, p, 0) : sv_obs(c, in->o[0], 0, 0, 0);

		vy(a, X_MOVU_ST, x, 0, s_mem_lanes_at(L_ROWS + 32 * p));
	}
	s_mask_bits(c, RDX);
	top = a->n;
	g_tzcnt(a, RCX, rm_reg(RDX));
	g_load(a, in->dw, R11, s_mem_lanes_of(L_ROWS, RCX, in->dw ? 3 : 2));
	m = s_index_place(c, in, s);
	s_site(c);
	store_gpr(c, in->size, m, R11);
	s_next_lane(c, top);
	g_here(a, all);
}

bool s_store_lanes(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	const struct sindex *s;
	bool narrow = in->vec > 1 && in->size < 4;
	u32 bytes = (u32)in->size * in->vec, n = narrow ? (bytes + 3) / 4 : in->vec, no[S_NO_ROW], nno, done = 0, some, all = 0, top, v, p;

	if (in->vec > 1 && (in->dw ? in->size != 8 || in->vec != 2 : in->size > 4))
		return false;
	if (in->vec == 1 && in->size == 8 && !in->dw)
		return false;
	if (s_may_be_row(c, in)) {
		int x = sv_obs(c, in->o[0], 0, 0, 0);
		struct rm m = s_run_row(c, in, no, &nno);

		put_row(c, in, m, x);
		done = g_jmp(a);
		while (nno)
			g_here(a, no[--nno]);
	}
	s = in->vec == 1 ? s_index_of(c, in->o[4]) : NULL;
	if (s) {
		store_by_index(c, in, s);
		if (done)
			g_here(a, done);
		return true;
	}
	s_lane_addresses(c, in);
	if (in->vec == 4 && in->size == 4 && !c->guarded) {
		store_rows(c, in);
		if (done)
			g_here(a, done);
		return true;
	}
	if (in->vec == 1 && !in->dw && in->size <= 4) {
		some = if_few(c);
		s_idle_lanes(c, L_IDLE_ST);
		store_each(c, in);
		all = g_jmp(a);
		g_here(a, some);
	}
	s_store_addresses(c);
	for (v = 0; v < n; v++)
		for (p = 0; p < (in->dw ? 2u : 1u); p++) {
			int x = narrow ? word_of(c, in, v) : in->dw ? sv(c, in->o[v], 1, p, 0) : sv_obs(c, in->o[v], 0, 0, 0);

			vy(a, X_MOVU_ST, x, 0, s_mem_lanes_at(L_ROWS + (in->dw ? 64 : 32) * v + 32 * p));
		}
	top = s_each_lane(c);
	if (n == 1) {
		g_load(a, in->dw, R11, s_mem_lanes_of(L_ROWS, RCX, in->dw ? 3 : 2));
		s_site(c);
		store_gpr(c, bytes, rm_mem(RAX, 0), R11);
	} else if (in->size == 8) {
		vx_x(a, VOP(2, 1, 0, 0x7e), 0, 0, s_mem_lanes_of(L_ROWS, RCX, 3));     /* vmovq */
		vx(a, X_PINSRQ, 0, 0, 0, s_mem_lanes_of(L_ROWS + 64, RCX, 3), 1);
		b1(a, 1);
		s_site(c);
		vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
	} else {
		vx_x(a, X_MOVD, 0, 0, s_mem_lanes_of(L_ROWS, RCX, 2));
		for (v = 1; v < n; v++) {
			vx(a, X_PINSRD, 0, 0, 0, s_mem_lanes_of(L_ROWS + 32 * v, RCX, 2), 1);
			b1(a, v);
		}
		s_site(c);
		if (bytes == 16)
			vx_x(a, X_MOVU_ST, 0, 0, rm_mem(RAX, 0));
		else
			vx_x(a, VOP(1, 1, 0, 0xd6), 0, 0, rm_mem(RAX, 0));
	}
	s_next_lane(c, top);
	if (done)
		g_here(a, done);
	if (all)
		g_here(a, all);
	return true;
}

/* ---- lanes at known distances ---------------------------------------------------------------------- */

#define X_UNPCKLPS VOP(0, 1, 0, 0x14)
#define X_UNPCKHPS VOP(0, 1, 0, 0x15)

static bool apart(const s32 *p, s32 bytes)
{
	u32 i, k;

	for (i = 0; i < STRIP; i++)
		for (k = 0; k < i; k++)
			if (p[i] - p[k] < bytes && p[k] - p[i] < bytes)
				return false;
	return true;
}

static void put(struct scomp *c, u32 op, int r, struct rm m, s32 at)
{
	s_site(c);
	vx_x(&c->a, op, r, 0, s_off(m, at));
}

/* Both halves of ymm r, 16 bytes each. */
static void put_halves(struct scomp *c, int r, struct rm m, s32 lo, s32 hi)
{
	put(c, X_MOVU_ST, r, m, lo);
	s_site(c);
	vyi(&c->a, X_EXTRACT, r, 0, s_off(m, hi), 1);
}

/* Two 8-byte lanes that xmm r holds. */
static void put_two(struct scomp *c, int r, struct rm m, const s32 *p)
{
	if (p[1] - p[0] == 8) {
		put(c, X_MOVU_ST, r, m, p[0]);
		return;
	}
	put(c, X_MOVQ_TO, r, m, p[0]);
	put(c, X_MOVHPS_TO, r, m, p[1]);
}

/* Word k of each lane's vector; ymm3 is lost. */
static int column(struct scomp *c, const struct insn *in, u32 k, int d)
{
	int x;

	if (in->size == 4)
		return sv_obs(c, in->o[k], 0, 0, d);
	x = word_of(c, in, k);
	if (x != d)
		vr(&c->a, X_MOVU, d, 0, x);
	return d;
}

/* The lowest bytes of each lane's word. */
static void put_words(struct scomp *c, u32 size, int x, struct rm m, const s32 *p)
{
	u32 op = size == 4 ? X_PEXTRD_TO : size == 2 ? X_PEXTRW_TO : X_PEXTRB_TO, i;
	struct as *a = &c->a;

	for (i = 0; i < STRIP; i++) {
		if (i == 4) {
			vyi(a, X_EXTRACT, x, 0, rm_reg(1), 1);
			x = 1;
		}
		s_site(c);
		vx(a, op, 0, x, 0, s_off(m, p[i]), 1);
		b1(a, (i & 3) * (4 / size));
	}
}

/* Words that are a row in another order, a reversed one say, and all of which run: false: they are none. ymm0 is lost. */
static bool put_turned(struct scomp *c, int x, struct rm m, const s32 *p)
{
	u32 order[STRIP], seen = 0, i;
	struct as *a = &c->a;
	s32 least = p[0];

	for (i = 1; i < STRIP; i++)
		least = p[i] < least ? p[i] : least;
	for (i = 0; i < STRIP; i++) {
		u32 place = (u32)(p[i] - least) / 4;

		if (place >= STRIP || ((p[i] - least) & 3))
			return false;
		order[place] = i;
		seen |= 1u << place;
	}
	if (seen != (1u << STRIP) - 1)
		return false;
	vy(a, X_MOVU, 0, 0, rm_lit(s_lit(c, order, 32), 0));
	vr(a, X_PERMD, 0, 0, x);
	s_site(c);
	vy(a, X_MOVU_ST, 0, 0, s_off(m, least));
	return true;
}

/* Some of them: with what is there for the others, as blends_in() says. */
static void blend_words(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	int x = column(c, in, 0, 2);

	s_mem_four(c, 0, m, p);
	s_mem_four(c, 1, m, p + 4);
	vyi(a, X_INSERT, 0, 0, rm_reg(1), 1);
	vyi(a, X_BLENDVPS, 0, 0, rm_reg(x), (u32)s_mask(c) << 4);
	put_words(c, 4, 0, m, p);
}

static void put_pairs(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	int y = column(c, in, 1, 2), x = column(c, in, 0, 0);
	bool rows = true;
	u32 i;

	if (x != 0)
		vr(a, X_MOVU, 0, 0, x);
	vr(a, X_UNPCKHPS, 1, 0, y);     /* lanes 2, 3 and 6, 7 */
	vr(a, X_UNPCKLPS, 0, 0, y);
	for (i = 1; i < STRIP; i++)
		rows &= p[i] - p[0] == 8 * (s32)i;
	if (rows) {
		vyi(a, X_PERM128, 2, 0, rm_reg(1), 0x20);
		vyi(a, X_PERM128, 3, 0, rm_reg(1), 0x31);
		s_site(c);
		vy(a, X_MOVU_ST, 2, 0, s_off(m, p[0]));
		s_site(c);
		vy(a, X_MOVU_ST, 3, 0, s_off(m, p[0] + 32));
		return;
	}
	put_two(c, 0, m, p);
	put_two(c, 1, m, p + 2);
	vyi(a, X_EXTRACT, 0, 0, rm_reg(2), 1);
	vyi(a, X_EXTRACT, 1, 0, rm_reg(3), 1);
	put_two(c, 2, m, p + 4);
	put_two(c, 3, m, p + 6);
}

static void put_quads(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	int x, y, i;

	if (!c->guarded && in->size == 4) {
		/* ymm14 is free */
		y = column(c, in, 1, 1);
		x = column(c, in, 0, 0);
		vr(a, X_UNPCKHPS, 2, x, y);
		vr(a, X_UNPCKLPS, 0, x, y);
		y = column(c, in, 3, 14);
		x = column(c, in, 2, 1);
		vr(a, X_UNPCKHPS, 3, x, y);
		vr(a, X_UNPCKLPS, 1, x, y);
		/* lanes 0 and 4, 1 and 5; then 2 and 6, 3 and 7 */
		vr(a, X_PUNPCKLQDQ, 14, 0, 1);
		vr(a, X_PUNPCKHQDQ, 0, 0, 1);
		put_halves(c, 14, m, p[0], p[4]);
		put_halves(c, 0, m, p[1], p[5]);
		vr(a, X_PUNPCKLQDQ, 14, 2, 3);
		vr(a, X_PUNPCKHQDQ, 2, 2, 3);
		put_halves(c, 14, m, p[2], p[6]);
		put_halves(c, 2, m, p[3], p[7]);
		return;
	}
	for (i = 0; i < 2; i++) {
		y = column(c, in, 2 * (u32)i + 1, 2);
		x = column(c, in, 2 * (u32)i, 0);
		vr(a, X_UNPCKHPS, 1, x, y);
		vr(a, X_UNPCKLPS, 0, x, y);
		vy(a, X_MOVU_ST, 0, 0, s_mem_lanes_at(L_COLS + 64 * (u32)i));
		vy(a, X_MOVU_ST, 1, 0, s_mem_lanes_at(L_COLS + 64 * (u32)i + 32));
	}
	/* lanes 0, 1 and 4, 5; then 2, 3 and 6, 7 */
	for (i = 0; i < 2; i++) {
		vy(a, X_MOVU, 0, 0, s_mem_lanes_at(L_COLS + 32 * (u32)i));
		vy(a, X_MOVU, 1, 0, s_mem_lanes_at(L_COLS + 64 + 32 * (u32)i));
		vr(a, X_PUNPCKLQDQ, 2, 0, 1);
		vr(a, X_PUNPCKHQDQ, 3, 0, 1);
		put_halves(c, 2, m, p[2 * i], p[2 * i + 4]);
		put_halves(c, 3, m, p[2 * i + 1], p[2 * i + 5]);
	}
}

static void put_wide(struct scomp *c, const struct insn *in, struct rm m, const s32 *p)
{
	struct as *a = &c->a;
	u32 q;

	for (q = 0; q < 2; q++, p += 4) {
		int x = sv(c, in->o[0], 1, q, 0);

		if (in->vec == 2) {
			int y = sv(c, in->o[1], 1, q, 1);

			vr(a, X_PUNPCKLQDQ, 2, x, y);
			vr(a, X_PUNPCKHQDQ, 3, x, y);
			put_halves(c, 2, m, p[0], p[2]);
			put_halves(c, 3, m, p[1], p[3]);
			continue;
		}
		put_two(c, x, m, p);
		vyi(a, X_EXTRACT, x, 0, rm_reg(1), 1);
		put_two(c, 1, m, p + 2);
	}
}

/* All lanes at once, if they run; false: not of a kind that is done so */
static bool store_pattern(struct scomp *c, const struct insn *in, struct sval v, struct sval x)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, part, over;
	const s32 *p = c->pats[x.pat];
	struct rm m;
	int x4;

	if (in->dw ? in->size != 8 : in->size > 4 || ((bytes & 3) && in->vec > 1) || bytes == 12)
		return false;
	if (!apart(p, (s32)bytes))
		return false;
	m = s_row_address(c, in, v);
	if (blends_in(in) && often_some(c) && bytes == 4) {
		blend_words(c, in, m, p);
		return true;
	}
	s_mask_bits(c, RDX);
	g_alui(a, 0, G_CMP, rm_reg(RDX), 255);
	part = g_jcc(a, CC_NE);
	if (in->dw)
		put_wide(c, in, m, p);
	else if (bytes < 4)
		put_words(c, bytes, sv_obs(c, in->o[0], 0, 0, 0), m, p);
	else if (bytes == 4 && put_turned(c, x4 = column(c, in, 0, 2), m, p))
		;
	else if (bytes == 4)
		put_words(c, 4, x4, m, p);
	else if (bytes == 8)
		put_pairs(c, in, m, p);
	else
		put_quads(c, in, m, p);
	over = g_jmp(a);
	g_here(a, part);
	if (!s_store_lanes(c, in))
		return false;
	g_here(a, over);
	return true;
}

/* A vector at one address, as the first lane of a warp stores its sum: of those that run the last one's is there in the end. */
static void store_last(struct scomp *c, const struct insn *in, struct sval v)
{
	struct as *a = &c->a;
	struct rm m;
	u32 p;

	for (p = 0; p < (in->dw ? 2u : 1u); p++)
		vy(a, X_MOVU_ST, in->dw ? sv(c, in->o[0], 1, p, 0) : sv_obs(c, in->o[0], 0, 0, 0), 0, s_mem_lanes_at(L_ROWS + 32 * p));
	m = s_row_address(c, in, v);
	s_mask_bits(c, RCX);
	g_bsr(a, RCX, rm_reg(RCX));
	g_load(a, in->dw, R11, s_mem_lanes_of(L_ROWS, RCX, in->dw ? 3 : 2));
	s_site(c);
	store_gpr(c, in->size, m, R11);
}

bool s_st(struct scomp *c, const struct insn *in)
{
	struct sval v, x;

	if (!s_can_be(c, in))
		return false;
	if (in->space != SPACE_LOCAL && s_mem_row(c, in, &v) && v.pat && s_linear(c, v, (s32)in->size) && in->vec == 1 && (in->size == 8) == in->dw)
		return store_row(c, in, v);
	x = s_val(c, in->o[0], in->dw);
	if (in->space != SPACE_LOCAL && s_mem_row(c, in, &v) && !v.pat && in->vec == 1 && x.cls == SC_SCALAR && !x.pat) {
		struct rm m = s_row_address(c, in, v);

		s_to_gpr(c, in->o[0], in->dw, R11);
		s_site(c);
		store_gpr(c, in->size, m, R11);
		return true;
	}
	if (in->space != SPACE_LOCAL && s_mem_row(c, in, &v) && !v.pat && in->vec == 1 && x.cls == SC_VARY && (in->size == 8) == in->dw) {
		store_last(c, in, v);
		return true;
	}
	if (s_mem_row(c, in, &v)) {
		/* where the lanes' bytes are: those of local memory lie a thread's share apart */
		x = in->space == SPACE_LOCAL ? s_with_step(c, v, jit_local_stride(c->fn)) : v;
		if (x.cls == SC_SCALAR && x.pat && store_pattern(c, in, v, x))
			return true;
	}
	return s_store_lanes(c, in);
}
