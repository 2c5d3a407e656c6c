/* SPDX-License-Identifier: MIT */
/*
 * The JIT's driver: from what cfg.c left (struct jit_src) to code in the engine's arena. Called on a
 * kernel's first launch with a shape of block, on the dispatcher's thread. jit.h says how code and
 * values look; jit_run.c runs it.
 */
#include <stdlib.h>
#include <string.h>

#include "jit_mem.h"
#include "lanes.h"

/* ---- exits and entries --------------------------------------------------------------------- */

static void *grow(struct jcomp *c, void *p, u32 *cap, u32 want, size_t elem)
{
	void *q = xgrow(p, cap, want, elem);

	if (!q)
		c->bad = true;
	return q ? q : p;
}

/* The list of what is live before pc. */
static u32 live_list(struct jcomp *c, u32 pc, u32 *n)
{
	const u64 *set = c->live_at + (size_t)pc * c->s->words;
	u32 w, at = c->nlives;

	if (c->live_idx[2 * pc]) {
		*n = c->live_idx[2 * pc + 1];
		return c->live_idx[2 * pc] - 1;
	}
	c->lives = grow(c, c->lives, &c->lives_cap, at + c->s->nregs + 1, sizeof(u32));
	*n = 0;
	if (c->bad)
		return 0;
	for (w = 0; w < c->s->words; w++) {
		u64 b = set[w];

		while (b) {
			c->lives[c->nlives++] = w * 64 + (u32)__builtin_ctzll(b);
			b &= b - 1;
		}
	}
	c->live_idx[2 * pc] = at + 1;
	c->live_idx[2 * pc + 1] = *n = c->nlives - at;
	return at;
}

/* A list of registers in lives[]; where. */
u32 jit_lives(struct jcomp *c, const u32 *list, u32 n)
{
	u32 at = c->nlives;

	c->lives = grow(c, c->lives, &c->lives_cap, at + n + 1, sizeof(u32));
	if (c->bad)
		return 0;
	memcpy(c->lives + at, list, n * sizeof(u32));
	c->nlives += n;
	return at;
}

/* The same with what lanes will read that wait in the regions of block b. */
u32 jit_live_all(struct jcomp *c, u32 pc, u32 b, u32 *n)
{
	const u64 *x = c->live_at + (size_t)pc * c->s->words, *y = c->keep[b];
	u32 w, at = c->nlives;

	if (!y)
		return live_list(c, pc, n);
	*n = 0;
	c->lives = grow(c, c->lives, &c->lives_cap, at + c->s->nregs + 1, sizeof(u32));
	if (c->bad)
		return 0;
	for (w = 0; w < c->s->words; w++) {
		u64 l;

		for (l = x[w] | y[w]; l; l &= l - 1)
			c->lives[c->nlives++] = w * 64 + (u32)__builtin_ctzll(l);
	}
	*n = c->nlives - at;
	return at;
}

u32 j_exit(struct jcomp *c, u8 kind, u32 pc, u32 to)
{
	struct jexit *x;
	u32 i, at = kind == JX_JUMP || kind == JX_TURN ? to : pc, b = block_no(c, at);

	if (kind == JX_DONE && c->done)
		return c->done - 1;
	for (i = c->nexits; i-- > c->first_exit && i + 8 > c->nexits;)
		if (c->exits[i].kind == kind && c->exits[i].pc == pc && c->exits[i].to == to)
			return i;
	c->exits = grow(c, c->exits, &c->exits_cap, c->nexits + 1, sizeof(*c->exits));
	if (c->bad)
		return 0;
	x = &c->exits[c->nexits];
	memset(x, 0, sizeof(*x));
	x->kind = kind;
	x->pc = pc;
	x->to = to;
	x->rin = c->rin[b];
	x->rfirst = c->rfirst[b];
	if (kind == JX_DONE)
		c->done = c->nexits + 1;
	/* a step comes back with everything where it was */
	if (kind != JX_DONE && kind != JX_STEP)
		x->live = live_list(c, at, &x->nlive);
	if (kind == JX_STEP && c->merged && c->merged[pc].kind == K_LD && c->merged[pc].vec)
		for (i = pc + 1; i < pc + 64 && i < c->n && x->nmore < sizeof(x->more); i++)
			if (c->merged[i].kind == K_LD && !c->merged[i].vec && c->merged[i].imm == pc)
				x->more[x->nmore++] = (u8)(i - pc);
	if (kind == JX_STEP && c->merged && c->merged[pc].kind == K_ST && c->merged[pc].vec)
		for (i = pc > 64 ? pc - 64 : 0; i < pc; i++)
			if (c->merged[i].kind == K_ST && !c->merged[i].vec && c->merged[i].imm == pc && x->nbefore < sizeof(x->before))
				x->before[x->nbefore++] = (u8)(pc - i);
	return c->nexits++;
}

