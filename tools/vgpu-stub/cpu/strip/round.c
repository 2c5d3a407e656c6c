/* SPDX-License-Identifier: MIT */
/*
 * Rounds of a loop in which strips take turns (step.c), by all strips of a warp at once: what is a scalar is computed once, as whole.c does it for
 * kernels that go straight on.
 *
 * Of the loops whose body is one block. A warp's turn begins with its strips at the loop's first block, put away: scalars in their homes, vectors in
 * slots (park.c). Their scalars are looked at: each strip's has to be the first one's and a number that is known now, 8 more for each strip of a
 * pattern that goes by ones. Then rounds follow, of which all four strips want another one behind it; the last round is ordinary code's.
 *
 *     next way into the block, strip 0 ── lanes missing, scalars apart ──────────────► ordinary code
 *     round: scalars; rows within? another round behind it? ── no ── as before it ───► ordinary code
 *            vectors of strip 0, 1, 2, 3: from their slots, and back
 *              └─ a page that is not there ── strips before this one as behind the round, the others as before it ─► ordinary code
 *     after some rounds: put away again, on with the next warp as strip 3 of this one does (s_turn())
 *
 * So nothing is done that ordinary code has to know of: each strip stands at the loop's first block after some rounds of its own. A strip's vectors
 * are only put back when its round is over, and what follows a round's first store is rows that all lanes have: one that is not there ends the grid.
 * Where there are registers enough, the vectors of all four strips stay in them for the whole turn (stay.c): a sum's round is a load and an addition for each.
 *
 * In: loops with sblock.turn, behind all blocks' code. Out: code; sblock.round, round_exit.
 */
#include "whole.h"

#define MAX_BODY 40u

/* On the stack: what carried scalars are before the round, and behind it; rounds that are left. */
static struct rm before(const struct scomp *c, u32 i) { return stack_rm(c->rounds_at + 16 * (s32)i); }
static struct rm behind(const struct scomp *c, u32 i) { return stack_rm(c->rounds_at + 16 * (s32)i + 8); }
static struct rm left(const struct scomp *c) { return stack_rm(c->rounds_at + 16 * (s32)S_CARRIED); }
static struct rm home_of(const struct scomp *c, u32 o, u32 strip) { return rm_mem(R15, c->r[o].home + 32 * (s32)strip); }

