/* SPDX-License-Identifier: MIT */
/*
 * Addresses of loads and stores. One that is uniform or a pattern is checked with two comparisons of scalars, varying ones
 * lane by lane. Whatever fails a check goes through the interpreter (JX_STEP), which raises the fault or takes the long
 * way; so does an instruction that meets a missing page (jit_run.c redirects the signal). Called by jit_mem.c and jit_st.c.
 */
#include "jit_mem.h"
#include "lanes.h"

/* Merged loads are aligned as their elements, others as a whole. */
static u32 jm_align_log2(const struct insn *in)
{
	return (u32)__builtin_ctz(jm_align(in));
}

/* Every thread has its own local memory: the pattern becomes that of where it is. */
static bool local_lanes(struct jcomp *c, struct acc *x, u32 ext)
{
	s64 v[LANES];
	u32 l, pat;

	if (ext > local_room(c->fn) || jit_local_stride(c->fn) > 1u << 20)
		return false;
	for (l = 0; l < LANES; l++)
		v[l] = x->pat[l] + (s64)l * jit_local_stride(c->fn);
	pat = jit_pat(c, v);
	if (pat == ~0u)
		return false;
	x->v.cls = JC_PAT;
	x->pat = c->pats[pat];
	for (l = 0; l < LANES; l++) {
		x->cmin = x->pat[l] < x->cmin ? x->pat[l] : x->cmin;
		x->cmax = x->pat[l] > x->cmax ? x->pat[l] : x->cmax;
	}
	return true;
}

/* Asks for what the next block will want from here: ahead.h. */
#define AHEAD_MIN 128u
#define AHEAD_MAX 512u

#define ROWS 16u                /* registers that are followed */
#define ASK_MOST 576u           /* at a time: memory has room for some tens of lines on their way */

static bool in_row(struct jcomp *c, const u32 *set, u32 n, u32 id, u32 o)
{
	u32 i;

	if (o & OPND_CONST)
		return false;
	for (i = 0; i < n; i++)
		if (set[i] == o)
			return true;
	return jn_of(c, o).id == id;
}

/*
 * Loads of the same shape that follow in this block some number further on each, a matrix's rows: how many, at most. What they want is asked for
 * together; nothing depends on it.
 */
static u32 rows_behind(struct jcomp *c, const struct insn *in, const struct acc *x, u32 most)
{
	u32 end = c->s->b[c->block].end, set[ROWS], n = 0, rows = 0, i, k;
	struct jvn own = jn_of(c, in->o[4]);

	for (i = c->pc + 1; i < end && rows < most; i++) {
		const struct insn *d = &c->code[i], *q = c->merged[i].kind == K_LD ? &c->merged[i] : d;
		struct jval v;

		if (q->kind == K_LD && q->vec && q->guard == OPND_NONE && q->aw && q->o[4] != in->o[4] && !(q->o[4] & OPND_CONST) &&
		    c->asked_for[q->o[4]] != c->stamp && (u32)q->size * q->vec == x->bytes) {
			for (k = 0; k < n && set[k] != q->o[4]; k++)
				;
			v = jit_val(c, q->o[4], 1);
			if (k < n && v.cls == JC_PAT && c->pats[v.pat] == x->pat) {
				c->asked_for[q->o[4]] = c->stamp;
				rows++;
			}
		}
		if (d->kind != K_LANE || d->lop != LOP_ADD || d->guard != OPND_NONE || type_bytes(d->type) != 8 || n == ROWS)
			continue;
		for (k = 1; k < 3; k++) {
			v = jit_val(c, d->o[3 - k], 1);
			if (v.cls == JC_UNI && !v.sk && in_row(c, set, n, own.id, d->o[k])) {
				set[n++] = d->o[0];
				break;
			}
		}
	}
	return rows;
}

/*
 * For all rounds of a loop that has been looked at (jit_loop.c): rax is where ext bytes begin, that is how much further on they are in each (0: unknown), and
 * how many there are but one is at last in P. rax is lost, and rcx and rdx.
 */
