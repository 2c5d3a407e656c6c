/* SPDX-License-Identifier: MIT */
/*
 * A function's code for strips: blocks in their order, branches, lanes that part and meet.
 *
 * At a block's start r12 is who runs it, all who waited for it included. A jump looks first at the blocks before its target
 * where lanes may wait (facts.c): the lowest runs next. Where lanes part, those of the lower target go on and the others' bits are
 * added to the other target's word.
 */
#include "strip.h"
#include "vex.h"

static void *grow(struct scomp *c, void *p, u32 *cap, u32 want, size_t elem)
{
	void *q = xgrow(p, cap, want, elem);

	if (!q) {
		c->bad = true;
		return p;
	}
	return q;
}

static void block_jump(struct scomp *c, u32 at, u32 block)
{
	c->jumps = grow(c, c->jumps, &c->jumps_cap, c->njumps + 1, sizeof(*c->jumps));
	if (!c->bad)
		c->jumps[c->njumps++] = (struct sjump){ at, block };
}

static u32 number(const struct scomp *c, const struct sblock *b) { return (u32)(b - c->b); }

u32 s_block_at(const struct scomp *c, u32 pc)
{
	u32 lo = 0, hi = c->nb;

	while (hi - lo > 1) {
		u32 mid = (lo + hi) / 2;

		if (c->b[mid].start <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void new_mask(struct scomp *c)
{
	g_load(&c->a, 0, RAX, rm_reg(R12));
	s_mask_vector(c, 15, RAX);
}

/* Those that wait for w run now. */
static void take(struct scomp *c, u32 w)
{
	struct as *a = &c->a;

	g_load(a, 0, R12, stack_rm(c->b[w].word));
	g_movi(a, RAX, 0);
	g_store(a, 0, stack_rm(c->b[w].word), RAX);
	new_mask(c);
	block_jump(c, g_jmp(a), w);
}

/*
 * What a round of a loop costs more where lanes may be waiting in it for others, which need turns too; and where they do nothing else: such a round
 * leads out of code and back for what it looks at, and takes ten times as long as one of the interpreter's (SPIN_COST).
 */
#define LANES_SPIN_COST 64
#define STRIPS_SPIN_COST (4 * SPIN_COST)

/* Does a lane go round the short loop from block t on for as long as what it looks at is not as it is to be, and do nothing else? */
static bool waits(struct scomp *c, u32 t)
{
	u64 *of_it = pool_alloc(&c->mem, (c->words + 1) * 8);
	bool any, is_short = false, asks = false;
	u32 pc, k;

	for (pc = c->b[t].start; of_it && pc < c->cur->end; pc++) {
		const struct insn *in = &c->code[pc];

		is_short |= (in->kind == K_JMP || in->kind == K_CBRA) && in->flags & INF_SPIN;
		asks |= in->kind == K_CBRA && in->guard != OPND_NONE && !(in->guard & OPND_CONST) && bit_of(of_it, in->guard);
		any = (in->kind == K_LD && (in->flags & INF_SYNC)) || in->kind == K_ATOM || in->kind == K_GEN;
		for (k = 0; k < 6 && !any; k++)
			any = (in->use >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && bit_of(of_it, in->o[k]);
		for (k = 0; k < 6 && any; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST))
				of_it[in->o[k] >> 6] |= 1ull << (in->o[k] & 63);
		/* it counts, or stores */
		for (k = 0; k < 6; k++)
			if ((in->def >> k & 1) && in->o[k] != OPND_NONE && !(in->o[k] & OPND_CONST) && bit_of(c->b[t].live_in, in->o[k]))
				return false;
		if (in->kind == K_ST)
			return false;
	}
	c->bad |= !of_it;
	return is_short && asks;
}

/* A loop that looks at what others write: at its end lanes may be spinning. What a round costs more for that */
static u32 spin_cost(struct scomp *c, u32 t)
{
	u32 pc;

	if (waits(c, t))
		return STRIPS_SPIN_COST;
	for (pc = c->b[t].start; pc < c->cur->end; pc++)
		if ((c->code[pc].kind == K_JMP || c->code[pc].kind == K_CBRA) && c->code[pc].flags & INF_SPIN && c->code[pc].flags & INF_POLL)
			return STRIPS_SPIN_COST;
	for (pc = c->b[t].start; pc < c->cur->end; pc++) {
		const struct insn *in = &c->code[pc];

		if ((in->kind == K_LD && (in->flags & INF_SYNC)) || (in->kind == K_ATOM && in->o[0] != OPND_NONE))
			return LANES_SPIN_COST;
	}
	return 0;
}

static void go_to(struct scomp *c, u32 t, bool next)
{
	struct as *a = &c->a;
	u32 self = number(c, c->cur), w, over;

	if (t <= self) {
		u32 spins = spin_cost(c, t), cost = (c->cur->end - c->b[t].start) / STRIPS + 1 + spins, exit;

		g_alui(a, 1, G_SUB, rm_mem(R14, (s32)offsetof(struct tstate, budget)), (s32)cost);
		exit = s_exit(c, c->b[t].start);
		s_exit_jump(c, g_jcc(a, CC_S), exit);
		if (spins && !c->bad)
			c->exits[exit].spins = true;
		if (c->b[t].turn)
			s_turn(c, t);
	} else if (c->b[t].turn) {
		s_rounds(c, t);
	}
	for (w = 0; w < t && w < c->nb; w++) {
		if (!bit_of(c->cur->wait, w))
			continue;
		g_alui(a, 0, G_CMP, stack_rm(c->b[w].word), 0);
		over = g_jcc(a, CC_E);
		if (c->b[t].word < 0) {
			c->bad = true;
			return;
		}
		g_op(a, 0, 0x09, R12, stack_rm(c->b[t].word), 0);       /* or */
		take(c, w);
		g_here(a, over);
	}
	if (bit_of(c->cur->wait, t)) {
		g_alu(a, 0, G_OR, R12, stack_rm(c->b[t].word));
		g_movi(a, RAX, 0);
		g_store(a, 0, stack_rm(c->b[t].word), RAX);
		new_mask(c);
	}
	if (!(next && t == self + 1))
		block_jump(c, g_jmp(a), t);
}

/* Nobody is left here: those who wait, from the lowest on, and then the way out. */
static void ended(struct scomp *c)
{
	struct as *a = &c->a;
	u32 w, over;

	for (w = 0; w < c->nb; w++) {
		if (!bit_of(c->cur->wait, w))
			continue;
		g_alui(a, 0, G_CMP, stack_rm(c->b[w].word), 0);
		over = g_jcc(a, CC_E);
		take(c, w);
		g_here(a, over);
	}
	s_meet_end(c);
}

/* Is nothing to be done on the way to block t? Then a branch jumps there itself. */
static bool is_plain(const struct scomp *c, u32 t)
{
	u32 w;

	for (w = 0; w <= t && w < c->nb; w++)
		if (bit_of(c->cur->wait, w))
			return false;
	return t > number(c, c->cur) && !c->b[t].turn;
}

/* Those of two jumps that there are lead to block t, or to what is emitted next. */
static void to_block(struct scomp *c, const u32 jump[2], u32 t)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (jump[i])
			block_jump(c, jump[i], t);
}

static void to_here(struct scomp *c, const u32 jump[2])
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (jump[i])
			g_here(&c->a, jump[i]);
}

static void branch(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 t = s_block_at(c, in->taken), f = s_block_at(c, in->fall), lo = t < f ? t : f, hi = t < f ? f : t, to_hi, to_lo, jumps[2][2] = { { 0 } }, all[2];  /* 0: it holds for all */
	bool plain;
	u64 waited;
	int p;

	c->pc = c->cur->end - 1;
	if (t == f) {
		go_to(c, t, true);
		return;
	}
	if (!c->cur->split) {
		bool near = f == number(c, c->cur) + 1;         /* it comes last, and needs no jump */
		u32 far = near ? t : f;

		plain = is_plain(c, far);
		if (c->later) {
			u32 first = in->gneg == near ? 1 : 0;

			s_ends(c, in - 1, jumps[0], jumps[1]);
			if (plain) {
				to_block(c, jumps[first], far);
			} else {
				to_here(c, jumps[first]);
				go_to(c, far, false);
			}
			to_here(c, jumps[!first]);
			go_to(c, near ? f : t, true);
			return;
		}
		if (c->fused) {
			/* the comparison just before: its flags */
			to_hi = g_jcc(a, (u32)(c->fused & 15) ^ (in->gneg ^ near) ^ plain);
		} else if (s_val(c, in->guard, 2).cls == SC_SCALAR) {
			g_alui(a, 0, G_CMP, sg_rm(c, in->guard, 0, RAX), 0);
			to_hi = g_jcc(a, (in->gneg ^ near ^ plain) ? CC_E : CC_NE);
		} else {
			/* all or none: guess.c */
			plain = false;
			vr(a, X_MOVMSKPS, RAX, 0, sv(c, in->guard, 2, 0, 0));
			g_alu(a, 0, G_AND, RAX, rm_reg(R12));
			if (in->gneg != near) {
				/* the way that does not come next is that of no lane */
				to_hi = g_jcc(a, CC_E);
				g_alu(a, 0, G_CMP, RAX, rm_reg(R12));
				s_parted_if(c, CC_NE);
			} else {
				to_lo = g_jcc(a, CC_E);
				g_alu(a, 0, G_CMP, RAX, rm_reg(R12));
				s_parted_if(c, CC_NE);
				to_hi = g_jmp(a);
				g_here(a, to_lo);
			}
		}
		if (plain) {
			block_jump(c, to_hi, far);
		} else {
			go_to(c, far, false);
			g_here(a, to_hi);
		}
		go_to(c, near ? f : t, true);
		return;
	}
	if (c->later) {
		s_ends(c, in - 1, jumps[0], jumps[1]);
		if (in->gneg)
			g_alu(a, 0, G_XOR, RAX, rm_reg(R12));
	} else {
		p = sv(c, in->guard, 2, 0, 0);
		vr(a, X_MOVMSKPS, RAX, 0, p);
		if (in->gneg)
			g_not(a, 0, RAX);
		g_alu(a, 0, G_AND, RAX, rm_reg(R12));
	}
	/* eax: those that take it */
	g_load(a, 0, RDX, rm_reg(R12));
	g_alu(a, 0, G_XOR, RDX, rm_reg(RAX));           /* not; flags of that */
	to_lo = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
	to_hi = g_jcc(a, CC_E);
	if (c->b[hi].word < 0) {
		c->bad = true;
		return;
	}
	g_op(a, 0, 0x09, t == hi ? RAX : RDX, stack_rm(c->b[hi].word), 0);
	g_load(a, 0, R12, rm_reg(t == lo ? RAX : RDX));
	new_mask(c);
	/* to_lo: all take the branch; to_hi: none does */
	all[0] = t == lo ? to_hi : to_lo;
	all[1] = jumps[(t == lo) != !!in->gneg][0];
	plain = is_plain(c, hi);
	if (plain)
		to_block(c, all, hi);
	g_here(a, t == lo ? to_lo : to_hi);
	to_here(c, jumps[(t == lo) == !!in->gneg]);
	/* who leaves code on this way takes along those that wait for the other one since just now */
	waited = c->cur->wait[hi >> 6];
	c->cur->wait[hi >> 6] |= 1ull << (hi & 63);
	go_to(c, lo, plain);
	c->cur->wait[hi >> 6] = waited;
	if (plain)
		return;
	to_here(c, all);
	go_to(c, hi, true);
}

/* A strip ends whole, which is not the warp's last: the next one. sprivate.done is 0 then, and r12 and ymm15 are what that wants. */
static void meet_whole(struct scomp *c)
{
	struct as *a = &c->a;
	u32 other[4], first, next, i;

	s_cmp_whole(c);
	other[0] = g_jcc(a, CC_NE);
	g_alui(a, 1, G_CMP, SPM(seg), 0);
	other[1] = g_jcc(a, CC_E);
	s_cmp_last(c);
	other[2] = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, rm_reg(RBP), 0);
	first = g_jcc(a, CC_E);
	g_alui(a, 0, G_CMP, SPM(spc), (s32)S_ENDED);
	other[3] = g_jcc(a, CC_NE);
	next = a->n;
	g_alui(a, 0, G_ADD, rm_reg(RBP), 32);
	g_op(a, 0, 0xff, 4, SPM(seg), 0);
	g_here(a, first);
	g_movi(a, RAX, S_ENDED);
	g_store(a, 0, SPM(spc), RAX);
	g_land(a, g_jmp(a), next);
	for (i = 0; i < 4; i++)
		g_here(a, other[i]);
}