static void jump_to_exit(struct jcomp *c, u32 at, u32 exit)
{
	c->jx = grow(c, c->jx, &c->jx_cap, c->njx + 1, sizeof(*c->jx));
	if (!c->bad)
		c->jx[c->njx++] = (struct jx){ at, exit };
}

void j_exit_at(struct jcomp *c, u32 at, u32 exit) { jump_to_exit(c, at, exit); }

void j_leave_if(struct jcomp *c, u32 cc, u32 exit)
{
	jump_to_exit(c, g_jcc(&c->a, cc), exit);
}

static void leave(struct jcomp *c, u8 kind, u32 pc)
{
	if (kind != JX_STEP)            /* behind others the next warp may go on */
		jit_mxcsr_home(c);
	jump_to_exit(c, g_jmp(&c->a), j_exit(c, kind, pc, 0));
}

void j_site(struct jcomp *c, u32 exit)
{
	c->sites = grow(c, c->sites, &c->sites_cap, c->nsites + 1, sizeof(*c->sites));
	if (!c->bad)
		c->sites[c->nsites++] = (struct jsite){ c->a.n, exit };
}

struct jlate *j_late(struct jcomp *c)
{
	c->late = grow(c, c->late, &c->late_cap, c->nlate + 1, sizeof(*c->late));
	return c->bad ? NULL : &c->late[c->nlate++];
}

/* Exit x, which came back after a step, lets the interpreter go on from there. */
void j_leave(struct jcomp *c, u32 exit)
{
	struct jexit *x = &c->exits[exit];

	x->kind = JX_LEAVE;
	x->live = live_list(c, x->pc, &x->nlive);
}

/* A store that one at pc or behind it would have done. */
static bool waits_for(const struct insn *m, u32 pc) { return m->kind == K_ST && !m->vec && m->imm >= pc; }

/*
 * Exit x lets the interpreter go on, but what it has not yet loaded may be the other half of what was. It does
 * everything from there up to where that is over, except for what code has done, and leaves; first, stores before it that code has put off.
 */
void j_walk(struct jcomp *c, u32 exit)
{
	u32 pc = c->exits[exit].pc, q, at = c->nlives, n = 0;
	struct jexit *x;

	for (q = pc; q && c->inside[q]; q--)
		;
	for (; q < c->n && (q <= pc || c->inside[q]); q++) {
		const struct insn *m = &c->merged[q];

		if (q < pc ? !waits_for(m, pc) : m->kind == K_LD && !m->vec && m->imm < pc)
			continue;
		c->lives = grow(c, c->lives, &c->lives_cap, c->nlives + 1, sizeof(u32));
		if (c->bad)
			return;
		c->lives[c->nlives++] = q;
		n++;
	}
	x = &c->exits[exit];
	x->kind = JX_WALK;
	x->to = q;
	x->walk = at;
	x->nwalk = n;
	x->live = live_list(c, q, &x->nlive);
}

