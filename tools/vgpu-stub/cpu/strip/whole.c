/* SPDX-License-Identifier: MIT */
/*
 * A warp whose lanes all run, in a kernel that goes straight on from its beginning to its end: what is a scalar is computed once, by its first strip.
 * That of another strip is a distance away which is known now (tid.x has 8 more in each), so addresses are the first strip's and a number; they are
 * checked, and branches on them decided, for all of the warp before anything else is done. If something is not as wanted there, the ordinary code begins anew.
 * Then the four strips follow one another with their vectors alone.
 *
 *     are all here? ── no ─────────────────────────────────────────► ordinary code of strip 0
 *     scalars of strip 0, from where they are used: roots, in registers and on the stack
 *     rows within? branches taken? ── no ──────────────────────────► ... as well
 *     vectors of strip 0, 1, 2, 3 ── a page that is not there ─► scalars of that strip, the instruction by the interpreter, and out of code
 *     the end, as strip 3
 *
 * In: classes and places. Out: code in front of the first block's. Whatever is not of a kind that is known here has the ordinary code alone.
 */
#include "whole.h"

#define MAX_BODY 48u            /* vector instructions: they are emitted four times */
#define MIN_SCALARS 4u

static const u8 gprs[] = { RSI, RDI, R8, R9, R10 };

static bool is32(u8 t) { return t == T_U32 || t == T_S32 || t == T_B32; }
static bool is64(u8 t) { return t == T_U64 || t == T_S64 || t == T_B64; }

/* ---- the way ------------------------------------------------------------------------------------------ */

/* The way goes on with the block that comes first of those that a branch leads to: what is skipped is the short cut to the end. */
static bool walk(struct scomp *c, struct swhole *h)
{
	u32 b = 0, pc, next;

	for (;;) {
		const struct sblock *sb = &c->b[b];

		if (sb->sync)
			return false;
		next = c->nb;
		for (pc = sb->start; pc < sb->end; pc++) {
			const struct insn *in = &c->code[pc];

			if (h->n == MAX_CHAIN || s_sync_at(c, pc) || c->quad[pc].n || c->pair[pc])
				return false;
			h->pc[h->n++] = pc;
			switch ((enum kind)in->kind) {
			case K_EXIT: case K_RET:
				if (in->guard == OPND_NONE)
					return true;
				break;
			case K_JMP:
				next = s_block_at(c, in->taken);
				break;
			case K_CBRA: {
				u32 t = s_block_at(c, in->taken), f = s_block_at(c, in->fall);

				next = t < f ? t : f;
				break;
			}
			default:
				break;
			}
		}
		if (next == c->nb && sb->nsucc == 1)
			next = sb->succ[0];
		if (next <= b || next >= c->nb)
			return false;
		b = next;
	}
}

/* The root that o is at pc. */
static u32 root_at(const struct swhole *h, u32 o, u32 pc)
{
	u32 i;

	for (i = 0; i < h->ncarried; i++)
		if (h->carried[i].o == o && pc > h->carried[i].pc)
			return o | S_LATER;
	return o;
}

bool whole_root(struct scomp *c, struct swhole *h, u32 o, u32 pc)
{
	u32 i;

	if (o == OPND_NONE || (o & OPND_CONST) || c->r[o].v.cls != SC_SCALAR || c->r[o].v.known)
		return true;
	if (!c->r[o].v.far)
		return false;
	o = root_at(h, o, pc);
	for (i = 0; i < h->nroots && h->root[i] != o; i++)
		;
	if (i == S_ROOTS)
		return false;
	h->root[i] = o;
	h->nroots += i == h->nroots;
	return true;
}

/* Is register o, a predicate, wanted by branches and by such predicates alone? Of those behind the i-th. */
bool whole_is_aside(const struct scomp *c, const struct swhole *h, u32 i, u32 o)
{
	u32 k;

	for (k = i + 1; k < h->n; k++) {
		const struct insn *in = &c->code[h->pc[k]];

		if (insn_writes(in, o))
			return false;
		if (insn_reads(in, o) && h->what[k] != W_BRANCH && h->what[k] != W_ASIDE)
			return false;
	}
	return true;
}