void jm_ahead_rounds(struct jcomp *c, u32 last, s64 step, u32 ext)
{
	struct jlate *l = c->nahead < AHEAD_SITES ? j_late(c) : NULL;

	if (!l)
		return;
	*l = (struct jlate){ .ahead = { .site = c->ahead_from + c->nahead++, .base = RAX, .bytes = ext, .last = (s32)last, .step = (s32)step } };
	ahead_rounds(&c->a, &l->ahead);
}

static bool is_rows(const struct insn *in, u32 ext)
{
	return (in->kind == K_LD || in->kind == K_ST) && ext >= AHEAD_MIN && ext <= AHEAD_MAX && !(in->o[4] & OPND_CONST);
}

/* Is what in reads or writes, ext bytes by a pattern, asked for? What every block reads has been read. */
bool jm_asks(const struct jcomp *c, const struct insn *in, u32 ext)
{
	return is_rows(in, ext) && c->of_block[in->o[4]];
}

static void ahead(struct jcomp *c, const struct insn *in, const struct acc *x, u32 ext)
{
	struct as *a = &c->a;
	struct jlate *l;
	u32 i;

	if (c->some)
		return;
	if (c->within[c->block]) {
		jit_ask_next_turn(c, x->base, x->disp + x->cmin, ext);
		return;
	}
	if (!c->s->b[c->block].depth) {         /* once a block */
		struct rm last;

		c->home_next = (c->home_next + 7) & ~7u;
		last = rm_mem(RBX, (s32)c->home_next);
		c->home_next += 8;
		g_load(a, 1, RCX, rm_reg(x->base));
		g_alu(a, 1, G_SUB, RCX, last);
		g_store(a, 1, last, x->base);
		/* two blocks on: these are short */
		for (i = 0; i < ext; i += 64)
			g_op(a, 0, 0x118, 1, rm_idx(x->base, RCX, 1, x->disp + x->cmin + (s32)i), 0);
		return;
	}
	if (c->nahead == AHEAD_SITES)
		return;
	l = j_late(c);
	if (!l)
		return;
	*l = (struct jlate){ .ahead = { .site = c->ahead_from + c->nahead++, .base = x->base, .disp = x->disp + x->cmin, .bytes = ext,
					.all = ext * (1 + rows_behind(c, in, x, ASK_MOST / ext - 1)) } };
	ahead_often(a, &l->ahead);
}

/* Is there a barrier in the innermost loop here, or in the kernel, outside of loops? Then it is the block's next warp that comes here next. */
static bool warps_follow(const struct jcomp *c)
{
	u32 from = c->block, to = from, depth = c->s->b[from].depth, i;

	while (from && c->s->b[from - 1].depth >= depth)
		from--;
	while (to + 1 < c->s->nb && c->s->b[to + 1].depth >= depth)
		to++;
	for (i = c->s->b[from].start; i < c->s->b[to].end; i++)
		if (c->code[i].kind == K_BAR)
			return true;
	return false;
}

/*
 * What all blocks of a row read may still be another place for each warp: a tile that they load together, each its own rows, and who comes first to a row
 * waits for memory. The next warp's place is as much further on as this one is behind the last: it is asked for while this one has its turn. Rows
 * that follow in this block of code some number further on each are as far from those of the next warp.
 */
static void ahead_warp(struct jcomp *c, const struct insn *in, const struct acc *x, u32 ext)
{
	bool follows = c->asked_for[in->o[4]] == c->stamp;
	struct as *a = &c->a;
	struct rm last, far;
	u32 i, site;

	if (c->some || c->within[c->block] || (!follows && (c->nahead == AHEAD_SITES || !warps_follow(c))))
		return;
	site = c->ahead_from + (follows ? c->nahead - 1 : c->nahead++);
	last = ahead_field(site, offsetof(struct ahead_site, first));
	far = ahead_field(site, offsetof(struct ahead_site, far));
	if (follows) {
		g_load(a, 1, RCX, far);
	} else {
		g_load(a, 1, RCX, rm_reg(x->base));
		g_alu(a, 1, G_SUB, RCX, last);
		g_store(a, 1, last, x->base);
		g_store(a, 1, far, RCX);
		rows_behind(c, in, x, ROWS + 1);
	}
	for (i = 0; i < ext; i += 64)
		g_op(a, 0, 0x118, 2, rm_idx(x->base, RCX, 0, x->disp + x->cmin + (s32)i), 0);
}