/* Lanes end here, all or those of a guard. */
static void leave_lanes(struct scomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	u32 some;

	if (in->guard == OPND_NONE) {
		meet_whole(c);
		g_op(a, 0, 0x09, R12, SPM(done), 0);
		ended(c);
		return;
	}
	if (s_val(c, in->guard, 2).cls == SC_SCALAR)
		s_to_gpr(c, in->guard, 0, RAX);
	else
		vr(a, X_MOVMSKPS, RAX, 0, sv(c, in->guard, 2, 0, 0));
	if (in->gneg)
		g_not(a, 0, RAX);
	g_alu(a, 0, G_AND, RAX, rm_reg(R12));
	g_op(a, 0, 0x09, RAX, SPM(done), 0);
	g_alu(a, 0, G_XOR, R12, rm_reg(RAX));
	some = g_jcc(a, CC_NE);
	ended(c);
	g_here(a, some);
	new_mask(c);
}

bool s_native(struct scomp *c, const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE:
		return s_index_of(c, in->o[0]) || s_pair(c, c->pc) || s_scalar(c, in) || s_lane(c, in);
	case K_SREG: case K_LDPARAM: case K_LADDR: case K_CVTA:
		return s_scalar(c, in);
	case K_SETP:
		return s_setp(c, in);
	case K_PRED:
		return s_pred(c, in);
	case K_CVT:
		return s_cvt(c, in);
	case K_LOP3:
		return s_lop3(c, in);
	case K_LD:
		return s_pair(c, c->pc) || s_ld(c, in);
	case K_ST:
		return s_quad_store(c, in) || s_st(c, in);
	case K_ATOM:
		return s_atom(c, in);
	case K_SHFL:
		return s_shuffle(c, in);
	case K_WARPSYNC:
		return s_warpsync(c, in);
	case K_MEMBAR:
		as_room(&c->a, 16);
		b1(&c->a, 0x0f);
		b1(&c->a, 0xae);
		b1(&c->a, 0xf0);
		return true;
	case K_NOP:
		return true;
	default:
		return false;
	}
}