bool whole_sort(struct scomp *c, struct swhole *h, u32 min_scalars)
{
	u32 i, k, scalars = 0, body = 0;
	bool branched = false;
	s64 d[STRIPS];

	for (i = 0; i + 1 < h->n; i++) {
		const struct insn *in = &c->code[h->pc[i]];
		bool scalar = true;

		h->what[i] = W_BODY;
		switch ((enum kind)in->kind) {
		case K_JMP: case K_NOP:
			h->what[i] = W_NOTHING;
			continue;
		case K_CBRA: case K_EXIT: case K_RET:
			h->what[i] = W_BRANCH;
			branched = true;
			continue;
		case K_ST: case K_ATOM:
			h->stored = true;
			break;
		case K_LANE: case K_SREG: case K_LDPARAM: case K_LADDR: case K_CVTA: case K_SETP: case K_PRED: case K_LD:
			if (in->kind == K_LANE && in->dw == 2)
				return false;
			for (k = 0; k < 6; k++)
				if ((in->def >> k & 1) && in->o[k] != OPND_NONE)
					scalar &= c->r[in->o[k]].v.cls == SC_SCALAR;
			if (!scalar)
				break;
			/* scalars come before branches are decided: what is loaded behind one may not be there to be loaded */
			if (in->guard != OPND_NONE || (in->kind == K_LD && branched))
				return false;
			if (whole_result_delta(c, in, d)) {
				for (k = 0; k < 6; k++)
					if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !whole_set_delta(c, in->o[k], d))
						return false;
				h->what[i] = W_SCALAR;
				scalars++;
				continue;
			}
			if (in->kind != K_SETP && in->kind != K_PRED)
				return false;
			break;
		case K_CVT: case K_LOP3:
			break;
		default:
			return false;
		}
		if ((in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM) && (in->space == SPACE_LOCAL || !in->aw || !whole_same(c, in->o[4], in->aw)))
			return false;
	}
	h->what[h->n - 1] = h->round ? W_BRANCH : W_NOTHING;
	for (i = h->n; i-- > 0;) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_BODY)
			continue;
		if ((in->kind == K_SETP || in->kind == K_PRED) && in->guard == OPND_NONE && (in->kind == K_PRED || (!in->sub && in->o[1] == OPND_NONE)) && whole_is_aside(c, h, i, in->o[0])) {
			h->what[i] = W_ASIDE;
			for (k = 0; k < 6 && in->kind == K_SETP; k++)
				if ((in->use >> k & 1) && !whole_root(c, h, in->o[k], h->pc[i]))
					return false;
			continue;
		}
		body++;
		for (k = 0; k < 6; k++) {
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].v.cls == SC_SCALAR)
				return false;
			if ((in->use >> k & 1) && !whole_root(c, h, in->o[k], h->pc[i]))
				return false;
		}
		if (!whole_root(c, h, in->guard, h->pc[i]))
			return false;
	}
	/* what branches want of scalars, and what a scalar that was loaded is: it is not loaded again */
	for (i = 0; i < h->n; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] == W_BRANCH && !whole_root(c, h, in->guard, h->pc[i]))
			return false;
		if (h->what[i] == W_ASIDE && in->kind == K_PRED && (!whole_root(c, h, in->o[1], h->pc[i]) || (in->sub >= PRED_AND && !whole_root(c, h, in->o[2], h->pc[i]))))
			return false;
		if (h->what[i] == W_SCALAR && in->kind == K_LD && !whole_root(c, h, in->o[0], h->pc[i]))
			return false;
	}
	return body && body <= MAX_BODY && scalars >= min_scalars;
}

/* ---- between this file and those that emit ---------------------------------------------------------- */

struct rm whole_slot(const struct scomp *c, u32 i)
{
	s32 home = c->whole_way->home[i];

	return home ? rm_mem(R15, home) : stack_rm(c->roots_at + 8 * (s32)i);
}

u32 whole_root_of(const struct scomp *c, u32 o)
{
	u32 i;

	o = root_at(c->whole_way, o, c->pc);

	for (i = 0; i < c->whole_way->nroots && c->whole_way->root[i] != o; i++)
		;
	return i;
}

static s32 now(const struct scomp *c, u32 o) { return c->whole_way->delta[c->r[o].v.far][c->whole_strip]; }