/*
 * Not all lanes' places are in shared memory: those of the lanes that run have to be. In a wave front, and in a block of 16, others'
 * lie in front of it or behind. Numbers of 32 bits, once the first place is known to be near.
 */
static void late_lanes(struct jcomp *c, const struct jlate *l)
{
	struct as *a = &c->a;
	const s32 *pat = c->pats[l->pat];
	s32 off[16];
	u32 p, i;

	g_here(a, l->at);
	if (l->limit < 0)
		g_here(a, l->at_too);
	else
		g_movi(a, RDX, (u64)l->limit);
	g_lea(a, 1, RCX, rm_mem(l->base, l->first));
	g_alui(a, 1, G_ADD, rm_reg(RDX), l->room);
	j_leave_if(c, CC_S, l->exit);
	ev(a, V_PBCASTD_R, 2, 0, rm_reg(RDX));
	g_lea(a, 1, RDX, rm_mem(RCX, 1 << 29));
	g_alui(a, 1, G_CMP, rm_reg(RDX), 1 << 30);
	j_leave_if(c, CC_A, l->exit);
	ev(a, V_PBCASTD_R, 1, 0, rm_reg(RCX));
	c->gk = l->gk;
	for (p = 0; p < 2; p++) {
		for (i = 0; i < 16; i++)
			off[i] = pat[16 * p + i] - l->cmin;
		ev(a, V_PADDD, 0, 1, rm_lit(j_lit(c, off, 64), 0));
		ev_i(a, V_PCMPUD, 7, 0, rm_reg(2), jv_mask(c, 0, p), 0, 6);
		k_ortest(a, 7, 7);
		j_leave_if(c, CC_NE, l->exit);
	}
	g_land(a, g_jmp(a), l->back);
}

/* What is out of the way. Code has its stack 8 bytes off what C wants. */
void jm_late(struct jcomp *c)
{
	u32 i;

	for (i = 0; i < c->nlate; i++) {
		const struct jlate *l = &c->late[i];

		if (l->lanes)
			late_lanes(c, l);
		else
			ahead_seldom(&c->a, &l->ahead, true);
	}
}

/* ---- what is known of addresses in this block of code ------------------------------------- */

static struct jmemo *memo_of(struct jcomp *c, u32 id, bool shared)
{
	u32 i;

	for (i = 0; i < c->nmemo; i++)
		if (c->memo[i].id == id && c->memo[i].shared == shared)
			return &c->memo[i];
	return NULL;
}

static struct jmemo *new_memo(struct jcomp *c, u32 id, bool shared)
{
	struct jmemo *m = &c->memo[c->nmemo < JMEMOS ? c->nmemo++ : c->memo_at++ % JMEMOS];

	*m = (struct jmemo){ .id = id, .shared = shared };
	return m;
}

/*
 * Somebody relies on the check at pc: whoever fails it may not go on in this block's code. If loads before it have been
 * merged with some behind it, the interpreter goes on, one by one, to where that is over, and leaves there.
 */
void jm_rely_on(struct jcomp *c, u32 exit)
{
	struct jexit *x = &c->exits[exit];

	if (x->kind != JX_STEP)
		return;
	if (c->inside[x->pc])
		j_walk(c, exit);
	else
		j_leave(c, exit);
}

/* Others may rely on in's check: not on one that a guard can skip, nor on that of stores whose slow way does several instructions. */
static bool may_rely(const struct insn *in) { return in->guard == OPND_NONE && !(in->kind == K_ST && in->sub2); }