/* One block that may go round to itself, with nothing that leaves it in between. */
static bool chain(struct scomp *c, struct swhole *h, struct sblock *b)
{
	struct sval v;
	u32 pc, k;
	const struct insn *end = &c->code[b->end - 1];

	if (b->sync || b->end - b->start > MAX_CHAIN || end->kind != K_CBRA || end->guard == OPND_NONE)
		return false;
	if ((s_block_at(c, end->taken) == (u32)(b - c->b)) == (s_block_at(c, end->fall) == (u32)(b - c->b)))
		return false;
	for (pc = b->start; pc < b->end; pc++) {
		const struct insn *in = &c->code[pc];

		if (c->quad[pc].n || c->pair[pc] || s_comes(c, pc) || s_sync_at(c, pc) || (pc + 1 < b->end && (in->kind == K_EXIT || in->kind == K_RET || in->kind == K_CBRA || in->kind == K_JMP)))
			return false;
		/* a round that ends early is begun again */
		if (in->kind == K_ATOM && in->space != SPACE_SHARED)
			return false;
		/* a row that all have is there, or the grid has ended; a scalar is not loaded behind a store (far.c) */
		if ((in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM) && h->stored && (in->kind == K_ATOM || in->guard != OPND_NONE || !s_mem_row(c, in, &v)))
			return false;
		if (in->kind == K_LD && (in->flags & INF_SYNC))
			return false;
		for (k = 0; k < 6 && in->kind == K_ATOM; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
				return false;
		h->stored |= in->kind == K_ST || in->kind == K_ATOM;
		h->pc[h->n++] = pc;
	}
	h->stored = false;
	return true;
}

/* Scalars that the block gets from elsewhere and reads: how strips are supposed to differ in them. List: their numbers. */
static bool suppose(struct scomp *c, struct swhole *h, const struct sblock *b, u32 *list, u32 *n)
{
	u32 v, pc, s;

	for (v = 0; v < c->s->nregs; v++) {
		struct sregister *r = &c->r[v];
		s64 d[STRIPS] = { 0 };
		bool used = false;
		u32 defs;

		if (!r->live || r->v.cls != SC_SCALAR || r->v.known || !bit_of(b->live_in, v))
			continue;
		for (pc = b->start; pc < b->end && !used; pc++)
			used = insn_reads(&c->code[pc], v);
		defs = s_definitions(c, b, v, &pc);
		if (!used && !defs)
			continue;
		if (defs > 1 || *n == S_ROOTS || (defs && h->ncarried == S_CARRIED) || (r->v.pat && !s_linear(c, r->v, c->pats[r->v.pat][1])))
			return false;
		for (s = 0; s < STRIPS && r->v.pat; s++)
			d[s] = (s64)c->pats[r->v.pat][1] * (s32)(STRIP * s);
		if (!whole_set_delta(c, v, d))
			return false;
		list[(*n)++] = v;
		if (defs) {
			h->carried[h->ncarried].o = v;
			h->carried[h->ncarried++].pc = pc;
		}
	}
	return true;
}

/* Of a vector that lies in its home all the time (park.c) nothing may be written before all is loaded. */
static bool kept_last(const struct scomp *c, const struct sblock *b)
{
	u32 v, pc, at = 0;

	for (v = 0; v < c->s->nregs; v++) {
		if (!c->r[v].live || !c->r[v].kept || !bit_of(b->live_in, v) || !s_definitions(c, b, v, &at))
			continue;
		for (pc = b->start; pc < b->end; pc++)
			if (s_definitions(c, b, v, &at) != 1 || (pc > at && (c->code[pc].kind == K_LD || c->code[pc].kind == K_ST || c->code[pc].kind == K_ATOM)))
				return false;
	}
	return true;
}

/* A comparison for the branch is made there: nothing that it reads may be made in between. */
static bool asides_last(const struct scomp *c, const struct swhole *h)
{
	u32 i, k, at = 0;

	for (i = 0; i < h->n; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_ASIDE)
			continue;
		if (bit_of(h->round->live_in, in->o[0]))
			return false;
		for (k = 0; k < 6; k++)
			if ((in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && s_definitions(c, h->round, in->o[k], &at) && at > h->pc[i])
				return false;
	}
	return true;
}

/* All strips' homes: those before `strip` are behind this round, the others before it. */
static void put_back(struct scomp *c, u32 strip)
{
	const struct swhole *h = c->whole_way;
	struct as *a = &c->a;
	u32 i, s;

	for (i = 0; i < h->ncarried; i++)
		for (s = 0; s < STRIPS; s++) {
			u32 o = h->carried[i].o;
			s32 by = h->delta[c->r[o].v.far][s];

			g_load(a, 1, RAX, s < strip ? behind(c, i) : before(c, i));
			if (by)
				g_alui(a, c->r[o].w == 1, G_ADD, rm_reg(RAX), by);
			g_store(a, 1, home_of(c, o, s), RAX);
		}
}

/* Those, from slots. */
static void vectors(struct scomp *c, const struct sblock *b, u64 *out)
{
	bool made;
	u32 v;

	for (v = 0; v < c->s->nregs; v++) {
		if (!s_stay_wanted(c, b, v, &made))
			continue;
		if (made)
			out[v >> 6] |= 1ull << (v & 63);
		s_fill(c, v);
	}
}

static void strips(struct scomp *c, const struct sblock *b, const struct stay *y, u64 *out)
{
	u32 s;

	for (s = 0; s < STRIPS && !c->whole_way->bad; s++) {
		c->whole_strip = s;
		if (s)
			g_alui(&c->a, 0, G_ADD, rm_reg(RBP), 32);
		if (y->on) {
			s_stay_as(c, y, s);
			whole_bodies(c);
			continue;
		}
		memset(out, 0, c->words * 8);
		c->stage = 0;
		vectors(c, b, out);
		c->stage = WHOLE_STRIPS;
		whole_bodies(c);
		/* vectors alone */
		s_spill_set(c, out, 15, true);
	}
	s_stay_as(c, y, STRIPS);
	c->whole_strip = 0;
	g_movi(&c->a, RBP, 0);
}

/* The warp's turn is over, if others have one: as its last strip. */
static void turn(struct scomp *c, struct sblock *b, const struct stay *y, u32 top)
{
	struct as *a = &c->a;
	u32 at = b->start | S_TURN, same, i, alone[3];

	g_movi(a, RAX, 1 << S_WARP_ROUNDS_LOG2);
	g_store(a, 0, left(c), RAX);
	g_load(a, 1, RCX, SPM(phase));
	g_op(a, 1, 0x85, RCX, rm_reg(RCX), 0);          /* test */
	alone[0] = g_jcc(a, CC_E);
	g_load(a, 0, RAX, rm_mem(RCX, (s32)offsetof(struct sphase, at)));
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)NO_PC);
	same = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, rm_reg(RAX), (s32)at);
	alone[1] = g_jcc(a, CC_NE);
	g_here(a, same);
	g_load(a, 1, RAX, SPM(seg));
	g_alu(a, 1, G_CMP, RAX, rm_mem(RCX, (s32)offsetof(struct sphase, seg)));
	alone[2] = g_jcc(a, CC_NE);
	put_back(c, 0);
	s_stay_move(c, y, true);
	g_movi(a, RAX, at);
	g_store(a, 0, SPM(spc), RAX);
	g_movi(a, RBP, 32 * (STRIPS - 1));
	s_entry(c, (u32)(b - c->b));
	g_land(a, g_jmp(a), b->turn_at);
	for (i = 0; i < 3; i++)
		g_land(a, alone[i], top);
}