static bool called(struct scomp *c, const struct insn *in)
{
	switch ((enum kind)in->kind) {
	case K_LANE:
		return s_lane_call(c, in);
	case K_SETP:
		return s_setp_call(c, in);
	case K_CVT:
		return s_cvt_call(c, in);
	default:
		return false;
	}
}

/* Registers that have changed are no longer what was checked. */
static void forget(struct scomp *c, const struct insn *in)
{
	u32 i, k, n = 0;

	for (i = 0; i < c->nnear; i++) {
		bool gone = false;

		for (k = 0; k < 6; k++)
			gone |= (in->def >> k & 1) && in->o[k] == c->near[i].o;
		if (!gone)
			c->near[n++] = c->near[i];
	}
	c->nnear = n;
}

/* Arithmetic is done whoever runs, and its guard's bits are wanted by calls alone. */
bool s_has_bits(const struct insn *in) { return in->kind != K_LANE && in->kind != K_SETP && in->kind != K_PRED; }

/* Has the instruction before this one left in ymm14 what this one wants? */
static bool same_guard(const struct scomp *c, const struct insn *in)
{
	u32 k;

	if (c->stage || c->before == NO_PC || c->before + 1 != c->pc || in[-1].guard != in->guard || in[-1].gneg != in->gneg)
		return false;
	for (k = 0; k < 6; k++)
		if ((in[-1].def >> k & 1) && in[-1].o[k] == in->guard)
			return false;
	return true;
}