static bool new_entry(struct jcomp *c, u32 live, u32 n)
{
	c->entries = grow(c, c->entries, &c->entries_cap, c->nentries + 1, sizeof(*c->entries));
	if (c->bad)
		return false;
	jit_mxcsr_home(c);
	c->entries[c->nentries++] = (struct jentry){ c->a.n, live, n };
	return true;
}

/* Nothing is known any more. */
static void forget(struct jcomp *c)
{
	c->stamp++;
	c->nmemo = 0;
	c->all_here = false;
	c->full = c->sure != NULL;      /* nobody comes into a loop's copy from elsewhere */
	c->lits = 0;
}

/* Code of pc begins here, and may be entered by the interpreter. */
static void entry(struct jcomp *c, u32 pc)
{
	u32 live, n;

	forget(c);
	if (c->entry_at[pc] || c->inside[pc] || c->sealed[pc] || c->sure)
		return;
	live = live_list(c, pc, &n);
	if (new_entry(c, live, n))
		c->entry_at[pc] = c->nentries;
}

static bool stepped(const struct jcomp *c, u32 pc)
{
	u32 i;

	for (i = c->nexits; i-- > c->first_exit && i + 8 > c->nexits;)
		if (c->exits[i].kind == JX_STEP && c->exits[i].pc == pc && !c->exits[i].resume)
			return true;
	return false;
}

/* The single instruction before pc was left to the interpreter: its exits come back here. news: literals that its code has put into registers. */
static void resume(struct jcomp *c, u32 pc, u32 news)
{
	/* with nobody waiting, and nothing that code behind it relies on, it is an entry like others */
	bool open = !c->sure && !c->keep[c->block] && !c->inside[pc] && !c->sealed[pc] && !c->entry_at[pc] && !c->nmemo && !c->all_here && !c->full;
	u32 i, live = 0, n = 0, over = 0;

	if (open)
		live = live_list(c, pc, &n);
	jit_mxcsr_home(c);
	if (news)
		over = g_jmp(&c->a);
	if (!new_entry(c, live, n))
		return;
	for (i = JZ_FIRST; news && i < 32; i++)
		if (news >> i & 1)
			ev(&c->a, V_MOVA32, (int)i, 0, rm_lit(c->lit_of[i], 0));
	if (over)
		g_here(&c->a, over);
	for (i = c->nexits; i-- > 0 && i + 8 > c->nexits;)
		if (c->exits[i].kind == JX_STEP && c->exits[i].pc + 1 == pc && !c->exits[i].resume)
			c->exits[i].resume = c->nentries;
	if (!open)
		return;
	c->entry_at[pc] = c->nentries;
	c->stamp++;             /* the interpreter's values have not been numbered */
}

/* ---- control flow --------------------------------------------------------------------------- */

/* The lanes in gpr run now. */
void j_run_lanes(struct jcomp *c, int gpr)
{
	struct as *a = &c->a;

	g_store(a, 0, PM(m), gpr);
	a->k_held &= (u8)~JK_GROUP;
	k_from(a, 1, gpr);
	k_shr(a, 2, 1, 8);
	k_shr(a, 3, 1, 16);
	k_shr(a, 4, 1, 24);
	a->k_held |= JK_GROUP;
}

/* The jump at `at` leads to the block that begins at pc `to`. */
static void goes_to(struct jcomp *c, u32 at, u32 to)
{
	c->bj = grow(c, c->bj, &c->bj_cap, c->nbj + 1, sizeof(*c->bj));
	if (!c->bad)
		c->bj[c->nbj++] = (struct jx){ at, to };
}

/*
 * An edge, as interp.c does it: lanes that wait at or before the target come first, a back edge costs
 * budget and gives way when others wait.
 */