static void emit(struct scomp *c, struct sblock *b, const u32 *list, u32 n)
{
	struct swhole *h = c->whole_way;
	const struct insn *end = &c->code[b->end - 1];
	struct as *a = &c->a;
	u64 *out = pool_alloc(&c->mem, (c->words + 1) * 8);
	struct stay y = { .out = pool_alloc(&c->mem, (c->words + 1) * 8) };
	u32 ord[4 + S_ROOTS * STRIPS], nord = 0, i, s, top;

	if (!out || !y.out) {
		h->bad = true;
		return;
	}
	y.on = s_stay_find(c, b, &y);
	b->round = a->n;
	g_alui(a, 0, G_CMP, rm_reg(R12), 255);
	ord[nord++] = g_jcc(a, CC_NE);
	if (s_part(c)) {
		s_cmp_born(c);
		ord[nord++] = g_jcc(a, CC_NE);
	}
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	ord[nord++] = g_jcc(a, CC_E);
	for (i = 0; i < n; i++)
		for (s = 1; s < STRIPS; s++) {
			u32 o = list[i];
			bool w = c->r[o].w == 1;
			s32 by = h->delta[c->r[o].v.far][s];

			g_load(a, w, RAX, home_of(c, o, 0));
			if (by)
				g_alui(a, w, G_ADD, rm_reg(RAX), by);
			g_alu(a, w, G_CMP, RAX, home_of(c, o, s));
			ord[nord++] = g_jcc(a, CC_NE);
		}
	for (i = 0; i < h->ncarried; i++) {
		g_load(a, 1, RAX, home_of(c, h->carried[i].o, 0));
		g_store(a, 1, before(c, i), RAX);
	}
	g_movi(a, RAX, 1 << S_WARP_ROUNDS_LOG2);
	g_store(a, 0, left(c), RAX);
	s_stay_move(c, &y, false);
	top = a->n;
	g_alui(a, 1, G_SUB, rm_mem(R14, (s32)offsetof(struct tstate, budget)), (s32)(b->end - b->start) / 2 + 1);
	h->jump[h->njumps++] = g_jcc(a, CC_S);
	whole_at_insn(c, b->start);
	for (i = 0; i < n; i++) {
		for (s = 0; s < h->ncarried && h->carried[s].o != list[i]; s++)
			;
		if (s == h->ncarried) {
			s_unpark(c, list[i]);
		} else {
			g_load(a, 1, RAX, before(c, s));
			sg_put(c, list[i], RAX);
		}
		/* as the roots that they are */
		s = whole_root_of(c, list[i]);
		if (s < h->nroots)
			g_store(a, 1, whole_slot(c, s), sg(c, list[i], c->r[list[i]].w, RAX));
	}
	c->stage = WHOLE_SCALARS;
	whole_scalars(c);
	for (i = 0; i < h->ncarried; i++) {
		c->stage = 0;
		g_store(a, 1, behind(c, i), sg(c, h->carried[i].o, c->r[h->carried[i].o].w, RAX));
	}
	whole_roots(c);
	c->stage = WHOLE_CHECKS;
	whole_checks(c);
	whole_at_insn(c, b->end - 1);
	whole_require(c, h->n - 1, end->guard, (s_block_at(c, end->taken) == (u32)(b - c->b)) != !!end->gneg);
	c->stage = WHOLE_STRIPS;
	strips(c, b, &y, out);
	c->stage = 0;
	for (i = 0; i < h->ncarried; i++) {
		g_load(a, 1, RAX, behind(c, i));
		g_store(a, 1, before(c, i), RAX);
	}
	g_alui(a, 0, G_SUB, left(c), 1);
	g_land(a, g_jcc(a, CC_NE), top);
	turn(c, b, &y, top);
	for (s = STRIPS; s-- > 0;) {
		b->round_exit[s] = a->n;
		if (!s)
			for (i = 0; i < h->njumps; i++)
				g_here(a, h->jump[i]);
		put_back(c, s);
		s_stay_move(c, &y, true);
		g_movi(a, RBP, 0);
		s_plain_jump(c, g_jmp(a), (u32)(b - c->b));
	}
	for (i = 0; i < nord; i++)
		s_plain_jump(c, ord[i], (u32)(b - c->b));
}