/* Where the first strip's scalar is; *by: how far the one of the strip at hand is from it. */
struct rm s_whole_first(struct scomp *c, u32 o, s32 *by)
{
	u32 i = whole_root_of(c, o);

	*by = now(c, o);
	if (i == c->whole_way->nroots) {
		c->whole_way->bad = true;
		return rm_reg(RAX);
	}
	return i < sizeof(gprs) ? rm_reg(gprs[i]) : whole_slot(c, i);
}

/* The scalar of the strip at hand: a register, or in tmp. */
struct rm s_whole_rm(struct scomp *c, u32 o, u8 w, int tmp)
{
	struct as *a = &c->a;
	u32 i = whole_root_of(c, o);
	s32 by = now(c, o);

	if (i == c->whole_way->nroots) {
		c->whole_way->bad = true;
		return rm_reg(tmp);
	}
	if (i < sizeof(gprs) && !by)
		return rm_reg(gprs[i]);
	if (i < sizeof(gprs)) {
		g_lea(a, w == 1, tmp, rm_mem(gprs[i], by));
		return rm_reg(tmp);
	}
	if (!by)
		return whole_slot(c, i);
	g_load(a, w == 1, tmp, whole_slot(c, i));
	g_alui(a, w == 1, G_ADD, rm_reg(tmp), by);
	return rm_reg(tmp);
}

/* A row that has been checked: where the first lane of the strip at hand finds it. rax may be lost. */
struct rm s_whole_row(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 o = in->o[4], i = whole_root_of(c, o);
	s32 disp = (s32)in->imm;
	int base = RAX;

	if ((o & OPND_CONST) || c->r[o].v.known || i == c->whole_way->nroots) {
		s_to_gpr(c, o, in->aw, RAX);
	} else {
		disp += now(c, o);
		if (i < sizeof(gprs))
			base = gprs[i];
		else
			g_load(a, 1, RAX, whole_slot(c, i));
	}
	if (in->space != SPACE_SHARED)
		return rm_mem(base, disp);
	if (base == RAX) {
		g_alu(a, 1, G_ADD, RAX, SPM(shared));
		return rm_mem(RAX, disp);
	}
	g_load(a, 1, RAX, SPM(shared));
	return rm_idx(RAX, base, 0, disp);
}

/* Of all strips: how far the lanes' values of v lie from the first strip's scalar. */
void s_whole_range(const struct scomp *c, struct sval v, s32 *lo, s32 *hi)
{
	s32 l = *lo, h = *hi;
	u32 s;

	for (s = 1; v.far && s < STRIPS; s++) {
		s32 d = c->whole_way->delta[v.far][s];

		*lo = l + d < *lo ? l + d : *lo;
		*hi = h + d > *hi ? h + d : *hi;
	}
}

/* The ordinary code takes over, nothing has been done yet. */
void s_whole_not_if(struct scomp *c, u32 cc)
{
	struct swhole *h = c->whole_way;

	if (c->stage == WHOLE_STUB)     /* it has been asked before */
		return;
	if (c->stage == WHOLE_STRIPS || h->njumps == sizeof(h->jump) / sizeof(h->jump[0])) {
		h->bad = true;
		return;
	}
	h->jump[h->njumps++] = g_jcc(&c->a, cc);
}

/* ---- branches --------------------------------------------------------------------------------------- */

static const u8 int_cc[2][CMP_GE + 1] = {
	{ 0, CC_E, CC_NE, CC_B, CC_BE, CC_A, CC_AE }, { 0, CC_E, CC_NE, CC_L, CC_LE, CC_G, CC_GE },
};