void j_edge(struct jcomp *c, u32 pc, u32 to)
{
	struct as *a = &c->a;
	struct rm next = rm_mem(R13, (s32)offsetof(struct frame, next_wait));
	struct rm spin = rm_mem(R13, (s32)offsetof(struct frame, spin));
	u32 x = j_exit(c, JX_JUMP, pc, to);
	bool spins = (c->s->code[pc].kind == K_JMP || c->s->code[pc].kind == K_CBRA) && c->s->code[pc].flags & INF_SPIN;

	if (to <= pc) {
		g_alui(a, 1, G_SUB, rm_mem(R14, (s32)offsetof(struct tstate, budget)), (s32)(pc - to) + 1 + (spins ? spin_cost_of(c->s->code[pc].flags) : 0));
		j_leave_if(c, CC_S, x);
		/* lanes wait: behind the loop they may, for a while; interp.c gives them their turn */
		g_alui(a, 0, G_CMP, next, -1);
		if (c->turn[block_no(c, to)] && c->entry_at[to]) {
			u32 wait = g_jcc(a, CC_NE);

			jit_turn_around(c, block_no(c, to), j_exit(c, JX_TURN, pc, to));
			g_here(a, wait);
		} else {
			u32 at = g_jcc(a, CC_E);

			if (!jit_loop_back(c, at, block_no(c, to)))
				goes_to(c, at, to);
		}
		g_alui(a, 0, G_ADD, spin, spins ? SPIN_STEP : 1);
		g_alui(a, 0, G_CMP, spin, JIT_SPIN << c->fn->patience);
		j_leave_if(c, CC_A, x);
		g_alui(a, 0, G_CMP, next, (s32)to);
		j_leave_if(c, CC_BE, x);
	} else {
		g_alui(a, 0, G_CMP, next, (s32)to);
		j_leave_if(c, CC_BE, x);
	}
	goes_to(c, g_jmp(a), to);
}

const struct jblock *jit_block_at(const struct jcomp *c, u32 pc) { return jit_src_block(c->s, pc); }

static void branch(struct jcomp *c, const struct insn *in, u32 pc)
{
	struct as *a = &c->a;
	struct rm p = ju_rm(c, in->guard);
	const struct jregion *r;
	u32 at = 0, all, no, i, end = a->n;
	bool held = c->rax_pred == in->guard && c->rax_at == end && a->label != end && !(c->nentries && c->entries[c->nentries - 1].code == end);

	jit_mxcsr_home(c);
	held = held && a->n == end;
	if (c->decided) {
	} else if (jit_val(c, in->guard, 2).cls == JC_UNI) {
		g_alui(a, 0, G_CMP, held ? rm_reg(RAX) : p, 0);
		at = g_jcc(a, in->gneg ? CC_NE : CC_E);
	} else {
		if (!held)
			g_load(a, 0, RAX, p);
		if (in->gneg)
			g_not(a, 0, RAX);
		g_alu(a, 0, G_AND, RAX, PM(m));
		at = g_jcc(a, CC_E);
		g_alu(a, 0, G_CMP, RAX, PM(m));
		r = jit_region_at(c, pc, &no);
		if (r) {
			all = g_jcc(a, CC_E);
			j_part(c, in, pc, r, no);
			g_here(a, all);
		} else {
			j_leave_if(c, CC_NE, j_exit(c, JX_LEAVE, pc, 0));
		}
	}
	for (i = 0; i < (in->gneg ? c->nno : c->nyes); i++)
		g_here(a, in->gneg ? c->no[i] : c->yes[i]);
	j_jump(c, pc, in->taken);
	if (at)
		g_here(a, at);
	for (i = 0; i < (in->gneg ? c->nyes : c->nno); i++)
		g_here(a, in->gneg ? c->yes[i] : c->no[i]);
	c->nyes = c->nno = 0;
	c->decided = false;
	j_jump(c, pc, in->fall);
}

