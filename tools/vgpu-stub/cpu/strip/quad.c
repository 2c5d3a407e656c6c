/* SPDX-License-Identifier: MIT */
/*
 * Words side by side, which a thread loads or stores one by one: a row of 16 bytes (or 8) for each lane, and rows of a strip are turned into
 * columns, or columns into rows, by shuffles. Word by word each lane's would be put into its vector, or taken out of it, by itself.
 *
 * Loads: the first one reads the rows; the others' words wait in the private area (scomp.twin, as in pair.c), with nothing between that
 * stores. Stores: the last one writes the rows; between them stand only instructions that nothing can leave code at and that neither load nor change
 * what is stored, so what is left undone there nobody sees.
 *
 * Each word is aligned as a word, no more: scomp.loose says so to who checks addresses.
 *
 * In: classes. Out: scomp.quad of stores, whose values live until the last one (place.c).
 */
#include "mem.h"
#include "vex.h"

#define WORDS 4u

static bool plain(const struct insn *in)
{
	return in->size == 4 && in->vec == 1 && !in->dw && in->guard == OPND_NONE && !(in->flags & (INF_SYNC | INF_ONCE)) && in->space != SPACE_PARAM &&
	       !(in->o[4] & OPND_CONST);
}

static bool beside(const struct insn *in, const struct insn *first, u32 k)
{
	return in->kind == first->kind && plain(in) && in->o[4] == first->o[4] && in->aw == first->aw && in->space == first->space && in->imm == first->imm + 4 * (s64)k;
}

/* The first as an access to n words. */
static struct insn row_of(const struct insn *first, u32 n)
{
	struct insn q = *first;

	q.vec = (u8)n;
	return q;
}

/* Is the address of such an access that of a row in each lane? Of stores they do not overlap, of loads they are not a row of the strip's or one for several lanes. */
static bool rows(struct scomp *c, const struct insn *q, struct sval *v)
{
	s32 far = q->kind == K_ST ? 4 * q->vec : 1;
	bool is;
	u32 l, k;

	if (q->space == SPACE_LOCAL)
		return false;
	c->loose = true;
	is = s_can_be(c, q) && s_mem_row(c, q, v) && v->pat;
	c->loose = false;
	for (l = 1; is && l < STRIP; l++) {
		const s32 *p = c->pats[v->pat];

		is = p[l] - p[l - 1] != 4;
		for (k = 0; is && k < l; k++)
			is = p[l] - p[k] >= far || p[k] - p[l] >= far;
	}
	return is;
}

/* ---- loads ---------------------------------------------------------------------------------------- */

/* Where the word k behind the one at pc is loaded in this block, with nothing between that may change it; NO_PC: nowhere */
static u32 other(const struct scomp *c, u32 pc, u32 k)
{
	const struct insn *ld = &c->code[pc];
	u32 i;

	for (i = pc + 1; i < c->cur->end; i++) {
		const struct insn *in = &c->code[i];

		if (insn_writes(&c->code[i - 1], ld->o[4]) || s_sync_at(c, i) || s_is_fence(in))
			return NO_PC;
		if (beside(in, ld, k))
			return s_comes(c, i) || c->pair[i] || in->o[0] == OPND_NONE || c->r[in->o[0]].v.cls != SC_VARY ? NO_PC : i;
		switch ((enum kind)in->kind) {
		case K_LANE: case K_LD: case K_CVT: case K_LOP3: case K_SETP: case K_PRED: case K_SREG: case K_LDPARAM: case K_LADDR: case K_CVTA: case K_NOP:
			break;
		default:
			return NO_PC;
		}
	}
	return NO_PC;
}

/* ymm0 to ymm3 and ymm14: a row for each lane, 0 and 4, 1 and 5 and so on side by side; the columns in ymm3, 14, 1, 2 */
static void turn(struct as *a)
{
	vr(a, X_PUNPCKLDQ, 14, 0, 1);
	vr(a, X_PUNPCKHDQ, 0, 0, 1);
	vr(a, X_PUNPCKLDQ, 1, 2, 3);
	vr(a, X_PUNPCKHDQ, 2, 2, 3);
	vr(a, X_PUNPCKLQDQ, 3, 14, 1);
	vr(a, X_PUNPCKHQDQ, 14, 14, 1);
	vr(a, X_PUNPCKLQDQ, 1, 0, 2);
	vr(a, X_PUNPCKHQDQ, 2, 0, 2);
}