#define WIDEN_STEPS 512         /* instructions looked at for each check */

/* What the code that follows wants from beside in's address, [*lo, *hi), before anybody may enter or leave it. */
static void widen(const struct jcomp *c, const struct insn *in, const struct acc *x, s64 *lo, s64 *hi)
{
	u32 end = c->s->b[c->block].end, i, k;
	s64 at = *lo;

	/* of lanes that wait nobody knows whether their addresses are good */
	if (c->rin[c->block] || in->guard != OPND_NONE)
		return;
	end = end - c->pc > WIDEN_STEPS ? c->pc + WIDEN_STEPS : end;
	for (i = c->pc + 1; i < end; i++) {
		const struct insn *own = &c->code[i], *q = c->merged[i].kind == K_LD ? &c->merged[i] : own;

		if (own->kind == K_BAR || own->kind == K_CALL || own->kind == K_EXIT || own->kind == K_RET || own->kind == K_TRAP)
			return;
		if ((q->kind == K_LD || q->kind == K_ST) && q->vec && q->space == SPACE_SHARED && q->guard == OPND_NONE &&
		    q->o[4] == in->o[4] && q->aw == in->aw && q->imm >= -(1 << 28) && q->imm <= 1 << 28) {
			s64 l = at + q->imm - in->imm, h = l + x->cmax - x->cmin + (s64)q->size * q->vec;

			l = l < *lo ? l : *lo;
			h = h > *hi ? h : *hi;
			if (!((l - at) & (x->align - 1)) && h - l <= JIT_SLACK) {
				*lo = l;
				*hi = h;
			}
		}
		for (k = 0; k < 6; k++)
			if ((own->def >> k & 1) && own->o[k] == in->o[4])
				return;
	}
}

/*
 * x->base is lane 0's offset into shared memory; one of 32 bits gets its sign, for its sum with an immediate or a distance wraps in 32.
 * Where the kernel's variables are all that it names, what they need is the limit: who is beyond goes the slow way, which knows what was asked for.
 */
static void check_shared(struct jcomp *c, const struct insn *in, struct acc *x)
{
	struct jvn n = jn_of(c, in->o[4]);
	struct jmemo *m = memo_of(c, n.id, true);
	s64 at = n.off + in->imm + x->cmin, lo = at, hi = at + x->cmax - x->cmin + x->bytes;
	struct as *a = &c->a;
	struct jlate *l = NULL;
	u32 exit = x->step, none = 0;
	int base = x->base;
	bool fixed, aligned;
	s32 first;

	if (!in->aw) {
		g_movsxd(a, RAX, rm_reg(base));
		x->base = base = RAX;
	}
	if (m && m->align >= x->align && lo >= m->lo && hi <= m->hi && !((at - m->at) & (x->align - 1))) {
		jm_rely_on(c, m->exit);
		return;
	}
	widen(c, in, x, &lo, &hi);
	if (may_rely(in)) {
		if (!m)
			m = new_memo(c, n.id, true);
		exit = j_exit(c, JX_STEP, c->pc, 1);    /* as in jm_addr() */
		*m = (struct jmemo){ .id = n.id, .shared = true, .exit = exit, .align = x->align, .lo = lo, .hi = hi, .at = at };
	}
	first = x->disp + x->cmin + (s32)(lo - at);
	fixed = c->fn->fixed_shared && hi - lo <= c->fn->shared_bytes;
	aligned = !((u32)first & (x->align - 1)) && x->v.ual >= (u32)__builtin_ctz(x->align);
	if (!fixed) {
		g_load(a, 1, RDX, PM(shared_total));
		g_alui(a, 1, G_SUB, rm_reg(RDX), (s32)(hi - lo));
		none = g_jcc(a, CC_B);
	}
	if (first) {
		g_lea(a, 1, RCX, rm_mem(base, first));
		base = RCX;
	}
	if (fixed)
		g_alui(a, 1, G_CMP, rm_reg(base), (s32)(c->fn->shared_bytes - (hi - lo)));
	else
		g_alu(a, 1, G_CMP, base, rm_reg(RDX));
	if (x->cmax != x->cmin)
		l = j_late(c);
	if (l) {
		*l = (struct jlate){ .lanes = true, .gk = c->gk, .at_too = none, .exit = exit, .pat = x->v.pat, .base = (u8)x->base,
			.first = first, .room = x->cmax - x->cmin, .cmin = x->cmin,
			.limit = fixed ? (s32)(c->fn->shared_bytes - (hi - lo)) : -1 };
		l->at = g_jcc(a, CC_A);
		l->back = a->n;
	} else {
		if (!fixed)
			j_exit_at(c, none, exit);
		j_leave_if(c, CC_A, exit);
	}
	if (x->align > 1 && !aligned) {
		g_testi(a, base, x->align - 1);
		j_leave_if(c, CC_NE, exit);
	}
}