void s_round(struct scomp *c, struct sblock *b)
{
	struct swhole *h, *old = c->whole_way;
	u32 list[S_ROOTS], n = 0, v, i, body = 0;
	struct swhole_mark mark;

	if (!b->turn || !b->turn_at || c->whole_end || !s_enters(c, (u32)(b - c->b)))
		return;
	h = pool_alloc(&c->mem, sizeof(*h));
	if (!h)
		return;
	h->round = b;
	c->cur = b;
	h->ndelta = 1;
	for (v = 0; v < c->s->nregs; v++)
		c->r[v].v.far = 0;
	c->whole_way = h;
	mark = whole_mark(c);
	if (chain(c, h, b) && suppose(c, h, b, list, &n) && whole_sort(c, h, 1) && asides_last(c, h) && kept_last(c, b)) {
		for (i = 0; i < h->n; i++)
			body += h->what[i] == W_BODY;
		if (body <= MAX_BODY) {
			c->cur = b;
			c->mx = c->s->mxcsr == ~0u ? c->s->mxcsr_home : 0;
			c->fold.pc = c->base.at = 0;
			emit(c, b, list, n);
			if (h->bad || c->bad) {
				whole_back(c, &mark);
				b->round = 0;
			}
		}
	}
	c->stage = 0;
	c->whole_strip = 0;
	c->guarded = false;
	c->whole_way = old;
}