/* The others' words, in those registers, wait where their loads find them (pair.c). */
static void put_by(struct scomp *c, const u32 *pc, const int *at, u32 n)
{
	u32 k;

	for (k = 1; k < n; k++)
		vy(&c->a, X_MOVU_ST, at[k], 0, rm_idx(R15, RBP, 0, c->twin[pc[k]]));
}

/* Lanes whose addresses nobody knows beforehand, two to four words each. Where they turn out to be a row, word for word (row.c), so are the words behind them. */
static bool lanes_rows(struct scomp *c, const struct insn *in)
{
	static const int at4[WORDS] = { 3, 14, 1, 2 }, at2[2] = { 0, 1 };
	bool shared = in->space == SPACE_SHARED;
	struct as *a = &c->a;
	u32 pc[WORDS], no[S_NO_ROW], n = 1, nno = 0, done = 0, k;
	struct sslow *slow;
	struct insn q;

	/* words of local memory may have been stored one by one just now: a row of them would have to be in the cache first */
	if (in->space == SPACE_LOCAL || c->r[in->o[4]].v.cls != SC_VARY || !s_can_be(c, in))
		return false;
	while (n < WORDS && (pc[n] = other(c, c->pc, n)) != NO_PC)
		n++;
	/* of three the row's fourth word is loaded, too: in shared memory it may be beyond the end */
	if (n == 3 && shared)
		n = 2;
	if (n == 1)
		return false;
	q = row_of(in, n == 3 ? WORDS : n);
	for (k = 1; k < n; k++)
		s_twin_home(c, pc[k]);
	if (!shared && s_may_be_row(c, in)) {
		struct rm m = s_run_row(c, in, no, &nno);

		for (k = 0; k < n; k++) {
			s_site(c);
			vy(a, X_MOVU, (int)k, 0, s_off(m, 4 * (s32)k));
			if (k)
				vy(a, X_MOVU_ST, (int)k, 0, rm_idx(R15, RBP, 0, c->twin[pc[k]]));
		}
		sput(c, in->o[0], 0, 0);
		done = g_jmp(a);
		while (nno)
			g_here(a, no[--nno]);
	}
	c->loose = true;
	s_lane_addresses(c, &q);
	c->loose = false;
	s_idle_lanes(c, L_IDLE);
	s_store_addresses(c);
	if (n == 2) {
		s_lanes_rows8(c);
		vyi(a, X_SHUFPS, 1, 0, rm_reg(2), 0xdd);
		vyi(a, X_SHUFPS, 0, 0, rm_reg(2), 0x88);
		vyi(a, X_PERMQ, 1, 0, rm_reg(1), 0xd8);
		vyi(a, X_PERMQ, 0, 0, rm_reg(0), 0xd8);
		put_by(c, pc, at2, n);
	} else {
		for (k = 0; k < 4; k++) {
			g_load(a, 1, RAX, s_mem_lanes_at(L_ADDR + 8 * k));
			g_load(a, 1, RCX, s_mem_lanes_at(L_ADDR + 8 * (k + 4)));
			s_site(c);
			vx_x(a, X_MOVU, (int)k, 0, rm_mem(RAX, 0));
			s_site(c);
			vyi(a, X_INSERT, (int)k, (int)k, rm_mem(RCX, 0), 1);
		}
		turn(a);
		put_by(c, pc, at4, n);
	}
	slow = s_slow_now(c);
	if (!slow)
		return true;
	slow->leaves = true;
	sput(c, in->o[0], 0, n == 2 ? at2[0] : at4[0]);
	if (done)
		g_here(a, done);
	return true;
}

bool s_quad_load(struct scomp *c, const struct insn *in)
{
	static const int at[WORDS] = { 3, 14, 1, 2 };
	struct as *a = &c->a;
	struct insn q = row_of(in, WORDS);
	u32 pc[WORDS], k, i;
	struct sslow *slow;
	struct sval v;
	const s32 *p;
	struct rm m;

	if (!plain(in) || in->o[0] == OPND_NONE || c->r[in->o[0]].v.cls != SC_VARY)
		return false;
	if (!rows(c, &q, &v))
		return lanes_rows(c, in);
	for (k = 1; k < WORDS; k++) {
		pc[k] = other(c, c->pc, k);
		if (pc[k] == NO_PC)
			return false;
	}
	p = c->pats[v.pat];
	c->loose = true;
	m = s_row_address(c, &q, v);
	c->loose = false;
	for (i = 0; i < 4; i++) {
		s_site(c);
		vx_x(a, X_MOVU, (int)i, 0, s_off(m, p[i]));
		s_site(c);
		vyi(a, X_INSERT, (int)i, (int)i, s_off(m, p[i + 4]), 1);
	}
	turn(a);
	for (k = 1; k < WORDS; k++)
		s_twin_home(c, pc[k]);
	put_by(c, pc, at, WORDS);
	/* the others rely on it */
	if (!s_lanes_have(c, pc + 1, WORDS - 1)) {
		slow = s_slow_now(c);
		if (!slow)
			return true;
		slow->leaves = true;
	}
	sput(c, in->o[0], 0, at[0]);
	return true;
}