static bool shared(struct jcomp *c, const struct insn *in, struct acc *x, u32 ext)
{
	s64 lo = (s64)(in->aw ? x->v.s : (u64)(s32)x->v.s) + in->imm + x->cmin;
	const struct jreg *r = in->o[4] & OPND_CONST ? NULL : &c->r[in->o[4]];
	struct as *a = &c->a;

	/* a variable of the kernel's own needs no check */
	if (x->v.sk && lo >= 0 && lo + ext <= c->fn->shared_bytes && !(lo & (x->align - 1))) {
		x->disp = (s32)lo - x->cmin;
		if (c->pin)
			x->base = RBP;
		else
			g_load(a, 1, RAX, PM(shared));
		return true;
	}
	if (r && r->loc == LOC_GPR && !x->v.sk)
		x->base = r->reg;
	else
		ju_load(c, RAX, in->o[4], in->aw);
	check_shared(c, in, x);
	if (c->pin) {
		g_lea(a, 1, RAX, rm_idx(RBP, x->base, 0, 0));
	} else {
		if (x->base != RAX)
			g_load(a, 1, RAX, rm_reg(x->base));
		g_alu(a, 1, G_ADD, RAX, PM(shared));
	}
	x->base = RAX;
	return true;
}

/* A uniform or pattern address and what lies there, in ext bytes. False: it is none, or not this way. */
bool jm_shape(struct jcomp *c, const struct insn *in, struct acc *x, u32 *ext)
{
	u32 l;

	x->back = false;
	x->v = jit_val(c, in->o[4], in->aw);
	x->bytes = (u32)in->size * in->vec;
	x->align = jm_align(in);
	if (x->v.cls == JC_VARY)
		return false;
	x->pat = c->pats[x->v.pat];
	x->cmin = x->cmax = 0;
	for (l = 0; l < LANES; l++) {
		x->cmin = x->pat[l] < x->cmin ? x->pat[l] : x->cmin;
		x->cmax = x->pat[l] > x->cmax ? x->pat[l] : x->cmax;
		if (x->pat[l] & (s32)(x->align - 1))
			return false;
	}
	*ext = (u32)(x->cmax - x->cmin) + x->bytes;
	return *ext <= (jm_window(in) ? JIT_SLACK : JIT_WIDEST) && in->imm >= -(1 << 28) && in->imm <= 1 << 28;
}

/* Rows of lanes that lie far apart, each by itself: the first place and the last one are looked at, and what lies between is in the span as well. */
static void check_ends(struct jcomp *c, const struct acc *x)
{
	struct as *a = &c->a;
	u32 k;

	for (k = 0; k < 2; k++) {
		g_lea(a, 1, RCX, rm_mem(x->base, x->disp + (k ? x->cmax : x->cmin)));
		g_alu(a, 1, G_SUB, RCX, PM(span_lo));
		g_alu(a, 1, G_CMP, RCX, PM(span_lim));
		j_leave_if(c, CC_AE, x->step);
	}
	if (x->align > 1) {
		g_testi(a, RCX, x->align - 1);
		j_leave_if(c, CC_NE, x->step);
	}
}