static void compare_all(struct scomp *c, const struct insn *in, bool want)
{
	static const u8 other[] = { [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT, [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE };
	static const u8 inverse[] = { [CMP_EQ] = CMP_NE, [CMP_NE] = CMP_EQ, [CMP_LT] = CMP_GE, [CMP_LE] = CMP_GT, [CMP_GT] = CMP_LE, [CMP_GE] = CMP_LT };
	struct as *a = &c->a;
	u8 w = is64(in->type);
	struct sval x = s_val(c, in->o[2], w), y = s_val(c, in->o[3], w);
	bool sg = type_is_signed(in->type), swap;
	s32 lo[2] = { 0 }, hi[2] = { 0 }, by;
	u32 lop, p, k;

	if (!whole_same(c, in->o[2], w) || !whole_same(c, in->o[3], w) || (!is32(in->type) && !w) || in->lop < CMP_EQ || in->lop > CMP_GE || in->sub || in->o[1] != OPND_NONE || s_varies(x) || s_varies(y)) {
		c->whole_way->bad = true;
		return;
	}
	s_range(c, x, &lo[0], &hi[0]);
	s_range(c, y, &lo[1], &hi[1]);
	swap = lo[1] || hi[1];
	if (swap && (lo[0] || hi[0])) {
		c->whole_way->bad = true;
		return;
	}
	p = in->o[swap ? 3 : 2];
	k = in->o[swap ? 2 : 3];
	lop = swap ? other[in->lop] : in->lop;
	if (!want)
		lop = inverse[lop];
	if ((lo[swap] || hi[swap]) && lop < CMP_LT) {
		c->whole_way->bad = true;
		return;
	}
	/* that none wraps, and the one for which it holds last */
	for (by = 0; by < 2; by++) {
		s32 far = by ? hi[swap] : lo[swap];

		if (!far)
			continue;
		s_to_gpr(c, p, w, RAX);
		g_alui(a, w, far > 0 ? G_ADD : G_SUB, rm_reg(RAX), far > 0 ? far : -far);
		s_whole_not_if(c, sg ? CC_O : CC_B);
	}
	by = lop == CMP_LT || lop == CMP_LE ? hi[swap] : lo[swap];
	s_to_gpr(c, p, w, RAX);
	if (by)
		g_alui(a, w, G_ADD, rm_reg(RAX), by);
	s_to_gpr(c, k, w, RCX);
	g_alu(a, w, G_CMP, RAX, rm_reg(RCX));
	s_whole_not_if(c, int_cc[sg][inverse[lop]]);
}

/* Predicate o, as it is before the i-th instruction, is `want` in all lanes of the warp; or the ordinary code. */
void whole_require(struct scomp *c, u32 i, u32 o, bool want)
{
	struct swhole *h = c->whole_way;
	const struct insn *in;
	bool na;

	if (!(o & OPND_CONST))
		while (i-- > 0)
			if (insn_writes(&c->code[h->pc[i]], o))
				break;
	if ((o & OPND_CONST) || i == ~0u || h->what[i] == W_SCALAR) {
		if (s_varies(s_val(c, o, 2)) || !whole_same(c, o, 2) || (!(o & OPND_CONST) && i == ~0u)) {
			h->bad = true;
			return;
		}
		s_to_gpr(c, o, 0, RAX);
		g_alui(&c->a, 0, G_CMP, rm_reg(RAX), 0);
		s_whole_not_if(c, want ? CC_E : CC_NE);
		return;
	}
	in = &c->code[h->pc[i]];
	if (in->guard != OPND_NONE) {
		h->bad = true;
		return;
	}
	if (in->kind == K_SETP) {
		compare_all(c, in, want);
		return;
	}
	na = !!(in->flags & INF_CNEG) != (in->sub == PRED_NOT);
	if (in->kind != K_PRED || (in->sub >= PRED_AND && !(in->sub == PRED_AND && want) && !(in->sub == PRED_OR && !want))) {
		h->bad = true;
		return;
	}
	whole_require(c, i, in->o[1], want != na);
	if (in->sub >= PRED_AND)
		whole_require(c, i, in->o[2], want != !!(in->flags & INF_BNEG));
}

/* ---- code --------------------------------------------------------------------------------------------- */

void whole_at_insn(struct scomp *c, u32 pc)
{
	c->pc = pc;
	c->cur = &c->b[s_block_at(c, pc)];
	c->nnear = 0;
	c->guarded = false;
}

/* How far a strip's scalar is beyond the first one's, at most. */
static s32 whole_most(const struct scomp *c, u32 o)
{
	s32 lo = 0, hi = 0;

	if (c->r[o].v.far)
		s_whole_range(c, c->r[o].v, &lo, &hi);
	return lo < 0 ? lo : hi;
}

static void other_signs(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u8 w = is64(in->type);

	s_to_gpr(c, in->o[1], w, RAX);
	g_alui(a, w, G_ADD, rm_reg(RAX), whole_most(c, in->o[1]));
	s_whole_not_if(c, CC_S);
}

void whole_scalars(struct scomp *c)
{
	struct swhole *h = c->whole_way;
	u32 i, k;

	for (i = 0; i < h->n && !h->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_SCALAR)
			continue;
		whole_at_insn(c, h->pc[i]);
		if (!s_native(c, in))
			h->bad = true;
		/* a sign that is guessed is that of the other strips' as well */
		if (s_guess_sign(c, in)) {
			h->bad |= !whole_same(c, in->o[1], is64(in->type));
			if (!(in->o[1] & OPND_CONST) && whole_most(c, in->o[1]))
				other_signs(c, in);
		}
		c->pc++;        /* as what it is from there on */
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && whole_root_of(c, in->o[k]) < h->nroots)
				g_store(&c->a, 1, whole_slot(c, whole_root_of(c, in->o[k])), sg(c, in->o[k], c->r[in->o[k]].w, RAX));
	}
}