/* Somebody waits who will read what in writes; a scalar is the same for him (jit_region.c). */
bool j_keeps(const struct jcomp *c, const struct insn *in)
{
	const u64 *set = c->keep[c->block];
	u32 k;

	for (k = 0; set && k < 6; k++)
		if ((in->def >> k & 1) && in->o[k] != OPND_NONE && c->r[in->o[k]].cls == JC_VARY && (set[in->o[k] >> 6] >> (in->o[k] & 63) & 1))
			return true;
	return false;
}

/* Only the branch behind it wants what the comparison at pc says. */
static bool for_branch(const struct jcomp *c, const struct insn *in, u32 pc)
{
	const struct jblock *b = &c->s->b[c->block];
	const struct insn *next = in + 1;
	u32 p = in->o[0];

	return in->kind == K_SETP && in->guard == OPND_NONE && pc + 1 < b->end && next->kind == K_CBRA && next->guard == p &&
	       c->merged[pc].kind != K_LD && !jit_live_behind(c->s, c->block, p) && !j_keeps(c, in);
}

/* ---- one instruction ------------------------------------------------------------------------ */

static bool by_code(struct jcomp *c, const struct insn *in)
{
	if (jit_scalar(c, in) && !c->gk && (in->kind == K_LANE || in->kind == K_SETP || in->kind == K_CVTA))
		return jit_scalar_op(c, in);
	switch (in->kind) {
	case K_LANE: return jit_halves(in) ? jit_half_op(c, in) : jit_lane(c, in);
	case K_SETP: return jit_setp(c, in);
	case K_PRED: return jit_pred(c, in);
	case K_SREG: return jit_sreg(c, in);
	case K_LOP3: return jit_lop3(c, in);
	case K_CVT: return jit_cvt(c, in);
	case K_LD:
	case K_LDPARAM: return jit_ld(c, in);
	case K_ST: return jit_st(c, in);
	case K_ATOM: return jit_atom(c, in);
	case K_SHFL: return jit_shfl(c, in);
	case K_VOTE: return jit_vote(c, in);
	case K_MATCH: return jit_match(c, in);
	case K_REDUX: return jit_redux(c, in);
	case K_ACTIVEMASK: return jit_activemask(c, in);
	case K_CVTA: return jit_cvta(c, in);
	case K_TENSOR: return jit_tensor(c, in);
	case K_MEMBAR:
		as_room(&c->a, 16);
		b1(&c->a, 0x0f);
		b1(&c->a, 0xae);
		b1(&c->a, 0xf0);
		return true;
	}
	return false;
}

/* Code of our own, or else a call of the interpreter's function where there is one. */
static bool native(struct jcomp *c, const struct insn *in)
{
	struct jmark mark = j_mark(c);
	u32 mx = c->mx;

	if (by_code(c, in))
		return true;
	if (in->kind != K_LANE && in->kind != K_CVT)
		return false;
	j_undo(c, mark);
	c->mx = mx;
	return in->kind == K_LANE ? jit_lane_call(c, in) : jit_cvt_call(c, in);
}

bool jit_together(const struct insn *in)
{
	return in->kind == K_SHFL || in->kind == K_VOTE || in->kind == K_MATCH || in->kind == K_REDUX;
}