/* Checks a uniform or pattern address; x->base is lane 0's real address less disp. False: not this way. */
bool jm_addr(struct jcomp *c, const struct insn *in, struct acc *x)
{
	struct as *a = &c->a;
	struct jmemo *m;
	bool known;
	u32 ext;
	s32 cmin;
	s64 lo;

	if (!jm_shape(c, in, x, &ext))
		return false;
	cmin = x->cmin;
	x->step = j_exit(c, JX_STEP, c->pc, 0);
	known = x->v.sk;
	if (in->space == SPACE_LOCAL && !local_lanes(c, x, ext))
		return false;
	x->base = RAX;
	x->disp = (s32)in->imm;
	if (in->space == SPACE_SHARED)
		return shared(c, in, x, ext);
	if (!jm_window(in) && in->aw && !(in->o[4] & OPND_CONST) && c->r[in->o[4]].loc == LOC_GPR && !x->v.sk)
		x->base = c->r[in->o[4]].reg;
	else
		ju_load(c, RAX, in->o[4], in->aw);
	if (in->space == SPACE_LOCAL) {
		u32 own = local_room(c->fn);

		lo = (s64)x->v.s + in->imm + cmin;

		if (!in->aw && in->imm) {
			g_alui(a, 0, G_ADD, rm_reg(RAX), (s32)in->imm);
			x->disp = 0;
		}
		if (!(known && lo >= 0 && lo + ext <= own && !(lo & (x->align - 1)))) {
			g_lea(a, 1, RCX, rm_mem(RAX, x->disp + cmin));
			g_alui(a, 1, G_CMP, rm_reg(RCX), (s32)(own - ext));
			j_leave_if(c, CC_A, x->step);
			if (x->align > 1) {
				g_testi(a, RCX, x->align - 1);
				j_leave_if(c, CC_NE, x->step);
			}
		}
		g_alu(a, 1, G_ADD, RAX, PM(local));
		return true;
	}
	if (ext > JIT_SLACK) {
		x->back = false;
		check_ends(c, x);
		return true;
	}
	m = NULL;
	lo = 0;
	if (in->aw) {
		struct jvn n = jn_of(c, in->o[4]);

		m = memo_of(c, n.id, false);
		lo = n.off + in->imm + cmin;
		if (!m && may_rely(in))
			m = new_memo(c, n.id, false);
	}
	/* the limit of the span is that much below its end, and what code takes for its beginning above that */
	if (jit_loop_sure(c)) {
	} else if (m && m->align >= x->align && lo >= m->lo - JIT_BELOW && lo + ext <= m->lo + JIT_SLACK && !((lo - m->lo) & (x->align - 1))) {
		jm_rely_on(c, m->exit);
	} else {
		u32 exit = x->step;

		if (m && may_rely(in)) {
			exit = j_exit(c, JX_STEP, c->pc, 1);    /* not x->step: jm_rely_on() may change its kind */
			m->exit = exit;
			m->align = x->align;
			m->lo = lo;
		}
		if (x->disp + x->cmin)
			g_lea(a, 1, RCX, rm_mem(x->base, x->disp + x->cmin));
		else
			g_load(a, 1, RCX, rm_reg(x->base));
		g_alu(a, 1, G_SUB, RCX, PM(span_lo));
		g_alu(a, 1, G_CMP, RCX, PM(span_lim));
		j_leave_if(c, CC_AE, exit);
		if (x->align > 1) {
			g_testi(a, RCX, x->align - 1);
			j_leave_if(c, CC_NE, exit);
		}
	}
	x->back = m && in->kind == K_ST && lo >= m->loaded_lo && lo + ext <= m->loaded_hi;
	if (m && in->kind == K_LD && in->guard == OPND_NONE) {
		m->loaded_lo = lo;
		m->loaded_hi = lo + ext;
	}
	if (jm_asks(c, in, ext) && !jit_loop_asked(c) &&
	    !(m && lo >= m->asked_lo - 64 && lo + ext <= m->asked_hi + 64)) {
		if (c->asked_for[in->o[4]] != c->stamp)
			ahead(c, in, x, ext);
		if (m && in->guard == OPND_NONE) {
			m->asked_lo = lo;
			m->asked_hi = lo + ext;
		}
	} else if (in->kind == K_LD && is_rows(in, ext) && !c->of_block[in->o[4]] && !jit_loop_asked(c)) {
		ahead_warp(c, in, x, ext);
	}
	return true;
}