/* The mask of those that a guard lets through in ymm14; jumps for when there are none. */
void s_guard_begin(struct scomp *c, const struct insn *in, u32 skip[2])
{
	struct as *a = &c->a;
	int p;

	skip[0] = skip[1] = 0;
	c->guarded = false;
	if (in->guard == OPND_NONE)
		return;
	if (s_val(c, in->guard, 2).cls == SC_SCALAR) {
		s_to_gpr(c, in->guard, 0, RAX);
		g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
		skip[0] = g_jcc(a, in->gneg ? CC_NE : CC_E);
		return;
	}
	if (!same_guard(c, in)) {
		p = sv(c, in->guard, 2, 0, 14);
		vr(a, in->gneg ? X_PANDN : X_PAND, 14, p, 15);
	}
	c->guarded = true;
	if (s_has_bits(in)) {
		vr(a, X_MOVMSKPS, RAX, 0, 14);
		g_store(a, 0, stack_rm(c->gbits), RAX);
		g_alui(a, 0, G_CMP, rm_reg(RAX), 0);
		skip[1] = g_jcc(a, CC_E);
	}
}

/* mx: the mode before the guard */
void s_guard_end(struct scomp *c, const u32 skip[2], u32 mx)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (skip[i])
			g_here(&c->a, skip[i]);
	if (skip[0] || skip[1])
		s_mode_met(c, mx);
	c->before = c->guarded && !c->stage ? c->pc : NO_PC;
	c->guarded = false;
}