void whole_roots(struct scomp *c)
{
	u32 i;

	for (i = 0; i < c->whole_way->nroots && i < sizeof(gprs); i++)
		g_load(&c->a, 1, gprs[i], whole_slot(c, i));
}

bool whole_is_row(const struct scomp *c, const struct swhole *h, u32 i, struct sval *v)
{
	const struct insn *in = &c->code[h->pc[i]];

	return h->what[i] == W_BODY && (in->kind == K_LD || in->kind == K_ST) && s_can_be(c, in) && s_mem_row(c, in, v);
}

/* What is loaded, changed and stored is looked at once. A register has one value there: a second definition would be another one (whole_set_delta()). */
bool whole_seen(const struct scomp *c, const struct swhole *h, u32 i)
{
	const struct insn *in = &c->code[h->pc[i]];
	struct sval v;
	u32 j;

	for (j = 0; j < i && !h->round; j++) {
		const struct insn *was = &c->code[h->pc[j]];

		if (whole_is_row(c, h, j, &v) && root_at(h, was->o[4], h->pc[j]) == root_at(h, in->o[4], h->pc[i]) && was->aw == in->aw && was->space == in->space && was->imm == in->imm &&
		    was->size == in->size && was->vec == in->vec)
			return true;
	}
	return false;
}

void whole_checks(struct scomp *c)
{
	struct swhole *h = c->whole_way;
	struct sval v;
	u32 i;

	for (i = 0; i < h->n && !h->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		whole_at_insn(c, h->pc[i]);
		if (h->what[i] == W_BRANCH && in->kind != K_CBRA) {
			whole_require(c, i, in->guard, in->gneg);
		} else if (h->what[i] == W_BRANCH && !h->round) {
			u32 t = s_block_at(c, in->taken), f = s_block_at(c, in->fall);

			if (t != f)
				whole_require(c, i, in->guard, (t < f) != !!in->gneg);
		} else if (whole_is_row(c, h, i, &v) && !whole_seen(c, h, i)) {
			struct rm m = s_row_address(c, in, v);

			if (h->round && v.pat && in->space != SPACE_SHARED)
				s_ask_for_next(c, m, true);
		}
	}
}

void whole_bodies(struct scomp *c)
{
	struct swhole *h = c->whole_way;
	u32 skip[2], i, mx;

	for (i = 0; i < h->n && !h->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_BODY)
			continue;
		whole_at_insn(c, h->pc[i]);
		/* who leaves a round goes on with other code */
		if (h->round && (in->kind == K_LD || in->kind == K_ST || in->kind == K_ATOM))
			s_mode_home(c);
		mx = c->mx;
		s_guard_begin(c, in, skip);
		if (!s_native(c, in))
			h->bad = true;
		s_guard_end(c, skip, mx);
	}
	s_mode_home(c);
}

/* Words that have come with others (pair.c, quad.c) were one strip's. */
void whole_own_words(struct scomp *c)
{
	const struct swhole *h = c->whole_way;
	u32 i;

	for (i = 0; i < h->n; i++)
		if (s_comes(c, h->pc[i]))
			c->twin[h->pc[i]] = -c->twin[h->pc[i]];
}