/* ---- stores --------------------------------------------------------------------------------------- */

/* May a store behind it be done with one before it? */
static bool waits(const struct scomp *c, const struct insn *in)
{
	return in->kind == K_LANE && in->guard == OPND_NONE && in->dw != 2 && c->r[in->o[0]].v.cls != SC_SCALAR;
}

/* Local memory at addresses of which nothing is known: each lane has its own bytes, so their rows do not overlap. */
static bool own_rows(const struct scomp *c, const struct insn *q)
{
	return q->space == SPACE_LOCAL && q->vec == WORDS && c->r[q->o[4]].v.cls == SC_VARY && s_can_be(c, q);
}

/* How many stores from pc on are words side by side; at: where */
static u32 stores(const struct scomp *c, const struct sblock *b, u32 pc, u32 *at)
{
	u32 i, k, n = 1;

	at[0] = pc;
	for (i = pc + 1; i < b->end && n < WORDS; i++) {
		const struct insn *in = &c->code[i];

		if (s_sync_at(c, i))
			break;
		if (beside(in, &c->code[pc], n)) {
			at[n++] = i;
			continue;
		}
		if (!waits(c, in) || insn_writes(in, c->code[pc].o[4]))
			break;
		for (k = 0; k < n && !insn_writes(in, c->code[at[k]].o[0]); k++)
			;
		if (k < n)
			break;
	}
	return n >= WORDS ? WORDS : n >= 2 ? 2 : 1;
}

bool s_quads(struct scomp *c)
{
	u32 b, i, k, n, at[WORDS];
	struct sval v;

	c->quad = pool_alloc(&c->mem, (c->n + 1) * sizeof(*c->quad));
	if (!c->quad)
		return false;
	for (b = 0; b < c->nb; b++)
		for (i = c->b[b].start; i < c->b[b].end; i++) {
			struct insn q;

			if (c->code[i].kind != K_ST || !plain(&c->code[i]) || c->quad[i].n || s_sync_at(c, i))
				continue;
			/* where some lanes run, words into shared memory go with what is there for the others (store.c) */
			if (c->code[i].space == SPACE_SHARED && c->b[b].keep)
				continue;
			n = stores(c, &c->b[b], i, at);
			q = row_of(&c->code[i], n);
			c->cur = &c->b[b];
			if (n == 1 || (!own_rows(c, &q) && !rows(c, &q, &v)))
				continue;
			for (k = 0; k < n; k++)
				c->quad[at[k]] = (struct squad){ (u8)n, k + 1 == n, i };
		}
	c->cur = NULL;
	return true;
}

/* Where the words lie that the last store, at pc, writes. */
static void of_last(const struct scomp *c, u32 pc, u32 *at)
{
	u32 n = c->quad[pc].n, i = pc;

	while (n--) {
		at[n] = i;
		while (n && (c->quad[--i].n == 0 || c->quad[i].first != c->quad[pc].first))
			;
	}
}

bool s_quad_store(struct scomp *c, const struct insn *in)
{
	u32 at[WORDS], k;
	struct insn q;
	bool done;

	if (!c->quad[c->pc].n)
		return false;
	if (!c->quad[c->pc].last)
		return true;
	of_last(c, c->pc, at);
	q = row_of(&c->code[at[0]], c->quad[c->pc].n);
	for (k = 0; k < q.vec; k++)
		q.o[k] = c->code[at[k]].o[0];
	(void)in;
	c->loose = true;
	done = s_st(c, &q);
	c->loose = false;
	if (!done)
		c->bad = true;
	if (c->nslow && c->slow[c->nslow - 1].pc == c->pc)
		c->slow[c->nslow - 1].pair = true;
	return true;
}

/* One after the other. */
void s_quad_slow(struct scomp *c, u32 pc)
{
	u32 at[WORDS], k;

	of_last(c, pc, at);
	for (k = 0; k < c->quad[pc].n; k++)
		s_call_at(c, at[k], pc);
}