static void insn(struct scomp *c, const struct insn *in, u32 pc)
{
	struct as *a = &c->a;
	u32 skip[2], n, nfix, nslow, nsites, nexits, nxjumps, mx, i;
	bool base = c->base.at == a->n;

	c->pc = pc;
	a->vex_end = 0;
	s_guard_begin(c, in, skip);
	n = a->n;
	nfix = a->nfix;
	nslow = c->nslow;
	nsites = c->nsites;
	nexits = c->nexits;
	nxjumps = c->nxjumps;
	mx = c->mx;
	for (i = 0; i < 2 && !c->bad; i++) {
		if (i)
			s_bits(c);
		if (i ? called(c, in) : s_native(c, in))
			break;
		c->bad |= c->fused != 0;        /* flags that the branch wants would be lost */
		a->n = n;
		a->nfix = nfix;
		a->vex_end = 0;
		c->nslow = nslow;
		c->nnear = 0;
		c->nsites = nsites;
		c->nexits = nexits;
		c->nxjumps = nxjumps;
		c->mx = mx;
	}
	if (i == 2 && !c->bad)
		s_call(c, pc);
	if (i)
		c->base.at = 0;
	else
		s_keep_base(c, in, base, mx);
	if (c->nslow && c->slow[c->nslow - 1].pc == pc) {
		c->slow[c->nslow - 1].back = a->n;
		s_mode_met(c, c->s->mxcsr_home);
	}
	s_guard_end(c, skip, mx);
	forget(c, in);
}

static void block(struct scomp *c, struct sblock *b)
{
	u32 i;

	c->cur = b;
	c->mx = c->s->mxcsr == ~0u ? c->s->mxcsr_home : 0;
	c->fused = 0;
	c->later = false;
	c->nnear = 0;
	c->before = NO_PC;
	c->fold.pc = c->base.at = 0;
	b->at = c->a.n;
	if (b == c->b)
		s_whole(c);
	for (i = b->start; i < b->end && !c->bad && !c->a.oom; i++) {
		const struct insn *in = &c->code[i];

		if (s_sync_at(c, i)) {
			s_mode_home(c);
			s_meet(c, i);
			return;
		}
		switch (in->kind) {
		case K_JMP:
			s_mode_home(c);
			go_to(c, s_block_at(c, in->taken), true);
			return;
		case K_CBRA:
			s_mode_home(c);
			branch(c, in);
			return;
		case K_RET:
		case K_EXIT:
			s_mode_home(c);
			if (c->whole_end && i == c->whole_end_pc)
				g_here(&c->a, c->whole_end);
			leave_lanes(c, in);
			if (in->guard == OPND_NONE)
				return;
			break;
		default:
			insn(c, in, i);
		}
	}
	s_mode_home(c);
	if (b->nsucc)
		go_to(c, b->succ[0], true);
}