bool jm_is_row(const struct acc *x)
{
	u32 l;

	for (l = 0; l < LANES; l++)
		if (x->pat[l] != (s32)(l * x->bytes))
			return false;
	return true;
}

/*
 * Part q of a varying 64-bit address: checked, left in the zmm that is returned relative to the base in rax with the mask of running lanes
 * in k7, or both. What writes checks all of its parts before it begins: the slow way does all of it again.
 */
int jm_vary64_in(struct jcomp *c, const struct insn *in, u32 q, u32 step, u32 what)
{
	struct as *a = &c->a;
	u32 sh = jm_align_log2(in);
	int x = jv_reg(c, in->o[4], 1, q, 0), k;

	if (in->imm) {
		ev(a, V_PADDQ, 0, x, rm_lit(j_lit64(c, (u64)in->imm), 0));
		x = 0;
	}
	k = jv_mask(c, 1, q);
	if (what & JM_CHECK) {
		if (!jm_window(in))
			ev_n(a, V_PSUBQ, 1, x, PM(span_lo), 0, 0, 1, 8, 0);
		else
			ev(a, V_MOVA64, 1, 0, rm_reg(x));
		if (sh)
			ev_i(a, V_PSRAIQ, 0, 1, rm_reg(1), 0, 0, sh);   /* vprorq */
		if (!jm_window(in)) {
			ev_n(a, V_PCMPUQ, 7, 1, rm_mem(RBX, PSZ(lims) + 8 * (s32)sh), k, 0, 1, 8, 1);
			b1(a, 5);
		} else {
			ev_i(a, V_PCMPUQ, 7, 1, rm_reg(2), k, 0, 5);
		}
		k_ortest(a, 7, 7);
		j_leave_if(c, CC_NE, step);
	}
	if (!(what & JM_ADDRESS))
		return x;
	k_mov(a, 7, k);
	if (in->space == SPACE_LOCAL) {
		u64 off[8];
		u32 i;

		for (i = 0; i < 8; i++)
			off[i] = (u64)(8 * q + i) * jit_local_stride(c->fn);
		ev(a, V_PADDQ, 0, x, rm_lit(j_lit(c, off, 64), 0));
		x = 0;
	}
	return x;
}

/* The same, in zmm 0. */
void jm_vary64(struct jcomp *c, const struct insn *in, u32 q, u32 step, u32 what)
{
	int x = jm_vary64_in(c, in, q, step, what);

	if (x && (what & JM_ADDRESS))
		ev(&c->a, V_MOVA64, 0, 0, rm_reg(x));
}

/* The same for 32-bit addresses of shared memory: 16 lanes. */
void jm_vary32(struct jcomp *c, const struct insn *in, u32 p, u32 step, u32 what)
{
	struct as *a = &c->a;
	u32 sh = jm_align_log2(in);
	int x = jv_reg(c, in->o[4], 0, p, 0), k;

	if (in->imm) {
		ev(a, V_PADDD, 0, x, rm_lit(j_lit32(c, (u32)in->imm), 0));
		x = 0;
	}
	k = jv_mask(c, 0, p);
	if (what & JM_CHECK) {
		if (sh)
			ev_i(a, V_PSHID, 0, 1, rm_reg(x), 0, 0, sh);    /* vprord */
		else
			ev(a, V_MOVA32, 1, 0, rm_reg(x));
		ev_i(a, V_PCMPUD, 7, 1, rm_reg(2), k, 0, 5);
		k_ortest(a, 7, 7);
		j_leave_if(c, CC_NE, step);
	}
	if (!(what & JM_ADDRESS))
		return;
	k_mov(a, 7, k);
	if (x)
		ev(a, V_MOVA32, 0, 0, rm_reg(x));
	if (in->space == SPACE_LOCAL) {
		u32 off[16], i;

		for (i = 0; i < 16; i++)
			off[i] = (16 * p + i) * jit_local_stride(c->fn);
		ev(a, V_PADDD, 0, 0, rm_lit(j_lit(c, off, 64), 0));
	}
}