static void strips(struct scomp *c)
{
	struct as *a = &c->a;

	for (c->whole_strip = 0; c->whole_strip < STRIPS; c->whole_strip++) {
		if (c->whole_strip == 1) {
			g_movi(a, RAX, S_ENDED);
			g_store(a, 0, SPM(spc), RAX);
		}
		if (c->whole_strip)
			g_alui(a, 0, G_ADD, rm_reg(RBP), 32);
		whole_bodies(c);
		whole_own_words(c);
	}
	c->whole_strip = 0;
}

struct swhole_mark whole_mark(const struct scomp *c)
{
	return (struct swhole_mark){ c->a.n, c->a.nfix, c->nslow, c->nsites, c->nexits, c->nxjumps, c->nsjumps, c->nahead, c->mx, c->cur };
}

void whole_back(struct scomp *c, const struct swhole_mark *m)
{
	c->bad = false;
	c->a.n = m->n;
	c->a.nfix = m->nfix;
	c->nslow = m->nslow;
	c->nsites = m->nsites;
	c->nexits = m->nexits;
	c->nxjumps = m->nxjumps;
	c->nsjumps = m->nsjumps;
	c->nahead = m->nahead;
}

/* In front of the first block's code. */
void s_whole(struct scomp *c)
{
	struct as *a = &c->a;
	struct swhole *h = pool_alloc(&c->mem, sizeof(*h));
	struct swhole_mark mark = whole_mark(c);
	u32 i;

	if (!h)
		return;
	c->whole_way = h;
	h->ndelta = 1;
	if (!walk(c, h) || !whole_sort(c, h, MIN_SCALARS))
		return;
	g_alui(a, 0, G_CMP, rm_reg(RBP), 0);
	h->jump[h->njumps++] = g_jcc(a, CC_NE);
	g_alui(a, 0, G_CMP, rm_reg(R12), 255);
	h->jump[h->njumps++] = g_jcc(a, CC_NE);
	if (s_part(c)) {
		s_cmp_born(c);
		h->jump[h->njumps++] = g_jcc(a, CC_NE);
	}
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	h->jump[h->njumps++] = g_jcc(a, CC_E);
	c->stage = WHOLE_SCALARS;
	whole_scalars(c);
	whole_roots(c);
	c->stage = WHOLE_CHECKS;
	whole_checks(c);
	c->stage = WHOLE_STRIPS;
	strips(c);
	c->stage = 0;
	c->cur = mark.cur;
	c->nnear = 0;
	c->mx = mark.mx;
	if (h->bad || c->bad) {
		whole_back(c, &mark);
		return;
	}
	c->whole_end = g_jmp(a);
	c->whole_end_pc = h->pc[h->n - 1];
	for (i = 0; i < h->njumps; i++)
		g_here(a, h->jump[i]);
}

/* What of a strip's vectors is not there, or not as an instruction wants it: its scalars, the instruction by the interpreter, and out of code. */
void s_whole_slow(struct scomp *c, u32 pc, bool guarded)
{
	struct swhole *h = c->whole_way;
	u32 i;

	c->stage = WHOLE_STUB;
	for (i = 0; i < h->n && h->pc[i] != pc && !c->bad; i++) {
		const struct insn *in = &c->code[h->pc[i]];

		if (h->what[i] != W_SCALAR && h->what[i] != W_ASIDE)
			continue;
		whole_at_insn(c, h->pc[i]);
		if (in->kind == K_LD) {
			if (c->r[in->o[0]].live) {
				g_load(&c->a, 1, RAX, whole_slot(c, whole_root_of(c, in->o[0])));
				sg_put(c, in->o[0], RAX);
			}
		} else if (!s_native(c, in)) {
			c->bad = true;
		}
	}
	c->stage = 0;
	c->whole_strip = 0;
	whole_at_insn(c, pc);
	c->guarded = guarded;
	s_call(c, pc);
	c->guarded = false;
	s_leave(c, pc + 1 < c->cur->end || !c->cur->nsucc ? pc + 1 : c->b[c->cur->succ[0]].start);
}