static void straight(struct jcomp *c, const struct insn *in, u32 pc)
{
	struct as *a = &c->a;
	struct jmark mark;
	struct jmemo memo[JMEMOS];
	u32 skip = 0, mx = c->mx, nmemo, lits = c->lits;

	c->gk = 0;
	if (in->o[0] != OPND_NONE && !(in->o[0] & OPND_CONST) && (in->def & 1) && c->sym[in->o[0]].ghost)
		return;                         /* made where it is wanted */
	if (c->merged[pc].kind) {
		if (!c->merged[pc].vec)
			return;                 /* was loaded with one before it, or is stored with one behind it */
		in = &c->merged[pc];
	}
	if (jit_together(in))
		j_need_members(c, in);  /* on every way: what is known of them holds behind it, too */
	if (in->guard != OPND_NONE) {
		struct rm p = ju_rm(c, in->guard);

		if (jit_val(c, in->guard, 2).cls == JC_UNI) {
			g_alui(a, 0, G_CMP, p, 0);
			skip = g_jcc(a, in->gneg ? CC_NE : CC_E);
		} else {
			k_load(a, 5, p);
			if (in->gneg)
				k_andn(a, 5, 5, 1);
			else
				k_and(a, 5, 5, 1);
			k_hold(a, 5);
			if (in->kind != K_LANE && in->kind != K_SETP && in->kind != K_PRED) {
				k_ortest(a, 5, 5);
				skip = g_jcc(a, CC_E);
			}
			c->gk = 1;
		}
	}
	if (!c->gk && !c->full && j_keeps(c, in))
		c->gk = 2;
	if (in->kind == K_LANE && in->def == 1 && in->o[0] != OPND_NONE &&
	    !(c->live_at[(size_t)(pc + 1) * c->s->words + (in->o[0] >> 6)] >> (in->o[0] & 63) & 1)) {
		c->gk = 0;
		k_let(a, 5);
		if (skip)
			g_here(a, skip);
		return;                         /* nobody wants it: the upper of two halves, say */
	}
	jit_all_lanes(c, pc);
	c->keeps_lits = c->full && !c->gk && in->guard == OPND_NONE &&
			(in->kind == K_LANE || in->kind == K_SHFL || (in->kind == K_LD && jit_val(c, in->o[4], in->aw).cls == JC_PAT));
	c->half = !c->gk && in->kind == K_LD ? jit_half(c, pc) : OPND_NONE;
	if (c->half != OPND_NONE && j_keeps(c, in + 1))
		c->half = OPND_NONE;
	if (c->half != OPND_NONE)
		c->half_mx = c->mx;
	mark = j_mark(c);
	nmemo = c->nmemo;
	memcpy(memo, c->memo, nmemo * sizeof(memo[0]));
	if ((jit_stressed(c, pc, JS_STEP) && !jit_guesses(c, in)) || !native(c, in)) {
		j_undo(c, mark);
		c->nmemo = nmemo;
		memcpy(c->memo, memo, nmemo * sizeof(memo[0]));
		leave(c, JX_STEP, pc);
	}
	c->gk = 0;
	c->keeps_lits = false;
	k_let(a, 5);
	if (skip) {
		g_here(a, skip);
		if (c->mx != mx)
			c->mx = 0;              /* set on one of the two ways */
	}
	if (stepped(c, pc))
		resume(c, pc + 1, c->lits & ~lits);
}

/* A barrier of the block that only this warp comes to, whole: it goes on. The jump that does; 0: not at this one. */
static u32 alone(struct jcomp *c, const struct insn *in)
{
	struct as *a = &c->a;
	struct jval id = { .known = false };
	u32 others, on;

	if (in->kind != K_BAR || !jit_barrier(in) || in->o[2] != OPND_NONE || !(id = jit_val(c, in->o[1], 0)).known || id.k >= CTA_BARRIERS)
		return 0;
	jit_mxcsr_home(c);
	g_alui(a, 0, G_CMP, PM(one), 0);
	others = g_jcc(a, CC_E);
	g_load(a, 0, RAX, PM(m));
	g_alu(a, 0, G_CMP, RAX, rm_mem(R13, (s32)offsetof(struct frame, lanes)));
	on = g_jcc(a, CC_E);
	g_here(a, others);
	return on;
}