static int by_place(const void *a, const void *b)
{
	const struct jsite *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Everything in its last place; one allocation for what stays. */
static struct jit *finish(struct scomp *c)
{
	struct as *a = &c->a;
	u32 code = (a->n + 63) & ~63u, total = code + a->nlit * 64, i, k, nw = 0;
	u64 off = jit_code_take(c->fn->m->e, total);
	struct engine *e = c->fn->m->e;
	struct strip_code *s;
	struct jit *j;
	size_t bytes;
	char *p;
	u32 *waits;

	if (off == ~0ull)
		return NULL;
	for (i = 0; i < a->nfix; i++) {
		s32 d = (s32)(code + a->fix[i].lit * 64) - (s32)(a->fix[i].at + 4 + a->fix[i].tail), old;

		memcpy(&old, a->p + a->fix[i].at, 4);
		d += old;
		memcpy(a->p + a->fix[i].at, &d, 4);
	}
	for (i = 0; i < c->nexits; i++)
		nw += c->exits[i].nwaits;
	bytes = sizeof(*j) + sizeof(*s) + (c->nexits + 1) * sizeof(*c->exits) + (nw + 1) * sizeof(u32) + (c->n + 2) * sizeof(u32) +
		(c->nentries + 1) * sizeof(*c->entries) + (c->nsites + 1) * sizeof(*c->sites) + (c->nslow + 1) * sizeof(u32) +
		(c->nparks + 1) * sizeof(*c->parks) + (c->nlags + 1) * sizeof(*c->lags) + (c->nbehind + 1) * sizeof(*c->behind) + (c->nlives + 1) * sizeof(u32) + (c->nentries + 1) * sizeof(u32) + (c->s->nregs + 1) * sizeof(struct jplace) + c->npats * sizeof(*c->pats) + 64;
	p = calloc(1, bytes);
	if (!p) {
		jit_code_give(e, off, total);
		return NULL;
	}
#define TAKE(n) (p += (n), p - (n))
	j = (struct jit *)TAKE(sizeof(*j));
	s = (struct strip_code *)TAKE(sizeof(*s));
	j->mem = j;
	j->strip = s;
	s->exits = (struct sexit *)TAKE((c->nexits + 1) * sizeof(*c->exits));
	j->regs = (struct jplace *)TAKE((c->s->nregs + 1) * sizeof(struct jplace));
	j->entries = (struct jentry *)TAKE((c->nentries + 1) * sizeof(*c->entries));
	j->sites = (struct jsite *)TAKE((c->nsites + 1) * sizeof(*c->sites));
	j->stubs = (u32 *)TAKE((c->nslow + 1) * sizeof(u32));
	j->lives = (u32 *)TAKE((c->nlives + 1) * sizeof(u32));
	s->pats = (s32 (*)[STRIP])TAKE(c->npats * sizeof(*c->pats));
	memcpy(s->pats, c->pats, c->npats * sizeof(*c->pats));
	s->next = (u32 *)TAKE((c->nentries + 1) * sizeof(u32));
	if (c->nentries)
		memcpy((u32 *)(uintptr_t)s->next, c->next, c->nentries * sizeof(u32));
	s->parks = (struct spark *)TAKE((c->nparks + 1) * sizeof(*c->parks));
	s->nparks = c->nparks;
	if (c->nparks)
		memcpy((struct spark *)(uintptr_t)s->parks, c->parks, c->nparks * sizeof(*c->parks));
	s->lags = (struct spark *)TAKE((c->nlags + 1) * sizeof(*c->lags));
	s->nlags = c->nlags;
	if (c->nlags)
		memcpy((struct spark *)(uintptr_t)s->lags, c->lags, c->nlags * sizeof(*c->lags));
	s->behind = (struct sbehind *)TAKE((c->nbehind + 1) * sizeof(*c->behind));
	if (c->nbehind)
		memcpy((struct sbehind *)(uintptr_t)s->behind, c->behind, c->nbehind * sizeof(*c->behind));
	waits = (u32 *)TAKE((nw + 1) * sizeof(u32));
	j->entry_at = (u32 *)TAKE((c->n + 2) * sizeof(u32));
#undef TAKE
	j->spec = c->spec;
	j->fn = c->fn;
	j->mxcsr = c->s->mxcsr;
	j->mxcsr_home = c->s->mxcsr_home;
	j->guessed = c->guessed;
	s->area = c->p_bytes ? c->p_bytes : (u32)sizeof(struct sprivate);
	/* with room for code that lets lanes part where these guesses were wrong (run.c): what it keeps besides may be as much again */
	j->p_bytes = (2 * s->area + 1024 + 63) & ~63u;
	s->code = c->code;
	s->nexits = c->nexits;
	for (i = 0; i < c->nexits; i++) {
		s->exits[i] = c->exits[i];
		s->exits[i].waits = waits;
		s->spins |= s->exits[i].spins;
		for (k = 0; k < c->exits[i].nwaits; k++)
			*waits++ = c->b[c->exits[i].waits[k]].start;
	}
	j->nexits = c->nexits;
	j->nentries = c->nentries;
	if (c->nentries)
		memcpy(j->entries, c->entries, c->nentries * sizeof(*c->entries));
	memcpy(j->entry_at, c->entry_at, (c->n + 2) * sizeof(u32));
	if (c->nsites) {
		qsort(c->sites, c->nsites, sizeof(*c->sites), by_place);
		memcpy(j->sites, c->sites, c->nsites * sizeof(*c->sites));
	}
	j->nsites = c->nsites;
	for (i = 0; i < c->nslow; i++)
		j->stubs[i] = c->slow[i].at;
	if (c->nlives)
		memcpy(j->lives, c->lives, c->nlives * sizeof(u32));
	for (i = 0; i < c->s->nregs; i++)
		j->regs[i] = (struct jplace){ .home = (u32)c->r[i].home, .slot = c->r[i].slot, .w = c->r[i].w, .pat = c->r[i].v.pat, .sk = c->r[i].v.known, .s = c->r[i].v.k, .ual = c->r[i].v.ual,
			.cls = c->r[i].v.cls, .rawf = c->r[i].rawf };
	j->code = jit_code_put(e, off, a);
	j->bytes = total;
	return j;
}

/* Does it name shared memory that a launch gives it, or may what it calls? */
static bool names_dynamic(const struct insn *code, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if ((code[i].kind == K_SREG && (code[i].sub == SR_COUNT || code[i].sub == SR_DYNAMIC_SMEM || code[i].sub == SR_TOTAL_SMEM ||
		    (code[i].sub >= SR_RESERVED_BEGIN && code[i].sub <= SR_RESERVED_CAP))) || code[i].kind == K_CALL)
			return true;
	return false;
}

struct jit *strip_compile(struct func *fn, u32 spec, u32 most)
{
	struct scomp *c = calloc(1, sizeof(*c));
	struct jit *j = NULL;
	u32 i;

	if (!c)
		return NULL;
	jit_who_tells(fn->jsrc);
	c->fn = fn;
	c->s = fn->jsrc;
	c->code = c->s->code;
	c->n = c->s->n;
	c->spec = spec;
	c->most = most;
	c->guess = !fn->jsrc->noguess;
	c->dynamic = !fn->fixed_shared || names_dynamic(c->code, c->n) || names_dynamic(fn->pro, fn->npro);
	c->r = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->r));
	c->entry_at = pool_alloc(&c->mem, (c->n + 2) * sizeof(u32));
	if (!c->r || !c->entry_at)
		goto out;
	for (i = 0; i < c->s->nregs; i++) {
		c->r[i].w = c->s->regs[i].w;
		c->r[i].slot = c->s->slot[i];
	}
	if (!s_pool(c))
		goto out;
	s_within(c);
	if (!s_order(c) || !s_blocks(c) || !s_facts(c))
		goto out;
	s_steps(c);
	if (!s_quads(c) || !s_indices(c) || !s_place(c) || !s_clean(c))
		goto out;
	s_pairs(c);
	as_room(&c->a, 1 << 16);
	s_way_in(c);
	for (i = 0; i < c->nb && !c->bad && !c->a.oom && c->a.n < S_MAX_CODE; i++)
		block(c, &c->b[i]);
	if (c->bad || c->a.oom || c->a.n >= S_MAX_CODE)
		goto out;
	for (i = 0; i < c->njumps; i++)
		g_land(&c->a, c->jumps[i].at, c->b[c->jumps[i].block].at);
	for (i = 0; i < c->nb && !c->bad; i++)
		s_round(c, &c->b[i]);
	if (!c->bad)
		s_warps(c);
	s_slow_ways(c);
	for (i = 0; i < c->nahead; i++)
		ahead_seldom(&c->a, &c->ahead[i], false);
	if (c->bad || !s_ways(c) || c->bad || c->a.oom)
		goto out;
	j = finish(c);
out:
	free(c->jumps);
	free(c->xjumps);
	free(c->sjumps);
	free(c->next);
	free(c->parks);
	free(c->lags);
	free(c->behind);
	free(c->exits);
	free(c->entries);
	free(c->sites);
	free(c->slow);
	free(c->lives);
	free(c->a.p);
	free(c->a.fix);
	free(c->a.lit);
	pool_free(&c->mem);
	free(c);
	return j;
}