bool jm_window(const struct insn *in) { return in->space == SPACE_SHARED || in->space == SPACE_LOCAL; }

/* rax = base of varying addresses; zmm 2 = how many places an access of this size has in shared or local memory */
bool jm_vary_base(struct jcomp *c, const struct insn *in, u32 step)
{
	struct as *a = &c->a;
	u32 bytes = (u32)in->size * in->vec, sh = jm_align_log2(in), own = local_room(c->fn);

	if (in->space == SPACE_LOCAL) {
		if (own < bytes || own > 1u << 20)
			return false;
		ev(a, V_MOVA64, 2, 0, rm_lit(in->aw ? j_lit64(c, ((own - bytes) >> sh) + 1) : j_lit32(c, ((own - bytes) >> sh) + 1), 0));
		g_load(a, 1, RAX, PM(local));
		return true;
	}
	if (in->space != SPACE_SHARED) {
		g_movi(a, RAX, 0);
		return true;
	}
	g_load(a, 1, RCX, PM(shared_total));
	g_alui(a, 1, G_SUB, rm_reg(RCX), (s32)bytes);
	j_leave_if(c, CC_B, step);
	if (sh)
		g_shi(a, 1, G_SHR, RCX, sh);
	g_alui(a, 1, G_ADD, rm_reg(RCX), 1);
	ev(a, in->aw ? V_PBCASTQ_R : V_PBCASTD_R, 2, 0, rm_reg(RCX));
	g_load(a, 1, RAX, PM(shared));
	return true;
}

/* Addresses of all lanes into P: of a uniform or a pattern, or (x NULL) varying ones, which are checked. */
bool jm_addresses(struct jcomp *c, const struct insn *in, const struct acc *x, u32 step)
{
	struct as *a = &c->a;
	u32 q, p;

	if (x) {
		jw_addresses(c, x);
		return true;
	}
	if (jx_addresses(c, in, step))
		return true;
	if (!jm_vary_base(c, in, step))
		return false;
	for (q = 0; in->aw && q < 4; q++) {
		int at = jm_vary64_in(c, in, q, step, JM_CHECK | JM_ADDRESS);

		if (jm_window(in)) {
			ev(a, V_PBCASTQ_R, 1, 0, rm_reg(RAX));
			ev(a, V_PADDQ, 0, at, rm_reg(1));
			at = 0;
		}
		ev(a, V_MOVA64_ST, at, 0, rm_mem(RBX, (s32)(JP_LANES + 64 * q)));
	}
	for (p = 0; !in->aw && p < 2; p++) {
		jm_vary32(c, in, p, step, JM_CHECK | JM_ADDRESS);
		ev(a, V_PBCASTQ_R, 1, 0, rm_reg(RAX));
		for (q = 0; q < 2; q++) {
			ev_n(a, V_PMOVZXDQ, 3, 0, rm_reg(0), 0, 0, 0, 32, 0);
			ev(a, V_PADDQ, 3, 3, rm_reg(1));
			ev(a, V_MOVA64_ST, 3, 0, rm_mem(RBX, (s32)(JP_LANES + 128 * p + 64 * q)));
			if (!q)
				ev_i(a, V_EXTRACT64X4, 0, 0, rm_reg(0), 0, 0, 1);
		}
	}
	return true;
}