static void emit_insn(struct jcomp *c, const struct insn *in, u32 pc)
{
	u32 behind, n;

	c->pc = pc;
	if (c->passed) {
		c->passed--;
		return;
	}
	if (jit_stress && !c->decided && !c->inside[pc] && in->kind != K_NOP) {
		if (jit_stressed(c, pc, JS_ENTRY))
			entry(c, pc);
		if (jit_stressed(c, pc, JS_LEAVE) && !c->after_half && in->kind != K_JMP && in->kind != K_CBRA) {
			leave(c, JX_LEAVE, pc);
			if (pc + 1 < c->n)
				entry(c, pc + 1);
			return;
		}
	}
	jit_twins(c, pc);
	switch (in->kind) {
	case K_NOP:
		return;
	case K_JMP:
		j_jump(c, pc, in->taken);
		return;
	case K_CBRA:
		branch(c, in, pc);
		return;
	case K_WARPSYNC:
		if (in->guard == OPND_NONE) {
			j_need_members(c, in);
			return;
		}
		/* fall through */
	case K_BRX:
	case K_CALL:
	case K_LATER:
		leave(c, JX_LEAVE, pc);
		if (pc + 1 < c->n && in->kind != K_BRX)
			entry(c, pc + 1);
		return;
	case K_RET:
	case K_EXIT:
		if (in->guard == OPND_NONE) {
			leave(c, JX_DONE, pc);
			return;
		}
		/* fall through */
	case K_TRAP:
	case K_BAR:
		n = alone(c, in);
		leave(c, JX_LEAVE, pc);
		if (n)
			g_here(&c->a, n);
		if (pc + 1 < c->n)
			entry(c, pc + 1);
		return;
	}
	n = jit_copies_ahead(c, in, pc);
	if (n) {
		jit_mxcsr_home(c);
		jit_setp_copies(c, in, pc, n);
		return;
	}
	if (for_branch(c, in, pc)) {
		jit_mxcsr_home(c);
		jit_setp_ahead(c, in, !in[1].gneg);
	}
	behind = c->after_half;
	c->after_half = 0;
	if (!c->decided)
		straight(c, in, pc);
	if (behind) {
		g_here(&c->a, behind);
		if (c->mx != c->half_mx)        /* who comes from there has not passed the entry in between */
			c->mx = 0;
	}
	jm_defines(c, in);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Block b from pc on, of which nothing is known. */
void j_rest(struct jcomp *c, u32 b, u32 pc)
{
	c->block = b;
	forget(c);
	for (; pc < c->s->b[b].end && !c->bad && !c->a.oom; pc++) {
		jit_loop_test(c, pc);
		emit_insn(c, &c->code[pc], pc);
		jit_twins_end(c, pc + 1);
	}
}

/* *again: no code, but the source knows more now (jit_src.varies). */
static struct jit *compile(struct func *fn, u32 spec, bool much, bool last, bool *again)
{
	struct jcomp *c = calloc(1, sizeof(*c));
	struct jit *j = NULL;
	u32 b, i, *stubs;

	*again = false;

	if (!c)
		return NULL;
	c->fn = fn;
	c->s = fn->jsrc;
	c->code = c->s->code;
	c->n = c->s->n;
	c->spec = spec;
	c->much = much;
	c->ahead_from = much ? AHEAD_APART : 0;
	c->last = last;
	c->r = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->r));
	c->guess = !fn->jsrc->noguess;
	c->merged = pool_alloc(&c->mem, (c->n + 64) * sizeof(*c->merged));
	c->inside = pool_alloc(&c->mem, c->n + 2);
	c->sealed = pool_alloc(&c->mem, c->n + 2);
	c->sym = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->sym));
	c->stay = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->stay));
	c->code_at = pool_alloc(&c->mem, (c->n + 1) * sizeof(u32));
	c->entry_at = pool_alloc(&c->mem, (c->n + 2) * sizeof(u32));
	c->vn = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(*c->vn));
	c->twin = pool_alloc(&c->mem, c->s->nregs + 1);
	c->loop = pool_alloc(&c->mem, (c->s->nb + 1) * sizeof(*c->loop));
	c->asked_for = pool_alloc(&c->mem, (c->s->nregs + 1) * sizeof(u32));
	if (!c->asked_for || !c->loop || !c->vn || !c->twin || !c->r || !c->code_at || !c->entry_at || !c->merged || !c->inside || !c->sealed || !c->sym || !c->stay)
		goto out;
	for (i = 0; i < c->s->nregs; i++) {
		c->r[i].w = c->s->regs[i].w;
		c->r[i].slot = c->s->slot[i];
	}
	if (!jit_live_sets(c) || !jit_scan(c) || !jn_begin(c) || !jit_index(c) || !jit_levels(c) || !jit_merge(c) || !jit_regions(c) || c->again || !jit_turns(c) || !jit_alloc(c) || c->home_next > MAX_PRIVATE)
		goto out;
	as_room(&c->a, 65536);
	jit_way_in(c);
	for (b = 0; b < c->s->nb && !c->bad && !c->a.oom; b++) {
		struct jblock *jb = &c->s->b[b];

		c->block = b;
		jit_mxcsr_home(c);
		c->code_at[jb->start] = c->a.n;
		jit_turn_begin(c, b);
		entry(c, jb->start);
		jit_loop_begin(c, b);
		for (i = jb->start; i < jb->end && !c->bad && !c->a.oom; i++) {
			emit_insn(c, &c->code[i], i);
			jit_twins_end(c, i + 1);
		}
		/* the one way into what comes next, where lanes of a region wait that had another code before it */
		if (jb->nsucc == 1 && jb->succ[0] == b + 1 && c->code[jb->end - 1].kind != K_JMP && c->rin[b] & ~c->rin[b + 1])
			j_jump(c, jb->end - 1, jb->end);
		/* a jump to what comes next */
		if (c->nbj && c->bj[c->nbj - 1].at + 4 == c->a.n && c->bj[c->nbj - 1].exit == jb->end && b + 1 < c->s->nb) {
			c->nbj--;
			c->a.n -= 5;
		}
	}
	for (i = 0; i < c->nregions; i++) {
		struct jregion *r = &c->regions[i];

		r->live_join = live_list(c, r->join, &r->njoin);
		if (r->second != NO_PC)
			r->live_second = live_list(c, r->second, &r->nsecond);
	}
	if (c->bad || c->a.oom)
		goto out;
	jit_somes(c);
	jit_loops(c);
	jm_late(c);
	if (c->bad || c->a.oom)
		goto out;
	stubs = pool_alloc(&c->mem, (c->nexits + 1) * sizeof(u32));
	if (!stubs)
		goto out;
	if (!jit_ways(c, stubs))
		goto out;
	for (i = 0; i < c->njx; i++)
		g_land(&c->a, c->jx[i].at, stubs[c->jx[i].exit]);
	for (i = 0; i < c->nbj; i++)
		g_land(&c->a, c->bj[i].at, c->code_at[c->bj[i].exit]);
	j = jit_finish(c, stubs);
out:
	*again = c->again;
	free(c->live_at);
	free(c->live_idx);
	free(c->lives);
	free(c->exits);
	free(c->entries);
	free(c->sites);
	free(c->jx);
	free(c->late);
	free(c->somes);
	free(c->bj);
	free(c->a.p);
	free(c->a.fix);
	free(c->a.lit);
	pool_free(&c->mem);
	free(c);
	return j;
}

/* what a register's being no scalar may make of others, in rounds */
#define AGAIN 8

struct jit *jit_compile(struct func *fn, u32 spec)
{
	bool again;

	return compile(fn, spec, false, true, &again);
}

/* The same with vectors for scalars that were in the way of regions at branches where lanes part (jit_src.parted). NULL: there are no more. */
struct jit *jit_compile_apart(struct func *fn, u32 spec)
{
	bool again = true, any = false;
	struct jit *j = NULL;
	u32 i;

	for (i = 0; i < AGAIN && again; i++) {
		j = compile(fn, spec, true, i + 1 == AGAIN, &again);
		any |= again;
	}
	if (j && !any) {
		jit_drop_code(j);
		j = NULL;
	}
	return j;
}
